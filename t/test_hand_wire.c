/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of the hand: what is formatted is parsed back; every cut, every lengthened and
 * every mutated message is refused or is again one that could have been formatted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "hw/hand/wire.h"

#define GROUP "neap/besteffort/pod1"

static const struct {
	const char *name;
	struct neap_hand_request request;
	int code; /* of formatting */
} requests[] = {
	{"set", {7, NEAP_HAND_SET, GROUP, NEAP_KEY_CPU_SHARES, "512", -1}, 0},
	{"set empty", {8, NEAP_HAND_SET, GROUP, NEAP_KEY_CPUSET_CPUS, "", -1}, 0},
	{"set of no group",
	 {8, NEAP_HAND_SET, NULL, NEAP_KEY_CPU_SHARES, "2", -1},
	 NEAP_EINVAL},
	{"set of no value",
	 {8, NEAP_HAND_SET, GROUP, NEAP_KEY_CPU_SHARES, NULL, -1},
	 NEAP_EINVAL},
	{"set of no key",
	 {8, NEAP_HAND_SET, GROUP, NEAP_KEY_COUNT, "2", -1},
	 NEAP_EINVAL},
	{"set of a wrong key",
	 {8, NEAP_HAND_SET, GROUP, (enum neap_key)77, "2", -1},
	 NEAP_EINVAL},
	{"own", {9, NEAP_HAND_OWN, GROUP, NEAP_KEY_CPU_SHARES, "512", -1}, 0},
	{"own, nothing", {9, NEAP_HAND_OWN, GROUP, NEAP_KEY_CPU_SHARES, "", -1}, 0},
	{"own of no value",
	 {9, NEAP_HAND_OWN, GROUP, NEAP_KEY_CPU_SHARES, NULL, -1},
	 NEAP_EINVAL},
	{"own of no key",
	 {9, NEAP_HAND_OWN, GROUP, NEAP_KEY_COUNT, "512", -1},
	 NEAP_EINVAL},
	{"restore",
	 {UINT64_MAX, NEAP_HAND_RESTORE, GROUP, NEAP_KEY_CPU_IDLE, NULL, -1},
	 0},
	{"make", {1, NEAP_HAND_MAKE, GROUP, NEAP_KEY_COUNT, NULL, -1}, 0},
	{"make of a pod", {1, NEAP_HAND_MAKE_POD, GROUP, NEAP_KEY_COUNT, NULL, -1}, 0},
	{"remove, parts it has no use for", {1, NEAP_HAND_REMOVE, GROUP, 3, "x", -1}, 0},
	{"move", {1, NEAP_HAND_MOVE, GROUP, 0, NULL, -1}, 0},
	{"freeze", {2, NEAP_HAND_FREEZE, NULL, 0, NULL, -1}, 0},
	{"resume", {3, NEAP_HAND_RESUME, GROUP, 0, NULL, -1}, 0},
	{"give back", {4, NEAP_HAND_GIVE_BACK, NULL, 0, NULL, -1}, 0},
	{"list", {5, NEAP_HAND_LIST, NULL, 0, NULL, -1}, 0},
	{"trigger", {6, NEAP_HAND_TRIGGER, GROUP, 0, "cpu some 20000 500000", -1}, 0},
	{"trigger of the node", {6, NEAP_HAND_TRIGGER, "", 0, "io full 1 500000", -1}, 0},
	{"trigger of no value", {6, NEAP_HAND_TRIGGER, GROUP, 0, NULL, -1}, NEAP_EINVAL},
	{"trigger that was found",
	 {6, NEAP_HAND_TRIGGER, GROUP, 0, "cpu some 20000 500000", -1, "x"},
	 0},
	{"look for a kubelet", {6, NEAP_HAND_FIND, NULL, NEAP_KEY_COUNT, NULL, -1}, 0},
	{"file of a kubelet", {6, NEAP_HAND_KUBELET, NULL, 0, "config.yaml", -1}, 0},
	{"file of no name", {6, NEAP_HAND_KUBELET, NULL, 0, NULL, -1}, NEAP_EINVAL},
	{"file below a group", {6, NEAP_HAND_KUBELET, GROUP, 0, "config.yaml", -1}, 0},
	{"entry", {5, NEAP_HAND_ENTRY, GROUP, 0, NULL, -1}, NEAP_EINVAL},
	{"no operation", {5, (enum neap_hand_op)99, GROUP, 0, NULL, -1}, NEAP_EINVAL},
};

