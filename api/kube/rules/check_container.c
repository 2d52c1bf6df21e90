/* SPDX-License-Identifier: Apache-2.0
 *
 * Containers of pods and templates: names, images, ports, mounts. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/rules/check_priv.h"

/* The kinds of a pod's containers, each with a list. */
enum list { MAIN, INIT, EPHEMERAL, LISTS };

static const char *const list_names[LISTS] = {"containers", "initContainers",
					      "ephemeralContainers"};

struct scope {
	struct rule_pod *pod;
	struct neap_causes *causes;
	struct rule_seen names;      /* of all containers */
	struct rule_seen host_ports; /* of containers that run at the same time */
	bool is_host_network;
	int64_t grace;
};

/* --- ports --- */

static void check_host_port(struct scope *scope, const json_t *port, bool is_beside)
{
	int64_t number = rule_int(port, "hostPort");
	const json_t *value = json_object_get(port, "hostPort");
	char key[128];

	if (number != 0 && !rule_is_port(number))
		neap_causes_invalid(scope->causes, "hostPort", value, "%s", RULE_PORT);
	if (scope->is_host_network && (scope->pod->is_pod || number != 0) &&
	    number != rule_int(port, "containerPort"))
		neap_causes_invalid(
			scope->causes, "hostPort", value,
			"must match `containerPort` when `hostNetwork` is true");
	if (number == 0 || !is_beside)
		return;
	(void)snprintf(key, sizeof(key), "%.8s/%.64s/%" PRId64,
		       neap_kube_text(port, "protocol"), neap_kube_text(port, "hostIP"),
		       number);
	if (rule_seen_add(&scope->host_ports, key, scope->causes)) {
		json_t *shown = json_string(key);

		if (shown == NULL)
			rule_nomem(scope->causes);
		else
			neap_causes_duplicate(scope->causes, "hostPort", shown);
		json_decref(shown);
	}
}

static void check_port(struct scope *scope, const json_t *port, struct rule_seen *names,
		       bool is_beside)
{
	const json_t *number = json_object_get(port, "containerPort");
	const char *name = neap_kube_text(port, "name");
	const char *fault = name[0] != '\0' ? rule_port_name_fault(name) : NULL;

	if (fault != NULL)
		neap_causes_invalid(scope->causes, "name", json_object_get(port, "name"),
				    "%s", fault);
	else if (name[0] != '\0' && rule_seen_add(names, name, scope->causes))
		neap_causes_duplicate(scope->causes, "name",
				      json_object_get(port, "name"));
	if (json_is_integer(number) && json_integer_value(number) == 0)
		neap_causes_required(scope->causes, "containerPort", "");
	else if (json_is_integer(number) && !rule_is_port(json_integer_value(number)))
		neap_causes_invalid(scope->causes, "containerPort", number, "%s",
				    RULE_PORT);
	check_host_port(scope, port, is_beside);
}

static void check_ports(struct scope *scope, const json_t *ports, bool is_beside)
{
	struct rule_seen names = {0};
	size_t i;
	const json_t *port;

	json_array_foreach (ports, i, port) {
		size_t from = scope->causes->count;

		check_port(scope, port, &names, is_beside);
		neap_causes_infield(scope->causes, from, "ports[%zu]", i);
	}
	rule_seen_done(&names);
}

/* --- mounts --- */

static bool has_parent(const char *path)
{
	while (*path != '\0') {
		size_t len = strcspn(path, "/");

		if (len == 2 && strncmp(path, "..", 2) == 0)
			return true;
		path += len + (path[len] == '/');
	}
	return false;
}

static void check_sub_path(struct scope *scope, const json_t *mount, const char *name)
{
	const char *path = neap_kube_text(mount, name);
	const char *fault = NULL;

	if (path[0] == '/')
		fault = "must be a relative path";
	else if (has_parent(path))
		fault = "must not contain '..'";
	if (fault != NULL)
		neap_causes_invalid(scope->causes, name, json_object_get(mount, name),
				    "%s", fault);
}

/* A mount of a volume of the pod at a path in the container (member). Each path is used
 * once. */
static void check_place(struct scope *scope, const json_t *mount, const char *member,
			struct rule_seen *paths)
{
	const char *name = rule_need(mount, "name", scope->causes);
	const char *path = rule_need(mount, member, scope->causes);

	if (name != NULL && !rule_seen_has(&scope->pod->volumes, name))
		neap_causes_add(scope->causes, "FieldValueNotFound", "name",
				"Not found: \"%.253s\"", name);
	if (path != NULL && rule_seen_add(paths, path, scope->causes))
		neap_causes_invalid(scope->causes, member, json_object_get(mount, member),
				    "must be unique");
}

static void check_mount(struct scope *scope, const json_t *mount, struct rule_seen *paths)
{
	check_place(scope, mount, "mountPath", paths);
	check_sub_path(scope, mount, "subPath");
	check_sub_path(scope, mount, "subPathExpr");
	if (neap_kube_text(mount, "subPath")[0] != '\0' &&
	    neap_kube_text(mount, "subPathExpr")[0] != '\0')
		neap_causes_invalid(scope->causes, "subPathExpr",
				    json_object_get(mount, "subPathExpr"),
				    "subPathExpr and subPath are mutually exclusive");
}

