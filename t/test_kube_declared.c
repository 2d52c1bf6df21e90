/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds that are declared while the server runs: made, changed, in each other's way, deleted with their objects;
 * and the definitions that come with neap. */
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
#include <event2/event.h>

#include "engine/base/mem.h"
#include "t/lib/kube_rig.h"

#define STEPS(rig, steps) kube_steps(rig, steps, NEAP_ARRAY_LEN(steps))
#define UNTIL(rig, ...)   kube_until(rig, &(const struct kube_step){__VA_ARGS__})
#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

#define CRDS    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define GROUP   "/apis/example.com/v1"
#define WIDGETS GROUP "/namespaces/default/widgets"

/* version: members of spec.versions[0] beside those that all have; "," ends each. */
#define DEFINE(plural, names, version, properties)                                       \
	"{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition',"     \
	"'metadata':{'name':'" plural ".example.com'},'spec':{'group':'example.com',"    \
	"'scope':'Namespaced','names':{'plural':'" plural "'," names                     \
	"},'versions':[{'name':'v1','served':true,'storage':true," version               \
	"'schema':{'openAPIV3Schema':{'type':'object','properties':{'spec':{'type':"     \
	"'object','properties':{" properties "}}}}}}]}}"
#define SIZE   "'size':{'type':'integer','default':3}"
#define WIDGET DEFINE("widgets", "'kind':'Widget','shortNames':['wd']", "", SIZE)
#define IS(type, is, reason)                                                             \
	"\"reason\":\"" reason "\",\"status\":\"" is "\",\"type\":\"" type "\""

static void define(struct kube_rig *rig, const char *body, const char *name)
{
	char ask[256];
	struct kube_step step = {
		ask,
		NULL,
		200,
		{"status.conditions~" IS("Established", "True", "InitialNamesAccepted")}};

	if (kube_ask(rig, "POST " CRDS, body) != 201)
		fail_msg("%s: %s", name, kube_text(rig->body, "message"));
	(void)snprintf(ask, sizeof(ask), "GET " CRDS "/%s", name);
	kube_until(rig, &step);
}

/* --- a kind comes, changes, goes --- */

static void test_create(void **state)
{
	static const struct kube_step steps[] = {
		{"GET " CRDS "/widgets.example.com",
		 NULL,
		 200,
		 {"status.conditions~" IS("NamesAccepted", "True", "NoConflicts"),
		  "status.acceptedNames={\"kind\":\"Widget\",\"listKind\":\"WidgetList\","
		  "\"plural\":\"widgets\",\"shortNames\":[\"wd\"],\"singular\":\"widget\"}",
		  "status.storedVersions=[\"v1\"]", "metadata.generation=1",
		  "!metadata.finalizers"}},
		{"GET /apis/example.com",
		 NULL,
		 200,
		 {"kind=APIGroup", "versions.0.version=v1"}},
		{"GET " GROUP, NULL, 200, {"#resources=1", "resources.0.name=widgets"}},
		{"POST " WIDGETS,
		 "{'metadata':{'name':'a'},'spec':{'other':1}}",
		 201,
		 {"kind=Widget", "apiVersion=example.com/v1", "spec.size=3",
		  "!spec.other"}},
		{"POST " WIDGETS,
		 "{'metadata':{'name':'b'},'spec':{'size':'x'}}",
		 422,
		 {"details.causes.0.field=spec.size"}},
		{"GET " WIDGETS, NULL, 200, {"kind=WidgetList", "#items=1"}},
	};
	struct kube_rig *rig = *state;

	assert_int_equal(kube_ask(rig, "GET " WIDGETS, NULL), 404);
	define(rig, WIDGET, "widgets.example.com");
	STEPS(rig, steps);
}

