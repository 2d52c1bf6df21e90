/* SPDX-License-Identifier: Apache-2.0
 *
 * Reservations, pods and nodes that come, change, end and go at random, while the
 * controller is stopped and started, and others write into the statuses: whenever all is
 * at rest, each status is what a plain recount of the objects says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "t/lib/reservations_rig.h"

#define NAMES    5 /* of reservations, and of nodes 3 */
#define PODS_MAX 12
#define ROUNDS   40
#define STEPS    12
#define SEEDS    3

struct history {
	struct reservations_rig *rig;
	unsigned seed;
};

static unsigned draw(struct history *history, unsigned below)
{
	history->seed = history->seed * 1103515245U + 12345U;
	return (history->seed >> 16) % below;
}

/* --- the recount --- */

static const char *target_of(const json_t *pod, char uid[64])
{
	const char *note = json_string_value(
		json_object_get(kube_at(pod, "metadata.annotations"),
				"scheduling.koordinator.sh/reservation-allocated"));
	json_t *json = note ? json_loads(note, 0, NULL) : NULL;

	(void)snprintf(uid, 64, "%s", kube_text(json, "uid"));
	json_decref(json);
	return uid;
}

static bool uses(const json_t *pod, const json_t *reservation)
{
	const char *phase = kube_text(pod, "status.phase");
	char uid[64];

	return strcmp(target_of(pod, uid), kube_text(reservation, "metadata.uid")) == 0 &&
	       strcmp(kube_text(pod, "spec.nodeName"),
		      kube_text(reservation, "status.nodeName")) == 0 &&
	       strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0;
}

/* Of the first container; whole CPUs. */
static int cpus_of(const json_t *pod)
{
	const char *text = kube_text(pod, "spec.containers.0.resources.requests.cpu");
	int64_t cpus = 0;

	assert_int_equal(neap_int_parse(text, &cpus, NULL), 0);
	return (int)cpus;
}

static bool is_listed_once(const json_t *owners, const char *uid)
{
	const json_t *owner;
	size_t i, n = 0;

	json_array_foreach (owners, i, owner) {
		n += strcmp(kube_text(owner, "uid"), uid) == 0;
	}
	return n == 1;
}

static void check_owners(const json_t *reservation, const json_t *pods)
{
	const json_t *owners = kube_at(reservation, "status.currentOwners"), *pod;
	int cpus = 0, memory = 0;
	char want[64] = "{}";
	size_t i;

	json_array_foreach (pods, i, pod) {
		if (!uses(pod, reservation))
			continue;
		cpus += cpus_of(pod);
		memory++;
		if (!is_listed_once(owners, kube_text(pod, "metadata.uid")))
			fail_msg("%s: %s is not listed once",
				 kube_text(reservation, "metadata.name"),
				 kube_text(pod, "metadata.name"));
	}
	if (json_array_size(owners) != (size_t)memory)
		fail_msg("%s: %zu owners are listed, %d there are",
			 kube_text(reservation, "metadata.name"), json_array_size(owners),
			 memory);
	for (i = 1; i < json_array_size(owners); i++)
		assert_true(strcmp(kube_text(json_array_get(owners, i - 1), "uid"),
				   kube_text(json_array_get(owners, i), "uid")) < 0);
	if (memory)
		(void)snprintf(want, sizeof(want), "{\"cpu\":\"%d\",\"memory\":\"%dGi\"}",
			       cpus, memory);
	if (memory || kube_at(reservation, "status.allocated")) {
		char entry[128];

		(void)snprintf(entry, sizeof(entry), "status.allocated=%s", want);
		if (kube_differs(reservation, entry))
			fail_msg("%s: %s", kube_text(reservation, "metadata.name"),
				 kube_differs(reservation, entry));
	}
}

static bool has_node(const json_t *nodes, const char *name)
{
	const json_t *node;
	size_t i;

	json_array_foreach (nodes, i, node) {
		if (strcmp(kube_text(node, "metadata.name"), name) == 0)
			return true;
	}
	return false;
}

static void check(struct history *history)
{
	struct kube_rig *rig = history->rig->kube;
	json_t *all = workload_list(rig, "reservations.scheduling.koordinator.sh", "");
	json_t *pods = workload_list(rig, "pods", "default");
	json_t *nodes = workload_list(rig, "nodes", ""), *one;
	size_t i;

	json_array_foreach (all, i, one) {
		const char *phase = kube_text(one, "status.phase");
		const char *node = kube_text(one, "status.nodeName");

		if (strcmp(phase, "Available") != 0 && strcmp(phase, "Waiting") != 0)
			continue;
		if (!has_node(nodes, node))
			fail_msg("%s lives without its node",
				 kube_text(one, "metadata.name"));
		check_owners(one, pods);
		if (json_is_true(kube_at(one, "spec.allocateOnce")) &&
		    json_array_size(kube_at(one, "status.currentOwners")) > 0)
			fail_msg("%s has an owner, and lives",
				 kube_text(one, "metadata.name"));
	}
	json_decref(all);
	json_decref(pods);
	json_decref(nodes);
}

