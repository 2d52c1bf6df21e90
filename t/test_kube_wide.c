/* SPDX-License-Identifier: Apache-2.0
 *
 * No body keeps the loop: every list and map that the schema of any served kind has is
 * sent as wide as a body can be, and as wide as its bound lets it, as a new object and
 * as a change of every sort; so is every text. Served are the kinds that are built in,
 * those that come with neap, and one that a user declares, with all that a schema may
 * say. What is bounded is the CPU time of a request, client and all. The goal is 100
 * ms on an ordinary machine; the test lets ten times that pass, as a machine may be
 * slow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/kube/rules/rules.h"
#include "api/store/write.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "t/lib/declared_rig.h"
#include "t/lib/json_rig.h"
#include "t/lib/wide_rig.h"

#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

/* --- bodies --- */

/* What each kind needs; a declared kind, and one that needs nothing, is made by its
 * schema. */
static const struct {
	const char *kind, *body;
} seeds[] = {
#define TEMPLATE                                                                         \
	"'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':"     \
	"'c','image':'i'}]"
#define OF_PODS(more)                                                                    \
	"{'metadata':{},'spec':{'selector':{'matchLabels':{'a':'b'}}," TEMPLATE          \
	"}}" more "}}"
	{"Pod", "{'metadata':{},'spec':{'containers':[{'name':'c','image':'i'}]}}"},
	{"Deployment", OF_PODS("")},
	{"ReplicaSet", OF_PODS("")},
	{"DaemonSet", OF_PODS("")},
	{"StatefulSet", OF_PODS(",'serviceName':'s'")},
	{"ReplicationController",
	 "{'metadata':{},'spec':{'selector':{'a':'b'}," TEMPLATE "}}}}"},
	{"Job", "{'metadata':{},'spec':{" TEMPLATE ",'restartPolicy':'Never'}}}}"},
	{"Service", "{'metadata':{},'spec':{'ports':[{'port':1}]}}"},
	{"PersistentVolume", "{'metadata':{},'spec':{'accessModes':['ReadWriteOnce'],"
			     "'capacity':{'storage':'1'},'hostPath':{'path':'/x'}}}"},
	{"PersistentVolumeClaim",
	 "{'metadata':{},'spec':{'accessModes':['ReadWriteOnce'],'resources':{"
	 "'requests':{'storage':'1'}}}}"},
	{"PriorityClass", "{'metadata':{},'value':5}"},
	{"StorageClass", "{'metadata':{},'provisioner':'p'}"},
	{"CSINode", "{'metadata':{},'spec':{'drivers':[]}}"},
	{"CustomResourceDefinition",
	 "{'metadata':{'name':'widgets.x.io'},'spec':{'group':'x.io','names':{'plural':"
	 "'widgets','kind':'Widget'},'scope':'Namespaced','versions':[{'name':'v1',"
	 "'served':true,'storage':true,'schema':{'openAPIV3Schema':{'type':'object'}}}]}}"},
	{"Event", "{'metadata':{'namespace':'default'},'involvedObject':{'namespace':"
		  "'default'},'regarding':{'namespace':'default'},'eventTime':"
		  "'2026-01-02T03:04:05.000006Z','reportingController':'a.b/c',"
		  "'reportingInstance':'i','action':'a','reason':'r','type':'Normal'}"},
	{"Reservation",
	 "{'metadata':{},'spec':{'template':{'spec':{'containers':[{'name':"
	 "'c','image':'i'}]}},'owners':[{'object':{'name':'x'}}],'ttl':"
	 "'1h'}}"},
};

static json_t *seed(const struct neap_kube_kind *kind)
{
	json_t *object = NULL, *meta;
	char version[256];

	for (size_t i = 0; i < NEAP_ARRAY_LEN(seeds) && object == NULL; i++)
		if (strcmp(seeds[i].kind, kind->kind) == 0)
			object = json_rig_make(seeds[i].body);
	if (object == NULL)
		object = wide_sample(kind->schema, 1, 8);
	(void)snprintf(version, sizeof(version), "%s%s%s", kind->group,
		       kind->group[0] != '\0' ? "/" : "", kind->versions[0]);
	(void)json_object_set_new(object, "kind", json_string(kind->kind));
	(void)json_object_set_new(object, "apiVersion", json_string(version));
	meta = json_object_get(object, "metadata");
	if (!json_is_object(meta)) {
		meta = json_object();
		(void)json_object_set_new(object, "metadata", meta);
	}
	if (json_object_get(meta, "name") == NULL ||
	    strcmp(kind->kind, "CustomResourceDefinition") != 0)
		(void)json_object_set_new(meta, "name", json_string("wide"));
	return object;
}

