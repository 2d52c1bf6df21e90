/* SPDX-License-Identifier: Apache-2.0
 *
 * The life and the tick of the node role. */
#include "api/run/node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/run/node_priv.h"
#include "api/run/triggers.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"

/* Pods and records that nobody added again in this time after the start are removed. */
#define GRACE_USEC INT64_C(60000000)

/* --- start --- */

static void made_root(struct neap_node *node, void *arg,
		      const struct neap_hand_answer *answer)
{
	(void)arg;
	/* EBUSY: frozen; the groups of earlier are used. */
	if (answer->errnum == 0 || answer->errnum == EBUSY)
		return;
	(void)neap_error_set(&node->open_err, NEAP_ESYS, "make %s: %s%s%s", answer->group,
			     strerror(answer->errnum),
			     answer->text[0] != '\0' ? ": " : "", answer->text);
	node->open_err.errnum = answer->errnum;
}

static void probe_keys(struct neap_node *node)
{
	const struct neap_tree *own =
		neap_tree_of_class(node->config.trees, NEAP_KUBE_BESTEFFORT);

	neap_cgroup_probe_keys(node->cgroup, own->root);
}

static void opened(struct neap_node *node, void *arg,
		   const struct neap_hand_answer *answer)
{
	(void)arg;
	(void)answer;
	if (node->open_err.code != NEAP_OK)
		return;
	node->is_open = true;
	probe_keys(node);
	if (neap_map_count(node->plan.kept) > 0)
		neap_log_line(&node->config.log, NEAP_LOG_INFO,
			      "took over %zu values that an earlier neapd had set",
			      neap_map_count(node->plan.kept));
}

/* Asks for neap's own groups, then for the values of the journal. The answer to the last
 * question ends the start. */
static int ask_hand(struct neap_node *node, struct neap_error *err)
{
	static const enum neap_kube_qos classes[] = {
		NEAP_KUBE_GUARANTEED, NEAP_KUBE_BURSTABLE, NEAP_KUBE_BESTEFFORT};
	struct neap_hand_request list = {.op = NEAP_HAND_LIST};
	struct node_pending last = {.answered = opened};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(classes); i++) {
		char dir[NEAP_PATH_MAX];
		struct neap_hand_request request = {.op = NEAP_HAND_MAKE, .group = dir};
		struct node_pending pending = {.answered = made_root};

		if (neap_tree_class_dir(
			    neap_tree_of_class(node->config.trees, classes[i]),
			    classes[i], dir, sizeof(dir)) &&
		    neap_node_send(&node->write, &request, &pending, err) < 0)
			return -(int)err->code;
	}
	if (neap_node_send(&node->write, &list, &last, err) < 0)
		return -(int)err->code;
	neap_node_flush(&node->write);
	return 0;
}

static int node_open(struct neap_node *node, struct neap_error *err)
{
	struct neap_node_reading reading;

	node->write.audit = neap_audit_new(AUDIT_ENTRIES);
	node->observe.groups = neap_map_new();
	node->observe.workloads = neap_map_new();
	node->plan.kept = neap_map_new();
	node->write.failures = neap_map_new();
	node->made.launches = neap_map_new();
	node->made.pods = neap_map_new();
	node->plan.plan = neap_plan_new();
	node->observe.node_used = neap_window_new(node->config.window_samples);
	if (node->write.audit == NULL || node->observe.groups == NULL ||
	    node->observe.workloads == NULL || node->plan.kept == NULL ||
	    node->write.failures == NULL || node->made.launches == NULL ||
	    node->made.pods == NULL || node->plan.plan == NULL ||
	    node->observe.node_used == NULL)
		return neap_error_nomem(err);
	if (neap_react_open(node, err) < 0)
		return -(int)err->code;
	node->is_frozen = access(node->config.freeze_file, F_OK) == 0;
	node->is_open = !neap_node_writes(&node->write);
	if (node->is_open)
		probe_keys(node);
	else if (ask_hand(node, err) < 0)
		return -(int)err->code;
	if (neap_readings_new(node->config.sys_root, node->cgroup,
			      &node->observe.readings, err) < 0 ||
	    neap_scan_new(node->cgroup, node->config.trees,
			  (size_t)node->config.tree_count, &node->observe.scan, err) < 0)
		return -(int)err->code;
	neap_readings_node(node->observe.readings, &reading);
	node->observe.memory_bytes = reading.memory_total_bytes;
	return neap_observe_topology(&node->observe, err);
}

