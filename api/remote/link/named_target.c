/* SPDX-License-Identifier: Apache-2.0 */
#include "api/remote/link/named_target.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/remote/kubeconfig_priv.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"

/* Its absolute name and its text; nothing without a name. */
static int read_file(const char *option, const char *name, char **ret_file,
		     struct neap_buf *text, struct neap_error *err)
{
	neap_auto_free char *cwd = NULL;

	neap_buf_init(text, NEAP_BUF_FILE);
	if (*name == '\0')
		return 0;
	if (*name == '/')
		*ret_file = neap_strdup(name);
	else if ((cwd = getcwd(NULL, 0)) != NULL)
		*ret_file = neap_asprintf("%s/%s", cwd, name);
	if (*ret_file == NULL)
		return neap_error_nomem(err);
	if (neap_file_load(*ret_file, text, err) < 0)
		return neap_error_wrap(err, "%s", option);
	return 0;
}

static int wrong(const char *option, const char *file, const char *why,
		 struct neap_error *err)
{
	return why == NULL
		       ? 0
		       : neap_error_set(err, NEAP_EINVAL, "%s: %s %s", option, file, why);
}

static int check_pair(const struct neap_named_options *options,
		      const struct neap_remote_target *target,
		      const struct neap_buf *cert, const struct neap_buf *key,
		      struct neap_error *err)
{
	if ((target->cert_file == NULL) != (target->key_file == NULL))
		return neap_error_set(err, NEAP_EINVAL, "%s and %s go together",
				      options->cert, options->key);
	if (target->cert_file == NULL)
		return 0;
	return wrong(options->key, target->key_file,
		     neap_remote_pair_check(cert->data, cert->len, key->data, key->len),
		     err);
}

static int read_files(const struct neap_named_server *named,
		      struct neap_remote_target *target, struct neap_error *err)
{
	const struct neap_named_options *options = &named->options;
	struct neap_buf ca, cert, key, token;
	int rc = read_file(options->ca, named->ca_file, &target->ca_file, &ca, err);

	if (rc == 0 && target->ca_file != NULL)
		rc = wrong(options->ca, target->ca_file,
			   neap_remote_certs_check(ca.data, ca.len), err);
	neap_buf_done(&ca);
	if (rc < 0)
		return rc;
	rc = read_file(options->cert, named->cert_file, &target->cert_file, &cert, err);
	if (rc == 0) {
		rc = read_file(options->key, named->key_file, &target->key_file, &key,
			       err);
		if (rc == 0)
			rc = check_pair(options, target, &cert, &key, err);
		neap_buf_done(&key);
	}
	neap_buf_done(&cert);
	if (rc < 0)
		return rc;
	rc = read_file(options->token, named->token_file, &target->token_file, &token,
		       err);
	neap_buf_done(&token);
	return rc;
}

static int read_url(const struct neap_named_server *named,
		    struct neap_remote_target *target, struct neap_error *err)
{
	struct remote_url url = {0};
	const char *source = named->source ? named->source : named->options.url;
	const char *why = remote_url_check(named->url, NEAP_REMOTE_SERVER_SCHEMES, &url);

	if (why != NULL && strchr(named->url, '@') != NULL) /* it may have a password */
		return neap_error_set(err, NEAP_EINVAL, "%s %s", source, why);
	if (why != NULL)
		return neap_error_set(err, NEAP_EINVAL, "%s: '%s' %s", source, named->url,
				      why);
	target->dial_host = url.host;
	target->dial_port = (uint16_t)url.port;
	target->server = neap_strdup(named->url);
	target->source = neap_strdup(source);
	if (target->server == NULL || target->source == NULL)
		return neap_error_nomem(err);
	for (size_t len = strlen(target->server); target->server[len - 1] == '/'; len--)
		target->server[len - 1] = '\0';
	if (!url.is_https && (*named->token_file || *named->cert_file))
		return neap_error_set(err, NEAP_EINVAL,
				      "%s: '%s' is plain HTTP: a token or a "
				      "certificate goes over https:// alone",
				      source, named->url);
	return 0;
}

int neap_named_target_new(const struct neap_named_server *named,
			  struct neap_remote_target **ret, struct neap_error *err)
{
	struct neap_remote_target *target = neap_alloc(sizeof(*target));
	int rc;

	if (target == NULL)
		return neap_error_nomem(err);
	target->is_insecure = named->is_insecure;
	rc = named->is_insecure && *named->ca_file
		     ? neap_error_set(err, NEAP_EINVAL, "%s and %s: one or the other",
				      named->options.insecure, named->options.ca)
		     : read_url(named, target, err);
	if (rc == 0)
		rc = read_files(named, target, err);
	if (rc < 0) {
		neap_remote_target_free(target);
		return rc;
	}
	*ret = target;
	return 0;
}
