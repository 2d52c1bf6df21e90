/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that the keeper starts: how they end, what is told and kept of them, and with
 * what they run. Everything is real; the commands are small scripts of the shell. */
#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* --- ends --- */

static const struct {
	const char *name, *script;
	enum neap_keeper_what what;
	int exit_code, signo;
	const char *out, *errors; /* what it printed; NULL: not looked at */
} ends[] = {
	{"nothing", "exit 0", NEAP_KEEPER_ENDED, 0, 0, "", ""},
	{"prints", "echo a; echo b >&2; echo c", NEAP_KEEPER_ENDED, 0, 0, "a\nc\n",
	 "b\n"},
	{"code", "exit 42", NEAP_KEEPER_ENDED, 42, 0, NULL, NULL},
	{"code-255", "exit 255", NEAP_KEEPER_ENDED, 255, 0, NULL, NULL},
	{"no-line-feed", "printf 'a\\nb'", NEAP_KEEPER_ENDED, 0, 0, "a\nb", ""},
	{"empty-lines", "printf '\\n\\na\\n'", NEAP_KEEPER_ENDED, 0, 0, "\n\na\n", ""},
	{"killed", "kill -9 $$", NEAP_KEEPER_ENDED, 137, 9, NULL, NULL},
	{"crash", "kill -SEGV $$", NEAP_KEEPER_ENDED, 139, 11, NULL, NULL},
	{"terminated", "kill $$", NEAP_KEEPER_ENDED, 143, 15, NULL, NULL},
	{"own-group", "kill -9 0", NEAP_KEEPER_ENDED, 137, 9, NULL, NULL},
	{"closes-output", "exec >&- 2>&-; exit 3", NEAP_KEEPER_ENDED, 3, 0, "", ""},
};

static void ends_are_told(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(ends); i++) {
		struct neap_keeper_order order =
			keeper_rig_order(ends[i].name, ends[i].script);
		struct keeper_seen seen = keeper_rig_do(rig, &order);

		print_message("# %s: %d, exit code %d, signal %d '%s'\n", ends[i].name,
			      (int)seen.event.what, seen.event.exit_code,
			      seen.event.signo, seen.text);
		assert_int_equal(seen.event.what, ends[i].what);
		assert_int_equal(seen.event.exit_code, ends[i].exit_code);
		assert_int_equal(seen.event.signo, ends[i].signo);
		assert_true(seen.event.pid > 0 && seen.event.started_usec > 0 &&
			    seen.event.ended_usec >= seen.event.started_usec);
		assert_string_equal(seen.text, "");
		if (ends[i].out)
			assert_string_equal(
				keeper_rig_printed(rig, ends[i].name, "stdout"),
				ends[i].out);
		if (ends[i].errors)
			assert_string_equal(
				keeper_rig_printed(rig, ends[i].name, "stderr"),
				ends[i].errors);
	}
}

/* --- failures --- */

static const struct {
	const char *name, *command, *path, *cwd;
	int errnum;
	const char *text;
} failures[] = {
	{"missing", "no-such-command-here", "PATH=/bin:/usr/bin", NULL, ENOENT,
	 "exec: \"no-such-command-here\": executable file not found in $PATH"},
	{"missing-file", "/no/such/file", "PATH=/bin", NULL, ENOENT,
	 "exec: \"/no/such/file\": No such file or directory"},
	{"is-folder", "/tmp", "PATH=/bin", NULL, EACCES,
	 "exec: \"/tmp\": Permission denied"},
	{"no-program", "/etc/passwd", "PATH=/bin", NULL, EACCES,
	 "exec: \"/etc/passwd\": Permission denied"},
	{"other-path", "sh", "PATH=/etc", NULL, ENOENT,
	 "exec: \"sh\": executable file not found in $PATH"},
	{"no-folder", "sh", "PATH=/bin", "/no/such", ENOENT,
	 "chdir to \"/no/such\": No such file or directory"},
	{"roots-folder", "sh", "PATH=/bin", "/root", EACCES,
	 "chdir to \"/root\": Permission denied"},
};

