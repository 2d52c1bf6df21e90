/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON of a recorded decision: fields and names of an example's row. It is written
 * object by object, as the room in the frame allows. Shares that need
 * more than the node's own fields (load, NUMA, equal pods) are stored as the numbers that
 * the policies saw. What fails for want of memory is counted by neap_json_failures. */
#include <math.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/decide/columns/column.h"
#include "engine/json/json.h"
#include "lua/replay/decisions_priv.h"
#include "lua/reserve/reserve_priv.h"

/* Labels of the pod whose equals are counted; and looks at pods for it, in a frame. */
#define SAME_MAX   8
#define SAME_LOOKS 8192
/* Where nodes end, so that reservations have room; where those do, for the last
 * members. */
#define NODES_END  ((size_t)40 * 1024)
#define OFFERS_END (NEAP_DECISION_BYTES - 256)
/* Estimates: of a text or an amount beside its letters; of a node beside its labels and
 * amounts. */
#define PUNCTUATION  2
#define AMOUNT_BYTES 24
#define NODE_BYTES   512
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

/* --- the text --- */

/* Appends before and the text of json, which is taken, unless it would be longer than end
 * then. is_member: json has one member, which comes without its brackets. Returns whether
 * it had room; without memory *is_short is set. */
static bool add_take(struct neap_buf *out, size_t end, const char *before, json_t *json,
		     bool is_member, bool *is_short)
{
	neap_auto_free char *text =
		json ? neap_json_dump(json, JSON_COMPACT | JSON_REAL_PRECISION(17))
		     : NULL;
	const size_t at = is_member, len = text ? strlen(text) - 2 * at : 0;

	json_decref(json);
	*is_short |= !text;
	if (!text || out->len + strlen(before) + len > end)
		return false;
	neap_buf_adds(out, before);
	neap_buf_add(out, text + at, len);
	return true;
}

/* Bytes of the texts, as far as they are less than most. */
static size_t labels_bytes(const struct neap_object *object, size_t most)
{
	const char *at = object->labels;
	size_t bytes = 0;

	for (unsigned i = 0; i < 2U * object->label_count && bytes < most; i++) {
		size_t len = strlen(at) + 1;

		bytes += len + PUNCTUATION;
		at += len;
	}
	return bytes;
}

/* About as many bytes as a node's amounts have at most, and what else all nodes have. */
static size_t amounts_bytes(const struct neap_decision *decision)
{
	const struct neap_columns *columns = neap_cluster_settle(decision->cluster);
	const struct neap_resources *resources =
		neap_cluster_resources(decision->cluster);
	size_t bytes = NODE_BYTES;

	for (uint32_t i = 0; i < neap_resources_count(resources); i++) {
		size_t len = strlen(neap_resources_name(resources, i)) + AMOUNT_BYTES;

		bytes += (columns->allocatable[i] ? len : 0) +
			 (columns->used[i] ? len : 0);
	}
	return bytes;
}

/* Looks that count_same needs for it. */
static size_t looks_of(const struct neap_decision *decision, uint32_t row)
{
	size_t labels = decision->pod->object->label_count;

	return neap_cluster_settle(decision->cluster)->kinds[row].count *
	       (labels < SAME_MAX ? labels : SAME_MAX);
}

static void write_nodes(const struct neap_decision *decision, struct neap_buf *out,
			struct neap_decision_made *made)
{
	const struct neap_columns *columns = neap_cluster_settle(decision->cluster);
	size_t amounts = amounts_bytes(decision), looks = SAME_LOOKS;
	struct shares shares;

	open_shares(&shares, decision);
	for (size_t i = 0; i < decision->row_count; i++) {
		uint32_t row = decision->rows[i];
		const struct neap_cluster_node *node = columns->nodes[row];

		if (!node || !node->object)
			continue;
		/* Nothing is made that has no room. */
		if (looks_of(decision, row) > looks ||
		    out->len + amounts + labels_bytes(node->object, NODES_END) >
			    NODES_END) {
			made->cut++;
			continue;
		}
		looks -= looks_of(decision, row);
		if (add_take(out, NODES_END, made->nodes ? "," : "",
			     json_pack("{s:o}", node->name,
				       node_of(decision, &shares, row)),
			     true, &made->is_short))
			made->nodes++;
		else
			made->cut++;
	}
	for (size_t i = 0; i < shares.count; i++)
		neap_column_close(&shares.views[i]);
}

static void write_offers(const struct neap_decision *decision, struct neap_buf *out,
			 struct neap_decision_made *made)
{
	for (size_t i = 0; i < decision->offer_count; i++) {
		const struct neap_object *node = decision->offers[i].node;
		size_t labels = node ? labels_bytes(node, OFFERS_END) : 0;

		if (out->len + labels <= OFFERS_END &&
		    add_take(out, OFFERS_END, made->offers ? "," : "",
			     offer_of(decision, &decision->offers[i]), false,
			     &made->is_short))
			made->offers++;
		else
			made->cut++;
	}
}

bool neap_decision_write(const struct neap_decision *decision, struct neap_buf *out,
			 struct neap_decision_made *ret)
{
	const struct neap_pod *pod = decision->pod;
	struct neap_decision_made made = {.cut = decision->offers_cut};
	uint64_t failures = neap_json_failures();

	neap_buf_addf(out, "{\"unix\":%lld,\"band\":%d,\"is_daemon\":%s,\"pod\":",
		      (long long)(decision->now_usec / 1000000), (int)pod->load.band,
		      pod->load.is_daemon ? "true" : "false");
	if (!add_take(out, NODES_END, "", pod_of(decision), false, &made.is_short))
		return false;
	neap_buf_adds(out, ",\"nodes\":{");
	write_nodes(decision, out, &made);
	neap_buf_addf(out, "},\"nodes_asked\":%zu,\"reservations\":[",
		      decision->rows_asked);
	write_offers(decision, out, &made);
	neap_buf_addf(out, "],\"reservations_asked\":%zu,\"cut\":%zu}",
		      decision->offers_asked, made.cut);
	*ret = made;
	return !made.is_short && !neap_buf_failed(out) &&
	       neap_json_failures() == failures;
}
