/* SPDX-License-Identifier: Apache-2.0
 *
 * For labels.t: labels FILE NODES PODS LABELS OTHERS [OWNERS]. Puts what selections are
 * dear of into a store's file: pods of many labels in the namespace "web", most of them
 * nobody's, ReplicaSets, Deployments and disruption budgets with selectors of as many
 * rules as there may be, and OTHERS of each kind that is looked through. "labels
 * selector" prints such a selector as a text. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "t/lib/fill.h"

#define NS      "web"
#define RULES   64
#define WIDE    10 /* ReplicaSets, Deployments and Jobs that are looked at */
#define BUDGETS 8  /* of one pod */
#define OWNER   "00000000-0000-4000-8000-0000000000bb"

/* "l0000" to LABELS: "v". */
static json_t *labels_new(int count)
{
	json_t *labels = json_object();
	char key[16];

	for (int i = 0; i < count; i++) {
		(void)snprintf(key, sizeof(key), "l%04d", i);
		(void)json_object_set_new(labels, key, json_string("v"));
	}
	return labels;
}

/* All rules hold, spread over the labels, but for the last one, unless it takes all. */
static json_t *selector_new(int labels, bool takes_all)
{
	json_t *rules = json_array();
	char key[16];

	for (int i = 0; i < RULES - 1; i++) {
		(void)snprintf(key, sizeof(key), "l%04d", i * labels / RULES);
		(void)json_array_append_new(
			rules, json_pack("{s:s, s:s}", "key", key, "operator", "Exists"));
	}
	(void)json_array_append_new(rules,
				    json_pack("{s:s, s:s}", "key", "none", "operator",
					      takes_all ? "DoesNotExist" : "Exists"));
	return json_pack("{s:o}", "matchExpressions", rules);
}

static void print_selector(int labels)
{
	for (int i = 0; i < RULES - 1; i++)
		printf("l%04d,", i * labels / RULES);
	printf("none\n");
}

static json_t *template_new(json_t *labels)
{
	return json_pack("{s:{s:o}, s:{s:s, s:[{s:s, s:s}]}}", "metadata", "labels",
			 labels, "spec", "restartPolicy", "Always", "containers", "name",
			 "c", "image", "i");
}

/* The template has what the selector asks for. */
static void put_set(struct filler *filler, const char *resource, const char *prefix,
		    int number, int labels, int own_labels)
{
	json_t *wanted = labels_new(labels);
	char name[32];

	(void)snprintf(name, sizeof(name), "%s-%05d", prefix, number);
	(void)json_object_set_new(wanted, "none", json_string(""));
	filler_put(filler, resource,
		   json_pack("{s:{s:s, s:s, s:i, s:o}, s:{s:i, s:o, s:o}}", "metadata",
			     "name", name, "namespace", NS, "generation", 1, "labels",
			     labels_new(own_labels), "spec", "replicas", 0, "selector",
			     selector_new(labels, false), "template",
			     template_new(wanted)));
}

static void put_budget(struct filler *filler, int number, int labels, bool takes_all)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "budget-%05d", number);
	filler_put(filler, "poddisruptionbudgets.policy",
		   json_pack("{s:{s:s, s:s, s:i}, s:{s:i, s:o}}", "metadata", "name",
			     name, "namespace", NS, "generation", 1, "spec",
			     "minAvailable", 1, "selector",
			     selector_new(labels, takes_all)));
}

static void put_job(struct filler *filler, int number)
{
	char name[32];
	json_t *job;

	(void)snprintf(name, sizeof(name), "job-%05d", number);
	job = json_pack("{s:{s:s, s:s, s:i}, s:{s:i, s:b, s:{s:{s:{s:s}}, s:{s:s, "
			"s:[{s:s, s:s}]}}}}",
			"metadata", "name", name, "namespace", NS, "generation", 1,
			"spec", "parallelism", 1, "suspend", 1, "template", "metadata",
			"labels", "job", name, "spec", "restartPolicy", "Never",
			"containers", "name", "c", "image", "i");
	if (number == 0) {
		(void)json_object_set_new(json_object_get(job, "metadata"), "uid",
					  json_string(OWNER));
		(void)json_object_set_new(json_object_get(job, "spec"), "managedBy",
					  json_string("example.com/other"));
	}
	filler_put(filler, "jobs.batch", job);
}

