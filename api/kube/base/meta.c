/* SPDX-License-Identifier: Apache-2.0
 *
 * What the server does to metadata. */
#include "api/kube/base/meta.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "engine/base/quantity.h"
#include "engine/json/json.h"

#define SUFFIX_LEN   5
#define NAME_MADE    63 /* of a generated name */
#define REVISION     "deployment.kubernetes.io/revision"
#define GRACE_MEMBER "deletionGracePeriodSeconds"

/* As in Kubernetes' generateName: no vowels, and no characters that look alike. */
static const char suffix_chars[] = "bcdfghjklmnpqrstvwxz2456789";

/* Only the server sets these. */
static const char *const server_members[] = {
	"uid",        "creationTimestamp", "deletionTimestamp", GRACE_MEMBER,
	"generation", "resourceVersion",   "selfLink"};

/* The kernel's pool cannot fail for so few bytes once it is initialised, which is long
 * before. */
static void fill_random(void *to, size_t len)
{
	char *at = to;

	while (len) {
		ssize_t n = getrandom(at, len, 0);

		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
	}
}

void neap_kube_uuid(char to[NEAP_KUBE_UUID_SIZE])
{
	unsigned char b[16];

	fill_random(b, sizeof(b));
	b[6] = (b[6] & 0x0f) | 0x40; /* version 4 */
	b[8] = (b[8] & 0x3f) | 0x80;
	(void)snprintf(
		to, NEAP_KUBE_UUID_SIZE,
		"%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11],
		b[12], b[13], b[14], b[15]);
}

static bool set(json_t *object, const char *member, json_t *value)
{
	return json_object_set_new(object, member, value) == 0;
}

static bool make_name(json_t *meta, const char *prefix)
{
	char name[NAME_MADE + 1];
	unsigned char random[SUFFIX_LEN];
	size_t len = strnlen(prefix, NAME_MADE - SUFFIX_LEN);

	memcpy(name, prefix, len);
	fill_random(random, sizeof(random));
	/* 27 into 256 is uneven by less than a twentieth: fine for names, which are not
	 * secrets. */
	for (int i = 0; i < SUFFIX_LEN; i++)
		name[len++] = suffix_chars[random[i] % (sizeof(suffix_chars) - 1)];
	name[len] = '\0';
	return set(meta, "name", json_string(name));
}

static json_t *meta_of(const json_t *object)
{
	return json_object_get(object, "metadata");
}

const char *neap_kube_meta_text(const json_t *object, const char *member)
{
	const char *text = json_string_value(json_object_get(meta_of(object), member));

	return text ? text : "";
}

bool neap_kube_meta_has_finalizers(const json_t *object)
{
	return json_array_size(json_object_get(meta_of(object), "finalizers")) > 0;
}

bool neap_kube_meta_is_deleting(const json_t *object)
{
	return *neap_kube_meta_text(object, "deletionTimestamp") != '\0';
}

bool neap_kube_meta_may_end(const json_t *object)
{
	return neap_kube_meta_is_deleting(object) &&
	       !neap_kube_meta_has_finalizers(object) &&
	       json_integer_value(json_object_get(meta_of(object), GRACE_MEMBER)) == 0;
}

static bool set_time(json_t *meta, const char *member, int64_t usec)
{
	char text[32];

	return set(meta, member,
		   json_string(neap_time_format(usec, 0, text, sizeof(text))));
}

void neap_kube_meta_tidy(json_t *object)
{
	static const char *const members[] = {"annotations", "finalizers", "labels",
					      "ownerReferences"};
	json_t *meta = meta_of(object);

	for (size_t i = 0; i < NEAP_ARRAY_LEN(members); i++) {
		const json_t *value = json_object_get(meta, members[i]);

		if (value && (json_is_array(value) || json_is_object(value)) &&
		    json_array_size(value) + json_object_size(value) == 0)
			(void)json_object_del(meta, members[i]);
	}
}

bool neap_kube_meta_begin(const struct neap_kube_kind *kind, json_t *object,
			  const char *ns, int64_t now)
{
	json_t *meta = meta_of(object);
	const char *prefix = neap_kube_meta_text(object, "generateName");
	char uuid[NEAP_KUBE_UUID_SIZE];

	for (size_t i = 0; i < NEAP_ARRAY_LEN(server_members); i++)
		if (kind->generation != NEAP_GENERATION_NONE ||
		    strcmp(server_members[i], "generation") != 0)
			(void)json_object_del(meta, server_members[i]);
	(void)json_object_del(meta, "managedFields");
	neap_kube_meta_tidy(object);
	if (*ns && !set(meta, "namespace", json_string(ns)))
		return false;
	if (!*neap_kube_meta_text(object, "name") && *prefix && !make_name(meta, prefix))
		return false;
	/* A Node is created with its kubelet's status. Other kinds start with an empty
	 * status, declared ones with none. */
	if (kind->has_status && strcmp(kind->plural, "nodes") != 0) {
		(void)json_object_del(object, "status");
		if (!kind->is_custom && !set(object, "status", json_object()))
			return false;
	}
	neap_kube_uuid(uuid);
	return set(meta, "uid", json_string(uuid)) &&
	       set_time(meta, "creationTimestamp", now) &&
	       (kind->generation == NEAP_GENERATION_NONE ||
		set(meta, "generation", json_integer(1)));
}

