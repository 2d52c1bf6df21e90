/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a pod waits, worked out again, and set beside what it was told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/cluster_book_priv.h"

#define REASONS 64
#define DOMAINS 64

static const char cordoned[] = "node(s) were unschedulable",
		  unlabelled[] = "node(s) didn't match Pod's node affinity/selector",
		  taken[] = "node(s) didn't have free ports for the requested pod ports",
		  full[] = "Too many pods",
		  uneven[] = "node(s) didn't match pod topology spread constraints",
		  unkeyed[] = "node(s) didn't match pod topology spread constraints "
			      "(missing required label)",
		  away[] = "node(s) didn't match pod anti-affinity rules",
		  unwanted[] = "node(s) didn't satisfy existing pods anti-affinity rules";

struct reason {
	char text[256];
	long wanted, told;
};

struct why {
	struct book *book;
	const struct book_pod *pod;
	struct reason reasons[REASONS];
	size_t count;
	long nodes, open; /* that are there; that the book has nothing against */
	int64_t kept[BOOK_NAMES];
	/* Domains that were counted already. */
	struct {
		const json_t *spread;
		const char *value;
		long count;
	} domains[DOMAINS];
	size_t domain_count;
};

static struct reason *find(struct why *why, const char *text, size_t len)
{
	char name[sizeof(why->reasons[0].text)] = "";
	size_t i = 0;

	assert_true(len < sizeof(name));
	memcpy(name, text, len);
	while (i < why->count && strcmp(why->reasons[i].text, name) != 0)
		i++;
	if (i == why->count) {
		assert_true(i < REASONS);
		why->reasons[i] = (struct reason){0};
		memcpy(why->reasons[i].text, name, sizeof(name));
		why->count++;
	}
	return &why->reasons[i];
}

static bool refuse(struct why *why, const char *text)
{
	find(why, text, strlen(text))->wanted++;
	return true;
}

static bool tolerates(const struct book_pod *pod, const char *key, const char *value,
		      const char *effect)
{
	for (size_t i = 0; i < json_array_size(pod->tolerations); i++) {
		const json_t *one = json_array_get(pod->tolerations, i);
		const char *its = book_text(one, "effect");
		bool is_any = strcmp(book_text(one, "operator"), "Exists") == 0;

		if ((!*its || strcmp(its, effect) == 0) &&
		    ((is_any && !*book_text(one, "key")) ||
		     strcmp(book_text(one, "key"), key) == 0) &&
		    (is_any || strcmp(book_text(one, "value"), value) == 0))
			return true;
	}
	return false;
}

static bool is_tainted(struct why *why, const struct book_node *node)
{
	char text[256];

	for (size_t i = 0; i < json_array_size(node->taints); i++) {
		const json_t *taint = json_array_get(node->taints, i);
		const char *effect = book_text(taint, "effect");

		if (strcmp(effect, "PreferNoSchedule") == 0 ||
		    tolerates(why->pod, book_text(taint, "key"),
			      book_text(taint, "value"), effect))
			continue;
		(void)snprintf(text, sizeof(text),
			       "node(s) had untolerated taint {%s: %s}",
			       book_text(taint, "key"), book_text(taint, "value"));
		return refuse(why, text);
	}
	return false;
}

/* The next of those that are as important and wait for room on that node; NULL: no
 * more. */
static const struct book_pod *next_nominee(const struct why *why,
					   const struct book_node *node, size_t *at)
{
	while (*at < neap_map_count(why->book->pods)) {
		const struct book_pod *pod = neap_map_at(why->book->pods, (*at)++, NULL);

		if (pod != why->pod && !*pod->node &&
		    pod->priority >= why->pod->priority &&
		    strcmp(pod->nominated, node->name) == 0)
			return pod;
	}
	return NULL;
}

/* What others wait for on that node. */
static void keep_room(struct why *why, const struct book_node *node)
{
	const struct book_pod *pod;

	memset(why->kept, 0, sizeof(why->kept));
	for (size_t at = 0; (pod = next_nominee(why, node, &at));)
		for (int n = 0; n < BOOK_NAMES; n++)
			why->kept[n] += pod->needs[n];
}

static bool has_ports_taken(const struct why *why, const struct book_node *node,
			    bool has_nominees)
{
	const struct book_pod *pod;

	for (size_t at = 0; has_nominees && (pod = next_nominee(why, node, &at));)
		if (book_ports_collide(why->pod, pod))
			return true;
	for (pod = node->pods; pod; pod = pod->next)
		if (!pod->is_finished && book_ports_collide(why->pod, pod))
			return true;
	return false;
}

