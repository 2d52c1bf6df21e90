/* SPDX-License-Identifier: Apache-2.0
 *
 * A look at one job. Each look requests one write, or a few that do not depend on each
 * other; when all are durable, the next look follows. */
#include <stdlib.h>
#include <string.h>

#include "api/client/events.h"
#include "api/migrate/migrate_priv.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

/* Of a job that waits for a sibling, should nobody wake it. */
#define SIBLING_LOOK_USEC (INT64_C(5) * 1000000)

struct look {
	struct neap_migrate *migrate;
	struct migrate_memory *memory;
	struct neap_migrate_view view;
	struct neap_migrate_job facts; /* of the job as it is now */
	json_t *job, *pod, *reservation, *new_pod, *node;
	const char *uid; /* of the job */
};

/* --- what there is --- */

static json_t *find(struct neap_migrate *migrate, const char *resource, const char *ns,
		    const char *name)
{
	struct neap_object *object =
		*name ? neap_client_find(migrate->config.client, resource, ns, name)
		      : NULL;

	if (!object)
		return NULL;
	neap_feed_spend(migrate->feed, neap_steps_of_text(object));
	return neap_object_tree(object);
}

/* The pod that took the room, as long as it is that one. */
static json_t *find_new_pod(struct look *look)
{
	const json_t *owner = neap_json_at(look->job, "status.podRef");
	json_t *pod;

	if (!json_is_object(owner))
		owner = json_array_get(
			neap_json_at(look->reservation, "status.currentOwners"), 0);
	pod = find(look->migrate, "pods", neap_json_text(owner, "namespace"),
		   neap_json_text(owner, "name"));
	if (pod && strcmp(neap_json_text_at(pod, "metadata.uid"),
			  neap_json_text(owner, "uid")) != 0) {
		json_decref(pod);
		return NULL;
	}
	return pod;
}

static void watch_its_objects(struct look *look)
{
	const json_t *owner = neap_json_at(look->job, "status.podRef");
	char pod[NEAP_OBJECT_NAMESPACE + NEAP_OBJECT_NAME];
	char new_pod[NEAP_OBJECT_NAMESPACE + NEAP_OBJECT_NAME] = "";

	(void)snprintf(pod, sizeof(pod), "%s/%s", look->facts.pod_ns,
		       look->facts.pod_name);
	if (!json_is_object(owner))
		owner = json_array_get(
			neap_json_at(look->reservation, "status.currentOwners"), 0);
	if (owner)
		(void)snprintf(new_pod, sizeof(new_pod), "%s/%s",
			       neap_json_text(owner, "namespace"),
			       neap_json_text(owner, "name"));
	migrate_memory_watch(look->migrate, look->memory,
			     neap_migrate_reservation_name(look->job), pod, new_pod);
}

/* Its own pod exists, and is not being deleted. */
static bool is_alive(const struct look *look)
{
	return look->pod &&
	       strcmp(neap_json_text_at(look->pod, "metadata.uid"),
		      look->facts.pod_uid) == 0 &&
	       !neap_json_at(look->pod, "metadata.deletionTimestamp");
}

static bool open_look(struct look *look, const char *name)
{
	struct neap_migrate *migrate = look->migrate;

	look->job = find(migrate, JOBS, "", name);
	look->memory = look->job ? migrate_memory_get(migrate, name) : NULL;
	if (!look->memory)
		return false;
	neap_migrate_job_read(look->job, &look->facts);
	look->uid = look->facts.uid;
	look->pod = find(migrate, "pods", look->facts.pod_ns, look->facts.pod_name);
	look->reservation =
		find(migrate, RESERVATIONS, "", neap_migrate_reservation_name(look->job));
	look->new_pod = find_new_pod(look);
	look->node = find(migrate, "nodes", "",
			  neap_json_text_at(look->reservation, "status.nodeName"));
	if (!look->memory->is_asked && is_alive(look))
		look->memory->is_refused = true;
	look->view = (struct neap_migrate_view){
		.job = look->job,
		.pod = look->pod,
		.reservation = look->reservation,
		.new_pod = look->new_pod,
		.node = look->node,
		.args = &migrate->args,
		.now_usec = migrate->config.now(),
		.is_limited = look->pod && migrate_is_limited(migrate, look->pod),
		.is_asked = look->memory->is_asked,
		.is_refused = look->memory->is_refused,
	};
	watch_its_objects(look);
	migrate_sibling_note(migrate, look->memory, &look->view,
			     neap_migrate_is_active(&look->facts));
	return true;
}

