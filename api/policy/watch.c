/* SPDX-License-Identifier: Apache-2.0
 *
 * inotify events, and the timer that waits until they stop. An event only says that
 * something may have changed, and who is writing. A check (watch_look.c) finds the
 * changes. So lost events cost at most a delay. */
#include "api/policy/watch.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "api/policy/trusted.h"
#include "api/policy/watch_priv.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"

#define EVENTS                                                                           \
	(IN_CREATE | IN_DELETE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_FROM |            \
	 IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF)
#define READS_MAX  16            /* buffers of events in one turn of the loop */
#define TURN_BYTES (1024 * 1024) /* read from files in one turn of the loop */

struct neap_watch {
	struct neap_watch_dir dir;
	char *path;
	int inotify_fd, wd; /* wd -1: the directory is not watched */
	struct event *readable, *timer;
	bool is_waiting;  /* for a pause in events */
	int64_t first_ms; /* the first event of the wait */
};

/* Sets the timer to another time. */
static void set_timer(struct neap_watch *watch, int64_t ms)
{
	struct timeval after = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

	/* fails without memory: SIGHUP starts a look */
	(void)evtimer_add(watch->timer, &after);
}

static void wait_for_quiet(struct neap_watch *watch)
{
	int64_t now = neap_watch_now_ms(), late;

	if (!watch->is_waiting)
		watch->first_ms = now;
	watch->is_waiting = true;
	late = watch->first_ms + NEAP_WATCH_LATE_MS - now;
	if (late < 0)
		late = 0;
	set_timer(watch, late < NEAP_WATCH_QUIET_MS ? late : NEAP_WATCH_QUIET_MS);
}

/* Watches the open directory; the same directory gets the same watch. */
static int follow(struct neap_watch *watch, int dir_fd, struct neap_error *err)
{
	char link[40];
	int wd;

	/* By descriptor: the watched directory is the checked one. */
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", dir_fd);
	wd = inotify_add_watch(watch->inotify_fd, link, EVENTS | IN_ONLYDIR);
	if (wd < 0 && errno == ENOENT)
		wd = inotify_add_watch(watch->inotify_fd, watch->path,
				       EVENTS | IN_ONLYDIR);
	if (wd < 0 && errno == ENOSPC)
		return neap_error_set(err, NEAP_EUNAVAILABLE,
				      "watch %s: too many watches: raise "
				      "fs.inotify.max_user_watches",
				      watch->path);
	if (wd < 0)
		return neap_error_sys(err, "watch %s", watch->path);
	if (watch->wd >= 0 && watch->wd != wd)
		(void)inotify_rm_watch(watch->inotify_fd, watch->wd); /* it may be gone */
	watch->wd = wd;
	return 0;
}

/* If the directory was replaced between opening and watching, no event would ever
 * come. */
static bool is_replaced(const struct neap_watch *watch, const struct stat *was)
{
	struct stat now;

	return stat(watch->path, &now) < 0 || now.st_dev != was->st_dev ||
	       now.st_ino != was->st_ino;
}

/* Opens, watches and looks; returns the same as neap_watch_dir_look. */
static int look(struct neap_watch *watch, size_t budget_bytes, struct neap_error *err)
{
	neap_auto_fd int fd = -1;
	struct stat st;
	int rc, again;

	if (neap_trusted_open(watch->path, watch->dir.own_uid, true, &fd, &st, err) < 0)
		return neap_watch_dir_look(&watch->dir, -1, err, 0);
	rc = follow(watch, fd, err);
	again = neap_watch_dir_look(&watch->dir, fd, err, budget_bytes);
	if ((rc < 0 || is_replaced(watch, &st)) &&
	    (!again || again > NEAP_WATCH_QUIET_MS))
		again = rc < 0 ? NEAP_WATCH_AWAY_MS : NEAP_WATCH_QUIET_MS;
	return again;
}

static void look_and_wait(struct neap_watch *watch, size_t budget_bytes)
{
	struct neap_error err;
	int again;

	watch->is_waiting = false;
	(void)evtimer_del(watch->timer);
	again = look(watch, budget_bytes, &err);
	if (again)
		set_timer(watch, again);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	look_and_wait(arg, TURN_BYTES);
}

