/* SPDX-License-Identifier: Apache-2.0
 *
 * For P21: pods that neap's own scheduling loop places end to end. schedule FILE NODES
 * PODS plain|lsr: a new store in FILE (on a tmpfs: without a disk), NODES nodes of 64
 * CPUs, of lsr with a NodeResourceTopology each; PODS pods come through the API, and only
 * then the clock runs, from the scheduler's first look at them to the last binding that
 * is durable. Then as many bindings are written without the scheduler, as the limit.
 *
 * Prints lines of a name and a value: pods_s, limit_s (pods a second); loop_us, commit_us
 * (CPU of a pod, of the loop and of the thread that commits); busy_s (pods a second of
 * the busier of the two, when it has a CPU of its own: what is to be read on a machine
 * that others use as well); share_NAME in percent of the loop's time. Shares are of wall
 * time inside of functions that the linker wraps (the list is in the Makefile): nothing
 * in neap itself takes part in measuring. */
#include <event2/event.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/client/client.h"
#include "api/client/events.h"
#include "api/kube/loops/crd_loop.h"
#include "api/kube/serve/client_local.h"
#include "api/schedule/schedule_priv.h"
#include "api/store/sqlite/sqlite.h"
#include "api/store/write.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/cluster/cpus.h"
#include "engine/decide/decide_priv.h"
#include "engine/json/json.h"

#define HISTORY_USEC  (INT64_C(3600) * 1000000)
#define HISTORY_BYTES ((size_t)512 * 1024 * 1024)
#define CPUS          64
/* Bindings on their way at once, as the scheduler has them. */
#define LIMIT_BINDS 1024

/* --- shares --- */

/* What the loop does; the time of a part is not that of the part that called it. */
enum part {
	PART_OTHER, /* the loop itself, queues */
	PART_HEAR,
	PART_DECODE,
	PART_CACHE,
	PART_SETTLE,
	PART_FILTER,
	PART_SCORE,
	PART_CLAIM,
	PART_BIND,
	PART_STORE,
	PART_SHOW,
	PART_EVENT,
	PART_COUNT
};

static const char *const part_names[PART_COUNT] = {"other",  "hear",   "decode", "cache",
						   "settle", "filter", "score",  "claim",
						   "bind",   "store",  "show",   "event"};

static int64_t part_nsec[PART_COUNT], part_since;
static enum part part_now;
static uint64_t entered;