static bool is_short(struct why *why, const struct book_node *node, bool has_nominees)
{
	const struct book_pod *pod = why->pod;
	int64_t used[BOOK_NAMES];
	bool is = false;
	char text[128];

	book_sum(node, used);
	memset(why->kept, 0, sizeof(why->kept));
	if (has_nominees)
		keep_room(why, node);
	for (int i = 0; i < why->book->name_count; i++) {
		if (!pod->needs[i] ||
		    used[i] + why->kept[i] + pod->needs[i] <= node->room[i])
			continue;
		(void)snprintf(text, sizeof(text), "Insufficient %s",
			       why->book->names[i]);
		is = refuse(why, i == BOOK_PLACES ? full : text);
	}
	return is;
}

/* --- spreading --- */

static bool counts(const struct book_pod *pod, const json_t *selector,
		   const struct book_pod *other)
{
	return strcmp(pod->ns, other->ns) == 0 && !other->is_deleting &&
	       !other->is_finished &&
	       book_has_labels(json_object_get(selector, "matchLabels"), other->labels);
}

static long count_domain(const struct why *why, const json_t *spread, const char *value)
{
	const char *key = book_text(spread, "topologyKey");
	long count = 0;

	for (size_t i = 0; i < neap_map_count(why->book->nodes); i++) {
		const struct book_node *node = neap_map_at(why->book->nodes, i, NULL);
		const char *its = book_label(node->labels, key);

		if (!node->is_there || !its || strcmp(its, value) != 0 ||
		    !book_has_labels(why->pod->selector, node->labels))
			continue;
		for (const struct book_pod *pod = node->pods; pod; pod = pod->next)
			count += counts(why->pod,
					json_object_get(spread, "labelSelector"), pod);
	}
	return count;
}

static long domain_of(struct why *why, const json_t *spread, const char *value)
{
	size_t i = 0;

	while (i < why->domain_count && (why->domains[i].spread != spread ||
					 strcmp(why->domains[i].value, value) != 0))
		i++;
	if (i == why->domain_count) {
		assert_true(i < DOMAINS);
		why->domain_count++;
		why->domains[i].spread = spread;
		why->domains[i].value = value;
		why->domains[i].count = count_domain(why, spread, value);
	}
	return why->domains[i].count;
}

/* The emptiest domain, when that of one value has so many more. */
static long find_least(struct why *why, const json_t *spread, const char *fuller,
		       long more)
{
	const char *key = book_text(spread, "topologyKey");
	long least = -1;

	for (size_t i = 0; i < neap_map_count(why->book->nodes); i++) {
		const struct book_node *node = neap_map_at(why->book->nodes, i, NULL);
		const char *value = book_label(node->labels, key);
		long its;

		if (!node->is_there || !value ||
		    !book_has_labels(why->pod->selector, node->labels))
			continue;
		its = domain_of(why, spread, value) +
		      (strcmp(value, fuller) == 0 ? more : 0);
		least = least < 0 || its < least ? its : least;
	}
	return least < 0 ? 0 : least;
}

/* Of those that wait for room there, which the pod counts. */
static long count_nominees(const struct why *why, const json_t *spread,
			   const struct book_node *node)
{
	const struct book_pod *pod;
	long count = 0;

	for (size_t at = 0; (pod = next_nominee(why, node, &at));)
		count += book_has_labels(why->pod->selector, node->labels) &&
			 strcmp(pod->ns, why->pod->ns) == 0 &&
			 book_has_labels(
				 json_object_get(json_object_get(spread, "labelSelector"),
						 "matchLabels"),
				 pod->labels);
	return count;
}

static bool is_uneven(struct why *why, const struct book_node *node, bool has_nominees,
		      const long *least)
{
	for (size_t i = 0; i < json_array_size(why->pod->spreads); i++) {
		const json_t *spread = json_array_get(why->pod->spreads, i);
		const char *value =
			book_label(node->labels, book_text(spread, "topologyKey"));
		bool is_self = counts(why->pod, json_object_get(spread, "labelSelector"),
				      why->pod);
		long more = has_nominees ? count_nominees(why, spread, node) : 0;

		if (strcmp(book_text(spread, "whenUnsatisfiable"), "DoNotSchedule") != 0)
			continue;
		if (!value)
			return refuse(why, unkeyed);
		if (domain_of(why, spread, value) + more + is_self -
			    (more ? find_least(why, spread, value, more) : least[i]) >
		    json_integer_value(json_object_get(spread, "maxSkew")))
			return refuse(why, uneven);
	}
	return false;
}

