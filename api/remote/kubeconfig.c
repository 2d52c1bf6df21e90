/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the files, and selects the cluster and user. When several files set the same
 * name, the first one wins. */
#include "api/remote/kubeconfig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/remote/kubeconfig_priv.h"
#include "api/yaml/yaml.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

#define FILES_MAX   32 /* of KUBECONFIG */
#define ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
#define NAMES_SIZE  120

struct reading {
	const struct neap_remote_source *source;
	remote_getenv_fn *env;
	struct remote_file files[FILES_MAX];
	size_t count;
	struct neap_error *err;
};

static const char *env_process(const char *name)
{
	return getenv(name);
}

/* Set and not empty, else NULL. */
static const char *env_get(const struct reading *reading, const char *name)
{
	const char *value = reading->env(name);

	return value && value[0] ? value : NULL;
}

void neap_remote_target_free(struct neap_remote_target *target)
{
	if (!target)
		return;
	free(target->server);
	free(target->tls_server_name);
	free(target->ca_file);
	free(target->ca_data);
	free(target->cert_file);
	free(target->cert_data);
	free(target->key_file);
	free(target->key_data);
	free(target->token);
	free(target->token_file);
	free(target->username);
	free(target->password);
	free(target->proxy_url);
	free(target->dial_host);
	free(target->ns);
	free(target->as);
	free(target->as_uid);
	for (char **group = target->as_groups; group && *group; group++)
		free(*group);
	free(target->as_groups);
	json_decref(target->as_extra);
	free(target->source);
	free(target);
}

/* --- files --- */

/* The file as a whole, for errors. */
static struct remote_entry whole_of(const struct remote_file *file)
{
	return (struct remote_entry){.file = file, .value = file->root};
}

static int kind_check(const struct remote_file *file, struct neap_error *err)
{
	static const char *const wanted[][2] = {{"apiVersion", "v1"}, {"kind", "Config"}};
	const struct remote_entry whole = whole_of(file);

	for (size_t i = 0; i < NEAP_ARRAY_LEN(wanted); i++) {
		const json_t *value = json_object_get(file->root, wanted[i][0]);

		if (value && !json_is_null(value) &&
		    !neap_json_is_text(file->root, wanted[i][0], wanted[i][1]))
			return remote_wrong(&whole, wanted[i][0], NEAP_EINVAL, err,
					    "must be %s", wanted[i][1]);
	}
	return 0;
}

/* A list of named entries, each name once. */
static int list_check(const struct remote_file *file, const char *name,
		      struct neap_error *err)
{
	const json_t *list = json_object_get(file->root, name);
	const struct remote_entry whole = whole_of(file);
	char field[64];
	const json_t *item;
	size_t i;

	if (!list || json_is_null(list))
		return 0;
	if (!json_is_array(list))
		return remote_wrong(&whole, name, NEAP_EINVAL, err, "must be a list");
	json_array_foreach (list, i, item) {
		const char *own = neap_json_text(item, "name");

		(void)snprintf(field, sizeof(field), "%s[%zu].name", name, i);
		if (own[0] == '\0')
			return remote_wrong(&whole, field, NEAP_EINVAL, err,
					    "must be a text, not empty");
		if (neap_json_find(list, "name", own) != item)
			return remote_wrong(&whole, field, NEAP_EINVAL, err,
					    "'%s' stands here for the second time", own);
	}
	return 0;
}

static int file_parse(struct remote_file *file, struct neap_error *err)
{
	json_t *documents = NULL;
	int rc = neap_yaml_parse(file->text.data, file->text.len, file->path, &documents,
				 err);

	if (rc < 0)
		return rc;
	/* kubectl reads no more than one. An empty file sets nothing. */
	file->root = json_array_size(documents)
			     ? json_incref(json_array_get(documents, 0))
			     : json_object();
	json_decref(documents);
	if (!file->root)
		return neap_error_nomem(err);
	if (!json_is_object(file->root))
		return neap_error_set(err, NEAP_EINVAL,
				      "%s:1: must be a kubeconfig: a map with clusters, "
				      "users and contexts",
				      file->path);
	rc = kind_check(file, err);
	if (rc == 0)
		rc = list_check(file, "clusters", err);
	if (rc == 0)
		rc = list_check(file, "users", err);
	if (rc == 0)
		rc = list_check(file, "contexts", err);
	return rc;
}

