/* SPDX-License-Identifier: Apache-2.0
 *
 * The keeper: what starts the commands of pods and tells how they end. The loop can neither fork nor exec, and
 * the hand must not; so a third process, forked at the start like the hand, does that and nothing else.
 *
 * Each command has a shim of its own, the parent of its processes: it waits for them, writes what they print
 * into bounded files, remembers how they ended, and ends what they left behind. Shims live on when neapd dies;
 * a later neapd finds them by the folder that each has (DIR/POD_UID/CONTAINER/ATTEMPT). A shim runs as the
 * loop's user and keeps nothing of root but the right to send signals; a command runs as the user for pods,
 * with no_new_privs, no capability, no terminal, and a small set of open files.
 *
 * A command waits, before it becomes what it is to be, until its process was moved into its groups: WAITING
 * brings a connection for NEAP_HAND_MOVE, neap_keeper_go lets it run. Whatever it forks lies in its groups. */
#ifndef NEAP_HW_KEEPER_KEEPER_H
#define NEAP_HW_KEEPER_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/base/error.h"
#include "engine/base/log.h"

/* Bytes of arguments and environment together, with a NUL each. */
#define NEAP_KEEPER_TEXT_MAX   (256 * 1024)
#define NEAP_KEEPER_STRINGS    4096 /* arguments and variables together */
#define NEAP_KEEPER_OUTPUT_MAX 4096 /* what is kept of a probe's output */

struct neap_keeper_config {
	uid_t uid; /* of commands; never 0, nor own_uid */
	gid_t gid; /* never 0 */
	/* USER and HOME where the order's environment lacks them; home is the default working directory ("/"
	 * when it is not there). */
	char user[64], home[256];
	uid_t own_uid; /* of shims and of what they write: the loop's */
	gid_t own_gid;
	char dir[160]; /* DATA_DIR/pods; made, and given to own_uid, if it is missing; else it is own_uid's */
	struct neap_log log;
};

struct neap_keeper_order {
	const char *
		pod_uid; /* A-Z a-z 0-9 - . _, begins with a letter or digit; 127 bytes at most */
	const char *container; /* a DNS label */
	unsigned attempt;      /* 0 for the first start */
	/* NULL ends. argv[0] is looked up in PATH of envp (or in the usual folders) if it has no slash. */
	const char *const *argv;
	const char *const *envp; /* "NAME=VALUE", NULL ends; NULL: none */
	const char *cwd;         /* absolute; NULL: the user's home */
	int64_t open_files_max;  /* RLIMIT_NOFILE, 1 Mi at most; 0: 1024 */
	int64_t log_bytes_max; /* of one file (at least 4096); then it becomes log.1, and so on */
	int log_files_max; /* 1 and more */
	/* A probe: nothing is written, the first NEAP_KEEPER_OUTPUT_MAX bytes of output come with ENDED,
	 * and everything is killed after so long. 0: no probe. Its folder is not made, it ends with the
	 * connection to the loop, and nobody can attach to it. */
	int64_t probe_usec;
};

enum neap_keeper_what {
	NEAP_KEEPER_WAITING, /* pid, fd: the connection for NEAP_HAND_MOVE; belongs to the taker */
	NEAP_KEEPER_STARTED, /* the command runs: pid, started_usec */
	/* It could not be started: errnum, text (exec: "x": executable file not found in $PATH). EEXIST: this
	 * attempt was ordered before; nothing is ever started twice. */
	NEAP_KEEPER_FAILED,
	NEAP_KEEPER_ENDED, /* it and all it left are gone: exit_code or signo, ended_usec; of probes text */
	/* Its shim is gone and nobody knows how it ended. errnum ENOENT: it was never started. */
	NEAP_KEEPER_LOST,
};

struct neap_keeper_event {
	uint64_t id;
	enum neap_keeper_what what;
	int pid;         /* of the first process, in its own session */
	int exit_code;   /* 0 to 255; 128 + signo when a signal ended it */
	int signo;       /* 0: none */
	bool is_timeout; /* a probe that was killed for its time */
	int64_t started_usec, ended_usec; /* Unix */
	int errnum;
	const char *text; /* valid until the next neap_keeper_next; never NULL */
	int fd;           /* -1 but of WAITING */
};

struct neap_keeper;

/* Forks the keeper; as root, with the capabilities kill, setgid, setuid and setpcap, before any thread or socket,
 * and before neap_jail_bound. Waits until it is ready. Says why not. */
int neap_keeper_start(const struct neap_keeper_config *config, struct neap_keeper **ret,
		      struct neap_error *err);
/* The keeper ends; shims and commands go on. NULL is fine. */
void neap_keeper_free(struct neap_keeper *keeper);
int neap_keeper_pid(const struct neap_keeper *keeper);
/* For poll: readable when neap_keeper_next has something to give, also after the keeper died. */
int neap_keeper_fd(const struct neap_keeper *keeper);

/* All of these queue and copy, and are answered by events under id, which is the caller's to choose. FAILED,
 * ENDED and LOST are the last event of an id, which is free again then. Errors: NEAP_EINVAL (what is wrong with
 * the order, or the id is in use), NEAP_EUNAVAILABLE when the keeper is gone, NEAP_ENOMEM. */
int neap_keeper_run(struct neap_keeper *keeper, uint64_t id,
		    const struct neap_keeper_order *order, struct neap_error *err);
/* After WAITING: it was moved. Who waits and has no loop any more is ended after 60 s. Nothing happens when it
 * has ended, or was let go before. */
int neap_keeper_go(struct neap_keeper *keeper, uint64_t id, struct neap_error *err);
/* signo (1 to 64) to the command's first process; SIGKILL: to all that it left, too, also before GO (which FAILED
 * then tells, with ECANCELED). Nothing happens when it has ended. */
int neap_keeper_signal(struct neap_keeper *keeper, uint64_t id, int signo,
		       struct neap_error *err);
/* What an earlier neapd started: WAITING, STARTED, FAILED, ENDED or LOST says how it stands, later events follow.
 * Works also when this keeper is gone. Errors besides: NEAP_ESYS, NEAP_EUNAVAILABLE: it cannot be told now. */
int neap_keeper_attach(struct neap_keeper *keeper, uint64_t id, const char *pod_uid,
		       const char *container, unsigned attempt, struct neap_error *err);
/* Nothing more is told under this id; what runs goes on, but for a probe. What was not started yet never is. */
void neap_keeper_forget(struct neap_keeper *keeper, uint64_t id);

/* 1: *ret is the next event; 0: none now; -NEAP_EUNAVAILABLE, from then on in place of 0: the keeper is gone:
 * nothing can be started any more, what runs is still told of. */
int neap_keeper_next(struct neap_keeper *keeper, struct neap_keeper_event *ret,
		     struct neap_error *err);

/* What lies in DIR/POD_UID/CONTAINER/ATTEMPT, of own_uid, modes 0750 and 0640:
 *   log, log.1, ...  what it printed, the newest in log; lines "2026-11-22T00:00:00.000000000Z stdout F TEXT" (P
 *                    for a part of a line: one of more than 16 KiB, or the last one without a line feed)
 *   start, exit      who ran, how it ended, as text
 *   sock             where its shim listens
 * Nothing here is ever removed: that is for whoever knows that nobody needs it any more, after the last event. */

#endif
