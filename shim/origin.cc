// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where a reference comes from. The createIdentity interceptor is told the
// same for string_to_object() and for a reference that is taken out of an Any
// or an argument; only the call stack tells them apart: all but URIs pass
// omniObjRef's unmarshalling function, and of URIs only IOR: does, from its
// function for strings. The stack is looked at once for each IOR that is
// asked for as a CORBA::Object: some microseconds.
#include "orb.h"
#include "reference.h"

#include <unwind.h>

namespace omnifolb {

namespace {

// The frame we look for is the seventh or so.
constexpr int max_frames = 16;

struct Search {
  int  frames      = 0;
  bool unmarshals  = false;
  bool from_string = false;
};

template <class Function> bool is(const void* function, Function other)
{
  return function == reinterpret_cast<const void*>(other);
}

_Unwind_Reason_Code look(_Unwind_Context* context, void* arg)
{
  auto& search = *static_cast<Search*>(arg);
  // The return address itself may belong to the next function.
  void* at       = reinterpret_cast<void*>(_Unwind_GetIP(context) - 1);
  void* function = _Unwind_FindEnclosingFunction(at);
  search.unmarshals |= is(function, &omniObjRef::_unMarshal);
  search.from_string |= is(function, &omniObjRef::_fromString);
  return search.from_string || ++search.frames == max_frames
             ? _URC_END_OF_STACK
             : _URC_NO_REASON;
}

} // namespace

bool is_being_unmarshalled()
{
  Search search;
  _Unwind_Backtrace(look, &search);
  return search.unmarshals && !search.from_string;
}

} // namespace omnifolb
