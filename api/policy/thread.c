/* SPDX-License-Identifier: Apache-2.0
 *
 * One thread, one queue, one list of finished jobs. An eventfd wakes the loop, a
 * condition variable wakes the thread; neither polls. Made for occasional jobs of
 * milliseconds to seconds. */
#include "api/policy/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "lua/vm/budget.h"

#define NICE 0 /* neapd's loop has a lower value */

struct job {
	struct job *next;
	void (*work)(void *arg), (*done)(void *arg);
	void *arg;
};

/* First in, first out. */
struct queue {
	struct job *first, *last;
};

struct neap_thread {
	pthread_t id;
	bool has_lock, has_wake, has_idle, is_started;
	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t wake, idle;
	struct queue waiting, finished;
	size_t waiting_count;
	bool is_ending, is_busy;
	/* Set: nobody waits for the running job. The last of the two who use this frees
	 * it. */
	void (*left)(void *arg);
	bool is_last;

	/* Used by the loop only. */
	size_t count, jobs_max;
	int fd;
	struct event *event;
};

static void queue_put(struct queue *queue, struct job *job)
{
	job->next = NULL;
	if (queue->last)
		queue->last->next = job;
	else
		queue->first = job;
	queue->last = job;
}

static struct job *queue_take(struct queue *queue)
{
	struct job *job = queue->first;

	if (!job)
		return NULL;
	queue->first = job->next;
	if (!queue->first)
		queue->last = NULL;
	return job;
}

/* A default mutex fails only if it is used wrongly. */
static void lock(struct neap_thread *thread)
{
	(void)pthread_mutex_lock(&thread->lock);
}

static void unlock(struct neap_thread *thread)
{
	(void)pthread_mutex_unlock(&thread->lock);
}

/* --- on the thread --- */

static void tell_loop(int fd)
{
	const uint64_t one = 1;

	/* EAGAIN: the counter is full, so the loop wakes anyway. */
	while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* The next job; NULL: the thread must end. */
static struct job *wait_for_job(struct neap_thread *thread)
{
	struct job *job = NULL;

	lock(thread);
	while (!thread->is_ending && !thread->waiting.first)
		(void)pthread_cond_wait(&thread->wake, &thread->lock);
	if (!thread->is_ending) {
		job = queue_take(&thread->waiting);
		thread->waiting_count--;
	}
	thread->is_busy = job != NULL;
	unlock(thread);
	return job;
}

/* Returns false when nobody waits for the job any more. */
static bool hand_in(struct neap_thread *thread, struct job *job)
{
	bool is_left;

	lock(thread);
	is_left = thread->left != NULL;
	if (!is_left) {
		queue_put(&thread->finished, job);
		thread->is_busy = false;
		(void)pthread_cond_signal(&thread->idle); /* cannot fail */
	}
	unlock(thread);
	return !is_left;
}

static void destroy(struct neap_thread *thread)
{
	if (thread->has_wake)
		(void)pthread_cond_destroy(&thread->wake);
	if (thread->has_idle)
		(void)pthread_cond_destroy(&thread->idle);
	if (thread->has_lock)
		(void)pthread_mutex_destroy(&thread->lock);
	free(thread);
}

/* Called by both sides of a thread that was left; the second one frees it. */
static void drop(struct neap_thread *thread)
{
	bool is_last;

	lock(thread);
	is_last = thread->is_last;
	thread->is_last = true;
	unlock(thread);
	if (is_last)
		destroy(thread);
}

/* The loop goes first: a check can wait, an answer and a tick cannot. On Linux a nice
 * value belongs to a thread. */
static void yield_to_loop(void)
{
	(void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
}

static void *run(void *arg)
{
	struct neap_thread *thread = arg;
	struct job *job;

	yield_to_loop();
	while ((job = wait_for_job(thread)) != NULL) {
		job->work(job->arg);
		if (!hand_in(thread, job)) {
			thread->left(job->arg);
			free(job);
			drop(thread);
			return NULL;
		}
		tell_loop(thread->fd);
	}
	return NULL;
}

/* --- on the loop --- */

static void end_jobs(struct neap_thread *thread, struct queue *queue)
{
	struct job *job;

	while ((job = queue_take(queue)) != NULL) {
		thread->count--;
		job->done(job->arg);
		free(job);
	}
}

static void on_finished(evutil_socket_t fd, short what, void *arg)
{
	struct neap_thread *thread = arg;
	struct queue finished;
	uint64_t times;
	ssize_t n;

	(void)what;
	do
		n = read(fd, &times, sizeof(times));
	while (n < 0 && errno == EINTR); /* EAGAIN: nothing new */
	lock(thread);
	finished = thread->finished;
	thread->finished = (struct queue){0};
	unlock(thread);
	end_jobs(thread, &finished);
}

/* A new thread inherits the signal mask. */
static int start(struct neap_thread *thread, struct neap_error *err)
{
	static const int left[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
				   SIGABRT, SIGTRAP, SIGSYS};
	sigset_t mask, before;
	int rc;

	sigfillset(&mask);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(left); i++)
		sigdelset(&mask, left[i]);
	sigdelset(&mask, NEAP_BUDGET_SIGNAL);
	(void)pthread_sigmask(SIG_SETMASK, &mask,
			      &before); /* fails only for bad arguments */
	rc = pthread_create(&thread->id, NULL, run, thread);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc != 0) {
		errno = rc;
		return neap_error_sys(err, "start the policy thread");
	}
	thread->is_started = true;
	(void)pthread_setname_np(thread->id, "neap-policy"); /* only for people */
	return 0;
}

