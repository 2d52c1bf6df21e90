/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of neapd. Every option is a flag (--name VALUE or --name=VALUE) and a key of
 * the same name in neap.yaml; a flag overrides the file. One table holds them all: name,
 * type, default, help. */
#ifndef NEAP_API_CONFIG_CONFIG_H
#define NEAP_API_CONFIG_CONFIG_H

#include "api/http/users/grants.h"
#include "api/policy/judge.h"
#include "engine/log/log.h"
#include "engine/machine/key.h"
#include "engine/machine/path.h"
#include "hw/jail.h"

#define NEAP_HOST_APPS_MAX      32
#define NEAP_POLICIES_MAX       16
#define NEAP_CONFIG_OPTIONS_MAX 112

struct neap_policy_choice {
	char source[256]; /* "qos/cpu-share" (shipped) or a file */
	struct neap_param_text params[16];
	int param_count;
};

/* What this neapd does, as bits of --roles. */
enum neap_role {
	NEAP_ROLE_API = 1,       /* serves objects */
	NEAP_ROLE_NODE = 2,      /* governs this machine */
	NEAP_ROLE_SCHEDULER = 4, /* places pods */
	NEAP_ROLE_MANAGER = 8,   /* objects of koord-manager; nothing yet */
	/* ReplicaSets, Deployments, Jobs, lost nodes: with the embedded server alone, as
	 * a cluster has its kube-controller-manager */
	NEAP_ROLE_CONTROLLERS = 16,
	NEAP_ROLE_DESCHEDULER = 32, /* evicts and migrates pods, when it is configured */
};

#define NEAP_NODE_LABELS_MAX 32

struct neap_node_label {
	char key[320], value[64];
};

