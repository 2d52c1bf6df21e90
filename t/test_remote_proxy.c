/* SPDX-License-Identifier: Apache-2.0
 *
 * Which proxy the environment names for a server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/remote/kubeconfig_priv.h"

static const char *https_proxy, *https_proxy_lower, *no_proxy;

static const char *env_find(const char *name)
{
	if (strcmp(name, "HTTPS_PROXY") == 0)
		return https_proxy;
	if (strcmp(name, "https_proxy") == 0)
		return https_proxy_lower;
	return strcmp(name, "NO_PROXY") == 0 ? no_proxy : NULL;
}

/* The proxy of a server; the caller frees it. */
static char *proxy_of(const char *server, struct neap_error *err)
{
	struct remote_url url = {0};
	char *proxy = NULL;

	assert_null(remote_url_check(server, NEAP_REMOTE_SERVER_SCHEMES, &url));
	if (remote_proxy_find(env_find, &url, &proxy, err) == 0)
		err->code = NEAP_OK;
	free(url.host);
	return proxy;
}

static const struct {
	const char *server, *no_proxy;
	bool is_proxied;
} excepted[] = {
	{"https://api.example.com:6443", NULL, true},
	{"https://api.example.com:6443", "", true},
	{"https://api.example.com:6443", "*", false},
	{"https://api.example.com:6443", "example.com", false},
	{"https://api.example.com:6443", "EXAMPLE.com", false},
	{"https://example.com", "example.com", false},
	{"https://example.com", ".example.com", true},
	{"https://api.example.com", ".example.com", false},
	{"https://api.example.com", "*.example.com", false},
	{"https://badexample.com", "example.com", true},
	{"https://api.example.com:6443", "a, b , api.example.com", false},
	{"https://api.example.com:6443", "api.example.com:6443", false},
	{"https://api.example.com:6443", "api.example.com:443", true},
	{"https://10.1.2.3:6443", "10.0.0.0/8", false},
	{"https://11.1.2.3:6443", "10.0.0.0/8", true},
	{"https://10.1.2.3:6443", "10.1.2.3", false},
	{"https://10.1.2.3:6443", "10.1.2.3:6443", false},
	{"https://10.1.2.3:6443", "10.1.2.3:1", true},
	{"https://10.1.2.4:6443", "10.1.2.3", true},
	{"https://[fd00::1]:6443", "fd00::/8", false},
	{"https://[fd00::1]:6443", "fd00::1", false},
	{"https://[fd00::1]:6443", "[fd00::1]:6443", false},
	{"https://[fd00::1]:6443", "[fd00::1]", false},
	{"https://[fd00::1]:6443", "[fd00::1]:1", true},
	{"https://[fd00::1]:6443", "10.0.0.0/8,x", true},
	{"https://[fd00::1]:6443", "253.0.0.0/8", true},
	{"https://10.1.2.3:6443", "10.1.2.3/33", true},
	{"https://10.1.2.3:6443", "10.0.0.0/99,/,:,.", true},
	{"https://localhost:6443", NULL, false},
	{"https://127.0.0.2:6443", NULL, false},
	{"https://[::1]:6443", NULL, false},
	{"http://api", NULL, false}, /* HTTP_PROXY is not set */
};

static void exceptions(void **state)
{
	(void)state;
	https_proxy_lower = "proxy.example:3128";
	for (size_t i = 0; i < NEAP_ARRAY_LEN(excepted); i++) {
		struct neap_error err;
		char *proxy;

		no_proxy = excepted[i].no_proxy;
		proxy = proxy_of(excepted[i].server, &err);
		assert_int_equal(err.code, NEAP_OK);
		if ((proxy != NULL) != excepted[i].is_proxied)
			fail_msg("%s with NO_PROXY=%s: %s", excepted[i].server, no_proxy,
				 proxy);
		if (proxy)
			assert_string_equal(proxy, "http://proxy.example:3128");
		free(proxy);
	}
	no_proxy = NULL;
}

/* Whether it is the URL of a server, and of a proxy. */
static const struct {
	const char *url;
	bool is_server, is_proxy;
} urls[] = {
	{"https://a", true, true},
	{"http://a:80/b/", true, true},
	{"HTTPS://a", true, true},
	{"socks5://a:1", false, true},
	{"http:/a", false, false},
	{"http:/a/b://c", false, false},
	{"a", false, false},
	{"", false, false},
	{"://a", false, false},
	{"http://", false, false},
	{"https:///b", false, false},
	{"https://a b", false, false},
	{"https://a\n", false, false},
	{"https://u:p@a", false, true},
	{"https://a:65536", false, false},
	{"https://a#b", false, false},
	{"https://[::1", false, false},
	{"https://[fd00::1]:1", true, true},
	{"socks5h://a", false, false},
	{"file:///etc/passwd", false, false},
};

static void schemes(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(urls); i++) {
		const char *url = urls[i].url;

		if (!remote_url_check(url, NEAP_REMOTE_SERVER_SCHEMES, NULL) !=
			    urls[i].is_server ||
		    !remote_url_check(url, NEAP_REMOTE_PROXY_SCHEMES, NULL) !=
			    urls[i].is_proxy)
			fail_msg("'%s'", url);
	}
}

static void names(void **state)
{
	struct neap_error err;
	char *proxy;

	(void)state;
	https_proxy_lower = "http://lower:1";
	https_proxy = "https://upper:1";
	proxy = proxy_of("https://api", &err);
	assert_string_equal(proxy, "https://upper:1");
	free(proxy);
	https_proxy = "ftp://upper:1";
	assert_null(proxy_of("https://api", &err));
	assert_int_equal(err.code, NEAP_EINVAL);
	assert_string_equal(err.field, "HTTPS_PROXY");
	https_proxy = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exceptions),
		cmocka_unit_test(schemes),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