static const struct neap_hand_answer answers[] = {
	{1, NEAP_HAND_SET, NEAP_KEY_CPU_SHARES, 0, 0, GROUP, "1024", "512", ""},
	{2, NEAP_HAND_MOVE, NEAP_KEY_COUNT, 3, 4711, GROUP, "", "", "ended"},
	{3, NEAP_HAND_LIST, NEAP_KEY_COUNT, 0, 0, "", "", "", ""},
	{5, NEAP_HAND_TRIGGER, NEAP_KEY_COUNT, 0, 0, GROUP, "", "cpu some 80000 2000000",
	 "coarse: why", 7},
	{4, NEAP_HAND_ENTRY, NEAP_KEY_CPUSET_CPUS, 0, 0, GROUP, "0-3", "", ""},
	{4, NEAP_HAND_ENTRY, NEAP_KEY_CPU_SHARES, 0, 0, GROUP, "1024", "600", "250"},
};

static bool texts_equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static void requests_round(void **state)
{
	static unsigned char msg[NEAP_WIRE_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(requests); i++) {
		const struct neap_hand_request *in = &requests[i].request;
		struct neap_hand_request out;
		struct neap_error err = {0};
		size_t len = 0;
		int rc = neap_wire_format_request(in, msg, sizeof(msg), &len, &err);

		if (rc != -requests[i].code)
			fail_msg("%s: formatted with %d", requests[i].name, rc);
		if (rc < 0)
			continue;
		rc = neap_wire_parse_request(msg, len, &out, &err);
		if (rc < 0)
			fail_msg("%s: %s", requests[i].name, err.msg);
		if (out.id != in->id || out.op != in->op || out.fd != -1 ||
		    (out.group && !texts_equal(out.group, in->group)) ||
		    (out.value && !texts_equal(out.value, in->value)) ||
		    (in->op == NEAP_HAND_SET && (out.key != in->key || !out.value)))
			fail_msg("%s: came back changed", requests[i].name);
	}
}

static void answers_round(void **state)
{
	static unsigned char msg[NEAP_WIRE_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(answers); i++) {
		const struct neap_hand_answer *in = &answers[i];
		struct neap_hand_answer out;
		size_t len = 0;

		assert_int_equal(
			neap_wire_format_answer(in, msg, sizeof(msg), &len, NULL), 0);
		assert_int_equal(neap_wire_parse_answer(msg, len, &out, NULL), 0);
		if (out.id != in->id || out.op != in->op || out.key != in->key ||
		    out.errnum != in->errnum || out.pid != in->pid ||
		    !texts_equal(out.group, in->group) ||
		    !texts_equal(out.old_value, in->old_value) ||
		    !texts_equal(out.new_value, in->new_value) ||
		    !texts_equal(out.text, in->text) || out.fd != -1)
			fail_msg("answer %zu came back changed", i);
		/* Neither kind passes for the other. */
		assert_true(neap_wire_parse_request(
				    msg, len, &(struct neap_hand_request){0}, NULL) < 0);
	}
}

/* In a block of just its size, so that a sanitizer sees every byte read over the end. */
static int parse_exact(const unsigned char *msg, size_t len, bool is_answer)
{
	unsigned char *copy = neap_alloc(len);
	struct neap_hand_request request;
	struct neap_hand_answer answer;
	unsigned char again[2048];
	struct neap_error err = {0};
	size_t again_len = 0;
	int rc;

	assert_non_null(copy);
	memcpy(copy, msg, len);
	if (is_answer)
		rc = neap_wire_parse_answer(copy, len, &answer, &err);
	else
		rc = neap_wire_parse_request(copy, len, &request, &err);
	/* What passes is a message that format makes, byte for byte. */
	if (rc == 0) {
		int formatted =
			is_answer
				? neap_wire_format_answer(&answer, again, sizeof(again),
							  &again_len, NULL)
				: neap_wire_format_request(&request, again, sizeof(again),
							   &again_len, NULL);

		assert_int_equal(formatted, 0);
		assert_int_equal(again_len, len);
		assert_memory_equal(again, copy, len);
	}
	free(copy);
	return rc;
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static void mangle(const unsigned char *msg, size_t len, bool is_answer, uint32_t *seed)
{
	unsigned char bad[2048];
	size_t cut;
	int i, n;

	assert_int_equal(parse_exact(msg, len, is_answer), 0);
	for (cut = 0; cut < len; cut++)
		assert_true(parse_exact(msg, cut, is_answer) < 0);
	memcpy(bad, msg, len);
	bad[len] = 0;
	assert_true(parse_exact(bad, len + 1, is_answer) < 0);
	for (i = 0; i < 4000; i++) {
		memcpy(bad, msg, len);
		for (n = (int)(next_random(seed) % 4); n >= 0; n--)
			bad[next_random(seed) % len] = (unsigned char)next_random(seed);
		(void)parse_exact(bad, len, is_answer);
	}
}

static void mutations(void **state)
{
	unsigned char msg[1024];
	uint32_t seed = 20240229;
	size_t i, len;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(requests); i++)
		if (neap_wire_format_request(&requests[i].request, msg, sizeof(msg), &len,
					     NULL) == 0)
			mangle(msg, len, false, &seed);
	for (i = 0; i < NEAP_ARRAY_LEN(answers); i++)
		if (neap_wire_format_answer(&answers[i], msg, sizeof(msg), &len, NULL) ==
		    0)
			mangle(msg, len, true, &seed);
}

