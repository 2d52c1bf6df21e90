/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/client_rough.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"

struct rough {
	struct neap_client client;
	struct client_rough_config config;
	struct client_rough_counts counts;
	uint64_t random;
	int on_their_way, watches;
};

enum verb { CREATE, UPDATE, PATCH, DELETE, EVICT, BIND };
enum fate { DONE, REFUSED, LOST, CONFLICT };

/* One write, from the ask to the answer. */
struct flight {
	struct rough *rough;
	enum verb verb;
	enum fate fate;
	char *resource, *ns, *name, *uid, *node, *version;
	json_t *json; /* object, patch or annotations */
	bool is_status, is_told;
	int64_t grace_s;
	neap_client_told *told;
	void *arg;
	struct event *timer;
	/* The answer. */
	struct neap_object *object;
	struct neap_client_failure failure;
	char message[1024];
};

struct rough_watch {
	struct neap_client_watch watch;
	struct neap_client_watch *under;
	void (*ready)(void *arg);
	void *arg;
	struct event *timer;
	bool is_gone;
};

static struct rough *rough_of(const struct neap_client *client)
{
	return (struct rough *)client;
}

static uint64_t draw(struct rough *rough)
{
	rough->random ^= rough->random << 13;
	rough->random ^= rough->random >> 7;
	rough->random ^= rough->random << 17;
	return rough->random;
}

/* So many times in a thousand. */
static bool is_drawn(struct rough *rough, int times)
{
	return (int)(draw(rough) % 1000) < times;
}

static void later(struct rough *rough, struct event *timer)
{
	int64_t usec =
		(int64_t)(draw(rough) % (1000U * (unsigned)rough->config.delay_ms + 1));
	const struct timeval after = {.tv_usec = usec};

	assert_int_equal(event_add(timer, &after), 0);
}

/* --- reading --- */

static int64_t rough_version(const struct neap_client *client)
{
	return neap_client_version(rough_of(client)->config.under);
}

static struct neap_object *rough_find(struct neap_client *client, const char *resource,
				      const char *ns, const char *name)
{
	return neap_client_find(rough_of(client)->config.under, resource, ns, name);
}

/* A write that is late is not accepted yet. */
static struct neap_object *rough_newest(struct neap_client *client, const char *resource,
					const char *ns, const char *name)
{
	return neap_client_newest(rough_of(client)->config.under, resource, ns, name);
}

static size_t rough_count(struct neap_client *client, const char *resource)
{
	return neap_client_count(rough_of(client)->config.under, resource);
}

static int rough_list(struct neap_client *client, const char *resource, const char *ns,
		      struct neap_client_place *place,
		      bool (*take)(void *arg, struct neap_object *object), void *arg,
		      struct neap_error *err)
{
	return neap_client_list(rough_of(client)->config.under, resource, ns, place, take,
				arg, err);
}

/* --- watching --- */

static void watch_is_ready(void *arg)
{
	struct rough_watch *watch = arg;

	later(rough_of(watch->watch.client), watch->timer);
}

static void watch_tells(evutil_socket_t fd, short what, void *arg)
{
	struct rough_watch *watch = arg;

	(void)fd;
	(void)what;
	watch->ready(watch->arg);
}

static int rough_watch_new(struct neap_client *client, const char *resource,
			   int64_t version, void (*ready)(void *arg), void *arg,
			   struct neap_client_watch **ret, struct neap_error *err)
{
	struct rough *rough = rough_of(client);
	struct rough_watch *watch = neap_alloc(sizeof(*watch));
	int rc;

	assert_non_null(watch);
	watch->watch.client = client;
	watch->ready = ready;
	watch->arg = arg;
	rc = neap_client_watch_new(rough->config.under, resource, version, watch_is_ready,
				   watch, &watch->under, err);
	if (rc < 0) {
		free(watch);
		return rc;
	}
	watch->timer = event_new(rough->config.base, -1, 0, watch_tells, watch);
	assert_non_null(watch->timer);
	rough->watches++;
	*ret = &watch->watch;
	return rc;
}

