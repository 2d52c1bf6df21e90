/* SPDX-License-Identifier: Apache-2.0
 *
 * The files a tick reads, through open descriptors (pread at 0). 250 pods with 500
 * containers have about 750 groups of up to 6 files. Descriptors are opened when a group
 * is first seen and closed when it goes; above the descriptor limit a group is read by
 * open, read, close. */
#ifndef NEAP_HW_READINGS_H
#define NEAP_HW_READINGS_H

#include "engine/machine/sample.h"
#include "hw/cgroup.h"

struct neap_readings; /* node files */
struct neap_group;    /* one cgroup's files */

/* sys_root: "" for this machine, else a directory that contains proc/ and sys/. */
int neap_readings_new(const char *sys_root, const struct neap_cgroup *cgroup,
		      struct neap_readings **ret, struct neap_error *err);
void neap_readings_free(struct neap_readings *readings);

/* Values that cannot be read are NEAP_MISSING or NaN. Never fails as a whole. */
void neap_readings_node(struct neap_readings *readings, struct neap_node_reading *ret);
/* Reads the online CPUs; false when they cannot be read. */
bool neap_readings_online(struct neap_readings *readings, struct neap_cpuset *ret);
/* Lists node files that this kernel lacks ("/proc/pressure/cpu"), by index; NULL at the
 * end. */
const char *neap_readings_missing(const struct neap_readings *readings, size_t index);

enum neap_read_parts {
	NEAP_READ_CPU = 1,         /* usage */
	NEAP_READ_THROTTLE = 2,    /* cpu.stat */
	NEAP_READ_MEMORY = 4,      /* usage counter */
	NEAP_READ_MEMORY_STAT = 8, /* memory.stat: expensive, every few ticks */
	NEAP_READ_CPU_PRESSURE = 16,
	NEAP_READ_PRESSURE = 32, /* pressure of memory and I/O */
	NEAP_READ_ALL = 63,
};

/* Copies dir. The group need not exist. NULL without memory. */
struct neap_group *neap_group_new(struct neap_readings *readings, const char *dir,
				  unsigned parts);
void neap_group_free(struct neap_group *group);
/* Returns 1 with *ret; 0 when the group is gone (descriptors are closed, and a later call
 * tries again). Parts that were not requested or cannot be read are missing. */
int neap_group_read(struct neap_group *group, unsigned parts, struct neap_reading *ret);
/* Prefetches what reading it needs, see neap_prefetch. */
void neap_group_prefetch(const struct neap_group *group);
/* Reads the present value of a key of this group, also through an open descriptor. Like
 * neap_plan_read_fn: 1; 0 when gone; -code. */
int neap_group_read_key(struct neap_group *group, enum neap_key key,
			struct neap_value *ret, struct neap_error *err);
/* Reopens its files at the next read: it may have files now that were missing while it
 * was created, or be another group of the same name. */
void neap_group_doubt(struct neap_group *group);
const char *neap_group_dir(const struct neap_group *group);
/* Returns the identity of the directory (inode), 0 when gone: distinguishes a group from
 * a later one of the same name. */
uint64_t neap_group_id(struct neap_group *group);
/* Returns the number of processes in the group itself; -1 when it cannot be read. */
int neap_group_process_count(struct neap_group *group);

#endif
