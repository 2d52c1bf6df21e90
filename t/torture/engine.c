/* SPDX-License-Identifier: Apache-2.0
 *
 * Structures of engine/ and the readers of hw/, the configuration, patches: parse and
 * format. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/config/config.h"
#include "api/config/config_priv.h"
#include "api/control/topology_json.h"
#include "api/daemon/roles.h"
#include "api/kube/patch/patch.h"
#include "engine/base/buf.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/base/selector.h"
#include "engine/json/json.h"
#include "engine/log/audit.h"
#include "engine/machine/plan.h"
#include "engine/machine/sample.h"
#include "engine/schema/schema.h"
#include "hw/cgroup.h"
#include "hw/readings.h"
#include "hw/scan.h"
#include "hw/topology.h"
#include "t/lib/patch_tables.h"
#include "t/torture/torture.h"

/* --- engine/base --- */

static int buf_act(void *state, struct neap_error *err)
{
	neap_auto_buf struct neap_buf buf = {0};
	neap_auto_free char *text = NULL;
	int i;

	(void)state;
	neap_buf_init(&buf, 20000);
	for (i = 0; i < 400; i++)
		neap_buf_addf(&buf, "row %d\n", i);
	text = neap_buf_take(&buf);
	if (text == NULL)
		return neap_error_nomem(err);
	torture_tell("%s", text);
	return 0;
}

static int map_act(void *state, struct neap_error *err)
{
	struct neap_map *map = neap_map_new();
	bool is_full = false;
	size_t i;

	(void)state;
	for (i = 0; map != NULL && i < 100 && !is_full; i++) {
		char key[16];

		(void)snprintf(key, sizeof(key), "key%zu", i);
		is_full = !neap_map_set(map, key, map);
		if ((neap_map_find(map, key) != NULL) == is_full)
			torture_fail("%s is %s", key, is_full ? "there" : "not there");
	}
	if (map == NULL || is_full) {
		if (map != NULL && neap_map_count(map) != i - 1)
			torture_fail("%zu keys of %zu", neap_map_count(map), i - 1);
		neap_map_free(map);
		return neap_error_nomem(err);
	}
	torture_tell("%zu", neap_map_count(map));
	neap_map_free(map);
	return 0;
}

static void *selector_setup(void)
{
	return json_loads("{\"matchLabels\": {\"a\": \"b\", \"c/d\": \"e\"},"
			  " \"matchExpressions\": [{\"key\": \"x\", \"operator\": \"In\","
			  " \"values\": [\"1\", \"2\"]}]}",
			  0, NULL);
}

static int selector_act(void *state, struct neap_error *err)
{
	struct neap_selector *selector = NULL;
	int rc = neap_selector_parse(state, &selector, err);

	if (rc == 0)
		torture_tell("%zu %d", neap_selector_size(selector),
			     neap_selector_matches(selector, NULL));
	neap_selector_free(selector);
	return rc;
}

static void json_teardown(void *state)
{
	json_decref(state);
}

static void *schema_setup(void)
{
	return json_loads(
		"[{\"type\": \"object\", \"properties\": {"
		"\"a\": {\"type\": \"array\", \"x-kubernetes-list-type\": \"set\","
		" \"items\": {\"type\": \"string\", \"pattern\": \"^a|b$\","
		"  \"enum\": [\"a\", \"b\", \"c\"]}, \"default\": [\"b\", \"a\"]},"
		"\"b\": {\"type\": \"integer\", \"enum\": [1, 2], \"default\": 2},"
		"\"c\": {\"x-kubernetes-int-or-string\": true, \"allOf\": [{\"minLength\": 1}]}}}]",
		0, NULL);
}

/* Of an object of its own: it is changed. */
static int schema_object_act(const struct neap_schema *schema, struct neap_error *err)
{
	static const char text[] = "{\"a\": [\"c\", \"c\"], \"c\": \"\", \"d\": 1}";
	struct neap_causes causes = {0};
	json_error_t where;
	json_t *object = NULL;
	size_t i;
	bool is_done;

	if (neap_json_parse(text, strlen(text), 0, &object, &where) < 0)
		return neap_error_nomem(err);
	is_done = neap_schema_prune(schema, object, NULL, NULL) &&
		  neap_schema_default(schema, object) &&
		  neap_schema_check(schema, object, &causes);
	for (i = 0; is_done && i < causes.count; i++)
		torture_tell("%s %s\n", causes.list[i].field, causes.list[i].message);
	json_decref(object);
	return is_done ? 0 : neap_error_nomem(err);
}

