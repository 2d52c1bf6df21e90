/* SPDX-License-Identifier: Apache-2.0 */
#include "api/remote/roots.h"

#include <curl/curl.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <stdbool.h>
#include <string.h>

/* Another library's connections take no store of OpenSSL. */
static bool is_openssl(const curl_version_info_data *version)
{
	return version->ssl_version != NULL &&
	       strncmp(version->ssl_version, "OpenSSL/", 8) == 0;
}

struct x509_store_st *neap_remote_roots_new(const char *file)
{
	const curl_version_info_data *version = curl_version_info(CURLVERSION_NOW);
	X509_STORE *roots;

	if (file == NULL)
		file = version->cainfo;
	roots = file != NULL && is_openssl(version) ? X509_STORE_new() : NULL;
	if (roots != NULL && X509_STORE_load_locations(roots, file, NULL) != 1) {
		X509_STORE_free(roots);
		roots = NULL;
	}
	/* As libcurl does: an authority that another one signed is believed, too. */
	if (roots != NULL)
		(void)X509_STORE_set_flags(roots, X509_V_FLAG_PARTIAL_CHAIN);
	ERR_clear_error();
	return roots;
}

void neap_remote_roots_free(struct x509_store_st *roots)
{
	X509_STORE_free(roots);
}
