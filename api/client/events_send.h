/* SPDX-License-Identifier: Apache-2.0
 *
 * How events get to the server: those without an answer are sent again, as client-go
 * does. For events.c alone. */
#ifndef NEAP_API_CLIENT_EVENTS_SEND_H
#define NEAP_API_CLIENT_EVENTS_SEND_H

#include "api/client/client_ops.h"

struct event_outbox;

/* NULL without memory. client is borrowed. */
struct event_outbox *event_outbox_new(struct neap_client *client);
/* Events under way are forgotten. NULL is fine. */
void event_outbox_end(struct event_outbox *outbox);
/* Sends event, or, when it is counted on, the changes of it; an event that is gone is
 * made again. Takes both; event NULL: no memory, and nothing is sent. changes NULL: it
 * is new. */
void event_outbox_send_take(struct event_outbox *outbox, const char *ns, const char *name,
			    json_t *event, json_t *changes);
/* Sends again what is due. */
void event_outbox_due(struct event_outbox *outbox);

#endif
