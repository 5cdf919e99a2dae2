/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * transport.c - by which transport a reference is called.
 *
 * Security never falls: a reference that is called by SSL has candidates of
 * FOLB_KIND_SSL and those of TCP addresses whose server it reaches by SSL: of
 * its own, because its profile says how, of other members, because a list or a
 * server says at which port.  What is known in clear text only is no candidate,
 * however many others are down.
 */
#include "folb_int.h"

#include <stdio.h>
#include <string.h>

bool folb_ref_secures(const struct folb_ref      *ref,
                      const struct folb_endpoint *ep)
{
  uint32_t i;

  for (i = 0; i < ref->n_own; i++)
    if (ref->own[i].secured &&
        (ref->own[i].ep == ep || folb_own_as(&ref->own[i]) == ep))
      return true;
  return false;
}

bool folb_endpoint_ssl(struct folb_endpoint *ep, struct folb_address *out)
{
  folb_lock(ep->engine);
  *out      = ep->address;
  out->kind = FOLB_KIND_SSL;
  out->port = ep->ssl_port;
  folb_unlock(ep->engine);
  return out->port != 0;
}

bool folb_ref_same_way(const struct folb_ref *ref, uint32_t own)
{
  const struct folb_endpoint *as;
  uint32_t                    i;

  for (i = 0; ref->own[own].secured && i < ref->n_own; i++) {
    as = folb_own_as(&ref->own[i]);
    if (i != own && ref->own[i].secured &&
        ref->own[i].profile == ref->own[own].profile &&
        (i < own || (as->member && as->cluster == ref->cluster)))
      return true;
  }
  return false;
}

void folb_ref_kind_found_locked(struct folb_ref *ref, enum folb_kind kind)
{
  ref->found_kind = kind;
  atomic_store_explicit(&ref->kind,
                        (uint32_t)(ref->secure ? FOLB_KIND_SSL : kind),
                        memory_order_relaxed);
}

void folb_ref_secure(struct folb_ref *ref, bool secure)
{
  folb_lock(ref->engine);
  ref->secure = secure;
  folb_ref_kind_found_locked(ref, ref->found_kind);
  folb_unlock(ref->engine);
}

/* Whether the cluster lists another address of its host, for SSL. */
static bool listed_for_ssl(const struct folb_cluster  *cluster,
                           const struct folb_endpoint *ep)
{
  uint32_t i;

  for (i = 0; i < cluster->n_members; i++)
    if (cluster->members[i]->address.kind == FOLB_KIND_SSL &&
        strcmp(cluster->members[i]->address.host, ep->address.host) == 0)
      return true;
  return false;
}

const struct folb_endpoint *folb_ref_unreached_locked(struct folb_ref *ref,
                                                      uint32_t        *n)
{
  struct folb_cluster *cluster = ref->cluster;
  uint32_t             i, unreached = 0, ssl = 0;

  if (!ref->secure || ref->fixed || cluster == NULL || cluster->implicit ||
      cluster->warned)
    return NULL;
  for (i = 0; i < cluster->n_members; i++)
    if (cluster->members[i]->address.kind == FOLB_KIND_SSL)
      ssl++;
    else
      unreached += !folb_ref_reaches(ref, cluster->members[i]);
  /* Entries for SSL beside those in clear text leave none to be warned of. */
  if (unreached <= ssl)
    return NULL;
  cluster->warned = true;
  *n              = unreached - ssl;
  for (i = 0; i < cluster->n_members; i++)
    if (!folb_ref_reaches(ref, cluster->members[i]) &&
        !listed_for_ssl(cluster, cluster->members[i]))
      return cluster->members[i];
  return NULL;
}

void folb_warn_unreached(struct folb_engine         *engine,
                         const struct folb_endpoint *first, uint32_t n)
{
  char more[32] = "";

  if (first == NULL)
    return;
  if (n > 1)
    (void)snprintf(more, sizeof(more), " and %u others", (unsigned)(n - 1));
  folb_log(engine, FOLB_LOG_ERROR,
           "endpoint %s%s: not used by references that are called by SSL, "
           "since no SSL address of it is known; an entry "
           "giop:ssl:HOST:PORT gives one",
           first->text, more);
}
