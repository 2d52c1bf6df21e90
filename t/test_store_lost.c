/* SPDX-License-Identifier: Apache-2.0
 *
 * A store that is lost is not taken for one that was never there: which folders are
 * refused, and with what to do; what the marker says; `neapd --new-store`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/store/marker.h"
#include "engine/base/mem.h"
#include "t/lib/store_rig.h"

#define ID "00112233445566778899aabbccddeeff"

static char marker[128], moved[4][192];
static size_t moves;

static void told(const char *from, const char *to)
{
	(void)from;
	assert_true(moves < NEAP_ARRAY_LEN(moved));
	(void)neap_strcopy(moved[moves++], sizeof(moved[0]), to);
}

static void setup_rig(struct store_rig *rig)
{
	store_rig_init(rig);
	(void)snprintf(marker, sizeof(marker), "%s/store", rig->dir);
	rig->config.marker = marker;
}

static void put_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void read_text(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "r");

	text[0] = '\0';
	if (file == NULL)
		return;
	text[fread(text, 1, size - 1, file)] = '\0';
	assert_int_equal(fclose(file), 0);
}

/* What there is before the start; NULL: no such file. */
static const struct row {
	const char *name, *marker, *file, *log;
	bool is_used;
	const char *said; /* NULL: it starts, and makes one */
} rows[] = {
	{"nothing", NULL, NULL, NULL, false, NULL},
	{"an empty file of a first start that was killed", NULL, "", NULL, false, NULL},
	{"marker", "neap store " ID "\n", NULL, NULL, false, "is missing, but there was"},
	{"marker and empty file", "neap store " ID "\n", "", NULL, false,
	 "is empty, but"},
	{"half a marker", "neap sto", NULL, NULL, false, "is missing, but there was"},
	{"a folder of before the marker", NULL, NULL, NULL, true, "is missing"},
	{"the same with an empty file", NULL, "", NULL, true, "is empty"},
	{"a log alone", NULL, NULL, "log", false, "(its log is there)"},
	{"a log beside an empty file", NULL, "", "log", false, "(its log is there)"},
	{"an empty log", NULL, NULL, "", false, NULL},
	{"asked for", "neap store new\n", NULL, NULL, true, NULL},
	{"asked for, and an empty file", "neap store new\n", "", NULL, true, NULL},
};

static void run_row(const struct row *row)
{
	char log[128], text[80], wanted[80];
	struct store_rig rig;
	struct neap_error err;
	struct stat st;
	int r;

	setup_rig(&rig);
	rig.config.is_used = row->is_used;
	(void)snprintf(log, sizeof(log), "%s-wal", rig.file);
	if (row->marker != NULL)
		put_file(marker, row->marker);
	if (row->file != NULL)
		put_file(rig.file, row->file);
	if (row->log != NULL)
		put_file(log, row->log);
	r = neap_store_sqlite_open(&rig.config, &rig.store, &err);
	if ((r < 0) != (row->said != NULL))
		fail_msg("%s: %s", row->name, r < 0 ? err.msg : "it started");
	read_text(marker, text, sizeof(text));
	if (r < 0) {
		assert_int_equal(r, -NEAP_EINVAL);
		if (strstr(err.msg, row->said) == NULL ||
		    strstr(err.msg, rig.file) == NULL ||
		    strstr(err.msg, "neapd --new-store") == NULL ||
		    strstr(err.msg, "neapctl restore") == NULL)
			fail_msg("%s: %s", row->name, err.msg);
		/* Nothing has changed. */
		assert_string_equal(text, row->marker != NULL ? row->marker : "");
		assert_int_equal(stat(rig.file, &st) == 0, row->file != NULL);
	} else {
		assert_int_equal(strlen(text), strlen("neap store " ID " open\n"));
		store_rig_close(&rig);
		read_text(marker, wanted, sizeof(wanted));
		assert_int_equal(strlen(wanted), strlen("neap store " ID "\n"));
		/* The next start finds it marked. */
		store_rig_open(&rig);
		read_text(marker, wanted, sizeof(wanted));
		assert_string_equal(text, wanted);
	}
	store_rig_done(&rig);
}

static void test_what_is_there(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		run_row(&rows[i]);
}

/* Cut to any length: refused, or it has everything. */
static void test_cut(void **state)
{
	struct store_rig rig;
	struct neap_error err;
	struct stat st;
	off_t len;
	int i;

	(void)state;
	setup_rig(&rig);
	store_rig_open(&rig);
	for (i = 0; i < 20; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "p-%d", i);
		(void)store_rig_put(&rig, NEAP_STORE_CREATE, "n", name, i);
	}
	store_rig_close(&rig);
	assert_int_equal(stat(rig.file, &st), 0);
	assert_true(st.st_size >= 4 * 4096);
	for (len = st.st_size - 512; len >= 0; len -= 512) {
		assert_int_equal(truncate(rig.file, len), 0);
		assert_int_equal(neap_store_sqlite_open(&rig.config, &rig.store, &err),
				 -NEAP_EINVAL);
		assert_non_null(strstr(err.msg, "--new-store"));
	}
	store_rig_done(&rig);
}

/* An operator's to do; the log says so, and the marker follows. */
static void test_another_store(void **state)
{
	char text[80], other[80];
	struct store_rig rig;

	(void)state;
	setup_rig(&rig);
	store_rig_open(&rig);
	(void)store_rig_put(&rig, NEAP_STORE_CREATE, "n", "a", 1);
	store_rig_close(&rig);
	read_text(marker, text, sizeof(text));
	put_file(marker, "neap store " ID "\n");
	store_rig_open(&rig);
	assert_non_null(strstr(rig.said, "another store"));
	assert_non_null(strstr(rig.said, ID));
	assert_int_equal(neap_store_count(rig.store, "pods"), 1);
	store_rig_close(&rig);
	read_text(marker, other, sizeof(other));
	assert_string_equal(text, other);
	store_rig_done(&rig);
}

static void test_new_store(void **state)
{
	struct store_rig rig;
	struct neap_error err;
	struct stat st;
	char text[80];

	(void)state;
	setup_rig(&rig);
	moves = 0;
	store_rig_open(&rig);
	(void)store_rig_put(&rig, NEAP_STORE_CREATE, "n", "a", 1);
	/* The locks of SQLite are this process's own; another one sees them. */
	store_rig_close(&rig);
	assert_int_equal(neap_store_set_aside(rig.file, marker, told, &err), 0);
	assert_int_equal(moves, 1);
	assert_int_not_equal(stat(rig.file, &st), 0);
	assert_int_equal(stat(moved[0], &st), 0);
	read_text(marker, text, sizeof(text));
	assert_string_equal(text, "neap store new\n");
	rig.config.is_used = true;
	store_rig_open(&rig);
	assert_int_equal(neap_store_count(rig.store, "pods"), 0);
	store_rig_close(&rig);
	/* What was set aside is whole, and can be put back. */
	assert_int_equal(rename(moved[0], rig.file), 0);
	store_rig_open(&rig);
	assert_int_equal(neap_store_count(rig.store, "pods"), 1);
	store_rig_close(&rig);
	/* Nothing is there: the same. */
	assert_int_equal(unlink(rig.file), 0);
	assert_int_equal(neap_store_set_aside(rig.file, marker, told, &err), 0);
	assert_int_equal(moves, 1);
	store_rig_open(&rig);
	store_rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_there),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_another_store),
		cmocka_unit_test(test_new_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
