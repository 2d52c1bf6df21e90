/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files behind lua/call/policy.h. */
#ifndef NEAP_LUA_CALL_POLICY_PRIV_H
#define NEAP_LUA_CALL_POLICY_PRIV_H

#include "lua/call/params.h"
#include "lua/call/policy.h"
#include "lua/call/result.h"
#include "lua/value/convert.h"

#define NEAP_POLICY_API 1
#define NEAP_NEEDS_MAX  64

/* A field of the sample that a policy needs. */
struct neap_need {
	char name[64];
	const struct neap_field *field, *parent; /* the struct around it, or NULL */
	struct neap_known siblings;              /* the fields of the parent */
	bool is_optional;
};

/* What C keeps in the Lua registry; policy->ref holds the keys. */
enum neap_policy_ref {
	NEAP_REF_TABLE,  /* the table returned by the chunk */
	NEAP_REF_CTX,    /* read-only, for scripts */
	NEAP_REF_FIELDS, /* the table behind it */
	NEAP_REF_PARAMS, /* ctx.params, read-only */
	NEAP_REF_HOLD,   /* ctx.hold */
	/* "node", "besteffort", ... = metatable that knows the needed fields */
	NEAP_REF_METAS,
	NEAP_REF_TICK,   /* the function */
	NEAP_REF_RESULT, /* of the call that just ended, else false */
	NEAP_REF_POD,    /* pod of the decision; and its nodes, one after the other */
	NEAP_REF_NODE,
	/* the function; else false. The following are for kind reservation: */
	NEAP_REF_RANK,
	NEAP_REF_RESV,    /* the reservations of a decision, one after the other */
	NEAP_REF_TARGETS, /* list: for each need the table that holds it, and its key */
	NEAP_REF_FACTS,   /* address of a reservation -> list: expensive facts by need */
	NEAP_REF_PASSING, /* such a list, for the reservation of this call */
	NEAP_REF_OWNERS,  /* list: the tables that show owners, see reserve_owners.c */
	NEAP_REF_LOOP,    /* kind filter: the function that loops over nodes */
	NEAP_REF_SEAT,    /* kinds of rounds: lua/deschedule/cursor.c; else false */
	NEAP_REF_ROUND,
	NEAP_REF_MAKE,
	NEAP_REF_BEFORE, /* kind evict: the function; else false */
	NEAP_REF_VALID,  /* valid(params); else false */
	NEAP_REF_COUNT
};

struct neap_place_needs;
struct neap_reserve_own;
struct neap_deschedule_own;

struct neap_policy {
	_Atomic uint32_t refs;
	struct neap_vm *vm;
	const struct neap_kind *kind;
	int api;
	char name[48], version[9], label[80], origin[256];
	char *text, *doc;
	struct neap_params params;
	struct neap_need *needs;
	size_t need_count;
	struct neap_place_needs
		*place; /* needs of kinds with is_place; NULL: another kind */
	struct neap_reserve_own *reserve;       /* for kind reservation; else NULL */
	struct neap_deschedule_own *deschedule; /* for kinds of rounds; else NULL */
	struct neap_selector *where;            /* NULL: every node */
	struct neap_policy_trigger triggers[NEAP_TRIGGERS_MAX];
	size_t trigger_count;
	int example_count;
	int64_t row_until_usec; /* thread CPU clock at which a row must end, 0 never */
	int ref[NEAP_REF_COUNT];
	void (*log)(void *arg, const char *label, const char *text);
	void *log_arg;
};

/* Pushes what ref keeps. */
void neap_policy_push(lua_State *L, const struct neap_policy *policy,
		      enum neap_policy_ref ref);
/* Pops the top into an existing slot; never raises. */
void neap_policy_keep(lua_State *L, const struct neap_policy *policy,
		      enum neap_policy_ref ref);
/* Writes "origin:line" of the line that sets the top-level key (`key = `), or with value,
 * of the line that contains it in quotes; "origin" when there is none. Returns buf. */
const char *neap_policy_where(const struct neap_policy *policy, const char *key,
			      const char *value, char *buf, size_t size);

/* Prefixes an error of one of the policy's functions (ref, called name) with its place,
 * unless it has one already; results are read after the function has returned. Returns
 * -err->code. */
int neap_policy_in(const struct neap_policy *policy, enum neap_policy_ref ref,
		   const char *name, struct neap_error *err);

