/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl policy new`: writes the file of a working policy to start from, the text of
 * its kind in api/ctl/texts; t/sh/neapctl.t checks that each passes `policy check`. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/ctl/base/ctl.h"
#include "lua/call/policy.h"

/* Stands for the name in a text. */
#define PLACEHOLDER "\"NAME\""

/* Writes a new file only: an existing one is somebody's work. */
static int file_write(const char *file, const struct neap_buf *text)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	bool is_written;

	if (fd < 0 && errno == EEXIST)
		return neap_ctl_complainf(
			NEAP_CTL_FAILED,
			"%s: is there already, and stays as it is; take another name",
			file);
	if (fd < 0)
		return neap_ctl_complainf(NEAP_CTL_FAILED, "%s: %s", file,
					  strerror(errno));
	is_written = write(fd, text->data, text->len) == (ssize_t)text->len;
	if (close(fd) == 0 && is_written)
		return 0;
	(void)unlink(file);
	return neap_ctl_complainf(NEAP_CTL_FAILED,
				  "%s: cannot write it: is the disk full?", file);
}

static int new_policy(struct neap_ctl *ctl, void *values, int argc, char **argv)
{
	const char *text, *name;
	struct neap_buf out;
	char file[64];
	int r;

	(void)ctl, (void)values, (void)argc;
	(void)snprintf(file, sizeof(file), "%.32s.lua", argv[0]);
	text = neap_ctl_text(file);
	if (text == NULL)
		return neap_ctl_complainf(
			NEAP_CTL_USAGE,
			"there is no kind '%.64s' of policies; there is %s", argv[0],
			neap_kind_names());
	if (!neap_policy_is_name(argv[1]))
		return neap_ctl_complainf(
			NEAP_CTL_USAGE,
			"'%.64s' is no name of a policy: 1 to 47 of a-z, "
			"0-9 and - are wanted, not - first",
			argv[1]);
	(void)snprintf(file, sizeof(file), "%s.lua", argv[1]);
	name = strstr(text, PLACEHOLDER);
	neap_buf_init(&out, NEAP_BUF_FILE);
	neap_buf_addf(&out, "%.*s\"%s\"%s", (int)(name - text), text, argv[1],
		      name + strlen(PLACEHOLDER));
	r = neap_buf_failed(&out) ? neap_ctl_complainf(NEAP_CTL_FAILED, "out of memory")
				  : file_write(file, &out);
	neap_buf_done(&out);
	if (r == 0)
		printf("%s is written: change it, then '%s policy check %s'\n", file,
		       neap_ctl_name(), file);
	return r;
}

const struct neap_command neap_command_policy_new = {
	.name = "policy new",
	.usage = "qos|score|filter|reservation|deschedule|evict|migration|evictor NAME",
	.example = "policy new qos mine",
	.summary = "write a working policy to start from",
	.text = "Writes NAME.lua into this folder, with parameters and examples. Needs no daemon.\n",
	.args_min = 2,
	.args_max = 2,
	.run = new_policy,
};
