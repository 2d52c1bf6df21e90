/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a pod on its node: which of its containers starts when, which is stopped, restarted, given up, and
 * what its status says, as a kubelet decides it. Decides only: it is told what happened and what time it is, and says
 * what is to be done; it does nothing itself, and so can be tested by tables and random histories.
 *
 * A container has attempts, counted from 0: each start is one, also one that failed. The restart count is the
 * number of the newest attempt. There is never more than one attempt of a container that lives. */
#ifndef NEAP_ENGINE_POD_POD_LIFE_H
#define NEAP_ENGINE_POD_POD_LIFE_H

#include <jansson.h>

#include "engine/base/error.h"

#define NEAP_POD_CONTAINERS_MAX 64 /* init containers among them */
#define NEAP_POD_NAME           64 /* of a container, with NUL */

/* Seconds, as a kubelet has them. The pause is forgotten by a container that ran so long. */
#define NEAP_POD_BACKOFF_S     10
#define NEAP_POD_BACKOFF_MAX_S 300
#define NEAP_POD_CALM_S        600
/* Until groups that could not be made are tried again. */
#define NEAP_POD_PREPARE_S 5

enum neap_pod_restart { NEAP_POD_ALWAYS, NEAP_POD_ON_FAILURE, NEAP_POD_NEVER };
enum neap_pod_phase {
	NEAP_POD_PENDING,
	NEAP_POD_RUNNING,
	NEAP_POD_SUCCEEDED,
	NEAP_POD_FAILED
};

enum neap_pod_state {
	NEAP_POD_UNBORN,   /* no attempt yet */
	NEAP_POD_STARTING, /* ordered, or taken over from an earlier neapd: not known yet */
	NEAP_POD_UP,       /* it runs */
	NEAP_POD_ENDED,
};

/* How an attempt ended. */
struct neap_pod_end {
	bool is_there;
	unsigned attempt;
	int exit_code, signo;             /* 128 + signo; 0 */
	int64_t started_usec, ended_usec; /* 0: not known */
	char reason[32], message[256];    /* "Completed", "" */
};

struct neap_pod_container {
	/* What the object says. */
	char name[NEAP_POD_NAME];
	char *image;                /* NULL: none */
	char refused[256];          /* why it is not started here; "": it is */
	int64_t refused_until_usec; /* then it is tried again; 0: never */
	bool is_init, has_startup, has_readiness;
	/* What became of it. */
	enum neap_pod_state state;
	unsigned attempt; /* of the newest start; nothing when it is UNBORN */
	int64_t started_usec;
	bool is_adopted; /* STARTING, and nobody told yet how it stands */
	struct neap_pod_end end,
		last; /* of this attempt when it is ENDED; of the one before */
	/* Of the pause before the next start. */
	int64_t pause_s, paused_usec; /* 0: none; when it was last used */
	bool is_pausing;
	/* Of its probes. */
	bool is_startup_ok, is_ready_ok;
	bool is_unwell; /* it is to be stopped and comes again */
	int64_t unwell_grace_s;
	/* Of its stop. */
	int64_t term_usec; /* 0: not told to end */
	bool is_killed;
	/* What a start that was put off goes back to. */
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
	/* What the object says; neap_pod_life_done frees the texts of containers and the array. */
	enum neap_pod_restart restart;
	int64_t grace_s;
	int64_t deadline_s; /* 0: none */
	struct neap_pod_container
		*containers; /* those that come first in front, in their order */
	size_t count;
	/* What it became. */
	bool is_deleting;
	int64_t delete_grace_s;
	bool is_gone;        /* the object is no more */
	bool may_start;      /* false: there is nobody who could start anything */
	bool is_refused;     /* not taken in: it fails at once */
	int64_t start_usec;  /* when it was taken in; 0: not yet */
	int64_t second_usec; /* 0: 1000000; for tests */
	enum neap_pod_groups groups;
	int64_t prepare_usec; /* not before */
	bool is_overdue;      /* over its deadline */
	bool is_over;         /* nothing lives and nothing starts any more */
	bool is_released;
	enum neap_pod_phase phase;     /* as it was told last; those at the end stay */
	char reason[32], message[256]; /* of the phase; "" */
};

