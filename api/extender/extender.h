/* SPDX-License-Identifier: Apache-2.0
 *
 * What a kube-scheduler may ask by its extender protocol, below /extender/v1: filter, prioritize, preempt, and bind. All
 * is judged by the picture of the cluster that neap's own scheduler has, and of pods that are there: one that is not, or
 * has another uid, is refused. Nothing is changed but by bind. Policy failures are answered with 200 and Error. The
 * answers of prioritize and preempt have no room for one: no node gets points, or no node is left, and the log has the
 * reason (level debug). Malformed requests are answered with 400 or 413.
 *
 * When the time of a request is over, filter gives the nodes that fit of those that it looked at (Error where none does),
 * prioritize the points that it has, preempt leaves the nodes that it did not try as they came, and bind says that the
 * binding may still come. */
#ifndef NEAP_API_EXTENDER_EXTENDER_H
#define NEAP_API_EXTENDER_EXTENDER_H

#include "api/http/server.h"
#include "engine/base/error.h"

struct neap_log;
struct neap_scheduler;
struct neap_extender;

/* Until when a request is answered; kube-scheduler gives up after its httpTimeout, 5 s. */
#define NEAP_EXTENDER_DEADLINE_USEC INT64_C(4000000)
/* The largest request. */
#define NEAP_EXTENDER_BODY_MAX (3 * 1024 * 1024)
/* What preempt tries nodes for; those that are left are answered as they came. */
#define NEAP_EXTENDER_TRIAL_USEC INT64_C(60000)
/* Points of prioritize, from the node with the least of the engine's points to the one with the most. */
#define NEAP_EXTENDER_SCORE_MAX 10

struct neap_extender_config {
	struct neap_http
		*http; /* with no other routes; freed before neap_extender_free */
	struct neap_scheduler *scheduler; /* outlives http */
	/* The least that binds, an editor at least: who shows a certificate. NEAP_HTTP_UNSET: the route is not there. */
	enum neap_http_role bind_role;
	int64_t deadline_usec;      /* 0: as above */
	int64_t (*now_usec)(void);  /* that it goes by; NULL: the monotonic clock */
	const struct neap_log *log; /* borrowed; NULL: none */
};

int neap_extender_new(const struct neap_extender_config *config,
		      struct neap_extender **ret, struct neap_error *err);
/* NULL is fine. */
void neap_extender_free(struct neap_extender *extender);

#endif
