/* SPDX-License-Identifier: Apache-2.0
 *
 * The parent of one command: its state. shim_start.c brings it to where the command
 * waits; shim.c runs it from there. */
#ifndef NEAP_HW_KEEPER_SHIM_H
#define NEAP_HW_KEEPER_SHIM_H

#include "hw/keeper/keeper_priv.h"

#define NEAP_SHIM_CLIENTS 4 /* an old and a new neapd, plus spares */

enum neap_shim_step {
	NEAP_SHIM_WAITING,  /* for GO */
	NEAP_SHIM_STARTING, /* until exec, or its failure */
	NEAP_SHIM_RUNNING,
	/* the first process is gone or could not exec: the rest is being killed */
	NEAP_SHIM_ENDING,
	NEAP_SHIM_GONE, /* nothing is left; the end must be recorded or reported */
};

struct neap_shim {
	const struct neap_keeper_config *config;
	struct neap_keeper_job job;
	unsigned char *bytes; /* of the job */
	const char **envp;    /* of the order, completed */
	char *user, *home;    /* "USER=..." */
	bool is_probe;
	int folder_fd, listener; /* -1: a probe */
	int clients[NEAP_SHIM_CLIENTS];
	int signal_fd;
	int conn; /* the waiting child's, for the hand; -1 after GO */
	int status_fd;
	int out_fds[2];
	int pid;
	bool is_alive; /* the first process, until it was waited for */
	enum neap_shim_step step;
	struct neap_keeper_event event; /* the last event, as far as it is known */
	char text[NEAP_KEEPER_OUTPUT_MAX + 1];
	int64_t go_until, probe_until; /* monotonic; 0: no limit */
	int64_t kill_at, kill_wait;
	int64_t read_from, read_bytes; /* output in the current time slice */
	struct neap_keeper_output output;
};

/* Receives the order from clients[0], creates the directory, forks the child, and drops
 * root. Returns 0, or -code with the reason; is_made then tells whether the directory is
 * this shim's. */
int neap_shim_start(struct neap_shim *shim, int dir_fd, bool *ret_is_made,
		    struct neap_error *err);
void neap_shim_free(struct neap_shim *shim);

#endif
