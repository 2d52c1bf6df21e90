/* SPDX-License-Identifier: Apache-2.0
 *
 * Area cpu-policy. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/decide/cpus.h"
#include "t/vectors/cpu_case.h"
#include "t/vectors/numa_rig.h"
#include "t/vectors/vectors.h"

#define KUBELET                                                                          \
	"kubelet_policy", "kubelet_policy.policy", "kubelet_policy.options",             \
		"kubelet_policy.options.*", "kubelet_policy.reservedCPUs"

static int64_t number(const json_t *given, const char *key)
{
	return json_integer_value(json_object_get(given, key));
}

static bool flag(const json_t *given, const char *key)
{
	return json_is_true(json_object_get(given, key));
}

static int answer_error(int rc, const struct neap_error *why, json_t **ret,
			struct neap_error *err)
{
	if (rc < 0 && rc != -NEAP_ENOFIT)
		return vector_bad(err, "%s", why->msg);
	return vector_answer_new(
		json_pack("{s:s?, s:s?}", "want_error", rc < 0 ? why->msg : NULL,
			  "want_code", rc < 0 ? "UnschedulableAndUnresolvable" : NULL),
		ret, err);
}

static int prefilter(struct vector_context *context, json_t *given, json_t **ret,
		     struct neap_error *err)
{
	const json_t *spec = json_object_get(given, "resource_spec");
	const json_t *priority_json = json_object_get(given, "priority");
	neap_auto_free char *text = json_is_object(spec) ? json_dumps(spec, 0) : NULL;
	const char *qos = vector_text(given, "qos");
	int32_t priority = (int32_t)json_integer_value(priority_json);
	struct neap_cpu_wish_from from = {
		.qos = neap_qos_parse(qos ? qos : ""),
		.resource_spec = text,
		.cpu_milli = number(given, "request_cpu_milli"),
		.default_bind = numa_rig_bind(vector_text(given, "default_bind_policy"))};
	struct neap_cpu_wish wish;
	struct neap_error why;
	int rc;

	(void)context;
	from.band = neap_band_of(NULL, json_is_integer(priority_json) ? &priority : NULL,
				 from.qos, NEAP_KUBE_BESTEFFORT);
	if (from.cpu_milli == 0)
		return vector_answer_new(json_null(), ret, err);
	rc = neap_cpu_wishes_make(&from, &from.default_bind, 1, &wish, &why);
	if (rc == -NEAP_ENOFIT)
		return vector_answer_new(json_pack("{s:s, s:s}", "error", why.msg, "code",
						   "UnschedulableAndUnresolvable"),
					 ret, err);
	if (rc < 0)
		return vector_bad(err, "%s", why.msg);
	return vector_answer_new(json_pack("{s:b, s:s, s:s, s:I}", "bind",
					   wish.is_binding, "required",
					   neap_cpu_bind_name(wish.required), "preferred",
					   neap_cpu_bind_name(wish.preferred), "cpus",
					   (json_int_t)(wish.cpu_milli / 1000)),
				 ret, err);
}

/* --- what a node says --- */

static void read_rule(const json_t *given, const char *bind, struct neap_cpu_rule *ret)
{
	const json_t *labels = json_object_get(given, "node_labels");

	neap_cpu_rule_make(
		bind ? bind : vector_text(labels, NEAP_KEY_NODE_BIND),
		vector_text(labels, NEAP_KEY_NODE_NUMA),
		neap_cpu_kubelet_is_full(json_object_get(given, "kubelet_policy")),
		NEAP_NUMA_ANY, ret);
}

static void read_wish(const json_t *given, struct neap_cpu_wish *ret)
{
	*ret = (struct neap_cpu_wish){
		.is_binding = flag(given, "request_cpu_bind"),
		.required = numa_rig_bind(vector_text(given, "required_bind_policy")),
		.preferred = numa_rig_bind(vector_text(given, "preferred_bind_policy")),
		.cpu_milli = number(given, "request_cpu_milli")};
}

static int effective(struct vector_context *context, json_t *given, json_t **ret,
		     struct neap_error *err)
{
	struct neap_cpu_wish wish = {
		.required = numa_rig_bind(vector_text(given, "required")),
		.preferred = numa_rig_bind(vector_text(given, "preferred"))};
	struct neap_cpu_rule rule;
	enum neap_cpu_bind bind;
	bool is_required;

