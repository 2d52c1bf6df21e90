/* SPDX-License-Identifier: Apache-2.0
 *
 * What a step writes: conditions, ends, events, a patch of the job. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "engine/migrate/job_priv.h"

void job_set_text(struct job_pass *pass, json_t *object, const char *name,
		  const char *text)
{
	if (*text ? json_object_set_new(object, name, json_string(text)) < 0
		  : json_object_get(object, name) != NULL &&
			    json_object_del(object, name) < 0)
		pass->has_failed = true;
}

static struct neap_migrate_event *event_new(struct job_pass *pass)
{
	struct neap_migrate_step *step = pass->step;

	return &step->events[step->event_count < NEAP_MIGRATE_EVENTS
				     ? step->event_count++
				     : NEAP_MIGRATE_EVENTS - 1];
}

void job_tell(struct job_pass *pass, bool is_warning, const char *reason, const char *fmt,
	      ...)
{
	struct neap_migrate_event *event = event_new(pass);
	va_list args;

	event->is_warning = is_warning;
	event->reason = reason;
	va_start(args, fmt);
	(void)vsnprintf(event->message, sizeof(event->message), fmt, args);
	va_end(args);
	neap_utf8_trim(event->message);
}

static const char *condition_status(const struct job_pass *pass, const char *type)
{
	return neap_json_text(neap_json_condition(pass->status, type), "status");
}

bool job_is_true(const struct job_pass *pass, const char *type)
{
	return strcmp(condition_status(pass, type), "True") == 0;
}

bool job_set_condition(struct job_pass *pass, const char *type, bool value,
		       const char *reason, const char *message)
{
	json_t *one = neap_json_condition(pass->status, type), *list;
	const char *word = value ? "True" : "False";
	char now[32];
	bool moves = !neap_json_is_text(one, "status", word);

	if (one && !moves && strcmp(neap_json_text(one, "reason"), reason) == 0 &&
	    strcmp(neap_json_text(one, "message"), message) == 0)
		return false;
	list = neap_json_need_take(pass->status, "conditions", json_array());
	if (!one) {
		one = json_object();
		if (!list || json_array_append_new(list, one) < 0) {
			pass->has_failed = true;
			return false;
		}
		job_set_text(pass, one, "type", type);
	}
	(void)neap_time_format(pass->view->now_usec, 0, now, sizeof(now));
	job_set_text(pass, one, "status", word);
	job_set_text(pass, one, "reason", reason);
	job_set_text(pass, one, "message", message);
	job_set_text(pass, one, "lastProbeTime", now);
	if (moves)
		job_set_text(pass, one, "lastTransitionTime", now);
	job_set_text(pass, pass->status, "status", type);
	job_set_text(pass, pass->status, "reason", reason);
	job_set_text(pass, pass->status, "message", message);
	return true;
}

void job_fail(struct job_pass *pass, const char *reason, const char *message)
{
	job_set_text(pass, pass->status, "phase", "Failed");
	job_set_text(pass, pass->status, "reason", reason);
	job_set_text(pass, pass->status, "message", message);
	pass->step->drops = neap_migrate_made(pass->view->job, pass->view->reservation) &&
			    !neap_migrate_keeps_room(pass->view);
	pass->step->takes_back = true;
	pass->step->again_usec = 0;
}

void job_fail_and_tell(struct job_pass *pass, const char *reason, const char *fmt, ...)
{
	struct neap_migrate_event *event = event_new(pass);
	va_list args;

	event->is_warning = true;
	event->reason = reason;
	va_start(args, fmt);
	(void)vsnprintf(event->message, sizeof(event->message), fmt, args);
	va_end(args);
	neap_utf8_trim(event->message);
	job_fail(pass, reason, event->message);
}

void job_succeed(struct job_pass *pass, const char *message)
{
	job_set_text(pass, pass->status, "phase", "Succeeded");
	job_set_text(pass, pass->status, "status", "Complete");
	job_set_text(pass, pass->status, "reason", "");
	job_set_text(pass, pass->status, "message", message);
}

void job_wait(struct job_pass *pass)
{
	pass->step->again_usec = NEAP_MIGRATE_AGAIN_USEC;
}

void job_patch_new(struct job_pass *pass, const char *a, const char *b, const char *name,
		   json_t *value)
{
	json_t *at = pass->step->patch;

	if (!at)
		at = pass->step->patch = json_object();
	at = at ? neap_json_need_take(at, a, json_object()) : NULL;
	at = at ? neap_json_need_take(at, b, json_object()) : NULL;
	if (!at || !value) {
		json_decref(value);
		pass->has_failed = true;
		return;
	}
	if (json_object_set_new(at, name, value) < 0)
		pass->has_failed = true;
}
