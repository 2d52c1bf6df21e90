/* SPDX-License-Identifier: Apache-2.0
 *
 * See keeper_rig.h. */
#include "t/lib/keeper_rig.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"

#define WAIT_MS   10
#define WAITS_MAX 6000

static void sleep_ms(int ms)
{
	const struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

	(void)nanosleep(&t, NULL);
}

struct keeper_rig *keeper_rig_new(const char **ret_why)
{
	struct keeper_rig *rig;

	if (geteuid() != 0) {
		*ret_why = "needs root";
		return NULL;
	}
	rig = neap_alloc(sizeof(*rig));
	if (!rig)
		return NULL;
	/* Shims whose keeper is gone come to us, so that we can wait for them. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	(void)snprintf(rig->base, sizeof(rig->base), "/tmp/neap-keeper-XXXXXX");
	assert_non_null(mkdtemp(rig->base));
	assert_int_equal(chmod(rig->base, 0777), 0);
	rig->config = (struct neap_keeper_config){
		.uid = KEEPER_RIG_UID,
		.gid = KEEPER_RIG_UID,
		.user = "nobody",
		.home = "/nonexistent",
		.own_uid = KEEPER_RIG_OWN,
		.own_gid = KEEPER_RIG_OWN,
		.log = {getenv("NEAP_TEST_LOG") ? 2 : -1, NEAP_LOG_DEBUG, NEAP_LOG_TEXT,
			"test"},
	};
	(void)snprintf(rig->config.dir, sizeof(rig->config.dir), "%s/pods", rig->base);
	return rig;
}

static void children_end(void)
{
	char path[64];
	int round, pid;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	for (round = 0; round < 500; round++) {
		FILE *file = fopen(path, "re");
		bool is_any = false;

		while (file && fscanf(file, "%d", &pid) == 1) {
			(void)kill(pid, SIGKILL);
			is_any = true;
		}
		if (file)
			(void)fclose(file);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (!is_any)
			return;
		sleep_ms(WAIT_MS);
	}
}

static int entry_remove(const char *path, const struct stat *st, int kind,
			struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

void keeper_rig_free(struct keeper_rig *rig)
{
	if (!rig)
		return;
	neap_keeper_free(rig->keeper);
	children_end();
	(void)nftw(rig->base, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
	free(rig);
}

void keeper_rig_start(struct keeper_rig *rig)
{
	struct neap_error err = {0};

	if (neap_keeper_start(&rig->config, &rig->keeper, &err) < 0)
		fail_msg("start: %s", err.msg);
}

void keeper_rig_stop(struct keeper_rig *rig)
{
	int pid = neap_keeper_pid(rig->keeper);
	int i;

	neap_keeper_free(rig->keeper);
	rig->keeper = NULL;
	for (i = 0; i < WAITS_MAX && waitpid(pid, NULL, WNOHANG) == 0; i++)
		sleep_ms(WAIT_MS);
	assert_true(i < WAITS_MAX);
}

struct neap_keeper_order keeper_rig_order(const char *name, const char *script)
{
	static const char *argv[4];
	static const char *const envp[] = {"PATH=/usr/bin:/bin", "A=1", NULL};

	argv[0] = "sh";
	argv[1] = "-c";
	argv[2] = script;
	argv[3] = NULL;
	return (struct neap_keeper_order){
		.pod_uid = "p-1",
		.container = name,
		.argv = argv,
		.envp = envp,
		.log_bytes_max = 1 << 20,
		.log_files_max = 3,
	};
}

uint64_t keeper_rig_run(struct keeper_rig *rig, const struct neap_keeper_order *order)
{
	struct neap_error err = {0};
	uint64_t id = ++rig->last_id;

	if (neap_keeper_run(rig->keeper, id, order, &err) < 0)
		fail_msg("run %s: %s", order->container, err.msg);
	return id;
}

uint64_t keeper_rig_attach(struct keeper_rig *rig, const char *name)
{
	struct neap_error err = {0};
	uint64_t id = ++rig->last_id;

	if (neap_keeper_attach(rig->keeper, id, "p-1", name, 0, &err) < 0)
		fail_msg("attach %s: %s", name, err.msg);
	return id;
}

struct keeper_seen keeper_rig_next(struct keeper_rig *rig)
{
	struct keeper_seen seen = {0};
	struct neap_error err = {0};
	int i, rc;

	for (i = 0; i < WAITS_MAX; i++) {
		struct pollfd p = {.fd = neap_keeper_fd(rig->keeper), .events = POLLIN};

		rc = neap_keeper_next(rig->keeper, &seen.event, &err);
		if (rc == 1) {
			(void)neap_strcopy(seen.text, sizeof(seen.text), seen.event.text);
			if (seen.event.fd >= 0)
				(void)close(seen.event.fd);
			seen.event.text = NULL; /* see seen.text */
			return seen;
		}
		if (rc < 0 && rc != -NEAP_EUNAVAILABLE)
			fail_msg("next: %s", err.msg);
		(void)poll(&p, 1, WAIT_MS);
	}
	fail_msg("no event came");
	return seen;
}

