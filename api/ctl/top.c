/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl top`: the node's figures and a row per workload, live on a terminal, else as
 * plain tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/ctl/base/client.h"
#include "api/ctl/draw/cells.h"
#include "api/ctl/draw/screen.h"
#include "api/ctl/draw/table.h"
#include "api/ctl/draw/text.h"
#include "api/ctl/draw/top_order.h"
#include "engine/base/clock.h"

#define INTERVAL_USEC 1000000

struct top_values {
	int64_t count, interval_usec;
	bool is_batch;
	const char *sort;
};

static const struct neap_option options[] = {
	{"count", 'n', NEAP_OPTION_INT, offsetof(struct top_values, count), "COUNT",
	 "end after COUNT tables [never; 1 when stdout is not a terminal]", 1,
	 1000000000},
	{"interval", 'd', NEAP_OPTION_DURATION,
	 offsetof(struct top_values, interval_usec), "SECONDS", "time between two [1s]",
	 100000, 3600 * 1000000LL},
	{"batch", 'b', NEAP_OPTION_FLAG, offsetof(struct top_values, is_batch), NULL,
	 "print plain tables one after the other"},
	{"sort", 's', NEAP_OPTION_TEXT, offsetof(struct top_values, sort),
	 NEAP_TOP_ORDERS, "which workloads come first [as neapd found them]"},
	{""},
};

struct picture {
	json_t *status, *workloads;
};

/* How a picture is looked at. */
struct look {
	int order;  /* of api/ctl/draw/top_order.h, -1: as they came */
	int first;  /* row at the top */
	int height; /* lines there are in all, 0 any number */
};

static void picture_done(struct picture *picture)
{
	json_decref(picture->status);
	json_decref(picture->workloads);
	picture->status = NULL;
	picture->workloads = NULL;
}

static void picture_sort(struct picture *picture, int order)
{
	json_t *sorted = order >= 0 ? neap_top_order(picture->workloads, order) : NULL;

	if (sorted == NULL)
		return;
	json_decref(picture->workloads);
	picture->workloads = sorted;
}

static int picture_get(struct neap_client *client, struct picture *picture,
		       struct neap_error *err)
{
	if (neap_client_call(client, "GET", "/control/v1/status", NULL, &picture->status,
			     err) < 0)
		return -(int)err->code;
	if (neap_client_call(client, "GET", "/control/v1/workloads", NULL,
			     &picture->workloads, err) < 0) {
		picture_done(picture);
		return -(int)err->code;
	}
	return 0;
}

static void header_add(const json_t *status, int columns, struct neap_buf *out)
{
	const json_t *policies = json_object_get(status, "policies"), *policy;
	struct neap_buf text;
	char *line, *rest;
	size_t i;

	neap_buf_init(&text, NEAP_BUF_LINE);
	neap_cells_add(&text, status, "neapd {version}, {state}; policies:");
	json_array_foreach (policies, i, policy) {
		neap_cells_add(&text, policy, " {policy} ({state})");
	}
	if (json_array_size(policies) == 0)
		neap_buf_adds(&text, " none");
	neap_cells_add(
		&text, json_object_get(status, "node"),
		"\nCPUs: {used_milli|cpus} of {capacity_milli|cpus} used: critical "
		"{critical_used_milli|cpus}, best-effort {besteffort_used_milli|cpus}, "
		"system {system_used_milli|cpus}\n"
		"memory: {memory_used_bytes|bytes} of {memory_capacity_bytes|bytes} used; "
		"pressure: CPU {cpu_pressure|percent}, memory {memory_pressure|percent}, "
		"I/O {io_pressure|percent}\n");
	/* data is ours to cut up: nothing is added to it any more. */
	for (line = strtok_r(text.data, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		neap_text_add_cut(out, line, columns > 0 ? columns : (int)strlen(line));
		neap_buf_addc(out, '\n');
	}
	neap_buf_done(&text);
}

/* A kubelet reports only a pod's Kubernetes class. */
static void row_add(struct neap_table *table, const json_t *row)
{
	neap_table_add_row(
		table, row,
		(const char *[]){neap_cell_text(
			row, json_object_get(row, "qos") != NULL ? "qos" : "kube_qos")});
}

/* Number of workloads that fit a screen of so many lines; the head, the titles and the
 * keys take the rest. */
static int rows_at_once(const struct look *look)
{
	return look->height > 8 ? look->height - 6 : 2;
}

static void picture_add(const struct picture *picture, const struct look *look,
			struct neap_buf *out)
{
	static const struct neap_table_column columns[] = {
		{"NAME", .max_columns = 32, .shrinks_to = 8, .cell = "{name}"},
		{"QOS"},
		{"CPU", true, .cell = "{used_milli|cpus}"},
		{"THROTTLED", true, .is_minor = true,
		 .cell = "{throttled_ratio|percent}"},
		{"PRESSURE", true, .is_minor = true, .cell = "{cpu_pressure|percent}"},
		{"MEMORY", true, .cell = "{memory_bytes|bytes}"},
		{"CPUS", .max_columns = 24, .is_minor = true, .cell = "{cpus}"},
		{"LIMIT", .max_columns = 40, .shrinks_to = 8, .cell = "{limited_by}"},
		{"WHY", .columns_min = 16, .cell = "{why}"},
		{NULL},
	};
	struct neap_table_style style = {.columns = neap_ctl_columns(),
					 .use_color = neap_ctl_use_color()};
	struct neap_table *table = neap_table_new(columns);
	const json_t *row;
	size_t i;

	if (table == NULL) {
		out->failed = true;
		return;
	}
	header_add(picture->status, style.columns, out);
	neap_buf_addc(out, '\n');
	json_array_foreach (picture->workloads, i, row) {
		row_add(table, row);
	}
	if (look->height > 0) {
		style.rows_max = (size_t)rows_at_once(look);
		style.rows_skip = (size_t)look->first;
	}
	if (!neap_table_format(table, &style, out))
		out->failed = true;
	if (neap_table_rows(table) == 0)
		neap_buf_addf(
			out,
			"no workloads: start one with '%s run --qos BE -- COMMAND'\n",
			neap_ctl_name());
	neap_table_free(table);
	if (look->height > 0)
		neap_buf_adds(out, "c m t p n: sort; up, down, page: scroll; q: end\n");
}

static int print_once(struct neap_client *client, int order, enum neap_output output)
{
	const struct look look = {.order = order};
	struct picture picture = {0};
	struct neap_error err = {0};
	struct neap_buf out;
	int r;

	if (picture_get(client, &picture, &err) < 0)
		return neap_ctl_fail(&err);
	picture_sort(&picture, order);
	if (output) {
		json_t *json =
			json_pack("{s:O?, s:O?, s:O?, s:O}", "state",
				  json_object_get(picture.status, "state"), "node",
				  json_object_get(picture.status, "node"), "policies",
				  json_object_get(picture.status, "policies"),
				  "workloads", picture.workloads);
		picture_done(&picture);
		return neap_ctl_print_take(output, json);
	}
	neap_buf_init(&out, NEAP_BUF_REPLY);
	picture_add(&picture, &look, &out);
	r = neap_ctl_print(&out);
	neap_buf_done(&out);
	picture_done(&picture);
	return r;
}

static int plain(struct neap_client *client, int64_t count, int64_t interval_usec,
		 int order, enum neap_output output)
{
	int64_t i;
	int r = 0;

	for (i = 0; i < count && r == 0; i++) {
		if (i > 0) {
			(void)usleep((useconds_t)interval_usec);
			if (!output)
				(void)puts("");
		}
		r = print_once(client, order, output);
	}
	return r;
}

/* A key: another order, other rows. */
static void look_turn(struct look *look, int key, int count)
{
	const char text[] = {(char)key, '\0'};
	int page = rows_at_once(look) - 1, last = count - page;

	if (key < 128 && neap_top_order_find(text) >= 0) {
		look->order = neap_top_order_find(text);
		look->first = 0;
	} else if (key == NEAP_KEY_UP || key == 'k') {
		look->first--;
	} else if (key == NEAP_KEY_DOWN || key == 'j') {
		look->first++;
	} else if (key == NEAP_KEY_PAGE_UP) {
		look->first -= page;
	} else if (key == NEAP_KEY_PAGE_DOWN || key == ' ') {
		look->first += page;
	} else if (key == NEAP_KEY_HOME) {
		look->first = 0;
	}
	if (look->first > last)
		look->first = last;
	if (look->first < 0)
		look->first = 0;
}

/* Draws the picture and waits for a key or the next tick. A key draws the same figures
 * again. */
static enum neap_screen_event picture_show(struct picture *picture, struct look *look,
					   struct neap_screen *screen,
					   int64_t interval_usec, struct neap_buf *out)
{
	const int64_t end = neap_clock_usec(CLOCK_MONOTONIC) + interval_usec;
	enum neap_screen_event event;
	int key = 0;

	do {
		look->height = neap_screen_rows(screen);
		picture_sort(picture, look->order);
		neap_buf_clear(out);
		picture_add(picture, look, out);
		neap_screen_show(screen, out);
		event = neap_screen_wait(screen, end - neap_clock_usec(CLOCK_MONOTONIC),
					 &key);
		if (event == NEAP_SCREEN_KEY)
			look_turn(look, key, (int)json_array_size(picture->workloads));
	} while (event == NEAP_SCREEN_KEY || event == NEAP_SCREEN_RESIZED);
	return event;
}

/* Waits for a daemon that is away for a while (an upgrade), but not for one that was
 * never there. */
static int live(struct neap_client *client, int64_t count, int64_t interval_usec,
		int order, struct neap_screen *screen, struct neap_error *err)
{
	enum neap_screen_event event = NEAP_SCREEN_TIME;
	struct look look = {.order = order};
	struct picture picture = {0};
	struct neap_buf out;
	bool was_there = false;
	int64_t i;
	int r = 0, key;

	neap_buf_init(&out, NEAP_BUF_REPLY);
	for (i = 0; event != NEAP_SCREEN_END && i < count; i++) {
		/* The last table is not waited for. */
		const int64_t wait = i + 1 < count ? interval_usec : 0;

		r = picture_get(client, &picture, err);
		if (r < 0 && !was_there)
			break;
		was_there = true;
		if (r == 0) {
			event = picture_show(&picture, &look, screen, wait, &out);
		} else {
			neap_buf_clear(&out);
			neap_text_add_clean(&out, err->msg, false);
			neap_buf_addc(&out, '\n');
			neap_screen_show(screen, &out);
			event = neap_screen_wait(screen, wait, &key);
		}
		picture_done(&picture);
		r = 0;
	}
	neap_buf_done(&out);
	return r;
}

static int run(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct top_values *values = arg;
	struct neap_client *client = NULL;
	struct neap_screen *screen = NULL;
	struct neap_error err = {0};
	int64_t count = values->count, interval = values->interval_usec;
	enum neap_output output = ctl->output;
	int r, order = values->sort != NULL ? neap_top_order_find(values->sort) : -1;

	(void)argc, (void)argv;
	if (values->sort != NULL && order < 0)
		return neap_ctl_complainf(NEAP_CTL_USAGE,
					  "--sort: '%.32s' is none of " NEAP_TOP_ORDERS,
					  values->sort);
	if (interval == NEAP_MISSING)
		interval = INTERVAL_USEC;
	if (count == NEAP_MISSING)
		count = isatty(STDOUT_FILENO) && !output ? INT64_MAX : 1;
	if (neap_client_new(ctl, &client, &err) < 0)
		return neap_ctl_fail(&err);
	if (!values->is_batch && !output)
		screen = neap_screen_open();
	if (screen != NULL) {
		r = live(client, count, interval, order, screen, &err);
		neap_screen_close(screen);
		if (r < 0)
			r = neap_ctl_fail(&err);
	} else {
		r = plain(client, count, interval, order, output);
	}
	neap_client_free(client);
	return r;
}

const struct neap_command neap_command_top = {
	.name = "top",
	.usage = "[-n COUNT] [-d SECONDS] [-s ORDER] [-b] [-o json|yaml]",
	.example = "top -n 1",
	.summary = "live: what each workload uses, what limits it and why",
	.text = "CPU in CPUs, THROTTLED and PRESSURE in percent of time. The last line names the keys;\n"
		"a narrow terminal does not show THROTTLED, PRESSURE and CPUS.\n",
	.options = options,
	.output = "print node, state and workloads as JSON or YAML",
	.values_size = sizeof(struct top_values),
	.run = run,
};
