/* SPDX-License-Identifier: Apache-2.0
 *
 * Which parts of a pod's spec are supported. Unsupported parts are reported as events;
 * where ignoring them would be wrong, the container is not started. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/agent/pod/agent_priv.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

/* --- amounts --- */

int64_t agent_amount(const json_t *container, const char *what, const char *name)
{
	const json_t *value = json_object_get(
		json_object_get(json_object_get(container, "resources"), what), name);
	bool is_cpu = strcmp(name, "cpu") == 0;
	int64_t amount;

	if (json_is_string(value)) {
		const char *text = json_string_value(value);
		int rc = is_cpu ? neap_quantity_parse_milli(text, &amount, NULL)
				: neap_quantity_parse_units(text, &amount, NULL);

		return rc < 0 || amount < 0 ? NEAP_MISSING : amount;
	}
	if (json_is_number(value)) {
		double number = json_number_value(value) * (is_cpu ? 1000 : 1);

		return number >= 0 && number < 9e18 ? (int64_t)ceil(number)
						    : NEAP_MISSING;
	}
	return NEAP_MISSING;
}

/* --- unsupported parts --- */

enum when { WHEN_TRUE, WHEN_FILLED };

struct wish {
	const char *name; /* "securityContext.privileged" */
	enum when when;
	/* why nothing is started; NULL: the part is reported and ignored */
	const char *refused;
};

static const struct wish pod_wishes[] = {
	{"hostPID", WHEN_TRUE, NULL},
	{"hostIPC", WHEN_TRUE, NULL},
	{"shareProcessNamespace", WHEN_TRUE, NULL},
	{"runtimeClassName", WHEN_FILLED, NULL},
	{"dnsConfig", WHEN_FILLED, NULL},
	{"hostAliases", WHEN_FILLED, NULL},
	{"hostname", WHEN_FILLED, NULL},
	{"subdomain", WHEN_FILLED, NULL},
	{"ephemeralContainers", WHEN_FILLED, NULL},
	{"resourceClaims", WHEN_FILLED, "resource claims are not given out here"},
	{"securityContext.sysctls", WHEN_FILLED, NULL},
	{"securityContext.seLinuxOptions", WHEN_FILLED, NULL},
	{"securityContext.windowsOptions", WHEN_FILLED, "this is Linux"},
	{"securityContext.supplementalGroups", WHEN_FILLED, NULL},
	{"securityContext.appArmorProfile", WHEN_FILLED, NULL},
};

static const struct wish container_wishes[] = {
	{"restartPolicy", WHEN_FILLED, "init containers that stay are not run here"},
	{"securityContext.privileged", WHEN_TRUE, "asks for root: privileged"},
	{"securityContext.capabilities.add", WHEN_FILLED,
	 "asks for root: added capabilities"},
	{"securityContext.readOnlyRootFilesystem", WHEN_TRUE, NULL},
	{"securityContext.allowPrivilegeEscalation", WHEN_TRUE, NULL},
	{"securityContext.seLinuxOptions", WHEN_FILLED, NULL},
	{"securityContext.windowsOptions", WHEN_FILLED, "this is Linux"},
	{"securityContext.appArmorProfile", WHEN_FILLED, NULL},
	{"lifecycle", WHEN_FILLED, NULL},
	{"volumeDevices", WHEN_FILLED, "devices of volumes are not given out here"},
	{"stdin", WHEN_TRUE, NULL},
	{"tty", WHEN_TRUE, NULL},
};

static const json_t *find_at(const json_t *object, const char *path)
{
	while (object != NULL && *path != '\0') {
		size_t len = strcspn(path, ".");

		object = json_object_getn(object, path, len);
		path += len + (path[len] == '.');
	}
	return object;
}

static bool is_wished(const json_t *object, const struct wish *wish)
{
	const json_t *value = find_at(object, wish->name);

	if (wish->when == WHEN_TRUE)
		return json_is_true(value);
	return json_object_size(value) > 0 || json_array_size(value) > 0 ||
	       json_string_length(value) > 0;
}

/* --- volumes --- */

