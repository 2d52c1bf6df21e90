/* SPDX-License-Identifier: Apache-2.0
 *
 * Certificates and keys in PEM: unusable ones are found at the start, not at the first
 * connection. */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

#include "api/remote/kubeconfig_priv.h"
#include "engine/base/mem.h"

/* Without it OpenSSL would ask the terminal. */
static int no_password(char *to, int size, int is_writing, void *arg)
{
	(void)to;
	(void)size;
	(void)is_writing;
	(void)arg;
	return -1;
}

const char *neap_remote_certs_check(const char *pem, size_t len)
{
	BIO *bio = BIO_new_mem_buf(pem, (int)len);
	const char *why = NULL;
	int count = 0;
	X509 *cert;

	if (!bio)
		return "no memory";
	while ((cert = PEM_read_bio_X509(bio, NULL, no_password, NULL)) != NULL) {
		X509_free(cert);
		count++;
	}
	/* What ends a file without more certificates, too. */
	if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
		why = "has a certificate that cannot be parsed";
	else if (count == 0)
		why = "has no certificate in PEM (-----BEGIN CERTIFICATE-----)";
	ERR_clear_error();
	BIO_free(bio);
	return why;
}

const char *neap_remote_pair_check(const char *cert, size_t cert_len, const char *key,
				   size_t key_len)
{
	BIO *cert_bio = BIO_new_mem_buf(cert, (int)cert_len);
	BIO *key_bio = BIO_new_mem_buf(key, (int)key_len);
	X509 *x509 = NULL;
	EVP_PKEY *pkey = NULL;
	const char *why = NULL;

	if (cert_bio && key_bio) {
		x509 = PEM_read_bio_X509(cert_bio, NULL, no_password, NULL);
		pkey = PEM_read_bio_PrivateKey(key_bio, NULL, no_password, NULL);
	}
	if (!pkey)
		why = "has no private key in PEM without a password";
	else if (!x509 || X509_check_private_key(x509, pkey) != 1)
		why = "is not the key of the client certificate";
	ERR_clear_error();
	X509_free(x509);
	EVP_PKEY_free(pkey);
	BIO_free(cert_bio);
	BIO_free(key_bio);
	return why;
}

static int digit_of(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

int remote_base64(const char *text, char **ret, size_t *ret_len, struct neap_error *err)
{
	neap_auto_free char *out = neap_alloc(strlen(text) / 4 * 3 + 4);
	size_t len = 0, digits = 0, padding = 0;
	uint32_t bits = 0;

	if (!out)
		return neap_error_nomem(err);
	for (const char *at = text; *at; at++) {
		int digit = digit_of(*at);

		if (*at == '\n' || *at == '\r')
			continue;
		if (*at == '=')
			padding++;
		if ((*at != '=' && (digit < 0 || padding > 0)) || padding > 2)
			return neap_error_set(err, NEAP_EINVAL,
					      "is no base64: see character %zu",
					      (size_t)(at - text) + 1);
		bits = bits << 6 | (uint32_t)(digit < 0 ? 0 : digit);
		if (++digits % 4 == 0)
			for (int shift = 16; shift >= 0; shift -= 8)
				out[len++] = (char)(bits >> shift & 0xff);
	}
	if (digits % 4 != 0)
		return neap_error_set(err, NEAP_EINVAL,
				      "is no base64: its length is not a multiple of 4");
	len -= padding < len ? padding : len;
	out[len] = '\0';
	*ret = neap_steal(out);
	*ret_len = len;
	return 0;
}
