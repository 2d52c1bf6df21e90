/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of the hand. All of it runs in the hand's own process (or in that
 * of neap_hand_give_back), never in the loop. */
#ifndef NEAP_HW_HAND_HAND_PRIV_H
#define NEAP_HW_HAND_HAND_PRIV_H

#include "hw/hand/hand.h"
#include "hw/hand/journal.h"
#include "hw/hand/wire.h"

#define NEAP_HAND_FILES_MAX    512 /* open descriptors of kernel files */
#define NEAP_HAND_TAKEOVER_SEC 3   /* how long a successor waits for the lock */
#define NEAP_HAND_START_SEC    5   /* how long the daemon waits for its hand */

/* An open kernel file. */
struct neap_hand_file {
	char group[NEAP_PATH_MAX];
	enum neap_key key;
	int fd;
	uint64_t dev, ino; /* of the group's directory */
	uint64_t used;     /* sequence number of the last use */
};

struct neap_hand_files {
	const struct neap_cgroup *cgroup;
	struct neap_hand_file *file; /* NEAP_HAND_FILES_MAX of them */
	uint32_t *hash;              /* of each file, packed for searching */
	int count;
	int last; /* index of the last hit, or out of range */
	uint64_t uses;
};

struct neap_hand_packet {
	struct neap_hand_packet *next;
	int fd; /* sent with the packet and then closed; -1: none */
	size_t len;
	unsigned char data[];
};

struct neap_hand_server {
	struct neap_hand_config config;
	struct neap_log log;
	int sock; /* -1 once the daemon is gone, and in neap_hand_give_back */
	int run_dir_fd;
	int lock_fd;
	int signal_fd;
	int daemon_pid; /* 0 in neap_hand_give_back */
	int daemon_fd;  /* pidfd of the daemon, -1 without one */
	int kubelet_fd; /* the kubelet's directory, -1 while it does not exist */
	/* directory where it will be created, -1 when it existed at the start */
	int kubelet_place_fd;
	struct neap_journal *journal;
	struct neap_hand_files files;
	struct neap_plan *plan;
	struct neap_hand_packet *out, **out_end; /* answers that wait */
	unsigned char gather[NEAP_WIRE_MAX];     /* answers to the current packet */
	size_t gathered;
	bool is_frozen;  /* checked once per packet */
	bool has_listed; /* in the current packet */
	/* Space for one answer. */
	char old_value[NEAP_CPUSET_TEXT], new_value[NEAP_CPUSET_TEXT];
	char scratch[NEAP_CPUSET_TEXT];
	struct neap_value value;
	char text[NEAP_WIRE_TEXT];
};

/* files.c: reads and writes through open descriptors. All return 0 or an errno; ENOENT:
 * the group is gone; EOPNOTSUPP: the group exists without such a file. */
int neap_hand_files_init(struct neap_hand_files *files, const struct neap_cgroup *cgroup,
			 struct neap_error *err);
void neap_hand_files_done(struct neap_hand_files *files);
/* Returns the text without newlines, and the group's present identity. buf has
 * NEAP_CPUSET_TEXT bytes. */
int neap_hand_file_read(struct neap_hand_files *files, const char *group,
			enum neap_key key, char *buf, uint64_t *ret_dev,
			uint64_t *ret_ino);
/* Writes only if the group still has this dev and ino (otherwise ENOENT). */
int neap_hand_file_write(struct neap_hand_files *files, const char *group,
			 enum neap_key key, uint64_t dev, uint64_t ino, const char *text);
/* Closes the descriptors of a group. */
void neap_hand_files_forget(struct neap_hand_files *files, const char *group);

/* apply.c */
/* Returns whether group is a safe name at or below one of the managed roots. */
bool neap_hand_is_managed(const struct neap_hand_server *server, const char *group);
/* Returns which of neap's own root groups is or contains it; NULL: none. */
const char *neap_hand_own_root(const struct neap_hand_config *config, const char *group);
bool neap_hand_is_frozen(const struct neap_hand_server *server);
void neap_hand_apply_set(struct neap_hand_server *server,
			 const struct neap_hand_request *request,
			 struct neap_hand_answer *answer);
void neap_hand_apply_own(struct neap_hand_server *server,
			 const struct neap_hand_request *request,
			 struct neap_hand_answer *answer);
void neap_hand_apply_restore(struct neap_hand_server *server,
			     const struct neap_hand_request *request,
			     struct neap_hand_answer *answer);
/* Restores an entry to neap_journal_back. Returns 0 when done or gone (*ret_gone tells),
 * and the entry is dropped, or marked as restored where it stays; else the kernel's
 * errno. */
int neap_hand_entry_restore(struct neap_hand_server *server, int index, bool *ret_gone);
/* Returns what to write so that the kernel shows text again. */
const char *neap_hand_text_back(enum neap_key key, bool v2, const char *text);
/* Sets errnum and text (cut) of an answer. */
void neap_hand_refuse(struct neap_hand_server *server, struct neap_hand_answer *answer,
		      int errnum, const char *fmt, ...) NEAP_PRINTF(4, 5);

