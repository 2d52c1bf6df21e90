/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers in which neapd once differed from a kube-apiserver (t/peers), a row each, in
 * the order in which they are asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/base.h"
#include "t/lib/kube_rig.h"

#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

#define MAPS   "/api/v1/namespaces/default/configmaps"
#define PODS   "/api/v1/namespaces/default/pods"
#define DEPLOY "/apis/apps/v1/namespaces/default/deployments"
#define LEASES "/apis/coordination.k8s.io/v1/namespaces/default/leases"
#define SPEC                                                                                   \
	"\"spec\":{\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{"  \
	"\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}" \
	"]}}}"
#define TABLE(v) "Accept: application/json;as=Table;v=" v ";g=meta.k8s.io\r\n"
#define PARTIAL(s)                                                                       \
	"Accept: application/json;as=PartialObjectMetadata" s ";v=v1;g=meta.k8s.io\r\n"
#define MAP(meta) "{\"metadata\":{\"name\":\"a\"" meta "}}"
#define OWNER(v, k)                                                                      \
	",\"ownerReferences\":[{\"apiVersion\":\"" v "\",\"kind\":\"" k                  \
	"\",\"name\":\"o\",\"uid\":\"u\"}]"
#define MANY(v) "{\"preconditions\":{" v "}}"

struct row {
	const char *ask, *headers, *body;
	int status;
	const char *want;
};

static void ask(struct kube_rig *rig, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct row *row = &rows[i];
		int got = kube_ask_with(rig, row->ask, row->headers, row->body,
					row->body ? strlen(row->body) : 0);
		const char *why = row->want ? kube_differs(rig->body, row->want) : NULL;

		if (got != row->status || why)
			fail_msg("%zu: %s %s: %d %s: %s", i, row->ask,
				 row->body ? row->body : "", got, why ? why : "",
				 kube_text(rig->body, "message"));
	}
}

static void test_names(void **state)
{
	static const struct row rows[] = {
		{"PUT " MAPS "/none", "", "{\"metadata\":{}}", 400,
		 "message~undeterminable"},
		{"PUT " MAPS "/none", "", MAP(""), 400,
		 "message~does not match the name"},
		{"PUT " MAPS "/a", "", MAP(""), 404, NULL},
		{"POST " MAPS, "", MAP(""), 201, NULL},
		{"PUT " MAPS "/a", "", "{\"metadata\":{}}", 400,
		 "message~undeterminable"},
		{"MERGE " MAPS "/a", "", "{\"metadata\":{\"resourceVersion\":null}}", 200,
		 NULL},
		{"STRATEGIC " MAPS "/a", "", "{\"metadata\":null}", 400,
		 "message~undeterminable"},
		{"GET /api/v1//pods", "", NULL, 404, NULL},
		{"GET /api//v1/pods", "", NULL, 404, NULL},
		{"GET " MAPS "//a", "", NULL, 404, NULL},
		{"GET " MAPS "/a/", "", NULL, 200, NULL},
	};

	ask(*state, rows, NEAP_ARRAY_LEN(rows));
}

static void test_bodies(void **state)
{
	static const struct row rows[] = {
		{"POST " MAPS, "", "null", 422, "message~name or generateName"},
		{"POST " MAPS, "Content-Type: \r\n", MAP(""), 201, NULL},
		{"MERGE " MAPS "/a", "", " null ", 400, NULL},
		{"JSON " MAPS "/a", "", "null", 200, NULL},
		{"JSON " MAPS "/a", "", "{}", 400, NULL},
		{"JSON " MAPS "/a", "", "[5]", 400, NULL},
		{"JSON " MAPS "/a", "", "[{\"op\":\"bid\",\"path\":\"/data\"}]", 422,
		 "message~Unexpected kind: bid"},
		{"JSON " MAPS "/a", "", "[{\"op\":\"remove\",\"path\":\"data\"}]", 422,
		 NULL},
		{"MERGE " MAPS "/a", "", "{\"data\":5}", 422,
		 "details.causes.0.field=patch"},
		{"MERGE " MAPS "/a", "", "{\"metadata\":[]}", 422, NULL},
		{"MERGE " MAPS "/a?fieldValidation=Strict", "", "{\"nosuch\":5}", 422,
		 "message~unknown field"},
		{"MERGE " MAPS "/a", "", "{\"data\":", 400, "reason=BadRequest"},
		{"DELETE " MAPS "/a?dryRun=All", "", "null", 200, NULL},
		{"DELETE " MAPS "/a", "", "5", 400, NULL},
	};

	ask(*state, rows, NEAP_ARRAY_LEN(rows));
}

