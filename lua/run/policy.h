/* SPDX-License-Identifier: Apache-2.0
 *
 * One loaded version of one policy: a Lua state of its own, its parameters, its memo. */
#ifndef NEAP_LUA_RUN_POLICY_H
#define NEAP_LUA_RUN_POLICY_H

#include <jansson.h>

#include "engine/machine/sample.h"
#include "lua/vm/vm.h"

struct neap_policy;

/* Who may load a policy of a kind, change it, roll it back and take it out. A kind that does not say it is of admins. */
enum neap_kind_loader {
	NEAP_BY_ADMINS,
	NEAP_BY_TEXT, /* what a policy says in a field decides: neap_kind.is_admins */
	NEAP_BY_EDITORS,
};

/* CPU budgets in microseconds, one table for all kinds (lua/run/kind.c). */
struct neap_kind {
	const char *name;             /* "qos" */
	const char *const *functions; /* required, NULL at the end */
	const char *const *more;      /* fields that may be there, too, NULL at the end */
	int64_t call_budget_usec;     /* one call */
	int64_t load_budget_usec;     /* running the chunk */
	/* All calls of one tick, or for one question about a pod, over all policies of the kind; see lua/vm/purse.h. */
	int64_t cycle_budget_usec;
	int64_t upload_budget_usec; /* chunk, examples and replay of one upload together */
	const char *failsafe; /* what happens without a working policy, for people */
	bool is_short;        /* runs on the loop */
	bool has_shadow; /* another version may be asked beside it: lua/run/shadow.h */
	bool is_place; /* asked by a decision about a place for a pod: lua/place/place.h, lua/reserve/reserve.h */
	enum neap_kind_loader loader;
	bool (*is_admins)(const struct neap_policy *policy); /* BY_TEXT */
	const char *admins_field; /* the field that says so; of BY_ADMINS "kind" */
	const char *admins_why;   /* what for, for people; of BY_EDITORS NULL */
	/* Reads `more` of the table; raises. NULL: there is nothing to read. */
	int (*read)(lua_State *L, int table, struct neap_policy *policy,
		    struct neap_error *err);
	const char *made; /* a row for policies without examples, as Lua */
	/* Checks and runs row index (1, 2, ...) of `examples`; 0: the made row, of which any answer but a fault is right. */
	int (*run_example)(struct neap_policy *policy, int index, struct neap_error *err);
};
const struct neap_kind *neap_kind_find(const char *name);
/* The kinds one after the other, NULL behind the last. */
const struct neap_kind *neap_kind_at(size_t index);
/* Some of its policies are for admins only. */
bool neap_kind_has_admins(const struct neap_kind *kind);
/* cycle_budget_usec as it is on this machine (NEAP_SLOWNESS): what a cycle starts with. */
int64_t neap_kind_cycle_usec(const struct neap_kind *kind);
/* "qos" or "qos, hook, ...": for messages. */
const char *neap_kind_names(void);

struct neap_policy_info {
	const char *kind, *name;
	const char *version; /* first 8 hex digits of the SHA-256 of its text */
	const char *label;   /* "qos/cpu-share@3f2a91c0", for audit */
	const char *origin;  /* file name as given */
	const char *doc;     /* "" without one */
	int api;
};

#define NEAP_UPLOAD_BYTES (256 * 1024) /* longest text of a policy that is taken */
/* Compiles and runs the chunk, checks the returned table against its kind and its parameter schema.
 * Examples are not run. Errors read "origin:line: what, and what would be right". */
int neap_policy_load(const char *text, size_t len, const char *origin,
		     struct neap_policy **ret, struct neap_error *err);
int neap_policy_load_file(const char *file, struct neap_policy **ret,
			  struct neap_error *err);
void neap_policy_free(struct neap_policy *policy);
void neap_policy_get_info(const struct neap_policy *policy, struct neap_policy_info *ret);
const struct neap_kind *neap_policy_kind(const struct neap_policy *policy);
/* Why only an admin may load it; NULL: editors may, too. */
const char *neap_policy_admins_why(const struct neap_policy *policy);
/* Its text, as long as the policy lives; ret_len may be NULL. */
const char *neap_policy_text(const struct neap_policy *policy, size_t *ret_len);
/* 1 to 47 of a-z, 0-9 and -, not beginning with -. */
bool neap_policy_is_name(const char *text);
struct neap_vm *neap_policy_vm(struct neap_policy *policy);
/* The same version once more, with the same parameters in force and an empty memo: for a state that
 * was killed through no fault of the script. */
int neap_policy_load_again(const struct neap_policy *policy, struct neap_policy **ret,
			   struct neap_error *err);
/* Where ctx.log(text) of this policy goes; NULL drops. */
void neap_policy_set_log(struct neap_policy *policy,
			 void (*log)(void *arg, const char *label, const char *text),
			 void *arg);

/* The line of the text that sets the top-level key (`key = `), or, with value, of the one that holds
 * it in quotes; 0 when there is none. */
int neap_policy_find_line(const struct neap_policy *policy, const char *key,
			  const char *value);

/* Parameters: set from text ("65", "cpuset", "10s") by the schema's type; the error names the
 * parameter and what is allowed. All in force as JSON; the schema as JSON. */
