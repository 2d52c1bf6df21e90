/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of kinds that are declared, their columns and cells; ages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/kube/print/table.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "t/lib/json_rig.h"

#define SECOND INT64_C(1000000)

static int64_t now(void)
{
	int64_t usec = 0;

	assert_int_equal(neap_time_parse("2026-01-02T12:00:00Z", &usec, NULL), 0);
	return usec;
}

static void test_age(void **state)
{
	static const struct {
		int64_t usec;
		const char *want;
	} rows[] = {
		{INT64_MIN, "<invalid>"},
		{-3600 * SECOND, "<invalid>"},
		{-2 * SECOND, "<invalid>"},
		{-2 * SECOND + 1, "0s"},
		{-SECOND, "0s"},
		{-1, "0s"},
		{0, "0s"},
		{SECOND - 1, "0s"},
		{SECOND, "1s"},
		{119 * SECOND, "119s"},
		{120 * SECOND - 1, "119s"},
		{120 * SECOND, "2m"},
		{125 * SECOND, "2m5s"},
		{599 * SECOND, "9m59s"},
		{600 * SECOND, "10m"},
		{659 * SECOND, "10m"},
		{10799 * SECOND, "179m"},
		{10800 * SECOND, "3h"},
		{10859 * SECOND, "3h"},
		{11520 * SECOND, "3h12m"},
		{28799 * SECOND, "7h59m"},
		{28800 * SECOND, "8h"},
		{32399 * SECOND, "8h"},
		{172799 * SECOND, "47h"},
		{172800 * SECOND, "2d"},
		{176399 * SECOND, "2d"},
		{176400 * SECOND, "2d1h"},
		{691199 * SECOND, "7d23h"},
		{691200 * SECOND, "8d"},
		{400 * 86400 * SECOND, "400d"},
		{63071999 * SECOND, "729d"},
		{63072000 * SECOND, "2y"},
		{(63072000 + 10 * 86400) * SECOND, "2y10d"},
		{252287999 * SECOND, "7y364d"},
		{252288000 * SECOND, "8y"},
		{INT64_MAX, "292y"},
	};
	char buf[24];

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		if (strcmp(neap_kube_age(0, rows[i].usec, buf, sizeof(buf)),
			   rows[i].want) != 0)
			fail_msg("%lld: got %s, wanted %s", (long long)rows[i].usec, buf,
				 rows[i].want);
	}
	/* Spans that no number of 64 bits holds. */
	assert_string_equal(neap_kube_age(INT64_MIN, INT64_MAX, buf, sizeof(buf)),
			    "292y");
	assert_string_equal(neap_kube_age(INT64_MAX, INT64_MIN, buf, sizeof(buf)),
			    "<invalid>");
	assert_string_equal(neap_kube_age(now() - SECOND, now(), buf, sizeof(buf)), "1s");
}

static const struct neap_kube_column columns[] = {
	{"Name", "string", "name", "Name of it.", 0, ".metadata.name"},
	{"Phase", "string", "", "Where it is.", 0, ".status.phase"},
	{"N", "integer", "int32", "How many.", 1, ".spec.n"},
	{"Share", "number", "", NULL, 10, ".spec.share"},
	{"Ok", "boolean", NULL, "", 0, ".spec.ok"},
	{"Age", "date", "", "", 0, ".metadata.creationTimestamp"},
	{"Ready", "string", "", "", 0, ".status.conditions[?(@.type=='Ready')].status"},
	{"Lost", "string", "", "", 0, NULL},
	{"Wrong", "string", "", "", 0, "nowhere"},
	{"Odd", "object", "", "", 0, ".spec"},
};
static const struct neap_kube_kind kind = {
	.kind = "Thing", .columns = columns, .column_count = NEAP_ARRAY_LEN(columns)};

