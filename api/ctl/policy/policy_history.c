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

	neap_table_add_row(table, row,
			   (const char *[]){is_active    ? "active"
					    : has_failed ? "failed"
							 : "-"});
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

/* Nothing for an empty one. */
static void add_table_take(struct neap_table *table, struct neap_buf *out)
{
	if (table != NULL && neap_table_rows(table) == 0) {
		neap_table_free(table);
		return;
	}
	if (out->len > 0)
		neap_buf_addc(out, '\n');
	neap_ctl_add_table_take(table, out);
}

static void add(const json_t *reply, const void *name, struct neap_buf *out)
{
	static const struct neap_table_column version_columns[] = {
		{"VERSION", .cell = "{version}"},
		{"STATE"},
		{"TIME", .cell = "{time}"},
		{"BYTES", true, .cell = "{bytes}"},
		{"BY", .cell = "{by}"},
		{"WHY", .cell = "{why}"},
		{NULL},
	};
	static const struct neap_table_column event_columns[] = {
		{"TIME", .cell = "{time}"},       {"WHAT", .cell = "{verb}"},
		{"VERSION", .cell = "{version}"}, {"BY", .cell = "{by}"},
		{"WHY", .cell = "{why}"},         {NULL},
	};
	struct neap_table *versions = neap_table_new(version_columns);
	struct neap_table *events = neap_table_new(event_columns);
	const json_t *row;
	size_t i;

	json_array_foreach (json_object_get(reply, "versions"), i, row) {
		add_version(versions, row);
	}
	add_configured(versions, reply);
	add_table_take(versions, out);
	neap_table_add_rows(events, json_object_get(reply, "history"));
	add_table_take(events, out);
	if (out->len == 0)
		neap_buf_addf(out, "nothing was ever uploaded as %s\n",
			      (const char *)name);
}

static int history(struct neap_ctl *ctl, void *values, int argc, char **argv)
{
	(void)values, (void)argc;
	return neap_ctl_policy_show(ctl, argv[0], "/versions", add, argv[0]);
}

const struct neap_command neap_command_policy_history = {
	.name = "policy history",
	.usage = "[-o json|yaml] KIND/NAME",
	.example = "policy history qos/cpu-share",
	.summary = "the versions of a policy, and what happened to it",
	.text = "Both newest first. 'neapctl policy rollback' accepts every version that was uploaded.\n",
	.output = NEAP_OUTPUT_OF_ALL,
	.args_min = 1,
	.args_max = 1,
	.run = history,
};
