/* SPDX-License-Identifier: Apache-2.0
 *
 * Two tables name the figures of the node and of a policy: each row maps a member of the
 * status JSON, or of the list of policies, to a metric. */
#include "api/control/control.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/log/log.h"

struct neap_metrics {
	struct neap_http *http;
	struct neap_control_node node;
	struct neap_live *live;
	const bool *is_open;
	const struct neap_turns *turns; /* NULL: not told */
	const struct neap_store *store; /* NULL: nothing is stored here */
	void (*add_more)(void *arg, struct neap_buf *out);
	void *more_arg;
};

struct figure {
	const char *path; /* member, or "node.used_milli" */
	const char *name;
	bool is_counter;
	double scale;
	const char *help;
};

static const struct figure node_figures[] = {
	{"uptime_seconds", "neap_uptime_seconds", false, 1, "Time since the start."},
	{"ticks", "neap_ticks_total", true, 1, "Ticks since the start."},
	{"tick_cpu_usec_avg", "neap_tick_cpu_seconds", false, 1e-6,
	 "CPU time of a tick, averaged over the last ones."},
	{"plans_put_off", "neap_plans_put_off_total", true, 1,
	 "Ticks without a plan because the hand was still busy."},
	{"writes", "neap_writes_total", true, 1, "Kernel files written by the hand."},
	{"writes_refused", "neap_writes_refused_total", true, 1,
	 "Writes that the kernel or the hand refused."},
	{"held_values", "neap_held_values", false, 1,
	 "Kernel values that differ from what neap found."},
	{"reactions", "neap_reactions_total", true, 1,
	 "Answers to triggers of the kernel, between two ticks."},
	{"reaction_usec_p99", "neap_reaction_p99_seconds", false, 1e-6,
	 "Time from a trigger to the kernel write, 99th percentile."},
	{"node.capacity_milli", "neap_node_cpu_capacity_cores", false, 1e-3,
	 "Online CPUs."},
	{"node.used_milli", "neap_node_cpu_used_cores", false, 1e-3,
	 "CPU use of the node."},
	{"node.critical_used_milli", "neap_node_cpu_critical_used_cores", false, 1e-3,
	 "CPU use of the workloads that are not best-effort."},
	{"node.besteffort_used_milli", "neap_node_cpu_besteffort_used_cores", false, 1e-3,
	 "CPU use of the workloads that are best-effort."},
	{"node.system_used_milli", "neap_node_cpu_system_used_cores", false, 1e-3,
	 "CPU use that belongs to no workload."},
	{"node.memory_capacity_bytes", "neap_node_memory_capacity_bytes", false, 1,
	 "Memory of the node."},
	{"node.memory_used_bytes", "neap_node_memory_used_bytes", false, 1,
	 "Memory that is not available."},
	{"node.cpu_pressure", "neap_node_cpu_pressure_ratio", false, 1,
	 "Share of the last 10 s in which some task waited for a CPU."},
	{"node.memory_pressure", "neap_node_memory_pressure_ratio", false, 1,
	 "The same for memory."},
	{"node.io_pressure", "neap_node_io_pressure_ratio", false, 1,
	 "The same for block devices."},
	{"node.stolen_ratio", "neap_node_cpu_stolen_ratio", false, 1,
	 "Share of CPU time that the hypervisor gave to others."},
};

static const struct figure policy_figures[] = {
	{"calls", "neap_policy_calls_total", true, 1, "Calls of the policy."},
	{"wishes", "neap_policy_wishes_total", true, 1, "Writes that it asked for."},
	{"holds", "neap_policy_holds_total", true, 1, "Calls that kept what was set."},
	{"skipped", "neap_policy_skipped_total", true, 1,
	 "Ticks without a call because a needed field was missing."},
	{"errors", "neap_policy_errors_total", true, 1, "Calls that raised an error."},
	{"wrong", "neap_policy_wrong_total", true, 1, "Calls with an invalid result."},
	{"spent", "neap_policy_spent_total", true, 1,
	 "Calls stopped for their CPU budget or memory."},
	{"starved", "neap_policy_starved_total", true, 1,
	 "Calls stopped because the machine gave them no time."},
	{"put_off", "neap_policy_put_off_total", true, 1,
	 "Ticks without a call because other policies had used up the time."},
	{"cpu_usec", "neap_policy_cpu_seconds_total", true, 1e-6,
	 "CPU time of all calls."},
};

