/* SPDX-License-Identifier: Apache-2.0
 *
 * build/t/vectors [--area NAME]... [--policies DIR] PATH...
 *
 * Runs every case of the vector files named, or found below the folders named, and prints
 * TAP and last "N passed, N failed". Exit status 1 when one failed, 2 for wrong use. A
 * pair of area and operation, or an input, that the runner does not know is a failure:
 * nothing is passed over. */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/mem.h"
#include "t/vectors/vectors.h"

#define AREAS_MAX    32
#define FOLDERS_DEEP 8

struct runner {
	struct vector_context context;
	const char *areas[AREAS_MAX]; /* of --area; none: all */
	int area_count;
	int passed, failed;
};

static const struct vector_row *const tables[] = {
	vector_cpuset_rows,
	vector_conversion_rows,
	vector_path_rows,
	vector_order_rows,
	vector_suppress_rows,
	vector_cpu_rows,
	vector_load_rows,
	vector_numa_rows,
	vector_numa_node_rows,
	vector_policy_rows,
	vector_reserve_rows,
	vector_reservation_match_rows,
	vector_reservation_life_rows,
	vector_reservation_room_rows,
	vector_descheduler_rows,
	vector_migrate_rows,
	vector_migrate_job_rows,
};

/* What a case says of itself beside its inputs. */
static const char *const not_inputs[] = {"id",   "op",          "kind",   "origin",
					 "note", "description", "expect", "provenance"};

/* One line of TAP; text of files may hold anything. */
static void print_name(const char *area, const char *id)
{
	for (const char *c = area; *c != '\0'; c++)
		(void)putchar(*c < ' ' || *c == '#' ? '_' : *c);
	(void)putchar(':');
	for (const char *c = id; *c != '\0'; c++)
		(void)putchar(*c < ' ' || *c == '#' ? '_' : *c);
	(void)putchar('\n');
}

static void report(struct runner *runner, const char *area, const char *id,
		   const char *why)
{
	int number = runner->passed + runner->failed + 1;

	(void)printf("%sok %d - ", why == NULL ? "" : "not ", number);
	print_name(area, id);
	if (why == NULL) {
		runner->passed++;
		return;
	}
	runner->failed++;
	(void)fputs("# ", stdout);
	for (; *why != '\0'; why++)
		(void)putchar(*why == '\n' ? ' ' : *why);
	(void)putchar('\n');
}

static const struct vector_row *find_row(const char *area, const char *op)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(tables); i++)
		for (const struct vector_row *row = tables[i]; row->area != NULL; row++)
			if (strcmp(row->area, area) == 0 && strcmp(row->op, op) == 0)
				return row;
	return NULL;
}

static bool is_input(const char *key)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(not_inputs); i++)
		if (strcmp(not_inputs[i], key) == 0)
			return false;
	return strncmp(key, "want", 4) != 0;
}

/* Inputs lie in an object of their own, or beside everything else. A new reference. */
static json_t *inputs_of(const json_t *vector)
{
	static const char *const holders[] = {"given", "input"};
	json_t *inputs = json_object();
	const char *key, *holder = NULL;
	json_t *value;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(holders) && holder == NULL; i++)
		if (json_is_object(json_object_get(vector, holders[i])))
			holder = holders[i];
	json_object_foreach ((json_t *)vector, key, value) {
		int rc = 0;

		if (holder != NULL && strcmp(key, holder) == 0)
			rc = json_object_update(inputs, value);
		else if (is_input(key))
			rc = json_object_set(inputs, key, value);
		if (rc < 0) {
			json_decref(inputs);
			return NULL;
		}
	}
	return inputs;
}

/* "expect", or "want", or all fields that begin with "want". A new reference; NULL: none.
 */
static json_t *wanted_of(const json_t *vector)
{
	json_t *expect = json_object_get(vector, "expect"), *wanted, *value;
	const char *key;

	if (json_is_object(expect) || json_is_number(expect))
		return json_deep_copy(expect);
	wanted = json_object();
	json_object_foreach ((json_t *)vector, key, value) {
		if (strncmp(key, "want", 4) == 0 &&
		    json_object_set(wanted, key, value) < 0) {
			json_decref(wanted);
			return NULL;
		}
	}
	/* Alone, it is the whole answer. */
	expect = json_object_get(wanted, "want");
	if (json_is_object(expect) && json_object_size(wanted) == 1) {
		expect = json_deep_copy(expect);
		json_decref(wanted);
		return expect;
	}
	/* A sequence says at each step what is wanted. */
	expect = json_object_get(vector, "steps");
	if (json_object_size(wanted) == 0 && json_is_array(expect))
		(void)json_object_set_new(wanted, "steps", json_deep_copy(expect));
	if (json_object_size(wanted) > 0)
		return wanted;
	json_decref(wanted);
	return NULL;
}

/* The answer as it is compared: a failed operation and an empty answer have forms of
 * their own. */
static json_t *answer_of(struct runner *runner, const struct vector_row *row,
			 json_t *inputs, struct neap_error *err)
{
	json_t *answer = NULL;
	int rc = row->fn(&runner->context, inputs, &answer, err);

	if (rc == -NEAP_EINVAL || rc == -NEAP_ETOOLARGE)
		return json_pack("{s:b}", "error", 1);
	if (rc < 0)
		return NULL;
	if (answer == NULL || json_is_null(answer)) {
		json_decref(answer);
		return json_pack("{s:b}", "skip", 1);
	}
	return answer;
}

