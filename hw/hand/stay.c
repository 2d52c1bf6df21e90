/* SPDX-License-Identifier: Apache-2.0
 *
 * What is not restored (see journal_stay.c): the kernel tells which groups have
 * processes. A later neapd takes them over; a later restore removes those that became
 * empty. */
#include <fcntl.h>
#include <unistd.h>

#include "hw/hand/hand_priv.h"

static bool has_process(void *arg, const char *group)
{
	const struct neap_cgroup *cgroup = arg;
	char byte;

	/* Trees of plain files hold no processes. */
	for (int i = 0; i < NEAP_CTL_COUNT && !cgroup->is_fake; i++) {
		neap_auto_fd int fd = -1;

		if (!cgroup->mount[i].is_present)
			continue;
		fd = neap_cgroup_open(cgroup, (enum neap_controller)i, group,
				      "cgroup.procs", O_RDONLY | O_CLOEXEC, NULL);
		/* One that cannot be read may have some. */
		if (fd >= 0 && read(fd, &byte, 1) != 0)
			return true;
	}
	return false;
}

void neap_hand_stay_look(struct neap_hand_server *server)
{
	neap_journal_stay_look(server->journal, has_process,
			       (void *)(uintptr_t)server->config.cgroup);
}

int neap_hand_stay_left(const struct neap_hand_server *server)
{
	int count = neap_journal_count(server->journal);
	int left = 0;

	for (int i = 0; i < count; i++)
		left += !neap_journal_get(server->journal, i)->is_back;
	return left;
}

int neap_hand_stay_tell(struct neap_hand_server *server)
{
	const struct neap_journal *journal = server->journal;
	int groups = 0, values = 0;

	for (int i = 0; i < neap_journal_made_count(journal); i++) {
		const struct neap_journal_made *made = neap_journal_made_get(journal, i);

		groups += made->stays && neap_journal_made_is_pod(made);
	}
	if (groups)
		neap_log_line(
			&server->log, NEAP_LOG_WARN,
			"%d groups of pods that run stay, with their limits: delete the "
			"pods ('kubectl delete pod' while a neapd runs) or kill their "
			"processes, then give back again",
			groups);
	for (int i = 0; i < neap_journal_count(journal); i++)
		values += neap_journal_get(journal, i)->stays;
	return values;
}
