/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the selected cluster and user of a kubeconfig. Only those that the context names
 * are read; unknown fields are ignored. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/remote/kubeconfig_priv.h"
#include "api/yaml/yaml.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

int remote_wrong(const struct remote_entry *entry, const char *name, enum neap_code code,
		 struct neap_error *err, const char *fmt, ...)
{
	const struct remote_file *file = entry->file;
	char field[REMOTE_FIELD], text[NEAP_ERROR_MSG];
	size_t line;
	va_list args;

	(void)snprintf(field, sizeof(field), "%s%s%s", entry->path,
		       entry->path[0] && name[0] ? "." : "", name);
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	line = neap_yaml_line(file->text.data, file->text.len, field);
	if (line == 0)
		return neap_error_field(err, code, field, "%s: %s: %s", file->path, field,
					text);
	return neap_error_field(err, code, field, "%s:%zu: %s: %s", file->path, line,
				field, text);
}

int remote_text(const struct remote_entry *entry, const char *name, char **ret,
		struct neap_error *err)
{
	const json_t *value = json_object_get(entry->value, name);

	if (!value || json_is_null(value))
		return 0;
	if (!json_is_string(value))
		return remote_wrong(entry, name, NEAP_EINVAL, err,
				    "must be a text: put it in quotes");
	if (strlen(json_string_value(value)) != json_string_length(value))
		return remote_wrong(entry, name, NEAP_EINVAL, err,
				    "must have no NUL character");
	if (json_string_length(value) == 0)
		return 0;
	*ret = neap_strdup(json_string_value(value));
	return *ret ? 0 : neap_error_nomem(err);
}

int remote_path(const struct remote_entry *entry, const char *name, char **ret,
		struct neap_error *err)
{
	const char *slash = strrchr(entry->file->path, '/');
	neap_auto_free char *text = NULL;
	int rc = remote_text(entry, name, &text, err);

	if (rc < 0 || !text)
		return rc;
	if (text[0] == '/')
		*ret = neap_steal(text);
	else
		*ret = neap_asprintf("%.*s/%s", (int)(slash - entry->file->path),
				     entry->file->path, text);
	return *ret ? 0 : neap_error_nomem(err);
}

int remote_bool(const struct remote_entry *entry, const char *name, bool *ret,
		struct neap_error *err)
{
	const json_t *value = json_object_get(entry->value, name);

	if (value && !json_is_null(value) && !json_is_boolean(value))
		return remote_wrong(entry, name, NEAP_EINVAL, err,
				    "must be true or false");
	*ret = json_is_true(value);
	return 0;
}

/* --- PEM, in the file itself or beside it --- */

struct pem {
	struct neap_buf text;
	char field[64]; /* that it came from */
};

/* Reads NAME-data, or else the file NAME. Without both pem stays empty. */
static int pem_read(const struct remote_entry *entry, const char *name, char **ret_file,
		    char **ret_data, struct pem *pem, struct neap_error *err)
{
	neap_auto_free char *encoded = NULL;
	struct neap_error why;
	size_t len = 0;

	neap_buf_init(&pem->text, NEAP_BUF_FILE);
	(void)snprintf(pem->field, sizeof(pem->field), "%s-data", name);
	if (remote_text(entry, pem->field, &encoded, err) < 0)
		return -(int)err->code;
	if (encoded) {
		if (remote_base64(encoded, ret_data, &len, &why) < 0)
			return remote_wrong(entry, pem->field, why.code, err, "%s",
					    why.msg);
		if (strlen(*ret_data) != len || !strstr(*ret_data, "-----BEGIN "))
			return remote_wrong(entry, pem->field, NEAP_EINVAL, err,
					    "must be base64 of PEM (-----BEGIN ...)");
		neap_buf_add(&pem->text, *ret_data, len);
		return neap_buf_failed(&pem->text)
			       ? neap_buf_error(&pem->text, pem->field, err)
			       : 0;
	}
	(void)neap_strcopy(pem->field, sizeof(pem->field), name);
	if (remote_path(entry, name, ret_file, err) < 0)
		return -(int)err->code;
	if (*ret_file && neap_file_load(*ret_file, &pem->text, &why) < 0)
		return remote_wrong(entry, name, why.code, err, "%s", why.msg);
	return 0;
}

