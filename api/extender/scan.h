/* SPDX-License-Identifier: Apache-2.0
 *
 * An in-place JSON scanner: finds, checks and skips values without copying. It remembers
 * the first error; from then on nothing is found. */
#ifndef NEAP_API_EXTENDER_SCAN_H
#define NEAP_API_EXTENDER_SCAN_H

#include "engine/base/error.h"

/* Nesting depth of objects and lists. */
#define NEAP_SCAN_DEPTH_MAX 100

/* A borrowed piece of the text; at NULL: none. */
struct neap_text {
	const char *at;
	size_t len;
};

struct neap_json_scan {
	const char *at, *end, *start;
	const char *wrong; /* the error at position at; NULL: none */
};

/* text[len] must be NUL. */
void neap_json_scan_init(struct neap_json_scan *scan, const char *text, size_t len);
/* Skips blanks and returns the next byte; 0 at the end and after an error. */
int neap_json_scan_peek(struct neap_json_scan *scan);
/* Consumes the brace or bracket that opens an object or list, or the word null. Returns
 * false for null, and for anything else, which is an error (expected: "an object"). */
bool neap_json_scan_open(struct neap_json_scan *scan, char open, const char *expected);
/* Returns whether there is another member; consumes the comma before it, or the closing
 * bracket. *count: members so far, 0 at first. */
bool neap_json_scan_more(struct neap_json_scan *scan, char close, size_t *count);
/* Consumes a member's name with its colon. */
bool neap_json_scan_key(struct neap_json_scan *scan, struct neap_text *ret);
/* Consumes a string; the result has no quotes, and escapes are left as they are. */
bool neap_json_scan_string(struct neap_json_scan *scan, struct neap_text *ret);
/* For an open list of strings: reads up to most of them, with escapes left as they are. A
 * smaller result means that the list was closed, or an error. *count as in
 * neap_json_scan_more. */
size_t neap_json_scan_strings(struct neap_json_scan *scan, size_t *count,
			      struct neap_text *ret, size_t most);
/* Consumes any value; ret may be NULL. */
bool neap_json_scan_value(struct neap_json_scan *scan, struct neap_text *ret);
/* Returns whether only blanks are left. */
bool neap_json_scan_is_end(struct neap_json_scan *scan);
/* Records an error at this position; returns false. */
bool neap_json_scan_fail(struct neap_json_scan *scan, const char *wrong);
/* "byte 12: ..." */
int neap_json_scan_error(const struct neap_json_scan *scan, struct neap_error *err);

/* Compares a member's name like Go's decoder, ignoring case. name: lower case. */
bool neap_text_is_key(const struct neap_text *text, const char *name);
/* Copies a name or uid. False: too long for buf, or it has bytes that names and uids
 * cannot have. */
bool neap_text_name(const struct neap_text *text, char *buf, size_t size);

#endif
