/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads a policy: compiles it, runs the chunk, checks the returned table; and the queries
 * on a loaded policy. */
#include "lua/call/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lauxlib.h>

#include "engine/base/buf.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "engine/base/selector.h"
#include "engine/base/sha256.h"
#include "engine/base/utf8.h"
#include "lua/call/policy_priv.h"
#include "lua/value/convert.h"
#include "lua/value/objects.h"
#include "lua/vm/budget.h"

#define EXAMPLES_MAX 1000
#define BYTECODE     '\x1b' /* first byte of what luac writes */

static const char *const table_keys[] = {"api",   "kind",     "name",  "doc",   "params",
					 "needs", "examples", "rules", "valid", NULL};

/* --- where something stands in the text --- */

/* Blanks before `key =` on the line, -1 when the line is something else. */
static int indent_of(const char *line, const char *key)
{
	int indent = (int)strspn(line, " \t");
	size_t len = strlen(key);

	if (strncmp(line + indent, key, len) != 0)
		return -1;
	line += (size_t)indent + len;
	line += strspn(line, " \t");
	return line[0] == '=' && line[1] != '=' ? indent : -1;
}

int neap_policy_find_line(const struct neap_policy *policy, const char *key,
			  const char *value)
{
	char quoted[128];
	int best = -1, best_line = 0, line = 0;

	snprintf(quoted, sizeof(quoted), "\"%s\"", value ? value : "");
	for (const char *at = policy->text; at; line++) {
		const char *next = strchr(at, '\n');
		size_t len = next ? (size_t)(next - at) : strlen(at);
		int indent = value ? -1 : indent_of(at, key);

		if (value && memmem(at, len, quoted, strlen(quoted)) &&
		    memmem(at, len, key, strlen(key)))
			indent = 0;
		if (indent >= 0 && (best < 0 || indent < best)) {
			best = indent;
			best_line = line + 1;
		}
		at = next ? next + 1 : NULL;
	}
	return best_line;
}

const char *neap_policy_where(const struct neap_policy *policy, const char *key,
			      const char *value, char *buf, size_t size)
{
	int line = neap_policy_find_line(policy, key, value);

	if (line)
		snprintf(buf, size, "%s:%d", policy->origin, line);
	else
		snprintf(buf, size, "%s", policy->origin);
	return buf;
}

static int at_key(const struct neap_policy *policy, const char *key,
		  struct neap_error *err)
{
	char where[300];

	return neap_error_wrap(
		err, "%s", neap_policy_where(policy, key, NULL, where, sizeof(where)));
}

static int bad(const struct neap_policy *policy, const char *key, struct neap_error *err,
	       const char *what)
{
	(void)neap_error_set(err, NEAP_EINVAL, "field '%.60s': %s", key, what);
	return at_key(policy, key, err);
}

int neap_policy_in(const struct neap_policy *policy, enum neap_policy_ref ref,
		   const char *name, struct neap_error *err)
{
	lua_State *L = neap_vm_state(policy->vm);
	lua_Debug ar;
	size_t len;

	neap_policy_push(L, policy, ref);
	if (!lua_isfunction(L, -1)) {
		lua_pop(L, 1);
		return -(int)err->code;
	}
	(void)lua_getinfo(L, ">S", &ar);
	len = strlen(ar.short_src);
	if (err->code == NEAP_ENOMEM ||
	    (strncmp(err->msg, ar.short_src, len) == 0 && err->msg[len] == ':'))
		return -(int)err->code;
	return neap_error_wrap(err, "%s:%d: in function '%s'", ar.short_src,
			       ar.linedefined, name);
}

/* --- the table --- */

static bool is_in(const char *const *names, const char *key)
{
	while (*names && strcmp(*names, key) != 0)
		names++;
	return *names != NULL;
}

static void print_known(const char *const *names, char *buf, size_t size)
{
	for (; *names; names++) {
		size_t len = strlen(buf);

		(void)snprintf(buf + len, size - len, ", %s", *names);
	}
}

