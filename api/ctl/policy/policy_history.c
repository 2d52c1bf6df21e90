/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl policy history`: the stored versions of a policy, and what happened to it. */
#include <stdio.h>
#include <string.h>

#include "api/ctl/draw/cells.h"
#include "api/ctl/draw/table.h"
#include "api/ctl/policy/policy_priv.h"

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

/* The policy that acts when nothing is uploaded. */
static void add_configured(struct neap_table *table, const json_t *reply)
{
	const char *version = neap_cell_text(reply, "configured");
	bool is_active = json_is_null(json_object_get(reply, "active")) &&
			 strcmp(version, neap_cell_text(reply, "live")) == 0;

	if (json_object_get(reply, "configured") != NULL)
		neap_table_add(table,
			       (const char *[]){version, is_active ? "active" : "-", "-",
						"-", "configuration", "-"});
}

static void add_event(struct neap_table *table, const json_t *row)
{
	neap_table_add(table, (const char *[]){neap_cell_text(row, "time"),
					       neap_cell_text(row, "verb"),
					       neap_cell_text(row, "version"),
					       neap_cell_text(row, "by"),
					       neap_cell_text(row, "why")});
}

/* below (may be NULL) adds a last row. */
static bool add_table(const json_t *reply, const char *member,
		      const struct neap_table_column *columns,
		      void (*add)(struct neap_table *table, const json_t *row),
		      void (*below)(struct neap_table *table, const json_t *reply),
		      struct neap_buf *out)
{
	struct neap_table_style style = {.columns = neap_ctl_columns(),
					 .use_color = neap_ctl_use_color()};
	struct neap_table *table = neap_table_new(columns);
	const json_t *row;
	bool ok = true;
	size_t i;

	if (table == NULL)
		return false;
	json_array_foreach (json_object_get(reply, member), i, row) {
		add(table, row);
	}
	if (below != NULL)
		below(table, reply);
	if (neap_table_rows(table) > 0 && out->len > 0)
		neap_buf_addc(out, '\n');
	if (neap_table_rows(table) > 0)
		ok = neap_table_format(table, &style, out);
	neap_table_free(table);
	return ok;
}

static int print(const char *name, const json_t *reply)
{
	static const struct neap_table_column version_columns[] = {
		{"VERSION"}, {"STATE"}, {"TIME"}, {"BYTES", true},
		{"BY"},      {"WHY"},   {NULL},
	};
	static const struct neap_table_column event_columns[] = {
		{"TIME"}, {"WHAT"}, {"VERSION"}, {"BY"}, {"WHY"}, {NULL},
	};
	struct neap_buf out;

	neap_buf_init(&out, NEAP_BUF_REPLY);
	if (!add_table(reply, "versions", version_columns, add_version, add_configured,
		       &out) ||
	    !add_table(reply, "history", event_columns, add_event, NULL, &out))
		out.failed = true;
	if (out.len == 0)
		neap_buf_addf(&out, "nothing was ever uploaded as %s\n", name);
	return neap_ctl_print_done(&out);
}

static int history(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct neap_output_values *values = arg;
	struct neap_client *client = NULL;
	struct neap_error err = {0};
	json_t *reply = NULL;
	int r;

	(void)argc;
	if (neap_client_new(ctl, &client, &err) < 0)
		return neap_ctl_fail(&err);
	r = neap_ctl_policy_get(client, argv[0], "/versions", &reply);
	neap_client_free(client);
	if (r != 0)
		return r;
	if (values->output)
		return neap_ctl_print_take(values->output, reply);
	r = print(argv[0], reply);
	json_decref(reply);
	return r;
}

const struct neap_command neap_command_policy_history = {
	.name = "policy history",
	.usage = "[-o json|yaml] KIND/NAME",
	.example = "policy history qos/cpu-share",
	.summary = "its versions, and what happened to it",
	.text = "Both newest first. 'neapctl policy rollback' takes any that was uploaded.\n",
	.options = neap_output_of_all,
	.values_size = sizeof(struct neap_output_values),
	.args_min = 1,
	.args_max = 1,
	.run = history,
};
