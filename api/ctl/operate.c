/* SPDX-License-Identifier: Apache-2.0
 *
 * freeze, release, resume. Releasing works without a daemon too: `neapd --give-back` then
 * restores from the journal. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/ctl/base/client.h"
#include "api/ctl/draw/cells.h"

struct release_values {
	const char *run_dir, *group, *best_effort_group, *cgroup_root;
};

static const struct neap_option release_options[] = {
	{"run-dir", 0, NEAP_OPTION_TEXT, offsetof(struct release_values, run_dir), "DIR",
	 "neapd's folder with its journal and socket [/run/neap]"},
	{"group", 0, NEAP_OPTION_TEXT, offsetof(struct release_values, group), "NAME",
	 "neap's own group, when no daemon runs [neap]"},
	{"best-effort-group", 0, NEAP_OPTION_TEXT,
	 offsetof(struct release_values, best_effort_group), "NAME",
	 "its group of best-effort work, when no daemon runs [GROUP-besteffort]"},
	{"cgroup-root", 0, NEAP_OPTION_TEXT, offsetof(struct release_values, cgroup_root),
	 "DIR", "where the cgroup hierarchies are, when no daemon runs"},
	{""},
};

/* says: what it comes to, for people. */
static void add_says(const json_t *reply, const void *says, struct neap_buf *out)
{
	(void)reply;
	neap_buf_addf(out, "%s\n", (const char *)says);
}

static int freeze(struct neap_ctl *ctl, void *values, int argc, char **argv)
{
	char says[512];

	(void)values, (void)argc, (void)argv;
	(void)snprintf(says, sizeof(says), "frozen: nothing is written until '%s resume'",
		       neap_ctl_name());
	return neap_ctl_show(ctl, "POST", "/control/v1/freeze", add_says, says);
}

static int resume(struct neap_ctl *ctl, void *values, int argc, char **argv)
{
	(void)values, (void)argc, (void)argv;
	return neap_ctl_show(ctl, "POST", "/control/v1/resume", add_says,
			     "acting: policies are obeyed again");
}

/* Beside this program, or where an installation puts it; "" when it is in neither. */
static void neapd_find(char *path, size_t size)
{
	static const char *const places[] = {"neapd", "../sbin/neapd"};
	char dir[4096];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	char *slash;
	size_t i;

	path[0] = '\0';
	if (n <= 0)
		return;
	dir[n] = '\0';
	slash = strrchr(dir, '/');
	if (slash == NULL)
		return;
	*slash = '\0';
	for (i = 0; i < NEAP_ARRAY_LEN(places); i++)
		if (snprintf(path, size, "%s/%s", dir, places[i]) < (int)size &&
		    access(path, X_OK) == 0)
			return;
	path[0] = '\0';
}

static int give_back(const struct release_values *values)
{
	const char *args[11] = {"neapd", "--give-back"};
	const struct {
		const char *name, *value;
	} passed[] = {
		{"--run-dir", values->run_dir},
		{"--group", values->group},
		{"--best-effort-group", values->best_effort_group},
		{"--cgroup-root", values->cgroup_root},
	};
	char path[4200];
	size_t i, n = 2;

	for (i = 0; i < NEAP_ARRAY_LEN(passed); i++) {
		if (passed[i].value == NULL)
			continue;
		args[n++] = passed[i].name;
		args[n++] = passed[i].value;
	}
	neapd_find(path, sizeof(path));
	(void)execvp(path[0] ? path : "neapd", (char *const *)args);
	return neap_ctl_complainf(
		NEAP_CTL_FAILED,
		"neapd --give-back: %s: put neapd beside neapctl or on PATH",
		strerror(errno));
}

static void add_released(const json_t *reply, const void *arg, struct neap_buf *out)
{
	(void)arg;
	neap_cells_add(out, reply, "released: {given_back} value");
	neap_buf_addf(out, "%s given back; nothing is written until '%s resume'\n",
		      neap_member_integer(reply, "given_back", 0) == 1 ? "" : "s",
		      neap_ctl_name());
	if (neap_member_integer(reply, "stays_with_pods", 0) > 0)
		neap_cells_add(out, reply,
			       "{stays_with_pods} values of pods that run stay, as they "
			       "are limits: 'kubectl delete pod' ends them\n");
}

static int release(struct neap_ctl *ctl, void *values, int argc, char **argv)
{
	const struct release_values *given = values;
	struct neap_client *client = NULL;
	struct neap_error err = {0};
	char path[512];
	json_t *reply = NULL;
	bool is_absent;
	int r;

	(void)argc, (void)argv;
	if (given->run_dir != NULL && !ctl->is_socket_given && ctl->server == NULL) {
		(void)snprintf(path, sizeof(path), "%s/neap.sock", given->run_dir);
		ctl->socket = path;
		ctl->is_socket_given = true;
	}
	r = neap_client_new(ctl, &client, &err);
	if (r == 0)
		r = neap_client_call(client, "POST", "/control/v1/release", NULL, &reply,
				     &err);
	is_absent = client != NULL && neap_client_is_absent(client);
	neap_client_free(client);
	if (r < 0 && is_absent && ctl->server == NULL) {
		if (geteuid() == 0)
			return give_back(given);
		return neap_ctl_complainf(
			NEAP_CTL_ABSENT,
			"no neapd answers at %s: to give back what an ended one "
			"left, run it with sudo",
			ctl->socket);
	}
	if (r < 0)
		return neap_ctl_fail(&err);
	return neap_ctl_show_take(ctl, reply, add_released, NULL);
}

const struct neap_command neap_command_freeze = {
	.name = "freeze",
	.usage = "[-o json|yaml]",
	.example = "freeze",
	.summary = "leave everything as it is, and write nothing",
	.text = "All settings stay until 'neapctl resume'. When the API does not work, creating the file\n"
		"RUN_DIR/freeze does the same.\n",
	.output = NEAP_OUTPUT_OF_ANSWER,
	.run = freeze,
};

const struct neap_command neap_command_release = {
	.name = "release",
	.usage = "[--run-dir DIR] [--group NAME] [-o json|yaml]",
	.example = "release",
	.summary = "restore all original values, at once",
	.text = "Every value becomes what it was before neap changed it, and nothing is written until\n"
		"'neapctl resume'. When no daemon answers, root does it from the journal, by\n"
		"'neapd --give-back'.\n",
	.options = release_options,
	.output = NEAP_OUTPUT_OF_ANSWER,
	.values_size = sizeof(struct release_values),
	.run = release,
};

const struct neap_command neap_command_resume = {
	.name = "resume",
	.usage = "[-o json|yaml]",
	.example = "resume",
	.summary = "act again after freeze or release",
	.output = NEAP_OUTPUT_OF_ANSWER,
	.run = resume,
};
