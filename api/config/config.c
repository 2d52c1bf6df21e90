/* SPDX-License-Identifier: Apache-2.0
 *
 * The option table and the command line. */
#include "api/config/config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/config/config_priv.h"
#include "api/http/server.h"
#include "engine/base/mem.h"
#include "engine/machine/cpuset.h"

#define FILE_FALLBACK "/etc/neap/neap.yaml"
#define SECOND        INT64_C(1000000)
#define MINUTE        (60 * SECOND)

#define AT(member)                                                                       \
	offsetof(struct neap_config, member), sizeof(((struct neap_config *)0)->member)

static const char *const level_names[] = {"error", "warn", "info", "debug", NULL};
static const char *const format_names[] = {"text", "json", NULL};
static const char *const seccomp_names[] = {"on", "off", "log", NULL};
static const char *const curve_names[] = {"linear", "log", NULL};

static const struct neap_option options[] = {
	{"config", NULL, NEAP_OPTION_TEXT, AT(config_file), "FILE", NULL, 0, 0, NULL,
	 "settings as YAML; without it " FILE_FALLBACK ", if it exists"},
	{"listen", "listen", NEAP_OPTION_LISTEN, AT(listen), "ADDR:PORT",
	 "127.0.0.1:6327", 0, 0, NULL,
	 "address of the API over TCP, or off; without the role api only if it is given"},
	{"tls-listen", "tls-listen", NEAP_OPTION_LISTEN, AT(tls_listen), "ADDR:PORT",
	 NULL, 0, 0, NULL,
	 "address of the API over TLS, besides --listen, with a certificate that neapd "
	 "makes, or off; for kubectl [the port after that of --listen]"},
	{"insecure-listen", "insecure-listen", NEAP_OPTION_BOOL, AT(insecure_listen),
	 NULL, "false", 0, 0, NULL,
	 "allow plain HTTP on an address that other machines reach: whoever is on the way "
	 "can read everything",
	 .with = "listen"},
	{"tls-cert", "tls-cert", NEAP_OPTION_TEXT, AT(tls_cert), "FILE", "", 0, 0, NULL,
	 "certificate (PEM, with its chain) for --listen, which then speaks TLS only",
	 .with = "listen"},
	{"tls-key", "tls-key", NEAP_OPTION_TEXT, AT(tls_key), "FILE", "", 0, 0, NULL,
	 "private key (PEM) of --tls-cert, which only its owner can read",
	 .with = "listen"},
	{"tls-client-ca", "tls-client-ca", NEAP_OPTION_TEXT, AT(tls_client_ca), "FILE",
	 "", 0, 0, NULL, "CA (PEM) of client certificates, which are then accepted",
	 .with = "listen"},
	{"grant", "grants", NEAP_OPTION_GRANT, AT(grants), "ROLE=WHO", NULL, 0, 0, NULL,
	 "give the role reader, editor, admin or node to user:NAME, group:NAME, "
	 "unix:ACCOUNT or anonymous; may be repeated"},
	{"token-file", "token-file", NEAP_OPTION_TEXT, AT(token_file), "FILE", "", 0, 0,
	 NULL,
	 "tokens of users, in the format of Kubernetes: TOKEN,USER,UID,\"GROUP,...\""},
	{"audit-log", "audit-log", NEAP_OPTION_TEXT, AT(audit_log), "FILE", "", 0, 0,
	 NULL,
	 "log of requests: a line of JSON for each one that changes something or is refused"},
	{"audit-log-size", "audit-log-size", NEAP_OPTION_BYTES, AT(audit_log_bytes),
	 "SIZE", "64Mi", INT64_C(1) << 16, INT64_C(1) << 40, NULL,
	 "size at which the audit log is renamed to FILE.1 and a new one is started",
	 .with = "audit-log"},
	{"host-names", "host-names", NEAP_OPTION_TEXT, AT(host_names), "NAME,...", "", 0,
	 0, NULL,
	 "names that clients without a token may use for this machine, besides its "
	 "addresses, localhost and its node name",
	 .with = "listen"},
	{"user-connections", "user-connections", NEAP_OPTION_COUNT, AT(user_connections),
	 "COUNT", "1024", 8, NEAP_HTTP_KNOWN_MAX, NULL,
	 "connections of one user below admin"},
	{"user-watches", "user-watches", NEAP_OPTION_COUNT, AT(user_watches), "COUNT",
	 "896", 1, NEAP_HTTP_KNOWN_MAX, NULL,
	 "watches and followed logs of one user below admin"},
	{"user-requests", "user-requests", NEAP_OPTION_COUNT, AT(user_requests), "COUNT",
	 "256", 1, NEAP_HTTP_KNOWN_MAX, NULL,
	 "unanswered requests of one user below admin"},
	{"unix-socket", "unix-socket", NEAP_OPTION_TEXT, AT(unix_socket), "PATH", NULL, 0,
	 0, NULL, "unix socket for neapctl [RUN_DIR/neap.sock]"},
	{"run-dir", "run-dir", NEAP_OPTION_TEXT, AT(run_dir), "DIR", "/run/neap", 0, 0,
	 NULL, "directory of socket, journal and freeze file"},
	{"data-dir", "data-dir", NEAP_OPTION_TEXT, AT(data_dir), "DIR", "/var/lib/neap",
	 0, 0, NULL, "directory of the token and of everything that outlives a boot"},
	{"share-dir", "share-dir", NEAP_OPTION_TEXT, AT(share_dir), "DIR", NEAP_SHARE_DIR,
	 0, 0, NULL, "directory of the shipped files, with policies/ and crds/"},
	{"user", "user", NEAP_OPTION_TEXT, AT(user), "NAME", "neap", 0, 0, NULL,
	 "user (name or number) that the loop becomes; the hand stays root"},
	{"policy", "policies", NEAP_OPTION_POLICY, AT(policies), "NAME[:PARAM=VALUE,...]",
	 "qos/cpu-share", 0, 0, NULL,
	 "policy to run: a shipped one or a file; may be repeated; the word none: no policy",
	 NEAP_ROLE_NODE | NEAP_ROLE_SCHEDULER | NEAP_ROLE_DESCHEDULER},
	{"policy-dir", "policy-dir", NEAP_OPTION_TEXT, AT(policy_dir), "DIR", "", 0, 0,
	 NULL,
	 "directory of policy files: a file saved in DIR goes live when it passes its checks",
	 NEAP_ROLE_NODE | NEAP_ROLE_SCHEDULER | NEAP_ROLE_DESCHEDULER},
	{"deleted-policies-size", "deleted-policies-size", NEAP_OPTION_BYTES,
	 AT(deleted_policies_bytes), "SIZE", "16Mi", 0, INT64_C(1) << 40, NULL,
	 "disk space for deleted uploaded policies; the oldest are removed first",
	 NEAP_ROLE_NODE | NEAP_ROLE_SCHEDULER | NEAP_ROLE_DESCHEDULER},
	{"tick", "tick", NEAP_OPTION_DURATION, AT(tick_usec), "TIME", "1s", SECOND / 10,
	 MINUTE, NULL, "interval at which neapd looks at the machine", NEAP_ROLE_NODE},
	{"window", "window", NEAP_OPTION_DURATION, AT(window_usec), "TIME", "60s",
	 10 * SECOND, 60 * MINUTE, NULL, "span of averages and percentiles",
	 NEAP_ROLE_NODE},
	{"release-after", "release-after", NEAP_OPTION_DURATION, AT(release_after_usec),
	 "TIME", "60s", 0, 24 * 60 * MINUTE, NULL,
	 "how long settings stay after neapd has ended, for a next neapd",
	 NEAP_ROLE_NODE},
	{"history-age", "history-age", NEAP_OPTION_DURATION, AT(history_usec), "TIME",
	 "5m", 10 * SECOND, 24 * 60 * MINUTE, NULL,
	 "how long the history of changes is kept, for watches that reconnect",
	 NEAP_ROLE_API},
	{"history-size", "history-size", NEAP_OPTION_BYTES, AT(history_bytes), "SIZE",
	 "64Mi", INT64_C(1) << 20, INT64_C(1) << 34, NULL,
	 "size of this history in memory; the oldest changes are removed first",
	 NEAP_ROLE_API},
	{"max-objects", "max-objects", NEAP_OPTION_COUNT, AT(objects_max), "COUNT",
	 "200000", 100, 100000000, NULL, "maximum number of stored objects",
	 NEAP_ROLE_API},
	{"max-objects-size", "max-objects-size", NEAP_OPTION_BYTES, AT(objects_bytes),
	 "SIZE", "512Mi", INT64_C(1) << 20, INT64_C(1) << 40, NULL,
	 "maximum size of all of them, in memory and on the disk", NEAP_ROLE_API},
	{"max-owned", "max-owned", NEAP_OPTION_COUNT, AT(owned_max), "COUNT", "10000", 1,
	 100000000, NULL,
	 "maximum number of objects of one owner, such as pods of a ReplicaSet or Job",
	 NEAP_ROLE_API},
	{"roles", "roles", NEAP_OPTION_ROLES, AT(roles), "ROLE,...",
	 "api,scheduler,descheduler,controllers,manager,node", 0, 0, NULL,
	 "what this neapd does: api (serves objects, answers over TCP), scheduler (places "
	 "pods), descheduler (moves pods, if it is configured), controllers "
	 "(Deployments, Jobs, lost nodes), manager (nothing yet), node (manages this "
	 "machine)"},
	{"run-pods", "run-pods", NEAP_OPTION_BOOL, AT(run_pods), NULL, "false", 0, 0,
	 NULL, "run pods that are bound to this node, as processes of --run-pods-user",
	 NEAP_ROLE_NODE},
	{"run-pods-user", "run-pods-user", NEAP_OPTION_TEXT, AT(run_pods_user), "NAME",
	 "", 0, 0, NULL, "user (name or number) of the processes of pods; never root",
	 NEAP_ROLE_NODE, .with = "run-pods"},
	{"max-pods", "max-pods", NEAP_OPTION_COUNT, AT(pods_max), "COUNT", "110", 1,
	 10000, NULL, "maximum number of pods that run on this node", NEAP_ROLE_NODE},
	{"pod-processes", "pod-processes", NEAP_OPTION_COUNT, AT(pod_processes_max),
	 "COUNT", "1024", 1, 4000000, NULL,
	 "maximum number of processes and threads of one container", NEAP_ROLE_NODE,
	 .with = "run-pods"},
	{"pod-log-size", "pod-log-size", NEAP_OPTION_BYTES, AT(pod_log_bytes), "SIZE",
	 "10Mi", INT64_C(1) << 12, INT64_C(1) << 34, NULL,
	 "size at which a new log file of a container is started", NEAP_ROLE_NODE,
	 .with = "run-pods"},
	{"pod-log-files", "pod-log-files", NEAP_OPTION_COUNT, AT(pod_log_files), "COUNT",
	 "5", 1, 100, NULL, "log files that are kept of a container", NEAP_ROLE_NODE,
	 .with = "run-pods"},
	{"reserve-memory", "reserve-memory", NEAP_OPTION_BYTES, AT(reserve_bytes), "SIZE",
	 "0", 0, INT64_C(1) << 50, NULL,
	 "memory reserved for the system, which pods cannot request, like 512Mi",
	 NEAP_ROLE_NODE},
	{"node-grace", "node-grace", NEAP_OPTION_DURATION, AT(node_grace_usec), "TIME",
	 "40s", SECOND, 60 * MINUTE, NULL, "time after which a silent node is NotReady",
	 NEAP_ROLE_CONTROLLERS},
	{"reservation-gc-age", "reservation-gc-age", NEAP_OPTION_DURATION,
	 AT(reservation_keep_usec), "TIME", "24h", 0, 365 * 24 * 60 * MINUTE, NULL,
	 "time after which ended Reservations are deleted; 0: never",
	 NEAP_ROLE_SCHEDULER},
	{"schedule-default", "schedule-default", NEAP_OPTION_BOOL, AT(schedule_default),
	 NULL, "true", 0, 0, NULL,
	 "the scheduler also places pods of default-scheduler; false if a kube-scheduler "
	 "does",
	 NEAP_ROLE_SCHEDULER},
	{"kubeconfig", "kubeconfig", NEAP_OPTION_TEXT, AT(kubeconfig), "FILE", "", 0, 0,
	 NULL,
	 "use the objects of the kube-apiserver that FILE names; auto: found as by kubectl, "
	 "or by the service account of the pod",
	 NEAP_ROLE_SCHEDULER | NEAP_ROLE_NODE | NEAP_ROLE_DESCHEDULER},
	{"kube-api-qps", "kube-api-qps", NEAP_OPTION_COUNT, AT(api_qps), "COUNT", "50", 0,
	 100000, NULL,
	 "requests to the kube-apiserver a second, bindings and watches not counted; 0: no "
	 "limit",
	 NEAP_ROLE_SCHEDULER | NEAP_ROLE_NODE | NEAP_ROLE_DESCHEDULER,
	 .with = "kubeconfig"},
	{"kube-api-burst", "kube-api-burst", NEAP_OPTION_COUNT, AT(api_burst), "COUNT",
	 "100", 1, 100000, NULL, "size of a burst of these requests",
	 NEAP_ROLE_SCHEDULER | NEAP_ROLE_NODE | NEAP_ROLE_DESCHEDULER,
	 .with = "kubeconfig"},
	{"leader-elect", "leader-elect", NEAP_OPTION_BOOL, AT(leader_elect), NULL, "true",
	 0, 0, NULL, "of several neapds only the one that holds a Lease works",
	 NEAP_ROLE_SCHEDULER | NEAP_ROLE_DESCHEDULER, .with = "kubeconfig"},
	{"leader-elect-resource-namespace", "leader-elect-resource-namespace",
	 NEAP_OPTION_NAME, AT(lease_ns), "NAME", "kube-system", 0, 0, NULL,
	 "namespace of the Lease", NEAP_ROLE_SCHEDULER, .with = "kubeconfig"},
	{"leader-elect-resource-name", "leader-elect-resource-name", NEAP_OPTION_NAME,
	 AT(lease_name), "NAME", "neap-scheduler", 0, 0, NULL,
	 "name of the Lease; koord-scheduler in koordinator-system replaces that scheduler",
	 NEAP_ROLE_SCHEDULER, .with = "kubeconfig"},
	{"leader-elect-lease-duration", "leader-elect-lease-duration",
	 NEAP_OPTION_DURATION, AT(lease_usec), "TIME", "15s", SECOND, 60 * MINUTE, NULL,
	 "time after which others may take a Lease that is not renewed",
	 NEAP_ROLE_SCHEDULER | NEAP_ROLE_DESCHEDULER, .with = "kubeconfig"},
	{"leader-elect-renew-deadline", "leader-elect-renew-deadline",
	 NEAP_OPTION_DURATION, AT(lease_renew_usec), "TIME", "10s", SECOND / 2,
	 60 * MINUTE, NULL,
	 "time after which a leader that cannot renew its Lease gives up",
	 NEAP_ROLE_SCHEDULER | NEAP_ROLE_DESCHEDULER, .with = "kubeconfig"},
	{"leader-elect-retry-period", "leader-elect-retry-period", NEAP_OPTION_DURATION,
	 AT(lease_retry_usec), "TIME", "2s", SECOND / 10, 60 * MINUTE, NULL,
	 "time between two attempts to get or renew the Lease",
	 NEAP_ROLE_SCHEDULER | NEAP_ROLE_DESCHEDULER, .with = "kubeconfig"},
	{"scheduler-config", "scheduler-config", NEAP_OPTION_TEXT, AT(scheduler_config),
	 "FILE", "", 0, 0, NULL,
	 "KubeSchedulerConfiguration: profiles, plugins and their arguments",
	 NEAP_ROLE_SCHEDULER},
	{"descheduler-config", "descheduler-config", NEAP_OPTION_TEXT,
	 AT(descheduler_config), "FILE", "", 0, 0, NULL,
	 "DeschedulerConfiguration or DeschedulerPolicy: which pods to evict; without it "
	 "that in ConfigMap koordinator-system/koord-descheduler-config",
	 NEAP_ROLE_DESCHEDULER},
	{"descheduler-interval", "descheduler-interval", NEAP_OPTION_DURATION,
	 AT(descheduler_interval_usec), "TIME", "5m", 0, 24 * 60 * MINUTE, NULL,
	 "time between two rounds of a DeschedulerPolicy; 0: one round only",
	 NEAP_ROLE_DESCHEDULER},
	{"descheduler-dry-run", "descheduler-dry-run", NEAP_OPTION_BOOL,
	 AT(descheduler_dry_run), NULL, "false", 0, 0, NULL,
	 "rounds only report which pods would be evicted, whatever the configuration says",
	 NEAP_ROLE_DESCHEDULER},
	{"descheduler-max-per-node", "descheduler-max-per-node", NEAP_OPTION_COUNT,
	 AT(descheduler_per_node), "COUNT", "0", 0, 1000000, NULL,
	 "maximum number of pods evicted from a node in a round, whatever the "
	 "configuration says; 0: no limit",
	 NEAP_ROLE_DESCHEDULER},
	{"descheduler-max-per-namespace", "descheduler-max-per-namespace",
	 NEAP_OPTION_COUNT, AT(descheduler_per_namespace), "COUNT", "0", 0, 1000000, NULL,
	 "the same for a namespace", NEAP_ROLE_DESCHEDULER},
	{"descheduler-max-total", "descheduler-max-total", NEAP_OPTION_COUNT,
	 AT(descheduler_total), "COUNT", "0", 0, 1000000, NULL,
	 "the same for all nodes together", NEAP_ROLE_DESCHEDULER},
	{"extender-listen", "extender-listen", NEAP_OPTION_LISTEN, AT(extender_listen),
	 "ADDR:PORT", "off", 0, 0, NULL,
	 "address of the extender for a kube-scheduler, over TLS with client certificates "
	 "(--tls-client-ca), or off",
	 NEAP_ROLE_SCHEDULER},
	{"extender-plain", "extender-plain", NEAP_OPTION_BOOL, AT(extender_plain), NULL,
	 "false", 0, 0, NULL,
	 "--extender-listen, a local address, without TLS: all verbs except bind, for "
	 "everybody on this machine",
	 NEAP_ROLE_SCHEDULER},
	{"extender-deadline", "extender-deadline", NEAP_OPTION_DURATION,
	 AT(extender_deadline_usec), "TIME", "4s", SECOND / 10, 60 * MINUTE, NULL,
	 "time after which the extender answers with what it knows by then; less than the "
	 "httpTimeout of the kube-scheduler",
	 NEAP_ROLE_SCHEDULER, .with = "extender-listen"},
	{"event-ttl", "event-ttl", NEAP_OPTION_DURATION, AT(event_ttl_usec), "TIME", "1h",
	 0, 30 * 24 * 60 * MINUTE, NULL,
	 "how long the API keeps an event after its last write; 0: as long as there is "
	 "room",
	 NEAP_ROLE_API},
	{"node-name", "node-name", NEAP_OPTION_NAME, AT(node_name), "NAME", NULL, 0, 0,
	 NULL, "name of this node [the host's name]"},
	{"node-label", "node-labels", NEAP_OPTION_LABEL, AT(node_labels), "KEY=VALUE",
	 NULL, 0, 0, NULL, "label of this node, for `where` of policies; may be repeated",
	 NEAP_ROLE_NODE},
	{"open-metrics", "open-metrics", NEAP_OPTION_BOOL, AT(open_metrics), NULL,
	 "false", 0, 0, NULL, "serve /metrics without authentication", .with = "listen"},
	{"dry-run", "dry-run", NEAP_OPTION_BOOL, AT(dry_run), NULL, "false", 0, 0, NULL,
	 "write nothing, and log what would be written", NEAP_ROLE_NODE},
	{"group", "group", NEAP_OPTION_GROUP, AT(group), "NAME", "neap", 0, 0, NULL,
	 "neap's own cgroup, for services started by neapctl run", NEAP_ROLE_NODE},
	{"best-effort-group", "best-effort-group", NEAP_OPTION_GROUP,
	 AT(best_effort_group), "NAME", NULL, 0, 0, NULL,
	 "neap's own cgroup for best-effort work, beside --group [the name of --group and "
	 "\"-besteffort\"]",
	 NEAP_ROLE_NODE},
	{"kubepods", "kubepods", NEAP_OPTION_GROUP, AT(kubepods), "GROUP", "auto", 0, 0,
	 NULL, "root cgroup of a kubelet's pods, or auto, or off", NEAP_ROLE_NODE},
	{"kubelet-dir", "kubelet-dir", NEAP_OPTION_TEXT, AT(kubelet_dir), "DIR", "auto",
	 0, 0, NULL,
	 "directory of the kubelet's cpu_manager_state and config.yaml, or auto",
	 NEAP_ROLE_NODE, .with = "kubepods"},
	{"kubelet", "kubelet", NEAP_OPTION_TEXT, AT(kubelet), "URL", "", 0, 0, NULL,
	 "without the role api and --kubeconfig: read the pods of this node from its "
	 "kubelet at URL/pods, like https://127.0.0.1:10250",
	 NEAP_ROLE_NODE},
	{"kubelet-certificate-authority", "kubelet-certificate-authority",
	 NEAP_OPTION_TEXT, AT(kubelet_ca), "FILE", "", 0, 0, NULL,
	 "CA of the kubelet's certificate (PEM) [the system's]", NEAP_ROLE_NODE,
	 .with = "kubelet"},
	{"kubelet-client-certificate", "kubelet-client-certificate", NEAP_OPTION_TEXT,
	 AT(kubelet_cert), "FILE", "", 0, 0, NULL,
	 "client certificate (PEM) for the kubelet", NEAP_ROLE_NODE, .with = "kubelet"},
	{"kubelet-client-key", "kubelet-client-key", NEAP_OPTION_TEXT, AT(kubelet_key),
	 "FILE", "", 0, 0, NULL, "private key (PEM) of the client certificate",
	 NEAP_ROLE_NODE, .with = "kubelet"},
	{"kubelet-token-file", "kubelet-token-file", NEAP_OPTION_TEXT, AT(kubelet_token),
	 "FILE", "", 0, 0, NULL,
	 "bearer token for the kubelet, read again when it changes", NEAP_ROLE_NODE,
	 .with = "kubelet"},
	{"kubelet-insecure-tls", "kubelet-insecure-tls", NEAP_OPTION_BOOL,
	 AT(kubelet_insecure), NULL, "false", 0, 0, NULL,
	 "accept any certificate of the kubelet: whoever answers at URL gets the token",
	 NEAP_ROLE_NODE, .with = "kubelet"},
	{"kubelet-sync-interval", "kubelet-sync-interval", NEAP_OPTION_DURATION,
	 AT(kubelet_sync_usec), "TIME", "10s", SECOND / 10, 10 * MINUTE, NULL,
	 "interval at which the kubelet's pods are read", NEAP_ROLE_NODE,
	 .with = "kubelet"},
	{"cgroup-root", "cgroup-root", NEAP_OPTION_TEXT, AT(cgroup_root), "DIR", "", 0, 0,
	 NULL, "cgroup hierarchies below DIR instead of the mounted ones",
	 NEAP_ROLE_NODE},
	{"sys-root", "sys-root", NEAP_OPTION_TEXT, AT(sys_root), "DIR", "", 0, 0, NULL,
	 "proc and sys below DIR instead of /", NEAP_ROLE_NODE},
	{"weight-curve", "weight-curve", NEAP_OPTION_CHOICE, AT(weight_curve), "CURVE",
	 "linear", 0, 0, curve_names,
	 "conversion of cpu.shares to cpu.weight, as the container runtime does it",
	 NEAP_ROLE_NODE},
	{"reserve-cpu", "reserve-cpu", NEAP_OPTION_MILLI, AT(reserve_milli), "CPUS", "0",
	 0, INT64_C(1000) * NEAP_CPU_MAX, NULL,
	 "CPU reserved for the system, like 500m or 2", NEAP_ROLE_NODE},
	{"reserved-cpus", "reserved-cpus", NEAP_OPTION_CPUS, AT(reserved_cpus), "LIST",
	 "", 0, 0, NULL, "CPUs that best-effort work never gets, like 0-1,8",
	 NEAP_ROLE_NODE},
	{"system-cpus", "system-cpus", NEAP_OPTION_CPUS, AT(system_cpus), "LIST", "", 0,
	 0, NULL, "CPUs for work of class SYSTEM only", NEAP_ROLE_NODE},
	{"log-level", "log-level", NEAP_OPTION_CHOICE, AT(log_level), "LEVEL", "info", 0,
	 0, level_names, "lowest level that is logged"},
	{"log-format", "log-format", NEAP_OPTION_CHOICE, AT(log_format), "FORMAT", "text",
	 0, 0, format_names, "format of log lines"},
	{"seccomp", "seccomp", NEAP_OPTION_CHOICE, AT(seccomp), "MODE", "on", 0, 0,
	 seccomp_names, "system call filter of loop and hand"},
	{"give-back", NULL, NEAP_OPTION_BOOL, AT(give_back), NULL, "false", 0, 0, NULL,
	 "restore the original values that a dead neapd left changed, and exit"},
	{"give-back-later", NULL, NEAP_OPTION_BOOL, AT(give_back_later), NULL, "false", 0,
	 0, NULL,
	 "exit at once; what a dead neapd left changed is restored after --release-after, "
	 "unless a neapd takes it over"},
	{"new-store", NULL, NEAP_OPTION_BOOL, AT(new_store), NULL, "false", 0, 0, NULL,
	 "set the store of --data-dir aside, so that the next start has no objects, and "
	 "exit"},
	{NULL, "hostApplications", NEAP_OPTION_APPS, AT(host_apps), NULL, NULL, 0, 0,
	 NULL, "services outside pods: name, qos, cgroupPath", NEAP_ROLE_NODE},
	{"help", NULL, NEAP_OPTION_ACTION, 0, 0, NULL, NULL, NEAP_CONFIG_HELP, 0, NULL,
	 "print this help"},
	{"version", NULL, NEAP_OPTION_ACTION, 0, 0, NULL, NULL, NEAP_CONFIG_VERSION, 0,
	 NULL, "print the version"},
	{NULL, NULL, NEAP_OPTION_ACTION},
};

