/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * folb_giop.h - what GIOP brings: failures and their verdicts, profiles, keys.
 * Conventions: folb.h.
 */
#ifndef FOLB_FOLB_GIOP_H
#define FOLB_FOLB_GIOP_H

#include <folb/folb_config.h>

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif

#endif