/* The token volume that a cluster adds to every pod: no user asked for it. */
static bool is_token(const json_t *volume)
{
	const json_t *source;
	size_t i;

	json_array_foreach (find_at(volume, "projected.sources"), i, source)
		if (json_object_get(source, "serviceAccountToken") != NULL)
			return true;
	return false;
}

NEAP_PRINTF(2, 3)
static void refuse(struct neap_pod_container *one, const char *fmt, ...)
{
	va_list args;

	if (one->refused[0] != '\0')
		return;
	va_start(args, fmt);
	(void)vsnprintf(one->refused, sizeof(one->refused), fmt, args);
	va_end(args);
	neap_utf8_trim(one->refused);
}

static void check_mounts(struct neap_pod_container *one, const json_t *spec,
			 const json_t *container)
{
	const json_t *mount;
	size_t i;

	json_array_foreach (json_object_get(container, "volumeMounts"), i, mount) {
		const char *name = neap_json_text(mount, "name");

		if (!is_token(neap_json_find(json_object_get(spec, "volumes"), "name",
					     name)))
			refuse(one,
			       "volumeMounts[%zu]: volumes are not mounted here (%.63s)",
			       i, name);
	}
}

/* The only supported user is that of --run-pods-user. */
static void check_user(const struct agent_pod *pod, struct neap_pod_container *one,
		       const json_t *spec, const json_t *container)
{
	const json_t *user = find_at(container, "securityContext.runAsUser");

	if (!json_is_integer(user))
		user = find_at(spec, "securityContext.runAsUser");
	if (!json_is_integer(user))
		return;
	if (json_integer_value(user) == 0)
		refuse(one, "asks for root: securityContext.runAsUser is 0");
	else if (json_integer_value(user) != (json_int_t)pod->agent->config.uid)
		refuse(one,
		       "securityContext.runAsUser is %lld; pods run as the user %lld here",
		       (long long)json_integer_value(user),
		       (long long)pod->agent->config.uid);
}

static void check_container(const struct agent_pod *pod, struct neap_pod_container *one,
			    const json_t *spec, const json_t *container)
{
	const char *cwd = neap_json_text(container, "workingDir");

	for (size_t i = 0; i < NEAP_ARRAY_LEN(pod_wishes); i++)
		if (pod_wishes[i].refused != NULL && is_wished(spec, &pod_wishes[i]))
			refuse(one, "spec.%s: %s", pod_wishes[i].name,
			       pod_wishes[i].refused);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(container_wishes); i++)
		if (container_wishes[i].refused != NULL &&
		    is_wished(container, &container_wishes[i]))
			refuse(one, "%s", container_wishes[i].refused);
	check_user(pod, one, spec, container);
	check_mounts(one, spec, container);
	if (json_array_size(json_object_get(container, "command")) == 0)
		refuse(one, "no command; images are not pulled here");
	if (cwd[0] != '\0' && cwd[0] != '/')
		refuse(one, "workingDir must be an absolute path");
}

/* --- decoding --- */

static const char *const probe_names[AGENT_PROBES] = {"startupProbe", "livenessProbe",
						      "readinessProbe"};

static bool has_probe(const json_t *container, enum neap_probe_kind kind)
{
	const json_t *probe = json_object_get(container, probe_names[kind]);

	return probe != NULL &&
	       neap_probe_check(probe, json_object_get(container, "ports"), NULL) >= 0;
}

static int decode_container(const struct agent_pod *pod, struct neap_pod_container *one,
			    const json_t *spec, const json_t *container, bool is_init,
			    struct neap_error *err)
{
	const char *name = neap_json_text(container, "name");

	if (!neap_strcopy(one->name, sizeof(one->name), name) || name[0] == '\0')
		return neap_error_set(err, NEAP_EINVAL, "a container without a name");
	one->image = neap_strdup(neap_json_text(container, "image"));
	if (one->image == NULL)
		return neap_error_nomem(err);
	one->is_init = is_init;
	one->has_startup = !is_init && has_probe(container, NEAP_PROBE_STARTUP);
	one->has_readiness = !is_init && has_probe(container, NEAP_PROBE_READINESS);
	check_container(pod, one, spec, container);
	return 0;
}

