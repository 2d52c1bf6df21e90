/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes as requests. A write knows its resource and name. Its answer is a Status, or an
 * object, which is laid over the mirror until the watch delivers it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/remote/remote_priv.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/log/log.h"

#define ASK_USEC   34000000 /* longer than the server itself is asked to take: 30 s */
#define MESSAGE    1024
#define TRIES_MAX  5 /* of a change that is ours to repeat */
#define MERGE_TYPE "application/merge-patch+json"

enum verb { CREATE, UPDATE, PATCH, DELETE, EVICT, BIND };

struct remote_write {
	TAILQ_ENTRY(remote_write) link;
	struct neap_remote *remote;
	struct neap_transfer *transfer;
	const struct neap_remote_kind *kind;
	enum verb verb;
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME];
	char *body;       /* of a patch, to repeat it */
	const char *sub;  /* "/status"; "" */
	bool has_version; /* the change holds for one version alone */
	bool is_broken;   /* nothing was heard of the server */
	int tries;
	uint64_t reign;              /* in which it was made */
	json_t *binding;             /* after a patch: the request that follows it */
	char node[NEAP_OBJECT_NAME]; /* of a binding */
	json_t *notes;
	struct neap_object *before; /* as it was known when it was asked for; NULL */
	neap_client_told *told;
	void *arg;
};

static void write_free(struct remote_write *write)
{
	TAILQ_REMOVE(&write->remote->writes, write, link);
	neap_transfer_cancel(write->transfer);
	json_decref(write->binding);
	json_decref(write->notes);
	(void)neap_object_unref(write->before);
	free(write->body);
	free(write);
}

/* told may write again, or end nothing less than the client. */
static void tell(struct remote_write *write, struct neap_object *object,
		 const struct neap_client_failure *failure)
{
	neap_client_told *told = write->told;
	void *arg = write->arg;

	write_free(write);
	if (told != NULL)
		told(arg, object, failure);
}

static void tell_failure(struct remote_write *write, enum neap_client_reason reason,
			 int code, bool is_unknown, const char *message)
{
	const struct neap_client_failure failure = {.reason = reason,
						    .code = code,
						    .is_unknown = is_unknown,
						    .is_unanswered = write->is_broken,
						    .message = message};

	tell(write, NULL, &failure);
}

/* Said here, as not all who ask have a log, and of each right once, whatever it was asked
 * for. Quotas and namespaces that end are told of otherwise. */
static void tell_right(const struct remote_write *write, const char *message)
{
	const char *user = message != NULL ? strstr(message, "User \"") : NULL;

	if (user != NULL && strstr(user, "\" cannot ") != NULL)
		neap_log_from(write->remote->config.log, "api server", NEAP_LOG_WARN,
			      "api server: %s%s", user, NEAP_REMOTE_RIGHTS);
}

/* What a failed answer says. etcd may have done what it was too slow to say. */
static void tell_status(struct remote_write *write,
			const struct neap_transport_answer *answer, const json_t *status)
{
	const json_t *details = json_object_get(status, "details");
	const char *kind = neap_json_text(details, "kind");
	const char *message = neap_json_text(status, "message");
	char text[MESSAGE];
	struct neap_client_failure failure = {
		.reason = remote_reason(neap_json_text(status, "reason"), answer->status),
		.code = answer->status,
		.message = text,
		.retry_after_s = answer->has_retry_after ? answer->retry_after_s : 0};

	(void)neap_strcopy(text, sizeof(text),
			   *message != '\0' ? message : "the server gave no reason");
	/* Whoever asks to come again later has done nothing. */
	failure.is_unknown = answer->status >= 500 && !answer->has_retry_after;
	if (answer->status == 403)
		tell_right(write, message);
	if (kind != NULL && strchr(kind, '/') != NULL)
		failure.part = *write->sub != '\0' ? write->sub + 1 : NULL;
	tell(write, NULL, &failure);
}

