/* SPDX-License-Identifier: Apache-2.0
 *
 * Protobuf bodies as kubectl writes them (Go's encoder writes empty texts, too), and as
 * nobody should. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/kube/openapi/protobuf.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "t/lib/proto_out.h"

/* --- bodies --- */

static void write_config_map(struct proto_out *body)
{
	struct proto_out raw = {0};

	proto_put_name(&raw, 1, "cm");
	proto_put_entry(&raw, 2, "a", "1", 1);
	proto_put_entry(&raw, 2, "empty", "", 0);
	proto_put_entry(&raw, 2, "\303\244", "x\ny", 3);
	proto_put_entry(&raw, 3, "b0", "", 0);
	proto_put_entry(&raw, 3, "b1", "\0", 1);
	proto_put_entry(&raw, 3, "b2", "\377\376", 2);
	proto_put_entry(&raw, 3, "b3", "Man", 3);
	proto_put_number(&raw, 4, 0);
	proto_put_body(body, "v1", "ConfigMap", &raw);
}

static void write_namespace(struct proto_out *body)
{
	struct proto_out raw = {0}, spec = {0}, status = {0};

	proto_put_name(&raw, 1, "ns");
	proto_put_text(&spec, 1, "kubernetes");
	proto_put_message(&raw, 2, &spec);
	proto_put_text(&status, 1, "");
	proto_put_message(&raw, 3, &status);
	proto_put_body(body, "v1", "Namespace", &raw);
}

static void write_access(struct proto_out *body)
{
	struct proto_out raw = {0}, meta = {0}, spec = {0}, resource = {0}, status = {0};

	proto_put_message(&raw, 1, &meta);
	proto_put_text(&resource, 1, "default");
	proto_put_text(&resource, 2, "list");
	proto_put_text(&resource, 3, "apps");
	proto_put_text(&resource, 4, "*");
	proto_put_text(&resource, 5, "deployments");
	proto_put_text(&resource, 6, "scale");
	proto_put_text(&resource, 7, "");
	proto_put_message(&spec, 1, &resource);
	proto_put_message(&raw, 2, &spec);
	proto_put_number(&status, 1, 0);
	proto_put_message(&raw, 3, &status);
	proto_put_body(body, "authorization.k8s.io/v1", "SelfSubjectAccessReview", &raw);
}

static void write_path(struct proto_out *body)
{
	struct proto_out raw = {0}, spec = {0}, path = {0};

	proto_put_text(&path, 1, "/metrics");
	proto_put_text(&path, 2, "get");
	proto_put_message(&spec, 2, &path);
	proto_put_message(&raw, 2, &spec);
	proto_put_body(body, "authorization.k8s.io/v1beta1", "SelfSubjectAccessReview",
		       &raw);
}

static void write_rules(struct proto_out *body)
{
	struct proto_out raw = {0}, spec = {0};

	proto_put_text(&spec, 1, "default");
	proto_put_message(&raw, 2, &spec);
	proto_put_body(body, "authorization.k8s.io/v1", "SelfSubjectRulesReview", &raw);
}

static void put_either(struct proto_out *out, uint32_t number, uint64_t type,
		       uint64_t value, const char *text)
{
	struct proto_out either = {0};

	proto_put_number(&either, 1, type);
	proto_put_number(&either, 2, value);
	proto_put_text(&either, 3, text);
	proto_put_message(out, number, &either);
}

