/* SPDX-License-Identifier: Apache-2.0
 *
 * The declarations in lua/meta against what is really there, both ways. The one side is
 * parsed, the other found by walking the state of a loaded policy: its globals, its ctx,
 * the metatables of neap's objects, the field tables of C, and what C answers to a field
 * that it does not know. Every difference is told by name. Runs in the root of the
 * repository. Names are "assert", "string.byte", "neap.Ctx.log", "neap.CpuSet:has". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <glob.h>

#include <lauxlib.h>

#include "lua/call/policy_priv.h"
#include "lua/deschedule/deschedule_priv.h"
#include "lua/vm/sandbox.h"
#include "lua/vm/vm_priv.h"

#define NAMES_MAX 1000

struct name {
	char text[96];
	char type[160]; /* of a declared field */
};

struct names {
	struct name row[NAMES_MAX];
	size_t count;
};

static struct names declared, live, classes;
static char
	used_types[65536]; /* all that stands behind a declaration: who is mentioned? */
static int differences;

static struct name *find(struct names *names, const char *text)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->row[i].text, text) == 0)
			return &names->row[i];
	return NULL;
}

static void differ(const char *name, const char *what, const char *more)
{
	print_error("%s%s%s\n", name, what, more);
	differences++;
}

static struct name *add(struct names *names, const char *left, const char *middle,
			const char *right)
{
	struct name *row = &names->row[names->count];

	assert_true(names->count < NAMES_MAX);
	snprintf(row->text, sizeof(row->text), "%s%s%s", left, middle, right);
	row->type[0] = '\0';
	if (find(names, row->text) != NULL)
		differ(row->text, " is there twice", "");
	else
		names->count++;
	return row;
}

/* --- the declarations --- */

struct reader {
	char class[64];   /* the one read last */
	char about[2000]; /* comment lines since the last declaration */
	struct {
		char var[32], class[64];
	} vars[40];
	size_t var_count;
};

/* Copies the characters of text that are in set; returns what follows. */
static const char *take(const char *text, const char *set, char *ret, size_t size)
{
	size_t len = strspn(text, set);

	assert_true(len < size);
	memcpy(ret, text, len);
	ret[len] = '\0';
	return text + len;
}

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789"

/* "mathlib" is the class of the table math, and its fields are members of that. */
static const char *owner(const char *class, char *buf, size_t size)
{
	size_t len = strlen(class);

	snprintf(buf, size, "%s", class);
	if (len > 3 && strcmp(class + len - 3, "lib") == 0)
		buf[len - 3] = '\0';
	return buf;
}

/* The type at the start of text: to a blank outside brackets. */
static void take_type(const char *text, char *ret, size_t size)
{
	int depth = 0;
	size_t len = 0;

	for (; text[len]; len++) {
		depth += strchr("{(<[", text[len]) != NULL;
		depth -= strchr("})>]", text[len]) != NULL;
		if (text[len] == ' ' && depth == 0)
			break;
	}
	snprintf(ret, size, "%.*s", (int)len, text);
}

static void read_class(struct reader *r, const char *text)
{
	/* Operators that LuaCATS has no word for stand in the text of the class. */
	static const char *const told[][2] = {{"`a == b`", "eq"},
					      {"`a < b`", "lt"},
					      {"`a <= b`", "le"},
					      {"`tostring(a)`", "tostring"}};

	(void)take(text, LETTERS ".", r->class, sizeof(r->class));
	add(&classes, r->class, "", "");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(told); i++)
		if (strstr(r->about, told[i][0]) != NULL)
			add(&declared, r->class, " operator ", told[i][1]);
}

static void read_field(struct reader *r, const char *text)
{
	char name[64], buf[64];
	struct name *row;

	text = take(text, LETTERS, name, sizeof(name));
	text += strspn(text, "? ");
	row = add(&declared, owner(r->class, buf, sizeof(buf)), ".", name);
	take_type(text, row->type, sizeof(row->type));
}