static int64_t now_nsec(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Returns what it was; an event's own way to the store is the event's. */
static enum part enter(enum part part)
{
	enum part before = part_now;
	int64_t now = now_nsec(CLOCK_MONOTONIC);

	part_nsec[part_now] += now - part_since;
	part_since = now;
	entered++;
	if (before != PART_EVENT)
		part_now = part;
	return before;
}

static void leave(enum part before)
{
	int64_t now = now_nsec(CLOCK_MONOTONIC);

	part_nsec[part_now] += now - part_since;
	part_since = now;
	part_now = before;
}

/* WRAP(which, function, parameters, arguments) */
#define WRAP(which, type, name, parameters, arguments)                                   \
	type __real_##name parameters;                                                   \
	type __wrap_##name parameters;                                                   \
	type __wrap_##name parameters                                                    \
	{                                                                                \
		enum part before = enter(which);                                         \
		type answer = __real_##name arguments;                                   \
                                                                                         \
		leave(before);                                                           \
		return answer;                                                           \
	}
#define WRAP_VOID(which, name, parameters, arguments)                                    \
	void __real_##name parameters;                                                   \
	void __wrap_##name parameters;                                                   \
	void __wrap_##name parameters                                                    \
	{                                                                                \
		enum part before = enter(which);                                         \
                                                                                         \
		__real_##name arguments;                                                 \
		leave(before);                                                           \
	}

typedef const struct neap_columns *columns_ptr;

WRAP(PART_DECODE, int, neap_pod_new,
     (struct neap_object * object, struct neap_resources *resources,
      struct neap_pod **ret, struct neap_error *err),
     (object, resources, ret, err))
WRAP(PART_CACHE, int, neap_cluster_set_pod,
     (struct neap_cluster * cluster, struct neap_object *object, unsigned *ret_moved,
      struct neap_error *err),
     (cluster, object, ret_moved, err))
WRAP(PART_CACHE, int, neap_cluster_assume_with,
     (struct neap_cluster * cluster, struct neap_pod *pod, uint32_t row,
      const struct neap_claim *claim, struct neap_error *err),
     (cluster, pod, row, claim, err))
WRAP(PART_SETTLE, columns_ptr, neap_cluster_settle, (struct neap_cluster * cluster),
     (cluster))
WRAP(PART_FILTER, int, neap_decide_pod,
     (struct neap_decide * decide, const struct neap_pod *pod, struct neap_choice *ret,
      struct neap_error *err),
     (decide, pod, ret, err))
WRAP(PART_CLAIM, int, neap_decide_claim,
     (struct neap_decide * decide, const struct neap_pod *pod, uint32_t row,
      struct neap_claim **ret, struct neap_error *err),
     (decide, pod, row, ret, err))
typedef json_t *json_ptr;
WRAP(PART_CLAIM, json_ptr, neap_claim_annotations,
     (const struct neap_pod *pod, const struct neap_claim *claim), (pod, claim))
WRAP_VOID(PART_BIND, neap_client_bind,
	  (struct neap_client * client, const struct neap_client_ask *ask,
	   const struct neap_client_binding *binding),
	  (client, ask, binding))
WRAP(PART_STORE, int, neap_store_write_take,
     (struct neap_store * store, struct neap_store_write *write, struct neap_error *err),
     (store, write, err))
WRAP_VOID(PART_SHOW, neap_store_hear, (struct neap_store * store), (store))

/* Placed is what is durable. */
static int placed;

void __real_scheduler_tell_placed(struct neap_scheduler *scheduler,
				  const struct neap_pod *pod, const char *node);
void __wrap_scheduler_tell_placed(struct neap_scheduler *scheduler,
				  const struct neap_pod *pod, const char *node);
void __wrap_scheduler_tell_placed(struct neap_scheduler *scheduler,
				  const struct neap_pod *pod, const char *node)
{
	enum part before = enter(PART_EVENT);

	placed++;
	__real_scheduler_tell_placed(scheduler, pod, node);
	leave(before);
}

/* The scheduler does not look before the clock runs. */
static bool is_held;

bool __real_scheduler_hear(struct neap_scheduler *scheduler);
bool __wrap_scheduler_hear(struct neap_scheduler *scheduler);
bool __wrap_scheduler_hear(struct neap_scheduler *scheduler)
{
	enum part before = enter(PART_HEAR);
	bool ret = is_held ? false : __real_scheduler_hear(scheduler);

	leave(before);
	return ret;
}

/* Scores are called by a table: this one stands in its place. */
extern const struct neap_score *const __real_neap_scores[];

#define SCORE(i)                                                                         \
	static bool prepare_##i(struct neap_cycle *cycle)                                \
	{                                                                                \
		enum part before = enter(PART_SCORE);                                    \
		bool ret = __real_neap_scores[i]->prepare(cycle);                        \
                                                                                         \
		leave(before);                                                           \
		return ret;                                                              \
	}                                                                                \
	static void score_##i(struct neap_cycle *cycle, const uint32_t *rows,            \
			      size_t count, int64_t *ret)                                \
	{                                                                                \
		enum part before = enter(PART_SCORE);                                    \
                                                                                         \
		__real_neap_scores[i]->score(cycle, rows, count, ret);                   \
		leave(before);                                                           \
	}
SCORE(0)
SCORE(1)
SCORE(2)
SCORE(3)
SCORE(4)
SCORE(5)
SCORE(6)
SCORE(7)
SCORE(8)
SCORE(9)
SCORE(10)
SCORE(11)
SCORE(12)
SCORE(13)
SCORE(14)
SCORE(15)
#define SCORE_ROW(i)                                                                     \
	{                                                                                \
		"", 0, NEAP_SCORE_AS_IS, prepare_##i, score_##i                          \
	}
static struct neap_score scores[] = {
	SCORE_ROW(0),  SCORE_ROW(1),  SCORE_ROW(2),  SCORE_ROW(3),
	SCORE_ROW(4),  SCORE_ROW(5),  SCORE_ROW(6),  SCORE_ROW(7),
	SCORE_ROW(8),  SCORE_ROW(9),  SCORE_ROW(10), SCORE_ROW(11),
	SCORE_ROW(12), SCORE_ROW(13), SCORE_ROW(14), SCORE_ROW(15)};
