/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl status`: what neapd is doing, its figures, and what this machine lacks. */
#include <stdio.h>
#include <string.h>

#include "api/ctl/base/ctl.h"
#include "api/ctl/draw/cells.h"
#include "api/ctl/draw/text.h"
#include "engine/base/quantity.h"

static void add_program(const json_t *status, struct neap_buf *out)
{
	char up[NEAP_CELL_BYTES] = "-";
	const json_t *seconds = json_object_get(status, "uptime_seconds");

	if (json_is_number(seconds) && json_number_value(seconds) < 1e12)
		(void)neap_duration_format((int64_t)json_number_value(seconds) * 1000000,
					   up, sizeof(up));
	neap_cells_add(out, status, "neapd     {version}, pid {pid}, hand {hand_pid}");
	neap_buf_addf(out, ", up %s\n", up);
	neap_cells_add(out, status, "state     {state}");
	neap_cells_add_if(out, status, "why", ": {why|lines}");
	neap_buf_addc(out, '\n');
}

/* One process: "uid 0; dac_override, sys_nice; filter on; Landlock 7". */
static void add_privileges(const json_t *process, const char *name, struct neap_buf *out)
{
	const json_t *caps = json_object_get(process, "capabilities");
	const json_t *landlock = json_object_get(process, "landlock");
	const json_t *cap;
	size_t i;

	if (process == NULL)
		return;
	neap_buf_addf(out, "%-9s ", name);
	neap_cells_add(out, process, "uid {uid}, ");
	neap_buf_adds(out, json_array_size(caps) == 0 ? "no capability" : "capabilities");
	json_array_foreach (caps, i, cap)
		if (json_is_string(cap)) {
			neap_buf_addc(out, ' ');
			neap_text_add_clean(out, json_string_value(cap), true);
		}
	neap_cells_add(out, process, "; filter of system calls {seccomp}");
	if (landlock != NULL && json_integer_value(landlock) == 0)
		neap_buf_adds(out, "; no Landlock");
	else
		neap_cells_add_if(out, process, "landlock", "; Landlock {landlock}");
	neap_buf_addc(out, '\n');
}

static void add_trees(const json_t *status, struct neap_buf *out)
{
	const json_t *tree;
	size_t i;

	neap_cells_add(out, status, "cgroup    {cgroup}");
	json_array_foreach (json_object_get(status, "trees"), i, tree) {
		neap_cells_add(out, tree,
			       i == 0 ? ": {root} ({driver}" : ", {root} ({driver}");
		neap_buf_adds(out, json_is_true(json_object_get(tree, "own"))
					   ? ", its own)"
					   : ")");
	}
	neap_buf_addc(out, '\n');
}

static void add_policies(const json_t *status, struct neap_buf *out)
{
	const json_t *policies = json_object_get(status, "policies"), *policy;
	size_t i;

	json_array_foreach (policies, i, policy) {
		neap_cells_add(out, policy,
			       "policy    {policy}@{version}: {state}, {calls} calls, "
			       "{errors} errors\n");
		neap_cells_add_if(out, policy, "last_error",
				  "          last error: {last_error|lines}\n");
	}
	if (json_array_size(policies) == 0)
		neap_buf_adds(out, "policy    none\n");
}

static void add_missing(const json_t *status, struct neap_buf *out)
{
	const json_t *why;
	size_t i;

	json_array_foreach (json_object_get(status, "unsupported"), i, why) {
		if (!json_is_string(why))
			continue;
		neap_buf_adds(out, i == 0 ? "missing   " : "          ");
		neap_text_add_clean(out, json_string_value(why), true);
		neap_buf_addc(out, '\n');
	}
}

static void add(const json_t *status, const void *arg, struct neap_buf *out)
{
	const json_t *privileges = json_object_get(status, "privileges");

	(void)arg;
	add_program(status, out);
	add_privileges(json_object_get(privileges, "loop"), "loop", out);
	add_privileges(json_object_get(privileges, "hand"), "hand", out);
	neap_cells_add(
		out, json_object_get(status, "node"),
		"CPUs      {used_milli|cpus} of {capacity_milli|cpus} used: critical "
		"{critical_used_milli|cpus}, best-effort {besteffort_used_milli|cpus}, "
		"system {system_used_milli|cpus}\n"
		"memory    {memory_used_bytes|bytes} of {memory_capacity_bytes|bytes} used\n"
		"pressure  CPU {cpu_pressure|percent}, memory {memory_pressure|percent}, "
		"I/O {io_pressure|percent}; stolen {stolen_ratio|percent}\n");
	add_trees(status, out);
	neap_cells_add(out, status,
		       "ticks     {ticks}, {tick_cpu_usec_avg} us of CPU each\n");
	add_policies(status, out);
	add_missing(status, out);
}

static int run(struct neap_ctl *ctl, void *values, int argc, char **argv)
{
	(void)values, (void)argc, (void)argv;
	return neap_ctl_show(ctl, "GET", "/control/v1/status", add, NULL);
}

const struct neap_command neap_command_status = {
	.name = "status",
	.usage = "[-o json|yaml]",
	.example = "status -o json",
	.summary = "state of neapd and of the node, and what is missing",
	.output = NEAP_OUTPUT_OF_ALL,
	.run = run,
};
