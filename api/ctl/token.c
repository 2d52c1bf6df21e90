/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl token rotate`: makes the daemon create a new token. The token is never shown;
 * it is in the daemon's file. */
#include "api/ctl/base/client.h"
#include "api/ctl/draw/cells.h"
#include "api/ctl/draw/text.h"

struct rotate_values {
	enum neap_output output;
};

static const struct neap_option options[] = {
	{"output", 'o', NEAP_OPTION_OUTPUT, offsetof(struct rotate_values, output),
	 NEAP_OUTPUT_NAMES, "print JSON or YAML"},
	{""},
};

static int rotate(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct rotate_values *values = arg;
	struct neap_error err = {0};
	json_t *reply = NULL;
	struct neap_buf out;
	int r;

	(void)argc, (void)argv;
	if (neap_client_ask(ctl, "POST", "/control/v1/token/rotate", &reply, &err) < 0)
		return neap_ctl_fail(&err);
	if (values->output)
		return neap_ctl_print_take(values->output, reply);
	neap_buf_init(&out, NEAP_BUF_LINE);
	neap_buf_adds(&out, "rotated: the new token is in ");
	neap_text_add_clean(&out, neap_cell_text(reply, "token_file"), false);
	neap_buf_adds(&out, "; the one before is not taken any more\n");
	r = neap_ctl_print(&out);
	neap_buf_done(&out);
	json_decref(reply);
	return r;
}

const struct neap_command neap_command_token_rotate = {
	.name = "token rotate",
	.usage = "[-o json|yaml]",
	.example = "token rotate",
	.summary = "a new token for TCP, in the daemon's file",
	.text = "The one before is refused from then on.\n",
	.options = options,
	.values_size = sizeof(struct rotate_values),
	.run = rotate,
};
