/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks an update against the stored object: the version and uid that the client saw,
 * and metadata that only the server sets. */
#include <stdio.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/request/call.h"
#include "engine/base/quantity.h"

bool call_is_declared_status(const struct call *call)
{
	return call->target.kind->is_custom && call_is_status(call);
}

static int refuse_no_version(struct call *call)
{
	struct neap_causes *causes = &call->kube->causes;

	neap_causes_clear(causes);
	neap_causes_add(causes, "FieldValueInvalid", "metadata.resourceVersion",
			"Invalid value: 0x0: must be specified for an update");
	return neap_kube_fail_invalid(&call->failure, call->target.kind,
				      call->target.name, causes);
}

static int refuse_immutable(struct call *call, const json_t *object, const char *member)
{
	struct neap_causes *causes = &call->kube->causes;
	char field[64];

	(void)snprintf(field, sizeof(field), "metadata.%s", member);
	neap_causes_clear(causes);
	neap_causes_invalid(causes, field,
			    json_object_get(json_object_get(object, "metadata"), member),
			    "field is immutable");
	return neap_kube_fail_invalid(&call->failure, call->target.kind,
				      call->target.name, causes);
}

/* Metadata in the body of a status that is not checked here. */
static bool is_passed_over(const struct call *call, const char *member)
{
	if (call_is_declared_status(call))
		return true;
	return strcmp(call->target.sub, "status") == 0 &&
	       strcmp(call->resource, "pods") == 0 &&
	       strcmp(member, "deletionTimestamp") == 0;
}

/* Only a deletion sets these. */
static int check_deletion(struct call *call, const json_t *object, const json_t *before)
{
	static const char *const members[] = {"deletionTimestamp",
					      "deletionGracePeriodSeconds"};
	const json_t *meta = json_object_get(object, "metadata");
	const json_t *was = json_object_get(before, "metadata");

	for (size_t i = 0; i < NEAP_ARRAY_LEN(members); i++) {
		const json_t *value = json_object_get(meta, members[i]);

		if (value && !json_is_null(value) && !is_passed_over(call, members[i]) &&
		    !json_equal(value, json_object_get(was, members[i])))
			return refuse_immutable(call, object, members[i]);
	}
	return 0;
}

/* Metadata in the body of a status is checked although it is not used. */
static int check_unused(struct call *call, const json_t *object, const json_t *before)
{
	struct neap_causes *causes = &call->kube->causes;

	if (strcmp(call->target.sub, "status") != 0 || call->target.kind->is_custom)
		return 0;
	neap_causes_clear(causes);
	neap_kube_meta_check(call->target.kind, object, before, causes);
	return causes->count ? neap_kube_fail_invalid(&call->failure, call->target.kind,
						      call->target.name, causes)
			     : 0;
}

/* A patch, a Scale and neap's own writes are changes of the stored object. */
static bool is_put_of_client(const struct call *call)
{
	return call->request && !call->is_patch && !call->answers_scale;
}

int change_check_version(struct call *call, const json_t *object,
			 const struct neap_object *newest)
{
	const char *version = neap_kube_meta_text(object, "resourceVersion");
	const char *uid = neap_kube_meta_text(object, "uid");
	int64_t number = 0;

	if (*version && neap_int_parse(version, &number, NULL) < 0)
		return neap_kube_fail(&call->failure, NEAP_KUBE_BAD_REQUEST,
				      "metadata.resourceVersion: Invalid value: "
				      "\"%.40s\": it must be a whole number",
				      version);
	if (!number && call->target.kind->needs_version &&
	    (*version || is_put_of_client(call)))
		return refuse_no_version(call);
	if (number && number != newest->version)
		return neap_kube_fail_conflict(&call->failure, call->target.kind,
					       call->target.name, neap_kube_modified);
	if (*uid && strcmp(uid, newest->uid) != 0 && call->is_patch &&
	    !call->answers_scale)
		return call_is_declared_status(call)
			       ? 0
			       : refuse_immutable(call, object, "uid");
	if (*uid && strcmp(uid, newest->uid) != 0) {
		char why[256];

		(void)snprintf(
			why, sizeof(why),
			"Precondition failed: UID in precondition: %.64s, UID in object "
			"meta: %s",
			uid, newest->uid);
		return neap_kube_fail_conflict(&call->failure, call->target.kind,
					       call->target.name, why);
	}
	return 0;
}

int change_check_meta(struct call *call, const json_t *object, const json_t *before)
{
	return check_deletion(call, object, before) < 0 ||
			       check_unused(call, object, before) < 0
		       ? -1
		       : 0;
}
