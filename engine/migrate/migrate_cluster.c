/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/migrate/migrate_cluster.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "engine/migrate/migrate_counts.h"
#include "engine/migrate/scaled_owner.h"
#include "engine/migrate/workload_kinds.h"

#define KEY_MAX 600

int neap_migrate_cluster_init(struct neap_migrate_cluster *cluster,
			      struct neap_error *err)
{
	*cluster = (struct neap_migrate_cluster){.pods = neap_map_new(),
						 .owned = neap_map_new(),
						 .workloads = neap_map_new(),
						 .jobs = neap_map_new(),
						 .counts = neap_map_new(),
						 .scaled = neap_map_new()};
	if (cluster->pods && cluster->owned && cluster->workloads && cluster->jobs &&
	    cluster->counts && cluster->scaled)
		return 0;
	neap_migrate_cluster_done(cluster);
	return neap_error_nomem(err);
}

static void empty(struct neap_map *map, bool frees)
{
	const char *key;

	while (map && neap_map_count(map) > 0) {
		void *value = neap_map_at(map, neap_map_count(map) - 1, &key);

		(void)neap_map_remove(map, key);
		if (frees)
			free(value);
	}
}

void neap_migrate_cluster_clear(struct neap_migrate_cluster *cluster)
{
	neap_migrate_forget(cluster);
	empty(cluster->owned, false);
	empty(cluster->pods, true);
	empty(cluster->workloads, true);
	empty(cluster->jobs, true);
	empty(cluster->counts, true);
	empty(cluster->scaled, true);
}

void neap_migrate_forget(struct neap_migrate_cluster *cluster)
{
	for (size_t i = 0; cluster->pods && i < neap_map_count(cluster->pods); i++) {
		struct neap_migrate_pod *pod = neap_map_at(cluster->pods, i, NULL);

		free(pod->known);
		pod->known = NULL;
	}
}

void neap_migrate_cluster_done(struct neap_migrate_cluster *cluster)
{
	neap_migrate_cluster_clear(cluster);
	neap_map_free(cluster->owned);
	neap_map_free(cluster->pods);
	neap_map_free(cluster->workloads);
	neap_map_free(cluster->jobs);
	neap_map_free(cluster->counts);
	neap_map_free(cluster->scaled);
	*cluster = (struct neap_migrate_cluster){0};
}

/* --- reading --- */

static int64_t time_of(const char *text)
{
	int64_t ret;

	return neap_time_parse(text, &ret, NULL) < 0 ? 0 : ret;
}

const json_t *neap_migrate_controller(const json_t *pod)
{
	const json_t *list = neap_json_at(pod, "metadata.ownerReferences");
	json_t *one;
	size_t i;

	json_array_foreach (list, i, one)
		if (json_is_true(json_object_get(one, "controller")))
			return one;
	return NULL;
}

static bool is_serving(const json_t *pod)
{
	const char *phase = neap_json_text_at(pod, "status.phase");
	const json_t *ready =
		neap_json_condition(json_object_get(pod, "status"), "Ready");

	return strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0 &&
	       !neap_json_at(pod, "metadata.deletionTimestamp") &&
	       neap_json_is_text(ready, "status", "True");
}

static enum neap_job_phase phase_of(const char *text)
{
	static const struct {
		const char *text;
		enum neap_job_phase phase;
	} rows[] = {
		{"", NEAP_JOB_PENDING},          {"Pending", NEAP_JOB_PENDING},
		{"Running", NEAP_JOB_RUNNING},   {"Succeeded", NEAP_JOB_SUCCEEDED},
		{"Succeed", NEAP_JOB_SUCCEEDED}, {"Failed", NEAP_JOB_FAILED},
	};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		if (strcmp(text, rows[i].text) == 0)
			return rows[i].phase;
	return NEAP_JOB_ABORTED;
}

