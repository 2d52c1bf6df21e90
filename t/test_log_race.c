/* SPDX-License-Identifier: Apache-2.0
 *
 * Readers of what containers printed beside who writes it: at random in one thread, and
 * as fast as it goes in another process. They must neither lose, double nor cut a
 * line. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "t/lib/log_files.h"

#define READERS 4
#define FILES   4

static unsigned next_random(unsigned *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return *seed >> 8;
}

struct writer {
	char dir[64];
	unsigned seed;
	int line, file_bytes;
	struct neap_buf rest; /* of a line that is half written */
	struct neap_buf want; /* all text so far */
};

static void rotate(struct writer *writer)
{
	char from[16], to[16];

	for (int i = FILES - 1; i > 0; i--) {
		char path[96];

		(void)snprintf(from, sizeof(from), i > 1 ? "log.%d" : "log", i - 1);
		(void)snprintf(to, sizeof(to), "log.%d", i);
		log_file_at(path, sizeof(path), writer->dir, from);
		if (access(path, F_OK) == 0)
			log_file_move(writer->dir, from, to);
	}
	log_file_write(writer->dir, "log", "", false);
	writer->file_bytes = 0;
}

static void write_some(struct writer *writer)
{
	unsigned what = next_random(&writer->seed) % 16;
	neap_auto_buf struct neap_buf line = {0};

	if (what == 0 && writer->rest.len == 0 && writer->file_bytes > 0) {
		rotate(writer);
		return;
	}
	neap_buf_init(&line, NEAP_BUF_LINE);
	if (writer->rest.len > 0) {
		neap_buf_adds(&line, writer->rest.data);
		neap_buf_clear(&writer->rest);
	} else {
		bool is_part = next_random(&writer->seed) % 4 == 0;
		int width = (int)(next_random(&writer->seed) % 200);

		neap_buf_addf(&line, T(1) " %s %c %d:%*d\n",
			      what % 2 ? "stdout" : "stderr", is_part ? 'P' : 'F',
			      writer->line, width, 7);
		neap_buf_addf(&writer->want, "%d:%*d%s", writer->line++, width, 7,
			      is_part ? "" : "\n");
	}
	if (what == 1 && line.len > 2) {
		size_t half = 1 + next_random(&writer->seed) % (line.len - 1);

		neap_buf_adds(&writer->rest, line.data + half);
		line.data[half] = '\0';
	}
	log_file_write(writer->dir, "log", line.data, true);
	writer->file_bytes += 1;
}

/* Followers that began at different times, all of which look often enough. */
static void at_random(void **state)
{
	static const struct neap_log_wish wish = {-1, -1, 0, false, true},
					  from_now = {0, -1, 0, false, true};

	(void)state;
	for (unsigned seed = 1; seed <= 12; seed++) {
		struct writer writer = {.dir = "/tmp/neap-log-XXXXXX", .seed = seed};
		struct neap_log_read *reads[READERS] = {NULL};
		struct neap_buf outs[READERS];
		size_t from[READERS] = {0};
		int since_look[READERS] = {0};

		assert_non_null(mkdtemp(writer.dir));
		neap_buf_init(&writer.rest, NEAP_BUF_LINE);
		neap_buf_init(&writer.want, 4 * NEAP_BUF_FILE);
		log_file_write(writer.dir, "log", "", false);
		for (int i = 0; i < READERS; i++)
			neap_buf_init(&outs[i], 4 * NEAP_BUF_FILE);
		for (int step = 0; step < 1500; step++) {
			int i = (int)(next_random(&writer.seed) % READERS);
			static char block[NEAP_LOG_BLOCK];
			struct neap_error err;
			size_t len;

			if (next_random(&writer.seed) % 2) {
				write_some(&writer);
				continue;
			}
			/* Some begin at what is the end then: at the end of a line. */
			if (!reads[i] &&
			    (i < 2 ||
			     (step > 300 && !writer.rest.len && writer.want.len > 0 &&
			      writer.want.data[writer.want.len - 1] == '\n'))) {
				if (i < 2 && step > 20)
					continue;
				reads[i] = log_read_open(writer.dir,
							 i < 2 ? &wish : &from_now);
				from[i] = i < 2 ? 0 : writer.want.len;
				if (i >= 2)
					(void)log_read_drain(reads[i], &outs[i]);
			}
			/* One step or all that there is. Nobody may fall behind by all
			 * files. */
			for (int k = 0; k < READERS; k++) {
				if (!reads[k])
					continue;
				if (k == i && ++since_look[k] % 2) {
					(void)neap_log_read_next(reads[k], block, &len,
								 &err);
					neap_buf_add(&outs[k], block, len);
				} else if (next_random(&writer.seed) % 4 == 0) {
					(void)log_read_drain(reads[k], &outs[k]);
				}
			}
		}
		if (writer.rest.len)
			log_file_write(writer.dir, "log", writer.rest.data, true);
		log_file_write(writer.dir, "exit", "", false);
		for (int i = 0; i < READERS; i++) {
			if (reads[i]) {
				assert_int_equal(log_read_drain(reads[i], &outs[i]),
						 NEAP_LOG_END);
				if (strcmp(outs[i].data, writer.want.data + from[i]) != 0)
					fail_msg(
						"seed %u, reader %d: %zu bytes, wanted %zu",
						seed, i, outs[i].len,
						writer.want.len - from[i]);
			}
			neap_log_read_free(reads[i]);
			neap_buf_done(&outs[i]);
		}
		neap_buf_done(&writer.rest);
		neap_buf_done(&writer.want);
		log_files_clear(writer.dir, true);
	}
}

