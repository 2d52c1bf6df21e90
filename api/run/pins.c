/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU sets from assigned CPUs. Every plan includes them as neap's own wishes. Before
 * that, policies' wishes for the same CPUs are cut to them, so that no policy gives a pod
 * other CPUs. */
#include "api/run/pins.h"

#include <stdlib.h>
#include <string.h>

#include "api/run/node_priv.h"
#include "engine/base/mem.h"
#include "engine/pod/pod.h"

struct node_pin {
	char name[NEAP_POD_KEY]; /* "NAMESPACE/NAME" */
	/* Without the CPUs that were refused. */
	struct neap_cpu_said said;
	struct neap_cpuset told; /* missing CPUs that were reported */
};

struct node_pins {
	neap_node_pin_told *told;
	void *arg;
	struct neap_map *map; /* uid -> struct node_pin */
	int refs_max;         /* pods that may have the same CPU */
	/* From the node, or from the configuration. */
	struct neap_cpuset reserved, system, kubelet;
	bool is_system_shared, is_kubelet_static;
	/* Has room for all pins, so that a plan needs no memory. */
	struct neap_cpu_pool_pod *list;
	size_t room;
	struct neap_topology *topology; /* the topology of rooms; NULL: not made yet */
	struct neap_cpu_rooms rooms;
};

int neap_node_pins_begin(struct neap_node *node, int refs_max, neap_node_pin_told *told,
			 void *arg, struct neap_error *err)
{
	struct node_pins *pins = neap_alloc(sizeof(*pins));

	if (pins != NULL)
		pins->map = neap_map_new();
	if (pins == NULL || pins->map == NULL) {
		free(pins);
		return neap_error_nomem(err);
	}
	pins->refs_max = refs_max > 1 ? refs_max : 1;
	pins->told = told;
	pins->arg = arg;
	node->given.pins = pins;
	neap_node_pins_set_node(node, NULL, false);
	return 0;
}

void neap_node_pins_end(struct neap_node *node)
{
	if (node->given.pins != NULL)
		node->given.pins->told = NULL;
}

void neap_node_pins_free(struct node_given *given)
{
	struct node_pins *pins = given->pins;
	const char *uid;

	if (pins == NULL)
		return;
	given->pins = NULL;
	while (neap_map_count(pins->map) > 0) {
		struct node_pin *pin = neap_map_at(pins->map, 0, &uid);

		(void)neap_map_remove(pins->map, uid);
		free(pin);
	}
	neap_map_free(pins->map);
	(void)neap_topology_unref(pins->topology);
	free(pins->list);
	free(pins);
}

static bool make_room(struct node_pins *pins)
{
	return neap_grow(&pins->list, neap_map_count(pins->map), &pins->room,
			 sizeof(*pins->list));
}

static void said_copy(struct neap_cpu_said *to, const struct neap_cpu_said *from)
{
	to->qos = from->qos;
	to->kube_qos = from->kube_qos;
	neap_cpuset_copy(&to->cpus, &from->cpus);
	neap_cpuset_copy(&to->numa, &from->numa);
}

/* Returns the first of the CPUs that as many other pods have as may share one, and one of
 * these pods; -1: there is none. */
static int find_taken(const struct node_pins *pins, const struct node_pin *pin,
		      const struct neap_cpuset *cpus, const struct node_pin **ret_holder)
{
	uint16_t counts[NEAP_CPU_MAX] = {0};

	for (size_t i = 0; i < neap_map_count(pins->map); i++) {
		const struct node_pin *other = neap_map_at(pins->map, i, NULL);
		struct neap_cpuset both;

		if (other == pin || !neap_cpuset_intersects(&other->said.cpus, cpus))
			continue;
		neap_cpuset_and(&both, &other->said.cpus, cpus);
		for (int cpu = -1; (cpu = neap_cpuset_next(&both, cpu)) >= 0;) {
			if (++counts[cpu] < pins->refs_max)
				continue;
			*ret_holder = other;
			return cpu;
		}
	}
	return -1;
}

