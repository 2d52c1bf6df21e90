/* SPDX-License-Identifier: Apache-2.0
 *
 * --policy-dir: reports policy files that appear, change or disappear. An editor's save
 * (in place, or rename over), an atomic rename, and the link swap of a Kubernetes
 * ConfigMap volume (NAME.lua -> ..data/NAME.lua, ..data -> ..2026_11_21, swapped by
 * rename) are one change each. Only names that end in ".lua" and do not start with "."
 * count. Files must be trusted (versions.h). */
#ifndef NEAP_API_POLICY_WATCH_H
#define NEAP_API_POLICY_WATCH_H

#include <sys/types.h>

#include "engine/base/error.h"

#define NEAP_WATCH_FILES 256 /* policy files in the directory; more are refused */

struct event_base;
struct neap_watch;

/* file is the given directory, "/" and the name. The directory itself is reported as
 * refused under its own path when it is lost or untrusted, and as gone when it is fine
 * again. No call may free the watch. */
struct neap_watch_calls {
	void *arg;
	/* New or changed text, borrowed. Called from the first check at start on. */
	void (*changed)(void *arg, const char *file, const char *text, size_t len);
	void (*gone)(void *arg, const char *file);
	/* The file cannot be used (owner, mode, size, unreadable): err says why. Once per
	 * state. */
	void (*refused)(void *arg, const char *file, const struct neap_error *err);
};

/* The directory must exist and be trusted. Checks at once (calls come before this
 * returns), then after every inotify change once it is quiet for 100 ms (at the latest
 * after 1 s), and on request. A directory that is removed and recreated is found again
 * (checked every 2 s while missing). Links to files are followed, but a change behind a
 * link is seen only when the directory changes too (as in a ConfigMap volume), or on
 * request. A file that is open for writing is read when it is closed, or after a pause of
 * 1 s. */
int neap_watch_new(struct event_base *base, const char *dir, uid_t own_uid,
		   const struct neap_watch_calls *calls, struct neap_watch **ret,
		   struct neap_error *err);
void neap_watch_free(struct neap_watch *watch);
/* Checks now; for SIGHUP. */
void neap_watch_look(struct neap_watch *watch);

#endif
