/* SPDX-License-Identifier: Apache-2.0
 *
 * A pod is the first allocation of its arena. Each reader fills its part; the first one
 * that fails leaves its message in trouble. */
#include "engine/pod/pod.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "engine/pod/pod_priv.h"

char *neap_pod_key(const char *ns, const char *name, char buf[NEAP_POD_KEY])
{
	(void)snprintf(buf, NEAP_POD_KEY, "%s/%s", ns, name);
	return buf;
}

char *neap_pod_seat_key(const struct neap_pod *pod, char buf[NEAP_POD_KEY])
{
	return pod->keep && pod->keep->name
		       ? neap_pod_key("", pod->keep->name, buf)
		       : neap_pod_key(pod->object->ns, pod->object->name, buf);
}

void *neap_pod_list(struct neap_pod *pod, size_t count, size_t size, const char *field,
		    struct neap_error *err)
{
	void *list;

	if (count > NEAP_POD_ITEMS_MAX) {
		(void)neap_error_field(err, NEAP_ETOOLARGE, field, "more than %d",
				       NEAP_POD_ITEMS_MAX);
		return NULL;
	}
	list = neap_arena_array(&pod->arena, count, size);
	if (!list)
		(void)neap_error_nomem(err);
	return list;
}

static const char *copy_text(struct neap_pod *pod, const json_t *object, const char *name)
{
	const char *text = neap_json_text(object, name);

	return *text ? neap_arena_strdup(&pod->arena, text) : "";
}

/* --- tolerations --- */

bool neap_taint_effect_parse(const char *text, enum neap_taint_effect *ret)
{
	static const char *const names[NEAP_TAINT_EFFECT_COUNT] = {
		"NoSchedule", "PreferNoSchedule", "NoExecute"};

	for (int i = 0; i < NEAP_TAINT_EFFECT_COUNT; i++)
		if (strcmp(text, names[i]) == 0) {
			*ret = (enum neap_taint_effect)i;
			return true;
		}
	return false;
}

bool neap_toleration_takes(const struct neap_toleration *toleration, const char *key,
			   const char *value, enum neap_taint_effect effect)
{
	if (!toleration->is_every && toleration->effect != effect)
		return false;
	if (*toleration->key && strcmp(toleration->key, key) != 0)
		return false;
	return toleration->is_any || strcmp(toleration->value, value) == 0;
}

int neap_tolerations_read(const json_t *list, struct neap_arena *arena,
			  const struct neap_toleration **ret, size_t *ret_count,
			  struct neap_error *err)
{
	size_t count = json_array_size(list);
	struct neap_toleration *tolerations;

	*ret_count = 0;
	if (count > NEAP_POD_ITEMS_MAX)
		return neap_error_field(err, NEAP_ETOOLARGE, "tolerations",
					"more than %d", NEAP_POD_ITEMS_MAX);
	tolerations = neap_arena_array(arena, count, sizeof(*tolerations));
	if (!tolerations)
		return neap_error_nomem(err);
	for (size_t i = 0; i < count; i++) {
		struct neap_toleration *row = &tolerations[*ret_count];
		const json_t *json = json_array_get(list, i);
		const char *effect = neap_json_text(json, "effect");

		row->is_any = neap_json_is_text(json, "operator", "Exists");
		row->is_every = !*effect;
		if (*effect && !neap_taint_effect_parse(effect, &row->effect))
			continue;
		row->key = neap_arena_strdup(arena, neap_json_text(json, "key"));
		row->value = neap_arena_strdup(arena, neap_json_text(json, "value"));
		/* A missing key means every key, with Exists only. */
		if (row->key && (*row->key || row->is_any))
			(*ret_count)++;
	}
	*ret = tolerations;
	return arena->failed ? neap_error_nomem(err) : 0;
}

static int read_tolerations(struct neap_pod *pod, const json_t *spec,
			    struct neap_error *err)
{
	int ret = neap_tolerations_read(json_object_get(spec, "tolerations"), &pod->arena,
					&pod->tolerations, &pod->toleration_count, err);

	return ret < 0 ? neap_error_infield(err, "spec") : 0;
}

/* --- ports and images --- */

