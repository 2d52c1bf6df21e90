/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of live policies: live.c (items, the start), live_queue.c (one
 * change at a time), live_change.c (operators' changes), live_below.c (judging and
 * falling back), live_files.c (--policy-dir), live_config.c (--policy, the table),
 * live_report.c (JSON). */
#ifndef NEAP_API_POLICY_LIVE_LIVE_PRIV_H
#define NEAP_API_POLICY_LIVE_LIVE_PRIV_H

#include <event2/event.h>

#include "api/policy/live/live.h"
#include "api/policy/thread.h"
#include "api/policy/watch.h"
#include "engine/base/map.h"

/* After those of the configuration. */
#define NEAP_LIVE_ORDER_LATER 1000

/* The source of a policy; later ones win. */
enum live_layer { LAYER_NONE, LAYER_CONFIGURED, LAYER_UPLOADED, LAYER_DIRECTORY };

struct live_text {
	char *text; /* NULL: there is none */
	size_t len;
	char origin[512];
};

/* The newest text that was refused, or that failed in service. */
struct live_refusal {
	bool is_set;
	char origin[512];
	char version[12];
	char what[400];
	int line;
	int64_t unix_usec;
};

/* One kind and name. It is dropped at the end of a job that leaves it empty, so only the
 * running job may hold a pointer. Texts, base and layer change only on the loop and only
 * in the running job, so its work may read them on the policy thread. */
struct live_item {
	struct neap_policy_id id;
	struct live_text configured;
	struct neap_param_text *base; /* parameters of the configuration */
	int base_count, order;
	uint64_t generation; /* of the configuration that named it last */
	struct live_text file,
		file_before;   /* of --policy-dir, and the previous live one */
	bool is_before_live;   /* file failed in service, and file_before is live again */
	bool has_upload;       /* an uploaded version is active on disk */
	json_t *params;        /* set over the API; NULL: none */
	enum live_layer layer; /* of what the registry has */
	struct live_refusal refusal;
};

/* A file of --policy-dir. */
struct live_file {
	struct live_item *item; /* its item; NULL: it never passed */
	bool is_gone;           /* until its VERB_FILE_GONE has run */
	struct live_refusal refusal;
	/* It would pass, but another file defines the policy: retried when that file
	 * goes. */
	struct live_text waiting;
	struct neap_policy_id wants;
};

enum live_verb {
	VERB_PUT,
	VERB_DELETE,
	VERB_ROLLBACK,
	VERB_PARAMS,
	VERB_VERSIONS,
	VERB_FAILED,    /* in service; to: the version */
	VERB_RENEW,     /* its state was killed because the machine was too busy */
	VERB_FILE,      /* came or changed */
	VERB_FILE_GONE, /* or names another policy now; text.origin: the file */
	/* lower sources take over: at the start, and when a source is removed */
	VERB_BELOW,
	VERB_CONFIGURE,
	VERB_CONFIGURED, /* end of a configuration: removes what it left out */
	VERB_COUNT
};

struct live_job {
	struct live_job *next;
	struct neap_live *live;
	enum live_verb verb;
	/* As asked for. */
	struct neap_policy_id id;
	char by[64], if_match[16], to[12], why[256];
	bool if_none, is_dry_run, is_shadow, is_asked;
	bool is_by_editor; /* requested by a user who is not an admin */
	/* automatic: texts that require an admin are not brought back */
	bool is_by_itself;
	struct live_text text;
	json_t *params;
	struct neap_param_text *base; /* CONFIGURE */
	int base_count, order;
	uint64_t generation;
	neap_live_done *done;
	void *arg;
	/* State found when its turn came. */
	struct live_item *item; /* NULL: nothing is known under that name */
	json_t *set_params;     /* a copy of the item's, for the policy thread */
	char replacer[48];      /* the policy that replaces owners; "" without one */
	char older_version[12]; /* "" when nothing is live */
	bool is_older_admins;   /* the live version requires an admin */
	char older_label[96], older_origin[512];
	char *older_text;
	size_t older_len;
	json_t *older_params;
	struct neap_inputs inputs; /* recorded ones, of uploads */
	bool has_inputs;
	bool is_late; /* was already postponed once */
	/* RENEW: the registry's policy; only jobs free one */
	const struct neap_policy *starved;
	/* What came out. */
	bool has_worked; /* false: it did not run on the thread, and rc says why */
	int rc;
	struct neap_error err;
	struct neap_judgement verdict;
	bool is_banned;        /* the judged text is excluded */
	enum live_layer layer; /* of verdict.policy */
	bool is_unchanged;
	/* the parameters set over the API do not fit the live version */
	bool is_set_left_out;
	bool has_no_params; /* DELETE: those set over the API were removed too */
	bool has_no_upload; /* no uploaded version passed, and none is active any more */
	char before[12];    /* VERSIONS: what a rollback would take */
	json_t *body;
};

struct neap_live {
	struct neap_live_config config;
	struct neap_thread *thread;
	struct neap_watch *watch;
	struct neap_map *items; /* "kind/name" -> struct live_item */
	struct neap_map *files; /* file -> struct live_file */
	struct live_job *first, *last;
	struct live_job *at_work;
	size_t waiting;     /* requested by operators */
	struct event *kick; /* continues the queue in the next event */
	bool is_inline;     /* during the start jobs run at once, on this thread */
	bool is_ending;
	uint64_t generation;
	char banned[32][80]; /* labels */
	int banned_count;
	uint64_t bad_generation; /* a configuration that was partly refused */
	struct neap_live_counts counts;
	_Atomic int64_t deleted_bytes; /* computed by the policy thread */
};