/* "X:name(" or "X.name(" or "name(" */
static void read_function(struct reader *r, const char *text)
{
	char left[64], name[64], separator[2] = "";

	text = take(text, LETTERS, left, sizeof(left));
	if (*text == '(') {
		add(&declared, left, "", "");
		return;
	}
	separator[0] = *text;
	(void)take(text + 1, LETTERS, name, sizeof(name));
	for (size_t i = 0; i < r->var_count; i++)
		if (strcmp(r->vars[i].var, left) == 0) {
			add(&declared, r->vars[i].class, separator, name);
			return;
		}
	differ(left, " has functions in lua/meta, but no class", "");
}

/* "X = {}", after "local " for an object */
static void read_table(struct reader *r, const char *text, bool is_local)
{
	char name[32];

	if (strncmp(take(text, LETTERS, name, sizeof(name)), " = {}", 5) != 0)
		return;
	assert_true(r->var_count < NEAP_ARRAY_LEN(r->vars));
	snprintf(r->vars[r->var_count].var, sizeof(r->vars[0].var), "%s", name);
	(void)owner(r->class, r->vars[r->var_count].class, sizeof(r->vars[0].class));
	r->var_count++;
	if (!is_local)
		add(&declared, name, "", "");
}

static void read_line(struct reader *r, const char *line)
{
	if (strncmp(line, "---@", 4) == 0) {
		char word[32];
		const char *rest = take(line + 4, LETTERS, word, sizeof(word));

		rest += *rest == ' ';
		if (strcmp(word, "field") == 0)
			read_field(r, rest);
		if (strcmp(word, "operator") == 0) {
			char event[32];

			(void)take(rest, LETTERS, event, sizeof(event));
			add(&declared, r->class, " operator ", event);
		}
		if (strcmp(word, "class") == 0) {
			read_class(r, rest);
		} else {
			size_t len = strlen(used_types);

			assert_true(len + strlen(line) + 3 < sizeof(used_types));
			snprintf(used_types + len, sizeof(used_types) - len, "%s \n",
				 rest);
		}
		r->about[0] = '\0';
		return;
	}
	if (strncmp(line, "--- ", 4) == 0) {
		size_t len = strlen(r->about);

		snprintf(r->about + len, sizeof(r->about) - len, "%s ", line + 4);
		return;
	}
	if (strncmp(line, "function ", 9) == 0)
		read_function(r, line + 9);
	else if (strncmp(line, "local ", 6) == 0)
		read_table(r, line + 6, true);
	else
		read_table(r, line, false);
	r->about[0] = '\0';
}

static int read_declarations(void **state)
{
	static struct reader reader;
	char line[600];
	glob_t files;

	(void)state;
	assert_int_equal(glob("lua/meta/*.lua", 0, NULL, &files), 0);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		FILE *f = fopen(files.gl_pathv[i], "r");

		assert_non_null(f);
		while (fgets(line, sizeof(line), f) != NULL) {
			line[strcspn(line, "\n")] = '\0';
			read_line(&reader, line);
		}
		fclose(f);
	}
	globfree(&files);
	return 0;
}

/* --- what is there --- */

/* The declared type is that of a Lua value of this type. */
static bool fits(const char *declared_type, int lua_type_of)
{
	static const struct {
		const char *start;
		int type;
	} rows[] = {
		{"integer", LUA_TNUMBER}, {"number", LUA_TNUMBER},
		{"string", LUA_TSTRING},  {"boolean", LUA_TBOOLEAN},
		{"table", LUA_TTABLE},    {"{", LUA_TTABLE},
		{"neap.", LUA_TTABLE},    {"userdata", LUA_TUSERDATA},
		{"neap.", LUA_TUSERDATA},
	};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		if (rows[i].type == lua_type_of &&
		    strncmp(declared_type, rows[i].start, strlen(rows[i].start)) == 0)
			return true;
	return false;
}

