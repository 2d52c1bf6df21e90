/* SPDX-License-Identifier: Apache-2.0
 *
 * The filter NodeNUMAResource, in the order of Koordinator's plugin: first what can never
 * be on the node, then whether there is room. */
#include "engine/decide/cpus.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/decide/decide.h"
#include "engine/decide/decide_priv.h"

bool neap_cpu_concerns(const struct neap_pod *pod)
{
	for (size_t i = 0; i < pod->request_count; i++)
		if (pod->requests[i].resource != NEAP_RESOURCE_PODS &&
		    pod->requests[i].amount > 0)
			return true;
	return false;
}

void neap_cpu_work_begin(struct neap_cpu_work *work, const struct neap_cpus_args *args,
			 const struct neap_pod *pod)
{
	work->kept = NULL;
	work->why = NULL;
	work->known_count = 0;
	work->fitting = UINT16_MAX;
	neap_pod_cpu_wish(pod, args->default_bind, &work->wish);
	work->scoring = (struct neap_numa_scoring){.is_most_allocated =
							   args->is_score_most_allocated,
						   .weights = args->weights,
						   .count = args->weight_count};
	work->numa_scoring = work->scoring;
	work->numa_scoring.is_most_allocated = args->is_most_allocated;
}

static bool is_aligned(const struct neap_cpu_choice *choice)
{
	return choice->numa == NEAP_NUMA_RESTRICTED || choice->numa == NEAP_NUMA_SINGLE;
}

int neap_cpu_take(struct neap_cpu_work *work, const struct neap_cpus *book,
		  const struct neap_pod *pod, const struct neap_numa_held *back,
		  size_t back_count, struct neap_error *err)
{
	const struct neap_cpu_choice *choice = &work->choice;
	uint64_t nodes = 0, kept_cpus[NEAP_CPU_WORDS_MAX];
	struct neap_numa_kept kept = {.cpus = kept_cpus};
	int ret;

	work->can_help = true;
	work->ask = (struct neap_numa_ask){.requests = pod->requests,
					   .request_count = pod->request_count,
					   .is_binding = choice->is_binding,
					   .cpus = choice->cpus,
					   .is_required = choice->is_required,
					   .bind = choice->bind,
					   .exclusive = work->wish.exclusive,
					   .is_most_allocated = book->is_most_allocated,
					   .why = work->why};
	ret = neap_numa_room_open(&work->room, book->numa, back, back_count, err);
	if (ret == 0 && work->kept) {
		for (int i = 0; i < book->numa->layout->words; i++)
			kept_cpus[i] = work->kept->cpus[i] & work->room.cpus[i];
		kept.cells = work->kept->has_cells ? work->kept->cells : NULL;
		kept.is_restricted = work->kept->is_restricted;
	}
	if (ret == 0)
		ret = neap_numa_align(&work->room, &work->ask, choice->numa,
				      work->wish.numa_exclusive, &work->numa_scoring,
				      work->kept ? &kept : NULL, &nodes, err);
	if (ret == 0)
		ret = work->kept ? neap_numa_take_kept(&work->room, &work->ask, nodes,
						       &kept, &work->grant, err)
				 : neap_numa_take(&work->room, &work->ask, nodes,
						  &work->grant, err);
	neap_numa_room_close(&work->room);
	if (ret < 0)
		return ret;
	return choice->is_binding || work->grant.nodes ? 1 : 0;
}

static int choose(struct neap_cpu_work *work, const struct neap_cpus *book,
		  const struct neap_cpu_load *load, struct neap_error *err)
{
	static const struct neap_cpu_rule no_rule;

	return neap_cpu_choose(&work->wish, book ? &book->rule : &no_rule,
			       book ? load : NULL,
			       book && book->numa ? book->numa->layout->per_core : 0,
			       &work->choice, err);
}

