/* SPDX-License-Identifier: Apache-2.0
 *
 * Migration jobs: arbitration and the steps of engine/migrate, on objects that are kept
 * here. */
#include <stdlib.h>
#include <string.h>

#include "engine/migrate/arbitrate.h"
#include "engine/sim/sim_priv.h"

#define LOOK_USEC (NEAP_SIM_SECOND / 2)

void sim_free_job(struct neap_sim_job *job)
{
	json_decref(job->job);
	free(job);
}

void sim_free_reservation(struct neap_sim_reservation *reservation)
{
	json_decref(reservation->tree);
	free(reservation->name);
	free(reservation);
}

static void publish(struct neap_sim *sim, const struct neap_sim_job *job)
{
	struct neap_error err;

	(void)sim_note(sim, neap_migrate_set_job(&sim->migrate, job->job, &err), &err);
}

void sim_add_job(struct neap_sim *sim, struct neap_sim_leave *leave,
		 const struct neap_sim_pod *pod)
{
	struct neap_sim_job *job = neap_alloc(sizeof(*job));
	char uid[NEAP_OBJECT_UID], now[32];

	if (!job || !neap_grow(&sim->jobs, sim->job_count, &sim->job_size, sizeof(job))) {
		free(job);
		(void)sim_is_made(sim, NULL);
		return;
	}
	neap_sim_uid(sim, uid);
	sim_time(sim->now_usec, now);
	(void)neap_strcopy(job->ns, sizeof(job->ns), pod->object->ns);
	(void)neap_strcopy(job->pod, sizeof(job->pod), pod->object->name);
	job->leave = leave;
	job->due_usec = sim->now_usec;
	job->job = json_pack(
		"{s:{s:s, s:s, s:s, s:{s:s, s:s, s:s}}, s:{s:s, s:s, s:{s:s, s:s, s:s}}}",
		"metadata", "name", uid, "uid", uid, "creationTimestamp", now,
		"annotations", NEAP_KEY_EVICT_REASON, leave->why, NEAP_KEY_EVICT_TRIGGER,
		leave->strategy, NEAP_KEY_JOB_LANDING, leave->told, "spec", "mode",
		"ReservationFirst", "ttl", "5m", "podRef", "namespace", job->ns, "name",
		job->pod, "uid", pod->object->uid);
	sim->jobs[sim->job_count++] = job;
	if (sim_is_made(sim, job->job))
		publish(sim, job);
}

/* --- what a step writes --- */

/* As a merge patch. */
static void merge(json_t *target, const json_t *patch)
{
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)patch, name, value) {
		json_t *old = json_object_get(target, name);

		if (json_is_null(value)) {
			(void)json_object_del(target, name);
		} else if (json_is_object(value)) {
			if (!json_is_object(old)) {
				old = json_object();
				(void)json_object_set_new(target, name, old);
			}
			merge(old, value);
		} else {
			(void)json_object_set(target, name, value);
		}
	}
}

static struct neap_sim_reservation *find(const struct neap_sim *sim, const char *name)
{
	for (size_t i = sim->reservation_count; i-- > 0;)
		if (sim->reservations[i]->tree &&
		    strcmp(sim->reservations[i]->name, name) == 0)
			return sim->reservations[i];
	return NULL;
}

static void create_take(struct neap_sim *sim, const char *name, json_t *tree)
{
	struct neap_sim_reservation *reservation = neap_alloc(sizeof(*reservation));
	json_t *meta = json_object_get(tree, "metadata");
	char uid[NEAP_OBJECT_UID], now[32];

	neap_sim_uid(sim, uid);
	sim_time(sim->now_usec, now);
	(void)json_object_set_new(meta, "uid", json_string(uid));
	(void)json_object_set_new(meta, "creationTimestamp", json_string(now));
	if (reservation)
		reservation->name = neap_strdup(name);
	if (!reservation || !reservation->name ||
	    !neap_grow(&sim->reservations, sim->reservation_count, &sim->reservation_size,
		       sizeof(reservation))) {
		if (reservation)
			free(reservation->name);
		free(reservation);
		json_decref(tree);
		(void)sim_is_made(sim, NULL);
		return;
	}
	reservation->tree = tree;
	sim->reservations[sim->reservation_count++] = reservation;
	sim_publish_reservation(sim, reservation);
}

static void drop(struct neap_sim *sim, const char *name)
{
	struct neap_sim_reservation *reservation = find(sim, name);
	unsigned moved;

	if (!reservation)
		return;
	neap_reserve_book_remove(sim->book, name, &moved);
	json_decref(reservation->tree);
	reservation->tree = NULL;
	sim->has_moved = true;
}

