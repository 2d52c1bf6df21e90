/* SPDX-License-Identifier: Apache-2.0
 *
 * The hand: the only process that writes to the machine. A small child that keeps root
 * while the loop drops it. It receives requests over a socketpair, checks each again
 * against its managed roots and the key table, writes, reads back, and answers with the
 * exact errno. A journal records every value it replaced, so that all of them can be
 * restored, even by a later start after both processes were killed.
 *
 * When its daemon disappears (end of file on the socket), the hand keeps all settings for
 * release_after_usec, so that a successor's hand can take over; then it restores
 * everything, removes the groups it created, and exits. SIGTERM: restores at once and
 * exits. SIGUSR1 from a successor, accepted only after the daemon is gone: exits and
 * leaves everything, with the journal. It runs in its own session, so Ctrl-C on the
 * daemon's terminal does not reach it.
 *
 * While the freeze file exists, nothing is written, moved or restored (except by
 * NEAP_HAND_GIVE_BACK). */
#ifndef NEAP_HW_HAND_HAND_H
#define NEAP_HW_HAND_HAND_H

#include "engine/log/log.h"
#include "engine/machine/plan.h"
#include "hw/cgroup.h"
#include "hw/jail.h"

#define NEAP_HAND_ROOTS_MAX 64
#define NEAP_HAND_OWN_MAX   2

struct neap_hand_config {
	const struct neap_cgroup *cgroup;
	char run_dir[128]; /* "/run/neap": holds hand.lock, hand.journal, freeze */
	/* groups outside of these are refused */
	char roots[NEAP_HAND_ROOTS_MAX][NEAP_PATH_MAX];
	int root_count;
	bool finds_kubelet;    /* its root group is unknown so far and may be searched */
	char kubelet_dir[512]; /* the loop may read its files; "": none */
	/* For a dry run: opens the kubelet's files and refuses all other requests. It
	 * takes neither lock nor journal, so it can run beside another daemon's hand, and
	 * it exits with its daemon. */
	bool only_reads;
	/* Groups are created and removed, and processes moved, only below these; "" is
	 * none. */
	char own_roots[NEAP_HAND_OWN_MAX][NEAP_PATH_MAX];
	int64_t release_after_usec;
	enum neap_weight_curve curve;
	enum neap_jail_mode jail; /* mode of the hand's own system call filter */
	struct neap_log log;
};

enum neap_hand_op {
	NEAP_HAND_SET, /* group, key, value */
	/* group, key: restore the original value and drop its record */
	NEAP_HAND_RESTORE,
	NEAP_HAND_MAKE,   /* group */
	NEAP_HAND_REMOVE, /* group */
	/* group, fd of the peer's connection: move the process at its other end
	 * (SO_PEERCRED) */
	NEAP_HAND_MOVE,
	NEAP_HAND_FREEZE, /* creates the freeze file */
	NEAP_HAND_RESUME, /* removes it */
	/* restore all values, in order, except those of running pods; explicit, so it
	 * works while frozen */
	NEAP_HAND_GIVE_BACK,
	/* answers one ENTRY per journal entry, then itself; EBUSY for a second LIST in
	 * the same packet */
	NEAP_HAND_LIST,
	NEAP_HAND_ENTRY, /* answer only */
	/* group ("" for the node), value in the form of neap_hand_trigger_format; the
	 * answer carries a descriptor */
	NEAP_HAND_TRIGGER,
	/* value: one of neap_kubelet_file_names; the answer carries a descriptor for
	 * reading */
	NEAP_HAND_KUBELET,
	/* group, like MAKE, for a pod; its processes are never moved out. While one is
	 * inside, restoring leaves the group with its limits, see giveback.c */
	NEAP_HAND_MAKE_POD,
	/* finds a kubelet's root group, which is managed from then on; the answer has it
	 * as new_value. ENOENT: none (yet) */
	NEAP_HAND_FIND,
	/* group, key, value: the baseline of a group that neap created, independent of
	 * SET; "" for none. It is restored while the group stays with a running pod. The
	 * answer has the original value as old_value and the baseline as new_value. */
	NEAP_HAND_OWN,
	NEAP_HAND_OP_COUNT
};

struct neap_hand_request {
	uint64_t id; /* chosen by the caller, returned in the answer */
	enum neap_hand_op op;
	const char *group; /* NULL when there is none */
	enum neap_key key;
	/* SET, OWN: kernel text from neap_value_format; TRIGGER, KUBELET */
	const char *value;
	int fd; /* MOVE only */
	/* SET: record this as the original value instead of the present content, for a v1
	 * group that was created with its parent's narrowed CPU set; NULL otherwise.
	 * Checked like a value, and used only if it was the parent's original. */
	const char *found;
};

