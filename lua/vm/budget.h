/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPU budget of the script that runs on this thread, one per thread. begin, end and kill are for
 * vm.c only. */
#ifndef NEAP_LUA_VM_BUDGET_H
#define NEAP_LUA_VM_BUDGET_H

#include <signal.h>

#include <lua.h>

#include "engine/base/base.h"
#include "lua/vm/spot.h"

/* The signal of the timer. It must not be blocked on a thread that runs scripts. */
#define NEAP_BUDGET_SIGNAL (SIGRTMIN + 5)

/* A call that has lasted so many budgets of wall time is stopped, too, whatever CPU time it had. */
#define NEAP_BUDGET_WALLS 20

enum neap_spent {
	NEAP_SPENT_NOT,
	NEAP_SPENT_CPU,
	NEAP_SPENT_WALL, /* NEAP_BUDGET_WALLS of wall time: the machine starves us */
};

/* How a finished call went. */
struct neap_budget_end {
	enum neap_spent
		killed; /* why the script was stopped, NOT when it was left alone */
	struct neap_spot where; /* of the first kill */
	int64_t cpu_usec;
};

/* The budget that a call of budget_usec gets on this machine: NEAP_SLOWNESS (1..100, in the
 * environment of the program) times as much. For emulators, which count CPU time that the machine
 * they show would not need. */
int64_t neap_budget_scale(int64_t budget_usec);
/* CPU time of this thread: for budgets over many calls. */
int64_t neap_budget_clock_usec(void);
/* Starts the budget of a call on L. label names what runs, for the watchdog; borrowed until the end,
 * may be NULL. False when this thread runs a script already. */
bool neap_budget_begin(lua_State *L, int64_t budget_usec, const char *label);
/* Ends it; the hook is gone afterwards. */
void neap_budget_end(struct neap_budget_end *ret);
/* True when the script on L must stop. */
bool neap_budget_is_spent(lua_State *L);
/* The script on L is about to spend nsec of CPU time in one piece that nothing interrupts. True when
 * its budget would be spent by then: it is spent now, and L stops at its next instruction. */
bool neap_budget_would_spend(lua_State *L, int64_t nsec);
/* Stops the script on L: raises an error that neap's pcall lets through. */
void neap_budget_kill(lua_State *L);
/* The last watchdog of this process, for every thread: a script that was told to stop and still goes
 * on after least_usec (0: 5 s) and `budgets` (0: 100) budgets of CPU time since its start ends the
 * process by abort(). Only a C function that never looks whether it must stop can do that; a machine
 * that gives no CPU time cannot. stuck is called before it, inside a signal handler: it may call
 * async-signal-safe functions only. Set before any script runs; NULL or without stuck: no watchdog.
 * Builds with ThreadSanitizer have no timer and so no watchdog. */
struct neap_budget_watchdog {
	void (*stuck)(const char *label); /* of the script, "" if it has none */
	int64_t least_usec;
	int budgets;
};
void neap_budget_set_watchdog(const struct neap_budget_watchdog *to);
/* How many budgets of wall time a call may last, for every thread; before any script runs. For tests: who wants
 * to see a script stopped by its budget gives it more than NEAP_BUDGET_WALLS where the machine is busy. */
void neap_budget_set_walls(int budgets);
/* Whether the timer of this thread ticks. For tests. */
bool neap_budget_is_ticking(void);

#endif
