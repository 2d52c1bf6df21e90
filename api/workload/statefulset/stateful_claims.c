/* SPDX-License-Identifier: Apache-2.0
 *
 * The claims of a StatefulSet's pods, made from volumeClaimTemplates. They outlive the
 * pods, unless persistentVolumeClaimRetentionPolicy says otherwise: then the garbage
 * collector deletes them with their owner, the StatefulSet or a pod that is scaled
 * down. */
#include <stdlib.h>
#include <string.h>

#include "api/workload/statefulset/statefulsets_priv.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

static const json_t *templates_of(const struct stateful *look)
{
	return neap_tree_at(look->tree, "spec.volumeClaimTemplates");
}

/* "TEMPLATE-SET-NUMBER" */
static const char *claim_name(const struct stateful *look, const json_t *item,
			      int64_t ordinal, char buf[NEAP_OBJECT_NAME])
{
	(void)snprintf(buf, NEAP_OBJECT_NAME, "%s-%s-%lld",
		       neap_tree_text(item, "metadata.name"), look->base.owner->name,
		       (long long)ordinal);
	return buf;
}

static json_t *owner_ref(const char *api_version, const char *kind, const char *name,
			 const char *uid)
{
	return json_pack("{s:s, s:s, s:s, s:s}", "apiVersion", api_version, "kind", kind,
			 "name", name, "uid", uid);
}

static json_t *labels_new(const struct stateful *look, const json_t *item)
{
	const json_t *mine = neap_tree_at(item, "metadata.labels");
	const json_t *more = neap_tree_at(look->tree, "spec.selector.matchLabels");
	json_t *labels = mine ? neap_json_copy(mine) : json_object(), *value;
	const char *key;
	int ret = 0;

	json_object_foreach ((json_t *)(uintptr_t)more, key, value)
		ret |= json_object_set(labels, key, value);
	return neap_json_made(ret == 0, labels);
}

static json_t *claim_new(const struct stateful *look, const json_t *item,
			 const char *name)
{
	json_t *owners = json_array(), *claim;
	int ret = 0;

	if (look->deletes_orphaned)
		ret |= json_array_append_new(owners, owner_ref(STS_API, STS_KIND,
							       look->base.owner->name,
							       look->base.owner->uid));
	claim = json_pack("{s:{s:s, s:o, s:O*, s:o}, s:O*}", "metadata", "name", name,
			  "labels", labels_new(look, item), "annotations",
			  neap_tree_at(item, "metadata.annotations"), "ownerReferences",
			  owners, "spec", neap_tree_at(item, "spec"));
	return neap_json_made(ret == 0, claim);
}

static const struct neap_object *find(const struct stateful *look, const char *name)
{
	neap_feed_spend(look->sets->feed, 4);
	return neap_client_newest(look->sets->config.client, CLAIMS, look->base.owner->ns,
				  name);
}

/* --- making --- */

static bool exists(struct stateful *look, const json_t *item, int64_t ordinal)
{
	char name[NEAP_OBJECT_NAME], pod[NEAP_OBJECT_NAME];
	const struct neap_object *claim =
		find(look, claim_name(look, item, ordinal, name));
	struct neap_client_ask ask;

	if (claim && claim->is_deleting) {
		neap_look_note(&look->base, true, "FailedCreate",
			       "create Pod %s in StatefulSet %s failed error: pvc %s is "
			       "being deleted",
			       stateful_pod_name(look, ordinal, pod),
			       look->base.owner->name, name);
		look->base.is_failed = true;
		return false;
	}
	if (claim)
		return true;
	if (neap_look_may_write(&look->base, look->object) &&
	    neap_look_ask(&look->base, ASK_CLAIM, CLAIMS, name, &ask))
		neap_client_create_take(look->sets->config.client, &ask,
					claim_new(look, item, name));
	return false;
}

bool stateful_claims_exist(struct stateful *look, int64_t ordinal)
{
	const json_t *item;
	bool are_there = true;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)templates_of(look), i, item)
		are_there = exists(look, item, ordinal) && are_there;
	return are_there;
}

bool stateful_claims_are_stale(const struct stateful *look, int64_t ordinal)
{
	const json_t *item;
	size_t i;

	if (!look->deletes_scaled)
		return false;
	json_array_foreach ((json_t *)(uintptr_t)templates_of(look), i, item) {
		char name[NEAP_OBJECT_NAME], pod[NEAP_OBJECT_NAME];
		const struct neap_object *claim =
			find(look, claim_name(look, item, ordinal, name));
		neap_auto_json json_t *tree =
			claim && claim->owner_count ? neap_object_tree(claim) : NULL;
		const json_t *owner =
			neap_json_find(neap_tree_at(tree, "metadata.ownerReferences"),
				       "name", stateful_pod_name(look, ordinal, pod));

		if (owner && neap_json_is_text(owner, "kind", "Pod"))
			return true;
	}
	return false;
}

/* --- whose they are --- */

/* The owners without those two, and with the one of them that is wanted. */
static json_t *owners_new(const json_t *tree, const char *set, const char *pod,
			  json_t *wanted)
{
	const json_t *has = neap_tree_at(tree, "metadata.ownerReferences");
	json_t *list = json_array(), *owner;
	int ret = 0;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)has, i, owner) {
		if (!neap_json_is_text(owner, "uid", set) &&
		    !neap_json_is_text(owner, "uid", pod))
			ret |= json_array_append(list, owner);
	}
	if (wanted)
		ret |= json_array_append(list, wanted);
	return neap_json_made(ret == 0, list);
}

static void give(struct stateful *look, const struct neap_object *claim,
		 const struct stateful_pod *pod, bool to_set, bool to_pod)
{
	const struct neap_owner *set = look->base.owner;
	neap_auto_json json_t *tree = NULL, *wanted = NULL;
	struct neap_client_ask ask;
	json_t *patch = NULL;

	if (!neap_look_may_write(&look->base, claim) ||
	    !neap_look_ask(&look->base, ASK_OTHER, CLAIMS, claim->name, &ask))
		return;
	tree = neap_object_tree(claim);
	if (to_set)
		wanted = owner_ref(STS_API, STS_KIND, set->name, set->uid);
	if (to_pod)
		wanted = owner_ref("v1", "Pod", pod->object->name, pod->object->uid);
	if (tree && (wanted || (!to_set && !to_pod)))
		patch = json_pack("{s:{s:s, s:s, s:o}}", "metadata", "uid", claim->uid,
				  "resourceVersion",
				  neap_tree_text(tree, "metadata.resourceVersion"),
				  "ownerReferences",
				  owners_new(tree, set->uid, pod->object->uid, wanted));
	neap_client_patch_take(look->sets->config.client, &ask, false, patch);
}

bool stateful_claims_keep(struct stateful *look, const struct stateful_pod *pod,
			  bool is_condemned)
{
	bool to_pod = look->deletes_scaled && is_condemned;
	bool to_set = look->deletes_orphaned && !to_pod, is_kept = true;
	const json_t *item;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)templates_of(look), i, item) {
		char name[NEAP_OBJECT_NAME];
		const struct neap_object *claim =
			find(look, claim_name(look, item, pod->ordinal, name));

		if (!claim || claim->is_deleting ||
		    (neap_object_has_owner(claim, look->base.owner->uid) == to_set &&
		     neap_object_has_owner(claim, pod->object->uid) == to_pod))
			continue;
		give(look, claim, pod, to_set, to_pod);
		is_kept = false;
	}
	return is_kept;
}
