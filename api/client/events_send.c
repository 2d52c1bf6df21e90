/* SPDX-License-Identifier: Apache-2.0 */
#include "api/client/events_send.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "engine/base/mem.h"

#define UNDER_WAY_MAX 1000
#define TRIES_MAX     12
#define PAUSE_USEC    ((int64_t)10 * 1000000)

/* An event that was not answered yet, or waits to be sent again. */
struct sending {
	TAILQ_ENTRY(sending) link; /* while it waits */
	struct event_outbox *outbox;
	json_t *event, *changes; /* changes NULL: it is to be made */
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME];
	int tries;
	int64_t due; /* Unix microseconds */
};

TAILQ_HEAD(sendings, sending);

/* Lives until the last answer, which may come after its client has ended. */
struct event_outbox {
	struct neap_client *client; /* NULL: it has ended */
	size_t under_way;
	struct sendings waiting;
	unsigned seed;
};

struct event_outbox *event_outbox_new(struct neap_client *client)
{
	struct event_outbox *outbox = neap_alloc(sizeof(*outbox));

	if (!outbox)
		return NULL;
	outbox->client = client;
	outbox->seed = (unsigned)client->now();
	TAILQ_INIT(&outbox->waiting);
	return outbox;
}

static void sending_free(struct sending *sending)
{
	struct event_outbox *outbox = sending->outbox;

	json_decref(sending->event);
	json_decref(sending->changes);
	free(sending);
	outbox->under_way--;
	if (!outbox->client && outbox->under_way == 0)
		free(outbox);
}

void event_outbox_end(struct event_outbox *outbox)
{
	struct sending *sending;

	if (!outbox)
		return;
	outbox->under_way++; /* stays until here */
	outbox->client = NULL;
	while ((sending = TAILQ_FIRST(&outbox->waiting)) != NULL) {
		TAILQ_REMOVE(&outbox->waiting, sending, link);
		sending_free(sending);
	}
	if (--outbox->under_way == 0)
		free(outbox);
}

/* --- sending --- */

static void sent(void *arg, struct neap_object *object,
		 const struct neap_client_failure *failure);

static void send_event(struct sending *sending)
{
	struct neap_client *client = sending->outbox->client;
	const struct neap_client_ask ask = {.resource = "events",
					    .ns = sending->ns,
					    .name = sending->name,
					    .told = sent,
					    .arg = sending};

	sending->tries++;
	if (sending->changes)
		neap_client_patch_take(client, &ask, false,
				       json_incref(sending->changes));
	else
		neap_client_create_take(client, &ask, json_incref(sending->event));
}

static void wake(struct event_outbox *outbox)
{
	const struct sending *sending;
	int64_t first = INT64_MAX, now = outbox->client->now();

	TAILQ_FOREACH(sending, &outbox->waiting, link)
	first = sending->due < first ? sending->due : first;
	if (first != INT64_MAX)
		outbox->client->wake_after(outbox->client, first > now ? first - now : 0);
}

/* The first time after up to a pause: many may have failed together. */
static void wait_for_server(struct sending *sending)
{
	struct event_outbox *outbox = sending->outbox;
	int64_t pause = PAUSE_USEC;

	if (sending->tries == 1)
		pause = (int64_t)((double)rand_r(&outbox->seed) / RAND_MAX * PAUSE_USEC);
	sending->due = outbox->client->now() + pause;
	TAILQ_INSERT_TAIL(&outbox->waiting, sending, link);
	wake(outbox);
}

/* What a server says is final. */
static void sent(void *arg, struct neap_object *object,
		 const struct neap_client_failure *failure)
{
	struct sending *sending = arg;
	const struct neap_client *client = sending->outbox->client;

	(void)object;
	if (client && failure && failure->reason == NEAP_CLIENT_NOT_FOUND &&
	    sending->changes) {
		json_decref(neap_steal(sending->changes));
		sending->tries--; /* the same try */
		send_event(sending);
	} else if (client && failure && failure->is_unanswered && client->wake_after &&
		   sending->tries < TRIES_MAX) {
		wait_for_server(sending);
	} else {
		sending_free(sending);
	}
}

void event_outbox_send_take(struct event_outbox *outbox, const char *ns, const char *name,
			    json_t *event, json_t *changes)
{
	/* The embedded server takes them at once. */
	bool is_full = outbox->client->wake_after && outbox->under_way >= UNDER_WAY_MAX;
	struct sending *sending = event && !is_full ? neap_alloc(sizeof(*sending)) : NULL;

	if (!sending) {
		json_decref(event);
		json_decref(changes);
		return;
	}
	sending->outbox = outbox;
	sending->event = event;
	sending->changes = changes;
	(void)neap_strcopy(sending->ns, sizeof(sending->ns), ns);
	(void)neap_strcopy(sending->name, sizeof(sending->name), name);
	outbox->under_way++;
	send_event(sending);
}

void event_outbox_due(struct event_outbox *outbox)
{
	struct sending *sending, *next;
	struct sendings due = TAILQ_HEAD_INITIALIZER(due);
	int64_t now = outbox->client->now();

	/* A clock that was set back keeps none waiting for longer than a pause. */
	for (sending = TAILQ_FIRST(&outbox->waiting); sending; sending = next) {
		next = TAILQ_NEXT(sending, link);
		if (sending->due > now && sending->due <= now + PAUSE_USEC)
			continue;
		TAILQ_REMOVE(&outbox->waiting, sending, link);
		TAILQ_INSERT_TAIL(&due, sending, link);
	}
	while ((sending = TAILQ_FIRST(&due)) != NULL) {
		TAILQ_REMOVE(&due, sending, link);
		send_event(sending);
	}
	wake(outbox);
}
