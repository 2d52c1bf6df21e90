/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPU books, built from the topology, the node's annotations and its pods. What a pod
 * holds is always read from its resource-status, so a rebuilt book means the same. */
#include "engine/cluster/cpus.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/cluster/cluster_priv.h"
#include "engine/cluster/cpus_priv.h"
#include "engine/cluster/kept.h"
#include "engine/json/json.h"

#define REFS_MAX 64

static int check_args(const struct neap_cpus_args *args, struct neap_error *err)
{
	if (args->default_bind != NEAP_BIND_FULL_PCPUS &&
	    args->default_bind != NEAP_BIND_SPREAD)
		return neap_error_field(err, NEAP_EINVAL, "defaultCPUBindPolicy",
					"FullPCPUs or SpreadByPCPUs");
	if (args->max_refs < 1 || args->max_refs > REFS_MAX)
		return neap_error_field(err, NEAP_EINVAL, "max_refs", "%d, want 1 to %d",
					args->max_refs, REFS_MAX);
	if (args->weight_count > NEAP_NUMA_RESOURCES_MAX)
		return neap_error_field(err, NEAP_EINVAL, "scoringStrategy.resources",
					"more than %d", NEAP_NUMA_RESOURCES_MAX);
	for (size_t i = 0; i < args->weight_count; i++)
		if (!*args->names[i] || args->weights[i].weight < 1 ||
		    args->weights[i].weight > 100)
			return neap_error_field(
				err, NEAP_EINVAL, "scoringStrategy.resources",
				"no resource, or a weight that is not from 1 to 100");
	return 0;
}

int neap_cluster_set_cpus(struct neap_cluster *cluster, const struct neap_cpus_args *args,
			  struct neap_error *err)
{
	struct neap_cpus_args own = *args;
	int ret = check_args(args, err);

	if (ret == 0 && (cluster->columns.rows || neap_map_count(cluster->topologies)))
		ret = neap_error_set(err, NEAP_ECONFLICT,
				     "nodes or topologies are there already");
	for (size_t i = 0; ret == 0 && i < own.weight_count; i++)
		ret = neap_resources_add(cluster->resources, own.names[i],
					 &own.weights[i].resource, err);
	if (ret == 0)
		cluster->cpus_args = own;
	return ret;
}

const struct neap_cpus_args *neap_cluster_cpus_args(const struct neap_cluster *cluster)
{
	return &cluster->cpus_args;
}

const struct neap_cpus *neap_cluster_cpus(const struct neap_cluster *cluster,
					  uint32_t row)
{
	const struct neap_cluster_node *node = neap_cluster_node_at(cluster, row);

	return node ? node->cpus : NULL;
}

void neap_cluster_recount(struct neap_cluster *cluster, uint32_t row)
{
	neap_cluster_mark(cluster, cluster->columns.nodes[row]);
}

size_t neap_cluster_cpus_ruled(const struct neap_cluster *cluster)
{
	return cluster->cpus_ruled;
}

/* --- who has what --- */

/* A pod holds what it was given while that is pending; then what its annotation says. */
static const char *status_of(const struct neap_pod *pod, enum neap_cpu_exclusive *ret)
{
	*ret = pod->seat.exclusive;
	if (pod->seat.status || !*pod->node_name)
		return pod->seat.status;
	*ret = pod->cpus ? pod->cpus->exclusive : NEAP_EXCLUSIVE_NONE;
	return pod->cpus ? pod->cpus->status : NULL;
}

static struct neap_cpus *book_of(const struct neap_pod *pod)
{
	struct neap_cpus *book = pod->seat.node ? pod->seat.node->cpus : NULL;

	return book && book->numa && !book->is_stale ? book : NULL;
}

static void hold(struct neap_cluster *cluster, struct neap_cpus *book,
		 const struct neap_pod *pod)
{
	enum neap_cpu_exclusive exclusive;
	const char *status = status_of(pod, &exclusive);
	uint64_t cpus[NEAP_CPU_WORDS_MAX];
	int64_t cells[NEAP_NUMA_CELLS_MAX];
	char key[NEAP_POD_KEY];
	int ret;

	if (!status)
		return;
	(void)neap_pod_seat_key(pod, key);
	ret = neap_numa_status_read(book->numa, status, cluster->resources, cpus, cells,
				    NULL);
	if (ret == 0)
		ret = neap_numa_node_hold(book->numa, key, cpus, cells, exclusive, NULL);
	/* Unreadable annotations count as none. */
	if (ret == -NEAP_ENOMEM)
		book->is_stale = true;
}

