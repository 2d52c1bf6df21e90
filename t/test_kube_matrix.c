/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may do what with everything that is served: all resources and parts that discovery
 * tells of, by all their verbs, as every role. What is wanted stands in one table; what
 * is not in it fails, so that a new kind or part is not served before somebody has said
 * whose it is. A request and a review ("kubectl auth can-i") must both say so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/kube/read/read.h"
#include "api/kube/request/call.h"
#include "engine/base/mem.h"
#include "t/lib/kube_rig.h"

/* --- what is wanted --- */

#define REVIEW "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
#define NS     "default"
#define LEASES "kube-node-lease"

static const struct {
	char letter;
	const char *name, *method;
	bool is_collection;
	const char *query;
} verbs[] = {
	{'g', "get", "GET", false, ""},
	{'l', "list", "GET", true, ""},
	/* What is wrong with it is told to those who may watch. */
	{'w', "watch", "GET", true, "?watch=true&resourceVersion=x"},
	{'c', "create", "POST", true, "?dryRun=All"},
	{'u', "update", "PUT", false, "?dryRun=All"},
	{'p', "patch", "MERGE", false, "?dryRun=All"},
	{'d', "delete", "DELETE", false, "?dryRun=All"},
	{'D', "deletecollection", "DELETE", true, "?dryRun=All"},
};
#define READING "glw"
#define ALL     "cupdD"

enum who { READER, OWN, OTHER, EDITOR, RUNNING, ADMIN, WHO };

static const struct {
	const char *name, *token;
	bool runs_pods;
} people[WHO] = {
	[READER] = {"a reader", "rose-token-of-16", false},
	/* What has the node's name, is bound to it or told by it; and what is
	 * another's. */
	[OWN] = {"a node with its own", "node-token-of-16", false},
	[OTHER] = {"a node with another's", "node-token-of-16", false},
	[EDITOR] = {"an editor", "eddy-token-of-16", false},
	[RUNNING] = {"an editor where pods run", "eddy-token-of-16", true},
	[ADMIN] = {"an admin", "secret", true},
};

/* Letters of verbs that may be done, beside reading, which everybody may. An admin may
 * everything. */
struct row {
	const char *group, *resource;
	const char *may[ADMIN];
};

/* An editor's. */
#define FREE                                                                             \
	{                                                                                \
		"", "", "", ALL, ALL                                                     \
	}
/* ... but where pods run, as processes are made of it. */
#define RUNS                                                                             \
	{                                                                                \
		"", "", "", ALL, "dD"                                                    \
	}
/* ... and the node's of whose name it is. */
#define NAMED                                                                            \
	{                                                                                \
		"", "cupd", "", ALL, ALL                                                 \
	}
#define NAMED_STATUS                                                                     \
	{                                                                                \
		"", "up", "", ALL, ALL                                                   \
	}
/* An admin's alone; of what is only read nothing but that is served. */
#define CLOSED                                                                           \
	{                                                                                \
		"", "", "", "", ""                                                       \
	}
/* Everybody's about himself. */
#define ASKED                                                                            \
	{                                                                                \
		"c", "c", "c", "c", "c"                                                  \
	}

