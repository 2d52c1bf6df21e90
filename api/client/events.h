/* SPDX-License-Identifier: Apache-2.0
 *
 * Events that neapd itself creates; "kubectl describe" shows them at its end. As in
 * client-go, the same event about the same object raises the count of the first one, and
 * events of one source and type about one object are limited: 25 at once, then one in 5
 * minutes. With another server, an event without an answer is sent again, 12 times in
 * all, 10 s apart; at most 1000 are pending, and more are dropped. */
#ifndef NEAP_API_CLIENT_EVENTS_H
#define NEAP_API_CLIENT_EVENTS_H

#include "api/client/client.h"

struct neap_client_note {
	const char *api_version, *kind; /* of the object it is about: "v1", "Pod" */
	const char *ns, *name, *uid;    /* ns "" for a cluster-scoped object */
	const char *field_path;         /* "spec.containers{main}"; NULL: none */
	bool is_warning;                /* else Normal */
	const char *reason;             /* "FailedScheduling" */
	const char *component; /* "neap-scheduler", "kubelet", "deployment-controller" */
	const char *host;      /* of the component; NULL: none */
};

/* Creates or counts an event. fmt: the message, cut at 1 KiB. Failures are ignored: an
 * event is never worth one. */
void neap_client_note(struct neap_client *client, const struct neap_client_note *note,
		      const char *fmt, ...) NEAP_PRINTF(3, 4);

#endif
