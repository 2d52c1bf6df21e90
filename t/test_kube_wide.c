/* SPDX-License-Identifier: Apache-2.0
 *
 * No body keeps the loop: every list and map that the schema of any served kind has is sent as wide as a body can be,
 * and as wide as its bound lets it, as a new object and as a change of every sort; and bodies that are made to
 * cost. What is bounded is the CPU time of a request, client and all. The goal is 100 ms on an ordinary
 * machine; the test lets ten times that pass, as a machine may be slow, and KUBE_WIDE_SHOW=1 tells the slowest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "api/kube/bounds.h"
#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "t/lib/json_rig.h"
#include "t/lib/kube_rig.h"

#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CPU_MAX_MS 10000
#else
#define CPU_MAX_MS 1000
#endif
#define BODY_BYTES  (1400 * 1024) /* an object may have 1.5 MiB */
#define BODY_VALUES (NEAP_KUBE_VALUES_MAX - 200)
#define DEPTH       24
#define PLACES_MAX  4096

/* --- asking, with the time that it takes --- */

static struct {
	double ms;
	char what[512];
	double sum;
	int count;
} slowest;

static double cpu_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* One request, which ends in time. */
static int ask(struct kube_rig *rig, const char *how, const char *what, const char *body,
	       size_t len)
{
	double start = cpu_ms(), took;
	int status = kube_ask_with(rig, how, "", body, len);

	took = cpu_ms() - start;
	slowest.sum += took;
	slowest.count++;
	if (getenv("KUBE_WIDE_SHOW") != NULL && took > 60)
		printf("# %.0f ms, %d: %s %s %.200s\n", took, status, how, what,
		       kube_text(rig->body, "message"));
	if (took > slowest.ms) {
		slowest.ms = took;
		(void)snprintf(slowest.what, sizeof(slowest.what), "%.300s %.150s", how,
			       what);
	}
	if (took > CPU_MAX_MS)
		fail_msg("%s %s: %.0f ms of CPU time", how, what, took);
	if (status == 0 || status >= 500)
		fail_msg("%s %s: status %d %s", how, what, status,
			 kube_text(rig->body, "message"));
	return status;
}

static int ask_json(struct kube_rig *rig, const char *how, const char *what,
		    const json_t *body)
{
	char *text = json_dumps(body, JSON_COMPACT);
	int status;

	assert_non_null(text);
	status = ask(rig, how, what, text, strlen(text));
	free(text);
	return status;
}

/* --- what a schema takes --- */

static json_t *sample(const struct neap_schema *schema, size_t n, int depth);

static json_t *sample_text(const struct neap_schema *schema, size_t n)
{
	char text[64];

	if (schema->values != NULL)
		return json_string(schema->values[0]);
	switch (schema->format) {
	case NEAP_FORMAT_TIME:
		return json_string("2026-01-02T03:04:05Z");
	case NEAP_FORMAT_MICRO_TIME:
		return json_string("2026-01-02T03:04:05.000006Z");
	case NEAP_FORMAT_DURATION:
		return json_string("1s");
	case NEAP_FORMAT_BYTES:
		return json_string("");
	default:
		break;
	}
	(void)snprintf(text, sizeof(text), "n%zu", n);
	return json_string(text);
}

static json_t *sample_object(const struct neap_schema *schema, size_t n, int depth)
{
	json_t *object = json_object();

	for (size_t i = 0; i < schema->field_count && depth > 0; i++) {
		const struct neap_schema_field *field = &schema->fields[i];

		if (field->is_required || strcmp(field->name, "name") == 0 ||
		    strcmp(field->name, "key") == 0)
			(void)json_object_set_new(object, field->name,
						  sample(field->schema, n, depth - 1));
	}
	return object;
}

static json_t *sample(const struct neap_schema *schema, size_t n, int depth)
{
	switch (schema->type) {
	case NEAP_SCHEMA_LIST:
		return json_array();
	case NEAP_SCHEMA_MAP:
		return json_object();
	case NEAP_SCHEMA_STRING:
		return sample_text(schema, n);
	case NEAP_SCHEMA_QUANTITY:
		return json_string("1");
	case NEAP_SCHEMA_INT_OR_STRING:
	case NEAP_SCHEMA_INTEGER:
	case NEAP_SCHEMA_NUMBER:
		return json_integer((json_int_t)(n % 30000) + 1);
	case NEAP_SCHEMA_BOOLEAN:
		return json_true();
	default:
		return sample_object(schema, n, depth);
	}
}

/* --- all places --- */

struct step {
	const char *name; /* NULL: the first item of a list */
	const struct neap_schema *schema;
};

struct place {
	const struct neap_kube_kind *kind;
	struct step steps[DEPTH];
	int depth;
};

struct places {
	struct place *list;
	size_t count;
	const struct neap_kube_kind *kind;
	struct step steps[DEPTH];
	int depth;
	/* Fields that were met: schemas are shared by kinds. */
	const void *met[PLACES_MAX];
	size_t met_count;
};

