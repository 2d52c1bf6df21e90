/* SPDX-License-Identifier: Apache-2.0
 *
 * For P33: cluster_fill FILE NODES PODS. Puts a cluster into a store's file: nodes, pods that run on them, six of ten
 * in the namespace "web" (of these a third made by the ReplicaSet "own", all under a disruption budget), the others
 * in "batch"; a fifth as many objects of a declared kind "widgets"; two fifths as many events. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/kube.h"
#include "api/store/sqlite.h"
#include "engine/base/json.h"
#include "engine/base/mem.h"

#define TIME       "2026-11-01T00:00:00Z"
#define OWNER      "00000000-0000-4000-8000-0000000000aa"
#define WRITES_MAX 4096

struct filler {
	struct neap_store *store;
	size_t waiting;
	int next; /* number of the next uid */
};

static void stop(const char *what, const struct neap_error *err)
{
	(void)fprintf(stderr, "cluster_fill: %s: %s\n", what, err->msg);
	exit(1);
}

static void done(void *arg, struct neap_object *object, const struct neap_error *err)
{
	struct filler *filler = arg;

	if (!object)
		stop("a write", err);
	filler->waiting--;
}

static void wait_below(struct filler *filler, size_t count)
{
	while (filler->waiting > count) {
		struct pollfd ready = {.fd = neap_store_fd(filler->store),
				       .events = POLLIN};

		(void)poll(&ready, 1, -1);
		neap_store_hear(filler->store);
	}
}

/* What selectors may name, as neapd stores it; of a kind that is declared nothing. */
static const char *const *fields_of(const char *resource)
{
	static const struct neap_kube_kind *const *const tables[] = {
		neap_kube_core_kinds, neap_kube_apps_kinds, neap_kube_other_kinds};
	char name[NEAP_STORE_RESOURCE];

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (size_t k = 0; tables[i][k]; k++) {
			neap_kube_kind_resource(tables[i][k], name, sizeof(name));
			if (strcmp(name, resource) == 0)
				return tables[i][k]->fields;
		}
	return NULL;
}

static void put(struct filler *filler, const char *resource, json_t *object)
{
	json_t *meta = json_object_get(object, "metadata");
	char ns[NEAP_OBJECT_NAMESPACE] = "", name[NEAP_OBJECT_NAME];
	const char *text = json_string_value(json_object_get(meta, "namespace"));
	struct neap_store_write write = {.verb = NEAP_STORE_CREATE,
					 .resource = resource,
					 .ns = ns,
					 .name = name,
					 .object = object,
					 .fields = fields_of(resource),
					 .done = done,
					 .arg = filler};
	char uid[40];
	struct neap_error err = {0};

	if (text)
		(void)neap_strcopy(ns, sizeof(ns), text);
	(void)neap_strcopy(name, sizeof(name),
			   json_string_value(json_object_get(meta, "name")));
	(void)snprintf(uid, sizeof(uid), "00000000-0000-4000-9000-%012x", filler->next++);
	if (!object ||
	    json_object_set_new(meta, "creationTimestamp", json_string(TIME)) < 0 ||
	    (!json_object_get(meta, "uid") &&
	     json_object_set_new(meta, "uid", json_string(uid)) < 0))
		stop("an object", &err);
	wait_below(filler, WRITES_MAX);
	filler->waiting++;
	if (neap_store_write_take(filler->store, &write, &err) < 0)
		stop(resource, &err);
}

static void put_namespace(struct filler *filler, const char *name)
{
	put(filler, "namespaces",
	    json_pack("{s:{s:s, s:{s:s}}, s:{s:[s]}, s:{s:s}}", "metadata", "name", name,
		      "labels", "kubernetes.io/metadata.name", name, "spec", "finalizers",
		      "kubernetes", "status", "phase", "Active"));
}

static void put_node(struct filler *filler, int number)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "node-%05d", number);
	put(filler, "nodes",
	    json_pack("{s:{s:s, s:{s:s, s:s}}, s:{}, s:{s:{s:s, s:s, s:s}, s:{s:s, s:s, "
		      "s:s}, s:[{s:s, s:s, s:s}]}}",
		      "metadata", "name", name, "labels", "kubernetes.io/hostname", name,
		      "zone", number % 3 ? "a" : "b", "spec", "status", "capacity", "cpu",
		      "64", "memory", "256Gi", "pods", "110", "allocatable", "cpu", "64",
		      "memory", "256Gi", "pods", "110", "conditions", "type", "Ready",
		      "status", "True", "reason", "KubeletReady"));
}