	(void)context;
	read_rule(given, vector_text(given, "node_label"), &rule);
	bind = neap_cpu_effective(&wish, &rule, &is_required);
	return vector_answer_new(json_pack("{s:s, s:b}", "want", neap_cpu_bind_name(bind),
					   "want_required", is_required),
				 ret, err);
}

static int merge_policy(struct vector_context *context, json_t *given, json_t **ret,
			struct neap_error *err)
{
	const char *node = vector_text(given, "node"), *pod = vector_text(given, "pod");
	enum neap_numa_policy policy;
	struct neap_error why;
	int rc = neap_cpu_merge_numa(neap_numa_policy_parse(node ? node : ""),
				     neap_numa_policy_parse(pod ? pod : ""), &policy,
				     &why);

	(void)context;
	return vector_answer_new(json_pack("{s:s, s:s?}", "want",
					   neap_numa_policy_name(policy), "want_error",
					   rc < 0 ? why.msg : NULL),
				 ret, err);
}

static int write_back(struct vector_context *context, json_t *given, json_t **ret,
		      struct neap_error *err)
{
	struct neap_cpu_wish wish = {
		.is_binding = true,
		.required = numa_rig_bind(vector_text(given, "state_required")),
		.preferred = numa_rig_bind(vector_text(given, "state_preferred")),
		.cpu_milli = 4000};
	struct neap_cpu_choice choice;
	struct neap_cpu_rule rule;
	int rc;

	(void)context;
	read_rule(given, vector_text(given, "node_label"), &rule);
	rc = neap_cpu_choose(&wish, &rule, NULL, 2, &choice, err);
	if (rc < 0)
		return vector_bad(err, "%s", err->msg);
	return vector_answer_new(
		neap_cpu_spec_write(json_object_get(given, "resource_spec"), &choice),
		ret, err);
}

/* --- filter --- */

static void zones_of(struct numa_rig *rig, int64_t milli, const char *memory, int count)
{
	json_t *map = json_pack("{s:s?}", "memory", memory);
	struct neap_error err;

	for (int i = 0; i < count; i++) {
		rig->zones[i].node = i;
		(void)neap_amounts_set(&rig->zones[i].total, NEAP_RESOURCE_CPU, milli);
		if (memory)
			(void)neap_amounts_read(&rig->zones[i].total, map, rig->resources,
						&err);
	}
	json_decref(map);
	rig->spec.zone_count = (size_t)count;
}

/* The pod on the rig's node, as the filter or the score has it; what it comes to is in
 * the work. */
static int answer_on(struct numa_rig *rig, const struct neap_cpus_args *args,
		     const struct neap_cpu_wish *wish, struct neap_cpus *book,
		     enum neap_cpu_depth depth, struct neap_cpu_work *work,
		     struct neap_error *err)
{
	struct neap_pod pod = {.requests = rig->requests.of,
			       .request_count = rig->requests.count};

	book->numa = rig->node;
	neap_cpu_work_begin(work, args, &pod);
	work->wish = *wish;
	return neap_cpu_answer_by(work, book, &book->load, &pod, depth, err);
}

static double ratio_of(const json_t *given)
{
	const char *text =
		vector_text(json_object_get(given, "node_annotations"),
			    "node.koordinator.sh/resource-amplification-ratio");
	json_t *map = text ? json_loads(text, 0, NULL) : NULL;
	double ratio = map ? json_number_value(json_object_get(map, "cpu")) : 1;

	json_decref(map);
	return ratio;
}

static int filter_in(struct numa_rig *rig, const json_t *given, json_t **ret,
		     struct neap_error *err)
{
	struct neap_cpus book = {.load.ratio = ratio_of(given)};
	struct neap_cpus_args args;
	struct neap_cpu_work work = {0};
	struct neap_cpu_wish wish;
	struct neap_error why;
	int rc = cpu_case_topology(json_object_get(given, "topology"), &rig->topology,
				   err);