/* Checks the fields that only some kinds have. */
static int check_place(lua_State *L, int table, const struct neap_policy *policy,
		       struct neap_error *err)
{
	if (!is_in(policy->kind->more, "where") &&
	    neap_lua_get(L, table, "where") != LUA_TNIL)
		return bad(policy, "where", err,
			   "of kinds qos and filter only: others tell nodes apart by "
			   "their labels");
	if (neap_lua_get(L, table, "triggers") != LUA_TNIL)
		return bad(policy, "triggers", err,
			   "of kind qos only: the scheduler asks when there is a pod");
	return 0;
}

static int check_keys(lua_State *L, int table, const struct neap_policy *policy,
		      struct neap_error *err)
{
	const struct neap_kind *kind = policy->kind;

	lua_pushnil(L);
	while (lua_next(L, table)) {
		const char *key = neap_lua_name(L, -2);
		char known[160] = "", what[220];

		if (is_in(table_keys, key) || is_in(kind->functions, key) ||
		    is_in(kind->more, key)) {
			lua_pop(L, 1);
			continue;
		}
		print_known(table_keys, known, sizeof(known));
		print_known(kind->more, known, sizeof(known));
		print_known(kind->functions, known, sizeof(known));
		(void)snprintf(what, sizeof(what),
			       "a policy of kind %s has no such field; known: %s",
			       kind->name, known + strlen(", "));
		return bad(policy, key, err, what);
	}
	return 0;
}

bool neap_policy_is_name(const char *text)
{
	return text[0] && text[0] != '-' && strlen(text) < 48 &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(text);
}

static int read_head(lua_State *L, int table, struct neap_policy *policy,
		     struct neap_error *err)
{
	char known[100];

	if (neap_lua_get(L, table, "api") != LUA_TNUMBER || !lua_isinteger(L, -1))
		return bad(policy, "api", err, "api = 1 is wanted");
	if (lua_tointeger(L, -1) != NEAP_POLICY_API)
		return bad(policy, "api", err, "this neap knows api = 1 only");
	policy->api = NEAP_POLICY_API;

	neap_lua_get(L, table, "kind");
	policy->kind = neap_kind_find(neap_lua_name(L, -1));
	if (!policy->kind) {
		snprintf(known, sizeof(known), "there is no such kind; known: %s",
			 neap_kind_names());
		return bad(policy, "kind", err, known);
	}
	if (policy->kind->memory_bytes)
		neap_vm_set_memory(policy->vm, policy->kind->memory_bytes);
	neap_lua_get(L, table, "name");
	if (!neap_policy_is_name(neap_lua_name(L, -1)) ||
	    !neap_strcopy(policy->name, sizeof(policy->name), neap_lua_name(L, -1)))
		return bad(policy, "name", err, "1 to 47 of a-z, 0-9 and - are wanted");
	snprintf(policy->label, sizeof(policy->label), "%s/%s@%s", policy->kind->name,
		 policy->name, policy->version);

	if (neap_lua_get(L, table, "doc") == LUA_TNIL)
		return 0;
	if (!neap_lua_text(L, -1))
		return bad(policy, "doc", err, "a text is wanted");
	policy->doc = neap_strdup(neap_lua_text(L, -1));
	return policy->doc ? 0 : neap_error_nomem(err);
}

static int read_functions(lua_State *L, int table, struct neap_policy *policy,
			  struct neap_error *err)
{
	char what[100];

	for (const char *const *name = policy->kind->functions; *name; name++) {
		if (neap_lua_get(L, table, *name) == LUA_TFUNCTION)
			continue;
		snprintf(what, sizeof(what), "kind %s needs this function, this is a %s",
			 policy->kind->name, luaL_typename(L, -1));
		return bad(policy, *name, err, what);
	}
	neap_lua_get(L, table, policy->kind->functions[0]);
	neap_policy_keep(L, policy, NEAP_REF_TICK);
	neap_vm_set_entry(policy->vm, policy->kind->functions[0]);

