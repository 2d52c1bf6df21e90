/* SPDX-License-Identifier: Apache-2.0
 *
 * The roles of a running neapd, in the order in which it starts them. */
#ifndef NEAP_API_DAEMON_ROLES_H
#define NEAP_API_DAEMON_ROLES_H

#include "api/daemon/process.h"
#include "api/http/server.h"
#include "api/http/tls/tls.h"
#include "api/policy/live/live.h"
#include "api/run/node.h"
#include "api/task/turns.h"
#include "engine/machine/cpuset.h"
#include "lua/call/purse.h"

struct event;
struct neap_agent;
struct neap_buf;
struct neap_client;
struct neap_control;
struct neap_control_audit;
struct neap_control_policies;
struct neap_daemon_api;
struct neap_daemon_api_config;
struct neap_daemon_controllers;
struct neap_daemon_extender;
struct neap_daemon_tls;
struct neap_daemon_trail;
struct neap_deschedule_config;
struct neap_deschedule_routes;
struct neap_descheduler;
struct neap_keeper;
struct neap_kubelet;
struct neap_link;
struct neap_look;
struct neap_loop;
struct neap_metrics;
struct neap_migrate;
struct neap_node;
struct neap_node_keep;
struct neap_pins;
struct neap_policies_reserve;
struct neap_role_prometheus;
struct neap_role_remote;
struct neap_schedule_config;
struct neap_schedule_policies;
struct neap_scheduler;
struct neap_strategies;
struct neap_tasks;
struct neap_tls;
struct neap_tokens;

/* --- role_policies.c: the policies: their texts, registry, changes and history --- */

/* The texts of the configured policies, in the configuration's order. */
struct neap_policy_texts {
	char *text[NEAP_POLICIES_MAX];
	size_t len[NEAP_POLICIES_MAX];
	char file[NEAP_POLICIES_MAX][640];
};

struct neap_role_policies {
	struct neap_policy_texts texts; /* until they are in service */
	json_t *labels;                 /* of this node */
	struct neap_registry *registry;
	struct neap_recorders recorders;
	char rounds_dir[160]; /* of recorders */
	struct neap_live *live;
};

/* Reads the files of the configured policies; runs nothing of them. Needs root. */
int neap_role_policies_read(struct neap_role_policies *role,
			    const struct neap_config *config, struct neap_error *err);
/* Makes an empty registry and starts the watchdog of policies. note and describe are
 * those of struct neap_live_config, with arg. Needs the loop's user. */
int neap_role_policies_open(struct neap_role_policies *role,
			    const struct neap_process *process,
			    void (*note)(void *arg, const char *label, const char *what),
			    void (*describe)(void *arg, const char *label, json_t *row),
			    void *arg, struct neap_error *err);
/* Puts in service the policies that were read, those uploaded before, and those in
 * --policy-dir. The error names the option. */
int neap_role_policies_start(struct neap_role_policies *role,
			     const struct neap_config *config, struct neap_error *err);
/* For SIGHUP: reads the policies of the new configuration. One that does not pass is
 * logged, and the version before it stays. */
int neap_role_policies_reload(struct neap_live *live, const struct neap_config *config,
			      struct neap_error *err);
/* Stops all changes of policies; the registry stays for its users. */
void neap_role_policies_stop(struct neap_role_policies *role);
void neap_role_policies_free(struct neap_role_policies *role);

/* Returns {"kubernetes.io/hostname": ..., "kubernetes.io/os": "linux",
 * "kubernetes.io/arch": ..., and those of --node-label}. NULL without memory. */
json_t *neap_config_labels(const struct neap_config *config);

/* --- role_node.c: this machine's cgroups, the hand that writes them, the node --- */

/* Called with arg. */
struct neap_role_node_heard {
	void (*answered)(void *arg);                           /* the hand answered */
	void (*lost)(void *arg, const struct neap_error *err); /* the hand is gone */
	void *arg;
};

struct neap_role_node {
	const struct neap_process *process;
	const struct neap_role_policies *policies;
	struct neap_cgroup cgroup;
	struct neap_tree trees[NEAP_TREES_MAX];
	int tree_count;
	char kubelet_dir[256];  /* "": no folder is read */
	struct neap_hand *hand; /* NULL: neapd writes and reads nothing as root */
	struct neap_node *node; /* NULL without the role */
	struct neap_loop *loop;
	struct event *hand_event;
	struct neap_role_node_heard heard;
	char record_dir[160], freeze_file[160];
};

