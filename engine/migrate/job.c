/* SPDX-License-Identifier: Apache-2.0
 *
 * A step goes through the stages of a job from the first one, and stops at the first that
 * is not complete. The results of the stages are in the conditions of the status. */
#include <stdio.h>
#include <string.h>

#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "engine/migrate/arbitrate.h"
#include "engine/migrate/job_priv.h"
#include "engine/reserve/reserve.h"

static void fail_without_pod(struct job_pass *pass)
{
	job_fail_and_tell(pass, "MissingPod", "Abort job caused by missing Pod \"%s\"",
			  pass->pod_text);
}

/* --- what there is --- */

/* Whether the pod of the job's own is not there: none, or another one of its name. */
static bool is_pod_gone(const struct job_pass *pass)
{
	return !pass->view->pod ||
	       (*pass->job.pod_uid &&
		strcmp(neap_json_text_at(pass->view->pod, "metadata.uid"),
		       pass->job.pod_uid) != 0);
}

static const json_t *reservation_condition(const struct job_pass *pass, const char *type)
{
	return neap_json_condition(json_object_get(pass->view->reservation, "status"),
				   type);
}

static bool is_phase(const struct job_pass *pass, const char *phase)
{
	return strcmp(neap_json_text_at(pass->view->reservation, "status.phase"),
		      phase) == 0;
}

static const json_t *first_owner(const struct job_pass *pass)
{
	return json_array_get(
		neap_json_at(pass->view->reservation, "status.currentOwners"), 0);
}

/* --- stages; each returns whether the job goes on to the next one --- */

static bool begin(struct job_pass *pass)
{
	const struct neap_migrate_view *view = pass->view;

	if (pass->job.phase != NEAP_JOB_PENDING)
		return true;
	if (!*pass->job.pod_ns || !*pass->job.pod_name) {
		job_fail_and_tell(pass, "InvalidPodRef",
				  "Abort job caused by invalid PodRef");
		return false;
	}
	if (is_pod_gone(pass)) {
		fail_without_pod(pass);
		return false;
	}
	if (!*pass->job.pod_uid) {
		pass->job.pod_uid = neap_json_text_at(view->pod, "metadata.uid");
		job_patch_new(pass, "spec", "podRef", "uid",
			      json_string(pass->job.pod_uid));
	}
	job_set_text(pass, pass->status, "phase", "Running");
	return true;
}

static json_t *reference_new(const json_t *reservation)
{
	return json_pack("{s:s, s:s, s:s, s:s}", "kind", "Reservation", "apiVersion",
			 "v1alpha1", "name",
			 neap_json_text_at(reservation, "metadata.name"), "uid",
			 neap_json_text_at(reservation, "metadata.uid"));
}

static bool make_reservation(struct job_pass *pass)
{
	const struct neap_migrate_view *view = pass->view;

	if (job_names_reservation(view->job))
		return true;
	if (is_pod_gone(pass)) {
		fail_without_pod(pass);
	} else if (!view->reservation) {
		pass->step->act = NEAP_ACT_CREATE;
		pass->step->reservation = neap_migrate_reservation_new(
			view->job, view->pod, view->now_usec);
		if (!pass->step->reservation)
			pass->has_failed = true;
	} else {
		job_patch_new(pass, "spec", "reservationOptions", "reservationRef",
			      reference_new(view->reservation));
		job_tell(pass, false, "ReservationCreated",
			 "Successfully create Reservation \"%s\"", pass->reservation);
	}
	return false;
}

static bool find_reservation(struct job_pass *pass)
{
	const struct neap_migrate_view *view = pass->view;

	if (!view->reservation) {
		/* It has done its work, and may have been collected. */
		if (job_is_true(pass, "ReservationBound"))
			return true;
		job_fail_and_tell(pass, "MissingReservation",
				  "Abort job caused by missing Reservation \"%s\"",
				  pass->reservation);
		return false;
	}
	if (!*neap_json_text(neap_json_at(view->reservation, "metadata.labels"),
			     NEAP_KEY_RESERVATION_ORDER))
		pass->step->orders = true;
	if (!job_is_true(pass, "ReservationCreated") &&
	    !neap_migrate_made(view->job, view->reservation))
		job_patch_new(pass, "metadata", "annotations", NEAP_KEY_JOB_BORROWS,
			      json_string(pass->reservation));
	if (!job_is_true(pass, "ReservationCreated"))
		(void)job_set_condition(pass, "ReservationCreated", true, "", "");
	return true;
}

