/* SPDX-License-Identifier: Apache-2.0
 *
 * A few dozen kinds, one lookup per request: an array, and a map from "group/plural". */
#include "api/kube/base/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/map.h"
#include "engine/base/mem.h"

#define KEY_SIZE 512

struct neap_kube_registry {
	const struct neap_kube_kind **list;
	size_t count, size;
	struct neap_map *by_plural;
	uint64_t generation;
};

static const char *key_of(const char *group, const char *plural, char *buf)
{
	(void)snprintf(buf, KEY_SIZE, "%s/%s", group, plural);
	return buf;
}

struct neap_kube_registry *neap_kube_registry_new(void)
{
	struct neap_kube_registry *registry = neap_alloc(sizeof(*registry));

	if (!registry)
		return NULL;
	registry->by_plural = neap_map_new();
	if (!registry->by_plural) {
		free(registry);
		return NULL;
	}
	return registry;
}

void neap_kube_registry_free(struct neap_kube_registry *registry)
{
	if (!registry)
		return;
	neap_map_free(registry->by_plural);
	free(registry->list);
	free(registry);
}

static bool is_in(const char *name, const char *const *list)
{
	for (; list && *list; list++)
		if (strcmp(name, *list) == 0)
			return true;
	return false;
}

/* Whether kubectl finds the kind by the name. */
static bool is_called(const struct neap_kube_kind *kind, const char *name)
{
	return strcmp(kind->plural, name) == 0 || strcmp(kind->singular, name) == 0 ||
	       is_in(name, kind->short_names);
}

static const char *find_taken(const struct neap_kube_kind *one,
			      const struct neap_kube_kind *other)
{
	if (strcmp(one->group, other->group) != 0)
		return NULL;
	if (strcmp(one->kind, other->kind) == 0)
		return one->kind;
	if (is_called(other, one->plural))
		return one->plural;
	if (is_called(other, one->singular))
		return one->singular;
	for (const char *const *name = one->short_names; name && *name; name++)
		if (is_called(other, *name))
			return *name;
	return NULL;
}

/* old: a row that is ignored. */
static int check_names(const struct neap_kube_registry *registry,
		       const struct neap_kube_kind *kind,
		       const struct neap_kube_kind *old, struct neap_error *err)
{
	for (size_t i = 0; i < registry->count; i++) {
		const struct neap_kube_kind *other = registry->list[i];
		const char *taken = other != old ? find_taken(kind, other) : NULL;

		if (taken)
			return neap_error_set(err, NEAP_EEXISTS,
					      "\"%s\" is already in use by %s in group "
					      "\"%s\"",
					      taken, other->kind, kind->group);
	}
	return 0;
}

int neap_kube_registry_replace(struct neap_kube_registry *registry,
			       const struct neap_kube_kind *old,
			       const struct neap_kube_kind *kind, struct neap_error *err)
{
	char key[KEY_SIZE];
	int ret = check_names(registry, kind, old, err);

	if (ret < 0)
		return ret;
	for (size_t i = 0; i < registry->count; i++) {
		if (registry->list[i] != old)
			continue;
		/* The key exists, so this needs no memory. */
		(void)neap_map_set(registry->by_plural,
				   key_of(kind->group, kind->plural, key),
				   (void *)(uintptr_t)kind);
		registry->list[i] = kind;
		registry->generation++;
		return 0;
	}
	return neap_error_set(err, NEAP_ENOTFOUND, "no such kind");
}

int neap_kube_registry_add(struct neap_kube_registry *registry,
			   const struct neap_kube_kind *kind, struct neap_error *err)
{
	char key[KEY_SIZE];
	int ret;

	if (registry->count >= NEAP_KUBE_KINDS_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "over %d kinds",
				      NEAP_KUBE_KINDS_MAX);
	ret = check_names(registry, kind, NULL, err);
	if (ret < 0)
		return ret;
	if (!neap_grow(&registry->list, registry->count, &registry->size,
		       sizeof(*registry->list)))
		return neap_error_nomem(err);
	/* The map's values are never written through. */
	if (!neap_map_set(registry->by_plural, key_of(kind->group, kind->plural, key),
			  (void *)(uintptr_t)kind))
		return neap_error_nomem(err);
	registry->list[registry->count++] = kind;
	registry->generation++;
	return 0;
}

int neap_kube_registry_add_all(struct neap_kube_registry *registry,
			       const struct neap_kube_kind *const *rows,
			       struct neap_error *err)
{
	for (; *rows; rows++) {
		int ret = neap_kube_registry_add(registry, *rows, err);

		if (ret < 0)
			return ret;
	}
	return 0;
}

void neap_kube_registry_remove(struct neap_kube_registry *registry,
			       const struct neap_kube_kind *kind)
{
	char key[KEY_SIZE];

	for (size_t i = 0; i < registry->count; i++) {
		if (registry->list[i] != kind)
			continue;
		(void)neap_map_remove(registry->by_plural,
				      key_of(kind->group, kind->plural, key));
		registry->count--;
		memmove(registry->list + i, registry->list + i + 1,
			(registry->count - i) * sizeof(*registry->list));
		registry->generation++;
		return;
	}
}

bool neap_kube_kind_has_version(const struct neap_kube_kind *kind, const char *version)
{
	return is_in(version, kind->versions);
}

const struct neap_kube_kind *
neap_kube_registry_find(const struct neap_kube_registry *registry, const char *group,
			const char *version, const char *plural)
{
	char key[KEY_SIZE];
	const struct neap_kube_kind *kind =
		neap_map_find(registry->by_plural, key_of(group, plural, key));

	return kind && (!version || neap_kube_kind_has_version(kind, version)) ? kind
									       : NULL;
}

const struct neap_kube_kind *
neap_kube_registry_find_kind(const struct neap_kube_registry *registry, const char *group,
			     const char *version, const char *name)
{
	for (size_t i = 0; i < registry->count; i++) {
		const struct neap_kube_kind *kind = registry->list[i];

		if (strcmp(kind->kind, name) == 0 && strcmp(kind->group, group) == 0 &&
		    (!version || neap_kube_kind_has_version(kind, version)))
			return kind;
	}
	return NULL;
}

size_t neap_kube_registry_count(const struct neap_kube_registry *registry)
{
	return registry->count;
}

const struct neap_kube_kind *
neap_kube_registry_at(const struct neap_kube_registry *registry, size_t index)
{
	return registry->list[index];
}

uint64_t neap_kube_registry_generation(const struct neap_kube_registry *registry)
{
	return registry->generation;
}
