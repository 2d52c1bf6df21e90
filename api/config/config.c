/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line. */
#include "api/config/config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/config/config_priv.h"
#include "api/http/server.h"
#include "engine/base/mem.h"
#include "engine/machine/cpuset.h"

/* --- command line --- */

static int unknown_option(const char *arg, struct neap_error *err)
{
	const struct neap_option *options = neap_config_options();
	const char *names[NEAP_CONFIG_OPTIONS_MAX];
	char name[64];
	const char *nearest;
	size_t count = 0, i;

	for (i = 0; options[i].flag || options[i].key; i++)
		if (options[i].flag)
			names[count++] = options[i].flag;
	neap_strcopy(name, sizeof(name), arg + strspn(arg, "-"));
	name[strcspn(name, "=")] = '\0';
	nearest = neap_config_nearest(name, names, count);
	if (arg[0] != '-')
		return neap_error_set(err, NEAP_EINVAL,
				      "'%s': neapd takes options only (see --help)", arg);
	if (nearest)
		return neap_error_set(
			err, NEAP_EINVAL,
			"unknown option '%s': did you mean --%s? (see --help)", arg,
			nearest);
	return neap_error_set(err, NEAP_EINVAL, "unknown option '%s' (see --help)", arg);
}

static const struct neap_option *find_flag(const char *arg, const char **ret_value)
{
	const struct neap_option *options = neap_config_options();
	size_t len = strcspn(arg, "="), i;

	if (strcmp(arg, "-h") == 0)
		arg = "--help", len = 6;
	if (strncmp(arg, "--", 2) != 0)
		return NULL;
	for (i = 0; options[i].flag || options[i].key; i++)
		if (options[i].flag && strlen(options[i].flag) == len - 2 &&
		    strncmp(options[i].flag, arg + 2, len - 2) == 0) {
			*ret_value = arg[len] == '=' ? arg + len + 1 : NULL;
			return &options[i];
		}
	return NULL;
}

static int read_flags(int argc, char **argv, struct neap_config *config,
		      enum neap_config_action *action, struct neap_error *err)
{
	bool has_policy = false, has_label = false, has_grant = false;
	int i;

	for (i = 1; i < argc; i++) {
		const char *value = NULL;
		const struct neap_option *option = find_flag(argv[i], &value);
		int r;

		if (!option)
			return unknown_option(argv[i], err);
		if (option->type == NEAP_OPTION_ACTION) {
			*action = (enum neap_config_action)option->min;
			return 0;
		}
		if (!value && option->type == NEAP_OPTION_BOOL)
			value = "true";
		if (!value && i + 1 < argc)
			value = argv[++i];
		if (!value)
			return neap_error_set(err, NEAP_EINVAL, "--%s needs a value: %s",
					      option->flag, option->metavar);
		if (option->type == NEAP_OPTION_POLICY && !has_policy) {
			config->policy_count = 0; /* flags replace those of the file */
			has_policy = true;
		}
		if (option->type == NEAP_OPTION_LABEL && !has_label) {
			config->node_label_count = 0;
			has_label = true;
		}
		if (option->type == NEAP_OPTION_GRANT && !has_grant) {
			memset(&config->grants, 0, sizeof(config->grants));
			has_grant = true;
		}
		r = neap_config_set(config, option, value, err);
		if (r < 0)
			return neap_error_wrap(err, "--%s", option->flag);
		neap_config_note_given(config, option);
	}
	return 0;
}

void neap_config_note_given(struct neap_config *config, const struct neap_option *option)
{
	config->is_given[option - neap_config_options()] = true;
}

/* Whether that option is in effect, which others go with. */
static bool is_on(const struct neap_config *config, const char *flag)
{
	const struct neap_option *option = neap_config_options();
	const void *value;

	while (strcmp(option->flag ? option->flag : "", flag) != 0)
		option++;
	value = (const char *)config + option->offset;
	if (option->offset == offsetof(struct neap_config, listen))
		return neap_config_has_tcp(config) ||
		       strcmp(config->tls_listen, "off") != 0 ||
		       strcmp(config->extender_listen, "off") != 0;
	if (option->type == NEAP_OPTION_BOOL)
		return *(const bool *)value;
	return *(const char *)value && strcmp(value, "off") != 0;
}

bool neap_config_idle_get(const struct neap_config *config, size_t *index,
			  struct neap_config_idle *ret)
{
	const struct neap_option *options = neap_config_options();