/* Whether the scheduler has reported for too long that there is no room. */
static bool is_hopeless(const struct job_pass *pass)
{
	const json_t *condition =
		neap_json_condition(pass->status, "ReservationScheduled");
	int64_t since;

	return pass->view->args->unschedulable_usec > 0 &&
	       neap_json_is_text(condition, "status", "False") &&
	       neap_time_parse(neap_json_text(condition, "lastTransitionTime"), &since,
			       NULL) == 0 &&
	       pass->view->now_usec - since >= pass->view->args->unschedulable_usec;
}

static void wait_for_place(struct job_pass *pass)
{
	int64_t limit = pass->view->args->unschedulable_usec;

	job_wait(pass);
	if (limit > 0 && limit < NEAP_MIGRATE_AGAIN_USEC)
		pass->step->again_usec = limit;
}

static bool is_placed(const struct job_pass *pass)
{
	return *neap_json_text_at(pass->view->reservation, "status.nodeName") &&
	       neap_json_is_text(reservation_condition(pass, "Scheduled"), "status",
				 "True");
}

static bool is_leaving(const struct job_pass *pass)
{
	return is_pod_gone(pass) ||
	       neap_json_at(pass->view->pod, "metadata.deletionTimestamp");
}

/* The mark is written before the pod is evicted: of a pod that lives it says only that
 * somebody was about to. */
static bool may_have_evicted(const struct job_pass *pass)
{
	return neap_json_condition(pass->status, "Eviction") || pass->view->is_asked ||
	       (!pass->view->is_refused && is_leaving(pass) &&
		strcmp(job_note_of(pass->view->job, NEAP_KEY_JOB_EVICTING),
		       pass->job.pod_uid) == 0 &&
		*pass->job.pod_uid);
}

static bool wait_for_reservation(struct job_pass *pass)
{
	const json_t *scheduled = reservation_condition(pass, "Scheduled");
	const char *message = neap_json_text(scheduled, "message");
	bool is_refused = !job_is_true(pass, "ReservationScheduled") &&
			  neap_json_is_text(scheduled, "status", "False") &&
			  neap_json_is_text(scheduled, "reason", "Unschedulable");

	if (!pass->view->reservation)
		return true;
	if (is_refused && job_set_condition(pass, "ReservationScheduled", false,
					    "Unschedulable", message))
		job_tell(pass, true, "Unschedulable", "%s", message);
	if (is_phase(pass, "") || is_phase(pass, "Pending")) {
		/* Somebody else deleted the pod: there is nobody to move. */
		if (is_pod_gone(pass) && !may_have_evicted(pass))
			fail_without_pod(pass);
		else if (is_refused && is_hopeless(pass))
			job_fail(pass, "Unschedulable", message);
		else
			wait_for_place(pass);
		return false;
	}
	if (is_phase(pass, "Failed") &&
	    neap_json_is_text(reservation_condition(pass, "Ready"), "reason",
			      "Expired")) {
		job_fail(pass, "ReservationExpired", "Reservation expired");
		return false;
	}
	if (!is_placed(pass)) {
		job_fail(pass, "Unschedulable", message);
		return false;
	}
	/* Its room is still somebody's. */
	if (is_phase(pass, "Waiting")) {
		job_wait(pass);
		return false;
	}
	return true;
}

static bool note_place(struct job_pass *pass)
{
	const char *node = neap_json_text_at(pass->view->reservation, "status.nodeName");
	char message[NEAP_MIGRATE_MESSAGE];

	if (!pass->view->reservation || job_is_true(pass, "ReservationScheduled"))
		return true;
	if (pass->view->pod &&
	    strcmp(neap_json_text_at(pass->view->pod, "spec.nodeName"), node) == 0) {
		job_fail_and_tell(pass, "ForbiddenMigratePod",
				  "Scheduler assignes the Reservation \"%s\" on the same "
				  "node as the Pod",
				  pass->reservation);
		return false;
	}
	(void)snprintf(message, sizeof(message),
		       "Assigned Reservation \"%s\" to node \"%s\"", pass->reservation,
		       node);
	job_set_text(pass, pass->status, "nodeName", node);
	if (job_set_condition(pass, "ReservationScheduled", true, "", ""))
		job_tell(pass, false, "ReservationScheduled", "%s", message);
	return true;
}