/* The implementation of a verb. prepare runs on the loop when its turn has come: 0 goes
 * on; LIVE_DONE; LIVE_LATER (after waiting files); -code refuses. work runs on the policy
 * thread. finish runs on the loop, even if work could not run (rc is set, has_worked is
 * not). */
#define LIVE_DONE  1
#define LIVE_LATER 2

struct live_verb_row {
	const char *name;
	int (*prepare)(struct live_job *job, struct neap_error *err);
	void (*work)(struct live_job *job);
	void (*finish)(struct live_job *job);
};
extern const struct live_verb_row *const neap_live_verbs[VERB_COUNT];

/* live.c */
struct live_item *neap_live_find(const struct neap_live *live,
				 const struct neap_policy_id *id);
struct live_item *neap_live_get(struct neap_live *live, const struct neap_policy_id *id,
				struct neap_error *err);
struct neap_registry_slot *neap_live_slot(const struct neap_live *live,
					  const struct live_item *item);
/* Frees an item that is empty. */
void neap_live_drop(struct neap_live *live, struct live_item *item);
/* Checks that the registry has room for the item's policy. */
int neap_live_check_room(const struct neap_live *live, const struct live_item *item,
			 struct neap_error *err);
/* Puts job->verdict.policy in service; 0 or -code (then it is freed). */
int neap_live_swap(struct live_job *job, struct live_item *item, int probation,
		   struct neap_error *err);
int neap_live_text_set(struct live_text *to, const char *text, size_t len,
		       const char *origin, struct neap_error *err);
void neap_live_text_done(struct live_text *text);
void neap_live_refuse(struct live_refusal *refusal, const struct live_job *job,
		      const struct neap_error *err);
/* Returns the label under which a text is excluded, NULL when it is not. Any thread, once
 * started. */
const char *neap_live_find_ban(const struct neap_live *live, const char *text,
			       size_t len);
/* The same as an error. */
int neap_live_check_ban(const struct neap_live *live, const char *text, size_t len,
			struct neap_error *err);
/* Writes to log and audit, naming the origin of the change. what is cut to fit. */
void neap_live_say(const struct live_job *job, enum neap_log_level level,
		   const char *label, const char *fmt, ...) NEAP_PRINTF(4, 5);
int64_t neap_live_now(void);
void neap_live_version_of(const char *text, size_t len, char ret[12]);

/* live_queue.c */
struct live_job *neap_live_job(struct neap_live *live, enum live_verb verb,
			       struct neap_error *err);
void neap_live_job_free(struct live_job *job);
/* Appends to the queue, which the caller kicks (during the start it runs at once). */
void neap_live_queue(struct live_job *job);
void neap_live_kick(struct neap_live *live);
void neap_live_on_kick(evutil_socket_t fd, short what, void *arg);
/* Looks up what is live under the job's name. */
/* The same for an item found later. */
int neap_live_job_turn(struct live_job *job, struct live_item *item,
		       struct neap_error *err);

/* live_below.c; the first two and the last two on the loop, the others on the policy
 * thread. */
int neap_live_apply_params(const struct live_item *item, struct neap_policy *policy,
			   const json_t *set, struct neap_error *err);
/* Applies the item's parameters; those set over the API that do not fit are skipped, with
 * a log line. */
void neap_live_apply_own(struct neap_live *live, const struct live_item *item,
			 struct neap_policy *policy);
/* The refusal is about the text, not about a machine without time or memory. */
bool neap_live_is_refused(const struct live_job *job);
int neap_live_judge(struct live_job *job, const char *text, size_t len,
		    const char *origin, enum live_layer layer);
void neap_live_line(const struct live_job *job, const char *verb, const char *version,
		    const char *why, struct neap_history_line *ret);
int neap_live_try_stored(struct live_job *job, const char *version, char *ret_version);
int neap_live_try_configured(struct live_job *job);
void neap_live_bound_deleted(struct neap_live *live);
int neap_live_put_none(struct live_job *job, const char *verb, const char *why);
void neap_live_go_nowhere(struct live_job *job);
void neap_live_say_left_out(const struct live_job *job);

/* The rows of the table, each beside its functions. */
extern const struct live_verb_row neap_live_verb_put, neap_live_verb_delete,
	neap_live_verb_rollback, neap_live_verb_params, neap_live_verb_versions,
	neap_live_verb_failed, neap_live_verb_renew, neap_live_verb_file,
	neap_live_verb_file_gone, neap_live_verb_below;

/* live_renew.c: called by the registry. */
void neap_live_renew(void *arg, const char *kind, const char *name);

/* live_shadow.c: put and delete for shadows. */
int neap_live_shadow_check(const struct live_job *job, struct neap_error *err);
void neap_live_shadow_start(struct live_job *job);
void neap_live_shadow_end(struct live_job *job);

/* live_rights.c: on the loop when the job's turn has come; the others on the policy
 * thread. */
int neap_live_check_rights(const struct live_job *job, struct neap_error *err);
/* The same for an uploaded version that is active on disk and not live. */
int neap_live_check_stored_rights(struct live_job *job);
/* For job->verdict.policy: refuses to start with parameters that an editor may have
 * set. */
int neap_live_check_kept_params(struct live_job *job);
/* Returns whether the policy was deleted after this version was last in force. */
bool neap_live_is_deleted_since(const struct live_job *job, const char *version);

/* live_files.c */
void neap_live_files_free(struct neap_live *live);
void neap_live_file_free(struct live_file *file);

/* live_report.c */
/* NULL without memory; invalid UTF-8 is replaced. */
json_t *neap_live_problems(const struct neap_judgement *verdict);
void neap_live_report_versions(struct live_job *job);
json_t *neap_live_report_item(struct neap_live *live, const struct live_item *item);
json_t *neap_live_report_params(struct neap_live *live, const struct live_item *item);

#endif
