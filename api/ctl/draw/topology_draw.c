/* SPDX-License-Identifier: Apache-2.0
 *
 * The drawing is made from one sorted list of CPUs: by socket, NUMA node, L3, core,
 * thread. Equal neighbours in it form runs, runs of runs the tree; so no shape of machine
 * needs a case of its own. A level with one child shares its line with it:
 *
 *   socket 0 · NUMA 0 31.2 GiB · L3 11 MiB
 *     │ 0 16│ 1 17│ 2 18│ 3 19│
 *   socket 1 · NUMA 1 31.5 GiB
 *   ├─ L3 8 MiB │24 72│25 73│26 74│
 *   └─ L3 8 MiB │27 75│28 76│29 77│ */
#include "api/ctl/draw/topology_draw_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

#define BOXES_MAX   192 /* CPUs; above, lists in place of boxes */
#define ALIKE_MAX   32  /* rows of one level; more that are alike are cut short */
#define LABEL_SIZE  256
#define COLUMNS_MIN 40
#define COLUMNS_MAX 100

static int compare_cpus(const void *a, const void *b)
{
	const struct neap_cpu *x = *(const struct neap_cpu *const *)a;
	const struct neap_cpu *y = *(const struct neap_cpu *const *)b;

	for (int level = LEVEL_SOCKET; level <= LEVEL_CORE; level++) {
		int i = neap_draw_key_at(x, (enum level)level),
		    j = neap_draw_key_at(y, (enum level)level);

		if (i != j)
			return i < j ? -1 : 1;
	}
	return (x->os_cpu > y->os_cpu) - (x->os_cpu < y->os_cpu);
}

static void add_label(char *label, const char *fmt, ...) NEAP_PRINTF(2, 3);
static void add_label(char *label, const char *fmt, ...)
{
	size_t len = strlen(label);
	va_list args;

	va_start(args, fmt);
	vsnprintf(label + len, LABEL_SIZE - len, fmt, args);
	va_end(args);
}

static void add_size(char *label, int64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	double size = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes <= 0)
		return;
	while (size >= 1024 && unit + 1 < NEAP_ARRAY_LEN(units)) {
		size /= 1024;
		unit++;
	}
	if (size >= 100 || size == (double)(int64_t)size)
		add_label(label, " %.0f %s", size, units[unit]);
	else
		add_label(label, " %.1f %s", size, units[unit]);
}

/* The first near node with the same CPUs, -1 when there is none. */
static int neighbour_of(const struct neap_topology *t, int node)
{
	for (int i = 0; i < t->node_count; i++) {
		if (i != node && t->nodes[i].is_near &&
		    neap_cpuset_is_equal(&t->nodes[i].cpus, &t->nodes[node].cpus))
			return i;
	}
	return -1;
}

static void label_node(const struct canvas *c, int index,
		       const struct neap_cpuset *socket_cpus, char *label)
{
	const struct neap_topology *t = c->topology;

	if (index < 0)
		return;
	add_label(label, "%sNUMA %d", *label ? " · " : "", t->nodes[index].os_node);
	add_size(label, t->nodes[index].memory_bytes);
	for (int i = 0; i < t->node_count; i++) {
		if (t->nodes[i].is_near || neighbour_of(t, i) != index)
			continue;
		add_label(label, " + NUMA %d", t->nodes[i].os_node);
		add_size(label, t->nodes[i].memory_bytes);
	}
	if (!neap_cpuset_is_subset(&t->nodes[index].cpus, socket_cpus))
		add_label(label, " (part)");
}

static void label_l3(const struct canvas *c, int index, struct run run, char *label)
{
	const struct neap_topology *t = c->topology;

	if (index < 0)
		return;
	add_label(label, "%sL3", *label ? " · " : "");
	add_size(label, t->l3s[index].size_bytes);
	if (neap_cpuset_count(&t->l3s[index].cpus) != run.last - run.first)
		add_label(label, " (part)");
}

static bool are_alike(const struct canvas *c, struct run a, struct run b,
		      enum level level)
{
	const struct neap_topology *t = c->topology;
	int i = c->cpus[a.first]->l3, j = c->cpus[b.first]->l3;