/* The whole path: who reads the files beside it later has another working directory. */
static int path_make(const char *path, size_t len, char **ret, struct neap_error *err)
{
	neap_auto_free char *cwd = NULL;

	if (path[0] == '/') {
		*ret = neap_strndup(path, len);
	} else {
		cwd = getcwd(NULL, 0);
		if (!cwd)
			return neap_error_sys(err, "working directory");
		*ret = neap_asprintf("%s/%.*s", cwd, (int)len, path);
	}
	return *ret ? 0 : neap_error_nomem(err);
}

static void file_done(struct remote_file *file)
{
	free(file->path);
	neap_buf_done(&file->text);
	json_decref(file->root);
	memset(file, 0, sizeof(*file));
}

/* Reads one more file. Returns 1, 0 where there is none, -code. */
static int file_add(struct reading *reading, const char *path, size_t len)
{
	struct neap_error *err = reading->err;
	struct remote_file *file = &reading->files[reading->count];
	int rc;

	if (reading->count == FILES_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "KUBECONFIG: over %d files",
				      FILES_MAX);
	if (path_make(path, len, &file->path, err) < 0)
		return -(int)err->code;
	neap_buf_init(&file->text, NEAP_YAML_MAX);
	rc = neap_file_load(file->path, &file->text, err);
	if (rc < 0 && err->errnum == ENOENT) {
		file_done(file);
		return 0;
	}
	reading->count++;
	if (rc == 0)
		rc = file_parse(file, err);
	return rc < 0 ? rc : 1;
}

/* Reads the files of KUBECONFIG. Missing ones are left out, but not all of them: another
 * source would be another cluster. */
static int files_add(struct reading *reading, const char *list)
{
	size_t found = 0;

	for (const char *at = list; *at; at += *at == ':') {
		size_t len = strcspn(at, ":");
		int rc = len ? file_add(reading, at, len) : 0;

		if (rc < 0)
			return rc;
		found += rc > 0;
		at += len;
	}
	if (found > 0)
		return 0;
	return neap_error_set(reading->err, NEAP_ENOTFOUND,
			      "KUBECONFIG names no file that exists: %s", list);
}

/* --- entries --- */

static bool entry_find(const struct reading *reading, const char *list, const char *inner,
		       const char *name, struct remote_entry *ret)
{
	for (size_t i = 0; i < reading->count; i++) {
		const struct remote_file *file = &reading->files[i];
		const json_t *item;
		size_t at;

		json_array_foreach (json_object_get(file->root, list), at, item) {
			if (!neap_json_is_text(item, "name", name))
				continue;
			ret->file = file;
			ret->value = json_object_get(item, inner);
			(void)snprintf(ret->path, sizeof(ret->path), "%s[%zu].%s", list,
				       at, inner);
			return true;
		}
	}
	return false;
}

/* "there is none" or "known: a, b", as far as there is room. */
static void names_format(const struct reading *reading, const char *list,
			 char ret[NAMES_SIZE])
{
	size_t len = 0;

	(void)neap_strcopy(ret, NAMES_SIZE, "there is none");
	for (size_t i = 0; i < reading->count; i++) {
		const json_t *item;
		size_t at;

		json_array_foreach (json_object_get(reading->files[i].root, list), at,
				    item) {
			if (len + 1 < NAMES_SIZE)
				(void)snprintf(ret + len, NAMES_SIZE - len, "%s%s",
					       len ? ", " : "known: ",
					       neap_json_text(item, "name"));
			len = strlen(ret);
		}
	}
}

static int no_context(const struct reading *reading, const char *name)
{
	char names[NAMES_SIZE];

	names_format(reading, "contexts", names);
	for (size_t i = 0; i < reading->count && !reading->source->context; i++) {
		const struct remote_entry whole = whole_of(&reading->files[i]);

		if (name && neap_json_is_text(whole.value, "current-context", name))
			return remote_wrong(&whole, "current-context", NEAP_ENOTFOUND,
					    reading->err, "no context '%s': %s", name,
					    names);
	}
	if (name)
		return neap_error_field(reading->err, NEAP_ENOTFOUND, "contexts",
					"%s: contexts: no context '%s': %s",
					reading->files[0].path, name, names);
	return neap_error_field(reading->err, NEAP_EINVAL, "current-context",
				"%s: current-context: must name a context (%s)",
				reading->files[0].path, names);
}

