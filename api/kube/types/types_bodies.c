/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies of subresources, options of deletions, and reviews. */
#include "api/kube/types/bodies.h"
#include "api/kube/types/types_priv.h"

/* --- binding --- */

static const struct neap_schema_field binding_fields[] = {
	WHOLE,
	NEED("target", &neap_kube_object_reference, "The node."),
};
OBJECT(binding, CORE("Binding"), "Binds a pod to a node.");

/* --- deletion, eviction --- */

static const struct neap_schema_field preconditions_fields[] = {
	PTR("resourceVersion", STR, "State that the object must be in."),
	PTR("uid", STR, "UID that the object must have."),
};
OBJECT(preconditions, META("Preconditions"), "What must be so of the object.");

static const struct neap_schema_field delete_options_fields[] = {
	FIELD("apiVersion", STR, "Group and version of the options."),
	FIELD("dryRun", STRS, "All: nothing is deleted."),
	PTR("gracePeriodSeconds", I64, "Time that a pod gets; 0: none."),
	PTR("ignoreStoreReadErrorWithClusterBreakingPotential", BOOL,
	    "Not used: what cannot be read is not served."),
	FIELD("kind", STR, "DeleteOptions."),
	PTR("orphanDependents", BOOL, "Older form of propagationPolicy Orphan."),
	FIELD("preconditions", &preconditions, NULL),
	PTR("propagationPolicy", STR, "What becomes of dependents."),
};
OBJECT(delete_options, META("DeleteOptions"), "How an object is to be deleted.");

static const struct neap_schema_field eviction_fields[] = {
	WHOLE,
	FIELD("deleteOptions", &delete_options, NULL),
};
OBJECT(eviction, "io.k8s.api.policy.v1.Eviction",
       "Asks that a pod goes, when its disruption budgets let it.");

/* --- scale --- */

static const struct neap_schema_field scale_spec_fields[] = {
	PTR("replicas", I32, "How many there shall be."),
};
OBJECT(scale_spec, "io.k8s.api.autoscaling.v1.ScaleSpec", "What is wanted.");

static const struct neap_schema_field scale_status_fields[] = {
	FIELD("replicas", I32, "How many there are."),
	FIELD("selector", STR, "Which they are, by their labels."),
};
OBJECT(scale_status, "io.k8s.api.autoscaling.v1.ScaleStatus", "What there is.");

static const struct neap_schema_field scale_fields[] = {
	WHOLE,
	FIELD("spec", &scale_spec, NULL),
	FIELD("status", &scale_status, NULL),
};
OBJECT(scale, "io.k8s.api.autoscaling.v1.Scale", "Replicas of an object that has some.");

/* --- reviews --- */

#define AUTHORIZATION(x) "io.k8s.api.authorization.v1." x

static const struct neap_schema_field resource_fields[] = {
	FIELD("fieldSelector", ANY, "Not used: rights do not depend on it."),
	FIELD("group", STR, "Group of the resource; *: all."),
	FIELD("labelSelector", ANY, "Not used: rights do not depend on it."),
	FIELD("name", STR, "Name of the object; empty: all."),
	FIELD("namespace", STR, "Namespace; empty: all, or none."),
	FIELD("resource", STR, "Resource; *: all."),
	FIELD("subresource", STR, "Part of it; empty: the object."),
	FIELD("verb", STR, "What is to be done; *: all."),
	FIELD("version", STR, "Not used: all versions have the same rights."),
};
OBJECT(resource, AUTHORIZATION("ResourceAttributes"), "What is to be done with objects.");

static const struct neap_schema_field path_fields[] = {
	FIELD("path", STR, "Path of the request."),
	FIELD("verb", STR, "Method of the request, in small letters."),
};
OBJECT(path, AUTHORIZATION("NonResourceAttributes"), "A request that is for no object.");

#define ATTRIBUTES                                                                       \
	FIELD("nonResourceAttributes", &path, NULL),                                     \
		FIELD("resourceAttributes", &resource, NULL)

