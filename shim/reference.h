// SPDX-License-Identifier: LGPL-2.1-or-later
//
// reference.h - what one IOR object means to us: its profiles, the engine's
// reference, and for each endpoint it may be sent to how that is done.
#ifndef OMNIFOLB_REFERENCE_H
#define OMNIFOLB_REFERENCE_H

#include <vector>

#include "channel.h"
#include "label.h"
#include "orb.h"
#include "runtime.h"

namespace omnifolb {

class Reference;

// A reference at one endpoint. Made at first use, never changed afterwards;
// lives as long as its reference.
struct Candidate {
  Reference&            reference;
  folb_endpoint*        endpoint;
  Channel*              channel; // retained; NULL: no way is allowed
  // Ours alone: GIOP version, code sets and addressing mode live in it. Its
  // selected profile is the one sent, with the endpoint's address.
  omniIOR*            ior;
  const CORBA::Octet* key; // of that profile
  CORBA::ULong        key_size;
  LabelSlot           label;           // that its server knows
  std::atomic<uint64_t> last_update{0}; // of its server: hash; 0: none
  std::atomic<bool>     leaving{false}; // its server, by that update
};

// What a profile says of the cluster of its object.
class Announcement {
 public:
  Announcement(const folb_config& config, const CORBA::Octet* profile,
               size_t size);
  Announcement(const Announcement&) = delete;
  ~Announcement();
  // Nothing is said if there was an error; NULL: none.
  const folb_announcement& said() const { return said_; }
  const char* error() const { return status_ ? error_.msg : nullptr; }
  // Members that say where they are to themselves only.
  bool left_out() const { return left_out_; }

 private:
  void leave_out_loopback(const CORBA::Octet* octets, size_t size);
  void rewrite(const folb_config& config);

  bool              left_out_ = false;
  folb_announcement said_{};
  folb_error        error_{};
  folb_status       status_;
};

// Whether members that are announced may be called: where only SSL is, they
// are when it is said where they listen for it.
bool reached(const folb_announcement& said);

class Reference {
 public:
  // The reference of an IOR, made at the first use of the IOR object and kept
  // in it: whatever is made of the same IOR object shares it. NULL: no
  // profile is usable. May raise what decoding the IOR raises.
  // Caller may hold internalLock.
  static Reference* of(Runtime& runtime, omniIOR* ior, const char* target_id);

  // All of it under omniIOR::lock: only an IOR that ends deletes one.
  ~Reference();

  folb_ref* ref() const { return ref_; }
  const folb_key_info& key() const { return key_; }
  unsigned  serial() const { return serial_; }

  // How the reference is called at an endpoint. NULL: not at all.
  Candidate* at(folb_endpoint* endpoint)
  {
    const Table* table = table_.load(std::memory_order_acquire);
    for (size_t i = hash(endpoint);; ++i) {
      Candidate* c = table->slots[i & table->mask].load(
          std::memory_order_acquire);
      if (!c || c->endpoint == endpoint)
        return c ? c : make(endpoint);
    }
  }
  // It is called by SSL: in clear text nowhere.
  bool secure() const { return secure_.load(std::memory_order_relaxed); }
  // Whether it is was left open by names that had not answered: looks again.
  void look_again()
  {
    if (!judged_.load(std::memory_order_acquire))
      judge_again();
  }
  // Ends the connections to all endpoints it was called at.
  void disconnect();
  // It is what an initial reference's corbaname led to.
  bool initial() const { return initial_; }
  // A LOCATION_FORWARD brought it.
  bool forwarded() const { return forwarded_; }
  // Its type is listed in folbPerRequest.
  bool balanced() const { return balanced_.load(std::memory_order_relaxed); }
  // An object reference of this interface is made of it: whether that makes
  // it balanced. Caller holds internalLock.
  bool balance(const char* interface_id);
  // Says, once a type, whether that is in force. Caller holds no lock.
  void note_balance(const char* interface_id, folb_managed managed);

  // A reply of the candidate carried the data of a FOLB_CONTEXT_UPDATE.
  void update(Candidate& candidate, const CORBA::Octet* octets, size_t size);

