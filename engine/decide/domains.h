/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts by a number and a text: of a constraint, and of the value that a label of nodes has (a zone, a host). Emptied
 * and filled once a decision; texts are borrowed. */
#ifndef NEAP_ENGINE_DECIDE_DOMAINS_H
#define NEAP_ENGINE_DECIDE_DOMAINS_H

#include "engine/base/base.h"

struct neap_domain {
	const char *text; /* NULL: free */
	uint32_t slot;
	uint32_t hash;
	int64_t count;
};

/* All zero is an empty one. */
struct neap_domains {
	struct neap_domain *table;
	size_t size, count; /* a power of two; in use */
};

void neap_domains_clear(struct neap_domains *domains);
void neap_domains_done(struct neap_domains *domains);
/* 0 when there is none. */
int64_t neap_domains_get(const struct neap_domains *domains, uint32_t slot,
			 const char *text);
/* Makes it when there is none, also with more 0. False without memory. */
bool neap_domains_add(struct neap_domains *domains, uint32_t slot, const char *text,
		      int64_t more);

#endif