void neap_cluster_hold_cpus(struct neap_cluster *cluster, const struct neap_pod *pod)
{
	struct neap_cpus *book = book_of(pod);

	if (book)
		hold(cluster, book, pod);
}

void neap_cluster_release_cpus(const struct neap_pod *pod)
{
	enum neap_cpu_exclusive exclusive;
	struct neap_cpus *book = book_of(pod);
	char key[NEAP_POD_KEY];

	if (book && status_of(pod, &exclusive))
		neap_numa_node_release(book->numa, neap_pod_seat_key(pod, key));
}

static void hold_all(struct neap_cluster *cluster, const struct neap_cluster_node *node,
		     struct neap_cpus *book)
{
	struct neap_numa_node *numa = book->numa;

	while (numa->pod_count)
		neap_numa_node_release(numa, numa->pods[numa->pod_count - 1].uid);
	book->is_stale = false;
	for (size_t i = 0; i < node->pod_count && !book->is_stale; i++)
		hold(cluster, book, node->pods[i]);
}

static int64_t count_bound(const struct neap_numa_node *numa)
{
	int64_t count = 0;

	for (int i = 0; i < numa->layout->words * 64; i++)
		count += numa->use->refs[i] > 0;
	return count * 1000;
}

static uint16_t cpus_class(const struct neap_cpus *book)
{
	int per_core = book && book->numa ? book->numa->layout->per_core : 0;
	unsigned class = 2;

	if (!book)
		return NEAP_CPUS_NONE;
	if (book->is_stale || book->load.ratio > 1 || isnan(book->load.ratio) ||
	    per_core > UINT8_MAX)
		return NEAP_CPUS_SINGLE;
	class |= !book->numa ? 0 : book->numa->zone_count ? 4 | 8 : 4;
	class |= (unsigned)book->rule.bind << 4 | (unsigned)book->rule.numa << 6;
	return (uint16_t)(class | (unsigned)per_core << 8);
}

void neap_cluster_count_cpus(struct neap_cluster *cluster, struct neap_cluster_node *node)
{
	const struct neap_columns *columns = &cluster->columns;
	struct neap_cpus *book = node->cpus;

	if (!book)
		return;
	if (book->is_stale)
		hold_all(cluster, node, book);
	columns->cpu_class[node->row] = cpus_class(book);
	if (!(book->load.ratio > 1))
		return;
	book->load.allocatable = neap_amounts_get(&node->allocatable, NEAP_RESOURCE_CPU);
	book->load.requested = columns->used[NEAP_RESOURCE_CPU]
				       ? columns->used[NEAP_RESOURCE_CPU][node->row]
				       : 0;
	book->load.bound = book->numa ? count_bound(book->numa) : 0;
}

/* --- making one --- */

static void free_book(struct neap_cpus *book)
{
	if (book)
		neap_numa_node_free(book->numa);
	free(book);
}

/* Whether pods that ask for nothing of the kind are concerned, too. */
static bool is_ruled(const struct neap_cpus *book)
{
	return book && (book->rule.bind != NEAP_BIND_DEFAULT ||
			book->rule.numa != NEAP_NUMA_ANY || book->load.ratio > 1 ||
			isnan(book->load.ratio));
}

static void replace(struct neap_cluster *cluster, struct neap_cluster_node *node,
		    struct neap_cpus *book)
{
	if (node->cpus == book)
		return;
	cluster->cpus_ruled -= is_ruled(node->cpus);
	cluster->cpus_ruled += is_ruled(book);
	free_book(node->cpus);
	node->cpus = book;
	cluster->columns.cpu_class[node->row] = cpus_class(book);
}

void neap_cluster_drop_cpus(struct neap_cluster *cluster, struct neap_cluster_node *node)
{
	replace(cluster, node, NULL);
}

static double ratio_of(const struct neap_cpus_said *said, uint32_t resource)
{
	for (size_t i = 0; i < said->ratio_count; i++)
		if (said->ratios[i].resource == resource)
			return said->ratios[i].ratio;
	return 1;
}