static int schema_act(void *state, struct neap_error *err)
{
	struct neap_schema *schema = NULL;
	struct neap_causes causes = {0};
	int rc = neap_schema_parse(json_array_get(state, 0), &schema, &causes, err);

	if (rc == 0)
		rc = schema_object_act(schema, err);
	neap_schema_free(schema);
	return rc;
}

static int rings_act(void *state, struct neap_error *err)
{
	static const struct neap_audit_entry entry = {.what = "set"};
	struct neap_audit *audit = neap_audit_new(8);
	struct neap_window *window = neap_window_new(60);
	struct neap_window_result result;
	int i;

	(void)state;
	if (audit == NULL || window == NULL) {
		neap_audit_free(audit);
		neap_window_free(window);
		return neap_error_nomem(err);
	}
	for (i = 0; i < 20; i++) {
		(void)neap_audit_add(audit, &entry);
		neap_window_add(window, i, 1);
	}
	torture_tell("%d %d", (int)neap_audit_last(audit),
		     neap_window_get(window, 20, 100, &result));
	neap_audit_free(audit);
	neap_window_free(window);
	return 0;
}

/* --- plan --- */

static int read_nothing(void *arg, const char *group, enum neap_key key,
			struct neap_value *ret, struct neap_error *err)
{
	(void)arg;
	(void)err;
	if (strcmp(group, "gone") == 0)
		return 0;
	*ret = (struct neap_value){0};
	if (key != NEAP_KEY_CPUSET_CPUS)
		ret->number = 1024;
	return 1;
}

static int plan_fill(struct neap_plan *plan, struct neap_error *err)
{
	static const char *const groups[] = {"a", "a/b", "a/b/c", "d", "gone"};
	const struct neap_plan_bounds bounds = {.be_cpu_floor_milli = 20};
	size_t i;

	for (i = 0; i < 40; i++) {
		struct neap_wish wish = {.key = i % 2 ? NEAP_KEY_CPU_SHARES
						      : NEAP_KEY_CPU_MAX_MILLI,
					 .value.number = 100 + (int64_t)i,
					 .policy = "p",
					 .rank = (int)i};

		(void)snprintf(wish.group, sizeof(wish.group), "%s%zu",
			       groups[i % NEAP_ARRAY_LEN(groups)], i / 10);
		if (neap_plan_add(plan, &wish, err) < 0)
			return -(int)err->code;
	}
	return neap_plan_build(plan, &bounds, read_nothing, NULL, err);
}

static int plan_act(void *state, struct neap_error *err)
{
	struct neap_plan *plan = neap_plan_new();
	int rc;

	(void)state;
	if (plan == NULL)
		return neap_error_nomem(err);
	rc = plan_fill(plan, err);
	if (rc < 0 && neap_plan_write_count(plan) != 0)
		torture_fail("there are writes, though the plan failed");
	torture_tell("%zu %zu", neap_plan_wish_count(plan), neap_plan_write_count(plan));
	neap_plan_free(plan);
	return rc;
}

/* --- topology --- */

static int topology_tell(struct neap_topology *topology, struct neap_error *err)
{
	json_t *json = neap_topology_json(topology);
	char *text = NULL;

	if (json != NULL)
		text = neap_json_dump(json, JSON_COMPACT);
	if (text != NULL)
		torture_tell("%s", text);
	free(text);
	json_decref(json);
	neap_topology_unref(topology);
	return text != NULL ? 0 : neap_error_nomem(err);
}

static int xml_act(void *state, struct neap_error *err)
{
	struct neap_topology *topology = NULL;
	int rc;

	(void)state;
	rc = neap_topology_load_xml("t/topologies/uneven-cores.xml", &topology, err);
	return rc < 0 ? rc : topology_tell(topology, err);
}

static int synthetic_act(void *state, struct neap_error *err)
{
	struct neap_topology *topology = NULL;
	int rc;

	(void)state;
	rc = neap_topology_load_synthetic("node:2 core:2 pu:2", &topology, err);
	return rc < 0 ? rc : topology_tell(topology, err);
}