static void tell_broken(struct remote_write *write,
			const struct neap_transport_answer *answer)
{
	char text[MESSAGE];

	(void)neap_strcopy(text, sizeof(text), answer->why);
	write->is_broken = true;
	tell_failure(write,
		     answer->is_unknown ? NEAP_CLIENT_TIMEOUT : NEAP_CLIENT_UNAVAILABLE,
		     answer->is_unknown ? 504 : 503, answer->is_unknown, text);
}

/* --- requests --- */

static bool is_urgent(const struct remote_write *write)
{
	return write->verb == BIND || strcmp(write->kind->kind, "Lease") == 0;
}

static const char *version_of(const struct remote_write *write)
{
	const struct neap_reflector *reflector =
		remote_reflector(write->remote, write->kind->resource);
	const char *version = reflector ? neap_reflector_version(reflector) : NULL;

	return version != NULL ? version : write->kind->versions[0];
}

static void add_path(const struct remote_write *write, struct neap_buf *path)
{
	const char *group = neap_remote_kind_group(write->kind);

	neap_buf_addf(path, "%s%s/%s", *group ? "/apis/" : "/api", group,
		      version_of(write));
	if (write->kind->is_namespaced)
		neap_buf_addf(path, "/namespaces/%s", write->ns);
	neap_buf_addf(path, "/%.*s", (int)neap_remote_kind_plural(write->kind),
		      write->kind->resource);
	if (write->verb != CREATE)
		neap_buf_addf(path, "/%s%s", write->name, write->sub);
	neap_buf_addf(path, "?timeout=30s&fieldManager=%s&fieldValidation=Strict",
		      write->remote->config.manager);
}

static void answered(void *arg, const struct neap_transport_answer *answer);

/* 0: nothing may be written. */
static uint64_t reign_of(const struct neap_remote *remote)
{
	for (size_t i = 0; i < remote->config.resource_count; i++)
		if (remote->reflectors[i] != NULL &&
		    neap_reflector_is_behind(remote->reflectors[i]))
			return 0;
	return remote->config.reign ? remote->config.reign(remote->config.arg) : 1;
}

static bool may(void *arg)
{
	const struct remote_write *write = arg;

	return write->reign != 0 && write->reign == reign_of(write->remote);
}

/* body: taken; NULL: there was no memory. */
static void send_text(struct remote_write *write, const char *method, const char *type,
		      char *body)
{
	neap_auto_buf struct neap_buf path = {0};
	struct neap_transport_ask ask = {.method = method,
					 .content_type = type,
					 .body = body,
					 .len = body != NULL ? strlen(body) : 0,
					 .rank = is_urgent(write) ? NEAP_TRANSPORT_URGENT
								  : NEAP_TRANSPORT_NORMAL,
					 .timeout_usec = ASK_USEC,
					 /* A budget's 429 is an answer. */
					 .is_impatient = write->verb == EVICT,
					 .may = may,
					 .done = answered,
					 .arg = write};
	struct neap_error err;

	neap_buf_init(&path, NEAP_BUF_LINE);
	add_path(write, &path);
	ask.path = path.data;
	if (body == NULL || neap_buf_failed(&path)) {
		free(body);
		tell_failure(write, NEAP_CLIENT_INTERNAL_ERROR, 500, false,
			     "there is no memory for the request");
	} else if (neap_transport_ask_take(write->remote->config.transport, &ask,
					   &write->transfer, &err) < 0) {
		tell_failure(write, NEAP_CLIENT_INTERNAL_ERROR, 500, false, err.msg);
	}
}

/* json: taken; NULL: there was no memory. */
static void send_take(struct remote_write *write, const char *method, const char *type,
		      json_t *json)
{
	char *body = json != NULL ? neap_json_dump(json, JSON_COMPACT) : NULL;

	json_decref(json);
	send_text(write, method, type, body);
}

static void send_patch(struct remote_write *write)
{
	send_text(write, "PATCH", MERGE_TYPE,
		  write->body != NULL ? neap_strdup(write->body) : NULL);
}

/* --- answers --- */

/* Whether an answer says more than the mirror shows: the watch may have been faster, and
 * may have brought the object's end, too. */
