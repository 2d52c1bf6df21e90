/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies in a running daemon. Sources in order of precedence (the last wins for one
 * kind and name): the configuration (--policy), uploads (api/policy/versions), and the
 * watched --policy-dir. A change is judged and made durable on the policy thread, then
 * swapped in on the loop between two events. Changes run one at a time in order of
 * arrival, so their findings stay valid until they are done. A version that fails in
 * service is replaced by its predecessor automatically. */
#ifndef NEAP_API_POLICY_LIVE_LIVE_H
#define NEAP_API_POLICY_LIVE_LIVE_H

#include <jansson.h>
#include <sys/types.h>

#include "api/policy/judge.h"
#include "api/policy/versions.h"
#include "engine/log/log.h"
#include "lua/run/registry.h"

struct event_base;
struct neap_live;

struct neap_live_config {
	struct event_base *base;
	struct neap_registry *registry; /* borrowed; only this module changes it */
	/* Borrowed; NULL: uploads are not replayed. */
	const struct neap_recorders *recorders;
	char dir[256];         /* DATA_DIR/policies */
	int64_t deleted_bytes; /* limit on disk space of deleted policies */
	uid_t own_uid;
	const json_t *labels; /* borrowed: of this node, for `where` */
	struct neap_log log;
	/* Receives audit lines; label "qos/cpu-share@3f2a91c0". May be NULL. */
	void (*note)(void *arg, const char *label, const char *what);
	/* Adds members to the row of a live policy. May be NULL. */
	void (*describe)(void *arg, const char *label, json_t *row);
	void *arg;
};

/* One policy of the configuration: text, and parameters as text. */
struct neap_live_source {
	const char *text;
	size_t len;
	const char *origin;
	const struct neap_param_text *params;
	int param_count;
};

int neap_live_new(const struct neap_live_config *config, struct neap_live **ret,
		  struct neap_error *err);
/* Waits for the change in progress; no done is called any more, and waiting changes are
 * dropped. */
void neap_live_free(struct neap_live *live);
/* Loads the policies of the configuration, then earlier uploads. A configured one that is
 * refused is an error (*ret_index says which); a refused upload is logged, and its
 * predecessor or the configured one is used. Runs the scripts at once on this thread. */
int neap_live_start(struct neap_live *live, const struct neap_live_source *sources,
		    int count, int *ret_index, struct neap_error *err);
/* Applies a new configuration in a running daemon as changes, whose problems are logged.
 * A refused text leaves the one its file had before; if only parameters differ, the Lua
 * state is kept. On an error nothing changes. */
int neap_live_reconfigure(struct neap_live *live, const struct neap_live_source *sources,
			  int count, struct neap_error *err);
/* Watches the directory; its policies are live when this returns. */
int neap_live_watch(struct neap_live *live, const char *dir, struct neap_error *err);
/* Checks the directory now. */
void neap_live_look(struct neap_live *live);
/* Called within a tick: the policy was taken out of service. Its predecessor follows, or
 * the one before; then the next lower source; then nothing, and what it set is held. */
void neap_live_failed(struct neap_live *live, const char *kind, const char *name,
		      const char *why);
/* False until the start is complete; no changes are accepted before. */
bool neap_live_is_open(const struct neap_live *live);
/* Excludes a version from any source, because an earlier neapd was stuck in it
 * ("qos/name@3f2a91c0", or "@3f2a91c0"). The newest exclusions are kept. Call before the
 * start. */
void neap_live_ban(struct neap_live *live, const char *label);

/* --- asked for by operators --- */

/* Called once on the loop, not before the call returns. err NULL: status 200 or 201 with
 * body; else refused, and body (may be NULL) has more members for the answer ("problems",
 * "replay"). body is taken over. version: live afterwards, "" when none is. */
typedef void neap_live_done(void *arg, int status, json_t *body, const char *version,
			    const struct neap_error *err);

struct neap_live_change {
	const char *kind, *name;
	const char *by;       /* "token", "uid 0" */
	bool is_admin;        /* else texts that require an admin are refused */
	const char *if_match; /* a version, "*", or NULL */
	bool if_none;         /* only if no policy has that name */
	bool is_dry_run;
	/* put: run it only as a shadow of the live version, for comparison, until a swap,
	 * the end of neapd, or a delete with the same flag. Nothing is stored on disk. */
	bool is_shadow;
	neap_live_done *done;
	void *arg;
};

/* Copies strings and text. Errors at once, without done: too many waiting changes
 * (NEAP_EUNAVAILABLE), no memory, bad name. */
int neap_live_put(struct neap_live *live, const struct neap_live_change *change,
		  const char *text, size_t len, struct neap_error *err);
/* If nothing is left under the name, parameters set over the API are removed too. */
int neap_live_delete(struct neap_live *live, const struct neap_live_change *change,
		     struct neap_error *err);
/* to: a version, "" or NULL for the predecessor. It must pass; nothing older is tried. */
int neap_live_rollback(struct neap_live *live, const struct neap_live_change *change,
		       const char *to, struct neap_error *err);
/* A JSON object: null restores the configuration's value, else the default. */
int neap_live_set_params(struct neap_live *live, const struct neap_live_change *change,
			 const json_t *params, struct neap_error *err);
/* Lists versions (the configuration's last, "layer" says which) and history, and as
 * "before" the version that a rollback would take, or null; with version its text as
 * {"text": ...}. */
int neap_live_list_versions(struct neap_live *live, const struct neap_live_change *change,
			    const char *version, struct neap_error *err);
/* The client is gone: done with this arg is not called any more; the change goes on. */
void neap_live_forget(struct neap_live *live, void *arg);

/* --- figures; all new references --- */

/* One object per policy, including those with only a refused text. */
json_t *neap_live_rows(struct neap_live *live);
/* One of them with doc, schema and text; NEAP_ENOTFOUND. ret_version: at least 12 bytes,
 * "" when none is live. */
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