/* clang-format off */
static const struct row rows[] = {
	{"", "configmaps", RUNS},
	{"", "endpoints", CLOSED},
	/* Of whom it is told says the event, which a review does not know. */
	{"", "events", {"", "cup", "c", ALL, ALL}},
	{"", "namespaces", FREE},
	{"", "namespaces/finalize", FREE},
	{"", "namespaces/status", FREE},
	{"", "nodes", {"", "cup", "", ALL, ALL}},
	{"", "nodes/status", NAMED_STATUS},
	{"", "persistentvolumeclaims", FREE},
	{"", "persistentvolumeclaims/status", FREE},
	{"", "persistentvolumes", FREE},
	{"", "persistentvolumes/status", FREE},
	{"", "pods", {"", "d", "", ALL, "dD"}},
	{"", "pods/binding", {"", "", "", ALL, ""}},
	{"", "pods/eviction", {"", "c", "", ALL, ALL}},
	{"", "pods/log", CLOSED},
	{"", "pods/status", NAMED_STATUS},
	{"", "podtemplates", RUNS},
	{"", "replicationcontrollers", RUNS},
	{"", "replicationcontrollers/scale", FREE},
	{"", "replicationcontrollers/status", FREE},
	{"", "secrets", CLOSED},
	{"", "serviceaccounts", FREE},
	{"", "services", FREE},
	{"", "services/status", FREE},
	{"apiextensions.k8s.io", "customresourcedefinitions", CLOSED},
	{"apiextensions.k8s.io", "customresourcedefinitions/status", CLOSED},
	{"apps", "controllerrevisions", RUNS},
	{"apps", "daemonsets", RUNS},
	{"apps", "daemonsets/status", FREE},
	{"apps", "deployments", RUNS},
	{"apps", "deployments/scale", FREE},
	{"apps", "deployments/status", FREE},
	{"apps", "replicasets", RUNS},
	{"apps", "replicasets/scale", FREE},
	{"apps", "replicasets/status", FREE},
	{"apps", "statefulsets", RUNS},
	{"apps", "statefulsets/scale", FREE},
	{"apps", "statefulsets/status", FREE},
	{"authentication.k8s.io", "selfsubjectreviews", ASKED},
	{"authentication.k8s.io", "tokenreviews", CLOSED},
	{"authorization.k8s.io", "localsubjectaccessreviews", CLOSED},
	{"authorization.k8s.io", "selfsubjectaccessreviews", ASKED},
	{"authorization.k8s.io", "selfsubjectrulesreviews", ASKED},
	{"authorization.k8s.io", "subjectaccessreviews", CLOSED},
	{"batch", "cronjobs", CLOSED},
	{"batch", "jobs", RUNS},
	{"batch", "jobs/status", FREE},
	{"config.koordinator.sh", "clustercolocationprofiles", CLOSED},
	{"config.koordinator.sh", "clustercolocationprofiles/status", CLOSED},
	{"coordination.k8s.io", "leases", NAMED},
	{"events.k8s.io", "events", {"", "cup", "c", ALL, ALL}},
	{"extensions", "ingresses", CLOSED},
	{"metrics.k8s.io", "nodes", CLOSED},
	{"metrics.k8s.io", "pods", CLOSED},
	{"networking.k8s.io", "ingresses", CLOSED},
	{"policy", "poddisruptionbudgets", FREE},
	{"policy", "poddisruptionbudgets/status", FREE},
	{"scheduling.k8s.io", "priorityclasses", FREE},
	{"scheduling.koordinator.sh", "devices", NAMED},
	{"scheduling.koordinator.sh", "podmigrationjobs", FREE},
	{"scheduling.koordinator.sh", "podmigrationjobs/status", FREE},
	{"scheduling.koordinator.sh", "reservations", FREE},
	{"scheduling.koordinator.sh", "reservations/status", FREE},
	{"scheduling.sigs.k8s.io", "elasticquotas", FREE},
	{"scheduling.sigs.k8s.io", "podgroups", FREE},
	{"slo.koordinator.sh", "nodemetrics", NAMED},
	{"slo.koordinator.sh", "nodemetrics/status", NAMED_STATUS},
	{"slo.koordinator.sh", "nodeslos", FREE},
	{"slo.koordinator.sh", "nodeslos/status", FREE},
	{"storage.k8s.io", "csinodes", FREE},
	{"storage.k8s.io", "storageclasses", FREE},
	{"topology.node.k8s.io", "noderesourcetopologies", NAMED},
};
/* clang-format on */

static const struct row *find_row(const char *group, const char *resource)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].group, group) == 0 &&
		    strcmp(rows[i].resource, resource) == 0)
			return &rows[i];
	return NULL;
}

static bool wants(const struct row *row, enum who who, char letter)
{
	return who == ADMIN || strchr(READING, letter) || strchr(row->may[who], letter);
}

/* --- asking --- */

/* One resource, or part of one, as discovery has it. */
struct thing {
	const char *group, *version, *resource; /* "pods/status" */
	char plural[128];
	const char *sub; /* "": the object itself */
	bool is_namespaced;
	const struct row *row;
};

static const char *name_of(const struct thing *thing, enum who who)
{
	bool is_own = who != OTHER;

	if (strcmp(thing->plural, "pods") == 0 || strcmp(thing->plural, "events") == 0)
		return is_own ? "mine" : "yours";
	return is_own ? "n1" : "n2";
}

