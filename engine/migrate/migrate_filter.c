/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/migrate/migrate_filter.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/text.h"
#include "engine/json/json.h"
#include "engine/migrate/arbitrate.h"
#include "engine/migrate/migrate_counts.h"
#include "engine/migrate/object_limit.h"

/* From here on priorities belong to the system. */
#define CRITICAL_PRIORITY INT64_C(2000000000)

const char *neap_migrate_check_name(enum neap_migrate_check check)
{
	static const char *const names[NEAP_CHECK_COUNT] = {
		[NEAP_CHECK_NONE] = "",
		[NEAP_CHECK_EVICTION_COST] = "EvictionCost",
		[NEAP_CHECK_NAMESPACES] = "Namespaces",
		[NEAP_CHECK_DAEMON_SET] = "DaemonSet",
		[NEAP_CHECK_MIRROR] = "MirrorPod",
		[NEAP_CHECK_STATIC] = "StaticPod",
		[NEAP_CHECK_TERMINATING] = "Terminating",
		[NEAP_CHECK_BARE] = "BarePods",
		[NEAP_CHECK_PRIORITY] = "PriorityThreshold",
		[NEAP_CHECK_LOCAL_STORAGE] = "LocalStorage",
		[NEAP_CHECK_PVC] = "PVC",
		[NEAP_CHECK_LABELS] = "LabelSelector",
		[NEAP_CHECK_REPLICAS] = "ExpectedReplicas",
		[NEAP_CHECK_NODE_FIT] = "NodeFit",
		[NEAP_CHECK_GLOBALLY] = "MaxMigratingGlobally",
		[NEAP_CHECK_NODE] = "MaxMigratingPerNode",
		[NEAP_CHECK_NAMESPACE] = "MaxMigratingPerNamespace",
		[NEAP_CHECK_WORKLOAD_MIGRATING] = "MaxMigratingPerWorkload",
		[NEAP_CHECK_WORKLOAD_UNAVAILABLE] = "MaxUnavailablePerWorkload",
		[NEAP_CHECK_EXISTING_JOB] = "ExistingJob",
		[NEAP_CHECK_SCHEDULER] = "SchedulerName",
		[NEAP_CHECK_LIMITER] = "ObjectLimiter",
	};

	return names[check];
}

/* --- the pod --- */

static const json_t *meta(const struct neap_migrate_question *ask)
{
	return json_object_get(ask->pod, "metadata");
}

static const char *note(const struct neap_migrate_question *ask, const char *key)
{
	return json_string_value(
		json_object_get(json_object_get(meta(ask), "annotations"), key));
}

static bool is_among(const json_t *list, const char *text)
{
	json_t *one;
	size_t i;

	json_array_foreach (list, i, one)
		if (strcmp(json_string_value(one), text) == 0)
			return true;
	return false;
}

static bool is_forced(const struct neap_migrate_question *ask)
{
	if (ask->facts)
		return ask->facts->is_forced;
	return json_object_get(json_object_get(meta(ask), "annotations"),
			       NEAP_KEY_FORCE) != NULL;
}

static bool is_outside(const struct neap_migrate_question *ask)
{
	const struct neap_migrate_args *args = ask->args;
	const char *ns = neap_json_text(meta(ask), "namespace");

	if (json_array_size(args->include) > 0)
		return !is_among(args->include, ns);
	return is_among(args->exclude, ns);
}

static bool is_bare(const struct neap_migrate_question *ask)
{
	const struct neap_migrate_args *args = ask->args;

	if (args->all_bare_pods ||
	    json_array_size(json_object_get(meta(ask), "ownerReferences")) > 0)
		return false;
	return !args->failed_bare_pods ||
	       !neap_json_is_text(json_object_get(ask->pod, "status"), "phase", "Failed");
}

static bool is_important(const struct neap_migrate_question *ask)
{
	const struct neap_migrate_args *args = ask->args;
	const json_t *value = neap_json_at(ask->pod, "spec.priority");
	int64_t priority = json_integer_value(value);

	if (args->system_critical || !json_is_integer(value))
		return false;
	return priority >= CRITICAL_PRIORITY ||
	       (args->has_threshold && priority >= args->threshold);
}

static bool has_volume(const struct neap_migrate_question *ask, const char *const *kinds)
{
	json_t *volume;
	size_t i;

	json_array_foreach (neap_json_at(ask->pod, "spec.volumes"), i, volume)
		for (const char *const *kind = kinds; *kind; kind++) {
			const json_t *source = json_object_get(volume, *kind);

			if (source && !json_is_null(source))
				return true;
		}
	return false;
}

static bool has_owner_of(const struct neap_migrate_question *ask, const char *kind)
{
	return neap_json_find(json_object_get(meta(ask), "ownerReferences"), "kind",
			      kind) != NULL;
}

/* Of the pod alone. */
enum neap_migrate_check neap_migrate_check_pod(const struct neap_migrate_question *ask)
{
	static const char *const local[] = {"hostPath", "emptyDir", NULL};
	static const char *const claim[] = {"persistentVolumeClaim", NULL};
	const struct neap_migrate_args *args = ask->args;
	const char *source = note(ask, "kubernetes.io/config.source");
	struct neap_pod_order order;

