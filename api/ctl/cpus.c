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
#include "engine/json/json.h"

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
	const char *bind = neap_json_text(node, "bind_policy");
	const char *numa = neap_json_text(node, "numa_policy");
	struct neap_buf policy;

	neap_buf_init(&policy, NEAP_BUF_LINE);
	neap_buf_addf(&policy, "%s%s%s", bind, *bind && *numa ? ", " : "", numa);
	neap_cells_add_if(&policy, node, "warning",
			  policy.len > 0 ? "; {warning}" : "{warning}");
	neap_table_add_row(table, node,
			   (const char *[]){json_object_get(node, "trouble") != NULL
						    ? neap_cell_text(node, "trouble")
						    : policy.data});
	neap_buf_done(&policy);
}

static void add_table(const json_t *nodes, struct neap_buf *out)
{
	static const struct neap_table_column columns[] = {
		{"NODE", .max_columns = 40, .cell = "{node}"},
		{"SOCKETS", true, .cell = "{socket_count}"},
		{"NUMA", true, .cell = "{node_count}"},
		{"CORES", true, .cell = "{core_count}"},
		{"CPUS", true, .cell = "{cpu_count}"},
		{"RESERVED", true, .cell = "{reserved_count}"},
		{"GIVEN", true, .cell = "{held_count}"},
		{"PODS", true, .cell = "{pod_count}"},
		{"POLICIES", .columns_min = 10, .is_minor = true},
		{NULL}};
	struct neap_table *table = neap_table_new(columns);
	const json_t *node;
	size_t i;

	json_array_foreach (nodes, i, node) {
		add_row(table, node);
	}
	neap_ctl_add_table_take(table, out);
	if (json_array_size(nodes) == 0)
		neap_buf_adds(out, "neapd knows no node.\n");
}

/* --- one node --- */

static void add_one(const json_t *body, const void *arg, struct neap_buf *out)
{
	(void)arg;
	neap_ctl_cpus_draw(json_array_get(json_object_get(body, "nodes"), 0), out);
}

static int show_one(struct neap_ctl *ctl, const char *name)
{
	char path[PATH_BYTES];

	(void)snprintf(path, sizeof(path), "/control/v1/cpus?node=%s", name);
	return neap_ctl_show(ctl, "GET", path, add_one, NULL);
}

static void add_all(const json_t *body, const void *arg, struct neap_buf *out)
{
	(void)arg;
	add_table(json_object_get(body, "nodes"), out);
}

/* For a single node, show the picture. */
static int show_all(struct neap_ctl *ctl)
{
	struct neap_error err = {0};
	json_t *nodes = NULL;
	const char *only;
	int r;

	if (fetch(ctl, &nodes, &err) < 0)
		return neap_ctl_fail(&err);
	only = json_array_size(nodes) == 1
		       ? neap_cell_text(json_array_get(nodes, 0), "node")
		       : "";
	if (ctl->output || !neap_ctl_is_kube_name(only))
		return neap_ctl_show_take(ctl, json_pack("{s:o}", "nodes", nodes),
					  add_all, NULL);
	r = show_one(ctl, only);
	json_decref(nodes);
	return r;
}

static int run(struct neap_ctl *ctl, void *values, int argc, char **argv)
{
	(void)values;
	if (argc == 0)
		return show_all(ctl);
	if (!neap_ctl_is_kube_name(argv[0]))
		return neap_ctl_complainf(NEAP_CTL_USAGE, "'%.64s' is no name of a node",
					  argv[0]);
	return show_one(ctl, argv[0]);
}

const struct neap_command neap_command_cpus = {
	.name = "cpus",
	.usage = "[NODE] [-o json|yaml]",
	.example = "cpus node-0",
	.summary = "the CPUs of a node, and which pods have them",
	.text = "\nA letter is a CPU, a group of letters is a core. Without NODE: one line for "
		"each node;\na single node is drawn.\n",
	.output = NEAP_OUTPUT_OF_ALL,
	.args_max = 1,
	.run = run,
};
