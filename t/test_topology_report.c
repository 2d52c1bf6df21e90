/* SPDX-License-Identifier: Apache-2.0
 *
 * What a node tells of its machine, and that what reads it finds the same machine:
 * made-up machines, random ones, and recorded ones where they are at hand
 * ($NEAP_TOPOLOGIES or ../shared/topologies). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/cpu/pick.h"
#include "engine/json/json.h"
#include "engine/numa/numa_object.h"
#include "engine/numa/topology_report.h"
#include "hw/topology.h"

#define A(name) "node.koordinator.sh/" name

static struct neap_cpuset set_of(const char *text)
{
	struct neap_cpuset set;

	assert_int_equal(neap_cpuset_parse(&set, text, NULL), 0);
	return set;
}

static json_t *json_of(const char *text)
{
	char fixed[4096];
	json_error_t where;
	json_t *json = NULL;
	size_t i;

	for (i = 0; text[i] != '\0' && i + 1 < sizeof(fixed); i++)
		fixed[i] = (char)(text[i] == '\'' ? '"' : text[i]);
	if (neap_json_parse(fixed, i, 0, &json, &where) < 0)
		fail_msg("%s: %s", text, where.text);
	return json;
}

/* sockets x nodes x cores x threads, CPU ids one after the other. */
static struct neap_topology *machine(int sockets, int nodes, int cores, int threads)
{
	struct neap_processor rows[1024];
	struct neap_topology *topology = NULL;
	int count = 0;

	for (int s = 0; s < sockets; s++)
		for (int n = 0; n < nodes; n++)
			for (int c = 0; c < cores; c++)
				for (int t = 0; t < threads; t++, count++)
					rows[count] = (struct neap_processor){
						count, n * cores + c, s, s * nodes + n};
	assert_int_equal(
		neap_topology_new_from_processors(rows, (size_t)count, &topology, NULL),
		0);
	return topology;
}

static json_t *report(const struct neap_topology_report_from *from, const json_t *object)
{
	struct neap_error err = {0};
	json_t *made = NULL;

	if (neap_topology_report(from, object, &made, &err) < 0)
		fail_msg("%s", err.msg);
	return made;
}

static void wants(const json_t *object, const char *key, const char *text)
{
	const json_t *value = json_object_get(
		json_object_get(json_object_get(object, "metadata"), "annotations"), key);

	assert_non_null(value);
	if (!text)
		assert_true(json_is_null(value));
	else
		assert_string_equal(json_string_value(value), text);
}

static const char *amount(const json_t *object, size_t zone, const char *name,
			  const char *figure)
{
	const json_t *item,
		*list = json_object_get(
			json_array_get(json_object_get(object, "zones"), zone),
			"resources");
	size_t i;

	json_array_foreach (list, i, item) {
		if (strcmp(json_string_value(json_object_get(item, "name")), name) == 0)
			return json_string_value(json_object_get(item, figure));
	}
	return "";
}

/* --- parts --- */

static void a_quiet_machine(void **state)
{
	struct neap_topology *topology = machine(2, 1, 2, 2);
	struct neap_kubelet_facts none = {0};
	json_t *made = report(&(struct neap_topology_report_from){.topology = topology,
								  .kubelet = &none},
			      NULL);

	(void)state;
	wants(made, A("cpu-shared-pools"),
	      "[{\"socket\":0,\"node\":0,\"cpuset\":\"0-3\"},{\"socket\":1,\"node\":1,"
	      "\"cpuset\":\"4-7\"}]");
	wants(made, A("reservation"), NULL);
	wants(made, A("system-qos-resource"), NULL);
	wants(made, "kubelet.koordinator.sh/cpu-manager-policy", NULL);
	wants(made, A("pod-cpu-allocs"), "[]");
	assert_string_equal(json_string_value(json_array_get(
				    json_object_get(made, "topologyPolicies"), 0)),
			    "None");
	assert_int_equal(json_array_size(json_object_get(made, "zones")), 2);
	assert_string_equal(amount(made, 1, "cpu", "capacity"), "4");
	json_decref(made);
	neap_topology_unref(topology);
}

