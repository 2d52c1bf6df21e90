/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler's state, shared by the files of api/schedule. */
#ifndef NEAP_API_SCHEDULE_SCHEDULE_PRIV_H
#define NEAP_API_SCHEDULE_SCHEDULE_PRIV_H

#include "api/client/client.h"
#include "api/schedule/schedule.h"
#include "api/schedule/view.h"
#include "engine/cluster/cluster.h"
#include "engine/decide/decide.h"
#include "engine/decide/queue.h"
#include "engine/log/log.h"
#include "engine/reserve/book.h"

/* Pending bindings; no more pods are decided until some are answered. */
#define BINDS_MAX 1024
/* Nodes examined per turn, plus DECISION_LOOKS per decision: a millisecond or two. */
#define TURN_LOOKS     20000
#define DECISION_LOOKS 200
/* CPU time after which a turn ends in any case, because policies take what they need. */
#define TURN_USEC 10000
/* Objects read and events processed per turn. */
#define TURN_OBJECTS 100
#define TURN_EVENTS  100
/* Time within which the effect of an answered binding must be seen. */
#define CONFIRM_USEC INT64_C(30000000)
/* The longest sleep while pods wait, because the clock may be set. */
#define SLEEP_USEC INT64_C(1000000)

struct bind {
	struct neap_scheduler *scheduler; /* NULL: it was freed */
	struct bind *next, *prev;
	char key[NEAP_POD_KEY];
	char uid[NEAP_OBJECT_UID];
	char node[NEAP_OBJECT_NAME];
	/* Of the pod that was decided on, and the precondition of the binding; "":
	 * none. */
	char version[NEAP_OBJECT_VERSION];
	/* The object the binding was based on, when nothing else is pending for it, and
	 * the annotations written with it. */
	struct neap_object *before;
	json_t *notes;
	/* For a binding that another part decided (view.h); else NULL. */
	void (*told)(void *arg, const char *trouble);
	void *arg;
	/* For a Reservation: pods that it takes over, annotated first, one after the
	 * other; then its own annotations, then its status. */
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
	/* NULL: set or remove takes the object, which has no namespace. */
	int (*hear)(struct neap_scheduler *scheduler,
		    const struct neap_client_event *event, struct neap_error *err);
	int (*set)(struct neap_cluster *cluster, struct neap_object *object,
		   unsigned *ret_moved, struct neap_error *err);
	void (*remove)(struct neap_cluster *cluster, const char *name,
		       unsigned *ret_moved);
	struct neap_client_watch *watch;
	struct neap_client_place place; /* of the initial reading */
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
	/* The first time at which a policy may open a reservation to a waiting pod; 0:
	 * none. */
	int64_t again_usec;
	struct neap_queue *queue;
	struct neap_decide *decide;    /* of the current pod: one of the profiles */
	struct neap_decide **profiles; /* by profile, the rest NULL */
	struct neap_schedule_config *settings; /* NULL: without */
	struct source sources[SOURCES];
	bool is_lost;    /* events were missed: read everything again */
	bool is_reading; /* initially, or again */
	/* When the last binding of unknown outcome is given up; 0: there is none. */
	int64_t unsure_usec;
	uint64_t readings;
	unsigned moved; /* NEAP_MOVED_* that have not woken pods yet */
	struct bind *binds;
	size_t bind_count;
};

void scheduler_wake(struct neap_scheduler *scheduler, int64_t usec);
/* Returns whether it may be decided now: its own, not bound, finished, gated or
 * terminating. */
bool scheduler_wants(const struct neap_scheduler *scheduler, const struct neap_pod *pod);

/* --- hear.c --- */

/* Empties cluster and queue; everything is read again. */
int scheduler_restart(struct neap_scheduler *scheduler, struct neap_error *err);
/* Reads a piece; true when it was the last. */
bool scheduler_read(struct neap_scheduler *scheduler);
/* Queues pod because of event; a pod that waits already is woken if more than its status
 * changed. */
int scheduler_queue(struct neap_scheduler *scheduler, const struct neap_pod *pod,
		    const struct neap_client_event *event, struct neap_error *err);
/* Processes a piece of the events; true when there may be more. */
bool scheduler_hear(struct neap_scheduler *scheduler);
extern const struct source scheduler_sources[SOURCES];

/* --- place.c --- */

/* Decides some of the ready pods; true when there may be more now. */
bool scheduler_place(struct neap_scheduler *scheduler);
/* Places pod on row with what it is given there (claim, NULL: nothing) and requests its
 * binding; bind and claim are taken, and the names of bind are set here. */
int scheduler_bind_take(struct neap_scheduler *scheduler, struct neap_pod *pod,
			uint32_t row, struct neap_claim *claim, struct bind *bind,
			struct neap_error *err);
