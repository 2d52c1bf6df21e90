/* SPDX-License-Identifier: Apache-2.0
 *
 * The policy thread: order, limits, ends, signals, and scripts under their budget on
 * it. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <event2/event.h>

#include "api/policy/thread.h"
#include "engine/base/mem.h"
#include "lua/vm/budget.h"
#include "lua/vm/vm.h"
#include "t/lib/patience.h"

struct job {
	int number;
	pthread_t worked_on;
	bool has_worked, is_done;
	atomic_bool has_begun;
	atomic_bool *gate; /* work ends when it is true; NULL: at once */
};

static struct event_base *base;
static struct neap_thread *thread;
static int order[64], done_count;

static void open_thread(size_t jobs_max)
{
	struct neap_error err;

	done_count = 0;
	base = event_base_new();
	assert_non_null(base);
	if (neap_thread_new(base, jobs_max, &thread, &err) < 0)
		fail_msg("%s", err.msg);
}

static void close_thread(void)
{
	neap_thread_free(thread);
	event_base_free(base);
}

static void doze(void)
{
	const struct timespec millisecond = {.tv_nsec = 1000000};

	(void)nanosleep(&millisecond, NULL);
}

static void work(void *arg)
{
	struct job *job = arg;

	job->worked_on = pthread_self();
	atomic_store(&job->has_begun, true);
	while (job->gate && !atomic_load(job->gate))
		doze();
	job->has_worked = true;
}

static void done(void *arg)
{
	struct job *job = arg;

	assert_false(job->is_done);
	job->is_done = true;
	order[done_count++] = job->number;
}

static void run_loop(void)
{
	assert_true(comes_true_in(base, neap_thread_count(thread) == 0));
}

static void test_order(void **state)
{
	struct job jobs[40] = {{0}};
	struct neap_error err;

	(void)state;
	open_thread(40);
	for (int i = 0; i < 40; i++) {
		jobs[i].number = i;
		assert_int_equal(neap_thread_give(thread, work, done, &jobs[i], &err), 0);
		assert_int_equal(done_count, 0); /* never before the loop ran */
	}
	assert_int_equal(neap_thread_count(thread), 40);
	run_loop();
	assert_int_equal(done_count, 40);
	for (int i = 0; i < 40; i++) {
		assert_int_equal(order[i], i);
		assert_true(jobs[i].has_worked);
		assert_false(pthread_equal(jobs[i].worked_on, pthread_self()));
	}
	close_thread();
}

/* A done may give the next job. */
static void give_again(void *arg)
{
	struct job *job = arg;
	struct neap_error err;

	order[done_count++] = job->number;
	if (++job->number < 5)
		assert_int_equal(neap_thread_give(thread, work, give_again, job, &err),
				 0);
}

static void test_done_gives(void **state)
{
	struct job job = {0};
	struct neap_error err;

	(void)state;
	open_thread(1);
	assert_int_equal(neap_thread_give(thread, work, give_again, &job, &err), 0);
	run_loop();
	assert_int_equal(done_count, 5);
	close_thread();
}

static void wait_until_it_runs(struct job *job)
{
	/* The queue is full until the thread has taken the job. */
	struct neap_error err;

	while (neap_thread_give(thread, work, done, job, &err) < 0)
		doze();
}

static void test_full(void **state)
{
	atomic_bool gate = false;
	struct job jobs[4] = {{.number = 0, .gate = &gate}, {1}, {2}, {3}};
	struct neap_error err = {0};

	(void)state;
	open_thread(1);
	assert_int_equal(neap_thread_give(thread, work, done, &jobs[0], &err), 0);
	wait_until_it_runs(&jobs[1]);
	/* One runs, one waits. */
	assert_int_equal(neap_thread_give(thread, work, done, &jobs[2], &err),
			 -NEAP_EUNAVAILABLE);
	assert_non_null(strstr(err.msg, "1 jobs wait"));
	assert_int_equal(neap_thread_count(thread), 2);
	atomic_store(&gate, true);
	run_loop();
	assert_int_equal(done_count, 2);
	assert_false(jobs[2].has_worked || jobs[2].is_done);
	assert_int_equal(neap_thread_give(thread, work, done, &jobs[3], &err), 0);
	run_loop();
	assert_int_equal(done_count, 3);
	close_thread();
}

