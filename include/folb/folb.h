/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * folb.h - the policy engine of omniFOLB: which endpoint a call goes to, and
 * what is done when it fails.  C11, usable from C++11; it knows nothing of
 * any ORB, opens no socket, starts no thread and never sleeps.
 *
 * Conventions
 *   Units      _ms are milliseconds, of the clock given in folb_env unless a
 *              comment says otherwise; 0 as a deadline means none.
 *   Ownership  what a function returns through an out-parameter belongs to
 *              the caller on FOLB_OK and is NULL otherwise; every *_free and
 *              *_release accepts NULL.
 *   Threads    every function may be called from any thread at any time,
 *              unless it says otherwise; a struct folb_call belongs to one
 *              thread.  No callback is called with a lock of ours held.
 *   ABI        structs which a caller fills start with size = sizeof; new
 *              members are only added at the end.
 */
#ifndef FOLB_FOLB_H
#define FOLB_FOLB_H

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

#define FOLB_VERSION_MAJOR 0
#define FOLB_VERSION_MINOR 1
#define FOLB_VERSION_PATCH 0

/* "major.minor.patch" of the library that runs. */
FOLB_API const char *folb_version(void);

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
  /* The endpoint was ejected or avoided: wake whoever waits for one of its
   * connections.  user: see folb_endpoint_set_user().  NULL: nothing. */
  void (*endpoint_ejected)(void *arg, void *user);
  /* The endpoint is used no longer: release what hangs on user.  Called with
   * no lock of ours held; may be called from folb_ref_release(),
   * folb_call_end(), folb_engine_set_source() and folb_engine_release(). */
  void (*endpoint_release)(void *arg, void *user);
  /* A state change, for applications; see struct folb_event. */
  void (*event)(void *arg, const struct folb_event *event);
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

/* ---- members: lists of endpoints as people write them ------------------ */

#define FOLB_WEIGHT_DEFAULT 100u
#define FOLB_WEIGHT_MAX     65535u
#define FOLB_NAME_MAX       64u /* octets of an instance or cluster name */

struct folb_member {
  struct folb_address address;
  uint32_t            weight;                  /* 0 = drained            */
  char                name[FOLB_NAME_MAX + 1]; /* "" = none; kept as is  */
};

struct folb_cluster_spec {
  char                label[FOLB_NAME_MAX + 1]; /* "" = the first cluster,
                     which all sources share; else the [name] of a file or
                     "2", "3", ... for what follows a `;`               */
  struct folb_member *members;
  uint32_t            n_members;
};

/* What one source lists.  Plain memory of env's allocator. */
struct folb_member_list {
  struct folb_cluster_spec *clusters; /* the first one has label ""        */
  uint32_t                  n_clusters;
  uint32_t                  n_duplicates; /* entries merged into others   */
  char duplicate[FOLB_ADDRESS_TEXT];      /* the first of them, for a log  */
};

/* Reads `[name@]address[*weight],...;...` (folbEndpoints).  Reports every
 * mistake of the text in one message.  Duplicates in a cluster merge, the
 * larger weight stays; an address in two clusters is refused. */
FOLB_API enum folb_status
folb_members_parse(const struct folb_env *env, const char *text, size_t len,
                   struct folb_member_list **out, struct folb_error *err);
/* The same of the text of a file: an entry a line, `#` comments, `[name]`. */
FOLB_API enum folb_status
folb_members_parse_file(const struct folb_env *env, const char *text,
                        size_t len, struct folb_member_list **out,
                        struct folb_error *err);
FOLB_API void folb_members_free(const struct folb_env   *env,
                                struct folb_member_list *list);
/* The total number of members. */
FOLB_API uint32_t folb_members_count(const struct folb_member_list *list);

/* ---- configuration ----------------------------------------------------- */

