/* SPDX-License-Identifier: Apache-2.0
 *
 * Affinity between pods and spreading against a slow second computation that goes through
 * all pods every time, in clusters that change at random: pods come, go, are on their way
 * out or assumed; nodes come, go and are labelled anew. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/decide/decide.h"
#include "t/lib/cluster_rig.h"

#define NODES  23
#define PODS   70
#define STEPS  1200
#define ROUNDS 4

static uint32_t seed;

static uint32_t roll(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)(((uint64_t)(seed >> 8) * below) >> 24);
}

/* --- the world --- */

static const char *const keys[] = {"zone", "rack", "host", "nobody"};
static const char *const spaces[] = {"default", "dev"};
static const char *const apps[] = {"web", "db", "log"};

static void set_node(struct neap_cluster *cluster, int i)
{
	char name[16], meta[256], zone[32] = "", rack[32] = "";

	(void)snprintf(name, sizeof(name), "n%d", i);
	if (roll(7))
		(void)snprintf(zone, sizeof(zone), ",'zone':'z%u'", roll(4));
	if (roll(5))
		(void)snprintf(rack, sizeof(rack), ",'rack':'r%u'", roll(5));
	(void)snprintf(meta, sizeof(meta), "'labels':{'host':'n%d'%s%s}", i, zone, rack);
	(void)cluster_set_node(cluster, name, meta, "{}", "'pods':'1000'");
}

static size_t add_term(char *text, size_t size, bool is_preferred)
{
	char term[256], ns[64] = "";

	if (!roll(3))
		(void)snprintf(ns, sizeof(ns), ",'namespaces':['%s']", spaces[roll(2)]);
	else if (!roll(3))
		(void)snprintf(ns, sizeof(ns),
			       ",'namespaceSelector':{'matchLabels':{'of':'%s'}}",
			       spaces[roll(2)]);
	(void)snprintf(
		term, sizeof(term),
		"{'labelSelector':{'matchLabels':{'app':'%s'}},'topologyKey':'%s'%s}",
		apps[roll(3)], keys[roll(4)], ns);
	if (!is_preferred)
		return (size_t)snprintf(text, size, "%s", term);
	return (size_t)snprintf(text, size, "{'weight':%u,'podAffinityTerm':%s}",
				1 + roll(100), term);
}

static size_t add_terms(char *text, size_t size, const char *name)
{
	size_t len = (size_t)snprintf(text, size, "'%s':{", name);
	bool is_any = false;

	for (int preferred = 0; preferred < 2; preferred++) {
		uint32_t count = roll(3) ? 0 : 1 + roll(2);

		if (!count)
			continue;
		len += (size_t)snprintf(text + len, size - len,
					"%s'%sDuringSchedulingIgnoredDuringExecution':[",
					is_any ? "," : "",
					preferred ? "preferred" : "required");
		for (uint32_t i = 0; i < count; i++) {
			if (i)
				len += (size_t)snprintf(text + len, size - len, ",");
			len += add_term(text + len, size - len, preferred);
		}
		len += (size_t)snprintf(text + len, size - len, "]");
		is_any = true;
	}
	return len + (size_t)snprintf(text + len, size - len, "}");
}

static size_t add_spreads(char *text, size_t size)
{
	uint32_t count = 1 + roll(3);
	size_t len = (size_t)snprintf(text, size, ",'topologySpreadConstraints':[");

	for (uint32_t i = 0; i < count; i++)
		len += (size_t)snprintf(
			text + len, size - len,
			"%s{'maxSkew':%u,'topologyKey':'%s','whenUnsatisfiable':'%s'%s,"
			"'labelSelector':{'matchLabels':{'app':'%s'}}}",
			i ? "," : "", 1 + roll(3), keys[roll(3)],
			roll(2) ? "DoNotSchedule" : "ScheduleAnyway",
			roll(4) ? "" : ",'minDomains':4", apps[roll(3)]);
	return len + (size_t)snprintf(text + len, size - len, "]");
}