static void failures_are_told(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	struct stat st;
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(failures); i++) {
		const char *argv[] = {failures[i].command, "-c", "exit 0", NULL};
		const char *envp[] = {failures[i].path, NULL};
		struct neap_keeper_order order = keeper_rig_order(failures[i].name, NULL);
		struct keeper_seen seen;

		if (strcmp(failures[i].name, "roots-folder") == 0 &&
		    (stat("/root", &st) < 0 || (st.st_mode & 1)))
			continue; /* everybody may go there */
		order.argv = argv;
		order.envp = envp;
		order.cwd = failures[i].cwd;
		seen = keeper_rig_do(rig, &order);
		print_message("# %s: %d '%s'\n", failures[i].name, (int)seen.event.what,
			      seen.text);
		assert_int_equal(seen.event.what, NEAP_KEEPER_FAILED);
		assert_int_equal(seen.event.errnum, failures[i].errnum);
		assert_string_equal(seen.text, failures[i].text);
		/* A later neapd is told the same. */
		seen = keeper_rig_until(rig, keeper_rig_attach(rig, failures[i].name),
					NEAP_KEEPER_ENDED);
		assert_int_equal(seen.event.what, NEAP_KEEPER_FAILED);
		assert_int_equal(seen.event.errnum, failures[i].errnum);
		assert_string_equal(seen.text, failures[i].text);
	}
}

/* --- orders that are refused --- */

static void refused(struct keeper_rig *rig, const struct neap_keeper_order *order,
		    const char *field)
{
	struct neap_error err = {0};

	assert_int_equal(neap_keeper_run(rig->keeper, 1000, order, &err), -NEAP_EINVAL);
	print_message("# %s: %s\n", field, err.msg);
	assert_string_equal(err.field, field);
}

static void wrong_orders_are_refused(void **state)
{
	static const char *const uids[] = {"",    "..",   ".",   "a/b", "-a",
					   "a b", "../x", "a\n", "."};
	static const char *const names[] = {"",   "..", "a/b", "A",
					    "-a", "a-", "a.b", "a_b"};
	struct keeper_rig *rig = rig_of(state);
	neap_auto_free char *huge = neap_alloc(NEAP_KEEPER_TEXT_MAX + 1);
	neap_auto_free const char **many =
		neap_alloc_array(NEAP_KEEPER_STRINGS + 2, sizeof(*many));
	const char *none[] = {NULL}, *empty[] = {"", NULL}, *nameless[] = {"=a", NULL};
	const char *argv[] = {"sh", huge, NULL};
	struct neap_keeper_order order;
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(uids); i++) {
		order = keeper_rig_order("c", "exit 0");
		order.pod_uid = uids[i];
		refused(rig, &order, "pod_uid");
	}
	for (i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		order = keeper_rig_order(names[i], "exit 0");
		refused(rig, &order, "container");
	}
	order = keeper_rig_order("c", "exit 0");
	order.argv = none;
	refused(rig, &order, "argv");
	order.argv = empty;
	refused(rig, &order, "argv");
	memset(huge, 'x', NEAP_KEEPER_TEXT_MAX);
	order.argv = argv;
	refused(rig, &order, "argv");
	for (i = 0; i <= NEAP_KEEPER_STRINGS; i++)
		many[i] = "a";
	order.argv = many;
	refused(rig, &order, "argv");
	order = keeper_rig_order("c", "exit 0");
	order.envp = nameless;
	refused(rig, &order, "envp");
	order = keeper_rig_order("c", "exit 0");
	order.cwd = "tmp";
	refused(rig, &order, "cwd");
	order = keeper_rig_order("c", "exit 0");
	order.log_files_max = 0;
	refused(rig, &order, "log_files_max");
	order = keeper_rig_order("c", "exit 0");
	order.probe_usec = -1;
	refused(rig, &order, "probe_usec");
	assert_int_equal(neap_keeper_signal(rig->keeper, 1, 65, NULL), -NEAP_EINVAL);
}

/* As much as may be goes through: the order comes in many packets. */
static void long_arguments_arrive(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	size_t len = 100000;
	neap_auto_free char *a = neap_alloc(len + 1);
	neap_auto_free char *b = neap_alloc(len + 1);
	const char *argv[] = {"sh", "-c", "echo ${#1} ${#2} $#", "sh", a, b, NULL};
	struct neap_keeper_order order = keeper_rig_order("long", NULL);

	memset(a, 'x', len);
	memset(b, 'y', len);
	order.argv = argv;
	assert_int_equal(keeper_rig_do(rig, &order).event.exit_code, 0);
	assert_string_equal(keeper_rig_printed(rig, "long", "stdout"),
			    "100000 100000 2\n");
}

