/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl cpus`: which pods hold which CPUs of a node; without a node, how much of each
 * is given out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/ctl/base/client.h"
#include "api/ctl/draw/cells.h"
#include "api/ctl/draw/cpus_draw.h"
#include "api/ctl/draw/table.h"

#define PATH_BYTES 384
/* Nodes that are asked for at once. */
#define PAGE 500

bool neap_ctl_is_kube_name(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len <= 253 &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-") == len &&
	       strspn(name, ".") < len;
}

/* --- all nodes --- */

/* Every page of the summary in one list. */
static int fetch(const struct neap_ctl *ctl, json_t **ret, struct neap_error *err)
{
	char path[PATH_BYTES];
	const char *next = "";
	json_t *all = json_array(), *body = NULL;
	struct neap_client *client = NULL;
	int failed =
		all == NULL ? neap_error_nomem(err) : neap_client_new(ctl, &client, err);

	while (failed == 0 && next != NULL) {
		(void)snprintf(path, sizeof(path),
			       "/control/v1/cpus?summary=true&limit=%d%s%s", PAGE,
			       *next ? "&continue=" : "", next);
		json_decref(body);
		body = NULL;
		failed = neap_client_call(client, "GET", path, NULL, &body, err);
		if (failed == 0 &&
		    json_array_extend(all, json_object_get(body, "nodes")) < 0)
			failed = neap_error_set(err, NEAP_EINTERNAL,
						"neapd's answer has no nodes");
		next = json_string_value(json_object_get(body, "continue"));
		if (next != NULL && !neap_ctl_is_kube_name(next))
			next = NULL;
	}
	json_decref(body);
	neap_client_free(client);
	if (failed == 0)
		*ret = all;
	else
		json_decref(all);
	return failed;
}

static void add_row(struct neap_table *table, const json_t *node)
{
	char sockets[NEAP_CELL_BYTES], numa[NEAP_CELL_BYTES], cores[NEAP_CELL_BYTES],
		cpus[NEAP_CELL_BYTES], reserved[NEAP_CELL_BYTES], held[NEAP_CELL_BYTES],
		pods[NEAP_CELL_BYTES], policy[128];
	const char *bind = json_string_value(json_object_get(node, "bind_policy"));
	const char *numa_policy = json_string_value(json_object_get(node, "numa_policy"));

	bind = bind != NULL ? bind : "";
	numa_policy = numa_policy != NULL ? numa_policy : "";
	(void)snprintf(policy, sizeof(policy), "%s%s%s", bind,
		       *bind && *numa_policy ? ", " : "", numa_policy);
	if (json_object_get(node, "warning") != NULL)
		(void)snprintf(policy + strlen(policy), sizeof(policy) - strlen(policy),
			       "%s%s", *policy ? "; " : "",
			       neap_cell_text(node, "warning"));
	neap_table_add(table, (const char *[]){
				      neap_cell_text(node, "node"),
				      neap_cell_integer(node, "socket_count", sockets),
				      neap_cell_integer(node, "node_count", numa),
				      neap_cell_integer(node, "core_count", cores),
				      neap_cell_integer(node, "cpu_count", cpus),
				      neap_cell_integer(node, "reserved_count", reserved),
				      neap_cell_integer(node, "held_count", held),
				      neap_cell_integer(node, "pod_count", pods),
				      json_object_get(node, "trouble") != NULL
					      ? neap_cell_text(node, "trouble")
					      : policy});
}

static int print_table(const json_t *nodes)
{
	static const struct neap_table_column columns[] = {
		{"NODE", false, 40, 0, false},    {"SOCKETS", true, 0, 0, false},
		{"NUMA", true, 0, 0, false},      {"CORES", true, 0, 0, false},
		{"CPUS", true, 0, 0, false},      {"RESERVED", true, 0, 0, false},
		{"GIVEN", true, 0, 0, false},     {"PODS", true, 0, 0, false},
		{"POLICIES", false, 0, 10, true}, {NULL, false, 0, 0, false}};
	const struct neap_table_style style = {.columns = neap_ctl_columns(),
					       .use_color = neap_ctl_use_color()};
	struct neap_table *table = neap_table_new(columns);
	struct neap_buf out;
	const json_t *node;
	size_t i;
	int r;

	neap_buf_init(&out, (size_t)64 << 20);
	out.failed = table == NULL;
	if (table != NULL) {
		json_array_foreach (nodes, i, node) {
			add_row(table, node);
		}
		if (!neap_table_format(table, &style, &out))
			out.failed = true;
	}
	if (json_array_size(nodes) == 0)
		neap_buf_adds(&out, "neapd knows no node.\n");
	r = neap_ctl_print(&out);
	neap_table_free(table);
	neap_buf_done(&out);
	return r;
}

/* --- one node --- */

static int fetch_one(const struct neap_ctl *ctl, const char *name, json_t **ret,
		     struct neap_error *err)
{
	char path[PATH_BYTES];

	(void)snprintf(path, sizeof(path), "/control/v1/cpus?node=%s", name);
	return neap_client_ask(ctl, "GET", path, ret, err);
}

static int print_one(const json_t *body)
{
	struct neap_buf out;

	neap_buf_init(&out, NEAP_BUF_REPLY);
	neap_ctl_cpus_draw(json_array_get(json_object_get(body, "nodes"), 0), &out);
	return neap_ctl_print_done(&out);
}

/* For a single node, show the picture. */
static int show_all(const struct neap_ctl *ctl, enum neap_output output)
{
	struct neap_error err = {0};
	json_t *nodes = NULL, *body = NULL;
	const char *only;
	int r;

	if (fetch(ctl, &nodes, &err) < 0)
		return neap_ctl_fail(&err);
	if (output)
		return neap_ctl_print_take(output, json_pack("{s:o}", "nodes", nodes));
	only = json_array_size(nodes) == 1
		       ? neap_cell_text(json_array_get(nodes, 0), "node")
		       : "";
	if (!neap_ctl_is_kube_name(only))
		r = print_table(nodes);
	else if (fetch_one(ctl, only, &body, &err) < 0)
		r = neap_ctl_fail(&err);
	else
		r = print_one(body);
	json_decref(nodes);
	json_decref(body);
	return r;
}

static int run(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct neap_output_values *values = arg;
	struct neap_error err = {0};
	json_t *body = NULL;
	int r;

	if (argc == 0)
		return show_all(ctl, values->output);
	if (!neap_ctl_is_kube_name(argv[0]))
		return neap_ctl_complainf(NEAP_CTL_USAGE, "'%.64s' is no name of a node",
					  argv[0]);
	if (fetch_one(ctl, argv[0], &body, &err) < 0)
		return neap_ctl_fail(&err);
	if (values->output)
		return neap_ctl_print_take(values->output, body);
	r = print_one(body);
	json_decref(body);
	return r;
}

const struct neap_command neap_command_cpus = {
	.name = "cpus",
	.usage = "[NODE] [-o json|yaml]",
	.example = "cpus node-0",
	.summary = "which pods have which CPUs of a node",
	.text = "\nA letter is a CPU, a group of letters a core. Without NODE: a line for "
		"each node,\nor the only one drawn.\n",
	.options = neap_output_of_all,
	.values_size = sizeof(struct neap_output_values),
	.args_max = 1,
	.run = run,
};
