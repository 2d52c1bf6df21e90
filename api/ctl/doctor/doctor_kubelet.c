/* SPDX-License-Identifier: Apache-2.0
 *
 * The kubelet: its configuration (YAML or JSON, through libyaml), its command line, which
 * overrides it, and the state of its CPU manager. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "api/ctl/doctor/doctor.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/machine/cpuset.h"

#define FILE_MAX (256 * 1024)

static const struct {
	const char *key, *flag;
	size_t offset, size;
} settings[] = {
#define SETTING(key, flag, member)                                                       \
	{                                                                                \
		key, flag, offsetof(struct neap_kubelet, member),                        \
			sizeof(((struct neap_kubelet *)0)->member)                       \
	}
	SETTING("cgroupDriver", "cgroup-driver", cgroup_driver),
	SETTING("cgroupRoot", "cgroup-root", cgroup_root),
	SETTING("cpuManagerPolicy", "cpu-manager-policy", cpu_policy),
	SETTING("topologyManagerPolicy", "topology-manager-policy", topology_policy),
	SETTING("reservedSystemCPUs", "reserved-cpus", reserved_cpus),
	SETTING("containerRuntimeEndpoint", "container-runtime-endpoint", runtime),
#undef SETTING
};

/* Scalars at the top, whatever else there is. */
static bool yaml_read(const char *text, size_t len, struct neap_kubelet *ret)
{
	yaml_parser_t parser;
	yaml_document_t document;
	yaml_node_t *top;
	yaml_node_pair_t *pair;

	if (!yaml_parser_initialize(&parser))
		return false;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	if (!yaml_parser_load(&parser, &document)) {
		yaml_parser_delete(&parser);
		return false;
	}
	top = yaml_document_get_root_node(&document);
	for (pair = top != NULL && top->type == YAML_MAPPING_NODE
			    ? top->data.mapping.pairs.start
			    : NULL;
	     pair != NULL && pair < top->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key = yaml_document_get_node(&document, pair->key);
		const yaml_node_t *value = yaml_document_get_node(&document, pair->value);

		if (key == NULL || value == NULL || key->type != YAML_SCALAR_NODE ||
		    value->type != YAML_SCALAR_NODE)
			continue;
		for (size_t i = 0; i < NEAP_ARRAY_LEN(settings); i++)
			if (strcmp((const char *)key->data.scalar.value,
				   settings[i].key) == 0)
				(void)neap_strcopy(
					(char *)ret + settings[i].offset,
					settings[i].size,
					(const char *)value->data.scalar.value);
	}
	ret->has_file = top != NULL && top->type == YAML_MAPPING_NODE;
	yaml_document_delete(&document);
	yaml_parser_delete(&parser);
	return ret->has_file;
}

static void file_look(const char *root, struct neap_kubelet *ret)
{
	neap_auto_free char *text = neap_alloc(FILE_MAX);
	int n = text != NULL ? neap_facts_read(root, ret->file, text, FILE_MAX) : -ENOMEM;

	if (n < 0)
		(void)snprintf(ret->why_not, sizeof(ret->why_not), "%s: %s", ret->file,
			       strerror(-n));
	else if (!yaml_read(text, (size_t)n, ret))
		(void)snprintf(ret->why_not, sizeof(ret->why_not), "%s is not understood",
			       ret->file);
}

/* {"policyName":"static","defaultCpuSet":"0-1","entries":{POD:{CONTAINER:"2-3"}}} */
static void state_look(const char *root, const char *dir, struct neap_kubelet *ret)
{
	char path[NEAP_FACTS_PATH + 32], *text = neap_alloc(FILE_MAX);
	struct neap_cpuset all = {0}, one;
	const char *pod_uid, *container;
	json_t *state = NULL, *pod, *cpus;
	json_error_t where;
	int n;

	(void)snprintf(path, sizeof(path), "%s/cpu_manager_state", dir);
	n = text != NULL ? neap_facts_read(root, path, text, FILE_MAX) : -ENOMEM;
	if (n >= 0 && neap_json_parse(text, (size_t)n, 0, &state, &where) == -NEAP_ENOMEM)
		n = -ENOMEM;
	free(text);
	if (n < 0)
		(void)neap_strcopy(ret->state_why_not, sizeof(ret->state_why_not),
				   strerror(-n));
	else if (!json_is_object(state))
		(void)neap_strcopy(ret->state_why_not, sizeof(ret->state_why_not),
				   "it is not understood");
	if (json_string_value(json_object_get(state, "policyName")) != NULL)
		(void)neap_strcopy(
			ret->state_policy, sizeof(ret->state_policy),
			json_string_value(json_object_get(state, "policyName")));
	if (json_string_value(json_object_get(state, "defaultCpuSet")) != NULL)
		(void)neap_strcopy(
			ret->shared_cpus, sizeof(ret->shared_cpus),
			json_string_value(json_object_get(state, "defaultCpuSet")));
	json_object_foreach (json_object_get(state, "entries"), pod_uid, pod) {
		json_object_foreach (pod, container, cpus) {
			if (json_is_string(cpus) &&
			    neap_cpuset_parse(&one, json_string_value(cpus), NULL) == 0)
				neap_cpuset_or(&all, &all, &one);
		}
	}
	if (!neap_cpuset_is_empty(&all))
		(void)neap_cpuset_format(&all, ret->exclusive_cpus,
					 sizeof(ret->exclusive_cpus));
	json_decref(state);
}