struct neap_hand_answer {
	uint64_t id;
	enum neap_hand_op op;
	enum neap_key key;
	/* 0 on success; EPERM when the hand itself refuses (text says why); else the
	 * kernel's */
	int errnum;
	int pid; /* MOVE: the moved process */
	const char *group;
	/* SET: text before; ENTRY: the original value; GIVE_BACK: the number of values
	 * that stay with running pods */
	const char *old_value;
	/* SET, RESTORE: text read back; ENTRY: present text; TRIGGER: as in force; FIND:
	 * the group */
	const char *new_value;
	/* Explanation when errnum is set, else ""; TRIGGER: "coarse: why" when the window
	 * had to be enlarged; ENTRY: the group's baseline. */
	const char *text;
	/* TRIGGER: poll for EPOLLPRI, close to end the trigger; KUBELET: read it; owned
	 * by the receiver of the answer. -1 in all others */
	int fd;
};

/* A pressure trigger: fires when tasks stalled stall_usec in total within window_usec. */
struct neap_hand_trigger {
	char pressure[8]; /* "cpu", "memory", "io" */
	bool is_full;     /* all tasks stall, not just some */
	int64_t stall_usec,
		window_usec; /* window 500000 to 10000000, stall 1 to the window */
};

/* Files of a kubelet's directory that may be requested: plain files of at most
 * NEAP_KUBELET_FILE_MAX bytes. */
enum neap_kubelet_file { NEAP_KUBELET_STATE, NEAP_KUBELET_CONFIG, NEAP_KUBELET_FILES };
#define NEAP_KUBELET_FILE_MAX (1 << 20)
extern const char *const neap_kubelet_file_names[NEAP_KUBELET_FILES];

#define NEAP_HAND_TRIGGER_TEXT 48
/* Writes "cpu some 20000 500000". buf has NEAP_HAND_TRIGGER_TEXT bytes. NEAP_EINVAL when
 * out of range. */
int neap_hand_trigger_format(const struct neap_hand_trigger *trigger, char *buf,
			     size_t size, struct neap_error *err);
/* Accepts exactly what format writes. */
int neap_hand_trigger_parse(const char *text, struct neap_hand_trigger *ret,
			    struct neap_error *err);

struct neap_hand;

/* Forks the hand; call it as root, before any thread or socket exists. Takes over from a
 * hand left by a dead daemon, with its journal. Returns when the hand is ready, or why it
 * is not: NEAP_ECONFLICT when another daemon's hand is at work. */
int neap_hand_start(const struct neap_hand_config *config, struct neap_hand **ret,
		    struct neap_error *err);
/* Closes the socket, which starts the hand's release timer. */
void neap_hand_free(struct neap_hand *hand);
/* Returns a non-blocking descriptor for poll: readable when answers wait, hung up when
 * the hand died. */
int neap_hand_fd(const struct neap_hand *hand);
int neap_hand_pid(const struct neap_hand *hand);
/* Returns the Landlock version that confines it, 0 for none. */
int neap_hand_landlock(const struct neap_hand *hand);
/* Queues a copy of the request; fd is duplicated when it is sent. Requests are executed
 * in order. */
int neap_hand_add(struct neap_hand *hand, const struct neap_hand_request *request,
		  struct neap_error *err);
/* Sends queued requests. Returns 1 when all are sent; 0 when the socket is full (poll for
 * writing); -code when the hand is gone. */
int neap_hand_flush(struct neap_hand *hand, struct neap_error *err);
/* Returns the next answer, with pointers valid until the next call: 1; 0 when none waits;
 * -code when the hand is gone. */
int neap_hand_next(struct neap_hand *hand, struct neap_hand_answer *ret,
		   struct neap_error *err);

/* Without a daemon, as root: restores what the journal in run_dir holds. An orphaned hand
 * is asked to do it and waited for. Returns the number of restored values. Groups of
 * running pods keep their limits; a log line says so, and that is not an error. */
int neap_hand_give_back(const struct neap_hand_config *config, struct neap_error *err);
/* Without a daemon, as root: if no hand is at work, starts one without a daemon, which
 * restores what the journal holds after release_after_usec unless a successor comes. Does
 * not wait for that. Returns 1 when one was started, 0 when one is at work or run_dir
 * does not exist. */
int neap_hand_stand_in(const struct neap_hand_config *config, struct neap_error *err);

#endif
