// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where omniORB finds us: options and initialiser are registered when the
// library is loaded, interceptors at each ORB_init of an active plug-in.
#include "agent.h"
#include "channel.h"
#include "identity.h"
#include "initial.h"
#include "orb.h"
#include "runtime.h"

namespace omnifolb {

namespace {

CORBA::Boolean
create_identity(omni::omniInterceptors::createIdentity_T::info_T& info)
{
  // Another library's identity stays; one of ours ends the chain, or a later
  // interceptor would overwrite and leak it.
  if (!info.invoke_handle)
    info.invoke_handle = Identity::create(info.ior, info.targetRepoId,
                                          info.held_internalLock);
  else
    return 1;
  return !info.invoke_handle;
}

// The ORB has set the stream's deadline to that of the connect; what follows
// is the call, whose deadline is its own.
CORBA::Boolean client_open_connection(
    omni::omniInterceptors::clientOpenConnection_T::info_T& info)
{
  if (current_attempt)
    info.giop_c.setDeadline(info.giop_c.calldescriptor()->getDeadline());
  return 1;
}

// Every member, as it would be written in folbEndpoints.
std::string members()
{
  std::string text;
  folb_engine_stats(
      Runtime::current()->engine(),
      [](void* arg, const folb_endpoint_stats* ep) {
        if (!ep->cluster)
          return false; // others come after the members
        auto& to = *static_cast<std::string*>(arg);
        to.append(to.empty() ? "" : ", ");
        to.append(ep->backup ? "b~" : "").append(ep->balancer ? "v~" : "");
        to.append(ep->text);
        if (ep->weight != FOLB_WEIGHT_DEFAULT)
          to.append("*").append(std::to_string(ep->weight));
        return true;
      },
      &text);
  return text.empty() ? "those of each reference" : text;
}

void announce(const folb_config& config)
{
  log(FOLB_LOG_CONFIG, "version %s active: policy %s, endpoints %s",
      folb_version(), config.policy->name, members().c_str());
}

void activate(const folb_config& config)
{
  if (orbParameters::offerBiDirectionalGIOP) {
    log(FOLB_LOG_CONFIG,
        "not active: offerBiDirectionalGIOP is 1, and connections that carry "
        "calls both ways cannot be chosen anew");
    return;
  }
  if (!Runtime::start(config))
    return;
  initial_note_uris();
  omni::omniInterceptors* interceptors = omniORB::getInterceptors();
  interceptors->createIdentity.add(create_identity);
  interceptors->clientOpenConnection.add(client_open_connection);
  announce(config);
  agent_start(*Runtime::current());
}

class Initialiser final : public omni::omniInitialiser {
 public:
  // Must not throw: the ORB could never be initialised again.
  void attach() override
  {
    try {
      const folb_config& config = commit_options();
      const bool active =
          config.policy && (folb_config_active(&config) ||
                            api_endpoints_given());
      api_orb_exists(true);
      warn_about_options(active);
      if (active)
        activate(config);
    }
    catch (const std::exception& x) {
      log(FOLB_LOG_ERROR, "not active: %s", x.what());
    }
  }

  void detach() override
  {
    api_orb_exists(false);
    agent_stop();
    Runtime::stop();
    initial_forget_uris();
  }
};

// Nothing here is ever destroyed: exit() may run while threads call.
Initialiser* initialiser; // the ORB's list of them ends before leak checks

__attribute__((constructor)) void load()
{
  register_options();
  initialiser = new Initialiser;
  omni::omniInitialiser::install(initialiser);
  pthread_atfork(Runtime::before_fork, [] { Runtime::after_fork(false); },
                 [] { Runtime::after_fork(true); });
}

} // namespace

} // namespace omnifolb