static void nothing_is_started_twice(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	struct neap_keeper_order order = keeper_rig_order("once", "echo run; exit 7");
	struct keeper_seen seen;

	assert_int_equal(keeper_rig_do(rig, &order).event.exit_code, 7);
	seen = keeper_rig_do(rig, &order);
	assert_int_equal(seen.event.what, NEAP_KEEPER_FAILED);
	assert_int_equal(seen.event.errnum, EEXIST);
	seen = keeper_rig_until(rig, keeper_rig_attach(rig, "once"), NEAP_KEEPER_ENDED);
	assert_int_equal(seen.event.what, NEAP_KEEPER_ENDED);
	assert_int_equal(seen.event.exit_code, 7);
	assert_string_equal(keeper_rig_printed(rig, "once", "stdout"), "run\n");
	order.attempt = 1;
	assert_int_equal(keeper_rig_do(rig, &order).event.exit_code, 7);
}

/* --- signals --- */

static void signals_are_given(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	struct neap_keeper_order order = keeper_rig_order(
		"signals",
		"trap 'echo TERM' TERM; echo up; while :; do sleep 0.05; done");
	uint64_t id = keeper_rig_run(rig, &order);
	struct keeper_seen seen = keeper_rig_until(rig, id, NEAP_KEEPER_STARTED);
	char path[256];
	int i;

	assert_int_equal(seen.event.what, NEAP_KEEPER_STARTED);
	(void)snprintf(path, sizeof(path), "%s/p-1/signals/0/log", rig->config.dir);
	(void)keeper_rig_await(path);
	/* It ignores SIGTERM. */
	assert_int_equal(neap_keeper_signal(rig->keeper, id, SIGTERM, NULL), 0);
	for (i = 0; i < 6000 && !strstr(keeper_rig_await(path), "TERM"); i++)
		(void)usleep(10000);
	assert_int_equal(kill(seen.event.pid, 0), 0);
	assert_int_equal(neap_keeper_signal(rig->keeper, id, SIGKILL, NULL), 0);
	seen = keeper_rig_until(rig, id, NEAP_KEEPER_ENDED);
	assert_int_equal(seen.event.exit_code, 137);
	assert_int_equal(seen.event.signo, 9);
	assert_string_equal(keeper_rig_printed(rig, "signals", "stdout"), "up\nTERM\n");
	/* Nothing happens when it has ended. */
	assert_int_equal(neap_keeper_signal(rig->keeper, id, SIGKILL, NULL), 0);
}

static void killed_before_go(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	struct neap_keeper_order order = keeper_rig_order("early", "echo never");
	uint64_t id = keeper_rig_run(rig, &order);
	struct keeper_seen seen = keeper_rig_next(rig);

	assert_int_equal(seen.event.what, NEAP_KEEPER_WAITING);
	assert_int_equal(neap_keeper_signal(rig->keeper, id, SIGKILL, NULL), 0);
	seen = keeper_rig_next(rig);
	assert_int_equal(seen.event.what, NEAP_KEEPER_FAILED);
	assert_int_equal(seen.event.errnum, ECANCELED);
	assert_string_equal(keeper_rig_printed(rig, "early", "stdout"), "");
}

/* --- with what it runs --- */

static void environment_is_exact(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	const char *argv[] = {"env", NULL};
	const char *own[] = {"PATH=/usr/bin:/bin", "HOME=/x", "B= c=d ", NULL};
	struct neap_keeper_order order = keeper_rig_order("env", NULL);

	order.argv = argv;
	assert_int_equal(keeper_rig_do(rig, &order).event.exit_code, 0);
	assert_string_equal(keeper_rig_printed(rig, "env", "stdout"),
			    "PATH=/usr/bin:/bin\nA=1\nUSER=nobody\nHOME=/nonexistent\n");
	order.container = "env-own";
	order.envp = own;
	assert_int_equal(keeper_rig_do(rig, &order).event.exit_code, 0);
	assert_string_equal(keeper_rig_printed(rig, "env-own", "stdout"),
			    "PATH=/usr/bin:/bin\nHOME=/x\nB= c=d \nUSER=nobody\n");
}

static void folder_is_chosen(void **state)
{
	static const struct {
		const char *name, *cwd, *home, *want;
	} rows[] = {
		{"home-gone", NULL, "/nonexistent", "/\n"},
		{"given", "/usr", "/nonexistent", "/usr\n"},
	};
	struct keeper_rig *rig = rig_of(state);
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_keeper_order order = keeper_rig_order(rows[i].name, "pwd -P");

		order.cwd = rows[i].cwd;
		assert_int_equal(keeper_rig_do(rig, &order).event.exit_code, 0);
		assert_string_equal(keeper_rig_printed(rig, rows[i].name, "stdout"),
				    rows[i].want);
	}
}

