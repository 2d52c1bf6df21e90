/* SPDX-License-Identifier: Apache-2.0
 *
 * Helpers that set defaults. A value that exists stays, whatever its type: checks come
 * later. All functions that return bool for success return false only without memory. */
#ifndef NEAP_API_KUBE_RULES_DEFAULTS_PRIV_H
#define NEAP_API_KUBE_RULES_DEFAULTS_PRIV_H

#include <jansson.h>
#include <stdbool.h>

/* Returns the string, "" when it is missing. */
const char *neap_kube_text(const json_t *object, const char *name);
/* False for an object, array or string that has content. */
bool neap_kube_is_empty(const json_t *value);

/* Sets a member that is missing. Takes value; NULL counts as out of memory. */
bool neap_kube_default_take(json_t *object, const char *name, json_t *value);
/* Sets a member in any case. Takes value. */
bool neap_kube_member_take(json_t *object, const char *name, json_t *value);
/* Sets a member that is missing to a copy of value. NULL: does nothing. */
bool neap_kube_default_copy(json_t *object, const char *name, const json_t *value);
/* Finds the object in a member, and creates it where it is missing. *ret_child is NULL
 * when the member has another type. */
bool neap_kube_child(json_t *object, const char *name, json_t **ret_child);
/* Completes a field and the list that succeeded it ("podIP", "podIPs"). A missing one is
 * filled in from the other; where they differ, the field wins. key: the member of the
 * list's items; NULL when they are strings. */
bool neap_kube_first_of(json_t *object, const char *one, const char *many,
			const char *key);

/* image.c: whether an image name ([DOMAIN/]PATH[:TAG][@DIGEST]) means the newest image:
 * its tag is latest, or it has neither tag nor digest. False for an invalid name. */
bool neap_kube_image_is_latest(const char *image);

#endif
