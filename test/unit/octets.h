// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Octets of tests: hexadecimal, CDR writing, and the references of test/data.
#ifndef FOLB_TEST_OCTETS_H
#define FOLB_TEST_OCTETS_H

#include <folb/folb.h>

#include <dirent.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

using Octets = std::vector<uint8_t>;

inline Octets FromHex(const std::string &hex)
{
  Octets octets;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    octets.push_back(
        static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  return octets;
}

inline std::string ToHex(const uint8_t *data, size_t len)
{
  static const char digits[] = "0123456789abcdef";
  std::string       hex;
  for (size_t i = 0; i < len; ++i) {
    hex += digits[data[i] >> 4];
    hex += digits[data[i] & 15];
  }
  return hex;
}

// Writes an encapsulation; pad fills the gaps.
class Cdr {
public:
  explicit Cdr(bool little, uint8_t pad = 0) : little_(little), pad_(pad)
  {
    octets_.push_back(little ? 1 : 0);
  }
  Cdr &Octet(unsigned n)
  {
    octets_.push_back(static_cast<uint8_t>(n));
    return *this;
  }
  Cdr &Ushort(unsigned n) { return Number(n, 2); }
  Cdr &Ulong(uint32_t n) { return Number(n, 4); }
  Cdr &Sequence(const Octets &octets)
  {
    Ulong(static_cast<uint32_t>(octets.size()));
    octets_.insert(octets_.end(), octets.begin(), octets.end());
    return *this;
  }
  // With its terminator.
  Cdr &String(const std::string &s)
  {
    Octets octets(s.begin(), s.end());
    octets.push_back(0);
    return Sequence(octets);
  }
  const Octets &octets() const { return octets_; }

private:
  Cdr &Number(uint32_t n, unsigned size)
  {
    while (octets_.size() % size != 0)
      octets_.push_back(pad_);
    for (unsigned i = 0; i < size; ++i)
      octets_.push_back(
          static_cast<uint8_t>(n >> (8 * (little_ ? i : size - 1 - i))));
    return *this;
  }

  bool    little_;
  uint8_t pad_;
  Octets  octets_;
};

struct TaggedProfile {
  uint32_t tag;
  Octets   data;
};

// The profiles of a stringified reference; of a truncated one those before.
inline std::vector<TaggedProfile> ProfilesOf(const std::string &ior)
{
  std::vector<TaggedProfile> profiles;
  size_t                     end = ior.find_first_of(" \r\n");
  if (end == std::string::npos)
    end = ior.size();
  if (ior.compare(0, 4, "IOR:") != 0)
    return profiles;
  const Octets o    = FromHex(ior.substr(4, end - 4));
  size_t       at   = 1;
  auto         next = [&]() -> uint32_t {
    at         = (at + 3) / 4 * 4;
    uint32_t n = 0;
    for (unsigned i = 0; i < 4; ++i, ++at)
      if (at < o.size())
        n |= uint32_t{o[at]} << (8 * (o[0] == 1 ? i : 3 - i));
    return n;
  };
  if (o.empty())
    return profiles;
  at += next();
  for (uint32_t n = next(); n > 0 && at < o.size(); --n) {
    const uint32_t tag = next();
    const uint32_t len = next();
    // A length beyond the end: what is there.
    const size_t have = at < o.size() ? o.size() - at : 0;
    const size_t take = std::min<size_t>(len, have);
    profiles.push_back(
        {tag, Octets(o.begin() + static_cast<std::ptrdiff_t>(o.size() - have),
                     o.begin() +
                         static_cast<std::ptrdiff_t>(o.size() - have + take))});
    at += take;
  }
  return profiles;
}

inline std::vector<std::string> LinesOf(const std::string &path)
{
  std::ifstream            file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    lines.push_back(line);
  EXPECT_FALSE(lines.empty()) << path;
  return lines;
}

// Names in a directory of test/data, sorted.
inline std::vector<std::string> NamesIn(const std::string &dir)
{
  std::vector<std::string> names;
  DIR                     *d = opendir(dir.c_str());
  EXPECT_NE(nullptr, d) << dir;
  if (d == nullptr)
    return names;
  while (const dirent *entry = readdir(d))
    if (entry->d_name[0] != '.')
      names.push_back(entry->d_name);
  closedir(d);
  std::sort(names.begin(), names.end());
  return names;
}

#endif