/* Whether the Reservation is for one pod that waits for a place itself. */
static bool is_for_pending_pod(const struct job_pass *pass)
{
	json_t *owner;
	size_t i;

	json_array_foreach (neap_json_at(pass->view->reservation, "spec.owners"), i,
			    owner)
		if (json_object_get(owner, "object") &&
		    !json_object_get(owner, "controller") &&
		    !json_object_get(owner, "labelSelector"))
			return true;
	return false;
}

static bool place_pending_pod(struct job_pass *pass)
{
	const json_t *pod = pass->view->pod, *owner = first_owner(pass);
	const json_t *scheduled =
		neap_json_condition(json_object_get(pod, "status"), "PodScheduled");
	char message[NEAP_MIGRATE_MESSAGE];

	if (!is_for_pending_pod(pass))
		return true;
	if (is_pod_gone(pass)) {
		fail_without_pod(pass);
	} else if (neap_json_is_text(scheduled, "status", "True")) {
		(void)snprintf(message, sizeof(message),
			       "Assign Pod \"%s\" to node \"%s\"", pass->pod_text,
			       neap_json_text_at(pod, "spec.nodeName"));
		(void)job_set_condition(pass, "PodScheduled", true, "", "");
		job_succeed(pass, message);
		job_tell(pass, false, "Complete", "%s", message);
	} else if (is_phase(pass, "Succeeded") &&
		   strcmp(neap_json_text(owner, "uid"), pass->job.pod_uid) != 0) {
		job_fail_and_tell(pass, "ForbiddenMigratePod",
				  "Reservation is already bound by another Pod");
	} else {
		(void)job_set_condition(pass, "PodScheduled", false, "Unschedulable",
					neap_json_text(scheduled, "message"));
		job_wait(pass);
	}
	return false;
}

/* No pod is evicted for a Reservation that its successor cannot use. */
static bool wait_for_node(struct job_pass *pass)
{
	return is_leaving(pass) || may_have_evicted(pass) || job_node_is_good(pass);
}

static bool evict(struct job_pass *pass)
{
	const json_t *condition = neap_json_condition(pass->status, "Eviction");
	const struct neap_migrate_view *view = pass->view;
	char message[NEAP_MIGRATE_MESSAGE];

	if (neap_json_is_text(condition, "status", "True"))
		return true;
	if (is_pod_gone(pass) && may_have_evicted(pass)) {
		(void)snprintf(message, sizeof(message), "Pod \"%s\" has been evicted",
			       pass->pod_text);
		if (job_set_condition(pass, "Eviction", true, "EvictComplete", message))
			job_tell(pass, false, "EvictComplete", "%s", message);
		return true;
	}
	if (is_pod_gone(pass)) {
		fail_without_pod(pass);
		return false;
	}
	/* A process that does not know whether it asked asks again, as long as the pod is
	 * not on its way. */
	if (neap_json_is_text(condition, "reason", "Evicting") &&
	    (view->is_asked || neap_json_at(view->pod, "metadata.deletionTimestamp"))) {
		job_wait(pass);
		return false;
	}
	/* Somebody else deletes the pod: it is not evicted, and its end does not end the
	 * job. */
	if (neap_json_at(view->pod, "metadata.deletionTimestamp") &&
	    !may_have_evicted(pass)) {
		job_wait(pass);
		return false;
	}
	/* The room is not the pod's successor's any more. A pod that is on its way may
	 * have its successor there already. */
	if (view->reservation && is_phase(pass, "Succeeded") && !may_have_evicted(pass)) {
		job_fail_and_tell(pass, "ForbiddenMigratePod",
				  "Reservation is already bound by another Pod");
		return false;
	}
	if (strcmp(job_note_of(view->job, NEAP_KEY_JOB_EVICTING), pass->job.pod_uid) != 0)
		job_patch_new(pass, "metadata", "annotations", NEAP_KEY_JOB_EVICTING,
			      json_string(pass->job.pod_uid));
	pass->step->act = NEAP_ACT_EVICT;
	return false;
}