static bool is_news(const struct remote_write *write, const struct neap_object *object)
{
	const struct neap_reflector *reflector =
		remote_reflector(write->remote, write->kind->resource);
	const struct neap_object *newest;
	const char *version = neap_object_field(object, "metadata.resourceVersion");
	const char *node;

	if (reflector == NULL)
		return false;
	newest = neap_store_newest(write->remote->of.store, write->kind->resource,
				   object->ns, object->name);
	if (*version != '\0')
		return neap_remote_version_compare(version,
						   neap_reflector_last(reflector)) > 0;
	/* A binding's: until the pod is shown with its node. */
	node = newest ? neap_object_field(newest, "spec.nodeName") : NULL;
	return newest && strcmp(newest->uid, object->uid) == 0 && (!node || !*node);
}

/* The object of an answer lies over the mirror, where the resource is read. */
static struct neap_object *lay_take(struct remote_write *write, json_t *json)
{
	struct neap_remote *remote = write->remote;
	const char *resource = write->kind->resource;
	struct neap_object *object;
	struct neap_error err;

	if (neap_remote_object_take(json, write->kind, neap_mirror_next(remote->of.store),
				    &object, &err) < 0)
		return NULL;
	if (is_news(write, object))
		(void)neap_mirror_lay_take(remote->of.store, resource,
					   neap_object_ref(object), &err);
	return object;
}

/* The watch may have been faster than the answer, and the object is gone. */
static struct neap_object *last_known(const struct remote_write *write)
{
	struct neap_object *object = neap_store_newest(
		write->remote->of.store, write->kind->resource, write->ns, write->name);

	return object ? object : write->before;
}

/* An object without a version of its own: what a binding makes of the newest. */
static json_t *bound_tree(const struct remote_write *write)
{
	const struct neap_object *newest = last_known(write);
	json_t *tree = newest ? neap_object_tree(newest) : NULL;
	json_t *meta = json_object_get(tree, "metadata");
	json_t *notes = json_object_get(meta, "annotations"), *spec;

	if (tree == NULL)
		return NULL;
	spec = json_object_get(tree, "spec");
	neap_json_set_text(spec, "nodeName", write->node);
	(void)json_object_del(meta, "resourceVersion");
	if (write->notes != NULL && notes == NULL) {
		notes = json_object();
		(void)json_object_set_new(meta, "annotations", notes);
	}
	(void)json_object_update(notes, write->notes);
	return tree;
}

/* The answer says no more than that it was done. */
static void done_without_object(struct remote_write *write)
{
	struct neap_object *object = NULL;
	json_t *tree;

	if (write->verb == BIND) {
		tree = bound_tree(write);
		object = tree != NULL ? lay_take(write, tree) : NULL;
	} else {
		object = last_known(write);
		object = object != NULL ? neap_object_ref(object) : NULL;
		if (write->verb == DELETE && object != NULL && write->before != NULL &&
		    strcmp(object->uid, write->before->uid) == 0)
			neap_mirror_lay_gone(write->remote->of.store,
					     write->kind->resource, write->ns,
					     write->name);
	}
	if (object == NULL) {
		tell_failure(write, NEAP_CLIENT_INTERNAL_ERROR, 500, true,
			     "it was done, and the object is not known here");
		return;
	}
	tell(write, object, NULL);
	(void)neap_object_unref(object);
}

static void done_with_object_take(struct remote_write *write, json_t *json)
{
	struct neap_object *object = lay_take(write, json);

	if (object == NULL) {
		tell_failure(write, NEAP_CLIENT_INTERNAL_ERROR, 500, true,
			     "it was done, and the answer cannot be read");
		return;
	}
	tell(write, object, NULL);
	(void)neap_object_unref(object);
}

