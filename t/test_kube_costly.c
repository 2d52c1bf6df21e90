/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies that are made to cost: patterns that go back and forth, alternatives of
 * alternatives, patches of many steps, copies of copies, numbers of a megabyte. Each ends
 * within the time that wide_rig.h says, whatever the answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/wide_rig.h"

#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

#define CRDS    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define WIDGETS "/apis/x.io/v1/namespaces/default/widgets"
#define MAPS    "/api/v1/namespaces/default/configmaps"
#define PODS    "/api/v1/namespaces/default/pods"
#define SOME    30000

/* head, times a piece with commas between, tail; ' for ", # the number of the piece. */
struct text {
	const char *head, *piece;
	size_t times;
	const char *tail;
};

static void write_piece(struct neap_buf *to, const char *piece, size_t n)
{
	for (; *piece != '\0'; piece++)
		if (*piece == '#')
			neap_buf_addf(to, "%zu", n);
		else
			neap_buf_addc(to, *piece == '\'' ? '"' : *piece);
}

static void write_text(struct neap_buf *to, const struct text *text)
{
	write_piece(to, text->head, 0);
	for (size_t i = 0; i < text->times; i++) {
		if (i > 0 && text->tail[0] != '\0' && text->piece[0] != '\\')
			neap_buf_addc(to, ',');
		write_piece(to, text->piece + (text->piece[0] == '\\'), i);
	}
	write_piece(to, text->tail, 0);
}

static int send_text(struct kube_rig *rig, const char *how, const char *what,
		     const struct text *text)
{
	neap_auto_buf struct neap_buf buf = {0};

	neap_buf_init(&buf, (size_t)64 * 1024 * 1024);
	write_text(&buf, text);
	assert_false(neap_buf_failed(&buf));
	return wide_ask(rig, how, what, buf.data, buf.len);
}

/* --- schemas --- */

#define DEFINITION(more)                                                                 \
	"{'metadata':{'name':'widgets.x.io'},'spec':{'group':'x.io','names':{'plural':"  \
	"'widgets','kind':'Widget'},'scope':'Namespaced','versions':[{'name':'v1',"      \
	"'served':true,'storage':true," more "'schema':{'openAPIV3Schema':{'type':"      \
	"'object','properties':{'spec':"
#define ENDED  "}}}}]}}"
#define WIDGET "{'kind':'Widget','apiVersion':'x.io/v1','metadata':{'name':'a'},'spec':"
#define LIST_OF(items)                                                                   \
	{                                                                                \
		DEFINITION("") "{'type':'array','items':" items "}" ENDED, "", 0, ""     \
	}
#define ANY2(a)  "{'anyOf':[" a "," a "]}"
#define ANY4(a)  ANY2(ANY2(a))
#define ANY16(a) ANY4(ANY4(a))
#define LONG     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define PREFIX   "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"