static bool wait_for_owner(struct job_pass *pass)
{
	const json_t *owner = first_owner(pass);
	char message[NEAP_MIGRATE_MESSAGE];

	if (job_is_true(pass, "ReservationBound"))
		return true;
	if (!owner) {
		if (job_set_condition(pass, "PodBoundReservation", false,
				      "WaitForPodBindReservation",
				      "Waiting for Pod bind Reservation"))
			job_tell(pass, false, "WaitForPodBindReservation",
				 "Waiting for Pod bind Reservation");
		job_wait(pass);
		return false;
	}
	if (json_object_set_new(pass->status, "podRef", neap_json_deep_copy(owner)) < 0)
		pass->has_failed = true;
	(void)snprintf(message, sizeof(message), "Reservation bound by pod \"%s/%s\"",
		       neap_json_text(owner, "namespace"), neap_json_text(owner, "name"));
	if (job_set_condition(pass, "ReservationBound", true, "", message))
		job_tell(pass, false, "PodBoundReservation", "%s", message);
	return true;
}

static bool wait_for_ready(struct job_pass *pass, const char *new_name)
{
	const json_t *pod = pass->view->new_pod;
	const json_t *ready =
		neap_json_condition(json_object_get(pod, "status"), "Ready");
	char message[NEAP_MIGRATE_MESSAGE];

	if (pod && !neap_json_is_text(ready, "status", "True")) {
		(void)snprintf(message, sizeof(message), "Waiting for Bound Pod %s Ready",
			       new_name);
		if (job_set_condition(pass, "BoundPodReady", false,
				      "WaitForBoundPodReady", message))
			job_tell(pass, false, "WaitForBoundPodReady", "%s", message);
		job_wait(pass);
		return false;
	}
	(void)snprintf(message, sizeof(message), "Bind pod \"%s\" is ready", new_name);
	if (job_set_condition(pass, "BoundPodReady", true, "", message))
		job_tell(pass, false, "BoundPodReady", "%s", message);
	return true;
}

static void bind(struct job_pass *pass)
{
	const json_t *new_pod = NULL;
	char message[NEAP_MIGRATE_MESSAGE], name[NEAP_MIGRATE_MESSAGE / 2];

	if (!wait_for_owner(pass))
		return;
	new_pod = json_object_get(pass->status, "podRef");
	(void)snprintf(name, sizeof(name), "%s/%s", neap_json_text(new_pod, "namespace"),
		       neap_json_text(new_pod, "name"));
	if (!wait_for_ready(pass, name))
		return;
	(void)snprintf(message, sizeof(message), "Bind Pod \"%s\" in Reservation \"%s\"",
		       name, pass->reservation);
	(void)job_set_condition(pass, "PodBoundReservation", true, "", message);
	job_succeed(pass, message);
	job_tell(pass, false, "Complete", "%s", message);
}

static bool is_direct(const struct job_pass *pass)
{
	return pass->job.has_mode ? pass->job.is_direct : pass->view->args->is_direct;
}

static void carry_on(struct job_pass *pass)
{
	char message[NEAP_MIGRATE_MESSAGE];

	if (!begin(pass))
		return;
	/* Once the pod is on its way nothing is limited any more. */
	if (pass->view->is_limited && !pass->job.has_force && !is_pod_gone(pass) &&
	    !may_have_evicted(pass)) {
		job_wait(pass);
		return;
	}
	if (is_direct(pass)) {
		if (!evict(pass))
			return;
		(void)snprintf(message, sizeof(message), "Pod \"%s\" has been evicted",
			       pass->pod_text);
		job_succeed(pass, message);
		return;
	}
	if (make_reservation(pass) && find_reservation(pass) &&
	    wait_for_reservation(pass) && note_place(pass) && place_pending_pod(pass) &&
	    wait_for_node(pass) && evict(pass))
		bind(pass);
}

/* --- steps --- */

static void open_pass(struct job_pass *pass, const struct neap_migrate_view *view,
		      struct neap_migrate_step *step)
{
	const json_t *status = json_object_get(view->job, "status");

	memset(step, 0, sizeof(*step));
	memset(pass, 0, sizeof(*pass));
	pass->view = view;
	pass->step = step;
	neap_migrate_job_read(view->job, &pass->job);
	pass->reservation = neap_migrate_reservation_name(view->job);
	(void)snprintf(pass->pod_name, sizeof(pass->pod_name), "%s/%s", pass->job.pod_ns,
		       pass->job.pod_name);
	pass->pod_text = pass->pod_name;
	pass->status =
		json_is_object(status) ? neap_json_deep_copy(status) : json_object();
	pass->has_failed = pass->status == NULL;
}

static int close_pass(struct job_pass *pass, struct neap_error *err)
{
	const json_t *before = json_object_get(pass->view->job, "status");

	if (pass->has_failed) {
		json_decref(pass->status);
		neap_migrate_step_done(pass->step);
		return neap_error_nomem(err);
	}
	if (json_equal(pass->status, before) ||
	    (!json_is_object(before) && json_object_size(pass->status) == 0))
		json_decref(pass->status);
	else
		pass->step->status = pass->status;
	return 0;
}

