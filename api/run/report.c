/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports of the node role as JSON: status, workloads, policies. Unknown members are
 * omitted. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/run/node_priv.h"
#include "api/run/triggers.h"
#include "engine/json/json.h"

static void set_milli(json_t *object, const char *name, double cores)
{
	if (isfinite(cores))
		neap_json_set_int(object, name, (int64_t)(cores * 1000));
}

/* Omitted when there are none. */
static void set_cpus(json_t *object, const char *name, const struct neap_cpuset *cpus)
{
	char text[256];

	if (neap_cpuset_is_empty(cpus))
		return;
	(void)neap_cpuset_format(cpus, text, sizeof(text));
	neap_json_set_text(object, name, text);
}

/* The quota of its class's directory may throttle a group; the kernel counts that in the
 * directory. */
static double throttled_ratio(const struct neap_node *node,
			      const struct neap_workload *view)
{
	const struct neap_sample *sample = &node->observe.sample;

	if (view->kube_qos == NEAP_KUBE_BESTEFFORT)
		return fmax(view->throttled_ratio, sample->besteffort.throttled_ratio);
	if (view->kube_qos == NEAP_KUBE_BURSTABLE)
		return fmax(view->throttled_ratio, sample->burstable.throttled_ratio);
	return view->throttled_ratio;
}

const char *neap_node_state(const struct neap_node *node, const char **ret_why)
{
	*ret_why = "";
	if (node->state == NODE_WATCHING) {
		*ret_why = "started without root: nothing is written";
		return "watching";
	}
	if (node->state == NODE_DRY_RUN) {
		*ret_why = "--dry-run: the audit shows what would be written";
		return "dry-run";
	}
	if (node->is_frozen) {
		*ret_why = "nothing is written until 'neapctl resume'";
		return "frozen";
	}
	if (node->state == NODE_RELEASED) {
		*ret_why = "everything was given back; 'neapctl resume' goes on";
		return "released";
	}
	return "acting";
}

static json_t *report_node(const struct neap_node *node)
{
	const struct neap_sample *sample = &node->observe.sample;
	json_t *out = json_object();

	neap_json_set_int(out, "cpus", node->observe.topology->cpu_count);
	neap_json_set_int(out, "capacity_milli", sample->capacity_milli);
	neap_json_set_int(out, "used_milli", sample->used_milli);
	neap_json_set_int(out, "critical_used_milli", sample->critical_used_milli);
	neap_json_set_int(out, "besteffort_used_milli", sample->besteffort_used_milli);
	neap_json_set_int(out, "system_used_milli", sample->system_used_milli);
	neap_json_set_int(out, "memory_capacity_bytes", sample->memory_capacity_bytes);
	neap_json_set_int(out, "memory_used_bytes", sample->memory_used_bytes);
	neap_json_set_real(out, "cpu_pressure", sample->cpu_pressure);
	neap_json_set_real(out, "memory_pressure", sample->memory_pressure);
	neap_json_set_real(out, "io_pressure", sample->io_pressure);
	neap_json_set_real(out, "stolen_ratio", sample->stolen_ratio);
	set_cpus(out, "reserved_cpus", &sample->reserved_cpus);
	set_cpus(out, "system_cpus", &sample->system_cpus);
	return out;
}

static json_t *report_unsupported(const struct neap_node *node)
{
	json_t *out = json_array();
	const char *missing;

	for (size_t i = 0; i < NEAP_KEY_COUNT; i++) {
		if (node->cgroup->why_not[i][0] != '\0')
			(void)json_array_append_new(
				out, json_string(node->cgroup->why_not[i]));
	}
	for (size_t i = 0;
	     (missing = neap_readings_missing(node->observe.readings, i)) != NULL; i++)
		(void)json_array_append_new(
			out, json_sprintf("%s: not on this kernel", missing));
	return out;
}

static json_t *report_trees(const struct neap_node *node)
{
	json_t *out = json_array();

	for (int i = 0; i < node->config.tree_count; i++) {
		const struct neap_tree *tree = &node->config.trees[i];

		(void)json_array_append_new(
			out, json_pack("{s:s, s:s, s:b}", "root", tree->root, "driver",
				       tree->driver == NEAP_DRIVER_SYSTEMD ? "systemd"
									   : "cgroupfs",
				       "own", tree->is_own));
	}
	return out;
}

void neap_node_describe_policy(const struct neap_node *node, const char *label,
			       json_t *row)
{
	json_t *triggers = node->react.triggers == NULL
				   ? NULL
				   : neap_triggers_report(node->react.triggers, label);

	if (triggers != NULL)
		(void)json_object_set_new(row, "triggers", triggers);
}