static void test_columns(void **state)
{
	json_t *got = neap_kube_columns(&kind);

	(void)state;
	assert_int_equal(json_array_size(got), NEAP_ARRAY_LEN(columns));
	json_rig_check("string", json_array_get(got, 0),
		       "{'name':'Name','type':'string','format':'name',"
		       "'description':'Name of it.','priority':0}");
	json_rig_check("wide", json_array_get(got, 3),
		       "{'name':'Share','type':'number','format':'','description':'',"
		       "'priority':10}");
	json_decref(got);
}

#define META "'metadata':{'name':'t','creationTimestamp':'2026-01-02T11:58:56Z'}"

static const struct {
	const char *name, *object, *want;
} cell_rows[] = {
	{"whole",
	 "{" META ",'spec':{'n':3,'share':0.5,'ok':true},'status':{'phase':'Bound',"
	 "'conditions':[{'type':'X'},{'type':'Ready','status':'False'}]}}",
	 "['t','Bound',3,0.5,true,'64s','False',null,null,null]"},
	{"nothing", "{}", "[null,null,null,null,null,null,null,null,null,null]"},
	{"nulls",
	 "{'metadata':null,'spec':{'n':null,'share':null,'ok':null},'status':{'phase':null}}",
	 "[null,null,null,null,null,null,null,null,null,null]"},
	{"other types are shown as texts",
	 "{'metadata':{'name':5},'status':{'phase':[1,{'b':2,'a':'x'}]},'spec':{'n':2.9,"
	 "'share':7,'ok':'true'}}",
	 "['5','[1,{\\'a\\':\\'x\\',\\'b\\':2}]',2,7,null,null,null,null,null,null]"},
	{"booleans and numbers as texts",
	 "{'metadata':{'name':true},'status':{'phase':-0.25},'spec':{'n':'3','share':'1',"
	 "'ok':1}}",
	 "['true','-0.25',null,null,null,null,null,null,null,null]"},
	{"times that are none",
	 "{'metadata':{'name':false,'creationTimestamp':'yesterday'},'status':{'phase':1e30}}",
	 "['false','1e+30',null,null,null,'<invalid>',null,null,null,null]"},
	{"a time that is not set",
	 "{'metadata':{'creationTimestamp':''},'status':{'phase':3.0}}",
	 "[null,'3',null,null,null,'<unknown>',null,null,null,null]"},
	{"the zero time of Go",
	 "{'metadata':{'creationTimestamp':'0001-01-01T00:00:00Z'},'status':{'phase':0.1}}",
	 "[null,'0.1',null,null,null,'<unknown>',null,null,null,null]"},
	{"a time that is a number",
	 "{'metadata':{'creationTimestamp':1},'status':{'phase':0.0000001}}",
	 "[null,'1e-07',null,null,null,null,null,null,null,null]"},
	{"integers out of range", "{'spec':{'n':1e19},'status':{'phase':123456789.25}}",
	 "[null,'123456789.25',null,null,null,null,null,null,null,null]"},
	{"several",
	 "{'status':{'conditions':[{'type':'Ready','status':'True'},"
	 "{'type':'Ready','status':0}]}}",
	 "[null,null,null,null,null,null,'True,0',null,null,null]"},
};

static void test_cells(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(cell_rows); i++) {
		json_t *object = json_rig_make(cell_rows[i].object);
		json_t *got = neap_kube_cells(&kind, object, now());

		json_rig_check(cell_rows[i].name, got, cell_rows[i].want);
		json_decref(got);
		json_decref(object);
	}
}

static void test_first_of_several(void **state)
{
	static const struct neap_kube_column some[] = {
		{"A", "integer", "", "", 0, ".list[*]"},
		{"B", "boolean", "", "", 0, ".list[1:]"},
		{"C", "string", "", "", 0, ".list[*]"},
	};
	const struct neap_kube_kind lists = {.columns = some, .column_count = 3};
	json_t *object = json_rig_make("{'list':[4,true,5]}");
	json_t *got = neap_kube_cells(&lists, object, now());

	(void)state;
	json_rig_check("several", got, "[4,true,'4,true,5']");
	json_decref(got);
	json_decref(object);
}

