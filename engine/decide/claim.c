/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/decide/claim.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "engine/cluster/numa_object.h"
#include "engine/decide/cpus.h"
#include "engine/decide/decide_priv.h"

void neap_claim_free(struct neap_claim *claim)
{
	free(claim);
}

/* Most pods on most nodes get nothing, and that is seen without any work. */
static bool gets_nothing(const struct neap_cluster *cluster, const struct neap_pod *pod,
			 uint32_t row)
{
	return !pod->cpus && !neap_cluster_cpus(cluster, row);
}

int neap_decide_claim(struct neap_decide *decide, const struct neap_pod *pod,
		      uint32_t row, struct neap_claim **ret, struct neap_error *err)
{
	struct neap_cluster *cluster = neap_decide_cluster(decide);
	struct neap_cycle *cycle = neap_decide_cycle(decide);
	struct neap_cpu_work *work;
	struct neap_claim *claim;
	int answer;

	*ret = NULL;
	if (pod->trouble)
		return neap_error_set(err, NEAP_EINVAL, "%s", pod->trouble);
	if (gets_nothing(cluster, pod, row))
		return 0;
	(void)neap_cluster_settle(cluster);
	if (!cycle->cpus)
		cycle->cpus = neap_alloc(sizeof(*cycle->cpus));
	work = cycle->cpus;
	if (!work)
		return neap_error_nomem(err);
	neap_cpu_work_begin(work, cluster, pod);
	answer = neap_cpu_answer(work, cluster, pod, row, NEAP_CPU_ALL, err);
	if (answer == -NEAP_ENOFIT)
		cycle->wakes |= neap_filter_cpus.wakes;
	if (answer <= 0)
		return answer;
	claim = neap_realloc_array(NULL, 1, sizeof(*claim)); /* 9 KB, all of it set */
	if (!claim)
		return neap_error_nomem(err);
	claim->choice = work->choice;
	claim->exclusive = work->wish.exclusive;
	claim->grant = work->grant;
	*ret = claim;
	return 1;
}

/* --- what is written --- */

static bool put(json_t *notes, const char *key, json_t *value)
{
	char *text = value ? neap_json_dump(value, JSON_COMPACT) : NULL;
	bool is_put = text && json_object_set_new(notes, key, json_string(text)) == 0;

	free(text);
	return is_put;
}

/* Only what is not there yet is written. */
static bool put_spec(json_t *notes, const struct neap_pod *pod,
		     const struct neap_claim *claim)
{
	const char *text = pod->cpus ? pod->cpus->spec : NULL;
	json_t *before = NULL, *spec = NULL;
	json_error_t where;
	bool is_put;

	if (!claim->choice.is_binding)
		return true;
	if (text && neap_json_parse(text, strlen(text), 0, &before, &where) < 0)
		return false;
	spec = neap_cpu_spec_write(before, &claim->choice);
	is_put = spec && ((before && json_equal(spec, before)) ||
			  put(notes, NEAP_KEY_RESOURCE_SPEC, spec));
	json_decref(before);
	json_decref(spec);
	return is_put;
}

json_t *neap_claim_annotations(const struct neap_cluster *cluster,
			       const struct neap_pod *pod, uint32_t row,
			       const struct neap_claim *claim)
{
	const struct neap_cpus *book = neap_cluster_cpus(cluster, row);
	json_t *notes = json_object(), *status;
	bool is_whole;

	if (!notes || !book || !book->numa)
		return notes;
	status = neap_numa_status_write(book->numa, &claim->grant);
	is_whole = put(notes, NEAP_KEY_RESOURCE_STATUS, status) &&
		   put_spec(notes, pod, claim);
	json_decref(status);
	if (is_whole)
		return notes;
	json_decref(notes);
	return NULL;
}
