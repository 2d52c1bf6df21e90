/* SPDX-License-Identifier: Apache-2.0
 *
 * What recordings of rounds have and lack, and their folder: limits, torn files, a full
 * disk, death in the middle. */
#include "t/lib/rounds_rig.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/deschedule/world_copy.h"
#include "engine/json/json.h"

#define SECOND ROUNDS_SECOND

/* --- what is left out --- */

static const char secretive[] =
	"{'nodes':[{'metadata':{'name':'n1','labels':{'zone':'z-1'},'annotations':{'note':"
	"'seen-note'},'managedFields':[{'manager':'unseen-manager'}]},'spec':{'taints':[{"
	"'key':'seen-taint','effect':'NoSchedule'}],'podCIDR':'unseen-cidr'},'status':{"
	"'allocatable':{'cpu':'4','pods':'10'},'conditions':[{'type':'Ready','status':"
	"'True','message':'unseen-message'}],'images':[{'names':['unseen-image']}]}}],"
	"'pods':[{'metadata':{'name':'a','namespace':'web','uid':'u-1','annotations':{"
	"'kubectl.kubernetes.io/last-applied-configuration':'unseen-applied','tier':"
	"'seen-tier'}},'spec':{'nodeName':'n1','imagePullSecrets':[{'name':'unseen-pull'"
	"}],'volumes':[{'name':'v','secret':{'secretName':'unseen-secret'}},{'name':'w',"
	"'hostPath':{'path':'unseen-path'}},{'name':'x','persistentVolumeClaim':{"
	"'claimName':'seen-claim'}}],'containers':[{'name':'c','image':'seen-image',"
	"'command':['unseen-command'],'args':['unseen-args'],'env':[{'name':'unseen-env',"
	"'value':'unseen-value'}],'envFrom':[{'secretRef':{'name':'unseen-ref'}}],"
	"'resources':{'requests':{'cpu':'1500m'}}}]},'status':{'phase':'Running',"
	"'message':'unseen-words','containerStatuses':[{'name':'c','restartCount':77,"
	"'state':{'terminated':{'reason':'seen-reason','message':'unseen-end'}}}]}}],"
	"'namespaces':[{'metadata':{'name':'web','labels':{'team':'seen-team'}}}],"
	"'budgets':[{'metadata':{'name':'b','namespace':'web'},'spec':{'selector':{},"
	"'maxUnavailable':'unseen-max'},'status':{'disruptionsAllowed':3}}],'claims':[{"
	"'metadata':{'name':'seen-claim','namespace':'web'},'spec':{'storageClassName':"
	"'seen-class','volumeName':'unseen-volume'}}],'nodeMetrics':[{'metadata':{'name':"
	"'n1'},'status':{'updateTime':'2026-01-01T00:00:00Z','nodeMetric':{'nodeUsage':{"
	"'resources':{'cpu':'2100m'}},'aggregatedNodeUsages':['unseen-sum']},"
	"'podsMetric':[{'name':'a','namespace':'web','podUsage':{'resources':{'cpu':"
	"'900m'}}}]}}]}";

static size_t cut_others; /* of the last copy */

static void copy_text(const json_t *cluster, size_t bytes, struct neap_buf *ret,
		      size_t *nodes_cut)
{
	struct round_frame frame;
	struct neap_world_copy *copy = NULL;
	json_t *from = json_pack("{s:s,s:O}", "began", ROUNDS_BEGAN, "cluster",
				 (json_t *)cluster);
	struct neap_error err = {0};

	rounds_need(round_frame_open(&frame, from, &err), &err, "cluster");
	rounds_need(neap_world_copy_new(frame.world, bytes, &copy, &err), &err, "copy");
	neap_buf_init(ret, NEAP_ROUND_BYTES);
	rounds_need(neap_world_copy_write(copy, ret, &err), &err, "write");
	*nodes_cut = copy->nodes_cut;
	cut_others = copy->others_cut;
	neap_world_copy_free(copy);
	round_frame_close(&frame);
	json_decref(from);
}

