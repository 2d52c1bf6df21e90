/* SPDX-License-Identifier: Apache-2.0
 *
 * Building blocks of the rules for the built-in kinds. A rule gets a part of an object
 * and names fields relative to it; its caller prepends the path (neap_causes_infield).
 * Rules do not report again what the schema reports (missing required fields, enums,
 * formats), and pass over values of a wrong type. */
#ifndef NEAP_API_KUBE_RULES_CHECK_PRIV_H
#define NEAP_API_KUBE_RULES_CHECK_PRIV_H

#include "api/kube/rules/rules.h"
#include "engine/json/json.h"

#define RULE_NOT_NEGATIVE "must be greater than or equal to 0"
#define RULE_POSITIVE     "must be greater than zero"
#define RULE_IMMUTABLE    "field is immutable"
#define RULE_IP           "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"

/* --- telling --- */

void rule_nomem(struct neap_causes *causes);
/* Reports a member. fault NULL: it has none. */
void rule_invalid(const json_t *object, const char *name, const char *fault,
		  struct neap_causes *causes);
/* As neap_causes_invalid, for a text that is not a value of the object, such as a key. */
void rule_invalid_text(struct neap_causes *causes, const char *field, const char *text,
		       const char *fault);
/* As rule_invalid_text, for a value that is shown as JSON. Takes value. */
void rule_invalid_take(struct neap_causes *causes, const char *field, json_t *value,
		       const char *fault);
/* Appends to the message of the last cause if one was added since there were told
 * causes. */
void rule_append(struct neap_causes *causes, size_t told, const char *detail);

/* --- parts; their path (neap_json_at) comes before the fields of their causes --- */

typedef void rule_part_fn(const json_t *part, struct neap_causes *causes);
typedef void rule_item_fn(const json_t *item, void *arg, struct neap_causes *causes);
/* NULL, or the rule that is broken. */
typedef const char *rule_fault_fn(const char *text);

/* Checks the part at path, if it is there. */
void rule_in(const json_t *object, const char *path, rule_part_fn *check,
	     struct neap_causes *causes);
/* Checks each item of the list at path. */
void rule_each(const json_t *object, const char *path, rule_item_fn *check, void *arg,
	       struct neap_causes *causes);
/* ... of a list of texts. */
void rule_texts(const json_t *object, const char *path, rule_fault_fn *get_fault,
		struct neap_causes *causes);

/* --- sets of names --- */

struct neap_map;

struct rule_seen {
	struct neap_map *names;
};

/* Returns whether the name was in the set already. Without memory: reports it, returns
 * false. */
bool rule_seen_add(struct rule_seen *seen, const char *name, struct neap_causes *causes);
/* Reports a text that is in the set already, and is not empty. */
void rule_unique(struct rule_seen *seen, const json_t *object, const char *name,
		 struct neap_causes *causes);
bool rule_seen_has(const struct rule_seen *seen, const char *name);
void rule_seen_done(struct rule_seen *seen);

/* --- names: NULL, or the rule that is broken --- */

const char *rule_port_name_fault(const char *text);
const char *rule_env_name_fault(const char *text);
const char *rule_config_key_fault(const char *text);
const char *rule_percent_fault(const char *text);
const char *rule_service_name_fault(const char *text); /* RFC 1035 label */
const char *rule_ip_fault(const char *text);
/* Checks a path within a volume: it must be relative and stay below its start. */
const char *rule_path_fault(const char *text);
bool rule_path_has_parent(const char *path);
/* Returns 4 or 6, the address family; 0: not a CIDR. */
int rule_cidr_family(const char *text);

/* --- members --- */

/* Returns the text of a member. NULL: it is missing, or empty, which is reported. */
const char *rule_need(const json_t *object, const char *name, struct neap_causes *causes);
/* The same, but reports a missing member too: for fields that the schema does not
 * require. */
const char *rule_need_always(const json_t *object, const char *name,
			     struct neap_causes *causes);
/* Check a text that is not empty. */
void rule_text(const json_t *object, const char *name, rule_fault_fn *get_fault,
	       struct neap_causes *causes);
void rule_label(const json_t *object, const char *name, struct neap_causes *causes);
void rule_subdomain(const json_t *object, const char *name, struct neap_causes *causes);
/* "prefix/name". An empty text is reported. */
void rule_qualified(const json_t *object, const char *name, struct neap_causes *causes);
int64_t rule_int(const json_t *object, const char *name);
/* Reports a number outside of a range. */
void rule_range(const json_t *object, const char *name, int64_t least, int64_t most,
		const char *fault, struct neap_causes *causes);
void rule_not_negative(const json_t *object, const char *name,
		       struct neap_causes *causes);
/* Checks the number of a user or group. */
void rule_id(const json_t *object, const char *name, struct neap_causes *causes);
/* 1 to 65535. */
bool rule_is_port(int64_t number);
#define RULE_PORT "must be between 1 and 65535, inclusive"
/* Whether the number is valid for a user or group. */
bool rule_is_id(int64_t id);
#define RULE_ID "must be between 0 and 2147483647, inclusive"
/* A port's number or name. */
void rule_port(const json_t *object, const char *name, struct neap_causes *causes);
/* A number that is not negative, or a percentage; is_bounded: at most 100%. */
void rule_share(const json_t *object, const char *name, bool is_bounded,
		struct neap_causes *causes);
