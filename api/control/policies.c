/* SPDX-License-Identifier: Apache-2.0
 *
 * Translates requests to changes of live policies, and their results to answers. */
#include "api/control/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

#define LUA_TYPE "text/x-lua"

/* A request whose change is at work. request is NULL once its client has gone. */
struct waiting {
	struct waiting *next, **prev;
	struct neap_control_policies *policies;
	struct neap_http_request *request;
	bool wants_text;
};

struct neap_control_policies {
	struct neap_live *live;
	struct waiting *waiting;
};

static void waiting_free(struct waiting *waiting)
{
	*waiting->prev = waiting->next;
	if (waiting->next != NULL)
		waiting->next->prev = waiting->prev;
	free(waiting);
}

static void client_gone(void *arg)
{
	struct waiting *waiting = arg;

	neap_live_forget(waiting->policies->live, waiting);
	waiting_free(waiting);
}

static void add_etag(struct neap_http_request *request, const char *version)
{
	char etag[20];

	if (version[0] == '\0')
		return;
	(void)snprintf(etag, sizeof(etag), "\"%s\"", version);
	(void)neap_http_header_add(request, "ETag", etag); /* fails without memory only */
}

/* Of a body its member "text". */
static void answer_text_take(struct neap_http_request *request, json_t *body)
{
	const char *text = json_string_value(json_object_get(body, "text"));

	if (text != NULL)
		neap_http_answer_text(request, 200, LUA_TYPE "; charset=utf-8", text,
				      strlen(text));
	else
		neap_control_answer_take(request, 200, NULL);
	json_decref(body);
}

static void change_done(void *arg, int status, json_t *body, const char *version,
			const struct neap_error *err)
{
	struct waiting *waiting = arg;
	struct neap_http_request *request = waiting->request;

	if (err != NULL) {
		neap_http_answer_problem_take(request, neap_code_http(err->code), err,
					      body);
	} else if (waiting->wants_text) {
		answer_text_take(request, body);
	} else {
		add_etag(request, version);
		neap_control_answer_take(request, status, body);
	}
	waiting_free(waiting);
}

/* "\"3f2a91c0\"", "W/\"...\"" or "*"; NULL when it is none of them. */
static const char *read_etag(const char *header, char *buf, size_t size)
{
	size_t len;

	if (strcmp(header, "*") == 0)
		return "*";
	if (strncmp(header, "W/", 2) == 0)
		header += 2;
	len = strlen(header);
	if (len < 3 || header[0] != '"' || header[len - 1] != '"' || len - 2 >= size ||
	    memchr(header + 1, '"', len - 2) != NULL)
		return NULL;
	memcpy(buf, header + 1, len - 2);
	buf[len - 2] = '\0';
	return buf;
}

static int query_bool(struct neap_http_request *request, const char *name, bool *ret,
		      struct neap_error *err)
{
	const char *text = neap_http_query_find(request, name);

	*ret = text != NULL && strcmp(text, "true") == 0;
	if (text != NULL && !*ret && strcmp(text, "false") != 0)
		return neap_error_field(err, NEAP_EINVAL, name, "true or false");
	return 0;
}

/* What the request says about the change besides its body. */
static int read_change(struct neap_http_request *request, struct neap_live_change *ret,
		       char *etag, size_t etag_size, struct neap_error *err)
{
	const char *match = neap_http_header_find(request, "If-Match");
	const char *none = neap_http_header_find(request, "If-None-Match");

	ret->kind = neap_http_segment_get(request, 0);
	ret->name = neap_http_segment_get(request, 1);
	ret->by = neap_http_peer_get(request)->name;
	ret->is_admin = neap_http_peer_get(request)->role == NEAP_HTTP_ADMIN;
	if (match != NULL) {
		ret->if_match = read_etag(match, etag, etag_size);
		if (ret->if_match == NULL)
			return neap_error_field(err, NEAP_EINVAL, "If-Match",
						"one version in quotes, or *");
	}
	if (none != NULL && strcmp(none, "*") != 0)
		return neap_error_field(
			err, NEAP_EINVAL, "If-None-Match",
			"only * is accepted: the policy must not exist yet");
	ret->if_none = none != NULL;
	if (query_bool(request, "dryRun", &ret->is_dry_run, err) < 0 ||
	    query_bool(request, "shadow", &ret->is_shadow, err) < 0)
		return -(int)err->code;
	if (ret->is_dry_run && ret->is_shadow)
		return neap_error_field(err, NEAP_EINVAL, "shadow",
					"one of dryRun and shadow");
	return 0;
}

