/* SPDX-License-Identifier: Apache-2.0
 *
 * One TLS connection: its start, its end, and its client. Names are read as in
 * Kubernetes: the subject's last CN is the user, each O a group. A name with NUL is
 * invalid, because other software would cut it there. */
#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/http/tls/tls.h"
#include "api/http/tls/tls_priv.h"
#include "api/http/users/grants.h"
#include "engine/base/mem.h"

struct bufferevent *neap_tls_accept(struct neap_tls *tls, struct event_base *base)
{
	SSL *ssl = SSL_new(tls->context);

	if (!ssl) {
		ERR_clear_error();
		return NULL;
	}
	/* Frees ssl itself when it fails. */
	return bufferevent_openssl_socket_new(base, -1, ssl, BUFFEREVENT_SSL_ACCEPTING,
					      BEV_OPT_CLOSE_ON_FREE);
}

static long wire_cb(BIO *bio, int what, const char *data, size_t len NEAP_UNUSED,
		    int argi NEAP_UNUSED, long argl NEAP_UNUSED, int ret,
		    size_t *processed)
{
	struct neap_tls_watch *watch = (struct neap_tls_watch *)BIO_get_callback_arg(bio);

	if (watch && what == (BIO_CB_READ | BIO_CB_RETURN) && ret > 0 &&
	    !SSL_is_init_finished(watch->ssl))
		watch->input(watch->arg, data, *processed);
	return ret;
}

void neap_tls_watch(struct bufferevent *bev, struct neap_tls_watch *watch)
{
	SSL *ssl = bufferevent_openssl_get_ssl(bev);
	BIO *bio = SSL_get_rbio(ssl);

	if (!bio)
		return; /* libevent had no memory: the handshake fails */
	watch->ssl = ssl;
	BIO_set_callback_arg(bio, (char *)watch);
	BIO_set_callback_ex(bio, wire_cb);
}

/* The client's certificate, verified by the handshake. NULL: it sent none. Borrowed. */
static X509 *certificate(struct bufferevent *bev)
{
	return SSL_get0_peer_certificate(bufferevent_openssl_get_ssl(bev));
}

/* Reads a part of a subject as UTF-8. False if it has no such form, is too long or empty,
 * or has a NUL. */
static bool entry_text(const X509_NAME *name, int index, char *buf, size_t size)
{
	const ASN1_STRING *value =
		X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index));
	unsigned char *text = NULL;
	int len = ASN1_STRING_to_UTF8(&text, value);
	bool is_good = len > 0 && (size_t)len < size && !memchr(text, '\0', (size_t)len);

	if (is_good) {
		memcpy(buf, text, (size_t)len);
		buf[len] = '\0';
	}
	if (len >= 0)
		OPENSSL_free(text);
	else
		ERR_clear_error();
	return is_good;
}

static bool user_text(const X509 *cert, char *buf, size_t size)
{
	const X509_NAME *name = X509_get_subject_name(cert);
	int index = -1, last = -1;

	while ((index = X509_NAME_get_index_by_NID((X509_NAME *)name, NID_commonName,
						   index)) >= 0)
		last = index;
	return last >= 0 && entry_text(name, last, buf, size);
}

static bool has_ended(const X509 *cert)
{
	return X509_cmp_current_time(X509_get0_notAfter(cert)) < 0;
}

bool neap_tls_is_good(struct bufferevent *bev)
{
	X509 *cert = certificate(bev);

	/* A connection can outlive its certificate's validity. */
	return cert && !has_ended(cert);
}

struct neap_http_user *neap_tls_user_new(struct bufferevent *bev)
{
	X509 *cert = certificate(bev);
	char name[NEAP_GRANT_NAME_SIZE];
	char *groups[NEAP_USER_GROUPS_MAX];
	struct neap_http_user *user;
	int index = -1, count = 0;
	X509_NAME *subject;

	if (!cert || !user_text(cert, name, sizeof(name)))
		return NULL;
	subject = X509_get_subject_name(cert);
	while (count < NEAP_USER_GROUPS_MAX &&
	       (index = X509_NAME_get_index_by_NID(subject, NID_organizationName,
						   index)) >= 0) {
		char text[NEAP_GRANT_NAME_SIZE];

		if (!entry_text(subject, index, text, sizeof(text)))
			continue;
		groups[count] = neap_strdup(text);
		/* without memory one group less: fewer rights, not more */
		if (groups[count])
			count++;
	}
	user = neap_http_user_new(name, (const char *const *)groups, count);
	while (count)
		free(groups[--count]);
	return user;
}

void neap_tls_name(struct bufferevent *bev, char *buf, size_t size)
{
	const X509 *cert = certificate(bev);
	char text[NEAP_GRANT_NAME_SIZE];
	size_t end;
	int n;

	buf[0] = '\0';
	if (!cert)
		return;
	if (!user_text(cert, text, sizeof(text)))
		neap_tls_subject(cert, text, sizeof(text));
	n = snprintf(buf, size, "cert:%s", text);
	/* Does not cut within a character. */
	if (n >= (int)size && (text[size - 1 - 5] & 0xc0) == 0x80) {
		end = size - 1;
		while (end > 0 && (buf[--end] & 0xc0) == 0x80)
			;
		buf[end] = '\0';
	}
}

bool neap_tls_explain(struct bufferevent *bev, enum neap_http_role role,
		      enum neap_http_role needed, struct neap_error *err)
{
	const X509 *cert = certificate(bev);
	char subject[100];

