/* SPDX-License-Identifier: Apache-2.0
 *
 * Containers of pods and templates: names, images, ports, mounts. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/rules/check_priv.h"
#include "engine/base/text.h"

/* --- probes ---
 *
 * Rules for probes and lifecycle hooks of containers: one handler each, and numbers
 * within limits. */

static void check_exec(const json_t *exec, struct neap_causes *causes)
{
	if (json_array_size(json_object_get(exec, "command")) == 0)
		neap_causes_required(causes, "command", "");
}

static const char *header_fault(const char *name)
{
	const char *at = name;

	while (isascii(*at) && (isalnum(*at) || *at == '-'))
		at++;
	return *name && !*at ? NULL
			     : "a valid HTTP header must consist of alphanumeric "
			       "characters or '-' (e.g. 'X-Header-Name', regex used for "
			       "validation is '[-A-Za-z0-9]+')";
}

static void check_header(const json_t *header, void *arg NEAP_UNUSED,
			 struct neap_causes *causes)
{
	const char *name = json_string_value(json_object_get(header, "name"));

	rule_invalid(header, "name", name ? header_fault(name) : NULL, causes);
}

static void check_http(const json_t *get, struct neap_causes *causes)
{
	(void)rule_need(get, "path", causes);
	rule_port(get, "port", causes);
	rule_each(get, "httpHeaders", check_header, NULL, causes);
}

static void check_socket(const json_t *socket, struct neap_causes *causes)
{
	rule_port(socket, "port", causes);
}

/* Checks one handler; the first counts. */
static void check_handler(const json_t *handler, int64_t grace,
			  struct neap_causes *causes)
{
	static const struct {
		const char *name;
		void (*check)(const json_t *way, struct neap_causes *causes);
	} ways[] = {
		{"exec", check_exec},
		{"httpGet", check_http},
		{"tcpSocket", check_socket},
		{"grpc", check_socket},
		{"sleep", NULL},
	};
	size_t count = 0;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(ways); i++) {
		const json_t *way = json_object_get(handler, ways[i].name);
		int64_t seconds = rule_int(way, "seconds");
		size_t from = causes->count;

		if (!way)
			continue;
		if (count++ > 0)
			neap_causes_forbidden(causes, "",
					      "may not specify more than 1 handler type");
		else if (ways[i].check)
			ways[i].check(way, causes);
		else if (seconds <= 0 || seconds > grace)
			neap_causes_invalid(causes, "", json_object_get(way, "seconds"),
					    "must be greater than 0 and less than "
					    "terminationGracePeriodSeconds (%" PRId64 ")",
					    grace);
		neap_causes_infield(causes, from, "%s", ways[i].name);
	}
	if (count == 0)
		neap_causes_required(causes, "", "must specify a handler type");
}

static void check_probe(const json_t *probe, bool is_readiness,
			struct neap_causes *causes)
{
	static const char *const numbers[] = {"initialDelaySeconds", "timeoutSeconds",
					      "periodSeconds", "successThreshold",
					      "failureThreshold"};
	static const char grace[] = "terminationGracePeriodSeconds";

	check_handler(probe, 0, causes);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(numbers); i++)
		rule_not_negative(probe, numbers[i], causes);
	if (is_readiness) {
		if (json_object_get(probe, grace))
			rule_invalid(probe, grace, "must not be set for readinessProbes",
				     causes);
		return;
	}
	rule_range(probe, grace, 1, INT64_MAX, "must be greater than 0", causes);
	if (rule_int(probe, "successThreshold") != 1)
		rule_invalid(probe, "successThreshold", "must be 1", causes);
}

