/* SPDX-License-Identifier: Apache-2.0
 *
 * The control API under /control/v1/, and the health endpoints. It accesses the node only
 * through a table of functions. */
#ifndef NEAP_API_CONTROL_CONTROL_H
#define NEAP_API_CONTROL_CONTROL_H

#include "api/client/client.h"
#include "api/http/server.h"
#include "api/policy/live/live.h"
#include "api/store/store.h"
#include "api/task/turns.h"
#include "engine/log/audit.h"
#include "engine/machine/topology.h"

struct neap_control_audit;
struct neap_control_policies;
struct neap_control_recordings;
struct neap_buf;
struct neap_metrics;
struct neap_control_store;
struct neap_cluster;
struct neap_decide;
struct neap_pod;
struct neap_look;

/* JSON values in one body: bodies are commands or parameters. */
#define NEAP_CONTROL_VALUES_MAX 32000

/* Answer of an asynchronous operation: err NULL and body (taken over), or err. Called
 * exactly once, immediately or later. */
typedef void neap_control_done(void *done_arg, json_t *body,
			       const struct neap_error *err);

struct neap_control_node {
	void *arg;
	json_t *(*status)(void *arg);    /* new reference */
	json_t *(*workloads)(void *arg); /* array, new reference */
	const struct neap_topology *(*topology)(void *arg);
	const struct neap_audit *(*audit)(void *arg);
	/* Whether the node answers, and whether the daemon is ready; without the role
	 * node these differ. */
	bool (*is_ready)(void *arg, const char **ret_why_not);
	bool (*is_started)(void *arg, const char **ret_why_not);
	/* Puts a new token in force and returns its file. by: the caller, for the log. */
	int (*rotate_token)(void *arg, const char *by, const char **ret_file,
			    struct neap_error *err);
	/* freeze, release, resume, given by verb. by: the caller, for audit and log;
	 * borrowed. */
	void (*operate)(void *arg, const char *verb, const char *by,
			neap_control_done *done, void *done_arg);
	/* input is borrowed until done, peer until the return; peer_fd closes when the
	 * client disconnects, so it is duplicated at once. POST run: input {"name"?,
	 * "qos", "cpu_request_milli"?, "cpu_limit_milli"?, "memory_limit_bytes"?,
	 * "command": [..]}, peer_fd: connection of the process to move. Body:
	 * {"id","name","group","qos"}. */
	void (*run)(void *arg, json_t *input, int peer_fd,
		    const struct neap_http_peer *peer, neap_control_done *done,
		    void *done_arg);
};

struct neap_control;

/* --- for the files of api/control --- */

/* Answers with body, which is taken over; NULL: there was no memory for it. */
void neap_control_answer_take(struct neap_http_request *request, int status,
			      json_t *body);
/* Parses the body of a request, an object; a new reference. is_needed: an empty body is
 * an error, not an empty object. */
int neap_control_read_body(struct neap_http_request *request, bool is_needed,
			   json_t **ret, struct neap_error *err);

/* --- the operations --- */

/* live (borrowed): policies for the status; NULL: none. Registers GET /healthz /livez
 * /readyz /version (open); GET /control/v1/status, workloads, topology; POST
 * /control/v1/freeze, release, resume, run, token/rotate. */
int neap_control_new(struct neap_http *http, const struct neap_control_node *node,
		     struct neap_live *live, struct neap_control **ret,
		     struct neap_error *err);
/* Call after neap_http_free. Pending operations may still answer later. */
void neap_control_free(struct neap_control *control);

/* --- audit.c --- */

/* GET /control/v1/audit?since=SEQ&limit=N: what was written, by whom and why, as JSON,
 * or with "Accept: text/event-stream" as an open stream. */

int neap_control_audit_new(struct neap_http *http, const struct neap_control_node *node,
			   struct neap_control_audit **ret, struct neap_error *err);
/* After neap_http_free. */
void neap_control_audit_free(struct neap_control_audit *audit);
/* Sends new entries; call it once per tick, and after answers of the hand. */
void neap_control_audit_poke(struct neap_control_audit *audit, int64_t mono_usec);

/* --- policies.c --- */