/* A node whose topology cannot be used has no CPUs to give, and says why. */
static int make_numa(struct neap_cluster *cluster,
		     const struct neap_cluster_topology *topology,
		     const struct neap_cpus_said *said, struct neap_cpus *book,
		     struct neap_error *err)
{
	const struct neap_numa_facts *facts = &topology->facts;
	struct neap_numa_spec spec = {.resources = cluster->resources,
				      .topology = facts->topology,
				      .layout = topology->layout,
				      .reserved = &facts->reserved,
				      .zones = facts->zones,
				      .zone_count = facts->zone_count,
				      .max_refs = cluster->cpus_args.max_refs,
				      .ratios = said->ratios,
				      .ratio_count = said->ratio_count,
				      .is_amplified = facts->is_amplified};
	struct neap_error why = {0};
	int ret;

	if (topology->is_broken || !facts->topology) {
		book->trouble = topology->is_broken ? "its topology cannot be read"
						    : "it has no CPU topology";
		return 0;
	}
	ret = neap_numa_node_new(&spec, &book->numa, &why);
	if (ret == -NEAP_ENOMEM)
		return neap_error_nomem(err);
	if (ret < 0)
		book->trouble = "its topology cannot be used";
	else if (facts->has_more_zones)
		book->trouble = "NUMA nodes beyond its first 64 are left out";
	else if (facts->has_left_out || book->numa->has_left_out)
		book->trouble = "resources of its NUMA nodes are left out";
	return 0;
}

static int make_book(struct neap_cluster *cluster, const struct neap_cluster_node *node,
		     const struct neap_object *object, const struct neap_cpus_said *said,
		     const struct neap_cluster_topology *topology, struct neap_cpus **ret,
		     struct neap_error *err)
{
	static const struct neap_cpus_said nothing;
	struct neap_cpus *book;
	int failed = 0;

	*ret = NULL;
	if (!topology && !said)
		return 0;
	book = neap_alloc(sizeof(*book));
	if (!book)
		return neap_error_nomem(err);
	said = said ? said : &nothing;
	neap_cpu_rule_make(neap_object_label(object, NEAP_KEY_NODE_BIND),
			   neap_object_label(object, NEAP_KEY_NODE_NUMA),
			   topology && topology->facts.is_kubelet_full,
			   topology ? topology->facts.numa : NEAP_NUMA_ANY, &book->rule);
	book->is_most_allocated = said->strategy == NEAP_STRATEGY_UNSAID
					  ? cluster->cpus_args.is_most_allocated
					  : said->strategy == NEAP_STRATEGY_MOST;
	book->load.ratio = said->has_bad_ratio ? NAN : ratio_of(said, NEAP_RESOURCE_CPU);
	if (topology)
		failed = make_numa(cluster, topology, said, book, err);
	else
		book->trouble = "its topology is not told";
	if (failed < 0) {
		free_book(book);
		return failed;
	}
	if (book->numa)
		hold_all(cluster, node, book);
	*ret = book;
	return 0;
}

static bool is_same(const struct neap_cpus_said *a, const struct neap_cpus_said *b)
{
	if (!a || !b)
		return a == b;
	if (a->ratio_count != b->ratio_count || a->has_bad_ratio != b->has_bad_ratio ||
	    a->rule.bind != b->rule.bind || a->rule.numa != b->rule.numa ||
	    a->strategy != b->strategy)
		return false;
	for (size_t i = 0; i < a->ratio_count; i++)
		if (a->ratios[i].resource != b->ratios[i].resource ||
		    a->ratios[i].ratio < b->ratios[i].ratio ||
		    a->ratios[i].ratio > b->ratios[i].ratio)
			return false;
	return true;
}

int neap_cluster_make_cpus(struct neap_cluster *cluster,
			   const struct neap_cluster_node *node,
			   const struct neap_cluster_node *now, struct neap_cpus **ret,
			   struct neap_error *err)
{
	const struct neap_cluster_topology *topology =
		neap_map_find(cluster->topologies, node->name);

	if (node->object && is_same(node->cpus_said, now->cpus_said)) {
		*ret = node->cpus;
		return 0;
	}
	return make_book(cluster, node, now->object, now->cpus_said, topology, ret, err);
}

void neap_cluster_put_cpus(struct neap_cluster *cluster, struct neap_cluster_node *node,
			   struct neap_cpus *book)
{
	replace(cluster, node, book);
}

/* --- topologies --- */

static void free_topology(struct neap_cluster_topology *topology)
{
	if (!topology)
		return;
	neap_numa_facts_done(&topology->facts);
	(void)neap_cpu_layout_unref(topology->layout);
	free(topology);
}