/* Returns whether the choice alone answers, without the pods' holdings. */
static bool is_enough(const struct neap_cpu_choice *choice)
{
	return !is_aligned(choice) &&
	       (!choice->is_required || choice->numa != NEAP_NUMA_ANY);
}

int neap_cpu_answer_by(struct neap_cpu_work *work, const struct neap_cpus *book,
		       const struct neap_cpu_load *load, const struct neap_pod *pod,
		       enum neap_cpu_depth depth, struct neap_error *err)
{
	struct neap_cpu_choice *choice = &work->choice;
	int ret = choose(work, book, load, err);

	if (work->why)
		neap_buf_clear(work->why);
	work->can_help = ret < 0 && strcmp(err->msg, "Insufficient amplified cpu") == 0;
	if (ret < 0)
		return ret;
	if (!choice->is_binding && choice->numa == NEAP_NUMA_ANY)
		return 0;
	if (!book || !book->numa || (is_aligned(choice) && !book->numa->zone_count))
		return is_aligned(choice)
			       ? neap_error_set(err, NEAP_ENOFIT,
						"node(s) missing NUMA resources")
			       : 0;
	if (book->is_stale)
		return neap_error_nomem(err);
	if (depth == NEAP_CPU_FILTER && is_enough(choice))
		return 1;
	return neap_cpu_take(work, book, pod, NULL, 0, err);
}

int neap_cpu_answer(struct neap_cpu_work *work, struct neap_cluster *cluster,
		    const struct neap_pod *pod, uint32_t row, enum neap_cpu_depth depth,
		    struct neap_error *err)
{
	struct neap_cpu_nominated nominated;
	int ret = neap_cpu_nominated_begin(&nominated, cluster, pod, row, err);

	if (ret == 0)
		ret = neap_cpu_answer_by(work, nominated.book, &nominated.load, pod,
					 depth, err);
	/* It is counted again before the next decision. */
	if (ret == -NEAP_ENOMEM && nominated.book && nominated.book->is_stale)
		neap_cluster_recount(cluster, row);
	neap_cpu_nominated_end(&nominated);
	return ret;
}

/* NULL: each node of it is to be asked. */
static const struct neap_cpu_known *know(struct neap_cycle *cycle, uint32_t row)
{
	struct neap_cpu_work *work = cycle->cpus;
	uint16_t class = cycle->columns->cpu_class[row];
	const struct neap_cpus *book;
	struct neap_cpu_known *known;
	struct neap_error err;
	int ret;

	for (size_t i = 0; i < work->known_count; i++)
		if (work->known[i].class == class)
			return &work->known[i];
	if (class == NEAP_CPUS_SINGLE || work->known_count == NEAP_CPU_CLASSES_MAX)
		return NULL;
	book = neap_cluster_cpus(cycle->cluster, row);
	ret = choose(work, book, book ? &book->load : NULL, &err);
	known = &work->known[work->known_count++];
	known->class = class;
	known->is_any = work->choice.numa == NEAP_NUMA_ANY;
	known->fits = ret == 0 && !is_aligned(&work->choice) &&
		      (!book || !book->numa || !work->choice.is_binding ||
		       is_enough(&work->choice));
	return known;
}

/* --- the rows --- */

/* All that ask for something have a score. */
static bool prepare_score(struct neap_cycle *cycle)
{
	if (!neap_cpu_concerns(cycle->pod))
		return false;
	if (!cycle->cpus)
		cycle->cpus = neap_alloc(sizeof(*cycle->cpus));
	if (!cycle->cpus) {
		cycle->is_short = true;
		return false;
	}
	neap_cpu_work_begin(cycle->cpus, neap_cluster_cpus_args(cycle->cluster),
			    cycle->pod);
	cycle->cpus->why = &cycle->cpus_why;
	return true;
}

