/* SPDX-License-Identifier: Apache-2.0
 *
 * Feeds source text to Lua's compiler in small pieces. The compiler has no hook and is
 * quadratic for some texts (names searched in all enclosing functions, long chains of
 * `and`), so the budget is checked between pieces. What it does in one step at the end of
 * a loop or block, for all pending jumps, is bounded by limiting their number. */
#include <string.h>

#include <lauxlib.h>

#include "engine/base/base.h"
#include "lua/vm/vm.h"
#include "lua/vm/vm_priv.h"

#define PIECE_BYTES 256
/* break, goto and labels: 2000 of each take 10 ms at the most. */
#define JUMPS_MAX 2000

struct source {
	const char *at;
	size_t left;
};

static const char *next_piece(lua_State *L, void *arg, size_t *ret_len)
{
	struct source *source = arg;
	const char *piece = source->at;

	neap_vm_check(L);
	*ret_len = source->left < PIECE_BYTES ? source->left : PIECE_BYTES;
	source->at += *ret_len;
	source->left -= *ret_len;
	return *ret_len ? piece : NULL;
}

/* Words in comments and texts count as well: nobody has so many. */
static const char *find_too_many(const char *text, size_t len)
{
	static const char *const words[] = {"break", "goto", "::"};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(words); i++) {
		const char *at = text, *end = text + len;
		int count = 0;

		while ((at = memmem(at, (size_t)(end - at), words[i],
				    strlen(words[i]))) != NULL) {
			at += strlen(words[i]);
			if (++count > JUMPS_MAX)
				return words[i];
		}
	}
	return NULL;
}

int neap_source_check(const char *text, size_t len, const char *name,
		      struct neap_error *err)
{
	const char *word = find_too_many(text, len);

	if (!word)
		return 0;
	return neap_error_set(err, NEAP_ELIMIT, "%s: '%s' is there over %d times", name,
			      word, JUMPS_MAX);
}

int neap_source_load(lua_State *L, const char *text, size_t len, const char *chunk)
{
	struct source source = {.at = text, .left = len};

	return lua_load(L, next_piece, &source, chunk, "t");
}
