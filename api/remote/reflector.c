/* SPDX-License-Identifier: Apache-2.0
 *
 * The requests of a reflector. The order of steps, the waits and the reasons to start
 * over are client-go's. */
#include "api/remote/reflector.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/remote/reflector_priv.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/log/log.h"

#define PAGE           500
#define WHY_BYTES      512
#define TOKEN_MAX      16384 /* of a place in a list */
#define DELAY_USEC     800000
#define DELAY_MAX_USEC 30000000
#define CALM_USEC      120000000 /* after that the first delay counts again */
#define MISSING_USEC   30000000  /* between looks for a kind that is not served */
#define ASK_USEC       60000000  /* of what is no watch */
#define WATCH_S        300       /* at least, and at most twice that */
#define LATE_S         60        /* ... after which it has no server any more */
#define SHORT_USEC     1000000   /* a watch that ends sooner, and empty, has failed */

static void ask(struct neap_reflector *reflector);

static int64_t draw(struct neap_reflector *reflector, int64_t below)
{
	return rand_r(&reflector->seed) % below;
}

static void later(struct neap_reflector *reflector, int64_t usec)
{
	const struct timeval after = {.tv_sec = usec / 1000000,
				      .tv_usec = usec % 1000000};

	(void)event_add(reflector->timer, &after);
}

/* Doubling, each delay between once and twice its length. */
static void delay(struct neap_reflector *reflector)
{
	int64_t now = neap_clock_steady(), usec = reflector->delay_usec;

	usec = usec == 0 || now - reflector->asked_usec > CALM_USEC ? DELAY_USEC
								    : usec * 2;
	reflector->delay_usec = usec < DELAY_MAX_USEC ? usec : DELAY_MAX_USEC;
	reflector->asked_usec = now;
	later(reflector, reflector->delay_usec + draw(reflector, reflector->delay_usec));
}

static void tell(struct neap_reflector *reflector, const char *doing, const char *why)
{
	neap_log_from(reflector->config.log, "api server", NEAP_LOG_WARN,
		      "api server: %s %s: %s", doing, reflector->config.kind->resource,
		      why);
}

static void list_anew(struct neap_reflector *reflector, bool is_soon)
{
	reflector->step = REFLECTOR_LIST;
	free(reflector->next_page);
	reflector->next_page = NULL;
	if (is_soon)
		ask(reflector);
	else
		delay(reflector);
}

/* --- which version is served --- */

static void missing(struct neap_reflector *reflector)
{
	const struct neap_remote_kind *kind = reflector->config.kind;
	struct neap_error err;

	if (!reflector->is_missing_said)
		neap_log_line(
			reflector->config.log, NEAP_LOG_WARN,
			"api server: it serves no %s: there are none until its "
			"definition is installed (neapctl install-crds --kubeconfig FILE)",
			kind->resource);
	reflector->is_missing_said = true;
	reflector->version[0] = '\0';
	reflector->step = REFLECTOR_FIND;
	/* What was there is gone with its kind. */
	neap_mirror_mark(reflector->config.mirror, kind->resource);
	(void)neap_mirror_sweep(reflector->config.mirror, kind->resource,
				neap_clock_steady(), &err);
	reflector->config.changed(reflector->config.arg);
	if (!reflector->is_synced) {
		reflector->is_synced = true;
		reflector->config.synced(reflector->config.arg);
	}
	later(reflector, MISSING_USEC);
}

static bool serves(const json_t *group, const char *version)
{
	return neap_json_find(json_object_get(group, "versions"), "version", version) !=
	       NULL;
}

static void found_group(struct neap_reflector *reflector, const json_t *group)
{
	const char *const *version = reflector->config.kind->versions;

	while (*version != NULL && !serves(group, *version))
		version++;
	if (*version == NULL) {
		missing(reflector);
		return;
	}
	(void)neap_strcopy(reflector->version, sizeof(reflector->version), *version);
	reflector->step = REFLECTOR_CHECK;
	ask(reflector);
}

static void found_resources(struct neap_reflector *reflector, const json_t *list)
{
	const struct neap_remote_kind *kind = reflector->config.kind;
	const json_t *resources = json_object_get(list, "resources");
	const json_t *eviction = neap_json_find(resources, "name", "pods/eviction");
	const char *version = neap_json_text(eviction, "version");
	char plural[64];

	(void)snprintf(plural, sizeof(plural), "%.*s", (int)neap_remote_kind_plural(kind),
		       kind->resource);
	if (neap_json_find(resources, "name", plural) == NULL) {
		missing(reflector);
		return;
	}
	if (reflector->is_missing_said)
		neap_log_line(reflector->config.log, NEAP_LOG_INFO,
			      "api server: it serves %s now", kind->resource);
	reflector->is_missing_said = false;
	(void)neap_strcopy(reflector->eviction, sizeof(reflector->eviction),
			   version != NULL ? version : "v1beta1");
	list_anew(reflector, true);
}

