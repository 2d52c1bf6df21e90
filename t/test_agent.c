/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods that run: objects by HTTP, commands by a real keeper in real groups, and what
 * their status and events say. A second of grace and back-off is short here. */
#include <event2/event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/agent_rig.h"

/* Deletes, with a query. */
static void remove_pod(struct agent_rig *rig, const char *name, const char *query)
{
	char ask[128];
	int status;

	(void)snprintf(ask, sizeof(ask), "DELETE " PODS "/%s%s", name, query);
	status = kube_ask(rig->kube, ask, NULL);
	assert_int_equal(status, 200);
}

/* Waits until there is an event of that reason about the pod, with that in its
 * message. */
static void until_event(struct agent_rig *rig, const char *name, const char *reason,
			const char *part)
{
	time_t end = agent_now_s() + LIMIT_S;
	char ask[256];

	(void)snprintf(ask, sizeof(ask),
		       "GET /api/v1/namespaces/default/events?fieldSelector="
		       "involvedObject.name=%s,reason=%s",
		       name, reason);
	do {
		const json_t *one;
		size_t i;

		kube_run(rig->kube, 5);
		assert_int_equal(kube_ask(rig->kube, ask, NULL), 200);
		json_array_foreach (json_object_get(rig->kube->body, "items"), i, one)
			if (strstr(kube_text(one, "message"), part) != NULL)
				return;
	} while (agent_now_s() < end);
	fail_msg("%s: no event %s with '%s'", name, reason, part);
}

static void folder(const struct agent_rig *rig, const char *uid, const char *rest,
		   char *to, size_t size)
{
	(void)snprintf(to, size, "%s/%s%s", rig->config.dir, uid, rest);
}

static bool has_folder(const struct agent_rig *rig, const char *uid, const char *rest)
{
	char path[512];

	folder(rig, uid, rest, path, sizeof(path));
	return access(path, F_OK) == 0;
}

static void until_no_folder(struct agent_rig *rig, const char *uid)
{
	time_t end = agent_now_s() + LIMIT_S;

	while (has_folder(rig, uid, "") && agent_now_s() < end)
		kube_run(rig->kube, 5);
	if (has_folder(rig, uid, ""))
		fail_msg("%s: its folder stays", uid);
}

/* What it printed, of an attempt: with the times and streams of the log. */
static const char *printed(struct agent_rig *rig, const char *uid, const char *rest)
{
	char path[512];

	folder(rig, uid, rest, path, sizeof(path));
	return keeper_rig_await(path);
}

/* --- lives --- */

#define SH(script) "'command':['sh','-c','" script "']"
#define MAIN(more) "{'name':'main','image':'x'," more "}"
#define STATE      "status.containerStatuses.0.state."

