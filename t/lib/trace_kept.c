/* SPDX-License-Identifier: Apache-2.0
 *
 * Reservations in a trace, and pods that may use them. Owners go by the label team. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/client/client.h"
#include "api/schedule/schedule_priv.h"
#include "api/workload/workload.h"
#include "t/lib/cpus_rig.h"
#include "t/lib/trace_rig_priv.h"
#include "t/lib/workload_rig.h"

#define PREFIX "scheduling.koordinator.sh/"
#define TEAMS  4
#define CPUS   64 /* more than any node of a trace has */
/* Of a millisecond, until statuses must be true. */
#define REST_TURNS 60000
#define KEEP_USEC  (INT64_C(24) * 3600 * 1000000)

static void name_kept(int i, char name[32])
{
	(void)snprintf(name, 32, "r%d", i);
}

static bool is_one_of(struct trace *trace, uint32_t of)
{
	return trace_roll(trace, of) == 0;
}

static json_t *quantity(const char *fmt, uint32_t n)
{
	char text[32];

	(void)snprintf(text, sizeof(text), fmt, n);
	return json_string(text);
}

/* --- who keeps statuses --- */

void trace_start_controller(struct trace *trace)
{
	struct neap_workload_config config = workload_config(trace->rig);
	struct neap_error err = {0};

	if (neap_reservations_new(&config, KEEP_USEC, &trace->controller, &err) < 0)
		fail_msg("%s", err.msg);
}

void trace_kill_controller(struct trace *trace)
{
	neap_reservations_free(trace->controller);
	trace->controller = NULL;
}

/* --- Reservations --- */

/* CPUs of its own; returns how many, 0: none. */
static uint32_t add_cpus(struct trace *trace, json_t *labels, json_t *notes)
{
	static const char *const specs[] = {
		"{\"preferredCPUBindPolicy\":\"FullPCPUs\"}",
		"{\"preferredCPUBindPolicy\":\"SpreadByPCPUs\"}",
		"{\"requiredCPUBindPolicy\":\"FullPCPUs\"}"};
	uint32_t spec = trace_roll(trace, 5);

	if (!trace->has_cpus || !is_one_of(trace, 3))
		return 0;
	json_object_set_new(labels, "koordinator.sh/qosClass", json_string("LSR"));
	json_object_set_new(labels, "koordinator.sh/priority-class",
			    json_string("koord-prod"));
	if (spec < NEAP_ARRAY_LEN(specs))
		json_object_set_new(notes, PREFIX "resource-spec",
				    json_string(specs[spec]));
	if (is_one_of(trace, 10))
		json_object_set_new(
			notes, PREFIX "numa-topology-spec",
			json_string("{\"numaTopologyPolicy\":\"SingleNUMANode\"}"));
	return 1 + trace_roll(trace, 5);
}

/* requests, with CPUs of its own or a part of some. */
static json_t *new_container(struct trace *trace, uint32_t cpus, uint32_t most_milli)
{
	json_t *requests = json_object(), *container;

	json_object_set_new(requests, "cpu",
			    cpus ? quantity("%u", cpus)
				 : quantity("%um", 100 + trace_roll(trace, most_milli)));
	if (!is_one_of(trace, 5))
		json_object_set_new(requests, "memory",
				    quantity("%uMi", 64 + trace_roll(trace, 3000)));
	container = json_pack("{s:s, s:s, s:{s:O, s:o}}", "name", "c", "image", "i",
			      "resources", "requests", requests, "limits", requests);
	if (is_one_of(trace, 10)) {
		int port = 8000 + (int)trace_roll(trace, 4);

		json_object_set_new(container, "ports",
				    json_pack("[{s:i, s:i}]", "containerPort", port,
					      "hostPort", port));
	}
	return container;
}

static json_t *new_owners(struct trace *trace)
{
	char team[16];

	(void)snprintf(team, sizeof(team), "t%u", trace_roll(trace, TEAMS));
	if (is_one_of(trace, 8))
		return json_pack("[{s:{s:s}}]", "object", "namespace", "default");
	if (is_one_of(trace, 8))
		return json_pack("[{s:{s:s}}, {s:{s:{s:s}}}]", "object", "name", "p1",
				 "labelSelector", "matchLabels", "team", team);
	return json_pack("[{s:{s:{s:s}}}]", "labelSelector", "matchLabels", "team", team);
}

