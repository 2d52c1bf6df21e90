/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameters of a loaded policy: a change takes effect completely, in ctx.params too,
 * or not at all. */
#include "lua/call/policy_priv.h"

/* After a change with outcome rc: shows it in ctx.params, or puts before (taken) back. */
static int commit(struct neap_policy *policy, struct neap_params *before, int rc,
		  struct neap_error *err)
{
	rc = rc < 0 ? rc : neap_ctx_refresh_params(policy, err);
	if (rc < 0) {
		struct neap_params swap = policy->params;

		policy->params = *before;
		*before = swap;
	}
	neap_params_done(before);
	return rc;
}

int neap_policy_set_param(struct neap_policy *policy, const char *name, const char *text,
			  struct neap_error *err)
{
	struct neap_params before = {0};
	int rc = neap_params_dup(&policy->params, &before, err);

	if (rc < 0)
		return rc;
	rc = neap_params_set_text(&policy->params, name, text, err);
	return commit(policy, &before, rc, err);
}

int neap_policy_set_params(struct neap_policy *policy, const json_t *values,
			   struct neap_error *err)
{
	struct neap_params before = {0};
	int rc = neap_params_dup(&policy->params, &before, err);

	if (rc < 0)
		return rc;
	rc = neap_params_set_json(&policy->params, values, err);
	return commit(policy, &before, rc, err);
}

int neap_policy_reset_params(struct neap_policy *policy, struct neap_error *err)
{
	struct neap_params before = {0};
	int rc = neap_params_dup(&policy->params, &before, err);

	if (rc < 0)
		return rc;
	neap_params_reset(&policy->params);
	return commit(policy, &before, 0, err);
}

int neap_policy_put_params(struct neap_policy *policy, const struct neap_param_text *base,
			   int base_count, const json_t *values, struct neap_error *err)
{
	struct neap_params before = {0};
	int rc = neap_params_dup(&policy->params, &before, err);

	if (rc < 0)
		return rc;
	neap_params_reset(&policy->params);
	for (int i = 0; i < base_count && rc == 0; i++)
		rc = neap_params_set_text(&policy->params, base[i].name, base[i].value,
					  err);
	if (rc == 0 && values)
		rc = neap_params_set_json(&policy->params, values, err);
	return commit(policy, &before, rc, err);
}

json_t *neap_policy_params(struct neap_policy *policy)
{
	return neap_params_values_json(&policy->params);
}

json_t *neap_policy_schema(struct neap_policy *policy)
{
	return neap_params_schema_json(&policy->params);
}