static void reserved_by_amount_is_packed(void **state)
{
	static const struct {
		const char *cpu, *want;
	} rows[] = {
		{"2500m", "0-2"}, {"4", "0-3"}, {"9", "0-8"}, {"99", "0-15"}, {"0", ""}};
	struct neap_topology *topology = machine(2, 1, 4, 2);

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		char text[256], want[160];
		json_t *node, *made;

		(void)snprintf(text, sizeof(text),
			       "{'metadata':{'annotations':{'node.koordinator.sh/"
			       "reservation':'{\\'resources\\':{\\'cpu\\':\\'%s\\'}}'}}}",
			       rows[i].cpu);
		node = json_of(text);
		made = report(&(struct neap_topology_report_from){.topology = topology,
								  .node = node},
			      NULL);
		(void)snprintf(want, sizeof(want),
			       rows[i].want[0] != '\0'
				       ? "{\"resources\":{\"cpu\":\"%s\"},"
					 "\"reservedCPUs\":\"%s\"}"
				       : "{\"resources\":{\"cpu\":\"%s\"}}",
			       rows[i].cpu, rows[i].want);
		wants(made, A("reservation"), want);
		json_decref(made);
		json_decref(node);
	}
	neap_topology_unref(topology);
}

/* The label enable-numa-reservation: what is kept back is taken off each zone, its part
 * rounded up. */
static void what_is_kept_is_taken_off_zones(void **state)
{
	static const struct {
		const char *label;
		bool has_kubelet;
		int64_t kubelet_milli, kubelet_bytes, own_milli, own_bytes;
		const char *cpu,
			*memory; /* of each of three zones with 4 CPUs and 1000 bytes */
	} rows[] = {
		{"true", true, 1000, 100, 0, 0, "3666m", "966"},
		{"true", true, 3000, 99, 9000, 900, "3", "967"},
		{"true", true, 0, 0, 9000, 900, "4", "1000"},
		{"true", true, 99000, 99000, 0, 0, "0", "0"},
		{"true", true, INT64_MAX, INT64_MAX, 0, 0, "0", "0"},
		/* Without a kubelet what neapd keeps back. */
		{"true", false, 9000, 900, 100, 1, "3966m", "999"},
		{"false", true, 1000, 100, 0, 0, "4", "1000"},
		{"True", true, 1000, 100, 0, 0, "4", "1000"},
		{"", true, 1000, 100, 1000, 100, "4", "1000"},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_topology *topology = machine(3, 1, 2, 2);
		struct neap_kubelet_facts kubelet = {
			.is_here = rows[i].has_kubelet,
			.reserved_milli = rows[i].kubelet_milli,
			.reserved_bytes = rows[i].kubelet_bytes};
		json_t *node = json_pack("{s:{s:{s:s}}}", "metadata", "labels",
					 A("enable-numa-reservation"), rows[i].label);
		struct neap_topology_report_from from = {
			.topology = topology,
			.node = node,
			.kubelet = &kubelet,
			.reserved_milli = rows[i].own_milli,
			.reserved_bytes = rows[i].own_bytes};
		json_t *made;

		for (int n = 0; n < topology->node_count; n++)
			topology->nodes[n].memory_bytes = 1000;
		made = report(&from, NULL);
		for (size_t zone = 0; zone < 3; zone++) {
			assert_string_equal(amount(made, zone, "cpu", "capacity"), "4");
			assert_string_equal(amount(made, zone, "cpu", "allocatable"),
					    rows[i].cpu);
			assert_string_equal(amount(made, zone, "cpu", "available"),
					    rows[i].cpu);
			assert_string_equal(amount(made, zone, "memory", "capacity"),
					    "1000");
			assert_string_equal(amount(made, zone, "memory", "allocatable"),
					    rows[i].memory);
		}
		json_decref(made);
		json_decref(node);
		neap_topology_unref(topology);
	}
}

static void packed_as_a_kubelet_does(void **state)
{
	static const struct {
		int sockets, nodes, cores, threads, count;
		const char *from, *want;
	} rows[] = {
		{1, 1, 4, 2, 1, "0-7", "0"},
		{1, 1, 4, 2, 3, "0-7", "0-2"},
		/* The half core, after a whole one does not fit. */
		{1, 1, 4, 2, 1, "1-7", "1"},
		{1, 1, 4, 2, 2, "1-7", "2-3"},
		{2, 1, 4, 2, 8, "1-15", "8-15"},
		{2, 1, 4, 2, 9, "1-15", "1,8-15"},
		/* Fewest left first. */
		{2, 1, 4, 2, 2, "0-7,10-15", "10-11"},
		{2, 2, 2, 2, 4, "0-15", "0-3"},
		{2, 2, 2, 2, 12, "0-15", "0-11"},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_topology *topology = machine(rows[i].sockets, rows[i].nodes,
							 rows[i].cores, rows[i].threads);
		struct neap_cpuset from = set_of(rows[i].from), got;
		char text[256];

		assert_int_equal(
			neap_pick_packed(topology, &from, rows[i].count, &got, NULL), 0);
		(void)neap_cpuset_format(&got, text, sizeof(text));
		assert_string_equal(text, rows[i].want);
		assert_int_equal(neap_pick_packed(topology, &from, 99, &got, NULL),
				 -NEAP_ENOFIT);
		neap_topology_unref(topology);
	}
}