/* Policies over HTTP: GET /control/v1/policies, and below
 * /control/v1/policies/{kind}/{name}: GET, PUT, DELETE, versions, rollback, params.
 * api/policy/live implements the changes; this file handles headers, query and status
 * codes. */

int neap_control_policies_new(struct neap_http *http, struct neap_live *live,
			      struct neap_control_policies **ret, struct neap_error *err);
/* Call after neap_http_free and before neap_live_free. */
void neap_control_policies_free(struct neap_control_policies *policies);

/* GET recordings/decisions: what the scheduler recorded for its policies, which are those
 * of the registry. Both are borrowed. */
int neap_control_recordings_new(struct neap_http *http,
				const struct neap_decisions *decisions,
				struct neap_registry *registry,
				struct neap_control_recordings **ret,
				struct neap_error *err);
void neap_control_recordings_free(struct neap_control_recordings *recordings);

/* --- metrics.c --- */

/* GET /metrics, in the Prometheus text format 0.0.4. It names the figures of the
 * status, the policies and the server; none is computed here. */

/* is_open (borrowed, may change): serve without authentication. turns: turns of the loop;
 * NULL: not included. Everything is borrowed until neap_metrics_free, which comes after
 * neap_http_free. */
int neap_metrics_new(struct neap_http *http, const struct neap_control_node *node,
		     struct neap_live *live, const bool *is_open,
		     const struct neap_turns *turns, struct neap_metrics **ret,
		     struct neap_error *err);
/* Adds the store's counts and limits. Borrows the store, which must outlive the server;
 * NULL removes them. */
/* Adds what another part tells, at the end. */
void neap_metrics_set_more(struct neap_metrics *metrics,
			   void (*add)(void *arg, struct neap_buf *out), void *arg);
void neap_metrics_set_store(struct neap_metrics *metrics, const struct neap_store *store);
void neap_metrics_free(struct neap_metrics *metrics);

/* --- store.c --- */

/* Backup and restore over HTTP, for admins, in pieces, so that neither side waits for
 * the other and the daemon needs no access to the file: POST
 * /control/v1/store/backups, then GET /control/v1/store/backups/{id}?at=BYTES until a
 * piece is empty; POST /control/v1/store/restores, then POST .../{id}/data?at=BYTES
 * for each piece, then .../{id}/commit. DELETE ends either. One of each at a time; one
 * that is idle for NEAP_CONTROL_STORE_IDLE_S is dropped. */

#define NEAP_CONTROL_STORE_IDLE_S 60
/* Size of a GET's piece, extended to the end of its line. */
#define NEAP_CONTROL_STORE_PIECE ((size_t)256 * 1024)

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

/* --- look.c --- */

/* Read-only views of the scheduler's knowledge: GET /control/v1/cpus, which pods hold
 * which CPUs; GET /control/v1/explain/pods/{namespace}/{name} and
 * /control/v1/explain/reservations/{name}, why a pod or Reservation goes to its node,
 * or to none. No decision is changed by it. */

/* Nodes in one answer: default, and limit. */
#define NEAP_LOOK_NODES           20
#define NEAP_LOOK_NODES_MAX       500
#define NEAP_LOOK_CPUS_NODES_MAX  50 /* with every CPU */
#define NEAP_LOOK_EXPLAIN_REASONS 64 /* distinct reasons that are counted */

/* Borrowed until the next turn of the loop. */
struct neap_look_view {
	struct neap_cluster *cluster;
	struct neap_decide *decide;
	struct neap_client *client; /* for NodeResourceTopology objects; NULL: none */
};

/* The provider: the part that has a scheduler. */
struct neap_look_source {
	void *arg;
	/* Returns the present view; false with a borrowed reason when there is none now,
	 * or no scheduler. */
	bool (*view)(void *arg, struct neap_look_view *ret, const char **ret_why_not);
	/* Returns the decider with the settings of the pod's schedulerName, borrowed. It
	 * replaces the view's decide; called only after view() succeeded. */
	struct neap_decide *(*decide)(void *arg, const struct neap_pod *pod);
};

/* Registers its routes. Copies source. */
int neap_look_new(struct neap_http *http, const struct neap_look_source *source,
		  struct neap_look **ret, struct neap_error *err);
/* Call after neap_http_free. Accepts NULL. */
void neap_look_free(struct neap_look *look);

#endif
