/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by hw/scan.c (pods and containers) and hw/scan_place.c (one directory that is looked at again
 * and again). */
#ifndef NEAP_HW_SCAN_PRIV_H
#define NEAP_HW_SCAN_PRIV_H

#include "hw/scan.h"

#define NEAP_PLACE_NAMES_MAX 65536 /* entries of one directory; more is an error */
/* Looks between those that do not trust what is cheaper. */
#define NEAP_PLACE_EVERY         10  /* without a watch */
#define NEAP_PLACE_WATCHED_EVERY 100 /* with one */

/* What a directory looked like when it was read. All zero: never read, or not there. */
struct neap_place_stamp {
	uint64_t inode, links;
	int64_t changed_nsec;
};

struct neap_place {
	struct neap_place_stamp stamp;
	int fd;        /* of the directory that the stamp is of; -1 when not kept */
	int watch;     /* of inotify, on the same directory; -1 without one */
	bool is_moved; /* the watch said so since it was read */
};

/* What all places of a scan share. */
struct neap_places {
	const struct neap_cgroup *cgroup;
	int inotify; /* -1 without it */
	long kept, kept_max;
};

struct neap_place_names {
	struct neap_scan_container *rows; /* sorted */
	size_t count;
};

typedef bool neap_place_wanted_fn(enum neap_cgroup_driver driver, const char *name);

enum neap_place_look {
	NEAP_LOOK_NONE, /* the watch would have told */
	NEAP_LOOK_STAT, /* reads it when its stamp moved */
	NEAP_LOOK_READ,
};

void neap_places_init(struct neap_places *places, const struct neap_cgroup *cgroup);
void neap_places_done(struct neap_places *places);
typedef void neap_place_told_fn(void *arg, int watch);
/* Tells of all watches that saw something come or go. False when some were lost. */
bool neap_places_hear(const struct neap_places *places, neap_place_told_fn *told,
		      void *arg);

/* A place that was never looked at. */
void neap_place_init(struct neap_place *place);
/* Closes descriptor and watch; the stamp stays, and the next look goes by the path. */
void neap_place_close(struct neap_places *places, struct neap_place *place);
/* Inode of the directory that has the path now, 0 when there is none. */
uint64_t neap_place_inode(const struct neap_cgroup *cgroup, const char *dir);
/* How to look this time. turn counts looks; it differs from place to place, so that the costly looks are
 * spread. */
enum neap_place_look neap_place_due(const struct neap_place *place, size_t turn);
/* Looks. 1 when the names changed, 0 when not, -code. */
int neap_place_refresh(struct neap_places *places, struct neap_place *place,
		       const char *dir, enum neap_cgroup_driver driver,
		       neap_place_wanted_fn *is_wanted, enum neap_place_look look,
		       struct neap_place_names *names, struct neap_error *err);

#endif