/* --- what happens --- */

/* Anything that may be refused as things are. */
static int ask(struct history *history, const char *body, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return kube_ask(history->rig->kube, text, body);
}

/* "": there is none of that name. */
static const char *draw_uid(struct history *history, char uid[64])
{
	if (ask(history, NULL, "GET " RESERVATIONS "/r%u", draw(history, NAMES)) != 200)
		return "";
	(void)snprintf(uid, 64, "%s",
		       kube_text(history->rig->kube->body, "metadata.uid"));
	return uid;
}

static void step_reservation(struct history *history)
{
	static const char *const phases[] = {"Available", "Available", "Waiting",
					     "Succeeded"};
	char name[16], node[16];

	(void)snprintf(name, sizeof(name), "r%u", draw(history, NAMES));
	(void)snprintf(node, sizeof(node), "n%u", draw(history, 3));
	if (draw(history, 4) == 0) {
		(void)ask(history, NULL, "DELETE " RESERVATIONS "/%s", name);
		return;
	}
	if (ask(history, NULL, "GET " RESERVATIONS "/%s", name) != 200)
		reservations_make(history->rig, name,
				  draw(history, 4) ? ",'allocateOnce':false" : "");
	reservations_place(history->rig, name, node, phases[draw(history, 4)]);
}

/* Somebody else writes what is not so. */
static void step_status(struct history *history)
{
	static const char *const bodies[] = {
		"{'status':{'currentOwners':[{'name':'x','namespace':'default','uid':'u'}]}}",
		"{'status':{'currentOwners':null,'allocated':{'cpu':'77'}}}",
		"{'status':{'allocated':{'memory':'1Gi','example.com/x':'3'}}}",
	};

	(void)ask(history, bodies[draw(history, 3)], "MERGE " RESERVATIONS "/r%u/status",
		  draw(history, NAMES));
}

static void step_pod(struct history *history)
{
	char name[16], node[16] = "", uid[64];

	(void)snprintf(name, sizeof(name), "p%u", draw(history, PODS_MAX));
	switch (draw(history, 6)) {
	case 0:
		(void)ask(history, NULL, "DELETE " PODS "/%s?gracePeriodSeconds=%u", name,
			  draw(history, 2) * 30);
		break;
	case 1:
		(void)ask(history,
			  draw(history, 2) ? "{'status':{'phase':'Running'}}"
					   : "{'status':{'phase':'Succeeded'}}",
			  "MERGE " PODS "/%s/status", name);
		break;
	case 2:
		(void)ask(history, "{'target':{'kind':'Node','name':'n1'}}",
			  "POST " PODS "/%s/binding", name);
		break;
	case 3:
		if (ask(history, NULL, "GET " PODS "/%s", name) == 200)
			reservations_move(history->rig, name, draw_uid(history, uid));
		break;
	default:
		if (ask(history, NULL, "GET " PODS "/%s", name) == 200)
			break;
		if (draw(history, 4))
			(void)snprintf(node, sizeof(node), "n%u", draw(history, 3));
		reservations_pod(history->rig, name, node, draw_uid(history, uid),
				 1 + (int)draw(history, 3));
	}
}

static void step_node(struct history *history)
{
	char body[64];
	unsigned n = draw(history, 3);

	(void)snprintf(body, sizeof(body), "{'metadata':{'name':'n%u'}}", n);
	if (draw(history, 3))
		(void)ask(history, body, "POST " NODES);
	else
		(void)ask(history, NULL, "DELETE " NODES "/n%u", n);
}

static void step(struct history *history)
{
	switch (draw(history, 16)) {
	case 0:
		reservations_stop(history->rig);
		break;
	case 1:
		if (!history->rig->reservations)
			reservations_start(history->rig);
		break;
	case 2:
		kube_now += 3600 * SECOND;
		break;
	case 3:
		step_node(history);
		break;
	case 4:
		step_status(history);
		break;
	case 5:
	case 6:
	case 7:
		step_reservation(history);
		break;
	default:
		step_pod(history);
	}
	if (draw(history, 2))
		kube_run(history->rig->kube, (int)draw(history, 8));
}

static void test_random(void **state)
{
	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		struct history history = {.rig = *state, .seed = seed};

		history.rig->may_be_gone = true;

		for (int round = 0; round < ROUNDS; round++) {
			for (int i = 0; i < STEPS; i++)
				step(&history);
			if (!history.rig->reservations)
				reservations_start(history.rig);
			reservations_rest(history.rig);
			check(&history);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_random, reservations_setup,
						reservations_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