	if (neap_lua_get(L, table, "valid") != LUA_TNIL) {
		if (!lua_isfunction(L, -1))
			return bad(policy, "valid", err, "a function is wanted");
		neap_policy_keep(L, policy, NEAP_REF_VALID);
	}

	if (neap_lua_get(L, table, "rules") == LUA_TNIL)
		return 0;
	if (!lua_istable(L, -1))
		return bad(policy, "rules", err, "a table of functions is wanted");
	lua_pushnil(L);
	while (lua_next(L, -2)) {
		if (lua_type(L, -2) != LUA_TSTRING || !lua_isfunction(L, -1))
			return bad(policy, "rules", err,
				   "a table of functions by name is wanted");
		lua_pop(L, 1);
	}
	return 0;
}

static int read_examples(lua_State *L, int table, struct neap_policy *policy,
			 struct neap_error *err)
{
	size_t count = 0;

	if (neap_lua_get(L, table, "examples") == LUA_TNIL)
		return 0;
	count = lua_istable(L, -1) ? lua_rawlen(L, -1) : 0;
	if (!count || count > EXAMPLES_MAX)
		return bad(policy, "examples", err,
			   "a list of 1 to 1000 tables is wanted");
	for (size_t i = 1; i <= count; i++) {
		if (lua_rawgeti(L, -1, (lua_Integer)i) != LUA_TTABLE)
			return bad(policy, "examples", err, "every example is a table");
		lua_pop(L, 1);
	}
	policy->example_count = (int)count;
	return 0;
}

struct check {
	struct neap_policy *policy;
	int rc;
	struct neap_error *err;
};

static int check_table(lua_State *L, struct neap_policy *policy, struct neap_error *err)
{
	int table, rc;

	luaL_checkstack(L, 40, NULL);
	neap_policy_push(L, policy, NEAP_REF_TABLE);
	table = lua_gettop(L);
	if (!lua_istable(L, table))
		return neap_error_set(err, NEAP_EINVAL,
				      "%s: a policy returns one table, this returns a %s",
				      policy->origin, luaL_typename(L, table));
	rc = read_head(L, table, policy, err);
	if (rc < 0)
		return rc;
	rc = policy->kind->is_place ? check_place(L, table, policy, err) : 0;
	rc = rc < 0 ? rc : check_keys(L, table, policy, err);
	if (rc < 0)
		return rc;
	neap_lua_get(L, table, "params");
	rc = neap_params_read(L, lua_gettop(L), &policy->params, err);
	if (rc < 0)
		return at_key(policy, "params", err);
	neap_lua_get(L, table, "needs");
	rc = policy->kind->read_needs(L, lua_gettop(L), policy, err);
	if (rc < 0)
		return at_key(policy, "needs", err);
	neap_lua_get(L, table, "where");
	rc = neap_where_read(L, lua_gettop(L), policy, err);
	if (rc < 0)
		return at_key(policy, "where", err);
	if (!policy->kind->is_round) { /* there they are events of the cluster */
		neap_lua_get(L, table, "triggers");
		rc = neap_triggers_read(L, lua_gettop(L), policy, err);
		if (rc < 0)
			return at_key(policy, "triggers", err);
	}
	rc = read_functions(L, table, policy, err);
	if (rc == 0 && policy->kind->read)
		rc = policy->kind->read(L, table, policy, err);
	if (rc < 0)
		return rc;
	rc = read_examples(L, table, policy, err);
	if (rc < 0)
		return rc;
	neap_ctx_fill(L, policy);
	return 0;
}

static int check_protected(lua_State *L)
{
	struct check *check = lua_touserdata(L, 1);

	check->rc = check_table(L, check->policy, check->err);
	return 0;
}

static int open_state(lua_State *L)
{
	struct neap_policy *policy = lua_touserdata(L, 1);

	neap_lua_open_cpuset(L);
	neap_lua_open_topology(L);
	neap_lua_open_block(L);
	neap_lua_open_selector(L);
	neap_ctx_open(L, policy);
	return 0;
}