	if (a.last - a.first != b.last - b.first ||
	    neap_draw_count_runs(c, a, LEVEL_CORE) !=
		    neap_draw_count_runs(c, b, LEVEL_CORE))
		return false;
	if (level < LEVEL_L3 &&
	    neap_draw_count_runs(c, a, LEVEL_L3) != neap_draw_count_runs(c, b, LEVEL_L3))
		return false;
	return (i < 0 && j < 0) ||
	       (i >= 0 && j >= 0 && t->l3s[i].size_bytes == t->l3s[j].size_bytes);
}

/* Counts the runs after this one that need no row of their own: all but the last in a
 * series of equal ones. Moves *run to the last one left out. */
static int skip_alike(const struct canvas *c, struct run whole, enum level level,
		      int siblings, int index, struct run *run)
{
	struct run ahead = *run, last = *run;
	int count = 0;

	if (c->options->is_full || siblings <= ALIKE_MAX || index < 1)
		return 0;
	while (neap_draw_next_run(c, whole, level, &ahead) && ahead.last < whole.last &&
	       are_alike(c, *run, ahead, level)) {
		last = ahead;
		count++;
	}
	if (count > 0)
		*run = last;
	return count;
}

static void add_skipped(const struct canvas *c, const char *prefix, const char *branch,
			int count, struct run from, struct run to)
{
	struct run left_out = {from.last, to.last};
	struct neap_cpuset cpus;
	char text[64];
	int column;

	neap_draw_run_cpus(c, left_out, &cpus);
	snprintf(text, sizeof(text), "%s%s… %d more like it  ", prefix, branch, count);
	column = neap_draw_width_of(text);
	neap_buf_adds(c->out, text);
	(void)neap_draw_add_list(c, &cpus, column, "", column); /* the line ends here */
	neap_buf_addc(c->out, '\n');
}

/* Draws the caches of one node, each a leaf; prefix is the text left of the branches. */
static void draw_l3s(const struct canvas *c, struct run node, const char *prefix)
{
	struct run run = {node.first, node.first};
	int siblings = neap_draw_count_runs(c, node, LEVEL_L3), widest = 0;

	while (neap_draw_next_run(c, node, LEVEL_L3, &run)) {
		char label[LABEL_SIZE] = "";

		label_l3(c, c->cpus[run.first]->l3, run, label);
		widest = neap_draw_width_of(label) > widest ? neap_draw_width_of(label)
							    : widest;
	}
	widest = widest ? widest : neap_draw_width_of("no L3");
	run = (struct run){node.first, node.first};
	for (int i = 0; neap_draw_next_run(c, node, LEVEL_L3, &run); i++) {
		bool is_last = run.last == node.last;
		char label[LABEL_SIZE] = "", margin[32];
		struct run from = run;
		int skipped, gap;

		label_l3(c, c->cpus[run.first]->l3, run, label);
		if (!*label)
			add_label(label, "no L3");
		snprintf(margin, sizeof(margin), "%s%s", prefix, is_last ? "   " : "│  ");
		gap = widest > neap_draw_width_of(label)
			      ? widest - neap_draw_width_of(label)
			      : 0;
		gap += c->has_boxes ? 1 : 2;
		neap_buf_addf(c->out, "%s%s─ %s", prefix, is_last ? "└" : "├", label);
		neap_draw_pad(c->out, gap);
		neap_draw_leaf(c, run, margin,
			       neap_draw_width_of(prefix) + 3 +
				       neap_draw_width_of(label) + gap);
		skipped = skip_alike(c, node, LEVEL_L3, siblings, i, &run);
		if (skipped)
			add_skipped(c, prefix, "├─ ", skipped, from, run);
	}
}

/* Several nodes in one socket. */
static void draw_nodes(const struct canvas *c, struct run socket,
		       const struct neap_cpuset *socket_cpus)
{
	struct run run = {socket.first, socket.first};

	while (neap_draw_next_run(c, socket, LEVEL_NODE, &run)) {
		bool is_last = run.last == socket.last;
		const char *below = is_last ? "   " : "│  ";
		char label[LABEL_SIZE] = "";

		label_node(c, c->cpus[run.first]->node, socket_cpus, label);
		if (!*label)
			add_label(label, "no NUMA node");
		if (neap_draw_count_runs(c, run, LEVEL_L3) > 1) {
			neap_buf_addf(c->out, "%s─ %s\n", is_last ? "└" : "├", label);
			draw_l3s(c, run, below);
			continue;
		}
		label_l3(c, c->cpus[run.first]->l3, run, label);
		neap_buf_addf(c->out, "%s─ %s\n%s", is_last ? "└" : "├", label, below);
		neap_draw_leaf(c, run, below, neap_draw_width_of(below));
	}
}

