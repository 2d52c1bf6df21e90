/* SPDX-License-Identifier: Apache-2.0
 *
 * Preemption. On each node where fewer pods could help, all pods of lower priority are
 * lifted off. If the pod then fits, they are put back one by one as long as it still
 * fits: first those whose removal would violate a budget, in each group the most
 * important first. Those that do not fit back are the victims. At the end all are put
 * back. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/decide/decide_priv.h"

/* Pods of one node that could go. */
#define CANDIDATES_MAX 512
#define KEY_SPARED     "scheduling.koordinator.sh/disable-preemptible"

struct candidate {
	struct neap_pod *pod;
	bool violates;
	bool goes;
};

struct trial {
	struct neap_decide *decide;
	const struct neap_pod *pod;
	struct neap_cluster_node *node;
	struct candidate of[CANDIDATES_MAX];
	size_t count;
};

/* What a node's victims are compared by, in this order; less is better, except for the
 * time. */
struct price {
	size_t violations;
	int32_t highest;
	int64_t sum;
	size_t count;
	int64_t started_usec; /* of the highest, the earliest: the later, the better */
};

/* --- order and budgets --- */

/* One that has not begun is the youngest of all. */
static int64_t begin_of(const struct neap_pod *pod)
{
	return pod->started_usec ? pod->started_usec : INT64_MAX;
}

static int by_importance(const void *a, const void *b)
{
	const struct neap_pod *x = ((const struct candidate *)a)->pod;
	const struct neap_pod *y = ((const struct candidate *)b)->pod;

	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	if (begin_of(x) != begin_of(y))
		return begin_of(x) < begin_of(y) ? -1 : 1;
	return neap_object_compare(x->object, y->object->ns, y->object->name);
}

/* A pod without labels is in no budget, whatever its selector, and one already counted as
 * gone takes nothing from it. */
static bool is_protected(const struct neap_cluster_budget *budget,
			 const struct neap_object *object)
{
	return budget->selector && object->label_count &&
	       neap_object_is_selected(object, budget->selector) &&
	       !json_object_get(budget->disrupted, object->name);
}

/* The budgets' allowance goes to the most important pods: the others would violate
 * them. */
static void mark_violations(struct trial *trial)
{
	const struct neap_cluster *cluster = neap_decide_cluster(trial->decide);
	struct neap_cluster_budget *budget;

	for (size_t i = 0; i < trial->count; i++) {
		budget = neap_cluster_budgets(cluster, trial->of[i].pod->object->ns);
		for (; budget; budget = budget->next)
			budget->left = budget->allowed;
	}
	for (size_t i = 0; i < trial->count; i++) {
		struct candidate *candidate = &trial->of[i];
		const struct neap_object *object = candidate->pod->object;

		budget = neap_cluster_budgets(cluster, object->ns);
		for (; budget; budget = budget->next)
			if (is_protected(budget, object) && --budget->left < 0)
				candidate->violates = true;
	}
}

/* --- one node --- */

static void put_back(struct trial *trial, struct candidate *candidate)
{
	neap_cluster_put_back(neap_decide_cluster(trial->decide), candidate->pod,
			      trial->node);
	candidate->goes = false;
}

static void lift(struct trial *trial, struct candidate *candidate)
{
	(void)neap_cluster_lift(neap_decide_cluster(trial->decide), candidate->pod);
	candidate->goes = true;
}

bool neap_decide_is_spared(const struct neap_pod *pod)
{
	const char *says = neap_object_label(pod->object, KEY_SPARED);

	return pod->keep || (says && strcmp(says, "true") == 0);
}

static void collect(struct trial *trial)
{
	trial->count = 0;
	for (size_t i = 0; i < trial->node->pod_count; i++) {
		struct neap_pod *other = trial->node->pods[i];

		/* One whose binding is on its way cannot be taken back. */
		if (other->priority >= trial->pod->priority || other->seat.is_assumed ||
		    neap_decide_is_spared(other) || trial->count == CANDIDATES_MAX)
			continue;
		trial->of[trial->count++] = (struct candidate){.pod = other};
	}
}

static void reprieve(struct trial *trial, bool violates)
{
	for (size_t i = 0; i < trial->count; i++) {
		struct candidate *candidate = &trial->of[i];

		if (candidate->violates != violates)
			continue;
		put_back(trial, candidate);
		if (!neap_decide_fits(trial->decide, trial->node->row))
			lift(trial, candidate);
	}
}

