/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the hand share. All of it runs in the hand's own process (or in that of
 * neap_hand_give_back), never in the loop. */
#ifndef NEAP_HW_HAND_HAND_PRIV_H
#define NEAP_HW_HAND_HAND_PRIV_H

#include "hw/hand/hand.h"
#include "hw/hand/journal.h"
#include "hw/hand/wire.h"

#define NEAP_HAND_FILES_MAX    512 /* kept descriptors of kernel files */
#define NEAP_HAND_TAKEOVER_SEC 3   /* how long a successor waits for the lock */
#define NEAP_HAND_START_SEC    5   /* how long the daemon waits for its hand */

/* A kernel file that stays open. */
struct neap_hand_file {
	char group[NEAP_PATH_MAX];
	enum neap_key key;
	int fd;
	uint64_t dev, ino; /* of the group's directory */
	uint64_t used;     /* running number of the last use */
};

struct neap_hand_files {
	const struct neap_cgroup *cgroup;
	struct neap_hand_file *file; /* NEAP_HAND_FILES_MAX of them */
	uint32_t *hash;              /* of each file, side by side for the search */
	int count;
	int last; /* index of the file found last, or more than there are */
	uint64_t uses;
};

struct neap_hand_packet {
	struct neap_hand_packet *next;
	int fd; /* goes with it and is closed then; -1 without one */
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
	int daemon_pid;       /* 0 in neap_hand_give_back */
	int daemon_fd;        /* pidfd of the daemon, -1 without one */
	int kubelet_fd;       /* the kubelet's folder, -1 as long as it is not there */
	int kubelet_place_fd; /* where it will lie, -1 once it was there at the start */
	struct neap_journal *journal;
	struct neap_hand_files files;
	struct neap_plan *plan;
	struct neap_hand_packet *out, **out_end; /* answers that wait */
	unsigned char gather[NEAP_WIRE_MAX];     /* answers to the packet at hand */
	size_t gathered;
	bool is_frozen;  /* looked at once a packet */
	bool has_listed; /* in the packet at hand */
	/* Room for one answer. */
	char old_value[NEAP_CPUSET_TEXT], new_value[NEAP_CPUSET_TEXT];
	char scratch[NEAP_CPUSET_TEXT];
	struct neap_value value;
	char text[NEAP_WIRE_TEXT];
};

/* files.c: reading and writing through kept descriptors. All return 0 or an errno; ENOENT means
 * that the group is gone, EOPNOTSUPP that it is there and has no such file. */
int neap_hand_files_init(struct neap_hand_files *files, const struct neap_cgroup *cgroup,
			 struct neap_error *err);
void neap_hand_files_done(struct neap_hand_files *files);
/* Text without its newlines, and who the group is now. buf of NEAP_CPUSET_TEXT bytes. */
int neap_hand_file_read(struct neap_hand_files *files, const char *group,
			enum neap_key key, char *buf, uint64_t *ret_dev,
			uint64_t *ret_ino);
/* Writes only if the group is still the one of dev and ino (ENOENT else). */
int neap_hand_file_write(struct neap_hand_files *files, const char *group,
			 enum neap_key key, uint64_t dev, uint64_t ino, const char *text);
/* Closes what is kept of a group. */
void neap_hand_files_forget(struct neap_hand_files *files, const char *group);

/* apply.c */
/* A safe name below one of the managed roots (or one of them). */
bool neap_hand_is_managed(const struct neap_hand_server *server, const char *group);
/* Which of neap's own root groups holds it or is it; NULL for neither. */
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
/* Entry index back to what neap_journal_back says. 0: done or gone (*ret_gone tells),
 * and the entry is dropped, or noted as back where it stays; else the kernel's errno. */
int neap_hand_entry_restore(struct neap_hand_server *server, int index, bool *ret_gone);
/* What to write so that the kernel shows text again. */
const char *neap_hand_text_back(enum neap_key key, bool v2, const char *text);
/* Fills errnum and text (cut) of an answer. */
void neap_hand_refuse(struct neap_hand_server *server, struct neap_hand_answer *answer,
		      int errnum, const char *fmt, ...) NEAP_PRINTF(4, 5);

/* What an answer says of an error that may have no errno of its own. */
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
/* Processes out of the groups that neap made, then the groups away, deepest first, but those of pods that
 * run and what is above them. How many others stay; each is logged. */
int neap_hand_groups_undo(struct neap_hand_server *server);

