/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files behind lua/place/place.h share. */
#ifndef NEAP_LUA_PLACE_PLACE_PRIV_H
#define NEAP_LUA_PLACE_PLACE_PRIV_H

#include "lua/place/place.h"
#include "lua/run/policy_priv.h"

/* Whose a field is. */
enum neap_place_of { NEAP_OF_POD, NEAP_OF_NODE, NEAP_OF_RESV };

enum neap_place_field {
	NEAP_PLACE_POD_NAME,
	NEAP_PLACE_POD_NAMESPACE,
	NEAP_PLACE_POD_UID,
	NEAP_PLACE_POD_CLASS,
	NEAP_PLACE_POD_PRIORITY,
	NEAP_PLACE_POD_IS_DAEMON,
	NEAP_PLACE_POD_LABELS,
	NEAP_PLACE_POD_ANNOTATIONS,
	NEAP_PLACE_POD_REQUESTS,
	NEAP_PLACE_POD_IMAGES,
	NEAP_PLACE_POD_REFERENCES,
	NEAP_PLACE_RESV_NAME,
	NEAP_PLACE_RESV_UID,
	NEAP_PLACE_RESV_NODE,
	NEAP_PLACE_RESV_NODE_LABELS,
	NEAP_PLACE_RESV_LABELS,
	NEAP_PLACE_RESV_ANNOTATIONS,
	NEAP_PLACE_RESV_OWNERS,
	NEAP_PLACE_RESV_IS_OWNER,
	NEAP_PLACE_RESV_PODS,
	NEAP_PLACE_RESV_ALLOCATABLE,
	NEAP_PLACE_RESV_ALLOCATED,
	NEAP_PLACE_RESV_FREE,
	NEAP_PLACE_RESV_ORDER,
	NEAP_PLACE_RESV_IS_ONCE,
	NEAP_PLACE_RESV_AGE,
	NEAP_PLACE_RESV_EXPIRES,
	NEAP_PLACE_FIELDS,
	NEAP_PLACE_NODE = NEAP_PLACE_FIELDS /* a column */
};

/* A row of `needs`. */
struct neap_place_need {
	char name[NEAP_COLUMN_KEY + 32]; /* "node.free.cpu" */
	bool is_optional;
	enum neap_place_field field;
	struct neap_column column; /* of another's field: the key alone */
};

struct neap_place_needs {
	size_t count;
	struct neap_place_need rows[NEAP_NEEDS_MAX];
	/* Of the pod, what stands in its text alone: annotations without "?", and any. */
	bool must_have_annotations, has_tree;
	bool has_owners;   /* of the reservation: reserve_owners.c */
	bool has_facts;    /* ..., what is dear to make: reserve_facts.c */
	size_t node_count; /* needs of nodes */
	bool by_value;     /* a filter is handed these as arguments, in their order */
	size_t batch;      /* nodes whose fields are handed to Lua at a time */
};

/* The list at index; raises. */
int neap_place_needs_read(lua_State *L, int index, struct neap_policy *policy,
			  struct neap_error *err);
enum neap_place_of neap_place_owner(const struct neap_place_need *need);
bool neap_place_has_key(const struct neap_place_need *need);
/* "labels" of "pod.labels.team". */
const char *neap_place_field_name(const struct neap_place_need *need);
/* nil for NULL. */
void neap_place_push_text(lua_State *L, const char *text);
/* A new table of the labels of an object. */
void neap_place_push_labels(lua_State *L, const struct neap_object *object);
/* A new table of all that the needs name of one of them; what has a key lies in tables in it. Fields that are not named
 * raise. */
void neap_place_push_main(lua_State *L, const struct neap_place_needs *needs,
			  enum neap_place_of of);
/* Makes the function that goes through nodes, which the policy keeps as NEAP_REF_LOOP; raises. It takes allow, ctx, pod,
 * the node's table, following, refuse, and the tables of neap_place_push_targets. following gives, as the iterator of a
 * for, of up to policy->place->batch nodes an index and the fields; one node after the other these are set, allow is
 * called, and what is not just true goes to refuse(index, first, second). By value there is nothing to be set. */
void neap_place_make_loop(lua_State *L, const struct neap_policy *policy);
/* For each field of a node in needs the table that has it onto the stack; how many. */
int neap_place_push_targets(lua_State *L, const struct neap_policy *policy);
/* A node's fields onto the stack, in the order of needs. False: one is missing. */
bool neap_place_push_fields(lua_State *L, const struct neap_place_needs *needs,
			    const struct neap_column_view *views, uint32_t row);
/* Gives the policy the pod, as NEAP_REF_POD: SKIPPED where it misses something, WISHES where all is well. */
enum neap_tick_verdict neap_place_open(struct neap_policy *policy,
				       const struct neap_place_pod *pod,
				       struct neap_error *err);
/* The same without the pod's table: whether it would be SKIPPED. */
enum neap_tick_verdict neap_place_check(const struct neap_policy *policy,
					const struct neap_pod *pod,
					struct neap_error *err);
/* A text of a script as people will read it: one line of UTF-8, of NEAP_PLACE_REASON bytes at most. */
void neap_place_clean(const char *text, char *ret);

/* --- examples: place_row.c --- */

/* The moment of every row that says nothing else. */
#define NEAP_PLACE_ROW_UNIX INT64_C(1700000000)

struct neap_place_row {
	struct neap_policy *policy;
	int index;
	char name[80];
	struct neap_params params; /* those in force outside of this row */
	const char *const *fields; /* that it may have, NULL at the end */
	json_t *json;
	int rc; /* of the reading */
	struct neap_error *err;
};

/* 0, or -code with row->err. */
typedef int neap_place_row_fn(struct neap_place_row *row, void *arg);
/* Reads the row, runs it with its parameters, and puts those in force back. Errors name the row. */
int neap_place_row_run(struct neap_policy *policy, int index, const char *const *fields,
		       neap_place_row_fn *run, void *arg, struct neap_error *err);
/* NEAP_EINVAL with "field: what". */
int neap_place_row_fail(const struct neap_place_row *row, const char *field,
			const char *what);
/* Only these members are there. */
int neap_place_row_check(const struct neap_place_row *row, const json_t *object,
			 const char *what, const char *const *names);
/* Amounts as quantities: { cpu = 500 } is "500m". */
int neap_place_row_amounts(const struct neap_place_row *row, const json_t *from,
			   const char *what, json_t *ret);
/* Takes the tree, which may be NULL. */
int neap_place_row_object(const struct neap_place_row *row, json_t *tree,
			  struct neap_object **ret);
/* A copy, {} for what is no object; NULL without memory. */
json_t *neap_place_row_map(const json_t *object);
/* The pod that the row describes. */
int neap_place_row_pod(const struct neap_place_row *row, struct neap_resources *resources,
		       struct neap_pod **ret);

/* place_example_numa.c: NUMA nodes of an example's node. Gives the NodeResourceTopology, and the annotations of a pod that has
 * what is taken, empty where nothing is. */
int neap_place_example_numa(const json_t *numa, const char *name, json_t **ret_object,
			    json_t **ret_annotations, struct neap_error *err);

/* score.c: what plan returned, at index; does not raise. 1: there are terms, 0: none. */
int neap_place_read_plan(lua_State *L, int index, const struct neap_policy *policy,
			 struct neap_curve_score *ret, struct neap_error *err);

#endif
