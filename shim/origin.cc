// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where a reference comes from. The createIdentity interceptor is told the
// same for string_to_object() and for a reference that is taken out of an Any
// or an argument; only the call stack tells them apart: all but URIs pass
// omniObjRef's unmarshalling function, and of URIs only IOR: does, from its
// function for strings. The stack is looked at once for each IOR that is
// asked for as a CORBA::Object: some microseconds.
//
// Likewise nobody says that a reference is what an initial reference leads to:
// it is unmarshalled, not from a string, inside the function that resolves one.
#include "initial.h"
#include "orb.h"
#include "reference.h"

#include <unwind.h>

#pragma GCC visibility push(default)
#include <omniORB4/internal/initRefs.h>
#pragma GCC visibility pop

namespace omnifolb {

namespace {

// The frame we look for is the seventh or so; that which resolves an initial
// reference the twentieth or so.
constexpr int near_frames = 16;
constexpr int far_frames  = 48;

struct Search {
  int  left;
  bool unmarshals  = false;
  bool from_string = false;
  bool resolves    = false;
};

template <class Function> bool is(const void* function, Function other)
{
  return function == reinterpret_cast<const void*>(other);
}

_Unwind_Reason_Code look(_Unwind_Context* context, void* arg)
{
  auto& search = *static_cast<Search*>(arg);
  // The return address itself may belong to the next function.
  // NOLINTNEXTLINE(performance-no-int-to-ptr): it comes as a number
  void* at       = reinterpret_cast<void*>(_Unwind_GetIP(context) - 1);
  void* function = _Unwind_FindEnclosingFunction(at);
  search.unmarshals |= is(function, &omniObjRef::_unMarshal);
  search.from_string |= is(function, &omniObjRef::_fromString);
  search.resolves |= is(function, &omni::omniInitialReferences::resolve);
  return search.from_string || search.resolves || --search.left == 0
             ? _URC_END_OF_STACK
             : _URC_NO_REASON;
}

Search look_around(int frames)
{
  Search search{frames};
  _Unwind_Backtrace(look, &search);
  return search;
}

} // namespace

bool is_being_unmarshalled()
{
  const Search search = look_around(near_frames);
  return search.unmarshals && !search.from_string;
}

bool is_initial_resolution()
{
  if (!initial_any_uri())
    return false;
  const Search search = look_around(far_frames);
  return search.unmarshals && search.resolves;
}

} // namespace omnifolb