void neap_migrate_job_read(const json_t *job, struct neap_migrate_job *ret)
{
	const json_t *notes = neap_json_at(job, "metadata.annotations");
	const char *mode = neap_json_text_at(job, "spec.mode");

	*ret = (struct neap_migrate_job){
		.name = neap_json_text_at(job, "metadata.name"),
		.uid = neap_json_text_at(job, "metadata.uid"),
		.pod_ns = neap_json_text_at(job, "spec.podRef.namespace"),
		.pod_name = neap_json_text_at(job, "spec.podRef.name"),
		.pod_uid = neap_json_text_at(job, "spec.podRef.uid"),
		.reason = neap_json_text_at(job, "status.reason"),
		.profile = neap_json_text(notes, NEAP_KEY_JOB_PROFILE),
		.phase = phase_of(neap_json_text_at(job, "status.phase")),
		.is_arbitrated = neap_json_is_text(notes, NEAP_KEY_ARBITRATED, "true"),
		.is_paused = json_is_true(neap_json_at(job, "spec.paused")),
		.is_direct = strcmp(mode, "EvictDirectly") == 0,
		.has_mode = *mode != '\0',
		.has_force = json_object_get(notes, NEAP_KEY_FORCE) != NULL,
		.is_deleting = neap_json_at(job, "metadata.deletionTimestamp") != NULL,
		.created_usec =
			time_of(neap_json_text_at(job, "metadata.creationTimestamp")),
	};
	if (neap_duration_parse(neap_json_text_at(job, "spec.ttl"), &ret->ttl_usec,
				NULL) < 0)
		ret->ttl_usec = 0;
}

/* --- keeping --- */

/* Where facts have their texts. */
static const size_t pod_texts[] = {
	offsetof(struct neap_migrate_pod, ns),
	offsetof(struct neap_migrate_pod, name),
	offsetof(struct neap_migrate_pod, uid),
	offsetof(struct neap_migrate_pod, node),
	offsetof(struct neap_migrate_pod, owner_uid),
	offsetof(struct neap_migrate_pod, owner_kind),
	offsetof(struct neap_migrate_pod, owner_name),
};
static const size_t workload_texts[] = {
	offsetof(struct neap_migrate_workload, kind),
	offsetof(struct neap_migrate_workload, ns),
	offsetof(struct neap_migrate_workload, name),
	offsetof(struct neap_migrate_workload, uid),
	offsetof(struct neap_migrate_workload, owner_kind),
	offsetof(struct neap_migrate_workload, owner_name),
};
static const size_t job_texts[] = {
	offsetof(struct neap_migrate_job, name),
	offsetof(struct neap_migrate_job, uid),
	offsetof(struct neap_migrate_job, pod_ns),
	offsetof(struct neap_migrate_job, pod_name),
	offsetof(struct neap_migrate_job, pod_uid),
	offsetof(struct neap_migrate_job, reason),
	offsetof(struct neap_migrate_job, profile),
};

/* A copy of facts that has its texts in the same block; NULL without memory. */
static void *pack_new(const void *facts, size_t size, const size_t *texts, size_t count)
{
	size_t room = size;
	char *block, *at;

	for (size_t i = 0; i < count; i++)
		room += strlen(*(const char *const *)((const char *)facts + texts[i])) +
			1;
	block = neap_alloc(room);
	if (!block)
		return NULL;
	memcpy(block, facts, size);
	at = block + size;
	for (size_t i = 0; i < count; i++) {
		const char **text = (const char **)(void *)(block + texts[i]);
		size_t len = strlen(*text) + 1;

		memcpy(at, *text, len);
		*text = at;
		at += len;
	}
	return block;
}

static void key_of(char key[KEY_MAX], const char *kind, const char *ns, const char *name)
{
	(void)snprintf(key, KEY_MAX, "%s%s%s/%s", kind, *kind ? "/" : "", ns, name);
}

void neap_migrate_drop_pod(struct neap_migrate_cluster *cluster, const char *ns,
			   const char *name)
{
	char key[KEY_MAX];
	struct neap_migrate_pod *pod;

	key_of(key, "", ns, name);
	pod = neap_map_remove(cluster->pods, key);
	if (!pod)
		return;
	(void)neap_migrate_counts_pod(cluster, pod, -1);
	if (pod->is_scaled)
		neap_migrate_owner_release(cluster, pod);
	free(pod->known);
	free(pod);
}

