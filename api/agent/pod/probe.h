/* SPDX-License-Identifier: Apache-2.0
 *
 * A probe of a container: asks from time to time whether it is up, alive or ready, by a command (exec), a request
 * (httpGet) or a connection (tcpSocket), with the times and thresholds of a kubelet. Requests and connections go to
 * this machine's own addresses alone (127.0.0.1, ::1), whatever an object says, and follow no redirect. Runs on the
 * loop and never waits.
 *
 * One object a probe and a start of the container: who starts it anew makes new ones. A startup probe has done its
 * work with its first verdict, a liveness probe with a failure: then nothing is asked any more. */
#ifndef NEAP_API_AGENT_POD_PROBE_H
#define NEAP_API_AGENT_POD_PROBE_H

#include <jansson.h>

#include "api/run/pods.h"
#include "hw/keeper/keeper.h"

/* Bytes of a text that tells of a failure. */
#define NEAP_PROBE_TEXT_MAX 1024

struct event_base;
struct neap_probe;

enum neap_probe_kind { NEAP_PROBE_STARTUP, NEAP_PROBE_LIVENESS, NEAP_PROBE_READINESS };

enum neap_probe_verdict {
	NEAP_PROBE_UNKNOWN, /* of a startup probe at first */
	NEAP_PROBE_SUCCESS, /* of a liveness probe at first */
	NEAP_PROBE_FAILURE, /* of a readiness probe at first */
};

/* Called, from the loop or from neap_probe_hear, when the verdict is another than before, and each time that an
 * attempt fails. verdict: what counts now, thresholds heeded. text: "" after a success, else what an event of
 * reason Unhealthy says ("Readiness probe failed: HTTP probe failed with statuscode: 503"), valid UTF-8; borrowed.
 * "errored" in place of "failed": the attempt could not be made, and counts for nothing. The probe may be freed
 * in it. */
typedef void neap_probe_told(void *arg, struct neap_probe *probe,
			     enum neap_probe_verdict verdict, const char *text);

struct neap_probe_config {
	struct event_base *base; /* borrowed for its life */
	enum neap_probe_kind kind;
	const json_t
		*spec; /* of the kind Probe, with its defaults; looked at by new alone */
	const json_t
		*ports; /* of the container, for names of ports; the same; NULL: none */
	int64_t started_usec; /* of the container, Unix, for initialDelaySeconds */
	neap_probe_told *told;
	void *arg;           /* of told, id_new and id_drop */
	int64_t second_usec; /* how long a second of the spec is, for tests; 0: a second */

	/* The rest is for commands. keeper and node are borrowed for its life, texts are copied. */
	struct neap_keeper *keeper;
	struct neap_node *node; /* NULL: commands stay in the group in which they start */
	const char *pod_uid, *container;
	unsigned attempt;
	const char *const *envp; /* NULL ends */
	const char *cwd;         /* NULL: the user's home */
	/* An id for an order to the keeper, never 0: events under it go to neap_probe_hear(probe, event), until
	 * id_drop. */
	uint64_t (*id_new)(void *arg, struct neap_probe *probe);
	void (*id_drop)(void *arg, uint64_t id);
};

/* Whether it can be done here; the error's field and text say what cannot ("httpGet.host"). NEAP_EUNSUPPORTED for
 * what only a kubelet does (grpc, HTTPS, another host), NEAP_EINVAL for a name that no port has. */
int neap_probe_check(const json_t *spec, const json_t *ports, struct neap_error *err);
/* Begins; what neap_probe_check refuses is refused. */
int neap_probe_new(const struct neap_probe_config *config, struct neap_probe **ret,
		   struct neap_error *err);
/* A command that runs is killed. NULL is fine. */
void neap_probe_free(struct neap_probe *probe);
/* An event of the keeper under one of its ids; the descriptor of WAITING is taken over. May call told. */
void neap_probe_hear(struct neap_probe *probe, const struct neap_keeper_event *event);
enum neap_probe_kind neap_probe_kind_get(const struct neap_probe *probe);
enum neap_probe_verdict neap_probe_verdict_get(const struct neap_probe *probe);

#endif