enum neap_pod_act {
	NEAP_POD_PREPARE, /* make the groups, answer by neap_pod_life_prepared */
	NEAP_POD_START,   /* start attempt of container */
	NEAP_POD_TERM,    /* ask it to end */
	NEAP_POD_KILL,
	NEAP_POD_PAUSE,   /* it waits before it starts again: to be told of */
	NEAP_POD_RELEASE, /* all is over: the groups can go; comes once */
};

struct neap_pod_action {
	enum neap_pod_act act;
	size_t container;
	unsigned attempt;
	bool is_unwell; /* of TERM and KILL: for its probe, not with the pod */
};

struct neap_pod_step {
	struct neap_pod_action actions[2 * NEAP_POD_CONTAINERS_MAX + 2];
	size_t count;
	bool is_hindered;  /* something would start, but may_start is not */
	int64_t next_usec; /* to be asked again then though nothing happened; 0: no need */
};

/* Room for count containers, all zero. */
int neap_pod_life_init(struct neap_pod_life *life, size_t count, struct neap_error *err);
void neap_pod_life_done(struct neap_pod_life *life);

/* What is to be done now. An action counts as done when it was given; what could not be done is reported as below. */
void neap_pod_life_step(struct neap_pod_life *life, int64_t now,
			struct neap_pod_step *ret);

/* --- what happened --- */

void neap_pod_life_prepared(struct neap_pod_life *life, bool is_made, int64_t now);
/* At a start of the daemon: attempt exists, and how it stands is told later. */
void neap_pod_life_adopt(struct neap_pod_life *life, size_t container, unsigned attempt);
/* It waits to be let run, as one that was just ordered: nobody has seen it run. */
void neap_pod_life_waiting(struct neap_pod_life *life, size_t container);
/* What START asked for was not done, and there is no such attempt: something is missing, or the machine cannot.
 * again_usec: when to try again; 0: never. */
void neap_pod_life_put_off(struct neap_pod_life *life, size_t container, const char *why,
			   int64_t again_usec);
void neap_pod_life_started(struct neap_pod_life *life, size_t container,
			   int64_t started_usec);
/* end->attempt and is_there are set here; reason "": by the exit code. */
void neap_pod_life_ended(struct neap_pod_life *life, size_t container,
			 const struct neap_pod_end *end);
/* The attempt could not be started. */
void neap_pod_life_failed(struct neap_pod_life *life, size_t container, const char *why,
			  int64_t now);
/* Nobody knows how it ended. */
void neap_pod_life_lost(struct neap_pod_life *life, size_t container, int64_t now);
/* Stops it for its liveness or startup probe. */
void neap_pod_life_unwell(struct neap_pod_life *life, size_t container, int64_t grace_s);

/* --- what is to be said --- */

bool neap_pod_life_is_started(const struct neap_pod_container *container);
bool neap_pod_life_is_ready(const struct neap_pod_container *container);
/* Whether something lives, or may. */
bool neap_pod_life_has_live(const struct neap_pod_life *life);
/* Whether all that come first have done their work. */
bool neap_pod_life_is_initialized(const struct neap_pod_life *life);

struct neap_pod_who {
	const char *ns, *name, *uid;
	const char *ip;      /* of pod and host; NULL: none is told */
	const json_t *gates; /* spec.readinessGates; NULL: none */
};

/* Sets in a copy of the stored status what it is now: phase, conditions, containers. What others wrote there stays.
 * False without memory: half done. */
bool neap_pod_life_set_status(const struct neap_pod_life *life,
			      const struct neap_pod_who *who, int64_t now,
			      json_t *status);
/* The other way, at a start of the daemon: phase and start time, and of each container that was started before how
 * its attempts ended. newest: the newest attempt of each that left a trace, -1: none; such a one is adopted, and one
 * without a trace has ended as the status says, or is lost. */
void neap_pod_life_get_status(struct neap_pod_life *life, const json_t *status,
			      const int *newest, int64_t now);

#endif