static void add_head(struct neap_buf *out, const struct figure *figure)
{
	neap_buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", figure->name, figure->help,
		      figure->name, figure->is_counter ? "counter" : "gauge");
}

/* A figure that is one whole number. */
static void add_number(struct neap_buf *out, const char *name, bool is_counter,
		       uint64_t value, const char *help)
{
	add_head(out, &(struct figure){NULL, name, is_counter, 1, help});
	neap_buf_addf(out, "%s %llu\n", name, (unsigned long long)value);
}

static const json_t *member(const json_t *object, const char *path)
{
	const char *dot = strchr(path, '.');

	if (dot == NULL)
		return json_object_get(object, path);
	return json_object_get(json_object_get(object, "node"), dot + 1);
}

/* Names and versions need no escapes: they are letters, digits, '-' and '/'. */
static void add_node(struct neap_buf *out, const json_t *status)
{
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(node_figures); i++) {
		const struct figure *figure = &node_figures[i];
		const json_t *value = member(status, figure->path);

		if (!json_is_number(value))
			continue;
		add_head(out, figure);
		neap_buf_addf(out, "%s %.15g\n", figure->name,
			      json_number_value(value) * figure->scale);
	}
}

static void add_policies(struct neap_buf *out, const json_t *rows)
{
	static const struct figure state = {NULL, "neap_policy_state", false, 1,
					    "1 for the state that the policy is in."};
	const json_t *row;
	size_t i, j;

	if (json_array_size(rows) == 0)
		return;
	for (i = 0; i < NEAP_ARRAY_LEN(policy_figures); i++) {
		const struct figure *figure = &policy_figures[i];

		add_head(out, figure);
		json_array_foreach (rows, j, row) {
			const json_t *value = json_object_get(row, figure->path);

			if (json_is_number(value))
				neap_buf_addf(
					out, "%s{policy=\"%s\",version=\"%s\"} %.15g\n",
					figure->name,
					json_string_value(json_object_get(row, "policy")),
					json_string_value(
						json_object_get(row, "version")),
					json_number_value(value) * figure->scale);
		}
	}
	add_head(out, &state);
	json_array_foreach (rows, j, row) {
		if (json_object_get(row, "kind") != NULL)
			neap_buf_addf(out,
				      "neap_policy_state{policy=\"%s\",state=\"%s\"} 1\n",
				      json_string_value(json_object_get(row, "policy")),
				      json_string_value(json_object_get(row, "state")));
	}
}

static void add_workloads(struct neap_buf *out, json_t *workloads)
{
	static const struct figure figure = {NULL, "neap_workloads", false, 1,
					     "Workloads by QoS class of Kubernetes."};
	static const char *const classes[] = {"Guaranteed", "Burstable", "BestEffort"};
	const json_t *row;
	size_t i, j;

	add_head(out, &figure);
	for (i = 0; i < NEAP_ARRAY_LEN(classes); i++) {
		size_t count = 0;

		json_array_foreach (workloads, j, row) {
			const char *name =
				json_string_value(json_object_get(row, "kube_qos"));

			count += name != NULL && strcmp(name, classes[i]) == 0;
		}
		neap_buf_addf(out, "neap_workloads{kube_qos=\"%s\"} %zu\n", classes[i],
			      count);
	}
}