static const char *namespace_of(const struct thing *thing)
{
	if (!thing->is_namespaced)
		return "";
	return strcmp(thing->plural, "leases") == 0 ? LEASES : NS;
}

static int request(struct kube_rig *rig, const struct thing *thing, enum who who,
		   size_t verb)
{
	const char *name = name_of(thing, who), *ns = namespace_of(thing);
	bool has_name = !verbs[verb].is_collection || *thing->sub;
	char ask[512], body[128];

	(void)snprintf(ask, sizeof(ask), "%s /%s%s%s/%s%s%s/%s%s%s%s%s%s",
		       verbs[verb].method, *thing->group ? "apis/" : "api", thing->group,
		       "", thing->version, *ns ? "/namespaces/" : "", ns, thing->plural,
		       has_name ? "/" : "", has_name ? name : "", *thing->sub ? "/" : "",
		       thing->sub, verbs[verb].query);
	/* An event has to say who tells it. */
	(void)snprintf(body, sizeof(body), "{'metadata':{'name':'%s'}%s}", name,
		       strcmp(thing->plural, "events") == 0 ? ",'reportingInstance':'n1'"
							    : "");
	return kube_ask(rig, ask, strchr("cup", verbs[verb].letter) ? body : NULL);
}

static bool review(struct kube_rig *rig, const struct thing *thing, enum who who,
		   size_t verb)
{
	bool has_name = !verbs[verb].is_collection || verbs[verb].letter == 'c';
	char body[512];

	(void)snprintf(body, sizeof(body),
		       "{'spec':{'resourceAttributes':{'verb':'%s','group':'%s',"
		       "'version':'%s','resource':'%s','subresource':'%s','namespace':"
		       "'%s','name':'%s'}}}",
		       verbs[verb].name, thing->group, thing->version, thing->plural,
		       thing->sub, namespace_of(thing),
		       has_name ? name_of(thing, who) : "");
	if (kube_ask(rig, "POST " REVIEW, body) != 201)
		fail_msg("%s: %s", body, kube_text(rig->body, "message"));
	return json_is_true(kube_at(rig->body, "status.allowed"));
}

/* The index of a verb of discovery. */
static size_t find_verb(const json_t *name)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(verbs); i++)
		if (strcmp(verbs[i].name, json_string_value(name)) == 0)
			return i;
	fail_msg("a verb that this test does not know: %s", json_string_value(name));
	return 0;
}

/* Returns how many answers were not as wanted. */
static int look_at(struct kube_rig *rig, const struct thing *thing, enum who who,
		   size_t verb)
{
	bool is_wanted = wants(thing->row, who, verbs[verb].letter);
	bool is_allowed = review(rig, thing, who, verb);
	int status = request(rig, thing, who, verb);

	if (status == 0 || status == 401 || status == 405)
		fail_msg("%s %s: %d", verbs[verb].name, thing->resource, status);
	if (is_allowed == is_wanted && (status != 403) == is_wanted)
		return 0;
	print_error("%s may%s %s %s of \"%s\": review %s, request %d %s\n",
		    people[who].name, is_wanted ? "" : " not", verbs[verb].name,
		    thing->resource, thing->group, is_allowed ? "yes" : "no", status,
		    kube_text(rig->body, "message"));
	return 1;
}

/* --- everything that is served --- */

static int look_at_resource(struct kube_rig *rig, enum who who, const char *group,
			    const char *version, const json_t *resource)
{
	struct thing thing = {.group = group, .version = version};
	const char *slash;
	const json_t *verb;
	int wrong = 0;
	size_t i;

	thing.resource = kube_text(resource, "name");
	slash = strchr(thing.resource, '/');
	(void)snprintf(thing.plural, sizeof(thing.plural), "%.*s",
		       (int)strcspn(thing.resource, "/"), thing.resource);
	thing.sub = slash ? slash + 1 : "";
	thing.is_namespaced = json_is_true(kube_at(resource, "namespaced"));
	thing.row = find_row(group, thing.resource);
	if (!thing.row) {
		print_error("%s of \"%s\" has no row: say in the table who may do what\n",
			    thing.resource, group);
		return 1;
	}
	json_array_foreach (kube_at(resource, "verbs"), i, verb)
		wrong += look_at(rig, &thing, who, find_verb(verb));
	return wrong;
}

