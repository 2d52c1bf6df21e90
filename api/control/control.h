/* SPDX-License-Identifier: Apache-2.0
 *
 * The control API under /control/v1/, and the health endpoints. It accesses the node only
 * through a table of functions. */
#ifndef NEAP_API_CONTROL_CONTROL_H
#define NEAP_API_CONTROL_CONTROL_H

#include "api/http/server.h"
#include "api/policy/live/live.h"
#include "engine/log/audit.h"
#include "engine/machine/topology.h"

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

/* live (borrowed): policies for the status; NULL: none. Registers GET /healthz /livez
 * /readyz /version (open); GET /control/v1/status, workloads, topology; POST
 * /control/v1/freeze, release, resume, run, token/rotate. */
int neap_control_new(struct neap_http *http, const struct neap_control_node *node,
		     struct neap_live *live, struct neap_control **ret,
		     struct neap_error *err);
/* Call after neap_http_free. Pending operations may still answer later. */
void neap_control_free(struct neap_control *control);

#endif
