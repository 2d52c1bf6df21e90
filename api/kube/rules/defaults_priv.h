/* SPDX-License-Identifier: Apache-2.0
 *
 * How defaults are put into objects. What stands there already stays, of whatever type it
 * is: checks come later. All return false only without memory. */
#ifndef NEAP_API_KUBE_RULES_DEFAULTS_PRIV_H
#define NEAP_API_KUBE_RULES_DEFAULTS_PRIV_H

#include <jansson.h>
#include <stdbool.h>

/* The string that is there, "" for none. */
const char *neap_kube_text(const json_t *object, const char *name);
/* Whether it is no object, array or string with something in it. */
bool neap_kube_is_empty(const json_t *value);

/* Sets a member that is missing. Takes value, which may be NULL: no memory. */
bool neap_kube_default_take(json_t *object, const char *name, json_t *value);
/* Sets a member, whatever it was. Takes value. */
bool neap_kube_member_take(json_t *object, const char *name, json_t *value);
/* Sets a member that is missing to a copy of value; nothing where value is NULL. */
bool neap_kube_default_copy(json_t *object, const char *name, const json_t *value);
/* The object that a member is, made where it is missing; *ret_child NULL when something
 * else stands there. */
bool neap_kube_child(json_t *object, const char *name, json_t **ret_child);
/* A field and the list that came after it ("podIP", "podIPs"): where one is missing it
 * follows from the other, and where they differ the field counts. key: the member of the
 * list's items, NULL when they are strings. */
bool neap_kube_first_of(json_t *object, const char *one, const char *many,
			const char *key);

/* image.c: whether a name of an image ([DOMAIN/]PATH[:TAG][@DIGEST]) means the newest
 * one: its tag is latest, or it has neither tag nor digest. What is no such name means
 * none. */
bool neap_kube_image_is_latest(const char *image);

#endif
