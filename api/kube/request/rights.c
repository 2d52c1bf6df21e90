/* SPDX-License-Identifier: Apache-2.0 */
#include "api/kube/request/rights.h"

#include <string.h>

#include "api/http/users/grants.h"
#include "api/kube/base/meta.h"
#include "engine/base/text.h"
#include "engine/json/json.h"

const char *neap_kube_node_of(const char *user)
{
	size_t len = strlen(NEAP_NODE_USER_PREFIX);

	return strncmp(user, NEAP_NODE_USER_PREFIX, len) == 0 ? user + len : user;
}

static bool is_any(const char *text)
{
	return strcmp(text, "*") == 0;
}

static const char *const reading[] = {"get", "list", "watch", NULL};

/* --- editors --- */

struct about {
	const char *group, *resource; /* NULL: all resources of the group */
};

static const struct about power[] = {
	{"apiextensions.k8s.io", "customresourcedefinitions"},
	{"config.koordinator.sh", "clustercolocationprofiles"},
	{"rbac.authorization.k8s.io", NULL},
	{"admissionregistration.k8s.io", NULL},
	{"apiregistration.k8s.io", NULL},
	{"certificates.k8s.io", NULL},
};

static bool is_about(const struct neap_access_ask *ask, const struct about *rows,
		     size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((is_any(ask->group) || strcmp(ask->group, rows[i].group) == 0) &&
		    (!rows[i].resource || is_any(ask->resource) ||
		     strcmp(ask->resource, rows[i].resource) == 0))
			return true;
	return false;
}

/* What runs as processes where pods run, and the sources of their environment and
 * arguments. */
static const struct about commands[] = {
	{"", "pods"},         {"", "replicationcontrollers"},
	{"", "podtemplates"}, {"", "configmaps"},
	{"apps", NULL},       {"batch", NULL},
};

static bool runs_commands(const struct neap_access_ask *ask)
{
	static const char *const harmless_verbs[] = {"delete", "deletecollection", NULL};
	static const char *const harmless_parts[] = {"status", "scale", "eviction",
						     "finalizers", NULL};

	if (!ask->runs_pods || neap_text_is_in(ask->verb, harmless_verbs) ||
	    neap_text_is_in(ask->sub, harmless_parts))
		return false;
	return is_about(ask, commands, NEAP_ARRAY_LEN(commands));
}

static bool editor_may(const struct neap_access_ask *ask, const char **ret_why)
{
	if (is_about(ask, power, NEAP_ARRAY_LEN(power)))
		return false;
	if (!runs_commands(ask))
		return true;
	*ret_why = "pods run on this machine (--run-pods): whoever writes them, or what "
		   "they are made of, must be an admin";
	return false;
}

/* --- nodes --- */

enum belongs {
	BY_NAME,  /* named as the node */
	BY_LEASE, /* named as the node, in these namespaces */
	BY_BIND,  /* a pod with the node in spec.nodeName */
	BY_SOURCE /* an event that the node reports */
};

static const char *const keeping[] = {"create", "update", "patch", NULL};
static const char *const changing[] = {"update", "patch", NULL};
static const char *const owning[] = {"create", "update", "patch", "delete", NULL};
static const char *const deleting[] = {"delete", NULL};
static const char *const creating[] = {"create", NULL};

static const struct {
	const char *group, *resource, *sub;
	const char *const *verbs;
	enum belongs belongs;
} node_rows[] = {
	{"", "nodes", "", keeping, BY_NAME},
	{"", "nodes", "status", changing, BY_NAME},
	{"", "pods", "", deleting, BY_BIND},
	{"", "pods", "status", changing, BY_BIND},
	{"", "pods", "eviction", creating, BY_BIND},
	{"", "events", "", keeping, BY_SOURCE},
	{"events.k8s.io", "events", "", keeping, BY_SOURCE},
	{"coordination.k8s.io", "leases", "", owning, BY_LEASE},
	{"slo.koordinator.sh", "nodemetrics", "", owning, BY_NAME},
	{"slo.koordinator.sh", "nodemetrics", "status", changing, BY_NAME},
	{"scheduling.koordinator.sh", "devices", "", owning, BY_NAME},
	{"scheduling.koordinator.sh", "devices", "status", changing, BY_NAME},
	{"topology.node.k8s.io", "noderesourcetopologies", "", owning, BY_NAME},
	{"topology.node.k8s.io", "noderesourcetopologies", "status", changing, BY_NAME},
};

static bool has_name(const struct neap_access_ask *ask, const char *node)
{
	const char *name = ask->name;

	if (!*name && ask->after)
		name = neap_kube_meta_text(ask->after, "name");
	return *node && strcmp(name, node) == 0;
}

static bool is_bound(const struct neap_access_ask *ask, const char *node)
{
	const char *bound = json_string_value(neap_json_at(ask->before, "spec.nodeName"));

	return *node && bound && strcmp(bound, node) == 0;
}

/* Whether the node reported the event: as a kubelet does, or as recorders of
 * events.k8s.io do ("NAME-HOST"). */
