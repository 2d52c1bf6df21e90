/* SPDX-License-Identifier: Apache-2.0
 *
 * From words to completion candidates. */
#include "api/ctl/base/shell_complete.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/config/config.h"
#include "api/ctl/base/client.h"
#include "api/ctl/draw/cells.h"
#include "api/ctl/draw/text.h"
#include "engine/base/mem.h"

#define KIND_BYTES 128
#define PATH_BYTES 192

/* What the line before the word at the cursor says. */
struct line {
	const struct neap_complete *table;
	struct neap_ctl ctl;
	const struct neap_command *command; /* NULL before it */
	const char *group;                  /* "policy", when the line has only that */
	const struct neap_option *open;     /* an option that waits for its value */
	int args;                           /* words of the command so far */
	const char *first;                  /* the first of them */
	bool is_past_options;               /* behind "--", or a program's own words */
	const char *word, *before;          /* at the cursor; "--name=" before it */
};

static void offer(const struct line *line, const char *text, const char *what)
{
	neap_auto_buf struct neap_buf out = {0};

	if (strncmp(text, line->word, strlen(line->word)) != 0)
		return;
	neap_buf_init(&out, NEAP_BUF_LINE);
	neap_text_add_clean(&out, line->before, false);
	neap_text_add_clean(&out, text, false);
	neap_buf_addc(&out, '\t');
	neap_text_add_clean(&out, what != NULL ? what : "", false);
	(void)puts(out.data);
}

static bool is_end(const struct neap_option *row)
{
	return row == NULL || !*row->name;
}

static const struct neap_option *option_in(const struct neap_option *rows,
					   const char *word)
{
	const size_t len = strcspn(word, "=");

	for (; !is_end(rows); rows++) {
		if (word[1] == '-' && strlen(rows->name) == len - 2 &&
		    strncmp(rows->name, word + 2, len - 2) == 0)
			return rows;
		if (word[1] != '-' && rows->letter && rows->letter == word[1])
			return rows;
	}
	return NULL;
}

/* The row of "--name", "--name=value", "-n"; NULL of none. */
static const struct neap_option *option_find(const struct neap_command *command,
					     const struct neap_option *globals,
					     const char *word)
{
	static const struct neap_option output[] = {
		{"output", 'o', NEAP_OPTION_OUTPUT, 0, NEAP_OUTPUT_NAMES, NULL}, {""}};
	const struct neap_option *row = NULL;

	if (word[0] != '-' || word[1] == '\0')
		return NULL;
	if (command != NULL)
		row = option_in(command->options, word);
	if (row == NULL && command != NULL && command->output != NULL)
		row = option_in(output, word);
	return row != NULL ? row : option_in(globals, word);
}

/* Exported for tests: the placeholder of positional word index in a usage text
 * ("KIND/NAME"), "" when there is none. */
static void complete_usage(const struct neap_command *command,
			   const struct neap_option *globals, int index, char *buf,
			   size_t size)
{
	char usage[256], *word, *rest = NULL, last[KIND_BYTES] = "";
	bool is_value = false, repeats = false;

	buf[0] = '\0';
	(void)neap_strcopy(usage, sizeof(usage), command->usage);
	for (word = strtok_r(usage, " []", &rest); word != NULL && index >= 0;
	     word = strtok_r(NULL, " []", &rest)) {
		const struct neap_option *row;
		char *dash = strstr(word, "|-");

		/* "[VERSION]|--file FILE": the bar parts a word from an option. */
		if (word[0] == '|' && word[1] == '-')
			dash = word++;
		if (dash != NULL && dash > word) {
			*dash = '\0';
			rest = rest != NULL ? dash + 1 : rest;
		}
		row = option_find(command, globals, word);
		if (is_value || word[0] == '-' || strcmp(word, "|") == 0 ||
		    strcmp(word, "OPTIONS") == 0) {
			is_value = row != NULL && neap_option_takes_word(row);
			continue;
		}
		repeats = strlen(word) > 3 && strcmp(word + strlen(word) - 3, "...") == 0;
		if (repeats)
			word[strlen(word) - 3] = '\0';
		(void)neap_strcopy(last, sizeof(last), word);
		index--;
	}
	if (index < 0 || repeats)
		(void)neap_strcopy(buf, size, last);
}