/* All that is there is served by the new form, also what is stored already. */
static void test_change(void **state)
{
	static const struct kube_step before[] = {
		{"POST " WIDGETS,
		 "{'metadata':{'name':'red'},'spec':{'color':'red','size':1}}",
		 201,
		 {NULL}},
		{"POST " WIDGETS,
		 "{'metadata':{'name':'blue'},'spec':{'color':'blue','size':2}}",
		 201,
		 {NULL}},
		{"GET " WIDGETS "?fieldSelector=spec.color%3Dred", NULL, 400, {NULL}},
	};
	static const struct kube_step change = {
		"MERGE " CRDS "/widgets.example.com",
		"{'spec':{'versions':[{'name':'v1','served':true,'storage':true,"
		"'selectableFields':[{'jsonPath':'.spec.color'}],"
		"'schema':{'openAPIV3Schema':{'type':'object','properties':{'spec':{"
		"'type':'object','properties':{'color':{'type':'string'},"
		"'grade':{'type':'string','default':'A'}}}}}}}]}}",
		200,
		{"metadata.generation=2"}};
	static const struct kube_step after[] = {
		{"POST " WIDGETS,
		 "{'metadata':{'name':'new'},'spec':{'color':'red','size':1}}",
		 201,
		 {"spec.grade=A", "!spec.size"}},
		{"GET " WIDGETS "?fieldSelector=spec.color%3Dred",
		 NULL,
		 200,
		 {"#items=2", "items.0.metadata.name=new", "items.1.metadata.name=red"}},
		{"GET " WIDGETS "?fieldSelector=spec.color!%3Dred",
		 NULL,
		 200,
		 {"#items=1", "items.0.metadata.name=blue"}},
		/* What was stored stays as it is until it is written. */
		{"GET " WIDGETS "/blue", NULL, 200, {"spec.size=2", "!spec.grade"}},
		{"MERGE " WIDGETS "/blue",
		 "{'spec':{'color':'red'}}",
		 200,
		 {"!spec.size", "spec.grade=A"}},
		{"GET " WIDGETS "?fieldSelector=spec.color%3Dred",
		 NULL,
		 200,
		 {"#items=3"}},
		{"GET " CRDS "/widgets.example.com",
		 NULL,
		 200,
		 {"status.conditions~" IS("Established", "True",
					  "InitialNamesAccepted")}},
	};
	struct kube_rig *rig = *state;
	struct kube_watch watch;

	define(rig,
	       DEFINE("widgets", "'kind':'Widget'", "",
		      "'color':{'type':'string'},'size':{'type':'integer'}"),
	       "widgets.example.com");
	STEPS(rig, before);
	kube_watch_open(rig, &watch, WIDGETS "?watch=true");
	kube_watch_wants(&watch, "ADDED blue");
	kube_watch_wants(&watch, "ADDED red");
	kube_steps(rig, &change, 1);
	kube_watch_wants(&watch, "end");
	kube_watch_close(&watch);
	STEPS(rig, after);
}

/* A change that is none of the kind leaves its watches alone. */
static void test_label(void **state)
{
	struct kube_rig *rig = *state;
	struct kube_watch watch;

	define(rig, WIDGET, "widgets.example.com");
	kube_watch_open(rig, &watch, WIDGETS "?watch=true");
	UNTIL(rig, "MERGE " CRDS "/widgets.example.com",
	      "{'metadata':{'labels':{'a':'b'}}}", 200, {"metadata.generation=1"});
	kube_watch_wants(&watch, "-");
	kube_watch_close(&watch);
}

