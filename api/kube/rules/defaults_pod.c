/* SPDX-License-Identifier: Apache-2.0
 *
 * Defaults of pods and pod templates. */
#include <string.h>

#include "api/kube/rules/check_priv.h"
#include "api/kube/rules/rules.h"
#include "engine/base/base.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

/* --- images ---
 *
 * Parses image names ([DOMAIN/]PATH[:TAG][@DIGEST]) as far as needed to decide when to
 * pull. */

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"
#define WORD   LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ" DIGITS
/* The length of domain and path. The default domain is docker.io, with a default folder
 * if the path has none. */
#define NAME_MAX_BYTES 255
#define HOME           "docker.io/"
#define HOME_FOLDER    "library/"
#define TAG_MAX        128
/* A name of so many digits is an image id. */
#define ID_LEN 64

/* Whether the first part is a server: it has a dot or a port, or is localhost. */
static bool is_domain(const char *image, size_t len)
{
	return memchr(image, '.', len) || memchr(image, ':', len) ||
	       (len == strlen("localhost") && memcmp(image, "localhost", len) == 0);
}

/* Labels of letters, digits and inner dashes, separated by dots; then a port. */
static bool domain_fits(const char *at, const char *end)
{
	for (;;) {
		size_t len = strspn(at, WORD "-");

		if (len == 0 || at[0] == '-' || at[len - 1] == '-')
			return false;
		at += len;
		if (at == end)
			return true;
		if (*at == ':')
			return at + 1 < end && at + 1 + strspn(at + 1, DIGITS) == end;
		if (*at++ != '.')
			return false;
	}
}

/* Lower-case letters and digits, separated by ".", "_", "__" or dashes, in folders.
 * Returns the end; NULL: invalid. */
static const char *path_end(const char *at)
{
	for (;;) {
		size_t len = strspn(at, LOWER DIGITS), dashes;

		if (len == 0)
			return NULL;
		at += len;
		dashes = strspn(at, "-");
		if (dashes > 0)
			at += dashes;
		else if (*at == '/' || *at == '.')
			at++;
		else if (*at == '_')
			at += at[1] == '_' ? 2 : 1;
		else
			return at;
	}
}

static bool digest_fits(const char *digest)
{
	static const struct {
		const char *name;
		size_t len;
	} kinds[] = {{"sha256:", 64}, {"sha384:", 96}, {"sha512:", 128}};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(kinds); i++) {
		size_t len = strlen(kinds[i].name);

		if (strncmp(digest, kinds[i].name, len) == 0)
			return strspn(digest + len, "abcdef" DIGITS) == kinds[i].len &&
			       digest[len + kinds[i].len] == '\0';
	}
	return false;
}

static bool name_fits(const char *image, const char **ret_end)
{
	const char *slash = strchr(image, '/'), *path = image, *end;
	size_t extra = 0;

	if (slash && is_domain(image, (size_t)(slash - image))) {
		if (!domain_fits(image, slash))
			return false;
		path = slash + 1;
	} else {
		extra = strlen(HOME) + (!slash ? strlen(HOME_FOLDER) : 0);
	}
	end = path_end(path);
	if (!end || (size_t)(end - image) + extra > NAME_MAX_BYTES)
		return false;
	*ret_end = end;
	return *end != '\0' || end - image != ID_LEN ||
	       strspn(image, "abcdef" DIGITS) != ID_LEN;
}

/* Whether an image name ([DOMAIN/]PATH[:TAG][@DIGEST]) means the newest image:
 * its tag is latest, or it has neither tag nor digest. False for an invalid name. */
static bool neap_kube_image_is_latest(const char *image)
{
	const char *at, *tag = NULL;
	size_t len = 0;

	if (!name_fits(image, &at))
		return false;
	if (*at == ':') {
		tag = at + 1;
		len = strspn(tag, WORD "_.-");
		if (len == 0 || len > TAG_MAX || *tag == '.' || *tag == '-')
			return false;
		at = tag + len;
	}
	if (*at == '@' ? !digest_fits(at + 1) : *at != '\0')
		return false;
	if (!tag)
		return *at == '\0';
	return len == strlen("latest") && memcmp(tag, "latest", len) == 0;
}

/* --- pods --- */

/* Sets the policy (member name) from the tag of the image (member image), where the
 * policy is missing, or empty as in some manifests. */
static bool complete_policy(json_t *object, const char *image, const char *name)
{
	const json_t *value = json_object_get(object, name);
	bool latest = neap_kube_image_is_latest(neap_json_text(object, image));

	if (value && (!json_is_string(value) || json_string_length(value) > 0))
		return true;
	return neap_kube_member_take(object, name,
				     json_string(latest ? "Always" : "IfNotPresent"));
}

