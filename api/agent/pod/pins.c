/* SPDX-License-Identifier: Apache-2.0 */
#include "api/agent/pod/pins.h"

#include <event2/event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/client/events.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "engine/numa/cpu_policy.h"
#include "engine/numa/node_reserve.h"
#include "engine/object/object.h"

#define PODS  "pods"
#define NODES "noderesourcetopologies.topology.node.k8s.io"
/* Number of events handled in one turn of the loop. */
#define PIECE      100
#define RETRY_USEC 500000
#define KEY_SYSTEM "node.koordinator.sh/system-qos-resource"
#define KEY_POLICY "kubelet.koordinator.sh/cpu-manager-policy"
#define KEY_ALLOCS "node.koordinator.sh/pod-cpu-allocs"
/* A pod that a kubelet has from a file: its groups are named by this annotation and not
 * by the uid of its object. */
#define KEY_MIRROR "kubernetes.io/config.mirror"

/* A pod of this node, in pods by the uid of its groups. */
struct pin {
	char uid[NEAP_OBJECT_UID]; /* of the object */
	char ns[NEAP_OBJECT_NAMESPACE], name[NEAP_OBJECT_NAME];
	bool is_seen;    /* seen in a list after missed changes */
	bool is_broken;  /* its annotation is wrong, and that was reported */
	bool is_refused; /* other pods have its CPUs, and that was reported */
};

struct neap_pins {
	struct neap_pins_config config;
	struct neap_client_watch *pods_watch, *nodes_watch;
	struct neap_map *pods;
	struct event *turn;
	bool is_lost;   /* changes were missed */
	bool has_moved; /* a pin came, changed or went: refused ones may be possible */
};

static const json_t *annotations_of(const json_t *tree)
{
	return json_object_get(json_object_get(tree, "metadata"), "annotations");
}

int neap_pins_read(const json_t *pod, struct neap_cpu_said *ret, struct neap_error *err)
{
	const json_t *labels =
		json_object_get(json_object_get(pod, "metadata"), "labels");

	ret->qos = neap_qos_parse(neap_json_text(labels, "koordinator.sh/qosClass"));
	ret->kube_qos = NEAP_KUBE_BESTEFFORT;
	(void)neap_kube_qos_parse(
		neap_json_text(json_object_get(pod, "status"), "qosClass"),
		&ret->kube_qos, NULL);
	return neap_cpu_said_read(
		neap_json_text(annotations_of(pod), NEAP_KEY_RESOURCE_STATUS), ret, err);
}

/* --- events --- */

NEAP_PRINTF(4, 5)
static void note(const struct neap_pins *pins, const struct pin *pin, const char *reason,
		 const char *fmt, ...)
{
	const struct neap_client_note about = {.api_version = "v1",
					       .kind = "Pod",
					       .ns = pin->ns,
					       .name = pin->name,
					       .uid = pin->uid,
					       .is_warning = true,
					       .reason = reason,
					       .component = "kubelet",
					       .host = pins->config.node_name};
	char message[1024];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	neap_utf8_trim(message);
	neap_client_note(pins->config.client, &about, "%s", message);
}

static void told(void *arg, const char *uid, const struct neap_cpuset *missing,
		 bool is_all)
{
	const struct neap_pins *pins = arg;
	const struct pin *pin = neap_map_find(pins->pods, uid);
	char text[256];

	if (!pin || neap_cpuset_is_empty(missing))
		return;
	(void)neap_cpuset_format(missing, text, sizeof(text)); /* a cut text is fine */
	note(pins, pin, "CPUsNotOnline", "of the CPUs in %s these are not online: %s; %s",
	     NEAP_KEY_RESOURCE_STATUS, text,
	     is_all ? "the pod shares those that pods without CPUs of their own have"
		    : "the pod has the others");
}

/* --- pods --- */

static void drop(struct neap_pins *pins, const char *uid)
{
	struct pin *pin = neap_map_remove(pins->pods, uid);

	neap_node_unpin(pins->config.node,
			uid); /* also what the agent set before the pod was seen here */
	free(pin);
}

const char *neap_pins_group_uid(const struct neap_object *object, const json_t *tree)
{
	const char *mirror = neap_json_text(annotations_of(tree), KEY_MIRROR);

	return *mirror && strlen(mirror) < NEAP_OBJECT_UID ? mirror : object->uid;
}