int neap_migrate_set_pod(struct neap_migrate_cluster *cluster, const json_t *tree,
			 struct neap_error *err)
{
	const json_t *owner = neap_migrate_controller(tree);
	const struct neap_migrate_pod facts = {
		.ns = neap_json_text_at(tree, "metadata.namespace"),
		.name = neap_json_text_at(tree, "metadata.name"),
		.uid = neap_json_text_at(tree, "metadata.uid"),
		.node = neap_json_text_at(tree, "spec.nodeName"),
		.owner_uid = neap_json_text(owner, "uid"),
		.owner_kind = neap_workload_kind_of_owner(owner),
		.owner_name = neap_json_text(owner, "name"),
		.is_serving = is_serving(tree),
		.is_forced = json_object_get(neap_json_at(tree, "metadata.annotations"),
					     NEAP_KEY_FORCE) != NULL,
		.is_scaled = owner && neap_migrate_is_scaled(owner),
	};
	struct neap_migrate_pod *pod;
	char key[KEY_MAX];

	/* Held before the old pod is dropped, so that what is known of it stays. */
	if (facts.is_scaled && !neap_migrate_owner_hold(cluster, facts.ns, owner))
		return neap_error_nomem(err);
	neap_migrate_drop_pod(cluster, facts.ns, facts.name);
	pod = pack_new(&facts, sizeof(facts), pod_texts, NEAP_ARRAY_LEN(pod_texts));
	key_of(key, "", facts.ns, facts.name);
	if (!pod || !neap_map_set(cluster->pods, key, pod)) {
		free(pod);
		return neap_error_nomem(err);
	}
	return neap_migrate_counts_pod(cluster, pod, 1) ? 0 : neap_error_nomem(err);
}

/* --- workloads --- */

static void unlink_workload(struct neap_migrate_cluster *cluster,
			    struct neap_migrate_workload *workload)
{
	char key[KEY_MAX];

	key_of(key, workload->owner_kind, workload->ns, workload->owner_name);
	if (workload->next)
		workload->next->previous = workload->previous;
	if (workload->previous)
		workload->previous->next = workload->next;
	else if (*workload->owner_name && workload->next)
		/* In the place of a key that is there: needs no memory. */
		(void)neap_map_set(cluster->owned, key, workload->next);
	else if (*workload->owner_name)
		(void)neap_map_remove(cluster->owned, key);
}

static bool link_workload(struct neap_migrate_cluster *cluster,
			  struct neap_migrate_workload *workload)
{
	struct neap_migrate_workload *first;
	char key[KEY_MAX];

	workload->next = workload->previous = NULL;
	if (!*workload->owner_name)
		return true;
	key_of(key, workload->owner_kind, workload->ns, workload->owner_name);
	first = neap_map_find(cluster->owned, key);
	if (!first)
		return neap_map_set(cluster->owned, key, workload);
	workload->next = first->next;
	workload->previous = first;
	if (first->next)
		first->next->previous = workload;
	first->next = workload;
	return true;
}

void neap_migrate_drop_workload(struct neap_migrate_cluster *cluster, const char *kind,
				const char *ns, const char *name)
{
	char key[KEY_MAX];
	struct neap_migrate_workload *workload;

	key_of(key, kind, ns, name);
	workload = neap_map_remove(cluster->workloads, key);
	if (workload)
		unlink_workload(cluster, workload);
	free(workload);
}

int neap_migrate_set_workload(struct neap_migrate_cluster *cluster, const char *kind,
			      const json_t *tree, struct neap_error *err)
{
	const json_t *owner = neap_migrate_controller(tree);
	const json_t *replicas = neap_json_at(tree, "spec.replicas");
	const struct neap_migrate_workload facts = {
		.kind = kind,
		.ns = neap_json_text_at(tree, "metadata.namespace"),
		.name = neap_json_text_at(tree, "metadata.name"),
		.uid = neap_json_text_at(tree, "metadata.uid"),
		.owner_kind = neap_workload_kind_of_owner(owner),
		.owner_name = neap_json_text(owner, "name"),
		.replicas = json_is_integer(replicas) ? json_integer_value(replicas) : 1,
	};
	struct neap_migrate_workload *workload;
	char key[KEY_MAX];

	neap_migrate_drop_workload(cluster, kind, facts.ns, facts.name);
	workload = pack_new(&facts, sizeof(facts), workload_texts,
			    NEAP_ARRAY_LEN(workload_texts));
	key_of(key, kind, facts.ns, facts.name);
	if (!workload || !neap_map_set(cluster->workloads, key, workload)) {
		free(workload);
		return neap_error_nomem(err);
	}
	return link_workload(cluster, workload) ? 0 : neap_error_nomem(err);
}

