/* SPDX-License-Identifier: Apache-2.0
 *
 * The watch of --policy-dir: what editors, kubelets and people do to a directory is one
 * change each, told within a second, and never half of a file. */
#include <event2/event.h>
#include <fcntl.h>
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

#include "api/policy/judge.h"
#include "api/policy/watch_priv.h"
#include "engine/base/mem.h"
#include "t/lib/patience.h"

static char base[64], dir[80];
static char seen
	[32768]; /* "+a.lua=text" changed, "-a.lua" gone, "!a.lua" refused; in order */
static struct neap_error refusal; /* the last */
static struct event_base *loop;
static struct neap_watch *watch;

static void run(const char *fmt, ...)
{
	char command[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(command, sizeof(command), fmt, args);
	va_end(args);
	if (system(command) != 0)
		fail_msg("%s", command);
}

static void note(char sign, const char *file, const char *text, size_t len)
{
	size_t at = strlen(seen);
	const char *name = file + strlen(dir);

	assert_memory_equal(file, dir, strlen(dir));
	snprintf(seen + at, sizeof(seen) - at, "%s%c%s%s%.*s", at ? " " : "", sign,
		 *name ? name + 1 : "DIR", sign == '+' ? "=" : "",
		 (int)(len > 40 ? 40 : len), text);
}

static void on_changed(void *arg, const char *file, const char *text, size_t len)
{
	assert_ptr_equal(arg, &seen);
	assert_int_equal(strlen(text), len);
	note('+', file, text, len && text[len - 1] == '\n' ? len - 1 : len);
	if (watch)
		neap_watch_look(watch); /* does nothing while it looks */
}

static void on_gone(void *arg, const char *file)
{
	(void)arg;
	note('-', file, "", 0);
}

static void on_refused(void *arg, const char *file, const struct neap_error *err)
{
	(void)arg;
	note('!', file, "", 0);
	refusal = *err;
}

static const struct neap_watch_calls calls = {&seen, on_changed, on_gone, on_refused};

static int setup(void **state)
{
	(void)state;
	snprintf(base, sizeof(base), "/tmp/neap-watch-XXXXXX");
	if (!mkdtemp(base))
		return -1;
	snprintf(dir, sizeof(dir), "%s/policies", base);
	run("mkdir -m 755 %s", dir);
	loop = event_base_new();
	return loop ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	neap_watch_free(watch);
	watch = NULL;
	seen[0] = '\0';
	event_base_free(loop);
	loop = NULL;
	run("chmod -R u+rwX %s && rm -rf %s", base, base);
	return 0;
}

static void start(void)
{
	struct neap_error err;

	if (neap_watch_new(loop, dir, geteuid(), &calls, &watch, &err) < 0)
		fail_msg("watch: %s", err.msg);
}

static void loop_for(int ms)
{
	struct timeval end = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

	event_base_loopexit(loop, &end);
	event_base_dispatch(loop);
}

/* Runs the loop until this was told; then a little longer, to see what else. */
static void expect(const char *name, const char *want)
{
	int64_t end = neap_watch_now_ms() + PATIENCE_MS;

	while (strcmp(seen, want) != 0 && neap_watch_now_ms() < end)
		loop_for(10);
	loop_for(*want ? 150 : 250);
	if (strcmp(seen, want) != 0)
		fail_msg("%s: told '%s', not '%s' (%s)", name, seen, want, refusal.msg);
	seen[0] = '\0';
}

/* One after the other in one directory; each goes on where the one before ended. */
static const struct {
	const char *name, *command, *want;
} steps[] = {
	{"new file", "echo 1 > a.lua", "+a.lua=1"},
	{"touched", "touch a.lua", ""},
	{"the same text", "echo 1 > a.lua", ""},
	{"in place, as nano", "touch .a.lua.swp; echo 2 > a.lua; rm .a.lua.swp",
	 "+a.lua=2"},
	{"vim",
	 "touch .a.lua.swp 4913; chmod 644 4913; rm 4913; mv a.lua a.lua~; "
	 "echo 3 > a.lua; chmod 644 a.lua; rm a.lua~ .a.lua.swp",
	 "+a.lua=3"},
	{"sed -i", "sed -i s/3/4/ a.lua", "+a.lua=4"},
	{"rename over", "echo 5 > .a.new; mv .a.new a.lua", "+a.lua=5"},
	{"same size, same second", "echo 6 > a.lua; sleep 0.15; echo 7 > a.lua",
	 "+a.lua=7"},
	{"names that do not count",
	 "echo x > b.txt; echo x > .b.lua; echo x > .lua; echo x > lua", ""},
	{"two at once", "echo 1 > b.lua; echo 8 > a.lua", "+a.lua=8 +b.lua=1"},
	{"renamed", "mv b.lua c.lua", "-b.lua +c.lua=1"},
	{"removed", "rm c.lua", "-c.lua"},
	{"slow writer",
	 "(printf ha; sleep 0.4; printf lf; sleep 0.4; echo -whole) > a.lua &",
	 "+a.lua=half-whole"},
	{"slow new file", "(sleep 0.3; echo all) > d.lua &", "+d.lua=all"},
	{"empty", ": > d.lua", "+d.lua="},
	{"mode", "chmod 666 a.lua", "!a.lua"},
	{"mode again", "chmod 646 a.lua; chmod 666 a.lua", ""},
	{"mode well again", "chmod 644 a.lua", "+a.lua=half-whole"},
	{"too long", "head -c 262145 /dev/zero > d.lua", "!d.lua"},
	{"a folder", "rm d.lua; mkdir d.lua", "!d.lua"},
	{"no folder", "rmdir d.lua", "-d.lua"},
	{"a pipe", "mkfifo d.lua", "!d.lua"},
	{"no pipe", "rm d.lua", "-d.lua"},
	{"a link to nothing", "ln -s nothing.lua d.lua", "!d.lua"},
	{"a link to something", "echo 1 > something; ln -sfn something d.lua",
	 "+d.lua=1"},
	{"something changed", "echo 2 > something", "+d.lua=2"},
	{"a link in a ring", "ln -sfn d.lua d.lua", "!d.lua"},
	{"a ConfigMap",
	 "rm *; mkdir ..1; echo 1 > ..1/a.lua; echo 1 > ..1/b.lua; ln -s ..1 ..data; "
	 "ln -s ..data/a.lua a.lua; ln -s ..data/b.lua b.lua",
	 "-d.lua +a.lua=1 +b.lua=1"},
	{"its swap",
	 "mkdir ..2; echo 2 > ..2/a.lua; echo 1 > ..2/b.lua; ln -s ..2 ..data_tmp; "
	 "mv -T ..data_tmp ..data; rm -r ..1",
	 "+a.lua=2"},
	{"its loss of a file",
	 "mkdir ..3; echo 2 > ..3/a.lua; ln -s ..3 ..data_tmp; "
	 "mv -T ..data_tmp ..data; rm b.lua; rm -r ..2",
	 "-b.lua"},
	{"its folder for all", "chmod 777 ..3; touch x", "!a.lua"},
	{"its folder well again", "chmod 755 ..3; touch y", "+a.lua=2"},
	{"directory for all", "chmod 777 .", "!DIR"},
	{"a change meanwhile", "echo 3 > ..3/a.lua; touch x", ""},
	{"directory well again", "chmod 755 .", "-DIR +a.lua=3"},
	{"directory removed", "rm -r $DIR", "-a.lua !DIR"},
	{"directory made again", "mkdir -m 755 $DIR; echo 1 > $DIR/a.lua",
	 "-DIR +a.lua=1"},
	{"watched again", "echo 2 > a.lua", "+a.lua=2"},
	{"directory swapped",
	 "mkdir -m 755 ../new; echo 3 > ../new/a.lua; mv $DIR ../old; "
	 "mv ../new $DIR",
	 "+a.lua=3"},
	{"the old one is left", "echo 4 > ../old/a.lua", ""},
	{"the new one is watched", "echo 4 > a.lua", "+a.lua=4"},
	{"directory for a moment away", "mv $DIR ../x; sleep 0.3; mv ../x $DIR", ""},
	{"and watched", "echo 5 > a.lua", "+a.lua=5"},
};

static void test_steps(void **state)
{
	size_t i;

	(void)state;
	run("echo 0 > %s/first.lua", dir);
	start();
	assert_string_equal(seen, "+first.lua=0");
	seen[0] = '\0';
	run("rm %s/first.lua", dir);
	expect("first", "-first.lua");
	for (i = 0; i < NEAP_ARRAY_LEN(steps); i++) {
		run("cd %s 2>/dev/null || cd %s; DIR=%s; %s", dir, base, dir,
		    steps[i].command);
		expect(steps[i].name, steps[i].want);
	}
}

static void test_start(void **state)
{
	struct neap_error err;

	(void)state;
	run("chmod 777 %s", dir);
	assert_int_equal(neap_watch_new(loop, dir, geteuid(), &calls, &watch, &err),
			 -NEAP_EFORBIDDEN);
	assert_non_null(strstr(err.msg, dir));
	run("rmdir %s", dir);
	assert_int_equal(neap_watch_new(loop, dir, geteuid(), &calls, &watch, &err),
			 -NEAP_ENOTFOUND);
	run("touch %s", dir);
	assert_int_equal(neap_watch_new(loop, dir, geteuid(), &calls, &watch, &err),
			 -NEAP_EFORBIDDEN);
	assert_null(watch);
	run("rm %s; mkdir -m 755 %s %s.real; mv %s %s.empty; ln -s policies.real %s", dir,
	    dir, dir, dir, dir, dir);
	run("echo 1 > %s/a.lua", dir);
	start(); /* a link to a directory */
	expect("link", "+a.lua=1");
	/* When asked: without an event and without a wait. */
	run("echo 2 > %s/a.lua", dir);
	usleep(100000);
	neap_watch_look(watch);
	assert_string_equal(seen, "+a.lua=2");
	seen[0] = '\0';
	neap_watch_free(NULL);
}

static size_t count(char sign)
{
	size_t found = 0, i;

	for (i = 0; seen[i]; i++)
		found += seen[i] == sign && (i == 0 || seen[i - 1] == ' ');
	return found;
}

static void test_many(void **state)
{
	int64_t until;

	(void)state;
	run("cd %s; for i in $(seq 100 399); do echo 1 > f$i.lua; done", dir);
	start();
	assert_int_equal(count('+'), NEAP_WATCH_FILES);
	assert_int_equal(count('!'), 300 - NEAP_WATCH_FILES);
	assert_non_null(strstr(seen, "+f355.lua=1 !f356.lua"));
	assert_non_null(strstr(refusal.msg, "f399.lua"));
	assert_non_null(strstr(refusal.msg, "256"));
	seen[0] = '\0';
	/* One that comes first in the alphabet takes nobody's place. */
	run("echo 1 > %s/a.lua", dir);
	expect("one more", "!a.lua");
	run("rm %s/f100.lua", dir);
	expect("a place", "-f100.lua +a.lua=1");
	/* All of them, more than is read in one turn. */
	run("cd %s; head -c 60000 /dev/zero | tr '\\0' x > .big; for f in *.lua; do cp .big $f; done",
	    dir);
	until = neap_watch_now_ms() + PATIENCE_MS;
	while (count('+') < NEAP_WATCH_FILES && neap_watch_now_ms() < until)
		loop_for(10);
	loop_for(150);
	assert_int_equal(count('+'), NEAP_WATCH_FILES);
	seen[0] = '\0';
	/* More entries than it lists. */
	run("cd %s; seq 1 5000 | xargs touch", dir);
	expect("too many", "!DIR");
	run("cd %s; ls | grep '^[0-9]*$' | xargs rm", dir);
	expect("few again", "-DIR");
}

/* More events than the kernel keeps: none of them is needed. */
static void test_overflow(void **state)
{
	char path[2][100];
	int fd[2], i;

	(void)state;
	for (i = 0; i < 2; i++) {
		snprintf(path[i], sizeof(path[i]), "%s/%c.lua", dir, 'a' + i);
		fd[i] = open(path[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		assert_true(fd[i] >= 0);
	}
	start();
	expect("two empty ones", "+a.lua= +b.lua=");
	for (i = 0; i < 40000; i++)
		assert_int_equal(fchmod(fd[i % 2], i & 2 ? 0644 : 0600), 0);
	assert_int_equal(write(fd[0], "1", 1), 1);
	assert_int_equal(rename(path[1], path[0]), 0);
	run("echo 2 > %s", path[1]);
	assert_int_equal(write(fd[1], "3", 1), 1);
	close(fd[0]);
	close(fd[1]);
	expect("overflow", "+a.lua=3 +b.lua=2");
}

/* Events without end do not put it off without end. */
static void test_restless(void **state)
{
	int64_t begin;
	int status;
	pid_t child;

	(void)state;
	start();
	child = fork();
	if (child == 0) {
		char path[100];

		snprintf(path, sizeof(path), "%s/other", dir);
		for (;;) {
			int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

			if (fd < 0 || write(fd, "x", 1) != 1)
				_exit(1);
			close(fd);
			usleep(30000);
		}
	}
	loop_for(50);
	begin = neap_watch_now_ms();
	run("echo 1 > %s/a.lua", dir);
	while (!*seen && neap_watch_now_ms() - begin < PATIENCE_MS)
		loop_for(10);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	assert_string_equal(seen, "+a.lua=1");
	assert_true(neap_watch_now_ms() - begin >= 100);
}

/* A writer that never closes is read once it pauses. */
static void test_open_for_ever(void **state)
{
	char path[100];
	int fd;

	(void)state;
	start();
	snprintf(path, sizeof(path), "%s/a.lua", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, "1", 1), 1);
	loop_for(600);
	assert_string_equal(seen, "");
	expect("pause", "+a.lua=1");
	close(fd);
}

static void test_odd_names(void **state)
{
	(void)state;
	run("cd %s; echo 1 > 'a b.lua'; echo 1 > '\xc3\xa9.lua'; echo 1 > \"$(printf 'x\\ny').lua\"; "
	    "echo 1 > \"$(printf '\\377').lua\"",
	    dir);
	start();
	assert_string_equal(seen, "+a b.lua=1 !x?y.lua +\xc3\xa9.lua=1 !?.lua");
}

/* Without memory it tells later, and tells nothing wrong. */
static void test_allocations(void **state)
{
	struct neap_error err;
	int n;

	(void)state;
	run("cd %s; echo 1 > a.lua; echo 2 > b.lua; echo 3 > c.lua", dir);
	for (n = 1; n < 60; n++) {
		int rc;

		seen[0] = '\0';
		watch = NULL;
		neap_mem_fail_at((uint64_t)n);
		rc = neap_watch_new(loop, dir, geteuid(), &calls, &watch, &err);
		neap_mem_fail_at(0);
		if (rc < 0) {
			assert_int_equal(rc, -NEAP_ENOMEM);
			assert_null(watch);
			continue;
		}
		assert_int_equal(count('!') + count('-'), 0);
		neap_watch_look(watch);
		assert_int_equal(count('+'), 3);
		assert_int_equal(count('!') + count('-'), 0);
		neap_watch_free(watch);
		watch = NULL;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_steps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_start, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_overflow, setup, teardown),
		cmocka_unit_test_setup_teardown(test_restless, setup, teardown),
		cmocka_unit_test_setup_teardown(test_open_for_ever, setup, teardown),
		cmocka_unit_test_setup_teardown(test_odd_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_allocations, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
