/* SPDX-License-Identifier: Apache-2.0
 *
 * The start of kinds that are declared: those that are stored, right or broken, and the
 * definitions that come with neap as files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/store/write.h"
#include "engine/base/mem.h"
#include "t/lib/declared_rig.h"
#include "t/lib/patience.h"

#define UNTIL(rig, ...) kube_until(rig, &(const struct kube_step){__VA_ARGS__})
#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

/* --- definitions that come with neap --- */

static const char file_text[] =
	"apiVersion: apiextensions.k8s.io/v1\n"
	"kind: CustomResourceDefinition\n"
	"metadata:\n"
	"  name: widgets.example.com\n"
	"  labels: {of: file}\n"
	"spec:\n"
	"  group: example.com\n"
	"  scope: Namespaced\n"
	"  names: {plural: widgets, kind: Widget}\n"
	"  versions:\n"
	"  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: "
	"{type: object}}}\n";

static void put_file(const struct kube_rig *rig, const char *text)
{
	char path[256];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/crds", rig->store.dir);
	(void)mkdir(path, 0700);
	(void)snprintf(path, sizeof(path), "%s/crds/widgets.yaml", rig->store.dir);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void remove_files(const struct kube_rig *rig)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/crds/widgets.yaml", rig->store.dir);
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s/log", rig->store.dir);
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s/crds", rig->store.dir);
	(void)rmdir(path);
}

/* As a start does. said: a part of what goes to the log. */
static int start_again(struct kube_rig *rig, const char *folder, const char *said,
		       struct neap_error *err)
{
	char path[256], text[4096] = "";
	struct neap_log log = {.level = NEAP_LOG_INFO, .program = "test"};
	struct neap_kube_declared_folder files = {.fd = -1};
	struct neap_kube_declared_config config = {
		.kube = rig->kube, .folder = folder != NULL ? &files : NULL, .log = &log};
	FILE *file;
	int ret;

	if (folder != NULL)
		assert_int_equal(neap_kube_declared_folder_open(&files, folder, err), 0);
	neap_kube_declared_free(rig->declared);
	(void)snprintf(path, sizeof(path), "%s/log", rig->store.dir);
	file = fopen(path, "w+e");
	assert_non_null(file);
	log.fd = fileno(file);
	ret = neap_kube_declared_new(&config, &rig->declared, err);
	(void)fseek(file, 0, SEEK_SET);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	(void)fclose(file);
	if (said == NULL ? text[0] != '\0' : strstr(text, said) == NULL)
		fail_msg("said '%s', wanted '%s'", text, said ? said : "nothing");
	/* The log is no more. */
	if (ret == 0) {
		neap_kube_declared_free(rig->declared);
		config.log = NULL;
		ret = neap_kube_declared_new(&config, &rig->declared, err);
	}
	neap_kube_declared_folder_close(&files);
	return ret;
}

static void test_files(void **state)
{
	static const struct {
		const char *name;
		const char *change;    /* by a user, before; NULL: none */
		const char *from, *to; /* in the file, from now on */
		const char *said;      /* NULL: nothing */
		bool is_same;          /* nothing is written */
		const char *want[3];
	} rows[] = {
		{"missing",
		 NULL,
		 "",
		 "",
		 NULL,
		 false,
		 {"metadata.generation=1", "metadata.labels={\"of\":\"file\"}",
		  "status.conditions~" IS("Established", "True",
					  "InitialNamesAccepted")}},
		{"as it was", NULL, "", "", NULL, true, {"metadata.generation=1"}},
		{"changed by a user",
		 "{'metadata':{'labels':{'of':'me'}},'spec':{'names':{'shortNames':['w']}}}",
		 "",
		 "",
		 NULL,
		 true,
		 {"metadata.generation=2", "spec.names.shortNames=[\"w\"]"}},
		{"a changed file",
		 "{'metadata':{'labels':{'mine':'1'}}}",
		 "names: {plural",
		 "names: {shortNames: [wi], plural",
		 "changed, as its file is",
		 false,
		 {"metadata.generation=3", "spec.names.shortNames=[\"wi\"]",
		  "metadata.labels={\"mine\":\"1\",\"of\":\"file\"}"}},
		{"the file as it was, but for a comment",
		 NULL,
		 "Widget}",
		 "Widget} # one",
		 "changed, as its file is",
		 false,
		 {"metadata.generation=4", "!spec.names.shortNames"}},
		{"a change that cannot be made",
		 NULL,
		 "Namespaced",
		 "Cluster",
		 "spec.scope",
		 true,
		 {"spec.scope=Namespaced"}},
		{"one of a user's own",
		 "{'metadata':{'annotations':null}}",
		 "Widget}",
		 "Widget} # two",
		 "left as it is",
		 true,
		 {"!metadata.annotations"}},
	};
	struct kube_rig *rig = *state;
	char folder[128], text[2048];

	(void)snprintf(folder, sizeof(folder), "%s/crds", rig->store.dir);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const char *at = strstr(file_text, rows[i].from);
		struct neap_error err = {0};
		int64_t version;

		if (rows[i].change != NULL)
			assert_int_equal(kube_ask(rig,
						  "MERGE " CRDS "/widgets.example.com",
						  rows[i].change),
					 200);
		(void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - file_text),
			       file_text, rows[i].to, at + strlen(rows[i].from));
		put_file(rig, text);
		while (!kube_is_at_rest(rig))
			; /* what came of the change is written */
		version = neap_store_version(rig->store.store);
		if (start_again(rig, folder, rows[i].said, &err) < 0)
			fail_msg("%s: %s", rows[i].name, err.msg);
		if ((neap_store_version(rig->store.store) == version) != rows[i].is_same)
			fail_msg("%s: %s", rows[i].name,
				 rows[i].is_same ? "written" : "not written");
		assert_int_equal(kube_ask(rig, "GET " CRDS "/widgets.example.com", NULL),
				 200);
		for (size_t k = 0; k < 3 && rows[i].want[k] != NULL; k++)
			if (kube_differs(rig->body, rows[i].want[k]) != NULL)
				fail_msg("%s: %s", rows[i].name,
					 kube_differs(rig->body, rows[i].want[k]));
		assert_int_equal(kube_ask(rig, "GET " WIDGETS, NULL), 200);
	}
	remove_files(rig);
}

