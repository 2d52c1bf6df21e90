/* SPDX-License-Identifier: Apache-2.0
 *
 * Topologies loaded through hwloc: case folders (t/cases/topology), refusals, this
 * machine, and recorded machines where they are at hand ($NEAP_TOPOLOGIES or
 * ../shared/topologies). NEAP_UPDATE=1 rewrites the wanted side of the cases, CASE=name
 * runs one. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/control/topology_json.h"
#include "api/ctl/draw/topology_draw.h"
#include "engine/base/mem.h"
#include "hw/topology.h"

#define CASES      "t/cases/topology"
#define OWNERS_MAX 4

struct input {
	char source[16], text[256];
	struct neap_draw_owner owners[OWNERS_MAX];
	struct neap_cpuset cpus[OWNERS_MAX];
	char names[OWNERS_MAX][32];
	struct neap_draw_options options;
};

static char *read_all(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = calloc(1, 1 << 20);
	size_t n;

	assert_non_null(text);
	if (!file) {
		free(text);
		return NULL;
	}
	n = fread(text, 1, (1 << 20) - 1, file);
	text[n] = '\0';
	fclose(file);
	return text;
}

static void read_input(const char *name, struct input *in)
{
	char path[512], line[512];
	FILE *file;

	memset(in, 0, sizeof(*in));
	snprintf(path, sizeof(path), CASES "/%s/input", name);
	file = fopen(path, "re");
	if (!file)
		fail_msg("%s: cannot open", path);
	while (fgets(line, sizeof(line), file)) {
		size_t i = in->options.owner_count;
		char mark, list[256];

		if (sscanf(line, "owner %c %31s %255s", &mark, in->names[i], list) == 3) {
			struct neap_draw_owner owner = {in->names[i], mark, &in->cpus[i]};

			assert_true(i < OWNERS_MAX);
			assert_int_equal(neap_cpuset_parse(&in->cpus[i],
							   strcmp(list, "-") ? list : "",
							   NULL),
					 0);
			in->owners[i] = owner;
			in->options.owner_count++;
		} else if (!strcmp(line, "color\n")) {
			in->options.use_color = true;
		} else if (!strcmp(line, "full\n")) {
			in->options.is_full = true;
		} else {
			assert_int_equal(
				sscanf(line, "%15s %255[^\n]", in->source, in->text), 2);
		}
	}
	fclose(file);
	in->options.owners = in->owners;
}

static struct neap_topology *load(const struct input *in)
{
	struct neap_topology *t = NULL;
	struct neap_error err;
	char path[512];
	int r;

	snprintf(path, sizeof(path), "t/topologies/%s", in->text);
	r = !strcmp(in->source, "xml") ? neap_topology_load_xml(path, &t, &err)
				       : neap_topology_load_synthetic(in->text, &t, &err);
	if (r < 0)
		fail_msg("%s: %s", in->text, err.msg);
	return t;
}

static void compare(const char *name, const char *file, const char *got)
{
	char path[512];
	char *want;

	snprintf(path, sizeof(path), CASES "/%s/%s", name, file);
	if (getenv("NEAP_UPDATE")) {
		FILE *out = fopen(path, "we");

		assert_non_null(out);
		fputs(got, out);
		fclose(out);
		return;
	}
	want = read_all(path);
	if (!want)
		fail_msg("%s: missing; NEAP_UPDATE=1 makes it", path);
	if (strcmp(want, got) != 0)
		fail_msg("%s: got\n%s\nwant\n%s", path, got, want);
	free(want);
}

/* Columns of every line; colours are left out of the count. */
static int widest_line(const char *text)
{
	int widest = 0, width = 0;

	for (; *text; text++) {
		if (*text == '\033')
			text = strchr(text, 'm');
		else if (*text == '\n')
			width = 0;
		else if (((unsigned char)*text & 0xc0) != 0x80)
			width++;
		widest = width > widest ? width : widest;
	}
	return widest;
}

static void check_case(const char *name)
{
	struct neap_topology *t;
	struct neap_buf out;
	struct input in;
	json_t *json;
	char *text;

	read_input(name, &in);
	t = load(&in);
	neap_buf_init(&out, NEAP_BUF_REPLY);
	neap_topology_draw(t, &in.options, &out);
	assert_false(neap_buf_failed(&out));
	if (widest_line(out.data) > 100)
		fail_msg("%s: %d columns", name, widest_line(out.data));
	compare(name, "want.txt", out.data);
	neap_buf_done(&out);

	in.options.columns = 60;
	neap_buf_init(&out, NEAP_BUF_REPLY);
	neap_topology_draw(t, &in.options, &out);
	if (neap_buf_failed(&out) || widest_line(out.data) > 60)
		fail_msg("%s: %d columns of 60:\n%s", name, widest_line(out.data),
			 out.data);
	neap_buf_done(&out);

	json = neap_topology_json(t);
	assert_non_null(json);
	text = json_dumps(json, JSON_INDENT(1));
	assert_non_null(text);
	neap_buf_init(&out, NEAP_BUF_REPLY);
	neap_buf_addf(&out, "%s\n", text);
	compare(name, "want.json", out.data);
	neap_buf_done(&out);
	free(text);
	json_decref(json);
	neap_topology_unref(t);
}

