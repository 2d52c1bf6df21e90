/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler at work, shared by the files of api/schedule. */
#ifndef NEAP_API_SCHEDULE_SCHEDULE_PRIV_H
#define NEAP_API_SCHEDULE_SCHEDULE_PRIV_H

#include "api/client/client.h"
#include "api/schedule/schedule.h"
#include "api/schedule/view.h"
#include "engine/cluster/cluster.h"
#include "engine/decide/claim.h"
#include "engine/decide/decide.h"
#include "engine/decide/queue.h"
#include "engine/log/log.h"
#include "engine/reserve/book.h"

/* Bindings on their way; no more is decided until some are answered. */
#define BINDS_MAX 1024
/* Looks at nodes in one turn of the loop, a decision counting as DECISION_LOOKS more: a millisecond or two. */
#define TURN_LOOKS     20000
#define DECISION_LOOKS 200
/* CPU time after which a turn ends all the same: policies take what they need. */
#define TURN_USEC 10000
/* Objects that are read, and events that are heard, in one turn. */
#define TURN_OBJECTS 100
#define TURN_EVENTS  100
/* Until a binding that was answered must have been seen. */
#define CONFIRM_USEC INT64_C(30000000)
/* The longest sleep while somebody waits, as the clock may be set. */
#define SLEEP_USEC INT64_C(1000000)

struct bind {
	struct neap_scheduler *scheduler; /* NULL: it is gone */
	struct bind *next, *prev;
	char key[NEAP_POD_KEY];
	char uid[NEAP_OBJECT_UID];
	char node[NEAP_OBJECT_NAME];
	/* What the binding was asked of, where nothing else is on its way to it, and the annotations that go with it. */
	struct neap_object *before;
	json_t *notes;
	/* Of a binding that somebody else decided (view.h); else NULL. */
	void (*told)(void *arg, const char *trouble);
	void *arg;
	/* Of a Reservation: pods that it takes over, which are told first, one after the other; then its annotations, then
	 * its status. */
	struct taken_pod *taken;
	size_t taken_count, told_count;
	json_t *status;
};

struct taken_pod {
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME], uid[NEAP_OBJECT_UID];
};

struct source {
	struct neap_scheduler *scheduler;
	const char *resource;
	int (*hear)(struct neap_scheduler *scheduler,
		    const struct neap_client_event *event, struct neap_error *err);
	struct neap_client_watch *watch;
	struct neap_client_place place; /* of the first reading */
	bool is_read;
	bool is_ready; /* may have events */
};

#define SOURCES 10

struct neap_scheduler {
	struct event_base *base;
	struct neap_client *client;
	const char *const *names;
	int64_t (*now)(void);
	const struct neap_log *log;
	struct neap_load_args *load; /* NULL: as without a configuration */
	struct neap_cpus_args *cpus; /* the same */
	const struct neap_decide_more *more;
	struct event *turn;
	struct neap_cluster *cluster;
	struct neap_reserve_book *book;
	const struct neap_reserve_matcher *matcher; /* NULL: none */
	struct neap_purse *purse;                   /* NULL: none */
	/* The first time at which a policy may open a reservation to somebody who waits; 0: none. */
	int64_t again_usec;
	struct neap_queue *queue;
	struct neap_decide *decide;    /* of the pod at hand: one of the profiles */
	struct neap_decide **profiles; /* by profile, the rest NULL */
	struct neap_schedule_config *settings; /* NULL: without */
	struct source sources[SOURCES];
	bool is_lost;    /* changes were missed: everything is to be read again */
	bool is_reading; /* for the first time, or again */
	uint64_t readings;
	unsigned moved; /* NEAP_MOVED_* that nobody was woken for yet */
	struct bind *binds;
	size_t bind_count;
};

void scheduler_wake(struct neap_scheduler *scheduler, int64_t usec);
/* Whether it may be decided now: its own, not bound, finished, gated, or on its way out. */
bool scheduler_wants(const struct neap_scheduler *scheduler, const struct neap_pod *pod);

/* --- hear.c --- */

/* A cluster and a queue that are empty, and everything is to be read. */
int scheduler_restart(struct neap_scheduler *scheduler, struct neap_error *err);
/* Reads a piece; true when that was the last. */
bool scheduler_read(struct neap_scheduler *scheduler);
/* pod waits for a decision, as event says; one that waited already is woken where more than its status is new. */
int scheduler_queue(struct neap_scheduler *scheduler, const struct neap_pod *pod,
		    const struct neap_client_event *event, struct neap_error *err);
/* Hears a piece of what happened; true when there may be more. */
bool scheduler_hear(struct neap_scheduler *scheduler);
extern const struct source scheduler_sources[SOURCES];

/* --- place.c --- */

/* Decides on some of those that wait; true when there may be more now. */
bool scheduler_place(struct neap_scheduler *scheduler);
/* Counts pod as being on row, with what it is given there (claim, NULL: nothing), and asks for its binding; bind and claim
 * are taken, the names of bind are set here. */
