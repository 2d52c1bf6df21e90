/* SPDX-License-Identifier: Apache-2.0
 *
 * For turns.t: turns FILE WHAT COUNT [BYTES]. Puts into a store's file what a controller
 * has to work on at once, beside the nodes that it is about:
 * "nodes": COUNT nodes whose Leases nobody renews, with ten pods each;
 * "jobs": COUNT Jobs, with a pod each that has ended; "new-jobs": that have none yet;
 * "reservations": COUNT Available Reservations, five on each node, with an owner each;
 * "new-reservations": as many that have no place yet.
 * Templates of Jobs and Reservations have so many BYTES, in many small members. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "t/lib/fill.h"

#define TIME "2026-11-01T00:00:00Z"
#define NS   "web"

#define PODS_A_NODE 10
#define EACH_NODE   5 /* Jobs or Reservations */

static char *name_of(char ret[32], const char *what, int number)
{
	(void)snprintf(ret, 32, "%s-%05d", what, number);
	return ret;
}

static char *uid_of(char ret[40], const char *group, int number)
{
	(void)snprintf(ret, 40, "00000000-0000-4000-%s-%012x", group, number);
	return ret;
}

static void put_node(struct filler *filler, int number, bool has_lease)
{
	char name[32];

	(void)name_of(name, "node", number);
	filler_put(filler, "nodes",
		   json_pack("{s:{s:s, s:{s:s}}, s:{}, s:{s:{s:s, s:s, s:s}, s:{s:s, "
			     "s:s, s:s}, s:[{s:s, s:s, s:s}]}}",
			     "metadata", "name", name, "labels", "kubernetes.io/hostname",
			     name, "spec", "status", "capacity", "cpu", "64", "memory",
			     "256Gi", "pods", "110", "allocatable", "cpu", "64", "memory",
			     "256Gi", "pods", "110", "conditions", "type", "Ready",
			     "status", "True", "reason", "KubeletReady"));
	if (has_lease)
		filler_put(filler, "leases.coordination.k8s.io",
			   json_pack("{s:{s:s, s:s}, s:{s:s, s:i, s:s}}", "metadata",
				     "name", name, "namespace", "kube-node-lease", "spec",
				     "holderIdentity", name, "leaseDurationSeconds", 40,
				     "renewTime", "2026-11-01T00:00:00.000000Z"));
}

static json_t *owners_new(const char *api_version, const char *kind, const char *name,
			  const char *uid)
{
	return json_pack("[{s:s, s:s, s:s, s:s, s:b, s:b}]", "apiVersion", api_version,
			 "kind", kind, "name", name, "uid", uid, "controller", 1,
			 "blockOwnerDeletion", 1);
}

/* meta: more of its metadata, taken; NULL: nothing. */
static void put_pod(struct filler *filler, int number, int node, const char *phase,
		    size_t bytes, json_t *meta)
{
	char name[32], at[32];
	json_t *pod;

	/* With all defaults, so that a change of the pod is none of them. */
	pod = json_pack(
		"{s:{s:s, s:s, s:{s:s}}, s:{s:s, s:s, s:s, s:s, s:{}, s:i, s:b, s:i, s:s, "
		"s:[{s:s, s:s, s:s, s:s, s:s, s:{s:{s:s, s:s}}, s:o}]}, s:{s:s, s:[{s:s, "
		"s:s, s:s}, {s:s, s:s, s:s}]}}",
		"metadata", "name", name_of(name, "pod", number), "namespace", NS,
		"labels", "app", "web", "spec", "nodeName", name_of(at, "node", node),
		"schedulerName", "neap-scheduler", "restartPolicy", "Never", "dnsPolicy",
		"ClusterFirst", "securityContext", "terminationGracePeriodSeconds", 0,
		"enableServiceLinks", 1, "priority", 0, "preemptionPolicy",
		"PreemptLowerPriority", "containers", "name", "c", "image", "i",
		"imagePullPolicy", "IfNotPresent", "terminationMessagePath",
		"/dev/termination-log", "terminationMessagePolicy", "File", "resources",
		"requests", "cpu", "1", "memory", "1Gi", "env",
		filler_variables_new(bytes), "status", "phase", phase, "conditions",
		"type", "PodScheduled", "status", "True", "lastTransitionTime", TIME,
		"type", "Ready", "status",
		strcmp(phase, "Running") == 0 ? "True" : "False", "lastTransitionTime",
		TIME);
	(void)json_object_update(json_object_get(pod, "metadata"), meta);
	json_decref(meta);
	filler_put(filler, "pods", pod);
}

static void put_lost_node(struct filler *filler, int number, size_t bytes)
{
	put_node(filler, number, true);
	for (int i = 0; i < PODS_A_NODE; i++)
		put_pod(filler, number * PODS_A_NODE + i, number, "Running", bytes, NULL);
}

