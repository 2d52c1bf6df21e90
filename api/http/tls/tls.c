/* SPDX-License-Identifier: Apache-2.0
 *
 * When to load another certificate. Files are checked by stat(2) once a second. That
 * shows swapped links of a mounted secret, renames and writes in place, and costs less
 * than watching every directory along a chain of links. */
#include "api/http/tls/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>

#include "api/http/tls/tls_priv.h"
#include "engine/base/mem.h"

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
