/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts hwloc's tree to flat arrays. PUs are sorted by OS number; cores, caches and
 * sockets are numbered by first appearance. Loading takes 1 ms live, and 2 ms from the
 * XML of a machine with 384 CPUs.
 *
 * Environment variables (HWLOC_XMLFILE, HWLOC_SYNTHETIC, HWLOC_FSROOT, HWLOC_COMPONENTS
 * and a dozen more) can replace or alter what hwloc finds. A daemon must not see another
 * machine because of a leftover variable, so all HWLOC_* are removed from the environment
 * during a load and restored afterwards. That is unsafe beside threads that read the
 * environment: load topologies before threads start. */
#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "hw/topology.h"

#define ENV_MAX      32
#define XML_SIZE_MAX (64L * 1024 * 1024)

extern char **environ;

struct saved_env {
	char *text[ENV_MAX]; /* "NAME=value" */
	int count;
};

enum source { FROM_MACHINE, FROM_ROOT, FROM_XML, FROM_SYNTHETIC };

/* Memory beside a node's ordinary one, slower to be first choice with each row. */
static const char *const memory_tiers[] = {"DRAM", "MCDRAM", "HBM", "SPM",
					   "CXL",  "NVDIMM", "NVM", "GPUMemory"};

static const char *find_hwloc_variable(void)
{
	for (char **at = environ; at && *at; at++) {
		if (!strncmp(*at, "HWLOC_", 6))
			return *at;
	}
	return NULL;
}

static int env_take(struct saved_env *saved, struct neap_error *err)
{
	const char *found;

	saved->count = 0;
	for (found = find_hwloc_variable(); found; found = find_hwloc_variable()) {
		neap_auto_free char *name = neap_strndup(found, strcspn(found, "="));
		char *text = neap_strdup(found);

		if (!name || !text || saved->count == ENV_MAX) {
			free(text);
			return saved->count == ENV_MAX
				       ? neap_error_set(
						 err, NEAP_EINVAL,
						 "more than %d HWLOC_ variables are set",
						 ENV_MAX)
				       : neap_error_nomem(err);
		}
		saved->text[saved->count++] = text;
		if (unsetenv(name) < 0)
			return neap_error_sys(err, "unset %s", name);
	}
	/* Plugins are for GPUs, PCI and libxml2: nothing that neap asks for, some
	 * milliseconds of every start, and more code in a daemon than it should carry. */
	if (setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1) < 0)
		return neap_error_sys(err, "set HWLOC_PLUGINS_PATH");
	return 0;
}

static void env_put_back(struct saved_env *saved)
{
	static const char *const own[] = {"HWLOC_FSROOT", "HWLOC_COMPONENTS",
					  "HWLOC_LIBXML_IMPORT", "HWLOC_PLUGINS_PATH"};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(own); i++)
		(void)unsetenv(own[i]); /* the names are valid, nothing else can fail */
	for (int i = 0; i < saved->count; i++) {
		char *equals = strchr(saved->text[i], '=');

		if (equals) {
			*equals = '\0';
			(void)setenv(saved->text[i], equals + 1,
				     1); /* lost without memory */
		}
		free(saved->text[i]);
	}
}

/* hwloc returns EINVAL for everything; find out what is really wrong with the file. */
static int check_xml(const char *file, struct neap_error *err)
{
	neap_auto_fd int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char head[4096], tail[256];
	const char *at;
	struct stat st;
	ssize_t n, tail_len;
	off_t tail_at;

	if (fd < 0)
		return neap_error_sys(err, "%s", file);
	if (fstat(fd, &st) < 0)
		return neap_error_sys(err, "%s", file);
	if (!S_ISREG(st.st_mode))
		return neap_error_set(err, NEAP_EINVAL, "%s: not a plain file", file);
	if (st.st_size > XML_SIZE_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "%s: larger than %ld MiB",
				      file, XML_SIZE_MAX / (1024 * 1024));
	n = read(fd, head, sizeof(head) - 1);
	if (n < 0)
		return neap_error_sys(err, "%s", file);
	head[n] = '\0';

	/* hwloc leaks what it has read of half a file, so do not start. */
	tail_at = st.st_size > (off_t)sizeof(tail) ? st.st_size - (off_t)sizeof(tail) + 1
						   : 0;
	tail_len = pread(fd, tail, sizeof(tail) - 1, tail_at);
	if (tail_len < 0)
		return neap_error_sys(err, "%s", file);
	tail[tail_len] = '\0';

	at = strstr(head, "<topology");
	if (!at)
		return neap_error_set(
			err, NEAP_EINVAL,
			"%s: not a topology: make one with lstopo --of xml FILE", file);
	if (!strncmp(at, "<topology version=\"", 19) && at[19] >= '3' && at[19] <= '9')
		return neap_error_set(
			err, NEAP_EUNSUPPORTED,
			"%s: made by a newer hwloc: export with lstopo --of xml "
			"--export-xml-flags v2",
			file);
	if (!strstr(tail, "</topology>"))
		return neap_error_set(err, NEAP_EINVAL,
				      "%s: cut short or not hwloc's own format", file);
	return 0;
}

