/* SPDX-License-Identifier: Apache-2.0
 *
 * metadata.managedFields: an entry for each manager, operation and subresource, with the
 * fields that it owns. neap maintains it for objects created by a request with
 * ?fieldManager=, as kubectl sends it, and for objects that server-side apply ever
 * touched. So objects of kubelets and controllers cost nothing. A change of a field takes
 * it from all other managers; an apply patch that is not forced is refused instead.
 *
 * The rest is as in a kube-apiserver, except for limits. The sets of an object have at
 * most SETS_BYTES_MAX bytes of names and SETS_VALUES_MAX fields, and the object with them
 * has the usual limits of values and bytes. An update beyond them drops managedFields; an
 * apply patch is refused.
 *
 * A write of an object with managedFields costs a walk over its old and new state, a copy
 * of its sets where something differs, and a walk over each. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/apply/apply.h"
#include "api/kube/base/meta.h"
#include "api/kube/patch/patch_priv.h"
#include "api/kube/request/slow.h"
#include "api/kube/rules/rules.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

#define UPDATES_MAX    10  /* beyond, the oldest become one, ANCIENT */
#define ENTRIES_MAX    256 /* of a list that a client sends; and managers that apply */
#define TEXT_MAX       256 /* bytes of an entry's text that a client sends */
#define SETS_BYTES_MAX (256 * 1024)
/* A write builds and compares each several times: so many take 60 ms. */
#define SETS_VALUES_MAX 10000
#define OBJECT_MORE     4096 /* bytes that the object gains before it is stored */
#define NAME_SIZE       129
#define ANCIENT         "ancient-changes"
#define BEFORE_APPLY    "before-first-apply"
#define APPLY           "Apply"
#define UPDATE          "Update"
#define MEMBER          "managedFields"

static json_t *set_of(const json_t *entry)
{
	return json_object_get(entry, "fieldsV1");
}

static const struct neap_schema *schema_of(const struct call *call)
{
	return neap_kube_kind_stored(call->target.kind)->schema;
}

/* The version in which the fields are named; for a view, that of the stored kind. */
static const char *version_of(const struct call *call)
{
	return call->target.kind->view
		       ? neap_kube_kind_stored(call->target.kind)->versions[0]
		       : call->api_version;
}

const char *apply_part(const struct call *call)
{
	if (call->answers_scale)
		return "scale";
	return strcmp(call->target.sub, "status") == 0 ? "status" : "";
}

void apply_strip(const struct neap_kube_kind *kind, const char *part, json_t *set)
{
	static const char *const members[] = {
		"f:name",
		"f:namespace",
		"f:creationTimestamp",
		"f:uid",
		"f:selfLink",
		"f:clusterName",
		"f:generation",
		"f:managedFields",
		"f:resourceVersion",
		".",
		"f:deletionTimestamp",
		"f:deletionGracePeriodSeconds",
	};
	json_t *meta = json_object_get(set, "f:metadata");

	(void)json_object_del(set, "f:kind");
	(void)json_object_del(set, "f:apiVersion");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(members); i++)
		(void)json_object_del(meta, members[i]); /* most are missing */
	if (strcmp(part, "status") == 0)
		(void)json_object_del(set, "f:spec");
	/* A Node is created with its status; see neap_kube_meta_begin. */
	else if (kind->has_status && !kind->status_has_labels)
		(void)json_object_del(set, "f:status");
	if (json_object_size(meta) == 0)
		(void)json_object_del(set, "f:metadata");
}

/* The manager's name: fieldManager, or the program at the start of the User-Agent. */
static void manager_of(const struct call *call, char buf[NAME_SIZE])
{
	const char *name = call_query(call, "fieldManager"), *agent = NULL;
	size_t len = 0;

	if (!name || !*name)
		agent = call->request ? neap_http_header_find(call->request, "User-Agent")
				      : "neapd";
	if (!agent) {
		(void)neap_strcopy(buf, NAME_SIZE, name && *name ? name : "unknown");
		return;
	}
	for (; *agent && *agent != '/' && len < NAME_SIZE - 1; agent++)
		if (*agent > ' ' && *agent < 0x7f)
			buf[len++] = *agent;
	buf[len] = '\0';
	if (!len)
		(void)neap_strcopy(buf, NAME_SIZE, "unknown");
}

