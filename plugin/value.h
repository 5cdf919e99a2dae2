/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * value.h - the value of one key while it is read.
 */
#ifndef FOLB_VALUE_H
#define FOLB_VALUE_H

#include "keys.h"

struct folb_value {
  const struct folb_env      *env;
  const struct folb_key_spec *spec;
  struct folb_slice           text; /* trimmed */
  struct folb_config         *next; /* gets what was read */
  struct folb_mistakes        mistakes;
};

/* FOLB_ENOMEM, or anything else: then the mistakes tell. */
enum folb_status folb_value_read(struct folb_value *v);

/* What a value of some forms is read into: memory of its own, which the field
 * of the key points to. */
bool             folb_owned(const struct folb_key_spec *spec);
void            *folb_owned_get(const struct folb_config   *config,
                                const struct folb_key_spec *spec);
void             folb_owned_set(struct folb_config         *config,
                                const struct folb_key_spec *spec, void *p);
void             folb_owned_free(const struct folb_env      *env,
                                 const struct folb_key_spec *spec, void *p);
enum folb_status folb_owned_copy(const struct folb_env      *env,
                                 const struct folb_key_spec *spec,
                                 const void *from, void **out);

#endif
