/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl policy check` proves policy files without a daemon; `policy list` shows what a daemon
 * has loaded and how it fares. */
#include <stdio.h>
#include <stdlib.h>

#include "api/ctl/cells.h"
#include "api/ctl/client.h"
#include "api/ctl/table.h"
#include "api/ctl/text.h"
#include "lua/check.h"

struct list_values {
	const char *output;
};

static const struct neap_option list_options[] = {
	{"output", 'o', NEAP_OPTION_TEXT, offsetof(struct list_values, output), "json",
	 "print all of it as JSON"},
	{""},
};

/* What a policy says about itself goes to the terminal only when it is clean. */
static int check_file(const char *file, struct neap_buf *out)
{
	char *text = NULL;
	size_t len = 0;
	FILE *memory = open_memstream(&text, &len);
	int problems;

	if (memory == NULL) {
		out->failed = true;
		return 1;
	}
	problems = neap_policy_check(file, memory);
	if (fclose(memory) != 0)
		out->failed = true;
	else
		neap_text_add_clean(out, text, true);
	free(text);
	return problems;
}

static int check(struct neap_ctl *ctl, void *values, int argc, char **argv)
{
	struct neap_buf out;
	int i, r, problems = 0;

	(void)ctl, (void)values;
	neap_buf_init(&out, NEAP_BUF_REPLY);
	for (i = 0; i < argc; i++)
		problems += check_file(argv[i], &out);
	r = neap_ctl_print(&out);
	neap_buf_done(&out);
	return r == 0 && problems > 0 ? NEAP_CTL_FAILED : r;
}

static void params_add(const json_t *params, struct neap_buf *out)
{
	const char *key;
	json_t *value;
	char *text;

	json_object_foreach ((json_t *)params, key, value) {
		text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY |
						 JSON_REAL_PRECISION(15));
		neap_buf_addf(out, "%s%s=%s", out->len > 0 ? " " : "", key,
			      json_is_string(value) ? json_string_value(value)
			      : text != NULL        ? text
						    : "?");
		free(text);
	}
}

static void row_add(struct neap_table *table, const json_t *policy)
{
	char calls[NEAP_CELL_BYTES], wishes[NEAP_CELL_BYTES], errors[NEAP_CELL_BYTES],
		spent[NEAP_CELL_BYTES], usec[NEAP_CELL_BYTES] = "-";
	int64_t count = neap_member_integer(policy, "calls", 0);
	int64_t total = neap_member_integer(policy, "cpu_usec", NEAP_MISSING);
	struct neap_buf params;

	if (count > 0 && total != NEAP_MISSING)
		(void)snprintf(usec, sizeof(usec), "%lld us", (long long)(total / count));
	neap_buf_init(&params, NEAP_BUF_LINE);
	params_add(json_object_get(policy, "params"), &params);
	neap_table_add(table,
		       (const char *[]){neap_cell_text(policy, "policy"),
					neap_cell_text(policy, "version"),
					neap_cell_text(policy, "state"),
					neap_cell_integer(policy, "calls", calls),
					neap_cell_integer(policy, "wishes", wishes),
					neap_cell_integer(policy, "errors", errors),
					neap_cell_integer(policy, "spent", spent), usec,
					neap_cell_text(policy, "origin"), params.data});
	neap_buf_done(&params);
}

static int list_print(const json_t *policies)
{
	static const struct neap_table_column columns[] = {
		{"POLICY"},       {"VERSION"},      {"STATE"},       {"CALLS", true},
		{"WISHES", true}, {"ERRORS", true}, {"SPENT", true}, {"CPU/CALL", true},
		{"ORIGIN"},       {"PARAMS"},       {NULL},
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
		row_add(table, policy);
	}
	if (!neap_table_format(table, &style, &out))
		out.failed = true;
	r = neap_ctl_print(&out);
	neap_buf_done(&out);
	neap_table_free(table);
	return r;
}

static int list(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct list_values *values = arg;
	struct neap_error err = {0};
	json_t *policies = NULL;
	int r = neap_ctl_check_output(values->output);

	(void)argc, (void)argv;
	if (r != 0)
		return r;
	if (neap_client_ask(ctl, "GET", "/control/v1/policies", &policies, &err) < 0)
		return neap_ctl_complain(NEAP_CTL_FAILED, &err);
	if (values->output != NULL)
		return neap_ctl_print_json_take(policies);
	r = list_print(policies);
	json_decref(policies);
	return r;
}

const struct neap_command neap_command_policy_check = {
	.name = "policy check",
	.usage = "FILE...",
	.summary = "prove policy files: compile, check, run their examples",
	.text = "Needs no daemon and changes nothing. Problems read FILE:LINE: what, and end in status "
		"1.\n",
	.args_min = 1,
	.args_max = -1,
	.run = check,
};

const struct neap_command neap_command_policy_list = {
	.name = "policy list",
	.usage = "[-o json]",
	.summary = "the policies that are loaded, and how they fare",
	.options = list_options,
	.values_size = sizeof(struct list_values),
	.run = list,
};
