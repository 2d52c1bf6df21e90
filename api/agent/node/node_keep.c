/* SPDX-License-Identifier: Apache-2.0
 *
 * Once a second, compares the stored objects of this node with the wanted ones, and
 * writes the differences. So the next check repairs missed events and refused writes. The
 * store's newest state includes accepted writes, so no write is repeated. */
#include "api/agent/node/node_keep.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/agent/node/node_keep_priv.h"
#include "api/agent/node/node_topology.h"
#include "api/client/client.h"
#include "api/client/events.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "engine/machine/sample.h"

#define SECOND        1000000LL
#define NODES         "nodes"
#define LEASES        "leases.coordination.k8s.io"
#define LEASE_NS      "kube-node-lease"
#define METRICS       "nodemetrics.slo.koordinator.sh"
#define TOPOLOGIES    "noderesourcetopologies.topology.node.k8s.io"
#define LEASE_USEC    (40 * SECOND)
#define LOOK_MIN_USEC 1000
#define RENEWALS      4 /* per validity time of a Lease */
#define BEAT_USEC     (300 * SECOND)
#define METRIC_USEC   (15 * SECOND)
#define REPORT_USEC   (5 * SECOND)
#define METRIC_S_MIN  30
#define METRIC_S_MAX  86400
/* While neapd starts, an existing Node is not reported as not Ready. */
#define START_USEC     (10 * SECOND)
#define MEMORY_SAMPLES 300

struct neap_node_keep;

/* Arguments of answers, which may come after the rest is freed. */
struct link {
	struct neap_node_keep *keep;
	unsigned refs;
};

struct neap_node_keep {
	struct neap_node_keep_config config;
	struct node_state state;
	struct link *link;
	struct event *turn;
	int64_t started, beat, renewed, measured; /* Unix microseconds; 0: not yet */
	char uid[NEAP_OBJECT_UID]; /* of the Node that the Lease belongs to */
	bool is_labelled;
	bool is_failing; /* and that was logged */
	json_t *labels;
	/* For the NodeResourceTopology: when it was last compared, and the versions of it
	 * and of the Node then. */
	int64_t reported, reported_version, reported_node, rewritten;
	struct neap_kubelet_facts kubelet;
	bool is_kubelet_told; /* that its files are wrong was logged */
	/* The Node as of the last look. */
	json_t *tree;
	int64_t version;
};

static void link_unref(struct link *link)
{
	if (--link->refs == 0)
		free(link);
}

/* --- writes --- */

static void told(void *arg, struct neap_object *object,
		 const struct neap_client_failure *failure)
{
	struct link *link = arg;
	struct neap_node_keep *keep = link->keep;

	(void)object;
	link_unref(link);
	if (!keep || (!failure && !keep->is_failing))
		return;
	if (failure && !keep->is_failing)
		neap_log_line(keep->config.log, NEAP_LOG_WARN,
			      "the objects of node %s are not kept: %s",
			      keep->config.node_name, failure->message);
	else if (!failure)
		neap_log_line(keep->config.log, NEAP_LOG_INFO,
			      "the objects of node %s are kept again",
			      keep->config.node_name);
	keep->is_failing = failure != NULL;
}

/* Does not log refusals: the kind need not exist. */
static struct neap_client_ask ask_quietly(const struct neap_node_keep *keep,
					  const char *resource)
{
	return (struct neap_client_ask){.resource = resource,
					.ns = strcmp(resource, LEASES) == 0 ? LEASE_NS
									    : "",
					.name = keep->config.node_name};
}

/* Use it for one write only. */
static struct neap_client_ask ask_for(struct neap_node_keep *keep, const char *resource)
{
	struct neap_client_ask ask = ask_quietly(keep, resource);

	keep->link->refs++;
	ask.told = told;
	ask.arg = keep->link;
	return ask;
}

static struct neap_object *newest(const struct neap_node_keep *keep, const char *resource)
{
	return neap_client_newest(keep->config.client, resource,
				  strcmp(resource, LEASES) == 0 ? LEASE_NS : "",
				  keep->config.node_name);
}

