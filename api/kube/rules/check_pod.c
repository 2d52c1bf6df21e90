/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules for pods and pod templates, and for changes of a pod: images, deadlines, added
 * tolerations, removed scheduling gates. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/rules/check_priv.h"
#include "engine/base/mem.h"
#include "engine/base/selector.h"

/* --- the parts of a spec --- */

/* arg: struct rule_seen. */
static void check_gate(const json_t *gate, void *arg, struct neap_causes *causes)
{
	const json_t *name = json_object_get(gate, "name");
	struct neap_error err;

	if (!json_is_string(name))
		return;
	if (neap_label_check_key(json_string_value(name), &err) < 0)
		neap_causes_invalid(causes, "", name, "%s", err.msg);
	if (rule_seen_add(arg, json_string_value(name), causes))
		neap_causes_duplicate(causes, "", name);
}

static void check_condition(const json_t *gate, void *arg NEAP_UNUSED,
			    struct neap_causes *causes)
{
	rule_qualified(gate, "conditionType", causes);
}

/* The fields of host names have no index. */
static void check_aliases(const json_t *spec, struct neap_causes *causes)
{
	size_t i, k;
	const json_t *alias, *host;

	json_array_foreach (json_object_get(spec, "hostAliases"), i, alias) {
		const char *ip = json_string_value(json_object_get(alias, "ip"));
		size_t from = causes->count;

		/* An empty one is none, too. */
		rule_invalid(alias, "ip", ip ? rule_ip_fault(ip) : NULL, causes);
		neap_causes_infield(causes, from, "hostAliases[%zu]", i);
		json_array_foreach (json_object_get(alias, "hostnames"), k, host) {
			const char *text = json_string_value(host);
			const char *fault =
				text ? neap_kube_dns_subdomain_fault(text) : NULL;

			if (fault)
				neap_causes_invalid(causes, "hostAliases.hostnames", host,
						    "%s", fault);
		}
	}
}

/* One of supplementalGroups. */
static void check_group(const json_t *group, void *arg NEAP_UNUSED,
			struct neap_causes *causes)
{
	if (!rule_is_id(json_integer_value(group)))
		neap_causes_invalid(causes, "", group, RULE_ID);
}

static void check_security(const json_t *security, struct neap_causes *causes)
{
	rule_id(security, "runAsUser", causes);
	rule_id(security, "runAsGroup", causes);
	rule_id(security, "fsGroup", causes);
	rule_each(security, "supplementalGroups", check_group, NULL, causes);
}

#define SYSCTL_MAX 253
#define SYSCTL_RULE                                                                      \
	"must have at most 253 characters and match regex "                              \
	"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"

