/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop of declared kinds: collects events about definitions and processes some per
 * turn. */
#include "api/kube/loops/crd_loop.h"

#include <event2/event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/kube/loops/crd_loop_priv.h"
#include "api/task/task.h"
#include "engine/base/mem.h"

/* When to look again at what waits for others. */
#define RETRY_MS 100
/* Runs at least so often, because a wake-up can fail without memory. */
#define TICK_S 2
/* How long the start waits for the disk. */
#define START_MS 10000
/* ... and for definitions to be served, which needs only memory. */
#define SETTLE_MS 1000

void declared_wake(struct neap_kube_declared *declared)
{
	neap_task_wake(declared->turn);
}

static void note(struct neap_kube_declared *declared, const char *name)
{
	static char here;

	if (!neap_map_set(declared->due, name, &here))
		declared->is_lost = true;
}

void declared_note(struct neap_kube_declared *declared, const char *name)
{
	note(declared, name);
	declared_wake(declared);
}

/* --- what happened --- */

static void ready(void *arg)
{
	declared_wake(arg);
}

static bool note_listed(void *arg, struct neap_object *object)
{
	note(arg, object->name);
	return true;
}

/* Begins a watch and makes everything due. False without memory: events stay lost. */
static bool begin(struct neap_kube_declared *declared)
{
	struct neap_store *store = declared->kube->store;
	struct neap_store_place place = {.version = neap_store_version(store)};
	struct neap_error err;

	if (declared->watch)
		neap_store_watch_free(declared->watch);
	declared->watch = NULL;
	declared->is_lost = false;
	for (size_t i = 0; i < neap_map_count(declared->entries); i++) {
		const char *name;

		(void)neap_map_at(declared->entries, i, &name);
		note(declared, name);
	}
	if (neap_store_list(store, KUBE_DEFINITIONS, NULL, &place, note_listed, declared,
			    &err) < 0 ||
	    neap_store_watch_new(store, KUBE_DEFINITIONS, neap_store_version(store),
				 ready, declared, &declared->watch, &err) < 0)
		declared->is_lost = true;
	return !declared->is_lost;
}

static void take_events(struct neap_kube_declared *declared)
{
	struct neap_store_event *event;
	struct neap_error err;
	int ret = 1;

	if (!declared->is_lost)
		while ((ret = neap_store_watch_next(declared->watch, &event, &err)) > 0)
			note(declared, event->object->name);
	if (ret < 0)
		declared->is_lost = true;
	/* Asking the new watch arms its callback. */
	if (declared->is_lost && begin(declared))
		while ((ret = neap_store_watch_next(declared->watch, &event, &err)) > 0)
			note(declared, event->object->name);
}

/* --- a turn --- */

static int64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Processes what is due. True: more is left than fits into this turn. */
static bool look(struct neap_kube_declared *declared)
{
	size_t left = NEAP_KUBE_DECLARED_TURN;
	bool has_done = false;

	for (size_t i = neap_map_count(declared->due); i-- > 0;) {
		char name[NEAP_OBJECT_NAME];
		const char *key;

		/* Processing may make others due; they come at the end. */
		(void)neap_map_at(declared->due, i, &key);
		(void)neap_strcopy(name, sizeof(name), key);
		if (!declared_look(declared, name, &left))
			continue;
		(void)neap_map_remove(declared->due, name);
		has_done = true;
	}
	/* Without memory nothing was done, and an immediate retry is useless. */
	return !left && has_done;
}

/* Retries writes that the store refused. */
static void ask_again(struct declared_entry *entry, int64_t now)
{
	if (entry->is_due || !entry->was_asked || now < entry->asked_ms + RETRY_MS)
		return;
	entry->is_due = true;
	entry->was_asked = false;
	entry->place = (struct neap_store_place){0};
}

/* True: more is left than fits into this turn. */
static bool empty(struct neap_kube_declared *declared, int64_t now)
{
	size_t left = NEAP_KUBE_DECLARED_PIECE;
	bool is_more = false;

	for (size_t i = 0; i < neap_map_count(declared->entries); i++) {
		const char *name;
		struct declared_entry *entry = neap_map_at(declared->entries, i, &name);

		ask_again(entry, now);
		if (!entry->is_due && !entry->is_ready)
			continue;
		if (declared_empty(name, entry, &left)) {
			entry->settled = 0;
			declared_note(declared, name);
		}
		if (entry->is_due)
			is_more = true;
		else
			entry->asked_ms = now;
	}
	return is_more;
}

static bool waits(const struct neap_kube_declared *declared)
{
	if (neap_map_count(declared->due))
		return true;
	for (size_t i = 0; i < neap_map_count(declared->entries); i++) {
		const struct declared_entry *entry =
			neap_map_at(declared->entries, i, NULL);

		if (entry->was_asked)
			return true;
	}
	return false;
}

static enum neap_task_next turn(void *arg)
{
	struct neap_kube_declared *declared = arg;
	bool is_more;

	take_events(declared);
	is_more = look(declared);
	is_more = empty(declared, now_ms()) || is_more;
	if (is_more && !declared->is_lost)
		return NEAP_TASK_GOES_ON;
	if (declared->is_lost || waits(declared))
		neap_task_wake_later(declared->turn, (int64_t)RETRY_MS * 1000);
	return NEAP_TASK_WAITS;
}

static void tick_due(int fd NEAP_UNUSED, short what NEAP_UNUSED, void *arg)
{
	declared_wake(arg);
}

/* --- the start --- */

