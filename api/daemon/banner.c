/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages at the start: what was found, what neapd does, where to look. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "api/ctl/base/find.h"
#include "api/daemon/neapd.h"
#include "engine/base/quantity.h"

static void print_machine(FILE *out, const struct neap_node *node)
{
	const struct neap_topology *topology = neap_node_topology(node);
	char cpus[64], memory[32] = "memory unknown";
	int64_t bytes = neap_node_memory_bytes(node);

	(void)neap_cpuset_format(&topology->online, cpus, sizeof(cpus));
	if (bytes != NEAP_MISSING)
		(void)neap_bytes_format_human(bytes, memory, sizeof(memory));
	fprintf(out,
		"  machine   %d socket%s, %d core%s, %d CPU%s (%s), %d NUMA node%s, %s\n",
		topology->socket_count, topology->socket_count == 1 ? "" : "s",
		topology->core_count, topology->core_count == 1 ? "" : "s",
		topology->cpu_count, topology->cpu_count == 1 ? "" : "s", cpus,
		topology->node_count, topology->node_count == 1 ? "" : "s", memory);
}

static void print_cgroups(FILE *out, const struct neap_cgroup *cgroup)
{
	bool is_any = false;
	int i;

	fprintf(out, "  cgroups   %s:",
		cgroup->has_v1 ? (cgroup->has_v2 ? "v1 and v2 mixed" : "v1") : "v2");
	for (i = 0; i < NEAP_CTL_UNIFIED; i++) {
		if (cgroup->mount[i].is_present)
			fprintf(out, " %s", neap_controller_name(i));
	}
	if (cgroup->has_v1 && cgroup->mount[NEAP_CTL_UNIFIED].is_present)
		fputs("; pressure from the cgroup2 mount", out);
	fputs("\n  kernel    ", out);
	for (i = 0; i < NEAP_KEY_COUNT; i++) {
		if (cgroup->why_not[i][0] == '\0')
			continue;
		fprintf(out, "%s%s", is_any ? "; " : "", cgroup->why_not[i]);
		is_any = true;
	}
	fprintf(out, "%s\n", is_any ? "" : "has every file that neap can use");
}

static void print_trees(FILE *out, const struct neap_tree *trees, int tree_count,
			bool is_looking)
{
	int i;

	fputs("  groups    ", out);
	for (i = 0; i < tree_count; i++)
		fprintf(out, "%s%s (%s)", i > 0 ? ", " : "", trees[i].root,
			trees[i].is_own ? "neap's own" : "the kubelet's");
	fputs(is_looking ? "; no kubelet here yet\n" : "\n", out);
}

static void print_policies(FILE *out, struct neap_live *live)
{
	json_t *policies = neap_live_rows(live);
	const char *version;
	json_t *policy;
	size_t i;

	fputs("  policies  ", out);
	for (i = 0; i < json_array_size(policies); i++) {
		policy = json_array_get(policies, i);
		version = json_string_value(json_object_get(policy, "version"));
		fprintf(out, "%s%s@%s", i > 0 ? ", " : "",
			json_string_value(json_object_get(policy, "policy")),
			version != NULL ? version : "refused");
	}
	fputs(json_array_size(policies) == 0 ? "none: it only looks\n" : "\n", out);
	json_decref(policies);
}

/* How to call neapctl for this neapd from a shell: with the path beside this program if
 * that is not installed, and with the socket if it is not the default. */
static void name_neapctl(const struct neap_config *config, struct neap_buf *ret)
{
	char program[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	const char *last;
	char *end;

	program[len > 0 ? len : 0] = '\0';
	end = strrchr(program, '/');
	if (end != NULL)
		*end = '\0';
	last = strrchr(program, '/');
	if (end != NULL && (last == NULL || strcmp(last, "/sbin") != 0))
		neap_buf_addf(ret, "%s/", program);
	neap_buf_adds(ret, "neapctl");
	if (strcmp(config->unix_socket, NEAP_FIND_SOCKET) != 0)
		neap_buf_addf(ret, " --socket %s", config->unix_socket);
}

void neap_banner_print(FILE *out, const struct neap_role_node *role,
		       const struct neap_role_server *server, struct neap_live *live)
{
	const struct neap_process *process = server->process;
	const struct neap_config *config = &process->config;
	struct neap_node *node = role->node;
	json_t *status = node != NULL ? neap_node_status(node) : json_object();
	const char *state = json_string_value(json_object_get(status, "state"));
	json_t *hand = config->dry_run ? NULL : json_object_get(status, "hand_pid");
	char release[32];
	struct utsname system;
	struct neap_buf neapctl;

	neap_buf_init(&neapctl, NEAP_BUF_LINE);
	name_neapctl(config, &neapctl);
	(void)uname(&system);
	fprintf(out, "neapd %s on %s, Linux %s\n", NEAP_VERSION, system.nodename,
		system.release);
	if (node != NULL) {
		print_machine(out, node);
		print_cgroups(out, &role->cgroup);
		print_trees(out, role->trees, role->tree_count,
			    neap_role_node_finds_kubelet(role));
	}
	print_policies(out, live);
	if (node == NULL)
		fputs("  acting    no: without the role node it governs no machine\n",
		      out);
	else if (hand != NULL)
		fprintf(out,
			"  acting    the hand (pid %lld) writes as root; the loop runs as %s\n",
			(long long)json_integer_value(hand), process->account.name);
	else
		fprintf(out, "  acting    no: %s (%s)\n", state,
			json_string_value(json_object_get(status, "why")));
	fprintf(out, "  socket    %s", config->unix_socket);
	if (server->tcp_fd >= 0)
		fprintf(out, "; http://%s", config->listen);
	if (server->tls_fd >= 0)
		fprintf(out, "; https://%s",
			config->tls_cert[0] != '\0' ? config->listen
						    : config->tls_listen);
	fputc('\n', out);
	if (node != NULL && hand != NULL)
		fprintf(out,
			"  try       %s run --qos BE -- sleep 60\n            %s top\n",
			neapctl.data, neapctl.data);
	else if (node != NULL)
		fprintf(out, "  try       %s top\n", neapctl.data);
	if (node != NULL)
		fprintf(out, "            %s audit\n", neapctl.data);
	if (server->api != NULL && server->tls_fd >= 0)
		fprintf(out,
			"  objects   kubectl --kubeconfig %s/kubeconfig get nodes,pods\n",
			config->data_dir);
	if (hand != NULL)
		fprintf(out,
			"  stop      Ctrl-C; what is set stays %s for a successor; back at once:\n"
			"            %s release\n",
			neap_duration_format(config->release_after_usec, release,
					     sizeof(release)),
			neapctl.data);
	neap_buf_done(&neapctl);
	(void)fflush(out);
	json_decref(status);
}