enum folb_not_exist {
  FOLB_NOT_EXIST_ADAPTER = 0, /* a missing adapter is tried elsewhere       */
  FOLB_NOT_EXIST_ANY     = 1, /* every OBJECT_NOT_EXIST COMPLETED_NO is     */
  FOLB_NOT_EXIST_OFF     = 2  /* none is                                    */
};

#define FOLB_OFF UINT32_MAX /* "off" of a key that is a time */

struct folb_policy_ops; /* folb_policy.h */

/* All keys, parsed.  Made by folb_config_new(), changed by
 * folb_config_set() only; one thread at a time. */
struct folb_config {
  size_t                        size;
  const struct folb_policy_ops *policy; /* NULL: folbPolicy = none          */
  bool                          policy_set; /* folbPolicy was given         */
  bool                          endpoints_set; /* folbEndpoints not empty   */
  uint32_t connect_ms;          /* folbConnectTimeOutPeriod; 0: no cap      */
  bool     connect_set;         /* the key was given                        */
  uint32_t keep_alive_ms;       /* FOLB_OFF: off                            */
  uint32_t retry_initial_ms;    /* 0: one pass                              */
  uint32_t retry_max_ms;        /* all sleeps of an invocation              */
  uint32_t retry_backoff;       /* growth in per cent                       */
  uint32_t retry_single_ms;     /* largest sleep; 0: no limit               */
  uint32_t eject_ms;            /* 0: never, not for 1 s either             */
  uint32_t eject_max_ms;
  uint32_t idle_check_ms;       /* FOLB_OFF: off                            */
  uint32_t max_forwards;        /* 0: none is followed                      */
  uint32_t seed;                /* 0: from the kernel                       */
  enum folb_not_exist not_exist;
  const char *endpoints_file;   /* "" = none; owned by the configuration    */
  /* The rest is read through functions. */
  struct folb_member_list *endpoints;  /* of folbEndpoints; NULL if empty   */
  struct folb_patterns    *idempotent; /* of folbIdempotent; NULL if empty  */
};

FOLB_API enum folb_status folb_config_new(const struct folb_env *env,
                                          struct folb_config   **out);
/* A deep copy, so that a value can be tried and nothing is half-applied. */
FOLB_API enum folb_status folb_config_copy(const struct folb_config *from,
                                           struct folb_config      **out);
FOLB_API void folb_config_free(struct folb_config *config);

/* The key table: every key of this and of later versions, sorted by name. */
struct folb_key {
  const char *name;     /* "folbConnectTimeOutPeriod"                       */
  const char *value;    /* default, as -ORBdumpConfiguration shows it       */
  const char *accepted; /* "0..86400000 ms; 0 = no cap"                     */
  const char *help;     /* one line, as in the README                       */
  bool        lists;    /* repeated values of one source are joined by `,`  */
  bool        later;    /* "not yet", unless set to its default             */
};
FOLB_API size_t                 folb_key_count(void);
FOLB_API const struct folb_key *folb_key_at(size_t i);   /* NULL: no such   */
FOLB_API const struct folb_key *folb_key_find(const char *name);
/* The key whose name is nearest to an unknown one (edit distance), or NULL
 * when none is near. */
FOLB_API const struct folb_key *folb_key_nearest(const char *name);

/* Sets a key from its text; blanks around separators are ignored.  On error
 * nothing is changed and err->msg says every mistake of the value and what
 * is accepted (it names neither key nor the whole value: the caller does).
 * A later key: FOLB_OK when the value is its default, else FOLB_ENOTYET. */
FOLB_API enum folb_status folb_config_set(struct folb_config *config,
                                          const char *key, const char *value,
                                          struct folb_error *err);
/* The current text of a key; truncated to size; returns the full length. */
FOLB_API size_t folb_config_get(const struct folb_config *config,
                                const char *key, char *buf, size_t size);
/* True when an endpoint source or a policy other than none is set. */
FOLB_API bool folb_config_active(const struct folb_config *config);
/* Whether repository_id#operation is listed in folbIdempotent; an id may be
 * NULL or "" (then only a pattern that matches the empty string does). */