static void open_gate(void *arg)
{
	atomic_bool *gate = arg;

	for (int i = 0; i < 20; i++)
		doze();
	atomic_store(gate, true);
}

static void *open_gate_later(void *arg)
{
	open_gate(arg);
	return NULL;
}

/* The running job is waited for; those that never ran are done, but not worked. */
static void test_ends(void **state)
{
	atomic_bool gate = false;
	struct job jobs[3] = {{.number = 0, .gate = &gate}, {1}, {2}};
	struct neap_error err;
	pthread_t opener;

	(void)state;
	open_thread(1);
	assert_int_equal(neap_thread_give(thread, work, done, &jobs[0], &err), 0);
	wait_until_it_runs(&jobs[1]);
	assert_int_equal(pthread_create(&opener, NULL, open_gate_later, &gate), 0);
	close_thread();
	(void)pthread_join(opener, NULL);
	assert_true(jobs[0].has_worked && jobs[0].is_done);
	assert_true(!jobs[1].has_worked && jobs[1].is_done);
	assert_false(jobs[2].is_done);
	assert_int_equal(done_count, 2);
	neap_thread_free(NULL);
}

static void refused_at_end(void *arg)
{
	struct neap_error err;

	assert_int_equal(neap_thread_give(thread, work, done, arg, &err),
			 -NEAP_EUNAVAILABLE);
	done(arg);
}

static void test_give_while_freed(void **state)
{
	struct job job = {0};
	struct neap_error err;

	(void)state;
	open_thread(4);
	assert_int_equal(neap_thread_give(thread, work, refused_at_end, &job, &err), 0);
	close_thread();
	assert_true(job.is_done);
}

static void note_mask(void *arg)
{
	(void)pthread_sigmask(SIG_BLOCK, NULL, arg); /* reading cannot fail */
}

static void ignore(void *arg)
{
	(void)arg;
}

static void test_signals(void **state)
{
	static const int blocked[] = {SIGTERM, SIGINT,  SIGHUP,  SIGCHLD,
				      SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2};
	sigset_t before, after, mask;
	struct neap_error err;

	(void)state;
	sigemptyset(&mask);
	note_mask(&before);
	open_thread(1);
	note_mask(&after);
	for (int signal = 1; signal < NSIG; signal++)
		assert_int_equal(sigismember(&before, signal),
				 sigismember(&after, signal));
	assert_int_equal(neap_thread_give(thread, note_mask, ignore, &mask, &err), 0);
	run_loop();
	for (size_t i = 0; i < NEAP_ARRAY_LEN(blocked); i++)
		assert_int_equal(sigismember(&mask, blocked[i]), 1);
	assert_int_equal(sigismember(&mask, NEAP_BUDGET_SIGNAL), 0);
	assert_int_equal(sigismember(&mask, SIGSEGV), 0);
	close_thread();
}

struct script {
	const char *text;
	int code; /* of the call */
	int64_t cpu_usec;
};

static void run_script(void *arg)
{
	struct script *script = arg;
	struct neap_vm *vm = NULL;
	struct neap_error err = {0};
	int rc = neap_vm_new(0, &vm, &err);

	if (rc == 0)
		rc = neap_vm_load(vm, script->text, strlen(script->text), "s", &err);
	if (rc == 0)
		rc = neap_vm_call(vm, 0, 0, 20000, &err);
	script->code = -rc;
	script->cpu_usec = vm ? neap_vm_last_cpu_usec(vm) : 0;
	neap_vm_free(vm);
}

