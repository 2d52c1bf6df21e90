/* SPDX-License-Identifier: Apache-2.0
 *
 * Client TLS: the address as a URL, certificates, and explanations of failures. neapd's
 * certificate is always verified, name and chain; no option disables that, because a
 * token sent to an impostor is lost. A user who has only neapd's own certificate gives it
 * as the CA. */
#ifndef NEAP_API_CTL_BASE_SECURE_H
#define NEAP_API_CTL_BASE_SECURE_H

#include <curl/curl.h>

#include "api/ctl/base/ctl.h"

/* "https://HOST:PORT" */
bool neap_secure_is_https(const char *server);
/* Returns the part after "https://" or "http://", or the whole text. */
const char *neap_secure_host(const char *server);
/* Refuses other schemes, paths, and other parts of a URL that are not supported. */
int neap_secure_check(const char *server, struct neap_error *err);
/* Returns whether options or environment name a certificate or CA, so TLS is intended. */
bool neap_secure_is_meant(const struct neap_ctl *ctl);
/* Sets CA, certificate and key for server (NULL: the unix socket). Errors name the option
 * or variable. */
int neap_secure_prepare(CURL *curl, const struct neap_ctl *ctl, const char *server,
			struct neap_error *err);
/* Explains a failed call's TLS problem: fills err and returns -code; 0 when TLS is not
 * the reason. detail: from CURLOPT_ERRORBUFFER. */
int neap_secure_explain(const struct neap_ctl *ctl, CURLcode code, const char *detail,
			const char *server, struct neap_error *err);

#endif
