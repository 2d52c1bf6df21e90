/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks the policy directory: compares it with the last report, and reports differences.
 * Made for a few dozen files that seldom change: a check without changes walks the path
 * of each file once and reads none. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/policy/judge.h"
#include "api/policy/trusted.h"
#include "api/policy/watch_priv.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/base/utf8.h"

/* File times move with the kernel's tick (up to 10 ms): a second write to a younger file
 * might not show. */
#define SETTLE_NSEC INT64_C(50000000)
#define SECOND_NSEC INT64_C(1000000000)

struct look {
	struct neap_watch_dir *dir;
	int dir_fd;
	size_t budget;
	int again_ms; /* 0: not needed */
};

int64_t neap_watch_now_ms(void)
{
	return neap_clock_usec(CLOCK_MONOTONIC) / 1000 + 1; /* never 0 */
}

bool neap_watch_is_policy(const char *name)
{
	size_t len = strlen(name);

	return name[0] != '.' && len > 4 && !strcmp(name + len - 4, ".lua");
}

static void again(struct look *look, int ms)
{
	if (!look->again_ms || ms < look->again_ms)
		look->again_ms = ms;
}

static void file_free(struct neap_watch_file *file)
{
	if (!file)
		return;
	free(file->name);
	free(file->path);
	free(file);
}

void neap_watch_dir_done(struct neap_watch_dir *dir)
{
	size_t i;

	for (i = 0; i < dir->count; i++)
		file_free(dir->files[i]);
	free(dir->files);
	dir->files = NULL;
	dir->count = dir->size = 0;
}