static void test_cases(void **state)
{
	const char *one = getenv("CASE");
	struct dirent **list;
	int count;

	(void)state;
	count = scandir(CASES, &list, NULL, alphasort);
	assert_true(count > 2);
	for (int i = 0; i < count; i++) {
		if (list[i]->d_name[0] != '.' && (!one || !strcmp(one, list[i]->d_name)))
			check_case(list[i]->d_name);
		free(list[i]);
	}
	free(list);
}

static const struct {
	const char *name, *file;
	enum neap_code code;
	const char *says;
} refusals[] = {
	{"missing file", "t/topologies/none.xml", NEAP_ESYS, "none.xml: No such file"},
	{"a directory", "t/topologies", NEAP_EINVAL, "not a plain file"},
	{"a device", "/dev/zero", NEAP_EINVAL, "not a plain file"},
	{"no XML", "Makefile", NEAP_EINVAL, "Makefile: not a topology"},
	{"format 3", "t/topologies/newer-hwloc.xml", NEAP_EUNSUPPORTED,
	 "newer-hwloc.xml: made by a newer hwloc: export with lstopo --of xml "
	 "--export-xml-flags v2"},
	{"half a file", "t/topologies/cut-short.xml", NEAP_EINVAL,
	 "cut-short.xml: cut short"},
	{"entities", "t/topologies/entities.xml", NEAP_EINVAL,
	 "entities.xml: cut short or not"},
};

static void test_refusals(void **state)
{
	struct neap_topology *t = NULL;
	struct neap_error err;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(refusals); i++) {
		int r = neap_topology_load_xml(refusals[i].file, &t, &err);

		if (r != -(int)refusals[i].code || !strstr(err.msg, refusals[i].says))
			fail_msg("%s: got %d '%s'", refusals[i].name, r, err.msg);
		assert_null(t);
	}
	assert_int_equal(neap_topology_load_synthetic("core:2,3 pu:1", &t, &err),
			 -NEAP_EINVAL);
	assert_non_null(strstr(err.msg, "core:2,3 pu:1"));
	assert_int_equal(neap_topology_load_synthetic("core:9000 pu:1", &t, &err),
			 -NEAP_ETOOLARGE);
	assert_true(neap_topology_discover_root("/nowhere", &t, &err) < 0);
	assert_null(t);
}

/* A variable left in a shell must not become the machine; and it must still be there
 * afterwards. */
static void test_environment(void **state)
{
	static const char *const names[] = {"HWLOC_SYNTHETIC", "HWLOC_XMLFILE",
					    "HWLOC_FSROOT"};
	static const char *const values[] = {"core:64 pu:2", "t/topologies/hybrid.xml",
					     "/nowhere"};
	struct neap_topology *plain, *bent;
	struct neap_error err;

	(void)state;
	assert_int_equal(neap_topology_discover(&plain, &err), 0);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		setenv(names[i], values[i], 1);
		assert_int_equal(neap_topology_discover(&bent, &err), 0);
		if (!neap_cpuset_is_equal(&plain->online, &bent->online))
			fail_msg("%s bends the machine", names[i]);
		neap_topology_unref(bent);
		assert_int_equal(neap_topology_load_synthetic("core:3 pu:1", &bent, &err),
				 0);
		assert_int_equal(bent->cpu_count, 3);
		neap_topology_unref(bent);
		assert_string_equal(getenv(names[i]), values[i]);
		unsetenv(names[i]);
	}
	neap_topology_unref(plain);
}

static void check_arrays(const char *name, const struct neap_topology *t)
{
	struct neap_cpuset all;

	neap_cpuset_clear(&all);
	if (t->cpu_count <= 0 || t->core_count <= 0 || t->socket_count <= 0)
		fail_msg("%s: nothing in it", name);
	for (int i = 0; i < t->cpu_count; i++) {
		const struct neap_cpu *cpu = &t->cpus[i];

		neap_cpuset_add(&all, cpu->os_cpu);
		if (i > 0 && cpu->os_cpu <= t->cpus[i - 1].os_cpu)
			fail_msg("%s: CPU %d out of order", name, cpu->os_cpu);
		if (!neap_cpuset_has(&t->cores[cpu->core].cpus, cpu->os_cpu) ||
		    !neap_cpuset_has(&t->sockets[cpu->socket].cpus, cpu->os_cpu) ||
		    (cpu->l3 >= 0 &&
		     !neap_cpuset_has(&t->l3s[cpu->l3].cpus, cpu->os_cpu)) ||
		    (cpu->node >= 0 &&
		     (!neap_cpuset_has(&t->nodes[cpu->node].cpus, cpu->os_cpu) ||
		      !t->nodes[cpu->node].is_near)) ||
		    cpu->socket != t->cores[cpu->core].socket ||
		    cpu->kind >= t->kind_count)
			fail_msg("%s: CPU %d does not fit its row", name, cpu->os_cpu);
	}
	if (!neap_cpuset_is_equal(&all, &t->online))
		fail_msg("%s: online", name);
}

