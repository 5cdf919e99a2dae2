/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A policy that is no part of the library: compiled with include/ alone, and
 * registered when it is loaded.  It is a rotation that goes backwards, and
 * never picks a member with two or more calls outstanding while another has
 * fewer.
 */
#include <folb/folb_policy.h>

struct backwards {
  uint64_t taken;
};

static size_t cursor_size(const void                    *state,
                          const struct folb_policy_view *view)
{
  (void)state;
  (void)view;
  return sizeof(struct backwards);
}

static void seek(const void *state, const struct folb_policy_view *view,
                 uint64_t turn, void *cursor)
{
  (void)state;
  ((struct backwards *)cursor)->taken = turn % view->n;
}

static void pick(const void *state, const struct folb_policy_view *view,
                 const struct folb_pick_in *in, struct folb_pick_out *out)
{
  struct backwards *c = (struct backwards *)in->cursor;
  const uint32_t    at =
      in->n_candidates - 1 - (uint32_t)(c->taken % in->n_candidates);
  uint32_t i;

  (void)state;
  for (i = 0; i < in->n_candidates; i++) {
    out->member = in->candidates[(at + i) % in->n_candidates];
    if (folb_view_outstanding(view, out->member) < 2)
      break;
  }
  out->turns = 1;
  if ((in->flags & FOLB_PICK_PEEK) == 0)
    c->taken++;
}

static const struct folb_policy_ops ops = {
    .size        = sizeof(struct folb_policy_ops),
    .name        = "test-backwards",
    .uses        = FOLB_POLICY_PER_REQUEST,
    .cursor_size = cursor_size,
    .seek        = seek,
    .pick        = pick,
};

__attribute__((constructor)) static void loaded(void)
{
  (void)folb_policy_register(&ops, NULL);
}