struct neap_config {
	char config_file[256]; /* --config */
	char listen[64];       /* --listen, "127.0.0.1:6327"; "off" */
	/* --tls-listen; "off" without the role api and with --tls-cert, where --listen is
	 * TLS */
	char tls_listen[64];
	bool has_tls_listen;  /* it was named */
	bool insecure_listen; /* --insecure-listen: plain HTTP beyond this machine */
	char tls_cert[256], tls_key[256], tls_client_ca[256]; /* --tls-...; "" none */
	struct neap_grants grants;                            /* --grant */
	char audit_log[256];                                  /* --audit-log; "" none */
	int64_t audit_log_bytes;                              /* --audit-log-size, 64Mi */
	char token_file[256];                                 /* --token-file; "" none */
	char host_names[256];                                 /* --host-names */
	/* for each user below admin */
	int64_t user_connections, user_watches, user_requests;
	char unix_socket[108]; /* --unix-socket, RUN_DIR/neap.sock */
	char data_dir[128];    /* --data-dir, /var/lib/neap */
	char run_dir[128];     /* --run-dir, /run/neap */
	char share_dir[256];   /* --share-dir: contains policies/ and crds/ */
	char user[64];         /* --user: name or uid of the loop; default neap */
	char cgroup_root[256]; /* --cgroup-root, "" = the machine's mounts */
	char sys_root[256];    /* --sys-root, "" = / */
	char group[64];        /* --group: root group of neap's services, "neap" */
	/* --best-effort-group: root group of best-effort work */
	char best_effort_group[80];
	char kubelet_dir[256]; /* --kubelet-dir, or auto until the start; may not exist */
	char kubepods[128];    /* --kubepods: auto, off, or the kubelet's root group */
	int64_t window_usec;   /* --window, 60s: span of averages and percentiles */
	int64_t tick_usec;     /* --tick, 1s (at least 100ms) */
	int64_t release_after_usec; /* --release-after, 60s */
	/* --history-age, 5m: how long the store keeps history */
	int64_t history_usec;
	int64_t history_bytes;     /* --history-size, 64Mi */
	int64_t objects_max;       /* --max-objects, 200000 */
	int64_t objects_bytes;     /* --max-objects-size, 512Mi */
	int64_t owned_max;         /* --max-owned, 10000 */
	bool dry_run;              /* --dry-run */
	bool open_metrics;         /* --open-metrics */
	unsigned roles;            /* --roles */
	int64_t event_ttl_usec;    /* --event-ttl, 1h; 0: events do not expire */
	char node_name[256];       /* --node-name, the host's name */
	bool run_pods;             /* --run-pods: pods bound to this node run here */
	char run_pods_user[64];    /* --run-pods-user, required with it */
	int64_t pods_max;          /* --max-pods, 110 */
	int64_t pod_processes_max; /* --pod-processes, of one container, 1024 */
	int64_t pod_log_bytes;     /* --pod-log-size, of one file, 10Mi */
	int64_t pod_log_files;     /* --pod-log-files, of one container, 5 */
	/* --reserve-memory: subtracted from what pods may request */
	int64_t reserve_bytes;
	int64_t node_grace_usec;       /* --node-grace, 40s */
	int64_t reservation_keep_usec; /* --reservation-gc-age, 24h; 0: never */
	char extender_listen[64];      /* --extender-listen; "off" */
	bool extender_plain; /* --extender-plain: without TLS, on loopback only */
	int64_t extender_deadline_usec; /* --extender-deadline, 4s */
	bool schedule_default; /* --schedule-default: pods of default-scheduler too */
	char kubeconfig[256];  /* --kubeconfig; "" none */
	int64_t api_qps, api_burst;         /* --kube-api-qps, --kube-api-burst */
	bool leader_elect;                  /* --leader-elect */
	char lease_ns[64], lease_name[254]; /* --leader-elect-resource-... */
	/* --descheduler-leader-elect-resource-... */
	char descheduler_lease_ns[64], descheduler_lease_name[254];
	/* --leader-elect-lease-duration, -renew-deadline, -retry-period */
	int64_t lease_usec, lease_renew_usec, lease_retry_usec;
	/* --kubelet, and what goes with it; "" none */
	char kubelet[256], kubelet_ca[256], kubelet_cert[256], kubelet_key[256],
		kubelet_token[256];
	bool kubelet_insecure;             /* --kubelet-insecure-tls */
	int64_t kubelet_sync_usec;         /* --kubelet-sync-interval, 10s */
	char scheduler_config[256];        /* --scheduler-config; "" none */
	char descheduler_config[256];      /* --descheduler-config; "" none */
	int64_t descheduler_interval_usec; /* --descheduler-interval, 5m */
	bool descheduler_dry_run;          /* --descheduler-dry-run */
	/* --descheduler-max-...: ceilings of a round; 0: none */
	int64_t descheduler_per_node, descheduler_per_namespace, descheduler_total;
	/* --prometheus, and what goes with it; "" none */
	char prometheus[256], prometheus_ca[256], prometheus_token[256];
	struct neap_node_label node_labels[NEAP_NODE_LABELS_MAX]; /* --node-label */
	int node_label_count;
	char policy_dir[256];           /* --policy-dir, "" none */
	int64_t deleted_policies_bytes; /* --deleted-policies-size, 16Mi */
	enum neap_log_level log_level;
	enum neap_log_format log_format;
	enum neap_jail_mode seccomp;         /* --seccomp on|off|log */
	enum neap_weight_curve weight_curve; /* --weight-curve linear|log */
	/* --reserve-cpu: subtracted from capacity for the system, a quantity */
	int64_t reserve_milli;
	char reserved_cpus
		[256]; /* --reserved-cpus: CPUs that best-effort work never gets */
	char system_cpus[256]; /* --system-cpus: exclusive CPUs of class SYSTEM */
	bool give_back;        /* --give-back: one-shot, for use without a daemon */
	bool give_back_later;  /* --give-back-later: makes sure that a hand is waiting */
	bool new_store;        /* --new-store: moves the stored objects aside */
	struct neap_policy_choice policies
		[NEAP_POLICIES_MAX]; /* --policy NAME[:param=value,...], repeatable */
	/* 0 after parsing means "none" was given; the default is qos/cpu-share */
	int policy_count;
	struct neap_host_app
		host_apps[NEAP_HOST_APPS_MAX]; /* file only: hostApplications */
	int host_app_count;
	bool is_given[NEAP_CONFIG_OPTIONS_MAX]; /* by row of the table */
};

enum neap_config_action { NEAP_CONFIG_RUN, NEAP_CONFIG_HELP, NEAP_CONFIG_VERSION };

/* Applies defaults, then the file (--config, or /etc/neap/neap.yaml if it exists), then
 * flags. Errors name the option or file:line, and what is allowed. */
int neap_config_parse(int argc, char **argv, struct neap_config *ret,
		      enum neap_config_action *ret_action, struct neap_error *err);
/* An option of the command line, for completion. */
struct neap_config_flag {
	const char *name, *metavar, *doc; /* metavar NULL: takes no value */
	const char *const *choices;       /* NULL: any; else ends with NULL */
};
/* Returns row index of the table; false after the last. */
bool neap_config_flag_get(size_t index, struct neap_config_flag *ret);
/* An option that has no effect, because it is for other roles or requires another
 * option. */
struct neap_config_idle {
	const char *dashes, *name; /* "--", "window"; "", "hostApplications" */
	const char *with;          /* "run-pods"; NULL: it is for other roles */
	char roles[64];            /* "node", "node or scheduler" */
};
/* Finds the next one from *index on and advances *index; false at the end. */
bool neap_config_idle_get(const struct neap_config *config, size_t *index,
			  struct neap_config_idle *ret);
/* Returns whether neapd serves TCP: with the role api, or when --listen was given. */
bool neap_config_has_tcp(const struct neap_config *config);
/* Returns the help text, generated from the table. The caller frees it. */
char *neap_config_help(void);

#endif
