/* SPDX-License-Identifier: Apache-2.0
 *
 * One step of a job while it is computed; shared by the files job*.c. */
#ifndef NEAP_ENGINE_MIGRATE_JOB_PRIV_H
#define NEAP_ENGINE_MIGRATE_JOB_PRIV_H

#include "engine/migrate/job.h"

struct job_pass {
	const struct neap_migrate_view *view;
	struct neap_migrate_step *step;
	struct neap_migrate_job job;
	const char *reservation; /* its name */
	const char *pod_text;    /* "NAMESPACE/NAME" of the pod */
	char pod_name[NEAP_MIGRATE_MESSAGE / 2];
	json_t *status;  /* the new one */
	bool has_failed; /* without memory */
};

/* --- job_facts.c: borrowed, "" for what is missing --- */

const char *job_note_of(const json_t *object, const char *key);
bool job_names_reservation(const json_t *job);

/* --- job_node.c --- */

/* Returns whether the Reservation's node is usable now; sets the condition, and when the
 * next look is due. */
bool job_node_is_good(struct job_pass *pass);
/* Returns whether the pod's successor cannot come to that node, as it is cordoned. */
bool job_node_is_cordoned(const struct neap_migrate_view *view);

/* --- job_write.c --- */

/* "" removes the member. */
void job_set_text(struct job_pass *pass, json_t *object, const char *name,
		  const char *text);
void job_tell(struct job_pass *pass, bool is_warning, const char *reason, const char *fmt,
	      ...) NEAP_PRINTF(4, 5);
bool job_is_true(const struct job_pass *pass, const char *type);
/* Sets a condition, and the members of the status that repeat the newest condition.
 * Returns whether anything changed. */
bool job_set_condition(struct job_pass *pass, const char *type, bool value,
		       const char *reason, const char *message);
/* Ends the job, and deletes what was created for it. */
void job_fail(struct job_pass *pass, const char *reason, const char *message);
void job_fail_and_tell(struct job_pass *pass, const char *reason, const char *fmt, ...)
	NEAP_PRINTF(3, 4);
void job_succeed(struct job_pass *pass, const char *message);
void job_wait(struct job_pass *pass);
/* Adds to the merge patch of the job. value is taken. */
void job_patch_new(struct job_pass *pass, const char *a, const char *b, const char *name,
		   json_t *value);

#endif
