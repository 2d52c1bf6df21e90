/* SPDX-License-Identifier: Apache-2.0
 *
 * Short texts, arrays that grow, and members of JSON that are texts. */
#include "engine/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"

/* Full arrays double, and one that cannot stays whole. */
static void mem_grow(void **state)
{
	size_t size = 0, most = 0;
	uint16_t *list = NULL;

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		assert_true(neap_grow(&list, i, &size, sizeof(*list)));
		assert_true(size > i);
		assert_true(size >= most);
		most = size;
		list[i] = (uint16_t)i;
	}
	neap_mem_fail_at(1);
	assert_false(neap_grow(&list, size, &size, sizeof(*list)));
	neap_mem_fail_at(0);
	assert_int_equal(size, most);
	assert_false(neap_grow(&list, size, &size, SIZE_MAX / 4));
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(list[i], i);
	free(list);
}

static void text_rows(void **state)
{
	static const struct {
		const char *a, *b;
		size_t distance;
	} rows[] = {
		{"", "", 0},       {"", "abc", 3},           {"cpu", "cpu", 0},
		{"cpu", "gpu", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 2},
	};
	const char *names[] = {"b", "", "ab", "a"};
	char longer[101];

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		assert_int_equal(neap_text_distance(rows[i].a, rows[i].b),
				 rows[i].distance);
		assert_int_equal(neap_text_distance(rows[i].b, rows[i].a),
				 rows[i].distance);
	}
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(neap_text_distance(longer, ""), 64);
	qsort(names, NEAP_ARRAY_LEN(names), sizeof(*names), neap_text_compare);
	assert_string_equal(names[0], "");
	assert_string_equal(names[1], "a");
	assert_string_equal(names[2], "ab");
	for (int c = 0; c < 256; c++) {
		char text[2] = {(char)c, '\0'}, *end;
		long value = strtol(text, &end, 16);

		assert_int_equal(neap_text_hex((char)c),
				 c && !*end && end > text ? value : -1);
	}
}

static void json_texts(void **state)
{
	json_t *object =
		json_pack("{s:s, s:i, s:s}", "text", "yes", "number", 1, "empty", "");

	(void)state;
	assert_string_equal(neap_json_text(object, "text"), "yes");
	assert_string_equal(neap_json_text(object, "number"), "");
	assert_string_equal(neap_json_text(object, "none"), "");
	assert_string_equal(neap_json_text(NULL, "none"), "");
	assert_true(neap_json_is_text(object, "text", "yes"));
	assert_false(neap_json_is_text(object, "text", "no"));
	assert_false(neap_json_is_text(object, "none", ""));
	assert_true(neap_json_is_text(object, "empty", ""));
	json_decref(object);
	object = json_pack("{s:[{s:s, s:i}, {s:s, s:i}, {s:s, s:i}]}", "conditions",
			   "type", "A", "n", 1, "type", "B", "n", 2, "type", "B", "n", 3);
	assert_int_equal(json_integer_value(
				 json_object_get(neap_json_condition(object, "B"), "n")),
			 2);
	assert_null(neap_json_condition(object, "C"));
	assert_null(neap_json_condition(NULL, "A"));
	json_decref(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mem_grow),
		cmocka_unit_test(text_rows),
		cmocka_unit_test(json_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