FOLB_API bool folb_config_idempotent(const struct folb_config *config,
                                     const char *repository_id,
                                     const char *operation);

/* ---- verdicts: what a failed attempt means ----------------------------- */

/* CORBA::CompletionStatus, same numbers. */
enum folb_completion {
  FOLB_COMPLETED_YES   = 0,
  FOLB_COMPLETED_NO    = 1,
  FOLB_COMPLETED_MAYBE = 2
};

/* How an attempt ended. "Raised here" = by this ORB, not read from a reply. */
enum folb_outcome {
  FOLB_OUTCOME_OK = 0,          /* a reply, of whatever kind, that goes to
                                   the application as it is              */
  FOLB_OUTCOME_UNUSABLE,        /* nothing could be tried: no transport rule
                                   allows it, its name has no address    */
  FOLB_OUTCOME_CONNECT_FAILED,  /* refused, unreachable, our own cap      */
  FOLB_OUTCOME_CONNECT_CUT,     /* ended by half of the time left or by the
                                   application's connect timeout          */
  FOLB_OUTCOME_NO_RESOURCES,    /* no descriptor, buffer or port here     */
  FOLB_OUTCOME_EJECTED_MEANWHILE, /* left the wait for a connection because
                                   the endpoint was ejected               */
  FOLB_OUTCOME_REUSED_NO,       /* raised here, NO, reused connection: found
                                   closed, orderly close, lost            */
  FOLB_OUTCOME_NEW_NO,          /* raised here, NO, new connection         */
  FOLB_OUTCOME_NEW_CLOSED,      /* the same after an orderly CloseConnection */
  FOLB_OUTCOME_REPLY_TRANSIENT, /* TRANSIENT COMPLETED_NO in a reply       */
  FOLB_OUTCOME_REPLY_ADAPTER,   /* the adapter is missing, by its code     */
  FOLB_OUTCOME_REPLY_OBJECT,    /* OBJECT_NOT_EXIST 0x4F4D0001, or
                                   UNKNOWN_OBJECT, of an omniORB server    */
  FOLB_OUTCOME_LOST_REUSED,     /* raised here, MAYBE or YES, connection lost */
  FOLB_OUTCOME_LOST_NEW,        /* the same on a new connection            */
  FOLB_OUTCOME_STALLED,         /* the peer read nothing for folbKeepAlive */
  FOLB_OUTCOME_DEADLINE,        /* reached while sending or waiting for a
                                   connection                              */
  FOLB_OUTCOME_DEADLINE_REPLY,  /* reached while waiting for a reply       */
  FOLB_OUTCOME_DEADLINE_CONNECT, /* reached while connecting               */
  FOLB_OUTCOME_COUNT
};

/* What is done with the invocation. */
enum folb_action {
  FOLB_ACTION_RAISE = 0, /* the failure goes to the application             */
  FOLB_ACTION_NEXT  = 1, /* the next endpoint                               */
  FOLB_ACTION_SAME  = 2, /* the same endpoint on a new connection           */
  FOLB_ACTION_SLEEP = 3  /* another pass, after call->sleep_ms              */
};

/* What is done with the endpoint. */
enum folb_effect {
  FOLB_EFFECT_NONE = 0,
  FOLB_EFFECT_EJECT,     /* as by a failed connect                          */
  FOLB_EFFECT_AVOID,     /* for 1 s                                         */
  FOLB_EFFECT_AVOID_IF_OTHER, /* for 1 s, once another one has answered     */
  FOLB_EFFECT_REF_MOVES  /* nothing; only this reference goes on at the one
                            that answers                                    */
};

struct folb_verdict {
  enum folb_action action; /* RAISE, NEXT or SAME */
  enum folb_effect effect;
};

/* The verdict table, pure.  resend: the request may be sent again although
 * it may have been executed (idempotent, and not yet re-sent in this
 * invocation). same_tried: SAME was already answered for this endpoint. */
