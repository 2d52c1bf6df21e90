/* SPDX-License-Identifier: Apache-2.0
 *
 * A pod's requests as kube-scheduler computes them: the sum of its containers and
 * sidecars (init containers with restartPolicy Always), or its largest init step,
 * whichever is more; overridden by the pod's own requests; plus the overhead of its
 * runtime class. */
#include <string.h>

#include "engine/json/json.h"
#include "engine/pod/pod_priv.h"

struct sums {
	struct neap_amounts all, helpers, start;
	const struct neap_resources *resources;
	struct neap_unknown_names unknown;
	const char *kind; /* "requests", "limits" */
	bool fills;       /* missing requests count as NEAP_POD_*_UNASKED */
};

static int full(struct neap_error *err)
{
	return neap_error_set(err, NEAP_ETOOLARGE, "more than %d different resources",
			      NEAP_AMOUNTS_MAX);
}

static int read_container(struct sums *sums, const json_t *container,
			  struct neap_amounts *ret, struct neap_error *err)
{
	const json_t *map =
		json_object_get(json_object_get(container, "resources"), sums->kind);

	ret->count = 0;
	if (sums->fills) { /* there is room for the first two */
		(void)neap_amounts_set(ret, NEAP_RESOURCE_CPU,
				       NEAP_POD_CPU_MILLI_UNASKED);
		(void)neap_amounts_set(ret, NEAP_RESOURCE_MEMORY, NEAP_POD_BYTES_UNASKED);
	}
	return neap_amounts_look_up(ret, map, sums->resources, &sums->unknown, err);
}

static int add_containers(struct sums *sums, const json_t *list, struct neap_error *err)
{
	struct neap_amounts one;

	for (size_t i = 0; i < json_array_size(list); i++) {
		int ret = read_container(sums, json_array_get(list, i), &one, err);

		if (ret == 0 && !neap_amounts_add(&sums->all, &one))
			ret = full(err);
		if (ret < 0) {
			(void)neap_error_infield(err, "spec.containers[%zu].resources.%s",
						 i, sums->kind);
			return ret;
		}
	}
	return 0;
}

/* A step of the start runs beside the helpers that were started before it. */
static int add_start(struct sums *sums, const json_t *list, struct neap_error *err)
{
	struct neap_amounts one;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *container = json_array_get(list, i);
		bool is_helper = neap_json_is_text(container, "restartPolicy", "Always");
		bool fits = true;
		int ret = read_container(sums, container, &one, err);

		if (ret == 0 && is_helper) {
			fits = neap_amounts_add(&sums->all, &one) &&
			       neap_amounts_add(&sums->helpers, &one) &&
			       neap_amounts_raise(&sums->start, &sums->helpers);
		} else if (ret == 0) {
			fits = neap_amounts_add(&one, &sums->helpers) &&
			       neap_amounts_raise(&sums->start, &one);
		}
		if (!fits)
			ret = full(err);
		if (ret < 0) {
			(void)neap_error_infield(err,
						 "spec.initContainers[%zu].resources.%s",
						 i, sums->kind);
			return ret;
		}
	}
	return 0;
}

static int sum_up(struct sums *sums, const json_t *spec, struct neap_error *err)
{
	struct neap_amounts more = {0};
	int ret;

	sums->all.count = sums->helpers.count = sums->start.count = 0;
	ret = add_containers(sums, json_object_get(spec, "containers"), err);
	if (ret == 0)
		ret = add_start(sums, json_object_get(spec, "initContainers"), err);
	if (ret < 0)
		return ret;
	if (!neap_amounts_raise(&sums->all, &sums->start))
		return full(err);
	ret = neap_amounts_look_up(
		&sums->all,
		json_object_get(json_object_get(spec, "resources"), sums->kind),
		sums->resources, &sums->unknown, err);
	if (ret < 0) {
		(void)neap_error_infield(err, "spec.resources.%s", sums->kind);
		return ret;
	}
	ret = neap_amounts_look_up(&more, json_object_get(spec, "overhead"),
				   sums->resources, &sums->unknown, err);
	if (ret < 0) {
		(void)neap_error_infield(err, "spec.overhead");
		return ret;
	}
	/* No limit stays none. */
	for (size_t i = more.count; i-- && strcmp(sums->kind, "limits") == 0;)
		if (!neap_amounts_get(&sums->all, more.of[i].resource))
			more.of[i] = more.of[--more.count];
	return neap_amounts_add(&sums->all, &more) ? 0 : full(err);
}

