/* SPDX-License-Identifier: Apache-2.0
 *
 * An order is a row: its name, its key, and the workload member it sorts by. */
#include "api/ctl/draw/top_order.h"

#include <stdlib.h>
#include <string.h>

#include "api/ctl/draw/cells.h"
#include "engine/base/mem.h"

static const struct {
	const char *name;
	char key;
	const char *member;
} orders[] = {
	{"cpu", 'c', "used_milli"},
	{"memory", 'm', "memory_bytes"},
	{"throttled", 't', "throttled_ratio"},
	{"pressure", 'p', "cpu_pressure"},
	{"name", 'n', NULL},
};

struct place {
	json_t *row;
	double figure; /* below 0: missing */
	const char *name;
	size_t index;
};

int neap_top_order_find(const char *text)
{
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(orders); i++) {
		if (strcmp(text, orders[i].name) == 0 ||
		    (*text == orders[i].key && text[1] == '\0'))
			return (int)i;
	}
	return -1;
}

static int compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int by_name = x->name != NULL ? strcmp(x->name, y->name) : 0;

	if (x->figure != y->figure)
		return x->figure > y->figure ? -1 : 1;
	if (by_name != 0)
		return by_name;
	return x->index < y->index ? -1 : 1;
}

json_t *neap_top_order(const json_t *rows, int order)
{
	const size_t count = json_array_size(rows);
	neap_auto_free struct place *places =
		neap_alloc_array(count + 1, sizeof(*places));
	json_t *ret = json_array(), *figure;
	size_t i;

	for (i = 0; places != NULL && i < count; i++) {
		json_t *row = json_array_get(rows, i);

		places[i] = (struct place){.row = row, .index = i};
		if (orders[order].member == NULL) {
			places[i].name = neap_cell_text(row, "name");
			continue;
		}
		figure = json_object_get(row, orders[order].member);
		places[i].figure =
			json_is_number(figure) ? json_number_value(figure) : -1;
	}
	if (places != NULL)
		qsort(places, count, sizeof(*places), compare);
	for (i = 0; places != NULL && i < count; i++)
		(void)json_array_append(ret, places[i].row);
	if (places == NULL || json_array_size(ret) != count) {
		json_decref(ret);
		return NULL;
	}
	return ret;
}
