/* SPDX-License-Identifier: Apache-2.0
 *
 * A machine as letters: a group per core, with one letter per thread. All text of the
 * answer goes through neap_text_add_clean at the end. */
#include <stdlib.h>
#include <string.h>

#include "api/ctl/draw/cells.h"
#include "api/ctl/draw/cpus_draw.h"
#include "api/ctl/draw/text.h"
#include "engine/base/mem.h"

/* "  core 1234  " */
#define MARGIN    14
#define LETTERS   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define FREE      '.'
#define RESERVED  '#'
#define SEVERAL   '&' /* pods share it */
#define NO_LETTER '+' /* there are more pods than letters */

struct cpu {
	int64_t socket, node, core, cpu;
	char letter;
};

static int compare(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_place(const void *a, const void *b)
{
	const struct cpu *x = a, *y = b;
	int order = compare(x->socket, y->socket);

	order = order ? order : compare(x->node, y->node);
	order = order ? order : compare(x->core, y->core);
	return order ? order : compare(x->cpu, y->cpu);
}

/* "default/web"; of a Reservation "/web". */
static void pod_name(const json_t *pod, char *buf, size_t size)
{
	if (json_object_get(pod, "reservation") != NULL) {
		(void)snprintf(buf, size, "/%s", neap_cell_text(pod, "reservation"));
		return;
	}
	(void)snprintf(buf, size, "%s/%s", neap_cell_text(pod, "namespace"),
		       neap_cell_text(pod, "name"));
}

static char letter_at(size_t index)
{
	return index < sizeof(LETTERS) - 1 ? LETTERS[index] : NO_LETTER;
}

/* Whose a CPU is that pods of held have; is_shared: several. What a Reservation keeps is
 * that of the pod that uses it. */
static const char *holder_of(const json_t *held, bool *is_shared)
{
	const char *name = NULL, *kept = NULL;
	const json_t *one;
	size_t i;

	*is_shared = false;
	json_array_foreach (held, i, one) {
		const char *text = json_string_value(one);

		if (text == NULL)
			continue;
		if (*text == '/') {
			*is_shared |= kept != NULL;
			kept = text;
		} else {
			*is_shared |= name != NULL;
			name = text;
		}
	}
	return name ? name : kept;
}

static char letter_of(const json_t *pods, const json_t *cpu)
{
	const json_t *held = json_object_get(cpu, "pods"), *pod;
	bool is_shared;
	const char *name = holder_of(held, &is_shared);
	size_t at = 0, i;

	if (is_shared)
		return SEVERAL;
	if (name == NULL)
		return json_is_true(json_object_get(cpu, "reserved")) ? RESERVED : FREE;
	json_array_foreach (pods, i, pod) {
		char text[400];

		if (json_object_get(pod, "cpus") == NULL)
			continue;
		pod_name(pod, text, sizeof(text));
		if (strcmp(text, name) == 0)
			return letter_at(at);
		at++;
	}
	return NO_LETTER;
}

/* NULL without memory. */
static struct cpu *cpus_of(const json_t *node, size_t *ret_count)
{
	const json_t *rows = json_object_get(node, "cpus"), *row;
	struct cpu *list = neap_alloc_array(json_array_size(rows) + 1, sizeof(*list));
	size_t i;

	*ret_count = json_array_size(rows);
	if (list == NULL)
		return NULL;
	json_array_foreach (rows, i, row) {
		list[i] = (struct cpu){neap_member_integer(row, "socket", -1),
				       neap_member_integer(row, "node", -1),
				       neap_member_integer(row, "core", -1),
				       neap_member_integer(row, "cpu", -1),
				       letter_of(json_object_get(node, "pods"), row)};
	}
	qsort(list, *ret_count, sizeof(*list), by_place);
	return list;
}

static bool is_same_core(const struct cpu *a, const struct cpu *b)
{
	return a->socket == b->socket && a->node == b->node && a->core == b->core;
}

static size_t threads_of(const struct cpu *list, size_t count, size_t at)
{
	size_t end = at;

	while (end < count && is_same_core(&list[at], &list[end]))
		end++;
	return end - at;
}

/* Cores in a line: a power of two, as far as there is room. */
static size_t cores_in_line(const struct cpu *list, size_t count)
{
	size_t width = 1, cores = 1;

	for (size_t i = 0; i < count;) {
		size_t threads = threads_of(list, count, i);

		width = threads > width ? threads : width;
		i += threads;
	}
	while (cores * 2 * (width + 1) + MARGIN <= NEAP_CPUS_COLUMNS + 1)
		cores *= 2;
	return cores;
}

static void add_cores(const struct cpu *list, size_t count, struct neap_buf *out)
{
	size_t line = cores_in_line(list, count), cores = 0;

	for (size_t i = 0; i < count;) {
		size_t threads = threads_of(list, count, i);
		bool is_part = i == 0 || list[i - 1].socket != list[i].socket ||
			       list[i - 1].node != list[i].node;

		if (is_part) {
			neap_buf_addf(out, "%ssocket %lld, NUMA node ", i ? "\n\n" : "",
				      (long long)list[i].socket);
			if (list[i].node < 0)
				neap_buf_adds(out, "unknown");
			else
				neap_buf_addf(out, "%lld", (long long)list[i].node);
			cores = 0;
		}
		if (cores % line == 0)
			neap_buf_addf(out, "\n  core %-5lld ", (long long)list[i].core);
		else
			neap_buf_addc(out, ' ');
		for (size_t n = 0; n < threads; n++)
			neap_buf_addc(out, list[i + n].letter);
		cores++;
		i += threads;
	}
	if (count)
		neap_buf_adds(out, "\n");
}

static bool has_letter(const struct cpu *list, size_t count, char letter)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].letter == letter)
			return true;
	return false;
}

