/* SPDX-License-Identifier: Apache-2.0
 *
 * The only place where C calls Lua. Every call is protected and has a budget
 * (lua/vm/budget), every state a memory ceiling. Overhead per call beyond lua_pcall:
 * about ten stores. */
#include "lua/vm/vm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "lua/vm/budget.h"
#include "lua/vm/sandbox.h"
#include "lua/vm/spot.h"
#include "lua/vm/vm_priv.h"

#define NO_MEMORY    "not enough memory" /* Lua's own words */
#define STACK_BLOCK  2
#define STEPS_A_LOOK 64 /* one takes 0.15 ms at most */
#define STEPS_USEC   20000
#define NODE_BYTES   24 /* of a table: key, value and the next of a chain */
/* When an allocation fails Lua collects all its garbage, which no hook interrupts: 0.5 to
 * 1.3 ms for 4 MiB of small tables. A script whose budget ends within that time gets a
 * little over its ceiling instead, which lets it come to its next instruction, where it
 * is stopped. */
#define COLLECT_NSEC(bytes) ((int64_t)(bytes) / 8)
#define OVERDRAFT_BYTES     ((size_t)64 * 1024)

struct neap_vm {
	lua_State *L;
	size_t used, ceiling;  /* bytes */
	const void *stack;     /* block of Lua's stack */
	int blocks;            /* made so far, counted up to the stack's */
	struct neap_spot spot; /* of the error, or where a block was refused last */
	struct neap_spot deep; /* where the stack grew last in this call */
	bool is_grown;         /* it did just now, and cannot be looked at yet */
	const char *entry;     /* what the function that C calls is known as; borrowed */
	size_t overdraft;      /* bytes over the ceiling that this call has had */
	bool is_text_refused;  /* in this call: one of over NEAP_VM_STRING_BYTES */
	bool is_table_refused; /* in this call: one of over NEAP_VM_KEYS_MAX keys */
	bool is_short;  /* the machine, not the ceiling, refused what was refused last */
	bool is_called; /* a script runs, and what C does is a part of it */
	unsigned steps; /* of C over what a script made, in this neap_vm_protect */
	int64_t until_usec;  /* CPU clock by which they must end; 0: not set yet */
	enum neap_code dead; /* how it was killed, NEAP_OK while it lives */
	int64_t cpu_usec;
	const char *label; /* borrowed */
	int log_left;
	void (*log)(void *arg, const char *text);
	void *log_arg;
};

/* Where the script stands that wants too much: an error of memory has no position, and no
 * handler is called for it. Only reads. A state that is just moving its stack cannot be
 * looked at: recursion without end is told by where the stack grew before. */
static void *refuse(struct neap_vm *vm, const void *block)
{
	vm->spot = vm->deep;
	if (vm->L && !(block && block == vm->stack))
		neap_spot_find(vm->L, vm->entry, &vm->spot);
	return NULL;
}

/* lua_newstate makes the state first and its stack second. */
static void note_stack(struct neap_vm *vm, const void *block, const void *fresh)
{
	if (!block && vm->blocks < STACK_BLOCK && ++vm->blocks == STACK_BLOCK)
		vm->stack = fresh;
	else if (block && block == vm->stack) {
		vm->stack = fresh;
		vm->is_grown = true;
	} else if (vm->is_grown) {
		vm->is_grown = false;
		neap_spot_find(vm->L, vm->entry, &vm->deep);
	}
}

/* The keys of a table that are no list are one block of 2^k nodes; a list has 2^k
 * elements where it grew, and a block of 3 * 2^k bytes only where it was made with just
 * so many. Keys that a script chose to collide make Lua walk over all of them for each
 * when a table grows, or is walked through: 24 ms for 4096. */
static bool is_large_table(size_t size)
{
	size_t nodes = size / NODE_BYTES;

	return nodes > NEAP_VM_KEYS_MAX && size % NODE_BYTES == 0 &&
	       (nodes & (nodes - 1)) == 0;
}

static bool is_refused(struct neap_vm *vm, bool is_text, bool is_plain, size_t old_size,
		       size_t new_size)
{
	size_t more = new_size - old_size;

	if (is_text && new_size > NEAP_VM_STRING_BYTES) {
		vm->is_text_refused = true;
		return true;
	}
	if (is_plain && is_large_table(new_size)) {
		vm->is_table_refused = true;
		return true;
	}
	if (vm->used <= vm->ceiling && more <= vm->ceiling - vm->used)
		return false;
	if (more > OVERDRAFT_BYTES - vm->overdraft ||
	    !neap_budget_would_spend(vm->L, COLLECT_NSEC(vm->used)))
		return true;
	vm->overdraft += more;
	return false;
}

