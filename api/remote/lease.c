/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of client-go's leader election. Times in the Lease are never compared with a
 * local clock: what counts is when this process saw the Lease change. A renewal counts
 * from its request, so that this process gives up before another one may begin. */
#include "api/remote/lease.h"

#include <event2/event.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/remote/kinds.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "engine/log/log.h"

#define TIME_BYTES    32
#define WHY_BYTES     512
#define RELEASE_TRIES 5
#define VERSION_BYTES 64

struct neap_lease {
	struct neap_lease_config config;
	char *ns, *name, *identity, *manager, *path;
	struct event *timer;    /* the next try */
	struct event *deadline; /* of a leader's renewal */
	struct neap_transfer *transfer;
	unsigned seed;
	json_t *record; /* as it was seen last; NULL: never, or there is none */
	char version[VERSION_BYTES]; /* the newest that was seen */
	int64_t seen_usec;           /* when this record was seen first */
	int64_t asked_usec;          /* when the request under way was made */
	int64_t renewed_usec; /* when the last renewal that came about was asked for */
	bool is_leading;
	bool is_behind;     /* the server once knew less than before */
	bool is_optimistic; /* the renewal under way goes by what was seen last */
	int release_tries;
	void (*released)(void *arg);
	void *released_arg;
};

static int64_t now_of(const struct neap_lease *lease)
{
	return lease->config.steady();
}

static const char *spec_text(const struct neap_lease *lease, const char *name)
{
	const char *text = neap_json_text(json_object_get(lease->record, "spec"), name);

	return text != NULL ? text : "";
}

const char *neap_lease_holder(const struct neap_lease *lease)
{
	return spec_text(lease, "holderIdentity");
}

static bool is_mine(const struct neap_lease *lease)
{
	return strcmp(neap_lease_holder(lease), lease->identity) == 0;
}

bool neap_lease_is_held(const struct neap_lease *lease)
{
	return lease->is_leading &&
	       now_of(lease) - lease->renewed_usec < lease->config.renew_usec;
}

static void set_timer(struct event *timer, int64_t usec)
{
	const struct timeval after = {.tv_sec = usec / 1000000,
				      .tv_usec = usec % 1000000};

	(void)event_add(timer, &after);
}

/* Followers spread: a retry_usec times 1 to 2.2. */
static void later(struct neap_lease *lease)
{
	int64_t usec = lease->config.retry_usec;

	if (!lease->is_leading)
		usec += rand_r(&lease->seed) % (usec * 12 / 10 + 1);
	set_timer(lease->timer, usec);
}

/* --- who leads --- */

static void lose(struct neap_lease *lease, const char *why)
{
	if (!lease->is_leading)
		return;
	lease->is_leading = false;
	(void)event_del(lease->deadline);
	neap_log_line(lease->config.log, NEAP_LOG_WARN, "lease %s/%s: lost: %s",
		      lease->ns, lease->name, why);
	lease->config.ended(lease->config.arg, why);
}

static void lead(struct neap_lease *lease)
{
	int64_t left;

	lease->renewed_usec = lease->asked_usec;
	left = lease->renewed_usec + lease->config.renew_usec - now_of(lease);
	if (left <= 0) {
		lose(lease, "the renewal took too long");
		return;
	}
	set_timer(lease->deadline, left);
	if (lease->is_leading)
		return;
	lease->is_leading = true;
	neap_log_line(lease->config.log, NEAP_LOG_INFO, "lease %s/%s: %s leads",
		      lease->ns, lease->name, lease->identity);
	lease->config.began(lease->config.arg);
}

static void over(evutil_socket_t fd, short what, void *arg)
{
	struct neap_lease *lease = arg;

	(void)fd;
	(void)what;
	if (lease->is_leading && !neap_lease_is_held(lease))
		lose(lease, "it could not be renewed in time");
	else if (lease->is_leading)
		set_timer(lease->deadline,
			  lease->renewed_usec + lease->config.renew_usec - now_of(lease));
}

/* --- the record --- */

