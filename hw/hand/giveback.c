/* SPDX-License-Identifier: Apache-2.0
 *
 * Restores everything to the original values. The plan finds an order the kernel accepts
 * (parents enlarged before children, children shrunk before parents); since its values
 * are in neap's units, each step that ends at the wanted value writes the original text.
 * The rest (empty sets, texts the plan cannot parse, keys that hinder each other such as
 * shares and idle) is retried one by one for a few rounds. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/buf.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/numa/kubelet_facts.h"
#include "hw/hand/hand_priv.h"

#define ROUNDS 3

/* --- what stays (see journal_stay.c) --- */

/* The kernel tells which groups have processes. A later neapd takes them over; a later
 * restore removes those that became empty. */
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

/* Returns how many values are still to be restored. */
static int stay_left(const struct neap_hand_server *server)
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

/* --- CPUs that a kubelet gave --- */

/* The kubelet takes all others off the CPUs that it gives to one container, but does not
 * repeat it for containers it knows; restoring an older value would put others back on
 * them. */

/* False: there is no such file, or it is not a kubelet's. */
static bool state_read(struct neap_hand_server *server, json_t **ret)
{
	neap_auto_fd int fd = neap_hand_kubelet_file(server, NEAP_KUBELET_STATE);
	neap_auto_buf struct neap_buf buf = {0};
	json_error_t where;

	neap_buf_init(&buf, NEAP_KUBELET_FILE_MAX);
	return fd >= 0 && neap_fd_read_rest(fd, "state", &buf, NULL) == 0 &&
	       neap_json_parse(buf.data, buf.len, 0, ret, &where) == 0;
}

static void given_read(struct neap_hand_server *server, struct neap_cpuset *ret)
{
	struct neap_kubelet_facts facts;
	json_t *state = NULL;

	neap_cpuset_clear(ret);
	if (!state_read(server, &state))
		return;
	if (neap_kubelet_facts_read(state, NULL, &facts, NULL) == 0) {
		neap_cpuset_copy(ret, &facts.unnamed);
		for (size_t i = 0; i < facts.pod_count; i++)
			neap_cpuset_or(ret, ret, &facts.pods[i].cpus);
	}
	neap_kubelet_facts_done(&facts);
	json_decref(state);
}

/* Whether the group was made by a kubelet, or another program with such groups, for a
 * container. */
static bool is_container(const struct neap_hand_server *server, const char *group)
{
	for (int i = 0; i < server->config.root_count; i++)
		if (neap_path_is_container(server->config.roots[i], group))
			return !neap_hand_own_root(&server->config, group);
	return false;
}

/* Directories of pods and above stay wide, because the kubelet writes below them. */
static void given_note(struct neap_hand_server *server)
{
	struct neap_cpuset given, cpus;

	given_read(server, &given);
	for (int i = 0;
	     !neap_cpuset_is_empty(&given) && i < neap_journal_count(server->journal);
	     i++) {
		const struct neap_journal_entry *entry =
			neap_journal_get(server->journal, i);

		if (entry->key != NEAP_KEY_CPUSET_CPUS || !*entry->value ||
		    !is_container(server, entry->group) ||
		    neap_cpuset_parse_kernel(&cpus, entry->value, NULL) < 0 ||
		    !neap_cpuset_intersects(&cpus, &given))
			continue;
		neap_cpuset_minus(&cpus, &cpus, &given);
		/* If nothing else is left, this container is the owner. */
		if (!neap_cpuset_is_empty(&cpus) &&
		    neap_cpuset_format(&cpus, server->scratch, sizeof(server->scratch)) <
			    sizeof(server->scratch))
			neap_journal_reword(server->journal, i, server->scratch);
	}
}

/* --- inherited CPU sets --- */

/* On v1 a new group copies its parent's CPUs and memory nodes, even if neap had narrowed
 * them. Nothing was written to it, so nothing is recorded, and it would stay narrow after
 * its parent is widened. The loop reports such groups as it finds them; these are the
 * ones created after its last scan. */

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

static void inherited_note(struct neap_hand_server *server)
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

/* --- giving back --- */

/* Every CPU, no floors: the original values are right by definition. */
static struct neap_plan_bounds *bounds_new(const struct neap_hand_server *server)
{
	struct neap_plan_bounds *bounds = neap_alloc(sizeof(*bounds));

	if (!bounds)
		return NULL;
	neap_cpuset_add_range(&bounds->online, 0, NEAP_CPU_MAX - 1);
	(void)neap_cgroup_file(server->config.cgroup, NEAP_KEY_CPU_SHARES, NULL,
			       &bounds->cpu_is_v2);
	bounds->curve = server->config.curve;
	return bounds;
}

static bool key_is_v2(const struct neap_hand_server *server, enum neap_key key)
{
	bool v2 = false;

	(void)neap_cgroup_file(server->config.cgroup, key, NULL, &v2);
	return v2;
}

static int present_read(void *arg, const char *group, enum neap_key key,
			struct neap_value *ret, struct neap_error *err)
{
	struct neap_hand_server *server = arg;
	int index = neap_journal_find(server->journal, group, key);
	uint64_t dev, ino;
	int rc = neap_hand_file_read(&server->files, group, key, server->scratch, &dev,
				     &ino);

	if (rc || index < 0)
		return 0;
	if (neap_journal_get(server->journal, index)->dev != dev ||
	    neap_journal_get(server->journal, index)->ino != ino)
		return 0;
	rc = neap_value_parse(key, key_is_v2(server, key), server->scratch, ret, err);
	return rc < 0 ? 0 : 1; /* unreadable ones are tried one by one later */
}

