/* SPDX-License-Identifier: Apache-2.0
 *
 * The parent of one command: what it holds. shim_start.c brings it to where the command waits, shim.c is its
 * life from there on. */
#ifndef NEAP_HW_KEEPER_SHIM_H
#define NEAP_HW_KEEPER_SHIM_H

#include "hw/keeper/keeper_priv.h"

#define NEAP_SHIM_CLIENTS 4 /* an old and a new neapd, and some to spare */

enum neap_shim_step {
	NEAP_SHIM_WAITING,  /* for GO */
	NEAP_SHIM_STARTING, /* until exec, or its failure */
	NEAP_SHIM_RUNNING,
	NEAP_SHIM_ENDING, /* the first process is gone or could not become the command: all else goes */
	NEAP_SHIM_GONE, /* nothing is left; the end is to be written down or told */
};

struct neap_shim {
	const struct neap_keeper_config *config;
	struct neap_keeper_job job;
	unsigned char *bytes; /* of the job */
	const char **envp;    /* of the order, with what was missing */
	char *user, *home;    /* "USER=..." */
	bool is_probe;
	int folder_fd, listener; /* -1: a probe */
	int clients[NEAP_SHIM_CLIENTS];
	int signal_fd;
	int conn; /* the waiting child's, for the hand; -1 from GO on */
	int status_fd;
	int out_fds[2];
	int pid;
	bool is_alive; /* the first process, until we waited for it */
	enum neap_shim_step step;
	struct neap_keeper_event event; /* the last one, as far as it is known */
	char text[NEAP_KEEPER_OUTPUT_MAX + 1];
	int64_t go_until, probe_until; /* monotonic; 0: no such limit */
	int64_t kill_at, kill_wait;
	int64_t read_from, read_bytes; /* output of this stretch of time */
	struct neap_keeper_output output;
};

/* Receives the order from clients[0], makes the folder, forks the child, gives up what is root's. 0, or -code
 * with the reason; is_made then tells whether the folder is this shim's. */
int neap_shim_start(struct neap_shim *shim, int dir_fd, bool *ret_is_made,
		    struct neap_error *err);
void neap_shim_free(struct neap_shim *shim);

#endif
