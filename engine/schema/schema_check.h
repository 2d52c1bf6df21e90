/* SPDX-License-Identifier: Apache-2.0
 *
 * One validation of an object against its schema; shared by several files. */
#ifndef NEAP_ENGINE_SCHEMA_SCHEMA_CHECK_H
#define NEAP_ENGINE_SCHEMA_SCHEMA_CHECK_H

#include "engine/schema/schema_priv.h"

struct schema_checker {
	struct neap_causes *causes; /* NULL: failures are only counted */
	size_t failed;
	uint64_t *work;  /* steps left */
	bool is_spent;   /* it was more */
	char ended[256]; /* path where the budget ran out */
	bool is_short;   /* of memory */
	bool is_change;  /* unchanged values are skipped */
	struct schema_matcher matcher;
};

/* Charges steps; returns false when the check must end, for lack of budget or memory. */
bool schema_spend(struct schema_checker *checker, uint64_t steps);
void schema_check_value(struct schema_checker *checker, const struct neap_schema *schema,
			const json_t *value, const struct schema_step *at);
/* allOf, anyOf, oneOf, not. */
void schema_check_logic(struct schema_checker *checker, const struct neap_schema *schema,
			const json_t *value, const struct schema_step *at);
/* Returns the item of the old list with the same keys as item; guess: its probable index.
 * NULL: none. */
const json_t *schema_item_before(struct schema_checker *checker,
				 const struct neap_schema *schema, const json_t *list,
				 const json_t *item, size_t guess);
/* Checks that the items of a set or map list are unique. */
void schema_check_unique(struct schema_checker *checker, const struct neap_schema *schema,
			 const json_t *list, const struct schema_step *at);
void schema_tell_duplicate(struct schema_checker *checker, const json_t *value,
			   const struct schema_step *at);
/* Each checks lengths, ranges, pattern and format of one JSON type. */
void schema_check_string(struct schema_checker *checker, const struct neap_schema *schema,
			 const json_t *value, const struct schema_step *at);
void schema_check_number(struct schema_checker *checker, const struct neap_schema *schema,
			 const json_t *value, const struct schema_step *at);
/* For an array or an object. */
void schema_check_count(struct schema_checker *checker, const struct neap_schema *schema,
			const json_t *value, const struct schema_step *at);

/* --- adding a cause, or counting it --- */
/* Reports "Invalid value: ...: " and the detail, with "spec.x in body " in front for
 * declared kinds. */
void schema_tell_value(struct schema_checker *checker, const struct neap_schema *schema,
		       const json_t *value, const struct schema_step *at, const char *fmt,
		       ...) NEAP_PRINTF(5, 6);
/* The whole message. */
void schema_tell_as(struct schema_checker *checker, const char *reason,
		    const struct schema_step *at, const char *fmt, ...) NEAP_PRINTF(4, 5);
/* For the member of that name; NULL: for the value at at. */
void schema_tell_required(struct schema_checker *checker, const struct schema_step *at,
			  const char *name);

#endif
