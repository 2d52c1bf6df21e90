/* SPDX-License-Identifier: Apache-2.0
 *
 * Read-only queries: versions and history of a policy as JSON, the version for a
 * rollback, and the walk over all policies. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/policy/history.h"
#include "api/policy/trusted.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

struct listed {
	struct neap_folder_version file;
	const char *by, *why;
};

/* Fills in time, user and reason of the last put. A text that was only saved has the
 * file's time. */
static void describe(const struct neap_history *history, struct listed *one)
{
	size_t i;

	one->by = one->why = "";
	for (i = history->count; i > 0; i--) {
		const struct neap_history_entry *entry = &history->list[i - 1];

		if (!entry->is_change || strcmp(entry->line.verb, "put") != 0 ||
		    strcmp(entry->line.version, one->file.version) != 0)
			continue;
		one->file.unix_usec = entry->line.unix_usec;
		one->by = entry->line.by;
		one->why = entry->line.why;
		return;
	}
}

static int newest_first(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	if (x->file.unix_usec != y->file.unix_usec)
		return x->file.unix_usec > y->file.unix_usec ? -1 : 1;
	return strcmp(x->file.version, y->file.version);
}

/* NULL without memory. */
static json_t *versions_json(const struct neap_history *history,
			     const struct neap_folder_version *files, size_t count,
			     const char *active)
{
	neap_auto_free struct listed *list = neap_alloc_array(count + 1, sizeof(*list));
	json_t *array = list ? json_array() : NULL;
	char when[40];
	size_t i;

	if (!array)
		return NULL;
	for (i = 0; i < count; i++) {
		list[i].file = files[i];
		describe(history, &list[i]);
	}
	if (count)
		qsort(list, count, sizeof(*list), newest_first);
	for (i = 0; i < count; i++) {
		const struct neap_folder_version *file = &list[i].file;
		json_t *one = json_pack(
			"{s:s, s:I, s:I, s:s, s:b, s:b, s:s, s:s}", "version",
			file->version, "bytes", (json_int_t)file->bytes, "unix_usec",
			(json_int_t)file->unix_usec, "time",
			neap_time_format(file->unix_usec, 3, when, sizeof(when)),
			"is_active", !strcmp(file->version, active), "has_failed",
			(int)neap_history_has_failed(history, file->version), "by",
			list[i].by, "why", list[i].why);

		neap_json_push_new(&array, one);
	}
	return array;
}

static json_t *history_json(const struct neap_history *history)
{
	json_t *array = json_array();
	char when[40];
	size_t i;

	for (i = history->count; array && i > 0; i--) {
		const struct neap_history_line *line = &history->list[i - 1].line;
		json_t *one = json_pack(
			"{s:I, s:s, s:s, s:s, s:s, s:s}", "unix_usec",
			(json_int_t)line->unix_usec, "time",
			neap_time_format(line->unix_usec, 3, when, sizeof(when)), "verb",
			line->verb, "version", line->version, "by", line->by, "why",
			line->why);

		neap_json_push_new(&array, one);
	}
	return array;
}

int neap_versions_list(const char *dir, const struct neap_policy_id *id, json_t **ret,
		       struct neap_error *err)
{
	neap_auto_folder struct neap_folder folder = {.fd = -1};
	neap_auto_history struct neap_history history = {NULL, 0, 0};
	neap_auto_free struct neap_folder_version *files = NULL;
	char active[NEAP_VERSION_SIZE];
	json_t *object;
	size_t count;
	struct neap_error own_err;

	if (!err)
		err = &own_err;
	if (neap_folder_open(dir, id, false, &folder, err) < 0 ||
	    neap_folder_active(&folder, active, err) < 0 ||
	    neap_history_load(&folder, &history, err) < 0 ||
	    neap_folder_versions(&folder, &files, &count, err) < 0)
		return -(int)err->code;
	/* With a NULL value (no memory) json_pack fails and frees all values. */
	object = json_pack("{s:s?, s:o, s:o}", "active", *active ? active : NULL,
			   "versions", versions_json(&history, files, count, active),
			   "history", history_json(&history));
	if (!object)
		return neap_error_nomem(err);
	*ret = object;
	return 0;
}

