/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files behind lua/deschedule/deschedule.h.
 *
 * Scripts hold cursors: objects that name a node or a pod of the round. They are valid
 * for one call; afterwards using one raises. A state has one seat, which knows the
 * round of the call that runs, and every method has it as its first upvalue. */
#ifndef NEAP_LUA_DESCHEDULE_DESCHEDULE_PRIV_H
#define NEAP_LUA_DESCHEDULE_DESCHEDULE_PRIV_H

#include <lauxlib.h>

#include "engine/deschedule/round_domains.h"
#include "lua/call/policy_priv.h"
#include "lua/deschedule/deschedule.h"

/* Limit of a list of nodes or pods: more than any cluster has. */
#define NEAP_CURSORS_MAX 1000000

/* Upvalues of all methods. */
enum {
	NEAP_UP_SEAT = 1,
	NEAP_UP_ROUND, /* metatables */
	NEAP_UP_NODE,
	NEAP_UP_POD,
	NEAP_UP_SET,
	NEAP_UP_SPREAD, /* cursors of struct neap_spread_found */
	NEAP_UP_NAMES,  /* of __index: name -> method, or number of a field */
	NEAP_UP_COUNT = NEAP_UP_NAMES
};

/* A full userdata in the registry; its two user values are lists of the cursors that were
 * made in this call: of nodes and of pods, by index + 1. */
struct neap_seat {
	struct neap_round *round; /* NULL: no call runs */
	uint32_t call;            /* grows with every call */
	const char *strategy;
	struct neap_deschedule_own *own;
};

/* A script's list of nodes or pods, read once: round:set(list). */
struct neap_set {
	uint32_t call;
	bool has_pods;
	size_t count;
	const void *items[]; /* nodes; for pods the bits of a neap_pod_set */
};

struct neap_cursor {
	const void *of; /* struct neap_world_node or _pod */
	uint32_t call;
};

struct neap_deschedule_own {
	struct neap_seat *seat; /* lives with the state */
	enum neap_deschedule_point point;
	char plugin[64];
	bool has_before; /* kind evict */
	struct neap_round_trigger triggers[NEAP_DESCHEDULE_TRIGGERS_MAX];
	size_t trigger_count;
	struct neap_anomalies *anomalies; /* NULL until it is needed */
};

/* Drops the state kept between rounds besides ctx.memo. */
void neap_deschedule_forget(struct neap_deschedule_own *own);

/* cursor.c; all may raise. */
/* Creates the seat and the types, once per state: NEAP_REF_SEAT, NEAP_REF_ROUND (the
 * scripts' round) and NEAP_REF_MAKE (a function from a light userdata to a pod). */
void neap_seat_open(lua_State *L, struct neap_policy *policy);
/* Begins a call: cursors of earlier calls become invalid. strategy: NULL for kind
 * evict. */
void neap_seat_begin(lua_State *L, struct neap_policy *policy, struct neap_round *round,
		     const char *strategy);
/* Ends it. Does not raise. */
void neap_seat_end(struct neap_policy *policy);
/* For functions with the upvalues above: returns the seat; raises when no call runs. */
struct neap_seat *neap_seat_get(lua_State *L);
const struct neap_world_pod *neap_check_pod(lua_State *L, int arg);
const struct neap_world_node *neap_check_node(lua_State *L, int arg);
void neap_push_pod(lua_State *L, const struct neap_world_pod *pod);
/* nil for NULL, and for a node without an object. */
void neap_push_node(lua_State *L, const struct neap_world_node *node);
/* Pushes a new list of cursors. */
void neap_push_pods(lua_State *L, struct neap_world_pod *const *pods, size_t count);
/* Returns the nodes of the set at arg, or of a list, which is read into a new userdata
 * that is pushed. */
struct neap_world_node **neap_check_nodes(lua_State *L, int arg, size_t *ret_count);
/* Returns the spread that the cursor at index names. */
const struct neap_spread_found *neap_check_spread(lua_State *L, int index);
void neap_push_spread(lua_State *L, const struct neap_spread_found *found);
/* Returns the set of pods at arg. */
const struct neap_set *neap_check_pod_set(lua_State *L, int arg);
struct neap_world_pod **neap_check_pods(lua_State *L, int arg, size_t *ret_count);
/* For __index of what: returns the number of the field whose name is at 2; -1: it is a
 * method, which is pushed. Raises for other names. */
int neap_cursor_field(lua_State *L, const char *what);
/* Returns the number of the resource whose name is at arg; UINT32_MAX: no node or pod has
 * it. */
uint32_t neap_check_resource(lua_State *L, int arg);

/* Adds methods to the table of names at the top: name -> function with the upvalues. seat
 * and the metatables are at index, index + 1, ... */
void neap_add_methods(lua_State *L, int index, const luaL_Reg *methods);
void neap_pod_names(lua_State *L, int index);
void neap_node_names(lua_State *L, int index);
void neap_round_names(lua_State *L, int index);
int neap_pod_index(lua_State *L);
int neap_node_index(lua_State *L);
int neap_round_index(lua_State *L);

/* Pushes the pod for kind evict; raises. */
void neap_policy_push_pod(lua_State *L, const struct neap_policy *policy,
			  const struct neap_world_pod *pod);

/* round_find.c */
int neap_round_set(lua_State *L);
extern const luaL_Reg neap_round_finders[];

/* pod_query.c */
/* Pushes a new list of the pods of the nodes that the query at arg (a table, or nothing)
 * selects, in its order. */
void neap_query_pods(lua_State *L, int arg, struct neap_world_node *const *nodes,
		     size_t count);
/* round:sort(pods, order [, scores]) */
int neap_round_sort(lua_State *L);

#endif