	if (!cert)
		return false;
	neap_tls_subject(cert, subject, sizeof(subject));
	if (has_ended(cert))
		neap_error_set(
			err, NEAP_EFORBIDDEN,
			"the certificate of %s has expired: connect with a new one",
			subject);
	else if (role == NEAP_HTTP_ANYBODY)
		neap_error_set(err, NEAP_EFORBIDDEN,
			       "%s has no role here: neapd gives one with --grant "
			       "reader=user:NAME (the CN) or reader=group:NAME (an O)",
			       subject); /* the same for every request */
	else
		neap_error_set(err, NEAP_EFORBIDDEN,
			       "%s is %s here, and this needs %s: neapd gives it with "
			       "--grant %s=user:NAME or group:NAME",
			       subject, neap_http_role_name(role),
			       neap_http_role_name(needed), neap_http_role_name(needed));
	return true;
}

void neap_tls_say(struct bufferevent *bev, const char *text, size_t len)
{
	(void)SSL_write(bufferevent_openssl_get_ssl(bev), text, (int)len);
	ERR_clear_error();
}

void neap_tls_end(struct bufferevent *bev)
{
	SSL *ssl = bufferevent_openssl_get_ssl(bev);
	BIO *bio = SSL_get_rbio(ssl);

	if (bio)
		BIO_set_callback_ex(bio, NULL);
	if (SSL_is_init_finished(ssl))
		(void)SSL_shutdown(ssl); /* the client may have closed first */
	ERR_clear_error();
}

/* --- the context ---
 *
 * When to load another certificate. Files are checked by stat(2) once a second. That
 * shows swapped links of a mounted secret, renames and writes in place, and costs less
 * than watching every directory along a chain of links. */

/* The loop may lack access to a file that root read at the start: it counts as
 * unchanged. */
static void sign_take(const struct neap_tls_config *config,
		      const struct neap_tls_sign *before, struct neap_tls_sign *ret)
{
	const char *const files[NEAP_TLS_FILES] = {config->cert_file, config->key_file,
						   config->client_ca_file};
	struct stat st;
	int i;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < NEAP_TLS_FILES; i++) {
		if (!*files[i])
			continue;
		if (stat(files[i], &st) < 0) {
			if (errno == EACCES && before)
				memcpy(&ret->files[i], &before->files[i],
				       sizeof(ret->files[i]));
			continue;
		}
		ret->files[i].dev = st.st_dev;
		ret->files[i].ino = st.st_ino;
		ret->files[i].size = st.st_size;
		ret->files[i].mtime = st.st_mtim;
		ret->files[i].ctime = st.st_ctim;
	}
}

/* Both were zeroed before, including padding. */
static bool is_same(const struct neap_tls_sign *a, const struct neap_tls_sign *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

int neap_tls_look(struct neap_tls *tls, bool is_asked, struct neap_error *err)
{
	struct neap_tls_facts facts;
	struct neap_tls_sign now;
	SSL_CTX *context = NULL;

	/* Taken before the files are read, so that a change meanwhile shows at the next
	 * look. */
	sign_take(&tls->config, &tls->used, &now);
	if (is_same(&now, &tls->used))
		return 0;
	/* Also tries files that were refused: the certificate may be valid from now on,
	 * or memory may be there again. */
	if (neap_tls_load(&tls->config, tls->context, &context, &facts, err) == 0) {
		SSL_CTX_free(tls->context); /* its connections keep references */
		tls->context = context;
		tls->facts = facts;
		tls->used = now;
		return 1;
	}
	if (!is_asked && (is_same(&now, &tls->told) || !is_same(&now, &tls->seen))) {
		tls->seen = now;
		return 0;
	}
	tls->told = now;
	return -(int)err->code;
}

char *neap_tls_chain(const struct neap_tls *tls)
{
	X509 *cert = SSL_CTX_get0_certificate(tls->context);
	BIO *out = BIO_new(BIO_s_mem());
	STACK_OF(X509) *more = NULL;
	bool is_whole = out && cert && PEM_write_bio_X509(out, cert) == 1;
	char *data, *text = NULL;
	long len;

	(void)SSL_CTX_get0_chain_certs(tls->context, &more);
	for (int i = 0; is_whole && i < sk_X509_num(more); i++)
		is_whole = PEM_write_bio_X509(out, sk_X509_value(more, i)) == 1;
	if (is_whole) {
		len = BIO_get_mem_data(out, &data);
		text = neap_strndup(data, (size_t)len);
	}
	BIO_free(out);
	ERR_clear_error();
	return text;
}

const struct neap_tls_facts *neap_tls_facts_get(const struct neap_tls *tls)
{
	return &tls->facts;
}

int neap_tls_new(const struct neap_tls_config *config, struct neap_tls **ret,
		 struct neap_error *err)
{
	struct neap_tls *tls = neap_alloc(sizeof(*tls));

	if (!tls)
		return neap_error_nomem(err);
	tls->config = *config;
	sign_take(config, NULL, &tls->used);
	if (neap_tls_load(config, NULL, &tls->context, &tls->facts, err) < 0) {
		free(tls);
		return -(int)err->code;
	}
	*ret = tls;
	return 0;
}

void neap_tls_free(struct neap_tls *tls)
{
	if (!tls)
		return;
	SSL_CTX_free(tls->context);
	free(tls);
}