static int set_source(hwloc_topology_t tree, enum source source, const char *text,
		      struct neap_error *err)
{
	int r;

	switch (source) {
	case FROM_MACHINE:
		return 0;
	case FROM_ROOT:
		/* hwloc 2 has no call for it. */
		if (setenv("HWLOC_FSROOT", text, 1) < 0 ||
		    setenv("HWLOC_COMPONENTS", "linux,stop", 1) < 0)
			return neap_error_sys(err, "set HWLOC_FSROOT");
		return 0;
	case FROM_XML:
		r = check_xml(text, err);
		if (r < 0)
			return r;
		/* The built-in reader knows no entities, so a file cannot blow up. */
		if (setenv("HWLOC_LIBXML_IMPORT", "0", 1) < 0)
			return neap_error_sys(err, "set HWLOC_LIBXML_IMPORT");
		if (hwloc_topology_set_xml(tree, text) < 0)
			return neap_error_set(err, NEAP_EINVAL,
					      "%s: cut short or not hwloc's own format",
					      text);
		return 0;
	case FROM_SYNTHETIC:
		if (hwloc_topology_set_synthetic(tree, text) < 0)
			return neap_error_set(
				err, NEAP_EINVAL,
				"'%.120s': no synthetic topology; one is \"pack:2 "
				"[numa] l3:1 core:4 pu:2\", with equal counts in "
				"every branch",
				text);
		return 0;
	}
	return neap_error_set(err, NEAP_EINTERNAL, "topology source %d", source);
}

static int compare_pu(const void *a, const void *b)
{
	const hwloc_obj_t *x = a, *y = b;

	return (*x)->os_index < (*y)->os_index ? -1 : (*x)->os_index > (*y)->os_index;
}

/* The index of obj in seen, added at its end when new. */
static int index_of(hwloc_obj_t obj, hwloc_obj_t *seen, int *count)
{
	for (int i = *count - 1; i >= 0; i--) {
		if (seen[i] == obj)
			return i;
	}
	seen[*count] = obj;
	return (*count)++;
}

static int os_number(hwloc_obj_t obj, int otherwise)
{
	if (!obj || obj->os_index == HWLOC_UNKNOWN_INDEX || obj->os_index > INT32_MAX)
		return otherwise;
	return (int)obj->os_index;
}

static int memory_tier(hwloc_obj_t node)
{
	const char *dax = hwloc_obj_get_info_by_name(node, "DAXType");
	const char *type = node->subtype ? node->subtype : dax;

	for (size_t i = 0; type && i < NEAP_ARRAY_LEN(memory_tiers); i++) {
		if (!strcasecmp(type, memory_tiers[i]))
			return (int)i;
	}
	return 0;
}

/* Several nodes may hold one CPU. The nearest has the fewest CPUs; beside each other,
 * ordinary memory goes before fast or persistent memory, then the lower number, as Linux
 * gives DRAM first. */
static bool is_nearer(hwloc_obj_t a, const struct neap_numa *x, hwloc_obj_t b,
		      const struct neap_numa *y)
{
	int a_count = neap_cpuset_count(&x->cpus), b_count = neap_cpuset_count(&y->cpus);

	if (a_count != b_count)
		return a_count < b_count;
	if (memory_tier(a) != memory_tier(b))
		return memory_tier(a) < memory_tier(b);
	return x->os_node < y->os_node;
}

