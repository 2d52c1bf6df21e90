/* SPDX-License-Identifier: Apache-2.0
 *
 * What the node does with results: it is bounded, charged to the policy, and beyond a
 * bound the policy is taken out of service like after any other fault. Over a tree of
 * files with a hundred pods, in a dry run. */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/run/node.h"
#include "engine/base/mem.h"
#include "lua/call/result.h"
#include "t/lib/patience.h"

#define PODS       100
#define CONTAINERS 10 /* of each */
#define TICKS      4

struct rig {
	char root[64];
	struct neap_cgroup cgroup;
	int failed; /* policies taken out of service */
	char why[256];
};

static void plant(const struct rig *rig, const char *dir)
{
	char path[400];

	(void)snprintf(path, sizeof(path), "%s/%s", rig->root, dir);
	assert_int_equal(mkdir(path, 0755), 0);
}

static void plant_file(const struct rig *rig, const char *name, const char *text)
{
	char path[400];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", rig->root, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static int setup(void **state)
{
	struct rig *rig = neap_alloc(sizeof(*rig));
	static const char *const files[] = {"cpu.weight", "cpu.max", "cpu.idle",
					    "memory.max", "memory.high"};
	struct neap_error err;
	char dir[300], file[340];

	(void)snprintf(rig->root, sizeof(rig->root), "/tmp/neap-test-XXXXXX");
	assert_non_null(mkdtemp(rig->root));
	plant_file(rig, "cgroup.controllers", "cpu cpuset memory pids\n");
	plant(rig, "kubepods");
	plant(rig, "kubepods/besteffort");
	plant(rig, "kubepods/burstable");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(files); i++) {
		(void)snprintf(file, sizeof(file), "kubepods/%s", files[i]);
		plant_file(rig, file, "100\n");
	}
	for (int i = 0; i < PODS; i++) {
		int len = snprintf(dir, sizeof(dir),
				   "kubepods/besteffort/"
				   "pod00000000-0000-0000-0000-%012d",
				   i);

		plant(rig, dir);
		for (int k = 0; k < CONTAINERS; k++) {
			(void)snprintf(dir + len, sizeof(dir) - (size_t)len, "/%064x",
				       i * CONTAINERS + k);
			plant(rig, dir);
			(void)snprintf(file, sizeof(file), "%s/cgroup.procs", dir);
			plant_file(rig, file, "1\n");
			(void)snprintf(file, sizeof(file), "%s/cpu.weight", dir);
			plant_file(rig, file, "100\n");
		}
	}
	if (neap_cgroup_probe(rig->root, &rig->cgroup, &err) < 0)
		fail_msg("%s", err.msg);
	*state = rig;
	return 0;
}

static int drop(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
	(void)st;
	(void)kind;
	(void)walk;
	return remove(path);
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	neap_cgroup_done(&rig->cgroup);
	(void)nftw(rig->root, drop, 8, FTW_DEPTH | FTW_PHYS);
	free(rig);
	return 0;
}

static void failed(void *arg, const char *kind, const char *name, const char *why)
{
	struct rig *rig = arg;

	(void)kind;
	(void)name;
	rig->failed++;
	(void)snprintf(rig->why, sizeof(rig->why), "%s", why);
}

#define WRITE(target, key, value)                                                        \
	"{ target = '" target "', key = '" key "', value = " value ", why = 'w' }"

