/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a copy as JSON, and reads it into a world. What is left of each object is a
 * pattern: 1 stands for a value as it is, 0 for an object whose content nobody sees. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/deschedule/world_copy.h"
#include "engine/deschedule/world_copy_priv.h"
#include "engine/json/json.h"

/* It holds the whole object, and with it commands and environments. */
#define APPLIED_ANNOTATION "kubectl.kubernetes.io/last-applied-configuration"

#define META                                                                             \
	"\"metadata\":{\"name\":1,\"namespace\":1,\"uid\":1,\"creationTimestamp\":1,"    \
	"\"deletionTimestamp\":1,\"labels\":1,\"annotations\":1,\"ownerReferences\":"    \
	"{\"apiVersion\":1,\"kind\":1,\"name\":1,\"uid\":1,\"controller\":1}}"
#define CONTAINER                                                                        \
	"{\"name\":1,\"image\":1,\"restartPolicy\":1,\"resources\":{\"requests\":1,"     \
	"\"limits\":1},\"ports\":{\"hostPort\":1,\"hostIP\":1,\"containerPort\":1,"      \
	"\"protocol\":1}}"
#define CONTAINER_STATUS                                                                 \
	"{\"name\":1,\"image\":1,\"restartCount\":1,\"state\":{\"waiting\":{\"reason\":" \
	"1},\"terminated\":{\"reason\":1,\"exitCode\":1}}}"
#define POD_CONDITION "{\"type\":1,\"status\":1,\"reason\":1,\"lastTransitionTime\":1}"
#define RESOURCES     "{\"resources\":1}"

static const struct {
	const char *name, *pattern;
} lists[WORLD_COPY_LISTS] = {
	[WORLD_COPY_NAMESPACES] = {"namespaces", "{" META "}"},
	[WORLD_COPY_NODES] = {"nodes",
			      "{" META ",\"spec\":{\"unschedulable\":1,\"taints\":1},"
			      "\"status\":{\"capacity\":1,\"allocatable\":1,"
			      "\"conditions\":{\"type\":1,\"status\":1}}}"},
	[WORLD_COPY_METRICS] = {"nodeMetrics",
				"{" META ",\"status\":{\"updateTime\":1,\"nodeMetric\":{"
				"\"nodeUsage\":" RESOURCES ",\"systemUsage\":" RESOURCES
				"},\"podsMetric\":{\"name\":1,\"namespace\":1,"
				"\"podUsage\":" RESOURCES "}}}"},
	[WORLD_COPY_BUDGETS] = {"budgets",
				"{" META ",\"spec\":{\"selector\":1,"
				"\"unhealthyPodEvictionPolicy\":1},\"status\":{"
				"\"disruptionsAllowed\":1,\"currentHealthy\":1,"
				"\"desiredHealthy\":1}}"},
	[WORLD_COPY_CLAIMS] = {"claims", NULL},
	[WORLD_COPY_PODS] =
		{"pods",
		 "{" META
		 ",\"spec\":{\"nodeName\":1,\"priority\":1,\"priorityClassName\":1,"
		 "\"schedulerName\":1,\"preemptionPolicy\":1,\"schedulingGates\":1,"
		 "\"nodeSelector\":1,\"affinity\":1,\"tolerations\":1,"
		 "\"topologySpreadConstraints\":1,\"overhead\":1,\"resourceClaims\":"
		 "{\"name\":1},\"volumes\":{\"name\":1,\"hostPath\":0,\"emptyDir\":0,"
		 "\"persistentVolumeClaim\":{\"claimName\":1},\"ephemeral\":0},"
		 "\"containers\":" CONTAINER ",\"initContainers\":" CONTAINER
		 ",\"ephemeralContainers\":" CONTAINER
		 "},\"status\":{\"phase\":1,\"reason\":1,\"qosClass\":1,\"startTime\":1,"
		 "\"nominatedNodeName\":1,\"conditions\":" POD_CONDITION
		 ",\"containerStatuses\":" CONTAINER_STATUS
		 ",\"initContainerStatuses\":" CONTAINER_STATUS
		 ",\"ephemeralContainerStatuses\":" CONTAINER_STATUS "}}"},
};

/* What the pattern leaves of a value; NULL: nothing, or no memory. */
static json_t *narrow(const json_t *value, const json_t *pattern)
{
	const json_t *of, *item;
	const char *name;
	json_t *ret, *part;
	size_t i;

	if (json_is_integer(pattern) && json_integer_value(pattern))
		return json_incref((json_t *)(uintptr_t)value);
	if (json_is_integer(pattern))
		return json_is_null(value) ? NULL : json_object();
	if (json_is_array(value)) {
		ret = json_array();
		json_array_foreach ((json_t *)(uintptr_t)value, i, item) {
			part = narrow(item, pattern);
			if (part)
				(void)json_array_append_new(ret, part);
		}
		return ret;
	}
	if (!json_is_object(value))
		return NULL;
	ret = json_object();
	json_object_foreach ((json_t *)(uintptr_t)pattern, name, of) {
		item = json_object_get(value, name);
		part = item ? narrow(item, of) : NULL;
		if (part)
			(void)json_object_set_new(ret, name, part);
	}
	return ret;
}

static int write_object(const char *text, size_t len, const json_t *pattern,
			struct neap_buf *out)
{
	neap_auto_json json_t *tree = NULL;
	neap_auto_json json_t *rest = NULL;
	neap_auto_free char *line = NULL;
	uint64_t failures = neap_json_failures();
	json_error_t where;