_Static_assert(NEAP_ARRAY_LEN(scores) >= NEAP_SCORE_COUNT, "a row for each score");
const struct neap_score *__wrap_neap_scores[NEAP_SCORE_COUNT];

static void wrap_scores(void)
{
	for (size_t i = 0; i < NEAP_SCORE_COUNT; i++) {
		scores[i].name = __real_neap_scores[i]->name;
		scores[i].weight = __real_neap_scores[i]->weight;
		scores[i].scale = __real_neap_scores[i]->scale;
		if (!__real_neap_scores[i]->prepare)
			scores[i].prepare = NULL;
		__wrap_neap_scores[i] = &scores[i];
	}
}

/* --- the world --- */

struct world {
	struct event_base *base;
	struct neap_store *store;
	struct neap_kube *kube;
	struct neap_client *client; /* of kube */
	struct neap_scheduler *scheduler;
	int nodes, pods;
	bool is_lsr;
	int asked, told; /* of what the bench asks */
};

static void fail(const char *what, const char *why)
{
	(void)fprintf(stderr, "schedule: %s: %s\n", what, why);
	exit(1);
}

static void told(void *arg, struct neap_object *object,
		 const struct neap_client_failure *failure)
{
	struct world *world = arg;

	if (!object)
		fail("a write", failure ? failure->message : "no answer");
	world->told++;
}

static void turn(struct world *world)
{
	if (event_base_loop(world->base, EVLOOP_ONCE) < 0)
		fail("the loop", "ended");
}

/* Waits until no more than so many answers are open. */
static void drain(struct world *world, int open)
{
	while (world->asked - world->told > open)
		turn(world);
}

static struct neap_client_ask ask_of(struct world *world, const char *resource,
				     const char *name)
{
	drain(world, LIMIT_BINDS - 1);
	world->asked++;
	return (struct neap_client_ask){.resource = resource,
					.ns = strcmp(resource, "pods") == 0 ? "default"
									    : "",
					.name = name,
					.told = told,
					.arg = world};
}

static void create_take(struct world *world, const char *resource, json_t *object)
{
	struct neap_client_ask ask = ask_of(world, resource, NULL);

	if (!object)
		fail(resource, "no memory");
	neap_client_create_take(world->client, &ask, object);
}

/* 2 NUMA nodes of 16 cores with 2 CPUs each. */
static json_t *new_topology(const char *name)
{
	json_t *detail = json_array(), *all, *ret;
	char *text;

	for (int i = 0; i < CPUS; i++)
		(void)json_array_append_new(detail, json_pack("{s:i, s:i, s:i, s:i}",
							      "id", i, "core", i / 2,
							      "socket", i / (CPUS / 2),
							      "node", i / (CPUS / 2)));
	all = json_pack("{s:o}", "detail", detail);
	text = neap_json_dump(all, JSON_COMPACT);
	json_decref(all);
	ret = json_pack(
		"{s:{s:s, s:{s:s}}, s:[], s:[{s:s, s:s, s:[{s:s, s:s, s:s, s:s}]}, {s:s, "
		"s:s, s:[{s:s, s:s, s:s, s:s}]}]}",
		"metadata", "name", name, "annotations",
		"node.koordinator.sh/cpu-topology", text ? text : "", "topologyPolicies",
		"zones", "name", "node-0", "type", "Node", "resources", "name", "cpu",
		"capacity", "32", "allocatable", "32", "available", "32", "name",
		"node-1", "type", "Node", "resources", "name", "cpu", "capacity", "32",
		"allocatable", "32", "available", "32");
	free(text);
	return ret;
}

