/* SPDX-License-Identifier: Apache-2.0
 *
 * What rules share: reports, sets of names, members, selectors, comparisons. */
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/rules/check_priv.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/base/selector.h"
#include "engine/base/text.h"

/* --- telling --- */

void rule_nomem(struct neap_causes *causes)
{
	static const char text[] = "Internal error: out of memory";

	causes->is_short = true;
	if (causes->count > 0 &&
	    strcmp(causes->list[causes->count - 1].message, text) == 0)
		return;
	neap_causes_add(causes, "InternalError", "", "%s", text);
}

void rule_invalid_take(struct neap_causes *causes, const char *field, json_t *value,
		       const char *fault)
{
	if (!value)
		rule_nomem(causes);
	else
		neap_causes_invalid(causes, field, value, "%s", fault);
	json_decref(value);
}

void rule_invalid_text(struct neap_causes *causes, const char *field, const char *text,
		       const char *fault)
{
	rule_invalid_take(causes, field, json_string(text), fault);
}

void rule_append(struct neap_causes *causes, size_t told, const char *detail)
{
	struct neap_cause *cause;
	size_t len;

	if (causes->count == told || causes->count == 0)
		return;
	cause = &causes->list[causes->count - 1];
	len = strlen(cause->message);
	(void)neap_strcopy(cause->message + len, sizeof(cause->message) - len, detail);
}

void rule_invalid(const json_t *object, const char *name, const char *fault,
		  struct neap_causes *causes)
{
	if (fault)
		neap_causes_invalid(causes, name, json_object_get(object, name), "%s",
				    fault);
}

/* --- parts --- */

void rule_in(const json_t *object, const char *path, rule_part_fn *check,
	     struct neap_causes *causes)
{
	const json_t *part = neap_json_at(object, path);
	size_t from = causes->count;

	if (part)
		check(part, causes);
	neap_causes_infield(causes, from, "%s", path);
}

void rule_each(const json_t *object, const char *path, rule_item_fn *check, void *arg,
	       struct neap_causes *causes)
{
	const json_t *item;
	size_t i;

	json_array_foreach (neap_json_at(object, path), i, item) {
		size_t from = causes->count;

		check(item, arg, causes);
		neap_causes_infield(causes, from, "%s[%zu]", path, i);
	}
}

/* One item of a list of texts. */
static void check_text(const json_t *item, void *arg, struct neap_causes *causes)
{
	rule_fault_fn *const *get_fault = arg;
	const char *fault =
		json_is_string(item) ? (*get_fault)(json_string_value(item)) : NULL;

	if (fault)
		neap_causes_invalid(causes, "", item, "%s", fault);
}

void rule_texts(const json_t *object, const char *path, rule_fault_fn *get_fault,
		struct neap_causes *causes)
{
	rule_each(object, path, check_text, &get_fault, causes);
}

/* --- sets --- */

bool rule_seen_add(struct rule_seen *seen, const char *name, struct neap_causes *causes)
{
	if (!seen->names)
		seen->names = neap_map_new();
	if (seen->names && neap_map_find(seen->names, name))
		return true;
	if (!seen->names || !neap_map_set(seen->names, name, seen))
		rule_nomem(causes);
	return false;
}

bool rule_seen_has(const struct rule_seen *seen, const char *name)
{
	return seen->names && neap_map_find(seen->names, name);
}

void rule_unique(struct rule_seen *seen, const json_t *object, const char *name,
		 struct neap_causes *causes)
{
	const json_t *value = json_object_get(object, name);

	if (json_string_length(value) &&
	    rule_seen_add(seen, json_string_value(value), causes))
		neap_causes_duplicate(causes, name, value);
}

void rule_seen_done(struct rule_seen *seen)
{
	neap_map_free(seen->names);
	seen->names = NULL;
}

/* --- members --- */

const char *rule_need(const json_t *object, const char *name, struct neap_causes *causes)
{
	const char *text = json_string_value(json_object_get(object, name));

	if (!text)
		return NULL;
	if (text[0] == '\0') {
		neap_causes_required(causes, name, "");
		return NULL;
	}
	return text;
}

const char *rule_need_always(const json_t *object, const char *name,
			     struct neap_causes *causes)
{
	if (!json_object_get(object, name))
		neap_causes_required(causes, name, "");
	return rule_need(object, name, causes);
}

void rule_text(const json_t *object, const char *name, rule_fault_fn *get_fault,
	       struct neap_causes *causes)
{
	const char *text = neap_json_text(object, name);

	rule_invalid(object, name, *text ? get_fault(text) : NULL, causes);
}

void rule_label(const json_t *object, const char *name, struct neap_causes *causes)
{
	rule_text(object, name, neap_kube_dns_label_fault, causes);
}

void rule_subdomain(const json_t *object, const char *name, struct neap_causes *causes)
{
	rule_text(object, name, neap_kube_dns_subdomain_fault, causes);
}

