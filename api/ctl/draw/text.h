/* SPDX-License-Identifier: Apache-2.0
 *
 * Untrusted texts on their way to a terminal: names of workloads, reasons of policies,
 * messages. */
#ifndef NEAP_API_CTL_DRAW_TEXT_H
#define NEAP_API_CTL_DRAW_TEXT_H

#include "engine/base/buf.h"

/* Appends text with everything that could act on a terminal escaped, such as "\u202e"
 * (engine/base/utf8.h), and invalid UTF-8 too. keep_lines keeps line ends. */
void neap_text_add_clean(struct neap_buf *out, const char *text, bool keep_lines);
/* The same for the text of a program: keeps line ends and tabs. */
void neap_text_add_source(struct neap_buf *out, const char *text);
/* Returns the columns that a clean text takes. */
int neap_text_columns(const char *text);
/* Appends at most columns of a clean text; a cut text ends in "~". */
void neap_text_add_cut(struct neap_buf *out, const char *text, int columns);
/* Appends a clean text in lines of at most columns (at least 1), broken at blanks where
 * possible; each line after the first starts with indent blanks. No line end after the
 * last. */
void neap_text_add_wrapped(struct neap_buf *out, const char *text, int columns,
			   int indent);

#endif
