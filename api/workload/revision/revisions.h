/* SPDX-License-Identifier: Apache-2.0
 *
 * ControllerRevisions: the former templates of a StatefulSet or DaemonSet. Their data is
 * the patch that restores the template, in the form that kubectl and Kubernetes' own
 * controllers read and compare. */
#ifndef NEAP_API_WORKLOAD_REVISION_REVISIONS_H
#define NEAP_API_WORKLOAD_REVISION_REVISIONS_H

#include "api/workload/loop/claims.h"
#include "engine/base/sha256.h"

#define NEAP_REVISIONS     "controllerrevisions.apps"
#define NEAP_REVISION_HASH "controller-revision-hash" /* label of pods */
/* Bytes of the hash in a revision's name, which distinguishes the revisions of an
 * owner. */
#define NEAP_REVISION_HASH_MAX 16

/* Steps charged to the turn for each step of reading a text of which a digest is made. */
#define NEAP_REVISION_READ 4

struct neap_revision_facts {
	int64_t version;
	int64_t revision, created_usec;
	uint8_t digest[NEAP_SHA256_BYTES]; /* of its template, see neap_template_digest */
	char controller[NEAP_OBJECT_UID];
};

/* Functions for neap_claims_config. */
bool neap_revision_facts_read(const struct neap_object *object, const json_t *tree,
			      void *ret);
const char *neap_revision_controller(const void *facts);

/* A revision of an owner; borrowed from its claims. */
struct neap_revision {
	const struct neap_object *object;
	const struct neap_revision_facts *facts;
};

/* Returns the owner's revisions, oldest first, in an array that the caller frees; NULL
 * without memory. */
struct neap_revision *neap_revisions_sorted(const struct neap_claims *claims,
					    size_t *ret_count);
/* Returns whether the revision has the template with that digest. */
bool neap_revision_is_of(const struct neap_revision *revision,
			 const uint8_t digest[NEAP_SHA256_BYTES]);

/* The same for an object that is not claimed. Also false without memory. */
bool neap_revision_has(const struct neap_object *revision,
		       const uint8_t digest[NEAP_SHA256_BYTES]);

/* The digest of the template of the owner that was last looked at, with its spec. */
struct neap_revision_digest {
	char uid[NEAP_OBJECT_UID];
	int64_t generation;
	uint8_t digest[NEAP_SHA256_BYTES];
};

/* Updates known for owner, of which tree is the JSON, and charges the steps. False
 * without memory. */
bool neap_revision_digest(struct neap_revision_digest *known, struct neap_feed *feed,
			  const struct neap_object *owner, const json_t *tree);

/* Returns the data of the revision of a template; a new reference, NULL without
 * memory. */
json_t *neap_revision_data(const json_t *pod_template);
/* Returns the template of a revision, without the directive of the patch; a new
 * reference, NULL without memory or a template. */
json_t *neap_revision_template(const struct neap_object *revision);
/* Computes the hash that the StatefulSet controller of Kubernetes gives the data. False
 * without memory. */
bool neap_revision_hash(const json_t *data, int64_t collisions,
			char ret[NEAP_REVISION_HASH_MAX]);
/* Returns a ControllerRevision of owner with the labels of its template, plus the hash.
 * Takes data; a new reference, NULL without memory. */
json_t *neap_revision_new_take(const json_t *owner, const char *kind, const char *name,
			       const char *hash_label, const char *hash, int64_t number,
			       json_t *data);

#endif