/* Finds cgroups and kubelet, also without the role, and starts the hand. Runs as root if
 * neapd has it. process is borrowed. */
int neap_role_node_find(struct neap_role_node *role, const struct neap_process *process,
			struct neap_error *err);
/* Does nothing without the role. policies is borrowed. */
int neap_role_node_start(struct neap_role_node *role,
			 const struct neap_role_policies *policies,
			 struct neap_error *err);
/* Listens to the hand from now on. */
void neap_role_node_hear(struct neap_role_node *role,
			 const struct neap_role_node_heard *heard);
/* Waits for the hand's socket to be writable only while it is full. Call it after each
 * request. */
void neap_role_node_watch_hand(struct neap_role_node *role);
/* Whether neapd still looks for the kubelet's group. */
bool neap_role_node_finds_kubelet(const struct neap_role_node *role);
/* Ends the node; the hand stays until the role is freed. */
void neap_role_node_stop(struct neap_role_node *role);
void neap_role_node_free(struct neap_role_node *role);

/* --- role_server.c: the HTTP server: its sockets, TLS, tokens and audit log --- */

struct neap_role_server {
	const struct neap_process *process;
	int tcp_fd, tls_fd, unix_fd; /* -1: it does not listen there */
	struct neap_tls *tls;        /* NULL without TLS */
	struct neap_daemon_tls *tls_watch;
	struct neap_tokens *tokens;      /* of users; NULL without --token-file */
	struct neap_daemon_trail *trail; /* NULL without --audit-log */
	struct neap_http *http;
	const struct neap_daemon_api *api; /* what it serves; NULL: nothing yet */
	char token[80], token_file[160];
	char tls_files[2][160]; /* its own certificate and key */
};

/* Call it first. process is borrowed. */
void neap_role_server_init(struct neap_role_server *server,
			   const struct neap_process *process);
/* Opens the sockets, and reads certificate and tokens, as root if neapd has it. */
int neap_role_server_open(struct neap_role_server *server, struct neap_error *err);
/* Starts to serve. Needs the loop's user. */
int neap_role_server_start(struct neap_role_server *server, struct neap_error *err);
/* For SIGHUP: reads certificate and tokens again and reopens the audit log. What cannot
 * be used is logged, and the old one stays. */
void neap_role_server_reload(struct neap_role_server *server);
/* Replaces the token in DATA_DIR/token; the file is complete at any moment. by: who
 * asks. */
int neap_role_server_rotate(struct neap_role_server *server, const char *by,
			    struct neap_error *err);
/* Ends the server: no request is answered after it. */
void neap_role_server_stop(struct neap_role_server *server);
void neap_role_server_free(struct neap_role_server *server);

/* --- tls.c: certificate and kubeconfig --- */
/* Makes neapd's own certificate below DATA_DIR and fills server->tls. */
int neap_daemon_tls_make(struct neap_role_server *server, struct neap_error *err);
/* Writes DATA_DIR/kubeconfig for the present address, token and certificate, with mode
 * 0600. Removes the file when no client could use it. Needs the loop's user. */
int neap_kubeconfig_write(const struct neap_role_server *server, struct neap_error *err);
/* Does the same; a failure is only logged. */
void neap_kubeconfig_renew(const struct neap_role_server *server);

/* Reads the files of --tls-cert and the other TLS options, while it still may. *ret is
 * NULL without TLS or TCP. */
int neap_daemon_tls_load(const struct neap_process *process, struct neap_tls **ret,
			 struct neap_error *err);
/* Watches the files from now on, as the loop's user. Takes changed ones, and logs what it
 * took, what it could not take, and when the certificate expires soon. Writes the
 * kubeconfig when there is a new certificate. */
int neap_daemon_tls_start(struct neap_role_server *server, struct neap_error *err);
/* Looks now, for SIGHUP; watch may be NULL. */
void neap_daemon_tls_look(struct neap_daemon_tls *watch);
void neap_daemon_tls_free(struct neap_daemon_tls *watch);

