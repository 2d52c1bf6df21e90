/* SPDX-License-Identifier: Apache-2.0
 *
 * The audit ring. Entry seq lies in slot (seq - 1) % size until it is overwritten. */
#include "engine/log/audit.h"

#include <stdlib.h>

#include "engine/base/mem.h"

struct neap_audit {
	uint64_t last; /* number of the newest, 0 none */
	size_t size;
	struct neap_audit_entry entry[];
};

struct neap_audit *neap_audit_new(size_t entries)
{
	struct neap_audit *audit;
	size_t size = entries ? entries : 1, bytes;

	if (__builtin_mul_overflow(size, sizeof(audit->entry[0]), &bytes) ||
	    __builtin_add_overflow(bytes, sizeof(*audit), &bytes))
		return NULL;
	audit = neap_alloc(bytes);
	if (audit)
		audit->size = size;
	return audit;
}

void neap_audit_free(struct neap_audit *audit)
{
	free(audit);
}

uint64_t neap_audit_add(struct neap_audit *audit, const struct neap_audit_entry *entry)
{
	struct neap_audit_entry *slot = &audit->entry[audit->last % audit->size];

	*slot = *entry;
	slot->seq = ++audit->last;
	/* The caller may have cut a text without ending it. */
	slot->what[sizeof(slot->what) - 1] = '\0';
	slot->group[sizeof(slot->group) - 1] = '\0';
	slot->key[sizeof(slot->key) - 1] = '\0';
	slot->old_value[sizeof(slot->old_value) - 1] = '\0';
	slot->new_value[sizeof(slot->new_value) - 1] = '\0';
	slot->policy[sizeof(slot->policy) - 1] = '\0';
	slot->why[sizeof(slot->why) - 1] = '\0';
	return slot->seq;
}

uint64_t neap_audit_last(const struct neap_audit *audit)
{
	return audit->last;
}

const struct neap_audit_entry *neap_audit_find_from(const struct neap_audit *audit,
						    uint64_t seq)
{
	uint64_t oldest = audit->last > audit->size ? audit->last - audit->size + 1 : 1;

	if (seq < oldest)
		seq = oldest;
	if (seq > audit->last)
		return NULL;
	return &audit->entry[(seq - 1) % audit->size];
}
