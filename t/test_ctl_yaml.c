/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON as YAML: what is written is read back as the same, by the reader of manifests. */
#include "api/yaml/yaml.h"
#include "api/yaml/yaml_write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/json/json.h"

static const struct {
	const char *name, *json, *yaml; /* yaml: NULL is only read back */
} rows[] = {
	{"members", "{\"state\":\"acting\",\"pid\":12}", "state: acting\npid: 12\n"},
	{"lists", "{\"a\":[1,{\"b\":true}],\"c\":[]}", "a:\n- 1\n- b: true\nc: []\n"},
	{"nothing in it", "{}", "{}\n"},
	{"a path", "[\"/sys/fs/cgroup\"]", "- /sys/fs/cgroup\n"},
	{"a number as text", "[\"12\",\"1.5\",\"0x1f\",\"1e3\",\"-1\",\".5\"]",
	 "- \"12\"\n- \"1.5\"\n- \"0x1f\"\n- \"1e3\"\n- \"-1\"\n- \".5\"\n"},
	{"words as text", "[\"yes\",\"No\",\"off\",\"null\",\"TRUE\",\"y\",\"~\",\"\"]",
	 "- \"yes\"\n- \"No\"\n- \"off\"\n- \"null\"\n- \"TRUE\"\n- \"y\"\n- \"~\"\n- "
	 "\"\"\n"},
	{"words", "[true,false,null,0,-3,1.5]",
	 "- true\n- false\n- null\n- 0\n- -3\n- 1.5\n"},
	{"names that are words", "{\"on\":1,\"12\":2}", "\"on\": 1\n\"12\": 2\n"},
	{"signs", "[\"a: b\",\"a #b\",\"- a\",\"*a\",\"{a}\",\"a \",\" a\",\"'a'\"]",
	 NULL},
	{"lines",
	 "{\"text\":\"one\\n  two\\n\",\"open\":\"one\\ntwo\",\"more\":\"a\\n\\n\"}",
	 NULL},
	{"a time", "[\"2026-01-02T03:04:05.000Z\",\"22:00\"]", NULL},
	{"what acts on a terminal",
	 "[\"\\u001b[2J\",\"\\u009b\",\"\\u202e\",\"\\u0007\"]",
	 "- \"\\e[2J\"\n- \"\\x9B\"\n- \"\\u202E\"\n- \"\\a\"\n"},
	{"beyond ASCII", "[\"\\u00e4\",\"\\ud83d\\udc27\"]",
	 "- \"\\xE4\"\n- \"\\U0001F427\"\n"},
	{"long",
	 "[\"word word word word word word word word word word word word word word "
	 "word word word word word word word word word word word\"]",
	 NULL},
};

static void test_round(void **state)
{
	struct neap_error err = {0};
	json_t *value, *back;
	json_error_t where;
	struct neap_buf out;
	size_t i, j;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		assert_int_equal(neap_json_parse(rows[i].json, strlen(rows[i].json), 0,
						 &value, &where),
				 0);
		neap_buf_init(&out, NEAP_BUF_FILE);
		neap_yaml_add(&out, value);
		if (neap_buf_failed(&out))
			fail_msg("%s: not written", rows[i].name);
		if (rows[i].yaml != NULL && strcmp(out.data, rows[i].yaml) != 0)
			fail_msg("%s: got '%s', wanted '%s'", rows[i].name, out.data,
				 rows[i].yaml);
		for (j = 0; j < out.len; j++)
			if ((unsigned char)out.data[j] >= 127 ||
			    ((unsigned char)out.data[j] < 32 && out.data[j] != '\n'))
				fail_msg("%s: a byte %d", rows[i].name, out.data[j]);
		if (neap_yaml_parse_one(out.data, out.len, 1000, &back, &err) < 0)
			fail_msg("%s: %s in '%s'", rows[i].name, err.msg, out.data);
		if (!json_equal(value, back))
			fail_msg("%s: not the same: %s", rows[i].name, out.data);
		json_decref(value);
		json_decref(back);
		neap_buf_done(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round),
	};

	return cmocka_run_group_tests_name("ctl_yaml", tests, NULL, NULL);
}
