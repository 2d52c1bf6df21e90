/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of a policy's files. A change of two files, one of them the history, takes
 * effect at one instant: the rename of "active" (or params.json). The new history is
 * written under another name before, and renamed after. Readers and the next writer see
 * by its last line whether the change took effect. doc/internals/registry.md lists the
 * steps. */
#include "api/policy/versions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/policy/history.h"
#include "api/policy/judge.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

/* A change with a line in the history. */
struct change {
	const struct neap_folder *folder;
	struct neap_history history; /* as it will be after the change */
	bool is_params;
	const char *before, *after; /* version, or the text of the parameters; "": none */
	bool is_same;
};

static int check_line(const struct neap_history_line *line, struct neap_error *err)
{
	if (!*line->verb)
		return neap_error_set(err, NEAP_EINTERNAL,
				      "a line of the history without a verb");
	if (*line->version && !neap_version_is(line->version))
		return neap_error_set(err, NEAP_EINVAL,
				      "'%.11s' is no version: 8 hex digits, or nothing",
				      line->version);
	return 0;
}

static int apply(const struct change *change, const char *to, struct neap_error *err)
{
	if (!change->is_params)
		return neap_folder_point(change->folder, to, err);
	if (!*to)
		return neap_folder_remove(change->folder, NEAP_FILE_PARAMS, err);
	return neap_folder_write(change->folder, NEAP_FILE_PARAMS, to, strlen(to), err);
}

/* Saves only the line. */
static int save_line(const struct neap_folder *folder, const struct neap_history *history,
		     struct neap_error *err)
{
	struct neap_error ignored;

	if (neap_history_save(history, folder, NEAP_FILE_HISTORY, err) < 0)
		return -(int)err->code;
	/* The line is saved; a power cut could lose only the line. */
	(void)neap_folder_sync(folder, &ignored);
	return 0;
}

static int commit(const struct change *change, struct neap_error *err)
{
	const struct neap_folder *folder = change->folder;
	struct neap_error ignored;

	if (change->is_same)
		return save_line(folder, &change->history, err);
	/* It is written before the change, so that the change is always recorded. */
	if (neap_history_save(&change->history, folder, NEAP_FILE_PENDING, err) < 0)
		return -(int)err->code;
	if (neap_folder_sync(folder, err) < 0 || apply(change, change->after, err) < 0) {
		/* It does not match the state, so it has no effect. */
		(void)neap_folder_remove(folder, NEAP_FILE_PENDING, &ignored);
		return -(int)err->code;
	}
	/* The change is in effect. It is reported as done only when a power cut cannot
	 * undo it. */
	if (neap_folder_sync(folder, err) < 0) {
		if (apply(change, change->before, &ignored) == 0)
			(void)neap_folder_remove(folder, NEAP_FILE_PENDING, &ignored);
		return -(int)err->code;
	}
	/* The next change would do both too, and readers use the pending file. */
	if (neap_folder_move(folder, NEAP_FILE_PENDING, NEAP_FILE_HISTORY, &ignored) == 0)
		(void)neap_folder_sync(folder, &ignored);
	return 0;
}

struct ranked {
	struct neap_folder_version file;
	size_t rank;
};

static int by_rank(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->file.unix_usec != y->file.unix_usec)
		return x->file.unix_usec < y->file.unix_usec ? -1 : 1;
	return strcmp(x->file.version, y->file.version);
}

/* Removes versions that were never live, then those that were live longest ago. Only a
 * put by an admin removes an admin's versions, so up to NEAP_VERSIONS_KEPT of these stay
 * beside an editor's newest ones. A file that cannot be removed is no error: the next
 * change tries again. */