static void test_delete(void **state)
{
	static const struct kube_step before[] = {
		{"POST " WIDGETS, "{'metadata':{'name':'a'}}", 201, {NULL}},
		{"POST " WIDGETS,
		 "{'metadata':{'name':'held','finalizers':['example.com/hold']}}",
		 201,
		 {NULL}},
		{"DELETE " CRDS "/widgets.example.com",
		 NULL,
		 200,
		 {"metadata.deletionTimestamp",
		  "metadata.finalizers=[\"customresourcecleanup.apiextensions.k8s.io\"]",
		  "status.conditions~" IS("Terminating", "True",
					  "InstanceDeletionInProgress")}},
		{"POST " WIDGETS,
		 "{'metadata':{'name':'late'}}",
		 405,
		 {"message=create not allowed while custom resource definition is "
		  "terminating"}},
	};
	static const struct kube_step between[] = {
		{"GET " WIDGETS "/held", NULL, 200, {"metadata.deletionTimestamp"}},
		{"GET " CRDS "/widgets.example.com", NULL, 200, {NULL}},
		{"POST " CRDS, WIDGET, 409, {"reason=AlreadyExists"}},
		{"MERGE " WIDGETS "/held",
		 "{'metadata':{'finalizers':null}}",
		 200,
		 {NULL}},
	};
	struct kube_rig *rig = *state;
	struct kube_watch watch;

	define(rig, WIDGET, "widgets.example.com");
	STEPS(rig, before);
	kube_watch_open(rig, &watch,
			WIDGETS "?watch=true&fieldSelector=metadata.name%3Dheld");
	UNTIL(rig, "GET " WIDGETS "/a", NULL, 404, {NULL});
	kube_run(rig, 50);
	STEPS(rig, between);
	UNTIL(rig, "GET " CRDS "/widgets.example.com", NULL, 404, {NULL});
	UNTIL(rig, "GET " WIDGETS, NULL, 404, {"message~could not find the requested"});
	assert_int_equal(kube_ask(rig, "GET /apis/example.com", NULL), 404);
	while (kube_watch_next(&watch, 5000) != NULL)
		;
	assert_true(watch.is_ended);
	kube_watch_close(&watch);
	/* And again, as if there had never been one. */
	define(rig, WIDGET, "widgets.example.com");
	UNTIL(rig, "GET " WIDGETS, NULL, 200, {"items=[]"});
}

/* Many objects, and what they own. */
static void test_delete_many(void **state)
{
	struct kube_rig *rig = *state;
	char body[512], uid[64];

	define(rig, WIDGET, "widgets.example.com");
	for (int i = 0; i < 3 * NEAP_KUBE_DECLARED_PIECE + 7; i++) {
		(void)snprintf(body, sizeof(body), "{'metadata':{'name':'w%d'}}", i);
		assert_int_equal(kube_ask(rig, "POST " WIDGETS, body), 201);
	}
	(void)snprintf(uid, sizeof(uid), "%s", kube_text(rig->body, "metadata.uid"));
	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'child','ownerReferences':[{'apiVersion':"
		       "'example.com/v1','kind':'Widget','name':'w%d','uid':'%s'}]}}",
		       3 * NEAP_KUBE_DECLARED_PIECE + 6, uid);
	assert_int_equal(
		kube_ask(rig, "POST /api/v1/namespaces/default/configmaps", body), 201);
	assert_int_equal(kube_ask(rig, "DELETE " CRDS "/widgets.example.com", NULL), 200);
	UNTIL(rig, "GET " CRDS "/widgets.example.com", NULL, 404, {NULL});
	UNTIL(rig, "GET /api/v1/namespaces/default/configmaps/child", NULL, 404, {NULL});
	assert_int_equal(neap_store_count(rig->store.store, "widgets.example.com"), 0);
}

/* --- names --- */

static void test_conflict(void **state)
{
	static const struct {
		const char *names, *reason, *message;
	} rows[] = {
		{"'kind':'Gadget','singular':'widget'", "SingularConflict", "widget"},
		{"'kind':'Gadget','shortNames':['gg','wd']", "ShortNamesConflict", "wd"},
		{"'kind':'Widget','singular':'gadget'", "KindConflict", "Widget"},
		{"'kind':'Gadget','listKind':'WidgetList'", "ListKindConflict",
		 "WidgetList"},
	};
	struct kube_rig *rig = *state;
	char body[2048], condition[256], message[128];

	define(rig, WIDGET, "widgets.example.com");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		(void)snprintf(body, sizeof(body), DEFINE("gadgets", "%s", "", SIZE),
			       rows[i].names);
		(void)snprintf(condition, sizeof(condition),
			       "status.conditions~" IS("NamesAccepted", "False", "%s"),
			       rows[i].reason);
		(void)snprintf(message, sizeof(message),
			       "status.conditions~\\\"%s\\\" is already in use",
			       rows[i].message);
		assert_int_equal(kube_ask(rig, "POST " CRDS, body), 201);
		UNTIL(rig, "GET " CRDS "/gadgets.example.com", NULL, 200,
		      {condition, message,
		       "status.conditions~" IS("Established", "False", "NotAccepted"),
		       "!status.acceptedNames"});
		assert_int_equal(
			kube_ask(rig, "GET " GROUP "/namespaces/default/gadgets", NULL),
			404);
		assert_int_equal(
			kube_ask(rig, "DELETE " CRDS "/gadgets.example.com", NULL), 200);
		UNTIL(rig, "GET " CRDS "/gadgets.example.com", NULL, 404, {NULL});
	}
	/* What is in the way goes. */
	(void)snprintf(body, sizeof(body), DEFINE("gadgets", "%s", "", SIZE),
		       rows[2].names);
	assert_int_equal(kube_ask(rig, "POST " CRDS, body), 201);
	UNTIL(rig, "GET " CRDS "/gadgets.example.com", NULL, 200,
	      {"status.conditions~" IS("NamesAccepted", "False", "KindConflict")});
	assert_int_equal(kube_ask(rig, "DELETE " CRDS "/widgets.example.com", NULL), 200);
	UNTIL(rig, "GET " CRDS "/gadgets.example.com", NULL, 200,
	      {"status.conditions~" IS("Established", "True", "InitialNamesAccepted"),
	       "status.conditions~" IS("NamesAccepted", "True", "NoConflicts")});
	assert_int_equal(kube_ask(rig, "GET " GROUP "/namespaces/default/gadgets", NULL),
			 200);
}

