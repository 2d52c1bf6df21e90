/* SPDX-License-Identifier: Apache-2.0
 *
 * Backup and restore over HTTP, for admins, in pieces, so that neither side waits for the
 * other and the daemon needs no access to the file: POST /control/v1/store/backups, then
 * GET /control/v1/store/backups/{id}?at=BYTES until a piece is empty; POST
 * /control/v1/store/restores, then POST .../{id}/data?at=BYTES for each piece, then
 * .../{id}/commit. DELETE ends either. One of each at a time; one that is idle for
 * NEAP_CONTROL_STORE_IDLE_S is dropped. */
#ifndef NEAP_API_CONTROL_STORE_H
#define NEAP_API_CONTROL_STORE_H

#include "api/http/server.h"
#include "api/store/store.h"

#define NEAP_CONTROL_STORE_IDLE_S 60
/* Size of a GET's piece, extended to the end of its line. */
#define NEAP_CONTROL_STORE_PIECE ((size_t)256 * 1024)

struct neap_control_store;

/* say: receives a line for the log. */
int neap_control_store_new(struct neap_http *http, struct neap_store *store,
			   void (*say)(void *arg, bool is_problem, const char *text),
			   void *arg, struct neap_control_store **ret,
			   struct neap_error *err);
/* Call it periodically: drops idle transfers. */
void neap_control_store_tick(struct neap_control_store *control, int64_t mono_usec);
/* Drops transfers in progress, except a restore that is being committed. Call before the
 * store is freed; accepts NULL. */
void neap_control_store_stop(struct neap_control_store *control);
/* Call after the server and the store were freed. Accepts NULL. */
void neap_control_store_free(struct neap_control_store *control);

#endif
