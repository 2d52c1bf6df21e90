/* SPDX-License-Identifier: Apache-2.0
 *
 * The right-hand side of the drawing: core boxes, CPU lists, marks, and their runs. Rows
 * end at the canvas; continuation rows start with the branches of the tree. */
#include <stdio.h>
#include <string.h>

#include "api/ctl/draw/topology_draw_priv.h"

#define FIRST_COLOR 31

int neap_draw_key_at(const struct neap_cpu *cpu, enum level level)
{
	switch (level) {
	case LEVEL_SOCKET:
		return cpu->socket;
	case LEVEL_NODE:
		return cpu->node;
	case LEVEL_L3:
		return cpu->l3;
	case LEVEL_CORE:
		return cpu->core;
	}
	return 0;
}

bool neap_draw_next_run(const struct canvas *c, struct run whole, enum level level,
			struct run *run)
{
	run->first = run->last;
	if (run->first >= whole.last)
		return false;
	while (run->last < whole.last &&
	       neap_draw_key_at(c->cpus[run->last], level) ==
		       neap_draw_key_at(c->cpus[run->first], level))
		run->last++;
	return true;
}

int neap_draw_count_runs(const struct canvas *c, struct run whole, enum level level)
{
	struct run run = {whole.first, whole.first};
	int count = 0;

	while (neap_draw_next_run(c, whole, level, &run))
		count++;
	return count;
}

void neap_draw_run_cpus(const struct canvas *c, struct run run, struct neap_cpuset *ret)
{
	neap_cpuset_clear(ret);
	for (int i = run.first; i < run.last; i++)
		(void)neap_cpuset_add(
			ret, c->cpus[i]->os_cpu); /* numbers of a topology are valid */
}

int neap_draw_width_of(const char *text)
{
	int width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

void neap_draw_pad(struct neap_buf *out, int columns)
{
	for (int i = 0; i < columns; i++)
		neap_buf_addc(out, ' ');
}

/* Begins a row that goes on from the one above: branches of the tree, then blanks up to
 * column. */
static void next_row(struct neap_buf *out, const char *margin, int column)
{
	neap_buf_addf(out, "\n%s", margin);
	neap_draw_pad(out, column - neap_draw_width_of(margin));
}

static int owner_of(const struct canvas *c, int os_cpu)
{
	for (size_t i = 0; i < c->options->owner_count; i++) {
		if (neap_cpuset_has(c->options->owners[i].cpus, os_cpu))
			return (int)i;
	}
	return -1;
}

void neap_draw_add_mark(const struct canvas *c, int owner)
{
	char mark = c->options->owners[owner].mark;

	if (c->options->use_color)
		neap_buf_addf(c->out, "\033[1;%dm%c\033[0m", FIRST_COLOR + owner % 6,
			      mark);
	else
		neap_buf_addc(c->out, mark);
}

void neap_draw_boxes(const struct canvas *c, struct run leaf, const char *margin,
		     int column)
{
	struct run core = {leaf.first, leaf.first};
	bool has_marks = c->options->owner_count > 0;
	int at = column;

	neap_buf_adds(c->out, "│");
	at++;
	while (neap_draw_next_run(c, leaf, LEVEL_CORE, &core)) {
		int threads = core.last - core.first;
		int width = threads * (c->digits + has_marks) + threads - 1 + 1;

		if (at + width > c->columns && at > column + 1) {
			next_row(c->out, margin, column);
			neap_buf_adds(c->out, "│");
			at = column + 1;
		}
		for (int i = core.first; i < core.last; i++) {
			int owner = owner_of(c, c->cpus[i]->os_cpu);

			neap_buf_addf(c->out, "%s%*d", i > core.first ? " " : "",
				      c->digits, c->cpus[i]->os_cpu);
			if (owner >= 0)
				neap_draw_add_mark(c, owner);
			else if (has_marks)
				neap_buf_addc(c->out, ' ');
		}
		neap_buf_adds(c->out, "│");
		at += width;
	}
	neap_buf_addc(c->out, '\n');
}

int neap_draw_add_list(const struct canvas *c, const struct neap_cpuset *cpus, int at,
		       const char *margin, int column)
{
	char text[NEAP_CPUSET_TEXT];
	const char *item = text;

	(void)neap_cpuset_format(cpus, text, sizeof(text)); /* fits any set */
	while (*item) {
		int len = (int)strcspn(item, ",");

		len += item[len] == ',';
		if (at + len > c->columns && at > column) {
			next_row(c->out, margin, column);
			at = column;
		}
		neap_buf_add(c->out, item, (size_t)len);
		at += len;
		item += len;
	}
	return at;
}

void neap_draw_lists(const struct canvas *c, struct run leaf, const char *margin,
		     int column)
{
	struct neap_cpuset cpus, mine;
	int cores = neap_draw_count_runs(c, leaf, LEVEL_CORE);
	char text[32];
	int at;

	neap_draw_run_cpus(c, leaf, &cpus);
	snprintf(text, sizeof(text), "%d core%s  ", cores, cores == 1 ? "" : "s");
	neap_buf_adds(c->out, text);
	column += neap_draw_width_of(text);
	at = neap_draw_add_list(c, &cpus, column, margin, column);
	for (size_t i = 0; i < c->options->owner_count; i++) {
		neap_cpuset_and(&mine, &cpus, c->options->owners[i].cpus);
		if (neap_cpuset_is_empty(&mine))
			continue;
		neap_buf_adds(c->out, "  ");
		neap_draw_add_mark(c, (int)i);
		neap_buf_addc(c->out, ' ');
		at = neap_draw_add_list(c, &mine, at + 4, margin, column);
	}
	neap_buf_addc(c->out, '\n');
}

void neap_draw_leaf(const struct canvas *c, struct run leaf, const char *margin,
		    int column)
{
	if (c->has_boxes)
		neap_draw_boxes(c, leaf, margin, column);
	else
		neap_draw_lists(c, leaf, margin, column);
}
