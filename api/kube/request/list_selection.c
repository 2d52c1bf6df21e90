/* SPDX-License-Identifier: Apache-2.0
 *
 * Which objects of a collection are requested. */
#include "api/kube/base/view.h"
#include "api/kube/request/call.h"

static int bad_selector(struct call *call, const char *parameter,
			const struct neap_error *err)
{
	if (err->code == NEAP_ENOMEM)
		return neap_kube_fail_error(&call->failure, call->target.kind, "", err);
	return neap_kube_fail(&call->failure, NEAP_KUBE_BAD_REQUEST,
			      "unable to parse %s: %s%s%s", parameter, err->field,
			      err->field[0] ? ": " : "", err->msg);
}

/* As in a kube-apiserver, a built-in kind without namespaces accepts metadata.namespace
 * only if it declares no selectable fields. */
static bool knows_namespace(const struct neap_kube_kind *kind)
{
	return kind->is_namespaced || (!kind->is_custom && !kind->fields);
}

int choice_parse(struct call *call, struct choice *ret)
{
	const struct neap_kube_kind *kind = call->target.kind;
	const char *labels = call_query(call, "labelSelector");
	const char *fields = call_query(call, "fieldSelector");
	struct neap_error err;
	int64_t ignored;

	*ret = (struct choice){0};
	/* Every request for a collection may have them, even where they have no
	 * effect. */
	if (call_number(call, "limit", 0, &ignored) < 0 ||
	    call_number(call, "timeoutSeconds", 0, &ignored) < 0)
		return -1;
	if (labels && *labels && neap_selector_parse_text(labels, &ret->labels, &err) < 0)
		return bad_selector(call, "labelSelector", &err);
	if (fields &&
	    neap_field_selector_parse(fields, kind->fields, knows_namespace(kind),
				      &ret->fields, &err) < 0) {
		choice_done(ret);
		return bad_selector(call, "fieldSelector", &err);
	}
	for (size_t i = 0; i < ret->fields.count; i++)
		ret->fields.terms[i].path = neap_kube_view_field(
			call->target.kind, ret->fields.terms[i].path);
	return 0;
}

void choice_done(struct choice *choice)
{
	neap_selector_free(choice->labels);
	choice->labels = NULL;
	neap_field_selector_done(&choice->fields);
}

bool choice_has(const struct choice *choice, const struct neap_object *object)
{
	return (!choice->labels || neap_object_is_selected(object, choice->labels)) &&
	       neap_field_selector_matches(&choice->fields, object);
}
