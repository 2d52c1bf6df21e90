/* SPDX-License-Identifier: Apache-2.0
 *
 * build/t/demo/strategies FILE...: prints doc/strategies.md, made of what the shipped
 * strategies say of themselves: the comment at their head, parameters, examples. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/json/json.h"
#include "lua/deschedule/deschedule.h"

#define WIDTH 120

static const char head[] =
	"<!-- Made by build/t/demo/strategies of policies/deschedule; make doc/strategies.md "
	"-->\n"
	"# Strategies of the descheduler\n\n"
	"Each strategy is one Lua file in `policies/deschedule`, and is used under its name "
	"in a configuration, with these\narguments. Each can be copied, changed and "
	"uploaded, see [policies.md](policies.md). What a strategy asks for is answered\nby "
	"the rules that keep pods: those of the evictor below, disruption budgets, "
	"limits, and whether there is a place.\n"
	"`neapctl policy put --dry-run` plays a changed one in the latest rounds, and "
	"tells which pods would have left or stayed\notherwise.\n";

static const char evictor[] =
	"\n## DefaultEvictor\n\n"
	"The rules are not Lua: they are asked for every pod, before any policy of kind "
	"`evict`. The first rule that\nkeeps a pod is told.\n\n"
	"| argument | type | default | meaning |\n|---|---|---|---|\n"
	"| `nodeSelector` | string | all | the nodes that `nodeFit` looks at |\n"
	"| `labelSelector` | selector | all | only these pods may leave |\n"
	"| `namespaceLabelSelector` | selector | all | only pods of namespaces with these "
	"labels may leave |\n"
	"| `priorityThreshold` | `value` or `name` | 2000000000 | pods of this priority and "
	"above stay |\n"
	"| `nodeFit` | boolean | false | a pod stays unless it fits another ready node |\n"
	"| `minReplicas` | integer | 0 | pods of owners with fewer pods stay; below 2 it is "
	"off |\n"
	"| `minPodAge` | duration | none | pods that began later stay |\n"
	"| `noEvictionPolicy` | Preferred, Mandatory | | Mandatory: pods with the "
	"annotation `descheduler.alpha.kubernetes.io/prefer-no-eviction` stay |\n"
	"| `podProtections.defaultDisabled` | list | none | of PodsWithLocalStorage, "
	"SystemCriticalPods, FailedBarePods, DaemonSetPods: these may leave |\n"
	"| `podProtections.extraEnabled` | list | none | of PodsWithPVC, PodsWithoutPDB, "
	"PodsWithResourceClaims: these stay, too |\n"
	"| `podProtections.config.PodsWithPVC.protectedStorageClasses[].name` | string | "
	"all | with PodsWithPVC: only claims of these classes keep a pod |\n"
	"| `evictLocalStoragePods`, `evictDaemonSetPods`, `evictSystemCriticalPods`, "
	"`evictFailedBarePods`, `ignorePvcPods`, `ignorePodsWithoutPDB` | boolean | false | "
	"older names of these; not together with `podProtections` |\n\n"
	"A pod with the annotation `descheduler.alpha.kubernetes.io/evict` may leave "
	"whatever the rules say, but for\n`nodeFit` and limits. Without it mirror pods, static pods and "
	"pods that terminate always stay.\n";

/* The comment at the head of the file, without its marks. */
static void print_comment(const char *text)
{
	bool is_in = false;
	size_t column = 0;

	for (const char *line = text, *next; line; line = next) {
		const char *end = strchr(line, '\n');

		next = end ? end + 1 : NULL;
		if (strncmp(line, "--- ", 4) != 0) {
			if (is_in)
				break;
			continue;
		}
		is_in = true;
		for (const char *word = line + 4; word < end;) {
			size_t len = strcspn(word, " \n");

			if (column && column + 1 + len > WIDTH) {
				(void)putchar('\n');
				column = 0;
			}
			(void)printf("%s%.*s", column ? " " : "", (int)len, word);
			column += len + (column ? 1 : 0);
			word += len;
			word += *word == ' ';
		}
	}
	(void)printf("\n");
}

static const char *type_of(const json_t *row, char *buf, size_t size)
{
	const char *type = neap_json_text(row, "type");
	const json_t *of = json_object_get(row, "of");

	if (strcmp(type, "enum") == 0)
		return "one of";
	if (!of)
		return type;
	(void)snprintf(buf, size, "%s of %s", type, neap_json_text(of, "type"));
	return buf;
}

static void print_values(const json_t *values)
{
	for (size_t i = 0; i < json_array_size(values); i++)
		(void)printf("%s `%s`", i ? "," : "",
			     json_string_value(json_array_get(values, i)));
}

static void print_params(const json_t *schema, const char *prefix);

static void print_param(const char *name, const json_t *row, const char *prefix)
{
	const json_t *of = json_object_get(row, "of");
	const json_t *fallback = json_object_get(row, "default");
	char *text = fallback ? neap_json_dump(fallback, JSON_COMPACT | JSON_ENCODE_ANY |
								 JSON_REAL_PRECISION(6))
			      : NULL;
	char type[64], below[256];

	(void)printf("| `%s%s` | %s", prefix, name, type_of(row, type, sizeof(type)));
	print_values(json_object_get(of ? of : row, "values"));
	(void)printf(" | %s%s%s | %s |\n", text ? "`" : "",
		     text                                             ? text
		     : json_is_true(json_object_get(row, "required")) ? "required"
								      : "",
		     text ? "`" : "", neap_json_text(row, "doc"));
	free(text);
	(void)snprintf(below, sizeof(below), "%s%s%s.", prefix, name, of ? "[]" : "");
	print_params(json_object_get(of ? of : row, "fields"), below);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void print_params(const json_t *schema, const char *prefix)
{
	const char *names[256], *name;
	size_t count = 0;
	json_t *row;

	json_object_foreach ((json_t *)(uintptr_t)schema, name, row)
		if (count < NEAP_ARRAY_LEN(names))
			names[count++] = name;
	qsort(names, count, sizeof(*names), compare_names);
	for (size_t i = 0; i < count; i++)
		print_param(names[i], json_object_get(schema, names[i]), prefix);
}

static void print_example(void *arg, const char *row, const struct neap_error *err)
{
	(void)err;
	(void)printf("%s%s", *(bool *)arg ? "; " : "Examples that it carries: ", row);
	*(bool *)arg = true;
}

static int print_policy(const char *file)
{
	struct neap_policy *policy = NULL;
	struct neap_error err;
	bool has_example = false;
	json_t *schema;

	if (neap_policy_load_file(file, &policy, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	(void)printf("\n## %s\n\n`%s`, %s.\n\n", neap_policy_plugin(policy), file,
		     neap_policy_point(policy) == NEAP_POINT_BALANCE ? "balance"
								     : "deschedule");
	print_comment(neap_policy_text(policy, NULL));
	(void)printf("\n| argument | type | default | meaning |\n|---|---|---|---|\n");
	schema = neap_policy_schema(policy);
	print_params(schema, "");
	json_decref(schema);
	(void)printf("\n");
	(void)neap_policy_run_examples(policy, print_example, &has_example, &err);
	(void)printf("%s", has_example ? ".\n" : "");
	neap_policy_free(policy);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0;

	neap_json_setup();
	(void)fputs(head, stdout);
	for (int i = 1; i < argc; i++)
		failed |= print_policy(argv[i]);
	(void)fputs(evictor, stdout);
	return failed || fflush(stdout) != 0;
}
