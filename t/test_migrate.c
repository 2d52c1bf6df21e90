/* SPDX-License-Identifier: Apache-2.0
 *
 * engine/migrate beside its vectors: arguments and their errors, and the
 * steps of a job that decisions of neap add. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/base.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "engine/migrate/arbitrate.h"
#include "engine/migrate/job.h"

#define SECOND INT64_C(1000000)

/* --- arguments --- */

static void test_args_errors(void **state)
{
	static const struct {
		const char *args, *field;
	} rows[] = {
		{"{\"defaultJobMode\":\"Now\"}", "defaultJobMode"},
		{"{\"maxMigratingPerNode\":-1}", "maxMigratingPerNode"},
		{"{\"maxMigratingPerWorkload\":\"10\"}", "maxMigratingPerWorkload"},
		{"{\"maxUnavailablePerWorkload\":\"x%\"}", "maxUnavailablePerWorkload"},
		{"{\"namespaces\":{\"include\":[\"a\"],\"exclude\":[\"b\"]}}",
		 "namespaces"},
		{"{\"namespaces\":{\"include\":[\"a\", 1]}}", "namespaces.include[1]"},
		{"{\"skipEvictionGates\":[\"PVC\", \"Pvc\"]}", "skipEvictionGates[1]"},
		{"{\"objectLimiters\":{\"workload\":{\"duration\":\"5x\"}}}",
		 "objectLimiters.workload.duration"},
		{"{\"objectLimiters\":{\"namespace\":{\"maxMigrating\":\"5%\"}}}",
		 "objectLimiters.namespace.maxMigrating"},
		{"{\"labelSelector\":{\"matchExpressions\":[{\"key\":\"a\","
		 "\"operator\":\"On\"}]}}",
		 "labelSelector.matchExpressions[0].operator"},
		{"{\"evictQPS\":\"fast\"}", "evictQPS"},
		{"{\"evictQPS\":0}", "evictQPS"},
		{"{\"evictBurst\":0}", "evictBurst"},
		{"{\"evictionPolicy\":\"Kill\"}", "evictionPolicy"},
		{"{\"maxConcurrentReconciles\":0}", "maxConcurrentReconciles"},
		{"{\"arbitrationArgs\":{\"interval\":\"0s\"}}",
		 "arbitrationArgs.interval"},
		{"{\"priorityThreshold\":{\"name\":\"a\",\"value\":1}}",
		 "priorityThreshold"},
		{"{\"defaultJobTtl\":\"5m\"}", "defaultJobTtl"},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_t *json = json_loads(rows[i].args, 0, NULL);
		struct neap_migrate_args args;
		struct neap_error err = {0};

		assert_non_null(json);
		assert_int_equal(neap_migrate_args_init(&args, json, &err), -NEAP_EINVAL);
		assert_string_equal(err.field, rows[i].field);
		json_decref(json);
	}
}

static void test_args_read(void **state)
{
	json_t *json = json_loads(
		"{\"apiVersion\":\"descheduler/v1alpha2\","
		"\"kind\":\"MigrationControllerArgs\",\"evictQPS\":\"2.5\","
		"\"defaultJobTTL\":\"10m\",\"defaultJobMode\":\"EvictDirectly\","
		"\"maxMigratingPerNode\":7,\"ignorePvcPods\":true,"
		"\"skipEvictionGates\":[\"MaxMigratingPerNode\",\"PVC\"],"
		"\"objectLimiters\":{\"namespace\":{\"duration\":\"1m\","
		"\"maxMigrating\":3}},\"arbitrationArgs\":{\"interval\":\"2s\"}}",
		0, NULL);
	struct neap_migrate_args args;

	(void)state;
	assert_int_equal(neap_migrate_args_init(&args, json, NULL), 0);
	json_decref(json);
	assert_true(args.qps == 2.5 && args.is_direct && args.arbitrates);
	assert_int_equal(args.ttl_usec, 600 * SECOND);
	/* A gate beats its argument. */
	assert_int_equal(args.per_node, 0);
	assert_false(args.ignore_pvc);
	/* The map of limiters is given, so its default is not. */
	assert_int_equal(args.workload_limit.duration_usec, 0);
	assert_int_equal(args.namespace_limit.max.value, 3);
	assert_int_equal(args.interval_usec, 2 * SECOND);
	neap_migrate_args_done(&args);

	assert_int_equal(neap_migrate_args_init(&args, NULL, NULL), 0);
	assert_int_equal(args.per_node, 2);
	assert_int_equal(args.workload_limit.duration_usec, 300 * SECOND);
	assert_int_equal(args.ttl_usec, 300 * SECOND);
	assert_string_equal(json_string_value(json_array_get(args.schedulers, 0)),
			    "koord-scheduler");
	neap_migrate_args_done(&args);
}