/* What kubectl create service and create pdb send. */
static void write_service(struct proto_out *body)
{
	struct proto_out raw = {0}, spec = {0}, port = {0}, status = {0}, none = {0};

	proto_put_name(&raw, 1, "web");
	proto_put_text(&port, 1, "80-8080");
	proto_put_text(&port, 2, "TCP");
	proto_put_number(&port, 3, 80);
	put_either(&port, 4, 0, 8080, "");
	proto_put_number(&port, 5, 0);
	proto_put_message(&spec, 1, &port);
	port.len = 0;
	proto_put_number(&port, 3, 81);
	put_either(&port, 4, 1, 0, "http");
	proto_put_message(&spec, 1, &port);
	port.len = 0;
	proto_put_number(&port, 3, 82);
	put_either(&port, 4, 0, 0, "");
	proto_put_message(&spec, 1, &port);
	proto_put_entry(&spec, 2, "app", "web", 3);
	proto_put_text(&spec, 3, "");
	proto_put_text(&spec, 4, "ClusterIP");
	proto_put_text(&spec, 7, "");
	proto_put_number(&spec, 13, 0);
	proto_put_message(&raw, 2, &spec);
	proto_put_message(&status, 1, &none);
	proto_put_message(&raw, 3, &status);
	proto_put_body(body, "v1", "Service", &raw);
}

static void write_budget(struct proto_out *body)
{
	struct proto_out raw = {0}, spec = {0}, selector = {0};

	proto_put_name(&raw, 1, "web");
	put_either(&spec, 1, 0, 0, "");
	proto_put_entry(&selector, 1, "app", "web", 3);
	proto_put_message(&spec, 2, &selector);
	put_either(&spec, 3, 1, 0, "20%");
	proto_put_message(&raw, 2, &spec);
	proto_put_body(body, "policy/v1", "PodDisruptionBudget", &raw);
}

/* All of ObjectMeta, fields that are not known, and a message in two parts. */
static void write_meta(struct proto_out *body)
{
	struct proto_out raw = {0}, meta = {0}, owner = {0}, time = {0};
	static const uint8_t fixed[] = {0x99, 0x06, 1,    2,    3, 4, 5, 6,
					7,    8,    0x9d, 0x06, 1, 2, 3, 4};

	proto_put_text(&meta, 1, "old");
	proto_put_text(&meta, 1, "ns");
	proto_put_text(&meta, 2, "gen-");
	proto_put_text(&meta, 2, "");
	proto_put_text(&meta, 5, "0f");
	proto_put_text(&meta, 6, "17");
	proto_put_number(&meta, 7, 3);
	proto_put_number(&time, 1, 1700000000);
	proto_put_number(&time, 2, 500);
	proto_put_message(&meta, 8, &time);
	proto_put_message(&meta, 9, &time);
	proto_put_number(&meta, 10, 0);
	proto_put_message(&raw, 1, &meta);
	meta.len = 0;
	proto_put_entry(&meta, 11, "a", "1", 1);
	proto_put_entry(&meta, 11, "a", "2", 1);
	proto_put_entry(&meta, 12, "", "x", 1);
	proto_put_text(&owner, 5, "apps/v1");
	proto_put_text(&owner, 1, "ReplicaSet");
	proto_put_text(&owner, 3, "r");
	proto_put_text(&owner, 4, "u");
	proto_put_number(&owner, 6, 1);
	proto_put_number(&owner, 7, 0);
	proto_put_message(&meta, 13, &owner);
	proto_put_text(&meta, 14, "f1");
	proto_put_text(&meta, 14, "f2");
	proto_put_text(&meta, 17, "managed fields are not read, so this need not be any");
	proto_put(&meta, fixed, sizeof(fixed));
	proto_put_number(&meta, 99, UINT64_MAX);
	proto_put_message(&raw, 1, &meta);
	proto_put_body(body, "v1", "Namespace", &raw);
}

static void write_lease(struct proto_out *body)
{
	struct proto_out raw = {0}, spec = {0};

	proto_put_name(&raw, 1, "kube-scheduler");
	proto_put_text(&spec, 1, "");
	proto_put_number(&spec, 2, 15);
	proto_put_time(&spec, 3, 1700000000, 702768999);
	proto_put_time(&spec, 4, 1700000001, 0);
	proto_put_number(&spec, 5, 0);
	proto_put_message(&raw, 2, &spec);
	proto_put_body(body, "coordination.k8s.io/v1", "Lease", &raw);
}

