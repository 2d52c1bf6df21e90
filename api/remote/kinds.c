/* SPDX-License-Identifier: Apache-2.0 */
#include "api/remote/kinds.h"

#include <stdio.h>
#include <string.h>

#include "api/remote/transport.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

static const char *const core[] = {"v1", NULL};
static const char *const alpha[] = {"v1alpha1", NULL};
static const char *const policy[] = {"v1", "v1beta1", NULL};
static const char *const beta[] = {"v1beta1", "v1alpha1", NULL};

/* By the server's version a cache is compared with what was written. */
#define SEEN "metadata.resourceVersion"
static const char *const plain[] = {SEEN, NULL};
static const char *const pod[] = {SEEN, "spec.nodeName", "spec.schedulerName",
				  "status.phase", NULL};

static const struct neap_remote_kind kinds[] = {
	{"pods", "Pod", core, true, pod},
	{"nodes", "Node", core, false, plain},
	{"namespaces", "Namespace", core, false, plain},
	{"persistentvolumes", "PersistentVolume", core, false, plain},
	{"persistentvolumeclaims", "PersistentVolumeClaim", core, true, plain},
	{"events", "Event", core, true, plain},
	{"configmaps", "ConfigMap", core, true, plain},
	{"deployments.apps", "Deployment", core, true, plain},
	{"replicasets.apps", "ReplicaSet", core, true, plain},
	{"statefulsets.apps", "StatefulSet", core, true, plain},
	{"replicationcontrollers", "ReplicationController", core, true, plain},
	{"clonesets.apps.kruise.io", "CloneSet", alpha, true, plain},
	{"statefulsets.apps.kruise.io", "StatefulSet", beta, true, plain},
	{"priorityclasses.scheduling.k8s.io", "PriorityClass", core, false, plain},
	{"poddisruptionbudgets.policy", "PodDisruptionBudget", policy, true, plain},
	{"storageclasses.storage.k8s.io", "StorageClass", core, false, plain},
	{"leases.coordination.k8s.io", "Lease", core, true, plain},
	{"nodemetrics.slo.koordinator.sh", "NodeMetric", alpha, false, plain},
	{"noderesourcetopologies.topology.node.k8s.io", "NodeResourceTopology", alpha,
	 false, plain},
	{"reservations.scheduling.koordinator.sh", "Reservation", alpha, false, plain},
	{"podmigrationjobs.scheduling.koordinator.sh", "PodMigrationJob", alpha, false,
	 plain},
};

const struct neap_remote_kind *neap_remote_kind_find(const char *resource)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(kinds); i++)
		if (strcmp(kinds[i].resource, resource) == 0)
			return &kinds[i];
	return NULL;
}

const char *neap_remote_kind_group(const struct neap_remote_kind *kind)
{
	const char *dot = strchr(kind->resource, '.');

	return dot != NULL ? dot + 1 : "";
}

size_t neap_remote_kind_plural(const struct neap_remote_kind *kind)
{
	return strcspn(kind->resource, ".");
}

/* Digits without leading zeros; 0: no number. */
static size_t digits(const char **text)
{
	size_t len;

	while (**text == '0')
		++*text;
	len = strspn(*text, "0123456789");
	return (*text)[len] == '\0' ? len : 0;
}

int neap_remote_version_compare(const char *a, const char *b)
{
	size_t of_a = digits(&a), of_b = digits(&b);

	if (of_a != of_b)
		return of_a < of_b ? -1 : 1;
	return of_a == 0 ? 0 : strcmp(a, b);
}

/* The text with U+FFFD for every escaped NUL, which no text here can hold. NULL without
 * memory. */
static char *without_nuls(const char *text, size_t len)
{
	static const char nul[] = "\\u0000";
	char *copy = neap_strndup(text, len);

	for (size_t i = 0; copy != NULL && i + 1 < len; i++) {
		if (copy[i] != '\\')
			continue;
		if (i + sizeof(nul) - 1 <= len &&
		    memcmp(copy + i, nul, sizeof(nul) - 1) == 0)
			memcpy(copy + i, "\\ufffd", sizeof(nul) - 1);
		i++; /* what is escaped begins nothing */
	}
	return copy;
}

int neap_remote_parse(const char *text, size_t len, json_t **ret, struct neap_error *err)
{
	json_error_t where;
	int rc = neap_json_parse(text, len, 0, ret, &where);

	if (rc < 0 && rc != -NEAP_ENOMEM && memmem(text, len, "\\u0000", 6) != NULL) {
		neap_auto_free char *copy = without_nuls(text, len);

		if (copy == NULL)
			return neap_error_nomem(err);
		rc = neap_json_parse(copy, len, 0, ret, &where);
	}
	if (rc == -NEAP_ENOMEM)
		return neap_error_nomem(err);
	return rc < 0 ? neap_error_set(err, NEAP_EINVAL, "the answer is no JSON: %s",
				       where.text)
		      : 0;
}

const char *neap_remote_why(const struct neap_transport_answer *answer, char *buf,
			    size_t size)
{
	struct neap_error err;
	json_t *status = NULL;
	const char *message = NULL;

	if (answer->status == 0 || answer->status == 200) {
		(void)snprintf(buf, size, "%s", answer->why);
		return buf;
	}
	if (neap_remote_parse(answer->body, answer->len, &status, &err) == 0)
		message = neap_json_text(status, "message");
	if (message != NULL && *message != '\0')
		(void)snprintf(buf, size, "%s%s", message,
			       answer->status == 403 ? NEAP_REMOTE_RIGHTS : "");
	else
		(void)snprintf(buf, size, "HTTP status %d%s%s", answer->status,
			       *answer->why != '\0' ? ": " : "", answer->why);
	json_decref(status);
	return buf;
}

int neap_remote_object_take(json_t *tree, const struct neap_remote_kind *kind,
			    int64_t version, struct neap_object **ret,
			    struct neap_error *err)
{
	(void)json_object_del(json_object_get(tree, "metadata"), "managedFields");
	return neap_object_new_seen_take(tree, kind->fields, version, ret, err);
}
