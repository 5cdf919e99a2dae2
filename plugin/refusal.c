/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who raised a system exception that a reply brings, COMPLETED_NO: the server's
 * adapter, before the request came to an object, or the object itself.  Pure.
 *
 * An object that lets the failure of a call of its own out sends, bit for bit,
 * what the adapter of its ORB says.  So a code is only where to begin: it is
 * one that the adapter of that ORB uses, and then the ORB's own sign decides,
 * or the answer to a `_non_existent` on the same connection.  A LocateRequest
 * is no sign: omniORB, GlassFish and Yoko say OBJECT_HERE while they discard
 * requests.
 *
 * The codes were provoked and read on the wire of omniORB 4.2.5 and 4.3.3,
 * GlassFish ORB 4.2.5 and 5.0.0, Payara 6.2025.9, JacORB 3.9 and Yoko 1.4, with
 * GIOP 1.0 and 1.2: adapters and objects that are not there, discarding and
 * inactive adapters, servers that start and stop; test/interop asks them again.
 */
#include <folb/folb.h>

#include <string.h>

#define OF(format) (1u << (unsigned)FOLB_KEY_##format)
#define OF_ANY     UINT32_MAX

#define EXC(name)     FOLB_EXC_##name
#define OUTCOME(name) FOLB_OUTCOME_REPLY_##name

struct code {
  uint32_t            minor;
  enum folb_exception exception;
  enum folb_outcome   outcome; /* an adapter, or only this object, is missing */
  uint32_t            orbs;    /* OF() each                                   */
};

static const struct code codes[] = {
    /* An adapter that is missing, inactive or going: of every ORB, because the
     * key of a reference does not tell what stands in front of its server. */
    {0x4f4d0001, EXC(OBJ_ADAPTER), OUTCOME(ADAPTER), OF_ANY},
    {0x4f4d0002, EXC(OBJECT_NOT_EXIST), OUTCOME(ADAPTER), OF_ANY},
    {0x4f4d0003, EXC(OBJECT_NOT_EXIST), OUTCOME(ADAPTER), OF_ANY},
    {0x4f4d0004, EXC(OBJECT_NOT_EXIST), OUTCOME(ADAPTER), OF_ANY},
    {0x4154003a, EXC(OBJECT_NOT_EXIST), OUTCOME(ADAPTER), OF_ANY},
    {0x53550002, EXC(OBJECT_NOT_EXIST), OUTCOME(ADAPTER), OF_ANY},
    /* Discarding, queue full, shutting down. */
    {0x4f4d0001, EXC(TRANSIENT), OUTCOME(TRANSIENT), OF(OMNIORB) | OF(JACORB)},
    {0x4f4d0004, EXC(TRANSIENT), OUTCOME(TRANSIENT), OF(OMNIORB)},
    {0x4154003e, EXC(TRANSIENT), OUTCOME(TRANSIENT), OF(OMNIORB)},
    {0x4f4d0321, EXC(TRANSIENT), OUTCOME(TRANSIENT), OF(GLASSFISH)},
    {0x4f4d0322, EXC(TRANSIENT), OUTCOME(TRANSIENT), OF(GLASSFISH)},
    {0x4f4d0323, EXC(TRANSIENT), OUTCOME(TRANSIENT), OF(GLASSFISH)},
    {0x53550001, EXC(TRANSIENT), OUTCOME(TRANSIENT), OF(GLASSFISH)},
    {0x53550004, EXC(TRANSIENT), OUTCOME(TRANSIENT), OF(GLASSFISH)},
    {0, EXC(TRANSIENT), OUTCOME(TRANSIENT), OF(JACORB) | OF(YOKO)},
    /* Missing and inactive POAs. */
    {0x4f4d0321, EXC(OBJ_ADAPTER), OUTCOME(ADAPTER), OF(GLASSFISH)},
    {0x4f4d0322, EXC(OBJ_ADAPTER), OUTCOME(ADAPTER), OF(GLASSFISH)},
    {0, EXC(OBJ_ADAPTER), OUTCOME(ADAPTER), OF(JACORB)},
    /* The adapter is there, the object is not; 0x270f: a stateful session. */
    {0x4f4d0324, EXC(OBJECT_NOT_EXIST), OUTCOME(OBJECT), OF(GLASSFISH)},
    {0x4f4d0325, EXC(OBJECT_NOT_EXIST), OUTCOME(OBJECT), OF(GLASSFISH)},
    {0x0000270f, EXC(OBJECT_NOT_EXIST), OUTCOME(OBJECT), OF(GLASSFISH)},
    {0, EXC(OBJECT_NOT_EXIST), OUTCOME(OBJECT), OF(JACORB)},
};
/* omniORB has no other code for a missing POA: for references that may be an
 * omniORB server's, see folb_key_info. */
#define OMNI_NO_MATCH 0x4f4d0001u

/* ORBs whose adapters' codes of TRANSIENT are known. */
#define KNOWN (OF(OMNIORB) | OF(GLASSFISH) | OF(JACORB) | OF(YOKO))

