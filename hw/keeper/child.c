/* SPDX-License-Identifier: Apache-2.0
 *
 * Between fork and exec. The child connects to its shim, so that the kernel identifies
 * the process to move by that connection, and waits; then it drops root and becomes the
 * command. Allocates nothing. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "hw/jail.h"
#include "hw/keeper/keeper_priv.h"

#define KERNEL_SIGNALS   64
#define STATUS_FD        3
#define OPEN_FILES       1024
#define OPEN_FILES_LEAST 16
#define DEFAULT_PATH     "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static _Noreturn void fail(int fd, enum neap_keeper_stage stage, int errnum)
{
	const struct neap_keeper_failure failure = {stage, errnum};

	if (write(fd, &failure, sizeof(failure)) < 0)
		_exit(126); /* the shim is gone, too */
	_exit(127);
}

/* It ends with its shim, because nobody could report how it ended after that. */
static void tie(int shim_pid)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != shim_pid)
		_exit(125);
}

/* Through the system call, because the C library reserves two signals and leaves them
 * ignored if neapd was started that way. */
static void signals_reset(void)
{
	static const unsigned char
		defaults[64]; /* more than the kernel's struct has, all of it 0 */
	sigset_t none;
	int number;

	for (number = 1; number <= KERNEL_SIGNALS; number++)
		(void)syscall(SYS_rt_sigaction, number, defaults, NULL,
			      KERNEL_SIGNALS / 8); /* some cannot be set */
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void file_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		errno = 0; /* it works without */
	(void)close(fd);
}

/* Until the shim says so; when it never will, nothing runs. */
static void wait_for_go(const struct neap_keeper_child *child)
{
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char byte = 0;
	ssize_t n;

	if (sock < 0 || connect(sock, (const struct sockaddr *)&child->address,
				child->address_len) < 0)
		fail(child->status_fd, NEAP_KEEPER_AT_LIMITS, errno);
	do
		n = read(sock, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1 || byte != NEAP_KEEPER_GO_BYTE)
		_exit(125);
}

/* 0 to 2 and the descriptor of failures; nothing else. */
static void fds_set(const struct neap_keeper_child *child)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null_fd < 0 || dup2(null_fd, 0) < 0 || dup2(child->out_fd, 1) < 0 ||
	    dup2(child->err_fd, 2) < 0)
		fail(child->status_fd, NEAP_KEEPER_AT_LIMITS, errno);
	if (child->status_fd != STATUS_FD &&
	    dup3(child->status_fd, STATUS_FD, O_CLOEXEC) < 0)
		fail(child->status_fd, NEAP_KEEPER_AT_LIMITS, errno);
	if (close_range(STATUS_FD + 1, ~0U, 0) < 0)
		fail(STATUS_FD, NEAP_KEEPER_AT_LIMITS, errno);
}

static void limits_set(const struct neap_keeper_order *order)
{
	rlim_t files = order->open_files_max ? (rlim_t)order->open_files_max : OPEN_FILES;
	struct rlimit limit;

	if (files < OPEN_FILES_LEAST)
		files = OPEN_FILES_LEAST;
	limit = (struct rlimit){files, files};
	/* More than the machine gives: as much as there is. */
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0) {
		if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
			fail(STATUS_FD, NEAP_KEEPER_AT_LIMITS, errno);
		if (limit.rlim_max > files)
			limit.rlim_max = files;
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
			fail(STATUS_FD, NEAP_KEEPER_AT_LIMITS, errno);
	}
	/* The keeper's own settings are not for commands. */
	file_put("/proc/self/oom_score_adj", "0");
	(void)setpriority(PRIO_PROCESS, 0, 0);
	(void)umask(022);
}

static void user_set(const struct neap_keeper_config *config)
{
	uid_t uid, euid, suid;
	gid_t gid, egid, sgid;
	struct neap_error err = {0};

	if (neap_jail_bound(0, &err) < 0)
		fail(STATUS_FD, NEAP_KEEPER_AT_USER, err.errnum ? err.errnum : EPERM);
	if (setgroups(0, NULL) < 0 ||
	    setresgid(config->gid, config->gid, config->gid) < 0 ||
	    setresuid(config->uid, config->uid, config->uid) < 0)
		fail(STATUS_FD, NEAP_KEEPER_AT_USER, errno);
	if (getresuid(&uid, &euid, &suid) < 0 || getresgid(&gid, &egid, &sgid) < 0 ||
	    uid != config->uid || euid != uid || suid != uid || uid == 0 ||
	    gid != config->gid || egid != gid || sgid != gid)
		fail(STATUS_FD, NEAP_KEEPER_AT_USER, EPERM);
	if (neap_jail_drop(0, &err) < 0)
		fail(STATUS_FD, NEAP_KEEPER_AT_USER, err.errnum ? err.errnum : EPERM);
}

static void folder_set(const struct neap_keeper_child *child)
{
	const char *home = child->config->home[0] ? child->config->home : "/";

	if (child->order->cwd) {
		if (chdir(child->order->cwd) < 0)
			fail(STATUS_FD, NEAP_KEEPER_AT_FOLDER, errno);
		return;
	}
	if (chdir(home) < 0 && chdir("/") < 0)
		fail(STATUS_FD, NEAP_KEEPER_AT_FOLDER, errno);
}

static const char *path_find(const char *const *envp)
{
	for (size_t i = 0; envp[i]; i++)
		if (strncmp(envp[i], "PATH=", 5) == 0)
			return envp[i] + 5;
	return DEFAULT_PATH;
}

/* As execvp, but with the command's own PATH, and a file that is not a program is not
 * given to a shell. */
static int command_exec(const struct neap_keeper_child *child)
{
	char *const *argv = (char *const *)child->order->argv;
	char *const *envp = (char *const *)child->envp;
	const char *list = path_find(child->envp), *end;
	char path[PATH_MAX];
	int worst = ENOENT;

	if (strchr(argv[0], '/')) {
		(void)execve(argv[0], argv, envp);
		return errno;
	}
	for (;; list = end + 1) {
		end = strchrnul(list, ':');
		/* An empty item is the current folder. */
		if (snprintf(path, sizeof(path), "%.*s%s%s", (int)(end - list), list,
			     end == list ? "./" : "/", argv[0]) < (int)sizeof(path)) {
			(void)execve(path, argv, envp);
			if (errno == EACCES)
				worst = EACCES;
			else if (errno != ENOENT && errno != ENOTDIR)
				return errno;
		}
		if (!*end)
			return worst;
	}
}

_Noreturn void neap_keeper_child_run(const struct neap_keeper_child *child)
{
	tie(child->shim_pid);
	(void)setsid();
	(void)prctl(PR_SET_NAME, "neap-waiting", 0, 0, 0);
	signals_reset();
	wait_for_go(child);
	fds_set(child);
	limits_set(child->order);
	user_set(child->config);
	tie(child->shim_pid); /* the change of the user took it away */
	folder_set(child);
	fail(STATUS_FD, NEAP_KEEPER_AT_EXEC, command_exec(child));
}
