/* SPDX-License-Identifier: Apache-2.0
 *
 * Events for the loop: from shims, from the keeper, and produced here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "hw/keeper/client.h"
#include "hw/packet.h"

#define ROUNDS 256 /* of one call, then the descriptor stays readable */

/* --- events that were found here --- */

int neap_keeper_note_add(struct neap_keeper *keeper,
			 const struct neap_keeper_event *event, struct neap_error *err)
{
	size_t len = strlen(event->text);
	struct keeper_note *note = neap_alloc(sizeof(*note) + len + 1);
	const uint64_t one = 1;

	if (!note)
		return neap_error_nomem(err);
	note->event = *event;
	memcpy(note->text, event->text, len + 1);
	*keeper->notes_end = note;
	keeper->notes_end = &note->next;
	if (write(keeper->note_fd, &one, sizeof(one)) < 0)
		errno = 0; /* it is not 0 already */
	return 0;
}

static bool note_take(struct neap_keeper *keeper, struct neap_keeper_event *ret)
{
	struct keeper_note *note = keeper->notes;
	uint64_t count;

	if (!note) {
		if (read(keeper->note_fd, &count, sizeof(count)) < 0)
			errno = 0; /* it was 0 */
		return false;
	}
	keeper->notes = note->next;
	if (!keeper->notes)
		keeper->notes_end = &keeper->notes;
	*ret = note->event;
	(void)neap_strcopy(keeper->text, sizeof(keeper->text), note->text);
	ret->text = keeper->text;
	free(note);
	return true;
}

/* --- the keeper's socket --- */

static struct neap_keeper_event event_of(const struct keeper_task *task,
					 enum neap_keeper_what what, int errnum,
					 const char *text)
{
	return (struct neap_keeper_event){
		.id = task->id,
		.what = what,
		.errnum = errnum,
		.text = text,
		.fd = -1,
	};
}

/* The next task that the keeper can do nothing for any more; NULL: none. */
static struct keeper_task *task_stranded(const struct neap_keeper *keeper)
{
	struct keeper_task *task = keeper->tasks;

	while (task && (task->fd >= 0 || task->is_over))
		task = task->next;
	return task;
}

/* The end of a task that is removed with this event; its text moves to the keeper. */
static int task_end(struct neap_keeper *keeper, struct keeper_task *task,
		    const struct neap_keeper_event *event, struct neap_keeper_event *ret)
{
	*ret = *event;
	if (event->text != keeper->text)
		(void)neap_strcopy(keeper->text, sizeof(keeper->text), event->text);
	ret->text = keeper->text;
	neap_keeper_task_remove(keeper, task);
	return 1;
}

/* 1: *ret is an event; 0: go on. */
static int keeper_take(struct neap_keeper *keeper, struct neap_keeper_event *ret)
{
	struct neap_keeper_spawn spawn = {0};
	struct neap_keeper_event event;
	struct neap_error err = {0};
	struct keeper_task *task;
	int fd;
	ssize_t n = neap_packet_receive(keeper->sock, &spawn, sizeof(spawn), &fd);

	if (n < 0 && errno == EAGAIN) {
		neap_keeper_asks_flush(keeper);
		return 0;
	}
	if (n != sizeof(spawn) || spawn.magic != NEAP_KEEPER_SPAWN) {
		neap_fd_close(&fd);
		(void)neap_keeper_watch(keeper, EPOLL_CTL_DEL, keeper->sock, 0, NULL);
		neap_fd_close(&keeper->sock);
		return 0;
	}
	task = neap_keeper_task_find(keeper, spawn.id);
	/* Forgotten meanwhile, or forgotten and asked for again: then this one serves,
	 * and the next finds it served. */
	if (!task || task->fd >= 0 || task->is_over) {
		neap_fd_close(&fd);
		return 0;
	}
	if (spawn.errnum || fd < 0) {
		neap_fd_close(&fd);
		event = event_of(task, NEAP_KEEPER_FAILED,
				 spawn.errnum ? spawn.errnum : EMFILE,
				 "the keeper could not start one more process");
		return task_end(keeper, task, &event, ret);
	}
	if (neap_keeper_task_connect(keeper, task, fd, &err) == 0)
		return 0;
	event = event_of(task, NEAP_KEEPER_FAILED, err.errnum, err.msg);
	return task_end(keeper, task, &event, ret);
}

