/* SPDX-License-Identifier: Apache-2.0
 *
 * Adds received objects to the mirror. An object never goes back to an older state, even
 * after a late answer; and what this process wrote stays newest until it is received. */
#include <string.h>

#include "api/remote/reflector_priv.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/log/log.h"

static const char *meta_text(const json_t *object, const char *name)
{
	const char *text = neap_json_text(json_object_get(object, "metadata"), name);

	return text != NULL ? text : "";
}

static void note_version(struct neap_reflector *reflector, const char *version)
{
	if (strlen(version) >= sizeof(reflector->last) || *version == '\0')
		return;
	if (neap_remote_version_compare(version, reflector->last) >= 0)
		(void)neap_strcopy(reflector->last, sizeof(reflector->last), version);
	else
		neap_log_from(
			reflector->config.log, "api server", NEAP_LOG_WARN,
			"api server: a frame of %s has version %s after %s: left out",
			reflector->config.kind->resource, version, reflector->last);
}

/* Whether what this process wrote is in the state that was heard of. */
static bool is_settled(const struct neap_object *newest, const json_t *object,
		       const struct neap_object *shown)
{
	const char *version;

	if (newest == NULL) /* it deleted the one that was shown */
		return shown == NULL || strcmp(shown->uid, meta_text(object, "uid")) != 0;
	if (newest == shown)
		return true;
	version = neap_object_field(newest, "metadata.resourceVersion");
	if (version != NULL && *version != '\0')
		return neap_remote_version_compare(meta_text(object, "resourceVersion"),
						   version) >= 0;
	/* A binding, whose answer has no version. */
	return strcmp(newest->uid, meta_text(object, "uid")) != 0 ||
	       neap_json_text(json_object_get(object, "spec"), "nodeName") != NULL;
}

/* Says why an object is left out; the code that goes on, NEAP_ENOMEM alone. */
static int leave_out(struct neap_reflector *reflector, const char *ns, const char *name,
		     struct neap_error *err)
{
	if (err->code == NEAP_ENOMEM)
		return -NEAP_ENOMEM;
	neap_log_from(reflector->config.log, "api server", NEAP_LOG_WARN,
		      "api server: %s %s%s%s is left out: %s",
		      reflector->config.kind->resource, ns, *ns ? "/" : "", name,
		      err->msg);
	reflector->counts.skipped++;
	return 0;
}

int reflector_show_take(struct neap_reflector *reflector, json_t *object,
			struct neap_error *err)
{
	struct neap_store *mirror = reflector->config.mirror;
	const struct neap_remote_kind *kind = reflector->config.kind;
	const char *ns = meta_text(object, "namespace");
	const char *name = meta_text(object, "name");
	const char *version = meta_text(object, "resourceVersion");
	const struct neap_object *shown, *newest;
	struct neap_object *made;
	bool settled;
	int order;

	shown = neap_store_find(mirror, kind->resource, ns, name);
	newest = neap_store_newest(mirror, kind->resource, ns, name);
	order = shown ? neap_remote_version_compare(
				version,
				neap_object_field(shown, "metadata.resourceVersion"))
		      : 1;
	if (order <= 0) {
		neap_mirror_keep(mirror, kind->resource, ns, name);
		json_decref(object);
		return 0;
	}
	settled = is_settled(newest, object, shown);
	if (shown && strcmp(shown->uid, meta_text(object, "uid")) != 0 &&
	    neap_mirror_hide_take(mirror, kind->resource, ns, name, NULL,
				  neap_clock_steady(), err) < 0) {
		json_decref(object);
		return -(int)err->code;
	}
	(void)json_incref(object);
	if (neap_remote_object_take(object, kind, neap_mirror_next(mirror), &made, err) <
	    0) {
		int rc = leave_out(reflector, ns, name, err);

		json_decref(object);
		return rc;
	}
	json_decref(object);
	return neap_mirror_show_take(mirror, kind->resource, made, settled,
				     neap_clock_steady(), err);
}

int reflector_hide_take(struct neap_reflector *reflector, json_t *object,
			struct neap_error *err)
{
	struct neap_store *mirror = reflector->config.mirror;
	const struct neap_remote_kind *kind = reflector->config.kind;
	const char *ns = meta_text(object, "namespace");
	const char *name = meta_text(object, "name");
	struct neap_object *shown = neap_store_find(mirror, kind->resource, ns, name);
	struct neap_object *newest = neap_store_newest(mirror, kind->resource, ns, name);
	struct neap_object *laid = NULL, *last = NULL;
	int rc = 0;

	/* Another one of that name is known already. */
	if (shown && strcmp(shown->uid, meta_text(object, "uid")) != 0)
		goto out;
	if (newest && strcmp(newest->uid, meta_text(object, "uid")) != 0)
		laid = neap_object_ref(newest);
	if (shown) {
		(void)json_incref(object);
		if (neap_remote_object_take(object, kind, neap_mirror_next(mirror), &last,
					    err) < 0)
			last = NULL; /* the state that was shown will do */
	}
	rc = neap_mirror_hide_take(mirror, kind->resource, ns, name, last,
				   neap_clock_steady(), err);
	if (laid && rc == 0)
		rc = neap_mirror_lay_take(mirror, kind->resource, laid, err);
	else
		(void)neap_object_unref(laid);
out:
	json_decref(object);
	return rc;
}

/* --- lists --- */