static bool is_due(int64_t last, int64_t every, int64_t now)
{
	return last == 0 || now < last || now - last >= every;
}

/* --- the Node --- */

/* As in a kubelet's events, the uid of the object is its name: kubectl asks for that
 * too. */
static void note(struct neap_node_keep *keep, bool is_warning, const char *reason,
		 const char *text)
{
	const char *name = keep->config.node_name;
	const struct neap_client_note about = {.api_version = "v1",
					       .kind = "Node",
					       .ns = "",
					       .name = name,
					       .uid = name,
					       .is_warning = is_warning,
					       .reason = reason,
					       .component = "kubelet",
					       .host = name};

	if (text)
		neap_client_note(keep->config.client, &about, "%s", text);
	else
		neap_client_note(keep->config.client, &about, "Node %s status is now: %s",
				 name, reason);
}

static void note_changes(struct neap_node_keep *keep, const json_t *before,
			 const json_t *after)
{
	static const struct {
		const char *type, *when_true, *when_false;
	} rows[] = {
		{"MemoryPressure", "NodeHasInsufficientMemory",
		 "NodeHasSufficientMemory"},
		{"DiskPressure", "NodeHasDiskPressure", "NodeHasNoDiskPressure"},
		{"Ready", "NodeReady", "NodeNotReady"},
	};
	const char *boot = json_string_value(
		json_object_get(json_object_get(before, "nodeInfo"), "bootID"));

	if (boot && boot[0] && strcmp(boot, keep->state.facts.boot_id) != 0)
		note(keep, true, "Rebooted", "The machine was rebooted");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const char *was = node_condition_status(before, rows[i].type);
		const char *is = node_condition_status(after, rows[i].type);

		/* A new Node is not ready at first, which needs no event. */
		if (strcmp(was, is) != 0 && (before || strcmp(is, "True") == 0 ||
					     strcmp(rows[i].type, "Ready") != 0))
			note(keep, false,
			     strcmp(is, "True") == 0 ? rows[i].when_true
						     : rows[i].when_false,
			     NULL);
	}
}

static void create_node(struct neap_node_keep *keep, int64_t now)
{
	struct neap_client_ask ask = ask_for(keep, NODES);
	json_t *status = node_status_make(&keep->state, NULL, now, true);
	json_t *spec = NULL;

	note_changes(keep, NULL, status);
	/* The taint controller sees the condition a moment later; until then no pod may
	 * be placed. */
	if (!keep->config.runs_pods)
		spec = json_pack("{s:[{s:s, s:s}]}", "taints", "key",
				 "node.kubernetes.io/not-ready", "effect", "NoSchedule");
	neap_client_create_take(keep->config.client, &ask,
				json_pack("{s:{s:s, s:O}, s:o, s:o}", "metadata", "name",
					  keep->config.node_name, "labels", keep->labels,
					  "spec", spec ? spec : json_object(), "status",
					  status));
	keep->is_labelled = true;
	keep->beat = now;
}

/* Sets labels once: a later change is a user's decision. */
static void ensure_labels(struct neap_node_keep *keep)
{
	const json_t *labels =
		json_object_get(json_object_get(keep->tree, "metadata"), "labels");
	struct neap_client_ask ask;

	keep->is_labelled = true;
	if (node_status_is_within(labels, keep->labels))
		return;
	ask = ask_for(keep, NODES);
	neap_client_patch_take(
		keep->config.client, &ask, false,
		json_pack("{s:{s:O}}", "metadata", "labels", keep->labels));
}

/* False: the Node cannot be read now. */
static bool read_node(struct neap_node_keep *keep, const struct neap_object *object)
{
	if (keep->tree && keep->version == object->version)
		return true;
	json_decref(keep->tree);
	keep->tree = neap_object_tree(object);
	keep->version = object->version;
	return keep->tree;
}

/* The Node is a kubelet's: what neapd keeps belongs to it. */
static void read_only(struct neap_node_keep *keep)
{
	const struct neap_object *object = newest(keep, NODES);

	(void)neap_strcopy(keep->uid, sizeof(keep->uid), object ? object->uid : "");
	if (object)
		(void)read_node(keep, object);
}

