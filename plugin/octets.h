/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * octets.h - the components of an IIOP profile, one by one.
 */
#ifndef FOLB_OCTETS_H
#define FOLB_OCTETS_H

#include <folb/folb.h>

#include "cdr.h"

struct folb_component {
  uint32_t       tag;
  const uint8_t *data;
  uint32_t       len;
};

/* r.ok is false once something did not decode. */
struct folb_components {
  struct cdr_reader r;
  uint32_t          left;
};

/* Reads the body into profile, but for what stands in components. */
struct folb_components folb_profile_open(const uint8_t *data, size_t len,
                                         struct folb_profile *profile);
/* False after the last one, and when one does not decode. */
bool folb_components_next(struct folb_components *c,
                          struct folb_component  *out);

#endif
