/* SPDX-License-Identifier: Apache-2.0
 *
 * One fenced Lua state: allow-listed sandbox (lua/vm/sandbox), memory ceiling, CPU budget
 * per call. C calls Lua only through here.
 *
 * The budget is CPU time of the calling thread. No timer runs while no script does. While
 * one runs, a periodic wall-clock timer signals the thread; the handler reads the
 * thread's CPU clock and, when the budget is spent, sets a hook that kills the script,
 * which cannot catch it. A backstop of 20 budgets of wall time protects the caller on a
 * starved machine and is not the script's fault (NEAP_EUNAVAILABLE).
 *
 * The signal is SIGRTMIN + 5. The timer stays armed for a few ticks (at most 20 ms) after
 * a call, so that a following call needs no set-up; blocking system calls of the thread
 * can end with EINTR meanwhile.
 *
 * A state belongs to one thread, and a thread runs one script at a time: a nested
 * neap_vm_call is refused (NEAP_EINTERNAL). After a kill the state is dead: every later
 * call fails at once; free it. */
#ifndef NEAP_LUA_VM_VM_H
#define NEAP_LUA_VM_VM_H

#include <lua.h>

#include "engine/base/error.h"

#define NEAP_VM_MEMORY_BYTES (4 * 1024 * 1024) /* default ceiling of a state */
#define NEAP_VM_TEXT_BYTES                                                               \
	(64 * 1024) /* longest string that a script may pass to a C function */
#define NEAP_VM_STRING_BYTES                                                             \
	(256 * 1024) /* longest string at all: as a key it is hashed in one piece */
#define NEAP_VM_KEYS_MAX                                                                 \
	4096 /* non-list keys of one table: a script can make all of them collide */
#define NEAP_VM_COMPILE_USEC 100000 /* CPU time for compiling a text */
#define NEAP_VM_LOG_LINES    10     /* lines that one call may log */

struct neap_vm;

/* Returns a new state with the sandbox opened. memory_bytes 0: the default. */
int neap_vm_new(size_t memory_bytes, struct neap_vm **ret, struct neap_error *err);
void neap_vm_free(struct neap_vm *vm);
lua_State *neap_vm_state(struct neap_vm *vm);
struct neap_vm *neap_vm_of(lua_State *L);
size_t neap_vm_memory(const struct neap_vm *vm);
/* Returns whether the state was killed (budget, or memory at an unrecoverable place). */
bool neap_vm_is_dead(const struct neap_vm *vm);

/* Compiles text (never bytecode) and pushes the function. name appears in messages as
 * "name:line:". NEAP_EINVAL with "name:line: what" on a syntax error; NEAP_EBUDGET after
 * NEAP_VM_COMPILE_USEC; NEAP_ELIMIT. The stack is unchanged on failure. */
int neap_vm_load(struct neap_vm *vm, const char *text, size_t len, const char *name,
		 struct neap_error *err);
/* Calls the function below its args with budget_usec of CPU time. On success the results
 * are on the stack (like lua_pcall); on failure function and arguments are gone.
 * NEAP_EINVAL: the script raised; NEAP_ELIMIT: memory ceiling; NEAP_EBUDGET; NEAP_ENOMEM;
 * NEAP_EUNAVAILABLE: wall-time backstop. */
int neap_vm_call(struct neap_vm *vm, int args, int results, int64_t budget_usec,
		 struct neap_error *err);
/* Runs fn(L) with arg as light userdata at index 1, protected and without a budget, for C
 * code that builds or reads tables and may hit the memory ceiling. Leaves results values
 * on the stack. */
int neap_vm_protect(struct neap_vm *vm, lua_CFunction fn, void *arg, int results,
		    struct neap_error *err);
/* Returns the CPU time of the last neap_vm_call; 0 before. Exact for an isolated call
 * (none in the 20 ms before). Calls in close succession read no clock, and each is
 * charged the ticks that fell into it, so only their sum is meaningful. */
int64_t neap_vm_last_cpu_usec(const struct neap_vm *vm);
/* Adds CPU time of C work before or after that call. */
void neap_vm_charge(struct neap_vm *vm, int64_t cpu_usec);

/* For C functions offered to scripts: raises when the budget is spent. Call it in every
 * loop that can be long. */
void neap_vm_check(lua_State *L);

/* For C code that reads a script's values, within or after a call: call it at every
 * lua_next and every table element, because a table with few fields can have 100,000
 * empty slots. Fails within a call when the budget is spent, and in neap_vm_protect after
 * about 20 ms: NEAP_ELIMIT. Does not raise. */
int neap_vm_spend_step(lua_State *L, struct neap_error *err);

/* Sets the ceiling of the state's memory. */
void neap_vm_set_memory(struct neap_vm *vm, size_t memory_bytes);
/* Sets the name that the watchdog (lua/vm/budget.h) reports for scripts of this state;
 * borrowed for the life of the state. */
void neap_vm_set_label(struct neap_vm *vm, const char *label);

/* Sets the name of the function that the next neap_vm_call calls, for messages ("in
 * function 'tick'"); borrowed; NULL: it is named by its line. */
void neap_vm_set_entry(struct neap_vm *vm, const char *name);

/* Receives ctx.log(text); NULL drops the lines. Called at most NEAP_VM_LOG_LINES times
 * per neap_vm_call. */
void neap_vm_set_log(struct neap_vm *vm, void (*log)(void *arg, const char *text),
		     void *arg);
/* For the binding of ctx.log: passes text on, or drops it when the call has used up its
 * lines. */
void neap_vm_log(lua_State *L, const char *text);

#endif
