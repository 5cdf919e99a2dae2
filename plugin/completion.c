/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether the request of an attempt was executed, by how far the attempt came
 * and how it ended.  Pure.
 */
#include <folb/folb.h>

static enum folb_left left_by_completion(enum folb_completion said)
{
  switch (said) {
  case FOLB_COMPLETED_NO:
    return FOLB_LEFT_NOTHING;
  case FOLB_COMPLETED_YES:
    return FOLB_LEFT_EXECUTED;
  default:
    return FOLB_LEFT_PERHAPS;
  }
}

enum folb_left folb_left_by(enum folb_reached    reached,
                            enum folb_completion said, bool orderly)
{
  enum folb_left left = left_by_completion(said);

  /* A status of NO was made here: it proves nothing of a request that is gone,
   * unless the server has closed the connection instead of replying. */
  if (left == FOLB_LEFT_NOTHING && (reached == FOLB_REACHED_REPLY ||
                                    (reached == FOLB_REACHED_SENT && !orderly)))
    return FOLB_LEFT_PERHAPS;
  return left;
}

enum folb_completion folb_completion_of(enum folb_left       left,
                                        enum folb_completion said)
{
  if (left == FOLB_LEFT_EXECUTED)
    return FOLB_COMPLETED_YES;
  return left == FOLB_LEFT_PERHAPS && said == FOLB_COMPLETED_NO
             ? FOLB_COMPLETED_MAYBE
             : said;
}
