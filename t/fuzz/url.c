/* SPDX-License-Identifier: Apache-2.0
 *
 * Paths, queries, routes, tokens and listening addresses of the HTTP server. Decoding
 * takes one reading only: what comes out holds no control character, and encoded again
 * decodes to the same. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "api/http/serve/address.h"
#include "api/http/server.h"
#include "api/http/users/tokens.h"
#include "t/fuzz/lib/fuzz.h"

#define PAIRS 16

static void check_clean(const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		FUZZ_CHECK(*c >= ' ' && *c != 127);
}

static void check_again(const char *decoded, bool is_query)
{
	char *text = malloc(strlen(decoded) * 3 + 1), *to = text;
	struct neap_error err;

	FUZZ_CHECK(text != NULL);
	for (const char *c = decoded; *c; c++)
		to += snprintf(to, 4, *c == '/' ? "/" : "%%%02X", (unsigned char)*c);
	*to = '\0';
	FUZZ_CHECK(neap_url_decode(text, is_query, &err) == 0 &&
		   strcmp(text, decoded) == 0);
	free(text);
}

static void check_path(char *path)
{
	static const char *const patterns[] = {"/", "/healthz",
					       "/control/v1/policies/{kind}/{name}",
					       "/a/{b}/c/*", "/*"};
	struct neap_error err;
	struct neap_route_match match;

	if (neap_url_decode(path, false, &err) < 0)
		return;
	check_clean(path);
	check_again(path, false);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(patterns); i++) {
		match = (struct neap_route_match){.rest = ""};
		if (!neap_route_match(patterns[i], path, &match))
			continue;
		FUZZ_CHECK(match.count <= NEAP_ROUTE_SEGMENT_MAX);
		for (int j = 0; j < match.count; j++) {
			FUZZ_CHECK(match.segments[j].len > 0);
			FUZZ_CHECK(match.segments[j].start >= path);
			FUZZ_CHECK(match.segments[j].start + match.segments[j].len <=
				   path + strlen(path));
			FUZZ_CHECK(!memchr(match.segments[j].start, '/',
					   match.segments[j].len));
		}
	}
	if (neap_route_is_pattern(path))
		(void)neap_route_match(path, path, &match);
}

static void check_query(char *query)
{
	const char *names[PAIRS], *values[PAIRS];
	struct neap_error err;
	int count = neap_url_query_parse(query, names, values, PAIRS, &err);

	FUZZ_CHECK(count <= PAIRS);
	for (int i = 0; i < count; i++) {
		check_clean(names[i]);
		check_clean(values[i]);
		check_again(values[i], true);
	}
}

/* Three lines: path, query, listening address or token. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sockaddr_storage addr;
	struct neap_error err;
	struct fuzz_in in;
	char *other;
	int len = 0;

	fuzz_in_init(&in, data, size);
	check_path(fuzz_line(&in));
	check_query(fuzz_line(&in));
	other = fuzz_line(&in);
	if (neap_http_listen_parse(other, (struct sockaddr *)&addr, &len, &err) == 0)
		FUZZ_CHECK(len > 0 && len <= (int)sizeof(addr));
	FUZZ_CHECK(neap_bearer_is_right("secret", other) ==
		   (strncasecmp(other, "Bearer ", 7) == 0 &&
		    strcmp(other + 7, "secret") == 0));
	fuzz_in_done(&in);
	return 0;
}
