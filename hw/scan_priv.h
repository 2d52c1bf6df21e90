/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by hw/scan.c (pods and containers) and hw/scan_place.c (one directory that is
 * scanned repeatedly). */
#ifndef NEAP_HW_SCAN_PRIV_H
#define NEAP_HW_SCAN_PRIV_H

#include "hw/scan.h"

#define NEAP_PLACE_NAMES_MAX 65536 /* entries of one directory; more is an error */
/* Scans between full reads. */
#define NEAP_PLACE_EVERY         10  /* without a watch */
#define NEAP_PLACE_WATCHED_EVERY 100 /* with one */

/* The state of a directory when it was read. Zero: never read, or missing. */
struct neap_scan_place_stamp {
	uint64_t inode, links;
	int64_t changed_nsec;
};

struct neap_scan_place {
	struct neap_scan_place_stamp stamp;
	int fd;        /* the stamped directory; -1 when not kept open */
	int watch;     /* inotify watch on the same directory; -1: none */
	bool is_moved; /* the watch reported a change since it was read */
};

/* State shared by all places of a scan. */
struct neap_scan_places {
	const struct neap_cgroup *cgroup;
	int inotify; /* -1 without it */
	long kept, kept_max;
};

struct neap_scan_place_names {
	struct neap_scan_container *rows; /* sorted */
	size_t count;
};

typedef bool neap_scan_place_wanted_fn(enum neap_cgroup_driver driver, const char *name);

enum neap_scan_place_look {
	NEAP_LOOK_NONE, /* the watch would have reported a change */
	NEAP_LOOK_STAT, /* reads it when its stamp changed */
	NEAP_LOOK_READ,
};

void neap_scan_places_init(struct neap_scan_places *places,
			   const struct neap_cgroup *cgroup);
void neap_scan_places_done(struct neap_scan_places *places);
typedef void neap_scan_place_told_fn(void *arg, int watch);
/* Reports all watches with changes. Returns false when events were lost. */
bool neap_scan_places_hear(const struct neap_scan_places *places,
			   neap_scan_place_told_fn *told, void *arg);

/* Initialises a place that was never scanned. */
void neap_scan_place_init(struct neap_scan_place *place);
/* Closes descriptor and watch; the stamp stays, and the next scan uses the path. */
void neap_scan_place_close(struct neap_scan_places *places,
			   struct neap_scan_place *place);
/* Returns the inode of the directory at the path, 0 when there is none. */
uint64_t neap_scan_place_inode(const struct neap_cgroup *cgroup, const char *dir);
/* Chooses how to scan this time. turn counts scans and differs between places, to spread
 * the expensive ones. */
enum neap_scan_place_look neap_scan_place_due(const struct neap_scan_place *place,
					      size_t turn);
/* Scans. Returns 1 when the names changed, 0 when not, or -code. */
int neap_scan_place_refresh(struct neap_scan_places *places,
			    struct neap_scan_place *place, const char *dir,
			    enum neap_cgroup_driver driver,
			    neap_scan_place_wanted_fn *is_wanted,
			    enum neap_scan_place_look look,
			    struct neap_scan_place_names *names, struct neap_error *err);

#endif
