// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The publication in force is exchanged as a whole: who encodes a reference
// or answers a request takes no lock for it and waits for nobody.
#include "agent.h"

#include <ctime>
#include <sched.h>
#include <unistd.h>
#include <vector>

#include "orb.h"

namespace omnifolb {

namespace {

using Interceptors = omni::omniInterceptors;

// The request of this thread whose reply is to bring an update. The ORB
// answers a request on the thread that has received it.
__thread const void* owed __attribute__((tls_model("initial-exec")));
// This thread's lane, from 1; 0: none yet.
__thread unsigned lane __attribute__((tls_model("initial-exec")));

// Never destroyed: exit() may run while other threads answer.
class Agent {
 public:
  void start(Runtime& runtime);
  void stop();
  folb_status leave(bool leaving);
  bool running() const { return running_; }
  void before_fork();
  void after_fork(bool child);

  void encode(Interceptors::encodeIOR_T::info_T& info);
  void receive(GIOP_S& request);
  void reply(GIOP_S& request);

 private:
  // While one exists nothing is freed that it can see.
  class Visit {
   public:
    explicit Visit(Agent& agent) : agent_(agent), visits_(agent.my_lane())
    {
      visits_.fetch_add(1);
      publication_ = agent.publication_.load();
    }
    Visit(const Visit&) = delete;
    ~Visit() { visits_.fetch_sub(1, std::memory_order_release); }
    // There is one, and it is of the members of now.
    bool current() const
    {
      return publication_ && folb_engine_generation(agent_.engine_) ==
                                 agent_.seen_.load(std::memory_order_relaxed);
    }
    // NULL: the agent has stopped.
    const folb_publication* operator->() const { return publication_; }
    const folb_publication* get() const { return publication_; }

   private:
    Agent&                  agent_;
    std::atomic<uint32_t>&  visits_;
    const folb_publication* publication_;
  };

  std::atomic<uint32_t>& my_lane()
  {
    if (!lane)
      lane = 1 + next_lane_.fetch_add(1) % lanes;
    return visits_[lane - 1].n;
  }
  bool begin_change() { return !changing_.test_and_set(); }
  void wait_to_change()
  {
    while (!begin_change())
      sched_yield();
  }
  void end_change() { changing_.clear(); }
  struct Change { // which has begun
    Agent& agent;
    ~Change() { agent.end_change(); }
  };
  void keep_current();
  void refresh();
  void refresh_changing();
  void exchange(folb_publication* fresh);
  bool quiet() const;
  void free_retired();
  void say(const folb_publication& publication);
  bool publishes(GIOP_S& request) const
  {
    return request.keysize() > 0 &&
           folb_config_publishes(config_, request.key(),
                                 size_t(request.keysize()));
  }
  bool     has_label(GIOP_S& request, const folb_publication& now) const;
  omniIOR* reference(GIOP_S& request);

  static constexpr unsigned lanes = 16;
  struct alignas(64) Lane {
    std::atomic<uint32_t> n{0};
  };

  std::atomic<bool>              running_{false};
  std::atomic<bool>              leaving_{false};
  std::atomic<folb_publication*> publication_{nullptr};
  std::atomic<uint64_t>          seen_{0}; // generation of the engine
  folb_engine*                   engine_ = nullptr;
  const folb_config*             config_ = nullptr;
  AgentTypes                     types_;
  std::atomic<unsigned>          next_lane_{0};
  Lane                           visits_[lanes];

