/* SPDX-License-Identifier: Apache-2.0
 *
 * Replicas of controllers of declared kinds, by their scale subresource: which kinds have
 * one is asked of discovery, and the scale of an object when somebody wants to know it.
 * Answers are kept for a while; few requests are under way at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/remote/kinds.h"
#include "api/remote/remote_priv.h"
#include "engine/base/clock.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/log/log.h"

#define KIND_USEC   (300 * (int64_t)1000000)
#define OBJECT_USEC (30 * (int64_t)1000000)
#define AGAIN_USEC  (2 * (int64_t)1000000) /* after a request without a result */
#define ASK_USEC    (10 * (int64_t)1000000)
#define ASKING_MAX  16
#define KIND_PAUSE  (200 * (int64_t)1000) /* between kinds: pods may name any */
#define ENTRIES_MAX 4096                  /* of each map */
#define KEY_MAX     1200

/* A kind, or an object. */
struct entry {
	struct neap_remote *remote;
	struct neap_transfer *asking;
	int64_t asked_usec, told_usec; /* monotonic; told_usec 0: never */
	bool has_scale;
	/* of a kind */
	bool is_namespaced;
	char plural[64];
	/* of an object */
	int64_t replicas;
	char uid[NEAP_OBJECT_UID];
	char name[]; /* the kind, or what log lines call the object */
};

/* What a path may have, so that it leads nowhere else. */
static bool is_name(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789.-");

	return len > 0 && len < NEAP_OBJECT_NAME && text[len] == '\0' &&
	       strchr(".-", text[0]) == NULL && strchr(".-", text[len - 1]) == NULL &&
	       strstr(text, "..") == NULL;
}

/* --- entries --- */

static void drop(struct neap_map *map, size_t index)
{
	const char *key;
	struct entry *entry = neap_map_at(map, index, &key);

	neap_transfer_cancel(entry->asking);
	(void)neap_map_remove(map, key);
	free(entry);
}

/* Those that are asked for again anyway. */
static void drop_old(struct neap_map *map, int64_t for_usec)
{
	int64_t now = neap_clock_steady();

	for (size_t i = neap_map_count(map); i > 0; i--) {
		const struct entry *entry = neap_map_at(map, i - 1, NULL);

		if (entry->asking == NULL && now - entry->told_usec >= for_usec)
			drop(map, i - 1);
	}
}

/* NULL: there is no room. */
static struct entry *entry_get(struct neap_remote *remote, struct neap_map **map,
			       const char *key, const char *name, int64_t for_usec)
{
	struct entry *entry;

	if (*map == NULL)
		*map = neap_map_new();
	if (*map == NULL)
		return NULL;
	entry = neap_map_find(*map, key);
	if (entry != NULL)
		return entry;
	if (neap_map_count(*map) >= ENTRIES_MAX)
		drop_old(*map, for_usec);
	if (neap_map_count(*map) >= ENTRIES_MAX)
		return NULL;
	entry = neap_alloc(sizeof(*entry) + strlen(name) + 1);
	if (entry == NULL)
		return NULL;
	entry->remote = remote;
	memcpy(entry->name, name, strlen(name) + 1);
	if (neap_map_set(*map, key, entry))
		return entry;
	free(entry);
	return NULL;
}

static bool is_fresh(const struct entry *entry, int64_t for_usec)
{
	return entry->told_usec != 0 && neap_clock_steady() - entry->told_usec < for_usec;
}

static void ask(struct entry *entry, const char *path,
		void (*done)(void *arg, const struct neap_transport_answer *answer))
{
	struct neap_remote *remote = entry->remote;
	struct neap_transport_ask get = {.method = "GET",
					 .path = path,
					 .timeout_usec = ASK_USEC,
					 .is_impatient = true,
					 .done = done,
					 .arg = entry};
	int64_t now = neap_clock_steady();
	struct neap_error err;

	if (entry->asking != NULL || remote->scales.asking >= ASKING_MAX ||
	    (entry->asked_usec != 0 && now - entry->asked_usec < AGAIN_USEC))
		return;
	entry->asked_usec = now;
	if (neap_transport_ask_take(remote->config.transport, &get, &entry->asking,
				    &err) == 0)
		remote->scales.asking++;
}

/* Returns whether the server would answer the same if it were asked again. */
static bool is_final(int status)
{
	return status == 200 || (status >= 400 && status < 500 && status != 401 &&
				 status != 408 && status != 429);
}

/* Returns the body; NULL: there is no such thing, which counts as an answer, or none
 * came. */
static json_t *answer_of(struct entry *entry, const struct neap_transport_answer *answer,
			 const char *what)
{
	struct neap_remote *remote = entry->remote;
	struct neap_error err;
	json_t *json = NULL;
	char why[512];

	entry->asking = NULL;
	remote->scales.asking--;
	if (answer->status == 200 &&
	    neap_remote_parse(answer->body, answer->len, &json, &err) < 0 &&
	    err.code == NEAP_ENOMEM)
		return NULL;
	if (answer->status != 200 && answer->status != 404)
		neap_log_from(remote->config.log, what, NEAP_LOG_WARN,
			      "api server: %s of %s: %s", what, entry->name,
			      neap_remote_why(answer, why, sizeof(why)));
	if (is_final(answer->status)) {
		entry->told_usec = neap_clock_steady();
		entry->has_scale = false;
	}
	return json;
}

/* --- kinds --- */