static void draw_socket(const struct canvas *c, struct run socket)
{
	const struct neap_cpu *first = c->cpus[socket.first];
	char label[LABEL_SIZE] = "";
	struct neap_cpuset cpus;

	neap_draw_run_cpus(c, socket, &cpus);
	add_label(label, "socket %d", c->topology->sockets[first->socket].os_socket);
	if (neap_draw_count_runs(c, socket, LEVEL_NODE) > 1) {
		neap_buf_addf(c->out, "%s\n", label);
		draw_nodes(c, socket, &cpus);
		return;
	}
	label_node(c, first->node, &cpus, label);
	if (neap_draw_count_runs(c, socket, LEVEL_L3) > 1) {
		neap_buf_addf(c->out, "%s\n", label);
		draw_l3s(c, socket, "");
		return;
	}
	label_l3(c, first->l3, socket, label);
	if (c->has_boxes) {
		neap_buf_addf(c->out, "%s\n  ", label);
		neap_draw_boxes(c, socket, "", 2);
		return;
	}
	neap_buf_addf(c->out, "%s  ", label);
	neap_draw_lists(c, socket, "", neap_draw_width_of(label) + 2);
}

static void draw_sockets(const struct canvas *c, struct run all)
{
	int siblings = neap_draw_count_runs(c, all, LEVEL_SOCKET);
	struct run run = {0, 0};

	for (int i = 0; neap_draw_next_run(c, all, LEVEL_SOCKET, &run); i++) {
		struct run from = run;
		int skipped;

		draw_socket(c, run);
		skipped = skip_alike(c, all, LEVEL_SOCKET, siblings, i, &run);
		if (skipped)
			add_skipped(c, "", "", skipped, from, run);
	}
}

/* One of the parts of the head, parted by commas, in lines that end at the canvas. */
static void add_part(const struct canvas *c, int *at, const char *text)
{
	int width = neap_draw_width_of(text);

	if (*at > 0)
		neap_buf_addc(c->out, ',');
	if (*at > 0 && *at + 2 + width >= c->columns) {
		neap_buf_addc(c->out, '\n');
		*at = 0;
	} else if (*at > 0) {
		neap_buf_addc(c->out, ' ');
		*at += 2;
	}
	neap_buf_adds(c->out, text);
	*at += width;
}

static void add_count(const struct canvas *c, int *at, int count, const char *noun)
{
	char text[64];

	snprintf(text, sizeof(text), "%d %s%s", count, noun,
		 count == 1 || strcmp(noun, "L3") == 0 ? "" : "s");
	add_part(c, at, text);
}

static void draw_head(const struct canvas *c)
{
	const struct neap_topology *t = c->topology;
	int fewest = t->cpu_count, most = 0, at = 0;
	char text[96];
	size_t len;

	for (int i = 0; i < t->core_count; i++) {
		int threads = neap_cpuset_count(&t->cores[i].cpus);

		fewest = threads < fewest ? threads : fewest;
		most = threads > most ? threads : most;
	}
	if (*t->model)
		neap_buf_addf(c->out, "%s\n", t->model);
	add_count(c, &at, t->socket_count, "socket");
	add_count(c, &at, t->node_count, "NUMA node");
	add_count(c, &at, t->l3_count, "L3");
	add_count(c, &at, t->core_count, "core");
	len = (size_t)snprintf(text, sizeof(text), "%d CPU%s", t->cpu_count,
			       t->cpu_count == 1 ? "" : "s");
	if (most > 1 && fewest == most)
		snprintf(text + len, sizeof(text) - len, " (%d threads a core)", most);
	else if (most > 1)
		snprintf(text + len, sizeof(text) - len, " (%d to %d threads a core)",
			 fewest, most);
	add_part(c, &at, text);
	neap_buf_addc(c->out, '\n');
	if (neap_cpuset_last(&t->online) + 1 != t->cpu_count) {
		neap_buf_adds(c->out, "online ");
		(void)neap_draw_add_list(c, &t->online, 7, "",
					 7); /* the line ends here */
		neap_buf_addc(c->out, '\n');
	}
	neap_buf_addc(c->out, '\n');
}

