/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of the descheduler's loop. */
#ifndef NEAP_API_DESCHEDULE_DESCHEDULER_PRIV_H
#define NEAP_API_DESCHEDULE_DESCHEDULER_PRIV_H

#include "api/deschedule/descheduler.h"
#include "api/deschedule/figures.h"
#include "api/deschedule/play/play.h"

struct deschedule_query;
struct event;
struct neap_feed;
struct neap_map;
struct neap_moved;
struct neap_play_opening;
struct neap_snapshot;
struct neap_strategies;
struct neap_task;
struct neap_thread;
struct neap_zone;

/* Time within which all events make one round. */
#define EVENTS_USEC INT64_C(2000000)
/* Minimum time between two rounds by event: it doubles while events keep coming, and
 * returns to the first value after the same time without events. */
#define EVENT_GAP_USEC     INT64_C(5000000)
#define EVENT_GAP_MAX_USEC INT64_C(600000000)
/* Interval of the check whether a pod is pending for too long. */
#define PENDING_USEC INT64_C(5000000)
#define AGAIN_USEC   INT64_C(1000000)

/* A round or simulation that waits or runs. */
struct deschedule_job {
	struct neap_descheduler *descheduler;
	struct deschedule_job *next;
	struct neap_play play;
	char because[160];
	/* For a simulation: its own policies and plugin. done NULL: a round. */
	struct neap_play_set *set;
	char only[128];
	char *text, *policy_text; /* still to be read; NULL */
	bool is_ready;            /* its policies are open */
	/* Its queries to a Prometheus that have no answer yet. */
	struct deschedule_query *queries;
	size_t unanswered;
	bool is_answered;      /* all are answered, and it waits for the snapshot alone */
	int64_t answered_usec; /* when they were */
	bool is_asked;         /* a round that somebody asked for */
	unsigned rounds;       /* 0: one, without a copy of the cluster */
	size_t written;        /* of a round's changes and evictions */
	void (*done)(void *arg, json_t *record, const struct neap_error *err);
	void *arg;
};

struct deschedule_triggers {
	int64_t gap_usec;   /* between rounds by event */
	int64_t last_usec;  /* when such a round began last */
	int64_t fired_usec; /* when an event came last; 0: never */
	uint64_t fired, rounds;
	char what[160]; /* the first event that a round waits for; "": none */
	/* Pending pods by "NAMESPACE/NAME": since when, and the bound told last. */
	struct neap_map *pending;
	struct event *look;
};

/* What the thread reads: a configuration, and the policy of a simulation. */
struct deschedule_reading {
	char *text, *policy_text; /* NULL: none */
	char name[400];           /* of the text */
	/* On the loop; not called when the descheduler ends before. */
	void (*done)(void *arg, struct deschedule_reading *reading);
	void *arg;
	neap_descheduler_told *told; /* for neap_descheduler_read */
	/* What came of it; done may take the two out. */
	struct neap_deschedule_config *config;
	struct neap_policy *policy;
	struct neap_deschedule_lines lines;
	struct neap_error err;
	struct neap_descheduler *descheduler;
	struct neap_strategies *strategies; /* a copy */
};

enum deschedule_start {
	DESCHEDULE_NOTHING, /* there is nothing to do */
	DESCHEDULE_STARTED, /* the thread does it, and the loop looks again at its end */
	DESCHEDULE_LATER,   /* there is no memory now */
};

struct neap_descheduler {
	struct neap_descheduler_config config;
	struct neap_thread *thread;
	struct neap_thread *files;      /* of recordings; NULL until there is one */
	struct neap_snapshot *snapshot; /* NULL while nobody asks for rounds */
	struct neap_feed *maps;         /* the ConfigMap */
	struct neap_deschedule_config *of_file, *of_map; /* NULL: none */
	char file_name[256];
	char file_trouble[NEAP_ERROR_MSG]; /* why the file is not used; "" */
	char map_trouble[NEAP_ERROR_MSG];  /* why the ConfigMap is not used; "" */
	char trouble[NEAP_ERROR_MSG];      /* why the configuration cannot be used; "" */
	struct neap_play_set *set;         /* in force; NULL: none */
	struct neap_play_set *next_set;    /* chosen, to be opened when nothing runs */
	bool has_next_set;
	struct neap_play_set *opening_set; /* that the thread opens; NULL */
	bool is_stale;          /* policies have changed since they were opened */
	bool is_looked_at;      /* what is broken was tried for the round to come */
	bool is_map_read;       /* by the thread, now */
	bool is_map_stale;      /* the ConfigMap has changed meanwhile */
	struct neap_zone *zone; /* of the window; NULL: none */
	struct event *timer;
	int64_t next_usec; /* of the next round by interval; 0: none */
	bool is_ending;
	bool is_asked; /* somebody asked for a round */
	char asked_by[80];
	bool has_run;       /* with this configuration; for the interval 0 */
	char paused_by[80]; /* "": it is not */
	int64_t paused_usec;
	/* Why a new start would not know that it is paused, or resumed; "". */
	char pause_trouble[NEAP_ERROR_MSG];
	/* running: also while a round's decisions are written; waiting: simulations. */
	struct deschedule_job *running, *waiting;
	struct neap_task *writing; /* what the running round decided */
	struct deschedule_triggers triggers;
	struct deschedule_leaves *leaves; /* unanswered writes */
	struct neap_moved *moved;         /* of the thread while a round runs */
	json_t *last;                     /* record of the last round */
	uint64_t rounds;
	int64_t asked_usec;              /* last query to a Prometheus; 0: none */
	char unanswered[NEAP_ERROR_MSG]; /* why one of the last ones failed; "" */
	uint64_t recorded;               /* of them, since the start */
	int recordings_written;          /* or waiting for it */
	neap_descheduler_recorded *recording_told; /* of who reads one; NULL: nobody */
	void *recording_arg;
	size_t recording_cut;                   /* nodes that the last one lacks */
	char recording_trouble[NEAP_ERROR_MSG]; /* why rounds are not recorded; "" */
	struct neap_deschedule_figures figures;
};

