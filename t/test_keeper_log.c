/* SPDX-License-Identifier: Apache-2.0
 *
 * What commands print: in files of a bounded size and number, whole lines only, and never
 * so that a command is stuck, whether it prints without end or the disk is full. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/keeper_rig.h"

static const char *why;

static int setup(void **state)
{
	struct keeper_rig *rig = keeper_rig_new(&why);

	if (rig)
		keeper_rig_start(rig);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	keeper_rig_free(*state);
	return 0;
}

static struct keeper_rig *rig_of(void **state)
{
	if (!*state) {
		print_message("SKIP %s\n", why);
		skip();
	}
	return *state;
}

static void logs_are_bounded(void **state)
{
	static const struct {
		const char *name, *script;
		int64_t bytes_max;
		int files_max, files;
	} rows[] = {
		{"one-file", "seq 1 20000; echo last", 8192, 1, 1},
		{"three", "seq 1 20000; echo last", 8192, 3, 3},
		{"long-lines",
		 "for i in 1 2 3; do head -c 30000 /dev/zero | tr '\\0' x; done; "
		 "echo; echo last",
		 65536, 2, 2},
		{"no-room-needed", "echo last", 8192, 5, 1},
		{"tiny", "seq 1 5000; echo last", 1, 2, 2},
	};
	struct keeper_rig *rig = rig_of(state);
	size_t i;
	int file;

	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_keeper_order order =
			keeper_rig_order(rows[i].name, rows[i].script);
		int64_t bytes_max = rows[i].bytes_max < 4096 ? 4096 : rows[i].bytes_max;
		const char *text;

		order.log_bytes_max = rows[i].bytes_max;
		order.log_files_max = rows[i].files_max;
		assert_int_equal(keeper_rig_do(rig, &order).event.exit_code, 0);
		print_message("# %s\n", rows[i].name);
		for (file = 0; file < 6; file++) {
			char path[256], name[16];
			struct stat st;

			(void)snprintf(name, sizeof(name), file ? "log.%d" : "log", file);
			(void)snprintf(path, sizeof(path), "%s/p-1/%s/0/%s",
				       rig->config.dir, rows[i].name, name);
			if (file >= rows[i].files) {
				assert_int_not_equal(stat(path, &st), 0);
				continue;
			}
			assert_int_equal(stat(path, &st), 0);
			assert_true(st.st_size <= bytes_max && st.st_size > 0);
			assert_int_equal(st.st_mode & 07777, 0640);
			assert_int_equal(st.st_uid, KEEPER_RIG_OWN);
		}
		text = keeper_rig_printed(rig, rows[i].name, "stdout");
		assert_true(strlen(text) >= 5);
		assert_string_equal(text + strlen(text) - 5, "last\n");
	}
}

/* Without end, until it is killed: the command is never stuck, the files never grow over
 * their bounds. */
static void flood_is_bounded(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	struct neap_keeper_order order = keeper_rig_order("flood", "exec yes flooding");
	uint64_t id = keeper_rig_run(rig, &order);
	char path[256];
	struct stat st;
	int i;

	order.log_bytes_max = 1 << 20;
	(void)keeper_rig_until(rig, id, NEAP_KEEPER_STARTED);
	(void)snprintf(path, sizeof(path), "%s/p-1/flood/0/log.2", rig->config.dir);
	for (i = 0; i < 6000 && stat(path, &st) < 0; i++)
		(void)usleep(10000);
	assert_true(i < 6000);
	assert_true(st.st_size <= 1 << 20);
	assert_int_equal(neap_keeper_signal(rig->keeper, id, SIGTERM, NULL), 0);
	assert_int_equal(keeper_rig_until(rig, id, NEAP_KEEPER_ENDED).event.signo,
			 SIGTERM);
	(void)snprintf(path, sizeof(path), "%s/p-1/flood/0/log.3", rig->config.dir);
	assert_int_not_equal(stat(path, &st), 0);
}

/* By the shim's own user: root may lack the right to. */
static void limit_lift(int shim, const struct rlimit *limit)
{
	int status = -1;
	int pid = fork();

	if (pid == 0)
		_exit(setresgid(KEEPER_RIG_OWN, KEEPER_RIG_OWN, KEEPER_RIG_OWN) < 0 ||
		      setresuid(KEEPER_RIG_OWN, KEEPER_RIG_OWN, KEEPER_RIG_OWN) < 0 ||
		      prlimit(shim, RLIMIT_FSIZE, limit, NULL) < 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A disk that takes no more loses lines, and holds up nobody; a line tells how many. */
static void full_disk_loses_lines(void **state)
{
	const struct rlimit small = {8192, RLIM_INFINITY};
	struct keeper_rig *rig = rig_of(state);
	struct neap_keeper_order order = keeper_rig_order(
		"full",
		"seq 1 2000; while [ ! -e \"$DONE\" ]; do echo after; sleep 0.02; done");
	const char *envp[] = {"PATH=/usr/bin:/bin", NULL, NULL};
	char done[128], path[256];
	struct rlimit before;
	const char *line;
	unsigned lost = 0;
	struct stat st;
	uint64_t id;
	int i, fd, pid;

	(void)snprintf(done, sizeof(done), "DONE=%s/done", rig->base);
	envp[1] = done;
	order.envp = envp;
	keeper_rig_stop(rig);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	keeper_rig_start(rig);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	id = keeper_rig_run(rig, &order);
	pid = keeper_rig_until(rig, id, NEAP_KEEPER_STARTED).event.pid;
	(void)snprintf(path, sizeof(path), "%s/p-1/full/0/log", rig->config.dir);
	/* Once it is full there is room again. */
	for (i = 0; i < 6000 && stat(path, &st) == 0 && st.st_size < 8100; i++)
		(void)usleep(10000);
	assert_true(i < 6000);
	limit_lift(keeper_rig_shim_of(pid), &before);
	for (i = 0; i < 6000 && !strstr(keeper_rig_await(path), " F neap: "); i++)
		(void)usleep(10000);
	line = keeper_rig_printed(rig, "full", "stderr");
	print_message("# %s", line);
	assert_int_equal(sscanf(line, "neap: %u lines could not be written here", &lost),
			 1);
	assert_true(lost > 0);
	fd = open(done + 5, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	(void)close(fd);
	assert_int_equal(keeper_rig_until(rig, id, NEAP_KEEPER_ENDED).event.exit_code, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(logs_are_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(flood_is_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(full_disk_loses_lines, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