/* A pod that says nothing fits where no node does. */
static bool prepare(struct neap_cycle *cycle)
{
	bool is_ruled = neap_cluster_cpus_ruled(cycle->cluster);

	return (cycle->pod->cpus || is_ruled) && prepare_score(cycle) &&
	       (is_ruled || cycle->cpus->wish.is_binding ||
		cycle->cpus->wish.numa != NEAP_NUMA_ANY);
}

const char *neap_cycle_cpus_why(const struct neap_cycle *cycle,
				const struct neap_error *err)
{
	const char *whole = cycle->cpus_why.data;

	return strncmp(whole, err->msg, strlen(err->msg)) == 0 ? whole : err->msg;
}

/* Several reasons in one text are by ", ", but not inside of brackets. */
static void refuse(struct neap_cycle *cycle, uint32_t row, enum neap_reason reason,
		   const char *text)
{
	const char *end = text;
	int depth = 0;

	for (; *end && (depth || strncmp(end, ", ", 2) != 0); end++)
		depth += *end == '[' ? 1 : *end == ']' ? -1 : 0;
	(void)neap_cycle_refuse_text(cycle, row, reason, text, (size_t)(end - text));
	if (*end)
		refuse(cycle, row, reason, end + 2);
}

/* Apart from fits, which so needs no room on the stack. */
static __attribute__((noinline)) bool ask(struct neap_cycle *cycle, uint32_t row)
{
	const struct neap_cpu_known *known;
	struct neap_error err;
	int ret;

	known = know(cycle, row);
	if (known && known->fits) {
		cycle->cpus->fitting = known->class;
		return true;
	}
	ret = neap_cpu_answer(cycle->cpus, cycle->cluster, cycle->pod, row,
			      NEAP_CPU_FILTER, &err);
	/* CPUs of pods that are taken over are not examined before those pods are
	 * chosen. */
	if (ret >= 0 || (ret == -NEAP_ENOFIT && cycle->cpus->can_help &&
			 neap_kept_takes_over(&cycle->kept)))
		return true;
	if (ret == -NEAP_ENOFIT)
		refuse(cycle, row,
		       cycle->cpus->can_help ? NEAP_REASON_CPUS_ROOM : NEAP_REASON_CPUS,
		       neap_cycle_cpus_why(cycle, &err));
	else
		cycle->is_short = true;
	return false;
}

static bool fits(struct neap_cycle *cycle, uint32_t row)
{
	/* Most nodes are alike. */
	return cycle->columns->cpu_class[row] == cycle->cpus->fitting || ask(cycle, row);
}

/* How full all of the node would be. */
static int64_t score_node(const struct neap_cycle *cycle, uint32_t row)
{
	const struct neap_cpu_work *work = cycle->cpus;
	const struct neap_columns *columns = cycle->columns;
	const struct neap_cpus *book = neap_cluster_cpus(cycle->cluster, row);
	int64_t requested[NEAP_NUMA_RESOURCES_MAX] = {0};
	int64_t capacity[NEAP_NUMA_RESOURCES_MAX] = {0};

	for (size_t i = 0; i < work->scoring.count; i++) {
		uint32_t resource = work->scoring.weights[i].resource;
		int64_t more = neap_pod_request(cycle->pod, resource);

		if (!columns->allocatable[resource] ||
		    (resource >= NEAP_RESOURCE_FIXED && more <= 0))
			continue;
		capacity[i] = columns->allocatable[resource][row];
		requested[i] = columns->used[resource][row];
		if (resource == NEAP_RESOURCE_CPU && book && book->load.ratio > 1) {
			requested[i] = neap_numa_requested_cpu(
				requested[i], book->load.bound, book->load.ratio);
			if (work->choice.is_binding)
				more = neap_numa_amplify(more, book->load.ratio);
		}
		requested[i] = neap_amount_sum(requested[i], more);
	}
	return neap_numa_score(&work->scoring, requested, capacity);
}

/* A resource, with the columns of it, and what the pod adds. */
struct weighed {
	const int64_t *all, *used;
	int64_t more, weight;
};