static enum folb_outcome by_code(enum folb_exception exception, uint32_t minor,
                                 const struct folb_key_info *key)
{
  const uint32_t orb = 1u << (unsigned)key->format;
  size_t         i;

  for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
    if (codes[i].minor == minor && codes[i].exception == exception &&
        (codes[i].orbs & orb) != 0)
      return codes[i].outcome;
  if (exception == FOLB_EXC_TRANSIENT && (orb & KNOWN) == 0)
    return FOLB_OUTCOME_REPLY_TRANSIENT;
  return exception == FOLB_EXC_OBJECT_NOT_EXIST && minor == OMNI_NO_MATCH &&
                 key->omni_like
             ? FOLB_OUTCOME_REPLY_OBJECT
             : FOLB_OUTCOME_OK;
}

struct folb_refusal folb_classify_reply(enum folb_exception         exception,
                                        uint32_t                    minor,
                                        enum folb_completion        completed,
                                        const struct folb_key_info *key,
                                        enum folb_not_exist         not_exist,
                                        enum folb_transient         transient)
{
  struct folb_refusal refusal = {FOLB_OUTCOME_OK, false};
  bool                any;

  if (completed != FOLB_COMPLETED_NO || exception == FOLB_EXC_OTHER ||
      (exception == FOLB_EXC_TRANSIENT && transient == FOLB_TRANSIENT_OFF) ||
      (exception == FOLB_EXC_OBJECT_NOT_EXIST &&
       not_exist == FOLB_NOT_EXIST_OFF))
    return refusal;
  any = (exception == FOLB_EXC_TRANSIENT && transient == FOLB_TRANSIENT_ANY) ||
        (exception == FOLB_EXC_OBJECT_NOT_EXIST &&
         not_exist == FOLB_NOT_EXIST_ANY);
  refusal.outcome = by_code(exception, minor, key);
  if (any && refusal.outcome == FOLB_OUTCOME_OK)
    refusal.outcome = exception == FOLB_EXC_TRANSIENT
                          ? FOLB_OUTCOME_REPLY_TRANSIENT
                          : FOLB_OUTCOME_REPLY_OBJECT;
  refusal.ask = !any && refusal.outcome != FOLB_OUTCOME_OK;
  return refusal;
}

/* ---- the signs of GlassFish and JacORB --------------------------------------
 */

/* The octets of a text with a 0 between any two: UTF-16 of either order. */
static bool detail_says(const uint8_t *data, size_t len, const char *text)
{
  const size_t n = strlen(text);
  size_t       i, k;

  for (i = 0; i + 2 * n - 1 <= len; i++) {
    for (k = 0; k < n && data[i + 2 * k] == (uint8_t)text[k] &&
                (k + 1 == n || data[i + 2 * k + 1] == 0);
         k++)
      ;
    if (k == n)
      return true;
  }
  return false;
}

/* Byte order and padding, and the length of a text. */
#define DETAIL_HEAD 8u

enum folb_raiser folb_detail_raiser(enum folb_key_format orb,
                                    const uint8_t *data, size_t len)
{
  if (len <= DETAIL_HEAD)
    return FOLB_RAISER_UNKNOWN;
  data += DETAIL_HEAD;
  len -= DETAIL_HEAD;
  switch (orb) {
  case FOLB_KEY_GLASSFISH:
    return detail_says(data, len, "dispatchToServant") ? FOLB_RAISER_SERVANT
                                                       : FOLB_RAISER_ADAPTER;
  case FOLB_KEY_JACORB:
    return detail_says(data, len, "Server-side Exception") ||
                   detail_says(data, len, "Retries exceeded")
               ? FOLB_RAISER_SERVANT
               : FOLB_RAISER_UNKNOWN;
  default:
    return FOLB_RAISER_UNKNOWN;
  }
}

/* ---- the answer to `_non_existent` ------------------------------------------
 */

enum folb_raiser folb_answer_raiser(enum folb_exception raised,
                                    enum folb_answer    answer,
                                    enum folb_exception again, bool anew)
{
  switch (answer) {
  case FOLB_ANSWER_EXISTS:
    return anew ? FOLB_RAISER_UNKNOWN : FOLB_RAISER_SERVANT;
  case FOLB_ANSWER_MISSING:
    return !anew && (raised == FOLB_EXC_OBJECT_NOT_EXIST ||
                     raised == FOLB_EXC_OBJ_ADAPTER)
               ? FOLB_RAISER_ADAPTER
               : FOLB_RAISER_UNKNOWN;
  case FOLB_ANSWER_EXCEPTION:
    return again == raised ? FOLB_RAISER_ADAPTER : FOLB_RAISER_UNKNOWN;
  case FOLB_ANSWER_REFUSED:
    return anew ? FOLB_RAISER_ADAPTER : FOLB_RAISER_UNKNOWN;
  default:
    return FOLB_RAISER_UNKNOWN;
  }
}