static void test_unseen(void **state)
{
	static const char *const seen[] = {
		"\"z-1\"",    "seen-note",   "seen-taint", "seen-tier",
		"seen-claim", "seen-image",  "\"1500m\"",  "\"u-1\"",
		":77",        "seen-reason", "seen-team",  "\"disruptionsAllowed\":3",
		"seen-class", "\"2100m\"",   "\"900m\"",   "\"hostPath\":{}"};
	neap_auto_buf struct neap_buf text = {0};
	neap_auto_buf struct neap_buf again = {0};
	json_t *cluster = rounds_quoted(secretive), *copy;
	size_t cut;

	(void)state;
	copy_text(cluster, NEAP_WORLD_COPY_BYTES, &text, &cut);
	assert_int_equal(cut, 0);
	if (strstr(text.data, "unseen"))
		fail_msg("%.60s", strstr(text.data, "unseen"));
	for (size_t i = 0; i < NEAP_ARRAY_LEN(seen); i++)
		if (!strstr(text.data, seen[i]))
			fail_msg("%s is not in %s", seen[i], text.data);
	/* What was read from a copy gives the same copy. */
	copy = json_loads(text.data, 0, NULL);
	copy_text(copy, NEAP_WORLD_COPY_BYTES, &again, &cut);
	assert_string_equal(text.data, again.data);
	json_decref(copy);
	json_decref(cluster);
}

/* A hundred nodes with ten pods each. */
static json_t *hundred(void)
{
	json_t *cluster = json_pack("{s:[],s:[]}", "nodes", "pods");

	for (int i = 0; i < 100; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "n-%02d", i);
		(void)json_array_append_new(
			json_object_get(cluster, "nodes"),
			json_pack("{s:{s:s},s:{s:{s:s,s:s}}}", "metadata", "name", name,
				  "status", "allocatable", "cpu", "8", "pods", "20"));
		for (int k = 0; k < 10; k++)
			(void)json_array_append_new(
				json_object_get(cluster, "pods"),
				json_pack("{s:{s:o,s:s},s:{s:s},s:{s:s}}", "metadata",
					  "name", json_sprintf("p-%d-%d", i, k),
					  "namespace", "web", "spec", "nodeName", name,
					  "status", "phase", "Running"));
	}
	return cluster;
}

static void test_cut(void **state)
{
	neap_auto_buf struct neap_buf text = {0};
	json_t *cluster = hundred(), *copy, *nodes;
	size_t cut, quarters[4] = {0};

	(void)state;
	copy_text(cluster, (size_t)40 * 1024, &text, &cut);
	copy = json_loads(text.data, 0, NULL);
	nodes = json_object_get(copy, "nodes");
	assert_int_equal(json_array_size(nodes) + cut, 100);
	assert_in_range(json_array_size(nodes), 10, 50);
	/* Whole nodes, from everywhere. */
	assert_int_equal(json_array_size(json_object_get(copy, "pods")),
			 10 * json_array_size(nodes));
	for (size_t i = 0; i < json_array_size(nodes); i++) {
		const char *name = neap_json_text(
			json_object_get(json_array_get(nodes, i), "metadata"), "name");

		quarters[strtol(name + 2, NULL, 10) / 25]++;
	}
	for (size_t i = 0; i < 4; i++)
		assert_in_range(quarters[i], json_array_size(nodes) / 5,
				json_array_size(nodes) / 3);
	json_decref(copy);
	json_decref(cluster);
}

/* More budgets than there is room for take none of the pods' room. */
static void test_cut_others(void **state)
{
	neap_auto_buf struct neap_buf text = {0};
	json_t *cluster = hundred(), *copy, *budgets = json_array();
	char *note = neap_alloc(4097);
	size_t cut;

	(void)state;
	memset(note, 'x', 4096);
	for (int i = 0; i < 300; i++)
		(void)json_array_append_new(
			budgets,
			json_pack("{s:{s:o,s:s,s:{s:s}},s:{s:{}}}", "metadata", "name",
				  json_sprintf("b-%d", i), "namespace", "web",
				  "annotations", "note", note, "spec", "selector"));
	(void)json_object_set_new(cluster, "budgets", budgets);
	copy_text(cluster, NEAP_WORLD_COPY_BYTES, &text, &cut);
	copy = json_loads(text.data, 0, NULL);
	assert_int_equal(cut, 0);
	assert_int_equal(json_array_size(json_object_get(copy, "nodes")), 100);
	assert_int_equal(json_array_size(json_object_get(copy, "pods")), 1000);
	assert_in_range(cut_others, 1, 299);
	assert_int_equal(json_array_size(json_object_get(copy, "budgets")) + cut_others,
			 300);
	json_decref(copy);
	json_decref(cluster);
	free(note);
}