int neap_policy_set_param(struct neap_policy *policy, const char *name, const char *text,
			  struct neap_error *err);
/* JSON values by name, null for "as if never set": all are set or none. neap_policy_reset_params puts
 * every default back in force. */
int neap_policy_set_params(struct neap_policy *policy, const json_t *values,
			   struct neap_error *err);
int neap_policy_reset_params(struct neap_policy *policy, struct neap_error *err);
/* The defaults, then base, then values (may be NULL): all of it is in force then, or nothing changed. */
struct neap_param_text {
	char name[64], value[128];
	size_t line; /* of the configuration file, 0 elsewhere; for messages */
};
int neap_policy_put_params(struct neap_policy *policy, const struct neap_param_text *base,
			   int base_count, const json_t *values, struct neap_error *err);
json_t *neap_policy_params(struct neap_policy *policy);
json_t *neap_policy_schema(struct neap_policy *policy);

int neap_policy_example_count(const struct neap_policy *policy);
/* Runs row index (1, 2, ...; 0: the made input of the kind) with the parameters in force and what it sets itself; its name, or number
 * without one, goes to ret_name. At most budget_usec of CPU time for all its steps (0: no bound but
 * that of each call), else NEAP_EBUDGET. Errors read "origin:line: example 'name': what". */
int neap_policy_run_example(struct neap_policy *policy, int index, int64_t budget_usec,
			    char *ret_name, size_t name_size, struct neap_error *err);
/* Runs every row; report is called per row (err NULL: passed). Returns the number that failed, *err
 * is of the first. A row that kills the state is the last, and so is the one in which the upload
 * budget of the kind is used up. */
int neap_policy_run_examples(struct neap_policy *policy,
			     void (*report)(void *arg, const char *row,
					    const struct neap_error *err),
			     void *arg, struct neap_error *err);

/* Calls rules[rule](ctx, input) and gives its result as JSON (CPU sets as list text, nil as null, an
 * empty table as []): the policy's pure parts, for tests and vectors. NEAP_ENOTFOUND without such a
 * rule. input is borrowed; null in it is nil. An array of [cpu, core, socket, node] under the key
 * "processors" becomes a topology object. */
int neap_policy_call_rule(struct neap_policy *policy, const char *rule, json_t *input,
			  json_t **ret, struct neap_error *err);

/* `where`: whether this policy is for a node with these labels (an object of strings). Without a
 * `where`, and of the kinds that are asked about many nodes, it is for every node. */
bool neap_policy_is_for(const struct neap_policy *policy, const json_t *labels);

/* `triggers`: kernel events that call the policy between two ticks. */
#define NEAP_TRIGGERS_MAX 8
struct neap_policy_trigger {
	char name[48];    /* node.trigger says it */
	char pressure[8]; /* "cpu", "memory", "io" */
	char of[16]; /* "node", "critical" (each workload that is), "burstable", "besteffort" */
	bool is_full; /* all tasks stall, not only some */
	int64_t stall_usec, window_usec;
};
/* Returns how many there are. */
size_t neap_policy_triggers(const struct neap_policy *policy,
			    const struct neap_policy_trigger **ret);

/* --- kind qos --- */
struct neap_policy_wish {
	char target
		[160]; /* "besteffort", "besteffort.pods", "besteffort.containers", the same for
			     burstable, "workload:ID" */
	enum neap_key key;
	struct neap_value value;
	char why[160];
};

enum neap_tick_verdict {
	NEAP_TICK_WISHES, /* the list is all that this policy wants; what it wanted before and is not
			      in it is given back */
	NEAP_TICK_HOLD, /* keep what was set */
	NEAP_TICK_SKIPPED, /* a needed field is missing (err names it): keep what was set, no fault */
	NEAP_TICK_ERROR, /* the script raised: a fault */
	NEAP_TICK_BUDGET, /* spent its CPU budget or memory: a fault; the state may be dead */
	NEAP_TICK_STARVED, /* the machine had no time or memory for it: no fault of the script */
	NEAP_TICK_PUT_OFF, /* not called, the cycle has too little left: keep what was set, no fault */
	NEAP_TICK_WRONG, /* it ended well, but its result or its memo is wrong: a fault */
};

/* ret_wishes (to be freed by the caller with free) only with NEAP_TICK_WISHES. What is beyond the bounds of
 * lua/call/result.h, twice the same target and key, unknown targets and keys, and values out of range are
 * NEAP_TICK_WRONG; whether a target is there now is not judged. The CPU time of reading the result is in
 * neap_vm_last_cpu_usec. */
enum neap_tick_verdict neap_policy_tick(struct neap_policy *policy,
					const struct neap_sample *sample,
					struct neap_policy_wish **ret_wishes,
					size_t *ret_count, struct neap_error *err);
/* The same as a part of a cycle: *left_usec is what its budget has left (neap_kind_cycle_usec at its
 * start), and the CPU time of this call is taken off, also below 0. A call is not begun with less
 * than a whole call budget left, so that none is cut because of what others used; who was put off is
 * to come first in the next cycle. */
enum neap_tick_verdict neap_policy_tick_within(struct neap_policy *policy,
					       const struct neap_sample *sample,
					       int64_t *left_usec,
					       struct neap_policy_wish **ret_wishes,
					       size_t *ret_count, struct neap_error *err);

#endif
