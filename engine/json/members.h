/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads members of a JSON object that people wrote. Each member has exactly one form, and
 * an unknown member is an error. A member that is missing or null leaves *ret unchanged.
 * Errors are NEAP_EINVAL with the member in field. */
#ifndef NEAP_ENGINE_JSON_MEMBERS_H
#define NEAP_ENGINE_JSON_MEMBERS_H

#include <jansson.h>

#include "engine/base/error.h"

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

#endif
