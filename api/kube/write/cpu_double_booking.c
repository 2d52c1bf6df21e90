/* SPDX-License-Identifier: Apache-2.0
 *
 * Prevents that a write gives a CPU to more pods than may share it: an index of the pods
 * on each node that claim CPUs in their resource-status annotation.
 *
 * The index is only a hint. The newest state of each pod counts, and is read when CPUs of
 * its node are requested. So a failed write needs no undo, and a pod without the
 * annotation costs one text search. The index is built at the first write of CPUs. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/request/slow.h"
#include "api/kube/write/write.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/machine/cpuset.h"
#include "engine/numa/cpu_policy.h"
#include "engine/numa/resource_status.h"
#include "engine/pod/pod.h"

/* A pod, in the list of its node. */
struct holder {
	struct holder *next, **prev;
	char *cpus;      /* as a CPU list; NULL: none, or not read */
	int64_t version; /* the version that cpus was read from; 0: none */
	const char *ns, *name;
	char node[NEAP_OBJECT_NAME];
	char key[NEAP_POD_KEY + 1]; /* "NAMESPACE", NUL, "NAME" */
};

/* The pods of one node. */
struct seats {
	struct holder *first;
};

struct kube_cpus {
	struct neap_store *store;
	struct neap_store_watch *watch;
	struct neap_map *nodes; /* struct seats, by name */
	struct neap_map *pods;  /* struct holder, by "NAMESPACE/NAME" */
	bool is_stale;          /* events were missed: build the index again */
};

static void drop(struct kube_cpus *cpus, struct holder *holder)
{
	char key[NEAP_POD_KEY];
	struct seats *seats = neap_map_find(cpus->nodes, holder->node);

	(void)neap_map_remove(cpus->pods, neap_pod_key(holder->ns, holder->name, key));
	*holder->prev = holder->next;
	if (holder->next)
		holder->next->prev = holder->prev;
	if (seats && !seats->first) {
		(void)neap_map_remove(cpus->nodes, holder->node);
		free(seats);
	}
	free(holder->cpus);
	free(holder);
}

void kube_cpus_free(struct kube_cpus *cpus)
{
	if (!cpus)
		return;
	neap_store_watch_free(cpus->watch);
	while (cpus->pods && neap_map_count(cpus->pods))
		drop(cpus, neap_map_at(cpus->pods, neap_map_count(cpus->pods) - 1, NULL));
	neap_map_free(cpus->pods);
	neap_map_free(cpus->nodes);
	free(cpus);
}

/* Whether the pod is on a node, is not finished, and its text contains the annotation. */
static bool may_hold(const struct neap_object *pod, const char **ret_node)
{
	const char *phase = neap_object_field(pod, "status.phase");

	*ret_node = neap_object_field(pod, "spec.nodeName");
	return *ret_node && **ret_node &&
	       (!phase ||
		(strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0)) &&
	       memmem(pod->text, pod->text_len, NEAP_KEY_RESOURCE_STATUS,
		      strlen(NEAP_KEY_RESOURCE_STATUS));
}

static bool add(struct kube_cpus *cpus, const char *key, const char *node)
{
	struct holder *holder = neap_alloc(sizeof(*holder));
	struct seats *seats = neap_map_find(cpus->nodes, node);
	struct seats *made = NULL;
	char *name;

	if (!holder)
		return false;
	if (!seats) {
		seats = made = neap_alloc(sizeof(*seats));
		if (!seats || !neap_map_set(cpus->nodes, node, seats)) {
			free(holder);
			free(made);
			return false;
		}
	}
	if (!neap_map_set(cpus->pods, key, holder)) {
		if (made) {
			(void)neap_map_remove(cpus->nodes, node);
			free(made);
		}
		free(holder);
		return false;
	}
	(void)neap_strcopy(holder->node, sizeof(holder->node), node);
	(void)neap_strcopy(holder->key, sizeof(holder->key), key);
	name = strchr(holder->key, '/');
	*name = '\0';
	holder->ns = holder->key;
	holder->name = name + 1;
	holder->next = seats->first;
	holder->prev = &seats->first;
	if (holder->next)
		holder->next->prev = &holder->next;
	seats->first = holder;
	return true;
}