static void line_is(const char *text, const char *line)
{
	char want[128];

	(void)snprintf(want, sizeof(want), "%s\n", line);
	if (!strstr(text, want))
		fail_msg("no line '%s' in:\n%s", line, text);
}

/* Groups, and a bystander's descriptor, that the command must not have. */
static void privileges_are_gone(void **state)
{
	const gid_t groups[] = {0, 4, 27};
	struct keeper_rig *rig = rig_of(state);
	struct neap_keeper_order order = keeper_rig_order(
		"status",
		/* Of a child: a shell blocks signals while it waits. */
		"cat /proc/self/status; cat /proc/self/limits; ls /proc/$$/fd; "
		"readlink /proc/$$/fd/0; umask; cat /proc/$$/oom_score_adj; "
		"ps -o sid= -p $$ | tr -d ' '; echo $$; cat <&0 | wc -c");
	neap_auto_free char *text = NULL;
	char tail[64];
	int pid;

	order.open_files_max = 333;
	(void)setgroups(3, groups);
	keeper_rig_stop(rig);
	keeper_rig_start(rig);
	pid = keeper_rig_do(rig, &order).event.pid;
	(void)setgroups(0, NULL);
	text = neap_strdup(keeper_rig_printed(rig, "status", "stdout"));
	line_is(text, "Uid:\t65534\t65534\t65534\t65534");
	line_is(text, "Gid:\t65534\t65534\t65534\t65534");
	line_is(text, "Groups:\t ");
	line_is(text, "NoNewPrivs:\t1");
	line_is(text, "CapInh:\t0000000000000000");
	line_is(text, "CapPrm:\t0000000000000000");
	line_is(text, "CapEff:\t0000000000000000");
	line_is(text, "CapBnd:\t0000000000000000");
	line_is(text, "CapAmb:\t0000000000000000");
	line_is(text, "SigBlk:\t0000000000000000");
	line_is(text, "SigIgn:\t0000000000000000");
	line_is(text,
		"Max open files            333                  333                  files     ");
	line_is(text,
		"Max core file size        0                    0                    bytes     ");
	/* ls lists those of the shell, which has more while it starts a pipe. */
	(void)snprintf(tail, sizeof(tail), "0\n1\n2\n/dev/null\n0022\n0\n%d\n%d\n0", pid,
		       pid);
	line_is(text, tail);
	print_message("# %s\n", keeper_rig_printed(rig, "status", "stderr"));
}

/* A copy of a program that shows who runs it, with the set-user-id bit. */
static void setuid_gains_nothing(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	struct neap_keeper_order order;
	char command[200], script[200];

	(void)snprintf(command, sizeof(command),
		       "cp /usr/bin/id %s/id && chmod 4755 %s/id && chmod 755 %s",
		       rig->base, rig->base, rig->base);
	assert_int_equal(system(command), 0); /* a test may */
	(void)snprintf(script, sizeof(script), "%s/id -u; %s/id -ru", rig->base,
		       rig->base);
	order = keeper_rig_order("setuid", script);
	assert_int_equal(keeper_rig_do(rig, &order).event.exit_code, 0);
	assert_string_equal(keeper_rig_printed(rig, "setuid", "stdout"),
			    "65534\n65534\n");
}

/* Neither the shim nor what it writes can be reached by the user of pods. */
static void shims_are_out_of_reach(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	struct neap_keeper_order order = keeper_rig_order(
		"reach", "kill -9 $PPID && echo killed; cat /proc/$PPID/environ "
			 "2>/dev/null && echo read; cat /proc/$PPID/status; "
			 "ls $DIR/p-1 && echo listed; exit 5");
	const char *envp[] = {"PATH=/usr/bin:/bin", NULL, NULL};
	char dir[200];
	const char *out;

	(void)snprintf(dir, sizeof(dir), "DIR=%s", rig->config.dir);
	envp[1] = dir;
	order.envp = envp;
	assert_int_equal(keeper_rig_do(rig, &order).event.exit_code, 5);
	out = keeper_rig_printed(rig, "reach", "stdout");
	assert_null(strstr(out, "killed\n"));
	assert_null(strstr(out, "read\n"));
	assert_null(strstr(out, "listed\n"));
	line_is(out, "Uid:\t65533\t65533\t65533\t65533");
	line_is(out, "NoNewPrivs:\t1");
	line_is(out, "CapPrm:\t0000000000000020");
	line_is(out, "CapEff:\t0000000000000020");
	line_is(out, "CapBnd:\t0000000000000020");
	line_is(out, "Groups:\t ");
}