/* --- trail.c --- */
/* Starts the audit log of --audit-log, if it is given. Call it when there is a server. */
int neap_daemon_trail_start(struct neap_role_server *server, struct neap_error *err);
/* For SIGHUP: opens the file again, which may have been renamed. NULL is fine. */
void neap_daemon_trail_reopen(struct neap_daemon_trail *trail);
/* Call it after the server's end. NULL is fine. */
void neap_daemon_trail_free(struct neap_daemon_trail *trail);

/* --- control_node.c: what the control API needs of the daemon --- */

/* The parts that it answers for; borrowed. */
struct neap_role_control {
	struct neap_role_node *node;
	struct neap_role_server *server;
	const struct neap_daemon_controllers *controllers; /* NULL: none yet */
	struct neap_client *client;            /* of the controllers; NULL: none yet */
	const struct neap_role_remote *remote; /* NULL: the objects are neapd's own */
	struct neap_control *control;
	struct neap_control_policies *policies;
	struct neap_control_recordings *recordings;
	struct neap_control_audit *audit;
	struct neap_look *look;
	struct neap_metrics *metrics;
};

/* Adds its routes to the server. */
int neap_role_control_start(struct neap_role_control *role, struct neap_role_node *node,
			    struct neap_role_server *server,
			    const struct neap_role_policies *policies,
			    struct neap_turns *turns, struct neap_error *err);
/* Call it after the server's end. */
void neap_role_control_free(struct neap_role_control *role);

/* --- role_scheduler.c: --scheduler-config, and the scheduler's policies --- */

struct neap_role_scheduler {
	const struct neap_process *process;
	const struct neap_role_policies *policies;
	struct neap_schedule_config *settings;  /* NULL without --scheduler-config */
	struct neap_schedule_policies *placing; /* policies about nodes */
	struct neap_policies_reserve *matching; /* policies about reservations */
	struct neap_purse purse;                /* CPU time of both */
	struct neap_client *client;             /* takes its events; NULL: no events */
};

/* Reads --scheduler-config if it is given, as root if neapd has it. process is
 * borrowed. */
int neap_role_scheduler_load(struct neap_role_scheduler *role,
			     const struct neap_process *process, struct neap_error *err);
/* Makes the callers of the policies, and puts them and the settings into *ret. policies
 * is borrowed. */
int neap_role_scheduler_open(struct neap_role_scheduler *role,
			     const struct neap_role_policies *policies,
			     struct neap_daemon_api_config *ret, struct neap_error *err);
/* Logs the parts of --scheduler-config that have no effect. */
void neap_role_scheduler_tell(const struct neap_role_scheduler *role);
/* For SIGHUP: reads the file again. A file that cannot be used is logged, and the
 * scheduler goes on as before. scheduler may be NULL. */
void neap_role_scheduler_reload(struct neap_role_scheduler *role,
				struct neap_scheduler *scheduler);
/* Call it after the scheduler's end. */
void neap_role_scheduler_free(struct neap_role_scheduler *role);

/* --- role_descheduler.c: --descheduler-config, the descheduler and its routes --- */

struct neap_role_descheduler {
	const struct neap_process *process;
	struct neap_strategies *strategies;  /* NULL without the role */
	struct neap_deschedule_config *file; /* NULL without --descheduler-config */
	char *text;                          /* of the file, as it was read last */
	char trouble[NEAP_ERROR_MSG];        /* why that cannot be used; "" */
	bool waits;                          /* the trouble may pass: policies, time */
	bool is_reading;                     /* the descheduler reads text */
	bool is_unread;                      /* it has to, or once more */
	struct neap_tasks *tasks;
	struct neap_descheduler *descheduler; /* NULL: it does not work here now */
	struct neap_migrate *migrate;         /* with the descheduler */
	const struct neap_role_policies *policies;
	struct neap_role_prometheus *prometheus;
	char *prometheus_url; /* in the file when it was loaded; NULL: none */
	struct neap_deschedule_routes *routes;
	struct event *look; /* at the file */
	char pause_file[160];
};

/* Reads --descheduler-config if it is given, as root if neapd has it. process is
 * borrowed. */
int neap_role_descheduler_load(struct neap_role_descheduler *role,
			       const struct neap_process *process,
			       struct neap_error *err);
/* Reads the shipped strategies, checks the file, and adds the routes to the server. Does
 * nothing without the role, as do the others. policies and prometheus are borrowed. */