static void look_at_node(struct neap_node_keep *keep, int64_t now)
{
	struct neap_object *object = newest(keep, NODES);
	uint64_t lost = neap_json_failures();
	const json_t *status;
	struct neap_client_ask ask;
	json_t *patch;
	bool is_beat;

	if (!object) {
		keep->uid[0] = '\0';
		create_node(keep, now);
		return;
	}
	if (!read_node(keep, object))
		return;
	if (!keep->is_labelled)
		ensure_labels(keep);
	if (keep->config.runs_pods && node_why_not_ready(&keep->state) &&
	    now - keep->started < START_USEC && now >= keep->started)
		return;
	is_beat = is_due(keep->beat, BEAT_USEC, now);
	status = json_object_get(keep->tree, "status");
	patch = node_status_make(&keep->state, keep->tree, now, is_beat);
	if (!patch || neap_json_failures() != lost ||
	    node_status_is_within(status, patch)) {
		json_decref(patch);
		return;
	}
	note_changes(keep, status, patch);
	keep->beat = now;
	ask = ask_for(keep, NODES);
	neap_client_patch_take(keep->config.client, &ask, true,
			       json_pack("{s:o}", "status", patch));
}

/* --- its Lease --- */

static json_t *owner_of(const struct neap_node_keep *keep)
{
	return json_pack("[{s:s, s:s, s:s, s:s}]", "apiVersion", "v1", "kind", "Node",
			 "name", keep->config.node_name, "uid", keep->uid);
}

static void renew(struct neap_node_keep *keep, int64_t now)
{
	const struct neap_object *node = newest(keep, NODES);
	struct neap_client_ask ask;
	json_t *lease;
	char time[32];

	/* Its watchers read the Node too, so the Node must exist. A refused write is
	 * repeated sooner. */
	if (!node || (strcmp(node->uid, keep->uid) == 0 &&
		      !is_due(keep->renewed,
			      keep->config.lease_usec / RENEWALS /
				      (keep->is_failing ? RENEWALS : 1),
			      now)))
		return;
	(void)neap_strcopy(keep->uid, sizeof(keep->uid), node->uid);
	keep->renewed = now;
	(void)neap_time_format(now, 6, time, sizeof(time));
	lease = json_pack("{s:{s:s, s:o}, s:{s:s, s:i, s:s}}", "metadata", "name",
			  keep->config.node_name, "ownerReferences", owner_of(keep),
			  "spec", "holderIdentity", keep->config.node_name,
			  "leaseDurationSeconds",
			  (int)((keep->config.lease_usec + SECOND - 1) / SECOND),
			  "renewTime", time);
	ask = ask_for(keep, LEASES);
	if (newest(keep, LEASES))
		neap_client_patch_take(keep->config.client, &ask, false, lease);
	else
		neap_client_create_take(keep->config.client, &ask, lease);
}

/* --- its NodeMetric --- */

/* The interval of the object's spec, else that of the configuration. */
static int64_t metric_interval(const struct neap_node_keep *keep,
			       const struct neap_object *object)
{
	json_t *tree = object ? neap_object_tree(object) : NULL;
	const json_t *asked = json_object_get(
		json_object_get(json_object_get(tree, "spec"), "metricCollectPolicy"),
		"reportIntervalSeconds");
	int64_t seconds = json_integer_value(asked);
	int64_t interval =
		keep->config.metric_usec ? keep->config.metric_usec : METRIC_USEC;

	if (json_is_integer(asked)) {
		if (seconds < METRIC_S_MIN)
			seconds = METRIC_S_MIN;
		if (seconds > METRIC_S_MAX)
			seconds = METRIC_S_MAX;
		interval = seconds * SECOND;
	}
	json_decref(tree);
	return interval;
}