/* --- steps --- */

#define POD_UID "11111111-0000-0000-0000-000000000000"

static json_t *job_new(const char *more_spec, const char *notes, const char *status)
{
	char text[2000];

	(void)snprintf(text, sizeof(text),
		       "{\"metadata\":{\"name\":\"job\",\"uid\":\"u\","
		       "\"creationTimestamp\":\"2026-11-20T09:58:00Z\",\"annotations\":{"
		       "\"descheduler.koordinator.sh/passed-arbitration\":\"true\"%s}},"
		       "\"spec\":{\"podRef\":{\"namespace\":\"default\",\"name\":\"p\","
		       "\"uid\":\"" POD_UID "\"}%s},\"status\":{%s}}",
		       notes, more_spec, status);
	return json_loads(text, 0, NULL);
}

static json_t *pod_new(const char *uid)
{
	return json_pack("{s:{s:s, s:s, s:s}, s:{s:s}, s:{s:s}}", "metadata", "name", "p",
			 "namespace", "default", "uid", uid, "spec", "nodeName", "n1",
			 "status", "phase", "Running");
}

static void set_leaving(json_t *pod)
{
	(void)json_object_set_new(json_object_get(pod, "metadata"), "deletionTimestamp",
				  json_string("2026-11-20T09:59:00Z"));
}

static json_t *reservation_new(const char *name, const char *phase, const char *node)
{
	return json_pack("{s:{s:s}, s:{s:[{s:{s:s}}]}, s:{s:s, s:s, s:[{s:s, s:s}]}}",
			 "metadata", "name", name, "spec", "owners", "controller", "kind",
			 "ReplicaSet", "status", "phase", phase, "nodeName", node,
			 "conditions", "type", "Scheduled", "status", "True");
}

struct rig {
	struct neap_migrate_args args;
	struct neap_migrate_view view;
	struct neap_migrate_step step;
	json_t *job, *pod, *reservation;
};

static void step(struct rig *rig)
{
	neap_migrate_step_done(&rig->step);
	rig->view.job = rig->job;
	rig->view.pod = rig->pod;
	rig->view.reservation = rig->reservation;
	rig->view.args = &rig->args;
	if (rig->view.now_usec == 0)
		assert_int_equal(neap_time_parse("2026-11-20T10:00:00Z",
						 &rig->view.now_usec, NULL),
				 0);
	assert_int_equal(neap_migrate_step(&rig->view, &rig->step, NULL), 0);
}

static void end(struct rig *rig)
{
	neap_migrate_step_done(&rig->step);
	neap_migrate_args_done(&rig->args);
	json_decref(rig->job);
	json_decref(rig->pod);
	json_decref(rig->reservation);
}

static const char *status_text(const struct rig *rig, const char *name)
{
	return neap_json_text(rig->step.status, name);
}

#define WITH_REF ",\"reservationOptions\":{\"reservationRef\":{\"name\":\"r\"}}"
#define CREATED  "\"conditions\":[{\"type\":\"ReservationCreated\",\"status\":\"True\"}]"

static void test_unmarked_is_left_alone(void **state)
{
	struct rig rig = {.job = job_new("", "", ""), .pod = pod_new(POD_UID)};

	(void)state;
	assert_int_equal(neap_migrate_args_init(&rig.args, NULL, NULL), 0);
	(void)json_object_clear(neap_json_at(rig.job, "metadata.annotations"));
	step(&rig);
	assert_null(rig.step.status);
	assert_int_equal(rig.step.act, NEAP_ACT_NONE);
	rig.args.arbitrates = false;
	step(&rig);
	assert_string_equal(status_text(&rig, "phase"), "Running");
	assert_int_equal(rig.step.act, NEAP_ACT_CREATE);
	end(&rig);
}