static const struct schema_row {
	const char *what;
	int status; /* of the object; negative: of the definition */
	struct text definition, object;
} schema_rows[] = {
	{"(a+)+$, ten texts",
	 422,
	 LIST_OF("{'type':'string','pattern':'^(a+)+$'}"),
	 {WIDGET "[", PREFIX "'", 10, "]}"}},
	{"(a+)+$, many texts",
	 422,
	 LIST_OF("{'type':'string','pattern':'^(a+)+$'}"),
	 {WIDGET "[", PREFIX "#'", 25000, "]}"}},
	{"(.*)(.*)(.*)x, a long text",
	 422,
	 LIST_OF("{'type':'string','pattern':'(.*)(.*)(.*)(.*)x'}"),
	 {WIDGET "['", "\\aaaaaaaaaaaaaaaaaaaa", 60000, "']}"}},
	{"each start looks through all",
	 422,
	 LIST_OF("{'type':'string','pattern':'[^bc]*[bc]'}"),
	 {WIDGET "['", "\\aaaaaaaaaaaaaaaaaaaa", 60000, "']}"}},
	{"each start looks through some",
	 422,
	 LIST_OF("{'type':'string','pattern':'[^bc]*[bc]'}"),
	 {WIDGET "[", "'" LONG LONG LONG LONG LONG LONG LONG LONG LONG LONG LONG LONG "'",
	  2000, "]}"}},
	{"names of hosts",
	 201,
	 LIST_OF("{'type':'string','pattern':'^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]("
		 "[-a-z0-9]*[a-z0-9])?)*$'}"),
	 {WIDGET "[", "'node-#.rack-17.example.com'", 25000, "]}"}},
	{"((a?){1000}){20}",
	 -422,
	 LIST_OF("{'type':'string','pattern':'^((a?){1000}){20}b'}"),
	 {WIDGET "[", PREFIX "#'", 25000, "]}"}},
	{"an enum of 20,000",
	 422,
	 {DEFINITION("") "{'type':'array','items':{'type':'string','enum':[", "'e#'",
	  20000, "]}}" ENDED},
	 {WIDGET "[", "'e19999'", SOME, "]}"}},
	{"an enum of 20,000 lists",
	 422,
	 {DEFINITION("") "{'type':'array','items':{'type':'array','items':{'type':"
			 "'integer'},'enum':[",
	  "[#]", 12000, "]}}" ENDED},
	 {WIDGET "[", "[11999]", 15000, "]}"}},
	{"10,000 required",
	 422,
	 {DEFINITION("") "{'type':'array','items':{'type':'object','required':[", "'r#'",
	  10000, "]}}" ENDED},
	 {WIDGET "[", "{}", SOME, "]}"}},
	{"8,000 properties",
	 413,
	 {DEFINITION("") "{'type':'array','items':{'type':'object','properties':{",
	  "'p#':{'type':'string'}", 8000, "}}}" ENDED},
	 {WIDGET "[", "{'p1':''}", 15000, "]}"}},
	{"8,000 properties with defaults",
	 413,
	 {DEFINITION("") "{'type':'array','items':{'type':'object','properties':{",
	  "'p#':{'type':'string','default':'d'}", 8000, "}}}" ENDED},
	 {WIDGET "[", "{}", SOME, "]}"}},
	{"defaults of lists of lists",
	 413,
	 LIST_OF("{'type':'object','properties':{'a':{'type':'array','default':[{},{},{},{}"
		 ",{},{},{},{}],'items':{'type':'object','properties':{'b':{'type':'array',"
		 "'default':[{},{},{},{},{},{},{},{}],'items':{'type':'object',"
		 "'properties':{'c':{'type':'string','default':'d'}}}}}}}}}"),
	 {WIDGET "[", "{}", SOME, "]}"}},
	{"alternatives of alternatives",
	 422,
	 LIST_OF("{'type':'string',"
		 "'allOf':[" ANY16(ANY4("{'minLength':1}")) "]}"),
	 {WIDGET "[", "''", SOME, "]}"}},
	{"a set of long texts that differ at their ends",
	 201,
	 LIST_OF("{'type':'array','x-kubernetes-list-type':'set','items':{'type':'string'}}"),
	 {WIDGET "[[", "'" LONG LONG LONG LONG "#'", 5000, "]]}"}},
	{"a set of many",
	 201,
	 LIST_OF("{'type':'array','x-kubernetes-list-type':'set','items':{'type':"
		 "'integer'}}"),
	 {WIDGET "[[", "#", SOME, "]]}"}},
	{"a map of many",
	 201,
	 LIST_OF("{'type':'array','x-kubernetes-list-type':'map','x-kubernetes-list-map-"
		 "keys':['k'],'items':{'type':'object','properties':{'k':{'type':'string'}},"
		 "'required':['k']}}"),
	 {WIDGET "[[", "{'k':'k#'}", 15000, "]]}"}},
	{"a set of objects",
	 201,
	 LIST_OF("{'type':'array','x-kubernetes-list-type':'set','items':{'type':'object',"
		 "'x-kubernetes-map-type':'atomic','x-kubernetes-preserve-unknown-fields':"
		 "true}}"),
	 {WIDGET "[[", "{'k#':#}", 15000, "]]}"}},
	{"a pattern each",
	 -422,
	 {DEFINITION("") "{'type':'object','properties':{",
	  "'p#':{'type':'string','pattern':'^(a|b|[c-e#]+){1,200}(x#|y)*$'}", 6000,
	  "}}" ENDED},
	 {WIDGET "{", "'p#':'abcabcabc'", 6000, "}}"}},
	{"large patterns",
	 -422,
	 {DEFINITION("") "{'type':'object','properties':{",
	  "'p#':{'type':'string','pattern':'((((a{1,30}b){1,30}c){1,30}d){1,10})'}", 100,
	  "}}" ENDED},
	 {WIDGET "{", "'p#':'abcabcabc'", 100, "}}"}},
	{"columns of wide lists",
	 201,
	 {DEFINITION("'additionalPrinterColumns':[{'name':'c','type':'string','jsonPath':"
		     "'.spec[*]'},{'name':'d','type':'string','jsonPath':'.spec[?(@.x=="
		     "1)].y'}],") "{'type':'array','items':{'type':'integer'}}" ENDED,
	  "", 0, ""},
	 {WIDGET "[", "#", SOME, "]}"}},
	{"all columns, each over all",
	 201,
	 {"{'metadata':{'name':'widgets.x.io'},'spec':{'group':'x.io','names':{'plural':"
	  "'widgets','kind':'Widget'},'scope':'Namespaced','versions':[{'name':'v1',"
	  "'served':true,'storage':true,'schema':{'openAPIV3Schema':{'type':'object',"
	  "'properties':{'spec':{'type':'array','items':{'type':'integer'}}}}},"
	  "'additionalPrinterColumns':[",
	  "{'name':'c#','type':'string','jsonPath':'.spec[?(@==#)]'}", 64, "]}]}}"},
	 {WIDGET "[", "#", 19000, "]}"}},
	{"rules that are not evaluated",
	 201,
	 {DEFINITION("") "{'type':'object','properties':{",
	  "'p#':{'type':'string','x-kubernetes-validations':[{'rule':'self.size() > #'}]}",
	  4000, "}}" ENDED},
	 {WIDGET "{'p1':''}}", "", 0, ""}},
	{"all of a large schema",
	 -422,
	 {DEFINITION("") "{'type':'object','allOf':[",
	  "{'properties':{'a':{'minLength':#}}}", 6000,
	  "],'properties':{'a':{'type':'string'}}}" ENDED},
	 {WIDGET "{'a':'", "\\aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 30000, "'}}"}},
};

#define TABLE "Accept: application/json;as=Table;v=v1;g=meta.k8s.io\r\n"

static void wants(struct kube_rig *rig, const char *what, int status, int want)
{
	if (status != want)
		fail_msg("%s: %d %s, wanted %d", what, status,
			 kube_text(rig->body, "message"), want);
}

static void test_schemas(void **state)
{
	struct kube_rig *rig = *state;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(schema_rows); i++) {
		const struct schema_row *row = &schema_rows[i];
		int status = send_text(rig, "POST " CRDS, row->what, &row->definition);

		wants(rig, row->what, status, row->status < 0 ? -row->status : 201);
		if (row->status < 0)
			continue;
		wide_until(rig, "GET " WIDGETS, 200);
		status = send_text(rig, "POST " WIDGETS, row->what, &row->object);
		wants(rig, row->what, status, row->status);
		if (status == 201) {
			status = wide_ask_as(rig, "GET " WIDGETS "/a", row->what, TABLE);
			wants(rig, row->what, status, 200);
			status = send_text(rig, "MERGE " WIDGETS "/a", row->what,
					   &row->object);
			wants(rig, row->what, status, 200);
			(void)wide_ask(rig, "DELETE " WIDGETS "/a", row->what, NULL, 0);
		}
		(void)wide_ask(rig, "DELETE " CRDS "/widgets.x.io", row->what, NULL, 0);
		wide_until(rig, "GET " CRDS "/widgets.x.io", 404);
		wide_until(rig, "GET " WIDGETS, 404);
	}
	wide_tell("schemas");
}

/* --- patches --- */

#define ITEMS              WIDGET "["
#define OP(op, path, more) "{'op':'" op "','path':'" path "'" more "}"

static const struct {
	const char *what;
	int status;
	const char *how;
	struct text patch;
} patch_rows[] = {
	{"removes of the first",
	 413,
	 "JSON " WIDGETS "/a",
	 {"[", OP("remove", "/spec/0", ""), 9999, "]"}},
	{"adds at the front",
	 413,
	 "JSON " WIDGETS "/a",
	 {"[", OP("add", "/spec/0", ",'value':{}"), 6000, "]"}},
	{"a copy that doubles",
	 413,
	 "JSON " WIDGETS "/a",
	 {"[", OP("copy", "/spec/-", ",'from':'/spec'"), 60, "]"}},
	{"copies of all",
	 422,
	 "JSON " WIDGETS "/a",
	 {"[", OP("copy", "/spec/x", ",'from':'/spec'"), 6000, "]"}},
	{"copies of an item",
	 413,
	 "JSON " WIDGETS "/a",
	 {"[", OP("copy", "/spec/0", ",'from':'/spec/5'"), 6000, "]"}},
	{"moves to and fro",
	 413,
	 "JSON " WIDGETS "/a",
	 {"[", OP("move", "/spec/0", ",'from':'/spec/20000'"), 6000, "]"}},
	{"moves of all",
	 200,
	 "JSON " WIDGETS "/a",
	 {"[",
	  OP("move", "/x", ",'from':'/spec'") "," OP("move", "/spec", ",'from':'/x'"),
	  3000, "]"}},
	{"tests of all",
	 422,
	 "JSON " WIDGETS "/a",
	 {"[", OP("test", "/spec", ",'value':[]"), 6000, "]"}},
	{"replaces",
	 200,
	 "JSON " WIDGETS "/a",
	 {"[", OP("replace", "/spec/19999", ",'value':'x'"), 6000, "]"}},
	{"a long way",
	 422,
	 "JSON " WIDGETS "/a",
	 {"[{'op':'add','value':1,'path':'", "\\/a", 500000, "'}]"}},
	{"many members",
	 200,
	 "MERGE " WIDGETS "/a",
	 {"{'spec':{", "'k#':null", SOME, "}}"}},
};

static void test_patches(void **state)
{
	static const struct text definition = {
		DEFINITION("") "{'x-kubernetes-preserve-unknown-fields':true}" ENDED, "",
		0, ""};
	static const struct text object = {ITEMS, "'i#'", 31000, "]}"};
	struct kube_rig *rig = *state;

	assert_int_equal(send_text(rig, "POST " CRDS, "", &definition), 201);
	wide_until(rig, "GET " WIDGETS, 200);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(patch_rows); i++) {
		int status = send_text(rig, "POST " WIDGETS, "a long list", &object);

		wants(rig, "a long list", status, 201);
		status = send_text(rig, patch_rows[i].how, patch_rows[i].what,
				   &patch_rows[i].patch);
		wants(rig, patch_rows[i].what, status, patch_rows[i].status);
		assert_int_equal(wide_ask(rig, "DELETE " WIDGETS "/a", "", NULL, 0), 200);
	}
	wide_tell("patches");
}