/* Says what is wrong with what was read, and where it was read. */
static int pem_wrong(const struct remote_entry *entry, const struct pem *pem,
		     const char *file, const char *why, struct neap_error *err)
{
	return remote_wrong(entry, pem->field, NEAP_EINVAL, err, "%s%s%s",
			    file ? file : "", file ? " " : "", why);
}

/* --- cluster --- */

static int authority_read(const struct remote_entry *entry, struct neap_remote_target *to,
			  struct neap_error *err)
{
	struct pem pem = {0};
	const char *why = NULL;
	int rc = pem_read(entry, "certificate-authority", &to->ca_file, &to->ca_data,
			  &pem, err);

	if (rc == 0 && (to->ca_file || to->ca_data)) {
		if (to->is_insecure)
			rc = remote_wrong(entry, "insecure-skip-tls-verify", NEAP_EINVAL,
					  err,
					  "must not be true together with %s: leave out "
					  "one of them",
					  pem.field);
		else
			why = neap_remote_certs_check(pem.text.data, pem.text.len);
	}
	if (why)
		rc = pem_wrong(entry, &pem, to->ca_file, why, err);
	neap_buf_done(&pem.text);
	return rc;
}

int remote_cluster_read(const struct remote_entry *entry, struct neap_remote_target *to,
			struct neap_error *err)
{
	const char *why = NULL;

	if (remote_text(entry, "server", &to->server, err) < 0 ||
	    remote_text(entry, "tls-server-name", &to->tls_server_name, err) < 0 ||
	    remote_text(entry, "proxy-url", &to->proxy_url, err) < 0 ||
	    remote_bool(entry, "insecure-skip-tls-verify", &to->is_insecure, err) < 0 ||
	    remote_bool(entry, "disable-compression", &to->has_no_compression, err) < 0)
		return -(int)err->code;
	if (!to->server)
		return remote_wrong(entry, "server", NEAP_EINVAL, err,
				    "must be the URL of the server, as "
				    "https://host:6443");
	why = remote_url_check(to->server, NEAP_REMOTE_SERVER_SCHEMES, NULL);
	if (why && strchr(to->server, '@')) /* it may have a password */
		return remote_wrong(entry, "server", NEAP_EINVAL, err, "%s", why);
	if (why)
		return remote_wrong(entry, "server", NEAP_EINVAL, err, "'%s' %s",
				    to->server, why);
	for (size_t len = strlen(to->server); to->server[len - 1] == '/'; len--)
		to->server[len - 1] = '\0';
	if (to->proxy_url)
		why = remote_url_check(to->proxy_url, NEAP_REMOTE_PROXY_SCHEMES, NULL);
	if (why) /* it may have a password */
		return remote_wrong(entry, "proxy-url", NEAP_EINVAL, err, "%s", why);
	return authority_read(entry, to, err);
}

/* --- user --- */

/* Programs that would get credentials: nothing is executed by neapd. */
static int programs_refuse(const struct remote_entry *entry, struct neap_error *err)
{
	const json_t *exec = json_object_get(entry->value, "exec");
	const json_t *provider = json_object_get(entry->value, "auth-provider");

	if (exec && !json_is_null(exec))
		return remote_wrong(entry, "exec", NEAP_EUNSUPPORTED, err,
				    "neapd does not run '%s' for credentials: give a "
				    "token or a tokenFile",
				    neap_json_text(exec, "command"));
	if (provider && !json_is_null(provider))
		return remote_wrong(entry, "auth-provider", NEAP_EUNSUPPORTED, err,
				    "neapd does not know '%s': give a token or a "
				    "tokenFile",
				    neap_json_text(provider, "name"));
	return 0;
}

