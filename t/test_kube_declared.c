/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds that are declared while the server runs: made, changed, in each other's way,
 * deleted with their objects, and what of a definition is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <event2/event.h>

#include "engine/base/mem.h"
#include "t/lib/declared_rig.h"

#define STEPS(rig, steps) kube_steps(rig, steps, NEAP_ARRAY_LEN(steps))
#define UNTIL(rig, ...)   kube_until(rig, &(const struct kube_step){__VA_ARGS__})
#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

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
	declared_define(rig, WIDGET, "widgets.example.com");
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

	declared_define(rig,
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

	declared_define(rig, WIDGET, "widgets.example.com");
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
	struct kube_watch watch, early;
	int deleted = 0;

	declared_define(rig, WIDGET, "widgets.example.com");
	kube_watch_open(rig, &early, WIDGETS "?watch=true");
	STEPS(rig, before);
	kube_watch_wants(&early, "ADDED a");
	kube_watch_wants(&early, "ADDED held");
	kube_watch_open(rig, &watch,
			WIDGETS "?watch=true&fieldSelector=metadata.name%3Dheld");
	UNTIL(rig, "GET " WIDGETS "/a", NULL, 404, {NULL});
	UNTIL(rig, "GET " WIDGETS "/held", NULL, 200, {"metadata.deletionTimestamp"});
	STEPS(rig, between);
	UNTIL(rig, "GET " CRDS "/widgets.example.com", NULL, 404, {NULL});
	UNTIL(rig, "GET " WIDGETS, NULL, 404, {"message~could not find the requested"});
	assert_int_equal(kube_ask(rig, "GET /apis/example.com", NULL), 404);
	while (kube_watch_next(&watch, 5000) != NULL)
		;
	assert_true(watch.is_ended);
	kube_watch_close(&watch);
	/* It is told of every end before its own. */
	while (kube_watch_next(&early, 5000) != NULL)
		deleted += strcmp(kube_text(early.frame, "type"), "DELETED") == 0;
	assert_true(early.is_ended);
	assert_int_equal(deleted, 2);
	kube_watch_close(&early);
	/* And again, as if there had never been one. */
	declared_define(rig, WIDGET, "widgets.example.com");
	UNTIL(rig, "GET " WIDGETS, NULL, 200, {"items=[]"});
}

