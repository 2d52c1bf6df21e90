/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/wide_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "api/kube/rules/rules.h"
#include "engine/base/mem.h"
#include "t/lib/patience.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CPU_MAX_MS 10000
#else
#define CPU_MAX_MS 1000
#endif
#define BODY_VALUES (NEAP_KUBE_VALUES_MAX - 200)
#define PLACES_MAX  4096

/* --- asking --- */

struct wide_slowest wide_slowest;

static double cpu_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int ask(struct kube_rig *rig, const char *how, const char *what,
	       const char *headers, const char *body, size_t len)
{
	double start = cpu_ms(), took;
	int status = kube_ask_with(rig, how, headers, body, len);

	took = cpu_ms() - start;
	wide_slowest.sum += took;
	wide_slowest.count++;
	if (getenv("WIDE_SHOW") != NULL && took > 60)
		printf("# %.0f ms, %d: %s %s %.200s\n", took, status, how, what,
		       kube_text(rig->body, "message"));
	if (took > wide_slowest.ms) {
		wide_slowest.ms = took;
		(void)snprintf(wide_slowest.what, sizeof(wide_slowest.what),
			       "%.300s %.150s", how, what);
	}
	if (took > CPU_MAX_MS)
		fail_msg("%s %s: %.0f ms of CPU time", how, what, took);
	if (status == 0 || status >= 500)
		fail_msg("%s %s: status %d %s", how, what, status,
			 kube_text(rig->body, "message"));
	return status;
}

int wide_ask(struct kube_rig *rig, const char *how, const char *what, const char *body,
	     size_t len)
{
	return ask(rig, how, what, "", body, len);
}

int wide_ask_as(struct kube_rig *rig, const char *how, const char *what,
		const char *headers)
{
	return ask(rig, how, what, headers, NULL, 0);
}

int wide_ask_json(struct kube_rig *rig, const char *how, const char *what,
		  const json_t *body)
{
	char *text = json_dumps(body, JSON_COMPACT);
	int status;

	assert_non_null(text);
	status = wide_ask(rig, how, what, text, strlen(text));
	free(text);
	return status;
}

void wide_until(struct kube_rig *rig, const char *ask, int status)
{
	int tries = 0;

	while (kube_ask(rig, ask, NULL) != status) {
		if (tries++ == PATIENCE_MS / 10)
			fail_msg("%s is not %d", ask, status);
		kube_run(rig, 10);
	}
}

void wide_tell(const char *what)
{
	printf("# %s: %d requests of %.0f ms; slowest %.0f ms: %s\n", what,
	       wide_slowest.count, wide_slowest.sum / wide_slowest.count, wide_slowest.ms,
	       wide_slowest.what);
	wide_slowest = (struct wide_slowest){0};
}

/* --- what a schema takes --- */

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
			(void)json_object_set_new(
				object, field->name,
				wide_sample(field->schema, n, depth - 1));
	}
	return object;
}

json_t *wide_sample(const struct neap_schema *schema, size_t n, int depth)
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

struct places {
	struct wide_place *list;
	size_t count;
	const struct neap_kube_kind *kind;
	bool is_of_texts;
	struct wide_step steps[WIDE_DEPTH];
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
	if (places->depth == WIDE_DEPTH)
		return;
	for (int i = 0; i < places->depth; i++)
		if (places->steps[i].schema == schema && name != NULL &&
		    schema->type == NEAP_SCHEMA_OBJECT)
			return; /* in a circle */
	places->steps[places->depth++] = (struct wide_step){name, schema};
	walk(places, schema);
	places->depth--;
}

static bool is_text(const struct neap_schema *schema)
{
	return schema->type == NEAP_SCHEMA_STRING ||
	       schema->type == NEAP_SCHEMA_QUANTITY ||
	       schema->type == NEAP_SCHEMA_INT_OR_STRING;
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool is_same_type(const struct neap_schema *a, const struct neap_schema *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return a->type == b->type && a->format == b->format && a->list == b->list &&
	       a->field_count == b->field_count && is_same_text(a->pattern, b->pattern);
}

/* Declared kinds write a type out wherever it is used: of one name, in two of the same
 * types. */
static bool is_alike(const struct wide_place *a, const struct wide_place *b)
{
	const struct wide_step *x = &a->steps[a->depth - 1], *y = &b->steps[b->depth - 1];

	if (a->kind != b->kind || !is_same_text(x->name, y->name) ||
	    !is_same_type(x->schema->items, y->schema->items))
		return false;
	for (int i = 0; i < 3; i++, x--, y--)
		if (i == a->depth || i == b->depth || !is_same_type(x->schema, y->schema))
			return i == a->depth && i == b->depth;
	return true;
}

static void add_place(struct places *places)
{
	struct wide_place *place = &places->list[places->count];

	assert_true(places->count + 1 < PLACES_MAX);
	place->kind = places->kind;
	place->depth = places->depth;
	memcpy(place->steps, places->steps, sizeof(place->steps));
	for (size_t i = places->count; places->kind->is_custom && i-- > 0;)
		if (is_alike(&places->list[i], place))
			return;
	places->count++;
}

static void walk(struct places *places, const struct neap_schema *schema)
{
	if (schema->type == NEAP_SCHEMA_LIST || schema->type == NEAP_SCHEMA_MAP) {
		if (!places->is_of_texts)
			add_place(places);
		if (schema->items != NULL)
			step_in(places, schema->type == NEAP_SCHEMA_LIST ? NULL : "k",
				schema->items);
		return;
	}
	if (places->is_of_texts && is_text(schema))
		add_place(places);
	for (size_t i = 0; i < schema->field_count; i++)
		if (!is_met(places, &schema->fields[i]))
			step_in(places, schema->fields[i].name, schema->fields[i].schema);
}

static size_t find(struct kube_rig *rig, bool is_of_texts, struct wide_place **ret)
{
	struct places places = {.is_of_texts = is_of_texts};

	places.list = neap_alloc_array(PLACES_MAX, sizeof(*places.list));
	assert_non_null(places.list);
	for (size_t i = 0; i < neap_kube_registry_count(rig->registry); i++) {
		places.kind = neap_kube_registry_at(rig->registry, i);
		if (places.kind->make == NULL)
			walk(&places, places.kind->schema);
	}
	*ret = places.list;
	return places.count;
}

size_t wide_places_find(struct kube_rig *rig, struct wide_place **ret)
{
	return find(rig, false, ret);
}

size_t wide_texts_find(struct kube_rig *rig, struct wide_place **ret)
{
	return find(rig, true, ret);
}

const char *wide_show(const struct wide_place *place)
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

json_t *wide_value(const struct neap_schema *schema, size_t most)
{
	bool is_list = schema->type == NEAP_SCHEMA_LIST;
	json_t *value = is_list ? json_array() : json_object();
	const struct neap_schema *items =
		schema->items != NULL ? schema->items : &neap_schema_any;
	json_t *one = wide_sample(items, 99999, 4);
	char *text = json_dumps(one, JSON_COMPACT | JSON_ENCODE_ANY);
	size_t values = neap_schema_values(one), bytes = strlen(text) + 12;

	for (size_t n = 0; n < most && (n + 1) * values <= BODY_VALUES &&
			   (n + 1) * bytes <= WIDE_BODY_BYTES;
	     n++) {
		json_t *item = wide_sample(items, n, 4);
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
