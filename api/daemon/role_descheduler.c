/* SPDX-License-Identifier: Apache-2.0
 *
 * The descheduler of a running neapd. Its file is checked every few seconds, because
 * users edit files and mounts of ConfigMaps change by themselves. */
#include "api/daemon/role_prometheus.h"
#include "api/daemon/roles.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/daemon/job_policies.h"
#include "api/deschedule/descheduler.h"
#include "api/deschedule/play/strategies.h"
#include "api/deschedule/routes.h"
#include "api/migrate/migrate.h"
#include "api/task/task.h"
#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"

#define LOOK_SEC 5

static bool has_role(const struct neap_role_descheduler *role)
{
	return (role->process->config.roles & NEAP_ROLE_DESCHEDULER) != 0;
}

/* --- the file --- */

static char *read_file(const struct neap_role_descheduler *role, struct neap_error *err)
{
	neap_auto_buf struct neap_buf text = {0};
	char *copy;

	neap_buf_init(&text, NEAP_BUF_FILE);
	if (neap_file_load(role->process->config.descheduler_config, &text, err) < 0)
		return NULL;
	copy = neap_strdup(text.data ? text.data : "");
	if (!copy)
		(void)neap_error_nomem(err);
	return copy;
}

/* Notes the result of reading role->text. Faults are logged once. */
static void note_text(struct neap_role_descheduler *role,
		      struct neap_deschedule_config *config,
		      const struct neap_deschedule_lines *lines,
		      const struct neap_error *err)
{
	bool is_known = !config && strcmp(role->trouble, err->msg) == 0;

	for (size_t i = 0; !is_known && i < lines->count; i++)
		neap_log_line(&role->process->log,
			      lines->is_fault[i] ? NEAP_LOG_ERROR : NEAP_LOG_WARN, "%s",
			      lines->line[i]);
	role->waits = !config && lines->faults && lines->faults == lines->of_policies;
	(void)snprintf(role->trouble, sizeof(role->trouble), "%s",
		       config ? "" : err->msg);
	if (!config)
		return;
	(void)neap_deschedule_config_unref(role->file);
	role->file = neap_deschedule_config_ref(config);
}

/* For the start, when nobody waits for the loop yet. */
static int parse(struct neap_role_descheduler *role, struct neap_error *err)
{
	struct neap_deschedule_config *config = NULL;
	struct neap_deschedule_lines lines = {0};
	int rc = neap_deschedule_config_parse(
		role->text, strlen(role->text), role->process->config.descheduler_config,
		neap_strategies_plugins(role->strategies), &config, &lines, err);

	note_text(role, config, &lines, err);
	if (!config && neap_deschedule_is_passing(err))
		role->waits = role->is_unread = true;
	(void)neap_deschedule_config_unref(config);
	neap_deschedule_lines_done(&lines);
	return rc;
}

static unsigned any_points(void *arg, const char *name)
{
	(void)arg;
	(void)name;
	return NEAP_AT(NEAP_AT_COUNT) - 1;
}

static const char *no_name(void *arg, size_t index)
{
	(void)arg;
	(void)index;
	return NULL;
}

static int any_args(void *arg, const char *name, const json_t *args,
		    void (*warn)(void *warn_arg, const char *field, const char *text),
		    void *warn_arg, struct neap_error *err)
{
	(void)arg, (void)name, (void)args, (void)warn, (void)warn_arg, (void)err;
	return 0;
}

/* Finds the Prometheus that the file names, before there are strategies: the process that
 * connects to it is forked at the start, as root. Faults of the file are told later. */
static void find_prometheus(struct neap_role_descheduler *role)
{
	static const struct neap_deschedule_plugins plugins = {
		.points = any_points, .name = no_name, .check = any_args};
	struct neap_deschedule_config *config = NULL;
	struct neap_deschedule_lines lines = {0};
	struct neap_error err;

	if (neap_deschedule_config_parse(role->text, strlen(role->text), "", &plugins,
					 &config, &lines, &err) == 0 &&
	    config->prometheus.url)
		role->prometheus_url = neap_strdup(config->prometheus.url);
	neap_deschedule_lines_done(&lines);
	(void)neap_deschedule_config_unref(config);
}

int neap_role_descheduler_load(struct neap_role_descheduler *role,
			       const struct neap_process *process, struct neap_error *err)
{
	role->process = process;
	if (!has_role(role) || process->config.descheduler_config[0] == '\0')
		return 0;
	role->text = read_file(role, err);
	if (!role->text)
		return neap_error_wrap(err, "--descheduler-config");
	find_prometheus(role);
	return 0;
}

static void use_file(struct neap_role_descheduler *role)
{
	if (role->descheduler && role->file)
		neap_descheduler_set_file(role->descheduler, role->file,
					  role->process->config.descheduler_config);
}