/* --- probes --- */

static const struct {
	const char *name, *script;
	int64_t usec;
	int exit_code;
	bool is_timeout;
	const char *text;
} probes[] = {
	{"good", "echo fine", 60000000, 0, false, "fine\n"},
	{"bad", "echo broken >&2; exit 1", 60000000, 1, false, "broken\n"},
	{"slow", "echo begun; sleep 1000", 3000000, 137, true, "begun\n"},
	{"stubborn", "trap '' TERM INT; setsid sleep 1001 & sleep 1001", 100000, 137,
	 true, ""},
	{"binary", "printf 'a\\001\\377b\\000c'", 60000000, 0, false, "a??b?c"},
};

static void probes_are_told(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	char path[256];
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(probes); i++) {
		struct neap_keeper_order order =
			keeper_rig_order(probes[i].name, probes[i].script);
		struct keeper_seen seen;

		order.probe_usec = probes[i].usec;
		order.log_bytes_max = order.log_files_max = 0;
		seen = keeper_rig_do(rig, &order);
		print_message("# %s: %d %d '%s'\n", probes[i].name, (int)seen.event.what,
			      seen.event.exit_code, seen.text);
		assert_int_equal(seen.event.what, NEAP_KEEPER_ENDED);
		assert_int_equal(seen.event.exit_code, probes[i].exit_code);
		assert_int_equal(seen.event.is_timeout, probes[i].is_timeout);
		assert_string_equal(seen.text, probes[i].text);
	}
	(void)snprintf(path, sizeof(path), "%s/p-1", rig->config.dir);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_true(keeper_rig_is_gone("sleep 1001"));
}

static void probe_output_is_bounded(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	struct neap_keeper_order order =
		keeper_rig_order("much", "yes | head -c 1000000; exit 3");
	struct keeper_seen seen;

	order.probe_usec = 600000000;
	seen = keeper_rig_do(rig, &order);
	assert_int_equal(seen.event.exit_code, 3);
	assert_int_equal(strlen(seen.text), NEAP_KEEPER_OUTPUT_MAX);
}

/* --- what must not be started with --- */

static void root_is_refused(void **state)
{
	struct keeper_rig *rig = rig_of(state);
	struct neap_keeper_config config = rig->config;
	struct neap_keeper *keeper = NULL;

	config.uid = 0;
	assert_int_equal(neap_keeper_start(&config, &keeper, NULL), -NEAP_EINVAL);
	config = rig->config;
	config.gid = 0;
	assert_int_equal(neap_keeper_start(&config, &keeper, NULL), -NEAP_EINVAL);
	config = rig->config;
	config.uid = config.own_uid;
	assert_int_equal(neap_keeper_start(&config, &keeper, NULL), -NEAP_EINVAL);
	config = rig->config;
	(void)snprintf(config.dir, sizeof(config.dir), "%s", "/etc");
	assert_int_equal(neap_keeper_start(&config, &keeper, NULL), -NEAP_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ends_are_told, setup, teardown),
		cmocka_unit_test_setup_teardown(failures_are_told, setup, teardown),
		cmocka_unit_test_setup_teardown(wrong_orders_are_refused, setup,
						teardown),
		cmocka_unit_test_setup_teardown(long_arguments_arrive, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_is_started_twice, setup,
						teardown),
		cmocka_unit_test_setup_teardown(signals_are_given, setup, teardown),
		cmocka_unit_test_setup_teardown(killed_before_go, setup, teardown),
		cmocka_unit_test_setup_teardown(environment_is_exact, setup, teardown),
		cmocka_unit_test_setup_teardown(folder_is_chosen, setup, teardown),
		cmocka_unit_test_setup_teardown(privileges_are_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(setuid_gains_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(shims_are_out_of_reach, setup, teardown),
		cmocka_unit_test_setup_teardown(probes_are_told, setup, teardown),
		cmocka_unit_test_setup_teardown(probe_output_is_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(root_is_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