static const char *name_of(const struct neap_kube_kind *kind)
{
	return strcmp(kind->kind, "CustomResourceDefinition") == 0 ? "widgets.x.io"
								   : "wide";
}

/* The container of a place in an object, made where it is missing. */
static json_t *reach(json_t *object, const struct wide_place *place)
{
	json_t *at = object;

	for (int i = 0; i < place->depth - 1; i++) {
		const struct wide_step *step = &place->steps[i];
		json_t *next = step->name != NULL ? json_object_get(at, step->name)
						  : json_array_get(at, 0);

		if (!json_is_object(next) && !json_is_array(next)) {
			next = wide_sample(step->schema, 1, 4);
			if (step->name != NULL)
				(void)json_object_set_new(at, step->name, next);
			else if (json_array_size(at) > 0)
				(void)json_array_set_new(at, 0, next);
			else
				(void)json_array_append_new(at, next);
		}
		at = next;
	}
	return at;
}

static void put_take(json_t *object, const struct wide_place *place, json_t *value)
{
	json_t *at = reach(object, place);
	const char *name = place->steps[place->depth - 1].name;

	if (name != NULL)
		(void)json_object_set_new(at, name, value);
	else if (json_array_size(at) > 0)
		(void)json_array_set_new(at, 0, value);
	else
		(void)json_array_append_new(at, value);
}

static void collection(const struct neap_kube_kind *kind, const char *method, char *to,
		       size_t size)
{
	(void)snprintf(to, size, "%s %s%s/%s%s/%s", method,
		       kind->group[0] != '\0' ? "/apis/" : "/api", kind->group,
		       kind->versions[0],
		       kind->is_namespaced ? "/namespaces/default" : "", kind->plural);
}

static const char *object_path(const struct neap_kube_kind *kind, const char *method,
			       bool is_status)
{
	static char path[256];

	collection(kind, method, path, sizeof(path));
	(void)snprintf(path + strlen(path), sizeof(path) - strlen(path), "/%s%s",
		       name_of(kind), is_status ? "/status" : "");
	return path;
}

static void remove_object(struct kube_rig *rig, const struct neap_kube_kind *kind)
{
	static const char options[] = "{\"gracePeriodSeconds\":0}";
	static const char none[] = "{\"metadata\":{\"finalizers\":null}}";

	(void)kube_ask_with(rig, object_path(kind, "DELETE", false), "", options,
			    strlen(options));
	if (kube_at(rig->body, "metadata.finalizers.0") != NULL)
		(void)kube_ask_with(rig, object_path(kind, "MERGE", false), "", none,
				    strlen(none));
	wide_until(rig, object_path(kind, "GET", false), 404);
}

/* The bound of a place; 0: none. */
static size_t bound_of(const struct wide_place *place)
{
	const struct neap_schema *schema = place->steps[place->depth - 1].schema;
	struct neap_causes *causes;
	static const char words[] = "must have at most ";
	size_t most = 0, width;

	if (place->kind->is_custom && strcmp(place->steps[0].name, "metadata") != 0)
		return 0; /* by all values alone */
	causes = neap_alloc(sizeof(*causes));
	assert_non_null(causes);
	/* Most are found by a few; the rest by all that a body can have. */
	for (width = 1100; most == 0 && width != 0;
	     width = width == 1100 ? SIZE_MAX : 0) {
		json_t *object = seed(place->kind);
		const char *at;

		put_take(object, place, wide_value(schema, width));
		neap_causes_clear(causes);
		(void)neap_kube_check_bounds(place->kind, object, NULL, causes);
		at = causes->count ? strstr(causes->list[0].message, words) : NULL;
		most = at ? strtoul(at + strlen(words), NULL, 10) : 0;
		json_decref(object);
	}
	free(causes);
	return most;
}

static bool is_of_status(const struct wide_place *place)
{
	return place->kind->has_status && strcmp(place->steps[0].name, "status") == 0;
}

static void change(struct kube_rig *rig, const struct wide_place *place, json_t *value,
		   size_t which)
{
	const struct neap_kube_kind *kind = place->kind;
	const char *text = wide_show(place);
	bool is_status = is_of_status(place);
	json_t *object = seed(kind), *ops;
	char pointer[512] = "";

	switch (which % (kind->is_custom ? 3 : 4)) {
	case 0:
		put_take(object, place, json_incref(value));
		(void)wide_ask_json(rig, object_path(kind, "PUT", is_status), text,
				    object);
		break;
	case 1:
		put_take(object, place, json_incref(value));
		(void)wide_ask_json(rig, object_path(kind, "MERGE", is_status), text,
				    object);
		break;
	case 2:
		(void)snprintf(pointer, sizeof(pointer), "/%s", place->steps[0].name);
		put_take(object, place, json_incref(value));
		ops = json_pack("[{s:s,s:s,s:O}]", "op", "add", "path", pointer, "value",
				json_object_get(object, place->steps[0].name));
		(void)wide_ask_json(rig, object_path(kind, "JSON", is_status), text, ops);
		json_decref(ops);
		break;
	default:
		put_take(object, place, json_incref(value));
		(void)wide_ask_json(rig, object_path(kind, "STRATEGIC", is_status), text,
				    object);
		break;
	}
	json_decref(object);
}

