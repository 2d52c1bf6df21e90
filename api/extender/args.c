/* SPDX-License-Identifier: Apache-2.0 */
#include "api/extender/args.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

struct reading {
	struct neap_json_scan scan;
	const struct neap_extender_list *likely;
	struct neap_extender_args *args;
	bool has_pod, has_names, has_whole;
	bool is_short;    /* of memory */
	const char *what; /* the member being read, for messages */
};

static bool fail(struct reading *reading, const char *wrong)
{
	return neap_json_scan_fail(&reading->scan, wrong);
}

/* A string that names something; null is none. Twice is once too often. */
static bool read_name(struct reading *reading, char *buf, size_t size)
{
	struct neap_text text;

	if (neap_json_scan_peek(&reading->scan) == 'n')
		return neap_json_scan_value(&reading->scan, NULL);
	if (*buf)
		return fail(reading, "a member is there twice");
	if (!neap_json_scan_string(&reading->scan, &text))
		return false;
	return neap_text_name(&text, buf, size) || (!text.len && !*buf) ||
	       fail(reading, "no name of an object, and no uid");
}

static bool read_text(struct reading *reading, struct neap_text *ret)
{
	if (ret->at)
		return fail(reading, "a member is there twice");
	return neap_json_scan_string(&reading->scan, ret);
}

/* --- objects: their metadata --- */

struct meta {
	char *ns, *name,
		*uid; /* buffers of their sizes in neap_extender_args; NULL: skipped */
	struct neap_text *name_text, *uid_text;
};

static bool read_meta(struct reading *reading, const struct meta *meta)
{
	struct neap_json_scan *scan = &reading->scan;
	struct neap_text key;
	size_t count = 0;

	if (!neap_json_scan_open(scan, '{', "metadata: an object is expected"))
		return !scan->wrong;
	while (neap_json_scan_more(scan, '}', &count)) {
		bool is_read;

		if (!neap_json_scan_key(scan, &key))
			return false;
		if (meta->name && neap_text_is_key(&key, "name"))
			is_read = read_name(reading, meta->name, NEAP_OBJECT_NAME);
		else if (meta->ns && neap_text_is_key(&key, "namespace"))
			is_read = read_name(reading, meta->ns, NEAP_OBJECT_NAMESPACE);
		else if (meta->uid && neap_text_is_key(&key, "uid"))
			is_read = read_name(reading, meta->uid, NEAP_OBJECT_UID);
		else if (meta->name_text && neap_text_is_key(&key, "name"))
			is_read = read_text(reading, meta->name_text);
		else if (meta->uid_text && neap_text_is_key(&key, "uid"))
			is_read = read_text(reading, meta->uid_text);
		else
			is_read = neap_json_scan_value(scan, NULL);
		if (!is_read)
			return false;
	}
	return !scan->wrong;
}

/* An object; false also for null. */
static bool read_object(struct reading *reading, const struct meta *meta)
{
	struct neap_json_scan *scan = &reading->scan;
	struct neap_text key;
	size_t count = 0;

	if (!neap_json_scan_open(scan, '{', "an object is expected"))
		return false;
	while (neap_json_scan_more(scan, '}', &count))
		if (!neap_json_scan_key(scan, &key) ||
		    !(neap_text_is_key(&key, "metadata")
			      ? read_meta(reading, meta)
			      : neap_json_scan_value(scan, NULL)))
			return false;
	return !scan->wrong;
}

static bool read_pod(struct reading *reading)
{
	struct neap_extender_args *args = reading->args;
	const struct meta meta = {args->ns, args->name, args->uid, NULL, NULL};

	if (reading->has_pod)
		return fail(reading, "Pod is there twice");
	reading->has_pod = true;
	(void)read_object(reading, &meta);
	return !reading->scan.wrong;
}

/* --- nodes --- */

static bool is_short(struct reading *reading)
{
	reading->is_short = true;
	return fail(reading, "no memory");
}

static const char too_many[] = "more than 65536 nodes";

