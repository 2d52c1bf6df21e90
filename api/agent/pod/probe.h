/* SPDX-License-Identifier: Apache-2.0
 *
 * A container's probe: checks periodically whether it is started, alive or ready, by a
 * command (exec), a request (httpGet) or a connection (tcpSocket), with a kubelet's times
 * and thresholds. Requests and connections go only to this machine's own addresses
 * (127.0.0.1, ::1), whatever the object says, and follow no redirect. Runs on the loop
 * and never blocks.
 *
 * One object per probe and container start. A startup probe ends with its first verdict,
 * a liveness probe with a failure. */
#ifndef NEAP_API_AGENT_POD_PROBE_H
#define NEAP_API_AGENT_POD_PROBE_H

#include <jansson.h>

#include "api/run/pods.h"
#include "hw/keeper/keeper.h"

/* Size of a failure's text. */
#define NEAP_PROBE_TEXT_MAX 1024

struct event_base;
struct neap_probe;

enum neap_probe_kind { NEAP_PROBE_STARTUP, NEAP_PROBE_LIVENESS, NEAP_PROBE_READINESS };

enum neap_probe_verdict {
	NEAP_PROBE_UNKNOWN, /* initial state of a startup probe */
	NEAP_PROBE_SUCCESS, /* initial state of a liveness probe */
	NEAP_PROBE_FAILURE, /* initial state of a readiness probe */
};

/* Called from the loop or from neap_probe_hear when the verdict changes, and each time an
 * attempt fails. verdict: the present one, after thresholds. text: "" after a success,
 * else the message of an Unhealthy event ("Readiness probe failed: HTTP probe failed with
 * statuscode: 503"), valid UTF-8; borrowed. "errored" instead of "failed": the attempt
 * could not be made and does not count. It may free the probe. */
typedef void neap_probe_told(void *arg, struct neap_probe *probe,
			     enum neap_probe_verdict verdict, const char *text);

struct neap_probe_config {
	struct event_base *base; /* borrowed for its life */
	enum neap_probe_kind kind;
	const json_t *spec; /* a Probe with defaults; read by new only */
	/* the container's ports, for port names; read by new only; NULL: none */
	const json_t *ports;
	/* start of the container, Unix time, for initialDelaySeconds */
	int64_t started_usec;
	neap_probe_told *told;
	void *arg;           /* of told, id_new and id_drop */
	int64_t second_usec; /* length of a second of the spec, for tests; 0: a second */

	/* The rest is for commands. keeper and node are borrowed for its life, texts are
	 * copied. */
	struct neap_keeper *keeper;
	struct neap_node *node; /* NULL: commands stay in the group they start in */
	const char *pod_uid, *container;
	unsigned attempt;
	const char *const *envp; /* NULL ends */
	const char *cwd;         /* NULL: the user's home */
	/* Returns an id for an order to the keeper, never 0: its events go to
	 * neap_probe_hear(probe, event) until id_drop. */
	uint64_t (*id_new)(void *arg, struct neap_probe *probe);
	void (*id_drop)(void *arg, uint64_t id);
};

/* Checks whether it is supported; the error has the field and why not ("httpGet.host").
 * NEAP_EUNSUPPORTED: only a kubelet can do it (grpc, HTTPS, another host); NEAP_EINVAL: a
 * port name that does not exist. */
int neap_probe_check(const json_t *spec, const json_t *ports, struct neap_error *err);
/* Starts the probe; refuses what neap_probe_check refuses. */
int neap_probe_new(const struct neap_probe_config *config, struct neap_probe **ret,
		   struct neap_error *err);
/* Kills a running command. Accepts NULL. */
void neap_probe_free(struct neap_probe *probe);
/* An event of the keeper under one of its ids; takes over the descriptor of WAITING. May
 * call told. */
void neap_probe_hear(struct neap_probe *probe, const struct neap_keeper_event *event);
enum neap_probe_kind neap_probe_kind_get(const struct neap_probe *probe);

#endif
