/* SPDX-License-Identifier: Apache-2.0 */
#include "api/deschedule/play/recording_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "lua/deschedule/round_tape.h"

#define FRESH "new"

struct file {
	int64_t number, bytes;
};

struct files {
	struct file *of;
	size_t count, size;
	int64_t bytes;
};

static void file_name(int64_t number, char ret[32])
{
	(void)snprintf(ret, 32, "%012lld.json", (long long)number);
}

static int by_number(const void *a, const void *b)
{
	const struct file *one = a, *other = b;

	return (one->number > other->number) - (one->number < other->number);
}

/* One that goes meanwhile is left out. */
static int list_files(const char *dir, struct files *files, struct neap_error *err)
{
	DIR *stream = opendir(dir);
	const struct dirent *entry;
	struct stat st;
	int rc = 0;

	if (!stream)
		return errno == ENOENT ? 0 : neap_error_sys(err, "%s", dir);
	while (rc == 0 && (entry = readdir(stream)) != NULL) {
		int64_t number = neap_round_tape_number(entry->d_name);

		if (number < 0 ||
		    fstatat(dirfd(stream), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (!neap_grow(&files->of, files->count, &files->size,
			       sizeof(*files->of))) {
			rc = neap_error_nomem(err);
			continue;
		}
		files->of[files->count++] = (struct file){number, st.st_size};
		files->bytes += st.st_size;
	}
	(void)closedir(stream);
	if (files->count)
		qsort(files->of, files->count, sizeof(*files->of), by_number);
	return rc;
}

/* Makes room for one of that size. */
static void drop_oldest(int folder, struct files *files, int64_t bytes)
{
	size_t at = 0;

	while (at < files->count && (files->count - at >= NEAP_ROUNDS_MAX ||
				     files->bytes + bytes > NEAP_ROUNDS_BYTES)) {
		char name[32];

		file_name(files->of[at].number, name);
		(void)unlinkat(folder, name, 0); /* if it stays, the write tells why */
		files->bytes -= files->of[at].bytes;
		at++;
	}
}

static int put(const char *dir, const struct neap_buf *text, struct neap_error *err)
{
	struct files files = {0};
	neap_auto_fd int folder = -1;
	char name[32];
	int rc = neap_folder_make(dir, 0700, err);

	if (rc < 0)
		return rc;
	folder = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return neap_error_sys(err, "%s", dir);
	rc = list_files(dir, &files, err);
	if (rc == 0) {
		drop_oldest(folder, &files, (int64_t)text->len);
		file_name(files.count ? files.of[files.count - 1].number + 1 : 1, name);
		rc = neap_file_put(folder, FRESH, name, text->data, text->len,
				   NEAP_PUT_SYNCED, err);
	}
	free(files.of);
	return rc;
}

int neap_recordings_write(const char *dir, const struct neap_recording *recording,
			  struct neap_error *err)
{
	/* Static: a thread that an earlier descheduler left may still write to the folder
	 * when a new descheduler starts. */
	static atomic_flag is_written = ATOMIC_FLAG_INIT;
	neap_auto_buf struct neap_buf text = {0};
	int rc;

	neap_buf_init(&text, NEAP_ROUND_BYTES);
	rc = neap_recording_write(recording, &text, err);
	if (rc < 0)
		return rc;
	if (atomic_flag_test_and_set(&is_written))
		return neap_error_set(err, NEAP_EUNAVAILABLE, NEAP_RECORDINGS_SLOW_DISK);
	rc = put(dir, &text, err);
	atomic_flag_clear(&is_written);
	return rc;
}

int neap_recordings_list(const char *dir, json_t **ret, struct neap_error *err)
{
	struct files files = {0};
	int rc = list_files(dir, &files, err);
	json_t *list = rc == 0 ? json_array() : NULL;

	for (size_t i = 0; list && i < files.count; i++)
		neap_json_push_new(&list,
				   json_pack("{s:I,s:I}", "number",
					     (json_int_t)files.of[i].number, "bytes",
					     (json_int_t)files.of[i].bytes));
	free(files.of);
	if (rc < 0)
		return rc;
	if (!list)
		return neap_error_nomem(err);
	*ret = list;
	return 0;
}

int neap_recordings_load(const char *dir, int64_t number, struct neap_buf *ret,
			 struct neap_error *err)
{
	char path[1024], name[32];
	int rc;

	file_name(number, name);
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	neap_buf_init(ret, NEAP_ROUND_BYTES);
	rc = neap_file_load(path, ret, err);
	if (rc < 0 && err->errnum == ENOENT)
		return neap_error_set(err, NEAP_ENOTFOUND,
				      "there is no recorded round %lld (the oldest go "
				      "when there are more than %d)",
				      (long long)number, NEAP_ROUNDS_MAX);
	return rc;
}
