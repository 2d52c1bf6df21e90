/* SPDX-License-Identifier: Apache-2.0
 *
 * Identifies the client, answers those without the rights, and refuses requests that a
 * browser sends for a foreign page. */
#include <arpa/inet.h>
#include <event2/http.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/http/serve/guard.h"
#include "api/http/serve/server_priv.h"
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

/* --- where a request comes from ---
 *
 * Requests that a browser sends for a foreign page. Where no token is needed, any page
 * could use its reader's browser: under its own name that resolves to this machine (DNS
 * rebinding), or across sites. A foreign Host name reveals the first, an Origin header
 * the second. With a token, and over the unix socket, a browser sends nothing by itself.
 * With TLS a foreign name does not match the certificate, but the browser sends its
 * user's certificate. */

#define HOST_SIZE 256

/* Takes the name without port and brackets. False: too long. */
static bool take_name(const char *host, char name[HOST_SIZE])
{
	bool is_v6 = *host == '[';
	size_t len;

	host += is_v6;
	len = strcspn(host, is_v6 ? "]" : ":");
	if (len >= HOST_SIZE)
		return false;
	memcpy(name, host, len);
	name[len] = '\0';
	return true;
}

static bool is_in(const char *names, const char *name)
{
	size_t len = strlen(name);

	while (*names) {
		size_t each = strcspn(names, ",");

		if (each == len && len && strncasecmp(names, name, len) == 0)
			return true;
		names += each + (names[each] == ',');
	}
	return false;
}

static bool is_own(const char *names, const char *host)
{
	char name[HOST_SIZE];
	struct in6_addr addr;

	return take_name(host, name) && (inet_pton(AF_INET, name, &addr) == 1 ||
					 inet_pton(AF_INET6, name, &addr) == 1 ||
					 is_in("localhost", name) || is_in(names, name));
}

int neap_http_check_origin(const struct neap_http_request *request,
			   struct neap_error *err)
{
	const char *host = neap_http_header_find(request, "Host");
	const char *origin = neap_http_header_find(request, "Origin");
	const char *at;

	if (!request->host_names || request->peer.is_unix ||
	    *request->peer_name) /* only a token gives a name here */
		return 0;
	if (host && !neap_guard_is_tls(request->guard) &&
	    !is_own(request->host_names, host)) {
		(void)neap_error_set(err, NEAP_EFORBIDDEN,
				     "%.100s is no name of this server: ask by its "
				     "address, send a token, or start neapd with "
				     "--host-names %.60s",
				     host, host);
		return 421;
	}
	at = origin ? strstr(origin, "://") : NULL;
	if (!origin || (at && host && strcasecmp(at + 3, host) == 0))
		return 0;
	(void)neap_error_set(err, NEAP_EFORBIDDEN,
			     "a page of %.100s may not ask here without a token", origin);
	return 403;
}