/* Notes which files are being written and which are finished. */
static void note_writer(struct neap_watch *watch, const struct inotify_event *event)
{
	struct neap_watch_file *file;

	if (!neap_watch_is_policy(event->name) || event->mask & IN_ISDIR)
		return;
	if (event->mask & (IN_CREATE | IN_MODIFY)) {
		file = neap_watch_file(&watch->dir, event->name, true);
		if (file)
			file->writing_ms = neap_watch_now_ms();
	} else if (event->mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) {
		file = neap_watch_file(&watch->dir, event->name, false);
		if (file)
			file->writing_ms = 0;
	}
}

/* True when the event needs a look. */
static bool take_event(struct neap_watch *watch, const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW)
		return true;
	if (event->wd != watch->wd)
		return false; /* of a directory that is no longer watched */
	if (event->mask & IN_IGNORED) {
		watch->wd = -1;
		return true;
	}
	if (!event->len)
		return true;
	/* Swap files of editors are ignored; "..data" is a ConfigMap's link. */
	if (event->name[0] == '.' && event->name[1] != '.')
		return false;
	note_writer(watch, event);
	return true;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct neap_watch *watch = arg;
	union {
		struct inotify_event event;
		char bytes[4096];
	} buf;
	bool is_worth = false;
	int turn;

	(void)what;
	for (turn = 0; turn < READS_MAX; turn++) {
		ssize_t len = read(fd, buf.bytes, sizeof(buf.bytes)), at = 0;

		if (len <= 0)
			break;
		while (at < len) {
			const struct inotify_event *event =
				(const void *)(buf.bytes + at);

			if (take_event(watch, event))
				is_worth = true;
			at += (ssize_t)sizeof(*event) + event->len;
		}
	}
	if (is_worth)
		wait_for_quiet(watch);
}

static int start(struct neap_watch *watch, struct event_base *base,
		 struct neap_error *err)
{
	neap_auto_fd int fd = -1;
	struct stat st;

	watch->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch->inotify_fd < 0)
		return neap_error_sys(err, "watch %s: inotify", watch->path);
	watch->readable = event_new(base, watch->inotify_fd, EV_READ | EV_PERSIST,
				    on_readable, watch);
	watch->timer = evtimer_new(base, on_timer, watch);
	if (!watch->readable || !watch->timer || event_add(watch->readable, NULL) < 0)
		return neap_error_nomem(err);
	if (neap_trusted_open(watch->path, watch->dir.own_uid, true, &fd, &st, err) < 0)
		return -(int)err->code;
	return follow(watch, fd, err);
}

int neap_watch_new(struct event_base *base, const char *dir, uid_t own_uid,
		   const struct neap_watch_calls *calls, struct neap_watch **ret,
		   struct neap_error *err)
{
	struct neap_watch *watch = neap_alloc(sizeof(*watch));
	size_t len = strlen(dir);
	struct neap_error own_err;

	if (!err)
		err = &own_err;
	if (!watch)
		return neap_error_nomem(err);
	watch->inotify_fd = watch->wd = -1;
	while (len > 1 && dir[len - 1] == '/')
		len--;
	watch->path = neap_strndup(dir, len);
	watch->dir.path = watch->dir.self.path = watch->path;
	watch->dir.own_uid = own_uid;
	watch->dir.calls = *calls;
	if (!watch->path || start(watch, base, err) < 0) {
		if (!watch->path)
			(void)neap_error_nomem(err);
		neap_watch_free(watch);
		return -(int)err->code;
	}
	look_and_wait(watch, SIZE_MAX);
	*ret = watch;
	return 0;
}

void neap_watch_free(struct neap_watch *watch)
{
	if (!watch)
		return;
	if (watch->readable)
		event_free(watch->readable);
	if (watch->timer)
		event_free(watch->timer);
	neap_fd_close(&watch->inotify_fd);
	neap_watch_dir_done(&watch->dir);
	free(watch->path);
	free(watch);
}

void neap_watch_look(struct neap_watch *watch)
{
	if (!watch->dir.is_looking)
		look_and_wait(watch, SIZE_MAX);
}
