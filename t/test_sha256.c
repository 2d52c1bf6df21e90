/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-256 against the published answers, and at the lengths around the block borders
 * against those of sha256sum(1). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/sha256.h"

static const struct {
	const char *text;
	int repeat;
	const char *want;
} rows[] = {
	{"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	{"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
	 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	{"a", 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
	{"a", 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
	{"a", 63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
	{"a", 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
	{"a", 119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"},
	{"a", 1000, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"},
};

static void test_answers(void **state)
{
	static char text[2048];
	char hex[NEAP_SHA256_HEX];

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		size_t piece = strlen(rows[i].text);

		for (int k = 0; k < rows[i].repeat; k++)
			memcpy(text + (size_t)k * piece, rows[i].text, piece);
		neap_sha256_hex(text, piece * (size_t)rows[i].repeat, hex);
		if (strcmp(hex, rows[i].want) != 0)
			fail_msg("row %zu: got %s, want %s", i, hex, rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_answers)};

	return cmocka_run_group_tests_name("sha256", tests, NULL, NULL);
}
