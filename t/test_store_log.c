/* SPDX-License-Identifier: Apache-2.0
 *
 * The log beside the file of a store that nobody closed: what a kill or a power cut
 * leaves of it is taken, and has all writes but the torn one; what is damaged otherwise
 * is refused, and so is a log that went away. NEAP_STORE_FLIPS=all takes every byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/store_rig.h"

#define HEADER 32
#define FRAME  (24 + 4096)
#define WRITES 12
#define STEP   149 /* of the bytes that are taken by default */

struct copy {
	unsigned char *bytes;
	size_t len;
};

static struct store_rig rig;
static char marker[128], log_path[128];
static struct copy file, whole, line; /* of the store, its log, its marker */
static int
	commits[WRITES + 2]; /* the frame of each, from 0; of the last ones of the log */

static struct copy read_file(const char *path)
{
	struct copy copy = {0};
	FILE *from = fopen(path, "rb");
	struct stat st;

	assert_non_null(from);
	assert_int_equal(fstat(fileno(from), &st), 0);
	copy.len = (size_t)st.st_size;
	copy.bytes = neap_alloc(copy.len + 1);
	assert_non_null(copy.bytes);
	assert_int_equal(fread(copy.bytes, 1, copy.len, from), copy.len);
	assert_int_equal(fclose(from), 0);
	return copy;
}

static void write_file(const char *path, const unsigned char *bytes, size_t len)
{
	FILE *to = fopen(path, "wb");

	assert_non_null(to);
	if (len > 0)
		assert_int_equal(fwrite(bytes, 1, len, to), len);
	assert_int_equal(fclose(to), 0);
}

static bool is_commit(size_t frame)
{
	const unsigned char *at = whole.bytes + HEADER + frame * FRAME + 4;

	return (at[0] | at[1] | at[2] | at[3]) != 0;
}

static size_t frame_count(void)
{
	return (whole.len - HEADER) / FRAME;
}

/* A store with WRITES objects beside one that is in the file, as a kill leaves it. */
static int setup(void **state)
{
	int i, found = 0;
	size_t frame;

	(void)state;
	store_rig_init_quick(&rig);
	(void)snprintf(marker, sizeof(marker), "%s/store", rig.dir);
	(void)snprintf(log_path, sizeof(log_path), "%s-wal", rig.file);
	rig.config.marker = marker;
	store_rig_open(&rig);
	(void)store_rig_put(&rig, NEAP_STORE_CREATE, "old", "p", 1);
	store_rig_close(&rig);
	store_rig_open(&rig);
	for (i = 0; i < WRITES; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "p-%d", i);
		(void)store_rig_put(&rig, NEAP_STORE_CREATE, "n", name, i);
	}
	file = read_file(rig.file);
	whole = read_file(log_path);
	line = read_file(marker);
	store_rig_close(&rig);
	assert_non_null(strstr((const char *)line.bytes, " open"));
	for (frame = frame_count(); frame-- > 0 && found < WRITES;)
		if (is_commit(frame))
			commits[WRITES - ++found] = (int)frame;
	assert_int_equal(found, WRITES);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(file.bytes);
	free(whole.bytes);
	free(line.bytes);
	store_rig_done(&rig);
	return 0;
}

/* What there is: the whole, with a log of len bytes; len 0 and no bytes: no log. */
static void put(const unsigned char *bytes, size_t len)
{
	char shm[136];

	(void)snprintf(shm, sizeof(shm), "%s-shm", rig.file);
	(void)unlink(shm);
	(void)unlink(log_path);
	write_file(rig.file, file.bytes, file.len);
	write_file(marker, line.bytes, line.len);
	if (bytes != NULL)
		write_file(log_path, bytes, len);
}

