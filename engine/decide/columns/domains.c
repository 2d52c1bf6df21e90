/* SPDX-License-Identifier: Apache-2.0
 *
 * Open addressing, at most half full. */
#include "engine/decide/columns/domains.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

#define SIZE_FIRST 64

static uint32_t hash_of(uint32_t slot, const char *text)
{
	uint64_t hash = 14695981039346656037ULL ^ slot;

	for (; *text; text++) {
		hash ^= (unsigned char)*text;
		hash *= 1099511628211ULL;
	}
	return (uint32_t)(hash ^ (hash >> 32));
}

static struct neap_domain *place_of(struct neap_domain *table, size_t size, uint32_t slot,
				    const char *text, uint32_t hash)
{
	size_t at = hash & (size - 1);

	while (table[at].text &&
	       (table[at].hash != hash || table[at].slot != slot ||
		(table[at].text != text && strcmp(table[at].text, text) != 0)))
		at = (at + 1) & (size - 1);
	return &table[at];
}

void neap_domains_clear(struct neap_domains *domains)
{
	if (domains->count)
		memset(domains->table, 0, domains->size * sizeof(*domains->table));
	domains->count = 0;
}

void neap_domains_done(struct neap_domains *domains)
{
	free(domains->table);
	*domains = (struct neap_domains){0};
}

static bool grow(struct neap_domains *domains)
{
	size_t size = domains->size ? domains->size * 2 : SIZE_FIRST;
	struct neap_domain *table = neap_alloc_array(size, sizeof(*table));

	if (!table)
		return false;
	for (size_t i = 0; i < domains->size; i++) {
		const struct neap_domain *domain = &domains->table[i];

		if (domain->text)
			*place_of(table, size, domain->slot, domain->text, domain->hash) =
				*domain;
	}
	free(domains->table);
	domains->table = table;
	domains->size = size;
	return true;
}

int64_t neap_domains_get(const struct neap_domains *domains, uint32_t slot,
			 const char *text)
{
	if (!domains->count)
		return 0;
	return place_of(domains->table, domains->size, slot, text, hash_of(slot, text))
		->count;
}

bool neap_domains_add(struct neap_domains *domains, uint32_t slot, const char *text,
		      int64_t more)
{
	uint32_t hash = hash_of(slot, text);
	struct neap_domain *domain;

	if (domains->count * 2 >= domains->size && !grow(domains))
		return false;
	domain = place_of(domains->table, domains->size, slot, text, hash);
	if (!domain->text) {
		domain->text = text;
		domain->slot = slot;
		domain->hash = hash;
		domains->count++;
	}
	domain->count += more;
	return true;
}
