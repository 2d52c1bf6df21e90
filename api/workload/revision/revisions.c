/* SPDX-License-Identifier: Apache-2.0
 *
 * The data is written as Go writes a template: members sorted by name, and
 * metadata.creationTimestamp null. So a kube-controller-manager that takes over
 * recognises the revisions, and kubectl can tell whether the template already equals a
 * revision. */
#include "api/workload/revision/revisions.h"

#include <stdlib.h>
#include <string.h>

#include "api/workload/loop/pod_template.h"
#include "api/workload/loop/tree.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

#define DIRECTIVE "$patch"

/* --- reading --- */

/* NULL without memory. */
static json_t *bare_template(const json_t *pod_template)
{
	json_t *copy = neap_json_copy(pod_template);

	if (copy)
		(void)json_object_del(copy, DIRECTIVE);
	return copy;
}

bool neap_revision_facts_read(const struct neap_object *object, const json_t *tree,
			      void *to)
{
	const json_t *pod_template = neap_tree_at(tree, "data.spec.template");
	struct neap_revision_facts *ret = to;
	neap_auto_json json_t *bare = NULL;

	*ret = (struct neap_revision_facts){
		.version = object->version,
		.revision = neap_tree_int(tree, "revision", 0),
		.created_usec = neap_tree_time(tree, "metadata.creationTimestamp"),
	};
	(void)neap_strcopy(ret->controller, sizeof(ret->controller),
			   neap_tree_text(neap_tree_controller(tree), "uid"));
	if (!json_is_object(pod_template))
		return true; /* of nobody's template */
	bare = bare_template(pod_template);
	return bare && neap_template_digest(bare, ret->digest);
}

const char *neap_revision_controller(const void *facts)
{
	const struct neap_revision_facts *revision = facts;

	return revision->controller;
}

static int compare(const void *left, const void *right)
{
	const struct neap_revision *a = left, *b = right;

	if (a->facts->revision != b->facts->revision)
		return a->facts->revision < b->facts->revision ? -1 : 1;
	if (a->facts->created_usec != b->facts->created_usec)
		return a->facts->created_usec < b->facts->created_usec ? -1 : 1;
	return strcmp(a->object->name, b->object->name);
}

struct neap_revision *neap_revisions_sorted(const struct neap_claims *claims,
					    size_t *ret_count)
{
	const struct neap_claimed *list = neap_claims_list(claims, ret_count);
	struct neap_revision *sorted =
		neap_alloc((*ret_count + 1) * sizeof(struct neap_revision));

	if (!sorted)
		return NULL;
	for (size_t i = 0; i < *ret_count; i++)
		sorted[i] = (struct neap_revision){list[i].object, list[i].facts};
	qsort(sorted, *ret_count, sizeof(*sorted), compare);
	return sorted;
}

bool neap_revision_is_of(const struct neap_revision *revision,
			 const uint8_t digest[NEAP_SHA256_BYTES])
{
	return memcmp(revision->facts->digest, digest, NEAP_SHA256_BYTES) == 0;
}

bool neap_revision_has(const struct neap_object *revision,
		       const uint8_t digest[NEAP_SHA256_BYTES])
{
	neap_auto_json json_t *has = neap_revision_template(revision);
	uint8_t other[NEAP_SHA256_BYTES];

	return has && neap_template_digest(has, other) &&
	       memcmp(other, digest, sizeof(other)) == 0;
}

bool neap_revision_digest(struct neap_revision_digest *known, struct neap_feed *feed,
			  const struct neap_object *owner, const json_t *tree)
{
	int64_t generation = neap_tree_int(tree, "metadata.generation", 0);

	if (strcmp(known->uid, owner->uid) == 0 && known->generation == generation)
		return true;
	neap_feed_spend(feed, NEAP_REVISION_READ * neap_steps_of_text(owner));
	known->uid[0] = '\0';
	if (!neap_template_digest(neap_tree_at(tree, "spec.template"), known->digest))
		return false;
	(void)neap_strcopy(known->uid, sizeof(known->uid), owner->uid);
	known->generation = generation;
	return true;
}

json_t *neap_revision_template(const struct neap_object *revision)
{
	neap_auto_json json_t *tree = neap_object_tree(revision);
	const json_t *pod_template = neap_tree_at(tree, "data.spec.template");

	return json_is_object(pod_template) ? bare_template(pod_template) : NULL;
}