static const struct {
	const char *name, *spec;
	const char *want[KUBE_WANTS];
	const char *reason, *message; /* of an event; NULL: none is waited for */
} lives[] = {
	{"runs",
	 "'containers':[" MAIN(SH("exec sleep 1000")) "]",
	 {"status.phase=Running", "status.containerStatuses.0.ready=true",
	  "status.containerStatuses.0.started=true", "status.podIP=127.0.0.1",
	  "status.containerStatuses.0.restartCount=0", STATE "running.startedAt~20"},
	 "Started",
	 "Started container main"},
	{"completes",
	 "'restartPolicy':'Never','containers':[" MAIN(SH("exit 0")) "]",
	 {"status.phase=Succeeded", STATE "terminated.reason=Completed",
	  STATE "terminated.exitCode=0", "status.containerStatuses.0.ready=false"},
	 "Created",
	 "Created container: main"},
	{"fails",
	 "'restartPolicy':'Never','containers':[" MAIN(SH("exit 3")) "]",
	 {"status.phase=Failed", STATE "terminated.reason=Error",
	  STATE "terminated.exitCode=3"}},
	{"is-killed",
	 "'restartPolicy':'Never','containers':[" MAIN(SH("kill -9 $$$$")) "]",
	 {"status.phase=Failed", STATE "terminated.signal=9",
	  STATE "terminated.exitCode=137"}},
	{"no-such",
	 "'restartPolicy':'Never','containers':[" MAIN("'command':['/no/such']") "]",
	 {"status.phase=Failed", STATE "terminated.reason=StartError",
	  STATE "terminated.message~o such file"},
	 "Failed",
	 "o such file"},
	{"loops",
	 "'containers':[" MAIN(SH("exit 1")) "]",
	 {"status.phase=Running", STATE "waiting.reason=CrashLoopBackOff",
	  "status.containerStatuses.0.lastState.terminated.exitCode=1"},
	 "BackOff",
	 "Back-off restarting failed container main in pod loops_default("},
	{"init",
	 "'restartPolicy':'Never','initContainers':[{'name':'a','image':'x'," SH(
		 "exit 0") "},{'name':'b','image':'x'," SH("exit 0") "}],"
								     "'containers':[" MAIN(
									     SH("exit 0")) "]",
	 {"status.phase=Succeeded",
	  "status.initContainerStatuses.1.state.terminated.exitCode=0",
	  "status.initContainerStatuses.0.ready=true"}},
	{"init-fails",
	 "'restartPolicy':'Never','initContainers':[{'name':'a','image':'x'," SH(
		 "exit 9") "}],'containers':[" MAIN(SH("exit 0")) "]",
	 {"status.phase=Failed",
	  "status.initContainerStatuses.0.state.terminated.exitCode=9",
	  STATE "waiting.reason=PodInitializing"}},
	{"env",
	 "'restartPolicy':'Never','containers':[" MAIN(
		 "'env':[{'name':'A','value':'1'},{'name':'B','value':'$(A)2$(C)$$(A)'},"
		 "{'name':'N','valueFrom':{'fieldRef':{'fieldPath':'metadata.name'}}},"
		 "{'name':'L','valueFrom':{'fieldRef':{'fieldPath':'metadata.labels[\\u0027"
		 "app\\u0027]'}}},"
		 "{'name':'R','valueFrom':{'resourceFieldRef':{'resource':'limits.memory',"
		 "'divisor':'1Mi'}}}],"
		 "'resources':{'limits':{'memory':'64Mi','cpu':'1'}},"
		 "'command':['sh','-c','test $B = \\u002712$$(C)$$(A)\\u0027 && test $N = env "
		 "&& test $L = x && test $R = 64 && test $0 = 1 && test $USER = "
		 "nobody'],'args':['$(A)']") "]",
	 {"status.phase=Succeeded"}},
	{"no-map",
	 "'containers':[" MAIN(
		 "'env':[{'name':'A','valueFrom':{'configMapKeyRef':{'name':'none',"
		 "'key':'k'}}}]," SH("exit 0")) "]",
	 {"status.phase=Pending", STATE "waiting.reason=CreateContainerConfigError",
	  STATE "waiting.message~configmap \"default/none\" not found"},
	 "Failed",
	 "Error: configmap \"default/none\" not found"},
	{"no-command",
	 "'containers':[{'name':'main','image':'nginx'}]",
	 {"status.phase=Pending", STATE "waiting.reason=CreateContainerConfigError",
	  STATE "waiting.message=no command; images are not pulled here"}},
	{"root",
	 "'securityContext':{'runAsUser':0},'containers':[" MAIN(SH("id")) "]",
	 {STATE "waiting.reason=CreateContainerConfigError",
	  STATE "waiting.message~asks for root"},
	 "Failed",
	 "asks for root: securityContext.runAsUser is 0"},
	{"privileged",
	 "'containers':[" MAIN("'securityContext':{'privileged':true}," SH("id")) "]",
	 {STATE "waiting.message=asks for root: privileged"}},
	{"volume",
	 "'volumes':[{'name':'v','emptyDir':{}}],'containers':[" MAIN(
		 "'volumeMounts':[{'name':'v','mountPath':'/v'}]," SH("id")) "]",
	 {STATE "waiting.message~volumes are not mounted here (v)"},
	 "Unsupported",
	 "volumes[0] (v)"},
	{"hook",
	 "'restartPolicy':'Never','containers':[" MAIN(
		 "'lifecycle':{'preStop':{'exec':{'command':['true']}}}," SH(
			 "exit 0")) "]",
	 {"status.phase=Succeeded"},
	 "Unsupported",
	 "lifecycle: not honoured"},
	/* It may be over before its process runs; of one that does: test_overdue. */
	{"overdue",
	 "'activeDeadlineSeconds':5,'containers':[" MAIN(SH("exec sleep 1000")) "]",
	 {"status.phase=Failed", "status.reason=DeadlineExceeded"}},
	{"ready-probe",
	 "'containers':[" MAIN(
		 "'readinessProbe':{'exec':{'command':['false']},'periodSeconds':1}," SH(
			 "exec sleep 1000")) "]",
	 {"status.phase=Running", "status.containerStatuses.0.ready=false",
	  "status.containerStatuses.0.started=true"},
	 "Unhealthy",
	 "Readiness probe failed"},
	{"live-probe",
	 "'terminationGracePeriodSeconds':1,'containers':[" MAIN(
		 "'livenessProbe':{'exec':{'command':['false']},'periodSeconds':1,"
		 "'failureThreshold':1}," SH("exec sleep 1000")) "]",
	 {"status.phase=Running",
	  "status.containerStatuses.0.lastState.terminated.exitCode=143"},
	 "Killing",
	 "Container main failed liveness probe, will be restarted"},
	{"start-probe",
	 "'containers':[" MAIN(
		 "'startupProbe':{'exec':{'command':['true']},'periodSeconds':1}," SH(
			 "exec sleep 1000")) "]",
	 {"status.containerStatuses.0.started=true",
	  "status.containerStatuses.0.ready=true"}},
};