	if (rc < 0)
		return rc;
	rig->ratio = (struct neap_numa_ratio){NEAP_RESOURCE_CPU, book.load.ratio};
	rig->spec.ratios = &rig->ratio;
	rig->spec.ratio_count = 1;
	if (rig->topology) {
		zones_of(rig, rig->topology->cpu_count / rig->topology->node_count * 1000,
			 NULL, rig->topology->node_count);
		book.load.allocatable = neap_numa_amplify(
			rig->topology->cpu_count * INT64_C(1000), book.load.ratio);
		rc = numa_rig_node(rig, err);
	} else { /* how much there is is not told either */
		book.load.allocatable = INT64_MAX / 2;
	}
	if (rc < 0)
		return rc;
	read_wish(given, &wish);
	read_rule(given, NULL, &book.rule);
	(void)neap_amounts_set(&rig->requests, NEAP_RESOURCE_CPU, wish.cpu_milli);
	neap_cpus_args_init(&args);
	rc = answer_on(rig, &args, &wish, &book, NEAP_CPU_FILTER, &work, &why);
	return answer_error(rc, &why, ret, err);
}

static int filter(struct vector_context *context, json_t *given, json_t **ret,
		  struct neap_error *err)
{
	struct numa_rig *rig = calloc(1, sizeof(*rig));
	int rc = rig ? numa_rig_init(rig, err) : neap_error_nomem(err);

	(void)context;
	if (rc == 0)
		rc = filter_in(rig, given, ret, err);
	if (rig)
		numa_rig_done(rig);
	free(rig);
	return rc < 0 ? vector_bad(err, "%s", err->msg) : 0;
}

static int amplified_filter(struct vector_context *context, json_t *given, json_t **ret,
			    struct neap_error *err)
{
	double ratio =
		json_number_value(json_object_get(given, "cpu_amplification_ratio"));
	struct neap_cpu_load load = {.ratio = ratio,
				     .allocatable = neap_numa_amplify(
					     number(given, "node_raw_cpu_milli"), ratio),
				     .requested = number(given, "node_requested_milli"),
				     .bound = number(given, "node_cpuset_cpus") * 1000};
	struct neap_cpu_wish wish = {.is_binding = flag(given, "pod_binds"),
				     .cpu_milli = number(given, "pod_cpu_milli")};
	const struct neap_cpu_rule rule = {NEAP_BIND_DEFAULT, NEAP_NUMA_ANY};
	struct neap_cpu_choice choice;
	struct neap_error why;
	int rc = neap_cpu_choose(&wish, &rule, &load, 2, &choice, &why);

	(void)context;
	return answer_error(rc, &why, ret, err);
}

/* --- scores --- */

static int64_t bytes_of(const json_t *given)
{
	const char *text = vector_text(given, "memory");
	struct neap_resources *resources = neap_resources_new();
	struct neap_amounts amounts = {0};
	json_t *map = json_pack("{s:s?}", "memory", text);
	int64_t bytes = 0;

	if (text && resources && neap_amounts_read(&amounts, map, resources, NULL) == 0)
		bytes = neap_amounts_get(&amounts, NEAP_RESOURCE_MEMORY);
	json_decref(map);
	neap_resources_free(resources);
	return bytes;
}

static bool is_most(const json_t *given)
{
	const char *strategy = vector_text(given, "strategy");

	return strategy && strcmp(strategy, "MostAllocated") == 0;
}

static struct neap_numa_scoring scoring_of(const json_t *given,
					   struct neap_numa_weight weight[2])
{
	const json_t *map = json_object_get(given, "weights");

	weight[0] = (struct neap_numa_weight){NEAP_RESOURCE_CPU, number(map, "cpu")};
	weight[1] =
		(struct neap_numa_weight){NEAP_RESOURCE_MEMORY, number(map, "memory")};
	return (struct neap_numa_scoring){is_most(given), weight, 2};
}

static int node_score(struct vector_context *context, json_t *given, json_t **ret,
		      struct neap_error *err)
{
	struct neap_numa_weight weight[2];
	struct neap_numa_scoring scoring = scoring_of(given, weight);
	int64_t capacity[2] = {number(given, "node_cpu_milli"), 0};
	int64_t requested[2] = {
		number(given, "requested_cpu_milli") + number(given, "pod_cpu_milli"), 0};

	(void)context;
	return vector_answer_new(
		json_pack("{s:I}", "want",
			  (json_int_t)neap_numa_score(&scoring, requested, capacity)),
		ret, err);
}