int neap_versions_find_before(const char *dir, const struct neap_policy_id *id,
			      const char *before, char *ret, struct neap_error *err)
{
	neap_auto_folder struct neap_folder folder = {.fd = -1};
	neap_auto_history struct neap_history history = {NULL, 0, 0};
	char active[NEAP_VERSION_SIZE];
	struct neap_error own_err;

	if (!err)
		err = &own_err;
	if (!before)
		before = "";
	if (neap_folder_open(dir, id, false, &folder, err) < 0 ||
	    neap_folder_active(&folder, active, err) < 0 ||
	    neap_history_load(&folder, &history, err) < 0)
		return -(int)err->code;
	if (!neap_history_find_before(&history, &folder, active, before, ret))
		return neap_error_set(
			err, NEAP_ENOTFOUND,
			"%s/%s: no version that was live before%s%s is there "
			"and has not failed",
			id->kind, id->name, *before ? " " : "", before);
	return 0;
}

/* --- the walk --- */

struct walk {
	void (*found)(void *arg, const struct neap_policy_id *id, bool has_active);
	void (*refused)(void *arg, const struct neap_error *err);
	void *arg;
};

static void refuse(const struct walk *walk, const struct neap_error *err)
{
	if (walk->refused)
		walk->refused(walk->arg, err);
}

/* Other names are not from neapd. */
static bool is_name(const struct walk *walk, const char *path, const char *name,
		    size_t size)
{
	struct neap_error err;

	if (neap_policy_name_is(name, size))
		return true;
	(void)neap_error_set(
		&err, NEAP_EINVAL,
		"%s/%s is passed over: kind and name of a policy are made of "
		"a-z, 0-9 and \"-\", of at most %zu characters",
		path, name, size - 1);
	refuse(walk, &err);
	return false;
}

static void walk_policy(const struct walk *walk, const char *dir,
			const struct neap_policy_id *id)
{
	neap_auto_folder struct neap_folder folder = {.fd = -1};
	neap_auto_free struct neap_folder_version *files = NULL;
	char active[NEAP_VERSION_SIZE];
	struct neap_error err;
	size_t count;

	if (neap_folder_open(dir, id, false, &folder, &err) < 0 ||
	    neap_folder_active(&folder, active, &err) < 0 ||
	    neap_folder_versions(&folder, &files, &count, &err) < 0) {
		refuse(walk, &err);
		return;
	}
	/* A folder that a killed first put left empty is not a policy. */
	if (!*active && !count && !neap_folder_has(&folder, NEAP_FILE_PARAMS) &&
	    !neap_folder_has(&folder, NEAP_FILE_HISTORY))
		return;
	neap_folder_close(&folder);
	walk->found(walk->arg, id, *active != '\0');
}

static void walk_kind(const struct walk *walk, const char *dir, int dir_fd,
		      const char *kind)
{
	struct neap_policy_id id = {.kind = ""};
	struct neap_names names = {NULL, 0};
	char path[NEAP_FOLDER_PATH];
	neap_auto_fd int fd = -1;
	struct neap_error err;
	size_t i;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, kind);
	if (neap_folder_enter(dir_fd, kind, path, false, &fd, &err) < 0 ||
	    neap_names_read(fd, path, &names, &err) < 0) {
		refuse(walk, &err);
		return;
	}
	(void)neap_strcopy(id.kind, sizeof(id.kind), kind);
	for (i = 0; i < names.count; i++) {
		if (!is_name(walk, path, names.list[i], sizeof(id.name)))
			continue;
		(void)neap_strcopy(id.name, sizeof(id.name), names.list[i]);
		walk_policy(walk, dir, &id);
	}
	neap_names_done(&names);
}

int neap_versions_walk(const char *dir,
		       void (*found)(void *arg, const struct neap_policy_id *id,
				     bool has_active),
		       void (*refused)(void *arg, const struct neap_error *err),
		       void *arg, struct neap_error *err)
{
	const struct walk walk = {.found = found, .refused = refused, .arg = arg};
	const struct neap_policy_id *id = NULL;
	struct neap_names names = {NULL, 0};
	neap_auto_fd int fd = -1;
	size_t i;
	struct neap_error own_err;
	int rc;

	if (!err)
		err = &own_err;
	rc = neap_folder_enter(AT_FDCWD, dir, dir, false, &fd, err);
	if (rc == -NEAP_ENOTFOUND)
		return 0; /* there is nothing yet */
	if (rc < 0 || neap_names_read(fd, dir, &names, err) < 0)
		return -(int)err->code;
	for (i = 0; i < names.count; i++) {
		if (is_name(&walk, dir, names.list[i], sizeof(id->kind)))
			walk_kind(&walk, dir, fd, names.list[i]);
	}
	neap_names_done(&names);
	return 0;
}