static int pair_check(const struct remote_entry *entry,
		      const struct neap_remote_target *to, const struct pem *cert,
		      const struct pem *key, struct neap_error *err)
{
	const bool has_cert = to->cert_file || to->cert_data;
	const bool has_key = to->key_file || to->key_data;
	const char *why;

	if (has_cert && !has_key)
		return remote_wrong(entry, cert->field, NEAP_EINVAL, err,
				    "needs client-key or client-key-data beside it");
	if (has_key && !has_cert)
		return remote_wrong(entry, key->field, NEAP_EINVAL, err,
				    "needs client-certificate or "
				    "client-certificate-data beside it");
	if (!has_cert)
		return 0;
	why = neap_remote_certs_check(cert->text.data, cert->text.len);
	if (why)
		return pem_wrong(entry, cert, to->cert_file, why, err);
	why = neap_remote_pair_check(cert->text.data, cert->text.len, key->text.data,
				     key->text.len);
	return why ? pem_wrong(entry, key, to->key_file, why, err) : 0;
}

static int pair_read(const struct remote_entry *entry, struct neap_remote_target *to,
		     struct neap_error *err)
{
	struct pem cert = {0}, key = {0};
	int rc = pem_read(entry, "client-certificate", &to->cert_file, &to->cert_data,
			  &cert, err);

	if (rc == 0)
		rc = pem_read(entry, "client-key", &to->key_file, &to->key_data, &key,
			      err);
	if (rc == 0)
		rc = pair_check(entry, to, &cert, &key, err);
	neap_buf_done(&cert.text);
	neap_buf_done(&key.text);
	return rc;
}

