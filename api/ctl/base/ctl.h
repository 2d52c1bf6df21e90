/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the commands of neapctl. A command is a row of the table in api/neapctl.c:
 * its words, its options, its function. Parsing and --help work from the row. */
#ifndef NEAP_API_CTL_BASE_CTL_H
#define NEAP_API_CTL_BASE_CTL_H

#include <jansson.h>

#include "api/ctl/base/option.h"
#include "engine/base/buf.h"
#include "engine/base/error.h"

struct neap_table;

/* Exit statuses besides 0. */
#define NEAP_CTL_FAILED  1
#define NEAP_CTL_USAGE   2   /* options, commands */
#define NEAP_CTL_ABSENT  3   /* no daemon answers */
#define NEAP_CTL_REFUSED 125 /* run: the command was never started */
#define NEAP_CTL_CANNOT  126 /* run: found, but not executable */
#define NEAP_CTL_NO_FILE 127 /* run: no such program */

/* Where neapd is, from the global options. */
struct neap_ctl {
	const char *socket; /* path; never NULL after parsing */
	char found[108];    /* the path used when none is given */
	const char *server; /* "ADDR:PORT" or a URL, NULL: the unix socket */
	const char *cacert, *cert,
		*key;           /* files for https, NULL: see api/ctl/base/secure.h */
	const char *token_file; /* for TCP, NULL: see api/ctl/base/find.h */
	/* given by option, environment or command: try nothing else */
	bool is_socket_given;
	/* from the environment: a socket given by option overrides it */
	bool is_server_found;
	bool want_help, want_version;
	enum neap_output output; /* of the command's own -o */
};

struct neap_command {
	const char *name;    /* "top", "policy check" */
	const char *usage;   /* what follows the command's name */
	const char *example; /* a sample call, without "neapctl" */
	const char *summary; /* one line, for the list of commands */
	const char *text;    /* further lines for its own --help, may be NULL */
	const struct neap_option *options; /* NULL without any */
	/* The help of -o json|yaml, the last of its options; NULL: it has none. */
	const char *output;
	size_t values_size;     /* size of the struct that options fill */
	int args_min, args_max; /* words besides options; -1: any number */
	bool is_prefix; /* options end at the first word; the rest belongs to a program */
	int (*run)(struct neap_ctl *ctl, void *values, int argc, char **argv);
};

/* Texts of commands whose -o prints all they show, or the answer of the daemon. */
#define NEAP_OUTPUT_OF_ALL    "print all of it as JSON or YAML"
#define NEAP_OUTPUT_OF_ANSWER "print the daemon's answer as JSON or YAML"

extern const struct neap_command neap_command_run, neap_command_ps, neap_command_logs,
	neap_command_stop, neap_command_top, neap_command_status, neap_command_audit,
	neap_command_freeze, neap_command_release, neap_command_resume,
	neap_command_topology, neap_command_policy_list, neap_command_policy_show,
	neap_command_policy_check, neap_command_policy_put, neap_command_policy_edit,
	neap_command_policy_new, neap_command_policy_diff, neap_command_policy_history,
	neap_command_policy_recording, neap_command_policy_rollback,
	neap_command_policy_delete, neap_command_policy_params, neap_command_token_rotate,
	neap_command_doctor, neap_command_cpus, neap_command_deschedule,
	neap_command_explain_pod, neap_command_explain_reservation, neap_command_backup,
	neap_command_restore, neap_command_install_crds, neap_command_completion,
	neap_command_complete;

/* Makes the row of the command's -o, a table of one: empty without. */
void neap_ctl_output_option(const struct neap_command *command,
			    struct neap_option ret[2]);

/* Without server or socket in the global options: uses $NEAP_SERVER; and $NEAP_SOCKET,
 * else the default socket. */
void neap_ctl_place(struct neap_ctl *ctl);
/* Prints one line on stderr, "neapctl: FIELD: MESSAGE", without control characters.
 * Returns status. */
int neap_ctl_complain(int status, const struct neap_error *err);
int neap_ctl_complainf(int status, const char *fmt, ...) NEAP_PRINTF(2, 3);
/* The same for a failed call to the daemon, with NEAP_CTL_ABSENT or NEAP_CTL_FAILED. */
int neap_ctl_fail(const struct neap_error *err);
/* Writes to stdout. Returns NEAP_CTL_FAILED, with a line on stderr, when stdout is full
 * or closed, or out has failed. */
int neap_ctl_print(const struct neap_buf *out);
/* The same, and frees what out holds. */
int neap_ctl_print_done(struct neap_buf *out);
/* Prints JSON or YAML, ASCII only, so that no name acts on a terminal. Takes value over;
 * NULL means that memory was short. */
int neap_ctl_print_take(enum neap_output output, json_t *value);
/* Sends a request without a body and prints the answer: with -o as it is, else what add
 * appends of it. */
int neap_ctl_show(struct neap_ctl *ctl, const char *method, const char *path,
		  void (*add)(const json_t *reply, const void *arg, struct neap_buf *out),
		  const void *arg);
/* Prints what was made: with -o value as it is, else what add appends of it. Takes value
 * over. */
int neap_ctl_show_take(const struct neap_ctl *ctl, json_t *value,
		       void (*add)(const json_t *value, const void *arg,
				   struct neap_buf *out),
		       const void *arg);
/* Appends the table as this terminal has room for it, and frees it; NULL is a lack of
 * memory. */
void neap_ctl_add_table_take(struct neap_table *table, struct neap_buf *out);
/* Returns whether stdout is a terminal that wants colours. */
bool neap_ctl_use_color(void);
/* Returns the program's name for commands shown to users: the path neapctl was called by,
 * or "neapctl". Borrowed. */
const char *neap_ctl_name(void);
/* Returns the text of a file in api/ctl/texts or doc/deploy/crds; NULL: there is none. */
const char *neap_ctl_text(const char *name);
/* Returns the text number at and its name; NULL behind the last one. */
const char *neap_ctl_text_at(size_t at, const char **ret_name);
/* Returns the columns of the terminal, 0 when stdout is not one. */
int neap_ctl_columns(void);

#endif
