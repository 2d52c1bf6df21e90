/* SPDX-License-Identifier: Apache-2.0 */
#include "api/deschedule/routes.h"

#include <stdlib.h>
#include <string.h>

#include "api/deschedule/descheduler.h"
#include "api/deschedule/play/play_rounds.h"
#include "api/http/server.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

struct neap_deschedule_routes {
	struct neap_descheduler *const *descheduler;
};

/* A simulation whose answer is awaited. */
struct wait {
	struct neap_http_request *request; /* NULL: the client has gone */
};

static struct neap_descheduler *find(void *arg, struct neap_http_request *request)
{
	const struct neap_deschedule_routes *routes = arg;
	struct neap_descheduler *descheduler = *routes->descheduler;
	struct neap_error err;

	if (descheduler)
		return descheduler;
	(void)neap_error_set(&err, NEAP_EUNAVAILABLE,
			     "the descheduler does not work here now: another neapd "
			     "leads, or the cluster is still being read");
	neap_http_answer_error(request, &err);
	return NULL;
}

static void answer_take(struct neap_http_request *request, json_t *body)
{
	struct neap_error err;

	if (body) {
		neap_http_answer_json_take(request, 200, body);
		return;
	}
	(void)neap_error_nomem(&err);
	neap_http_answer_error(request, &err);
}

static void get_status(void *arg, struct neap_http_request *request)
{
	const struct neap_descheduler *descheduler = find(arg, request);

	if (descheduler)
		answer_take(request, neap_descheduler_status(descheduler, true));
}

static void post_pause(void *arg, struct neap_http_request *request)
{
	struct neap_descheduler *descheduler = find(arg, request);

	if (!descheduler)
		return;
	neap_descheduler_pause(descheduler, neap_http_peer_get(request)->name);
	answer_take(request, neap_descheduler_status(descheduler, false));
}

static void post_resume(void *arg, struct neap_http_request *request)
{
	struct neap_descheduler *descheduler = find(arg, request);

	if (!descheduler)
		return;
	neap_descheduler_resume(descheduler);
	answer_take(request, neap_descheduler_status(descheduler, false));
}

static void post_run(void *arg, struct neap_http_request *request)
{
	struct neap_descheduler *descheduler = find(arg, request);
	struct neap_error err = {0};

	if (!descheduler)
		return;
	if (neap_descheduler_run(descheduler, neap_http_peer_get(request)->name, &err) <
	    0)
		neap_http_answer_error(request, &err);
	else
		answer_take(request, neap_descheduler_status(descheduler, false));
}

/* --- simulations --- */

static void gone(void *arg)
{
	struct wait *wait = arg;

	wait->request = NULL;
}

static void simulated(void *arg, json_t *record, const struct neap_error *err)
{
	struct wait *wait = arg;
	struct neap_http_request *request = wait->request;

	free(wait);
	if (!request)
		json_decref(record);
	else if (err)
		neap_http_answer_error(request, err);
	else
		answer_take(request, record);
}

static int read_simulation(const json_t *body, struct neap_simulation *ret,
			   struct neap_error *err)
{
	const struct neap_member rows[] = {
		{"plugin", NEAP_MEMBER_TEXT, &ret->plugin},
		{"policy", NEAP_MEMBER_TEXT, &ret->policy},
		{"config", NEAP_MEMBER_TEXT, &ret->config},
		{"rounds", NEAP_MEMBER_INT, &ret->rounds, 1, NEAP_PLAY_ROUNDS_MAX},
		{NULL}};

	if (neap_members_read(body, rows, err) < 0)
		return -(int)err->code;
	return 0;
}