/* Many objects, and what they own. */
static void test_delete_many(void **state)
{
	struct kube_rig *rig = *state;
	char body[512], uid[64];

	declared_define(rig, WIDGET, "widgets.example.com");
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

	declared_define(rig, WIDGET, "widgets.example.com");
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

	declared_define(rig, WIDGET, "widgets.example.com");
	declared_define(
		rig, DEFINE("gadgets", "'kind':'Gadget','shortNames':['gd']", "", SIZE),
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

	declared_define(rig, WIDGET, "widgets.example.com");
	kube_watch_open(rig, &watch, WIDGETS "?watch=true");
	kube_send(rig, "POST " WIDGETS, "{'metadata':{'name':'a'}}");
	while (neap_store_newest(rig->store.store, "widgets.example.com", "default",
				 "a") == NULL)
		assert_true(event_base_loop(rig->base, EVLOOP_NONBLOCK) >= 0);
	/* Which uses it as well. */
	neap_kube_collect_free(rig->collect);
	rig->collect = NULL;
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

/* Its user ends a definition without waiting for the objects: they are there again with
 * the next one, as in a cluster. */
static void test_forced(void **state)
{
	struct kube_rig *rig = *state;

	declared_define(rig, WIDGET, "widgets.example.com");
	assert_int_equal(kube_ask(rig, "POST " WIDGETS,
				  "{'metadata':{'name':'a','finalizers':['x.y/z']}}"),
			 201);
	assert_int_equal(kube_ask(rig, "DELETE " CRDS "/widgets.example.com", NULL), 200);
	assert_int_equal(kube_ask(rig, "MERGE " CRDS "/widgets.example.com",
				  "{'metadata':{'finalizers':null}}"),
			 200);
	UNTIL(rig, "GET " WIDGETS, NULL, 404, {NULL});
	declared_define(rig, WIDGET, "widgets.example.com");
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
	declared_define(rig, WIDGET, "widgets.example.com");
	STEPS(rig, changes);
}

#define HUBS "/apis/example.com/v1/namespaces/default/hubs"

/* Objects are stored in a version that nobody can ask for. */
static void test_unserved(void **state)
{
	static const char hub[] =
		"{'metadata':{'name':'hubs.example.com'},'spec':{'group':'example.com',"
		"'scope':'Namespaced','names':{'plural':'hubs','kind':'Hub'},'versions':["
		"{'name':'v1','served':true,'storage':false,'schema':{'openAPIV3Schema':{"
		"'type':'object','properties':{'size':{'type':'integer','default':3}}}}},"
		"{'name':'v2','served':false,'storage':true,'schema':{"
		"'openAPIV3Schema':{'type':'object','properties':{'size':{'type':"
		"'integer','default':3}}}}}]}}";
	static const struct kube_step steps[] = {
		{"GET " CRDS "/hubs.example.com",
		 NULL,
		 200,
		 {"status.storedVersions=[\"v2\"]"}},
		{"GET /apis/example.com/v2", NULL, 404, {NULL}},
		{"POST " HUBS,
		 "{'apiVersion':'example.com/v1','kind':'Hub','metadata':{'name':'a'}}",
		 201,
		 {"size=3", "apiVersion=example.com/v1"}},
		{"GET " HUBS "/a", NULL, 200, {"size=3"}},
		{"GET /apis/example.com/v2/namespaces/default/hubs", NULL, 404, {NULL}},
		/* Options that say half of what they are. */
		{"DELETE " HUBS,
		 "{'apiVersion':'v1'}",
		 400,
		 {"message~Object 'Kind' is missing"}},
		{"DELETE " HUBS, "{'dryRun':['All']}", 200, {"#items=1"}},
	};

	declared_define(*state, hub, "hubs.example.com");
	STEPS(*state, steps);
}

/* As long as it is not served, the kind may change its name. */
static void test_rename(void **state)
{
	struct kube_rig *rig = *state;

	declared_define(rig, WIDGET, "widgets.example.com");
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

static void test_deprecated(void **state)
{
	static const char path[] = "/namespaces/default/widgets";
	static const char body[] =
		"{'metadata':{'name':'widgets.example.com'},'spec':{'group':'example.com',"
		"'scope':'Namespaced','names':{'plural':'widgets','kind':'Widget'},"
		"'versions':[{'name':'v1','served':true,'storage':true,'schema':{"
		"'openAPIV3Schema':{'type':'object'}}},{'name':'v1beta1','served':true,"
		"'storage':false,'deprecated':true},{'name':'v1alpha1','served':true,'storage':"
		"false,'deprecated':true,'deprecationWarning':%s}]}}";
	static const struct {
		const char *text, *message; /* NULL: it is taken */
	} rows[] = {
		{"''", "must not be an empty string"},
		{"'a\\u0007'", "must only contain printable"},
		{"'not \\\"good\\\"'", NULL},
	};
	static const struct {
		const char *version, *warning;
	} versions[] = {
		{"v1", NULL},
		{"v1beta1",
		 "Warning: 299 - \"example.com/v1beta1 Widget is deprecated\""},
		{"v1alpha1", "Warning: 299 - \"not \\\"good\\\"\""},
	};
	struct kube_rig *rig = *state;
	char text[2048];

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		(void)snprintf(text, sizeof(text), body, rows[i].text);
		if (rows[i].message == NULL) {
			declared_define(rig, text, "widgets.example.com");
			continue;
		}
		assert_int_equal(kube_ask(rig, "POST " CRDS, text), 422);
		assert_non_null(strstr(kube_text(rig->body, "message"), rows[i].message));
	}
	for (size_t i = 0; i < NEAP_ARRAY_LEN(versions); i++) {
		const char *wanted = versions[i].warning;

		(void)snprintf(text, sizeof(text), "GET /apis/example.com/%s%s",
			       versions[i].version, path);
		assert_int_equal(kube_ask(rig, text, NULL), 200);
		if (wanted == NULL ? strstr(rig->head, "Warning:") != NULL
				   : strstr(rig->head, wanted) == NULL)
			fail_msg("%s: %s", versions[i].version, rig->head);
	}
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(create),         TEST(change),
		TEST(label),          TEST(delete),
		TEST(delete_many),    TEST(conflict),
		TEST(conflict_later), TEST(conflict_built_in),
		TEST(users),          TEST(forced),
		TEST(refused),        TEST(rename),
		TEST(warning),        TEST(deprecated),
		TEST(unserved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
