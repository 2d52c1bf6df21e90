/* SPDX-License-Identifier: Apache-2.0
 *
 * The filters in kube-scheduler's order; the first one that refuses a node gives the
 * reason. */
#include <string.h>

#include "engine/decide/decide.h"
#include "engine/decide/decide_priv.h"

const struct neap_reason_row neap_reasons[NEAP_REASON_COUNT] = {
	[NEAP_REASON_UNSCHEDULABLE] = {"node(s) were unschedulable", false},
	[NEAP_REASON_TAINT] = {"node(s) had untolerated taint {%s: %s}", false},
	[NEAP_REASON_NODE_AFFINITY] =
		{"node(s) didn't match Pod's node affinity/selector", false},
	[NEAP_REASON_ADDED_AFFINITY] =
		{"node(s) didn't match scheduler-enforced node affinity", false},
	[NEAP_REASON_PORTS] =
		{"node(s) didn't have free ports for the requested pod ports", true},
	[NEAP_REASON_TOO_MANY_PODS] = {"Too many pods", true},
	[NEAP_REASON_INSUFFICIENT] = {"Insufficient %s", true},
	[NEAP_REASON_CLAIM_IN_USE] =
		{"node has pod using PersistentVolumeClaim with the same name and "
		 "ReadWriteOncePod access mode",
		 true},
	[NEAP_REASON_POD] = {"", false},
	[NEAP_REASON_VOLUME_AFFINITY] = {"node(s) had volume node affinity conflict",
					 false},
	[NEAP_REASON_VOLUME_ZONE] = {"node(s) had no available volume zone", false},
	[NEAP_REASON_SPREAD_LABEL] =
		{"node(s) didn't match pod topology spread constraints (missing required label)",
		 false},
	[NEAP_REASON_SPREAD] = {"node(s) didn't match pod topology spread constraints",
				true},
	[NEAP_REASON_NEAR] = {"node(s) didn't match pod affinity rules", false},
	[NEAP_REASON_AWAY] = {"node(s) didn't match pod anti-affinity rules", true},
	[NEAP_REASON_UNWANTED] =
		{"node(s) didn't satisfy existing pods anti-affinity rules", true},
	[NEAP_REASON_LOAD_EXPIRED] = {"node(s) nodeMetric expired", true},
	[NEAP_REASON_LOAD] = {"node(s) %s usage exceed threshold", true},
	[NEAP_REASON_LOAD_AGGREGATED] = {"node(s) %s aggregated usage exceed threshold",
					 true},
	[NEAP_REASON_CPUS] = {"node(s) give CPUs in another way", false},
	[NEAP_REASON_KEPT] = {"node(s) have no reservation for it", false},
	[NEAP_REASON_KEPT_ROOM] = {"node(s) have reservations without room", true},
	[NEAP_REASON_CPUS_ROOM] = {"node(s) didn't have the CPUs or NUMA nodes", true},
	[NEAP_REASON_MORE] = {"%s", true},
	[NEAP_REASON_LATE] = {"node(s) were not looked at in time", true},
	[NEAP_REASON_COSTLY] =
		{"node(s) were not looked at: the pod's rules, or those of other pods, "
		 "ask for too much",
		 false},
};

/* --- spec.unschedulable --- */

static bool tolerates_cordon(const struct neap_pod *pod)
{
	for (size_t i = 0; i < pod->toleration_count; i++)
		if (neap_toleration_takes(&pod->tolerations[i],
					  "node.kubernetes.io/unschedulable", "",
					  NEAP_TAINT_NO_SCHEDULE))
			return true;
	return false;
}

static bool prepare_cordon(struct neap_cycle *cycle)
{
	return !tolerates_cordon(cycle->pod);
}

static bool is_open(struct neap_cycle *cycle, uint32_t row)
{
	return !(cycle->columns->flags[row] & NEAP_ROW_IS_CORDONED) ||
	       neap_cycle_refuse(cycle, row, NEAP_REASON_UNSCHEDULABLE, 0);
}

/* --- taints --- */

bool neap_cycle_tolerates(struct neap_cycle *cycle, const struct neap_taint *taint)
{
	uint8_t *known = &cycle->tolerated[taint->number];

	if (*known)
		return *known == 1;
	*known = 2;
	(void)neap_cycle_spend(cycle, (int64_t)cycle->pod->toleration_count);
	for (size_t i = 0; i < cycle->pod->toleration_count; i++)
		if (neap_toleration_takes(&cycle->pod->tolerations[i], taint->key,
					  taint->value, taint->effect))
			*known = 1;
	return *known == 1;
}

static bool has_no_taint(struct neap_cycle *cycle, uint32_t row)
{
	const struct neap_cluster_node *node;

	if (!(cycle->columns->flags[row] & NEAP_ROW_HAS_TAINTS))
		return true;
	node = cycle->columns->nodes[row];
	for (size_t i = 0; i < node->taint_count; i++) {
		const struct neap_taint *taint = node->taints[i];

		if (taint->effect != NEAP_TAINT_PREFER_NO_SCHEDULE &&
		    !neap_cycle_tolerates(cycle, taint))
			return neap_cycle_refuse(cycle, row, NEAP_REASON_TAINT,
						 taint->number);
	}
	return true;
}

