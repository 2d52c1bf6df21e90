/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON text read in place: values are found, checked and skipped where they stand, and nothing is copied. The first
 * thing that is wrong is remembered, and from then on nothing is found. */
#ifndef NEAP_API_EXTENDER_SCAN_H
#define NEAP_API_EXTENDER_SCAN_H

#include "engine/base/error.h"

/* Objects and lists inside each other. */
#define NEAP_SCAN_DEPTH_MAX 100

/* A piece of the text, borrowed; at NULL: there is none. */
struct neap_text {
	const char *at;
	size_t len;
};

struct neap_scan {
	const char *at, *end, *start;
	const char *wrong; /* what is wrong at at; NULL: nothing */
};

/* text[len] must be NUL. */
void neap_scan_init(struct neap_scan *scan, const char *text, size_t len);
/* Past blanks, the byte that comes next; 0 at the end and once something is wrong. */
int neap_scan_peek(struct neap_scan *scan);
/* Takes the brace or bracket that opens an object or a list, or the word null; false for null, and for all else, which
 * is wrong (expected: "an object"). */
bool neap_scan_open(struct neap_scan *scan, char open, const char *expected);
/* Whether there is another member; takes the comma before it or what closes. *count: of those before, 0 at first. */
bool neap_scan_more(struct neap_scan *scan, char close, size_t *count);
/* The name of a member, with its colon. */
bool neap_scan_key(struct neap_scan *scan, struct neap_text *ret);
/* A string, without its quotes, escapes as they stand. */
bool neap_scan_string(struct neap_scan *scan, struct neap_text *ret);
/* Of a list that is open and has strings alone, so many of them at most, escapes as they stand; less than that: it is
 * closed, or something is wrong. *count as of neap_scan_more. */
size_t neap_scan_strings(struct neap_scan *scan, size_t *count, struct neap_text *ret,
			 size_t most);
/* Any value; ret may be NULL. */
bool neap_scan_value(struct neap_scan *scan, struct neap_text *ret);
/* Nothing but blanks is left. */
bool neap_scan_is_end(struct neap_scan *scan);
/* Remembers what is wrong here; false. */
bool neap_scan_fail(struct neap_scan *scan, const char *wrong);
/* "byte 12: ..." */
int neap_scan_error(const struct neap_scan *scan, struct neap_error *err);

/* As Go's decoder takes names of members: whatever the case. name: small letters. */
bool neap_text_is_key(const struct neap_text *text, const char *name);
/* False: it is too long for buf, or has other bytes than names of objects and uids have. */
bool neap_text_name(const struct neap_text *text, char *buf, size_t size);

#endif