static void give_order(struct neap_sim *sim, const char *name)
{
	struct neap_sim_reservation *reservation = find(sim, name);
	json_t *labels = reservation
				 ? neap_json_need_take(
					   json_object_get(reservation->tree, "metadata"),
					   "labels", json_object())
				 : NULL;
	char order[32];

	if (!labels)
		return;
	(void)snprintf(order, sizeof(order), "%lld", (long long)(sim->now_usec / 1000));
	(void)json_object_set_new(labels, NEAP_KEY_RESERVATION_ORDER, json_string(order));
	sim_publish_reservation(sim, reservation);
}

struct pass {
	struct neap_sim *sim;
	struct neap_sim_job *job;
	struct neap_migrate_args defaults;
	struct neap_migrate_view view;
	json_t *pod, *new_pod;
};

static json_t *tree_of(const struct neap_sim_pod *pod)
{
	return pod ? neap_object_tree(pod->object) : NULL;
}

static void look_around(struct pass *pass)
{
	struct neap_sim *sim = pass->sim;
	struct neap_sim_job *job = pass->job;
	const struct neap_sim_reservation *reservation =
		find(sim, neap_migrate_reservation_name(job->job));
	const json_t *owner =
		reservation ? json_array_get(neap_json_at(reservation->tree,
							  "status.currentOwners"),
					     0)
			    : NULL;

	json_decref(pass->pod);
	json_decref(pass->new_pod);
	pass->pod = tree_of(neap_sim_find_pod(sim, job->ns, job->pod));
	pass->new_pod =
		owner ? tree_of(neap_sim_find_pod(sim, neap_json_text(owner, "namespace"),
						  neap_json_text(owner, "name")))
		      : NULL;
	pass->view = (struct neap_migrate_view){
		.job = job->job,
		.pod = pass->pod,
		.reservation = reservation ? reservation->tree : NULL,
		.new_pod = pass->new_pod,
		.args = sim->migrate_args ? sim->migrate_args : &pass->defaults,
		.now_usec = sim->now_usec,
		.is_refused = job->is_refused,
		.is_asked = job->leave->left_usec > 0,
	};
}

/* Writes it, and ends it. Returns what is left to do. */
static enum neap_migrate_act apply(struct pass *pass, struct neap_migrate_step *step)
{
	struct neap_sim *sim = pass->sim;
	struct neap_sim_job *job = pass->job;
	neap_auto_free char *name = neap_strdup(neap_migrate_reservation_name(job->job));
	enum neap_migrate_act act = step->act;

	if (!sim_is_made(sim, name))
		return NEAP_ACT_NONE;
	if (step->patch)
		merge(job->job, step->patch);
	if (step->orders)
		give_order(sim, name);
	if (step->drops)
		drop(sim, name);
	if (step->status)
		(void)json_object_set(job->job, "status", step->status);
	if (act == NEAP_ACT_CREATE) {
		create_take(sim, name, step->reservation);
		step->reservation = NULL;
	}
	job->due_usec = step->again_usec ? sim->now_usec + step->again_usec
					 : sim->now_usec + LOOK_USEC;
	publish(sim, job);
	neap_migrate_step_done(step);
	return act;
}

static bool is_over(const struct neap_sim *sim, const struct neap_sim_job *job)
{
	const struct neap_migrate_job *known = neap_migrate_find_job(
		&sim->migrate,
		neap_json_text(json_object_get(job->job, "metadata"), "name"));

	return !known || !neap_migrate_is_active(known);
}

static int evict(struct pass *pass, struct neap_error *err)
{
	struct neap_sim *sim = pass->sim;
	struct neap_sim_job *job = pass->job;
	struct neap_sim_pod *pod = neap_sim_find_pod(sim, job->ns, job->pod);
	struct neap_migrate_step step = {0};
	int rc;

	look_around(pass);
	job->is_refused = !pod || !sim_let_go(sim, job->leave, pod);
	rc = job->is_refused ? neap_migrate_not_evicted(&pass->view, job->leave->refusal,
							&step, err)
			     : neap_migrate_evicted(&pass->view, &step, err);
	if (rc == 0)
		(void)apply(pass, &step);
	return rc;
}

static void end(struct neap_sim *sim, struct neap_sim_job *job)
{
	job->due_usec = NEAP_SIM_NEVER;
	if (job->leave->state != NEAP_LEAVE_ASKED)
		return;
	job->leave->state = NEAP_LEAVE_REFUSED;
	job->leave->refusal = "its job failed";
	(void)sim;
}

static int move(struct pass *pass, struct neap_error *err)
{
	struct neap_sim_job *job = pass->job;
	enum neap_migrate_act act = NEAP_ACT_CREATE;
	int rc = 0;

	while (rc == 0 && act == NEAP_ACT_CREATE && pass->sim->rc == 0) {
		struct neap_migrate_step step = {0};

		look_around(pass);
		rc = neap_migrate_step(&pass->view, &step, err);
		if (rc == 0)
			act = apply(pass, &step);
	}
	if (rc == 0 && act == NEAP_ACT_EVICT)
		rc = evict(pass, err);
	if (rc == 0 && is_over(pass->sim, job))
		end(pass->sim, job);
	return rc;
}