static bool is_of(const json_t *entry, const char *manager, const char *operation,
		  const char *version, const char *part)
{
	return strcmp(neap_json_text(entry, "manager"), manager) == 0 &&
	       strcmp(neap_json_text(entry, "operation"), operation) == 0 &&
	       (strcmp(operation, APPLY) == 0 ||
		strcmp(neap_json_text(entry, "apiVersion"), version) == 0) &&
	       strcmp(neap_json_text(entry, "subresource"), part) == 0;
}

static json_t *find(const json_t *list, const char *manager, const char *operation,
		    const char *version, const char *part)
{
	json_t *entry;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)list, i, entry)
		if (is_of(entry, manager, operation, version, part))
			return entry;
	return NULL;
}

static int stamp(struct call *call, json_t *entry)
{
	char text[32];

	return json_object_set_new(
		entry, "time",
		json_string(neap_time_format(call->kube->now(), 0, text, sizeof(text))));
}

/* Adds an entry with an empty set; borrowed from list. NULL without memory. */
static json_t *entry_add(struct call *call, json_t *list, const char *manager,
			 const char *operation, const char *part)
{
	json_t *entry = json_pack("{s:s, s:s, s:s, s:s, s:{}}", "manager", manager,
				  "operation", operation, "apiVersion", version_of(call),
				  "fieldsType", "FieldsV1", "fieldsV1");

	if (!entry || !set_of(entry) || stamp(call, entry) < 0 ||
	    (*part && json_object_set_new(entry, "subresource", json_string(part)) < 0)) {
		json_decref(entry);
		return NULL;
	}
	return json_array_append_new(list, entry) < 0 ? NULL : entry;
}

/* --- what clients write --- */

static bool is_entry(const json_t *entry)
{
	static const char *const members[] = {"manager", "operation",   "apiVersion",
					      "time",    "subresource", "fieldsType",
					      "fieldsV1"};
	const char *operation = neap_json_text(entry, "operation");
	const json_t *value;
	struct neap_error err = {0};
	const char *name;
	int64_t when;

	json_object_foreach ((json_t *)(uintptr_t)entry, name, value) {
		size_t i = 0;

		while (i < NEAP_ARRAY_LEN(members) && strcmp(members[i], name) != 0)
			i++;
		if (i == NEAP_ARRAY_LEN(members) ||
		    (strcmp(name, "fieldsV1") != 0 &&
		     (!json_is_string(value) || json_string_length(value) > TEXT_MAX)))
			return false;
	}
	return json_is_object(entry) && *neap_json_text(entry, "manager") &&
	       strlen(neap_json_text(entry, "manager")) < NAME_SIZE &&
	       *neap_json_text(entry, "apiVersion") &&
	       neap_json_is_text(entry, "fieldsType", "FieldsV1") &&
	       (strcmp(operation, APPLY) == 0 || strcmp(operation, UPDATE) == 0) &&
	       (!json_object_get(entry, "time") ||
		neap_time_parse(neap_json_text(entry, "time"), &when, &err) == 0) &&
	       set_of(entry) && apply_set_is(set_of(entry));
}

static bool are_entries(const json_t *list)
{
	const json_t *entry;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > ENTRIES_MAX)
		return false;
	json_array_foreach ((json_t *)(uintptr_t)list, i, entry)
		if (!is_entry(entry))
			return false;
	return true;
}

/* [] or [{}]: drops all owners. */
static bool is_reset(const json_t *sent)
{
	return json_is_array(sent) &&
	       (json_array_size(sent) == 0 ||
		(json_array_size(sent) == 1 && json_is_object(json_array_get(sent, 0)) &&
		 json_object_size(json_array_get(sent, 0)) == 0));
}

