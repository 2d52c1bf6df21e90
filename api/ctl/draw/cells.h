/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats members of a JSON object for people. Absent members, and members of another
 * type, give "-". buf holds texts that must be composed; every function returns the
 * text. */
#ifndef NEAP_API_CTL_DRAW_CELLS_H
#define NEAP_API_CTL_DRAW_CELLS_H

#include <jansson.h>

#include "engine/base/buf.h"

#define NEAP_CELL_BYTES 32

const char *neap_cell_text(const json_t *object, const char *name);
const char *neap_cell_integer(const json_t *object, const char *name, char *buf);
/* Thousandths of a CPU as CPUs: "1.25". */
/* A fraction of 1: "12 %". */
/* "1.50 GiB". */
/* Appends form with {MEMBER} replaced by what the object has there: a text, cleaned for a
 * terminal (text.h), or a whole number. {MEMBER|lines}: a text that keeps its line ends;
 * {MEMBER|cpus}, {MEMBER|percent}, {MEMBER|bytes}: a number as above. */
void neap_cells_add(struct neap_buf *out, const json_t *object, const char *form);
/* The same when the object has the member, and not null; else it appends nothing. */
void neap_cells_add_if(struct neap_buf *out, const json_t *object, const char *member,
		       const char *form);
/* Returns fallback when it is absent or not a whole number. */
int64_t neap_member_integer(const json_t *object, const char *name, int64_t fallback);

#endif