static void prune(const struct neap_folder *folder, const struct neap_history *history,
		  const char *active, const char *newest,
		  const struct neap_history_line *line)
{
	bool is_admins_kept =
		line && (line->is_by_editor || strcmp(line->verb, "put") != 0);
	neap_auto_free struct neap_folder_version *files = NULL;
	neap_auto_free struct ranked *ranked = NULL;
	char back[NEAP_VERSION_SIZE] = "", name[NEAP_VERSION_SIZE + 8];
	struct neap_error ignored;
	size_t count, left, i;
	int64_t bytes = 0;

	if (neap_folder_versions(folder, &files, &count, &ignored) < 0)
		return;
	for (i = 0; i < count; i++)
		bytes += files[i].bytes;
	if (count <= NEAP_VERSIONS_KEPT && bytes <= NEAP_VERSIONS_KEPT_BYTES)
		return;
	ranked = neap_alloc_array(count, sizeof(*ranked));
	if (!ranked)
		return;
	for (i = 0; i < count; i++) {
		ranked[i].file = files[i];
		ranked[i].rank = neap_history_rank(history, files[i].version);
	}
	qsort(ranked, count, sizeof(*ranked), by_rank);
	(void)neap_history_find_before(history, folder, active, "", back);
	for (i = 0, left = count; i < count; i++) {
		const char *version = ranked[i].file.version;

		if (left <= NEAP_VERSIONS_KEPT && bytes <= NEAP_VERSIONS_KEPT_BYTES)
			break;
		if (!strcmp(version, active) || !strcmp(version, newest) ||
		    !strcmp(version, back) ||
		    (is_admins_kept && neap_history_is_admins(history, version)))
			continue;
		(void)snprintf(name, sizeof(name), "%s.lua", version);
		if (neap_folder_remove(folder, name, &ignored) < 0)
			continue;
		left--;
		bytes -= ranked[i].file.bytes;
	}
}

/* Makes sure that the version's file exists with this text. */
static int save_text(const struct neap_folder *folder, const char *version,
		     const char *text, size_t len, bool *ret_is_new,
		     struct neap_error *err)
{
	neap_auto_free char *there = NULL;
	char name[NEAP_VERSION_SIZE + 8];
	size_t there_len;
	int rc = neap_folder_read_version(folder, version, &there, &there_len, err);

	*ret_is_new = false;
	if (rc < 0 && (rc != -NEAP_ENOTFOUND || !text))
		return rc;
	if (rc == 0 && text && (len != there_len || memcmp(text, there, len) != 0))
		return neap_error_set(err, NEAP_ECONFLICT,
				      "another text has the version %s as well: change a "
				      "comment in this one",
				      version);
	if (rc == 0)
		return 0;
	(void)snprintf(name, sizeof(name), "%s.lua", version);
	if (neap_folder_write(folder, name, text, len, err) < 0)
		return -(int)err->code;
	*ret_is_new = true;
	return 0;
}

static int check_put(const char *version, const char *text, size_t len,
		     const struct neap_history_line *line, struct neap_error *err)
{
	char is[NEAP_VERSION_SIZE];

	if (!*version && (text || !line))
		return neap_error_set(err, NEAP_EINTERNAL,
				      "no version needs a line, and has no text");
	if (*version && !neap_version_is(version))
		return neap_error_set(err, NEAP_EINVAL,
				      "'%.40s' is no version: 8 hex digits, such as "
				      "3f2a91c0",
				      version);
	if (text && len > NEAP_UPLOAD_BYTES)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "the text has %zu bytes: at most %d are taken", len,
				      NEAP_UPLOAD_BYTES);
	if (text) {
		neap_version_of(text, len, is);
		if (strcmp(is, version) != 0)
			return neap_error_set(err, NEAP_EINVAL,
					      "the text has the version %s, not %s", is,
					      version);
	}
	return line ? check_line(line, err) : 0;
}

/* Makes the version active. history is the present one on entry and the new one on
 * return. */
static int activate(const struct neap_folder *folder, struct neap_history *history,
		    const char *active, const char *version,
		    const struct neap_history_line *line, struct neap_error *err)
{
	struct neap_history_entry entry = {.line = *line, .is_change = true};
	struct change change = {.folder = folder, .before = active, .after = version};

	(void)neap_strcopy(entry.line.version, sizeof(entry.line.version), version);
	memcpy(entry.from, active, sizeof(entry.from));
	if (neap_history_add(history, &entry, err) < 0)
		return -(int)err->code;
	change.history = *history;
	change.is_same = !strcmp(active, version);
	return commit(&change, err);
}