/* Files the pod under the node of its newest state; pod NULL: it is deleted. */
static bool place(struct kube_cpus *cpus, const char *ns, const char *name,
		  const struct neap_object *pod)
{
	struct holder *holder;
	const char *node = "";
	char key[NEAP_POD_KEY];

	(void)neap_pod_key(ns, name, key);
	holder = neap_map_find(cpus->pods, key);
	if (!pod || !may_hold(pod, &node)) {
		if (holder)
			drop(cpus, holder);
		return true;
	}
	if (holder && strcmp(holder->node, node) == 0)
		return true;
	if (holder)
		drop(cpus, holder);
	return add(cpus, key, node);
}

static void look(struct kube_cpus *cpus, const char *ns, const char *name)
{
	if (!place(cpus, ns, name, neap_store_newest(cpus->store, "pods", ns, name)))
		cpus->is_stale = true;
}

static void hear(void *arg)
{
	struct kube_cpus *cpus = arg;
	struct neap_store_event *event;
	struct neap_error err;
	int ret = 0;

	while (!cpus->is_stale &&
	       (ret = neap_store_watch_next(cpus->watch, &event, &err)) > 0)
		look(cpus, event->object->ns, event->object->name);
	if (ret < 0)
		cpus->is_stale = true;
}

static bool take(void *arg, struct neap_object *object)
{
	struct kube_cpus *cpus = arg;

	look(cpus, object->ns, object->name);
	return !cpus->is_stale;
}

static int start(struct neap_kube *kube, struct neap_error *err)
{
	struct neap_store_place from = {.version = neap_store_version(kube->store)};
	struct kube_cpus *cpus = neap_alloc(sizeof(*cpus));
	int ret;

	if (!cpus)
		return neap_error_nomem(err);
	cpus->store = kube->store;
	cpus->nodes = neap_map_new();
	cpus->pods = neap_map_new();
	ret = !cpus->nodes || !cpus->pods
		      ? neap_error_nomem(err)
		      : neap_store_watch_new(kube->store, "pods", from.version, hear,
					     cpus, &cpus->watch, err);
	while (ret == 0) {
		ret = neap_store_list(kube->store, "pods", NULL, &from, take, cpus, err);
		if (cpus->is_stale)
			ret = neap_error_nomem(err);
		if (ret <= 0)
			break;
		ret = 0;
	}
	if (ret < 0) {
		kube_cpus_free(cpus);
		return ret;
	}
	/* Writes that are accepted, but not visible to reads yet. */
	kube->cpus = cpus;
	hear(cpus);
	return 0;
}

/* --- what pods say --- */

/* *ret: the CPU list in a resource-status, which the caller frees; NULL: none. False
 * without memory. */
static bool parse_cpus(const char *text, char **ret)
{
	struct neap_resource_status status;
	bool done = true;
	int failed = neap_resource_status_read(text, &status, NULL);

	*ret = NULL;
	if (failed < 0)
		return failed != -NEAP_ENOMEM;
	if (*status.cpus_text) {
		*ret = neap_strdup(status.cpus_text);
		done = *ret;
	}
	neap_resource_status_done(&status);
	return done;
}

static bool read_cpus(const json_t *pod, char **ret)
{
	return parse_cpus(json_string_value(json_object_get(
				  neap_json_at(pod, "metadata.annotations"),
				  NEAP_KEY_RESOURCE_STATUS)),
			  ret);
}

/* Reads the pod's present CPUs. False without memory. */
static bool refresh(struct holder *holder, const struct neap_object *newest)
{
	char *status;
	bool done;

	if (holder->version == newest->version && holder->version)
		return true;
	if (neap_object_annotation(newest, NEAP_KEY_RESOURCE_STATUS, &status, NULL) < 0)
		return false;
	free(holder->cpus);
	done = parse_cpus(status, &holder->cpus);
	holder->version = done ? newest->version : 0;
	free(status);
	return done;
}

static const char *node_of(const json_t *pod)
{
	const char *node = json_string_value(neap_json_at(pod, "spec.nodeName"));
	const char *phase = json_string_value(neap_json_at(pod, "status.phase"));

	if (!node || !*node ||
	    (phase && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0)))
		return NULL;
	return node;
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Whether the pod had the CPUs before the write. */
static bool has_them(const json_t *before, const char *node, const char *cpus,
		     bool *ret_short)
{
	const char *there = before ? node_of(before) : NULL;
	char *had = NULL;
	bool is_same;

	if (!there || strcmp(there, node) != 0)
		return false;
	*ret_short = !read_cpus(before, &had);
	is_same = !*ret_short && is_same_text(had, cpus);
	free(had);
	return is_same;
}