int neap_node_new(const struct neap_node_config *config, struct neap_cgroup *cgroup,
		  struct neap_hand *hand, struct neap_registry *registry,
		  struct neap_node **ret, struct neap_error *err)
{
	struct neap_node *node = neap_alloc(sizeof(*node));

	if (node == NULL)
		return neap_error_nomem(err);
	node->config = *config;
	node->cgroup = cgroup;
	node->registry = registry;
	node->kind = neap_kind_find("qos");
	node->observe = (struct node_observe){.config = &node->config,
					      .cgroup = cgroup,
					      .given = &node->given,
					      .came = neap_workload_recall,
					      .node = node};
	node->plan = (struct node_plan){.config = &node->config,
					.cgroup = cgroup,
					.registry = registry,
					.observe = &node->observe,
					.given = &node->given,
					.made = &node->made};
	node->write = (struct node_write){.config = &node->config,
					  .cgroup = cgroup,
					  .plan = &node->plan,
					  .hand = hand};
	node->state = NODE_ACTING;
	if (config->dry_run)
		node->state = NODE_DRY_RUN;
	else if (hand == NULL)
		node->state = NODE_WATCHING;
	neap_kubelet_open(node);
	if (node_open(node, err) < 0) {
		neap_node_free(node);
		return -(int)err->code;
	}
	*ret = node;
	return 0;
}

static void free_map_of_groups(struct neap_map *groups)
{
	for (size_t i = 0; groups != NULL && i < neap_map_count(groups); i++) {
		struct node_group *group = neap_map_at(groups, i, NULL);

		neap_group_free(group->files);
		free(group);
	}
	neap_map_free(groups);
}

void neap_node_free(struct neap_node *node)
{
	if (node == NULL)
		return;
	neap_triggers_free(node->react.triggers);
	if (node->made.launches != NULL)
		neap_launch_free(node);
	if (node->made.pods != NULL)
		neap_pods_free(node);
	neap_map_free(node->made.pods);
	neap_node_pins_free(&node->given);
	neap_kubelet_close(node);
	for (size_t i = 0; node->observe.workloads != NULL &&
			   i < neap_map_count(node->observe.workloads);
	     i++)
		neap_workload_free(neap_map_at(node->observe.workloads, i, NULL));
	neap_map_free(node->observe.workloads);
	neap_map_free(node->made.launches);
	free_map_of_groups(node->observe.groups);
	if (node->plan.kept != NULL)
		neap_kept_clear(&node->plan);
	neap_map_free(node->plan.kept);
	neap_map_free(node->write.failures);
	for (size_t i = 0; i < node->write.pending_count; i++) {
		if (node->write.pending[i].dropped != NULL)
			node->write.pending[i].dropped(node->write.pending[i].arg);
		if (node->write.pending[i].is_arg_owned)
			free(node->write.pending[i].arg);
	}
	free(node->write.pending);
	free(node->observe.views);
	neap_scan_free(node->observe.scan);
	neap_readings_free(node->observe.readings);
	neap_window_free(node->observe.node_used);
	neap_plan_free(node->plan.plan);
	neap_audit_free(node->write.audit);
	(void)neap_topology_unref(node->observe.topology);
	free(node);
}

/* --- tick --- */