/* --- jobs --- */

int neap_migrate_set_job(struct neap_migrate_cluster *cluster, const json_t *tree,
			 struct neap_error *err)
{
	struct neap_migrate_job facts, *job;

	neap_migrate_job_read(tree, &facts);
	neap_migrate_drop_job(cluster, facts.name);
	job = pack_new(&facts, sizeof(facts), job_texts, NEAP_ARRAY_LEN(job_texts));
	if (!job || !neap_map_set(cluster->jobs, job->name, job)) {
		free(job);
		return neap_error_nomem(err);
	}
	return neap_migrate_counts_job(cluster, job, 1) ? 0 : neap_error_nomem(err);
}

void neap_migrate_drop_job(struct neap_migrate_cluster *cluster, const char *name)
{
	struct neap_migrate_job *job = neap_map_remove(cluster->jobs, name);

	if (job)
		(void)neap_migrate_counts_job(cluster, job, -1);
	free(job);
}

void neap_migrate_begin_job(struct neap_migrate_cluster *cluster,
			    struct neap_migrate_job *job)
{
	neap_migrate_counts_begin(cluster, job);
	job->is_arbitrated = true;
}

/* --- asking --- */

struct neap_migrate_pod *neap_migrate_find_pod(const struct neap_migrate_cluster *cluster,
					       const char *ns, const char *name)
{
	char key[KEY_MAX];

	key_of(key, "", ns, name);
	return neap_map_find(cluster->pods, key);
}

struct neap_migrate_workload *
neap_migrate_find_workload(const struct neap_migrate_cluster *cluster, const char *kind,
			   const char *ns, const char *name)
{
	char key[KEY_MAX];

	key_of(key, kind, ns, name);
	return neap_map_find(cluster->workloads, key);
}

struct neap_migrate_job *neap_migrate_find_job(const struct neap_migrate_cluster *cluster,
					       const char *name)
{
	return neap_map_find(cluster->jobs, name);
}

struct neap_migrate_pod *neap_migrate_pod_of(const struct neap_migrate_cluster *cluster,
					     const struct neap_migrate_job *job)
{
	return neap_migrate_find_pod(cluster, job->pod_ns, job->pod_name);
}

bool neap_migrate_is_active(const struct neap_migrate_job *job)
{
	return job->phase == NEAP_JOB_PENDING || job->phase == NEAP_JOB_RUNNING;
}

bool neap_migrate_has_begun(const struct neap_migrate_job *job)
{
	return job->phase != NEAP_JOB_PENDING || job->is_arbitrated;
}

const struct neap_migrate_workload *
neap_migrate_first_of(const struct neap_migrate_cluster *cluster,
		      const struct neap_migrate_workload *owner)
{
	char key[KEY_MAX];

	key_of(key, owner->kind, owner->ns, owner->name);
	return neap_map_find(cluster->owned, key);
}

bool neap_migrate_replicas(const struct neap_migrate_cluster *cluster,
			   const struct neap_migrate_pod *pod,
			   const struct neap_migrate_workload **ret, int64_t *ret_count)
{
	const struct neap_migrate_workload *workload, *above;

	*ret = NULL;
	*ret_count = 0;
	if (!*pod->owner_uid)
		return false;
	workload = neap_migrate_find_workload(cluster, pod->owner_kind, pod->ns,
					      pod->owner_name);
	/* Another one of that name is not the pod's. */
	if (!workload || strcmp(workload->uid, pod->owner_uid) != 0) {
		const struct neap_migrate_owner *owner =
			neap_migrate_owner_of(cluster, pod);

		*ret_count = owner ? owner->replicas : 0;
		return true;
	}
	above = *workload->owner_name
			? neap_migrate_find_workload(cluster, workload->owner_kind,
						     pod->ns, workload->owner_name)
			: NULL;
	*ret = above ? above : workload;
	*ret_count = (*ret)->replicas;
	return true;
}