int64_t deschedule_now(const struct neap_descheduler *descheduler);
int64_t deschedule_interval(const struct neap_descheduler *descheduler,
			    const struct neap_deschedule_config *config);
/* Does what is due now, and sets the timer for the next time. */
void deschedule_look(struct neap_descheduler *descheduler);
/* A round's decisions are written. */
void deschedule_round_is_over(struct neap_descheduler *descheduler);
/* Returns whether the cluster is read; starts to read it if not, because it costs memory
 * only where somebody asks for rounds. */
bool deschedule_has_snapshot(struct neap_descheduler *descheduler);
/* Ends the first waiting simulation with an error. */
void deschedule_refuse(struct neap_descheduler *descheduler,
		       const struct neap_error *err);
/* Returns whether rounds may act at that time; if not, *ret_usec is when they may
 * again. */
bool deschedule_is_open(const struct neap_descheduler *descheduler, int64_t now_usec,
			int64_t *ret_usec);

/* --- outcome.c --- */

/* Notes what came of a round that has run. */
void deschedule_note_round(struct neap_descheduler *descheduler,
			   struct deschedule_job *job);

/* --- pause.c --- */

/* Paused as it was before. */
void deschedule_pause_init(struct neap_descheduler *descheduler);

/* --- ask.c --- */

/* Has the first waiting simulation read and opened. Returns whether the thread is now
 * busy with it. */
bool deschedule_get_ready(struct neap_descheduler *descheduler);

/* --- asking.c: the queries of a round --- */

/* Asks what the strategies of a job need. Returns whether it must wait; job->is_answered
 * is set, and deschedule_look called, when it has all answers. */
bool deschedule_ask(struct deschedule_job *job);
/* Counts the answers of a job that has run, and drops them. */
void deschedule_note_answers(struct deschedule_job *job);
/* Ignores answers that come later. */
void deschedule_forget_queries(struct deschedule_job *job);

/* --- recorder.c --- */

/* Has a round recorded, and takes the recording out of play. */
void deschedule_record(struct neap_descheduler *descheduler, struct neap_play *play,
		       const char *because);
json_t *deschedule_recording_status(const struct neap_descheduler *descheduler);
/* Leaves a disk that does not answer alone with what it has to write. */
void deschedule_end_recording(struct neap_descheduler *descheduler);

/* --- choose.c: the configuration in force --- */

int deschedule_watch_map(struct neap_descheduler *descheduler, struct neap_error *err);
/* Uses the file, else the ConfigMap. */
void deschedule_choose(struct neap_descheduler *descheduler);
/* Returns whether there is a configuration in force, or one that is being opened. */
bool deschedule_has_config(const struct neap_descheduler *descheduler);
/* Puts a set in force and takes it over; NULL: none. */
void deschedule_take(struct neap_descheduler *descheduler, struct neap_play_set *set);
/* Tries again to use a ConfigMap that could not be used. */
void deschedule_read_map_again(struct neap_descheduler *descheduler);
bool deschedule_priority_of(void *arg, const char *name, int64_t *ret);

/* --- prepare.c: what the thread does before rounds --- */

/* Reads texts on the thread; they are copied. */
int deschedule_read(struct neap_descheduler *descheduler,
		    const struct deschedule_reading *what, struct neap_error *err);
/* Opens policies on the thread. done ends the opening; it is not called if the
 * descheduler ends before. Takes the opening over, even on an error. */
int deschedule_open_take(struct neap_descheduler *descheduler,
			 struct neap_play_opening *opening,
			 void (*done)(struct neap_descheduler *descheduler,
				      struct neap_play_opening *opening),
			 struct neap_error *err);
/* Opens what the set in force lacks. Only while the thread is idle. */
enum deschedule_start deschedule_refresh(struct neap_descheduler *descheduler);
/* Opens the set that was chosen, and policies that have changed. Only while the thread is
 * idle. */
enum deschedule_start deschedule_prepare(struct neap_descheduler *descheduler);

/* --- evictions.c: executing decisions --- */

/* Returns false without memory. */
bool deschedule_leave_init(struct neap_descheduler *descheduler);
/* Begins with the decisions of the round that runs; deschedule_round_is_over follows. */
void deschedule_leave(struct neap_descheduler *descheduler);
/* Ignores answers that come later. */
void deschedule_forget_leaves(struct neap_descheduler *descheduler);

/* --- triggers.c --- */

int deschedule_triggers_init(struct neap_descheduler *descheduler,
			     struct neap_error *err);
void deschedule_triggers_done(struct neap_descheduler *descheduler);
/* Handles an event of the snapshot. */
void deschedule_hear(void *arg, const char *resource,
		     const struct neap_client_event *event);
/* Forgets which pods wait; the snapshot reports all pods again. arg: the descheduler. */
void deschedule_forget_pending(void *arg);
/* Returns whether a round by event is due; if not, *ret_usec is when, or unchanged. */
bool deschedule_event_is_due(const struct neap_descheduler *descheduler, int64_t now_usec,
			     int64_t *ret_usec);
void deschedule_event_begins(struct neap_descheduler *descheduler, int64_t now_usec);

#endif
