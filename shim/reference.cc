// SPDX-License-Identifier: LGPL-2.1-or-later
#include "initial.h"
#include "own.h"
#include "reference.h"

#include <algorithm>
#include <cstring>

#include "profiles.h"

namespace omnifolb {

namespace {

// Marks our entry among an IOR's extra information; never on the wire.
constexpr IOP::ComponentId folb_component = 0x464f4c42; // "FOLB"

class Extra : public omniIOR::IORExtraInfo {
 public:
  Extra() : omniIOR::IORExtraInfo(folb_component) {}
  std::unique_ptr<Reference> reference;
};

Extra* find_extra(omniIOR::IORInfo& info)
{
  auto& list = info.extraInfo();
  for (CORBA::ULong i = 0; i < list.length(); ++i)
    if (list[i] && list[i]->compid == folb_component)
      return static_cast<Extra*>(list[i]);
  return nullptr;
}

// Whether the policy gives a new context an endpoint of its own choice: else
// it does not matter where a reference comes from.
bool gives_contexts(uint32_t uses)
{
  return !(uses & (FOLB_POLICY_PER_REQUEST | FOLB_POLICY_IN_ORDER));
}

} // namespace

Reference* Reference::of(Runtime& runtime, omniIOR* ior,
                         const char* target_id)
{
  omniIOR::IORInfo* info = ior->getIORInfo();
  {
    omni_tracedmutex_lock lock(*omniIOR::lock);
    Extra*                extra = find_extra(*info);
    if (extra && extra->reference &&
        extra->reference->serial_ == runtime.serial())
      return extra->reference.get();
  }
  std::unique_ptr<Reference> made(new Reference(runtime, *ior));
  made->serial_ = runtime.serial();
  bool good     = made->read() && made->open(target_id);
  // ~Reference() wants the lock, also for one that is not kept.
  omni_tracedmutex_lock      lock(*omniIOR::lock);
  std::unique_ptr<Reference> unwanted;
  if (!good) {
    unwanted = std::move(made);
    return nullptr;
  }
  Extra* extra = find_extra(*info);
  if (!extra) {
    auto& list = info->extraInfo();
    extra      = new Extra;
    list.length(list.length() + 1);
    list[list.length() - 1] = extra;
  }
  if (extra->reference && extra->reference->serial_ == runtime.serial())
    unwanted = std::move(made); // another thread was first
  else {
    unwanted         = std::move(extra->reference);
    extra->reference = std::move(made);
  }
  return extra->reference.get();
}

Reference::~Reference()
{
  for (Table* t = table_.load(); t;) {
    std::unique_ptr<Table> owned(t);
    if (t == table_.load())
      for (size_t i = 0; i <= t->mask; ++i)
        if (Candidate* c = t->slots[i].load()) {
          if (c->channel)
            c->channel->release();
          if (c->ior)
            c->ior->releaseNoLock();
          delete c;
        }
    t = owned->before.release();
  }
  folb_ref_release(ref_);
}

bool Reference::read()
{
  const IOP::TaggedProfileList& profiles = ior_.iopProfiles();
  for (CORBA::ULong i = 0; i < profiles.length(); ++i)
    if (profiles[i].tag == IOP::TAG_INTERNET_IOP)
      read_profile(i);
  if (profiles_.empty())
    return false;
  // A transient object keeps to its own profile, which the ORB selected.
  if (transient_) {
    auto selected = CORBA::ULong(ior_.addr_selected_profile_index());
    for (const Profile& p : profiles_)
      if (p.index == selected) {
        profiles_ = {Profile(p)};
        break;
      }
  }
  return true;
}

void Reference::read_profile(CORBA::ULong index)
{
  const auto&  data = ior_.iopProfiles()[index].profile_data;
  constexpr uint32_t max_alternates = 64; // a server has fewer addresses
  folb_address alternates[max_alternates];
  folb_profile p{};
  p.alternates     = alternates;
  p.max_alternates = max_alternates;
  if (folb_profile_parse(data.get_buffer(), data.length(), &p)) {
    some_unusable_ = true;
    return;
  }
  Profile profile{};
  profile.index = index;
  if (folb_address_make(FOLB_KIND_TCP, p.host, p.host_len, p.port,
                        &profile.main)) {
    profile.main   = folb_address{};
    some_unusable_ = true;
  }
  const folb_address written = profile.main;
  if (!rewrite(profile.main))
    profile.main = folb_address{};
  profile.moved = !folb_address_equal(&written, &profile.main);
  profile.alternates.assign(alternates, alternates + p.n_alternates);
  const bool selected =
      CORBA::Long(index) == ior_.addr_selected_profile_index();
  if (selected)
    add_components(written, profile.alternates);
  auto& all = profile.alternates;
  all.erase(std::remove_if(all.begin(), all.end(),
                           [this](folb_address& a) { return !rewrite(a); }),
            all.end());
  if (selected) {
    key_       = folb_key_inspect(p.orb_type, p.key, p.key_len);
    transient_ = key_.transient;
  }
  profiles_.push_back(std::move(profile));
}

// A corbaloc of several addresses, GIOP 1.0 unless it says otherwise, has them
// in a profile of components. The ORB has read it with the selected profile.
void Reference::add_components(const folb_address&        main,
                               std::vector<folb_address>& alternates)
{
  folb_address a;
  for (const omni::giopAddress* way : ior_.getIORInfo()->addresses())
    if (is_kind(*way, FOLB_KIND_TCP) && canonical(*way, a) &&
        !folb_address_equal(&a, &main) &&
        std::none_of(alternates.begin(), alternates.end(),
                     [&](const folb_address& there) {
                       return folb_address_equal(&a, &there);
                     }))
      alternates.push_back(a);
}

// False: the address is dropped.
bool Reference::rewrite(folb_address& address)
{
  const folb_rewrite what = folb_config_rewrite(&runtime_.config(), &address);
  some_rewritten_ |= what != FOLB_REWRITE_NONE;
  return what != FOLB_REWRITE_DROPPED;
}

bool Reference::open(const char* target_id)
{
  const std::unique_ptr<Announcement> announced = announcement();
  const folb_announcement* said = announced ? &announced->said() : nullptr;
  const Attempt*           a    = current_attempt;
  std::vector<folb_own>    own;
  std::vector<std::string> names;
  folb_ref_spec            spec{};
  // Security does not fall at a forward either.
  must_ssl_ = a && a->reading == Attempt::forward && a->secured;
  judge();
  for (const Profile& p : profiles_) {
    add_names(p, names);
    if (said && (said->ssl_only || must_ssl_) && said->n_tls &&
        CORBA::Long(p.index) == ior_.addr_selected_profile_index()) {
      for (uint32_t i = 0; i < said->n_tls; ++i)
        own.push_back({said->tls[i], p.index, false});
      continue;
    }
    // What goes by SSL or a local socket does not go by alternate addresses.
    if (other_ways(p, own))
      continue;
    if (must_ssl_ && !p.by_ssl)
      continue;
    if (p.main.port)
      own.push_back({p.main, p.index, p.by_ssl});
    // The ORB would go on there in clear text; by SSL it is the same way.
    spec.always |= transient_ && p.by_ssl && !p.alternates.empty();
    if (transient_ && p.by_ssl)
      continue;
    for (const folb_address& alternate : p.alternates)
      own.push_back({alternate, p.index, p.by_ssl});
  }
  balanced_ =
      folb_config_per_request(&runtime_.config(), ior_.repositoryID());
  spec.size  = sizeof spec;
  spec.own   = own.data();
  spec.n_own = uint32_t(own.size());
  // Stubs that take a reference out of an Any or an argument mostly ask for
  // its interface, string_to_object always for CORBA::Object.
  spec.origin = strcmp(target_id, CORBA::Object::_PD_repoId) != 0 ||
                        (gives_contexts(runtime_.config().policy->uses) &&
                         is_being_unmarshalled())
                    ? FOLB_ORIGIN_LOOSE
                    : FOLB_ORIGIN_FRESH;
  spec.per_request = balanced_;
  spec.fixed       = transient_;
  // As if the others were there: one that is left is tried. Our own calls can
  // be ended, and their connects limited, on channels of ours only.
  spec.always |=
      (((some_unusable_ && !transient_) || OwnCalls::current()) &&
       !own.empty()) ||
      some_rewritten_;
  if (said) {
    set_label(label_, *said);
    newest_.set(label_.get());
    // A label is sent by channels of ours only.
    spec.always |= said->label != nullptr && !own.empty();
    spec.per_request |= said->per_request;
    ssl_only_ = said->ssl_only;
    if (reached(*said) && !transient_) {
      spec.members   = said->members;
      spec.n_members = said->n_members;
    }
  }
  initial_ = !strcmp(target_id, CORBA::Object::_PD_repoId) &&
             !OwnCalls::current() && is_initial_resolution();
  // Calls that are left to the ORB do not come back to us.
  spec.always |= initial_ && !own.empty();
  // With all addresses dropped there is nothing to try: not left to the ORB.
  if (some_rewritten_ && own.empty())
    spec.fixed = true;
  if (!own.empty() && own.front().address.kind == FOLB_KIND_UNIX)
    secure_ = false; // by a local socket, and by those only
  secure_ = secure_ || must_ssl_ || (ssl_only_ && said->n_tls);
  judged_ = judged_ || must_ssl_ || !secure_;
  std::vector<const char*> texts;
  texts.reserve(names.size());
  for (const std::string& name : names)
    texts.push_back(name.c_str());
  spec.secure  = secure_;
  spec.names   = texts.data();
  spec.n_names = uint32_t(texts.size());
  if (must_ssl_ && own.empty())
    runtime_.warn_of_server(a->call ? folb_endpoint_text(a->call->endpoint)
                                    : "a server that is no endpoint",
                            "a forward",
                            "the call came by SSL, and the target has no "
                            "SSL address; let its server listen at a "
                            "giop:ssl: endpoint too");
  forwarded_ = a && a->reading == Attempt::forward;
  if (forwarded_)
    spec.fixed = spec.always = true;
  else if (a && a->reading == Attempt::results && !a->call)
    spec.origin = FOLB_ORIGIN_FRESH;
  else if (a && a->reading == Attempt::results) {
    spec.origin   = a->call->flags & FOLB_CALL_LOOKUP ? FOLB_ORIGIN_LOOKUP
                                                      : FOLB_ORIGIN_REPLY;
    spec.parent   = a->parent;
    spec.answered = a->call->endpoint;
  }
  if (folb_ref_new(runtime_.engine(), &spec, &ref_))
    return false;
  table_.store(new Table(8));
  return true;
}

bool Reference::balance(const char* interface_id)
{
  if (balanced_ ||
      !folb_config_per_request(&runtime_.config(), interface_id))
    return false;
  balanced_ = true;
  folb_ref_balance(ref_, true);
  return true;
}

void Reference::note_balance(const char* interface_id, folb_managed managed)
{
  if (balance_noted_.exchange(true))
    return;
  const char* type = *ior_.repositoryID() ? ior_.repositoryID() : interface_id;
  if (transient_)
    runtime_.note_balance(type, "it dies with its server");
  else if (managed == FOLB_MANAGED && folb_ref_balanced(ref_))
    runtime_.note_balance(type, nullptr);
  else
    runtime_.note_balance(type, "no address of it is an endpoint of ours");
}

// ---- candidates

void Reference::put(Table& table, Candidate* candidate)
{
  size_t i = hash(candidate->endpoint);
  while (table.slots[i & table.mask].load(std::memory_order_relaxed))
    ++i;
  table.slots[i & table.mask].store(candidate, std::memory_order_release);
  ++table.used;
}

Candidate* Reference::make(folb_endpoint* endpoint)
{
  const Profile& profile = profile_for(endpoint);
  omniIOR*       ior  = private_ior(profile, *folb_endpoint_address(endpoint));
  auto*          made =
      new Candidate{*this, endpoint, {}, ior, nullptr, 0, {}, {}, {}};
  made->label.set(label_for(endpoint).get());
  if (ior) {
    const auto&  data = ior->iopProfiles()[profile.index].profile_data;
    folb_profile p{};
    if (!folb_profile_parse(data.get_buffer(), data.length(), &p)) {
      made->key      = p.key;
      made->key_size = p.key_len;
    }
    made->channel = channel_for(endpoint, *ior, profile);
  }
  Candidate* there = nullptr;
  {
    Guard  guard(shim_lock);
    Table* table = table_.load();
    for (size_t i = hash(endpoint);; ++i) {
      there = table->slots[i & table->mask].load();
      if (!there || there->endpoint == endpoint)
        break;
    }
    if (!there) {
      if (2 * (table->used + 1) > table->mask + 1) {
        auto* larger = new Table(2 * (table->mask + 1));
        for (size_t i = 0; i <= table->mask; ++i)
          if (Candidate* c = table->slots[i].load())
            put(*larger, c);
        larger->before.reset(table);
        table_.store(larger, std::memory_order_release);
        table = larger;
      }
      put(*table, made);
      return made;
    }
  }
  if (made->channel)
    made->channel->release();
  if (ior)
    ior->release();
  delete made;
  return there;
}

void Reference::disconnect()
{
  const Table* table = table_.load(std::memory_order_acquire);
  for (size_t i = 0; i <= table->mask; ++i) {
    Candidate* c = table->slots[i].load(std::memory_order_acquire);
    if (c && c->channel)
      c->channel->disconnect();
  }
}

// The profile an endpoint's address came from; a member that the reference
// does not have gets the one that identified the cluster.
const Reference::Profile& Reference::profile_for(folb_endpoint* endpoint) const
{
  const uint32_t index = folb_ref_profile(ref_, endpoint);
  for (const Profile& p : profiles_)
    if (p.index == index)
      return p;
  return profiles_.front();
}

omniIOR* Reference::private_ior(const Profile&      profile,
                                const folb_address& address) const
{
  IOP::TaggedProfileList profiles(ior_.iopProfiles());
  auto&                  data = profiles[profile.index].profile_data;
  if (address.kind == FOLB_KIND_TCP &&
      (profile.moved || !folb_address_equal(&address, &profile.main))) {
    uint8_t* octets = nullptr;
    size_t   size   = 0;
    if (folb_profile_rewrite(nullptr, data.get_buffer(), data.length(),
                             &address, &octets, &size))
      return nullptr;
    data.length(CORBA::ULong(size));
    memcpy(data.get_buffer(), octets, size);
    free(octets);
  }
  return decoded_copy(ior_.repositoryID(), profiles, profile.index);
}

} // namespace omnifolb
