/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * folb_base.h - status codes, what the host gives to the engine, addresses.
 * Conventions: folb.h.
 */
#ifndef FOLB_FOLB_BASE_H
#define FOLB_FOLB_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(FOLB_BUILD)
#define FOLB_API __attribute__((visibility("default")))
#else
#define FOLB_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status ------------------------------------------------------------ */

/* Append-only; a number is never used again. */
enum folb_status {
  FOLB_OK        = 0,
  FOLB_ENOMEM    = 1, /* an allocation failed; nothing was changed          */
  FOLB_EINVAL    = 2, /* an argument or a text is not of the accepted form  */
  FOLB_ENOENT    = 3, /* no such key, endpoint, cluster or file             */
  FOLB_EEXIST    = 4, /* the name or address is taken                       */
  FOLB_ENOUSABLE = 5, /* no endpoint is left to be tried                    */
  FOLB_EINACTIVE = 6, /* the plug-in was not active at ORB_init             */
  FOLB_EIO       = 7, /* a file could not be read                           */
  FOLB_ENOTYET   = 8, /* the key or value is reserved for a later version   */
  FOLB_EORB      = 9  /* the ORB raised an exception                        */
};

/* A short English text for a status; never NULL. */
FOLB_API const char *folb_strerror(enum folb_status status);

/* Filled by functions that read what a person wrote; msg is terminated and
 * names what is wrong, the value, and what is accepted. */
struct folb_error {
  enum folb_status code;
  unsigned         line; /* 1-based line of a file; 0: not from a file */
  char             msg[480];
};

/* ---- the host: what the engine is given -------------------------------- */

/* Levels of folb_env.log, as omniORB's trace levels. */
enum folb_log_level {
  FOLB_LOG_ERROR    = 1,
  FOLB_LOG_CONFIG   = 2,
  FOLB_LOG_STATE    = 5,
  FOLB_LOG_DECISION = 10
};

struct folb_event;

struct folb_env {
  size_t size;
  void  *arg; /* given to every callback */
  /* Milliseconds of a clock that never goes back.
   * NULL: CLOCK_BOOTTIME, so that ejections pass during suspend. */
  uint64_t (*now_ms)(void *arg);
  /* 32 uniformly distributed bits; called with a lock of the engine held,
   * must not call back.  NULL: xoshiro128**, seeded from folb_config.seed. */
  uint32_t (*random)(void *arg);
  /* realloc(3); n == 0 frees p and returns NULL.  NULL: the C library's. */
  void *(*realloc)(void *arg, void *p, size_t n);
  /* The highest level that is logged now.  NULL: 0, nothing is formatted. */
  int (*log_level)(void *arg);
  /* One line without newline.  NULL: none. */
  void (*log)(void *arg, int level, const char *line);
  /* A host name is to be resolved; the answer comes later, from any thread,
   * by folb_host_answer().  Must not block.  NULL: no name ever resolves. */
  void (*resolve)(void *arg, const char *host);
  /* The endpoint was ejected (not: avoided), removed or drained: whoever waits
   * for one of its connections is to leave, unless folb_call_stays().  user:
   * see folb_endpoint_set_user().  NULL: nothing. */
  void (*endpoint_ejected)(void *arg, void *user);
  /* The endpoint is used no longer: release what hangs on user.  Called with
   * no lock of ours held; may be called from folb_ref_release(),
   * folb_call_end(), folb_engine_set_source() and folb_engine_release(). */
  void (*endpoint_release)(void *arg, void *user);
  /* A state change, for applications; see struct folb_event. */
  void (*event)(void *arg, const struct folb_event *event);
  /* Microseconds of a clock that never goes back, to time calls with under
   * policies that want that.  NULL: CLOCK_MONOTONIC. */
  uint64_t (*now_us)(void *arg);
};

/* ---- addresses --------------------------------------------------------- */

enum folb_kind {
  FOLB_KIND_TCP  = 0, /* host:port, giop:tcp:host:port */
  FOLB_KIND_SSL  = 1, /* giop:ssl:host:port            */
  FOLB_KIND_UNIX = 2  /* giop:unix:path                */
};

/* An address in canonical form: names in lower case, IPv6 compressed as by
 * inet_ntop(3) and without brackets.  Equal addresses have equal members. */
struct folb_address {
  enum folb_kind kind;
  uint16_t       port;     /* 1..65535; 0 for FOLB_KIND_UNIX              */
  bool           numeric;  /* host is an IPv4 or IPv6 address             */
  char           host[256]; /* host, or the path of FOLB_KIND_UNIX        */
};

/* Longest output of folb_address_format(), with its terminator. */
#define FOLB_ADDRESS_TEXT 288

/* Reads host:port, [v6]:port, giop:tcp:host:port, giop:ssl:host:port or
 * giop:unix:path.  Port 0 is refused.  err may be NULL. */
FOLB_API enum folb_status folb_address_parse(const char *text, size_t len,
                                             struct folb_address *out,
                                             struct folb_error   *err);
/* Makes an address of a host (name, IPv4, IPv6 with or without brackets) and
 * a port as they stand in an IIOP profile.  FOLB_EINVAL for port 0, an empty
 * host or one that is longer than 255 octets or holds blanks, control
 * characters, or colons or brackets which make no IPv6 address. */
FOLB_API enum folb_status folb_address_make(enum folb_kind kind,
                                            const char *host, size_t host_len,
                                            uint32_t port,
                                            struct folb_address *out);
/* "host:port", "[v6]:port", "giop:ssl:host:port" or "giop:unix:path". */
FOLB_API void folb_address_format(const struct folb_address *a, char *buf,
                                  size_t size);
FOLB_API bool folb_address_equal(const struct folb_address *a,
                                 const struct folb_address *b);

#ifdef __cplusplus
}
#endif

#endif
