// SPDX-License-Identifier: LGPL-2.1-or-later
#include "expected.h"

#include <folb/omnifolb.h>

#include <cstdlib>
#include <dlfcn.h>

namespace folbtest {

static std::string Expected()
{
  const char *value = std::getenv(kExpectVariable);
  return value != nullptr ? value : "";
}

template <class F> static F *Find(const char *name)
{
  return reinterpret_cast<F *>(dlsym(RTLD_DEFAULT, name));
}

static std::string Unless(bool so, const std::string &what)
{
  return so ? "" : kOtherwise + what;
}

std::string OtherwiseLoaded()
{
  const std::string expected = Expected();
  if (expected.empty())
    return "";
  const bool loaded = Find<const char *()>("omnifolb_version") != nullptr;
  return expected == "plain" ? Unless(!loaded, "loaded into a plain program")
                             : Unless(loaded, "not loaded");
}

std::string OtherwiseActive()
{
  const std::string expected = Expected();
  if (expected != "active" && expected != "inactive")
    return "";
  using Visit     = bool(void *, const folb_endpoint_stats *);
  const auto stop = [](void *, const folb_endpoint_stats *) { return false; };
  const int  status =
      Find<int(Visit *, void *)>("omnifolb_stats")(stop, nullptr);
  return expected == "active"
             ? Unless(status == FOLB_OK, "loaded, but not active")
             : Unless(status == FOLB_EINACTIVE, "active, but not meant to be");
}

} // namespace folbtest
