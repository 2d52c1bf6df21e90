/* SPDX-License-Identifier: Apache-2.0
 *
 * Area cpu-accumulator. */
#include "t/vectors/cpu_case.h"
#include "t/vectors/vectors.h"

static int answer(const struct cpu_case *cpus, json_t **ret, struct neap_error *err)
{
	uint64_t slots[NEAP_CPU_WORDS_MAX];
	char text[NEAP_CPUSET_TEXT];
	struct neap_cpuset set;
	struct neap_error why;

	/* Nothing is to be had of a machine that is not told. */
	if (!cpus->layout)
		return vector_answer_new(
			cpus->take.need > 0
				? json_pack(
					  "{s:s, s:s}", "want", "", "want_error",
					  "not enough cpus available to satisfy request")
				: json_pack("{s:s, s:n}", "want", "", "want_error"),
			ret, err);
	if (neap_accumulator_take(&cpus->take, slots, &why) < 0)
		return vector_answer_new(
			json_pack("{s:s, s:s}", "want", "", "want_error", why.msg), ret,
			err);
	neap_cpu_layout_from_slots(cpus->layout, slots, &set);
	if (neap_cpuset_count(&set) != (cpus->take.need > 0 ? cpus->take.need : 0))
		return vector_bad(err, "not as many as are needed");
	(void)neap_cpuset_format(&set, text, sizeof(text));
	return vector_answer_new(json_pack("{s:s, s:n}", "want", text, "want_error"), ret,
				 err);
}

static int take(struct vector_context *context, json_t *given, json_t **ret,
		struct neap_error *err)
{
	struct cpu_case cpus;
	int failed = cpu_case_parse(given, &cpus, err);

	(void)context;
	if (failed == 0)
		failed = answer(&cpus, ret, err);
	cpu_case_done(&cpus);
	/* Input of another form is the case's fault. */
	return failed < 0 ? vector_bad(err, "%s", err->msg) : 0;
}

static const char *const take_keys[] = {
	"topology",
	"topology.sockets",
	"topology.nodes_per_socket",
	"topology.cores_per_node",
	"topology.threads_per_core",
	"topology.numbering",
	"available",
	"preferred",
	"allocated",
	"allocated[].cpu",
	"allocated[].ref_count",
	"allocated[].exclusive_policy",
	"need",
	"max_ref_count",
	"bind_policy",
	"exclusive_policy",
	"numa_strategy",
	/* What the reference took, in files for the bench. */
	"koordinator_ns_per_op",
	"koordinator_allocs_per_op",
	NULL,
};
static const char *const want_fields[] = {"want", NULL};

const struct vector_row vector_cpu_rows[] = {
	{"cpu-accumulator", "take", take_keys, take, want_fields},
	{0},
};
