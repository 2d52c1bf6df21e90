/* SPDX-License-Identifier: Apache-2.0
 *
 * JSONPaths of columns: what they lead to, what is none, and what is made to cost
 * much. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/kube/print/table.h"
#include "api/kube/print/table_priv.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "t/lib/json_rig.h"

static const char things[] =
	"{'metadata':{'name':'r1','labels':{'a.b/c':'d','x':'y','o\\'s':'q'}},"
	"'spec':{'n':3,'f':0.5,'t':true,'z':null,'list':[1,2,3,4],"
	"'ports':[{'name':'http','port':80},{'name':'dns','port':53}],"
	"'empty':[],'deep':[[1,2],[3]],'some':[null,1,null,'b'],'b\\\\s':1},"
	"'status':{'conditions':[{'type':'Ready','status':'True','n':1,'on':true},"
	"{'type':'Other','status':'False','n':2.5,'on':false,'z':null}]}}";

#define CONDITIONS ".status.conditions"

static const struct {
	const char *path;
	const char *want; /* NULL: nothing */
} rows[] = {
	/* names */
	{".metadata.name", "'r1'"},
	{"{.metadata.name}", "'r1'"},
	{"$.metadata.name", "'r1'"},
	{"{$.metadata.name}", "'r1'"},
	{".metadata.labels.a\\.b/c", "'d'"},
	{".metadata.labels['a.b/c']", "'d'"},
	{".metadata.labels[\"a.b/c\"]", "'d'"},
	{".metadata.labels['o\"s']", "'q'"},
	{".metadata.labels[\"o\\\"s\"]", "'q'"},
	{".spec['b\\\\s']", "1"},
	{"['metadata']['name']", "'r1'"},
	{".['metadata'].name", "'r1'"},
	{".spec.n", "3"},
	{".spec.f", "0.5"},
	{".spec.t", "true"},
	{".spec.z", NULL},
	{".spec.none", NULL},
	{".spec.n.x", NULL},
	{".spec.list.x", NULL},
	{".spec.empty", "[]"},
	{".spec.ports[1]", "{'name':'dns','port':53}"},
	{".status.conditions.type", NULL},
	/* positions */
	{".spec.list[0]", "1"},
	{".spec.list[3]", "4"},
	{".spec.list[4]", NULL},
	{".spec.list[-1]", "4"},
	{".spec.list[-4]", "1"},
	{".spec.list[-5]", NULL},
	{".spec.list[999999999]", NULL},
	{".spec.list[-999999999]", NULL},
	{".spec.empty[0]", NULL},
	{".spec.empty[-1]", NULL},
	{".spec.n[0]", NULL},
	{".spec[0]", NULL},
	{".spec.list[1:3]", "'2,3'"},
	{".spec.list[2:]", "'3,4'"},
	{".spec.list[:1]", "1"},
	{".spec.list[:]", "'1,2,3,4'"},
	{".spec.list[-2:]", "'3,4'"},
	{".spec.list[:-3]", "1"},
	{".spec.list[3:1]", NULL},
	{".spec.list[::2]", "'1,3'"},
	{".spec.list[1::2]", "'2,4'"},
	{".spec.list[0:9:3]", "'1,4'"},
	/* several */
	{".spec.list[*]", "'1,2,3,4'"},
	{".spec.list[0,2]", "'1,3'"},
	{".spec.list[ 0 , -1 ]", "'1,4'"},
	{".spec.list[0,9]", "1"},
	{".spec.ports[*].port", "'80,53'"},
	{".spec.ports[*]['name','port']", "'http,80,dns,53'"},
	{".spec.ports[*].none", NULL},
	{".spec.ports[0].*", "'http,80'"},
	{".spec.deep[*][0]", "'1,3'"},
	{".spec.deep[*][*]", "'1,2,3'"},
	{".spec.deep[*]", "'[1,2],[3]'"},
	{".spec.some[*]", "'1,b'"},
	{".spec.empty[*]", NULL},
	{"..port", "'80,53'"},
	{"..name", "'r1,http,dns'"},
	{".spec..name", "'http,dns'"},
	{".spec.deep..[0]", "'[1,2],1,3'"},
	{"..none", NULL},
	/* filters */
	{CONDITIONS "[?(@.type=='Ready')].status", "'True'"},
	{CONDITIONS "[?(@.type==\"Ready\")].status", "'True'"},
	{CONDITIONS "[?( @.type == 'Ready' )].status", "'True'"},
	{CONDITIONS "[?(@['type']=='Ready')].status", "'True'"},
	{CONDITIONS "[?('Ready'==@.type)].n", "1"},
	{CONDITIONS "[?(@.type=='None')].status", NULL},
	{CONDITIONS "[?(@.type!='Ready')].status", "'False'"},
	{CONDITIONS "[?(@.n>1)].type", "'Other'"},
	{CONDITIONS "[?(@.n>=1)].type", "'Ready,Other'"},
	{CONDITIONS "[?(@.n<2.5)].type", "'Ready'"},
	{CONDITIONS "[?(@.n<=2.5)].type", "'Ready,Other'"},
	{CONDITIONS "[?(@.n==2.5)].type", "'Other'"},
	{CONDITIONS "[?(@.n==1.0)].type", "'Ready'"},
	{CONDITIONS "[?(@.n>-1e3)].type", "'Ready,Other'"},
	{CONDITIONS "[?(@.on==true)].type", "'Ready'"},
	{CONDITIONS "[?(@.on!=true)].type", "'Other'"},
	{CONDITIONS "[?(@.on>false)].type", NULL},
	{CONDITIONS "[?(@.z==null)].type", "'Other'"},
	{CONDITIONS "[?(@.n=='1')].type", NULL},
	{CONDITIONS "[?(@.n!='1')].type", NULL},
	{CONDITIONS "[?(@.none!='1')].type", NULL},
	{CONDITIONS "[?(@.z)].type", "'Other'"},
	{CONDITIONS "[?(@.status)].type", "'Ready,Other'"},
	{CONDITIONS "[?(@.none)].type", NULL},
	{CONDITIONS "[?(@.type>'P')].type", "'Ready'"},
	{".spec.list[?(@>2)]", "'3,4'"},
	{".spec.list[?(@>$.spec.n)]", "4"},
	{".spec.ports[?(@.name=='dns')].port", "53"},
	{".spec[?(@.name=='dns')].port", NULL},
	{CONDITIONS "[?(@.n==$.spec.list[?(@==1)])].type", "'Ready'"},
	{CONDITIONS "[?(@.n==$.spec.list[*])].type", NULL},
	{CONDITIONS "[?(@.type=='Ready'),0].n", "'1,1'"},
};