static int look_at_version(struct kube_rig *rig, enum who who, const char *group,
			   const char *version)
{
	const json_t *resource;
	char ask[256];
	json_t *list;
	int wrong = 0;
	size_t i;

	(void)snprintf(ask, sizeof(ask), "GET /%s%s/%s", *group ? "apis/" : "api", group,
		       version);
	assert_int_equal(kube_ask(rig, ask, NULL), 200);
	list = json_incref(rig->body);
	json_array_foreach (kube_at(list, "resources"), i, resource)
		wrong += look_at_resource(rig, who, group, version, resource);
	json_decref(list);
	return wrong;
}

static int look_at_all(struct kube_rig *rig, enum who who)
{
	const json_t *group, *version;
	int wrong = look_at_version(rig, who, "", "v1");
	json_t *groups;
	size_t i, k;

	assert_int_equal(kube_ask(rig, "GET /apis", NULL), 200);
	groups = json_incref(rig->body);
	json_array_foreach (kube_at(groups, "groups"), i, group) {
		json_array_foreach (kube_at(group, "versions"), k, version) {
			wrong += look_at_version(rig, who, kube_text(group, "name"),
						 kube_text(version, "version"));
		}
	}
	json_decref(groups);
	return wrong;
}

static void make_objects(struct kube_rig *rig)
{
#define POD(name, node)                                                                  \
	"{'metadata':{'name':'" name "'},'spec':{'nodeName':'" node                      \
	"','containers':[{'name':'c','image':'i'}]}}"
#define EVENT(name, node)                                                                \
	"{'metadata':{'name':'" name                                                     \
	"'},'involvedObject':{'kind':'Pod','namespace':'" NS                             \
	"','name':'x'},'reason':'x','message':'y','type':'Normal','source':{'host':"     \
	"'" node "'}}"
	static const struct kube_step steps[] = {
		{"POST /api/v1/namespaces",
		 "{'metadata':{'name':'" LEASES "'}}",
		 201,
		 {NULL}},
		{"POST /api/v1/namespaces/" NS "/pods", POD("mine", "n1"), 201, {NULL}},
		{"POST /api/v1/namespaces/" NS "/pods", POD("yours", "n2"), 201, {NULL}},
		{"POST /api/v1/namespaces/" NS "/events",
		 EVENT("mine", "n1"),
		 201,
		 {NULL}},
		{"POST /api/v1/namespaces/" NS "/events",
		 EVENT("yours", "n2"),
		 201,
		 {NULL}},
	};

	kube_steps(rig, steps, NEAP_ARRAY_LEN(steps));
}

static void test_matrix(void **state)
{
	struct kube_rig *rig = *state;
	int wrong = 0;

	make_objects(rig);
	for (enum who who = READER; who < WHO; who++) {
		kube_as(rig, people[who].token);
		rig->kube->runs_pods = people[who].runs_pods;
		wrong += look_at_all(rig, who);
	}
	assert_int_equal(wrong, 0);
}

/* What no longer is has no row, and a row no verb that is not served. */
static void test_rows(void **state)
{
	struct kube_rig *rig = *state;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const char *slash = strchr(rows[i].resource, '/');
		char plural[128];
		const struct neap_kube_kind *kind;

		(void)snprintf(plural, sizeof(plural), "%.*s",
			       (int)strcspn(rows[i].resource, "/"), rows[i].resource);
		kind = neap_kube_registry_find(rig->registry, rows[i].group, NULL,
					       plural);
		for (size_t k = 0; k < i; k++)
			if (find_row(rows[i].group, rows[i].resource) != &rows[i])
				fail_msg("two rows for %s", rows[i].resource);
		if (strstr(rows[i].resource, "reviews"))
			continue;
		if (!kind || (slash && !neap_kube_has_part(kind, slash + 1)))
			fail_msg("%s of \"%s\" is not served", rows[i].resource,
				 rows[i].group);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_matrix, kube_rig_setup,
						kube_rig_teardown),
		cmocka_unit_test_setup_teardown(test_rows, kube_rig_setup,
						kube_rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
