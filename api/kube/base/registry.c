/* SPDX-License-Identifier: Apache-2.0
 *
 * A few dozen kinds, one lookup per request: an array, and a map from "group/plural".
 * Also the names of a kind, and what the path of a request names. */
#include "api/kube/base/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/base/kind.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"

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

/* Whether kubectl finds the kind by the name. */
static bool is_called(const struct neap_kube_kind *kind, const char *name)
{
	return strcmp(kind->plural, name) == 0 || strcmp(kind->singular, name) == 0 ||
	       neap_text_is_in(name, kind->short_names);
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
	return neap_text_is_in(version, kind->versions);
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

/* --- kinds ---
 *
 * The names of a kind, and the kind that it is stored as. */

void neap_kube_kind_resource(const struct neap_kube_kind *kind, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s", kind->plural, kind->group[0] == '\0' ? "" : ".",
		 kind->group);
}

const struct neap_kube_kind *neap_kube_kind_ref(const struct neap_kube_kind *kind)
{
	if (kind && kind->life)
		kind->life->refs++;
	return kind;
}

const struct neap_kube_kind *neap_kube_kind_unref(const struct neap_kube_kind *kind)
{
	/* Rows with a life were allocated, so they are not const. */
	if (kind && kind->life && --kind->life->refs == 0)
		kind->life->free((struct neap_kube_kind *)(uintptr_t)kind);
	return NULL;
}

const struct neap_kube_kind *neap_kube_kind_stored(const struct neap_kube_kind *kind)
{
	return kind->view ? kind->view->of : kind;
}

const struct neap_schema *neap_kube_kind_body(const struct neap_kube_kind *kind,
					      const char *version)
{
	for (size_t i = 0; kind->bodies && kind->versions[i]; i++)
		if (kind->bodies[i] && strcmp(kind->versions[i], version) == 0)
			return kind->bodies[i];
	return kind->schema;
}

const struct neap_schema *neap_kube_kind_checks(const struct neap_kube_kind *kind,
						const char *version)
{
	for (size_t i = 0; kind->checks && kind->versions[i]; i++)
		if (kind->checks[i] && strcmp(kind->versions[i], version) == 0)
			return kind->checks[i];
	return neap_kube_kind_stored(kind)->schema;
}

/* --- paths of requests --- */

#define SEGMENTS_MAX 8

struct segment {
	const char *at;
	size_t len;
};

static int not_served(struct neap_error *err)
{
	return neap_error_set(err, NEAP_ENOTFOUND,
			      "the server could not find the requested resource");
}

static bool take(const struct segment *segment, char *to, size_t size)
{
	if (segment->len >= size)
		return false;
	memcpy(to, segment->at, segment->len);
	to[segment->len] = '\0';
	return true;
}

/* A trailing slash is ignored. -1: too many segments, or an empty one. */
static int split(const char *path, struct segment *segments)
{
	int count = 0;

	while (*path) {
		size_t len = strcspn(path, "/");

		if (!len || count == SEGMENTS_MAX)
			return -1;
		segments[count++] = (struct segment){path, len};
		path += len + (path[len] == '/');
	}
	return count;
}

static bool is_word(const struct segment *segment, const char *word)
{
	return segment->len == strlen(word) &&
	       memcmp(segment->at, word, segment->len) == 0;
}

/* Subresources of a namespace; any other segment after its name is a kind within it. */
static bool is_of_namespace(const struct segment *segment)
{
	return is_word(segment, "status") || is_word(segment, "finalize");
}

int neap_kube_target_parse(const struct neap_kube_registry *registry, bool is_core,
			   const char *path, struct neap_kube_target *ret,
			   struct neap_error *err)
{
	struct segment segments[SEGMENTS_MAX];
	const struct segment *at = segments;
	int count = split(path, segments);
	bool is_in_namespace;

	memset(ret, 0, sizeof(*ret));
	if (count < 1)
		return not_served(err);
	if (!is_core && !take(at++, ret->group, sizeof(ret->group)))
		return not_served(err);
	count -= !is_core;
	if (!count)
		return 0;
	if (!take(at++, ret->version, sizeof(ret->version)))
		return not_served(err);
	count--;
	if (!count)
		return 0;
	if (count > 1 && is_word(at, "watch")) {
		ret->is_watch = true;
		at++;
		count--;
	}
	is_in_namespace = count >= 3 && is_word(at, "namespaces") &&
			  !(is_core && count == 3 && is_of_namespace(at + 2));
	if (is_in_namespace) {
		if (!take(at + 1, ret->ns, sizeof(ret->ns)))
			return not_served(err);
		at += 2;
		count -= 2;
	}
	if (count > 3 || !take(at, ret->plural, sizeof(ret->plural)) ||
	    (count > 1 && !take(at + 1, ret->name, sizeof(ret->name))) ||
	    (count > 2 && !take(at + 2, ret->sub, sizeof(ret->sub))))
		return not_served(err);
	if (ret->is_watch && ret->sub[0])
		return not_served(err);
	ret->kind =
		neap_kube_registry_find(registry, ret->group, ret->version, ret->plural);
	if (!ret->kind || (is_in_namespace && !ret->kind->is_namespaced))
		return not_served(err);
	/* Without a namespace, the name of a namespaced object is ambiguous. */
	if (ret->name[0] && ret->kind->is_namespaced && !is_in_namespace)
		return not_served(err);
	return 0;
}
