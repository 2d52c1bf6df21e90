/* SPDX-License-Identifier: Apache-2.0
 *
 * --audit-log: a line of JSON for each event. The loop owns the file, so that it can
 * rename it to FILE.1 when it is full. Events that cannot be written are lost, which is
 * logged once; requests do not wait. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/daemon/api.h"
#include "api/daemon/roles.h"
#include "api/kube/request/trail.h"
#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

struct neap_daemon_trail {
	const struct neap_role_server *server;
	const char *file;
	char before[270]; /* FILE.1 */
	int fd;
	int64_t size;
	bool is_failing;
};

static int trail_open(struct neap_daemon_trail *trail, struct neap_error *err)
{
	neap_auto_fd int fd =
		open(trail->file,
		     O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
		     0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return neap_error_sys(err, "--audit-log %s", trail->file);
	if (!S_ISREG(st.st_mode))
		return neap_error_set(err, NEAP_EINVAL,
				      "--audit-log %s: is no regular file", trail->file);
	neap_fd_close(&trail->fd);
	trail->fd = fd;
	fd = -1;
	trail->size = st.st_size;
	return 0;
}

/* Logs once, until writing works again. */
static void complain(struct neap_daemon_trail *trail, const char *why)
{
	if (!trail->is_failing)
		neap_log_line(&trail->server->process->log, NEAP_LOG_ERROR,
			      "audit log: events are lost: %s", why);
	trail->is_failing = true;
}

static int make_room(struct neap_daemon_trail *trail, size_t len, struct neap_error *err)
{
	if (trail->size + (int64_t)len <=
		    trail->server->process->config.audit_log_bytes ||
	    trail->size == 0)
		return 0;
	if (rename(trail->file, trail->before) < 0 && errno != ENOENT)
		return neap_error_sys(err, "rename %s", trail->file);
	return trail_open(trail, err);
}

/* Writes whole lines or none. */
static int trail_write(struct neap_daemon_trail *trail, const char *text, size_t len,
		       struct neap_error *err)
{
	ssize_t n;

	if (make_room(trail, len, err) < 0)
		return -(int)err->code;
	n = write(trail->fd, text, len);
	if (n == (ssize_t)len) {
		trail->size += n;
		return 0;
	}
	if (n < 0)
		return neap_error_sys(err, "write %s", trail->file);
	if (ftruncate(trail->fd, trail->size) < 0)
		trail->size += n; /* a partial line stays */
	return neap_error_set(err, NEAP_ESYS, "write %s: no room", trail->file);
}

static void observe(void *arg, struct neap_http_request *request, int status)
{
	struct neap_daemon_trail *trail = arg;
	const struct neap_kube_registry *registry =
		neap_daemon_api_registry(trail->server->api);
	neap_auto_free char *text = NULL;
	struct neap_error err;
	json_t *event;
	size_t len;

	if (!neap_kube_trail_wants(request, status))
		return;
	event = neap_kube_trail_event(registry, request, status,
				      neap_clock_usec(CLOCK_REALTIME));
	text = event != NULL ? neap_json_dump(event, JSON_COMPACT) : NULL;
	json_decref(event);
	if (text == NULL) {
		complain(trail, "out of memory");
		return;
	}
	len = strlen(text);
	text[len] = '\n'; /* replaces the NUL */
	if (trail_write(trail, text, len + 1, &err) < 0) {
		complain(trail, err.msg);
		return;
	}
	if (trail->is_failing)
		neap_log_line(&trail->server->process->log, NEAP_LOG_INFO,
			      "audit log: it is written again");
	trail->is_failing = false;
}

/* The folder must allow to rename the file. */
static int check_folder(const struct neap_process *process, struct neap_error *err)
{
	const char *file = process->config.audit_log;
	const char *slash = strrchr(file, '/');
	char folder[256];

	(void)snprintf(folder, sizeof(folder), "%.*s",
		       slash != NULL ? (int)(slash - file) + 1 : 1,
		       slash != NULL ? file : ".");
	if (access(folder, W_OK | X_OK) == 0)
		return 0;
	(void)neap_error_sys(err,
			     "--audit-log %s: %s must be writable for %s: choose a "
			     "file in DATA_DIR, or make a folder of its own",
			     file, folder, process->account.name);
	return -(int)err->code;
}

int neap_daemon_trail_start(struct neap_role_server *server, struct neap_error *err)
{
	const char *file = server->process->config.audit_log;
	struct neap_daemon_trail *trail;

	if (file[0] == '\0')
		return 0;
	trail = neap_alloc(sizeof(*trail));
	if (trail == NULL)
		return neap_error_nomem(err);
	server->trail = trail;
	trail->server = server;
	trail->fd = -1;
	trail->file = file;
	(void)snprintf(trail->before, sizeof(trail->before), "%s.1", trail->file);
	if (check_folder(server->process, err) < 0 || trail_open(trail, err) < 0)
		return -(int)err->code;
	neap_http_set_observer(server->http, observe, trail);
	return 0;
}

void neap_daemon_trail_reopen(struct neap_daemon_trail *trail)
{
	struct neap_error err;

	if (trail != NULL && trail_open(trail, &err) < 0)
		neap_log_line(&trail->server->process->log, NEAP_LOG_ERROR,
			      "audit log: what was open goes on: %s", err.msg);
}

void neap_daemon_trail_free(struct neap_daemon_trail *trail)
{
	if (trail == NULL)
		return;
	neap_fd_close(&trail->fd);
	free(trail);
}