/* Who is served already keeps the names that he has, and is served on. */
static void test_conflict_later(void **state)
{
	struct kube_rig *rig = *state;

	define(rig, WIDGET, "widgets.example.com");
	define(rig, DEFINE("gadgets", "'kind':'Gadget','shortNames':['gd']", "", SIZE),
	       "gadgets.example.com");
	assert_int_equal(kube_ask(rig, "MERGE " CRDS "/gadgets.example.com",
				  "{'spec':{'names':{'shortNames':['wd','more']}}}"),
			 200);
	UNTIL(rig, "GET " CRDS "/gadgets.example.com", NULL, 200,
	      {"status.conditions~" IS("NamesAccepted", "False", "ShortNamesConflict"),
	       "status.conditions~" IS("Established", "True", "InitialNamesAccepted"),
	       "status.acceptedNames.shortNames=[\"gd\"]"});
	assert_int_equal(kube_ask(rig, "GET " GROUP "/namespaces/default/gadgets", NULL),
			 200);
	assert_int_equal(kube_ask(rig, "MERGE " CRDS "/widgets.example.com",
				  "{'spec':{'names':{'shortNames':null}}}"),
			 200);
	UNTIL(rig, "GET " CRDS "/gadgets.example.com", NULL, 200,
	      {"status.conditions~" IS("NamesAccepted", "True", "NoConflicts"),
	       "status.acceptedNames.shortNames=[\"wd\",\"more\"]"});
}

/* Nothing that is built in can be taken, nor its objects. */
static void test_conflict_built_in(void **state)
{
	static const char body[] =
		"{'metadata':{'name':'leases.coordination.k8s.io','annotations':{"
		"'api-approved.kubernetes.io':'unapproved, a test'}},'spec':{'group':"
		"'coordination.k8s.io','scope':'Namespaced','names':{'plural':'leases',"
		"'kind':'Lease'},'versions':[{'name':'v1','served':true,'storage':true,"
		"'schema':{'openAPIV3Schema':{'type':'object'}}}]}}";
	static const char lease[] =
		"/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
	struct kube_rig *rig = *state;
	char ask[128];

	assert_int_equal(
		kube_ask(rig,
			 "POST /apis/coordination.k8s.io/v1/namespaces/default/leases",
			 "{'metadata':{'name':'l'}}"),
		201);
	assert_int_equal(kube_ask(rig, "POST " CRDS, body), 201);
	UNTIL(rig, "GET " CRDS "/leases.coordination.k8s.io", NULL, 200,
	      {"status.conditions~" IS("NamesAccepted", "False", "PluralConflict")});
	assert_int_equal(
		kube_ask(rig, "DELETE " CRDS "/leases.coordination.k8s.io", NULL), 200);
	UNTIL(rig, "GET " CRDS "/leases.coordination.k8s.io", NULL, 404, {NULL});
	(void)snprintf(ask, sizeof(ask), "GET %s", lease);
	assert_int_equal(kube_ask(rig, ask, NULL), 200);
}

/* --- who uses a kind when it goes --- */

