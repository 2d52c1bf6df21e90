/* SPDX-License-Identifier: Apache-2.0
 *
 * --policy-dir: tells when a policy file came, changed or went. Saving in an editor (write in place,
 * or rename over), atomic renames, and the link swap of a Kubernetes ConfigMap volume (NAME.lua ->
 * ..data/NAME.lua, ..data -> ..2026_11_21, swapped by rename) are one change each. Only names that
 * end in ".lua" and do not begin with "." count. What it reads must be trusted (versions.h). */
#ifndef NEAP_API_POLICY_WATCH_H
#define NEAP_API_POLICY_WATCH_H

#include <sys/types.h>

#include "engine/base/error.h"

#define NEAP_WATCH_FILES 256 /* policy files in the directory; the rest is refused */

struct event_base;
struct neap_watch;

/* file is the directory as given, "/" and the name. The directory itself is refused by its own path
 * when it is lost or no longer trusted, and gone when it is well again. No call may free the watch. */
struct neap_watch_calls {
	void *arg;
	/* New or changed text, borrowed. Called from the start's first look on. */
	void (*changed)(void *arg, const char *file, const char *text, size_t len);
	void (*gone)(void *arg, const char *file);
	/* The file cannot be taken (owner, mode, size, unreadable): err says why. Once per state. */
	void (*refused)(void *arg, const char *file, const struct neap_error *err);
};

/* The directory must be there and be trusted. Looks first (calls come before this returns), then on every change
 * of inotify once it is quiet for 100 ms (at the latest after 1 s), and when asked. A directory
 * that is removed and made again is found again (by a look every 2 s while it is away). Files that
 * are links are followed, but a change behind a link is seen only where the directory itself changes
 * (as in a ConfigMap volume), or when asked. A file that a writer has open is read when it closes it,
 * or pauses for 1 s. */
int neap_watch_new(struct event_base *base, const char *dir, uid_t own_uid,
		   const struct neap_watch_calls *calls, struct neap_watch **ret,
		   struct neap_error *err);
void neap_watch_free(struct neap_watch *watch);
/* Looks now; for SIGHUP. */
void neap_watch_look(struct neap_watch *watch);

#endif
