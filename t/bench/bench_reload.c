/* SPDX-License-Identifier: Apache-2.0
 *
 * P12: CPU time of a policy's way from its text to being in service, without examples,
 * replay and disk: bench_reload FILE. Prints "limit_usec<TAB>ours_usec<TAB>lines". The
 * limit is what no reload can do without: a new state with its sandbox, compile, run,
 * close. Ours is the judge, the swap in the registry, and the end of the version before.
 * Both alternate; medians of ROUNDS, each of RELOADS, as CPU time of this thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/policy/judge.h"
#include "engine/base/mem.h"
#include "lua/run/registry.h"

#define ROUNDS  11
#define RELOADS 100

static double cpu_usec(void)
{
	struct timespec ts = {0};

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void die(const char *what)
{
	(void)fprintf(stderr, "bench_reload: %s\n", what);
	exit(1);
}

static char *read_file(const char *path, size_t *ret_len)
{
	char *text = neap_alloc(NEAP_UPLOAD_BYTES + 1);
	FILE *file = fopen(path, "r");

	if (file == NULL || text == NULL)
		die("cannot read the file");
	*ret_len = fread(text, 1, NEAP_UPLOAD_BYTES, file);
	(void)fclose(file);
	return text;
}

static void run_limit(const char *text, size_t len)
{
	struct neap_vm *vm = NULL;
	struct neap_error err = {0};

	if (neap_vm_new(0, &vm, &err) < 0 || neap_vm_load(vm, text, len, "p", &err) < 0 ||
	    neap_vm_call(vm, 0, 1, 1000000, &err) < 0)
		die(err.msg);
	neap_vm_free(vm);
}

static void run_ours(struct neap_registry *registry, const char *text, size_t len)
{
	const struct neap_judge_input input = {
		.newer = {.text = text, .len = len, .origin = "p.lua"},
		.kind = "qos",
		.has_examples_off = true,
	};
	struct neap_judgement verdict;
	struct neap_error err = {0};

	if (neap_judge(&input, &verdict, &err) < 0 ||
	    neap_registry_put_take(registry, neap_steal(verdict.policy), 0,
				   NEAP_POLICY_PROBATION, &err) < 0)
		die(err.msg);
	neap_judgement_done(&verdict);
}

int main(int argc, char **argv)
{
	struct neap_registry *registry = neap_registry_new();
	double limit[ROUNDS], ours[ROUNDS];
	int round, i, lines = 0;
	size_t len, at;
	char *text;

	if (argc != 2 || registry == NULL)
		die("usage: bench_reload FILE");
	text = read_file(argv[1], &len);
	for (at = 0; at < len; at++)
		lines += text[at] == '\n';
	run_limit(text, len);
	run_ours(registry, text, len);
	for (round = 0; round < ROUNDS; round++) {
		double start = cpu_usec();

		for (i = 0; i < RELOADS; i++)
			run_limit(text, len);
		limit[round] = (cpu_usec() - start) / RELOADS;
		start = cpu_usec();
		for (i = 0; i < RELOADS; i++)
			run_ours(registry, text, len);
		ours[round] = (cpu_usec() - start) / RELOADS;
	}
	qsort(limit, ROUNDS, sizeof(*limit), compare_doubles);
	qsort(ours, ROUNDS, sizeof(*ours), compare_doubles);
	(void)printf("%.1f\t%.1f\t%d\n", limit[ROUNDS / 2], ours[ROUNDS / 2], lines);
	neap_registry_free(registry);
	free(text);
	return 0;
}