static bool check(struct runner *runner, const struct vector_row *row, json_t *inputs,
		  json_t *wanted, char *why, size_t size)
{
	struct neap_error err = {0};
	json_t *answer;
	bool same;

	answer = answer_of(runner, row, inputs, &err);
	if (answer == NULL) {
		(void)snprintf(why, size, "%s",
			       err.msg[0] != '\0' ? err.msg : "no memory");
		return false;
	}
	if (row->settle != NULL) {
		row->settle(inputs, answer);
		row->settle(inputs, wanted);
	}
	same = vector_matches(row, wanted, answer, why, size);
	if (!same && err.msg[0] != '\0') {
		size_t used = strlen(why);

		(void)snprintf(why + used, size - used, " (%s)", err.msg);
	}
	json_decref(answer);
	return same;
}

/* A topology of the file is named by the case: it takes the place of its name. */
static void settle_topology(json_t *inputs, const json_t *topologies)
{
	const char *name = vector_text(inputs, "topology");
	json_t *topology = json_object_get(topologies, name == NULL ? "" : name);

	/* Out of memory leaves the name, which is no topology. */
	if (topology != NULL)
		(void)json_object_set(inputs, "topology", topology);
}

static void run_case(struct runner *runner, const char *area, const json_t *topologies,
		     const json_t *vector)
{
	const char *id = vector_text(vector, "id");
	const char *op = vector_text(vector, "op"), *kind = vector_text(vector, "kind");
	const struct vector_row *row = NULL;
	json_t *inputs = inputs_of(vector), *wanted = wanted_of(vector);
	char why[1024] = "", unknown[256] = "";
	bool same = false;

	settle_topology(inputs, topologies);
	if (op != NULL || kind != NULL)
		row = find_row(area, op != NULL ? op : kind);
	if (id == NULL)
		(void)snprintf(why, sizeof(why), "a case without id");
	else if ((op == NULL) == (kind == NULL))
		(void)snprintf(why, sizeof(why), "not exactly one of op and kind");
	else if (row == NULL)
		(void)snprintf(why, sizeof(why), "no operation '%.80s' in area '%.80s'",
			       op != NULL ? op : kind, area);
	else if (wanted == NULL || inputs == NULL)
		(void)snprintf(why, sizeof(why), "nothing is wanted, or no memory");
	else if (!vector_keys_are_known(row->keys, inputs, unknown, sizeof(unknown)))
		(void)snprintf(why, sizeof(why), "unknown input '%s'", unknown);
	else {
		runner->context.area = area;
		runner->context.wanted = wanted;
		same = check(runner, row, inputs, wanted, why, sizeof(why));
	}
	report(runner, area, id == NULL ? "?" : id, same ? NULL : why);
	json_decref(inputs);
	json_decref(wanted);
}

static bool is_asked_for(const struct runner *runner, const char *area)
{
	for (int i = 0; i < runner->area_count; i++)
		if (strcmp(runner->areas[i], area) == 0)
			return true;
	return runner->area_count == 0;
}

static void run_file(struct runner *runner, const char *path)
{
	json_error_t at;
	json_t *root =
		json_load_file(path, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &at);
	const char *area = vector_text(root, "area");
	const json_t *cases = json_object_get(root, "cases");
	char why[512];

	if (root == NULL) {
		(void)snprintf(why, sizeof(why), "line %d: %s", at.line, at.text);
		report(runner, "file", path, why);
		return;
	}
	/* Other JSON lies beside the vectors and is passed over. */
	if (area != NULL && json_is_array(cases) && is_asked_for(runner, area))
		for (size_t i = 0; i < json_array_size(cases); i++)
			run_case(runner, area, json_object_get(root, "topologies"),
				 json_array_get(cases, i));
	json_decref(root);
}

static void run_path(struct runner *runner, const char *path, int deep);

static void run_folder(struct runner *runner, const char *path, int deep)
{
	struct dirent **entries = NULL;
	int count = scandir(path, &entries, NULL, alphasort);

	if (count < 0)
		report(runner, "folder", path, strerror(errno));
	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;
		neap_auto_free char *below = neap_asprintf("%s/%s", path, name);
		struct stat st;

		if (below == NULL)
			report(runner, "folder", path, "no memory");
		else if (name[0] != '.' && lstat(below, &st) == 0) {
			const char *dot = strrchr(name, '.');

			if (S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && dot != NULL &&
						    strcmp(dot, ".json") == 0))
				run_path(runner, below, deep + 1);
		}
		free(entries[i]);
	}
	free(entries);
}

static void run_path(struct runner *runner, const char *path, int deep)
{
	struct stat st;

	if (stat(path, &st) < 0)
		report(runner, "file", path, strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		run_file(runner, path);
	else if (deep > FOLDERS_DEEP)
		report(runner, "folder", path, "too deep");
	else
		run_folder(runner, path, deep);
}

static int usage(const char *program)
{
	(void)fprintf(
		stderr,
		"use: %s [--area NAME]... [--policies DIR] PATH...\n"
		"PATH is a vector file or a folder of them; DIR is where the shipped\n"
		"policies lie (policies).\n",
		program);
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"area", required_argument, NULL, 'a'},
		{"policies", required_argument, NULL, 'p'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct runner runner = {.context.policies = "policies"};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'a' && runner.area_count < AREAS_MAX)
			runner.areas[runner.area_count++] = optarg;
		else if (option == 'p')
			runner.context.policies = optarg;
		else
			return usage(argv[0]);
	}
	if (optind == argc)
		return usage(argv[0]);
	for (int i = optind; i < argc; i++)
		run_path(&runner, argv[i], 0);
	/* A name of an area that is nowhere would otherwise look like success. */
	if (runner.area_count > 0 && runner.passed + runner.failed == 0)
		report(&runner, runner.areas[0], "*", "no case of this area was found");
	vector_policies_free(&runner.context);
	(void)printf("1..%d\n%d passed, %d failed\n", runner.passed + runner.failed,
		     runner.passed, runner.failed);
	return runner.failed > 0 || fflush(stdout) != 0;
}