static void test_found(void **state)
{
	json_t *object = json_rig_make(things);

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_error err = {0};
		json_t *got = neap_kube_path_get(object, rows[i].path);

		if (neap_kube_path_check(rows[i].path, &err) < 0)
			fail_msg("%s: %s", rows[i].path, err.msg);
		if (rows[i].want != NULL)
			json_rig_check(rows[i].path, got, rows[i].want);
		else if (got != NULL)
			fail_msg("%s leads somewhere", rows[i].path);
		json_decref(got);
	}
	json_decref(object);
}

static void test_whole(void **state)
{
	static const char *const paths[] = {".", "{.}", "$.", "{$.}"};
	json_t *object = json_rig_make(things);

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(paths); i++) {
		json_t *got = neap_kube_path_get(object, paths[i]);

		assert_ptr_equal(got, object);
		json_decref(got);
	}
	json_decref(object);
}

static void test_wrong(void **state)
{
	static const struct {
		const char *path, *why;
	} wrong[] = {
		{"", "start with a dot at byte 1"},
		{"status", "start with a dot at byte 1"},
		{"*", "start with a dot"},
		{"{}", "start with a dot at byte 2"},
		{"$", "start with a dot at byte 2"},
		{"..", "a name is missing"},
		{"...a", "a name is missing"},
		{".a.", "a name is missing at byte 4"},
		{".a..", "a name is missing"},
		{". a", "a name is missing"},
		{".a b", "nothing may follow at byte 3"},
		{".a$", "nothing may follow"},
		{".a]", "nothing may follow"},
		{".*a", "nothing may follow"},
		{"{.a", "} is missing"},
		{"{.a}}", "nothing may follow"},
		{".a}", "nothing may follow"},
		{".a,b", "nothing may follow"},
		{".a\\", "a backslash with nothing"},
		{".a[", "a name in quotes"},
		{".a[]", "a name in quotes"},
		{".a[x]", "a name in quotes"},
		{".a['x]", "a quote is not closed"},
		{".a['x\\", "a quote is not closed"},
		{".a['x\\']", "a quote is not closed"},
		{".a['x'", "] is missing"},
		{".a[1", "] is missing"},
		{".a[1,", "a name in quotes"},
		{".a[1 2]", "] is missing"},
		{".a[-]", "a number is missing"},
		{".a[1:2:0]", "a stride"},
		{".a[1:2:-1]", "a stride"},
		{".a[1:2:3:4]", "] is missing"},
		{".a[9999999999]", "too large"},
		{".a[?]", "( is missing"},
		{".a[?@.b]", "( is missing"},
		{".a[?()]", "a text in quotes or a number"},
		{".a[?(@.b==)]", "a text in quotes or a number"},
		{".a[?(@.b=='x']", ") is missing"},
		{".a[?(@.b=='x')", "] is missing"},
		{".a[?(@.b='x')]", ") is missing"},
		{".a[?('x')]", "a comparison is missing"},
		{".a[?(@.b==1e5x)]", "no number"},
		{".a[?(@.b==1e)]", "no number"},
		{".a[?(@.b==-)]", "no number"},
		{".a[?(@.b==0x1f)]", "no number"},
		{".a[?(@.b==yes)]", "a text in quotes or a number"},
		{".a[?(@.b==1 && @.c==2)]", ") is missing"},
		{".a[?(@.)]", "a name is missing"},
		{".a[?(@.b==11111111111111111111111111111111111)]",
		 "a text in quotes or a number"},
		{".a[?(@[?(@[?(@[?(@[?(@.x)])])])])]", "too many filters"},
	};
	json_t *object = json_rig_make(things);

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(wrong); i++) {
		struct neap_error err = {0};
		int rc = neap_kube_path_check(wrong[i].path, &err);

		if (rc != -NEAP_EINVAL)
			fail_msg("%s: %d", wrong[i].path, rc);
		if (strstr(err.msg, wrong[i].why) == NULL ||
		    strstr(err.msg, wrong[i].path) == NULL)
			fail_msg("%s: %s", wrong[i].path, err.msg);
		assert_null(neap_kube_path_get(object, wrong[i].path));
	}
	json_decref(object);
}