static const struct row {
	const char *name, *body;
	size_t planned;    /* at least, of those in service */
	const char *fault; /* NULL: none */
} rows[] = {
	{"one write for all containers",
	 "return { " WRITE("besteffort.containers", "cpu.shares", "100") " }",
	 PODS *CONTAINERS, NULL},
	{"the same again and again",
	 "local r, w = {}, " WRITE("besteffort.containers", "cpu.shares",
				   "100") " for i = 1, 2000 do r[i] = w end return r",
	 0, "writes 1 and 2 are both about besteffort.containers cpu.shares"},
	{"more than is taken",
	 "local r = {} for i = 1, 4096 do r[i] = " WRITE("besteffort", "cpu.shares",
							 "100") " end return r",
	 0, "4096 writes; at most 2048"},
	{"long texts",
	 "return { { target = 'besteffort', key = 'cpu.shares', value = 100, "
	 "why = ('w'):rep(60000) } }",
	 0, "why: one line"},
	{"every key of everything",
	 "local r = {} for _, k in ipairs({ 'cpu.max_milli', 'memory.max_bytes', "
	 "'memory.high_bytes', 'memory.low_bytes', 'memory.min_bytes' }) do "
	 "r[#r + 1] = { target = 'besteffort.containers', key = k, value = 1000000, "
	 "why = 'w' } end return r",
	 0, "its 5 writes come to 5000 kernel files; at most 4096"},
	{"an unknown target", "return { " WRITE("best-effort", "cpu.shares", "100") " }",
	 0, "there is no 'best-effort'"},
	{"a pod that went", "return { " WRITE("workload:gone", "cpu.shares", "100") " }",
	 0, NULL},
};

static struct neap_node_config config_of(struct rig *rig)
{
	struct neap_node_config config = {.tree_count = 2,
					  .sys_root = "",
					  .kubelet_dir = "",
					  .record_dir = "",
					  .freeze_file = "",
					  .window_usec = 60000000,
					  .window_samples = 60,
					  .dry_run = true,
					  .log = {.fd = -1, .program = "test"},
					  .policy_failed = failed,
					  .arg = rig};

	(void)snprintf(config.trees[0].root, sizeof(config.trees[0].root), "neap");
	(void)snprintf(config.trees[1].root, sizeof(config.trees[1].root), "kubepods");
	config.trees[0].driver = config.trees[1].driver = NEAP_DRIVER_CGROUPFS;
	config.trees[0].is_own = true;
	return config;
}

static void run_row(struct rig *rig, const struct row *row)
{
	struct neap_node_config config = config_of(rig);
	struct neap_registry *registry = neap_registry_new();
	const struct neap_registry_slot *slot;
	struct neap_policy *policy = NULL;
	struct neap_node *node = NULL;
	struct neap_error err = {0};
	char text[1200];

	(void)snprintf(text, sizeof(text),
		       "return { api = 1, kind = 'qos', name = 'p', tick = function() %s "
		       "end }",
		       row->body);
	if (neap_policy_load(text, strlen(text), "p.lua", &policy, &err) < 0 ||
	    neap_registry_put_take(registry, policy, 0, 60, &err) < 0 ||
	    neap_node_new(&config, &rig->cgroup, NULL, registry, &node, &err) < 0)
		fail_msg("%s: %s", row->name, err.msg);
	rig->failed = 0;
	for (int i = 0; i < TICKS; i++)
		neap_node_tick(node, 1000000 * (int64_t)(i + 1),
			       1700000000000000 + 1000000 * (int64_t)i);
	slot = neap_registry_get(registry, 0);
	if (rig->failed != (row->fault != NULL) ||
	    slot->stats.is_failed != (row->fault != NULL) ||
	    slot->stats.faults != (row->fault ? NEAP_POLICY_FAULTS_MAX : 0) ||
	    slot->planned < row->planned ||
	    (row->fault && !strstr(slot->stats.last_error, row->fault)))
		fail_msg("%s: %d out of service, %d faults, %zu planned, \"%s\"",
			 row->name, rig->failed, slot->stats.faults, slot->planned,
			 slot->stats.last_error);
	/* A thousand kernel files are the policy's cost. */
	if (row->planned)
		assert_true(slot->plan_usec > 0 &&
			    slot->stats.cpu_usec >= slot->plan_usec);
	if (row->fault)
		assert_int_equal(slot->planned, 0);
	neap_node_free(node);
	neap_registry_free(registry);
}

static void test_rows(void **state)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		run_row(*state, &rows[i]);
}

#define MANY 24
#define ALL_FILES                                                                        \
	"local r = {} for _, k in ipairs({ 'cpu.shares', 'cpu.max_milli', "              \
	"'memory.max_bytes', 'memory.high_bytes' }) do r[#r + 1] = { target = "          \
	"'besteffort.containers', key = k, value = 200000, why = 'w' } end return r"

