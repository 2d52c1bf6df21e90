/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts that somebody else chose, on their way to a terminal: names of workloads, reasons of
 * policies, messages. */
#ifndef NEAP_API_CTL_DRAW_TEXT_H
#define NEAP_API_CTL_DRAW_TEXT_H

#include "engine/base/buf.h"

/* Adds text with everything that could act on a terminal escaped, as "\u202e" (engine/base/utf8.h), and bytes that
 * are no UTF-8. Line ends stay with keep_lines. */
void neap_text_add_clean(struct neap_buf *out, const char *text, bool keep_lines);
/* The same for the text of a program: line ends and tabs stay. */
void neap_text_add_source(struct neap_buf *out, const char *text);
/* Columns that a clean text takes. */
int neap_text_columns(const char *text);
/* Adds at most columns of a clean text; a text that was cut ends in "~". */
void neap_text_add_cut(struct neap_buf *out, const char *text, int columns);
/* Adds all of a clean text in lines of at most columns (at least 1), broken at blanks where that is possible;
 * each line but the first begins with indent blanks. No line end behind the last. */
void neap_text_add_wrapped(struct neap_buf *out, const char *text, int columns,
			   int indent);

#endif
