/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * alloc.h - memory of the allocator in folb_env.
 *
 * Every function takes an env that may be NULL or may leave realloc NULL: the
 * C library's allocator then.  Products of sizes are checked, so that no
 * caller has to; a size of 0 asks for one octet, so that NULL always means
 * failure.
 */
#ifndef FOLB_ALLOC_H
#define FOLB_ALLOC_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <folb/folb.h>

/* The members of the env that its caller knows; the others are NULL.  A NULL
 * from is an env of defaults. */
static inline struct folb_env folb_env_import(const struct folb_env *from)
{
  struct folb_env env;

  memset(&env, 0, sizeof(env));
  if (from != NULL)
    memcpy(&env, from, from->size < sizeof(env) ? from->size : sizeof(env));
  env.size = sizeof(env);
  return env;
}

static inline bool folb_env_allocates(const struct folb_env *env)
{
  return env != NULL &&
         env->size >=
             offsetof(struct folb_env, realloc) + sizeof(env->realloc) &&
         env->realloc != NULL;
}

static inline void folb_free(const struct folb_env *env, void *p)
{
  if (p == NULL)
    return;
  if (folb_env_allocates(env))
    (void)env->realloc(env->arg, p, 0);
  else
    free(p);
}

/* Room for n elements of size octets each at p, which may be NULL.  On
 * failure NULL, and p is as it was. */
static inline void *folb_resize(const struct folb_env *env, void *p, size_t n,
                                size_t size)
{
  size_t octets;

  if (size != 0 && n > SIZE_MAX / size)
    return NULL;
  octets = n * size;
  if (octets == 0)
    octets = 1;
  if (folb_env_allocates(env))
    return env->realloc(env->arg, p, octets);
  return realloc(p, octets);
}

/* n zeroed elements of size octets each, or NULL. */
static inline void *folb_zalloc(const struct folb_env *env, size_t n,
                                size_t size)
{
  void *p = folb_resize(env, NULL, n, size);

  if (p != NULL)
    memset(p, 0, n * size);
  return p;
}

/* A terminated copy of len octets, or NULL. */
static inline char *folb_strndup(const struct folb_env *env, const char *text,
                                 size_t len)
{
  char *copy;

  if (len == SIZE_MAX)
    return NULL;
  copy = (char *)folb_resize(env, NULL, len + 1, 1);
  if (copy == NULL)
    return NULL;
  if (len != 0)
    memcpy(copy, text, len);
  copy[len] = '\0';
  return copy;
}

#endif