 private:
  // Open addressing, at most half full; grown by copying, the old ones are
  // kept until the end because readers hold no lock.
  struct Table {
    explicit Table(size_t size)
        : mask(size - 1), slots(new std::atomic<Candidate*>[size]())
    {
    }
    size_t                                    mask;
    size_t                                    used = 0; // under shim_lock
    std::unique_ptr<std::atomic<Candidate*>[]> slots;
    std::unique_ptr<Table>                    before;
  };
  struct Profile {
    CORBA::ULong              index; // in the IOR
    folb_address              main;  // port 0: it has only other ways
    bool                      moved; // main is not what the octets say
    bool                      by_ssl; // as the rules have it, or may have
    std::vector<folb_address> alternates;
  };
  // An address of an IOR as the ORB has it, or what folbRewrite makes of it.
  struct Way {
    const omni::giopAddress*           address; // NULL: not to be used
    folb_address                       canonical; // host "": of no kind of ours
    std::unique_ptr<omni::giopAddress> made;
  };

  Reference(Runtime& runtime, omniIOR& ior) : runtime_(runtime), ior_(ior) {}
  bool       read();
  void       read_profile(CORBA::ULong index);
  void       add_components(const folb_address&        main,
                            std::vector<folb_address>& alternates);
  bool       rewrite(folb_address& address);
  Way        way(const Profile&           profile,
                 const omni::giopAddress& address) const;
  void       note(const omni::giopAddress& address, const Way& way);
  bool       open(const char* target_id);
  bool       other_ways(const Profile& profile, std::vector<folb_own>& own);
  enum class Order { clear, by_ssl, unknown }; // which comes first
  Order      order(const Profile& profile) const;
  void       judge_again();
  void       judge();
  void       add_names(const Profile&            profile,
                       std::vector<std::string>& names) const;
  std::unique_ptr<Announcement> announcement();
  void install(Candidate& candidate, const folb_announcement& said);
  void set_label(LabelSlot& slot, const folb_announcement& said);
  // What is sent to a server that has not said its own yet.
  LabelSlot& label_for(const folb_endpoint* endpoint)
  {
    return folb_ref_owns(ref_, endpoint) ? label_ : newest_;
  }
  Candidate* make(folb_endpoint* endpoint);
  void       put(Table& table, Candidate* candidate);
  const Profile& profile_for(folb_endpoint* endpoint) const;
  omniIOR*       private_ior(const Profile&      profile,
                             const folb_address& address) const;
  bool           is_own_ssl(const Profile& profile, omniIOR::IORInfo& info,
                            const Way& ssl) const;
  AddressList    ways_to(const folb_address& address, const Profile& profile,
                         bool own) const;
  Channel*       channel_for(folb_endpoint* endpoint, omniIOR& ior,
                             const Profile& profile) const;
  static size_t  hash(const void* p) { return (size_t(p) >> 6) * 31; }

  Runtime&             runtime_;
  omniIOR&             ior_;
  unsigned             serial_    = 0;
  folb_ref*            ref_       = nullptr;
  folb_key_info        key_{};
  bool                 transient_ = false;
  bool                 some_unusable_ = false;
  std::atomic<bool>    balanced_{false};
  std::atomic<bool>    balance_noted_{false};
  bool                 some_rewritten_ = false; // or dropped
  bool                 initial_        = false;
  bool                 forwarded_      = false;
  bool                 ssl_only_       = false;
  bool                 must_ssl_       = false; // whatever the rules prefer
  std::atomic<bool>    secure_{false};
  std::atomic<bool>    judged_{false};
  LabelSlot            label_;  // of the IOR
  LabelSlot            newest_; // of the last update, before that of the IOR
  std::vector<Profile> profiles_;
  std::atomic<Table*>  table_{nullptr};
};

// Whether this thread reads a reference as a CORBA::Object out of octets:
// of an Any or an argument, not of a URI.
bool is_being_unmarshalled();

} // namespace omnifolb

#endif