/* Its times are those of a clock that nobody sets. */
static bool idle_init(pthread_cond_t *idle)
{
	pthread_condattr_t attr;
	bool is_made;

	if (pthread_condattr_init(&attr) != 0)
		return false;
	is_made = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 &&
		  pthread_cond_init(idle, &attr) == 0;
	(void)pthread_condattr_destroy(&attr);
	return is_made;
}

static int open_thread(struct neap_thread *thread, struct event_base *base,
		       struct neap_error *err)
{
	thread->has_lock = pthread_mutex_init(&thread->lock, NULL) == 0;
	thread->has_wake = pthread_cond_init(&thread->wake, NULL) == 0;
	thread->has_idle = idle_init(&thread->idle);
	if (!thread->has_lock || !thread->has_wake || !thread->has_idle)
		return neap_error_nomem(err);
	thread->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (thread->fd < 0)
		return neap_error_sys(err, "eventfd");
	thread->event =
		event_new(base, thread->fd, EV_READ | EV_PERSIST, on_finished, thread);
	if (!thread->event || event_add(thread->event, NULL) < 0)
		return neap_error_nomem(err);
	return start(thread, err);
}

int neap_thread_new(struct event_base *base, size_t jobs_max, struct neap_thread **ret,
		    struct neap_error *err)
{
	struct neap_thread *thread = neap_alloc(sizeof(*thread));
	int rc;

	if (!thread)
		return neap_error_nomem(err);
	thread->fd = -1;
	thread->jobs_max = jobs_max;
	rc = open_thread(thread, base, err);
	if (rc < 0) {
		neap_thread_free(thread);
		return rc;
	}
	*ret = thread;
	return 0;
}

/* Lets the thread end after its job. Waits for that for at most usec; -1: however long
 * it takes. Returns whether it has ended. */
static bool stop(struct neap_thread *thread, int64_t usec, void (*left)(void *arg))
{
	const int64_t at = neap_clock_usec(CLOCK_MONOTONIC) + usec;
	const struct timespec until = {.tv_sec = at / 1000000,
				       .tv_nsec = at % 1000000 * 1000};
	bool is_left;
	int rc = 0;

	lock(thread);
	thread->is_ending = true;
	(void)pthread_cond_signal(&thread->wake); /* cannot fail */
	while (usec >= 0 && thread->is_busy && rc == 0)
		rc = pthread_cond_timedwait(&thread->idle, &thread->lock, &until);
	is_left = usec >= 0 && thread->is_busy;
	if (is_left)
		thread->left = left;
	unlock(thread);
	if (is_left) {
		(void)pthread_detach(thread->id); /* it is ours and joinable */
		return false;
	}
	(void)pthread_join(thread->id, NULL);
	return true;
}

static bool end_thread(struct neap_thread *thread, int64_t usec, void (*left)(void *arg))
{
	bool is_over = true;

	if (!thread)
		return true;
	if (thread->is_started)
		is_over = stop(thread, usec, left);
	end_jobs(thread, &thread->finished);
	end_jobs(thread, &thread->waiting);
	if (thread->event)
		event_free(thread->event);
	neap_fd_close(&thread->fd);
	if (is_over)
		destroy(thread);
	else
		drop(thread);
	return is_over;
}

void neap_thread_free(struct neap_thread *thread)
{
	(void)end_thread(thread, -1, NULL);
}

bool neap_thread_leave(struct neap_thread *thread, int64_t usec, void (*left)(void *arg))
{
	return end_thread(thread, usec, left);
}

int neap_thread_give(struct neap_thread *thread, void (*work)(void *arg),
		     void (*done)(void *arg), void *arg, struct neap_error *err)
{
	struct job *job = neap_alloc(sizeof(*job));
	int rc = 0;

	if (!job)
		return neap_error_nomem(err);
	job->work = work;
	job->done = done;
	job->arg = arg;
	lock(thread);
	if (thread->is_ending) /* called from a done of neap_thread_free */
		rc = neap_error_set(err, NEAP_EUNAVAILABLE, "the policy thread ends");
	else if (thread->waiting_count >= thread->jobs_max)
		rc = neap_error_set(err, NEAP_EUNAVAILABLE,
				    "%zu jobs wait for the policy thread already; try "
				    "again in a moment",
				    thread->waiting_count);
	if (rc == 0) {
		queue_put(&thread->waiting, job);
		thread->waiting_count++;
		thread->count++;
		(void)pthread_cond_signal(&thread->wake); /* cannot fail */
	}
	unlock(thread);
	if (rc < 0)
		free(job);
	return rc;
}

size_t neap_thread_count(const struct neap_thread *thread)
{
	return thread->count;
}