static void check_inline(lua_State *L, const char *name, const char *type)
{
	char key[64];

	for (const char *at = type + 1; *at && *at != '}';) {
		at = take(at + strspn(at, " ,"), LETTERS, key, sizeof(key));
		if (lua_getfield(L, -1, key) == LUA_TNIL)
			differ(name,
			       " is declared to have a field that is not there: ", key);
		lua_pop(L, 1);
		at += strcspn(at, ",}");
	}
	lua_pushnil(L);
	while (lua_next(L, -2) != 0) {
		lua_pop(L, 1);
		snprintf(key, sizeof(key), " %s:", lua_tostring(L, -1));
		if (strstr(type, key) == NULL)
			differ(name, " is not declared to have", key);
	}
}

/* A key that may be missing just now: it is known to the metatable that refuses unknown
 * ones. */
static void walk_strict(lua_State *L, const char *class)
{
	if (!luaL_getmetafield(L, -1, "__index"))
		return;
	if (lua_iscfunction(L, -1) && lua_getupvalue(L, -1, 1) != NULL) {
		assert_int_equal(lua_type(L, -1), LUA_TTABLE);
		lua_pushnil(L);
		while (lua_next(L, -2) != 0) {
			char text[96];

			lua_pop(L, 1);
			snprintf(text, sizeof(text), "%s.%s", class, lua_tostring(L, -1));
			if (find(&live, text) == NULL)
				add(&live, text, "", "");
		}
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

/* The table at the top, read-only or not, and the tables in it that have a class. */
static void walk(lua_State *L, const char *class)
{
	luaL_checkstack(L, 20, NULL);
	(void)neap_sandbox_push_thawed(L, -1);
	lua_pushnil(L);
	while (lua_next(L, -2) != 0) {
		char key[64], type[160] = "";
		const struct name *row;
		struct name *there;

		assert_int_equal(lua_type(L, -2), LUA_TSTRING);
		snprintf(key, sizeof(key), "%s", lua_tostring(L, -2));
		there = add(&live, class, *class ? "." : "", key);
		row = find(&declared, there->text);
		if (row != NULL)
			snprintf(type, sizeof(type), "%s", row->type);
		if (*type && !lua_isfunction(L, -1) && !fits(type, lua_type(L, -1)))
			differ(there->text, " is not what is declared: ", type);
		(void)neap_sandbox_push_thawed(L, -1);
		if (*type == '{')
			check_inline(L, there->text, type);
		else if (strncmp(type, "neap.", 5) == 0 && lua_istable(L, -1))
			walk(L, type);
		else if (!*class && lua_istable(L, -1)) /* a library */
			walk(L, key);
		lua_pop(L, 2);
	}
	walk_strict(L, class);
	lua_pop(L, 1);
}

/* Metatables of neap's objects: methods and operators. */
static void walk_types(lua_State *L)
{
	int count = 0;

	lua_pushvalue(L, LUA_REGISTRYINDEX);
	lua_pushnil(L);
	while (lua_next(L, -2) != 0) {
		char type[64];

		if (lua_type(L, -2) != LUA_TSTRING || !lua_istable(L, -1) ||
		    strncmp(lua_tostring(L, -2), "neap.", 5) != 0) {
			lua_pop(L, 1);
			continue;
		}
		snprintf(type, sizeof(type), "%s", lua_tostring(L, -2));
		count++;
		lua_pushnil(L);
		while (lua_next(L, -2) != 0) {
			/* What C keeps in there for itself has numbers. */
			const char *event = lua_type(L, -2) == LUA_TSTRING
						    ? lua_tostring(L, -2)
						    : "__name";

			if (strcmp(event, "__index") == 0) {
				assert_int_equal(lua_type(L, -1), LUA_TTABLE);
				lua_pushnil(L);
				for (; lua_next(L, -2) != 0; lua_pop(L, 1))
					add(&live, type, ":", lua_tostring(L, -2));
			} else if (strcmp(event, "__gc") != 0 &&
				   strcmp(event, "__name") != 0 &&
				   strcmp(event, "__metatable") != 0) {
				add(&live, type, " operator ", event + 2);
			}
			lua_pop(L, 1);
		}
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
	assert_true(count >= 2);
}

static const char *const c_types[] = {
	[NEAP_FIELD_INT] = "integer",
	[NEAP_FIELD_REAL] = "number",
	[NEAP_FIELD_TEXT] = "string",
	[NEAP_FIELD_NAME] = "string",
	[NEAP_FIELD_BOOL] = "boolean",
	[NEAP_FIELD_CPUSET] = "neap.CpuSet",
	[NEAP_FIELD_TOPOLOGY] = "neap.Topology",
	[NEAP_FIELD_STRUCT] = "neap.Class",
	[NEAP_FIELD_LIST] = "neap.Workload[]",
	[NEAP_FIELD_KEYS] = "table<string, boolean>",
};

static void walk_fields(const char *class, const struct neap_field *fields)
{
	for (const struct neap_field *f = fields; f->name != NULL; f++) {
		const struct name *row =
			find(&declared, add(&live, class, ".", f->name)->text);
		const char *type = c_types[f->type];

		if (row == NULL)
			continue;
		if (strncmp(row->type, type, strlen(type)) != 0 ||
		    (row->type[strlen(type)] && strcmp(row->type + strlen(type), "|nil")))
			differ(row->text,
			       " is declared to be something else than in C: ", type);
	}
}

/* Tables that policies give: an unknown field is refused with a list of those that are
 * known. */
static const struct {
	const char *class, *kind, *text;
} probes[] = {
	{"neap.QosPolicy", "qos", "tick = function() end, zzz = 1"},
	{"neap.Param", "qos", "tick = function() end, params = { p = { zzz = 1 } }"},
	{"neap.Example", "qos",
	 "tick = function() end, examples = { { name = 'x', zzz = 1 } }"},
	{"neap.Write", "qos",
	 "tick = function() return { { zzz = 1 } } end,"
	 "examples = { { name = 'x', want = {} } }"},
	{"neap.ScorePolicy", "score", "plan = function() end, zzz = 1"},
	{"neap.FilterPolicy", "filter", "allow = function() end, zzz = 1"},
	{"neap.ReservationPolicy", "reservation", "match = function() end, zzz = 1"},
	{"neap.DeschedulePolicy", "deschedule", "zzz = 1"},
	{"neap.EvictPolicy", "evict", "zzz = 1"},
	{"neap.EvictorPolicy", "evictor", "zzz = 1"},
	{"neap.MigrationPolicy", "migration", "zzz = 1"},
	{"neap.PlacePod", "score", "plan = function() end, needs = { 'pod.zzz' }"},
	{"neap.Resv", "reservation", "match = function() end, needs = { 'resv.zzz' }"},
	{"neap.Term", "score",
	 "plan = function() return { { zzz = 1 } } end,"
	 "examples = { { name = 'x', want = 'hold' } }"},
};

static void keep_message(void *arg, const char *row, const struct neap_error *err)
{
	(void)row;
	if (err != NULL)
		memcpy(arg, err, sizeof(*err));
}

static void walk_probes(void)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(probes); i++) {
		char text[300], name[64];
		struct neap_policy *policy = NULL;
		struct neap_error err = {0}, other;
		const char *at;

		snprintf(text, sizeof(text),
			 "return { api = 1, kind = '%s', name = 'x', %s }",
			 probes[i].kind, probes[i].text);
		if (neap_policy_load(text, strlen(text), "p.lua", &policy, &err) == 0)
			(void)neap_policy_run_examples(policy, keep_message, &err,
						       &other);
		neap_policy_free(policy);
		at = strstr(err.msg, "known: ");
		if (at == NULL)
			fail_msg("%s: no list of known fields in '%s'", probes[i].class,
				 err.msg);
		at += strlen("known:");
		do {
			at = take(at + 1 + (*at == ','), LETTERS, name, sizeof(name));
			add(&live, probes[i].class, ".", name);
			if (*at == '.' || *at == '[') /* of a table: ".KEY" */
				at += strcspn(at, ",");
		} while (*at == ',');
	}
}

/* Fields and methods of the objects of a round: the last upvalue of their __index. */
static void walk_names(lua_State *L, const char *class)
{
	assert_true(lua_getfield(L, -1, "__index") == LUA_TFUNCTION);
	assert_non_null(lua_getupvalue(L, -1, NEAP_UP_NAMES));
	lua_pushnil(L);
	for (; lua_next(L, -2) != 0; lua_pop(L, 1))
		add(&live, class, lua_isfunction(L, -1) ? ":" : ".", lua_tostring(L, -2));
	lua_pop(L, 2);
}

static void walk_round(void)
{
	static const char text[] = "return { api = 1, kind = 'deschedule', name = 'x', "
				   "point = 'balance', run = function() end }";
	/* In the order of the upvalues. */
	static const char *const types[] = {"neap.Round", "neap.RoundNode",
					    "neap.RoundPod"};
	struct neap_policy *policy = NULL;
	lua_State *L;

	assert_int_equal(neap_policy_load(text, strlen(text), "p.lua", &policy, NULL), 0);
	L = neap_vm_state(neap_policy_vm(policy));
	neap_policy_push(L, policy, NEAP_REF_ROUND);
	assert_int_equal(luaL_getmetafield(L, -1, "__index"), LUA_TFUNCTION);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(types); i++) {
		assert_non_null(lua_getupvalue(L, -1, NEAP_UP_ROUND + (int)i));
		walk_names(L, types[i]);
		lua_pop(L, 1);
	}
	lua_pop(L, 2);
	neap_policy_free(policy);
}

