/* SPDX-License-Identifier: Apache-2.0
 *
 * Label selectors of Kubernetes: LabelSelector objects (matchLabels, matchExpressions) and the plain
 * maps of nodeSelector. Parsed once, then matched without allocating: one look-up per requirement. */
#ifndef NEAP_ENGINE_BASE_SELECTOR_H
#define NEAP_ENGINE_BASE_SELECTOR_H

#include <jansson.h>

#include "engine/base/error.h"

#define NEAP_SELECTOR_REQUIREMENTS 64 /* of matchLabels and matchExpressions together */
#define NEAP_SELECTOR_VALUES       512 /* of one selector; a selector is smaller than 64 KiB */

/* Immutable, one block of memory without pointers: a copy of its bytes is a selector, too. */
struct neap_selector;

/* { "matchLabels": {...}, "matchExpressions": [{"key", "operator", "values"}, ...] }, each may be
 * absent; {} matches everything. What a missing selector means is the caller's to know. Errors
 * (NEAP_EINVAL, NEAP_ETOOLARGE) have the path in field ("matchExpressions[0].operator") and in msg,
 * without the path, the words of Kubernetes ("Invalid value: ..."). */
int neap_selector_parse(const json_t *json, struct neap_selector **ret,
			struct neap_error *err);
/* A map of labels that must all be there, as nodeSelector; field is the label at fault. */
int neap_selector_parse_map(const json_t *json, struct neap_selector **ret,
			    struct neap_error *err);
/* "app=web,tier in (a,b),x!=y,!old,size>3", as kubectl -l takes it; "" matches everything. Equal values are told
 * by "=" or "=="; blanks are free. */
int neap_selector_parse_text(const char *selector, struct neap_selector **ret,
			     struct neap_error *err);
/* The same as a LabelSelector that may have the operators Gt and Lt, too, each with one whole number: only texts have
 * them. */
int neap_selector_parse_of_text(const json_t *json, struct neap_selector **ret,
				struct neap_error *err);
void neap_selector_free(struct neap_selector *selector);
/* Demands nothing, and so matches everything. */
bool neap_selector_is_empty(const struct neap_selector *selector);
/* Returns how many requirements it has. */
size_t neap_selector_count(const struct neap_selector *selector);
/* Returns whether both were parsed from the same demands, in the same order. */
bool neap_selector_is_same(const struct neap_selector *a, const struct neap_selector *b);
/* Bytes of its block. */
size_t neap_selector_size(const struct neap_selector *selector);

/* labels: an object of strings; NULL is one without members. */
bool neap_selector_matches(const struct neap_selector *selector, const json_t *labels);
/* The same with labels from anywhere: get tells the value of a label, false when there is none. */
typedef bool neap_label_get_fn(void *arg, const char *key, const char **ret_value,
			       size_t *ret_len);
bool neap_selector_matches_with(const struct neap_selector *selector,
				neap_label_get_fn *get, void *arg);

/* "prefix/name" or "name": 0, or the rule that text breaks, in the words of Kubernetes and without
 * a field. */
int neap_label_check_key(const char *text, struct neap_error *err);
/* At most 63 bytes, may be empty. */
int neap_label_check_value(const char *text, struct neap_error *err);

#endif