static void fill_nodes(struct neap_topology *t, hwloc_obj_t *objects, int count)
{
	t->node_count = count;
	for (int i = 0; i < count; i++) {
		struct neap_numa *node = &t->nodes[i];

		node->os_node = os_number(objects[i], i);
		node->memory_bytes =
			objects[i]->attr->numanode.local_memory > INT64_MAX
				? 0
				: (int64_t)objects[i]->attr->numanode.local_memory;
		/* From our CPUs, not from hwloc's bitmap: that one may be endless. */
		for (int c = 0; c < t->cpu_count; c++) {
			int os_cpu = t->cpus[c].os_cpu;

			if (hwloc_bitmap_isset(objects[i]->cpuset, (unsigned)os_cpu))
				(void)neap_cpuset_add(&node->cpus,
						      os_cpu); /* checked before */
		}
	}
	for (int c = 0; c < t->cpu_count; c++) {
		struct neap_cpu *cpu = &t->cpus[c];

		cpu->node = -1;
		for (int i = 0; i < count; i++) {
			if (neap_cpuset_has(&t->nodes[i].cpus, cpu->os_cpu) &&
			    (cpu->node < 0 ||
			     is_nearer(objects[i], &t->nodes[i], objects[cpu->node],
				       &t->nodes[cpu->node])))
				cpu->node = i;
		}
		if (cpu->node >= 0)
			t->nodes[cpu->node].is_near = true;
	}
}

/* hwloc sorts kinds by rising efficiency (that means performance); -1: unknown. */
static void fill_kinds(struct neap_topology *t, hwloc_topology_t tree)
{
	int count = hwloc_cpukinds_get_nr(tree, 0);
	hwloc_bitmap_t set = hwloc_bitmap_alloc();

	t->kind_count = 1;
	for (int kind = 0; set && kind < count && count > 1; kind++) {
		int efficiency = -1;

		if (hwloc_cpukinds_get_info(tree, (unsigned)kind, set, &efficiency, NULL,
					    NULL, 0) < 0 ||
		    efficiency < 0)
			break;
		t->kind_count = count;
		for (int c = 0; c < t->cpu_count; c++) {
			if (hwloc_bitmap_isset(set, (unsigned)t->cpus[c].os_cpu))
				t->cpus[c].kind = kind;
		}
	}
	hwloc_bitmap_free(set);
}

static void fill_model(struct neap_topology *t, hwloc_topology_t tree)
{
	hwloc_obj_t package = hwloc_get_obj_by_type(tree, HWLOC_OBJ_PACKAGE, 0);
	const char *model =
		package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;

	if (!model)
		model = hwloc_obj_get_info_by_name(hwloc_get_root_obj(tree), "CPUModel");
	(void)neap_strcopy(t->model, sizeof(t->model),
			   model ? model : ""); /* a cut name will do */
	/* AMD pads it with blanks. */
	for (size_t len = strlen(t->model); len > 0 && t->model[len - 1] == ' '; len--)
		t->model[len - 1] = '\0';
	/* It goes to terminals and into JSON, and a file can say anything. */
	for (char *at = t->model; *at; at++) {
		if (*at < 0x20 || *at > 0x7e)
			*at = '?';
	}
}

/* Firmware may give several packages the same number, starting again in each NUMA node.
 * Such numbers identify nothing, so packages are then numbered consecutively. */
static void tell_sockets_apart(struct neap_topology *t)
{
	bool is_repeated = false;

	for (int i = 0; i < t->socket_count; i++)
		for (int k = 0; k < i; k++)
			is_repeated |= t->sockets[i].os_socket == t->sockets[k].os_socket;
	for (int i = 0; is_repeated && i < t->socket_count; i++)
		t->sockets[i].os_socket = i;
}

/* One row per PU, in rising OS number, and what it sits in. scratch has room for every
 * object. */
