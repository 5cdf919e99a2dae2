/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pattern.h - patterns with * (any octets, also none) and ? (one octet).
 */
#ifndef FOLB_PATTERN_H
#define FOLB_PATTERN_H

#include "text.h"

/* Case-sensitive, the whole text.  At most len(pattern) * len(text) steps,
 * whatever the pattern. */
bool folb_pattern_match(struct folb_slice pattern, struct folb_slice text);

/* A list of patterns, one block of memory of env's allocator. */
struct folb_patterns;

enum folb_patterns_form {
  FOLB_PATTERNS_PLAIN,    /* pattern,...                                 */
  FOLB_PATTERNS_OPERATION /* repository-id-pattern#operation-pattern,... */
};
/* Reads a list; an empty text gives NULL.  Mistakes are added to m, whose
 * code it returns unless memory ran out. */
enum folb_status folb_patterns_read(const struct folb_env  *env,
                                    struct folb_slice       text,
                                    enum folb_patterns_form form,
                                    struct folb_patterns  **out,
                                    struct folb_mistakes   *m);
enum folb_status folb_patterns_copy(const struct folb_env      *env,
                                    const struct folb_patterns *from,
                                    struct folb_patterns      **out);
void             folb_patterns_free(const struct folb_env *env,
                                    struct folb_patterns  *patterns);
/* Whether one pattern of the list matches; operation is ignored by
 * FOLB_PATTERNS_PLAIN.  patterns may be NULL: none does. */
bool folb_patterns_match(const struct folb_patterns *patterns,
                         struct folb_slice id, struct folb_slice operation);

#endif
