/* SPDX-License-Identifier: Apache-2.0
 *
 * All that the parts of the keeper read of each other, by the first byte: a packet to a
 * shim, one of its events, an order, the file `exit`, and, in pieces as they may come
 * through a pipe, what a command prints. There is one way only to write a message: what
 * is taken gives the same bytes again. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/utf8.h"
#include "hw/keeper/keeper_priv.h"
#include "t/fuzz/lib/fuzz.h"

#define LOG_BYTES 4096
#define LOG_FILES 3

static char text[NEAP_KEEPER_OUTPUT_MAX + 1];
static unsigned char again[NEAP_KEEPER_PACKET];

static void check_request(const char *bytes, size_t len)
{
	struct neap_keeper_request request;
	struct neap_error err = {0};
	size_t again_len = 0;

	if (neap_keeper_request_parse(bytes, len, &request, &err) < 0) {
		FUZZ_CHECK(err.code == NEAP_EINVAL && *err.msg);
		return;
	}
	FUZZ_CHECK(neap_keeper_request_format(&request, again, sizeof(again), &again_len,
					      &err) == 0);
	FUZZ_CHECK(again_len == len && memcmp(again, bytes, len) == 0);
}

static void check_event(const char *bytes, size_t len)
{
	struct neap_keeper_event event;
	struct neap_error err = {0};
	size_t again_len = 0;

	if (neap_keeper_event_parse(bytes, len, text, &event, &err) < 0) {
		FUZZ_CHECK(err.code == NEAP_EINVAL && *err.msg);
		return;
	}
	FUZZ_CHECK(event.fd == -1 && event.what != NEAP_KEEPER_LOST);
	FUZZ_CHECK(neap_keeper_event_format(&event, again, sizeof(again), &again_len,
					    &err) == 0);
	FUZZ_CHECK(again_len == len && memcmp(again, bytes, len) == 0);
}

static void check_order(const char *bytes, size_t len)
{
	struct neap_keeper_job job;
	struct neap_error err = {0};
	unsigned char *order = NULL;
	size_t order_len = 0;

	if (neap_keeper_order_parse(bytes, len, &job, &err) < 0) {
		FUZZ_CHECK(err.code == NEAP_EINVAL && *err.msg);
		return;
	}
	/* What names a folder leads nowhere else. */
	FUZZ_CHECK(!strchr(job.order.pod_uid, '/') && job.order.pod_uid[0] != '.');
	FUZZ_CHECK(!strchr(job.order.container, '/') && job.order.container[0] != '.');
	FUZZ_CHECK(job.order.argv[0] && !job.order.argv[job.argc] &&
		   !job.order.envp[job.envc]);
	FUZZ_CHECK(neap_keeper_order_format(&job.order, &order, &order_len, &err) == 0);
	FUZZ_CHECK(order_len == len && memcmp(order, bytes, len) == 0);
	free(order);
	neap_keeper_job_done(&job);
}

static void check_record(const char *bytes, size_t len)
{
	static char first[NEAP_KEEPER_RECORD_MAX], second[NEAP_KEEPER_RECORD_MAX];
	struct neap_keeper_event event;
	struct neap_error err = {0};

	if (neap_keeper_record_parse(bytes, len, text, &event, &err) < 0) {
		FUZZ_CHECK(err.code == NEAP_EINVAL && *err.msg);
		return;
	}
	FUZZ_CHECK(neap_keeper_record_format(&event, first, sizeof(first), &err) > 0);
	FUZZ_CHECK(neap_keeper_record_parse(first, strlen(first), text, &event, &err) ==
		   0);
	FUZZ_CHECK(neap_utf8_is_valid(text, strlen(text)));
	FUZZ_CHECK(neap_keeper_record_format(&event, second, sizeof(second), &err) > 0);
	FUZZ_CHECK(strcmp(first, second) == 0);
}

/* Every line has its head, and is whole. */
static void check_log(int folder_fd, const char *name)
{
	static char log[LOG_BYTES + 1];
	int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC);
	const char *line = log;
	ssize_t n;

	if (fd < 0)
		return;
	n = read(fd, log, sizeof(log));
	(void)close(fd);
	FUZZ_CHECK(n >= 0 && n <= LOG_BYTES);
	FUZZ_CHECK(n == 0 || log[n - 1] == '\n');
	while (line < log + n) {
		const char *end = memchr(line, '\n', (size_t)(log + n - line));

		FUZZ_CHECK(end && end - line >= 40 && line[10] == 'T' && line[29] == 'Z');
		FUZZ_CHECK(memcmp(line + 30, " stdout ", 8) == 0 ||
			   memcmp(line + 30, " stderr ", 8) == 0);
		FUZZ_CHECK((line[38] == 'F' || line[38] == 'P') && line[39] == ' ');
		line = end + 1;
	}
	(void)unlinkat(folder_fd, name, 0);
}

/* The length of a piece and its stream by a byte, then its bytes. */
static void check_output(struct fuzz_in *in)
{
	static struct neap_keeper_output output;
	struct neap_keeper_order order = {.log_bytes_max = LOG_BYTES,
					  .log_files_max = LOG_FILES};
	static int folder_fd = -1;
	struct neap_error err;

	if (folder_fd < 0)
		folder_fd = open(fuzz_folder(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	memset(&output, 0, sizeof(output));
	FUZZ_CHECK(neap_keeper_output_init(&output, folder_fd, &order, &err) == 0);
	while (in->left) {
		unsigned how = fuzz_byte(in);
		size_t len = how >> 1;

		len = (how & 1 ? len * 64 : len) < in->left ? (how & 1 ? len * 64 : len)
							    : in->left;
		neap_keeper_output_add(&output, (int)(how & 1), (const char *)in->at,
				       len);
		in->at += len;
		in->left -= len;
	}
	neap_keeper_output_end(&output, 0);
	neap_keeper_output_end(&output, 1);
	neap_keeper_output_done(&output);
	FUZZ_CHECK(output.lost == 0);
	check_log(folder_fd, "log");
	check_log(folder_fd, "log.1");
	check_log(folder_fd, "log.2");
	FUZZ_CHECK(faccessat(folder_fd, "log.3", F_OK, 0) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in;
	const char *bytes;
	unsigned which;
	size_t len;

	fuzz_in_init(&in, data, size);
	which = fuzz_byte(&in) % 5;
	if (which == 4) {
		check_output(&in);
	} else {
		bytes = fuzz_rest(&in, &len);
		if (which == 0)
			check_request(bytes, len);
		else if (which == 1)
			check_event(bytes, len);
		else if (which == 2)
			check_order(bytes, len);
		else
			check_record(bytes, len);
	}
	fuzz_in_done(&in);
	return 0;
}