static const struct neap_schema_field self_access_spec_fields[] = {ATTRIBUTES};
OBJECT(self_access_spec, AUTHORIZATION("SelfSubjectAccessReviewSpec"),
       "What the asker asks about himself.");

static const struct neap_schema extra = {
	.type = NEAP_SCHEMA_MAP,
	.items = STRS,
};

static const struct neap_schema_field access_spec_fields[] = {
	ATTRIBUTES,
	FIELD("extra", &extra, "Not used: rights do not depend on it."),
	FIELD("groups", STRS, "Groups of the user."),
	FIELD("uid", STR, "Not used: rights do not depend on it."),
	FIELD("user", STR, "Name of the user."),
};
OBJECT(access_spec, AUTHORIZATION("SubjectAccessReviewSpec"),
       "What is asked about another.");

static const struct neap_schema_field rules_spec_fields[] = {
	FIELD("namespace", STR, "Namespace that is asked about."),
};
OBJECT(rules_spec, AUTHORIZATION("SelfSubjectRulesReviewSpec"), "Where the asker asks.");

/* What clients send of a status is not looked at. */
#define REVIEW(x, spec, n)                                                               \
	static const struct neap_schema_field x##_fields[] = {                           \
		WHOLE, FIELD("spec", spec, NULL), FIELD("status", ANY, "The answer.")};  \
	OBJECT(x, n, "A question, which is answered and not kept.")
REVIEW(self_access_review, &self_access_spec, AUTHORIZATION("SelfSubjectAccessReview"));
REVIEW(access_review, &access_spec, AUTHORIZATION("SubjectAccessReview"));
REVIEW(self_rules_review, &rules_spec, AUTHORIZATION("SelfSubjectRulesReview"));

static const struct neap_schema_field self_review_fields[] = {
	WHOLE,
	FIELD("status", ANY, "The answer."),
};
OBJECT(self_review, "io.k8s.api.authentication.v1.SelfSubjectReview",
       "Asks who the asker is.");

static const struct neap_schema_field token_spec_fields[] = {
	FIELD("audiences", STRS, "Not used: a token is for this server."),
	FIELD("token", STR, "The token that is asked about."),
};
OBJECT(token_spec, "io.k8s.api.authentication.v1.TokenReviewSpec", "Whose token it is.");
REVIEW(token_review, &token_spec, "io.k8s.api.authentication.v1.TokenReview");

/* --- the rows --- */

static const char *const policy[] = {"policy/v1", "policy/v1beta1", NULL},
			 *const autoscaling[] = {"autoscaling/v1", NULL},
			 *const authorization[] = {"authorization.k8s.io/v1", NULL},
			 *const authentication[] = {"authentication.k8s.io/v1", NULL};

const struct neap_kube_body neap_kube_body_binding = {"Binding", neap_kube_v1, &binding};
const struct neap_kube_body neap_kube_body_eviction = {"Eviction", policy, &eviction};
const struct neap_kube_body neap_kube_body_scale = {"Scale", autoscaling, &scale};
/* Clients name the group of what they delete. */
const struct neap_kube_body neap_kube_body_delete_options = {"DeleteOptions", NULL,
							     &delete_options};
const struct neap_kube_body neap_kube_body_self_review = {"SelfSubjectReview",
							  authentication, &self_review};
const struct neap_kube_body neap_kube_body_self_access_review = {
	"SelfSubjectAccessReview", authorization, &self_access_review};
const struct neap_kube_body neap_kube_body_self_rules_review = {
	"SelfSubjectRulesReview", authorization, &self_rules_review};
const struct neap_kube_body neap_kube_body_access_review = {
	"SubjectAccessReview", authorization, &access_review};
const struct neap_kube_body neap_kube_body_local_access_review = {
	"LocalSubjectAccessReview", authorization, &access_review};
const struct neap_kube_body neap_kube_body_token_review = {"TokenReview", authentication,
							   &token_review};