int neap_versions_put(const char *dir, const struct neap_policy_id *id,
		      const char *version, const char *text, size_t len,
		      const struct neap_history_line *line, struct neap_error *err)
{
	neap_auto_folder struct neap_folder folder = {.fd = -1};
	neap_auto_history struct neap_history history = {NULL, 0, 0};
	char active[NEAP_VERSION_SIZE] = "";
	bool is_new = false;
	int rc;
	struct neap_error own_err;

	if (!err)
		err = &own_err;
	if (check_put(version, text, len, line, err) < 0 ||
	    neap_folder_open(dir, id, true, &folder, err) < 0 ||
	    neap_history_settle(&folder, err) < 0 ||
	    neap_folder_active(&folder, active, err) < 0 ||
	    neap_history_load(&folder, &history, err) < 0)
		return -(int)err->code;
	if (*version && save_text(&folder, version, text, len, &is_new, err) < 0)
		return -(int)err->code;
	/* When it becomes active, it is synced together with the history. */
	rc = is_new && (!line || !strcmp(active, version))
		     ? neap_folder_sync(&folder, err)
		     : 0;
	if (rc == 0 && line)
		rc = activate(&folder, &history, active, version, line, err);
	if (rc < 0) {
		char name[NEAP_VERSION_SIZE + 8];
		struct neap_error ignored;

		(void)snprintf(name, sizeof(name), "%s.lua", version);
		if (is_new) /* else: an unused version does no harm */
			(void)neap_folder_remove(&folder, name, &ignored);
		return rc;
	}
	prune(&folder, &history, line ? version : active, version, line);
	return 0;
}

int neap_versions_note(const char *dir, const struct neap_policy_id *id,
		       const struct neap_history_line *line, struct neap_error *err)
{
	neap_auto_folder struct neap_folder folder = {.fd = -1};
	neap_auto_history struct neap_history history = {NULL, 0, 0};
	struct neap_history_entry entry = {.line = *line};
	struct neap_error own_err;

	if (!err)
		err = &own_err;
	if (check_line(line, err) < 0 ||
	    neap_folder_open(dir, id, true, &folder, err) < 0 ||
	    neap_history_settle(&folder, err) < 0 ||
	    neap_history_load(&folder, &history, err) < 0 ||
	    neap_history_add(&history, &entry, err) < 0)
		return -(int)err->code;
	return save_line(&folder, &history, err);
}

/* Without a line only one file changes, so the order does not matter. */
static int save_quietly(const struct change *change, struct neap_error *err)
{
	if (change->is_same)
		return 0;
	if (apply(change, change->after, err) < 0)
		return -(int)err->code;
	return neap_folder_sync(change->folder, err);
}

static int params_format(const json_t *params, char **ret, struct neap_error *err)
{
	neap_auto_buf struct neap_buf buf = {0};
	char *text;

	neap_buf_init(&buf, NEAP_BUF_FILE);
	if (params && !json_is_object(params))
		return neap_error_set(err, NEAP_EINVAL, "parameters are an object");
	if (params) {
		text = neap_json_dump(params, JSON_INDENT(2) | JSON_SORT_KEYS);
		if (!text)
			return neap_error_nomem(err);
		if (strlen(text) >= NEAP_BUF_FILE) {
			free(text);
			return neap_error_set(err, NEAP_ETOOLARGE,
					      "the parameters take over %d bytes",
					      NEAP_BUF_FILE);
		}
		neap_buf_adds(&buf, text);
		neap_buf_addc(&buf, '\n');
		free(text);
	}
	if (neap_buf_failed(&buf))
		return neap_error_nomem(err);
	*ret = buf.len ? neap_buf_take(&buf) : neap_strdup("");
	return *ret ? 0 : neap_error_nomem(err);
}

int neap_versions_save_params(const char *dir, const struct neap_policy_id *id,
			      const json_t *params, const struct neap_history_line *line,
			      struct neap_error *err)
{
	neap_auto_folder struct neap_folder folder = {.fd = -1};
	neap_auto_free char *before = NULL;
	neap_auto_free char *after = NULL;
	struct neap_history_entry entry = {.has_params = true};
	struct change change = {.folder = &folder, .is_params = true};
	size_t len;
	int rc;
	struct neap_error own_err;

