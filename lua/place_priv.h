/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files behind lua/place.h share. */
#ifndef NEAP_LUA_PLACE_PRIV_H
#define NEAP_LUA_PLACE_PRIV_H

#include "lua/place.h"
#include "lua/policy_priv.h"

enum neap_place_field {
	NEAP_PLACE_POD_NAME,
	NEAP_PLACE_POD_NAMESPACE,
	NEAP_PLACE_POD_CLASS,
	NEAP_PLACE_POD_PRIORITY,
	NEAP_PLACE_POD_IS_DAEMON,
	NEAP_PLACE_POD_LABELS,
	NEAP_PLACE_POD_ANNOTATIONS,
	NEAP_PLACE_POD_REQUESTS,
	NEAP_PLACE_POD_FIELDS,
	NEAP_PLACE_NODE = NEAP_PLACE_POD_FIELDS /* a column */
};

/* A row of `needs`. */
struct neap_place_need {
	char name[NEAP_COLUMN_KEY + 32]; /* "node.free.cpu" */
	bool is_optional;
	enum neap_place_field field;
	struct neap_column column; /* of a pod's field: the key alone */
};

struct neap_place_needs {
	size_t count;
	struct neap_place_need rows[NEAP_NEEDS_MAX];
	bool has_annotations; /* of the pod */
	size_t node_count;    /* those of nodes */
	size_t batch;         /* nodes whose fields are handed to Lua at a time */
};

/* The list at index; raises. */
int neap_place_needs_read(lua_State *L, int index, struct neap_policy *policy,
			  struct neap_error *err);
/* Makes the table of the pod, which the policy keeps as NEAP_REF_POD. Returns what is missing, or NULL. Raises. */
const struct neap_place_need *neap_place_push_pod(lua_State *L,
						  const struct neap_policy *policy,
						  const struct neap_place *place,
						  const json_t *annotations);
/* Makes the function that goes through nodes, which the policy keeps as NEAP_REF_LOOP; raises. It takes allow, ctx, pod,
 * the node's table, following, refuse, and the tables of neap_place_push_targets. following gives, as the iterator of a
 * for, of up to policy->place->batch nodes an index and the fields; one node after the other these are set, allow is
 * called, and what is not just true goes to refuse(index, first, second). */
void neap_place_make_loop(lua_State *L, const struct neap_policy *policy);
/* For each field of a node in needs the table that has it onto the stack; how many. */
int neap_place_push_targets(lua_State *L, const struct neap_policy *policy);
/* A node's fields onto the stack, in the order of needs. False: one is missing. */
bool neap_place_push_fields(lua_State *L, const struct neap_place_needs *needs,
			    const struct neap_column_view *views, uint32_t row);
/* Gives the policy the pod: SKIPPED where it misses something, WISHES where all is well. */
enum neap_tick_verdict neap_place_open(struct neap_policy *policy,
				       const struct neap_place *place,
				       struct neap_error *err);

/* score.c: what plan returned, at index; does not raise. 1: there are terms, 0: none. */
int neap_place_read_plan(lua_State *L, int index, const struct neap_policy *policy,
			 struct neap_curve_score *ret, struct neap_error *err);

#endif
