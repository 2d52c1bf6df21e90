/* SPDX-License-Identifier: Apache-2.0
 *
 * A pause lasts until it is ended, so it is kept in a file: one line with the time in
 * Unix microseconds, and who asked for it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/deschedule/descheduler_priv.h"
#include "engine/base/file.h"
#include "engine/log/log.h"

static void not_kept(struct neap_descheduler *descheduler, const char *why)
{
	(void)snprintf(descheduler->pause_trouble, sizeof(descheduler->pause_trouble),
		       "a new start of neapd will not know that it is %s: %s",
		       *descheduler->paused_by ? "paused" : "resumed", why);
	neap_log_line(descheduler->config.log, NEAP_LOG_ERROR, "descheduler: %s",
		      descheduler->pause_trouble);
}

static void keep(struct neap_descheduler *descheduler)
{
	const char *path = descheduler->config.pause_file, *name = strrchr(path, '/') + 1;
	char fresh[256], folder[256], text[128];
	struct neap_error err;
	neap_auto_fd int fd = -1;
	int len = snprintf(text, sizeof(text), "%" PRId64 " %s\n",
			   descheduler->paused_usec, descheduler->paused_by);

	(void)snprintf(fresh, sizeof(fresh), "%s.new", name);
	(void)snprintf(folder, sizeof(folder), "%.*s", (int)(name - path), path);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		not_kept(descheduler, strerror(errno));
	else if (neap_file_put(fd, fresh, name, text, (size_t)len, NEAP_PUT_SYNCED,
			       &err) < 0)
		not_kept(descheduler, err.msg);
}

void deschedule_pause_init(struct neap_descheduler *descheduler)
{
	const char *path = descheduler->config.pause_file;
	char text[128], *by;

	if (!path)
		return;
	if (neap_file_line(path, text, sizeof(text)) < 0 && errno == ENOENT)
		return;
	/* Whatever is in it: it is there, so nothing is to move. */
	descheduler->paused_usec = strtoll(text, &by, 10);
	by += *by == ' ';
	(void)snprintf(descheduler->paused_by, sizeof(descheduler->paused_by), "%s",
		       *by ? by : "somebody");
	neap_log_line(descheduler->config.log, NEAP_LOG_INFO,
		      "descheduler: still paused by %s, until neapctl deschedule resume",
		      descheduler->paused_by);
}

void neap_descheduler_pause(struct neap_descheduler *descheduler, const char *by)
{
	(void)snprintf(descheduler->paused_by, sizeof(descheduler->paused_by), "%s", by);
	descheduler->paused_usec = deschedule_now(descheduler);
	descheduler->pause_trouble[0] = '\0';
	if (descheduler->config.pause_file)
		keep(descheduler);
}

void neap_descheduler_resume(struct neap_descheduler *descheduler)
{
	descheduler->paused_by[0] = '\0';
	descheduler->pause_trouble[0] = '\0';
	if (descheduler->config.pause_file &&
	    unlink(descheduler->config.pause_file) < 0 && errno != ENOENT)
		not_kept(descheduler, strerror(errno));
	deschedule_look(descheduler);
}
