/* SPDX-License-Identifier: Apache-2.0
 *
 * The file DATA_DIR/stuck-policies has a line for each version that a neapd was stuck in.
 * The last watchdog (lua/vm/budget.h) writes it and ends its neapd; the next neapd reads
 * it. The line stays until an operator removes it, because the same text would be stuck
 * again. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/daemon/start.h"
#include "lua/vm/budget.h"

#define FILE_BYTES  (16 * 1024) /* how much of the file's end is read */
#define LABEL_BYTES 80

/* For the signal handler; set before any script runs. */
static int stuck_fd = -1;
static char stuck_file[160];

static int open_file(void)
{
	return open(stuck_file,
		    O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
		    0600);
}

void neap_stuck_note(const char *label)
{
	/* For the journal with the priority of an error. */
	static const char before[] = "<3>neapd: stuck in policy ",
			  after[] =
				  ": it does not stop when told to; neapd ends, and the "
				  "next start leaves this version out\n";
	char line[sizeof(before) + LABEL_BYTES + sizeof(after)];
	size_t len = strnlen(label, LABEL_BYTES - 1), at = 0, from;
	struct stat st;

	memcpy(line, label, len);
	line[len] = '\n';
	/* An operator has removed the file; its descriptor still gives the path for a new
	 * one. */
	if (fstat(stuck_fd, &st) == 0 && st.st_nlink == 0) {
		(void)close(stuck_fd);
		stuck_fd = open_file();
	}
	if (write(stuck_fd, line, len + 1) < 0)
		(void)0; /* neapd must end anyway */
	memcpy(line, before, at = sizeof(before) - 1);
	memcpy(line + at, label, len);
	memcpy(line + at + len, after, sizeof(after) - 1);
	from = neap_log_is_journal() ? 0 : 3;
	if (write(STDERR_FILENO, line + from, at + len + sizeof(after) - 1 - from) < 0)
		(void)0; /* and it cannot be reported */
}

/* "qos/cpu-share@3f2a91c0", or "@3f2a91c0" for a version that was stuck before it gave
 * its name. */
static bool is_label(const char *text)
{
	const char *at = strchr(text, '@');

	return at != NULL && strlen(text) < LABEL_BYTES && strlen(at + 1) == 8 &&
	       strspn(at + 1, "0123456789abcdef") == 8 &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-/") ==
		       (size_t)(at - text);
}

static void ban(char *text, struct neap_live *live, const struct neap_log *log)
{
	char *line, *rest = NULL;

	for (line = strtok_r(text, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (!is_label(line)) {
			neap_log_line(log, NEAP_LOG_WARN,
				      "%s: '%.80s' names no version of a policy",
				      stuck_file, line);
			continue;
		}
		neap_live_ban(live, line);
		neap_log_line(log, NEAP_LOG_ERROR,
			      "policy %s: left out, as an earlier neapd was stuck in it; "
			      "to try it again, remove %s and restart neapd",
			      line, stuck_file);
	}
}

int neap_stuck_start(const struct neap_config *config, struct neap_live *live,
		     const struct neap_log *log, struct neap_error *err)
{
	const struct neap_budget_watchdog watchdog = {.stuck = neap_stuck_note};
	char text[FILE_BYTES + 1];
	struct stat st;
	off_t from;
	ssize_t len;

	(void)snprintf(stuck_file, sizeof(stuck_file), "%s/stuck-policies",
		       config->data_dir);
	stuck_fd = open_file();
	if (stuck_fd < 0 || fstat(stuck_fd, &st) < 0)
		return neap_error_sys(err, "open %s", stuck_file);
	if (!S_ISREG(st.st_mode))
		return neap_error_set(err, NEAP_EINVAL,
				      "%s is no regular file: remove it", stuck_file);
	if (st.st_uid != geteuid() || (st.st_mode & 022) != 0)
		return neap_error_set(
			err, NEAP_EFORBIDDEN,
			"%s must belong to neapd's user and not be writable by others: "
			"remove it, or chown and chmod 600 it",
			stuck_file);
	/* In a file that is too large the newest lines count. */
	from = st.st_size > FILE_BYTES ? st.st_size - FILE_BYTES : 0;
	len = pread(stuck_fd, text, FILE_BYTES, from);
	if (len < 0)
		return neap_error_sys(err, "read %s", stuck_file);
	text[len] = '\0';
	ban(text, live, log);
	neap_budget_set_watchdog(&watchdog);
	return 0;
}