const struct neap_option *neap_config_options(void)
{
	return options;
}

/* --- command line --- */

static int unknown_option(const char *arg, struct neap_error *err)
{
	const char *names[NEAP_ARRAY_LEN(options)];
	char name[64];
	const char *nearest;
	size_t count = 0, i;

	for (i = 0; options[i].flag || options[i].key; i++)
		if (options[i].flag)
			names[count++] = options[i].flag;
	neap_strcopy(name, sizeof(name), arg + strspn(arg, "-"));
	name[strcspn(name, "=")] = '\0';
	nearest = neap_config_nearest(name, names, count);
	if (arg[0] != '-')
		return neap_error_set(err, NEAP_EINVAL,
				      "'%s': neapd takes options only (see --help)", arg);
	if (nearest)
		return neap_error_set(
			err, NEAP_EINVAL,
			"unknown option '%s': did you mean --%s? (see --help)", arg,
			nearest);
	return neap_error_set(err, NEAP_EINVAL, "unknown option '%s' (see --help)", arg);
}

static const struct neap_option *find_flag(const char *arg, const char **ret_value)
{
	size_t len = strcspn(arg, "="), i;

	if (strcmp(arg, "-h") == 0)
		arg = "--help", len = 6;
	if (strncmp(arg, "--", 2) != 0)
		return NULL;
	for (i = 0; options[i].flag || options[i].key; i++)
		if (options[i].flag && strlen(options[i].flag) == len - 2 &&
		    strncmp(options[i].flag, arg + 2, len - 2) == 0) {
			*ret_value = arg[len] == '=' ? arg + len + 1 : NULL;
			return &options[i];
		}
	return NULL;
}

