/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests that a browser sends for a foreign page. Where no token is needed, any page
 * could use its reader's browser: under its own name that resolves to this machine (DNS
 * rebinding), or across sites. A foreign Host name reveals the first, an Origin header
 * the second. With a token, and over the unix socket, a browser sends nothing by itself.
 * With TLS a foreign name does not match the certificate, but the browser sends its
 * user's certificate. */
#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "api/http/serve/guard.h"
#include "api/http/serve/server_priv.h"
#include "engine/base/mem.h"

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