/* --- arbitration --- */

static int know(struct pass *pass, const struct neap_migrate_job *job,
		const struct neap_migrate_args *args, struct neap_error *err)
{
	json_t *pod;
	int rc;

	if (neap_migrate_is_known(&pass->sim->migrate, job))
		return 0;
	pod = tree_of(neap_sim_find_pod(pass->sim, job->pod_ns, job->pod_name));
	rc = neap_migrate_know(&pass->sim->migrate, args, pod, err);
	json_decref(pod);
	return rc;
}

static int arbitrate(struct pass *pass, struct neap_error *err)
{
	struct neap_sim *sim = pass->sim;
	struct neap_migrate_waiting *list =
		neap_alloc_array(sim->job_count + 1, sizeof(*list));
	struct neap_migrate_question ask = {
		.args = sim->migrate_args ? sim->migrate_args : &pass->defaults,
		.cluster = &sim->migrate,
		.arbitrates = true,
	};
	size_t count = 0;
	int rc = 0;

	if (!list)
		return neap_error_nomem(err);
	for (size_t i = 0; rc == 0 && i < sim->job_count; i++) {
		struct neap_sim_job *job = sim->jobs[i];
		struct neap_migrate_job *known = neap_migrate_find_job(
			&sim->migrate,
			neap_json_text(json_object_get(job->job, "metadata"), "name"));

		if (job->due_usec == NEAP_SIM_NEVER || !known ||
		    !neap_migrate_is_waiting(known, sim->now_usec))
			continue;
		rc = know(pass, known, ask.args, err);
		if (rc == 0)
			neap_migrate_wait_init(&sim->migrate, known, &list[count++]);
	}
	if (rc == 0)
		rc = neap_migrate_sort(list, count, err);
	if (rc == 0)
		neap_migrate_judge(&ask, list, count);
	for (size_t i = 0; rc == 0 && i < count; i++)
		for (size_t k = 0; k < sim->job_count; k++) {
			struct neap_sim_job *job = sim->jobs[k];
			struct neap_migrate_step step = {0};

			if (!neap_json_is_text(json_object_get(job->job, "metadata"),
					       "name", list[i].job->name))
				continue;
			pass->job = job;
			look_around(pass);
			if (list[i].verdict == NEAP_VERDICT_FAILS) {
				rc = neap_migrate_forbidden(&pass->view, &step, err);
				if (rc == 0)
					(void)apply(pass, &step);
				end(sim, job);
			} else if (list[i].verdict == NEAP_VERDICT_PASSES) {
				json_t *notes = neap_json_need_take(
					json_object_get(job->job, "metadata"),
					"annotations", json_object());

				(void)json_object_set_new(notes, NEAP_KEY_ARBITRATED,
							  json_string("true"));
				publish(sim, job);
			}
			break;
		}
	free(list);
	return rc;
}

static bool is_arbitrated(const struct neap_sim *sim, const struct neap_sim_job *job)
{
	const struct neap_migrate_job *known = neap_migrate_find_job(
		&sim->migrate,
		neap_json_text(json_object_get(job->job, "metadata"), "name"));

	return known && known->is_arbitrated;
}

static int move_one(struct pass *pass, struct neap_error *err)
{
	struct neap_sim *sim = pass->sim;
	struct neap_sim_job *job = pass->job;
	struct neap_migrate_job *known = neap_migrate_find_job(
		&sim->migrate,
		neap_json_text(json_object_get(job->job, "metadata"), "name"));
	struct neap_migrate_step step = {0};
	int rc = 0;

	if (known && neap_migrate_is_overdue(known, sim->now_usec)) {
		look_around(pass);
		rc = neap_migrate_timed_out(&pass->view, &step, err);
		if (rc == 0)
			(void)apply(pass, &step);
		end(sim, job);
		return rc;
	}
	if (!is_arbitrated(sim, job)) {
		job->due_usec = sim->now_usec + LOOK_USEC;
		return 0;
	}
	return move(pass, err);
}

void sim_move_jobs(struct neap_sim *sim)
{
	struct pass pass = {.sim = sim};
	struct neap_error err;
	bool is_due = false;
	int rc;

	for (size_t i = 0; i < sim->job_count; i++)
		is_due = is_due || sim->jobs[i]->due_usec <= sim->now_usec;
	if (!is_due)
		return;
	rc = neap_migrate_args_init(&pass.defaults, NULL, &err);
	if (rc == 0)
		rc = arbitrate(&pass, &err);
	for (size_t i = 0; rc == 0 && i < sim->job_count; i++) {
		pass.job = sim->jobs[i];
		if (pass.job->due_usec <= sim->now_usec)
			rc = move_one(&pass, &err);
	}
	json_decref(pass.pod);
	json_decref(pass.new_pod);
	neap_migrate_args_done(&pass.defaults);
	(void)sim_note(sim, rc, &err);
}