static bool complete_containers(const json_t *containers)
{
	json_t *container;
	size_t i;

	json_array_foreach (containers, i, container)
		if (!complete_policy(container, "image", "imagePullPolicy"))
			return false;
	return true;
}

/* A volume without a source is an emptyDir. An image volume has a pull policy as
 * containers have. */
static bool complete_volumes(const json_t *volumes)
{
	json_t *volume;
	size_t i;

	json_array_foreach (volumes, i, volume) {
		size_t named = json_object_get(volume, "name") ? 1 : 0;

		if (json_object_size(volume) == named &&
		    !neap_kube_default_take(volume, "emptyDir", json_object()))
			return false;
		if (!complete_policy(json_object_get(volume, "image"), "reference",
				     "pullPolicy"))
			return false;
	}
	return true;
}

/* serviceAccount is the former name of serviceAccountName: both are set. */
static bool complete_account(json_t *spec)
{
	const json_t *name = json_object_get(spec, "serviceAccountName");

	if (neap_kube_is_empty(name)) {
		name = json_object_get(spec, "serviceAccount");
		return neap_kube_is_empty(name) ||
		       neap_kube_member_take(spec, "serviceAccountName",
					     neap_json_deep_copy(name));
	}
	return neap_kube_member_take(spec, "serviceAccount", neap_json_deep_copy(name));
}

/* Shared by pods and templates. */
static bool complete_spec(json_t *spec)
{
	return complete_containers(json_object_get(spec, "containers")) &&
	       complete_containers(json_object_get(spec, "initContainers")) &&
	       complete_containers(json_object_get(spec, "ephemeralContainers")) &&
	       complete_volumes(json_object_get(spec, "volumes")) &&
	       complete_account(spec);
}

bool neap_kube_complete_pod_template(json_t *pod_template)
{
	return complete_spec(json_object_get(pod_template, "spec"));
}

/* A resource with a limit but no request is requested up to the limit. */
static bool complete_requests(const json_t *containers)
{
	json_t *container, *requests;
	size_t i;

	json_array_foreach (containers, i, container) {
		json_t *resources = json_object_get(container, "resources");
		json_t *limits = json_object_get(resources, "limits");
		const char *name;
		const json_t *limit;

		if (json_object_size(limits) == 0)
			continue;
		if (!neap_kube_child(resources, "requests", &requests))
			return false;
		json_object_foreach (limits, name, limit)
			if (!neap_kube_default_copy(requests, name, limit))
				return false;
	}
	return true;
}

/* The same for the pod's own resources, but at least what its containers request. */
static bool complete_pod_requests(json_t *spec)
{
	json_t *resources = json_object_get(spec, "resources"), *requests;
	json_t *limits = json_object_get(resources, "limits");
	const char *name;
	const json_t *limit;

	if (json_object_size(limits) == 0)
		return true;
	if (!neap_kube_child(resources, "requests", &requests))
		return false;
	json_object_foreach (limits, name, limit)
		if (!neap_kube_default_copy(requests, name, limit))
			return false;
	return true;
}

/* In the host's network a container port is a host port. */
static bool complete_ports(const json_t *ports)
{
	json_t *port;
	size_t i;

	json_array_foreach (ports, i, port) {
		json_t *number = json_object_get(port, "containerPort");

		if (json_integer_value(json_object_get(port, "hostPort")) != 0 ||
		    !json_is_integer(number))
			continue;
		if (!neap_kube_member_take(port, "hostPort", neap_json_copy(number)))
			return false;
	}
	return true;
}

static bool complete_host_ports(const json_t *containers)
{
	const json_t *container;
	size_t i;

	json_array_foreach (containers, i, container)
		if (!complete_ports(json_object_get(container, "ports")))
			return false;
	return true;
}

/* --- the class of service --- */

enum { CPU, MEMORY, RESOURCES };

/* Sums of requests and limits; -1: none. */
struct totals {
	int64_t requests[RESOURCES], limits[RESOURCES];
	bool all_limited; /* all containers have both limits */
};

/* The amount, CPU in thousandths; 0 when it is invalid or negative. */
static int64_t amount(const json_t *value, int which)
{
	char text[NEAP_QUANTITY_SIZE];
	int64_t ret = 0;
	int rc, order = 0;

	if (!neap_schema_amount(value, text) ||
	    !neap_quantity_compare(text, "0", &order) || order <= 0)
		return 0;
	rc = which == CPU ? neap_quantity_parse_milli(text, &ret, NULL)
			  : neap_quantity_parse_units(text, &ret, NULL);
	return rc < 0 ? INT64_MAX : ret;
}

