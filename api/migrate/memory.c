/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "api/migrate/migrate_priv.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"

struct migrate_memory *migrate_memory_get(struct neap_migrate *migrate, const char *name)
{
	struct migrate_memory *memory = neap_map_find(migrate->memory, name);
	size_t len = strlen(name) + 1;

	if (memory)
		return memory;
	memory = neap_alloc(sizeof(*memory) + len);
	if (!memory)
		return NULL;
	memcpy(memory->name, name, len);
	if (!neap_map_set(migrate->memory, name, memory)) {
		free(memory);
		return NULL;
	}
	return memory;
}

static void unwatch(struct neap_map *map, struct migrate_memory *memory, char **key)
{
	if (*key && neap_map_find(map, *key) == memory)
		(void)neap_map_remove(map, *key);
	free(*key);
	*key = NULL;
}

/* Without memory the clock of the job has to do. */
static void watch(struct neap_map *map, struct migrate_memory *memory, char **key,
		  const char *wanted)
{
	if (*key && wanted && strcmp(*key, wanted) == 0)
		return;
	unwatch(map, memory, key);
	if (!wanted || !*wanted)
		return;
	*key = neap_strdup(wanted);
	if (*key && !neap_map_set(map, *key, memory)) {
		free(*key);
		*key = NULL;
	}
}

void migrate_memory_watch(struct neap_migrate *migrate, struct migrate_memory *memory,
			  const char *reservation, const char *pod_key,
			  const char *new_pod_key)
{
	watch(migrate->reservations, memory, &memory->reservation, reservation);
	watch(migrate->pods, memory, &memory->pod_key, pod_key);
	watch(migrate->pods, memory, &memory->new_pod_key, new_pod_key);
}

void migrate_memory_drop(struct neap_migrate *migrate, const char *name)
{
	struct migrate_memory *memory = neap_map_remove(migrate->memory, name);

	if (!memory)
		return;
	migrate_memory_watch(migrate, memory, NULL, NULL, NULL);
	json_decref(memory->pod);
	migrate_way_done(&memory->way);
	free(memory);
}

void migrate_memory_clear(struct neap_migrate *migrate)
{
	while (neap_map_count(migrate->memory) > 0) {
		const char *name;
		struct migrate_memory *memory = neap_map_at(
			migrate->memory, neap_map_count(migrate->memory) - 1, &name);

		migrate_memory_drop(migrate, memory->name);
	}
}