/* Room for more names, and for what comes with them. */
static bool grow(struct reading *reading, bool has_more_than_names)
{
	struct neap_extender_args *args = reading->args;
	/* A name takes about 15 bytes: this is usually enough. */
	size_t left = (size_t)(reading->scan.end - reading->scan.at);
	size_t size = args->count < args->size ? args->size
		      : args->size             ? args->size * 2
					       : 64 + left / 12;
	struct neap_extender_node *nodes;
	struct neap_text *names;

	if (args->count > NEAP_EXTENDER_NODES_MAX)
		return fail(reading, too_many);
	/* Room for one too many, to distinguish a full list from one that goes on. */
	size = size <= NEAP_EXTENDER_NODES_MAX ? size : NEAP_EXTENDER_NODES_MAX + 1;
	names = neap_realloc_array(args->names, size, sizeof(*names));
	if (!names)
		return is_short(reading);
	args->names = names;
	args->size = size;
	if (!has_more_than_names)
		return true;
	nodes = neap_realloc_array(args->nodes, size, sizeof(*nodes));
	if (!nodes)
		return is_short(reading);
	args->nodes = nodes;
	return true;
}

/* A node of which there is more than the name, which is to be set. */
static struct neap_extender_node *add_node(struct reading *reading)
{
	struct neap_extender_args *args = reading->args;

	if (args->count == NEAP_EXTENDER_NODES_MAX) {
		(void)fail(reading, too_many);
		return NULL;
	}
	if ((args->count == args->size || !args->nodes) && !grow(reading, true))
		return NULL;
	args->names[args->count] = (struct neap_text){0};
	args->nodes[args->count] = (struct neap_extender_node){0};
	return &args->nodes[args->count++];
}

/* The list is open. False: they are others. */
static bool take_likely(struct reading *reading)
{
	const struct neap_extender_list *likely = reading->likely;
	struct neap_extender_args *args = reading->args;
	struct neap_json_scan *scan = &reading->scan;

	if (!likely || !likely->count || args->count ||
	    (size_t)(scan->end - scan->at) <= likely->len ||
	    memcmp(scan->at, likely->text, likely->len) != 0 ||
	    scan->at[likely->len] != ']')
		return false;
	if (args->size < likely->count) {
		args->size = likely->count;
		if (!grow(reading, false))
			return true;
	}
	for (size_t i = 0; i < likely->count; i++)
		args->names[i] = (struct neap_text){
			scan->at + (likely->names[i].at - likely->text),
			likely->names[i].len};
	args->count = likely->count;
	args->is_likely = true;
	scan->at += likely->len + 1;
	return true;
}

static bool read_names(struct reading *reading)
{
	struct neap_extender_args *args = reading->args;
	struct neap_json_scan *scan = &reading->scan;
	size_t count = 0;

	if (!neap_json_scan_open(scan, '[', "NodeNames: a list is expected"))
		return !scan->wrong;
	if (reading->has_names)
		return fail(reading, "NodeNames is there twice");
	reading->has_names = true;
	if (take_likely(reading))
		return !scan->wrong;
	do {
		if (args->count == args->size && !grow(reading, false))
			return false;
		args->count +=
			neap_json_scan_strings(scan, &count, &args->names[args->count],
					       args->size - args->count);
	} while (args->count == args->size);
	return !scan->wrong;
}

static bool read_items(struct reading *reading)
{
	struct neap_json_scan *scan = &reading->scan;
	size_t count = 0;

	if (!neap_json_scan_open(scan, '[', "Nodes.items: a list is expected"))
		return !scan->wrong;
	if (reading->args->count)
		return fail(reading, "there are two lists of nodes");
	while (neap_json_scan_more(scan, ']', &count)) {
		struct neap_extender_node *node = add_node(reading);
		struct meta meta = {0};

		if (!node)
			return false;
		meta.name_text = &reading->args->names[reading->args->count - 1];
		(void)neap_json_scan_peek(scan);
		node->whole.at = scan->at;
		if (!read_object(reading, &meta))
			return fail(reading, "Nodes.items: an object is expected");
		node->whole.len = (size_t)(scan->at - node->whole.at);
		if (!meta.name_text->at)
			return fail(reading, "a node without metadata.name");
	}
	return !scan->wrong;
}

static bool read_whole(struct reading *reading)
{
	struct neap_json_scan *scan = &reading->scan;
	struct neap_text key;
	size_t count = 0;

	if (!neap_json_scan_open(scan, '{', "Nodes: an object is expected"))
		return !scan->wrong;
	if (reading->has_whole)
		return fail(reading, "Nodes is there twice");
	reading->has_whole = true;
	while (neap_json_scan_more(scan, '}', &count))
		if (!neap_json_scan_key(scan, &key) ||
		    !(neap_text_is_key(&key, "items") ? read_items(reading)
						      : neap_json_scan_value(scan, NULL)))
			return false;
	return !scan->wrong;
}