static bool is_met(struct places *places, const void *field)
{
	for (size_t i = 0; i < places->met_count; i++)
		if (places->met[i] == field)
			return true;
	assert_true(places->met_count < PLACES_MAX);
	places->met[places->met_count++] = field;
	return false;
}

static void walk(struct places *places, const struct neap_schema *schema);

static void step_in(struct places *places, const char *name,
		    const struct neap_schema *schema)
{
	if (places->depth == DEPTH)
		return;
	for (int i = 0; i < places->depth; i++)
		if (places->steps[i].schema == schema && name != NULL &&
		    schema->type == NEAP_SCHEMA_OBJECT)
			return; /* in a circle */
	places->steps[places->depth++] = (struct step){name, schema};
	walk(places, schema);
	places->depth--;
}

static void walk(struct places *places, const struct neap_schema *schema)
{
	if (schema->type == NEAP_SCHEMA_LIST || schema->type == NEAP_SCHEMA_MAP) {
		struct place *place = &places->list[places->count++];

		assert_true(places->count < PLACES_MAX);
		place->kind = places->kind;
		place->depth = places->depth;
		memcpy(place->steps, places->steps, sizeof(place->steps));
		if (schema->items != NULL)
			step_in(places, schema->type == NEAP_SCHEMA_LIST ? NULL : "k",
				schema->items);
		return;
	}
	for (size_t i = 0; i < schema->field_count; i++)
		if (!is_met(places, &schema->fields[i]))
			step_in(places, schema->fields[i].name, schema->fields[i].schema);
}

static void find_places(struct kube_rig *rig, struct places *places)
{
	places->list = neap_alloc_array(PLACES_MAX, sizeof(*places->list));
	assert_non_null(places->list);
	for (size_t i = 0; i < neap_kube_registry_count(rig->registry); i++) {
		places->kind = neap_kube_registry_at(rig->registry, i);
		if (places->kind->make == NULL)
			walk(places, places->kind->schema);
	}
}

static const char *show(const struct place *place)
{
	static char text[512];

	(void)snprintf(text, sizeof(text), "%s", place->kind->kind);
	for (int i = 0; i < place->depth; i++) {
		size_t len = strlen(text);

		(void)snprintf(text + len, sizeof(text) - len, ".%s",
			       place->steps[i].name ? place->steps[i].name : "0");
	}
	return text;
}

/* --- bodies --- */

/* What each kind needs; a declared kind, and one that needs nothing, is made by its schema. */
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

	for (size_t i = 0; i < NEAP_ARRAY_LEN(seeds) && object == NULL; i++)
		if (strcmp(seeds[i].kind, kind->kind) == 0)
			object = json_rig_make(seeds[i].body);
	if (object == NULL)
		object = sample(kind->schema, 1, 8);
	(void)json_object_del(object, "kind");
	(void)json_object_del(object, "apiVersion");
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

/* As wide as it may be by values and bytes, and no wider than most. Taken over by the caller. */
static json_t *wide_value(const struct neap_schema *schema, size_t most)
{
	bool is_list = schema->type == NEAP_SCHEMA_LIST;
	json_t *value = is_list ? json_array() : json_object();
	const struct neap_schema *items =
		schema->items != NULL ? schema->items : &neap_schema_any;
	json_t *one = sample(items, 99999, 4);
	char *text = json_dumps(one, JSON_COMPACT | JSON_ENCODE_ANY);
	size_t values = neap_schema_values(one), bytes = strlen(text) + 12;

	for (size_t n = 0;
	     n < most && (n + 1) * values <= BODY_VALUES && (n + 1) * bytes <= BODY_BYTES;
	     n++) {
		json_t *item = sample(items, n, 4);
		char key[32];

		(void)snprintf(key, sizeof(key), "k%zu", n);
		if (is_list)
			(void)json_array_append_new(value, item);
		else
			(void)json_object_set_new(value, key, item);
	}
	json_decref(one);
	free(text);
	return value;
}