/* --- from the daemon --- */

static void too_long(int number)
{
	(void)number;
	_exit(0); /* what there was is printed */
}

static json_t *ask(const struct line *line, const char *path)
{
	struct neap_error err;
	json_t *reply = NULL;

	(void)fflush(stdout);
	(void)signal(SIGALRM, too_long);
	(void)alarm(1);
	if (neap_client_ask(&line->ctl, "GET", path, &reply, &err) < 0)
		reply = NULL;
	(void)alarm(0);
	return reply;
}

static void offer_policies(const struct line *line)
{
	json_t *reply = ask(line, "/control/v1/policies"), *policy;
	size_t i;

	json_array_foreach (reply, i, policy) {
		offer(line, neap_cell_text(policy, "policy"),
		      neap_cell_text(policy, "state"));
	}
	json_decref(reply);
}

/* The path of the policy named first on the line; false when none is. */
static bool policy_path(const struct line *line, const char *suffix, char *path)
{
	return line->first != NULL &&
	       strspn(line->first, "abcdefghijklmnopqrstuvwxyz0123456789-/") ==
		       strlen(line->first) &&
	       snprintf(path, PATH_BYTES, "/control/v1/policies/%s/%s", line->first,
			suffix) < PATH_BYTES;
}

static void offer_versions(const struct line *line)
{
	char path[PATH_BYTES];
	json_t *reply, *row;
	size_t i;

	if (!policy_path(line, "versions", path))
		return;
	reply = ask(line, path);
	json_array_foreach (json_object_get(reply, "versions"), i, row) {
		offer(line, neap_cell_text(row, "version"), neap_cell_text(row, "state"));
	}
	json_decref(reply);
}

static void offer_params(const struct line *line)
{
	char path[PATH_BYTES], word[KIND_BYTES];
	json_t *reply, *row;
	const char *name;

	if (!policy_path(line, "params", path))
		return;
	reply = ask(line, path);
	json_object_foreach (json_object_get(reply, "schema"), name, row) {
		(void)snprintf(word, sizeof(word), "%.60s=", name);
		offer(line, word, neap_cell_text(row, "doc"));
	}
	json_decref(reply);
	(void)puts(":nospace");
}

static void offer_nodes(const struct line *line)
{
	json_t *reply = ask(line, "/control/v1/cpus?summary=true&limit=500"), *node;
	size_t i;

	json_array_foreach (json_object_get(reply, "nodes"), i, node) {
		offer(line, neap_cell_text(node, "node"), NULL);
	}
	json_decref(reply);
}

static void offer_workloads(const struct line *line)
{
	json_t *reply = ask(line, "/control/v1/workloads"), *row;
	size_t i;

	json_array_foreach (reply, i, row) {
		if (strcmp(neap_cell_text(row, "source"), "run") == 0)
			offer(line, neap_cell_text(row, "name"),
			      neap_cell_text(row, "qos"));
	}
	json_decref(reply);
}

static void offer_pods(const struct line *line)
{
	json_t *reply = ask(line, "/api/v1/pods?limit=500"), *pod;
	char word[KIND_BYTES * 6];
	size_t i;

	json_array_foreach (json_object_get(reply, "items"), i, pod) {
		const json_t *meta = json_object_get(pod, "metadata");

		(void)snprintf(word, sizeof(word), "%s/%s",
			       neap_cell_text(meta, "namespace"),
			       neap_cell_text(meta, "name"));
		offer(line, word, NULL);
	}
	json_decref(reply);
}

/* --- from the tables --- */

static void offer_options(const struct line *line, const struct neap_option *rows)
{
	char word[KIND_BYTES];

	for (; !is_end(rows); rows++) {
		if (rows->help == NULL)
			continue;
		(void)snprintf(word, sizeof(word), "--%s", rows->name);
		offer(line, word, rows->help);
		(void)snprintf(word, sizeof(word), "-%c", rows->letter);
		/* A single letter only when it is asked for. */
		if (rows->letter && strcmp(line->word, word) == 0)
			offer(line, word, rows->help);
	}
}

