/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts of a pod that a round needs in addition to the scheduler's: owners, state of its
 * containers, conditions, classes, annotations. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/deschedule/world_priv.h"
#include "engine/json/json.h"

#define EVICT_ANNOTATION  "descheduler.alpha.kubernetes.io/evict"
#define STAY_ANNOTATION   "descheduler.alpha.kubernetes.io/prefer-no-eviction"
#define MIRROR_ANNOTATION "kubernetes.io/config.mirror"
#define SOURCE_ANNOTATION "kubernetes.io/config.source"
#define COST_ANNOTATION   "scheduling.koordinator.sh/eviction-cost"
#define DELETE_ANNOTATION "controller.kubernetes.io/pod-deletion-cost"

static const char *copy(struct neap_world_pod *pod, const json_t *object,
			const char *name)
{
	const char *text = neap_json_text(object, name);
	const char *ret = *text ? neap_arena_strdup(&pod->arena, text) : "";

	return ret ? ret : "";
}

/* At most NEAP_WORLD_ITEMS_MAX elements are looked at. */
static size_t count_of(const json_t *list)
{
	size_t count = json_array_size(list);

	return count < NEAP_WORLD_ITEMS_MAX ? count : NEAP_WORLD_ITEMS_MAX;
}

/* --- owners --- */

static struct neap_world_group *join_group(struct neap_world *world, const char *uid)
{
	struct neap_world_group *group = neap_map_find(world->own->groups, uid);

	if (!group) {
		group = neap_alloc(sizeof(*group) + strlen(uid) + 1);
		if (!group)
			return NULL;
		memcpy(group->uid, uid, strlen(uid) + 1);
		if (!neap_map_set(world->own->groups, uid, group)) {
			free(group);
			return NULL;
		}
	}
	group->pods++;
	return group;
}

static void leave_group(struct neap_world *world, struct neap_world_group *group)
{
	if (!group || --group->pods)
		return;
	(void)neap_map_remove(world->own->groups, group->uid);
	free(group);
}

static int read_owners(struct neap_world *world, struct neap_world_pod *pod,
		       const json_t *list, struct neap_error *err)
{
	size_t count = count_of(list);

	pod->owners = neap_arena_array(&pod->arena, count, sizeof(*pod->owners));
	if (!pod->owners)
		return neap_error_nomem(err);
	for (size_t i = 0; i < count; i++) {
		const json_t *json = json_array_get(list, i);
		struct neap_world_owner *owner = &pod->owners[i];

		owner->kind = copy(pod, json, "kind");
		owner->name = copy(pod, json, "name");
		owner->uid = copy(pod, json, "uid");
		owner->is_controller = json_is_true(json_object_get(json, "controller"));
		owner->group = join_group(world, owner->uid);
		if (!owner->group)
			return neap_error_nomem(err);
		pod->owner_count++;
		if (strcmp(owner->kind, "DaemonSet") == 0)
			pod->flags |= NEAP_WORLD_IS_DAEMON;
	}
	return 0;
}

/* --- containers --- */

static void read_state(struct neap_world_pod *pod, struct neap_world_container *to,
		       const json_t *status)
{
	const json_t *state = json_object_get(status, "state");
	const json_t *ended = json_object_get(state, "terminated");

	to->restarts = json_integer_value(json_object_get(status, "restartCount"));
	to->waiting = copy(pod, json_object_get(state, "waiting"), "reason");
	to->terminated = copy(pod, ended, "reason");
	to->has_exit = json_is_object(ended);
	to->exit_code = (int32_t)json_integer_value(json_object_get(ended, "exitCode"));
}

static void read_part(struct neap_world_pod *pod, const json_t *specs,
		      const json_t *statuses, enum neap_world_part part)
{
	size_t from = pod->container_count, count = count_of(specs);

	for (size_t i = 0; i < count; i++) {
		const json_t *spec = json_array_get(specs, i);
		struct neap_world_container *to =
			&pod->containers[pod->container_count++];

		to->name = copy(pod, spec, "name");
		to->image = copy(pod, spec, "image");
		to->part = part;
		to->waiting = to->terminated = "";
	}
	for (size_t i = 0; i < count_of(statuses); i++) {
		const json_t *status = json_array_get(statuses, i);
		const char *name = neap_json_text(status, "name");
		size_t at = from;

		while (at < pod->container_count &&
		       strcmp(pod->containers[at].name, name) != 0)
			at++;
		/* A status without a container of its name counts too; there is room. */
		if (at == pod->container_count) {
			pod->containers[at].name = copy(pod, status, "name");
			pod->containers[at].image = copy(pod, status, "image");
			pod->containers[at].part = part;
			pod->container_count++;
		}
		read_state(pod, &pod->containers[at], status);
	}
}

