/* SPDX-License-Identifier: Apache-2.0
 *
 * One turn of the scheduler: process events, wake the pods they may help, decide some
 * ready ones. Then it sleeps until an event or the end of a pause. */
#include "api/schedule/schedule.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "api/schedule/config.h"
#include "api/schedule/schedule_priv.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"

void scheduler_wake(struct neap_scheduler *scheduler, int64_t usec)
{
	struct timeval after = {.tv_sec = usec / 1000000, .tv_usec = usec % 1000000};

	(void)event_add(scheduler->turn, &after);
}

bool scheduler_wants(const struct neap_scheduler *scheduler, const struct neap_pod *pod)
{
	if (neap_pod_is_stand(pod))
		return scheduler_wants_stand(scheduler, pod);
	return !*pod->node_name && !pod->is_finished && !pod->is_gated &&
	       !pod->object->is_deleting &&
	       scheduler_profile(scheduler, pod->scheduler) >= 0;
}

static void turn(evutil_socket_t fd, short what, void *arg)
{
	struct neap_scheduler *scheduler = arg;
	struct neap_error err;
	bool has_more;
	int64_t now, due;

	(void)fd;
	(void)what;
	if (scheduler->is_lost) {
		/* An answer to the last binding goes on. */
		if (scheduler->bind_count)
			return;
		if (scheduler_restart(scheduler, &err) < 0) {
			scheduler_wake(scheduler, SLEEP_USEC);
			return;
		}
	}
	if (scheduler->is_reading && !scheduler_read(scheduler)) {
		scheduler_wake(scheduler, scheduler->is_lost ? SLEEP_USEC : 0);
		return;
	}
	if (scheduler->again_usec && scheduler->again_usec <= scheduler->now()) {
		scheduler->again_usec = 0;
		scheduler->moved |= NEAP_MOVED_RESERVATION;
	}
	neap_client_hold(scheduler->client);
	has_more = scheduler_hear(scheduler);
	has_more = scheduler_place(scheduler) || has_more;
	neap_client_release(scheduler->client);
	if (scheduler->is_lost) {
		scheduler_wake(scheduler, SLEEP_USEC / 10);
		return;
	}
	now = scheduler->now();
	due = neap_queue_due(scheduler->queue, now);
	if (scheduler->unsure_usec && scheduler->unsure_usec < due)
		due = scheduler->unsure_usec;
	if (scheduler->again_usec && scheduler->again_usec < due)
		due = scheduler->again_usec;
	if (has_more)
		scheduler_wake(scheduler, 0);
	else if (due < INT64_MAX && scheduler->bind_count < BINDS_MAX)
		scheduler_wake(scheduler, due - now > SLEEP_USEC ? SLEEP_USEC
					  : due > now            ? due - now
								 : 0);
}

int neap_scheduler_new(const struct neap_scheduler_config *config,
		       struct neap_scheduler **ret, struct neap_error *err)
{
	struct neap_scheduler *scheduler = neap_alloc(sizeof(*scheduler));
	int failed;

	if (!scheduler)
		return neap_error_nomem(err);
	scheduler->base = config->base;
	scheduler->client = config->client;
	scheduler->names = config->names;
	scheduler->now = config->now ? config->now : neap_clock_unix;
	scheduler->log = config->log;
	scheduler->more = config->more;
	scheduler->matcher = config->matcher;
	scheduler->purse = config->purse;
	if (config->settings)
		scheduler->settings = neap_schedule_config_ref(config->settings);
	if (config->load) {
		scheduler->load = neap_alloc(sizeof(*scheduler->load));
		if (!scheduler->load) {
			neap_scheduler_free(scheduler);
			return neap_error_nomem(err);
		}
		*scheduler->load = *config->load;
	}
	if (config->cpus) {
		scheduler->cpus = neap_alloc(sizeof(*scheduler->cpus));
		if (!scheduler->cpus) {
			neap_scheduler_free(scheduler);
			return neap_error_nomem(err);
		}
		*scheduler->cpus = *config->cpus;
	}
	for (size_t i = 0; i < SOURCES; i++) {
		scheduler->sources[i] = scheduler_sources[i];
		scheduler->sources[i].scheduler = scheduler;
	}
	scheduler->turn = event_new(config->base, -1, 0, turn, scheduler);
	failed = scheduler->turn ? scheduler_restart(scheduler, err)
				 : neap_error_nomem(err);
	if (failed < 0) {
		neap_scheduler_free(scheduler);
		return failed;
	}
	scheduler_wake(scheduler, 0);
	*ret = scheduler;
	return 0;
}

void neap_scheduler_more_changed(struct neap_scheduler *scheduler)
{
	if (!scheduler)
		return;
	scheduler->moved |= NEAP_MOVED_ANY;
	scheduler_wake(scheduler, 0);
}

void neap_scheduler_free(struct neap_scheduler *scheduler)
{
	if (!scheduler)
		return;
	scheduler_leave_binds(scheduler);
	for (size_t i = 0; i < SOURCES; i++)
		neap_client_watch_free(scheduler->sources[i].watch);
	if (scheduler->turn)
		event_free(scheduler->turn);
	scheduler_profiles_free(scheduler->profiles);
	(void)neap_schedule_config_unref(scheduler->settings);
	neap_reserve_book_free(scheduler->book);
	neap_cluster_free(scheduler->cluster);
	neap_queue_free(scheduler->queue);
	free(scheduler->load);
	free(scheduler->cpus);
	free(scheduler);
}