/* Segments of letters and digits, with "-" and "_" inside, separated by "." or "/". */
static bool is_sysctl(const char *name)
{
	static const char ends[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	enum { START, INNER, END } at = START;

	if (strlen(name) > SYSCTL_MAX)
		return false;
	for (; *name != '\0'; name++) {
		if (strchr(ends, *name))
			at = END;
		else if ((*name == '-' || *name == '_') && at != START)
			at = INNER;
		else if ((*name == '.' || *name == '/') && at == END)
			at = START;
		else
			return false;
	}
	return at == END;
}

/* The kernel namespace that a parameter belongs to; NULL: none that pods can share. */
static const char *sysctl_sharer(const char *name)
{
	static const struct {
		const char *prefix, *sharer;
	} rows[] = {
		{"net.", "hostNetwork"},   {"kernel.shm", "hostIPC"},
		{"kernel.msg", "hostIPC"}, {"kernel.sem", "hostIPC"},
		{"fs.mqueue.", "hostIPC"},
	};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		if (strncmp(name, rows[i].prefix, strlen(rows[i].prefix)) == 0)
			return rows[i].sharer;
	return NULL;
}

struct sysctls {
	const json_t *spec; /* of the pod */
	struct rule_seen seen;
};

/* Each name once, and none of a namespace that the pod shares with its node. */
static void check_sysctl(const json_t *sysctl, void *arg, struct neap_causes *causes)
{
	struct sysctls *sysctls = arg;
	const char *name = neap_json_text(sysctl, "name");
	const char *sharer = sysctl_sharer(name);

	(void)rule_need(sysctl, "name", causes);
	if (*name && !is_sysctl(name))
		rule_invalid(sysctl, "name", SYSCTL_RULE, causes);
	else
		rule_unique(&sysctls->seen, sysctl, "name", causes);
	if (sharer && json_is_true(json_object_get(sysctls->spec, sharer)))
		neap_causes_invalid(causes, "name", json_object_get(sysctl, "name"),
				    "may not be specified when '%s' is true", sharer);
}

/* Search domains may end in a dot. */
static const char *search_fault(const char *text)
{
	char name[256];
	size_t len = strlen(text);

	if (!neap_strcopy(name, sizeof(name), text))
		return neap_kube_dns_subdomain_fault(text);
	if (len > 1 && name[len - 1] == '.')
		name[len - 1] = '\0';
	return neap_kube_dns_subdomain_fault(name);
}

static void check_dns_option(const json_t *option, void *arg NEAP_UNUSED,
			     struct neap_causes *causes)
{
	if (!json_string_length(json_object_get(option, "name")))
		neap_causes_required(causes, "", "must not be empty");
}

/* Policy None needs name servers: there is no other source. */
static void check_dns(const json_t *spec, struct neap_causes *causes)
{
	const json_t *config = json_object_get(spec, "dnsConfig");
	const json_t *servers = json_object_get(config, "nameservers");
	bool is_none = neap_json_is_text(spec, "dnsPolicy", "None");

	if (is_none && !config)
		neap_causes_required(causes, "dnsConfig",
				     "must provide `dnsConfig` when `dnsPolicy` is None");
	else if (is_none && json_array_size(servers) == 0)
		neap_causes_required(causes, "dnsConfig.nameservers",
				     "must provide at least one DNS nameserver when "
				     "`dnsPolicy` is None");
	rule_texts(spec, "dnsConfig.nameservers", rule_ip_fault, causes);
	rule_texts(spec, "dnsConfig.searches", search_fault, causes);
	rule_each(spec, "dnsConfig.options", check_dns_option, NULL, causes);
}

/* arg: struct rule_seen. */
static void check_claim(const json_t *claim, void *arg, struct neap_causes *causes)
{
	(void)rule_need(claim, "name", causes);
	rule_label(claim, "name", causes);
	rule_unique(arg, claim, "name", causes);
}

/* claims: volumeClaimTemplates of a StatefulSet, which are volumes of its pods too; or
 * NULL. */
static void rule_pod_spec(const json_t *spec, bool is_pod, const json_t *claims,
			  struct neap_causes *causes)
{
	static const char *const subdomains[] = {"nodeName", "serviceAccountName",
						 "priorityClassName", "runtimeClassName"};
	static const char *const labels[] = {"hostname", "subdomain"};
	struct rule_pod pod = {.spec = spec, .is_pod = is_pod};
	struct sysctls sysctls = {.spec = spec};
	struct rule_seen gates = {0}, claimed = {0};

	rule_volumes(&pod, causes);
	rule_claims(&pod, claims, causes);
	rule_containers(&pod, causes);
	rule_seen_done(&pod.volumes);
	rule_range(spec, "activeDeadlineSeconds", 1, INT32_MAX,
		   "must be between 1 and 2147483647, inclusive", causes);
	rule_labels(json_object_get(spec, "nodeSelector"), "nodeSelector", causes);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(subdomains); i++)
		rule_subdomain(spec, subdomains[i], causes);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(labels); i++)
		rule_label(spec, labels[i], causes);
	rule_tolerations(spec, causes);
	rule_in(spec, "affinity", rule_affinity, causes);
	rule_spread(spec, causes);
	check_aliases(spec, causes);
	rule_in(spec, "securityContext", check_security, causes);
	rule_each(spec, "securityContext.sysctls", check_sysctl, &sysctls, causes);
	check_dns(spec, causes);
	rule_each(spec, "readinessGates", check_condition, NULL, causes);
	rule_each(spec, "schedulingGates", check_gate, &gates, causes);
	rule_each(spec, "resourceClaims", check_claim, &claimed, causes);
	rule_seen_done(&sysctls.seen);
	rule_seen_done(&gates);
	rule_seen_done(&claimed);
	rule_pod_resources(spec, causes);
	rule_amounts(json_object_get(spec, "overhead"), "overhead", causes);
}

void rule_pod_template(const json_t *pod_template, const json_t *claims,
		       struct neap_causes *causes)
{
	const json_t *meta = json_object_get(pod_template, "metadata");
	const json_t *spec = json_object_get(pod_template, "spec");
	size_t from = causes->count;

