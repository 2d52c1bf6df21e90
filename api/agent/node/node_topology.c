/* SPDX-License-Identifier: Apache-2.0 */
#include "api/agent/node/node_topology.h"
#include "api/yaml/yaml.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/numa/cpu_policy.h"
#include "engine/numa/resource_status.h"

#define HUGEPAGES "hugepages-"
#define PAGES_MAX 256 /* page sizes times NUMA nodes */

/* --- pods --- */

struct pods {
	const struct neap_node_keep_config *config;
	struct neap_report_pod *list;
	struct neap_resource_status *statuses; /* they own the zones of list */
	struct neap_object **objects;
	size_t count, room;
	bool has_failed;
};

static bool grow(struct pods *pods)
{
	size_t room = pods->room ? pods->room * 2 : 32;
	void *grown = neap_realloc_array(pods->list, room, sizeof(*pods->list));

	if (grown)
		pods->list = grown;
	if (grown)
		grown = neap_realloc_array(pods->statuses, room, sizeof(*pods->statuses));
	if (grown)
		pods->statuses = grown;
	if (grown)
		grown = neap_realloc_array(pods->objects, room,
					   sizeof(struct neap_object *));
	if (grown) {
		pods->objects = grown;
		pods->room = room;
	}
	return grown != NULL;
}

/* Reads the status of a pod that is not finished; nothing if it cannot be read. False
 * without memory. */
static bool status_of(const struct neap_object *object, struct neap_resource_status *ret)
{
	json_t *tree = neap_object_tree(object);
	const char *phase = json_string_value(
		json_object_get(json_object_get(tree, "status"), "phase"));
	const char *text = json_string_value(json_object_get(
		json_object_get(json_object_get(tree, "metadata"), "annotations"),
		NEAP_KEY_RESOURCE_STATUS));
	int failed = tree ? 0 : -NEAP_ENOMEM;

	memset(ret, 0, sizeof(*ret));
	if (text &&
	    !(phase && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0)))
		failed = neap_resource_status_read(text, ret, NULL);
	json_decref(tree);
	return failed != -NEAP_ENOMEM;
}

static bool take_pod(void *arg, struct neap_object *object)
{
	struct pods *pods = arg;
	const char *place = neap_object_field(object, "spec.nodeName");
	const char *qos = neap_object_label(object, "koordinator.sh/qosClass");
	struct neap_resource_status status;
	struct neap_report_pod *pod;

	if (!place || strcmp(place, pods->config->node_name) != 0)
		return true;
	if (!status_of(object, &status) || (pods->count == pods->room && !grow(pods))) {
		neap_resource_status_done(&status);
		pods->has_failed = true;
		return false;
	}
	pod = &pods->list[pods->count];
	memset(pod, 0, sizeof(*pod));
	pod->ns = object->ns;
	pod->name = object->name;
	pod->uid = object->uid;
	pod->qos = qos ? neap_qos_parse(qos) : NEAP_QOS_NONE;
	pod->zones = status.zones;
	neap_cpuset_copy(&pod->cpus, &status.cpus);
	pods->statuses[pods->count] = status;
	pods->objects[pods->count++] = neap_object_ref(object);
	return true;
}

static void pods_done(struct pods *pods)
{
	for (size_t i = 0; i < pods->count; i++) {
		neap_resource_status_done(&pods->statuses[i]);
		(void)neap_object_unref(pods->objects[i]);
	}
	free(pods->list);
	free(pods->statuses);
	free(pods->objects);
}

/* --- the machine --- */

static int64_t read_number(const char *path)
{
	char text[32];
	int64_t number;

	(void)neap_file_line(path, text, sizeof(text));
	return neap_int_parse(text, &number, NULL) < 0 ? NEAP_MISSING : number;
}

static enum neap_turbo read_turbo(const char *root)
{
	char path[256];
	int64_t value;

	(void)snprintf(path, sizeof(path),
		       "%s/sys/devices/system/cpu/intel_pstate/no_turbo", root);
	value = read_number(path);
	if (value != NEAP_MISSING)
		return value == 0 ? NEAP_TURBO_ON : NEAP_TURBO_OFF;
	(void)snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpufreq/boost",
		       root);
	value = read_number(path);
	if (value != NEAP_MISSING)
		return value == 1 ? NEAP_TURBO_ON : NEAP_TURBO_OFF;
	return NEAP_TURBO_UNKNOWN;
}

