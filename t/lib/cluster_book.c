/* SPDX-License-Identifier: Apache-2.0
 *
 * The books: what there is, and whether it is too much. */
#include "t/lib/cluster_book.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "t/lib/cluster_book_priv.h"

/* --- the books --- */

bool book_wrong(struct book *book, const char *fmt, ...)
{
	va_list args;

	if (*book->trouble)
		return false;
	va_start(args, fmt);
	(void)vsnprintf(book->trouble, sizeof(book->trouble), fmt, args);
	va_end(args);
	return false;
}

int book_name(struct book *book, const char *name)
{
	int i = 0;

	while (i < book->name_count && strcmp(book->names[i], name) != 0)
		i++;
	if (i == book->name_count) {
		assert_true(i < BOOK_NAMES);
		(void)neap_strcopy(book->names[i], sizeof(book->names[i]), name);
		book->name_count++;
	}
	return i;
}

struct book *book_new(int max_refs)
{
	struct book *book = neap_alloc(sizeof(*book));

	assert_non_null(book);
	book->max_refs = max_refs;
	book->nodes = neap_map_new();
	book->pods = neap_map_new();
	book->blind = neap_map_new();
	book->kept = neap_map_new();
	assert_non_null(book->kept);
	assert_non_null(book->blind);
	assert_non_null(book->nodes);
	assert_non_null(book->pods);
	assert_int_equal(book_name(book, "cpu"), BOOK_CPU);
	assert_int_equal(book_name(book, "pods"), BOOK_PLACES);
	return book;
}

static void free_pod(struct book_pod *pod)
{
	json_decref(pod->labels);
	json_decref(pod->tolerations);
	json_decref(pod->selector);
	json_decref(pod->spreads);
	json_decref(pod->affinity);
	free(pod->message);
	free(pod->cpus);
	free(pod);
}

void book_free(struct book *book)
{
	book_free_kept(book);
	for (size_t i = 0; i < neap_map_count(book->pods); i++)
		free_pod(neap_map_at(book->pods, i, NULL));
	for (size_t i = 0; i < neap_map_count(book->nodes); i++) {
		struct book_node *node = neap_map_at(book->nodes, i, NULL);

		json_decref(node->labels);
		json_decref(node->taints);
		free(node->topology);
		free(node);
	}
	neap_map_free(book->pods);
	neap_map_free(book->nodes);
	neap_map_free(book->blind);
	free(book->dirty);
	free(book);
}

void book_mark(struct book *book, struct book_node *node)
{
	if (node->is_dirty)
		return;
	node->is_dirty = true;
	if (book->dirty_count == book->dirty_size) {
		book->dirty_size = book->dirty_size ? book->dirty_size * 2 : 64;
		book->dirty = neap_realloc_array(book->dirty, book->dirty_size,
						 sizeof(struct book_node *));
		assert_non_null(book->dirty);
	}
	book->dirty[book->dirty_count++] = node;
}

struct book_node *book_node(struct book *book, const char *name)
{
	struct book_node *node = neap_map_find(book->nodes, name);

	if (node)
		return node;
	node = neap_alloc(sizeof(*node));
	assert_non_null(node);
	assert_true(neap_strcopy(node->name, sizeof(node->name), name));
	assert_true(neap_map_set(book->nodes, name, node));
	return node;
}

static void keep(json_t **place, json_t *value)
{
	json_decref(*place);
	*place = json_incref(value);
}

static void read_amounts(struct book *book, const json_t *list, int64_t ret[BOOK_NAMES])
{
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)list, name, value) {
		ret[book_name(book, name)] += book_amount(name, value);
	}
}

void book_set_node(struct book *book, const json_t *object)
{
	struct book_node *node = book_node(book, book_text(object, "metadata.name"));
	const json_t *room;

	node->is_there = true;
	node->is_cordoned = json_is_true(book_at(object, "spec.unschedulable"));
	keep(&node->labels, book_at(object, "metadata.labels"));
	keep(&node->taints, book_at(object, "spec.taints"));
	memset(node->room, 0, sizeof(node->room));
	room = book_at(object, "status.allocatable");
	read_amounts(book, room, node->room);
	node->has_told = room != NULL;
	book_mark(book, node);
}

void book_drop_node(struct book *book, const char *name)
{
	book_node(book, name)->is_there = false;
}

void book_set_topology(struct book *book, const json_t *object)
{
	struct book_node *node = book_node(book, book_text(object, "metadata.name"));

	free(node->topology);
	node->topology = neap_alloc(sizeof(*node->topology));
	assert_non_null(node->topology);
	book_read_topology(book, node->topology, object);
	book_mark(book, node);
}

