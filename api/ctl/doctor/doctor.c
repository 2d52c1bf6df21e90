/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl doctor`: what neap can use on this machine, what is missing, what other agents
 * manage. */
#include "api/ctl/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/ctl/base/client.h"
#include "api/ctl/base/ctl.h"
#include "api/ctl/draw/text.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

#define LEFT 11 /* columns before the text */

static const struct {
	const char *name, *plural, *color;
} levels[] = {
	[NEAP_FINDING_OK] = {"ok", "ok", "\033[32m"},
	[NEAP_FINDING_NOTE] = {"note", "notes", "\033[36m"},
	[NEAP_FINDING_WARNING] = {"warning", "warnings", "\033[33m"},
	[NEAP_FINDING_PROBLEM] = {"problem", "problems", "\033[31m"},
};

/* A command in the text starts as neapctl was called. */
static void set_text(char *buf, size_t size, const char *text)
{
	static const char program[] = "'neapctl ";
	const char *at = strstr(text, program);

	if (at)
		(void)snprintf(buf, size, "%.*s'%s %s", (int)(at - text), text,
			       neap_ctl_name(), at + sizeof(program) - 1);
	else
		(void)neap_strcopy(buf, size, text);
}

void neap_finding_add(struct neap_findings *findings, enum neap_finding_level level,
		      const char *check, const char *todo, const char *fmt, ...)
{
	struct neap_finding *finding;
	char text[sizeof(finding->text)];
	va_list args;

	if (findings->count == NEAP_FINDINGS_MAX)
		return;
	finding = &findings->list[findings->count++];
	finding->level = level;
	(void)neap_strcopy(finding->check, sizeof(finding->check), check);
	set_text(finding->todo, sizeof(finding->todo), todo != NULL ? todo : "");
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	set_text(finding->text, sizeof(finding->text), text);
	neap_utf8_trim(finding->text);
}

int neap_findings_count(const struct neap_findings *findings,
			enum neap_finding_level level)
{
	int i, count = 0;

	for (i = 0; i < findings->count; i++)
		count += findings->list[i].level == level;
	return count;
}

static void line_add(struct neap_buf *out, const char *text, int columns)
{
	neap_auto_buf struct neap_buf clean = {0};

	neap_buf_init(&clean, NEAP_BUF_LINE);
	neap_text_add_clean(&clean, text, false);
	if (columns > LEFT + 20)
		neap_text_add_wrapped(out, clean.data, columns - LEFT, LEFT);
	else
		neap_buf_adds(out, clean.data);
	neap_buf_addc(out, '\n');
}

static void counts_add(const struct neap_findings *findings, struct neap_buf *out)
{
	int level;

	for (level = NEAP_FINDING_PROBLEM; level >= NEAP_FINDING_OK; level--) {
		int count = neap_findings_count(findings, (enum neap_finding_level)level);

		neap_buf_addf(out, "%s%d %s", level == NEAP_FINDING_PROBLEM ? "\n" : ", ",
			      count,
			      count == 1 ? levels[level].name : levels[level].plural);
	}
	neap_buf_addc(out, '\n');
}

void neap_findings_format(const struct neap_findings *findings, int columns,
			  bool use_color, struct neap_buf *out)
{
	size_t area_len = 0;
	const char *area = "";

	for (int i = 0; i < findings->count; i++) {
		const struct neap_finding *finding = &findings->list[i];
		const size_t len = strcspn(finding->check, ".");

		if (len != area_len || strncmp(area, finding->check, len) != 0)
			neap_buf_addf(out, "%s%s%.*s%s\n", i > 0 ? "\n" : "",
				      use_color ? "\033[1m" : "", (int)len,
				      finding->check, use_color ? "\033[0m" : "");
		area = finding->check;
		area_len = len;
		neap_buf_addf(out, "  %s%-7s%s  ",
			      use_color ? levels[finding->level].color : "",
			      levels[finding->level].name, use_color ? "\033[0m" : "");
		line_add(out, finding->text, columns);
		if (finding->todo[0] == '\0')
			continue;
		neap_buf_addf(out, "%*s", LEFT, "");
		neap_buf_adds(out, "-> ");
		line_add(out, finding->todo, columns > 0 ? columns - 3 : 0);
	}
	counts_add(findings, out);
}

json_t *neap_findings_json(const struct neap_findings *findings)
{
	json_t *out = json_object(), *checks = json_array();
	int i, level;

	for (i = 0; i < findings->count; i++) {
		const struct neap_finding *finding = &findings->list[i];
		json_t *row = json_object();

		neap_json_set_text(row, "check", finding->check);
		neap_json_set_text(row, "level", levels[finding->level].name);
		neap_json_set_text(row, "text", finding->text);
		neap_json_set_text(row, "todo",
				   finding->todo[0] != '\0' ? finding->todo : NULL);
		(void)json_array_append_new(checks, row);
	}
	(void)json_object_set_new(out, "checks", checks);
	for (level = NEAP_FINDING_OK; level <= NEAP_FINDING_PROBLEM; level++)
		(void)json_object_set_new(
			out, levels[level].plural,
			json_integer(neap_findings_count(
				findings, (enum neap_finding_level)level)));
	return out;
}

/* --- the command --- */

struct doctor_values {
	const char *config, *run_dir, *data_dir, *user, *group, *best_effort_group,
		*kubepods, *listen, *cgroup_root, *sys_root, *store;
};

#define ROW(name, member, value, help)                                                   \
	{                                                                                \
		name, 0, NEAP_OPTION_TEXT, offsetof(struct doctor_values, member),       \
			value, help                                                      \
	}

static const struct neap_option options[] = {
	ROW("config", config, "FILE", "neapd's settings [/etc/neap/neap.yaml]"),
	ROW("run-dir", run_dir, "DIR",
	    "neapd's run directory; this and the next replace the settings"),
	ROW("data-dir", data_dir, "DIR", "neapd's data directory"),
	ROW("user", user, "NAME", "user of the loop"),
	ROW("group", group, "NAME", "neap's own group"),
	ROW("best-effort-group", best_effort_group, "NAME",
	    "neap's own group of best-effort work"),
	ROW("kubepods", kubepods, "GROUP", "the kubelet's group, or auto, or off"),
	ROW("listen", listen, "ADDR:PORT", "the address of its API, or off"),
	ROW("cgroup-root", cgroup_root, "DIR",
	    "cgroup hierarchies below DIR instead of the mounted ones"),
	ROW("sys-root", sys_root, "DIR",
	    "tree of another machine, with proc, sys, run and var"),
	ROW("store", store, "FILE",
	    "check this file only: a neap.db that no neapd has open, or a backup"),
	{""},
};

void neap_doctor_gather(struct neap_doctor *doctor)
{
	const char *root = doctor->config->cgroup_root;
	char below[sizeof(doctor->root) + 32];

	neap_facts_gather(doctor->root, &doctor->facts);
	neap_kubelet_look(doctor->root, &doctor->facts.agents, &doctor->kubelet);
	if (root[0] == '\0' && doctor->root[0] != '\0') {
		(void)snprintf(below, sizeof(below), "%s/sys/fs/cgroup", doctor->root);
		root = below;
	}
	doctor->has_cgroup = neap_cgroup_probe(root[0] != '\0' ? root : NULL,
					       &doctor->cgroup, &doctor->cgroup_err) == 0;
	if (doctor->has_cgroup)
		neap_cgroup_probe_keys(&doctor->cgroup, doctor->config->group);
}

void neap_doctor_done(struct neap_doctor *doctor)
{
	if (doctor->has_cgroup)
		neap_cgroup_done(&doctor->cgroup);
	doctor->has_cgroup = false;
}

void neap_doctor_judge(const struct neap_doctor *doctor, struct neap_findings *findings)
{
	neap_doctor_kernel(doctor, findings);
	neap_doctor_cpu(doctor, findings);
	neap_doctor_cgroup(doctor, findings);
	neap_doctor_others(doctor, findings);
	neap_doctor_kubelet(doctor, findings);
	neap_doctor_own(doctor, findings);
	neap_doctor_store(doctor, findings);
	neap_doctor_daemon(doctor, findings);
}

/* Reads options as neapd would. A wrong settings file is a finding; a wrong option is an
 * error. */
static int config_read(const struct doctor_values *values, struct neap_config *ret,
		       struct neap_findings *findings, struct neap_error *err)
{
	const struct {
		const char *name, *value;
	} given[] = {
		{"--run-dir", values->run_dir},
		{"--data-dir", values->data_dir},
		{"--user", values->user},
		{"--group", values->group},
		{"--best-effort-group", values->best_effort_group},
		{"--kubepods", values->kubepods},
		{"--cgroup-root", values->cgroup_root},
		{"--sys-root", values->sys_root},
		{"--listen", values->listen},
		{"--config", values->config},
	};
	char *argv[2 * NEAP_ARRAY_LEN(given) + 3] = {(char *)"neapd"};
	enum neap_config_action action;
	int argc = 1;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(given); i++) {
		if (given[i].value == NULL)
			continue;
		argv[argc++] = (char *)given[i].name;
		argv[argc++] = (char *)given[i].value;
	}
	if (neap_config_parse(argc, argv, ret, &action, err) == 0) {
		neap_finding_add(findings, NEAP_FINDING_OK, "settings.file", NULL,
				 ret->config_file[0] != '\0'
					 ? "the settings in %s are valid"
					 : "no settings file%s: the defaults apply",
				 ret->config_file);
		return 0;
	}
	neap_finding_add(
		findings, NEAP_FINDING_PROBLEM, "settings.file",
		"correct it: neapd will not start; the rest of this list assumes the defaults",
		"the settings are wrong: %s%s%s", err->field,
		err->field[0] != '\0' ? ": " : "", err->msg);
	argv[argc++] = (char *)"--config";
	argv[argc++] = (char *)"/dev/null";
	return neap_config_parse(argc, argv, ret, &action, err);
}

static json_t *daemon_ask(struct neap_ctl *ctl, const struct neap_config *config,
			  bool is_elsewhere, struct neap_doctor_daemon *ret)
{
	json_t *status = NULL;

	/* Settings that name a socket mean that neapd. */
	if (!ctl->is_socket_given && ctl->server == NULL && is_elsewhere) {
		ctl->socket = config->unix_socket;
		ctl->is_socket_given = true;
	}
	if (neap_client_ask(ctl, "GET", "/control/v1/status", &status, &ret->err) < 0)
		ret->is_there = ret->err.errnum == 0;
	ret->status = status;
	return status;
}

static int print(const struct neap_findings *findings)
{
	struct neap_buf out;

	neap_buf_init(&out, NEAP_BUF_FILE);
	neap_findings_format(findings, neap_ctl_columns(), neap_ctl_use_color(), &out);
	return neap_ctl_print_done(&out);
}

static int tell(const struct neap_findings *findings, enum neap_output output)
{
	int r = output ? neap_ctl_print_take(output, neap_findings_json(findings))
		       : print(findings);

	if (r == 0 && neap_findings_count(findings, NEAP_FINDING_PROBLEM) > 0)
		return NEAP_CTL_FAILED;
	return r;
}

static int run(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct doctor_values *values = arg;
	neap_auto_free struct neap_findings *findings = neap_alloc(sizeof(*findings));
	neap_auto_free struct neap_doctor *doctor = neap_alloc(sizeof(*doctor));
	neap_auto_free struct neap_config *config = neap_alloc(sizeof(*config));
	struct neap_error err = {0};
	json_t *status = NULL;

	(void)argc, (void)argv;
	if (findings == NULL || doctor == NULL || config == NULL)
		return neap_ctl_complainf(NEAP_CTL_FAILED, "out of memory");
	if (values->store != NULL) {
		neap_doctor_file(values->store, findings);
		return tell(findings, ctl->output);
	}
	if (config_read(values, config, findings, &err) < 0)
		return neap_ctl_complain(NEAP_CTL_USAGE, &err);
	doctor->config = config;
	(void)neap_strcopy(doctor->root, sizeof(doctor->root), config->sys_root);
	if (doctor->root[0] == '\0')
		status = daemon_ask(ctl, config,
				    values->run_dir != NULL || values->config != NULL,
				    &doctor->daemon);
	neap_doctor_gather(doctor);
	neap_doctor_judge(doctor, findings);
	neap_doctor_done(doctor);
	json_decref(status);
	return tell(findings, ctl->output);
}

const struct neap_command neap_command_doctor = {
	.name = "doctor",
	.usage = "[--config FILE] [--store FILE] [-o json|yaml]",
	.example = "doctor --config /etc/neap/neap.yaml",
	.summary =
		"what neap can use on this machine, what is missing, what others manage",
	.text = "Works without a daemon and without root, and says what it could not see. Status 1: there\n"
		"is a problem. Notes and warnings leave the status 0.\n",
	.options = options,
	.output = NEAP_OUTPUT_OF_ALL,
	.values_size = sizeof(struct doctor_values),
	.run = run,
};