static int read_containers(struct neap_world_pod *pod, const json_t *spec,
			   const json_t *status, struct neap_error *err)
{
	static const char *const names[][2] = {
		{"containers", "containerStatuses"},
		{"initContainers", "initContainerStatuses"},
		{"ephemeralContainers", "ephemeralContainerStatuses"},
	};
	size_t room = 0;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++)
		room += count_of(json_object_get(spec, names[i][0])) +
			count_of(json_object_get(status, names[i][1]));
	pod->containers = neap_arena_array(&pod->arena, room, sizeof(*pod->containers));
	if (!pod->containers)
		return neap_error_nomem(err);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++)
		read_part(pod, json_object_get(spec, names[i][0]),
			  json_object_get(status, names[i][1]), (enum neap_world_part)i);
	for (size_t i = 0; i < pod->container_count; i++)
		if (pod->containers[i].part == NEAP_PART_MAIN)
			pod->restarts += pod->containers[i].restarts;
	return 0;
}

static int read_conditions(struct neap_world_pod *pod, const json_t *list,
			   struct neap_error *err)
{
	size_t count = count_of(list);

	pod->conditions = neap_arena_array(&pod->arena, count, sizeof(*pod->conditions));
	if (!pod->conditions)
		return neap_error_nomem(err);
	pod->condition_count = count;
	for (size_t i = 0; i < count; i++) {
		const json_t *json = json_array_get(list, i);
		struct neap_world_condition *to = &pod->conditions[i];
		const char *since = neap_json_text(json, "lastTransitionTime");

		to->type = copy(pod, json, "type");
		to->status = copy(pod, json, "status");
		to->reason = copy(pod, json, "reason");
		if (neap_time_parse(since, &to->since_usec, NULL) < 0)
			to->since_usec = 0;
	}
	return 0;
}

/* --- classes and annotations --- */

static bool has_amount(const json_t *map, const char *name, int64_t *ret)
{
	char number[NEAP_AMOUNT_TEXT];
	const char *text = neap_amount_text(json_object_get(map, name), number);

	return text && neap_quantity_parse_milli(text, ret, NULL) == 0 && *ret > 0;
}

/* As Kubernetes classes it, for pods whose status does not say. */
static void class_containers(const json_t *list, bool *is_guaranteed, bool *asks)
{
	static const char *const names[] = {"cpu", "memory"};

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *resources =
			json_object_get(json_array_get(list, i), "resources");
		const json_t *requests = json_object_get(resources, "requests");
		const json_t *limits = json_object_get(resources, "limits");

		for (size_t n = 0; n < NEAP_ARRAY_LEN(names); n++) {
			int64_t request = 0, limit = 0;
			bool has_request = has_amount(requests, names[n], &request);
			bool has_limit = has_amount(limits, names[n], &limit);

			*asks = *asks || has_request || has_limit;
			if (!has_limit || (has_request && request != limit))
				*is_guaranteed = false;
		}
	}
}

static enum neap_kube_qos kube_qos_of(const json_t *spec, const json_t *status)
{
	bool is_guaranteed = true, asks = false;
	enum neap_kube_qos qos;

	if (neap_kube_qos_parse(neap_json_text(status, "qosClass"), &qos, NULL) == 0)
		return qos;
	class_containers(json_object_get(spec, "containers"), &is_guaranteed, &asks);
	class_containers(json_object_get(spec, "initContainers"), &is_guaranteed, &asks);
	if (!asks)
		return NEAP_KUBE_BESTEFFORT;
	return is_guaranteed ? NEAP_KUBE_GUARANTEED : NEAP_KUBE_BURSTABLE;
}

