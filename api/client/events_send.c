/* SPDX-License-Identifier: Apache-2.0 */
#include "api/client/events_send.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "engine/base/mem.h"

#define UNDER_WAY_MAX 1000
#define TRIES_MAX     12
#define PAUSE_USEC    ((int64_t)10 * 1000000)

/* An event that was not answered yet, or waits to be sent again. There is one of a name:
 * two that are under way could arrive in either order, and a count would be lost. */
struct sending {
	TAILQ_ENTRY(sending) link; /* of outbox->waiting or outbox->asked */
	struct event_outbox *outbox;
	json_t *event, *changes; /* changes NULL: it was told for the first time */
	bool is_gone;            /* the server has no event to change */
	/* told while it was under way; later_event NULL: nothing */
	json_t *later_event, *later_changes;
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME];
	int tries;
	int64_t due; /* Unix microseconds */
};

TAILQ_HEAD(sendings, sending);

static void replace(json_t **event, json_t **changes, json_t *new_event,
		    json_t *new_changes)
{
	json_decref(*event);
	json_decref(*changes);
	*event = new_event;
	*changes = new_changes;
}

/* Lives until the last answer, which may come after its client has ended. */
struct event_outbox {
	struct neap_client *client; /* NULL: it has ended */
	size_t under_way;
	struct sendings waiting, asked;
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
	TAILQ_INIT(&outbox->asked);
	return outbox;
}

/* It is in no list any more. */
static void sending_free(struct sending *sending)
{
	struct event_outbox *outbox = sending->outbox;

	replace(&sending->event, &sending->changes, NULL, NULL);
	replace(&sending->later_event, &sending->later_changes, NULL, NULL);
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
	if (sending->changes && !sending->is_gone)
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
	TAILQ_REMOVE(&outbox->asked, sending, link);
	TAILQ_INSERT_TAIL(&outbox->waiting, sending, link);
	wake(outbox);
}

/* Returns whether more was told while it was under way, which it has now. */
static bool take_later(struct sending *sending)
{
	if (!sending->later_event)
		return false;
	replace(&sending->event, &sending->changes, neap_steal(sending->later_event),
		neap_steal(sending->later_changes));
	sending->is_gone = false;
	return true;
}

/* What a server says is final. */
static void sent(void *arg, struct neap_object *object,
		 const struct neap_client_failure *failure)
{
	struct sending *sending = arg;
	const struct neap_client *client = sending->outbox->client;
	bool was_made = !sending->changes || sending->is_gone;
	enum neap_client_reason no_use =
		was_made ? NEAP_CLIENT_ALREADY_EXISTS : NEAP_CLIENT_NOT_FOUND;
	bool has_later = client && take_later(sending);

	(void)object;
	/* It expired or was deleted; or the server did late what it had not answered. */
	if (client && failure && failure->reason == no_use && sending->changes &&
	    sending->tries <= TRIES_MAX) {
		sending->is_gone = !was_made;
		sending->tries -= !was_made; /* the same try */
		send_event(sending);
	} else if (client && failure && failure->is_unanswered && client->wake_after &&
		   sending->tries < TRIES_MAX) {
		wait_for_server(sending);
	} else if (has_later) {
		sending->tries = 0;
		send_event(sending);
	} else {
		TAILQ_REMOVE(&sending->outbox->asked, sending, link);
		sending_free(sending);
	}
}

static struct sending *find(const struct sendings *list, const char *ns, const char *name)
{
	struct sending *sending;

	TAILQ_FOREACH(sending, list, link)
	if (strcmp(sending->name, name) == 0 && strcmp(sending->ns, ns) == 0)
		return sending;
	return NULL;
}

/* Returns whether an event of that name is on its way, which has taken both. */
static bool joins(struct event_outbox *outbox, const char *ns, const char *name,
		  json_t *event, json_t *changes)
{
	struct sending *asked = find(&outbox->asked, ns, name);
	struct sending *waiting = asked ? NULL : find(&outbox->waiting, ns, name);

	if (asked)
		replace(&asked->later_event, &asked->later_changes, event, changes);
	else if (waiting)
		replace(&waiting->event, &waiting->changes, event, changes);
	if (waiting)
		waiting->is_gone = false;
	return asked || waiting;
}

void event_outbox_send_take(struct event_outbox *outbox, const char *ns, const char *name,
			    json_t *event, json_t *changes)
{
	/* The embedded server takes them at once, and in order. */
	bool is_remote = outbox->client->wake_after != NULL;
	bool is_full = is_remote && outbox->under_way >= UNDER_WAY_MAX;
	struct sending *sending;

	if (is_remote && event && joins(outbox, ns, name, event, changes))
		return;
	sending = event && !is_full ? neap_alloc(sizeof(*sending)) : NULL;
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
	TAILQ_INSERT_TAIL(&outbox->asked, sending, link);
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
		TAILQ_INSERT_TAIL(&outbox->asked, sending, link);
		send_event(sending);
	}
	wake(outbox);
}
