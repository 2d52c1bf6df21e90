/* SPDX-License-Identifier: Apache-2.0 */
#include "api/remote/remote.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "api/remote/remote_priv.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/log/log.h"

/* For watches of loops that are slow. */
#define HISTORY_USEC  (300 * (int64_t)1000000)
#define HISTORY_BYTES ((size_t)64 * 1024 * 1024)
/* From this minor version of Kubernetes on a server streams its lists by default. */
#define WATCH_LIST_MINOR 32
#define ASK_USEC         32000000 /* as client-go's discovery */
#define AGAIN_USEC       2000000

struct neap_client *neap_remote_client(struct neap_remote *remote)
{
	return &remote->of.client;
}

bool neap_remote_is_filled(const struct neap_remote *remote)
{
	return remote->is_filled;
}

struct neap_reflector *remote_reflector(const struct neap_remote *remote,
					const char *resource)
{
	for (size_t i = 0; i < remote->config.resource_count; i++)
		if (remote->reflectors[i] != NULL &&
		    strcmp(remote->resources[i].resource, resource) == 0)
			return remote->reflectors[i];
	return NULL;
}

/* --- the mirror --- */

void remote_call(struct neap_remote *remote)
{
	event_active(remote->call, 0, 0);
}

static void call(evutil_socket_t fd, short what, void *arg)
{
	struct neap_remote *remote = arg;

	(void)fd;
	(void)what;
	if (neap_mirror_call(remote->of.store, neap_clock_steady()))
		remote_call(remote);
}

static void changed(void *arg)
{
	remote_call(arg);
}

static void synced(void *arg)
{
	struct neap_remote *remote = arg;

	remote->synced++;
	if (remote->synced < remote->config.resource_count || remote->is_filled)
		return;
	remote->is_filled = true;
	remote->config.filled(remote->config.arg);
}

static void hold(struct neap_client *client, int step)
{
	(void)client; /* requests go as they come */
	(void)step;
}

static void notes_due(evutil_socket_t fd, short what, void *arg)
{
	struct neap_remote *remote = arg;

	(void)fd;
	(void)what;
	neap_client_notes_due(&remote->of.client);
}

static void wake_after(struct neap_client *client, int64_t usec)
{
	struct neap_remote *remote = (struct neap_remote *)client;
	const struct timeval after = {.tv_sec = usec / 1000000,
				      .tv_usec = usec % 1000000};

	(void)event_add(remote->notes, &after);
}

/* --- the server --- */

static int reflect(struct neap_remote *remote, bool has_watch_list,
		   struct neap_error *err)
{
	for (size_t i = 0; i < remote->config.resource_count; i++) {
		const struct neap_remote_resource *read = &remote->resources[i];
		const struct neap_reflector_config config = {
			.base = remote->config.base,
			.transport = remote->config.transport,
			.mirror = remote->of.store,
			.kind = neap_remote_kind_find(read->resource),
			.ns = read->ns,
			.selector = read->selector,
			.has_watch_list = has_watch_list,
			.changed = changed,
			.synced = synced,
			.arg = remote,
			.log = remote->config.log,
		};

		if (remote->reflectors[i] == NULL &&
		    neap_reflector_new(&config, &remote->reflectors[i], err) < 0)
			return -(int)err->code;
	}
	return 0;
}

static void ask_again(struct neap_remote *remote)
{
	const struct timeval after = {.tv_sec = AGAIN_USEC / 1000000};

	(void)event_add(remote->again, &after);
}

/* "32", "20+". */
static long minor_of(const char *text)
{
	return text != NULL ? strtol(text, NULL, 10) : 0;
}

