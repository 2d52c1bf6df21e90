/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole of a running neapd, as the files that join its rooms share it: api/neapd.c starts and ends
 * it, answers.c answers for it to the control API, events.c turns its wheel. */
#ifndef NEAP_API_DAEMON_WHOLE_H
#define NEAP_API_DAEMON_WHOLE_H

#include "api/config/config.h"
#include "api/control/audit.h"
#include "api/control/control.h"
#include "api/control/look.h"
#include "api/control/metrics.h"
#include "api/control/policies.h"
#include "api/daemon/api.h"
#include "api/daemon/clock.h"
#include "api/daemon/daemon.h"
#include "api/daemon/loop.h"
#include "api/daemon/notify.h"
#include "api/http/server.h"
#include "api/http/tls/tls.h"
#include "api/policy/live/live.h"
#include "api/run/node.h"
#include "api/task/turns.h"
#include "hw/keeper/keeper.h"
#include "lua/call/purse.h"

struct event;
struct neap_daemon_controllers;
struct neap_schedule_policies;
struct neap_daemon_extender;
struct neap_schedule_config;
struct neap_daemon_pods;
struct neap_daemon_trail;
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
	struct neap_tree trees[NEAP_TREES_MAX];
	int tree_count;
	char kubelet_dir[256]; /* "": none is read */
	struct event_base *base;
	struct event *tick, *hand_event, *watchdog, *signals[3];
	struct neap_loop *loop;
	int64_t next_tick_usec;
	struct neap_clocks clocks; /* at the last tick */
	struct neap_tls *tls;      /* NULL without --tls-cert */
	struct neap_daemon_tls *tls_watch;
	struct neap_daemon_trail *trail; /* NULL without --audit-log */
	struct neap_tokens *tokens;      /* of users; NULL without --token-file */
	struct neap_http *http;
	struct neap_control *control;
	struct neap_control_policies *policies;
	struct neap_control_audit *audit;
	struct neap_look *look;
	struct neap_turns turns; /* of the loop */
	struct neap_metrics *metrics;
	struct neap_daemon_api *api;                 /* NULL without the role */
	struct neap_schedule_policies *placing;      /* policies of the scheduler */
	struct neap_policies_reserve *matching;      /* ... about reservations */
	struct neap_purse purse;                     /* CPU time of both */
	struct neap_daemon_controllers *controllers; /* NULL without the role api */
	struct neap_schedule_config *scheduling;     /* NULL without --scheduler-config */
	struct neap_daemon_extender *extender;       /* NULL without --extender-listen */
	struct neap_keeper *keeper;                  /* NULL without --run-pods */
	struct neap_daemon_pods *pods;
	uid_t pods_uid; /* of --run-pods-user */
	char pods_dir[160];
	struct neap_kube_declared_folder crds;
	int argc;
	char **argv;
	int tcp_fd, tls_fd, unix_fd;
	char tls_files[2][160]; /* of its own certificate, and its key */
	char token[80], token_file[160], record_dir[160], freeze_file[160];
	struct neap_notify notify;
	bool is_up;
	bool is_told; /* that it is up */
	int exit_status;
};

/* --- answers.c --- */
struct neap_control_node neap_daemon_functions(struct neap_daemon *daemon);

/* --- look.c --- */
int neap_daemon_look_start(struct neap_daemon *daemon, struct neap_error *err);

/* --- access.c --- */
/* As root, if it is. */
int neap_daemon_tokens_load(struct neap_daemon *daemon, struct neap_error *err);
/* Their number, and that a changed file could not be read. */
void neap_daemon_tokens_tell(const struct neap_daemon *daemon);
/* SIGHUP: the file anew. What cannot be used is told, and the tokens stay. */
void neap_daemon_tokens_look(struct neap_daemon *daemon);

/* --- scheduling.c --- */
/* --scheduler-config, if it is given; as root, if it is. Then what of it has no effect, for the log. */
int neap_daemon_scheduling_load(struct neap_daemon *daemon, struct neap_error *err);
/* Policies that have a say in placing pods; when one is taken out of service failed is told. */
int neap_daemon_scheduling_policies(struct neap_daemon *daemon,
				    void (*failed)(void *arg, const char *kind,
						   const char *name, const char *why),
				    struct neap_daemon_api_config *ret,
				    struct neap_error *err);
void neap_daemon_scheduling_tell(const struct neap_daemon *daemon);
/* SIGHUP: the file anew. What cannot be used is told, and the scheduler goes on as before. */
void neap_daemon_scheduling_look(struct neap_daemon *daemon);
void neap_daemon_scheduling_free(struct neap_daemon *daemon);

/* --- trail.c --- */
/* --audit-log, if it is given; as the loop's user, when there is a server. */
int neap_daemon_trail_start(struct neap_daemon *daemon, struct neap_error *err);
/* SIGHUP: the file may have been renamed. */
void neap_daemon_trail_reopen(struct neap_daemon *daemon);
/* After the server. NULL is fine. */
void neap_daemon_trail_free(struct neap_daemon_trail *trail);

/* --- kubeconfig.c --- */
/* A certificate of its own below DATA_DIR, as the loop's user; fills daemon->tls. */
int neap_daemon_tls_make(struct neap_daemon *daemon, struct neap_error *err);
/* DATA_DIR/kubeconfig as address, token and certificate are now, mode 0600; it is removed where nobody
 * could use it. As the loop's user. */
int neap_kubeconfig_write(const struct neap_daemon *daemon, struct neap_error *err);

/* --- banner.c --- */
/* Some ten lines: what was found, what is done, where to look. */
void neap_banner_print(FILE *out, const struct neap_daemon *daemon);

/* --- events.c --- */
/* Ticks, the hand's socket and signals, from now on. */
int neap_daemon_events_start(struct neap_daemon *daemon, struct neap_error *err);
/* Asks for writability only while the hand's socket is full. */
void neap_daemon_watch_hand(struct neap_daemon *daemon);
/* For neap_loop_new: a pressure trigger fired; arg is the daemon. */
void neap_daemon_react(void *arg);

/* --- tell.c: to the service manager, if there is one --- */
/* That it is up, once it is (the hand answered, the first look is done); after that its state and
 * policies when they differ from what was told. */
void neap_daemon_tell(struct neap_daemon *daemon);
/* SIGHUP. */
void neap_daemon_reload(struct neap_daemon *daemon);
/* Tells twice within the watchdog's time that the loop turns and ticks come. */
int neap_daemon_watchdog_start(struct neap_daemon *daemon, struct neap_error *err);
/* Why it ends: to standard error and to the manager. */
void neap_daemon_complain(struct neap_daemon *daemon, const struct neap_error *err);

#endif
