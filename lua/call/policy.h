/* SPDX-License-Identifier: Apache-2.0
 *
 * One loaded version of one policy: its own Lua state, parameters and memo. */
#ifndef NEAP_LUA_CALL_POLICY_H
#define NEAP_LUA_CALL_POLICY_H

#include <jansson.h>

#include "engine/machine/sample.h"
#include "lua/vm/vm.h"

struct neap_policy;
struct neap_replay_family;

/* Who may load, change, roll back and delete policies of a kind. Kinds that do not say it
 * require the admin role. */
enum neap_kind_loader {
	NEAP_BY_ADMINS,
	NEAP_BY_TEXT, /* depends on a field of the policy: neap_kind.is_admins */
	NEAP_BY_EDITORS,
};

/* Budgets are CPU time in microseconds; one table for all kinds (lua/run/kind.c). */
struct neap_kind {
	const char *name;             /* "qos" */
	const char *const *functions; /* required, NULL-terminated */
	const char *const *more;      /* optional fields, NULL-terminated */
	int64_t call_budget_usec;     /* one call */
	int64_t load_budget_usec;     /* running the chunk */
	/* For all calls of one tick, or of one question about a pod, over all policies of
	 * the kind; see lua/call/purse.h. */
	int64_t cycle_budget_usec;
	/* for chunk, examples and replay of one upload together */
	int64_t upload_budget_usec;
	const char *failsafe; /* what happens without a working policy, for people */
	bool is_short;        /* runs on the event loop */
	bool has_shadow;      /* a shadow version may run beside it: lua/run/shadow.h */
	/* called by scheduling decisions: lua/place/place.h, lua/reserve/reserve.h */
	bool is_place;
	/* called in descheduling rounds, on the thread of the round: lua/deschedule */
	bool is_round;
	size_t memory_bytes; /* ceiling of its state; 0: NEAP_VM_MEMORY_BYTES */
	/* which recorded inputs try a new version: lua/replay; NULL: none */
	const struct neap_replay_family *replay;
	enum neap_kind_loader loader;
	bool (*is_admins)(const struct neap_policy *policy); /* BY_TEXT */
	const char *admins_field; /* the field that decides; for BY_ADMINS "kind" */
	const char *admins_why;   /* why, for people; for BY_EDITORS NULL */
	/* Reads the optional fields of the table; raises. NULL: there are none. */
	int (*read)(lua_State *L, int table, struct neap_policy *policy,
		    struct neap_error *err);
	/* Reads `needs`: what they can name differs between kinds. Raises. */
	int (*read_needs)(lua_State *L, int index, struct neap_policy *policy,
			  struct neap_error *err);
	const char *made; /* an example row for policies without examples, as Lua */
	/* Checks and runs example row index (1, 2, ...); 0: the default row, for which
	 * any answer except a fault is right. */
	int (*run_example)(struct neap_policy *policy, int index, struct neap_error *err);
};
const struct neap_kind *neap_kind_find(const char *name);
/* Kinds by index, NULL after the last. */
const struct neap_kind *neap_kind_at(size_t index);
/* Returns whether some of its policies require the admin role. */
bool neap_kind_has_admins(const struct neap_kind *kind);
/* "qos" or "qos, hook, ...", for messages. */
const char *neap_kind_names(void);

/* `triggers`: kernel events that call the policy between ticks. */
#define NEAP_TRIGGERS_MAX 8
struct neap_policy_trigger {
	char name[48];    /* node.trigger says it */
	char pressure[8]; /* "cpu", "memory", "io" */
	/* "node", "critical" (each such workload), "burstable", "besteffort" */
	char of[16];
	bool is_full; /* all tasks stall, not just some */
	int64_t stall_usec, window_usec;
};

struct neap_policy_info {
	const char *kind, *name;
	const char *version; /* first 8 hex digits of the SHA-256 of its text */
	const char *label;   /* "qos/cpu-share@3f2a91c0", for audit */
	const char *origin;  /* file name as given */
	const char *doc;     /* "" without one */
	int api;
	const struct neap_policy_trigger *triggers;
	size_t trigger_count;
};

#define NEAP_UPLOAD_BYTES (256 * 1024) /* longest accepted policy text */
/* Compiles and runs the chunk, and checks the returned table against its kind and
 * parameter schema. Examples are not run. Errors read "origin:line: what, and what would
 * be right". */
int neap_policy_load(const char *text, size_t len, const char *origin,
		     struct neap_policy **ret, struct neap_error *err);
int neap_policy_load_file(const char *file, struct neap_policy **ret,
			  struct neap_error *err);
/* Gives one reference back; the last one frees it. Accepts NULL. */
void neap_policy_free(struct neap_policy *policy);
/* One reference more, for another thread: what it may read are its text and what the text
 * alone says, as its kind and its name. */
struct neap_policy *neap_policy_ref(struct neap_policy *policy);
void neap_policy_get_info(const struct neap_policy *policy, struct neap_policy_info *ret);
const struct neap_kind *neap_policy_kind(const struct neap_policy *policy);
/* Returns why only an admin may load it; NULL: editors may too. */
const char *neap_policy_admins_why(const struct neap_policy *policy);
/* Returns its text, valid for the life of the policy; ret_len may be NULL. */
const char *neap_policy_text(const struct neap_policy *policy, size_t *ret_len);
/* Checks a name: 1 to 47 of a-z, 0-9 and -, not starting with -. */
bool neap_policy_is_name(const char *text);
struct neap_vm *neap_policy_vm(struct neap_policy *policy);
/* Loads the same version again with the same parameters and an empty memo, to replace a
 * state that was killed through no fault of the script. */