static void pods_and_kubelet(void **state)
{
	struct neap_topology *topology = machine(2, 1, 4, 2);
	json_t *files = json_of(
		"{'policyName':'static','defaultCpuSet':'0-15','checksum':1,'entries':{"
		"'u-kube':{'a':'2-3','b':'4','c':'x'},'u-lse':{'a':'5'},'':{'a':'6'},"
		"'old':'7'}}");
	json_t *config = json_of(
		"{'cpuManagerPolicyOptions':{'full-pcpus-only':true},'topologyManagerPolicy'"
		":'single-numa-node','topologyManagerScope':'pod','kubeReserved':{'cpu':"
		"'500m'},'systemReserved':{'cpu':1}}");
	json_t *zones = json_of("[{'node':1,'resources':{'cpu':'2','memory':'1Gi'}}]");
	json_t *node =
		json_of("{'metadata':{'annotations':{'node.koordinator.sh/system-qos-"
			"resource':'{\\'cpuset\\':\\'15\\'}'}}}");
	struct neap_kubelet_facts kubelet;
	struct neap_report_pod pods[] = {
		{.ns = "d", .name = "lse", .uid = "u-lse", .qos = NEAP_QOS_LSE},
		{.ns = "d", .name = "lsr", .uid = "u-lsr", .qos = NEAP_QOS_LSR},
		{.ns = "d", .name = "kube", .uid = "u-kube", .qos = NEAP_QOS_LSR},
	};
	json_t *made;

	(void)state;
	pods[0].cpus = set_of("8-9");
	pods[0].zones = zones;
	pods[1].cpus = set_of("10-11");
	assert_int_equal(neap_kubelet_facts_read(files, config, &kubelet, NULL), 0);
	made = report(&(struct neap_topology_report_from){.topology = topology,
							  .node = node,
							  .kubelet = &kubelet,
							  .pods = pods,
							  .pod_count = 3},
		      NULL);
	wants(made, A("pod-cpu-allocs"),
	      "[{\"namespace\":\"d\",\"name\":\"kube\",\"uid\":\"u-kube\",\"cpuset\":\"2-4\","
	      "\"managedByKubelet\":true}]");
	wants(made, A("cpu-shared-pools"),
	      "[{\"socket\":0,\"node\":0,\"cpuset\":\"0-1,5-7\"},{\"socket\":1,\"node\":1,"
	      "\"cpuset\":\"12-14\"}]");
	wants(made, A("be-cpu-shared-pools"),
	      "[{\"socket\":0,\"node\":0,\"cpuset\":\"0-1,5-7\"},{\"socket\":1,\"node\":1,"
	      "\"cpuset\":\"10-14\"}]");
	wants(made, "kubelet.koordinator.sh/cpu-manager-policy",
	      "{\"policy\":\"static\",\"options\":{\"full-pcpus-only\":\"true\"},"
	      "\"reservedCPUs\":\"0-1\"}");
	wants(made, A("system-qos-resource"), "{\"cpuset\":\"15\"}");
	assert_string_equal(json_string_value(json_array_get(
				    json_object_get(made, "topologyPolicies"), 0)),
			    "SingleNUMANodePodLevel");
	assert_string_equal(amount(made, 0, "cpu", "available"), "5");
	/* Two of the LSE pod as its status tells, two of the LSR pod by its CPUs. */
	assert_string_equal(amount(made, 1, "cpu", "available"), "4");
	assert_string_equal(amount(made, 1, "cpu", "allocatable"), "8");
	json_decref(made);
	neap_kubelet_facts_done(&kubelet);
	json_decref(files);
	json_decref(config);
	json_decref(zones);
	json_decref(node);
	neap_topology_unref(topology);
}