/* Whether room can be made on the node; the candidates that go are those who would have
 * to. Everybody is on the node again. */
static bool try_node(struct trial *trial)
{
	bool helps;

	collect(trial);
	if (!trial->count)
		return false;
	qsort(trial->of, trial->count, sizeof(*trial->of), by_importance);
	mark_violations(trial);
	for (size_t i = 0; i < trial->count; i++)
		lift(trial, &trial->of[i]);
	helps = neap_decide_fits(trial->decide, trial->node->row);
	if (helps) {
		reprieve(trial, true);
		reprieve(trial, false);
	}
	for (size_t i = 0; i < trial->count; i++)
		if (trial->of[i].goes)
			neap_cluster_put_back(neap_decide_cluster(trial->decide),
					      trial->of[i].pod, trial->node);
	/* When the steps are used up, nobody knows whether other pods have to go. */
	return helps && neap_decide_cycle(trial->decide)->steps >= 0;
}

static struct price price_of(const struct trial *trial)
{
	struct price price = {.highest = INT32_MIN, .started_usec = INT64_MAX};

	for (size_t i = 0; i < trial->count; i++) {
		const struct candidate *candidate = &trial->of[i];
		const struct neap_pod *pod = candidate->pod;

		if (!candidate->goes)
			continue;
		price.count++;
		price.violations += candidate->violates;
		price.sum += (int64_t)pod->priority + INT32_MAX + 1;
		if (pod->priority > price.highest) {
			price.highest = pod->priority;
			price.started_usec = begin_of(pod);
		} else if (pod->priority == price.highest &&
			   begin_of(pod) < price.started_usec) {
			price.started_usec = begin_of(pod);
		}
	}
	return price;
}

static bool is_better(const struct price *a, const struct price *b)
{
	if (a->violations != b->violations)
		return a->violations < b->violations;
	if (a->highest != b->highest)
		return a->highest < b->highest;
	if (a->sum != b->sum)
		return a->sum < b->sum;
	if (a->count != b->count)
		return a->count < b->count;
	return a->started_usec > b->started_usec;
}

/* --- all of them --- */

static bool keep_victims(struct neap_cycle *cycle, const struct trial *trial,
			 struct neap_victims *victims)
{
	*victims =
		(struct neap_victims){.row = trial->node->row, .node = trial->node->name};
	victims->pods =
		neap_arena_array(&cycle->arena, trial->count, sizeof(struct neap_pod *));
	for (size_t i = 0; victims->pods && i < trial->count; i++) {
		if (!trial->of[i].goes)
			continue;
		victims->pods[victims->count++] = trial->of[i].pod;
		victims->violations += trial->of[i].violates;
	}
	return victims->pods != NULL;
}

/* Fewer pods do not help when the node is too small without any, or when no node has the
 * resource. */
static bool may_help(const struct neap_cycle *cycle, const struct neap_refusal *refusal)
{
	uint32_t resource = refusal->code & NEAP_REASON_ARG;
	const int64_t *allocatable = NULL;

	if (refusal->code >> NEAP_REASON_SHIFT != NEAP_REASON_INSUFFICIENT)
		return neap_decide_can_help(refusal->code);
	if (resource < NEAP_RESOURCES_MAX)
		allocatable = cycle->columns->allocatable[resource];
	return allocatable &&
	       neap_pod_request(cycle->pod, resource) <= allocatable[refusal->row];
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Finds rows, in order, on which fewer pods could end every refusal; refusals of a row
 * are adjacent. */
static size_t find_rows(struct neap_cycle *cycle, uint32_t *rows)
{
	size_t count = 0;

	for (size_t i = 0; i < cycle->refusal_count;) {
		uint32_t row = cycle->refusals[i].row;
		bool helps = true;

		for (; i < cycle->refusal_count && cycle->refusals[i].row == row; i++)
			helps &= may_help(cycle, &cycle->refusals[i]);
		if (helps)
			rows[count++] = row;
	}
	qsort(rows, count, sizeof(*rows), by_number);
	return count;
}

/* A pod that someone else deleted may take longer than the pod can wait. */
static bool makes_room(const struct neap_pod *other)
{
	return other->object->is_deleting &&
	       (other->is_preempted || other->seat.is_victim);
}

/* Whether a victim of before is still on its way out of the node that was made free. */
static bool waits(const struct neap_decide *decide, const struct neap_pod *pod,
		  const uint32_t *rows, size_t count)
{
	const struct neap_cluster_node *node =
		neap_cluster_find_node(neap_decide_cluster(decide), pod->nominated);
	bool is_among = false;

	for (size_t i = 0; node && i < count; i++)
		is_among |= rows[i] == node->row;
	for (size_t i = 0; is_among && i < node->pod_count; i++)
		if (makes_room(node->pods[i]) && node->pods[i]->priority < pod->priority)
			return true;
	return false;
}

/* A number of nodes, and what applies to them. */
struct said {
	char text[64];
};

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct said *)a)->text, ((const struct said *)b)->text);
}

