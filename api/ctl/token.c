/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl token rotate`: makes the daemon create a new token. The token is never shown;
 * it is in the daemon's file. */
#include "api/ctl/base/ctl.h"
#include "api/ctl/draw/cells.h"

static void add(const json_t *reply, const void *arg, struct neap_buf *out)
{
	(void)arg;
	neap_cells_add(
		out, reply,
		"rotated: the new token is in {token_file}; the old one is refused from now on\n");
}

static int rotate(struct neap_ctl *ctl, void *values, int argc, char **argv)
{
	(void)values, (void)argc, (void)argv;
	return neap_ctl_show(ctl, "POST", "/control/v1/token/rotate", add, NULL);
}

const struct neap_command neap_command_token_rotate = {
	.name = "token rotate",
	.usage = "[-o json|yaml]",
	.example = "token rotate",
	.summary = "replace the token for TCP in the daemon's file",
	.text = "The old token is refused from then on.\n",
	.output = "print JSON or YAML",
	.run = rotate,
};
