/* SPDX-License-Identifier: Apache-2.0
 *
 * A probe in a loop of the test's own, and what it tells. A second is 10 ms. */
#ifndef NEAP_T_LIB_PROBE_RIG_H
#define NEAP_T_LIB_PROBE_RIG_H

#include <event2/event.h>
#include <unistd.h>

#include "api/agent/pod/probe_priv.h"

struct probe_rig {
	const struct probe_orders *orders; /* of commands */
	struct event_base *base;
	struct neap_probe *probe;
	char told[64]; /* a letter each: U, S, F */
	size_t count;
	char text[NEAP_PROBE_TEXT_MAX + 64]; /* the last one that is not empty */
	bool frees;                          /* the probe, when it tells */
	/* Of commands. */
	const char *script; /* a letter an attempt, see run_order */
	size_t attempts;
	uint64_t id;
	char calls[512];
	neap_node_pod_done *moved;
	void *moved_arg;
	char argv[128];
};

/* There is one. */
extern struct probe_rig probe_world;

/* ' for " */
json_t *probe_rig_json(const char *text);
int64_t probe_rig_now(clockid_t clock);
void probe_rig_init(const struct probe_orders *orders, const char *script);
void probe_rig_done(void);
/* Takes spec. */
void probe_rig_begin(enum neap_probe_kind kind, json_t *spec);
/* Runs the loop for so long. */
void probe_rig_run(int ms);
/* Notes a call, for the order in which they come. */
void probe_rig_call(const char *what);

/* Runs the loop until something is so, or for very long. */
#define UNTIL(is_so)                                                                     \
	do {                                                                             \
		int64_t until_end =                                                      \
			probe_rig_now(CLOCK_MONOTONIC) + 20 * INT64_C(1000000);          \
		while (!(is_so) && probe_rig_now(CLOCK_MONOTONIC) < until_end) {         \
			(void)event_base_loop(probe_world.base, EVLOOP_NONBLOCK);        \
			(void)usleep(200);                                               \
		}                                                                        \
		if (!(is_so))                                                            \
			fail_msg("never: %s (told %s, %s)", #is_so, probe_world.told,    \
				 probe_world.calls);                                     \
	} while (0)

#endif