void book_drop_topology(struct book *book, const char *name)
{
	struct book_node *node = book_node(book, name);

	free(node->topology);
	node->topology = NULL;
}

/* --- pods --- */

static void read_needs(struct book *book, struct book_pod *pod, const json_t *spec)
{
	const json_t *list = json_object_get(spec, "containers");
	int64_t first[BOOK_NAMES] = {0};
	int64_t together[BOOK_NAMES] = {0};

	for (size_t i = 0; i < json_array_size(list); i++)
		read_amounts(book, book_at(json_array_get(list, i), "resources.requests"),
			     together);
	/* What goes before the containers goes alone. */
	list = json_object_get(spec, "initContainers");
	for (size_t i = 0; i < json_array_size(list); i++) {
		memset(first, 0, sizeof(first));
		read_amounts(book, book_at(json_array_get(list, i), "resources.requests"),
			     first);
		for (int n = 0; n < BOOK_NAMES; n++)
			together[n] = first[n] > together[n] ? first[n] : together[n];
	}
	read_amounts(book, json_object_get(spec, "overhead"), together);
	memcpy(pod->needs, together, sizeof(pod->needs));
	pod->needs[BOOK_PLACES] = 1;
}

static void read_ports(struct book_pod *pod, const json_t *spec)
{
	const json_t *containers = json_object_get(spec, "containers");

	for (size_t i = 0; i < json_array_size(containers); i++) {
		const json_t *ports =
			json_object_get(json_array_get(containers, i), "ports");

		for (size_t n = 0; n < json_array_size(ports); n++) {
			const json_t *port =
				json_object_get(json_array_get(ports, n), "hostPort");

			if (json_integer_value(port) <= 0)
				continue;
			assert_true(pod->port_count < BOOK_PORTS);
			pod->ports[pod->port_count++] = (int)json_integer_value(port);
		}
	}
}

static void read_conditions(struct book_pod *pod, const json_t *object)
{
	const json_t *list = book_at(object, "status.conditions");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *condition = json_array_get(list, i);

		if (strcmp(book_text(condition, "type"), "PodScheduled") == 0 &&
		    strcmp(book_text(condition, "status"), "False") == 0)
			pod->message = neap_strdup(book_text(condition, "message"));
	}
}

static struct book_pod *read_pod(struct book *book, const json_t *object)
{
	const json_t *spec = json_object_get(object, "spec");
	const char *phase = book_text(object, "status.phase");
	struct book_pod *pod = neap_alloc(sizeof(*pod));

	assert_non_null(pod);
	(void)neap_strcopy(pod->ns, sizeof(pod->ns),
			   book_text(object, "metadata.namespace"));
	(void)neap_strcopy(pod->name, sizeof(pod->name),
			   book_text(object, "metadata.name"));
	(void)neap_strcopy(pod->uid, sizeof(pod->uid), book_text(object, "metadata.uid"));
	(void)neap_strcopy(pod->node, sizeof(pod->node), book_text(spec, "nodeName"));
	(void)neap_strcopy(pod->nominated, sizeof(pod->nominated),
			   book_text(object, "status.nominatedNodeName"));
	pod->is_finished =
		strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
	pod->is_deleting = book_at(object, "metadata.deletionTimestamp") != NULL;
	pod->is_gated = json_array_size(json_object_get(spec, "schedulingGates")) > 0;
	pod->priority = (int)json_integer_value(json_object_get(spec, "priority"));
	keep(&pod->labels, book_at(object, "metadata.labels"));
	keep(&pod->tolerations, json_object_get(spec, "tolerations"));
	keep(&pod->selector, json_object_get(spec, "nodeSelector"));
	keep(&pod->spreads, json_object_get(spec, "topologySpreadConstraints"));
	keep(&pod->affinity, json_object_get(spec, "affinity"));
	read_needs(book, pod, spec);
	read_ports(pod, spec);
	read_conditions(pod, object);
	book_read_cpus(book, pod, object);
	book_read_use(pod, object);
	return pod;
}

static void key_of(const char *ns, const char *name, char *key, size_t size)
{
	(void)snprintf(key, size, "%s/%s", ns, name);
}

static void take_off(struct book *book, struct book_pod *pod)
{
	struct book_node *node;

	if (!*pod->node)
		return;
	node = book_node(book, pod->node);
	*(pod->prev ? &pod->prev->next : &node->pods) = pod->next;
	if (pod->next)
		pod->next->prev = pod->prev;
	book->bound--;
	book_mark(book, node);
}