/* A write that is not durable yet and a watch outlive their kind. */
static void test_users(void **state)
{
	struct kube_rig *rig = *state;
	struct kube_watch watch;

	define(rig, WIDGET, "widgets.example.com");
	kube_watch_open(rig, &watch, WIDGETS "?watch=true");
	kube_send(rig, "POST " WIDGETS, "{'metadata':{'name':'a'}}");
	while (neap_store_newest(rig->store.store, "widgets.example.com", "default",
				 "a") == NULL)
		assert_true(event_base_loop(rig->base, EVLOOP_NONBLOCK) >= 0);
	neap_kube_declared_free(rig->declared);
	rig->declared = NULL;
	assert_int_equal(kube_receive(rig), 201);
	assert_string_equal(kube_text(rig->body, "kind"), "Widget");
	while (kube_watch_next(&watch, 5000) != NULL)
		;
	assert_true(watch.is_ended);
	kube_watch_close(&watch);
	assert_int_equal(kube_ask(rig, "GET " WIDGETS, NULL), 404);
}

/* Its user ends a definition without waiting for the objects: they are there again with the next one, as in a
 * cluster. */
static void test_forced(void **state)
{
	struct kube_rig *rig = *state;

	define(rig, WIDGET, "widgets.example.com");
	assert_int_equal(kube_ask(rig, "POST " WIDGETS,
				  "{'metadata':{'name':'a','finalizers':['x.y/z']}}"),
			 201);
	assert_int_equal(kube_ask(rig, "DELETE " CRDS "/widgets.example.com", NULL), 200);
	assert_int_equal(kube_ask(rig, "MERGE " CRDS "/widgets.example.com",
				  "{'metadata':{'finalizers':null}}"),
			 200);
	UNTIL(rig, "GET " WIDGETS, NULL, 404, {NULL});
	define(rig, WIDGET, "widgets.example.com");
	UNTIL(rig, "GET " WIDGETS "/a", NULL, 200, {"metadata.deletionTimestamp"});
}

/* --- what is refused, what is warned of --- */

static void test_refused(void **state)
{
	static const struct kube_step steps[] = {
		{"POST " CRDS,
		 "{'metadata':{'name':'widgets.example.org'},'spec':{'group':'example.com',"
		 "'scope':'Namespaced','names':{'plural':'widgets','kind':'Widget'},"
		 "'versions':[{'name':'v1','served':true,'storage':true,'schema':{"
		 "'openAPIV3Schema':{'type':'object'}}}]}}",
		 422,
		 {"details.causes.0.field=metadata.name",
		  "message~must be spec.names.plural+\".\"+spec.group"}},
		{"POST " CRDS,
		 "{'metadata':{'name':'widgets.example.com'},'spec':{'group':'example.com',"
		 "'scope':'Namespaced','names':{'plural':'widgets','kind':'Widget'},"
		 "'versions':[{'name':'v1','served':true,'storage':true}]}}",
		 422,
		 {"details.causes.0.field=spec.versions[0].schema.openAPIV3Schema",
		  "message~schemas are required"}},
		{"POST " CRDS,
		 "{'metadata':{'name':'widgets.example.com'},'spec':{'group':'example.com',"
		 "'scope':'Namespaced','names':{'plural':'widgets','kind':'Widget'},"
		 "'versions':[{'name':'v1','served':true,'storage':true,'schema':{"
		 "'openAPIV3Schema':{'type':'object'}}},{'name':'v2','served':true,'storage'"
		 ":true,'schema':{'openAPIV3Schema':{'type':'object'}}}]}}",
		 422,
		 {"message~must have exactly one version marked as storage version"}},
		{"POST " CRDS,
		 "{'metadata':{'name':'widgets.example.com'},'spec':{'group':'example.com',"
		 "'scope':'Namespaced','names':{'plural':'widgets','kind':'Widget'},"
		 "'versions':[{'name':'v1','served':true,'storage':true,'schema':{"
		 "'openAPIV3Schema':{'type':'object','properties':{'spec':{'properties':{"
		 "'x':{'type':'string'}}}}}}}]}}",
		 422,
		 {"details.causes.0.field=spec.versions[0].schema.openAPIV3Schema."
		  "properties[spec].type"}},
	};
	static const struct kube_step changes[] = {
		{"MERGE " CRDS "/widgets.example.com",
		 "{'spec':{'scope':'Cluster'}}",
		 422,
		 {"#details.causes=1", "details.causes.0.field=spec.scope",
		  "message~field is immutable"}},
		{"MERGE " CRDS "/widgets.example.com",
		 "{'spec':{'names':{'kind':'Gadget'}}}",
		 422,
		 {"details.causes.0.field=spec.names.kind"}},
		{"MERGE " CRDS "/widgets.example.com",
		 "{'spec':{'versions':[{'name':'v2','served':true,'storage':true,'schema':{"
		 "'openAPIV3Schema':{'type':'object'}}}]}}",
		 422,
		 {"details.causes.0.field=status.storedVersions[0]",
		  "message~must appear in spec.versions"}},
		/* Back to what it was. */
		{"GET " CRDS "/widgets.example.com",
		 NULL,
		 200,
		 {"metadata.generation=1", "spec.scope=Namespaced"}},
	};
	struct kube_rig *rig = *state;

	STEPS(rig, steps);
	define(rig, WIDGET, "widgets.example.com");
	STEPS(rig, changes);
}