/* Adds one pod of the node. Returns the first of the wanted CPUs that has reached its
 * limit of pods; -1: none. counts: NULL where a CPU may have one pod. */
static int count(const struct holder *holder, const struct neap_cpuset *wanted,
		 uint16_t *counts, int max_refs)
{
	struct neap_cpuset had;

	if (!holder->cpus || neap_cpuset_parse_told(&had, holder->cpus, NULL) < 0)
		return -1;
	neap_cpuset_and(&had, &had, wanted);
	for (int cpu = -1; (cpu = neap_cpuset_next(&had, cpu)) >= 0;)
		if (!counts || ++counts[cpu] >= max_refs)
			return cpu;
	return -1;
}

/* name: the pod's; the path of a new pod has none. */
static int refuse(struct call *call, const char *name, const struct holder *holder,
		  int cpu)
{
	char why[NEAP_POD_KEY + 320];

	(void)snprintf(why, sizeof(why),
		       "CPU %d of node %.253s is given to pod %s/%s already", cpu,
		       holder->node, holder->ns, holder->name);
	(void)neap_kube_fail_conflict(&call->failure, call->target.kind, name, why);
	if (strcmp(call->target.sub, "binding") == 0) {
		call->failure.part = "binding";
		(void)snprintf(call->failure.message, sizeof(call->failure.message),
			       "Operation cannot be fulfilled on pods/binding \"%s\": %s",
			       name, why);
	}
	return -1;
}

static int check(struct call *call, const char *ns, const char *name, const char *node,
		 const struct neap_cpuset *wanted)
{
	struct kube_cpus *cpus = call->kube->cpus;
	struct seats *seats = neap_map_find(cpus->nodes, node);
	bool is_shared = call->kube->cpu_refs_max > 1;
	uint16_t *counts =
		is_shared ? neap_alloc_array(NEAP_CPU_MAX, sizeof(*counts)) : NULL;
	int found = -1, failed = is_shared && !counts ? call_nomem(call) : 0;
	struct holder *holder, *next;

	for (holder = seats ? seats->first : NULL; holder && failed == 0; holder = next) {
		struct neap_object *newest =
			neap_store_newest(cpus->store, "pods", holder->ns, holder->name);
		const char *there = "";

		next = holder->next;
		if (strcmp(holder->name, name) == 0 && strcmp(holder->ns, ns) == 0)
			continue;
		if (!newest || !may_hold(newest, &there) || strcmp(there, node) != 0)
			continue;
		if (!refresh(holder, newest)) {
			failed = call_nomem(call);
			break;
		}
		found = count(holder, wanted, counts, call->kube->cpu_refs_max);
		if (found >= 0)
			failed = refuse(call, name, holder, found);
	}
	free(counts);
	return failed;
}

int call_check_cpus(struct call *call, const json_t *pod, const json_t *before)
{
	const char *node = node_of(pod);
	struct neap_cpuset wanted;
	struct neap_error err;
	char *text = NULL;
	bool is_short = false;
	int ret = 0;

	if (!node)
		return 0;
	if (!read_cpus(pod, &text))
		return call_nomem(call);
	/* A list that cannot be read assigns no CPUs. */
	if (!text || has_them(before, node, text, &is_short) ||
	    neap_cpuset_parse_told(&wanted, text, NULL) < 0) {
		free(text);
		return is_short ? call_nomem(call) : 0;
	}
	free(text);
	if (call->kube->cpus && call->kube->cpus->is_stale) {
		kube_cpus_free(call->kube->cpus);
		call->kube->cpus = NULL;
	}
	if (!call->kube->cpus)
		ret = start(call->kube, &err);
	if (ret < 0)
		return call_error(call, &err);
	return check(call, call->target.ns, neap_kube_meta_text(pod, "name"), node,
		     &wanted);
}

void kube_cpus_note(const struct call *call)
{
	look(call->kube->cpus, call->target.ns, call->target.name);
}