static void answered(void *arg, const struct neap_transport_answer *answer)
{
	struct remote_write *write = arg;
	bool is_done = answer->status >= 200 && answer->status < 300;
	json_t *json = NULL;
	struct neap_error err;
	bool is_status;

	write->transfer = NULL;
	if (answer->status == 0) {
		tell_broken(write, answer);
		return;
	}
	if (neap_remote_parse(answer->body, answer->len, &json, &err) < 0)
		json = NULL;
	is_status = neap_json_is_text(json, "kind", "Status");
	if (!is_done && answer->status == 409 && write->body != NULL &&
	    !write->has_version && ++write->tries < TRIES_MAX) {
		send_patch(write); /* somebody else was writing at the same time */
	} else if (!is_done) {
		tell_status(write, answer, json);
	} else if (write->binding != NULL) {
		free(neap_steal(write->body));
		write->verb = BIND;
		write->sub = "/binding";
		send_take(write, "POST", "application/json", neap_steal(write->binding));
	} else if (write->verb == EVICT || write->verb == BIND || is_status) {
		done_without_object(write);
	} else if (json == NULL) {
		tell_failure(write, NEAP_CLIENT_INTERNAL_ERROR, 500, true, err.msg);
	} else {
		done_with_object_take(write, neap_steal(json));
	}
	json_decref(json);
}

/* --- the writes --- */

/* NULL: it was answered already. */
static struct remote_write *begin(struct neap_client *client, enum verb verb,
				  const struct neap_client_ask *ask, const char *sub)
{
	struct neap_remote *remote = (struct neap_remote *)client;
	const struct neap_remote_kind *kind = neap_remote_kind_find(ask->resource);
	struct remote_write *write = kind ? neap_alloc(sizeof(*write)) : NULL;
	const struct neap_client_failure failure = {
		.reason = kind ? NEAP_CLIENT_INTERNAL_ERROR : NEAP_CLIENT_NOT_FOUND,
		.code = kind ? 500 : 404,
		.message = kind ? "there is no memory for the request"
				: "neap writes no such resource to another server"};

	if (write == NULL) {
		if (ask->told != NULL)
			ask->told(ask->arg, NULL, &failure);
		return NULL;
	}
	*write = (struct remote_write){.remote = remote,
				       .kind = kind,
				       .verb = verb,
				       .sub = sub,
				       .reign = reign_of(remote),
				       .told = ask->told,
				       .arg = ask->arg};
	(void)neap_strcopy(write->ns, sizeof(write->ns), ask->ns);
	(void)neap_strcopy(write->name, sizeof(write->name), ask->name ? ask->name : "");
	write->before = neap_store_newest(remote->of.store, kind->resource, write->ns,
					  write->name);
	if (write->before != NULL)
		(void)neap_object_ref(write->before);
	TAILQ_INSERT_TAIL(&remote->writes, write, link);
	return write;
}

static bool set_kind(const struct remote_write *write, json_t *object)
{
	const char *group = neap_remote_kind_group(write->kind);
	char version[128];

	(void)snprintf(version, sizeof(version), "%s%s%s", group, *group ? "/" : "",
		       version_of(write));
	return json_object_set_new(object, "apiVersion", json_string(version)) == 0 &&
	       json_object_set_new(object, "kind", json_string(write->kind->kind)) == 0;
}

static void send_object_take(struct remote_write *write, const char *method,
			     json_t *object)
{
	if (object != NULL && !set_kind(write, object)) {
		json_decref(object);
		object = NULL;
	}
	send_take(write, method, "application/json", object);
}

void remote_create_take(struct neap_client *client, const struct neap_client_ask *ask,
			json_t *object)
{
	struct remote_write *write = begin(client, CREATE, ask, "");

	if (write != NULL)
		send_object_take(write, "POST", object);
	else
		json_decref(object);
}

void remote_update_take(struct neap_client *client, const struct neap_client_ask *ask,
			bool is_status, json_t *object)
{
	struct remote_write *write =
		begin(client, UPDATE, ask, is_status ? "/status" : "");

	if (write != NULL)
		send_object_take(write, "PUT", object);
	else
		json_decref(object);
}

