/* SPDX-License-Identifier: Apache-2.0
 *
 * Of the control API: policies as they are shipped, changed, and all else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "t/lib/strange_priv.h"

static char *read_file(const char *path, size_t *ret_len)
{
	FILE *file = fopen(path, "re");
	char *text = neap_alloc(65536 + 257);

	*ret_len = file ? fread(text, 1, 65536, file) : 0;
	if (file)
		(void)fclose(file);
	return text;
}

/* Policies as they are shipped, and what was written against the sandbox, changed. */
static void make_policy(struct strange_request *request, char *path)
{
	static const char *const files[] = {
		"policies/filter/allow-by-team.lua", "policies/qos/cpu-share.lua",
		"policies/reservation/owner-match.lua", "policies/score/binpack.lua",
		"policies/score/spread.lua"};
	size_t len;
	neap_auto_free char *text =
		read_file(mutate_pick(&strange_rng, files, NEAP_ARRAY_LEN(files)), &len);

	if (mutate_draw(&strange_rng, 3))
		len = mutate_bytes(&strange_rng, text, len, len + 256);
	strange_fill(request, "PUT", path, "text/x-lua", text, len, len + 256);
}

void strange_make_control(struct strange_request *request)
{
	/* Not: stopping to answer on purpose. */
	static const char *const ways[] = {
		"GET /control/v1/status",
		"GET /control/v1/workloads",
		"GET /control/v1/topology",
		"GET /control/v1/policies",
		"GET /control/v1/audit?limit=3",
		"GET /control/v1/audit?since=x",
		"POST /control/v1/freeze",
		"POST /control/v1/release",
		"POST /control/v1/resume",
		"POST /control/v1/token/rotate",
		"POST /control/v1/run",
		"GET /control/v1/cpus?limit=3",
		"GET /control/v1/cpus?node=a",
		"GET /control/v1/cpus?summary=true",
		"GET /control/v1/explain/pods/default/a",
		"GET /control/v1/explain/pods/default/b",
		"GET /control/v1/explain/reservations/a",
		"GET /control/v1/store",
		"POST /control/v1/store/backups",
		"GET /control/v1/store/backups/1",
		"DELETE /control/v1/store/backups/1",
		"POST /control/v1/store/restores",
		"POST /control/v1/store/restores/1/data",
		"POST /control/v1/store/restores/1/commit",
		"DELETE /control/v1/store/restores/1",
		"GET /metrics",
		"GET /version",
		"GET /readyz",
		"GET /livez?verbose",
		"GET /api",
		"GET /apis",
		"GET /openapi/v2",
		"GET /openapi/v3",
		"GET /",
		"OPTIONS /api/v1/pods",
		"TRACE /",
		"HEAD /api/v1/pods",
	};
	static const char *const kinds[] = {"qos",         "score", "filter", "rule",
					    "reservation", "none",  "..",     "q%2fx"};
	static const char *const parts[] = {"", "/versions", "/versions/00000000",
					    "/rollback", "/params"};
	const char *way, *method;
	char path[1024];
	json_t *body;

	if (mutate_draw(&strange_rng, 2)) {
		const char *part =
			mutate_pick(&strange_rng, parts, NEAP_ARRAY_LEN(parts));

		(void)snprintf(path, sizeof(path), "/control/v1/policies/%s/%s%s",
			       mutate_pick(&strange_rng, kinds, NEAP_ARRAY_LEN(kinds)),
			       strange_name(), part);
		if (!*part && mutate_draw(&strange_rng, 3)) {
			strange_add_text(path, sizeof(path),
					 mutate_draw(&strange_rng, 2) ? "?dryRun=true"
								      : "");
			make_policy(request, path);
			return;
		}
		method = strcmp(part, "/params") == 0     ? "PATCH"
			 : *part == '/' && part[1] == 'r' ? "POST"
			 : mutate_draw(&strange_rng, 2)   ? "GET"
							  : "DELETE";
		body = strcmp(method, "PATCH") == 0 ? strange_seed("ConfigMap") : NULL;
		if (body)
			mutate_object(&strange_rng, body, 3);
		strange_fill_json(request, method, path, "application/json", body);
		return;
	}
	way = mutate_pick(&strange_rng, ways, NEAP_ARRAY_LEN(ways));
	(void)neap_strcopy(path, sizeof(path), strchr(way, ' ') + 1);
	if (mutate_draw(&strange_rng, 4) == 0)
		strange_add_query(path, sizeof(path));
	body = way[0] == 'P' && mutate_draw(&strange_rng, 2) ? strange_seed("Scale")
							     : NULL;
	if (body)
		mutate_object(&strange_rng, body, 3);
	{
		char verb[16];

		(void)snprintf(verb, sizeof(verb), "%.*s", (int)strcspn(way, " "), way);
		strange_fill_json(request, verb, path, "application/json", body);
	}
}