static void offer_commands(const struct line *line, const char *group)
{
	const size_t len = group != NULL ? strlen(group) : 0;
	char last[KIND_BYTES] = "", first[KIND_BYTES];
	size_t i;

	for (i = 0; i < line->table->command_count; i++) {
		const struct neap_command *command = line->table->commands[i];
		const size_t blank = strcspn(command->name, " ");

		if (group != NULL) {
			if (blank == len && strncmp(command->name, group, len) == 0 &&
			    command->name[len] == ' ')
				offer(line, command->name + len + 1, command->summary);
			continue;
		}
		(void)snprintf(first, sizeof(first), "%.*s", (int)blank, command->name);
		/* Groups stand together. */
		if (strcmp(first, last) == 0)
			continue;
		offer(line, first,
		      command->name[blank] == ' ' ? "one more word" : command->summary);
		(void)neap_strcopy(last, sizeof(last), first);
	}
}

/* kind: of a value or a word, as help has it: "FILE", "KIND/NAME", "json|yaml". */
static void offer_kind(const struct line *line, const char *kind)
{
	char choices[KIND_BYTES], *choice, *rest = NULL;

	if (strcmp(kind, "FILE") == 0 || strcmp(kind, "PATH") == 0)
		(void)puts(":file");
	else if (strcmp(kind, "DIR") == 0)
		(void)puts(":dir");
	else if (strcmp(kind, "KIND/NAME") == 0)
		offer_policies(line);
	else if (strcmp(kind, "VERSION") == 0)
		offer_versions(line);
	else if (strcmp(kind, "NODE") == 0)
		offer_nodes(line);
	else if (strcmp(kind, "NAMESPACE/NAME") == 0)
		offer_pods(line);
	else if (strcmp(kind, "WORKLOAD") == 0)
		offer_workloads(line);
	else if (strcmp(kind, "PARAM=VALUE") == 0)
		offer_params(line);
	else if (strchr(kind, '|') != NULL) {
		(void)neap_strcopy(choices, sizeof(choices), kind);
		for (choice = strtok_r(choices, "|", &rest); choice != NULL;
		     choice = strtok_r(NULL, "|", &rest))
			offer(line, choice, NULL);
	}
}

static void offer_word(const struct line *line)
{
	char kind[KIND_BYTES];

	if (line->command->is_prefix) {
		(void)puts(line->args == 0 ? ":command" : ":file");
		return;
	}
	complete_usage(line->command, line->table->globals, line->args, kind,
		       sizeof(kind));
	/* Behind `help`. */
	if (strcmp(kind, "COMMAND") == 0)
		offer_commands(line, NULL);
	else if (line->args == 1 && strcmp(line->command->name, "help") == 0)
		offer_commands(line, line->first);
	else
		offer_kind(line, kind);
}

/* --- the words before --- */

static const struct neap_command *command_find(const struct neap_complete *table,
					       const char *group, const char *word)
{
	char name[KIND_BYTES];
	size_t i;

	(void)snprintf(name, sizeof(name), "%s%s%s", group != NULL ? group : "",
		       group != NULL ? " " : "", word);
	for (i = 0; i < table->command_count; i++)
		if (strcmp(table->commands[i]->name, name) == 0)
			return table->commands[i];
	return NULL;
}

/* Takes the location of neapd, when the line gives it. */
static void global_take(struct line *line, const struct neap_option *row,
			const char *value)
{
	const struct neap_option *global;

	for (global = line->table->globals; !is_end(global); global++)
		if (global == row && row->type == NEAP_OPTION_TEXT)
			*(const char **)((char *)&line->ctl + row->offset) = value;
}

static void option_take(struct line *line, const char *word)
{
	const struct neap_option *row =
		option_find(line->command, line->table->globals, word);
	const char *value = strchr(word, '=');

	if (row == NULL || !neap_option_takes_word(row))
		return;
	if (word[1] != '-' && word[2] != '\0')
		return; /* -nVALUE */
	if (value != NULL)
		global_take(line, row, value + 1);
	else
		line->open = row;
}

