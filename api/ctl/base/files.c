/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading texts, scratch directories, running other programs. */
#include "api/ctl/base/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/file.h"

extern char **environ;

int neap_file_read(const char *file, struct neap_buf *ret, struct neap_error *err)
{
	neap_auto_fd int fd = -1;

	neap_buf_clear(ret);
	if (strcmp(file, "-") == 0)
		return neap_fd_read_rest(STDIN_FILENO, "standard input", ret, err);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return neap_error_sys(err, "%s", file);
	return neap_fd_read_rest(fd, file, ret, err);
}

int neap_scratch_open(struct neap_scratch *ret, struct neap_error *err)
{
	const char *base = getenv("TMPDIR");
	char dir[PATH_MAX];

	if (base == NULL || !*base)
		base = "/tmp";
	if (snprintf(dir, sizeof(dir), "%s/neapctl-XXXXXX", base) >= (int)sizeof(dir))
		return neap_error_set(err, NEAP_EINVAL, "TMPDIR is too long");
	if (mkdtemp(dir) == NULL)
		return neap_error_sys(err, "%s: new folder", base);
	memcpy(ret->dir, dir, sizeof(dir));
	return 0;
}

int neap_scratch_add(const struct neap_scratch *scratch, const char *name,
		     const char *text, size_t len, char *ret_path, struct neap_error *err)
{
	neap_auto_fd int fd = -1;
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", scratch->dir, name) >=
	    (int)sizeof(path))
		return neap_error_set(err, NEAP_EINVAL, "%s: too long a path", name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return neap_error_sys(err, "%s", path);
	if (neap_fd_write(fd, text, len) < 0)
		return neap_error_sys(err, "write %s", path);
	memcpy(ret_path, path, sizeof(path));
	return 0;
}

void neap_scratch_close(struct neap_scratch *scratch)
{
	const struct dirent *entry;
	DIR *dir;

	if (!scratch->dir[0])
		return;
	dir = opendir(scratch->dir);
	while (dir != NULL && (entry = readdir(dir)) != NULL)
		(void)unlinkat(dirfd(dir), entry->d_name, 0); /* not "." and ".." */
	if (dir != NULL)
		(void)closedir(dir);
	(void)rmdir(scratch->dir); /* stays where an editor made a folder */
	scratch->dir[0] = '\0';
}

/* The program must not inherit that we ignore the keys which end it. */
static int spawn(const char *const *args, const int pipe_fds[2], bool has_pipe,
		 pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t defaults;
	int r;

	(void)sigemptyset(&defaults);
	(void)sigaddset(&defaults, SIGINT);
	(void)sigaddset(&defaults, SIGQUIT);
	r = posix_spawn_file_actions_init(&actions);
	if (r != 0)
		return r;
	if (has_pipe)
		r = posix_spawn_file_actions_adddup2(&actions, pipe_fds[1],
						     STDOUT_FILENO);
	if (r == 0)
		r = posix_spawnattr_init(&attr);
	if (r == 0) {
		(void)posix_spawnattr_setsigdefault(&attr, &defaults);
		(void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
		r = posix_spawnp(ret, args[0], &actions, &attr, (char *const *)args,
				 environ);
		(void)posix_spawnattr_destroy(&attr);
	}
	(void)posix_spawn_file_actions_destroy(&actions);
	return r;
}

static int status_of(pid_t pid, const char *name, struct neap_error *err)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return neap_error_sys(err, "%s", name);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int neap_program_run(const char *const *args, struct neap_buf *out,
		     struct neap_error *err)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, quit;
	int fds[2] = {-1, -1}, failed, r = 0, status = 0;
	pid_t pid = 0;

	if (out != NULL && pipe2(fds, O_CLOEXEC) < 0)
		return neap_error_sys(err, "pipe");
	/* Ctrl-C is for the program, as with system(3). */
	(void)sigaction(SIGINT, &ignore, &interrupt);
	(void)sigaction(SIGQUIT, &ignore, &quit);
	failed = spawn(args, fds, out != NULL, &pid);
	if (out != NULL)
		(void)close(fds[1]);
	if (failed == 0) {
		if (out != NULL)
			r = neap_fd_read_rest(fds[0], args[0], out, err);
		if (out != NULL)
			(void)close(fds[0]);
		status = status_of(pid, args[0], r == 0 ? err : NULL);
		if (r == 0)
			r = status;
	} else {
		if (out != NULL)
			(void)close(fds[0]);
		errno = failed;
		r = neap_error_sys(err, "%s", args[0]);
	}
	(void)sigaction(SIGINT, &interrupt, NULL);
	(void)sigaction(SIGQUIT, &quit, NULL);
	return r;
}
