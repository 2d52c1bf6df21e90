/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets of fields, as trees of JSON objects. A walk costs the nodes of the smaller tree; a
 * union costs what it adds. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/apply/apply.h"
#include "engine/base/buf.h"
#include "engine/base/text.h"
#include "engine/json/json.h"

#define SELF           "."
#define PATH_BYTES_MAX 1024

static bool is_self(const char *name)
{
	return strcmp(name, SELF) == 0;
}

static size_t count_inner(const json_t *node)
{
	return json_object_size(node) - (json_object_get(node, SELF) != NULL);
}

bool apply_set_has(const json_t *node)
{
	return json_object_size(node) == 0 || json_object_get(node, SELF);
}

static int add(json_t *to, const json_t *from, bool is_root)
{
	bool has = !is_root && (apply_set_has(to) || apply_set_has(from));
	const char *name;
	json_t *child;

	json_object_foreach ((json_t *)(uintptr_t)from, name, child) {
		json_t *own = json_object_get(to, name);
		int rc;

		if (is_self(name))
			continue;
		rc = own ? add(own, child, false)
			 : json_object_set_new_nocheck(to, name,
						       neap_json_deep_copy(child));
		if (rc < 0)
			return -1;
	}
	if (has && json_object_size(to) > 0 && !json_object_get(to, SELF))
		return json_object_set_new_nocheck(to, SELF, json_object());
	return 0;
}

int apply_set_add(json_t *to, const json_t *from)
{
	return add(to, from, true);
}

/* After a member of node was removed. False: node is empty. */
static bool settle(json_t *node, bool has)
{
	if (count_inner(node) > 0) {
		if (!has)
			(void)json_object_del(node, SELF); /* may be missing */
		return true;
	}
	(void)json_object_clear(node);
	return has;
}

static void drop(json_t *set, const json_t *gone, bool is_tree);

/* One member that both have. */
static void drop_member(json_t *set, const char *name, const json_t *gone, bool is_tree)
{
	json_t *own = is_self(name) ? NULL : json_object_get(set, name);
	bool has;

	if (!own || !gone)
		return;
	if (is_tree && json_object_size(gone) == 0) {
		(void)json_object_del(set, name);
		return;
	}
	has = apply_set_has(own) && (is_tree || !apply_set_has(gone));
	drop(own, gone, is_tree);
	if (!settle(own, has))
		(void)json_object_del(set, name);
}

static void drop(json_t *set, const json_t *gone, bool is_tree)
{
	const char *name;
	json_t *child;
	json_t *names = (json_t *)(uintptr_t)gone; /* the macro only reads it */
	void *next;

	if (json_object_size(gone) <= json_object_size(set)) {
		json_object_foreach (names, name, child) {
			drop_member(set, name, child, is_tree);
		}
		return;
	}
	json_object_foreach_safe(set, next, name, child)
	{
		drop_member(set, name, json_object_get(gone, name), is_tree);
	}
}

void apply_set_drop(json_t *set, const json_t *gone)
{
	drop(set, gone, false);
}

void apply_set_drop_trees(json_t *set, const json_t *gone)
{
	drop(set, gone, true);
}

static int meet(const json_t *a, const json_t *b, json_t *out)
{
	const char *name;
	json_t *child;

	if (json_object_size(a) > json_object_size(b))
		return meet(b, a, out);
	json_object_foreach ((json_t *)(uintptr_t)a, name, child) {
		const json_t *other = is_self(name) ? NULL : json_object_get(b, name);
		json_t *both = other ? json_object() : NULL;
		int rc = 0;

		if (!other)
			continue;
		if (!both)
			return -1;
		rc = meet(child, other, both);
		if (rc == 0 && settle(both, apply_set_has(child) && apply_set_has(other)))
			rc = json_object_set_nocheck(out, name, both);
		if (rc == 0 && json_object_size(both) > 0 && apply_set_has(child) &&
		    apply_set_has(other))
			rc = json_object_set_new_nocheck(both, SELF, json_object());
		json_decref(both);
		if (rc < 0)
			return -1;
	}
	return 0;
}