static void make_small(struct kube_rig *rig, const struct neap_kube_kind *kind)
{
	json_t *object = seed(kind);
	char path[256];

	collection(kind, "POST", path, sizeof(path));
	if (wide_ask_json(rig, path, "a small one", object) != 201)
		fail_msg("%s: %s", path, kube_text(rig->body, "message"));
	json_decref(object);
}

/* As a new object. value is taken. */
static void create_take(struct kube_rig *rig, const struct wide_place *place,
			json_t *value)
{
	json_t *object = seed(place->kind);
	char path[256];

	collection(place->kind, "POST", path, sizeof(path));
	put_take(object, place, value);
	(void)wide_ask_json(rig, path, wide_show(place), object);
	remove_object(rig, place->kind);
	json_decref(object);
}

static void try_place(struct kube_rig *rig, const struct wide_place *place, size_t which,
		      bool is_first)
{
	const struct neap_schema *schema = place->steps[place->depth - 1].schema;
	size_t most = bound_of(place);
	bool is_made;
	json_t *value = wide_value(schema, most > 0 ? most : SIZE_MAX);

	if (!place->kind->is_custom && most == 0 &&
	    strstr(wide_show(place), ".managedFields") == NULL)
		fail_msg("%s has no bound", wide_show(place));
	/* Above a bound it ends at the count, whatever the place is. */
	if (most > 0 && is_first)
		create_take(rig, place, wide_value(schema, SIZE_MAX));
	/* Declared kinds have many places that are alike: each is made, or changed. */
	is_made = !is_of_status(place) && (!place->kind->is_custom || which % 2 == 0);
	if (is_made)
		create_take(rig, place, json_incref(value));
	if (!place->kind->is_custom || !is_made) {
		make_small(rig, place->kind);
		change(rig, place, value, which / 2);
		remove_object(rig, place->kind);
	}
	json_decref(value);
}

/* Of every type that a schema of a user can have what may be wide. */
#define NAMED                                                                            \
	"'type':'object','required':['name'],'properties':{'name':{'type':'string'},"
#define WIDE                                                                              \
	DEFINE("wides", "'kind':'Wide'", "",                                              \
	       "'texts':{'type':'array','items':{'type':'string','maxLength':63}},"       \
	       "'patterns':{'type':'array','items':{'type':'string','pattern':"           \
	       "'^(n|m)[0-9a-z]*$'}},"                                                    \
	       "'times':{'type':'array','items':{'type':'string','format':'date-time'}}," \
	       "'enums':{'type':'array','items':{'type':'string','enum':['a','b']}},"     \
	       "'numbers':{'type':'array','items':{'type':'number','multipleOf':1}},"     \
	       "'either':{'type':'array','items':{'x-kubernetes-int-or-string':true}},"   \
	       "'set':{'type':'array','x-kubernetes-list-type':'set','items':{'type':"    \
	       "'string'}},"                                                              \
	       "'numberSet':{'type':'array','x-kubernetes-list-type':'set','items':{"     \
	       "'type':'integer'}},"                                                      \
	       "'listMap':{'type':'array','x-kubernetes-list-type':'map',"                \
	       "'x-kubernetes-list-map-keys':['name'],'items':{" NAMED                    \
	       "'size':{'type':'integer','default':3}}}},"                                \
	       "'anyOf':{'type':'array','items':{'type':'string','anyOf':[{'pattern':"    \
	       "'^m'},{'maxLength':1},{'minLength':2}]}},"                                \
	       "'lists':{'type':'array','items':{'type':'array','items':{'type':"         \
	       "'string'}}},"                                                             \
	       "'maps':{'type':'object','additionalProperties':{" NAMED                   \
	       "'more':{'type':'object','additionalProperties':{'type':'integer'}}}}},"   \
	       "'loose':{'type':'object','additionalProperties':{'type':'object',"        \
	       "'x-kubernetes-preserve-unknown-fields':true}},"                           \
	       "'text':{'type':'string'},'pattern':{'type':'string','pattern':"           \
	       "'^(x|y|1)+$'},'time':{'type':'string','format':'date-time'},"             \
	       "'either1':{'x-kubernetes-int-or-string':true}")