/* --- bounds --- */

/* "head", so often "part", "tail"; the caller's. */
static char *repeat(const char *head, const char *part, size_t times, const char *tail)
{
	size_t size = strlen(head) + strlen(part) * times + strlen(tail) + 1, len = 0;
	char *text = malloc(size);

	assert_non_null(text);
	len += (size_t)snprintf(text, size, "%s", head);
	while (times-- > 0)
		len += (size_t)snprintf(text + len, size - len, "%s", part);
	(void)snprintf(text + len, size - len, "%s", tail);
	return text;
}

static void test_long(void **state)
{
	static const struct {
		const char *part;
		size_t times;
		const char *why; /* NULL: it is a path */
	} texts[] = {
		{".a", NEAP_KUBE_PATH_STEPS, NULL},
		{".a", NEAP_KUBE_PATH_STEPS + 1, "too many steps"},
		{"[0]", NEAP_KUBE_PATH_STEPS, NULL},
		{"['']", NEAP_KUBE_PATH_STEPS, NULL},
		{"..a", NEAP_KUBE_PATH_STEPS / 2, NULL},
		{".\\.\\.\\.\\.\\.\\.\\.", NEAP_KUBE_PATH_BYTES / 15, NULL},
		{".aaaaaaaaaaaaaaa", NEAP_KUBE_PATH_BYTES / 16, NULL},
		{".aaaaaaaaaaaaaaa", NEAP_KUBE_PATH_BYTES / 16 + 1, "over 512 bytes"},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(texts); i++) {
		struct neap_error err = {0};
		char *path = repeat("", texts[i].part, texts[i].times, "");
		int rc = neap_kube_path_check(path, &err);

		free(path);
		if ((rc == 0) != (texts[i].why == NULL) ||
		    (rc < 0 && strstr(err.msg, texts[i].why) == NULL))
			fail_msg("%s %zu times: %s", texts[i].part, texts[i].times,
				 err.msg);
	}
}