/* It takes running pods over, or waits until they are gone. */
static void add_taking(struct trace *trace, json_t *spec)
{
	bool is_many = is_one_of(trace, 2);
	json_t *policy = json_pack("{s:b}", "enableMultiple", is_many);

	if (is_one_of(trace, 2)) {
		json_object_set_new(policy, "mode", json_string("Waiting"));
	} else {
		json_object_set_new(spec, "allocatePolicy", json_string("Restricted"));
		json_object_set_new(spec, "allocateOnce", json_boolean(!is_many));
	}
	json_object_set_new(spec, "preAllocation", json_true());
	json_object_set_new(spec, "preAllocationPolicy", policy);
}

static void add_wishes(struct trace *trace, json_t *spec, json_t *labels, json_t *notes)
{
	static const char *const ttls[] = {"0s", "5m", "1h"};
	uint32_t policy = trace_roll(trace, 3);
	char order[16];

	json_object_set_new(spec, "allocateOnce", json_boolean(is_one_of(trace, 3)));
	if (policy)
		json_object_set_new(spec, "allocatePolicy",
				    json_string(policy == 1 ? "Aligned" : "Restricted"));
	if (is_one_of(trace, 5))
		add_taking(trace, spec);
	if (!is_one_of(trace, 3))
		json_object_set_new(spec, "ttl", json_string(ttls[trace_roll(trace, 3)]));
	if (is_one_of(trace, 8))
		json_object_set_new(spec, "taints",
				    json_pack("[{s:s, s:s, s:s}]", "key", "k", "value",
					      "v", "effect", "NoSchedule"));
	if (is_one_of(trace, 12))
		json_object_set_new(spec, "unschedulable", json_true());
	(void)snprintf(order, sizeof(order), "%u", trace_roll(trace, 9));
	if (is_one_of(trace, 5))
		json_object_set_new(labels, PREFIX "reservation-order",
				    json_string(order));
	if (is_one_of(trace, 5))
		json_object_set_new(notes, PREFIX "reservation-restricted-options",
				    json_string("{\"resources\":[\"cpu\"]}"));
	if (is_one_of(trace, 8))
		json_object_set_new(
			notes, PREFIX "reservation-resize-allocatable",
			json_string(is_one_of(trace, 2)
					    ? "{\"resources\":{\"cpu\":\"9\"}}"
					    : "{\"resources\":{\"cpu\":\"500m\"}}"));
	if (is_one_of(trace, 10))
		json_object_set_new(notes, "node.koordinator.sh/reservation",
				    json_string("{\"resources\":{\"cpu\":\"500m\"}}"));
}

static json_t *new_template(struct trace *trace, json_t *labels, json_t *notes)
{
	json_t *spec =
		json_pack("{s:s, s:[{s:s, s:s}]}", "schedulerName", "neap-scheduler",
			  "tolerations", "key", "k", "operator", "Exists");
	json_t *own = json_object();
	uint32_t cpus = add_cpus(trace, own, notes);
	char node[32];

	(void)labels;
	json_object_set_new(spec, "containers",
			    json_pack("[o]", new_container(trace, cpus, 4000)));
	trace_name_node((int)trace_roll(trace, (uint32_t)trace->node_count), node);
	if (is_one_of(trace, 3))
		json_object_set_new(spec, "nodeName", json_string(node));
	return json_pack("{s:{s:o}, s:o}", "metadata", "labels", own, "spec", spec);
}

void trace_add_reservation(struct trace *trace)
{
	json_t *labels = json_object(), *notes = json_object();
	json_t *spec = json_object();
	char name[32];

	name_kept(trace->kept_count++, name);
	json_object_set_new(spec, "template", new_template(trace, labels, notes));
	json_object_set_new(spec, "owners", new_owners(trace));
	add_wishes(trace, spec, labels, notes);
	json_object_set_new(labels, "tier",
			    json_string(is_one_of(trace, 2) ? "gold" : "tin"));
	trace_create_take(trace, TRACE_RESERVATIONS,
			  json_pack("{s:{s:s, s:o, s:o}, s:o}", "metadata", "name", name,
				    "labels", labels, "annotations", notes, "spec",
				    spec));
}

static struct neap_client_ask ask_about(struct trace *trace, int i, char name[32])
{
	name_kept(i, name);
	return trace_ask_of(trace, TRACE_RESERVATIONS, name);
}

void trace_delete_reservation(struct trace *trace, int i)
{
	char name[32];
	struct neap_client_ask ask = ask_about(trace, i, name);

	neap_client_delete(trace->rig->client, &ask, NULL, -1);
}

/* --- pods --- */

