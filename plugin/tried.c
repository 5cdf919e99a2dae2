/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * tried.c - the endpoints an invocation has failed at, with marks.
 *
 * The first ones are kept in the call itself; the rest, which only a cluster
 * of many dead members needs, in a hash table: [0] its size, a power of two,
 * [1] how many are in it, then the entries.  An entry is an endpoint's
 * address, whose low bits are free, with its marks.
 */
#include "folb_int.h"

#define HEAD       2u
#define SIZE_FIRST 64u
#define MARKS      ((uintptr_t)FOLB_MARKS)

static size_t tried_slot(const uintptr_t *table, uintptr_t key)
{
  size_t mask = (size_t)table[0] - 1;
  size_t at   = (size_t)(key / FOLB_LINE * 0x9e3779b1u) & mask;

  while (table[HEAD + at] != 0 && (table[HEAD + at] & ~MARKS) != key)
    at = (at + 1) & mask;
  return HEAD + at;
}

static uintptr_t *tried_find(struct folb_call           *call,
                             const struct folb_endpoint *ep)
{
  uintptr_t key = (uintptr_t)ep;
  uint32_t  i, n = call->n_tried;
  size_t    at;

  for (i = 0; i < n && i < FOLB_TRIED_INLINE; i++)
    if ((call->tried[i] & ~MARKS) == key)
      return &call->tried[i];
  if (call->more == NULL)
    return NULL;
  at = tried_slot(call->more, key);
  return call->more[at] == 0 ? NULL : &call->more[at];
}

unsigned folb_tried(const struct folb_call     *call,
                    const struct folb_endpoint *ep)
{
  uintptr_t key = (uintptr_t)ep;
  uint32_t  i, n = call->n_tried;

  for (i = 0; i < n && i < FOLB_TRIED_INLINE; i++)
    if ((call->tried[i] & ~MARKS) == key)
      return (unsigned)(call->tried[i] & MARKS);
  if (call->more == NULL)
    return 0;
  return (unsigned)(call->more[tried_slot(call->more, key)] & MARKS);
}

/* Room for one more, half of the table staying empty. */
static bool tried_room(struct folb_call *call)
{
  const struct folb_env *env = &call->ref->engine->env;
  uintptr_t             *old = call->more, *table;
  uintptr_t              size, i;

  if (old != NULL && (old[1] + 1) * 2 <= old[0])
    return true;
  size  = old == NULL ? SIZE_FIRST : old[0] * 2;
  table = (uintptr_t *)folb_zalloc(env, HEAD + size, sizeof(*table));
  if (table == NULL)
    return false;
  table[0] = size;
  for (i = 0; old != NULL && i < old[0]; i++) {
    uintptr_t entry = old[HEAD + i];

    if (entry == 0)
      continue;
    table[tried_slot(table, entry & ~MARKS)] = entry;
    table[1]++;
  }
  folb_free(env, old);
  call->more = table;
  return true;
}

bool folb_tried_add(struct folb_call *call, struct folb_endpoint *ep,
                    unsigned marks)
{
  uintptr_t *entry = tried_find(call, ep);

  if (entry != NULL) {
    *entry |= marks;
    return true;
  }
  if (call->n_tried < FOLB_TRIED_INLINE) {
    call->tried[call->n_tried++] = (uintptr_t)ep | marks;
    return true;
  }
  if (!tried_room(call))
    return false;
  call->more[tried_slot(call->more, (uintptr_t)ep)] = (uintptr_t)ep | marks;
  call->more[1]++;
  call->n_tried++;
  return true;
}

void folb_tried_clear(struct folb_call *call, unsigned marks)
{
  uintptr_t i;

  for (i = 0; i < call->n_tried && i < FOLB_TRIED_INLINE; i++)
    call->tried[i] &= ~(uintptr_t)marks;
  for (i = 0; call->more != NULL && i < call->more[0]; i++)
    call->more[HEAD + i] &= ~(uintptr_t)marks;
}

static struct folb_endpoint *tried_take(uintptr_t *entry, unsigned mark)
{
  if ((*entry & mark) == 0)
    return NULL;
  *entry &= ~(uintptr_t)mark;
  /* An entry is a pointer, with marks in the low bits that one leaves free. */
  /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
  return (struct folb_endpoint *)(*entry & ~MARKS);
}

struct folb_endpoint *folb_tried_take(struct folb_call *call, unsigned mark)
{
  struct folb_endpoint *ep = NULL;
  uintptr_t             i;

  for (i = 0; ep == NULL && i < call->n_tried && i < FOLB_TRIED_INLINE; i++)
    ep = tried_take(&call->tried[i], mark);
  for (i = 0; ep == NULL && call->more != NULL && i < call->more[0]; i++)
    ep = tried_take(&call->more[HEAD + i], mark);
  return ep;
}

void folb_tried_free(struct folb_call *call)
{
  if (call->more == NULL)
    return;
  folb_free(&call->ref->engine->env, call->more);
  call->more = NULL;
}
