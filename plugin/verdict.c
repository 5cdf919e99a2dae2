/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a failed attempt means: the table of verdicts.  Pure.
 */
#include <folb/folb.h>

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
    [FOLB_OUTCOME_QUEUE_LEFT]        = ALWAYS(NEXT, NONE),
    /* A limit is no failure. */
    [FOLB_OUTCOME_FULL] = ALWAYS(NEXT, NONE),
    /* The server may have closed an idle connection: its right. */
    [FOLB_OUTCOME_REUSED_NO]       = ROW(SAME, SAME, NEXT, NONE),
    [FOLB_OUTCOME_REUSED_CLOSED]   = ROW(SAME, SAME, NEXT, NONE),
    [FOLB_OUTCOME_NEW_NO]          = ALWAYS(NEXT, EJECT),
    [FOLB_OUTCOME_NEW_CLOSED]      = ALWAYS(NEXT, AVOID),
    [FOLB_OUTCOME_REPLY_TRANSIENT] = ALWAYS(NEXT, NONE),
    [FOLB_OUTCOME_REPLY_ADAPTER]   = ALWAYS(NEXT, AVOID_IF_OTHER),
    [FOLB_OUTCOME_REPLY_OBJECT]    = ALWAYS(NEXT, REF_MOVES),
    [FOLB_OUTCOME_TARGET]          = ALWAYS(NEXT, NONE),
    /* It may have been executed. */
    [FOLB_OUTCOME_LOST_REUSED] = ROW(RAISE, NEXT, RAISE, AVOID),
    [FOLB_OUTCOME_LOST_NEW]    = ROW(RAISE, NEXT, RAISE, EJECT),
    [FOLB_OUTCOME_LOST_FULL]   = ROW(RAISE, NEXT, RAISE, NONE),
    /* Slow is not dead, unless nothing but the connect took the time. */
    [FOLB_OUTCOME_STALLED]          = ALWAYS(RAISE, NONE),
    [FOLB_OUTCOME_DEADLINE]         = ALWAYS(RAISE, NONE),
    [FOLB_OUTCOME_DEADLINE_REPLY]   = ALWAYS(RAISE, NONE),
    [FOLB_OUTCOME_DEADLINE_CONNECT] = ALWAYS(RAISE, AVOID),
    [FOLB_OUTCOME_DISCONNECTED]     = ALWAYS(RAISE, NONE),
};

static const char *const outcome_text[FOLB_OUTCOME_COUNT] = {
    [FOLB_OUTCOME_OK]                = "a reply",
    [FOLB_OUTCOME_UNUSABLE]          = "cannot be tried",
    [FOLB_OUTCOME_CONNECT_FAILED]    = "connect failed",
    [FOLB_OUTCOME_CONNECT_CUT]       = "connect cut short",
    [FOLB_OUTCOME_NO_RESOURCES]      = "no local resources",
    [FOLB_OUTCOME_EJECTED_MEANWHILE] = "ejected meanwhile",
    [FOLB_OUTCOME_QUEUE_LEFT]        = "no connection was free",
    [FOLB_OUTCOME_FULL]              = "takes no more connections",
    [FOLB_OUTCOME_REUSED_CLOSED]     = "pooled connection closed in order",
    [FOLB_OUTCOME_LOST_FULL] = "takes no more connections, lost in the call",
    [FOLB_OUTCOME_REUSED_NO]         = "pooled connection lost, COMPLETED_NO",
    [FOLB_OUTCOME_NEW_NO]            = "new connection lost, COMPLETED_NO",
    [FOLB_OUTCOME_NEW_CLOSED]        = "new connection closed in order",
    [FOLB_OUTCOME_REPLY_TRANSIENT]   = "TRANSIENT in the reply",
    [FOLB_OUTCOME_REPLY_ADAPTER]     = "no such adapter there",
    [FOLB_OUTCOME_REPLY_OBJECT]      = "no such object there",
    [FOLB_OUTCOME_TARGET]            = "what it forwards to failed",
    [FOLB_OUTCOME_LOST_REUSED]       = "pooled connection lost in the call",
    [FOLB_OUTCOME_LOST_NEW]          = "new connection lost in the call",
    [FOLB_OUTCOME_STALLED]           = "reads nothing",
    [FOLB_OUTCOME_DEADLINE]          = "deadline reached",
    [FOLB_OUTCOME_DEADLINE_REPLY]    = "deadline reached in the call",
    [FOLB_OUTCOME_DEADLINE_CONNECT]  = "deadline reached while connecting",
    [FOLB_OUTCOME_DISCONNECTED]      = "disconnected here",
};

const char *folb_outcome_text(enum folb_outcome outcome)
{
  return (unsigned)outcome < FOLB_OUTCOME_COUNT ? outcome_text[outcome] : "?";
}

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