static void limits(void **state)
{
	static unsigned char msg[NEAP_WIRE_MAX];
	static char group[NEAP_PATH_MAX + 1], value[NEAP_CPUSET_TEXT + 1], text[4096];
	struct neap_hand_request request = {
		1, NEAP_HAND_SET, group, NEAP_KEY_CPUSET_CPUS, value, -1};
	struct neap_hand_answer answer = {
		1, NEAP_HAND_SET, NEAP_KEY_CPUSET_CPUS, 1, 1, group, value, value, text};
	struct neap_error err = {0};
	size_t len = 0;
	uint64_t id = 5;
	enum neap_hand_op op = NEAP_HAND_LIST;

	(void)state;
	memset(group, 'g', NEAP_PATH_MAX - 1);
	memset(value, '1', NEAP_CPUSET_TEXT - 1);
	memset(text, 't', sizeof(text) - 1);
	assert_int_equal(neap_wire_format_request(&request, msg, sizeof(msg), &len, &err),
			 0);
	assert_int_equal(neap_wire_parse_request(msg, len, &request, &err), 0);
	assert_int_equal(neap_wire_format_answer(&answer, msg, sizeof(msg), &len, &err),
			 0);
	assert_int_equal(neap_wire_parse_answer(msg, len, &answer, &err), 0);
	assert_int_equal(strlen(answer.text), NEAP_WIRE_TEXT - 1);
	assert_int_equal(neap_wire_format_request(&request, msg, 64, &len, &err),
			 -NEAP_ETOOLARGE);
	request.group = group;
	request.value = value;
	value[NEAP_CPUSET_TEXT - 1] = '1';
	assert_int_equal(neap_wire_format_request(&request, msg, sizeof(msg), &len, &err),
			 -NEAP_ETOOLARGE);
	request.value = "0";
	group[NEAP_PATH_MAX - 1] = 'g';
	assert_int_equal(neap_wire_format_request(&request, msg, sizeof(msg), &len, &err),
			 -NEAP_ETOOLARGE);

	neap_wire_guess("short", 5, &id, &op);
	assert_int_equal(id, 0);
	assert_int_equal(op, NEAP_HAND_SET);
}

/* The text of a trigger: nothing passes but what format writes. */
static const struct {
	const char *text;
	bool is_good;
} triggers[] = {
	{"cpu some 20000 500000", true},
	{"memory full 500000 500000", true},
	{"io some 1 10000000", true},
	{"", false},
	{"cpu", false},
	{"cpu some 20000", false},
	{"cpu some 20000 500000 ", false},
	{" cpu some 20000 500000", false},
	{"cpu  some 20000 500000", false},
	{"cpu some 020000 500000", false},
	{"cpu some +20000 500000", false},
	{"cpu some -1 500000", false},
	{"cpu some 0 500000", false},
	{"cpu some 500001 500000", false},
	{"cpu some 20000 499999", false},
	{"cpu some 20000 10000001", false},
	{"cpu some 20000 99999999999999999999", false},
	{"cpu all 20000 500000", false},
	{"irq full 20000 500000", false},
	{"../cpu some 20000 500000", false},
	{"cpu some 20000 500000\n", false},
	{"cpu some 2e4 500000", false},
};

static void trigger_texts(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < NEAP_ARRAY_LEN(triggers); i++) {
		struct neap_hand_trigger trigger;
		char again[NEAP_HAND_TRIGGER_TEXT];
		struct neap_error err = {0};
		int rc = neap_hand_trigger_parse(triggers[i].text, &trigger, &err);

		if ((rc == 0) != triggers[i].is_good)
			fail_msg("'%s': parsed with %d", triggers[i].text, rc);
		if (rc < 0)
			continue;
		assert_int_equal(
			neap_hand_trigger_format(&trigger, again, sizeof(again), &err),
			0);
		assert_string_equal(again, triggers[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_round), cmocka_unit_test(answers_round),
		cmocka_unit_test(mutations),      cmocka_unit_test(limits),
		cmocka_unit_test(trigger_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
