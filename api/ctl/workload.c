/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl ps` and `neapctl stop`: workloads of `neapctl run`. neapd knows the groups;
 * their processes are found and signalled here, with the caller's own rights. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/ctl/base/client.h"
#include "api/ctl/base/processes.h"
#include "api/ctl/draw/cells.h"
#include "api/ctl/draw/table.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"

#define GRACE_USEC  10000000
#define KILLED_USEC 10000000 /* a killed process may have much memory to give back */
#define LOOK_USEC   50000
#define UNSEEN_USEC 3000000 /* neapd sees a new group at its next tick */

struct stop_values {
	int64_t grace_usec;
};

static const struct neap_option stop_options[] = {
	{"grace", 0, NEAP_OPTION_DURATION, offsetof(struct stop_values, grace_usec),
	 "SECONDS", "time between SIGTERM and SIGKILL [10s]", 0, 3600 * 1000000LL},
	{""},
};

static int local_check(const struct neap_ctl *ctl, const char *name)
{
	if (ctl->server == NULL)
		return 0;
	return neap_ctl_complainf(
		NEAP_CTL_USAGE,
		"%s looks at processes of this machine, so it needs the "
		"unix socket and not --server or NEAP_SERVER",
		name);
}

/* Rows of the workloads that `run` started, a new array. */
static int runs_get(struct neap_client *client, json_t **ret, struct neap_error *err)
{
	json_t *all = NULL, *row;
	size_t i;

	if (neap_client_call(client, "GET", "/control/v1/workloads", NULL, &all, err) < 0)
		return -(int)err->code;
	*ret = json_array();
	json_array_foreach (all, i, row) {
		if (strcmp(neap_cell_text(row, "source"), "run") == 0)
			(void)json_array_append(*ret, row);
	}
	json_decref(all);
	return 0;
}

/* Adds "pids" and "command" to a row. */
static int row_look(json_t *row, struct neap_error *err)
{
	neap_auto_free pid_t *pids = NULL;
	json_t *numbers = json_array();
	neap_auto_buf struct neap_buf command = {0};
	int i, count = neap_processes_find(neap_cell_text(row, "group"), &pids, err);

	neap_buf_init(&command, NEAP_BUF_LINE);
	for (i = 0; i < count; i++)
		(void)json_array_append_new(numbers, json_integer(pids[i]));
	if (count > 0)
		neap_processes_command(pids[0], &command);
	(void)json_object_set_new(row, "pids", numbers);
	(void)json_object_set_new(row, "command",
				  json_stringn_nocheck(command.data, command.len));
	return count < 0 ? count : 0;
}

static void add_table(const json_t *rows, const void *arg, struct neap_buf *out)
{
	static const struct neap_table_column columns[] = {
		{"NAME", .max_columns = 32, .cell = "{name}"},
		{"QOS", .cell = "{qos}"},
		{"PID", true},
		{"PROCESSES", true},
		{"CPU", true, .cell = "{used_milli|cpus}"},
		{"MEMORY", true, .cell = "{memory_bytes|bytes}"},
		{"COMMAND", .cell = "{command}"},
		{NULL},
	};
	struct neap_table *table = neap_table_new(columns);
	char pid[NEAP_CELL_BYTES], count[NEAP_CELL_BYTES];
	const json_t *row;
	size_t i;

	(void)arg;
	json_array_foreach (rows, i, row) {
		const json_t *pids = json_object_get(row, "pids");

		(void)snprintf(pid, sizeof(pid), "%d",
			       (int)json_integer_value(json_array_get(pids, 0)));
		(void)snprintf(count, sizeof(count), "%zu", json_array_size(pids));
		neap_table_add_row(
			table, row,
			(const char *[]){json_array_size(pids) ? pid : "", count});
	}
	neap_ctl_add_table_take(table, out);
	if (json_array_size(rows) == 0)
		neap_buf_addf(out,
			      "nothing runs: start something with '%s run --qos BE -- "
			      "COMMAND'\n",
			      neap_ctl_name());
}

static int ps(struct neap_ctl *ctl, void *values, int argc, char **argv)
{
	struct neap_client *client = NULL;
	struct neap_error err = {0};
	json_t *rows = NULL, *row;
	size_t i;
	int r = local_check(ctl, "ps");

	(void)values, (void)argc, (void)argv;
	if (r != 0)
		return r;
	r = neap_client_new(ctl, &client, &err);
	if (r == 0)
		r = runs_get(client, &rows, &err);
	json_array_foreach (rows, i, row) {
		if (r == 0)
			r = row_look(row, &err);
	}
	neap_client_free(client);
	if (r < 0) {
		json_decref(rows);
		return neap_ctl_fail(&err);
	}
	return neap_ctl_show_take(ctl, rows, add_table, NULL);
}

/* Copies the group of a name. NEAP_ENOTFOUND, with the names that there are. */
static int group_find(struct neap_client *client, const char *name, char *ret,
		      size_t size, struct neap_error *err)
{
	const int64_t end = neap_clock_usec(CLOCK_MONOTONIC) + UNSEEN_USEC;
	neap_auto_buf struct neap_buf names = {0};
	json_t *rows, *row;
	size_t i;
	bool is_found;

	neap_buf_init(&names, NEAP_BUF_LINE);
	do {
		if (runs_get(client, &rows, err) < 0)
			return -(int)err->code;
		neap_buf_clear(&names);
		is_found = false;
		json_array_foreach (rows, i, row) {
			neap_buf_addf(&names, "%s%s", i > 0 ? ", " : "",
				      neap_cell_text(row, "name"));
			if (strcmp(neap_cell_text(row, "name"), name) == 0)
				is_found = neap_strcopy(ret, size,
							neap_cell_text(row, "group"));
		}
		json_decref(rows);
		if (!is_found)
			(void)usleep(10 * LOOK_USEC);
	} while (!is_found && neap_clock_usec(CLOCK_MONOTONIC) < end);
	if (is_found)
		return 0;
	return neap_error_set(
		err, NEAP_ENOTFOUND,
		"nothing that 'neapctl run' started is called '%.64s'%s%.80s", name,
		names.len > 0 ? "; there is " : "", names.data);
}

/* Signals all of group until nobody is left there. Returns how many are, in the end. */
static int signal_until(const char *group, int number, int64_t usec,
			struct neap_error *err)
{
	const int64_t end = neap_clock_usec(CLOCK_MONOTONIC) + usec;
	neap_auto_free pid_t *pids = NULL;
	int count = neap_processes_signal(group, number, err);

	while (count > 0 && neap_clock_usec(CLOCK_MONOTONIC) < end) {
		(void)usleep(LOOK_USEC);
		free(neap_steal(pids));
		/* Children may have come since; SIGTERM is not repeated, it could be
		 * counted. */
		count = number == SIGKILL ? neap_processes_signal(group, number, err)
					  : neap_processes_find(group, &pids, err);
	}
	return count;
}

static int stop_one(struct neap_client *client, const char *name, int64_t grace_usec)
{
	struct neap_error err = {0};
	char group[512];
	int count = group_find(client, name, group, sizeof(group), &err);
	bool is_killed = false;

	if (count < 0)
		return neap_ctl_fail(&err);
	count = signal_until(group, SIGTERM, grace_usec, &err);
	if (count > 0) {
		is_killed = true;
		count = signal_until(group, SIGKILL, KILLED_USEC, &err);
	}
	if (count < 0)
		return neap_ctl_fail(&err);
	if (count > 0)
		return neap_ctl_complainf(NEAP_CTL_FAILED,
					  "%s: %d processes are killed and not gone yet",
					  name, count);
	printf("%s %s\n", name, is_killed ? "is killed" : "ended");
	return 0;
}

static int stop(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct stop_values *values = arg;
	int64_t grace =
		values->grace_usec == NEAP_MISSING ? GRACE_USEC : values->grace_usec;
	struct neap_client *client = NULL;
	struct neap_error err = {0};
	int i, one, r = local_check(ctl, "stop");

	if (r != 0)
		return r;
	if (neap_client_new(ctl, &client, &err) < 0)
		return neap_ctl_fail(&err);
	for (i = 0; i < argc; i++) {
		one = stop_one(client, argv[i], grace);
		r = one != 0 ? one : r;
	}
	neap_client_free(client);
	return r;
}

const struct neap_command neap_command_ps = {
	.name = "ps",
	.usage = "[-o json|yaml]",
	.example = "ps",
	.summary = "running workloads that 'neapctl run' started",
	.text = "PID is the first process of a workload, COMMAND what it executes now.\n",
	.output = "print JSON or YAML, with every process",
	.run = ps,
};

const struct neap_command neap_command_stop = {
	.name = "stop",
	.usage = "[--grace SECONDS] WORKLOAD...",
	.example = "stop make-1",
	.summary = "end workloads that 'neapctl run' started",
	.text = "Each of its processes gets SIGTERM, and SIGKILL after --grace.\n",
	.options = stop_options,
	.values_size = sizeof(struct stop_values),
	.args_min = 1,
	.args_max = -1,
	.run = stop,
};
