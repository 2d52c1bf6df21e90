/* SPDX-License-Identifier: Apache-2.0
 *
 * Reviews: requests that are answered and not stored. May I, what may I, may another user
 * (authorization.k8s.io), who am I (authentication.k8s.io). They report what
 * api/kube/request/rights.h decides. */
#ifndef NEAP_API_KUBE_READ_REVIEW_H
#define NEAP_API_KUBE_READ_REVIEW_H

#include "api/kube/kube.h"
#include "api/kube/types/bodies.h"

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