	if (neap_json_parse(text, len, 0, &tree, &where) < 0)
		return -NEAP_ENOMEM; /* it was read before */
	rest = narrow(tree, pattern);
	(void)json_object_del(neap_json_at(rest, "metadata.annotations"),
			      APPLIED_ANNOTATION);
	line = rest ? neap_json_dump(rest, JSON_COMPACT) : NULL;
	if (!line || neap_json_failures() != failures)
		return -NEAP_ENOMEM;
	neap_buf_adds(out, line);
	return 0;
}

static int write_claim(const char *text, struct neap_buf *out)
{
	const char *ns = text, *name = ns + strlen(ns) + 1;
	const char *class = name + strlen(name) + 1;
	neap_auto_json json_t *claim = json_pack("{s:{s:s,s:s},s:{}}", "metadata",
						 "namespace", ns, "name", name, "spec");
	neap_auto_free char *line = NULL;

	neap_json_set_text(json_object_get(claim, "spec"), "storageClassName", class);
	line = claim ? neap_json_dump(claim, JSON_COMPACT) : NULL;
	if (!line)
		return -NEAP_ENOMEM;
	neap_buf_adds(out, line);
	return 0;
}

static int write_item(enum world_copy_list list, const char *text, size_t len,
		      const json_t *pattern, struct neap_buf *out)
{
	return list == WORLD_COPY_CLAIMS ? write_claim(text, out)
					 : write_object(text, len, pattern, out);
}

static int write_list(const struct neap_world_copy *copy, enum world_copy_list list,
		      struct neap_buf *out)
{
	bool is_first = true;
	neap_auto_json json_t *pattern = NULL;
	json_error_t where;
	int rc = 0;

	if (lists[list].pattern &&
	    neap_json_parse(lists[list].pattern, strlen(lists[list].pattern), 0, &pattern,
			    &where) < 0)
		return -NEAP_ENOMEM;
	neap_buf_addf(out, "%s\n\"%s\":[", list ? "," : "", lists[list].name);
	for (size_t at = 0; rc == 0 && at < copy->len;) {
		uint32_t head[2];
		const char *text = copy->texts + at + sizeof(head);

		memcpy(head, copy->texts + at, sizeof(head));
		at += sizeof(head) + head[1] + 1;
		if (head[0] != (uint32_t)list)
			continue;
		neap_buf_adds(out, is_first ? "\n" : ",\n");
		is_first = false;
		rc = write_item(list, text, head[1], pattern, out);
	}
	neap_buf_addc(out, ']');
	return rc;
}

int neap_world_copy_write(const struct neap_world_copy *copy, struct neap_buf *out,
			  struct neap_error *err)
{
	int rc = 0;

	neap_buf_addc(out, '{');
	for (int i = 0; rc == 0 && i < WORLD_COPY_LISTS; i++)
		rc = write_list(copy, (enum world_copy_list)i, out);
	neap_buf_addc(out, '}');
	if (rc < 0)
		return neap_error_nomem(err);
	return neap_buf_failed(out) ? neap_buf_error(out, "a recorded round", err) : 0;
}

/* --- reading --- */

static const char *const pod_fields[] = {"spec.nodeName", NULL};

static int set(struct neap_world *world, enum world_copy_list list,
	       struct neap_object *object, struct neap_pod *pod, struct neap_error *err)
{
	switch (list) {
	case WORLD_COPY_NAMESPACES:
		return neap_world_set_namespace(world, object, err);
	case WORLD_COPY_NODES:
		return neap_world_set_node(world, object, err);
	case WORLD_COPY_METRICS:
		return neap_world_set_metric(world, object, err);
	case WORLD_COPY_BUDGETS:
		return neap_world_set_budget(world, object, err);
	case WORLD_COPY_CLAIMS:
		return neap_world_set_claim(world, object, err);
	default:
		return neap_world_set_pod(world, object, pod, err);
	}
}

static int read_one(struct neap_world *world, enum world_copy_list list,
		    const json_t *json, const struct neap_world_hearer *hearer,
		    struct neap_error *err)
{
	json_t *copy = neap_json_deep_copy(json);
	struct neap_object *object = NULL;
	struct neap_pod *pod = NULL;
	int rc = copy ? neap_object_new_take(copy, pod_fields, 1, &object, err)
		      : neap_error_nomem(err);

	if (rc == 0 && hearer && hearer->heard)
		rc = hearer->heard(hearer->arg, lists[list].name, object, &pod, err);
	if (rc == 0)
		rc = set(world, list, object, pod, err);
	(void)neap_object_unref(object);
	return rc;
}

int neap_world_copy_read(struct neap_world *world, const json_t *cluster,
			 const struct neap_world_hearer *hearer, struct neap_error *err)
{
	for (int list = 0; list < WORLD_COPY_LISTS; list++) {
		const json_t *items = json_object_get(cluster, lists[list].name), *item;
		int rc = 0;
		size_t i;

		json_array_foreach ((json_t *)(uintptr_t)items, i, item)
			if (rc == 0)
				rc = read_one(world, (enum world_copy_list)list, item,
					      hearer, err);
		if (rc < 0)
			return neap_error_infield(err, "cluster.%s", lists[list].name);
	}
	return 0;
}
