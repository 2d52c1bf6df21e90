/* SPDX-License-Identifier: Apache-2.0
 *
 * For P33: cluster_fill FILE NODES PODS. Puts a cluster into a store's file: nodes, pods
 * that run on them, six of ten in the namespace "web" (of these a third made by the
 * ReplicaSet "own", all under a disruption budget), the others in "batch"; a fifth as
 * many objects of a declared kind "widgets"; two fifths as many events. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "t/lib/fill.h"

#define TIME  "2026-11-01T00:00:00Z"
#define OWNER "00000000-0000-4000-8000-0000000000aa"

static void put_node(struct filler *filler, int number)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "node-%05d", number);
	filler_put(
		filler, "nodes",
		json_pack(
			"{s:{s:s, s:{s:s, s:s}}, s:{}, s:{s:{s:s, s:s, s:s}, s:{s:s, s:s, "
			"s:s}, s:[{s:s, s:s, s:s}]}}",
			"metadata", "name", name, "labels", "kubernetes.io/hostname",
			name, "zone", number % 3 ? "a" : "b", "spec", "status",
			"capacity", "cpu", "64", "memory", "256Gi", "pods", "110",
			"allocatable", "cpu", "64", "memory", "256Gi", "pods", "110",
			"conditions", "type", "Ready", "status", "True", "reason",
			"KubeletReady"));
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
	filler_put(filler, "pods", pod);
}

static void put_owner(struct filler *filler, int pods)
{
	filler_put(
		filler, "replicasets.apps",
		json_pack("{s:{s:s, s:s, s:s, s:i}, s:{s:i, s:{s:{s:s}}, s:{s:{s:{s:s}}, "
			  "s:{s:[{s:s, s:s}]}}}, s:{s:i}}",
			  "metadata", "name", "own", "namespace", "web", "uid", OWNER,
			  "generation", 1, "spec", "replicas", pods, "selector",
			  "matchLabels", "app", "web", "template", "metadata", "labels",
			  "app", "web", "spec", "containers", "name", "main", "image",
			  "example.com/main:1", "status", "replicas", pods));
	filler_put(filler, "poddisruptionbudgets.policy",
		   json_pack("{s:{s:s, s:s, s:i}, s:{s:i, s:{s:{s:s}}}}", "metadata",
			     "name", "most", "namespace", "web", "generation", 1, "spec",
			     "minAvailable", 1, "selector", "matchLabels", "app", "web"));
}

static void put_widgets(struct filler *filler, int count)
{
	filler_put(
		filler, "customresourcedefinitions.apiextensions.k8s.io",
		json_pack(
			"{s:{s:s, s:i}, s:{s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:[{s:s, s:b, "
			"s:b, s:{s:{s:s, s:b}}}]}}",
			"metadata", "name", "widgets.example.com", "generation", 1,
			"spec", "group", "example.com", "scope", "Namespaced", "names",
			"plural", "widgets", "singular", "widget", "kind", "Widget",
			"listKind", "WidgetList", "versions", "name", "v1", "served", 1,
			"storage", 1, "schema", "openAPIV3Schema", "type", "object",
			"x-kubernetes-preserve-unknown-fields", 1));
	for (int i = 0; i < count; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "widget-%06d", i);
		filler_put(filler, "widgets.example.com",
			   json_pack("{s:{s:s, s:s, s:i}, s:{s:i}}", "metadata", "name",
				     name, "namespace", "default", "generation", 1,
				     "spec", "size", i));
	}
}

static void put_events(struct filler *filler, int count)
{

	for (int i = 0; i < count; i++) {
		char name[32], pod[32];

		(void)snprintf(name, sizeof(name), "event-%06d", i);
		(void)snprintf(pod, sizeof(pod), "pod-%06d", i);
		filler_put(
			filler, "events",
			json_pack(
				"{s:{s:s, s:s}, s:{s:s, s:s, s:s}, s:s, s:s, s:s, s:s, s:i}",
				"metadata", "name", name, "namespace", "batch",
				"involvedObject", "kind", "Pod", "namespace", "batch",
				"name", pod, "reason", "Started", "type", "Normal",
				"message", "Started container main", "lastTimestamp",
				TIME, "count", 1));
	}
}

int main(int argc, char **argv)
{
	int nodes = argc == 4 ? (int)strtol(argv[2], NULL, 10) : 0;
	int pods = argc == 4 ? (int)strtol(argv[3], NULL, 10) : 0;
	struct filler *filler;

	if (nodes < 1 || pods < 1) {
		(void)fprintf(stderr, "usage: cluster_fill FILE NODES PODS\n");
		return 2;
	}
	filler = filler_open(argv[1]);
	filler_put_namespace(filler, "default");
	filler_put_namespace(filler, "web");
	filler_put_namespace(filler, "batch");
	put_owner(filler, (pods * 6 / 10 + 2) / 3);
	for (int i = 0; i < nodes; i++)
		put_node(filler, i);
	for (int i = 0; i < pods; i++)
		put_pod(filler, i, nodes, i < pods * 6 / 10);
	put_widgets(filler, pods / 5);
	put_events(filler, pods * 2 / 5);
	filler_close(filler);
	return 0;
}