/* The row is there without the cell. */
static void test_too_much(void **state)
{
	static const struct neap_kube_column some[] = {
		{"A", "string", "", "", 0, ".texts[*]"},
		{"B", "string", "", "", 0, ".numbers[*]"},
		{"C", "integer", "", "", 0, ".numbers[-1]"},
	};
	const struct neap_kube_kind lists = {.columns = some, .column_count = 3};
	json_t *object = json_rig_make("{'texts':[],'numbers':[]}"), *got;

	(void)state;
	for (int i = 0; i < 30000; i++) {
		json_array_append_new(json_object_get(object, "numbers"),
				      json_integer(i));
		if (i < 2000)
			json_array_append_new(
				json_object_get(object, "texts"),
				json_string("a text of not quite forty characters"));
	}
	got = neap_kube_cells(&lists, object, now());
	json_rig_check("too much", got, "[null,null,29999]");
	json_decref(got);
	json_decref(object);
}

static json_t *own_cells(const struct neap_kube_kind *of, const json_t *object,
			 int64_t when)
{
	return json_pack("[s, I]", of->kind,
			 (json_int_t)(when + json_integer_value(object)));
}

static void test_computed(void **state)
{
	const struct neap_kube_kind own = {.kind = "Own", .cells = own_cells};
	static const struct neap_kube_column plain_columns[] = {
		{.name = "Name", .type = "string", .path = ".metadata.name"},
		{.name = "Age", .type = "date", .path = ".metadata.creationTimestamp"}};
	const struct neap_kube_kind plain = {
		.columns = plain_columns, .column_count = NEAP_ARRAY_LEN(plain_columns)};
	json_t *object = json_rig_make("5"), *got = neap_kube_cells(&own, object, 2);

	(void)state;
	json_rig_check("own", got, "['Own',7]");
	json_decref(got);
	json_decref(object);
	object = json_rig_make("{" META "}");
	got = neap_kube_cells(&plain, object, now());
	json_rig_check("plain", got, "['t','64s']");
	json_decref(got);
	json_decref(object);
}

/* All or nothing. */
static void fail_each(const struct neap_kube_kind *of, const json_t *object)
{
	json_t *full = neap_kube_cells(of, object, now()), *got;
	uint64_t before, n;

	for (n = 1;; n++) {
		before = neap_mem_failures();
		neap_mem_fail_at(n);
		got = neap_kube_cells(of, object, now());
		neap_mem_fail_at(0);
		assert_true(json_equal(got, full) == (got != NULL));
		json_decref(got);
		if (neap_mem_failures() == before)
			break;
		if (got != NULL)
			fail_msg("allocation %llu: whole without memory",
				 (unsigned long long)n);
	}
	assert_true(n > 3);
	json_decref(full);
}

static void test_no_memory(void **state)
{
	static const struct neap_kube_column some[] = {
		{"A", "integer", "", "", 0, ".list[*]"},
		{"B", "string", "", "", 0, ".list[*]"},
		{"C", "string", "", "", 0, ".list[?(@>$.list[0,1,2,3,4][?(@>99)])]"},
	};
	const struct neap_kube_kind lists = {.columns = some, .column_count = 3};
	json_t *object = json_rig_make(cell_rows[3].object), *got;
	uint64_t before, n;

	(void)state;
	fail_each(&kind, object);
	json_decref(object);
	object = json_rig_make("{'list':[1,2,3,4,5,6,7,8]}");
	fail_each(&lists, object);
	json_decref(object);
	for (n = 1;; n++) {
		before = neap_mem_failures();
		neap_mem_fail_at(n);
		got = neap_kube_columns(&kind);
		neap_mem_fail_at(0);
		assert_true(got == NULL ||
			    json_array_size(got) == NEAP_ARRAY_LEN(columns));
		json_decref(got);
		if (neap_mem_failures() == before)
			break;
	}
	assert_true(n > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_age),      cmocka_unit_test(test_columns),
		cmocka_unit_test(test_cells),    cmocka_unit_test(test_first_of_several),
		cmocka_unit_test(test_computed), cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_too_much),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
