/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop's side in parts: client.c starts it and takes requests, tasks.c holds commands and what is still to be
 * sent to their shims, events.c hears. */
#ifndef NEAP_HW_KEEPER_CLIENT_H
#define NEAP_HW_KEEPER_CLIENT_H

#include "hw/keeper/keeper_priv.h"

struct keeper_task {
	struct keeper_task *next;
	uint64_t id;
	int fd;               /* to its shim; -1: the keeper is asked for one */
	unsigned char *order; /* that is still to be sent */
	size_t len, at;
	bool is_probe;
	bool is_go;       /* to be sent */
	uint64_t signals; /* to be sent, bit signo - 1 */
	bool waits_room;  /* the shim takes no more for now */
	bool is_over;     /* its last event waits in notes */
	unsigned attempt;
	char pod_uid[NEAP_KEEPER_UID_MAX], container[NEAP_KEEPER_NAME_MAX];
};

/* An event that was found here. */
struct keeper_note {
	struct keeper_note *next;
	struct neap_keeper_event event;
	char text[]; /* NEAP_KEEPER_OUTPUT_MAX + 1 at most */
};

/* A request for a shim. */
struct keeper_ask {
	struct keeper_ask *next;
	uint64_t id;
};

struct neap_keeper {
	int sock; /* -1: the keeper is gone */
	int pid;
	int epoll_fd, note_fd, dir_fd;
	struct keeper_task *tasks;
	struct keeper_note *notes, **notes_end;
	struct keeper_ask *asks, **asks_end;
	bool asks_wait_room;
	char text[NEAP_KEEPER_OUTPUT_MAX + 1]; /* of the event last given out */
};

/* Closes it, if it is open; -1 stays behind. */
void neap_keeper_fd_close(int *fd);
/* In the epoll; how as in epoll_ctl(2). */
int neap_keeper_watch(struct neap_keeper *keeper, int how, int fd, uint32_t events,
		      void *what);

/* --- tasks.c --- */

struct keeper_task *neap_keeper_task_find(const struct neap_keeper *keeper, uint64_t id);
/* One that is not in the list yet; NEAP_EINVAL: the id is in use. */
int neap_keeper_task_new(struct neap_keeper *keeper, uint64_t id, const char *pod_uid,
			 const char *container, unsigned attempt,
			 struct keeper_task **ret, struct neap_error *err);
void neap_keeper_task_add(struct neap_keeper *keeper, struct keeper_task *task);
void neap_keeper_task_free(struct neap_keeper *keeper, struct keeper_task *task);
/* Out of the list, and freed. */
void neap_keeper_task_remove(struct neap_keeper *keeper, struct keeper_task *task);
/* Sends what is queued, as far as the shim takes it. */
void neap_keeper_task_flush(struct neap_keeper *keeper, struct keeper_task *task);
/* From here on the task hears of its shim. Takes fd also when it fails. */
int neap_keeper_task_connect(struct neap_keeper *keeper, struct keeper_task *task, int fd,
			     struct neap_error *err);
/* Asks the keeper for shims, as far as it takes it. */
void neap_keeper_asks_flush(struct neap_keeper *keeper);

/* --- events.c --- */

/* An event for neap_keeper_next, copied. */
int neap_keeper_note_add(struct neap_keeper *keeper,
			 const struct neap_keeper_event *event, struct neap_error *err);
/* What the folder of a task says: ENDED, FAILED, or LOST (errnum ENOENT: there is none). text is a buffer as in
 * neap_keeper_event_parse. */
struct neap_keeper_event neap_keeper_folder_look(const struct neap_keeper *keeper,
						 const struct keeper_task *task,
						 char *text);

#endif