static void check_mounts(struct scope *scope, const json_t *container)
{
	struct rule_seen paths = {0};
	size_t i, from;
	const json_t *item;

	json_array_foreach (json_object_get(container, "volumeMounts"), i, item) {
		from = scope->causes->count;
		check_mount(scope, item, &paths);
		neap_causes_infield(scope->causes, from, "volumeMounts[%zu]", i);
	}
	json_array_foreach (json_object_get(container, "volumeDevices"), i, item) {
		from = scope->causes->count;
		check_place(scope, item, "devicePath", &paths);
		neap_causes_infield(scope->causes, from, "volumeDevices[%zu]", i);
	}
	rule_seen_done(&paths);
}

/* --- the rest --- */

static void check_image(struct scope *scope, const json_t *container)
{
	const char *image = rule_need_always(container, "image", scope->causes);
	size_t len = image != NULL ? strlen(image) : 0;

	if (len > 0 && scope->pod->is_pod &&
	    (isspace((unsigned char)image[0]) || isspace((unsigned char)image[len - 1])))
		neap_causes_invalid(scope->causes, "image",
				    json_object_get(container, "image"),
				    "must not have leading or trailing whitespace");
}

static void check_security(const json_t *security, struct neap_causes *causes)
{
	static const char *const ids[] = {"runAsUser", "runAsGroup"};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(ids); i++) {
		int64_t id = rule_int(security, ids[i]);

		if (!rule_is_id(id))
			neap_causes_invalid(causes, ids[i],
					    json_object_get(security, ids[i]), RULE_ID);
	}
	if (json_is_true(json_object_get(security, "privileged")) &&
	    json_is_false(json_object_get(security, "allowPrivilegeEscalation")))
		neap_causes_invalid(
			causes, "allowPrivilegeEscalation",
			json_object_get(security, "allowPrivilegeEscalation"),
			"cannot set `allowPrivilegeEscalation` to false and `privileged` "
			"to true");
}

/* Containers that end before the others start have no probes, nor do ephemeral ones. */
static void check_own(struct scope *scope, const json_t *container, enum list list)
{
	static const char *const names[] = {"lifecycle", "livenessProbe",
					    "readinessProbe", "startupProbe"};
	bool is_restarted =
		strcmp(neap_kube_text(container, "restartPolicy"), "Always") == 0;

	if (list != INIT && is_restarted)
		neap_causes_forbidden(scope->causes, "restartPolicy",
				      "may not be set for non-init containers");
	if (list == MAIN || (list == INIT && is_restarted)) {
		rule_probes(container, scope->grace, scope->causes);
		return;
	}
	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		if (json_object_get(container, names[i]) == NULL)
			continue;
		neap_causes_forbidden(
			scope->causes, names[i], "%s",
			list == INIT ? "may not be set for init containers without "
				       "restartPolicy=Always"
				     : "cannot be set for an Ephemeral Container");
	}
}

static void check_container(struct scope *scope, const json_t *container, enum list list)
{
	const char *name = rule_need(container, "name", scope->causes);
	const json_t *security = json_object_get(container, "securityContext");
	size_t from;

	rule_label(container, "name", scope->causes);
	if (name != NULL && rule_seen_add(&scope->names, name, scope->causes))
		neap_causes_duplicate(scope->causes, "name",
				      json_object_get(container, "name"));
	check_image(scope, container);
	check_ports(scope, json_object_get(container, "ports"), list == MAIN);
	rule_env(container, scope->causes);
	check_mounts(scope, container);
	check_own(scope, container, list);
	from = scope->causes->count;
	rule_resources(json_object_get(container, "resources"), scope->causes);
	neap_causes_infield(scope->causes, from, "resources");
	from = scope->causes->count;
	check_security(security, scope->causes);
	neap_causes_infield(scope->causes, from, "securityContext");
}

void rule_containers(struct rule_pod *pod, struct neap_causes *causes)
{
	const json_t *spec = pod->spec, *containers = json_object_get(spec, "containers");
	struct scope scope = {
		.pod = pod,
		.causes = causes,
		.is_host_network = json_is_true(json_object_get(spec, "hostNetwork")),
		.grace = rule_int(spec, "terminationGracePeriodSeconds"),
	};

	if (json_is_array(containers) && json_array_size(containers) == 0)
		neap_causes_required(causes, "containers", "");
	for (int list = 0; list < LISTS; list++) {
		size_t i;
		const json_t *container;

		json_array_foreach (json_object_get(spec, list_names[list]), i,
				    container) {
			size_t from = causes->count;

			check_container(&scope, container, (enum list)list);
			neap_causes_infield(causes, from, "%s[%zu]", list_names[list], i);
		}
	}
	rule_seen_done(&scope.names);
	rule_seen_done(&scope.host_ports);
}
