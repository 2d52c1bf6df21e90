/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl policy check` tests policy files without a daemon. Each file gives a JSON
 * report, printed as it is or as lines. */
#include <string.h>

#include "api/ctl/base/ctl.h"
#include "api/ctl/base/files.h"
#include "api/ctl/draw/cells.h"
#include "api/ctl/policy/policy_priv.h"
#include "engine/json/json.h"
#include "lua/call/policy.h"
#include "lua/replay/replay.h"

/* All rounds that are kept, with what the list adds. */
#define RECORDING_BYTES ((size_t)NEAP_ROUNDS_BYTES + NEAP_BUF_FILE)
/* CPU time of a replay. */
#define REPLAY_USEC (INT64_C(60) * 1000000)

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

/* --- recorded inputs --- */

struct check_values {
	const char *replay;
};

static const struct neap_option options[] = {
	{"replay", 0, NEAP_OPTION_TEXT, offsetof(struct check_values, replay),
	 "RECORDING", "try it on what 'neapctl policy recording' has written"},
	{""},
};

static int read_recording(const char *file, json_t **ret, struct neap_error *err)
{
	neap_auto_buf struct neap_buf text = {0};
	json_error_t where;
	int rc;

	neap_buf_init(&text, RECORDING_BYTES);
	rc = neap_file_read(file, &text, err);
	if (rc < 0)
		return rc;
	rc = neap_json_parse(text.data ? text.data : "", text.len, 0, ret, &where);
	if (rc == -NEAP_EINVAL)
		return neap_error_set(err, NEAP_EINVAL, "%s:%d: %s", file, where.line,
				      where.text);
	return rc < 0 ? neap_error_nomem(err) : 0;
}

/* The version that was in service when the recording was fetched; NULL: there is none
 * that loads, or the rounds have it. */
static struct neap_policy *load_older(const struct neap_policy *policy,
				      const json_t *recording)
{
	const json_t *row;
	struct neap_policy_info info;
	struct neap_policy *older = NULL;
	struct neap_error ignored;
	size_t i;

	neap_policy_get_info(policy, &info);
	json_array_foreach (json_object_get(recording, "policies"), i, row) {
		const char *text = neap_json_text(row, "text");

		if (strcmp(neap_json_text(row, "kind"), info.kind) != 0 ||
		    strcmp(neap_json_text(row, "name"), info.name) != 0)
			continue;
		if (neap_policy_load(text, strlen(text), info.name, &older, &ignored) < 0)
			return NULL;
		(void)neap_policy_set_params(older, json_object_get(row, "params"),
					     &ignored);
		return older;
	}
	return NULL;
}

/* Plays the recording with the policy and the version that ran in it. */
static int replay(struct neap_policy *policy, const json_t *recording, json_t *report,
		  struct neap_error *err)
{
	const struct neap_kind *kind = neap_policy_kind(policy);
	const char *of = neap_cell_text(recording, "of");
	struct neap_inputs inputs = {0};
	struct neap_policy *older;
	struct neap_policy_info info;
	json_t *result = NULL;
	int rc;

	if (!neap_replay_of(kind) || strcmp(neap_replay_of(kind), of) != 0)
		return neap_error_set(err, NEAP_EINVAL,
				      "the recording is of %.40s, which a policy of kind "
				      "%s is not tried on",
				      *of ? of : "nothing that is known", kind->name);
	rc = neap_inputs_read(recording, &inputs, err);
	if (rc < 0)
		return rc;
	older = load_older(policy, recording);
	rc = neap_policy_replay(older, policy, &inputs, REPLAY_USEC, &result, err);
	neap_inputs_done(&inputs);
	if (rc == 0 && older) {
		neap_policy_get_info(older, &info);
		(void)json_object_set_new(result, "older", json_string(info.label));
	}
	neap_policy_free(older);
	if (rc < 0)
		return rc;
	(void)json_object_set_new(report, "replay", result);
	return 0;
}

/* {"file", "policy", "version", "examples": [{"name", "passed", "what"}], "problem",
 * "warning", "replay"}, with empty ones left out. *ret_problems grows by the number of
 * problems. recording: NULL without one. */
static json_t *file_check(const char *file, const json_t *recording, int *ret_problems)
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
		if (failed == 0 && recording)
			failed = replay(policy, recording, report, &err);
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
	neap_ctl_policy_add_replay(json_object_get(report, "replay"), false, out);
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

static int check(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct check_values *values = arg;
	neap_auto_json json_t *recording = NULL;
	json_t *reports;
	struct neap_error err = {0};
	int i, r, problems = 0;

	if (values->replay && read_recording(values->replay, &recording, &err) < 0)
		return neap_ctl_complain(NEAP_CTL_FAILED, &err);
	reports = json_array();
	for (i = 0; i < argc; i++)
		if (json_array_append_new(
			    reports, file_check(argv[i], recording, &problems)) < 0) {
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
	.usage = "[--replay RECORDING] [-o json|yaml] FILE...",
	.example = "policy check mine.lua",
	.summary = "check policy files: compile them and run their examples",
	.text = "Needs no daemon and changes nothing. A problem is printed as FILE:LINE: TEXT, and the\n"
		"status is 1. With --replay the policy is also tried on a recording, and compared with the\n"
		"version that ran then.\n",
	.options = options,
	.output = "print what was found as JSON or YAML",
	.values_size = sizeof(struct check_values),
	.args_min = 1,
	.args_max = -1,
	.run = check,
};