int neap_policy_load_again(const struct neap_policy *policy, struct neap_policy **ret,
			   struct neap_error *err);
/* Receives ctx.log(text) of this policy; NULL drops the lines. */
void neap_policy_set_log(struct neap_policy *policy,
			 void (*log)(void *arg, const char *label, const char *text),
			 void *arg);

/* Returns the line that sets the top-level key (`key = `), or with value, the line that
 * contains it in quotes; 0 when there is none. */
int neap_policy_find_line(const struct neap_policy *policy, const char *key,
			  const char *value);

/* Sets a parameter from text ("65", "cpuset", "10s") by its type; the error names the
 * parameter and what is allowed. The other two return all values, and the schema, as
 * JSON. */
int neap_policy_set_param(struct neap_policy *policy, const char *name, const char *text,
			  struct neap_error *err);
/* Sets JSON values by name, null restores the default: all are set, or none.
 * neap_policy_reset_params restores all defaults. */
int neap_policy_set_params(struct neap_policy *policy, const json_t *values,
			   struct neap_error *err);
int neap_policy_reset_params(struct neap_policy *policy, struct neap_error *err);
/* Applies the defaults, then base, then values (may be NULL): all of it, or nothing on an
 * error. */
struct neap_param_text {
	char name[64], value[128];
	size_t line; /* in the configuration file, else 0; for messages */
};
int neap_policy_put_params(struct neap_policy *policy, const struct neap_param_text *base,
			   int base_count, const json_t *values, struct neap_error *err);
/* Checks the parameters in force as a whole: those with required are there, and
 * valid(params) has no objection. Errors name the field. */
int neap_policy_check_params(struct neap_policy *policy, struct neap_error *err);
json_t *neap_policy_params(struct neap_policy *policy);
json_t *neap_policy_schema(struct neap_policy *policy);

int neap_policy_example_count(const struct neap_policy *policy);
/* Runs example row index (1, 2, ...; 0: the kind's default row) with the present
 * parameters plus the row's own. Its name, or number, goes to ret_name. All its steps
 * share budget_usec of CPU time (0: only the budget per call), else NEAP_EBUDGET. Errors
 * read "origin:line: example 'name': what". */
int neap_policy_run_example(struct neap_policy *policy, int index, int64_t budget_usec,
			    char *ret_name, size_t name_size, struct neap_error *err);
/* Runs every row and calls report for each (err NULL: passed). Returns the number of
 * failures, with *err from the first. Stops after a row that kills the state or uses up
 * the kind's upload budget. */
int neap_policy_run_examples(struct neap_policy *policy,
			     void (*report)(void *arg, const char *row,
					    const struct neap_error *err),
			     void *arg, struct neap_error *err);

/* `where`: returns whether the policy applies to a node with these labels (an object of
 * strings). True without a `where`, and for kinds that are called about many nodes. */
bool neap_policy_is_for(const struct neap_policy *policy, const json_t *labels);

/* --- kind qos --- */
struct neap_policy_wish {
	/* "besteffort", "besteffort.pods", "besteffort.containers", the same for
	 * burstable, "workload:ID" */
	char target[160];
	enum neap_key key;
	struct neap_value value;
	char why[160];
};

enum neap_tick_verdict {
	/* the list is the complete set of writes; earlier writes missing from it are
	 * restored */
	NEAP_TICK_WISHES,
	NEAP_TICK_HOLD, /* keep what was set */
	/* a needed field is missing (err names it): keep what was set, no fault */
	NEAP_TICK_SKIPPED,
	NEAP_TICK_ERROR, /* the script raised: a fault */
	/* exceeded its CPU or memory budget: a fault; the state may be dead */
	NEAP_TICK_BUDGET,
	NEAP_TICK_STARVED, /* the machine lacked time or memory: no fault of the script */
	/* not called, too little is left of the cycle's budget: keep what was set, no
	 * fault */
	NEAP_TICK_PUT_OFF,
	NEAP_TICK_WRONG, /* it returned, but its result or memo is invalid: a fault */
};

/* ret_wishes (which the caller frees with free) only with NEAP_TICK_WISHES.
 * NEAP_TICK_WRONG: a bound of lua/call/result.h is exceeded, a target and key occur
 * twice, a target or key is unknown, or a value is out of range; whether the target
 * exists now is not checked. The CPU time of reading the result is in
 * neap_vm_last_cpu_usec. */
enum neap_tick_verdict neap_policy_tick(struct neap_policy *policy,
					const struct neap_sample *sample,
					struct neap_policy_wish **ret_wishes,
					size_t *ret_count, struct neap_error *err);
/* The same within a cycle: *left_usec is the rest of the cycle's budget
 * (the kind's, scaled, at its start), and this call's CPU time is subtracted, even below
 * 0. A call starts only when a whole call budget is left, so that no policy is cut
 * because others used the time; a policy that was put off goes first in the next
 * cycle. */
enum neap_tick_verdict neap_policy_tick_within(struct neap_policy *policy,
					       const struct neap_sample *sample,
					       int64_t *left_usec,
					       struct neap_policy_wish **ret_wishes,
					       size_t *ret_count, struct neap_error *err);

#endif