	neap_pod_order_read(ask->pod, &order);
	if (order.eviction_cost == NEAP_EVICTION_COST_NEVER)
		return NEAP_CHECK_EVICTION_COST;
	if (is_outside(ask))
		return NEAP_CHECK_NAMESPACES;
	if (has_owner_of(ask, "DaemonSet"))
		return NEAP_CHECK_DAEMON_SET;
	if (note(ask, "kubernetes.io/config.mirror"))
		return NEAP_CHECK_MIRROR;
	if (source && strcmp(source, "api") != 0)
		return NEAP_CHECK_STATIC;
	if (json_object_get(meta(ask), "deletionTimestamp"))
		return NEAP_CHECK_TERMINATING;
	if (is_bare(ask))
		return NEAP_CHECK_BARE;
	if (is_important(ask))
		return NEAP_CHECK_PRIORITY;
	if (!args->local_storage && has_volume(ask, local))
		return NEAP_CHECK_LOCAL_STORAGE;
	if (args->ignore_pvc && has_volume(ask, claim))
		return NEAP_CHECK_PVC;
	if (args->selector &&
	    !neap_selector_matches(args->selector, json_object_get(meta(ask), "labels")))
		return NEAP_CHECK_LABELS;
	return NEAP_CHECK_NONE;
}

/* --- its workload and other jobs --- */

static const struct neap_migrate_pod *facts_of(const struct neap_migrate_question *ask)
{
	if (ask->facts)
		return ask->facts;
	return neap_migrate_find_pod(ask->cluster, neap_json_text(meta(ask), "namespace"),
				     neap_json_text(meta(ask), "name"));
}

enum neap_migrate_check
neap_migrate_check_replicas(const struct neap_migrate_question *ask)
{
	const struct neap_migrate_args *args = ask->args;
	const struct neap_migrate_pod *pod = facts_of(ask);
	const struct neap_migrate_workload *workload;
	int64_t count;

	if (args->any_replicas || !pod ||
	    !neap_migrate_replicas(ask->cluster, pod, &workload, &count))
		return NEAP_CHECK_NONE;
	if (count == 1 || count == neap_scaled_of(&args->migrating, count) ||
	    count == neap_scaled_of(&args->unavailable, count))
		return NEAP_CHECK_REPLICAS;
	return NEAP_CHECK_NONE;
}

static struct neap_migrate_who who(const struct neap_migrate_question *ask)
{
	if (ask->facts)
		return (struct neap_migrate_who){ask->facts->ns, ask->facts->name,
						 ask->facts->uid};
	return (struct neap_migrate_who){neap_json_text(meta(ask), "namespace"),
					 neap_json_text(meta(ask), "name"),
					 neap_json_text(meta(ask), "uid")};
}

static enum neap_migrate_jobs which(const struct neap_migrate_question *ask)
{
	return ask->arbitrates ? NEAP_JOBS_BEGUN : NEAP_JOBS_ACTIVE;
}

enum neap_migrate_check
neap_migrate_check_globally(const struct neap_migrate_question *ask)
{
	const struct neap_migrate_who one = who(ask);
	int64_t max = ask->args->globally;

	return max > 0 && neap_migrate_count_others(ask->cluster, which(ask), &one,
						    false) >= max
		       ? NEAP_CHECK_GLOBALLY
		       : NEAP_CHECK_NONE;
}

enum neap_migrate_check neap_migrate_check_node(const struct neap_migrate_question *ask)
{
	const struct neap_migrate_who one = who(ask);
	const char *node = ask->facts ? ask->facts->node
				      : neap_json_text(json_object_get(ask->pod, "spec"),
						       "nodeName");
	int64_t max = ask->args->per_node;

	return max > 0 && *node &&
			       neap_migrate_count_node(ask->cluster, which(ask), &one,
						       node) >= max
		       ? NEAP_CHECK_NODE
		       : NEAP_CHECK_NONE;
}

enum neap_migrate_check
neap_migrate_check_namespace(const struct neap_migrate_question *ask)
{
	const struct neap_migrate_who one = who(ask);
	int64_t max = ask->args->per_namespace;

	return max > 0 && neap_migrate_count_others(ask->cluster, which(ask), &one,
						    true) >= max
		       ? NEAP_CHECK_NAMESPACE
		       : NEAP_CHECK_NONE;
}

/* Of all ReplicaSets of the Deployment, or of the one controller. */
static int64_t count_unavailable(const struct neap_migrate_question *ask,
				 const struct neap_migrate_pod *pod,
				 const struct neap_migrate_workload *workload)
{
	const struct neap_migrate_workload *set;
	int64_t count = 0;

	if (!workload || strcmp(workload->kind, "Deployment") != 0)
		return neap_migrate_count_unserving(ask->cluster, pod->owner_uid);
	set = neap_migrate_first_of(ask->cluster, workload);
	for (; set; set = set->next)
		count += neap_migrate_count_unserving(ask->cluster, set->uid);
	return count;
}