static void found(void *arg, const struct neap_transport_answer *answer)
{
	struct neap_reflector *reflector = arg;
	struct neap_error err = {0};
	json_t *json = NULL;
	char why[WHY_BYTES];

	reflector->transfer = NULL;
	if (answer->status == 404) {
		missing(reflector);
		return;
	}
	if (answer->status != 200 ||
	    neap_remote_parse(answer->body, answer->len, &json, &err) < 0) {
		tell(reflector, "asking for the version of",
		     answer->status == 200 ? err.msg
					   : neap_remote_why(answer, why, sizeof(why)));
		delay(reflector);
		return;
	}
	if (reflector->step == REFLECTOR_FIND)
		found_group(reflector, json);
	else
		found_resources(reflector, json);
	json_decref(json);
}

/* --- lists --- */

static bool is_too_large(const struct neap_transport_answer *answer)
{
	return answer->status == 504 && strstr(answer->body, "oo large resource version");
}

/* Handles an answer that is not a list. */
static void list_failed(struct neap_reflector *reflector,
			const struct neap_transport_answer *answer)
{
	bool is_old = answer->status == 410 || is_too_large(answer);
	char why[WHY_BYTES];

	if (answer->status == 404) { /* another version, or none, is served now */
		reflector->step = REFLECTOR_FIND;
		delay(reflector);
		return;
	}
	if (answer->status == 410)
		reflector->counts.expired++;
	else
		reflector->counts.failed++;
	if (is_old && reflector->from != FROM_CONSISTENT) {
		reflector->from = FROM_CONSISTENT;
		list_anew(reflector, true);
		return;
	}
	tell(reflector, "list of",
	     reflector->has_failed ? reflector->failure
				   : neap_remote_why(answer, why, sizeof(why)));
	list_anew(reflector, false);
}

/* What goes into a URL as it is, and leads on. */
static bool is_token(const char *token, const char *before)
{
	return token == NULL ||
	       (strlen(token) < TOKEN_MAX &&
		strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			      "0123456789-_=.~%") == strlen(token) &&
		(*token == '\0' || before == NULL || strcmp(token, before) != 0));
}

/* The list without its items. */
static bool read_rest(struct neap_reflector *reflector)
{
	struct neap_error err = {0};
	const json_t *meta;
	const char *version, *next;
	json_t *rest;

	if (neap_remote_parse(reflector->frames.rest.data, reflector->frames.rest.len,
			      &rest, &err) < 0)
		return false;
	meta = json_object_get(rest, "metadata");
	version = neap_json_text(meta, "resourceVersion");
	next = neap_json_text(meta, "continue");
	if (!is_token(next, reflector->next_page)) {
		json_decref(rest);
		return false;
	}
	free(reflector->next_page);
	reflector->next_page = next && *next ? neap_strdup(next) : NULL;
	reflector->has_pages |= reflector->next_page != NULL;
	if (version != NULL && neap_remote_version_compare(version, reflector->last) >= 0)
		(void)neap_strcopy(reflector->listed, sizeof(reflector->listed), version);
	else {
		reflector->is_behind |= version != NULL;
		version = NULL;
	}
	json_decref(rest);
	return version != NULL;
}

static void listed(void *arg, const struct neap_transport_answer *answer)
{
	struct neap_reflector *reflector = arg;
	struct neap_error err = {0};

	reflector->transfer = NULL;
	if (answer->status == 200 && *answer->why == '\0' && !reflector->has_failed &&
	    (!neap_frames_is_whole(&reflector->frames) || !read_rest(reflector))) {
		(void)neap_strcopy(reflector->failure, sizeof(reflector->failure),
				   "the answer ends early, or is no list");
		reflector->has_failed = true;
	}
	if (answer->status != 200 || *answer->why != '\0' || reflector->has_failed) {
		list_failed(reflector, answer);
		return;
	}
	reflector->config.changed(reflector->config.arg);
	if (reflector->next_page != NULL) {
		ask(reflector);
		return;
	}
	if (reflector_end_list(reflector, &err) < 0) {
		tell(reflector, "list of", err.msg);
		list_anew(reflector, false);
		return;
	}
	reflector->step = REFLECTOR_WATCH;
	ask(reflector);
}

/* --- watches --- */

/* A version that is too old: a consistent list at once; and when that helps nothing,
 * after a pause. */
static void watch_is_old(struct neap_reflector *reflector)
{
	bool is_first = !reflector->was_old;

	reflector->was_old = true;
	reflector->counts.expired++;
	reflector->from = FROM_CONSISTENT;
	list_anew(reflector, is_first);
}