/* Removes groups of neap's own that are not in all hierarchies: no look of the loop would find them. */
void neap_hand_groups_tidy(struct neap_hand_server *server);

/* trigger.c: the descriptor is in the answer, to be closed once sent. */
void neap_hand_trigger_open(struct neap_hand_server *server,
			    const struct neap_hand_request *request,
			    struct neap_hand_answer *answer);

/* kubelet.c */
/* Opens the folder, or the nearest one above it that is there; before neap_hand_confine. */
void neap_hand_kubelet_find(struct neap_hand_server *server);
/* Looks for the group of a kubelet that was not there at the start. */
void neap_hand_kubelet_group(struct neap_hand_server *server,
			     struct neap_hand_answer *answer);
/* The file for reading, to be closed; -1: it cannot be read. */
int neap_hand_kubelet_file(struct neap_hand_server *server, enum neap_kubelet_file file);
/* The descriptor is in the answer, to be closed once sent. */
void neap_hand_kubelet_open(struct neap_hand_server *server,
			    const struct neap_hand_request *request,
			    struct neap_hand_answer *answer);

/* out.c */
/* Gathers one more. A descriptor in it is taken over; its answer has a packet of its own. */
void neap_hand_out_add(struct neap_hand_server *server,
		       const struct neap_hand_answer *answer);
/* What is gathered becomes a packet that waits for the daemon. fd (-1: none) goes with it and is
 * taken over. */
void neap_hand_out_close(struct neap_hand_server *server, int fd);
/* Sends as much as the socket takes. */
void neap_hand_out_flush(struct neap_hand_server *server);
/* Throws the first packet away. */
void neap_hand_out_drop(struct neap_hand_server *server);

/* giveback.c: all values, in an order the kernel takes; of groups that stay to what
 * they have by themselves. How many went back to what was found; *ret_left could not
 * and are logged by name. Vanished groups count as neither. */
int neap_hand_values_undo(struct neap_hand_server *server, int *ret_left);

/* stay.c */
/* Notes in the journal, in memory, which groups and values stay: those of pods that run. */
void neap_hand_stay_look(struct neap_hand_server *server);
/* How many values are to be given back still. */
int neap_hand_stay_left(const struct neap_hand_server *server);
/* Logs how many groups of pods stay and what ends them, where some do. How many values stay. */
int neap_hand_stay_tell(struct neap_hand_server *server);

/* given.c: of CPUs that a kubelet gave away since, containers of others get nothing
 * back. */
void neap_hand_given_note(struct neap_hand_server *server);

/* inherit.c: entries for groups that were made narrow, as their parent was. */
void neap_hand_inherited_note(struct neap_hand_server *server);

/* takeover.c */
int neap_hand_run_dir_open(const char *path, bool make, struct neap_error *err);
/* The lock of the run directory, from an orphaned hand if need be. The descriptor; NEAP_ECONFLICT
 * when a hand whose daemon lives holds it. */
int neap_hand_lock(int run_dir_fd, const struct neap_log *log, struct neap_error *err);
/* Whether a hand, of a daemon that lives or not, is at work there. */
bool neap_hand_is_held(int run_dir_fd);
int64_t neap_hand_now_usec(void); /* CLOCK_BOOTTIME: a suspended machine counts */

/* confine.c */
/* Gives up all that the hand does without. Lock and journal are open before it. The version of Landlock,
 * 0 without; what a kernel lacks is no error. */
int neap_hand_confine(struct neap_hand_server *server, struct neap_error *err);
/* A descriptor that stands for the daemon, -1 where the kernel has none. */
int neap_hand_daemon_watch(int pid);
/* Its socket is closed: logs the signal that killed it, where there was one and the kernel tells. */
void neap_hand_daemon_end(const struct neap_hand_server *server);

/* serve.c */
int neap_hand_server_new(const struct neap_hand_config *config,
			 struct neap_hand_server **ret, struct neap_error *err);
/* Opens run directory, lock and journal. */
int neap_hand_server_open(struct neap_hand_server *server, bool make,
			  struct neap_error *err);
void neap_hand_server_free(struct neap_hand_server *server);
/* Takes at most one packet, does what is in it, and queues the answers. False when there was none. */
bool neap_hand_packet_take(struct neap_hand_server *server);
/* The child: never comes back. */
void neap_hand_serve(const struct neap_hand_config *config, int sock, int daemon_pid)
	__attribute__((noreturn));

#endif
