/* SPDX-License-Identifier: Apache-2.0
 *
 * What of a journal stays when the rest is given back: pods outlive the daemon, and
 * one that runs without its limits could take the machine. So a pod's group stays with
 * its weight and limits while a process is inside, and so do the groups of neap's own
 * above it with their weights, by which their pods share the machine. What only
 * policies set goes back as everywhere: nobody is there any more to take it away when
 * its reason has gone. */
#include <string.h>

#include "engine/machine/path.h"
#include "hw/hand/journal_priv.h"

bool neap_journal_made_is_pod(const struct neap_journal_made *made)
{
	return made->origin && strcmp(made->origin, NEAP_JOURNAL_ORIGIN_POD) == 0;
}

/* What a pod has of its own: its weight, and limits of CPU time, memory and processes. */
static bool is_of_pods(enum neap_key key)
{
	return key == NEAP_KEY_CPU_SHARES || key == NEAP_KEY_CPU_MAX_MILLI ||
	       key == NEAP_KEY_MEMORY_MAX_BYTES || key == NEAP_KEY_PIDS_MAX;
}

static bool value_stays(const struct neap_journal *journal,
			const struct neap_journal_entry *entry)
{
	int index = neap_journal_made_find(journal, entry->group);
	const struct neap_journal_made *made;

	if (index < 0)
		return false;
	made = &journal->made[index];
	if (!made->stays)
		return false;
	return neap_journal_made_is_pod(made) ? is_of_pods(entry->key)
					      : entry->key == NEAP_KEY_CPU_SHARES ||
							entry->key == NEAP_KEY_CPU_IDLE;
}

void neap_journal_stay_look(struct neap_journal *journal,
			    bool (*runs)(void *arg, const char *group), void *arg)
{
	int i, k;

	for (i = 0; i < journal->made_count; i++)
		journal->made[i].stays = false;
	for (i = 0; i < journal->made_count; i++) {
		const struct neap_journal_made *made = &journal->made[i];

		if (!neap_journal_made_is_pod(made) || (runs && !runs(arg, made->group)))
			continue;
		for (k = 0; k < journal->made_count; k++)
			if (neap_path_is_below(made->group, journal->made[k].group))
				journal->made[k].stays = true;
	}
	for (i = 0; i < journal->count; i++)
		journal->entries[i].stays = value_stays(journal, &journal->entries[i]);
}

int neap_journal_look(int dir_fd, const char *boot_id, struct neap_journal_look *ret,
		      struct neap_error *err)
{
	/* Whoever opens it tells of wrong lines. */
	static const struct neap_log silent = {-1, NEAP_LOG_ERROR, NEAP_LOG_TEXT, ""};
	struct neap_journal *journal = NULL;
	struct neap_journal_look look = {0};
	int rc = neap_journal_new(dir_fd, boot_id, &silent, &journal, err);

	if (rc < 0)
		return rc;
	rc = neap_journal_load(journal, &look.is_there, err);
	look.is_void = journal->is_void;
	look.values = journal->count;
	look.groups = journal->made_count;
	if (rc == 0) {
		neap_journal_stay_look(journal, NULL, NULL);
		for (int i = 0; i < journal->count; i++)
			look.values_of_pods += journal->entries[i].stays;
		for (int i = 0; i < journal->made_count; i++)
			look.groups_of_pods += journal->made[i].stays;
	}
	neap_journal_free(journal); /* has no file of its own, so none is removed */
	if (rc < 0)
		return rc;
	if (ret)
		*ret = look;
	return 0;
}
