/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects at rest: what is taken out of the JSON, and back from what a store keeps. */
#include "engine/object/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/clock.h"
#include "engine/base/mem.h"

static const char *const pod_fields[] = {
	"spec.nodeName",      "status.phase",
	"spec.unschedulable", "spec.priority",
	"spec.none.deep",     "where=spec.none|spec.nodeName|spec.priority",
	"none=spec.none",     NULL};

static const char pod[] =
	"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\",\"namespace\":"
	"\"n\",\"uid\":\"u-1\",\"labels\":{\"app\":\"web\",\"empty\":\"\"},\"ownerReferences\":["
	"{\"uid\":\"o-1\"},{\"uid\":\"o-2\"}],\"finalizers\":[\"x/y\"]},\"spec\":{\"nodeName\":"
	"\"node-1\",\"unschedulable\":true,\"priority\":7},\"status\":{\"phase\":\"Running\"}}";

static struct neap_object *make(const char *text, int64_t version)
{
	struct neap_object *object = NULL;
	struct neap_error err;

	assert_int_equal(neap_object_new_take(json_loads(text, 0, NULL), pod_fields,
					      version, &object, &err),
			 0);
	return object;
}

static void check_pod(const struct neap_object *object)
{
	char version[NEAP_OBJECT_VERSION];

	assert_string_equal(object->ns, "n");
	assert_string_equal(object->name, "p");
	assert_string_equal(object->uid, "u-1");
	assert_int_equal(object->version, 41);
	assert_true(object->has_finalizers);
	assert_false(object->is_deleting);
	assert_string_equal(neap_object_label(object, "app"), "web");
	assert_string_equal(neap_object_label(object, "empty"), "");
	assert_null(neap_object_label(object, "web"));
	assert_string_equal(neap_object_field(object, "metadata.name"), "p");
	assert_string_equal(neap_object_field(object, "metadata.namespace"), "n");
	assert_string_equal(neap_object_field(object, "spec.nodeName"), "node-1");
	assert_string_equal(neap_object_field(object, "spec.unschedulable"), "true");
	assert_string_equal(neap_object_field(object, "spec.priority"), "7");
	assert_string_equal(neap_object_field(object, "spec.none.deep"), "");
	assert_null(neap_object_field(object, "spec.hostname"));
	assert_string_equal(neap_object_field(object, "where"), "node-1");
	assert_string_equal(neap_object_field(object, "none"), "");
	assert_true(neap_object_has_owner(object, "o-2"));
	assert_false(neap_object_has_owner(object, "o-"));
	assert_int_equal(object->text_len, strlen(object->text));
	assert_null(strstr(object->text, "\"kind\""));
	assert_non_null(strstr(object->text, "\"resourceVersion\":\"41\""));
	assert_string_equal(neap_object_resource_version(object, version), "41");
}

static void test_new(void **state)
{
	struct neap_object *object = make(pod, 41);
	struct neap_buf out;
	json_t *tree, *again;

	(void)state;
	check_pod(object);
	neap_buf_init(&out, NEAP_BUF_REPLY);
	neap_object_write(object, "Pod", "v1", &out);
	again = json_loads(out.data, 0, NULL);
	tree = json_loads(pod, 0, NULL);
	assert_int_equal(json_object_set_new(json_object_get(tree, "metadata"),
					     "resourceVersion", json_string("41")),
			 0);
	assert_true(json_equal(again, tree));
	json_decref(again);
	(void)json_object_del(tree, "kind");
	(void)json_object_del(tree, "apiVersion");
	again = neap_object_tree(object);
	assert_true(json_equal(again, tree));
	json_decref(again);
	json_decref(tree);
	neap_buf_done(&out);
	assert_null(neap_object_unref(object));
}

/* Sent only: a text over what is stored is fine. */
static void test_with_text(void **state)
{
	struct neap_object *object = make(pod, 41), *other;
	size_t len = NEAP_OBJECT_TEXT_MAX + 10;
	char *text = neap_alloc(len + 1);

	(void)state;
	assert_non_null(text);
	memset(text, 'x', len);
	other = neap_object_with_text(object, text, len);
	free(text);
	assert_null(neap_object_unref(object));
	assert_string_equal(other->name, "p");
	assert_string_equal(neap_object_label(other, "app"), "web");
	assert_string_equal(neap_object_field(other, "spec.nodeName"), "node-1");
	assert_int_equal(other->version, 41);
	assert_int_equal(other->text_len, len);
	assert_int_equal(strlen(other->text), len);
	assert_null(neap_object_unref(other));
}

