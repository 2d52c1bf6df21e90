/* SPDX-License-Identifier: Apache-2.0
 *
 * The vector runner: facts as plain JSON, what goes in and what must come out. One file
 * per area or few areas holds a table of rows; main.c lists the tables. To add an area:
 * write its functions, a table ended by an empty row, and name the table in main.c. */
#ifndef NEAP_T_VECTORS_VECTORS_H
#define NEAP_T_VECTORS_VECTORS_H

#include <jansson.h>

#include "engine/base/error.h"

struct neap_policy;

struct vector_context {
	const char *policies; /* folder of the shipped policies */
	const char *area;     /* of the case */
	/* What it wants, for an answer that is one of several right ones. */
	const json_t *wanted;
	/* Loaded at the first need, freed by vector_policies_free. */
	struct neap_policy *suppress;
};

/* Computes the answer to given (borrowed): 0 and a new object in *ret, or a new null for
 * "nothing is computed". -NEAP_EINVAL and -NEAP_ETOOLARGE mean that the operation itself
 * fails ({"error": true}); any other code, and any input that has not the expected form
 * (vector_bad), fails the case whatever is wanted. */
typedef int vector_fn(struct vector_context *context, json_t *given, json_t **ret,
		      struct neap_error *err);

struct vector_row {
	const char *area, *op; /* NULL area ends a table */
	/* Known inputs as paths: "pods", "pods[].uid", "used.*" for free names,
	 * "pods:any" for all that is below. Ended by NULL. */
	const char *const *keys;
	vector_fn *fn;
	/* Fields that are CPU lists, compared as sets; NULL if none. */
	const char *const *cpu_fields;
	/* Fields of which only the members that are wanted are compared, and null is
	 * anything; NULL if none. */
	const char *const *part_fields;
	bool null_is_any; /* a wanted null is not compared; else it wants none */
	/* Brings an answer or what is wanted into one form; may be NULL. */
	void (*settle)(json_t *given, json_t *answer);
};

extern const struct vector_row vector_cpuset_rows[];
extern const struct vector_row vector_cpu_rows[];
extern const struct vector_row vector_numa_rows[];
extern const struct vector_row vector_numa_node_rows[];
extern const struct vector_row vector_policy_rows[];
extern const struct vector_row vector_reserve_rows[];
extern const struct vector_row vector_conversion_rows[];
extern const struct vector_row vector_path_rows[];
extern const struct vector_row vector_order_rows[];
extern const struct vector_row vector_suppress_rows[];
extern const struct vector_row vector_load_rows[];
extern const struct vector_row vector_reservation_match_rows[];
extern const struct vector_row vector_reservation_life_rows[];
extern const struct vector_row vector_reservation_room_rows[];
extern const struct vector_row vector_descheduler_rows[];
extern const struct vector_row vector_migrate_rows[];
extern const struct vector_row vector_migrate_job_rows[];

void vector_policies_free(struct vector_context *context);

/* Returns -NEAP_EINTERNAL: the case, not the operation, is at fault. */
int vector_bad(struct neap_error *err, const char *fmt, ...) NEAP_PRINTF(2, 3);
/* The text of given[key]; NULL when it is missing or not a text. */
const char *vector_text(const json_t *given, const char *key);
/* *ret = object or NEAP_ENOMEM; steals object. */
int vector_answer_new(json_t *object, json_t **ret, struct neap_error *err);

/* True when got has all that is wanted; else why says where not. On the top level got may
 * have more. */
bool vector_matches(const struct vector_row *row, const json_t *want, const json_t *got,
		    char *why, size_t size);
/* False, and the path of the first one, when given has an input that keys does not list.
 */
bool vector_keys_are_known(const char *const *keys, const json_t *given, char *ret_path,
			   size_t size);
/* The same CPUs in two lists; false as well when one cannot be parsed. */
bool vector_cpus_are_equal(const char *a, const char *b);

#endif