/* How many of the writes are there; -1 when it is refused, with said in the reason. */
static int start(const char *what, size_t at, const char *said)
{
	struct neap_error err = {0};
	int r = neap_store_sqlite_open(&rig.config, &rig.store, &err), count, i;

	if (r < 0) {
		if (strstr(err.msg, log_path) == NULL ||
		    (said != NULL && strstr(err.msg, said) == NULL))
			fail_msg("%s %zu: %s", what, at, err.msg);
		return -1;
	}
	count = (int)neap_store_count(rig.store, "pods") - 1;
	for (i = 0; i < count; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "p-%d", i);
		if (neap_store_find(rig.store, "pods", "n", name) == NULL)
			fail_msg("%s %zu: p-%d of %d is missing", what, at, i, count);
	}
	store_rig_close(&rig);
	return count;
}

/* A byte is another: refused, or no more than the last writes are missing, which could
 * have been torn. */
static void test_flips(void **state)
{
	const bool is_all = getenv("NEAP_STORE_FLIPS") != NULL;
	size_t at, refused = 0, sound = 0;

	(void)state;
	for (at = 0; at < whole.len; at += is_all ? 1 : at < HEADER + 24 ? 1 : STEP) {
		int count;

		whole.bytes[at] ^= 0x20;
		put(whole.bytes, whole.len);
		count = start("byte", at, NULL);
		whole.bytes[at] ^= 0x20;
		refused += count < 0;
		sound += count == WRITES;
		if (count >= 0 && count < WRITES - 2)
			fail_msg("byte %zu: %d of %d writes", at, count, WRITES);
	}
	print_message("# %zu refused, %zu whole\n", refused, sound);
	assert_true(refused > 0);
	/* Nothing of it is changed by a start that is refused. */
	whole.bytes[HEADER + 30] ^= 1;
	put(whole.bytes, whole.len);
	assert_int_equal(start("twice", 0, "is damaged from byte 32 on"), -1);
	assert_int_equal(start("twice", 1, "truncate -s 0 "), -1);
	whole.bytes[HEADER + 30] ^= 1;
}

/* Cut anywhere: what was whole by then is there. */
static void test_cut(void **state)
{
	size_t len;

	(void)state;
	for (len = 0; len <= whole.len; len += len < 3 * HEADER ? 1 : 1021) {
		size_t frames = len < HEADER ? 0 : (len - HEADER) / FRAME;
		int wanted = 0, i, count;

		for (i = 0; i < WRITES; i++)
			wanted += (size_t)commits[i] < frames;
		put(whole.bytes, len);
		count = start("cut", len, NULL);
		if (count != wanted)
			fail_msg("cut to %zu: %d writes, wanted %d", len, count, wanted);
	}
}

/* Of the last write any frames are missing or of before: it was torn, and no other is. */
static void test_torn(void **state)
{
	const size_t first = (size_t)commits[WRITES - 2] + 1;
	const size_t count = (size_t)commits[WRITES - 1] + 1 - first;
	unsigned char *torn = neap_alloc(whole.len);
	size_t set, i;

	(void)state;
	assert_non_null(torn);
	assert_in_range(count, 1, 10);
	for (set = 1; set < (size_t)1 << count; set++) {
		memcpy(torn, whole.bytes, whole.len);
		for (i = 0; i < count; i++)
			if (set & (size_t)1 << i)
				memset(torn + HEADER + (first + i) * FRAME, 0, FRAME);
		put(torn, whole.len);
		assert_int_equal(start("torn", set, NULL), WRITES - 1);
	}
	free(torn);
}

/* A log that went away; one that was given up; a store that was closed has none. */
static void test_missing(void **state)
{
	(void)state;
	put(NULL, 0);
	assert_int_equal(start("missing", 0, "no neapd has closed"), -1);
	assert_int_equal(start("missing", 1, "touch "), -1);
	write_file(log_path, whole.bytes, 0);
	assert_int_equal(start("given up", 0, NULL), 0);
	put(whole.bytes, whole.len);
	assert_int_equal(start("whole", 0, NULL), WRITES);
	assert_int_equal(access(log_path, F_OK), -1);
	assert_int_equal(start("closed", 0, NULL), WRITES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flips),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_torn),
		cmocka_unit_test(test_missing),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
