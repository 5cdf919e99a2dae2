/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * omnifolb.h - the C API of the plug-in, for programs that link it.
 *
 * All functions are thread-safe and return enum folb_status (0 = FOLB_OK)
 * unless they say otherwise.  Lists are texts as folbEndpoints takes them.
 * Before ORB_init, endpoints given here activate the plug-in and replace
 * configured ones; after ORB_init of an inactive plug-in the functions that
 * change or read endpoints return FOLB_EINACTIVE.
 */
#ifndef FOLB_OMNIFOLB_H
#define FOLB_OMNIFOLB_H

#include <folb/folb.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(OMNIFOLB_BUILD)
#define OMNIFOLB_API __attribute__((visibility("default")))
#else
#define OMNIFOLB_API
#endif

/* Does nothing but be called: a program that links the library calls it, so
 * that the link survives --as-needed.  May be called any number of times,
 * before ORB_init. */
OMNIFOLB_API int omnifolb_init(void);

/* "0.1.0"; never NULL. */
OMNIFOLB_API const char *omnifolb_version(void);

/* A text for a status; never NULL. */
OMNIFOLB_API const char *omnifolb_strerror(int status);

/* Why the last call of this thread failed: names what is wrong, the value
 * and what is accepted; "" after a success.  Valid until the next call. */
OMNIFOLB_API const char *omnifolb_error(void);

/* Resolves a URI (anything string_to_object takes) or the name of an initial
 * reference to an IOR string whose next string_to_object opens a fresh
 * context: the ORB itself keeps an initial reference, and so its context,
 * for ever.  *ior belongs to the caller, omnifolb_string_free() ends it; NULL
 * on failure.  May call a name server.  After ORB_init only. */
OMNIFOLB_API int  omnifolb_new_context(const char *uri_or_initial_name,
                                       char      **ior);
OMNIFOLB_API void omnifolb_string_free(char *s);

/* Replaces the endpoints of folbEndpoints (not those of other sources). */
OMNIFOLB_API int omnifolb_set_endpoints(const char *endpoints);
/* Adds to, or removes from, the first cluster of folbEndpoints.  Adding one
 * that is there changes its weight and name; removing one that is not there
 * is FOLB_ENOENT. */
OMNIFOLB_API int omnifolb_add_endpoint(const char *endpoint);
OMNIFOLB_API int omnifolb_remove_endpoint(const char *address);
/* weight 0..65535; 0 = drained: no new context or call.  FOLB_EEXIST, and
 * nothing is changed, when another source lists it with a larger weight. */
OMNIFOLB_API int omnifolb_set_weight(const char *address, unsigned weight);
OMNIFOLB_API int omnifolb_drain(const char *address);

/* Calls visit for each endpoint, members first; it returns false to stop.
 * The structure is valid during the callback. */
OMNIFOLB_API int
omnifolb_stats(bool (*visit)(void *arg, const struct folb_endpoint_stats *),
               void *arg);

/* Called after every state change of an endpoint, from whichever thread made
 * it, with no lock held; it may call CORBA objects.  NULL ends it.  One per
 * process. */
OMNIFOLB_API int omnifolb_on_event(void (*callback)(void *arg,
                                                    const struct folb_event *),
                                   void *arg);

#ifdef __cplusplus
}
#endif

#endif