static int fill_cpus(struct neap_topology *t, hwloc_topology_t tree, hwloc_obj_t *pus,
		     int count, hwloc_obj_t *scratch, struct neap_error *err)
{
	hwloc_obj_t *cores = scratch, *l3s = cores + count, *sockets = l3s + count;

	for (int c = 0; c < count; c++) {
		hwloc_obj_t pu = pus[c];
		hwloc_obj_t core =
			hwloc_get_ancestor_obj_by_type(tree, HWLOC_OBJ_CORE, pu);
		hwloc_obj_t l3 =
			hwloc_get_ancestor_obj_by_type(tree, HWLOC_OBJ_L3CACHE, pu);
		hwloc_obj_t socket =
			hwloc_get_ancestor_obj_by_type(tree, HWLOC_OBJ_PACKAGE, pu);
		struct neap_cpu *cpu = &t->cpus[c];

		if (pu->os_index >= NEAP_CPU_MAX)
			return neap_error_set(err, NEAP_ETOOLARGE,
					      "CPU number %u: above %d", pu->os_index,
					      NEAP_CPU_MAX - 1);
		if (c > 0 && pu->os_index == pus[c - 1]->os_index)
			return neap_error_set(err, NEAP_EINVAL,
					      "CPU number %u: there twice", pu->os_index);
		cpu->os_cpu = (int)pu->os_index;
		/* Without core objects every CPU is a core; without packages all are one
		 * socket. */
		cpu->core = index_of(core ? core : pu, cores, &t->core_count);
		cpu->socket = index_of(socket, sockets, &t->socket_count);
		cpu->l3 = l3 ? index_of(l3, l3s, &t->l3_count) : -1;

		cpu->thread = neap_cpuset_count(&t->cores[cpu->core].cpus);
		t->cores[cpu->core].os_core = os_number(core, cpu->core);
		t->cores[cpu->core].socket = cpu->socket;
		t->sockets[cpu->socket].os_socket = os_number(socket, cpu->socket);
		(void)neap_cpuset_add(&t->online, cpu->os_cpu); /* number checked above */
		(void)neap_cpuset_add(&t->cores[cpu->core].cpus, cpu->os_cpu);
		(void)neap_cpuset_add(&t->sockets[cpu->socket].cpus, cpu->os_cpu);
		if (l3) {
			(void)neap_cpuset_add(&t->l3s[cpu->l3].cpus, cpu->os_cpu);
			t->l3s[cpu->l3].size_bytes = (int64_t)l3->attr->cache.size;
		}
	}
	t->cpu_count = count;
	tell_sockets_apart(t);
	return 0;
}

/* -1 of hwloc: on several levels (uneven machines); none of these types is, but a file
 * may try. */
static int count_objects(hwloc_topology_t tree, hwloc_obj_type_t type)
{
	int count = hwloc_get_nbobjs_by_type(tree, type);

	return count < 0 ? NEAP_CPU_MAX : count;
}

static int flatten(hwloc_topology_t tree, struct neap_topology **ret,
		   struct neap_error *err)
{
	int cpus = hwloc_get_nbobjs_by_type(tree, HWLOC_OBJ_PU);
	int nodes = hwloc_get_nbobjs_by_type(tree, HWLOC_OBJ_NUMANODE);
	int cores = count_objects(tree, HWLOC_OBJ_CORE);
	int l3s = count_objects(tree, HWLOC_OBJ_L3CACHE);
	int sockets = count_objects(tree, HWLOC_OBJ_PACKAGE);
	neap_auto_free hwloc_obj_t *objects = NULL;
	hwloc_obj_t *pus, *numas;
	struct neap_topology *t;
	int r;

	if (cpus <= 0 || nodes < 0)
		return neap_error_set(err, NEAP_EINVAL, "no CPU in it");
	if (cpus > NEAP_CPU_MAX || nodes > NEAP_CPU_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "%d CPUs, %d NUMA nodes: above %d", cpus, nodes,
				      NEAP_CPU_MAX);
	/* PUs, nodes, then three lists of what has been seen. */
	objects = neap_alloc_array((size_t)cpus * 4 + (size_t)nodes, sizeof(hwloc_obj_t));
	if (!objects)
		return neap_error_nomem(err);
	pus = objects;
	numas = objects + cpus;
	for (int i = 0; i < cpus; i++) {
		pus[i] = hwloc_get_obj_by_type(tree, HWLOC_OBJ_PU, (unsigned)i);
		/* A CPU outside any core is one by itself. */
		if (!hwloc_get_ancestor_obj_by_type(tree, HWLOC_OBJ_CORE, pus[i]))
			cores++;
	}
	for (int i = 0; i < nodes; i++)
		numas[i] = hwloc_get_obj_by_type(tree, HWLOC_OBJ_NUMANODE, (unsigned)i);
	qsort(pus, (size_t)cpus, sizeof(*pus), compare_pu);
	qsort(numas, (size_t)nodes, sizeof(*numas), compare_pu);

