/* SPDX-License-Identifier: Apache-2.0
 *
 * The hand: the only writer. A small child process that keeps root while the loop gives it up. It
 * takes requests over a socketpair, checks each again against its managed roots and the key table,
 * writes, reads back, answers with the exact errno. It keeps a journal of every value it replaced,
 * so that everything can be given back, also by a later start after both processes were killed.
 *
 * When its daemon goes away (end of file on the socket) the hand keeps all settings (if there are
 * any) for release_after_usec, so that a successor's hand can take over; then it gives everything back,
 * removes the groups it made, and ends. SIGTERM: gives back at once and ends. SIGUSR1 by a successor,
 * accepted only once the daemon is gone: ends and leaves everything as it is, with its journal. It runs
 * in a session of its own, so that Ctrl-C on the daemon's terminal does not reach it.
 *
 * While the freeze file exists nothing is written, moved or given back (but see NEAP_HAND_GIVE_BACK). */
#ifndef NEAP_HW_HAND_HAND_H
#define NEAP_HW_HAND_HAND_H

#include "engine/base/log.h"
#include "engine/machine/plan.h"
#include "hw/cgroup.h"
#include "hw/jail.h"

#define NEAP_HAND_ROOTS_MAX 64
#define NEAP_HAND_OWN_MAX   2

struct neap_hand_config {
	const struct neap_cgroup *cgroup;
	char run_dir[128]; /* "/run/neap": holds hand.lock, hand.journal, freeze */
	char roots[NEAP_HAND_ROOTS_MAX][NEAP_PATH_MAX]; /* groups outside are refused */
	int root_count;
	bool finds_kubelet; /* its root group is not known yet, and may be looked for */
	char kubelet_dir[512]; /* whose files the loop may be shown; "": none */
	/* Of a dry run: opens the kubelet's files and refuses all else. It takes
	 * neither lock nor journal, so it may run beside another daemon's hand, and
	 * ends with its daemon. */
	bool only_reads;
	/* Groups are made, removed and processes moved only below these; "" is none. */
	char own_roots[NEAP_HAND_OWN_MAX][NEAP_PATH_MAX];
	int64_t release_after_usec;
	enum neap_weight_curve curve;
	enum neap_jail_mode jail; /* of the hand's own filter of system calls */
	struct neap_log log;
};

enum neap_hand_op {
	NEAP_HAND_SET,     /* group, key, value */
	NEAP_HAND_RESTORE, /* group, key: back to the value found at first, and forget it */
	NEAP_HAND_MAKE,    /* group */
	NEAP_HAND_REMOVE, /* group */
	NEAP_HAND_MOVE, /* group, fd of the peer's connection: the process at its other end (SO_PEERCRED) */
	NEAP_HAND_FREEZE, /* makes the freeze file */
	NEAP_HAND_RESUME, /* removes it */
	NEAP_HAND_GIVE_BACK, /* all values back, in order, but those of pods that run; explicit, so it
				works while frozen */
	NEAP_HAND_LIST,  /* answers one ENTRY per journal entry, then itself; EBUSY when
			    another one came in the same packet */
	NEAP_HAND_ENTRY, /* answer only */
	NEAP_HAND_TRIGGER, /* group ("" for the node), value as neap_hand_trigger_format gives it;
			      the answer brings a descriptor */
	NEAP_HAND_KUBELET, /* value: neap_kubelet_file_name; the answer brings a descriptor for reading */
	NEAP_HAND_MAKE_POD, /* group, as MAKE: of a pod, whose processes are never moved out of it. While
			       one is inside, giving back leaves it with its limits, see stay.c */
	NEAP_HAND_FIND, /* looks for a kubelet's root group, which is managed from then on; the answer
			   has it as new_value. ENOENT: there is none (yet) */
	/* group, key, value: what a group of neap's own has by itself, whatever SET
	 * writes; "" for nothing. It is given back while the group stays with a pod that
	 * runs. The answer has what was found as old_value, and this as new_value. */
	NEAP_HAND_OWN,
	NEAP_HAND_OP_COUNT
};

struct neap_hand_request {
	uint64_t id; /* chosen by the caller, comes back in the answer */
	enum neap_hand_op op;
	const char *group; /* NULL where there is none */
	enum neap_key key;
	/* SET, OWN: kernel text as neap_value_format gives it; TRIGGER, KUBELET */
	const char *value;
	int fd; /* MOVE only */
	/* SET: what to note as found at first instead of what the file holds now, for a v1 group
	 * that was made with a narrowed CPU set of its parent; NULL otherwise. Checked like a
	 * value, and taken only if the parent had it at first. */
	const char *found;
};

