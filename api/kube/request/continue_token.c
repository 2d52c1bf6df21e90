/* SPDX-License-Identifier: Apache-2.0 */
#include "api/kube/request/continue_token.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"

/* Fits the longest version, namespace and name. */
#define PLAIN_SIZE 352

char *neap_kube_continue_format(const struct neap_store_place *place, char *buf)
{
	char plain[PLAIN_SIZE];
	int len = snprintf(plain, sizeof(plain), "%lld/%s/%s", (long long)place->version,
			   place->ns, place->name);

	len = EVP_EncodeBlock((unsigned char *)buf, (unsigned char *)plain, len);
	for (int i = 0; i < len; i++) {
		if (buf[i] == '+')
			buf[i] = '-';
		else if (buf[i] == '/')
			buf[i] = '_';
	}
	while (len && buf[len - 1] == '=')
		buf[--len] = '\0';
	return buf;
}

/* Translates to the alphabet of EVP and decodes. -1: too long, or an invalid
 * character. */
static int decode(const char *token, char *plain)
{
	char text[NEAP_KUBE_CONTINUE_SIZE];
	size_t len = strlen(token), pad;
	int n;

	if (len + 4 > sizeof(text) || len / 4 * 3 + 3 >= PLAIN_SIZE)
		return -1;
	for (size_t i = 0; i < len; i++)
		text[i] = token[i] == '-' ? '+' : token[i] == '_' ? '/' : token[i];
	pad = (4 - len % 4) % 4;
	memset(text + len, '=', pad);
	n = EVP_DecodeBlock((unsigned char *)plain, (unsigned char *)text,
			    (int)(len + pad));
	if (n < (int)pad)
		return -1;
	plain[n - (int)pad] = '\0';
	return n - (int)pad;
}

int neap_kube_continue_parse(const char *token, struct neap_store_place *ret,
			     struct neap_error *err)
{
	char plain[PLAIN_SIZE];
	int len = decode(token, plain);
	char *ns, *name;

	memset(ret, 0, sizeof(*ret));
	ns = len > 0 && strlen(plain) == (size_t)len ? strchr(plain, '/') : NULL;
	name = ns ? strchr(ns + 1, '/') : NULL;
	if (!name)
		return neap_error_set(err, NEAP_EINVAL, "it is not one of this server's");
	*ns++ = '\0';
	*name++ = '\0';
	if (neap_int_parse(plain, &ret->version, NULL) < 0 || ret->version <= 0 ||
	    !*name || !neap_strcopy(ret->ns, sizeof(ret->ns), ns) ||
	    !neap_strcopy(ret->name, sizeof(ret->name), name))
		return neap_error_set(err, NEAP_EINVAL, "it is not one of this server's");
	return 0;
}