/* The container of a place in an object, made where it is missing. */
static json_t *reach(json_t *object, const struct place *place)
{
	json_t *at = object;

	for (int i = 0; i < place->depth - 1; i++) {
		const struct step *step = &place->steps[i];
		json_t *next = step->name != NULL ? json_object_get(at, step->name)
						  : json_array_get(at, 0);

		if (!json_is_object(next) && !json_is_array(next)) {
			next = sample(step->schema, 1, 4);
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

static void put_take(json_t *object, const struct place *place, json_t *value)
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
	kube_run(rig, 0);
}

/* The bound that an answer tells; 0: none. */
static size_t bound_told(const struct kube_rig *rig)
{
	const char *at = strstr(kube_text(rig->body, "message"), "must have at most ");

	return at != NULL ? strtoul(at + strlen("must have at most "), NULL, 10) : 0;
}

static bool is_of_status(const struct place *place)
{
	return place->kind->has_status && strcmp(place->steps[0].name, "status") == 0;
}

static void change(struct kube_rig *rig, const struct place *place, json_t *value,
		   size_t which)
{
	const struct neap_kube_kind *kind = place->kind;
	const char *text = show(place);
	bool is_status = is_of_status(place);
	json_t *object = seed(kind), *ops;
	char pointer[512] = "";

	switch (which % (kind->is_custom ? 3 : 4)) {
	case 0:
		put_take(object, place, json_incref(value));
		(void)ask_json(rig, object_path(kind, "PUT", is_status), text, object);
		break;
	case 1:
		put_take(object, place, json_incref(value));
		(void)ask_json(rig, object_path(kind, "MERGE", is_status), text, object);
		break;
	case 2:
		(void)snprintf(pointer, sizeof(pointer), "/%s", place->steps[0].name);
		put_take(object, place, json_incref(value));
		ops = json_pack("[{s:s,s:s,s:O}]", "op", "add", "path", pointer, "value",
				json_object_get(object, place->steps[0].name));
		(void)ask_json(rig, object_path(kind, "JSON", is_status), text, ops);
		json_decref(ops);
		break;
	default:
		put_take(object, place, json_incref(value));
		(void)ask_json(rig, object_path(kind, "STRATEGIC", is_status), text,
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
	if (ask_json(rig, path, "a small one", object) != 201)
		fail_msg("%s: %s", path, kube_text(rig->body, "message"));
	json_decref(object);
}

/* As a new object, as wide as can be; then as wide as the answer says. Returns that, 0 when it is taken. */
static size_t create_wide(struct kube_rig *rig, const struct place *place)
{
	const struct neap_schema *schema = place->steps[place->depth - 1].schema;
	json_t *object = seed(place->kind);
	char path[256];
	size_t most;

	collection(place->kind, "POST", path, sizeof(path));
	put_take(object, place, wide_value(schema, SIZE_MAX));
	(void)ask_json(rig, path, show(place), object);
	most = bound_told(rig);
	remove_object(rig, place->kind);
	if (most > 0) {
		put_take(object, place, wide_value(schema, most));
		(void)ask_json(rig, path, show(place), object);
		remove_object(rig, place->kind);
	}
	json_decref(object);
	return most;
}

static void try_place(struct kube_rig *rig, const struct place *place, size_t which)
{
	const struct neap_schema *schema = place->steps[place->depth - 1].schema;
	bool is_status = is_of_status(place);
	size_t most = is_status ? 0 : create_wide(rig, place);
	json_t *value = wide_value(schema, most > 0 ? most : SIZE_MAX);

	make_small(rig, place->kind);
	change(rig, place, value, which);
	json_decref(value);
	if (is_status) {
		most = bound_told(rig);
		value = wide_value(schema, most > 0 ? most : SIZE_MAX);
		change(rig, place, value, which);
		json_decref(value);
	}
	if (!place->kind->is_custom && most == 0 &&
	    strstr(show(place), ".managedFields") == NULL)
		fail_msg("%s has no bound: %s", show(place),
			 kube_text(rig->body, "message"));
	remove_object(rig, place->kind);
}

static void test_each_list(void **state)
{
	struct kube_rig *rig = *state;
	struct places places = {0};

	find_places(rig, &places);
	for (size_t i = 0; i < places.count; i++)
		try_place(rig, &places.list[i], i);
	printf("# %zu lists and maps, %d requests of %.0f ms; slowest %.0f ms: %s\n",
	       places.count, slowest.count, slowest.sum / slowest.count, slowest.ms,
	       slowest.what);
	free(places.list);
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
		if (neap_kube_values_of_text(text, strlen(text)) !=
		    neap_schema_values(json))
			fail_msg("%s has %zu values, not %zu", text,
				 neap_schema_values(json),
				 neap_kube_values_of_text(text, strlen(text)));
		json_decref(json);
	}
}

/* What was stored before there were bounds can be read, changed, become shorter, and go; and costs no more than its
 * length. */
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
	kube_run(rig, 50);
	assert_int_equal(ask(rig, "GET /api/v1/nodes/old", "many finalizers", NULL, 0),
			 200);
	body = json_incref(rig->body);
	assert_int_equal(
		ask(rig, "MERGE /api/v1/nodes/old", "a label", label, strlen(label)),
		200);
	assert_int_equal(
		ask(rig, "JSON /api/v1/nodes/old", "one more", more, strlen(more)), 422);
	assert_non_null(
		strstr(kube_text(rig->body, "message"),
		       "metadata.finalizers: Too many: 60001: must have at most"));
	assert_int_equal(
		ask(rig, "JSON /api/v1/nodes/old", "one less", less, strlen(less)), 200);
	assert_int_equal(ask(rig, "DELETE /api/v1/nodes/old", "", NULL, 0), 200);
	/* New ones are looked for while it is being deleted. */
	assert_int_equal(ask(rig, "MERGE /api/v1/nodes/old", "a label again", label,
			     strlen(label)),
			 200);
	assert_int_equal(ask(rig, "MERGE /api/v1/nodes/old", "none", none, strlen(none)),
			 200);
	assert_int_equal(ask(rig, "GET /api/v1/nodes/old", "", NULL, 0), 404);
	json_decref(body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_of_text),
		TEST(stored_above),
		TEST(each_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