FOLB_API struct folb_verdict folb_verdict_of(enum folb_outcome outcome,
                                             bool resend, bool same_tried);

/* What a system exception in a reply means. */
enum folb_exception {
  FOLB_EXC_OTHER = 0,
  FOLB_EXC_TRANSIENT,
  FOLB_EXC_OBJ_ADAPTER,
  FOLB_EXC_OBJECT_NOT_EXIST
};
/* UNKNOWN_OBJECT of a LocateReply is OBJECT_NOT_EXIST, minor 0x4F4D0001, NO.
 * omni_key: the reference's ORB type is omniORB's, or there is none and its
 * key has no other known format (see struct folb_key_info).  Returns
 * FOLB_OUTCOME_OK for what goes to the application as it is. */
FOLB_API enum folb_outcome folb_classify_reply(enum folb_exception exception,
                                               uint32_t             minor,
                                               enum folb_completion completed,
                                               bool                 omni_key,
                                               enum folb_not_exist  policy);

/* ---- octets: profiles and object keys ---------------------------------- */

#define FOLB_TAG_INTERNET_IOP        0u
#define FOLB_TAG_MULTIPLE_COMPONENTS 1u

/* An IIOP profile, decoded; pointers into the octets given. */
struct folb_profile {
  uint8_t              major, minor;
  const char          *host; /* not terminated */
  uint32_t             host_len;
  uint16_t             port; /* 0: none (an SSL-only reference)             */
  const uint8_t       *key;
  uint32_t             key_len;
  uint32_t             orb_type; /* TAG_ORB_TYPE; 0: none                   */
  struct folb_address *alternates; /* TAG_ALTERNATE_IIOP_ADDRESS, usable
                                      ones, caller's array                  */
  uint32_t             n_alternates;
  uint32_t             max_alternates; /* in: room in alternates            */
};
/* Decodes the octets of a TAG_INTERNET_IOP profile (CORBA 3.0, 15.7.2).
 * Bounds-checked, both byte orders.  A component that does not decode is
 * skipped; a profile whose body does not decode: FOLB_EINVAL. */
FOLB_API enum folb_status folb_profile_parse(const uint8_t *data, size_t len,
                                             struct folb_profile *profile);
/* The profile with another address: version, key and components are kept,
 * host and port replaced, octets re-aligned.  *out of env's allocator. */
FOLB_API enum folb_status folb_profile_rewrite(const struct folb_env *env,
                                               const uint8_t *data, size_t len,
                                               const struct folb_address *to,
                                               uint8_t **out, size_t *out_len);

enum folb_key_format {
  FOLB_KEY_UNKNOWN = 0,
  FOLB_KEY_OMNIORB,
  FOLB_KEY_TAO,
  FOLB_KEY_GLASSFISH,
  FOLB_KEY_YOKO,
  FOLB_KEY_JACORB
};
struct folb_key_info {
  enum folb_key_format format;
  bool transient; /* dies with its server process: never sent elsewhere     */
  bool omni_like; /* see folb_classify_reply(), omni_key                    */
};
FOLB_API struct folb_key_info folb_key_inspect(uint32_t       orb_type,
                                               const uint8_t *key, size_t len);

/* ---- engine ------------------------------------------------------------ */

struct folb_engine;
struct folb_endpoint; /* one address; compared by pointer                    */
struct folb_ref;      /* one reference: what can be tried for it             */
struct folb_thread;   /* per-thread state                                    */
struct folb_context;

/* config and env are copied; config->policy NULL is FOLB_EINVAL. */
FOLB_API enum folb_status folb_engine_new(const struct folb_config *config,
                                          const struct folb_env    *env,
                                          struct folb_engine      **out,
                                          struct folb_error        *err);
/* Ends the engine: no call may be in progress.  References that are still
 * held keep their memory until released, and can only be released. */