/* --- the comparison --- */

static bool starts_with_class(const char *name, const char *class)
{
	size_t len = strlen(class);

	return strncmp(name, class, len) == 0 && strchr(".: ", name[len]) != NULL &&
	       name[len] != '\0';
}

/* A plain table that goes in or out of a function: nothing of it can be found, but it has
 * to be the type of something. */
static bool is_shape(const char *class)
{
	static const char *const ends[] = {" ", "|", "[", ",", ")", "?", ">", "}", NULL};
	char text[100];

	if (strncmp(class, "neap.", 5) != 0)
		return false;
	for (size_t i = 0; i < live.count; i++)
		if (starts_with_class(live.row[i].text, class))
			return false;
	for (size_t i = 0; i < declared.count; i++)
		if (starts_with_class(declared.row[i].text, class) &&
		    declared.row[i].type[0] == '\0')
			return false;
	for (size_t i = 0; ends[i] != NULL; i++) {
		snprintf(text, sizeof(text), "%s%s", class, ends[i]);
		if (strstr(used_types, text) != NULL)
			return true;
	}
	return false;
}

static bool is_of_shape(const char *name)
{
	for (size_t i = 0; i < classes.count; i++)
		if (starts_with_class(name, classes.row[i].text))
			return is_shape(classes.row[i].text);
	return false;
}