static void test_other_uid_is_missing(void **state)
{
	struct rig rig = {.job = job_new("", "", ""), .pod = pod_new("other")};

	(void)state;
	assert_int_equal(neap_migrate_args_init(&rig.args, NULL, NULL), 0);
	step(&rig);
	assert_string_equal(status_text(&rig, "reason"), "MissingPod");
	end(&rig);
}

/* What a user made is used and marked, and stays when the job fails. */
static void test_borrowed_reservation(void **state)
{
	struct rig rig = {
		.job = job_new(WITH_REF, "", "\"phase\":\"Running\""),
		.pod = pod_new(POD_UID),
		.reservation = reservation_new("r", "Failed", ""),
	};

	(void)state;
	assert_int_equal(neap_migrate_args_init(&rig.args, NULL, NULL), 0);
	step(&rig);
	assert_string_equal(
		neap_json_text(neap_json_at(rig.step.patch, "metadata.annotations"),
			       NEAP_KEY_JOB_BORROWS),
		"r");
	assert_string_equal(status_text(&rig, "phase"), "Failed");
	assert_false(rig.step.drops);

	json_decref(rig.job);
	rig.job = job_new(WITH_REF, ",\"" NEAP_KEY_JOB_BORROWS "\":\"r\"",
			  "\"phase\":\"Running\"," CREATED);
	step(&rig);
	assert_string_equal(status_text(&rig, "phase"), "Failed");
	assert_false(rig.step.drops);

	json_decref(rig.job);
	rig.job = job_new(WITH_REF, "", "\"phase\":\"Running\"," CREATED);
	step(&rig);
	assert_true(rig.step.drops);
	end(&rig);
}

/* What another job made is that one's, whatever label it has. */
static void test_others_reservation(void **state)
{
	struct rig rig = {
		.job = job_new(WITH_REF, "", "\"phase\":\"Running\""),
		.pod = pod_new(POD_UID),
		.reservation = reservation_new("r", "Failed", ""),
	};
	json_t *meta = json_object_get(rig.reservation, "metadata");

	(void)state;
	assert_int_equal(neap_migrate_args_init(&rig.args, NULL, NULL), 0);
	(void)json_object_set_new(
		meta, "labels",
		json_pack("{s:s}", NEAP_KEY_CREATED_BY, NEAP_MIGRATE_CREATOR));
	step(&rig);
	assert_string_equal(
		neap_json_text(neap_json_at(rig.step.patch, "metadata.annotations"),
			       NEAP_KEY_JOB_BORROWS),
		"r");
	assert_false(rig.step.drops);

	(void)json_object_set_new(
		meta, "ownerReferences",
		json_pack("[{s:s, s:s}]", "kind", "PodMigrationJob", "uid", "another"));
	json_decref(rig.job);
	rig.job = job_new(WITH_REF, "", "\"phase\":\"Running\"," CREATED);
	step(&rig);
	assert_string_equal(status_text(&rig, "phase"), "Failed");
	assert_false(rig.step.drops);
	(void)json_object_set_new(
		json_array_get(json_object_get(meta, "ownerReferences"), 0), "uid",
		json_string("u"));
	step(&rig);
	assert_true(rig.step.drops);
	end(&rig);
}

/* Before the pod is evicted that is written, so that its end is known after a crash. */
static void test_intent_outlives_a_crash(void **state)
{
	struct rig rig = {
		.job = job_new(WITH_REF, "", "\"phase\":\"Running\"," CREATED),
		.pod = pod_new(POD_UID),
		.reservation = reservation_new("r", "Available", "n2"),
	};

	(void)state;
	assert_int_equal(neap_migrate_args_init(&rig.args, NULL, NULL), 0);
	step(&rig);
	assert_int_equal(rig.step.act, NEAP_ACT_EVICT);
	assert_string_equal(
		neap_json_text(neap_json_at(rig.step.patch, "metadata.annotations"),
			       NEAP_KEY_JOB_EVICTING),
		POD_UID);

	/* A fresh process: the mark is there, the pod is not. */
	json_decref(rig.job);
	json_decref(rig.pod);
	rig.pod = NULL;
	rig.job = job_new(WITH_REF, ",\"" NEAP_KEY_JOB_EVICTING "\":\"" POD_UID "\"",
			  "\"phase\":\"Running\"," CREATED);
	step(&rig);
	assert_string_equal(status_text(&rig, "reason"), "WaitForPodBindReservation");
	/* It knows that the pod was not evicted: the pod went by itself. */
	rig.view.is_refused = true;
	step(&rig);
	assert_string_equal(status_text(&rig, "reason"), "MissingPod");
	end(&rig);
}