/* Lua relies on shrinking: it always succeeds here. */
static void *vm_alloc(void *ud, void *block, size_t old_size, size_t new_size)
{
	struct neap_vm *vm = ud;
	bool is_text = !block && old_size == LUA_TSTRING;
	bool is_plain = !block && old_size == 0; /* no object by itself */
	void *fresh;

	if (!block)
		old_size = 0; /* Lua passes the kind of object */
	if (new_size == 0) {
		free(block);
		vm->used -= old_size;
		return NULL;
	}
	if (new_size > old_size &&
	    is_refused(vm, is_text, is_plain, old_size, new_size)) {
		vm->is_short = false;
		return refuse(vm, block);
	}
	fresh = neap_realloc_array(block, new_size, 1);
	if (!fresh && new_size > old_size) {
		vm->is_short = true;
		return NULL;
	}
	if (!fresh)
		fresh = block;
	note_stack(vm, block, fresh);
	vm->used = vm->used - old_size + new_size;
	return fresh;
}

static int vm_panic(lua_State *L)
{
	const char *text =
		lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "no text";

	(void)fprintf(stderr, "neap: Lua was used without protection: %s\n", text);
	abort();
}

static int open_sandbox(lua_State *L)
{
	neap_sandbox_open(L);
	return 0;
}

int neap_vm_new(size_t memory_bytes, struct neap_vm **ret, struct neap_error *err)
{
	struct neap_vm *vm = neap_alloc(sizeof(*vm));
	int code;

	if (!vm)
		return neap_error_nomem(err);
	vm->ceiling = memory_bytes ? memory_bytes : NEAP_VM_MEMORY_BYTES;
	vm->L = lua_newstate(vm_alloc, vm);
	if (!vm->L) {
		free(vm);
		return neap_error_nomem(err);
	}
	lua_atpanic(vm->L, vm_panic);
	*(struct neap_vm **)lua_getextraspace(vm->L) = vm;
	code = neap_vm_protect(vm, open_sandbox, NULL, 0, err);
	if (code < 0) {
		neap_vm_free(vm);
		return code;
	}
	*ret = vm;
	return 0;
}

void neap_vm_free(struct neap_vm *vm)
{
	if (!vm)
		return;
	lua_close(vm->L);
	free(vm);
}

lua_State *neap_vm_state(struct neap_vm *vm)
{
	return vm->L;
}

struct neap_vm *neap_vm_of(lua_State *L)
{
	return *(struct neap_vm **)lua_getextraspace(L);
}

size_t neap_vm_memory(const struct neap_vm *vm)
{
	return vm->used;
}

bool neap_vm_is_dead(const struct neap_vm *vm)
{
	return vm->dead != NEAP_OK;
}

int64_t neap_vm_last_cpu_usec(const struct neap_vm *vm)
{
	return vm->cpu_usec;
}

/* Called where the error is raised, while the calls still stand. Runs no script and
 * allocates nothing. */
static int note_spot(lua_State *L)
{
	struct neap_vm *vm = neap_vm_of(L);
	bool is_text = lua_type(L, 1) == LUA_TSTRING;

	neap_spot_of(L, vm->entry, is_text ? lua_tostring(L, 1) : NULL, &vm->spot);
	return 1;
}

void neap_vm_charge(struct neap_vm *vm, int64_t cpu_usec)
{
	vm->cpu_usec += cpu_usec;
}

/* Turns the error value at the top into *err. Runs unprotected, so it allocates nothing
 * in Lua and calls no metamethod: an error object's __tostring could loop. */