static void test_both_ways(void **state)
{
	static const char text[] =
		"return { api = 1, kind = \"qos\", name = \"x\", tick = "
		"function() end }";
	struct neap_policy *policy = NULL;
	struct neap_error err;
	lua_State *L;

	(void)state;
	assert_int_equal(neap_policy_load(text, strlen(text), "p.lua", &policy, &err), 0);
	L = neap_vm_state(neap_policy_vm(policy));
	lua_pushglobaltable(L);
	walk(L, "");
	lua_pop(L, 1);
	neap_policy_push(L, policy, NEAP_REF_CTX);
	walk(L, "neap.Ctx");
	lua_pop(L, 1);
	walk_types(L);
	neap_policy_free(policy);

	walk_fields("neap.NodeSample", neap_sample_fields);
	walk_fields("neap.Workload", neap_workload_fields);
	walk_fields("neap.Class", neap_class_fields);
	walk_probes();
	walk_round();

	/* A walk that finds little is a walk that went wrong. */
	assert_true(live.count > 170);
	for (size_t i = 0; i < live.count; i++)
		if (find(&declared, live.row[i].text) == NULL)
			differ(live.row[i].text, " is not declared in lua/meta", "");
	for (size_t i = 0; i < declared.count; i++)
		if (find(&live, declared.row[i].text) == NULL &&
		    !is_of_shape(declared.row[i].text))
			differ(declared.row[i].text,
			       " is declared in lua/meta, but not there", "");
	assert_int_equal(differences, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_both_ways)};

	return cmocka_run_group_tests_name("meta", tests, read_declarations, NULL);
}