FOLB_API void folb_engine_release(struct folb_engine *engine);
FOLB_API const struct folb_config *
folb_engine_config(const struct folb_engine *engine);

/* Sources of members; the first one to list an address keeps it. */
enum folb_source {
  FOLB_SOURCE_ENDPOINTS = 0, /* folbEndpoints, or the C API in its place    */
  FOLB_SOURCE_FILE      = 1,
  FOLB_SOURCE_COUNT
};
/* Replaces what a source lists (NULL: nothing); list is copied.  Members
 * that stay keep counters, ejections and contexts; contexts of a removed or
 * drained one move at their next call.  Every call publishes one new
 * snapshot per changed cluster; picks go on meanwhile. */
FOLB_API enum folb_status
folb_engine_set_source(struct folb_engine *engine, enum folb_source source,
                       const struct folb_member_list *list);
/* Grows whenever members or names change; see folb_ref_managed(). */
FOLB_API uint64_t folb_engine_generation(const struct folb_engine *engine);

/* The answer for a host name: n numeric addresses; n == 0: not resolvable. */
FOLB_API void folb_host_answer(struct folb_engine *engine, const char *host,
                               const char *const *numeric, uint32_t n);
/* Asks folb_env.resolve for a host again, whatever is known of it.  What was
 * answered before stays until the new answer, and if that is "not
 * resolvable", beyond it. */
FOLB_API void folb_host_refresh(struct folb_engine *engine, const char *host);

enum folb_host_state {
  FOLB_HOST_UNKNOWN  = 0, /* never asked for, or of no endpoint             */
  FOLB_HOST_PENDING  = 1, /* asked for, no answer yet                       */
  FOLB_HOST_FAILED   = 2, /* not resolvable                                 */
  FOLB_HOST_ANSWERED = 3
};
#define FOLB_HOST_TEXT 80 /* room for a numeric address with a zone */
/* What is known of a host name.  Copies up to max of its addresses, the count
 * to *n; *answer tells one answer from another (0: none yet, it grows).  Each
 * out-parameter may be NULL. */
FOLB_API enum folb_host_state
folb_host_lookup(struct folb_engine *engine, const char *host,
                 char (*numeric)[FOLB_HOST_TEXT], uint32_t max, uint32_t *n,
                 uint64_t *answer);

/* Whether an address is, or ever was, a member of a configured cluster. */
FOLB_API bool folb_engine_lists(struct folb_engine        *engine,
                                const struct folb_address *address);

/* fork(2): call before, and after in parent (child = false) and child. */
FOLB_API void folb_engine_before_fork(struct folb_engine *engine);
FOLB_API void folb_engine_after_fork(struct folb_engine *engine, bool child);

/* ---- endpoints --------------------------------------------------------- */

FOLB_API const struct folb_address *
folb_endpoint_address(const struct folb_endpoint *ep);
/* "host:port", for logs; lives as long as the endpoint. */
FOLB_API const char *folb_endpoint_text(const struct folb_endpoint *ep);
/* What the host hangs on an endpoint; NULL at first.  Compare-and-set:
 * stores user if none is there and returns what is there afterwards. */
FOLB_API void *folb_endpoint_user(const struct folb_endpoint *ep);
FOLB_API void *folb_endpoint_set_user(struct folb_endpoint *ep, void *user);
/* False while the endpoint is ejected or avoided. */
FOLB_API bool folb_endpoint_usable(const struct folb_endpoint *ep);

