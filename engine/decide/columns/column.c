/* SPDX-License-Identifier: Apache-2.0
 *
 * Columns by name. The family is chosen outside the loops over rows, so each loop is a
 * few loads and one division per node. */
#include "engine/decide/columns/column.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/cluster/cpus.h"
#include "engine/decide/columns/same.h"
#include "engine/decide/columns/told.h"

static const struct {
	const char *name;
	bool has_key, is_text, is_share;
} families[NEAP_COLUMN_FAMILY_COUNT] = {
	[NEAP_COLUMN_NAME] = {"name", false, true, false},
	[NEAP_COLUMN_LABELS] = {"labels", true, true, false},
	[NEAP_COLUMN_PODS] = {"pods", false, false, false},
	[NEAP_COLUMN_PODS_SAME] = {"pods_same", true, false, false},
	[NEAP_COLUMN_ALLOCATABLE] = {"allocatable", true, false, false},
	[NEAP_COLUMN_REQUESTED] = {"requested", true, false, false},
	[NEAP_COLUMN_FREE] = {"free", true, false, false},
	[NEAP_COLUMN_REQUESTED_SHARE] = {"requested_share", true, false, true},
	[NEAP_COLUMN_FREE_SHARE] = {"free_share", true, false, true},
	[NEAP_COLUMN_LOAD_SHARE] = {"load_share", true, false, true},
	[NEAP_COLUMN_NUMA_SHARE] = {"numa_share", true, false, true},
	[NEAP_COLUMN_CORE_SHARE] = {"core_share", false, false, true},
};

const char *neap_column_family_name(enum neap_column_family family)
{
	return families[family].name;
}

bool neap_column_is_text(enum neap_column_family family)
{
	return families[family].is_text;
}

bool neap_column_is_share(enum neap_column_family family)
{
	return families[family].is_share;
}

bool neap_column_is_counted(enum neap_column_family family)
{
	return family == NEAP_COLUMN_PODS_SAME;
}

int neap_column_parse(const char *text, struct neap_column *ret, struct neap_error *err)
{
	const char *dot = strchr(text, '.');
	size_t len = dot ? (size_t)(dot - text) : strlen(text);

	for (int i = 0; i < NEAP_COLUMN_FAMILY_COUNT; i++) {
		if (strlen(families[i].name) != len ||
		    strncmp(families[i].name, text, len) != 0)
			continue;
		if (families[i].has_key != (dot && dot[1]))
			break;
		ret->family = (enum neap_column_family)i;
		ret->key[0] = '\0';
		if (dot && !neap_strcopy(ret->key, sizeof(ret->key), dot + 1))
			break;
		if (ret->family != NEAP_COLUMN_PODS_SAME || neap_same_is_key(ret->key))
			return 0;
		break;
	}
	return neap_error_set(
		err, NEAP_EINVAL,
		"there is no column '%.60s'; known: name, labels.KEY, pods, "
		"pods_same.LABEL, pods_same.LABEL@NODE_LABEL, core_share, and with a resource allocatable.cpu, requested.cpu, "
		"free.cpu, requested_share.cpu, free_share.cpu, load_share.cpu, "
		"numa_share.cpu",
		text);
}

static bool find_resource(const struct neap_resources *resources, const char *name,
			  uint32_t *ret)
{
	uint32_t count = neap_resources_count(resources);

	for (uint32_t i = 0; i < count; i++)
		if (strcmp(neap_resources_name(resources, i), name) == 0) {
			*ret = i;
			return true;
		}
	return false;
}

/* Fullness of NUMA nodes comes from the CPU books, not from columns. */
static void open_numa(struct neap_column_view *view, struct neap_cluster *cluster,
		      const struct neap_pod *pod)
{
	const char *name = view->column->family == NEAP_COLUMN_CORE_SHARE
				   ? "cpu"
				   : view->column->key;

	view->is_missing =
		!find_resource(neap_cluster_resources(cluster), name, &view->resource);
	if (!view->is_missing)
		view->ask = neap_pod_request(pod, view->resource);
}

static void take_amounts(struct neap_column_view *view, const struct neap_told *told)
{
	const char *key = view->column->key;

	if (!told)
		return;
	view->allocatable = told->amounts(told->arg, NEAP_COLUMN_ALLOCATABLE, key);
	view->used = told->amounts(told->arg, NEAP_COLUMN_REQUESTED, key);
}

