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

/* Replaces the endpoints of folbEndpoints (not those of other sources).
 * FOLB_EINVAL, and nothing changes, if endpoints lists none: as with an empty
 * folbEndpointsFile, calls would go on at the addresses of each reference. */
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

/* Called after every state change of an endpoint, by a thread of the plug-in
 * that exists while there is something to tell: one call at a time, in the
 * order of the events, with no lock held.  It may call CORBA objects, the ORB
 * and this API, and what it does delays nobody.  Of more than 4096 events that
 * wait for it the oldest are lost: folb_event.sequence shows a gap then.
 *
 * One callback per process; NULL ends it.  When the function returns the
 * callback of before has returned too and is not called again, unless this is
 * called from within it; one that is replaced has been told of what happened
 * before, one that is ended has not.  No call begins once exit() has; exit()
 * waits up to 1 s for one that runs.  In the child of a fork the callback stays
 * and is told of what happens there. */
OMNIFOLB_API int omnifolb_on_event(void (*callback)(void *arg,
                                                    const struct folb_event *),
                                   void *arg);

/* In a server with the agent (folbServer): announces from its next reply on
 * that this instance leaves its cluster.  Clients with the plug-in make no
 * further call to it, contexts move at their next one, as long as another
 * member is usable; calls in progress are answered.  Clients of GlassFish see
 * it with weight 0.  So a server that is to be stopped calls this, serves for
 * a moment (a client that has made no call since then does not know of it) and
 * shuts its ORB down.  Beside its own nothing of this process is announced
 * otherwise.
 * FOLB_EINACTIVE: there is no agent; FOLB_ENOENT: no endpoint of the first
 * cluster has the name of folbServer. */
OMNIFOLB_API int omnifolb_leave(void);
/* Takes it back: clients return within some 1 s, contexts as after any
 * failure.  The same statuses; neither is an error when it is so already. */
OMNIFOLB_API int omnifolb_join(void);

#ifdef __cplusplus
}
#endif

#endif
