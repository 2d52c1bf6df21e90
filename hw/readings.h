/* SPDX-License-Identifier: Apache-2.0
 *
 * The files a tick reads, through kept descriptors (pread at 0). 250 pods with 500 containers have
 * some 750 groups of up to 6 files: descriptors are opened when a group is first seen and closed
 * when it goes; when the descriptor limit does not allow that, a group is read by open, read,
 * close. */
#ifndef NEAP_HW_READINGS_H
#define NEAP_HW_READINGS_H

#include "engine/machine/sample.h"
#include "hw/cgroup.h"

struct neap_readings; /* node files */
struct neap_group;    /* one cgroup's files */

/* sys_root: "" for this machine, else a directory that holds proc/ and sys/. */
int neap_readings_new(const char *sys_root, const struct neap_cgroup *cgroup,
		      struct neap_readings **ret, struct neap_error *err);
void neap_readings_free(struct neap_readings *readings);

/* What cannot be read is NEAP_MISSING or NaN. Never fails as a whole. */
void neap_readings_node(struct neap_readings *readings, struct neap_node_reading *ret);
/* Online CPUs now; false when it cannot be read. */
bool neap_readings_online(struct neap_readings *readings, struct neap_cpuset *ret);
/* Files of the node that this kernel does not have ("/proc/pressure/cpu"), by index; NULL at the end. */
const char *neap_readings_missing(const struct neap_readings *readings, size_t index);

enum neap_read_parts {
	NEAP_READ_CPU = 1,         /* usage */
	NEAP_READ_THROTTLE = 2,    /* cpu.stat */
	NEAP_READ_MEMORY = 4,      /* usage counter */
	NEAP_READ_MEMORY_STAT = 8, /* memory.stat: dear, every few ticks */
	NEAP_READ_CPU_PRESSURE = 16,
	NEAP_READ_PRESSURE = 32, /* of memory and I/O */
	NEAP_READ_ALL = 63,
};

/* dir is copied. The group need not exist. NULL without memory. */
struct neap_group *neap_group_new(struct neap_readings *readings, const char *dir,
				  unsigned parts);
void neap_group_free(struct neap_group *group);
/* 1 and *ret; 0 when the group is gone (descriptors are closed; a later call tries afresh). Parts that
 * were not asked for or cannot be read are missing. */
int neap_group_read(struct neap_group *group, unsigned parts, struct neap_reading *ret);
/* What reading it needs is brought nearer, see neap_prefetch. */
void neap_group_prefetch(const struct neap_group *group);
/* Present value of a key of this group, through a descriptor kept as well. As neap_plan_read_fn: 1, 0 gone, -code. */
int neap_group_read_key(struct neap_group *group, enum neap_key key,
			struct neap_value *ret, struct neap_error *err);
/* Opens its files anew when they are read next: it may have now what it lacked while it was made, or be
 * another group of that name. */
void neap_group_doubt(struct neap_group *group);
const char *neap_group_dir(const struct neap_group *group);
/* Identity of the directory (inode), 0 when gone: tells a group from another that took its name. */
uint64_t neap_group_id(struct neap_group *group);
/* Processes in the group itself; -1 when it cannot be read. */
int neap_group_process_count(struct neap_group *group);

#endif