static int report(struct neap_vm *vm, int status, struct neap_error *err)
{
	lua_State *L = vm->L;
	char text[80];

	if (status == LUA_ERRMEM && vm->is_short)
		return neap_error_nomem(err);
	if (status == LUA_ERRMEM && vm->is_text_refused)
		return neap_error_set(
			err, NEAP_ELIMIT,
			"%sthe memory limit of one text, %d KiB, is reached",
			vm->spot.text, NEAP_VM_STRING_BYTES / 1024);
	if (status == LUA_ERRMEM && vm->is_table_refused)
		return neap_error_set(
			err, NEAP_ELIMIT,
			"%sthe limit of one table, %d keys beside a list, is reached",
			vm->spot.text, NEAP_VM_KEYS_MAX);
	if (status == LUA_ERRMEM)
		return neap_error_set(err, NEAP_ELIMIT,
				      "%sthe memory limit of %zu KiB is reached",
				      vm->spot.text, vm->ceiling / 1024);
	switch (lua_type(L, -1)) {
	case LUA_TSTRING:
		return neap_spot_error(&vm->spot, NEAP_EINVAL, lua_tostring(L, -1), err);
	case LUA_TNUMBER:
		(void)snprintf(text, sizeof(text), "%.14g", lua_tonumber(L, -1));
		break;
	default:
		(void)snprintf(text, sizeof(text), "non-string error, a %s",
			       luaL_typename(L, -1));
	}
	return neap_spot_error(&vm->spot, NEAP_EINVAL, text, err);
}

static int report_dead(const struct neap_vm *vm, struct neap_error *err)
{
	return neap_error_set(err, vm->dead, "the script was stopped in an earlier call");
}

static int report_busy(struct neap_error *err)
{
	return neap_error_set(err, NEAP_EINTERNAL, "a script is running on this thread");
}

static int report_kill(struct neap_vm *vm, const struct neap_budget_end *end,
		       int64_t budget_usec, struct neap_error *err)
{
	if (end->killed == NEAP_SPENT_WALL) {
		vm->dead = NEAP_EUNAVAILABLE;
		return neap_error_set(
			err, vm->dead,
			"%sstopped: the machine gave the script too little CPU time",
			end->where.text);
	}
	vm->dead = NEAP_EBUDGET;
	return neap_error_set(err, vm->dead,
			      "%sstopped: its CPU budget of %lld us is spent",
			      end->where.text, (long long)budget_usec);
}

int neap_vm_load(struct neap_vm *vm, const char *text, size_t len, const char *name,
		 struct neap_error *err)
{
	int64_t budget_usec = neap_budget_scale(NEAP_VM_COMPILE_USEC);
	struct neap_budget_end end;
	lua_State *L = vm->L;
	char chunk[256];
	int status, code;

	if (vm->dead)
		return report_dead(vm, err);
	if (len > NEAP_BUF_FILE)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "%s: a script of over %d bytes", name,
				      NEAP_BUF_FILE);
	code = neap_source_check(text, len, name, err);
	if (code < 0)
		return code;
	vm->is_short = vm->is_text_refused = vm->is_table_refused = false;
	if (!lua_checkstack(L, 2))
		return neap_error_set(err, vm->is_short ? NEAP_ENOMEM : NEAP_ELIMIT,
				      "%s: no memory for the stack", name);
	(void)snprintf(chunk, sizeof(chunk), "@%s", name); /* a long name is cut */
	vm->spot = (struct neap_spot){0};
	if (!neap_budget_begin(L, budget_usec, vm->label))
		return report_busy(err);
	status = neap_source_load(L, text, len, chunk);
	neap_budget_end(&end);
	if (status == LUA_OK)
		return 0;
	code = report(vm, status, err);
	if (end.killed && report_kill(vm, &end, budget_usec, err) < 0)
		code = neap_error_wrap(err, "compiling");
	lua_pop(L, 1);
	return code;
}

int neap_vm_call(struct neap_vm *vm, int args, int results, int64_t budget_usec,
		 struct neap_error *err)
{
	lua_State *L = vm->L;
	int base = lua_gettop(L) - args - 1;
	struct neap_budget_end end;
	int status, code;

	if (vm->dead) {
		lua_settop(L, base);
		return report_dead(vm, err);
	}
	budget_usec = neap_budget_scale(budget_usec);
	if (!neap_budget_begin(L, budget_usec, vm->label)) {
		lua_settop(L, base);
		return report_busy(err);
	}
	vm->log_left = NEAP_VM_LOG_LINES;
	vm->overdraft = 0;
	vm->is_text_refused = vm->is_table_refused = false;
	vm->is_short = false;
	vm->is_grown = false;
	vm->deep = vm->spot = (struct neap_spot){0};
	lua_pushcfunction(L, note_spot);
	lua_insert(L, base + 1);
	vm->is_called = true;
	status = lua_pcall(L, args, results, base + 1);
	vm->is_called = false;
	neap_budget_end(&end);
	vm->cpu_usec = end.cpu_usec;
	lua_remove(L, base + 1);
	if (status == LUA_OK && !end.killed)
		return 0;
	code = end.killed ? report_kill(vm, &end, budget_usec, err)
			  : report(vm, status, err);
	lua_settop(L, base);
	return code;
}

