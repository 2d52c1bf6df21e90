/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU budgets without a steady cost. A count hook that is always on doubles the time of a
 * tight loop, so none is installed. A periodic wall timer signals the thread instead, and
 * its handler reads the CPU clock of the thread; over the budget it sets a hook that
 * raises at the next instruction, call or return, and stays, so that no pcall of the
 * script survives it.
 *
 * A tick costs up to 40 us on a virtual machine, so there are few. No thread gets more
 * CPU time than there is wall time: a call that comes alone has its first tick when its
 * budget can be spent at the earliest, mostly never. On a machine that gives less CPU
 * time, the tick is set to what is then left.
 *
 * Calls in close succession: the timer stays armed after a call. A second one that finds
 * it so makes it tick TICKS_A_BUDGET times a budget, and the ones after that only write a
 * few words of memory, until IDLE_TICKS found none. Such a call does not know its start
 * on the CPU clock; its first tick counts as the start, which gives it up to one interval
 * more, and sets the next tick as above. So a script is stopped after between 1 and about
 * 1.1 budgets of CPU time (1.2 for budgets below 3 ms), and never before its budget is
 * spent.
 *
 * lua_sethook is the one function of Lua that may be called from a signal handler. Its
 * write can in theory be lost while Lua enters a function; every further tick repeats it.
 *
 * A C function that never looks whether the script must stop would hold its thread for
 * good. The last watchdog sees it in the same handler: told to stop, and far more CPU
 * time used since. */
#include "lua/vm/budget.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <lauxlib.h>

#include "lua/vm/vm_priv.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#if defined(__SANITIZE_THREAD__)
#define HOOK_ALWAYS true /* ThreadSanitizer holds signals back while Lua runs */
#else
#define HOOK_ALWAYS false
#endif

#define TICKS_A_BUDGET 16
#define TICK_MIN_NSEC  INT64_C(200000)
#define TICK_MAX_NSEC  INT64_C(5000000)
#define TICK_FINAL_NSEC                                                                  \
	INT64_C(20000) /* the tick that is moved onto the deadline comes no sooner */
#define TICK_FAR_NSEC INT64_C(20000000) /* and no later, so that the timer ends soon */
#define IDLE_TICKS    4
/* instructions between two looks at the clock without a timer */
#define HOOK_COUNT 100
#define CHECKS_A_LOOK                                                                    \
	16 /* calls of neap_budget_is_spent between two looks without a timer */
#define NSEC_A_SEC   INT64_C(1000000000)
#define SLOWNESS_MAX 100
/* No script that can be stopped comes near: it has ended after 1.2 budgets. */
#define WATCHDOG_USEC    INT64_C(5000000)
#define WATCHDOG_BUDGETS 100

/* Shared by a thread and the signal handler that interrupts it, never by two threads. */
struct budget {
	lua_State *volatile L;  /* the running script, NULL between calls */
	volatile int spent;     /* enum neap_spent, as seen by a tick */
	volatile int killed;    /* enum neap_spent, set when an error was raised for it */
	volatile bool is_armed; /* the timer ticks */
	volatile bool
		is_far; /* ... next at the deadline of a call, so for that one only */
	volatile bool is_start_known; /* start_* are set for this call */
	volatile bool is_exact;       /* ... and start_cpu was read when the call began */
	volatile int idle;            /* ticks since the last that found a script */
	volatile int64_t budget, wish; /* of this call, and the interval it would like */
	volatile int64_t interval;     /* as armed */
	volatile int64_t start_cpu, start_wall;
	volatile int64_t tick_cpu; /* CPU clock at the last tick */
	volatile int64_t sampled;  /* CPU time of ticks that fell into this call */
	const char *volatile label;
	timer_t timer;
	bool has_timer;
	bool is_hooked; /* no timer for this call: a count hook instead */
	int checks;
	struct neap_spot where;
};

static _Thread_local struct budget budget;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_key;
static bool is_set_up;                /* written once, under `once` */
static int64_t slowness = 1;          /* so is this */
static int walls = NEAP_BUDGET_WALLS; /* and this */
/* Written before any script runs. */
static struct neap_budget_watchdog watchdog;

static int64_t clock_nsec(clockid_t clock)
{
	struct timespec ts = {0};

	(void)clock_gettime(clock, &ts); /* cannot fail for these clocks */
	return (int64_t)ts.tv_sec * NSEC_A_SEC + ts.tv_nsec;
}

int64_t neap_budget_clock_usec(void)
{
	return clock_nsec(CLOCK_THREAD_CPUTIME_ID) / 1000;
}