json_t *kube_managers_take(json_t *object)
{
	json_t *meta = json_object_get(object, "metadata");
	json_t *sent = json_incref(json_object_get(meta, MEMBER));

	(void)json_object_del(meta, MEMBER);
	return sent;
}

bool kube_managers_last(json_t *object)
{
	static const char *const members[] = {MEMBER, "resourceVersion"};
	json_t *meta = json_object_get(object, "metadata");

	for (size_t i = 0; i < NEAP_ARRAY_LEN(members); i++) {
		json_t *value = json_object_get(meta, members[i]);

		if (i == 0 && !value)
			return true;
		json_incref(value);
		(void)json_object_del(meta, members[i]);
		if (value && json_object_set_new(meta, members[i], value) < 0)
			return false;
	}
	return true;
}

/* --- keeping it small --- */

int apply_entries_compare(const void *a, const void *b, const char *const *members,
			  size_t count)
{
	const json_t *left = *(json_t *const *)a, *right = *(json_t *const *)b;
	int order = 0;

	for (size_t i = 0; i < count && order == 0; i++)
		order = strcmp(neap_json_text(left, members[i]),
			       neap_json_text(right, members[i]));
	return order;
}

/* By operation, time and name, as displayed. */
static int by_age(const void *a, const void *b)
{
	static const char *const members[] = {"operation", "time", "manager",
					      "apiVersion", "subresource"};

	return apply_entries_compare(a, b, members, NEAP_ARRAY_LEN(members));
}

/* A new list without entries that own nothing; NULL without memory. */
static json_t *sorted(const json_t *list)
{
	json_t **entries = neap_alloc_array(json_array_size(list) + 1, sizeof(*entries));
	json_t *ret = json_array(), *entry;
	size_t count = 0, i;

	json_array_foreach ((json_t *)(uintptr_t)list, i, entry)
		if (entries && json_object_size(set_of(entry)) > 0)
			entries[count++] = entry;
	if (count > 1)
		qsort(entries, count, sizeof(*entries), by_age);
	for (i = 0; i < count && entries; i++)
		if (json_array_append(ret, entries[i]) < 0)
			break;
	free(entries);
	if (entries && i == count)
		return ret;
	json_decref(ret);
	return NULL;
}

/* list is sorted: Apply before Update, oldest first. */
static int cap_updates(json_t *list)
{
	size_t updates = 0, at = 0, i;
	json_t *entry;

	json_array_foreach (list, i, entry)
		updates += strcmp(neap_json_text(entry, "operation"), UPDATE) == 0;
	while (updates > UPDATES_MAX && at < json_array_size(list)) {
		json_t *bucket, *oldest = json_array_get(list, at);

		if (strcmp(neap_json_text(oldest, "operation"), UPDATE) != 0 ||
		    strcmp(neap_json_text(oldest, "manager"), ANCIENT) == 0) {
			at++;
			continue;
		}
		bucket = find(list, ANCIENT, UPDATE, neap_json_text(oldest, "apiVersion"),
			      neap_json_text(oldest, "subresource"));
		if (!bucket) {
			if (json_object_set_new(oldest, "manager", json_string(ANCIENT)) <
			    0)
				return -1;
			continue;
		}
		if (apply_set_add(set_of(bucket), set_of(oldest)) < 0 ||
		    (json_object_get(oldest, "time") &&
		     json_object_set(bucket, "time", json_object_get(oldest, "time")) <
			     0))
			return -1;
		(void)json_array_remove(list, at);
		updates--;
	}
	return 0;
}

/* With escapes; 0 without memory. */
static size_t text_len(const json_t *json)
{
	neap_auto_free char *text = neap_json_dump(json, JSON_COMPACT);

	return text ? strlen(text) : 0;
}