/* --- a shim's socket --- */

struct neap_keeper_event neap_keeper_folder_look(const struct neap_keeper *keeper,
						 const struct keeper_task *task,
						 char *text)
{
	struct neap_keeper_event event =
		event_of(task, NEAP_KEEPER_LOST, 0,
			 "its keeper is gone; nobody knows how it ended");
	neap_auto_fd int folder_fd = -1;
	struct neap_error err = {0};

	if (task->is_probe)
		return event;
	folder_fd = neap_keeper_folder_open(keeper->dir_fd, task->pod_uid,
					    task->container, task->attempt, &err);
	if (folder_fd < 0) {
		if (err.code != NEAP_ENOTFOUND) {
			event.errnum = err.errnum;
			return event;
		}
		event.errnum = ENOENT;
		event.text = "it was never started";
		return event;
	}
	if (neap_keeper_record_read(folder_fd, text, &event, &err) == 0)
		event.id = task->id;
	else
		neap_keeper_start_read(folder_fd, &event.pid, &event.started_usec);
	return event;
}

static int task_take(struct neap_keeper *keeper, struct keeper_task *task,
		     struct neap_keeper_event *ret)
{
	unsigned char packet[NEAP_KEEPER_PACKET];
	struct neap_keeper_event event;
	int fd;
	ssize_t n = neap_packet_receive(task->fd, packet, sizeof(packet), &fd);

	if (n < 0 && errno == EAGAIN) {
		neap_keeper_task_flush(keeper, task);
		return 0;
	}
	if (n <= 0 ||
	    neap_keeper_event_parse(packet, (size_t)n, keeper->text, &event, NULL) < 0) {
		neap_fd_close(&fd);
		event = neap_keeper_folder_look(keeper, task, keeper->text);
		return task_end(keeper, task, &event, ret);
	}
	if ((event.what == NEAP_KEEPER_WAITING) != (fd >= 0)) {
		neap_fd_close(&fd);
		/* Too many are open here: nothing can be moved, so nothing may run. */
		if (event.what == NEAP_KEEPER_WAITING) {
			event = event_of(task, NEAP_KEEPER_FAILED, EMFILE,
					 "the connection did not arrive");
			return task_end(keeper, task, &event, ret);
		}
	}
	event.id = task->id;
	event.fd = fd;
	if (event.what == NEAP_KEEPER_FAILED || event.what == NEAP_KEEPER_ENDED)
		return task_end(keeper, task, &event, ret);
	*ret = event;
	return 1;
}

int neap_keeper_next(struct neap_keeper *keeper, struct neap_keeper_event *ret,
		     struct neap_error *err)
{
	struct neap_keeper_event event;
	struct epoll_event ready;
	struct keeper_task *task;
	int round, rc;

	for (round = 0; round < ROUNDS; round++) {
		if (keeper->notes && note_take(keeper, ret)) {
			task = neap_keeper_task_find(keeper, ret->id);
			if (task && task->is_over)
				neap_keeper_task_remove(keeper, task);
			return 1;
		}
		task = keeper->sock < 0 ? task_stranded(keeper) : NULL;
		if (task) {
			event = event_of(task, NEAP_KEEPER_FAILED, EPIPE,
					 "the keeper is gone");
			return task_end(keeper, task, &event, ret);
		}
		rc = epoll_wait(keeper->epoll_fd, &ready, 1, 0);
		if (rc < 0 && errno != EINTR)
			return neap_error_sys(err, "epoll for the keeper");
		if (rc == 0 && keeper->sock < 0)
			return neap_error_set(err, NEAP_EUNAVAILABLE,
					      "the keeper is gone");
		if (rc == 0)
			return 0;
		if (rc < 0)
			continue;
		if (ready.data.ptr == &keeper->note_fd)
			(void)note_take(keeper, ret); /* none: only emptied */
		else if (ready.data.ptr == keeper)
			rc = keeper_take(keeper, ret);
		else
			rc = task_take(keeper, ready.data.ptr, ret);
		if (ready.data.ptr != &keeper->note_fd && rc > 0)
			return rc;
	}
	return 0;
}
