/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole of a running neapd, as the files that join its rooms share it: api/neapd.c starts and ends
 * it, answers.c answers for it to the control API, events.c turns its wheel. */
#ifndef NEAP_API_DAEMON_WHOLE_H
#define NEAP_API_DAEMON_WHOLE_H

#include <time.h>

#include "api/config.h"
#include "api/control/audit.h"
#include "api/control/control.h"
#include "api/control/metrics.h"
#include "api/control/policies.h"
#include "api/daemon/daemon.h"
#include "api/daemon/loop.h"
#include "api/http/server.h"
#include "api/policy/live.h"
#include "api/run/node.h"

struct event;
struct event_base;

struct neap_daemon {
	struct neap_config config;
	struct neap_account account;
	struct neap_log log;
	struct neap_cgroup cgroup;
	struct neap_hand *hand;
	struct neap_policy_texts texts;
	json_t *labels; /* of this node */
	struct neap_registry *registry;
	struct neap_record *record;
	struct neap_live *live;
	struct neap_node *node; /* NULL without the role */
	struct neap_tree trees[2];
	int tree_count;
	struct event_base *base;
	struct event *tick, *hand_event, *signals[3];
	struct neap_loop *loop;
	int64_t next_tick_usec;
	struct neap_http *http;
	struct neap_control *control;
	struct neap_control_policies *policies;
	struct neap_control_audit *audit;
	struct neap_metrics *metrics;
	int argc;
	char **argv;
	int tcp_fd, unix_fd;
	char token[80], token_file[160], record_dir[160], freeze_file[160];
	bool is_up;
	int exit_status;
};

/* --- answers.c --- */
struct neap_control_node neap_daemon_functions(struct neap_daemon *daemon);

/* --- events.c --- */
/* Microseconds of CLOCK_MONOTONIC or CLOCK_REALTIME. */
int64_t neap_daemon_now(clockid_t clock);
/* Ticks, the hand's socket and signals, from now on. */
int neap_daemon_events_start(struct neap_daemon *daemon, struct neap_error *err);
/* Asks for writability only while the hand's socket is full. */
void neap_daemon_watch_hand(struct neap_daemon *daemon);
/* For neap_loop_new: a pressure trigger fired; arg is the daemon. */
void neap_daemon_react(void *arg);

#endif