/* Takes record. What says the same again was not renewed meanwhile. */
static void see_take(struct neap_lease *lease, json_t *record)
{
	if (lease->record == NULL || !json_equal(json_object_get(lease->record, "spec"),
						 json_object_get(record, "spec")))
		lease->seen_usec = now_of(lease);
	json_decref(lease->record);
	lease->record = record;
}

/* A server that was set back to an older state has forgotten what was written, and its
 * versions soon grow past what was seen. Whoever saw more does not lead there again. */
static bool is_recent(struct neap_lease *lease, const json_t *record)
{
	const char *version =
		neap_json_text(json_object_get(record, "metadata"), "resourceVersion");

	if (version == NULL || *version == '\0' || strlen(version) >= VERSION_BYTES)
		return true;
	lease->is_behind |= neap_remote_version_compare(version, lease->version) < 0;
	if (!lease->is_behind) {
		(void)neap_strcopy(lease->version, VERSION_BYTES, version);
		return true;
	}
	lose(lease, NEAP_REMOTE_OLDER);
	neap_log_from(lease->config.log, "lease", NEAP_LOG_WARN,
		      "lease %s/%s: " NEAP_REMOTE_OLDER, lease->ns, lease->name);
	return false;
}

static bool is_taken(const struct neap_lease *lease)
{
	const json_t *spec = json_object_get(lease->record, "spec");
	int64_t seconds = (int64_t)json_integer_value(
		json_object_get(spec, "leaseDurationSeconds"));

	/* A duration beyond reason counts as the longest one. */
	seconds = seconds < 0 ? 0 : seconds > 86400 ? 86400 : seconds;
	return *neap_lease_holder(lease) != '\0' && !is_mine(lease) &&
	       now_of(lease) - lease->seen_usec < seconds * 1000000;
}

/* Rounded up: nobody may take it earlier than this process believes. */
static int64_t duration_s(const struct neap_lease *lease)
{
	return (lease->config.duration_usec + 999999) / 1000000;
}

/* The spec as this process wants it; NULL without memory. */
static json_t *make_spec(const struct neap_lease *lease)
{
	json_t *spec = neap_json_deep_copy(json_object_get(lease->record, "spec"));
	json_int_t transitions =
		json_integer_value(json_object_get(spec, "leaseTransitions"));
	char now[TIME_BYTES];

	if (spec == NULL)
		spec = json_object();
	(void)neap_time_format(neap_clock_unix(), 6, now, sizeof(now));
	if (!is_mine(lease)) {
		neap_json_set_text(spec, "acquireTime", now);
		if (lease->record != NULL)
			transitions++;
	}
	neap_json_set_text(spec, "holderIdentity", lease->identity);
	neap_json_set_text(spec, "renewTime", now);
	neap_json_set_int(spec, "leaseDurationSeconds", duration_s(lease));
	neap_json_set_int(spec, "leaseTransitions", (int64_t)transitions);
	return spec;
}

/* The whole object to be written; spec is taken. */
static char *make_body(const struct neap_lease *lease, json_t *spec)
{
	json_t *object = lease->record != NULL
				 ? neap_json_deep_copy(lease->record)
				 : json_pack("{s:{s:s, s:s}}", "metadata", "name",
					     lease->name, "namespace", lease->ns);
	char *body;

	neap_json_set_text(object, "apiVersion", "coordination.k8s.io/v1");
	neap_json_set_text(object, "kind", "Lease");
	if (object == NULL || json_object_set_new(object, "spec", spec) < 0) {
		json_decref(object);
		return NULL;
	}
	body = neap_json_dump(object, JSON_COMPACT);
	json_decref(object);
	return body;
}

/* --- requests --- */

static void look(struct neap_lease *lease);

