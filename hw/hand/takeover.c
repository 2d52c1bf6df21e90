/* SPDX-License-Identifier: Apache-2.0
 *
 * One hand at a time per run directory. The hand holds a record lock on hand.lock for
 * life, so the kernel itself knows who it is (F_GETLK) and releases it when it is killed;
 * no pid file can be wrong. A successor asks by SIGUSR1 through a pidfd; a hand whose
 * daemon lives ignores it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "hw/hand/hand_priv.h"

int64_t neap_hand_now_usec(void)
{
	return neap_clock_usec(CLOCK_BOOTTIME);
}

int neap_hand_run_dir_open(const char *path, bool make, struct neap_error *err)
{
	struct stat st;
	int fd;

	if (make && mkdir(path, 0755) == 0)
		(void)chmod(path, 0755); /* whatever the umask; checked below */
	else if (make && errno != EEXIST)
		return neap_error_sys(err, "make directory %s", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return neap_error_sys(err, "open directory %s", path);
	if (fstat(fd, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid()) &&
	    !(st.st_mode & 022))
		return fd;
	(void)close(fd);
	return neap_error_set(err, NEAP_EFORBIDDEN,
			      "%s must belong to root and be writable by nobody else "
			      "(chown root %s; chmod 755 %s)",
			      path, path, path);
}

static int lock_try(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_SETLK, &lock) < 0 ? errno : 0;
}

/* 0: nobody holds it. -1: somebody in another PID namespace. */
static int lock_owner(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
		return 0;
	return lock.l_pid > 0 ? lock.l_pid : -1;
}

/* Once the pidfd exists the owner is asked again: if it is the same, the pidfd belongs to
 * the owner and not to a later process with that number. */
static void owner_ask(int fd, int pid)
{
	neap_auto_fd int pidfd = -1;

	if (pid <= 0)
		return;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0 || lock_owner(fd) != pid)
		return;
	(void)syscall(SYS_pidfd_send_signal, pidfd, SIGUSR1, NULL,
		      0); /* asked again soon */
}

bool neap_hand_is_held(int run_dir_fd)
{
	neap_auto_fd int fd =
		openat(run_dir_fd, "hand.lock", O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && lock_owner(fd) != 0;
}

int neap_hand_lock(int run_dir_fd, const struct neap_log *log, struct neap_error *err)
{
	neap_auto_fd int fd = -1;
	int64_t until = neap_hand_now_usec() + NEAP_HAND_TAKEOVER_SEC * 1000000;
	int told = 0;
	int owner = 0;
	int rc, taken;

	fd = openat(run_dir_fd, "hand.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return neap_error_sys(err, "open hand.lock");
	for (;;) {
		rc = lock_try(fd);
		if (rc == 0)
			break;
		if (rc != EAGAIN && rc != EACCES && rc != EINTR) {
			errno = rc;
			return neap_error_sys(err, "lock hand.lock");
		}
		owner = lock_owner(fd);
		if (owner > 0 && owner != told) {
			neap_log_line(log, NEAP_LOG_INFO, "asking hand %d to hand over",
				      owner);
			told = owner;
		}
		owner_ask(fd, owner);
		if (neap_hand_now_usec() >= until && owner < 0)
			return neap_error_set(
				err, NEAP_ECONFLICT,
				"a hand in another PID namespace is at work here; "
				"use another run directory");
		if (neap_hand_now_usec() >= until)
			return neap_error_set(
				err, NEAP_ECONFLICT,
				"the hand with pid %d is at work here for a daemon "
				"that lives; stop that daemon, or use another run "
				"directory",
				owner);
		(void)poll(NULL, 0, 50);
	}
	taken = fd;
	fd = -1;
	return taken;
}
