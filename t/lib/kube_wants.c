/* SPDX-License-Identifier: Apache-2.0
 *
 * What a test wants of an answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/kube_rig.h"

const json_t *kube_at(const json_t *json, const char *path)
{
	char name[128];

	while (json != NULL && *path != '\0') {
		size_t len = strcspn(path, ".");

		assert_true(len < sizeof(name));
		memcpy(name, path, len);
		name[len] = '\0';
		json = json_is_array(json) ? json_array_get(json, strtoul(name, NULL, 10))
					   : json_object_get(json, name);
		path += len + (path[len] == '.');
	}
	return json;
}

const char *kube_text(const json_t *json, const char *path)
{
	const char *text = json_string_value(kube_at(json, path));

	return text != NULL ? text : "";
}

static bool is_as(const json_t *json, char how, const char *want)
{
	char *text = NULL;
	bool is_so;

	if (json_is_string(json))
		text = neap_strdup(json_string_value(json));
	else if (json != NULL)
		text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
	if (how == '=')
		is_so = text != NULL && strcmp(text, want) == 0;
	else
		is_so = text != NULL && strstr(text, want) != NULL;
	free(text);
	return is_so;
}

const char *kube_differs(const json_t *json, const char *want)
{
	static char why[4096];
	bool is_absent = *want == '!', is_count = *want == '#';
	const char *path = want + (is_absent || is_count);
	size_t len = strcspn(path, "=~");
	const json_t *found;
	char at[256], number[32], *text;

	(void)snprintf(at, sizeof(at), "%.*s", (int)len, path);
	found = kube_at(json, at);
	(void)snprintf(number, sizeof(number), "%zu", json_array_size(found));
	if (strncmp(path + len, "=@", 2) == 0) {
		(void)snprintf(number, sizeof(number), "%lld",
			       (long long)kube_version +
				       strtol(path + len + 2, NULL, 10));
		if (is_as(found, '=', number))
			return NULL;
	}
	if (is_absent && found == NULL)
		return NULL;
	if (is_count && path[len] == '=' && strcmp(number, path + len + 1) == 0)
		return NULL;
	if (!is_absent && !is_count && found != NULL &&
	    (path[len] == '\0' || is_as(found, path[len], path + len + 1)))
		return NULL;
	text = json ? json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	(void)snprintf(why, sizeof(why), "wanted %s in %.3500s", want,
		       text ? text : "nothing");
	free(text);
	return why;
}