	/* One socket more, for CPUs outside any package. */
	t = neap_topology_new(cpus, cores, l3s, nodes, sockets + 1);
	if (!t)
		return neap_error_nomem(err);
	t->cpu_count = t->core_count = t->l3_count = t->node_count = t->socket_count = 0;
	r = fill_cpus(t, tree, pus, cpus, numas + nodes, err);
	if (r < 0) {
		neap_topology_unref(t);
		return r;
	}
	fill_nodes(t, numas, nodes);
	fill_kinds(t, tree);
	fill_model(t, tree);
	*ret = t;
	return 0;
}

static int load_tree(enum source source, const char *text, struct neap_topology **ret,
		     struct neap_error *err)
{
	hwloc_topology_t tree;
	int r;

	if (hwloc_topology_init(&tree) < 0)
		return neap_error_nomem(err);
	r = set_source(tree, source, text, err);
	/* Else a daemon in a small cpuset would take that for the machine. */
	if (r == 0 &&
	    hwloc_topology_set_flags(tree, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) < 0)
		r = neap_error_sys(err, "hwloc flags");
	if (r == 0 && hwloc_topology_load(tree) < 0)
		r = source == FROM_XML
			    ? neap_error_set(err, NEAP_EINVAL,
					     "%s: cut short or not hwloc's own format",
					     text)
			    : neap_error_sys(err, "hwloc cannot read the topology");
	if (r == 0) {
		r = flatten(tree, ret, err);
		if (r < 0 && source != FROM_MACHINE)
			r = neap_error_wrap(err, "%.120s", text);
	}
	hwloc_topology_destroy(tree);
	return r;
}

static int load(enum source source, const char *text, struct neap_topology **ret,
		struct neap_error *err)
{
	struct saved_env saved;
	int r = env_take(&saved, err);

	if (r == 0)
		r = load_tree(source, text, ret, err);
	env_put_back(&saved);
	return r;
}

int neap_topology_discover(struct neap_topology **ret, struct neap_error *err)
{
	return load(FROM_MACHINE, NULL, ret, err);
}

int neap_topology_discover_root(const char *sys_root, struct neap_topology **ret,
				struct neap_error *err)
{
	if (access(sys_root, X_OK) < 0)
		return neap_error_sys(err, "%s", sys_root);
	return load(FROM_ROOT, sys_root, ret, err);
}

int neap_topology_load_xml(const char *file, struct neap_topology **ret,
			   struct neap_error *err)
{
	return load(FROM_XML, file, ret, err);
}

/* Whether a text like "package:2 core:4 pu:2" or "2 4 2" describes more CPUs than
 * allowed. Checked before hwloc creates them, which takes it a minute and grows with the
 * square. Bracketed parts and the digits in a type's name do not count. */
static bool is_too_many(const char *text)
{
	long cpus = 1;

	for (const char *p = text; *p; p++) {
		bool is_start = p == text || p[-1] == ' ' || p[-1] == ':';
		long count;

		if (*p == '(' || *p == '[') {
			p += strcspn(p, *p == '(' ? ")" : "]");
			if (!*p)
				return false; /* hwloc will report what is wrong */
			continue;
		}
		if (!is_start || *p < '1' || *p > '9')
			continue;
		count = strtol(p, NULL, 10);
		if (count > NEAP_CPU_MAX / cpus)
			return true;
		cpus *= count;
	}
	return false;
}

int neap_topology_load_synthetic(const char *text, struct neap_topology **ret,
				 struct neap_error *err)
{
	if (is_too_many(text))
		return neap_error_set(err, NEAP_ETOOLARGE, "%.100s: more than %d CPUs",
				      text, NEAP_CPU_MAX);
	return load(FROM_SYNTHETIC, text, ret, err);
}
