/* SPDX-License-Identifier: Apache-2.0
 *
 * What reservations cost a pod: NODES nodes with PODS pods each (default 5000 and 20), a
 * decision that looks at every node and the choice of the reservation there, with none,
 * 1,000 and 10,000 Reservations, of which 0, 1 and 100 are for the pod. In turn with the
 * same pod in a cluster without any; CPU time of this thread, medians of ROUNDS. Printed
 * as rows, tab between: what, microseconds, those without, how many fold. Argument 3 is a
 * percentage of nodes that are enough (default 100); with 4 and 5 it is one row, of so
 * many reservations and so many for the pod. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/cluster/cpus.h"
#include "engine/decide/decide.h"
#include "engine/reserve/book.h"

#define ROUNDS 301

struct world {
	struct neap_cluster *cluster;
	struct neap_reserve_book *book;
	struct neap_decide *decide;
	struct neap_pod *pod;
	int64_t times[ROUNDS];
};

static _Noreturn void die(const char *what, const struct neap_error *err)
{
	fprintf(stderr, "%s: %s\n", what, err->msg);
	exit(1);
}

static struct neap_object *make(const char *name, const char *ns, const char *rest)
{
	static const char *const fields[] = {"spec.nodeName", NULL};
	struct neap_object *object = NULL;
	struct neap_error err = {0};
	char text[4096];

	(void)snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"%s\",%s",
		name, ns, name, rest);
	if (neap_object_new_take(json_loads(text, 0, NULL), fields, 1, &object, &err) < 0)
		die(text, &err);
	return object;
}

static void add_node(struct neap_cluster *cluster, int i)
{
	struct neap_error err;
	struct neap_object *object;
	unsigned moved;
	char name[32], rest[512];

	(void)snprintf(name, sizeof(name), "node-%d", i);
	(void)snprintf(rest, sizeof(rest),
		       "\"labels\":{\"kubernetes.io/hostname\":\"%s\",\"zone\":\"z%d\"}},"
		       "\"spec\":{},\"status\":{\"allocatable\":{\"cpu\":\"64\","
		       "\"memory\":\"256Gi\",\"pods\":\"110\"}}}",
		       name, i % 3);
	object = make(name, "", rest);
	if (neap_cluster_set_node(cluster, object, &moved, &err) < 0)
		die(name, &err);
	(void)neap_object_unref(object);
}

/* node: NULL, it is not placed. */
static struct neap_pod *add_pod(struct neap_cluster *cluster, const char *name,
				const char *node)
{
	struct neap_error err;
	struct neap_object *object;
	unsigned moved;
	char rest[512];

	(void)snprintf(rest, sizeof(rest),
		       "\"labels\":{\"app\":\"web\",\"tier\":\"front\",\"team\":\"a\"},"
		       "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":"
		       "\"ReplicaSet\",\"name\":\"web\",\"uid\":\"u-web\",\"controller\":"
		       "true}]},\"spec\":{%s%s%s\"containers\":[{\"resources\":{"
		       "\"requests\":{\"cpu\":\"500m\",\"memory\":\"1Gi\"}}}]},"
		       "\"status\":{}}",
		       node ? "\"nodeName\":\"" : "", node ? node : "",
		       node ? "\"," : "");
	object = make(name, "default", rest);
	if (neap_cluster_set_pod(cluster, object, &moved, &err) < 0)
		die(name, &err);
	(void)neap_object_unref(object);
	return neap_cluster_find_pod(cluster, "default", name);
}

/* Those below matching are for pods with app=web, the others for one of a thousand
 * sets. */
static void add_reservation(struct world *world, int i, int nodes, int matching)
{
	static const char *const amounts = "{\"cpu\":\"1\",\"memory\":\"2Gi\"}";
	struct neap_error err;
	struct neap_object *object;
	unsigned moved;
	char name[32], app[32], rest[1024];

	(void)snprintf(name, sizeof(name), "room-%d", i);
	(void)snprintf(app, sizeof(app), i < matching ? "web" : "other-%d", i % 1000);
	(void)snprintf(
		rest, sizeof(rest),
		"\"labels\":{\"app\":\"%s\"}},\"spec\":{\"template\":{\"spec\":{"
		"\"containers\":[{\"resources\":{\"requests\":%s}}]}},\"owners\":[{"
		"\"labelSelector\":{\"matchLabels\":{\"app\":\"%s\"}}}],\"allocateOnce\":"
		"false,\"allocatePolicy\":\"Aligned\"},\"status\":{\"phase\":"
		"\"Available\",\"nodeName\":\"node-%d\",\"allocatable\":%s}}",
		app, amounts, app, (i * 37 + 11) % nodes, amounts);
	object = make(name, "", rest);
	if (neap_reserve_book_set(world->book, object, &moved, &err) < 0)
		die(name, &err);
	(void)neap_object_unref(object);
}

