/* SPDX-License-Identifier: Apache-2.0
 *
 * Terms that choose nodes: nodeSelector of a pod, nodeSelectorTerms of affinities and of volumes. All lie in the
 * arena that they were read into. */
#ifndef NEAP_ENGINE_OBJECT_TERM_H
#define NEAP_ENGINE_OBJECT_TERM_H

#include "engine/base/arena.h"
#include "engine/object/object.h"

/* Requirements of one term, terms of one list, values of one requirement: each. */
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
	bool is_field; /* of metadata.name, the only one; else of a label */
	const char *key;
	const char **values;
	size_t value_count;
	int64_t number; /* of GT and LT */
};

/* All requirements hold; one without any takes no node. */
struct neap_term {
	struct neap_requirement *requirements;
	size_t count;
};

/* One of the terms holds. */
struct neap_terms {
	struct neap_term *terms;
	size_t count;
};

/* A NodeSelectorTerm: matchExpressions and matchFields. NEAP_EINVAL, NEAP_ETOOLARGE, NEAP_ENOMEM. */
int neap_term_read(struct neap_term *term, const json_t *json, struct neap_arena *arena,
		   struct neap_error *err);
/* A map of labels that must all be there. An empty one takes every node, which is for the caller to know. */
int neap_term_read_map(struct neap_term *term, const json_t *map,
		       struct neap_arena *arena, struct neap_error *err);
/* A list of NodeSelectorTerms. */
int neap_terms_read(struct neap_terms *terms, const json_t *list,
		    struct neap_arena *arena, struct neap_error *err);

/* The same with a name and labels from anywhere; label gives NULL for one that is not there. */
typedef const char *neap_term_label_fn(const void *arg, const char *key);
bool neap_term_matches_with(const struct neap_term *term, const char *name,
			    neap_term_label_fn *label, const void *arg);
bool neap_term_matches(const struct neap_term *term, const struct neap_object *node);
bool neap_terms_match(const struct neap_terms *terms, const struct neap_object *node);

#endif