enum folb_state {
  FOLB_STATE_USABLE  = 0,
  FOLB_STATE_EJECTED = 1, /* or avoided                                     */
  FOLB_STATE_TRIAL   = 2, /* its ejection has ended, one call tries it      */
  FOLB_STATE_DRAINED = 3, /* weight 0                                       */
  FOLB_STATE_REMOVED = 4  /* no member any more                             */
};
struct folb_endpoint_stats {
  size_t                     size;
  const struct folb_address *address;
  const char                *text;    /* "host:port" */
  const char                *name;    /* "" = none */
  const char                *cluster; /* label; NULL: no member ever        */
  uint32_t                   weight;
  enum folb_state            state;
  uint64_t ejected_until_ms; /* 0: not ejected */
  uint64_t attempts;         /* successes + failures + outstanding          */
  uint64_t successes;
  uint64_t failures[FOLB_OUTCOME_COUNT]; /* by outcome                      */
  uint64_t ejections;
  uint32_t outstanding;
};
/* Calls visit for every member, in the order of the configuration, then for
 * every other address in use; visit returns false to stop. */
FOLB_API void
folb_engine_stats(struct folb_engine *engine,
                  bool (*visit)(void *arg, const struct folb_endpoint_stats *),
                  void *arg);

enum folb_event_type {
  FOLB_EVENT_EJECTED  = 1, /* ms: for how long                              */
  FOLB_EVENT_AVOIDED  = 2, /* ms: for how long                              */
  FOLB_EVENT_RESTORED = 3, /* it answered again                             */
  FOLB_EVENT_ADDED    = 4,
  FOLB_EVENT_REMOVED  = 5,
  FOLB_EVENT_WEIGHT   = 6  /* ms: the new weight                            */
};
struct folb_event {
  size_t               size;
  enum folb_event_type type;
  const char          *endpoint; /* "host:port", valid during the callback  */
  uint64_t             ms;
};

/* ---- references -------------------------------------------------------- */

/* An address that a reference itself has. */
struct folb_own {
  struct folb_address address;
  uint32_t            profile; /* the host's index, for folb_ref_profile()  */
};

enum folb_origin {
  FOLB_ORIGIN_FRESH = 0, /* string_to_object, an initial reference: a new
                            context whose endpoint the policy gives          */
  FOLB_ORIGIN_REPLY = 1, /* received in the reply of parent at answered      */
  FOLB_ORIGIN_LOOSE = 2  /* an Any, an argument of an upcall: a context at
                            its own first address                            */
};

struct folb_ref_spec {
  size_t                 size;
  const struct folb_own *own; /* in the order of the reference, de-duplicated
                                 by the engine                               */
  uint32_t               n_own;
  bool                   fixed; /* transient key or target of a forward: own
                                   addresses in their order, no members, no
                                   policy, no context, ejections ignored     */
  bool                   always; /* managed whatever its addresses: target of
                                    a forward, or others it has are unusable */
  enum folb_origin       origin;
  struct folb_ref       *parent;   /* FOLB_ORIGIN_REPLY */
  struct folb_endpoint  *answered; /* FOLB_ORIGIN_REPLY */
};

/* Copies spec; resolves no name.  An own list may be empty. */
FOLB_API enum folb_status folb_ref_new(struct folb_engine         *engine,
                                       const struct folb_ref_spec *spec,
                                       struct folb_ref           **out);
FOLB_API struct folb_ref *folb_ref_retain(struct folb_ref *ref);
FOLB_API void             folb_ref_release(struct folb_ref *ref);

enum folb_managed {
  FOLB_UNMANAGED = 0, /* by all that is known now                           */
  FOLB_UNDECIDED = 1, /* names of its own or of members are not answered    */
  FOLB_MANAGED   = 2  /* for ever                                           */
};
/* Whether the engine chooses for the reference: one of its addresses is or
 * was a member, or it has two or more (targets of a forward always are).  Cheap unless
 * the generation has changed.  resolve: ask for its own names (a call does,
 * making a reference does not). */
FOLB_API enum folb_managed folb_ref_managed(struct folb_ref *ref, bool resolve);
/* folb_own.profile of the own address that is ep; of the one that identified
 * the cluster when ep is a member the reference does not name. */
FOLB_API uint32_t folb_ref_profile(const struct folb_ref      *ref,
                                   const struct folb_endpoint *ep);