static bool has_resource(const json_t *list, const char *plural, const char *part)
{
	char name[128];
	json_t *one;
	size_t i;

	(void)snprintf(name, sizeof(name), "%s/%s", plural, part);
	json_array_foreach (list, i, one)
		if (neap_json_is_text(one, "name", name))
			return true;
	return false;
}

static void kind_is_told(void *arg, const struct neap_transport_answer *answer)
{
	struct entry *entry = arg;
	json_t *json = answer_of(entry, answer, "discovery");
	const json_t *list = json_object_get(json, "resources");
	json_t *one;
	size_t i;

	json_array_foreach (list, i, one) {
		const char *plural = neap_json_text(one, "name");

		if (!neap_json_is_text(one, "kind", entry->name) || !is_name(plural) ||
		    strlen(plural) >= sizeof(entry->plural) ||
		    !has_resource(list, plural, "scale"))
			continue;
		(void)snprintf(entry->plural, sizeof(entry->plural), "%s", plural);
		entry->is_namespaced = json_is_true(json_object_get(one, "namespaced"));
		entry->has_scale = true;
	}
	json_decref(json);
}

/* NULL: it is not known yet. */
static const struct entry *kind_of(struct neap_remote *remote,
				   const struct neap_client_owner *owner)
{
	char key[KEY_MAX], path[KEY_MAX];
	struct entry *entry;

	(void)snprintf(key, sizeof(key), "%s/%s", owner->api_version, owner->kind);
	entry = entry_get(remote, &remote->scales.kinds, key, owner->kind, KIND_USEC);
	if (entry == NULL)
		return NULL;
	(void)snprintf(path, sizeof(path), "/apis/%s", owner->api_version);
	if (!is_fresh(entry, KIND_USEC) &&
	    neap_clock_steady() - remote->scales.kind_usec >= KIND_PAUSE) {
		remote->scales.kind_usec = neap_clock_steady();
		ask(entry, path, kind_is_told);
	}
	/* One that is asked for again is as it was meanwhile. */
	return entry->told_usec != 0 ? entry : NULL;
}

/* --- objects --- */

static void object_is_told(void *arg, const struct neap_transport_answer *answer)
{
	struct entry *entry = arg;
	json_t *json = answer_of(entry, answer, "scale");

	if (json != NULL &&
	    strcmp(neap_json_text_at(json, "metadata.uid"), entry->uid) == 0) {
		entry->replicas = json_integer_value(neap_json_at(json, "spec.replicas"));
		entry->has_scale = true;
	}
	json_decref(json);
}

static enum neap_client_scale object_scale(struct neap_remote *remote,
					   const struct entry *kind,
					   const struct neap_client_owner *owner,
					   int64_t *ret)
{
	const char *ns = kind->is_namespaced ? owner->ns : "";
	char key[KEY_MAX], path[KEY_MAX], name[KEY_MAX];
	struct entry *entry;

	(void)snprintf(name, sizeof(name), "%s %s%s%s", owner->kind, ns, *ns ? "/" : "",
		       owner->name);
	(void)snprintf(key, sizeof(key), "%s %s %s", owner->api_version, name,
		       owner->uid);
	entry = entry_get(remote, &remote->scales.objects, key, name, OBJECT_USEC);
	if (entry == NULL)
		return NEAP_CLIENT_SCALE_IS_LATE;
	(void)neap_strcopy(entry->uid, sizeof(entry->uid), owner->uid);
	if (!is_fresh(entry, OBJECT_USEC)) {
		(void)snprintf(path, sizeof(path), "/apis/%s/%s%s%s%s/%s/scale",
			       owner->api_version, *ns ? "namespaces/" : "", ns,
			       *ns ? "/" : "", kind->plural, owner->name);
		ask(entry, path, object_is_told);
		if (entry->told_usec == 0 || !entry->has_scale)
			return NEAP_CLIENT_SCALE_IS_LATE;
		*ret = entry->replicas;
		return NEAP_CLIENT_SCALE_IS_OLD;
	}
	*ret = entry->replicas;
	return entry->has_scale ? NEAP_CLIENT_HAS_SCALE : NEAP_CLIENT_NO_SCALE;
}

/* --- outside --- */

/* GROUP/VERSION. */
static bool is_version(const char *text)
{
	const char *slash = strchr(text, '/');
	char group[NEAP_OBJECT_NAME];

	if (slash == NULL || (size_t)(slash - text) >= sizeof(group))
		return false;
	(void)snprintf(group, sizeof(group), "%.*s", (int)(slash - text), text);
	return is_name(group) && is_name(slash + 1);
}

enum neap_client_scale remote_scale(struct neap_client *client,
				    const struct neap_client_owner *owner, int64_t *ret)
{
	struct neap_remote *remote = (struct neap_remote *)client;
	const struct entry *kind;

	if (!is_version(owner->api_version) || !is_name(owner->name) ||
	    !is_name(owner->ns) || strlen(owner->kind) > 63)
		return NEAP_CLIENT_NO_SCALE;
	kind = kind_of(remote, owner);
	if (kind == NULL)
		return NEAP_CLIENT_SCALE_IS_LATE;
	return kind->has_scale ? object_scale(remote, kind, owner, ret)
			       : NEAP_CLIENT_NO_SCALE;
}

void remote_scales_end(struct neap_remote *remote)
{
	struct neap_map *maps[] = {remote->scales.kinds, remote->scales.objects};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(maps); i++) {
		while (maps[i] != NULL && neap_map_count(maps[i]) > 0)
			drop(maps[i], neap_map_count(maps[i]) - 1);
		neap_map_free(maps[i]);
	}
}
