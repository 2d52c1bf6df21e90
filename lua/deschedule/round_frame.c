/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes the cluster and the state of a round out of a recording. */
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/decide/decide.h"
#include "engine/deschedule/world_copy.h"
#include "engine/json/json.h"
#include "lua/deschedule/round_tape_priv.h"

/* --- the cluster --- */

static int heard(void *arg, const char *list, struct neap_object *object,
		 struct neap_pod **ret_pod, struct neap_error *err)
{
	struct neap_cluster *cluster = arg;
	unsigned moved = 0;
	struct neap_pod *pod;
	int rc;

	if (strcmp(list, "nodes") == 0)
		return neap_cluster_set_node(cluster, object, &moved, err);
	if (strcmp(list, "namespaces") == 0)
		return neap_cluster_set_namespace(cluster, object, &moved, err);
	if (strcmp(list, "nodeMetrics") == 0)
		return neap_cluster_set_metric(cluster, object, &moved, err);
	if (strcmp(list, "pods") != 0)
		return 0;
	rc = neap_cluster_set_pod(cluster, object, &moved, err);
	pod = rc == 0 ? neap_cluster_find_pod(cluster, object->ns, object->name) : NULL;
	if (pod && pod->is_finished) { /* it takes no room */
		neap_cluster_remove_pod(cluster, object->ns, object->name, &moved);
		pod = NULL;
	}
	*ret_pod = pod && pod->object == object ? pod : NULL;
	return rc;
}

int round_frame_open(struct round_frame *frame, const json_t *json,
		     struct neap_error *err)
{
	struct neap_decide_config config = {0};
	struct neap_world_hearer hearer = {.heard = heard};
	int rc;

	*frame = (struct round_frame){.json = json};
	if (neap_time_parse(neap_json_text(json, "began"), &frame->now_usec, NULL) < 0)
		return neap_error_field(err, NEAP_EINVAL, "began", "a time is wanted");
	rc = neap_cluster_new(&frame->cluster, err);
	if (rc == 0)
		rc = neap_world_new(neap_cluster_resources(frame->cluster), &frame->world,
				    err);
	config.cluster = hearer.arg = frame->cluster;
	if (rc == 0)
		rc = neap_decide_new(&config, &frame->decide, err);
	if (rc == 0)
		rc = neap_world_copy_read(frame->world, json_object_get(json, "cluster"),
					  &hearer, err);
	return rc < 0 ? rc : neap_world_settle(frame->world, err);
}

void round_frame_close(struct round_frame *frame)
{
	neap_decide_free(frame->decide);
	/* It shares pods and numbers of resources with the cluster. */
	neap_world_free(frame->world);
	neap_cluster_free(frame->cluster);
}

const json_t *round_frame_profile(const struct round_frame *frame, const char *name)
{
	return neap_json_find(json_object_get(frame->json, "profiles"), "name", name);
}

/* --- what was before --- */

static struct neap_world_pod *find_pod(const struct round_again *run, const char *key)
{
	const char *slash = key ? strchr(key, '/') : NULL;
	char ns[NEAP_OBJECT_NAMESPACE];

	if (!slash || (size_t)(slash - key) >= sizeof(ns))
		return NULL;
	memcpy(ns, key, (size_t)(slash - key));
	ns[slash - key] = '\0';
	return neap_world_find_pod(run->frame->world, ns, slash + 1);
}

/* Right for pods that are broken, and for nothing where load is moved. */
static void set_landing(struct round_again *run, const json_t *profile, const char *at)
{
	neap_landing_may_return(run->landing, strcmp(at, "deschedule") == 0);
	neap_landing_set_keeps_place(
		run->landing, json_is_true(json_object_get(profile, "keeps_place")));
}

static int evict_again(struct round_again *run, const json_t *earlier,
		       struct neap_error *err)
{
	const json_t *list = json_object_get(earlier, "evicted"), *row;
	int rc = 0;
	size_t i;

	set_landing(run,
		    round_frame_profile(run->frame, neap_json_text(earlier, "profile")),
		    neap_json_text(earlier, "point"));
	json_array_foreach ((json_t *)(uintptr_t)list, i, row) {
		const struct neap_world_pod *pod =
			find_pod(run, neap_json_text(row, "pod"));
		struct neap_round_answer answer;

		if (rc == 0 && pod)
			rc = neap_round_evict(run->round, pod,
					      neap_json_text(earlier, "strategy"),
					      neap_json_text(row, "why"), &answer, err);
	}
	return rc;
}

/* A strategy in dry run leaves the limits, budgets and room to the others. */
static int evict_earlier(struct round_again *run, struct neap_error *err)
{
	const json_t *runs = json_object_get(run->frame->json, "runs"), *earlier;
	bool is_dry = json_is_true(json_object_get(run->frame->json, "dry_run"));
	int rc = 0;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)runs, i, earlier) {
		if (rc < 0 || earlier == run->run)
			break;
		if (is_dry || !json_is_true(json_object_get(earlier, "dry_run")))
			rc = evict_again(run, earlier, err);
	}
	return rc;
}