/* The mark alone says nothing of a pod that lives: it was about to be evicted. */
static void test_intent_is_no_eviction(void **state)
{
	struct rig rig = {
		.job = job_new(WITH_REF, ",\"" NEAP_KEY_JOB_EVICTING "\":\"" POD_UID "\"",
			       "\"phase\":\"Running\"," CREATED),
		.pod = pod_new(POD_UID),
		.reservation = reservation_new("r", "Available", "n2"),
		.view.is_limited = true,
	};

	(void)state;
	assert_int_equal(neap_migrate_args_init(&rig.args, NULL, NULL), 0);
	step(&rig);
	assert_int_equal(rig.step.act, NEAP_ACT_NONE);
	assert_int_equal(rig.step.again_usec, 3 * SECOND);
	rig.view.is_limited = false;
	json_decref(rig.reservation);
	rig.reservation = reservation_new("r", "Succeeded", "n2");
	step(&rig);
	assert_int_equal(rig.step.act, NEAP_ACT_NONE);
	assert_string_equal(status_text(&rig, "phase"), "Failed");
	assert_string_equal(status_text(&rig, "reason"), "ForbiddenMigratePod");
	/* As soon as it is on its way, that is the job's doing. */
	set_leaving(rig.pod);
	step(&rig);
	assert_int_equal(rig.step.act, NEAP_ACT_EVICT);
	end(&rig);
}

/* The successor has taken the room while the pod is still on its way, and neapd was
 * killed: that is no stranger. */
static void test_successor_is_no_stranger(void **state)
{
	struct rig rig = {
		.job = job_new(WITH_REF, ",\"" NEAP_KEY_JOB_EVICTING "\":\"" POD_UID "\"",
			       "\"phase\":\"Running\",\"conditions\":["
			       "{\"type\":\"ReservationCreated\",\"status\":\"True\"},"
			       "{\"type\":\"ReservationScheduled\",\"status\":\"True\"},"
			       "{\"type\":\"Eviction\",\"status\":\"False\","
			       "\"reason\":\"Evicting\"}]"),
		.pod = pod_new(POD_UID),
		.reservation = reservation_new("r", "Succeeded", "n2"),
	};

	(void)state;
	assert_int_equal(neap_migrate_args_init(&rig.args, NULL, NULL), 0);
	set_leaving(rig.pod);
	step(&rig);
	assert_null(rig.step.status);
	assert_int_equal(rig.step.act, NEAP_ACT_NONE);
	assert_int_equal(rig.step.again_usec, 3 * SECOND);
	end(&rig);
}

/* Who is deleted by somebody else is not evicted, and missing when it is gone. */
static void test_others_deletion(void **state)
{
	struct rig rig = {
		.job = job_new(WITH_REF, ",\"" NEAP_KEY_JOB_EVICTING "\":\"" POD_UID "\"",
			       "\"phase\":\"Running\"," CREATED),
		.pod = pod_new(POD_UID),
		.reservation = reservation_new("r", "Succeeded", "n2"),
		.view.is_refused = true,
	};

	(void)state;
	assert_int_equal(neap_migrate_args_init(&rig.args, NULL, NULL), 0);
	set_leaving(rig.pod);
	step(&rig);
	assert_int_equal(rig.step.act, NEAP_ACT_NONE);
	assert_string_equal(status_text(&rig, "phase"), "Running");
	json_decref(rig.pod);
	rig.pod = NULL;
	step(&rig);
	assert_string_equal(status_text(&rig, "reason"), "MissingPod");
	end(&rig);
}

