/* SPDX-License-Identifier: Apache-2.0
 *
 * Drops what the hand does not need once it has its lock and journal: capabilities,
 * places, system calls. Also reports how its daemon ended, because a daemon killed by its
 * own filter cannot. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "hw/hand/hand_priv.h"

#define FIXED_PLACES 5
#define REAP_WAIT_MS 100 /* for the daemon's parent to fetch its status */

static int place_open(const char *path)
{
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Read access for everything that the hand looks up itself: /proc/PID of moved processes,
 * lists of CPUs, files of a kubelet. */
static int places_set(const struct neap_hand_server *server, struct neap_error *err)
{
	const struct neap_cgroup *cgroup = server->config.cgroup;
	const bool writes = !server->config.only_reads;
	neap_auto_fd int proc = place_open("/proc");
	neap_auto_fd int sys = place_open("/sys/devices/system");
	neap_auto_fd int pressure = place_open("/proc/pressure");
	struct neap_jail_place places[FIXED_PLACES + NEAP_CTL_COUNT] = {
		{.fd = proc},
		{.fd = sys},
		{.fd = pressure, .can_write = writes},
		{.fd = server->run_dir_fd, .can_write = true, .makes_files = true},
		{.fd = server->kubelet_fd >= 0 ? server->kubelet_fd
					       : server->kubelet_place_fd},
	};
	size_t count = FIXED_PLACES;

	for (int i = 0; i < NEAP_CTL_COUNT; i++) {
		if (!cgroup->mount[i].is_present)
			continue;
		places[count++] = (struct neap_jail_place){
			.fd = cgroup->mount[i].fd,
			.can_write = writes,
			.has_groups = writes,
			.makes_files = writes && cgroup->is_fake,
		};
	}
	return neap_jail_places(places, count, err);
}

int neap_hand_confine(struct neap_hand_server *server, struct neap_error *err)
{
	struct neap_error why = {0};
	int version, rc;

	rc = neap_jail_bound(NEAP_JAIL_HAND_CAPS, err);
	if (rc == 0)
		rc = neap_jail_drop(NEAP_JAIL_HAND_CAPS, err);
	if (rc < 0)
		return rc;
	version = places_set(server, err);
	if (version < 0)
		return version;
	if (version == 0)
		neap_log_line(&server->log, NEAP_LOG_DEBUG,
			      "this kernel has no Landlock: places are not confined");
	rc = neap_jail_filter(NEAP_JAIL_HAND, server->config.jail, &why);
	if (rc == -NEAP_EUNSUPPORTED) {
		/* The daemon runs into the same problem, and warns. */
		neap_log_line(&server->log, NEAP_LOG_DEBUG,
			      "system calls are not filtered: %s", why.msg);
	} else if (rc < 0) {
		if (err)
			*err = why;
		return rc;
	}
	return version;
}

/* --- the daemon's end --- */

/* struct pidfd_info of <linux/pidfd.h>, as of Linux 6.13. */
struct pidfd_info {
	uint64_t mask, cgroup_id;
	uint32_t pid, tgid, ppid, ids[8];
	int32_t exit_code;
};
#define PIDFD_INFO    _IOWR(0xff, 11, struct pidfd_info)
#define INFO_HAS_EXIT (1u << 3)

int neap_hand_daemon_watch(int pid)
{
	neap_auto_fd int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pidfd_info info = {.mask = INFO_HAS_EXIT};
	int kept = fd;

	/* Before Linux 6.13 there is no status to read, so do not wait for it. */
	if (fd < 0 || ioctl(fd, PIDFD_INFO, &info) < 0)
		return -1;
	fd = -1;
	return kept;
}

void neap_hand_daemon_end(const struct neap_hand_server *server)
{
	struct pollfd p = {.fd = server->daemon_fd, .events = 0};
	struct pidfd_info info = {.mask = INFO_HAS_EXIT};
	int number;

	/* Hung up: its status was fetched, and the kernel keeps it for us (Linux
	 * 6.15). */
	if (p.fd < 0 || poll(&p, 1, REAP_WAIT_MS) <= 0 || !(p.revents & POLLHUP) ||
	    ioctl(p.fd, PIDFD_INFO, &info) < 0 || !(info.mask & INFO_HAS_EXIT) ||
	    !WIFSIGNALED(info.exit_code))
		return;
	number = WTERMSIG(info.exit_code);
	if (number == SIGSYS)
		neap_log_line(
			&server->log, NEAP_LOG_ERROR,
			"the daemon was killed by its filter of system calls: it made "
			"one that neap never makes, so it may have been hijacked; the "
			"kernel's log (audit type 1326) names the call, "
			"doc/security.md says what to do");
	else
		neap_log_line(&server->log, NEAP_LOG_INFO,
			      "the daemon was killed by signal %d (%s)", number,
			      strsignal(number));
}