static void test_metadata(void **state)
{
	static const struct row rows[] = {
		{"POST " MAPS, "", MAP(",\"annotations\":{\"Example.com/X\":\"y\"}"), 201,
		 NULL},
		{"POST " MAPS "?dryRun=All", "", MAP(OWNER("a/b/c", "X")), 422,
		 "message~version must not be empty"},
		{"POST " MAPS "?dryRun=All", "", MAP(OWNER("v1", "Event")), 422,
		 "message~disallowed from being an owner"},
		{"POST " MAPS "?dryRun=All", "",
		 "{\"metadata\":{\"name\":\"b\"" OWNER("events.k8s.io/v1", "Event") "}}",
		 201, NULL},
		{"MERGE " MAPS "/a", "", "{\"metadata\":{\"uid\":\"x\"}}", 422,
		 "message~metadata.uid: Invalid value: \"x\": field is immutable"},
		{"PUT " MAPS "/a", "", MAP(",\"uid\":\"x\""), 409, "reason=Conflict"},
		{"PUT " MAPS "/a", "",
		 MAP(",\"deletionTimestamp\":\"2020-01-02T03:04:05Z\""), 422,
		 "message~metadata.deletionTimestamp: Invalid value"},
		{"MERGE " MAPS "/a", "",
		 "{\"metadata\":{\"deletionGracePeriodSeconds\":5}}", 422, NULL},
		{"PUT " MAPS "/none", "", "{\"metadata\":{\"name\":\"none\"}}", 404,
		 NULL},
		{"PUT " MAPS "/none", "",
		 "{\"metadata\":{\"name\":\"none\",\"uid\":\"u\"}}", 409, NULL},
		{"POST " DEPLOY, "", "{\"metadata\":{\"name\":\"d\"}," SPEC "}", 201,
		 NULL},
		{"MERGE " DEPLOY "/d/status", "",
		 "{\"metadata\":{\"annotations\":{\"a b\":\"x\"}}}", 422,
		 "message~metadata.annotations"},
		{"MERGE " DEPLOY "/d/status", "",
		 "{\"metadata\":{\"finalizers\":[\"f\"]}}", 422, NULL},
		{"MERGE " DEPLOY "/d/scale", "", "{\"kind\":\"Secret\"}", 422, NULL},
		{"PUT " DEPLOY "/d/scale", "", "{\"kind\":\"Secret\"}", 400, NULL},
		{"PUT " DEPLOY "/d/scale", "", "{\"spec\":{\"replicas\":2}}", 400,
		 "message~name must be provided"},
		{"PUT " DEPLOY "/d/scale", "",
		 "{\"metadata\":{\"name\":\"d\",\"namespace\":\"default\",\"uid\":\"x\"},\"spec\":{\"replicas\":2}}",
		 409, NULL},
		{"MERGE " DEPLOY "/d/scale", "", "{\"metadata\":{\"uid\":\"x\"}}", 409,
		 NULL},
		{"MERGE " DEPLOY "/d/scale", "",
		 "{\"metadata\":{\"annotations\":{\"a b\":\"x\"}}}", 422, NULL},
		{"MERGE /api/v1/namespaces/default", "",
		 "{\"metadata\":{\"namespace\":\"other\"}}", 400,
		 "message~does not match the namespace"},
		{"MERGE /api/v1/namespaces/default", "",
		 "{\"metadata\":{\"namespace\":\"default\"}}", 200, NULL},
		{"PUT /api/v1/namespaces/default/finalize", "",
		 "{\"metadata\":{\"name\":\"default\"},\"spec\":5}", 400, NULL},
		{"PUT " LEASES "/l", "", "{\"metadata\":{\"name\":\"l\",\"uid\":\"u\"}}",
		 409, NULL},
		{"PUT " LEASES "/l", "",
		 "{\"metadata\":{\"name\":\"l\",\"resourceVersion\":\"5\"}}", 201, NULL},
		{"MERGE " DEPLOY "/d/scale", "", "{\"spec\":null}", 200,
		 "spec.replicas=0"},
	};

	ask(*state, rows, NEAP_ARRAY_LEN(rows));
}

