/* SPDX-License-Identifier: Apache-2.0
 *
 * See pods_rig.h. */
#include "t/lib/pods_rig.h"
#include "t/lib/patience.h"

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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"

/* Of 20 ms each, where nothing comes. */
#define HEARS (PATIENCE_MS / 20)

/* --- trees of files --- */

static void put(const char *root, const char *path, const char *text)
{
	char full[512];
	FILE *file;
	char *at;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (at = strchr(full + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		(void)mkdir(full, 0755); /* there already is fine */
		*at = '/';
	}
	file = fopen(full, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void plant(const char *root, enum pods_kind kind)
{
	if (kind == PODS_V2) {
		put(root, "cgroup.controllers", "cpuset cpu io memory pids\n");
		put(root, "cgroup.subtree_control", "");
		put(root, "cpuset.cpus.effective", "0\n");
		put(root, "cpuset.mems.effective", "0\n");
		return;
	}
	put(root, "cpu/cpu.shares", "1024\n");
	put(root, "cpuacct/cpuacct.usage", "1\n");
	put(root, "cpuset/cpuset.cpus", "0\n");
	put(root, "cpuset/cpuset.mems", "0\n");
	put(root, "memory/memory.limit_in_bytes", "9223372036854771712\n");
	if (kind == PODS_V1)
		put(root, "pids/cgroup.procs", "");
}

/* As rig_new makes it, over the files. */
static struct hand_rig *hand_of_files(const char *dir, enum pods_kind kind,
				      const char **ret_why)
{
	struct hand_rig *hand;
	struct neap_error err;
	char root[96];

	if (geteuid() != 0) {
		*ret_why = "needs root";
		return NULL;
	}
	snprintf(root, sizeof(root), "%s/cgroup", dir);
	assert_int_equal(mkdir(root, 0755), 0);
	plant(root, kind);
	hand = neap_alloc(sizeof(*hand));
	assert_non_null(hand);
	if (neap_cgroup_probe(root, &hand->cgroup, &err) < 0)
		fail_msg("%s", err.msg);
	snprintf(hand->base, sizeof(hand->base), "neap-test-%d", (int)getpid());
	snprintf(hand->own, sizeof(hand->own), "neap-test-%d/own", (int)getpid());
	hand->config.cgroup = &hand->cgroup;
	snprintf(hand->config.roots[0], NEAP_PATH_MAX, "%s", hand->base);
	hand->config.root_count = 1;
	snprintf(hand->config.own_roots[0], NEAP_PATH_MAX, "%s", hand->own);
	snprintf(hand->config.own_roots[1], NEAP_PATH_MAX, "%.200s-besteffort",
		 hand->own);
	hand->config.release_after_usec = 60000000;
	hand->config.log = (struct neap_log){-1, NEAP_LOG_DEBUG, NEAP_LOG_TEXT, "test"};
	hand->bystander = -1;
	return hand;
}

static int entry_remove(const char *path, const struct stat *st, int kind,
			struct FTW *walk)
{
	(void)st;
	(void)kind;
	(void)walk;
	return remove(path);
}

/* --- life --- */

static void node_start(struct pods_rig *rig)
{
	struct neap_error err;

	if (neap_node_new(&rig->config, &rig->hand->cgroup, rig->hand->hand,
			  rig->registry, &rig->node, &err) < 0)
		fail_msg("%s", err.msg);
}

void pods_rig_open(struct pods_rig *rig)
{
	int i;

	for (i = 0; i < HEARS && !neap_node_is_open(rig->node); i++)
		pods_hear(rig);
	assert_true(neap_node_is_open(rig->node));
	pods_tick(rig, 1);
}

struct pods_rig *pods_rig_new(enum pods_kind kind, const char **ret_why)
{
	struct pods_rig *rig = neap_alloc(sizeof(*rig));

	rig->kind = kind;
	snprintf(rig->dir, sizeof(rig->dir), "/tmp/neap-pods-XXXXXX");
	assert_non_null(mkdtemp(rig->dir));
	rig->hand = kind == PODS_MACHINE ? rig_new(ret_why)
					 : hand_of_files(rig->dir, kind, ret_why);
	if (rig->hand == NULL) {
		(void)nftw(rig->dir, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
		free(rig);
		return NULL;
	}
	snprintf(rig->records, sizeof(rig->records), "%s/records", rig->dir);
	assert_int_equal(mkdir(rig->records, 0755), 0);
	snprintf(rig->log, sizeof(rig->log), "%s/log", rig->dir);
	snprintf(rig->hand->config.run_dir, sizeof(rig->hand->config.run_dir), "%s/run",
		 rig->dir);
	snprintf(rig->freeze, sizeof(rig->freeze), "%s/freeze",
		 rig->hand->config.run_dir);
	neap_trees_own(&rig->hand->cgroup, rig->hand->own, rig->hand->config.own_roots[1],
		       rig->config.trees);
	rig->config.tree_count = NEAP_TREES_OWN;
	rig->config.sys_root = "";
	rig->config.record_dir = rig->records;
	rig->config.freeze_file = rig->freeze;
	rig->config.window_usec = 60000000;
	rig->config.window_samples = 64;
	rig->config.log = (struct neap_log){
		open(rig->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600),
		NEAP_LOG_INFO, NEAP_LOG_TEXT, "test"};
	rig->registry = neap_registry_new();
	assert_non_null(rig->registry);
	rig->mono_usec = 1000000000;
	rig_start(rig->hand);
	node_start(rig);
	pods_rig_open(rig);
	return rig;
}

void pods_rig_restart(struct pods_rig *rig)
{
	neap_node_free(rig->node);
	neap_hand_free(rig->hand->hand);
	rig->hand->hand = NULL;
	rig_start(rig->hand);
	node_start(rig);
}

void pods_rig_free(struct pods_rig *rig)
{
	char files[96];

	neap_node_free(rig->node);
	/* First, as groups of plain files are none that can just be removed. */
	snprintf(files, sizeof(files), "%s/cgroup", rig->dir);
	(void)nftw(files, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
	rig_free(rig->hand);
	neap_registry_free(rig->registry);
	close(rig->config.log.fd);
	(void)nftw(rig->dir, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
	free(rig);
}

/* --- time --- */

static void hear(struct pods_rig *rig, int wait_ms)
{
	struct pollfd p = {.fd = neap_hand_fd(rig->hand->hand), .events = POLLIN};
	struct neap_error err;
	int rc;

	if (neap_node_wants_write(rig->node))
		p.events |= POLLOUT;
	(void)poll(&p, 1, wait_ms);
	rc = neap_node_hear(rig->node, 1, &err);
	if (rc < 0 && rc != -NEAP_ENOMEM)
		fail_msg("the hand is gone: %s", err.msg);
}

void pods_hear(struct pods_rig *rig)
{
	hear(rig, 20);
}

void pods_tick(struct pods_rig *rig, int seconds)
{
	int i;

	rig->mono_usec += seconds * (int64_t)1000000;
	neap_node_tick(rig->node, rig->mono_usec, 1700000000000000);
	for (i = 0; i < 2; i++)
		hear(rig, 1);
}

void pods_await_end(struct pods_rig *rig, const char *group)
{
	int i;

	for (i = 0; i < HEARS && rig_exists(rig->hand, pods_path(rig, group)); i++) {
		pods_tick(rig, 2);
		pods_hear(rig);
	}
	assert_false(rig_exists(rig->hand, pods_path(rig, group)));
}

void pods_done(void *outcome, const struct neap_error *err)
{
	struct pods_outcome *ret = outcome;

	ret->calls++;
	if (err != NULL)
		ret->err = *err;
}

void pods_await(struct pods_rig *rig, const struct pods_outcome *outcome)
{
	int i;

	for (i = 0; i < HEARS && outcome->calls == 0; i++) {
		pods_hear(rig);
		if (i % 5 == 4)
			pods_tick(rig, 1);
	}
	if (outcome->calls != 1)
		fail_msg("told %d times", outcome->calls);
}

enum neap_code pods_add(struct pods_rig *rig, const struct neap_node_pod *pod,
			struct pods_outcome *ret)
{
	memset(ret, 0, sizeof(*ret));
	neap_node_pod_add(rig->node, pod, pods_done, ret);
	pods_await(rig, ret);
	return ret->err.code;
}

enum neap_code pods_remove(struct pods_rig *rig, const char *uid)
{
	struct pods_outcome outcome = {0};

	neap_node_pod_remove(rig->node, uid, pods_done, &outcome);
	pods_await(rig, &outcome);
	return outcome.err.code;
}

/* --- what is there --- */

const char *pods_path(const struct pods_rig *rig, const char *name)
{
	static char ring[8][NEAP_PATH_MAX];
	static unsigned at;
	char *buf = ring[at++ % 8];

	/* Best-effort work has a root of its own beside the one of services. */
	snprintf(buf, NEAP_PATH_MAX, "%.200s%s%.200s", rig->hand->own,
		 strncmp(name, "besteffort", 10) == 0 ? "-" : "/", name);
	return buf;
}

bool pods_has(struct pods_rig *rig, const char *group, enum neap_key key, int64_t want,
	      const char **ret_is)
{
	struct neap_value wished = {.number = want}, present;
	const char *text = rig_read(rig->hand, pods_path(rig, group), key);
	bool v2 = false;

	(void)neap_cgroup_file(&rig->hand->cgroup, key, NULL, &v2);
	if (ret_is != NULL)
		*ret_is = text;
	return neap_value_parse(key, v2, text, &present, NULL) == 0 &&
	       neap_value_is_in_force(key, v2, rig->config.curve, &wished, &present);
}

/* A child that connects to a socket of ours; the accepted end. */
static int child_connect(const struct pods_rig *rig, int *ret_pid)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd;

	snprintf(name.sun_path, sizeof(name.sun_path), "%s/sock", rig->dir);
	(void)unlink(name.sun_path);
	assert_int_equal(bind(listener, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(listen(listener, 1), 0);
	*ret_pid = fork();
	if (*ret_pid == 0) {
		/* Above all the hand's socket: while somebody has it, its daemon
		 * lives. */
		(void)close_range(0, ~0U, 0);
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		if (connect(fd, (struct sockaddr *)&name, sizeof(name)) == 0)
			for (;;)
				pause();
		_exit(1);
	}
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	close(listener);
	return fd;
}

int pods_process(struct pods_rig *rig, const char *uid, const char *container,
		 struct pods_outcome *ret)
{
	int pid, fd = child_connect(rig, &pid);

	memset(ret, 0, sizeof(*ret));
	neap_node_pod_move(rig->node, uid, container, fd, pods_done, ret);
	close(fd);
	pods_await(rig, ret);
	return pid;
}

void pods_process_end(struct pods_rig *rig, int pid, const char *group)
{
	int i;

	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	/* What a kernel does by itself. */
	for (i = 0; i < NEAP_CTL_COUNT && rig->kind != PODS_MACHINE && group; i++) {
		int fd;

		if (!rig->hand->cgroup.mount[i].is_present)
			continue;
		fd = neap_cgroup_open(&rig->hand->cgroup, (enum neap_controller)i,
				      pods_path(rig, group), "cgroup.procs",
				      O_WRONLY | O_TRUNC, NULL);
		if (fd >= 0)
			close(fd);
	}
}

json_t *pods_row(struct pods_rig *rig, const char *id, json_t **ret_all)
{
	json_t *row;
	size_t i;

	*ret_all = neap_node_workloads(rig->node);
	json_array_foreach (*ret_all, i, row) {
		if (strcmp(json_string_value(json_object_get(row, "id")), id) == 0)
			return row;
	}
	return NULL;
}

int pods_record_count(const struct pods_rig *rig)
{
	DIR *dir = opendir(rig->records);
	const struct dirent *entry;
	int count = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL)
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

void pods_await_records(struct pods_rig *rig, int count)
{
	int i;

	for (i = 0; i < HEARS && pods_record_count(rig) != count; i++)
		pods_hear(rig);
	assert_int_equal(pods_record_count(rig), count);
}

int pods_log_count(const struct pods_rig *rig, const char *text)
{
	FILE *file = fopen(rig->log, "re");
	char line[1024];
	int count = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		count += strstr(line, text) != NULL;
	fclose(file);
	return count;
}
