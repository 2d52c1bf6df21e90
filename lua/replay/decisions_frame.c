/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON of a recorded decision: fields and names of an example's row. Shares that need
 * more than the node's own fields (load, NUMA, equal pods) are stored as the numbers that
 * the policies saw. What fails for want of memory is counted by neap_json_failures. */
#include <math.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/decide/columns/column.h"
#include "engine/json/json.h"
#include "lua/replay/decisions_priv.h"
#include "lua/reserve/reserve_priv.h"

/* Labels of the pod whose equals are counted. */
#define SAME_MAX 8
/* Shares of a node: load by name, NUMA by resource, cores. */
#define SHARES_MAX (NEAP_LOAD_NAMES_MAX + 3)

/* kubectl's copy of the whole object, with what no policy sees. */
static const char whole[] = "kubectl.kubernetes.io/last-applied-configuration";

static json_t *labels_of(const struct neap_object *object)
{
	const char *at = object->labels;
	json_t *ret = json_object();

	for (unsigned i = 0; i < object->label_count; i++) {
		const char *value = at + strlen(at) + 1;

		(void)json_object_set_new(ret, at, json_string(value));
		at = value + strlen(value) + 1;
	}
	return ret;
}

static json_t *annotations_of(const json_t *metadata)
{
	const json_t *told = json_object_get(metadata, "annotations");
	json_t *ret = json_is_object(told) ? neap_json_copy(told) : json_object();

	(void)json_object_del(ret, whole);
	return ret;
}

static json_t *list_or_empty(json_t *list)
{
	return list ? json_incref(list) : json_array();
}

/* --- the pod --- */

static json_t *requests_of(const struct neap_pod *pod,
			   const struct neap_resources *resources)
{
	json_t *ret = json_object();

	for (size_t i = 0; i < pod->request_count; i++) {
		const struct neap_amount *one = &pod->requests[i];

		if (one->resource == NEAP_RESOURCE_PODS)
			continue;
		(void)json_object_set_new(ret,
					  neap_resources_name(resources, one->resource),
					  json_integer(one->amount));
	}
	for (size_t i = 0; i < pod->unknown_count; i++)
		(void)json_object_set_new(ret, pod->unknown[i].name,
					  json_integer(pod->unknown[i].amount));
	return ret;
}

static json_t *images_of(const struct neap_pod *pod)
{
	json_t *ret = json_array();

	for (size_t i = 0; i < pod->container_count; i++)
		(void)json_array_append_new(ret, json_string(pod->images[i]));
	return ret;
}

static json_t *pod_of(const struct neap_decision *decision)
{
	const struct neap_pod *pod = decision->pod;
	json_t *tree = neap_object_tree(pod->object), *ret;
	const json_t *metadata = json_object_get(tree, "metadata");

	ret = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:I, s:o, s:o}", "name",
			pod->object->name, "namespace", pod->object->ns, "uid",
			pod->object->uid, "labels", labels_of(pod->object), "annotations",
			annotations_of(metadata), "ownerReferences",
			list_or_empty(json_object_get(metadata, "ownerReferences")),
			"priority", (json_int_t)pod->priority, "requests",
			requests_of(pod, neap_cluster_resources(decision->cluster)),
			"images", images_of(pod));
	json_decref(tree);
	return ret;
}

/* --- a node --- */

static void add_real(json_t *object, const char *key, double value)
{
	if (!isnan(value))
		(void)json_object_set_new(object, key, json_real(value));
}

/* "allocatable" and "requested", also of what the node has none of: others have it. */
static json_t *amounts_of(const struct neap_decision *decision, int64_t *const *by,
			  uint32_t row)
{
	const struct neap_resources *resources =
		neap_cluster_resources(decision->cluster);
	json_t *ret = json_object();

	for (uint32_t i = 0; i < neap_resources_count(resources); i++)
		if (by[i])
			(void)json_object_set_new(ret, neap_resources_name(resources, i),
						  json_integer(by[i][row]));
	return ret;
}

/* Those of the pod's namespace, as in engine/decide/columns/same.c, but on this node. */
static int64_t count_same(const struct neap_decision *decision, const char *key,
			  const char *value, uint32_t row)
{
	const struct neap_row_kinds *kinds =
		&neap_cluster_settle(decision->cluster)->kinds[row];
	int64_t sum = 0;

	for (size_t i = 0; i < kinds->count; i++) {
		const struct neap_row_kind *kind = &kinds->list[i];
		const char *is = neap_object_label(kind->one->object, key);

		if (is && strcmp(is, value) == 0 &&
		    strcmp(kind->one->object->ns, decision->pod->object->ns) == 0)
			sum += (int64_t)kind->count - kind->deleting;
	}
	return sum;
}

static json_t *same_of(const struct neap_decision *decision, uint32_t row)
{
	const struct neap_object *object = decision->pod->object;
	const char *at = object->labels;
	json_t *ret = json_object();

	for (unsigned i = 0; i < object->label_count && i < SAME_MAX; i++) {
		const char *value = at + strlen(at) + 1;

		(void)json_object_set_new(
			ret, at, json_integer(count_same(decision, at, value, row)));
		at = value + strlen(value) + 1;
	}
	return ret;
}

struct shares {
	struct neap_column columns[SHARES_MAX];
	struct neap_column_view views[SHARES_MAX];
	size_t count;
};

static void add_share(struct shares *shares, const struct neap_decision *decision,
		      enum neap_column_family family, const char *key)
{
	struct neap_column *column = &shares->columns[shares->count];

