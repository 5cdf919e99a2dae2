/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * folb_config.h - lists of endpoints and configuration keys, read from text.
 * Conventions: folb.h.
 */
#ifndef FOLB_FOLB_CONFIG_H
#define FOLB_FOLB_CONFIG_H

#include <folb/folb_base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- members: lists of endpoints as people write them ------------------ */

#define FOLB_WEIGHT_DEFAULT 100u
#define FOLB_WEIGHT_MAX     65535u
#define FOLB_NAME_MAX       64u /* octets of an instance or cluster name */

struct folb_member {
  struct folb_address address;
  uint32_t            weight;                  /* 0 = drained            */
  char                name[FOLB_NAME_MAX + 1]; /* "" = none; kept as is  */
  bool                backup;       /* b~: used when no other is usable  */
  bool                balancer;     /* v~: the address of a hardware
                                       balancer: never ejected           */
  bool                weight_set;   /* the weight was given                */
  uint16_t            ssl_port;     /* of a TCP address: where the same host
                                       listens for SSL; 0: not known       */
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

/* Reads `[b~][v~][name@]address[*weight],...;...` (folbEndpoints).  Reports
 * every mistake of the text in one message.  Duplicates in a cluster merge:
 * the larger weight stays, it is a backup if all of them are; it is a balancer,
 * and its weight was given, if that is so of one of them.  An address in two
 * clusters is refused. */
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

enum folb_transient {
  FOLB_TRANSIENT_ADAPTER = 0, /* what the server's adapter refused is tried
                                 elsewhere                                  */
  FOLB_TRANSIENT_ANY     = 1, /* every TRANSIENT COMPLETED_NO of a reply is */
  FOLB_TRANSIENT_OFF     = 2  /* none is                                    */
};

enum folb_grain {
  FOLB_GRAIN_CLIENT  = 0, /* one context a cluster for the whole process    */
  FOLB_GRAIN_CONTEXT = 1,
  FOLB_GRAIN_LOOKUP  = 2  /* each look-up in a naming context takes an
                             endpoint of its own                            */
};

/* One entry of folbResolve. */
enum folb_lookup_kind {
  FOLB_LOOKUP_DNS    = 0, /* dns:host:port, a member for every A or AAAA    */
  FOLB_LOOKUP_SRV    = 1, /* dns-srv:name                                   */
  FOLB_LOOKUP_NAMING = 2  /* naming:corbaname of a context                  */
};
struct folb_lookup {
  enum folb_lookup_kind kind;
  const char           *text; /* the entry as written                       */
  struct folb_address   address; /* dns: host and port; dns-srv: the name
                                    as host                                 */
};
struct folb_lookups {
  uint32_t            n;
  size_t              octets; /* of all texts                               */
  struct folb_lookup *list;
};
/* folbDnsServers; hosts are numeric. */
struct folb_servers {
  uint32_t             n;
  struct folb_address *list;
};

enum folb_switch {
  FOLB_SWITCH_ON  = 0,
  FOLB_SWITCH_OFF = 1
};

#define FOLB_OFF UINT32_MAX /* "off" or "never" of a key that is a number */

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
  uint32_t probe_ms;            /* folbProbeInterval; 0: no probing          */
  uint32_t max_forwards;        /* 0: none is followed                      */
  uint32_t seed;                /* 0: from the kernel                       */
  enum folb_not_exist not_exist;
  enum folb_transient transient;
  const char *endpoints_file;   /* "" = none; owned by the configuration    */
  /* What patterns match is asked by functions. */
  struct folb_member_list *endpoints;  /* of folbEndpoints; NULL if empty   */
  struct folb_patterns    *idempotent; /* of folbIdempotent; NULL if empty  */
  enum folb_grain load_balance;
  uint32_t fail_back_ms;      /* FOLB_OFF: never                            */
  uint32_t outlier;           /* failures in a row; FOLB_OFF: off           */
  uint32_t slow_start_ms;
  uint32_t budget_percent;    /* of the calls of 10 s; FOLB_OFF: no budget  */
  uint32_t budget_per_second; /* beside them                                */
  uint32_t subset;            /* members used of each cluster; 0: all       */
  struct folb_patterns *per_request; /* of folbPerRequest; NULL if empty    */
  struct folb_rewrites *rewrites;    /* of folbRewrite; NULL if empty       */
  uint32_t              resolve_interval_ms;
  struct folb_lookups  *lookups;     /* of folbResolve; NULL if empty       */
  struct folb_servers  *dns_servers; /* NULL: the system's                  */
  enum folb_switch      protocol;    /* folbFolb                            */
  char server[FOLB_NAME_MAX + 1];    /* "" = none                           */
  struct folb_patterns *server_poas; /* of folbServerPOAs; NULL: all        */
  uint32_t max_calls; /* folbMaxCalls; 0: one for each connection           */
  uint32_t max_age_ms; /* of a connection; 0: none is too old                */
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
/* Whether a repository id is listed in folbPerRequest; it may be NULL or ""
 * (then only a pattern that matches the empty string does). */
FOLB_API bool folb_config_per_request(const struct folb_config *config,
                                      const char               *repository_id);
/* Whether repository_id#operation is listed in folbIdempotent; an id may be
 * NULL or "" (then only a pattern that matches the empty string does). */
FOLB_API bool folb_config_idempotent(const struct folb_config *config,
                                     const char *repository_id,
                                     const char *operation);

/* Whether references with this object key, one of the process's own, carry
 * membership: the key of a persistent omniORB POA whose name, or the names of
 * it and its ancestors joined by `/`, folbServerPOAs lists.  A key in clear is
 * one of omniINSPOA.  Of names that are longer than 1024 octets together only
 * the last one is looked at. */
FOLB_API bool folb_config_publishes(const struct folb_config *config,
                                    const uint8_t *key, size_t len);

enum folb_rewrite {
  FOLB_REWRITE_NONE    = 0, /* used as it is                                */
  FOLB_REWRITE_CHANGED = 1,
  FOLB_REWRITE_DROPPED = 2  /* not to be used; address is as it was         */
};
/* What folbRewrite makes of an address that a reference, an update of one or
 * a forward names.  The first entry that fits decides, names are compared by
 * text, and the result is not rewritten again.  Paths never are. */
FOLB_API enum folb_rewrite
folb_config_rewrite(const struct folb_config *config,
                    struct folb_address      *address);

#ifdef __cplusplus
}
#endif

#endif
