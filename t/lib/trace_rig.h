/* SPDX-License-Identifier: Apache-2.0
 *
 * A cluster that lives: nodes of all shapes, pods that come, go, and want all kinds of
 * things, schedulers on one store, and books (cluster_book.h) that are kept of all that
 * becomes durable. Whatever is wrong ends the test. */
#ifndef NEAP_T_LIB_TRACE_RIG_H
#define NEAP_T_LIB_TRACE_RIG_H

#include "api/schedule/schedule.h"
#include "t/lib/cluster_book.h"
#include "t/lib/kube_rig.h"

#define TRACE_SCHEDULERS 2
#define TRACE_PODS_MAX   200000
#define TRACE_NODES_MAX  5000
#define TRACE_ROOMS      16

struct trace {
	struct kube_rig *rig;
	struct book *book;
	struct neap_scheduler *schedulers[TRACE_SCHEDULERS];
	struct neap_reservations *controller; /* NULL: none */
	struct neap_store_watch *nodes, *topologies, *pods, *reservations;
	uint32_t seed;
	int node_count, pod_count; /* made so far; names are n0..., p0... */
	int kept_count;            /* Reservations: r0... */
	int rooms[TRACE_ROOMS]; /* pods in operating mode, the last ones of room_count */
	int room_count;
	int gone;        /* of trace_races.h: the node that is away; -1: none */
	bool has_cpus;   /* pods that get CPUs of their own, and nodes that give them */
	bool is_spread;  /* small pods of one priority, all with spreading */
	bool is_mild;    /* pods without spreading, anti-affinity or host ports */
	bool has_others; /* pods of even numbers name another scheduler */
	size_t asked, refused; /* of this rig's own requests */
};

/* Priority classes low, middle, high; no node, no scheduler. */
void trace_start(struct trace *trace, uint32_t seed);
void trace_stop(struct trace *trace);
/* Random numbers below a limit. */
uint32_t trace_roll(struct trace *trace, uint32_t below);

void trace_start_scheduler(struct trace *trace, int which);
/* As if its process was killed: whatever is on its way goes on. */
void trace_kill_scheduler(struct trace *trace, int which);

/* Asked for; it becomes so when the loop runs. A node is always made the same. */
void trace_add_node(struct trace *trace, int i);
void trace_delete_node(struct trace *trace, int i);
void trace_add_pod(struct trace *trace);
void trace_add_pod_again(struct trace *trace, int i); /* the name of one that was there */
void trace_delete_pod(struct trace *trace, int i);
/* By somebody who does not look what else is there. */
void trace_bind(struct trace *trace, int pod, int node);
/* A label of it changes. */
void trace_touch_pod(struct trace *trace, int i);
void trace_name_pod(int i, char name[32]);
void trace_name_node(int i, char name[32]);

/* --- trace_kept.c: Reservations --- */

/* Who keeps their statuses. */
void trace_start_controller(struct trace *trace);
void trace_kill_controller(struct trace *trace);
void trace_add_reservation(struct trace *trace);
void trace_delete_reservation(struct trace *trace, int i);
/* A pod that is for some of them perhaps. */
void trace_add_user(struct trace *trace);
void trace_finish_pod(struct trace *trace, int i);
/* A pod in operating mode; its readiness changes, if it has a node. */
void trace_add_room(struct trace *trace);
void trace_turn_room(struct trace *trace, int i);
/* Others who do not look: what it keeps, what its status says, who may use it, whom a pod
 * says that it uses. */
void trace_resize(struct trace *trace, int i);
void trace_scribble(struct trace *trace, int i);
void trace_close(struct trace *trace, int i);
void trace_move_user(struct trace *trace, int pod);
/* As trace_settle, until all statuses are true, too, if somebody keeps them; then what
 * the schedulers have counted is compared. */
void trace_settle_kept(struct trace *trace);

/* Turns of the loop; what became durable is entered into the books, and checked. */
void trace_run(struct trace *trace, int turns);
/* Until nothing happens any more at this moment of the clock. */
void trace_settle(struct trace *trace);
/* Every pod that waits is tried again, until that changes nothing; then what they say is
 * checked. */
void trace_check_waiting(struct trace *trace);

#endif