static struct node_pin *pin_make(struct node_pins *pins, const char *uid)
{
	struct node_pin *pin = neap_map_find(pins->map, uid);

	if (pin != NULL)
		return pin;
	pin = make_room(pins) ? neap_alloc(sizeof(*pin)) : NULL;
	if (pin != NULL && neap_map_set(pins->map, uid, pin))
		return pin;
	free(pin);
	return NULL;
}

int neap_node_pin(struct neap_node *node, const struct neap_node_pin_of *pod,
		  const struct neap_cpu_said *said, struct neap_error *err)
{
	struct node_pins *pins = node->given.pins;
	struct node_pin *pin = pins == NULL ? NULL : pin_make(pins, pod->uid);
	const struct node_pin *holder;
	int cpu;

	if (pins == NULL)
		return 0;
	if (pin == NULL)
		return neap_error_nomem(err);
	(void)neap_pod_key(pod->ns, pod->name, pin->name);
	said_copy(&pin->said, said);
	cpu = find_taken(pins, pin, &said->cpus, &holder);
	if (cpu < 0)
		return 0;
	neap_cpuset_clear(&pin->said.cpus);
	return neap_error_set(err, NEAP_ECONFLICT, "CPU %d belongs to pod %.160s", cpu,
			      holder->name);
}

void neap_node_unpin(struct neap_node *node, const char *uid)
{
	if (node->given.pins != NULL)
		free(neap_map_remove(node->given.pins->map, uid));
}

void neap_node_pins_set_node(struct neap_node *node, const struct neap_cpu_node *told,
			     bool is_kubelet_static)
{
	struct node_pins *pins = node->given.pins;

	if (pins == NULL)
		return;
	pins->is_kubelet_static = is_kubelet_static;
	pins->is_system_shared = false;
	if (told == NULL) {
		neap_cpuset_copy(&pins->reserved, &node->config.reserved_cpus);
		neap_cpuset_copy(&pins->system, &node->config.system_cpus);
		neap_cpuset_clear(&pins->kubelet);
		return;
	}
	neap_cpuset_copy(&pins->reserved, &told->reserved);
	neap_cpuset_copy(&pins->system, &told->system);
	neap_cpuset_copy(&pins->kubelet, &told->kubelet);
	pins->is_system_shared = told->is_system_shared;
}

/* --- what a kubelet gave --- */

static const struct node_pin *pin_find(const struct node_given *given, const char *uid)
{
	return given->pins == NULL ? NULL : neap_map_find(given->pins->map, uid);
}

/* The kubelet's own file says what it gave. Until that was read, or if it is from another
 * machine, the objects say it. */
static void look_given(struct node_given *given)
{
	const struct neap_kubelet_facts *facts = &given->kubelet.facts;
	struct neap_cpuset *cpus = &given->kubelet.given;

	neap_cpuset_copy(cpus, &facts->unnamed);
	if (!facts->is_here && given->pins != NULL)
		neap_cpuset_copy(cpus, &given->pins->kubelet);
	for (size_t i = 0; i < facts->pod_count; i++) {
		const struct node_pin *pin = pin_find(given, facts->pods[i].uid);

		if (pin == NULL || neap_cpuset_is_empty(&pin->said.cpus))
			neap_cpuset_or(cpus, cpus, &facts->pods[i].cpus);
	}
}

static int compare_uid(const void *uid, const void *pod)
{
	return strcmp(uid, ((const struct neap_kubelet_pod *)pod)->uid);
}

/* NULL: the kubelet gave this workload no CPUs. */
static const struct neap_kubelet_pod *kubelet_pod(const struct node_given *given,
						  const struct node_workload *workload)
{
	const struct neap_kubelet_facts *facts = &given->kubelet.facts;
	const struct node_pin *pin = pin_find(given, workload->id);

	if (workload->is_own || facts->pod_count == 0 ||
	    (pin != NULL && !neap_cpuset_is_empty(&pin->said.cpus)))
		return NULL;
	return bsearch(workload->id, facts->pods, facts->pod_count, sizeof(*facts->pods),
		       compare_uid);
}

/* --- what is shared now --- */

