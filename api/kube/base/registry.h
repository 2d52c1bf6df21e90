/* SPDX-License-Identifier: Apache-2.0
 *
 * All kinds served now, built-in and declared by CustomResourceDefinitions. Discovery and
 * the routes use it. */
#ifndef NEAP_API_KUBE_BASE_REGISTRY_H
#define NEAP_API_KUBE_BASE_REGISTRY_H

#include "api/kube/base/kind.h"
#include "engine/object/object.h"

/* Kinds in all. */
#define NEAP_KUBE_KINDS_MAX 2000

struct neap_kube_registry;

struct neap_kube_registry *neap_kube_registry_new(void); /* NULL without memory */
void neap_kube_registry_free(struct neap_kube_registry *registry);

/* rows: such as neap_kube_core_kinds; kept by reference. */
int neap_kube_registry_add_all(struct neap_kube_registry *registry,
			       const struct neap_kube_kind *const *rows,
			       struct neap_error *err);
/* Adds a kind, kept by reference until it is removed. -NEAP_EEXISTS: its plural,
 * singular, a short name or its kind is taken in this group; -NEAP_ETOOLARGE. */
int neap_kube_registry_add(struct neap_kube_registry *registry,
			   const struct neap_kube_kind *kind, struct neap_error *err);
void neap_kube_registry_remove(struct neap_kube_registry *registry,
			       const struct neap_kube_kind *kind);
/* Replaces old by kind, which has the same group and plural. -NEAP_EEXISTS as above; old
 * then stays. */
int neap_kube_registry_replace(struct neap_kube_registry *registry,
			       const struct neap_kube_kind *old,
			       const struct neap_kube_kind *kind, struct neap_error *err);

/* NULL: none. version: one that the kind is served in; NULL: any. */
const struct neap_kube_kind *
neap_kube_registry_find(const struct neap_kube_registry *registry, const char *group,
			const char *version, const char *plural);
const struct neap_kube_kind *
neap_kube_registry_find_kind(const struct neap_kube_registry *registry, const char *group,
			     const char *version, const char *name);
bool neap_kube_kind_has_version(const struct neap_kube_kind *kind, const char *version);

/* By index below count, in the order they were added. */
size_t neap_kube_registry_count(const struct neap_kube_registry *registry);
const struct neap_kube_kind *
neap_kube_registry_at(const struct neap_kube_registry *registry, size_t index);
/* Grows with each change, so that data derived from the kinds can be refreshed. */
uint64_t neap_kube_registry_generation(const struct neap_kube_registry *registry);

/* --- paths of requests ---
 *
 * Parses paths: /api/v1/namespaces/NS/PLURAL/NAME/SUB and /apis/GROUP/VERSION/... */

struct neap_kube_target {
	const struct neap_kube_kind *kind; /* NULL: the path ends before a kind */
	char group[NEAP_OBJECT_NAME], version[64];
	char plural[64];
	char ns[NEAP_OBJECT_NAMESPACE]; /* "": none: all namespaces, or cluster-scoped */
	char name[NEAP_OBJECT_NAME];    /* "": the collection */
	char sub[32];                   /* "": the object itself */
	bool is_watch;                  /* the older form of a watch: /api/v1/watch/... */
};

/* path: the part after "/api/" (core) or "/apis/", decoded, without a query. A namespace
 * is both a location and an object: "namespaces/x" is the object, "namespaces/x/pods" a
 * collection in it, "namespaces/x/status" its subresource. -NEAP_ENOTFOUND: nothing that
 * is served. */
int neap_kube_target_parse(const struct neap_kube_registry *registry, bool is_core,
			   const char *path, struct neap_kube_target *ret,
			   struct neap_error *err);

#endif
