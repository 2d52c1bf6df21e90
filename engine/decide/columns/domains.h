/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts by slot number and text: by constraint, and by the value of a node label (a
 * zone, a host). Cleared and filled once per decision; texts are borrowed. */
#ifndef NEAP_ENGINE_DECIDE_COLUMNS_DOMAINS_H
#define NEAP_ENGINE_DECIDE_COLUMNS_DOMAINS_H

#include "engine/base/base.h"

struct neap_domain {
	const char *text; /* NULL: free */
	uint32_t slot;
	uint32_t hash;
	int64_t count;
};

/* Zero bytes are an empty table. */
struct neap_domains {
	struct neap_domain *table;
	size_t size, count; /* a power of two; entries in use */
};

void neap_domains_clear(struct neap_domains *domains);
void neap_domains_done(struct neap_domains *domains);
/* Returns 0 when there is no entry. */
int64_t neap_domains_get(const struct neap_domains *domains, uint32_t slot,
			 const char *text);
/* Adds more to the entry, and creates it if needed, even when more is 0. Returns false
 * without memory. */
bool neap_domains_add(struct neap_domains *domains, uint32_t slot, const char *text,
		      int64_t more);

#endif