void neap_kubelet_look(const char *root, const struct neap_agent_facts *facts,
		       struct neap_kubelet *ret)
{
	neap_auto_free struct neap_kubelet_process *process =
		neap_alloc(sizeof(*process));
	char value[NEAP_FACTS_PATH];

	memset(ret, 0, sizeof(*ret));
	if (process == NULL)
		return;
	neap_facts_kubelet(root, facts, process);
	ret->is_running = process->pid != 0;
	ret->pid = process->pid;
	if (facts->kubelet_dir[0] == '\0' && !ret->is_running)
		return;
	(void)neap_strcopy(ret->group, sizeof(ret->group), process->group);
	(void)neap_strcopy(ret->dir, sizeof(ret->dir), process->dir);
	(void)neap_strcopy(ret->file, sizeof(ret->file), process->file);
	if (ret->file[0] == '\0')
		(void)snprintf(ret->file, sizeof(ret->file), "%.480s/config.yaml",
			       ret->dir);
	if (process->is_file_unseen)
		(void)snprintf(
			ret->why_not, sizeof(ret->why_not),
			"--config %.100s is relative to the kubelet's working directory, "
			"which only root may see",
			ret->file);
	else
		file_look(root, ret);
	for (size_t s = 0; s < NEAP_ARRAY_LEN(settings); s++) {
		neap_facts_option(process->command, settings[s].flag, value,
				  sizeof(value));
		if (value[0] != '\0')
			(void)neap_strcopy((char *)ret + settings[s].offset,
					   settings[s].size, value);
	}
	state_look(root, ret->dir, ret);
}

static void cpu_manager_check(const struct neap_doctor *doctor,
			      struct neap_findings *findings)
{
	const struct neap_kubelet *kubelet = &doctor->kubelet;
	const char *policy = kubelet->cpu_policy[0] != '\0' ? kubelet->cpu_policy
							    : kubelet->state_policy;
	const bool no_pods = strcmp(doctor->config->kubepods, "off") == 0;

	if (strcmp(policy, "static") != 0) {
		neap_finding_add(
			findings, NEAP_FINDING_OK, "others.cpu-manager", NULL,
			policy[0] != '\0'
				? "the kubelet's CPU manager assigns no exclusive CPUs (%s)"
				: "the kubelet's CPU manager has its default policy (none)%s",
			policy);
		return;
	}
	if (no_pods) {
		neap_finding_add(
			findings, NEAP_FINDING_NOTE, "others.cpu-manager", NULL,
			"the kubelet's CPU manager is static; neapd leaves pods alone "
			"(--kubepods off)");
		return;
	}
	if (kubelet->state_why_not[0] != '\0') {
		neap_finding_add(
			findings, NEAP_FINDING_WARNING, "others.cpu-manager",
			"look again as root",
			"the kubelet's CPU manager is static; which CPUs it assigned is not known: %s/cpu_manager_state: %s",
			kubelet->dir, kubelet->state_why_not);
		return;
	}
	if (kubelet->exclusive_cpus[0] == '\0') {
		neap_finding_add(
			findings, NEAP_FINDING_NOTE, "others.cpu-manager", NULL,
			"the kubelet's CPU manager is static; no pod has exclusive CPUs now");
		return;
	}
	neap_finding_add(
		findings, NEAP_FINDING_NOTE, "others.cpu-manager", NULL,
		"the kubelet's CPU manager is static and assigned CPUs %s to single pods (the others share %s); no policy of neap puts other work onto them",
		kubelet->exclusive_cpus,
		kubelet->shared_cpus[0] != '\0' ? kubelet->shared_cpus : "what is left");
}