static void open_amount(struct neap_column_view *view, struct neap_cluster *cluster,
			const struct neap_pod *pod)
{
	uint32_t resource;

	view->is_missing = true;
	if (!find_resource(neap_cluster_resources(cluster), view->column->key, &resource))
		return;
	view->allocatable = view->columns->allocatable[resource];
	view->used = view->columns->used[resource];
	take_amounts(view, neap_cluster_told(cluster));
	view->is_missing = !view->allocatable || !view->used;
	if (!view->is_missing && !neap_column_is_share(view->column->family)) {
		bool is_used = view->column->family == NEAP_COLUMN_REQUESTED;

		view->amounts = is_used ? view->used : view->allocatable;
		view->less = view->column->family == NEAP_COLUMN_FREE ? view->used : NULL;
	}
	view->ask = neap_pod_request(pod, resource);
}

static void open_load(struct neap_column_view *view, const struct neap_cluster *cluster,
		      const struct neap_pod *pod, int64_t now_usec)
{
	int64_t estimate[NEAP_LOAD_NAMES_MAX];

	view->load = neap_cluster_load(cluster);
	view->is_missing = true;
	if (!view->load->flags)
		return;
	for (uint32_t i = 0; i < view->load->args.count; i++) {
		if (strcmp(view->load->args.names[i], view->column->key) != 0)
			continue;
		neap_load_estimate(view->load, pod, estimate);
		view->name = i;
		view->ask = estimate[i];
		view->fresh_usec = now_usec - view->load->args.expiry_usec;
		view->is_missing = false;
	}
}

static void open_same(struct neap_column_view *view, struct neap_cluster *cluster,
		      const struct neap_pod *pod)
{
	view->own = neap_same_count(cluster, pod, view->column->key);
	view->amounts = view->own;
	view->is_missing = !view->own;
}

/* But for amounts of resources, which take what the pod asks for from its cluster. */
static void open_told(struct neap_column_view *view, const struct neap_told *told)
{
	enum neap_column_family family = view->column->family;
	bool is_count = family == NEAP_COLUMN_PODS || family == NEAP_COLUMN_PODS_SAME;

	if (is_count)
		view->amounts = told->amounts(told->arg, family, view->column->key);
	else
		view->told = told->shares(told->arg, family, view->column->key);
	view->is_missing = !view->amounts && !view->told;
}

static bool is_told(enum neap_column_family family)
{
	return family == NEAP_COLUMN_PODS || family == NEAP_COLUMN_PODS_SAME ||
	       family >= NEAP_COLUMN_LOAD_SHARE;
}

void neap_column_open(struct neap_column_view *view, const struct neap_column *column,
		      struct neap_cluster *cluster, const struct neap_pod *pod,
		      int64_t now_usec)
{
	const struct neap_told *told = neap_cluster_told(cluster);

	*view = (struct neap_column_view){.column = column,
					  .columns = neap_cluster_settle(cluster)};
	/* Each pod takes one; if no node reports a limit, there is no column. */
	if (told && is_told(column->family))
		open_told(view, told);
	else if (column->family == NEAP_COLUMN_PODS)
		view->amounts = view->columns->used[NEAP_RESOURCE_PODS];
	else if (column->family == NEAP_COLUMN_PODS_SAME)
		open_same(view, cluster, pod);
	else if (column->family == NEAP_COLUMN_LOAD_SHARE)
		open_load(view, cluster, pod, now_usec);
	else if (column->family >= NEAP_COLUMN_NUMA_SHARE)
		open_numa(view, cluster, pod);
	else if (column->family >= NEAP_COLUMN_ALLOCATABLE)
		open_amount(view, cluster, pod);
}

void neap_column_close(struct neap_column_view *view)
{
	free(view->own);
}

const char *neap_column_text(const struct neap_column_view *view, uint32_t row)
{
	const struct neap_cluster_node *node = view->columns->nodes[row];

	if (view->column->family == NEAP_COLUMN_NAME)
		return node->name;
	return node->object ? neap_object_label(node->object, view->column->key) : NULL;
}

