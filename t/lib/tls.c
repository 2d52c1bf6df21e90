/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/tls.h"
#include "t/lib/patience.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void path_of(char *buf, size_t size, const char *dir, const char *name,
		    const char *end)
{
	snprintf(buf, size, "%s/%s%s", dir, name, end);
}

static FILE *open_new(const char *path, mode_t mode)
{
	char fresh[256];
	FILE *file;

	snprintf(fresh, sizeof(fresh), "%s.new", path);
	file = fopen(fresh, "we");
	assert_non_null(file);
	chmod(fresh, mode);
	return file;
}

static void put_new(FILE *file, const char *path)
{
	char fresh[256];

	snprintf(fresh, sizeof(fresh), "%s.new", path);
	fclose(file);
	assert_int_equal(rename(fresh, path), 0);
}

static EVP_PKEY *read_key(const char *dir, const char *name)
{
	char path[256];
	EVP_PKEY *key;
	FILE *file;

	path_of(path, sizeof(path), dir, name, ".key");
	file = fopen(path, "re");
	assert_non_null(file);
	key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
	fclose(file);
	assert_non_null(key);
	return key;
}

static X509 *read_cert(const char *dir, const char *name)
{
	char path[256];
	X509 *cert;
	FILE *file;

	path_of(path, sizeof(path), dir, name, ".crt");
	file = fopen(path, "re");
	assert_non_null(file);
	cert = PEM_read_X509(file, NULL, NULL, NULL);
	fclose(file);
	assert_non_null(cert);
	return cert;
}

static void extend(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;

	X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	assert_non_null(extension);
	X509_add_ext(cert, extension, -1);
	X509_EXTENSION_free(extension);
}

static void add_name(X509 *cert, const char *part, const char *text, size_t len)
{
	X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), part, MBSTRING_UTF8,
				   (const unsigned char *)text, (int)len, -1, 0);
}

void tls_issue(const char *dir, const char *name, const struct tls_order *order)
{
	bool is_ca = order->usage && strcmp(order->usage, "CA") == 0;
	const char *issuer_name = order->issuer ? order->issuer : "ca";
	bool is_first = is_ca && strcmp(name, issuer_name) == 0;
	static long serial = 1;
	EVP_PKEY *key = order->key ? read_key(dir, order->key) : EVP_EC_gen("P-256");
	EVP_PKEY *issuer_key = is_first ? key : read_key(dir, issuer_name);
	X509 *cert = X509_new(), *issuer = is_first ? cert : read_cert(dir, issuer_name);
	const char *o = order->o;
	char path[256];
	FILE *file;

	X509_set_version(cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), getpid() * 1000L + serial++);
	X509_gmtime_adj(X509_getm_notBefore(cert), order->from_s);
	X509_gmtime_adj(X509_getm_notAfter(cert),
			order->from_s + (order->for_s ? order->for_s : 3600));
	X509_set_pubkey(cert, key);
	while (o) {
		size_t len = strcspn(o, "|");

		add_name(cert, "O", o, len);
		o = o[len] ? o + len + 1 : NULL;
	}
	if (order->cn)
		add_name(cert, "CN", order->cn, strlen(order->cn));
	X509_set_issuer_name(cert, X509_get_subject_name(issuer));
	if (is_ca)
		extend(cert, issuer, NID_basic_constraints, "critical,CA:TRUE");
	else if (order->usage)
		extend(cert, issuer, NID_ext_key_usage, order->usage);
	if (!is_ca)
		extend(cert, issuer, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
	assert_true(X509_sign(cert, issuer_key, EVP_sha256()) > 0);

	path_of(path, sizeof(path), dir, name, ".key");
	file = open_new(path, 0600);
	PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL);
	put_new(file, path);
	path_of(path, sizeof(path), dir, name, ".crt");
	file = open_new(path, 0644);
	PEM_write_X509(file, cert);
	put_new(file, path);
	if (!is_first) {
		X509_free(issuer);
		EVP_PKEY_free(issuer_key);
	}
	X509_free(cert);
	EVP_PKEY_free(key);
}

void tls_copy(const char *dir, const char *from, const char *to)
{
	char path[256], text[16384];
	size_t len;
	FILE *file;

	path_of(path, sizeof(path), dir, from, "");
	file = fopen(path, "re");
	assert_non_null(file);
	len = fread(text, 1, sizeof(text), file);
	fclose(file);
	path_of(path, sizeof(path), dir, to, "");
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, len, file), len);
	fclose(file);
}

SSL_CTX *tls_context(const char *dir, const char *name, int max_version)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	char cert[256], key[256];

	path_of(cert, sizeof(cert), dir, "ca", ".crt");
	assert_int_equal(SSL_CTX_load_verify_locations(context, cert, NULL), 1);
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	if (max_version)
		SSL_CTX_set_max_proto_version(context, max_version);
	if (!name)
		return context;
	path_of(cert, sizeof(cert), dir, name, ".crt");
	path_of(key, sizeof(key), dir, name, ".key");
	assert_int_equal(SSL_CTX_use_certificate_file(context, cert, SSL_FILETYPE_PEM),
			 1);
	assert_int_equal(SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM), 1);
	return context;
}

SSL *tls_dial(const struct http_server *server, SSL_CTX *context)
{
	struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
	int fd = http_dial(server);
	SSL *ssl = SSL_new(context);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	SSL_set_fd(ssl, fd);
	if (SSL_connect(ssl) == 1)
		return ssl;
	tls_close(ssl);
	return NULL;
}

void tls_close(SSL *ssl)
{
	if (!ssl)
		return;
	close(SSL_get_fd(ssl));
	SSL_free(ssl);
	ERR_clear_error();
}

int tls_ask(SSL *ssl, const char *request, size_t len, char *buf, size_t size)
{
	size_t have = 0, want = 0;
	const char *end = NULL, *field;
	int n, status = 0;

	ERR_clear_error();
	buf[0] = '\0';
	for (; len; request += n, len -= (size_t)n) {
		n = SSL_write(ssl, request, len > 16000 ? 16000 : (int)len);
		/* refused meanwhile: what was said about it may be there */
		if (n <= 0)
			break;
	}
	while (have + 1 < size && (!end || have < want)) {
		n = SSL_read(ssl, buf + have, (int)(size - 1 - have));
		if (n <= 0)
			break;
		have += (size_t)n;
		buf[have] = '\0';
		end = strstr(buf, "\r\n\r\n");
		field = strstr(buf, "Content-Length: ");
		if (end)
			want = (size_t)(end + 4 - buf) +
			       (field && field < end ? strtoul(field + 16, NULL, 10) : 0);
	}
	if (sscanf(buf, "HTTP/1.%*c %d", &status) != 1 || have < want)
		return 0;
	return status;
}
