/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS of the client: the address as a URL, certificates, and what it means when it fails. Name and chain
 * of neapd's certificate are always checked: there is no option against it, as a token that is
 * sent to whoever answers is lost. Who has only neapd's own certificate names that as the CA. */
#ifndef NEAP_API_CTL_BASE_SECURE_H
#define NEAP_API_CTL_BASE_SECURE_H

#include <curl/curl.h>

#include "api/ctl/base/ctl.h"

/* "https://HOST:PORT" */
bool neap_secure_is_https(const char *server);
/* What follows "https://" or "http://", or all of it. */
const char *neap_secure_host(const char *server);
/* Refuses other schemes, paths, and what goes with a URL but not here. */
int neap_secure_check(const char *server, struct neap_error *err);
/* A way over TLS was prepared: options or the environment name a certificate or a CA. */
bool neap_secure_is_meant(const struct neap_ctl *ctl);
/* CA, certificate and key for server (NULL: the unix socket). The error names option or variable. */
int neap_secure_prepare(CURL *curl, const struct neap_ctl *ctl, const char *server,
			struct neap_error *err);
/* What a failed call says about TLS: fills err and returns -code; 0 when it is about something else.
 * detail: of CURLOPT_ERRORBUFFER. */
int neap_secure_explain(const struct neap_ctl *ctl, CURLcode code, const char *detail,
			const char *server, struct neap_error *err);

#endif
