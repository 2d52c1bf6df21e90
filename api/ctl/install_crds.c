/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl install-crds`: gives a server the definitions of doc/deploy/crds, which are
 * part of this program, by server-side apply. Where somebody else made a definition
 * another way, the server refuses, and theirs is kept. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/ctl/base/client.h"
#include "api/ctl/base/direct.h"
#include "api/ctl/draw/cells.h"
#include "api/remote/kinds.h"
#include "engine/json/json.h"

#define PATH       "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
#define SUFFIX     ".yaml"
#define NAME_BYTES 256

/* A definition is served some time after it was made. */
#define LOOK_MSEC  100
#define LOOKS_MOST 300

struct crds_values {
	const char *kubeconfig, *context;
	bool force;
};

static const struct neap_option crds_options[] = {
	{"kubeconfig", 0, NEAP_OPTION_TEXT, offsetof(struct crds_values, kubeconfig),
	 "FILE", "use a kube-apiserver instead of neapd; auto: find it as kubectl does"},
	{"context", 0, NEAP_OPTION_TEXT, offsetof(struct crds_values, context), "NAME",
	 "use this context of the kubeconfig"},
	{"force", 'f', NEAP_OPTION_FLAG, offsetof(struct crds_values, force), NULL,
	 "also change definitions that somebody else made and that differ"},
	{""},
};

/* --- the server --- */

/* One of both. */
struct server {
	struct neap_client *neapd;
	struct neap_remote_direct *cluster;
};

/* GET without a body, else server-side apply. *ret_status 0: no answer. */
static int ask(const struct server *server, const char *path, const char *body,
	       int *ret_status, json_t **ret, struct neap_error *err)
{
	const char *method = body != NULL ? "PATCH" : "GET";
	const char *type = body != NULL ? "application/apply-patch+yaml" : NULL;
	const struct neap_remote_direct_ask direct = {method, path, type, body};
	const struct neap_client_request request = {
		.method = method,
		.path = path,
		.body = body,
		.body_len = body != NULL ? strlen(body) : 0,
		.type = type};
	struct neap_client_reply reply;
	int r;

	*ret = NULL;
	if (server->cluster != NULL)
		return neap_remote_direct_send(server->cluster, &direct, ret_status, ret,
					       err);
	r = neap_client_send(server->neapd, &request, &reply, err);
	*ret_status = (int)reply.status;
	*ret = json_incref(reply.json);
	neap_client_reply_done(&reply);
	return r;
}

/* --- one definition --- */

/* "GROUP_PLURAL.yaml" to "PLURAL.GROUP"; false: no file of a definition. */
static bool name_of(const char *file, char *ret, size_t size)
{
	size_t len = strlen(file), group = strcspn(file, "_"), end = strlen(SUFFIX);

	if (len < end || strcmp(file + len - end, SUFFIX) != 0 || file[group] != '_')
		return false;
	(void)snprintf(ret, size, "%.*s.%.*s", (int)(len - end - group - 1),
		       file + group + 1, (int)group, file);
	return true;
}

/* Whether both are the same but for what the server notes about a write. */
static bool is_same(json_t *before, json_t *after)
{
	static const char *const notes[] = {"managedFields", "resourceVersion",
					    "generation"};
	json_t *const both[] = {before, after};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(both); i++) {
		json_t *meta = json_object_get(both[i], "metadata");

		for (size_t k = 0; k < NEAP_ARRAY_LEN(notes); k++)
			(void)json_object_del(meta, notes[k]);
		(void)json_object_del(both[i], "status");
	}
	return json_equal(before, after) != 0;
}

/* Whether a definition of somebody else has a version that neap reads. */
static bool is_of_use(const char *name, const json_t *definition)
{
	const struct neap_remote_kind *kind = neap_remote_kind_find(name);
	const json_t *versions =
		json_object_get(json_object_get(definition, "spec"), "versions");
	const json_t *version;
	size_t i;

	for (size_t k = 0; kind != NULL && kind->versions[k] != NULL; k++) {
		json_array_foreach (versions, i, version)
			if (neap_json_is_text(version, "name", kind->versions[k]) &&
			    json_is_true(json_object_get(version, "served")))
				return true;
	}
	return kind == NULL;
}

/* What an apply did: one word. NULL: nothing, and err says why. before: the definition
 * that there is; NULL: none. */
static const char *apply(const struct server *server, const char *path, const char *text,
			 json_t *before, json_t *row, struct neap_error *err)
{
	const char *name = neap_json_text(row, "name"), *result = NULL;
	json_t *after = NULL;
	int status = 0, r = ask(server, path, text, &status, &after, err);

	if (r == 0 && before == NULL) {
		result = "created";
	} else if (r == 0) {
		result = is_same(before, after) ? "unchanged" : "configured";
	} else if (status == 409 && before != NULL && is_of_use(name, before)) {
		result = "kept";
		neap_json_set_text(row, "why", neap_json_text(after, "message"));
	} else if (status == 409 && before != NULL) {
		(void)neap_error_set(err, NEAP_ECONFLICT,
				     "somebody else's definition is there, without the "
				     "version that neap reads; --force replaces it");
	}
	json_decref(after);
	return result;
}

static const char *install(const struct server *server, const char *text, bool is_forced,
			   json_t *row, struct neap_error *err)
{
	char path[NAME_BYTES + sizeof(PATH)], applied[sizeof(path) + 64];
	const char *result = NULL;
	json_t *before = NULL;
	int status = 0, r;

	(void)snprintf(path, sizeof(path), PATH "%s", neap_json_text(row, "name"));
	(void)snprintf(applied, sizeof(applied), "%s?fieldManager=neapctl%s", path,
		       is_forced ? "&force=true" : "");
	r = ask(server, path, NULL, &status, &before, err);
	if (r == 0 || status == 404)
		result = apply(server, applied, text, r == 0 ? before : NULL, row, err);
	json_decref(before);
	return result;
}

/* Waits until the definition is served. */
static int wait_served(const struct server *server, const char *name,
		       struct neap_error *err)
{
	const struct timespec pause = {.tv_nsec = LOOK_MSEC * 1000000L};
	char path[NAME_BYTES + sizeof(PATH)], why[128] = "no condition Established";

	(void)snprintf(path, sizeof(path), PATH "%s", name);
	for (int i = 0; i < LOOKS_MOST; i++) {
		json_t *object = NULL;
		const json_t *names, *state;
		int status = 0, r = ask(server, path, NULL, &status, &object, err);
		bool is_served;

		state = json_object_get(object, "status");
		is_served = r == 0 &&
			    neap_json_is_text(neap_json_condition(state, "Established"),
					      "status", "True");
		names = neap_json_condition(state, "NamesAccepted");
		if (neap_json_is_text(names, "status", "False"))
			(void)snprintf(why, sizeof(why), "%s",
				       neap_cell_text(names, "message"));
		json_decref(object);
		if (r < 0)
			return r;
		if (is_served)
			return 0;
		(void)nanosleep(&pause, NULL);
	}
	return neap_error_set(err, NEAP_EUNAVAILABLE,
			      "it is stored, and the server does not serve it: %s", why);
}

/* --- all of them --- */

static int install_all(const struct server *server, bool is_forced, json_t *rows,
		       struct neap_error *err)
{
	const char *file, *text, *result;
	char name[NAME_BYTES];
	const json_t *row;
	size_t at;

	for (at = 0; (text = neap_ctl_text_at(at, &file)) != NULL; at++) {
		json_t *fresh;

		if (!name_of(file, name, sizeof(name)))
			continue;
		fresh = json_pack("{s:s}", "name", name);
		result = install(server, text, is_forced, fresh, err);
		if (result != NULL) {
			neap_json_set_text(fresh, "result", result);
			(void)json_array_append(rows, fresh);
		}
		json_decref(fresh);
		if (result == NULL)
			return neap_error_wrap(err, "%s", name);
	}
	/* The server takes them in meanwhile. */
	json_array_foreach (rows, at, row)
		if (!neap_json_is_text(row, "result", "kept") &&
		    wait_served(server, neap_json_text(row, "name"), err) < 0)
			return neap_error_wrap(err, "%s", neap_json_text(row, "name"));
	return 0;
}

static void add(const json_t *rows, const void *arg, struct neap_buf *out)
{
	const json_t *row;
	size_t i;

	(void)arg;
	json_array_foreach (rows, i, row) {
		neap_cells_add(out, row, "{name} {result}");
		neap_cells_add_if(out, row, "why", ": {why}; --force takes it over");
		neap_buf_adds(out, "\n");
	}
}

static int server_open(const struct neap_ctl *ctl, const struct crds_values *values,
		       struct server *server, struct neap_error *err)
{
	const char *file = values->kubeconfig;
	const struct neap_remote_source source = {
		.file = file == NULL || strcmp(file, "auto") == 0 ? NULL : file,
		.context = values->context};

	if (file == NULL)
		return neap_client_new(ctl, &server->neapd, err);
	return neap_remote_direct_new(&source, &server->cluster, err);
}

static int run(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct crds_values *values = arg;
	struct server server = {0};
	struct neap_error err = {0};
	json_t *rows = json_array();
	int r, shown = 0;

	(void)argc, (void)argv;
	if (values->context != NULL && values->kubeconfig == NULL) {
		json_decref(rows);
		return neap_ctl_complainf(NEAP_CTL_USAGE,
					  "--context goes with --kubeconfig");
	}
	r = rows != NULL ? server_open(ctl, values, &server, &err)
			 : neap_error_nomem(&err);
	if (r == 0)
		r = install_all(&server, values->force, rows, &err);
	neap_client_free(server.neapd);
	neap_remote_direct_free(server.cluster);
	/* The user also sees what the server took before a failure. */
	if (r == 0 || json_array_size(rows) > 0)
		shown = neap_ctl_show_take(ctl, json_incref(rows), add, NULL);
	json_decref(rows);
	return r < 0 ? neap_ctl_fail(&err) : shown;
}

const struct neap_command neap_command_install_crds = {
	.name = "install-crds",
	.usage = "[--kubeconfig FILE] [--context NAME] [--force] [-o json|yaml]",
	.example = "install-crds --kubeconfig ~/.kube/config",
	.summary = "install the CustomResourceDefinitions of neap's kinds on a server",
	.text = "Reservation, NodeMetric and the others, by server-side apply; may be repeated. Needs the right\n"
		"to get, create and patch customresourcedefinitions.\n",
	.options = crds_options,
	.output = NEAP_OUTPUT_OF_ALL,
	.values_size = sizeof(struct crds_values),
	.run = run,
};
