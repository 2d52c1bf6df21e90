/* SPDX-License-Identifier: Apache-2.0
 *
 * history.jsonl of one policy: at most NEAP_HISTORY_KEPT lines of about 200 bytes, so it
 * is read and written as a whole. */
#include "api/policy/history.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/utf8.h"
#include "engine/json/json.h"

/* only the newest lines of a longer file */
#define LINES_READ ((size_t)NEAP_HISTORY_KEPT * 4)

static bool is_verb(const struct neap_history_entry *entry, const char *verb)
{
	return !strcmp(entry->line.verb, verb);
}

/* Whether the line says that a version is good or bad. */
static bool is_about(const struct neap_history_entry *entry, const char *version)
{
	if (!*version)
		return false;
	if (!strcmp(entry->line.version, version))
		return entry->is_change || is_verb(entry, "failed");
	return is_verb(entry, "rolled-back") && !strcmp(entry->from, version);
}

/* An act of an admin, so that the version in force after it is an admin's. */
static bool is_admins_act(const struct neap_history_entry *entry)
{
	return entry->is_change && !entry->line.is_by_editor &&
	       (is_verb(entry, "put") || is_verb(entry, "rollback"));
}

/* Whether later lines say the same as line i, so that it can go. */
static bool is_superseded(const struct neap_history *history, size_t i)
{
	const struct neap_history_entry *entry = &history->list[i];
	bool is_live_later = false, is_told_later = false, is_from_told_later = false;
	size_t k;

	for (k = i + 1; k < history->count; k++) {
		const struct neap_history_entry *later = &history->list[k];

		if (later->is_change &&
		    !strcmp(later->line.version, entry->line.version) &&
		    (is_admins_act(later) || !is_admins_act(entry)))
			is_live_later = true;
		if (is_about(later, entry->line.version))
			is_told_later = true;
		if (is_about(later, entry->from))
			is_from_told_later = true;
	}
	if (!entry->is_change)
		return !is_verb(entry, "failed") || is_told_later;
	return is_live_later && (!is_verb(entry, "rolled-back") || is_from_told_later);
}

static void drop(struct neap_history *history, size_t i)
{
	history->count--;
	memmove(&history->list[i], &history->list[i + 1],
		(history->count - i) * sizeof(*history->list));
}

/* Old lines that still matter (order of live versions, failures) outlive others, so that
 * many changes of parameters do not prevent a rollback. After that, an admin's lines
 * outlive those of others. */
static size_t find_least(const struct neap_history *history)
{
	size_t i, last = history->count - 1; /* the newest line always stays */

	for (i = 0; i < last; i++)
		if (is_superseded(history, i))
			return i;
	for (i = 0; i < last; i++)
		if (!is_admins_act(&history->list[i]))
			return i;
	return 0;
}

static void trim(struct neap_history *history)
{
	while (history->count > NEAP_HISTORY_KEPT)
		drop(history, find_least(history));
}

static int append(struct neap_history *history, const struct neap_history_entry *entry,
		  struct neap_error *err)
{
	if (!neap_grow(&history->list, history->count, &history->size,
		       sizeof(*history->list)))
		return neap_error_nomem(err);
	history->list[history->count++] = *entry;
	return 0;
}

int neap_history_add(struct neap_history *history, const struct neap_history_entry *entry,
		     struct neap_error *err)
{
	struct neap_history_entry own = *entry;

	neap_utf8_mend(own.line.verb);
	neap_utf8_mend(own.line.by);
	neap_utf8_mend(own.line.why);
	if (append(history, &own, err) < 0)
		return -(int)err->code;
	trim(history);
	return 0;
}

static bool take_text(const json_t *object, const char *key, char *to, size_t size)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text && neap_strcopy(to, size, text);
}

static bool take_version(const json_t *object, const char *key, char *to)
{
	char text[NEAP_VERSION_SIZE] = "";

	if (!take_text(object, key, text, sizeof(text)) ||
	    (*text && !neap_version_is(text)))
		return false;
	memcpy(to, text, sizeof(text));
	return true;
}

/* 1; 0: not a valid line; -code */
static int parse_line(const char *text, size_t len, struct neap_history_entry *ret,
		      struct neap_error *err)
{
	json_auto_t *object = NULL;
	struct neap_history_entry entry = {.is_change = false};
	const json_t *usec;
	json_error_t where;

