/* SPDX-License-Identifier: Apache-2.0
 *
 * The result of a policy change, for people: examples and replay, or the problems as
 * lines that editors can jump to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/ctl/draw/cells.h"
#include "api/ctl/draw/table.h"
#include "api/ctl/draw/text.h"
#include "api/ctl/policy/policy_priv.h"
#include "engine/json/json.h"

const char *neap_ctl_red(void)
{
	return neap_ctl_use_color() ? "\033[31m" : "";
}

const char *neap_ctl_green(void)
{
	return neap_ctl_use_color() ? "\033[32m" : "";
}

const char *neap_ctl_cyan(void)
{
	return neap_ctl_use_color() ? "\033[36m" : "";
}

const char *neap_ctl_plain(void)
{
	return neap_ctl_use_color() ? "\033[0m" : "";
}

void neap_ctl_policy_add_value(const json_t *value, struct neap_buf *out)
{
	char *text;

	if (json_is_string(value)) {
		neap_text_add_clean(out, json_string_value(value), false);
		return;
	}
	text = neap_json_dump(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII |
					     JSON_REAL_PRECISION(15));
	if (text == NULL)
		out->failed = true;
	else
		neap_buf_adds(out, text);
	free(text);
}

/* Length of "NAME:" or "DIR/NAME:" at message when it names file, else 0. */
static size_t file_prefix(const char *message, const char *file)
{
	const char *slash = strrchr(file, '/'), *base = slash != NULL ? slash + 1 : file;
	const char *colon = strchr(message, ':'), *begin;

	if (colon == NULL || !*base || (size_t)(colon - message) < strlen(base))
		return 0;
	begin = colon - strlen(base);
	if (strncmp(begin, base, strlen(base)) != 0 ||
	    (begin > message && begin[-1] != '/'))
		return 0;
	return (size_t)(colon - message) + 1;
}

/* Length of "12: " at text when it is that number, 0: any. */
static size_t line_prefix(const char *text, int64_t *line)
{
	char *end;
	long long number = strtoll(text, &end, 10);

	if (end == text || *end != ':' || number <= 0 || (*line > 0 && *line != number))
		return 0;
	*line = number;
	end++;
	return (size_t)(end - text) + strspn(end, " ");
}

void neap_ctl_policy_add_problem(const char *file, const char *name, int64_t line,
				 const char *message, struct neap_buf *out)
{
	size_t skip, len = file != NULL ? strlen(file) : 0;

	if (len > 0 && strncmp(message, file, len) == 0 && message[len] == ' ') {
		file = name =
			NULL; /* "FILE can be written by others": it says so itself */
	} else if (name != NULL) {
		skip = file_prefix(message, name);
		message += skip;
		if (skip > 0) {
			message += line_prefix(message, &line);
			message += strspn(message, " ");
		}
	}
	if (file == NULL)
		file = name;
	if (file != NULL) {
		neap_text_add_clean(out, file, false);
		if (line > 0)
			neap_buf_addf(out, ":%lld", (long long)line);
		neap_buf_adds(out, ": ");
	}
	neap_text_add_clean(out, message, false);
	neap_buf_addc(out, '\n');
}

/* "percent 1..100", "enum low|high". */
static void add_type(const json_t *row, struct neap_buf *out)
{
	const json_t *min = json_object_get(row, "min"),
		     *max = json_object_get(row, "max"), *value;
	size_t i;

	neap_buf_clear(out);
	neap_text_add_clean(out, neap_cell_text(row, "type"), false);
	if (min != NULL || max != NULL) {
		neap_buf_addc(out, ' ');
		if (min != NULL)
			neap_ctl_policy_add_value(min, out);
		neap_buf_adds(out, "..");
		if (max != NULL)
			neap_ctl_policy_add_value(max, out);
	}
	json_array_foreach (json_object_get(row, "values"), i, value) {
		neap_buf_addc(out, i == 0 ? ' ' : '|');
		neap_ctl_policy_add_value(value, out);
	}
}

static void add_cell(const json_t *value, struct neap_buf *out)
{
	neap_buf_clear(out);
	if (value != NULL && !json_is_null(value))
		neap_ctl_policy_add_value(value, out);
}

