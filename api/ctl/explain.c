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
#include "api/ctl/draw/text.h"
#include "engine/base/mem.h"

#define PATH_BYTES 1024
#define LIMIT      20
#define LIMIT_MAX  500

struct explain_values {
	const char *node;
	enum neap_output output;
	int64_t limit;
};

static const struct neap_option options[] = {
	{"node", 0, NEAP_OPTION_TEXT, offsetof(struct explain_values, node), "NODE",
	 "only this one, score by score"},
	{"limit", 'n', NEAP_OPTION_INT, offsetof(struct explain_values, limit), "N",
	 "so many nodes [20]", 1, LIMIT_MAX},
	{"output", 'o', NEAP_OPTION_OUTPUT, offsetof(struct explain_values, output),
	 NEAP_OUTPUT_NAMES, "print all of it as JSON or YAML"},
	{""},
};

/* --- what is said first --- */

static void add_state(const json_t *pod, struct neap_buf *out)
{
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
	if (json_object_get(pod, "reservation") != NULL)
		neap_buf_addf(out, ", with the reservation %s",
			      neap_cell_text(pod, "reservation"));
}

static void add_phase(const json_t *reservation, struct neap_buf *out)
{
	neap_buf_addf(out, "The Reservation %s is %s",
		      neap_cell_text(reservation, "name"),
		      neap_cell_text(reservation, "phase"));
	if (json_object_get(reservation, "node") != NULL)
		neap_buf_addf(out, ", on %s", neap_cell_text(reservation, "node"));
	else
		neap_buf_addf(out, ", for the scheduler %s",
			      neap_cell_text(reservation, "scheduler"));
}

static void add_claim(const json_t *claim, struct neap_buf *out)
{
	const char *node = neap_cell_text(claim, "node");

	if (json_object_get(claim, "trouble") != NULL)
		neap_buf_addf(out, "On %s, the best node, it cannot have CPUs: %s\n",
			      node, neap_cell_text(claim, "trouble"));
	if (json_object_get(claim, "reservation") != NULL)
		neap_buf_addf(out,
			      "On %s, the best node, it would use the reservation %s.\n",
			      node, neap_cell_text(claim, "reservation"));
	if (json_object_get(claim, "cpus") != NULL)
		neap_buf_addf(out, "On %s, the best node, it would have CPUs %s.\n", node,
			      neap_cell_text(claim, "cpus"));
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
	add_claim(json_object_get(body, "claim"), out);
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
	if (json_object_get(node, "warning") != NULL)
		neap_buf_addf(&why, "%s%s",
			      json_object_get(node, "reasons") ? "; " : ", ",
			      neap_cell_text(node, "warning"));
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
static bool add_offers(const json_t *nodes, struct neap_buf *out)
{
	static const struct neap_table_column columns[] = {
		{"NODE", false, 40, 0, false},
		{"RESERVATION", false, 40, 0, false},
		{"THE POD", false, 0, 10, true},
		{NULL, false, 0, 0, false}};
	const struct neap_table_style style = {.columns = neap_ctl_columns(),
					       .use_color = neap_ctl_use_color()};
	struct neap_table *table = neap_table_new(columns);
	const json_t *node, *offer;
	bool done = table != NULL, has_any = false;
	size_t i, n;

	if (done) {
		json_array_foreach (nodes, i, node) {
			json_array_foreach (json_object_get(node, "reservations"), n,
					    offer) {
				add_offer(table, node, offer);
				has_any = true;
			}
		}
		if (has_any) {
			neap_buf_addc(out, '\n');
			done = neap_table_format(table, &style, out);
		}
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
	add_subject(body, &raw);
	if (!is_one)
		add_counts(body, &raw);
	neap_text_add_clean(&out, raw.data, true);
	out.failed |= neap_buf_failed(&raw);
	if (json_array_size(nodes) > 0) {
		neap_buf_addc(&out, '\n');
		out.failed |= is_one && json_is_true(json_object_get(first, "fits"))
				      ? !add_scores(first, &out)
				      : !add_nodes(body, &out);
		out.failed |= !add_offers(nodes, &out);
	}
	if (json_object_get(body, "continue") != NULL)
		neap_buf_addf(&out, "The first %s nodes; -n shows more.\n",
			      neap_cell_integer(body, "continue", shown));
	r = neap_ctl_print(&out);
	neap_buf_done(&raw);
	neap_buf_done(&out);
	return r;
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
	struct neap_error err = {0};
	char path[PATH_BYTES];
	json_t *body = NULL;
	int r;

	r = make_path(subject, path);
	if (r == 0)
		r = add_query(values, path);
	if (r != 0)
		return r;
	if (neap_client_ask(ctl, "GET", path, &body, &err) < 0)
		return neap_ctl_fail(&err);
	if (values->output)
		return neap_ctl_print_take(values->output, body);
	r = print(body, values->node != NULL);
	json_decref(body);
	return r;
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
	.summary = "why a pod goes where it goes, or nowhere",
	.text = "\nWhat every filter says of every node, and the points of those that fit; and "
		"which\nreservation it uses or would use, and why none of the others. A pod that "
		"has a place\nis looked at as if it was not there.\n",
	.options = options,
	.values_size = sizeof(struct explain_values),
	.args_min = 1,
	.args_max = 1,
	.run = run_pod,
};

const struct neap_command neap_command_explain_reservation = {
	.name = "explain reservation",
	.usage = "NAME [--node NODE] [-n N] [-o json|yaml]",
	.example = "explain reservation web-room",
	.summary = "why a Reservation goes where it goes, or nowhere",
	.text = "\nAs explain pod. One that has a place is looked at as if it was not there.\n",
	.options = options,
	.values_size = sizeof(struct explain_values),
	.args_min = 1,
	.args_max = 1,
	.run = run_reservation,
};
