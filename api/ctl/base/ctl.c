/* SPDX-License-Identifier: Apache-2.0
 *
 * Output and failures of commands. */
#include "api/ctl/base/ctl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "api/ctl/base/client.h"
#include "api/ctl/base/find.h"
#include "api/ctl/draw/table.h"
#include "api/ctl/draw/text.h"
#include "api/yaml/yaml_write.h"
#include "engine/json/json.h"

/* The most that a command prints for people. */
#define TEXT_MAX ((size_t)64 << 20)

void neap_ctl_output_option(const struct neap_command *command, struct neap_option ret[2])
{
	ret[0] = (struct neap_option){
		"output",           'o',
		NEAP_OPTION_OUTPUT, offsetof(struct neap_ctl, output),
		NEAP_OUTPUT_NAMES,  command->output};
	if (command->output == NULL)
		ret[0].name = "";
	ret[1] = (struct neap_option){""};
}

void neap_ctl_place(struct neap_ctl *ctl)
{
	/* Options beat the environment, also where they say another way. */
	if (ctl->socket == NULL && ctl->server == NULL) {
		ctl->server = getenv("NEAP_SERVER");
		if (ctl->server != NULL && !*ctl->server)
			ctl->server = NULL;
		ctl->is_server_found = ctl->server != NULL;
	}
	if (ctl->socket == NULL)
		ctl->socket = getenv("NEAP_SOCKET");
	ctl->is_socket_given = ctl->socket != NULL && *ctl->socket;
	if (!ctl->is_socket_given) {
		neap_socket_find(ctl->found, sizeof(ctl->found));
		ctl->socket = ctl->found;
	}
}

int neap_ctl_complain(int status, const struct neap_error *err)
{
	struct neap_buf line;

	neap_buf_init(&line, NEAP_BUF_LINE);
	if (err->field[0]) {
		neap_text_add_clean(&line, err->field, false);
		neap_buf_adds(&line, ": ");
	}
	neap_text_add_clean(&line, err->msg, false);
	(void)fprintf(stderr, "neapctl: %s\n", line.data);
	neap_buf_done(&line);
	return status;
}

int neap_ctl_complainf(int status, const char *fmt, ...)
{
	struct neap_error err = {0};
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(err.msg, sizeof(err.msg), fmt, args);
	va_end(args);
	return neap_ctl_complain(status, &err);
}

int neap_ctl_fail(const struct neap_error *err)
{
	bool is_absent = err->code == NEAP_EUNAVAILABLE && err->errnum != 0;

	return neap_ctl_complain(is_absent ? NEAP_CTL_ABSENT : NEAP_CTL_FAILED, err);
}

int neap_ctl_print(const struct neap_buf *out)
{
	if (neap_buf_failed(out))
		return neap_ctl_complainf(NEAP_CTL_FAILED, "out of memory");
	if (fwrite(out->data, 1, out->len, stdout) != out->len || fflush(stdout) != 0)
		return neap_ctl_complainf(NEAP_CTL_FAILED,
					  "standard output: cannot write");
	return 0;
}

int neap_ctl_print_done(struct neap_buf *out)
{
	int r = neap_ctl_print(out);

	neap_buf_done(out);
	return r;
}

int neap_ctl_print_take(enum neap_output output, json_t *value)
{
	struct neap_buf out;
	char *text;

	neap_buf_init(&out, 4 * NEAP_BUF_REPLY);
	if (value == NULL) {
		out.failed = true;
	} else if (output == NEAP_OUTPUT_YAML) {
		neap_yaml_add(&out, value);
	} else {
		text = neap_json_dump(value, JSON_INDENT(2) | JSON_ENSURE_ASCII |
						     JSON_ENCODE_ANY |
						     JSON_REAL_PRECISION(15));
		neap_buf_adds(&out, text != NULL ? text : "");
		neap_buf_addc(&out, '\n');
		out.failed |= text == NULL;
		free(text);
	}
	json_decref(value);
	return neap_ctl_print_done(&out);
}

int neap_ctl_show_take(const struct neap_ctl *ctl, json_t *value,
		       void (*add)(const json_t *value, const void *arg,
				   struct neap_buf *out),
		       const void *arg)
{
	struct neap_buf out;

	if (ctl->output)
		return neap_ctl_print_take(ctl->output, value);
	neap_buf_init(&out, TEXT_MAX);
	add(value, arg, &out);
	json_decref(value);
	return neap_ctl_print_done(&out);
}

int neap_ctl_show(struct neap_ctl *ctl, const char *method, const char *path,
		  void (*add)(const json_t *reply, const void *arg, struct neap_buf *out),
		  const void *arg)
{
	struct neap_error err = {0};
	json_t *reply = NULL;

	if (neap_client_ask(ctl, method, path, &reply, &err) < 0)
		return neap_ctl_fail(&err);
	return neap_ctl_show_take(ctl, reply, add, arg);
}

void neap_ctl_add_table_take(struct neap_table *table, struct neap_buf *out)
{
	const struct neap_table_style style = {.columns = neap_ctl_columns(),
					       .use_color = neap_ctl_use_color()};

	if (table == NULL || !neap_table_format(table, &style, out))
		out->failed = true;
	neap_table_free(table);
}

const char *neap_ctl_name(void)
{
	return strchr(program_invocation_name, '/') &&
			       strcmp(program_invocation_short_name, "neapctl") == 0
		       ? program_invocation_name
		       : "neapctl";
}

bool neap_ctl_use_color(void)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && (no_color == NULL || !no_color[0]) &&
	       term != NULL && strcmp(term, "dumb") != 0;
}

int neap_ctl_columns(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return 0;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return 80;
	return size.ws_col;
}