/* Memory that no CPU uses first and that shares its CPUs with no other node. */
static void draw_lone_nodes(const struct canvas *c)
{
	const struct neap_topology *t = c->topology;

	for (int i = 0; i < t->node_count; i++) {
		char label[LABEL_SIZE] = "";

		if (t->nodes[i].is_near || neighbour_of(t, i) >= 0)
			continue;
		add_label(label, "NUMA %d", t->nodes[i].os_node);
		add_size(label, t->nodes[i].memory_bytes);
		if (neap_cpuset_is_empty(&t->nodes[i].cpus)) {
			neap_buf_addf(c->out, "%s  no CPUs\n", label);
			continue;
		}
		add_label(label, "  beside CPUs ");
		neap_buf_adds(c->out, label);
		(void)neap_draw_add_list(c, &t->nodes[i].cpus, neap_draw_width_of(label),
					 "", neap_draw_width_of(label));
		neap_buf_addc(c->out, '\n');
	}
}

static void draw_kinds(const struct canvas *c)
{
	const struct neap_topology *t = c->topology;

	for (int kind = 0; kind < t->kind_count && t->kind_count > 1; kind++) {
		struct neap_cpuset cpus;

		neap_cpuset_clear(&cpus);
		for (int i = 0; i < t->cpu_count; i++) {
			if (t->cpus[i].kind == kind)
				(void)neap_cpuset_add(&cpus, t->cpus[i].os_cpu);
		}
		neap_buf_addf(c->out, "kind %-3d", kind);
		(void)neap_draw_add_list(c, &cpus, 8, "", 8); /* the line goes on */
		if (kind == 0)
			neap_buf_adds(c->out, "  slowest");
		else if (kind == t->kind_count - 1)
			neap_buf_adds(c->out, "  fastest");
		neap_buf_addc(c->out, '\n');
	}
}

static void draw_legend(const struct canvas *c)
{
	int widest = 0;

	for (size_t i = 0; i < c->options->owner_count; i++) {
		int width = neap_draw_width_of(c->options->owners[i].name);

		widest = width > widest ? width : widest;
	}
	for (size_t i = 0; i < c->options->owner_count; i++) {
		const struct neap_draw_owner *owner = &c->options->owners[i];
		int column = 2 + widest + 2;

		if (i == 0)
			neap_buf_addc(c->out, '\n');
		neap_draw_add_mark(c, (int)i);
		neap_buf_addf(c->out, " %s", owner->name);
		neap_draw_pad(c->out, widest - neap_draw_width_of(owner->name) + 2);
		if (neap_cpuset_is_empty(owner->cpus))
			neap_buf_addc(c->out, '-');
		else
			(void)neap_draw_add_list(c, owner->cpus, column, "",
						 column); /* the line ends here */
		neap_buf_addc(c->out, '\n');
	}
}

void neap_topology_draw(const struct neap_topology *topology,
			const struct neap_draw_options *options, struct neap_buf *out)
{
	static const struct neap_draw_options plain;
	neap_auto_free const struct neap_cpu **cpus = NULL;
	struct canvas canvas = {
		topology, options ? options : &plain, out, NULL, 1, COLUMNS_MAX, true};
	struct run all = {0, topology->cpu_count};

	cpus = neap_alloc_array((size_t)topology->cpu_count, sizeof(struct neap_cpu *));
	if (!cpus) {
		out->failed = true;
		return;
	}
	for (int i = 0; i < topology->cpu_count; i++)
		cpus[i] = &topology->cpus[i];
	if (topology->cpu_count)
		qsort(cpus, (size_t)topology->cpu_count, sizeof(struct neap_cpu *),
		      compare_cpus);
	canvas.cpus = cpus;
	if (canvas.options->columns > 0 && canvas.options->columns < COLUMNS_MAX)
		canvas.columns = canvas.options->columns > COLUMNS_MIN
					 ? canvas.options->columns
					 : COLUMNS_MIN;
	for (int n = neap_cpuset_last(&topology->online); n >= 10; n /= 10)
		canvas.digits++;
	canvas.has_boxes = canvas.options->is_full || topology->cpu_count <= BOXES_MAX;

	draw_head(&canvas);
	draw_sockets(&canvas, all);
	draw_lone_nodes(&canvas);
	draw_kinds(&canvas);
	draw_legend(&canvas);
}
