/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl deschedule`: the descheduler's state and last round, pause and resume, a round
 * at once, and simulations. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/ctl/base/client.h"
#include "api/ctl/base/files.h"
#include "api/ctl/draw/cells.h"
#include "api/ctl/draw/table.h"
#include "engine/json/json.h"

#define PATH "/control/v1/deschedule"

struct deschedule_values {
	int64_t simulate; /* rounds on a copy; 0: one, on the cluster as it is */
	const char *strategy, *policy, *config;
};

static const struct neap_option options[] = {
	{"simulate", 0, NEAP_OPTION_COUNT, offsetof(struct deschedule_values, simulate),
	 "N", "simulate a round, or N in a row, and change nothing", 1, 100},
	{"strategy", 0, NEAP_OPTION_TEXT, offsetof(struct deschedule_values, strategy),
	 "NAME", "with --simulate: run this strategy only, like LowNodeLoad"},
	{"policy", 0, NEAP_OPTION_TEXT, offsetof(struct deschedule_values, policy),
	 "FILE", "with --simulate: use this policy file instead of the uploaded policy"},
	{"config", 0, NEAP_OPTION_TEXT, offsetof(struct deschedule_values, config),
	 "FILE", "with --simulate: use this configuration instead of the one in force"},
	{""},
};

/* --- a round --- */

static void add_evicted(const json_t *round, struct neap_buf *out)
{
	static const struct neap_table_column columns[] = {
		{"NAMESPACE", .cell = "{namespace}", .is_minor = true},
		{"POD", .cell = "{pod}"},
		{"FROM", .cell = "{node}"},
		{"TO", .cell = "{to}"},
		{"STRATEGY", .cell = "{strategy}"},
		{"RESULT", .cell = "{result}"},
		{"WHY", .cell = "{why}", .wraps = true, .columns_min = 20},
		{NULL}};
	struct neap_table *table;

	if (!json_array_size(json_object_get(round, "evicted")))
		return;
	table = neap_table_new(columns);
	neap_table_add_rows(table, json_object_get(round, "evicted"));
	neap_buf_adds(out, "\n");
	neap_ctl_add_table_take(table, out);
}

static void add_stayed(const json_t *round, struct neap_buf *out)
{
	static const struct neap_table_column columns[] = {
		{"NAMESPACE", .cell = "{namespace}", .is_minor = true},
		{"POD", .cell = "{pod}"},
		{"NODE", .cell = "{node}"},
		{"STRATEGY", .cell = "{strategy}"},
		{"STAYS", .cell = "{outcome}"},
		{"REASON", .cell = "{reason}", .wraps = true, .columns_min = 20},
		{NULL}};
	struct neap_table *table;

	if (!json_array_size(json_object_get(round, "stayed")))
		return;
	table = neap_table_new(columns);
	neap_table_add_rows(table, json_object_get(round, "stayed"));
	neap_buf_adds(out, "\n");
	neap_ctl_add_table_take(table, out);
}

static void add_strategies(const json_t *round, struct neap_buf *out)
{
	size_t i;
	json_t *row;

	json_array_foreach (json_object_get(round, "strategies"), i, row) {
		neap_cells_add(out, row,
			       "  {strategy} ({profile}): {result}, {evicted} of {asked} "
			       "asked for leave");
		neap_cells_add_if(out, row, "error", ": {error}");
		neap_buf_adds(out, "\n");
	}
}

static void add_spread(const json_t *round, struct neap_buf *out)
{
	const char *name;
	json_t *row;

	json_object_foreach (json_object_get(round, "spread"), name, row) {
		neap_buf_addf(out,
			      "  spread of %s requests over the nodes: %.1f, then %.1f "
			      "points\n",
			      name, json_number_value(json_object_get(row, "before")),
			      json_number_value(json_object_get(row, "after")));
	}
}

static void add_round(const json_t *round, struct neap_buf *out)
{
	neap_cells_add(out, round,
		       "{evicted_count} pods leave, {stayed_count} were looked at and "
		       "stay; {nodes} nodes, {pods} pods\n");
	neap_cells_add_if(out, round, "error", "no round: {error}\n");
	add_strategies(round, out);
	add_spread(round, out);
	add_evicted(round, out);
	add_stayed(round, out);
	neap_cells_add_if(out, round, "cut", "\n{cut} more are not listed\n");
}

static void add_simulation(const json_t *round, const void *arg, struct neap_buf *out)
{
	(void)arg;
	neap_buf_adds(out, "simulation: ");
	add_round(round, out);
}

/* --- rounds on a copy --- */

static void add_round_rows(const json_t *answer, struct neap_buf *out)
{
	size_t i;
	json_t *row;

	json_array_foreach (json_object_get(answer, "rounds"), i, row) {
		neap_cells_add(out, row,
			       "round {round}: {evicted_count} pods leave, "
			       "{stayed_count} were looked at and stay\n");
		add_strategies(row, out);
	}
}

static void add_fates(const json_t *answer, struct neap_buf *out)
{
	static const struct neap_table_column columns[] = {
		{"ROUND", .cell = "{round}"},
		{"NAMESPACE", .cell = "{namespace}", .is_minor = true},
		{"POD", .cell = "{pod}"},
		{"FROM", .cell = "{node}"},
		{"TO", .cell = "{to}"},
		{"RESULT", .cell = "{result}"},
		{"LANDED", .cell = "{landed}"},
		{"STRATEGY", .cell = "{strategy}"},
		{"WHY", .cell = "{why}", .wraps = true, .columns_min = 20},
		{NULL}};
	struct neap_table *table;

	if (!json_array_size(json_object_get(answer, "evicted")))
		return;
	table = neap_table_new(columns);
	neap_table_add_rows(table, json_object_get(answer, "evicted"));
	neap_buf_adds(out, "\n");
	neap_ctl_add_table_take(table, out);
}

static void add_rounds(const json_t *answer, const void *arg, struct neap_buf *out)
{
	size_t played = json_array_size(json_object_get(answer, "rounds"));
	int64_t asked = json_integer_value(json_object_get(answer, "rounds_asked"));

	(void)arg;
	neap_cells_add(out, answer,
		       "simulation of rounds, every {interval}: {evicted_count} pods are "
		       "asked to leave; {nodes} nodes, {pods} pods\n");
	if ((int64_t)played < asked)
		neap_buf_addf(out,
			      "it ends after %zu of %lld rounds: they take too "
			      "much time\n",
			      played, (long long)asked);
	neap_cells_add(
		out, json_object_get(answer, "results"),
		"  {landed} landed, {as_told} of them where it was told; {pending} "
		"wait for a node, {not-evicted} stayed\n");
	add_spread(answer, out);
	add_round_rows(answer, out);
	add_fates(answer, out);
	neap_cells_add_if(out, answer, "cut", "\n{cut} more are not listed\n");
}

/* --- the state --- */

static void add_profiles(const json_t *status, struct neap_buf *out)
{
	size_t i, n;
	json_t *profile, *plugin;

	json_array_foreach (json_object_get(status, "profiles"), i, profile) {
		neap_cells_add(out, profile, "profile {name}:");
		json_array_foreach (json_object_get(profile, "plugins"), n, plugin) {
			neap_cells_add(out, plugin, n ? ", {name}" : " {name}");
			neap_cells_add_if(out, plugin, "error", " (broken: {error})");
			if (json_is_true(json_object_get(plugin, "dry_run")))
				neap_buf_adds(out, " (dry run)");
		}
		neap_buf_adds(out, "\n");
	}
}

static void add_status(const json_t *status, const void *arg, struct neap_buf *out)
{
	const json_t *round = json_object_get(status, "round");
	const json_t *recording = json_object_get(status, "recording");

	(void)arg;
	neap_cells_add(out, status, "{state}");
	neap_cells_add_if(out, status, "paused_by", " by {paused_by}");
	neap_cells_add_if(out, status, "source", ", by {source}");
	neap_cells_add_if(out, status, "interval", ", every {interval}");
	if (json_is_true(json_object_get(status, "dry_run")))
		neap_buf_adds(out, ", dry run");
	neap_buf_adds(out, "\n");
	neap_cells_add_if(out, status, "pause_error", "{pause_error}\n");
	neap_cells_add_if(out, status, "error",
			  "the newest configuration is not used: {error}\n");
	neap_cells_add_if(out, status, "opens", "outside its window until {opens}\n");
	add_profiles(status, out);
	neap_cells_add(out, status,
		       "{rounds} rounds, {rounds_by_event} of them by event");
	neap_cells_add_if(out, status, "next", "; the next at {next}");
	neap_buf_adds(out, "\n");
	neap_cells_add_if(out, recording, "error", "rounds are not recorded: {error}\n");
	neap_cells_add_if(out, recording, "nodes_cut",
			  "the last recording lacks {nodes_cut} nodes: the cluster is "
			  "too large\n");
	if (!round)
		return;
	neap_cells_add(out, round, "\nround {round} at {began} ({because}): ");
	add_round(round, out);
}

static void add_said(const json_t *status, const void *says, struct neap_buf *out)
{
	neap_buf_addf(out, "%s\n", (const char *)says);
	neap_cells_add_if(out, status, "pause_error", "{pause_error}\n");
}

/* --- simulations --- */

static int read_into(json_t *body, const char *name, const char *file)
{
	struct neap_error err = {0};
	neap_auto_buf struct neap_buf text = {0};
	json_t *value;

	if (!file)
		return 0;
	neap_buf_init(&text, NEAP_BUF_FILE);
	if (neap_file_read(file, &text, &err) < 0)
		return neap_ctl_complain(NEAP_CTL_FAILED, &err);
	value = json_stringn(text.data, text.len);
	if (!value)
		return neap_ctl_complainf(NEAP_CTL_FAILED, "%s: is not text (UTF-8)",
					  file);
	(void)json_object_set_new(body, name, value);
	return 0;
}

static int simulate(struct neap_ctl *ctl, const struct deschedule_values *values)
{
	struct neap_client *client = NULL;
	struct neap_error err = {0};
	json_t *body = json_object(), *reply = NULL;
	int status = read_into(body, "policy", values->policy);

	if (status == 0)
		status = read_into(body, "config", values->config);
	neap_json_set_text(body, "plugin", values->strategy);
	if (values->simulate > 0)
		neap_json_set_int(body, "rounds", values->simulate);
	if (status == 0 &&
	    (neap_client_new(ctl, &client, &err) < 0 ||
	     neap_client_call(client, "POST", PATH "/simulate", body, &reply, &err) < 0))
		status = neap_ctl_fail(&err);
	neap_client_free(client);
	json_decref(body);
	return status == 0
		       ? neap_ctl_show_take(
				 ctl, reply,
				 values->simulate > 0 ? add_rounds : add_simulation, NULL)
		       : status;
}

static int deschedule(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	static const struct {
		const char *word, *says;
	} verbs[] = {
		{"run", "a round begins"},
		{"pause", "paused: no round until it is resumed"},
		{"resume", "rounds go on"},
	};
	const struct deschedule_values *values = arg;
	const char *word = argc ? argv[0] : "status";
	bool simulates = values->simulate != NEAP_MISSING;

	if (!simulates && (values->strategy || values->policy || values->config))
		return neap_ctl_complainf(NEAP_CTL_USAGE,
					  "--strategy, --policy and --config go with "
					  "--simulate");
	if (simulates && argc)
		return neap_ctl_complainf(
			NEAP_CTL_USAGE, "--simulate stands alone: without '%.64s'", word);
	if (simulates)
		return simulate(ctl, values);
	if (strcmp(word, "status") == 0)
		return neap_ctl_show(ctl, "GET", PATH, add_status, NULL);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(verbs); i++) {
		char path[64];

		if (strcmp(verbs[i].word, word) != 0)
			continue;
		(void)snprintf(path, sizeof(path), PATH "/%s", word);
		return neap_ctl_show(ctl, "POST", path, add_said, verbs[i].says);
	}
	return neap_ctl_complainf(
		NEAP_CTL_USAGE, "deschedule '%.64s': there is status, run, pause, resume",
		word);
}

const struct neap_command neap_command_deschedule = {
	.name = "deschedule",
	.usage = "[status|run|pause|resume] [OPTIONS]",
	.example = "deschedule --simulate --strategy LowNodeUtilization",
	.summary = "rounds of the descheduler: show the last, start or simulate one",
	.text = "\nWithout an argument: its state and the last round, which pods left and why, and\n"
		"why the others stayed.\n",
	.options = options,
	.output = NEAP_OUTPUT_OF_ANSWER,
	.values_size = sizeof(struct deschedule_values),
	.args_max = 1,
	.run = deschedule,
};