  // Who has set changing_ has these alone.
  std::atomic_flag               changing_ = ATOMIC_FLAG_INIT;
  std::vector<folb_publication*> retired_;
  uint64_t                       started_ms_ = 0;
  unsigned                       labels_     = 0;
  bool                           warned_own_ = false;
};

std::atomic<Agent*> made{nullptr}; // by the first start

Agent& agent() { return *made.load(std::memory_order_acquire); }

// ---- the publication

std::string host_name()
{
  char name[256];
  if (gethostname(name, sizeof name))
    return "localhost";
  name[sizeof name - 1] = '\0';
  return name;
}

// Unlike that of any other process and change.
std::string new_label(uint64_t started_ms, unsigned number)
{
  char unique[64];
  (void)snprintf(unique, sizeof unique, "%lx:%llx:%x", long(getpid()),
                 static_cast<unsigned long long>(started_ms), number);
  return host_name() + ":::" + unique;
}

void Agent::say(const folb_publication& publication)
{
  const folb_tagged& label = *folb_publication_label(&publication);
  log(FOLB_LOG_CONFIG, "folbServer %s: references carry %u members, label %.*s",
      config_->server, unsigned(publication.n_members), int(label.len),
      reinterpret_cast<const char*>(label.data));
  if (publication.left_out)
    log(FOLB_LOG_ERROR,
        "folbServer %s: the first %u endpoints are not announced; at most %u "
        "are",
        config_->server, unsigned(publication.left_out), FOLB_ANNOUNCE_MAX);
  if (publication.lists_own || warned_own_)
    return;
  warned_own_ = true;
  log(FOLB_LOG_ERROR,
      "folbServer %s: no endpoint of the first cluster has this name; its "
      "clients learn of the others only",
      config_->server);
}

bool Agent::quiet() const
{
  for (const Lane& visits : visits_)
    if (visits.n.load())
      return false;
  return true;
}

// What is left is freed at a later change.
void Agent::free_retired()
{
  if (!quiet())
    return;
  for (folb_publication* p : retired_)
    folb_publication_free(engine_, p);
  retired_.clear();
}

void Agent::exchange(folb_publication* fresh)
{
  folb_publication* before = publication_.load();
  if (before)
    retired_.push_back(before);
  publication_.store(fresh);
}

void Agent::refresh()
{
  if (!begin_change())
    return; // another thread is about it; what was is good until then
  const Change change{*this};
  refresh_changing();
}

void Agent::refresh_changing()
{
  if (!running_)
    return;
  const uint64_t    generation = folb_engine_generation(engine_);
  folb_publication* fresh      = nullptr;
  const std::string label      = new_label(started_ms_, labels_ + 1);
  retired_.reserve(retired_.size() + 1);
  if (folb_publication_new(engine_, label.c_str(), leaving_,
                           publication_.load(), &fresh))
    throw std::bad_alloc();
  if (fresh) {
    ++labels_;
    say(*fresh);
    exchange(fresh);
  }
  seen_.store(generation, std::memory_order_relaxed);
  free_retired();
}

folb_status Agent::leave(bool leaving)
{
  wait_to_change();
  const Change            change{*this};
  const folb_publication* now = publication_.load();
  if (!running_ || !now)
    return FOLB_EINACTIVE;
  if (!now->lists_own)
    return FOLB_ENOENT;
  if (leaving_.exchange(leaving) != leaving)
    log(FOLB_LOG_CONFIG, "folbServer %s: %s the cluster", config_->server,
        leaving ? "leaves" : "is back in");
  refresh_changing();
  return FOLB_OK;
}

void Agent::keep_current()
{
  {
    Visit visit(*this);
    if (!visit.get() || visit.current())
      return;
  }
  refresh();
}

// ---- references

void Agent::encode(Interceptors::encodeIOR_T::info_T& info)
{
  const IIOP::ProfileBody& body = info.iiop;
  const uint8_t*           key  = body.object_key.get_buffer();
  const size_t             size = body.object_key.length();
  if (info.default_only || !*static_cast<const char*>(body.address.host) ||
      (body.version.major == 1 && body.version.minor == 0))
    return;
  keep_current();
  Visit visit(*this);
  if (!visit.get() || !folb_config_publishes(config_, key, size))
    return;
  types_.remember(key, size, info.ior.repositoryID());
  for (uint32_t i = 0; i < visit->n; ++i) {
    const folb_tagged&    from = visit->components[i];
    IOP::TaggedComponent& to =
        omniIOR::newIIOPtaggedComponent(info.iiop.components);
    to.tag = from.tag;
    to.component_data.length(CORBA::ULong(from.len));
    memcpy(to.component_data.get_buffer(), from.data, from.len);
  }
}

// ---- requests and replies

bool Agent::has_label(GIOP_S& request, const folb_publication& now) const
{
  const folb_tagged&             label    = *folb_publication_label(&now);
  const IOP::ServiceContextList& contexts = request.service_contexts();
  for (CORBA::ULong i = 0; i < contexts.length(); ++i)
    if (contexts[i].context_id == FOLB_CONTEXT_LABEL) {
      const auto& data = contexts[i].context_data;
      return data.length() == label.len &&
             !memcmp(data.get_buffer(), label.data, label.len);
    }
  return false;
}

void Agent::receive(GIOP_S& request)
{
  owed = nullptr;
  keep_current();
  Visit visit(*this);
  // Who comes while this instance leaves is told each time, because it holds
  // good for a second.
  if (visit.get() &&
      (!has_label(request, *visit.get()) ||
       leaving_.load(std::memory_order_relaxed)) &&
      publishes(request))
    owed = &request;
}

// A reference to the object of the request as this server would make it now;
// NULL: its type is not known. When an exception has left the upcall, its
// descriptor is gone.
omniIOR* Agent::reference(GIOP_S& request)
{
  const uint8_t* key  = request.key();
  const int      size = request.keysize();

  omni_tracedmutex_lock lock(*omni::internalLock);
  const char*           type = types_.find(key, size_t(size));
  if (!type) {
    omniLocalIdentity* id = nullptr;
    if (request.state() == IOP_S::WaitingForReply && request.calldescriptor())
      id = request.calldescriptor()->localId();
    else
      id = omniObjTable::locateActive(key, size, omni::hash(key, size), 0);
    if (!id || !id->servant())
      return nullptr;
    type = id->servant()->_mostDerivedRepoId();
  }
  // Encoding it may change what is remembered.
  const std::string copy = type;
  return new omniIOR(copy.c_str(), key, size, omniIORHints(nullptr));
}

// The ORB announces a reply with an exception as 4 octets shorter than it is,
// unless its contexts end at a multiple of 8: its counting stream takes no
// notice of the alignment that follows them. What is behind the update in its
// encapsulation nobody reads.
size_t padding_after(GIOP_S& request, size_t len)
{
  if (request.state() == IOP_S::WaitingForReply)
    return 0;
  const IOP::ServiceContextList& contexts = request.service_contexts();
  size_t end = 24; // header, id, status and number of contexts
  for (CORBA::ULong i = 0; i < contexts.length(); ++i)
    end = (end + 3) / 4 * 4 + 8 + contexts[i].context_data.length();
  end = (end + 3) / 4 * 4 + 8 + len;
  return (8 - end % 8) % 8;
}

void Agent::reply(GIOP_S& request)
{
  omniIOR_var ior = reference(request);
  if (!static_cast<omniIOR*>(ior))
    return;
  const IOP::TaggedProfileList& profiles = ior->iopProfiles();
  CORBA::ULong                  i        = 0;
  while (i < profiles.length() && profiles[i].tag != IOP::TAG_INTERNET_IOP)
    ++i;
  if (i == profiles.length())
    return;
  folb_update update{};
  update.type_id     = ior->repositoryID();
  update.type_id_len = uint32_t(strlen(update.type_id));
  update.profile     = profiles[i].profile_data.get_buffer();
  update.profile_len = profiles[i].profile_data.length();
  uint8_t* data      = nullptr;
  size_t   len       = 0;
  if (folb_update_write(nullptr, &update, &data, &len))
    throw std::bad_alloc();
  std::unique_ptr<uint8_t, void (*)(void*)> owner(data, free);
  IOP::ServiceContextList& contexts = request.service_contexts();
  const CORBA::ULong       n        = contexts.length();
  const size_t             padding  = padding_after(request, len);
  contexts.length(n + 1);
  contexts[n].context_id = FOLB_CONTEXT_UPDATE;
  contexts[n].context_data.length(CORBA::ULong(len + padding));
  memcpy(contexts[n].context_data.get_buffer(), data, len);
  memset(contexts[n].context_data.get_buffer() + len, 0, padding);
}

// ---- interceptors; none of them may throw

template <class Function> CORBA::Boolean guarded(Function function)
{
  try {
    function();
  }
  catch (...) {
    log(FOLB_LOG_ERROR, "folbServer: no memory; a reference or a reply goes "
                        "without membership");
  }
  return 1;
}

CORBA::Boolean encode_ior(Interceptors::encodeIOR_T::info_T& info)
{
  return guarded([&] { agent().encode(info); });
}

CORBA::Boolean
receive_request(Interceptors::serverReceiveRequest_T::info_T& info)
{
  return guarded([&] { agent().receive(info.giop_s); });
}

// True once, for the reply to the request.
bool is_owed(const GIOP_S& request)
{
  if (owed != &request)
    return false;
  owed = nullptr;
  return true;
}

CORBA::Boolean send_reply(Interceptors::serverSendReply_T::info_T& info)
{
  if (!is_owed(info.giop_s))
    return 1;
  return guarded([&] { agent().reply(info.giop_s); });
}

// Whether the exception says that there is no such object here.
bool says_missing(const CORBA::Exception* exception)
{
  if (CORBA::OBJECT_NOT_EXIST::_downcast(exception))
    return true;
  const auto* adapter = CORBA::OBJ_ADAPTER::_downcast(exception);
  return adapter && adapter->minor() == omni::OBJ_ADAPTER_POAUnknownAdapter;
}

CORBA::Boolean
send_exception(Interceptors::serverSendException_T::info_T& info)
{
  // Of GIOP 1.1 the ORB ends the connection when contexts do not fit into a
  // buffer; the next reply without an exception brings it.
  if (!is_owed(info.giop_s) || says_missing(info.exception) ||
      info.giop_s.version().minor == 1)
    return 1;
  return guarded([&] { agent().reply(info.giop_s); });
}

// ---- life

void Agent::start(Runtime& runtime)
{
  engine_     = runtime.engine();
  config_     = &runtime.config();
  started_ms_ = uint64_t(time(nullptr)) * 1000000 + now_ms() % 1000000;
  warned_own_ = false;
  leaving_    = false;
  running_    = true;
  refresh();
  Interceptors* interceptors = omniORB::getInterceptors();
  interceptors->encodeIOR.add(encode_ior);
  interceptors->serverReceiveRequest.add(receive_request);
  interceptors->serverSendReply.add(send_reply);
  interceptors->serverSendException.add(send_exception);
}

// The ORB has shut down its servers; what a thread is still about ends soon.
void Agent::stop()
{
  Interceptors* interceptors = omniORB::getInterceptors();
  interceptors->encodeIOR.remove(encode_ior);
  interceptors->serverReceiveRequest.remove(receive_request);
  interceptors->serverSendReply.remove(send_reply);
  interceptors->serverSendException.remove(send_exception);
  wait_to_change();
  running_ = false;
  exchange(nullptr);
  while (!quiet())
    sched_yield();
  free_retired();
  end_change();
  omni_tracedmutex_lock lock(*omni::internalLock);
  types_.clear();
}

void Agent::before_fork() { wait_to_change(); }

void Agent::after_fork(bool child)
{
  if (child)
    for (Lane& visits : visits_)
      visits.n = 0; // of threads that are not here
  end_change();
}

} // namespace

void agent_start(Runtime& runtime)
{
  if (!*runtime.config().server)
    return;
  if (!made)
    made = new Agent;
  agent().start(runtime);
}

folb_status agent_leave(bool leaving)
{
  return made ? agent().leave(leaving) : FOLB_EINACTIVE;
}

void agent_stop()
{
  if (made && agent().running())
    agent().stop();
}

void agent_before_fork()
{
  if (made)
    agent().before_fork();
}

void agent_after_fork(bool child)
{
  if (made)
    agent().after_fork(child);
}

} // namespace omnifolb
