// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What servers say of the cluster of a reference, in the reference itself and
// in the updates of their replies.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include <strings.h>

#include "protocol.h"

namespace omnifolb {

namespace {

uint64_t hash_of(const CORBA::Octet* octets, size_t size)
{
  const std::string_view text(reinterpret_cast<const char*>(octets), size);
  return std::hash<std::string_view>()(text) | 1; // 0: no update yet
}

// Keeps those of n items for which keep is true, in their order; their number.
template <class Item, class Keep>
uint32_t sift(Item* items, uint32_t n, Keep keep)
{
  uint32_t kept = 0;
  for (uint32_t i = 0; i < n; ++i)
    if (keep(items[i]))
      items[kept++] = items[i];
  return kept;
}

// A reference without a type takes any; an update without one does not.
bool fits(const char* type_id, const folb_update& update)
{
  return !*type_id || (strlen(type_id) == update.type_id_len &&
                       !memcmp(type_id, update.type_id, update.type_id_len));
}

bool is_loopback(const std::string& host)
{
  return !strcasecmp(host.c_str(), "localhost") || host == "::1" ||
         !host.compare(0, 4, "127.");
}

} // namespace

// ---- announcements

Announcement::Announcement(const folb_config&  config,
                           const CORBA::Octet* profile, size_t size)
    : status_(folb_announcement_read(nullptr, profile, size, &said_, &error_))
{
  if (status_)
    return;
  leave_out_loopback(profile, size);
  rewrite(config);
}

// What a server that is elsewhere calls so is not what we would reach.
void Announcement::leave_out_loopback(const CORBA::Octet* octets, size_t size)
{
  folb_profile profile{};
  if (!said_.n_members || folb_profile_parse(octets, size, &profile) ||
      !profile.port ||
      is_loopback(std::string(profile.host, profile.host_len)))
    return;
  const uint32_t n =
      sift(said_.members, said_.n_members, [](const folb_member& member) {
        return !is_loopback(member.address.host);
      });
  left_out_       = n != said_.n_members;
  said_.n_members = n;
}

// folbRewrite, as with the reference's own addresses.
void Announcement::rewrite(const folb_config& config)
{
  auto keep = [&](folb_address& address) {
    return folb_config_rewrite(&config, &address) != FOLB_REWRITE_DROPPED;
  };
  said_.n_members =
      sift(said_.members, said_.n_members,
           [&](folb_member& member) { return keep(member.address); });
  said_.n_tls = sift(said_.tls, said_.n_tls, keep);
}

Announcement::~Announcement() { folb_announcement_free(nullptr, &said_); }

// Of the selected profile; NULL: it says nothing, or nothing that holds.
std::unique_ptr<Announcement> Reference::announcement()
{
  if (runtime_.config().protocol == FOLB_SWITCH_OFF)
    return nullptr;
  const auto& data =
      ior_.iopProfiles()[CORBA::ULong(ior_.addr_selected_profile_index())]
          .profile_data;
  std::unique_ptr<Announcement> made(
      new Announcement(runtime_.config(), data.get_buffer(), data.length()));
  if (!made->error() && !made->left_out())
    return made;
  char text[FOLB_ADDRESS_TEXT] = "an unknown server";
  if (!profiles_.empty() && profiles_.front().main.port)
    folb_address_format(&profiles_.front().main, text, sizeof text);
  if (made->error()) {
    runtime_.warn_of_server(text, "what a reference says of the cluster",
                            made->error());
    return nullptr;
  }
  runtime_.warn_of_server(text, "a member of the cluster",
                          "its address is loopback, the server's is not");
  return made;
}

// ---- updates

namespace {

bool names_ssl(const folb_announcement& said)
{
  return std::any_of(
      said.members, said.members + said.n_members,
      [](const folb_member& member) { return member.ssl_port != 0; });
}

} // namespace

bool reached(const folb_announcement& said)
{
  return !said.ssl_only || names_ssl(said);
}

CORBA::Octet* ServiceContexts::room(size_t size)
{
  if (room_ || !size)
    return nullptr;
  room_     = static_cast<CORBA::Octet*>(malloc(size));
  size_     = size;
  received_ = false;
  return room_;
}

void ServiceContexts::deal() noexcept
{
  try {
    if (received_)
      candidate_.reference.update(candidate_, room_, size_);
  }
  catch (...) {
    // Without memory the reference stays as it was.
  }
  free(room_);
}

void Reference::update(Candidate& candidate, const CORBA::Octet* octets,
                       size_t size)
{
  const uint64_t hash = hash_of(octets, size);
  if (candidate.last_update.exchange(hash) == hash) {
    if (candidate.leaving.load())
      folb_endpoint_leaves(candidate.endpoint, now_ms());
    return;
  }
  const char* server = folb_endpoint_text(candidate.endpoint);
  folb_update heard;
  folb_error  error;
  if (folb_update_read(octets, size, &heard, &error)) {
    runtime_.warn_of_server(server, "an update of a reference", error.msg);
    return;
  }
  if (!fits(ior_.repositoryID(), heard)) {
    runtime_.warn_of_server(server, "an update of a reference",
                            "it is of another type");
    return;
  }
  folb_profile profile{};
  if (folb_profile_parse(heard.profile, heard.profile_len, &profile) ||
      profile.key_len != candidate.key_size ||
      memcmp(profile.key, candidate.key, profile.key_len) != 0) {
    runtime_.warn_of_server(server, "an update of a reference",
                            "it names another object");
    return;
  }
  const Announcement announcement(runtime_.config(), heard.profile,
                                  heard.profile_len);
  if (announcement.error()) {
    runtime_.warn_of_server(server, "an update of a reference",
                            announcement.error());
    return;
  }
  install(candidate, announcement.said());
  candidate.leaving = announcement.said().leaving;
  if (announcement.said().leaving)
    folb_endpoint_leaves(candidate.endpoint, now_ms());
}

// A label is its server's. The others are sent the newest one, as some of them
// may be other addresses of that server, until they say their own.
void Reference::install(Candidate& candidate, const folb_announcement& said)
{
  if (log_enabled(FOLB_LOG_DECISION))
    log(FOLB_LOG_DECISION, "%s updates a reference of type %s: %u members",
        folb_endpoint_text(candidate.endpoint), ior_.repositoryID(),
        said.n_members);
  set_label(candidate.label, said);
  newest_.set(candidate.label.get());
  const Table* table = table_.load(std::memory_order_acquire);
  for (size_t i = 0; i <= table->mask; ++i)
    if (Candidate* c = table->slots[i].load(std::memory_order_acquire))
      if (!c->last_update.load())
        c->label.set(label_for(c->endpoint).get());
  if (!balanced())
    folb_ref_balance(ref_, said.per_request);
  if (said.n_members && (!ssl_only_ || names_ssl(said)) && reached(said) &&
      !folb_ref_update(ref_, said.members, said.n_members))
    runtime_.note_change();
}

void Reference::set_label(LabelSlot& slot, const folb_announcement& said)
{
  slot.set(said.label ? Label::make(said.label, said.label_len) : nullptr);
}

} // namespace omnifolb