/* --- victims --- */

static bool add_victim(struct reading *reading, const struct neap_text *uid)
{
	struct neap_extender_args *args = reading->args;

	if (!neap_grow(&args->victims, args->victim_count, &args->victim_size,
		       sizeof(*args->victims)))
		return is_short(reading);
	args->victims[args->victim_count++] = *uid;
	args->nodes[args->count - 1].victim_count++;
	return true;
}

/* {"UID": ...}, or a whole Pod. */
static bool read_victim(struct reading *reading, bool is_whole)
{
	struct neap_json_scan *scan = &reading->scan;
	struct neap_text uid = {0}, key;
	const struct meta meta = {.uid_text = &uid};
	size_t count = 0;

	if (is_whole) {
		if (!read_object(reading, &meta))
			return fail(reading, "a victim: an object is expected");
	} else {
		if (!neap_json_scan_open(scan, '{', "a victim: an object is expected"))
			return fail(reading, "a victim: an object is expected");
		while (neap_json_scan_more(scan, '}', &count))
			if (!neap_json_scan_key(scan, &key) ||
			    !(neap_text_is_key(&key, "uid")
				      ? read_text(reading, &uid)
				      : neap_json_scan_value(scan, NULL)))
				return false;
	}
	if (scan->wrong)
		return false;
	return uid.at ? add_victim(reading, &uid) : fail(reading, "a victim without uid");
}

static bool read_victim_list(struct reading *reading, bool is_whole)
{
	struct neap_json_scan *scan = &reading->scan;
	size_t count = 0;

	if (!neap_json_scan_open(scan, '[', "Pods: a list is expected"))
		return !scan->wrong;
	if (reading->args->nodes[reading->args->count - 1].victim_count)
		return fail(reading, "Pods is there twice");
	while (neap_json_scan_more(scan, ']', &count))
		if (!read_victim(reading, is_whole))
			return false;
	return !scan->wrong;
}

static bool read_victims_of(struct reading *reading, bool is_whole)
{
	struct neap_json_scan *scan = &reading->scan;
	struct neap_extender_node *node;
	struct neap_text key, name;
	size_t count = 0;

	if (!neap_json_scan_key(scan, &name))
		return false;
	node = add_node(reading);
	if (!node)
		return false;
	reading->args->names[reading->args->count - 1] = name;
	node->victims = reading->args->victim_count;
	if (!neap_json_scan_open(scan, '{', "victims: an object is expected"))
		return !scan->wrong;
	while (neap_json_scan_more(scan, '}', &count)) {
		bool is_read;

		if (!neap_json_scan_key(scan, &key))
			return false;
		if (neap_text_is_key(&key, "pods")) {
			is_read = read_victim_list(reading, is_whole);
		} else if (neap_text_is_key(&key, "numpdbviolations")) {
			int next = neap_json_scan_peek(scan);

			is_read =
				neap_json_scan_value(scan, &node->violations) &&
				(next == '-' || (next >= '0' && next <= '9') ||
				 fail(reading, "NumPDBViolations: a number is expected"));
		} else {
			is_read = neap_json_scan_value(scan, NULL);
		}
		if (!is_read)
			return false;
	}
	return !scan->wrong;
}

static bool read_victim_map(struct reading *reading, bool is_whole, bool *has)
{
	struct neap_json_scan *scan = &reading->scan;
	size_t count = 0;

	if (!neap_json_scan_open(scan, '{', "victims: an object is expected"))
		return !scan->wrong;
	if (*has)
		return fail(reading, "the map of victims is there twice");
	*has = true;
	while (neap_json_scan_more(scan, '}', &count))
		if (!read_victims_of(reading, is_whole))
			return false;
	return !scan->wrong;
}

/* --- requests --- */

static int finish(struct reading *reading, struct neap_error *err)
{
	struct neap_extender_args *args = reading->args;
	int failed = 0;

	if (reading->is_short)
		failed = neap_error_nomem(err);
	else if (reading->scan.wrong || !neap_json_scan_is_end(&reading->scan))
		failed = neap_json_scan_error(&reading->scan, err);
	else if (!*args->name || !*args->uid || !*args->ns)
		failed = neap_error_set(err, NEAP_EINVAL,
					"a pod with namespace, name and uid is expected");
	else if (reading->has_names && reading->has_whole)
		failed = neap_error_set(err, NEAP_EINVAL,
					"the nodes are there by name and whole: one or "
					"the other");
	args->is_whole = reading->has_whole;
	if (failed < 0)
		neap_extender_args_done(args);
	return failed;
}

