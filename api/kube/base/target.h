/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses paths: /api/v1/namespaces/NS/PLURAL/NAME/SUB and /apis/GROUP/VERSION/... */
#ifndef NEAP_API_KUBE_BASE_TARGET_H
#define NEAP_API_KUBE_BASE_TARGET_H

#include "api/kube/base/registry.h"
#include "engine/object/object.h"

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