static void test_lives(void **state)
{
	struct agent_rig *rig = agent_rig_of(state);

	for (size_t i = 0; i < NEAP_ARRAY_LEN(lives); i++) {
		char uid[64];

		print_message("# %s\n", lives[i].name);
		agent_create(rig, lives[i].name, lives[i].spec);
		agent_uid(rig, lives[i].name, uid);
		agent_until(rig, lives[i].name, 200, lives[i].want);
		if (lives[i].reason != NULL)
			until_event(rig, lives[i].name, lives[i].reason,
				    lives[i].message);
		remove_pod(rig, lives[i].name, "?gracePeriodSeconds=1");
		agent_until_gone(rig, lives[i].name);
		until_no_folder(rig, uid);
	}
}

/* --- ends --- */

static void test_overdue(void **state)
{
	static const char *const runs[KUBE_WANTS] = {STATE "running.startedAt"};
	static const char *const ended[KUBE_WANTS] = {"status.phase=Failed",
						      "status.reason=DeadlineExceeded",
						      STATE "terminated.exitCode=143"};
	struct agent_rig *rig = agent_rig_of(state);

	agent_create(rig, "late", "'containers':[" MAIN(SH("exec sleep 1000")) "]");
	agent_until(rig, "late", 200, runs);
	assert_int_equal(kube_ask(rig->kube, "MERGE " PODS "/late",
				  "{'spec':{'activeDeadlineSeconds':1}}"),
			 200);
	agent_until(rig, "late", 200, ended);
	remove_pod(rig, "late", "");
	agent_until_gone(rig, "late");
}

