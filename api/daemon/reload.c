/* SPDX-License-Identifier: Apache-2.0
 *
 * SIGHUP: reads the command line and the file again. A running daemon takes over some of
 * the changed options. It names the others, so that operators do not expect them to
 * work. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "api/config/config_priv.h"
#include "api/daemon/role_policies.h"
#include "api/daemon/start.h"
#include "engine/base/mem.h"

/* Options that take effect at once. */
static const char *const live_options[] = {"policy",       "log-level", "log-format",
					   "open-metrics", "grant",     "token-file"};

static bool is_live(const struct neap_option *option)
{
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(live_options); i++)
		if (option->flag != NULL && strcmp(option->flag, live_options[i]) == 0)
			return true;
	return false;
}

static bool differs(const struct neap_config *a, const struct neap_config *b,
		    const struct neap_option *option)
{
	if (option->type == NEAP_OPTION_POLICY && a->policy_count != b->policy_count)
		return true;
	if (option->type == NEAP_OPTION_LABEL &&
	    a->node_label_count != b->node_label_count)
		return true;
	if (option->type == NEAP_OPTION_APPS && a->host_app_count != b->host_app_count)
		return true;
	return memcmp((const char *)a + option->offset, (const char *)b + option->offset,
		      option->size) != 0;
}

/* Names the options that need a restart. */
static void name_the_rest(const struct neap_config *now, const struct neap_config *wanted,
			  const struct neap_log *log)
{
	const struct neap_option *option;

	for (option = neap_config_options(); option->flag != NULL || option->key != NULL;
	     option++) {
		if (option->type == NEAP_OPTION_ACTION || is_live(option) ||
		    !differs(now, wanted, option))
			continue;
		neap_log_line(log, NEAP_LOG_WARN,
			      "reload: %s changed: it acts after a restart of neapd",
			      option->key != NULL ? option->key : option->flag);
	}
}

/* Logs why nothing changes. The loop may lack access to a file that root read at the
 * start. */
static void refuse(const struct neap_log *log, const struct neap_error *err)
{
	if (err->errnum == EACCES)
		neap_log_line(
			log, NEAP_LOG_ERROR,
			"reload: nothing is changed: %s: neapd runs as uid %u since "
			"its start: let that user read the file and the folders above "
			"it, or restart neapd",
			err->msg, (unsigned)geteuid());
	else
		neap_log_line(log, NEAP_LOG_ERROR, "reload: nothing is changed: %s%s%s",
			      err->field, err->field[0] != '\0' ? ": " : "", err->msg);
}

void neap_reload(struct neap_process *process, struct neap_live *live)
{
	struct neap_config *config = &process->config;
	const struct neap_log *log = &process->log;
	neap_auto_free struct neap_config *wanted = neap_alloc(sizeof(*wanted));
	enum neap_config_action action;
	struct neap_error err = {0};

	if (wanted == NULL) {
		(void)neap_error_nomem(&err);
		refuse(log, &err);
		return;
	}
	if (neap_config_parse(process->argc, process->argv, wanted, &action, &err) < 0) {
		refuse(log, &err);
		return;
	}
	/* The default file, which no option names. */
	if (config->config_file[0] != '\0' && wanted->config_file[0] == '\0') {
		(void)neap_error_set(&err, NEAP_ENOTFOUND,
				     "%s is gone or cannot be reached any more: to go on "
				     "without it, restart neapd",
				     config->config_file);
		refuse(log, &err);
		return;
	}
	name_the_rest(config, wanted, log);
	if (neap_role_policies_reload(live, wanted, &err) < 0) {
		refuse(log, &err);
		return;
	}
	memcpy(config->policies, wanted->policies, sizeof(config->policies));
	config->policy_count = wanted->policy_count;
	config->log_level = wanted->log_level;
	config->log_format = wanted->log_format;
	config->open_metrics = wanted->open_metrics;
	config->grants = wanted->grants;
	memcpy(config->token_file, wanted->token_file, sizeof(config->token_file));
	neap_log_override(wanted->log_level, wanted->log_format);
	neap_live_look(live);
	neap_log_line(log, NEAP_LOG_INFO, "reload: done");
}