	/* A line that is left out is lost when the history is written again. */
	if (neap_json_parse(text, len, 0, &object, &where) == -NEAP_ENOMEM)
		return neap_error_nomem(err);
	usec = json_object_get(object, "unix_usec");
	if (!json_is_integer(usec) ||
	    !take_text(object, "verb", entry.line.verb, sizeof(entry.line.verb)) ||
	    !take_version(object, "version", entry.line.version) ||
	    !take_text(object, "by", entry.line.by, sizeof(entry.line.by)) ||
	    !take_text(object, "why", entry.line.why, sizeof(entry.line.why)))
		return 0;
	entry.line.unix_usec = json_integer_value(usec);
	entry.line.is_by_editor = json_is_true(json_object_get(object, "editor"));
	entry.is_change = take_version(object, "from", entry.from);
	entry.has_params = take_version(object, "params", entry.params);
	*ret = entry;
	return 1;
}

/* The start of the newest LINES_READ lines. A part after the last newline is
 * incomplete. */
static const char *newest(const char *text, size_t len)
{
	const char *at = text + len;
	size_t lines = 0;

	while (at > text) {
		if (at[-1] == '\n' && lines++ == LINES_READ)
			break;
		at--;
	}
	return at;
}

static int parse(const char *text, size_t len, struct neap_history *history,
		 struct neap_error *err)
{
	const char *at = newest(text, len), *end = text + len;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		struct neap_history_entry entry;
		int rc;

		if (!newline)
			break;
		rc = parse_line(at, (size_t)(newline - at), &entry, err);
		if (rc > 0)
			rc = append(history, &entry, err);
		if (rc < 0)
			return rc;
		at = newline + 1;
	}
	trim(history);
	return 0;
}

static int load_file(const struct neap_folder *folder, const char *name,
		     struct neap_history *ret, struct neap_error *err)
{
	neap_auto_free char *text = NULL;
	neap_auto_history struct neap_history history = {NULL, 0, 0};
	size_t len;
	int rc = neap_folder_read(folder, name, NEAP_BUF_FILE, &text, &len, err);

	if (rc < 0)
		return rc;
	if (parse(text, len, &history, err) < 0)
		return -(int)err->code;
	*ret = history;
	history.list = NULL;
	return 0;
}

/* "" without parameters, else the digest of their text. */
static int params_digest(const struct neap_folder *folder, char ret[NEAP_VERSION_SIZE],
			 struct neap_error *err)
{
	neap_auto_free char *text = NULL;
	size_t len;
	int rc = neap_folder_read(folder, NEAP_FILE_PARAMS, NEAP_BUF_FILE, &text, &len,
				  err);

	if (rc == -NEAP_ENOTFOUND) {
		ret[0] = '\0';
		return 0;
	}
	if (rc < 0)
		return rc;
	neap_version_of(text, len, ret);
	return 0;
}

/* 1 when the last line of a pending history describes the present state. Then its change
 * took effect, and only the move of the history was interrupted. */
static int is_done(const struct neap_folder *folder, const struct neap_history *pending,
		   struct neap_error *err)
{
	const struct neap_history_entry *last;
	char is[NEAP_VERSION_SIZE];

	if (!pending->count)
		return 0;
	last = &pending->list[pending->count - 1];
	if (last->is_change) {
		if (neap_folder_active(folder, is, err) < 0)
			return -(int)err->code;
		return !strcmp(is, last->line.version);
	}
	if (!last->has_params)
		return 0;
	if (params_digest(folder, is, err) < 0)
		return -(int)err->code;
	return !strcmp(is, last->params);
}

/* 1 with the history of a change that took effect, else 0. */
static int load_pending(const struct neap_folder *folder, struct neap_history *ret,
			struct neap_error *err)
{
	int rc = load_file(folder, NEAP_FILE_PENDING, ret, err);

	if (rc == -NEAP_ENOTFOUND)
		return 0;
	if (rc < 0)
		return rc;
	rc = is_done(folder, ret, err);
	if (rc != 1)
		neap_history_done(ret);
	return rc;
}

int neap_history_load(const struct neap_folder *folder, struct neap_history *ret,
		      struct neap_error *err)
{
	struct neap_history history = {NULL, 0, 0};
	int rc = load_pending(folder, &history, err);

	if (rc == 0)
		rc = load_file(folder, NEAP_FILE_HISTORY, &history, err);
	if (rc < 0 && rc != -NEAP_ENOTFOUND)
		return rc;
	*ret = history;
	return 0;
}

