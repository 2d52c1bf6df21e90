/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads facts from a job. */
#include <string.h>

#include "engine/json/json.h"
#include "engine/migrate/job_priv.h"

#define MINUTE_USEC (INT64_C(60) * 1000000)

const char *job_note_of(const json_t *object, const char *key)
{
	return neap_json_text(neap_json_at(object, "metadata.annotations"), key);
}

const char *neap_migrate_reservation_name(const json_t *job)
{
	const char *name =
		neap_json_text_at(job, "spec.reservationOptions.reservationRef.name");

	if (!*name)
		name = neap_json_text_at(
			job, "spec.reservationOptions.template.metadata.name");
	return *name ? name : neap_json_text_at(job, "metadata.uid");
}

bool job_names_reservation(const json_t *job)
{
	return *neap_json_text_at(job, "spec.reservationOptions.reservationRef.name") !=
	       '\0';
}

/* Of the migration job that the Reservation was made for; "": nobody says. */
static const char *maker_of(const json_t *reservation)
{
	json_t *owner;
	size_t i;

	json_array_foreach (neap_json_at(reservation, "metadata.ownerReferences"), i,
			    owner)
		if (neap_json_is_text(owner, "kind", "PodMigrationJob"))
			return neap_json_text(owner, "uid");
	return "";
}

/* It says who it was made for, or has that one's uid as its name. One that says neither,
 * and that the job has had from the start and is not marked as borrowed, was made by
 * whoever carried the job on before. */
bool neap_migrate_made(const json_t *job, const json_t *reservation)
{
	const json_t *condition =
		neap_json_condition(json_object_get(job, "status"), "ReservationCreated");
	const char *uid = neap_json_text_at(job, "metadata.uid");

	if (!reservation || *job_note_of(job, NEAP_KEY_JOB_BORROWS))
		return false;
	if (*maker_of(reservation))
		return strcmp(maker_of(reservation), uid) == 0;
	return strcmp(neap_json_text_at(reservation, "metadata.name"), uid) == 0 ||
	       neap_json_is_text(condition, "status", "True");
}

bool neap_migrate_keeps_room(const struct neap_migrate_view *view)
{
	const json_t *condition =
		neap_json_condition(json_object_get(view->job, "status"), "Eviction");
	bool is_leaving = strcmp(neap_json_text_at(view->pod, "metadata.uid"),
				 neap_json_text_at(view->job, "spec.podRef.uid")) != 0 ||
			  neap_json_at(view->pod, "metadata.deletionTimestamp");

	return condition && is_leaving && !job_node_is_cordoned(view) &&
	       strcmp(neap_json_text_at(view->reservation, "status.phase"),
		      "Available") == 0 &&
	       json_array_size(neap_json_at(view->reservation, "status.currentOwners")) ==
		       0;
}

enum neap_migrate_policy neap_migrate_policy_of(const struct neap_migrate_view *view)
{
	const json_t *objects[] = {view->pod, view->job};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(objects); i++) {
		const char *label =
			neap_json_text(neap_json_at(objects[i], "metadata.labels"),
				       NEAP_KEY_EVICT_POLICY);

		for (int p = 0; p < NEAP_MIGRATE_POLICY_COUNT; p++)
			if (strcmp(label, neap_migrate_policies[p]) == 0)
				return (enum neap_migrate_policy)p;
		if (*label)
			break; /* an unknown one counts as none */
	}
	return view->args->policy;
}

const char *neap_migrate_reason_of(const json_t *job)
{
	const char *reason = job_note_of(job, NEAP_KEY_EVICT_REASON);

	if (!*reason)
		reason = job_note_of(job, NEAP_KEY_EVICT_TRIGGER);
	return *reason ? reason : "NotSet";
}

int64_t neap_migrate_scavenged_usec(const struct neap_migrate_job *job)
{
	return job->created_usec +
	       (job->ttl_usec > 0 ? job->ttl_usec + 5 * MINUTE_USEC : 30 * MINUTE_USEC);
}