static void test_each_list(void **state)
{
	struct kube_rig *rig = *state;
	struct wide_place *places;
	size_t count;

	declared_define(rig, WIDE, "wides.example.com");
	count = wide_places_find(rig, &places);
	for (size_t i = 0; i < count; i++)
		try_place(rig, &places[i], i,
			  i == 0 || places[i].kind != places[i - 1].kind);
	wide_tell("each list");
	free(places);
}

/* --- texts --- */

/* Texts of one body: each has an equal part of what a body may have. */
#define TEXTS 16

/* Refused before others of the same body are looked at. */
static bool is_refused_first(const struct wide_place *place)
{
	const struct neap_schema *schema = place->steps[place->depth - 1].schema;

	const char *name = place->steps[0].name;

	return schema->type != NEAP_SCHEMA_STRING || schema->format != NEAP_FORMAT_NONE ||
	       strcmp(name, "kind") == 0 || strcmp(name, "apiVersion") == 0 ||
	       strcmp(name, "metadata") == 0;
}

static json_t *long_text(size_t which, size_t bytes)
{
	static const char *const pieces[] = {"x", "1", "a.", "-", "a/", "=",
					     "%", "é", "(",  " ", "a-"};
	const char *piece = pieces[which % NEAP_ARRAY_LEN(pieces)];
	size_t len = strlen(piece), count = bytes / len;
	neap_auto_free char *text = neap_alloc(count * len + 1);

	assert_non_null(text);
	for (size_t i = 0; i < count; i++)
		memcpy(text + i * len, piece, len);
	return json_stringn(text, count * len);
}

/* Of such texts one of each type is enough, none comes further: of all kinds that are
 * built in, and of each declared one. */
static bool was_refused(const struct wide_place *places, size_t at)
{
	const struct wide_place *place = &places[at];
	const struct neap_schema *is = place->steps[place->depth - 1].schema;

	while (is_refused_first(place) && at-- > 0 &&
	       (!place->kind->is_custom || places[at].kind == place->kind)) {
		const struct wide_place *other = &places[at];
		const struct neap_schema *was = other->steps[other->depth - 1].schema;

		if (is_refused_first(other) && was->type == is->type &&
		    was->format == is->format && was->pattern == is->pattern)
			return true;
	}
	return false;
}

/* As a new object, or a new status. */
static void try_texts(struct kube_rig *rig, const struct wide_place *places, size_t count,
		      size_t which)
{
	const struct neap_kube_kind *kind = places->kind;
	bool is_status = is_of_status(places);
	json_t *object = seed(kind);
	char path[256];

	for (size_t i = 0; i < count; i++)
		put_take(object, &places[i],
			 long_text(which + i, WIDE_BODY_BYTES / count));
	if (is_status)
		make_small(rig, kind);
	collection(kind, "POST", path, sizeof(path));
	(void)wide_ask_json(rig, is_status ? object_path(kind, "PUT", true) : path,
			    wide_show(places), object);
	remove_object(rig, kind);
	json_decref(object);
}

static void test_each_text(void **state)
{
	struct kube_rig *rig = *state;
	struct wide_place *places;
	size_t count, n;

	declared_define(rig, WIDE, "wides.example.com");
	count = wide_texts_find(rig, &places);
	assert_true(count > 500);
	for (size_t i = 0; i < count; i += n) {
		for (n = 1; i + n < count && n < TEXTS && !is_refused_first(&places[i]) &&
			    !is_refused_first(&places[i + n]) &&
			    places[i + n].kind == places[i].kind &&
			    is_of_status(&places[i + n]) == is_of_status(&places[i]);
		     n++)
			;
		if (!was_refused(places, i))
			try_texts(rig, &places[i], n, i);
	}
	wide_tell("each text");
	free(places);
}

/* --- by their numbers --- */

/* Rows are found by halves; and what a text has is what its tree has. */
static void test_values_of_text(void **state)
{
	static const char *const rows[] = {
		"{}",         "[]",          "[1]",
		"[[],{}]",    "{'a':1}",     "{'a':[1,2,{'b':null}], 'c' : {} }",
		"[ ]",        "[{ }, [\n]]", "{'a':',[{\\',{'}",
		"['\\\\',1]",
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		neap_auto_free char *text = neap_strdup(rows[i]);
		json_t *json;
		json_error_t where;

		for (char *at = text; *at != '\0'; at++)
			*at = *at == '\'' ? '"' : *at;
		assert_int_equal(neap_json_parse(text, strlen(text), 0, &json, &where),
				 0);
		if (neap_json_values_of_text(text, strlen(text)) !=
		    neap_schema_values(json))
			fail_msg("%s has %zu values, not %zu", text,
				 neap_schema_values(json),
				 neap_json_values_of_text(text, strlen(text)));
		json_decref(json);
	}
}