/* --- the folder --- */

struct folder {
	char dir[64];
	struct neap_play_set *set;
	struct round_frame frame;
	json_t *from;
	struct neap_play play;
};

static void folder_open(struct folder *folder)
{
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};

	*folder = (struct folder){.dir = "/tmp/neap-rounds-XXXXXX"};
	assert_non_null(mkdtemp(folder->dir));
	rounds_need(neap_policy_load_file("policies/deschedule/remove-failed-pods.lua",
					  &policy, &err),
		    &err, "policy");
	folder->set = rounds_open_set(policy, NULL, NULL);
	neap_policy_free(policy);
	folder->from =
		json_pack("{s:s,s:o}", "began", ROUNDS_BEGAN, "cluster", hundred());
	rounds_need(round_frame_open(&folder->frame, folder->from, &err), &err, "frame");
	folder->play = (struct neap_play){.set = folder->set,
					  .world = folder->frame.world,
					  .cluster = folder->frame.cluster,
					  .now_usec = folder->frame.now_usec,
					  .is_recorded = true};
	neap_play_run(&folder->play);
	assert_non_null(folder->play.recording);
}

static void folder_close(struct folder *folder)
{
	char command[128];

	neap_play_done(&folder->play);
	round_frame_close(&folder->frame);
	neap_play_set_free(folder->set);
	json_decref(folder->from);
	(void)snprintf(command, sizeof(command), "rm -rf %s", folder->dir);
	assert_int_equal(system(command), 0);
}

static int write_one(struct folder *folder, struct neap_error *err)
{
	return neap_recordings_write(folder->dir, folder->play.recording, err);
}

static json_t *list_of(const struct folder *folder)
{
	struct neap_error err = {0};
	json_t *list = NULL;

	rounds_need(neap_recordings_list(folder->dir, &list, &err), &err, "list");
	return list;
}

static int64_t number_at(const json_t *list, size_t at)
{
	return json_integer_value(json_object_get(json_array_get(list, at), "number"));
}

static void test_limits(void **state)
{
	struct folder folder;
	struct neap_error err = {0};
	char path[128];
	json_t *list;
	int fd;

	(void)state;
	folder_open(&folder);
	for (int i = 0; i < NEAP_ROUNDS_MAX + 3; i++)
		rounds_need(write_one(&folder, &err), &err, "write");
	list = list_of(&folder);
	assert_int_equal(json_array_size(list), NEAP_ROUNDS_MAX);
	assert_int_equal(number_at(list, 0), 4);
	assert_int_equal(number_at(list, NEAP_ROUNDS_MAX - 1), NEAP_ROUNDS_MAX + 3);
	json_decref(list);
	/* One that is as large as all may be: the older ones go, then it itself. */
	(void)snprintf(path, sizeof(path), "%s/%012d.json", folder.dir,
		       NEAP_ROUNDS_MAX + 4);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(ftruncate(fd, NEAP_ROUNDS_BYTES), 0);
	(void)close(fd);
	rounds_need(write_one(&folder, &err), &err, "write");
	list = list_of(&folder);
	assert_int_equal(json_array_size(list), 1);
	assert_int_equal(number_at(list, 0), NEAP_ROUNDS_MAX + 5);
	json_decref(list);
	folder_close(&folder);
}

static json_t *replay_folder(const struct folder *folder)
{
	struct neap_inputs inputs = {.rounds = neap_round_tape_new(folder->dir)};
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};
	json_t *ret = NULL;

	rounds_need(neap_policy_load_file("policies/deschedule/remove-failed-pods.lua",
					  &policy, &err),
		    &err, "policy");
	rounds_need(neap_policy_replay(NULL, policy, &inputs, 60 * SECOND, &ret, &err),
		    &err, "replay");
	neap_inputs_done(&inputs);
	neap_policy_free(policy);
	return ret;
}

static int64_t int_of(const json_t *json, const char *name)
{
	return json_integer_value(json_object_get(json, name));
}