/* As long as it is not served, the kind may change its name. */
static void test_rename(void **state)
{
	struct kube_rig *rig = *state;

	define(rig, WIDGET, "widgets.example.com");
	assert_int_equal(kube_ask(rig, "POST " CRDS,
				  DEFINE("gadgets", "'kind':'Widget','singular':'gadget'",
					 "", SIZE)),
			 201);
	UNTIL(rig, "GET " CRDS "/gadgets.example.com", NULL, 200,
	      {"status.conditions~" IS("NamesAccepted", "False", "KindConflict")});
	UNTIL(rig, "MERGE " CRDS "/gadgets.example.com",
	      "{'spec':{'names':{'kind':'Gadget','listKind':'GadgetList'}}}", 200,
	      {"spec.names.kind=Gadget"});
	UNTIL(rig, "GET " CRDS "/gadgets.example.com", NULL, 200,
	      {"status.conditions~" IS("Established", "True", "InitialNamesAccepted")});
}

static void test_warning(void **state)
{
	static const char body[] = DEFINE(
		"widgets", "'kind':'Widget'", "",
		"'size':{'type':'integer','x-kubernetes-validations':[{'rule':'self>1'}]},"
		"'list':{'type':'array','items':{'type':'object','properties':{'n':{'type':"
		"'string','x-kubernetes-validations':[{'rule':'self.size()>0'}]}}}}");
	struct kube_rig *rig = *state;

	assert_int_equal(kube_ask(rig, "POST " CRDS, WIDGET), 201);
	assert_null(strcasestr(rig->head, "Warning:"));
	assert_int_equal(kube_ask(rig, "DELETE " CRDS "/widgets.example.com", NULL), 200);
	UNTIL(rig, "GET " CRDS "/widgets.example.com", NULL, 404, {NULL});
	assert_int_equal(kube_ask(rig, "POST " CRDS, body), 201);
	assert_non_null(strstr(rig->head, "Warning: 299 - \"x-kubernetes-validations are "
					  "not evaluated here: "));
	assert_non_null(strstr(rig->head, "spec.size"));
	assert_non_null(strstr(rig->head, "spec.list[*].n"));
}

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
	struct neap_kube_declared_config config = {
		.kube = rig->kube, .folder = folder, .log = &log};
	FILE *file;
	int ret;

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
		kube_run(rig, 20);
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

	define(rig, DEFINE("gadgets", "'kind':'Gadget'", "", SIZE),
	       "gadgets.example.com");
	neap_kube_declared_free(rig->declared);
	rig->declared = NULL;
	assert_int_equal(neap_store_write_take(rig->store.store, &write, &err), 0);
	kube_run(rig, 50);
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

	define(rig, WIDGET, "widgets.example.com");
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
		TEST(create),         TEST(change),
		TEST(label),          TEST(delete),
		TEST(delete_many),    TEST(conflict),
		TEST(conflict_later), TEST(conflict_built_in),
		TEST(users),          TEST(forced),
		TEST(refused),        TEST(rename),
		TEST(warning),        TEST(files),
		TEST(bad_files),      TEST(broken),
		TEST(again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
