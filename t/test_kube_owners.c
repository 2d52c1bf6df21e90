/* SPDX-License-Identifier: Apache-2.0
 *
 * Who owns which fields (metadata.managedFields): since when, after which writes, and
 * how many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "api/kube/apply/apply.h"
#include "engine/base/mem.h"
#include "t/lib/kube_rig.h"

#define STEPS(rig, steps) kube_steps(rig, steps, NEAP_ARRAY_LEN(steps))
#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

#define MAPS "/api/v1/namespaces/default/configmaps"
#define PODS "/api/v1/namespaces/default/pods"

#define MAP(name, more)                                                                  \
	"{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'" name "'}" more "}"
#define POD(more, image)                                                                 \
	"{'kind':'Pod','apiVersion':'v1','metadata':{'name':'p'" more                    \
	"},'spec':{'containers':[{'name':'c','image':'" image "'}]}}"
#define OWNS(n, who, how)                                                                \
	"metadata.managedFields." n ".manager=" who,                                     \
		"metadata.managedFields." n ".operation=" how
#define FIELDS(n, set) "metadata.managedFields." n ".fieldsV1=" set

/* Fields are kept of what was made by somebody who says his name. */
static void test_updates(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " PODS, POD("", "i:1"), 201, {"!metadata.managedFields"}},
		{"MERGE " PODS "/p?fieldManager=m",
		 "{'metadata':{'labels':{'a':'b'}}}",
		 200,
		 {"!metadata.managedFields"}},
		{"APPLY " PODS "/p?fieldManager=m",
		 POD("", "i:2"),
		 409,
		 {"message=Apply failed with 1 conflict: conflict with "
		  "\"before-first-apply\" using v1: "
		  ".spec.containers[name=\"c\"].image"}},
		{"APPLY " PODS "/p?fieldManager=m&force=1",
		 POD("", "i:2"),
		 200,
		 {"spec.containers.0.image=i:2", OWNS("0", "m", "Apply"),
		  OWNS("1", "before-first-apply", "Update"),
		  FIELDS("0",
			 "{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"c\\\"}\":{"
			 "\".\":{},\"f:image\":{},\"f:name\":{}}}}}")}},
		{"DELETE " PODS "/p?gracePeriodSeconds=0", NULL, 200, {NULL}},
		/* A Node comes with its status. */
		{"POST /api/v1/nodes?fieldManager=maker",
		 "{'metadata':{'name':'n'},'status':{'capacity':{'cpu':'1'}}}",
		 201,
		 {"metadata.managedFields.0.fieldsV1.f:status.f:capacity={\".\":{},"
		  "\"f:cpu\":{}}"}},
		{"MERGE /api/v1/nodes/n?fieldManager=tainter",
		 "{'spec':{'taints':[{'key':'k','effect':'NoExecute'}]}}",
		 200,
		 {OWNS("1", "tainter", "Update"),
		  FIELDS("1", "{\"f:spec\":{\"f:taints\":{}}}")}},
		{"POST " PODS "?fieldManager=maker",
		 POD(",'labels':{'a':'b'}", "i:1"),
		 201,
		 {"#metadata.managedFields=1", OWNS("0", "maker", "Update"),
		  "metadata.managedFields.0.fieldsV1.f:metadata={\"f:labels\":{\".\":{},"
		  "\"f:a\":{}}}",
		  "metadata.managedFields.0.fieldsV1.f:spec.f:dnsPolicy={}",
		  "!metadata.managedFields.0.fieldsV1.f:status"}},
		/* A part of the object is another entry, of whoever the client is. */
		{"MERGE " PODS "/p/status",
		 "{'status':{'phase':'Running','conditions':[{'type':'Ready','status':"
		 "'True'}]}}",
		 200,
		 {"#metadata.managedFields=2", OWNS("1", "unknown", "Update"),
		  "metadata.managedFields.1.subresource=status",
		  "metadata.managedFields.1.fieldsV1.f:status.f:phase={}"}},
		{"STRATEGIC " PODS "/p?fieldManager=painter",
		 "{'spec':{'containers':[{'name':'c','image':'i:3'}]}}",
		 200,
		 {"#metadata.managedFields=3", OWNS("1", "painter", "Update"),
		  FIELDS("1",
			 "{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"c\\\"}\":{"
			 "\"f:image\":{}}}}}")}},
		/* Of a view the fields have the names that are stored. */
		{"POST /api/v1/namespaces/default/events?fieldManager=maker",
		 "{'metadata':{'name':'e'},'involvedObject':{'namespace':'default'}}",
		 201,
		 {NULL}},
		{"MERGE /apis/events.k8s.io/v1/namespaces/default/events/e?fieldManager=v",
		 "{'metadata':{'labels':{'a':'b'}}}",
		 200,
		 {OWNS("1", "v", "Update"), "metadata.managedFields.1.apiVersion=v1",
		  FIELDS("1", "{\"f:metadata\":{\"f:labels\":{\".\":{},\"f:a\":{}}}}")}},
		/* Who has read the object writes it back as it is. */
		{"JSON " PODS "/p?fieldManager=x",
		 "[{'op':'replace','path':'/metadata/managedFields','value':[{}]}]",
		 200,
		 {"!metadata.managedFields"}},
	};

	STEPS(*state, steps);
}

