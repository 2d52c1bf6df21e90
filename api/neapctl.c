/* SPDX-License-Identifier: Apache-2.0
 *
 * neapctl, the client of neapd: its table of commands, help, and finding the command for
 * the words. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/ctl/base/client.h"
#include "api/ctl/base/ctl.h"
#include "api/ctl/base/find.h"
#include "api/ctl/base/shell_complete.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

static const struct neap_option global_options[] = {
	{"socket", 0, NEAP_OPTION_TEXT, offsetof(struct neap_ctl, socket), "PATH",
	 "neapd's unix socket [$NEAP_SOCKET, else that of make run, else " NEAP_FIND_SOCKET
	 "]"},
	{"unix-socket", 0, NEAP_OPTION_TEXT, offsetof(struct neap_ctl, socket), "PATH",
	 NULL},
	{"server", 0, NEAP_OPTION_TEXT, offsetof(struct neap_ctl, server), "ADDRESS",
	 "use TCP instead: ADDR:PORT, or https://HOST:PORT [$NEAP_SERVER]"},
	{"token-file", 0, NEAP_OPTION_TEXT, offsetof(struct neap_ctl, token_file), "FILE",
	 "neapd's token, for TCP [$NEAP_TOKEN, else " NEAP_FIND_TOKEN_FILE "]"},
	{"cacert", 0, NEAP_OPTION_TEXT, offsetof(struct neap_ctl, cacert), "FILE",
	 "CA of neapd's certificate, for https [$NEAP_CACERT, else the system's]"},
	{"cert", 0, NEAP_OPTION_TEXT, offsetof(struct neap_ctl, cert), "FILE",
	 "client certificate, for https [$NEAP_CERT]"},
	{"key", 0, NEAP_OPTION_TEXT, offsetof(struct neap_ctl, key), "FILE",
	 "key of --cert [$NEAP_KEY, else in the certificate's file]"},
	{"help", 'h', NEAP_OPTION_FLAG, offsetof(struct neap_ctl, want_help), NULL,
	 "print this, or the help of a command"},
	{"version", 0, NEAP_OPTION_FLAG, offsetof(struct neap_ctl, want_version), NULL,
	 "print the version"},
	{""},
};

static int help(struct neap_ctl *ctl, void *values, int argc, char **argv);
static int version(struct neap_ctl *ctl, void *values, int argc, char **argv);

static const struct neap_command command_version = {
	.name = "version",
	.usage = "",
	.example = "version",
	.summary = "print the version of neapctl, and of neapd if one answers",
	.run = version,
};
static const struct neap_command command_help = {
	.name = "help",
	.usage = "[COMMAND]",
	.example = "help policy put",
	.summary = "print the help of a command",
	.args_max = 2,
	.run = help,
};

static const struct neap_command *const commands[] = {
	&neap_command_run,
	&neap_command_ps,
	&neap_command_logs,
	&neap_command_stop,
	&neap_command_top,
	&neap_command_status,
	&neap_command_doctor,
	&neap_command_audit,
	&neap_command_freeze,
	&neap_command_release,
	&neap_command_resume,
	&neap_command_topology,
	&neap_command_cpus,
	&neap_command_deschedule,
	&neap_command_explain_pod,
	&neap_command_explain_reservation,
	&neap_command_policy_list,
	&neap_command_policy_show,
	&neap_command_policy_new,
	&neap_command_policy_check,
	&neap_command_policy_put,
	&neap_command_policy_edit,
	&neap_command_policy_diff,
	&neap_command_policy_history,
	&neap_command_policy_recording,
	&neap_command_policy_rollback,
	&neap_command_policy_delete,
	&neap_command_policy_params,
	&neap_command_backup,
	&neap_command_restore,
	&neap_command_install_crds,
	&neap_command_token_rotate,
	&neap_command_completion,
	&command_version,
	&command_help,
};

static int print_overview(void)
{
	struct neap_buf out;
	size_t i;

	neap_buf_init(&out, NEAP_BUF_FILE);
	neap_buf_adds(&out, "neapctl [OPTIONS] COMMAND [OPTIONS]\n\nCommands:\n");
	for (i = 0; i < NEAP_ARRAY_LEN(commands); i++)
		neap_buf_addf(&out, "  %-15s  %s\n", commands[i]->name,
			      commands[i]->summary);
	neap_buf_adds(&out, "\nOptions, before or after the command:\n");
	neap_options_help(global_options, &out);
	neap_buf_adds(&out,
		      "\n'neapctl COMMAND --help' lists the options of a command.\n");
	return neap_ctl_print_done(&out);
}

static int print_help(const struct neap_command *command)
{
	struct neap_option output[2];
	struct neap_buf out;

	neap_buf_init(&out, NEAP_BUF_FILE);
	neap_buf_addf(&out, "neapctl %s%s%s\n\n%c%s.\n", command->name,
		      *command->usage ? " " : "", command->usage,
		      command->summary[0] >= 'a' && command->summary[0] <= 'z'
			      ? command->summary[0] - 'a' + 'A'
			      : command->summary[0],
		      command->summary + 1);
	if (command->text != NULL)
		neap_buf_adds(&out, command->text);
	neap_ctl_output_option(command, output);
	if (command->options != NULL || command->output != NULL)
		neap_buf_adds(&out, "\nOptions:\n");
	neap_options_help(command->options, &out);
	neap_options_help(output, &out);
	neap_buf_addf(&out,
		      "\nExample:\n  neapctl %s\n\n"
		      "'neapctl --help' lists the options that say where neapd is.\n",
		      command->example);
	return neap_ctl_print_done(&out);
}

static bool starts_with_word(const char *name, const char *word)
{
	size_t len = strlen(word);

	return strncmp(name, word, len) == 0 && (!name[len] || name[len] == ' ');
}

static int unknown(const char *word)
{
	char firsts[NEAP_ARRAY_LEN(commands)][16];
	const char *names[NEAP_ARRAY_LEN(commands)], *near;
	struct neap_buf list;
	size_t i, count = 0;
	int r;

	neap_buf_init(&list, NEAP_BUF_LINE);
	for (i = 0; i < NEAP_ARRAY_LEN(commands); i++) {
		(void)snprintf(firsts[count], sizeof(firsts[count]), "%.*s",
			       (int)strcspn(commands[i]->name, " "), commands[i]->name);
		/* Groups stand together. */
		if (count > 0 && strcmp(firsts[count], firsts[count - 1]) == 0)
			continue;
		names[count] = firsts[count];
		neap_buf_addf(&list, "%s%s", count > 0 ? ", " : "", names[count]);
		count++;
	}
	near = neap_nearest_find(word, names, count);
	if (near != NULL)
		r = neap_ctl_complainf(NEAP_CTL_USAGE,
				       "unknown command '%.64s'; did you mean %s?", word,
				       near);
	else
		r = neap_ctl_complainf(NEAP_CTL_USAGE,
				       "unknown command '%.64s'; there is %s", word,
				       list.data);
	neap_buf_done(&list);
	return r;
}