/* Whether it is a valid number or percentage, and 0. */
bool rule_share_is_zero(const json_t *value);

/* Check a map of labels or annotations at field. */
void rule_labels(json_t *labels, const char *field, struct neap_causes *causes);
void rule_annotations(json_t *annotations, const char *field, struct neap_causes *causes);
/* Only how large they are in total. */
void rule_annotations_size(json_t *annotations, const char *field,
			   struct neap_causes *causes);

struct neap_selector;

/* Checks a LabelSelector. ret may be NULL; the caller frees *ret, which is NULL when the
 * selector is missing or wrong. */
void rule_selector(const json_t *selector, const char *field, struct neap_selector **ret,
		   struct neap_causes *causes);
/* Whether it has no requirements. */
bool rule_selector_is_empty(const json_t *selector);

/* allowedTopologies of a StorageClass. */
void rule_topologies(const json_t *list, struct neap_causes *causes);

/* --- updates --- */

/* Whether two values mean the same. A missing value, null and [] are equal, and {} too
 * where Go has no pointer: Kubernetes omits them all. */
bool rule_same(const json_t *a, const json_t *b);
/* The same, ignoring the members in names (ended by NULL). ret_name: the first that
 * differs. */
bool rule_same_but(const json_t *a, const json_t *b, const char *const *names,
		   const char **ret_name);
/* Reports a member that has changed. */
void rule_immutable(const json_t *object, const json_t *before, const char *name,
		    struct neap_causes *causes);

/* --- quantities --- */

/* Returns below 0, 0 or above 0, as a compares with b; also 0 when either is out of
 * range. */
int rule_quantity_compare(const json_t *a, const json_t *b);
/* -1, 0 or 1. */
int rule_quantity_sign(const json_t *value);
/* Amounts of any resources, at field[name]. */
void rule_amounts(json_t *amounts, const char *field, struct neap_causes *causes);
/* resources of a container. */
void rule_resources(const json_t *resources, struct neap_causes *causes);
/* resources of a pod: at least as much CPU and memory as its containers request. */
void rule_pod_resources(const json_t *spec, struct neap_causes *causes);

/* --- parts of pods --- */

struct rule_pod {
	const json_t *spec;
	bool is_pod; /* false: a template */
	struct rule_seen volumes;
};

/* Checks what a pod's labels demand of it. before: NULL for a new pod. */
void rule_pod_class(const json_t *pod, const json_t *before, struct neap_causes *causes);
/* {metadata, spec} */
void rule_pod_template(const json_t *pod_template, const json_t *claims,
		       struct neap_causes *causes);
/* A pod with scheduling gates may only have terms added to its node affinity. */
void rule_affinity_update(const json_t *affinity, const json_t *before,
			  struct neap_causes *causes);
/* Fills pod->volumes. */
void rule_volumes(struct rule_pod *pod, struct neap_causes *causes);
/* Adds the names of volumeClaimTemplates to pod->volumes. They may hide volumes. */
void rule_claims(struct rule_pod *pod, const json_t *claims, struct neap_causes *causes);
void rule_containers(struct rule_pod *pod, struct neap_causes *causes);
/* resourceFieldRef, fieldRef. */
void rule_resource_field_ref(const json_t *ref, bool needs_container,
			     struct neap_causes *causes);
void rule_tolerations(const json_t *spec, struct neap_causes *causes);
rule_part_fn rule_affinity;
void rule_spread(const json_t *spec, struct neap_causes *causes);
void rule_node_selector(const json_t *selector, struct neap_causes *causes);

/* --- defaults ---
 *
 * Helpers that set defaults. A value that exists stays, whatever its type: checks come
 * later. All functions that return bool for success return false only without memory. */

/* False for an object, array or string that has content. */
bool neap_kube_is_empty(const json_t *value);

/* Sets a member that is missing. Takes value; NULL counts as out of memory. */
bool neap_kube_default_take(json_t *object, const char *name, json_t *value);
/* Sets a member in any case. Takes value. */
bool neap_kube_member_take(json_t *object, const char *name, json_t *value);
/* Finds the object in a member, and creates it where it is missing. *ret_child is NULL
 * when the member has another type. */
bool neap_kube_child(json_t *object, const char *name, json_t **ret_child);

/* Sets a member that is missing to a copy of value. NULL: does nothing. */
bool neap_kube_default_copy(json_t *object, const char *name, const json_t *value);

/* Completes a field and the list that succeeded it ("podIP", "podIPs"). A missing one is
 * filled in from the other; where they differ, the field wins. key: the member of the
 * list's items; NULL when they are strings. */
bool neap_kube_first_of(json_t *object, const char *one, const char *many,
			const char *key);

#endif
