/* SPDX-License-Identifier: Apache-2.0
 *
 * For revisions.t: revisions FILE SETS BYTES WHAT. Puts a Deployment and SETS ReplicaSets
 * into a store's file, each of its own template of so many bytes, in many small members.
 * WHAT is "old": they have no replicas, and none is deleted; "scaled": the Deployment is
 * paused, and each has a replica and its pod; "strays": nobody has them yet. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "t/lib/fill.h"

#define NS    "web"
#define OWNER "00000000-0000-4000-8000-0000000000cc"
#define MAX   "deployment.kubernetes.io/max-replicas"

struct kind {
	int sets;
	size_t bytes; /* of a template */
	bool is_owned;
	int replicas; /* of each set */
};

static json_t *template_new(const struct kind *kind, int number)
{
	char image[32];

	(void)snprintf(image, sizeof(image), "i:%d", number);
	return json_pack(
		"{s:{s:{s:s}}, s:{s:s, s:s, s:s, s:i, s:{}, s:[{s:s, s:s, s:s, s:s, s:s, "
		"s:o}]}}",
		"metadata", "labels", "app", "web", "spec", "restartPolicy", "Always",
		"dnsPolicy", "ClusterFirst", "schedulerName", "neap-scheduler",
		"terminationGracePeriodSeconds", 0, "securityContext", "containers",
		"name", "c", "image", image, "imagePullPolicy", "IfNotPresent",
		"terminationMessagePath", "/dev/termination-log",
		"terminationMessagePolicy", "File", "env",
		filler_variables_new(kind->bytes));
}

static json_t *owners_new(const char *kind, const char *name, const char *uid)
{
	return json_pack("[{s:s, s:s, s:s, s:s, s:b, s:b}]", "apiVersion", "apps/v1",
			 "kind", kind, "name", name, "uid", uid, "controller", 1,
			 "blockOwnerDeletion", 1);
}

static void put_deployment(struct filler *filler, const struct kind *kind)
{
	filler_put(filler, "deployments.apps",
		   json_pack("{s:{s:s, s:s, s:s, s:i}, s:{s:b, s:i, s:i, s:{s:{s:s}}, "
			     "s:{s:s, s:{s:i, s:i}}, s:o}}",
			     "metadata", "name", "web", "namespace", NS, "uid", OWNER,
			     "generation", 1, "spec", "paused", kind->replicas,
			     "replicas", kind->sets * kind->replicas,
			     "revisionHistoryLimit", 1000000, "selector", "matchLabels",
			     "app", "web", "strategy", "type", "RollingUpdate",
			     "rollingUpdate", "maxSurge", 0, "maxUnavailable", 1,
			     "template", template_new(kind, kind->sets - 1)));
}

static void put_set(struct filler *filler, const struct kind *kind, int number,
		    const char *name, const char *uid)
{
	char revision[16], sum[16];
	json_t *set;

	(void)snprintf(revision, sizeof(revision), "%d", number + 1);
	(void)snprintf(sum, sizeof(sum), "%d", kind->sets * kind->replicas);
	set = json_pack("{s:{s:s, s:s, s:s, s:i, s:{s:s}, s:{s:s, s:s, s:s}}, s:{s:i, "
			"s:{s:{s:s}}, s:o}, s:{s:i, s:i, s:i, s:i, s:i}}",
			"metadata", "name", name, "namespace", NS, "uid", uid,
			"generation", 1, "labels", "app", "web", "annotations",
			"deployment.kubernetes.io/revision", revision,
			"deployment.kubernetes.io/desired-replicas", sum, MAX, sum,
			"spec", "replicas", kind->replicas, "selector", "matchLabels",
			"app", "web", "template", template_new(kind, number), "status",
			"observedGeneration", 1, "replicas", kind->replicas,
			"fullyLabeledReplicas", kind->replicas, "readyReplicas",
			kind->replicas, "availableReplicas", kind->replicas);
	if (kind->is_owned)
		(void)json_object_set_new(json_object_get(set, "metadata"),
					  "ownerReferences",
					  owners_new("Deployment", "web", OWNER));
	filler_put(filler, "replicasets.apps", set);
}

static void put_pod(struct filler *filler, int number, const char *set, const char *uid)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "pod-%05d", number);
	filler_put(
		filler, "pods",
		json_pack("{s:{s:s, s:s, s:{s:s}, s:o}, s:{s:s, s:s, s:i, s:[{s:s, s:s, "
			  "s:s}]}, s:{s:s, s:[{s:s, s:s}]}}",
			  "metadata", "name", name, "namespace", NS, "labels", "app",
			  "web", "ownerReferences", owners_new("ReplicaSet", set, uid),
			  "spec", "nodeName", "node", "restartPolicy", "Always",
			  "terminationGracePeriodSeconds", 0, "containers", "name", "c",
			  "image", "i", "imagePullPolicy", "IfNotPresent", "status",
			  "phase", "Running", "conditions", "type", "Ready", "status",
			  "True"));
}

int main(int argc, char **argv)
{
	struct kind kind = {0};
	struct filler *filler;
	char name[32], uid[40];

	if (argc == 5) {
		kind.sets = (int)strtol(argv[2], NULL, 10);
		kind.bytes = strtoul(argv[3], NULL, 10);
		kind.is_owned = strcmp(argv[4], "strays") != 0;
		kind.replicas = strcmp(argv[4], "scaled") == 0;
	}
	if (kind.sets < 1) {
		(void)fprintf(stderr,
			      "usage: revisions FILE SETS BYTES old|scaled|strays\n");
		return 2;
	}
	filler = filler_open(argv[1]);
	filler_put_namespace(filler, "default");
	filler_put_namespace(filler, NS);
	put_deployment(filler, &kind);
	for (int i = 0; i < kind.sets; i++) {
		(void)snprintf(name, sizeof(name), "web-%05d", i);
		(void)snprintf(uid, sizeof(uid), "00000000-0000-4000-b000-%012x", i);
		put_set(filler, &kind, i, name, uid);
		if (kind.replicas)
			put_pod(filler, i, name, uid);
	}
	filler_close(filler);
	return 0;
}