/* So does the end of a pod whose room is not found yet. */
static void test_gone_while_placing(void **state)
{
	struct rig rig = {
		.job = job_new(WITH_REF, "", "\"phase\":\"Running\"," CREATED),
		.reservation = reservation_new("r", "Pending", ""),
	};

	(void)state;
	assert_int_equal(neap_migrate_args_init(&rig.args, NULL, NULL), 0);
	step(&rig);
	assert_string_equal(status_text(&rig, "reason"), "MissingPod");
	end(&rig);
}

/* A room waits for the pod's successor, who cannot come to a cordoned node. */
static void test_room_is_kept(void **state)
{
	json_t *job = job_new(
		"", "", "\"conditions\":[{\"type\":\"Eviction\",\"status\":\"True\"}]");
	json_t *room = reservation_new("r", "Available", "n2");
	json_t *node = json_pack("{s:{s:b}}", "spec", "unschedulable", 1);
	struct neap_migrate_view view = {.job = job, .reservation = room};

	(void)state;
	assert_true(neap_migrate_keeps_room(&view));
	view.node = node;
	assert_false(neap_migrate_keeps_room(&view));
	json_decref(job);
	json_decref(room);
	json_decref(node);
}

static void test_hopeless_ends_before_ttl(void **state)
{
	struct rig rig = {
		.job = job_new(WITH_REF, "",
			       "\"phase\":\"Running\",\"conditions\":["
			       "{\"type\":\"ReservationCreated\",\"status\":\"True\"},"
			       "{\"type\":\"ReservationScheduled\",\"status\":\"False\","
			       "\"reason\":\"Unschedulable\",\"message\":\"no room\","
			       "\"lastTransitionTime\":\"2026-11-20T09:58:30Z\"}]"),
		.pod = pod_new(POD_UID),
		.reservation =
			json_pack("{s:{s:s}, s:{s:s, s:[{s:s, s:s, s:s, s:s}]}}",
				  "metadata", "name", "r", "status", "phase", "Pending",
				  "conditions", "type", "Scheduled", "status", "False",
				  "reason", "Unschedulable", "message", "no room"),
	};

	(void)state;
	assert_int_equal(neap_migrate_args_init(&rig.args, NULL, NULL), 0);
	step(&rig);
	assert_null(rig.step.status);
	assert_int_equal(rig.step.again_usec, 3 * SECOND);
	rig.view.now_usec += 30 * SECOND;
	step(&rig);
	assert_string_equal(status_text(&rig, "phase"), "Failed");
	assert_string_equal(status_text(&rig, "reason"), "Unschedulable");
	assert_string_equal(status_text(&rig, "message"), "no room");
	assert_true(rig.step.drops);
	end(&rig);
}

static void test_waiting_room_is_waited_for(void **state)
{
	struct rig rig = {
		.job = job_new(WITH_REF, "", "\"phase\":\"Running\"," CREATED),
		.pod = pod_new(POD_UID),
		.reservation = reservation_new("r", "Waiting", "n2"),
	};

	(void)state;
	assert_int_equal(neap_migrate_args_init(&rig.args, NULL, NULL), 0);
	step(&rig);
	assert_int_equal(rig.step.act, NEAP_ACT_NONE);
	end(&rig);
}

/* Nobody is evicted for a room on a node that takes no pods. */
static void test_bad_node_is_waited_for(void **state)
{
	struct rig rig = {
		.job = job_new(WITH_REF, "", "\"phase\":\"Running\"," CREATED),
		.pod = pod_new(POD_UID),
		.reservation = reservation_new("r", "Available", "n2"),
	};
	json_t *node = json_pack("{s:{s:s}, s:{s:b}, s:{s:[{s:s, s:s}]}}", "metadata",
				 "name", "n2", "spec", "unschedulable", 1, "status",
				 "conditions", "type", "Ready", "status", "True");

	(void)state;
	assert_int_equal(neap_migrate_args_init(&rig.args, NULL, NULL), 0);
	rig.view.node = node;
	step(&rig);
	assert_int_equal(rig.step.act, NEAP_ACT_NONE);
	assert_int_equal(rig.step.again_usec, 3 * SECOND);
	assert_string_equal(status_text(&rig, "status"), "ReservationNodeReady");
	assert_string_equal(status_text(&rig, "reason"), "NodeUnschedulable");
	assert_string_equal(status_text(&rig, "message"),
			    "Node \"n2\" of the Reservation \"r\" is cordoned");
	(void)json_object_set(rig.job, "status", rig.step.status);

	(void)json_object_clear(json_object_get(node, "spec"));
	(void)json_object_set_new(
		neap_json_condition(json_object_get(node, "status"), "Ready"), "status",
		json_string("Unknown"));
	step(&rig);
	assert_string_equal(status_text(&rig, "reason"), "NodeNotReady");

	(void)json_object_set_new(
		neap_json_condition(json_object_get(node, "status"), "Ready"), "status",
		json_string("True"));
	step(&rig);
	assert_int_equal(rig.step.act, NEAP_ACT_EVICT);
	assert_string_equal(neap_json_text(neap_json_condition(rig.step.status,
							       "ReservationNodeReady"),
					   "status"),
			    "True");
	end(&rig);
	json_decref(node);
}