static void test_reads(void **state)
{
	static const struct row rows[] = {
		{"POST " MAPS, "", MAP(""), 201, NULL},
		{"GET " MAPS "/a?resourceVersion=x", "", NULL, 400, NULL},
		{"GET " MAPS "/a?resourceVersion=99999999", "", NULL, 504,
		 "reason=Timeout"},
		{"GET " MAPS "/a?resourceVersion=1", "", NULL, 200, NULL},
		{"GET " MAPS "?fieldSelector=metadata.name%3Da%5Cx", "", NULL, 400,
		 "message~invalid escape sequence"},
		{"GET " MAPS "?fieldSelector=metadata.name%3Da%5C,b", "", NULL, 200,
		 "#items=0"},
		{"GET " MAPS "/a", TABLE("v1beta1"), NULL, 200,
		 "apiVersion=meta.k8s.io/v1beta1"},
		{"GET " MAPS "/a", TABLE("v1"), NULL, 200, "metadata.resourceVersion"},
		{"GET " MAPS "/a", TABLE("v9"), NULL, 406, "reason=NotAcceptable"},
		{"GET " MAPS "/a", PARTIAL(""), NULL, 200, "kind=PartialObjectMetadata"},
		{"GET " MAPS, PARTIAL(""), NULL, 406, "message~is a list"},
		{"GET " MAPS, PARTIAL("List"), NULL, 200,
		 "kind=PartialObjectMetadataList"},
		{"GET " MAPS "/a", PARTIAL("List"), NULL, 406, "message~is not a list"},
		{"GET " MAPS "?watch=1", PARTIAL("List"), NULL, 406, NULL},
	};

	ask(*state, rows, NEAP_ARRAY_LEN(rows));
}

static void test_many(void **state)
{
	static const struct row rows[] = {
		{"POST " MAPS, "", MAP(""), 201, NULL},
		{"DELETE " MAPS, "", MANY("\"uid\":\"x\""), 409, "reason=Conflict"},
		{"DELETE " MAPS, "", MANY("\"uid\":\"\""), 409, NULL},
		{"DELETE " MAPS, "", MANY("\"resourceVersion\":\"0\""), 409, NULL},
		{"DELETE " MAPS "?resourceVersion=x", "", NULL, 400, NULL},
		{"DELETE " MAPS, "", "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v9\"}",
		 400, "message~is registered for version"},
		{"DELETE " MAPS "?dryRun=All", "",
		 "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"policy/v1beta1\"}", 200,
		 NULL},
		{"DELETE /api/v1/namespaces", "", NULL, 405, NULL},
		{"GET " MAPS, "", NULL, 200, "#items=1"},
		{"DELETE " MAPS, PARTIAL("List"), NULL, 200,
		 "items.0.kind=PartialObjectMetadata"},
		{"GET " MAPS, "", NULL, 200, "#items=0"},
		{"POST " PODS, "",
		 "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\","
		 "\"image\":\"i\"}]}}",
		 201, NULL},
		{"DELETE " PODS "/p", "", NULL, 200,
		 "metadata.deletionGracePeriodSeconds=0"},
	};

	ask(*state, rows, NEAP_ARRAY_LEN(rows));
}

#define POD(spec)                                                                             \
	"{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":" \
	"\"i\"}]," spec "}}"