static int64_t seconds(const json_t *object, const char *name, int64_t otherwise)
{
	const json_t *value = json_object_get(object, name);

	return json_is_integer(value) ? (int64_t)json_integer_value(value) : otherwise;
}

int agent_decode(struct agent_pod *pod, struct neap_error *err)
{
	const json_t *spec = agent_spec(pod), *container;
	const json_t *lists[] = {json_object_get(spec, "initContainers"),
				 json_object_get(spec, "containers")};
	const char *restart = neap_json_text(spec, "restartPolicy");
	struct neap_pod_life *life = &pod->life;
	size_t at = 0, i;
	int rc = neap_pod_life_init(
		life, json_array_size(lists[0]) + json_array_size(lists[1]), err);

	if (rc < 0)
		return rc;
	life->restart = strcmp(restart, "Never") == 0       ? NEAP_POD_NEVER
			: strcmp(restart, "OnFailure") == 0 ? NEAP_POD_ON_FAILURE
							    : NEAP_POD_ALWAYS;
	life->grace_s = seconds(spec, "terminationGracePeriodSeconds", 30);
	if (life->grace_s < 0) /* as for a deletion */
		life->grace_s = 1;
	life->deadline_s = seconds(spec, "activeDeadlineSeconds", 0);
	life->second_usec = pod->agent->config.second_usec;
	for (size_t k = 0; k < NEAP_ARRAY_LEN(lists); k++) {
		json_array_foreach (lists[k], i, container) {
			rc = decode_container(pod, &life->containers[at++], spec,
					      container, k == 0, err);
			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

/* --- reporting --- */

static void tell(struct agent_pod *pod, const struct agent_container *container,
		 const char *field, const char *why)
{
	agent_note(pod, container, true, "Unsupported", "%s: %s", field, why);
}

static void tell_ports(struct agent_pod *pod, const struct agent_container *container,
		       const json_t *ports)
{
	bool is_host_network =
		json_is_true(json_object_get(agent_spec(pod), "hostNetwork"));
	const json_t *port;
	size_t i;

	json_array_foreach (ports, i, port) {
		if (is_host_network || seconds(port, "hostPort", 0) == 0)
			continue;
		tell(pod, container, "ports.hostPort",
		     "not honoured; the process listens on this machine's own ports");
		return;
	}
}

static void tell_container(struct agent_pod *pod, struct agent_container *container)
{
	const json_t *spec = agent_container_spec(container);

	for (size_t i = 0; i < NEAP_ARRAY_LEN(container_wishes); i++)
		if (container_wishes[i].refused == NULL &&
		    is_wished(spec, &container_wishes[i]))
			tell(pod, container, container_wishes[i].name, "not honoured");
	tell_ports(pod, container, json_object_get(spec, "ports"));
	for (size_t i = 0; i < AGENT_PROBES; i++) {
		const json_t *probe = json_object_get(spec, probe_names[i]);
		struct neap_error err;

		if (probe != NULL &&
		    neap_probe_check(probe, json_object_get(spec, "ports"), &err) < 0)
			tell(pod, container, probe_names[i], err.msg);
	}
}

void agent_tell_unsupported(struct agent_pod *pod)
{
	const json_t *spec = agent_spec(pod), *volume;
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(pod_wishes); i++)
		if (is_wished(spec, &pod_wishes[i]))
			tell(pod, NULL, pod_wishes[i].name,
			     pod_wishes[i].refused ? pod_wishes[i].refused
						   : "not honoured");
	json_array_foreach (json_object_get(spec, "volumes"), i, volume) {
		if (is_token(volume))
			continue;
		agent_note(pod, NULL, true, "Unsupported",
			   "volumes[%zu] (%.63s): volumes are not mounted here", i,
			   neap_json_text(volume, "name"));
	}
	for (i = 0; i < pod->life.count; i++) {
		struct agent_container *container = &pod->containers[i];

		tell_container(pod, container);
		if (pod->life.containers[i].refused[0] != '\0')
			agent_note(pod, container, true, "Failed", "Error: %s",
				   pod->life.containers[i].refused);
	}
}
