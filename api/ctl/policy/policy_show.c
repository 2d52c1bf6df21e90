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
};

static const struct neap_option options[] = {
	{"text", 0, NEAP_OPTION_FLAG, offsetof(struct show_values, is_text), NULL,
	 "print the Lua text only"},
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

static void add_counts(const json_t *row, struct neap_buf *out)
{
	int64_t count = neap_member_integer(row, "calls", 0);
	int64_t total = neap_member_integer(row, "cpu_usec", NEAP_MISSING);

	neap_cells_add(out, row,
		       "calls      {calls}: {wishes} wishes, {holds} times held, "
		       "{skipped} skipped for want of data, {starved} starved");
	if (neap_member_integer(row, "put_off", 0) > 0)
		neap_cells_add(out, row, ", {put_off} put off");
	neap_cells_add(
		out, row,
		"\nfaults     {errors} errors, {wrong} wrong results, {spent} spent "
		"budgets\n");
	if (count > 0 && total != NEAP_MISSING)
		neap_buf_addf(out, "CPU        %lld us a call\n",
			      (long long)(total / count));
}

static void add(const json_t *row, const void *arg, struct neap_buf *out)
{
	static const char *const lines[][2] = {
		{"layer", "layer      {layer}\n"},
		{"origin", "origin     {origin}\n"},
		{"owner_file", "owner      {owner_file}\n"},
		{"doc", "doc        {doc}\n"},
	};
	const json_t *schema = json_object_get(row, "schema"), *trigger;
	size_t i;

	(void)arg;
	neap_cells_add(out, row, "policy     {policy}");
	neap_cells_add_if(out, row, "version", "@{version}");
	neap_cells_add(out, row, "\nstate      {state}\n");
	for (i = 0; i < NEAP_ARRAY_LEN(lines); i++)
		neap_cells_add_if(out, row, lines[i][0], lines[i][1]);
	if (json_object_get(row, "calls") != NULL)
		add_counts(row, out);
	json_array_foreach (json_object_get(row, "triggers"), i, trigger) {
		neap_cells_add(
			out, trigger,
			"trigger    {name} of {of}: {state}, fired {fired} times\n");
	}
	if (json_object_get(row, "shadow") != NULL) {
		neap_buf_adds(out, "shadow     ");
		neap_ctl_policy_add_shadow(json_object_get(row, "shadow"), out);
	}
	neap_cells_add_if(out, row, "last_error", "last error  {last_error}\n");
	if (json_is_object(json_object_get(row, "refused"))) {
		neap_buf_addf(out, "%srefused    ", neap_ctl_red());
		neap_ctl_policy_add_refused(row, out);
		neap_buf_adds(out, neap_ctl_plain());
	}
	if (json_object_size(schema) > 0) {
		neap_buf_addc(out, '\n');
		neap_ctl_policy_add_params(json_object_get(row, "params"), schema, out);
	}
}

static int show(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct show_values *values = arg;
	struct neap_client *client = NULL;
	struct neap_error err = {0};
	int r;

	(void)argc;
	if (values->is_text && ctl->output)
		return neap_ctl_complainf(NEAP_CTL_USAGE, "--text or -o json, not both");
	if (!values->is_text)
		return neap_ctl_policy_show(ctl, argv[0], "", add, NULL);
	if (neap_client_new(ctl, &client, &err) < 0)
		return neap_ctl_fail(&err);
	r = print_text(client, argv[0]);
	neap_client_free(client);
	return r;
}

const struct neap_command neap_command_policy_show = {
	.name = "policy show",
	.usage = "KIND/NAME [--text] [-o json|yaml]",
	.example = "policy show qos/cpu-share --text",
	.summary = "one policy: state, counters, parameters, or its text",
	.options = options,
	.output = NEAP_OUTPUT_OF_ALL,
	.values_size = sizeof(struct show_values),
	.args_min = 1,
	.args_max = 1,
	.run = show,
};
