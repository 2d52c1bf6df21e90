/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of nodes, by name: for scores and filters that are written elsewhere. Amounts are CPU in thousandths and
 * everything else in whole units; shares are of 1. */
#ifndef NEAP_ENGINE_DECIDE_COLUMN_H
#define NEAP_ENGINE_DECIDE_COLUMN_H

#include "engine/cluster/cluster.h"

/* Of a resource or a label, with its NUL. */
#define NEAP_COLUMN_KEY 320

enum neap_column_family {
	NEAP_COLUMN_NAME,   /* text */
	NEAP_COLUMN_LABELS, /* text, by key */
	NEAP_COLUMN_PODS,   /* how many are there */
	NEAP_COLUMN_PODS_SAME, /* ... with the pod's value of a label: engine/decide/same.h */
	NEAP_COLUMN_ALLOCATABLE, /* amount, by resource; the next two, too */
	NEAP_COLUMN_REQUESTED,   /* of the pods that are there */
	NEAP_COLUMN_FREE,        /* what is left; below 0 where too much was promised */
	NEAP_COLUMN_REQUESTED_SHARE, /* with the pod of the decision; the next two, too */
	NEAP_COLUMN_FREE_SHARE,
	NEAP_COLUMN_LOAD_SHARE, /* really used, by its report and what is on its way */
	/* Of the NUMA node that holds the pod alone and would have least left: how full it would be. */
	NEAP_COLUMN_NUMA_SHARE, /* by resource */
	NEAP_COLUMN_CORE_SHARE, /* its CPUs that lie in no wholly free core */
	NEAP_COLUMN_FAMILY_COUNT
};

struct neap_column {
	enum neap_column_family family;
	char key[NEAP_COLUMN_KEY]; /* "" where the family has none */
};

/* "labels" and the like. */
const char *neap_column_family_name(enum neap_column_family family);
bool neap_column_is_text(enum neap_column_family family);
bool neap_column_is_share(enum neap_column_family family);
/* Opening it is a look at every node, so it is for what opens a column once a
 * decision. */
bool neap_column_is_counted(enum neap_column_family family);
/* "free.cpu", "labels.example.com/team", "name"; NEAP_EINVAL with what there is. */
int neap_column_parse(const char *text, struct neap_column *ret, struct neap_error *err);

/* A column in one decision; borrows all of them. */
struct neap_column_view {
	const struct neap_column *column;
	const struct neap_columns *columns;
	bool is_missing; /* no node has it */
	/* Shares of a resource, and what the pod asks for of it. */
	const int64_t *allocatable, *used;
	int64_t ask;
	uint32_t resource;
	/* Whole numbers, by row: what the first has less what the second has, where there is one. NULL: they are not in a
	 * column, or missing. */
	const int64_t *amounts, *less;
	int64_t *own; /* what amounts is then, where it is counted for the view alone */
	/* Load. */
	const struct neap_load *load;
	uint32_t name;
	int64_t fresh_usec; /* reports from then on count */
};

/* Opens the column for one pod. The cluster is settled, and does not change until
 * neap_column_close. */
void neap_column_open(struct neap_column_view *view, const struct neap_column *column,
		      struct neap_cluster *cluster, const struct neap_pod *pod,
		      int64_t now_usec);
void neap_column_close(struct neap_column_view *view);
/* The number of a node, NaN: it is missing there. A label is read as a decimal number. */
double neap_column_number(const struct neap_column_view *view, uint32_t row);
void neap_column_numbers(const struct neap_column_view *view, const uint32_t *rows,
			 size_t count, double *ret);
/* Of pods and amounts; false: missing. */
bool neap_column_integer(const struct neap_column_view *view, uint32_t row, int64_t *ret);
/* The same where view->amounts is there. */
static inline int64_t neap_column_amount(const struct neap_column_view *view,
					 uint32_t row)
{
	return view->amounts[row] - (view->less ? view->less[row] : 0);
}
/* Of a text, borrowed; NULL: missing. */
const char *neap_column_text(const struct neap_column_view *view, uint32_t row);

#endif
