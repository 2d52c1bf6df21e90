/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies that require an admin (see lua/run/kind.c) go live, change, become a shadow
 * and are removed only by an admin's own action: not by an editor's, and not because an
 * editor's version failed. */
#include <stdlib.h>
#include <string.h>

#include "api/policy/live/live_priv.h"
#include "engine/base/mem.h"

static int refuse(const struct live_job *job, struct neap_error *err)
{
	return neap_error_set(err, NEAP_EFORBIDDEN,
			      "%s/%s is one that only an admin may load: only an admin "
			      "may change it, roll it back or take it out",
			      job->id.kind, job->id.name);
}

int neap_live_check_rights(const struct live_job *job, struct neap_error *err)
{
	if (!job->is_by_editor || job->is_dry_run || job->verb == VERB_VERSIONS)
		return 0;
	return job->is_older_admins ? refuse(job, err) : 0;
}

/* Whether a text needs an admin; true also when that is not known. */
static bool is_admins(const char *text, size_t len)
{
	struct neap_policy *policy = NULL;
	struct neap_error ignored;
	bool is = true;

	if (neap_policy_load(text, len, "stored", &policy, &ignored) == 0)
		is = neap_policy_admins_why(policy) != NULL;
	neap_policy_free(policy);
	return is;
}

int neap_live_check_stored_rights(struct live_job *job)
{
	neap_auto_free char *text = NULL;
	size_t len = 0;
	int rc;

	/* The version in service was checked already. */
	if (!job->is_by_editor || job->is_dry_run || job->older_version[0] != '\0' ||
	    job->item == NULL || !job->item->has_upload ||
	    !neap_kind_has_admins(neap_kind_find(job->id.kind)))
		return 0;
	rc = neap_versions_read(job->live->config.dir, &job->id, "", &text, &len, NULL,
				&job->err);
	if (rc == -NEAP_ENOTFOUND)
		return 0;
	if (rc == -NEAP_ENOMEM)
		return rc;
	/* A text that cannot be read may need an admin. */
	return rc < 0 || is_admins(text, len) ? refuse(job, &job->err) : 0;
}

int neap_live_check_kept_params(struct live_job *job)
{
	if (neap_policy_admins_why(job->verdict.policy) == NULL || job->is_older_admins ||
	    json_object_size(job->set_params) == 0)
		return 0;
	return neap_error_set(
		&job->err, NEAP_ECONFLICT,
		"only an admin may load it, and its parameters were set while "
		"others could set them: take them back first (PATCH, null), "
		"and set them when it is live");
}

bool neap_live_is_deleted_since(const struct live_job *job, const char *version)
{
	json_t *listed = NULL, *row;
	struct neap_error ignored;
	bool is = true;
	size_t i;

	if (neap_versions_list(job->live->config.dir, &job->id, &listed, &ignored) < 0)
		return true;
	json_array_foreach (json_object_get(listed, "history"), i,
			    row) { /* newest first */
		const char *verb = json_string_value(json_object_get(row, "verb"));
		const char *of = json_string_value(json_object_get(row, "version"));

		if (verb != NULL && strcmp(verb, "deleted") == 0)
			break;
		if (of == NULL || strcmp(of, version) != 0)
			continue;
		is = false;
		break;
	}
	json_decref(listed);
	return is;
}
