// SPDX-License-Identifier: LGPL-2.1-or-later
#include "agent.h"

#include <functional>

namespace omnifolb {

namespace {

std::string text(const uint8_t* key, size_t size)
{
  return std::string(reinterpret_cast<const char*>(key), size);
}

} // namespace

std::unique_ptr<AgentTypes::Entry>& AgentTypes::place(const std::string& key)
{
  return entries_[std::hash<std::string>()(key) % places];
}

void AgentTypes::remember(const uint8_t* key, size_t size, const char* type_id)
{
  std::string             name = text(key, size);
  std::unique_ptr<Entry>& entry = place(name);
  if (entry && entry->key == name && entry->type_id == type_id)
    return;
  entry = std::make_unique<Entry>(Entry{std::move(name), type_id});
}

const char* AgentTypes::find(const uint8_t* key, size_t size)
{
  const std::string             name  = text(key, size);
  const std::unique_ptr<Entry>& entry = place(name);
  return entry && entry->key == name ? entry->type_id.c_str() : nullptr;
}

void AgentTypes::clear()
{
  for (std::unique_ptr<Entry>& entry : entries_)
    entry.reset();
}

} // namespace omnifolb