/* Removes groups whose workloads have ended. */
static void collect(struct neap_node *node)
{
	bool is_late =
		node->observe.mono_usec - node->observe.started_mono_usec >= GRACE_USEC;

	if (!neap_node_writes(&node->write) || node->is_frozen)
		return;
	for (size_t i = 0; i < neap_map_count(node->observe.workloads); i++) {
		struct node_workload *workload =
			neap_map_at(node->observe.workloads, i, NULL);

		if (workload->is_own && !workload->is_removing &&
		    workload->processes == 0)
			neap_launch_collect(node, workload);
	}
	if (neap_map_count(node->made.pods) > 0)
		neap_pods_collect(node, is_late);
	if (is_late && !node->made.are_records_swept) {
		node->made.are_records_swept = true;
		neap_workload_sweep(node);
	}
}

void neap_node_tick(struct neap_node *node, int64_t mono_usec, int64_t unix_usec)
{
	int64_t start = neap_clock_usec(CLOCK_THREAD_CPUTIME_ID), spent;
	struct neap_error err;

	if (!node->is_open)
		return;
	node->observe.ticks++;
	node->observe.mono_usec = mono_usec;
	node->observe.unix_usec = unix_usec;
	if (node->observe.started_mono_usec == 0)
		node->observe.started_mono_usec = mono_usec;
	if (node->state != NODE_WATCHING)
		node->is_frozen = access(node->config.freeze_file, F_OK) == 0;
	neap_trouble_look(&node->write);
	neap_kubelet_tick(node);
	if (neap_observe(&node->observe, &err) < 0) {
		neap_log_line(&node->config.log, NEAP_LOG_ERROR, "tick %llu: %s",
			      (unsigned long long)node->observe.ticks, err.msg);
	} else {
		neap_react_sync(node);
		if (node->config.record != NULL)
			neap_record_add(node->config.record, &node->observe.sample);
		if (node->state != NODE_RELEASED)
			neap_ask_policies(node);
		neap_plan_and_write(node);
		collect(node);
		if (neap_map_count(node->made.launches) > 0)
			neap_launch_go(node);
		neap_node_flush(&node->write);
	}
	spent = neap_clock_usec(CLOCK_THREAD_CPUTIME_ID) - start;
	node->tick_cpu_avg_usec =
		node->observe.ticks == 1
			? (double)spent
			: node->tick_cpu_avg_usec * 0.9 + (double)spent * 0.1;
}

bool neap_node_is_open(const struct neap_node *node)
{
	return node->is_open;
}

bool neap_node_wants_write(const struct neap_node *node)
{
	return node->write.wants_write;
}

/* --- operations --- */

struct operation {
	neap_node_done *done;
	void *arg;
	enum { OP_FREEZE, OP_RELEASE, OP_RESUME } verb;
	size_t kept;
	char by[64];
};

static void operated(struct neap_node *node, void *arg,
		     const struct neap_hand_answer *answer)
{
	static const char *const said[] = {"frozen", "released", "acting"};
	struct neap_hand_request list = {.op = NEAP_HAND_LIST};
	struct node_pending listed = {0};
	struct operation *operation = arg;
	struct neap_error err;
	int64_t given, stays = 0;
	char why[96];

	if (answer->errnum != 0) {
		(void)neap_error_set(&err, NEAP_ESYS, "%s%s%s", strerror(answer->errnum),
				     answer->text[0] != '\0' ? ": " : "", answer->text);
		operation->done(operation->arg, NULL, &err);
		free(operation);
		return;
	}
	if (operation->verb == OP_FREEZE)
		node->is_frozen = true;
	if (operation->verb == OP_RESUME) {
		node->is_frozen = false;
		node->state = NODE_ACTING;
	}
	/* Values of running pods stay. */
	if (answer->old_value[0] != '\0' &&
	    neap_int_parse(answer->old_value, &stays, NULL) < 0)
		stays = 0;
	if (operation->verb == OP_RELEASE) {
		node->plan.is_given_back = true;
		neap_kept_clear(&node->plan);
		/* The values that stay are listed again, as at the start. Without memory
		 * they are restored at the end. */
		if (stays > 0)
			(void)neap_node_send(&node->write, &list, &listed, &err);
	}
	(void)snprintf(why, sizeof(why), "%s (%s)", said[operation->verb], operation->by);
	neap_node_note(&node->write, "note", "", "operator", why, 0);
	neap_log_line(&node->config.log, NEAP_LOG_INFO, "operator: %s", why);
	given = (int64_t)operation->kept - stays;
	operation->done(operation->arg,
			json_pack("{s:s, s:I, s:I}", "state", said[operation->verb],
				  "given_back", (json_int_t)(given > 0 ? given : 0),
				  "stays_with_pods", (json_int_t)stays),
			NULL);
	free(operation);
}