/* Definitions that were served before come first. */
struct listed {
	struct stored {
		char name[NEAP_OBJECT_NAME];
		bool was_served;
	} * list;
	size_t count, size;
	bool is_short;
};

static bool take_listed(void *arg, struct neap_object *object)
{
	struct listed *listed = arg;
	struct stored *stored;
	json_t *tree;

	if (listed->count == listed->size)
		return false;
	tree = neap_object_tree(object);
	listed->is_short = listed->is_short || !tree;
	stored = &listed->list[listed->count++];
	(void)neap_strcopy(stored->name, sizeof(stored->name), object->name);
	stored->was_served = declared_is_true(tree, "Established");
	json_decref(tree);
	return true;
}

/* Looks at all stored definitions. Those served before get their names first. */
static int look_at_stored(struct neap_kube_declared *declared, struct neap_error *err)
{
	struct neap_store *store = declared->kube->store;
	struct listed listed = {.size = neap_store_count(store, KUBE_DEFINITIONS)};
	struct neap_store_place place = {.version = neap_store_version(store)};
	int ret;

	if (!listed.size)
		return 0;
	listed.list = neap_alloc_array(listed.size, sizeof(*listed.list));
	if (!listed.list)
		return neap_error_nomem(err);
	ret = neap_store_list(store, KUBE_DEFINITIONS, NULL, &place, take_listed, &listed,
			      err);
	if (ret >= 0)
		ret = listed.is_short ? neap_error_nomem(err) : 0;
	for (int round = 0; round < 2 && ret == 0; round++)
		for (size_t i = 0; i < listed.count; i++) {
			const struct stored *stored = &listed.list[i];
			size_t left = SIZE_MAX;

			if (stored->was_served == (round == 0) &&
			    !declared_look(declared, stored->name, &left))
				declared_note(declared, stored->name);
		}
	free(listed.list);
	return ret;
}

/* Waits until the definitions of the files are durable and served, and the status of all
 * definitions is written. */
static void settle(struct neap_kube_declared *declared)
{
	struct neap_store *store = declared->kube->store;
	int64_t began = now_ms();
	bool is_more;

	for (;;) {
		struct pollfd ready_fd = {.fd = neap_store_fd(store), .events = POLLIN};
		int64_t spent = now_ms() - began;

		take_events(declared);
		is_more = look(declared);
		if (is_more)
			continue;
		if (spent > START_MS || (!declared->files && spent > SETTLE_MS) ||
		    (!declared->files && !neap_map_count(declared->due)))
			break;
		(void)poll(&ready_fd, 1, 20);
		neap_store_hear(store);
	}
	if (declared->files && declared->log)
		neap_log_line(declared->log, NEAP_LOG_WARN,
			      "the definitions that come with neap are not stored yet: "
			      "the disk is slow");
}

static int start(struct neap_kube_declared *declared,
		 const struct neap_kube_declared_folder *folder, struct neap_error *err)
{
	struct timeval tick = {.tv_sec = TICK_S};
	struct neap_kube *kube = declared->kube;
	int ret;

	declared->definition =
		neap_kube_registry_find(kube->registry, "apiextensions.k8s.io", NULL,
					"customresourcedefinitions");
	if (!declared->definition)
		return neap_error_set(err, NEAP_EINTERNAL,
				      "there is no kind "
				      "CustomResourceDefinition");
	declared->entries = neap_map_new();
	declared->due = neap_map_new();
	declared->turn = neap_task_new(kube->tasks, "", turn, declared);
	declared->tick = event_new(kube->base, -1, EV_PERSIST, tick_due, declared);
	if (!declared->entries || !declared->due || !declared->turn || !declared->tick ||
	    event_add(declared->tick, &tick) < 0)
		return neap_error_nomem(err);
	if (neap_store_watch_new(kube->store, KUBE_DEFINITIONS,
				 neap_store_version(kube->store), ready, declared,
				 &declared->watch, err) < 0)
		return neap_error_nomem(err);
	ret = look_at_stored(declared, err);
	if (ret == 0 && folder)
		ret = declared_take_files(declared, folder, err);
	if (ret == 0)
		settle(declared);
	if (ret == 0 && declared->is_short)
		ret = neap_error_nomem(err);
	declared_wake(declared);
	return ret;
}

int neap_kube_declared_new(const struct neap_kube_declared_config *config,
			   struct neap_kube_declared **ret, struct neap_error *err)
{
	struct neap_kube_declared *declared = neap_alloc(sizeof(*declared));
	int code;

	*ret = NULL;
	if (!declared)
		return neap_error_nomem(err);
	declared->kube = config->kube;
	declared->log = config->log;
	config->kube->declared = declared;
	code = start(declared, config->folder, err);
	if (code < 0)
		neap_kube_declared_free(declared);
	else
		*ret = declared;
	return code;
}

void neap_kube_declared_free(struct neap_kube_declared *declared)
{
	if (!declared)
		return;
	declared->kube->declared = NULL;
	while (declared->entries && neap_map_count(declared->entries)) {
		const char *name;
		struct declared_entry *entry = neap_map_at(
			declared->entries, neap_map_count(declared->entries) - 1, &name);

		(void)neap_map_remove(declared->entries, name);
		declared_entry_free(declared, entry);
	}
	neap_map_free(declared->entries);
	neap_map_free(declared->due);
	declared_forget_files(declared);
	if (declared->watch)
		neap_store_watch_free(declared->watch);
	neap_task_free(declared->turn);
	if (declared->tick)
		event_free(declared->tick);
	free(declared);
}
