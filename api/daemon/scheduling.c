/* SPDX-License-Identifier: Apache-2.0
 *
 * --scheduler-config: read while neapd may read everything, and again at SIGHUP. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "api/daemon/controllers.h"
#include "api/daemon/whole.h"
#include "api/schedule/config.h"
#include "api/schedule/schedule.h"
#include "api/text_file.h"

static int check(const struct neap_config *config,
		 const struct neap_schedule_config *scheduling, struct neap_error *err)
{
	for (size_t i = 0; i < scheduling->profile_count; i++)
		if (!config->schedule_default && scheduling->profiles[i].name &&
		    strcmp(scheduling->profiles[i].name, "default-scheduler") == 0)
			return neap_error_set(
				err, NEAP_EINVAL,
				"%s: a profile is default-scheduler's, whose pods "
				"--schedule-default=false leaves to somebody else",
				config->scheduler_config);
	return 0;
}

static int load(const struct neap_daemon *daemon, struct neap_schedule_config **ret,
		struct neap_error *err)
{
	const struct neap_config *config = &daemon->config;
	const char *file = config->scheduler_config;
	neap_auto_buf struct neap_buf text = {0};

	*ret = NULL;
	neap_buf_init(&text, NEAP_BUF_FILE);
	if (neap_text_file_read(file, &text, err) < 0 ||
	    neap_schedule_config_parse(text.data ? text.data : "", text.len, file, ret,
				       err) < 0 ||
	    check(config, *ret, err) < 0) {
		*ret = neap_schedule_config_unref(*ret);
		return neap_error_wrap(err, "--scheduler-config");
	}
	return 0;
}

int neap_daemon_scheduling_load(struct neap_daemon *daemon, struct neap_error *err)
{
	return daemon->config.scheduler_config[0] != '\0'
		       ? load(daemon, &daemon->scheduling, err)
		       : 0;
}

void neap_daemon_scheduling_tell(const struct neap_daemon *daemon)
{
	const struct neap_schedule_config *scheduling = daemon->scheduling;

	for (size_t i = 0; scheduling && i < scheduling->note_count; i++)
		neap_log_line(&daemon->log, NEAP_LOG_INFO, "%s", scheduling->notes[i]);
}

void neap_daemon_scheduling_look(struct neap_daemon *daemon)
{
	struct neap_scheduler *scheduler =
		neap_daemon_controllers_scheduler(daemon->controllers);
	struct neap_schedule_config *wanted = NULL;
	struct neap_error err = {0};

	if (!scheduler || !daemon->scheduling)
		return;
	if (load(daemon, &wanted, &err) < 0) {
		neap_log_line(&daemon->log, NEAP_LOG_ERROR,
			      "reload: the scheduler goes on as before: %s%s", err.msg,
			      err.errnum == EACCES ? " (neapd runs as its own user since "
						     "its start)"
						   : "");
		return;
	}
	if (strcmp(wanted->text, daemon->scheduling->text) != 0) {
		(void)neap_schedule_config_unref(daemon->scheduling);
		daemon->scheduling = neap_schedule_config_ref(wanted);
		neap_daemon_scheduling_tell(daemon);
		neap_scheduler_configure(scheduler, wanted);
		neap_log_line(&daemon->log, NEAP_LOG_INFO,
			      "reload: the scheduler goes by %s as it is now",
			      daemon->config.scheduler_config);
	}
	(void)neap_schedule_config_unref(wanted);
}

void neap_daemon_scheduling_free(struct neap_daemon *daemon)
{
	daemon->scheduling = neap_schedule_config_unref(daemon->scheduling);
}
