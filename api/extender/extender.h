/* SPDX-License-Identifier: Apache-2.0
 *
 * The extender protocol of kube-scheduler, below /extender/v1: filter, prioritize,
 * preempt, and bind. Answers come from the cluster picture of neap's own scheduler, and
 * only for pods that exist with the same uid; others are refused. Only bind changes
 * anything. Failures of policies are answered with 200 and Error. The answers of
 * prioritize and preempt have no room for an error: then no node gets points, or no node
 * is left, and the log has the reason (level debug). Malformed requests are answered with
 * 400 or 413.
 *
 * When a request's time is up, filter returns the feasible nodes among those it examined
 * (Error if none), prioritize the points it has, preempt the untried nodes unchanged, and
 * bind reports that the binding may still happen. */
#ifndef NEAP_API_EXTENDER_EXTENDER_H
#define NEAP_API_EXTENDER_EXTENDER_H

#include "api/http/server.h"
#include "engine/base/error.h"

struct neap_log;
struct neap_scheduler;
struct neap_extender;

/* Time limit of an answer; kube-scheduler gives up after its httpTimeout, 5 s. */
#define NEAP_EXTENDER_DEADLINE_USEC INT64_C(4000000)
/* The largest request. */
#define NEAP_EXTENDER_BODY_MAX (3 * 1024 * 1024)
/* Time for preempt's trials; the remaining nodes are returned unchanged. */
#define NEAP_EXTENDER_TRIAL_USEC INT64_C(60000)
/* Points of prioritize, scaled from the node with the fewest engine points to the one
 * with the most. */
#define NEAP_EXTENDER_SCORE_MAX 10

struct neap_extender_config {
	struct neap_http
		*http; /* without other routes; freed before neap_extender_free */
	/* Outlives http, or is replaced before its end. NULL: none yet. */
	struct neap_scheduler *scheduler;
	/* The lowest role that may bind, at least editor, for users with a certificate.
	 * NEAP_HTTP_UNSET: no such route. */
	enum neap_http_role bind_role;
	int64_t deadline_usec;      /* 0: as above */
	int64_t (*now_usec)(void);  /* its clock; NULL: the monotonic clock */
	const struct neap_log *log; /* borrowed; NULL: none */
};

int neap_extender_new(const struct neap_extender_config *config,
		      struct neap_extender **ret, struct neap_error *err);
/* Sets the scheduler that answers. NULL: there is none; every request gets 503, and the
 * client then asks another neapd. */
void neap_extender_set_scheduler(struct neap_extender *extender,
				 struct neap_scheduler *scheduler);
/* NULL is fine. */
void neap_extender_free(struct neap_extender *extender);

#endif
