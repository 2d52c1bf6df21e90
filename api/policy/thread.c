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
#include <unistd.h>

#include <event2/event.h>

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
	bool has_lock, has_wake, is_started;
	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t wake;
	struct queue waiting, finished;
	size_t waiting_count;
	bool is_ending;

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
	unlock(thread);
	return job;
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
		lock(thread);
		queue_put(&thread->finished, job);
		unlock(thread);
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

static int open_thread(struct neap_thread *thread, struct event_base *base,
		       struct neap_error *err)
{
	thread->has_lock = pthread_mutex_init(&thread->lock, NULL) == 0;
	thread->has_wake = pthread_cond_init(&thread->wake, NULL) == 0;
	if (!thread->has_lock || !thread->has_wake)
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

void neap_thread_free(struct neap_thread *thread)
{
	if (!thread)
		return;
	if (thread->is_started) {
		lock(thread);
		thread->is_ending = true;
		(void)pthread_cond_signal(&thread->wake); /* cannot fail */
		unlock(thread);
		(void)pthread_join(thread->id, NULL); /* it is ours and joinable */
	}
	end_jobs(thread, &thread->finished);
	end_jobs(thread, &thread->waiting);
	if (thread->event)
		event_free(thread->event);
	neap_fd_close(&thread->fd);
	if (thread->has_wake)
		(void)pthread_cond_destroy(&thread->wake);
	if (thread->has_lock)
		(void)pthread_mutex_destroy(&thread->lock);
	free(thread);
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