static void test_torn(void **state)
{
	struct folder folder;
	struct neap_error err = {0};
	char path[128];
	json_t *result;
	struct stat st;

	(void)state;
	folder_open(&folder);
	for (int i = 0; i < 3; i++)
		rounds_need(write_one(&folder, &err), &err, "write");
	(void)snprintf(path, sizeof(path), "%s/%012d.json", folder.dir, 3);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size / 2), 0);
	(void)snprintf(path, sizeof(path), "%s/%012d.json", folder.dir, 1);
	assert_int_equal(truncate(path, 0), 0);
	result = replay_folder(&folder);
	assert_int_equal(int_of(result, "unreadable"), 2);
	assert_int_equal(int_of(result, "frames"), 1);
	assert_int_equal(int_of(result, "ran"), 1);
	assert_int_equal(int_of(result, "same"), 1);
	assert_true(json_is_true(json_object_get(result, "is_complete")));
	json_decref(result);
	folder_close(&folder);
}

/* No file may grow beyond a kilobyte, as if the disk were full. */
static void test_full(void **state)
{
	const struct rlimit small = {1024, RLIM_INFINITY};
	struct rlimit before;
	struct folder folder;
	struct neap_error err = {0};
	json_t *list;

	(void)state;
	folder_open(&folder);
	rounds_need(write_one(&folder, &err), &err, "write");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_true(write_one(&folder, &err) < 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_true(err.msg[0] != '\0');
	list = list_of(&folder);
	assert_int_equal(json_array_size(list), 1);
	json_decref(list);
	list = replay_folder(&folder);
	assert_int_equal(int_of(list, "ran"), 1);
	assert_int_equal(int_of(list, "unreadable"), 0);
	json_decref(list);
	rounds_need(write_one(&folder, &err), &err, "write");
	list = list_of(&folder);
	assert_int_equal(json_array_size(list), 2);
	json_decref(list);
	folder_close(&folder);
}

/* Killed at any moment: what is there is whole. */
static void test_killed(void **state)
{
	struct folder folder;
	struct neap_error err = {0};
	json_t *result;

	(void)state;
	folder_open(&folder);
	for (int i = 0; i < 20; i++) {
		int pipes[2], status;
		char byte;
		pid_t pid;

		assert_int_equal(pipe(pipes), 0);
		pid = fork();
		if (pid == 0) {
			(void)!write(pipes[1], "", 1);
			for (;;)
				(void)write_one(&folder, &err);
		}
		assert_int_equal(read(pipes[0], &byte, 1), 1);
		(void)usleep((useconds_t)i * 700);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		(void)close(pipes[0]);
		(void)close(pipes[1]);
	}
	rounds_need(write_one(&folder, &err), &err, "write");
	result = replay_folder(&folder);
	assert_int_equal(int_of(result, "unreadable"), 0);
	assert_in_range(int_of(result, "ran"), 1, NEAP_ROUNDS_MAX);
	assert_int_equal(int_of(result, "ran"), int_of(result, "frames"));
	json_decref(result);
	folder_close(&folder);
}

/* A thousand pods, a costly call for each: the time is used up within the round, which is
 * not tried then. */
static void test_late(void **state)
{
	static const char text[] = "return { api = 1, kind = 'evict', name = 'costly',\n"
				   "  allow = function(ctx, pod)\n"
				   "    for i = 1, 10000 do end\n"
				   "    return true\n"
				   "  end }\n";
	struct folder folder;
	struct neap_inputs inputs;
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};
	json_t *result = NULL;

	(void)state;
	folder_open(&folder);
	rounds_need(write_one(&folder, &err), &err, "write");
	rounds_need(neap_policy_load(text, strlen(text), "costly.lua", &policy, &err),
		    &err, "policy");
	inputs = (struct neap_inputs){.rounds = neap_round_tape_new(folder.dir)};
	rounds_need(
		neap_policy_replay(policy, policy, &inputs, SECOND / 50, &result, &err),
		&err, "replay");
	assert_int_equal(int_of(result, "frames"), 1);
	assert_int_equal(int_of(result, "ran"), 0);
	assert_int_equal(int_of(result, "faults"), 0);
	assert_false(json_is_true(json_object_get(result, "is_complete")));
	json_decref(result);
	neap_inputs_done(&inputs);
	neap_policy_free(policy);
	folder_close(&folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unseen), cmocka_unit_test(test_cut),
		cmocka_unit_test(test_limits), cmocka_unit_test(test_torn),
		cmocka_unit_test(test_full),   cmocka_unit_test(test_killed),
		cmocka_unit_test(test_late),   cmocka_unit_test(test_cut_others),
	};

	return cmocka_run_group_tests(tests, rounds_setup, rounds_teardown);
}
