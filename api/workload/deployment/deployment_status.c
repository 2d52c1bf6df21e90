/* SPDX-License-Identifier: Apache-2.0
 *
 * The status of a Deployment, and whether it progresses. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/workload/deployment/deployments_priv.h"
#include "engine/json/json.h"

#define PROGRESSING "Progressing"
#define SECOND      INT64_C(1000000)

struct counts {
	int64_t replicas, updated, ready, available, unavailable;
};

/* --- conditions --- */

json_t *rollout_find_condition(const struct rollout *rollout, const char *type)
{
	return neap_json_find(rollout->conditions, "type", type);
}

static void rollout_drop_condition(struct rollout *rollout, const char *type)
{
	for (size_t i = json_array_size(rollout->conditions); i-- > 0;)
		if (strcmp(neap_tree_text(json_array_get(rollout->conditions, i), "type"),
			   type) == 0)
			(void)json_array_remove(rollout->conditions, i);
}

/* since: when the status changed; takes the reference. */
static void put_condition_take(struct rollout *rollout, const char *type,
			       const char *status, const char *reason,
			       const char *message, json_t *since, json_t *updated)
{
	json_t *item = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "type", type, "status",
				 status, "reason", reason, "message", message,
				 "lastTransitionTime", since, "lastUpdateTime", updated);

	rollout_drop_condition(rollout, type);
	if (json_array_append_new(rollout->conditions, item) < 0)
		rollout->is_short = true;
}

static bool says(const json_t *condition, const char *member, const char *text)
{
	return strcmp(neap_tree_text(condition, member), text) == 0;
}

/* The time of the existing condition if it has the same status, else now. */
static json_t *since_of(const struct rollout *rollout, const json_t *before,
			const char *status)
{
	json_t *since = json_object_get(before, "lastTransitionTime");

	return since && says(before, "status", status) ? json_incref(since)
						       : neap_tree_time_new(rollout->now);
}

void rollout_condition(struct rollout *rollout, const char *type, const char *status,
		       const char *reason, const char *fmt, ...)
{
	const json_t *before = rollout_find_condition(rollout, type);
	char message[1024];
	va_list args;

	if (says(before, "status", status) && says(before, "reason", reason))
		return;
	va_start(args, fmt);
	(void)vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	put_condition_take(rollout, type, status, reason, message,
			   since_of(rollout, before, status),
			   neap_tree_time_new(rollout->now));
}

void rollout_check_paused(struct rollout *rollout)
{
	const json_t *condition = rollout_find_condition(rollout, PROGRESSING);
	bool is_paused = json_is_true(neap_tree_at(rollout->tree, "spec.paused"));
	bool was_paused = says(condition, "reason", "DeploymentPaused");

	if (!rollout->has_deadline ||
	    says(condition, "reason", "ProgressDeadlineExceeded"))
		return;
	if (is_paused && !was_paused)
		rollout_condition(rollout, PROGRESSING, "Unknown", "DeploymentPaused",
				  "Deployment is paused");
	else if (!is_paused && was_paused)
		rollout_condition(rollout, PROGRESSING, "Unknown", "DeploymentResumed",
				  "Deployment is resumed");
}

/* --- counting --- */

static struct counts count_members(const struct rollout *rollout)
{
	struct counts counts = {0};

	for (size_t i = 0; i < rollout->count; i++) {
		const struct member *member = &rollout->members[i];

		counts.replicas += member->status_replicas;
		counts.ready += member->facts ? member->facts->ready : 0;
		counts.available += member->facts ? member->facts->available : 0;
		if (member == rollout->current)
			counts.updated = member->status_replicas;
	}
	if (counts.replicas > counts.available)
		counts.unavailable = counts.replicas - counts.available;
	return counts;
}

static bool is_complete(const struct rollout *rollout, const struct counts *counts)
{
	return counts->updated == rollout->replicas &&
	       counts->replicas == rollout->replicas &&
	       counts->available == rollout->replicas;
}

/* By the stored status, not by the one being written. */
bool rollout_is_complete(const struct rollout *rollout)
{
	const json_t *status = json_object_get(rollout->tree, "status");
	struct counts counts = {
		.replicas = neap_tree_int(status, "replicas", 0),
		.updated = neap_tree_int(status, "updatedReplicas", 0),
		.available = neap_tree_int(status, "availableReplicas", 0),
	};

	return is_complete(rollout, &counts) &&
	       neap_tree_int(status, "observedGeneration", 0) >=
		       neap_tree_int(rollout->tree, "metadata.generation", 0);
}

