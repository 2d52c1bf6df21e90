/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl policy list`: loaded policies, their condition, and refused uploads. */
#include <stdio.h>

#include "api/ctl/draw/cells.h"
#include "api/ctl/draw/table.h"
#include "api/ctl/policy/policy_priv.h"
#include "engine/json/json.h"

static void row_add(struct neap_table *table, const json_t *policy)
{
	char usec[NEAP_CELL_BYTES] = "-";
	int64_t count = neap_member_integer(policy, "calls", 0);
	int64_t total = neap_member_integer(policy, "cpu_usec", NEAP_MISSING);

	if (count > 0 && total != NEAP_MISSING)
		(void)snprintf(usec, sizeof(usec), "%lld us", (long long)(total / count));
	neap_table_add_row(table, policy, (const char *[]){usec});
}

void neap_ctl_policy_add_refused(const json_t *policy, struct neap_buf *out)
{
	const json_t *refused = json_object_get(policy, "refused");
	const char *file = json_string_value(json_object_get(refused, "file"));

	neap_ctl_policy_add_problem(file, file, neap_member_integer(refused, "line", 0),
				    neap_cell_text(refused, "message"), out);
}

/* "shadow 3f2a91c0: 58 of 60 calls alike, the last difference: ..." */
void neap_ctl_policy_add_shadow(const json_t *shadow, struct neap_buf *out)
{
	const json_t *last = json_object_get(shadow, "last_difference");
	neap_auto_free char *active = NULL, *own = NULL;

	neap_cells_add(
		out, shadow,
		"shadow {version}: {same} of {calls} calls alike, {faults} faults");
	neap_buf_adds(out, json_is_true(json_object_get(shadow, "is_failed"))
				   ? "; it is not asked any more\n"
				   : "\n");
	if (last == NULL)
		return;
	active = neap_json_dump(json_object_get(last, "active"),
				JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	own = neap_json_dump(json_object_get(last, "shadow"),
			     JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	if (active == NULL || own == NULL)
		return;
	neap_buf_adds(out, "  last difference: ");
	neap_cells_add_if(out, last, "node", "{pod} on {node}: ");
	neap_cells_add_if(out, last, "reservation", "{pod} and {reservation}: ");
	neap_buf_addf(out, "it %s, the shadow %s\n", active, own);
}

/* False for a file that never said which policy it is: that one is mentioned only below
 * the table. */
static bool is_named(const json_t *policy)
{
	return json_object_get(policy, "kind") != NULL ||
	       json_object_get(policy, "version") != NULL;
}

static void add_refusals(const json_t *policies, struct neap_buf *out)
{
	const json_t *policy;
	bool is_first = true;
	size_t i;

	json_array_foreach (policies, i, policy) {
		if (!json_is_object(json_object_get(policy, "refused")))
			continue;
		neap_buf_addf(out, "%s%s", is_first ? "\n" : "", neap_ctl_red());
		is_first = false;
		if (is_named(policy))
			neap_cells_add(out, policy, "{policy}: ");
		neap_ctl_policy_add_refused(policy, out);
		neap_buf_adds(out, neap_ctl_plain());
	}
}

static void add_shadows(const json_t *policies, struct neap_buf *out)
{
	const json_t *policy;
	size_t i;

	json_array_foreach (policies, i, policy) {
		const json_t *shadow = json_object_get(policy, "shadow");

		if (shadow == NULL)
			continue;
		neap_cells_add(out, policy, "{policy}: ");
		neap_ctl_policy_add_shadow(shadow, out);
	}
}

static void add(const json_t *policies, const void *arg, struct neap_buf *out)
{
	static const struct neap_table_column columns[] = {
		{"POLICY", .cell = "{policy}"},
		{"VERSION", .cell = "{version}"},
		{"LAYER", .cell = "{layer}"},
		{"STATE", .cell = "{state}"},
		{"CALLS", true, .cell = "{calls}"},
		{"ERRORS", true, .cell = "{errors}"},
		{"SPENT", true, .cell = "{spent}"},
		{"CPU/CALL", true},
		{"ORIGIN", .columns_min = 8, .cell = "{origin}"},
		{NULL},
	};
	struct neap_table *table = neap_table_new(columns);
	const json_t *policy;
	size_t i;

	(void)arg;
	json_array_foreach (policies, i, policy) {
		if (is_named(policy))
			row_add(table, policy);
	}
	neap_ctl_add_table_take(table, out);
	add_shadows(policies, out);
	add_refusals(policies, out);
}

static int list(struct neap_ctl *ctl, void *values, int argc, char **argv)
{
	(void)values, (void)argc, (void)argv;
	return neap_ctl_show(ctl, "GET", "/control/v1/policies", add, NULL);
}

const struct neap_command neap_command_policy_list = {
	.name = "policy list",
	.usage = "[-o json|yaml]",
	.example = "policy list",
	.summary = "the loaded policies and their state",
	.text = "Below the table are the texts that did not pass their checks, as FILE:LINE: "
		"TEXT.\n",
	.output = NEAP_OUTPUT_OF_ALL,
	.run = list,
};