static bool is_apart(struct why *why, const struct book_node *node, bool has_nominees)
{
	const struct book_pod *pod;
	bool is_away = false, is_unwanted = false;

	for (size_t at = 0; has_nominees && (pod = next_nominee(why, node, &at));) {
		is_away |= book_is_away_from(why->pod, pod);
		is_unwanted |= book_is_away_from(pod, why->pod);
	}
	for (pod = node->pods; pod; pod = pod->next) {
		is_away |= !pod->is_finished && book_is_away_from(why->pod, pod);
		is_unwanted |= !pod->is_finished && book_is_away_from(pod, why->pod);
	}
	if (is_away)
		return refuse(why, away);
	return is_unwanted && refuse(why, unwanted);
}

/* --- CPUs --- */

/* CPUs that others as important wait for on the node, in whole cores: which ones is for
 * the scheduler to know. */
static long kept_cpus(const struct why *why, const struct book_node *node)
{
	int per_core = node->topology->per_core;
	const struct book_pod *pod;
	long sum = 0;

	for (size_t at = 0; (pod = next_nominee(why, node, &at));)
		if (book_binds_on(node, pod))
			sum += (pod->needs[BOOK_CPU] / 1000 + per_core - 1) / per_core *
			       per_core;
	return sum;
}

/* Whether the node has CPUs enough; where the choice depends on NUMA nodes the book says
 * nothing. */
static bool lacks_cpus(const struct why *why, const struct book_node *node)
{
	const struct book_pod *pod = why->pod;
	enum book_bind required;

	if (!book_binds_on(node, pod))
		return false;
	if (!node->topology || !node->topology->cpu_count ||
	    pod->needs[BOOK_CPU] % 1000 || book_conflicts(node, pod))
		return true;
	required = book_required_on(node, pod);
	if (required == BOOK_BIND_FULL &&
	    pod->needs[BOOK_CPU] / 1000 % node->topology->per_core)
		return true;
	return book_free_cpus(why->book, node, required) - kept_cpus(why, node) <
	       pod->needs[BOOK_CPU] / 1000;
}

/* --- all together --- */

/* In the order of the filters; the first that refuses says why. */
static bool is_refused(struct why *why, const struct book_node *node, bool has_nominees,
		       const long *least)
{
	if (node->is_cordoned &&
	    !tolerates(why->pod, "node.kubernetes.io/unschedulable", "", "NoSchedule"))
		return refuse(why, cordoned);
	if (is_tainted(why, node))
		return true;
	if (!book_has_labels(why->pod->selector, node->labels))
		return refuse(why, unlabelled);
	if (has_ports_taken(why, node, has_nominees))
		return refuse(why, taken);
	if (is_short(why, node, has_nominees) ||
	    is_uneven(why, node, has_nominees, least))
		return true;
	return is_apart(why, node, has_nominees);
}

void book_check_spread(struct book *book, const struct book_pod *pod)
{
	struct why *why = neap_alloc(sizeof(*why));
	const struct book_node *node = book_node(book, pod->node);

	assert_non_null(why);
	why->book = book;
	why->pod = pod;
	for (size_t i = 0; i < json_array_size(pod->spreads); i++) {
		const json_t *spread = json_array_get(pod->spreads, i);
		const char *value =
			book_label(node->labels, book_text(spread, "topologyKey"));

		if (strcmp(book_text(spread, "whenUnsatisfiable"), "DoNotSchedule") != 0)
			continue;
		if (!value ||
		    domain_of(why, spread, value) - find_least(why, spread, "", 0) >
			    json_integer_value(json_object_get(spread, "maxSkew")))
			(void)book_wrong(book,
					 "pod %s is not spread: %s of %ld, least %ld",
					 pod->name, value ? value : "nothing",
					 value ? domain_of(why, spread, value) : 0,
					 find_least(why, spread, "", 0));
	}
	free(why);
}

/* Reads "0/5 nodes are available: 3 Insufficient cpu, 2 Too many pods. preemption: ...";
 * false: it is none. */
static bool read_message(struct why *why, const char *text)
{
	const char *end = strstr(text, ". preemption: ");
	char head[64];

	(void)snprintf(head, sizeof(head), "0/%ld nodes are available: ", why->nodes);
	if (strncmp(text, head, strlen(head)) != 0)
		return false;
	text += strlen(head);
	end = end ? end : text + strlen(text) - (*text != '\0');
	while (text < end) {
		char *rest;
		long told = strtol(text, &rest, 10);
		const char *next = rest;

		if (rest == text || *rest != ' ')
			return false;
		/* Up to a comma with a number behind it. */
		do {
			next = strstr(next + 1, ", ");
		} while (next && next < end && (next[2] < '0' || next[2] > '9'));
		if (!next || next > end)
			next = end;
		find(why, rest + 1, (size_t)(next - rest - 1))->told += told;
		text = next < end ? next + 2 : end;
	}
	return true;
}

