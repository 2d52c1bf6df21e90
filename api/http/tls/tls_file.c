/* SPDX-License-Identifier: Apache-2.0
 *
 * From files to an OpenSSL context. Each file is read once and completely, so that the
 * checked bytes are the used ones. Errors name the option, the file and what to do. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/http/tls/tls_priv.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"

/* Limits of a client's chain, in bytes and in certificates. */
#define CHAIN_BYTES 24576
#define CHAIN_DEPTH 8

struct file {
	const char *option, *path;
	bool is_secret;
	char *text;
	size_t len;
};

static void file_done(struct file *file)
{
	if (file->text)
		explicit_bzero(file->text, file->len);
	free(file->text);
	file->text = NULL;
}

#define auto_file __attribute__((cleanup(file_done))) struct file

/* A user who can write a file here decides who gets access; one who can read the key can
 * act as neapd. */
static int file_check(const struct file *file, const struct stat *st, uid_t own_uid,
		      struct neap_error *err)
{
	unsigned mode = st->st_mode & 07777;

	if (!S_ISREG(st->st_mode))
		return neap_error_set(err, NEAP_EINVAL, "%s %s: is no regular file",
				      file->option, file->path);
	if (file->is_secret && (mode & 007))
		return neap_error_set(err, NEAP_EFORBIDDEN,
				      "%s %s: others can read it (mode %04o): chmod 600 "
				      "it, or 640 with a group for neapd",
				      file->option, file->path, mode);
	if ((st->st_uid != 0 && st->st_uid != own_uid) || (mode & 022))
		return neap_error_set(err, NEAP_EFORBIDDEN,
				      "%s %s: must belong to root or uid %u and not be "
				      "writable by others (uid %u, mode %04o)",
				      file->option, file->path, (unsigned)own_uid,
				      (unsigned)st->st_uid, mode);
	if (st->st_size > NEAP_TLS_FILE_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "%s %s: over %d bytes",
				      file->option, file->path, NEAP_TLS_FILE_MAX);
	return 0;
}

static int file_read(struct file *file, uid_t own_uid, struct neap_error *err)
{
	neap_auto_fd int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return neap_error_sys(err, "%s %s", file->option, file->path);
	if (file_check(file, &st, own_uid, err) < 0)
		return -(int)err->code;
	file->text = neap_alloc((size_t)st.st_size + 1);
	if (!file->text)
		return neap_error_nomem(err);
	n = neap_fd_read(fd, file->text, (size_t)st.st_size);
	if (n < 0)
		return neap_error_sys(err, "%s %s", file->option, file->path);
	file->len = (size_t)n;
	return 0;
}

/* Reports OpenSSL's error for a thing of two words. */
static int tls_error(struct neap_error *err, enum neap_code code, const char *first,
		     const char *second, const char *what)
{
	unsigned long why = ERR_peek_last_error();
	const char *reason = why ? ERR_reason_error_string(why) : NULL;

	ERR_clear_error();
	return neap_error_set(err, code, "%s %s: %s%s%s", first, second, what,
			      reason ? ": " : "", reason ? reason : "");
}

/* Reports OpenSSL's error for the file. */
static int refuse(const struct file *file, const char *what, struct neap_error *err)
{
	return tls_error(err, NEAP_EINVAL, file->option, file->path, what);
}

/* A key with a passphrase is an error, not a question on a terminal. */
static int no_passphrase(char *buf NEAP_UNUSED, int size NEAP_UNUSED,
			 int is_write NEAP_UNUSED, void *arg)
{
	*(bool *)arg = true;
	return -1;
}

