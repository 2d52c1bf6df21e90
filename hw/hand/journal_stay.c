/* SPDX-License-Identifier: Apache-2.0
 *
 * What of a journal stays when the rest is restored. Pods outlive the daemon, and one
 * without limits could take the machine. So a pod's group keeps its baseline weight and
 * limits while a process is inside, and so do neap's groups above it, by whose weights
 * the pods share the machine. Values written by policies over these are undone, and keys
 * that only policies set are restored as everywhere, because nobody is left to undo them
 * when their reason ends. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/machine/path.h"
#include "hw/hand/journal_priv.h"

bool neap_journal_made_is_pod(const struct neap_journal_made *made)
{
	return made->origin && strcmp(made->origin, NEAP_JOURNAL_ORIGIN_POD) == 0;
}

bool neap_journal_key_stays(enum neap_key key, bool is_of_pod)
{
	switch (key) {
	case NEAP_KEY_CPU_SHARES:
		return true;
	case NEAP_KEY_CPU_MAX_MILLI:
	case NEAP_KEY_MEMORY_MAX_BYTES:
	case NEAP_KEY_PIDS_MAX:
		return is_of_pod;
	default:
		return false;
	}
}

/* The group that neap made, where it can have such a value by itself. */
static const struct neap_journal_made *holder_of(const struct neap_journal *journal,
						 const struct neap_journal_entry *entry)
{
	int index = neap_journal_made_find(journal, entry->group);
	const struct neap_journal_made *made = index >= 0 ? &journal->made[index] : NULL;

	return made && neap_journal_key_stays(entry->key, neap_journal_made_is_pod(made))
		       ? made
		       : NULL;
}

int neap_journal_own_put(struct neap_journal_entry *entry, const char *own,
			 struct neap_error *err)
{
	char *copy = own ? neap_strdup(own) : NULL;

	if (own && !copy)
		return neap_error_nomem(err);
	free(entry->own);
	entry->own = copy;
	return 0;
}

int neap_journal_own_assume(struct neap_journal *journal, struct neap_error *err)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < journal->count; i++)
		if (!journal->entries[i].own && holder_of(journal, &journal->entries[i]))
			rc = neap_journal_own_put(&journal->entries[i],
						  NEAP_JOURNAL_OWN_AS_IS, err);
	return rc;
}

int neap_journal_own_set(struct neap_journal *journal, int index, const char *own,
			 struct neap_error *err)
{
	struct neap_journal_entry *entry = &journal->entries[index];
	struct neap_journal_entry next = {0};
	neap_auto_buf struct neap_buf line = {0};
	int rc = neap_journal_own_put(&next, own, err);

	if (rc < 0)
		return rc;
	neap_buf_init(&line, NEAP_BUF_LINE);
	neap_journal_own_line(&line, entry->group, entry->key, own);
	rc = neap_journal_append(journal, &line, err);
	if (rc < 0) {
		free(next.own);
		return rc;
	}
	free(entry->own);
	entry->own = next.own;
	return 0;
}

const char *neap_journal_back(const struct neap_journal_entry *entry)
{
	return entry->stays ? entry->own : entry->value;
}

void neap_journal_back_note(struct neap_journal *journal, int index)
{
	journal->entries[index].is_back = true;
}

void neap_journal_stay_end(struct neap_journal *journal)
{
	for (int i = 0; i < journal->made_count; i++)
		journal->made[i].stays = false;
	for (int i = 0; i < journal->count; i++)
		journal->entries[i].stays = journal->entries[i].is_back = false;
}

void neap_journal_stay_look(struct neap_journal *journal,
			    bool (*runs)(void *arg, const char *group), void *arg)
{
	neap_journal_stay_end(journal);
	for (int i = 0; i < journal->made_count; i++) {
		const struct neap_journal_made *made = &journal->made[i];

		if (!neap_journal_made_is_pod(made) || (runs && !runs(arg, made->group)))
			continue;
		for (int k = 0; k < journal->made_count; k++)
			if (neap_path_is_below(made->group, journal->made[k].group))
				journal->made[k].stays = true;
	}
	for (int i = 0; i < journal->count; i++) {
		struct neap_journal_entry *entry = &journal->entries[i];
		const struct neap_journal_made *made =
			entry->own ? holder_of(journal, entry) : NULL;

		entry->stays = made && made->stays;
		entry->is_back =
			entry->stays && strcmp(entry->own, NEAP_JOURNAL_OWN_AS_IS) == 0;
	}
}

int neap_journal_look(int dir_fd, const char *boot_id, struct neap_journal_look *ret,
		      struct neap_error *err)
{
	/* Wrong lines are reported by whoever opens it. */
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
	neap_journal_free(journal); /* has no file of its own, so nothing is removed */
	if (rc < 0)
		return rc;
	if (ret)
		*ret = look;
	return 0;
}
