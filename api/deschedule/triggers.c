/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds by event: each change is compared with the triggers that the strategies of the
 * profiles declare. Many events make one round, and a trigger that fires endlessly is
 * damped: the pause between two such rounds doubles. */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/deschedule/descheduler_priv.h"
#include "api/deschedule/round_snapshot.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "lua/deschedule/deschedule.h"

#define PENDING_MAX 10000 /* pods that are watched for being pending too long */

/* --- firing --- */

static void fire(struct neap_descheduler *descheduler, const char *what, const char *ns,
		 const char *name)
{
	struct deschedule_triggers *triggers = &descheduler->triggers;

	triggers->fired++;
	triggers->fired_usec = deschedule_now(descheduler);
	if (!*triggers->what)
		(void)snprintf(triggers->what, sizeof(triggers->what), "%s of %s%s%.90s",
			       what, ns, *ns ? "/" : "", name);
}

bool deschedule_event_is_due(const struct neap_descheduler *descheduler, int64_t now_usec,
			     int64_t *ret_usec)
{
	const struct deschedule_triggers *triggers = &descheduler->triggers;
	int64_t due = triggers->fired_usec + EVENTS_USEC;

	if (!*triggers->what)
		return false;
	if (triggers->last_usec && triggers->last_usec + triggers->gap_usec > due)
		due = triggers->last_usec + triggers->gap_usec;
	/* The clock may have been set back. */
	if (due > now_usec + EVENT_GAP_MAX_USEC)
		due = now_usec;
	if (due > now_usec && due < *ret_usec)
		*ret_usec = due;
	return due <= now_usec;
}

void deschedule_event_begins(struct neap_descheduler *descheduler, int64_t now_usec)
{
	struct deschedule_triggers *triggers = &descheduler->triggers;

	if (triggers->last_usec &&
	    now_usec - triggers->last_usec < 2 * triggers->gap_usec)
		triggers->gap_usec *= 2;
	else
		triggers->gap_usec = EVENT_GAP_USEC;
	if (triggers->gap_usec > EVENT_GAP_MAX_USEC)
		triggers->gap_usec = EVENT_GAP_MAX_USEC;
	triggers->last_usec = now_usec;
	triggers->rounds++;
	triggers->what[0] = '\0';
}

/* --- what changed --- */

struct change {
	struct neap_descheduler *descheduler;
	const struct neap_client_event *event;
	json_t *before, *now; /* parsed when somebody asks */
};

static bool parse(struct change *change)
{
	if (!change->now) {
		change->now = neap_object_tree(change->event->object);
		change->before = change->event->before
					 ? neap_object_tree(change->event->before)
					 : NULL;
	}
	return change->now != NULL;
}

static const char *status_of(const json_t *tree, const char *type)
{
	const json_t *condition =
		neap_json_condition(json_object_get(tree, "status"), type);

	return condition ? neap_json_text(condition, "status") : "";
}

static bool has_turned(struct change *change, const char *type, const char *value)
{
	const char *now = status_of(change->now, type);

	return strcmp(now, status_of(change->before, type)) != 0 &&
	       (!*value || strcmp(now, value) == 0);
}

static bool condition_fires(struct change *change,
			    const struct neap_round_trigger *trigger)
{
	const json_t *list =
		json_object_get(json_object_get(change->now, "status"), "conditions");
	size_t i;
	json_t *condition;

	if (*trigger->key)
		return has_turned(change, trigger->key, trigger->value);
	json_array_foreach (list, i, condition)
		if (has_turned(change, neap_json_text(condition, "type"), trigger->value))
			return true;
	return false;
}