/* --- load --- */

/* Lua's messages usually begin with "origin:line:", but not for every error object. */
static int with_origin(const struct neap_policy *policy, struct neap_error *err)
{
	if (strncmp(err->msg, policy->origin, strlen(policy->origin)) == 0)
		return -err->code;
	return neap_error_wrap(err, "%s", policy->origin);
}

static int load_into(struct neap_policy *policy, size_t len, struct neap_error *err)
{
	struct check check = {.policy = policy, .err = err};
	const struct neap_kind *kind = neap_kind_find("qos");
	int rc;

	rc = neap_vm_new(0, &policy->vm, err);
	if (rc < 0)
		return rc;
	neap_vm_set_label(policy->vm, policy->label);
	rc = neap_vm_protect(policy->vm, open_state, policy, 0, err);
	if (rc < 0)
		return neap_error_wrap(err, "%s", policy->origin);
	rc = neap_vm_load(policy->vm, policy->text, len, policy->origin, err);
	if (rc < 0)
		return with_origin(policy, err);
	/* The kind is known only after it: all have the same budget for loading. */
	rc = neap_vm_call(policy->vm, 0, 1, kind->load_budget_usec, err);
	if (rc < 0)
		return with_origin(policy, err);
	neap_policy_keep(neap_vm_state(policy->vm), policy, NEAP_REF_TABLE);
	rc = neap_vm_protect(policy->vm, check_protected, &check, 0, err);
	if (rc < 0)
		return neap_error_wrap(err, "%s", policy->origin);
	return check.rc;
}

/* Checks before Lua compiles: every way of loading a policy gives the same messages. */
static int check_text(const char *text, size_t len, const char *origin,
		      struct neap_error *err)
{
	const unsigned char *bytes = (const unsigned char *)text;
	int line = 1;

	if (!text || !len)
		return neap_error_set(err, NEAP_EINVAL,
				      "%s: the text is empty; a policy is a Lua file "
				      "that returns one table",
				      origin);
	if (len > NEAP_UPLOAD_BYTES)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "%s: the text has %zu bytes; at most %d are taken",
				      origin, len, NEAP_UPLOAD_BYTES);
	if (bytes[0] == BYTECODE)
		return neap_error_set(
			err, NEAP_EINVAL,
			"%s:1: this is compiled Lua; the source text is wanted", origin);
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		return neap_error_set(
			err, NEAP_EINVAL,
			"%s:1: the file begins with a byte order mark; save "
			"it as UTF-8 without one",
			origin);
	for (size_t i = 0; i < len;) {
		size_t next = neap_utf8_next(text + i, len - i, NULL);

		if (!bytes[i] || !next)
			return neap_error_set(
				err, NEAP_EINVAL,
				bytes[i] ? "%s:%d: byte 0x%02x is no UTF-8; save the "
					   "file as UTF-8, or write \\x%02x inside a "
					   "string"
					 : "%s:%d: a NUL byte (0x%02x); a policy is "
					   "plain text, \\x%02x inside a string is fine",
				origin, line, bytes[i], bytes[i]);
		line += bytes[i] == '\n';
		i += next;
	}
	return 0;
}

int neap_policy_load(const char *text, size_t len, const char *origin,
		     struct neap_policy **ret, struct neap_error *err)
{
	struct neap_policy *policy;
	struct neap_error own = {0};
	char hex[NEAP_SHA256_HEX];
	int rc;

	rc = check_text(text, len, origin, err);
	if (rc < 0)
		return rc;
	policy = neap_alloc(sizeof(*policy));
	if (!policy)
		return neap_error_nomem(err);
	policy->refs = 1;
	policy->text = neap_strndup(text, len);
	if (!policy->text) {
		neap_policy_free(policy);
		return neap_error_nomem(err);
	}
	(void)neap_strcopy(policy->origin, sizeof(policy->origin),
			   origin); /* cut is fine */
	neap_sha256_hex(text, len, hex);
	memcpy(policy->version, hex, sizeof(policy->version) - 1);
	/* Until the table names it. */
	snprintf(policy->label, sizeof(policy->label), "@%s", policy->version);

