// SPDX-License-Identifier: LGPL-2.1-or-later
#include "protocol.h"

#include <climits>
#include <cstdlib>
#include <memory>
#include <new>

#pragma GCC visibility push(default)
#include <omniORB4/internal/interceptors.h>
#pragma GCC visibility pop

namespace omnifolb {

template struct MessageStarts<&omni::giopStream::inputBufferStart,
                              &omni::giopStream::outputBufferStart>;

namespace {

constexpr size_t type_at     = 7; // in the header of a GIOP message
constexpr size_t giop_header = 12;

// Of GIOP 1.2: the ORB's, and ours.
omni::giopStreamImpl *core, *ours;

ServiceContexts* contexts()
{
  return current_attempt ? current_attempt->contexts : nullptr;
}

CORBA::Octet* room_for(CORBA::ULong id, CORBA::ULong size)
{
  // The ORB reads octets by an int.
  return id == FOLB_CONTEXT_UPDATE && size <= orbParameters::giopMaxMsgSize &&
                 size <= INT_MAX && contexts()
             ? contexts()->room(size)
             : nullptr;
}

// The server's own account of an exception.
__attribute__((noinline)) void take_detail(const CORBA::Octet* octets,
                                           size_t              size)
{
  if (contexts())
    current_attempt->raiser =
        folb_detail_raiser(contexts()->orb(), octets, size);
}

__attribute__((noinline)) void read_detail(cdrStream& s, CORBA::ULong size)
{
  std::unique_ptr<CORBA::Octet[]> octets;
  if (size <= orbParameters::giopMaxMsgSize)
    octets.reset(new (std::nothrow) CORBA::Octet[size]);
  if (!octets) {
    s.skipInput(size);
    return;
  }
  s.get_octet_array(octets.get(), int(size));
  take_detail(octets.get(), size);
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
    else if (list[i].context_id == FOLB_CONTEXT_DETAIL)
      take_detail(data.get_buffer(), data.length());
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
      else if (__builtin_expect(id == FOLB_CONTEXT_DETAIL, 0))
        read_detail(s, size);
      else
        s.skipInput(size);
    }
  if (core->inputRemaining(stream))
    s.alignInput(omni::ALIGN_8);
}

// Nobody is to see it, and nothing in its contexts is wanted.
void unmarshal_plain_header(omni::giopStream* stream)
{
  auto&        giop = static_cast<omni::GIOP_C&>(*stream);
  cdrStream&   s    = *stream;
  CORBA::ULong status, n;
  if (message_read(*stream)[type_at] != CORBA::Octet(GIOP::Reply))
    refuse(stream);
  status <<= s;
  if (status > CORBA::ULong(GIOP::NEEDS_ADDRESSING_MODE))
    refuse(stream);
  giop.replyStatus(GIOP::ReplyStatusType(status));
  for (n <<= s; n > 0; --n) {
    CORBA::ULong id, size;
    id <<= s;
    size <<= s;
    s.skipInput(size);
  }
  if (giop.impl()->inputRemaining(stream))
    s.alignInput(omni::ALIGN_8);
}

// From behind the header of the message on.
void put_plain_header(cdrStream& s, omni::GIOP_C& giop)
{
  omniCallDescriptor& call  = *giop.calldescriptor();
  const CORBA::Octet  flags[] = {3, 0, 0, 0}; // a reply is expected
  Requests::id(giop) >>= s;
  s.put_octet_array(flags, sizeof flags);
  if (giop.ior()->addr_mode() == GIOP::KeyAddr) {
    GIOP::KeyAddr >>= s;
    giop.keysize() >>= s;
    s.put_octet_array(giop.key(), int(giop.keysize()));
  }
  else
    giop.ior()->marshalIORAddressingInfo(s);
  CORBA::ULong(call.op_len()) >>= s;
  s.put_octet_array(reinterpret_cast<const CORBA::Octet*>(call.op()),
                    int(call.op_len()));
  CORBA::ULong(0) >>= s;
}

// Until it is complete a message has the size of its header where its own will
// be.
void marshal_plain_header(omni::giopStream* stream)
{
  auto&         giop    = static_cast<omni::GIOP_C&>(*stream);
  CORBA::Octet* message = message_written(*stream);
  message[type_at]      = CORBA::Octet(GIOP::Request);
  cdrCountingStream counting(stream->TCS_C(), stream->TCS_W(), giop_header);
  put_plain_header(counting, giop);
  const auto size = CORBA::ULong(counting.total());
  memcpy(message + 8, &size, sizeof size);
  put_plain_header(*stream, giop);
  static_cast<cdrStream*>(stream)->alignOutput(omni::ALIGN_8);
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
  // The label as the only service context, or none.
  void put(const LabelSlot& slot)
  {
    const CORBA::ULong size = slot.copy_to(message_ + at_ + sizeof size);
    put(CORBA::ULong(size != 0));
    at_ += size;
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
  else
    header.put(slot);
  WrittenUpTo::of(stream) = header.end();
}

void append(IOP::ServiceContextList& list, LabelSlot& slot)
{
  if (Label* label = slot.get()) {
    append(list, *label);
    label->release();
  }
}

// Beside contexts of others: those of the first request of a connection; or of
// a large label.
void write_header_with(omni::giopStream&             stream,
                       const IOP::ServiceContextList& list)
{
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

// What stands between the header of the message and the service contexts, when
// it does not fit into the first buffer or addresses the object otherwise.
void put_request(omni::GIOP_C& giop, cdrStream& stream)
{
  omniCallDescriptor& call   = *giop.calldescriptor();
  const CORBA::Octet  rest[] = {CORBA::Octet(call.is_oneway() ? 0 : 3), 0, 0,
                                0};
  Requests::id(giop) >>= stream;
  stream.put_octet_array(rest, sizeof rest);
  if (giop.ior()->addr_mode() == GIOP::KeyAddr) {
    GIOP::KeyAddr >>= stream;
    CORBA::ULong(giop.keysize()) >>= stream;
    stream.put_octet_array(giop.key(), int(giop.keysize()));
  }
  else
    giop.ior()->marshalIORAddressingInfo(stream);
  CORBA::ULong(call.op_len()) >>= stream;
  stream.put_octet_array(reinterpret_cast<const CORBA::Octet*>(call.op()),
                         int(call.op_len()));
}

void write_any_header(omni::giopStream&             stream,
                      const IOP::ServiceContextList& list)
{
  auto&             giop    = static_cast<omni::GIOP_C&>(stream);
  CORBA::Octet*     message = message_written(stream);
  message[type_at]          = CORBA::Octet(GIOP::Request);
  cdrCountingStream counting(stream.TCS_C(), stream.TCS_W(), 12);
  put_request(giop, counting);
  list >>= counting;
  const auto size = CORBA::ULong(counting.total());
  memcpy(message + 8, &size, sizeof size);
  cdrStream& s = stream;
  put_request(giop, s);
  list >>= s;
  s.alignOutput(omni::ALIGN_8);
}

void marshal_request_header(omni::giopStream* stream)
{
  auto&      giop = static_cast<omni::GIOP_C&>(*stream);
  LabelSlot& slot = current_attempt->contexts->label();
  omni::omniInterceptors::clientSendRequest_T::info_T info(giop);
  omni::omniInterceptorP::visit(info);
  auto&      list  = info.service_contexts;
  const bool small = is_small(giop);
  if (__builtin_expect(small && list.length() == 0 && !slot.is_large(), 1)) {
    write_header(*stream, slot);
    return;
  }
  append(list, slot);
  if (small)
    write_header_with(*stream, list);
  else
    write_any_header(*stream, list);
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

PlainHeaders::PlainHeaders(omni::GIOP_C& giop)
    : giop_(giop), before_(giop.impl())
{
  const GIOP::Version version = before_->version();
  if (version.major != 1 || version.minor != 2)
    return;
  auto* plain = reinterpret_cast<omni::giopStreamImpl*>(copy_);
  copy_of(before_, plain);
  plain->marshalRequestHeader = marshal_plain_header;
  plain->unmarshalReplyHeader = unmarshal_plain_header;
  giop.impl(plain);
}

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