/* --- making --- */

static json_t *sorted_copy(const json_t *value)
{
	neap_auto_free char *text =
		neap_json_dump(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
	json_t *copy = NULL;
	json_error_t where;

	if (!text || neap_json_parse(text, strlen(text), 0, &copy, &where) < 0)
		return NULL;
	return copy;
}

json_t *neap_revision_data(const json_t *pod_template)
{
	neap_auto_json json_t *copy = neap_json_copy(pod_template), *whole = NULL;
	const json_t *has = json_object_get(copy, "metadata");
	json_t *meta = has ? neap_json_copy(has) : json_object();

	if (!copy || json_object_set_new(meta, "creationTimestamp", json_null()) < 0 ||
	    json_object_set(copy, "metadata", meta) < 0 ||
	    json_object_set_new(copy, DIRECTIVE, json_string("replace")) < 0) {
		json_decref(meta);
		return NULL;
	}
	json_decref(meta);
	whole = json_pack("{s:{s:O}}", "spec", "template", copy);
	return whole ? sorted_copy(whole) : NULL;
}

/* FNV-1 */
static uint32_t hash_byte(uint32_t hash, unsigned char byte)
{
	return hash * 16777619u ^ byte;
}

static uint32_t hash_text(uint32_t hash, const char *text)
{
	for (; *text; text++)
		hash = hash_byte(hash, (unsigned char)*text);
	return hash;
}

/* Go escapes what HTML could take for its own, and knows no \b and \f. Returns how many
 * bytes of text were taken. */
static size_t hash_as_go(uint32_t *hash, const char *text)
{
	static const struct {
		const char *is, *in_go;
	} rows[] = {
		{"<", "\\u003c"},
		{">", "\\u003e"},
		{"&", "\\u0026"},
		{"\\b", "\\u0008"},
		{"\\f", "\\u000c"},
		{"\\\\", "\\\\"},
		{"\xe2\x80\xa8", "\\u2028"},
		{"\xe2\x80\xa9", "\\u2029"},
	};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		if (strncmp(text, rows[i].is, strlen(rows[i].is)) == 0) {
			*hash = hash_text(*hash, rows[i].in_go);
			return strlen(rows[i].is);
		}
	*hash = hash_byte(*hash, (unsigned char)*text);
	return 1;
}

bool neap_revision_hash(const json_t *data, int64_t collisions,
			char ret[NEAP_REVISION_HASH_MAX])
{
	/* No vowels, and no characters that look alike. */
	static const char safe[] = "bcdfghjklmnpqrstvwxz2456789";
	neap_auto_free char *text = neap_json_dump(data, JSON_COMPACT | JSON_SORT_KEYS);
	uint32_t hash = 2166136261u;
	char number[24];

	if (!text)
		return false;
	for (const char *at = text; *at;)
		at += hash_as_go(&hash, at);
	(void)snprintf(number, sizeof(number), "%lld", (long long)collisions);
	hash = hash_text(hash, number);
	(void)snprintf(ret, NEAP_REVISION_HASH_MAX, "%u", hash);
	for (char *at = ret; *at; at++)
		*at = safe[(unsigned char)*at % (sizeof(safe) - 1)];
	return true;
}

json_t *neap_revision_new_take(const json_t *owner, const char *kind, const char *name,
			       const char *hash_label, const char *hash, int64_t number,
			       json_t *data)
{
	const json_t *has = neap_tree_at(owner, "spec.template.metadata.labels");
	const json_t *notes = neap_tree_at(owner, "metadata.annotations");
	json_t *labels = has ? neap_json_copy(has) : json_object();
	json_t *revision;

	if (json_object_set_new(labels, hash_label, json_string(hash)) < 0) {
		json_decref(labels);
		labels = NULL;
	}
	revision =
		json_pack("{s:{s:s, s:o, s:O*, s:[o]}, s:o, s:I}", "metadata", "name",
			  name, "labels", labels, "annotations", notes, "ownerReferences",
			  neap_tree_owner_new(owner, "apps/v1", kind), "data", data,
			  "revision", (json_int_t)number);
	return revision;
}