int neap_role_descheduler_open(struct neap_role_descheduler *role,
			       const struct neap_role_policies *policies,
			       struct neap_role_prometheus *prometheus,
			       struct neap_http *http, struct neap_error *err);
/* Begins to work on what the client shows. */
int neap_role_descheduler_start(struct neap_role_descheduler *role,
				struct neap_client *client, struct neap_error *err);
/* Ends before the client does. */
void neap_role_descheduler_stop(struct neap_role_descheduler *role);
/* For SIGHUP, and when the file changes: a file that cannot be used is logged, and the
 * descheduler goes on as before. */
void neap_role_descheduler_reload(struct neap_role_descheduler *role);
/* A policy went live, or out of service. */
void neap_role_descheduler_policies_changed(struct neap_role_descheduler *role);
void neap_role_descheduler_add_metrics(const struct neap_role_descheduler *role,
				       struct neap_buf *out);
/* Call it after the server's end. */
void neap_role_descheduler_free(struct neap_role_descheduler *role);

/* --- role_pods.c: this node's pods: the keeper, the agent, the node's objects --- */

struct neap_role_pods {
	struct neap_keeper *keeper; /* NULL without --run-pods */
	uid_t uid;                  /* of --run-pods-user */
	char dir[160];              /* folder of pods, below DATA_DIR */
	struct neap_node_keep *keep;
	struct neap_agent *agent;
	struct neap_pins *pins;
	struct neap_cpuset reserved_cpus, system_cpus; /* of the options */
};

/* Forks the keeper, with --run-pods. Needs root; before any thread or socket. */
int neap_role_pods_fork(struct neap_role_pods *role, const struct neap_process *process,
			struct neap_error *err);
/* Starts this node's objects, and with --run-pods its pods. client: what the objects
 * are seen through; api: for logs of pods, NULL without. Does nothing when client or node
 * is NULL. labels are the node's. Everything is borrowed. */
int neap_role_pods_start(struct neap_role_pods *role, const struct neap_process *process,
			 struct neap_client *client, const struct neap_daemon_api *api,
			 struct neap_node *node, const json_t *labels,
			 struct neap_error *err);
/* Call it before node and API end. Pods go on running. */
void neap_role_pods_stop(struct neap_role_pods *role);
void neap_role_pods_free(struct neap_role_pods *role);

/* --- role_kubelet.c: this node's pods, as its kubelet has them (--kubelet) --- */

struct neap_role_kubelet {
	const struct neap_process *process;
	struct neap_link *link;       /* NULL without --kubelet */
	struct neap_kubelet *kubelet; /* NULL before its credentials were read */
	struct neap_node *node;
	struct neap_pins *pins; /* NULL before its pods were read */
	void (*failed)(void *arg, const struct neap_error *err);
	void *arg;
};

/* Forks who connects to the kubelet; as root, if neapd has it. Does nothing without
 * --kubelet. process is borrowed. */
int neap_role_kubelet_open(struct neap_role_kubelet *role,
			   const struct neap_process *process, struct neap_error *err);
/* Begins to read, as the loop's user. failed: neapd must end, and its supervisor starts
 * it again. node is borrowed; NULL: nothing is read. */
int neap_role_kubelet_start(struct neap_role_kubelet *role, struct neap_node *node,
			    void (*failed)(void *arg, const struct neap_error *err),
			    void *arg, struct neap_error *err);
/* Call it before the node ends. CPU sets stay. */
void neap_role_kubelet_free(struct neap_role_kubelet *role);

/* --- role_extender.c: a separate server, with the extender for a kube-scheduler --- */

/* Opens its socket, as root if neapd has it. *ret stays NULL when the option is off. */
int neap_daemon_extender_open(const struct neap_config *config,
			      struct neap_daemon_extender **ret, struct neap_error *err);
/* Starts to serve; every request gets 503 until there is a scheduler. Everything is
 * borrowed. Does nothing when extender is NULL, here and below. */
int neap_daemon_extender_start(struct neap_daemon_extender *extender,
			       const struct neap_process *process, struct neap_tls *tls,
			       struct neap_error *err);
/* The scheduler answers from now on; NULL: none does. */
void neap_daemon_extender_set(struct neap_daemon_extender *extender,
			      struct neap_scheduler *scheduler);
/* Call it before the controllers end. NULL is fine. */
void neap_daemon_extender_free(struct neap_daemon_extender *extender);

#endif
