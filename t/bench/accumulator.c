/* SPDX-License-Identifier: Apache-2.0
 *
 * How long choosing CPUs takes (P1, P2): reads cases in the form of the vectors of area
 * cpu-accumulator, and times one call each, from the sets of a node to the set of CPUs
 * that are given. Prints {"rows":[{"case","ns_per_op","allocs_per_op","cpus"}]}. An
 * answer that is not the wanted one ends it with status 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/mem.h"
#include "t/vectors/cpu_case.h"

/* Of each case the least of so many rounds, each of about so long, in CPU time: others
 * may be at work. */
#define ROUNDS     40
#define ROUND_USEC 1000

static const char help[] = "usage: accumulator FILE\n"
			   "  FILE    cases with their topologies\n";

static void one(const struct cpu_case *cpus, struct neap_cpuset *set)
{
	uint64_t slots[NEAP_CPU_WORDS_MAX];

	(void)neap_accumulator_take(&cpus->take, slots, NULL);
	neap_cpu_layout_from_slots(cpus->layout, slots, set);
	/* The answer is used. */
	__asm__ volatile("" : : "r"(set) : "memory");
}

static double round_ns(const struct cpu_case *cpus, int64_t count)
{
	struct timespec from, to;
	struct neap_cpuset set;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	for (int64_t i = 0; i < count; i++)
		one(cpus, &set);
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	return ((double)(to.tv_sec - from.tv_sec) * 1e9 +
		(double)(to.tv_nsec - from.tv_nsec)) /
	       (double)count;
}

static double measure(const struct cpu_case *cpus)
{
	double best = round_ns(cpus, 500);
	int64_t count = (int64_t)(ROUND_USEC * 1000 / (best > 1 ? best : 1)) + 1;

	for (int i = 0; i < ROUNDS; i++) {
		double ns = round_ns(cpus, count);

		best = ns < best || i == 0 ? ns : best;
	}
	return best;
}

static const char *text(const json_t *object, const char *name)
{
	const char *value = json_string_value(json_object_get(object, name));

	return value ? value : "";
}

/* False when the answer is wrong; it is told. */
static bool run(const json_t *vector, const json_t *topologies, json_t *rows)
{
	json_t *given = json_copy((json_t *)(uintptr_t)vector);
	char list[NEAP_CPUSET_TEXT];
	struct cpu_case cpus;
	struct neap_cpuset set;
	struct neap_error err;
	uint64_t before;
	bool is_right;

	(void)json_object_set(given, "topology",
			      json_object_get(topologies, text(vector, "topology")));
	if (cpu_case_parse(given, &cpus, &err) < 0) {
		(void)fprintf(stderr, "%s: %s\n", text(vector, "id"), err.msg);
		cpu_case_done(&cpus);
		json_decref(given);
		return false;
	}
	before = neap_mem_count();
	one(&cpus, &set);
	before = neap_mem_count() - before;
	(void)neap_cpuset_format(&set, list, sizeof(list));
	is_right = strcmp(list, text(vector, "want")) == 0;
	if (!is_right)
		(void)fprintf(stderr, "%s: %s, not %s\n", text(vector, "id"), list,
			      text(vector, "want"));
	else
		(void)json_array_append_new(rows,
					    json_pack("{s:s, s:f, s:I, s:s}", "case",
						      text(vector, "id"), "ns_per_op",
						      measure(&cpus), "allocs_per_op",
						      (json_int_t)before, "cpus", list));
	cpu_case_done(&cpus);
	json_decref(given);
	return is_right;
}

int main(int argc, char **argv)
{
	json_t *root, *rows = json_array(), *answer;
	const json_t *cases;
	json_error_t at;
	bool is_right = true;
	int failed;

	if (argc != 2) {
		(void)fputs(help, stderr);
		return 2;
	}
	root = json_load_file(argv[1], 0, &at);
	if (!root) {
		(void)fprintf(stderr, "%s: line %d: %s\n", argv[1], at.line, at.text);
		return 2;
	}
	cases = json_object_get(root, "cases");
	for (size_t i = 0; i < json_array_size(cases); i++)
		is_right = run(json_array_get(cases, i),
			       json_object_get(root, "topologies"), rows) &&
			   is_right;
	answer = json_pack("{s:o}", "rows", rows);
	failed = json_dumpf(answer, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6));
	(void)putchar('\n');
	json_decref(answer);
	json_decref(root);
	return !is_right || failed || fflush(stdout) != 0;
}