bool apply_is_too_large(const json_t *object, const json_t *list)
{
	struct neap_patch_size size;
	size_t bytes = 0, values = neap_schema_values(list), i;
	json_t *entry;

	json_array_foreach ((json_t *)(uintptr_t)list, i, entry)
		bytes += apply_set_bytes(set_of(entry));
	if (bytes > SETS_BYTES_MAX || values > SETS_VALUES_MAX ||
	    neap_schema_values(object) + values > NEAP_KUBE_VALUES_MAX)
		return true;
	/* Most objects are far below the limits. */
	return neap_patch_measure(object, &size) &&
	       size.bytes > NEAP_OBJECT_TEXT_MAX / 2 &&
	       text_len(object) + text_len(list) + OBJECT_MORE > NEAP_OBJECT_TEXT_MAX;
}

int apply_refuse_large(struct call *call)
{
	return call_refuse(call, NEAP_CLIENT_TOO_LARGE,
			   "who owns which fields of this object would take more than "
			   "%d bytes, %d fields or %d managers",
			   SETS_BYTES_MAX, SETS_VALUES_MAX, ENTRIES_MAX);
}

/* Stores what is left of the list in the object. */
static int store(struct call *call, json_t *object, const json_t *list)
{
	json_auto_t *kept = sorted(list);

	if (!kept || cap_updates(kept) < 0)
		return call_nomem(call);
	if (json_array_size(kept) == 0)
		return 0;
	if (apply_is_too_large(object, kept))
		return call->apply ? apply_refuse_large(call) : 0;
	return json_object_set(json_object_get(object, "metadata"), MEMBER, kept) < 0
		       ? call_nomem(call)
		       : 0;
}

/* --- writes --- */

int kube_managers_begin(struct call *call, json_t *object)
{
	const char *name = call_query(call, "fieldManager");
	json_auto_t *list = json_array(), *set = NULL;
	char manager[NAME_SIZE];
	struct neap_error err = {0};
	json_t *entry;

	if (!call->apply && (!name || !*name))
		return 0;
	manager_of(call, manager);
	if (!call->apply &&
	    apply_set_of(schema_of(call), object, APPLY_WHOLE, &set, &err) < 0)
		return call_nomem(call);
	apply_strip(call->target.kind, "", set);
	entry = list ? entry_add(call, list, manager, call->apply ? APPLY : UPDATE, "")
		     : NULL;
	if (!entry ||
	    json_object_set(entry, "fieldsV1", call->apply ? call->apply->set : set) < 0)
		return call_nomem(call);
	return store(call, object, list);
}

/* The fields that an object had before owners were recorded. */
static int begin_before(struct call *call, const json_t *before, json_t *list)
{
	json_auto_t *set = NULL;
	struct neap_error err = {0};
	json_t *entry;

	if (apply_set_of(schema_of(call), before, APPLY_WHOLE, &set, &err) < 0)
		return call_nomem(call);
	apply_strip(call->target.kind, "", set);
	entry = entry_add(call, list, BEFORE_APPLY, UPDATE, "");
	return !entry || json_object_set(entry, "fieldsV1", set) < 0 ? call_nomem(call)
								     : 0;
}

int apply_last(const struct call *call, const json_t *before, const json_t **ret_last,
	       json_t *others)
{
	const json_t *list = json_object_get(json_object_get(before, "metadata"), MEMBER);
	const json_t *self, *entry;
	char manager[NAME_SIZE];
	size_t i;

	manager_of(call, manager);
	self = find(list, manager, APPLY, "", apply_part(call));
	*ret_last = set_of(self);
	json_array_foreach ((json_t *)(uintptr_t)list, i, entry)
		if (entry != self && others && apply_set_add(others, set_of(entry)) < 0)
			return -1;
	return 0;
}

