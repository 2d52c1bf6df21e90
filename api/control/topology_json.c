/* SPDX-License-Identifier: Apache-2.0
 *
 * Topology to JSON. People request it now and then; 384 CPUs give about 40 KB. */
#include "api/control/topology_json.h"
#include "engine/json/json.h"

/* The CPU list as a JSON string. */
static json_t *cpus_json(const struct neap_cpuset *cpus)
{
	char text[NEAP_CPUSET_TEXT];

	(void)neap_cpuset_format(cpus, text, sizeof(text)); /* fits any set */
	return json_string(text);
}

static json_t *known(int64_t number)
{
	return number > 0 ? json_integer(number) : json_null();
}

static json_t *sockets_json(const struct neap_topology *t)
{
	json_t *list = json_array();

	for (int i = 0; list && i < t->socket_count; i++) {
		json_t *row = json_pack("{s:i, s:o}", "socket", t->sockets[i].os_socket,
					"cpus", cpus_json(&t->sockets[i].cpus));

		neap_json_push_new(&list, row);
	}
	return list;
}

static json_t *nodes_json(const struct neap_topology *t)
{
	json_t *list = json_array();

	for (int i = 0; list && i < t->node_count; i++) {
		const struct neap_numa *node = &t->nodes[i];
		json_t *row = json_pack("{s:i, s:o, s:b, s:o}", "node", node->os_node,
					"memory_bytes", known(node->memory_bytes), "near",
					node->is_near, "cpus", cpus_json(&node->cpus));

		neap_json_push_new(&list, row);
	}
	return list;
}

static json_t *l3s_json(const struct neap_topology *t)
{
	json_t *list = json_array();

	for (int i = 0; list && i < t->l3_count; i++) {
		json_t *row = json_pack("{s:i, s:o, s:o}", "l3", i, "size_bytes",
					known(t->l3s[i].size_bytes), "cpus",
					cpus_json(&t->l3s[i].cpus));

		neap_json_push_new(&list, row);
	}
	return list;
}

static json_t *cores_json(const struct neap_topology *t)
{
	json_t *list = json_array();

	for (int i = 0; list && i < t->core_count; i++) {
		const struct neap_core *core = &t->cores[i];
		json_t *row = json_pack("{s:i, s:i, s:i, s:o}", "core", i, "os_core",
					core->os_core, "socket",
					t->sockets[core->socket].os_socket, "cpus",
					cpus_json(&core->cpus));

		neap_json_push_new(&list, row);
	}
	return list;
}

static json_t *rows_json(const struct neap_topology *t)
{
	json_t *list = json_array();

	for (int i = 0; list && i < t->cpu_count; i++) {
		const struct neap_cpu *cpu = &t->cpus[i];
		json_t *row = json_pack(
			"{s:i, s:i, s:i, s:o, s:o, s:i, s:i}", "cpu", cpu->os_cpu, "core",
			cpu->core, "socket", t->sockets[cpu->socket].os_socket, "node",
			cpu->node < 0 ? json_null()
				      : json_integer(t->nodes[cpu->node].os_node),
			"l3", cpu->l3 < 0 ? json_null() : json_integer(cpu->l3), "thread",
			cpu->thread, "kind", cpu->kind);

		neap_json_push_new(&list, row);
	}
	return list;
}

json_t *neap_topology_json(const struct neap_topology *t)
{
	/* A NULL part makes json_pack fail; it frees the others then. */
	return json_pack("{s:s, s:o, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "model",
			 t->model, "online", cpus_json(&t->online), "cpu_count",
			 t->cpu_count, "core_count", t->core_count, "kind_count",
			 t->kind_count, "sockets", sockets_json(t), "nodes",
			 nodes_json(t), "l3", l3s_json(t), "cores", cores_json(t), "cpus",
			 rows_json(t));
}
