/* SPDX-License-Identifier: Apache-2.0
 *
 * URLs of servers and proxies, and the proxy that the environment names, as Go's
 * programs find it: HTTPS_PROXY or HTTP_PROXY by the server's scheme, unless the server
 * is this machine or NO_PROXY lists it. */
#include <arpa/inet.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/remote/kubeconfig_priv.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"

#define ENTRY_SIZE 256
#define SOCKS_PORT 1080

/* --- URLs --- */

/* Whether a word is in a list with blanks between. */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (; *list; list += strcspn(list, " "), list += *list == ' ')
		if (strncmp(list, word, len) == 0 &&
		    (list[len] == ' ' || list[len] == '\0'))
			return true;
	return false;
}

/* A part of a URL, NULL without it; to free with curl_free. */
static char *part_of(CURLU *url, CURLUPart part)
{
	char *text = NULL;

	if (curl_url_get(url, part, &text, 0) != CURLUE_OK)
		return NULL;
	return text;
}

/* The host without brackets. */
static char *host_dup(const char *host)
{
	size_t len = strlen(host);

	if (len > 2 && host[0] == '[' && host[len - 1] == ']')
		return neap_strndup(host + 1, len - 2);
	return neap_strdup(host);
}

static const char *parts_check(CURLU *url, const char *schemes, struct remote_url *ret)
{
	char *scheme = part_of(url, CURLUPART_SCHEME);
	char *host = part_of(url, CURLUPART_HOST);
	char *query = part_of(url, CURLUPART_QUERY);
	char *fragment = part_of(url, CURLUPART_FRAGMENT);
	char *user = part_of(url, CURLUPART_USER);
	char *password = part_of(url, CURLUPART_PASSWORD);
	const bool is_server = strcmp(schemes, NEAP_REMOTE_SERVER_SCHEMES) == 0;
	char *port = NULL;
	const char *why = NULL;
	int64_t number = 0;

	(void)curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
	if (!scheme || !has_word(schemes, scheme))
		why = is_server ? "must begin with https:// or http://"
				: "must begin with http://, https:// or socks5://";
	else if (!host || host[0] == '\0')
		why = "has no host";
	else if (query || fragment)
		why = "must end with its path: no ? and no #";
	else if ((user || password) && is_server)
		why = "must name no user: that is users[].user.username";
	else if (port && (neap_int_parse(port, &number, NULL) < 0 || number == 0))
		why = "must have a port above 0";
	if (!why && ret) {
		ret->is_https = strcmp(scheme, "https") == 0;
		ret->port = number ? (int)number : SOCKS_PORT;
		ret->host = host_dup(host);
		why = ret->host ? NULL : "no memory";
	}
	curl_free(scheme);
	curl_free(host);
	curl_free(query);
	curl_free(fragment);
	curl_free(user);
	curl_free(password);
	curl_free(port);
	return why;
}

const char *remote_url_check(const char *url, const char *schemes, struct remote_url *ret)
{
	CURLU *parsed = curl_url();
	const char *after = url + strcspn(url, ":/"); /* the scheme */
	const char *why = "is no URL";

	if (!parsed)
		return "no memory";
	/* curl takes one slash and three, too, and guesses a scheme without one. */
	if (strncmp(after, "://", 3) != 0 || after[3] == '/')
		why = parts_check(parsed, schemes, NULL);
	else if (curl_url_set(parsed, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) ==
		 CURLUE_OK)
		why = parts_check(parsed, schemes, ret);
	curl_url_cleanup(parsed);
	return why;
}

/* --- NO_PROXY --- */

struct address {
	unsigned char bytes[16];
	size_t len; /* 4 or 16; 0: no address */
};

static struct address address_of(const char *text)
{
	struct address address = {.len = 0};

	if (inet_pton(AF_INET, text, address.bytes) == 1)
		address.len = 4;
	else if (inet_pton(AF_INET6, text, address.bytes) == 1)
		address.len = 16;
	return address;
}

static bool has_prefix(const struct address *a, const struct address *b, size_t bits)
{
	if (a->len != b->len || bits > a->len * 8)
		return false;
	for (size_t i = 0; i < bits; i++) {
		unsigned mask = 0x80u >> i % 8;

		if ((a->bytes[i / 8] & mask) != (b->bytes[i / 8] & mask))
			return false;
	}
	return true;
}

