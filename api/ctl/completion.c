/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl completion`: the shell scripts that ask for candidates at every TAB
 * (api/ctl/base/shell_complete.h). They only know their shell's conventions. */
#include <stdio.h>

#include "api/ctl/base/ctl.h"

static int run(struct neap_ctl *ctl, void *values, int argc, char **argv)
{
	struct neap_buf out;
	const char *script;
	char file[32];

	(void)ctl, (void)values, (void)argc;
	(void)snprintf(file, sizeof(file), "neapctl.%.16s", argv[0]);
	script = neap_ctl_text(file);
	if (script == NULL)
		return neap_ctl_complainf(
			NEAP_CTL_USAGE,
			"there is no script for '%.64s': bash, zsh or fish", argv[0]);
	neap_buf_init(&out, NEAP_BUF_FILE);
	neap_buf_adds(&out, script);
	return neap_ctl_print_done(&out);
}

const struct neap_command neap_command_completion = {
	.name = "completion",
	.usage = "bash|zsh|fish",
	.example = "completion bash >~/.local/share/bash-completion/completions/neapctl",
	.summary = "print the completion script of a shell",
	.text = "For neapctl and neapd. In bash: source <(neapctl completion bash). The script calls neapctl\n"
		"at every TAB, which also offers names of policies when a daemon answers.\n",
	.args_min = 1,
	.args_max = 1,
	.run = run,
};