static void put_on(struct book *book, struct book_pod *pod)
{
	struct book_node *node;

	if (!*pod->node)
		return;
	node = book_node(book, pod->node);
	pod->next = node->pods;
	if (pod->next)
		pod->next->prev = pod;
	node->pods = pod;
	book->bound++;
	book_mark(book, node);
}

/* What must never be, whatever is on the nodes. */
static void compare(struct book *book, const struct book_pod *before,
		    const struct book_pod *pod)
{
	if (!before || strcmp(before->uid, pod->uid) != 0 || !*before->node)
		return;
	if (strcmp(before->node, pod->node) != 0)
		(void)book_wrong(book, "pod %s was on %s, and is on '%s'", pod->name,
				 before->node, pod->node);
	if (before->cpu_count != pod->cpu_count ||
	    (pod->cpu_count && memcmp(before->cpus, pod->cpus,
				      (size_t)pod->cpu_count * sizeof(*pod->cpus)) != 0))
		(void)book_wrong(book, "pod %s on %s has other CPUs than before",
				 pod->name, pod->node);
}

void book_set_pod(struct book *book, const json_t *object)
{
	struct book_pod *pod = read_pod(book, object), *before;
	char key[320];
	bool is_bound;

	key_of(pod->ns, pod->name, key, sizeof(key));
	before = neap_map_find(book->pods, key);
	compare(book, before, pod);
	if (before && strcmp(before->uid, pod->uid) == 0) {
		pod->is_blind = before->is_blind;
		pod->is_fresh = before->is_fresh;
		pod->is_taken = before->is_taken ||
				(*before->node && strcmp(before->uses, pod->uses) != 0);
		pod->was_ready |= before->was_ready;
	}
	pod->is_blind |= neap_map_find(book->blind, key) != NULL;
	/* Somebody wrote without looking, maybe before it had its node. */
	if (pod->is_blind && *pod->node && before && strcmp(before->uses, pod->uses) != 0)
		book_excuse(book, pod->node);
	is_bound = *pod->node && (!before || !*before->node);
	if (is_bound) {
		pod->is_fresh = true;
		book->bindings++;
		book->cpu_bindings += pod->cpu_count > 0;
		book->uses += *pod->uses != '\0';
		book->room_uses += book_uses_room(book, pod);
	}
	book->moves +=
		is_bound || strcmp(before ? before->nominated : "", pod->nominated) != 0;
	if (before)
		take_off(book, before);
	put_on(book, pod);
	assert_true(neap_map_set(book->pods, key, pod));
	book_set_room(book, pod, key, object);
	if (before)
		free_pod(before);
	if (is_bound && book->watches_spread)
		book_check_spread(book, pod);
}

void book_drop_pod(struct book *book, const char *ns, const char *name)
{
	struct book_pod *pod;
	char key[320];

	key_of(ns, name, key, sizeof(key));
	pod = neap_map_remove(book->pods, key);
	if (!pod)
		return;
	book_drop_room(book, key);
	take_off(book, pod);
	free_pod(pod);
	book->moves++;
}

/* --- counting --- */

void book_sum(const struct book_node *node, int64_t used[BOOK_NAMES])
{
	memset(used, 0, sizeof(*used) * BOOK_NAMES);
	for (const struct book_pod *pod = node->pods; pod; pod = pod->next)
		for (int i = 0; !pod->is_finished && i < BOOK_NAMES; i++)
			used[i] += pod->is_room && i != BOOK_PLACES ? 0 : pod->needs[i];
}

bool book_ports_collide(const struct book_pod *a, const struct book_pod *b)
{
	for (int i = 0; i < a->port_count; i++)
		for (int n = 0; n < b->port_count; n++)
			if (a->ports[i] == b->ports[n])
				return true;
	return false;
}

static bool check_away(struct book *book, const struct book_node *node)
{
	for (const struct book_pod *a = node->pods; a; a = a->next)
		for (const struct book_pod *b = node->pods; a->affinity && b; b = b->next)
			if (a != b && !a->is_finished && !b->is_finished &&
			    book_is_away_from(a, b) && book_blames(node, a, b))
				return book_wrong(book,
						  "node %s: %s is not to be beside %s",
						  node->name, a->name, b->name);
	return true;
}