	rule_labels(json_object_get(meta, "labels"), "labels", causes);
	rule_annotations(json_object_get(meta, "annotations"), "annotations", causes);
	neap_causes_infield(causes, from, "metadata");
	from = causes->count;
	rule_pod_spec(spec, false, claims, causes);
	if (json_array_size(json_object_get(spec, "ephemeralContainers")) > 0)
		neap_causes_forbidden(causes, "ephemeralContainers",
				      "ephemeral containers not allowed in pod template");
	neap_causes_infield(causes, from, "spec");
}

/* --- updates --- */

static void update_deadline(const json_t *spec, const json_t *before,
			    struct neap_causes *causes)
{
	static const char name[] = "activeDeadlineSeconds";
	const json_t *now = json_object_get(spec, name);
	const json_t *old = json_object_get(before, name);

	if (!json_is_integer(old))
		return;
	if (!json_is_integer(now))
		neap_causes_invalid(causes, name, now,
				    "must not update from a positive integer to nil "
				    "value");
	else if (json_integer_value(now) > json_integer_value(old))
		neap_causes_invalid(causes, name, now,
				    "must be less than or equal to previous value");
}

/* A toleration as text, without its seconds; NULL without memory. */
static char *toleration_text(const json_t *toleration)
{
	return neap_asprintf("%s\n%s\n%s\n%s", neap_json_text(toleration, "key"),
			     neap_json_text(toleration, "operator"),
			     neap_json_text(toleration, "value"),
			     neap_json_text(toleration, "effect"));
}

/* All former tolerations must remain; their seconds may change. */
static void update_tolerations(const json_t *spec, const json_t *before,
			       struct neap_causes *causes)
{
	const json_t *old = json_object_get(before, "tolerations");
	const json_t *lists[] = {json_object_get(spec, "tolerations"), old};
	struct rule_seen seen = {0};
	bool is_missing = false;

	if (rule_same(lists[0], lists[1]))
		return;
	for (size_t k = 0; k < NEAP_ARRAY_LEN(lists); k++) {
		size_t i;
		const json_t *toleration;

		json_array_foreach (lists[k], i, toleration) {
			neap_auto_free char *text = toleration_text(toleration);

			if (!text)
				rule_nomem(causes);
			else if (lists[k] != old)
				(void)rule_seen_add(&seen, text, causes);
			else
				is_missing = is_missing || !rule_seen_has(&seen, text);
		}
	}
	if (is_missing)
		neap_causes_forbidden(causes, "tolerations",
				      "existing toleration can not be modified except "
				      "its tolerationSeconds");
	rule_seen_done(&seen);
}

static void update_gates(const json_t *spec, const json_t *before,
			 struct neap_causes *causes)
{
	struct rule_seen seen = {0};
	size_t i;
	const json_t *gate;

	json_array_foreach (json_object_get(before, "schedulingGates"), i, gate)
		(void)rule_seen_add(&seen, neap_json_text(gate, "name"), causes);
	json_array_foreach (json_object_get(spec, "schedulingGates"), i, gate) {
		const char *name = neap_json_text(gate, "name");

		if (!rule_seen_has(&seen, name))
			neap_causes_forbidden(causes, "schedulingGates",
					      "only deletion is allowed, but found new "
					      "scheduling gate '%.100s'",
					      name);
	}
	rule_seen_done(&seen);
}

/* A waiting pod may only be restricted to fewer nodes. */
static void update_nodes(const json_t *spec, const json_t *before,
			 struct neap_causes *causes)
{
	json_t *now = json_object_get(spec, "nodeSelector");
	const char *key;
	json_t *value;
	size_t from = causes->count;

	json_object_foreach (json_object_get(before, "nodeSelector"), key, value) {
		if (rule_same(value, json_object_get(now, key)))
			continue;
		neap_causes_invalid(causes, "nodeSelector", now,
				    "only additions to spec.nodeSelector are allowed (no "
				    "mutations or deletions)");
		break;
	}
	from = causes->count;
	rule_affinity_update(json_object_get(spec, "affinity"),
			     json_object_get(before, "affinity"), causes);
	neap_causes_infield(causes, from, "affinity");
}

/* Only images of containers may change. False: their number changed, so nothing else is
 * compared. */