static int amplified_score(struct vector_context *context, json_t *given, json_t **ret,
			   struct neap_error *err)
{
	const json_t *pod = json_object_get(given, "pod"), *node, *other;
	struct neap_numa_weight weight[2];
	struct neap_numa_scoring scoring = scoring_of(given, weight);
	json_t *answer = json_object();
	size_t i, k;

	(void)context;
	json_array_foreach (json_object_get(given, "nodes"), i, node) {
		const char *name = vector_text(node, "name");
		double ratio = json_number_value(json_object_get(node, "ratio"));
		int64_t capacity[2] = {
			neap_numa_amplify(number(node, "raw_cpu_milli"), ratio),
			bytes_of(node)};
		int64_t requested[2] = {0, bytes_of(pod)}, cpu = number(pod, "cpu_milli");
		int64_t bound = 0;

		json_array_foreach (json_object_get(given, "existing"), k, other) {
			if (!name || !vector_text(other, "node") ||
			    strcmp(name, vector_text(other, "node")) != 0)
				continue;
			requested[0] += number(other, "cpu_milli");
			requested[1] += bytes_of(other);
			bound += flag(other, "binds") ? number(other, "cpu_milli") : 0;
		}
		requested[0] = neap_numa_requested_cpu(requested[0], bound, ratio) +
			       (flag(pod, "binds") ? neap_numa_amplify(cpu, ratio) : cpu);
		(void)json_object_set_new(
			answer, name ? name : "?",
			json_integer(neap_numa_score(&scoring, requested, capacity)));
	}
	return vector_answer_new(answer, ret, err);
}

/* One node of a numa-score case. */
static int score_node(struct numa_rig *rig, const json_t *given, const json_t *node,
		      int64_t *ret, struct neap_error *err)
{
	const char *name = vector_text(node, "name"),
		   *policy = vector_text(given, "policy");
	const json_t *pod = json_object_get(given, "pod");
	const json_t *other = json_object_get(json_object_get(given, "existing_on_numa0"),
					      name ? name : "");
	int zones = (int)number(node, "numa_nodes");
	int64_t cells[NEAP_NUMA_CELLS_MAX] = {0};
	int64_t bound = number(json_object_get(given, "bound_cpus_on_node"), name);
	struct neap_cpu_wish wish = {.is_binding = flag(pod, "binds"),
				     .preferred = NEAP_BIND_FULL_PCPUS,
				     .numa = neap_numa_policy_parse(policy ? policy : ""),
				     .cpu_milli = number(pod, "cpu_milli")};
	struct neap_cpus book = {.load.ratio = 1};
	struct neap_cpu_work work = {0};
	struct neap_cpus_args args;
	char text[32] = "";
	json_t *machine;
	int rc;

	if (zones < 1 || zones > 8)
		return vector_bad(err, "numa_nodes");
	machine = json_pack("{s:i, s:i, s:i, s:i, s:s}", "sockets", 1, "nodes_per_socket",
			    zones, "cores_per_node",
			    (int)(number(node, "cpu_milli") / 2000 / zones),
			    "threads_per_core", 2, "numbering", "adjacent");
	rc = cpu_case_topology(machine, &rig->topology, err);
	json_decref(machine);
	zones_of(rig, number(node, "cpu_milli") / zones, NULL, zones);
	for (int i = 0; i < zones; i++)
		(void)neap_amounts_set(&rig->zones[i].total, NEAP_RESOURCE_MEMORY,
				       bytes_of(node) / zones);
	if (rc == 0)
		rc = numa_rig_node(rig, err);
	cells[0] = number(other, "cpu_milli");
	cells[1] = bytes_of(other);
	if (bound > 0)
		(void)snprintf(text, sizeof(text), "0-%d", (int)bound - 1);
	if (rc == 0)
		rc = numa_rig_hold(rig, "others", text, cells, err);
	(void)neap_amounts_set(&rig->requests, NEAP_RESOURCE_CPU, wish.cpu_milli);
	(void)neap_amounts_set(&rig->requests, NEAP_RESOURCE_MEMORY, bytes_of(pod));
	/* The NUMA nodes themselves are chosen by the other strategy, as they are by
	 * default. */
	neap_cpus_args_init(&args);
	args.is_score_most_allocated = is_most(given);
	(void)scoring_of(given, args.weights);
	if (rc == 0)
		rc = answer_on(rig, &args, &wish, &book, NEAP_CPU_ALL, &work, err);
	if (rc >= 0)
		*ret = neap_numa_score_grant(&work.scoring, &work.room, &work.ask,
					     &work.grant);
	return rc < 0 ? rc : 0;
}

