/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests to the server of a kubeconfig, one after the other, for a program that waits
 * for each answer: neapctl. It connects and reads the files of the credentials by
 * itself; neapd's loop may do neither (hw/dialer). */
#ifndef NEAP_API_CTL_BASE_DIRECT_H
#define NEAP_API_CTL_BASE_DIRECT_H

#include <jansson.h>

#include "api/remote/kubeconfig.h"

struct neap_remote_direct;

/* Finds the server and reads what proves both sides, but does not connect. source is
 * borrowed for the call. Errors as of neap_remote_target_load, and of files that cannot
 * be read. */
int neap_remote_direct_new(const struct neap_remote_source *source,
			   struct neap_remote_direct **ret, struct neap_error *err);
/* NULL is fine. */
void neap_remote_direct_free(struct neap_remote_direct *direct);
/* "https://host:6443", borrowed. */
const char *neap_remote_direct_server(const struct neap_remote_direct *direct);

struct neap_remote_direct_ask {
	const char *method, *path; /* "/api/v1/pods?limit=500" */
	const char *type, *body;   /* media type and text; NULL: none */
};

/* Sends a request and waits for its answer, half a minute at most. *ret_status is 0
 * where there is none. *ret_json is a new reference, NULL when the answer is no JSON.
 * Returns 0 for status 200 to 299; else err has the server's message, with a code by its
 * status (NEAP_EINTERNAL for those without one). */
int neap_remote_direct_send(struct neap_remote_direct *direct,
			    const struct neap_remote_direct_ask *ask, int *ret_status,
			    json_t **ret_json, struct neap_error *err);

#endif