/* A status that is not a subresource counts as any member. */
static bool is_counted(const struct neap_kube_kind *kind, const char *member)
{
	return strcmp(member, "metadata") != 0 &&
	       (!kind->has_status || strcmp(member, "status") != 0);
}

bool neap_kube_meta_wants_other(const struct neap_kube_kind *kind, const json_t *object,
				const json_t *before)
{
	const json_t *value;
	const char *member;
	size_t count = 0, count_before = 0;

	json_object_foreach ((json_t *)(uintptr_t)before, member, value)
		count_before += is_counted(kind, member);
	json_object_foreach ((json_t *)(uintptr_t)object, member, value) {
		if (!is_counted(kind, member))
			continue;
		count++;
		if (!json_equal(value, json_object_get(before, member)))
			return true;
	}
	return count != count_before;
}

/* The revision annotation is its controller's, and does not change what is wanted. */
static bool notes_changed(const json_t *meta, const json_t *meta_before)
{
	json_t *notes = json_object_get(meta, "annotations"),
	       *was = json_object_get(meta_before, "annotations"), *value;
	size_t count = json_object_size(was) - (json_object_get(was, REVISION) != NULL);
	const char *name;

	json_object_foreach (notes, name, value) {
		if (strcmp(name, REVISION) == 0)
			continue;
		if (!json_equal(value, json_object_get(was, name)))
			return true;
		count--;
	}
	return count > 0;
}

static bool raises_generation(const struct neap_kube_kind *kind, const json_t *object,
			      const json_t *before)
{
	switch (kind->generation) {
	case NEAP_GENERATION_NONE:
	case NEAP_GENERATION_FIXED:
		return false;
	case NEAP_GENERATION_NOTES:
		if (notes_changed(meta_of(object), meta_of(before)))
			return true;
		break;
	case NEAP_GENERATION_SPEC:
		break;
	}
	return neap_kube_meta_wants_other(kind, object, before);
}

bool neap_kube_meta_keep(const struct neap_kube_kind *kind, json_t *object,
			 const json_t *before)
{
	json_t *meta = meta_of(object), *meta_before = meta_of(before);

	for (size_t i = 0; i < NEAP_ARRAY_LEN(server_members); i++) {
		json_t *value = json_object_get(meta_before, server_members[i]);

		(void)json_object_del(meta, server_members[i]);
		if (value && json_object_set(meta, server_members[i], value) < 0)
			return false;
	}
	neap_kube_meta_tidy(object);
	if (raises_generation(kind, object, before)) {
		json_int_t generation =
			json_integer_value(json_object_get(meta_before, "generation"));

		return set(meta, "generation", json_integer(generation + 1));
	}
	return true;
}

bool neap_kube_meta_delete(json_t *object, int64_t now, int64_t grace_s)
{
	json_t *meta = meta_of(object);
	json_int_t generation = json_integer_value(json_object_get(meta, "generation"));

	/* Controllers must see that the object is being deleted. */
	if (generation > 0 && generation < INT64_MAX &&
	    !set(meta, "generation", json_integer(generation + 1)))
		return false;
	return set_time(meta, "deletionTimestamp", now + grace_s * 1000000) &&
	       set(meta, GRACE_MEMBER, json_integer(grace_s));
}

bool neap_kube_meta_add_finalizer(json_t *object, const char *finalizer)
{
	json_t *list = neap_json_need_take(json_object_get(object, "metadata"),
					   "finalizers", json_array());
	const json_t *value;
	size_t i;

	json_array_foreach (list, i, value)
		if (json_is_string(value) &&
		    strcmp(json_string_value(value), finalizer) == 0)
			return true;
	return list && json_array_append_new(list, json_string(finalizer)) == 0;
}

bool neap_kube_condition_set(json_t *object, const char *type, const char *status,
			     const char *reason, const char *message, int64_t now)
{
	json_t *all = neap_json_need_take(object, "status", json_object());
	json_t *list = all ? neap_json_need_take(all, "conditions", json_array()) : NULL;
	json_t *condition = neap_json_condition(all, type);
	char time[32];

	if (list && !condition) {
		condition = json_pack("{s:s}", "type", type);
		if (json_array_append_new(list, condition) < 0)
			return false;
	}
	if (condition && !neap_json_is_text(condition, "status", status) &&
	    json_object_set_new(
		    condition, "lastTransitionTime",
		    json_string(neap_time_format(now, 0, time, sizeof(time)))) < 0)
		return false;
	return json_object_set_new(condition, "status", json_string(status)) == 0 &&
	       json_object_set_new(condition, "reason", json_string(reason)) == 0 &&
	       json_object_set_new(condition, "message", json_string(message)) == 0;
}
