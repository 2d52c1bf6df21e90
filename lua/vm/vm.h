/* SPDX-License-Identifier: Apache-2.0
 *
 * One Lua state, fenced in: allow-listed sandbox (lua/vm/sandbox), memory ceiling, CPU budget per
 * call. C calls Lua only here.
 *
 * The budget is CPU time of the calling thread. While no script runs nothing ticks; while one runs a
 * periodic wall timer signals the thread, the handler reads the thread's CPU clock and, when the
 * budget is spent, sets a hook that kills the script and cannot be caught by it. A wall backstop of
 * 20 budgets protects the caller on a starved machine and is not the script's fault (NEAP_EUNAVAILABLE).
 *
 * The timer's signal is SIGRTMIN + 5. It stays armed for a few ticks (at most 20 ms) after a call, so
 * that the next one is free; blocking system calls of the thread can end with EINTR meanwhile.
 *
 * A state belongs to one thread, and one thread runs one script at a time: a neap_vm_call inside
 * another one is refused (NEAP_EINTERNAL). After a kill it is dead: every later call fails at once; free it. */
#ifndef NEAP_LUA_VM_VM_H
#define NEAP_LUA_VM_VM_H

#include <lua.h>

#include "engine/base/error.h"

#define NEAP_VM_MEMORY_BYTES (4 * 1024 * 1024) /* default ceiling of a state */
#define NEAP_VM_TEXT_BYTES                                                               \
	(64 * 1024) /* longest string that a script may hand to a C function */
#define NEAP_VM_STRING_BYTES                                                             \
	(256 * 1024) /* longest string at all: as a key it is hashed in one piece */
#define NEAP_VM_KEYS_MAX                                                                 \
	4096 /* keys of one table that are no list: a script can make all collide */
#define NEAP_VM_COMPILE_USEC 100000 /* CPU time for compiling a text */
#define NEAP_VM_LOG_LINES    10     /* lines that one call may log */

struct neap_vm;

/* A fresh state with the sandbox opened. memory_bytes 0: the default. */
int neap_vm_new(size_t memory_bytes, struct neap_vm **ret, struct neap_error *err);
void neap_vm_free(struct neap_vm *vm);
lua_State *neap_vm_state(struct neap_vm *vm);
struct neap_vm *neap_vm_of(lua_State *L);
size_t neap_vm_memory(const struct neap_vm *vm);
/* The state was killed (budget, memory in a place it cannot recover from). */
bool neap_vm_is_dead(const struct neap_vm *vm);

/* Compiles text (never bytecode) and pushes the function. name appears in messages as "name:line:".
 * NEAP_EINVAL with "name:line: what" on a syntax error; NEAP_EBUDGET after NEAP_VM_COMPILE_USEC; NEAP_ELIMIT. The
 * stack is unchanged on failure. */
int neap_vm_load(struct neap_vm *vm, const char *text, size_t len, const char *name,
		 struct neap_error *err);
/* Calls the function below its args under budget_usec of CPU time. On success results are on the
 * stack (as lua_pcall); on failure function and arguments are gone. NEAP_EINVAL: the script raised;
 * NEAP_ELIMIT: memory; NEAP_EBUDGET; NEAP_ENOMEM; NEAP_EUNAVAILABLE: the wall backstop. */
int neap_vm_call(struct neap_vm *vm, int args, int results, int64_t budget_usec,
		 struct neap_error *err);
/* Runs fn(L) with arg as light userdata at index 1, protected and without a budget, for C code that
 * builds or reads tables and may hit the memory ceiling. results values are left on the stack. */
int neap_vm_protect(struct neap_vm *vm, lua_CFunction fn, void *arg, int results,
		    struct neap_error *err);
/* CPU time that the last neap_vm_call took; 0 before. Exact for a call that comes alone (none in the
 * 20 ms before it). Calls in close succession read no clock: each is charged what the ticks that
 * fell into it saw, so that only their sum means something. */
int64_t neap_vm_last_cpu_usec(const struct neap_vm *vm);
/* Adds what C did for that call before or after it. */
void neap_vm_charge(struct neap_vm *vm, int64_t cpu_usec);

/* For C functions offered to scripts: raises when the running script's budget is spent. To be
 * called in every loop that can be long. */
void neap_vm_check(lua_State *L);

/* For C that reads what a script made, in a call or after it: to be called at every lua_next and every element that
 * is a table, because a table of a few fields can have 100,000 empty places. Within a call it fails when the budget
 * is spent, in a neap_vm_protect after some 20 ms: NEAP_ELIMIT. Does not raise. */
int neap_vm_spend_step(lua_State *L, struct neap_error *err);

/* What the last watchdog (lua/vm/budget.h) calls the scripts of this state; borrowed as long as it lives. */
void neap_vm_set_label(struct neap_vm *vm, const char *label);

/* What messages call the function that the next neap_vm_call calls ("in function 'tick'"); borrowed, NULL: it is
 * told by its line. */
void neap_vm_set_entry(struct neap_vm *vm, const char *name);

/* Where ctx.log(text) goes; NULL drops. Called at most NEAP_VM_LOG_LINES times per neap_vm_call. */
void neap_vm_set_log(struct neap_vm *vm, void (*log)(void *arg, const char *text),
		     void *arg);
/* For the binding of ctx.log: hands text on, or drops it once the call has had its lines. */
void neap_vm_log(lua_State *L, const char *text);

#endif
