/* SPDX-License-Identifier: Apache-2.0
 *
 * The log of a command: lines with time and stream, in a size-limited file and a limited
 * number of older ones. A full disk loses lines and never blocks the command; a line
 * reports how many were lost. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/quantity.h"
#include "hw/keeper/keeper_priv.h"

#define FILE_MODE  0640
#define HEAD_MAX   64   /* "2026-11-22T00:00:00.000000000Z stdout F " */
#define BYTES_MIN  4096 /* of a file */
#define NAME_BYTES 24

static const char *const stream_names[] = {"stdout", "stderr"};

static void log_open(struct neap_keeper_output *output, int more_flags)
{
	struct stat st;

	output->fd = openat(output->folder_fd, "log",
			    O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC |
				    O_NONBLOCK | more_flags,
			    FILE_MODE);
	if (output->fd >= 0 && fstat(output->fd, &st) == 0)
		output->size = st.st_size;
}

/* log becomes log.1, and so on; the oldest goes. */
static void rotate(struct neap_keeper_output *output)
{
	char from[NAME_BYTES], to[NAME_BYTES];

	neap_fd_close(&output->fd);
	for (int i = output->files_max - 1; i > 0; i--) {
		if (i > 1)
			(void)snprintf(from, sizeof(from), "log.%d", i - 1);
		else
			(void)snprintf(from, sizeof(from), "log");
		(void)snprintf(to, sizeof(to), "log.%d", i);
		/* Not there yet, or the disk is broken: then log is emptied below. */
		if (renameat(output->folder_fd, from, output->folder_fd, to) < 0)
			errno = 0;
	}
	/* A reader of the only file keeps it open. */
	if (output->files_max == 1)
		(void)unlinkat(output->folder_fd, "log", 0);
	log_open(output, O_TRUNC);
}

static size_t head_make(char *head, const char *stream, char tag)
{
	char stamp[32];
	int n;

	/* The clock has microseconds, the form nanoseconds. */
	(void)neap_time_format(neap_clock_usec(CLOCK_REALTIME), 6, stamp, sizeof(stamp));
	stamp[strcspn(stamp, "Z")] = '\0';
	n = snprintf(head, HEAD_MAX, "%s000Z %s %c ", stamp, stream, tag);
	return n > 0 && n < HEAD_MAX ? (size_t)n : 0;
}

/* One line; false when it could not be written. */
static bool line_write(struct neap_keeper_output *output, const char *stream, char tag,
		       const char *text, size_t len)
{
	char head[HEAD_MAX];
	size_t head_len = head_make(head, stream, tag);
	struct iovec parts[] = {{head, head_len}, {(void *)text, len}, {(void *)"\n", 1}};
	ssize_t all = (ssize_t)(head_len + len + 1);
	ssize_t n;

	if (output->fd < 0 ||
	    (output->size > 0 && output->size + all > output->bytes_max))
		rotate(output);
	if (output->fd < 0)
		return false;
	do
		n = writev(output->fd, parts, 3);
	while (n < 0 && errno == EINTR);
	if (n == all) {
		output->size += n;
		return true;
	}
	/* Half a line would be taken for a whole one. Somebody may have made the file
	 * shorter meanwhile, so its end is where the kernel has put it. */
	if (n > 0) {
		off_t end = lseek(output->fd, 0, SEEK_CUR);

		if (end >= n && ftruncate(output->fd, end - n) == 0)
			output->size = end - n;
		else
			output->size += n;
	}
	if (n >= 0)
		errno = ENOSPC;
	return false;
}

static void lost_tell(struct neap_keeper_output *output)
{
	char text[160];
	int n = snprintf(text, sizeof(text),
			 "neap: %" PRIu64 " lines could not be written here: %s",
			 output->lost, strerror(output->lost_errnum));

	if (n > 0 && line_write(output, "stderr", 'F', text, (size_t)n))
		output->lost = 0;
}

static void line_put(struct neap_keeper_output *output, int stream, char tag,
		     const char *text, size_t len)
{
	if (output->lost)
		lost_tell(output);
	if (!output->lost && line_write(output, stream_names[stream], tag, text, len))
		return;
	if (!output->lost++)
		output->lost_errnum = errno;
}

int neap_keeper_output_init(struct neap_keeper_output *output, int folder_fd,
			    const struct neap_keeper_order *order, struct neap_error *err)
{
	output->folder_fd = folder_fd;
	output->fd = -1;
	if (folder_fd < 0)
		return 0;
	output->bytes_max =
		order->log_bytes_max < BYTES_MIN ? BYTES_MIN : order->log_bytes_max;
	output->files_max = order->log_files_max;
	output->piece_max = output->bytes_max / 2 < NEAP_KEEPER_LINE
				    ? (size_t)output->bytes_max / 2
				    : NEAP_KEEPER_LINE;
	log_open(output, 0);
	return output->fd >= 0 ? 0 : neap_error_sys(err, "open the log");
}

static void probe_keep(struct neap_keeper_output *output, const char *bytes, size_t len)
{
	size_t room = NEAP_KEEPER_OUTPUT_MAX - output->kept_len;

	if (len > room)
		len = room;
	memcpy(output->kept + output->kept_len, bytes, len);
	output->kept_len += len;
}

void neap_keeper_output_add(struct neap_keeper_output *output, int stream,
			    const char *bytes, size_t len)
{
	struct neap_keeper_stream *s = &output->streams[stream];

	if (output->folder_fd < 0) {
		probe_keep(output, bytes, len);
		return;
	}
	while (len > 0) {
		size_t room = output->piece_max - s->len;
		size_t part = len < room ? len : room;
		const char *end = memchr(bytes, '\n', part);

		if (end)
			part = (size_t)(end - bytes);
		/* A whole line needs no copy. */
		if (end && s->len == 0) {
			line_put(output, stream, 'F', bytes, part);
		} else {
			memcpy(s->line + s->len, bytes, part);
			s->len += part;
			if (end || s->len == output->piece_max) {
				line_put(output, stream, end ? 'F' : 'P', s->line,
					 s->len);
				s->len = 0;
			}
		}
		part += end != NULL;
		bytes += part;
		len -= part;
	}
}

void neap_keeper_output_end(struct neap_keeper_output *output, int stream)
{
	struct neap_keeper_stream *s = &output->streams[stream];

	if (s->len > 0)
		line_put(output, stream, 'P', s->line, s->len);
	s->len = 0;
}

void neap_keeper_output_done(struct neap_keeper_output *output)
{
	if (output->lost)
		lost_tell(output);
	neap_fd_close(&output->fd);
}