static void measure(struct neap_node_keep *keep, int64_t now)
{
	const struct neap_object *object;
	struct neap_client_ask ask = ask_quietly(keep, METRICS);
	int64_t usual = keep->config.metric_usec ? keep->config.metric_usec : METRIC_USEC;
	int64_t least = usual < METRIC_S_MIN * SECOND ? usual : METRIC_S_MIN * SECOND;
	uint64_t lost = neap_json_failures();
	json_t *status;
	bool is_there;

	node_metric_look(&keep->state);
	if (!keep->uid[0] || !is_due(keep->measured, least, now))
		return;
	object = newest(keep, METRICS);
	if (!is_due(keep->measured, metric_interval(keep, object), now))
		return;
	status = node_metric_make(&keep->state, now);
	if (!status || neap_json_failures() != lost) {
		json_decref(status);
		return;
	}
	if (!object)
		neap_client_create_take(keep->config.client, &ask,
					json_pack("{s:{s:s, s:o}, s:{}}", "metadata",
						  "name", keep->config.node_name,
						  "ownerReferences", owner_of(keep),
						  "spec"));
	/* There is still no object if another server was asked for it, or the kind does
	 * not exist. */
	is_there = object || newest(keep, METRICS);
	keep->measured =
		is_there || usual <= METRIC_USEC ? now : now - usual + METRIC_USEC;
	if (is_there)
		neap_client_patch_take(keep->config.client, &ask, true,
				       json_pack("{s:o}", "status", status));
	else
		json_decref(status);
}

/* --- its NodeResourceTopology --- */

static void tell_of_kubelet(struct neap_node_keep *keep, const struct neap_error *trouble)
{
	bool is_told = keep->is_kubelet_told;

	keep->is_kubelet_told = trouble->code != NEAP_OK;
	if (keep->is_kubelet_told && !is_told)
		neap_log_line(
			keep->config.log, NEAP_LOG_WARN,
			"%s: the CPUs that the kubelet assigned are reported as last read",
			trouble->msg);
	else if (is_told && !keep->is_kubelet_told)
		neap_log_line(keep->config.log, NEAP_LOG_INFO,
			      "the kubelet's files can be read again");
}

/* A new object has no members to remove. */
static json_t *without_nulls(json_t *report)
{
	json_t *annotations = json_object_get(json_object_get(report, "metadata"),
					      "annotations"),
	       *value;
	const char *key;
	void *next;

	json_object_foreach_safe(annotations, next, key, value)
	{
		if (json_is_null(value))
			(void)json_object_del(annotations, key);
	}
	return report;
}

static void create_topology(struct neap_node_keep *keep, json_t *report)
{
	struct neap_client_ask ask = ask_quietly(keep, TOPOLOGIES);
	json_t *metadata = json_object_get(without_nulls(report), "metadata");
	const struct neap_object *object;

	(void)json_object_set_new(metadata, "name", json_string(keep->config.node_name));
	(void)json_object_set_new(metadata, "ownerReferences", owner_of(keep));
	neap_client_create_take(keep->config.client, &ask, report);
	/* Looked up here, so that a deletion is noticed. There is still no object if the
	 * kind does not exist. */
	object = newest(keep, TOPOLOGIES);
	keep->reported_version = object ? object->version : 0;
}

/* Compares pods and files every few seconds; reacts to changes of the object or the Node
 * at once. */
static void report_topology(struct neap_node_keep *keep, int64_t now)
{
	const struct neap_object *object = newest(keep, TOPOLOGIES);
	int64_t version = object ? object->version : 0;
	struct neap_client_ask ask;
	struct neap_error trouble;
	uint64_t lost = neap_json_failures();
	json_t *tree, *report = NULL;

	if (!keep->uid[0] || !keep->tree || !keep->config.node ||
	    !neap_node_topology(keep->config.node) ||
	    (version == keep->reported_version && keep->version == keep->reported_node &&
	     !is_due(keep->reported, REPORT_USEC, now)))
		return;
	tree = object ? neap_object_tree(object) : NULL;
	if (object && !tree)
		return;
	keep->reported = now;
	keep->reported_version = version;
	keep->reported_node = keep->version;
	if (node_topology_make(&keep->config, keep->tree, tree, &keep->kubelet, &report,
			       &trouble) < 0 ||
	    neap_json_failures() != lost ||
	    (object && node_status_is_within(tree, report))) {
		json_decref(report);
	} else if (object && !is_due(keep->rewritten, REPORT_USEC, now)) {
		/* If another agent writes the object too, neapd does not overwrite it
		 * more often than this. */
		keep->reported_version = -1;
		json_decref(report);
	} else if (!object) {
		create_topology(keep, report);
	} else {
		keep->rewritten = now;
		ask = ask_for(keep, TOPOLOGIES);
		neap_client_patch_take(keep->config.client, &ask, false, report);
	}
	json_decref(tree);
	tell_of_kubelet(keep, &trouble);
}

