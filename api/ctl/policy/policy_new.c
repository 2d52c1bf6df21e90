/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl policy new`: writes the file of a working policy to start from. A kind is a
 * row; t/sh/neapctl.t checks that each passes `policy check`. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/ctl/base/ctl.h"
#include "lua/call/policy.h"

struct template
{
	const char *kind, *type, *says; /* says: what the policy does, in one sentence */
	const char *body;
};

static const struct template templates[] = {
	{"qos", "QosPolicy",
	 "Best-effort work gets a share of what critical work leaves free",
	 "  params = {\n"
	 "    share = { type = \"percent\", default = 50, doc = \"share of the free CPUs\" },\n"
	 "  },\n"
	 "  needs = { \"capacity_milli\", \"critical_used_milli\" },\n"
	 "\n"
	 "  tick = function(ctx, node)\n"
	 "    local free = node.capacity_milli - node.critical_used_milli\n"
	 "    return { { target = \"besteffort\", key = \"cpu.max_milli\",\n"
	 "               value = math.max(free * ctx.params.share // 100, 100),\n"
	 "               why = (\"critical work uses %dm\"):format(node.critical_used_milli) } }\n"
	 "  end,\n"
	 "\n"
	 "  examples = {\n"
	 "    { name = \"one of four CPUs is used\",\n"
	 "      node = { capacity_milli = 4000, critical_used_milli = 1000 },\n"
	 "      want = { { target = \"besteffort\", key = \"cpu.max_milli\", value = 1500 } } },\n"
	 "  },\n"},
	{"score", "ScorePolicy", "Pods go where most CPU is left",
	 "  params = {\n"
	 "    weight = { type = \"integer\", min = 0, max = 100, default = 1,\n"
	 "               doc = \"of this score beside the others\" },\n"
	 "  },\n"
	 "\n"
	 "  plan = function(ctx)\n"
	 "    return { weight = ctx.params.weight, { column = \"free_share.cpu\", weight = 1 } }\n"
	 "  end,\n"
	 "\n"
	 "  examples = {\n"
	 "    { name = \"the emptier node has more points\", pod = { requests = { cpu = 1000 } },\n"
	 "      nodes = { empty = { allocatable = { cpu = 4000 } },\n"
	 "                half = { allocatable = { cpu = 4000 }, requested = { cpu = 2000 } } },\n"
	 "      want = { empty = 75, half = 25 } },\n"
	 "  },\n"},
	{"filter", "FilterPolicy", "The last of each node's CPU is for important pods",
	 "  params = {\n"
	 "    percent = { type = \"percent\", default = 10, doc = \"CPU that stays free\" },\n"
	 "  },\n"
	 "  needs = { \"pod.priority\", \"node.free_share.cpu\" },\n"
	 "\n"
	 "  allow = function(ctx, pod, node)\n"
	 "    return pod.priority >= 1000 or node.free_share.cpu * 100 >= ctx.params.percent,\n"
	 "      (\"less than %d%% would be free\"):format(ctx.params.percent)\n"
	 "  end,\n"
	 "\n"
	 "  examples = {\n"
	 "    { name = \"the last tenth\", pod = { requests = { cpu = 1000 } },\n"
	 "      nodes = { full = { allocatable = { cpu = 4000 }, requested = { cpu = 2700 } },\n"
	 "                free = { allocatable = { cpu = 4000 } } },\n"
	 "      want = { full = \"less than 10% would be free\", free = true } },\n"
	 "  },\n"},
	{"reservation", "ReservationPolicy",
	 "A reservation that names a team is for pods of that team",
	 "  needs = { \"pod.labels.team?\", \"resv.labels.team?\" },\n"
	 "\n"
	 "  match = function(_, pod, resv)\n"
	 "    local team = resv.labels.team\n"
	 "    if team and team ~= pod.labels.team then\n"
	 "      return false, \"it belongs to team \" .. team\n"
	 "    end\n"
	 "    return true\n"
	 "  end,\n"
	 "\n"
	 "  examples = {\n"
	 "    { name = \"its own\", pod = { labels = { team = \"blue\" } },\n"
	 "      reservation = { labels = { team = \"blue\" } }, want = true },\n"
	 "    { name = \"another\", pod = { labels = { team = \"red\" } },\n"
	 "      reservation = { labels = { team = \"blue\" } }, want = \"it belongs to team blue\" },\n"
	 "    { name = \"one of nobody\", want = true },\n"
	 "  },\n"},
};

static const struct template *template_find(const char *kind)
{
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(templates); i++) {
		if (strcmp(templates[i].kind, kind) == 0)
			return &templates[i];
	}
	return NULL;
}

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
	const struct template *of = template_find(argv[0]);
	struct neap_buf text;
	char file[64];
	int r;

	(void)ctl, (void)values, (void)argc;
	if (of == NULL)
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
	neap_buf_init(&text, NEAP_BUF_FILE);
	neap_buf_addf(
		&text,
		"--- %s.\n---@type neap.%s\nreturn {\n  api = 1,\n  kind = \"%s\",\n"
		"  name = \"%s\",\n  doc = \"%s.\",\n\n",
		of->says, of->type, of->kind, argv[1], of->says);
	neap_buf_adds(&text, of->body);
	neap_buf_adds(&text, "}\n");
	r = neap_buf_failed(&text) ? neap_ctl_complainf(NEAP_CTL_FAILED, "out of memory")
				   : file_write(file, &text);
	neap_buf_done(&text);
	if (r == 0)
		printf("%s is written: change it, then '%s policy check %s'\n", file,
		       neap_ctl_name(), file);
	return r;
}

const struct neap_command neap_command_policy_new = {
	.name = "policy new",
	.usage = "qos|score|filter|reservation NAME",
	.example = "policy new qos mine",
	.summary = "write the file of a policy that works, to change",
	.text = "NAME.lua in this folder, with parameters and examples. Needs no daemon.\n",
	.args_min = 2,
	.args_max = 2,
	.run = new_policy,
};