static void test_annotation(void **state)
{
	static const struct {
		const char *json, *want;
	} rows[] = {
		{"{\"metadata\":{\"name\":\"a\",\"annotations\":{\"k\":\"v\"}}}", "v"},
		{"{\"metadata\":{\"name\":\"a\",\"annotations\":{\"k\":\"\"}}}", ""},
		{"{\"metadata\":{\"name\":\"a\",\"annotations\":{}}}", NULL},
		{"{\"metadata\":{\"name\":\"a\",\"annotations\":{\"kk\":\"v\",\"K\":\"v\"}}}",
		 NULL},
		{"{\"metadata\":{\"name\":\"a\",\"labels\":{\"k\":\"l\"}}}", NULL},
		{"{\"spec\":{\"metadata\":{\"annotations\":{\"k\":\"no\"}},\"x\":[{\"k\":[]},"
		 "\"}{\",-1.5e3,null,true,{}]},\"metadata\":{\"labels\":{\"annotations\":\"x\"},"
		 "\"name\":\"a\",\"annotations\":{\"q\\\"\\\\\":\"\\\\\",\"k\":\"{\\\"c\\\":"
		 "\\\"0-3\\\"}\\u00e9\\n\"}}}",
		 "{\"c\":\"0-3\"}\u00e9\n"},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_object *object = NULL;
		struct neap_error err = {0};
		char *text = NULL;

		if (neap_object_new_take(json_loads(rows[i].json, 0, NULL), NULL, 1,
					 &object, &err) < 0)
			fail_msg("row %zu: %s", i, err.msg);
		assert_int_equal(neap_object_annotation(object, "k", &text, &err), 0);
		if (rows[i].want ? !text || strcmp(text, rows[i].want) != 0 : !!text)
			fail_msg("row %zu: %s", i, text ? text : "none");
		free(text);
		(void)neap_object_unref(object);
	}
}

static void test_selector(void **state)
{
	static const struct {
		const char *selector;
		bool is_selected;
	} rows[] = {
		{"{}", true},
		{"{\"matchLabels\":{\"app\":\"web\"}}", true},
		{"{\"matchLabels\":{\"app\":\"db\"}}", false},
		{"{\"matchExpressions\":[{\"key\":\"empty\",\"operator\":\"Exists\"}]}",
		 true},
		{"{\"matchExpressions\":[{\"key\":\"gone\",\"operator\":\"Exists\"}]}",
		 false},
	};
	struct neap_object *object = make(pod, 1);
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		json_t *json = json_loads(rows[i].selector, 0, NULL);
		struct neap_selector *selector = NULL;

		assert_int_equal(neap_selector_parse(json, &selector, NULL), 0);
		assert_int_equal(neap_object_is_selected(object, selector),
				 rows[i].is_selected);
		neap_selector_free(selector);
		json_decref(json);
	}
	neap_object_unref(object);
}

