/* SPDX-License-Identifier: Apache-2.0 */
#include "api/workload/loop/pod_control.h"

#include <stdlib.h>
#include <string.h>

#include "api/workload/loop/tree.h"
#include "engine/json/json.h"

/* --- making --- */

/* Copies a member of the template's metadata, if it exists. */
static bool copy_member(json_t *meta, const json_t *from, const char *name)
{
	const json_t *value = json_object_get(from, name);

	return !value || json_object_set_new(meta, name, neap_json_deep_copy(value)) == 0;
}

static bool fill_meta(json_t *meta, const json_t *owner, const char *api_version,
		      const char *kind)
{
	static const char *const members[] = {"labels", "annotations", "finalizers"};
	const json_t *from = neap_tree_at(owner, "spec.template.metadata");
	json_t *list = json_array();
	char name[NEAP_OBJECT_NAME + 1];

	if (json_array_append_new(list, neap_tree_owner_new(owner, api_version, kind)) <
		    0 ||
	    json_object_set(meta, "ownerReferences", list) < 0) {
		json_decref(list);
		return false;
	}
	json_decref(list);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(members); i++)
		if (!copy_member(meta, from, members[i]))
			return false;
	(void)snprintf(name, sizeof(name), "%s-", neap_tree_text(owner, "metadata.name"));
	return json_object_set_new(meta, "generateName", json_string(name)) == 0;
}

json_t *neap_pod_from_template(const json_t *owner, const char *api_version,
			       const char *kind)
{
	const json_t *spec = neap_tree_at(owner, "spec.template.spec");
	json_t *pod =
		json_pack("{s:{}, s:o}", "metadata", "spec", neap_json_deep_copy(spec));

	if (pod &&
	    !fill_meta(json_object_get(pod, "metadata"), owner, api_version, kind)) {
		json_decref(pod);
		return NULL;
	}
	return pod;
}

/* --- ranking --- */

struct ranking {
	int64_t now;
};

/* The number of binary digits of the nanoseconds since usec; -1: unknown. */
static int digits_since(int64_t usec, int64_t now)
{
	double since = usec == NEAP_MISSING ? 0 : ((double)now - (double)usec) * 1000;
	int digits = -1;

	for (; since >= 1; since /= 2)
		digits++;
	return digits;
}

/* Below 0: a first. The shorter time ago comes first; an unknown time counts as
 * shortest. */
static int compare_times(const struct neap_ranked_pod *a, const struct neap_ranked_pod *b,
			 int64_t time_a, int64_t time_b, int64_t now)
{
	int diff;

	if (time_a == NEAP_MISSING || time_b == NEAP_MISSING)
		return time_a == NEAP_MISSING ? -1 : 1;
	diff = digits_since(time_a, now) - digits_since(time_b, now);
	return diff ? diff : strcmp(a->pod->uid, b->pod->uid);
}

static int phase_order(const struct neap_pod_facts *facts)
{
	return facts->phase <= NEAP_POD_RUNNING ? (int)facts->phase : 0;
}

static int compare(const void *left, const void *right, void *arg)
{
	const struct neap_ranked_pod *a = left, *b = right;
	const struct neap_pod_facts *p = a->facts, *q = b->facts;
	const struct ranking *ranking = arg;

	if ((p->node[0] == '\0') != (q->node[0] == '\0'))
		return p->node[0] == '\0' ? -1 : 1;
	if (phase_order(p) != phase_order(q))
		return phase_order(p) - phase_order(q);
	if (p->is_ready != q->is_ready)
		return p->is_ready ? 1 : -1;
	if (p->cost != q->cost)
		return p->cost < q->cost ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank > b->rank ? -1 : 1;
	if (p->is_ready && p->ready_usec != q->ready_usec)
		return compare_times(a, b, p->ready_usec, q->ready_usec, ranking->now);
	if (p->restarts != q->restarts)
		return p->restarts > q->restarts ? -1 : 1;
	if (p->created_usec != q->created_usec)
		return compare_times(a, b, p->created_usec, q->created_usec,
				     ranking->now);
	return strcmp(a->pod->name, b->pod->name);
}

void neap_pods_rank(struct neap_ranked_pod *pods, size_t count, int64_t now_usec)
{
	struct ranking ranking = {now_usec};

	if (count)
		qsort_r(pods, count, sizeof(*pods), compare, &ranking);
}
