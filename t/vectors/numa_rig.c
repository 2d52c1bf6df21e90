/* SPDX-License-Identifier: Apache-2.0 */
#include "t/vectors/numa_rig.h"

#include <stdlib.h>
#include <string.h>

#include "t/vectors/cpu_case.h"
#include "t/vectors/vectors.h"

int numa_rig_init(struct numa_rig *rig, struct neap_error *err)
{
	memset(rig, 0, sizeof(*rig));
	rig->resources = neap_resources_new();
	rig->spec = (struct neap_numa_spec){
		.resources = rig->resources, .zones = rig->zones, .max_refs = 1};
	rig->ask.requests = rig->requests.of;
	return rig->resources ? 0 : neap_error_nomem(err);
}

void numa_rig_done(struct numa_rig *rig)
{
	neap_numa_room_close(&rig->room);
	neap_numa_node_free(rig->node);
	rig->topology = neap_topology_unref(rig->topology);
	neap_resources_free(rig->resources);
}

int numa_rig_topology(struct numa_rig *rig, const json_t *given, int zones,
		      struct neap_error *err)
{
	const json_t *told = json_object_get(given, "topology");
	json_t *machine;
	int rc = cpu_case_topology(told, &rig->topology, err);

	rig->is_told = rig->topology;
	if (rc < 0 || rig->topology)
		return rc;
	machine = json_pack("{s:i, s:i, s:i, s:i, s:s}", "sockets", 1, "nodes_per_socket",
			    zones > 0 ? zones : 1, "cores_per_node", 1,
			    "threads_per_core", 1, "numbering", "adjacent");
	rc = cpu_case_topology(machine, &rig->topology, err);
	json_decref(machine);
	return rc;
}

int numa_rig_node(struct numa_rig *rig, struct neap_error *err)
{
	rig->spec.topology = rig->topology;
	return neap_numa_node_new(&rig->spec, &rig->node, err);
}

int numa_rig_slots(const struct numa_rig *rig, const char *text, uint64_t *ret,
		   struct neap_error *err)
{
	struct neap_cpuset set;

	/* Not told is none. */
	if (neap_cpuset_parse(&set, text == NULL ? "" : text, NULL) < 0)
		return vector_bad(err, "no set of CPUs");
	neap_cpu_layout_to_slots(rig->node->layout, &set, ret);
	return 0;
}

int numa_rig_hold(struct numa_rig *rig, const char *uid, const char *cpus,
		  const int64_t *cells, struct neap_error *err)
{
	uint64_t slots[NEAP_CPU_WORDS_MAX];
	int rc = numa_rig_slots(rig, cpus, slots, err);

	return rc < 0 ? rc
		      : neap_numa_node_hold(rig->node, uid, slots, cells,
					    NEAP_EXCLUSIVE_NONE, err);
}

int numa_rig_amounts(struct numa_rig *rig, const json_t *map, struct neap_amounts *ret,
		     struct neap_error *err)
{
	return neap_amounts_read(ret, map, rig->resources, err);
}

enum neap_cpu_bind numa_rig_bind(const char *name)
{
	if (name != NULL && strcmp(name, "FullPCPUs") == 0)
		return NEAP_BIND_FULL_PCPUS;
	return name != NULL && strcmp(name, "SpreadByPCPUs") == 0 ? NEAP_BIND_SPREAD
								  : NEAP_BIND_DEFAULT;
}

int numa_rig_answer(const struct numa_rig *rig, const char *error, json_t **ret,
		    struct neap_error *err)
{
	json_t *cells = json_object();
	char text[NEAP_CPUSET_TEXT] = "", name[16];
	struct neap_cpuset set;

	if (error == NULL) {
		const struct neap_numa_node *node = rig->node;
		int cpu = neap_numa_node_resource(node, NEAP_RESOURCE_CPU);

		neap_cpu_layout_from_slots(node->layout, rig->grant.cpus, &set);
		(void)neap_cpuset_format(&set, text, sizeof(text));
		for (int zone = 0; cpu >= 0 && zone < node->zone_count; zone++) {
			int64_t milli =
				rig->grant.cells[zone * node->resource_count + cpu];

			(void)snprintf(name, sizeof(name), "%d", node->zone_node[zone]);
			if (milli > 0)
				(void)json_object_set_new(cells, name,
							  json_integer(milli));
		}
	}
	return vector_answer_new(json_pack("{s:s, s:o, s:s?}", "want_cpus", text,
					   "want_numa_cpu_milli", cells, "want_error",
					   error),
				 ret, err);
}