static void read_classes(struct neap_world_pod *pod, const json_t *spec,
			 const json_t *status)
{
	const struct neap_object *object = pod->pod->object;
	const char *band = neap_object_label(object, "koordinator.sh/priority-class");
	const char *qos = neap_object_label(object, "koordinator.sh/qosClass");
	const int32_t *priority =
		pod->flags & NEAP_WORLD_HAS_PRIORITY ? &pod->pod->priority : NULL;

	pod->kube_qos = kube_qos_of(spec, status);
	pod->qos = qos ? neap_qos_parse(qos) : NEAP_QOS_NONE;
	if (pod->qos == NEAP_QOS_NONE)
		pod->qos = pod->kube_qos == NEAP_KUBE_GUARANTEED  ? NEAP_QOS_LSR
			   : pod->kube_qos == NEAP_KUBE_BURSTABLE ? NEAP_QOS_LS
								  : NEAP_QOS_BE;
	pod->said_band = neap_band_said(band, priority);
	pod->band = neap_band_of(band, priority, pod->qos, pod->kube_qos);
}

static int32_t cost_of(const json_t *annotations, const char *name)
{
	int64_t value;

	if (neap_int_parse(neap_json_text(annotations, name), &value, NULL) < 0 ||
	    value < INT32_MIN || value > INT32_MAX)
		return 0;
	return (int32_t)value;
}

static void read_annotations(struct neap_world_pod *pod, const json_t *annotations)
{
	const char *source = neap_json_text(annotations, SOURCE_ANNOTATION);

	if (json_object_get(annotations, MIRROR_ANNOTATION))
		pod->flags |= NEAP_WORLD_IS_MIRROR;
	if (json_object_get(annotations, SOURCE_ANNOTATION) && strcmp(source, "api") != 0)
		pod->flags |= NEAP_WORLD_IS_STATIC;
	if (json_object_get(annotations, EVICT_ANNOTATION))
		pod->flags |= NEAP_WORLD_IS_FORCED;
	if (json_object_get(annotations, STAY_ANNOTATION))
		pod->flags |= NEAP_WORLD_PREFERS_STAY;
	pod->deletion_cost = cost_of(annotations, DELETE_ANNOTATION);
	pod->eviction_cost = cost_of(annotations, COST_ANNOTATION);
}

static void read_volumes(struct neap_world_pod *pod, const json_t *list)
{
	const json_t *volume;
	size_t i;

	json_array_foreach ((json_t *)list, i, volume) {
		const json_t *path = json_object_get(volume, "hostPath");
		const json_t *empty = json_object_get(volume, "emptyDir");

		if ((path && !json_is_null(path)) || (empty && !json_is_null(empty)))
			pod->flags |= NEAP_WORLD_HAS_LOCAL;
	}
}

int neap_world_read_pod(struct neap_world *world, struct neap_world_pod *pod,
			const json_t *tree, struct neap_error *err)
{
	const json_t *meta = json_object_get(tree, "metadata");
	const json_t *spec = json_object_get(tree, "spec");
	const json_t *status = json_object_get(tree, "status");
	int rc;

	pod->phase = copy(pod, status, "phase");
	pod->reason = copy(pod, status, "reason");
	if (json_is_integer(json_object_get(spec, "priority")))
		pod->flags |= NEAP_WORLD_HAS_PRIORITY;
	if (json_array_size(json_object_get(spec, "resourceClaims")))
		pod->flags |= NEAP_WORLD_HAS_RESOURCES;
	if (!pod->pod->is_finished)
		pod->flags |= NEAP_WORLD_IS_LIVE;
	read_annotations(pod, json_object_get(meta, "annotations"));
	read_volumes(pod, json_object_get(spec, "volumes"));
	read_classes(pod, spec, status);
	rc = read_owners(world, pod, json_object_get(meta, "ownerReferences"), err);
	if (rc == 0)
		rc = read_containers(pod, spec, status, err);
	if (rc == 0)
		rc = read_conditions(pod, json_object_get(status, "conditions"), err);
	if (rc == 0 && pod->arena.failed)
		rc = neap_error_nomem(err);
	return rc;
}

void neap_world_free_pod(struct neap_world *world, struct neap_world_pod *pod)
{
	if (!pod)
		return;
	for (size_t i = 0; i < pod->owner_count; i++)
		leave_group(world, pod->owners[i].group);
	(void)neap_pod_unref(pod->pod);
	neap_arena_done(&pod->arena);
	free(pod);
}
