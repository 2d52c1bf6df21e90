/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "api/workload/loop/pod_template.h"
#include "api/workload/statefulset/statefulsets_priv.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

#define HASH_LABEL "controller.kubernetes.io/hash"
/* Names that may be taken before one is not. */
#define TRIES 100

/* --- the one to update to --- */

static void make_take(struct stateful *look, const char *hash, int64_t number,
		      json_t *data)
{
	struct neap_client_ask ask;

	if (!neap_look_may_write(&look->base, look->object) ||
	    !neap_look_ask(&look->base, ASK_OTHER, NEAP_REVISIONS, look->update, &ask)) {
		json_decref(data);
		return;
	}
	neap_client_create_take(look->sets->config.client, &ask,
				neap_revision_new_take(look->tree, STS_KIND, look->update,
						       HASH_LABEL, hash, number, data));
}

/* True: one of that template is there already. */
static bool make(struct stateful *look, const uint8_t *digest, int64_t number)
{
	json_t *data = neap_revision_data(neap_tree_at(look->tree, "spec.template"));
	char hash[NEAP_REVISION_HASH_MAX];

	neap_feed_spend(look->sets->feed,
			NEAP_REVISION_READ * neap_steps_of_text(look->object));
	for (int i = 0; i < TRIES; i++) {
		const struct neap_object *taken;

		if (!data || !neap_revision_hash(data, look->collisions, hash))
			break;
		(void)snprintf(look->update, sizeof(look->update), "%.223s-%s",
			       look->base.owner->name, hash);
		taken = neap_client_newest(look->sets->config.client, NEAP_REVISIONS,
					   look->base.owner->ns, look->update);
		if (!taken) {
			make_take(look, hash, number, data);
			return false;
		}
		neap_feed_spend(look->sets->feed, neap_steps_of_text(taken));
		if (neap_revision_has(taken, digest)) {
			json_decref(data);
			return true;
		}
		look->collisions++;
	}
	look->base.is_short = look->base.is_short || !data;
	look->base.is_failed = true;
	json_decref(data);
	return false;
}

static void raise(struct stateful *look, const struct neap_revision *revision,
		  int64_t number)
{
	struct neap_client_ask ask;

	if (neap_look_may_write(&look->base, revision->object) &&
	    neap_look_ask(&look->base, ASK_OTHER, NEAP_REVISIONS, revision->object->name,
			  &ask))
		neap_client_patch_take(look->sets->config.client, &ask, false,
				       json_pack("{s:{s:s}, s:I}", "metadata", "uid",
						 revision->object->uid, "revision",
						 (json_int_t)number));
}

static bool find_update(struct stateful *look)
{
	const struct neap_revision *all = look->revisions;
	size_t count = look->revision_count, at = count;
	int64_t next = count ? all[count - 1].facts->revision + 1 : 1;
	const uint8_t *digest = look->sets->digest.digest;

	look->base.is_short = !neap_revision_digest(&look->sets->digest, look->sets->feed,
						    look->object, look->tree);
	if (look->base.is_short)
		return false;
	while (at && !neap_revision_is_of(&all[at - 1], digest))
		at--;
	if (!at)
		return make(look, digest, next);
	(void)neap_strcopy(look->update, sizeof(look->update), all[at - 1].object->name);
	if (at == count)
		return true;
	raise(look, &all[at - 1], next);
	return false;
}

/* --- the one that the update starts from --- */

static bool find_current(struct stateful *look)
{
	const char *name = neap_tree_text(look->tree, "status.currentRevision");

	(void)neap_strcopy(look->current, sizeof(look->current), look->update);
	if (strcmp(name, look->update) == 0)
		return true;
	for (size_t i = 0; i < look->revision_count; i++) {
		const struct neap_object *object = look->revisions[i].object;

		if (strcmp(object->name, name) != 0)
			continue;
		neap_feed_spend(look->sets->feed, neap_steps_of_text(object));
		(void)neap_strcopy(look->current, sizeof(look->current), name);
		look->current_template = neap_revision_template(object);
		look->base.is_failed = !look->current_template;
		return !look->base.is_failed;
	}
	return true;
}

bool stateful_revisions_find(struct stateful *look)
{
	look->revisions =
		neap_revisions_sorted(look->sets->revisions, &look->revision_count);
	look->base.is_short = !look->revisions;
	return !look->base.is_short && find_update(look) && find_current(look);
}

/* --- old ones --- */

static bool is_live(const struct stateful *look, const char *name)
{
	if (strcmp(name, look->current) == 0 || strcmp(name, look->update) == 0)
		return true;
	for (size_t i = 0; i < look->count; i++)
		if (stateful_is_of(&look->pods[i], name))
			return true;
	return false;
}

void stateful_revisions_tidy(struct stateful *look)
{
	int64_t limit = neap_tree_int(look->tree, "spec.revisionHistoryLimit", 10);
	int64_t over = -limit;

	if ((int64_t)look->revision_count <= limit)
		return;
	neap_feed_spend(look->sets->feed,
			(int64_t)(look->revision_count * (look->count + 1)));
	for (size_t i = 0; i < look->revision_count; i++)
		over += !is_live(look, look->revisions[i].object->name);
	for (size_t i = 0; i < look->revision_count && over > 0; i++) {
		const struct neap_object *object = look->revisions[i].object;
		struct neap_client_ask ask;

		if (is_live(look, object->name))
			continue;
		over--;
		if (neap_look_may_write(&look->base, object) &&
		    neap_look_ask(&look->base, ASK_OTHER, NEAP_REVISIONS, object->name,
				  &ask))
			neap_client_delete(look->sets->config.client, &ask, object->uid,
					   -1);
	}
}
