/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the parts of the keeper: directories, logs of commands, the child before its
 * exec, the killing of leftovers, and the processes themselves. Private to hw/keeper. */
#ifndef NEAP_HW_KEEPER_KEEPER_PRIV_H
#define NEAP_HW_KEEPER_KEEPER_PRIV_H

#include <sys/socket.h>
#include <sys/un.h>

#include "hw/keeper/wire.h"

#define NEAP_KEEPER_SHIMS_MAX 8192  /* commands and probes at a time, per keeper */
#define NEAP_KEEPER_LINE      16384 /* longer lines are written in parts */

/* --- folder.c: DIR/POD_UID/CONTAINER/ATTEMPT; links are never followed --- */

/* Creates it with its parents; returns the descriptor, or -code: NEAP_EEXISTS when it
 * exists. */
int neap_keeper_folder_make(int dir_fd, const struct neap_keeper_order *order,
			    struct neap_error *err);
/* As O_PATH; NEAP_ENOTFOUND. */
int neap_keeper_folder_open(int dir_fd, const char *pod_uid, const char *container,
			    unsigned attempt, struct neap_error *err);
/* Fills in the address of the socket in it, by descriptor number, because a path may be
 * too long for an address. */
socklen_t neap_keeper_folder_address(int folder_fd, struct sockaddr_un *ret);
/* Allocates the space for the end record in advance, so that a full disk cannot lose
 * it. */
int neap_keeper_record_prepare(int folder_fd, struct neap_error *err);
int neap_keeper_record_write(int folder_fd, const struct neap_keeper_event *event,
			     struct neap_error *err);
/* text as in neap_keeper_event_parse. NEAP_ENOTFOUND: it has not ended yet. */
int neap_keeper_record_read(int folder_fd, char *text, struct neap_keeper_event *ret,
			    struct neap_error *err);
/* Writes the file `start`: who runs, for people and for recovery when a shim is lost. */
void neap_keeper_start_write(int folder_fd, int pid, int64_t started_usec);
void neap_keeper_start_read(int folder_fd, int *ret_pid, int64_t *ret_started_usec);

/* --- output.c: what a command prints, as lines in files of a bounded size --- */

struct neap_keeper_stream {
	char line[NEAP_KEEPER_LINE];
	size_t len;
};

struct neap_keeper_output {
	int folder_fd; /* borrowed; -1: a probe, whose first bytes are kept */
	int fd;
	int64_t size, bytes_max;
	int files_max;
	size_t piece_max;
	uint64_t lost; /* lines dropped since the last one written */
	int lost_errnum;
	struct neap_keeper_stream streams[2]; /* stdout, stderr */
	char kept[NEAP_KEEPER_OUTPUT_MAX + 1];
	size_t kept_len;
};

int neap_keeper_output_init(struct neap_keeper_output *output, int folder_fd,
			    const struct neap_keeper_order *order,
			    struct neap_error *err);
void neap_keeper_output_add(struct neap_keeper_output *output, int stream,
			    const char *bytes, size_t len);
/* Writes the rest without a line feed; the stream has ended. */
void neap_keeper_output_end(struct neap_keeper_output *output, int stream);
void neap_keeper_output_done(struct neap_keeper_output *output);

/* --- child.c: the process that becomes the command --- */

/* The stage at which starting failed. */
enum neap_keeper_stage {
	NEAP_KEEPER_AT_LIMITS,
	NEAP_KEEPER_AT_USER,
	NEAP_KEEPER_AT_FOLDER,
	NEAP_KEEPER_AT_EXEC,
};

struct neap_keeper_failure {
	int32_t stage, errnum;
};

struct neap_keeper_child {
	const struct neap_keeper_config *config;
	const struct neap_keeper_order *order;
	const char *const *envp;    /* of the order, completed */
	struct sockaddr_un address; /* it connects there and waits for GO */
	socklen_t address_len;
	int out_fd, err_fd, status_fd;
	int shim_pid;
};

#define NEAP_KEEPER_GO_BYTE 'g'

/* Runs in the child after the fork; never returns. Sends a struct neap_keeper_failure
 * over status_fd, which exec closes. */
_Noreturn void neap_keeper_child_run(const struct neap_keeper_child *child);

/* --- reap.c --- */

/* Kills all descendants of this process: stops them first so that none forks meanwhile.
 * The caller still waits for them. */
void neap_keeper_descendants_kill(void);

/* --- the processes --- */

/* Sets default handlers, blocks only SIGCHLD, and ignores the usual signals of a terminal
 * or service manager. Returns a descriptor for SIGCHLD, or -code. */
int neap_keeper_signals_set(struct neap_error *err);
_Noreturn void neap_keeper_serve(const struct neap_keeper_config *config, int sock,
				 int dir_fd);
/* channel: to the loop that ordered it. */
_Noreturn void neap_keeper_shim(const struct neap_keeper_config *config, int dir_fd,
				int channel);

#endif
