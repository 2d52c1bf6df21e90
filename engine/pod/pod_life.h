/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a pod on its node, as a kubelet decides it: which container starts, stops
 * or restarts when, and what the status says. It only decides: the caller reports events
 * and the time, and carries out the actions. So it can be tested with tables and random
 * histories.
 *
 * A container's attempts are numbered from 0. Each start is an attempt, also a failed
 * one; the restart count is the newest attempt's number. At most one attempt of a
 * container lives. */
#ifndef NEAP_ENGINE_POD_POD_LIFE_H
#define NEAP_ENGINE_POD_POD_LIFE_H

#include <jansson.h>

#include "engine/base/error.h"

#define NEAP_POD_CONTAINERS_MAX 64 /* including init containers */
#define NEAP_POD_NAME           64 /* of a container, with NUL */

/* In seconds, as in a kubelet. A container that ran for that long resets the pause. */
#define NEAP_POD_BACKOFF_S     10
#define NEAP_POD_BACKOFF_MAX_S 300
#define NEAP_POD_CALM_S        600
/* Pause before preparing groups is tried again. */
#define NEAP_POD_PREPARE_S 5

enum neap_pod_restart { NEAP_POD_ALWAYS, NEAP_POD_ON_FAILURE, NEAP_POD_NEVER };
enum neap_pod_phase {
	NEAP_POD_PENDING,
	NEAP_POD_RUNNING,
	NEAP_POD_SUCCEEDED,
	NEAP_POD_FAILED
};

enum neap_pod_state {
	NEAP_POD_UNBORN, /* no attempt yet */
	/* ordered, or found after a restart of neapd: state not known yet */
	NEAP_POD_STARTING,
	NEAP_POD_UP, /* it runs */
	NEAP_POD_ENDED,
};

/* How an attempt ended. */
struct neap_pod_end {
	bool is_there;
	unsigned attempt;
	int exit_code, signo;             /* signo: 0, or the exit code is 128 + signo */
	int64_t started_usec, ended_usec; /* 0: not known */
	char reason[32], message[256];    /* "Completed", "" */
};

struct neap_pod_container {
	/* From the object. */
	char name[NEAP_POD_NAME];
	char *image;                /* NULL: none */
	char refused[256];          /* why it is not started here; "": it is */
	int64_t refused_until_usec; /* retry time; 0: never */
	bool is_init, has_startup, has_readiness;
	/* The state of its attempts. */
	enum neap_pod_state state;
	unsigned attempt; /* of the newest start; unused while UNBORN */
	int64_t started_usec;
	bool is_adopted; /* STARTING, and its state was not reported yet */
	struct neap_pod_end end,
		last; /* of this attempt when it is ENDED, else of the previous one */
	/* The pause before the next start. */
	int64_t pause_s, paused_usec; /* 0: none; when it was last used */
	bool is_pausing;
	/* Of its probes. */
	bool is_startup_ok, is_ready_ok;
	bool is_unwell; /* it failed a probe: stop it, then restart it */
	int64_t unwell_grace_s;
	/* Of its stop. */
	int64_t term_usec; /* 0: not asked to end */
	bool is_killed;
	/* The state to return to when a start was put off. */
	struct {
		enum neap_pod_state state;
		struct neap_pod_end end, last;
		int64_t pause_s, paused_usec;
	} before;
};

enum neap_pod_groups {
	NEAP_POD_GROUPS_NONE,
	NEAP_POD_GROUPS_ASKED,
	NEAP_POD_GROUPS_MADE
};

struct neap_pod_life {
	/* From the object; neap_pod_life_done frees the containers' texts and the
	 * array. */
	enum neap_pod_restart restart;
	int64_t grace_s;
	int64_t deadline_s;                    /* 0: none */
	struct neap_pod_container *containers; /* init containers first, in order */
	size_t count;
	/* What it became. */
	bool is_deleting;
	int64_t delete_grace_s;
	bool is_gone;        /* the object was deleted */
	bool may_start;      /* false: nobody can start containers now */
	char held[192];      /* which other pod has its CPUs, so that it waits; "" */
	bool is_refused;     /* not admitted: it fails at once */
	int64_t start_usec;  /* when it was admitted; 0: not yet */
	int64_t second_usec; /* 0: 1000000; for tests */
	enum neap_pod_groups groups;
	int64_t prepare_usec; /* not before */
	bool is_overdue;      /* over its deadline */
	bool is_over;         /* nothing lives and nothing will start */
	bool is_released;
	enum neap_pod_phase phase;     /* last reported; final phases stay */
	char reason[32], message[256]; /* of the phase; "" */
};

