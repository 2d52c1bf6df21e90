/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl policy show`: one policy with its parameters and counters, or its text. */
#include <stdio.h>
#include <unistd.h>

#include "api/ctl/draw/cells.h"
#include "api/ctl/draw/text.h"
#include "api/ctl/policy/policy_priv.h"

struct show_values {
	bool is_text;
	enum neap_output output;
};

static const struct neap_option options[] = {
	{"text", 0, NEAP_OPTION_FLAG, offsetof(struct show_values, is_text), NULL,
	 "print the Lua text only"},
	{"output", 'o', NEAP_OPTION_OUTPUT, offsetof(struct show_values, output),
	 NEAP_OUTPUT_NAMES, "print all of it as JSON or YAML"},
	{""},
};

/* Byte for byte into a file or a pipe; a terminal gets nothing that acts on it. */
static int print_text(struct neap_client *client, const char *name)
{
	struct neap_buf text, clean;
	int r;

	neap_buf_init(&text, NEAP_BUF_REPLY);
	neap_buf_init(&clean, NEAP_BUF_REPLY);
	r = neap_ctl_policy_fetch(client, name, NULL, &text, NULL);
	if (r == 0 && isatty(STDOUT_FILENO)) {
		neap_text_add_source(&clean, text.data);
		r = neap_ctl_print(&clean);
	} else if (r == 0) {
		r = neap_ctl_print(&text);
	}
	neap_buf_done(&clean);
	neap_buf_done(&text);
	return r;
}

static void add_line(struct neap_buf *out, const char *title, const char *text)
{
	neap_buf_addf(out, "%-9s  ", title);
	neap_text_add_clean(out, text, false);
	neap_buf_addc(out, '\n');
}

static void add_counts(const json_t *row, struct neap_buf *out)
{
	char calls[NEAP_CELL_BYTES], wishes[NEAP_CELL_BYTES], holds[NEAP_CELL_BYTES],
		skipped[NEAP_CELL_BYTES], starved[NEAP_CELL_BYTES],
		put_off[NEAP_CELL_BYTES], errors[NEAP_CELL_BYTES], wrong[NEAP_CELL_BYTES],
		spent[NEAP_CELL_BYTES];
	int64_t count = neap_member_integer(row, "calls", 0);
	int64_t total = neap_member_integer(row, "cpu_usec", NEAP_MISSING);

	neap_buf_addf(out,
		      "calls      %s: %s wishes, %s times held, %s skipped for want of "
		      "data, %s starved",
		      neap_cell_integer(row, "calls", calls),
		      neap_cell_integer(row, "wishes", wishes),
		      neap_cell_integer(row, "holds", holds),
		      neap_cell_integer(row, "skipped", skipped),
		      neap_cell_integer(row, "starved", starved));
	if (neap_member_integer(row, "put_off", 0) > 0)
		neap_buf_addf(out, ", %s put off",
			      neap_cell_integer(row, "put_off", put_off));
	neap_buf_addc(out, '\n');
	neap_buf_addf(out, "faults     %s errors, %s wrong results, %s spent budgets\n",
		      neap_cell_integer(row, "errors", errors),
		      neap_cell_integer(row, "wrong", wrong),
		      neap_cell_integer(row, "spent", spent));
	if (count > 0 && total != NEAP_MISSING)
		neap_buf_addf(out, "CPU        %lld us a call\n",
			      (long long)(total / count));
}

static void add_triggers(const json_t *row, struct neap_buf *out)
{
	const json_t *trigger;
	char fired[NEAP_CELL_BYTES];
	size_t i;

	json_array_foreach (json_object_get(row, "triggers"), i, trigger) {
		neap_buf_addf(out, "%-9s  ", "trigger");
		neap_text_add_clean(out, neap_cell_text(trigger, "name"), false);
		neap_buf_adds(out, " of ");
		neap_text_add_clean(out, neap_cell_text(trigger, "of"), false);
		neap_buf_adds(out, ": ");
		neap_text_add_clean(out, neap_cell_text(trigger, "state"), false);
		neap_buf_addf(out, ", fired %s times\n",
			      neap_cell_integer(trigger, "fired", fired));
	}
}

static int print_row(const json_t *row)
{
	static const char *const more[][2] = {
		{"layer", "layer"},
		{"origin", "origin"},
		{"owner_file", "owner"},
		{"doc", "doc"},
	};
	const json_t *schema = json_object_get(row, "schema");
	struct neap_buf out;
	size_t i;

	neap_buf_init(&out, NEAP_BUF_REPLY);
	neap_buf_adds(&out, "policy     ");
	neap_text_add_clean(&out, neap_cell_text(row, "policy"), false);
	if (json_object_get(row, "version") != NULL) {
		neap_buf_addc(&out, '@');
		neap_text_add_clean(&out, neap_cell_text(row, "version"), false);
	}
	neap_buf_addc(&out, '\n');
	add_line(&out, "state", neap_cell_text(row, "state"));
	for (i = 0; i < NEAP_ARRAY_LEN(more); i++)
		if (json_object_get(row, more[i][0]) != NULL)
			add_line(&out, more[i][1], neap_cell_text(row, more[i][0]));
	if (json_object_get(row, "calls") != NULL)
		add_counts(row, &out);
	add_triggers(row, &out);
	if (json_object_get(row, "shadow") != NULL) {
		neap_buf_adds(&out, "shadow     ");
		neap_ctl_policy_add_shadow(json_object_get(row, "shadow"), &out);
	}
	if (json_object_get(row, "last_error") != NULL)
		add_line(&out, "last error", neap_cell_text(row, "last_error"));
	if (json_is_object(json_object_get(row, "refused"))) {
		neap_buf_addf(&out, "%srefused    ", neap_ctl_red());
		neap_ctl_policy_add_refused(row, &out);
		neap_buf_adds(&out, neap_ctl_plain());
	}
	if (json_object_size(schema) > 0) {
		neap_buf_addc(&out, '\n');
		if (!neap_ctl_policy_add_params(json_object_get(row, "params"), schema,
						&out))
			out.failed = true;
	}
	return neap_ctl_print_done(&out);
}

static int show(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct show_values *values = arg;
	struct neap_client *client = NULL;
	struct neap_error err = {0};
	json_t *row = NULL;
	int r;

	(void)argc;
	if (values->is_text && values->output)
		return neap_ctl_complainf(NEAP_CTL_USAGE, "--text or -o json, not both");
	if (neap_client_new(ctl, &client, &err) < 0)
		return neap_ctl_fail(&err);
	if (values->is_text)
		r = print_text(client, argv[0]);
	else
		r = neap_ctl_policy_get(client, argv[0], "", &row);
	neap_client_free(client);
	if (r != 0 || values->is_text)
		return r;
	if (values->output)
		return neap_ctl_print_take(values->output, row);
	r = print_row(row);
	json_decref(row);
	return r;
}

const struct neap_command neap_command_policy_show = {
	.name = "policy show",
	.usage = "KIND/NAME [--text] [-o json|yaml]",
	.example = "policy show qos/cpu-share --text",
	.summary = "one policy: state, counters, parameters, or its text",
	.options = options,
	.values_size = sizeof(struct show_values),
	.args_min = 1,
	.args_max = 1,
	.run = show,
};
