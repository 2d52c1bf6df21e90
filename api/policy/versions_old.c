/* SPDX-License-Identifier: Apache-2.0
 *
 * Deleted policies can be restored, within limits. A directory counts as deleted when it
 * has neither an active version nor parameters. Its age is the age of its last change. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/policy/history.h"
#include "engine/base/mem.h"

/* Space of a folder beside its texts: its inode and the history. */
#define FOLDER_BYTES 4096

struct old {
	struct neap_policy_id id;
	struct timespec changed;
	int64_t bytes;
};

struct olds {
	const char *dir;
	struct old *list;
	size_t count, size;
	int64_t bytes;
	bool is_short; /* true: memory is short */
};

static int64_t bytes_of(const struct neap_folder *folder)
{
	neap_auto_free struct neap_folder_version *files = NULL;
	int64_t bytes = FOLDER_BYTES;
	struct neap_error err;
	size_t count;

	if (neap_folder_versions(folder, &files, &count, &err) < 0)
		return bytes;
	for (size_t i = 0; i < count; i++)
		bytes += files[i].bytes;
	return bytes;
}

static void found(void *arg, const struct neap_policy_id *id, bool has_active)
{
	neap_auto_folder struct neap_folder folder = {.fd = -1};
	struct olds *olds = arg;
	struct neap_error err; /* loading it reports the error */
	struct old *old;
	struct stat st;

	if (has_active || neap_folder_open(olds->dir, id, false, &folder, &err) < 0 ||
	    neap_folder_has(&folder, NEAP_FILE_PARAMS) || fstat(folder.fd, &st) < 0)
		return;
	if (!neap_grow(&olds->list, olds->count, &olds->size, sizeof(*olds->list))) {
		olds->is_short = true;
		return;
	}
	old = &olds->list[olds->count++];
	*old = (struct old){*id, st.st_mtim, bytes_of(&folder)};
	olds->bytes += old->bytes;
}

static void refused(void *arg, const struct neap_error *err)
{
	(void)arg; /* loading them reports the error */
	(void)err;
}

static int oldest_first(const void *a, const void *b)
{
	const struct old *x = a, *y = b;

	if (x->changed.tv_sec != y->changed.tv_sec)
		return x->changed.tv_sec < y->changed.tv_sec ? -1 : 1;
	if (x->changed.tv_nsec != y->changed.tv_nsec)
		return x->changed.tv_nsec < y->changed.tv_nsec ? -1 : 1;
	return strcmp(x->id.name, y->id.name);
}

/* Removes one policy; without is_all only the files that no admin put. After that old has
 * the rest (no bytes: nothing is left). Texts go first: a kill in between leaves fewer of
 * them, and an empty folder is not a policy. */
static int let_go(const char *dir, struct old *old, bool is_all, struct neap_error *err)
{
	static const char *const others[] = {NEAP_FILE_PENDING, NEAP_FILE_HISTORY};
	neap_auto_folder struct neap_folder folder = {.fd = -1};
	neap_auto_history struct neap_history history = {NULL, 0, 0};
	neap_auto_free struct neap_folder_version *files = NULL;
	char name[NEAP_VERSION_SIZE + 8];
	size_t count, kept = 0;

	if (neap_folder_open(dir, &old->id, true, &folder, err) < 0 ||
	    neap_folder_versions(&folder, &files, &count, err) < 0 ||
	    (!is_all && neap_history_load(&folder, &history, err) < 0))
		return -(int)err->code;
	for (size_t i = 0; i < count; i++) {
		if (neap_history_is_admins(&history, files[i].version)) {
			kept++;
			continue;
		}
		(void)snprintf(name, sizeof(name), "%s.lua", files[i].version);
		if (neap_folder_remove(&folder, name, err) < 0)
			return -(int)err->code;
		old->bytes -= files[i].bytes;
	}
	if (kept)
		return 0;
	old->bytes = 0;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(others); i++)
		if (neap_folder_remove(&folder, others[i], err) < 0)
			return -(int)err->code;
	/* Foreign files keep the folder; it does not count any more. */
	(void)rmdir(folder.path);
	return 0;
}

int neap_versions_bound(const char *dir, int64_t max_bytes, int64_t *ret_bytes,
			struct neap_error *err)
{
	struct olds olds = {.dir = dir};
	struct neap_error own_err;
	size_t left;
	int rc;

	if (!err)
		err = &own_err;
	rc = neap_versions_walk(dir, found, refused, &olds, err);
	if (olds.count)
		qsort(olds.list, olds.count, sizeof(*olds.list), oldest_first);
	left = olds.count;
	/* First the files that no admin put, then all. */
	for (size_t i = 0; rc == 0 && i < 2 * olds.count; i++) {
		struct old *old = &olds.list[i % olds.count];
		int64_t bytes = old->bytes;

		if (olds.bytes <= max_bytes && left <= NEAP_DELETED_KEPT)
			break;
		if (bytes == 0)
			continue;
		rc = let_go(dir, old, i >= olds.count, err);
		olds.bytes -= bytes - old->bytes;
		left -= old->bytes == 0;
	}
	free(olds.list);
	if (rc == 0 && olds.is_short)
		rc = neap_error_nomem(err);
	if (rc == 0)
		*ret_bytes = olds.bytes;
	return rc;
}
