/* SPDX-License-Identifier: Apache-2.0
 *
 * Backup and restore over HTTP, for admins, a piece at a time, so that neither side waits for the other and
 * the daemon needs no right to the file: POST /control/v1/store/backups, then GET
 * /control/v1/store/backups/{id}?at=BYTES until a piece is empty; POST /control/v1/store/restores, then POST
 * .../{id}/data?at=BYTES for each piece, then .../{id}/commit. DELETE ends either. One of each at a time; one
 * that is left alone for NEAP_CONTROL_STORE_IDLE_S goes. */
#ifndef NEAP_API_CONTROL_STORE_H
#define NEAP_API_CONTROL_STORE_H

#include "api/http/server.h"
#include "api/store/store.h"

#define NEAP_CONTROL_STORE_IDLE_S 60
/* What a GET gives, but for the rest of a line. */
#define NEAP_CONTROL_STORE_PIECE ((size_t)256 * 1024)

struct neap_control_store;

/* say: a line for the log. */
int neap_control_store_new(struct neap_http *http, struct neap_store *store,
			   void (*say)(void *arg, bool is_problem, const char *text),
			   void *arg, struct neap_control_store **ret,
			   struct neap_error *err);
/* To be called now and then: forgets what was left alone. */
void neap_control_store_tick(struct neap_control_store *control, int64_t mono_usec);
/* Forgets what is under way, but for a restore that is being committed. Before the store goes; NULL is fine. */
void neap_control_store_stop(struct neap_control_store *control);
/* After the server and the store. NULL is fine. */
void neap_control_store_free(struct neap_control_store *control);

#endif