	rc = load_into(policy, len, err ? err : &own);
	if (rc < 0) {
		neap_policy_free(policy);
		return rc;
	}
	*ret = policy;
	return 0;
}

int neap_policy_load_file(const char *file, struct neap_policy **ret,
			  struct neap_error *err)
{
	neap_auto_fd int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	neap_auto_buf struct neap_buf buf = {0};
	struct stat st;
	int rc;

	neap_buf_init(&buf, NEAP_BUF_FILE);
	if (fd < 0 || fstat(fd, &st) < 0)
		return neap_error_sys(err, "open %s", file);
	if (!S_ISREG(st.st_mode))
		return neap_error_set(err, NEAP_EINVAL, "%s: a policy is a plain file",
				      file);
	rc = neap_fd_read_rest(fd, file, &buf, err);
	return rc < 0 ? rc : neap_policy_load(buf.data, buf.len, file, ret, err);
}

struct neap_policy *neap_policy_ref(struct neap_policy *policy)
{
	policy->refs++;
	return policy;
}

void neap_policy_free(struct neap_policy *policy)
{
	if (!policy || --policy->refs)
		return;
	neap_vm_free(policy->vm);
	neap_params_done(&policy->params);
	neap_selector_free(policy->where);
	free(policy->needs);
	free(policy->place);
	neap_reserve_free(policy->reserve);
	neap_deschedule_free(policy->deschedule);
	free(policy->text);
	free(policy->doc);
	free(policy);
}

/* --- asking and setting --- */

void neap_policy_get_info(const struct neap_policy *policy, struct neap_policy_info *ret)
{
	*ret = (struct neap_policy_info){
		.kind = policy->kind->name,
		.name = policy->name,
		.version = policy->version,
		.label = policy->label,
		.origin = policy->origin,
		.doc = policy->doc ? policy->doc : "",
		.api = policy->api,
		.triggers = policy->triggers,
		.trigger_count = policy->trigger_count,
	};
}

const struct neap_kind *neap_policy_kind(const struct neap_policy *policy)
{
	return policy->kind;
}

const char *neap_policy_text(const struct neap_policy *policy, size_t *ret_len)
{
	if (ret_len)
		*ret_len = strlen(policy->text);
	return policy->text;
}

struct neap_vm *neap_policy_vm(struct neap_policy *policy)
{
	return policy->vm;
}

static void log_with_label(void *arg, const char *text)
{
	const struct neap_policy *policy = arg;

	policy->log(policy->log_arg, policy->label, text);
}

void neap_policy_set_log(struct neap_policy *policy,
			 void (*log)(void *arg, const char *label, const char *text),
			 void *arg)
{
	policy->log = log;
	policy->log_arg = arg;
	neap_vm_set_log(policy->vm, log ? log_with_label : NULL, policy);
}

int neap_policy_load_again(const struct neap_policy *policy, struct neap_policy **ret,
			   struct neap_error *err)
{
	struct neap_params params = {0};
	struct neap_policy *fresh = NULL;
	int rc;

	rc = neap_policy_load(policy->text, strlen(policy->text), policy->origin, &fresh,
			      err);
	if (rc < 0)
		return rc;
	/* The schema is that of the same text, row for row. */
	rc = neap_params_dup(&policy->params, &params, err);
	if (rc == 0) {
		neap_params_done(&fresh->params);
		fresh->params = params;
		rc = neap_ctx_refresh_params(fresh, err);
	}
	if (rc < 0) {
		neap_policy_free(fresh);
		return rc;
	}
	neap_policy_set_log(fresh, policy->log, policy->log_arg);
	*ret = fresh;
	return 0;
}