static int read_flags(int argc, char **argv, struct neap_config *config,
		      enum neap_config_action *action, struct neap_error *err)
{
	bool has_policy = false, has_label = false, has_grant = false;
	int i;

	for (i = 1; i < argc; i++) {
		const char *value = NULL;
		const struct neap_option *option = find_flag(argv[i], &value);
		int r;

		if (!option)
			return unknown_option(argv[i], err);
		if (option->type == NEAP_OPTION_ACTION) {
			*action = (enum neap_config_action)option->min;
			return 0;
		}
		if (!value && option->type == NEAP_OPTION_BOOL)
			value = "true";
		if (!value && i + 1 < argc)
			value = argv[++i];
		if (!value)
			return neap_error_set(err, NEAP_EINVAL, "--%s needs a value: %s",
					      option->flag, option->metavar);
		if (option->type == NEAP_OPTION_POLICY && !has_policy) {
			config->policy_count = 0; /* flags replace those of the file */
			has_policy = true;
		}
		if (option->type == NEAP_OPTION_LABEL && !has_label) {
			config->node_label_count = 0;
			has_label = true;
		}
		if (option->type == NEAP_OPTION_GRANT && !has_grant) {
			memset(&config->grants, 0, sizeof(config->grants));
			has_grant = true;
		}
		r = neap_config_set(config, option, value, err);
		if (r < 0)
			return neap_error_wrap(err, "--%s", option->flag);
		neap_config_note_given(config, option);
	}
	return 0;
}

