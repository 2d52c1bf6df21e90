/* SPDX-License-Identifier: Apache-2.0
 *
 * The revision of the present template has the highest number. Its hash is on its pods,
 * too. */
#include <string.h>

#include "api/workload/daemonset/daemonsets_priv.h"
#include "api/workload/loop/pod_template.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

/* Names that may be taken before one is not. */
#define TRIES 100

static const char *hash_of(const struct neap_object *revision)
{
	const char *label = neap_object_label(revision, NEAP_REVISION_HASH);

	return label ? label : "";
}

static void patch_take(struct daemon *look, const char *resource,
		       const struct neap_object *object, json_t *patch)
{
	struct neap_client_ask ask;

	if (neap_look_may_write(&look->base, object) &&
	    neap_look_ask(&look->base, ASK_OTHER, resource, object->name, &ask))
		neap_client_patch_take(look->sets->config.client, &ask, false, patch);
	else
		json_decref(patch);
}

static void label(struct daemon *look, const char *resource,
		  const struct neap_object *object, const char *hash)
{
	patch_take(look, resource, object,
		   json_pack("{s:{s:s, s:{s:s}}}", "metadata", "uid", object->uid,
			     "labels", NEAP_REVISION_HASH, hash));
}

static void remove_revision(struct daemon *look, const struct neap_object *object)
{
	struct neap_client_ask ask;

	if (neap_look_may_write(&look->base, object) &&
	    neap_look_ask(&look->base, ASK_OTHER, NEAP_REVISIONS, object->name, &ask))
		neap_client_delete(look->sets->config.client, &ask, object->uid, -1);
}

/* --- making --- */

static void make(struct daemon *look, const uint8_t *digest, int64_t number)
{
	const json_t *pod_template = neap_tree_at(look->tree, "spec.template");
	char hash[NEAP_TEMPLATE_HASH_MAX], name[NEAP_OBJECT_NAME];
	struct neap_client_ask ask;

	neap_feed_spend(look->sets->feed,
			NEAP_REVISION_READ * neap_steps_of_text(look->object));
	for (int i = 0; i < TRIES; i++) {
		const struct neap_object *taken;

		if (!neap_template_hash(
			    pod_template,
			    look->collisions == NEAP_MISSING ? 0 : look->collisions,
			    hash))
			break;
		(void)snprintf(name, sizeof(name), "%.223s-%s", look->base.owner->name,
			       hash);
		taken = neap_client_newest(look->sets->config.client, NEAP_REVISIONS,
					   look->base.owner->ns, name);
		if (!taken) {
			if (neap_look_may_write(&look->base, look->object) &&
			    neap_look_ask(&look->base, ASK_OTHER, NEAP_REVISIONS, name,
					  &ask))
				neap_client_create_take(
					look->sets->config.client, &ask,
					neap_revision_new_take(
						look->tree, DS_KIND, name,
						NEAP_REVISION_HASH, hash, number,
						neap_revision_data(pod_template)));
			return;
		}
		neap_feed_spend(look->sets->feed, neap_steps_of_text(taken));
		if (neap_revision_has(taken, digest)) {
			(void)neap_strcopy(look->hash, sizeof(look->hash),
					   hash_of(taken));
			return;
		}
		look->collisions =
			look->collisions == NEAP_MISSING ? 1 : look->collisions + 1;
	}
	look->base.is_failed = true;
}

/* --- finding --- */

/* Several of one template become one; its pods get the hash of that. */
static void merge(struct daemon *look, const struct neap_object *keep,
		  const struct neap_object *other)
{
	bool is_used = false;

	for (size_t i = 0; i < look->count; i++) {
		const char *has =
			neap_object_label(look->pods[i].object, NEAP_REVISION_HASH);

		if (!has || strcmp(has, hash_of(other)) != 0 ||
		    strcmp(has, hash_of(keep)) == 0)
			continue;
		is_used = true;
		label(look, "pods", look->pods[i].object, hash_of(keep));
	}
	if (!is_used)
		remove_revision(look, other);
}

/* Those that Kubernetes made long ago have no hash. */
static void label_all(struct daemon *look)
{
	for (size_t i = 0; i < look->revision_count; i++) {
		const struct neap_object *object = look->revisions[i].object;

		if (!*hash_of(object))
			label(look, NEAP_REVISIONS, object, object->name);
	}
}

bool daemon_revisions_find(struct daemon *look)
{
	const struct neap_revision *all, *current = NULL;
	const uint8_t *digest = look->sets->digest.digest;
	int64_t number = 1;

	look->revisions =
		neap_revisions_sorted(look->sets->revisions, &look->revision_count);
	all = look->revisions;
	look->base.is_short =
		!all || !neap_revision_digest(&look->sets->digest, look->sets->feed,
					      look->object, look->tree);
	if (look->base.is_short)
		return false;
	label_all(look);
	for (size_t i = 0; i < look->revision_count; i++) {
		if (neap_revision_is_of(&all[i], digest))
			current = &all[i];
		else if (all[i].facts->revision >= number)
			number = all[i].facts->revision + 1;
	}
	if (!current)
		make(look, digest, number);
	for (size_t i = 0; current && i < look->revision_count; i++)
		if (&all[i] != current && neap_revision_is_of(&all[i], digest))
			merge(look, current->object, all[i].object);
	if (current && current->facts->revision < number)
		patch_take(look, NEAP_REVISIONS, current->object,
			   json_pack("{s:{s:s}, s:I}", "metadata", "uid",
				     current->object->uid, "revision",
				     (json_int_t)number));
	if (current)
		(void)neap_strcopy(look->hash, sizeof(look->hash),
				   hash_of(current->object));
	return !look->base.written && !look->base.is_failed && look->hash[0] != '\0';
}

/* --- old ones --- */

static bool is_live(const struct daemon *look, const char *hash)
{
	for (size_t i = 0; i < look->count; i++) {
		const char *has =
			neap_object_label(look->pods[i].object, NEAP_REVISION_HASH);

		if (has && strcmp(has, hash) == 0)
			return true;
	}
	return false;
}

void daemon_revisions_tidy(struct daemon *look)
{
	int64_t limit = neap_tree_int(look->tree, "spec.revisionHistoryLimit", 10);
	int64_t over = (int64_t)look->revision_count - 1 - limit;

	for (size_t i = 0; i < look->revision_count && over > 0; i++) {
		const struct neap_object *object = look->revisions[i].object;

		neap_feed_spend(look->sets->feed, (int64_t)look->count);
		if (strcmp(hash_of(object), look->hash) == 0 ||
		    is_live(look, hash_of(object)))
			continue;
		over--;
		remove_revision(look, object);
	}
}