static void zones_keep_what_others_put_there(void **state)
{
	struct neap_topology *topology = machine(1, 1, 2, 1);
	struct neap_report_pages pages = {0, "hugepages-2Mi", 4 << 20};
	json_t *object = json_of(
		"{'zones':[{'name':'node-0','type':'Node','costs':[{'name':'node-0','value':10}"
		"],'resources':[{'name':'cpu','capacity':'9','allocatable':'9','available':'9'}"
		",{'name':'kubernetes.io/batch-cpu','capacity':'5','allocatable':'5',"
		"'available':'5'},{'name':'hugepages-1Gi','capacity':'5'}]},"
		"{'name':'node-7','type':'Node'},{'name':'gpu','type':'Other'}]}");
	json_t *made, *again;

	(void)state;
	topology->nodes[0].memory_bytes = 1 << 30;
	made = report(&(struct neap_topology_report_from){.topology = topology,
							  .pages = &pages,
							  .page_count = 1},
		      object);
	assert_int_equal(json_array_size(json_object_get(made, "zones")), 2);
	assert_non_null(json_object_get(json_array_get(json_object_get(made, "zones"), 0),
					"costs"));
	assert_string_equal(amount(made, 0, "cpu", "capacity"), "2");
	assert_string_equal(amount(made, 0, "memory", "capacity"), "1020Mi");
	assert_string_equal(amount(made, 0, "hugepages-2Mi", "capacity"), "4Mi");
	assert_string_equal(amount(made, 0, "hugepages-1Gi", "capacity"), "");
	assert_string_equal(amount(made, 0, "kubernetes.io/batch-cpu", "capacity"), "5");
	/* What it made it makes again, to the letter. */
	again = report(&(struct neap_topology_report_from){.topology = topology,
							   .pages = &pages,
							   .page_count = 1},
		       made);
	assert_true(json_equal(made, again));
	json_decref(again);
	json_decref(made);
	json_decref(object);
	neap_topology_unref(topology);
}

/* --- read back --- */

static bool are_alike(const struct neap_topology *a, const struct neap_topology *b)
{
	if (!neap_cpuset_is_equal(&a->online, &b->online) ||
	    a->core_count != b->core_count || a->socket_count != b->socket_count)
		return false;
	for (int i = 0; i < a->cpu_count; i++) {
		const struct neap_cpu *x = &a->cpus[i], *y = &b->cpus[i];

		if (!neap_cpuset_is_equal(&a->cores[x->core].cpus,
					  &b->cores[y->core].cpus) ||
		    a->sockets[x->socket].os_socket != b->sockets[y->socket].os_socket ||
		    /* Without any the whole machine is reported as one. */
		    (x->node < 0 && a->node_count) != (y->node < 0) ||
		    (x->node >= 0 &&
		     a->nodes[x->node].os_node != b->nodes[y->node].os_node))
			return false;
	}
	return true;
}

static void round_trip(const char *what, const struct neap_topology *topology,
		       const struct neap_cpuset *kubelet_cpus,
		       const struct neap_cpuset *reserved,
		       const struct neap_cpuset *system)
{
	struct neap_kubelet_pod pod = {.uid = "u-1"};
	struct neap_kubelet_facts kubelet = {.is_here = true,
					     .cpu_policy = "static",
					     .topology_policy = "restricted",
					     .pods = &pod,
					     .pod_count = 1};
	struct neap_resources *names = neap_resources_new();
	struct neap_cpuset all_reserved;
	struct neap_cpu_layout *layout;
	struct neap_numa_facts facts;
	size_t near = 0;
	struct neap_error err = {0};
	json_t *made;

	assert_non_null(names);
	neap_cpuset_copy(&pod.cpus, kubelet_cpus);
	made = report(&(struct neap_topology_report_from){.topology = topology,
							  .kubelet = &kubelet,
							  .reserved_cpus = reserved,
							  .system_cpus = system},
		      NULL);
	if (neap_numa_facts_read(made, names, &facts, &err) < 0)
		fail_msg("%s: %s", what, err.msg);
	if (!facts.topology || !are_alike(topology, facts.topology))
		fail_msg("%s: another machine", what);
	for (int i = 0; i < topology->node_count; i++)
		near += topology->nodes[i].is_near;
	assert_int_equal(facts.zone_count, topology->node_count ? near : 1);
	if (neap_cpu_layout_new(facts.topology, &layout, &err) < 0)
		fail_msg("%s: no CPUs can be given out: %s", what, err.msg);
	assert_int_equal(layout->cpus, topology->cpu_count);
	assert_int_equal(layout->cores, topology->core_count);
	(void)neap_cpu_layout_unref(layout);
	neap_cpuset_or(&all_reserved, kubelet_cpus, reserved);
	neap_cpuset_or(&all_reserved, &all_reserved, system);
	assert_true(neap_cpuset_is_equal(&facts.reserved, &all_reserved));
	assert_int_equal(facts.numa, NEAP_NUMA_RESTRICTED);
	for (size_t z = 0; z < facts.zone_count; z++) {
		int64_t milli = 0, bytes = 0;

		for (int i = 0; i < topology->cpu_count; i++) {
			int at = topology->cpus[i].node;

			if (at >= 0 &&
			    topology->nodes[at].os_node == facts.zones[z].node &&
			    !neap_cpuset_has(&all_reserved, topology->cpus[i].os_cpu))
				milli += 1000;
		}
		for (int i = 0; i < topology->node_count; i++)
			if (topology->nodes[i].os_node == facts.zones[z].node)
				bytes = topology->nodes[i].memory_bytes;
		assert_int_equal(
			neap_amounts_get(&facts.zones[z].total, NEAP_RESOURCE_CPU),
			milli);
		assert_int_equal(
			neap_amounts_get(&facts.zones[z].total, NEAP_RESOURCE_MEMORY),
			bytes);
	}
	neap_numa_facts_done(&facts);
	json_decref(made);
	neap_resources_free(names);
}