	column->family = family;
	if (!neap_strcopy(column->key, sizeof(column->key), key))
		return;
	neap_column_open(&shares->views[shares->count++], column, decision->cluster,
			 decision->pod, decision->now_usec);
}

static void open_shares(struct shares *shares, const struct neap_decision *decision)
{
	const struct neap_load *load = neap_cluster_load(decision->cluster);

	shares->count = 0;
	for (uint32_t i = 0; i < load->args.count && i < NEAP_LOAD_NAMES_MAX; i++)
		add_share(shares, decision, NEAP_COLUMN_LOAD_SHARE, load->args.names[i]);
	add_share(shares, decision, NEAP_COLUMN_NUMA_SHARE, "cpu");
	add_share(shares, decision, NEAP_COLUMN_NUMA_SHARE, "memory");
	add_share(shares, decision, NEAP_COLUMN_CORE_SHARE, "");
}

/* As the column has it (engine/decide/columns/column.c). */
static json_t *pods_of(const struct neap_columns *columns, uint32_t row)
{
	const int64_t *used = columns->used[NEAP_RESOURCE_PODS];

	return json_integer(used ? used[row]
				 : (json_int_t)columns->nodes[row]->pod_count);
}

static json_t *node_of(const struct neap_decision *decision, struct shares *shares,
		       uint32_t row)
{
	const struct neap_columns *columns = neap_cluster_settle(decision->cluster);
	const struct neap_object *object = columns->nodes[row]->object;
	json_t *ret =
		json_pack("{s:o, s:o, s:o, s:o, s:o, s:{}, s:{}}", "labels",
			  labels_of(object), "pods", pods_of(columns, row), "allocatable",
			  amounts_of(decision, columns->allocatable, row), "requested",
			  amounts_of(decision, columns->used, row), "pods_same",
			  same_of(decision, row), "load_share", "numa_share");

	for (size_t i = 0; ret && i < shares->count; i++) {
		const struct neap_column *column = &shares->columns[i];
		const char *family = neap_column_family_name(column->family);
		double share = neap_column_number(&shares->views[i], row);

		if (column->key[0])
			add_real(json_object_get(ret, family), column->key, share);
		else
			add_real(ret, family, share);
	}
	return ret;
}

static json_t *nodes_of(const struct neap_decision *decision)
{
	const struct neap_columns *columns = neap_cluster_settle(decision->cluster);
	json_t *ret = json_object();
	struct shares shares;

	open_shares(&shares, decision);
	for (size_t i = 0; i < decision->row_count; i++) {
		uint32_t row = decision->rows[i];

		if (!columns->nodes[row] || !columns->nodes[row]->object)
			continue;
		(void)json_object_set_new(ret, columns->nodes[row]->name,
					  node_of(decision, &shares, row));
	}
	for (size_t i = 0; i < shares.count; i++)
		neap_column_close(&shares.views[i]);
	return ret;
}

/* --- a reservation --- */

static json_t *amounts_json(const struct neap_amounts *amounts,
			    const struct neap_resources *resources)
{
	json_t *ret = json_object();

	for (size_t i = 0; i < amounts->count; i++)
		(void)json_object_set_new(
			ret, neap_resources_name(resources, amounts->of[i].resource),
			json_integer(amounts->of[i].amount));
	return ret;
}

static json_t *offer_of(const struct neap_decision *decision,
			const struct neap_decision_offer *offer)
{
	const struct neap_resources *resources =
		neap_cluster_resources(decision->cluster);
	const struct neap_reserve *reserve = offer->reserve;
	json_t *tree = neap_object_tree(reserve->object), *ret;
	int64_t age = decision->now_usec - reserve->created_usec, expires;

	ret = json_pack(
		"{s:s, s:s, s:s, s:o, s:o, s:o, s:I, s:b, s:I, s:o, s:o, s:I}", "name",
		reserve->object->name, "uid", reserve->object->uid, "node",
		reserve->node_name, "labels", labels_of(reserve->object), "annotations",
		annotations_of(json_object_get(tree, "metadata")), "owners",
		list_or_empty(json_object_get(json_object_get(tree, "spec"), "owners")),
		"order", (json_int_t)reserve->order, "is_once", reserve->is_once, "pods",
		(json_int_t)offer->pods, "allocatable",
		amounts_json(&reserve->allocatable, resources), "allocated",
		amounts_json(&offer->allocated, resources), "age_s",
		(json_int_t)(age > 0 ? age / 1000000 : 0));
	if (neap_reserve_read_expiry(reserve, &expires))
		(void)json_object_set_new(ret, "expires_unix",
					  json_integer(expires / 1000000));
	if (offer->node)
		(void)json_object_set_new(ret, "node_labels", labels_of(offer->node));
	json_decref(tree);
	return ret;
}

static json_t *offers_of(const struct neap_decision *decision)
{
	json_t *ret = json_array();

	for (size_t i = 0; i < decision->offer_count; i++)
		(void)json_array_append_new(ret,
					    offer_of(decision, &decision->offers[i]));
	return ret;
}

json_t *neap_decision_json(const struct neap_decision *decision)
{
	return json_pack(
		"{s:I, s:i, s:b, s:o, s:o, s:I, s:o, s:I}", "unix",
		(json_int_t)(decision->now_usec / 1000000), "band",
		(int)decision->pod->load.band, "is_daemon", decision->pod->load.is_daemon,
		"pod", pod_of(decision), "nodes", nodes_of(decision), "nodes_asked",
		(json_int_t)decision->rows_asked, "reservations", offers_of(decision),
		"reservations_asked", (json_int_t)decision->offers_asked);
}
