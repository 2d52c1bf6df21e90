/* SPDX-License-Identifier: Apache-2.0
 *
 * The role api of a running neapd: objects in DATA_DIR/neap.db, served as a
 * kube-apiserver does. */
#ifndef NEAP_API_DAEMON_API_H
#define NEAP_API_DAEMON_API_H

#include "api/config/config.h"
#include "api/http/server.h"
#include "api/kube/loops/crd_loop.h"
#include "engine/log/log.h"

struct event_base;
struct neap_daemon_api;
struct neap_daemon_controllers;
struct neap_scheduler;
struct neap_decide_more;
struct neap_purse;
struct neap_reserve_matcher;
struct neap_kube;
struct neap_kube_registry;
struct neap_schedule_config;
struct neap_client;
struct neap_store;

/* All is borrowed for its life. */
struct neap_daemon_api_config {
	const struct neap_config *config;
	const struct neap_log *log;
	struct event_base *base;
	struct neap_http *http;
	const struct neap_kube_declared_folder *crds; /* for the start alone */
	const struct neap_decide_more *more; /* policies of the scheduler; NULL: none */
	const struct neap_reserve_matcher *matcher; /* ... about reservations */
	struct neap_purse *purse;                   /* the CPU time of both */
	struct neap_schedule_config *scheduling;    /* counted; NULL: without */
};

/* Opens the store, loads every object, and puts the routes on the server; as the loop's
 * user. After an error *ret is to be freed all the same. */
int neap_daemon_api_start(const struct neap_daemon_api_config *config,
			  struct neap_daemon_api **ret, struct neap_error *err);
/* The kinds that are served; NULL without api. */
const struct neap_kube_registry *
neap_daemon_api_registry(const struct neap_daemon_api *api);
/* The server of the objects, and (below) their store; borrowed until it stops. NULL
 * without api. */
struct neap_kube *neap_daemon_api_kube(const struct neap_daemon_api *api);
/* The client of the loops. */
struct neap_client *neap_daemon_api_client(const struct neap_daemon_api *api);
struct neap_store *neap_daemon_api_store(const struct neap_daemon_api *api);
/* Ends watches and loops; call it before the server is freed. api may be NULL. */
void neap_daemon_api_stop(struct neap_daemon_api *api);
/* Call it after the server is freed. It sends no more answers; all accepted writes are
 * durable when it returns. */
void neap_daemon_api_free(struct neap_daemon_api *api);
/* `neapd --new-store`: sets the store of a folder aside, whose neapd must have ended.
 * Returns the exit status. */
int neap_daemon_api_new_store(const char *data_dir);

/* --- scheduler and controllers: what works on the objects by itself --- */

/* Those of config->roles, on what the client shows, which outlives them. After an error
 * *ret is to be freed all the same. */
int neap_daemon_controllers_start(const struct neap_daemon_api_config *config,
				  struct neap_client *client,
				  struct neap_daemon_controllers **ret,
				  struct neap_error *err);
/* NULL without the role. */
struct neap_scheduler *
neap_daemon_controllers_scheduler(const struct neap_daemon_controllers *controllers);
/* Before the client ends. NULL is fine. */
void neap_daemon_controllers_free(struct neap_daemon_controllers *controllers);

#endif
