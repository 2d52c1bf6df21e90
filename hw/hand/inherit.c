/* SPDX-License-Identifier: Apache-2.0
 *
 * Inherited CPU sets. On v1 a new group copies its parent's CPUs and memory nodes, even
 * if neap had narrowed them. Nothing was written to it, so nothing is recorded, and it
 * would stay narrow after its parent is widened. The loop reports such groups as it finds
 * them; this file handles those created after its last scan. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "hw/hand/hand_priv.h"

/* A child with the same value as its parent gets an entry with the parent's original
 * value. So does any group of neap's own, because nobody else sets values in those. */
static void child_note(struct neap_hand_server *server,
		       const struct neap_journal_entry *parent, const char *name,
		       bool *ret_moved)
{
	struct neap_journal_entry entry = {.value = parent->value, .key = parent->key};
	struct neap_error err = {0};
	char group[NEAP_PATH_MAX];
	int index;

	if (snprintf(group, sizeof(group), "%s/%s", parent->group, name) >=
	    (int)sizeof(group))
		return;
	if (!neap_path_is_safe(group) ||
	    neap_hand_file_read(&server->files, group, parent->key, server->new_value,
				&entry.dev, &entry.ino) != 0 ||
	    strcmp(server->new_value, parent->value) == 0)
		return;
	if (strcmp(server->new_value, server->old_value) != 0 &&
	    neap_journal_made_find(server->journal, group) < 0)
		return;
	index = neap_journal_find(server->journal, group, parent->key);
	if (index >= 0 && neap_journal_get(server->journal, index)->dev == entry.dev &&
	    neap_journal_get(server->journal, index)->ino == entry.ino)
		return;
	if (index >= 0) { /* of an earlier group of that name */
		neap_journal_drop(server->journal, index);
		*ret_moved = true;
	}
	entry.group = group;
	if (neap_journal_add(server->journal, &entry, &err) < 0)
		neap_log_line(&server->log, NEAP_LOG_WARN,
			      "%s of %s stays as it was made: %s",
			      neap_key_get(entry.key)->name, group, err.msg);
}

static void children_note(struct neap_hand_server *server,
			  const struct neap_journal_entry *parent, bool *ret_moved)
{
	int fd = neap_cgroup_open(server->config.cgroup,
				  neap_key_get(parent->key)->controller, parent->group,
				  NULL, O_RDONLY | O_DIRECTORY | O_CLOEXEC, NULL);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *child;

	if (!dir) {
		neap_fd_close(&fd);
		return; /* gone */
	}
	while ((child = readdir(dir)))
		if (child->d_type == DT_DIR && child->d_name[0] != '.')
			child_note(server, parent, child->d_name, ret_moved);
	(void)closedir(dir);
}

void neap_hand_inherited_note(struct neap_hand_server *server)
{
	/* The list grows during the loop: children of children come later in it. Dropping
	 * an entry moves others, so the list is then walked again. */
	for (int i = 0; i < neap_journal_count(server->journal); i++) {
		const struct neap_journal_entry *entry =
			neap_journal_get(server->journal, i);
		struct neap_journal_entry parent = *entry;
		neap_auto_free char *group = NULL, *value = NULL;
		uint64_t dev, ino;
		bool v2 = false, is_moved = false;

		if (parent.key != NEAP_KEY_CPUSET_CPUS &&
		    parent.key != NEAP_KEY_CPUSET_MEMS)
			continue;
		(void)neap_cgroup_file(server->config.cgroup, parent.key, NULL, &v2);
		if (v2 || !*parent.value ||
		    neap_hand_file_read(&server->files, parent.group, parent.key,
					server->old_value, &dev, &ino) != 0 ||
		    dev != parent.dev || ino != parent.ino)
			continue;
		group = parent.group = neap_strdup(parent.group);
		value = parent.value = neap_strdup(parent.value);
		if (group && value)
			children_note(server, &parent, &is_moved);
		if (is_moved)
			i = -1;
	}
}
