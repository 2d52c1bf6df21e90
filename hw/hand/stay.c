/* SPDX-License-Identifier: Apache-2.0
 *
 * What is not given back: pods outlive the daemon, and one that runs without its limits could take the
 * machine. So a pod's group stays with all that is set in it while a process is inside, and so do
 * the groups of neap's own above it with their weights, by which their pods share the machine. CPU
 * sets go back in any case: to have more CPUs hurts nobody, and others want the ones that a policy kept
 * apart. A later neapd takes over what stays; a later give-back takes what has become empty. */
#include <fcntl.h>
#include <unistd.h>

#include "hw/hand/hand_priv.h"

static bool has_process(const struct neap_cgroup *cgroup, const char *group)
{
	char byte;
	int i;

	/* What is in plain files there is no process. */
	for (i = 0; i < NEAP_CTL_COUNT && !cgroup->is_fake; i++) {
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

static bool value_stays(const struct neap_journal *journal,
			const struct neap_journal_entry *entry)
{
	int index = neap_journal_made_find(journal, entry->group);
	const struct neap_journal_made *made;

	if (index < 0 || neap_key_get(entry->key)->form == NEAP_FORM_CPUSET)
		return false;
	made = neap_journal_made_get(journal, index);
	return made->stays &&
	       (neap_journal_made_is_pod(made) || entry->key == NEAP_KEY_CPU_SHARES ||
		entry->key == NEAP_KEY_CPU_IDLE);
}

void neap_hand_stay_look(struct neap_hand_server *server)
{
	struct neap_journal *journal = server->journal;
	int count = neap_journal_made_count(journal);
	bool any = false;
	int i, k;

	for (i = 0; i < count; i++)
		neap_journal_made_stay(journal, i, false);
	for (i = 0; i < count; i++) {
		const struct neap_journal_made *made = neap_journal_made_get(journal, i);

		if (!neap_journal_made_is_pod(made) ||
		    !has_process(server->config.cgroup, made->group))
			continue;
		any = true;
		for (k = 0; k < count; k++)
			if (neap_path_is_below(made->group,
					       neap_journal_made_get(journal, k)->group))
				neap_journal_made_stay(journal, k, true);
	}
	for (i = 0; i < neap_journal_count(journal); i++)
		neap_journal_stay(
			journal, i,
			any && value_stays(journal, neap_journal_get(journal, i)));
}

int neap_hand_stay_left(const struct neap_hand_server *server)
{
	int count = neap_journal_count(server->journal);
	int left = 0;
	int i;

	for (i = 0; i < count; i++)
		left += !neap_journal_get(server->journal, i)->stays;
	return left;
}

int neap_hand_stay_tell(struct neap_hand_server *server)
{
	const struct neap_journal *journal = server->journal;
	int groups = 0;
	int i;

	for (i = 0; i < neap_journal_made_count(journal); i++) {
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
	return neap_journal_count(journal) - neap_hand_stay_left(server);
}
