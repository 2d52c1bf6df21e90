/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPU budget of the script running on this thread, one per thread. Only vm.c calls
 * begin, end and kill. */
#ifndef NEAP_LUA_VM_BUDGET_H
#define NEAP_LUA_VM_BUDGET_H

#include <signal.h>

#include <lua.h>

#include "engine/base/base.h"
#include "lua/vm/spot.h"

/* The timer's signal. It must not be blocked on a thread that runs scripts. */
#define NEAP_BUDGET_SIGNAL (SIGRTMIN + 5)

/* A call that lasts this many budgets of wall time is stopped too, whatever CPU time it
 * used. */
#define NEAP_BUDGET_WALLS 20

enum neap_spent {
	NEAP_SPENT_NOT,
	NEAP_SPENT_CPU,
	NEAP_SPENT_WALL, /* NEAP_BUDGET_WALLS of wall time: the machine is starved */
};

/* How a finished call went. */
struct neap_budget_end {
	enum neap_spent killed; /* why the script was stopped, NOT if it was not */
	struct neap_spot where; /* of the first kill */
	int64_t cpu_usec;
};

/* Returns the budget scaled for this machine: times NEAP_SLOWNESS (1..100, from the
 * environment). For emulators, which count more CPU time than the emulated machine would
 * need. */
int64_t neap_budget_scale(int64_t budget_usec);
/* CPU time of this thread: for budgets over many calls. */
int64_t neap_budget_clock_usec(void);
/* Starts the budget of a call on L. label names the script for the watchdog; borrowed
 * until the end, may be NULL. False when this thread already runs a script. */
bool neap_budget_begin(lua_State *L, int64_t budget_usec, const char *label);
/* Ends it and removes the hook. */
void neap_budget_end(struct neap_budget_end *ret);
/* Puts the running call aside, so that C code that it called can run a script of another
 * state on this thread; resume takes it up again. What passes between is not counted for
 * it. Without a running call both do nothing. */
struct neap_budget_pause {
	lua_State *L; /* NULL: none ran */
	int spent, killed;
	bool is_hooked, is_exact;
	int64_t budget, wish;
	int64_t used_cpu, used_wall, sampled; /* nanoseconds so far */
	const char *label;
	struct neap_spot where;
};
void neap_budget_pause(struct neap_budget_pause *ret);
void neap_budget_resume(const struct neap_budget_pause *pause);
/* Stops the timer of this thread, which otherwise ticks once more after the last call.
 * Called where no call follows soon, so that nothing wakes the thread meanwhile. */
void neap_budget_rest(void);
/* Returns true when the script on L must stop. */
bool neap_budget_is_spent(lua_State *L);
/* Announces nsec of uninterruptible CPU work for the script on L. Returns true when its
 * budget cannot cover it: the budget then counts as spent, and L stops at its next
 * instruction. */
bool neap_budget_would_spend(lua_State *L, int64_t nsec);
/* Stops the script on L by raising an error that neap's pcall does not catch. */
void neap_budget_kill(lua_State *L);
/* The last-resort watchdog of the process, for every thread: abort() if a stopped script
 * still runs after least_usec (0: 5 s) and `budgets` (0: 100) budgets of CPU time since
 * its start. Only a C function that never checks for the stop can cause that; a machine
 * without CPU time cannot. stuck is called first, inside a signal handler, so it may call
 * only async-signal-safe functions. Set it before any script runs; NULL or without stuck:
 * no watchdog. Builds with ThreadSanitizer have no timer and so no watchdog. */
struct neap_budget_watchdog {
	void (*stuck)(const char *label); /* name of the script, "" if it has none */
	int64_t least_usec;
	int budgets;
};
void neap_budget_set_watchdog(const struct neap_budget_watchdog *to);
/* Sets the wall time limit in budgets, for every thread; before any script runs. For
 * tests on busy machines, which want to see the CPU budget stop a script. */
void neap_budget_set_walls(int budgets);
/* Returns whether the timer of this thread is running. For tests. */
bool neap_budget_is_ticking(void);

#endif