static void post_simulate(void *arg, struct neap_http_request *request)
{
	struct neap_descheduler *descheduler = find(arg, request);
	struct neap_simulation simulation = {0};
	struct neap_error err = {0};
	json_error_t where;
	json_t *body = NULL;
	struct wait *wait;
	size_t len;
	const char *text;
	int rc = 0;

	if (!descheduler)
		return;
	text = neap_http_body_get(request, &len);
	if (len)
		rc = neap_json_parse(text, len, JSON_REJECT_DUPLICATES, &body, &where);
	else
		body = json_object();
	if (rc == -NEAP_EINVAL)
		(void)neap_error_set(&err, NEAP_EINVAL,
				     "the body is no JSON: line %d: %s", where.line,
				     where.text);
	else if (!body)
		rc = neap_error_nomem(&err);
	if (rc == 0)
		rc = read_simulation(body, &simulation, &err);
	wait = rc == 0 ? neap_alloc(sizeof(*wait)) : NULL;
	if (rc == 0 && !wait)
		rc = neap_error_nomem(&err);
	if (rc < 0) {
		neap_http_answer_error(request, &err);
	} else {
		wait->request = request;
		neap_http_defer(request, gone, wait);
		neap_descheduler_simulate(descheduler, &simulation, simulated, wait);
	}
	json_decref(body);
}

/* --- recorded rounds --- */

static void recorded(void *arg, json_t *list, struct neap_buf *text,
		     const struct neap_error *err)
{
	size_t len = text->len;
	struct wait *wait = arg;
	struct neap_http_request *request = wait->request;

	free(wait);
	if (!request)
		return;
	if (err)
		neap_http_answer_error(request, err);
	else if (list)
		answer_take(request,
			    json_pack("{s:s,s:[s,s],s:O}", "of", "rounds", "kinds",
				      "deschedule", "evict", "frames", list));
	else
		neap_http_answer_text_take(request, 200, "application/json",
					   neap_buf_take(text), len);
}

static void get_recordings(void *arg, struct neap_http_request *request)
{
	struct neap_descheduler *descheduler = find(arg, request);
	const char *segment = neap_http_segment_get(request, 0);
	struct neap_error err = {0};
	int64_t number = -1;
	struct wait *wait;
	int rc = 0;

	if (!descheduler)
		return;
	if (segment && (neap_int_parse(segment, &number, NULL) < 0 || number < 0))
		rc = neap_error_set(&err, NEAP_EINVAL, "the number of a round is wanted");
	wait = rc == 0 ? neap_alloc(sizeof(*wait)) : NULL;
	if (rc == 0 && !wait)
		rc = neap_error_nomem(&err);
	if (rc == 0)
		rc = neap_descheduler_recordings(descheduler, number, recorded, wait,
						 &err);
	if (rc < 0) {
		free(wait);
		neap_http_answer_error(request, &err);
		return;
	}
	wait->request = request;
	neap_http_defer(request, gone, wait);
}

int neap_deschedule_routes_new(struct neap_http *http,
			       struct neap_descheduler *const *descheduler,
			       struct neap_deschedule_routes **ret,
			       struct neap_error *err)
{
	/* A simulation runs texts of the request, so it takes an editor. */
	static const struct neap_http_route routes[] = {
		{"GET", "/control/v1/deschedule", NEAP_HTTP_READER, get_status},
		{"POST", "/control/v1/deschedule/pause", NEAP_HTTP_EDITOR, post_pause},
		{"POST", "/control/v1/deschedule/resume", NEAP_HTTP_EDITOR, post_resume},
		{"POST", "/control/v1/deschedule/run", NEAP_HTTP_EDITOR, post_run},
		{"POST", "/control/v1/deschedule/simulate", NEAP_HTTP_EDITOR,
		 post_simulate},
		{"GET", "/control/v1/recordings/rounds", NEAP_HTTP_READER,
		 get_recordings},
		{"GET", "/control/v1/recordings/rounds/{number}", NEAP_HTTP_READER,
		 get_recordings},
		{NULL},
	};
	struct neap_deschedule_routes *made = neap_alloc(sizeof(*made));

	if (!made)
		return neap_error_nomem(err);
	made->descheduler = descheduler;
	*ret = made;
	return neap_http_add_routes(http, routes, made, err);
}

void neap_deschedule_routes_free(struct neap_deschedule_routes *routes)
{
	free(routes);
}
