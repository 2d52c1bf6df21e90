/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps one resource of a mirror (api/store/mirror.h) up to date with a server: finds the
 * version that the server serves, lists, watches, and starts over when necessary, as
 * client-go's reflectors do. */
#ifndef NEAP_API_REMOTE_REFLECTOR_H
#define NEAP_API_REMOTE_REFLECTOR_H

#include "api/remote/kinds.h"
#include "api/remote/transport.h"
#include "api/store/mirror.h"

struct event_base;
struct neap_reflector;

struct neap_reflector_config {
	struct event_base *base;
	struct neap_transport *transport;
	struct neap_store *mirror;
	const struct neap_remote_kind *kind;
	const char *ns;       /* NULL: all */
	const char *selector; /* "spec.nodeName=a"; NULL: all */
	bool has_watch_list;  /* the server is new enough to stream its lists */
	/* Called when the mirror has something new for its watches. */
	void (*changed)(void *arg);
	/* Called when the resource is filled for the first time, or is not served. */
	void (*synced)(void *arg);
	void *arg;
	const struct neap_log *log;
};

struct neap_reflector_counts {
	uint64_t lists, watches, events, skipped;
	/* Lists that started because a watch ended: with 410, with another failure. */
	uint64_t expired, failed;
	int64_t heard_usec; /* monotonic time of the last frame; 0: never */
};

/* Everything in config is borrowed except the texts. Starts at once. */
int neap_reflector_new(const struct neap_reflector_config *config,
		       struct neap_reflector **ret, struct neap_error *err);
void neap_reflector_free(struct neap_reflector *reflector);

const struct neap_remote_kind *
neap_reflector_kind(const struct neap_reflector *reflector);
bool neap_reflector_is_synced(const struct neap_reflector *reflector);
/* Returns NULL when the server does not serve the kind, or has not answered yet. */
const char *neap_reflector_version(const struct neap_reflector *reflector);
/* Returns the newest version received; "": none. */
const char *neap_reflector_last(const struct neap_reflector *reflector);
/* Returns whether the server has returned an older state than before: then decide nothing
 * by it. */
bool neap_reflector_is_behind(const struct neap_reflector *reflector);
/* Returns the API version of the body of pods/NAME/eviction, for a reflector of pods. */
const char *neap_reflector_eviction(const struct neap_reflector *reflector);
struct neap_reflector_counts
neap_reflector_counts(const struct neap_reflector *reflector);

#endif