/* What a client writes into managedFields counts where it is well formed. */
static void test_written(void **state)
{
	static const struct kube_step steps[] = {
		{"APPLY " MAPS "/a?fieldManager=one",
		 MAP("a", ",'data':{'x':'1'}"),
		 201,
		 {NULL}},
		{"JSON " MAPS "/a",
		 "[{'op':'replace','path':'/metadata/managedFields/0/manager',"
		 "'value':'two'}]",
		 200,
		 {"#metadata.managedFields=1", OWNS("0", "two", "Apply")}},
		{"JSON " MAPS "/a",
		 "[{'op':'replace','path':'/metadata/managedFields/0/operation',"
		 "'value':'Sing'}]",
		 200,
		 {OWNS("0", "two", "Apply")}},
		{"JSON " MAPS "/a",
		 "[{'op':'add','path':'/metadata/managedFields/0/fieldsV1/odd',"
		 "'value':{}}]",
		 200,
		 {FIELDS("0", "{\"f:data\":{\"f:x\":{}}}")}},
		{"MERGE " MAPS "/a",
		 "{'metadata':{'managedFields':7}}",
		 200,
		 {OWNS("0", "two", "Apply")}},
		{"PUT " MAPS "/a?fieldManager=putter",
		 MAP("a", ",'data':{'x':'1','n':'1'}"),
		 200,
		 {OWNS("0", "two", "Apply"), OWNS("1", "putter", "Update"),
		  FIELDS("1", "{\"f:data\":{\"f:n\":{}}}")}},
		/* Those of another object are not those of a new one. */
		{"POST " MAPS,
		 "{'metadata':{'name':'b','managedFields':[{'manager':'m','operation':"
		 "'Apply','apiVersion':'v1','fieldsType':'FieldsV1','fieldsV1':{}}]}}",
		 201,
		 {"!metadata.managedFields"}},
	};

	STEPS(*state, steps);
}

/* So many of them end in one. */
static void test_many(void **state)
{
	struct kube_rig *rig = *state;
	char ask[160], body[160];

	assert_int_equal(kube_ask(rig, "POST " MAPS "?fieldManager=m",
				  MAP("a", ",'data':{'a':'a'}")),
			 201);
	for (int i = 0; i < 14; i++) {
		(void)snprintf(ask, sizeof(ask), "MERGE " MAPS "/a?fieldManager=m%02d",
			       i);
		(void)snprintf(body, sizeof(body), "{'data':{'k%d':'v'}}", i);
		kube_now += 1000000;
		assert_int_equal(kube_ask(rig, ask, body), 200);
	}
	assert_null(kube_differs(rig->body, "#metadata.managedFields=10"));
	assert_null(kube_differs(rig->body,
				 "metadata.managedFields.0.manager=ancient-changes"));
	assert_null(kube_differs(
		rig->body,
		"metadata.managedFields.0.fieldsV1={\"f:data\":{\".\":{},"
		"\"f:a\":{},\"f:k0\":{},\"f:k1\":{},\"f:k2\":{},\"f:k3\":{},\"f:k4\":{}}}"));
	assert_null(kube_differs(rig->body, "metadata.managedFields.9.manager=m13"));
}

/* ConfigMaps with so many keys of so many bytes. */
static void ask_wide(struct kube_rig *rig, const char *ask, size_t keys, int bytes,
		     int status)
{
	neap_auto_buf struct neap_buf body = {0};

	neap_buf_init(&body, NEAP_BUF_REPLY);
	neap_buf_adds(&body, "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":"
			     "{\"name\":\"w\"},\"data\":{");
	for (size_t i = 0; i < keys; i++)
		neap_buf_addf(&body, "%s\"%0*zu\":\"\"", i ? "," : "", bytes, i);
	neap_buf_adds(&body, "}}");
	assert_int_equal(kube_ask_with(rig, ask, "", body.data, body.len), status);
}

/* One that is nearly as large as an object may be: 1260 keys of 200 bytes, with texts
 * that are twice as long in JSON. */
static void ask_full(struct kube_rig *rig, const char *ask, int status)
{
	neap_auto_buf struct neap_buf body = {0};

	neap_buf_init(&body, NEAP_BUF_REPLY);
	neap_buf_adds(&body, "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":"
			     "{\"name\":\"w\"},\"data\":{\"a\":\"\"");
	for (int i = 0; i < 1260; i++) {
		neap_buf_addf(&body, ",\"%0200d\":\"", i);
		for (int k = 0; k < 472; k++)
			neap_buf_adds(&body, "\\\"");
		neap_buf_addc(&body, '"');
	}
	neap_buf_adds(&body, "}}");
	assert_int_equal(kube_ask_with(rig, ask, "", body.data, body.len), status);
}