static void put_pod(struct proto_out *out, uint32_t number)
{
	struct proto_out pod = {0};

	proto_put_text(&pod, 1, "Pod");
	proto_put_text(&pod, 2, "default");
	proto_put_text(&pod, 3, "p");
	proto_put_text(&pod, 5, "v1");
	proto_put_message(out, number, &pod);
}

static void write_event(struct proto_out *body)
{
	struct proto_out raw = {0}, source = {0}, series = {0};

	proto_put_name(&raw, 1, "e");
	put_pod(&raw, 2);
	proto_put_text(&raw, 3, "Killing");
	proto_put_text(&raw, 4, "Stopping");
	proto_put_text(&source, 1, "kubelet");
	proto_put_text(&source, 2, "n1");
	proto_put_message(&raw, 5, &source);
	proto_put_time(&raw, 6, 1700000000, 5);
	proto_put_time(&raw, 7, 1700000001, 5);
	proto_put_number(&raw, 8, 2);
	proto_put_text(&raw, 9, "Normal");
	proto_put_time(&raw, 10, 1700000000, 1000);
	proto_put_number(&series, 1, 3);
	proto_put_time(&series, 2, 1700000002, 0);
	proto_put_message(&raw, 11, &series);
	proto_put_body(body, "v1", "Event", &raw);
}

static void write_event_view(struct proto_out *body)
{
	struct proto_out raw = {0}, none = {0};

	proto_put_name(&raw, 1, "e");
	proto_put_time(&raw, 2, 1700000000, 702768000);
	proto_put_text(&raw, 4, "sigs.k8s.io/descheduler");
	proto_put_text(&raw, 5, "d-1");
	proto_put_text(&raw, 6, "Descheduled");
	proto_put_text(&raw, 7, "PodLifeTime");
	put_pod(&raw, 8);
	proto_put_text(&raw, 10, "pod evicted");
	proto_put_text(&raw, 11, "Normal");
	proto_put_message(&raw, 13, &none);
	proto_put_message(&raw, 14, &none);
	proto_put_number(&raw, 15, 0);
	proto_put_body(body, "events.k8s.io/v1", "Event", &raw);
}

static void write_binding(struct proto_out *body)
{
	struct proto_out raw = {0}, node = {0};

	proto_put_name(&raw, 1, "p");
	proto_put_text(&node, 1, "Node");
	proto_put_text(&node, 3, "n1");
	proto_put_message(&raw, 2, &node);
	proto_put_body(body, "v1", "Binding", &raw);
}

static void write_nothing(struct proto_out *body)
{
	struct proto_out raw = {0};

	proto_put_body(body, "v1", "ConfigMap", &raw);
}

