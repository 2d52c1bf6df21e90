/* SPDX-License-Identifier: Apache-2.0
 *
 * The node lifecycle controller. Forty checks per grace period compare the stored state
 * with the right one. So missed events and refused writes are repaired, and the cost does
 * not depend on activity. Our own clock measures a Lease's silence, from when we saw it
 * change: machines' clocks differ. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/client/client.h"
#include "api/client/events.h"
#include "api/task/task.h"
#include "api/workload/node/node_watch_priv.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "engine/log/log.h"

#define NODES    "nodes"
#define LEASES   "leases.coordination.k8s.io"
#define LEASE_NS "kube-node-lease"
/* Checks per grace period, and checks between two passes over all pods when idle. */
#define LOOKS           40
#define LOOKS_OF_PASS   5
#define PERIOD_MIN_USEC 10000

/* --- trees --- */

json_t *node_conditions_with(const json_t *status, const char *type, const char *value,
			     const char *reason, const char *message, int64_t now)
{
	const json_t *list = json_object_get(status, "conditions");
	uint64_t lost = neap_json_failures();
	json_t *made = json_array(), *own = NULL;
	json_t *condition;
	char time[32];
	size_t i;

	(void)neap_time_format(now, 0, time, sizeof(time));
	json_array_foreach (list, i, condition) {
		if (strcmp(neap_json_text(condition, "type"), type) == 0) {
			own = neap_json_copy(condition);
			(void)json_array_append_new(made, own);
		} else {
			(void)json_array_append(made, condition);
		}
	}
	if (!own) {
		own = json_pack("{s:s}", "type", type);
		(void)json_array_append_new(made, own);
	}
	if (strcmp(neap_json_text(own, "status"), value) != 0)
		neap_json_set_text(own, "lastTransitionTime", time);
	neap_json_set_text(own, "status", value);
	neap_json_set_text(own, "reason", reason);
	neap_json_set_text(own, "message", message);
	return neap_json_made(neap_json_failures() == lost, made);
}

/* --- health --- */

static struct neap_object *lease_of(const struct neap_node_watch *watch, const char *name)
{
	return neap_client_find(watch->config.client, LEASES, LEASE_NS, name);
}

static void look_at_lease(struct neap_node_watch *watch, struct node_record *record,
			  const char *name, int64_t now)
{
	const struct neap_object *lease = lease_of(watch, name);
	bool was_lost = record->is_lost;

	if (!lease) {
		/* Created by hand, or by a kubelet without Lease: its presence cannot be
		 * known. */
		record->lease_version = 0;
		record->is_lost = false;
		return;
	}
	if (lease->version != record->lease_version) {
		record->lease_version = lease->version;
		record->renewed = now;
	}
	record->is_lost = now - record->renewed > watch->grace;
	if (!record->is_lost || was_lost)
		return;
	neap_steps_spend(&watch->steps, NEAP_STEPS_WRITE_ANY);
	neap_log_line(watch->config.log, NEAP_LOG_WARN,
		      "node %s is lost: its lease was not renewed for %lld s", name,
		      (long long)((now - record->renewed) / NODE_USEC));
}

/* The kubelet's conditions, set to Unknown; NULL when they are already. */
static json_t *lost_conditions(const json_t *status, int64_t now)
{
	static const char *const types[] = {"MemoryPressure", "DiskPressure",
					    "PIDPressure", "Ready"};
	json_t *made =
		json_pack("{s:O}", "conditions", json_object_get(status, "conditions"));
	bool is_new = false;

	if (!made)
		made = json_object();
	for (size_t i = 0; i < NEAP_ARRAY_LEN(types); i++) {
		const json_t *old = neap_json_condition(made, types[i]);
		bool is_old = old || strcmp(types[i], "Ready") != 0;

		/* A node that never had conditions gets only Ready. */
		if ((!old && is_old) || neap_json_is_text(old, "status", "Unknown"))
			continue;
		is_new = true;
		(void)json_object_set_new(
			made, "conditions",
			node_conditions_with(made, types[i], "Unknown",
					     old ? "NodeStatusUnknown"
						 : "NodeStatusNeverUpdated",
					     old ? "Kubelet stopped posting node status."
						 : "Kubelet never posted node status.",
					     now));
	}
	return neap_json_made(is_new, made);
}