/* Returns whether more was positive. */
static bool add(int64_t *total, int64_t more)
{
	if (more <= 0)
		return false;
	if (*total < 0)
		*total = 0;
	if (__builtin_add_overflow(*total, more, total))
		*total = INT64_MAX;
	return true;
}

static void add_resources(struct totals *totals, const json_t *resources)
{
	static const char *const names[RESOURCES] = {"cpu", "memory"};
	const json_t *requests = json_object_get(resources, "requests");
	const json_t *limits = json_object_get(resources, "limits");

	for (int r = 0; r < RESOURCES; r++) {
		(void)add(&totals->requests[r],
			  amount(json_object_get(requests, names[r]), r));
		if (!add(&totals->limits[r],
			 amount(json_object_get(limits, names[r]), r)))
			totals->all_limited = false;
	}
}

static void add_containers(struct totals *totals, const json_t *containers)
{
	const json_t *container;
	size_t i;

	json_array_foreach (containers, i, container) {
		add_resources(totals, json_object_get(container, "resources"));
	}
}

/* Guaranteed: every container has limits of CPU and memory, and requests the same.
 * BestEffort: nothing is requested. */
static const char *qos_class(const json_t *spec)
{
	struct totals totals = {{-1, -1}, {-1, -1}, true};
	bool none = true, equal = true;

	/* The pod's own resources count, else its containers'. */
	if (json_object_size(neap_json_at(spec, "resources.requests")) > 0) {
		add_resources(&totals, json_object_get(spec, "resources"));
	} else {
		add_containers(&totals, json_object_get(spec, "containers"));
		add_containers(&totals, json_object_get(spec, "initContainers"));
	}
	for (int r = 0; r < RESOURCES; r++) {
		none = none && totals.requests[r] < 0 && totals.limits[r] < 0;
		equal = equal && totals.requests[r] == totals.limits[r];
	}
	if (none)
		return "BestEffort";
	return totals.all_limited && equal ? "Guaranteed" : "Burstable";
}

static bool complete_status(json_t *pod, const json_t *spec)
{
	json_t *status;

	if (!neap_kube_child(pod, "status", &status))
		return false;
	return neap_kube_default_take(status, "phase", json_string("Pending")) &&
	       neap_kube_default_take(status, "qosClass", json_string(qos_class(spec))) &&
	       neap_kube_first_of(status, "podIP", "podIPs", "ip");
}

bool neap_kube_complete_pod(json_t *object)
{
	json_t *spec = json_object_get(object, "spec");
	const json_t *containers = json_object_get(spec, "containers");
	const json_t *init = json_object_get(spec, "initContainers");

	if (!complete_spec(spec) || !complete_requests(containers) ||
	    !complete_requests(init) || !complete_pod_requests(spec))
		return false;
	if (json_is_true(json_object_get(spec, "hostNetwork")) &&
	    (!complete_host_ports(containers) || !complete_host_ports(init)))
		return false;
	return neap_kube_default_take(spec, "enableServiceLinks", json_true()) &&
	       complete_status(object, spec);
}

/* --- kinds that create pods ---
 *
 * Defaults of the kinds that create pods. */

static bool complete_template(const json_t *object)
{
	const json_t *spec = json_object_get(object, "spec");

	return neap_kube_complete_pod_template(json_object_get(spec, "template"));
}

/* Finds or creates spec.NAME.rollingUpdate; *ret_rolling is NULL when the update type is
 * another. */
static bool rolling_update(const json_t *object, const char *name, json_t **ret_rolling)
{
	json_t *strategy = json_object_get(json_object_get(object, "spec"), name);

	*ret_rolling = NULL;
	if (!neap_json_is_text(strategy, "type", "RollingUpdate"))
		return true;
	return neap_kube_child(strategy, "rollingUpdate", ret_rolling);
}

bool neap_kube_complete_podtemplate(json_t *object)
{
	return neap_kube_complete_pod_template(json_object_get(object, "template"));
}

bool neap_kube_complete_deployment(json_t *object)
{
	json_t *rolling;

	return rolling_update(object, "strategy", &rolling) &&
	       neap_kube_default_take(rolling, "maxUnavailable", json_string("25%")) &&
	       neap_kube_default_take(rolling, "maxSurge", json_string("25%")) &&
	       complete_template(object);
}

bool neap_kube_complete_replicaset(json_t *object)
{
	return complete_template(object);
}

/* Claim templates have their kind, and the phase of a new claim. */
static bool complete_claims(const json_t *claims)
{
	json_t *claim, *status;
	size_t i;

	json_array_foreach (claims, i, claim)
		if (!neap_kube_default_take(claim, "apiVersion", json_string("v1")) ||
		    !neap_kube_default_take(claim, "kind",
					    json_string("PersistentVolumeClaim")) ||
		    !neap_kube_child(claim, "status", &status) ||
		    !neap_kube_default_take(status, "phase", json_string("Pending")))
			return false;
	return true;
}

