/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files behind lua/place/place.h. */
#ifndef NEAP_LUA_PLACE_PLACE_PRIV_H
#define NEAP_LUA_PLACE_PLACE_PRIV_H

#include "lua/call/policy_priv.h"
#include "lua/place/place.h"

/* The object that a field belongs to. */
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
	/* for an owner's or reservation's field: only the key is used */
	struct neap_column column;
};

struct neap_place_needs {
	size_t count;
	struct neap_place_need rows[NEAP_NEEDS_MAX];
	/* Fields of the pod that need its JSON: annotations without "?", and any. */
	bool must_have_annotations, has_tree;
	bool has_owners; /* reservation fields from reserve_owners.c */
	/* reservation fields from reserve_facts.c, which are expensive */
	bool has_facts;
	size_t node_count; /* needs of nodes */
	bool by_value;     /* a filter receives these as arguments, in order */
	size_t batch;      /* nodes whose fields are passed to Lua at a time */
};

/* Reads the list at index; raises. */
int neap_place_needs_read(lua_State *L, int index, struct neap_policy *policy,
			  struct neap_error *err);
enum neap_place_of neap_place_owner(const struct neap_place_need *need);
bool neap_place_has_key(const struct neap_place_need *need);
/* "labels" of "pod.labels.team". */
const char *neap_place_field_name(const struct neap_place_need *need);
/* nil for NULL. */
void neap_place_push_text(lua_State *L, const char *text);
/* Pushes a new table of an object's labels. */
void neap_place_push_labels(lua_State *L, const struct neap_object *object);
/* Pushes a new table of the needed fields of one object; keyed families are nested
 * tables. Reading an undeclared field raises. */
void neap_place_push_main(lua_State *L, const struct neap_place_needs *needs,
			  enum neap_place_of of);
/* Creates the function that loops over nodes, stored as NEAP_REF_LOOP; raises. Its
 * arguments are allow, ctx, pod, the node's table, following, refuse, and the tables of
 * neap_place_push_targets. following is called like a for iterator and returns an index
 * and the fields of up to policy->place->batch nodes; for each node the fields are set,
 * allow is called, and any result other than true is passed to refuse(index, first,
 * second). By value, no fields are set. */
void neap_place_make_loop(lua_State *L, const struct neap_policy *policy);
/* Pushes, for each node field in needs, the table that holds it; returns how many. */
int neap_place_push_targets(lua_State *L, const struct neap_policy *policy);
/* Pushes a node's fields in the order of needs. False: one is missing. */
bool neap_place_push_fields(lua_State *L, const struct neap_place_needs *needs,
			    const struct neap_column_view *views, uint32_t row);
/* Gives the pod to the policy as NEAP_REF_POD: SKIPPED when the pod lacks a required
 * field, else WISHES. */
enum neap_tick_verdict neap_place_open(struct neap_policy *policy,
				       const struct neap_place_pod *pod,
				       struct neap_error *err);
/* The same check without creating the pod's table. */
enum neap_tick_verdict neap_place_check(const struct neap_policy *policy,
					const struct neap_pod *pod,
					struct neap_error *err);
/* Sanitises a text of a script for people: one line of UTF-8, at most NEAP_PLACE_REASON
 * bytes. */
void neap_place_clean(const char *text, char *ret);

/* --- examples: place_row.c --- */

/* The time in rows that set none. */
#define NEAP_PLACE_ROW_UNIX INT64_C(1700000000)

struct neap_place_row {
	struct neap_policy *policy;
	int index;
	char name[80];
	struct neap_params params; /* the parameters in force outside of this row */
	const char *const *fields; /* allowed fields, NULL-terminated */
	json_t *json;
	int rc; /* of the reading */
	struct neap_error *err;
};

/* Returns 0, or -code with row->err. */
typedef int neap_place_row_fn(struct neap_place_row *row, void *arg);
/* Reads the row, runs it with its parameters, and restores the previous ones. Errors name
 * the row. */
int neap_place_row_run(struct neap_policy *policy, int index, const char *const *fields,
		       neap_place_row_fn *run, void *arg, struct neap_error *err);
/* NEAP_EINVAL with "field: what". */
int neap_place_row_fail(const struct neap_place_row *row, const char *field,
			const char *what);
/* Refuses members other than these. */
int neap_place_row_check(const struct neap_place_row *row, const json_t *object,
			 const char *what, const char *const *names);
/* Converts amounts to quantities: { cpu = 500 } becomes "500m". */
int neap_place_row_amounts(const struct neap_place_row *row, const json_t *from,
			   const char *what, json_t *ret);
/* Takes the tree, which may be NULL. */
int neap_place_row_object(const struct neap_place_row *row, json_t *tree,
			  struct neap_object **ret);
/* Returns a copy, {} for anything that is not an object; NULL without memory. */
json_t *neap_place_row_map(const json_t *object);
/* Builds the pod that the row describes. */
int neap_place_row_pod(const struct neap_place_row *row, struct neap_resources *resources,
		       struct neap_pod **ret);

/* place_example_numa.c: the NUMA nodes of an example's node. Returns the
 * NodeResourceTopology, and the annotations of a pod that holds what is taken (empty when
 * nothing is). */
int neap_place_example_numa(const json_t *numa, const char *name, json_t **ret_object,
			    json_t **ret_annotations, struct neap_error *err);

#endif