static const struct {
	const char *name;
	void (*write)(struct proto_out *body);
	const char *want;
} good[] = {
	{"config map", write_config_map,
	 "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"cm\"},"
	 "\"data\":{\"a\":\"1\",\"empty\":\"\",\"\303\244\":\"x\\ny\"},"
	 "\"binaryData\":{\"b0\":\"\",\"b1\":\"AA==\",\"b2\":\"//4=\",\"b3\":\"TWFu\"},"
	 "\"immutable\":false}"},
	{"namespace", write_namespace,
	 "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"ns\"},"
	 "\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":{}}"},
	{"access", write_access,
	 "{\"kind\":\"SelfSubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\","
	 "\"metadata\":{},\"spec\":{\"resourceAttributes\":{\"namespace\":\"default\","
	 "\"verb\":\"list\",\"group\":\"apps\",\"version\":\"*\",\"resource\":\"deployments\","
	 "\"subresource\":\"scale\"}}}"},
	{"path", write_path,
	 "{\"kind\":\"SelfSubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1beta1\","
	 "\"spec\":{\"nonResourceAttributes\":{\"path\":\"/metrics\",\"verb\":\"get\"}}}"},
	{"rules", write_rules,
	 "{\"kind\":\"SelfSubjectRulesReview\",\"apiVersion\":\"authorization.k8s.io/v1\","
	 "\"spec\":{\"namespace\":\"default\"}}"},
	{"service", write_service,
	 "{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"web\"},"
	 "\"spec\":{\"ports\":[{\"name\":\"80-8080\",\"protocol\":\"TCP\",\"port\":80,"
	 "\"targetPort\":8080},{\"port\":81,\"targetPort\":\"http\"},{\"port\":82}],"
	 "\"selector\":{\"app\":\"web\"},\"type\":\"ClusterIP\"},"
	 "\"status\":{\"loadBalancer\":{}}}"},
	{"budget", write_budget,
	 "{\"kind\":\"PodDisruptionBudget\",\"apiVersion\":\"policy/v1\","
	 "\"metadata\":{\"name\":\"web\"},\"spec\":{\"minAvailable\":0,"
	 "\"selector\":{\"matchLabels\":{\"app\":\"web\"}},\"maxUnavailable\":\"20%\"}}"},
	{"all of the metadata", write_meta,
	 "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"ns\","
	 "\"uid\":\"0f\",\"resourceVersion\":\"17\",\"generation\":3,"
	 "\"creationTimestamp\":\"2023-11-14T22:13:20Z\","
	 "\"deletionTimestamp\":\"2023-11-14T22:13:20Z\",\"deletionGracePeriodSeconds\":0,"
	 "\"labels\":{\"a\":\"2\"},\"annotations\":{\"\":\"x\"},"
	 "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\","
	 "\"name\":\"r\",\"uid\":\"u\",\"controller\":true,\"blockOwnerDeletion\":false}],"
	 "\"finalizers\":[\"f1\",\"f2\"]}}"},
	{"lease", write_lease,
	 "{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{"
	 "\"name\":\"kube-scheduler\"},\"spec\":{\"holderIdentity\":\"\","
	 "\"leaseDurationSeconds\":15,\"acquireTime\":\"2023-11-14T22:13:20.702768Z\","
	 "\"renewTime\":\"2023-11-14T22:13:21.000000Z\",\"leaseTransitions\":0}}"},
	{"event", write_event,
	 "{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"e\"},"
	 "\"involvedObject\":{\"kind\":\"Pod\",\"namespace\":\"default\",\"name\":\"p\","
	 "\"apiVersion\":\"v1\"},\"reason\":\"Killing\",\"message\":\"Stopping\","
	 "\"source\":{\"component\":\"kubelet\",\"host\":\"n1\"},"
	 "\"firstTimestamp\":\"2023-11-14T22:13:20Z\","
	 "\"lastTimestamp\":\"2023-11-14T22:13:21Z\",\"count\":2,\"type\":\"Normal\","
	 "\"eventTime\":\"2023-11-14T22:13:20.000001Z\",\"series\":{\"count\":3,"
	 "\"lastObservedTime\":\"2023-11-14T22:13:22.000000Z\"}}"},
	{"event of events.k8s.io", write_event_view,
	 "{\"kind\":\"Event\",\"apiVersion\":\"events.k8s.io/v1\",\"metadata\":{\"name\":"
	 "\"e\"},\"eventTime\":\"2023-11-14T22:13:20.702768Z\","
	 "\"reportingController\":\"sigs.k8s.io/descheduler\","
	 "\"reportingInstance\":\"d-1\",\"action\":\"Descheduled\","
	 "\"reason\":\"PodLifeTime\",\"regarding\":{\"kind\":\"Pod\",\"namespace\":"
	 "\"default\",\"name\":\"p\",\"apiVersion\":\"v1\"},\"note\":\"pod evicted\","
	 "\"type\":\"Normal\"}"},
	{"binding", write_binding,
	 "{\"kind\":\"Binding\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\"},"
	 "\"target\":{\"kind\":\"Node\",\"name\":\"n1\"}}"},
	{"nothing", write_nothing, "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\"}"},
};

