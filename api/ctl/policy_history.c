/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl policy history`: the versions of a policy that are kept, and what happened to it. */
#include <stdio.h>

#include "api/ctl/cells.h"
#include "api/ctl/policy_priv.h"
#include "api/ctl/table.h"

struct history_values {
	const char *output;
};

static const struct neap_option options[] = {
	{"output", 'o', NEAP_OPTION_TEXT, offsetof(struct history_values, output), "json",
	 "print all of it as JSON"},
	{""},
};

static void add_version(struct neap_table *table, const json_t *row)
{
	bool is_active = json_is_true(json_object_get(row, "is_active"));
	bool has_failed = json_is_true(json_object_get(row, "has_failed"));
	char bytes[NEAP_CELL_BYTES];

	neap_table_add(table, (const char *[]){neap_cell_text(row, "version"),
					       is_active    ? "active"
					       : has_failed ? "failed"
							    : "-",
					       neap_cell_text(row, "time"),
					       neap_cell_integer(row, "bytes", bytes),
					       neap_cell_text(row, "by"),
					       neap_cell_text(row, "why")});
}

static void add_event(struct neap_table *table, const json_t *row)
{
	neap_table_add(table, (const char *[]){neap_cell_text(row, "time"),
					       neap_cell_text(row, "verb"),
					       neap_cell_text(row, "version"),
					       neap_cell_text(row, "by"),
					       neap_cell_text(row, "why")});
}

static bool add_table(const json_t *rows, const struct neap_table_column *columns,
		      void (*add)(struct neap_table *table, const json_t *row),
		      struct neap_buf *out)
{
	struct neap_table_style style = {.columns = neap_ctl_columns(),
					 .use_color = neap_ctl_use_color()};
	struct neap_table *table = neap_table_new(columns);
	const json_t *row;
	size_t i;
	bool ok;

	if (table == NULL)
		return false;
	json_array_foreach (rows, i, row) {
		add(table, row);
	}
	ok = neap_table_format(table, &style, out);
	neap_table_free(table);
	return ok;
}

static int print(const json_t *reply)
{
	static const struct neap_table_column version_columns[] = {
		{"VERSION"}, {"STATE"}, {"TIME"}, {"BYTES", true},
		{"BY"},      {"WHY"},   {NULL},
	};
	static const struct neap_table_column event_columns[] = {
		{"TIME"}, {"WHAT"}, {"VERSION"}, {"BY"}, {"WHY"}, {NULL},
	};
	struct neap_buf out;
	int r;

	neap_buf_init(&out, NEAP_BUF_REPLY);
	if (!add_table(json_object_get(reply, "versions"), version_columns, add_version,
		       &out))
		out.failed = true;
	neap_buf_addc(&out, '\n');
	if (!add_table(json_object_get(reply, "history"), event_columns, add_event, &out))
		out.failed = true;
	r = neap_ctl_print(&out);
	neap_buf_done(&out);
	return r;
}

static int history(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct history_values *values = arg;
	struct neap_client *client = NULL;
	struct neap_error err = {0};
	json_t *reply = NULL;
	int r = neap_ctl_check_output(values->output);

	(void)argc;
	if (r != 0)
		return r;
	if (neap_client_new(ctl, &client, &err) < 0)
		return neap_ctl_fail(&err);
	r = neap_ctl_policy_get(client, argv[0], "/versions", &reply);
	neap_client_free(client);
	if (r != 0)
		return r;
	if (values->output != NULL)
		return neap_ctl_print_json_take(reply);
	r = print(reply);
	json_decref(reply);
	return r;
}

const struct neap_command neap_command_policy_history = {
	.name = "policy history",
	.usage = "[-o json] KIND/NAME",
	.summary = "its versions, and what happened to it",
	.text = "Both newest first. 'neapctl policy rollback' takes any of the versions.\n",
	.options = options,
	.values_size = sizeof(struct history_values),
	.args_min = 1,
	.args_max = 1,
	.run = history,
};