static void put_node(struct filler *filler, int number)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "node-%05d", number);
	filler_put(filler, "nodes",
		   json_pack("{s:{s:s}, s:{}, s:{s:{s:s, s:s, s:s}}}", "metadata", "name",
			     name, "spec", "status", "allocatable", "cpu", "64", "memory",
			     "256Gi", "pods", "110"));
}

static json_t *owners_new(int number, int count)
{
	json_t *owners = json_array();
	char uid[40];

	for (int i = 0; i < count; i++) {
		(void)snprintf(uid, sizeof(uid), "00000000-0000-4000-a000-%06d%06d",
			       number, i);
		(void)json_array_append_new(owners, json_pack("{s:s, s:s, s:s, s:s}",
							      "apiVersion", "batch/v1",
							      "kind", "Job", "name",
							      i ? "gone" : "job-00000",
							      "uid", i ? uid : OWNER));
	}
	return owners;
}

/* Every fifth one is tracked for a Job that somebody else manages. */
static void put_pod(struct filler *filler, int number, int nodes, int labels, int owners)
{
	char name[32], node[32];
	json_t *pod;

	(void)snprintf(name, sizeof(name), "pod-%06d", number);
	(void)snprintf(node, sizeof(node), "node-%05d", number % nodes);
	pod = json_pack(
		"{s:{s:s, s:s, s:o}, s:{s:s, s:s, s:s, s:s, s:i, s:{}, s:[{s:s, s:s, s:s, s:s, "
		"s:s}]}, s:{s:s, s:[{s:s, s:s}]}}",
		"metadata", "name", name, "namespace", NS, "labels", labels_new(labels),
		"spec", "nodeName", node, "restartPolicy", "Always", "dnsPolicy",
		"ClusterFirst", "schedulerName", "neap-scheduler",
		"terminationGracePeriodSeconds", 0, "securityContext", "containers",
		"name", "c", "image", "i", "imagePullPolicy", "Always",
		"terminationMessagePath", "/dev/termination-log",
		"terminationMessagePolicy", "File", "status", "phase", "Running",
		"conditions", "type", "Ready", "status", "True");
	if (number % 5 == 0) {
		json_t *meta = json_object_get(pod, "metadata");

		(void)json_object_set_new(
			meta, "finalizers",
			json_pack("[s]", "batch.kubernetes.io/job-tracking"));
		(void)json_object_set_new(meta, "ownerReferences",
					  json_pack("[{s:s, s:s, s:s, s:s, s:b}]",
						    "apiVersion", "batch/v1", "kind",
						    "Job", "name", "job-00000", "uid",
						    OWNER, "controller", 1));
	}
	if (owners)
		(void)json_object_set_new(json_object_get(pod, "metadata"),
					  "ownerReferences", owners_new(number, owners));
	filler_put(filler, "pods", pod);
}

int main(int argc, char **argv)
{
	int numbers[5] = {0};
	struct filler *filler;

	for (int i = 0; i < 5 && i + 2 < argc; i++)
		numbers[i] = (int)strtol(argv[i + 2], NULL, 10);
	if (argc == 3 && strcmp(argv[1], "selector") == 0) {
		print_selector(numbers[0]);
		return 0;
	}
	if (argc < 6 || argc > 7 || numbers[0] < 1) {
		(void)fprintf(stderr,
			      "usage: labels FILE NODES PODS LABELS OTHERS [OWNERS]\n");
		return 2;
	}
	filler = filler_open(argv[1]);
	filler_put_namespace(filler, "default");
	filler_put_namespace(filler, NS);
	for (int i = 0; i < numbers[0]; i++)
		put_node(filler, i);
	for (int i = 0; i < numbers[1]; i++)
		put_pod(filler, i, numbers[0], numbers[2], numbers[4]);
	for (int i = 0; i < WIDE; i++)
		put_set(filler, "deployments.apps", "deployment", i, numbers[2], 0);
	for (int i = 0; i < WIDE; i++)
		put_job(filler, i);
	for (int i = 0; i < numbers[3]; i++)
		put_set(filler, "replicasets.apps", "set", i, numbers[2],
			i < WIDE ? 0 : numbers[2]);
	for (int i = 0; i < numbers[3]; i++)
		put_budget(filler, i, numbers[2], i < BUDGETS);
	filler_close(filler);
	return 0;
}