static void make_world(struct world *world, int nodes, int pods, int reservations,
		       int matching, int percentage)
{
	struct neap_error err;
	struct neap_decide_config config = {.percentage = percentage};

	*world = (struct world){0};
	if (neap_cluster_new(&world->cluster, &err) < 0 ||
	    neap_reserve_book_new(world->cluster, &world->book, &err) < 0)
		die("cluster", &err);
	config.cluster = world->cluster;
	config.book = world->book;
	for (int i = 0; i < nodes; i++)
		add_node(world->cluster, i);
	for (int i = 0; i < nodes * pods; i++) {
		char name[32], node[32];

		(void)snprintf(name, sizeof(name), "pod-%d", i);
		(void)snprintf(node, sizeof(node), "node-%d", i % nodes);
		(void)add_pod(world->cluster, name, node);
	}
	for (int i = 0; i < reservations; i++)
		add_reservation(world, i, nodes, matching);
	(void)neap_cluster_settle(world->cluster);
	world->pod = add_pod(world->cluster, "one", NULL);
	if (neap_decide_new(&config, &world->decide, &err) < 0)
		die("decide", &err);
}

static void free_world(struct world *world)
{
	neap_decide_free(world->decide);
	neap_reserve_book_free(world->book);
	neap_cluster_free(world->cluster);
}

/* A decision, what the pod gets, and that it goes again. Whether it uses a
 * reservation. */
static bool decide_once(struct world *world, int64_t *ret_usec)
{
	int64_t start = neap_clock_usec(CLOCK_THREAD_CPUTIME_ID);
	struct neap_choice choice = {0};
	struct neap_claim *claim = NULL;
	struct neap_error err = {0};
	bool uses;

	if (neap_decide_pod(world->decide, world->pod, &choice, &err) <= 0 ||
	    neap_decide_claim(world->decide, world->pod, choice.row, &claim, &err) < 0 ||
	    neap_cluster_assume_with(world->cluster, world->pod, choice.row, claim,
				     &err) < 0)
		die("decision", &err);
	uses = claim && *claim->reservation;
	neap_cluster_forget(world->cluster, world->pod);
	neap_claim_free(claim);
	*ret_usec = neap_clock_usec(CLOCK_THREAD_CPUTIME_ID) - start;
	return uses;
}

static int compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int64_t median(int64_t *times)
{
	qsort(times, ROUNDS, sizeof(*times), compare);
	return times[ROUNDS / 2];
}

static void measure(struct world *without, int nodes, int pods, int reservations,
		    int matching, int percentage)
{
	struct world world;
	char what[64];
	int64_t mine, others;

	make_world(&world, nodes, pods, reservations, matching, percentage);
	for (int i = 0; i < ROUNDS; i++) {
		if (decide_once(without, &without->times[i]) ||
		    decide_once(&world, &world.times[i]) != (matching > 0)) {
			fprintf(stderr, "a wrong answer\n");
			exit(1);
		}
	}
	mine = median(world.times);
	others = median(without->times);
	(void)snprintf(what, sizeof(what), "%d reservations, %d for the pod",
		       reservations, matching);
	printf("%s\t%" PRId64 "\t%" PRId64 "\t%.2f\n", what, mine, others,
	       (double)mine / (double)(others ? others : 1));
	(void)fflush(stdout);
	free_world(&world);
}

int main(int argc, char **argv)
{
	int nodes = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 5000;
	int pods = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 20;
	int percentage = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 100;
	struct world without;

	make_world(&without, nodes, pods, 0, 0, percentage);
	if (argc > 5) {
		measure(&without, nodes, pods, (int)strtol(argv[4], NULL, 10),
			(int)strtol(argv[5], NULL, 10), percentage);
		free_world(&without);
		return 0;
	}
	measure(&without, nodes, pods, 0, 0, percentage);
	measure(&without, nodes, pods, 1000, 0, percentage);
	measure(&without, nodes, pods, 1000, 1, percentage);
	measure(&without, nodes, pods, 10000, 0, percentage);
	measure(&without, nodes, pods, 10000, 1, percentage);
	measure(&without, nodes, pods, 10000, 100, percentage);
	free_world(&without);
	return 0;
}