static struct pin *pin_get(struct neap_pins *pins, const struct neap_object *object,
			   const char *uid)
{
	struct pin *pin = neap_map_find(pins->pods, uid);

	if (pin)
		return pin;
	pin = neap_alloc(sizeof(*pin));
	if (!pin || !neap_map_set(pins->pods, uid, pin)) {
		free(pin);
		return NULL;
	}
	(void)neap_strcopy(pin->uid, sizeof(pin->uid), object->uid);
	(void)neap_strcopy(pin->ns, sizeof(pin->ns), object->ns);
	(void)neap_strcopy(pin->name, sizeof(pin->name), object->name);
	return pin;
}

/* False without memory. */
static bool tell(struct neap_pins *pins, const struct neap_object *object,
		 const json_t *tree, const char *uid)
{
	const struct neap_node_pin_of of = {uid, object->ns, object->name};
	struct neap_cpu_said said = {0};
	struct neap_error err, taken;
	struct pin *pin;
	int rc = neap_pins_read(tree, &said, &err), refused;

	if (rc == -NEAP_ENOMEM)
		return false;
	pin = pin_get(pins, object, uid);
	refused = pin ? neap_node_pin(pins->config.node, &of, &said, &taken) : 0;
	if (!pin || refused == -NEAP_ENOMEM)
		return false;
	pin->is_seen = true;
	if (refused < 0 && !pin->is_refused)
		note(pins, pin, "CPUsInUse",
		     "%s; until that is gone this pod does not get the CPUs in %s",
		     taken.msg, NEAP_KEY_RESOURCE_STATUS);
	pin->is_refused = refused < 0;
	if (rc < 0 && !pin->is_broken)
		note(pins, pin, "InvalidResourceStatus",
		     "annotation %s: %s; the pod gets no CPUs of its own",
		     NEAP_KEY_RESOURCE_STATUS, err.msg);
	pin->is_broken = rc < 0;
	return true;
}