/* The budget works on the thread, also while this thread runs a script of its own. */
static void test_scripts(void **state)
{
	static const char loop[] = "while true do end";
	struct script theirs[3] = {
		{loop}, {"local t = {} for i = 1, 100 do t[i] = i end"}, {loop}};
	struct neap_error err;

	(void)state;
	open_thread(8);
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			neap_thread_give(thread, run_script, ignore, &theirs[i], &err),
			0);
	for (int i = 0; i < 5; i++) {
		struct script mine = {loop};

		run_script(&mine);
		assert_int_equal(mine.code, NEAP_EBUDGET);
	}
	run_loop();
	assert_int_equal(theirs[0].code, NEAP_EBUDGET);
	assert_int_equal(theirs[1].code, NEAP_OK);
	assert_int_equal(theirs[2].code, NEAP_EBUDGET);
	print_message("# stopped after %lld and %lld us of CPU time on the thread\n",
		      (long long)theirs[0].cpu_usec, (long long)theirs[2].cpu_usec);
	close_thread();
}

/* An idle thread costs nothing. */
static void test_idle(void **state)
{
	struct rusage before, after;
	int64_t usec;

	(void)state;
	open_thread(1);
	(void)getrusage(RUSAGE_SELF, &before); /* cannot fail here */
	(void)usleep(200000);
	(void)getrusage(RUSAGE_SELF, &after);
	usec = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000000 +
	       (after.ru_utime.tv_usec - before.ru_utime.tv_usec);
	assert_true(usec < 50000);
	close_thread();
}

static atomic_int left_count;

static void left(void *arg)
{
	struct job *job = arg;

	assert_true(job->has_worked && !job->is_done);
	(void)atomic_fetch_add(&left_count, 1);
}

/* A job that does not end is left alone with the thread; one that waits is not. */
static void test_leave(void **state)
{
	atomic_bool gate = false;
	/* The first belongs to the thread until it was left. */
	struct job jobs[2] = {{.number = 1, .gate = &gate}, {.number = 2}}, quick = {0};
	struct neap_error err;

	(void)state;
	open_thread(4);
	for (int i = 0; i < 2; i++)
		assert_int_equal(neap_thread_give(thread, work, done, &jobs[i], &err), 0);
	while (!atomic_load(&jobs[0].has_begun))
		doze();
	assert_false(neap_thread_leave(thread, 1000, left));
	assert_int_equal(done_count, 1);
	assert_int_equal(order[0], 2);
	assert_false(jobs[1].has_worked);
	assert_int_equal(atomic_load(&left_count), 0);
	event_base_free(base);
	atomic_store(&gate, true);
	assert_true(comes_true(atomic_load(&left_count) == 1));
	/* One that ends is done on the loop. */
	open_thread(4);
	assert_int_equal(neap_thread_give(thread, work, done, &quick, &err), 0);
	while (!atomic_load(&quick.has_begun))
		doze();
	assert_true(neap_thread_leave(thread, INT64_C(600) * 1000000, left));
	assert_int_equal(done_count, 1);
	event_base_free(base);
	assert_true(neap_thread_leave(NULL, 1, left));
	assert_int_equal(atomic_load(&left_count), 1);
}

static void test_torture(void **state)
{
	struct neap_error err = {0};
	int rc = -1;

	(void)state;
	base = event_base_new();
	for (uint64_t n = 1; rc < 0 && n < 100; n++) {
		thread = NULL;
		neap_mem_fail_at(n);
		rc = neap_thread_new(base, 4, &thread, &err);
		if (rc == 0) {
			struct job job = {0};

			rc = neap_thread_give(thread, work, done, &job, &err);
			neap_mem_fail_at(0);
			if (rc == 0)
				run_loop();
			neap_thread_free(thread);
		}
		neap_mem_fail_at(0);
		assert_true(rc == 0 || rc == -NEAP_ENOMEM);
	}
	assert_int_equal(rc, 0);
	event_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_leave),
		cmocka_unit_test(test_done_gives),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_give_while_freed),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_scripts),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_torture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