static void add_things(struct neap_buf *out, const struct neap_http_shares *shares)
{
	static const struct figure held = {
		NULL, "neap_http_held", false, 1,
		"Connections, watches and open requests, by class of client."};
	static const struct figure refused = {
		NULL, "neap_http_refused_total", true, 1,
		"Connections, watches and requests refused or cut off at a limit."};
	static const struct figure all_max = {
		NULL, "neap_http_connections_limit", false, 1,
		"Number of connections at which one of this class is refused."};
	static const struct figure user_max = {NULL, "neap_http_user_limit", false, 1,
					       "Limit of one user below admin."};

	for (int table = 0; table < 2; table++) {
		add_head(out, table ? &refused : &held);
		for (int rank = 0; rank < NEAP_HTTP_RANK_COUNT; rank++)
			for (int thing = 0; thing < NEAP_HTTP_THING_COUNT; thing++)
				neap_buf_addf(out, "%s{what=\"%s\",class=\"%s\"} %llu\n",
					      table ? refused.name : held.name,
					      neap_http_thing_name(thing),
					      neap_http_rank_name(rank),
					      table ? (unsigned long long)
							      shares->refused[rank][thing]
						    : (unsigned long long)
							      shares->held[rank][thing]);
	}
	add_head(out, &all_max);
	for (int rank = 0; rank < NEAP_HTTP_RANK_COUNT; rank++)
		neap_buf_addf(out, "%s{class=\"%s\"} %zu\n", all_max.name,
			      neap_http_rank_name(rank), shares->all_max[rank]);
	add_head(out, &user_max);
	for (int thing = 0; thing < NEAP_HTTP_THING_COUNT; thing++)
		neap_buf_addf(out, "%s{what=\"%s\"} %zu\n", user_max.name,
			      neap_http_thing_name(thing), shares->user_max[thing]);
	add_number(out, "neap_http_out_of_descriptors_total", true,
		   shares->out_of_descriptors,
		   "Connections that had to wait for a free descriptor of neapd.");
}

static void add_changes(struct neap_buf *out, const struct neap_metrics *metrics)
{
	static const struct figure changes = {NULL, "neap_policy_changes_total", true, 1,
					      "Changes of policies, by result."};
	int64_t end = neap_http_certificate_end(metrics->http);
	struct neap_live_counts counts;

	neap_live_count(metrics->live, &counts);
	add_head(out, &changes);
	neap_buf_addf(out,
		      "neap_policy_changes_total{result=\"live\"} %llu\n"
		      "neap_policy_changes_total{result=\"refused\"} %llu\n"
		      "neap_policy_changes_total{result=\"rolled_back\"} %llu\n"
		      "neap_policy_changes_total{result=\"unchanged\"} %llu\n",
		      (unsigned long long)counts.live, (unsigned long long)counts.refused,
		      (unsigned long long)counts.rolled_back,
		      (unsigned long long)counts.unchanged);
	add_number(out, "neap_policy_changes_waiting", false, counts.waiting,
		   "Changes that wait for their turn.");
	add_number(out, "neap_policy_deleted_bytes", false,
		   (uint64_t)counts.deleted_bytes,
		   "Disk space of deleted uploaded policies.");
	add_number(out, "neap_http_connections", false,
		   neap_http_connection_count(metrics->http), "Open connections.");
	add_things(out, neap_http_shares_get(metrics->http));
	if (end != 0)
		add_number(out, "neap_tls_certificate_expiry_timestamp_seconds", false,
			   (uint64_t)end,
			   "When the certificate of the TLS address expires.");
}

static void add_turns(struct neap_buf *out, const struct neap_turns *turns)
{
	uint64_t count = 0;
	size_t i;

	neap_buf_adds(out,
		      "# HELP neap_loop_turn_cpu_seconds CPU time of a turn of the loop, "
		      "for which all requests wait.\n"
		      "# TYPE neap_loop_turn_cpu_seconds histogram\n");
	for (i = 0; i < NEAP_TURN_BOUNDS; i++) {
		count += turns->counts[i];
		neap_buf_addf(out, "neap_loop_turn_cpu_seconds_bucket{le=\"%g\"} %llu\n",
			      (double)neap_turn_bounds_usec[i] * 1e-6,
			      (unsigned long long)count);
	}
	count += turns->counts[NEAP_TURN_BOUNDS];
	neap_buf_addf(out,
		      "neap_loop_turn_cpu_seconds_bucket{le=\"+Inf\"} %llu\n"
		      "neap_loop_turn_cpu_seconds_sum %.15g\n"
		      "neap_loop_turn_cpu_seconds_count %llu\n",
		      (unsigned long long)count, (double)turns->usec * 1e-6,
		      (unsigned long long)count);
}

