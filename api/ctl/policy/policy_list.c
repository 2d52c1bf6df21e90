/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl policy list`: loaded policies, their condition, and refused uploads. */
#include <stdio.h>
#include <stdlib.h>

#include "api/ctl/draw/cells.h"
#include "api/ctl/draw/table.h"
#include "api/ctl/draw/text.h"
#include "api/ctl/policy/policy_priv.h"
#include "engine/json/json.h"

static void row_add(struct neap_table *table, const json_t *policy)
{
	char calls[NEAP_CELL_BYTES], errors[NEAP_CELL_BYTES], spent[NEAP_CELL_BYTES],
		usec[NEAP_CELL_BYTES] = "-";
	int64_t count = neap_member_integer(policy, "calls", 0);
	int64_t total = neap_member_integer(policy, "cpu_usec", NEAP_MISSING);

	if (count > 0 && total != NEAP_MISSING)
		(void)snprintf(usec, sizeof(usec), "%lld us", (long long)(total / count));
	neap_table_add(table,
		       (const char *[]){neap_cell_text(policy, "policy"),
					neap_cell_text(policy, "version"),
					neap_cell_text(policy, "layer"),
					neap_cell_text(policy, "state"),
					neap_cell_integer(policy, "calls", calls),
					neap_cell_integer(policy, "errors", errors),
					neap_cell_integer(policy, "spent", spent), usec,
					neap_cell_text(policy, "origin")});
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
	char same[NEAP_CELL_BYTES], calls[NEAP_CELL_BYTES], faults[NEAP_CELL_BYTES];
	char *active, *own;

	neap_buf_adds(out, "shadow ");
	neap_text_add_clean(out, neap_cell_text(shadow, "version"), false);
	neap_buf_addf(out, ": %s of %s calls alike, %s faults%s\n",
		      neap_cell_integer(shadow, "same", same),
		      neap_cell_integer(shadow, "calls", calls),
		      neap_cell_integer(shadow, "faults", faults),
		      json_is_true(json_object_get(shadow, "is_failed"))
			      ? "; it is not asked any more"
			      : "");
	if (last == NULL)
		return;
	active = neap_json_dump(json_object_get(last, "active"),
				JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	own = neap_json_dump(json_object_get(last, "shadow"),
			     JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	if (active != NULL && own != NULL) {
		neap_buf_adds(out, "  last difference: ");
		if (json_object_get(last, "node") != NULL) {
			neap_text_add_clean(out, neap_cell_text(last, "pod"), false);
			neap_buf_adds(out, " on ");
			neap_text_add_clean(out, neap_cell_text(last, "node"), false);
			neap_buf_adds(out, ": ");
		}
		neap_buf_addf(out, "it %s, the shadow %s\n", active, own);
	}
	free(active);
	free(own);
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
		if (is_named(policy)) {
			neap_text_add_clean(out, neap_cell_text(policy, "policy"), false);
			neap_buf_adds(out, ": ");
		}
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
		neap_text_add_clean(out, neap_cell_text(policy, "policy"), false);
		neap_buf_adds(out, ": ");
		neap_ctl_policy_add_shadow(shadow, out);
	}
}

static int list_print(const json_t *policies)
{
	static const struct neap_table_column columns[] = {
		{"POLICY"},      {"VERSION"},        {"LAYER"},
		{"STATE"},       {"CALLS", true},    {"ERRORS", true},
		{"SPENT", true}, {"CPU/CALL", true}, {"ORIGIN", .columns_min = 8},
		{NULL},
	};
	struct neap_table_style style = {.columns = neap_ctl_columns(),
					 .use_color = neap_ctl_use_color()};
	struct neap_table *table = neap_table_new(columns);
	const json_t *policy;
	struct neap_buf out;
	size_t i;
	int r;

	if (table == NULL)
		return neap_ctl_complainf(NEAP_CTL_FAILED, "out of memory");
	neap_buf_init(&out, NEAP_BUF_REPLY);
	json_array_foreach (policies, i, policy) {
		if (is_named(policy))
			row_add(table, policy);
	}
	if (!neap_table_format(table, &style, &out))
		out.failed = true;
	add_shadows(policies, &out);
	add_refusals(policies, &out);
	r = neap_ctl_print(&out);
	neap_buf_done(&out);
	neap_table_free(table);
	return r;
}

static int list(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct neap_output_values *values = arg;
	struct neap_error err = {0};
	json_t *policies = NULL;
	int r;

	(void)argc, (void)argv;
	if (neap_client_ask(ctl, "GET", "/control/v1/policies", &policies, &err) < 0)
		return neap_ctl_fail(&err);
	if (values->output)
		return neap_ctl_print_take(values->output, policies);
	r = list_print(policies);
	json_decref(policies);
	return r;
}

const struct neap_command neap_command_policy_list = {
	.name = "policy list",
	.usage = "[-o json|yaml]",
	.example = "policy list",
	.summary = "the policies that are loaded, and how they fare",
	.text = "Below the table stands each text that was offered and did not pass, FILE:LINE: "
		"what.\n",
	.options = neap_output_of_all,
	.values_size = sizeof(struct neap_output_values),
	.run = list,
};