/* True when there was something to write. */
static bool tell_lost(struct neap_node_watch *watch, const struct neap_object *object,
		      const json_t *node, int64_t now)
{
	const char *name = object->name;
	const struct neap_client_ask ask = {.resource = NODES, .ns = "", .name = name};
	const struct neap_client_note about = {.api_version = "v1",
					       .kind = "Node",
					       .ns = "",
					       .name = name,
					       .uid = object->uid,
					       .reason = "NodeNotReady",
					       .component = "node-controller"};
	json_t *status = lost_conditions(json_object_get(node, "status"), now);

	if (!status)
		return false;
	neap_steps_spend(&watch->steps,
			 neap_steps_of_write(object) + NEAP_STEPS_WRITE_ANY);
	neap_client_patch_take(watch->config.client, &ask, true,
			       json_pack("{s:o}", "status", status));
	neap_client_note(watch->config.client, &about,
			 "Node %s status is now: NodeNotReady", name);
	return true;
}

/* --- one node --- */

/* A kubelet that writes its status is alive too. Our writes keep its heartbeat time. */
static void read_ready(struct node_record *record, const json_t *node, int64_t now)
{
	const json_t *ready =
		neap_json_condition(json_object_get(node, "status"), "Ready");
	const char *beat = neap_json_text(ready, "lastHeartbeatTime");

	record->is_ready = neap_json_is_text(ready, "status", "True");
	if (strncmp(beat, record->beat, sizeof(record->beat) - 1) == 0)
		return;
	(void)neap_strcopy(record->beat, sizeof(record->beat), beat);
	record->renewed = now;
	record->is_lost = false;
}

static void look_at_object(struct neap_node_watch *watch, struct node_record *record,
			   struct neap_object *object, int64_t now)
{
	const struct neap_client_ask ask = {
		.resource = NODES, .ns = "", .name = object->name};
	json_t *node = neap_object_tree(object), *changed;
	const struct neap_object *newest;

	neap_steps_spend(&watch->steps, neap_steps_of_text(object));
	if (!node)
		return;
	if (record->version != object->version) {
		if (!node_taints_read(record, node, now)) {
			json_decref(node);
			return;
		}
		read_ready(record, node, now);
		watch->is_changed = true;
	}
	record->version = 0;
	/* Our last write is not visible yet, or another write came first: the next look
	 * sees it. */
	newest = neap_client_newest(watch->config.client, NODES, "", object->name);
	if (newest && newest->version == object->version) {
		bool is_told = record->is_lost && tell_lost(watch, object, node, now);

		changed = node_taints_changed(node, now);
		if (changed) {
			neap_steps_spend(&watch->steps, neap_steps_of_write(object));
			neap_client_patch_take(
				watch->config.client, &ask, false,
				json_pack("{s:{s:o}}", "spec", "taints", changed));
		}
		/* After a refusal look again. */
		if (!is_told && !changed)
			record->version = object->version;
	}
	json_decref(node);
}

static void record_free(struct node_record *record)
{
	json_decref(record->execute);
	free(record);
}

/* NULL without memory. */
static struct node_record *record_of(struct neap_node_watch *watch,
				     const struct neap_object *node, int64_t now)
{
	struct node_record *record = neap_map_find(watch->nodes, node->name);

	if (!record) {
		record = neap_alloc(sizeof(*record));
		if (!record)
			return NULL;
		if (!neap_map_set(watch->nodes, node->name, record)) {
			free(record);
			return NULL;
		}
	}
	/* A new node of the same name starts from the beginning. */
	if (strcmp(record->uid, node->uid) != 0) {
		json_decref(record->execute);
		*record = (struct node_record){.renewed = now};
		(void)neap_strcopy(record->uid, sizeof(record->uid), node->uid);
	}
	record->seen = watch->looks;
	return record;
}

static bool is_concerned(struct neap_node_watch *watch, const struct neap_object *object,
			 int64_t now, int *ret_why)
{
	struct node_record *record = record_of(watch, object, now);
	bool was_lost;

	(void)ret_why;
	if (!record)
		return false;
	was_lost = record->is_lost;
	look_at_lease(watch, record, object->name, now);
	if (record->is_lost != was_lost)
		record->version = 0;
	return record->version != object->version;
}

static void look_at_node(struct neap_node_watch *watch, struct neap_object *object,
			 int why, int64_t now)
{
	struct node_record *record = neap_map_find(watch->nodes, object->name);

	(void)why;
	if (record)
		look_at_object(watch, record, object, now);
}