static int rough_watch_next(struct neap_client_watch *client_watch,
			    const struct neap_client_event **ret, struct neap_error *err)
{
	struct rough_watch *watch = (struct rough_watch *)client_watch;
	struct rough *rough = rough_of(client_watch->client);

	if (!watch->is_gone && is_drawn(rough, rough->config.gone)) {
		watch->is_gone = true;
		rough->counts.gone++;
	}
	if (watch->is_gone)
		return neap_error_set(err, NEAP_EGONE, "the watch was too slow");
	if (rough->config.gone && is_drawn(rough, 100)) { /* the rest is late */
		later(rough, watch->timer);
		return 0;
	}
	return neap_client_watch_next(watch->under, ret, err);
}

static void rough_watch_free(struct neap_client_watch *client_watch)
{
	struct rough_watch *watch = (struct rough_watch *)client_watch;

	rough_of(client_watch->client)->watches--;
	neap_client_watch_free(watch->under);
	event_free(watch->timer);
	free(watch);
}

/* --- writing --- */

static char *dup_text(const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	assert_true((copy == NULL) == (text == NULL));
	return copy;
}

static void flight_free(struct flight *flight)
{
	flight->rough->on_their_way--;
	event_free(flight->timer);
	free(flight->resource);
	free(flight->ns);
	free(flight->name);
	free(flight->uid);
	free(flight->node);
	free(flight->version);
	json_decref(flight->json);
	(void)neap_object_unref(flight->object);
	free(flight);
}

static void answer(struct flight *flight)
{
	flight->failure.message = flight->message;
	if (flight->told)
		flight->told(flight->arg, flight->object,
			     flight->object ? NULL : &flight->failure);
	flight_free(flight);
}

static void set_failure(struct flight *flight, enum neap_client_reason reason, int code,
			const char *message)
{
	flight->failure = (struct neap_client_failure){.reason = reason, .code = code};
	(void)neap_strcopy(flight->message, sizeof(flight->message), message);
}

static void answered(void *arg, struct neap_object *object,
		     const struct neap_client_failure *failure)
{
	struct flight *flight = arg;

	flight->is_told = true;
	if (flight->fate == LOST) {
		set_failure(flight, NEAP_CLIENT_TIMEOUT, 504, "the answer was lost");
		flight->failure.is_unknown = true;
	} else if (object) {
		flight->object = neap_object_ref(object);
	} else {
		flight->failure = *failure;
		(void)neap_strcopy(flight->message, sizeof(flight->message),
				   failure->message);
	}
	later(flight->rough, flight->timer);
}

static void pass_on(struct flight *flight)
{
	struct neap_client *under = flight->rough->config.under;
	const struct neap_client_ask ask = {.resource = flight->resource,
					    .ns = flight->ns,
					    .name = flight->name,
					    .told = answered,
					    .arg = flight};
	const struct neap_client_binding binding = {.node = flight->node,
						    .uid = flight->uid,
						    .version = flight->version,
						    .annotations = flight->json};

	switch (flight->verb) {
	case CREATE:
		neap_client_create_take(under, &ask, neap_steal(flight->json));
		break;
	case UPDATE:
		neap_client_update_take(under, &ask, flight->is_status,
					neap_steal(flight->json));
		break;
	case PATCH:
		neap_client_patch_take(under, &ask, flight->is_status,
				       neap_steal(flight->json));
		break;
	case DELETE:
		neap_client_delete(under, &ask, flight->uid, flight->grace_s);
		break;
	case EVICT:
		neap_client_evict(under, &ask, flight->uid, flight->grace_s);
		break;
	case BIND:
		neap_client_bind(under, &ask, &binding);
		break;
	}
}

static void flight_goes_on(evutil_socket_t fd, short what, void *arg)
{
	struct flight *flight = arg;

	(void)fd;
	(void)what;
	if (flight->is_told || flight->fate == REFUSED || flight->fate == CONFLICT)
		answer(flight);
	else
		pass_on(flight);
}

static enum fate draw_fate(struct rough *rough, enum verb verb, const char *resource)
{
	const struct client_rough_config *config = &rough->config;

	if (strcmp(resource, "events") == 0)
		return DONE;
	if (is_drawn(rough, config->refused)) {
		rough->counts.refused++;
		return REFUSED;
	}
	if (is_drawn(rough, config->lost)) {
		rough->counts.lost++;
		return LOST;
	}
	if (verb != CREATE && is_drawn(rough, config->conflicts)) {
		rough->counts.conflicts++;
		return CONFLICT;
	}
	return DONE;
}

