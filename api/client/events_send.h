/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends events to the server, again if there is no answer, as client-go does. Used only
 * by events.c. */
#ifndef NEAP_API_CLIENT_EVENTS_SEND_H
#define NEAP_API_CLIENT_EVENTS_SEND_H

#include "api/client/client_ops.h"

struct event_outbox;

/* NULL without memory. client is borrowed. */
struct event_outbox *event_outbox_new(struct neap_client *client);
/* Pending events are dropped. NULL is fine. */
void event_outbox_end(struct event_outbox *outbox);
/* Sends a new event (changes NULL), or the changes of one that is counted up; if the
 * event is gone, it is created again. While one of that name is on its way to another
 * server, the newest of both takes its place once it is answered. Takes both; event NULL:
 * no memory, and nothing is sent. */
void event_outbox_send_take(struct event_outbox *outbox, const char *ns, const char *name,
			    json_t *event, json_t *changes);
/* Sends again what is due. */
void event_outbox_due(struct event_outbox *outbox);

#endif
