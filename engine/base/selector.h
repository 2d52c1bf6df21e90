/* SPDX-License-Identifier: Apache-2.0
 *
 * Kubernetes label selectors: LabelSelector objects (matchLabels, matchExpressions) and
 * the plain maps of nodeSelector. A selector is parsed once and then matches without
 * allocating, with one lookup per requirement. */
#ifndef NEAP_ENGINE_BASE_SELECTOR_H
#define NEAP_ENGINE_BASE_SELECTOR_H

#include <jansson.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"

#define NEAP_SELECTOR_REQUIREMENTS 64 /* matchLabels and matchExpressions together */
/* values of one selector; a selector is smaller than 64 KiB */
#define NEAP_SELECTOR_VALUES 512

/* Immutable. One block of memory without pointers, so a byte copy is a valid selector. */
struct neap_selector;

/* Parses { "matchLabels": {...}, "matchExpressions": [{"key", "operator", "values"}, ...]
 * }; both members are optional, and {} matches everything. The caller decides what a
 * missing selector means. On NEAP_EINVAL and NEAP_ETOOLARGE, field has the path
 * ("matchExpressions[0].operator") and msg the words of Kubernetes without the path
 * ("Invalid value: ..."). */
int neap_selector_parse(const json_t *json, struct neap_selector **ret,
			struct neap_error *err);
/* The same, as a copy in the arena. */
int neap_selector_parse_into(struct neap_arena *arena, const json_t *json,
			     const struct neap_selector **ret, struct neap_error *err);
/* Parses a map of required labels, as in nodeSelector. Errors name the label in field. */
int neap_selector_parse_map(const json_t *json, struct neap_selector **ret,
			    struct neap_error *err);
/* Parses "app=web,tier in (a,b),x!=y,!old,size>3", as kubectl -l does; "" matches
 * everything. "=" and "==" mean the same; blanks are ignored. */
int neap_selector_parse_text(const char *selector, struct neap_selector **ret,
			     struct neap_error *err);
/* Parses a LabelSelector that may also use Gt and Lt, each with one whole number; only
 * text selectors have these. */
int neap_selector_parse_of_text(const json_t *json, struct neap_selector **ret,
				struct neap_error *err);
void neap_selector_free(struct neap_selector *selector);
/* Returns whether the selector has no requirements, and so matches everything. */
bool neap_selector_is_empty(const struct neap_selector *selector);
/* Returns the number of requirements. */
size_t neap_selector_count(const struct neap_selector *selector);
/* Returns whether both have the same requirements in the same order. */
bool neap_selector_is_same(const struct neap_selector *a, const struct neap_selector *b);
/* Returns the bytes of its block. */
size_t neap_selector_size(const struct neap_selector *selector);

/* labels: an object of strings; NULL counts as empty. */
bool neap_selector_matches(const struct neap_selector *selector, const json_t *labels);
/* The same with labels from any source: get returns the value of a label, or false when
 * there is none. */
typedef bool neap_label_get_fn(void *arg, const char *key, const char **ret_value,
			       size_t *ret_len);
bool neap_selector_matches_with(const struct neap_selector *selector,
				neap_label_get_fn *get, void *arg);

/* Checks "prefix/name" or "name". Returns 0, or an error with the violated rule in the
 * words of Kubernetes and no field. */
int neap_label_check_key(const char *text, struct neap_error *err);
/* Checks a label value: at most 63 bytes, may be empty. */
int neap_label_check_value(const char *text, struct neap_error *err);

#endif