/* Whether there is room left for the pod as one; else its place is made of the last. */
static bool add_itself(struct neap_amounts *all)
{
	bool fits = neap_amounts_set(all, NEAP_RESOURCE_PODS, 1);

	if (!fits)
		all->of[all->count - 1] = (struct neap_amount){NEAP_RESOURCE_PODS, 1};
	return fits;
}

/* Both lists have room for all, because unknown resources may become known. */
static int keep(struct neap_pod *pod, const struct sums *sums, struct neap_error *err)
{
	const struct neap_amounts *all = &sums->all;
	size_t unknown = sums->unknown.count;

	pod->requests = neap_arena_array(&pod->arena, all->count, sizeof(*pod->requests));
	pod->unknown = neap_arena_array(&pod->arena, unknown, sizeof(*pod->unknown));
	if (!pod->requests || !pod->unknown)
		return neap_error_nomem(err);
	for (size_t i = 0; i < all->count; i++) {
		const struct neap_amount *one = &all->of[i];

		if (one->amount > 0 && one->resource < NEAP_RESOURCES_MAX)
			pod->requests[pod->request_count++] = *one;
		else if (one->amount > 0)
			pod->unknown[pod->unknown_count++] = (struct neap_unknown){
				neap_arena_strdup(&pod->arena,
						  sums->unknown.of[one->resource -
								   NEAP_RESOURCES_MAX]),
				one->amount};
	}
	return pod->arena.failed ? neap_error_nomem(err) : 0;
}

int neap_pod_read_requests(struct neap_pod *pod, const json_t *spec,
			   const struct neap_resources *resources, struct neap_error *err)
{
	struct sums sums = {.resources = resources, .kind = "requests", .fills = true};
	int ret = sum_up(&sums, spec, err), kept;

	pod->scored_cpu_milli = neap_amounts_get(&sums.all, NEAP_RESOURCE_CPU);
	pod->scored_bytes = neap_amounts_get(&sums.all, NEAP_RESOURCE_MEMORY);
	sums.fills = false;
	if (ret == 0)
		ret = sum_up(&sums, spec, err);
	/* Also of one whose requests could not be read: it is a pod. */
	if (!add_itself(&sums.all) && ret == 0)
		ret = full(err);
	kept = keep(pod, &sums, ret == 0 ? err : NULL);
	return kept < 0 ? kept : ret;
}

int neap_pod_read_limits(struct neap_amounts *ret, const json_t *spec,
			 const struct neap_resources *resources, struct neap_error *err)
{
	struct sums sums = {.resources = resources, .kind = "limits"};
	int failed = sum_up(&sums, spec, err);

	ret->count = 0;
	for (size_t i = 0; i < sums.all.count; i++)
		if (sums.all.of[i].resource < NEAP_RESOURCES_MAX)
			ret->of[ret->count++] = sums.all.of[i];
	return failed;
}

int neap_pod_spec_cpu(const json_t *spec, int64_t *ret_milli)
{
	struct neap_resources *resources = neap_resources_new();
	struct sums sums = {.resources = resources, .kind = "requests"};
	int failed = resources ? sum_up(&sums, spec, NULL) : -NEAP_ENOMEM;

	if (failed == 0)
		*ret_milli = neap_amounts_get(&sums.all, NEAP_RESOURCE_CPU);
	neap_resources_free(resources);
	return failed;
}

bool neap_pod_resolve(struct neap_pod *pod, const struct neap_resources *resources)
{
	struct neap_pod_keep *keep = pod->keep && !pod->keep->name ? pod->keep : NULL;
	size_t count = pod->unknown_count;

	pod->unknown_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct neap_unknown one = pod->unknown[i];
		uint32_t resource = neap_resources_find(resources, one.name);

		if (resource == UINT32_MAX) {
			pod->unknown[pod->unknown_count++] = one;
			continue;
		}
		pod->requests[pod->request_count++] =
			(struct neap_amount){resource, one.amount};
		if (keep)
			keep->names[keep->name_count++] = resource;
	}
	return pod->unknown_count < count;
}

int64_t neap_pod_request(const struct neap_pod *pod, uint32_t resource)
{
	for (size_t i = 0; i < pod->request_count; i++)
		if (pod->requests[i].resource == resource)
			return pod->requests[i].amount;
	return 0;
}

void neap_pod_amounts(const struct neap_pod *pod, struct neap_amounts *ret)
{
	ret->count = 0;
	/* A pod has no more of them than there is room for. */
	for (size_t i = 0; i < pod->request_count; i++)
		if (pod->requests[i].resource != NEAP_RESOURCE_PODS)
			(void)neap_amounts_set(ret, pod->requests[i].resource,
					       pod->requests[i].amount);
}