static bool is_told_by(const json_t *event, const char *node)
{
	const char *instance =
		json_string_value(json_object_get(event, "reportingInstance"));
	size_t len = instance ? strlen(instance) : 0, own = strlen(node);

	return neap_json_is_text(json_object_get(event, "source"), "host", node) ||
	       neap_json_is_text(json_object_get(event, "deprecatedSource"), "host",
				 node) ||
	       (len && strcmp(instance, node) == 0) ||
	       (len > own && instance[len - own - 1] == '-' &&
		strcmp(instance + len - own, node) == 0);
}

static bool names_source(const json_t *event)
{
	static const char *const members[] = {"source", "deprecatedSource"};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(members); i++) {
		const char *host = json_string_value(
			json_object_get(json_object_get(event, members[i]), "host"));

		if (host && *host)
			return true;
	}
	return false;
}

static bool is_own_event(const struct neap_access_ask *ask, const char *node)
{
	bool is_new = strcmp(ask->verb, "create") == 0;

	if (is_new)
		return *node &&
		       (!names_source(ask->after) || is_told_by(ask->after, node));
	return *node && is_told_by(ask->before, node) &&
	       (!ask->after || is_told_by(ask->after, node));
}

static bool is_domain(const char *text, size_t len, const char *domain)
{
	size_t own = strlen(domain);

	return len >= own && strncmp(text + len - own, domain, own) == 0 &&
	       (len == own || text[len - own - 1] == '.');
}

/* Kubernetes' labels that keep pods on or off nodes, except those that a kubelet sets. */
static bool is_restricted(const char *key)
{
	static const char *const domains[] = {"kubernetes.io", "k8s.io"};
	static const char *const own_domains[] = {"kubelet.kubernetes.io",
						  "node.kubernetes.io"};
	static const char *const own[] = {"kubernetes.io/hostname",
					  "kubernetes.io/os",
					  "kubernetes.io/arch",
					  "beta.kubernetes.io/os",
					  "beta.kubernetes.io/arch",
					  "beta.kubernetes.io/instance-type",
					  "topology.kubernetes.io/zone",
					  "topology.kubernetes.io/region",
					  "failure-domain.beta.kubernetes.io/zone",
					  "failure-domain.beta.kubernetes.io/region",
					  "failure-domain.kubernetes.io/zone",
					  "failure-domain.kubernetes.io/region",
					  NULL};
	const char *slash = strchr(key, '/');
	size_t len = slash ? (size_t)(slash - key) : 0;
	bool is_of_kubernetes = false;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(domains); i++)
		is_of_kubernetes = is_of_kubernetes || is_domain(key, len, domains[i]);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(own_domains); i++)
		if (is_domain(key, len, own_domains[i]))
			return false;
	return is_of_kubernetes && !neap_text_is_in(key, own);
}

/* Whether other has every restricted label of object with the same value. */
static bool has_labels_of(const json_t *object, const json_t *other)
{
	const json_t *labels = neap_json_at(object, "metadata.labels");
	const json_t *others = neap_json_at(other, "metadata.labels");
	const json_t *value;
	const char *key;

	json_object_foreach ((json_t *)(uintptr_t)labels, key, value)
		if (is_restricted(key) &&
		    !json_equal(value, json_object_get(others, key)))
			return false;
	return true;
}

/* null, [] and a missing list are equal. */
static bool is_same_list(const json_t *a, const json_t *b)
{
	return json_array_size(a) == json_array_size(b) &&
	       (json_array_size(a) == 0 || json_equal(a, b));
}

/* A node may set the taints that report its own state. */
static bool has_taints_of_others(const json_t *taints)
{
	const json_t *taint;
	size_t i;

	json_array_foreach (taints, i, taint) {
		const char *key = json_string_value(json_object_get(taint, "key"));

		if (key && strncmp(key, "node.kubernetes.io/", 19) != 0 &&
		    strcmp(key, "node.cloudprovider.kubernetes.io/uninitialized") != 0)
			return true;
	}
	return false;
}

/* As a kube-apiserver restricts nodes, and a little more: a node does not choose its
 * pods. */
static bool keeps_place(const struct neap_access_ask *ask, const char **ret_why)
{
	const json_t *was, *is;

	if (!ask->after || strcmp(ask->resource, "nodes") != 0)
		return true;
	if (!has_labels_of(ask->after, ask->before) ||
	    (ask->before && !has_labels_of(ask->before, ask->after))) {
		*ret_why = "a node may not change its labels of kubernetes.io and "
			   "k8s.io, but for those that a kubelet sets";
		return false;
	}
	was = json_object_get(ask->before, "spec");
	is = json_object_get(ask->after, "spec");
	if (!ask->before) {
		if (!has_taints_of_others(json_object_get(is, "taints")))
			return true;
		*ret_why = "a node may bring no taints but those of node.kubernetes.io: "
			   "others set them once it is there";
		return false;
	}
	if (!is_same_list(json_object_get(was, "taints"),
			  json_object_get(is, "taints"))) {
		*ret_why = "a node may not change its taints";
		return false;
	}
	if (json_is_true(json_object_get(was, "unschedulable")) &&
	    !json_is_true(json_object_get(is, "unschedulable"))) {
		*ret_why = "a node may not uncordon itself";
		return false;
	}
	return true;
}