static void test_pods(void **state)
{
	static const struct row rows[] = {
		{"POST " PODS "?dryRun=All", "",
		 POD("\"hostAliases\":[{\"ip\":\"1.2.3.4\",\"hostnames\":[\"A b\"]}]"),
		 422, "message~hostAliases.hostnames"},
		{"POST " PODS "?dryRun=All", "",
		 POD("\"securityContext\":{\"runAsUser\":2147483648}"), 422,
		 "details.causes.0.field=spec.securityContext.runAsUser"},
		{"POST " PODS "?dryRun=All", "",
		 POD("\"securityContext\":{\"supplementalGroups\":[1,-1]}"), 422,
		 "details.causes.0.field=spec.securityContext.supplementalGroups[1]"},
		{"POST " PODS "?dryRun=All", "",
		 POD("\"securityContext\":{\"fsGroup\":2147483647}"), 201, NULL},
		{"POST " PODS "?dryRun=All", "",
		 POD("\"dnsConfig\":{\"searches\":[\"a.b.\",\"c\"],\"options\":[{\"name\":\"n\"}]}"),
		 201, NULL},
		{"POST " PODS "?dryRun=All", "",
		 POD("\"dnsConfig\":{\"searches\":[null]}"), 422,
		 "details.causes.0.field=spec.dnsConfig.searches[0]"},
		{"POST " PODS "?dryRun=All", "",
		 POD("\"dnsConfig\":{\"options\":[{\"value\":\"n\"}]}"), 422,
		 "details.causes.0.field=spec.dnsConfig.options[0]"},
		{"POST " PODS "?dryRun=All", "", POD("\"imagePullSecrets\":[null]"), 201,
		 "#spec.imagePullSecrets=1"},
		{"POST " PODS "?dryRun=All", "",
		 POD("\"securityContext\":{\"supplementalGroups\":[null]}"), 201,
		 "spec.securityContext.supplementalGroups.0=0"},
		{"POST " PODS, "", POD("\"terminationGracePeriodSeconds\":-1"), 201,
		 NULL},
		{"PUT " PODS "/p/status", "",
		 "{\"metadata\":{\"name\":\"p\",\"deletionTimestamp\":"
		 "\"2020-01-02T03:04:05Z\"}}",
		 200, "!metadata.deletionTimestamp"},
		{"PUT " PODS "/p/status", "",
		 "{\"metadata\":{\"name\":\"p\",\"deletionGracePeriodSeconds\":5}}", 422,
		 NULL},
		{"POST " PODS "/p/binding", "",
		 "{\"metadata\":{\"name\":\"p\"},\"target\":{\"name\":\"n\"}}", 201,
		 NULL},
		/* Not at once: a kubelet has to end it. */
		{"DELETE " PODS "/p", "", NULL, 200,
		 "metadata.deletionGracePeriodSeconds=1"},
	};

	ask(*state, rows, NEAP_ARRAY_LEN(rows));
}

#define STORAGE            "/apis/storage.k8s.io/v1/"
#define DRIVER(name, more) "{\"name\":\"" name "\",\"nodeID\":\"n\"" more "}"
#define DRIVERS(list)      "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"drivers\":[" list "]}}"
#define CLASS(terms)                                                                         \
	"{\"metadata\":{\"name\":\"c\"},\"provisioner\":\"p\",\"allowedTopologies\":[" terms \
	"]}"
#define TERM(rows)       "{\"matchLabelExpressions\":[" rows "]}"
#define KEY(key, values) "{\"key\":\"" key "\",\"values\":[" values "]}"

#define SETS  "/apis/apps/v1/namespaces/default/statefulsets"
#define CLAIM "spec.volumeClaimTemplates.0."
#define SET(claim)                                                                       \
	"{\"metadata\":{\"name\":\"s\"},\"spec\":{\"volumeClaimTemplates\":[" claim      \
	"],\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{"    \
	"\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\","           \
	"\"image\":\"i\"}]}}}}"

static void test_storage(void **state)
{
	static const struct row rows[] = {
		{"POST " STORAGE "csinodes", "",
		 DRIVERS(DRIVER("A.example", ",\"topologyKeys\":[\"k\"]")), 201, NULL},
		{"MERGE " STORAGE "csinodes/n", "",
		 DRIVERS(DRIVER("A.example", ",\"topologyKeys\":[\"l\"]")), 422,
		 "details.causes.0.field=spec.drivers[0]"},
		{"MERGE " STORAGE "csinodes/n", "",
		 DRIVERS(DRIVER("A.example",
				",\"topologyKeys\":[\"k\"]") "," DRIVER("b.example", "")),
		 200, NULL},
		{"POST " STORAGE "csinodes", "", DRIVERS(DRIVER("a b", "")), 422,
		 "details.causes.0.field=spec.drivers[0].name"},
		{"POST " STORAGE "csinodes", "",
		 DRIVERS(DRIVER("a", "") "," DRIVER("a", "")), 422,
		 "details.causes.0.reason=FieldValueDuplicate"},
		{"POST " STORAGE "csinodes", "",
		 DRIVERS(DRIVER("a", ",\"allocatable\":{\"count\":-1}")), 422,
		 "details.causes.0.field=spec.drivers[0].allocatable.count"},
		{"POST " STORAGE "csinodes", "",
		 DRIVERS(DRIVER("a", ",\"topologyKeys\":[\"k\",\"k\"]")), 422,
		 "details.causes.0.field=spec.drivers[0]"},
		{"POST " STORAGE "csinodes", "",
		 DRIVERS("{\"name\":\"a\",\"nodeID\":\"\"}"), 422,
		 "details.causes.0.field=spec.drivers[0].nodeID"},
		{"POST " STORAGE "storageclasses?dryRun=All", "",
		 CLASS(TERM(KEY("k", "\"v\"")) "," TERM(KEY("k", "\"w\""))), 201, NULL},
		{"POST " STORAGE "storageclasses", "",
		 CLASS(TERM(KEY("k", "\"v\"")) "," TERM(KEY("k", "\"v\""))), 422,
		 "details.causes.0.field=allowedTopologies[1].matchLabelExpressions"},
		{"POST " STORAGE "storageclasses", "", CLASS(TERM("")), 422, NULL},
		{"POST " STORAGE "storageclasses?dryRun=All", "",
		 "{\"metadata\":{\"name\":\"c\"},\"provisioner\":\"p\","
		 "\"reclaimPolicy\":\"\"}",
		 201, "reclaimPolicy="},
		{"POST " SETS "?dryRun=All", "", SET("null"), 201,
		 CLAIM "spec.volumeMode=Filesystem"},
		{"POST " SETS "?dryRun=All", "",
		 SET("{\"metadata\":{\"name\":\"v\"},\"spec\":{\"accessModes\":[\"x\",null]}}"),
		 201, CLAIM "spec.accessModes.0=x"},
		{"POST /api/v1/namespaces/default/persistentvolumeclaims", "",
		 "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"accessModes\":[\"x\"]}}",
		 422, "message~spec.accessModes[0]: Unsupported value: \"x\""},
		{"POST " STORAGE "storageclasses", "",
		 CLASS(TERM(KEY("k", "\"v\"") "," KEY("k", "\"w\""))), 422,
		 "details.causes.0.field=allowedTopologies[0].matchLabelExpressions[1]"
		 ".key"},
		{"POST " STORAGE "storageclasses", "",
		 CLASS(TERM(KEY("k", "\"v\",\"v\""))), 422,
		 "details.causes.0.field=allowedTopologies[0].matchLabelExpressions[0]"
		 ".values[1]"},
		{"POST " STORAGE "storageclasses", "", CLASS(TERM(KEY("k k", "\"v\""))),
		 422, NULL},
	};

	ask(*state, rows, NEAP_ARRAY_LEN(rows));
}