static bool ask(struct neap_lease *lease, const char *method, char *body, bool has_name,
		void (*done)(void *arg, const struct neap_transport_answer *answer))
{
	neap_auto_free char *path = neap_asprintf(
		"%s%s%s?timeout=5s&fieldManager=%s", lease->path, has_name ? "/" : "",
		has_name ? lease->name : "", lease->manager);
	struct neap_transport_ask request = {.method = method,
					     .path = path,
					     .content_type =
						     body ? "application/json" : NULL,
					     .body = body,
					     .len = body ? strlen(body) : 0,
					     .rank = NEAP_TRANSPORT_VITAL,
					     .timeout_usec = lease->config.renew_usec,
					     .is_impatient = true,
					     .done = done,
					     .arg = lease};
	struct neap_error err;

	lease->asked_usec = now_of(lease);
	if (path == NULL) {
		free(body);
		return false;
	}
	return neap_transport_ask_take(lease->config.transport, &request,
				       &lease->transfer, &err) == 0;
}

static void failed(struct neap_lease *lease, const char *doing,
		   const struct neap_transport_answer *answer)
{
	char why[WHY_BYTES];

	neap_log_from(lease->config.log, "lease", NEAP_LOG_WARN, "lease %s/%s: %s it: %s",
		      lease->ns, lease->name, doing,
		      neap_remote_why(answer, why, sizeof(why)));
	later(lease);
}

static void wrote(void *arg, const struct neap_transport_answer *answer)
{
	struct neap_lease *lease = arg;
	struct neap_error err;
	json_t *record;

	lease->transfer = NULL;
	if ((answer->status == 200 || answer->status == 201) &&
	    neap_remote_parse(answer->body, answer->len, &record, &err) == 0) {
		if (is_recent(lease, record)) {
			see_take(lease, json_incref(record));
			lead(lease);
		}
		json_decref(record);
		later(lease);
	} else if (lease->is_optimistic) {
		look(lease); /* somebody else has changed it, perhaps */
	} else if (answer->status == 409) {
		lose(lease, "somebody else took it");
		later(lease);
	} else {
		failed(lease, "renewing", answer);
	}
}

static void write_it(struct neap_lease *lease, bool is_optimistic)
{
	char *body = make_body(lease, make_spec(lease));
	bool is_new = lease->record == NULL;

	lease->is_optimistic = is_optimistic;
	if (body == NULL || !ask(lease, is_new ? "POST" : "PUT", body, !is_new, wrote))
		later(lease);
}

static void looked(void *arg, const struct neap_transport_answer *answer)
{
	struct neap_lease *lease = arg;
	struct neap_error err;
	json_t *record = NULL;

	lease->transfer = NULL;
	if (answer->status == 404) {
		json_decref(lease->record);
		lease->record = NULL;
		write_it(lease, false);
		return;
	}
	if (answer->status != 200 ||
	    neap_remote_parse(answer->body, answer->len, &record, &err) < 0) {
		failed(lease, "reading", answer);
		return;
	}
	if (!is_recent(lease, record)) {
		json_decref(record);
		later(lease);
		return;
	}
	see_take(lease, record);
	/* A coordinator of newer servers prefers somebody else: politely, it goes. */
	if (*spec_text(lease, "preferredHolder") != '\0' &&
	    strcmp(spec_text(lease, "preferredHolder"), lease->identity) != 0) {
		lose(lease, "the server prefers another holder");
		later(lease);
	} else if (is_taken(lease)) {
		lose(lease, "somebody else holds it");
		later(lease);
	} else {
		write_it(lease, false);
	}
}

static void look(struct neap_lease *lease)
{
	if (!ask(lease, "GET", NULL, true, looked))
		later(lease);
}

static void due(evutil_socket_t fd, short what, void *arg)
{
	struct neap_lease *lease = arg;

	(void)fd;
	(void)what;
	/* While it is surely held, no look is needed. */
	if (neap_lease_is_held(lease) && is_mine(lease))
		write_it(lease, true);
	else
		look(lease);
}

/* --- release --- */

static void free_it(struct neap_lease *lease);

static void freed(void *arg, const struct neap_transport_answer *answer)
{
	struct neap_lease *lease = arg;

	lease->transfer = NULL;
	/* A renewal that was on its way came about. Otherwise it runs out by itself. */
	if (answer->status == 409 && ++lease->release_tries < RELEASE_TRIES)
		free_it(lease);
	else
		lease->released(lease->released_arg);
}

