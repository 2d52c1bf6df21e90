/* SPDX-License-Identifier: Apache-2.0 */
#include "api/kube/log/log_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/mem.h"

/* Files of one attempt; older ones are ignored. */
#define FILES_MAX 256
/* Tries on a folder that keeps changing, before waiting. */
#define LOOKS_MAX 8

enum phase { AT_START, LOOKING_BACK, READING, DONE };

struct neap_log_read {
	int dir_fd, fd; /* fd: -1 before the first file */
	struct neap_log_wish wish;
	struct neap_log_filter filter;
	struct neap_log_tail tail;
	enum phase phase;
	ino_t inode; /* of fd */
	/* The position of the next byte. When looking back: the end of what is not
	 * searched yet. */
	int64_t at;
	bool is_in_long; /* within a line that is too long */
	bool is_left;    /* there is a newer file, so this one is complete */
	bool is_over;    /* nobody writes any more */
	bool has_end;    /* without follow: what existed at the start ends ... */
	ino_t end_inode; /* ... in this file */
	int64_t end_at;  /* ... here */
};

/* The files, newest first. */
struct files {
	size_t count;
	struct {
		int number;
		ino_t inode;
	} list[FILES_MAX];
};

int neap_log_open(int dir_fd, const char *name, int flags)
{
	if (!*name || strchr(name, '/') || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0) {
		errno = EINVAL;
		return -1;
	}
	return openat(dir_fd, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
}

/* A number in plain digits. -1: anything else. */
static int number_of(const char *text)
{
	int number = 0;

	if (!*text || (*text == '0' && text[1]) || strlen(text) > 8)
		return -1;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -1;
		number = number * 10 + (*text - '0');
	}
	return number;
}

/* Calls take for each name in a folder. False: it cannot be read, see errno. */
static bool names_each(int dir_fd, void (*take)(void *arg, const char *name), void *arg)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (!dir) {
		int errnum = errno;

		if (fd >= 0)
			close(fd);
		errno = errnum;
		return false;
	}
	while ((entry = readdir(dir)))
		take(arg, entry->d_name);
	closedir(dir);
	return true;
}

struct attempts {
	int newest, before;
};

static void attempt_take(void *arg, const char *name)
{
	struct attempts *attempts = arg;
	int number = number_of(name);

	if (number > attempts->newest) {
		attempts->before = attempts->newest;
		attempts->newest = number;
	} else if (number > attempts->before) {
		attempts->before = number;
	}
}

int neap_log_attempt(int container_fd, bool is_previous)
{
	struct attempts attempts = {-1, -1};

	if (!names_each(container_fd, attempt_take, &attempts))
		return -1;
	return is_previous ? attempts.before : attempts.newest;
}

/* --- which files there are --- */

static void file_take(void *arg, const char *name)
{
	struct files *files = arg;
	size_t at;
	int number;

	if (strncmp(name, "log", 3) != 0)
		return;
	number = name[3] == '.' ? number_of(name + 4) : name[3] ? -1 : 0;
	if (number < 0 || (number == 0 && name[3]))
		return;
	for (at = files->count; at > 0 && files->list[at - 1].number > number; at--)
		if (at < FILES_MAX)
			files->list[at] = files->list[at - 1];
	if (at == FILES_MAX)
		return;
	files->list[at].number = number;
	files->count += files->count < FILES_MAX;
}

static const char *name_of(int number, char *buf, size_t size)
{
	(void)snprintf(buf, size, number ? "log.%d" : "log", number);
	return buf;
}

/* The inode of a regular file; 0: there is none. */
static ino_t inode_of(const struct neap_log_read *read, const char *name)
{
	struct stat st;

	if (fstatat(read->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode))
		return 0;
	return st.st_ino;
}

static bool files_look(const struct neap_log_read *read, struct files *ret)
{
	size_t count = 0;
	char name[24];

	memset(ret, 0, sizeof(*ret));
	if (!names_each(read->dir_fd, file_take, ret))
		return false;
	for (size_t i = 0; i < ret->count; i++) {
		int number = ret->list[i].number;
		ino_t inode = inode_of(read, name_of(number, name, sizeof(name)));

		if (!inode)
			continue;
		ret->list[count].number = number;
		ret->list[count++].inode = inode;
	}
	ret->count = count;
	return true;
}

static bool is_same(const struct files *a, const struct files *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (a->list[i].number != b->list[i].number ||
		    a->list[i].inode != b->list[i].inode)
			return false;
	return true;
}

/* The index of the reader's file; count: it is deleted. */
static size_t place_of(const struct neap_log_read *read, const struct files *files)
{
	size_t i = 0;

	while (i < files->count && files->list[i].inode != read->inode)
		i++;
	return i;
}

enum which { NEWEST, OLDEST, NEWER, OLDER };

/* The index of the wanted file; -1: there is none. */
static int choose(const struct neap_log_read *read, const struct files *files,
		  enum which which)
{
	int count = (int)files->count, place;