/* Takes the changed fields from all managers but self, or refuses the change. */
static int take_from_others(struct call *call, const json_t *before, const json_t *list,
			    const json_t *self, const json_t *changed,
			    const json_t *removed)
{
	json_t *entry;
	size_t i;

	if (call->apply && !call->apply->is_forced &&
	    apply_conflicts(call, before, list, self, changed) < 0)
		return -1;
	json_array_foreach ((json_t *)(uintptr_t)list, i, entry) {
		apply_set_drop_trees(set_of(entry), removed);
		if (entry != self)
			apply_set_drop(set_of(entry), changed);
	}
	return 0;
}

/* Sets the fields of the writing manager. *ret_is_other: they differ from before; another
 * order is no difference. */
static int give_fields(struct call *call, json_t *self, const json_t *changed,
		       bool *ret_is_other)
{
	json_t *set = set_of(self);
	json_auto_t *former = NULL;

	if (call->apply) {
		*ret_is_other = !json_equal(set, call->apply->set);
		return *ret_is_other ? json_object_set(self, "fieldsV1", call->apply->set)
				     : 0;
	}
	former = neap_json_deep_copy(set);
	if (!former || apply_set_add(set, changed) < 0)
		return -1;
	*ret_is_other = !json_equal(former, set);
	return 0;
}

/* Sets the entry of the writing manager: its new set, and the time if the set changed. */
static int give_self(struct call *call, json_t *list, json_t *self, const char *manager,
		     const json_t *changed, bool is_change)
{
	const char *version = version_of(call);
	bool is_other;

	if (!self)
		self = entry_add(call, list, manager, call->apply ? APPLY : UPDATE,
				 apply_part(call));
	if (!self || give_fields(call, self, changed, &is_other) < 0)
		return call_nomem(call);
	if (call->apply) {
		is_other |= is_change ||
			    strcmp(neap_json_text(self, "apiVersion"), version) != 0;
		if (json_object_set_new(self, "apiVersion", json_string(version)) < 0)
			return call_nomem(call);
	}
	return is_other && stamp(call, self) < 0 ? call_nomem(call) : 0;
}

static int change_list(struct call *call, const json_t *before, json_t *list,
		       const json_t *changed, const json_t *removed)
{
	bool is_change = json_object_size(changed) + json_object_size(removed) > 0;
	char manager[NAME_SIZE];
	json_t *self;

	manager_of(call, manager);
	if (call->apply && json_array_size(list) == 0 &&
	    begin_before(call, before, list) < 0)
		return -1;
	self = find(list, manager, call->apply ? APPLY : UPDATE, version_of(call),
		    apply_part(call));
	if (call->apply && !self && json_array_size(list) >= ENTRIES_MAX)
		return apply_refuse_large(call);
	if (take_from_others(call, before, list, self, changed, removed) < 0)
		return -1;
	return call->apply || json_object_size(changed) > 0
		       ? give_self(call, list, self, manager, changed, is_change)
		       : 0;
}

int kube_managers_change(struct call *call, json_t *object, const json_t *before,
			 const json_t *sent)
{
	const json_t *from = json_object_get(json_object_get(before, "metadata"), MEMBER);
	json_auto_t *changed = NULL, *removed = NULL, *list = NULL;
	struct neap_error err = {0};

	if (!call->apply && is_reset(sent))
		return 0;
	if (!call->apply && json_array_size(sent) > 0 && are_entries(sent))
		from = sent;
	if (!call->apply && json_array_size(from) == 0)
		return 0;
	if (apply_compare(schema_of(call), before, object, &changed, &removed, &err) < 0)
		return call_nomem(call);
	apply_strip(call->target.kind, apply_part(call), changed);
	apply_strip(call->target.kind, apply_part(call), removed);
	list = from ? neap_json_deep_copy(from) : json_array();
	if (!list)
		return call_nomem(call);
	if (change_list(call, before, list, changed, removed) < 0)
		return -1;
	return call->apply && apply_annotate(call, object) < 0
		       ? call_nomem(call)
		       : store(call, object, list);
}
