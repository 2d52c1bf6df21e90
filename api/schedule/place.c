/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides pods and writes the decisions. A pod counts on its node from the decision on; a
 * refused binding is undone, and the pod is retried after a pause. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/client/client.h"
#include "api/schedule/schedule_priv.h"
#include "api/task/turns.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"

/* Size of a message, which cuts thousands of distinct reasons. Those of one node fit. */
#define MESSAGE_BYTES (32 * 1024)
/* Cost of asking another node for CPUs, in examined nodes. */
#define CLAIM_LOOKS 10

static struct neap_pod *find_same(struct neap_scheduler *scheduler,
				  const struct bind *bind)
{
	struct neap_pod *pod = neap_cluster_find_key(scheduler->cluster, bind->key);

	return pod && strcmp(pod->object->uid, bind->uid) == 0 ? pod : NULL;
}

static void undo(struct neap_scheduler *scheduler, struct neap_pod *pod, const char *key)
{
	unsigned moved = NEAP_MOVED_POD_GONE | NEAP_MOVED_CPUS;

	/* That may be used again. */
	if (*neap_pod_reservation(pod))
		moved |= NEAP_MOVED_RESERVATION;
	if (pod->seat.is_assumed)
		neap_cluster_forget(scheduler->cluster, pod);
	else
		neap_cluster_take_back(scheduler->cluster, pod);
	neap_queue_retry(scheduler->queue, key, scheduler->now());
	neap_queue_wake(scheduler->queue, moved, scheduler->now());
}

void scheduler_wake_for_room(struct neap_scheduler *scheduler)
{
	unsigned moved = neap_cluster_take_moved(scheduler->cluster);

	if (moved)
		neap_queue_wake(scheduler->queue, moved, scheduler->now());
}

static void unlink_bind(struct neap_scheduler *scheduler, struct bind *bind)
{
	*(bind->prev ? &bind->prev->next : &scheduler->binds) = bind->next;
	if (bind->next)
		bind->next->prev = bind->prev;
	scheduler->bind_count--;
}

void scheduler_leave_binds(struct neap_scheduler *scheduler)
{
	while (scheduler->binds) {
		struct bind *bind = scheduler->binds;

		unlink_bind(scheduler, bind);
		bind->scheduler = NULL;
	}
}

void scheduler_bind_free(struct bind *bind)
{
	if (!bind)
		return;
	(void)neap_object_unref(bind->before);
	json_decref(bind->notes);
	json_decref(bind->status);
	free(bind->taken);
	free(bind);
}

/* "": it is removed; NULL: unchanged. */
static const char *note_of(const struct bind *bind, const char *key)
{
	const json_t *note = json_object_get(bind->notes, key);

	return json_is_null(note) ? "" : json_string_value(note);
}

/* When the new object differs by the binding alone, the pod need not be read again. */
static void confirm(struct neap_scheduler *scheduler, const struct bind *bind,
		    struct neap_pod *pod, struct neap_object *object)
{
	if (pod->object != bind->before ||
	    json_object_get(bind->notes, NEAP_KEY_RESERVATION_ALLOCATED) ||
	    !neap_cluster_bind(scheduler->cluster, pod, object,
			       note_of(bind, NEAP_KEY_RESOURCE_SPEC),
			       note_of(bind, NEAP_KEY_RESOURCE_STATUS)))
		neap_cluster_confirm(scheduler->cluster, pod,
				     scheduler->now() + CONFIRM_USEC);
}

/* The decision was made for an older state of the pod. */
static bool is_outdated(const struct neap_scheduler *scheduler, const struct bind *bind,
			const struct neap_pod *pod,
			const struct neap_client_failure *failure)
{
	const struct neap_object *newest;
	char version[NEAP_OBJECT_VERSION];

	if (failure->reason != NEAP_CLIENT_CONFLICT)
		return false;
	if (!failure->part)
		return true;
	newest = neap_client_newest(scheduler->client, "pods", pod->object->ns,
				    pod->object->name);
	return *bind->version &&
	       (!newest || strcmp(neap_object_resource_version(newest, version),
				  bind->version) != 0);
}