static int discover_act(void *state, struct neap_error *err)
{
	struct neap_topology *topology = NULL;
	int rc;

	(void)state;
	rc = neap_topology_discover(&topology, err);
	return rc < 0 ? rc : topology_tell(topology, err);
}

/* --- the machine --- */

static int cgroup_act(void *state, struct neap_error *err)
{
	struct neap_cgroup cgroup = {0};
	int rc = neap_cgroup_probe(NULL, &cgroup, err), i;

	(void)state;
	if (rc < 0)
		return rc;
	for (i = 0; i < NEAP_KEY_COUNT; i++)
		torture_tell("%d", neap_cgroup_file(&cgroup, i, NULL, NULL) != NULL);
	neap_cgroup_done(&cgroup);
	return 0;
}

static void *machine_setup(void)
{
	struct neap_cgroup *cgroup = neap_alloc(sizeof(*cgroup));
	struct neap_error err;

	if (neap_cgroup_probe(NULL, cgroup, &err) < 0)
		torture_fail("%s", err.msg);
	return cgroup;
}

static void machine_teardown(void *state)
{
	neap_cgroup_done(state);
	free(state);
}

static int readings_act(void *state, struct neap_error *err)
{
	struct neap_readings *readings = NULL;
	struct neap_node_reading node;
	struct neap_group *group;
	struct neap_reading reading;
	struct neap_cpuset online;
	int rc = neap_readings_new("", state, &readings, err);

	if (rc < 0)
		return rc;
	group = neap_group_new(readings, "", NEAP_READ_ALL);
	if (group == NULL) {
		neap_readings_free(readings);
		return neap_error_nomem(err);
	}
	neap_readings_node(readings, &node);
	torture_tell("%d %d ", neap_readings_online(readings, &online),
		     neap_group_read(group, NEAP_READ_ALL, &reading));
	torture_tell("%d%d%d ", node.cpu_busy_usec >= 0, node.memory_total_bytes > 0,
		     reading.cpu_usage_usec >= 0);
	torture_tell("%d", neap_group_process_count(group) > 0);
	neap_group_free(group);
	neap_readings_free(readings);
	return 0;
}

static int scan_act(void *state, struct neap_error *err)
{
	static const struct neap_tree trees[] = {
		{"kubepods", NEAP_DRIVER_CGROUPFS, false},
		{"kubepods.slice", NEAP_DRIVER_SYSTEMD, false}};
	struct neap_scan *scan = NULL;
	int rc = neap_scan_new(state, trees, 2, &scan, err);

	if (rc == 0)
		rc = neap_scan_look(scan, err);
	if (rc > 0)
		rc = 0;
	if (rc == 0)
		torture_tell("looked");
	neap_scan_free(scan);
	return rc;
}

/* --- configuration --- */

struct config_state {
	char file[40];
	struct neap_config config, before;
};

static void *config_setup(void)
{
	static const char text[] =
		"listen: off\ntick: 500ms\npolicies:\n  - policy: qos/cpu-share\n"
		"    params: {a: 1, b: x}\nhostApplications:\n  - name: web\n    qos: LS\n"
		"    cgroupPath: {base: CgroupRoot, relativePath: web}\n"
		"node-labels: {zone: here}\n";
	struct config_state *state = neap_alloc(sizeof(*state));
	int fd;

	(void)neap_strcopy(state->file, sizeof(state->file), "/tmp/neap-torture-XXXXXX");
	fd = mkstemp(state->file);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		torture_fail("no file");
	(void)close(fd);
	return state;
}

static int config_act(void *arg, struct neap_error *err)
{
	struct config_state *state = arg;
	char name[] = "neapd", option[] = "--config", level[] = "--log-level=debug";
	char *argv[] = {name, option, state->file, level, NULL};
	enum neap_config_action action;
	json_t *labels;
	int rc = neap_config_parse(4, argv, &state->config, &action, err);

	if (rc < 0)
		return rc;
	labels = neap_config_labels(&state->config);
	if (labels == NULL)
		return neap_error_nomem(err);
	torture_tell("%s %lld %d %d %s %s %zu", state->config.listen,
		     (long long)state->config.tick_usec, state->config.policy_count,
		     state->config.host_app_count, state->config.policies[0].source,
		     state->config.policies[0].params[1].value, json_object_size(labels));
	json_decref(labels);
	return 0;
}