static void word_take(struct line *line, const char *word)
{
	if (line->open != NULL) {
		global_take(line, line->open, word);
		line->open = NULL;
	} else if (!line->is_past_options && strcmp(word, "--") == 0) {
		line->is_past_options = true;
	} else if (!line->is_past_options && word[0] == '-' && word[1] != '\0') {
		option_take(line, word);
	} else if (line->command == NULL) {
		line->command = command_find(line->table, line->group, word);
		if (line->command == NULL)
			line->group = word;
	} else {
		if (line->args++ == 0)
			line->first = word;
		line->is_past_options |= line->command->is_prefix;
	}
}

static void candidates(struct line *line)
{
	const struct neap_option *row;
	struct neap_option output[2];
	const char *is = strchr(line->word, '=');

	if (line->open != NULL) {
		offer_kind(line, line->open->value);
		return;
	}
	if (!line->is_past_options && strncmp(line->word, "--", 2) == 0 && is != NULL) {
		row = option_find(line->command, line->table->globals, line->word);
		line->before = neap_strndup(line->word, (size_t)(is + 1 - line->word));
		line->word = is + 1;
		if (line->before != NULL && row != NULL && row->type != NEAP_OPTION_FLAG)
			offer_kind(line, row->value);
		return;
	}
	if (!line->is_past_options && line->word[0] == '-') {
		if (line->command != NULL) {
			neap_ctl_output_option(line->command, output);
			offer_options(line, line->command->options);
			offer_options(line, output);
		}
		offer_options(line, line->table->globals);
		return;
	}
	if (line->command == NULL)
		offer_commands(line, line->group);
	else
		offer_word(line);
}

/* --- neapd --- */

static void daemon_value(const struct line *line, const struct neap_config_flag *flag)
{
	size_t i;

	for (i = 0; flag->choices != NULL && flag->choices[i] != NULL; i++)
		offer(line, flag->choices[i], NULL);
	if (flag->metavar != NULL && strncmp(flag->metavar, "NAME[:", 6) == 0)
		(void)puts(
			":file"); /* of a policy; the name of a shipped one is one, too */
	else if (flag->metavar != NULL)
		offer_kind(line, flag->metavar);
}

static void daemon_candidates(struct line *line, int argc, char **argv)
{
	struct neap_config_flag flag;
	const char *is = strchr(line->word, '='), *name = NULL;
	char word[KIND_BYTES];
	size_t i, len = 0;

	if (argc > 1 && strncmp(argv[argc - 2], "--", 2) == 0 &&
	    strchr(argv[argc - 2], '=') == NULL)
		len = strlen(name = argv[argc - 2] + 2);
	if (strncmp(line->word, "--", 2) == 0)
		name = NULL;
	if (strncmp(line->word, "--", 2) == 0 && is != NULL) {
		name = line->word + 2;
		len = (size_t)(is - name);
		line->before = neap_strndup(line->word, (size_t)(is + 1 - line->word));
		line->word = is + 1;
	}
	for (i = 0; line->before != NULL && neap_config_flag_get(i, &flag); i++) {
		if (name != NULL && strlen(flag.name) == len &&
		    strncmp(flag.name, name, len) == 0 && flag.metavar != NULL) {
			daemon_value(line, &flag);
			return;
		}
	}
	for (i = 0; is == NULL && neap_config_flag_get(i, &flag); i++) {
		(void)snprintf(word, sizeof(word), "--%s", flag.name);
		offer(line, word, flag.doc);
	}
}

int neap_complete(const struct neap_complete *table, int argc, char **argv)
{
	struct line line = {.table = table, .before = ""};
	bool is_daemon = false;
	int i;

	if (argc > 0 && strcmp(argv[0], "--neapd") == 0)
		is_daemon = true, argc--, argv++;
	if (argc > 0 && strcmp(argv[0], "--") == 0)
		argc--, argv++;
	if (argc < 1)
		return 0;
	line.word = argv[argc - 1];
	if (is_daemon) {
		daemon_candidates(&line, argc, argv);
	} else {
		for (i = 0; i + 1 < argc; i++)
			word_take(&line, argv[i]);
		neap_ctl_place(&line.ctl);
		candidates(&line);
	}
	(void)fflush(stdout);
	if (line.before != NULL && line.before[0] != '\0')
		free((void *)line.before);
	return 0;
}
