/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl status`: what neapd is doing, its figures, and what this machine lacks. */
#include <stdio.h>
#include <string.h>

#include "api/ctl/base/client.h"
#include "api/ctl/draw/cells.h"
#include "api/ctl/draw/text.h"
#include "engine/base/quantity.h"

static void add_program(const json_t *status, struct neap_buf *out)
{
	char pid[NEAP_CELL_BYTES], hand[NEAP_CELL_BYTES], up[NEAP_CELL_BYTES] = "-";
	const json_t *seconds = json_object_get(status, "uptime_seconds");

	if (json_is_number(seconds) && json_number_value(seconds) < 1e12)
		(void)neap_duration_format((int64_t)json_number_value(seconds) * 1000000,
					   up, sizeof(up));
	neap_buf_addf(out, "neapd     %s, pid %s, hand %s, up %s\n",
		      neap_cell_text(status, "version"),
		      neap_cell_integer(status, "pid", pid),
		      neap_cell_integer(status, "hand_pid", hand), up);
	neap_buf_addf(out, "state     %s", neap_cell_text(status, "state"));
	if (json_object_get(status, "why") != NULL)
		neap_buf_addf(out, ": %s", neap_cell_text(status, "why"));
	neap_buf_addc(out, '\n');
}

/* One process: "uid 0; dac_override, sys_nice; filter on; Landlock 7". */
static void add_privileges(const json_t *process, const char *name, struct neap_buf *out)
{
	char uid[NEAP_CELL_BYTES], version[NEAP_CELL_BYTES];
	const json_t *caps = json_object_get(process, "capabilities");
	const json_t *landlock = json_object_get(process, "landlock");
	const json_t *cap;
	size_t i;

	if (process == NULL)
		return;
	neap_buf_addf(out, "%-9s uid %s, %s", name,
		      neap_cell_integer(process, "uid", uid),
		      json_array_size(caps) == 0 ? "no capability" : "capabilities");
	json_array_foreach (caps, i, cap)
		if (json_is_string(cap))
			neap_buf_addf(out, " %s", json_string_value(cap));
	neap_buf_addf(out, "; filter of system calls %s",
		      neap_cell_text(process, "seccomp"));
	if (landlock != NULL && json_integer_value(landlock) == 0)
		neap_buf_adds(out, "; no Landlock");
	else if (landlock != NULL)
		neap_buf_addf(out, "; Landlock %s",
			      neap_cell_integer(process, "landlock", version));
	neap_buf_addc(out, '\n');
}

static void add_node(const json_t *node, struct neap_buf *out)
{
	char a[NEAP_CELL_BYTES], b[NEAP_CELL_BYTES], c[NEAP_CELL_BYTES],
		d[NEAP_CELL_BYTES], e[NEAP_CELL_BYTES];

	neap_buf_addf(out,
		      "CPUs      %s of %s used: critical %s, best-effort %s, system %s\n",
		      neap_cell_cpus(node, "used_milli", a),
		      neap_cell_cpus(node, "capacity_milli", b),
		      neap_cell_cpus(node, "critical_used_milli", c),
		      neap_cell_cpus(node, "besteffort_used_milli", d),
		      neap_cell_cpus(node, "system_used_milli", e));
	neap_buf_addf(out, "memory    %s of %s used\n",
		      neap_cell_bytes(node, "memory_used_bytes", a),
		      neap_cell_bytes(node, "memory_capacity_bytes", b));
	neap_buf_addf(out, "pressure  CPU %s, memory %s, I/O %s; stolen %s\n",
		      neap_cell_percent(node, "cpu_pressure", a),
		      neap_cell_percent(node, "memory_pressure", b),
		      neap_cell_percent(node, "io_pressure", c),
		      neap_cell_percent(node, "stolen_ratio", d));
}

static void add_trees(const json_t *status, struct neap_buf *out)
{
	const json_t *tree;
	size_t i;

	neap_buf_addf(out, "cgroup    %s", neap_cell_text(status, "cgroup"));
	json_array_foreach (json_object_get(status, "trees"), i, tree) {
		neap_buf_addf(
			out, "%s %s (%s%s)", i == 0 ? ":" : ",",
			neap_cell_text(tree, "root"), neap_cell_text(tree, "driver"),
			json_is_true(json_object_get(tree, "own")) ? ", its own" : "");
	}
	neap_buf_addc(out, '\n');
}

static void add_policies(const json_t *status, struct neap_buf *out)
{
	const json_t *policy;
	char calls[NEAP_CELL_BYTES], errors[NEAP_CELL_BYTES];
	size_t i;

	json_array_foreach (json_object_get(status, "policies"), i, policy) {
		neap_buf_addf(out, "policy    %s@%s: %s, %s calls, %s errors\n",
			      neap_cell_text(policy, "policy"),
			      neap_cell_text(policy, "version"),
			      neap_cell_text(policy, "state"),
			      neap_cell_integer(policy, "calls", calls),
			      neap_cell_integer(policy, "errors", errors));
		if (json_object_get(policy, "last_error") != NULL)
			neap_buf_addf(out, "          last error: %s\n",
				      neap_cell_text(policy, "last_error"));
	}
	if (json_array_size(json_object_get(status, "policies")) == 0)
		neap_buf_adds(out, "policy    none\n");
}

static void add_missing(const json_t *status, struct neap_buf *out)
{
	const json_t *why;
	size_t i;

	json_array_foreach (json_object_get(status, "unsupported"), i, why) {
		if (json_is_string(why))
			neap_buf_addf(out, "%s%s\n", i == 0 ? "missing   " : "          ",
				      json_string_value(why));
	}
}

static int print(const json_t *status)
{
	const json_t *privileges;
	struct neap_buf raw, out;
	char ticks[NEAP_CELL_BYTES], usec[NEAP_CELL_BYTES];
	int r;

	neap_buf_init(&raw, NEAP_BUF_REPLY);
	neap_buf_init(&out, NEAP_BUF_REPLY);
	add_program(status, &raw);
	privileges = json_object_get(status, "privileges");
	add_privileges(json_object_get(privileges, "loop"), "loop", &raw);
	add_privileges(json_object_get(privileges, "hand"), "hand", &raw);
	add_node(json_object_get(status, "node"), &raw);
	add_trees(status, &raw);
	neap_buf_addf(&raw, "ticks     %s, %s us of CPU each\n",
		      neap_cell_integer(status, "ticks", ticks),
		      neap_cell_integer(status, "tick_cpu_usec_avg", usec));
	add_policies(status, &raw);
	add_missing(status, &raw);
	neap_text_add_clean(&out, raw.data, true);
	out.failed |= neap_buf_failed(&raw);
	r = neap_ctl_print(&out);
	neap_buf_done(&raw);
	neap_buf_done(&out);
	return r;
}

static int run(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct neap_output_values *values = arg;
	struct neap_error err = {0};
	json_t *status = NULL;
	int r;

	(void)argc, (void)argv;
	if (neap_client_ask(ctl, "GET", "/control/v1/status", &status, &err) < 0)
		return neap_ctl_fail(&err);
	if (values->output)
		return neap_ctl_print_take(values->output, status);
	r = print(status);
	json_decref(status);
	return r;
}

const struct neap_command neap_command_status = {
	.name = "status",
	.usage = "[-o json|yaml]",
	.example = "status -o json",
	.summary = "what neapd does, node figures, what is missing",
	.options = neap_output_of_all,
	.values_size = sizeof(struct neap_output_values),
	.run = run,
};