static void test_restore(void **state)
{
	struct neap_object *object = make(pod, 41), *back = NULL;
	char *meta = neap_alloc(object->meta_len);
	size_t i;

	(void)state;
	assert_non_null(meta);
	memcpy(meta, object->block, object->meta_len);
	assert_int_equal(neap_object_restore(meta, object->meta_len, object->text,
					     object->text_len, 41, &back, NULL),
			 0);
	check_pod(back);
	neap_object_unref(back);
	/* Cut anywhere, and with any byte of its numbers changed, it is refused or still
	 * sound. */
	for (i = 0; i < object->meta_len; i++)
		assert_int_equal(neap_object_restore(meta, i, object->text,
						     object->text_len, 41, &back, NULL),
				 -NEAP_EINVAL);
	for (i = 0; i < 8; i++) {
		meta[i] = (char)(meta[i] ^ 0x41);
		assert_int_equal(neap_object_restore(meta, object->meta_len, object->text,
						     object->text_len, 41, &back, NULL),
				 -NEAP_EINVAL);
		meta[i] = (char)(meta[i] ^ 0x41);
	}
	assert_int_equal(
		neap_object_restore(meta, object->meta_len, "{", 1, 41, &back, NULL),
		-NEAP_EINVAL);
	free(meta);
	neap_object_unref(object);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *field;
	} rows[] = {
		{"{}", "metadata"},
		{"{\"metadata\":3}", "metadata"},
		{"{\"metadata\":{\"name\":3}}", "metadata.name"},
		{"{\"metadata\":{\"name\":\"a\",\"labels\":{\"k\":1}}}",
		 "metadata.labels"},
		{"{\"metadata\":{\"name\":\"a\",\"ownerReferences\":[{}]}}",
		 "metadata.ownerReferences.uid"},
	};
	struct neap_object *object = NULL;
	struct neap_error err;
	json_t *tree;
	char *name;
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		assert_int_equal(neap_object_new_take(json_loads(rows[i].text, 0, NULL),
						      NULL, 1, &object, &err),
				 -NEAP_EINVAL);
		assert_string_equal(err.field, rows[i].field);
	}
	name = neap_alloc(NEAP_OBJECT_NAME + 1);
	assert_non_null(name);
	memset(name, 'a', NEAP_OBJECT_NAME);
	tree = json_pack("{s{ss}}", "metadata", "name", name);
	assert_int_equal(neap_object_new_take(tree, NULL, 1, &object, &err),
			 -NEAP_EINVAL);
	assert_string_equal(err.field, "metadata.name");
	name[NEAP_OBJECT_NAME - 1] = '\0';
	tree = json_pack("{s{ss}}", "metadata", "name", name);
	assert_int_equal(neap_object_new_take(tree, NULL, 1, &object, &err), 0);
	neap_object_unref(object);
	free(name);
	assert_int_equal(neap_object_new_take(NULL, NULL, 1, &object, &err),
			 -NEAP_ENOMEM);
}

#define MANY    1000
#define LOOKUPS 400000

/* Some twenty times what it takes; one after the other they take two seconds. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMIT_USEC (20 * INT64_C(1000000))
#else
#define LIMIT_USEC INT64_C(1000000)
#endif

/* Each of many labels is found, in whatever order they stand, and none that is not there;
 * and that soon. */
static void test_many_labels(void **state)
{
	json_t *labels = json_object();
	struct neap_object *object = NULL;
	struct neap_error err;
	char key[32], value[32];
	int64_t start;

	(void)state;
	for (int i = 0; i < MANY; i++) {
		(void)snprintf(key, sizeof(key), "k%d", i * 7 % MANY * 2);
		(void)snprintf(value, sizeof(value), "%d", i * 7 % MANY * 2);
		json_object_set_new(labels, key, json_string(i % 10 ? value : ""));
	}
	assert_int_equal(neap_object_new_take(json_pack("{s:{s:s,s:o}}", "metadata",
							"name", "n", "labels", labels),
					      pod_fields, 1, &object, &err),
			 0);
	for (int i = 0; i < MANY; i++) {
		(void)snprintf(key, sizeof(key), "k%d", i * 7 % MANY * 2);
		(void)snprintf(value, sizeof(value), "%d", i * 7 % MANY * 2);
		assert_string_equal(neap_object_label(object, key), i % 10 ? value : "");
		(void)snprintf(key, sizeof(key), "k%d", i * 2 + 1);
		assert_null(neap_object_label(object, key));
		(void)snprintf(key, sizeof(key), "%d", i * 2); /* a value */
		assert_null(neap_object_label(object, key));
	}
	start = neap_clock_usec(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < LOOKUPS; i++)
		assert_null(neap_object_label(object, "none"));
	assert_true(neap_clock_usec(CLOCK_THREAD_CPUTIME_ID) - start < LIMIT_USEC);
	neap_object_unref(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_labels), cmocka_unit_test(test_new),
		cmocka_unit_test(test_with_text),   cmocka_unit_test(test_annotation),
		cmocka_unit_test(test_selector),    cmocka_unit_test(test_restore),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
