/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * folb_protocol.h - the octets of GlassFish's and Payara's failover and load
 * balancing protocol: what a profile announces of its cluster, and the update
 * of a reference that comes with a reply.  Layouts are those of the GlassFish
 * ORB 4.x and 5.0 (package com.sun.corba.ee.spi.folb), as seen on the wire.
 * Conventions: folb.h.
 */
#ifndef FOLB_FOLB_PROTOCOL_H
#define FOLB_FOLB_PROTOCOL_H

#include <folb/folb_config.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tagged components of an IIOP profile. */
#define FOLB_TAG_CSI_SEC_MECH_LIST 33u
#define FOLB_TAG_MEMBER            0x53554E03u
#define FOLB_TAG_LABEL             0x53554E04u
#define FOLB_TAG_LOAD_BALANCING    0x53554E05u
/* Ours: the instance that the profile is of leaves its cluster.  {string name;
 * ulong weight}: its name, and the weight that it has otherwise. */
#define FOLB_TAG_LEAVING 0x464F4C01u
/* Service contexts: label in requests, update in replies. */
#define FOLB_CONTEXT_LABEL  0x53554E01u
#define FOLB_CONTEXT_UPDATE 0x53554E02u

/* What is larger is refused as a whole. */
#define FOLB_LABEL_MAX    (256u * 1024u) /* octets                           */
#define FOLB_ANNOUNCE_MAX 4096u          /* endpoints of one announcement    */

/* What a profile says of the cluster its object lives in. */
struct folb_announcement {
  const uint8_t *label; /* in the octets given; NULL: none                   */
  size_t         label_len;
  bool           per_request;   /* TAG_LOAD_BALANCING of value 1             */
  bool           names_members; /* at least one TAG_MEMBER, usable or not    */
  bool           ssl_only; /* the TLS addresses are the only ones to be used */
  bool           leaving;  /* the instance leaves; its member has the weight
                              that it has otherwise, and not the 0 announced */
  struct folb_member *members; /* TCP, in the order of the profile; a name
                                  that is none of ours is left out           */
  uint32_t             n_members;
  struct folb_address *tls; /* TAG_TLS_SEC_TRANS, FOLB_KIND_SSL              */
  uint32_t             n_tls;
};
/* Decodes the components of a TAG_INTERNET_IOP profile.  Any of them that does
 * not decode, or says what cannot be (a negative weight, no address where one
 * belongs, more than the limits), makes it FOLB_EINVAL with the reason in err,
 * and nothing is announced.  Weights above FOLB_WEIGHT_MAX: all are scaled
 * down alike.  Free with folb_announcement_free(), whatever was returned. */
FOLB_API enum folb_status
folb_announcement_read(const struct folb_env *env, const uint8_t *data,
                       size_t len, struct folb_announcement *out,
                       struct folb_error *err);
FOLB_API void folb_announcement_free(const struct folb_env    *env,
                                     struct folb_announcement *a);

/* The data of a FOLB_CONTEXT_UPDATE; pointers into the octets given. */
struct folb_update {
  const char    *type_id; /* not terminated                                  */
  uint32_t       type_id_len;
  const uint8_t *profile; /* octets of the first TAG_INTERNET_IOP profile    */
  size_t         profile_len;
};
FOLB_API enum folb_status folb_update_read(const uint8_t *data, size_t len,
                                           struct folb_update *out,
                                           struct folb_error  *err);

/* ---- the other direction: what a server announces ---------------------- */

/* Written in big endian, as the servers of that protocol do; *out is of env's
 * allocator.  FOLB_TAG_LABEL and FOLB_CONTEXT_LABEL hold the label and nothing
 * else. */

/* The data of a FOLB_TAG_MEMBER: an instance with n endpoints, all of
 * FOLB_KIND_TCP. */
FOLB_API enum folb_status
folb_member_write(const struct folb_env *env, const char *name, uint32_t weight,
                  const struct folb_address *endpoints, uint32_t n,
                  uint8_t **out, size_t *out_len);
/* The data of a FOLB_TAG_LEAVING. */
FOLB_API enum folb_status folb_leaving_write(const struct folb_env *env,
                                             const char *name, uint32_t weight,
                                             uint8_t **out, size_t *out_len);
/* The data of a FOLB_TAG_LOAD_BALANCING. */
FOLB_API enum folb_status
folb_load_balancing_write(const struct folb_env *env, bool per_request,
                          uint8_t **out, size_t *out_len);
/* The data of a FOLB_CONTEXT_UPDATE: a reference of one profile. */
FOLB_API enum folb_status folb_update_write(const struct folb_env    *env,
                                            const struct folb_update *update,
                                            uint8_t **out, size_t *out_len);

struct folb_engine;

struct folb_tagged {
  uint32_t tag;
  uint8_t *data;
  size_t   len;
};
/* What the references of a server carry; never changes once made. */
struct folb_publication {
  struct folb_tagged *components; /* a FOLB_TAG_MEMBER for every configured TCP
                       member of the first cluster, in their order but this
                       instance (folb_config.server) last; then, if it leaves,
                       a FOLB_TAG_LEAVING; then the label                    */
  uint32_t            n;
  uint32_t            n_members;
  bool                lists_own; /* a member is this instance               */
  uint32_t            left_out;  /* members beyond FOLB_ANNOUNCE_MAX        */
};
/* Under a label that nobody else has; *out is NULL when the members are those
 * of before, which may be NULL: so a label is new at every change.  leaving:
 * this instance, if it is a member, is announced with weight 0. */
FOLB_API enum folb_status
folb_publication_new(struct folb_engine *engine, const char *label,
                     bool leaving, const struct folb_publication *before,
                     struct folb_publication      **out);
FOLB_API void folb_publication_free(struct folb_engine      *engine,
                                    struct folb_publication *publication);
/* Its last component. */
FOLB_API const struct folb_tagged *
folb_publication_label(const struct folb_publication *publication);

#ifdef __cplusplus
}
#endif

#endif