static void put(struct neap_registry *registry, int order, const char *body)
{
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};
	char text[1200];

	(void)snprintf(text, sizeof(text),
		       "return { api = 1, kind = 'qos', name = 'p%d', tick = function() "
		       "%s end }",
		       order, body);
	if (neap_policy_load(text, strlen(text), "p.lua", &policy, &err) < 0 ||
	    neap_registry_put_take(registry, policy, order, 60, &err) < 0)
		fail_msg("%s", err.msg);
}

/* Each could have what it wants, all of them together cannot: the later ones are put off,
 * and none is at fault. A list of few files is held beside them. */
static void test_many(void **state)
{
	struct rig *rig = *state;
	struct neap_node_config config = config_of(rig);
	struct neap_registry *registry = neap_registry_new();
	struct neap_node *node = NULL;
	struct neap_error err = {0};
	size_t planned = 0;

	for (int i = 0; i < MANY; i++)
		put(registry, i, ALL_FILES);
	put(registry, MANY, "return { " WRITE("besteffort", "cpu.shares", "100") " }");
	assert_int_equal(
		neap_node_new(&config, &rig->cgroup, NULL, registry, &node, &err), 0);
	for (int i = 0; i < 3 * TICKS; i++)
		neap_node_tick(node, 1000000 * (int64_t)(i + 1),
			       1700000000000000 + 1000000 * (int64_t)i);
	for (int i = 0; i <= MANY; i++) {
		const struct neap_registry_slot *slot =
			neap_registry_get(registry, (size_t)i);

		planned += slot->planned;
		assert_int_equal(slot->stats.faults, 0);
		assert_int_equal(slot->wish_files, i == 0      ? 4 * PODS * CONTAINERS
						   : i == MANY ? 1
							       : 0);
		assert_true(i == 0 || i == MANY || slot->stats.put_off > 0);
	}
	assert_in_range(planned, PODS * CONTAINERS, NEAP_RESULT_ALL_WRITES_MAX);
	neap_node_free(node);
	neap_registry_free(registry);
}

/* One that fails now and then, and so stays in service, says so once a minute. */
static void test_log(void **state)
{
	struct rig *rig = *state;
	struct neap_node_config config = config_of(rig);
	struct neap_registry *registry = neap_registry_new();
	struct neap_policy *policy = NULL;
	struct neap_node *node = NULL;
	struct neap_error err = {0};
	static const char text[] =
		"local n = 0 return { api = 1, kind = 'qos', name = 'p', tick = "
		"function() n = n + 1 if n % 2 == 0 then error('boom') end return {} end }";
	static char log[64 * 1024];
	size_t lines = 0;
	ssize_t len;

	config.log.fd = memfd_create("log", MFD_CLOEXEC);
	assert_true(config.log.fd >= 0);
	if (neap_policy_load(text, strlen(text), "p.lua", &policy, &err) < 0 ||
	    neap_registry_put_take(registry, policy, 0, 0, &err) < 0 ||
	    neap_node_new(&config, &rig->cgroup, NULL, registry, &node, &err) < 0)
		fail_msg("%s", err.msg);
	for (int i = 0; i < 40; i++)
		neap_node_tick(node, 1000000 * (int64_t)(i + 1),
			       1700000000000000 + 1000000 * (int64_t)i);
	assert_in_range(neap_registry_get(registry, 0)->stats.faults, 15, 20);
	len = pread(config.log.fd, log, sizeof(log) - 1, 0);
	assert_true(len > 0);
	for (const char *at = strstr(log, "boom"); at; at = strstr(at + 4, "boom"))
		lines++;
	assert_in_range(lines, 1, 2);
	(void)close(config.log.fd);
	neap_node_free(node);
	neap_registry_free(registry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_log, setup, teardown),
	};

	patience_with_scripts();
	return cmocka_run_group_tests_name("results of policies", tests, NULL, NULL);
}