/* --- progress --- */

static bool is_progressing(const struct rollout *rollout, const struct counts *counts)
{
	const json_t *status = json_object_get(rollout->tree, "status");
	int64_t updated = neap_tree_int(status, "updatedReplicas", 0);

	return counts->updated > updated ||
	       counts->replicas - counts->updated <
		       neap_tree_int(status, "replicas", 0) - updated ||
	       counts->ready > neap_tree_int(status, "readyReplicas", 0) ||
	       counts->available > neap_tree_int(status, "availableReplicas", 0);
}

static int64_t deadline_of(const struct rollout *rollout, const json_t *condition)
{
	int64_t from = neap_tree_time(condition, "lastUpdateTime");

	return (from == NEAP_MISSING ? rollout->now : from) +
	       rollout->deadline_s * SECOND;
}

static bool is_timed_out(const struct rollout *rollout)
{
	const json_t *condition = rollout_find_condition(rollout, PROGRESSING);

	if (!condition || says(condition, "reason", "NewReplicaSetAvailable"))
		return false;
	return says(condition, "reason", "ProgressDeadlineExceeded") ||
	       deadline_of(rollout, condition) < rollout->now;
}

/* The object that messages are about. */
static const char *subject(const struct rollout *rollout, char *buf, size_t size)
{
	if (rollout->current)
		(void)snprintf(buf, size, "ReplicaSet \"%s\"", rollout->current->name);
	else
		(void)snprintf(buf, size, "Deployment \"%s\"", rollout->owner->name);
	return buf;
}

static void tell_progress(struct rollout *rollout, const struct counts *counts)
{
	const json_t *before = rollout_find_condition(rollout, PROGRESSING);
	char name[NEAP_OBJECT_NAME + 16], message[NEAP_OBJECT_NAME + 64];

	(void)subject(rollout, name, sizeof(name));
	if (counts->replicas == counts->updated &&
	    says(before, "reason", "NewReplicaSetAvailable"))
		return; /* the rollout is over */
	if (is_complete(rollout, counts)) {
		rollout_condition(rollout, PROGRESSING, "True", "NewReplicaSetAvailable",
				  "%s has successfully progressed.", name);
	} else if (is_progressing(rollout, counts)) {
		/* Each step sets the condition's time: the deadline counts from it. */
		(void)snprintf(message, sizeof(message), "%s is progressing.", name);
		put_condition_take(rollout, PROGRESSING, "True", "ReplicaSetUpdated",
				   message, since_of(rollout, before, "True"),
				   neap_tree_time_new(rollout->now));
	} else if (is_timed_out(rollout)) {
		rollout_condition(rollout, PROGRESSING, "False",
				  "ProgressDeadlineExceeded",
				  "%s has timed out progressing.", name);
	}
}

static bool has_failure(const struct member *member)
{
	return member && member->facts && member->facts->has_failure;
}

/* A member with a failure to report, preferably the current one; NULL: none. */
static const struct member *find_failing(const struct rollout *rollout)
{
	const struct member *failing =
		has_failure(rollout->current) ? rollout->current : NULL;

	for (size_t i = 0; i < rollout->count && !failing; i++)
		if (has_failure(&rollout->members[i]))
			failing = &rollout->members[i];
	return failing;
}

static void copy_failure(struct rollout *rollout, const json_t *failure)
{
	const json_t *before = rollout_find_condition(rollout, REPLICA_FAILURE);
	json_t *since = json_object_get(failure, "lastTransitionTime");

	if (says(before, "reason", neap_tree_text(failure, "reason")) &&
	    says(before, "status", neap_tree_text(failure, "status")))
		return;
	put_condition_take(rollout, REPLICA_FAILURE, neap_tree_text(failure, "status"),
			   neap_tree_text(failure, "reason"),
			   neap_tree_text(failure, "message"), json_incref(since),
			   json_incref(since));
}

static void tell_failure(struct rollout *rollout)
{
	const struct member *failing = find_failing(rollout);
	json_t *tree;

	if (!failing) {
		rollout_drop_condition(rollout, REPLICA_FAILURE);
		return;
	}
	neap_feed_spend(rollout->deployments->feed, neap_steps_of_text(failing->object));
	tree = neap_object_tree(failing->object);
	if (tree)
		copy_failure(rollout, neap_tree_condition(tree, REPLICA_FAILURE));
	else
		rollout->is_short = true;
	json_decref(tree);
}