static size_t count_ports(const json_t *containers)
{
	size_t count = 0;

	for (size_t i = 0; i < json_array_size(containers); i++)
		count += json_array_size(
			json_object_get(json_array_get(containers, i), "ports"));
	return count;
}

static bool is_helper(const json_t *container)
{
	return neap_json_is_text(container, "restartPolicy", "Always");
}

static void add_ports(struct neap_pod *pod, struct neap_host_port *ports,
		      const json_t *containers, bool only_helpers)
{
	for (size_t i = 0; i < json_array_size(containers); i++) {
		const json_t *container = json_array_get(containers, i);
		const json_t *list = json_object_get(container, "ports");

		if (only_helpers && !is_helper(container))
			continue;
		for (size_t n = 0; n < json_array_size(list); n++) {
			const json_t *json = json_array_get(list, n);
			json_int_t port =
				json_integer_value(json_object_get(json, "hostPort"));
			struct neap_host_port *row = &ports[pod->port_count];

			if (port <= 0 || port > UINT16_MAX)
				continue;
			row->port = (uint16_t)port;
			row->protocol = copy_text(pod, json, "protocol");
			row->address = copy_text(pod, json, "hostIP");
			if (!row->protocol || !row->address)
				return;
			if (!*row->protocol)
				row->protocol = "TCP";
			if (!*row->address || strcmp(row->address, "::") == 0)
				row->address = "0.0.0.0";
			pod->port_count++;
		}
	}
}

static int read_ports(struct neap_pod *pod, const json_t *spec, struct neap_error *err)
{
	const json_t *containers = json_object_get(spec, "containers");
	const json_t *init = json_object_get(spec, "initContainers");
	struct neap_host_port *ports =
		neap_pod_list(pod, count_ports(containers) + count_ports(init),
			      sizeof(*ports), "spec.containers.ports", err);

	if (!ports)
		return -(int)err->code;
	pod->ports = ports;
	add_ports(pod, ports, containers, false);
	add_ports(pod, ports, init, true);
	return pod->arena.failed ? neap_error_nomem(err) : 0;
}

bool neap_host_port_collides(const struct neap_host_port *a,
			     const struct neap_host_port *b)
{
	return a->port == b->port && strcmp(a->protocol, b->protocol) == 0 &&
	       (strcmp(a->address, b->address) == 0 ||
		strcmp(a->address, "0.0.0.0") == 0 || strcmp(b->address, "0.0.0.0") == 0);
}

/* As nodes name them: with a tag. */
static int add_images(struct neap_pod *pod, const json_t *list, struct neap_error *err)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = neap_json_text(json_array_get(list, i), "image");
		const char *colon = strrchr(name, ':'), *slash = strrchr(name, '/');
		bool has_tag = colon && (!slash || colon > slash);
		size_t size = strlen(name) + sizeof(":latest");
		char *copy = neap_arena_alloc(&pod->arena, size);

		if (!copy)
			return neap_error_nomem(err);
		(void)snprintf(copy, size, "%s%s", name, has_tag ? "" : ":latest");
		pod->images[pod->image_count++] = copy;
	}
	return 0;
}

static int read_images(struct neap_pod *pod, const json_t *spec, struct neap_error *err)
{
	const json_t *containers = json_object_get(spec, "containers");
	const json_t *init = json_object_get(spec, "initContainers");
	int ret;

	pod->images =
		neap_pod_list(pod, json_array_size(containers) + json_array_size(init),
			      sizeof(*pod->images), "spec.containers", err);
	if (!pod->images)
		return -(int)err->code;
	ret = add_images(pod, containers, err);
	pod->container_count = pod->image_count;
	return ret < 0 ? ret : add_images(pod, init, err);
}

/* For a generic ephemeral volume. */
static const char *own_claim(struct neap_pod *pod, const char *volume)
{
	size_t size = strlen(pod->object->name) + strlen(volume) + 2;
	char *name = neap_arena_alloc(&pod->arena, size);

	if (name)
		(void)snprintf(name, size, "%s-%s", pod->object->name, volume);
	return name;
}

