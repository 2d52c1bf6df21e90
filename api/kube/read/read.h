/* SPDX-License-Identifier: Apache-2.0
 *
 * The verbs that read and watch; discovery, reviews and the OpenAPI document. */
#ifndef NEAP_API_KUBE_READ_READ_H
#define NEAP_API_KUBE_READ_READ_H

#include "api/http/server.h"
#include "api/kube/base/registry.h"
#include "api/kube/kube.h"
#include "api/kube/request/call.h"
#include "api/kube/types/bodies.h"

call_fn call_get, call_list, call_watch,
	call_make /* lists a kind whose objects are computed on request */;
/* Sends count objects as in list.c, as of a place, as one page of a list that may
 * have more. */
int call_answer_page_take(struct call *call, const struct neap_store_place *place,
			  bool has_more, struct neap_object **objects, size_t count);
/* Fails for a version in the future. */
int call_check_version(struct call *call, int64_t version);
/* Checks resourceVersionMatch and its combination with other parameters. */
int call_check_match(struct call *call, bool is_watch);

/* Ends a watch from outside. */
void call_watch_end(struct watcher *watcher);
/* ... all watches of a kind that is no longer served, or differently; clients list and
 * watch again. */
void kube_watch_end(struct neap_kube *kube, const struct neap_kube_kind *kind);
/* Answers /openapi/v2. */
void kube_document(struct neap_kube *kube, struct neap_http_request *request);

/* --- discovery ---
 *
 * Discovery: /api, /apis and the lists of resources, in the plain form that every client
 * reads. */

/* Returns whether a kind has the subresource "status", "scale", "binding" or
 * "eviction". */
bool neap_kube_has_part(const struct neap_kube_kind *kind, const char *part);

/* Answer with the documents. group "": core; version "": the group itself. */
void neap_kube_discover_versions(const struct neap_kube_registry *registry,
				 struct neap_http_request *request);
/* GET /: the list of paths. */
void neap_kube_discover_paths(const struct neap_kube_registry *registry,
			      struct neap_http_request *request);
void neap_kube_discover_groups(const struct neap_kube_registry *registry,
			       struct neap_http_request *request);
void neap_kube_discover(const struct neap_kube_registry *registry,
			struct neap_http_request *request, const char *group,
			const char *version);

/* --- reviews ---
 *
 * Reviews: requests that are answered and not stored. May I, what may I, may another user
 * (authorization.k8s.io), who am I (authentication.k8s.io). They report what
 * api/kube/request/rights.h decides. */

/* For discovery: each can be created, and nothing else. */
struct neap_kube_review {
	const char *group, *version, *plural, *singular, *kind;
	const struct neap_kube_body *body;
	bool is_namespaced;
};

#define NEAP_KUBE_REVIEWS 6
/* The first ones are about the caller, for everybody; the others are about other users,
 * for admins. */
#define NEAP_KUBE_REVIEWS_FREE 3
extern const struct neap_kube_review neap_kube_reviews[NEAP_KUBE_REVIEWS];

/* Returns whether the path after /apis/ is a review; they accept only POST. */
bool neap_kube_is_review(const char *rest);
/* Registers the routes, before those of objects; arg: the struct neap_kube. */
int neap_kube_reviews_serve(struct neap_kube *kube, struct neap_http *http,
			    struct neap_error *err);

#endif