/* A job whose time is over while the pod ends leaves the room to the successor. */
static void test_timeout_leaves_the_room(void **state)
{
	struct rig rig = {
		.job = job_new(WITH_REF ",\"ttl\":\"1m\"", "",
			       "\"phase\":\"Running\",\"conditions\":["
			       "{\"type\":\"ReservationCreated\",\"status\":\"True\"},"
			       "{\"type\":\"Eviction\",\"status\":\"False\","
			       "\"reason\":\"Evicting\"}]"),
		.pod = pod_new(POD_UID),
		.reservation = reservation_new("r", "Available", "n2"),
	};
	json_t *made;

	(void)state;
	assert_int_equal(neap_migrate_args_init(&rig.args, NULL, NULL), 0);
	step(&rig);
	assert_string_equal(status_text(&rig, "reason"), "Timeout");
	assert_true(rig.step.drops); /* it was only marked for another evictor */
	set_leaving(rig.pod);
	step(&rig);
	assert_false(rig.step.drops);
	(void)json_object_set_new(json_object_get(rig.reservation, "status"),
				  "currentOwners", json_pack("[{s:s}]", "name", "q"));
	step(&rig);
	assert_true(rig.step.drops);

	(void)json_object_set_new(json_object_get(rig.pod, "spec"),
				  "terminationGracePeriodSeconds", json_integer(30));
	made = neap_migrate_reservation_new(rig.job, rig.pod, rig.view.now_usec);
	assert_string_equal(neap_json_text(json_object_get(made, "spec"), "ttl"),
			    "1m30s");
	json_decref(made);
	end(&rig);
}

/* A limit holds before the pod is on its way, and not after. */
static void test_limit_ends_with_the_eviction(void **state)
{
	struct rig rig = {
		.job = job_new(WITH_REF, "", "\"phase\":\"Running\"," CREATED),
		.pod = pod_new(POD_UID),
		.reservation = reservation_new("r", "Available", "n2"),
		.view.is_limited = true,
	};

	(void)state;
	assert_int_equal(neap_migrate_args_init(&rig.args, NULL, NULL), 0);
	step(&rig);
	assert_int_equal(rig.step.act, NEAP_ACT_NONE);
	rig.view.is_asked = true;
	json_decref(rig.pod);
	rig.pod = pod_new("of the same name");
	step(&rig);
	assert_string_equal(status_text(&rig, "reason"), "WaitForPodBindReservation");
	end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_args_errors),
		cmocka_unit_test(test_args_read),
		cmocka_unit_test(test_unmarked_is_left_alone),
		cmocka_unit_test(test_other_uid_is_missing),
		cmocka_unit_test(test_gone_while_placing),
		cmocka_unit_test(test_room_is_kept),
		cmocka_unit_test(test_borrowed_reservation),
		cmocka_unit_test(test_others_reservation),
		cmocka_unit_test(test_intent_outlives_a_crash),
		cmocka_unit_test(test_intent_is_no_eviction),
		cmocka_unit_test(test_successor_is_no_stranger),
		cmocka_unit_test(test_others_deletion),
		cmocka_unit_test(test_hopeless_ends_before_ttl),
		cmocka_unit_test(test_waiting_room_is_waited_for),
		cmocka_unit_test(test_bad_node_is_waited_for),
		cmocka_unit_test(test_timeout_leaves_the_room),
		cmocka_unit_test(test_limit_ends_with_the_eviction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