/* Index of a name, or of the place to insert it. */
static size_t place(const struct neap_watch_dir *dir, const char *name)
{
	size_t low = 0, high = dir->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (strcmp(dir->files[middle]->name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct neap_watch_file *neap_watch_file(struct neap_watch_dir *dir, const char *name,
					bool can_make)
{
	size_t i = place(dir, name);
	struct neap_watch_file *file;

	if (i < dir->count && !strcmp(dir->files[i]->name, name))
		return dir->files[i];
	if (!can_make || dir->count == NEAP_NAMES_MAX)
		return NULL;
	if (!neap_grow(&dir->files, dir->count, &dir->size,
		       sizeof(struct neap_watch_file *)))
		return NULL;
	file = neap_alloc(sizeof(*file));
	if (!file)
		return NULL;
	file->name = neap_strdup(name);
	file->path = neap_asprintf("%s/%s", dir->path, name);
	file->is_over = true; /* until a look has room for it */
	if (!file->name || !file->path) {
		file_free(file);
		return NULL;
	}
	memmove(&dir->files[i + 1], &dir->files[i],
		(dir->count - i) * sizeof(struct neap_watch_file *));
	dir->files[i] = file;
	dir->count++;
	return file;
}

static void tell_refused(struct neap_watch_dir *dir, struct neap_watch_file *file,
			 const struct neap_error *err)
{
	uint8_t digest[NEAP_SHA256_BYTES];

	neap_sha256(err->msg, strlen(err->msg), digest);
	if (file->told == NEAP_WATCH_REFUSED &&
	    !memcmp(digest, file->digest, sizeof(digest)))
		return;
	file->told = NEAP_WATCH_REFUSED;
	memcpy(file->digest, digest, sizeof(digest));
	file->is_settled = false;
	if (dir->calls.refused)
		dir->calls.refused(dir->calls.arg, file->path, err);
}

static void tell_gone(struct neap_watch_dir *dir, struct neap_watch_file *file)
{
	if (file->told != NEAP_WATCH_NOTHING && dir->calls.gone)
		dir->calls.gone(dir->calls.arg, file->path);
	file->told = NEAP_WATCH_NOTHING;
	file->is_settled = false;
}

static void tell_changed(struct neap_watch_dir *dir, struct neap_watch_file *file,
			 const char *text, size_t len)
{
	uint8_t digest[NEAP_SHA256_BYTES];

	neap_sha256(text, len, digest);
	if (file->told == NEAP_WATCH_CHANGED &&
	    !memcmp(digest, file->digest, sizeof(digest)))
		return;
	file->told = NEAP_WATCH_CHANGED;
	memcpy(file->digest, digest, sizeof(digest));
	if (dir->calls.changed)
		dir->calls.changed(dir->calls.arg, file->path, text, len);
}

/* Whether the last change is old enough that another one would have another time. */
static bool is_settled(const struct stat *st)
{
	const struct timespec *change = &st->st_ctim;
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (now.tv_sec - change->tv_sec) * SECOND_NSEC + now.tv_nsec -
		       change->tv_nsec >
	       SETTLE_NSEC;
}

/* Whether the error is temporary and not the file's fault. */
static bool is_passing(const struct neap_error *err)
{
	return err->code == NEAP_ENOMEM || err->code == NEAP_EUNAVAILABLE ||
	       err->errnum == EMFILE || err->errnum == ENFILE || err->errnum == EINTR;
}

static void not_now(struct look *look, struct neap_watch_file *file,
		    const struct neap_error *err)
{
	struct stat st;

	/* Removed since the listing: the next look reports it. */
	if (err->code == NEAP_ENOTFOUND &&
	    fstatat(look->dir_fd, file->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		again(look, NEAP_WATCH_QUIET_MS);
	else if (is_passing(err))
		again(look, err->code == NEAP_EUNAVAILABLE ? NEAP_WATCH_QUIET_MS
							   : NEAP_WATCH_LATE_MS);
	else
		tell_refused(look->dir, file, err);
}

/* A writer that paused for so long does not delay the file, and neither does one that
 * never was (a link has no close). */
static bool is_being_written(struct neap_watch_file *file)
{
	if (file->writing_ms &&
	    neap_watch_now_ms() - file->writing_ms >= NEAP_WATCH_LATE_MS)
		file->writing_ms = 0;
	return file->writing_ms != 0;
}

static void visit(struct look *look, struct neap_watch_file *file)
{
	neap_auto_free char *text = NULL;
	neap_auto_fd int fd = -1;
	struct neap_error err;
	struct stat st;
	size_t len;

	if (is_being_written(file)) {
		again(look, NEAP_WATCH_QUIET_MS);
		return;
	}
	if (neap_trusted_open(file->path, look->dir->own_uid, false, &fd, &st, &err) <
	    0) {
		not_now(look, file, &err);
		return;
	}
	if (file->told == NEAP_WATCH_CHANGED && file->is_settled &&
	    neap_stat_is_same(&st, &file->st))
		return;
	if ((size_t)st.st_size > look->budget &&
	    (size_t)st.st_size <= NEAP_UPLOAD_BYTES) {
		look->budget =
			0; /* in order, so that small files do not starve a large one */
		again(look, 1);
		return;
	}
	/* Determined before reading: a later change gives another state. */
	file->is_settled = is_settled(&st);
	if (neap_fd_read_all(fd, file->path, NEAP_UPLOAD_BYTES, &text, &len, &err) < 0) {
		file->is_settled = false;
		not_now(look, file, &err);
		return;
	}
	look->budget -= len < look->budget ? len : look->budget;
	file->st = st;
	tell_changed(look->dir, file, text, len);
}

static void visit_over(struct look *look, struct neap_watch_file *file)
{
	struct neap_error err;

	(void)neap_error_set(&err, NEAP_ETOOLARGE,
			     "%s is left out: there are over %d policy files in the "
			     "directory",
			     file->path, NEAP_WATCH_FILES);
	tell_refused(look->dir, file, &err);
}

/* A name that cannot be shown is reported with "?" for the bad characters. */
static bool is_showable(const char *name)
{
	const char *c;

	for (c = name; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
	}
	return neap_utf8_is_valid(name, strlen(name));
}

static void visit_unshowable(struct look *look, struct neap_watch_file *file)
{
	struct neap_error err;
	char *c;

	for (c = file->path; *c; c++) {
		if ((unsigned char)*c < ' ' || (unsigned char)*c >= 0x7f)
			*c = '?';
	}
	(void)neap_error_set(&err, NEAP_EINVAL,
			     "%s: the name must be UTF-8 without control characters",
			     file->path);
	tell_refused(look->dir, file, &err);
}

static bool is_listed(const struct neap_names *names, const char *name)
{
	size_t low = 0, high = names->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = strcmp(names->list[middle], name);

		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* Reports removed files and forgets them. */
static void sweep(struct look *look, const struct neap_names *names)
{
	struct neap_watch_dir *dir = look->dir;
	size_t i, left = 0;

	for (i = 0; i < dir->count; i++) {
		struct neap_watch_file *file = dir->files[i];

		if (is_listed(names, file->name)) {
			dir->files[left++] = file;
			continue;
		}
		tell_gone(dir, file);
		file_free(file);
	}
	dir->count = left;
}

/* Files that have a place keep it, whatever comes before them in the alphabet. */
static void give_places(struct neap_watch_dir *dir)
{
	size_t i, taken = 0;

	for (i = 0; i < dir->count; i++)
		taken += !dir->files[i]->is_over;
	for (i = 0; i < dir->count && taken < NEAP_WATCH_FILES; i++) {
		if (!dir->files[i]->is_over)
			continue;
		dir->files[i]->is_over = false;
		taken++;
	}
}

static void look_at_names(struct look *look, const struct neap_names *names)
{
	struct neap_watch_dir *dir = look->dir;
	size_t i;

	sweep(look, names);
	for (i = 0; i < names->count; i++) {
		if (neap_watch_is_policy(names->list[i]) &&
		    !neap_watch_file(dir, names->list[i], true))
			again(look, NEAP_WATCH_AWAY_MS); /* without memory */
	}
	give_places(dir);
	for (i = 0; i < dir->count; i++) {
		struct neap_watch_file *file = dir->files[i];

		if (!is_showable(file->name))
			visit_unshowable(look, file);
		else if (file->is_over)
			visit_over(look, file);
		else
			visit(look, file);
	}
}

int neap_watch_dir_look(struct neap_watch_dir *dir, int dir_fd,
			const struct neap_error *dir_err, size_t budget_bytes)
{
	struct look look = {.dir = dir, .dir_fd = dir_fd, .budget = budget_bytes};
	struct neap_names names = {NULL, 0};
	struct neap_error err;
	bool is_there = dir_fd >= 0;

	if (!is_there)
		err = *dir_err;
	dir->is_looking = true;
	if (is_there && neap_names_read(dir_fd, dir->path, &names, &err) < 0)
		is_there = false;
	if (is_there) {
		tell_gone(dir, &dir->self);
		look_at_names(&look, &names);
	} else {
		again(&look, NEAP_WATCH_AWAY_MS);
		/* If the directory was removed, its files are gone too; else they stay as
		 * they are. */
		if (err.code == NEAP_ENOTFOUND)
			sweep(&look, &names);
		if (!is_passing(&err))
			tell_refused(dir, &dir->self, &err);
	}
	neap_names_done(&names);
	dir->is_looking = false;
	return look.again_ms;
}
