/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/keep_rig.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/clock.h"
#include "engine/base/mem.h"

#define START (INT64_C(1789997600) * KEEP_SECOND) /* 2026-09-21T13:33:20Z */

static int64_t test_now(void)
{
	return kube_now;
}

void keep_put(struct keep_rig *rig, const char *path, const char *text)
{
	char full[256], *at;
	FILE *file;

	(void)snprintf(full, sizeof(full), "%s/%s", rig->root, path);
	for (at = full + strlen(rig->root) + 1; (at = strchr(at, '/')) != NULL; at++) {
		*at = '\0';
		(void)mkdir(full, 0755); /* there already is fine */
		*at = '/';
	}
	file = fopen(full, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

void keep_start_node(struct keep_rig *rig)
{
	struct neap_node_config config = {.tree_count = NEAP_TREES_OWN,
					  .sys_root = "",
					  .kubelet_dir = rig->kubelet,
					  .record_dir = "",
					  .freeze_file = "",
					  .window_usec = 5 * KEEP_MINUTE,
					  .window_samples = 300,
					  .log = rig->log};
	struct neap_error err = {0};

	keep_put(rig, "cgroup.controllers", "cpu cpuset memory pids\n");
	rig->registry = neap_registry_new();
	assert_non_null(rig->registry);
	if (neap_cgroup_probe(rig->root, &rig->cgroup, &err) < 0)
		fail_msg("%s", err.msg);
	neap_trees_own(&rig->cgroup, "neap", "neap-besteffort", config.trees);
	if (neap_node_new(&config, &rig->cgroup, NULL, rig->registry, &rig->node, &err) <
	    0)
		fail_msg("%s", err.msg);
	rig->mono = neap_clock_usec(CLOCK_MONOTONIC);
}

void keep_tick(struct keep_rig *rig)
{
	neap_node_tick(rig->node, rig->mono, kube_now);
	rig->mono += KEEP_SECOND;
}

void keep_start(struct keep_rig *rig)
{
	struct neap_error err = {0};

	if (neap_node_keep_new(&rig->config, &rig->keep, &err) < 0)
		fail_msg("%s", err.msg);
}

void keep_stop(struct keep_rig *rig)
{
	neap_node_keep_free(rig->keep);
	rig->keep = NULL;
}

int keep_setup(void **ret)
{
	struct keep_rig *rig = neap_alloc(sizeof(*rig));
	void *kube = NULL;

	assert_non_null(rig);
	kube_now = START;
	assert_int_equal(kube_rig_setup(&kube), 0);
	rig->rig = kube;
	assert_int_equal(kube_ask(kube, "POST /api/v1/namespaces",
				  "{'metadata':{'name':'kube-node-lease'}}"),
			 201);
	(void)snprintf(rig->root, sizeof(rig->root), "/tmp/neap-test-XXXXXX");
	assert_non_null(mkdtemp(rig->root));
	(void)snprintf(rig->kubelet, sizeof(rig->kubelet), "%s/kubelet", rig->root);
	rig->log = (struct neap_log){.fd = -1, .program = "test"};
	rig->config = (struct neap_node_keep_config){
		.base = rig->rig->base,
		.client = rig->rig->client,
		.node_name = "n1",
		.data_dir = "/",
		.port = 9443,
		.runs_pods = true,
		.pods_max = 20,
		.kube_reserved_milli = 100,
		.kube_reserved_bytes = 64 << 20,
		.look_usec = KEEP_LOOK_MS * 1000,
		.now = test_now,
		.log = &rig->log,
	};
	*ret = rig;
	return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type,
			struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int keep_teardown(void **arg)
{
	struct keep_rig *rig = *arg;
	void *kube = rig->rig;

	keep_stop(rig);
	neap_node_free(rig->node);
	neap_registry_free(rig->registry);
	if (rig->node)
		neap_cgroup_done(&rig->cgroup);
	(void)nftw(rig->root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	free(rig);
	return kube_rig_teardown(&kube);
}

void keep_until(struct keep_rig *rig, const char *ask, const char *want0,
		const char *want1, const char *want2)
{
	const struct kube_step step = {ask, NULL, 200, {want0, want1, want2}};

	kube_until(rig->rig, &step);
}