/* What is far too much to look at leads nowhere, and soon. */
static void test_work(void **state)
{
	static const struct {
		const char *head, *part;
		size_t times;
		const char *tail, *path;
		bool is_found;
	} made[] = {
		{"[0", ",0", 10000, "]", "[*]", true},
		{"[0", ",0", NEAP_KUBE_PATH_WORK, "]", "[*]", false},
		{"[0", ",0", NEAP_KUBE_PATH_WORK, "]", "[?(@==1)]", false},
		{"[0", ",0", NEAP_KUBE_PATH_WORK, "]", "[-1]", true},
		{"[0", ",0", 5000, "]", "[?(@==$[?(@==1)])]", false},
		{"[0", ",0", 2000, "]", "[?($[*]==$[*])]", false},
		{"", "[", 100, "1", "..[0]", true},
		{"", "[", 1000, "1", "..[0]..[0]", false},
		{"", "[", 300, "1", "..[0]..[0]..[0]..[0]..[0]..[0]", false},
		{"[0", ",0", 20, "]", "[*,*,*,*][*,*,*,*]", false},
		/* Over 64 KiB of texts. */
		{"['0123456789012345678901234567890123456789'",
		 ",'0123456789012345678901234567890123456789'", 1000, "]", "[*]", true},
		{"['0123456789012345678901234567890123456789'",
		 ",'0123456789012345678901234567890123456789'", 2000, "]", "[*]", false},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(made); i++) {
		bool is_nested = strcmp(made[i].part, "[") == 0;
		char *tail = repeat(made[i].tail, "]", is_nested ? made[i].times : 0, "");
		char *text = repeat(made[i].head, made[i].part, made[i].times, tail);
		json_t *object = json_rig_make(text);
		json_t *got = neap_kube_path_get(object, made[i].path);

		if ((got != NULL) != made[i].is_found)
			fail_msg("row %zu, %s: %s", i, made[i].path,
				 got != NULL ? "found" : "not found");
		json_decref(got);
		json_decref(object);
		free(text);
		free(tail);
	}
}

static void test_no_memory(void **state)
{
	static const char *const paths[] = {
		".spec.list[0,1,2,3,0,1,2,3]", ".spec.deep[*]",
		".status.conditions[?(@.n==$.spec.list[0,1,2,3,0][?(@==9)])].type",
		"..name", ".spec.ports[*].port"};
	json_t *object = json_rig_make(things);

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(paths); i++) {
		json_t *full = neap_kube_path_get(object, paths[i]);
		uint64_t before, n;

		for (n = 1;; n++) {
			json_t *got;

			before = neap_mem_failures();
			neap_mem_fail_at(n);
			got = neap_kube_path_get(object, paths[i]);
			neap_mem_fail_at(0);
			if (neap_mem_failures() == before) {
				assert_true(got == full || json_equal(got, full));
				json_decref(got);
				break;
			}
			if (got != NULL)
				fail_msg("%s, allocation %llu: half a text", paths[i],
					 (unsigned long long)n);
		}
		assert_true(n > 1);
		json_decref(full);
	}
	json_decref(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found), cmocka_unit_test(test_whole),
		cmocka_unit_test(test_wrong), cmocka_unit_test(test_long),
		cmocka_unit_test(test_work),  cmocka_unit_test(test_no_memory),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