/* A finished pod must not come back. Its owner has made another pod, and would delete one
 * of the two, maybe the other. */
static bool stays_ended(const struct neap_access_ask *ask, const char **ret_why)
{
	static const char *const ends[] = {"Succeeded", "Failed", NULL};
	const char *was = json_string_value(neap_json_at(ask->before, "status.phase"));
	const json_t *is = json_object_get(ask->after, "status");

	if (!ask->after || !was || !neap_text_is_in(was, ends) ||
	    neap_json_is_text(is, "phase", was))
		return true;
	*ret_why = "a pod that has ended stays so";
	return false;
}

static bool belongs_to(const struct neap_access_ask *ask, enum belongs belongs,
		       const char **ret_why)
{
	const char *node = neap_kube_node_of(ask->user);

	switch (belongs) {
	case BY_LEASE:
		if (strcmp(ask->ns, "kube-node-lease") == 0 && has_name(ask, node))
			return true;
		*ret_why = "a node writes the lease of its own name in "
			   "kube-node-lease only";
		return false;
	case BY_BIND:
		if (is_bound(ask, node))
			return stays_ended(ask, ret_why);
		*ret_why = "a node writes pods only that are bound to it";
		return false;
	case BY_NAME:
		if (has_name(ask, node))
			return keeps_place(ask, ret_why);
		*ret_why = "a node writes what has its own name only";
		return false;
	case BY_SOURCE:
		if (is_own_event(ask, node))
			return true;
		*ret_why = "a node writes events only whose source it is";
		return false;
	}
	return false;
}

static bool node_may(const struct neap_access_ask *ask, const char **ret_why)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(node_rows); i++)
		if (strcmp(ask->group, node_rows[i].group) == 0 &&
		    strcmp(ask->resource, node_rows[i].resource) == 0 &&
		    strcmp(ask->sub, node_rows[i].sub) == 0 &&
		    neap_text_is_in(ask->verb, node_rows[i].verbs))
			return belongs_to(ask, node_rows[i].belongs, ret_why);
	return false;
}

/* --- all --- */

static bool is_review_of_self(const struct neap_access_ask *ask)
{
	static const char *const reviews[] = {"selfsubjectaccessreviews",
					      "selfsubjectrulesreviews", NULL};

	if (strcmp(ask->verb, "create") != 0 || *ask->sub)
		return false;
	if (strcmp(ask->group, "authentication.k8s.io") == 0)
		return strcmp(ask->resource, "selfsubjectreviews") == 0;
	return strcmp(ask->group, "authorization.k8s.io") == 0 &&
	       neap_text_is_in(ask->resource, reviews);
}

static bool is_review(const struct neap_access_ask *ask)
{
	return strcmp(ask->group, "authorization.k8s.io") == 0 ||
	       strcmp(ask->group, "authentication.k8s.io") == 0;
}

static bool may_role(const struct neap_access_ask *ask, const char **ret_why)
{
	if (ask->role < NEAP_HTTP_READER)
		return false;
	if (ask->role == NEAP_HTTP_ADMIN || is_review_of_self(ask))
		return true;
	if (is_review(ask))
		return false;
	if (neap_text_is_in(ask->verb, reading))
		return true;
	if (ask->role == NEAP_HTTP_NODE)
		return node_may(ask, ret_why);
	return ask->role == NEAP_HTTP_EDITOR && editor_may(ask, ret_why);
}

/* Owners and finalizers decide when an object is deleted. */
static bool changes_end(const struct neap_access_ask *ask)
{
	static const char *const members[] = {"ownerReferences", "finalizers"};
	const json_t *was = json_object_get(ask->before, "metadata");
	const json_t *is = json_object_get(ask->after, "metadata");

	for (size_t i = 0; ask->after && i < NEAP_ARRAY_LEN(members); i++)
		if (!is_same_list(json_object_get(was, members[i]),
				  json_object_get(is, members[i])))
			return true;
	return false;
}

bool neap_kube_may(const struct neap_access_ask *ask, const char **ret_why)
{
	struct neap_access_ask end = *ask;
	const char *unheard;

	if (!ret_why)
		ret_why = &unheard;
	*ret_why = "";
	if (!may_role(ask, ret_why))
		return false;
	if (!changes_end(ask))
		return true;
	end.verb = "delete";
	end.sub = "";
	if (!*end.name)
		end.name = neap_kube_meta_text(ask->after, "name");
	end.after = NULL;
	if (may_role(&end, &unheard))
		return true;
	*ret_why = "whoever changes metadata.ownerReferences or metadata.finalizers must "
		   "be allowed to delete the object";
	return false;
}
