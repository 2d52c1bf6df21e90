/* SPDX-License-Identifier: Apache-2.0
 *
 * neapd and neapctl as whole processes, with failmalloc.so before their C library. The
 * start of a daemon ends with one clear line and status 1, or it is a whole one; a
 * running daemon outlives two ticks and the requests of a client without memory; a
 * command of neapctl says what is the case, or that it cannot. Needs root, as the daemon
 * has its hand. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "t/torture/torture.h"

#define ARGS_MAX       40
#define START_MS       8000
#define MEMORY_BACK_MS 1500
#define TICKS_MS       450 /* two of them, and a request */
#define OUTPUT_MAX     16384

struct daemon {
	char dir[64];
	char group[48];
	int pid; /* of the running one, 0 without */
};

static const char *build(void)
{
	const char *dir = getenv("BUILD");

	return dir != NULL ? dir : "build";
}

static void sleep_ms(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

/* --- processes --- */

/* Starts a program of the build with its output in the file; is_armed: it is the one that
 * lacks memory, else its allocator is as it was, unless is_steered. */
static int spawn(const struct daemon *d, char **argv, const char *output, bool is_armed,
		 bool is_steered)
{
	char path[160];
	int pid = fork(), fd;

	if (pid != 0)
		return pid;
	(void)snprintf(path, sizeof(path), "%s/%s", d->dir, output);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	(void)dup2(fd, STDOUT_FILENO);
	(void)dup2(fd, STDERR_FILENO);
	(void)alarm(0);
	if (is_armed || is_steered) {
		(void)snprintf(path, sizeof(path), "%s/t/failmalloc.so", build());
		(void)setenv("LD_PRELOAD", path, 1);
		(void)setenv("FAILMALLOC_PAGE", torture_page_file(), 1);
	}
	(void)snprintf(path, sizeof(path), "%s/%s", build(), argv[0]);
	argv[0] = path; /* by which a call stack finds its program */
	if (is_armed)
		torture_arm((int)getpid());
	(void)execv(path, argv);
	_exit(127);
}

static const char *output_of(const struct daemon *d, const char *name)
{
	static char text[OUTPUT_MAX];
	char path[160];
	ssize_t len = -1;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", d->dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		len = read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		(void)close(fd);
	text[len > 0 ? len : 0] = '\0';
	return text;
}

/* Wait status; the process must end within the time. */
static int wait_for(const struct daemon *d, int pid, const char *output)
{
	int status = 0, i;

	for (i = 0; i < START_MS / 10; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		sleep_ms(10);
	}
	(void)kill(pid, SIGKILL);
	torture_fail("process does not end:\n%s", output_of(d, output));
}

/* The status of an answer over the daemon's socket, 0 without one. */
static int ask(const struct daemon *d, const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char text[256];
	ssize_t n = 0;
	int len =
		snprintf(text, sizeof(text),
			 "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);

	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/sock", d->dir);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 &&
	    write(fd, text, (size_t)len) == len && poll(&p, 1, 2000) > 0)
		n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 12 ? (int)strtol(text + 9, NULL, 10) : 0;
}

static int start(const struct daemon *d, bool is_armed)
{
	static char options[10][128];
	char name[] = "neapd";
	char *argv[] = {name,       options[0], options[1], options[2],
			options[3], options[4], options[5], options[6],
			options[7], options[8], options[9], NULL};

	(void)snprintf(options[0], 128, "--run-dir=%s/run", d->dir);
	(void)snprintf(options[1], 128, "--data-dir=%s/data", d->dir);
	(void)snprintf(options[2], 128, "--unix-socket=%s/sock", d->dir);
	(void)snprintf(options[3], 128, "--share-dir=.");
	(void)snprintf(options[4], 128, "--listen=off");
	(void)snprintf(options[5], 128, "--group=%s", d->group);
	(void)snprintf(options[6], 128, "--kubepods=off");
	(void)snprintf(options[7], 128, "--tick=200ms");
	(void)snprintf(options[8], 128, "--audit-log=%s/data/audit", d->dir);
	(void)snprintf(options[9], 128, "--user=nobody");
	return spawn(d, argv, "daemon", is_armed, true);
}

/* Groups and files of a daemon that ended, and its hand. */
static void sweep(const struct daemon *d)
{
	neap_auto_free char *command = neap_asprintf(
		"%s/neapd --give-back --run-dir %s/run --group %s >/dev/null 2>&1;"
		" for g in /sys/fs/cgroup/*/%s /sys/fs/cgroup/%s; do [ ! -d $g ] ||"
		" find $g -depth -type d -exec rmdir {} + ; done 2>/dev/null;"
		" rm -rf %s/run %s/data %s/sock",
		build(), d->dir, d->group, d->group, d->group, d->dir, d->dir, d->dir);

	if (system(command) < 0)
		torture_fail("cannot clean up");
}

static void stop(struct daemon *d)
{
	int status;

	(void)kill(d->pid, SIGTERM);
	status = wait_for(d, d->pid, "daemon");
	torture_disarm();
	d->pid = 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		torture_fail("it ends with %#x:\n%s", (unsigned)status,
			     output_of(d, "daemon"));
}

static void *setup(void)
{
	struct daemon *d = calloc(1, sizeof(*d));

	(void)neap_strcopy(d->dir, sizeof(d->dir), "/tmp/neap-torture.XXXXXX");
	if (mkdtemp(d->dir) == NULL || chmod(d->dir, 0755) < 0)
		torture_fail("no directory");
	(void)snprintf(d->group, sizeof(d->group), "neap-torture-%d", (int)getpid());
	return d;
}

static void teardown(void *state)
{
	struct daemon *d = state;
	neap_auto_free char *command = neap_asprintf("rm -rf %s", d->dir);

	if (d->pid > 0)
		stop(d);
	sweep(d);
	if (system(command) < 0)
		torture_fail("cannot clean up");
	free(d);
}

/* --- the start --- */

/* Status 1 and one line that says why, the last one. */
static int judge_refusal(const struct daemon *d, int status, struct neap_error *err)
{
	const char *text = output_of(d, "daemon"), *line, *at;

	if (!WIFEXITED(status))
		torture_fail("the start is killed by signal %d:\n%s", WTERMSIG(status),
			     text);
	if (WEXITSTATUS(status) != 1 && WEXITSTATUS(status) != 2)
		torture_fail("the start ends with %d:\n%s", WEXITSTATUS(status), text);
	line = text;
	for (at = strchr(text, '\n'); at != NULL && at[1] != '\0';
	     at = strchr(at + 1, '\n'))
		line = at + 1;
	if (strncmp(line, "neapd: ", 7) != 0 || strcasestr(line, "memory") == NULL)
		torture_fail("the start does not say why it ends:\n%s", text);
	return neap_error_nomem(err);
}

/* Memory comes back when the start must be over, so that a daemon that runs then can say
 * so. A status is answered while it starts, too. */
static int start_act(void *state, struct neap_error *err)
{
	struct daemon *d = state;
	bool is_there = false;
	int status = 0, i;

	d->pid = start(d, true);
	for (i = 0; i < START_MS / 10 && !is_there; i++) {
		if (waitpid(d->pid, &status, WNOHANG) == d->pid) {
			sweep(d);
			return judge_refusal(d, status, err);
		}
		if (i == MEMORY_BACK_MS / 10)
			torture_disarm();
		sleep_ms(10);
		is_there = ask(d, "/readyz") == 200;
	}
	if (!is_there) {
		(void)kill(d->pid, SIGKILL);
		(void)waitpid(d->pid, &status, 0);
		sweep(d);
		torture_fail("no start and no end:\n%s", output_of(d, "daemon"));
	}
	stop(d);
	sweep(d);
	torture_tell("started");
	return 0;
}

/* --- a running daemon --- */

static void *running_setup(void)
{
	struct daemon *d = setup();
	int i;

	d->pid = start(d, false);
	for (i = 0; i < START_MS / 10 && ask(d, "/readyz") != 200; i++)
		sleep_ms(10);
	if (ask(d, "/readyz") != 200)
		torture_fail("no daemon:\n%s", output_of(d, "daemon"));
	return d;
}

static int tick_act(void *state, struct neap_error *err)
{
	const struct daemon *d = state;

	(void)err;
	torture_arm(d->pid);
	sleep_ms(TICKS_MS / 2);
	(void)ask(d, "/control/v1/status");
	(void)ask(d, "/metrics");
	sleep_ms(TICKS_MS / 2);
	torture_disarm();
	return 0;
}

/* It acts as before. */
static void tick_check(void *state, int rc)
{
	const struct daemon *d = state;
	int i;

	(void)rc;
	for (i = 0; i < 100 && ask(d, "/readyz") != 200; i++)
		sleep_ms(20);
	if (ask(d, "/readyz") != 200 || ask(d, "/control/v1/status") != 200)
		torture_fail("the daemon is not itself any more:\n%s",
			     output_of(d, "daemon"));
}

/* --- neapctl --- */

static int command_act(void *state, char **words, bool is_stable, struct neap_error *err)
{
	const struct daemon *d = state;
	char name[] = "neapctl", option[160];
	char *argv[ARGS_MAX] = {name, option};
	const char *text;
	int i, pid, status;

	(void)snprintf(option, sizeof(option), "--socket=%s/sock", d->dir);
	for (i = 0; words[i] != NULL; i++)
		argv[i + 2] = words[i];
	pid = spawn(d, argv, "command", true, false);
	status = wait_for(d, pid, "command");
	torture_disarm();
	text = output_of(d, "command");
	if (!WIFEXITED(status))
		torture_fail("killed by signal %d:\n%s", WTERMSIG(status), text);
	if (WEXITSTATUS(status) == 0) {
		torture_tell("%s", is_stable ? text : "done");
		return 0;
	}
	if (strncmp(text, "neapctl: ", 9) != 0 && strstr(text, "\nneapctl: ") == NULL)
		torture_fail("status %d and no word why:\n%s", WEXITSTATUS(status), text);
	return neap_error_nomem(err);
}

#define COMMAND(name_, is_stable_, ...)                                                  \
	static int name_(void *state, struct neap_error *err)                            \
	{                                                                                \
		static const char *const list[] = {__VA_ARGS__, NULL};                   \
		char words[6][64], *argv[7] = {NULL};                                    \
		int i;                                                                   \
                                                                                         \
		for (i = 0; list[i] != NULL; i++) {                                      \
			(void)neap_strcopy(words[i], sizeof(words[i]), list[i]);         \
			argv[i] = words[i];                                              \
		}                                                                        \
		return command_act(state, argv, is_stable_, err);                        \
	}

COMMAND(ctl_status, false, "status")
COMMAND(ctl_topology, false, "topology")
COMMAND(ctl_list, false, "policy", "list")
COMMAND(ctl_show, false, "policy", "show", "qos/cpu-share")
COMMAND(ctl_check, true, "policy", "check", "policies/qos/cpu-suppress.lua")
COMMAND(ctl_audit, false, "audit")
COMMAND(ctl_top, false, "top", "-n", "1", "-b")
COMMAND(ctl_help, true, "help")

#define CTL(name, act_)                                                                  \
	{                                                                                \
		"neapctl: " name, running_setup, act_, NULL, teardown,                   \
			.is_elsewhere = true                                             \
	}

const struct torture torture_daemon[] = {
	{"neapd: start", setup, start_act, NULL, teardown, .is_elsewhere = true,
	 .weight = 12},
	{"neapd: ticks", running_setup, tick_act, tick_check, teardown,
	 .is_elsewhere = true, .weight = 6},
	CTL("help", ctl_help),
	CTL("status", ctl_status),
	CTL("topology", ctl_topology),
	CTL("policy list", ctl_list),
	CTL("policy show", ctl_show),
	CTL("policy check", ctl_check),
	CTL("audit", ctl_audit),
	CTL("top", ctl_top),
	{0},
};
