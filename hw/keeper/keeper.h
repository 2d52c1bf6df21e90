/* SPDX-License-Identifier: Apache-2.0
 *
 * The keeper: starts the commands of pods and reports how they end. The loop can neither
 * fork nor exec, and the hand must not, so a third process, forked at the start like the
 * hand, does exactly that.
 *
 * Each command has a shim, the parent of its processes: it waits for them, writes their
 * output into bounded files, records how they ended, and kills what they leave behind.
 * Shims survive neapd; a later neapd finds them by their directories
 * (DIR/POD_UID/CONTAINER/ATTEMPT). A shim runs as the loop's user and keeps only the
 * right to send signals; a command runs as the user for pods, with no_new_privs, no
 * capabilities, no terminal, and a small set of open files.
 *
 * A command waits before its exec until its process was moved into its groups: WAITING
 * carries a connection for NEAP_HAND_MOVE, and neap_keeper_go lets it run. So everything
 * it forks is in its groups. */
#ifndef NEAP_HW_KEEPER_KEEPER_H
#define NEAP_HW_KEEPER_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/base/error.h"
#include "engine/log/log.h"

/* Bytes of arguments and environment together, including NULs. */
#define NEAP_KEEPER_TEXT_MAX   (256 * 1024)
#define NEAP_KEEPER_STRINGS    4096 /* arguments and variables together */
#define NEAP_KEEPER_OUTPUT_MAX 4096 /* bytes of a probe's output that are kept */

struct neap_keeper_config {
	uid_t uid; /* of commands; never 0 or own_uid */
	gid_t gid; /* never 0 */
	/* USER and HOME if the order's environment lacks them; home is the default
	 * working directory ("/" if it does not exist). */
	char user[64], home[256];
	uid_t own_uid; /* of shims and their files: the loop's user */
	gid_t own_gid;
	/* DATA_DIR/pods; created for own_uid if missing, else it must belong to
	 * own_uid */
	char dir[160];
	struct neap_log log;
};

struct neap_keeper_order {
	/* A-Z a-z 0-9 - . _, starts with a letter or digit; at most 127 bytes */
	const char *pod_uid;
	const char *container; /* a DNS label */
	unsigned attempt;      /* 0 for the first start */
	/* NULL-terminated. Without a slash, argv[0] is searched in PATH of envp (or in
	 * the usual directories). */
	const char *const *argv;
	const char *const *envp; /* "NAME=VALUE", NULL-terminated; NULL: none */
	const char *cwd;         /* absolute; NULL: the user's home */
	int64_t open_files_max;  /* RLIMIT_NOFILE, at most 1 Mi; 0: 1024 */
	/* size of one file (at least 4096); then it is renamed to log.1, and so on */
	int64_t log_bytes_max;
	int log_files_max; /* 1 and more */
	/* Makes it a probe: nothing is written to disk, the first NEAP_KEEPER_OUTPUT_MAX
	 * bytes of output come with ENDED, and everything is killed after this time. 0:
	 * not a probe. A probe has no directory, ends with the connection to the loop,
	 * and cannot be attached to. */
	int64_t probe_usec;
};

enum neap_keeper_what {
	/* pid, fd: the connection for NEAP_HAND_MOVE, owned by the receiver */
	NEAP_KEEPER_WAITING,
	NEAP_KEEPER_STARTED, /* the command runs: pid, started_usec */
	/* It could not be started: errnum, text (exec: "x": executable file not found in
	 * $PATH). EEXIST: this attempt was ordered before; nothing is ever started
	 * twice. */
	NEAP_KEEPER_FAILED,
	/* it and its leftovers are gone: exit_code or signo, ended_usec; for probes
	 * text */
	NEAP_KEEPER_ENDED,
	/* Its shim is gone, and how it ended is unknown. errnum ENOENT: it was never
	 * started. */
	NEAP_KEEPER_LOST,
};

struct neap_keeper_event {
	uint64_t id;
	enum neap_keeper_what what;
	int pid;         /* of the first process, which leads its own session */
	int exit_code;   /* 0 to 255; 128 + signo after a signal */
	int signo;       /* 0: none */
	bool is_timeout; /* a probe killed by its time limit */
	int64_t started_usec, ended_usec; /* Unix */
	int errnum;
	const char *text; /* valid until the next neap_keeper_next; never NULL */
	int fd;           /* -1 except in WAITING */
};

struct neap_keeper;

/* Forks the keeper; call it as root with the capabilities kill, setgid, setuid and
 * setpcap, before any thread or socket and before neap_jail_bound. Returns when the
 * keeper is ready, or why it is not. */
int neap_keeper_start(const struct neap_keeper_config *config, struct neap_keeper **ret,
		      struct neap_error *err);
/* Ends the keeper; shims and commands go on. Accepts NULL. */
void neap_keeper_free(struct neap_keeper *keeper);
int neap_keeper_pid(const struct neap_keeper *keeper);
/* For poll: readable when neap_keeper_next has an event, even after the keeper died. */
int neap_keeper_fd(const struct neap_keeper *keeper);

/* The functions below queue a copy and are answered by events under id, which the caller
 * chooses. FAILED, ENDED and LOST are the last event of an id, which is then free again.
 * NEAP_EINVAL: what is wrong with the order, or that the id is in use; NEAP_EUNAVAILABLE:
 * the keeper is gone; NEAP_ENOMEM. */
int neap_keeper_run(struct neap_keeper *keeper, uint64_t id,
		    const struct neap_keeper_order *order, struct neap_error *err);
/* Call after WAITING, when the process was moved. A waiting process without a loop is
 * ended after 60 s. Does nothing when it has ended or was released before. */
int neap_keeper_go(struct neap_keeper *keeper, uint64_t id, struct neap_error *err);
/* Sends signo (1 to 64) to the command's first process; SIGKILL goes to everything it
 * left too, and works before GO (answered by FAILED with ECANCELED). Does nothing when it
 * has ended. */
int neap_keeper_signal(struct neap_keeper *keeper, uint64_t id, int signo,
		       struct neap_error *err);
/* Attaches to a command of an earlier neapd: WAITING, STARTED, FAILED, ENDED or LOST
 * reports its state, and later events follow. Works even when this keeper is gone. More
 * errors: NEAP_ESYS, NEAP_EUNAVAILABLE: the state cannot be read now. */
int neap_keeper_attach(struct neap_keeper *keeper, uint64_t id, const char *pod_uid,
		       const char *container, unsigned attempt, struct neap_error *err);
/* Stops events for this id; the command goes on, unless it is a probe. A command that was
 * not started yet never starts. */
void neap_keeper_forget(struct neap_keeper *keeper, uint64_t id);

/* Returns 1 with the next event; 0 when there is none; -NEAP_EUNAVAILABLE instead of 0
 * once the keeper is gone: nothing can be started any more, but running commands are
 * still reported. */
int neap_keeper_next(struct neap_keeper *keeper, struct neap_keeper_event *ret,
		     struct neap_error *err);

/* Files in DIR/POD_UID/CONTAINER/ATTEMPT, owned by own_uid, modes 0750 and 0640:
 *   log, log.1, ...  its output, the newest in log, as lines of the form
 *                    2026-11-22T00:00:00.000000000Z stdout F TEXT
 *                    (P for a part of a line longer than 16 KiB, and for a last line
 *                    without a line feed)
 *   start, exit      who ran, how it ended, as text
 *   sock             where its shim listens
 * The keeper never removes them. After the last event, the code that knows they are no
 * longer needed does. */

#endif