/* --- rules --- */

static const char *reason_of(const json_t *reasons, const struct neap_world_pod *pod)
{
	const struct neap_object *object = pod->pod->object;
	char key[NEAP_POD_KEY];

	return json_string_value(
		json_object_get(reasons, neap_pod_key(object->ns, object->name, key)));
}

static const char *allow(void *arg, struct neap_round *round,
			 const struct neap_world_pod *pod)
{
	const struct round_again *run = arg;

	(void)round;
	return reason_of(run->kept, pod);
}

static const char *before(void *arg, struct neap_round *round,
			  const struct neap_world_pod *pod)
{
	const struct round_again *run = arg;

	(void)round;
	return reason_of(run->not_now, pod);
}

static int set_rules(struct round_again *run, const char *at, struct neap_error *err)
{
	const json_t *evictor = json_object_get(run->profile, "evictor");
	const json_t *said = json_object_get(run->profile, at);
	int rc = neap_evictor_read(&run->evictor, evictor, err);

	run->kept = json_object_get(said, "kept");
	run->not_now = json_object_get(said, "not_now");
	run->rule =
		(struct neap_round_rule){.allow = allow, .before = before, .arg = run};
	if (rc == 0)
		neap_round_set_rules(run->round,
				     evictor || !run->profile ? &run->evictor : NULL,
				     &run->rule, 1);
	return rc;
}

static bool is_named(const json_t *names, const char *name)
{
	for (size_t i = 0; i < json_array_size(names); i++) {
		const char *text = json_string_value(json_array_get(names, i));

		if (text && strcmp(text, name) == 0)
			return true;
	}
	return false;
}

/* Ready nodes; of a profile that selects nodes, those. */
static int set_nodes(struct round_again *run, struct neap_error *err)
{
	const json_t *names = json_object_get(run->profile, "nodes");
	struct neap_round *round = run->round;
	size_t count = 0;
	int rc = neap_round_set_nodes(round, NULL, true, err);

	for (size_t i = 0; rc == 0 && names && i < round->node_count; i++)
		if (is_named(names, round->nodes[i]->name))
			round->nodes[count++] = round->nodes[i];
	if (names)
		round->node_count = count;
	return rc;
}

/* --- a run --- */

static void read_limits(const json_t *json, struct neap_limits *ret)
{
	struct {
		const char *name;
		int64_t *to;
	} rows[] = {{"total", &ret->total},
		    {"node", &ret->per_node},
		    {"namespace", &ret->per_namespace},
		    {"workload", &ret->per_workload}};

	*ret = (struct neap_limits){
		.is_total_first = json_is_true(json_object_get(json, "total_first"))};
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const json_t *value = json_object_get(json, rows[i].name);

		*rows[i].to = json_is_integer(value) ? json_integer_value(value)
						     : NEAP_LIMITS_NONE;
	}
}

/* Nobody waits longer than a year. */
static int64_t interval_of(const json_t *json)
{
	int64_t seconds = json_integer_value(json_object_get(json, "interval_s"));

	return seconds > 0 && seconds < 366 * INT64_C(86400) ? seconds * 1000000 : 0;
}

int round_again_open(struct round_again *run, struct round_frame *frame,
		     const json_t *json, const json_t *profile, const char *at,
		     struct neap_error *err)
{
	struct neap_round_args args = {
		.world = frame->world,
		.now_usec = frame->now_usec,
		.interval_usec = interval_of(frame->json),
		.is_dry = json_is_true(json_object_get(frame->json, "dry_run")) ||
			  json_is_true(json_object_get(json, "dry_run")),
		.honors_budgets = true,
		.place = neap_landing_place};
	int rc;

	*run = (struct round_again){.frame = frame, .run = json, .profile = profile};
	neap_evictor_init(&run->evictor);
	read_limits(json_object_get(frame->json, "limits"), &args.limits);
	rc = neap_landing_new(frame->cluster, frame->decide, &run->landing, err);
	if (rc == 0)
		rc = neap_landing_begin(run->landing, frame->world, frame->now_usec, err);
	args.place_arg = run->landing;
	if (rc == 0)
		rc = neap_round_new(&args, &run->round, err);
	if (rc == 0)
		neap_landing_set_round(run->landing, run->round);
	if (rc == 0 && json)
		rc = evict_earlier(run, err);
	if (rc == 0)
		rc = set_rules(run, at, err);
	if (rc == 0)
		rc = set_nodes(run, err);
	if (rc < 0)
		return rc;
	set_landing(run, profile, at);
	run->said = run->round->said_count;
	run->wishes = run->round->wish_count;
	return 0;
}

void round_again_close(struct round_again *run)
{
	neap_landing_free(run->landing);
	if (run->frame)
		(void)neap_cluster_take_moved(run->frame->cluster);
	neap_round_free(run->round);
	neap_evictor_done(&run->evictor);
}
