/* SPDX-License-Identifier: Apache-2.0
 *
 * Terms that select nodes: a pod's nodeSelector, and the nodeSelectorTerms of affinities
 * and volumes. Everything lives in the arena passed to the readers. */
#ifndef NEAP_ENGINE_OBJECT_TERM_H
#define NEAP_ENGINE_OBJECT_TERM_H

#include "engine/base/arena.h"
#include "engine/object/object.h"

/* Limit on the requirements of a term, the terms of a list, and the values of a
 * requirement. */
#define NEAP_TERM_ITEMS_MAX 512

enum neap_term_op {
	NEAP_TERM_IN,
	NEAP_TERM_NOT_IN,
	NEAP_TERM_EXISTS,
	NEAP_TERM_DOES_NOT_EXIST,
	NEAP_TERM_GT,
	NEAP_TERM_LT,
	NEAP_TERM_OP_COUNT
};

struct neap_requirement {
	enum neap_term_op op;
	bool is_field; /* of metadata.name, the only field; else of a label */
	const char *key;
	const char **values;
	size_t value_count;
	int64_t number; /* for GT and LT */
};

/* Matches when all requirements hold; without requirements it matches no node. */
struct neap_term {
	struct neap_requirement *requirements;
	size_t count;
};

/* Matches when one of the terms does. */
struct neap_terms {
	struct neap_term *terms;
	size_t count;
};

/* Reads a NodeSelectorTerm: matchExpressions and matchFields. NEAP_EINVAL,
 * NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_term_read(struct neap_term *term, const json_t *json, struct neap_arena *arena,
		   struct neap_error *err);
/* Reads a map of required labels. The caller handles an empty map, which selects every
 * node. */
int neap_term_read_map(struct neap_term *term, const json_t *map,
		       struct neap_arena *arena, struct neap_error *err);
/* Reads a list of NodeSelectorTerms. */
int neap_terms_read(struct neap_terms *terms, const json_t *list,
		    struct neap_arena *arena, struct neap_error *err);

/* The same for a name and labels from any source; label returns NULL for a missing
 * one. */
typedef const char *neap_term_label_fn(const void *arg, const char *key);
bool neap_term_matches_with(const struct neap_term *term, const char *name,
			    neap_term_label_fn *label, const void *arg);
bool neap_term_matches(const struct neap_term *term, const struct neap_object *node);
bool neap_terms_match(const struct neap_terms *terms, const struct neap_object *node);

#endif
