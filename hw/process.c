/* SPDX-License-Identifier: Apache-2.0 */
#include "hw/process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

static int by_number(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void neap_process_fds_keep(const int *keep, size_t count)
{
	int list[NEAP_PROCESS_FDS + 3] = {0, 1, 2};
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	bool is_kept[3] = {false};
	size_t all = 3;

	for (size_t i = 0; i < count && i < NEAP_PROCESS_FDS; i++) {
		if (keep[i] >= 0 && keep[i] < 3)
			is_kept[keep[i]] = true;
		else if (keep[i] > 2)
			list[all++] = keep[i];
	}
	for (int i = 0; i < 3; i++)
		if (!is_kept[i] && null_fd >= 0 && null_fd != i)
			(void)dup2(null_fd, i); /* a closed one does no harm */
	qsort(list, all, sizeof(*list), by_number);
	for (size_t i = 0; i + 1 < all; i++)
		if (list[i] + 1 < list[i + 1])
			(void)close_range((unsigned)list[i] + 1,
					  (unsigned)list[i + 1] - 1, 0);
	(void)close_range((unsigned)list[all - 1] + 1, ~0U, 0);
}

int neap_process_signals(const int *ignored, const int *blocked, struct neap_error *err)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	sigset_t taken;
	int fd;

	for (int number = 1; number < NSIG; number++)
		(void)sigaction(number, &action, NULL); /* some cannot be set */
	action.sa_handler = SIG_IGN;
	for (; *ignored; ignored++)
		(void)sigaction(*ignored, &action, NULL);
	sigemptyset(&taken);
	for (; *blocked; blocked++)
		sigaddset(&taken, *blocked);
	(void)sigprocmask(SIG_SETMASK, &taken, NULL);
	fd = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd >= 0 ? fd : neap_error_sys(err, "signalfd");
}
