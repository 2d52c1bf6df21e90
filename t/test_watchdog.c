/* SPDX-License-Identifier: Apache-2.0
 *
 * The last watchdog: who is ended by it, and who is not. Each row runs in a child of its
 * own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <event2/event.h>
#include <lauxlib.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/daemon/start.h"
#include "lua/call/policy.h"
#include "lua/vm/budget.h"
#include "lua/vm/vm.h"

#define MILLI INT64_C(1000)

static int out_fd; /* of the child: what the watchdog is told goes to the parent */

static void stuck(const char *label)
{
	if (write(out_fd, label, strlen(label)) < 0)
		_exit(3);
}

/* Microseconds of CPU time, whatever anybody says. */
static int spin(lua_State *L)
{
	int64_t until = neap_budget_clock_usec() + luaL_checkinteger(L, 1);

	while (neap_budget_clock_usec() < until)
		;
	return 0;
}

/* Wall time without CPU time. */
static int doze(lua_State *L)
{
	const struct timespec nap = {.tv_nsec = 5000000};
	struct timespec from, now;
	int64_t usec;

	(void)clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		(void)nanosleep(&nap, NULL); /* a tick may end it: there are more */
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
		usec = (int64_t)(now.tv_sec - from.tv_sec) * 1000000 +
		       (now.tv_nsec - from.tv_nsec) / 1000;
	} while (usec < luaL_checkinteger(L, 1));
	return 0;
}

static const struct row {
	const char *name;
	lua_CFunction fn; /* NULL: text is run */
	const char *text;
	int64_t usec;          /* what fn gets */
	int64_t budget_usec;   /* of the call */
	int64_t least_usec;    /* of the watchdog */
	int budgets;           /* 0: no watchdog at all */
	const char *label;     /* of the state */
	const char *want;      /* what the watchdog was told, NULL: it was not called */
	enum neap_code status; /* of a call that came back */
	bool in_thread;
} rows[] = {
	{"C that does not stop", spin, NULL, 20000 * MILLI, 10 * MILLI, 50 * MILLI, 2,
	 "qos/a@3f2a91c0", "qos/a@3f2a91c0", NEAP_OK, false},
	{"... on another thread", spin, NULL, 20000 * MILLI, 10 * MILLI, 50 * MILLI, 2,
	 "qos/b@3f2a91c0", "qos/b@3f2a91c0", NEAP_OK, true},
	{"... without a name", spin, NULL, 20000 * MILLI, 10 * MILLI, 50 * MILLI, 2, NULL,
	 "", NEAP_OK, false},
	{"budgets count when they are longer", spin, NULL, 20000 * MILLI, 20 * MILLI,
	 1 * MILLI, 5, "qos/c@3f2a91c0", "qos/c@3f2a91c0", NEAP_OK, false},
	{"C that stops late, within the budgets", spin, NULL, 60 * MILLI, 20 * MILLI,
	 1 * MILLI, 50, "x", NULL, NEAP_EBUDGET, false},
	{"C that stops late, within the least time", spin, NULL, 60 * MILLI, 10 * MILLI,
	 5000 * MILLI, 2, "x", NULL, NEAP_EBUDGET, false},
	{"a thread without CPU time", doze, NULL, 400 * MILLI, 10 * MILLI, 50 * MILLI, 2,
	 "x", NULL, NEAP_EUNAVAILABLE, false},
	{"a script that loops", NULL, "while true do end", 0, 10 * MILLI, 1 * MILLI, 5,
	 "x", NULL, NEAP_EBUDGET, false},
	{"a script that loops in pcall", NULL,
	 "while true do pcall(function() while true do end end) end", 0, 10 * MILLI,
	 1 * MILLI, 5, "x", NULL, NEAP_EBUDGET, false},
	{"no watchdog", spin, NULL, 100 * MILLI, 1 * MILLI, 1 * MILLI, 0, "x", NULL,
	 NEAP_EBUDGET, false},
};

static void *run_row(void *arg)
{
	const struct row *row = arg;
	struct neap_vm *vm = NULL;
	struct neap_error err = {0};

	if (neap_vm_new(0, &vm, &err) < 0)
		_exit(4);
	neap_vm_set_label(vm, row->label);
	if (row->fn != NULL) {
		lua_pushcfunction(neap_vm_state(vm), row->fn);
		lua_pushinteger(neap_vm_state(vm), row->usec);
	} else if (neap_vm_load(vm, row->text, strlen(row->text), "p.lua", &err) < 0) {
		_exit(5);
	}
	(void)neap_vm_call(vm, row->fn != NULL ? 1 : 0, 0, row->budget_usec, &err);
	neap_vm_free(vm);
	_exit(100 + (int)err.code);
}

static void child(const struct row *row, int fd)
{
	const struct neap_budget_watchdog watchdog = {stuck, row->least_usec,
						      row->budgets};
	const struct rlimit no_core = {0, 0};
	struct row copy = *row;
	pthread_t thread;

	out_fd = fd;
	(void)setrlimit(RLIMIT_CORE, &no_core);
	neap_budget_set_watchdog(row->budgets > 0 ? &watchdog : NULL);
	if (row->status == NEAP_EUNAVAILABLE)
		neap_budget_set_walls(NEAP_BUDGET_WALLS);
	if (!row->in_thread)
		run_row(&copy);
	if (pthread_create(&thread, NULL, run_row, &copy) == 0)
		(void)pthread_join(thread, NULL); /* it ends the process */
	_exit(6);
}

