/* SPDX-License-Identifier: Apache-2.0
 *
 * The kinds that neap reads or writes on another server: their names, the versions that
 * neap understands, and the order of resource versions. */
#ifndef NEAP_API_REMOTE_KINDS_H
#define NEAP_API_REMOTE_KINDS_H

#include <jansson.h>

#include "engine/object/object.h"

struct neap_transport_answer;

struct neap_remote_kind {
	const char *resource; /* "poddisruptionbudgets.policy" */
	const char *kind;
	/* Versions that neap reads, the preferred one first; NULL-terminated. For neap
	 * they differ only in their name. */
	const char *const *versions;
	bool is_namespaced;
	/* Selectable fields that neap uses, as in neap_object_new_seen_take. */
	const char *const *fields;
};

/* Returns NULL when neap does not use the resource on another server. */
const struct neap_remote_kind *neap_remote_kind_find(const char *resource);
/* "policy"; "" for the core group. */
const char *neap_remote_kind_group(const struct neap_remote_kind *kind);
/* Length of the plural in kind->resource. */
size_t neap_remote_kind_plural(const struct neap_remote_kind *kind);

/* Orders two resource versions: decimal numbers of any length. Texts that are no numbers
 * are equal to each other and before every number. */
int neap_remote_version_compare(const char *a, const char *b);

/* Makes an object of the mirror (neap_object_new_seen_take), without managedFields: they
 * are a third of an object, only servers use them, and a write that leaves them out
 * changes none. Takes the tree, even on failure. */
int neap_remote_object_take(json_t *tree, const struct neap_remote_kind *kind,
			    int64_t version, struct neap_object **ret,
			    struct neap_error *err);
/* Advice when a right is missing, after the server's message. */
#define NEAP_REMOTE_RIGHTS " (doc/deploy/rbac.yaml has the rights that neapd needs)"

/* Advice when the server returns an older state than before. */
#define NEAP_REMOTE_OLDER                                                                \
	"the server answers with an older state than before; if it was restored from a " \
	"backup, restart neapd"

/* Writes why an answer is not a success, in one line: what failed when there was no
 * answer; the message of a Status, with advice when a right is missing; or the HTTP
 * status. Returns buf. */
const char *neap_remote_why(const struct neap_transport_answer *answer, char *buf,
			    size_t size);
/* Parses an answer. NEAP_EINVAL with what is wrong, NEAP_ENOMEM. */
int neap_remote_parse(const char *text, size_t len, json_t **ret, struct neap_error *err);

#endif