static void test_grace(void **state)
{
	static const char *const runs[KUBE_WANTS] = {"status.phase=Running"};
	struct agent_rig *rig = agent_rig_of(state);
	char uid[64];

	/* It hears of it, and takes its time, but not too much. */
	agent_create(rig, "slow",
		     "'terminationGracePeriodSeconds':20,'containers':[" MAIN(SH(
			     "trap : TERM; echo up; while :; do sleep 0.05; done")) "]");
	agent_until(rig, "slow", 200, runs);
	agent_uid(rig, "slow", uid);
	(void)printed(rig, uid, "/main/0/log");
	remove_pod(rig, "slow", "");
	assert_int_equal(kube_ask(rig->kube, "GET " PODS "/slow", NULL), 200);
	assert_string_equal(kube_text(rig->kube->body, "metadata.uid"), uid);
	agent_until_gone(rig, "slow");
	until_event(rig, "slow", "Killing", "Stopping container main");
	until_no_folder(rig, uid);
	/* By force: the object goes first. */
	agent_create(rig, "slow",
		     "'containers':[" MAIN(SH("trap : TERM; while :; do sleep "
					      "0.05; done")) "]");
	agent_until(rig, "slow", 200, runs);
	agent_uid(rig, "slow", uid);
	remove_pod(rig, "slow", "?gracePeriodSeconds=0");
	agent_until_gone(rig, "slow");
	until_no_folder(rig, uid);
}

static void test_too_many(void **state)
{
	static const char *const refused[KUBE_WANTS] = {
		"status.phase=Failed", "status.reason=OutOfpods",
		"status.message~requested: 1, used: 5, capacity: 5"};
	static const char *const runs[KUBE_WANTS] = {"status.phase=Running"};
	struct agent_rig *rig = agent_rig_of(state);
	char name[8];

	for (int i = 0; i < 5; i++) {
		(void)snprintf(name, sizeof(name), "p%d", i);
		agent_create(rig, name, "'containers':[" MAIN(SH("exec sleep 1000")) "]");
		agent_until(rig, name, 200, runs);
	}
	agent_create(rig, "more", "'containers':[" MAIN(SH("exec sleep 1000")) "]");
	agent_until(rig, "more", 200, refused);
	remove_pod(rig, "more", "");
	agent_until_gone(rig, "more");
	for (int i = 0; i < 5; i++) {
		(void)snprintf(name, sizeof(name), "p%d", i);
		remove_pod(rig, name, "?gracePeriodSeconds=0");
	}
}

/* --- another daemon --- */

static void test_taken_over(void **state)
{
	static const char *const runs[KUBE_WANTS] = {"status.phase=Running"};
	static const char *const same[KUBE_WANTS] = {
		"status.phase=Running", "status.containerStatuses.0.restartCount=0",
		"status.containerStatuses.0.ready=true"};
	static const char *const ended[KUBE_WANTS] = {"status.phase=Succeeded",
						      STATE "terminated.exitCode=0"};
	struct agent_rig *rig = agent_rig_of(state);
	char uid[64], done[64], orphan[64], log[256], go[96], spec[512];

	agent_create(rig, "stays",
		     "'containers':[" MAIN(SH("echo $$$$; exec sleep 1000")) "]");
	(void)snprintf(go, sizeof(go), "%s/go", rig->keeper->base);
	(void)snprintf(spec, sizeof(spec),
		       "'restartPolicy':'Never','containers':[" MAIN(
			       SH("while ! test -e %s; do sleep 0.02; done")) "]",
		       go);
	agent_create(rig, "ends", spec);
	agent_create(rig, "goes",
		     "'containers':[" MAIN(SH("echo up; exec sleep 1000")) "]");
	agent_until(rig, "stays", 200, runs);
	agent_until(rig, "ends", 200, runs);
	agent_until(rig, "goes", 200, runs);
	agent_uid(rig, "stays", uid);
	agent_uid(rig, "ends", done);
	agent_uid(rig, "goes", orphan);
	(void)neap_strcopy(log, sizeof(log), printed(rig, uid, "/main/0/log"));
	neap_agent_free(rig->agent);
	rig->agent = NULL;
	remove_pod(rig, "goes", "?gracePeriodSeconds=0");
	(void)fclose(fopen(go, "we"));
	agent_rig_start(rig);
	until_no_folder(rig, orphan);
	agent_until(rig, "ends", 200, ended);
	agent_until(rig, "stays", 200, same);
	assert_string_equal(printed(rig, uid, "/main/0/log"), log);
	assert_false(has_folder(rig, uid, "/main/1"));
	assert_true(has_folder(rig, done, "/main/0"));
	remove_pod(rig, "stays", "?gracePeriodSeconds=1");
	agent_until_gone(rig, "stays");
	remove_pod(rig, "ends", "");
	until_no_folder(rig, done);
}