/* node -1: it waits. */
static void set_pod(struct neap_cluster *cluster, const char *name, int node)
{
	char spec[4096] = "{", meta[128];
	struct neap_object *object;
	struct neap_error err = {0};
	unsigned moved;
	size_t len = 1;

	(void)snprintf(meta, sizeof(meta), "'labels':{'app':'%s'}%s", apps[roll(3)],
		       node >= 0 && !roll(8)
			       ? ",'deletionTimestamp':'2026-01-01T00:00:00Z'"
			       : "");
	len += (size_t)snprintf(spec + len, sizeof(spec) - len, "'nodeName':'");
	if (node >= 0)
		len += (size_t)snprintf(spec + len, sizeof(spec) - len, "n%d", node);
	len += (size_t)snprintf(spec + len, sizeof(spec) - len, "'");
	if (!roll(2)) {
		len += (size_t)snprintf(spec + len, sizeof(spec) - len, ",'affinity':{");
		len += add_terms(spec + len, sizeof(spec) - len, "podAffinity");
		len += (size_t)snprintf(spec + len, sizeof(spec) - len, ",");
		len += add_terms(spec + len, sizeof(spec) - len, "podAntiAffinity");
		len += (size_t)snprintf(spec + len, sizeof(spec) - len, "}");
	}
	if (!roll(2))
		len += add_spreads(spec + len, sizeof(spec) - len);
	(void)snprintf(spec + len, sizeof(spec) - len, "}");
	object = cluster_object(name, spaces[roll(2)], meta, spec, "{}");
	if (neap_cluster_set_pod(cluster, object, &moved, &err) < 0)
		fail_msg("%s", err.msg);
	(void)neap_object_unref(object);
}

static void remove_pod(struct neap_cluster *cluster, const char *name)
{
	unsigned moved;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(spaces); i++)
		neap_cluster_remove_pod(cluster, spaces[i], name, &moved);
}

static void move(struct neap_cluster *cluster)
{
	int node = (int)roll(NODES);
	char name[16];

	(void)snprintf(name, sizeof(name), "p%u", roll(PODS));
	switch (roll(8)) {
	case 0:
		set_node(cluster, node);
		break;
	case 1:
		(void)snprintf(name, sizeof(name), "n%d", node);
		neap_cluster_remove_node(cluster, name);
		break;
	case 2:
	case 3:
		remove_pod(cluster, name);
		break;
	default:
		remove_pod(cluster, name);
		set_pod(cluster, name, node);
	}
}

/* --- the slow way --- */

struct slow {
	const struct neap_cluster *cluster;
	const struct neap_columns *columns;
	const struct neap_pod *pod;
};

static const char *label(const struct slow *slow, uint32_t row, const char *key)
{
	return neap_object_label(slow->columns->nodes[row]->object, key);
}

static bool is_there(const struct slow *slow, uint32_t row)
{
	return slow->columns->nodes[row] && slow->columns->nodes[row]->object;
}

static bool takes(const struct slow *slow, const struct neap_pod_term *term,
		  const struct neap_pod *other)
{
	return neap_pod_term_takes(
		term, other,
		neap_cluster_find_namespace(slow->cluster, other->object->ns));
}

static bool takes_all(const struct slow *slow, const struct neap_pod *other)
{
	const struct neap_pod_terms *near = &slow->pod->near[NEAP_NEAR_REQUIRED];

	for (size_t i = 0; i < near->count; i++)
		if (!takes(slow, &near->terms[i], other))
			return false;
	return true;
}

static bool is_same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

typedef int64_t asking(const struct slow *slow, const struct neap_pod *other,
		       size_t term);

/* Summed up over all pods in the domain of row; row UINT32_MAX: in any domain. */
static int64_t sum(const struct slow *slow, const char *key, uint32_t row, asking *what,
		   size_t term)
{
	int64_t ret = 0;

	for (uint32_t at = 0; at < slow->columns->rows; at++) {
		const struct neap_cluster_node *node = slow->columns->nodes[at];

		if (!is_there(slow, at) || !label(slow, at, key) ||
		    (row != UINT32_MAX &&
		     !is_same(label(slow, at, key), label(slow, row, key))))
			continue;
		for (size_t i = 0; i < node->pod_count; i++)
			ret += what(slow, node->pods[i], term);
	}
	return ret;
}

static int64_t about_near(const struct slow *slow, const struct neap_pod *other,
			  size_t term)
{
	(void)term;
	return takes_all(slow, other);
}

