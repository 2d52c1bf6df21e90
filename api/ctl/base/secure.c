/* SPDX-License-Identifier: Apache-2.0 */
#include "api/ctl/base/secure.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define HTTP  "http://"
#define HTTPS "https://"

struct named {
	const char *name, *file; /* file NULL: nobody named one */
};

bool neap_secure_is_https(const char *server)
{
	return strncasecmp(server, HTTPS, strlen(HTTPS)) == 0;
}

const char *neap_secure_host(const char *server)
{
	if (neap_secure_is_https(server))
		return server + strlen(HTTPS);
	if (strncasecmp(server, HTTP, strlen(HTTP)) == 0)
		return server + strlen(HTTP);
	return server;
}

int neap_secure_check(const char *server, struct neap_error *err)
{
	const char *host = neap_secure_host(server);

	/* Characters of a URL that would turn it into another request. */
	if (*host && !host[strcspn(host, "/@?#\\ ")])
		return 0;
	return neap_error_field(err, NEAP_EINVAL, "--server",
				"'%.64s': give ADDR:PORT, or https://HOST:PORT", server);
}

static struct named find(const char *option, const char *option_name,
			 const char *variable)
{
	const char *value = getenv(variable);

	if (option != NULL)
		return (struct named){option_name, option};
	return (struct named){variable, value != NULL && *value ? value : NULL};
}

static struct named find_cacert(const struct neap_ctl *ctl)
{
	return find(ctl->cacert, "--cacert", "NEAP_CACERT");
}

static struct named find_cert(const struct neap_ctl *ctl)
{
	return find(ctl->cert, "--cert", "NEAP_CERT");
}

static struct named find_key(const struct neap_ctl *ctl)
{
	return find(ctl->key, "--key", "NEAP_KEY");
}

bool neap_secure_is_meant(const struct neap_ctl *ctl)
{
	return find_cacert(ctl).file != NULL || find_cert(ctl).file != NULL;
}

/* libcurl reports such files only when it connects, and does not say which. */
static int check_file(struct named named, struct neap_error *err)
{
	if (named.file == NULL || access(named.file, R_OK) == 0)
		return 0;
	return neap_error_sys(err, "%s %s", named.name, named.file);
}

int neap_secure_prepare(CURL *curl, const struct neap_ctl *ctl, const char *server,
			struct neap_error *err)
{
	struct named cacert = find_cacert(ctl), cert = find_cert(ctl),
		     key = find_key(ctl);

	if (server == NULL)
		return 0;
	if (!neap_secure_is_https(server)) {
		if (ctl->cacert == NULL && ctl->cert == NULL && ctl->key == NULL)
			return 0;
		return neap_error_field(err, NEAP_EINVAL,
					ctl->cacert != NULL ? "--cacert"
					: ctl->cert != NULL ? "--cert"
							    : "--key",
					"is for TLS: --server https://%s",
					neap_secure_host(server));
	}
	if (key.file != NULL && cert.file == NULL)
		return neap_error_set(err, NEAP_EINVAL,
				      "%s: a key needs its certificate: --cert FILE",
				      key.name);
	if (check_file(cacert, err) < 0 || check_file(cert, err) < 0 ||
	    check_file(key, err) < 0)
		return -(int)err->code;
	/* When a CA is named, the system's CAs are not trusted in addition. */
	if ((cacert.file != NULL &&
	     (curl_easy_setopt(curl, CURLOPT_CAINFO, cacert.file) != CURLE_OK ||
	      curl_easy_setopt(curl, CURLOPT_CAPATH, NULL) != CURLE_OK)) ||
	    (cert.file != NULL &&
	     curl_easy_setopt(curl, CURLOPT_SSLCERT, cert.file) != CURLE_OK) ||
	    (key.file != NULL &&
	     curl_easy_setopt(curl, CURLOPT_SSLKEY, key.file) != CURLE_OK) ||
	    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L) != CURLE_OK ||
	    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L) != CURLE_OK ||
	    curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) !=
		    CURLE_OK)
		return neap_error_nomem(err);
	return 0;
}

int neap_secure_explain(const struct neap_ctl *ctl, CURLcode code, const char *detail,
			const char *server, struct neap_error *err)
{
	/* In TLS 1.3 the client learns of a refusal only after its first data, and not at
	 * all when that arrived on a connection already closed. */
	bool is_alert = strstr(detail, " alert ") != NULL;
	bool is_cut = code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR ||
		      code == CURLE_GOT_NOTHING;

	if (code == CURLE_PEER_FAILED_VERIFICATION)
		return neap_error_set(
			err, NEAP_EAUTH,
			"%s is not proved to be neapd, nothing was sent: "
			"%.100s: name its CA with --cacert, and the host as in "
			"its certificate",
			server, detail);
	if (code == CURLE_SSL_CERTPROBLEM || code == CURLE_SSL_CACERT_BADFILE)
		return neap_error_set(err, NEAP_EINVAL, "--%s: %.150s",
				      code == CURLE_SSL_CERTPROBLEM ? "cert or --key"
								    : "cacert",
				      detail);
	if (is_cut && !is_alert && neap_secure_is_https(server) &&
	    find_cert(ctl).file != NULL)
		return neap_error_set(
			err, NEAP_EAUTH,
			"%s ended the connection without an answer; mostly it "
			"refuses our certificate then (--cert): of another CA, "
			"expired, or not for clients",
			server);
	if (is_alert)
		return neap_error_set(err, NEAP_EAUTH,
				      "%s refuses our certificate (--cert): %.120s",
				      server, detail);
	if (code == CURLE_SSL_CONNECT_ERROR &&
	    (strstr(detail, "wrong version number") || strstr(detail, "packet length")))
		return neap_error_set(
			err, NEAP_EINVAL,
			"%s speaks plain HTTP, not TLS: --server %s if that is "
			"meant",
			server, neap_secure_host(server));
	if (code == CURLE_SSL_CONNECT_ERROR)
		return neap_error_set(err, NEAP_EUNAVAILABLE, "%s: %.150s", server,
				      detail);
	return 0;
}