static void close_look(struct look *look)
{
	json_decref(look->job);
	json_decref(look->pod);
	json_decref(look->reservation);
	json_decref(look->new_pod);
	json_decref(look->node);
}

/* --- asks --- */

static bool ask_for(struct look *look, enum migrate_ask_for what, const char *resource,
		    const char *name, struct neap_client_ask *ret)
{
	const struct neap_round_ask ask = {(int)what, resource, "", name, look->uid};

	return neap_rounds_ask(look->migrate->rounds, &ask, ret);
}

static void ask_patch(struct look *look, json_t *patch)
{
	json_t *meta = neap_json_need_take(patch, "metadata", json_object());
	struct neap_client_ask ask;

	if (meta && json_object_set_new(meta, "uid", json_string(look->uid)) == 0 &&
	    ask_for(look, MIGRATE_PATCH, JOBS, look->facts.name, &ask))
		neap_client_patch_take(look->migrate->config.client, &ask, false,
				       json_incref(patch));
}

/* Of the state that was looked at; whoever was faster makes it look again. */
static void ask_status(struct look *look, json_t *status)
{
	json_t *tree = neap_json_copy(look->job);
	struct neap_client_ask ask;

	if (tree && json_object_set(tree, "status", status) == 0 &&
	    ask_for(look, MIGRATE_STATUS, JOBS, look->facts.name, &ask))
		neap_client_update_take(look->migrate->config.client, &ask, true,
					json_incref(tree));
	json_decref(tree);
}

static void ask_reservation(struct look *look, json_t *reservation)
{
	json_t *meta = json_object_get(reservation, "metadata");
	json_t *owners =
		json_pack("[{s:s, s:s, s:s, s:s}]", "apiVersion",
			  "scheduling.koordinator.sh/v1alpha1", "kind", "PodMigrationJob",
			  "name", look->facts.name, "uid", look->uid);
	struct neap_client_ask ask;

	/* Whoever deletes the job deletes it, too. */
	if (owners && json_object_set_new(meta, "ownerReferences", owners) == 0 &&
	    ask_for(look, MIGRATE_CREATE, RESERVATIONS, neap_json_text(meta, "name"),
		    &ask))
		neap_client_create_take(look->migrate->config.client, &ask,
					json_incref(reservation));
}

static void ask_order(struct look *look)
{
	char order[32];
	json_t *patch;
	struct neap_client_ask ask;

	(void)snprintf(order, sizeof(order), "%lld",
		       (long long)(look->view.now_usec / 1000));
	patch = json_pack("{s:{s:s, s:{s:s}}}", "metadata", "uid",
			  neap_json_text_at(look->reservation, "metadata.uid"), "labels",
			  "scheduling.koordinator.sh/reservation-order", order);
	if (patch && ask_for(look, MIGRATE_LABEL, RESERVATIONS,
			     neap_json_text_at(look->reservation, "metadata.name"), &ask))
		neap_client_patch_take(look->migrate->config.client, &ask, false,
				       json_incref(patch));
	json_decref(patch);
}

/* --- events --- */

static void tell(struct neap_migrate *migrate, const char *name, const char *uid,
		 const struct neap_migrate_event *event)
{
	const struct neap_client_note note = {.api_version = "scheduling.koordinator.sh/"
							     "v1alpha1",
					      .kind = "PodMigrationJob",
					      .ns = "",
					      .name = name,
					      .uid = uid,
					      .is_warning = event->is_warning,
					      .reason = event->reason,
					      .component = NEAP_MIGRATE_CREATOR};

	neap_client_note(migrate->config.client, &note, "%s", event->message);
}

static void tell_pod(struct neap_migrate *migrate, const json_t *pod, const char *reason)
{
	const struct neap_client_note note = {
		.api_version = "v1",
		.kind = "Pod",
		.ns = neap_json_text_at(pod, "metadata.namespace"),
		.name = neap_json_text_at(pod, "metadata.name"),
		.uid = neap_json_text_at(pod, "metadata.uid"),
		.reason = "Descheduled",
		.component = NEAP_MIGRATE_CREATOR};

	neap_client_note(migrate->config.client, &note,
			 "Pod evicted from node \"%s\" by the reason \"%s\"",
			 neap_json_text_at(pod, "spec.nodeName"), reason);
}

static void keep_events(struct migrate_memory *memory,
			const struct neap_migrate_step *step)
{
	memcpy(memory->events, step->events, sizeof(memory->events));
	memory->event_count = step->event_count;
}

/* --- what came of it --- */