static int64_t about_away(const struct slow *slow, const struct neap_pod *other,
			  size_t term)
{
	return takes(slow, &slow->pod->near[NEAP_AWAY_REQUIRED].terms[term], other);
}

/* By the number of a key. */
static int64_t about_other(const struct slow *slow, const struct neap_pod *other,
			   size_t key)
{
	const struct neap_pod_terms *away = &other->near[NEAP_AWAY_REQUIRED];
	int64_t ret = 0;

	for (size_t i = 0; i < away->count; i++)
		ret += strcmp(away->terms[i].topology_key, keys[key]) == 0 &&
		       takes(slow, &away->terms[i], slow->pod);
	return ret;
}

static int64_t weigh(const struct slow *slow, const struct neap_pod_terms *terms,
		     const struct neap_pod *about, size_t key, int64_t required)
{
	int64_t ret = 0;

	for (size_t i = 0; i < terms->count; i++)
		if (strcmp(terms->terms[i].topology_key, keys[key]) == 0 &&
		    takes(slow, &terms->terms[i], about))
			ret += required ? required : terms->terms[i].weight;
	return ret;
}

static int64_t about_wishes(const struct slow *slow, const struct neap_pod *other,
			    size_t key)
{
	const struct neap_pod *pod = slow->pod;

	return weigh(slow, &pod->near[NEAP_NEAR_PREFERRED], other, key, 0) -
	       weigh(slow, &pod->near[NEAP_AWAY_PREFERRED], other, key, 0) +
	       weigh(slow, &other->near[NEAP_NEAR_REQUIRED], pod, key, 1) +
	       weigh(slow, &other->near[NEAP_NEAR_PREFERRED], pod, key, 0) -
	       weigh(slow, &other->near[NEAP_AWAY_PREFERRED], pod, key, 0);
}

static bool fits_near(const struct slow *slow, uint32_t row)
{
	const struct neap_pod_terms *near = &slow->pod->near[NEAP_NEAR_REQUIRED];
	const struct neap_pod_terms *away = &slow->pod->near[NEAP_AWAY_REQUIRED];
	bool has_all = true, is_first = takes_all(slow, slow->pod);

	for (size_t i = 0; i < near->count; i++) {
		const char *key = near->terms[i].topology_key;

		if (!label(slow, row, key))
			return false;
		has_all &= sum(slow, key, row, about_near, i) > 0;
		is_first &= sum(slow, key, UINT32_MAX, about_near, i) == 0;
	}
	if (!has_all && !is_first)
		return false;
	for (size_t i = 0; i < away->count; i++) {
		const char *key = away->terms[i].topology_key;

		if (label(slow, row, key) && sum(slow, key, row, about_away, i))
			return false;
	}
	for (size_t key = 0; key < NEAP_ARRAY_LEN(keys); key++)
		if (label(slow, row, keys[key]) &&
		    sum(slow, keys[key], row, about_other, key))
			return false;
	return true;
}

static bool has_keys(const struct slow *slow, uint32_t row, bool is_required)
{
	for (size_t i = 0; i < slow->pod->spread_count; i++)
		if (slow->pod->spreads[i].is_required == is_required &&
		    !label(slow, row, slow->pod->spreads[i].topology_key))
			return false;
	return true;
}

/* In the domain of row, of nodes that have all keys. */
static int64_t count(const struct slow *slow, const struct neap_spread *spread,
		     uint32_t row)
{
	int64_t ret = 0;

	for (uint32_t at = 0; at < slow->columns->rows; at++) {
		const struct neap_cluster_node *node = slow->columns->nodes[at];

		if (!is_there(slow, at) || !has_keys(slow, at, spread->is_required) ||
		    !is_same(label(slow, at, spread->topology_key),
			     label(slow, row, spread->topology_key)))
			continue;
		for (size_t i = 0; i < node->pod_count; i++) {
			const struct neap_object *object = node->pods[i]->object;

			ret += !object->is_deleting &&
			       strcmp(object->ns, slow->pod->object->ns) == 0 &&
			       neap_object_is_selected(object, spread->selector);
		}
	}
	return ret;
}

