/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a failed attempt means: the table of verdicts, and what a system
 * exception in a reply is.  Pure.
 */
#include <folb/folb.h>

/* Minor codes of OBJECT_NOT_EXIST and OBJ_ADAPTER. */
#define OMG_1         0x4f4d0001u
#define OMG_2         0x4f4d0002u
#define OMG_3         0x4f4d0003u /* of JacORB while its POAs go            */
#define OMG_4         0x4f4d0004u
#define OMNIORB_POA   0x4154003au
#define GLASSFISH_POA 0x53550002u

struct row {
  enum folb_action action;
  enum folb_action resend; /* when the request may be sent again            */
  enum folb_action again;  /* when SAME was answered before                 */
  enum folb_effect effect;
};

#define ROW(action, resend, again, effect)                                     \
  {                                                                            \
    FOLB_ACTION_##action, FOLB_ACTION_##resend, FOLB_ACTION_##again,           \
        FOLB_EFFECT_##effect                                                   \
  }
/* One action whatever else is so. */
#define ALWAYS(action, effect) ROW(action, action, action, effect)

static const struct row rows[FOLB_OUTCOME_COUNT] = {
    [FOLB_OUTCOME_OK]                = ALWAYS(RAISE, NONE),
    [FOLB_OUTCOME_UNUSABLE]          = ALWAYS(NEXT, NONE),
    [FOLB_OUTCOME_CONNECT_FAILED]    = ALWAYS(NEXT, EJECT),
    [FOLB_OUTCOME_CONNECT_CUT]       = ALWAYS(NEXT, AVOID),
    [FOLB_OUTCOME_NO_RESOURCES]      = ALWAYS(NEXT, NONE),
    [FOLB_OUTCOME_EJECTED_MEANWHILE] = ALWAYS(NEXT, NONE),
    /* The server may have closed an idle connection: its right. */
    [FOLB_OUTCOME_REUSED_NO]       = ROW(SAME, SAME, NEXT, NONE),
    [FOLB_OUTCOME_NEW_NO]          = ALWAYS(NEXT, EJECT),
    [FOLB_OUTCOME_NEW_CLOSED]      = ALWAYS(NEXT, AVOID),
    [FOLB_OUTCOME_REPLY_TRANSIENT] = ALWAYS(NEXT, NONE),
    [FOLB_OUTCOME_REPLY_ADAPTER]   = ALWAYS(NEXT, AVOID_IF_OTHER),
    [FOLB_OUTCOME_REPLY_OBJECT]    = ALWAYS(NEXT, REF_MOVES),
    /* It may have been executed. */
    [FOLB_OUTCOME_LOST_REUSED] = ROW(RAISE, NEXT, RAISE, AVOID),
    [FOLB_OUTCOME_LOST_NEW]    = ROW(RAISE, NEXT, RAISE, EJECT),
    /* Slow is not dead, unless nothing but the connect took the time. */
    [FOLB_OUTCOME_STALLED]          = ALWAYS(RAISE, NONE),
    [FOLB_OUTCOME_DEADLINE]         = ALWAYS(RAISE, NONE),
    [FOLB_OUTCOME_DEADLINE_REPLY]   = ALWAYS(RAISE, NONE),
    [FOLB_OUTCOME_DEADLINE_CONNECT] = ALWAYS(RAISE, AVOID),
};

struct folb_verdict folb_verdict_of(enum folb_outcome outcome, bool resend,
                                    bool same_tried)
{
  struct folb_verdict verdict = {FOLB_ACTION_RAISE, FOLB_EFFECT_NONE};
  const struct row   *row;

  if ((unsigned)outcome >= FOLB_OUTCOME_COUNT)
    return verdict;
  row            = &rows[outcome];
  verdict.effect = row->effect;
  verdict.action = resend ? row->resend : row->action;
  if (verdict.action == FOLB_ACTION_SAME && same_tried)
    verdict.action = row->again;
  return verdict;
}

/* folbNotExist says which OBJECT_NOT_EXIST is tried elsewhere.  OBJ_ADAPTER
 * is no OBJECT_NOT_EXIST: its code for a missing adapter always is. */
enum folb_outcome folb_classify_reply(enum folb_exception  exception,
                                      uint32_t             minor,
                                      enum folb_completion completed,
                                      bool omni_key, enum folb_not_exist policy)
{
  if (completed != FOLB_COMPLETED_NO)
    return FOLB_OUTCOME_OK;
  switch (exception) {
  case FOLB_EXC_TRANSIENT:
    return FOLB_OUTCOME_REPLY_TRANSIENT;
  case FOLB_EXC_OBJ_ADAPTER:
    return minor == OMG_1 ? FOLB_OUTCOME_REPLY_ADAPTER : FOLB_OUTCOME_OK;
  case FOLB_EXC_OBJECT_NOT_EXIST:
    break;
  default:
    return FOLB_OUTCOME_OK;
  }
  if (policy == FOLB_NOT_EXIST_OFF)
    return FOLB_OUTCOME_OK;
  switch (minor) {
  case OMG_2:
  case OMG_3:
  case OMG_4:
  case OMNIORB_POA:
  case GLASSFISH_POA:
    return FOLB_OUTCOME_REPLY_ADAPTER;
  case OMG_1:
    if (omni_key)
      return FOLB_OUTCOME_REPLY_OBJECT;
    break;
  default:
    break;
  }
  return policy == FOLB_NOT_EXIST_ANY ? FOLB_OUTCOME_REPLY_OBJECT
                                      : FOLB_OUTCOME_OK;
}