/* Reads the page sizes that the Node shows. */
static size_t read_pages(const char *root, const struct neap_topology *topology,
			 const json_t *node, struct neap_report_pages *ret)
{
	json_t *capacity = json_object_get(json_object_get(node, "status"), "capacity");
	json_t *value;
	const char *name;
	size_t count = 0;

	json_object_foreach (capacity, name, value) {
		int64_t size;

		if (strncmp(name, HUGEPAGES, sizeof(HUGEPAGES) - 1) != 0 ||
		    neap_quantity_parse_units(name + sizeof(HUGEPAGES) - 1, &size, NULL) <
			    0 ||
		    size < 1024)
			continue;
		for (int i = 0; i < topology->node_count && count < PAGES_MAX; i++) {
			struct neap_report_pages *pages = &ret[count];
			char path[256];
			int64_t number;

			(void)snprintf(path, sizeof(path),
				       "%s/sys/devices/system/node/node%d/hugepages/"
				       "hugepages-%lldkB/nr_hugepages",
				       root, topology->nodes[i].os_node,
				       (long long)(size / 1024));
			number = read_number(path);
			if (number < 0 || number > INT64_MAX / size ||
			    !neap_strcopy(pages->name, sizeof(pages->name), name))
				continue;
			pages->os_node = topology->nodes[i].os_node;
			pages->bytes = number * size;
			count++;
		}
	}
	return count;
}

/* --- the whole --- */

static int read_kubelet(struct neap_node *node, struct neap_kubelet_facts *ret,
			struct neap_error *err)
{
	size_t len;
	const char *text = neap_node_kubelet_config(node, &len);
	json_t *documents = NULL;
	int failed = 0;

	memset(ret, 0, sizeof(*ret));
	if (text)
		failed = neap_yaml_parse(text, len, "config.yaml of the kubelet",
					 &documents, err);
	if (failed == 0)
		failed = neap_kubelet_facts_read(neap_node_kubelet_state(node),
						 json_array_get(documents, 0), ret, err);
	json_decref(documents);
	return failed;
}

static void look_at_kubelet(struct neap_node *node, struct neap_kubelet_facts *kubelet,
			    struct neap_error *ret_trouble)
{
	struct neap_kubelet_facts fresh;

	memset(ret_trouble, 0, sizeof(*ret_trouble));
	neap_node_kubelet_look(node);
	if (read_kubelet(node, &fresh, ret_trouble) == 0) {
		neap_kubelet_facts_done(kubelet);
		*kubelet = fresh;
	} else {
		neap_kubelet_facts_done(&fresh);
	}
}

int node_topology_make(const struct neap_node_keep_config *config, const json_t *node,
		       const json_t *object, struct neap_kubelet_facts *kubelet,
		       json_t **ret, struct neap_error *ret_trouble)
{
	const char *root = config->sys_root ? config->sys_root : "";
	struct neap_client_place place = {.version = neap_client_version(config->client)};
	struct pods pods = {.config = config};
	neap_auto_free struct neap_report_pages *pages =
		neap_alloc_array(PAGES_MAX, sizeof(*pages));
	struct neap_topology_report_from from = {
		.topology = neap_node_topology(config->node),
		.node = node,
		.kubelet = kubelet,
		.pages = pages,
		.reserved_cpus = config->reserved_cpus,
		.system_cpus = config->system_cpus,
		.reserved_milli = config->kube_reserved_milli,
		.reserved_bytes = config->kube_reserved_bytes,
		.turbo = read_turbo(root),
	};
	struct neap_error err;
	int failed = -NEAP_ENOMEM;

	*ret = NULL;
	look_at_kubelet(config->node, kubelet, ret_trouble);
	for (size_t i = 0; i < kubelet->pod_count; i++) {
		struct neap_kubelet_pod *pod = &kubelet->pods[i];

		(void)neap_node_pod_name(config->node, pod->uid, pod->ns, sizeof(pod->ns),
					 pod->name, sizeof(pod->name));
	}
	if (pages &&
	    neap_client_list(config->client, "pods", NULL, &place, take_pod, &pods,
			     &err) >= 0 &&
	    !pods.has_failed) {
		from.page_count = read_pages(root, from.topology, node, pages);
		from.pods = pods.list;
		from.pod_count = pods.count;
		failed = neap_topology_report(&from, object, ret, &err);
	}
	pods_done(&pods);
	return failed;
}
