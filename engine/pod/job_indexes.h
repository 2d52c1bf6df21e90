/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of the indexes of an indexed job, as its status writes it: "0-2,5". Kept as ranges, as there may be two
 * thousand million of them. */
#ifndef NEAP_ENGINE_POD_JOB_INDEXES_H
#define NEAP_ENGINE_POD_JOB_INDEXES_H

#include "engine/base/base.h"
#include "engine/base/buf.h"

struct neap_job_range {
	int64_t first, last;
};

/* All zero: empty. */
struct neap_job_indexes {
	struct neap_job_range *ranges; /* in order, with a gap between each two */
	size_t count, size;
};

/* The indexes below limit that text names; what is no index in it is left out. False without memory; ret is then
 * empty. */
bool neap_job_indexes_parse(const char *text, int64_t limit,
			    struct neap_job_indexes *ret);
/* False without memory; nothing changed then. */
bool neap_job_indexes_add(struct neap_job_indexes *indexes, int64_t index);
bool neap_job_indexes_has(const struct neap_job_indexes *indexes, int64_t index);
int64_t neap_job_indexes_total(const struct neap_job_indexes *indexes);
/* Without memory the buf says so. */
void neap_job_indexes_write(const struct neap_job_indexes *indexes, struct neap_buf *out);
/* Leaves it empty. */
void neap_job_indexes_done(struct neap_job_indexes *indexes);

#endif