/* How many domains rows have, and the least count in one. */
static int64_t domains(const struct slow *slow, const struct neap_spread *spread,
		       int64_t *ret_least)
{
	int64_t ret = 0;

	*ret_least = INT64_MAX;
	for (uint32_t row = 0; row < slow->columns->rows; row++) {
		bool is_new =
			is_there(slow, row) && has_keys(slow, row, spread->is_required);
		int64_t here;

		for (uint32_t at = 0; is_new && at < row; at++)
			is_new = !is_there(slow, at) ||
				 !has_keys(slow, at, spread->is_required) ||
				 !is_same(label(slow, at, spread->topology_key),
					  label(slow, row, spread->topology_key));
		if (!is_new)
			continue;
		here = count(slow, spread, row);
		*ret_least = here < *ret_least ? here : *ret_least;
		ret++;
	}
	return ret;
}

static bool fits_spread(const struct slow *slow, uint32_t row)
{
	for (size_t i = 0; i < slow->pod->spread_count; i++) {
		const struct neap_spread *spread = &slow->pod->spreads[i];
		int64_t least, there, here;

		if (!spread->is_required)
			continue;
		if (!label(slow, row, spread->topology_key))
			return false;
		there = domains(slow, spread, &least);
		if (!there || there < spread->min_domains)
			least = 0;
		here = count(slow, spread, row) +
		       neap_object_is_selected(slow->pod->object, spread->selector);
		if (here - least > spread->max_skew)
			return false;
	}
	return true;
}

static void score_wishes(const struct slow *slow, const uint32_t *rows, size_t count,
			 int64_t *ret)
{
	int64_t most = INT64_MIN, least = INT64_MAX;

	for (size_t i = 0; i < count; i++) {
		ret[i] = 0;
		for (size_t key = 0; key < NEAP_ARRAY_LEN(keys); key++)
			if (label(slow, rows[i], keys[key]))
				ret[i] +=
					sum(slow, keys[key], rows[i], about_wishes, key);
		most = ret[i] > most ? ret[i] : most;
		least = ret[i] < least ? ret[i] : least;
	}
	for (size_t i = 0; i < count; i++)
		ret[i] = most == least ? 0 : 100 * (ret[i] - least) / (most - least);
}

static void score_spread(const struct slow *slow, const uint32_t *rows, size_t rows_count,
			 int64_t *ret)
{
	int64_t most = 0, least = INT64_MAX, there;
	bool has_any = false;

	for (size_t i = 0; i < slow->pod->spread_count; i++)
		has_any |= !slow->pod->spreads[i].is_required;
	for (size_t n = 0; n < rows_count; n++) {
		double points = 0;

		ret[n] = has_any ? -1 : 0;
		if (!has_any || !has_keys(slow, rows[n], false))
			continue;
		for (size_t i = 0; i < slow->pod->spread_count; i++) {
			const struct neap_spread *spread = &slow->pod->spreads[i];

			if (spread->is_required)
				continue;
			there = domains(slow, spread, &least);
			points += (double)count(slow, spread, rows[n]) *
					  log((double)there + 2) +
				  spread->max_skew - 1;
		}
		ret[n] = (int64_t)llround(points);
	}
	least = INT64_MAX;
	for (size_t n = 0; n < rows_count; n++) {
		most = ret[n] > most ? ret[n] : most;
		least = ret[n] >= 0 && ret[n] < least ? ret[n] : least;
	}
	for (size_t n = 0; has_any && n < rows_count; n++)
		ret[n] = ret[n] < 0 ? 0
			 : most     ? 100 * (most + least - ret[n]) / most
				    : 100;
}

/* --- both --- */

struct both {
	struct neap_cluster *cluster;
	struct neap_decide *fits, *spread, *wishes;
	size_t refused, allowed, scored;
};

static void compare_scores(struct both *both, struct neap_decide *decide,
			   const struct slow *slow, const uint32_t *rows, size_t count,
			   void (*score)(const struct slow *slow, const uint32_t *rows,
					 size_t count, int64_t *ret))
{
	int64_t points[NODES];
	struct neap_verdict verdict;
	struct neap_error err;

	assert_int_equal(
		neap_decide_scores(decide, slow->pod, rows, count, &verdict, &err), 0);
	score(slow, rows, count, points);
	for (size_t i = 0; i < count; i++) {
		if (verdict.scores[i] != points[i])
			fail_msg("%s on %s: %lld points, want %lld in %s",
				 score == score_spread ? "spread" : "wishes",
				 slow->columns->nodes[rows[i]]->name,
				 (long long)verdict.scores[i], (long long)points[i],
				 slow->pod->object->text);
		both->scored += points[i] > 0 && points[i] < 100;
	}
}

