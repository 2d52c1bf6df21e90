/* SPDX-License-Identifier: Apache-2.0
 *
 * Decisions where there are reservations, from few words. JSON has ' for ", and QUOTE for
 * those within texts. */
#ifndef NEAP_T_LIB_KEPT_RIG_H
#define NEAP_T_LIB_KEPT_RIG_H

#include "engine/decide/decide.h"
#include "engine/reserve/book.h"
#include "t/lib/cluster_rig.h"

#define QUOTE                "\\\""
#define KEPT_KEY             "scheduling.koordinator.sh/"
#define KEPT_NOTE(key, text) "'" KEPT_KEY key "':'" text "'"
/* Annotations of a pod that uses that one. */
#define KEPT_USES(name)                                                                  \
	KEPT_NOTE("reservation-allocated",                                               \
		  "{" QUOTE "uid" QUOTE ":" QUOTE "u-" name QUOTE "}")

#define KEPT_ITEMS 5
/* Words of such objects. */
#define CPU(n)      "'cpu':'" n "'"
#define APP         "'app':'x'"
#define MUST        KEPT_NOTE("reservation-affinity", "{}")
#define RESTRICTED  "'allocatePolicy':'Restricted'"
#define ALIGNED     "'allocatePolicy':'Aligned'"
#define MANY        "'allocateOnce':false"
#define ORDER(n)    "'" KEPT_KEY "reservation-order':'" n "'"
#define ONE(reason) "0/1 nodes are available: 1 " reason "."

struct kept_rig {
	struct neap_cluster *cluster;
	struct neap_reserve_book *book;
	struct neap_decide *decide;
};

struct kept_rig *kept_new(void);
void kept_free(struct kept_rig *rig);

struct kept_reservation {
	const char *name; /* NULL ends a list; its uid is "u-NAME" */
	const char *node; /* NULL: not placed; else Available there */
	/* members of its template's, and of status.allocatable: "'cpu':'4'" */
	const char *requests;
	const char *spec;           /* members beside template and owners, "" for none */
	const char *labels, *notes; /* members; NULL: none */
	const char *owners;         /* entries; NULL: pods with the label app=x */
	/* members of the template's spec beside containers; NULL: none */
	const char *template;
	const char *ports;           /* of its container, members of a list; NULL: none */
	const char *phase;           /* NULL: Available, where it is placed */
	const char *template_labels; /* members; NULL: none */
};

/* A Reservation as it is now; what moved. */
unsigned kept_set(struct kept_rig *rig, const struct kept_reservation *kept);
void kept_remove(struct kept_rig *rig, const char *name);

struct kept_pod {
	const char *name; /* NULL ends a list */
	const char *node; /* NULL: it is to be placed */
	const char *requests;
	const char *labels, *notes; /* members; NULL: none */
	const char *spec;           /* members beside containers; NULL: none */
	const char *ports;          /* NULL: none */
	const char *status;         /* members; NULL: none */
};

/* Tells the cluster, and the book; what moved. */
unsigned kept_set_pod(struct kept_rig *rig, const struct kept_pod *pod);
unsigned kept_remove_pod(struct kept_rig *rig, const char *name);
/* What is to be placed: "NODE", "NODE RESERVATION", with CPUs "NODE RESERVATION 0-1"; or
 * the message. In a static buffer. With keep it is assumed there. */
const char *kept_decide(struct kept_rig *rig, struct neap_pod *pod, bool keeps);
/* ... of a pod of these words, which is told to the cluster if keeps. */
const char *kept_place(struct kept_rig *rig, const struct kept_pod *pod, bool keeps);
/* What the cluster counts on a node. */
int64_t kept_used(struct kept_rig *rig, const char *node, const char *resource);

struct kept_node {
	const char *name, *allocatable, *labels;
};

/* On these nodes (110 pods where they say nothing of them), with these: what becomes of
 * the pod, as kept_decide has it. */
struct kept_row {
	const char *name;
	struct kept_node nodes[KEPT_ITEMS];
	struct kept_reservation kept[KEPT_ITEMS];
	struct kept_pod pods[KEPT_ITEMS];
	struct kept_pod pod;
	const char *want;
};

void kept_run(const struct kept_row *rows, size_t count);

#endif
