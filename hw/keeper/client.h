/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop's side of the keeper: client.c starts it and takes requests, tasks.c holds
 * commands and unsent data for their shims, events.c receives. */
#ifndef NEAP_HW_KEEPER_CLIENT_H
#define NEAP_HW_KEEPER_CLIENT_H

#include "hw/keeper/keeper_priv.h"

struct keeper_task {
	struct keeper_task *next;
	uint64_t id;
	int fd;               /* connection to its shim; -1: requested from the keeper */
	unsigned char *order; /* the unsent part of the order */
	size_t len, at;
	bool is_probe;
	bool is_go;       /* to be sent */
	uint64_t signals; /* unsent signals, bit signo - 1 */
	bool waits_room;  /* the shim's socket is full */
	bool is_over;     /* its last event is in notes */
	unsigned attempt;
	char pod_uid[NEAP_KEEPER_UID_MAX], container[NEAP_KEEPER_NAME_MAX];
};

/* An event produced on this side. */
struct keeper_note {
	struct keeper_note *next;
	struct neap_keeper_event event;
	char text[]; /* at most NEAP_KEEPER_OUTPUT_MAX + 1 */
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
	char text[NEAP_KEEPER_OUTPUT_MAX + 1]; /* of the event returned last */
};

/* Closes *fd if it is open and sets it to -1. */
/* Changes the epoll set; how as in epoll_ctl(2). */
int neap_keeper_watch(struct neap_keeper *keeper, int how, int fd, uint32_t events,
		      void *what);

/* --- tasks.c --- */

struct keeper_task *neap_keeper_task_find(const struct neap_keeper *keeper, uint64_t id);
/* Adds a task; NEAP_EINVAL: the id is in use. */
int neap_keeper_task_new(struct neap_keeper *keeper, uint64_t id, const char *pod_uid,
			 const char *container, unsigned attempt,
			 struct keeper_task **ret, struct neap_error *err);
void neap_keeper_task_add(struct neap_keeper *keeper, struct keeper_task *task);
void neap_keeper_task_free(struct neap_keeper *keeper, struct keeper_task *task);
/* Removes it from the list and frees it. */
void neap_keeper_task_remove(struct neap_keeper *keeper, struct keeper_task *task);
/* Sends queued data as far as the shim accepts it. */
void neap_keeper_task_flush(struct neap_keeper *keeper, struct keeper_task *task);
/* Connects the task to its shim. Takes over fd, even on failure. */
int neap_keeper_task_connect(struct neap_keeper *keeper, struct keeper_task *task, int fd,
			     struct neap_error *err);
/* Requests shims from the keeper, as far as it accepts. */
void neap_keeper_asks_flush(struct neap_keeper *keeper);

/* --- events.c --- */

/* Queues a copy of an event for neap_keeper_next. */
int neap_keeper_note_add(struct neap_keeper *keeper,
			 const struct neap_keeper_event *event, struct neap_error *err);
/* Reads what a task's directory records: ENDED, FAILED, or LOST (errnum ENOENT: no
 * directory). text is a buffer as in neap_keeper_event_parse. */
struct neap_keeper_event neap_keeper_folder_look(const struct neap_keeper *keeper,
						 const struct keeper_task *task,
						 char *text);

#endif