void rule_qualified(const json_t *object, const char *name, struct neap_causes *causes)
{
	const json_t *value = json_object_get(object, name);
	struct neap_error err;

	if (json_is_string(value) &&
	    neap_label_check_key(json_string_value(value), &err) < 0)
		neap_causes_invalid(causes, name, value, "%s", err.msg);
}

int64_t rule_int(const json_t *object, const char *name)
{
	return json_integer_value(json_object_get(object, name));
}

void rule_range(const json_t *object, const char *name, int64_t least, int64_t most,
		const char *fault, struct neap_causes *causes)
{
	const json_t *value = json_object_get(object, name);

	if (json_is_integer(value) &&
	    (json_integer_value(value) < least || json_integer_value(value) > most))
		rule_invalid(object, name, fault, causes);
}

void rule_not_negative(const json_t *object, const char *name, struct neap_causes *causes)
{
	rule_range(object, name, 0, INT64_MAX, RULE_NOT_NEGATIVE, causes);
}

void rule_id(const json_t *object, const char *name, struct neap_causes *causes)
{
	rule_range(object, name, 0, INT32_MAX, RULE_ID, causes);
}

bool rule_is_id(int64_t id)
{
	return id >= 0 && id <= INT32_MAX;
}

bool rule_is_port(int64_t number)
{
	return number >= 1 && number <= 65535;
}

void rule_port(const json_t *object, const char *name, struct neap_causes *causes)
{
	rule_range(object, name, 1, 65535, RULE_PORT, causes);
	if (json_is_string(json_object_get(object, name)))
		rule_invalid(object, name,
			     rule_port_name_fault(neap_json_text(object, name)), causes);
}

static bool is_over_all(const char *percent)
{
	while (*percent == '0')
		percent++;
	return strlen(percent) > 4 ||
	       (strlen(percent) == 4 && strcmp(percent, "100%") != 0);
}

void rule_share(const json_t *object, const char *name, bool is_bounded,
		struct neap_causes *causes)
{
	const json_t *value = json_object_get(object, name);
	const char *fault;

	if (json_is_integer(value))
		rule_not_negative(object, name, causes);
	if (!json_is_string(value))
		return;
	fault = rule_percent_fault(json_string_value(value));
	if (!fault && is_bounded && is_over_all(json_string_value(value)))
		fault = "must not be greater than 100%";
	if (fault)
		neap_causes_invalid(causes, name, value, "%s", fault);
}

bool rule_share_is_zero(const json_t *value)
{
	if (json_is_integer(value))
		return json_integer_value(value) == 0;
	return json_is_string(value) && !rule_percent_fault(json_string_value(value)) &&
	       strspn(json_string_value(value), "0") + 1 == json_string_length(value);
}

/* --- labels --- */

void rule_labels(json_t *labels, const char *field, struct neap_causes *causes)
{
	const char *key;
	json_t *value;

	json_object_foreach (labels, key, value) {
		struct neap_error err;

		if (neap_label_check_key(key, &err) < 0)
			rule_invalid_text(causes, field, key, err.msg);
		if (json_is_string(value) &&
		    neap_label_check_value(json_string_value(value), &err) < 0)
			neap_causes_invalid(causes, field, value, "%s", err.msg);
	}
}

void rule_annotations(json_t *annotations, const char *field, struct neap_causes *causes)
{
	const char *key;
	json_t *value;

	json_object_foreach (annotations, key, value) {
		struct neap_error err;

		if (neap_label_check_key(key, &err) < 0)
			rule_invalid_text(causes, field, key, err.msg);
	}
	rule_annotations_size(annotations, field, causes);
}

/* --- selectors --- */

/* Chosen by the beginning of the message. */
static const char *reason_of(const char *message)
{
	if (strncmp(message, "Required", strlen("Required")) == 0)
		return "FieldValueRequired";
	return strncmp(message, "Forbidden", strlen("Forbidden")) == 0
		       ? "FieldValueForbidden"
		       : "FieldValueInvalid";
}

/* The schema reports operators and missing keys. */
static bool is_told(const struct neap_error *err)
{
	const char *last = strrchr(err->field, '.');

	return last && (strcmp(last, ".operator") == 0 ||
			(strcmp(last, ".key") == 0 &&
			 strncmp(err->msg, "Required", strlen("Required")) == 0));
}

void rule_selector(const json_t *selector, const char *field, struct neap_selector **ret,
		   struct neap_causes *causes)
{
	struct neap_selector *parsed = NULL;
	struct neap_error err;
	size_t from = causes->count;
	int rc;

