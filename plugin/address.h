/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * address.h - reading an address as part of a longer text.
 */
#ifndef FOLB_ADDRESS_H
#define FOLB_ADDRESS_H

#include "text.h"

/* What is accepted, for the end of a message. */
#define FOLB_ADDRESS_ACCEPTED                                                  \
  "host:port, [v6]:port, giop:tcp:host:port, giop:ssl:host:port, "             \
  "giop:unix:path"

/* As folb_address_parse(); on failure what is wrong is added to why, without
 * the address itself. */
bool folb_address_read(struct folb_slice s, struct folb_address *out,
                       struct folb_text *why);
/* Whether s is an IPv6 address, perhaps with a zone, without brackets. */
bool folb_address_is_v6(struct folb_slice s);
/* A host name, an IPv4 address, or an IPv6 address in brackets, as people
 * write it.  out->host and out->numeric are set. */
bool folb_host_read(struct folb_slice s, struct folb_address *out,
                    struct folb_text *why);

#endif