/* An outdated decision is no news: the next attempt uses the newer state. */
static void tell_failed(struct neap_scheduler *scheduler, const struct bind *bind,
			const struct neap_pod *pod,
			const struct neap_client_failure *failure)
{
	if (!bind->told && !is_outdated(scheduler, bind, pod, failure))
		scheduler_tell_refused(scheduler, pod, failure->message, NULL);
}

/* It may be bound: its room is nobody else's until that is seen, or was not for long. */
static void hold(struct neap_scheduler *scheduler, struct neap_pod *pod)
{
	int64_t until = scheduler->now() + CONFIRM_USEC;

	neap_cluster_confirm(scheduler->cluster, pod, until);
	scheduler->unsure_usec = until;
}

void scheduler_bound(void *arg, struct neap_object *object,
		     const struct neap_client_failure *failure)
{
	struct bind *bind = arg;
	struct neap_scheduler *scheduler = bind->scheduler;
	struct neap_pod *pod;

	if (!scheduler) {
		if (bind->told)
			bind->told(bind->arg, object ? NULL : "neapd is ending");
		scheduler_bind_free(bind);
		return;
	}
	unlink_bind(scheduler, bind);
	pod = find_same(scheduler, bind);
	if (object && pod) {
		confirm(scheduler, bind, pod, object);
		neap_queue_remove(scheduler->queue, bind->key);
		if (!bind->told)
			scheduler_tell_placed(scheduler, pod, bind->node);
	} else if (pod) {
		neap_log_line(scheduler->log, NEAP_LOG_DEBUG,
			      "scheduler: binding %s to %s: %s", bind->key, bind->node,
			      failure ? failure->message : "no answer");
		if (failure && failure->is_unknown && pod->seat.is_assumed) {
			hold(scheduler, pod);
		} else {
			if (failure)
				tell_failed(scheduler, bind, pod, failure);
			undo(scheduler, pod, bind->key);
		}
	}
	if (bind->told)
		scheduler_tell_binder(scheduler, bind, pod,
				      object    ? NULL
				      : failure ? failure->message
						: "no answer");
	scheduler_bind_free(bind);
	scheduler_wake(scheduler, 0);
}

/* Builds the annotations written with the binding, so that both become visible together.
 * False without memory. */
static bool make_notes(const struct neap_pod *pod, const struct neap_claim *claim,
		       json_t **ret)
{
	bool says = claim || *pod->reservation || (pod->cpus && pod->cpus->status);

	*ret = says ? neap_claim_annotations(pod, claim) : NULL;
	return !says || *ret;
}

static int assume(struct neap_scheduler *scheduler, struct neap_pod *pod, uint32_t row,
		  const struct neap_claim *claim, const char *node, json_t **ret_notes,
		  struct neap_error *err)
{
	int failed;

	/* The node may be on its way out, which is not shown yet. */
	if (!neap_client_newest(scheduler->client, "nodes", "", node))
		return neap_error_set(err, NEAP_ENOTFOUND, "there is no node %s", node);
	if (!make_notes(pod, claim, ret_notes))
		return neap_error_nomem(err);
	failed = neap_cluster_assume_with(scheduler->cluster, pod, row, claim, err);
	if (failed < 0) {
		json_decref(*ret_notes);
		*ret_notes = NULL;
	}
	return failed;
}

void scheduler_add_bind(struct neap_scheduler *scheduler, const struct neap_pod *pod,
			const char *node, struct bind *bind)
{
	bind->scheduler = scheduler;
	(void)neap_pod_seat_key(pod, bind->key);
	(void)neap_strcopy(bind->uid, sizeof(bind->uid), pod->object->uid);
	(void)neap_strcopy(bind->node, sizeof(bind->node), node);
	bind->next = scheduler->binds;
	if (bind->next)
		bind->next->prev = bind;
	scheduler->binds = bind;
	scheduler->bind_count++;
}

