// SPDX-License-Identifier: LGPL-2.1-or-later
//
// bench_client IOR THREADS CALLS [-ORB...]: each thread makes CALLS calls of
// next() through a reference of its own.  Prints the calls a second, and how
// many replicas answered the calls before the measured ones.  It knows only
// omniORB.

#include <omniORB4/CORBA.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "demo.hh"

namespace {

// Enough for every replica to be seen under per-request.
const int warm_up_calls = 12;

void call(Demo::Teller_ptr teller, long calls, std::exception_ptr &failure)
{
  try {
    for (long i = 0; i < calls; i++)
      if (teller->next(static_cast<CORBA::Long>(i)) != i + 1)
        throw CORBA::INTERNAL();
  } catch (...) {
    failure = std::current_exception();
  }
}

int run(CORBA::ORB_ptr orb, const char *ior, size_t n, long calls)
{
  std::vector<Demo::Teller_var>   tellers(n);
  std::vector<std::thread>        threads;
  std::vector<std::exception_ptr> failures(n);
  std::set<std::string>           replicas;

  for (Demo::Teller_var &teller : tellers) {
    CORBA::Object_var object = orb->string_to_object(ior);
    teller                   = Demo::Teller::_narrow(object);
    for (int i = 0; i < warm_up_calls; i++) {
      CORBA::String_var replica = teller->serve(0);
      replicas.insert(replica.in());
    }
  }

  const auto begun = std::chrono::steady_clock::now();
  for (size_t i = 1; i < n; i++)
    threads.emplace_back(call, tellers[i].in(), calls, std::ref(failures[i]));
  call(tellers[0].in(), calls, failures[0]);
  for (std::thread &thread : threads)
    thread.join();
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begun;

  for (const std::exception_ptr &failure : failures)
    if (failure)
      std::rethrow_exception(failure);
  printf("per_second %.0f replicas %zu\n",
         static_cast<double>(calls) * static_cast<double>(n) / took.count(),
         replicas.size());
  return EXIT_SUCCESS;
}

} // namespace

int main(int argc, char **argv)
{
  try {
    CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
    if (argc != 4) {
      std::cerr << "usage: bench_client IOR THREADS CALLS [-ORB...]\n";
      return 2;
    }
    const int status =
        run(orb, argv[1], static_cast<size_t>(atol(argv[2])), atol(argv[3]));
    orb->destroy();
    return status;
  } catch (const CORBA::Exception &e) {
    std::cerr << "bench_client: " << e._name() << '\n';
    return EXIT_FAILURE;
  }
}
