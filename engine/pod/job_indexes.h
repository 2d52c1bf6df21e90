/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of indexes of an indexed Job, in the form of its status: "0-2,5". Stored as
 * ranges, because there may be two billion indexes. */
#ifndef NEAP_ENGINE_POD_JOB_INDEXES_H
#define NEAP_ENGINE_POD_JOB_INDEXES_H

#include "engine/base/base.h"
#include "engine/base/buf.h"

struct neap_job_range {
	int64_t first, last;
};

/* All zero: empty. */
struct neap_job_indexes {
	struct neap_job_range *ranges; /* ascending, with a gap between neighbours */
	size_t count, size;
};

/* Parses the indexes below limit and skips anything that is not an index. Returns false
 * without memory; ret is then empty. */
bool neap_job_indexes_parse(const char *text, int64_t limit,
			    struct neap_job_indexes *ret);
/* Returns false without memory; nothing changed then. */
bool neap_job_indexes_add(struct neap_job_indexes *indexes, int64_t index);
bool neap_job_indexes_has(const struct neap_job_indexes *indexes, int64_t index);
int64_t neap_job_indexes_total(const struct neap_job_indexes *indexes);
/* Without memory the buf is marked failed. */
void neap_job_indexes_write(const struct neap_job_indexes *indexes, struct neap_buf *out);
/* Leaves it empty. */
void neap_job_indexes_done(struct neap_job_indexes *indexes);

#endif