/* A node that was too full at the rest is blamed for what came since. */
bool book_blames(const struct book_node *node, const struct book_pod *a,
		 const struct book_pod *b)
{
	return !node->is_stained || a->is_fresh || b->is_fresh;
}

static bool is_short(const struct book *book, const struct book_node *node, int name)
{
	int64_t used[BOOK_NAMES];

	book_sum(node, used);
	book_add_rooms(book, node, used);
	if (used[name] <= node->room[name])
		return false;
	for (const struct book_pod *pod = node->pods; pod; pod = pod->next)
		if (pod->needs[name] && book_blames(node, pod, pod))
			return true;
	return false;
}

static bool check_room(struct book *book, const struct book_node *node)
{
	int64_t used[BOOK_NAMES];

	book_sum(node, used);
	book_add_rooms(book, node, used);
	for (int i = 0; i < book->name_count; i++)
		if (is_short(book, node, i))
			return book_wrong(book, "node %s: %lld of %lld %s", node->name,
					  (long long)used[i], (long long)node->room[i],
					  book->names[i]);
	return true;
}

static bool check_ports(struct book *book, const struct book_node *node)
{
	for (const struct book_pod *a = node->pods; a; a = a->next)
		for (const struct book_pod *b = a->next; a->port_count && b; b = b->next)
			if (!a->is_finished && !b->is_finished &&
			    book_ports_collide(a, b) && book_blames(node, a, b))
				return book_wrong(book, "node %s: %s and %s, one port",
						  node->name, a->name, b->name);
	return true;
}

static bool is_well(struct book *book, const struct book_node *node)
{
	return check_room(book, node) && check_ports(book, node) &&
	       check_away(book, node) && book_check_cpus(book, node) &&
	       book_check_kept(book, node);
}

static bool may_be_wrong(const struct book *book, const struct book_node *node)
{
	size_t fresh = book_fresh_kept(book, node);

	if (node->is_excused)
		return true;
	for (const struct book_pod *pod = node->pods; pod; pod = pod->next) {
		if (pod->is_fresh && pod->is_blind)
			return true;
		fresh += pod->is_fresh;
	}
	return book->allows_races && fresh > 1;
}

static void check_node(struct book *book, struct book_node *node)
{
	bool was_stained = node->is_stained;

	node->is_stained = false;
	if (is_well(book, node))
		return;
	if (may_be_wrong(book, node)) {
		*book->trouble = '\0';
		node->is_stained = true;
	} else if (was_stained) {
		*book->trouble = '\0';
		node->is_stained = true;
		(void)is_well(book, node);
	}
}

const char *book_check(struct book *book)
{
	while (book->dirty_count) {
		struct book_node *node = book->dirty[--book->dirty_count];

		node->is_dirty = false;
		if (node->is_there && node->has_told && !*book->trouble)
			check_node(book, node);
	}
	return *book->trouble ? book->trouble : NULL;
}

/* --- more than one --- */

void book_allow_races(struct book *book)
{
	book->allows_races = true;
}

void book_blind(struct book *book, const char *ns, const char *name)
{
	struct book_pod *pod;
	char key[320];

	key_of(ns, name, key, sizeof(key));
	pod = neap_map_find(book->pods, key);
	if (pod)
		pod->is_blind = true;
	/* It may not be in the books yet. */
	assert_true(neap_map_set(book->blind, key, book));
}

void book_rest(struct book *book)
{
	for (size_t i = 0; i < neap_map_count(book->pods); i++)
		((struct book_pod *)neap_map_at(book->pods, i, NULL))->is_fresh = false;
	book_rest_kept(book);
}

/* --- what is asked --- */

void book_watch_spread(struct book *book)
{
	book->watches_spread = true;
}

size_t book_moves(const struct book *book)
{
	return book->moves;
}

size_t book_bound(const struct book *book)
{
	return book->bound;
}

size_t book_waiting(const struct book *book)
{
	size_t count = 0;

	for (size_t i = 0; i < neap_map_count(book->pods); i++) {
		const struct book_pod *pod = neap_map_at(book->pods, i, NULL);

		count += !*pod->node && !pod->is_deleting && !pod->is_gated;
	}
	return count;
}

size_t book_bindings(const struct book *book)
{
	return book->bindings;
}

size_t book_cpu_bindings(const struct book *book)
{
	return book->cpu_bindings;
}

const char *book_node_of(const struct book *book, const char *ns, const char *name)
{
	const struct book_pod *pod;
	char key[320];

	key_of(ns, name, key, sizeof(key));
	pod = neap_map_find(book->pods, key);
	return pod ? pod->node : "";
}