static void rule_probes(const json_t *container, int64_t grace,
			struct neap_causes *causes)
{
	static const char *const probes[] = {"livenessProbe", "readinessProbe",
					     "startupProbe"};
	static const char *const hooks[] = {"postStart", "preStop"};
	const json_t *lifecycle = json_object_get(container, "lifecycle");
	size_t from;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(hooks); i++) {
		const json_t *hook = json_object_get(lifecycle, hooks[i]);

		from = causes->count;
		if (hook)
			check_handler(hook, grace, causes);
		neap_causes_infield(causes, from, "lifecycle.%s", hooks[i]);
	}
	for (size_t i = 0; i < NEAP_ARRAY_LEN(probes); i++) {
		const json_t *probe = json_object_get(container, probes[i]);

		from = causes->count;
		if (probe)
			check_probe(probe, i == 1, causes);
		neap_causes_infield(causes, from, "%s", probes[i]);
	}
}

/* --- environment ---
 *
 * Environment variables of containers: valid names, and a single source for each
 * value. */

/* metadata.labels['key'], metadata.annotations['key'] */
static bool is_subscript(const char *path)
{
	size_t len = strlen(path);

	return (neap_text_starts(path, "metadata.labels['") ||
		neap_text_starts(path, "metadata.annotations['")) &&
	       len > 2 && strcmp(path + len - 2, "']") == 0;
}

static void rule_field_ref(const json_t *ref, struct neap_causes *causes)
{
	static const char *const paths[] = {
		"metadata.name",
		"metadata.namespace",
		"metadata.uid",
		"spec.nodeName",
		"spec.serviceAccountName",
		"status.hostIP",
		"status.hostIPs",
		"status.podIP",
		"status.podIPs",
		NULL,
	};
	const char *path = rule_need(ref, "fieldPath", causes);

	(void)rule_need(ref, "apiVersion", causes);
	if (path && !neap_text_is_in(path, paths) && !is_subscript(path))
		neap_causes_unsupported(causes, "fieldPath",
					json_object_get(ref, "fieldPath"), paths);
}

void rule_resource_field_ref(const json_t *ref, bool needs_container,
			     struct neap_causes *causes)
{
	static const char *const names[] = {
		"limits.cpu",   "limits.ephemeral-storage",   "limits.memory",
		"requests.cpu", "requests.ephemeral-storage", "requests.memory",
		NULL,
	};
	const char *name = rule_need(ref, "resource", causes);

	if (needs_container)
		(void)rule_need_always(ref, "containerName", causes);
	if (name && !neap_text_is_in(name, names) &&
	    !neap_text_starts(name, "limits.hugepages-") &&
	    !neap_text_starts(name, "requests.hugepages-"))
		neap_causes_unsupported(causes, "resource",
					json_object_get(ref, "resource"), names);
}

/* A key of a ConfigMap or Secret. */
static void check_key_ref(const json_t *ref, struct neap_causes *causes)
{
	const char *name = neap_json_text(ref, "name");
	const char *fault = neap_kube_dns_subdomain_fault(name);

	(void)rule_need(ref, "key", causes);
	if (fault)
		rule_invalid_text(causes, "name", name, fault);
	rule_text(ref, "key", rule_config_key_fault, causes);
}

static void check_env_resource(const json_t *ref, struct neap_causes *causes)
{
	rule_resource_field_ref(ref, false, causes);
}

static void check_source(const json_t *source, const json_t *value,
			 struct neap_causes *causes)
{
	static const struct {
		const char *name;
		rule_part_fn *check;
	} refs[] = {{"fieldRef", rule_field_ref},
		    {"resourceFieldRef", check_env_resource},
		    {"configMapKeyRef", check_key_ref},
		    {"secretKeyRef", check_key_ref}};
	const char *fault = NULL;
	size_t count = 0;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(refs); i++) {
		count += json_object_get(source, refs[i].name) ? 1 : 0;
		rule_in(source, refs[i].name, refs[i].check, causes);
	}
	if (json_string_length(value) > 0 && count > 0)
		fault = "may not be specified when `value` is not empty";
	else if (json_string_length(value) == 0 && count == 0)
		fault = "must specify one of: `fieldRef`, `resourceFieldRef`, "
			"`configMapKeyRef` or `secretKeyRef`";
	else if (json_string_length(value) == 0 && count > 1)
		fault = "may not have more than one field specified at a time";
	if (fault)
		rule_invalid_text(causes, "", "", fault);
}

