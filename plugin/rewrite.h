/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rewrite.h - the table of folbRewrite.
 */
#ifndef FOLB_REWRITE_H
#define FOLB_REWRITE_H

#include "text.h"

/* One block of memory of env's allocator. */
struct folb_rewrites;

/* Reads `from=to,...`; an empty text gives NULL.  Mistakes are added to m,
 * whose code it returns unless memory ran out. */
enum folb_status folb_rewrites_read(const struct folb_env *env,
                                    struct folb_slice      text,
                                    struct folb_rewrites **out,
                                    struct folb_mistakes  *m);
enum folb_status folb_rewrites_copy(const struct folb_env      *env,
                                    const struct folb_rewrites *from,
                                    struct folb_rewrites      **out);
void             folb_rewrites_free(const struct folb_env *env,
                                    struct folb_rewrites  *rewrites);
/* As folb_config_rewrite(); rewrites may be NULL. */
enum folb_rewrite folb_rewrites_apply(const struct folb_rewrites *rewrites,
                                      struct folb_address        *address);

#endif
