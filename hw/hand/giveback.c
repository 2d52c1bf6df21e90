/* SPDX-License-Identifier: Apache-2.0
 *
 * Restores everything to the original values. The plan finds an order the kernel accepts
 * (parents enlarged before children, children shrunk before parents); since its values
 * are in neap's units, each step that ends at the wanted value writes the original text.
 * The rest (empty sets, texts the plan cannot parse, keys that hinder each other such as
 * shares and idle) is retried one by one for a few rounds. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "hw/hand/hand_priv.h"

#define ROUNDS 3

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
	int rc;

	rc = neap_hand_file_read(&server->files, group, key, server->scratch, &dev, &ino);
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

	neap_hand_inherited_note(server);
	neap_hand_given_note(server);
	neap_hand_stay_look(server);
	for (round = 0; round < ROUNDS && neap_hand_stay_left(server); round++) {
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
	*ret_left = neap_hand_stay_left(server);
	return done;
}
