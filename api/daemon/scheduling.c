/* SPDX-License-Identifier: Apache-2.0
 *
 * --scheduler-config: read while neapd may read everything, and again at SIGHUP; and the policies that the scheduler
 * asks. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "api/config/text_file.h"
#include "api/daemon/controllers.h"
#include "api/daemon/whole.h"
#include "api/kube/serve/events.h"
#include "api/schedule/config.h"
#include "api/schedule/policies.h"
#include "api/schedule/policies_reserve.h"
#include "api/schedule/schedule.h"

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

/* --- policies --- */

static void tell_pod(void *arg, const struct neap_pod *pod, const char *label,
		     const char *why)
{
	struct neap_daemon *daemon = arg;
	const struct neap_kube_note note = {.api_version = "v1",
					    .kind = "Pod",
					    .ns = pod->object->ns,
					    .name = pod->object->name,
					    .uid = pod->object->uid,
					    .is_warning = true,
					    .reason = "ReservationPolicyFailed",
					    .component = pod->scheduler};

	if (daemon->api != NULL)
		neap_kube_note(
			neap_daemon_api_kube(daemon->api), &note,
			"Policy %s failed, and the owners of reservations decide: %s",
			label, why);
}

int neap_daemon_scheduling_policies(struct neap_daemon *daemon,
				    void (*failed)(void *arg, const char *kind,
						   const char *name, const char *why),
				    struct neap_daemon_api_config *ret,
				    struct neap_error *err)
{
	const struct neap_schedule_policies_config placing = {.registry =
								      daemon->registry,
							      .purse = &daemon->purse,
							      .log = &daemon->log,
							      .failed = failed,
							      .arg = daemon};
	const struct neap_policies_reserve_config matching = {.registry =
								      daemon->registry,
							      .purse = &daemon->purse,
							      .log = &daemon->log,
							      .out_of_service = failed,
							      .failed = tell_pod,
							      .arg = daemon};

	daemon->placing = neap_schedule_policies_new(&placing);
	daemon->matching = neap_policies_reserve_new(&matching);
	if (daemon->placing == NULL || daemon->matching == NULL)
		return neap_error_nomem(err);
	ret->more = neap_schedule_policies_more(daemon->placing);
	ret->matcher = neap_policies_reserve_matcher(daemon->matching);
	ret->purse = &daemon->purse;
	return 0;
}

void neap_daemon_scheduling_free(struct neap_daemon *daemon)
{
	neap_schedule_policies_free(daemon->placing);
	neap_policies_reserve_free(daemon->matching);
	daemon->scheduling = neap_schedule_config_unref(daemon->scheduling);
}
