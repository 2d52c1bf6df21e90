/* SPDX-License-Identifier: Apache-2.0
 *
 * For the tests of the keeper: one on this machine, with a folder of its own and real
 * commands, which run as nobody. Events are waited for, never durations. */
#ifndef NEAP_T_LIB_KEEPER_RIG_H
#define NEAP_T_LIB_KEEPER_RIG_H

#include "hw/keeper/keeper.h"

#define KEEPER_RIG_UID 65534 /* nobody: of commands */
#define KEEPER_RIG_OWN 65533 /* of shims and their files */

struct keeper_rig {
	char base[64];
	struct neap_keeper_config config;
	struct neap_keeper *keeper;
	uint64_t last_id;
};

/* An event whose text lives on; fd is closed. */
struct keeper_seen {
	struct neap_keeper_event event;
	char text[NEAP_KEEPER_OUTPUT_MAX + 1];
};

/* NULL with *ret_why when this machine cannot. */
struct keeper_rig *keeper_rig_new(const char **ret_why);
/* Ends every child, also shims that came to us, and removes every file. */
void keeper_rig_free(struct keeper_rig *rig);
void keeper_rig_start(struct keeper_rig *rig);
/* The keeper ends, and is waited for; shims go on. */
void keeper_rig_stop(struct keeper_rig *rig);

/* `sh -c script` as container `name` of pod "p-1"; order may be changed before it is
 * run. */
struct neap_keeper_order keeper_rig_order(const char *name, const char *script);
uint64_t keeper_rig_run(struct keeper_rig *rig, const struct neap_keeper_order *order);
uint64_t keeper_rig_attach(struct keeper_rig *rig, const char *name);
/* The next event of any command; one that waits gets no GO. */
struct keeper_seen keeper_rig_next(struct keeper_rig *rig);
/* The next event of this command, GO for the one that waits, until `what` or its last
 * event comes. */
struct keeper_seen keeper_rig_until(struct keeper_rig *rig, uint64_t id,
				    enum neap_keeper_what what);
/* Runs it to its end. */
struct keeper_seen keeper_rig_do(struct keeper_rig *rig,
				 const struct neap_keeper_order *order);

/* A file in the folder of container `name`, attempt 0; a static buffer, "" when it is not
 * there. */
const char *keeper_rig_file(const struct keeper_rig *rig, const char *name,
			    const char *file);
/* What the command printed to a stream, without times: the texts of full lines with a
 * line feed each. */
const char *keeper_rig_printed(const struct keeper_rig *rig, const char *name,
			       const char *stream);
/* Waits until a file has text in it, and gives that. */
const char *keeper_rig_await(const char *path);
/* The shim of a command: the parent of its first process. */
int keeper_rig_shim_of(int pid);
/* Waits until no process of nobody with this word in its command line is there. */
bool keeper_rig_is_gone(const char *word);

#endif