static void check_variable(const json_t *variable, void *arg NEAP_UNUSED,
			   struct neap_causes *causes)
{
	const json_t *source = json_object_get(variable, "valueFrom");
	size_t from;

	(void)rule_need(variable, "name", causes);
	rule_text(variable, "name", rule_env_name_fault, causes);
	if (!source)
		return;
	from = causes->count;
	check_source(source, json_object_get(variable, "value"), causes);
	neap_causes_infield(causes, from, "valueFrom");
}

static void check_env_ref(const json_t *ref, struct neap_causes *causes)
{
	(void)rule_need_always(ref, "name", causes);
	rule_subdomain(ref, "name", causes);
}

static void check_env_from(const json_t *item, void *arg NEAP_UNUSED,
			   struct neap_causes *causes)
{
	static const char *const names[] = {"configMapRef", "secretRef"};
	size_t count = 0;

	rule_text(item, "prefix", rule_env_name_fault, causes);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		count += json_object_get(item, names[i]) ? 1 : 0;
		rule_in(item, names[i], check_env_ref, causes);
	}
	if (count == 0)
		rule_invalid_text(causes, "", "",
				  "must specify one of: `configMapRef` or `secretRef`");
	else if (count > 1)
		rule_invalid_text(causes, "", "",
				  "may not have more than one field specified at a time");
}

static void rule_env(const json_t *container, struct neap_causes *causes)
{
	rule_each(container, "env", check_variable, NULL, causes);
	rule_each(container, "envFrom", check_env_from, NULL, causes);
}

/* --- containers --- */

/* The kinds of a pod's containers, each with a list. */
enum list { MAIN, INIT, EPHEMERAL, LISTS };

static const char *const list_names[LISTS] = {"containers", "initContainers",
					      "ephemeralContainers"};

struct scope {
	struct rule_pod *pod;
	struct neap_causes *causes;
	enum list list;              /* being checked */
	struct rule_seen names;      /* of all containers */
	struct rule_seen host_ports; /* of containers that run at the same time */
	bool is_host_network;
	int64_t grace;
};

/* --- ports --- */

struct ports {
	struct scope *scope;
	struct rule_seen names;
	bool is_beside; /* the container runs at the same time as others */
};

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
		       neap_json_text(port, "protocol"), neap_json_text(port, "hostIP"),
		       number);
	if (rule_seen_add(&scope->host_ports, key, scope->causes)) {
		json_t *shown = json_string(key);

		if (!shown)
			rule_nomem(scope->causes);
		else
			neap_causes_duplicate(scope->causes, "hostPort", shown);
		json_decref(shown);
	}
}

static void check_port(const json_t *port, void *arg, struct neap_causes *causes)
{
	struct ports *ports = arg;
	const json_t *number = json_object_get(port, "containerPort");
	const char *name = neap_json_text(port, "name");
	const char *fault = *name ? rule_port_name_fault(name) : NULL;

	rule_invalid(port, "name", fault, causes);
	if (!fault)
		rule_unique(&ports->names, port, "name", causes);
	if (json_is_integer(number) && json_integer_value(number) == 0)
		neap_causes_required(causes, "containerPort", "");
	else
		rule_range(port, "containerPort", 1, 65535, RULE_PORT, causes);
	check_host_port(ports->scope, port, ports->is_beside);
}

static void check_ports(struct scope *scope, const json_t *container, bool is_beside)
{
	struct ports ports = {.scope = scope, .is_beside = is_beside};

	rule_each(container, "ports", check_port, &ports, scope->causes);
	rule_seen_done(&ports.names);
}

/* --- mounts --- */

struct mounts {
	const struct rule_pod *pod;
	struct rule_seen paths;
};

/* A mount of a volume of the pod at a path in the container (member). Each path is used
 * once. */
static void check_place(struct mounts *mounts, const json_t *mount, const char *member,
			struct neap_causes *causes)
{
	const char *name = rule_need(mount, "name", causes);
	const char *path = rule_need(mount, member, causes);