/* --- labels --- */

static bool prepare_affinity(struct neap_cycle *cycle)
{
	cycle->row_cost += cycle->node_rules;
	return cycle->pod->node_selector.count || cycle->pod->has_affinity ||
	       cycle->settings->has_added;
}

static bool has_labels(struct neap_cycle *cycle, uint32_t row)
{
	const struct neap_pod *pod = cycle->pod;
	const struct neap_object *node = cycle->columns->nodes[row]->object;

	if (cycle->settings->has_added &&
	    !neap_terms_match(&cycle->settings->added, node))
		return neap_cycle_refuse(cycle, row, NEAP_REASON_ADDED_AFFINITY, 0);
	if ((!pod->node_selector.count || neap_term_matches(&pod->node_selector, node)) &&
	    (!pod->has_affinity || neap_terms_match(&pod->affinity, node)))
		return true;
	return neap_cycle_refuse(cycle, row, NEAP_REASON_NODE_AFFINITY, 0);
}

/* --- ports --- */

#define PORTS_A_STEP 32 /* pairs */

bool neap_ports_collide(const struct neap_pod *a, const struct neap_pod *b)
{
	for (size_t i = 0; i < a->port_count; i++)
		for (size_t n = 0; n < b->port_count; n++)
			if (neap_host_port_collides(&a->ports[i], &b->ports[n]))
				return true;
	return false;
}

static bool prepare_ports(struct neap_cycle *cycle)
{
	const struct neap_pod *other;

	if (!cycle->pod->port_count)
		return false;
	for (size_t at = 0; (other = neap_nominated_next(cycle, &at));)
		if (neap_ports_collide(cycle->pod, other))
			neap_nominated_note(cycle, other, NEAP_NOMINATED_PORTS);
	return true;
}

static bool has_ports(struct neap_cycle *cycle, uint32_t row)
{
	const struct neap_cluster_node *node = cycle->columns->nodes[row];
	const struct neap_pod *other;
	size_t at = 0;

	if (neap_nominated_is(cycle, row, NEAP_NOMINATED_PORTS))
		return neap_cycle_refuse(cycle, row, NEAP_REASON_PORTS, 0);
	while ((other = neap_kept_next_real(cycle, row, &at)))
		if (neap_ports_collide(cycle->pod, other))
			return neap_cycle_refuse(cycle, row, NEAP_REASON_PORTS, 0);
	if (!(cycle->columns->flags[row] & NEAP_ROW_HAS_PORTS))
		return true;
	for (size_t i = 0; i < node->pod_count; i++) {
		size_t pairs = cycle->pod->port_count * node->pods[i]->port_count;

		if (!neap_cycle_spend(cycle, (int64_t)(pairs / PORTS_A_STEP)))
			return neap_cycle_refuse(cycle, row, NEAP_REASON_COSTLY, 0);
		if (neap_ports_collide(cycle->pod, node->pods[i]))
			return neap_cycle_refuse(cycle, row, NEAP_REASON_PORTS, 0);
	}
	return true;
}

/* --- resources --- */

static bool is_ignored(const struct neap_settings *settings, const char *name)
{
	const char *slash = strchr(name, '/');

	if (!slash || strstr(name, "kubernetes.io/"))
		return false;
	for (size_t i = 0; i < settings->ignored.count; i++)
		if (strcmp(settings->ignored.of[i], name) == 0)
			return true;
	for (size_t i = 0; i < settings->ignored_groups.count; i++) {
		const char *group = settings->ignored_groups.of[i];

		if (strlen(group) == (size_t)(slash - name) &&
		    strncmp(group, name, (size_t)(slash - name)) == 0)
			return true;
	}
	return false;
}

static void find_ignored(struct neap_cycle *cycle)
{
	const struct neap_settings *settings = cycle->settings;
	const struct neap_resources *resources = neap_cluster_resources(cycle->cluster);
	const struct neap_pod *pod = cycle->pod;

	cycle->ignored = cycle->ignored_unknown = 0;
	if (!settings->ignored.count && !settings->ignored_groups.count)
		return;
	for (size_t i = 0; i < pod->request_count && i < NEAP_AMOUNTS_MAX; i++)
		if (is_ignored(settings,
			       neap_resources_name(resources, pod->requests[i].resource)))
			cycle->ignored |= UINT64_C(1) << i;
	for (size_t i = 0; i < pod->unknown_count; i++)
		if (is_ignored(settings, pod->unknown[i].name))
			cycle->ignored_unknown |= UINT64_C(1) << i;
}

static bool prepare_room(struct neap_cycle *cycle)
{
	/* Its room is what pods have that it takes over: filter Reservation. */
	if (neap_kept_takes_over(&cycle->kept))
		return false;
	find_ignored(cycle);
	return true;
}

