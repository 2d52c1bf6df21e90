/* SPDX-License-Identifier: Apache-2.0
 *
 * See hand_rig.h. Everything is taken away again also when a test failed half way. */
#include "t/lib/hand_rig.h"

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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"

void rig_sleep_ms(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

const char *rig_path(const struct hand_rig *rig, const char *name)
{
	static char ring[8][NEAP_PATH_MAX];
	static unsigned at;
	char *buf = ring[at++ % 8];

	snprintf(buf, NEAP_PATH_MAX, "%.200s/%.200s", rig->base, name);
	return buf;
}

static int usable(struct hand_rig *rig, const char **ret_why)
{
	static const enum neap_key keys[] = {NEAP_KEY_CPU_SHARES, NEAP_KEY_CPU_MAX_MILLI,
					     NEAP_KEY_CPUSET_CPUS};
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(keys); i++)
		if (!neap_cgroup_file(&rig->cgroup, keys[i], NULL, NULL)) {
			*ret_why = "no cgroup controllers cpu and cpuset";
			return -1;
		}
	return 0;
}

struct hand_rig *rig_new(const char **ret_why)
{
	struct hand_rig *rig;
	static char why[300];
	struct neap_error err = {0};

	if (geteuid() != 0) {
		*ret_why = "needs root";
		return NULL;
	}
	rig = neap_alloc(sizeof(*rig));
	if (!rig)
		return NULL;
	*ret_why = why;
	if (neap_cgroup_probe(NULL, &rig->cgroup, &err) < 0) {
		snprintf(why, sizeof(why), "%s", err.msg);
		free(rig);
		return NULL;
	}
	if (usable(rig, ret_why) < 0) {
		neap_cgroup_done(&rig->cgroup);
		free(rig);
		return NULL;
	}
	/* Orphaned hands come to us, so that we can wait for them. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	snprintf(rig->base, sizeof(rig->base), "neap-test-%d", (int)getpid());
	snprintf(rig->own, sizeof(rig->own), "neap-test-%d/own", (int)getpid());
	if (neap_cgroup_make(&rig->cgroup, rig->base, NULL, &err) < 0) {
		snprintf(why, sizeof(why), "cgroups cannot be made here: %s", err.msg);
		neap_cgroup_done(&rig->cgroup);
		free(rig);
		return NULL;
	}
	rig->config.cgroup = &rig->cgroup;
	snprintf(rig->config.run_dir, sizeof(rig->config.run_dir), "/tmp/neap-hand-%d",
		 (int)getpid());
	snprintf(rig->config.roots[0], NEAP_PATH_MAX, "%s", rig->base);
	rig->config.root_count = 1;
	snprintf(rig->config.own_roots[0], NEAP_PATH_MAX, "%s", rig->own);
	snprintf(rig->config.own_roots[1], NEAP_PATH_MAX, "%.200s-besteffort", rig->own);
	rig->config.release_after_usec = 60000000;
	rig->config.log = (struct neap_log){getenv("NEAP_TEST_LOG") ? 2 : -1,
					    NEAP_LOG_DEBUG, NEAP_LOG_TEXT, "test"};
	rig->bystander = open("/dev/null", O_RDONLY);
	return rig;
}

static void children_end(void)
{
	char path[64];
	FILE *file;
	int pid, round;

	for (round = 0; round < 50; round++) {
		bool any = false;

		snprintf(path, sizeof(path), "/proc/self/task/%d/children",
			 (int)getpid());
		file = fopen(path, "re");
		while (file && fscanf(file, "%d", &pid) == 1) {
			(void)kill(pid, SIGKILL);
			any = true;
		}
		if (file)
			(void)fclose(file);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (!any)
			return;
		rig_sleep_ms(10);
	}
}

static int entry_remove(const char *path, const struct stat *st, int kind,
			struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (kind == FTW_DP)
		(void)rmdir(path);
	return 0;
}

/* With what a failed test left in them; what is busy goes in a later round. */
static void groups_remove(struct hand_rig *rig)
{
	static const char *const ends[] = {"", "-late"};
	char path[1024];

	for (int round = 0; round < 5; round++)
		for (int i = 0; i < NEAP_CTL_COUNT * 2; i++) {
			const struct neap_cgroup_mount *mount = &rig->cgroup.mount[i / 2];

			if (!mount->is_present)
				continue;
			snprintf(path, sizeof(path), "%s/%s%s", mount->path, rig->base,
				 ends[i % 2]);
			if (access(path, F_OK) < 0)
				continue;
			if (round)
				rig_sleep_ms(20);
			(void)nftw(path, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
		}
}

static int file_remove(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	return kind == FTW_DP ? rmdir(path) : unlink(path);
}

void rig_free(struct hand_rig *rig)
{
	neap_hand_free(rig->hand);
	children_end();
	groups_remove(rig);
	(void)nftw(rig->config.run_dir, file_remove, 8, FTW_DEPTH | FTW_PHYS);
	if (rig->bystander >= 0)
		(void)close(rig->bystander);
	neap_cgroup_done(&rig->cgroup);
	free(rig);
}

void rig_start(struct hand_rig *rig)
{
	struct neap_error err = {0};

	if (neap_hand_start(&rig->config, &rig->hand, &err) < 0)
		fail_msg("start: %s", err.msg);
}

struct rig_answer rig_next(struct hand_rig *rig)
{
	struct rig_answer ret = {0};
	struct neap_hand_answer answer;
	struct neap_error err = {0};
	int rc, i;

	for (i = 0; i < 100; i++) {
		struct pollfd p = {.fd = neap_hand_fd(rig->hand), .events = POLLIN};

		rc = neap_hand_flush(rig->hand, &err);
		if (rc < 0)
			fail_msg("flush: %s", err.msg);
		rc = neap_hand_next(rig->hand, &answer, &err);
		if (rc < 0)
			fail_msg("next: %s", err.msg);
		if (rc > 0) {
			ret.errnum = answer.errnum;
			ret.pid = answer.pid;
			ret.op = answer.op;
			ret.key = answer.key;
			ret.fd = answer.fd;
			(void)neap_strcopy(ret.group, sizeof(ret.group), answer.group);
			(void)neap_strcopy(ret.old_value, sizeof(ret.old_value),
					   answer.old_value);
			(void)neap_strcopy(ret.new_value, sizeof(ret.new_value),
					   answer.new_value);
			(void)neap_strcopy(ret.text, sizeof(ret.text), answer.text);
			return ret;
		}
		(void)poll(&p, 1, 50);
	}
	fail_msg("no answer");
	return ret;
}

struct rig_answer rig_ask(struct hand_rig *rig, enum neap_hand_op op, const char *group,
			  enum neap_key key, const char *value, int fd)
{
	struct neap_hand_request request = {42, op, group, key, value, fd};
	struct neap_error err = {0};

	if (neap_hand_add(rig->hand, &request, &err) < 0)
		fail_msg("add: %s", err.msg);
	return rig_next(rig);
}

void rig_make(struct hand_rig *rig, const char *group)
{
	struct neap_error err = {0};

	if (neap_cgroup_make(&rig->cgroup, group, NULL, &err) < 0)
		fail_msg("make %s: %s", group, err.msg);
}

void rig_remove(struct hand_rig *rig, const char *group)
{
	struct neap_error err = {0};

	if (neap_cgroup_remove(&rig->cgroup, group, &err) < 0)
		fail_msg("remove %s: %s", group, err.msg);
}

static int key_open(struct hand_rig *rig, const char *group, enum neap_key key, int flags)
{
	return neap_cgroup_open(&rig->cgroup, neap_key_get(key)->controller, group,
				neap_cgroup_file(&rig->cgroup, key, NULL, NULL), flags,
				NULL);
}

const char *rig_read(struct hand_rig *rig, const char *group, enum neap_key key)
{
	static char ring[4][256];
	static unsigned at;
	char *buf = ring[at++ % 4];
	int fd = key_open(rig, group, key, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, 255);

	if (fd >= 0)
		(void)close(fd);
	if (n < 0)
		return "unreadable";
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return buf;
}

int rig_write(struct hand_rig *rig, const char *group, enum neap_key key,
	      const char *text)
{
	int fd = key_open(rig, group, key, O_WRONLY);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		(void)close(fd);
	return n < 0 ? -1 : 0;
}

bool rig_exists(struct hand_rig *rig, const char *group)
{
	int fd = neap_cgroup_open(&rig->cgroup, NEAP_CTL_CPU, group, "cgroup.procs",
				  O_RDONLY, NULL);

	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

bool rig_has_pid(struct hand_rig *rig, const char *group, int pid)
{
	int fd = neap_cgroup_open(&rig->cgroup, NEAP_CTL_CPU, group, "cgroup.procs",
				  O_RDONLY, NULL);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	bool found = false;
	int one;

	while (file && fscanf(file, "%d", &one) == 1)
		found |= one == pid;
	if (file)
		(void)fclose(file);
	return found;
}

bool rig_has_file(struct hand_rig *rig, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", rig->config.run_dir, name);
	return access(path, F_OK) == 0;
}

int rig_wait(int pid)
{
	int status = 0;
	int i;

	for (i = 0; i < 500; i++) {
		int got = waitpid(pid, &status, WNOHANG);

		if (got == pid)
			return status;
		rig_sleep_ms(10);
	}
	return -1;
}

/* --- fixture --- */

static const char *why_none;

int hand_rig_setup(void **state)
{
	*state = rig_new(&why_none);
	return 0;
}

int hand_rig_teardown(void **state)
{
	if (*state)
		rig_free(*state);
	return 0;
}

struct hand_rig *hand_rig_of(void **state)
{
	if (!*state) {
		print_message("SKIP %s\n", why_none);
		skip();
	}
	return *state;
}