void neap_config_note_given(struct neap_config *config, const struct neap_option *option)
{
	config->is_given[option - options] = true;
}

/* Whether that option is in effect, which others go with. */
static bool is_on(const struct neap_config *config, const char *flag)
{
	const struct neap_option *option = options;
	const void *value;

	while (strcmp(option->flag ? option->flag : "", flag) != 0)
		option++;
	value = (const char *)config + option->offset;
	if (option->offset == offsetof(struct neap_config, listen))
		return neap_config_has_tcp(config) ||
		       strcmp(config->tls_listen, "off") != 0 ||
		       strcmp(config->extender_listen, "off") != 0;
	if (option->type == NEAP_OPTION_BOOL)
		return *(const bool *)value;
	return *(const char *)value && strcmp(value, "off") != 0;
}

bool neap_config_idle_get(const struct neap_config *config, size_t *index,
			  struct neap_config_idle *ret)
{
	for (; options[*index].flag || options[*index].key; ++*index) {
		const struct neap_option *option = &options[*index];
		bool is_others = option->roles && !(option->roles & config->roles);
		bool is_alone = option->with && !is_on(config, option->with);

		if (!config->is_given[*index] || (!is_others && !is_alone))
			continue;
		ret->dashes = option->flag ? "--" : "";
		ret->name = option->flag ? option->flag : option->key;
		ret->with = is_others ? NULL : option->with;
		neap_config_list_roles(option->roles, ret->roles, sizeof(ret->roles));
		++*index;
		return true;
	}
	return false;
}