/* qos.c: the verdict of a failed call. */
enum neap_tick_verdict neap_policy_verdict_of(int rc);

/* ctx.c; the first raises. Creates all slots except TABLE, METAS and TICK. */
void neap_ctx_open(lua_State *L, struct neap_policy *policy);
/* Called once name and parameters are known; raises. */
void neap_ctx_fill(lua_State *L, struct neap_policy *policy);
void neap_ctx_set_now(lua_State *L, const struct neap_policy *policy, int64_t now_unix);
/* Updates ctx.params to the values in force; on failure it stays as it was. */
int neap_ctx_refresh_params(struct neap_policy *policy, struct neap_error *err);
int neap_ctx_reset_memo(struct neap_policy *policy, struct neap_error *err);
/* Checks that the memo is plain data within its bound. Does not raise. */
int neap_ctx_check_memo(lua_State *L, const struct neap_policy *policy,
			struct neap_error *err);

/* timelib.c: pushes ctx.time, which reads now_unix in the table at the top; raises. */
void neap_time_open(lua_State *L);

/* needs.c; all raise. */
/* How many names the list at index has; NEAP_EINVAL: no list, or too long. */
int neap_needs_count(lua_State *L, int index, size_t *ret, struct neap_error *err);
int neap_needs_read(lua_State *L, int index, struct neap_policy *policy,
		    struct neap_error *err);
void neap_needs_push(lua_State *L, const struct neap_policy *policy,
		     const struct neap_sample *sample);
/* Returns the first needed field that is missing, NULL when all are there. */
const struct neap_need *neap_needs_find_missing(const struct neap_policy *policy,
						const struct neap_sample *sample);

/* where.c; does not raise */
int neap_where_read(lua_State *L, int index, struct neap_policy *policy,
		    struct neap_error *err);
/* triggers.c; raises. index may be nil. */
int neap_triggers_read(lua_State *L, int index, struct neap_policy *policy,
		       struct neap_error *err);

/* lua/replay: the families of recorded inputs. */
extern const struct neap_replay_family neap_replay_samples, neap_replay_decisions,
	neap_replay_offers, neap_replay_rounds;

/* sample_input.c: pushes example row index, for 0 the kind's default row; raises. */
void neap_policy_push_row(lua_State *L, const struct neap_policy *policy, int index);
extern const char neap_made_qos[], neap_made_place[], neap_made_reservation[],
	neap_made_round[], neap_made_order[], neap_made_leave[];

/* wishes.c: reads a list of writes at index. ret_count is kept up to date, so that *ret
 * can be freed even if this raises. In examples a row may omit why. */
int neap_wishes_read(lua_State *L, int index, bool needs_why,
		     struct neap_policy_wish **ret, size_t *ret_count,
		     struct neap_error *err);

/* examples.c */
int neap_qos_run_example(struct neap_policy *policy, int index, struct neap_error *err);
/* reserve_table.c; the first raises. Accepts NULL. */
/* filter.c: reads the fields of a filter's table besides allow; raises. */
int neap_filter_read(lua_State *L, int table, struct neap_policy *policy,
		     struct neap_error *err);
int neap_reserve_read(lua_State *L, int table, struct neap_policy *policy,
		      struct neap_error *err);
void neap_reserve_free(struct neap_reserve_own *own);
/* reserve_example.c */
int neap_reserve_run_example(struct neap_policy *policy, int index,
			     struct neap_error *err);
/* lua/deschedule: the kinds deschedule and evict; the readers raise. Free accepts
 * NULL. */
int neap_round_needs_read(lua_State *L, int index, struct neap_policy *policy,
			  struct neap_error *err);
int neap_deschedule_read(lua_State *L, int table, struct neap_policy *policy,
			 struct neap_error *err);
int neap_evict_read(lua_State *L, int table, struct neap_policy *policy,
		    struct neap_error *err);
void neap_deschedule_free(struct neap_deschedule_own *own);
int neap_round_run_example(struct neap_policy *policy, int index, struct neap_error *err);
/* lua/migrate: the kinds migration and evictor; the first raises. */
int neap_migrate_needs_read(lua_State *L, int index, struct neap_policy *policy,
			    struct neap_error *err);
int neap_migrate_run_example(struct neap_policy *policy, int index,
			     struct neap_error *err);
/* place_example.c */
int neap_place_run_example(struct neap_policy *policy, int index, struct neap_error *err);

#endif