static void evicted(struct neap_migrate *migrate, struct migrate_memory *memory,
		    const struct neap_round_told *told)
{
	json_t *tree = find(migrate, JOBS, "", told->key);
	const char *trigger = neap_json_text(neap_json_at(tree, "metadata.annotations"),
					     NEAP_KEY_EVICT_TRIGGER);
	bool is_gone = told->failure && told->failure->reason == NEAP_CLIENT_NOT_FOUND;
	int64_t pause = 2 * memory->pause_usec;

	if (!told->failure || told->failure->is_unknown || is_gone) {
		memory->is_asked = true;
		memory->is_refused = false;
		memory->outcome = is_gone ? MIGRATE_NOTHING : MIGRATE_EVICTED;
	} else {
		migrate_uncount(migrate, memory->pod);
		memory->is_refused = true;
		migrate_sibling_stays(migrate, memory);
		memory->outcome = MIGRATE_NOT_EVICTED;
		(void)neap_strcopy(memory->why, sizeof(memory->why),
				   told->failure->message);
		memory->pause_usec = pause < 1000000    ? 1000000
				     : pause > 30000000 ? 30000000
							: pause;
		memory->retry_usec = migrate->config.now() + memory->pause_usec;
	}
	if (migrate->config.evicted)
		migrate->config.evicted(
			migrate->config.arg, memory->is_asked, trigger,
			neap_json_text_at(memory->pod, "metadata.namespace"),
			neap_json_text_at(memory->pod, "spec.nodeName"));
	if (memory->outcome == MIGRATE_EVICTED)
		tell_pod(migrate, memory->pod, neap_migrate_reason_of(tree));
	json_decref(tree);
}

void migrate_told(void *arg, const struct neap_round_told *told)
{
	struct neap_migrate *migrate = arg;
	struct migrate_memory *memory = neap_map_find(migrate->memory, told->key);

	if (!memory)
		return;
	switch ((enum migrate_ask_for)told->what) {
	case MIGRATE_EVICT:
		evicted(migrate, memory, told);
		break;
	case MIGRATE_CREATE:
		if (!told->failure || told->failure->is_unknown ||
		    told->failure->reason == NEAP_CLIENT_ALREADY_EXISTS)
			break;
		memory->outcome = MIGRATE_NOT_CREATED;
		(void)neap_strcopy(memory->why, sizeof(memory->why),
				   told->failure->message);
		break;
	case MIGRATE_PATCH:
	case MIGRATE_STATUS:
		if (!told->failure) {
			for (size_t i = 0; i < memory->event_count; i++)
				tell(migrate, told->key, told->uid, &memory->events[i]);
			if (told->what == MIGRATE_STATUS)
				memory->outcome = MIGRATE_NOTHING;
		}
		memory->event_count = 0;
		break;
	case MIGRATE_TAKE_BACK:
		migrate_taken_back(memory, told->failure);
		break;
	case MIGRATE_LABEL:
	case MIGRATE_CLEAN:
	case MIGRATE_SCAVENGE:
		break;
	}
}

/* --- an ended job --- */

static void drop_reservation(struct look *look)
{
	const char *name = neap_json_text_at(look->reservation, "metadata.name");
	struct neap_client_ask ask;

	if (look->reservation &&
	    !neap_json_at(look->reservation, "metadata.deletionTimestamp") &&
	    ask_for(look, MIGRATE_CLEAN, RESERVATIONS, name, &ask))
		neap_client_delete(look->migrate->config.client, &ask,
				   neap_json_text_at(look->reservation, "metadata.uid"),
				   -1);
}

/* Deletes the job when its time is over. */
static int64_t scavenge(struct look *look)
{
	int64_t left = neap_migrate_scavenged_usec(&look->facts) - look->view.now_usec;
	struct neap_client_ask ask;

	if (look->facts.is_deleting)
		return 0;
	if (left > 0)
		return left;
	if (neap_migrate_made(look->job, look->reservation))
		drop_reservation(look);
	if (ask_for(look, MIGRATE_SCAVENGE, JOBS, look->facts.name, &ask))
		neap_client_delete(look->migrate->config.client, &ask, look->uid, -1);
	return 0;
}

static int64_t look_at_ended(struct look *look)
{
	/* Nobody comes to the room of a dry run, and nobody tells of a room's node. */
	bool is_left = (look->facts.phase != NEAP_JOB_SUCCEEDED ||
			strcmp(look->facts.reason, NEAP_MIGRATE_DRY_RUN) == 0) &&
		       neap_migrate_made(look->job, look->reservation);
	bool is_kept = is_left && neap_migrate_keeps_room(&look->view);
	int64_t again;

	if (migrate_take_back(look->migrate, look->memory, look->job, look->pod) < 0)
		return -1;
	if (is_left && !is_kept)
		drop_reservation(look);
	again = neap_rounds_asked(look->migrate->rounds) > 0 ? 0 : scavenge(look);
	return is_kept && again > NEAP_MIGRATE_AGAIN_USEC ? NEAP_MIGRATE_AGAIN_USEC
							  : again;
}

