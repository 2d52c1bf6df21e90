/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl policy check` tests policy files without a daemon. Each file gives a JSON
 * report, printed as it is or as lines. */
#include <string.h>

#include "api/ctl/base/ctl.h"
#include "api/ctl/draw/cells.h"
#include "api/ctl/draw/text.h"
#include "lua/call/policy.h"

struct check_values {
	enum neap_output output;
};

static const struct neap_option options[] = {
	{"output", 'o', NEAP_OPTION_OUTPUT, offsetof(struct check_values, output),
	 NEAP_OUTPUT_NAMES, "print what was found as JSON or YAML"},
	{""},
};

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
		json_string("no examples: it was tried on one made input only; write "
			    "down in `examples` what it is to do"));
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

	if (json_object_get(report, "policy") != NULL) {
		neap_text_add_clean(out, file, false);
		neap_buf_addf(out, ": %s@%s\n", neap_cell_text(report, "policy"),
			      neap_cell_text(report, "version"));
	}
	json_array_foreach (json_object_get(report, "examples"), i, row) {
		neap_buf_adds(out, json_is_true(json_object_get(row, "passed"))
					   ? "ok      "
					   : "failed  ");
		neap_text_add_clean(out, neap_cell_text(row, "name"), false);
		if (json_object_get(row, "what") != NULL) {
			neap_buf_adds(out, "\n        ");
			neap_text_add_clean(out, neap_cell_text(row, "what"), true);
		}
		neap_buf_addc(out, '\n');
	}
	if (json_object_get(report, "warning") != NULL) {
		neap_text_add_clean(out, file, false);
		neap_buf_addf(out, ": warning: %s\n", neap_cell_text(report, "warning"));
	}
	if (problem == NULL)
		return;
	/* Most begin with the file and its line by themselves. */
	if (strncmp(problem, file, strlen(file)) != 0) {
		neap_text_add_clean(out, file, false);
		neap_buf_adds(out, ": ");
	}
	neap_text_add_clean(out, problem, true);
	neap_buf_addc(out, '\n');
}

static int print(const json_t *reports)
{
	const json_t *report;
	struct neap_buf out;
	size_t i;

	neap_buf_init(&out, NEAP_BUF_REPLY);
	json_array_foreach (reports, i, report) {
		report_add(report, &out);
	}
	return neap_ctl_print_done(&out);
}

static int check(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct check_values *values = arg;
	json_t *reports = json_array();
	int i, r = 0, problems = 0;

	(void)ctl;
	for (i = 0; i < argc && r == 0; i++)
		if (json_array_append_new(reports, file_check(argv[i], &problems)) < 0)
			r = neap_ctl_complainf(
				NEAP_CTL_FAILED,
				"%.64s: its name is no UTF-8, or memory is "
				"short",
				argv[i]);
	if (r == 0)
		r = values->output
			    ? neap_ctl_print_take(values->output, json_incref(reports))
			    : print(reports);
	json_decref(reports);
	return r == 0 && problems > 0 ? NEAP_CTL_FAILED : r;
}

const struct neap_command neap_command_policy_check = {
	.name = "policy check",
	.usage = "[-o json|yaml] FILE...",
	.example = "policy check mine.lua",
	.summary = "prove policy files: compile, check, run their examples",
	.text = "Needs no daemon and changes nothing. Problems read FILE:LINE: what, and end in status "
		"1.\n",
	.options = options,
	.values_size = sizeof(struct check_values),
	.args_min = 1,
	.args_max = -1,
	.run = check,
};
