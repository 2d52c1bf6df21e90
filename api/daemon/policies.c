/* SPDX-License-Identifier: Apache-2.0
 *
 * The policies of the configuration: shipped ones by kind and name, others by file. */
#include <stdio.h>
#include <string.h>

#include "api/daemon/daemon.h"

/* The first row that failed; its message names file, line and row. */
struct failed_row {
	struct neap_error err;
	bool is_any;
};

static void note_row(void *arg, const char *row, const struct neap_error *err)
{
	struct failed_row *failed = arg;

	if (err == NULL || failed->is_any)
		return;
	failed->is_any = true;
	failed->err = *err;
	(void)row;
}

static void log_policy(void *arg, const char *label, const char *text)
{
	neap_log_line(arg, NEAP_LOG_INFO, "policy %s: %s", label, text);
}

static int load_one(const struct neap_config *config,
		    const struct neap_policy_choice *choice, struct neap_log *log,
		    struct neap_registry *registry, struct neap_error *err)
{
	struct neap_policy *policy = NULL;
	struct failed_row failed = {.is_any = false};
	char file[640];
	size_t len = strlen(choice->source);
	int i;

	if (len > 4 && strcmp(choice->source + len - 4, ".lua") == 0)
		(void)snprintf(file, sizeof(file), "%s", choice->source);
	else
		(void)snprintf(file, sizeof(file), "%s/policies/%s.lua",
			       config->share_dir, choice->source);
	if (neap_policy_load_file(file, &policy, err) < 0)
		return -(int)err->code;
	/* With the parameters' defaults, which is what the examples were written for. */
	if (neap_policy_run_examples(policy, note_row, &failed, err) != 0) {
		neap_policy_free(policy);
		if (failed.is_any)
			*err = failed.err;
		return -(int)err->code;
	}
	for (i = 0; i < choice->param_count; i++) {
		if (neap_policy_set_param(policy, choice->params[i].name,
					  choice->params[i].value, err) < 0) {
			neap_policy_free(policy);
			return neap_error_wrap(err, "policy %s", choice->source);
		}
	}
	neap_policy_set_log(policy, log_policy, log);
	return neap_registry_put_take(registry, policy, err);
}

int neap_policies_load(const struct neap_config *config, struct neap_log *log,
		       struct neap_registry *registry, struct neap_error *err)
{
	int i;

	for (i = 0; i < config->policy_count; i++) {
		if (load_one(config, &config->policies[i], log, registry, err) < 0)
			return neap_error_wrap(err, "--policy %s",
					       config->policies[i].source);
	}
	return 0;
}
