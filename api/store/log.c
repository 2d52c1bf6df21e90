/* SPDX-License-Identifier: Apache-2.0 */
#include "api/store/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/mem.h"

#define HEADER 32
#define FRAME  24 /* and a page */
#define MAGIC                                                                            \
	0x377f0682u /* the lowest bit: words of the sums have the highest byte first */
#define PAGE_MIN    512
#define PAGE_MAX    65536
#define LOG_VERSION 3007000

struct log {
	int fd;
	uint32_t page;
	bool is_high_first;
	uint32_t sum[2];
	unsigned char salt[8];
};

static uint32_t word_at(const unsigned char *at, bool is_high_first)
{
	return is_high_first ? (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
				       (uint32_t)at[2] << 8 | at[3]
			     : (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 |
				       (uint32_t)at[1] << 8 | at[0];
}

/* len is a multiple of 8. */
static void add(struct log *log, const unsigned char *bytes, size_t len)
{
	uint32_t a = log->sum[0], b = log->sum[1];
	size_t i;

	for (i = 0; i < len; i += 8) {
		a += word_at(bytes + i, log->is_high_first) + b;
		b += word_at(bytes + i + 4, log->is_high_first) + a;
	}
	log->sum[0] = a;
	log->sum[1] = b;
}

static bool has_sum(const struct log *log, const unsigned char *at)
{
	return word_at(at, true) == log->sum[0] && word_at(at + 4, true) == log->sum[1];
}

static int read_at(const struct log *log, unsigned char *bytes, size_t len, off_t at,
		   const char *file, struct neap_error *err)
{
	ssize_t got = pread(log->fd, bytes, len, at);

	if (got < 0)
		return neap_error_sys(err, "read %s-wal", file);
	return (size_t)got == len;
}

static bool take_header(struct log *log, const unsigned char *header)
{
	uint32_t magic = word_at(header, true);

	log->is_high_first = (magic & 1) != 0;
	log->page = word_at(header + 8, true);
	memcpy(log->salt, header + 16, sizeof(log->salt));
	add(log, header, FRAME);
	return (magic & ~1u) == MAGIC && word_at(header + 4, true) == LOG_VERSION &&
	       log->page >= PAGE_MIN && log->page <= PAGE_MAX &&
	       (log->page & (log->page - 1)) == 0 && has_sum(log, header + FRAME);
}

static int damaged(const char *file, long long at, struct neap_error *err)
{
	return neap_error_set(
		err, NEAP_EINVAL,
		"%s-wal is damaged from byte %lld on, and writes behind that were "
		"durable: put a sound one in its place; or give up all that only it has: "
		"truncate -s 0 %s-wal; or set all aside with neapd --new-store, start "
		"neapd, and restore a backup (neapctl restore FILE)",
		file, at, file);
}

/* frame: room for one. */
static int check_frames(struct log *log, unsigned char *frame, const char *file,
			struct neap_error *err)
{
	const size_t size = FRAME + log->page;
	long long broken_at = -1;
	int commits = 0, r;
	off_t at;

	for (at = HEADER; (r = read_at(log, frame, size, at, file, err)) > 0;
	     at += (off_t)size) {
		/* A frame of an earlier round of the log, which is restarted at its
		 * beginning repeatedly. */
		bool is_other = memcmp(frame + 8, log->salt, sizeof(log->salt)) != 0;

		if (broken_at < 0 && !is_other) {
			add(log, frame, 8);
			add(log, frame + FRAME, log->page);
			if (has_sum(log, frame + 16))
				continue;
		}
		if (broken_at < 0)
			broken_at = at;
		/* The size of the file, which a commit has. */
		commits += !is_other && word_at(frame + 4, true) != 0;
		if (commits > 1)
			return damaged(file, broken_at, err);
	}
	return r;
}

int neap_store_log_check(const char *file, struct neap_error *err)
{
	neap_auto_fd int fd = -1;
	neap_auto_free unsigned char *frame = NULL;
	static const unsigned char zeros[HEADER];
	unsigned char header[HEADER];
	struct log log = {0};
	char path[300];
	struct stat st;
	int r;

	if (snprintf(path, sizeof(path), "%s-wal", file) >= (int)sizeof(path))
		return neap_error_set(err, NEAP_ETOOLARGE, "%s: the path is too long",
				      file);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : neap_error_sys(err, "open %s", path);
	log.fd = fd;
	if (fstat(fd, &st) < 0)
		return neap_error_sys(err, "look at %s", path);
	r = read_at(&log, header, sizeof(header), 0, file, err);
	/* Nothing is durable before the header, which fits in a disk's single atomic
	 * write. */
	if (r <= 0 || st.st_size == HEADER || memcmp(header, zeros, HEADER) == 0)
		return r < 0 ? r : 0;
	if (!take_header(&log, header))
		return damaged(file, 0, err);
	frame = neap_alloc(FRAME + log.page);
	if (!frame)
		return neap_error_nomem(err);
	return check_frames(&log, frame, file, err);
}