/* Finds the context that counts; *ret_name is its name, borrowed. */
static int context_find(const struct reading *reading, struct remote_entry *ret,
			const char **ret_name)
{
	const char *name = reading->source->context;

	for (size_t i = 0; i < reading->count && !name; i++) {
		const char *current =
			neap_json_text(reading->files[i].root, "current-context");

		name = current[0] ? current : NULL;
	}
	if (!name || !entry_find(reading, "contexts", "context", name, ret))
		return no_context(reading, name);
	*ret_name = name;
	return 0;
}

/* Finds what the context's field names: a cluster or a user. */
static int named_find(const struct reading *reading, const struct remote_entry *context,
		      const char *field, const char *list, struct remote_entry *ret)
{
	neap_auto_free char *name = NULL;
	char names[NAMES_SIZE];

	if (remote_text(context, field, &name, reading->err) < 0)
		return -(int)reading->err->code;
	if (name && entry_find(reading, list, field, name, ret))
		return 0;
	names_format(reading, list, names);
	if (!name)
		return remote_wrong(context, field, NEAP_EINVAL, reading->err,
				    "must name one of the %s (%s)", list, names);
	return remote_wrong(context, field, NEAP_ENOTFOUND, reading->err,
			    "no %s '%s': %s", field, name, names);
}

static int files_read(const struct reading *reading, struct neap_remote_target *to)
{
	struct remote_entry context = {0}, cluster = {0}, user = {0};
	const char *name = NULL;
	int rc = context_find(reading, &context, &name);

	if (rc == 0)
		rc = named_find(reading, &context, "cluster", "clusters", &cluster);
	if (rc == 0)
		rc = named_find(reading, &context, "user", "users", &user);
	if (rc == 0)
		rc = remote_text(&context, "namespace", &to->ns, reading->err);
	if (rc == 0)
		rc = remote_cluster_read(&cluster, to, reading->err);
	if (rc == 0)
		rc = remote_user_read(&user, to, reading->err);
	if (rc < 0)
		return rc;
	to->source = neap_asprintf("%s, context %s", context.file->path, name);
	return to->source ? 0 : neap_error_nomem(reading->err);
}

/* --- in a cluster --- */

static char *account_file(const struct reading *reading, const char *name)
{
	const char *dir = reading->source->account_dir;

	return neap_asprintf("%s/%s", dir ? dir : ACCOUNT_DIR, name);
}

static bool is_in_cluster(const struct reading *reading)
{
	neap_auto_free char *token = account_file(reading, "token");

	return token && env_get(reading, "KUBERNETES_SERVICE_HOST") &&
	       env_get(reading, "KUBERNETES_SERVICE_PORT") && access(token, R_OK) == 0;
}

static int cluster_server(const struct reading *reading, struct neap_remote_target *to)
{
	const char *host = env_get(reading, "KUBERNETES_SERVICE_HOST");
	const char *port = env_get(reading, "KUBERNETES_SERVICE_PORT");
	bool is_six = strchr(host, ':') != NULL;
	const char *why;

	to->server = neap_asprintf("https://%s%s%s:%s", is_six ? "[" : "", host,
				   is_six ? "]" : "", port);
	if (!to->server)
		return neap_error_nomem(reading->err);
	why = remote_url_check(to->server, NEAP_REMOTE_SERVER_SCHEMES, NULL);
	if (!why)
		return 0;
	return neap_error_field(reading->err, NEAP_EINVAL, "KUBERNETES_SERVICE_HOST",
				"environment: KUBERNETES_SERVICE_HOST and _PORT: '%s' %s",
				to->server, why);
}

static int cluster_authority(const struct reading *reading, struct neap_remote_target *to)
{
	neap_auto_buf struct neap_buf pem = {0};
	const char *why;

	neap_buf_init(&pem, NEAP_BUF_FILE);
	to->ca_file = account_file(reading, "ca.crt");
	if (!to->ca_file)
		return neap_error_nomem(reading->err);
	if (neap_file_load(to->ca_file, &pem, reading->err) < 0)
		return neap_error_wrap(reading->err, "CA of the service account");
	why = neap_remote_certs_check(pem.data, pem.len);
	if (why)
		return neap_error_set(reading->err, NEAP_EINVAL, "%s %s", to->ca_file,
				      why);
	return 0;
}