static int set_defaults(struct neap_config *config, struct neap_error *err)
{
	size_t i;

	_Static_assert(NEAP_ARRAY_LEN(options) <= NEAP_CONFIG_OPTIONS_MAX,
		       "a row for each in is_given");

	memset(config, 0, sizeof(*config));
	for (i = 0; options[i].flag || options[i].key; i++) {
		const char *text = options[i].fallback;

		if (text && *text && neap_config_set(config, &options[i], text, err) < 0)
			return neap_error_wrap(err, "default of --%s", options[i].flag);
	}
	return 0;
}

int neap_config_parse(int argc, char **argv, struct neap_config *ret,
		      enum neap_config_action *ret_action, struct neap_error *err)
{
	neap_auto_free struct neap_config *config = neap_alloc(sizeof(*config));
	enum neap_config_action action = NEAP_CONFIG_RUN;
	char file[sizeof(config->config_file)];
	int r;

	if (!config)
		return neap_error_nomem(err);
	/* Flags are read twice: first for the name of the file, then again to beat it. */
	r = set_defaults(config, err);
	if (r == 0)
		r = read_flags(argc, argv, config, &action, err);
	if (r < 0)
		return r;
	if (action != NEAP_CONFIG_RUN) {
		*ret_action = action;
		return 0;
	}
	neap_strcopy(file, sizeof(file), config->config_file);
	if (!*file && access(FILE_FALLBACK, F_OK) == 0)
		neap_strcopy(file, sizeof(file), FILE_FALLBACK);
	if (*file) {
		r = set_defaults(config, err);
		if (r == 0)
			r = neap_config_read_file(config, file, err);
		if (r == 0)
			r = read_flags(argc, argv, config, &action, err);
		neap_strcopy(config->config_file, sizeof(config->config_file), file);
	}
	if (r == 0)
		r = neap_config_finish(config, err);
	if (r < 0)
		return r;
	memcpy(ret, config, sizeof(*ret));
	*ret_action = action;
	return 0;
}