enum neap_migrate_check
neap_migrate_check_workload(const struct neap_migrate_question *ask)
{
	const struct neap_migrate_args *args = ask->args;
	const struct neap_migrate_pod *pod = facts_of(ask);
	const struct neap_migrate_workload *workload;
	int64_t replicas, migrating, more;

	if (!pod || !neap_migrate_replicas(ask->cluster, pod, &workload, &replicas))
		return NEAP_CHECK_NONE;
	migrating = neap_migrate_count_owner(ask->cluster, which(ask), pod, &more);
	if (!args->skips[NEAP_GATE_MIGRATING_PER_WORKLOAD] && migrating > 0 &&
	    migrating >= neap_scaled_of(&args->migrating, replicas))
		return NEAP_CHECK_WORKLOAD_MIGRATING;
	if (!args->skips[NEAP_GATE_UNAVAILABLE_PER_WORKLOAD] &&
	    count_unavailable(ask, pod, workload) + more >=
		    neap_scaled_of(&args->unavailable, replicas))
		return NEAP_CHECK_WORKLOAD_UNAVAILABLE;
	return NEAP_CHECK_NONE;
}

enum neap_migrate_check
neap_migrate_check_existing(const struct neap_migrate_question *ask)
{
	const struct neap_migrate_who one = who(ask);

	return neap_migrate_has_job(ask->cluster, &one) ? NEAP_CHECK_EXISTING_JOB
							: NEAP_CHECK_NONE;
}

/* --- all --- */

static enum neap_elsewhere fits_elsewhere(const struct neap_migrate_question *ask)
{
	const struct neap_migrate_who one = who(ask);

	return ask->args->node_fit && ask->fits_elsewhere
		       ? ask->fits_elsewhere(ask->arg, ask->args, one.ns, one.name)
		       : NEAP_ELSEWHERE_FITS;
}

enum neap_migrate_check neap_migrate_forbids(const struct neap_migrate_question *ask)
{
	enum neap_migrate_check check;

	if (is_forced(ask))
		return NEAP_CHECK_NONE;
	check = ask->facts && ask->facts->known ? ask->facts->known->check
						: neap_migrate_check_pod(ask);
	if (check == NEAP_CHECK_NONE)
		check = neap_migrate_check_replicas(ask);
	if (check == NEAP_CHECK_NONE && fits_elsewhere(ask) == NEAP_ELSEWHERE_NO)
		check = NEAP_CHECK_NODE_FIT;
	return check;
}

enum neap_migrate_check neap_migrate_holds(const struct neap_migrate_question *ask)
{
	static enum neap_migrate_check (*const checks[])(
		const struct neap_migrate_question *ask) = {
		neap_migrate_check_globally,
		neap_migrate_check_node,
		neap_migrate_check_namespace,
		neap_migrate_check_workload,
	};
	enum neap_migrate_check check = NEAP_CHECK_NONE;

	if (is_forced(ask))
		return NEAP_CHECK_NONE;
	for (size_t i = 0; check == NEAP_CHECK_NONE && i < NEAP_ARRAY_LEN(checks); i++)
		check = checks[i](ask);
	/* An arbitrated job can wait until the answer is known. */
	if (check == NEAP_CHECK_NONE && ask->arbitrates &&
	    fits_elsewhere(ask) == NEAP_ELSEWHERE_UNKNOWN)
		check = NEAP_CHECK_NODE_FIT;
	return check;
}

static bool can_reserve(const struct neap_migrate_question *ask)
{
	const char *scheduler =
		neap_json_text(json_object_get(ask->pod, "spec"), "schedulerName");
	const char *const *served = ask->args->served;

	if (is_among(ask->args->schedulers, scheduler))
		return true;
	while (served && *served && strcmp(*served, scheduler) != 0)
		served++;
	return served && *served;
}

enum neap_migrate_check neap_migrate_refuses_ever(const struct neap_migrate_question *ask)
{
	enum neap_migrate_check check = neap_migrate_check_existing(ask);

	if (check == NEAP_CHECK_NONE && !ask->args->is_direct && !can_reserve(ask))
		check = NEAP_CHECK_SCHEDULER;
	return check == NEAP_CHECK_NONE ? neap_migrate_forbids(ask) : check;
}

enum neap_migrate_check neap_migrate_refuses_now(const struct neap_migrate_question *ask)
{
	const struct neap_migrate_who one = who(ask);
	const struct neap_object_limited of = {.limiter = ask->limiter,
					       .args = ask->args,
					       .cluster = ask->cluster,
					       .ns = one.ns,
					       .name = one.name,
					       .now_usec = ask->now_usec};
	enum neap_migrate_check check = neap_migrate_holds(ask);

	if (check == NEAP_CHECK_NONE && ask->limiter && neap_object_limit_holds(&of))
		check = NEAP_CHECK_LIMITER;
	return check;
}

enum neap_migrate_check neap_migrate_refuses(const struct neap_migrate_question *ask)
{
	enum neap_migrate_check check = neap_migrate_refuses_ever(ask);

	return check == NEAP_CHECK_NONE ? neap_migrate_refuses_now(ask) : check;
}
