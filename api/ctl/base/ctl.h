/* SPDX-License-Identifier: Apache-2.0
 *
 * What the commands of neapctl share. A command is a row of the table in api/neapctl.c: its words,
 * its options, its function; parsing and --help come from the row. */
#ifndef NEAP_API_CTL_BASE_CTL_H
#define NEAP_API_CTL_BASE_CTL_H

#include <jansson.h>

#include "api/ctl/base/option.h"
#include "engine/base/buf.h"
#include "engine/base/error.h"

/* Exit statuses beside 0. */
#define NEAP_CTL_FAILED  1
#define NEAP_CTL_USAGE   2   /* options, commands */
#define NEAP_CTL_ABSENT  3   /* no daemon answers */
#define NEAP_CTL_REFUSED 125 /* run: the command was never started */
#define NEAP_CTL_CANNOT  126 /* run: found, but cannot be executed */
#define NEAP_CTL_NO_FILE 127 /* run: there is no such program */

/* Where neapd is, as the global options say. */
struct neap_ctl {
	const char *socket; /* path; never NULL after parsing */
	char found[108];    /* the path when nothing names one */
	const char *server; /* "ADDR:PORT" or a URL, NULL: the unix socket */
	const char *cacert, *cert,
		*key;           /* files for https, NULL: see api/ctl/base/secure.h */
	const char *token_file; /* for TCP, NULL: see api/ctl/base/find.h */
	bool is_socket_given; /* by option, environment or command: nothing else is asked */
	bool is_server_found; /* by the environment: a socket given by option beats it */
	bool want_help, want_version;
};

struct neap_command {
	const char *name;    /* "top", "policy check" */
	const char *usage;   /* what follows the name */
	const char *example; /* a call of it, without "neapctl" */
	const char *summary; /* one line, for the list of commands */
	const char *text;    /* more lines for its own --help, may be NULL */
	const struct neap_option *options; /* NULL without any */
	size_t values_size;                /* of the struct that options fill */
	int args_min, args_max;            /* words besides options; -1 any number */
	bool is_prefix; /* options end at the first word: the rest belongs to a program */
	int (*run)(struct neap_ctl *ctl, void *values, int argc, char **argv);
};

extern const struct neap_command neap_command_run, neap_command_ps, neap_command_logs,
	neap_command_stop, neap_command_top, neap_command_status, neap_command_audit,
	neap_command_freeze, neap_command_release, neap_command_resume,
	neap_command_topology, neap_command_policy_list, neap_command_policy_show,
	neap_command_policy_check, neap_command_policy_put, neap_command_policy_edit,
	neap_command_policy_new, neap_command_policy_diff, neap_command_policy_history,
	neap_command_policy_rollback, neap_command_policy_delete,
	neap_command_policy_params, neap_command_token_rotate, neap_command_doctor,
	neap_command_cpus, neap_command_explain_pod, neap_command_explain_reservation,
	neap_command_backup, neap_command_restore, neap_command_completion,
	neap_command_complete;

/* Where the global options name neither server nor socket: $NEAP_SERVER; and $NEAP_SOCKET, else the
 * usual one. */
void neap_ctl_place(struct neap_ctl *ctl);
/* One line on stderr, "neapctl: FIELD: MESSAGE", without control characters. Returns status. */
int neap_ctl_complain(int status, const struct neap_error *err);
int neap_ctl_complainf(int status, const char *fmt, ...) NEAP_PRINTF(2, 3);
/* A call to the daemon failed: the same with NEAP_CTL_ABSENT or NEAP_CTL_FAILED. */
int neap_ctl_fail(const struct neap_error *err);
/* Writes to stdout; NEAP_CTL_FAILED with a line on stderr when it is full, closed, or out failed. */
int neap_ctl_print(const struct neap_buf *out);
/* JSON or YAML, ASCII only, so that no name acts on a terminal. Takes the value over;
 * NULL is one for which there was no memory. */
int neap_ctl_print_take(enum neap_output output, json_t *value);
/* stdout is a terminal that wants colours. */
bool neap_ctl_use_color(void);
/* The name to print in commands that users type: the path by which neapctl was called,
 * or "neapctl". Borrowed. */
const char *neap_ctl_name(void);
/* Columns of the terminal, 0 when stdout is none. */
int neap_ctl_columns(void);

#endif
