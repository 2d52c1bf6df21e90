/* SPDX-License-Identifier: Apache-2.0
 *
 * The keeper's own process: forks a shim on request, returns a connection to it, and
 * waits for ended shims. It reads nothing else and knows nothing about pods. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "hw/jail.h"
#include "hw/keeper/keeper_priv.h"
#include "hw/packet.h"
#include "hw/process.h"

#define CAP(number) (1ull << (number))
/* KILL for shims; SETGID, SETUID, SETPCAP for who changes the user; SYS_NICE and
 * SYS_RESOURCE to give up what neapd was started with. */
#define KEEPER_CAPS (CAP(5) | CAP(6) | CAP(7) | CAP(8) | CAP(23) | CAP(24))

int neap_keeper_signals_set(struct neap_error *err)
{
	static const int ignored[] = {SIGINT,  SIGQUIT, SIGHUP,  SIGPIPE,
				      SIGTERM, SIGTTOU, SIGTTIN, SIGTSTP,
				      SIGUSR1, SIGUSR2, SIGXFSZ, 0};
	static const int blocked[] = {SIGCHLD, 0};

	return neap_process_signals(ignored, blocked, err);
}

static void answer(int sock, uint64_t id, int errnum, int fd)
{
	const struct neap_keeper_spawn spawn = {NEAP_KEEPER_SPAWN, errnum, id};
	ssize_t n;

	for (;;) {
		struct pollfd p = {.fd = sock, .events = POLLOUT};

		n = neap_packet_send(sock, &spawn, sizeof(spawn), fd);
		if (n >= 0 || (errno != EINTR && errno != EAGAIN && errno != ENOBUFS))
			return; /* a vanished loop shows at the next receive */
		(void)poll(&p, 1, 1000);
	}
}

/* 0 or an errno. */
static int shim_fork(const struct neap_keeper_config *config, int dir_fd, int *ret_fd)
{
	struct neap_log log = config->log;
	int pair[2];
	int pid, errnum;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) <
	    0)
		return errno;
	pid = fork();
	if (pid == 0)
		neap_keeper_shim(config, dir_fd, pair[1]);
	errnum = errno;
	(void)close(pair[1]);
	if (pid > 0) {
		*ret_fd = pair[0];
		return 0;
	}
	(void)close(pair[0]);
	log.program = "neap-keeper";
	neap_log_line(&log, NEAP_LOG_WARN, "fork for a command: %s", strerror(errnum));
	return errnum;
}

static void reap(int signal_fd, int *count)
{
	struct signalfd_siginfo info;

	while (read(signal_fd, &info, sizeof(info)) == sizeof(info))
		;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		--*count;
}

/* False at the end of the connection, or when it says what the loop never says. */
static bool spawn_take(const struct neap_keeper_config *config, int sock, int dir_fd,
		       int *count)
{
	struct neap_keeper_spawn spawn = {0};
	int fd = -1, shim_fd = -1;
	int errnum = EAGAIN;
	ssize_t n = neap_packet_receive(sock, &spawn, sizeof(spawn), &fd);

	if (n < 0 && errno == EAGAIN)
		return true;
	neap_fd_close(&fd);
	if (n != sizeof(spawn) || spawn.magic != NEAP_KEEPER_SPAWN || spawn.errnum != 0)
		return false;
	if (*count < NEAP_KEEPER_SHIMS_MAX)
		errnum = shim_fork(config, dir_fd, &shim_fd);
	*count += shim_fd >= 0;
	answer(sock, spawn.id, errnum, shim_fd);
	neap_fd_close(&shim_fd);
	return true;
}

_Noreturn void neap_keeper_serve(const struct neap_keeper_config *config, int sock,
				 int dir_fd)
{
	const int keep[] = {sock, dir_fd, config->log.fd};
	struct neap_error err = {0};
	int count = 0;
	int signal_fd, rc;

	(void)setsid();
	(void)prctl(PR_SET_NAME, "neap-keeper", 0, 0, 0);
	if (chdir("/") < 0)
		errno = 0; /* any directory would do, as long as it holds no mount */
	(void)umask(027);
	neap_process_fds_keep(keep, NEAP_ARRAY_LEN(keep));
	signal_fd = neap_keeper_signals_set(&err);
	rc = signal_fd < 0 ? signal_fd : 0;
	if (rc == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		rc = neap_error_sys(&err, "no_new_privs");
	if (rc == 0)
		rc = neap_jail_drop(KEEPER_CAPS, &err);
	/* The first answer: ready, or why not. */
	answer(sock, 0, rc == 0 ? 0 : (err.errnum ? err.errnum : EPERM), -1);
	while (rc == 0) {
		struct pollfd p[2] = {
			{.fd = sock, .events = POLLIN},
			{.fd = signal_fd, .events = POLLIN},
		};

		if (poll(p, 2, -1) < 0 && errno != EINTR && errno != EAGAIN)
			break;
		if (p[1].revents)
			reap(signal_fd, &count);
		if (p[0].revents && !spawn_take(config, sock, dir_fd, &count))
			break;
	}
	_exit(rc < 0);
}