struct neap_hand_answer {
	uint64_t id;
	enum neap_hand_op op;
	enum neap_key key;
	int errnum; /* 0 done; EPERM refused by the hand itself, text says why; else the kernel's */
	int pid; /* MOVE: the process moved */
	const char *group;
	const char *
		old_value; /* SET: text before; ENTRY: the value found at first; GIVE_BACK: how
				  many values stay with pods that run */
	const char *
		new_value; /* SET, RESTORE: text read back; ENTRY: text now; TRIGGER: as it is
				  in force; FIND: the group */
	/* Explanation when errnum is set, "" else; TRIGGER: "coarse: why" when the window
	 * had to become larger; ENTRY: what the group has by itself. */
	const char *text;
	int fd; /* TRIGGER: poll it for EPOLLPRI, close it to end the trigger; KUBELET: read it; belongs
		   to who takes the answer. -1 in all others */
};

/* A pressure trigger: tasks waited stall_usec in all within the last window_usec. */
struct neap_hand_trigger {
	char pressure[8]; /* "cpu", "memory", "io" */
	bool is_full;     /* all tasks wait, not only some */
	int64_t stall_usec,
		window_usec; /* window 500000 to 10000000, stall 1 to the window */
};

/* What of a kubelet's folder may be asked for: plain files of at most NEAP_KUBELET_FILE_MAX bytes. */
enum neap_kubelet_file { NEAP_KUBELET_STATE, NEAP_KUBELET_CONFIG, NEAP_KUBELET_FILES };
#define NEAP_KUBELET_FILE_MAX (1 << 20)
/* "cpu_manager_state" */
const char *neap_kubelet_file_name(enum neap_kubelet_file file);

#define NEAP_HAND_TRIGGER_TEXT 48
/* "cpu some 20000 500000". buf of NEAP_HAND_TRIGGER_TEXT bytes. NEAP_EINVAL out of range. */
int neap_hand_trigger_format(const struct neap_hand_trigger *trigger, char *buf,
			     size_t size, struct neap_error *err);
/* Takes nothing but what format writes. */
int neap_hand_trigger_parse(const char *text, struct neap_hand_trigger *ret,
			    struct neap_error *err);

struct neap_hand;

/* Forks the hand; call before any thread or socket exists, as root. Takes over from a hand left by
 * a dead daemon, and takes up its journal. Comes back when the hand is ready (or says why not:
 * NEAP_ECONFLICT when another daemon's hand is at work). */
int neap_hand_start(const struct neap_hand_config *config, struct neap_hand **ret,
		    struct neap_error *err);
/* Closes the socket: the dead man's switch starts. */
void neap_hand_free(struct neap_hand *hand);
/* Non-blocking descriptor for poll; readable when answers wait, hangs up when the hand died. */
int neap_hand_fd(const struct neap_hand *hand);
int neap_hand_pid(const struct neap_hand *hand);
/* The version of Landlock that confines it, 0 for none. */
int neap_hand_landlock(const struct neap_hand *hand);
/* Queues; copies everything. fd is duplicated at the send. Requests are done in order. */
int neap_hand_add(struct neap_hand *hand, const struct neap_hand_request *request,
		  struct neap_error *err);
/* Sends what is queued. 1: all sent; 0: the socket is full, poll for writing; -code: the hand is gone. */
int neap_hand_flush(struct neap_hand *hand, struct neap_error *err);
/* Next answer; pointers are valid until the next call. 1, 0 none waits, -code the hand is gone. */
int neap_hand_next(struct neap_hand *hand, struct neap_hand_answer *ret,
		   struct neap_error *err);

/* Without a daemon, as root: gives back what the journal in run_dir holds. If an orphaned hand is at
 * work it is told to do so and waited for. Returns how many values were given back. Groups of pods that
 * run stay with their limits, which a line of the log tells; that is no error. */
int neap_hand_give_back(const struct neap_hand_config *config, struct neap_error *err);
/* Without a daemon, as root: where no hand is at work, one is started that has no daemon either, so that
 * what the journal holds is given back after release_after_usec unless a successor comes. Does not
 * wait for that. 1 when one was started, 0 when there is one already or never was. */
int neap_hand_stand_in(const struct neap_hand_config *config, struct neap_error *err);

#endif
