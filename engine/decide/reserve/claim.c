/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/decide/decide.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/decide/cpus.h"
#include "engine/decide/decide_priv.h"
#include "engine/json/json.h"
#include "engine/numa/numa_object.h"

void neap_claim_free(struct neap_claim *claim)
{
	if (!claim)
		return;
	free(claim->taken);
	free(claim->status);
	free(claim);
}

/* Most pods get nothing on most nodes, which is seen without any work. */
static bool gets_nothing(const struct neap_cluster *cluster, const struct neap_pod *pod,
			 uint32_t row)
{
	return (!pod->cpus && !neap_cluster_cpus(cluster, row)) ||
	       !neap_cpu_concerns(pod);
}

/* Builds the claim of a successful answer: 1; 0: nothing to write. A grant has room for
 * the largest machine, a claim only for the node. */
static int make_claim(const struct neap_cpu_work *work, const struct neap_numa_node *node,
		      struct neap_claim **ret, struct neap_error *err)
{
	size_t bytes = (size_t)node->layout->words * sizeof(uint64_t);
	json_t *status = neap_numa_status_write(node, &work->grant);
	struct neap_claim *claim;

	if (status && json_object_size(status) == 0) {
		json_decref(status);
		return 0;
	}
	claim = status ? neap_alloc(sizeof(*claim) + bytes) : NULL;
	if (!claim) {
		json_decref(status);
		return neap_error_nomem(err);
	}
	claim->choice = work->choice;
	claim->exclusive = work->wish.exclusive;
	claim->words = node->layout->words;
	memcpy(claim->cpus, work->grant.cpus, bytes);
	claim->status = neap_json_dump(status, JSON_COMPACT);
	json_decref(status);
	if (!claim->status) {
		neap_claim_free(claim);
		return neap_error_nomem(err);
	}
	*ret = claim;
	return 1;
}

int neap_claim_cpus(struct neap_decide *decide, const struct neap_pod *pod, uint32_t row,
		    const struct neap_cpu_kept *kept, struct neap_claim **ret,
		    struct neap_error *err)
{
	struct neap_cluster *cluster = neap_decide_cluster(decide);
	struct neap_cycle *cycle = neap_decide_cycle(decide);
	struct neap_cpu_work *work;
	int answer;

	*ret = NULL;
	if (gets_nothing(cluster, pod, row))
		return 0;
	(void)neap_cluster_settle(cluster);
	if (!cycle->cpus)
		cycle->cpus = neap_alloc(sizeof(*cycle->cpus));
	work = cycle->cpus;
	if (!work)
		return neap_error_nomem(err);
	neap_cpu_work_begin(work, neap_cluster_cpus_args(cluster), pod);
	work->kept = kept;
	work->why = &cycle->cpus_why;
	answer = neap_cpu_answer(work, cluster, pod, row, NEAP_CPU_ALL, err);
	if (answer == -NEAP_ENOFIT)
		cycle->wakes |= neap_filter_cpus.wakes;
	if (answer <= 0)
		return answer;
	return make_claim(work, neap_cluster_cpus(cluster, row)->numa, ret, err);
}

int neap_decide_claim(struct neap_decide *decide, const struct neap_pod *pod,
		      uint32_t row, struct neap_claim **ret, struct neap_error *err)
{
	const struct neap_reserve_book *book = neap_decide_cycle(decide)->kept.book;

	*ret = NULL;
	if (pod->trouble)
		return neap_error_set(err, NEAP_EINVAL, "%s", pod->trouble);
	if (book && neap_pod_is_stand(pod))
		return neap_claim_takeover(decide, pod, row, ret, err);
	if (!book || (!neap_reserve_book_count(book) && !pod->asks_reservations))
		return neap_claim_cpus(decide, pod, row, NULL, ret, err);
	return neap_claim_kept(decide, pod, row, ret, err);
}

const char *neap_decide_claim_why(struct neap_decide *decide,
				  const struct neap_error *err)
{
	return neap_cycle_cpus_why(neap_decide_cycle(decide), err);
}

int neap_decide_has_room(struct neap_decide *decide, const struct neap_pod *pod,
			 uint32_t row, struct neap_error *err)
{
	struct neap_cycle *cycle = neap_decide_cycle(decide);
	const struct neap_filter *active[NEAP_FILTERS_MAX];
	int failed = neap_decide_begin(decide, pod, err);
	bool fits = true;
	size_t count;

	if (failed < 0)
		return failed;
	count = neap_decide_active(decide, active);
	for (size_t i = 0; fits && i < count; i++)
		if (active[i] == &neap_filter_room || active[i] == &neap_filter_kept)
			fits = active[i]->fits(cycle, row);
	neap_decide_finish(decide);
	return cycle->is_short ? neap_error_nomem(err) : fits;
}

/* --- what is written --- */

static bool put(json_t *notes, const char *key, const char *text)
{
	return json_object_set_new(notes, key, json_string(text)) == 0;
}

static bool put_json(json_t *notes, const char *key, json_t *value)
{
	neap_auto_free char *text = value ? neap_json_dump(value, JSON_COMPACT) : NULL;

	return text && put(notes, key, text);
}

/* Writes only what is missing. */
static bool put_spec(json_t *notes, const struct neap_pod *pod,
		     const struct neap_claim *claim)
{
	const char *text = pod->cpus ? pod->cpus->spec : NULL;
	json_t *before = NULL, *spec = NULL;
	json_error_t where;
	bool is_put;

	if (!claim->choice.is_binding)
		return true;
	if (text && neap_json_parse_note(text, &before, &where) < 0)
		return false;
	spec = neap_cpu_spec_write(before, &claim->choice);
	is_put = spec && ((before && json_equal(spec, before)) ||
			  put_json(notes, NEAP_KEY_RESOURCE_SPEC, spec));
	json_decref(before);
	json_decref(spec);
	return is_put;
}

/* An annotation about another reservation is outdated. */
static bool put_reservation(json_t *notes, const struct neap_pod *pod,
			    const struct neap_claim *claim)
{
	json_t *value;
	bool is_put;

	if ((!claim || !*claim->reservation) && !*pod->reservation)
		return true;
	value = claim && *claim->reservation
			? json_pack("{s:s, s:s}", "name", claim->reservation, "uid",
				    claim->reservation_uid)
			: json_object();
	is_put = put_json(notes, NEAP_KEY_RESERVATION_ALLOCATED, value);
	json_decref(value);
	return is_put;
}

/* CPUs that it says it has, of whatever place it had or was copied from, are not its own
 * where it is given none. */
static bool put_cpus(json_t *notes, const struct neap_pod *pod,
		     const struct neap_claim *claim)
{
	if (claim && claim->status)
		return put(notes, NEAP_KEY_RESOURCE_STATUS, claim->status) &&
		       put_spec(notes, pod, claim);
	return !pod->cpus || !pod->cpus->status ||
	       json_object_set_new(notes, NEAP_KEY_RESOURCE_STATUS, json_null()) == 0;
}

json_t *neap_claim_annotations(const struct neap_pod *pod, const struct neap_claim *claim)
{
	json_t *notes = json_object();

	return neap_json_made(notes && put_reservation(notes, pod, claim) &&
				      put_cpus(notes, pod, claim),
			      notes);
}