static void add_affinity(struct trace *trace, json_t *notes)
{
	char text[256];

	switch (trace_roll(trace, 5)) {
	case 0:
		(void)snprintf(text, sizeof(text), "{\"name\":\"r%u\"}",
			       trace_roll(trace, (uint32_t)trace->kept_count + 1));
		break;
	case 1:
		(void)snprintf(text, sizeof(text), "{}");
		break;
	case 2:
		(void)snprintf(text, sizeof(text),
			       "{\"tolerations\":[{\"operator\":\"Exists\"}]}");
		break;
	default:
		(void)snprintf(text, sizeof(text),
			       "{\"reservationSelector\":{\"tier\":\"gold\"}}");
	}
	json_object_set_new(notes, PREFIX "reservation-affinity", json_string(text));
}

/* What it has is for others, and now and then it says so wrongly. */
static void add_operating(struct trace *trace, json_t *labels, json_t *notes)
{
	json_t *owners = new_owners(trace);
	char *text = json_dumps(owners, JSON_COMPACT);

	json_object_set_new(labels, PREFIX "operating-mode", json_string("Reservation"));
	if (!is_one_of(trace, 12))
		json_object_set_new(notes, PREFIX "reservation-owners",
				    json_string(is_one_of(trace, 12) ? "[{" : text));
	free(text);
	json_decref(owners);
}

static void add_pod(struct trace *trace, bool is_room)
{
	static const char *const classes[] = {"low", "middle", "high"};
	json_t *labels = json_object(), *notes = json_object();
	json_t *spec = json_pack("{s:s}", "schedulerName", "neap-scheduler");
	uint32_t class = trace_roll(trace, 8);
	char name[32], team[16];
	uint32_t cpus = add_cpus(trace, labels, notes);

	trace_name_pod(trace->pod_count++, name);
	(void)snprintf(team, sizeof(team), "t%u", trace_roll(trace, TEAMS + 2));
	json_object_set_new(labels, "team", json_string(team));
	json_object_set_new(spec, "containers",
			    json_pack("[o]", new_container(trace, cpus, 2500)));
	if (is_one_of(trace, 6))
		add_affinity(trace, notes);
	else if (!is_room && is_one_of(trace, 15))
		json_object_set_new(labels, PREFIX "reservation-ignored",
				    json_string("true"));
	if (is_one_of(trace, 12))
		json_object_set_new(notes, PREFIX "exact-match-reservation",
				    json_string("{\"resourceNames\":[\"cpu\"]}"));
	if (is_room)
		add_operating(trace, labels, notes);
	if (class < NEAP_ARRAY_LEN(classes))
		json_object_set_new(spec, "priorityClassName",
				    json_string(classes[class]));
	if (is_one_of(trace, 3))
		json_object_set_new(
			spec, "tolerations",
			json_pack("[{s:s, s:s}]", "key", "k", "operator", "Exists"));
	trace_create_take(trace, "pods",
			  json_pack("{s:{s:s, s:o, s:o}, s:o}", "metadata", "name", name,
				    "labels", labels, "annotations", notes, "spec",
				    spec));
}

void trace_add_user(struct trace *trace)
{
	add_pod(trace, false);
}

void trace_add_room(struct trace *trace)
{
	trace->rooms[trace->room_count++ % TRACE_ROOMS] = trace->pod_count;
	add_pod(trace, true);
}

void trace_turn_room(struct trace *trace, int i)
{
	struct neap_client_ask ask;
	char name[32];

	if (!trace->room_count)
		return;
	i %= trace->room_count < TRACE_ROOMS ? trace->room_count : TRACE_ROOMS;
	trace_name_pod(trace->rooms[i], name);
	if (trace->rooms[i] < 0 || !*book_node_of(trace->book, "default", name))
		return;
	ask = trace_ask_of(trace, "pods", name);
	neap_client_patch_take(trace->rig->client, &ask, true,
			       json_pack("{s:{s:s, s:[{s:s, s:s}]}}", "status", "phase",
					 "Running", "conditions", "type", "Ready",
					 "status",
					 is_one_of(trace, 4) ? "False" : "True"));
}

void trace_finish_pod(struct trace *trace, int i)
{
	struct neap_client_ask ask;
	char name[32];

	/* Nobody runs again who has finished. */
	for (int n = 0; n < TRACE_ROOMS; n++)
		if (trace->rooms[n] == i)
			trace->rooms[n] = -1;
	trace_name_pod(i, name);
	ask = trace_ask_of(trace, "pods", name);
	neap_client_patch_take(trace->rig->client, &ask, true,
			       json_pack("{s:{s:s}}", "status", "phase",
					 is_one_of(trace, 2) ? "Succeeded" : "Failed"));
}

/* --- others --- */

