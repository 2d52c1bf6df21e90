/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies as they come: JSON with what Go's decoders take and others do not, YAML, and
 * media types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/kube_rig.h"

#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

#define MAPS     "/api/v1/namespaces/default/configmaps"
#define RES      "/apis/scheduling.koordinator.sh/v1alpha1/reservations"
#define RES_TYPE "'kind':'Reservation','apiVersion':'scheduling.koordinator.sh/v1alpha1'"

#define DOUBLE "{'metadata':{'name':'d'},'data':{'a':'1','b':'[,{','a':'2'}}"

static void test_json(void **state)
{
	static const struct {
		const char *query, *body;
		int status;
		const char *want, *warning;
	} rows[] = {
		{"", DOUBLE, 201, "data.a=2", "duplicate field \\\"data.a\\\""},
		{"?fieldValidation=Ignore", DOUBLE, 201, "data.a=2", NULL},
		{"?fieldValidation=Warn", DOUBLE, 201, "data.a=2", "data.a"},
		{"?fieldValidation=Strict", DOUBLE, 400,
		 "message=strict decoding error: duplicate field \"data.a\"", NULL},
		{"", "{'metadata':{'name':'d','name':'d'}}", 201, "metadata.name=d",
		 "metadata.name"},
		{"",
		 "{'metadata':{'name':'d','ownerReferences':[{'kind':'A','name':'n',"
		 "'apiVersion':'v1','uid':'u'},{'kind':'A','name':'n','apiVersion':'v1',"
		 "'uid':'u','uid':'v'}]}}",
		 201, "metadata.ownerReferences.1.uid=v",
		 "metadata.ownerReferences[1].uid"},
		{"", "{'metadata':{'name':'d'},'immutable':18446744073709551616}", 400,
		 "message~immutable", NULL},
		{"", "{'metadata':{'name':'d'},'x':18446744073709551616}", 201,
		 "metadata.name=d", "unknown field"},
		{"", "{'metadata':{'name':'d'},'x':1e400}", 400, "reason=BadRequest",
		 NULL},
		{"", "{'metadata':{'name':'d'},'x':99999999999999999999,'x':1}", 201,
		 "metadata.name=d", "unknown field"},
		{"", "{'metadata':{'name':'d'},'data':{'a':'\\u0000'}}", 400,
		 "reason=BadRequest", NULL},
	};
	struct kube_rig *rig = *state;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const char *why;
		char ask[128];
		int got;

		(void)snprintf(ask, sizeof(ask), "POST " MAPS "%s", rows[i].query);
		got = kube_ask(rig, ask, rows[i].body);
		why = kube_differs(rig->body, rows[i].want);
		if (got != rows[i].status || why)
			fail_msg("%s %s: %d %s", ask, rows[i].body, got, why);
		if ((strstr(rig->head, "Warning: ") != NULL) !=
			    (rows[i].warning != NULL) ||
		    (rows[i].warning && !strstr(rig->head, rows[i].warning)))
			fail_msg("%s %s: %s", ask, rows[i].body, rig->head);
		(void)kube_ask(rig, "DELETE " MAPS "/d", NULL);
	}
	/* Kept where anything may stand. */
	assert_int_equal(
		kube_ask(rig, "POST " RES,
			 "{" RES_TYPE ",'metadata':{'name':'big'},'spec':{"
			 "'template':{'spec':{'x':18446744073709551615,'y':"
			 "-9223372036854775809,'z':9223372036854775807}},'owners':"
			 "[{'object':{'name':'x'}}],'ttl':'1h'}}"),
		201);
	assert_null(kube_differs(rig->body,
				 "spec.template.spec={\"x\":1.8446744073709552e19,\"y\":"
				 "-9.2233720368547758e18,\"z\":9223372036854775807}"));
}

#define YAML     "Content-Type: application/yaml\r\n"
#define YAML_MAP "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ya}\ndata:\n  a: "

static void test_yaml(void **state)
{
	static const struct {
		const char *ask, *headers, *body;
		int status;
		const char *want;
	} rows[] = {
		{"POST " MAPS, YAML, YAML_MAP "b\n", 201, "data.a=b"},
		{"POST " MAPS, YAML, YAML_MAP "b\n", 409, "reason=AlreadyExists"},
		{"PUT " MAPS "/ya", "Content-Type: Application/YAML; charset=utf-8\r\n",
		 YAML_MAP "&x c\n  d: *x\n---\nnot: [read", 200, "data.d=c"},
		{"PUT " MAPS "/ya", YAML, "{\"metadata\":{\"name\":\"ya\"}}", 200,
		 "!data"},
		{"PUT " MAPS "/ya", YAML, YAML_MAP "5\n", 400, "message~data"},
		{"PUT " MAPS "/ya", YAML, "a: [b", 400, "message~no YAML: line:"},
		{"PUT " MAPS "/ya", YAML, "text", 400, "reason=BadRequest"},
		{"PUT " MAPS "/ya", YAML, "", 400, "reason=BadRequest"},
		{"PUT " MAPS "/ya", "Content-Type: application/JSON\r\n",
		 "{\"metadata\":{\"name\":\"ya\"}}", 200, "metadata.name=ya"},
		{"PUT " MAPS "/ya", "Content-Type: text/plain\r\n",
		 "{\"metadata\":{\"name\":\"ya\"}}", 415,
		 "message~application/json, application/yaml"},
		{"MERGE " MAPS "/ya", "", YAML_MAP "b\n", 400, "reason=BadRequest"},
		{"DELETE " MAPS "/ya", "Content-Type: text/plain\r\n", "{}", 415, NULL},
		{"DELETE " MAPS "/ya", YAML, "dryRun: [all]", 422, NULL},
		{"DELETE " MAPS "/ya", YAML, "kind: DeleteOptions\ndryRun: [All]\n", 200,
		 NULL},
		{"GET " MAPS "/ya", "", NULL, 200, NULL},
	};
	struct kube_rig *rig = *state;
	neap_auto_buf struct neap_buf bomb = {0};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		size_t len = rows[i].body ? strlen(rows[i].body) : 0;
		int got = kube_ask_with(rig, rows[i].ask, rows[i].headers, rows[i].body,
					len);
		const char *why =
			rows[i].want ? kube_differs(rig->body, rows[i].want) : NULL;

		if (got != rows[i].status || why)
			fail_msg("%s %s: %d %s: %s", rows[i].ask, rows[i].body, got, why,
				 kube_text(rig->body, "message"));
	}
	/* Aliases count as what they stand for, and texts have a bound of their own. */
	neap_buf_init(&bomb, (size_t)1024 * 1024);
	neap_buf_adds(&bomb, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
	for (int i = 1; i < 9; i++) {
		neap_buf_addf(&bomb, "a%d: &a%d [", i, i);
		for (int k = 0; k < 10; k++)
			neap_buf_addf(&bomb, "%s*a%d", k ? "," : "", i - 1);
		neap_buf_adds(&bomb, "]\n");
	}
	assert_int_equal(kube_ask_with(rig, "POST " MAPS, YAML, bomb.data, bomb.len),
			 413);
	neap_buf_clear(&bomb);
	while (bomb.len <= (size_t)512 * 1024)
		neap_buf_adds(&bomb, "# a comment\n");
	assert_int_equal(kube_ask_with(rig, "POST " MAPS, YAML, bomb.data, bomb.len),
			 413);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {TEST(json), TEST(yaml)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