static void tell(struct node_pins *pins, const char *uid, struct node_pin *pin)
{
	struct neap_cpuset missing;

	neap_cpuset_minus(&missing, &pin->said.cpus, &pins->topology->online);
	if (neap_cpuset_is_equal(&missing, &pin->told))
		return;
	neap_cpuset_copy(&pin->told, &missing);
	if (pins->told != NULL)
		pins->told(pins->arg, uid, &missing,
			   !neap_cpuset_intersects(&pin->said.cpus,
						   &pins->topology->online));
}

void neap_node_pins_look(struct node_given *given, struct neap_topology *topology)
{
	struct node_pins *pins = given->pins;
	struct neap_cpu_node from = {0};
	size_t count = pins == NULL ? 0 : neap_map_count(pins->map), i;
	const char *uid;

	look_given(given);
	if (pins == NULL)
		return;
	(void)neap_topology_unref(pins->topology);
	pins->topology = neap_topology_ref(topology);
	for (i = 0; i < count; i++) {
		struct node_pin *pin = neap_map_at(pins->map, i, &uid);

		pins->list[i].qos = pin->said.qos;
		pins->list[i].cpus = &pin->said.cpus;
	}
	from.topology = pins->topology;
	neap_cpuset_copy(&from.kubelet, &given->kubelet.given);
	neap_cpuset_copy(&from.reserved, &pins->reserved);
	neap_cpuset_copy(&from.system, &pins->system);
	from.is_system_shared = pins->is_system_shared;
	neap_cpu_rooms_make(&from, pins->list, count, &pins->rooms);
	for (i = 0; i < count; i++) {
		struct node_pin *pin = neap_map_at(pins->map, i, &uid);

		tell(pins, uid, pin);
	}
}

/* --- what a workload is given --- */

static const struct node_pin *pin_of(const struct node_given *given,
				     const struct node_workload *workload)
{
	return pin_find(given, workload->id);
}

static bool is_kubelet_static(const struct node_given *given)
{
	return (given->pins != NULL && given->pins->is_kubelet_static) ||
	       strcmp(given->kubelet_cpu_policy, "static") == 0;
}

/* A kubelet with the static manager gives CPUs to Guaranteed pods, and writes the rest to
 * pods that have none from the scheduler. Pods without a pin are unknown and left
 * alone. */
static bool is_left_alone(const struct node_given *given,
			  const struct node_workload *workload,
			  const struct node_pin *pin)
{
	if (workload->is_own)
		return false;
	if (pin == NULL)
		return true;
	if (!is_kubelet_static(given) || !neap_cpuset_is_empty(&pin->said.cpus))
		return false;
	return workload->kube_qos == NEAP_KUBE_GUARANTEED ||
	       (pin->said.qos == NEAP_QOS_NONE &&
		workload->kube_qos == NEAP_KUBE_BURSTABLE);
}

static void given_to(const struct node_given *given, const struct node_workload *workload,
		     struct neap_cpu_given *ret)
{
	const struct node_pins *pins = given->pins;
	const struct node_pin *pin = pin_of(given, workload);
	struct neap_cpu_said said = {0};

	ret->kind = NEAP_CPUS_ANY;
	neap_cpuset_clear(&ret->cpus);
	if (pins == NULL || pins->topology == NULL || workload->is_host_app ||
	    is_left_alone(given, workload, pin))
		return;
	if (pin != NULL) {
		neap_cpu_give(&pins->rooms, &pin->said, ret);
		return;
	}
	said.qos = workload->qos;
	said.kube_qos = workload->kube_qos;
	neap_cpu_give(&pins->rooms, &said, ret);
}

bool neap_node_pins_has_own(const struct node_given *given,
			    const struct node_workload *workload)
{
	const struct node_pin *pin = pin_of(given, workload);

	return pin != NULL && given->pins->topology != NULL &&
	       neap_cpuset_intersects(&pin->said.cpus, &given->pins->topology->online);
}