static void put_job(struct filler *filler, int number, size_t bytes, bool has_pod)
{
	char name[32], uid[40];
	json_t *owners;

	(void)name_of(name, "job", number);
	(void)uid_of(uid, "a000", number);
	filler_put(
		filler, "jobs.batch",
		json_pack(
			"{s:{s:s, s:s, s:s, s:i}, s:{s:i, s:i, s:i, s:s, s:{s:{s:s}}, "
			"s:{s:{s:{s:s}}, s:{s:s, s:s, s:s, s:i, s:{}, s:[{s:s, s:s, s:s, "
			"s:s, s:s, s:o}]}}}, s:{}}",
			"metadata", "name", name, "namespace", NS, "uid", uid,
			"generation", 1, "spec", "parallelism", 1, "completions", 1,
			"backoffLimit", 6, "completionMode", "NonIndexed", "selector",
			"matchLabels", "job-name", name, "template", "metadata", "labels",
			"job-name", name, "spec", "restartPolicy", "Never", "dnsPolicy",
			"ClusterFirst", "schedulerName", "nobody",
			"terminationGracePeriodSeconds", 0, "securityContext",
			"containers", "name", "c", "image", "i", "imagePullPolicy",
			"IfNotPresent", "terminationMessagePath", "/dev/termination-log",
			"terminationMessagePolicy", "File", "env",
			filler_variables_new(bytes), "status"));
	if (!has_pod)
		return;
	owners = owners_new("batch/v1", "Job", name, uid);
	put_pod(filler, number, number / EACH_NODE, "Succeeded", bytes,
		json_pack("{s:o, s:[s]}", "ownerReferences", owners, "finalizers",
			  "batch.kubernetes.io/job-tracking"));
}

static void put_reservation(struct filler *filler, int number, size_t bytes,
			    bool is_placed)
{
	char name[32], uid[40], node[32], note[160];
	json_t *reservation;

	(void)name_of(name, "r", number);
	(void)uid_of(uid, "a000", number);
	reservation = json_pack(
		"{s:{s:s, s:s, s:i}, s:{s:b, s:s, s:[{s:{s:{s:s}}}], s:{s:{s:[{s:s, s:s, "
		"s:{s:{s:s, s:s}}, s:o}], s:s}}}}",
		"metadata", "name", name, "uid", uid, "generation", 1, "spec",
		"allocateOnce", 0, "ttl", "0s", "owners", "labelSelector", "matchLabels",
		"app", "web", "template", "spec", "containers", "name", "c", "image", "i",
		"resources", "requests", "cpu", "4", "memory", "8Gi", "env",
		filler_variables_new(bytes), "schedulerName", "neap-scheduler");
	if (is_placed)
		(void)json_object_set_new(
			reservation, "status",
			json_pack(
				"{s:s, s:s, s:{s:s, s:s}, s:[{s:s, s:s, s:s, s:s, s:s}, "
				"{s:s, s:s, s:s, s:s, s:s}]}",
				"phase", "Available", "nodeName",
				name_of(node, "node", number / EACH_NODE), "allocatable",
				"cpu", "4", "memory", "8Gi", "conditions", "type",
				"Scheduled", "status", "True", "reason", "Scheduled",
				"lastProbeTime", TIME, "lastTransitionTime", TIME, "type",
				"Ready", "status", "True", "reason", "Available",
				"lastProbeTime", TIME, "lastTransitionTime", TIME));
	filler_put(filler, "reservations.scheduling.koordinator.sh", reservation);
	if (!is_placed)
		return;
	(void)snprintf(note, sizeof(note), "{\"name\":\"%s\",\"uid\":\"%s\"}", name, uid);
	put_pod(filler, number, number / EACH_NODE, "Running", 0,
		json_pack("{s:{s:s}}", "annotations",
			  "scheduling.koordinator.sh/reservation-allocated", note));
}

int main(int argc, char **argv)
{
	const char *what = argc > 3 ? argv[2] : "";
	int count = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 0;
	size_t bytes = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
	bool is_new = strncmp(what, "new-", 4) == 0;
	struct filler *filler;

	what += is_new ? 4 : 0;
	if (count < 1) {
		(void)fprintf(stderr, "usage: turns FILE nodes|[new-]jobs|"
				      "[new-]reservations COUNT [BYTES]\n");
		return 2;
	}
	filler = filler_open(argv[1]);
	filler_put_namespace(filler, "default");
	filler_put_namespace(filler, "kube-node-lease");
	filler_put_namespace(filler, NS);
	for (int i = 0; i < count; i++)
		if (strcmp(what, "nodes") == 0)
			put_lost_node(filler, i, bytes);
		else if (strcmp(what, "jobs") == 0)
			put_job(filler, i, bytes, !is_new);
		else
			put_reservation(filler, i, bytes, !is_new);
	for (int i = 0; strcmp(what, "nodes") != 0 && i <= count / EACH_NODE; i++)
		put_node(filler, i, false);
	filler_close(filler);
	return 0;
}