static void test_bad_files(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"a: b\nb: [\n", "crds/widgets.yaml:3: "},
		{"a: b\n", "crds/widgets.yaml: spec: Required value"},
		{"kind: Pod\n", "crds/widgets.yaml: kind: Invalid value"},
		{"kind: CustomResourceDefinition\nspec: {group: x}\n",
		 "crds/widgets.yaml: spec.names"},
	};
	struct kube_rig *rig = *state;
	struct neap_error err = {0};
	char folder[128];

	(void)snprintf(folder, sizeof(folder), "%s/crds", rig->store.dir);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		put_file(rig, rows[i].text);
		assert_int_equal(start_again(rig, folder, NULL, &err), -NEAP_EINVAL);
		if (strstr(err.msg, rows[i].want) == NULL)
			fail_msg("%s: %s", rows[i].text, err.msg);
	}
	remove_files(rig);
	assert_int_equal(start_again(rig, folder, "is not there", &err), 0);
	assert_int_equal(kube_ask(rig, "GET " CRDS, NULL), 200);
	remove_files(rig);
}

/* Stored by who knew more, or less: told, and the others are served. */
static void test_broken(void **state)
{
	struct kube_rig *rig = *state;
	struct neap_error err = {0};
	struct neap_store_write write = {
		.verb = NEAP_STORE_CREATE,
		.resource = "customresourcedefinitions.apiextensions.k8s.io",
		.ns = "",
		.name = "widgets.example.com",
		.object =
			json_pack("{s:{s:s, s:s, s:i}, s:{s:s, s:s}}", "metadata", "name",
				  "widgets.example.com", "uid", "u-1", "generation", 1,
				  "spec", "group", "example.com", "scope", "Namespaced"),
	};

	declared_define(rig, DEFINE("gadgets", "'kind':'Gadget'", "", SIZE),
			"gadgets.example.com");
	neap_kube_declared_free(rig->declared);
	rig->declared = NULL;
	assert_int_equal(neap_store_write_take(rig->store.store, &write, &err), 0);
	assert_true(
		comes_true_in(rig->base, neap_store_find(rig->store.store, write.resource,
							 "", write.name)));
	assert_int_equal(start_again(rig, NULL, "widgets.example.com: spec", &err), 0);
	UNTIL(rig, "GET " CRDS "/widgets.example.com", NULL, 200,
	      {"status.conditions~" IS("NonStructuralSchema", "True", "Violations"),
	       "status.conditions~" IS("Established", "False", "NotServed")});
	assert_int_equal(kube_ask(rig, "GET " GROUP "/namespaces/default/gadgets", NULL),
			 200);
	assert_int_equal(kube_ask(rig, "GET " WIDGETS, NULL), 404);
	assert_int_equal(kube_ask(rig, "DELETE " CRDS "/widgets.example.com", NULL), 200);
	UNTIL(rig, "GET " CRDS "/widgets.example.com", NULL, 404, {NULL});
}

/* All is there again at the next start, also what was being deleted. */
static void test_again(void **state)
{
	struct kube_rig *rig = *state;
	struct neap_error err = {0};

	declared_define(rig, WIDGET, "widgets.example.com");
	assert_int_equal(kube_ask(rig, "POST " WIDGETS,
				  "{'metadata':{'name':'a','finalizers':['x.y/z']}}"),
			 201);
	assert_int_equal(start_again(rig, NULL, NULL, &err), 0);
	assert_int_equal(kube_ask(rig, "GET " WIDGETS "/a", NULL), 200);
	assert_int_equal(kube_ask(rig, "DELETE " CRDS "/widgets.example.com", NULL), 200);
	assert_int_equal(start_again(rig, NULL, NULL, &err), 0);
	UNTIL(rig, "GET " WIDGETS "/a", NULL, 200, {"metadata.deletionTimestamp"});
	assert_int_equal(
		kube_ask(rig, "MERGE " WIDGETS "/a", "{'metadata':{'finalizers':null}}"),
		200);
	UNTIL(rig, "GET " CRDS "/widgets.example.com", NULL, 404, {NULL});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files),
		TEST(bad_files),
		TEST(broken),
		TEST(again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
