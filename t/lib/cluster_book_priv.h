/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of t/lib/cluster_book*.c. */
#ifndef NEAP_T_LIB_CLUSTER_BOOK_PRIV_H
#define NEAP_T_LIB_CLUSTER_BOOK_PRIV_H

#include <stdint.h>

#include "engine/base/map.h"
#include "t/lib/cluster_book.h"

#define BOOK_NAMES   16 /* resources that there are */
#define BOOK_CPU     0
#define BOOK_PLACES  1
#define BOOK_CPUS    1024 /* of a node */
#define BOOK_ZONES   16
#define BOOK_TROUBLE 1024
#define BOOK_PORTS   16

enum book_bind { BOOK_BIND_NONE, BOOK_BIND_FULL, BOOK_BIND_SPREAD };

struct book_cpu {
	int id, core, socket, zone; /* core: of its socket */
	bool is_reserved;
};

struct book_zone {
	bool is_there;
	int64_t room[BOOK_NAMES]; /* -1: not told */
};

struct book_topology {
	struct book_cpu cpus[BOOK_CPUS];
	int cpu_count, per_core;
	struct book_zone zones[BOOK_ZONES];
	bool is_full_only; /* the kubelet gives out whole cores */
	bool is_single, is_restricted;
};

struct book_pod {
	struct book_pod *next, *prev; /* on its node */
	char ns[64], name[254], uid[64], node[254], nominated[254];
	int64_t needs[BOOK_NAMES];
	int priority;
	bool is_finished, is_deleting, is_gated, is_blind;
	bool is_fresh; /* came onto its node since the last rest */
	int ports[BOOK_PORTS];
	int port_count;
	/* Parts of the object; NULL: it has none. */
	json_t *labels, *tolerations, *selector, *spreads, *affinity;
	char *message; /* why it waits; NULL: not told */
	/* CPUs. */
	bool binds; /* gets some of its own, wherever it goes */
	enum book_bind required, asked;
	bool is_single;       /* asks for one NUMA node */
	bool has_numa_policy; /* of any kind */
	bool has_status;
	int *cpus, cpu_count;
	int64_t zone_needs[BOOK_ZONES][BOOK_NAMES];
	/* Reservations. */
	char uses[64];    /* the uid of the one that it says it uses; "" */
	bool is_ignoring; /* takes of what is kept, and uses none */
	/* was there before what it uses: it was taken over, or was to be */
	bool is_taken;
	bool is_room; /* in operating mode: what it has is kept, for its owner */
	/* as one of these, at any time: others may be in its room since */
	bool was_ready;
};

/* A Reservation, or a pod in operating mode. */
struct book_kept {
	char name[320], uid[64], node[254];
	const struct book_pod *pod; /* NULL: a Reservation */
	enum { BOOK_KEPT_NOT, BOOK_KEPT_WAITING, BOOK_KEPT_AVAILABLE } state;
	bool is_once, is_restricted;
	bool is_fresh; /* came onto its node since the last rest */
	/* somebody gave it owners, or took of its room, without looking */
	bool is_excused;
	/* ... since the last rest: it may get its node only after that */
	bool is_touched;
	int64_t amounts[BOOK_NAMES], allocated[BOOK_NAMES];
	bool counts[BOOK_NAMES]; /* what owners have of it is taken from it */
	int *cpus, cpu_count;
	int64_t zone_needs[BOOK_ZONES][BOOK_NAMES];
	json_t *owners; /* status.currentOwners; of a pod what its annotation says */
};

struct book_node {
	char name[254];
	bool is_there, is_dirty, is_cordoned;
	bool has_told;   /* what it has; one that just came back has not */
	bool is_stained; /* was too full at the rest */
	bool is_excused; /* until the next rest: something was changed under it */
	int64_t room[BOOK_NAMES];
	json_t *labels, *taints;
	struct book_topology *topology;
	struct book_pod *pods;
};

