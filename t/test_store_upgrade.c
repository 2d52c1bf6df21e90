/* SPDX-License-Identifier: Apache-2.0
 *
 * A store of an older neapd (t/cases/store/format-1: its neap.db, and a backup that it
 * made of it): nothing is lost on the way to the present format, whenever the power goes,
 * and the file of before stays beside. */
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/store/write.h"
#include "engine/base/mem.h"
#include "t/lib/backup_rig.h"
#include "t/lib/crash_vfs.h"

#define OLD     "t/cases/store/format-1/"
#define OBJECTS 13
#define VERSION 15

static char backup[64 * 1024];
static size_t backup_len;

static size_t read_file(const char *path, char *bytes, size_t size)
{
	FILE *file = fopen(path, "rb");
	size_t len;

	if (file == NULL)
		fail_msg("%s is not there", path);
	len = fread(bytes, 1, size, file);
	assert_true(len < size);
	assert_int_equal(fclose(file), 0);
	return len;
}

static int read_backup(void **state)
{
	(void)state;
	backup_len = read_file(OLD "backup", backup, sizeof(backup));
	return 0;
}

/* On whatever disk is SQLite's default one, synced with its folder as those that SQLite
 * opens as a log; then with a change. */
static void put_old(const struct store_rig *rig, const char *change)
{
	static char bytes[64 * 1024];
	size_t len = read_file(OLD "neap.db", bytes, sizeof(bytes));
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	sqlite3_file *file = neap_alloc((size_t)vfs->szOsFile);
	sqlite3 *db = NULL;

	assert_non_null(file);
	assert_int_equal(
		vfs->xOpen(vfs, rig->file, file,
			   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_WAL,
			   NULL),
		SQLITE_OK);
	assert_int_equal(file->pMethods->xWrite(file, bytes, (int)len, 0), SQLITE_OK);
	assert_int_equal(file->pMethods->xSync(file, SQLITE_SYNC_FULL), SQLITE_OK);
	assert_int_equal(file->pMethods->xClose(file), SQLITE_OK);
	free(file);
	if (change == NULL)
		return;
	assert_int_equal(sqlite3_open(rig->file, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, change, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void check_objects(struct store_rig *rig)
{
	struct backup_result result;

	assert_int_equal(neap_store_version(rig->store), VERSION);
	backup_rig_restore(rig, backup, backup_len, &result);
	assert_int_equal(result.replaced.unchanged, OBJECTS);
	assert_int_equal(result.replaced.created + result.replaced.updated +
				 result.replaced.deleted,
			 0);
}

static int format_of(const char *path)
{
	struct neap_store_facts facts = {0};
	struct neap_error err;

	if (neap_store_sqlite_check(path, &facts, &err) < 0)
		fail_msg("%s: %s", path, err.msg);
	assert_int_equal(facts.objects, OBJECTS);
	assert_int_equal(facts.version, VERSION);
	return facts.format;
}

static void test_upgrade(void **state)
{
	struct store_rig rig;
	char copy[128];
	struct stat st;

	(void)state;
	store_rig_init(&rig);
	(void)snprintf(copy, sizeof(copy), "%s.format-1", rig.file);
	put_old(&rig, NULL);
	assert_int_equal(format_of(rig.file), 1);
	store_rig_open(&rig);
	assert_non_null(strstr(rig.said, copy));
	check_objects(&rig);
	(void)store_rig_put(&rig, NEAP_STORE_CREATE, "shop", "new", 1);
	(void)store_rig_put(&rig, NEAP_STORE_DELETE, "shop", "web", 1);
	(void)store_rig_put(&rig, NEAP_STORE_CREATE, "shop", "web", 2);
	store_rig_close(&rig);
	assert_int_equal(stat(copy, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(format_of(copy), 1);
	rig.said[0] = '\0';
	store_rig_open(&rig);
	assert_string_equal(rig.said, "");
	assert_int_equal(neap_store_count(rig.store, "pods"), 2);
	store_rig_close(&rig);
	/* The copy, put back, is as good as the file of before. */
	store_rig_empty(&rig);
	put_old(&rig, NULL);
	store_rig_open(&rig);
	check_objects(&rig);
	store_rig_done(&rig);
}

/* What was damaged before is refused before anything is done. */
static void test_damaged_before(void **state)
{
	static const struct {
		const char *change, *said;
	} rows[] = {
		{"UPDATE objects SET version = version + 1 WHERE id = 1", "is damaged"},
		{"UPDATE objects SET text = replace(text, 'as it was 2', 'as it was 4')",
		 "configmaps shop/c2"},
		{"DELETE FROM resources WHERE name = 'nodes'", "node-0"},
		{"DELETE FROM state", "is damaged"},
		{"PRAGMA user_version = 3", "has format 3, this neapd knows up to 2"},
		{"PRAGMA user_version = 0", "it has no format"},
		{"PRAGMA user_version = 2", "its tables are others"},
		{"PRAGMA application_id = 7", "another program"},
	};
	struct store_rig rig;
	struct neap_error err;
	char copy[128];
	struct stat st;
	size_t i;

	(void)state;
	store_rig_init(&rig);
	(void)snprintf(copy, sizeof(copy), "%s.format-1", rig.file);
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		put_old(&rig, rows[i].change);
		assert_true(neap_store_sqlite_open(&rig.config, &rig.store, &err) < 0);
		if (strstr(err.msg, rows[i].said) == NULL)
			fail_msg("%s: %s", rows[i].change, err.msg);
		assert_int_not_equal(stat(copy, &st), 0);
		store_rig_empty(&rig);
	}
	store_rig_done(&rig);
}

/* Whatever call is the last one: the next start has everything. */
static void test_power_cuts(void **state)
{
	struct crash_vfs *vfs = crash_vfs_new(1);
	uint64_t at, cuts = 0;
	struct store_rig rig;
	struct neap_error err;
	bool is_cut = true;

	(void)state;
	store_rig_init(&rig);
	for (at = 1; is_cut; at++) {
		crash_vfs_clear(vfs);
		put_old(&rig, NULL);
		crash_vfs_cut_after(vfs, at);
		if (neap_store_sqlite_open(&rig.config, &rig.store, &err) == 0)
			store_rig_close(&rig);
		is_cut = crash_vfs_is_cut(vfs);
		crash_vfs_restart(vfs);
		cuts += is_cut;
		store_rig_open(&rig);
		check_objects(&rig);
		store_rig_close(&rig);
	}
	assert_true(cuts > 20);
	printf("# %d cuts\n", (int)cuts);
	store_rig_done(&rig);
	crash_vfs_free(vfs);
}

/* Full disks and failing ones: refused, and nothing is lost. */
static void test_faults(void **state)
{
	struct crash_vfs *vfs = crash_vfs_new(1);
	struct store_rig rig;
	struct neap_error err;
	uint64_t at, refused = 0;
	bool is_failed = true;

	(void)state;
	store_rig_init(&rig);
	for (at = 1; is_failed; at++) {
		uint64_t before = crash_vfs_failed(vfs);

		crash_vfs_clear(vfs);
		put_old(&rig, NULL);
		crash_vfs_fail(vfs, CRASH_WRITE, at, 1000000, SQLITE_FULL);
		if (neap_store_sqlite_open(&rig.config, &rig.store, &err) == 0)
			store_rig_close(&rig);
		else
			refused++;
		is_failed = crash_vfs_failed(vfs) > before;
		crash_vfs_fail(vfs, CRASH_WRITE, 1, 0, SQLITE_OK);
		store_rig_open(&rig);
		check_objects(&rig);
		store_rig_close(&rig);
	}
	assert_true(refused > 10);
	store_rig_done(&rig);
	crash_vfs_free(vfs);
}

/* --- killed in the middle --- */

/* SQLite's calls that change what is on disk; the process ends before the one whose turn
 * it is. */
enum { OPEN, WRITE, WRITE64, CUT, UNLINK, CALLS };

static const char *const calls[CALLS] = {"open", "pwrite", "pwrite64", "ftruncate",
					 "unlink"};
static sqlite3_syscall_ptr real[CALLS];
static int kill_at, call_count;

static void step(void)
{
	if (++call_count == kill_at)
		(void)raise(SIGKILL);
}

static int step_open(const char *path, int flags, int mode)
{
	step();
	return ((int (*)(const char *, int, int))real[OPEN])(path, flags, mode);
}

static ssize_t step_write(int fd, const void *bytes, size_t len, off_t at)
{
	step();
	return ((ssize_t(*)(int, const void *, size_t, off_t))real[WRITE])(fd, bytes, len,
									   at);
}

static ssize_t step_write64(int fd, const void *bytes, size_t len, off_t at)
{
	step();
	return ((ssize_t(*)(int, const void *, size_t, off_t))real[WRITE64])(fd, bytes,
									     len, at);
}

static int step_cut(int fd, off_t size)
{
	step();
	return ((int (*)(int, off_t))real[CUT])(fd, size);
}

static int step_unlink(const char *path)
{
	step();
	return ((int (*)(const char *))real[UNLINK])(path);
}

static void count_calls(void)
{
	static const sqlite3_syscall_ptr steps[CALLS] = {
		(sqlite3_syscall_ptr)step_open, (sqlite3_syscall_ptr)step_write,
		(sqlite3_syscall_ptr)step_write64, (sqlite3_syscall_ptr)step_cut,
		(sqlite3_syscall_ptr)step_unlink};
	sqlite3_vfs *vfs = sqlite3_vfs_find("unix");

	for (size_t i = 0; i < CALLS; i++) {
		real[i] = vfs->xGetSystemCall(vfs, calls[i]);
		if (real[i] != NULL)
			(void)vfs->xSetSystemCall(vfs, calls[i], steps[i]);
	}
}

/* True: it was killed. */
static bool open_and_die(struct store_rig *rig, int at)
{
	struct neap_error err;
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		kill_at = at;
		count_calls();
		if (neap_store_sqlite_open(&rig->config, &rig->store, &err) < 0)
			_exit(1);
		store_rig_close(rig);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return true;
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return false;
}

/* Killed before any call, once or twice in a row: the next start has everything, and the
 * copy is the file of before. */
static void test_kills(void **state)
{
	struct store_rig rig;
	char copy[128];
	int at, kills = 0;
	bool is_killed = true;

	(void)state;
	store_rig_init(&rig);
	(void)snprintf(copy, sizeof(copy), "%s.format-1", rig.file);
	for (at = 1; is_killed; at++) {
		store_rig_empty(&rig);
		put_old(&rig, NULL);
		is_killed = open_and_die(&rig, at);
		if (at % 2 == 0)
			(void)open_and_die(&rig, at / 2);
		kills += is_killed;
		store_rig_open(&rig);
		check_objects(&rig);
		store_rig_close(&rig);
		assert_int_equal(format_of(rig.file), 2);
		assert_int_equal(format_of(copy), 1);
	}
	assert_true(kills > 20);
	printf("# %d kills\n", kills);
	store_rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_upgrade), cmocka_unit_test(test_damaged_before),
		cmocka_unit_test(test_kills),   cmocka_unit_test(test_power_cuts),
		cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests(tests, read_backup, NULL);
}
