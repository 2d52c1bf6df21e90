/* SPDX-License-Identifier: Apache-2.0
 *
 * Columns of node facts by name, for scores and filters written in Lua or as data. CPU in
 * thousandths, other resources in whole units; shares are fractions of 1. */
#ifndef NEAP_ENGINE_DECIDE_COLUMNS_COLUMN_H
#define NEAP_ENGINE_DECIDE_COLUMNS_COLUMN_H

#include "engine/cluster/cluster.h"

/* A resource or label name with its NUL. */
#define NEAP_COLUMN_KEY 320

enum neap_column_family {
	NEAP_COLUMN_NAME,   /* text */
	NEAP_COLUMN_LABELS, /* text, by key */
	NEAP_COLUMN_PODS,   /* number of pods on the node */
	/* pods with the same value of a label as the pod: engine/decide/columns/same.h */
	NEAP_COLUMN_PODS_SAME,
	NEAP_COLUMN_ALLOCATABLE, /* amount by resource; the next two likewise */
	NEAP_COLUMN_REQUESTED,   /* requested by the pods on the node */
	NEAP_COLUMN_FREE,        /* what is left; below 0 when overcommitted */
	/* including the pod being decided; the next two likewise */
	NEAP_COLUMN_REQUESTED_SHARE,
	NEAP_COLUMN_FREE_SHARE,
	NEAP_COLUMN_LOAD_SHARE, /* measured load from the node's report, plus estimates */
	/* How full the tightest NUMA node would be that can hold the pod alone. */
	NEAP_COLUMN_NUMA_SHARE, /* by resource */
	NEAP_COLUMN_CORE_SHARE, /* free CPUs that are not in a wholly free core */
	NEAP_COLUMN_FAMILY_COUNT
};

struct neap_column {
	enum neap_column_family family;
	char key[NEAP_COLUMN_KEY]; /* "" for a family without keys */
};

/* The name of a family, such as "labels". */
const char *neap_column_family_name(enum neap_column_family family);
bool neap_column_is_text(enum neap_column_family family);
bool neap_column_is_share(enum neap_column_family family);
/* Returns whether opening the column visits every node; such a column is opened once per
 * decision. */
bool neap_column_is_counted(enum neap_column_family family);
/* Parses "free.cpu", "labels.example.com/team" or "name". NEAP_EINVAL lists the valid
 * families. */
int neap_column_parse(const char *text, struct neap_column *ret, struct neap_error *err);

/* A column in one decision; borrows everything. */
struct neap_column_view {
	const struct neap_column *column;
	const struct neap_columns *columns;
	bool is_missing; /* no node has it */
	/* For shares: the resource's columns, and the pod's request. */
	const int64_t *allocatable, *used;
	int64_t ask;
	uint32_t resource;
	/* Whole numbers by row: amounts minus less, where less exists. NULL: the values
	 * are not in a column, or are missing. */
	const int64_t *amounts, *less;
	int64_t *own; /* owned copy behind amounts, when it was counted for this view */
	const double *told; /* shares by row that are told: told.h */
	/* Load. */
	const struct neap_load *load;
	uint32_t name;
	int64_t fresh_usec; /* reports from this time on count */
};

/* Opens the column for one pod. The cluster must be settled and must not change until
 * neap_column_close. */
void neap_column_open(struct neap_column_view *view, const struct neap_column *column,
		      struct neap_cluster *cluster, const struct neap_pod *pod,
		      int64_t now_usec);
void neap_column_close(struct neap_column_view *view);
/* The number for a node, NaN when missing. A label is read as a decimal number. */
double neap_column_number(const struct neap_column_view *view, uint32_t row);
void neap_column_numbers(const struct neap_column_view *view, const uint32_t *rows,
			 size_t count, double *ret);
/* For pods and amounts; false: missing. */
bool neap_column_integer(const struct neap_column_view *view, uint32_t row, int64_t *ret);
/* The same when view->amounts is not NULL. */
static inline int64_t neap_column_amount(const struct neap_column_view *view,
					 uint32_t row)
{
	return view->amounts[row] - (view->less ? view->less[row] : 0);
}
/* For texts; borrowed; NULL: missing. */
const char *neap_column_text(const struct neap_column_view *view, uint32_t row);

#endif
