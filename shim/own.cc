// SPDX-License-Identifier: LGPL-2.1-or-later
#include "own.h"

#include <vector>

#include "channel.h"
#include "lookup.h"

namespace omnifolb {

__thread OwnCalls* OwnCalls::current_;
OwnCalls*          OwnCalls::first_;

namespace {

CORBA::Boolean give_up(void*, CORBA::ULong, const CORBA::TRANSIENT&)
{
  return 0;
}
CORBA::Boolean give_up(void*, CORBA::ULong, const CORBA::TIMEOUT&)
{
  return 0;
}
CORBA::Boolean give_up(void*, CORBA::ULong, const CORBA::COMM_FAILURE&)
{
  return 0;
}
CORBA::Boolean give_up(void*, CORBA::ULong, const CORBA::SystemException&)
{
  return 0;
}

} // namespace

OwnCalls::OwnCalls()
{
  current_ = this;
  Guard guard(shim_lock);
  next_  = first_;
  first_ = this;
}

OwnCalls::~OwnCalls()
{
  current_ = nullptr;
  Guard guard(shim_lock);
  for (OwnCalls** o = &first_; *o; o = &(*o)->next_)
    if (*o == this) {
      *o = next_;
      return;
    }
}

void OwnCalls::forget() { first_ = nullptr; }

void OwnCalls::begin(const omniCallDescriptor& call)
{
  {
    Guard guard(shim_lock);
    call_ = &call;
  }
  if (orb_shut_down)
    OMNIORB_THROW(BAD_INV_ORDER, BAD_INV_ORDER_ORBHasShutdown,
                  CORBA::COMPLETED_NO);
}

void OwnCalls::interrupt_all()
{
  std::vector<const omniCallDescriptor*> calls;
  {
    Guard guard(shim_lock);
    for (OwnCalls* o = first_; o; o = o->next_)
      if (o->call_)
        calls.push_back(o->call_);
  }
  for (const omniCallDescriptor* call : calls)
    EndpointRope::cut(*call);
}

bool OwnCalls::orb_is_there() { return !omniOrbORB::all_destroyed(); }

void keep_handlers_out(CORBA::Object_ptr object)
{
  omniORB::installTransientExceptionHandler(object, nullptr, give_up);
  omniORB::installTimeoutExceptionHandler(object, nullptr, give_up);
  omniORB::installCommFailureExceptionHandler(object, nullptr, give_up);
  omniORB::installSystemExceptionHandler(object, nullptr, give_up);
}

} // namespace omnifolb