void neap_ctl_policy_add_params(const json_t *values, const json_t *schema,
				struct neap_buf *out)
{
	static const struct neap_table_column columns[] = {
		{"PARAM"},
		{"VALUE"},
		{"DEFAULT"},
		{"TYPE"},
		{"DOC", .wraps = true, .cell = "{doc}"},
		{NULL},
	};
	struct neap_table *table = neap_table_new(columns);
	struct neap_buf cells[3];
	const char *name;
	json_t *row;
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(cells); i++)
		neap_buf_init(&cells[i], NEAP_BUF_LINE);
	json_object_foreach ((json_t *)schema, name, row) {
		add_cell(json_object_get(values, name), &cells[0]);
		add_cell(json_object_get(row, "default"), &cells[1]);
		add_type(row, &cells[2]);
		neap_table_add_row(table, row,
				   (const char *[]){name, cells[0].data, cells[1].data,
						    cells[2].data});
	}
	neap_ctl_add_table_take(table, out);
	for (i = 0; i < NEAP_ARRAY_LEN(cells); i++)
		neap_buf_done(&cells[i]);
}

static void add_result(const json_t *reply, struct neap_buf *out)
{
	static const struct {
		const char *result, *text, *behind;
	} texts[] = {
		{"live", "is live", ""},
		{"unchanged", "is live already; nothing was changed", ""},
		{"checked", "would go live", "; nothing was changed"},
		{"shadow", "runs beside", "; what it wants is compared, not written"},
	};
	const char *result = neap_cell_text(reply, "result"), *text = result,
		   *behind = "";
	const char *replaced = json_string_value(json_object_get(reply, "replaced"));
	bool is_unchanged = strcmp(result, "unchanged") == 0;
	const json_t *examples = json_object_get(reply, "examples");
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(texts); i++)
		if (strcmp(texts[i].result, result) == 0) {
			text = texts[i].text;
			behind = texts[i].behind;
		}
	neap_cells_add(out, reply, "{policy}@{version} ");
	neap_text_add_clean(out, text, false);
	if (replaced != NULL && !is_unchanged)
		neap_cells_add(out, reply,
			       strcmp(result, "shadow") == 0 ? " {replaced}"
							     : " in place of {replaced}");
	neap_buf_addf(out, "%s\n", behind);
	/* An unchanged policy was not tested again. */
	if (json_is_object(examples) && !is_unchanged) {
		if (json_is_true(json_object_get(reply, "is_made")))
			neap_buf_adds(out,
				      "it has no examples: one generated input passed");
		else
			neap_cells_add(out, examples,
				       neap_member_integer(examples, "passed", 0) == 1
					       ? "{passed} example passed"
					       : "{passed} examples passed");
		neap_cells_add_if(out, reply, "cpu_usec", ", {cpu_usec} us of CPU time");
		neap_buf_addc(out, '\n');
	}
	neap_ctl_policy_add_replay(json_object_get(reply, "replay"), replaced != NULL,
				   out);
	neap_cells_add_if(out, reply, "note", "{note|lines}\n");
}

static int no_json(void)
{
	return neap_ctl_complainf(NEAP_CTL_FAILED,
				  "the daemon answers, but not with JSON: is it neapd?");
}

int neap_ctl_policy_print_result(struct neap_client_reply *reply, enum neap_output output)
{
	struct neap_buf out;

	if (reply->json == NULL)
		return no_json();
	if (output)
		return neap_ctl_print_take(output, json_incref(reply->json));
	neap_buf_init(&out, NEAP_BUF_REPLY);
	add_result(reply->json, &out);
	return neap_ctl_print_done(&out);
}

static void add_problems(const json_t *problems, const char *file, struct neap_buf *out)
{
	const json_t *problem;
	struct neap_buf text;
	const char *example;
	size_t i;

	neap_buf_init(&text, NEAP_BUF_LINE);
	json_array_foreach (problems, i, problem) {
		example = json_string_value(json_object_get(problem, "example"));
		neap_buf_clear(&text);
		if (example != NULL)
			neap_buf_addf(&text, "example '%s': ", example);
		neap_buf_adds(&text, neap_cell_text(problem, "what"));
		neap_ctl_policy_add_problem(file, NULL,
					    neap_member_integer(problem, "line", 0),
					    text.data, out);
	}
	neap_buf_done(&text);
}

int neap_ctl_policy_print_refusal(struct neap_client_reply *reply,
				  const struct neap_error *err, const char *file,
				  enum neap_output output)
{
	const json_t *problems = json_object_get(reply->json, "problems");
	struct neap_buf out;

	if (output && reply->json != NULL)
		(void)neap_ctl_print_take(output, json_incref(reply->json));
	if (json_array_size(problems) == 0 || output)
		return neap_ctl_fail(err);
	neap_buf_init(&out, NEAP_BUF_FILE);
	add_problems(problems, file, &out);
	neap_ctl_policy_add_replay(json_object_get(reply->json, "replay"), false, &out);
	neap_buf_adds(&out, "neapctl: refused; all is as it was\n");
	(void)fputs(out.data, stderr);
	neap_buf_done(&out);
	return NEAP_CTL_FAILED;
}
