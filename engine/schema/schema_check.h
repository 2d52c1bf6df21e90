/* SPDX-License-Identifier: Apache-2.0
 *
 * One check of an object against its schema, which several files make. */
#ifndef NEAP_ENGINE_SCHEMA_SCHEMA_CHECK_H
#define NEAP_ENGINE_SCHEMA_SCHEMA_CHECK_H

#include "engine/schema/schema_priv.h"

struct schema_checker {
	struct neap_causes *causes; /* NULL: what fails is only counted */
	size_t failed;
	uint64_t *work;  /* that may still be done */
	bool is_spent;   /* it was more */
	char ended[256]; /* where it was spent */
	bool is_short;   /* of memory */
	bool is_change;  /* what is as it was before is not looked at */
	struct schema_matcher matcher;
};

/* Takes work; false when the check is over, because of it or for want of memory. */
bool schema_spend(struct schema_checker *checker, uint64_t steps);
void schema_check_value(struct schema_checker *checker, const struct neap_schema *schema,
			const json_t *value, const struct schema_step *at);
/* allOf, anyOf, oneOf, not. */
void schema_check_logic(struct schema_checker *checker, const struct neap_schema *schema,
			const json_t *value, const struct schema_step *at);
/* The item that a list, a map by its keys, had with those of item; guess: where it may be. NULL: none. */
const json_t *schema_item_before(struct schema_checker *checker,
				 const struct neap_schema *schema, const json_t *list,
				 const json_t *item, size_t guess);
/* The items of a list that is a set or a map. */
void schema_check_unique(struct schema_checker *checker, const struct neap_schema *schema,
			 const json_t *list, const struct schema_step *at);
void schema_tell_duplicate(struct schema_checker *checker, const json_t *value,
			   const struct schema_step *at);
/* Lengths and ranges, pattern and format of the one JSON type that each is for. */
void schema_check_string(struct schema_checker *checker, const struct neap_schema *schema,
			 const json_t *value, const struct schema_step *at);
void schema_check_number(struct schema_checker *checker, const struct neap_schema *schema,
			 const json_t *value, const struct schema_step *at);
/* Of an array or an object. */
void schema_check_count(struct schema_checker *checker, const struct neap_schema *schema,
			const json_t *value, const struct schema_step *at);

/* --- adding a cause, or counting it --- */
/* "Invalid value: ...: " and the detail, with "spec.x in body " before it when the kind is declared. */
void schema_tell_value(struct schema_checker *checker, const struct neap_schema *schema,
		       const json_t *value, const struct schema_step *at, const char *fmt,
		       ...) NEAP_PRINTF(5, 6);
/* The whole message. */
void schema_tell_as(struct schema_checker *checker, const char *reason,
		    const struct schema_step *at, const char *fmt, ...) NEAP_PRINTF(4, 5);
/* Of the member of that name; NULL: of what is at. */
void schema_tell_required(struct schema_checker *checker, const struct schema_step *at,
			  const char *name);

#endif