void neap_cluster_free_topologies(struct neap_cluster *cluster)
{
	for (size_t i = cluster->topologies ? neap_map_count(cluster->topologies) : 0;
	     i--;)
		free_topology(neap_map_at(cluster->topologies, i, NULL));
	neap_map_free(cluster->topologies);
	neap_machines_done(&cluster->machines);
}

static int read_topology(struct neap_cluster *cluster, const struct neap_object *object,
			 struct neap_cluster_topology **ret, struct neap_error *err)
{
	struct neap_cluster_topology *topology = neap_alloc(sizeof(*topology));
	json_t *tree = neap_object_tree(object);
	struct neap_error why = {0};
	int failed;

	if (!topology || !tree) {
		free(topology);
		json_decref(tree);
		return neap_error_nomem(err);
	}
	failed = neap_numa_facts_read(tree, cluster->resources, &topology->facts, &why);
	json_decref(tree);
	topology->is_broken = failed < 0;
	if (failed == 0 && topology->facts.topology)
		failed =
			neap_machines_share(&cluster->machines, &topology->facts.topology,
					    &topology->layout, &why);
	if (failed == -NEAP_ENOMEM) {
		free_topology(topology);
		return neap_error_nomem(err);
	}
	*ret = topology;
	return 0;
}

/* Rebuilds the book of an existing node with a new topology; NULL when it was deleted. */
static int renew(struct neap_cluster *cluster, const char *name,
		 const struct neap_cluster_topology *topology, struct neap_error *err)
{
	struct neap_cluster_node *node = neap_map_find(cluster->nodes, name);
	struct neap_cpus *book;
	int ret;

	if (!node || !node->object)
		return 0;
	ret = make_book(cluster, node, node->object, node->cpus_said, topology, &book,
			err);
	if (ret < 0)
		return ret;
	replace(cluster, node, book);
	neap_cluster_mark(cluster, node);
	return 0;
}

int neap_cluster_set_topology(struct neap_cluster *cluster, struct neap_object *object,
			      unsigned *ret_moved, struct neap_error *err)
{
	struct neap_cluster_topology *before =
		neap_map_find(cluster->topologies, object->name);
	struct neap_cluster_topology *topology;
	int ret = read_topology(cluster, object, &topology, err);

	if (ret < 0)
		return ret;
	if (!neap_map_set(cluster->topologies, object->name, topology)) {
		free_topology(topology);
		return neap_error_nomem(err);
	}
	ret = renew(cluster, object->name, topology, err);
	if (ret < 0) {
		/* The name exists already, so this needs no memory. */
		if (before)
			(void)neap_map_set(cluster->topologies, object->name, before);
		else
			(void)neap_map_remove(cluster->topologies, object->name);
		free_topology(topology);
		return ret;
	}
	free_topology(before);
	cluster->generation++;
	*ret_moved = NEAP_MOVED_CPUS;
	return 0;
}

void neap_cluster_remove_topology(struct neap_cluster *cluster, const char *name,
				  unsigned *ret_moved)
{
	struct neap_cluster_topology *topology =
		neap_map_remove(cluster->topologies, name);
	struct neap_cluster_node *node = neap_map_find(cluster->nodes, name);

	*ret_moved = topology ? NEAP_MOVED_CPUS : 0;
	if (!topology)
		return;
	/* Without memory for what the node says by itself it is as if it said nothing. */
	if (renew(cluster, name, NULL, NULL) < 0)
		replace(cluster, node, NULL);
	free_topology(topology);
	cluster->generation++;
}

/* --- what is assumed --- */

/* Nobody may have come between. */
static bool is_free(const struct neap_numa_node *numa, const struct neap_claim *claim)
{
	if (claim->words != numa->layout->words)
		return false;
	for (int i = 0; i < claim->words; i++) {
		uint64_t left = claim->cpus[i];

		if (left & (numa->reserved[i] | ~numa->layout->all[i]))
			return false;
		for (; left != 0; left &= left - 1)
			if (numa->use->refs[i * 64 + __builtin_ctzll(left)] >=
			    numa->max_refs)
				return false;
	}
	return true;
}

/* Amounts that it uses from a reservation are counted by the placeholder. */
static bool is_used(const struct neap_pod *pod, const struct neap_claim *claim)
{
	for (size_t i = 0; i < claim->taken_count; i++)
		if (claim->taken[i] == pod)
			return true;
	return pod->keep && (claim->is_ignoring ||
			     strcmp(pod->keep->uid, claim->reservation_uid) == 0);
}