	if (ret)
		*ret = NULL;
	if (!json_is_object(selector))
		return;
	rc = neap_selector_parse(selector, &parsed, &err);
	if (rc == -NEAP_ENOMEM)
		rule_nomem(causes);
	else if (rc == -NEAP_EINVAL && !is_told(&err))
		neap_causes_add(causes, reason_of(err.msg), err.field, "%s", err.msg);
	else if (rc < 0 && rc != -NEAP_EINVAL)
		neap_causes_add(causes, "FieldValueTooMany", err.field, "Too many: %s",
				err.msg);
	if (rc != -NEAP_ENOMEM)
		neap_causes_infield(causes, from, "%s", field);
	if (rc == 0 && ret)
		*ret = parsed;
	else if (rc == 0)
		neap_selector_free(parsed);
}

bool rule_selector_is_empty(const json_t *selector)
{
	return neap_kube_is_empty(json_object_get(selector, "matchLabels")) &&
	       neap_kube_is_empty(json_object_get(selector, "matchExpressions"));
}

/* --- updates --- */

/* Members that Kubernetes omits when they are false or 0. */
static bool is_left_out(const char *name)
{
	static const char *const names[] = {
		"hostNetwork",         "hostPID", "hostIPC",  "stdin",
		"stdinOnce",           "tty",     "readOnly", "hostPort",
		"initialDelaySeconds", NULL,
	};

	return neap_text_is_in(name, names);
}

/* Maps, and structs that are not pointers in Go: an empty one counts as missing. An empty
 * labelSelector, which matches all, does not; nor does an emptyDir. */
static bool is_void_when_empty(const char *name)
{
	static const char *const names[] = {
		"",           "metadata",        "labels",     "annotations",
		"spec",       "status",          "template",   "nodeSelector",
		"resources",  "limits",          "requests",   "overhead",
		"capacity",   "allocatable",     "parameters", "matchLabels",
		"preference", "podAffinityTerm", "options",    "volumeAttributes",
		"strategy",   "updateStrategy",  NULL,
	};

	return neap_text_is_in(name, names);
}

static bool is_nothing(const char *name, const json_t *value)
{
	if (!value || json_is_null(value))
		return true;
	if (json_is_string(value))
		return json_string_length(value) == 0 &&
		       strcmp(name, "storageClassName") != 0;
	if (json_is_array(value))
		return json_array_size(value) == 0;
	if (json_is_object(value))
		return json_object_size(value) == 0 && is_void_when_empty(name);
	return is_left_out(name) &&
	       (json_is_false(value) ||
		(json_is_integer(value) && json_integer_value(value) == 0));
}

static bool same_member(const char *name, const json_t *a, const json_t *b)
{
	/* Their members are data, so an empty text is a value. */
	static const char *const maps[] = {
		"matchLabels", "nodeSelector", "labels",     "annotations",
		"limits",      "requests",     "parameters", NULL};

	if (is_nothing(name, a) || is_nothing(name, b))
		return is_nothing(name, a) && is_nothing(name, b);
	return neap_text_is_in(name, maps) ? json_equal(a, b) : rule_same(a, b);
}

/* Whether b has the members of a with the same values. */
static bool covers(const json_t *a, const json_t *b, const char *const *names,
		   const char **ret_name)
{
	const char *name;
	const json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)a, name, value) {
		if (neap_text_is_in(name, names) ||
		    same_member(name, value, json_object_get(b, name)))
			continue;
		if (ret_name)
			*ret_name = name;
		return false;
	}
	return true;
}

/* Whether b has members that a has not. */
static bool adds(const json_t *a, const json_t *b, const char *const *names,
		 const char **ret_name)
{
	const char *name;
	const json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)b, name, value) {
		if (neap_text_is_in(name, names) || json_object_get(a, name) ||
		    is_nothing(name, value))
			continue;
		if (ret_name)
			*ret_name = name;
		return true;
	}
	return false;
}

bool rule_same_but(const json_t *a, const json_t *b, const char *const *names,
		   const char **ret_name)
{
	return covers(a, b, names, ret_name) && !adds(a, b, names, ret_name);
}

bool rule_same(const json_t *a, const json_t *b)
{
	size_t i;
	const json_t *value;

	if (is_nothing("", a) || is_nothing("", b))
		return is_nothing("", a) && is_nothing("", b);
	if (json_is_object(a) && json_is_object(b))
		return rule_same_but(a, b, NULL, NULL);
	if (!json_is_array(a) || !json_is_array(b))
		return json_equal(a, b);
	if (json_array_size(a) != json_array_size(b))
		return false;
	json_array_foreach (a, i, value)
		if (!rule_same(value, json_array_get(b, i)))
			return false;
	return true;
}

void rule_immutable(const json_t *object, const json_t *before, const char *name,
		    struct neap_causes *causes)
{
	const json_t *value = json_object_get(object, name);

	if (!rule_same(value, json_object_get(before, name)))
		neap_causes_invalid(causes, name, value, "%s", RULE_IMMUTABLE);
}