	if (!err)
		err = &own_err;
	if (params_format(params, &after, err) < 0 ||
	    (line && check_line(line, err) < 0) ||
	    neap_folder_open(dir, id, true, &folder, err) < 0 ||
	    neap_history_settle(&folder, err) < 0)
		return -(int)err->code;
	rc = neap_folder_read(&folder, NEAP_FILE_PARAMS, NEAP_BUF_FILE, &before, &len,
			      err);
	if (rc == -NEAP_ENOTFOUND) {
		before = neap_strdup("");
		rc = before ? 0 : neap_error_nomem(err);
	}
	if (rc < 0)
		return rc;
	change.before = before;
	change.after = after;
	change.is_same = !strcmp(before, after);
	if (!line)
		return save_quietly(&change, err);
	entry.line = *line;
	if (*after)
		neap_version_of(after, strlen(after), entry.params);
	rc = neap_history_load(&folder, &change.history, err);
	if (rc == 0)
		rc = neap_history_add(&change.history, &entry, err);
	if (rc == 0)
		rc = commit(&change, err);
	neap_history_done(&change.history);
	return rc;
}

int neap_versions_load_params(const char *dir, const struct neap_policy_id *id,
			      json_t **ret, struct neap_error *err)
{
	neap_auto_folder struct neap_folder folder = {.fd = -1};
	neap_auto_free char *text = NULL;
	json_error_t where;
	json_t *params = NULL;
	size_t len;
	struct neap_error own_err;
	int rc;

	if (!err)
		err = &own_err;
	rc = neap_folder_open(dir, id, false, &folder, err);
	if (rc == 0)
		rc = neap_folder_read(&folder, NEAP_FILE_PARAMS, NEAP_BUF_FILE, &text,
				      &len, err);
	if (rc < 0 && rc != -NEAP_ENOTFOUND)
		return rc;
	if (rc < 0) {
		params = json_object();
		rc = params ? 0 : -NEAP_ENOMEM;
	} else {
		rc = neap_json_parse(text, len, JSON_REJECT_DUPLICATES, &params, &where);
	}
	if (rc == -NEAP_ENOMEM)
		return neap_error_nomem(err);
	if (!json_is_object(params)) {
		json_decref(params);
		return neap_error_set(
			err, NEAP_EINVAL,
			"%s/" NEAP_FILE_PARAMS
			" is no JSON object (line %d): correct it, or remove it for the defaults",
			folder.path, params ? 1 : where.line);
	}
	*ret = params;
	return 0;
}

int neap_versions_read(const char *dir, const struct neap_policy_id *id,
		       const char *version, char **ret_text, size_t *ret_len,
		       char *ret_version, struct neap_error *err)
{
	neap_auto_folder struct neap_folder folder = {.fd = -1};
	char active[NEAP_VERSION_SIZE];
	bool has_version = version && *version;
	int rc;
	struct neap_error own_err;

	if (!err)
		err = &own_err;
	if (has_version && !neap_version_is(version))
		return neap_error_set(err, NEAP_ENOTFOUND,
				      "there is no version '%.40s': 8 hex digits are one",
				      version);
	if (neap_folder_open(dir, id, false, &folder, err) < 0)
		return -(int)err->code;
	if (has_version)
		memcpy(active, version, strlen(version) + 1);
	else if (neap_folder_active(&folder, active, err) < 0)
		return -(int)err->code;
	if (!*active)
		return neap_error_set(err, NEAP_ENOTFOUND,
				      "no version of %s/%s is active", id->kind,
				      id->name);
	rc = neap_folder_read_version(&folder, active, ret_text, ret_len, err);
	if (rc == -NEAP_ENOTFOUND && !has_version)
		return neap_error_set(
			err, NEAP_EINVAL,
			"%s/active names the version %s, which is not there: "
			"roll back, or put it again",
			folder.path, active);
	if (rc == 0 && ret_version)
		memcpy(ret_version, active, sizeof(active));
	return rc;
}