static uint64_t draw(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Uneven: CPUs missing, NUMA nodes across sockets, numbers with holes. */
static void random_machines_are_read_back(void **state)
{
	uint64_t seed = 88172645463325252u;

	(void)state;
	for (int round = 0; round < 400; round++) {
		struct neap_processor rows[200];
		size_t count = 1 + draw(&seed) % NEAP_ARRAY_LEN(rows);
		struct neap_cpuset sets[3] = {0};
		struct neap_topology *topology = NULL;

		for (size_t i = 0; i < count; i++)
			rows[i] = (struct neap_processor){
				(int)(i * 2 + draw(&seed) % 2), (int)(draw(&seed) % 40),
				(int)(draw(&seed) % 3) * 5,
				/* CPUs of an offline NUMA node have none; there is no
				 * number 0 then. */
				(int)(draw(&seed) % 6) * 40 - 1};
		assert_int_equal(
			neap_topology_new_from_processors(rows, count, &topology, NULL),
			0);
		for (size_t i = 0; i < count; i++)
			if (draw(&seed) % 4 == 0)
				(void)neap_cpuset_add(&sets[draw(&seed) % 3],
						      rows[i].os_cpu);
		/* A kubelet's pod always has some. */
		(void)neap_cpuset_add(&sets[0], rows[0].os_cpu);
		for (int i = 0; i < topology->node_count; i++)
			topology->nodes[i].memory_bytes =
				(int64_t)(draw(&seed) % 1000000) * 4096;
		round_trip("random", topology, &sets[0], &sets[1], &sets[2]);
		neap_topology_unref(topology);
	}
}

static void read_back_file(const char *path)
{
	struct neap_cpuset first = {0}, none = {0};
	struct neap_topology *topology = NULL;
	struct neap_error err;

	if (neap_topology_load_xml(path, &topology, &err) < 0)
		fail_msg("%s", err.msg);
	(void)neap_cpuset_add(&first, topology->cpus[0].os_cpu);
	round_trip(path, topology, &first, &none, &none);
	neap_topology_unref(topology);
}

static void odd_machines_are_read_back(void **state)
{
	static const char *const files[] = {"hbm-first.xml",         "hybrid.xml",
					    "memory-less-node.xml",  "no-smt.xml",
					    "offline-holes.xml",     "shared-cpus.xml",
					    "repeated-packages.xml", "uneven-cores.xml"};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(files); i++) {
		char path[128];

		(void)snprintf(path, sizeof(path), "t/topologies/%s", files[i]);
		read_back_file(path);
	}
}

static void recorded_machines_are_read_back(void **state)
{
	const char *dir = getenv("NEAP_TOPOLOGIES");
	struct dirent *entry;
	DIR *folder;
	int count = 0;

	(void)state;
	dir = dir ? dir : "../shared/topologies";
	folder = opendir(dir);
	if (!folder) {
		print_message("# SKIP recorded machines: no %s\n", dir);
		skip();
	}
	while ((entry = readdir(folder)) != NULL) {
		const char *end = strrchr(entry->d_name, '.');
		char path[1024];

		if (!end || strcmp(end, ".xml") != 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		read_back_file(path);
		count++;
	}
	(void)closedir(folder);
	assert_true(count > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quiet_machine),
		cmocka_unit_test(reserved_by_amount_is_packed),
		cmocka_unit_test(what_is_kept_is_taken_off_zones),
		cmocka_unit_test(packed_as_a_kubelet_does),
		cmocka_unit_test(pods_and_kubelet),
		cmocka_unit_test(zones_keep_what_others_put_there),
		cmocka_unit_test(random_machines_are_read_back),
		cmocka_unit_test(odd_machines_are_read_back),
		cmocka_unit_test(recorded_machines_are_read_back),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