	for (; options[*index].flag || options[*index].key; ++*index) {
		const struct neap_option *option = &options[*index];
		bool is_others = option->roles && !(option->roles & config->roles);
		bool is_alone = option->with && !is_on(config, option->with);

		if (!config->is_given[*index] || (!is_others && !is_alone))
			continue;
		ret->dashes = option->flag ? "--" : "";
		ret->name = option->flag ? option->flag : option->key;
		ret->with = is_others ? NULL : option->with;
		neap_config_list_roles(option->roles, ret->roles, sizeof(ret->roles));
		++*index;
		return true;
	}
	return false;
}

static int set_defaults(struct neap_config *config, struct neap_error *err)
{
	const struct neap_option *options = neap_config_options();
	size_t i;

	memset(config, 0, sizeof(*config));
	for (i = 0; options[i].flag || options[i].key; i++) {
		const char *text = options[i].fallback;

		if (text && *text && neap_config_set(config, &options[i], text, err) < 0)
			return neap_error_wrap(err, "default of --%s", options[i].flag);
	}
	return 0;
}

int neap_config_parse(int argc, char **argv, struct neap_config *ret,
		      enum neap_config_action *ret_action, struct neap_error *err)
{
	neap_auto_free struct neap_config *config = neap_alloc(sizeof(*config));
	enum neap_config_action action = NEAP_CONFIG_RUN;
	char file[sizeof(config->config_file)];
	int r;

	if (!config)
		return neap_error_nomem(err);
	/* Flags are read twice: first for the name of the file, then again to beat it. */
	r = set_defaults(config, err);
	if (r == 0)
		r = read_flags(argc, argv, config, &action, err);
	if (r < 0)
		return r;
	if (action != NEAP_CONFIG_RUN) {
		*ret_action = action;
		return 0;
	}
	neap_strcopy(file, sizeof(file), config->config_file);
	if (!*file && access(FILE_FALLBACK, F_OK) == 0)
		neap_strcopy(file, sizeof(file), FILE_FALLBACK);
	if (*file) {
		r = set_defaults(config, err);
		if (r == 0)
			r = neap_config_read_file(config, file, err);
		if (r == 0)
			r = read_flags(argc, argv, config, &action, err);
		neap_strcopy(config->config_file, sizeof(config->config_file), file);
	}
	if (r == 0)
		r = neap_config_finish(config, err);
	if (r < 0)
		return r;
	memcpy(ret, config, sizeof(*ret));
	*ret_action = action;
	return 0;
}

bool neap_config_flag_get(size_t index, struct neap_config_flag *ret)
{
	const struct neap_option *option = neap_config_options();

	for (; option->flag || option->key; option++) {
		if (!option->flag || index-- > 0)
			continue;
		*ret = (struct neap_config_flag){option->flag, option->metavar,
						 option->doc, option->choices};
		return true;
	}
	return false;
}

char *neap_config_help(void)
{
	const struct neap_option *options = neap_config_options();
	neap_auto_buf struct neap_buf out = {0};
	size_t i;

	neap_buf_init(&out, NEAP_BUF_LINE);
	neap_buf_adds(
		&out,
		"Usage: neapd [OPTION...]\n\n"
		"Schedules pods, and protects latency-critical services from batch jobs, "
		"by Lua policies.\nEvery option except --config, --give-back, "
		"--give-back-later, --new-store, --help and "
		"--version is also a key\nof the configuration file.\n\n");
	for (i = 0; options[i].flag || options[i].key; i++) {
		const struct neap_option *o = &options[i];
		char choices[128] = "";

		if (!o->flag)
			continue;
		if (o->choices)
			neap_config_list_choices(o->choices, choices, sizeof(choices));
		neap_buf_addf(&out, "  --%s%s%s\n        %s%s%s", o->flag,
			      o->metavar ? " " : "", o->metavar ? o->metavar : "", o->doc,
			      *choices ? ": " : "", choices);
		if (o->fallback && *o->fallback && o->type != NEAP_OPTION_BOOL)
			neap_buf_addf(&out, " [%s]", o->fallback);
		neap_config_list_roles(o->roles, choices, sizeof(choices));
		if (*choices)
			neap_buf_addf(&out, " (role %s)", choices);
		neap_buf_addc(&out, '\n');
	}
	neap_buf_adds(
		&out,
		"\nOnly in the file: policies (a list of names, or of {policy, "
		"params}),\nnode-labels (a mapping), grants (a list of ROLE=WHO) and\n"
		"hostApplications (a list of {name, qos,\ncgroupPath: {base, "
		"parentDir, relativePath}}).\n");
	return neap_buf_take(&out);
}
