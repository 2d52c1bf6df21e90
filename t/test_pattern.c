/* SPDX-License-Identifier: Apache-2.0
 *
 * The bounded pattern matcher against Lua's own string library: thousands of random small
 * patterns and texts must give the same results, and fail where Lua's fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

#include "lua/vm/sandbox.h"
#include "lua/vm/vm.h"

#if defined(__SANITIZE_THREAD__)
#define PAIRS                                                                            \
	2000 /* it keeps a frame of each error that Lua raises, and has room for 65536 */
#else
#define PAIRS 20000
#endif

/* Runs every function on one pair and gives all results as one text. */
static const char driver[] =
	"local real, find, match, gmatch, gsub = ...\n"
	"local function show(ok, ...)\n"
	"  if not ok then return 'error' end\n"
	"  local out = {}\n"
	"  for i = 1, select('#', ...) do\n"
	"    local v = select(i, ...)\n"
	"    out[i] = type(v) .. ':' .. tostring(v)\n"
	"  end\n"
	"  return real.concat(out, ',')\n"
	"end\n"
	"local function all(s, p, init)\n"
	"  local out = {}\n"
	"  for a, b in gmatch(s, p, init) do out[#out + 1] = show(true, a, b) end\n"
	"  return real.concat(out, ';')\n"
	"end\n"
	"return function(s, p, r, init)\n"
	"  return real.concat({\n"
	"    show(pcall(find, s, p, init)), show(pcall(find, s, p, init, true)),\n"
	"    show(pcall(match, s, p, init)), show(pcall(all, s, p, init)),\n"
	"    show(pcall(gsub, s, p, r)), show(pcall(gsub, s, p, r, 2)),\n"
	"    show(pcall(gsub, s, p, function(a, b) return b or a end)),\n"
	"    show(pcall(gsub, s, p, { a = 'X', [1] = 'one', ab = false, b = 7 })),\n"
	"  }, '|')\n"
	"end\n";

static const struct row {
	const char *name, *text, *pattern, *replacement;
	int init;
} rows[] = {
	{"plain word", "hello world", "wor", "x", 1},
	{"negative start", "hello", "l+", "L", -2},
	{"start past the end", "ab", "", "x", 4},
	{"start at the end", "ab", "", "x", 3},
	{"start far before", "ab", "a", "x", -9},
	{"empty pattern", "abc", "", "-", 1},
	{"two captures swapped", "key = value", "(%w+) = (%w+)", "%2=%1", 1},
	{"position captures", "abc", "()b()", "%1%2", 1},
	{"nested captures", "abcd", "(a(b(c)))", "%3%2%1", 1},
	{"back reference", "abab", "(ab)%1", "[%0]", 1},
	{"back reference to a position", "aa", "()%1", "x", 1},
	{"back reference to none", "aa", "%1", "x", 1},
	{"balanced", "f(a(b)c)d)", "%b()", "<%0>", 1},
	{"balanced, same letters", "xaxbx", "%bxx", "-", 1},
	{"balanced, cut", "((", "%b(", "-", 1},
	{"frontier", "THE (quick) fox", "%f[%a]%a+", "<%0>", 1},
	{"frontier at the end", "ab", "%f[%z]", "!", 1},
	{"frontier without set", "ab", "%fa", "!", 1},
	{"anchors", "aaa", "^a$", "b", 1},
	{"anchor only at the front", "aaa", "^a", "b", 1},
	{"dollar in the middle", "a$b", "a$b", "c", 1},
	{"caret in the middle", "a^b", "a^b", "c", 1},
	{"set with bracket first", "a]b", "[]]", "c", 1},
	{"negated set", "a]b", "[^]]", "c", 1},
	{"set with range and class", "a-z09_", "[a-c%d_-]+", "c", 1},
	{"set with minus last", "a-b", "[a-]+", "c", 1},
	{"set not closed", "a", "[a", "c", 1},
	{"set ends with percent", "a", "[%", "c", 1},
	{"percent at the end", "a", "%", "c", 1},
	{"capture not closed", "abc", "(a", "c", 1},
	{"capture not opened", "abc", "a)", "c", 1},
	{"lone z class", "a\x01z", "%z", "c", 1},
	{"replacement with bad percent", "abc", "b", "%x", 1},
	{"replacement ends with percent", "abc", "b", "%", 1},
	{"replacement with high index", "abc", "(b)", "%2", 1},
	{"replacement with double percent", "abc", "b", "%%", 1},
	{"shortest", "<<a>><b>", "<(.-)>", "%1", 1},
	{"optional", "color colour", "colou?r", "c", 1},
	{"star then end", "aaab", "a*$", "x", 1},
	{"empty matches", "abc d", "%w*", "x", 1},
	{"every class", "aA1 \t.\x7f", "%a%u%d%s%c%p%c", "x", 1},
	{"complement classes", "aA1 .", "%U%L%D", "x", 1},
	{"high bytes", "\xc3\xa4\xff", "[\xc0-\xff]+", "x", 1},
	{"quantifier first", "*a", "*a", "x", 1},
	{"thirty-two captures", "a",
	 "()()()()()()()()()()()()()()()()()()()()()()()()()()()()()()()()", "x", 1},
	{"thirty-three captures", "a",
	 "()()()()()()()()()()()()()()()()()()()()()()()()()()()()()()()()()", "x", 1},
};

struct fixture {
	struct neap_vm *vm;
	lua_State *plain;
};

