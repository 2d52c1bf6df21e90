/* SPDX-License-Identifier: Apache-2.0 */
#include "t/vectors/cpu_case.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

static int bad(struct neap_error *err, const char *what)
{
	return neap_error_set(err, NEAP_EINTERNAL, "%s has another form", what);
}

static int member(const json_t *object, const char *name)
{
	return (int)json_integer_value(json_object_get(object, name));
}

static const char *text(const json_t *object, const char *name)
{
	const char *value = json_string_value(json_object_get(object, name));

	return value ? value : "";
}

int cpu_case_topology(const json_t *given, struct neap_topology **ret,
		      struct neap_error *err)
{
	int sockets = member(given, "sockets"), nodes = member(given, "nodes_per_socket");
	int cores = member(given, "cores_per_node");
	int threads = member(given, "threads_per_core");
	bool is_split = strcmp(text(given, "numbering"), "split") == 0;
	int all = sockets * nodes * cores, made;
	size_t count = (size_t)all * (size_t)threads;
	struct neap_processor *rows;

	*ret = NULL;
	if (!given || json_is_null(given))
		return 0;
	if (!is_split && strcmp(text(given, "numbering"), "adjacent") != 0)
		return bad(err, "topology");
	rows = neap_alloc_array(count, sizeof(*rows));
	if (!rows)
		return neap_error_nomem(err);
	for (int core = 0; core < all; core++)
		for (int thread = 0; thread < threads; thread++)
			rows[core * threads + thread] = (struct neap_processor){
				.os_cpu = is_split ? core + thread * all
						   : core * threads + thread,
				.core = core,
				.node = core / cores,
				.socket = core / cores / nodes};
	made = neap_topology_new_from_processors(rows, count, ret, err);
	free(rows);
	return made;
}

static int parse_set(const struct cpu_case *cpus, const json_t *given, uint64_t *to,
		     struct neap_error *err)
{
	struct neap_cpuset set;

	if (!json_is_string(given) ||
	    neap_cpuset_parse(&set, json_string_value(given), NULL) < 0)
		return bad(err, "a set of CPUs");
	neap_cpu_layout_to_slots(cpus->layout, &set, to);
	return 0;
}

static int parse_exclusive(const char *name, enum neap_cpu_exclusive *ret,
			   struct neap_error *err)
{
	if (strcmp(name, "PCPULevel") == 0)
		*ret = NEAP_EXCLUSIVE_PCPU;
	else if (strcmp(name, "NUMANodeLevel") == 0)
		*ret = NEAP_EXCLUSIVE_NUMA;
	else if (strcmp(name, "None") == 0 || *name == '\0')
		*ret = NEAP_EXCLUSIVE_NONE;
	else
		return bad(err, "exclusive_policy");
	return 0;
}

static int parse_policies(const json_t *given, struct neap_cpu_take *take,
			  struct neap_error *err)
{
	const char *bind = text(given, "bind_policy");
	const char *strategy = text(given, "numa_strategy");

	take->bind = strcmp(bind, "FullPCPUs") == 0       ? NEAP_BIND_FULL_PCPUS
		     : strcmp(bind, "SpreadByPCPUs") == 0 ? NEAP_BIND_SPREAD
							  : NEAP_BIND_DEFAULT;
	take->is_most_allocated = strcmp(strategy, "MostAllocated") == 0;
	if (!take->is_most_allocated && strcmp(strategy, "LeastAllocated") != 0)
		return bad(err, "numa_strategy");
	return parse_exclusive(text(given, "exclusive_policy"), &take->exclusive, err);
}

static int parse_use(const json_t *list, struct cpu_case *cpus, struct neap_error *err)
{
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item) {
		enum neap_cpu_exclusive exclusive;
		int ret =
			parse_exclusive(text(item, "exclusive_policy"), &exclusive, err);

		if (ret < 0)
			return ret;
		neap_cpu_use_set(cpus->use, member(item, "cpu"),
				 member(item, "ref_count"), exclusive);
	}
	return 0;
}

int cpu_case_parse(const json_t *given, struct cpu_case *ret, struct neap_error *err)
{
	const json_t *preferred = json_object_get(given, "preferred");
	int failed;

	*ret = (struct cpu_case){0};
	failed = cpu_case_topology(json_object_get(given, "topology"), &ret->topology,
				   err);
	if (failed == 0 && !ret->topology) {
		ret->take.need = member(given, "need");
		return 0;
	}
	if (failed == 0)
		failed = neap_cpu_layout_new(ret->topology, &ret->layout, err);
	if (failed == 0)
		failed = neap_cpu_use_new(ret->layout, &ret->use, err);
	if (failed < 0)
		return failed;
	ret->take = (struct neap_cpu_take){.layout = ret->layout,
					   .use = ret->use,
					   .available = ret->available,
					   .need = member(given, "need"),
					   .max_refs = member(given, "max_ref_count")};
	failed = parse_set(ret, json_object_get(given, "available"), ret->available, err);
	if (failed == 0 && preferred && !json_is_null(preferred)) {
		ret->take.preferred = ret->preferred;
		failed = parse_set(ret, preferred, ret->preferred, err);
	}
	if (failed == 0)
		failed = parse_use(json_object_get(given, "allocated"), ret, err);
	return failed < 0 ? failed : parse_policies(given, &ret->take, err);
}

void cpu_case_done(struct cpu_case *cpus)
{
	neap_cpu_use_free(cpus->use);
	(void)neap_cpu_layout_unref(cpus->layout);
	cpus->topology = neap_topology_unref(cpus->topology);
}