static void looked_to_free(void *arg, const struct neap_transport_answer *answer)
{
	struct neap_lease *lease = arg;
	char now[TIME_BYTES], *body = NULL;
	struct neap_error err;
	json_t *record, *spec;

	lease->transfer = NULL;
	if (answer->status == 200 &&
	    neap_remote_parse(answer->body, answer->len, &record, &err) == 0) {
		see_take(lease, record);
		spec = is_mine(lease) ? make_spec(lease) : NULL;
		(void)neap_time_format(neap_clock_unix(), 6, now, sizeof(now));
		(void)json_object_set_new(spec, "holderIdentity", json_string(""));
		neap_json_set_text(spec, "acquireTime", now);
		neap_json_set_int(spec, "leaseDurationSeconds", 1);
		body = spec ? make_body(lease, spec) : NULL;
	}
	if (body == NULL || !ask(lease, "PUT", body, true, freed))
		lease->released(lease->released_arg);
}

static void free_it(struct neap_lease *lease)
{
	if (!ask(lease, "GET", NULL, true, looked_to_free))
		lease->released(lease->released_arg);
}

void neap_lease_release(struct neap_lease *lease, void (*done)(void *arg), void *arg)
{
	bool is_held = neap_lease_is_held(lease);

	neap_transfer_cancel(lease->transfer);
	lease->transfer = NULL;
	lease->is_leading = false;
	(void)event_del(lease->timer);
	(void)event_del(lease->deadline);
	lease->released = done;
	lease->released_arg = arg;
	if (is_held)
		free_it(lease);
	else
		done(arg);
}

/* --- its life --- */

static int check(const struct neap_lease_config *config, struct neap_error *err)
{
	if (config->duration_usec <= config->renew_usec)
		return neap_error_set(err, NEAP_EINVAL,
				      "the duration of a Lease must be longer than the "
				      "time to renew it");
	if (config->renew_usec * 10 <= config->retry_usec * 12)
		return neap_error_set(err, NEAP_EINVAL,
				      "the time to renew a Lease must be longer than 1.2 "
				      "pauses between tries");
	return config->retry_usec > 0
		       ? 0
		       : neap_error_set(err, NEAP_EINVAL,
					"the pause between tries must be above zero");
}

/* Goes on while the machine sleeps: others count then, too. */
static int64_t counting(void)
{
	return neap_clock_usec(CLOCK_BOOTTIME);
}

int neap_lease_new(const struct neap_lease_config *config, struct neap_lease **ret,
		   struct neap_error *err)
{
	struct neap_lease *lease;

	if (check(config, err) < 0)
		return -(int)err->code;
	lease = neap_alloc(sizeof(*lease));
	if (lease == NULL)
		return neap_error_nomem(err);
	lease->config = *config;
	if (config->steady == NULL)
		lease->config.steady = counting;
	lease->seed = (unsigned)neap_clock_steady();
	lease->ns = neap_strdup(config->ns);
	lease->name = neap_strdup(config->name);
	lease->identity = neap_strdup(config->identity);
	lease->manager = neap_strdup(config->manager);
	lease->path = neap_asprintf("/apis/coordination.k8s.io/v1/namespaces/%s/leases",
				    config->ns);
	lease->timer = event_new(config->base, -1, 0, due, lease);
	lease->deadline = event_new(config->base, -1, 0, over, lease);
	if (lease->ns == NULL || lease->name == NULL || lease->identity == NULL ||
	    lease->manager == NULL || lease->path == NULL || lease->timer == NULL ||
	    lease->deadline == NULL) {
		neap_lease_free(lease);
		return neap_error_nomem(err);
	}
	set_timer(lease->timer, 0);
	*ret = lease;
	return 0;
}

void neap_lease_free(struct neap_lease *lease)
{
	if (lease == NULL)
		return;
	neap_transfer_cancel(lease->transfer);
	if (lease->timer != NULL)
		event_free(lease->timer);
	if (lease->deadline != NULL)
		event_free(lease->deadline);
	json_decref(lease->record);
	free(lease->ns);
	free(lease->name);
	free(lease->identity);
	free(lease->manager);
	free(lease->path);
	free(lease);
}
