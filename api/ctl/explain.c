/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl explain pod` and `neapctl explain reservation`: why it goes to its node, or to
 * none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/ctl/base/client.h"
#include "api/ctl/draw/cells.h"
#include "api/ctl/draw/cpus_draw.h"
#include "api/ctl/draw/table.h"
#include "engine/base/mem.h"

#define PATH_BYTES 1024
#define LIMIT      20
#define LIMIT_MAX  500

struct explain_values {
	const char *node;
	int64_t limit;
};

static const struct neap_option options[] = {
	{"node", 0, NEAP_OPTION_TEXT, offsetof(struct explain_values, node), "NODE",
	 "only this node, score by score"},
	{"limit", 'n', NEAP_OPTION_INT, offsetof(struct explain_values, limit), "N",
	 "show at most N nodes [20]", 1, LIMIT_MAX},
	{""},
};

/* --- what is said first --- */

static void add_state(const json_t *pod, struct neap_buf *out)
{
	const char *state = neap_cell_text(pod, "state");

	neap_cells_add(
		out, pod,
		strcmp(state, "pending") == 0
			? "{namespace}/{name} is pending, for the scheduler {scheduler}"
		: strcmp(state, "assumed") == 0
			? "{namespace}/{name} is being bound to {node}"
			: "{namespace}/{name} is on {node}");
	neap_cells_add_if(out, pod, "reservation",
			  ", with the reservation {reservation}");
}

static void add_phase(const json_t *reservation, struct neap_buf *out)
{
	neap_cells_add(out, reservation, "The Reservation {name} is {phase}");
	neap_cells_add(out, reservation,
		       json_object_get(reservation, "node") != NULL
			       ? ", on {node}"
			       : ", for the scheduler {scheduler}");
}

static void add_claim(const json_t *claim, struct neap_buf *out)
{
	neap_cells_add_if(out, claim, "trouble",
			  "On {node}, the best node, it cannot have CPUs: "
			  "{trouble|lines}\n");
	neap_cells_add_if(out, claim, "reservation",
			  "On {node}, the best node, it would use the reservation "
			  "{reservation}.\n");
	neap_cells_add_if(out, claim, "cpus",
			  "On {node}, the best node, it would have CPUs {cpus}.\n");
}

static void add_subject(const json_t *body, struct neap_buf *out)
{
	const json_t *pod = json_object_get(body, "pod");

	if (pod != NULL) {
		add_state(pod, out);
	} else {
		pod = json_object_get(body, "reservation");
		add_phase(pod, out);
	}
	neap_cells_add_if(out, pod, "cpus", ", CPUs {cpus}");
	neap_buf_adds(out, ".\n");
	if (json_is_true(json_object_get(pod, "gated")))
		neap_buf_adds(out, "It has schedulingGates and is left alone.\n");
	neap_cells_add_if(out, pod, "nominated", "Room is made for it on {nominated}.\n");
	neap_cells_add_if(out, pod, "message", "Last said of it: {message|lines}\n");
	neap_cells_add_if(out, body, "trouble", "It cannot be placed: {trouble|lines}\n");
	add_claim(json_object_get(body, "claim"), out);
}

static void add_counts(const json_t *body, struct neap_buf *out)
{
	const json_t *reasons = json_object_get(body, "reasons"), *row;
	size_t i;

	if (json_object_get(body, "trouble") != NULL)
		return;
	neap_cells_add(out, body, "{fitting} of {node_count} nodes fit");
	neap_buf_adds(out, json_array_size(reasons) ? ":\n" : ".\n");
	json_array_foreach (reasons, i, row) {
		neap_cells_add(out, row, "  {nodes}: {filter}: {reason|lines}");
		neap_buf_adds(out,
			      json_is_true(json_object_get(row, "fewer_pods_may_help"))
				      ? " (fewer pods there may help)\n"
				      : "\n");
	}
}

/* --- tables --- */

static long long counts_of(const json_t *score)
{
	return (long long)neap_member_integer(score, "points", 0) *
	       (long long)neap_member_integer(score, "weight", 0);
}

static void add_node(struct neap_table *table, const json_t *node)
{
	const json_t *reasons = json_object_get(node, "reasons"), *row;
	struct neap_buf why;
	char score[NEAP_CELL_BYTES];
	size_t i;

	neap_buf_init(&why, NEAP_BUF_REPLY);
	json_array_foreach (reasons, i, row) {
		neap_cells_add(&why, row,
			       i ? "; {filter}: {reason}" : "{filter}: {reason}");
	}
	json_array_foreach (json_object_get(node, "scores"), i, row) {
		neap_cells_add(&why, row, i ? ", {score}" : "{score}");
		neap_buf_addf(&why, " %lld", counts_of(row));
	}
	neap_cells_add_if(&why, node, "warning", reasons ? "; {warning}" : ", {warning}");
	neap_table_add_row(
		table, node,
		(const char *[]){json_is_true(json_object_get(node, "fits"))
					 ? neap_cell_integer(node, "score", score)
					 : "no",
				 why.data});
	neap_buf_done(&why);
}

static void add_nodes(const json_t *nodes, struct neap_buf *out)
{
	static const struct neap_table_column columns[] = {
		{"NODE", .max_columns = 40, .cell = "{node}"},
		{"SCORE", true},
		{"WHY", .columns_min = 10, .is_minor = true},
		{NULL}};
	struct neap_table *table = neap_table_new(columns);
	const json_t *node;
	size_t i;

	json_array_foreach (nodes, i, node) {
		add_node(table, node);
	}
	neap_ctl_add_table_take(table, out);
}

/* Describes an offer: the pod has it, would get it, or why not. */
static const char *offer_text(const json_t *offer)
{
	if (json_is_true(json_object_get(offer, "used")))
		return "has it";
	if (json_is_true(json_object_get(offer, "first")))
		return "would use it";
	if (json_is_true(json_object_get(offer, "open")))
		return "could use it";
	return neap_cell_text(offer, "reason");
}

static void add_offer(struct neap_table *table, const json_t *node, const json_t *offer)
{
	const char *ns = json_string_value(json_object_get(offer, "namespace"));
	char name[400];

	(void)snprintf(name, sizeof(name), "%s%s%s", ns ? ns : "", ns ? "/" : "",
		       neap_cell_text(offer, "name"));
	neap_table_add(table, (const char *[]){neap_cell_text(node, "node"), name,
					       offer_text(offer)});
}

/* Reservations of the nodes that are shown. */
static void add_offers(const json_t *nodes, struct neap_buf *out)
{
	static const struct neap_table_column columns[] = {
		{"NODE", .max_columns = 40},
		{"RESERVATION", .max_columns = 40},
		{"THE POD", .columns_min = 10, .is_minor = true},
		{NULL}};
	struct neap_table *table = neap_table_new(columns);
	const json_t *node, *offer;
	size_t i, n;

	json_array_foreach (nodes, i, node) {
		json_array_foreach (json_object_get(node, "reservations"), n, offer) {
			add_offer(table, node, offer);
		}
	}
	if (neap_table_rows(table) > 0)
		neap_buf_addc(out, '\n');
	if (table == NULL || neap_table_rows(table) > 0)
		neap_ctl_add_table_take(table, out);
	else
		neap_table_free(table);
}

/* A node, score by score. */
static void add_scores(const json_t *node, struct neap_buf *out)
{
	static const struct neap_table_column columns[] = {
		{"SCORE", .cell = "{score}"},
		{"RAW", true, .cell = "{raw}"},
		{"POINTS", true, .cell = "{points}"},
		{"WEIGHT", true, .cell = "{weight}"},
		{"COUNTS", true},
		{NULL}};
	char counts[NEAP_CELL_BYTES];
	struct neap_table *table = neap_table_new(columns);
	const json_t *row;
	size_t i;

	json_array_foreach (json_object_get(node, "scores"), i, row) {
		(void)snprintf(counts, sizeof(counts), "%lld", counts_of(row));
		neap_table_add_row(table, row, (const char *[]){counts});
	}
	neap_table_add(table, (const char *[]){"all", "", "", "",
					       neap_cell_integer(node, "score", counts)});
	neap_ctl_add_table_take(table, out);
}

/* values: of the command. */
static void add(const json_t *body, const void *values, struct neap_buf *out)
{
	bool is_one = ((const struct explain_values *)values)->node != NULL;
	const json_t *nodes = json_object_get(body, "nodes");
	const json_t *first = json_array_get(nodes, 0);

	add_subject(body, out);
	if (!is_one)
		add_counts(body, out);
	if (json_array_size(nodes) > 0) {
		neap_buf_addc(out, '\n');
		if (is_one && json_is_true(json_object_get(first, "fits")))
			add_scores(first, out);
		else
			add_nodes(nodes, out);
		add_offers(nodes, out);
	}
	neap_cells_add_if(out, body, "continue",
			  "The first {continue} nodes; -n shows more.\n");
}

/* Appended to the path of the object to explain. */
static int add_query(const struct explain_values *values, char *path)
{
	size_t len = strlen(path);

	if (values->node != NULL && !neap_ctl_is_kube_name(values->node))
		return neap_ctl_complainf(NEAP_CTL_USAGE,
					  "--node '%.64s': is no name of a node",
					  values->node);
	(void)snprintf(path + len, PATH_BYTES - len, "?limit=%lld%s%s",
		       (long long)(values->limit == NEAP_MISSING ? LIMIT : values->limit),
		       values->node ? "&node=" : "", values->node ? values->node : "");
	return 0;
}

/* "NAMESPACE/NAME"; name alone is one of the namespace default. */
static int make_pod_path(const char *pod, char *path)
{
	char text[400], *name;

	if (!neap_strcopy(text, sizeof(text), pod))
		text[0] = '\0';
	name = strchr(text, '/');
	if (name != NULL)
		*name++ = '\0';
	if (!neap_ctl_is_kube_name(text) || (name && !neap_ctl_is_kube_name(name)))
		return neap_ctl_complainf(
			NEAP_CTL_USAGE,
			"'%.64s' is no pod: NAMESPACE/NAME is wanted, as in default/web-0",
			pod);
	(void)snprintf(path, PATH_BYTES, "/control/v1/explain/pods/%s/%s",
		       name ? text : "default", name ? name : text);
	return 0;
}

static int make_reservation_path(const char *name, char *path)
{
	if (!neap_ctl_is_kube_name(name))
		return neap_ctl_complainf(NEAP_CTL_USAGE,
					  "'%.64s' is no name of a Reservation", name);
	(void)snprintf(path, PATH_BYTES, "/control/v1/explain/reservations/%s", name);
	return 0;
}

static int explain(struct neap_ctl *ctl, const struct explain_values *values,
		   const char *subject, int (*make_path)(const char *subject, char *path))
{
	char path[PATH_BYTES];
	int r = make_path(subject, path);

	if (r == 0)
		r = add_query(values, path);
	return r != 0 ? r : neap_ctl_show(ctl, "GET", path, add, values);
}

static int run_pod(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	(void)argc;
	return explain(ctl, arg, argv[0], make_pod_path);
}

static int run_reservation(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	(void)argc;
	return explain(ctl, arg, argv[0], make_reservation_path);
}

const struct neap_command neap_command_explain_pod = {
	.name = "explain pod",
	.usage = "NAMESPACE/NAME [--node NODE] [-n N] [-o json|yaml]",
	.example = "explain pod default/web -n 3",
	.summary = "why a pod is placed where it is, or nowhere",
	.text = "\nShows what every filter says about every node, the points of feasible nodes, and "
		"which\nReservation the pod uses or would use, and why not the others. A placed pod is "
		"evaluated as\nif it were not there.\n",
	.options = options,
	.output = NEAP_OUTPUT_OF_ALL,
	.values_size = sizeof(struct explain_values),
	.args_min = 1,
	.args_max = 1,
	.run = run_pod,
};

const struct neap_command neap_command_explain_reservation = {
	.name = "explain reservation",
	.usage = "NAME [--node NODE] [-n N] [-o json|yaml]",
	.example = "explain reservation web-room",
	.summary = "why a Reservation is placed where it is, or nowhere",
	.text = "\nAs explain pod. A placed Reservation is evaluated as if it were not there.\n",
	.options = options,
	.output = NEAP_OUTPUT_OF_ALL,
	.values_size = sizeof(struct explain_values),
	.args_min = 1,
	.args_max = 1,
	.run = run_reservation,
};