/* Decimal, with a point and without an exponent: what the C library reads beside that
 * would depend on the locale. */
static double number_of(const char *text)
{
	double value = 0, unit = 1;
	bool has_digits = false, is_negative = text && *text == '-';

	if (!text)
		return NAN;
	text += is_negative;
	for (; *text >= '0' && *text <= '9'; text++, has_digits = true)
		value = value * 10 + (*text - '0');
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9'; text++, has_digits = true) {
			unit *= 10;
			value = value * 10 + (*text - '0');
		}
	if (*text || !has_digits)
		return NAN;
	return (is_negative ? -value : value) / unit;
}

static double load_of(const struct neap_column_view *view, uint32_t row)
{
	const struct neap_load *load = view->load;
	int64_t capacity = load->columns[NEAP_LOAD_CAPACITY][view->name][row];
	const uint8_t wanted = NEAP_LOAD_HAS_USAGE | NEAP_LOAD_HAS_TIME;

	if ((load->flags[row] & wanted) != wanted ||
	    load->update_usec[row] <= view->fresh_usec || capacity <= 0)
		return NAN;
	return (double)neap_amount_sum(load->columns[NEAP_LOAD_SCORED][view->name][row],
				       view->ask) /
	       (double)capacity;
}

static double numa_of(const struct neap_column_view *view, uint32_t row)
{
	const struct neap_cpus *book = view->columns->nodes[row]->cpus;
	struct neap_numa_room room;
	double ret;
	bool is_there;

	/* Nothing is handed back, so that neither this fails nor anything is to be
	 * closed. */
	if (!book || !book->numa || book->is_stale ||
	    neap_numa_room_open(&room, book->numa, NULL, 0, NULL) < 0)
		return NAN;
	is_there = view->column->family == NEAP_COLUMN_CORE_SHARE
			   ? neap_numa_tightest_cores(&room, view->ask, &ret)
			   : neap_numa_tightest(&room, view->resource, view->ask, &ret);
	return is_there ? ret : NAN;
}

bool neap_column_integer(const struct neap_column_view *view, uint32_t row, int64_t *ret)
{
	if (view->amounts)
		*ret = neap_column_amount(view, row);
	else if (view->column->family == NEAP_COLUMN_PODS)
		*ret = (int64_t)view->columns->nodes[row]->pod_count;
	else
		return false;
	return true;
}

double neap_column_number(const struct neap_column_view *view, uint32_t row)
{
	double ret;

	neap_column_numbers(view, &row, 1, &ret);
	return ret;
}

/* 0 / 0 and the like are no shares: a node that has nothing of it misses it. */
static void shares(const struct neap_column_view *view, const uint32_t *rows,
		   size_t count, double *ret)
{
	double ask = (double)view->ask;

	for (size_t i = 0; i < count; i++) {
		double all = (double)view->allocatable[rows[i]];
		double used = (double)view->used[rows[i]] + ask;

		ret[i] = all > 0 ? used / all : NAN;
	}
	if (view->column->family == NEAP_COLUMN_FREE_SHARE)
		for (size_t i = 0; i < count; i++)
			ret[i] = 1 - ret[i];
}

void neap_column_numbers(const struct neap_column_view *view, const uint32_t *rows,
			 size_t count, double *ret)
{
	enum neap_column_family family = view->column->family;
	int64_t amount = 0;

	for (size_t i = 0; view->is_missing && i < count; i++)
		ret[i] = NAN;
	for (size_t i = 0; view->told && i < count; i++)
		ret[i] = view->told[rows[i]];
	if (view->is_missing || view->told)
		return;
	if (family == NEAP_COLUMN_REQUESTED_SHARE || family == NEAP_COLUMN_FREE_SHARE) {
		shares(view, rows, count, ret);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (neap_column_is_text(family))
			ret[i] = number_of(neap_column_text(view, rows[i]));
		else if (family == NEAP_COLUMN_LOAD_SHARE)
			ret[i] = load_of(view, rows[i]);
		else if (family >= NEAP_COLUMN_NUMA_SHARE)
			ret[i] = numa_of(view, rows[i]);
		else
			ret[i] = neap_column_integer(view, rows[i], &amount)
					 ? (double)amount
					 : NAN;
	}
}