/* What was stored before there were bounds can be read, changed, become shorter, and go;
 * and costs no more than its length. */
static void test_stored_above(void **state)
{
	enum { MANY = 60000 };
	struct kube_rig *rig = *state;
	json_t *object = json_rig_make("{'metadata':{'name':'old','uid':'u1',"
				       "'creationTimestamp':'2026-01-02T03:04:05Z'},"
				       "'spec':{}}"),
	       *list = json_array(), *body;
	static const char label[] = "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}";
	static const char more[] =
		"[{\"op\":\"add\",\"path\":\"/metadata/finalizers/-\",\"value\":\"x/y\"}]";
	static const char less[] =
		"[{\"op\":\"remove\",\"path\":\"/metadata/finalizers/0\"}]";
	static const char none[] = "{\"metadata\":{\"finalizers\":null}}";
	struct neap_store_write write = {.verb = NEAP_STORE_CREATE,
					 .resource = "nodes",
					 .ns = "",
					 .name = "old",
					 .object = object};
	struct neap_error err;

	for (int i = 0; i < MANY; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "example.com/f%d", i);
		(void)json_array_append_new(list, json_string(name));
	}
	(void)json_object_set_new(json_object_get(object, "metadata"), "finalizers",
				  list);
	assert_int_equal(neap_store_write_take(rig->store.store, &write, &err), 0);
	wide_until(rig, "GET /api/v1/nodes/old", 200);
	assert_int_equal(
		wide_ask(rig, "GET /api/v1/nodes/old", "many finalizers", NULL, 0), 200);
	body = json_incref(rig->body);
	assert_int_equal(
		wide_ask(rig, "MERGE /api/v1/nodes/old", "a label", label, strlen(label)),
		200);
	assert_int_equal(
		wide_ask(rig, "JSON /api/v1/nodes/old", "one more", more, strlen(more)),
		422);
	assert_non_null(
		strstr(kube_text(rig->body, "message"),
		       "metadata.finalizers: Too many: 60001: must have at most"));
	assert_int_equal(
		wide_ask(rig, "JSON /api/v1/nodes/old", "one less", less, strlen(less)),
		200);
	assert_int_equal(wide_ask(rig, "DELETE /api/v1/nodes/old", "", NULL, 0), 200);
	/* New ones are looked for while it is being deleted. */
	assert_int_equal(wide_ask(rig, "MERGE /api/v1/nodes/old", "a label again", label,
				  strlen(label)),
			 200);
	assert_int_equal(
		wide_ask(rig, "MERGE /api/v1/nodes/old", "none", none, strlen(none)),
		200);
	assert_int_equal(wide_ask(rig, "GET /api/v1/nodes/old", "", NULL, 0), 404);
	json_decref(body);
}

/* What no body may have does not come about by narrow patches either. */
static void test_in_pieces(void **state)
{
	enum { MEMBERS = 16300 };
	static const char maps[] = "/api/v1/namespaces/default/configmaps";
	static const char *const members[] = {"data", "binaryData"};
	static const char label[] = "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}";
	struct kube_rig *rig = *state;
	char ask[96];

	(void)snprintf(ask, sizeof(ask), "POST %s", maps);
	assert_int_equal(kube_ask(rig, ask, "{'metadata':{'name':'wide'}}"), 201);
	(void)snprintf(ask, sizeof(ask), "MERGE %s/wide", maps);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(members); i++) {
		json_t *map = json_object(), *body = json_pack("{s:o}", members[i], map);
		char name[32], *text;

		for (int k = 0; k < MEMBERS; k++) {
			(void)snprintf(name, sizeof(name), "%c%d", members[i][0], k);
			assert_int_equal(json_object_set_new(map, name, json_string("")),
					 0);
		}
		text = json_dumps(body, JSON_COMPACT);
		assert_int_equal(wide_ask(rig, ask, members[i], text, strlen(text)),
				 i ? 413 : 200);
		free(text);
		json_decref(body);
	}
	assert_non_null(
		strstr(kube_text(rig->body, "message"), "it may have at most 32000"));
	assert_int_equal(wide_ask(rig, ask, "a label", label, strlen(label)), 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_of_text),
		TEST(stored_above),
		TEST(in_pieces),
		TEST(each_list),
		TEST(each_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
