/* SPDX-License-Identifier: Apache-2.0
 *
 * What a tick reads: the node's files below a root of its own and a group's files in
 * trees of plain files, v1 and v2. Whatever stands there, a reading is a number that can
 * be, or missing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hw/readings_priv.h"
#include "t/fuzz/lib/fuzz.h"

static const char *const node_files[] = {
	"proc/stat",         "proc/meminfo",
	"proc/pressure/cpu", "proc/pressure/memory",
	"proc/pressure/io",  "sys/devices/system/cpu/online",
};
static const char *const v2_files[] = {
	"v2/g/cpu.stat",     "v2/g/memory.current",  "v2/g/memory.stat",
	"v2/g/cpu.pressure", "v2/g/memory.pressure", "v2/g/io.pressure",
	"v2/g/cgroup.procs", "v2/g/cpu.max",         "v2/g/cpu.weight",
	"v2/g/cpuset.cpus",  "v2/g/memory.max",
};
static const char *const v1_files[] = {
	"v1/cpuacct/g/cpuacct.usage",
	"v1/cpu/g/cpu.stat",
	"v1/memory/g/memory.usage_in_bytes",
	"v1/memory/g/memory.stat",
	"v1/cpu/g/cpu.shares",
	"v1/cpu/g/cpu.cfs_quota_us",
	"v1/cpuset/g/cpuset.cpus",
	"v1/memory/g/memory.limit_in_bytes",
	"v1/cpu/g/cgroup.procs",
};

static struct machine {
	const char *root;
	struct neap_cgroup cgroup[2]; /* v1, v2 */
	struct neap_readings *readings[2];
	struct neap_group *group[2];
} machine;

static void folders_make(const char *root)
{
	static const char *const folders[] = {
		"proc",
		"proc/pressure",
		"sys",
		"sys/devices",
		"sys/devices/system",
		"v1",
		"v1/cpu",
		"v1/cpu/g",
		"v1/cpuacct",
		"sys/devices/system/cpu",
		"v1/cpuset",
		"v1/cpuset/g",
		"v1/memory",
		"v1/memory/g",
		"v1/cpuacct/g",
		"v2",
		"v2/g",
	};
	char path[256];

	for (size_t i = 0; i < NEAP_ARRAY_LEN(folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, folders[i]);
		FUZZ_CHECK(mkdir(path, 0755) == 0);
	}
}

static void machine_make(void)
{
	struct neap_error err;
	char path[256];

	machine.root = fuzz_folder();
	folders_make(machine.root);
	fuzz_file_put(machine.root, "v2/cgroup.controllers", "cpu cpuset memory\n", 18);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/v%d", machine.root, i + 1);
		FUZZ_CHECK(neap_cgroup_probe(path, &machine.cgroup[i], &err) == 0);
		FUZZ_CHECK(neap_readings_new(machine.root, &machine.cgroup[i],
					     &machine.readings[i], &err) == 0);
		machine.group[i] =
			neap_group_new(machine.readings[i], "g", NEAP_READ_ALL);
		FUZZ_CHECK(machine.group[i] != NULL);
	}
}

static void files_put(struct fuzz_in *in, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t len;
		const char *text = fuzz_text_until(in, '\1', &len);

		fuzz_file_put(machine.root, names[i], text, len);
	}
}

static void check_number(int64_t number)
{
	FUZZ_CHECK(number >= 0 || number == NEAP_MISSING);
}

static void check_share(double share)
{
	FUZZ_CHECK(isnan(share) || (share >= 0 && isfinite(share)));
}

static void read_node(void)
{
	struct neap_node_reading node;
	struct neap_cpuset online;

	memset(&node, 0x55, sizeof(node));
	neap_readings_node(machine.readings[0], &node);
	check_number(node.cpu_busy_usec);
	check_number(node.cpu_steal_usec);
	check_number(node.memory_total_bytes);
	check_number(node.memory_available_bytes);
	check_number(node.memory_free_bytes);
	check_share(node.cpu_pressure);
	check_share(node.memory_pressure);
	check_share(node.io_pressure);
	if (neap_readings_online(machine.readings[0], &online))
		FUZZ_CHECK(neap_cpuset_last(&online) < NEAP_CPU_MAX);
}

static void read_group(struct neap_group *group)
{
	struct neap_reading reading;
	struct neap_error err;
	struct neap_value value;
	int processes;

	memset(&reading, 0x55, sizeof(reading));
	FUZZ_CHECK(neap_group_read(group, NEAP_READ_ALL, &reading) == 1);
	check_number(reading.cpu_usage_usec);
	check_number(reading.periods);
	check_number(reading.throttled_periods);
	check_number(reading.throttled_usec);
	check_number(reading.memory_bytes);
	check_number(reading.memory_working_bytes);
	check_number(reading.cpu_pressure_total_usec);
	check_share(reading.cpu_pressure);
	check_share(reading.memory_pressure);
	check_share(reading.io_pressure);
	for (int key = 0; key < NEAP_KEY_COUNT; key++) {
		err.code = NEAP_OK;
		if (neap_group_read_key(group, (enum neap_key)key, &value, &err) == 1)
			FUZZ_CHECK(value.form == neap_key_get((enum neap_key)key)->form);
	}
	processes = neap_group_process_count(group);
	FUZZ_CHECK(processes >= -1);
}

/* A byte says which files (node, v1, v2), then their texts with \1 between. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in;
	unsigned which;

	if (!machine.root)
		machine_make();
	fuzz_in_init(&in, data, size);
	which = fuzz_byte(&in) % 3;
	if (which == 0) {
		files_put(&in, node_files, NEAP_ARRAY_LEN(node_files));
		read_node();
	} else if (which == 1) {
		files_put(&in, v1_files, NEAP_ARRAY_LEN(v1_files));
		read_group(machine.group[0]);
	} else {
		files_put(&in, v2_files, NEAP_ARRAY_LEN(v2_files));
		read_group(machine.group[1]);
	}
	fuzz_in_done(&in);
	return 0;
}