static int64_t unix_of(const ASN1_TIME *at)
{
	struct tm tm;

	return at && ASN1_TIME_to_tm(at, &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

static void date_format(int64_t sec, char *buf, size_t size)
{
	time_t at = (time_t)sec;
	struct tm tm;

	if (!gmtime_r(&at, &tm) || !strftime(buf, size, "%Y-%m-%dT%H:%M:%SZ", &tm))
		buf[0] = '\0';
}

void neap_tls_subject(const X509 *cert, char *buf, size_t size)
{
	BIO *out = BIO_new(BIO_s_mem());
	int n = 0;

	if (out && X509_NAME_print_ex(out, X509_get_subject_name(cert), 0,
				      XN_FLAG_RFC2253 & ~XN_FLAG_DN_REV) >= 0)
		n = BIO_read(out, buf, (int)size - 1);
	buf[n > 0 ? n : 0] = '\0';
	BIO_free(out);
}

static int check_dates(const struct file *file, const X509 *cert,
		       struct neap_tls_facts *facts, struct neap_error *err)
{
	int64_t from = unix_of(X509_get0_notBefore(cert)), now = (int64_t)time(NULL);
	char date[32];

	facts->not_after_sec = unix_of(X509_get0_notAfter(cert));
	date_format(facts->not_after_sec, facts->not_after, sizeof(facts->not_after));
	neap_tls_subject(cert, facts->subject, sizeof(facts->subject));
	if (now > facts->not_after_sec)
		return neap_error_set(err, NEAP_EINVAL,
				      "%s %s: the certificate expired on %s",
				      file->option, file->path, facts->not_after);
	if (now < from) {
		date_format(from, date, sizeof(date));
		return neap_error_set(err, NEAP_EINVAL,
				      "%s %s: the certificate is not valid before %s: "
				      "is the clock right?",
				      file->option, file->path, date);
	}
	return 0;
}

/* Reads the certificate, and after it those that lead to its CA. */
static int use_chain(SSL_CTX *context, struct file *file, struct neap_tls_facts *facts,
		     struct neap_error *err)
{
	BIO *in = BIO_new_mem_buf(file->text, (int)file->len);
	X509 *cert = in ? PEM_read_bio_X509(in, NULL, NULL, NULL) : NULL, *more;
	int r = 0;

	if (!cert)
		r = refuse(file, "no certificate in it (PEM)", err);
	if (r == 0)
		r = check_dates(file, cert, facts, err);
	if (r == 0 && SSL_CTX_use_certificate(context, cert) != 1)
		r = refuse(file, "the certificate cannot be used", err);
	X509_free(cert);
	while (r == 0 && (more = PEM_read_bio_X509(in, NULL, NULL, NULL)))
		if (SSL_CTX_add0_chain_cert(context, more) != 1) {
			X509_free(more);
			r = refuse(file, "its chain cannot be used", err);
		}
	/* "No more PEM" is the normal end; every other error means an incomplete file. */
	if (r == 0 && ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
		r = refuse(file, "its chain is torn", err);
	ERR_clear_error();
	BIO_free(in);
	return r;
}

static int use_key(SSL_CTX *context, struct file *file, const char *cert_file,
		   struct neap_error *err)
{
	bool is_locked = false;
	BIO *in = BIO_new_mem_buf(file->text, (int)file->len);
	EVP_PKEY *key =
		in ? PEM_read_bio_PrivateKey(in, NULL, no_passphrase, &is_locked) : NULL;
	int r = 0;

	if (is_locked) {
		ERR_clear_error();
		r = neap_error_set(err, NEAP_EINVAL,
				   "%s %s: has a passphrase, which nobody is there to "
				   "type: 'openssl pkey' takes it off",
				   file->option, file->path);
	} else if (!key) {
		r = refuse(file, "no private key in it (PEM)", err);
	} else if (SSL_CTX_use_PrivateKey(context, key) != 1) {
		ERR_clear_error();
		r = neap_error_set(err, NEAP_EINVAL,
				   "%s %s: does not belong to the certificate in %s",
				   file->option, file->path, cert_file);
	}
	EVP_PKEY_free(key);
	BIO_free(in);
	return r;
}

static int use_client_ca(SSL_CTX *context, struct file *file, struct neap_error *err)
{
	BIO *in = BIO_new_mem_buf(file->text, (int)file->len);
	X509_STORE *store = SSL_CTX_get_cert_store(context);
	X509 *cert;
	int count = 0, r = 0;

	while (r == 0 && in && (cert = PEM_read_bio_X509(in, NULL, NULL, NULL))) {
		/* Clients get the names, so that they know which certificate to send. */
		if (X509_STORE_add_cert(store, cert) != 1 ||
		    SSL_CTX_add_client_CA(context, cert) != 1)
			r = refuse(file, "cannot be used", err);
		X509_free(cert);
		count++;
	}
	if (r == 0 &&
	    (!count || ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE))
		r = refuse(file, "no whole certificate of a CA in it (PEM)", err);
	ERR_clear_error();
	BIO_free(in);
	return r;
}

/* Accepts only HTTP/1.1. A client that offers other protocols without it is refused. */
static int choose_protocol(SSL *ssl NEAP_UNUSED, const unsigned char **out,
			   unsigned char *out_len, const unsigned char *in,
			   unsigned in_len, void *arg NEAP_UNUSED)
{
	static const unsigned char own[] = "\x08http/1.1";
	unsigned char *found;

	if (SSL_select_next_proto(&found, out_len, own, sizeof(own) - 1, in, in_len) !=
	    OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = found;
	return SSL_TLSEXT_ERR_OK;
}

static bool context_prepare(SSL_CTX *context)
{
	static const unsigned char name[] = "neapd";

	SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	/* An idle connection releases 34 KB. */
	SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_security_level(context, 2);
	/* Clients keep sessions as tickets. The tickets' keys end with the context, so
	 * that another CA means a new handshake. */
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_timeout(context, NEAP_TLS_SESSION_S);
	SSL_CTX_set_max_cert_list(context, CHAIN_BYTES);
	SSL_CTX_set_verify_depth(context, CHAIN_DEPTH);
	SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
	return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
	       SSL_CTX_set_session_id_context(context, name, sizeof(name) - 1) == 1;
}

/* Uses the key's file, or the present key if the loop has no access to it. */
static int fill_key(const struct neap_tls_config *config, SSL_CTX *present,
		    SSL_CTX *context, struct neap_error *err)
{
	auto_file key = {"--tls-key", config->key_file, true};
	int r = file_read(&key, config->own_uid, err);

	if (r == 0)
		return use_key(context, &key, config->cert_file, err);
	if (!present || err->errnum != EACCES)
		return r;
	if (SSL_CTX_use_PrivateKey(context, SSL_CTX_get0_privatekey(present)) == 1)
		return 0;
	ERR_clear_error();
	return neap_error_set(err, NEAP_EFORBIDDEN,
			      "%s %s: neapd runs as uid %u, which may not read it, and "
			      "the new certificate is of another key: let that user read "
			      "it, or restart neapd",
			      key.option, key.path, (unsigned)geteuid());
}

static int fill(const struct neap_tls_config *config, SSL_CTX *present, SSL_CTX *context,
		struct neap_tls_facts *facts, struct neap_error *err)
{
	auto_file cert = {"--tls-cert", config->cert_file, false};
	auto_file client_ca = {"--tls-client-ca", config->client_ca_file, false};

	if (file_read(&cert, config->own_uid, err) < 0 ||
	    use_chain(context, &cert, facts, err) < 0 ||
	    fill_key(config, present, context, err) < 0)
		return -(int)err->code;
	if (!*config->client_ca_file)
		return 0;
	if (file_read(&client_ca, config->own_uid, err) < 0 ||
	    use_client_ca(context, &client_ca, err) < 0)
		return -(int)err->code;
	/* A client without a certificate may have the token. */
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	return 0;
}

int neap_tls_load(const struct neap_tls_config *config, SSL_CTX *present, SSL_CTX **ret,
		  struct neap_tls_facts *ret_facts, struct neap_error *err)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	struct neap_tls_facts facts = {0};

	ERR_clear_error();
	if (!context || !context_prepare(context)) {
		SSL_CTX_free(context);
		return neap_error_nomem(err);
	}
	if (fill(config, present, context, &facts, err) < 0) {
		SSL_CTX_free(context);
		return -(int)err->code;
	}
	*ret = context;
	*ret_facts = facts;
	return 0;
}

/* --- a certificate of its own ---
 *
 * neapd's own certificate, for clients on this machine when the operator gives none. A
 * client that can read its file trusts exactly this one, so no CA is needed. */

#define DAY_S ((long)24 * 3600)
/* A start that finds less time left makes a new one. */
#define VALID_S (3650 * DAY_S)
#define LEFT_S  (365 * DAY_S)

static int ssl_error(const char *what, struct neap_error *err)
{
	return tls_error(err, NEAP_EINTERNAL, "a certificate of", "its own", what);
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

static bool fill_in(X509 *cert, EVP_PKEY *key, const char *const *names)
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
	if (!key || !cert || !fill_in(cert, key, names))
		r = ssl_error("it cannot be made", err);
	else if ((r = write_pem(key_file, NULL, key, err)) == 0)
		r = write_pem(cert_file, cert, NULL, err);
	X509_free(cert);
	EVP_PKEY_free(key);
	return r;
}