/* In a block of exactly its size, so that a read past the end is seen. */
static int decode(const struct proto_out *body, json_t **ret, struct neap_error *err)
{
	uint8_t *copy = malloc(body->len + (body->len == 0));
	int rc;

	memcpy(copy, body->data, body->len);
	*err = (struct neap_error){0};
	*ret = NULL;
	rc = neap_protobuf_decode(copy, body->len, ret, err);
	free(copy);
	assert_int_equal(rc, -(int)err->code);
	assert_true((rc == 0) == (*ret != NULL));
	return rc;
}

static void check_good(size_t i, const struct proto_out *body)
{
	json_t *want = json_loads(good[i].want, 0, NULL), *json = NULL;
	struct neap_error err;
	uint64_t failures;
	int rc;

	assert_non_null(want);
	for (uint64_t n = 0;; n++) {
		failures = neap_mem_failures();
		neap_mem_fail_at(n);
		rc = decode(body, &json, &err);
		neap_mem_fail_at(0);
		failures = neap_mem_failures() - failures;
		if (failures > 0 && rc != -NEAP_ENOMEM)
			fail_msg("%s, allocation %d: %d", good[i].name, (int)n, rc);
		if (failures == 0 && rc < 0)
			fail_msg("%s: %s: %s", good[i].name, err.field, err.msg);
		if (rc == 0 && !json_equal(json, want))
			fail_msg("%s: %s", good[i].name, json_dumps(json, 0));
		json_decref(json);
		if (n > 0 && failures == 0)
			break;
	}
	json_decref(want);
}

static void test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(good); i++) {
		struct proto_out body = {0};

		good[i].write(&body);
		check_good(i, &body);
	}
}

/* Cut anywhere, and with each byte another: an error with a word, or another object. */
static void test_broken(void **state)
{
	struct neap_error err;
	json_t *json;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(good); i++) {
		struct proto_out body = {0}, broken;

		good[i].write(&body);
		for (size_t len = 0; len < body.len; len++) {
			broken = body;
			broken.len = len;
			if (decode(&broken, &json, &err) < 0)
				assert_true(*err.msg);
			json_decref(json);
			for (unsigned with = 1; with < 256; with <<= 1) {
				broken = body;
				broken.data[len] ^= (uint8_t)with;
				if (decode(&broken, &json, &err) < 0)
					assert_true(*err.msg);
				json_decref(json);
			}
		}
	}
}