static size_t count_lines(const char *path)
{
	const char *text = keeper_rig_await(path);
	size_t count = 0;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

/* Whenever a daemon goes, what it began is carried on by the next: each command runs
 * once. */
static void test_any_moment(void **state)
{
	static const char *const done[KUBE_WANTS] = {
		"status.phase=Succeeded", "status.containerStatuses.0.restartCount=0",
		"status.initContainerStatuses.0.restartCount=0"};
	struct agent_rig *rig = agent_rig_of(state);
	char name[16], spec[512], path[128];

	for (int i = 0; i < 4; i++) {
		(void)snprintf(name, sizeof(name), "once-%d", i);
		(void)snprintf(
			spec, sizeof(spec),
			"'restartPolicy':'Never','initContainers':[{'name':'i','image':'x',"
			"'command':['sh','-c','echo i >> %s/%s']}],"
			"'containers':[" MAIN(SH("echo m >> %s/%s; sleep 0.0%d")) "]",
			rig->keeper->base, name, rig->keeper->base, name, 2 * i);
		agent_create(rig, name, spec);
		for (int round = 0; round < 25; round++) {
			kube_run(rig->kube, (round + i) % 7);
			neap_agent_free(rig->agent);
			agent_rig_start(rig);
		}
	}
	for (int i = 0; i < 4; i++) {
		(void)snprintf(name, sizeof(name), "once-%d", i);
		agent_until(rig, name, 200, done);
		(void)snprintf(path, sizeof(path), "%s/%s", rig->keeper->base, name);
		assert_int_equal(count_lines(path), 2);
		remove_pod(rig, name, "");
	}
}

static void test_frozen(void **state)
{
	static const char *const waits[KUBE_WANTS] = {"status.phase=Pending"};
	static const char *const runs[KUBE_WANTS] = {"status.phase=Running"};
	struct agent_rig *rig = agent_rig_of(state);

	(void)fclose(fopen(rig->pods->freeze, "we"));
	rig->pods->mono_usec += 1000000;
	neap_node_tick(rig->pods->node, rig->pods->mono_usec, kube_now);
	agent_create(rig, "cold", "'containers':[" MAIN(SH("exec sleep 1000")) "]");
	until_event(rig, "cold", "NodeNotReady", "frozen");
	agent_until(rig, "cold", 200, waits);
	(void)unlink(rig->pods->freeze);
	agent_until(rig, "cold", 200, runs);
	remove_pod(rig, "cold", "?gracePeriodSeconds=0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lives, agent_rig_setup,
						agent_rig_teardown),
		cmocka_unit_test_setup_teardown(test_overdue, agent_rig_setup,
						agent_rig_teardown),
		cmocka_unit_test_setup_teardown(test_grace, agent_rig_setup,
						agent_rig_teardown),
		cmocka_unit_test_setup_teardown(test_too_many, agent_rig_setup,
						agent_rig_teardown),
		cmocka_unit_test_setup_teardown(test_taken_over, agent_rig_setup,
						agent_rig_teardown),
		cmocka_unit_test_setup_teardown(test_any_moment, agent_rig_setup,
						agent_rig_teardown),
		cmocka_unit_test_setup_teardown(test_frozen, agent_rig_setup,
						agent_rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