static void tell_none(struct neap_decide *decide, struct neap_cycle *cycle, size_t rows,
		      size_t untried)
{
	size_t nodes = neap_decide_nodes(decide), size = 256, len, count = 0;
	const struct {
		size_t nodes;
		const char *text;
	} all[] = {{rows - untried, "No preemption victims found for incoming pod"},
		   {untried, "node(s) not tried yet"},
		   {nodes - rows, "Preemption is not helpful for scheduling"}};
	struct said said[NEAP_ARRAY_LEN(all)] = {0};
	char *text = neap_arena_alloc(&cycle->arena, size);

	if (!text)
		return;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(all); i++)
		if (all[i].nodes)
			(void)snprintf(said[count++].text, sizeof(said->text), "%zu %s",
				       all[i].nodes, all[i].text);
	qsort(said, count, sizeof(*said), by_text);
	len = (size_t)snprintf(text, size, "0/%zu nodes are available: ", nodes);
	for (size_t i = 0; i < count; i++)
		len += (size_t)snprintf(text + len, size - len, "%s%s", said[i].text,
					i + 1 < count ? ", " : ".");
	neap_decide_set_end(decide, text);
}

static bool is_far(const struct neap_pod *pod)
{
	return pod->spread_count || pod->near[NEAP_NEAR_REQUIRED].count ||
	       pod->near[NEAP_AWAY_REQUIRED].count;
}

/* So many nodes where it would help are compared. */
static int64_t enough(const struct neap_decide *decide,
		      const struct neap_settings_trials *trials)
{
	int64_t nodes = (int64_t)neap_decide_nodes(decide);
	int64_t count = nodes * trials->percent / 100;

	return count > trials->least ? count : trials->least;
}

/* Returns the position of row, or of the next one. */
static size_t find_from(const uint32_t *rows, size_t count, uint32_t row)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rows[middle] < row)
			low = middle + 1;
		else
			high = middle;
	}
	return low % count;
}

/* Chooses the nodes for this attempt, from *ret_first on. Not all pods start with the
 * same one. */
static size_t find_turn(struct neap_pod *pod, const uint32_t *rows, size_t count,
			uint64_t generation, size_t *ret_first)
{
	size_t left;

	*ret_first = 0;
	if (!count)
		return 0;
	if (pod->trials_next == pod->trials_begin)
		pod->trials_next = pod->trials_begin = rows[generation % count];
	*ret_first = find_from(rows, count, pod->trials_next);
	left = (find_from(rows, count, pod->trials_begin) + count - *ret_first) % count;
	return left ? left : count;
}

static int try_all(struct neap_decide *decide, struct neap_pod *pod, const uint32_t *rows,
		   size_t count, struct neap_victims *ret, struct neap_error *err)
{
	size_t left = is_far(pod) ? NEAP_PREEMPT_TRIALS_FAR : NEAP_PREEMPT_TRIALS;
	struct neap_cycle *cycle = neap_decide_cycle(decide);
	struct trial *trial = neap_alloc(sizeof(*trial));
	struct price best = {0};
	size_t first, turn, at;
	int64_t wanted = enough(decide, neap_pod_is_stand(pod)
						? &cycle->settings->reservation_trials
						: &cycle->settings->trials);
	int found = 0;

	if (!trial)
		return neap_error_nomem(err);
	trial->decide = decide;
	trial->pod = pod;
	turn = find_turn(pod, rows, count,
			 neap_cluster_generation(neap_decide_cluster(decide)), &first);
	for (at = 0; at < turn && left && wanted && cycle->steps >= 0; at++) {
		struct price price;
		bool helps;

		trial->node = cycle->columns->nodes[rows[(first + at) % count]];
		helps = try_node(trial);
		left -= trial->count > 0;
		if (!helps)
			continue;
		wanted--;
		price = price_of(trial);
		if (found && !is_better(&price, &best))
			continue;
		best = price;
		found = 1;
		if (!keep_victims(cycle, trial, ret))
			cycle->is_short = true;
	}
	free(trial);
	ret->untried = found ? 0 : turn - at;
	pod->trials_next = ret->untried ? rows[(first + at) % count] : pod->trials_begin;
	(void)neap_cluster_settle(neap_decide_cluster(decide));
	return cycle->is_short ? neap_error_nomem(err) : found;
}