int scheduler_bind_take(struct neap_scheduler *scheduler, struct neap_pod *pod,
			uint32_t row, struct neap_claim *claim, struct bind *bind,
			struct neap_error *err);
void scheduler_bind_free(struct bind *bind);
/* After a decision: room that was made for the pod and is not its own any more may help others. */
void scheduler_wake_for_room(struct neap_scheduler *scheduler);
/* Bindings whose answer nobody waits for any more. */
void scheduler_leave_binds(struct neap_scheduler *scheduler);
/* bind gets its names and stands among those on their way. */
void scheduler_add_bind(struct neap_scheduler *scheduler, const struct neap_pod *pod,
			const char *node, struct bind *bind);
/* An answer to the last write of a bind: object, or failure; frees it. */
void scheduler_bound(void *arg, struct neap_object *object,
		     const struct neap_client_failure *failure);

/* --- reserve.c: Reservations that are to be placed --- */

#define RESERVATIONS "reservations.scheduling.koordinator.sh"

int scheduler_hear_reservation(struct neap_scheduler *scheduler,
			       const struct neap_client_event *event,
			       struct neap_error *err);
bool scheduler_wants_stand(const struct neap_scheduler *scheduler,
			   const struct neap_pod *stand);
/* The stand is on row from now on, with what it gets (claim, taken), and the Reservation is to say so; is_waiting: its
 * room is not free yet. bind is taken. */
int scheduler_place_stand_take(struct neap_scheduler *scheduler, struct neap_pod *stand,
			       uint32_t row, struct neap_claim *claim, bool is_waiting,
			       struct bind *bind, struct neap_error *err);
/* After a decision without a place: one that may wait for its room is placed where it does, now or after a pause. False:
 * there is no such place. */
bool scheduler_place_waiting(struct neap_scheduler *scheduler, struct neap_pod *stand,
			     const char *key);
/* One that is placed and whose room was not free: whether it is now. */
void scheduler_look_at_waiting(struct neap_scheduler *scheduler, struct neap_pod *stand,
			       const char *key);
/* What was decided on a Reservation is written, once the pods that it takes over know; steals nothing. */
void scheduler_write_stand(struct bind *bind);
void scheduler_tell_unplaced(struct neap_scheduler *scheduler,
			     const struct neap_pod *stand, const char *message);

/* --- takeover.c: pods that a Reservation takes over --- */

/* Copies whom claim takes over. False without memory. */
bool scheduler_note_taken(struct bind *bind, const struct neap_claim *claim);
/* Tells them, then scheduler_write_stand; when one cannot be told scheduler_not_placed. */
void scheduler_take_over(struct bind *bind);
/* The Reservation does not get that place: what its pods were told is taken back; frees bind. */
void scheduler_not_placed(struct bind *bind, const struct neap_client_failure *failure);
/* Pods of node that were told of a place before, and that claim (NULL: nobody) does not take, are told otherwise: true,
 * and while they do not know the Reservation gets no place there. */
bool scheduler_take_back(struct neap_scheduler *scheduler, const struct neap_pod *stand,
			 const struct neap_cluster_node *node,
			 const struct neap_claim *claim);

/* --- profiles.c --- */

int scheduler_profiles_new(const struct neap_scheduler *scheduler,
			   struct neap_cluster *cluster, struct neap_reserve_book *book,
			   struct neap_decide ***ret, struct neap_error *err);
void scheduler_profiles_free(struct neap_decide **profiles);
/* Of pods with that schedulerName; -1: they are somebody else's. */
int scheduler_profile(const struct neap_scheduler *scheduler, const char *name);
/* Sets scheduler->decide; of somebody else's pods it is the first profile's. */
void scheduler_use_profile(struct neap_scheduler *scheduler, const char *name);

/* --- view.c --- */

/* A binding that somebody else decided was answered; trouble NULL: it is. */
void scheduler_tell_binder(struct neap_scheduler *scheduler, const struct bind *bind,
			   struct neap_pod *pod, const char *trouble);

/* --- tell.c --- */

void scheduler_tell_placed(struct neap_scheduler *scheduler, const struct neap_pod *pod,
			   const char *node);
/* There is no place: an event, and the condition where it says something else. nominated: the node on which room is
 * made; "": none any more; NULL: as it was. */
void scheduler_tell_refused(struct neap_scheduler *scheduler, const struct neap_pod *pod,
			    const char *message, const char *nominated);
/* What of a node cannot be read. */
void scheduler_tell_node(struct neap_scheduler *scheduler,
			 const struct neap_cluster_node *node);
void scheduler_tell_gated(struct neap_scheduler *scheduler, const struct neap_pod *pod);
void scheduler_tell_victim(struct neap_scheduler *scheduler,
			   const struct neap_pod *victim, const struct neap_pod *pod,
			   const char *node);

#endif