/* Returns the errno for an error that may have none of its own. */
int neap_hand_errnum(const struct neap_error *err);

/* group.c */
void neap_hand_group_make(struct neap_hand_server *server,
			  const struct neap_hand_request *request,
			  struct neap_hand_answer *answer);
void neap_hand_group_remove(struct neap_hand_server *server,
			    const struct neap_hand_request *request,
			    struct neap_hand_answer *answer);
void neap_hand_group_move(struct neap_hand_server *server,
			  const struct neap_hand_request *request,
			  struct neap_hand_answer *answer);
/* Moves processes out of the groups that neap created and removes the groups, deepest
 * first, except those of running pods and their parents. Returns how many others remain;
 * each is logged. */
int neap_hand_groups_undo(struct neap_hand_server *server);

/* Removes groups of neap's own that are missing in some hierarchies, because no scan of
 * the loop would find them. */
void neap_hand_groups_tidy(struct neap_hand_server *server);

/* trigger.c: the descriptor is in the answer and closed after sending. */
void neap_hand_trigger_open(struct neap_hand_server *server,
			    const struct neap_hand_request *request,
			    struct neap_hand_answer *answer);

/* kubelet.c */
/* Opens the directory, or its nearest existing parent; call before neap_hand_confine. */
void neap_hand_kubelet_find(struct neap_hand_server *server);
/* Searches for the group of a kubelet that did not exist at the start. */
void neap_hand_kubelet_group(struct neap_hand_server *server,
			     struct neap_hand_answer *answer);
/* Returns the file open for reading, which the caller closes; -1: cannot be read. */
int neap_hand_kubelet_file(struct neap_hand_server *server, enum neap_kubelet_file file);
/* The descriptor is in the answer and closed after sending. */
void neap_hand_kubelet_open(struct neap_hand_server *server,
			    const struct neap_hand_request *request,
			    struct neap_hand_answer *answer);

/* out.c */
/* Adds an answer to the packet. Takes over its descriptor; such an answer gets its own
 * packet. */
void neap_hand_out_add(struct neap_hand_server *server,
		       const struct neap_hand_answer *answer);
/* Turns the gathered answers into a packet for the daemon. Takes over fd (-1: none),
 * which is sent with it. */
void neap_hand_out_close(struct neap_hand_server *server, int fd);
/* Sends as much as the socket accepts. */
void neap_hand_out_flush(struct neap_hand_server *server);
/* Drops the first packet. */
void neap_hand_out_drop(struct neap_hand_server *server);

/* giveback.c: restores all values in an order the kernel accepts; values of remaining
 * groups go to their baseline. Returns how many went back to the original; *ret_left
 * failed and are logged by name. Vanished groups count as neither. */
int neap_hand_values_undo(struct neap_hand_server *server, int *ret_left);

/* Marks in memory which groups and values stay: those of running pods. */
void neap_hand_stay_look(struct neap_hand_server *server);
/* Logs how many groups of pods stay, if any, and what ends them. Returns how many values
 * stay. */
int neap_hand_stay_tell(struct neap_hand_server *server);

/* takeover.c */
int neap_hand_run_dir_open(const char *path, bool make, struct neap_error *err);
/* Takes the lock of the run directory, if needed from an orphaned hand. Returns the
 * descriptor; NEAP_ECONFLICT when a hand whose daemon lives holds it. */
int neap_hand_lock(int run_dir_fd, const struct neap_log *log, struct neap_error *err);
/* Returns whether a hand is at work there, with or without a living daemon. */
bool neap_hand_is_held(int run_dir_fd);
int64_t neap_hand_now_usec(void); /* CLOCK_BOOTTIME: a suspended machine counts */

/* confine.c */
/* Drops every privilege the hand does not need; call with lock and journal open. Returns
 * the Landlock version, 0 without; a missing kernel feature is not an error. */
int neap_hand_confine(struct neap_hand_server *server, struct neap_error *err);
/* Returns a pidfd of the daemon, -1 where the kernel has none. */
int neap_hand_daemon_watch(int pid);
/* Called when the socket is closed: logs the signal that killed the daemon, if there was
 * one and the kernel reports it. */
void neap_hand_daemon_end(const struct neap_hand_server *server);

/* serve.c */
int neap_hand_server_new(const struct neap_hand_config *config,
			 struct neap_hand_server **ret, struct neap_error *err);
/* Opens run directory, lock and journal. */
int neap_hand_server_open(struct neap_hand_server *server, bool make,
			  struct neap_error *err);
void neap_hand_server_free(struct neap_hand_server *server);
/* Receives at most one packet, executes it, and queues the answers. Returns false when
 * there was none. */
bool neap_hand_packet_take(struct neap_hand_server *server);
/* The child process: never returns. */
void neap_hand_serve(const struct neap_hand_config *config, int sock, int daemon_pid)
	__attribute__((noreturn));

#endif