static void tell_trouble(struct neap_role_descheduler *role)
{
	if (role->descheduler && *role->trouble)
		neap_descheduler_set_file_trouble(
			role->descheduler, role->process->config.descheduler_config,
			role->trouble);
}

static void read_text(struct neap_role_descheduler *role);

static void was_read(void *arg, struct neap_deschedule_config *config,
		     const struct neap_deschedule_lines *lines,
		     const struct neap_error *err)
{
	struct neap_role_descheduler *role = arg;
	const struct neap_log *log = &role->process->log;
	char before[sizeof(role->trouble)];

	role->is_reading = false;
	if (role->is_unread) {
		read_text(role);
		return;
	}
	(void)snprintf(before, sizeof(before), "%s", role->trouble);
	note_text(role, config, lines, err);
	if (config) {
		use_file(role);
		neap_log_line(log, NEAP_LOG_INFO,
			      "reload: the descheduler goes by %s as it is now",
			      role->process->config.descheduler_config);
		return;
	}
	tell_trouble(role);
	role->is_unread = neap_deschedule_is_passing(err);
	if (strcmp(before, role->trouble) != 0)
		neap_log_line(log, NEAP_LOG_ERROR, "reload: the descheduler %s: %s",
			      role->file ? "goes on as before" : "waits", err->msg);
}

/* Goes by role->text, if it can be, as soon as there is a descheduler that reads it. */
static void read_text(struct neap_role_descheduler *role)
{
	struct neap_error err;

	role->is_unread = true;
	if (!role->descheduler || role->is_reading ||
	    neap_descheduler_read(role->descheduler, role->text,
				  role->process->config.descheduler_config, was_read,
				  role, &err) < 0)
		return; /* tried again when there is one, at its end, and every look */
	role->is_unread = false;
	role->is_reading = true;
}

/* is_asked: somebody wants to hear about it. */
static void look_at_file(struct neap_role_descheduler *role, bool is_asked)
{
	const struct neap_log *log = &role->process->log;
	struct neap_error err = {0};
	neap_auto_free char *text = NULL;

	if (!role->text)
		return;
	text = read_file(role, &err);
	if (!text) {
		if (is_asked)
			neap_log_line(log, NEAP_LOG_ERROR,
				      "reload: the descheduler goes on as before: %s%s",
				      err.msg,
				      err.errnum == EACCES ? " (neapd runs as its own "
							     "user since its start)"
							   : "");
		return;
	}
	if (strcmp(text, role->text) == 0) {
		if (role->is_unread)
			read_text(role);
		return;
	}
	free(role->text); /* a wrong text is told once */
	role->text = text;
	text = NULL;
	role->trouble[0] = '\0';
	read_text(role);
}

void neap_role_descheduler_reload(struct neap_role_descheduler *role)
{
	look_at_file(role, true);
}

static void look(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	look_at_file(arg, false);
}

/* --- life --- */

int neap_role_descheduler_open(struct neap_role_descheduler *role,
			       const struct neap_role_policies *policies,
			       struct neap_role_prometheus *prometheus,
			       struct neap_http *http, struct neap_error *err)
{
	static const struct timeval every = {.tv_sec = LOOK_SEC};
	const struct neap_process *process = role->process;
	char dir[512];

	if (!has_role(role))
		return 0;
	role->policies = policies;
	role->prometheus = prometheus;
	(void)snprintf(dir, sizeof(dir), "%s/policies", process->config.share_dir);
	if (neap_strategies_new(dir, policies->registry, &role->strategies, err) < 0)
		return -(int)err->code;
	/* Policies come and go by people who may not keep neapd from starting. */
	if (role->text && parse(role, err) < 0 && !role->waits)
		return neap_error_wrap(err, "--descheduler-config");
	if (role->waits)
		neap_log_line(&process->log, NEAP_LOG_ERROR,
			      "the descheduler waits for what --descheduler-config "
			      "names: %s",
			      role->trouble);
	role->look = event_new(process->base, -1, EV_PERSIST, look, role);
	if (role->look == NULL || (role->text && event_add(role->look, &every) < 0))
		return neap_error_nomem(err);
	return neap_deschedule_routes_new(http, &role->descheduler, &role->routes, err);
}

/* Whose pods a Reservation can be made for. */
static const char *const schedulers[] = {"neap-scheduler", "default-scheduler", NULL};

static void configured(void *arg, const struct neap_migrate_args *args)
{
	struct neap_role_descheduler *role = arg;
	struct neap_error err;

	if (neap_migrate_use(role->migrate, args, &err) < 0)
		neap_log_line(&role->process->log, NEAP_LOG_ERROR,
			      "migration goes on as before: %s", err.msg);
}

