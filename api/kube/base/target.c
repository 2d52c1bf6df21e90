/* SPDX-License-Identifier: Apache-2.0 */
#include "api/kube/base/target.h"

#include <string.h>

#define SEGMENTS_MAX 8

struct segment {
	const char *at;
	size_t len;
};

static int not_served(struct neap_error *err)
{
	return neap_error_set(err, NEAP_ENOTFOUND,
			      "the server could not find the requested resource");
}

static bool take(const struct segment *segment, char *to, size_t size)
{
	if (segment->len >= size)
		return false;
	memcpy(to, segment->at, segment->len);
	to[segment->len] = '\0';
	return true;
}

/* A trailing slash is ignored. -1: too many segments, or an empty one. */
static int split(const char *path, struct segment *segments)
{
	int count = 0;

	while (*path) {
		size_t len = strcspn(path, "/");

		if (!len || count == SEGMENTS_MAX)
			return -1;
		segments[count++] = (struct segment){path, len};
		path += len + (path[len] == '/');
	}
	return count;
}

static bool is_word(const struct segment *segment, const char *word)
{
	return segment->len == strlen(word) &&
	       memcmp(segment->at, word, segment->len) == 0;
}

/* Subresources of a namespace; any other segment after its name is a kind within it. */
static bool is_of_namespace(const struct segment *segment)
{
	return is_word(segment, "status") || is_word(segment, "finalize");
}

int neap_kube_target_parse(const struct neap_kube_registry *registry, bool is_core,
			   const char *path, struct neap_kube_target *ret,
			   struct neap_error *err)
{
	struct segment segments[SEGMENTS_MAX];
	const struct segment *at = segments;
	int count = split(path, segments);
	bool is_in_namespace;

	memset(ret, 0, sizeof(*ret));
	if (count < 1)
		return not_served(err);
	if (!is_core && !take(at++, ret->group, sizeof(ret->group)))
		return not_served(err);
	count -= !is_core;
	if (!count)
		return 0;
	if (!take(at++, ret->version, sizeof(ret->version)))
		return not_served(err);
	count--;
	if (!count)
		return 0;
	if (count > 1 && is_word(at, "watch")) {
		ret->is_watch = true;
		at++;
		count--;
	}
	is_in_namespace = count >= 3 && is_word(at, "namespaces") &&
			  !(is_core && count == 3 && is_of_namespace(at + 2));
	if (is_in_namespace) {
		if (!take(at + 1, ret->ns, sizeof(ret->ns)))
			return not_served(err);
		at += 2;
		count -= 2;
	}
	if (count > 3 || !take(at, ret->plural, sizeof(ret->plural)) ||
	    (count > 1 && !take(at + 1, ret->name, sizeof(ret->name))) ||
	    (count > 2 && !take(at + 2, ret->sub, sizeof(ret->sub))))
		return not_served(err);
	if (ret->is_watch && ret->sub[0])
		return not_served(err);
	ret->kind =
		neap_kube_registry_find(registry, ret->group, ret->version, ret->plural);
	if (!ret->kind || (is_in_namespace && !ret->kind->is_namespaced))
		return not_served(err);
	/* Without a namespace, the name of a namespaced object is ambiguous. */
	if (ret->name[0] && ret->kind->is_namespaced && !is_in_namespace)
		return not_served(err);
	return 0;
}
