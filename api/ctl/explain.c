/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl explain pod`: why a pod goes where it goes, or nowhere. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/ctl/cells.h"
#include "api/ctl/client.h"
#include "api/ctl/look.h"
#include "api/ctl/table.h"
#include "api/ctl/text.h"
#include "engine/base/mem.h"

#define PATH_BYTES 1024
#define LIMIT      20
#define LIMIT_MAX  500

struct explain_values {
	const char *node, *output;
	int64_t limit;
};

static const struct neap_option options[] = {
	{"node", 0, NEAP_OPTION_TEXT, offsetof(struct explain_values, node), "NODE",
	 "only this one, score by score"},
	{"limit", 'n', NEAP_OPTION_INT, offsetof(struct explain_values, limit), "N",
	 "so many nodes [20]", 1, LIMIT_MAX},
	{"output", 'o', NEAP_OPTION_TEXT, offsetof(struct explain_values, output), "json",
	 "print all of it as JSON"},
	{""},
};

/* --- what is said first --- */

static void add_pod(const json_t *body, struct neap_buf *out)
{
	const json_t *pod = json_object_get(body, "pod");
	const json_t *claim = json_object_get(body, "claim");
	const char *state = neap_cell_text(pod, "state");

	neap_buf_addf(out, "%s/%s is ", neap_cell_text(pod, "namespace"),
		      neap_cell_text(pod, "name"));
	if (strcmp(state, "pending") == 0)
		neap_buf_addf(out, "pending, for the scheduler %s",
			      neap_cell_text(pod, "scheduler"));
	else
		neap_buf_addf(out, "%s %s",
			      strcmp(state, "assumed") == 0 ? "being bound to" : "on",
			      neap_cell_text(pod, "node"));
	if (json_object_get(pod, "cpus") != NULL)
		neap_buf_addf(out, ", CPUs %s", neap_cell_text(pod, "cpus"));
	neap_buf_adds(out, ".\n");
	if (json_is_true(json_object_get(pod, "gated")))
		neap_buf_adds(out, "It has schedulingGates and is left alone.\n");
	if (json_object_get(pod, "nominated") != NULL)
		neap_buf_addf(out, "Room is made for it on %s.\n",
			      neap_cell_text(pod, "nominated"));
	if (json_object_get(pod, "message") != NULL)
		neap_buf_addf(out, "Last said of it: %s\n",
			      neap_cell_text(pod, "message"));
	if (json_object_get(body, "trouble") != NULL)
		neap_buf_addf(out, "It cannot be placed: %s\n",
			      neap_cell_text(body, "trouble"));
	if (json_object_get(claim, "trouble") != NULL)
		neap_buf_addf(out, "On %s, the best node, it cannot have CPUs: %s\n",
			      neap_cell_text(claim, "node"),
			      neap_cell_text(claim, "trouble"));
	else if (json_object_get(claim, "cpus") != NULL)
		neap_buf_addf(out, "On %s, the best node, it would have CPUs %s.\n",
			      neap_cell_text(claim, "node"),
			      neap_cell_text(claim, "cpus"));
}

static void add_counts(const json_t *body, struct neap_buf *out)
{
	char fitting[NEAP_CELL_BYTES], count[NEAP_CELL_BYTES];
	const json_t *row;
	size_t i;

	if (json_object_get(body, "trouble") != NULL)
		return;
	neap_buf_addf(out, "%s of %s nodes fit%s\n",
		      neap_cell_integer(body, "fitting", fitting),
		      neap_cell_integer(body, "node_count", count),
		      json_array_size(json_object_get(body, "reasons")) ? ":" : ".");
	json_array_foreach (json_object_get(body, "reasons"), i, row) {
		neap_buf_addf(
			out, "  %s: %s: %s%s\n", neap_cell_integer(row, "nodes", count),
			neap_cell_text(row, "filter"), neap_cell_text(row, "reason"),
			json_is_true(json_object_get(row, "fewer_pods_may_help"))
				? " (fewer pods there may help)"
				: "");
	}
}

/* --- tables --- */

static void add_node(struct neap_table *table, const json_t *node)
{
	char score[NEAP_CELL_BYTES];
	struct neap_buf why;
	const json_t *row;
	size_t i;

	neap_buf_init(&why, NEAP_BUF_REPLY);
	json_array_foreach (json_object_get(node, "reasons"), i, row) {
		neap_buf_addf(&why, "%s%s: %s", i ? "; " : "",
			      neap_cell_text(row, "filter"),
			      neap_cell_text(row, "reason"));
	}
	json_array_foreach (json_object_get(node, "scores"), i, row) {
		int64_t counts = neap_member_integer(row, "points", 0) *
				 neap_member_integer(row, "weight", 0);

		neap_buf_addf(&why, "%s%s %lld", i ? ", " : "",
			      neap_cell_text(row, "score"), (long long)counts);
	}
	neap_table_add(table,
		       (const char *[]){neap_cell_text(node, "node"),
					json_is_true(json_object_get(node, "fits"))
						? neap_cell_integer(node, "score", score)
						: "no",
					why.data});
	neap_buf_done(&why);
}

static bool add_nodes(const json_t *body, struct neap_buf *out)
{
	static const struct neap_table_column columns[] = {{"NODE", false, 40, 0, false},
							   {"SCORE", true, 0, 0, false},
							   {"WHY", false, 0, 10, true},
							   {NULL, false, 0, 0, false}};
	const struct neap_table_style style = {.columns = neap_ctl_columns(),
					       .use_color = neap_ctl_use_color()};
	struct neap_table *table = neap_table_new(columns);
	const json_t *node;
	bool done = table != NULL;
	size_t i;

	if (done) {
		json_array_foreach (json_object_get(body, "nodes"), i, node) {
			add_node(table, node);
		}
		done = neap_table_format(table, &style, out);
	}
	neap_table_free(table);
	return done;
}

/* A node, score by score. */
static bool add_scores(const json_t *node, struct neap_buf *out)
{
	static const struct neap_table_column columns[] = {
		{"SCORE", false, 0, 0, false}, {"RAW", true, 0, 0, false},
		{"POINTS", true, 0, 0, false}, {"WEIGHT", true, 0, 0, false},
		{"COUNTS", true, 0, 0, false}, {NULL, false, 0, 0, false}};
	const struct neap_table_style style = {.columns = neap_ctl_columns(),
					       .use_color = neap_ctl_use_color()};
	char raw[NEAP_CELL_BYTES], points[NEAP_CELL_BYTES], weight[NEAP_CELL_BYTES],
		counts[NEAP_CELL_BYTES], score[NEAP_CELL_BYTES];
	struct neap_table *table = neap_table_new(columns);
	const json_t *row;
	bool done = table != NULL;
	size_t i;

	if (done) {
		json_array_foreach (json_object_get(node, "scores"), i, row) {
			int64_t sum = neap_member_integer(row, "points", 0) *
				      neap_member_integer(row, "weight", 0);

			(void)snprintf(counts, sizeof(counts), "%lld", (long long)sum);
			neap_table_add(
				table,
				(const char *[]){neap_cell_text(row, "score"),
						 neap_cell_integer(row, "raw", raw),
						 neap_cell_integer(row, "points", points),
						 neap_cell_integer(row, "weight", weight),
						 counts});
		}
		neap_table_add(table,
			       (const char *[]){"all", "", "", "",
						neap_cell_integer(node, "score", score)});
		done = neap_table_format(table, &style, out);
	}
	neap_table_free(table);
	return done;
}

static int print(const json_t *body, bool is_one)
{
	const json_t *nodes = json_object_get(body, "nodes");
	const json_t *first = json_array_get(nodes, 0);
	struct neap_buf raw, out;
	char shown[NEAP_CELL_BYTES];
	int r;

	neap_buf_init(&raw, NEAP_BUF_REPLY);
	neap_buf_init(&out, NEAP_BUF_REPLY);
	add_pod(body, &raw);
	if (!is_one)
		add_counts(body, &raw);
	neap_text_add_clean(&out, raw.data, true);
	out.failed |= neap_buf_failed(&raw);
	if (json_array_size(nodes) > 0) {
		neap_buf_addc(&out, '\n');
		out.failed |= is_one && json_is_true(json_object_get(first, "fits"))
				      ? !add_scores(first, &out)
				      : !add_nodes(body, &out);
	}
	if (json_object_get(body, "continue") != NULL)
		neap_buf_addf(&out, "The first %s nodes; -n shows more.\n",
			      neap_cell_integer(body, "continue", shown));
	r = neap_ctl_print(&out);
	neap_buf_done(&raw);
	neap_buf_done(&out);
	return r;
}

/* "NAMESPACE/NAME"; name alone is one of the namespace default. */
static int make_path(const struct explain_values *values, const char *pod, char *path)
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
	if (values->node != NULL && !neap_ctl_is_kube_name(values->node))
		return neap_ctl_complainf(NEAP_CTL_USAGE,
					  "--node '%.64s': is no name of a node",
					  values->node);
	(void)snprintf(path, PATH_BYTES, "/control/v1/explain/pods/%s/%s?limit=%lld%s%s",
		       name ? text : "default", name ? name : text,
		       (long long)(values->limit == NEAP_MISSING ? LIMIT : values->limit),
		       values->node ? "&node=" : "", values->node ? values->node : "");
	return 0;
}

static int run(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct explain_values *values = arg;
	struct neap_error err = {0};
	char path[PATH_BYTES];
	json_t *body = NULL;
	int r = neap_ctl_check_output(values->output);

	(void)argc;
	if (r == 0)
		r = make_path(values, argv[0], path);
	if (r != 0)
		return r;
	if (neap_client_ask(ctl, "GET", path, &body, &err) < 0)
		return neap_ctl_fail(&err);
	if (values->output != NULL)
		return neap_ctl_print_json_take(body);
	r = print(body, values->node != NULL);
	json_decref(body);
	return r;
}

const struct neap_command neap_command_explain_pod = {
	.name = "explain pod",
	.usage = "NAMESPACE/NAME [--node NODE] [-n N] [-o json]",
	.summary = "why a pod goes where it goes, or nowhere",
	.text = "\nWhat every filter says of every node, and the points of those that fit. A "
		"pod that\nhas a place is looked at as if it was not there.\n",
	.options = options,
	.values_size = sizeof(struct explain_values),
	.args_min = 1,
	.args_max = 1,
	.run = run,
};