int neap_vm_protect(struct neap_vm *vm, lua_CFunction fn, void *arg, int results,
		    struct neap_error *err)
{
	lua_State *L = vm->L;
	int status, code;

	if (vm->dead)
		return report_dead(vm, err);
	vm->is_short = false;
	vm->spot = (struct neap_spot){0};
	vm->steps = 0;
	vm->until_usec = 0;
	if (!lua_checkstack(L, (results > 0 ? results : 0) + 2))
		return neap_error_set(err, vm->is_short ? NEAP_ENOMEM : NEAP_ELIMIT,
				      "no memory for the stack");
	lua_pushcfunction(L, fn);
	lua_pushlightuserdata(L, arg);
	status = lua_pcall(L, 1, results, 0);
	if (status == LUA_OK)
		return 0;
	code = report(vm, status, err);
	lua_pop(L, 1);
	return code;
}

void neap_vm_raise_nomem(lua_State *L)
{
	neap_vm_of(L)->is_short = true;
	lua_pushliteral(L, NO_MEMORY);
	lua_error(L); /* knows its own words, and raises an error of memory */
	abort();      /* it does not come back */
}

void neap_vm_check(lua_State *L)
{
	if (neap_budget_is_spent(L))
		neap_budget_kill(L);
}

int neap_vm_spend_step(lua_State *L, struct neap_error *err)
{
	struct neap_vm *vm = neap_vm_of(L);
	bool is_over;

	if (vm->is_called) {
		is_over = neap_budget_is_spent(L);
	} else if (++vm->steps % STEPS_A_LOOK == 0) {
		int64_t now = neap_budget_clock_usec();

		if (!vm->until_usec)
			vm->until_usec = now + neap_budget_scale(STEPS_USEC);
		is_over = now >= vm->until_usec;
	} else {
		return 0;
	}
	return is_over ? neap_error_set(err, NEAP_ELIMIT,
					"a table that takes too long to read")
		       : 0;
}

void neap_vm_set_memory(struct neap_vm *vm, size_t memory_bytes)
{
	vm->ceiling = memory_bytes;
}

void neap_vm_set_label(struct neap_vm *vm, const char *label)
{
	vm->label = label;
}

void neap_vm_set_entry(struct neap_vm *vm, const char *name)
{
	vm->entry = name;
}

void neap_vm_find_spot(lua_State *L, struct neap_spot *ret)
{
	neap_spot_find(L, neap_vm_of(L)->entry, ret);
}

void neap_vm_set_log(struct neap_vm *vm, void (*log)(void *arg, const char *text),
		     void *arg)
{
	vm->log = log;
	vm->log_arg = arg;
}

void neap_vm_log(lua_State *L, const char *text)
{
	struct neap_vm *vm = neap_vm_of(L);

	if (!vm || !vm->log || vm->log_left <= 0)
		return;
	vm->log_left--;
	vm->log(vm->log_arg, text);
}

/* pcall(f, ...) -> true, results... | false, error */
int neap_vm_script_pcall(lua_State *L)
{
	int status;

	luaL_checkany(L, 1);
	lua_pushboolean(L, 1);
	lua_insert(L, 1);
	status = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0);
	neap_vm_check(L);
	if (status == LUA_OK)
		return lua_gettop(L);
	lua_pushboolean(L, 0);
	lua_insert(L, -2);
	return 2;
}

/* xpcall(f, handler, ...) -> true, results... | false, what the handler gives or raises.
 * A handler that Lua itself calls would run where hooks are off, and could loop
 * forever. */
int neap_vm_script_xpcall(lua_State *L)
{
	int status;

	luaL_checktype(L, 2, LUA_TFUNCTION);
	lua_pushboolean(L, 1);
	lua_insert(L, 1); /* true, f, handler, args */
	lua_pushvalue(L, 2);
	lua_remove(L, 2);
	lua_insert(L, 3); /* true, handler, f, args */
	status = lua_pcall(L, lua_gettop(L) - 3, LUA_MULTRET, 0);
	neap_vm_check(L);
	if (status == LUA_OK) {
		lua_remove(L, 2);
		return lua_gettop(L);
	}
	(void)lua_pcall(L, 1, 1, 0); /* its own error takes the place of its result */
	neap_vm_check(L);
	lua_pushboolean(L, 0);
	lua_insert(L, -2);
	return 2;
}