static void test_rows(void **state)
{
	size_t i;

	(void)state;
#if defined(__SANITIZE_THREAD__)
	print_message("# skip: ThreadSanitizer: no timer\n");
	skip();
#endif
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		char told[100] = "";
		int fds[2], status = 0;
		ssize_t len;
		pid_t pid;

		assert_int_equal(pipe(fds), 0);
		(void)fflush(stdout);
		pid = fork();
		if (pid == 0)
			child(row, fds[1]);
		(void)close(fds[1]);
		len = read(fds[0], told, sizeof(told) - 1);
		(void)close(fds[0]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (row->want != NULL) {
			if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
				fail_msg("%s: not aborted: %x", row->name,
					 (unsigned)status);
			if (strcmp(told, row->want) != 0)
				fail_msg("%s: told '%s'", row->name, told);
		} else if (len > 0 || !WIFEXITED(status) ||
			   WEXITSTATUS(status) != 100 + (int)row->status) {
			fail_msg("%s: status %x, told '%s'", row->name, (unsigned)status,
				 told);
		}
	}
}

/* What the watchdog is told of a policy, also before it has said its name. */
static void test_labels_of_policies(void **state)
{
	static const char text[] =
		"return { api = 1, kind = 'qos', name = 'a', needs = {}, "
		"tick = function() return {} end }";
	struct neap_policy *policy = NULL;
	struct neap_policy_info info;
	struct neap_error err;

	(void)state;
	if (neap_policy_load(text, strlen(text), "a.lua", &policy, &err) < 0)
		fail_msg("%s", err.msg);
	neap_policy_get_info(policy, &info);
	assert_int_equal(strlen(info.label), strlen("qos/a@") + 8);
	assert_ptr_equal(strstr(info.label, "qos/a@"), info.label);
	neap_policy_free(policy);
}

/* --- the file of neapd --- */

static const struct neap_log no_log = {-1, NEAP_LOG_ERROR, NEAP_LOG_TEXT, "neapd"};

/* A neapd in a child, as far as it matters: it starts, and is stuck if asked to. */
static int start_and_spin(const char *dir, bool is_stuck, bool is_removed)
{
	static struct neap_config config;
	static struct neap_live_config live_config;
	const struct rlimit no_core = {0, 0};
	struct neap_live *live = NULL;
	struct neap_vm *vm = NULL;
	struct neap_error err = {0};
	char file[100];
	int status = 0;
	pid_t pid = fork();

	if (pid != 0) {
		assert_int_equal(waitpid(pid, &status, 0), pid);
		return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
	}
	(void)setrlimit(RLIMIT_CORE, &no_core);
	(void)freopen("/dev/null", "w", stderr);
	(void)snprintf(config.data_dir, sizeof(config.data_dir), "%s", dir);
	(void)snprintf(file, sizeof(file), "%s/stuck-policies", dir);
	live_config.base = event_base_new();
	live_config.registry = neap_registry_new();
	live_config.log = no_log;
	live_config.own_uid = getuid();
	if (neap_live_new(&live_config, &live, &err) < 0)
		_exit(3);
	if (neap_stuck_start(&config, live, &no_log, &err) < 0)
		_exit(100 + (int)err.code);
	if (is_removed)
		(void)unlink(file);
	neap_budget_set_watchdog(&(struct neap_budget_watchdog){
		neap_stuck_note, is_stuck ? 20 * MILLI : 5000 * MILLI, 2});
	if (neap_vm_new(0, &vm, &err) < 0)
		_exit(4);
	neap_vm_set_label(vm, "qos/a@3f2a91c0");
	lua_pushcfunction(neap_vm_state(vm), spin);
	lua_pushinteger(neap_vm_state(vm), is_stuck ? 20000 * MILLI : 10 * MILLI);
	(void)neap_vm_call(vm, 1, 0, 5 * MILLI, &err);
	_exit(0);
}

static void test_file(void **state)
{
	static const char twice[] = "qos/a@3f2a91c0\nqos/a@3f2a91c0\n";
	char dir[] = "/tmp/neap-watchdog.XXXXXX", file[100], text[100] = "";
	FILE *in;

	(void)state;
#if defined(__SANITIZE_THREAD__)
	print_message("# skip: ThreadSanitizer: no timer\n");
	skip();
#endif
	assert_non_null(mkdtemp(dir));
	(void)snprintf(file, sizeof(file), "%s/stuck-policies", dir);
	assert_int_equal(start_and_spin(dir, false, false), 0);
	/* Added to, and made again if somebody removed it meanwhile. */
	assert_int_equal(start_and_spin(dir, true, false), -SIGABRT);
	assert_int_equal(start_and_spin(dir, true, false), -SIGABRT);
	in = fopen(file, "r");
	assert_non_null(in);
	assert_int_equal(fread(text, 1, sizeof(text) - 1, in), strlen(twice));
	assert_string_equal(text, twice);
	(void)fclose(in);
	assert_int_equal(start_and_spin(dir, true, true), -SIGABRT);
	in = fopen(file, "r");
	assert_non_null(in);
	memset(text, 0, sizeof(text));
	assert_int_equal(fread(text, 1, sizeof(text) - 1, in), strlen(twice) / 2);
	(void)fclose(in);
	assert_int_equal(chmod(file, 0622), 0);
	assert_int_equal(start_and_spin(dir, false, false), 100 + NEAP_EFORBIDDEN);
	(void)unlink(file);
	assert_int_equal(symlink("/etc/passwd", file), 0);
	assert_int_equal(start_and_spin(dir, false, false), 100 + NEAP_ESYS);
	(void)unlink(file);
	assert_int_equal(mkdir(file, 0700), 0);
	assert_true(start_and_spin(dir, false, false) >= 100);
	(void)rmdir(file);
	(void)rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_labels_of_policies),
		cmocka_unit_test(test_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