/* The set of its class directory does not apply to it. */
static bool is_apart(const struct node_workload *workload,
		     const struct neap_cpu_given *given)
{
	switch (given->kind) {
	case NEAP_CPUS_OWN:
	case NEAP_CPUS_NUMA:
	case NEAP_CPUS_SYSTEM:
		return true;
	case NEAP_CPUS_LS:
		return workload->kube_qos == NEAP_KUBE_BESTEFFORT;
	default:
		return false;
	}
}

bool neap_node_pins_is_apart(const struct node_given *given,
			     const struct node_workload *workload)
{
	struct neap_cpu_given cpus;

	given_to(given, workload, &cpus);
	return is_apart(workload, &cpus);
}

bool neap_node_pins_add_below(const struct node_plan *plan, const char *dir,
			      struct neap_cpuset *cpus)
{
	bool is_any = false;

	for (size_t i = 0;
	     plan->given->pins != NULL && i < neap_map_count(plan->observe->workloads);
	     i++) {
		const struct node_workload *workload =
			neap_map_at(plan->observe->workloads, i, NULL);
		struct neap_cpu_given given;

		if (!neap_path_is_below(workload->group->dir, dir))
			continue;
		given_to(plan->given, workload, &given);
		if (!is_apart(workload, &given))
			continue;
		is_any = true;
		neap_cpuset_or(cpus, cpus, &given.cpus);
	}
	return is_any;
}

/* --- what policies may have of it --- */

static void cut(struct neap_cpuset *cpus, const struct neap_cpuset *to)
{
	if (neap_cpuset_is_empty(to))
		return;
	if (neap_cpuset_intersects(cpus, to))
		neap_cpuset_and(cpus, cpus, to);
	else
		neap_cpuset_copy(cpus, to);
}

/* If the kubelet gave away every CPU of the wish, the wish becomes all the rest. */
static bool cut_given(const struct node_plan *plan, struct neap_cpuset *cpus)
{
	struct neap_cpuset rest;

	if (neap_cpuset_is_empty(&plan->given->kubelet.given))
		return true;
	neap_cpuset_minus(&rest, &plan->observe->topology->online,
			  &plan->given->kubelet.given);
	if (neap_cpuset_is_empty(&rest))
		return false;
	cut(cpus, &rest);
	return true;
}

bool neap_node_pins_cut(const struct node_plan *plan,
			const struct node_workload *workload, struct neap_cpuset *cpus)
{
	struct neap_cpu_given given;

	if (kubelet_pod(plan->given, workload) != NULL)
		return false;
	given_to(plan->given, workload, &given);
	cut(cpus, &given.cpus);
	return cut_given(plan, cpus);
}

bool neap_node_pins_cut_back(const struct node_plan *plan, const char *dir,
			     struct neap_cpuset *cpus)
{
	if (neap_cpuset_is_empty(&plan->given->kubelet.given))
		return true;
	for (size_t i = 0; i < neap_map_count(plan->observe->workloads); i++) {
		const struct node_workload *workload =
			neap_map_at(plan->observe->workloads, i, NULL);

		/* A pod's directory stays wide, because the kubelet writes below it. */
		if (strcmp(dir, workload->group->dir) != 0 &&
		    neap_path_is_below(dir, workload->group->dir))
			return kubelet_pod(plan->given, workload) != NULL ||
			       cut_given(plan, cpus);
	}
	/* The node does not list the pod yet, or no longer. */
	for (int i = 0; i < plan->config->tree_count; i++)
		if (neap_path_is_container(plan->config->trees[i].root, dir))
			return cut_given(plan, cpus);
	return true;
}

bool neap_node_pins_cut_class(const struct node_plan *plan, enum neap_kube_qos qos,
			      struct neap_cpuset *cpus)
{
	const struct node_pins *pins = plan->given->pins;

	if (pins != NULL && pins->topology != NULL)
		cut(cpus,
		    qos == NEAP_KUBE_BESTEFFORT ? &pins->rooms.be : &pins->rooms.ls);
	return cut_given(plan, cpus);
}

/* --- wishes --- */

/* A kubelet that writes the sets of containers needs wide directories on a kernel that
 * refuses CPUs which the parent lacks. There they stay as they are. */