static int numa_score(struct vector_context *context, json_t *given, json_t **ret,
		      struct neap_error *err)
{
	json_t *answer = json_object(), *node;
	size_t i;

	(void)context;
	json_array_foreach (json_object_get(given, "nodes"), i, node) {
		struct numa_rig *rig = calloc(1, sizeof(*rig));
		int rc = rig ? numa_rig_init(rig, err) : neap_error_nomem(err);
		int64_t score = -1;

		if (rc == 0)
			rc = score_node(rig, given, node, &score, err);
		if (rig)
			numa_rig_done(rig);
		free(rig);
		if (rc < 0) {
			json_decref(answer);
			return vector_bad(err, "%s", err->msg);
		}
		(void)json_object_set_new(
			answer, json_string_value(json_object_get(node, "name")),
			json_integer(score));
	}
	return vector_answer_new(answer, ret, err);
}

static const char *const prefilter_keys[] = {"qos",
					     "priority",
					     "resource_spec",
					     "resource_spec.*",
					     "request_cpu_milli",
					     "default_bind_policy",
					     NULL};
static const char *const filter_keys[] = {"topology",
					  "topology.*",
					  "request_cpu_bind",
					  "need",
					  "request_cpu_milli",
					  "required_bind_policy",
					  "preferred_bind_policy",
					  "node_labels",
					  "node_labels.*",
					  "node_annotations",
					  "node_annotations.*",
					  KUBELET,
					  NULL};
static const char *const effective_keys[] = {KUBELET, "node_label", "required",
					     "preferred", NULL};
static const char *const merge_keys[] = {"node", "pod", NULL};
static const char *const write_keys[] = {"resource_spec",
					 "resource_spec.*",
					 "state_required",
					 "state_preferred",
					 "node_label",
					 KUBELET,
					 NULL};
static const char *const amplified_keys[] = {"node_raw_cpu_milli",
					     "cpu_amplification_ratio",
					     "pod_cpu_milli",
					     "pod_binds",
					     "node_requested_milli",
					     "node_cpuset_cpus",
					     NULL};
static const char *const score_keys[] = {"node_cpu_milli",
					 "requested_cpu_milli",
					 "pod_cpu_milli",
					 "strategy",
					 "weights",
					 "weights.*",
					 NULL};
static const char *const nodes_keys[] = {"strategy",
					 "weights",
					 "weights.*",
					 "policy",
					 "pod",
					 "pod.cpu_milli",
					 "pod.memory",
					 "pod.binds",
					 "nodes",
					 "nodes[].name",
					 "nodes[].raw_cpu_milli",
					 "nodes[].cpu_milli",
					 "nodes[].memory",
					 "nodes[].ratio",
					 "nodes[].numa_nodes",
					 "existing",
					 "existing[].node",
					 "existing[].cpu_milli",
					 "existing[].memory",
					 "existing[].binds",
					 "existing_on_numa0",
					 "existing_on_numa0.*",
					 "existing_on_numa0.*.cpu_milli",
					 "existing_on_numa0.*.memory",
					 "bound_cpus_on_node",
					 "bound_cpus_on_node.*",
					 NULL};

const struct vector_row vector_policy_rows[] = {
	{"cpu-policy", "prefilter", prefilter_keys, prefilter},
	{"cpu-policy", "filter", filter_keys, filter},
	{"cpu-policy", "effective-bind-policy", effective_keys, effective},
	{"cpu-policy", "merge-topology-policy", merge_keys, merge_policy},
	{"cpu-policy", "write-back-resource-spec", write_keys, write_back},
	{"cpu-policy", "amplified-filter", amplified_keys, amplified_filter},
	{"cpu-policy", "node-score", score_keys, node_score},
	{"cpu-policy", "amplified-score", nodes_keys, amplified_score},
	{"cpu-policy", "numa-score", nodes_keys, numa_score},
	{0},
};