/* Taints of a key, or all, as one text. */
static char *taints_of(const json_t *tree, const char *wanted)
{
	json_t *found = json_array();
	size_t i;
	json_t *taint;
	char *text;

	json_array_foreach (json_object_get(json_object_get(tree, "spec"), "taints"), i,
			    taint)
		if (!*wanted || neap_json_is_text(taint, "key", wanted))
			(void)json_array_append(found, taint);
	text = found ? neap_json_dump(found, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	json_decref(found);
	return text;
}

static bool taint_fires(struct change *change, const struct neap_round_trigger *trigger)
{
	neap_auto_free char *before = taints_of(change->before, trigger->key);
	neap_auto_free char *now = taints_of(change->now, trigger->key);

	return before && now && strcmp(before, now) != 0;
}

static bool label_fires(struct change *change, const struct neap_round_trigger *trigger)
{
	const struct neap_object *before = change->event->before;
	const struct neap_object *now = change->event->object;
	const json_t *of_before, *of_now;

	if (*trigger->key) {
		const char *one = neap_object_label(before, trigger->key);
		const char *other = neap_object_label(now, trigger->key);

		return !one != !other || (one && strcmp(one, other) != 0);
	}
	of_before =
		json_object_get(json_object_get(change->before, "metadata"), "labels");
	of_now = json_object_get(json_object_get(change->now, "metadata"), "labels");
	return !json_equal(of_before, of_now);
}

static int64_t restarts_of(const json_t *tree)
{
	int64_t sum = 0;
	size_t i;
	json_t *status;

	json_array_foreach (
		json_object_get(json_object_get(tree, "status"), "containerStatuses"), i,
		status)
		sum += json_integer_value(json_object_get(status, "restartCount"));
	return sum;
}

static int64_t usage_of(const json_t *tree, const char *resource, bool *ret_is_known)
{
	const json_t *value = json_object_get(
		neap_json_at(tree, "status.nodeMetric.nodeUsage.resources"), resource);
	int64_t milli = 0;

	*ret_is_known =
		json_is_string(value) &&
		neap_quantity_parse_milli(json_string_value(value), &milli, NULL) == 0;
	return milli;
}

/* A bound in percent of what the node can give, crossed upwards. */
static bool usage_fires(struct change *change, const struct neap_round_trigger *trigger)
{
	const struct neap_descheduler *descheduler = change->descheduler;
	struct neap_object *node = neap_client_find(descheduler->config.client, "nodes",
						    "", change->event->object->name);
	json_t *tree = node ? neap_object_tree(node) : NULL;
	const json_t *value =
		json_object_get(neap_json_at(tree, "status.allocatable"), trigger->key);
	int64_t all = 0, now, before;
	bool is_known, was_known, fires = false;

	if (json_is_string(value) &&
	    neap_quantity_parse_milli(json_string_value(value), &all, NULL) == 0 &&
	    all > 0) {
		now = usage_of(change->now, trigger->key, &is_known);
		before = usage_of(change->before, trigger->key, &was_known);
		fires = is_known &&
			(double)now * 100 >= (double)all * (double)trigger->bound &&
			!(was_known &&
			  (double)before * 100 >= (double)all * (double)trigger->bound);
	}
	json_decref(tree);
	return fires;
}

/* --- each trigger --- */

static const struct {
	const char *resource, *what;
	bool (*fires)(struct change *change, const struct neap_round_trigger *trigger);
} forms[NEAP_ROUND_EVENTS] = {
	[NEAP_EVENT_NODE_CONDITION] = {"nodes", "a condition", condition_fires},
	[NEAP_EVENT_NODE_TAINT] = {"nodes", "a taint", taint_fires},
	[NEAP_EVENT_NODE_LABEL] = {"nodes", "a label", label_fires},
	[NEAP_EVENT_POD_CONDITION] = {"pods", "a condition", condition_fires},
	[NEAP_EVENT_POD_RESTARTS] = {"pods", "restarts", NULL},
	[NEAP_EVENT_POD_PENDING] = {"pods", "pending", NULL},
	[NEAP_EVENT_NODE_USAGE] = {"nodemetrics.slo.koordinator.sh", "use", usage_fires},
};

static bool restarts_fire(struct change *change, const struct neap_round_trigger *trigger)
{
	return restarts_of(change->now) >= trigger->bound &&
	       restarts_of(change->before) < trigger->bound;
}

static void compare(struct change *change, const char *resource,
		    const struct neap_round_trigger *trigger)
{
	const struct neap_object *object = change->event->object;

	if (strcmp(forms[trigger->event].resource, resource) != 0 ||
	    trigger->event == NEAP_EVENT_POD_PENDING || !parse(change))
		return;
	if (trigger->event == NEAP_EVENT_POD_RESTARTS
		    ? restarts_fire(change, trigger)
		    : forms[trigger->event].fires(change, trigger))
		fire(change->descheduler, forms[trigger->event].what, object->ns,
		     object->name);
}

/* Calls one for each trigger of the strategies in force. */
static void each(struct neap_descheduler *descheduler,
		 void (*one)(void *arg, const struct neap_round_trigger *trigger),
		 void *arg)
{
	const struct neap_play_set *set = descheduler->set;

	for (size_t i = 0; set && i < set->config->profile_count; i++) {
		const struct neap_play_profile *profile = &set->profiles[i];

		for (size_t n = 0; n < profile->of->plugin_count; n++) {
			const struct neap_round_trigger *list;
			const struct neap_policy *policy = profile->plugins[n].policy;
			size_t count = 0;

			if (!policy ||
			    strcmp(neap_policy_kind(policy)->name, "deschedule") != 0)
				continue;
			list = neap_policy_round_triggers(policy, &count);
			for (size_t t = 0; t < count; t++)
				one(arg, &list[t]);
		}
	}
}

struct asked {
	struct change change;
	const char *resource;
};

static void compare_one(void *arg, const struct neap_round_trigger *trigger)
{
	struct asked *asked = arg;

	compare(&asked->change, asked->resource, trigger);
}

/* --- pods that stay pending --- */

struct pending {
	int64_t since_usec;
	int64_t told_s; /* the highest bound that fired; each fires once for a pod */
};

static void note_pending(struct neap_descheduler *descheduler,
			 const struct neap_client_event *event)
{
	struct neap_map *pending = descheduler->triggers.pending;
	const struct neap_object *object = event->object;
	const char *phase = neap_object_field(object, "status.phase");
	const char *node = neap_object_field(object, "spec.nodeName");
	bool is = event->what != NEAP_CLIENT_DELETED && (!node || !*node) &&
		  (!phase || !*phase || strcmp(phase, "Pending") == 0);
	char key[NEAP_OBJECT_NAMESPACE + NEAP_OBJECT_NAME];
	struct pending *since;

	(void)snprintf(key, sizeof(key), "%s/%s", object->ns, object->name);
	since = neap_map_find(pending, key);
	if (!is) {
		if (since)
			free(neap_map_remove(pending, key));
		return;
	}
	if (since || neap_map_count(pending) == PENDING_MAX)
		return;
	since = neap_alloc(sizeof(*since));
	if (!since)
		return;
	since->since_usec = deschedule_now(descheduler);
	since->told_s = -1;
	if (!neap_map_set(pending, key, since))
		free(since);
}

static void look_at_pending(void *arg, const struct neap_round_trigger *trigger)
{
	struct neap_descheduler *descheduler = arg;
	struct neap_map *pending = descheduler->triggers.pending;
	int64_t now = deschedule_now(descheduler);

	if (trigger->event != NEAP_EVENT_POD_PENDING)
		return;
	for (size_t i = 0; i < neap_map_count(pending); i++) {
		const char *key = NULL;
		struct pending *one = neap_map_at(pending, i, &key);

		if (one->told_s >= trigger->bound ||
		    now - one->since_usec < trigger->bound * 1000000)
			continue;
		one->told_s = trigger->bound;
		fire(descheduler, forms[trigger->event].what, "", key);
	}
}

static void look(evutil_socket_t fd, short what, void *arg)
{
	struct neap_descheduler *descheduler = arg;

	(void)fd;
	(void)what;
	each(descheduler, look_at_pending, descheduler);
	if (*descheduler->triggers.what)
		deschedule_look(descheduler);
}

void deschedule_forget_pending(void *arg)
{
	struct neap_descheduler *descheduler = arg;
	struct neap_map *pending = descheduler->triggers.pending;

	while (neap_map_count(pending)) {
		char key[NEAP_OBJECT_NAMESPACE + NEAP_OBJECT_NAME];
		const char *own = NULL;

		(void)neap_map_at(pending, neap_map_count(pending) - 1, &own);
		(void)snprintf(key, sizeof(key), "%s", own);
		free(neap_map_remove(pending, key));
	}
}

/* --- outside --- */

void deschedule_hear(void *arg, const char *resource,
		     const struct neap_client_event *event)
{
	struct neap_descheduler *descheduler = arg;
	struct asked asked = {.change = {.descheduler = descheduler, .event = event},
			      .resource = resource};

	if (strcmp(resource, "pods") == 0)
		note_pending(descheduler, event);
	if (event->what != NEAP_CLIENT_MODIFIED || !event->before || !descheduler->set)
		return;
	each(descheduler, compare_one, &asked);
	json_decref(asked.change.before);
	json_decref(asked.change.now);
}

int deschedule_triggers_init(struct neap_descheduler *descheduler, struct neap_error *err)
{
	static const struct timeval every = {.tv_sec = PENDING_USEC / 1000000};
	struct deschedule_triggers *triggers = &descheduler->triggers;

	triggers->gap_usec = EVENT_GAP_USEC;
	triggers->pending = neap_map_new();
	triggers->look =
		event_new(descheduler->config.base, -1, EV_PERSIST, look, descheduler);
	if (!triggers->pending || !triggers->look ||
	    event_add(triggers->look, &every) < 0)
		return neap_error_nomem(err);
	return 0;
}

void deschedule_triggers_done(struct neap_descheduler *descheduler)
{
	struct deschedule_triggers *triggers = &descheduler->triggers;

	for (size_t i = 0; triggers->pending && i < neap_map_count(triggers->pending);
	     i++)
		free(neap_map_at(triggers->pending, i, NULL));
	neap_map_free(triggers->pending);
	if (triggers->look)
		event_free(triggers->look);
}