/* Beyond a bound an update is not kept, and an apply patch is refused. */
static void test_bounds(void **state)
{
	static const struct {
		size_t keys;
		int bytes;
		bool is_fine;
	} rows[] = {
		{2000, 64, true}, {3000, 100, false}, {9900, 5, true}, {10100, 5, false}};
	struct kube_rig *rig = *state;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		ask_wide(rig, "POST " MAPS "?fieldManager=m", rows[i].keys, rows[i].bytes,
			 201);
		assert_int_equal(kube_at(rig->body, "metadata.managedFields") != NULL,
				 rows[i].is_fine);
		assert_int_equal(kube_ask(rig, "DELETE " MAPS "/w", NULL), 200);
		ask_wide(rig, "APPLY " MAPS "/w?fieldManager=m", rows[i].keys,
			 rows[i].bytes, rows[i].is_fine ? 201 : 413);
		(void)kube_ask(rig, "DELETE " MAPS "/w", NULL);
	}
	/* Of what fills an object by itself no fields are kept. */
	ask_full(rig, "POST " MAPS "?fieldManager=m", 201);
	assert_null(kube_at(rig->body, "metadata.managedFields"));
	assert_int_equal(kube_ask(rig, "DELETE " MAPS "/w", NULL), 200);
	ask_full(rig, "APPLY " MAPS "/w?fieldManager=m", 413);
	/* What grows beyond it is not kept any more. */
	ask_wide(rig, "APPLY " MAPS "/w?fieldManager=m", 2000, 64, 201);
	ask_wide(rig, "PUT " MAPS "/w?fieldManager=n", 3000, 100, 200);
	assert_null(kube_at(rig->body, "metadata.managedFields"));
}

/* Writes so many entries of managers that apply one field. */
static void write_entries(struct kube_rig *rig, int count, int name_bytes, int status)
{
	neap_auto_buf struct neap_buf body = {0};

	neap_buf_init(&body, NEAP_BUF_FILE);
	neap_buf_adds(&body, "[{\"op\":\"replace\",\"path\":\"/metadata/managedFields\","
			     "\"value\":[");
	for (int i = 0; i < count; i++)
		neap_buf_addf(&body,
			      "%s{\"manager\":\"%0*d\",\"operation\":\"Apply\","
			      "\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\","
			      "\"fieldsV1\":{\"f:data\":{\"f:x\":{}}}}",
			      i ? "," : "", name_bytes, i);
	neap_buf_adds(&body, "]}]");
	assert_int_equal(kube_ask_with(rig, "JSON " MAPS "/a", "", body.data, body.len),
			 status);
}

/* As many managers as may be written may apply; a name may be as long as one may say. */
static void test_managers(void **state)
{
	struct kube_rig *rig = *state;

	assert_int_equal(kube_ask(rig, "APPLY " MAPS "/a?fieldManager=one",
				  MAP("a", ",'data':{'x':'1'}")),
			 201);
	write_entries(rig, 1, 129, 200);
	assert_null(kube_differs(rig->body, "metadata.managedFields.0.manager=one"));
	write_entries(rig, 257, 3, 200);
	assert_null(kube_differs(rig->body, "#metadata.managedFields=1"));
	write_entries(rig, 256, 128, 200);
	assert_null(kube_differs(rig->body, "#metadata.managedFields=256"));
	assert_int_equal(kube_ask(rig, "APPLY " MAPS "/a?fieldManager=one",
				  MAP("a", ",'data':{'x':'1'}")),
			 413);
	/* The others go on, and an update takes the field from all of them. */
	write_entries(rig, 256, 3, 200);
	assert_int_equal(kube_ask(rig, "APPLY " MAPS "/a?fieldManager=007",
				  MAP("a", ",'data':{'x':'1','y':'1'}")),
			 200);
	assert_null(kube_differs(rig->body, "#metadata.managedFields=256"));
	assert_int_equal(kube_ask(rig, "MERGE " MAPS "/a?fieldManager=m",
				  "{'data':{'x':'2','y':'2'}}"),
			 200);
	assert_null(kube_differs(rig->body, "#metadata.managedFields=1"));
}

static int64_t cpu_usec(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* What is in two sets costs what the smaller has: each of many managers has little. */
static void test_smaller(void **state)
{
	json_t *wide = json_object(), *small = json_pack("{s:{}}", "f:x");
	json_t *both = NULL;
	char name[16];
	int64_t start;

	(void)state;
	for (int i = 0; i < 30000; i++) {
		(void)snprintf(name, sizeof(name), "f:%d", i);
		assert_int_equal(json_object_set_new(wide, name, json_object()), 0);
	}
	start = cpu_usec();
	for (int i = 0; i < 5000; i++) {
		apply_set_drop(small, wide);
		apply_set_drop_trees(small, wide);
		assert_int_equal(apply_set_meet(small, wide, &both), 0);
		json_decref(both);
	}
	/* The wider one takes 10 s and more. */
	assert_in_range(cpu_usec() - start, 0, 2000000);
	assert_int_equal(json_object_size(small), 1);
	json_decref(small);
	json_decref(wide);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(updates), TEST(written),  TEST(many),
		TEST(bounds),  TEST(managers), cmocka_unit_test(test_smaller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