/* --- a running job --- */

/* The stage that the status shows. */
static enum migrate_stage stage_of(const json_t *job,
				   const struct neap_migrate_job *facts)
{
	const json_t *status = json_object_get(job, "status");
	const char *now = neap_json_text(status, "status");

	if (facts->phase == NEAP_JOB_PENDING)
		return MIGRATE_STAGE_ARBITRATION;
	if (strcmp(now, "BoundPodReady") == 0 || strcmp(now, "ReservationBound") == 0)
		return MIGRATE_STAGE_READY;
	if (strcmp(now, "PodBoundReservation") == 0)
		return MIGRATE_STAGE_BIND;
	if (strcmp(now, "Eviction") == 0 || strcmp(now, "ReservationScheduled") == 0 ||
	    strcmp(now, NEAP_MIGRATE_NODE_READY) == 0)
		return MIGRATE_STAGE_EVICTION;
	return MIGRATE_STAGE_RESERVATION;
}

/* Counts the time of the stage that the job has left. */
static void note_stage(struct look *look)
{
	struct migrate_memory *memory = look->memory;
	bool has_ended = !neap_migrate_is_active(&look->facts);
	int stage =
		has_ended ? MIGRATE_STAGE_COUNT : (int)stage_of(look->job, &look->facts);

	if (memory->stage_usec > 0 && memory->stage == stage)
		return;
	if (memory->stage_usec > 0 && memory->stage < MIGRATE_STAGE_COUNT)
		migrate_metrics_stage(&look->migrate->metrics,
				      (enum migrate_stage)memory->stage,
				      look->view.now_usec - memory->stage_usec);
	memory->stage = stage;
	memory->stage_usec = look->view.now_usec;
}

/* 0: a step was made. */
static int make_step(struct look *look, struct neap_migrate_step *step)
{
	struct migrate_memory *memory = look->memory;
	struct neap_migrate_view view = look->view;

	switch (memory->outcome) {
	case MIGRATE_NOT_CREATED:
		memory->outcome = MIGRATE_NOTHING;
		memory->retry_usec = view.now_usec + NEAP_MIGRATE_AGAIN_USEC;
		return neap_migrate_not_created(&view, memory->why, step, NULL);
	case MIGRATE_EVICTED:
		if (memory->pod)
			view.pod = memory->pod;
		return neap_migrate_evicted(&view, step, NULL);
	case MIGRATE_WOULD_EVICT:
		return neap_migrate_would_evict(&view, step, NULL);
	case MIGRATE_NOT_EVICTED:
		memory->outcome = MIGRATE_NOTHING;
		return neap_migrate_not_evicted(&view, memory->why, step, NULL);
	case MIGRATE_NOTHING:
		break;
	}
	if (memory->is_forbidden)
		return neap_migrate_forbidden(&view, step, NULL);
	if (neap_migrate_is_overdue(&look->facts, view.now_usec))
		return neap_migrate_timed_out(&view, step, NULL);
	return neap_migrate_step(&view, step, NULL);
}

static void forget_way(struct migrate_memory *memory)
{
	migrate_way_done(&memory->way);
	memory->has_way = false;
}

/* Before a pod leaves it is written how that is taken back. What is written is what is
 * done next: a policy may say something else when it is asked again. */
static bool add_take_back(struct look *look, struct neap_migrate_step *step)
{
	struct migrate_memory *memory = look->memory;

	if (step->act != NEAP_ACT_EVICT || memory->retry_usec > look->view.now_usec) {
		forget_way(memory);
		return true;
	}
	if (!memory->has_way)
		migrate_way_init(look->migrate, &look->view, &memory->way);
	memory->has_way = true;
	return migrate_way_note(look->job, &memory->way, &step->patch);
}

static int64_t act(struct look *look, const struct neap_migrate_step *step)
{
	struct migrate_memory *memory = look->memory;
	int64_t wait = memory->retry_usec - look->view.now_usec;

	if (step->act == NEAP_ACT_NONE)
		return step->again_usec;
	if (wait > 0)
		return wait < NEAP_MIGRATE_AGAIN_USEC ? wait : NEAP_MIGRATE_AGAIN_USEC;
	if (step->act == NEAP_ACT_CREATE) {
		ask_reservation(look, step->reservation);
		return 0;
	}
	migrate_leave(look->migrate, memory, &look->view, &memory->way);
	forget_way(memory);
	wait = memory->retry_usec - look->view.now_usec;
	if (memory->outcome != MIGRATE_NOTHING)
		return 1; /* it is told at once */
	return wait > 0 ? wait : 0;
}

