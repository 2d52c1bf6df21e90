/* SPDX-License-Identifier: Apache-2.0 */
#include "api/daemon/roles.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "api/client/events.h"
#include "api/daemon/api.h"
#include "api/schedule/config.h"
#include "api/schedule/policies.h"
#include "api/schedule/policies_reserve.h"
#include "api/schedule/schedule.h"
#include "engine/base/file.h"

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

static int load(const struct neap_config *config, struct neap_schedule_config **ret,
		struct neap_error *err)
{
	const char *file = config->scheduler_config;
	neap_auto_buf struct neap_buf text = {0};

	*ret = NULL;
	neap_buf_init(&text, NEAP_BUF_FILE);
	if (neap_file_load(file, &text, err) < 0 ||
	    neap_schedule_config_parse(text.data ? text.data : "", text.len, file, ret,
				       err) < 0 ||
	    check(config, *ret, err) < 0) {
		*ret = neap_schedule_config_unref(*ret);
		return neap_error_wrap(err, "--scheduler-config");
	}
	return 0;
}

int neap_role_scheduler_load(struct neap_role_scheduler *role,
			     const struct neap_process *process, struct neap_error *err)
{
	role->process = process;
	return process->config.scheduler_config[0] != '\0'
		       ? load(&process->config, &role->settings, err)
		       : 0;
}

void neap_role_scheduler_tell(const struct neap_role_scheduler *role)
{
	const struct neap_schedule_config *settings = role->settings;

	for (size_t i = 0; settings && i < settings->note_count; i++)
		neap_log_line(&role->process->log, NEAP_LOG_INFO, "%s",
			      settings->notes[i]);
}

void neap_role_scheduler_reload(struct neap_role_scheduler *role,
				struct neap_scheduler *scheduler)
{
	const struct neap_log *log = &role->process->log;
	struct neap_schedule_config *wanted = NULL;
	struct neap_error err = {0};

	if (!scheduler || !role->settings)
		return;
	if (load(&role->process->config, &wanted, &err) < 0) {
		neap_log_line(log, NEAP_LOG_ERROR,
			      "reload: the scheduler goes on as before: %s%s", err.msg,
			      err.errnum == EACCES ? " (neapd runs as its own user since "
						     "its start)"
						   : "");
		return;
	}
	if (strcmp(wanted->text, role->settings->text) != 0) {
		(void)neap_schedule_config_unref(role->settings);
		role->settings = neap_schedule_config_ref(wanted);
		neap_role_scheduler_tell(role);
		neap_scheduler_configure(scheduler, wanted);
		neap_log_line(log, NEAP_LOG_INFO,
			      "reload: the scheduler goes by %s as it is now",
			      role->process->config.scheduler_config);
	}
	(void)neap_schedule_config_unref(wanted);
}

/* --- policies --- */

static void tell_pod(void *arg, const struct neap_pod *pod, const char *label,
		     const char *why)
{
	const struct neap_role_scheduler *role = arg;
	const struct neap_client_note note = {.api_version = "v1",
					      .kind = "Pod",
					      .ns = pod->object->ns,
					      .name = pod->object->name,
					      .uid = pod->object->uid,
					      .is_warning = true,
					      .reason = "ReservationPolicyFailed",
					      .component = pod->scheduler};

	if (role->client != NULL)
		neap_client_note(
			role->client, &note,
			"Policy %s failed, and the owners of reservations decide: %s",
			label, why);
}

static void out_of_service(void *arg, const char *kind, const char *name, const char *why)
{
	const struct neap_role_scheduler *role = arg;

	neap_live_failed(role->policies->live, kind, name, why);
}

int neap_role_scheduler_open(struct neap_role_scheduler *role,
			     const struct neap_role_policies *policies,
			     struct neap_daemon_api_config *ret, struct neap_error *err)
{
	const struct neap_schedule_policies_config placing = {
		.registry = policies->registry,
		.decisions = policies->recorders.decisions,
		.purse = &role->purse,
		.log = &role->process->log,
		.failed = out_of_service,
		.arg = role};
	const struct neap_policies_reserve_config matching = {
		.registry = policies->registry,
		.decisions = policies->recorders.decisions,
		.purse = &role->purse,
		.log = &role->process->log,
		.out_of_service = out_of_service,
		.failed = tell_pod,
		.arg = role};

	role->policies = policies;
	role->placing = neap_schedule_policies_new(&placing);
	role->matching = neap_policies_reserve_new(&matching);
	if (role->placing == NULL || role->matching == NULL)
		return neap_error_nomem(err);
	ret->scheduling = role->settings;
	ret->more = neap_schedule_policies_more(role->placing);
	ret->matcher = neap_policies_reserve_matcher(role->matching);
	ret->purse = &role->purse;
	return 0;
}

void neap_role_scheduler_free(struct neap_role_scheduler *role)
{
	neap_schedule_policies_free(role->placing);
	neap_policies_reserve_free(role->matching);
	role->settings = neap_schedule_config_unref(role->settings);
}