static bool is_still_free(struct neap_cluster *cluster, struct neap_cluster_node *node,
			  const struct neap_claim *claim)
{
	bool is_it;

	if (!node->cpus || !node->cpus->numa || node->cpus->is_stale)
		return false;
	for (size_t i = 0; i < node->pod_count; i++)
		if (is_used(node->pods[i], claim))
			neap_cluster_release_cpus(node->pods[i]);
	is_it = is_free(node->cpus->numa, claim);
	for (size_t i = 0; i < node->pod_count; i++)
		if (is_used(node->pods[i], claim))
			neap_cluster_hold_cpus(cluster, node->pods[i]);
	return is_it;
}

static int take_status(struct neap_cluster *cluster, struct neap_cluster_node *node,
		       const struct neap_claim *claim, char **ret, struct neap_error *err)
{
	if (!is_still_free(cluster, node, claim))
		return neap_error_set(err, NEAP_ECONFLICT,
				      "its CPUs are not free any more");
	*ret = neap_strdup(claim->status);
	return *ret ? 0 : neap_error_nomem(err);
}

int neap_cluster_assume_with(struct neap_cluster *cluster, struct neap_pod *pod,
			     uint32_t row, const struct neap_claim *claim,
			     struct neap_error *err)
{
	char *status = NULL, *reservation = NULL;
	int ret = neap_cluster_check_seat(cluster, pod, row, err);

	if (ret == 0 && claim && *claim->reservation) {
		reservation = neap_strdup(claim->reservation_uid);
		ret = reservation ? 0 : neap_error_nomem(err);
	}
	if (ret == 0 && claim && claim->status)
		ret = take_status(cluster, cluster->columns.nodes[row], claim, &status,
				  err);
	if (ret < 0) {
		free(reservation);
		return ret;
	}
	neap_cluster_end_claim(pod);
	pod->seat.status = status;
	pod->seat.reservation = reservation;
	pod->seat.exclusive = status ? claim->exclusive : NEAP_EXCLUSIVE_NONE;
	ret = neap_cluster_assume_seat(cluster, pod, row, err);
	if (ret < 0)
		neap_cluster_end_claim(pod);
	return ret;
}

int neap_cluster_give(struct neap_cluster *cluster, struct neap_pod *pod,
		      const struct neap_claim *claim, struct neap_error *err)
{
	struct neap_cluster_node *node = pod->seat.node;
	char *status = NULL;
	int ret = 0;

	if (!claim || !claim->status)
		return 0;
	neap_cluster_release_cpus(pod);
	ret = take_status(cluster, node, claim, &status, err);
	if (ret == 0) {
		free(pod->seat.status);
		pod->seat.status = status;
		pod->seat.exclusive = claim->exclusive;
	}
	neap_cluster_hold_cpus(cluster, pod);
	neap_cluster_mark(cluster, node);
	return ret;
}

void neap_cluster_take_back(struct neap_cluster *cluster, struct neap_pod *pod)
{
	if (!pod->seat.node || !pod->seat.status)
		return;
	neap_cluster_release_cpus(pod);
	neap_cluster_end_claim(pod);
	neap_cluster_hold_cpus(cluster, pod);
	neap_cluster_mark(cluster, pod->seat.node);
}

int neap_cluster_assume(struct neap_cluster *cluster, struct neap_pod *pod, uint32_t row,
			struct neap_error *err)
{
	return neap_cluster_assume_with(cluster, pod, row, NULL, err);
}

void neap_cluster_end_claim(struct neap_pod *pod)
{
	free(pod->seat.status);
	free(pod->seat.reservation);
	pod->seat.status = pod->seat.reservation = NULL;
	pod->seat.exclusive = NEAP_EXCLUSIVE_NONE;
}

bool neap_cluster_keep_claim(struct neap_pod *pod, const struct neap_pod *before)
{
	pod->seat.exclusive = before->seat.exclusive;
	pod->seat.status = before->seat.status ? neap_strdup(before->seat.status) : NULL;
	pod->seat.reservation =
		before->seat.reservation ? neap_strdup(before->seat.reservation) : NULL;
	return (pod->seat.status || !before->seat.status) &&
	       (pod->seat.reservation || !before->seat.reservation);
}
