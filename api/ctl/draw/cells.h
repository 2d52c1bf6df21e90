/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats members of a JSON object for people. Absent members, and members of another
 * type, give "-". buf holds texts that must be composed; every function returns the
 * text. */
#ifndef NEAP_API_CTL_DRAW_CELLS_H
#define NEAP_API_CTL_DRAW_CELLS_H

#include <jansson.h>

#include "engine/base/base.h"

#define NEAP_CELL_BYTES 32

const char *neap_cell_text(const json_t *object, const char *name);
const char *neap_cell_integer(const json_t *object, const char *name, char *buf);
/* Thousandths of a CPU as CPUs: "1.25". */
const char *neap_cell_cpus(const json_t *object, const char *name, char *buf);
/* A fraction of 1: "12 %". */
const char *neap_cell_percent(const json_t *object, const char *name, char *buf);
/* "1.50 GiB". */
const char *neap_cell_bytes(const json_t *object, const char *name, char *buf);
/* Returns fallback when it is absent or not a whole number. */
int64_t neap_member_integer(const json_t *object, const char *name, int64_t fallback);

#endif