void remote_patch_take(struct neap_client *client, const struct neap_client_ask *ask,
		       bool is_status, json_t *patch)
{
	struct remote_write *write =
		begin(client, PATCH, ask, is_status ? "/status" : "");
	const json_t *meta = json_object_get(patch, "metadata");

	if (write != NULL) {
		write->has_version = json_object_get(meta, "resourceVersion") != NULL ||
				     json_object_get(meta, "uid") != NULL;
		write->body = patch ? neap_json_dump(patch, JSON_COMPACT) : NULL;
		send_patch(write);
	}
	json_decref(patch);
}

void remote_delete(struct neap_client *client, const struct neap_client_ask *ask,
		   const char *uid, int64_t grace_s)
{
	struct remote_write *write = begin(client, DELETE, ask, "");

	if (write != NULL)
		send_take(write, "DELETE", "application/json",
			  neap_client_delete_options(uid, grace_s));
}

void remote_evict(struct neap_client *client, const struct neap_client_ask *ask,
		  const char *uid, int64_t grace_s)
{
	struct remote_write *write = begin(client, EVICT, ask, "/eviction");
	const struct neap_reflector *pods;
	char version[32];

	if (write == NULL)
		return;
	pods = remote_reflector(write->remote, write->kind->resource);
	(void)snprintf(version, sizeof(version), "policy/%s",
		       pods ? neap_reflector_eviction(pods) : "v1");
	send_take(write, "POST", "application/json",
		  json_pack("{s:s, s:s, s:{s:s, s:s}, s:o}", "apiVersion", version,
			    "kind", "Eviction", "metadata", "name", write->name,
			    "namespace", write->ns, "deleteOptions",
			    neap_client_delete_options(uid, grace_s)));
}

/* Annotations with null, which a binding cannot take away: they go first, by a patch. */
static bool has_nulls(const json_t *notes)
{
	const json_t *value;
	const char *key;

	json_object_foreach ((json_t *)(uintptr_t)notes, key, value)
		if (json_is_null(value))
			return true;
	return false;
}

/* Those with a value, or those without. A new reference; NULL without memory. */
static json_t *pick(const json_t *notes, bool is_null)
{
	json_t *picked = json_object(), *value;
	const char *key;

	json_object_foreach ((json_t *)(uintptr_t)notes, key, value)
		if (json_is_null(value) == is_null &&
		    json_object_set(picked, key, value) < 0) {
			json_decref(picked);
			return NULL;
		}
	return picked;
}

void remote_bind(struct neap_client *client, const struct neap_client_ask *ask,
		 const struct neap_client_binding *binding)
{
	bool goes_first = has_nulls(binding->annotations);
	struct remote_write *write = begin(client, goes_first ? PATCH : BIND, ask,
					   goes_first ? "" : "/binding");
	json_t *body, *patch;

	if (write == NULL)
		return;
	(void)neap_strcopy(write->node, sizeof(write->node), binding->node);
	write->notes = pick(binding->annotations, false);
	body = json_pack("{s:s, s:s, s:{s:s, s:s, s:s*, s:s*, s:O}, s:{s:s, s:s, s:s}}",
			 "apiVersion", "v1", "kind", "Binding", "metadata", "name",
			 write->name, "namespace", write->ns, "uid", binding->uid,
			 "resourceVersion", goes_first ? NULL : binding->version,
			 "annotations", write->notes, "target", "apiVersion", "v1",
			 "kind", "Node", "name", binding->node);
	if (!goes_first || body == NULL) {
		send_take(write, "POST", "application/json", body);
		return;
	}
	write->binding = body;
	write->has_version = true;
	patch = json_pack("{s:{s:s*, s:s*, s:o}}", "metadata", "uid", binding->uid,
			  "resourceVersion", binding->version, "annotations",
			  pick(binding->annotations, true));
	write->body = patch ? neap_json_dump(patch, JSON_COMPACT) : NULL;
	json_decref(patch);
	send_patch(write);
}

void remote_writes_end(struct neap_remote *remote)
{
	struct remote_write *write;

	while ((write = TAILQ_FIRST(&remote->writes)) != NULL)
		tell_failure(write, NEAP_CLIENT_UNAVAILABLE, 503, true,
			     "neapd is ending");
}
