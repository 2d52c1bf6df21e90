/* SPDX-License-Identifier: Apache-2.0
 *
 * Checking a policy file for a person at a terminal. */
#include "lua/check.h"

#include "lua/policy.h"

static void print_row(void *arg, const char *row, const struct neap_error *err)
{
	FILE *out = arg;

	if (err)
		fprintf(out, "failed  %s\n        %s\n", row, err->msg);
	else
		fprintf(out, "ok      %s\n", row);
}

int neap_policy_check(const char *file, FILE *out)
{
	struct neap_policy *policy = NULL;
	struct neap_policy_info info;
	struct neap_error err;
	int failed;

	if (neap_policy_load_file(file, &policy, &err) < 0) {
		fprintf(out, "%s\n", err.msg);
		return 1;
	}
	neap_policy_get_info(policy, &info);
	fprintf(out, "%s: %s\n", file, info.label);
	failed = neap_policy_run_examples(policy, print_row, out, &err);
	if (failed < 0) {
		fprintf(out, "%s: %s\n", file, err.msg);
		failed = 1;
	}
	neap_policy_free(policy);
	return failed;
}