/* As deep as a parser reads, and as what is stored may be. */
static void test_deep(void **state)
{
	static const struct text definition = {
		DEFINITION("") "{'x-kubernetes-preserve-unknown-fields':true}" ENDED, "",
		0, ""};
	static const struct {
		int depth, status;
	} rows[] = {{200, 201}, {900, 201}, {2000, 201}, {100000, 413}};
	struct kube_rig *rig = *state;

	assert_int_equal(send_text(rig, "POST " CRDS, "", &definition), 201);
	wide_until(rig, "GET " WIDGETS, 200);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		neap_auto_buf struct neap_buf buf = {0};
		int status;

		neap_buf_init(&buf, (size_t)4 * 1024 * 1024);
		neap_buf_adds(&buf, "{\"kind\":\"Widget\",\"apiVersion\":\"x.io/v1\","
				    "\"metadata\":{\"name\":\"a\"},\"spec\":");
		for (int k = 0; k < rows[i].depth; k++)
			neap_buf_adds(&buf, "{\"a\":1,\"b\":");
		neap_buf_adds(&buf, "1");
		for (int k = 0; k < rows[i].depth; k++)
			neap_buf_adds(&buf, "}");
		neap_buf_adds(&buf, "}");
		status = wide_ask(rig, "POST " WIDGETS, "deep", buf.data, buf.len);
		wants(rig, "deep", status, rows[i].status);
		if (status != 201)
			continue;
		(void)wide_ask(rig, "PUT " WIDGETS "/a", "deep", buf.data, buf.len);
		(void)wide_ask(rig, "MERGE " WIDGETS "/a", "deep", buf.data, buf.len);
		(void)wide_ask_as(rig, "GET " WIDGETS "/a", "deep", TABLE);
		(void)wide_ask(rig, "DELETE " WIDGETS "/a", "", NULL, 0);
	}
	wide_tell("deep ones");
}