static struct flight *begin(struct neap_client *client, enum verb verb,
			    const struct neap_client_ask *ask)
{
	struct rough *rough = rough_of(client);
	struct flight *flight = neap_alloc(sizeof(*flight));

	assert_non_null(flight);
	*flight = (struct flight){.rough = rough,
				  .verb = verb,
				  .fate = draw_fate(rough, verb, ask->resource),
				  .resource = dup_text(ask->resource),
				  .ns = dup_text(ask->ns),
				  .name = dup_text(ask->name),
				  .told = ask->told,
				  .arg = ask->arg};
	if (flight->fate == REFUSED)
		set_failure(flight, NEAP_CLIENT_UNAVAILABLE, 503,
			    "the server has no time");
	if (flight->fate == CONFLICT)
		set_failure(flight, NEAP_CLIENT_CONFLICT, 409, "somebody else was first");
	flight->timer = event_new(rough->config.base, -1, 0, flight_goes_on, flight);
	assert_non_null(flight->timer);
	rough->counts.writes++;
	rough->on_their_way++;
	later(rough, flight->timer);
	return flight;
}

static void rough_create_take(struct neap_client *client,
			      const struct neap_client_ask *ask, json_t *object)
{
	begin(client, CREATE, ask)->json = object;
}

static void rough_update_take(struct neap_client *client,
			      const struct neap_client_ask *ask, bool is_status,
			      json_t *object)
{
	struct flight *flight = begin(client, UPDATE, ask);

	flight->is_status = is_status;
	flight->json = object;
}

static void rough_patch_take(struct neap_client *client,
			     const struct neap_client_ask *ask, bool is_status,
			     json_t *patch)
{
	struct flight *flight = begin(client, PATCH, ask);

	flight->is_status = is_status;
	flight->json = patch;
}

static void rough_delete(struct neap_client *client, const struct neap_client_ask *ask,
			 const char *uid, int64_t grace_s)
{
	struct flight *flight = begin(client, DELETE, ask);

	flight->uid = dup_text(uid);
	flight->grace_s = grace_s;
}

static void rough_evict(struct neap_client *client, const struct neap_client_ask *ask,
			const char *uid, int64_t grace_s)
{
	struct flight *flight = begin(client, EVICT, ask);

	flight->uid = dup_text(uid);
	flight->grace_s = grace_s;
}

static void rough_bind(struct neap_client *client, const struct neap_client_ask *ask,
		       const struct neap_client_binding *binding)
{
	struct flight *flight = begin(client, BIND, ask);

	flight->uid = dup_text(binding->uid);
	flight->node = dup_text(binding->node);
	flight->version = dup_text(binding->version);
	flight->json = json_incref(binding->annotations);
}

static void rough_hold(struct neap_client *client, int step)
{
	if (step > 0)
		neap_client_hold(rough_of(client)->config.under);
	else
		neap_client_release(rough_of(client)->config.under);
}

static const struct neap_client_ops ops = {
	.version = rough_version,
	.find = rough_find,
	.newest = rough_newest,
	.count = rough_count,
	.list = rough_list,
	.watch_new = rough_watch_new,
	.watch_next = rough_watch_next,
	.watch_free = rough_watch_free,
	.create_take = rough_create_take,
	.update_take = rough_update_take,
	.patch_take = rough_patch_take,
	.delete = rough_delete,
	.evict = rough_evict,
	.bind = rough_bind,
	.hold = rough_hold,
};

/* --- life --- */

struct neap_client *client_rough_new(const struct client_rough_config *config)
{
	struct rough *rough = neap_alloc(sizeof(*rough));

	assert_non_null(rough);
	rough->client = (struct neap_client){.ops = &ops, .now = config->under->now};
	rough->config = *config;
	rough->random = config->seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	return &rough->client;
}

void client_rough_calm(struct neap_client *client)
{
	struct client_rough_config *config = &rough_of(client)->config;

	config->refused = config->lost = config->conflicts = config->gone = 0;
	config->delay_ms = 1;
}

struct client_rough_counts client_rough_counts(const struct neap_client *client)
{
	return rough_of(client)->counts;
}

void client_rough_free(struct neap_client *client)
{
	struct rough *rough = rough_of(client);

	while (rough->on_their_way)
		assert_int_equal(event_base_loop(rough->config.base, EVLOOP_ONCE), 0);
	assert_int_equal(rough->watches, 0);
	neap_client_done(client);
	free(rough);
}