typedef bool read_member(struct reading *reading, const struct neap_text *key);

static void read_request(struct reading *reading, const char *body, size_t len,
			 struct neap_extender_args *args, read_member *read)
{
	struct neap_text key;
	size_t count = 0;

	*args = (struct neap_extender_args){.names = args->names, .size = args->size};
	*reading = (struct reading){.args = args, .likely = reading->likely};
	neap_json_scan_init(&reading->scan, body, len);
	if (!neap_json_scan_open(&reading->scan, '{', "a JSON object is expected"))
		(void)fail(reading, "a JSON object is expected");
	while (neap_json_scan_more(&reading->scan, '}', &count))
		if (!neap_json_scan_key(&reading->scan, &key) || !read(reading, &key))
			break;
}

static bool read_nodes_member(struct reading *reading, const struct neap_text *key)
{
	if (neap_text_is_key(key, "pod"))
		return read_pod(reading);
	if (neap_text_is_key(key, "nodenames"))
		return read_names(reading);
	if (neap_text_is_key(key, "nodes"))
		return read_whole(reading);
	return neap_json_scan_value(&reading->scan, NULL);
}

int neap_extender_read_nodes(const char *body, size_t len,
			     const struct neap_extender_list *likely,
			     struct neap_extender_args *ret, struct neap_error *err)
{
	struct reading reading = {.likely = likely};
	int failed;

	read_request(&reading, body, len, ret, read_nodes_member);
	failed = finish(&reading, err);
	if (failed < 0 || reading.has_names || reading.has_whole)
		return failed;
	return neap_error_set(err, NEAP_EINVAL, "neither NodeNames nor Nodes is there");
}

static bool read_victims_member(struct reading *reading, const struct neap_text *key)
{
	if (neap_text_is_key(key, "pod"))
		return read_pod(reading);
	if (neap_text_is_key(key, "nodenametometavictims"))
		return read_victim_map(reading, false, &reading->has_names);
	if (neap_text_is_key(key, "nodenametovictims"))
		return read_victim_map(reading, true, &reading->has_whole);
	return neap_json_scan_value(&reading->scan, NULL);
}

int neap_extender_read_victims(const char *body, size_t len,
			       struct neap_extender_args *ret, struct neap_error *err)
{
	struct reading reading = {0};

	ret->names = NULL;
	ret->size = 0;
	read_request(&reading, body, len, ret, read_victims_member);
	return finish(&reading, err);
}

struct binding {
	struct reading reading; /* first, as the members get it */
	char *node;
};

static bool read_binding_member(struct reading *reading, const struct neap_text *key)
{
	struct neap_extender_args *args = reading->args;

	if (neap_text_is_key(key, "podname"))
		return read_name(reading, args->name, sizeof(args->name));
	if (neap_text_is_key(key, "podnamespace"))
		return read_name(reading, args->ns, sizeof(args->ns));
	if (neap_text_is_key(key, "poduid"))
		return read_name(reading, args->uid, sizeof(args->uid));
	if (neap_text_is_key(key, "node"))
		return read_name(reading, ((struct binding *)reading)->node,
				 NEAP_OBJECT_NAME);
	return neap_json_scan_value(&reading->scan, NULL);
}

int neap_extender_read_binding(const char *body, size_t len,
			       struct neap_extender_args *ret, char *node,
			       struct neap_error *err)
{
	struct binding binding = {.node = node};
	int failed;

	*node = '\0';
	ret->names = NULL;
	ret->size = 0;
	read_request(&binding.reading, body, len, ret, read_binding_member);
	failed = finish(&binding.reading, err);
	if (failed == 0 && !*node)
		return neap_error_set(err, NEAP_EINVAL, "Node is missing");
	return failed;
}

void neap_extender_args_clear(struct neap_extender_args *args)
{
	struct neap_extender_args kept = {.names = args->names, .size = args->size};

	if (args->size > NEAP_EXTENDER_NODES_KEPT) {
		neap_extender_args_done(args);
		return;
	}
	free(args->nodes);
	free(args->victims);
	*args = kept;
}

void neap_extender_args_done(struct neap_extender_args *args)
{
	free(args->names);
	free(args->nodes);
	free(args->victims);
	args->names = NULL;
	args->nodes = NULL;
	args->victims = NULL;
	args->count = args->victim_count = 0;
	args->size = args->victim_size = 0;
}
