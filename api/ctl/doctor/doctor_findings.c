/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings: kept, counted, printed. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/ctl/base/ctl.h"
#include "api/ctl/doctor/doctor.h"
#include "api/ctl/draw/text.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

#define LEFT 11 /* columns before the text */

static const struct {
	const char *name, *plural, *color;
} levels[] = {
	[NEAP_FINDING_OK] = {"ok", "ok", "\033[32m"},
	[NEAP_FINDING_NOTE] = {"note", "notes", "\033[36m"},
	[NEAP_FINDING_WARNING] = {"warning", "warnings", "\033[33m"},
	[NEAP_FINDING_PROBLEM] = {"problem", "problems", "\033[31m"},
};

/* A command in the text starts as neapctl was called. */
static void set_text(char *buf, size_t size, const char *text)
{
	static const char program[] = "'neapctl ";
	const char *at = strstr(text, program);

	if (at)
		(void)snprintf(buf, size, "%.*s'%s %s", (int)(at - text), text,
			       neap_ctl_name(), at + sizeof(program) - 1);
	else
		(void)neap_strcopy(buf, size, text);
}

void neap_finding_add(struct neap_findings *findings, enum neap_finding_level level,
		      const char *check, const char *todo, const char *fmt, ...)
{
	struct neap_finding *finding;
	char text[sizeof(finding->text)];
	va_list args;

	if (findings->count == NEAP_FINDINGS_MAX)
		return;
	finding = &findings->list[findings->count++];
	finding->level = level;
	(void)neap_strcopy(finding->check, sizeof(finding->check), check);
	set_text(finding->todo, sizeof(finding->todo), todo != NULL ? todo : "");
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	set_text(finding->text, sizeof(finding->text), text);
	neap_utf8_trim(finding->text);
}

int neap_findings_count(const struct neap_findings *findings,
			enum neap_finding_level level)
{
	int i, count = 0;

	for (i = 0; i < findings->count; i++)
		count += findings->list[i].level == level;
	return count;
}

static void line_add(struct neap_buf *out, const char *text, int columns)
{
	neap_auto_buf struct neap_buf clean = {0};

	neap_buf_init(&clean, NEAP_BUF_LINE);
	neap_text_add_clean(&clean, text, false);
	if (columns > LEFT + 20)
		neap_text_add_wrapped(out, clean.data, columns - LEFT, LEFT);
	else
		neap_buf_adds(out, clean.data);
	neap_buf_addc(out, '\n');
}

static void counts_add(const struct neap_findings *findings, struct neap_buf *out)
{
	int level;

	for (level = NEAP_FINDING_PROBLEM; level >= NEAP_FINDING_OK; level--) {
		int count = neap_findings_count(findings, (enum neap_finding_level)level);

		neap_buf_addf(out, "%s%d %s", level == NEAP_FINDING_PROBLEM ? "\n" : ", ",
			      count,
			      count == 1 ? levels[level].name : levels[level].plural);
	}
	neap_buf_addc(out, '\n');
}

void neap_findings_format(const struct neap_findings *findings, int columns,
			  bool use_color, struct neap_buf *out)
{
	size_t area_len = 0;
	const char *area = "";

	for (int i = 0; i < findings->count; i++) {
		const struct neap_finding *finding = &findings->list[i];
		const size_t len = strcspn(finding->check, ".");

		if (len != area_len || strncmp(area, finding->check, len) != 0)
			neap_buf_addf(out, "%s%s%.*s%s\n", i > 0 ? "\n" : "",
				      use_color ? "\033[1m" : "", (int)len,
				      finding->check, use_color ? "\033[0m" : "");
		area = finding->check;
		area_len = len;
		neap_buf_addf(out, "  %s%-7s%s  ",
			      use_color ? levels[finding->level].color : "",
			      levels[finding->level].name, use_color ? "\033[0m" : "");
		line_add(out, finding->text, columns);
		if (finding->todo[0] == '\0')
			continue;
		neap_buf_addf(out, "%*s", LEFT, "");
		neap_buf_adds(out, "-> ");
		line_add(out, finding->todo, columns > 0 ? columns - 3 : 0);
	}
	counts_add(findings, out);
}

json_t *neap_findings_json(const struct neap_findings *findings)
{
	json_t *out = json_object(), *checks = json_array();
	int i, level;

	for (i = 0; i < findings->count; i++) {
		const struct neap_finding *finding = &findings->list[i];
		json_t *row = json_object();

		neap_json_set_text(row, "check", finding->check);
		neap_json_set_text(row, "level", levels[finding->level].name);
		neap_json_set_text(row, "text", finding->text);
		neap_json_set_text(row, "todo",
				   finding->todo[0] != '\0' ? finding->todo : NULL);
		(void)json_array_append_new(checks, row);
	}
	(void)json_object_set_new(out, "checks", checks);
	for (level = NEAP_FINDING_OK; level <= NEAP_FINDING_PROBLEM; level++)
		(void)json_object_set_new(
			out, levels[level].plural,
			json_integer(neap_findings_count(
				findings, (enum neap_finding_level)level)));
	return out;
}