	if (name && !rule_seen_has(&mounts->pod->volumes, name))
		neap_causes_add(causes, "FieldValueNotFound", "name",
				"Not found: \"%.253s\"", name);
	if (path && rule_seen_add(&mounts->paths, path, causes))
		rule_invalid(mount, member, "must be unique", causes);
}

static void check_mount(const json_t *mount, void *arg, struct neap_causes *causes)
{
	check_place(arg, mount, "mountPath", causes);
	rule_text(mount, "subPath", rule_path_fault, causes);
	rule_text(mount, "subPathExpr", rule_path_fault, causes);
	if (*neap_json_text(mount, "subPath") && *neap_json_text(mount, "subPathExpr"))
		rule_invalid(mount, "subPathExpr",
			     "subPathExpr and subPath are mutually exclusive", causes);
}

static void check_device(const json_t *device, void *arg, struct neap_causes *causes)
{
	check_place(arg, device, "devicePath", causes);
}

static void check_mounts(struct scope *scope, const json_t *container)
{
	struct mounts mounts = {.pod = scope->pod};

	rule_each(container, "volumeMounts", check_mount, &mounts, scope->causes);
	rule_each(container, "volumeDevices", check_device, &mounts, scope->causes);
	rule_seen_done(&mounts.paths);
}

/* --- the rest --- */

static void check_image(struct scope *scope, const json_t *container)
{
	const char *image = rule_need_always(container, "image", scope->causes);
	size_t len = image ? strlen(image) : 0;

	if (len > 0 && scope->pod->is_pod &&
	    (isspace((unsigned char)image[0]) || isspace((unsigned char)image[len - 1])))
		rule_invalid(container, "image",
			     "must not have leading or trailing whitespace",
			     scope->causes);
}

static void check_security(const json_t *security, struct neap_causes *causes)
{
	rule_id(security, "runAsUser", causes);
	rule_id(security, "runAsGroup", causes);
	if (json_is_true(json_object_get(security, "privileged")) &&
	    json_is_false(json_object_get(security, "allowPrivilegeEscalation")))
		rule_invalid(security, "allowPrivilegeEscalation",
			     "cannot set `allowPrivilegeEscalation` to false and "
			     "`privileged` to true",
			     causes);
}

/* Containers that end before the others start have no probes, nor do ephemeral ones. */
static void check_own(struct scope *scope, const json_t *container, enum list list)
{
	static const char *const names[] = {"lifecycle", "livenessProbe",
					    "readinessProbe", "startupProbe"};
	bool is_restarted = neap_json_is_text(container, "restartPolicy", "Always");

	if (list != INIT && is_restarted)
		neap_causes_forbidden(scope->causes, "restartPolicy",
				      "may not be set for non-init containers");
	if (list == MAIN || (list == INIT && is_restarted)) {
		rule_probes(container, scope->grace, scope->causes);
		return;
	}
	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		if (!json_object_get(container, names[i]))
			continue;
		neap_causes_forbidden(
			scope->causes, names[i], "%s",
			list == INIT ? "may not be set for init containers without "
				       "restartPolicy=Always"
				     : "cannot be set for an Ephemeral Container");
	}
}

static void check_container(const json_t *container, void *arg,
			    struct neap_causes *causes)
{
	struct scope *scope = arg;

	(void)rule_need(container, "name", causes);
	rule_label(container, "name", causes);
	rule_unique(&scope->names, container, "name", causes);
	check_image(scope, container);
	check_ports(scope, container, scope->list == MAIN);
	rule_env(container, causes);
	check_mounts(scope, container);
	check_own(scope, container, scope->list);
	rule_in(container, "resources", rule_resources, causes);
	rule_in(container, "securityContext", check_security, causes);
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
		scope.list = (enum list)list;
		rule_each(spec, list_names[list], check_container, &scope, causes);
	}
	rule_seen_done(&scope.names);
	rule_seen_done(&scope.host_ports);
}