static int read_claims(struct neap_pod *pod, const json_t *spec, struct neap_error *err)
{
	const json_t *list = json_object_get(spec, "volumes");

	pod->claims = neap_pod_list(pod, json_array_size(list), sizeof(*pod->claims),
				    "spec.volumes", err);
	if (!pod->claims)
		return -(int)err->code;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *volume = json_array_get(list, i);
		const json_t *claim = json_object_get(volume, "persistentVolumeClaim");
		bool is_own = json_is_object(json_object_get(volume, "ephemeral"));
		const char *name = is_own ? own_claim(pod, neap_json_text(volume, "name"))
					  : copy_text(pod, claim, "claimName");

		if (!name)
			return neap_error_nomem(err);
		if (*name)
			pod->claims[pod->claim_count++] =
				(struct neap_pod_claim){name, is_own};
	}
	return 0;
}

/* --- the pod --- */

static int64_t read_time(const json_t *object, const char *name)
{
	int64_t usec;

	return neap_time_parse(neap_json_text(object, name), &usec, NULL) < 0 ? 0 : usec;
}

static bool is_preempted(const json_t *conditions)
{
	const json_t *one;
	size_t i;

	json_array_foreach (conditions, i, one)
		if (neap_json_is_text(one, "type", "DisruptionTarget"))
			return neap_json_is_text(one, "status", "True") &&
			       neap_json_is_text(one, "reason", "PreemptionByScheduler");
	return false;
}

static int read_plain(struct neap_pod *pod, const json_t *tree, struct neap_error *err)
{
	const json_t *spec = json_object_get(tree, "spec");
	const json_t *status = json_object_get(tree, "status");
	const char *phase = neap_json_text(status, "phase");
	json_int_t priority = json_integer_value(json_object_get(spec, "priority"));

	pod->is_finished =
		strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
	pod->is_gated = json_array_size(json_object_get(spec, "schedulingGates")) > 0;
	pod->may_preempt = !neap_json_is_text(spec, "preemptionPolicy", "Never");
	pod->is_preempted = is_preempted(json_object_get(status, "conditions"));
	pod->priority = priority > INT32_MAX   ? INT32_MAX
			: priority < INT32_MIN ? INT32_MIN
					       : (int32_t)priority;
	pod->created_usec =
		read_time(json_object_get(tree, "metadata"), "creationTimestamp");
	pod->started_usec = read_time(status, "startTime");
	pod->node_name = copy_text(pod, spec, "nodeName");
	pod->scheduler = copy_text(pod, spec, "schedulerName");
	pod->nominated = copy_text(pod, status, "nominatedNodeName");
	return pod->arena.failed ? neap_error_nomem(err) : 0;
}

static int read_all(struct neap_pod *pod, const json_t *tree,
		    const struct neap_resources *resources, struct neap_error *err)
{
	const json_t *spec = json_object_get(tree, "spec");
	int ret = read_plain(pod, tree, err);

	if (ret == 0)
		ret = neap_pod_read_load(pod, tree, resources, err);
	if (ret == 0)
		ret = neap_pod_read_requests(pod, spec, resources, err);
	if (ret == 0)
		ret = read_ports(pod, spec, err);
	if (ret == 0)
		ret = neap_pod_read_affinity(pod, spec, err);
	if (ret == 0)
		ret = read_tolerations(pod, spec, err);
	if (ret == 0)
		ret = neap_term_read_map(&pod->node_selector,
					 json_object_get(spec, "nodeSelector"),
					 &pod->arena, err);
	if (ret == 0)
		ret = neap_pod_read_spreads(pod, spec, err);
	if (ret == 0)
		ret = read_images(pod, spec, err);
	if (ret == 0)
		ret = read_claims(pod, spec, err);
	return ret;
}

static void set_trouble(struct neap_pod *pod, const struct neap_error *err)
{
	size_t size = strlen(err->field) + strlen(err->msg) + 3;
	char *text = neap_arena_alloc(&pod->arena, size);

	if (text)
		(void)snprintf(text, size, "%s%s%s", err->field, *err->field ? ": " : "",
			       err->msg);
	pod->trouble = text ? text : "cannot be read";
}

int neap_pod_new(struct neap_object *object, const struct neap_resources *resources,
		 struct neap_pod **ret, struct neap_error *err)
{
	struct neap_pod *pod = neap_alloc(sizeof(*pod));
	json_t *tree = neap_object_tree(object);
	struct neap_error fault = {0}, other;
	int failed, no_cpus = 0;

