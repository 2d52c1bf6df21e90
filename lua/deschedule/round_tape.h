/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded descheduling rounds, on which new versions are tried (lua/replay). A recording
 * is one JSON object: the settings of the round, what its strategies asked and were
 * answered, and what policies could see of the cluster ("cluster", as in examples). */
#ifndef NEAP_LUA_DESCHEDULE_ROUND_TAPE_H
#define NEAP_LUA_DESCHEDULE_ROUND_TAPE_H

#include <jansson.h>

#include "lua/deschedule/deschedule.h"

/* Rounds that are kept; and the longest recording that is read. */
#define NEAP_ROUNDS_MAX   20
#define NEAP_ROUNDS_BYTES ((int64_t)64 * 1024 * 1024)
#define NEAP_ROUND_BYTES  ((size_t)16 * 1024 * 1024)

struct neap_round_tape;

/* The rounds of a folder, by the names of its files "NUMBER.json", oldest first. The
 * folder is listed when it is first asked for, and the files are read one by one, so this
 * may be made on the loop and used on another thread. A folder that is not there has
 * none. NULL without memory. */
struct neap_round_tape *neap_round_tape_new(const char *dir);
/* The rounds of a list of recordings, which is borrowed. NULL without memory. */
struct neap_round_tape *neap_round_tape_of(const json_t *list);
/* Accepts NULL. */
void neap_round_tape_free(struct neap_round_tape *rounds);
/* How many there are; 0 also if the folder cannot be read. */
size_t neap_round_tape_count(struct neap_round_tape *rounds);
/* Reads a round: a new reference. -NEAP_EINVAL: the file is torn, or is no recording;
 * -NEAP_ENOMEM; or of the system, as when it has gone. */
int neap_round_tape_get(const struct neap_round_tape *rounds, size_t index, json_t **ret,
			struct neap_error *err);
/* The number in a file's name "NUMBER.json", -1: another name. */
int64_t neap_round_tape_number(const char *name);

#endif
