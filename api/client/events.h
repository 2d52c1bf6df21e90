/* SPDX-License-Identifier: Apache-2.0
 *
 * Events that neapd itself tells: what "kubectl describe" shows at its end. The same
 * event about the same object again raises the count of the first instead of making
 * another, as client-go does; who tells too much about one object is slowed down (25 at
 * once, then one in 5 minutes, as there). */
#ifndef NEAP_API_CLIENT_EVENTS_H
#define NEAP_API_CLIENT_EVENTS_H

#include "api/client/client.h"

struct neap_client_note {
	const char *api_version, *kind; /* of what it is about: "v1", "Pod" */
	const char *ns, *name, *uid;    /* ns "" for one of the whole cluster */
	const char *field_path;         /* "spec.containers{main}"; NULL: none */
	bool is_warning;                /* else Normal */
	const char *reason;             /* "FailedScheduling" */
	const char *component; /* "neap-scheduler", "kubelet", "deployment-controller" */
	const char *host;      /* of the component; NULL: none */
};

/* fmt: the message, cut at 1 KiB. Nothing is told of what goes wrong: an event is never
 * worth a failure. */
void neap_client_note(struct neap_client *client, const struct neap_client_note *note,
		      const char *fmt, ...) NEAP_PRINTF(3, 4);

#endif