/* How long a pod waits that fits where owners alone decide, when a policy failed only
 * here: until then it has not been asked more. */
#define AGAIN_USEC 1000000

/* Reservations that are full become the pod's to make room in where policies open them.
 * 0: it needs no room to be made; 1: go on. */
static int open_full(struct neap_decide *decide, struct neap_error *err)
{
	struct neap_cycle *cycle = neap_decide_cycle(decide);
	int rc = neap_kept_open_full(cycle, UINT32_MAX, err);
	bool fits;

	if (rc <= 0)
		return rc < 0 ? rc : 1;
	fits = neap_decide_look_again(decide);
	if (cycle->is_short)
		return neap_error_nomem(err);
	if (fits)
		cycle->kept.again_usec = cycle->now_usec + AGAIN_USEC;
	return !fits;
}

int neap_decide_preempt(struct neap_decide *decide, struct neap_pod *pod,
			struct neap_victims *ret, struct neap_error *err)
{
	struct neap_cycle *cycle = neap_decide_cycle(decide);
	neap_auto_free uint32_t *rows = NULL;
	size_t count;
	int found;

	*ret = (struct neap_victims){0};
	if (neap_pod_is_stand(pod) ? !cycle->settings->reservations_preempt
				   : cycle->settings->never_preempts)
		return 0;
	if (!pod->may_preempt) {
		neap_decide_set_end(decide,
				    "not eligible due to preemptionPolicy=Never.");
		return 0;
	}
	found = open_full(decide, err);
	if (found <= 0)
		return found;
	rows = neap_alloc_array(cycle->refusal_count, sizeof(*rows));
	if (!rows)
		return neap_error_nomem(err);
	count = find_rows(cycle, rows);
	if (waits(decide, pod, rows, count)) {
		neap_decide_set_end(
			decide,
			"not eligible due to a terminating pod on the nominated node.");
		*ret = (struct neap_victims){.node = pod->nominated};
		return 1;
	}
	/* As in the decision, the pod may use what is reserved for it. */
	neap_kept_lift(cycle);
	found = try_all(decide, pod, rows, count, ret, err);
	neap_kept_put_back(cycle);
	if (found == 0)
		tell_none(decide, cycle, count, ret->untried);
	return found;
}

/* --- victims that somebody else chose --- */

int neap_decide_without(struct neap_decide *decide, const struct neap_pod *pod,
			uint32_t row, struct neap_pod *const *gone, size_t count,
			struct neap_error *err)
{
	struct neap_cycle *cycle = neap_decide_cycle(decide);
	struct neap_cluster *cluster = neap_decide_cluster(decide);
	struct neap_cluster_node *node;
	int failed = neap_decide_begin(decide, pod, err);
	bool fits;

	if (failed < 0)
		return failed;
	neap_kept_put_back(cycle);
	failed = neap_kept_open_full(cycle, row, err);
	neap_kept_lift(cycle);
	if (failed < 0) {
		neap_decide_finish(decide);
		return failed;
	}
	node = cycle->columns->nodes[row];
	for (size_t i = 0; i < count; i++)
		(void)neap_cluster_lift(cluster, gone[i]);
	fits = neap_decide_fits(decide, row);
	for (size_t i = count; i > 0; i--)
		neap_cluster_put_back(cluster, gone[i - 1], node);
	neap_decide_finish(decide);
	cycle->columns = neap_cluster_settle(cluster);
	return cycle->is_short ? neap_error_nomem(err) : fits;
}