static bool is_loopback(const struct remote_url *server)
{
	const struct address host = address_of(server->host);
	const struct address four = {{127}, 4}, six = {{[15] = 1}, 16};

	return strcasecmp(server->host, "localhost") == 0 ||
	       has_prefix(&host, &four, 8) || has_prefix(&host, &six, 128);
}

/* "10.0.0.0/8" */
static bool is_in_block(char *entry, const struct remote_url *server)
{
	const struct address host = address_of(server->host);
	char *slash = strchr(entry, '/');
	struct address block;
	int64_t bits = -1;

	*slash = '\0';
	block = address_of(entry);
	return block.len && host.len && neap_int_parse(slash + 1, &bits, NULL) == 0 &&
	       bits >= 0 && has_prefix(&host, &block, (size_t)bits);
}

/* Cuts ":8080" from the end. False when it is another port than the server's. */
static bool is_port(char *entry, const struct remote_url *server)
{
	char *colon = strrchr(entry, ':');
	int64_t port = 0;

	/* Colons of an address are none of a port. */
	if (!colon || address_of(entry).len == 16 || colon[strlen(colon) - 1] == ']')
		return true;
	if (neap_int_parse(colon + 1, &port, NULL) < 0)
		return false;
	*colon = '\0';
	return port == server->port;
}

/* "example.com" is it and all below it, ".example.com" and "*.example.com" only what is
 * below it. */
static bool is_listed(char *entry, const struct remote_url *server)
{
	size_t len, host_len = strlen(server->host);
	struct address address;

	if (strcmp(entry, "*") == 0)
		return true;
	if (strchr(entry, '/'))
		return is_in_block(entry, server);
	if (!is_port(entry, server))
		return false;
	len = strlen(entry);
	if (len > 2 && entry[0] == '[' && entry[len - 1] == ']') {
		entry[len - 1] = '\0';
		entry++;
	}
	address = address_of(entry);
	if (address.len) {
		const struct address host = address_of(server->host);

		return has_prefix(&host, &address, address.len * 8);
	}
	if (strncmp(entry, "*.", 2) == 0)
		entry++;
	if (strcasecmp(server->host, entry) == 0)
		return true;
	entry += entry[0] == '.';
	len = strlen(entry);
	return len > 0 && host_len > len + 1 && server->host[host_len - len - 1] == '.' &&
	       strcasecmp(server->host + host_len - len, entry) == 0;
}

static bool is_excepted(const char *list, const struct remote_url *server)
{
	while (*list) {
		size_t len = strcspn(list, ",");
		char entry[ENTRY_SIZE];

		if (sscanf(list, " %255[^, \t]", entry) == 1 && is_listed(entry, server))
			return true;
		list += len + (list[len] == ',');
	}
	return false;
}

/* The first of both names that is set, NULL without. */
static const char *env_any(remote_getenv_fn *env, const char *upper, const char *lower,
			   const char **ret_name)
{
	const char *value = env(upper);

	*ret_name = upper;
	if (!value || value[0] == '\0') {
		*ret_name = lower;
		value = env(lower);
	}
	return value && value[0] ? value : NULL;
}

int remote_proxy_find(remote_getenv_fn *env, const struct remote_url *server, char **ret,
		      struct neap_error *err)
{
	const char *name, *no_name, *why;
	const char *proxy = server->is_https
				    ? env_any(env, "HTTPS_PROXY", "https_proxy", &name)
				    : env_any(env, "HTTP_PROXY", "http_proxy", &name);
	const char *no_proxy = env_any(env, "NO_PROXY", "no_proxy", &no_name);
	neap_auto_free char *url = NULL;

	if (!proxy || is_loopback(server) || (no_proxy && is_excepted(no_proxy, server)))
		return 0;
	url = strstr(proxy, "://") ? neap_strdup(proxy)
				   : neap_asprintf("http://%s", proxy);
	if (!url)
		return neap_error_nomem(err);
	why = remote_url_check(url, NEAP_REMOTE_PROXY_SCHEMES, NULL);
	if (why)
		return neap_error_field(err, NEAP_EINVAL, name, "environment: %s: %s",
					name, why);
	*ret = neap_steal(url);
	return 0;
}