/* As large as one of a real cluster: some 2 KB. */
static void put_pod(struct filler *filler, int number, int nodes, bool is_web)
{
	bool is_owned = is_web && number % 3 == 0;
	char name[32], node[32], filling[512];
	json_t *pod;

	(void)snprintf(name, sizeof(name), "pod-%06d", number);
	(void)snprintf(node, sizeof(node), "node-%05d", number % nodes);
	memset(filling, 'x', sizeof(filling) - 1);
	filling[sizeof(filling) - 1] = '\0';
	pod = json_pack(
		"{s:{s:s, s:s, s:{s:s, s:s}, s:{s:s}}, s:{s:s, s:s, s:s, s:s, s:i, "
		"s:[{s:s, s:s, s:s, s:{s:{s:s, s:s}}}]}, s:{s:s, s:s, s:s, s:s, "
		"s:[{s:s, s:s, s:s}, {s:s, s:s, s:s}, {s:s, s:s, s:s}, {s:s, s:s, s:s}], "
		"s:[{s:s, s:b, s:b, s:i, s:s, s:s, s:{s:{s:s}}}]}}",
		"metadata", "name", name, "namespace", is_web ? "web" : "batch", "labels",
		"app", is_web ? "web" : "batch", "number", name, "annotations", "filling",
		filling, "spec", "nodeName", node, "schedulerName", "neap-scheduler",
		"restartPolicy", "Always", "dnsPolicy", "ClusterFirst",
		"terminationGracePeriodSeconds", 0, "containers", "name", "main", "image",
		"example.com/main:1", "imagePullPolicy", "IfNotPresent", "resources",
		"requests", "cpu", "100m", "memory", "64Mi", "status", "phase", "Running",
		"podIP", "10.0.0.1", "startTime", TIME, "qosClass", "Burstable",
		"conditions", "type", "Initialized", "status", "True",
		"lastTransitionTime", TIME, "type", "Ready", "status", "True",
		"lastTransitionTime", TIME, "type", "ContainersReady", "status", "True",
		"lastTransitionTime", TIME, "type", "PodScheduled", "status", "True",
		"lastTransitionTime", TIME, "containerStatuses", "name", "main", "ready",
		1, "started", 1, "restartCount", 0, "image", "example.com/main:1",
		"imageID", "", "state", "running", "startedAt", TIME);
	if (is_owned)
		(void)json_object_set_new(
			json_object_get(pod, "metadata"), "ownerReferences",
			json_pack("[{s:s, s:s, s:s, s:s, s:b}]", "apiVersion", "apps/v1",
				  "kind", "ReplicaSet", "name", "own", "uid", OWNER,
				  "controller", 1));
	put(filler, "pods", pod);
}

static void put_owner(struct filler *filler, int pods)
{
	put(filler, "replicasets.apps",
	    json_pack("{s:{s:s, s:s, s:s, s:i}, s:{s:i, s:{s:{s:s}}, s:{s:{s:{s:s}}, "
		      "s:{s:[{s:s, s:s}]}}}, s:{s:i}}",
		      "metadata", "name", "own", "namespace", "web", "uid", OWNER,
		      "generation", 1, "spec", "replicas", pods, "selector",
		      "matchLabels", "app", "web", "template", "metadata", "labels",
		      "app", "web", "spec", "containers", "name", "main", "image",
		      "example.com/main:1", "status", "replicas", pods));
	put(filler, "poddisruptionbudgets.policy",
	    json_pack("{s:{s:s, s:s, s:i}, s:{s:i, s:{s:{s:s}}}}", "metadata", "name",
		      "most", "namespace", "web", "generation", 1, "spec", "minAvailable",
		      1, "selector", "matchLabels", "app", "web"));
}

static void put_widgets(struct filler *filler, int count)
{
	put(filler, "customresourcedefinitions.apiextensions.k8s.io",
	    json_pack("{s:{s:s, s:i}, s:{s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:[{s:s, s:b, "
		      "s:b, s:{s:{s:s, s:b}}}]}}",
		      "metadata", "name", "widgets.example.com", "generation", 1, "spec",
		      "group", "example.com", "scope", "Namespaced", "names", "plural",
		      "widgets", "singular", "widget", "kind", "Widget", "listKind",
		      "WidgetList", "versions", "name", "v1", "served", 1, "storage", 1,
		      "schema", "openAPIV3Schema", "type", "object",
		      "x-kubernetes-preserve-unknown-fields", 1));
	for (int i = 0; i < count; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "widget-%06d", i);
		put(filler, "widgets.example.com",
		    json_pack("{s:{s:s, s:s, s:i}, s:{s:i}}", "metadata", "name", name,
			      "namespace", "default", "generation", 1, "spec", "size",
			      i));
	}
}

static void put_events(struct filler *filler, int count)
{

	for (int i = 0; i < count; i++) {
		char name[32], pod[32];

		(void)snprintf(name, sizeof(name), "event-%06d", i);
		(void)snprintf(pod, sizeof(pod), "pod-%06d", i);
		put(filler, "events",
		    json_pack(
			    "{s:{s:s, s:s}, s:{s:s, s:s, s:s}, s:s, s:s, s:s, s:s, s:i}",
			    "metadata", "name", name, "namespace", "batch",
			    "involvedObject", "kind", "Pod", "namespace", "batch", "name",
			    pod, "reason", "Started", "type", "Normal", "message",
			    "Started container main", "lastTimestamp", TIME, "count", 1));
	}
}

int main(int argc, char **argv)
{
	struct neap_store_sqlite_config config = {.file = argc > 1 ? argv[1] : NULL};
	int nodes = argc == 4 ? (int)strtol(argv[2], NULL, 10) : 0;
	int pods = argc == 4 ? (int)strtol(argv[3], NULL, 10) : 0;
	struct filler filler = {0};
	struct neap_error err = {0};

	if (nodes < 1 || pods < 1) {
		(void)fprintf(stderr, "usage: cluster_fill FILE NODES PODS\n");
		return 2;
	}
	neap_json_setup();
	if (neap_store_sqlite_open(&config, &filler.store, &err) < 0)
		stop(argv[1], &err);
	put_namespace(&filler, "default");
	put_namespace(&filler, "web");
	put_namespace(&filler, "batch");
	put_owner(&filler, (pods * 6 / 10 + 2) / 3);
	for (int i = 0; i < nodes; i++)
		put_node(&filler, i);
	for (int i = 0; i < pods; i++)
		put_pod(&filler, i, nodes, i < pods * 6 / 10);
	put_widgets(&filler, pods / 5);
	put_events(&filler, pods * 2 / 5);
	wait_below(&filler, 0);
	neap_store_free(filler.store);
	return 0;
}