static void add_node(struct world *world, int i)
{
	struct neap_client_ask ask;
	char name[32], zone[8];

	(void)snprintf(name, sizeof(name), "node-%d", i);
	(void)snprintf(zone, sizeof(zone), "z%d", i % 3);
	if (world->is_lsr)
		create_take(world, "noderesourcetopologies.topology.node.k8s.io",
			    new_topology(name));
	create_take(world, "nodes",
		    json_pack("{s:{s:s, s:{s:s, s:s, s:s, s:s}}}", "metadata", "name",
			      name, "labels", "kubernetes.io/hostname", name,
			      "kubernetes.io/os", "linux", "kubernetes.io/arch", "amd64",
			      "topology.kubernetes.io/zone", zone));
	ask = ask_of(world, "nodes", name);
	neap_client_patch_take(world->client, &ask, true,
			       json_pack("{s:{s:{s:s, s:s, s:s}}}", "status",
					 "allocatable", "cpu", "64", "memory", "256Gi",
					 "pods", "110"));
}

/* As a Deployment's controller would make it. */
static void add_pod(struct world *world, const char *prefix, int i, const char *scheduler)
{
	const char *cpu = world->is_lsr ? "4" : "500m";
	json_t *resources =
		json_pack("{s:{s:s, s:s}, s:{s:s, s:s}}", "requests", "cpu", cpu,
			  "memory", "1Gi", "limits", "cpu", cpu, "memory", "1Gi");
	json_t *labels =
		json_pack("{s:s, s:s}", "app", "web", "pod-template-hash", "5d59d67564");
	char name[32];

	(void)snprintf(name, sizeof(name), "%s-%d", prefix, i);
	if (world->is_lsr) {
		(void)json_object_set_new(labels, "koordinator.sh/qosClass",
					  json_string("LSR"));
		(void)json_object_set_new(labels, "koordinator.sh/priority-class",
					  json_string("koord-prod"));
	}
	create_take(world, "pods",
		    json_pack("{s:{s:s, s:o}, s:{s:s, s:[{s:s, s:s, s:o, s:[{s:i}], "
			      "s:[{s:s, s:s}]}]}}",
			      "metadata", "name", name, "labels", labels, "spec",
			      "schedulerName", scheduler, "containers", "name", "web",
			      "image", "registry.example/web:1.0", "resources", resources,
			      "ports", "containerPort", 8080, "env", "name", "MODE",
			      "value", "production"));
}

static void hear(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	neap_store_hear(arg);
}

static void start(struct world *world, const char *file)
{
	static const struct neap_kube_kind *const *const tables[] = {
		neap_kube_core_kinds, neap_kube_apps_kinds, neap_kube_other_kinds};
	struct neap_store_sqlite_config store = {.file = file,
						 .history_usec = HISTORY_USEC,
						 .history_bytes = HISTORY_BYTES};
	struct neap_kube_config config = {.registry = neap_kube_registry_new()};
	struct neap_kube_declared_folder folder = {.fd = -1};
	struct neap_kube_declared_config declared = {.folder = &folder};
	struct neap_kube_declared *kinds;
	struct neap_error err = {0};
	struct event *heard;

	neap_json_setup();
	world->base = event_base_new();
	for (size_t i = 0; i < NEAP_ARRAY_LEN(tables); i++)
		if (neap_kube_registry_add_all(config.registry, tables[i], &err) < 0)
			fail("kinds", err.msg);
	if (neap_store_sqlite_open(&store, &world->store, &err) < 0)
		fail(file, err.msg);
	config.base = world->base;
	config.store = world->store;
	if (neap_kube_new(&config, &world->kube, &err) < 0)
		fail("the API", err.msg);
	world->client = neap_kube_client(world->kube);
	declared.kube = world->kube;
	if (neap_kube_declared_folder_open(&folder, "doc/deploy/crds", &err) < 0 ||
	    neap_kube_declared_new(&declared, &kinds, &err) < 0)
		fail("declared kinds", err.msg);
	neap_kube_declared_folder_close(&folder);
	heard = event_new(world->base, neap_store_fd(world->store), EV_READ | EV_PERSIST,
			  hear, world->store);
	if (!heard || event_add(heard, NULL) < 0)
		fail("the loop", "no memory");
}

static void start_scheduler(struct world *world)
{
	static const char *const names[] = {"neap-scheduler", NULL};
	static const struct neap_log log = {
		.fd = 2, .level = NEAP_LOG_WARN, .program = "schedule"};
	const struct neap_scheduler_config config = {.base = world->base,
						     .client = world->client,
						     .names = names,
						     .log = &log};
	struct neap_error err = {0};

	if (neap_scheduler_new(&config, &world->scheduler, &err) < 0)
		fail("the scheduler", err.msg);
	while (world->scheduler->is_reading)
		turn(world);
}