static bool is_own_word(const char *text)
{
	static const char *const words[] = {cordoned, unlabelled, taken, full,
					    uneven,   unkeyed,    away,  unwanted};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(words); i++)
		if (strcmp(words[i], text) == 0)
			return true;
	return strncmp(text, "node(s) had untolerated taint", 29) == 0;
}

static bool is_of_room(const struct book *book, const char *text)
{
	for (int i = 0; i < book->name_count; i++)
		if (strncmp(text, "Insufficient ", 13) == 0 &&
		    strcmp(text + 13, book->names[i]) == 0)
			return true;
	return false;
}

static bool compare(struct why *why, long lacking)
{
	const struct book_pod *pod = why->pod;
	long others = 0;

	for (size_t i = 0; i < why->count; i++) {
		const struct reason *reason = &why->reasons[i];

		if (!is_own_word(reason->text) && !is_of_room(why->book, reason->text))
			others += reason->told;
		else if (reason->told != reason->wanted)
			return book_wrong(why->book,
					  "pod %s: '%s' of %ld nodes, told are %ld: %s",
					  pod->name, reason->text, reason->wanted,
					  reason->told, pod->message);
	}
	/* What is said of the nodes that are left, a word or several of each, is about
	 * CPUs and NUMA nodes. */
	if (others < why->open || (others && !why->open))
		return book_wrong(why->book, "pod %s: %ld nodes are open: %s", pod->name,
				  why->open, pod->message);
	if (why->open > lacking)
		return book_wrong(why->book,
				  "pod %s: %ld nodes are open, %ld lack CPUs: %s",
				  pod->name, why->open, lacking, pod->message);
	return true;
}

static bool explain(struct why *why, bool has_nominees)
{
	long least[16] = {0}, lacking = 0;

	assert_true(json_array_size(why->pod->spreads) <= 16);
	for (size_t i = 0; i < json_array_size(why->pod->spreads); i++)
		least[i] = find_least(why, json_array_get(why->pod->spreads, i), "", 0);
	for (size_t i = 0; i < neap_map_count(why->book->nodes); i++) {
		const struct book_node *node = neap_map_at(why->book->nodes, i, NULL);

		if (!node->is_there)
			continue;
		why->nodes++;
		if (is_refused(why, node, has_nominees, least))
			continue;
		why->open++;
		lacking += why->pod->has_numa_policy || book_has_numa_policy(node) ||
			   lacks_cpus(why, node);
	}
	if (!why->pod->message)
		return book_wrong(why->book, "pod %s waits and does not know why",
				  why->pod->name);
	if (!why->nodes)
		return strcmp(why->pod->message, "no nodes available to schedule pods") ==
			       0 ||
		       book_wrong(why->book, "pod %s: there is no node: %s",
				  why->pod->name, why->pod->message);
	/* Nodes pass the filters, and none has the CPUs when it comes to single ones. */
	if (why->open && strncmp(why->pod->message, "0/", 2) != 0)
		return why->open <= lacking ||
		       book_wrong(why->book,
				  "pod %s: %ld nodes are open, %ld lack CPUs: %s",
				  why->pod->name, why->open, lacking, why->pod->message);
	if (!read_message(why, why->pod->message))
		return book_wrong(why->book, "pod %s of %ld nodes: %s", why->pod->name,
				  why->nodes, why->pod->message);
	return compare(why, lacking);
}

const char *book_check_waiting(struct book *book)
{
	bool has_nominees = false;

	for (size_t i = 0; i < neap_map_count(book->pods); i++) {
		const struct book_pod *pod = neap_map_at(book->pods, i, NULL);

		has_nominees |= !*pod->node && *pod->nominated;
	}
	for (size_t i = 0; i < neap_map_count(book->pods) && !*book->trouble; i++) {
		struct why *why;
		const struct book_pod *pod = neap_map_at(book->pods, i, NULL);

		if (*pod->node || pod->is_deleting || pod->is_gated || pod->is_finished)
			continue;
		why = neap_alloc(sizeof(*why));
		assert_non_null(why);
		why->book = book;
		why->pod = pod;
		(void)explain(why, has_nominees);
		free(why);
	}
	return *book->trouble ? book->trouble : NULL;
}