bool neap_config_flag_get(size_t index, struct neap_config_flag *ret)
{
	const struct neap_option *option = options;

	for (; option->flag || option->key; option++) {
		if (!option->flag || index-- > 0)
			continue;
		*ret = (struct neap_config_flag){option->flag, option->metavar,
						 option->doc, option->choices};
		return true;
	}
	return false;
}

char *neap_config_help(void)
{
	neap_auto_buf struct neap_buf out = {0};
	size_t i;

	neap_buf_init(&out, NEAP_BUF_LINE);
	neap_buf_adds(
		&out,
		"Usage: neapd [OPTION...]\n\n"
		"Schedules pods, and protects latency-critical services from batch jobs, "
		"by Lua policies.\nEvery option except --config, --give-back, "
		"--give-back-later, --new-store, --help and "
		"--version is also a key\nof the configuration file.\n\n");
	for (i = 0; options[i].flag || options[i].key; i++) {
		const struct neap_option *o = &options[i];
		char choices[128] = "";

		if (!o->flag)
			continue;
		if (o->choices)
			neap_config_list_choices(o->choices, choices, sizeof(choices));
		neap_buf_addf(&out, "  --%s%s%s\n        %s%s%s", o->flag,
			      o->metavar ? " " : "", o->metavar ? o->metavar : "", o->doc,
			      *choices ? ": " : "", choices);
		if (o->fallback && *o->fallback && o->type != NEAP_OPTION_BOOL)
			neap_buf_addf(&out, " [%s]", o->fallback);
		neap_config_list_roles(o->roles, choices, sizeof(choices));
		if (*choices)
			neap_buf_addf(&out, " (role %s)", choices);
		neap_buf_addc(&out, '\n');
	}
	neap_buf_adds(
		&out,
		"\nOnly in the file: policies (a list of names, or of {policy, "
		"params}),\nnode-labels (a mapping), grants (a list of ROLE=WHO) and\n"
		"hostApplications (a list of {name, qos,\ncgroupPath: {base, "
		"parentDir, relativePath}}).\n");
	return neap_buf_take(&out);
}
