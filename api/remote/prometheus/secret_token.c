/* SPDX-License-Identifier: Apache-2.0 */
#include "api/remote/prometheus/secret_token.h"

#include <stdlib.h>
#include <string.h>

#include "api/remote/kinds.h"
#include "api/remote/kubeconfig_priv.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

#define KEY "prometheusAuthToken"

/* A header has no room for control characters; blanks at the end are of an editor. */
static int check(char *token, size_t len, struct neap_error *err)
{
	while (len > 0 && strchr(" \t\r\n", token[len - 1]))
		token[--len] = '\0';
	if (len == 0)
		return neap_error_set(err, NEAP_EINVAL, "its " KEY " is empty");
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)token[i] <= ' ' || token[i] == 0x7f)
			return neap_error_set(err, NEAP_EINVAL,
					      "its " KEY
					      " is not a token: it has blanks");
	return 0;
}

static int read_token(const json_t *secret, char **ret, struct neap_error *err)
{
	const char *text = neap_json_text(json_object_get(secret, "data"), KEY);
	char *token = NULL;
	size_t len = 0;
	int rc;

	if (!*text)
		return neap_error_set(err, NEAP_EINVAL, "it has no data " KEY);
	if (remote_base64(text, &token, &len, err) < 0)
		return -(int)err->code;
	rc = check(token, len, err);
	if (rc < 0)
		free(token);
	else
		*ret = token;
	return rc;
}

int neap_secret_token_read(const struct neap_transport_answer *answer, char **ret,
			   struct neap_error *err)
{
	json_t *secret = NULL;
	char why[192];
	int rc;

	if (answer->status != 200)
		return neap_error_set(err, NEAP_EUNAVAILABLE, "%s",
				      neap_remote_why(answer, why, sizeof(why)));
	rc = neap_remote_parse(answer->body, answer->len, &secret, err);
	if (rc == 0)
		rc = read_token(secret, ret, err);
	json_decref(secret);
	return rc;
}