enum neap_pod_act {
	NEAP_POD_PREPARE, /* create the groups, then call neap_pod_life_prepared */
	NEAP_POD_START,   /* start attempt of container */
	NEAP_POD_TERM,    /* ask it to end */
	NEAP_POD_KILL,
	NEAP_POD_PAUSE,   /* waiting before a restart: report it */
	NEAP_POD_RELEASE, /* finished: the groups may go; given once */
};

struct neap_pod_action {
	enum neap_pod_act act;
	size_t container;
	unsigned attempt;
	bool is_unwell; /* TERM and KILL: because of a probe, not because the pod ends */
};

struct neap_pod_step {
	struct neap_pod_action actions[2 * NEAP_POD_CONTAINERS_MAX + 2];
	size_t count;
	bool is_hindered;  /* a start is due, but may_start is false */
	int64_t next_usec; /* when to call step again without any event; 0: not needed */
};

/* Allocates count containers, zeroed. */
int neap_pod_life_init(struct neap_pod_life *life, size_t count, struct neap_error *err);
void neap_pod_life_done(struct neap_pod_life *life);

/* Returns the actions due now. A returned action counts as done; failures are reported
 * with the functions below. */
void neap_pod_life_step(struct neap_pod_life *life, int64_t now,
			struct neap_pod_step *ret);

/* --- what happened --- */

void neap_pod_life_prepared(struct neap_pod_life *life, bool is_made, int64_t now);
/* At daemon start: attempt exists, and its state is reported later. */
void neap_pod_life_adopt(struct neap_pod_life *life, size_t container, unsigned attempt);
/* The container is still waiting for its start; it was not seen running. */
void neap_pod_life_waiting(struct neap_pod_life *life, size_t container);
/* A START was not carried out and the attempt does not exist, because something is
 * missing or the machine cannot. again_usec: retry time; 0: never. */
void neap_pod_life_put_off(struct neap_pod_life *life, size_t container, const char *why,
			   int64_t again_usec);
void neap_pod_life_started(struct neap_pod_life *life, size_t container,
			   int64_t started_usec);
/* Sets end->attempt and is_there itself; reason "": derived from the exit code. */
void neap_pod_life_ended(struct neap_pod_life *life, size_t container,
			 const struct neap_pod_end *end);
/* The attempt could not be started. */
void neap_pod_life_failed(struct neap_pod_life *life, size_t container, const char *why,
			  int64_t now);
/* How the attempt ended is unknown. */
void neap_pod_life_lost(struct neap_pod_life *life, size_t container, int64_t now);
/* Stops it because its liveness or startup probe failed. */
void neap_pod_life_unwell(struct neap_pod_life *life, size_t container, int64_t grace_s);

/* --- what is to be said --- */

bool neap_pod_life_is_started(const struct neap_pod_container *container);
bool neap_pod_life_is_ready(const struct neap_pod_container *container);
/* Returns whether something lives, or may. */
bool neap_pod_life_has_live(const struct neap_pod_life *life);
/* Returns whether all init containers have done their work. */
bool neap_pod_life_is_initialized(const struct neap_pod_life *life);

struct neap_pod_who {
	const char *ns, *name, *uid;
	const char *ip;      /* of pod and host; NULL: none */
	const json_t *gates; /* spec.readinessGates; NULL: none */
};

/* Writes phase, conditions and containers into a copy of the stored status; members of
 * other writers stay. Returns false without memory, with the copy half done. */
bool neap_pod_life_set_status(const struct neap_pod_life *life,
			      const struct neap_pod_who *who, int64_t now,
			      json_t *status);
/* The reverse, at daemon start: reads phase and start time, and how earlier attempts
 * ended. newest: the newest attempt of each container that left a trace, -1: none. One
 * with a trace is adopted; one without has ended as the status says, or is lost. */
void neap_pod_life_get_status(struct neap_pod_life *life, const json_t *status,
			      const int *newest, int64_t now);

#endif
