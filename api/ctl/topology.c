/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl topology`: this machine, a file of hwloc XML, or a synthetic one, drawn or as
 * JSON. If a daemon answers, its workloads mark their CPUs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/control/topology_json.h"
#include "api/ctl/base/client.h"
#include "api/ctl/draw/cells.h"
#include "api/ctl/draw/topology_draw.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "hw/topology.h"

struct topology_values {
	const char *xml, *synthetic;
	bool is_full;
};

static const struct neap_option options[] = {
	{"xml", 0, NEAP_OPTION_TEXT, offsetof(struct topology_values, xml), "FILE",
	 "draw the machine in a file written by 'lstopo FILE.xml'"},
	{"synthetic", 0, NEAP_OPTION_TEXT, offsetof(struct topology_values, synthetic),
	 "TEXT", "draw an invented machine: 'pack:2 numa:1 l3:1 core:8 pu:2'"},
	{"full", 0, NEAP_OPTION_FLAG, offsetof(struct topology_values, is_full), NULL,
	 "draw every core of a large machine"},
	{""},
};

enum owner {
	OWNER_EXCLUSIVE,
	OWNER_RESERVED,
	OWNER_SYSTEM,
	OWNER_BESTEFFORT,
	OWNER_COUNT
};

static const struct {
	const char *name;
	char mark;
} owner_looks[OWNER_COUNT] = {
	{"exclusive", 'x'}, {"reserved", 'r'}, {"system", 's'}, {"best-effort", 'b'}};

struct owners {
	struct neap_cpuset cpus[OWNER_COUNT];
	bool is_known; /* a daemon told */
};

static void owner_add(struct owners *owners, enum owner owner, const json_t *object,
		      const char *member)
{
	const char *text = json_string_value(json_object_get(object, member));
	struct neap_cpuset cpus;

	if (text == NULL || neap_cpuset_parse_kernel(&cpus, text, NULL) < 0)
		return;
	neap_cpuset_or(&owners->cpus[owner], &owners->cpus[owner], &cpus);
}

static void owners_fill(struct owners *owners, const json_t *workloads,
			const json_t *status)
{
	const json_t *node = json_object_get(status, "node"), *row;
	const char *qos;
	size_t i;

	owners->is_known = true;
	json_array_foreach (workloads, i, row) {
		qos = json_string_value(json_object_get(row, "qos"));
		if (qos != NULL && strcmp(qos, "BE") == 0)
			owner_add(owners, OWNER_BESTEFFORT, row, "cpus");
		owner_add(owners, OWNER_EXCLUSIVE, row, "exclusive_cpus");
	}
	owner_add(owners, OWNER_RESERVED, node, "reserved_cpus");
	owner_add(owners, OWNER_SYSTEM, node, "system_cpus");
}

/* A daemon elsewhere sends its machine as JSON, without caches. */
static int topology_from_json(const json_t *json, struct neap_topology **ret,
			      struct neap_error *err)
{
	const json_t *rows = json_object_get(json, "cpus"), *row;
	size_t i, count = json_array_size(rows);
	neap_auto_free struct neap_processor *processors =
		neap_alloc_array(count + 1, sizeof(*processors));

	if (processors == NULL)
		return neap_error_nomem(err);
	json_array_foreach (rows, i, row) {
		processors[i].os_cpu = (int)neap_member_integer(row, "cpu", -1);
		processors[i].core = (int)neap_member_integer(row, "core", -1);
		processors[i].socket = (int)neap_member_integer(row, "socket", -1);
		processors[i].node = (int)neap_member_integer(row, "node", -1);
	}
	return neap_topology_new_from_processors(processors, count, ret, err);
}

static int load(const struct neap_ctl *ctl, const struct topology_values *values,
		struct neap_topology **ret, struct neap_error *err)
{
	neap_auto_json json_t *json = NULL;
	int r;

	if (values->xml != NULL)
		return neap_topology_load_xml(values->xml, ret, err);
	if (values->synthetic != NULL)
		return neap_topology_load_synthetic(values->synthetic, ret, err);
	if (ctl->server == NULL)
		return neap_topology_discover(ret, err);
	r = neap_client_ask(ctl, "GET", "/control/v1/topology", &json, err);
	if (r == 0)
		r = topology_from_json(json, ret, err);
	return r;
}

/* Without a daemon, or with one that does not answer, nothing is marked. */
static void owners_ask(const struct neap_ctl *ctl, struct owners *owners)
{
	json_t *workloads = NULL, *status = NULL;
	struct neap_client *client = NULL;
	struct neap_error err;

	if (neap_client_new(ctl, &client, &err) == 0 &&
	    neap_client_call(client, "GET", "/control/v1/workloads", NULL, &workloads,
			     &err) == 0 &&
	    neap_client_call(client, "GET", "/control/v1/status", NULL, &status, &err) ==
		    0)
		owners_fill(owners, workloads, status);
	json_decref(workloads);
	json_decref(status);
	neap_client_free(client);
}

static int draw(const struct neap_topology *topology, const struct owners *owners,
		bool is_full)
{
	struct neap_draw_owner shown[OWNER_COUNT];
	struct neap_draw_options look = {.owners = shown,
					 .use_color = neap_ctl_use_color(),
					 .is_full = is_full,
					 .columns = neap_ctl_columns()};
	struct neap_buf out;
	bool is_wide =
		neap_cpuset_is_subset(&topology->online, &owners->cpus[OWNER_BESTEFFORT]);
	size_t i;

	for (i = 0; i < OWNER_COUNT; i++) {
		if (neap_cpuset_is_empty(&owners->cpus[i]) ||
		    (i == OWNER_BESTEFFORT && is_wide))
			continue;
		shown[look.owner_count].name = owner_looks[i].name;
		shown[look.owner_count].mark = owner_looks[i].mark;
		shown[look.owner_count++].cpus = &owners->cpus[i];
	}
	neap_buf_init(&out, NEAP_BUF_REPLY);
	neap_topology_draw(topology, &look, &out);
	if (owners->is_known && is_wide && topology->cpu_count > 0)
		neap_buf_adds(&out, "Best-effort workloads may use every CPU.\n");
	else if (owners->is_known && look.owner_count == 0)
		neap_buf_adds(&out, "No CPU is set apart for anybody.\n");
	return neap_ctl_print_done(&out);
}

static int print_json(const struct neap_ctl *ctl, const struct topology_values *values,
		      const struct neap_topology *topology)
{
	struct neap_error err = {0};
	json_t *json = NULL;

	/* The daemon's own has the caches too. */
	if (ctl->server != NULL && values->xml == NULL && values->synthetic == NULL) {
		if (neap_client_ask(ctl, "GET", "/control/v1/topology", &json, &err) < 0)
			return neap_ctl_fail(&err);
	} else {
		json = neap_topology_json(topology);
	}
	if (json == NULL)
		return neap_ctl_complainf(NEAP_CTL_FAILED, "out of memory");
	return neap_ctl_print_take(ctl->output, json);
}

static int run(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	static struct owners owners; /* large, and one command runs in a process */
	const struct topology_values *values = arg;
	struct neap_topology *topology = NULL;
	struct neap_error err = {0};
	int r;

	(void)argc, (void)argv;
	if (values->xml != NULL && values->synthetic != NULL)
		return neap_ctl_complainf(NEAP_CTL_USAGE,
					  "--xml or --synthetic, not both");
	if (load(ctl, values, &topology, &err) < 0)
		return neap_ctl_fail(&err);
	if (ctl->output) {
		r = print_json(ctl, values, topology);
	} else {
		if (values->xml == NULL && values->synthetic == NULL)
			owners_ask(ctl, &owners);
		r = draw(topology, &owners, values->is_full);
	}
	(void)neap_topology_unref(topology);
	return r;
}

const struct neap_command neap_command_topology = {
	.name = "topology",
	.usage = "[--xml FILE | --synthetic TEXT] [-o json|yaml]",
	.example = "topology --synthetic 'pack:2 numa:1 l3:1 core:4 pu:2'",
	.summary = "draw sockets, NUMA nodes, caches, cores, CPUs",
	.text = "Works without a daemon. When one answers, marks show who has which CPUs.\n",
	.options = options,
	.output = "print JSON or YAML, with the numbers of the operating system",
	.values_size = sizeof(struct topology_values),
	.run = run,
};
