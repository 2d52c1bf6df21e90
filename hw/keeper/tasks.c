/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands on the loop's side: each with a connection to its shim, once there is one, and
 * unsent data. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "hw/keeper/client.h"
#include "hw/packet.h"

struct keeper_task *neap_keeper_task_find(const struct neap_keeper *keeper, uint64_t id)
{
	struct keeper_task *task = keeper->tasks;

	while (task && task->id != id)
		task = task->next;
	return task;
}

/* Closing removes it from the epoll only when the keeper, which sent it, has closed its
 * copy too; until then events would name a freed task. */
void neap_keeper_task_free(struct neap_keeper *keeper, struct keeper_task *task)
{
	if (task->fd >= 0)
		(void)neap_keeper_watch(keeper, EPOLL_CTL_DEL, task->fd, 0, NULL);
	neap_fd_close(&task->fd);
	free(task->order);
	free(task);
}

void neap_keeper_task_remove(struct neap_keeper *keeper, struct keeper_task *task)
{
	struct keeper_task **at = &keeper->tasks;

	while (*at != task)
		at = &(*at)->next;
	*at = task->next;
	neap_keeper_task_free(keeper, task);
}

int neap_keeper_task_new(struct neap_keeper *keeper, uint64_t id, const char *pod_uid,
			 const char *container, unsigned attempt,
			 struct keeper_task **ret, struct neap_error *err)
{
	struct keeper_task *task;

	if (neap_keeper_task_find(keeper, id))
		return neap_error_set(err, NEAP_EINVAL, "the id %llu is in use",
				      (unsigned long long)id);
	task = neap_alloc(sizeof(*task));
	if (!task)
		return neap_error_nomem(err);
	task->id = id;
	task->fd = -1;
	task->attempt = attempt;
	(void)neap_strcopy(task->pod_uid, sizeof(task->pod_uid), pod_uid);
	(void)neap_strcopy(task->container, sizeof(task->container), container);
	*ret = task;
	return 0;
}

void neap_keeper_task_add(struct neap_keeper *keeper, struct keeper_task *task)
{
	task->next = keeper->tasks;
	keeper->tasks = task;
}

/* 1 gone, 0 no room now; -1: the shim is gone. */
static int request_send(struct keeper_task *task,
			const struct neap_keeper_request *request)
{
	unsigned char packet[NEAP_KEEPER_PACKET];
	size_t len = 0;
	ssize_t n;

	if (neap_keeper_request_format(request, packet, sizeof(packet), &len, NULL) < 0)
		return 1; /* checked before: never */
	do
		n = neap_packet_send(task->fd, packet, len, -1);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return 1;
	return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM ? 0 : -1;
}

/* Sends the queue; a vanished shim shows when it is read from. */
static int task_push(struct keeper_task *task)
{
	int rc = 1;

	while (rc > 0 && task->order) {
		size_t left = task->len - task->at;
		const struct neap_keeper_request part = {
			.op = NEAP_KEEPER_OP_ORDER,
			.total = task->len,
			.part = task->order + task->at,
			.len = left < NEAP_KEEPER_PART ? left : NEAP_KEEPER_PART,
		};

		rc = request_send(task, &part);
		if (rc <= 0)
			return rc;
		task->at += part.len;
		if (task->at < task->len)
			continue;
		free(task->order);
		task->order = NULL;
	}
	if (task->is_go) {
		const struct neap_keeper_request go = {.op = NEAP_KEEPER_OP_GO};

		rc = request_send(task, &go);
		task->is_go = rc == 0;
	}
	while (rc > 0 && task->signals) {
		const struct neap_keeper_request give = {
			.op = NEAP_KEEPER_OP_SIGNAL,
			.signo = __builtin_ctzll(task->signals) + 1,
		};

		rc = request_send(task, &give);
		if (rc != 0)
			task->signals &= task->signals - 1;
	}
	return rc;
}

void neap_keeper_task_flush(struct neap_keeper *keeper, struct keeper_task *task)
{
	bool waits_room;

	if (task->fd < 0)
		return;
	waits_room = task_push(task) == 0;
	if (waits_room == task->waits_room)
		return;
	if (neap_keeper_watch(keeper, EPOLL_CTL_MOD, task->fd,
			      EPOLLIN | (waits_room ? (uint32_t)EPOLLOUT : 0), task) == 0)
		task->waits_room = waits_room;
}

int neap_keeper_task_connect(struct neap_keeper *keeper, struct keeper_task *task, int fd,
			     struct neap_error *err)
{
	if (neap_keeper_watch(keeper, EPOLL_CTL_ADD, fd, EPOLLIN, task) < 0) {
		(void)neap_error_sys(err, "epoll for a command");
		(void)close(fd);
		return err ? -(int)err->code : -NEAP_ESYS;
	}
	task->fd = fd;
	neap_keeper_task_flush(keeper, task);
	return 0;
}

void neap_keeper_asks_flush(struct neap_keeper *keeper)
{
	while (keeper->asks && keeper->sock >= 0) {
		struct keeper_ask *ask = keeper->asks;
		const struct neap_keeper_spawn spawn = {NEAP_KEEPER_SPAWN, 0, ask->id};

		if (neap_packet_send(keeper->sock, &spawn, sizeof(spawn), -1) < 0)
			break;
		keeper->asks = ask->next;
		if (!keeper->asks)
			keeper->asks_end = &keeper->asks;
		free(ask);
	}
	if (keeper->sock < 0 || !keeper->asks == !keeper->asks_wait_room)
		return;
	if (neap_keeper_watch(keeper, EPOLL_CTL_MOD, keeper->sock,
			      EPOLLIN | (keeper->asks ? (uint32_t)EPOLLOUT : 0),
			      keeper) == 0)
		keeper->asks_wait_room = keeper->asks != NULL;
}
