/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lookup.h - the values of folbResolve and folbDnsServers.
 */
#ifndef FOLB_LOOKUP_H
#define FOLB_LOOKUP_H

#include "text.h"

/* Both read a trimmed text that is not empty.  Mistakes are added to m, whose
 * code they return unless memory ran out; *out is NULL then. */
enum folb_status folb_lookups_read(const struct folb_env *env,
                                   struct folb_slice      text,
                                   struct folb_lookups  **out,
                                   struct folb_mistakes  *m);
enum folb_status folb_servers_read(const struct folb_env *env,
                                   struct folb_slice      text,
                                   struct folb_servers  **out,
                                   struct folb_mistakes  *m);
/* One block each, of env's allocator. */
enum folb_status folb_lookups_copy(const struct folb_env     *env,
                                   const struct folb_lookups *from,
                                   struct folb_lookups      **out);
enum folb_status folb_servers_copy(const struct folb_env     *env,
                                   const struct folb_servers *from,
                                   struct folb_servers      **out);

#endif