struct keeper_seen keeper_rig_until(struct keeper_rig *rig, uint64_t id,
				    enum neap_keeper_what what)
{
	struct keeper_seen seen;

	for (;;) {
		seen = keeper_rig_next(rig);
		if (seen.event.id != id)
			continue;
		if (seen.event.what == what || seen.event.what == NEAP_KEEPER_FAILED ||
		    seen.event.what == NEAP_KEEPER_ENDED ||
		    seen.event.what == NEAP_KEEPER_LOST)
			return seen;
		if (seen.event.what == NEAP_KEEPER_WAITING)
			assert_int_equal(neap_keeper_go(rig->keeper, id, NULL), 0);
	}
}

struct keeper_seen keeper_rig_do(struct keeper_rig *rig,
				 const struct neap_keeper_order *order)
{
	return keeper_rig_until(rig, keeper_rig_run(rig, order), NEAP_KEEPER_ENDED);
}

static const char *file_read(const char *path)
{
	static char text[1 << 20];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 1;

	while (fd >= 0 && n > 0 && len < sizeof(text) - 1) {
		n = read(fd, text + len, sizeof(text) - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	text[len] = '\0';
	if (fd >= 0)
		(void)close(fd);
	return text;
}

const char *keeper_rig_file(const struct keeper_rig *rig, const char *name,
			    const char *file)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/p-1/%s/0/%s", rig->config.dir, name, file);
	return file_read(path);
}

const char *keeper_rig_printed(const struct keeper_rig *rig, const char *name,
			       const char *stream)
{
	static char text[1 << 20];
	const char *line = keeper_rig_file(rig, name, "log");
	size_t len = 0, head;

	for (; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t end = strcspn(line, "\n");

		/* "2026-11-22T00:00:00.000000000Z stdout F text" */
		head = 31 + strlen(stream) + 3;
		assert_true(end >= head && line[29] == 'Z' && line[30] == ' ');
		if (strncmp(line + 31, stream, strlen(stream)) != 0)
			continue;
		memcpy(text + len, line + head, end - head);
		len += end - head;
		if (line[head - 2] == 'F')
			text[len++] = '\n';
		else
			assert_int_equal(line[head - 2], 'P');
	}
	text[len] = '\0';
	return text;
}

const char *keeper_rig_await(const char *path)
{
	const char *text = "";
	int i;

	for (i = 0; i < WAITS_MAX && !*text; i++) {
		text = file_read(path);
		if (!*text)
			sleep_ms(WAIT_MS);
	}
	if (!*text)
		fail_msg("%s stays empty", path);
	return text;
}

int keeper_rig_shim_of(int pid)
{
	char path[64], stat[512], *end;
	int parent = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_non_null(fgets(stat, sizeof(stat), file));
	(void)fclose(file);
	end = strrchr(stat, ')');
	assert_true(end && sscanf(end + 1, " %*c %d", &parent) == 1 && parent > 1);
	return parent;
}

static bool is_there(const char *word)
{
	char path[300], line[512];
	const struct dirent *entry;
	DIR *proc = opendir("/proc");
	bool is_found = false;
	struct stat st;
	size_t i;

	while (proc && !is_found && (entry = readdir(proc)) != NULL) {
		ssize_t n;
		int fd;

		(void)snprintf(path, sizeof(path), "/proc/%s/cmdline", entry->d_name);
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		n = fstat(fd, &st) == 0 ? read(fd, line, sizeof(line) - 1) : 0;
		(void)close(fd);
		line[n > 0 ? n : 0] = '\0';
		for (i = 0; n > 0 && i < (size_t)n; i++)
			if (!line[i])
				line[i] = ' ';
		is_found = st.st_uid == KEEPER_RIG_UID && strstr(line, word) != NULL;
	}
	if (proc)
		(void)closedir(proc);
	return is_found;
}

bool keeper_rig_is_gone(const char *word)
{
	int i;

	for (i = 0; i < WAITS_MAX / 6 && is_there(word); i++)
		sleep_ms(WAIT_MS);
	return i < WAITS_MAX / 6;
}