/* As score_node, of a node on which its book does not matter. */
static size_t weigh(const struct neap_cycle *cycle, struct weighed *ret)
{
	const struct neap_numa_scoring *scoring = &cycle->cpus->scoring;
	const struct neap_columns *columns = cycle->columns;
	size_t count = 0;

	for (size_t i = 0; i < scoring->count; i++) {
		uint32_t resource = scoring->weights[i].resource;

		ret[count] = (struct weighed){columns->allocatable[resource],
					      columns->used[resource],
					      neap_pod_request(cycle->pod, resource),
					      scoring->weights[i].weight};
		if (ret[count].all &&
		    (resource < NEAP_RESOURCE_FIXED || ret[count].more > 0))
			count++;
	}
	return count;
}

static int64_t score_columns(const struct weighed *of, size_t count, bool is_most,
			     uint32_t row)
{
	int64_t sum = 0, weights = 0;

	for (size_t i = 0; i < count; i++) {
		if (of[i].all[row] <= 0)
			continue;
		sum += of[i].weight *
		       neap_numa_score_one(is_most,
					   neap_amount_sum(of[i].used[row], of[i].more),
					   of[i].all[row]);
		weights += of[i].weight;
	}
	return weights > 0 ? sum / weights : 0;
}

static bool is_alike(const struct weighed *of, size_t count, uint32_t a, uint32_t b)
{
	for (size_t i = 0; i < count; i++)
		if (of[i].all[a] != of[i].all[b] || of[i].used[a] != of[i].used[b])
			return false;
	return true;
}

static int64_t score_row(struct neap_cycle *cycle, uint32_t row)
{
	struct neap_cpu_work *work = cycle->cpus;
	const struct neap_cpus *book;
	struct neap_error err;
	int answer = neap_cpu_answer(work, cycle->cluster, cycle->pod, row, NEAP_CPU_ALL,
				     &err);

	cycle->is_short |= answer == -NEAP_ENOMEM;
	if (work->choice.numa == NEAP_NUMA_ANY)
		return score_node(cycle, row);
	if (answer < 0)
		return 0;
	/* BestEffort applies even where no NUMA nodes are known. */
	book = neap_cluster_cpus(cycle->cluster, row);
	return book && book->numa && book->numa->zone_count
		       ? neap_numa_score_grant(&work->scoring, &work->room, &work->ask,
					       &work->grant)
		       : score_node(cycle, row);
}

static void score(struct neap_cycle *cycle, const uint32_t *rows, size_t count,
		  int64_t *ret)
{
	bool is_most = cycle->cpus->scoring.is_most_allocated;
	struct weighed of[NEAP_NUMA_RESOURCES_MAX];
	size_t of_count = weigh(cycle, of);
	/* Without a policy nothing depends on which CPUs it would get. */
	uint16_t free_class = UINT16_MAX; /* none yet */
	size_t last = count;              /* scored by columns; count: none yet */

	for (size_t i = 0; i < count; i++) {
		uint16_t class = cycle->columns->cpu_class[rows[i]];

		if (class != free_class) {
			const struct neap_cpu_known *known = know(cycle, rows[i]);

			if (!known || !known->is_any) {
				ret[i] = score_row(cycle, rows[i]);
				continue;
			}
			free_class = class;
		}
		/* Neighbours are alike where nodes are, and filled evenly. */
		ret[i] = last < count && is_alike(of, of_count, rows[i], rows[last])
				 ? ret[last]
				 : score_columns(of, of_count, is_most, rows[i]);
		last = i;
	}
}

const struct neap_filter neap_filter_cpus = {"NodeNUMAResource", prepare, fits,
					     NEAP_MOVED_CPUS | NEAP_MOVED_ROOM |
						     NEAP_MOVED_POD_GONE};
const struct neap_score neap_score_cpus = {"NodeNUMAResource", 1, NEAP_SCORE_AS_IS,
					   prepare_score, score};