	if (which == NEWEST)
		return count ? 0 : -1;
	if (which == OLDEST)
		return count - 1;
	place = (int)place_of(read, files);
	if (which == NEWER)
		return place - 1; /* the current file is deleted: take the oldest */
	return place + 1 < count ? place + 1 : -1;
}

/* Opens a file if the folder is unchanged before and after. 1: *ret_fd; 0: there is none;
 * -1 with errno, EAGAIN when the folder kept changing. */
static int files_open(const struct neap_log_read *read, enum which which, int *ret_fd)
{
	struct files before, after;

	for (int i = 0; i < LOOKS_MAX; i++) {
		char name[24];
		struct stat st;
		int place, fd;

		if (!files_look(read, &before))
			return errno == ENOENT ? 0 : -1;
		place = choose(read, &before, which);
		if (place < 0) {
			if (files_look(read, &after) && is_same(&before, &after))
				return 0;
			continue;
		}
		fd = neap_log_open(read->dir_fd,
				   name_of(before.list[place].number, name, sizeof(name)),
				   O_RDONLY);
		if (fd < 0 && errno != ENOENT)
			return -1;
		if (fd < 0)
			continue;
		if (fstat(fd, &st) == 0 && st.st_ino == before.list[place].inode &&
		    files_look(read, &after) && is_same(&before, &after)) {
			*ret_fd = fd;
			return 1;
		}
		close(fd);
	}
	errno = EAGAIN;
	return -1;
}

/* --- from file to file --- */

static int fail(const char *what, struct neap_error *err)
{
	return neap_error_sys(err, "%s what it printed", what);
}

/* All of the file is older than what is wanted, and it does not grow. */
static bool is_too_old(const struct neap_log_read *read, const struct stat *st)
{
	return read->wish.since_usec > 0 && inode_of(read, "log") != st->st_ino &&
	       (int64_t)st->st_mtim.tv_sec + 1 < read->wish.since_usec / 1000000;
}

enum turned { TO_NONE, TO_ONE, TO_RETRY };

/* Moves to another file: to its end when looking back, else to its beginning. Returns
 * -code. */
static int turn_to(struct neap_log_read *read, enum which which, struct neap_error *err)
{
	struct stat st;
	int fd = -1, rc = files_open(read, which, &fd);

	if (rc < 0)
		return errno == EAGAIN ? TO_RETRY : fail("open", err);
	if (rc == 0)
		return TO_NONE;
	if (fstat(fd, &st) < 0) {
		rc = fail("look at", err);
		close(fd);
		return rc;
	}
	if (read->fd >= 0)
		close(read->fd);
	read->fd = fd;
	read->inode = st.st_ino;
	read->is_in_long = false;
	read->is_left = read->phase == READING && is_too_old(read, &st);
	read->at = read->phase == LOOKING_BACK || read->is_left ? st.st_size : 0;
	if (read->phase == LOOKING_BACK && read->has_end &&
	    read->inode == read->end_inode && read->end_at < read->at)
		read->at = read->end_at; /* later output is not wanted */
	return TO_ONE;
}

