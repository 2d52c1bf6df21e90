/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the Reservation controller share: who says of itself that it uses what. A pod's annotation
 * reservation-allocated names a uid, that of a Reservation or of a pod in operating mode Reservation; both are targets
 * here. Everything is made of events; nothing outlives a restart. */
#ifndef NEAP_API_WORKLOAD_RESERVATION_RESERVATIONS_PRIV_H
#define NEAP_API_WORKLOAD_RESERVATION_RESERVATIONS_PRIV_H

#include "api/workload/loop/feed.h"
#include "api/workload/loop/rounds.h"
#include "engine/reserve/life.h"

#define RESERVATIONS "reservations.scheduling.koordinator.sh"

/* What is told of one that cannot be read, with the NUL. */
#define RESERVATION_TROUBLE 256

struct reservation_user;

struct reservation_target {
	struct reservation_user *users; /* in no order */
	bool is_known; /* it is there, called ns and name; else only its users tell of it */
	char uid[NEAP_OBJECT_UID];
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME]; /* ns "": a Reservation */
	/* Of a Reservation, as the last look found it. */
	char node[NEAP_OBJECT_NAME]; /* "": it has none */
	int64_t version; /* of which all is said, as long as no user changes; 0: none */
	int64_t until_usec;                /* ... and it is not later than this */
	char trouble[RESERVATION_TROUBLE]; /* why it cannot be used, as was told; "" */
};

/* A pod that names a target. */
struct reservation_user {
	struct reservation_target *target;
	struct reservation_user *next, *previous; /* of the target */
	bool is_finished;
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME];
	char uid[NEAP_OBJECT_UID];
	char node[NEAP_OBJECT_NAME];  /* "": not bound */
	struct neap_pod *pod;         /* as it was told */
	struct neap_amounts requests; /* of resources that are known by now */
};

struct reservation_index {
	struct neap_map *targets; /* by uid */
	struct neap_map *users;   /* by "NAMESPACE/NAME" */
};

struct neap_reservations {
	struct neap_workload_config config;
	int64_t keep_usec; /* what has ended stays so long; 0: for ever */
	struct neap_feed *feed;
	struct neap_rounds *rounds;
	struct neap_resources *resources;
	struct reservation_index index;
};

/* --- reservation_index.c --- */

bool reservation_index_init(struct reservation_index *index); /* false without memory */
void reservation_index_clear(struct reservation_index *index);
void reservation_index_done(struct reservation_index *index);
/* NULL: nobody has told of it. */
struct reservation_target *reservation_target_find(const struct reservation_index *index,
						   const char *uid);
/* object is there, or changed; NULL without memory. */
struct reservation_target *reservation_target_set(struct reservation_index *index,
						  const struct neap_object *object);
/* ... it is gone. */
void reservation_target_drop(struct reservation_index *index, const char *uid);
/* What a change of a pod means for the targets that it named and names; each that it makes a difference to is told
 * once. pod as it is now, is_gone: as it was last. False without memory. */
bool reservation_user_set(struct reservation_index *index, const struct neap_object *pod,
			  bool is_gone, const struct neap_resources *resources,
			  void (*tell)(void *arg, struct reservation_target *target),
			  void *arg);
/* Borrowed until the next call. */
const struct neap_amounts *
reservation_user_requests(struct reservation_user *user,
			  const struct neap_resources *resources);
/* It counts for who is on that node. */
bool reservation_user_counts(const struct reservation_user *user, const char *node);

/* --- reservation_pods.c --- */

/* A pod in operating mode. */
bool reservation_is_pod(const struct neap_object *pod);
/* A look at one: its annotation reservation-current-owner says who uses it. */
int64_t reservation_look_at_pod(struct neap_reservations *reservations, const char *ns,
				const char *name);

/* --- reservation_tell.c --- */

/* What is asked for, and told as an event when it is durable. */
enum reservation_ask {
	RESERVATION_OWNED,
	RESERVATION_SUCCEEDED,
	RESERVATION_NODE_GONE,
	RESERVATION_EXPIRES,
	RESERVATION_TTL,
	RESERVATION_COLLECTED
};
void reservation_told(void *arg, const struct neap_round_told *told);
/* Why nobody can use it, NULL: all is well; an event when that is another reason than before. */
void reservation_tell_trouble(struct neap_reservations *reservations,
			      struct reservation_target *target, const char *trouble);

#endif