json_t *neap_node_status(struct neap_node *node)
{
	json_t *out = json_object();
	const char *why;

	(void)json_object_set_new(out, "state", json_string(neap_node_state(node, &why)));
	neap_json_set_text(out, "why", why);
	(void)json_object_set_new(out, "version", json_string(NEAP_VERSION));
	neap_json_set_int(out, "pid", getpid());
	if (node->write.hand != NULL)
		neap_json_set_int(out, "hand_pid", neap_hand_pid(node->write.hand));
	neap_json_set_real(
		out, "uptime_seconds",
		(double)(node->observe.mono_usec - node->observe.started_mono_usec) /
			1e6);
	neap_json_set_int(out, "ticks",
			  (int64_t)(node->observe.ticks - node->react.reactions.count));
	neap_json_set_int(out, "tick_cpu_usec_avg", (int64_t)node->tick_cpu_avg_usec);
	neap_json_set_int(out, "plans_put_off", (int64_t)node->write.late_plans);
	neap_json_set_int(out, "writes", (int64_t)node->write.writes);
	neap_json_set_int(out, "writes_refused", (int64_t)node->write.writes_refused);
	neap_json_set_int(out, "held_values", (int64_t)neap_map_count(node->plan.kept));
	neap_react_report(node, out);
	(void)json_object_set_new(
		out, "cgroup",
		json_string(node->cgroup->has_v1 ? (node->cgroup->has_v2 ? "mixed" : "v1")
						 : "v2"));
	(void)json_object_set_new(out, "node", report_node(node));
	(void)json_object_set_new(out, "unsupported", report_unsupported(node));
	(void)json_object_set_new(out, "trees", report_trees(node));
	return out;
}

/* --- workloads --- */

/* Whether a value that neap holds on kept's group acts on a workload in dir. */
static bool acts_on(const struct node_kept *kept, const char *dir)
{
	return neap_path_is_below(dir, kept->group) ||
	       neap_path_is_below(kept->group, dir);
}

/* Reports the limits and their reasons: the keys that policies hold on its own group or
 * on one above or below. */
static void report_limits(const struct neap_node *node, const char *dir, json_t *row)
{
	bool has[NEAP_KEY_COUNT] = {false};
	char text[160] = "", why[160] = "";

	for (size_t i = 0; i < neap_map_count(node->plan.kept); i++) {
		const struct node_kept *kept = neap_map_at(node->plan.kept, i, NULL);

		if (kept->wished_tick + 1 < node->observe.ticks || has[kept->key] ||
		    strncmp(kept->policy, "neapd", 5) == 0 || !acts_on(kept, dir))
			continue;
		has[kept->key] = true;
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
			       text[0] != '\0' ? ", " : "",
			       neap_key_get(kept->key)->name);
		/* The reason of a CPU set or quota says more than the reason of a
		 * weight. */
		if (why[0] == '\0' || kept->key == NEAP_KEY_CPUSET_CPUS ||
		    kept->key == NEAP_KEY_CPU_MAX_MILLI)
			(void)snprintf(why, sizeof(why), "%s", kept->why);
	}
	neap_json_set_text(row, "limited_by", text);
	neap_json_set_text(row, "why", why);
}

static int64_t key_number(struct neap_node *node, const char *dir, enum neap_key key)
{
	struct neap_value value;
	struct neap_error err;

	return neap_observe_read_key(&node->observe, dir, key, &value, &err) == 1
		       ? value.number
		       : NEAP_MISSING;
}

static json_t *report_workload(struct neap_node *node, const struct neap_workload *view)
{
	json_t *row = json_object();

	neap_json_set_text(row, "id", view->id);
	neap_json_set_text(row, "name", view->name);
	neap_json_set_text(row, "source", view->source);
	neap_json_set_text(row, "qos", view->qos_name);
	neap_json_set_text(row, "kube_qos", view->kube_qos_name);
	neap_json_set_text(row, "group", view->group);
	neap_json_set_int(row, "used_milli", view->used_milli);
	set_milli(row, "used_avg_milli", view->used_avg_cores);
	set_milli(row, "used_p50_milli", view->used_p50_cores);
	set_milli(row, "used_p90_milli", view->used_p90_cores);
	set_milli(row, "used_p95_milli", view->used_p95_cores);
	set_milli(row, "used_p99_milli", view->used_p99_cores);
	neap_json_set_real(row, "throttled_ratio", throttled_ratio(node, view));
	neap_json_set_real(row, "cpu_pressure", view->cpu_pressure);
	neap_json_set_real(row, "memory_pressure", view->memory_pressure);
	neap_json_set_int(row, "memory_bytes", view->memory_bytes);
	neap_json_set_int(row, "memory_limit_bytes", view->memory_limit_bytes);
	neap_json_set_int(row, "cpu_request_milli", view->cpu_request_milli);
	set_cpus(row, "cpus", &view->cpus);
	set_cpus(row, "exclusive_cpus", &view->exclusive_cpus);
	neap_json_set_int(row, "max_milli", view->max_milli);
	neap_json_set_int(row, "idle", key_number(node, view->group, NEAP_KEY_CPU_IDLE));
	neap_json_set_int(row, "shares",
			  key_number(node, view->group, NEAP_KEY_CPU_SHARES));
	neap_json_set_int(row, "processes", view->processes);
	report_limits(node, view->group, row);
	return row;
}

json_t *neap_node_workloads(struct neap_node *node)
{
	json_t *out = json_array();

	for (size_t i = 0; i < node->observe.sample.workload_count; i++)
		(void)json_array_append_new(
			out, report_workload(node, &node->observe.views[i]));
	return out;
}
