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

// Of GIOP 1.2: the ORB's, and ours.
omni::giopStreamImpl *core, *ours;

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

// A key and an operation that leave room for a small label in a stream's first
// buffer, of 8192 octets.
bool is_small(omni::GIOP_C& giop)
{
  return CORBA::ULong(giop.keysize()) +
                 CORBA::ULong(giop.calldescriptor()->op_len()) <
             4096 &&
         giop.ior()->addr_mode() == GIOP::KeyAddr;
}

// Of the request that this thread makes.
__thread Label* sends_large __attribute__((tls_model("initial-exec")));

void append(IOP::ServiceContextList& list, const Label& label)
{
  const CORBA::ULong n = list.length();
  list.length(n + 1);
  list[n].context_id = FOLB_CONTEXT_LABEL;
  auto& data         = list[n].context_data;
  data.length(label.size());
  if (label.size())
    memcpy(data.get_buffer(), label.octets(), label.size());
}

CORBA::Boolean
add_large_label(omni::omniInterceptors::clientSendRequest_T::info_T& info)
{
  if (sends_large)
    append(info.service_contexts, *sends_large);
  return 1;
}

// Writes a GIOP 1.2 request header from behind the header of the message, into
// a buffer that has room for it.
class HeaderWriter {
 public:
  explicit HeaderWriter(CORBA::Octet* message) : message_(message) {}
  void put(CORBA::ULong n)
  {
    memcpy(message_ + at_, &n, sizeof n);
    at_ += sizeof n;
  }
  // A sequence of octets or a string. The padding is zero.
  void put(const void* octets, CORBA::ULong size)
  {
    put(size);
    memcpy(message_ + at_, octets, size);
    pad(at_ + size, 4);
  }
  void put(const Label& label)
  {
    // Of a fixed size where that will do: no call.
    if (__builtin_expect(label.context_size() <= Label::copied, 1))
      memcpy(message_ + at_, label.context(), Label::copied);
    else
      memcpy(message_ + at_, label.context(), label.context_size());
    at_ += label.context_size();
  }
  CORBA::ULong at() const { return at_; }
  // Until it is complete a message has the size of its header, without
  // padding, where its own will be.
  CORBA::Octet* end()
  {
    memcpy(message_ + 8, &at_, sizeof at_);
    pad(at_, 8);
    return message_ + at_;
  }

 private:
  void pad(CORBA::ULong from, CORBA::ULong multiple)
  {
    const uint64_t zero = 0;
    memcpy(message_ + from, &zero, sizeof zero);
    at_ = align_to(from, multiple);
  }

  CORBA::Octet* message_;
  CORBA::ULong  at_ = 12;
};

// Up to the service contexts.
HeaderWriter begin_header(omni::giopStream& stream)
{
  auto&               giop    = static_cast<omni::GIOP_C&>(stream);
  omniCallDescriptor& call    = *giop.calldescriptor();
  CORBA::Octet*       message = message_written(stream);
  constexpr size_t    type_at = 7;
  message[type_at]            = CORBA::Octet(GIOP::Request);
  HeaderWriter       header(message);
  const CORBA::Octet flags[4] = {CORBA::Octet(call.is_oneway() ? 0 : 3)};
  CORBA::ULong       word;
  memcpy(&word, flags, sizeof word);
  header.put(Requests::id(stream));
  header.put(word);
  header.put(0); // GIOP::KeyAddr, and padding
  header.put(giop.key(), CORBA::ULong(giop.keysize()));
  header.put(call.op(), CORBA::ULong(call.op_len()));
  return header;
}

// The ORB counts the contexts of a header before it writes them, about 600
// instructions, and writes word by word; it is made in one go here.
void write_header(omni::giopStream& stream, LabelSlot& slot)
{
  HeaderWriter header = begin_header(stream);
  if (__builtin_expect(!slot.any(), 1))
    header.put(0);
  else {
    const LabelSlot::Taken taken(slot);
    const Label*           label = taken.small();
    header.put(label ? 1 : 0);
    if (__builtin_expect(label != nullptr, 1)) // else it has gone just now
      header.put(*label);
  }
  WrittenUpTo::of(stream) = header.end();
}

// Beside contexts of others: those of the first request of a connection.
void write_header_with(omni::giopStream& stream, IOP::ServiceContextList& list,
                      LabelSlot& slot)
{
  if (Label* label = slot.get()) {
    append(list, *label);
    label->release();
  }
  HeaderWriter      header  = begin_header(stream);
  CORBA::Octet*     message = message_written(stream);
  WrittenUpTo::of(stream)   = message + header.at();
  cdrCountingStream counting(stream.TCS_C(), stream.TCS_W(), header.at());
  list >>= counting;
  const auto size = CORBA::ULong(counting.total());
  memcpy(message + 8, &size, sizeof size);
  cdrStream& s = stream;
  list >>= s;
  s.alignOutput(omni::ALIGN_8);
}

// Too large for the above, or another form of address. label: NULL if none.
void marshal_by_orb(omni::giopStream* stream, Label* label)
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

void marshal_request_header(omni::giopStream* stream)
{
  auto&      giop = static_cast<omni::GIOP_C&>(*stream);
  LabelSlot& slot = current_attempt->contexts->label();
  if (__builtin_expect(slot.is_large() || !is_small(giop), 0)) {
    marshal_by_orb(stream, slot.get());
    return;
  }
  omni::omniInterceptors::clientSendRequest_T::info_T info(giop);
  omni::omniInterceptorP::visit(info);
  if (__builtin_expect(info.service_contexts.length() == 0, 1))
    write_header(*stream, slot);
  else
    write_header_with(*stream, info.service_contexts, slot);
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
    copy_of(core, ours);
    ours->marshalRequestHeader = marshal_request_header;
    ours->unmarshalReplyHeader = unmarshal_reply_header;
  }
  made_for.store(serial, std::memory_order_release);
}

} // namespace

void speak(omni::GIOP_C& giop, unsigned serial)
{
  make_ours(serial);
  if (!core || giop.impl() != core)
    return;
  omni_tracedmutex_lock lock(*omni::omniTransportLock);
  giop.strand().giopImpl = ours;
  giop.impl(ours);
}

} // namespace omnifolb
