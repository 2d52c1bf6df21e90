/* SPDX-License-Identifier: Apache-2.0
 *
 * The answer of a Prometheus to an instant query: one figure from 0 to 1 for each node,
 * which the label instance names. */
#ifndef NEAP_API_DESCHEDULE_PLAY_SAMPLES_H
#define NEAP_API_DESCHEDULE_PLAY_SAMPLES_H

#include "engine/base/arena.h"
#include "engine/base/error.h"

/* Limits of an answer; 5,000 nodes with fifteen labels each stay below. */
#define NEAP_SAMPLES_BYTES_MAX  ((size_t)4 * 1024 * 1024)
#define NEAP_SAMPLES_VALUES_MAX 1000000

struct neap_sample_of_node {
	const char *node;
	double value;
};

struct neap_samples {
	struct neap_sample_of_node *list; /* in the order of the answer */
	size_t count;
	struct neap_arena arena;
};

/* Reads the JSON of /api/v1/query. -NEAP_EINVAL: it is not an answer with an instant
 * vector, an element has no instance, or a value that is not from 0 to 1;
 * -NEAP_ETOOLARGE; -NEAP_ENOMEM. */
int neap_samples_parse(const char *text, size_t len, struct neap_samples **ret,
		       struct neap_error *err);
/* Accepts NULL. */
void neap_samples_free(struct neap_samples *samples);

#endif