static bool fail(struct neap_reflector *reflector, const char *why)
{
	(void)neap_strcopy(reflector->failure, sizeof(reflector->failure), why);
	reflector->has_failed = true;
	return false;
}

/* A list says its version before its items. One of an older state could bring back what
 * is gone. */
static bool is_recent(struct neap_reflector *reflector)
{
	const struct neap_buf *rest = &reflector->frames.rest;
	neap_auto_free char *text = neap_asprintf("%.*s]}", (int)rest->len, rest->data);
	struct neap_error err;
	const char *version;
	json_t *list = NULL;
	bool is_old;

	reflector->has_frames = true;
	if (text == NULL || neap_remote_parse(text, strlen(text), &list, &err) < 0)
		return true; /* the end of the list will tell */
	version = meta_text(list, "resourceVersion");
	is_old = *version && neap_remote_version_compare(version, reflector->last) < 0;
	json_decref(list);
	return !is_old;
}

bool reflector_take_item(void *arg, const char *text, size_t len)
{
	struct neap_reflector *reflector = arg;
	struct neap_error err = {0};
	json_t *object;

	if (!reflector->has_frames && !is_recent(reflector)) {
		reflector->is_behind = true;
		return fail(reflector, NEAP_REMOTE_OLDER);
	}
	if (neap_remote_parse(text, len, &object, &err) < 0 ||
	    reflector_show_take(reflector, object, &err) < 0)
		return fail(reflector, err.msg);
	reflector->counts.events++;
	return true;
}

int reflector_end_list(struct neap_reflector *reflector, struct neap_error *err)
{
	const struct neap_reflector_config *config = &reflector->config;

	reflector->counts.heard_usec = neap_clock_steady();
	(void)neap_strcopy(reflector->last, sizeof(reflector->last), reflector->listed);
	if (neap_mirror_sweep(config->mirror, config->kind->resource, neap_clock_steady(),
			      err) < 0)
		return -(int)err->code;
	config->changed(config->arg);
	reflector->from = FROM_LAST;
	reflector->delay_usec = 0;
	if (!reflector->is_synced) {
		reflector->is_synced = true;
		config->synced(config->arg);
	}
	return 0;
}

/* --- watches --- */

static bool is_initial_end(const json_t *object)
{
	const json_t *notes =
		json_object_get(json_object_get(object, "metadata"), "annotations");

	return neap_json_is_text(notes, "k8s.io/initial-events-end", "true");
}

static bool take_error(struct neap_reflector *reflector, const json_t *status)
{
	const char *message = neap_json_text(status, "message");
	json_int_t code = json_integer_value(json_object_get(status, "code"));

	reflector->is_expired =
		code == 410 || neap_json_is_text(status, "reason", "Expired");
	return fail(reflector, message ? message : "the server ended the watch");
}

static bool take_bookmark(struct neap_reflector *reflector, const json_t *object)
{
	struct neap_error err = {0};
	const char *version = meta_text(object, "resourceVersion");

	if (!reflector->is_initial || !is_initial_end(object)) {
		note_version(reflector, version);
		return true;
	}
	reflector->is_initial = false;
	if (!neap_strcopy(reflector->listed, sizeof(reflector->listed), version) ||
	    reflector_end_list(reflector, &err) < 0)
		return fail(reflector, err.msg);
	/* The same stream goes on as the watch. */
	reflector->step = REFLECTOR_WATCH;
	return true;
}

/* Takes object. */
static bool take_event(struct neap_reflector *reflector, const char *type, json_t *object)
{
	const struct neap_reflector_config *config = &reflector->config;
	char version[REFLECTOR_VERSION];
	struct neap_error err = {0};
	int rc;

	(void)neap_strcopy(version, sizeof(version),
			   meta_text(object, "resourceVersion"));
	rc = strcmp(type, "DELETED") == 0 ? reflector_hide_take(reflector, object, &err)
					  : reflector_show_take(reflector, object, &err);
	if (rc < 0)
		return fail(reflector, err.msg);
	reflector->counts.events++;
	/* The first ones come in any order. */
	if (!reflector->is_initial) {
		note_version(reflector, version);
		config->changed(config->arg);
	}
	return true;
}

bool reflector_take_frame(void *arg, const char *text, size_t len)
{
	struct neap_reflector *reflector = arg;
	struct neap_error err = {0};
	json_t *frame, *object;
	const char *type;
	bool goes_on;

	if (neap_remote_parse(text, len, &frame, &err) < 0)
		return fail(reflector, err.msg);
	reflector->has_frames = true;
	reflector->counts.heard_usec = neap_clock_steady();
	type = neap_json_text(frame, "type");
	reflector->was_old &= type != NULL && strcmp(type, "ERROR") == 0;
	object = json_object_get(frame, "object");
	if (type == NULL || !json_is_object(object))
		goes_on = fail(reflector, "a frame of the watch is no event");
	else if (strcmp(type, "BOOKMARK") == 0)
		goes_on = take_bookmark(reflector, object);
	else if (strcmp(type, "ERROR") == 0)
		goes_on = take_error(reflector, object);
	else if (strcmp(type, "ADDED") == 0 || strcmp(type, "MODIFIED") == 0 ||
		 strcmp(type, "DELETED") == 0)
		goes_on = take_event(reflector, type, json_incref(object));
	else
		goes_on = fail(reflector,
			       "a frame of the watch has a type that is not known");
	json_decref(frame);
	return goes_on;
}
