/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/migrate/scaled_owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/migrate/workload_kinds.h"

#define KEY_MAX 700

/* Groups of Kubernetes itself that have a dot need not be told apart: nothing of theirs
 * controls pods. */
bool neap_migrate_is_scaled(const json_t *owner)
{
	const char *version = neap_json_text(owner, "apiVersion");
	size_t group = strcspn(version, "/");

	return version[group] && memchr(version, '.', group) &&
	       *neap_json_text(owner, "uid") && !neap_workload_is_watched(owner);
}

/* With its name, so that a pod that names another one of that uid disturbs nobody. */
static void key_of(char key[KEY_MAX], const char *ns, const char *name, const char *uid)
{
	(void)snprintf(key, KEY_MAX, "%s/%s/%s", ns, name, uid);
}

struct neap_migrate_owner *
neap_migrate_owner_of(const struct neap_migrate_cluster *cluster,
		      const struct neap_migrate_pod *pod)
{
	char key[KEY_MAX];

	if (!pod->is_scaled)
		return NULL;
	key_of(key, pod->ns, pod->owner_name, pod->owner_uid);
	return neap_map_find(cluster->scaled, key);
}

static const char *put(char **at, const char *text)
{
	char *to = *at;
	size_t len = strlen(text) + 1;

	memcpy(to, text, len);
	*at += len;
	return to;
}

static struct neap_migrate_owner *owner_new(const char *ns, const json_t *owner)
{
	const char *version = neap_json_text(owner, "apiVersion");
	const char *kind = neap_json_text(owner, "kind");
	const char *name = neap_json_text(owner, "name");
	const char *uid = neap_json_text(owner, "uid");
	struct neap_migrate_owner *ret =
		neap_alloc(sizeof(*ret) + strlen(version) + strlen(kind) + strlen(ns) +
			   strlen(name) + strlen(uid) + 5);
	char *at;

	if (!ret)
		return NULL;
	at = (char *)(ret + 1);
	ret->api_version = put(&at, version);
	ret->kind = put(&at, kind);
	ret->ns = put(&at, ns);
	ret->name = put(&at, name);
	ret->uid = put(&at, uid);
	return ret;
}

bool neap_migrate_owner_hold(struct neap_migrate_cluster *cluster, const char *ns,
			     const json_t *owner)
{
	struct neap_migrate_owner *found;
	char key[KEY_MAX];

	key_of(key, ns, neap_json_text(owner, "name"), neap_json_text(owner, "uid"));
	found = neap_map_find(cluster->scaled, key);
	if (!found) {
		found = owner_new(ns, owner);
		if (!found || !neap_map_set(cluster->scaled, key, found)) {
			free(found);
			return false;
		}
	}
	found->pods++;
	return true;
}

void neap_migrate_owner_release(struct neap_migrate_cluster *cluster,
				const struct neap_migrate_pod *pod)
{
	struct neap_migrate_owner *found = neap_migrate_owner_of(cluster, pod);
	char key[KEY_MAX];

	if (!found || --found->pods > 0)
		return;
	key_of(key, found->ns, found->name, found->uid);
	(void)neap_map_remove(cluster->scaled, key);
	free(found);
}
