/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl run`: has the daemon move this very process into a group of its own, and then becomes
 * the command. The daemon finds whom to move by the credentials of the socket, so the connection
 * is made here and not in a child. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/ctl/cells.h"
#include "api/ctl/client.h"
#include "api/ctl/text.h"
#include "engine/base/mem.h"

/* The daemon keeps the command for people to read; a long one is told by its beginning. */
#define WORDS_TOLD      64
#define WORD_BYTES_TOLD 256

struct run_values {
	const char *qos, *name;
	int64_t cpu_request, cpu_limit, memory_limit;
	bool is_verbose;
};

static const struct neap_option options[] = {
	{"qos", 0, NEAP_OPTION_TEXT, offsetof(struct run_values, qos), "LS|BE",
	 "LS: latency-critical, kept safe; BE: best effort, uses what is left"},
	{"name", 0, NEAP_OPTION_TEXT, offsetof(struct run_values, name), "NAME",
	 "name of the workload [made from the command]"},
	{"cpu-request", 0, NEAP_OPTION_MILLI, offsetof(struct run_values, cpu_request),
	 "CPUS", "CPUs that it counts on: 500m, 2"},
	{"cpu-limit", 0, NEAP_OPTION_MILLI, offsetof(struct run_values, cpu_limit),
	 "CPUS", "CPUs that it never exceeds"},
	{"memory-limit", 0, NEAP_OPTION_BYTES, offsetof(struct run_values, memory_limit),
	 "BYTES", "memory that it never exceeds: 512Mi, 1Gi"},
	{"verbose", 'v', NEAP_OPTION_FLAG, offsetof(struct run_values, is_verbose), NULL,
	 "tell on stderr where the command runs"},
	{""},
};

static bool can_execute(const char *path, int *ret_errno)
{
	struct stat st;

	if (stat(path, &st) < 0)
		*ret_errno = errno;
	else if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0)
		*ret_errno = EACCES;
	else
		return true;
	return false;
}

/* The file that execvp would take. Without one its errno, of which EACCES says that there was a
 * file at least. */
static int program_find(const char *name, char *path, size_t size)
{
	const char *list = getenv("PATH"), *end;
	int why = 0, worst = ENOENT;

	if (!*name)
		return ENOENT;
	if (strchr(name, '/') != NULL) {
		if (!neap_strcopy(path, size, name))
			return ENAMETOOLONG;
		return can_execute(path, &why) ? 0 : why;
	}
	if (list == NULL)
		list = "/bin:/usr/bin";
	for (;; list = end + 1) {
		end = strchrnul(list, ':');
		/* An empty item is the current folder. */
		if (snprintf(path, size, "%.*s%s%s", (int)(end - list), list,
			     end == list ? "./" : "/", name) < (int)size) {
			if (can_execute(path, &why))
				return 0;
			if (why == EACCES)
				worst = EACCES;
		}
		if (!*end)
			return worst;
	}
}

static int cannot(const char *name, int errnum)
{
	bool is_absent = errnum == ENOENT || errnum == ENOTDIR;

	return neap_ctl_complainf(
		is_absent ? NEAP_CTL_NO_FILE : NEAP_CTL_CANNOT, "%s: %s", name,
		is_absent && strchr(name, '/') == NULL ? "no such program on PATH"
						       : strerror(errnum));
}

static json_t *words_to_json(int argc, char **argv)
{
	json_t *words = json_array();
	struct neap_buf word;
	char cut[WORD_BYTES_TOLD];
	int i;

	neap_buf_init(&word, NEAP_BUF_LINE);
	for (i = 0; i < argc && i < WORDS_TOLD; i++) {
		(void)neap_strcopy(cut, sizeof(cut), argv[i]);
		neap_buf_clear(&word);
		neap_text_add_clean(&word, cut, true);
		if (neap_buf_failed(&word) ||
		    json_array_append_new(words, json_string(word.data)) < 0) {
			json_decref(words);
			words = NULL;
			break;
		}
	}
	neap_buf_done(&word);
	return words;
}

static json_t *request_new(const struct run_values *values, int argc, char **argv)
{
	const struct {
		const char *name;
		int64_t number;
	} numbers[] = {
		{"cpu_request_milli", values->cpu_request},
		{"cpu_limit_milli", values->cpu_limit},
		{"memory_limit_bytes", values->memory_limit},
	};
	json_t *request = json_pack("{s:s, s:o}", "qos", values->qos, "command",
				    words_to_json(argc, argv));
	int failed = request == NULL ? -1 : 0;
	size_t i;

	if (values->name != NULL)
		failed |= json_object_set_new(request, "name", json_string(values->name));
	for (i = 0; i < NEAP_ARRAY_LEN(numbers); i++)
		if (numbers[i].number != NEAP_MISSING)
			failed |= json_object_set_new(request, numbers[i].name,
						      json_integer(numbers[i].number));
	if (!failed)
		return request;
	json_decref(request);
	return NULL;
}

/* Moves this process. The connection is closed when it returns. */
static int place(const struct neap_ctl *ctl, json_t *request, json_t **ret,
		 struct neap_error *err)
{
	struct neap_client *client = NULL;
	int r = neap_client_new(ctl, &client, err);

	if (r == 0)
		r = neap_client_call(client, "POST", "/control/v1/run", request, ret,
				     err);
	neap_client_free(client);
	return r;
}

static int check(const struct neap_ctl *ctl, const struct run_values *values)
{
	static const char *const needs =
		"--qos LS (latency-critical) or --qos BE (best effort)";

	if (values->qos == NULL)
		return neap_ctl_complainf(NEAP_CTL_USAGE, "run needs %s", needs);
	if (strcmp(values->qos, "LS") != 0 && strcmp(values->qos, "BE") != 0)
		return neap_ctl_complainf(NEAP_CTL_USAGE, "--qos: '%.32s' is neither: %s",
					  values->qos, needs);
	if (ctl->server != NULL)
		return neap_ctl_complainf(
			NEAP_CTL_USAGE,
			"run moves its own process, so it needs the unix socket "
			"and not --server or NEAP_SERVER");
	return 0;
}

static int run(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct run_values *values = arg;
	json_t *request, *reply = NULL;
	struct neap_error err = {0};
	char path[PATH_MAX];
	int r = check(ctl, values);

	if (r != 0)
		return r;
	r = program_find(argv[0], path, sizeof(path));
	if (r != 0)
		return cannot(argv[0], r);
	ctl->is_socket_given = true; /* TCP would be of no use */
	request = request_new(values, argc, argv);
	if (request == NULL)
		return neap_ctl_complainf(NEAP_CTL_REFUSED,
					  "no memory, or --name is no UTF-8");
	r = place(ctl, request, &reply, &err);
	json_decref(request);
	if (r < 0)
		return neap_ctl_complain(NEAP_CTL_REFUSED, &err);
	if (values->is_verbose)
		neap_ctl_complainf(0, "%s runs as %s in %s", argv[0],
				   neap_cell_text(reply, "name"),
				   neap_cell_text(reply, "group"));
	json_decref(reply);
	(void)execvp(path, argv); /* has a slash, so PATH is not asked again */
	return cannot(argv[0], errno);
}

const struct neap_command neap_command_run = {
	.name = "run",
	.usage = "--qos LS|BE [OPTIONS] -- COMMAND [ARGS...]",
	.example = "run --qos BE --cpu-limit 500m -- make -j8",
	.summary = "run a command in a group of its own",
	.text = "The command replaces neapctl, so signals and exit status are its own. Exit statuses of\n"
		"neapctl itself: 125 neapd refuses or does not answer, 126 the command cannot be\n"
		"executed, 127 there is no such command.\n",
	.options = options,
	.values_size = sizeof(struct run_values),
	.args_min = 1,
	.args_max = -1,
	.is_prefix = true,
	.run = run,
};