/* --- the clock --- */

struct clock {
	int64_t wall, loop, all; /* nanoseconds */
};

static struct clock clock_now(void)
{
	return (struct clock){now_nsec(CLOCK_MONOTONIC),
			      now_nsec(CLOCK_THREAD_CPUTIME_ID),
			      now_nsec(CLOCK_PROCESS_CPUTIME_ID)};
}

/* Nothing is to be done until the disk has answered, which is nobody's time. */
static void rest(struct world *world)
{
	struct pollfd ready = {.fd = neap_store_fd(world->store), .events = POLLIN};

	leave(PART_OTHER);
	(void)poll(&ready, 1, 1);
	part_since = now_nsec(CLOCK_MONOTONIC);
}

static void place_all(struct world *world)
{
	struct clock from, to;
	double loop, commit;
	int64_t sum = 0;

	is_held = true;
	for (int i = 0; i < world->pods; i++)
		add_pod(world, "pod", i, "neap-scheduler");
	drain(world, 0);
	is_held = false;
	scheduler_wake(world->scheduler, 0);
	memset(part_nsec, 0, sizeof(part_nsec));
	from = clock_now();
	part_since = from.wall;
	while (placed < world->pods) {
		uint64_t before = entered;

		if (event_base_loop(world->base, EVLOOP_NONBLOCK) < 0)
			fail("the loop", "ended");
		if (entered == before)
			rest(world);
	}
	to = clock_now();
	leave(PART_OTHER);
	loop = (double)(to.loop - from.loop) / 1e3 / world->pods;
	commit = (double)(to.all - from.all) / 1e3 / world->pods - loop;
	printf("pods_s\t%.0f\n", world->pods / ((double)(to.wall - from.wall) / 1e9));
	printf("loop_us\t%.1f\ncommit_us\t%.1f\n", loop, commit);
	printf("busy_s\t%.0f\n", 1e6 / (loop > commit ? loop : commit));
	for (int i = 0; i < PART_COUNT; i++)
		sum += part_nsec[i];
	for (int i = 0; i < PART_COUNT; i++)
		printf("share_%s\t%.1f\n", part_names[i],
		       100.0 * (double)part_nsec[i] / (double)sum);
}

/* The same number of bindings, by nobody's decision. */
static void bind_all(struct world *world)
{
	char pod[32], node[32];
	struct clock from, to;

	for (int i = 0; i < world->pods; i++)
		add_pod(world, "limit", i, "nobody");
	drain(world, 0);
	from = clock_now();
	for (int i = 0; i < world->pods; i++) {
		struct neap_client_ask ask = ask_of(world, "pods", pod);

		(void)snprintf(pod, sizeof(pod), "limit-%d", i);
		(void)snprintf(node, sizeof(node), "node-%d", i % world->nodes);
		neap_client_bind(world->client, &ask,
				 &(struct neap_client_binding){.node = node});
	}
	drain(world, 0);
	to = clock_now();
	printf("limit_s\t%.0f\n", world->pods / ((double)(to.wall - from.wall) / 1e9));
	printf("limit_loop_us\t%.1f\n",
	       (double)(to.loop - from.loop) / 1e3 / world->pods);
}

int main(int argc, char **argv)
{
	struct world world = {0};

	if (argc == 5) {
		world.nodes = (int)strtol(argv[2], NULL, 10);
		world.pods = (int)strtol(argv[3], NULL, 10);
		world.is_lsr = strcmp(argv[4], "lsr") == 0;
	}
	if (world.nodes < 1 || world.pods < 1) {
		(void)fprintf(stderr, "usage: schedule FILE NODES PODS plain|lsr\n");
		return 2;
	}
	wrap_scores();
	start(&world, argv[1]);
	create_take(&world, "namespaces",
		    json_pack("{s:{s:s}}", "metadata", "name", "default"));
	for (int i = 0; i < world.nodes; i++)
		add_node(&world, i);
	drain(&world, 0);
	start_scheduler(&world);
	place_all(&world);
	neap_scheduler_free(world.scheduler);
	bind_all(&world);
	return 0; /* the file is as after a kill */
}
