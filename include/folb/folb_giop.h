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
  FOLB_OUTCOME_QUEUE_LEFT,      /* left it because another endpoint may have
                                   one sooner: see folb_call_wait_until() */
  FOLB_OUTCOME_FULL,            /* NO, a new connection ended before its first
                                   reply while others are answered: the peer
                                   takes no more of them                   */
  FOLB_OUTCOME_REUSED_NO,       /* raised here, NO, reused connection: found
                                   closed, lost                            */
  FOLB_OUTCOME_REUSED_CLOSED,   /* the same after an orderly CloseConnection */
  FOLB_OUTCOME_NEW_NO,          /* raised here, NO, new connection         */
  FOLB_OUTCOME_NEW_CLOSED,      /* the same after an orderly CloseConnection */
  FOLB_OUTCOME_REPLY_TRANSIENT, /* TRANSIENT COMPLETED_NO in a reply       */
  FOLB_OUTCOME_REPLY_ADAPTER,   /* the adapter is missing, by its code     */
  FOLB_OUTCOME_REPLY_OBJECT,    /* the object alone is missing, by its code;
                                   or UNKNOWN_OBJECT of an omniORB server  */
  FOLB_OUTCOME_TARGET,          /* it forwards to what failed and may be asked
                                   again: no failure of its own            */
  FOLB_OUTCOME_LOST_REUSED,     /* raised here, MAYBE or YES, connection lost */
  FOLB_OUTCOME_LOST_NEW,        /* the same on a new connection            */
  FOLB_OUTCOME_LOST_FULL,       /* the same as one too many                */
  FOLB_OUTCOME_STALLED,         /* the peer read nothing for folbKeepAlive */
  FOLB_OUTCOME_DEADLINE,        /* reached while sending or waiting for a
                                   connection                              */
  FOLB_OUTCOME_DEADLINE_REPLY,  /* reached while waiting for a reply       */
  FOLB_OUTCOME_DEADLINE_CONNECT, /* reached while connecting               */
  FOLB_OUTCOME_DISCONNECTED,    /* the program ended the connection under a
                                   request that may have been executed     */
  FOLB_OUTCOME_COUNT
};

/* The same in words, for logs; static. */
FOLB_API const char *folb_outcome_text(enum folb_outcome outcome);

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

/* ---- whether a request was executed ------------------------------------ */

/* What an attempt leaves behind, the least first.  An invocation has one such
 * state, to which the end of each attempt is added and which never shrinks. */
enum folb_left {
  FOLB_LEFT_NOTHING = 0, /* the request was not executed                    */
  FOLB_LEFT_PERHAPS,     /* it may have been                                */
  FOLB_LEFT_EXECUTED
};

/* How far an attempt had come when it ended. */
enum folb_reached {
  FOLB_REACHED_SENDING = 0, /* not all of the request was sent              */
  FOLB_REACHED_SENT,        /* all of it, and no octet of its reply was read */
  FOLB_REACHED_REPLY,       /* some of its reply, which has no end          */
  FOLB_REACHED_END          /* all of its reply                             */
};

/* What the end of an attempt leaves, pure.  said: the completion status in the
 * reply, which is believed, or the one it was raised with here; orderly: ended
 * by a GIOP CloseConnection, which says that no request without a reply was
 * executed (CORBA 3.0, 15.5.1.1): not of one whose reply had begun. */
FOLB_API enum folb_left folb_left_by(enum folb_reached    reached,
                                     enum folb_completion said, bool orderly);
/* The completion status of an exception that says said, raised by an
 * invocation that has left that much: never less than what was left. */
FOLB_API enum folb_completion folb_completion_of(enum folb_left       left,
                                                 enum folb_completion said);

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
  bool omni_like; /* the ORB type is omniORB's, or there is none and the key
                     has no other known format                              */
};
FOLB_API struct folb_key_info folb_key_inspect(uint32_t       orb_type,
                                               const uint8_t *key, size_t len);

/* ---- who raised an exception in a reply ---------------------------------- */

struct folb_refusal {
  enum folb_outcome outcome; /* OK: it goes to the application as it is     */
  bool ask; /* only if the server's adapter raised it is the outcome so     */
};
/* A system exception in a reply, pure.  UNKNOWN_OBJECT of a LocateReply is
 * OBJECT_NOT_EXIST, minor 0x4F4D0001, NO.  key: of the reference; its ORB says
 * which codes its adapters use. */
FOLB_API struct folb_refusal
folb_classify_reply(enum folb_exception exception, uint32_t minor,
                    enum folb_completion        completed,
                    const struct folb_key_info *key,
                    enum folb_not_exist         not_exist,
                    enum folb_transient         transient);

enum folb_raiser {
  FOLB_RAISER_UNKNOWN = 0, /* not decided                                   */
  FOLB_RAISER_ADAPTER,     /* the request came to no object                 */
  FOLB_RAISER_SERVANT
};
/* By the exception detail (service context 0x0E) of the reply, len octets;
 * pure. */
#define FOLB_CONTEXT_DETAIL 14u
FOLB_API enum folb_raiser folb_detail_raiser(enum folb_key_format orb,
                                             const uint8_t *data, size_t len);

/* What a `_non_existent` sent after the exception was answered with. */
enum folb_answer {
  FOLB_ANSWER_NONE = 0,  /* nothing in time, or of no use                   */
  FOLB_ANSWER_EXISTS,    /* FALSE                                           */
  FOLB_ANSWER_MISSING,   /* TRUE                                            */
  FOLB_ANSWER_EXCEPTION, /* a system exception, COMPLETED_NO                */
  FOLB_ANSWER_CLOSED,    /* the connection ended: to be asked over a new one */
  FOLB_ANSWER_REFUSED    /* the new connection was refused                  */
};
/* By that answer, pure.  raised: the exception in question; again: the one
 * that was answered; anew: over a new connection, after the first one had
 * ended. */
FOLB_API enum folb_raiser folb_answer_raiser(enum folb_exception raised,
                                             enum folb_answer    answer,
                                             enum folb_exception again,
                                             bool                anew);

#ifdef __cplusplus
}
#endif

#endif
