/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods with the same label value as the decided pod, by node. Each kind of pods is
 * checked once; a node is then a walk over its kinds, and a domain the sum of its nodes.
 * A thousand nodes take about ten microseconds. */
#include "engine/decide/columns/same.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/mem.h"

struct count {
	const struct neap_object *object; /* of the decision's pod */
	const char *label, *value;
	uint8_t *known; /* by kind: 0 not asked yet, 1 another, 2 the same */
};

static bool is_same(const struct count *count, const struct neap_pod *one)
{
	const char *value;

	if (strcmp(one->object->ns, count->object->ns) != 0)
		return false;
	value = neap_object_label(one->object, count->label);
	return value && strcmp(value, count->value) == 0;
}

/* Those that are being deleted make room and do not count, as for spread constraints. */
static int64_t count_row(const struct count *count, const struct neap_row_kinds *kinds)
{
	int64_t sum = 0;

	for (size_t i = 0; i < kinds->count; i++) {
		const struct neap_row_kind *kind = &kinds->list[i];
		uint8_t *known = &count->known[kind->number];

		if (!*known)
			*known = is_same(count, kind->one) ? 2 : 1;
		if (*known == 2)
			sum += (int64_t)kind->count - kind->deleting;
	}
	return sum;
}

static bool sum_up(const struct neap_columns *columns,
		   const struct neap_label_column *domains, int64_t *counts)
{
	neap_auto_free int64_t *sums =
		domains ? neap_alloc_array(domains->end + (size_t)1, sizeof(*sums))
			: NULL;

	if (!sums)
		return false;
	for (size_t row = 0; row < columns->rows; row++)
		sums[domains->at[row]] += counts[row];
	for (size_t row = 0; row < columns->rows; row++)
		if (domains->at[row])
			counts[row] = sums[domains->at[row]];
	return true;
}

bool neap_same_is_key(const char *key)
{
	const char *at = strchr(key, NEAP_SAME_IN);

	return key[0] && at != key && (!at || (at[1] && !strchr(at + 1, NEAP_SAME_IN)));
}

int64_t *neap_same_count(struct neap_cluster *cluster, const struct neap_pod *pod,
			 const char *key)
{
	const struct neap_columns *columns = neap_cluster_settle(cluster);
	const char *at = strchr(key, NEAP_SAME_IN);
	size_t len = at ? (size_t)(at - key) : strlen(key);
	char label[NEAP_COLUMN_KEY];
	struct count count = {.object = pod->object, .label = label};
	neap_auto_free uint8_t *known = NULL;
	neap_auto_free int64_t *ret = NULL;

	(void)snprintf(label, sizeof(label), "%.*s", (int)len, key);
	count.value = neap_object_label(pod->object, label);
	if (!count.value)
		return NULL;
	count.known = known = neap_alloc(neap_cluster_kind_end(cluster) + (size_t)1);
	ret = neap_alloc_array(columns->rows + 1, sizeof(*ret));
	if (!known || !ret)
		return NULL;
	for (size_t row = 0; row < columns->rows; row++)
		if (columns->flags[row] & NEAP_ROW_IS_THERE)
			ret[row] = count_row(&count, &columns->kinds[row]);
	if (at && !sum_up(columns, neap_cluster_label(cluster, at + 1), ret))
		return NULL;
	return neap_steal(ret);
}