int neap_migrate_step(const struct neap_migrate_view *view, struct neap_migrate_step *ret,
		      struct neap_error *err)
{
	struct job_pass pass;

	open_pass(&pass, view, ret);
	if (pass.has_failed || !neap_migrate_is_active(&pass.job) || pass.job.is_paused ||
	    (view->args->arbitrates && !pass.job.is_arbitrated))
		return close_pass(&pass, err);
	if (neap_migrate_is_overdue(&pass.job, view->now_usec))
		job_fail_and_tell(&pass, "Timeout", "Abort job caused by timeout");
	else
		carry_on(&pass);
	return close_pass(&pass, err);
}

int neap_migrate_timed_out(const struct neap_migrate_view *view,
			   struct neap_migrate_step *ret, struct neap_error *err)
{
	struct job_pass pass;

	open_pass(&pass, view, ret);
	if (!pass.has_failed)
		job_fail_and_tell(&pass, "Timeout", "Abort job caused by timeout");
	return close_pass(&pass, err);
}

int neap_migrate_forbidden(const struct neap_migrate_view *view,
			   struct neap_migrate_step *ret, struct neap_error *err)
{
	struct job_pass pass;

	open_pass(&pass, view, ret);
	if (!pass.has_failed)
		job_fail_and_tell(
			&pass, "ForbiddenMigratePod",
			"Pod \"%s\" is forbidden to migrate because it does not "
			"meet the requirements",
			pass.pod_text);
	return close_pass(&pass, err);
}

int neap_migrate_not_created(const struct neap_migrate_view *view, const char *why,
			     struct neap_migrate_step *ret, struct neap_error *err)
{
	struct job_pass pass;

	open_pass(&pass, view, ret);
	if (!pass.has_failed && job_set_condition(&pass, "ReservationCreated", false,
						  "FailedCreateReservation", why))
		job_tell(&pass, true, "FailedCreateReservation", "%s", why);
	job_wait(&pass);
	return close_pass(&pass, err);
}

int neap_migrate_evicted(const struct neap_migrate_view *view,
			 struct neap_migrate_step *ret, struct neap_error *err)
{
	char message[NEAP_MIGRATE_MESSAGE];
	struct job_pass pass;

	open_pass(&pass, view, ret);
	(void)snprintf(message, sizeof(message),
		       "Pod \"%s\" evicted from node \"%s\" by the reason \"%s\"",
		       pass.pod_text, neap_json_text_at(view->pod, "spec.nodeName"),
		       neap_migrate_reason_of(view->job));
	if (!pass.has_failed &&
	    job_set_condition(&pass, "Eviction", false, "Evicting", message))
		job_tell(&pass, false, "Evicting", "%s", message);
	job_wait(&pass);
	return close_pass(&pass, err);
}

int neap_migrate_would_evict(const struct neap_migrate_view *view,
			     struct neap_migrate_step *ret, struct neap_error *err)
{
	char message[NEAP_MIGRATE_MESSAGE];
	struct job_pass pass;

	open_pass(&pass, view, ret);
	if (pass.has_failed)
		return close_pass(&pass, err);
	(void)snprintf(message, sizeof(message),
		       "Pod \"%s\" would have been evicted from node \"%s\" (dryRun)",
		       pass.pod_text, neap_json_text_at(view->pod, "spec.nodeName"));
	job_succeed(&pass, message);
	job_set_text(&pass, pass.status, "reason", NEAP_MIGRATE_DRY_RUN);
	job_tell(&pass, false, "Complete", "%s", message);
	return close_pass(&pass, err);
}

int neap_migrate_not_evicted(const struct neap_migrate_view *view, const char *why,
			     struct neap_migrate_step *ret, struct neap_error *err)
{
	struct job_pass pass;

	open_pass(&pass, view, ret);
	job_tell(&pass, true, "Evicting", "Failed evict Pod \"%s\" caused by %s",
		 pass.pod_text, why);
	job_wait(&pass);
	return close_pass(&pass, err);
}

void neap_migrate_step_done(struct neap_migrate_step *step)
{
	json_decref(step->patch);
	json_decref(step->status);
	json_decref(step->reservation);
	memset(step, 0, sizeof(*step));
}