static struct timespec to_timespec(int64_t nsec)
{
	return (struct timespec){.tv_sec = (time_t)(nsec / NSEC_A_SEC),
				 .tv_nsec = (long)(nsec % NSEC_A_SEC)};
}

/* Safe in a signal handler. */
static bool set_timer(struct budget *b, int64_t first, int64_t interval)
{
	struct itimerspec its = {.it_value = to_timespec(first),
				 .it_interval = to_timespec(interval)};

	return timer_settime(b->timer, 0, &its, NULL) == 0;
}

void neap_budget_kill(lua_State *L)
{
	struct budget *b = &budget;

	if (!b->killed) {
		b->killed = b->spent ? b->spent : NEAP_SPENT_CPU;
		neap_vm_find_spot(L, &b->where);
	}
	/* No text: building one could run out of memory, and the caller knows why. */
	lua_pushlightuserdata(L, &budget);
	lua_error(L);
}

static void kill_hook(lua_State *L, lua_Debug *ar)
{
	(void)ar;
	neap_budget_kill(L);
}

static void set_kill_hook(lua_State *L)
{
	lua_sethook(L, kill_hook, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
}

/* Compares the clocks with the deadlines of the call. */
static void look(struct budget *b, int64_t cpu, int64_t wall)
{
	if (b->spent)
		return;
	if (cpu - b->start_cpu >= b->budget)
		b->spent = NEAP_SPENT_CPU;
	else if ((wall - b->start_wall) / walls >= b->budget)
		b->spent = NEAP_SPENT_WALL;
}

static void count_hook(lua_State *L, lua_Debug *ar)
{
	struct budget *b = &budget;

	(void)ar;
	look(b, clock_nsec(CLOCK_THREAD_CPUTIME_ID), clock_nsec(CLOCK_MONOTONIC));
	if (b->spent) {
		set_kill_hook(L);
		neap_budget_kill(L);
	}
}

static void tick_idle(struct budget *b)
{
	if (!b->is_far && ++b->idle < IDLE_TICKS)
		return;
	b->is_armed = false;
	(void)set_timer(b, 0, 0); /* if this failed the next idle tick tries again */
}

/* CPU time after which a script that was told to stop will not stop any more. The part in
 * budgets is scaled already. */
static int64_t patience_of(const struct budget *b)
{
	int64_t least = watchdog.least_usec * 1000 * slowness;

	if (b->budget > INT64_MAX / watchdog.budgets)
		return INT64_MAX;
	return b->budget * watchdog.budgets > least ? b->budget * watchdog.budgets
						    : least;
}

/* In the signal handler. */
static void watch(const struct budget *b, int64_t cpu)
{
	if (watchdog.stuck == NULL || cpu - b->start_cpu <= patience_of(b))
		return;
	watchdog.stuck(b->label != NULL ? b->label : "");
	abort();
}

/* The next tick: when `left` of CPU time can be spent at the earliest. */
static bool set_far_timer(struct budget *b, int64_t left)
{
	int64_t first = left < TICK_FINAL_NSEC ? TICK_FINAL_NSEC
			: left > TICK_FAR_NSEC ? TICK_FAR_NSEC
					       : left;

	b->interval = b->wish;
	b->is_far = first > b->wish;
	return set_timer(b, first, b->wish);
}

/* lua_sethook walks all frames of the script. With tens of thousands of them a tick can
 * take longer than the interval, and the script would never come to the instruction at
 * which it is stopped. */
static void slow_down(struct budget *b, int64_t took)
{
	int64_t wait = took * TICKS_A_BUDGET;

	if (wait <= b->interval)
		return;
	b->interval = wait;
	(void)set_timer(b, wait, wait);
}

static void tick_running(struct budget *b, int64_t cpu)
{
	int64_t wall = clock_nsec(CLOCK_MONOTONIC);

	b->idle = 0;
	b->sampled += cpu - b->tick_cpu;
	if (!b->is_start_known) {
		b->start_cpu = cpu;
		b->start_wall = wall;
		b->is_start_known = true;
	}
	look(b, cpu, wall);
	if (b->spent) {
		set_kill_hook(b->L); /* once more at each further tick */
		watch(b, cpu);
		slow_down(b, clock_nsec(CLOCK_THREAD_CPUTIME_ID) - cpu);
		return;
	}
	(void)set_far_timer(b, b->budget - (cpu - b->start_cpu));
}

static void on_tick(int sig)
{
	struct budget *b = &budget;
	int saved = errno;
	int64_t cpu = clock_nsec(CLOCK_THREAD_CPUTIME_ID);

	(void)sig;
	if (b->L)
		tick_running(b, cpu);
	else
		tick_idle(b);
	b->tick_cpu = cpu;
	errno = saved;
}

/* Timers are not inherited: the child of a fork starts without. */
static void forget_timer(void)
{
	budget.has_timer = false;
	budget.is_armed = false;
}

static void end_thread(void *arg)
{
	struct budget *b = arg;

	if (b->has_timer)
		(void)timer_delete(b->timer); /* the thread ends either way */
	b->has_timer = false;
	b->is_armed = false;
}

static void set_up(void)
{
	struct sigaction sa = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
	const char *text = getenv("NEAP_SLOWNESS");
	long given = text ? strtol(text, NULL, 10) : 1;

	if (given > 1)
		slowness = given < SLOWNESS_MAX ? given : SLOWNESS_MAX;
	sigemptyset(&sa.sa_mask);
	is_set_up = pthread_key_create(&thread_key, end_thread) == 0 &&
		    pthread_atfork(NULL, NULL, forget_timer) == 0 &&
		    sigaction(NEAP_BUDGET_SIGNAL, &sa, NULL) == 0;
}

void neap_budget_set_walls(int budgets)
{
	walls = budgets;
}

int64_t neap_budget_scale(int64_t budget_usec)
{
	(void)pthread_once(&once, set_up); /* cannot fail with a valid once */
	return budget_usec < INT64_MAX / SLOWNESS_MAX ? budget_usec * slowness
						      : budget_usec;
}

static bool make_timer(struct budget *b)
{
	struct sigevent sev = {.sigev_notify = SIGEV_THREAD_ID,
			       .sigev_signo = NEAP_BUDGET_SIGNAL};

	(void)pthread_once(&once, set_up); /* cannot fail with a valid once */
	if (!is_set_up || pthread_setspecific(thread_key, b) != 0)
		return false;
	sev.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	b->has_timer = timer_create(CLOCK_MONOTONIC, &sev, &b->timer) == 0;
	return b->has_timer;
}

/* Called with b->L set: a stale tick in between then disarms nothing. */
static bool arm(struct budget *b, bool is_alone)
{
	sigset_t set;
	bool is_set;

	if (HOOK_ALWAYS || (!b->has_timer && !make_timer(b)))
		return false;
	if (!b->is_armed) {
		sigemptyset(&set);
		sigaddset(&set, NEAP_BUDGET_SIGNAL);
		(void)pthread_sigmask(SIG_UNBLOCK, &set,
				      NULL); /* fails for bad arguments only */
	}
	b->is_armed = true;
	if (is_alone) {
		is_set = set_far_timer(b, b->budget);
	} else {
		b->interval = b->wish;
		b->is_far = false;
		is_set = set_timer(b, b->wish, b->wish);
	}
	b->is_armed = is_set;
	return is_set;
}

static void begin_exactly(struct budget *b)
{
	b->start_cpu = clock_nsec(CLOCK_THREAD_CPUTIME_ID);
	b->start_wall = clock_nsec(CLOCK_MONOTONIC);
	b->tick_cpu = b->start_cpu;
	b->is_exact = true;
	b->is_start_known = true;
}

bool neap_budget_begin(lua_State *L, int64_t budget_usec, const char *label)
{
	struct budget *b = &budget;
	bool is_alone;
	int64_t wish;

	if (b->L)
		return false;
	if (budget_usec < 1)
		budget_usec = 1;
	if (budget_usec > INT64_MAX / 1000)
		budget_usec = INT64_MAX / 1000;
	b->budget = budget_usec * 1000;
	wish = b->budget / TICKS_A_BUDGET;
	b->wish = wish < TICK_MIN_NSEC   ? TICK_MIN_NSEC
		  : wish > TICK_MAX_NSEC ? TICK_MAX_NSEC
					 : wish;
	b->spent = NEAP_SPENT_NOT;
	b->killed = NEAP_SPENT_NOT;
	b->sampled = 0;
	b->label = label;
	b->is_exact = false;
	b->is_start_known = false;
	b->is_hooked = false;
	/* From here on a tick counts for this call. */
	atomic_signal_fence(memory_order_seq_cst);
	b->L = L;
	atomic_signal_fence(memory_order_seq_cst);
	if (b->is_armed && !b->is_far && b->interval <= b->wish)
		return true;
	is_alone = !b->is_armed;
	begin_exactly(b);
	if (!arm(b, is_alone)) {
		b->is_hooked = true;
		b->checks = 0;
		lua_sethook(L, count_hook, LUA_MASKCOUNT, HOOK_COUNT);
	}
	return true;
}

void neap_budget_rest(void)
{
	struct budget *b = &budget;

	if (b->L || !b->is_armed)
		return;
	b->is_armed = false;
	(void)set_timer(b, 0, 0); /* if this failed the next idle tick tries again */
}

void neap_budget_end(struct neap_budget_end *ret)
{
	struct budget *b = &budget;
	lua_State *L = b->L;

	b->L = NULL;
	/* No tick touches the state any more. */
	atomic_signal_fence(memory_order_seq_cst);
	if (b->spent || b->is_hooked)
		lua_sethook(L, NULL, 0, 0);
	ret->killed = (enum neap_spent)b->killed;
	ret->where = b->killed ? b->where : (struct neap_spot){0};
	if (b->is_exact)
		ret->cpu_usec =
			(clock_nsec(CLOCK_THREAD_CPUTIME_ID) - b->start_cpu) / 1000;
	else
		ret->cpu_usec = b->sampled / 1000;
}

void neap_budget_pause(struct neap_budget_pause *ret)
{
	struct budget *b = &budget;

	*ret = (struct neap_budget_pause){.L = b->L};
	if (!ret->L)
		return;
	b->L = NULL;
	/* No tick touches the state any more. */
	atomic_signal_fence(memory_order_seq_cst);
	if (!b->is_start_known)
		begin_exactly(b);
	ret->spent = b->spent;
	ret->killed = b->killed;
	ret->is_hooked = b->is_hooked;
	ret->is_exact = b->is_exact;
	ret->budget = b->budget;
	ret->wish = b->wish;
	ret->used_cpu = clock_nsec(CLOCK_THREAD_CPUTIME_ID) - b->start_cpu;
	ret->used_wall = clock_nsec(CLOCK_MONOTONIC) - b->start_wall;
	ret->sampled = b->sampled;
	ret->label = b->label;
	ret->where = b->where;
}

void neap_budget_resume(const struct neap_budget_pause *pause)
{
	struct budget *b = &budget;

	if (!pause->L)
		return;
	b->spent = pause->spent;
	b->killed = pause->killed;
	b->is_hooked = pause->is_hooked;
	b->is_exact = pause->is_exact;
	b->budget = pause->budget;
	b->wish = pause->wish;
	b->start_cpu = clock_nsec(CLOCK_THREAD_CPUTIME_ID) - pause->used_cpu;
	b->start_wall = clock_nsec(CLOCK_MONOTONIC) - pause->used_wall;
	b->tick_cpu = b->start_cpu + pause->used_cpu;
	b->is_start_known = true;
	b->sampled = pause->sampled;
	b->label = pause->label;
	b->where = pause->where;
	/* From here on a tick counts for this call again. */
	atomic_signal_fence(memory_order_seq_cst);
	b->L = pause->L;
	atomic_signal_fence(memory_order_seq_cst);
	if (b->is_hooked || (b->is_armed && !b->is_far && b->interval <= b->wish))
		return;
	if (b->is_armed && b->is_far && pause->budget - pause->used_cpu >= TICK_FAR_NSEC)
		return;
	if (arm(b, false))
		return;
	b->is_hooked = true;
	b->checks = 0;
	lua_sethook(b->L, count_hook, LUA_MASKCOUNT, HOOK_COUNT);
}

bool neap_budget_is_spent(lua_State *L)
{
	struct budget *b = &budget;

	if (b->L != L)
		return false;
	if (b->is_hooked && ++b->checks % CHECKS_A_LOOK == 0)
		look(b, clock_nsec(CLOCK_THREAD_CPUTIME_ID), clock_nsec(CLOCK_MONOTONIC));
	return b->spent != NEAP_SPENT_NOT;
}

bool neap_budget_would_spend(lua_State *L, int64_t nsec)
{
	struct budget *b = &budget;

	if (!L || b->L != L)
		return false;
	if (!b->spent && b->is_start_known &&
	    clock_nsec(CLOCK_THREAD_CPUTIME_ID) - b->start_cpu + nsec >= b->budget)
		b->spent = NEAP_SPENT_CPU;
	if (!b->spent)
		return false;
	set_kill_hook(L);
	return true;
}

bool neap_budget_is_ticking(void)
{
	return budget.is_armed;
}

void neap_budget_set_watchdog(const struct neap_budget_watchdog *to)
{
	watchdog = to != NULL ? *to : (struct neap_budget_watchdog){0};
	if (watchdog.least_usec == 0)
		watchdog.least_usec = WATCHDOG_USEC;
	if (watchdog.budgets == 0)
		watchdog.budgets = WATCHDOG_BUDGETS;
}
