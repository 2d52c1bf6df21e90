/* SPDX-License-Identifier: Apache-2.0
 *
 * Helpers for jansson. Setters leave a member out when its value is unknown, when memory
 * is short, or when a text is not UTF-8 (texts come from the kernel and from policies);
 * they never write zero or null instead. */
#ifndef NEAP_ENGINE_JSON_JSON_H
#define NEAP_ENGINE_JSON_JSON_H

#include <jansson.h>

#include "engine/base/error.h"

/* Like json_dumps(3), but complete or NULL: json_dumps drops pieces of a text when memory
 * is short and reports success. Returns NULL without memory or above NEAP_BUF_REPLY. The
 * caller frees with free(3). */
char *neap_json_dump(const json_t *json, size_t flags);

/* Like json_deep_copy(3) and json_copy(3), but complete or NULL: those drop members when
 * memory is short. Returns NULL without memory and for NULL. */
json_t *neap_json_deep_copy(const json_t *json);
json_t *neap_json_copy(const json_t *json);

/* Like json_loadb(3), which aborts the process when memory ends inside a token and
 * otherwise reports lack of memory as bad input. Returns 0; -NEAP_EINVAL with *ret_where
 * filled; -NEAP_ENOMEM. */
int neap_json_parse(const char *text, size_t len, size_t flags, json_t **ret,
		    json_error_t *ret_where);

/* The same for the text of an annotation, which must be an object or a list. null counts
 * as an empty object, as in the reference. */
int neap_json_parse_note(const char *text, json_t **ret, json_error_t *ret_where);

/* Installs the allocator that neap_json_parse and neap_json_failures need. Call it at
 * program start, before a second thread creates JSON. */
void neap_json_setup(void);
/* Returns how many jansson allocations failed on this thread. If the number grew, values
 * that were built meanwhile may lack members. */
uint64_t neap_json_failures(void);

/* Leaves the member out when text is NULL or "". */
void neap_json_set_text(json_t *object, const char *name, const char *text);
/* Leaves the member out when value is NEAP_MISSING. */
void neap_json_set_int(json_t *object, const char *name, int64_t value);
/* Leaves the member out when value is not finite. */
void neap_json_set_real(json_t *object, const char *name, double value);

/* Counts the values in a JSON text (the document and everything inside it) without
 * parsing it; for text that is not JSON the count means nothing. Creating values costs
 * far more than reading text, and bytes are a weak bound: one megabyte can hold 500,000
 * lists. */
size_t neap_json_values_of_text(const char *text, size_t len);

/* Returns the value at a path of names such as "spec.template" or ".spec.template"; NULL:
 * there is none. Borrowed. */
json_t *neap_json_at(const json_t *object, const char *path);
/* Returns the member when it has the type of fresh, which is then released; else sets it
 * to fresh, which is taken in any case. NULL without memory. */
json_t *neap_json_need_take(json_t *object, const char *name, json_t *fresh);
/* The text of a member, "" when it is missing or no text. Borrowed. */
const char *neap_json_text(const json_t *object, const char *name);
/* Does the same for a path, as neap_json_at. */
const char *neap_json_text_at(const json_t *object, const char *path);
/* The same with another text where it is missing. */
const char *neap_json_text_or(const json_t *object, const char *name,
			      const char *otherwise);
/* Drops the reference when the variable goes out of scope, as neap_auto_free. */
#define neap_auto_json __attribute__((cleanup(neap_cleanup_json)))
void neap_cleanup_json(json_t **value);
/* Returns value, which is complete; else drops it: NULL. */
json_t *neap_json_made(bool is_complete, json_t *value);
/* Whether the member is this text. */
bool neap_json_is_text(const json_t *object, const char *name, const char *text);
/* Appends to *list, or frees it and leaves NULL without memory, as for a NULL item. Takes
 * the item over. */
void neap_json_push_new(json_t **list, json_t *item);
/* The first object of a list whose member is this text, NULL when there is none.
 * Borrowed. */
json_t *neap_json_find(const json_t *list, const char *name, const char *text);
/* The condition of a type in a status, likewise. */
json_t *neap_json_condition(const json_t *status, const char *type);

/* --- members ---
 *
 * Reads members of a JSON object that people wrote. Each member has exactly one form, and
 * an unknown member is an error. A member that is missing or null leaves *ret unchanged.
 * Errors are NEAP_EINVAL with the member in field. */

/* Checks that json is an object without members other than names (NULL-terminated). */
int neap_members_check(const json_t *json, const char *const *names,
		       struct neap_error *err);
/* Reads a whole number from min to max. */
int neap_members_int(const json_t *json, const char *name, int64_t min, int64_t max,
		     int64_t *ret, struct neap_error *err);
int neap_members_bool(const json_t *json, const char *name, bool *ret,
		      struct neap_error *err);
/* Borrowed, as in the next two. */
int neap_members_text(const json_t *json, const char *name, const char **ret,
		      struct neap_error *err);
/* Reads one of the choices (NULL-terminated) as an index. */
int neap_members_choice(const json_t *json, const char *name, const char *const *choices,
			int *ret, struct neap_error *err);
int neap_members_list(const json_t *json, const char *name, size_t max,
		      const json_t **ret, struct neap_error *err);
int neap_members_object(const json_t *json, const char *name, const json_t **ret,
			struct neap_error *err);

enum neap_member_type {
	NEAP_MEMBER_INT,    /* int64_t, min to max */
	NEAP_MEMBER_BOOL,   /* bool */
	NEAP_MEMBER_TEXT,   /* const char * */
	NEAP_MEMBER_CHOICE, /* int, of choices */
	NEAP_MEMBER_LIST,   /* const json_t *, of at most max items */
	NEAP_MEMBER_OBJECT, /* const json_t * */
};

struct neap_member {
	const char *name; /* NULL ends the table */
	enum neap_member_type type;
	void *ret; /* of the type's own type */
	int64_t min, max;
	const char *const *choices;
};

/* Reads the members of a table in its order, as the functions above do. */
int neap_members_take(const json_t *json, const struct neap_member *rows,
		      struct neap_error *err);
/* Does the same, and checks first that json is an object without other members. */
int neap_members_read(const json_t *json, const struct neap_member *rows,
		      struct neap_error *err);

#endif