int scheduler_bind_take(struct neap_scheduler *scheduler, struct neap_pod *pod,
			uint32_t row, struct neap_claim *claim, struct bind *bind,
			struct neap_error *err)
{
	struct neap_client_ask ask = {.resource = "pods",
				      .ns = pod->object->ns,
				      .name = pod->object->name,
				      .told = scheduler_bound};
	const struct neap_columns *columns = neap_cluster_settle(scheduler->cluster);
	const char *node = columns->nodes[row]->name;
	/* A node that others chose, without CPUs, was not decided from this state. */
	bool is_decided = claim || !bind->told;
	json_t *notes = NULL;
	int failed = assume(scheduler, pod, row, claim, node, &notes, err);

	neap_claim_free(claim);
	if (failed < 0) {
		scheduler_bind_free(bind);
		return failed;
	}
	scheduler_wake_for_room(scheduler);
	scheduler_add_bind(scheduler, pod, node, bind);
	ask.arg = bind;
	if (neap_client_newest(scheduler->client, "pods", ask.ns, ask.name) ==
	    pod->object)
		bind->before = neap_object_ref(pod->object);
	bind->notes = notes;
	if (is_decided)
		(void)neap_object_resource_version(pod->object, bind->version);
	/* It may be answered and freed before this returns. */
	(void)json_incref(notes);
	neap_client_bind(scheduler->client, &ask,
			 &(struct neap_client_binding){
				 .node = bind->node,
				 .uid = bind->uid,
				 .version = is_decided ? bind->version : NULL,
				 .annotations = notes});
	json_decref(notes);
	return 0;
}

/* On the other nodes that fit, the best first. *ret_row, *ret_asked: the last one, and
 * how many there were. */
static int claim_other(struct neap_scheduler *scheduler, const struct neap_pod *pod,
		       uint32_t *ret_row, size_t *ret_asked, struct neap_claim **ret,
		       struct neap_error *err)
{
	size_t count = neap_decide_fitting(scheduler->decide);
	neap_auto_free uint32_t *rows = neap_alloc_array(count, sizeof(*rows));
	int failed = -NEAP_ENOFIT;

	if (!rows)
		return neap_error_nomem(err);
	neap_decide_best(scheduler->decide, rows);
	for (size_t i = 1; i < count && failed == -NEAP_ENOFIT; i++) {
		failed = neap_decide_claim(scheduler->decide, pod, rows[i], ret, err);
		*ret_row = rows[i];
		++*ret_asked;
	}
	return failed;
}

/* Claims on the chosen node, or on the next one that can provide the CPUs: filters accept
 * nodes that may still fail for single CPUs. choice->row: that node. *err, and why in
 * full: the chosen one's reason when none can. */
static int claim_any(struct neap_scheduler *scheduler, const struct neap_pod *pod,
		     struct neap_choice *choice, size_t *ret_asked,
		     struct neap_claim **ret, struct neap_buf *why,
		     struct neap_error *err)
{
	struct neap_error other;
	int failed = neap_decide_claim(scheduler->decide, pod, choice->row, ret, err);

	*ret_asked = 1;
	if (failed != -NEAP_ENOFIT)
		return failed;
	neap_buf_clear(why);
	neap_buf_adds(why, neap_decide_claim_why(scheduler->decide, err));
	failed = claim_other(scheduler, pod, &choice->row, ret_asked, ret, &other);
	if (failed < 0 && failed != -NEAP_ENOFIT)
		*err = other;
	return failed;
}

/* CPUs and NUMA nodes on the best node that can give them, as neap_decide_claim. Where
 * none of the nodes that were looked at can, all are looked at. */
static int claim_best(struct neap_scheduler *scheduler, const struct neap_pod *pod,
		      struct neap_choice *choice, size_t *ret_asked,
		      struct neap_claim **ret, struct neap_buf *why,
		      struct neap_error *err)
{
	int failed = claim_any(scheduler, pod, choice, ret_asked, ret, why, err);

	if (failed != -NEAP_ENOFIT ||
	    choice->looked_at >= neap_decide_nodes(scheduler->decide))
		return failed;
	failed = neap_decide_pod_of_all(scheduler->decide, pod, choice, err);
	if (failed <= 0)
		return failed ? failed : -NEAP_ENOFIT;
	return claim_any(scheduler, pod, choice, ret_asked, ret, why, err);
}