struct book {
	int max_refs;
	bool allows_races, watches_spread;
	char names[BOOK_NAMES][64];
	int name_count;
	struct neap_map *nodes, *pods; /* pods by "NAMESPACE/NAME" */
	struct neap_map *blind;        /* names that somebody binds without looking */
	struct neap_map *kept; /* Reservations by name; pods by "NAMESPACE/NAME" */
	struct book_node **dirty;
	size_t dirty_count, dirty_size;
	size_t bound, bindings, cpu_bindings, moves, uses, available, room_uses;
	char trouble[BOOK_TROUBLE], told[BOOK_TROUBLE];
};

/* The first one stays. Returns false. */
bool book_wrong(struct book *book, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Number of a resource, which is there from now on. */
int book_name(struct book *book, const char *name);
int64_t book_amount(const char *name, const json_t *value);
json_t *book_at(const json_t *json, const char *path);
const char *book_text(const json_t *json, const char *path);
/* Member with dots in its name; "" for none. */
const char *book_annotation(const json_t *object, const char *key);
const char *book_label(const json_t *labels, const char *key); /* NULL: none */
struct book_node *book_node(struct book *book, const char *name);
/* It is to be counted again. */
void book_mark(struct book *book, struct book_node *node);
/* What its pods need together, but for what those in operating mode keep. */
void book_sum(const struct book_node *node, int64_t used[BOOK_NAMES]);
bool book_blames(const struct book_node *node, const struct book_pod *a,
		 const struct book_pod *b);
bool book_has_labels(const json_t *wanted, const json_t *labels);
/* Whether pod says that it must not be on the host of other. */
bool book_is_away_from(const struct book_pod *pod, const struct book_pod *other);
bool book_ports_collide(const struct book_pod *a, const struct book_pod *b);

/* The pod that just came onto its node: whether that is as even as it wants. */
void book_check_spread(struct book *book, const struct book_pod *pod);

/* --- CPUs: cluster_book_cpus.c --- */

void book_read_topology(struct book *book, struct book_topology *topology,
			const json_t *object);
void book_read_cpus(struct book *book, struct book_pod *pod, const json_t *object);
/* What is in force for the pod on the node. */
enum book_bind book_required_on(const struct book_node *node, const struct book_pod *pod);
bool book_binds_on(const struct book_node *node, const struct book_pod *pod);
/* The node gives CPUs in one way, and the pod must have them in the other. */
bool book_conflicts(const struct book_node *node, const struct book_pod *pod);
bool book_has_numa_policy(const struct book_node *node);
/* Notes what is wrong with CPUs and zones of the node; false then. */
bool book_check_cpus(struct book *book, const struct book_node *node);
/* CPUs that the pod could be given at most, as its required policy counts them. */
int book_free_cpus(const struct book *book, const struct book_node *node,
		   enum book_bind required);

/* "0-3,8"; returns how many there are, at most size. */
int book_read_list(const char *text, int *ret, int size);
/* Annotation resource-status: CPUs, a new array (NULL: none), and amounts of NUMA nodes.
 * False: there is none. */
bool book_read_status(struct book *book, const json_t *object, int **ret_cpus,
		      int *ret_count, int64_t zones[BOOK_ZONES][BOOK_NAMES]);

/* --- Reservations: cluster_book_keep.c --- */

void book_read_use(struct book_pod *pod, const json_t *object);
/* What the pod, which was just entered, keeps if it is in operating mode. */
void book_set_room(struct book *book, const struct book_pod *pod, const char *key,
		   const json_t *object);
/* The pod is to be freed. */
void book_drop_room(struct book *book, const char *key);
bool book_uses_room(const struct book *book, const struct book_pod *pod);
void book_free_kept(struct book *book);

/* --- whether it was promised twice: cluster_book_kept.c --- */

/* What is kept, and not in use, by pods that nobody can have taken it from. */
void book_add_rooms(const struct book *book, const struct book_node *node,
		    int64_t sum[BOOK_NAMES]);
/* Notes what is promised twice on the node; false then. */
bool book_check_kept(struct book *book, const struct book_node *node);
size_t book_fresh_kept(const struct book *book, const struct book_node *node);
void book_rest_kept(struct book *book);

#endif