/* Reports every resource that is short. */
static bool has_room(struct neap_cycle *cycle, uint32_t row)
{
	const struct neap_columns *columns = cycle->columns;
	const struct neap_pod *pod = cycle->pod;
	bool fits = true;

	for (size_t i = 0; i < pod->request_count; i++) {
		uint32_t resource = pod->requests[i].resource;
		int64_t allocatable = 0, used = 0;

		if (cycle->ignored >> i & 1)
			continue;
		if (columns->allocatable[resource]) {
			allocatable = columns->allocatable[resource][row];
			used = columns->used[resource][row];
		}
		for (size_t at = 0; resource == NEAP_RESOURCE_PODS &&
				    neap_kept_next_real(cycle, row, &at);)
			used++;
		if (cycle->nominated.count)
			used = neap_amount_sum(
				used, neap_cycle_nominated(cycle, row, resource));
		if (pod->requests[i].amount <= allocatable - used)
			continue;
		if (cycle->kept.count &&
		    pod->requests[i].amount <=
			    allocatable - used + neap_kept_beyond(cycle, row, resource))
			continue;
		fits = neap_cycle_refuse(cycle, row,
					 resource == NEAP_RESOURCE_PODS
						 ? NEAP_REASON_TOO_MANY_PODS
						 : NEAP_REASON_INSUFFICIENT,
					 resource == NEAP_RESOURCE_PODS ? 0 : resource);
	}
	for (size_t i = 0; i < pod->unknown_count; i++)
		if (!(cycle->ignored_unknown >> i & 1))
			fits = neap_cycle_refuse(cycle, row, NEAP_REASON_INSUFFICIENT,
						 NEAP_RESOURCES_MAX + (uint32_t)i);
	return fits;
}

static const struct neap_filter filter_cordon = {"NodeUnschedulable", prepare_cordon,
						 is_open, NEAP_MOVED_TAINTS},
				filter_taints = {"TaintToleration", NULL, has_no_taint,
						 NEAP_MOVED_TAINTS},
				filter_labels = {"NodeAffinity", prepare_affinity,
						 has_labels, NEAP_MOVED_LABELS},
				filter_ports = {"NodePorts", prepare_ports, has_ports,
						NEAP_MOVED_POD_GONE};
const struct neap_filter neap_filter_room = {"NodeResourcesFit", prepare_room, has_room,
					     NEAP_MOVED_POD_GONE | NEAP_MOVED_ROOM};

/* There is no filter NodeName: a pod that names its node is placed already. */
const struct neap_filter *const neap_filters[] = {
	&filter_cordon,       &filter_taints,
	&filter_labels,       &filter_ports,
	&neap_filter_room,    &neap_filter_claims,
	&neap_filter_volumes, &neap_filter_zones,
	&neap_filter_spread,  &neap_filter_near,
	&neap_filter_load,    &neap_filter_cpus,
	&neap_filter_kept,    NULL,
};

/* Beside those of the table filter_stop and neap_filter_match may come first. */
_Static_assert(NEAP_ARRAY_LEN(neap_filters) - 1 + 2 <= NEAP_FILTERS_MAX,
	       "NEAP_FILTERS_MAX has no room for all filters: one would be left out");
_Static_assert(NEAP_ARRAY_LEN(neap_filters) - 1 <=
		       8 * sizeof(((struct neap_settings *)0)->filters_off),
	       "filters_off has a bit for each filter");

/* --- those that have something to say of a pod --- */

static bool refuse_all(struct neap_cycle *cycle, uint32_t row)
{
	return neap_cycle_refuse(cycle, row, NEAP_REASON_POD, 0);
}

/* That of neap_filter_volumes: claims alone stop a pod. */
static const struct neap_filter filter_stop = {"VolumeBinding", NULL, refuse_all,
					       NEAP_MOVED_VOLUMES};

static size_t put_first(const struct neap_filter **active, size_t count,
			const struct neap_filter *filter)
{
	memmove(&active[1], &active[0], count * sizeof(*active));
	active[0] = filter;
	return count + 1;
}

size_t neap_filters_prepare(struct neap_cycle *cycle, const struct neap_filter **active)
{
	size_t count = 0;

	cycle->stop = NULL;
	cycle->row_cost = 0;
	neap_cycle_find_nominated(cycle);
	for (size_t i = 0; neap_filters[i]; i++)
		if (!(cycle->settings->filters_off >> i & 1) &&
		    (!neap_filters[i]->prepare || neap_filters[i]->prepare(cycle)))
			active[count++] = neap_filters[i];
	/* The last one has a say in which nodes are looked at at all. */
	if (count && active[count - 1] == &neap_filter_kept &&
	    neap_filter_match.prepare(cycle))
		count = put_first(active, count, &neap_filter_match);
	/* No other is asked, but by a report. */
	return cycle->stop ? put_first(active, count, &filter_stop) : count;
}