/* --- life --- */

static void turn(evutil_socket_t fd, short what, void *arg)
{
	struct neap_node_keep *keep = arg;
	int64_t now = keep->config.now(), usec = keep->config.look_usec;
	struct timeval after = {.tv_sec = usec / SECOND, .tv_usec = usec % SECOND};

	(void)fd;
	(void)what;
	(void)event_add(keep->turn, &after); /* it has its memory since the first time */
	if (keep->config.has_kubelet) {
		read_only(keep);
	} else {
		look_at_node(keep, now);
		renew(keep, now);
	}
	measure(keep, now);
	report_topology(keep, now);
}

/* Labels of users take precedence. */
static json_t *make_labels(const struct neap_node_keep *keep)
{
	json_t *labels = json_pack("{s:s, s:s, s:s}", "kubernetes.io/hostname",
				   keep->config.node_name, "kubernetes.io/os", "linux",
				   "kubernetes.io/arch", keep->state.facts.arch);

	if (labels && keep->config.labels &&
	    json_object_update(labels, (json_t *)(uintptr_t)keep->config.labels) < 0) {
		json_decref(labels);
		return NULL;
	}
	return labels;
}

int neap_node_keep_new(const struct neap_node_keep_config *config,
		       struct neap_node_keep **ret, struct neap_error *err)
{
	static const struct timeval at_once = {0};
	struct neap_node_keep *keep = neap_alloc(sizeof(*keep));

	if (!keep)
		return neap_error_nomem(err);
	keep->config = *config;
	keep->state.config = &keep->config;
	if (!keep->config.now)
		keep->config.now = neap_clock_unix;
	if (!keep->config.lease_usec)
		keep->config.lease_usec = LEASE_USEC;
	/* Often enough for the shortest interval. */
	if (!keep->config.look_usec)
		keep->config.look_usec = keep->config.lease_usec / RENEWALS / 2;
	if (keep->config.look_usec > SECOND)
		keep->config.look_usec = SECOND;
	if (keep->config.look_usec < LOOK_MIN_USEC)
		keep->config.look_usec = LOOK_MIN_USEC;
	node_facts_read(config->sys_root, &keep->state.facts);
	keep->started = keep->config.now();
	keep->labels = make_labels(keep);
	keep->state.memory_used = neap_window_new(MEMORY_SAMPLES);
	keep->link = neap_alloc(sizeof(*keep->link));
	keep->turn = event_new(config->base, -1, 0, turn, keep);
	if (keep->link)
		*keep->link = (struct link){.keep = keep, .refs = 1};
	if (!keep->labels || !keep->state.memory_used || !keep->link || !keep->turn ||
	    event_add(keep->turn, &at_once) < 0) {
		neap_node_keep_free(keep);
		return neap_error_nomem(err);
	}
	*ret = keep;
	return 0;
}

void neap_node_keep_free(struct neap_node_keep *keep)
{
	if (!keep)
		return;
	if (keep->turn)
		event_free(keep->turn);
	if (keep->link) {
		keep->link->keep = NULL;
		link_unref(keep->link);
	}
	neap_window_free(keep->state.memory_used);
	json_decref(keep->labels);
	json_decref(keep->tree);
	neap_kubelet_facts_done(&keep->kubelet);
	free(keep);
}
