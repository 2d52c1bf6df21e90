/* SPDX-License-Identifier: Apache-2.0 */
#include "api/store/marker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"

#define HEAD     "neap store "
#define OPEN     " open"
#define PATH_LEN 256
/* Position of SQLite's locks. */
#define LOCK_FIRST INT64_C(0x40000000)
#define LOCK_BYTES 512

int neap_store_marker_read(const char *path, struct neap_store_marker *ret,
			   struct neap_error *err)
{
	neap_auto_fd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	const char *word;
	char text[80];

	memset(ret, 0, sizeof(*ret));
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return neap_error_sys(err, "open %s", path);
	if (neap_fd_read_text(fd, text, sizeof(text)) < 0)
		return neap_error_sys(err, "read %s", path);
	ret->mark = NEAP_STORE_MARKED;
	word = text + strlen(HEAD);
	if (strncmp(text, HEAD, strlen(HEAD)) != 0)
		return 0;
	if (strcmp(word, "new\n") == 0)
		ret->mark = NEAP_STORE_NEW;
	else if (strspn(word, "0123456789abcdef") == sizeof(ret->id) - 1) {
		const char *end = word + sizeof(ret->id) - 1;

		ret->is_open = strcmp(end, OPEN "\n") == 0;
		if (ret->is_open || strcmp(end, "\n") == 0)
			memcpy(ret->id, word, sizeof(ret->id) - 1);
	}
	return 0;
}

static int folder_open(const char *path, struct neap_error *err)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_LEN];
	int fd;

	(void)snprintf(folder, sizeof(folder), "%.*s",
		       slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? neap_error_sys(err, "open %s", folder) : fd;
}

int neap_store_marker_write(const char *path, const char *id, bool is_open,
			    struct neap_error *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char text[80], fresh[64];
	int folder = folder_open(path, err), r;

	if (folder < 0)
		return folder;
	(void)snprintf(text, sizeof(text), HEAD "%s%s\n", id ? id : "new",
		       is_open ? OPEN : "");
	(void)snprintf(fresh, sizeof(fresh), ".%s.new", name);
	r = neap_file_put(folder, fresh, name, text, strlen(text),
			  NEAP_PUT_SYNCED | NEAP_PUT_OWNED, err);
	(void)close(folder);
	return r;
}

int neap_store_marker_check(const struct neap_store_marker *marker, const char *file,
			    bool is_used, bool *ret_is_used, struct neap_error *err)
{
	char log[PATH_LEN + 8];
	struct stat st;
	bool is_missing, has_log;

	*ret_is_used = marker->mark == NEAP_STORE_MARKED ||
		       (marker->mark == NEAP_STORE_UNMARKED && is_used);
	(void)snprintf(log, sizeof(log), "%s-wal", file);
	is_missing = lstat(file, &st) < 0;
	if (is_missing && errno != ENOENT)
		return neap_error_sys(err, "look at %s", file);
	if (!is_missing && (st.st_size > 0 || !S_ISREG(st.st_mode))) {
		if (!marker->is_open || lstat(log, &st) == 0 || errno != ENOENT)
			return 0;
		return neap_error_set(
			err, NEAP_EINVAL,
			"%s is missing, but no neapd has closed %s: put it back, as "
			"durable writes may be in it alone; or give those up: touch %s",
			log, file, log);
	}
	has_log = lstat(log, &st) == 0 && st.st_size > 0;
	if (!*ret_is_used && !has_log)
		return 0;
	return neap_error_set(
		err, NEAP_EINVAL,
		"%s is %s, but there was a store%s: put it back, or begin with an empty "
		"one: neapd --new-store, start neapd, neapctl restore FILE (a backup)",
		file, is_missing ? "missing" : "empty",
		has_log ? " (its log is there)" : "");
}

/* --- starting with a new store --- */

static bool is_in_use(const char *file)
{
	neap_auto_fd int fd = open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct flock lock = {.l_type = F_WRLCK,
			     .l_whence = SEEK_SET,
			     .l_start = LOCK_FIRST,
			     .l_len = LOCK_BYTES};

	return fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* Returns 0 also when the file does not exist. Never overwrites a file. */
static int move_aside(const char *from, const char *to, struct neap_error *err)
{
	if (link(from, to) == 0 && unlink(from) == 0)
		return 1;
	return errno == ENOENT ? 0 : neap_error_sys(err, "rename %s to %s", from, to);
}

int neap_store_set_aside(const char *file, const char *marker,
			 void (*told)(const char *from, const char *to),
			 struct neap_error *err)
{
	/* The file itself is last: if a kill comes before it, the store is still either
	 * refused or complete. */
	static const char *const ends[] = {"-shm", "-journal", "-wal", ""};
	char from[PATH_LEN + 16], to[PATH_LEN + 64], when[40];
	time_t now = (time_t)(neap_clock_usec(CLOCK_REALTIME) / 1000000);
	struct tm tm;
	size_t i;

	if (is_in_use(file))
		return neap_error_set(err, NEAP_ECONFLICT,
				      "%s is in use by another process: stop that neapd "
				      "first",
				      file);
	if (!gmtime_r(&now, &tm) ||
	    strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &tm) == 0)
		return neap_error_set(err, NEAP_EINTERNAL, "the time cannot be told");
	for (i = 0; i < NEAP_ARRAY_LEN(ends); i++) {
		int r;

		(void)snprintf(from, sizeof(from), "%s%s", file, ends[i]);
		(void)snprintf(to, sizeof(to), "%s.%s%s", file, when, ends[i]);
		r = move_aside(from, to, err);
		if (r < 0)
			return r;
		if (r > 0)
			told(from, to);
	}
	return neap_store_marker_write(marker, NULL, false, err);
}