static bool is_over(const json_t *tree)
{
	const char *phase = neap_json_text(json_object_get(tree, "status"), "phase");

	return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

static bool is_here(const struct neap_pins *pins, const struct neap_object *object)
{
	const char *node = neap_object_field(object, "spec.nodeName");

	return node && strcmp(node, pins->config.node_name) == 0;
}

static void take_pod(struct neap_pins *pins, const struct neap_object *object,
		     bool is_gone)
{
	const char *uid;
	json_t *tree;

	if (!is_here(pins, object))
		return;
	pins->has_moved = true;
	tree = neap_object_tree(object);
	uid = tree ? neap_pins_group_uid(object, tree) : object->uid;
	if (is_gone || (tree && is_over(tree)))
		drop(pins, uid);
	else if (!tree || !tell(pins, object, tree, uid))
		pins->is_lost = true; /* and the next list has it */
	json_decref(tree);
}

/* Those that wait for CPUs of others ask again. */
static void ask_again(struct neap_pins *pins)
{
	struct neap_object *object;

	for (size_t i = 0; i < neap_map_count(pins->pods); i++) {
		const struct pin *pin = neap_map_at(pins->pods, i, NULL);

		object = pin->is_refused ? neap_client_find(pins->config.client, PODS,
							    pin->ns, pin->name)
					 : NULL;
		if (object && strcmp(object->uid, pin->uid) == 0)
			take_pod(pins, object, false);
	}
	pins->has_moved = false;
}

/* --- all pods: who was there first has its CPUs --- */

struct listed {
	struct neap_object *object;
	int64_t start_usec, created_usec; /* start: INT64_MAX: it was not yet */
};

struct listing {
	struct neap_pins *pins;
	struct listed *pods;
	size_t count, room;
};

static int64_t time_of(const json_t *object, const char *member, int64_t without)
{
	int64_t usec;

	return neap_time_parse(neap_json_text(object, member), &usec, NULL) < 0 ? without
										: usec;
}

static bool take_listed(void *arg, struct neap_object *object)
{
	struct listing *listing = arg;
	json_t *tree;

	if (!is_here(listing->pins, object))
		return true;
	tree = neap_object_tree(object);
	if (!tree || !neap_grow(&listing->pods, listing->count + 1, &listing->room,
				sizeof(*listing->pods))) {
		listing->pins->is_lost = true;
		json_decref(tree);
		return false;
	}
	listing->pods[listing->count++] = (struct listed){
		neap_object_ref(object),
		time_of(json_object_get(tree, "status"), "startTime", INT64_MAX),
		time_of(json_object_get(tree, "metadata"), "creationTimestamp", 0)};
	json_decref(tree);
	return true;
}

static int compare_listed(const void *left, const void *right)
{
	const struct listed *a = left, *b = right;

	if (a->start_usec != b->start_usec)
		return a->start_usec < b->start_usec ? -1 : 1;
	if (a->created_usec != b->created_usec)
		return a->created_usec < b->created_usec ? -1 : 1;
	return neap_object_compare(a->object, b->object->ns, b->object->name);
}

static int take_all(struct neap_pins *pins, struct neap_client_place *place,
		    struct neap_error *err)
{
	struct listing listing = {.pins = pins};
	int rc = neap_client_list(pins->config.client, PODS, NULL, place, take_listed,
				  &listing, err);

	if (listing.count > 0)
		qsort(listing.pods, listing.count, sizeof(*listing.pods), compare_listed);
	for (size_t i = 0; i < listing.count; i++) {
		if (rc >= 0)
			take_pod(pins, listing.pods[i].object, false);
		(void)neap_object_unref(listing.pods[i].object);
	}
	free(listing.pods);
	return rc;
}

/* --- the node --- */

/* *ret NULL: there is no annotation, or it cannot be read. False without memory. */
static bool read_json(const json_t *tree, const char *key, json_t **ret)
{
	const char *text = neap_json_text(annotations_of(tree), key);
	json_error_t where;

	*ret = NULL;
	return *text == '\0' ||
	       neap_json_parse(text, strlen(text), 0, ret, &where) != -NEAP_ENOMEM;
}

static void add_cpus(struct neap_cpuset *to, const json_t *object, const char *member)
{
	struct neap_cpuset cpus;

	if (neap_cpuset_parse_told(&cpus, neap_json_text(object, member), NULL) == 0)
		neap_cpuset_or(to, to, &cpus);
}

static void add_allocs(struct neap_cpuset *to, const json_t *allocs)
{
	const json_t *alloc;
	size_t i;

	json_array_foreach (allocs, i, alloc)
		if (json_is_true(json_object_get(alloc, "managedByKubelet")))
			add_cpus(to, alloc, "cpuset");
}

/* Reads the node's NodeResourceTopology, which has all CPUs kept from pods by number. So
 * the reported pools are the enforced ones. NULL: it does not exist yet. */
static void take_node(struct neap_pins *pins, const struct neap_object *object)
{
	json_t *tree = object ? neap_object_tree(object) : NULL;
	json_t *reservation = NULL, *system = NULL, *policy = NULL, *allocs = NULL;
	struct neap_cpu_node told = {0};

	if (object &&
	    !(tree && read_json(tree, NEAP_KEY_NODE_RESERVATION, &reservation) &&
	      read_json(tree, KEY_SYSTEM, &system) &&
	      read_json(tree, KEY_POLICY, &policy) &&
	      read_json(tree, KEY_ALLOCS, &allocs))) {
		pins->is_lost = true;
	} else {
		add_cpus(&told.reserved, reservation, "reservedCPUs");
		add_cpus(&told.system, system, "cpuset");
		told.is_system_shared =
			json_is_false(json_object_get(system, "cpusetExclusive"));
		add_allocs(&told.kubelet, allocs);
		neap_node_pins_set_node(pins->config.node, object ? &told : NULL,
					neap_json_is_text(policy, "policy", "static"));
	}
	json_decref(reservation);
	json_decref(system);
	json_decref(policy);
	json_decref(allocs);
	json_decref(tree);
}

/* --- events --- */

static void wake(struct neap_pins *pins, int64_t usec)
{
	struct timeval after = {.tv_sec = usec / 1000000, .tv_usec = usec % 1000000};

	(void)event_add(pins->turn, &after); /* it has its memory since the first time */
}

static void ready(void *arg)
{
	wake(arg, 0);
}

static int watch(struct neap_pins *pins, const char *resource, int64_t version,
		 struct neap_client_watch **ret, struct neap_error *err)
{
	neap_client_watch_free(*ret);
	*ret = NULL;
	return neap_client_watch_new(pins->config.client, resource, version, ready, pins,
				     ret, err);
}

static void drop_unseen(struct neap_pins *pins)
{
	const char *uid;

	for (size_t i = neap_map_count(pins->pods); i-- > 0;) {
		const struct pin *pin = neap_map_at(pins->pods, i, &uid);
		char copy[NEAP_OBJECT_UID];

		if (pin->is_seen)
			continue;
		(void)neap_strcopy(copy, sizeof(copy), uid);
		drop(pins, copy);
	}
}

/* Takes all present pods; those that are missing have gone. */
static int list(struct neap_pins *pins, struct neap_error *err)
{
	struct neap_client *client = pins->config.client;
	struct neap_client_place place = {.version = neap_client_version(client)};
	const char *uid;
	int rc;

	pins->is_lost = false;
	for (size_t i = 0; i < neap_map_count(pins->pods); i++)
		((struct pin *)neap_map_at(pins->pods, i, &uid))->is_seen = false;
	rc = watch(pins, PODS, place.version, &pins->pods_watch, err);
	if (rc >= 0)
		rc = watch(pins, NODES, place.version, &pins->nodes_watch, err);
	if (rc >= 0)
		rc = take_all(pins, &place, err);
	if (rc < 0) {
		pins->is_lost = true;
		return rc;
	}
	take_node(pins, neap_client_find(client, NODES, "", pins->config.node_name));
	if (!pins->is_lost)
		drop_unseen(pins);
	return 0;
}

/* True: there may be more. */
static bool hear(struct neap_pins *pins, struct neap_client_watch *watch, bool is_nodes)
{
	const struct neap_client_event *event;
	struct neap_error err;

	for (int left = PIECE; left > 0; left--) {
		int rc = neap_client_watch_next(watch, &event, &err);
		bool is_gone = rc > 0 && event->what == NEAP_CLIENT_DELETED;

		if (rc <= 0) {
			pins->is_lost = pins->is_lost || rc < 0;
			return false;
		}
		if (!is_nodes)
			take_pod(pins, event->object, is_gone);
		else if (strcmp(event->object->name, pins->config.node_name) == 0)
			take_node(pins, is_gone ? NULL : event->object);
	}
	return true;
}

static void turn(evutil_socket_t fd, short what, void *arg)
{
	struct neap_pins *pins = arg;
	struct neap_error err;

	(void)fd;
	(void)what;
	if (!pins->is_lost) {
		bool has_pods = hear(pins, pins->pods_watch, false);
		bool has_nodes = hear(pins, pins->nodes_watch, true);

		if (has_pods || has_nodes)
			wake(pins, 0);
	}
	if (!pins->is_lost && pins->has_moved)
		ask_again(pins);
	if (!pins->is_lost)
		return;
	if (list(pins, &err) < 0)
		neap_log_line(pins->config.log, NEAP_LOG_WARN,
			      "CPUs of pods are looked for again: %s", err.msg);
	wake(pins, pins->is_lost ? RETRY_USEC : 0);
}

/* --- life --- */

int neap_pins_new(const struct neap_pins_config *config, struct neap_pins **ret,
		  struct neap_error *err)
{
	struct neap_pins *pins = neap_alloc(sizeof(*pins));
	int rc = 0;

	if (!pins)
		return neap_error_nomem(err);
	pins->config = *config;
	pins->pods = neap_map_new();
	pins->turn = event_new(config->base, -1, 0, turn, pins);
	if (!pins->pods || !pins->turn)
		rc = neap_error_nomem(err);
	if (rc == 0)
		rc = neap_node_pins_begin(config->node, config->refs_max, told, pins,
					  err);
	if (rc == 0)
		rc = list(pins, err);
	if (rc == 0 && pins->is_lost)
		rc = neap_error_nomem(err);
	if (rc < 0) {
		neap_pins_end(pins);
		return rc;
	}
	wake(pins, 0);
	*ret = pins;
	return 0;
}

void neap_pins_end(struct neap_pins *pins)
{
	const char *uid;

	if (!pins)
		return;
	neap_node_pins_end(pins->config.node);
	neap_client_watch_free(pins->pods_watch);
	neap_client_watch_free(pins->nodes_watch);
	while (pins->pods && neap_map_count(pins->pods) > 0) {
		struct pin *pin = neap_map_at(pins->pods, 0, &uid);

		(void)neap_map_remove(pins->pods, uid);
		free(pin);
	}
	neap_map_free(pins->pods);
	if (pins->turn)
		event_free(pins->turn);
	free(pins);
}