static void test_machine(void **state)
{
	struct neap_topology *t, *again;
	struct neap_error err;

	(void)state;
	assert_int_equal(neap_topology_discover(&t, &err), 0);
	check_arrays("this machine", t);
	assert_int_equal(t->cpu_count, sysconf(_SC_NPROCESSORS_ONLN));
	assert_int_equal(neap_topology_discover_root("/", &again, &err), 0);
	assert_true(neap_cpuset_is_equal(&t->online, &again->online));
	neap_topology_unref(again);
	neap_topology_unref(t);
}

/* From the table of the recorded machines. */
static const struct {
	const char *file;
	int sockets, nodes, l3s, cores, cpus, kinds, near;
} machines[] = {
	{"amd-epyc7401-2s-8numa-gpu.xml", 2, 8, 16, 48, 96, 1, 8},
	{"amd-epyc7402-2s-2numa-gpu.xml", 2, 2, 16, 48, 96, 1, 2},
	{"amd-epyc9654-2s-384cpu.xml", 2, 1, 24, 192, 384, 1, 1},
	{"arm-gb10-1s-20core-biglittle.xml", 1, 1, 2, 20, 20, 5, 1},
	{"arm-kunpeng916-2s-4numa-128core.xml", 2, 4, 4, 128, 128, 1, 4},
	{"intel-24s-24numa-384cpu.xml", 24, 24, 24, 192, 384, 1, 24},
	{"intel-e52680v3-2s-offline-asymmetric.xml", 2, 1, 2, 17, 17, 1, 1},
	{"intel-e74870-4s-4numa-nosmt.xml", 4, 4, 4, 40, 40, 1, 4},
	{"intel-i7-1370p-1s-hybrid.xml", 1, 1, 1, 14, 20, 2, 1},
	{"intel-knl-snc4-8numa-smt4.xml", 1, 8, 4, 16, 64, 1, 4},
	{"intel-silver4108-2s-32cpu-smt.xml", 2, 2, 2, 16, 32, 1, 2},
	{"intel-xeon6230-2s-4numa-pmem.xml", 2, 4, 2, 40, 80, 1, 4},
};

static void test_recorded(void **state)
{
	const char *dir = getenv("NEAP_TOPOLOGIES");

	(void)state;
	dir = dir ? dir : "../shared/topologies";
	if (access(dir, R_OK) < 0) {
		print_message("# SKIP recorded machines: no %s\n", dir);
		skip();
	}
	for (size_t i = 0; i < NEAP_ARRAY_LEN(machines); i++) {
		struct neap_topology *t;
		struct neap_error err;
		struct neap_buf out;
		char path[1024];
		int near = 0;

		snprintf(path, sizeof(path), "%s/%s", dir, machines[i].file);
		if (neap_topology_load_xml(path, &t, &err) < 0)
			fail_msg("%s", err.msg);
		check_arrays(machines[i].file, t);
		for (int n = 0; n < t->node_count; n++)
			near += t->nodes[n].is_near;
		if (t->socket_count != machines[i].sockets ||
		    t->node_count != machines[i].nodes ||
		    t->l3_count != machines[i].l3s ||
		    t->core_count != machines[i].cores ||
		    t->cpu_count != machines[i].cpus ||
		    t->kind_count != machines[i].kinds || near != machines[i].near)
			fail_msg(
				"%s: %d sockets %d nodes %d L3 %d cores %d CPUs %d kinds %d near",
				machines[i].file, t->socket_count, t->node_count,
				t->l3_count, t->core_count, t->cpu_count, t->kind_count,
				near);
		neap_buf_init(&out, NEAP_BUF_REPLY);
		neap_topology_draw(t, NULL, &out);
		if (neap_buf_failed(&out) || widest_line(out.data) > 100)
			fail_msg("%s: %d columns", machines[i].file,
				 widest_line(out.data));
		neap_buf_done(&out);
		neap_topology_unref(t);
	}
}

/* Fails the 1st, 2nd, ... allocation until all goes well. */
static void test_torture(void **state)
{
	struct neap_error err;
	int r = -1;

	(void)state;
	for (uint64_t n = 1; r < 0; n++) {
		struct neap_topology *t = NULL;
		struct neap_buf out;

		assert_true(n < 1000);
		neap_mem_fail_at(n);
		r = neap_topology_load_xml("t/topologies/uneven-cores.xml", &t, &err);
		if (r == 0) {
			neap_buf_init(&out, NEAP_BUF_REPLY);
			neap_topology_draw(t, NULL, &out);
			r = neap_buf_failed(&out) ? -1 : 0;
			neap_buf_done(&out);
		} else {
			assert_int_equal(r, -NEAP_ENOMEM);
		}
		neap_mem_fail_at(0);
		neap_topology_unref(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),       cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_environment), cmocka_unit_test(test_machine),
		cmocka_unit_test(test_recorded),    cmocka_unit_test(test_torture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
