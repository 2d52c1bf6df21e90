/* SPDX-License-Identifier: Apache-2.0
 *
 * neapd's own certificate, for clients on this machine when the operator gives none. A
 * client that can read its file trusts exactly this one, so no CA is needed. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/http/tls/tls_priv.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"

#define DAY_S ((long)24 * 3600)
/* A start that finds less time left makes a new one. */
#define VALID_S (3650 * DAY_S)
#define LEFT_S  (365 * DAY_S)

static int ssl_error(const char *what, struct neap_error *err)
{
	unsigned long code = ERR_peek_last_error();
	const char *reason = code ? ERR_reason_error_string(code) : NULL;

	ERR_clear_error();
	return neap_error_set(err, NEAP_EINTERNAL, "a certificate of its own: %s%s%s",
			      what, reason ? ": " : "", reason ? reason : "");
}

/* --- reading the old one --- */

static X509 *read_cert(const char *path)
{
	FILE *file = fopen(path, "re");
	X509 *cert = file ? PEM_read_X509(file, NULL, NULL, NULL) : NULL;

	if (file)
		(void)fclose(file);
	ERR_clear_error();
	return cert;
}

static bool has_name(X509 *cert, const char *name)
{
	return X509_check_ip_asc(cert, name, 0) == 1 ||
	       X509_check_host(cert, name, 0, 0, NULL) == 1;
}

static bool is_good(const char *cert_file, const char *key_file, const char *const *names)
{
	time_t until = time(NULL) + LEFT_S, now = time(NULL);
	X509 *cert = read_cert(cert_file);
	FILE *file = cert ? fopen(key_file, "re") : NULL;
	EVP_PKEY *key = file ? PEM_read_PrivateKey(file, NULL, NULL, NULL) : NULL;
	bool is = key && X509_check_private_key(cert, key) == 1 &&
		  X509_cmp_time(X509_get0_notAfter(cert), &until) > 0 &&
		  X509_cmp_time(X509_get0_notBefore(cert), &now) < 0;

	for (; is && *names; names++)
		is = has_name(cert, *names);
	if (file)
		(void)fclose(file);
	EVP_PKEY_free(key);
	X509_free(cert);
	ERR_clear_error();
	return is;
}

/* --- making one --- */

static bool add_extension(X509 *cert, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;
	bool is_added;

	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, cert, cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	is_added = extension && X509_add_ext(cert, extension, -1) == 1;
	X509_EXTENSION_free(extension);
	return is_added;
}

static bool add_names(X509 *cert, const char *const *names)
{
	GENERAL_NAMES *all = GENERAL_NAMES_new();
	bool is_added = all != NULL;

	for (; is_added && *names; names++) {
		ASN1_OCTET_STRING *ip = a2i_IPADDRESS(*names);
		GENERAL_NAME *name = GENERAL_NAME_new();
		ASN1_IA5STRING *text = ip ? NULL : ASN1_IA5STRING_new();

		is_added = name && (ip || (text && ASN1_STRING_set(text, *names, -1)));
		if (is_added)
			GENERAL_NAME_set0_value(name, ip ? GEN_IPADD : GEN_DNS,
						ip ? (void *)ip : (void *)text);
		else
			ASN1_STRING_free(ip ? ip : text);
		is_added = is_added && sk_GENERAL_NAME_push(all, name) > 0;
		if (!is_added)
			GENERAL_NAME_free(name);
	}
	is_added = is_added && X509_add1_ext_i2d(cert, NID_subject_alt_name, all, 0,
						 X509V3_ADD_APPEND) == 1;
	GENERAL_NAMES_free(all);
	ERR_clear_error(); /* names that are not addresses left errors */
	return is_added;
}

static bool fill(X509 *cert, EVP_PKEY *key, const char *const *names)
{
	unsigned char serial[16];
	BIGNUM *number;
	X509_NAME *subject = X509_get_subject_name(cert);
	bool is_set;

	if (RAND_bytes(serial, sizeof(serial)) != 1)
		return false;
	serial[0] &= 0x7f;
	number = BN_bin2bn(serial, sizeof(serial), NULL);
	is_set = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert));
	BN_free(number);
	/* Clocks of two machines differ a little. */
	return is_set && X509_set_version(cert, 2) == 1 &&
	       X509_gmtime_adj(X509_getm_notBefore(cert), -DAY_S) &&
	       X509_gmtime_adj(X509_getm_notAfter(cert), VALID_S) &&
	       X509_set_pubkey(cert, key) == 1 &&
	       X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
					  (const unsigned char *)"neapd", -1, -1,
					  0) == 1 &&
	       X509_set_issuer_name(cert, subject) == 1 &&
	       add_extension(cert, NID_basic_constraints, "critical,CA:FALSE") &&
	       add_extension(cert, NID_key_usage, "critical,digitalSignature") &&
	       add_extension(cert, NID_ext_key_usage, "serverAuth") &&
	       add_names(cert, names) && X509_sign(cert, key, EVP_sha256()) > 0;
}

static int write_pem(const char *path, X509 *cert, EVP_PKEY *key, struct neap_error *err)
{
	BIO *out = BIO_new(BIO_s_mem());
	char fresh[256], *text;
	long len;
	int r;

	if (!out || (cert ? PEM_write_bio_X509(out, cert)
			  : PEM_write_bio_PKCS8PrivateKey(out, key, NULL, NULL, 0, NULL,
							  NULL)) != 1) {
		BIO_free(out);
		return ssl_error("it cannot be written", err);
	}
	(void)snprintf(fresh, sizeof(fresh), "%s.new", path);
	len = BIO_get_mem_data(out, &text);
	/* Not synced: after a power cut a new one is made. */
	r = neap_file_put(AT_FDCWD, fresh, path, text, (size_t)len, 0, err);
	OPENSSL_cleanse(text, (size_t)len);
	BIO_free(out);
	return r;
}

int neap_tls_make(const char *cert_file, const char *key_file, const char *const *names,
		  struct neap_error *err)
{
	EVP_PKEY *key;
	X509 *cert;
	int r;

	if (is_good(cert_file, key_file, names))
		return 0;
	key = EVP_EC_gen("P-256");
	cert = X509_new();
	if (!key || !cert || !fill(cert, key, names))
		r = ssl_error("it cannot be made", err);
	else if ((r = write_pem(key_file, NULL, key, err)) == 0)
		r = write_pem(cert_file, cert, NULL, err);
	X509_free(cert);
	EVP_PKEY_free(key);
	return r;
}