static void watch_failed(struct neap_reflector *reflector, const char *why)
{
	reflector->counts.failed++;
	tell(reflector, "watch of", why);
	list_anew(reflector, false);
}

static void watch_not_opened(struct neap_reflector *reflector,
			     const struct neap_transport_answer *answer)
{
	char why[WHY_BYTES];

	if (answer->status == 410 || is_too_large(answer)) {
		watch_is_old(reflector);
	} else if (answer->status == 0 || answer->status == 429) {
		/* The same again. */
		reflector->counts.failed++;
		tell(reflector, "watch of",
		     answer->status == 0 ? answer->why : "the server is too busy");
		delay(reflector);
	} else if (reflector->is_streaming &&
		   (answer->status == 400 || answer->status == 422)) {
		reflector->config.has_watch_list = false;
		list_anew(reflector, true);
	} else if (answer->status == 404) {
		reflector->step = REFLECTOR_FIND;
		delay(reflector);
	} else {
		watch_failed(reflector, neap_remote_why(answer, why, sizeof(why)));
	}
}

static void watch_ended(void *arg, const struct neap_transport_answer *answer)
{
	struct neap_reflector *reflector = arg;
	int64_t length = neap_clock_steady() - reflector->began_usec;

	reflector->transfer = NULL;
	if (reflector->has_frames) /* the server was well until now */
		reflector->delay_usec = 0;
	if (answer->status != 200) {
		watch_not_opened(reflector, answer);
	} else if (reflector->is_expired) {
		watch_is_old(reflector);
	} else if (reflector->has_failed) {
		watch_failed(reflector, reflector->failure);
	} else if (reflector->is_initial) { /* the list is not complete */
		list_anew(reflector, false);
	} else if (!reflector->has_frames && length < SHORT_USEC) {
		watch_failed(reflector, "it ended at once, without a frame");
	} else {
		ask(reflector);
	}
}

/* --- asking --- */

static void add_path(const struct neap_reflector *reflector, struct neap_buf *path)
{
	const struct neap_remote_kind *kind = reflector->config.kind;
	const char *group = neap_remote_kind_group(kind);

	if (*group == '\0')
		neap_buf_adds(path, "/api/v1");
	else if (reflector->step == REFLECTOR_FIND)
		neap_buf_addf(path, "/apis/%s", group);
	else
		neap_buf_addf(path, "/apis/%s/%s", group, reflector->version);
	if (reflector->step == REFLECTOR_FIND || reflector->step == REFLECTOR_CHECK)
		return;
	if (reflector->ns[0] != '\0')
		neap_buf_addf(path, "/namespaces/%s", reflector->ns);
	neap_buf_addf(path, "/%.*s?", (int)neap_remote_kind_plural(kind), kind->resource);
	if (reflector->selector[0] != '\0')
		neap_buf_addf(path, "fieldSelector=%s&", reflector->selector);
}

static void add_list(const struct neap_reflector *reflector, struct neap_buf *path)
{
	if (reflector->next_page != NULL) {
		neap_buf_addf(path, "limit=%d&continue=%s", PAGE, reflector->next_page);
		return;
	}
	/* A limit would lead past the server's cache. */
	if (reflector->from != FROM_LAST || reflector->has_pages)
		neap_buf_addf(path, "limit=%d&", PAGE);
	if (reflector->from != FROM_CONSISTENT)
		neap_buf_addf(path, "resourceVersion=%s",
			      reflector->from == FROM_LAST ? reflector->last : "0");
}

/* Returns how many seconds the server is asked for. */
static int add_watch(struct neap_reflector *reflector, struct neap_buf *path)
{
	int seconds = WATCH_S + (int)draw(reflector, WATCH_S);

	neap_buf_addf(path, "watch=true&allowWatchBookmarks=true&timeoutSeconds=%d",
		      seconds);
	if (reflector->is_streaming)
		neap_buf_adds(path, "&sendInitialEvents=true"
				    "&resourceVersionMatch=NotOlderThan");
	if (!reflector->is_streaming || reflector->from == FROM_LAST)
		neap_buf_addf(path, "&resourceVersion=%s", reflector->last);
	return seconds;
}

static bool take_bytes(void *arg, const char *bytes, size_t len)
{
	struct neap_reflector *reflector = arg;
	struct neap_error err = {0};
	int rc = neap_frames_feed(&reflector->frames, bytes, len, &err);

	if (rc < 0) {
		(void)neap_strcopy(reflector->failure, sizeof(reflector->failure),
				   err.msg);
		reflector->has_failed = true;
	}
	return rc == 0;
}