/* A token or a password goes into a header line. */
static int line_check(const struct remote_entry *entry, const char *name,
		      const char *text, struct neap_error *err)
{
	for (; text && *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return remote_wrong(entry, name, NEAP_EINVAL, err,
					    "must have no line end or other control "
					    "character");
	return 0;
}

static int token_read(const struct remote_entry *entry, struct neap_remote_target *to,
		      struct neap_error *err)
{
	neap_auto_buf struct neap_buf text = {0};
	struct neap_error why;
	int rc;

	if (remote_text(entry, "token", &to->token, err) < 0 ||
	    line_check(entry, "token", to->token, err) < 0 ||
	    remote_path(entry, "tokenFile", &to->token_file, err) < 0)
		return -(int)err->code;
	if (!to->token_file)
		return 0;
	neap_buf_init(&text, NEAP_BUF_LINE);
	rc = neap_file_load(to->token_file, &text, &why);
	if (rc == 0 && text.data[strspn(text.data, " \t\r\n")] == '\0')
		rc = neap_error_set(&why, NEAP_EINVAL, "%s is empty", to->token_file);
	if (rc == 0) {
		free(to->token); /* the file beats it */
		to->token = NULL;
		return 0;
	}
	if (!to->token)
		return remote_wrong(entry, "tokenFile", why.code, err, "%s", why.msg);
	free(to->token_file);
	to->token_file = NULL;
	return 0;
}

static int groups_read(const struct remote_entry *entry, struct neap_remote_target *to,
		       struct neap_error *err)
{
	const json_t *list = json_object_get(entry->value, "as-groups");
	const json_t *item;
	size_t i;

	if (!list || json_is_null(list))
		return 0;
	if (!json_is_array(list))
		return remote_wrong(entry, "as-groups", NEAP_EINVAL, err,
				    "must be a list of texts");
	to->as_groups = neap_alloc_array(json_array_size(list) + 1, sizeof(char *));
	if (!to->as_groups)
		return neap_error_nomem(err);
	json_array_foreach (list, i, item) {
		if (!json_is_string(item))
			return remote_wrong(entry, "as-groups", NEAP_EINVAL, err,
					    "must be a list of texts");
		if (line_check(entry, "as-groups", json_string_value(item), err) < 0)
			return -(int)err->code;
		to->as_groups[i] = neap_strdup(json_string_value(item));
		if (!to->as_groups[i])
			return neap_error_nomem(err);
	}
	return 0;
}

static int extra_read(const struct remote_entry *entry, struct neap_remote_target *to,
		      struct neap_error *err)
{
	json_t *extra = json_object_get(entry->value, "as-user-extra");
	json_t *list, *item;
	const char *key;
	size_t i;

	if (!extra || json_is_null(extra))
		return 0;
	if (!json_is_object(extra))
		return remote_wrong(entry, "as-user-extra", NEAP_EINVAL, err,
				    "must be a map of lists of texts");
	json_object_foreach (extra, key, list) {
		if (!json_is_array(list))
			return remote_wrong(entry, "as-user-extra", NEAP_EINVAL, err,
					    "must have a list of texts at '%.60s'", key);
		json_array_foreach (list, i, item) {
			if (!json_is_string(item))
				return remote_wrong(
					entry, "as-user-extra", NEAP_EINVAL, err,
					"must have a list of texts at '%.60s'", key);
			if (line_check(entry, "as-user-extra", json_string_value(item),
				       err) < 0)
				return -(int)err->code;
		}
	}
	to->as_extra = neap_json_deep_copy(extra);
	return to->as_extra ? 0 : neap_error_nomem(err);
}

static int as_read(const struct remote_entry *entry, struct neap_remote_target *to,
		   struct neap_error *err)
{
	if (remote_text(entry, "as", &to->as, err) < 0 ||
	    line_check(entry, "as", to->as, err) < 0 ||
	    remote_text(entry, "as-uid", &to->as_uid, err) < 0 ||
	    line_check(entry, "as-uid", to->as_uid, err) < 0 ||
	    groups_read(entry, to, err) < 0 || extra_read(entry, to, err) < 0)
		return -(int)err->code;
	if (!to->as && (to->as_uid || (to->as_groups && to->as_groups[0]) ||
			json_object_size(to->as_extra)))
		return remote_wrong(entry, "as", NEAP_EINVAL, err,
				    "must name a user: as-uid, as-groups and "
				    "as-user-extra go with one");
	return 0;
}

int remote_user_read(const struct remote_entry *entry, struct neap_remote_target *to,
		     struct neap_error *err)
{
	if (programs_refuse(entry, err) < 0 || pair_read(entry, to, err) < 0 ||
	    token_read(entry, to, err) < 0 ||
	    remote_text(entry, "username", &to->username, err) < 0 ||
	    line_check(entry, "username", to->username, err) < 0 ||
	    remote_text(entry, "password", &to->password, err) < 0 ||
	    line_check(entry, "password", to->password, err) < 0 ||
	    as_read(entry, to, err) < 0)
		return -(int)err->code;
	if (to->username && (to->token || to->token_file))
		return remote_wrong(entry, "username", NEAP_EINVAL, err,
				    "must not be given together with a token: leave out "
				    "one of them");
	if (to->username && strchr(to->username, ':'))
		return remote_wrong(entry, "username", NEAP_EINVAL, err,
				    "must have no colon");
	return 0;
}

/* --- headers --- */

char **neap_remote_target_headers(const struct neap_remote_target *target)
{
	size_t size = 3, count = 0;
	char **headers;
	const json_t *values;
	const char *key;
	size_t i;

	for (char **group = target->as_groups; group && *group; group++)
		size++;
	json_object_foreach (target->as_extra, key, values)
		size += json_array_size(values);
	headers = neap_alloc_array(size, sizeof(*headers));
	if (!headers)
		return NULL;
	if (target->as)
		headers[count++] = neap_asprintf("Impersonate-User: %s", target->as);
	if (target->as_uid)
		headers[count++] = neap_asprintf("Impersonate-Uid: %s", target->as_uid);
	for (char **group = target->as_groups; group && *group; group++)
		headers[count++] = neap_asprintf("Impersonate-Group: %s", *group);
	json_object_foreach (target->as_extra, key, values)
		for (i = 0; i < json_array_size(values); i++)
			headers[count++] = neap_asprintf(
				"Impersonate-Extra-%s: %s", key,
				json_string_value(json_array_get(values, i)));
	/* A request that lost one of them would be somebody else's. */
	for (i = 0; i < count; i++) {
		if (headers[i])
			continue;
		for (i = 0; i < count; i++)
			free(headers[i]);
		free(headers);
		return NULL;
	}
	return headers;
}

void neap_remote_target_headers_free(char **headers)
{
	for (char **header = headers; header && *header; header++)
		free(*header);
	free(headers);
}
