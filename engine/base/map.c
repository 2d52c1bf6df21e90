/* SPDX-License-Identifier: Apache-2.0
 *
 * Entries are an array in insertion order; the hash table's slots hold indexes into it.
 * FNV-1a with a seed per process, because hostile users can choose directory names. */
#include "engine/base/map.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "engine/base/mem.h"

#define SLOT_EMPTY UINT32_MAX

struct entry {
	char *key;
	void *value;
	uint64_t hash;
};

struct neap_map {
	struct entry *entries;
	size_t count, size;
	uint32_t *slots;
	size_t slot_count; /* power of two, at least twice size */
	uint64_t seed;
};

static uint64_t hash_of(const struct neap_map *map, const char *key)
{
	uint64_t hash = 14695981039346656037ULL ^ map->seed;

	for (; *key != '\0'; key++) {
		hash ^= (unsigned char)*key;
		hash *= 1099511628211ULL;
	}
	return hash ^ (hash >> 32);
}

static size_t slot_of(const struct neap_map *map, const char *key, uint64_t hash)
{
	size_t slot = hash & (map->slot_count - 1);

	while (map->slots[slot] != SLOT_EMPTY) {
		const struct entry *entry = &map->entries[map->slots[slot]];

		if (entry->hash == hash && strcmp(entry->key, key) == 0)
			break;
		slot = (slot + 1) & (map->slot_count - 1);
	}
	return slot;
}

static void fill_slots(struct neap_map *map)
{
	size_t i;

	for (i = 0; i < map->slot_count; i++)
		map->slots[i] = SLOT_EMPTY;
	for (i = 0; i < map->count; i++) {
		size_t slot = map->entries[i].hash & (map->slot_count - 1);

		while (map->slots[slot] != SLOT_EMPTY)
			slot = (slot + 1) & (map->slot_count - 1);
		map->slots[slot] = (uint32_t)i;
	}
}

static bool grow(struct neap_map *map)
{
	size_t size = map->size * 2;
	struct entry *entries = neap_realloc_array(map->entries, size, sizeof(*entries));
	uint32_t *slots;

	if (!entries)
		return false;
	map->entries = entries;
	slots = neap_alloc_array(size * 2, sizeof(*slots));
	if (!slots)
		return false;
	free(map->slots);
	map->slots = slots;
	map->size = size;
	map->slot_count = size * 2;
	fill_slots(map);
	return true;
}

struct neap_map *neap_map_new(void)
{
	struct neap_map *map = neap_alloc(sizeof(*map));

	if (!map)
		return NULL;
	map->size = 16;
	map->slot_count = 32;
	map->entries = neap_alloc_array(map->size, sizeof(*map->entries));
	map->slots = neap_alloc_array(map->slot_count, sizeof(*map->slots));
	if (!map->entries || !map->slots) {
		neap_map_free(map);
		return NULL;
	}
	if (getrandom(&map->seed, sizeof(map->seed), GRND_NONBLOCK) < 0)
		map->seed =
			(uint64_t)(uintptr_t)map; /* early boot: the address must do */
	fill_slots(map);
	return map;
}

void neap_map_free(struct neap_map *map)
{
	size_t i;

	if (!map)
		return;
	for (i = 0; i < map->count; i++)
		free(map->entries[i].key);
	free(map->entries);
	free(map->slots);
	free(map);
}

size_t neap_map_count(const struct neap_map *map)
{
	return map->count;
}

void *neap_map_find(const struct neap_map *map, const char *key)
{
	size_t slot;

	if (map->count == 0)
		return NULL; /* spares the hash */
	slot = slot_of(map, key, hash_of(map, key));
	return map->slots[slot] == SLOT_EMPTY ? NULL
					      : map->entries[map->slots[slot]].value;
}

bool neap_map_set(struct neap_map *map, const char *key, void *value)
{
	uint64_t hash = hash_of(map, key);
	size_t slot = slot_of(map, key, hash);
	char *copy;

	if (map->slots[slot] != SLOT_EMPTY) {
		map->entries[map->slots[slot]].value = value;
		return true;
	}
	if (map->count == map->size) {
		if (!grow(map))
			return false;
		slot = slot_of(map, key, hash);
	}
	copy = neap_strdup(key);
	if (!copy)
		return false;
	map->entries[map->count] = (struct entry){copy, value, hash};
	map->slots[slot] = (uint32_t)map->count++;
	return true;
}

/* The slot that holds an index. */
static size_t slot_with(const struct neap_map *map, uint32_t index)
{
	size_t slot = map->entries[index].hash & (map->slot_count - 1);

	while (map->slots[slot] != index)
		slot = (slot + 1) & (map->slot_count - 1);
	return slot;
}

/* Empties a slot. Those behind it that a look-up would no longer reach move forward, so
 * that none needs a tombstone. */
static void empty_slot(struct neap_map *map, size_t slot)
{
	size_t mask = map->slot_count - 1, next = slot;

	for (;;) {
		next = (next + 1) & mask;
		if (map->slots[next] == SLOT_EMPTY)
			break;
		/* One whose look-up begins behind the hole stays. */
		if (((next - map->entries[map->slots[next]].hash) & mask) <
		    ((next - slot) & mask))
			continue;
		map->slots[slot] = map->slots[next];
		slot = next;
	}
	map->slots[slot] = SLOT_EMPTY;
}

void *neap_map_remove(struct neap_map *map, const char *key)
{
	size_t slot = slot_of(map, key, hash_of(map, key));
	uint32_t index = map->slots[slot], last = (uint32_t)map->count - 1;
	void *value;

	if (index == SLOT_EMPTY)
		return NULL;
	value = map->entries[index].value;
	empty_slot(map, slot);
	free(map->entries[index].key);
	if (index != last) {
		map->slots[slot_with(map, last)] = index;
		map->entries[index] = map->entries[last];
	}
	map->count--;
	return value;
}

void *neap_map_at(const struct neap_map *map, size_t index, const char **ret_key)
{
	if (ret_key)
		*ret_key = map->entries[index].key;
	return map->entries[index].value;
}