/* What the answer's pieces go to. */
static void begin(struct neap_reflector *reflector, bool is_watch)
{
	neap_frames_done(&reflector->frames);
	neap_frames_init(&reflector->frames, !is_watch,
			 is_watch ? reflector_take_frame : reflector_take_item,
			 reflector);
	reflector->has_failed = reflector->is_expired = reflector->has_frames = false;
	reflector->began_usec = neap_clock_steady();
	if (!is_watch)
		reflector->counts.lists++;
	else
		reflector->counts.watches++;
}

static void ask(struct neap_reflector *reflector)
{
	neap_auto_buf struct neap_buf path = {0};
	struct neap_transport_ask request = {.method = "GET", .arg = reflector};
	bool is_list = reflector->step == REFLECTOR_LIST, is_watch;
	struct neap_error err = {0};

	/* The core group has one version; of pods it is asked how they are evicted. */
	if (reflector->step == REFLECTOR_FIND &&
	    *neap_remote_kind_group(reflector->config.kind) == '\0') {
		(void)neap_strcopy(reflector->version, sizeof(reflector->version), "v1");
		reflector->step = REFLECTOR_CHECK;
	}
	reflector->is_streaming = is_list && reflector->config.has_watch_list;
	reflector->is_initial = reflector->is_streaming;
	is_watch = reflector->step == REFLECTOR_WATCH || reflector->is_streaming;
	if (is_list && reflector->next_page == NULL)
		neap_mirror_mark(reflector->config.mirror,
				 reflector->config.kind->resource);
	neap_buf_init(&path, NEAP_BUF_LINE);
	add_path(reflector, &path);
	if (is_watch)
		request.most_usec =
			(add_watch(reflector, &path) + LATE_S) * INT64_C(1000000);
	else if (is_list)
		add_list(reflector, &path);
	request.path = path.data;
	request.timeout_usec = is_watch ? 0 : ASK_USEC;
	request.rank = is_watch ? NEAP_TRANSPORT_URGENT : NEAP_TRANSPORT_NORMAL;
	request.done = is_watch ? watch_ended : is_list ? listed : found;
	if (is_watch || is_list) {
		request.data = take_bytes;
		begin(reflector, is_watch);
	}
	if (neap_buf_failed(&path) ||
	    neap_transport_ask_take(reflector->config.transport, &request,
				    &reflector->transfer, &err) < 0)
		delay(reflector);
}

static void due(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	ask(arg);
}

/* --- its life --- */

int neap_reflector_new(const struct neap_reflector_config *config,
		       struct neap_reflector **ret, struct neap_error *err)
{
	struct neap_reflector *reflector = neap_alloc(sizeof(*reflector));

	if (reflector == NULL)
		return neap_error_nomem(err);
	reflector->config = *config;
	reflector->seed = (unsigned)neap_clock_steady();
	neap_frames_init(&reflector->frames, true, reflector_take_item, reflector);
	reflector->timer = event_new(config->base, -1, 0, due, reflector);
	if (reflector->timer == NULL) {
		neap_reflector_free(reflector);
		return neap_error_nomem(err);
	}
	if (!neap_strcopy(reflector->ns, sizeof(reflector->ns),
			  config->ns ? config->ns : "") ||
	    !neap_strcopy(reflector->selector, sizeof(reflector->selector),
			  config->selector ? config->selector : "")) {
		neap_reflector_free(reflector);
		return neap_error_set(err, NEAP_ETOOLARGE, "%s: the selector is too long",
				      config->kind->resource);
	}
	later(reflector, 0);
	*ret = reflector;
	return 0;
}

void neap_reflector_free(struct neap_reflector *reflector)
{
	if (reflector == NULL)
		return;
	neap_transfer_cancel(reflector->transfer);
	neap_frames_done(&reflector->frames);
	if (reflector->timer != NULL)
		event_free(reflector->timer);
	free(reflector->next_page);
	free(reflector);
}

const struct neap_remote_kind *neap_reflector_kind(const struct neap_reflector *reflector)
{
	return reflector->config.kind;
}

bool neap_reflector_is_synced(const struct neap_reflector *reflector)
{
	return reflector->is_synced;
}

const char *neap_reflector_version(const struct neap_reflector *reflector)
{
	return reflector->version[0] != '\0' ? reflector->version : NULL;
}

const char *neap_reflector_last(const struct neap_reflector *reflector)
{
	return reflector->last;
}

bool neap_reflector_is_behind(const struct neap_reflector *reflector)
{
	return reflector->is_behind;
}

const char *neap_reflector_eviction(const struct neap_reflector *reflector)
{
	return reflector->eviction;
}

struct neap_reflector_counts neap_reflector_counts(const struct neap_reflector *reflector)
{
	return reflector->counts;
}
