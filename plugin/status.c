/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <folb/folb.h>

#define TEXT_OF(x)      #x
#define DOTTED(a, b, c) TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)

/* The one list of all status texts. */
#define STATUS_MAP(X)                                                          \
  X(OK, "success")                                                             \
  X(ENOMEM, "out of memory")                                                   \
  X(EINVAL, "invalid argument or value")                                       \
  X(ENOENT, "no such key, endpoint, cluster or file")                          \
  X(EEXIST, "name or address already in use")                                  \
  X(ENOUSABLE, "no usable endpoint")                                           \
  X(EINACTIVE, "the plug-in is not active")                                    \
  X(EIO, "file could not be read")                                             \
  X(ENOTYET, "reserved for a later version")                                   \
  X(EORB, "the ORB raised an exception")

const char *folb_version(void)
{
  return DOTTED(FOLB_VERSION_MAJOR, FOLB_VERSION_MINOR, FOLB_VERSION_PATCH);
}

const char *folb_strerror(enum folb_status status)
{
  switch (status) {
#define X(name, text)                                                          \
  case FOLB_##name:                                                            \
    return text;
    STATUS_MAP(X)
#undef X
  default:
    return "unknown status";
  }
}