int neap_history_settle(const struct neap_folder *folder, struct neap_error *err)
{
	neap_auto_history struct neap_history pending = {NULL, 0, 0};
	int rc;

	if (!neap_folder_has(folder, NEAP_FILE_PENDING))
		return 0;
	rc = load_pending(folder, &pending, err);
	if (rc < 0)
		return rc;
	if (rc == 0)
		return neap_folder_remove(folder, NEAP_FILE_PENDING, err);
	return neap_folder_move(folder, NEAP_FILE_PENDING, NEAP_FILE_HISTORY, err);
}

void neap_history_done(struct neap_history *history)
{
	free(history->list);
	history->list = NULL;
	history->count = history->size = 0;
}

static void format_line(struct neap_buf *buf, const struct neap_history_entry *entry)
{
	json_auto_t *object = json_pack("{s:I, s:s, s:s, s:s, s:s}", "unix_usec",
					(json_int_t)entry->line.unix_usec, "verb",
					entry->line.verb, "version", entry->line.version,
					"by", entry->line.by, "why", entry->line.why);
	char *text = NULL;

	if (object &&
	    (!entry->line.is_by_editor ||
	     json_object_set_new(object, "editor", json_true()) == 0) &&
	    (!entry->is_change ||
	     json_object_set_new(object, "from", json_string(entry->from)) == 0) &&
	    (!entry->has_params ||
	     json_object_set_new(object, "params", json_string(entry->params)) == 0))
		text = neap_json_dump(object, JSON_COMPACT);
	if (text) {
		neap_buf_adds(buf, text);
		neap_buf_addc(buf, '\n');
	} else {
		buf->failed = true;
	}
	free(text);
}

int neap_history_save(const struct neap_history *history,
		      const struct neap_folder *folder, const char *name,
		      struct neap_error *err)
{
	neap_auto_buf struct neap_buf buf = {0};
	size_t i;

	neap_buf_init(&buf, NEAP_BUF_FILE);
	for (i = 0; i < history->count; i++)
		format_line(&buf, &history->list[i]);
	if (neap_buf_failed(&buf))
		return neap_error_nomem(err);
	return neap_folder_write(folder, name, buf.data, buf.len, err);
}

bool neap_history_has_failed(const struct neap_history *history, const char *version)
{
	size_t i;

	for (i = history->count; i > 0; i--) {
		const struct neap_history_entry *entry = &history->list[i - 1];

		if (is_about(entry, version))
			return !entry->is_change ||
			       strcmp(entry->line.version, version) != 0;
	}
	return false;
}

bool neap_history_is_admins(const struct neap_history *history, const char *version)
{
	for (size_t i = 0; i < history->count; i++)
		if (is_admins_act(&history->list[i]) &&
		    !strcmp(history->list[i].line.version, version))
			return true;
	return false;
}

size_t neap_history_rank(const struct neap_history *history, const char *version)
{
	size_t i;

	for (i = history->count; i > 0; i--) {
		const struct neap_history_entry *entry = &history->list[i - 1];

		if (entry->is_change && (!strcmp(entry->line.version, version) ||
					 !strcmp(entry->from, version)))
			return i;
	}
	return 0;
}

bool neap_history_find_before(const struct neap_history *history,
			      const struct neap_folder *folder, const char *active,
			      const char *before, char ret[NEAP_VERSION_SIZE])
{
	const char *base = *before ? before : active;
	size_t i = history->count, k;
	int side;

	/* When it last became live; versions that were never live come after all
	 * others. */
	while (i > 0 && !(history->list[i - 1].is_change &&
			  !strcmp(history->list[i - 1].line.version, base)))
		i--;
	if (i == 0)
		i = history->count + 1;
	for (k = i; k > 0; k--) {
		const struct neap_history_entry *entry;

		if (k > history->count || !history->list[k - 1].is_change)
			continue;
		entry = &history->list[k - 1];
		for (side = k == i ? 1 : 0; side < 2; side++) {
			const char *version = side ? entry->from : entry->line.version;

			if (*version && strcmp(version, base) != 0 &&
			    strcmp(version, active) != 0 &&
			    neap_folder_has_version(folder, version) &&
			    !neap_history_has_failed(history, version)) {
				memcpy(ret, version, NEAP_VERSION_SIZE);
				return true;
			}
		}
	}
	return false;
}
