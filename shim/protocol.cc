// SPDX-License-Identifier: LGPL-2.1-or-later
#include "protocol.h"

#include <cstdlib>
#include <new>

#pragma GCC visibility push(default)
#include <omniORB4/internal/interceptors.h>
#pragma GCC visibility pop

namespace omnifolb {

template struct MessageStarts<&omni::giopStream::inputBufferStart,
                              &omni::giopStream::outputBufferStart>;

namespace {

// Of GIOP 1.2: the ORB's; ours, and ours for requests with a label.
omni::giopStreamImpl *core, *listening, *labelling;

ServiceContexts* contexts()
{
  return current_attempt ? current_attempt->contexts : nullptr;
}

CORBA::Octet* room_for(CORBA::ULong id, CORBA::ULong size)
{
  return id == FOLB_CONTEXT_UPDATE && size <= orbParameters::giopMaxMsgSize &&
                 contexts()
             ? contexts()->room(size)
             : nullptr;
}

// As others are to see the contexts too.
void read_contexts_for_all(omni::GIOP_C& giop, cdrStream& stream)
{
  IOP::ServiceContextList list;
  list <<= stream;
  for (CORBA::ULong i = 0; i < list.length(); ++i) {
    const auto& data = list[i].context_data;
    if (CORBA::Octet* room = room_for(list[i].context_id, data.length())) {
      memcpy(room, data.get_buffer(), data.length());
      contexts()->received();
    }
  }
  omni::omniInterceptors::clientReceiveReply_T::info_T info(giop, list);
  omni::omniInterceptorP::visit(info);
}

// As the ORB ends a connection whose peer talks nonsense.
__attribute__((noinline)) void refuse(omni::giopStream* stream)
{
  omni::giopStrand& strand = static_cast<omni::GIOP_C*>(stream)->strand();
  CORBA::ULong      minor;
  CORBA::Boolean    retry;
  if (omniORB::trace(1))
    log(FOLB_LOG_ERROR, "from endpoint %s: invalid status in a Reply; the "
                        "connection is closed",
        strand.connection->peeraddress());
  stream->notifyCommFailure(0, minor, retry);
  strand.state(omni::giopStrand::DYING);
  omni::giopStream::CommFailure::_raise(
      minor, CORBA::CompletionStatus(stream->completion()), 0, __FILE__,
      __LINE__, "Invalid status in Reply", &strand);
}

// The ORB reads contexts only for interceptors, which cost every reply of the
// process.
void unmarshal_reply_header(omni::giopStream* stream)
{
  constexpr size_t type_at = 7; // in a GIOP header
  if (message_read(*stream)[type_at] != CORBA::Octet(GIOP::Reply)) {
    core->unmarshalReplyHeader(stream); // says what is wrong
    return;
  }
  auto&        giop = static_cast<omni::GIOP_C&>(*stream);
  cdrStream&   s    = *stream;
  CORBA::ULong status, n;
  status <<= s;
  if (__builtin_expect(status > CORBA::ULong(GIOP::NEEDS_ADDRESSING_MODE), 0))
    refuse(stream);
  giop.replyStatus(GIOP::ReplyStatusType(status));
  if (__builtin_expect(omni::omniInterceptorP::clientReceiveReply != nullptr,
                       0))
    read_contexts_for_all(giop, s);
  else
    for (n <<= s; __builtin_expect(n > 0, 0); --n) {
      CORBA::ULong id, size;
      id <<= s;
      size <<= s;
      if (CORBA::Octet* room = room_for(id, size)) {
        s.get_octet_array(room, int(size));
        contexts()->received();
      }
      else
        s.skipInput(size);
    }
  if (core->inputRemaining(stream))
    s.alignInput(omni::ALIGN_8);
}

constexpr CORBA::ULong align_to(CORBA::ULong n, CORBA::ULong multiple)
{
  return (n + multiple - 1) & ~(multiple - 1);
}

// Where the number of service contexts is in a request that has its key as
// address: behind the header of the message, the number of the request, its
// flags, the key and the operation.
CORBA::ULong count_of_contexts_at(omni::GIOP_C& giop)
{
  const CORBA::ULong key = 12 + 4 + 4 + 4 + 4 + CORBA::ULong(giop.keysize());
  return align_to(align_to(key, 4) + 4 +
                      CORBA::ULong(giop.calldescriptor()->op_len()),
                  4);
}

// What there is room for certainly in a stream's first buffer, of 8192 octets:
// a key beside the rest of a header, and that before a label of ours.
constexpr CORBA::ULong small_key = 2048, small_header = 4096;

bool is_small(omni::GIOP_C& giop)
{
  return CORBA::ULong(giop.keysize()) < small_key &&
         giop.ior()->addr_mode() == GIOP::KeyAddr;
}

// Of the request that this thread makes.
__thread Label* sends_large __attribute__((tls_model("initial-exec")));

CORBA::Boolean
add_large_label(omni::omniInterceptors::clientSendRequest_T::info_T& info)
{
  const Label* label = sends_large;
  if (!label)
    return 1;
  auto&        list = info.service_contexts;
  CORBA::ULong n    = list.length();
  list.length(n + 1);
  list[n].context_id = FOLB_CONTEXT_LABEL;
  auto& data         = list[n].context_data;
  data.length(CORBA::ULong(label->size()));
  memcpy(data.get_buffer(), label->octets(), label->size());
  return 1;
}

// With contexts the ORB takes a long way to make a header, about 600
// instructions. So the label is put behind the header that it has made, whose
// size without padding is at 8 of the message until that is complete.
void add_small_label(omni::giopStream& stream, LabelSlot& slot)
{
  CORBA::Octet* message = message_written(stream);
  CORBA::ULong  size, n;
  memcpy(&size, message + 8, sizeof size);
  void*&             end = WrittenUpTo::of(stream);
  const CORBA::ULong at  = align_to(size, 4);
  // Contexts of others may fill more than a buffer.
  if (__builtin_expect(end != message + align_to(size, 8) ||
                           at > small_header,
                       0))
    return;
  CORBA::Octet* count =
      message + count_of_contexts_at(static_cast<omni::GIOP_C&>(stream));
  const uint64_t padding = 0;
  memcpy(message + size, &padding, sizeof padding);
  {
    const LabelSlot::Taken taken(slot);
    const Label*           label = taken.small();
    if (__builtin_expect(!label, 0))
      return; // it was exchanged just now
    size = at + label->context_size();
    // Of a fixed size where that will do: no call.
    if (__builtin_expect(label->context_size() <= Label::copied, 1))
      memcpy(message + at, label->context(), Label::copied);
    else
      memcpy(message + at, label->context(), label->context_size());
  }
  memcpy(&n, count, sizeof n);
  ++n;
  memcpy(count, &n, sizeof n);
  memcpy(message + size, &padding, sizeof padding);
  memcpy(message + 8, &size, sizeof size);
  end = message + align_to(size, 8);
}

// NULL: it has gone just now.
void marshal_large(omni::giopStream* stream, Label* label)
{
  if (!label) {
    core->marshalRequestHeader(stream);
    return;
  }
  struct Sending {
    explicit Sending(Label* label) { sends_large = label; }
    Sending(const Sending&) = delete;
    ~Sending()
    {
      sends_large->release();
      sends_large = nullptr;
    }
  };
  {
    Guard guard(shim_lock); // the ORB adds it once, but for a race
    omniORB::getInterceptors()->clientSendRequest.add(add_large_label);
  }
  const Sending sending(label);
  core->marshalRequestHeader(stream);
}

// It is for one request, which is an attempt's. Should that never have been
// made, the next one is not confused: it sends the label of its own attempt.
void marshal_with_label(omni::giopStream* stream)
{
  LabelSlot& slot = current_attempt->contexts->label();
  stream->impl(listening);
  if (__builtin_expect(!slot.is_large() &&
                           is_small(static_cast<omni::GIOP_C&>(*stream)),
                       1)) {
    core->marshalRequestHeader(stream);
    add_small_label(*stream, slot);
    return;
  }
  marshal_large(stream, slot.get());
}

// The ORB's functions for GIOP 1.2 with some of ours among them.
void copy_of(const omni::giopStreamImpl* impl, omni::giopStreamImpl*& copy)
{
  if (!copy)
    copy = static_cast<omni::giopStreamImpl*>(::operator new(sizeof *impl));
  memcpy(static_cast<void*>(copy), static_cast<const void*>(impl),
         sizeof *impl);
}

// The ORB makes its own anew at each ORB_init, and no connection outlives one:
// the copies are used again.
void make_ours(unsigned serial)
{
  static std::atomic<unsigned> made_for{0};
  if (made_for.load(std::memory_order_acquire) == serial)
    return;
  Guard guard(shim_lock);
  if (made_for.load() == serial)
    return;
  core = omni::giopStreamImpl::matchVersion({1, 2});
  if (core) {
    copy_of(core, listening);
    listening->unmarshalReplyHeader = unmarshal_reply_header;
    copy_of(listening, labelling);
    labelling->marshalRequestHeader = marshal_with_label;
  }
  made_for.store(serial, std::memory_order_release);
}

} // namespace

void listen(omni::GIOP_C& giop, unsigned serial)
{
  make_ours(serial);
  if (!core || giop.impl() != core)
    return;
  omni_tracedmutex_lock lock(*omni::omniTransportLock);
  giop.strand().giopImpl = listening;
  giop.impl(listening);
}

void send_label(omni::GIOP_C& giop)
{
  // The ORB's: a second stream of a connection that listens since.
  if (giop.impl() == listening || (core && giop.impl() == core))
    giop.impl(labelling);
}

} // namespace omnifolb
