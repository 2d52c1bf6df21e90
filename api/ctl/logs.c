/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl logs`: the output of a background workload. */
#include "api/ctl/logs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/ctl/base/ctl.h"
#include "engine/base/file.h"

#define FOLLOW_USEC 200000

struct logs_values {
	bool follow;
};

static const struct neap_option options[] = {
	{"follow", 'f', NEAP_OPTION_FLAG, offsetof(struct logs_values, follow), NULL,
	 "print new output as it comes, until Ctrl-C"},
	{""},
};

int neap_logs_dir(char *ret, struct neap_error *err)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int need;

	if (state != NULL && *state == '/')
		need = snprintf(ret, PATH_MAX, "%s/neap/run", state);
	else if (geteuid() == 0)
		need = snprintf(ret, PATH_MAX, "/var/log/neap/run");
	else if (home != NULL && *home == '/')
		need = snprintf(ret, PATH_MAX, "%s/.local/state/neap/run", home);
	else
		return neap_error_set(
			err, NEAP_EINVAL,
			"neither XDG_STATE_HOME nor HOME says where logs go");
	if (need >= PATH_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "the path is too long");
	return neap_folder_make(ret, 0700, err);
}

int neap_logs_path(const char *dir, const char *name, char *ret, struct neap_error *err)
{
	if (*name == '.' || strchr(name, '/') != NULL)
		return neap_error_set(err, NEAP_EINVAL,
				      "'%.64s' is no name of a workload", name);
	if (snprintf(ret, PATH_MAX, "%s/%s.log", dir, name) >= PATH_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "the path is too long");
	return 0;
}

static int copy(int fd, bool follow)
{
	char text[65536];
	ssize_t len;

	for (;;) {
		len = read(fd, text, sizeof(text));
		if (len < 0)
			return neap_ctl_complainf(NEAP_CTL_FAILED, "the log: %s",
						  strerror(errno));
		if (len == 0 && !follow)
			return 0;
		if (len == 0)
			(void)usleep(FOLLOW_USEC); /* sooner by a signal is fine */
		if (fwrite(text, 1, (size_t)len, stdout) != (size_t)len ||
		    fflush(stdout) != 0)
			return neap_ctl_complainf(NEAP_CTL_FAILED,
						  "standard output: cannot write");
	}
}

static int logs(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct logs_values *values = arg;
	char dir[PATH_MAX], path[PATH_MAX];
	struct neap_error err = {0};
	neap_auto_fd int fd = -1;

	(void)ctl, (void)argc;
	if (neap_logs_dir(dir, &err) < 0 || neap_logs_path(dir, argv[0], path, &err) < 0)
		return neap_ctl_complain(NEAP_CTL_FAILED, &err);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return neap_ctl_complainf(
			NEAP_CTL_FAILED,
			"there is no %s: what 'neapctl run' starts without --background "
			"writes where it was started",
			path);
	if (fd < 0)
		return neap_ctl_complainf(NEAP_CTL_FAILED, "%s: %s", path,
					  strerror(errno));
	return copy(fd, values->follow);
}

const struct neap_command neap_command_logs = {
	.name = "logs",
	.usage = "[-f] WORKLOAD",
	.example = "logs -f make-1",
	.summary = "the output of what 'neapctl run --background' started",
	.text = "Also after it has ended, until another workload of that name starts.\n",
	.options = options,
	.values_size = sizeof(struct logs_values),
	.args_min = 1,
	.args_max = 1,
	.run = logs,
};