/* The same when nobody waits for names any longer: by what is known now. */
FOLB_API enum folb_managed folb_ref_settle(struct folb_ref *ref);

/* ---- one invocation ---------------------------------------------------- */

#define FOLB_CALL_LOCATE     0x1u /* LocateRequest: takes no turn            */
#define FOLB_CALL_IDEMPOTENT 0x2u /* may be re-sent after MAYBE or YES       */
#define FOLB_CALL_RESEND_ALL 0x4u /* at every candidate, not only once       */
#define FOLB_CALL_AGAIN      0x8u /* dispatched again by an exception
                                     handler: sleep_ms is as before          */

#define FOLB_TRIED_INLINE 16

/* Owned by the caller, on its stack; not initialised by it.  Only endpoint,
 * sleep_ms and attempts are for reading, the rest is the engine's.  The
 * caller keeps the reference until the invocation is over. */
struct folb_call {
  struct folb_endpoint *endpoint; /* where to send the attempt to            */
  uint32_t              sleep_ms; /* with FOLB_ACTION_SLEEP                  */
  uint32_t              attempts; /* begun so far, UNUSABLE ones not counted */
  /* private */
  struct folb_ref      *ref;
  struct folb_context  *context;
  uint64_t              deadline_ms;
  uint32_t              flags;
  uint32_t              state;
  uint32_t              epoch; /* of endpoint, when the attempt began        */
  uint32_t              n_tried;
  uint32_t              slept_ms;
  uint32_t              last_sleep_ms;
  struct folb_endpoint *from;  /* the context's one, once it was left        */
  uintptr_t             tried[FOLB_TRIED_INLINE]; /* endpoints and marks     */
  uintptr_t            *more;  /* those beyond the inline ones               */
};

/* Picks the first endpoint of an invocation of a managed reference.
 * FOLB_ENOUSABLE: nothing to try; folb_call_end() is not to be called. */
FOLB_API enum folb_status folb_call_begin(struct folb_call *call,
                                          struct folb_ref  *ref,
                                          uint64_t now_ms,
                                          uint64_t deadline_ms,
                                          uint32_t flags);
/* The attempt ended in a reply that goes to the application: the invocation
 * is over.  `answered` in folb_ref_spec is call->endpoint until then: call
 * it after results were unmarshalled. */
FOLB_API void folb_call_succeeded(struct folb_call *call, uint64_t now_ms);
/* The attempt failed.  NEXT and SAME: call->endpoint is the endpoint to use;
 * SLEEP: sleep, then folb_call_resume(); RAISE: the invocation is over. */
FOLB_API enum folb_action folb_call_failed(struct folb_call *call,
                                           enum folb_outcome outcome,
                                           uint64_t          now_ms);
/* After the sleep: the first endpoint of the next pass. */
FOLB_API enum folb_status folb_call_resume(struct folb_call *call,
                                           uint64_t          now_ms);
/* The invocation ends without a verdict on the endpoint (a local exception,
 * shutdown); after it, as after RAISE and succeeded, call is dead. */
FOLB_API void folb_call_abandon(struct folb_call *call);
/* Whether the endpoint was ejected or avoided since the attempt began: then
 * a call that waits for one of its connections leaves the wait. */
FOLB_API bool folb_call_ejected(const struct folb_call *call);

/* How long the connect of the current attempt may take, and what its end by
 * that limit means. */
struct folb_cap {
  uint64_t          until_ms; /* UINT64_MAX: no limit                        */
  enum folb_outcome timed_out; /* CONNECT_FAILED, CONNECT_CUT or
                                  DEADLINE_CONNECT                           */
};
/* app_connect_ms: clientConnectTimeOutPeriod, 0 = none. */
FOLB_API struct folb_cap folb_call_cap(const struct folb_call *call,
                                       uint64_t now_ms,
                                       uint32_t app_connect_ms);

#ifdef __cplusplus
}
#endif

#endif