static void add_store(struct neap_buf *out, const struct neap_store *store)
{
	const struct neap_store_used used = neap_store_used(store);
	const struct neap_store_limits limits = neap_store_limits(store);

	add_number(out, "neap_store_objects", false, used.objects, "Stored objects.");
	add_number(out, "neap_store_objects_limit", false, limits.objects,
		   "Limit of stored objects.");
	add_number(out, "neap_store_bytes", false, used.bytes, "Bytes of all objects.");
	add_number(out, "neap_store_bytes_limit", false, limits.bytes,
		   "Limit of their bytes.");
	add_number(out, "neap_store_owned_most", false, neap_store_owned_most(store),
		   "Objects of the owner with the most.");
	add_number(out, "neap_store_owned_limit", false, limits.owned,
		   "Limit of objects of one owner.");
}

static void get_metrics(void *arg, struct neap_http_request *request)
{
	struct neap_metrics *metrics = arg;
	const struct neap_control_node *node = &metrics->node;
	neap_auto_buf struct neap_buf out = {0};
	struct neap_error err;
	const char *why;
	json_t *rows, *status, *workloads;

	neap_buf_init(&out, NEAP_BUF_REPLY); /* before any return: it is freed at each */
	if (!*metrics->is_open && neap_http_peer_get(request)->role < NEAP_HTTP_READER) {
		neap_http_answer_denied(request, NEAP_HTTP_READER);
		return;
	}
	neap_buf_adds(&out, "# HELP neap_build_info Version of neapd.\n"
			    "# TYPE neap_build_info gauge\n"
			    "neap_build_info{version=\"" NEAP_VERSION "\"} 1\n");
	if (node->is_ready(node->arg, &why)) {
		status = node->status(node->arg);
		workloads = node->workloads(node->arg);
		add_node(&out, status);
		add_workloads(&out, workloads);
		json_decref(status);
		json_decref(workloads);
	}
	rows = neap_live_rows(metrics->live);
	add_policies(&out, rows);
	json_decref(rows);
	add_changes(&out, metrics);
	if (metrics->turns != NULL)
		add_turns(&out, metrics->turns);
	if (metrics->store != NULL)
		add_store(&out, metrics->store);
	if (metrics->add_more != NULL)
		metrics->add_more(metrics->more_arg, &out);
	add_number(&out, "neap_log_lines_held_total", true, neap_log_held(),
		   "Log lines of policies and others that repeated or were too many.");
	if (neap_buf_failed(&out)) {
		(void)neap_error_nomem(&err);
		neap_http_answer_error(request, &err);
		return;
	}
	neap_http_answer_text(request, 200, "text/plain; version=0.0.4; charset=utf-8",
			      out.data, out.len);
}

static const struct neap_http_route routes[] = {
	{"GET", "/metrics", NEAP_HTTP_ANYBODY,
	 get_metrics}, /* open or not: it looks itself */
	{0},
};

int neap_metrics_new(struct neap_http *http, const struct neap_control_node *node,
		     struct neap_live *live, const bool *is_open,
		     const struct neap_turns *turns, struct neap_metrics **ret,
		     struct neap_error *err)
{
	struct neap_metrics *metrics = neap_alloc(sizeof(*metrics));

	if (metrics == NULL)
		return neap_error_nomem(err);
	*metrics = (struct neap_metrics){.http = http,
					 .node = *node,
					 .live = live,
					 .is_open = is_open,
					 .turns = turns};
	if (neap_http_add_routes(http, routes, metrics, err) < 0) {
		free(metrics);
		return -(int)err->code;
	}
	*ret = metrics;
	return 0;
}

void neap_metrics_set_store(struct neap_metrics *metrics, const struct neap_store *store)
{
	metrics->store = store;
}

void neap_metrics_set_more(struct neap_metrics *metrics,
			   void (*add)(void *arg, struct neap_buf *out), void *arg)
{
	metrics->add_more = add;
	metrics->more_arg = arg;
}

void neap_metrics_free(struct neap_metrics *metrics)
{
	free(metrics);
}