#define ACCESS "/apis/authorization.k8s.io/v1/"

static void test_reviews(void **state)
{
	static const struct row rows[] = {
		{"GET " ACCESS "subjectaccessreviews", "", NULL, 405, NULL},
		{"DELETE " ACCESS "namespaces/default/localsubjectaccessreviews", "",
		 NULL, 405, NULL},
		{"GET " ACCESS "nosuch", "", NULL, 404, NULL},
		{"POST " ACCESS "selfsubjectaccessreviews?dryRun=x", "", "{}", 422, NULL},
		{"POST " ACCESS "subjectaccessreviews", "",
		 "{\"spec\":{\"resourceAttributes\":{\"verb\":\"get\"}}}", 422,
		 "message~at least one of user or group"},
		{"POST /apis/authentication.k8s.io/v1/tokenreviews", "",
		 "{\"spec\":{\"token\":\"x\"}}", 201,
		 "status.error=invalid bearer token"},
	};

	ask(*state, rows, NEAP_ARRAY_LEN(rows));
}

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define CRD(plural, kind, scope, schema)                                                 \
	"{\"metadata\":{\"name\":\"" plural ".x.example\"},\"spec\":{\"group\":"         \
	"\"x.example\",\"scope\":\"" scope "\",\"names\":{\"plural\":\"" plural          \
	"\",\"kind\":\"" kind "\"},\"versions\":[{\"name\":\"v1\",\"served\":true,"      \
	"\"storage\":true,\"subresources\":{\"status\":{},\"scale\":{"                   \
	"\"specReplicasPath\":\".spec.n\",\"statusReplicasPath\":\".status.n\","         \
	"\"labelSelectorPath\":\".status.of\"}},\"schema\":{\"openAPIV3Schema\":"        \
	"{\"type\":\"object\",\"properties\":{" schema "}}}}]}}"
#define OPEN    "{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}"
#define BOTH    "\"spec\":" OPEN ",\"status\":" OPEN
#define KEPT(x) "\"spec\":{\"type\":\"object\",\"properties\":{\"a\":" x "}}"
#define ROOT    "spec.versions.0.schema.openAPIV3Schema.properties.spec.properties.a."
#define DRAWERS "/apis/x.example/v1/drawers"
#define DRAWER(more)                                                                     \
	"{\"apiVersion\":\"x.example/v1\",\"kind\":\"Drawer\",\"metadata\":{\"name\":"   \
	"\"a\"}" more "}"