/* Does what the step says, as far as it can be asked for at once. */
static int64_t take_step(struct look *look, struct neap_migrate_step *step)
{
	if (step->orders)
		ask_order(look);
	if (step->act == NEAP_ACT_EVICT &&
	    migrate_sibling_holds(look->migrate, look->memory, &look->view)) {
		step->act = NEAP_ACT_NONE;
		step->again_usec = SIBLING_LOOK_USEC;
	}
	if (!add_take_back(look, step))
		return -1;
	if (step->patch) {
		/* What the status says comes after it, by another step. */
		if (!step->status)
			keep_events(look->memory, step);
		ask_patch(look, step->patch);
		return 0;
	}
	if (step->status) {
		keep_events(look->memory, step);
		ask_status(look, step->status);
		return 0;
	}
	for (size_t i = 0; i < step->event_count; i++)
		tell(look->migrate, look->facts.name, look->uid, &step->events[i]);
	if (look->memory->outcome == MIGRATE_EVICTED)
		look->memory->outcome = MIGRATE_NOTHING; /* the status says so already */
	return act(look, step);
}

/* Arbitration let it through; the job says so before anything is done. A mode that nobody
 * knows is told of: whoever misspells EvictDirectly gets a Reservation. */
static int64_t mark(struct look *look)
{
	const char *mode = neap_json_text_at(look->job, "spec.mode");
	struct neap_migrate_event event = {true, "UnknownMode", ""};
	json_t *patch = json_pack("{s:{s:{s:s, s:s}}}", "metadata", "annotations",
				  NEAP_KEY_ARBITRATED, "true", NEAP_KEY_JOB_CREATOR,
				  look->migrate->creator);

	if (!patch)
		return -1;
	ask_patch(look, patch);
	json_decref(patch);
	if (*mode && !look->facts.is_direct && strcmp(mode, "ReservationFirst") != 0) {
		(void)snprintf(
			event.message, sizeof(event.message),
			"spec.mode \"%s\" is taken for ReservationFirst; the other "
			"one is EvictDirectly",
			mode);
		tell(look->migrate, look->facts.name, look->uid, &event);
	}
	return 0;
}

static int64_t look_at_running(struct look *look)
{
	struct migrate_memory *memory = look->memory;
	struct neap_migrate_step step;
	int64_t again;

	if (look->facts.is_deleting)
		return migrate_take_back(look->migrate, look->memory, look->job,
					 look->pod);
	if (look->facts.is_paused || look->facts.is_arbitrated)
		memory->may_begin = false;
	if (look->facts.is_paused)
		memory->is_forbidden = false;
	if (look->facts.is_paused)
		return 0;
	if (memory->may_begin)
		return mark(look);
	if (make_step(look, &step) < 0)
		return -1;
	again = take_step(look, &step);
	neap_migrate_step_done(&step);
	return again;
}

/* Its ttl ends it at that very moment, if nothing does before. */
static int64_t until_ttl(const struct look *look, int64_t again)
{
	const struct neap_migrate_job *facts = &look->facts;
	int64_t left = facts->created_usec + facts->ttl_usec - look->view.now_usec;

	if (facts->ttl_usec <= 0 || facts->is_paused || !neap_migrate_is_active(facts) ||
	    again < 0)
		return again;
	if (left < 1)
		left = 1;
	return again == 0 || left < again ? left : again;
}

int64_t migrate_look(struct neap_migrate *migrate, const char *name)
{
	struct look look = {.migrate = migrate};
	int64_t again = 0;

	if (!neap_client_find(migrate->config.client, JOBS, "", name)) {
		neap_migrate_drop_job(&migrate->cluster, name);
		return 0;
	}
	if (!neap_rounds_begin(migrate->rounds, "", name, &again))
		return again;
	if (!open_look(&look, name)) {
		close_look(&look);
		return neap_rounds_end(migrate->rounds, -1);
	}
	note_stage(&look);
	again = neap_migrate_is_active(&look.facts) ? look_at_running(&look)
						    : look_at_ended(&look);
	if (neap_rounds_asked(migrate->rounds) == 0)
		again = until_ttl(&look, again);
	close_look(&look);
	return neap_rounds_end(migrate->rounds, again);
}
