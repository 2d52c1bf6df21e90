/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl run`: the daemon moves this very process into a group of its own, then it
 * execs the command. The daemon identifies the process by the socket's credentials, so
 * the connection is made here and not in a child. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/ctl/base/client.h"
#include "api/ctl/draw/cells.h"
#include "api/ctl/draw/text.h"
#include "api/ctl/logs.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

/* The daemon keeps the command for people to read; a long one is cut to its beginning. */
#define WORDS_TOLD      64
#define WORD_BYTES_TOLD 256

struct run_values {
	const char *qos, *name;
	int64_t cpu_request, cpu_limit, memory_limit;
	bool is_verbose, is_background;
};

static const struct neap_option options[] = {
	{"qos", 0, NEAP_OPTION_TEXT, offsetof(struct run_values, qos), "LS|BE",
	 "LS: latency-critical, protected; BE: best-effort, uses what is left"},
	{"name", 0, NEAP_OPTION_TEXT, offsetof(struct run_values, name), "NAME",
	 "name of the workload [made from the command]"},
	{"cpu-request", 0, NEAP_OPTION_MILLI, offsetof(struct run_values, cpu_request),
	 "CPUS", "CPUs that it needs: 500m, 2"},
	{"cpu-limit", 0, NEAP_OPTION_MILLI, offsetof(struct run_values, cpu_limit),
	 "CPUS", "CPUs that it may use at most"},
	{"memory-limit", 0, NEAP_OPTION_BYTES, offsetof(struct run_values, memory_limit),
	 "BYTES", "memory that it may use at most: 512Mi, 1Gi"},
	{"background", 'b', NEAP_OPTION_FLAG, offsetof(struct run_values, is_background),
	 NULL, "leave it to itself; 'neapctl logs' prints what it writes"},
	{"verbose", 'v', NEAP_OPTION_FLAG, offsetof(struct run_values, is_verbose), NULL,
	 "print on stderr in which group the command runs"},
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

/* The file that execvp would take. Without one its errno, of which EACCES says that there
 * was a file at least. */
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
	return neap_json_made(!failed, request);
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

/* Standard input becomes empty, output and errors the log of that name. */
static int output_turn(const char *dir, const char *name, struct neap_error *err)
{
	neap_auto_fd int log = -1, null = -1;
	char path[PATH_MAX];

	if (neap_logs_path(dir, name, path, err) < 0)
		return -(int)err->code;
	log = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
		   0600);
	if (log < 0)
		return neap_error_sys(err, "open %s", path);
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0 ||
	    dup2(log, STDERR_FILENO) < 0)
		return neap_error_sys(err, "turn the output to %s", path);
	return 0;
}

/* Turns this process into the command, after moving it to its own group. told: receives
 * the name once known, and then why it failed; -1 in the foreground. */
static int become(const struct neap_ctl *ctl, const struct run_values *values,
		  const char *path, int argc, char **argv, const char *log_dir, int told)
{
	json_t *request = request_new(values, argc, argv), *reply = NULL;
	struct neap_error err = {0};
	int r;

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
	if (told >= 0) {
		const char *name = neap_cell_text(reply, "name");

		r = output_turn(log_dir, name, &err);
		if (r == 0)
			(void)!write(told, name, strlen(name));
	}
	json_decref(reply);
	if (r < 0)
		return neap_ctl_complain(NEAP_CTL_REFUSED, &err);
	(void)execvp(path, argv); /* has a slash, so PATH is not asked again */
	r = errno;
	if (told >= 0)
		(void)!write(told, "\n", 1);
	return cannot(argv[0], r);
}

/* A child is moved and becomes the command; we tell its name and end. */
static int background(const struct neap_ctl *ctl, const struct run_values *values,
		      const char *path, int argc, char **argv)
{
	struct neap_error err = {0};
	char dir[PATH_MAX], name[128];
	ssize_t len = 0, got;
	int pipes[2], status;
	pid_t pid;

	if (neap_logs_dir(dir, &err) < 0)
		return neap_ctl_complain(NEAP_CTL_REFUSED, &err);
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return neap_ctl_complainf(NEAP_CTL_REFUSED, "pipe: %s", strerror(errno));
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		(void)close(pipes[0]);
		(void)setsid();
		_exit(become(ctl, values, path, argc, argv, dir, pipes[1]));
	}
	(void)close(pipes[1]);
	if (pid < 0) {
		(void)close(pipes[0]);
		return neap_ctl_complainf(NEAP_CTL_REFUSED, "fork: %s", strerror(errno));
	}
	/* Reads to the end: the command lacks the descriptor, so an end will come. */
	while ((got = read(pipes[0], name + len, sizeof(name) - 1 - (size_t)len)) > 0)
		len += got;
	(void)close(pipes[0]);
	name[len] = '\0';
	if (len == 0 || name[len - 1] == '\n') {
		if (waitpid(pid, &status, 0) == pid && WIFEXITED(status))
			return WEXITSTATUS(status);
		return neap_ctl_complainf(NEAP_CTL_REFUSED, "the command did not start");
	}
	printf("%s runs in the background, process %d\n", name, (int)pid);
	return 0;
}

static int run(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct run_values *values = arg;
	char path[PATH_MAX];
	int r = check(ctl, values);

	if (r != 0)
		return r;
	r = program_find(argv[0], path, sizeof(path));
	if (r != 0)
		return cannot(argv[0], r);
	ctl->is_socket_given = true; /* TCP would be of no use */
	if (values->is_background)
		return background(ctl, values, path, argc, argv);
	return become(ctl, values, path, argc, argv, NULL, -1);
}

const struct neap_command neap_command_run = {
	.name = "run",
	.usage = "--qos LS|BE [OPTIONS] -- COMMAND [ARGS...]",
	.example = "run --qos BE --cpu-limit 500m -- make -j8",
	.summary = "run a command in a group of its own",
	.text = "The command replaces neapctl, so signals and exit status are its own. With --background\n"
		"neapctl starts the command, prints the name of the workload, and exits. Exit statuses\n"
		"of neapctl itself: 125 neapd refuses or does not answer, 126 the command cannot be\n"
		"executed, 127 there is no such command.\n",
	.options = options,
	.values_size = sizeof(struct run_values),
	.args_min = 1,
	.args_max = -1,
	.is_prefix = true,
	.run = run,
};