static void refuse_claim(struct neap_scheduler *scheduler, const struct neap_pod *pod,
			 const char *key, size_t asked, const char *why,
			 const struct neap_error *err)
{
	bool is_room = err->code == NEAP_ENOFIT;
	neap_auto_buf struct neap_buf message = {0};

	neap_queue_park(scheduler->queue, key,
			is_room ? neap_decide_wakes(scheduler->decide) : 0,
			scheduler->now());
	neap_buf_init(&message, MESSAGE_BYTES);
	if (is_room)
		neap_decide_explain_claims(scheduler->decide, asked, why, &message);
	else
		neap_buf_adds(&message, err->msg);
	scheduler_tell_refused(scheduler, pod, message.data, NULL);
}

/* Returns how many nodes were asked for CPUs. */
static size_t bind_pod(struct neap_scheduler *scheduler, struct neap_pod *pod,
		       const char *key, struct neap_choice *choice)
{
	neap_auto_buf struct neap_buf why = {0};
	struct neap_claim *claim = NULL;
	struct neap_error err = {0};
	struct bind *bind;
	size_t asked;
	int failed;

	neap_buf_init(&why, MESSAGE_BYTES);
	failed = claim_best(scheduler, pod, choice, &asked, &claim, &why, &err);
	if (failed == -NEAP_ENOFIT || failed == -NEAP_EINVAL) {
		refuse_claim(scheduler, pod, key, asked, *why.data ? why.data : err.msg,
			     &err);
		return asked;
	}
	bind = failed < 0 ? NULL : neap_alloc(sizeof(*bind));
	if (!bind)
		neap_claim_free(claim);
	if (!bind)
		failed = -NEAP_ENOMEM;
	else if (neap_pod_is_stand(pod))
		failed = scheduler_place_stand_take(scheduler, pod, choice->row, claim,
						    false, bind, &err);
	else
		failed = scheduler_bind_take(scheduler, pod, choice->row, claim, bind,
					     &err);
	if (failed < 0)
		neap_queue_retry(scheduler->queue, key, scheduler->now());
	return asked;
}

/* Room is made by pods of lower priority: they go as they go when they are deleted, with
 * their grace. */
static void evict(struct neap_scheduler *scheduler, const struct neap_pod *pod,
		  const struct neap_victims *victims)
{
	for (size_t i = 0; i < victims->count; i++) {
		struct neap_pod *victim = victims->pods[i];
		struct neap_client_ask ask = {.resource = "pods",
					      .ns = victim->object->ns,
					      .name = victim->object->name};

		if (victim->object->is_deleting)
			continue;
		neap_cluster_mark_victim(victim);
		scheduler_tell_victim(scheduler, victim, pod, victims->node);
		neap_client_delete(scheduler->client, &ask, victim->object->uid, -1);
	}
}

/* When a policy may open a reservation to somebody who waits. */
static void note_again(struct neap_scheduler *scheduler)
{
	int64_t again = neap_decide_again(scheduler->decide);

	if (again > 0 && (!scheduler->again_usec || again < scheduler->again_usec))
		scheduler->again_usec = again;
}

static void refuse(struct neap_scheduler *scheduler, struct neap_pod *pod,
		   const char *key)
{
	neap_auto_buf struct neap_buf message = {0};
	struct neap_victims victims = {0};
	struct neap_error err = {0};
	const char *nominated = NULL;
	int ret;

	if (neap_pod_is_stand(pod) && scheduler_place_waiting(scheduler, pod, key))
		return;
	neap_buf_init(&message, MESSAGE_BYTES);
	ret = neap_decide_preempt(scheduler->decide, pod, &victims, &err);
	neap_decide_explain(scheduler->decide, &message);
	note_again(scheduler);
	if (ret == 0)
		nominated = "";
	else if (ret > 0 && victims.count)
		nominated = victims.node;
	if (nominated && !neap_cluster_nominate(scheduler->cluster, pod, nominated))
		victims.count = 0; /* the room would not be kept for it: another time */
	/* Others wait for what was kept for it, not itself. */
	scheduler_wake_for_room(scheduler);
	if (ret < 0 || victims.untried)
		neap_queue_retry(scheduler->queue, key, scheduler->now());
	else
		neap_queue_park(scheduler->queue, key,
				neap_decide_wakes(scheduler->decide), scheduler->now());
	scheduler_tell_refused(scheduler, pod, message.data, nominated);
	if (ret > 0)
		evict(scheduler, pod, &victims);
}