static void config_teardown(void *arg)
{
	struct config_state *state = arg;

	(void)unlink(state->file);
	free(state);
}

static int help_act(void *state, struct neap_error *err)
{
	neap_auto_free char *text = neap_config_help();

	(void)state;
	if (text == NULL)
		return neap_error_nomem(err);
	torture_tell("%s", text);
	return 0;
}

/* --- api/kube --- */

struct patches {
	json_t *object, *strategic, *json;
};

static void *patches_setup(void)
{
	struct patches *p = calloc(1, sizeof(*p));

	p->object =
		json_loads("{\"metadata\": {\"finalizers\": [\"a\", \"b\"]}, \"spec\":"
			   " {\"containers\": [{\"name\": \"a\", \"env\": [{\"name\":"
			   " \"A\"}]}, {\"name\": \"b\"}]}}",
			   0, NULL);
	p->strategic = json_loads(
		"{\"metadata\": {\"$deleteFromPrimitiveList/finalizers\": [\"a\"],"
		" \"finalizers\": [\"c\"], \"$retainKeys\": [\"finalizers\"]}, \"spec\":"
		" {\"$setElementOrder/containers\": [{\"name\": \"c\"}, {\"name\": \"a\"}],"
		" \"containers\": [{\"name\": \"c\", \"x\": [1.5, true, null]}, {\"name\":"
		" \"a\", \"env\": [{\"name\": \"A\", \"value\": \"1\"}]},"
		" {\"$patch\": \"delete\", \"name\": \"b\"}]}}",
		0, NULL);
	p->json = json_loads(
		"[{\"op\": \"add\", \"path\": \"/spec/containers/1\", \"value\": {}},"
		" {\"op\": \"copy\", \"from\": \"/spec\", \"path\": \"/status\"},"
		" {\"op\": \"move\", \"from\": \"/spec/containers/0\", \"path\": \"/spec/x\"},"
		" {\"op\": \"replace\", \"path\": \"/metadata/finalizers/0\", \"value\": [1]},"
		" {\"op\": \"test\", \"path\": \"/spec/containers/1\", \"value\":"
		" {\"name\": \"b\"}}, {\"op\": \"remove\", \"path\": \"/spec/containers/1\"}]",
		0, NULL);
	return p;
}

static int patch_one(const struct patches *p, enum neap_patch_type type,
		     const struct neap_schema *schema, const json_t *patch,
		     struct neap_error *err)
{
	json_t *result = NULL;
	int rc = neap_patch_apply(type, schema, p->object, patch, &result, err);

	if (rc == 0)
		torture_tell("%zu %d", json_object_size(result),
			     json_equal(result, p->object));
	json_decref(result);
	return rc;
}

static int patches_act(void *state, struct neap_error *err)
{
	const struct patches *p = state;
	int rc = patch_one(p, NEAP_PATCH_STRATEGIC, &table_pod, p->strategic, err);

	if (rc == 0)
		rc = patch_one(p, NEAP_PATCH_MERGE, NULL, p->strategic, err);
	if (rc == 0)
		rc = patch_one(p, NEAP_PATCH_JSON, NULL, p->json, err);
	return rc;
}

static void patches_teardown(void *state)
{
	struct patches *p = state;

	json_decref(p->object);
	json_decref(p->strategic);
	json_decref(p->json);
	free(p);
}

const struct torture torture_engine[] = {
	{"engine: buf", NULL, buf_act},
	{"engine: map", NULL, map_act},
	{"engine: selector", selector_setup, selector_act, .teardown = json_teardown},
	{"engine: schema", schema_setup, schema_act, .teardown = json_teardown},
	{"engine: audit, window", NULL, rings_act},
	{"engine: plan", NULL, plan_act},
	{"topology: xml", NULL, xml_act},
	{"topology: synthetic", NULL, synthetic_act},
	{"topology: of this machine", NULL, discover_act},
	{"machine: cgroup", NULL, cgroup_act},
	{"machine: readings", machine_setup, readings_act, .teardown = machine_teardown},
	{"machine: scan", machine_setup, scan_act, .teardown = machine_teardown},
	{"config: file and flags", config_setup, config_act, .teardown = config_teardown},
	{"config: help", NULL, help_act},
	{"kube: patches", patches_setup, patches_act, .teardown = patches_teardown},
	{0},
};