/* --- bodies --- */

#define POD(more)                                                                        \
	"{'metadata':{'name':'p'},'spec':{" more "'containers':[{'name':'c','image':'i',"
#define SELECTOR "{'metadata':{'name':'p'},'spec':{'selector':{'matchExpressions':["

static const struct {
	const char *what;
	int status;
	const char *how;
	struct text body;
} body_rows[] = {
	{"empty lists", 413, "POST " MAPS, {"{'a':[", "[]", 1000000, "]}"}},
	{"deep lists", 413, "POST " MAPS, {"{'a':", "\\[", 2000000, "}"}},
	{"a number of 2 MB", 400, "POST " MAPS, {"{'a':", "\\1234567890", 200000, "}"}},
	{"a fraction of 2 MB",
	 422,
	 "POST " MAPS,
	 {"{'a':0.", "\\1234567890", 200000, "}"}},
	{"escapes", 422, "POST " MAPS, {"{'data':{'a':'", "\\\\u0041", 230000, "'}}"}},
	{"the same key", 422, "POST " MAPS, {"{'data':{", "'a':'b'", SOME, "}}"}},
	{"unknown fields",
	 400,
	 "POST " MAPS "?fieldValidation=Strict",
	 {"{'metadata':{'name':'a'},", "'x#':1", SOME, "}"}},
	{"unknown fields, told",
	 201,
	 "POST " MAPS "?fieldValidation=Warn",
	 {"{'metadata':{'name':'a'},", "'x#':1", SOME, "}"}},
	{"values that are no texts",
	 400,
	 "POST " MAPS,
	 {"{'metadata':{'name':'a'},'data':{", "'k#':1", 15000, "}}"}},
	{"bad keys",
	 422,
	 "POST " MAPS,
	 {"{'metadata':{'name':'a'},'data':{", "'?k#':'1'", 15000, "}}"}},
	{"a quantity of 1 MB",
	 400,
	 "POST " PODS,
	 {POD("") "'resources':{'limits':{'cpu':'", "\\9999999999", 100000, "'}}}]}}"}},
	{"many quantities",
	 201,
	 "POST " PODS,
	 {POD("") "'resources':{'limits':{", "'x/r#':'0.00000000000000001E'", 250,
	  "}}}]}}"}},
	{"a key of 1 MB",
	 201,
	 "POST " PODS,
	 {POD("'nodeSelector':{'x':'y'},") "'env':[{'name':'", "\\ABCDEFGHIJ", 100000,
	  "'}]}]}}"}},
	{"containers",
	 422,
	 "POST " PODS,
	 {"{'metadata':{'name':'p'},'spec':{'containers':[",
	  "{'name':'c#','image':'i','env':[{'name':'a'},{'name':'b'},{'name':'c'}],'ports':"
	  "[{'containerPort':1},{'containerPort':2}],'command':['a','b','c'],'args':['a'],"
	  "'resources':{'limits':{'cpu':'1','memory':'1'},'requests':{'cpu':'1'}},"
	  "'volumeMounts':[{'name':'v','mountPath':'/x'}],'readinessProbe':{'exec':{"
	  "'command':['a']}},'livenessProbe':{'exec':{'command':['a']}}}",
	  250, "]}}"}},
	{"variables of containers",
	 201,
	 "POST " PODS,
	 {POD("") "'env':[", "{'name':'a#','value':'b'}", 4000, "]}]}}"}},
	{"affinity",
	 201,
	 "POST " PODS,
	 {"{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'i'}],"
	  "'affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuring"
	  "Execution':[",
	  "{'topologyKey':'a','labelSelector':{'matchExpressions':[{'key':'a','operator':"
	  "'In','values':['a','b','c','d','e','f','g','h']}]}}",
	  250, "]}}}}"}},
	{"a selector",
	 422,
	 "POST /apis/policy/v1/namespaces/default/poddisruptionbudgets",
	 {SELECTOR, "{'key':'k','operator':'In','values':['a','b','c']}", 250, "]}}}"}},
	{"owners that control",
	 422,
	 "POST " MAPS,
	 {"{'metadata':{'name':'a','ownerReferences':[",
	  "{'apiVersion':'v1','kind':'K','name':'n#','uid':'u#','controller':true}", 1000,
	  "]}}"}},
};

static void test_bodies(void **state)
{
	struct kube_rig *rig = *state;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(body_rows); i++) {
		int status = send_text(rig, body_rows[i].how, body_rows[i].what,
				       &body_rows[i].body);

		wants(rig, body_rows[i].what, status, body_rows[i].status);
		(void)wide_ask(rig, "DELETE " MAPS "/a", "", NULL, 0);
		(void)wide_ask(rig, "DELETE " PODS "/p", "", NULL, 0);
	}
	wide_tell("bodies");
}

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(schemas), TEST(patches), TEST(deep),
					   TEST(bodies)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