/* The group that --kubepods names. */
static void named_root_check(const struct neap_doctor *doctor,
			     struct neap_findings *findings)
{
	const char *group = doctor->config->kubepods;
	struct neap_error err = {0};
	neap_auto_fd int fd = neap_cgroup_open(&doctor->cgroup, NEAP_CTL_CPU, group, NULL,
					       O_PATH | O_DIRECTORY, &err);

	if (fd < 0)
		neap_finding_add(
			findings, NEAP_FINDING_WARNING, "others.pods",
			"start the kubelet first, or name its group by --kubepods",
			"the group for pods is not found: %s", err.msg);
	else
		neap_finding_add(findings, NEAP_FINDING_OK, "others.pods", NULL,
				 "pods lie below %s, as --kubepods says", group);
}

static void root_check(const struct neap_doctor *doctor, struct neap_findings *findings)
{
	const char *group = doctor->config->kubepods;
	struct neap_tree tree;

	if (!doctor->has_cgroup || strcmp(group, "off") == 0)
		return;
	if (strcmp(group, "auto") != 0) {
		named_root_check(doctor, findings);
		return;
	}
	if (!neap_scan_find_kubelet(&doctor->cgroup, &tree)) {
		neap_finding_add(
			findings, NEAP_FINDING_WARNING, "others.pods",
			doctor->kubelet.cgroup_root[0] != '\0'
				? "name the group: neapd --kubepods GROUP (the kubelet has a "
				  "cgroupRoot of its own)"
				: "start the kubelet first, or name its group: neapd --kubepods GROUP",
			"the kubelet's group for pods (kubepods, kubepods.slice) is not there: pods "
			"are not found");
		return;
	}
	neap_finding_add(findings, NEAP_FINDING_OK, "others.pods", NULL,
			 "pods lie below %s, laid out by the %s driver", tree.root,
			 tree.driver == NEAP_DRIVER_SYSTEMD ? "systemd" : "cgroupfs");
	if (doctor->kubelet.cgroup_driver[0] != '\0' &&
	    (strcmp(doctor->kubelet.cgroup_driver, "systemd") == 0) !=
		    (tree.driver == NEAP_DRIVER_SYSTEMD))
		neap_finding_add(
			findings, NEAP_FINDING_WARNING, "others.driver",
			"name the right group by --kubepods, and remove the group of the former driver",
			"the kubelet's cgroupDriver is %s, but the groups are laid out by the other: "
			"those found may be left from before",
			doctor->kubelet.cgroup_driver);
}

void neap_doctor_kubelet(const struct neap_doctor *doctor, struct neap_findings *findings)
{
	const struct neap_kubelet *kubelet = &doctor->kubelet;

	if (!kubelet->is_running && kubelet->file[0] == '\0') {
		neap_finding_add(
			findings, NEAP_FINDING_NOTE, "others.kubelet", NULL,
			"no kubelet runs here: neap governs what 'neapctl run' starts, and "
			"host applications");
		return;
	}
	if (kubelet->is_running)
		neap_finding_add(
			findings, NEAP_FINDING_OK, "others.kubelet", NULL,
			"a kubelet runs (pid %d%s%s): it sets weights, quotas and memory limits of "
			"pods when they start, and those of the class groups again and again",
			kubelet->pid, kubelet->group[0] != '\0' ? ", in " : "",
			kubelet->group);
	else
		neap_finding_add(findings, NEAP_FINDING_NOTE, "others.kubelet", NULL,
				 "a kubelet was set up here (%s) and is not seen running",
				 kubelet->dir);
	if (kubelet->why_not[0] != '\0')
		neap_finding_add(findings, NEAP_FINDING_WARNING, "others.kubelet-config",
				 "look again as root",
				 "the kubelet's configuration cannot be read: %s",
				 kubelet->why_not);
	root_check(doctor, findings);
	cpu_manager_check(doctor, findings);
	if (kubelet->topology_policy[0] != '\0' &&
	    strcmp(kubelet->topology_policy, "none") != 0)
		neap_finding_add(
			findings, NEAP_FINDING_NOTE, "others.topology-manager", NULL,
			"the kubelet's topology manager (%s) places pods by memory nodes; "
			"neap does not change cpuset.mems of pods",
			kubelet->topology_policy);
}