bool neap_kube_complete_statefulset(json_t *object)
{
	const json_t *spec = json_object_get(object, "spec");
	json_t *rolling;

	return rolling_update(object, "updateStrategy", &rolling) &&
	       neap_kube_default_take(rolling, "partition", json_integer(0)) &&
	       complete_claims(json_object_get(spec, "volumeClaimTemplates")) &&
	       complete_template(object);
}

bool neap_kube_complete_daemonset(json_t *object)
{
	json_t *rolling;

	return rolling_update(object, "updateStrategy", &rolling) &&
	       neap_kube_default_take(rolling, "maxUnavailable", json_integer(1)) &&
	       neap_kube_default_take(rolling, "maxSurge", json_integer(0)) &&
	       complete_template(object);
}

/* metadata.labels of an object's pod template; NULL: none. */
static const json_t *template_labels(const json_t *object)
{
	const json_t *spec = json_object_get(object, "spec");
	const json_t *labels = neap_json_at(spec, "template.metadata.labels");

	return json_object_size(labels) > 0 ? labels : NULL;
}

/* An object without labels gets those of its pods. */
static bool complete_labels(json_t *object)
{
	const json_t *labels = template_labels(object);
	json_t *metadata;

	if (!labels)
		return true;
	if (!neap_kube_child(object, "metadata", &metadata))
		return false;
	if (!neap_kube_is_empty(json_object_get(metadata, "labels")))
		return true;
	return neap_kube_member_take(metadata, "labels", neap_json_deep_copy(labels));
}

bool neap_kube_complete_replicationcontroller(json_t *object)
{
	json_t *spec = json_object_get(object, "spec");
	const json_t *labels = template_labels(object);

	if (labels && neap_kube_is_empty(json_object_get(spec, "selector")) &&
	    !neap_kube_member_take(spec, "selector", neap_json_deep_copy(labels)))
		return false;
	return complete_labels(object) && complete_template(object);
}

/* --- jobs --- */

/* The pods of a job are identified by its uid: sets the labels, and the selector for
 * them. */
static bool complete_selector(json_t *object)
{
	const json_t *metadata = json_object_get(object, "metadata");
	const char *uid = neap_json_text(metadata, "uid");
	const char *name = neap_json_text(metadata, "name");
	json_t *spec = json_object_get(object, "spec");
	json_t *template = json_object_get(spec, "template");
	json_t *template_metadata, *labels, *selector, *match;

	if (uid[0] == '\0' || name[0] == '\0' || !json_is_object(template) ||
	    json_is_true(json_object_get(spec, "manualSelector")) ||
	    json_object_get(spec, "selector"))
		return true;
	if (!neap_kube_child(template, "metadata", &template_metadata) ||
	    !neap_kube_child(template_metadata, "labels", &labels) ||
	    !neap_kube_child(spec, "selector", &selector) ||
	    !neap_kube_child(selector, "matchLabels", &match))
		return false;
	return neap_kube_default_take(labels, "controller-uid", json_string(uid)) &&
	       neap_kube_default_take(labels, "job-name", json_string(name)) &&
	       neap_kube_default_take(labels, "batch.kubernetes.io/controller-uid",
				      json_string(uid)) &&
	       neap_kube_default_take(labels, "batch.kubernetes.io/job-name",
				      json_string(name)) &&
	       neap_kube_default_take(match, "batch.kubernetes.io/controller-uid",
				      json_string(uid));
}

/* A job without labels gets those of its pods, which include the uid's unless
 * manualSelector is true. */
bool neap_kube_begin_job(json_t *object)
{
	return complete_selector(object) && complete_labels(object);
}

bool neap_kube_complete_job(json_t *object)
{
	json_t *spec = json_object_get(object, "spec");
	bool per_index = json_object_get(spec, "backoffLimitPerIndex") != NULL;
	bool policy = json_object_get(spec, "podFailurePolicy") != NULL;

	if (!json_object_get(spec, "parallelism") &&
	    !neap_kube_default_take(spec, "completions", json_integer(1)))
		return false;
	return neap_kube_default_take(spec, "parallelism", json_integer(1)) &&
	       neap_kube_default_take(spec, "backoffLimit",
				      json_integer(per_index ? INT32_MAX : 6)) &&
	       neap_kube_default_take(
		       spec, "podReplacementPolicy",
		       json_string(policy ? "Failed" : "TerminatingOrFailed")) &&
	       complete_labels(object) && complete_template(object);
}
