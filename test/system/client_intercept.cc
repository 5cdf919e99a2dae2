// SPDX-License-Identifier: LGPL-2.1-or-later
// Interceptors of the application's own, as tracing libraries have them.
#include "client.h"

#include <omniORB4/omniInterceptors.h>

#include <atomic>

namespace client {

namespace {

std::atomic<int> replies{0}, contexts{0};

CORBA::Boolean
Send(omni::omniInterceptors::clientSendRequest_T::info_T &info)
{
  const CORBA::ULong n = info.service_contexts.length();
  info.service_contexts.length(n + 1);
  info.service_contexts[n].context_id = 0x4D494E45;
  auto &data = info.service_contexts[n].context_data;
  data.length(4);
  for (CORBA::ULong i = 0; i < 4; ++i)
    data[i] = static_cast<CORBA::Octet>("mine"[i]);
  return 1;
}

CORBA::Boolean
Receive(omni::omniInterceptors::clientReceiveReply_T::info_T &info)
{
  ++replies;
  contexts += static_cast<int>(info.service_contexts.length());
  return 1;
}

} // namespace

void AddIntercept(Commands &to)
{
  // intercept: from now on a context "mine" is sent and replies are counted
  to["intercept"] = [](Arguments &) {
    omniORB::getInterceptors()->clientSendRequest.add(Send);
    omniORB::getInterceptors()->clientReceiveReply.add(Receive);
    return std::string("ok");
  };
  to["intercepted"] = [](Arguments &) {
    return "replies=" + std::to_string(replies) +
           " contexts=" + std::to_string(contexts);
  };
}

} // namespace client