/* Returns what it cost. */
static size_t place_one(struct neap_scheduler *scheduler, const char *taken)
{
	struct neap_choice choice = {0};
	struct neap_error err = {0};
	struct neap_pod *pod;
	char key[NEAP_POD_KEY];
	int ret;

	(void)neap_strcopy(key, sizeof(key), taken);
	pod = neap_cluster_find_key(scheduler->cluster, key);
	if (!pod || !scheduler_wants(scheduler, pod) ||
	    (pod->seat.node && !neap_pod_is_stand(pod))) {
		neap_queue_remove(scheduler->queue, key);
		return 1;
	}
	if (pod->seat.node) {
		scheduler_look_at_waiting(scheduler, pod, key);
		return DECISION_LOOKS;
	}
	scheduler_use_profile(scheduler, pod->scheduler);
	neap_decide_set_now(scheduler->decide, scheduler->now());
	ret = neap_decide_pod(scheduler->decide, pod, &choice, &err);
	if (ret > 0) {
		size_t asked = bind_pod(scheduler, pod, key, &choice);

		return choice.looked_at + DECISION_LOOKS + CLAIM_LOOKS * (asked - 1);
	}
	if (ret == 0) {
		refuse(scheduler, pod, key);
	} else if (ret == -NEAP_EINVAL) {
		neap_queue_park(scheduler->queue, key, 0, scheduler->now());
		scheduler_tell_refused(scheduler, pod, err.msg, NULL);
	} else {
		neap_queue_retry(scheduler->queue, key, scheduler->now());
	}
	return neap_decide_nodes(scheduler->decide) + DECISION_LOOKS;
}

/* A binding of unknown outcome that did not come about: the pod is decided again. */
static bool is_still_free(struct neap_scheduler *scheduler, const struct neap_pod *pod)
{
	const struct neap_object *newest;
	const char *node;

	if (neap_pod_is_stand(pod))
		return false;
	newest = neap_client_newest(scheduler->client, "pods", pod->object->ns,
				    pod->object->name);
	node = newest ? neap_object_field(newest, "spec.nodeName") : NULL;
	return newest && strcmp(newest->uid, pod->object->uid) == 0 && (!node || !*node);
}

static void expire(struct neap_scheduler *scheduler)
{
	char key[NEAP_POD_KEY];
	struct neap_pod *pod;

	if (scheduler->unsure_usec && scheduler->unsure_usec <= scheduler->now())
		scheduler->unsure_usec = 0;
	for (;;) {
		pod = neap_cluster_expire(scheduler->cluster, scheduler->now());
		if (!pod)
			return;
		if (is_still_free(scheduler, pod)) {
			(void)neap_pod_seat_key(pod, key);
			neap_queue_retry(scheduler->queue, key, scheduler->now());
			neap_queue_wake(scheduler->queue,
					NEAP_MOVED_POD_GONE | NEAP_MOVED_CPUS |
						NEAP_MOVED_RESERVATION,
					scheduler->now());
			continue;
		}
		neap_log_line(scheduler->log, NEAP_LOG_WARN,
			      "scheduler: the binding of %s/%s was not seen",
			      pod->object->ns, pod->object->name);
		scheduler->is_lost = true;
	}
}

bool scheduler_place(struct neap_scheduler *scheduler)
{
	int64_t until = neap_clock_usec(CLOCK_THREAD_CPUTIME_ID) +
			neap_turn_share(scheduler->base, TURN_USEC);
	size_t cost = 0;

	expire(scheduler);
	while (cost < TURN_LOOKS && scheduler->bind_count < BINDS_MAX &&
	       !scheduler->is_lost && neap_clock_usec(CLOCK_THREAD_CPUTIME_ID) < until) {
		const char *key = neap_queue_take(scheduler->queue, scheduler->now());

		if (!key)
			return false;
		cost += place_one(scheduler, key);
	}
	/* With too many bindings on their way the next answer goes on. */
	return scheduler->bind_count < BINDS_MAX;
}
