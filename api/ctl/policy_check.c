/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl policy check` proves policy files without a daemon. */
#include <stdio.h>
#include <stdlib.h>

#include "api/ctl/ctl.h"
#include "api/ctl/text.h"
#include "lua/check.h"

/* What a policy says about itself goes to the terminal only when it is clean. */
static int check_file(const char *file, struct neap_buf *out)
{
	char *text = NULL;
	size_t len = 0;
	FILE *memory = open_memstream(&text, &len);
	int problems;

	if (memory == NULL) {
		out->failed = true;
		return 1;
	}
	problems = neap_policy_check(file, memory);
	if (fclose(memory) != 0)
		out->failed = true;
	else
		neap_text_add_clean(out, text, true);
	free(text);
	return problems;
}

static int check(struct neap_ctl *ctl, void *values, int argc, char **argv)
{
	struct neap_buf out;
	int i, r, problems = 0;

	(void)ctl, (void)values;
	neap_buf_init(&out, NEAP_BUF_REPLY);
	for (i = 0; i < argc; i++)
		problems += check_file(argv[i], &out);
	r = neap_ctl_print(&out);
	neap_buf_done(&out);
	return r == 0 && problems > 0 ? NEAP_CTL_FAILED : r;
}

const struct neap_command neap_command_policy_check = {
	.name = "policy check",
	.usage = "FILE...",
	.summary = "prove policy files: compile, check, run their examples",
	.text = "Needs no daemon and changes nothing. Problems read FILE:LINE: what, and end in status "
		"1.\n",
	.args_min = 1,
	.args_max = -1,
	.run = check,
};