static void test_refused(void **state)
{
	/* Of a ConfigMap: its bytes. */
	static const struct {
		const char *bytes;
		size_t len;
		const char *field, *msg;
	} rows[] = {
		{"\x0a", 1, "", "it is cut off"},
		{"\x0a\x05\x0a", 3, "", "it is cut off"},
		{"\x0a\x02\x0a\x01", 4, "metadata", "it is cut off"},
		{"\x0a\x03\x0a\x01\xff", 5, "metadata.name", "a text is no UTF-8"},
		{"\x0a\x03\x0a\x01\x00", 5, "metadata.name", "a text has a NUL"},
		{"\x0a\x02\x08\x01", 4, "metadata.name", "another type"},
		{"\x08\x01", 2, "metadata", "another type"},
		{"\x22\x00", 2, "immutable", "another type"},
		{"\x0b\x0c", 2, "", "has what is no field"},
		{"\x02\x00", 2, "", "has what is no field"},
		{"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "", "it is cut off"},
		{"\x20\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", 11, "", "no field"},
		{"\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, "", "no field"},
		{"\x12\x02\x0a\x01", 4, "data", "it is cut off"},
		{"\x12\x02\x08\x01", 4, "data", "another type"},
		{"\x12\x05\x0a\x03"
		 "a\0b",
		 7, "data", "a text has a NUL"},
		{"\x12\x06\x0a\x01"
		 "a\x12\x01\xfe",
		 8, "data", "a text is no UTF-8"},
		{"\x0a\x0c\x42\x0a\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff", 14,
		 "metadata.creationTimestamp", "it is cut off"},
		{"\x0a\x0c\x42\x0a\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 14,
		 "metadata.creationTimestamp", "not within the years 1 to 9999"},
		{"\x0a\x08\x42\x06\x10\x80\x94\xeb\xdc\x03", 10,
		 "metadata.creationTimestamp", "not within the years 1 to 9999"},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct proto_out raw = {0}, body = {0};
		struct neap_error err;
		json_t *json;

		proto_put(&raw, rows[i].bytes, rows[i].len);
		proto_put_body(&body, "v1", "ConfigMap", &raw);
		if (decode(&body, &json, &err) != -NEAP_EINVAL ||
		    strcmp(err.field, rows[i].field) != 0 ||
		    strstr(err.msg, rows[i].msg) == NULL)
			fail_msg("%zu: '%s': %s", i, err.field, err.msg);
	}
}

static void test_kinds(void **state)
{
	static const struct {
		const char *version, *kind;
		bool is_read;
	} rows[] = {
		{"v1", "ConfigMap", true},
		{"v1", "Namespace", true},
		{"authorization.k8s.io/v1", "SelfSubjectRulesReview", true},
		{"authentication.k8s.io/v1", "SelfSubjectReview", true},
		{"v1", "Pod", true},
		{"v1", "PersistentVolume", true},
		{"apps/v1", "StatefulSet", true},
		{"batch/v1", "Job", true},
		{"policy/v1beta1", "PodDisruptionBudget", true},
		{"policy/v1", "Eviction", true},
		{"autoscaling/v1", "Scale", true},
		{"v1", "DeleteOptions", true},
		{"apps/v1", "DeleteOptions", true},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", false},
		{"apps/v1", "ConfigMap", false},
		{"v1", "SelfSubjectRulesReview", false},
		{"authorization.k8s.io/", "SelfSubjectRulesReview", false},
		{"authorization.k8s.io/v1/x", "SelfSubjectRulesReview", false},
		{"coordination.k8s.io/v1", "Lease", true},
		{"v1", "Lease", false},
		{"storage.k8s.io/v1", "Event", false},
		{"", "ConfigMap", false},
		{"v1", "", false},
		{"v1", "ConfigMapList", false},
	};
	struct proto_out raw = {0}, body = {0};
	struct neap_error err;
	json_t *json;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		body.len = 0;
		proto_put_body(&body, rows[i].version, rows[i].kind, &raw);
		if (decode(&body, &json, &err) !=
		    (rows[i].is_read ? 0 : -NEAP_EUNSUPPORTED))
			fail_msg("%s %s: %s", rows[i].version, rows[i].kind, err.msg);
		json_decref(json);
	}
	body.len = 0;
	proto_put_body(&body, "v1", "Secret", &raw);
	assert_int_equal(decode(&body, &json, &err), -NEAP_EUNSUPPORTED);
	assert_string_equal(
		err.msg, "protobuf bodies of kind \"Secret\" in version \"v1\" are not "
			 "read here: send application/json");
	body.len = 0;
	proto_put_body(&body, "v1", "ConfigMap", &raw);
	proto_put_text(&body, 3, "gzip");
	assert_int_equal(decode(&body, &json, &err), -NEAP_EUNSUPPORTED);

	body.len = 0;
	proto_put(&body, "{}\n\n", 4);
	assert_int_equal(decode(&body, &json, &err), -NEAP_EINVAL);
	assert_string_equal(err.msg, "provided data does not appear to be a protobuf "
				     "message, expected prefix [107 56 115 0]");
	body.len = 0;
	assert_int_equal(decode(&body, &json, &err), -NEAP_EINVAL);
	body.len = 0;
	proto_put(&body, "k8s", 4);
	assert_int_equal(decode(&body, &json, &err), -NEAP_EUNSUPPORTED);
	proto_put(&body, "\x0a", 1);
	assert_int_equal(decode(&body, &json, &err), -NEAP_EINVAL);
	assert_int_equal(neap_protobuf_decode("", 0, &json, NULL), -NEAP_EINVAL);
}

static int setup(void **state)
{
	(void)state;
	neap_json_setup();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_kinds),

	};

	return cmocka_run_group_tests_name("protobuf", tests, setup, NULL);
}