/* Before the start is done nothing is live yet. */
static bool is_open(const struct neap_control_policies *policies,
		    struct neap_http_request *request)
{
	struct neap_error err;

	if (neap_live_is_open(policies->live))
		return true;
	(void)neap_error_set(&err, NEAP_EUNAVAILABLE, "neapd is starting");
	neap_http_answer_error(request, &err);
	return false;
}

typedef int start_fn(struct neap_live *live, const struct neap_live_change *change,
		     struct neap_http_request *request, struct neap_error *err);

/* Puts the request aside and starts its change. can_try: a dry run is possible. */
static void start(struct neap_control_policies *policies,
		  struct neap_http_request *request, start_fn *fn, bool can_try)
{
	struct neap_live_change change = {.done = change_done};
	struct waiting *waiting;
	struct neap_error err;
	char etag[16];

	if (!is_open(policies, request))
		return;
	if (read_change(request, &change, etag, sizeof(etag), &err) < 0 ||
	    (change.is_dry_run && !can_try && /* rather than do it all the same */
	     neap_error_field(&err, NEAP_EINVAL, "dryRun", "only a PUT can be tried") <
		     0)) {
		neap_http_answer_problem_take(request, 400, &err, NULL);
		return;
	}
	waiting = neap_alloc(sizeof(*waiting));
	if (waiting == NULL) {
		(void)neap_error_nomem(&err);
		neap_http_answer_error(request, &err);
		return;
	}
	waiting->policies = policies;
	waiting->request = request;
	waiting->wants_text = neap_http_segment_get(request, 2) != NULL;
	waiting->prev = &policies->waiting;
	waiting->next = policies->waiting;
	if (waiting->next != NULL)
		waiting->next->prev = &waiting->next;
	policies->waiting = waiting;
	change.arg = waiting;
	if (fn(policies->live, &change, request, &err) < 0) {
		waiting_free(waiting);
		neap_http_answer_error(request, &err);
		return;
	}
	neap_http_defer(request, client_gone, waiting);
}

/* --- reading --- */

static void get_policies(void *arg, struct neap_http_request *request)
{
	struct neap_control_policies *policies = arg;

	if (is_open(policies, request))
		neap_control_answer_take(request, 200, neap_live_rows(policies->live));
}

/* What a policy's own path, or its params, are asked for; NULL: answered already. */
static json_t *
read_one(const struct neap_control_policies *policies, struct neap_http_request *request,
	 int (*read)(struct neap_live *live, const char *kind, const char *name,
		     json_t **ret, char *version, struct neap_error *err),
	 char *version)
{
	struct neap_error err;
	json_t *body = NULL;

	if (!is_open(policies, request))
		return NULL;
	if (read(policies->live, neap_http_segment_get(request, 0),
		 neap_http_segment_get(request, 1), &body, version, &err) < 0) {
		neap_http_answer_error(request, &err);
		return NULL;
	}
	if (body == NULL) {
		(void)neap_error_nomem(&err);
		neap_http_answer_error(request, &err);
		return NULL;
	}
	add_etag(request, version);
	return body;
}

static void get_policy(void *arg, struct neap_http_request *request)
{
	char version[12];
	json_t *row = read_one(arg, request, neap_live_row, version);

	if (row == NULL)
		return;
	if (neap_http_accepts(request, LUA_TYPE) && version[0] != '\0')
		answer_text_take(request, row);
	else
		neap_control_answer_take(request, 200, row);
}

static void get_params(void *arg, struct neap_http_request *request)
{
	char version[12];
	json_t *body = read_one(arg, request, neap_live_params, version);

	if (body != NULL)
		neap_control_answer_take(request, 200, body);
}