bool neap_node_pins_may_narrow(const struct node_plan *plan, int tree)
{
	return plan->config->trees[tree].is_own ||
	       neap_key_is_v2(plan->cgroup, NEAP_KEY_CPUSET_CPUS) ||
	       !is_kubelet_static(plan->given);
}

static void wish_for(struct node_plan *plan, const struct node_workload *workload,
		     const struct neap_cpu_given *given)
{
	const char *why = neap_cpu_kind_text(given->kind);
	/* Beside exclusive CPUs a quota would only slow it down. */
	bool is_free = given->kind == NEAP_CPUS_OWN && !workload->is_own;

	if (workload->is_own)
		neap_wish_cpus(plan, workload->group->dir, &given->cpus, why);
	if (is_free && workload->is_settled)
		neap_wish_number(plan, workload->group->dir, NEAP_KEY_CPU_MAX_MILLI,
				 NEAP_UNLIMITED, "it has CPUs of its own");
	for (size_t i = 0; i < workload->container_count; i++) {
		const struct node_group *container = workload->containers[i];

		/* A container in creation gets its set from its runtime, and later from
		 * here. */
		if (!workload->is_own && !container->is_settled)
			continue;
		neap_wish_cpus(plan, container->dir, &given->cpus, why);
		if (is_free)
			neap_wish_number(plan, container->dir, NEAP_KEY_CPU_MAX_MILLI,
					 NEAP_UNLIMITED, "it has CPUs of its own");
	}
}

void neap_node_pins_wish(struct node_plan *plan)
{
	const struct node_pins *pins = plan->given->pins;
	bool is_be_narrow;

	if (pins == NULL || pins->topology == NULL)
		return;
	is_be_narrow = !neap_cpuset_is_subset(&pins->topology->online, &pins->rooms.be);
	if (is_be_narrow)
		neap_wish_besteffort_cpus(plan, &pins->rooms.be,
					  neap_cpu_kind_text(NEAP_CPUS_BE));
	for (size_t i = 0; i < neap_map_count(plan->observe->workloads); i++) {
		const struct node_workload *workload =
			neap_map_at(plan->observe->workloads, i, NULL);
		struct neap_cpu_given given;

		if (workload->is_removing)
			continue;
		given_to(plan->given, workload, &given);
		if (given.kind == NEAP_CPUS_ANY)
			continue;
		/* Its directory has the set. */
		if (given.kind == NEAP_CPUS_BE &&
		    workload->kube_qos == NEAP_KUBE_BESTEFFORT &&
		    neap_node_pins_may_narrow(plan,
					      workload->is_own ? 0 : NEAP_TREES_OWN))
			continue;
		wish_for(plan, workload, &given);
	}
}

/* --- what policies see --- */

void neap_node_pins_show(const struct node_given *given,
			 const struct neap_topology *topology,
			 struct node_workload *workload, struct neap_workload *view)
{
	const struct node_pin *pin = pin_of(given, workload);
	const struct neap_kubelet_pod *pod = kubelet_pod(given, workload);

	neap_cpuset_clear(&view->exclusive_cpus);
	if (pod != NULL)
		neap_cpuset_and(&view->exclusive_cpus, &pod->cpus, &topology->online);
	if (pin == NULL)
		return;
	workload->qos = pin->said.qos;
	view->qos = workload->qos;
	if (pod == NULL)
		neap_cpuset_and(&view->exclusive_cpus, &pin->said.cpus,
				&topology->online);
}

void neap_node_pins_show_node(const struct node_given *given,
			      const struct neap_node_config *config,
			      struct neap_sample *sample)
{
	const struct node_pins *pins = given->pins;

	neap_cpuset_copy(&sample->reserved_cpus,
			 pins != NULL ? &pins->reserved : &config->reserved_cpus);
	neap_cpuset_copy(&sample->system_cpus,
			 pins != NULL ? &pins->system : &config->system_cpus);
	if (pins != NULL && pins->is_system_shared)
		neap_cpuset_clear(&sample->system_cpus);
}