static void tell_available(struct rollout *rollout, const struct counts *counts)
{
	if (counts->available >= rollout->replicas - rollout->unavailable)
		rollout_condition(rollout, "Available", "True",
				  "MinimumReplicasAvailable",
				  "Deployment has minimum availability.");
	else
		rollout_condition(rollout, "Available", "False",
				  "MinimumReplicasUnavailable",
				  "Deployment does not have minimum availability.");
}

/* --- the status --- */

/* As a kube-apiserver does, omits zeros. */
static int put(json_t *status, const char *name, int64_t value)
{
	return json_object_set_new(status, name,
				   value > 0 ? json_integer(value) : json_null());
}

static json_t *make_status(const struct rollout *rollout, const struct counts *counts)
{
	json_t *status = json_object();
	int ret = 0;

	ret |= put(status, "observedGeneration",
		   neap_tree_int(rollout->tree, "metadata.generation", 0));
	ret |= put(status, "replicas", counts->replicas);
	ret |= put(status, "updatedReplicas", counts->updated);
	ret |= put(status, "readyReplicas", counts->ready);
	ret |= put(status, "availableReplicas", counts->available);
	ret |= put(status, "unavailableReplicas", counts->unavailable);
	ret |= json_object_set(status, "conditions", rollout->conditions);
	if (rollout->collisions != NEAP_MISSING)
		ret |= put(status, "collisionCount", rollout->collisions);
	return neap_json_made(ret == 0, status);
}

static bool is_revision_so(const struct rollout *rollout, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%lld", (long long)rollout->revision);
	return rollout->revision == NEAP_MISSING ||
	       strcmp(neap_tree_entry(rollout->tree, "metadata.annotations", REVISION),
		      buf) == 0;
}

/* Takes patch; NULL means out of memory. */
static void write_take(struct rollout *rollout, bool is_status, json_t *patch)
{
	struct neap_client_ask ask;

	neap_feed_spend(rollout->deployments->feed, neap_steps_of_write(rollout->object));
	if (patch && rollout_ask(rollout, DEPLOYMENTS, rollout->owner->name, &ask))
		neap_client_patch_take(rollout->deployments->config.client, &ask,
				       is_status, patch);
	else
		json_decref(patch);
	rollout->is_short = rollout->is_short || !patch;
}

static void write_revision(struct rollout *rollout)
{
	char revision[32];

	if (is_revision_so(rollout, revision, sizeof(revision)))
		return;
	write_take(rollout, false,
		   json_pack("{s:{s:s, s:{s:s}}}", "metadata", "uid", rollout->owner->uid,
			     "annotations", REVISION, revision));
}

/* Takes status. */
static void write_status_take(struct rollout *rollout, json_t *status)
{
	if (neap_tree_is_so(json_object_get(rollout->tree, "status"), status)) {
		json_decref(status);
		return;
	}
	write_take(rollout, true,
		   json_pack("{s:{s:s}, s:o}", "metadata", "uid", rollout->owner->uid,
			     "status", status));
}

/* When the deadline will have passed, with a margin; 0: there is none. */
static int64_t next_look(const struct rollout *rollout, const struct counts *counts)
{
	const json_t *condition = rollout_find_condition(rollout, PROGRESSING);
	int64_t after;

	if (!rollout->has_deadline || !condition || is_complete(rollout, counts) ||
	    says(condition, "reason", "ProgressDeadlineExceeded"))
		return 0;
	after = deadline_of(rollout, condition) - rollout->now;
	return (after > 0 ? after : 0) + SECOND;
}

int64_t rollout_status(struct rollout *rollout, bool with_progress)
{
	struct counts counts = count_members(rollout);
	json_t *status;

	tell_available(rollout, &counts);
	if (with_progress) {
		if (rollout->has_deadline)
			tell_progress(rollout, &counts);
		else
			rollout_drop_condition(rollout, PROGRESSING);
		tell_failure(rollout);
	}
	status = rollout->is_short ? NULL : make_status(rollout, &counts);
	if (!status)
		return -1;
	write_revision(rollout);
	write_status_take(rollout, status);
	if (rollout->is_short)
		return -1;
	return with_progress ? next_look(rollout, &counts) : 0;
}
