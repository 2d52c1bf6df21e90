/* SPDX-License-Identifier: Apache-2.0
 *
 * The audit: a ring of the latest decisions and of every write to the machine. Memory is
 * fixed and nothing is allocated after the start; texts that do not fit are cut. Entry
 * numbers never repeat within one life of the daemon. */
#ifndef NEAP_ENGINE_LOG_AUDIT_H
#define NEAP_ENGINE_LOG_AUDIT_H

#include "engine/base/error.h"

struct neap_audit_entry {
	uint64_t seq;      /* 1, 2, ... */
	int64_t unix_usec; /* time of the answer */
	char what[16];     /* "set", "restore", "move", "remove", "note", "refused" */
	char group[160];   /* path below the hierarchy, "" for none */
	char pod[96]; /* "shop/web" of the pod that the group belongs to, "" for others */
	char key[32]; /* "cpu.max_milli", "" for none */
	char old_value[64]; /* text of the kernel file before, "" if unknown */
	char new_value[64]; /* text read back after */
	char policy[64];    /* "qos/cpu-share@3f2a91c0", "neapd", "operator" */
	char why[160];
	int errnum;   /* 0 on success */
	bool dry_run; /* dry run: nothing was written */
};

struct neap_audit;

struct neap_audit *neap_audit_new(size_t entries);
void neap_audit_free(struct neap_audit *audit);
/* Copies the entry, gives it the next number and returns that number. */
uint64_t neap_audit_add(struct neap_audit *audit, const struct neap_audit_entry *entry);
/* Returns the newest number, 0 when the ring is empty. */
uint64_t neap_audit_last(const struct neap_audit *audit);
/* Returns entry seq, or the oldest later one that is still in the ring; NULL when there
 * is none. Valid until the next add. */
const struct neap_audit_entry *neap_audit_find_from(const struct neap_audit *audit,
						    uint64_t seq);

#endif
