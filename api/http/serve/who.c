/* SPDX-License-Identifier: Apache-2.0
 *
 * Identifies the client, and answers those without the rights. */
#include <event2/http.h>
#include <stdio.h>
#include <string.h>

#include "api/http/serve/guard.h"
#include "api/http/serve/server_priv.h"
#include "api/http/users/bearer.h"
#include "api/http/users/grants.h"
#include "api/http/users/tokens.h"
#include "engine/base/mem.h"

void neap_http_identify(struct neap_http_request *request)
{
	static const char prefix[] = "user:";
	const struct neap_bearers *bearers = request->bearers;
	struct neap_http_peer *peer = &request->peer;
	const char *value = neap_http_header_find(request, "Authorization");

	if (!peer->is_unix && value) {
		request->has_wrong_token =
			!neap_bearers_find(bearers, value, &peer->role, &peer->user);
		if (!request->has_wrong_token) {
			request->tokens = neap_tokens_ref(bearers->tokens);
			memcpy(request->peer_name, prefix, sizeof(prefix));
			(void)neap_strcopy(request->peer_name + sizeof(prefix) - 1,
					   sizeof(request->peer_name) - sizeof(prefix) +
						   1,
					   peer->user->name);
			peer->name = request->peer_name;
		}
		if (!request->has_wrong_token &&
		    neap_bearer_is_right(bearers->token, value))
			peer->name = "token";
	}
	if (peer->role > NEAP_HTTP_ANYBODY)
		neap_guard_note_known(request->guard, peer);
	else if (!request->has_wrong_token)
		peer->role = neap_grants_find_anonymous(bearers->grants);
}

const struct neap_http_user *neap_http_token_find(const struct neap_http_request *request,
						  const char *token)
{
	char value[sizeof("Bearer ") + NEAP_TOKEN_MAX];
	const struct neap_http_user *user;
	enum neap_http_role role;

	if (strlen(token) > NEAP_TOKEN_MAX)
		return NULL;
	(void)snprintf(value, sizeof(value), "Bearer %s", token);
	return neap_bearers_find(request->bearers, value, &role, &user) ? user : NULL;
}

/* Names a user by token or by uid. */
static void explain(const struct neap_http_peer *peer, enum neap_http_role needed,
		    struct neap_error *err)
{
	const char *who = peer->user->name, *kind = peer->is_unix ? "" : "user:";

	if (peer->role == NEAP_HTTP_ANYBODY)
		neap_error_set(err, NEAP_EFORBIDDEN,
			       "%s%.100s has no role here: neapd gives one with --grant "
			       "reader=%s%.100s",
			       kind, who, kind, who); /* the same for every request */
	else
		neap_error_set(err, NEAP_EFORBIDDEN,
			       "%s%.100s is %s here, and this needs %s: neapd gives it "
			       "with --grant %s=%s%.100s",
			       kind, who, neap_http_role_name(peer->role),
			       neap_http_role_name(needed), neap_http_role_name(needed),
			       kind, who);
}

void neap_http_answer_denied(struct neap_http_request *request,
			     enum neap_http_role needed)
{
	const struct neap_http_peer *peer = &request->peer;
	struct neap_error err;

	if (request->tokens || peer->is_unix) {
		explain(peer, needed, &err);
	} else if (!neap_guard_explain(request->guard, needed, &err)) {
		neap_error_set(&err, NEAP_EAUTH,
			       "no token or a wrong one: send \"Authorization: Bearer "
			       "TOKEN\", the token is in DATA_DIR/token");
		evhttp_add_header(evhttp_request_get_output_headers(request->ev),
				  "WWW-Authenticate", "Bearer");
	}
	neap_http_answer_error(request, &err);
}
