/* SPDX-License-Identifier: Apache-2.0
 *
 * Kubeconfigs: two files of KUBECONFIG, and what the environment says of proxies. Either
 * a message says what is wrong, or the target is whole: URLs of the schemes that there
 * are, certificates with their keys, one token. Base64 that was decoded is decoded to the
 * same when it is encoded again. */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/remote/kubeconfig_priv.h"
#include "engine/base/mem.h"
#include "t/fuzz/lib/fuzz.h"

static const char *no_proxy, *https_proxy, *list;

static const char *env_find(const char *name)
{
	if (strcmp(name, "NO_PROXY") == 0)
		return no_proxy;
	if (strcmp(name, "HTTPS_PROXY") == 0)
		return https_proxy;
	return strcmp(name, "KUBECONFIG") == 0 ? list : NULL;
}

static bool begins(const char *text, const char *scheme)
{
	return strncasecmp(text, scheme, strlen(scheme)) == 0;
}

static void check_target(const struct neap_remote_target *target)
{
	size_t len = strlen(target->server);

	FUZZ_CHECK(begins(target->server, "http://") ||
		   begins(target->server, "https://"));
	FUZZ_CHECK(target->server[len - 1] != '/');
	FUZZ_CHECK(!target->proxy_url || begins(target->proxy_url, "http://") ||
		   begins(target->proxy_url, "https://") ||
		   begins(target->proxy_url, "socks5://"));
	FUZZ_CHECK(target->dial_host && target->dial_host[0] && target->dial_port);
	FUZZ_CHECK(!target->ca_file || !target->ca_data);
	FUZZ_CHECK(!target->is_insecure || (!target->ca_file && !target->ca_data));
	FUZZ_CHECK((target->cert_file || target->cert_data) ==
		   (target->key_file || target->key_data));
	FUZZ_CHECK(!target->token || !target->token_file);
	FUZZ_CHECK(!target->username || (!target->token && !target->token_file));
	FUZZ_CHECK(!target->token || !strpbrk(target->token, "\r\n"));
	FUZZ_CHECK(target->as ||
		   (!target->as_uid && !json_object_size(target->as_extra)));
	FUZZ_CHECK(strstr(target->source, ", context "));
}

static void check_base64(const char *text)
{
	neap_auto_free char *plain = NULL, *again = NULL, *coded = NULL;
	size_t len = 0, again_len = 0;

	if (remote_base64(text, &plain, &len, NULL) < 0)
		return;
	coded = neap_alloc(len * 4 / 3 + 8);
	FUZZ_CHECK(coded != NULL);
	(void)EVP_EncodeBlock((unsigned char *)coded, (const unsigned char *)plain,
			      (int)len);
	FUZZ_CHECK(remote_base64(coded, &again, &again_len, NULL) == 0);
	FUZZ_CHECK(again_len == len && memcmp(again, plain, len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char both[256];
	const char *folder = fuzz_folder();
	struct neap_remote_source source = {.getenv = env_find, .account_dir = "/none"};
	struct neap_remote_target *target = NULL;
	struct neap_error err = {0};
	struct fuzz_in in;
	char *first, *second;
	size_t first_len, second_len;

	fuzz_in_init(&in, data, size);
	source.context = fuzz_line(&in);
	if (source.context[0] == '\0')
		source.context = NULL;
	no_proxy = fuzz_line(&in);
	https_proxy = fuzz_line(&in);
	check_base64(fuzz_line(&in));
	first = fuzz_text_until(&in, 1, &first_len);
	second = fuzz_rest(&in, &second_len);
	fuzz_file_put(folder, "first", first, first_len);
	fuzz_file_put(folder, "second", second, second_len);
	(void)snprintf(both, sizeof(both), "%s/first:%s/second", folder, folder);
	list = both;
	if (neap_remote_target_load(&source, &target, &err) < 0) {
		FUZZ_CHECK(err.code != NEAP_OK && err.code != NEAP_EINTERNAL);
		FUZZ_CHECK(err.msg[0] != '\0');
		FUZZ_CHECK(strstr(err.msg, folder) || begins(err.msg, "environment:"));
	} else {
		check_target(target);
		neap_remote_target_free(target);
	}
	fuzz_in_done(&in);
	return 0;
}