static int start_versions(struct neap_live *live, const struct neap_live_change *change,
			  struct neap_http_request *request, struct neap_error *err)
{
	return neap_live_list_versions(live, change, neap_http_segment_get(request, 2),
				       err);
}

static void get_versions(void *arg, struct neap_http_request *request)
{
	start(arg, request, start_versions, false);
}

/* --- changing --- */

static int start_put(struct neap_live *live, const struct neap_live_change *change,
		     struct neap_http_request *request, struct neap_error *err)
{
	size_t len;
	const char *text = neap_http_body_get(request, &len);

	return neap_live_put(live, change, text, len, err);
}

static void put_policy(void *arg, struct neap_http_request *request)
{
	start(arg, request, start_put, true);
}

static int start_delete(struct neap_live *live, const struct neap_live_change *change,
			struct neap_http_request *request, struct neap_error *err)
{
	(void)request;
	return neap_live_delete(live, change, err);
}

static void delete_policy(void *arg, struct neap_http_request *request)
{
	start(arg, request, start_delete, false);
}

static int start_rollback(struct neap_live *live, const struct neap_live_change *change,
			  struct neap_http_request *request, struct neap_error *err)
{
	const char *key, *to = NULL;
	json_t *body, *value;
	int rc = neap_control_read_body(request, false, &body, err);

	if (rc < 0)
		return rc;
	json_object_foreach (body, key, value) {
		to = json_string_value(value);
		if (strcmp(key, "to") != 0)
			rc = neap_error_field(err, NEAP_EINVAL, key,
					      "is unknown: there is only \"to\"");
		else if (to == NULL || strlen(to) != 8 ||
			 strspn(to, "0123456789abcdef") != 8)
			rc = neap_error_field(err, NEAP_EINVAL, "to",
					      "a version has 8 hex digits");
	}
	if (rc == 0)
		rc = neap_live_rollback(live, change, to, err);
	json_decref(body);
	return rc;
}

static void post_rollback(void *arg, struct neap_http_request *request)
{
	start(arg, request, start_rollback, false);
}

static int start_params(struct neap_live *live, const struct neap_live_change *change,
			struct neap_http_request *request, struct neap_error *err)
{
	json_t *body;
	int rc = neap_control_read_body(request, false, &body, err);

	if (rc < 0)
		return rc;
	rc = neap_live_set_params(live, change, body, err);
	json_decref(body);
	return rc;
}

static void patch_params(void *arg, struct neap_http_request *request)
{
	start(arg, request, start_params, false);
}

#define ONE "/control/v1/policies/{kind}/{name}"

static const struct neap_http_route routes[] = {
	{"GET", "/control/v1/policies", NEAP_HTTP_READER, get_policies},
	{"GET", ONE, NEAP_HTTP_READER, get_policy},
	{"PUT", ONE, NEAP_HTTP_EDITOR, put_policy},
	{"DELETE", ONE, NEAP_HTTP_EDITOR, delete_policy},
	{"GET", ONE "/versions", NEAP_HTTP_READER, get_versions},
	{"GET", ONE "/versions/{version}", NEAP_HTTP_READER, get_versions},
	{"POST", ONE "/rollback", NEAP_HTTP_EDITOR, post_rollback},
	{"GET", ONE "/params", NEAP_HTTP_READER, get_params},
	{"PATCH", ONE "/params", NEAP_HTTP_EDITOR, patch_params},
	{0},
};

int neap_control_policies_new(struct neap_http *http, struct neap_live *live,
			      struct neap_control_policies **ret, struct neap_error *err)
{
	struct neap_control_policies *policies = neap_alloc(sizeof(*policies));

	if (policies == NULL)
		return neap_error_nomem(err);
	policies->live = live;
	if (neap_http_add_routes(http, routes, policies, err) < 0) {
		free(policies);
		return -(int)err->code;
	}
	*ret = policies;
	return 0;
}

void neap_control_policies_free(struct neap_control_policies *policies)
{
	if (policies == NULL)
		return;
	while (policies->waiting != NULL)
		client_gone(policies->waiting);
	free(policies);
}