static bool update_containers(const json_t *spec, const json_t *before, const char *name,
			      struct neap_causes *causes, const char **ret_changed)
{
	static const char *const image[] = {"image", NULL};
	const json_t *now = json_object_get(spec, name);
	const json_t *old = json_object_get(before, name);
	size_t i;
	const json_t *container;

	if (json_array_size(now) != json_array_size(old)) {
		neap_causes_forbidden(causes, name,
				      "pod updates may not add or remove containers");
		return false;
	}
	json_array_foreach (now, i, container)
		if (!rule_same_but(container, json_array_get(old, i), image, NULL))
			*ret_changed = name;
	return true;
}

static bool grace_may_change(const json_t *spec, const json_t *before)
{
	static const char name[] = "terminationGracePeriodSeconds";

	return rule_int(before, name) < 0 && rule_int(spec, name) == 1;
}

/* Only node affinity may change, and only in a gated pod. */
static bool same_affinity(const json_t *spec, const json_t *before, bool is_gated)
{
	static const char *const nodes[] = {"nodeAffinity", NULL};
	const json_t *now = json_object_get(spec, "affinity"),
		     *was = json_object_get(before, "affinity");

	/* Here an empty one differs from none. */
	return (is_gated || !now == !was) &&
	       rule_same_but(now, was, is_gated ? nodes : NULL, NULL);
}

static void rule_pod_update(const json_t *spec, const json_t *before,
			    struct neap_causes *causes)
{
	static const char *const apart[] = {"containers",
					    "initContainers",
					    "activeDeadlineSeconds",
					    "tolerations",
					    "schedulingGates",
					    "affinity",
					    "terminationGracePeriodSeconds",
					    "nodeSelector",
					    NULL};
	static const char grace[] = "terminationGracePeriodSeconds";
	bool is_gated = json_array_size(json_object_get(before, "schedulingGates")) > 0;
	const char *changed = NULL;

	if (!update_containers(spec, before, "containers", causes, &changed) ||
	    !update_containers(spec, before, "initContainers", causes, &changed))
		return;
	update_deadline(spec, before, causes);
	update_tolerations(spec, before, causes);
	update_gates(spec, before, causes);
	if (is_gated)
		update_nodes(spec, before, causes);
	else if (!rule_same(json_object_get(spec, "nodeSelector"),
			    json_object_get(before, "nodeSelector")))
		changed = "nodeSelector";
	if (!same_affinity(spec, before, is_gated))
		changed = "affinity";
	if (!rule_same(json_object_get(spec, grace), json_object_get(before, grace)) &&
	    !grace_may_change(spec, before))
		changed = grace;
	(void)rule_same_but(spec, before, apart, &changed);
	if (changed)
		neap_causes_forbidden(
			causes, "",
			"pod updates may not change fields other than "
			"`spec.containers[*].image`,`spec.initContainers[*].image`,"
			"`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions "
			"to existing tolerations),`spec.terminationGracePeriodSeconds` "
			"(allow it to be set to 1 if it was previously negative)\n"
			"spec.%.100s has changed",
			changed);
}

/* --- pods --- */

static void check_new(const json_t *spec, struct neap_causes *causes)
{
	if (json_array_size(json_object_get(spec, "ephemeralContainers")) > 0)
		neap_causes_forbidden(causes, "ephemeralContainers",
				      "cannot be set on create");
	if (neap_json_text(spec, "nodeName")[0] != '\0' &&
	    json_array_size(json_object_get(spec, "schedulingGates")) > 0)
		neap_causes_forbidden(
			causes, "nodeName",
			"cannot be set until all schedulingGates have been cleared");
}

void neap_kube_check_pod(const json_t *object, const json_t *before,
			 struct neap_causes *causes)
{
	const json_t *spec = json_object_get(object, "spec");
	const json_t *old = json_object_get(before, "spec");
	size_t from;

	if (!spec) {
		neap_causes_required(causes, "spec.containers", "");
		return;
	}
	rule_pod_class(object, before, causes);
	from = causes->count;
	/* An unchanged spec, as in a status update, is not checked again. */
	if (before && json_equal(spec, old))
		return;
	rule_pod_spec(spec, true, NULL, causes);
	if (!before)
		check_new(spec, causes);
	else
		rule_pod_update(spec, old, causes);
	neap_causes_infield(causes, from, "spec");
}