void neap_node_operate(struct neap_node *node, const char *verb, const char *by,
		       neap_node_done *done, void *arg)
{
	static const struct {
		const char *verb;
		enum neap_hand_op op;
	} verbs[] = {
		{"freeze", NEAP_HAND_FREEZE},
		{"release", NEAP_HAND_GIVE_BACK},
		{"resume", NEAP_HAND_RESUME},
	};
	struct neap_hand_request request = {0};
	struct node_pending pending = {0};
	const enum node_state before = node->state;
	struct operation *operation;
	struct neap_error err;
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(verbs) && strcmp(verb, verbs[i].verb) != 0; i++)
		;
	if (i == NEAP_ARRAY_LEN(verbs)) {
		(void)neap_error_set(&err, NEAP_EINVAL,
				     "'%s': there is freeze, release, resume", verb);
		done(arg, NULL, &err);
		return;
	}
	operation = neap_alloc(sizeof(*operation));
	if (operation == NULL) {
		(void)neap_error_nomem(&err);
		done(arg, NULL, &err);
		return;
	}
	operation->done = done;
	operation->arg = arg;
	operation->verb = i;
	(void)neap_strcopy(operation->by, sizeof(operation->by), by);
	operation->kept = i == OP_RELEASE ? neap_map_count(node->plan.kept) : 0;
	request.op = verbs[i].op;
	pending.answered = operated;
	pending.arg = operation;
	pending.is_arg_owned = true;
	if (!node->is_open && neap_node_writes(&node->write)) {
		(void)neap_error_set(&err, NEAP_EUNAVAILABLE, "neapd is starting");
		done(arg, NULL, &err);
		free(operation);
		return;
	}
	/* The state changes before the hand is asked, so that no later plan can undo the
	 * release. */
	if (i == OP_RELEASE && neap_node_writes(&node->write)) {
		node->state = NODE_RELEASED;
		node->plan.is_given_back = false;
	}
	if (neap_node_send(&node->write, &request, &pending, &err) < 0) {
		node->state = before;
		done(arg, NULL, &err);
		free(operation);
		return;
	}
	neap_node_flush(&node->write);
}

const struct neap_topology *neap_node_topology(const struct neap_node *node)
{
	return node->observe.topology;
}

int64_t neap_node_memory_bytes(const struct neap_node *node)
{
	return node->observe.memory_bytes;
}

const struct neap_sample *neap_node_sample(const struct neap_node *node)
{
	return node->observe.has_reading ? &node->observe.sample : NULL;
}

const struct neap_audit *neap_node_audit(const struct neap_node *node)
{
	return node->write.audit;
}

bool neap_node_is_ready(const struct neap_node *node, const char **ret_why_not)
{
	*ret_why_not = node->observe.ticks == 0 ? "the first tick is not done" : "";
	return node->observe.ticks > 0;
}

void neap_node_note_policy(struct neap_node *node, const char *label, const char *what,
			   int64_t unix_usec)
{
	struct neap_audit_entry entry = {.unix_usec = unix_usec, .what = "note"};

	(void)neap_strcopy(entry.policy, sizeof(entry.policy), label);
	(void)neap_strcopy(entry.why, sizeof(entry.why), what);
	(void)neap_audit_add(node->write.audit, &entry);
}