void trace_resize(struct trace *trace, int i)
{
	char name[32];
	struct neap_client_ask ask = ask_about(trace, i, name);

	book_excuse_reservation(trace->book, name);
	neap_client_patch_take(trace->rig->client, &ask, true,
			       json_pack("{s:{s:{s:o}}}", "status", "allocatable", "cpu",
					 quantity("%u", 1 + trace_roll(trace, 8))));
}

void trace_scribble(struct trace *trace, int i)
{
	char name[32];
	struct neap_client_ask ask = ask_about(trace, i, name);
	json_t *status = json_object();

	if (is_one_of(trace, 2))
		json_object_set_new(status, "currentOwners",
				    is_one_of(trace, 2)
					    ? json_null()
					    : json_pack("[{s:s, s:s, s:s}]", "name", "x",
							"namespace", "default", "uid",
							"u"));
	else
		json_object_set_new(status, "allocated", json_pack("{s:s}", "cpu", "77"));
	neap_client_patch_take(trace->rig->client, &ask, true,
			       json_pack("{s:o}", "status", status));
}

void trace_close(struct trace *trace, int i)
{
	char name[32];
	struct neap_client_ask ask = ask_about(trace, i, name);

	neap_client_patch_take(trace->rig->client, &ask, false,
			       json_pack("{s:{s:b}}", "spec", "unschedulable",
					 (int)trace_roll(trace, 2)));
}

void trace_move_user(struct trace *trace, int pod)
{
	char name[32], kept[32], text[128];
	const struct neap_object *object;
	struct neap_client_ask ask;

	name_kept((int)trace_roll(trace, (uint32_t)trace->kept_count + 1), kept);
	object = neap_store_find(trace->rig->store.store, TRACE_RESERVATIONS, "", kept);
	(void)snprintf(text, sizeof(text), "{\"name\":\"%s\",\"uid\":\"%s\"}", kept,
		       object ? object->uid : "x");
	trace_name_pod(pod, name);
	/* It leaves one, and may be too much for the other. */
	book_excuse_reservation(trace->book, kept);
	book_excuse(trace->book, book_node_of(trace->book, "default", name));
	book_blind(trace->book, "default", name);
	ask = trace_ask_of(trace, "pods", name);
	neap_client_patch_take(trace->rig->client, &ask, false,
			       json_pack("{s:{s:{s:s}}}", "metadata", "annotations",
					 PREFIX "reservation-allocated", text));
}

/* --- rest --- */

static void compare_row(struct trace *trace, const struct neap_scheduler *scheduler,
			uint32_t row)
{
	static const char *const names[] = {"cpu", "memory"};
	const struct neap_columns *columns = neap_cluster_settle(scheduler->cluster);
	const struct neap_cluster_node *node = columns->nodes[row];

	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		uint32_t resource = i == 0 ? NEAP_RESOURCE_CPU : NEAP_RESOURCE_MEMORY;
		int64_t counted = columns->used[resource][row];
		int64_t is = book_total(trace->book, node->name, names[i]);

		if (counted != is)
			fail_msg("%s: the scheduler counts %lld %s, there are %lld",
				 node->name, (long long)counted, names[i], (long long)is);
	}
	for (int cpu = 0; cpu < CPUS; cpu++) {
		int counted = cpus_refs(scheduler->cluster, node->name, cpu), is;

		if (counted < 0)
			continue;
		is = book_holders(trace->book, node->name, cpu);
		if (counted != is)
			fail_msg("%s: the scheduler counts CPU %d %d times, it is %d",
				 node->name, cpu, counted, is);
	}
}

static void compare(struct trace *trace)
{
	for (int i = 0; i < TRACE_SCHEDULERS; i++) {
		const struct neap_scheduler *scheduler = trace->schedulers[i];
		const struct neap_columns *columns;

		if (!scheduler)
			continue;
		columns = neap_cluster_settle(scheduler->cluster);
		assert_int_equal(neap_reserve_book_count(scheduler->book),
				 book_reservations(trace->book) +
					 book_rooms(trace->book));
		for (uint32_t row = 0; row < columns->rows; row++)
			if (columns->nodes[row] && columns->nodes[row]->object)
				compare_row(trace, scheduler, row);
	}
}

void trace_settle_kept(struct trace *trace)
{
	const char *trouble;
	int turns = 0;

	trace_settle(trace);
	while (trace->controller && (trouble = book_check_owners(trace->book))) {
		if (++turns == REST_TURNS)
			fail_msg("%s", trouble);
		trace_run(trace, 1);
		(void)usleep(1000);
		if (turns % 50 == 0)
			trace_settle(trace);
	}
	trace_settle(trace);
	compare(trace);
	book_rest(trace->book);
}
