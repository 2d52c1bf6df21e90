/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/cpus_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *topology_text(const struct cpus_machine *machine)
{
	json_t *list = json_array(), *map = json_object();
	int count = machine->nodes * machine->cores * machine->threads;
	char *text;

	for (int i = 0; i < count; i++) {
		int core = i / machine->threads, node = core / machine->cores;

		(void)json_array_append_new(list,
					    json_pack("{s:i,s:i,s:i,s:i}", "id", i,
						      "core", core % machine->cores,
						      "socket", node, "node", node));
	}
	(void)json_object_set_new(map, "detail", list);
	text = json_dumps(map, JSON_COMPACT);
	json_decref(map);
	return text;
}

static json_t *zone(const struct cpus_machine *machine, int node)
{
	int cpus = machine->cores * machine->threads;
	char name[32], cpu[32], memory[32];

	(void)snprintf(name, sizeof(name), "node-%d", node);
	(void)snprintf(cpu, sizeof(cpu), "%d", cpus);
	(void)snprintf(memory, sizeof(memory), "%dGi", cpus);
	return json_pack("{s:s,s:s,s:[{s:s,s:s},{s:s,s:s}]}", "name", name, "type",
			 "Node", "resources", "name", "cpu", "allocatable", cpu, "name",
			 "memory", "allocatable", memory);
}

static json_t *parse(const char *text)
{
	char buf[4096];
	json_error_t where;
	json_t *json;

	(void)snprintf(buf, sizeof(buf), "{%s}", text ? text : "");
	for (char *c = buf; *c; c++)
		*c = (char)(*c == '\'' ? '"' : *c);
	json = json_loads(buf, 0, &where);
	if (!json)
		fail_msg("%s in %s", where.text, buf);
	return json;
}

struct neap_object *cpus_topology(const char *name, const struct cpus_machine *machine)
{
	json_t *tree = parse(machine->more), *notes = parse(machine->notes);
	json_t *zones = json_array();
	char *text = topology_text(machine);
	struct neap_object *object = NULL;
	struct neap_error err = {0};

	for (int i = 0; i < machine->nodes; i++)
		(void)json_array_append_new(zones, zone(machine, i));
	(void)json_object_set_new(notes, "node.koordinator.sh/cpu-topology",
				  json_string(text));
	(void)json_object_set_new(tree, "metadata",
				  json_pack("{s:s,s:s,s:o}", "name", name, "uid", "t",
					    "annotations", notes));
	(void)json_object_set_new(tree, "zones", zones);
	free(text);
	if (neap_object_new_take(tree, NULL, 1, &object, &err) < 0)
		fail_msg("%s: %s", name, err.msg);
	return object;
}

unsigned cpus_set_topology(struct neap_cluster *cluster, const char *name,
			   const struct cpus_machine *machine)
{
	struct neap_object *object = cpus_topology(name, machine);
	struct neap_error err = {0};
	unsigned moved = 0;

	if (neap_cluster_set_topology(cluster, object, &moved, &err) < 0)
		fail_msg("%s: %s", name, err.msg);
	(void)neap_object_unref(object);
	return moved;
}

int cpus_refs(struct neap_cluster *cluster, const char *node, int cpu)
{
	const struct neap_cluster_node *found = neap_cluster_find_node(cluster, node);
	const struct neap_cpus *book =
		found ? neap_cluster_cpus(cluster, found->row) : NULL;
	int slot;

	if (!book || !book->numa)
		return -1;
	slot = book->numa->layout->slot_of[cpu];
	return slot < 0 ? -1 : book->numa->use->refs[slot];
}

char *cpus_of(const char *status, char *buf, size_t size)
{
	json_error_t where;
	json_t *json = json_loads(status, 0, &where);
	const char *text = json_string_value(json_object_get(json, "cpuset"));

	(void)snprintf(buf, size, "%s", text ? text : "");
	json_decref(json);
	return buf;
}
