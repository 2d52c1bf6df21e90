/* SPDX-License-Identifier: Apache-2.0
 *
 * Undoes what was set on a pod for another evictor, when the job ends before the pod
 * leaves. The undo patch is written to the job before the pod is touched, with a
 * finalizer, so that a deleted job stays until its pod is restored. */
#include <stdlib.h>
#include <string.h>

#include "api/migrate/migrate_priv.h"
#include "engine/json/json.h"

/* A finalizer of the job, as long as it has the annotation of that name. */
#define FINALIZER KEY_TAKE_BACK

static const char *note_of(const json_t *job)
{
	return neap_json_text(neap_json_at(job, "metadata.annotations"), KEY_TAKE_BACK);
}

/* The finalizers without neap's; with it when it is wanted. NULL without memory. */
static json_t *finalizers_new(const json_t *job, bool is_wanted, bool *ret_had)
{
	json_t *list = json_array(), *one;
	bool is_good = list != NULL;
	size_t i;

	*ret_had = false;
	json_array_foreach (neap_json_at(job, "metadata.finalizers"), i, one) {
		bool is_own = json_is_string(one) &&
			      strcmp(json_string_value(one), FINALIZER) == 0;

		*ret_had = *ret_had || is_own;
		is_good = is_good && (is_own || json_array_append(list, one) == 0);
	}
	if (is_good && is_wanted)
		is_good = json_array_append_new(list, json_string(FINALIZER)) == 0;
	return neap_json_made(is_good, list);
}

/* The write fails when another writer changed the finalizers meanwhile, and is
 * repeated. */
static bool set_finalizers(json_t *patch, const json_t *job, json_t *list)
{
	json_t *meta = neap_json_need_take(patch, "metadata", json_object());
	json_t *version = neap_json_at(job, "metadata.resourceVersion");

	if (!meta || !version) {
		json_decref(list);
		return false;
	}
	return json_object_set_new(meta, "finalizers", list) == 0 &&
	       json_object_set(meta, "resourceVersion", version) == 0;
}

/* What takes back all that was noted, and that; NULL without memory. */
static json_t *union_new(const json_t *before, const json_t *more)
{
	json_t *ret =
		json_is_object(before) ? neap_json_deep_copy(before) : json_object();

	return neap_json_made(
		ret && json_object_update_recursive(ret, (json_t *)(uintptr_t)more) == 0,
		ret);
}

bool migrate_way_note(const json_t *job, const struct neap_migrate_way *way,
		      json_t **patch)
{
	json_error_t where;
	json_t *before = NULL, *all, *list, *notes;
	bool is_held, is_good;
	char *text;

	if (!way->take_back)
		return true;
	(void)neap_json_parse(note_of(job), strlen(note_of(job)), 0, &before, &where);
	all = union_new(before, way->take_back);
	list = finalizers_new(job, true, &is_held);
	if (all && list && is_held && json_equal(all, before)) {
		json_decref(before);
		json_decref(all);
		json_decref(list);
		return true;
	}
	text = all ? neap_json_dump(all, JSON_COMPACT) : NULL;
	if (!*patch)
		*patch = json_object();
	notes = *patch ? neap_json_need_take(*patch, "metadata", json_object()) : NULL;
	notes = notes ? neap_json_need_take(notes, "annotations", json_object()) : NULL;
	is_good = text && notes && list &&
		  json_object_set_new(notes, KEY_TAKE_BACK, json_string(text)) == 0;
	if (is_good)
		is_good = set_finalizers(*patch, job, list);
	else
		json_decref(list);
	free(text);
	json_decref(before);
	json_decref(all);
	return is_good;
}

static bool ask_pod(struct neap_migrate *migrate, const struct neap_migrate_job *facts,
		    json_t *patch)
{
	const struct neap_round_ask what = {MIGRATE_TAKE_BACK, "pods", facts->pod_ns,
					    facts->pod_name, facts->uid};
	json_t *meta = neap_json_need_take(patch, "metadata", json_object());
	struct neap_client_ask ask;

	if (!meta || json_object_set_new(meta, "uid", json_string(facts->pod_uid)) < 0 ||
	    !neap_rounds_ask(migrate->rounds, &what, &ask))
		return false;
	neap_client_patch_take(migrate->config.client, &ask, false, json_incref(patch));
	return true;
}

static void ask_job(struct neap_migrate *migrate, const struct neap_migrate_job *facts,
		    const json_t *job, json_t *list)
{
	const struct neap_round_ask what = {MIGRATE_CLEAN, JOBS, "", facts->name,
					    facts->uid};
	json_t *patch = json_pack("{s:{s:s, s:{s:n}}}", "metadata", "uid", facts->uid,
				  "annotations", KEY_TAKE_BACK);
	struct neap_client_ask ask;

	if (!patch)
		json_decref(list);
	else if (set_finalizers(patch, job, list) &&
		 neap_rounds_ask(migrate->rounds, &what, &ask))
		neap_client_patch_take(migrate->config.client, &ask, false,
				       json_incref(patch));
	json_decref(patch);
}

int64_t migrate_take_back(struct neap_migrate *migrate, struct migrate_memory *memory,
			  const json_t *job, const json_t *pod)
{
	const char *text = note_of(job);
	struct neap_migrate_job facts;
	json_error_t where;
	json_t *patch = NULL, *list;
	bool is_held, is_good = true;

	list = finalizers_new(job, false, &is_held);
	if (!list)
		return -1;
	if (!*text && !is_held) {
		json_decref(list);
		return 0;
	}
	neap_migrate_job_read(job, &facts);
	if (!memory->is_taken_back && pod && *facts.pod_uid &&
	    strcmp(neap_json_text(json_object_get(pod, "metadata"), "uid"),
		   facts.pod_uid) == 0 &&
	    neap_json_parse(text, strlen(text), 0, &patch, &where) == 0) {
		is_good = ask_pod(migrate, &facts, patch);
		json_decref(list);
	} else {
		ask_job(migrate, &facts, job, list);
	}
	json_decref(patch);
	return is_good ? 0 : -1;
}

void migrate_taken_back(struct migrate_memory *memory,
			const struct neap_client_failure *failure)
{
	/* Whatever else is answered is the same the next time. */
	memory->is_taken_back =
		!failure ||
		!(failure->is_unknown || failure->is_unanswered || failure->code >= 500 ||
		  failure->code == 429 || failure->reason == NEAP_CLIENT_CONFLICT);
}