/* Leaves the driver's function at stack index 1 of either state. */
static int set_up(void **state)
{
	static struct fixture f;
	static const char *const names[] = {"find", "match", "gmatch", "gsub"};
	struct neap_error err;
	lua_State *L;
	size_t i;

	assert_int_equal(neap_vm_new(16 << 20, &f.vm, &err), 0);
	L = neap_vm_state(f.vm);
	assert_int_equal(neap_vm_load(f.vm, driver, strlen(driver), "driver", &err), 0);
	assert_int_equal(neap_vm_load(f.vm, "return table", 12, "t", &err), 0);
	assert_int_equal(neap_vm_call(f.vm, 0, 1, 1000000, &err), 0);
	for (i = 0; i < 4; i++) {
		char text[32];

		(void)snprintf(text, sizeof(text), "return string.%s", names[i]);
		assert_int_equal(neap_vm_load(f.vm, text, strlen(text), "f", &err), 0);
		assert_int_equal(neap_vm_call(f.vm, 0, 1, 1000000, &err), 0);
	}
	assert_int_equal(neap_vm_call(f.vm, 5, 1, 1000000, &err), 0);
	assert_int_equal(lua_gettop(L), 1);

	f.plain = luaL_newstate();
	assert_non_null(f.plain);
	luaL_openlibs(f.plain);
	assert_int_equal(luaL_loadstring(f.plain, driver), LUA_OK);
	lua_getglobal(f.plain, "table");
	lua_getglobal(f.plain, "string");
	for (i = 0; i < 4; i++)
		lua_getfield(f.plain, 3, names[i]);
	lua_remove(f.plain, 3);
	lua_call(f.plain, 5, 1);
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	neap_vm_free(f->vm);
	lua_close(f->plain);
	return 0;
}

/* Fails when the two disagree. Returns whether anything but errors came out. */
static bool compare(struct fixture *f, const char *name, const char *text,
		    size_t text_len, const char *pattern, size_t pattern_len,
		    const char *replacement, int init)
{
	lua_State *states[] = {neap_vm_state(f->vm), f->plain};
	struct neap_error err;
	bool is_fine;
	int i;

	for (i = 0; i < 2; i++) {
		lua_State *L = states[i];

		lua_settop(L, 1);
		lua_pushvalue(L, 1);
		lua_pushlstring(L, text, text_len);
		lua_pushlstring(L, pattern, pattern_len);
		lua_pushstring(L, replacement);
		lua_pushinteger(L, init);
	}
	if (neap_vm_call(f->vm, 4, 1, 10000000, &err) < 0)
		fail_msg("%s: %s", name, err.msg);
	lua_call(f->plain, 4, 1);
	is_fine = strcmp(lua_tostring(states[0], -1), lua_tostring(states[1], -1)) == 0;
	if (!is_fine)
		fail_msg(
			"%s: text '%s' pattern '%s' replacement '%s' init %d\n ours %s\n Lua  %s",
			name, text, pattern, replacement, init,
			lua_tostring(states[0], -1), lua_tostring(states[1], -1));
	return strstr(lua_tostring(states[0], -1), "error") == NULL;
}

static void test_rows(void **state)
{
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		(void)compare(*state, rows[i].name, rows[i].text, strlen(rows[i].text),
			      rows[i].pattern, strlen(rows[i].pattern),
			      rows[i].replacement, rows[i].init);
}

static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33);
}

static size_t join_pieces(uint64_t *seed, const char *const *pieces, size_t count,
			  size_t max, char *to, size_t size)
{
	size_t len = 0, i, n = next_random(seed) % (max + 1);

	for (i = 0; i < n; i++) {
		const char *piece = pieces[next_random(seed) % count];
		size_t piece_len = strlen(piece);

		if (len + piece_len + 1 > size)
			break;
		memcpy(to + len, piece, piece_len);
		len += piece_len;
	}
	to[len] = '\0';
	return len;
}

static void test_random_pairs(void **state)
{
	static const char *const patterns[] = {
		"a",    "b",     "c",      ".",    "(",    ")",      "()",     "*",
		"+",    "-",     "?",      "%a",   "%d",   "%s",     "%W",     "[ab]",
		"[^a]", "[a-c]", "[%d%s]", "%b()", "%bab", "%f[%w]", "%f[^a]", "%1",
		"%2",   "^",     "$",      "%",    "[",    "]",      "1",      "(a",
		"b)",   "(.)",   "%.",     "(.-)", "(a*)", "%u",
	};
	static const char *const texts[] = {
		"a", "b", "c", "ab", "1", " ", "(", ")",
		"A", "%", ".", "aa", "^", "$", "-",
	};
	static const char *const replacements[] = {"x",  "%0", "%1",   "%2",
						   "%%", "",   "<%1>", "%"};
	uint64_t seed = 20240607;
	int i, fine = 0;

	for (i = 0; i < PAIRS; i++) {
		char pattern[64], text[64];
		size_t pattern_len, text_len;

		pattern_len = join_pieces(&seed, patterns, NEAP_ARRAY_LEN(patterns), 7,
					  pattern, sizeof(pattern));
		text_len = join_pieces(&seed, texts, NEAP_ARRAY_LEN(texts), 12, text,
				       sizeof(text));
		fine += compare(
			*state, "random", text, text_len, pattern, pattern_len,
			replacements[next_random(&seed) % NEAP_ARRAY_LEN(replacements)],
			(int)(next_random(&seed) % 9) - 3);
	}
	assert_true(fine > PAIRS / 10); /* else the pairs test errors only */
}

static void test_embedded_zeros(void **state)
{
	(void)compare(*state, "zero in both", "a\0b", 3, "\0b", 2, "x", 1);
	(void)compare(*state, "zero in a set", "a\0b", 3, "[\0]", 3, "x", 1);
	(void)compare(*state, "zero counted", "\0\0a", 3, "\0+", 2, "x", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_random_pairs),
		cmocka_unit_test(test_embedded_zeros),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