/* The command of argv[0], or of argv[0] and argv[1]; *ret_words tells how many. Without
 * one the status to end with. */
static int command_find(int argc, char **argv, const struct neap_command **ret,
			int *ret_words)
{
	const struct neap_command *group = NULL;
	const char *blank;
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(commands); i++) {
		if (!starts_with_word(commands[i]->name, argv[0]))
			continue;
		blank = strchr(commands[i]->name, ' ');
		if (blank == NULL || (argc > 1 && strcmp(blank + 1, argv[1]) == 0)) {
			*ret = commands[i];
			*ret_words = blank == NULL ? 1 : 2;
			return 0;
		}
		group = commands[i];
	}
	if (group == NULL)
		return unknown(argv[0]);
	*ret_words = 1;
	return NEAP_CTL_USAGE;
}

/* "policy" alone, or with a word that it does not know. */
static int group_complain(const char *word, const char *second)
{
	const char *names[NEAP_ARRAY_LEN(commands)], *near = NULL;
	struct neap_buf list;
	size_t i, count = 0;
	int r;

	neap_buf_init(&list, NEAP_BUF_LINE);
	for (i = 0; i < NEAP_ARRAY_LEN(commands); i++) {
		if (!starts_with_word(commands[i]->name, word))
			continue;
		names[count] = commands[i]->name + strlen(word) + 1;
		neap_buf_addf(&list, "%s%s", count > 0 ? ", " : "", names[count]);
		count++;
	}
	if (second != NULL)
		near = neap_nearest_find(second, names, count);
	if (second == NULL)
		r = neap_ctl_complainf(NEAP_CTL_USAGE,
				       "%s needs one more word: there is %s", word,
				       list.data);
	else if (near != NULL)
		r = neap_ctl_complainf(NEAP_CTL_USAGE,
				       "unknown command '%s %.64s'; did you mean %s %s?",
				       word, second, word, near);
	else
		r = neap_ctl_complainf(NEAP_CTL_USAGE,
				       "unknown command '%s %.64s'; after %s there is %s",
				       word, second, word, list.data);
	neap_buf_done(&list);
	return r;
}

static int group_help(const char *word)
{
	size_t i;
	int r = 0;

	for (i = 0; i < NEAP_ARRAY_LEN(commands) && r == 0; i++) {
		if (starts_with_word(commands[i]->name, word)) {
			r = print_help(commands[i]);
			puts("");
		}
	}
	return r;
}

static int help(struct neap_ctl *ctl, void *values, int argc, char **argv)
{
	const struct neap_command *command = NULL;
	int words = 0, r;

	(void)ctl, (void)values;
	if (argc == 0)
		return print_overview();
	r = command_find(argc, argv, &command, &words);
	if (command != NULL)
		return print_help(command);
	if (words == 0)
		return r;
	return argc == 1 ? group_help(argv[0]) : group_complain(argv[0], argv[1]);
}