/* Values of Go that are no pointers come of a null, and so do schemas. */
static void test_definitions(void **state)
{
	static const struct row rows[] = {
		{"POST " CRDS "?dryRun=All", "", CRD("ps", "P", "Cluster", KEPT("null")),
		 422, "message~properties[spec].properties[a].type"},
		{"POST " CRDS "?dryRun=All", "",
		 CRD("ps", "P", "Cluster", KEPT("{\"type\":\"array\",\"items\":[5]}")),
		 422, "message~properties[spec].properties[a].items"},
		{"POST " CRDS "?dryRun=All", "",
		 CRD("ps", "P", "Cluster",
		     KEPT("{\"type\":\"object\",\"additionalProperties\":{\"type\":5}}")),
		 400, "message~additionalProperties.type"},
		{"POST " CRDS "?dryRun=All", "",
		 CRD("ps", "P", "Cluster",
		     KEPT("{\"type\":\"object\",\"additionalProperties\":{\"type\":"
			  "\"string\",\"nosuch\":1}}")),
		 201, "!" ROOT "additionalProperties.nosuch"},
		{"POST " CRDS "?dryRun=All", "",
		 CRD("ps", "P", "Cluster",
		     KEPT("{\"type\":\"object\",\"additionalProperties\":true}")),
		 201, ROOT "additionalProperties=true"},
		{"POST " CRDS "?dryRun=All", PARTIAL(""), CRD("ps", "P", "Cluster", BOTH),
		 201, "kind=PartialObjectMetadata"},
		{"POST " CRDS "?dryRun=All", TABLE("v1"), CRD("ps", "P", "Cluster", BOTH),
		 201, "#rows=1"},
	};

	ask(*state, rows, NEAP_ARRAY_LEN(rows));
}

static void test_declared(void **state)
{
	static const struct row rows[] = {
		{"POST " CRDS, "", CRD("drawers", "Drawer", "Cluster", BOTH), 201, NULL},
		{"POST " DRAWERS, "",
		 "{\"apiVersion\":\"x.example/v1\",\"kind\":\"Secret\",\"metadata\":{"
		 "\"name\":\"a\"}}",
		 422, "details.causes.0.field=kind"},
		{"POST " DRAWERS, "", DRAWER(",\"spec\":{\"n\":-1}"), 422,
		 "message~.spec.n: Invalid value: -1: should be a non-negative integer"},
		{"POST " DRAWERS, "", DRAWER(",\"spec\":{\"n\":2147483648}"), 422,
		 "message~should be less than or equal to 2147483647"},
		{"POST " DRAWERS, "", DRAWER(",\"spec\":{\"n\":\"x\"}"), 422,
		 "details.causes.0.field=.spec.n"},
		{"POST " DRAWERS, "", DRAWER(",\"spec\":{\"n\":2147483647}"), 201, NULL},
		{"MERGE " DRAWERS "/a/status", "", "{\"status\":{\"n\":-1}}", 422,
		 "details.causes.0.field=.status.n"},
		{"MERGE " DRAWERS "/a/status", "", "{\"status\":{\"of\":5}}", 422,
		 "details.causes.0.field=.status.of"},
		{"MERGE " DRAWERS "/a/status", "",
		 "{\"kind\":\"X\",\"apiVersion\":\"y/v9\",\"metadata\":{\"uid\":\"x\","
		 "\"deletionTimestamp\":\"2020-01-02T03:04:05Z\"},\"status\":{\"n\":1}}",
		 200, "!metadata.deletionTimestamp"},
		{"MERGE " DRAWERS "/a", "", "{\"kind\":\"X\"}", 422, NULL},
		{"GET " DRAWERS "?fieldSelector=metadata.namespace%3Dx", "", NULL, 400,
		 "message~field label not supported"},
		{"GET /api/v1/nodes?fieldSelector=metadata.namespace%3Dx", "", NULL, 400,
		 NULL},
		{"GET /api/v1/persistentvolumes?fieldSelector=metadata.namespace%3Dx", "",
		 NULL, 200, NULL},
		{"GET /apis/apps/v1/replicasets?fieldSelector=status.replicas%3D0", "",
		 NULL, 400, NULL},
		{"GET /api/v1/replicationcontrollers?fieldSelector=status.replicas%3D0",
		 "", NULL, 200, NULL},
	};

	ask(*state, rows, NEAP_ARRAY_LEN(rows));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(names),       TEST(bodies),  TEST(metadata), TEST(reads),
		TEST(many),        TEST(storage), TEST(pods),     TEST(reviews),
		TEST(definitions), TEST(declared)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
