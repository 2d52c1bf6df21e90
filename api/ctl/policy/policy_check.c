/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl policy check` tests policy files without a daemon. Each file gives a JSON
 * report, printed as it is or as lines. */
#include <string.h>

#include "api/ctl/base/ctl.h"
#include "api/ctl/draw/cells.h"
#include "lua/call/policy.h"

static void example_add(void *arg, const char *name, const struct neap_error *err)
{
	json_t *row = json_pack("{s:s, s:b}", "name", name, "passed", err == NULL);

	if (err != NULL)
		(void)json_object_set_new(row, "what", json_string(err->msg));
	(void)json_array_append_new(arg, row);
}

/* It has no examples: it is asked once about an input of its kind. */
static int run_made(struct neap_policy *policy, json_t *report, struct neap_error *err)
{
	char name[80];

	(void)json_object_set_new(
		report, "warning",
		json_string(
			"no examples: it was tried on one generated input only; say in `examples` what it must do"));
	return neap_policy_run_example(policy, 0, 0, name, sizeof(name), err);
}

/* {"file", "policy", "version", "examples": [{"name", "passed", "what"}], "problem",
 * "warning"}, with empty ones left out. *ret_problems grows by the number of problems. */
static json_t *file_check(const char *file, int *ret_problems)
{
	json_t *report = json_pack("{s:s}", "file", file), *examples = json_array();
	struct neap_policy *policy = NULL;
	struct neap_policy_info info;
	struct neap_error err;
	int failed = neap_policy_load_file(file, &policy, &err);

	if (failed == 0) {
		neap_policy_get_info(policy, &info);
		(void)json_object_set_new(report, "policy",
					  json_sprintf("%s/%s", info.kind, info.name));
		(void)json_object_set_new(report, "version", json_string(info.version));
		failed = neap_policy_run_examples(policy, example_add, examples, &err);
		(void)json_object_set(report, "examples", examples);
		if (neap_policy_example_count(policy) == 0)
			failed = run_made(policy, report, &err);
		neap_policy_free(policy);
	}
	if (failed < 0)
		(void)json_object_set_new(report, "problem", json_string(err.msg));
	*ret_problems += failed < 0 ? 1 : failed;
	json_decref(examples);
	return report;
}

/* A policy's own text goes to the terminal only when it is clean. */
static void report_add(const json_t *report, struct neap_buf *out)
{
	const char *file = neap_cell_text(report, "file");
	const char *problem = json_string_value(json_object_get(report, "problem"));
	const json_t *row;
	size_t i;

	neap_cells_add_if(out, report, "policy", "{file}: {policy}@{version}\n");
	json_array_foreach (json_object_get(report, "examples"), i, row) {
		neap_cells_add(out, row,
			       json_is_true(json_object_get(row, "passed"))
				       ? "ok      {name}"
				       : "failed  {name}");
		neap_cells_add_if(out, row, "what", "\n        {what|lines}");
		neap_buf_addc(out, '\n');
	}
	neap_cells_add_if(out, report, "warning", "{file}: warning: {warning}\n");
	/* Most begin with the file and its line by themselves. */
	if (problem != NULL)
		neap_cells_add(out, report,
			       strncmp(problem, file, strlen(file)) == 0
				       ? "{problem|lines}\n"
				       : "{file}: {problem|lines}\n");
}

static void add(const json_t *reports, const void *arg, struct neap_buf *out)
{
	const json_t *report;
	size_t i;

	(void)arg;
	json_array_foreach (reports, i, report) {
		report_add(report, out);
	}
}

static int check(struct neap_ctl *ctl, void *values, int argc, char **argv)
{
	json_t *reports = json_array();
	int i, r, problems = 0;

	(void)values;
	for (i = 0; i < argc; i++)
		if (json_array_append_new(reports, file_check(argv[i], &problems)) < 0) {
			json_decref(reports);
			return neap_ctl_complainf(
				NEAP_CTL_FAILED,
				"%.64s: its name is no UTF-8, or memory is "
				"short",
				argv[i]);
		}
	r = neap_ctl_show_take(ctl, reports, add, NULL);
	return r == 0 && problems > 0 ? NEAP_CTL_FAILED : r;
}

const struct neap_command neap_command_policy_check = {
	.name = "policy check",
	.usage = "[-o json|yaml] FILE...",
	.example = "policy check mine.lua",
	.summary = "check policy files: compile them and run their examples",
	.text = "Needs no daemon and changes nothing. A problem is printed as FILE:LINE: TEXT, and the\n"
		"status is 1.\n",
	.output = "print what was found as JSON or YAML",
	.args_min = 1,
	.args_max = -1,
	.run = check,
};
