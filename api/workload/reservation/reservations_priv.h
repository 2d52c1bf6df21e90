/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of the Reservation controller: which pod says that it uses which
 * reservation. A pod's annotation reservation-allocated names the uid of a Reservation or
 * of a pod in operating mode Reservation; both are targets here. Everything is built from
 * events; nothing outlives a restart. */
#ifndef NEAP_API_WORKLOAD_RESERVATION_RESERVATIONS_PRIV_H
#define NEAP_API_WORKLOAD_RESERVATION_RESERVATIONS_PRIV_H

#include "api/workload/loop/feed.h"
#include "api/workload/loop/rounds.h"
#include "engine/reserve/life.h"

#define RESERVATIONS "reservations.scheduling.koordinator.sh"

/* Size of the message about an unreadable one, with the NUL. */
#define RESERVATION_TROUBLE 256

struct reservation_user;

struct reservation_target {
	struct reservation_user *users; /* in no order */
	bool is_known; /* it exists under ns and name; otherwise only its users name it */
	char uid[NEAP_OBJECT_UID];
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME]; /* ns "": a Reservation */
	/* For a Reservation, as of the last look. */
	char node[NEAP_OBJECT_NAME]; /* "": none */
	/* version for which everything was written, while no user changes; 0: none */
	int64_t version;
	int64_t until_usec;                /* ... and until this time */
	char trouble[RESERVATION_TROUBLE]; /* why it cannot be used, as reported; "" */
};

/* A pod that names a target. */
struct reservation_user {
	struct reservation_target *target;
	struct reservation_user *next, *previous; /* of the target */
	bool is_finished;
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME];
	char uid[NEAP_OBJECT_UID];
	char node[NEAP_OBJECT_NAME];  /* "": not bound */
	struct neap_pod *pod;         /* as of its last event */
	struct neap_amounts requests; /* of resources known by now */
};

struct reservation_index {
	struct neap_map *targets; /* by uid */
	struct neap_map *users;   /* by "NAMESPACE/NAME" */
};

struct neap_reservations {
	struct neap_workload_config config;
	int64_t keep_usec; /* how long ended ones are kept; 0: forever */
	struct neap_feed *feed;
	struct neap_rounds *rounds;
	struct neap_resources *resources;
	struct reservation_index index;
};

/* --- reservation_index.c --- */

bool reservation_index_init(struct reservation_index *index); /* false without memory */
void reservation_index_clear(struct reservation_index *index);
void reservation_index_done(struct reservation_index *index);
/* Returns NULL when it is unknown. */
struct reservation_target *reservation_target_find(const struct reservation_index *index,
						   const char *uid);
/* object was added or changed; NULL without memory. */
struct reservation_target *reservation_target_set(struct reservation_index *index,
						  const struct neap_object *object);
/* ... or deleted. */
void reservation_target_drop(struct reservation_index *index, const char *uid);
/* Whether a pod's text says that it may use one; the others cost next to nothing. */
bool reservation_may_use(const struct neap_object *pod);
/* Applies a pod's change to the targets it named and names; each affected target is
 * reported once. pod: its present state, with is_gone its last one. False without
 * memory. */
bool reservation_user_set(struct reservation_index *index, const struct neap_object *pod,
			  bool is_gone, const struct neap_resources *resources,
			  void (*tell)(void *arg, struct reservation_target *target),
			  void *arg);
/* Borrowed until the next call. */
const struct neap_amounts *
reservation_user_requests(struct reservation_user *user,
			  const struct neap_resources *resources);
/* Returns whether it counts for a target on that node. */
bool reservation_user_counts(const struct reservation_user *user, const char *node);

/* --- reservation_pods.c --- */

/* Returns whether the pod is in operating mode. */
bool reservation_is_pod(const struct neap_object *pod);
/* Looks at one: its annotation reservation-current-owner names its user. */
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
/* Why nobody can use it, NULL: all is well; an event when that is another reason than
 * before. */
void reservation_tell_trouble(struct neap_reservations *reservations,
			      struct reservation_target *target, const char *trouble);

#endif