	if (!pod || !tree) {
		free(pod);
		json_decref(tree);
		return neap_error_nomem(err);
	}
	pod->refs = 1;
	pod->object = neap_object_ref(object);
	pod->node_name = pod->scheduler = pod->nominated = pod->near_name = "";
	pod->reservation = "";
	failed = read_all(pod, tree, resources, &fault);
	/* Whatever else is wrong: it may run, and have CPUs. */
	if (fault.code != NEAP_ENOMEM)
		no_cpus = neap_pod_read_cpus(pod, tree, failed < 0 ? &other : &fault);
	if (fault.code != NEAP_ENOMEM && no_cpus != -NEAP_ENOMEM &&
	    neap_pod_read_kept(pod, tree, &other) < 0)
		no_cpus = -NEAP_ENOMEM;
	if (failed == 0 || no_cpus == -NEAP_ENOMEM)
		failed = no_cpus;
	json_decref(tree);
	if (failed == -NEAP_ENOMEM || (failed < 0 && pod->arena.failed)) {
		(void)neap_pod_unref(pod);
		return neap_error_nomem(err);
	}
	if (failed < 0)
		set_trouble(pod, &fault);
	*ret = pod;
	return 0;
}

/* No text in a pod can hold this: there quotes have a backslash. */
static int64_t bound_usec(const struct neap_object *object)
{
	static const char head[] =
		"{\"type\":\"PodScheduled\",\"status\":\"True\",\"lastTransitionTime\":\"";
	const char *at = memmem(object->text, object->text_len, head, sizeof(head) - 1);
	char text[32];
	int64_t usec;

	if (!at)
		return 0;
	(void)snprintf(text, sizeof(text), "%.*s",
		       (int)strcspn(at + sizeof(head) - 1, "\""), at + sizeof(head) - 1);
	return neap_time_parse(text, &usec, NULL) < 0 ? 0 : usec;
}

bool neap_pod_bind(struct neap_pod *pod, struct neap_object *object, const char *node,
		   const char *spec, const char *status)
{
	const char *bound = neap_object_field(object, "spec.nodeName");
	int64_t usec = bound_usec(object);
	const struct neap_pod_cpus *cpus = pod->cpus;
	const char *name;

	if (pod->trouble || !usec || !bound || strcmp(bound, node) != 0 ||
	    ((spec || status) && !cpus))
		return false;
	if (spec || status)
		cpus = neap_pod_renew_cpus(pod, spec, status);
	name = neap_arena_strdup(&pod->arena, node);
	if (!name || ((spec || status) && !cpus))
		return false;
	pod->cpus = cpus;
	pod->node_name = name;
	pod->load.assigned_usec = usec;
	(void)neap_object_ref(object);
	(void)neap_object_unref(pod->object);
	pod->object = object;
	return true;
}

struct neap_pod *neap_pod_ref(struct neap_pod *pod)
{
	pod->refs++;
	return pod;
}

struct neap_pod *neap_pod_unref(struct neap_pod *pod)
{
	if (!pod || --pod->refs)
		return NULL;
	(void)neap_object_unref(pod->object);
	free(pod->seat.status);
	free(pod->seat.reservation);
	neap_arena_done(&pod->arena);
	free(pod);
	return NULL;
}

static bool label_of(void *arg, const char *key, const char **ret_value, size_t *ret_len)
{
	*ret_value = neap_object_label(arg, key);
	if (!*ret_value)
		return false;
	*ret_len = strlen(*ret_value);
	return true;
}

static bool is_in_namespace(const struct neap_pod_term *term,
			    const struct neap_pod *other, const struct neap_object *ns)
{
	if (term->is_every_namespace)
		return true;
	for (size_t i = 0; i < term->namespace_count; i++)
		if (strcmp(term->namespaces[i], other->object->ns) == 0)
			return true;
	return term->namespace_selector && ns &&
	       neap_selector_matches_with(term->namespace_selector, label_of,
					  (void *)(uintptr_t)ns);
}

bool neap_pod_term_takes(const struct neap_pod_term *term, const struct neap_pod *other,
			 const struct neap_object *other_namespace)
{
	return term->selector && is_in_namespace(term, other, other_namespace) &&
	       neap_object_is_selected(other->object, term->selector);
}
