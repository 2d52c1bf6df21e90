/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of policies in a running daemon. Where a policy comes from, in order of precedence (the
 * last wins for one kind and name): the configuration (--policy), uploads (api/policy/versions), and
 * the watched --policy-dir. A change is judged on the policy thread, made durable there, and
 * swapped in on the loop between two events; changes are done one at a time, in order of arrival, so
 * what one of them found true stays true until it is done. A version that fails in service is replaced by its
 * predecessor by itself. */
#ifndef NEAP_API_POLICY_LIVE_H
#define NEAP_API_POLICY_LIVE_H

#include <jansson.h>
#include <sys/types.h>

#include "api/policy/judge.h"
#include "api/policy/versions.h"
#include "engine/base/log.h"
#include "lua/run/registry.h"

struct event_base;
struct neap_live;

struct neap_live_config {
	struct event_base *base;
	struct neap_registry
		*registry;          /* borrowed; this is the only one who changes it */
	struct neap_record *record; /* borrowed; NULL: uploads are not replayed */
	char dir[256];              /* DATA_DIR/policies */
	int64_t deleted_bytes;      /* on disk, of policies that were deleted */
	uid_t own_uid;
	const json_t *labels; /* borrowed: of this node, for `where` */
	struct neap_log log;
	/* For the audit; label "qos/cpu-share@3f2a91c0". May be NULL. */
	void (*note)(void *arg, const char *label, const char *what);
	/* Adds members to the row of a policy that is live. May be NULL. */
	void (*describe)(void *arg, const char *label, json_t *row);
	void *arg;
};

/* One policy of the configuration: a text, and parameters as text. */
struct neap_live_source {
	const char *text;
	size_t len;
	const char *origin;
	const struct neap_param_text *params;
	int param_count;
};

int neap_live_new(const struct neap_live_config *config, struct neap_live **ret,
		  struct neap_error *err);
/* Waits for the change at work; no done is called any more, and what waits is not begun. */
void neap_live_free(struct neap_live *live);
/* The policies of the configuration, then those uploaded before. A configured one that does not pass
 * is an error (*ret_index says which); an uploaded one that does not is logged, and its
 * predecessor or the configured one acts instead. Runs the scripts at once, on this thread. */
int neap_live_start(struct neap_live *live, const struct neap_live_source *sources,
		    int count, int *ret_index, struct neap_error *err);
/* The configuration anew, in a running daemon: as changes, whose problems are logged. A text that does
 * not pass leaves the one that its file had before; where only parameters differ the state goes on. An
 * error: nothing is changed. */
int neap_live_reconfigure(struct neap_live *live, const struct neap_live_source *sources,
			  int count, struct neap_error *err);
/* Watches the directory; its policies are live when this returns. */
int neap_live_watch(struct neap_live *live, const char *dir, struct neap_error *err);
/* Looks at the directory now. */
void neap_live_look(struct neap_live *live);
/* From inside a tick: the policy was taken out of service. Its predecessor follows, or the one before
 * that; then what the layer below has; then nothing, and what it set is held. */
void neap_live_failed(struct neap_live *live, const char *kind, const char *name,
		      const char *why);
/* False until the start is done: nothing can be asked for before. */
bool neap_live_is_open(const struct neap_live *live);
/* Leaves a version out, wherever its text comes from: one that an earlier neapd was stuck in
 * ("qos/name@3f2a91c0", or "@3f2a91c0"). Of too many the newest count. Before the start. */
void neap_live_ban(struct neap_live *live, const char *label);

/* --- asked for by operators --- */

/* Once, on the loop, not before the call returns. err NULL: status 200 or 201 with body; else refused, body (may be
 * NULL) has more members for the answer ("problems", "replay"). body is taken over. version: live afterwards,
 * "" when none is. */
typedef void neap_live_done(void *arg, int status, json_t *body, const char *version,
			    const struct neap_error *err);

struct neap_live_change {
	const char *kind, *name;
	const char *by;       /* "token", "uid 0" */
	bool is_admin;        /* else a text that only an admin may load is refused */
	const char *if_match; /* a version, "*", or NULL */
	bool if_none;         /* only when there is none of that name */
	bool is_dry_run;
	/* put: only beside the version in service, to be compared with it, until a swap, the end of
	 * neapd, or a delete that says the same. Nothing is kept on disk. */
	bool is_shadow;
	neap_live_done *done;
	void *arg;
};

/* The strings and text are copied. Errors at once: too many wait (NEAP_EUNAVAILABLE), no memory, bad
 * name; then done is not called. */
int neap_live_put(struct neap_live *live, const struct neap_live_change *change,
		  const char *text, size_t len, struct neap_error *err);
/* What was set over the API goes with a name of which nothing is left. */
int neap_live_delete(struct neap_live *live, const struct neap_live_change *change,
		     struct neap_error *err);
/* to: a version, "" or NULL for the predecessor, which must pass: nothing older is tried. */
int neap_live_rollback(struct neap_live *live, const struct neap_live_change *change,
		       const char *to, struct neap_error *err);
/* A JSON object: null goes back to the configuration's value, else the default. */
int neap_live_set_params(struct neap_live *live, const struct neap_live_change *change,
			 const json_t *params, struct neap_error *err);
/* Versions (the configuration's last, "layer" says which) and history, and as "before" the version
 * that a rollback would take, or null; with version its text as {"text": ...}. */
int neap_live_list_versions(struct neap_live *live, const struct neap_live_change *change,
			    const char *version, struct neap_error *err);
/* Whoever asked went away: done of this arg is not called any more; the change goes on. */
void neap_live_forget(struct neap_live *live, void *arg);

/* --- figures; all new references --- */

/* One object per policy, also those of which only a refused text is known. */
json_t *neap_live_rows(struct neap_live *live);
/* One of them with doc, schema and text; NEAP_ENOTFOUND. ret_version: at least 12 bytes, "" when none is live. */
int neap_live_row(struct neap_live *live, const char *kind, const char *name,
		  json_t **ret, char *ret_version, struct neap_error *err);
/* {"policy", "version", "values", "set", "schema"} */
int neap_live_params(struct neap_live *live, const char *kind, const char *name,
		     json_t **ret, char *ret_version, struct neap_error *err);
struct neap_live_counts {
	uint64_t live, refused, rolled_back, unchanged; /* changes since the start */
	size_t waiting;
	int64_t deleted_bytes; /* on disk */
};
void neap_live_count(const struct neap_live *live, struct neap_live_counts *ret);

#endif