static int version(struct neap_ctl *ctl, void *values, int argc, char **argv)
{
	struct neap_error err;
	json_t *reply = NULL;

	(void)values, (void)argc, (void)argv;
	printf("neapctl %s\n", NEAP_VERSION);
	if (ctl == NULL || neap_client_ask(ctl, "GET", "/version", &reply, &err) < 0)
		return 0;
	/* Only digits and dots of what a daemon says. */
	if (json_string_value(json_object_get(reply, "version")) != NULL) {
		const char *text = json_string_value(json_object_get(reply, "version"));

		printf("neapd %.*s\n",
		       (int)strspn(text, "0123456789.-abcdefghijklmnopqrstuvwxyz"), text);
	}
	json_decref(reply);
	return 0;
}

static int check_count(const struct neap_command *command, int argc, char **argv)
{
	if (argc < command->args_min)
		return neap_ctl_complainf(NEAP_CTL_USAGE, "usage: neapctl %s %s",
					  command->name, command->usage);
	if (command->args_max >= 0 && argc > command->args_max)
		return neap_ctl_complainf(NEAP_CTL_USAGE,
					  "'%.64s' is too much: neapctl %s%s%s",
					  argv[command->args_max], command->name,
					  *command->usage ? " " : "", command->usage);
	return 0;
}

/* Those behind the command beat those before it. */
static void take_globals(struct neap_ctl *ctl, const struct neap_ctl *more)
{
	if (more->socket != NULL && *more->socket) {
		ctl->socket = more->socket;
		ctl->is_socket_given = true;
		if (ctl->is_server_found)
			ctl->server = NULL;
	}
	ctl->server = more->server != NULL ? more->server : ctl->server;
	ctl->cacert = more->cacert != NULL ? more->cacert : ctl->cacert;
	ctl->cert = more->cert != NULL ? more->cert : ctl->cert;
	ctl->key = more->key != NULL ? more->key : ctl->key;
	ctl->token_file = more->token_file != NULL ? more->token_file : ctl->token_file;
}

static int dispatch(struct neap_ctl *ctl, const struct neap_command *command, int argc,
		    char **argv)
{
	struct neap_ctl more = {0};
	void *values = neap_alloc(command->values_size);
	struct neap_option output[2];
	const struct neap_option_set sets[] = {
		{command->options, values}, {output, ctl}, {global_options, &more}};
	struct neap_error err = {0};
	int r;

	if (values == NULL)
		return neap_ctl_complainf(NEAP_CTL_FAILED, "out of memory");
	neap_ctl_output_option(command, output);
	neap_options_clear(&sets[0]);
	if (neap_options_parse(sets, NEAP_ARRAY_LEN(sets), command->is_prefix, &argc,
			       argv, &err) < 0) {
		r = neap_ctl_complain(NEAP_CTL_USAGE, &err);
	} else if (more.want_help) {
		r = print_help(command);
	} else if (more.want_version) {
		r = version(NULL, NULL, 0, NULL);
	} else {
		take_globals(ctl, &more);
		r = check_count(command, argc, argv);
		if (r == 0)
			r = command->run(ctl, values, argc, argv);
		/* Tables and JSON are built without a look at each part. */
		if (neap_mem_failures() > 0 && r != NEAP_CTL_USAGE)
			r = neap_ctl_complainf(NEAP_CTL_FAILED,
					       "out of memory: what is printed may lack "
					       "something");
	}
	free(values);
	return r;
}

int main(int argc, char **argv)
{
	struct neap_ctl ctl = {0};
	const struct neap_option_set globals = {global_options, &ctl};
	const struct neap_command *command = NULL;
	struct neap_error err = {0};
	int words = 0, r;

	neap_json_setup();
	(void)setlocale(LC_CTYPE, "");
	if (argc < 1)
		return NEAP_CTL_USAGE;
	argc--;
	argv++;
	if (argc > 0 && strcmp(argv[0], NEAP_COMPLETE_WORD) == 0) {
		const struct neap_complete table = {commands, NEAP_ARRAY_LEN(commands),
						    global_options};

		return neap_complete(&table, argc - 1, argv + 1);
	}
	/* Up to the command: what follows it may be options of its own. */
	if (neap_options_parse(&globals, 1, true, &argc, argv, &err) < 0)
		return neap_ctl_complain(NEAP_CTL_USAGE, &err);
	neap_ctl_place(&ctl);
	if (ctl.want_version)
		return version(NULL, NULL, 0, NULL);
	if (argc == 0 && ctl.want_help)
		return print_overview();
	if (argc == 0)
		return neap_ctl_complainf(
			NEAP_CTL_USAGE, "a command is needed: 'neapctl help' lists them");
	r = command_find(argc, argv, &command, &words);
	if (command == NULL && words == 0)
		return r;
	if (command == NULL && argc > 1 &&
	    (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		return group_help(argv[0]);
	if (command == NULL)
		return group_complain(argv[0], argc > 1 ? argv[1] : NULL);
	if (ctl.want_help)
		return print_help(command);
	return dispatch(&ctl, command, argc - words, argv + words);
}