static void asked(void *arg, const struct neap_transport_answer *answer)
{
	struct neap_remote *remote = arg;
	struct neap_error err = {0};
	const char *version, *minor;
	json_t *json = NULL;
	char why[512];

	remote->asking = NULL;
	/* Whoever may not ask for it goes without. */
	if (answer->status != 403 && answer->status != 404 &&
	    (answer->status != 200 ||
	     neap_remote_parse(answer->body, answer->len, &json, &err) < 0)) {
		neap_log_from(remote->config.log, "api server", NEAP_LOG_WARN,
			      "api server: asking for its version: %s",
			      answer->status == 200
				      ? err.msg
				      : neap_remote_why(answer, why, sizeof(why)));
		ask_again(remote);
		return;
	}
	version = neap_json_text(json, "gitVersion");
	minor = neap_json_text(json, "minor");
	(void)neap_strcopy(remote->server, sizeof(remote->server),
			   version != NULL && *version != '\0' ? version
							       : "of an unknown version");
	neap_log_line(remote->config.log, NEAP_LOG_INFO, "api server: it is %s",
		      remote->server);
	if (reflect(remote, minor_of(minor) >= WATCH_LIST_MINOR, &err) < 0) {
		neap_log_from(remote->config.log, "api server", NEAP_LOG_ERROR,
			      "api server: %s", err.msg);
		ask_again(remote);
	}
	json_decref(json);
}

static void ask(struct neap_remote *remote)
{
	struct neap_transport_ask request = {.method = "GET",
					     .path = "/version",
					     .timeout_usec = ASK_USEC,
					     .done = asked,
					     .arg = remote};
	struct neap_error err;

	if (neap_transport_ask_take(remote->config.transport, &request, &remote->asking,
				    &err) < 0)
		ask_again(remote);
}

static void due(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	ask(arg);
}

/* --- its life --- */

static const struct neap_client_ops ops = {
	NEAP_STORE_READS,
	.scale = remote_scale,
	.create_take = remote_create_take,
	.update_take = remote_update_take,
	.patch_take = remote_patch_take,
	.delete = remote_delete,
	.evict = remote_evict,
	.bind = remote_bind,
	.hold = hold,
};

static int check(const struct neap_remote_config *config, struct neap_error *err)
{
	if (config->resource_count > REMOTE_RESOURCES_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "at most %d resources are read",
				      REMOTE_RESOURCES_MAX);
	for (size_t i = 0; i < config->resource_count; i++)
		if (neap_remote_kind_find(config->resources[i].resource) == NULL)
			return neap_error_set(err, NEAP_EINVAL,
					      "%s: neap reads no such resource",
					      config->resources[i].resource);
	return 0;
}

int neap_remote_new(const struct neap_remote_config *config, struct neap_remote **ret,
		    struct neap_error *err)
{
	struct neap_remote *remote = neap_alloc(sizeof(*remote));

	if (remote == NULL)
		return neap_error_nomem(err);
	TAILQ_INIT(&remote->writes);
	remote->config = *config;
	remote->of.client =
		(struct neap_client){.ops = &ops,
				     .now = config->now ? config->now : neap_clock_unix,
				     .wake_after = wake_after};
	if (check(config, err) < 0 ||
	    neap_mirror_new(HISTORY_USEC, HISTORY_BYTES, &remote->of.store, err) < 0) {
		free(remote);
		return -(int)err->code;
	}
	memcpy(remote->resources, config->resources,
	       config->resource_count * sizeof(*config->resources));
	remote->config.resources = remote->resources;
	remote->call = event_new(config->base, -1, 0, call, remote);
	remote->again = event_new(config->base, -1, 0, due, remote);
	remote->notes = event_new(config->base, -1, 0, notes_due, remote);
	if (remote->call == NULL || remote->again == NULL || remote->notes == NULL) {
		neap_remote_free(remote);
		return neap_error_nomem(err);
	}
	ask(remote);
	*ret = remote;
	return 0;
}

void neap_remote_free(struct neap_remote *remote)
{
	if (remote == NULL)
		return;
	remote_writes_end(remote);
	remote_scales_end(remote);
	neap_transfer_cancel(remote->asking);
	for (size_t i = 0; i < remote->config.resource_count; i++)
		neap_reflector_free(remote->reflectors[i]);
	if (remote->call != NULL)
		event_free(remote->call);
	if (remote->again != NULL)
		event_free(remote->again);
	if (remote->notes != NULL)
		event_free(remote->notes);
	neap_client_done(&remote->of.client);
	neap_store_free(remote->of.store);
	free(remote);
}
