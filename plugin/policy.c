/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * policy.c - the table of policies, and what they share.
 */
#include "folb_int.h"

/* Out-of-tree policies; a table of this size needs no allocator. */
#define REGISTERED_MAX 32u

static const struct folb_policy_ops *const built_in[] = {
    &folb_policy_ordered,
    &folb_policy_ic_based,
    &folb_policy_ic_based_weighted,
    &folb_policy_per_request,
    &folb_policy_per_request_weighted,
    &folb_policy_least_request,
    &folb_policy_peak_ewma,
};
#define BUILT_IN (sizeof(built_in) / sizeof(built_in[0]))

/* Written under table_lock and never changed again below n_registered. */
static const struct folb_policy_ops *registered[REGISTERED_MAX];
static _Atomic size_t                n_registered;
static pthread_mutex_t               table_lock = PTHREAD_MUTEX_INITIALIZER;
static int                           engines; /* table_lock */

const struct folb_policy_ops folb_policy_ordered = {
    .size = sizeof(struct folb_policy_ops),
    .name = "ordered",
    .uses = FOLB_POLICY_IN_ORDER,
};

const struct folb_policy_ops *folb_policy_at(size_t i)
{
  if (i < BUILT_IN)
    return built_in[i];
  i -= BUILT_IN;
  return i < atomic_load(&n_registered) ? registered[i] : NULL;
}

const struct folb_policy_ops *folb_policy_find(const char *name)
{
  const struct folb_policy_ops *ops;
  size_t                        i;

  for (i = 0; (ops = folb_policy_at(i)) != NULL; i++)
    if (strcmp(ops->name, name) == 0)
      return ops;
  return NULL;
}

void folb_policy_engines(int change)
{
  (void)pthread_mutex_lock(&table_lock);
  engines += change;
  (void)pthread_mutex_unlock(&table_lock);
}

static bool policy_name_ok(const char *name)
{
  const char *at;

  for (at = name; *at != '\0'; at++)
    if (!(*at >= 'a' && *at <= 'z') && !folb_is_digit(*at) && *at != '-')
      return false;
  return at != name && at - name <= (ptrdiff_t)FOLB_NAME_MAX;
}

static enum folb_status policy_check(const struct folb_policy_ops *ops,
                                     struct folb_error            *err)
{
  if (ops == NULL || ops->size != sizeof(*ops))
    return folb_error_set(err, FOLB_EINVAL,
                          "a policy table has size %zu; this library has %zu",
                          ops == NULL ? (size_t)0 : ops->size, sizeof(*ops));
  if (ops->name == NULL || !policy_name_ok(ops->name))
    return folb_error_set(err, FOLB_EINVAL,
                          "a policy has no name; 1..%u of a-z, 0-9 and - are "
                          "accepted",
                          FOLB_NAME_MAX);
  if (ops->pick == NULL && !folb_policy_is(ops, FOLB_POLICY_IN_ORDER))
    return folb_error_set(err, FOLB_EINVAL,
                          "policy \"%s\" has no pick; only one that keeps the "
                          "order needs none",
                          ops->name);
  if (ops->cursor_size != NULL && ops->seek == NULL)
    return folb_error_set(err, FOLB_EINVAL,
                          "policy \"%s\" has a cursor and no seek; one that "
                          "has a cursor_size needs it",
                          ops->name);
  if (folb_policy_find(ops->name) != NULL || strcmp(ops->name, "none") == 0)
    return folb_error_set(err, FOLB_EEXIST,
                          "a policy \"%s\" is there already; another name is "
                          "needed",
                          ops->name);
  return FOLB_OK;
}

enum folb_status folb_policy_register(const struct folb_policy_ops *ops,
                                      struct folb_error            *err)
{
  enum folb_status status;
  size_t           n;

  (void)pthread_mutex_lock(&table_lock);
  n      = atomic_load(&n_registered);
  status = policy_check(ops, err);
  if (status == FOLB_OK && engines != 0)
    status = folb_error_set(err, FOLB_EINVAL,
                            "policy \"%s\" comes too late; policies are "
                            "registered before an engine is made",
                            ops->name);
  if (status == FOLB_OK && n == REGISTERED_MAX)
    status = folb_error_set(err, FOLB_ENOMEM,
                            "policy \"%s\" is one too many; %u may be "
                            "registered",
                            ops->name, REGISTERED_MAX);
  if (status == FOLB_OK) {
    registered[n] = ops;
    atomic_store(&n_registered, n + 1);
  }
  (void)pthread_mutex_unlock(&table_lock);
  return status;
}

uint32_t folb_policy_lower(const uint32_t *candidates, uint32_t n,
                           uint32_t member)
{
  uint32_t low = 0, high = n;

  while (low < high) {
    uint32_t mid = low + (high - low) / 2;

    if (candidates[mid] < member)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

struct folb_pick_out folb_policy_pick(const struct folb_snapshot *tier,
                                      const struct folb_pick_in  *in)
{
  struct folb_pick_out out = {UINT32_MAX, 1};
  uint32_t             at;

  tier->policy->pick(tier->state, &tier->view, in, &out);
  if (in->n_candidates == tier->view.n) {
    if (out.member >= tier->view.n)
      out.member = 0;
  } else {
    at = folb_policy_lower(in->candidates, in->n_candidates, out.member);
    if (at == in->n_candidates || in->candidates[at] != out.member)
      out.member = in->candidates[0];
  }
  if (out.turns == 0)
    out.turns = 1;
  return out;
}

uint64_t folb_view_outstanding(const struct folb_policy_view *view,
                               uint32_t                       member)
{
  return view->members == NULL
             ? 0
             : folb_endpoint_outstanding(view->members[member]);
}