static int in_cluster_read(const struct reading *reading, struct neap_remote_target *to)
{
	neap_auto_free char *ns = account_file(reading, "namespace");
	const char *dir = reading->source->account_dir;
	char text[256];

	if (reading->source->context)
		return neap_error_set(reading->err, NEAP_EINVAL,
				      "no context '%s': a pod's service account is used, "
				      "and no kubeconfig",
				      reading->source->context);
	if (cluster_server(reading, to) < 0 || cluster_authority(reading, to) < 0)
		return -(int)reading->err->code;
	to->token_file = account_file(reading, "token");
	to->source = neap_asprintf("service account in %s", dir ? dir : ACCOUNT_DIR);
	if (!ns || !to->token_file || !to->source)
		return neap_error_nomem(reading->err);
	if (neap_file_line(ns, text, sizeof(text)) <= 0 || text[0] == '\0')
		return 0; /* only a default */
	to->ns = neap_strdup(text);
	return to->ns ? 0 : neap_error_nomem(reading->err);
}

/* --- which of them --- */

/* 1: files were read, 0: in a cluster, -code. */
static int source_find(struct reading *reading)
{
	const char *list = env_get(reading, "KUBECONFIG");
	const char *home = env_get(reading, "HOME");
	neap_auto_free char *path = NULL;
	int rc;

	if (reading->source->file) {
		rc = file_add(reading, reading->source->file,
			      strlen(reading->source->file));
		if (rc != 0)
			return rc;
		return neap_error_set(reading->err, NEAP_ENOTFOUND, "%s does not exist",
				      reading->source->file);
	}
	if (list) {
		rc = files_add(reading, list);
		return rc < 0 ? rc : 1;
	}
	if (is_in_cluster(reading))
		return 0;
	if (home) {
		path = neap_asprintf("%s/.kube/config", home);
		if (!path)
			return neap_error_nomem(reading->err);
		rc = file_add(reading, path, strlen(path));
		if (rc != 0)
			return rc;
	}
	return neap_error_set(
		reading->err, NEAP_ENOTFOUND,
		"no server to connect to: no kubeconfig is named, KUBECONFIG is not set, "
		"there is no service account of a pod (KUBERNETES_SERVICE_HOST, "
		"KUBERNETES_SERVICE_PORT, its token), and no %s",
		path ? path : "~/.kube/config (HOME is not set)");
}

/* Which proxy counts, and where connections lead. Both URLs were checked before. */
static int way_read(const struct reading *reading, struct neap_remote_target *to)
{
	struct remote_url url = {0}, proxy = {0};
	int rc = 0;

	if (remote_url_check(to->server, NEAP_REMOTE_SERVER_SCHEMES, &url))
		return neap_error_nomem(reading->err);
	if (!to->proxy_url)
		rc = remote_proxy_find(reading->env, &url, &to->proxy_url, reading->err);
	if (rc == 0 && to->proxy_url) {
		if (remote_url_check(to->proxy_url, NEAP_REMOTE_PROXY_SCHEMES, &proxy))
			rc = neap_error_nomem(reading->err);
		free(url.host);
		url = proxy;
	}
	to->dial_host = url.host;
	to->dial_port = (uint16_t)url.port;
	return rc;
}

int neap_remote_target_load(const struct neap_remote_source *source,
			    struct neap_remote_target **ret, struct neap_error *err)
{
	struct neap_remote_target *target = neap_alloc(sizeof(*target));
	struct reading *reading = neap_alloc(sizeof(*reading));
	struct neap_error own = {0};
	int rc;

	if (!target || !reading) {
		free(target);
		free(reading);
		return neap_error_nomem(err);
	}
	reading->source = source;
	reading->env = source->getenv ? source->getenv : env_process;
	reading->err = err ? err : &own;
	rc = source_find(reading);
	if (rc > 0)
		rc = files_read(reading, target);
	else if (rc == 0)
		rc = in_cluster_read(reading, target);
	if (rc == 0)
		rc = way_read(reading, target);
	while (reading->count > 0)
		file_done(&reading->files[--reading->count]);
	free(reading);
	if (rc < 0) {
		neap_remote_target_free(target);
		return rc;
	}
	*ret = target;
	return 0;
}
