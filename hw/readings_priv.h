/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by hw/readings.c (the node) and hw/group.c (one cgroup): parsing numbers in
 * kernel text. */
#ifndef NEAP_HW_READINGS_PRIV_H
#define NEAP_HW_READINGS_PRIV_H

#include "hw/readings.h"

#define NEAP_FD_NOT_OPEN  (-1) /* not tried yet */
#define NEAP_FD_NOT_THERE (-2) /* tried: this kernel or group has no such file */
#define NEAP_FD_AGAIN     (-3) /* was not there, to be tried again */

#define NEAP_FD_SCAN_SHARE                                                               \
	8 /* one in so many descriptors is for directories (hw/scan.c) */

#define NEAP_READ_TEXT 8192 /* memory.stat of a 6.x kernel has 2 to 3 KiB */

enum node_file {
	NODE_STAT,
	NODE_MEMINFO,
	NODE_PSI_CPU,
	NODE_PSI_MEMORY,
	NODE_PSI_IO,
	NODE_ONLINE,
	NODE_FILES
};

struct neap_readings {
	const struct neap_cgroup *cgroup;
	char *sys_root;
	bool is_machine; /* sys_root "": kernel files, worth keeping open */
	int fd[NODE_FILES];
	const char *missing[NODE_FILES + 1];
	int64_t usec_per_tick; /* of /proc/stat */
	long kept, kept_max;   /* descriptors of groups */
	unsigned came;         /* counts files that came after they were missing */
};

/* Parses digits at *at and advances it. False without a digit or above int64. */
/* Returns the number at the start of text; missing if there is none. */
int64_t neap_text_number(const char *text);
/* Returns the number in the line "name value" or "name: value kB"; missing if there is
 * none. */
int64_t neap_text_find_number(const char *text, const char *name);
/* "some avg10=12.34 ... total=5678" gives 0.1234 and 5678; anything else NaN and
 * missing. */
double neap_text_pressure(const char *text, int64_t *ret_total_usec);
/* Reads the whole file from 0 into buf, with a NUL. Returns the length, or -1 with
 * errno. */
long neap_text_read(int fd, char *buf, size_t size);

#endif