static void compare(struct both *both, const struct neap_pod *pod)
{
	struct slow slow = {both->cluster, neap_cluster_settle(both->cluster), pod};
	uint32_t rows[NODES];
	struct neap_verdict verdict;
	struct neap_error err = {0};
	size_t count = 0, at = 0;

	for (uint32_t row = 0; row < slow.columns->rows; row++)
		if (is_there(&slow, row))
			rows[count++] = row;
	if (!count)
		return;
	assert_int_equal(neap_decide_rows(both->fits, pod, rows, count, &verdict, &err),
			 0);
	for (size_t i = 0; i < count; i++) {
		bool fits = fits_near(&slow, rows[i]) && fits_spread(&slow, rows[i]);
		bool said = at < verdict.count && verdict.rows[at] == rows[i];

		at += said;
		if (fits != said)
			fail_msg("%s: %s, want %s: %s",
				 slow.columns->nodes[rows[i]]->name,
				 said ? "fits" : "does not", fits ? "fits" : "does not",
				 pod->object->text);
		both->allowed += fits;
		both->refused += !fits;
	}
	compare_scores(both, both->spread, &slow, rows, count, score_spread);
	compare_scores(both, both->wishes, &slow, rows, count, score_wishes);
}

/* With one of the scores alone. */
static struct neap_decide *decide_by(struct neap_cluster *cluster, int score)
{
	int weights[NEAP_SCORE_COUNT] = {0};
	const struct neap_decide_config config = {
		.cluster = cluster, .percentage = 100, .weights = weights};
	struct neap_decide *decide = NULL;
	struct neap_error err = {0};

	weights[score] = 1;
	if (neap_decide_new(&config, &decide, &err) < 0)
		fail_msg("%s", err.msg);
	return decide;
}

/* What waits, and then sits somewhere for a while without being told. */
static void step(struct both *both)
{
	struct neap_pod *pod;
	struct neap_error err;
	uint32_t row = roll(NODES);
	const struct neap_columns *columns;

	move(both->cluster);
	remove_pod(both->cluster, "x");
	set_pod(both->cluster, "x", -1);
	pod = neap_cluster_find_pod(both->cluster, spaces[0], "x");
	if (!pod)
		pod = neap_cluster_find_pod(both->cluster, spaces[1], "x");
	compare(both, pod);
	columns = neap_cluster_settle(both->cluster);
	if (row >= columns->rows || !columns->nodes[row])
		return;
	assert_int_equal(neap_cluster_assume(both->cluster, pod, row, &err), 0);
	if (roll(2))
		neap_cluster_forget(both->cluster, pod);
}

static void test_random(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct both both = {.cluster = cluster_new()};

		seed = round + 1;
		both.fits = decide_by(both.cluster, NEAP_SCORE_LEAST_ALLOCATED);
		both.spread = decide_by(both.cluster, NEAP_SCORE_TOPOLOGY_SPREAD);
		both.wishes = decide_by(both.cluster, NEAP_SCORE_INTER_POD_AFFINITY);
		for (size_t i = 0; i < NEAP_ARRAY_LEN(spaces); i++) {
			char meta[64];
			unsigned moved;
			struct neap_object *object;
			struct neap_error err;

			(void)snprintf(meta, sizeof(meta), "'labels':{'of':'%s'}",
				       spaces[i]);
			object = cluster_object(spaces[i], "", meta, "{}", "{}");
			assert_int_equal(neap_cluster_set_namespace(both.cluster, object,
								    &moved, &err),
					 0);
			(void)neap_object_unref(object);
		}
		for (int i = 0; i < NODES; i++)
			set_node(both.cluster, i);
		for (int i = 0; i < STEPS; i++)
			step(&both);
		print_message("# %zu fit, %zu do not, %zu with points between\n",
			      both.allowed, both.refused, both.scored);
		assert_true(both.allowed > STEPS && both.refused > STEPS &&
			    both.scored > STEPS);
		neap_decide_free(both.fits);
		neap_decide_free(both.spread);
		neap_decide_free(both.wishes);
		neap_cluster_free(both.cluster);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
