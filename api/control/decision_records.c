/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded decisions of the scheduler. The list names the policies in service of these
 * kinds, with which a new version can be compared elsewhere. Texts and parameters are
 * those of the policies' own routes (policies.c): all texts in one answer, of up to 256
 * KiB each, would hold up the loop. */
#include <stdlib.h>
#include <string.h>

#include "api/control/control.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "lua/replay/replay.h"

struct neap_control_recordings {
	const struct neap_decisions *decisions;
	struct neap_registry *registry;
};

static json_t *policies_of(struct neap_registry *registry)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < neap_registry_count(registry); i++) {
		struct neap_policy *policy = neap_registry_get(registry, i)->policy;
		const char *of = neap_replay_of(neap_policy_kind(policy));
		struct neap_policy_info info;

		if (!of || strcmp(of, "decisions") != 0)
			continue;
		neap_policy_get_info(policy, &info);
		neap_json_push_new(&list,
				   json_pack("{s:s, s:s, s:s}", "kind", info.kind, "name",
					     info.name, "version", info.version));
	}
	return list;
}

static void get_list(void *arg, struct neap_http_request *request)
{
	const struct neap_control_recordings *recordings = arg;
	json_t *body =
		json_pack("{s:s, s:[s,s,s], s:o, s:I, s:o}", "of", "decisions", "kinds",
			  "score", "filter", "reservation", "frames",
			  neap_decisions_list(recordings->decisions), "left_out",
			  (json_int_t)neap_decisions_left_out(recordings->decisions),
			  "policies", policies_of(recordings->registry));
	struct neap_error err;

	if (body) {
		neap_http_answer_json_take(request, 200, body);
		return;
	}
	(void)neap_error_nomem(&err);
	neap_http_answer_error(request, &err);
}

static void get_one(void *arg, struct neap_http_request *request)
{
	const struct neap_control_recordings *recordings = arg;
	const char *segment = neap_http_segment_get(request, 0), *text;
	struct neap_error err;
	int64_t number = -1;

	if (neap_int_parse(segment, &number, NULL) < 0 || number < 0) {
		(void)neap_error_set(&err, NEAP_EINVAL,
				     "the number of a decision is wanted");
		neap_http_answer_error(request, &err);
		return;
	}
	text = neap_decisions_text(recordings->decisions, number);
	if (text) {
		neap_http_answer_text(request, 200, "application/json", text,
				      strlen(text));
		return;
	}
	(void)neap_error_set(&err, NEAP_ENOTFOUND,
			     "there is no recorded decision %lld (the oldest go when "
			     "there are more than %d)",
			     (long long)number, NEAP_DECISIONS_MAX);
	neap_http_answer_error(request, &err);
}

static const struct neap_http_route routes[] = {
	{"GET", "/control/v1/recordings/decisions", NEAP_HTTP_READER, get_list},
	{"GET", "/control/v1/recordings/decisions/{number}", NEAP_HTTP_READER, get_one},
	{0},
};

int neap_control_recordings_new(struct neap_http *http,
				const struct neap_decisions *decisions,
				struct neap_registry *registry,
				struct neap_control_recordings **ret,
				struct neap_error *err)
{
	struct neap_control_recordings *recordings = neap_alloc(sizeof(*recordings));

	if (!recordings)
		return neap_error_nomem(err);
	*recordings = (struct neap_control_recordings){decisions, registry};
	if (neap_http_add_routes(http, routes, recordings, err) < 0) {
		free(recordings);
		return -(int)err->code;
	}
	*ret = recordings;
	return 0;
}

void neap_control_recordings_free(struct neap_control_recordings *recordings)
{
	free(recordings);
}