int apply_set_meet(const json_t *a, const json_t *b, json_t **ret)
{
	json_t *out = json_object();

	if (!out || meet(a, b, out) < 0) {
		json_decref(out);
		return -1;
	}
	*ret = out;
	return 0;
}

static bool is_set(const json_t *node, unsigned depth)
{
	const char *name;
	json_t *child;

	if (!json_is_object(node) || depth > 2 * APPLY_DEPTH_MAX)
		return false;
	json_object_foreach ((json_t *)(uintptr_t)node, name, child) {
		bool is_named =
			name[0] != '\0' && strchr("fkvi", name[0]) && name[1] == ':';

		if (!is_named && (!is_self(name) || json_object_size(child) > 0))
			return false;
		if (!is_set(child, depth + 1))
			return false;
	}
	return true;
}

bool apply_set_is(const json_t *set)
{
	return is_set(set, 0);
}

size_t apply_set_bytes(const json_t *set)
{
	size_t bytes = 0;
	const char *name;
	json_t *child;

	json_object_foreach ((json_t *)(uintptr_t)set, name, child)
		bytes += strlen(name) + apply_set_bytes(child);
	return bytes;
}

json_t *kube_set_of_path(const char *path)
{
	json_t *set = json_object(), *at = set;

	while (set && *path == '.') {
		size_t len = strcspn(++path, ".");
		neap_auto_free char *name = neap_asprintf("f:%.*s", (int)len, path);
		json_t *child = json_object();

		if (!name || !child || json_object_set_nocheck(at, name, child) < 0) {
			json_decref(set);
			set = NULL;
		}
		at = child;
		json_decref(child);
		path += len;
	}
	return set;
}

/* --- as paths --- */

/* Writes the JSON in a name as [name="c",port=80]. False without memory. */
static bool add_keys(const char *text, struct neap_buf *path)
{
	json_error_t where;
	json_t *keys = NULL, *value;
	bool is_first = true;
	const char *name;

	if (neap_json_parse(text, strlen(text), 0, &keys, &where) == -NEAP_ENOMEM)
		return false;
	neap_buf_addc(path, '[');
	json_object_foreach (keys, name, value) {
		char *shown = neap_json_dump(value, JSON_ENCODE_ANY | JSON_COMPACT);

		neap_buf_addf(path, "%s%s=%s", is_first ? "" : ",", name,
			      shown ? shown : "?");
		free(shown);
		is_first = false;
	}
	neap_buf_addc(path, ']');
	json_decref(keys);
	return true;
}

static bool add_step(const char *name, struct neap_buf *path)
{
	switch (name[0]) {
	case 'f':
		neap_buf_addf(path, ".%s", name + 2);
		return true;
	case 'k':
		return add_keys(name + 2, path);
	case 'v':
		neap_buf_addf(path, "[=%s]", name + 2);
		return true;
	default:
		neap_buf_addf(path, "[%s]", name + 2);
		return true;
	}
}

static int tell(const json_t *node, const char *before, apply_told *told, void *arg)
{
	size_t count = json_object_size(node), i = 0;
	const char **names = neap_alloc_array(count + 1, sizeof(*names));
	const char *name;
	json_t *child;
	int rc = 0;

	if (!names)
		return -1;
	json_object_foreach ((json_t *)(uintptr_t)node, name, child)
		names[i++] = name;
	qsort(names, count, sizeof(*names), neap_text_compare);
	for (i = 0; i < count && rc == 0; i++) {
		neap_auto_buf struct neap_buf path = {0};

		if (is_self(names[i]))
			continue;
		child = json_object_get(node, names[i]);
		/* A longer path is cut, as longer messages are. */
		neap_buf_init(&path, NEAP_BUF_LINE);
		neap_buf_addf(&path, "%.*s", PATH_BYTES_MAX, before);
		if (!add_step(names[i], &path))
			rc = -1;
		else if (apply_set_has(child))
			told(arg, path.data);
		if (rc == 0)
			rc = tell(child, path.data, told, arg);
	}
	free(names);
	return rc;
}

int apply_set_tell(const json_t *set, apply_told *told, void *arg)
{
	return tell(set, "", told, arg);
}