/* One line of the legend, broken at the last column. */
static void add_entry(char letter, const char *text, struct neap_buf *out)
{
	neap_buf_addf(out, "  %c  ", letter);
	neap_text_add_wrapped(out, text, NEAP_CPUS_COLUMNS - 5, 5);
	neap_buf_addc(out, '\n');
}

static void add_pod(const json_t *pod, char letter, struct neap_buf *out)
{
	struct neap_buf text;
	char name[400];

	neap_buf_init(&text, NEAP_BUF_REPLY);
	pod_name(pod, name, sizeof(name));
	if (*name == '/')
		neap_buf_addf(&text, "kept by the Reservation %s", name + 1);
	else
		neap_buf_adds(&text, name);
	neap_cells_add_if(&text, pod, "qos", ", {qos}");
	neap_cells_add(&text, pod, ", CPUs {cpus}");
	neap_cells_add_if(&text, pod, "exclusive", ", exclusive {exclusive}");
	if (strcmp(neap_cell_text(pod, "state"), "assumed") == 0)
		neap_buf_adds(&text, ", being bound");
	add_entry(letter, text.data, out);
	out->failed |= neap_buf_failed(&text);
	neap_buf_done(&text);
}

static void add_legend(const json_t *node, const struct cpu *list, size_t count,
		       struct neap_buf *out)
{
	const json_t *row;
	size_t at = 0, i;

	json_array_foreach (json_object_get(node, "pods"), i, row) {
		if (json_object_get(row, "cpus") != NULL)
			add_pod(row, letter_at(at++), out);
	}
	if (has_letter(list, count, SEVERAL))
		add_entry(SEVERAL, "several pods share it", out);
	json_array_foreach (json_object_get(node, "reserved"), i, row) {
		struct neap_buf text;

		neap_buf_init(&text, NEAP_BUF_LINE);
		neap_cells_add(&text, row, "CPUs {cpus}, {why}");
		neap_cells_add_if(&text, row, "pod", " to {pod}");
		add_entry(RESERVED, text.data, out);
		neap_buf_done(&text);
	}
	if (has_letter(list, count, FREE))
		add_entry(FREE, "free", out);
}

static void add_pools(const json_t *node, struct neap_buf *out)
{
	const json_t *row;
	size_t i;

	json_array_foreach (json_object_get(node, "shared_pools"), i, row) {
		struct neap_buf text;

		neap_buf_init(&text, NEAP_BUF_LINE);
		neap_cells_add(&text, row,
			       "shared by {of} pods, socket {socket}, NUMA node {node}: "
			       "CPUs {cpus}");
		neap_text_add_wrapped(out, text.data, NEAP_CPUS_COLUMNS, 4);
		neap_buf_addc(out, '\n');
		neap_buf_done(&text);
	}
}

static const char *or_none(const json_t *node, const char *name)
{
	const char *text = json_string_value(json_object_get(node, name));

	return text != NULL && *text ? text : "none";
}

static void add_head(const json_t *node, struct neap_buf *out)
{
	const json_t *ratio;
	const char *name;

	neap_text_add_cut(out, neap_cell_text(node, "node"), NEAP_CPUS_COLUMNS);
	neap_cells_add(
		out, node,
		"\nsockets {socket_count}, NUMA nodes {node_count}, cores "
		"{core_count}, CPUs {cpu_count}, reserved {reserved_count}, given to "
		"pods {held_count}");
	neap_buf_addf(out, "\nbind policy %s, NUMA policy %s, %s first",
		      or_none(node, "bind_policy"), or_none(node, "numa_policy"),
		      json_is_true(json_object_get(node, "most_allocated"))
			      ? "the fullest"
			      : "the emptiest");
	json_object_foreach (json_object_get(node, "amplification"), name, ratio) {
		neap_buf_addf(out, "\n%.40s amplified %.2f times", name,
			      json_number_value(ratio));
	}
	neap_buf_adds(out, "\n\n");
}

void neap_ctl_cpus_draw(const json_t *node, struct neap_buf *out)
{
	struct neap_buf raw;
	struct cpu *list;
	size_t count;

	neap_buf_init(&raw, NEAP_BUF_REPLY);
	neap_cells_add_if(&raw, node, "warning", "{node}: {warning|lines}\n");
	neap_cells_add_if(&raw, node, "trouble", "{node}: {trouble|lines}\n");
	if (json_object_get(node, "trouble") == NULL) {
		list = cpus_of(node, &count);
		raw.failed |= list == NULL;
		add_head(node, &raw);
		if (list != NULL) {
			add_cores(list, count, &raw);
			neap_buf_addc(&raw, '\n');
			add_legend(node, list, count, &raw);
			add_pools(node, &raw);
		}
		free(list);
	}
	neap_text_add_clean(out, raw.data, true);
	out->failed |= neap_buf_failed(&raw);
	neap_buf_done(&raw);
}