static void migrate(void *arg, const struct neap_deschedule_wish *wish,
		    void (*told)(void *told_arg, const char *trouble), void *told_arg)
{
	struct neap_role_descheduler *role = arg;
	const struct neap_migrate_wish what = {.ns = wish->ns,
					       .name = wish->name,
					       .uid = wish->uid,
					       .reason = wish->why,
					       .trigger = wish->strategy,
					       .profile = wish->profile,
					       .evictor = wish->evictor,
					       .landing = wish->landing};

	neap_migrate_ask(role->migrate, &what, told, told_arg);
}

static struct neap_limiter *limiter(void *arg)
{
	const struct neap_role_descheduler *role = arg;

	return neap_migrate_copy_limiter(role->migrate);
}

static enum neap_elsewhere fits_elsewhere(void *arg, const struct neap_migrate_args *args,
					  const char *ns, const char *name)
{
	const struct neap_role_descheduler *role = arg;

	return role->descheduler ? neap_descheduler_fits_elsewhere(role->descheduler,
								   args, ns, name)
				 : NEAP_ELSEWHERE_UNKNOWN;
}

static bool may_go(void *arg)
{
	const struct neap_role_descheduler *role = arg;

	return role->descheduler && neap_descheduler_is_settled(role->descheduler);
}

static void evicted(void *arg, bool is_done, const char *strategy, const char *ns,
		    const char *node)
{
	const struct neap_role_descheduler *role = arg;

	if (role->descheduler)
		neap_descheduler_count_evicted(role->descheduler, is_done, strategy, ns,
					       node);
}

static int migrate_start(struct neap_role_descheduler *role, struct neap_client *client,
			 struct neap_error *err)
{
	const struct neap_migrate_config config = {.tasks = role->tasks,
						   .client = client,
						   .log = &role->process->log,
						   .schedulers = schedulers,
						   .order = neap_job_policies_order,
						   .leave = neap_job_policies_leave,
						   .fits_elsewhere = fits_elsewhere,
						   .may_go = may_go,
						   .evicted = evicted,
						   .arg = role};

	return neap_migrate_new(&config, NULL, &role->migrate, err);
}

int neap_role_descheduler_start(struct neap_role_descheduler *role,
				struct neap_client *client, struct neap_error *err)
{
	const struct neap_config *options = &role->process->config;
	struct neap_descheduler_config config = {
		.base = role->process->base,
		.client = client,
		.strategies = role->strategies,
		.log = &role->process->log,
		.interval_usec = options->descheduler_interval_usec,
		.dry_run = options->descheduler_dry_run,
		.pause_file = role->pause_file,
		.per_node = options->descheduler_per_node ? options->descheduler_per_node
							  : -1,
		.per_namespace = options->descheduler_per_namespace
					 ? options->descheduler_per_namespace
					 : -1,
		.total = options->descheduler_total ? options->descheduler_total : -1,
		.schedulers = schedulers,
		.migrate = migrate,
		.configured = configured,
		.limiter = limiter,
		.migrate_arg = role,
		.query = neap_role_prometheus_query,
		.query_arg = role->prometheus,
	};

	if (!has_role(role))
		return 0;
	config.rounds_dir = role->policies->recorders.rounds_dir;
	(void)snprintf(role->pause_file, sizeof(role->pause_file),
		       "%s/descheduler-paused", options->data_dir);
	config.tasks = role->tasks = neap_tasks_new(role->process->base);
	if (role->tasks == NULL)
		return neap_error_nomem(err);
	if (migrate_start(role, client, err) < 0 ||
	    neap_descheduler_new(&config, &role->descheduler, err) < 0)
		return -(int)err->code;
	use_file(role);
	tell_trouble(role);
	if (role->is_unread)
		read_text(role);
	return 0;
}

void neap_role_descheduler_stop(struct neap_role_descheduler *role)
{
	neap_descheduler_free(role->descheduler);
	role->descheduler = NULL;
	role->is_unread |= role->is_reading;
	role->is_reading = false;
	neap_migrate_free(role->migrate);
	role->migrate = NULL;
	neap_tasks_free(role->tasks);
	role->tasks = NULL;
}

void neap_role_descheduler_policies_changed(struct neap_role_descheduler *role)
{
	if (role->waits || role->is_reading)
		read_text(role);
	if (role->descheduler)
		neap_descheduler_policies_changed(role->descheduler);
}

void neap_role_descheduler_add_metrics(const struct neap_role_descheduler *role,
				       struct neap_buf *out)
{
	if (role->descheduler)
		neap_descheduler_add_metrics(role->descheduler, out);
	if (role->migrate)
		neap_migrate_metrics(role->migrate, out);
}

void neap_role_descheduler_free(struct neap_role_descheduler *role)
{
	neap_role_descheduler_stop(role);
	neap_deschedule_routes_free(role->routes);
	if (role->look)
		event_free(role->look);
	(void)neap_deschedule_config_unref(role->file);
	neap_strategies_free(role->strategies);
	free(role->text);
	free(role->prometheus_url);
	*role = (struct neap_role_descheduler){0};
}