void scheduler_bind_free(struct bind *bind);
/* After a decision: room nominated for the pod that it does not need any more may help
 * others. */
void scheduler_wake_for_room(struct neap_scheduler *scheduler);
/* Detaches pending bindings. */
void scheduler_leave_binds(struct neap_scheduler *scheduler);
/* Sets the names of bind and adds it to the pending ones. */
void scheduler_add_bind(struct neap_scheduler *scheduler, const struct neap_pod *pod,
			const char *node, struct bind *bind);
/* Handles the answer to the last write of a bind: object, or failure; frees it. */
void scheduler_bound(void *arg, struct neap_object *object,
		     const struct neap_client_failure *failure);

/* --- reserve.c: Reservations that are to be placed --- */

#define RESERVATIONS "reservations.scheduling.koordinator.sh"

int scheduler_hear_reservation(struct neap_scheduler *scheduler,
			       const struct neap_client_event *event,
			       struct neap_error *err);
bool scheduler_wants_stand(const struct neap_scheduler *scheduler,
			   const struct neap_pod *stand);
/* Places the placeholder on row with what it gets (claim, taken) and has the
 * Reservation's status written; is_waiting: its room is not free yet. Takes bind. */
int scheduler_place_stand_take(struct neap_scheduler *scheduler, struct neap_pod *stand,
			       uint32_t row, struct neap_claim *claim, bool is_waiting,
			       struct bind *bind, struct neap_error *err);
/* After a decision without a node: places a Reservation that may wait for its room, now
 * or after a pause. False: there is no such node. */
bool scheduler_place_waiting(struct neap_scheduler *scheduler, struct neap_pod *stand,
			     const char *key);
/* Checks whether the room of a waiting Reservation is free now. */
void scheduler_look_at_waiting(struct neap_scheduler *scheduler, struct neap_pod *stand,
			       const char *key);
/* Writes a decision about a Reservation, after the pods that it takes over were
 * annotated; steals nothing. */
void scheduler_write_stand(struct bind *bind);
void scheduler_tell_unplaced(struct neap_scheduler *scheduler,
			     const struct neap_pod *stand, const char *message);

/* --- takeover.c: pods that a Reservation takes over --- */

/* Copies the pods that claim takes over. False without memory. */
bool scheduler_note_taken(struct bind *bind, const struct neap_claim *claim);
/* Annotates them, then calls scheduler_write_stand; if one fails,
 * scheduler_not_placed. */
void scheduler_take_over(struct bind *bind);
/* The Reservation is not placed there: removes annotations from its pods; frees bind. */
void scheduler_not_placed(struct bind *bind, const struct neap_client_failure *failure);
/* Removes annotations of earlier placements from pods of node that claim (NULL: none)
 * does not take over. Returns true while some are pending; until then the Reservation is
 * not placed there. */
bool scheduler_take_back(struct neap_scheduler *scheduler, const struct neap_pod *stand,
			 const struct neap_cluster_node *node,
			 const struct neap_claim *claim);

/* --- profiles.c --- */

int scheduler_profiles_new(const struct neap_scheduler *scheduler,
			   struct neap_cluster *cluster, struct neap_reserve_book *book,
			   struct neap_decide ***ret, struct neap_error *err);
void scheduler_profiles_free(struct neap_decide **profiles);
/* Returns the profile with that schedulerName; -1: other schedulers' pods. */
int scheduler_profile(const struct neap_scheduler *scheduler, const char *name);
/* Sets scheduler->decide; for other schedulers' pods to the first profile's. */
void scheduler_use_profile(struct neap_scheduler *scheduler, const char *name);

/* --- view.c --- */

/* A binding that another part decided was answered; trouble NULL: it is bound. */
void scheduler_tell_binder(struct neap_scheduler *scheduler, const struct bind *bind,
			   struct neap_pod *pod, const char *trouble);

/* --- tell.c --- */

void scheduler_tell_placed(struct neap_scheduler *scheduler, const struct neap_pod *pod,
			   const char *node);
/* There is no node: records an event, and updates the condition if it differs. nominated:
 * the nominated node; "": none any more; NULL: unchanged. */
void scheduler_tell_refused(struct neap_scheduler *scheduler, const struct neap_pod *pod,
			    const char *message, const char *nominated);
/* Reports what cannot be read of a node. */
void scheduler_tell_node(struct neap_scheduler *scheduler,
			 const struct neap_cluster_node *node);
void scheduler_tell_gated(struct neap_scheduler *scheduler, const struct neap_pod *pod);
void scheduler_tell_victim(struct neap_scheduler *scheduler,
			   const struct neap_pod *victim, const struct neap_pod *pod,
			   const char *node);

#endif