/* --- beside a writer --- */

#define ROTATIONS 60
#define LINES     40

/* In two halves now and then, so that readers see lines that are not whole. */
static void line_write(int fd, int number)
{
	char line[128];
	int len = snprintf(line, sizeof(line), T(1) " stdout F line %d\n", number);
	int half = number % 7 ? len : 1 + number % (len - 1);

	if (write(fd, line, (size_t)half) != half ||
	    write(fd, line + half, (size_t)(len - half)) != len - half)
		_exit(1);
}

/* A process of its own, as shims are; it removes nothing. */
static void write_all(const char *dir)
{
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY), fd = -1, number = 0;

	for (int i = 0; i < ROTATIONS; i++) {
		char from[32], to[32];

		for (int k = i; k > 0; k--) {
			(void)snprintf(from, sizeof(from), k > 1 ? "log.%d" : "log",
				       k - 1);
			(void)snprintf(to, sizeof(to), "log.%d", k);
			if (renameat(dir_fd, from, dir_fd, to) < 0)
				_exit(2);
		}
		if (fd >= 0)
			close(fd);
		fd = openat(dir_fd, "log", O_WRONLY | O_CREAT | O_APPEND | O_EXCL, 0600);
		for (int k = 0; k < LINES; k++)
			line_write(fd, number++);
	}
	if (openat(dir_fd, "exit", O_WRONLY | O_CREAT, 0600) < 0)
		_exit(3);
	_exit(0);
}

static void beside_a_writer(void **state)
{
	static const struct neap_log_wish wish = {-1, -1, 0, false, true};
	neap_auto_buf struct neap_buf want = {0};

	(void)state;
	neap_buf_init(&want, NEAP_BUF_FILE);
	for (int i = 0; i < ROTATIONS * LINES; i++)
		neap_buf_addf(&want, "line %d\n", i);
	for (int round = 0; round < 6; round++) {
		char dir[] = "/tmp/neap-log-XXXXXX";
		static char block[NEAP_LOG_BLOCK];
		struct neap_log_read *reads[READERS];
		struct neap_buf outs[READERS];
		int left = READERS, status, pid;

		assert_non_null(mkdtemp(dir));
		for (int i = 0; i < READERS; i++) {
			reads[i] = log_read_open(dir, &wish);
			neap_buf_init(&outs[i], NEAP_BUF_FILE);
		}
		pid = fork();
		if (pid == 0)
			write_all(dir);
		assert_true(pid > 0);
		for (int i = 0; left > 0; i = (i + 1) % READERS) {
			struct neap_error err;
			size_t len;
			int rc;

			if (!reads[i])
				continue;
			rc = neap_log_read_next(reads[i], block, &len, &err);
			if (rc < 0)
				fail_msg("%s", err.msg);
			neap_buf_add(&outs[i], block, len);
			if (rc != NEAP_LOG_END)
				continue;
			if (strcmp(outs[i].data, want.data) != 0)
				fail_msg("round %d: %zu bytes, wanted %zu", round,
					 outs[i].len, want.len);
			neap_log_read_free(reads[i]);
			reads[i] = NULL;
			left--;
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		for (int i = 0; i < READERS; i++)
			neap_buf_done(&outs[i]);
		log_files_clear(dir, true);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_random),
		cmocka_unit_test(beside_a_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