/* Without follow, reading ends at the present end. */
static void note_end(struct neap_log_read *read)
{
	struct stat st;

	if (read->wish.is_follow || read->has_end ||
	    fstatat(read->dir_fd, "log", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	read->has_end = true;
	read->end_inode = st.st_ino;
	read->end_at = st.st_size;
}

/* At the end of the newest file, or without any file. */
static int at_end(struct neap_log_read *read)
{
	bool was_over = read->is_over;
	struct stat st;

	if (was_over) {
		read->phase = DONE;
		return NEAP_LOG_END;
	}
	/* The writer has ended, or the folder is deleted. Look once more for last
	 * lines. */
	read->is_over = !read->wish.is_follow ||
			fstatat(read->dir_fd, "exit", &st, AT_SYMLINK_NOFOLLOW) == 0 ||
			(fstat(read->dir_fd, &st) == 0 && st.st_nlink == 0);
	return read->is_over ? NEAP_LOG_MORE : NEAP_LOG_WAITS;
}

static int start(struct neap_log_read *read, struct neap_error *err)
{
	bool is_tail = read->wish.tail_lines >= 0;
	int rc;

	note_end(read);
	read->phase = is_tail ? LOOKING_BACK : READING;
	rc = turn_to(read, is_tail ? NEWEST : OLDEST, err);
	if (rc == TO_ONE)
		return NEAP_LOG_MORE;
	read->phase = AT_START;
	if (rc == TO_NONE)
		return at_end(read);
	return rc < 0 ? rc : NEAP_LOG_WAITS;
}

/* --- looking back for the last lines --- */

/* All of the file was searched. */
static int look_further(struct neap_log_read *read, struct neap_error *err)
{
	int rc = turn_to(read, OLDER, err);

	if (rc == TO_NONE)
		read->phase = READING; /* fewer than wanted: start at the first */
	if (rc == TO_RETRY)
		return NEAP_LOG_WAITS;
	return rc < 0 ? rc : NEAP_LOG_MORE;
}

static int look_back(struct neap_log_read *read, char *block, struct neap_error *err)
{
	size_t size =
		read->at < (int64_t)NEAP_LOG_BLOCK ? (size_t)read->at : NEAP_LOG_BLOCK;
	int64_t from = read->at - (int64_t)size;
	ssize_t n = size ? pread(read->fd, block, size, from) : 0;
	size_t first = 0, end = 0, found; /* whole lines lie between them */
	const char *mark;

	if (n < 0)
		return fail("read", err);
	if ((size_t)n < size) { /* the file was truncated */
		read->at = from;
		return NEAP_LOG_MORE;
	}
	mark = memrchr(block, '\n', size);
	if (mark)
		end = (size_t)(mark + 1 - block);
	if (from > 0) {
		mark = memchr(block, '\n', size);
		first = mark ? (size_t)(mark + 1 - block) : size;
	}
	if (end > first &&
	    neap_log_tail_take(&read->tail, block + first, end - first, &found)) {
		read->phase = READING;
		read->at = from + (int64_t)(first + found);
		return NEAP_LOG_MORE;
	}
	/* Within a line that is too long there is no line end to start from. */
	read->at = from > 0 && first < size ? from + (int64_t)first : from;
	return read->at > 0 ? NEAP_LOG_MORE : look_further(read, err);
}

/* --- reading --- */

/* Handles a part of a line at the end, or no more bytes. */
static int read_further(struct neap_log_read *read, struct neap_error *err)
{
	int rc;

	if (read->has_end && read->inode == read->end_inode) {
		read->phase = DONE;
		return NEAP_LOG_END;
	}
	if (!read->is_left && inode_of(read, "log") == read->inode)
		return at_end(read);
	/* There is a newer file, so nobody writes to this one now. But the last bytes may
	 * have come since the last read. */
	if (!read->is_left) {
		read->is_left = true;
		return NEAP_LOG_MORE;
	}
	rc = turn_to(read, NEWER, err);
	if (rc == TO_NONE)
		return at_end(read);
	if (rc == TO_RETRY)
		return NEAP_LOG_WAITS;
	return rc < 0 ? rc : NEAP_LOG_MORE;
}

static int read_on(struct neap_log_read *read, char *block, size_t *ret_len,
		   struct neap_error *err)
{
	size_t size = NEAP_LOG_BLOCK, len;
	const char *mark;
	ssize_t n;

	if (read->has_end && read->inode == read->end_inode &&
	    read->end_at - read->at < (int64_t)size)
		size = read->end_at > read->at ? (size_t)(read->end_at - read->at) : 0;
	n = size ? pread(read->fd, block, size, read->at) : 0;
	if (n < 0)
		return fail("read", err);
	len = (size_t)n;
	mark = read->is_in_long ? memchr(block, '\n', len) : memrchr(block, '\n', len);
	if (mark) {
		len = (size_t)(mark + 1 - block);
		if (!read->is_in_long)
			*ret_len = neap_log_filter_take(&read->filter, block, len);
		read->is_in_long = false;
	} else if (len == NEAP_LOG_BLOCK) {
		read->is_in_long = true; /* until its end */
	} else if (!read->is_in_long || len == 0) {
		return read_further(read, err);
	}
	read->at += (int64_t)len;
	if (!neap_log_filter_is_full(&read->filter))
		return NEAP_LOG_MORE;
	read->phase = DONE;
	return NEAP_LOG_END;
}

int neap_log_read_next(struct neap_log_read *read, char *block, size_t *ret_len,
		       struct neap_error *err)
{
	*ret_len = 0;
	switch (read->phase) {
	case AT_START:
		return start(read, err);
	case LOOKING_BACK:
		return look_back(read, block, err);
	case READING:
		return read_on(read, block, ret_len, err);
	case DONE:
		break;
	}
	return NEAP_LOG_END;
}

void neap_log_read_finish(struct neap_log_read *read)
{
	read->is_over = true;
}

int neap_log_read_new_take(int dir_fd, const struct neap_log_wish *wish,
			   struct neap_log_read **ret, struct neap_error *err)
{
	struct neap_log_read *read = neap_alloc(sizeof(*read));

	if (!read) {
		close(dir_fd);
		return neap_error_nomem(err);
	}
	read->dir_fd = dir_fd;
	read->fd = -1;
	read->wish = *wish;
	read->tail.wanted = wish->tail_lines;
	neap_log_filter_init(&read->filter, wish->has_times, wish->since_usec,
			     wish->limit_bytes);
	*ret = read;
	return 0;
}

void neap_log_read_free(struct neap_log_read *read)
{
	if (!read)
		return;
	close(read->dir_fd);
	if (read->fd >= 0)
		close(read->fd);
	free(read);
}
