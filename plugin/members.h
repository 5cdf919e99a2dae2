/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * members.h - lists of members inside the engine.
 */
#ifndef FOLB_MEMBERS_H
#define FOLB_MEMBERS_H

#include "text.h"

#define FOLB_MEMBERS_ACCEPTED                                                  \
  "[b~][v~][name@]address[*weight], address one of host:port, [v6]:port, "     \
  "giop:tcp:host:port, giop:ssl:host:port, giop:unix:path; port 1..65535, "    \
  "weight 0..65535"

/* A copy in memory of env's allocator. */
enum folb_status folb_members_copy(const struct folb_env         *env,
                                   const struct folb_member_list *from,
                                   struct folb_member_list      **out);
/* As folb_members_parse(); mistakes are added to m, whose code it returns
 * unless memory ran out. */
enum folb_status folb_members_read(const struct folb_env    *env,
                                   struct folb_slice         text,
                                   struct folb_member_list **out,
                                   struct folb_mistakes     *m);
/* A name of an instance or cluster: 1..64 octets, none of them a blank, a
 * control character or one of , ; * @ [ ].  What is wrong goes to why. */
bool folb_name_valid(struct folb_slice s, struct folb_text *why);

#endif