static int wish_add(struct neap_hand_server *server,
		    const struct neap_journal_entry *entry, struct neap_wish *wish)
{
	const char *text = neap_journal_back(entry);

	memset(wish, 0, sizeof(*wish));
	if (entry->is_back || !*text ||
	    !neap_strcopy(wish->group, sizeof(wish->group), entry->group))
		return 0;
	wish->key = entry->key;
	wish->is_restore = true;
	(void)neap_strcopy(wish->policy, sizeof(wish->policy), "neap-hand");
	if (neap_value_parse(entry->key, key_is_v2(server, entry->key), text,
			     &wish->value, NULL) < 0)
		return 0;
	return neap_plan_add(server->plan, wish, NULL);
}

static void step_write(struct neap_hand_server *server, const struct neap_write *write)
{
	const struct neap_wish *wish = neap_plan_wish_get(server->plan, write->wish);
	int index = neap_journal_find(server->journal, write->group, write->key);
	bool v2 = key_is_v2(server, write->key);
	const struct neap_journal_entry *entry;
	const char *text;

	if (index < 0)
		return;
	entry = neap_journal_get(server->journal, index);
	if (neap_value_is_equal(write->key, &wish->value, &write->value)) {
		text = neap_hand_text_back(write->key, v2, neap_journal_back(entry));
	} else {
		if (neap_value_format(write->key, v2, server->config.curve, &write->value,
				      server->scratch,
				      sizeof(server->scratch)) >= sizeof(server->scratch))
			return;
		text = server->scratch;
	}
	/* The result is checked afterwards. */
	(void)neap_hand_file_write(&server->files, write->group, write->key, entry->dev,
				   entry->ino, text);
}

static void plan_run(struct neap_hand_server *server)
{
	struct neap_plan_bounds *bounds = bounds_new(server);
	struct neap_wish *wish = neap_alloc(sizeof(*wish));
	int rc = bounds && wish && server->plan ? 0 : -NEAP_ENOMEM;
	size_t step;

	if (rc == 0)
		neap_plan_clear(server->plan);
	for (int i = 0; rc == 0 && i < neap_journal_count(server->journal); i++)
		(void)wish_add(server, neap_journal_get(server->journal, i), wish);
	if (rc == 0)
		rc = neap_plan_build(server->plan, bounds, present_read, server, NULL);
	for (step = 0; rc == 0 && step < neap_plan_write_count(server->plan); step++)
		step_write(server, neap_plan_write_get(server->plan, step));
	free(bounds);
	free(wish);
}

struct item {
	char *group; /* borrowed from the journal until its entry is dropped */
	enum neap_key key;
	int depth;
};

static int by_depth(const void *a, const void *b)
{
	const struct item *x = a;
	const struct item *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return (int)x->key - (int)y->key;
}

/* As neap_hand_entry_restore, for an entry not restored yet; *count grows by one when it
 * has its original value. */
static int entry_back(struct neap_hand_server *server, int index, int *count)
{
	const struct neap_journal_entry *entry =
		index < 0 ? NULL : neap_journal_get(server->journal, index);
	bool stays, is_gone;
	int rc;

	if (!entry || entry->is_back)
		return 0;
	stays = entry->stays;
	rc = neap_hand_entry_restore(server, index, &is_gone);
	*count += rc == 0 && !is_gone && !stays;
	return rc;
}

/* One by one, parents first or children first. Returns how many were restored. */
static int rest_run(struct neap_hand_server *server, bool upwards)
{
	struct neap_journal *journal = server->journal;
	int count = neap_journal_count(journal);
	neap_auto_free struct item *items =
		neap_alloc_array((size_t)count, sizeof(*items));
	int i, done = 0;

	if (!items)
		return 0;
	for (i = 0; i < count; i++) {
		const struct neap_journal_entry *entry = neap_journal_get(journal, i);

		items[i] = (struct item){entry->group, entry->key,
					 neap_path_depth(entry->group)};
	}
	qsort(items, (size_t)count, sizeof(*items), by_depth);
	for (i = 0; i < count; i++) {
		const struct item *item = &items[upwards ? count - 1 - i : i];
		int index = neap_journal_find(journal, item->group, item->key);

		(void)entry_back(server, index, &done);
	}
	return done;
}

int neap_hand_values_undo(struct neap_hand_server *server, int *ret_left)
{
	struct neap_journal *journal = server->journal;
	int round, i;
	int done = 0;

	inherited_note(server);
	given_note(server);
	neap_hand_stay_look(server);
	for (round = 0; round < ROUNDS && stay_left(server); round++) {
		if (round)
			(void)poll(NULL, 0,
				   20); /* a busy group may be so for only a moment */
		plan_run(server);
		done += rest_run(server, false);
		done += rest_run(server, true);
	}
	for (i = 0; i < neap_journal_count(journal); i++) {
		const struct neap_journal_entry *entry;
		int left = neap_journal_count(journal);
		int rc = entry_back(server, i, &done);

		if (rc == 0) {
			i -= neap_journal_count(journal) < left;
			continue;
		}
		entry = neap_journal_get(journal, i);
		neap_log_line(&server->log, NEAP_LOG_WARN,
			      "%s of %s stays, '%s' could not be "
			      "written: %s",
			      neap_key_get(entry->key)->name, entry->group,
			      neap_journal_back(entry), strerror(rc));
	}
	*ret_left = stay_left(server);
	return done;
}