static void forget_gone(struct neap_node_watch *watch)
{
	for (size_t i = neap_map_count(watch->nodes); i-- > 0;) {
		const char *name;
		struct node_record *record = neap_map_at(watch->nodes, i, &name);

		if (record->seen == watch->looks)
			continue;
		(void)neap_map_remove(watch->nodes, name);
		record_free(record);
		watch->is_changed = true;
	}
}

/* True when there are more. */
static bool look_at_nodes(struct neap_node_watch *watch, int64_t now)
{
	static const struct node_pass pass = {
		.resource = NODES, .is_concerned = is_concerned, .look = look_at_node};
	int more = node_pass_go(watch, &pass, now);

	if (more == 0)
		forget_gone(watch);
	return more > 0;
}

/* --- life --- */

/* After an interruption (start, stop, suspended machine) nobody knows how long nodes were
 * silent, so their times restart. */
static void start_anew(struct neap_node_watch *watch, int64_t now)
{
	watch->started = now;
	for (size_t i = 0; i < neap_map_count(watch->nodes); i++) {
		struct node_record *record = neap_map_at(watch->nodes, i, NULL);

		record->renewed = now;
	}
	for (size_t i = 0; i < neap_map_count(watch->missing); i++) {
		struct node_missing *missing = neap_map_at(watch->missing, i, NULL);

		missing->since = now;
	}
}

static bool is_pass_due(const struct neap_node_watch *watch, int64_t now)
{
	return watch->is_changed || now >= watch->due ||
	       watch->looks - watch->passed >= LOOKS_OF_PASS;
}

static void begin(struct neap_node_watch *watch, bool *is_going)
{
	*is_going = true;
	watch->place = (struct neap_client_place){
		.version = neap_client_version(watch->config.client)};
}

static void look(struct neap_node_watch *watch, int64_t now)
{
	if (!watch->is_looking) {
		watch->looks++;
		begin(watch, &watch->is_looking);
	}
	watch->is_looking = look_at_nodes(watch, now);
	if (watch->is_looking || !is_pass_due(watch, now))
		return;
	watch->is_changed = false;
	watch->due = INT64_MAX;
	watch->passed = watch->looks;
	watch->passes++;
	begin(watch, &watch->is_passing);
}

static enum neap_task_next turn(void *arg)
{
	struct neap_node_watch *watch = arg;
	int64_t now = watch->config.now();

	if (watch->turned == 0 || now < watch->turned ||
	    now - watch->turned > watch->grace / 2)
		start_anew(watch, now);
	watch->turned = now;
	neap_steps_begin(&watch->steps, watch->config.tasks);
	if (!watch->is_passing)
		look(watch, now);
	if (watch->is_passing)
		watch->is_passing = node_pods_pass(watch, now);
	if (watch->is_looking || watch->is_passing)
		return NEAP_TASK_GOES_ON;
	neap_task_wake_later(watch->turn, watch->period);
	return NEAP_TASK_WAITS;
}

int neap_node_watch_new(const struct neap_workload_config *config, int64_t grace_usec,
			struct neap_node_watch **ret, struct neap_error *err)
{
	struct neap_node_watch *watch = neap_alloc(sizeof(*watch));

	if (!watch)
		return neap_error_nomem(err);
	watch->config = *config;
	if (!watch->config.now)
		watch->config.now = neap_clock_unix;
	watch->grace = grace_usec;
	watch->period = grace_usec / LOOKS;
	if (watch->period < PERIOD_MIN_USEC)
		watch->period = PERIOD_MIN_USEC;
	watch->due = INT64_MAX;
	watch->is_changed = true;
	watch->nodes = neap_map_new();
	watch->missing = neap_map_new();
	watch->turn = neap_task_new(config->tasks, NODES, turn, watch);
	if (!watch->nodes || !watch->missing || !watch->turn ||
	    !neap_task_prepare_later(watch->turn)) {
		neap_node_watch_free(watch);
		return neap_error_nomem(err);
	}
	neap_task_wake(watch->turn);
	*ret = watch;
	return 0;
}

void neap_node_watch_free(struct neap_node_watch *watch)
{
	if (!watch)
		return;
	neap_task_free(watch->turn);
	for (size_t i = 0; watch->nodes && i < neap_map_count(watch->nodes); i++)
		record_free(neap_map_at(watch->nodes, i, NULL));
	for (size_t i = 0; watch->missing && i < neap_map_count(watch->missing); i++)
		free(neap_map_at(watch->missing, i, NULL));
	neap_map_free(watch->nodes);
	neap_map_free(watch->missing);
	free(watch);
}
