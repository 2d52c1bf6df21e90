/* SPDX-License-Identifier: Apache-2.0
 *
 * Both the old and the new names of the reference are written, as it does itself. */
#include "api/deschedule/figures.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/map.h"
#include "engine/base/mem.h"

#define COMBINATIONS_MAX 5000

static const int64_t bounds_usec[NEAP_FIGURE_BOUNDS] = {
	1000, 10000, 50000, 100000, 500000, 1000000, 5000000, 30000000, 120000000};

static void free_all(struct neap_map *map)
{
	for (size_t i = 0; map && i < neap_map_count(map); i++)
		free(neap_map_at(map, i, NULL));
	neap_map_free(map);
}

void neap_deschedule_figures_done(struct neap_deschedule_figures *figures)
{
	free_all(figures->evicted);
	free_all(figures->strategies);
	figures->evicted = figures->strategies = NULL;
}

/* The value of a key, made with zeros when it is new; NULL without memory. */
static void *value_of(struct neap_map **map, const char *key, size_t size)
{
	void *value;

	if (!*map)
		*map = neap_map_new();
	value = *map ? neap_map_find(*map, key) : NULL;
	if (value || !*map)
		return value;
	value = neap_alloc(size);
	if (value && !neap_map_set(*map, key, value)) {
		free(value);
		return NULL;
	}
	return value;
}

/* Texts of a configuration may have what labels may not. */
static void add_label(char *key, size_t size, const char *name, const char *value)
{
	size_t at = strlen(key);

	(void)snprintf(key + at, size - at, "%s%s=\"", at ? "," : "", name);
	for (at = strlen(key); *value && at + 2 < size; value++)
		key[at++] = (char)(strchr("\"\\\n", *value) ? '_' : *value);
	(void)snprintf(key + at, size - at, "\"");
}

void neap_figure_evicted(struct neap_deschedule_figures *figures, const char *result,
			 const char *strategy, const char *profile, const char *ns,
			 const char *node)
{
	bool is_full =
		figures->evicted && neap_map_count(figures->evicted) >= COMBINATIONS_MAX;
	char key[1024] = "";
	uint64_t *count;

	add_label(key, sizeof(key), "result", result);
	add_label(key, sizeof(key), "strategy", strategy);
	add_label(key, sizeof(key), "profile", profile);
	add_label(key, sizeof(key), "namespace", is_full ? "other" : ns);
	add_label(key, sizeof(key), "node", is_full ? "other" : node);
	count = value_of(&figures->evicted, key, sizeof(*count));
	if (count)
		++*count;
}

static void add(struct neap_duration_figure *figure, int64_t usec)
{
	size_t i = 0;

	while (i < NEAP_FIGURE_BOUNDS && usec > bounds_usec[i])
		i++;
	figure->counts[i]++;
	figure->count++;
	figure->usec += usec;
}

void neap_figure_loop(struct neap_deschedule_figures *figures, int64_t usec)
{
	add(&figures->loop, usec);
}

void neap_figure_strategy(struct neap_deschedule_figures *figures, const char *strategy,
			  const char *profile, int64_t usec)
{
	struct neap_duration_figure *figure;
	char key[512] = "";

	add_label(key, sizeof(key), "strategy", strategy);
	add_label(key, sizeof(key), "profile", profile);
	figure = value_of(&figures->strategies, key, sizeof(*figure));
	if (figure)
		add(figure, usec);
}

/* --- writing --- */

static void head(struct neap_buf *out, const char *name, const char *type,
		 const char *help)
{
	neap_buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_duration(const struct neap_duration_figure *figure, const char *name,
			   const char *labels, struct neap_buf *out)
{
	const char *comma = *labels ? "," : "";
	uint64_t count = 0;

	for (size_t i = 0; i < NEAP_FIGURE_BOUNDS; i++) {
		count += figure->counts[i];
		neap_buf_addf(out, "%s_bucket{%s%sle=\"%g\"} %" PRIu64 "\n", name, labels,
			      comma, (double)bounds_usec[i] / 1e6, count);
	}
	neap_buf_addf(out, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, labels,
		      comma, figure->count);
	neap_buf_addf(out, "%s_sum%s%s%s %.6f\n", name, *labels ? "{" : "", labels,
		      *labels ? "}" : "", (double)figure->usec / 1e6);
	neap_buf_addf(out, "%s_count%s%s%s %" PRIu64 "\n", name, *labels ? "{" : "",
		      labels, *labels ? "}" : "", figure->count);
}

static void write_evicted(const struct neap_deschedule_figures *figures, const char *name,
			  const char *help, struct neap_buf *out)
{
	head(out, name, "counter", help);
	for (size_t i = 0; figures->evicted && i < neap_map_count(figures->evicted);
	     i++) {
		const char *key = NULL;
		const uint64_t *count = neap_map_at(figures->evicted, i, &key);

		neap_buf_addf(out, "%s{%s} %" PRIu64 "\n", name, key, *count);
	}
}

static void write_strategies(const struct neap_deschedule_figures *figures,
			     const char *name, const char *help, struct neap_buf *out)
{
	head(out, name, "histogram", help);
	for (size_t i = 0; figures->strategies && i < neap_map_count(figures->strategies);
	     i++) {
		const char *key = NULL;
		const struct neap_duration_figure *figure =
			neap_map_at(figures->strategies, i, &key);

		write_duration(figure, name, key, out);
	}
}

static void write_loop(const struct neap_deschedule_figures *figures, const char *name,
		       const char *help, struct neap_buf *out)
{
	head(out, name, "histogram", help);
	write_duration(&figures->loop, name, "", out);
}

void neap_deschedule_figures_write(const struct neap_deschedule_figures *figures,
				   struct neap_buf *out)
{
	write_evicted(figures, "descheduler_pods_evicted",
		      "Pods that were evicted, or could not be; the old name.", out);
	write_evicted(figures, "descheduler_pods_evicted_total",
		      "Pods that were evicted, or could not be.", out);
	write_loop(figures, "descheduler_descheduler_loop_duration_seconds",
		   "Time of a round; the old name.", out);
	write_loop(figures, "descheduler_loop_duration_seconds", "Time of a round.", out);
	write_strategies(figures, "descheduler_descheduler_strategy_duration_seconds",
			 "Time of a strategy in a round; the old name.", out);
	write_strategies(figures, "descheduler_strategy_duration_seconds",
			 "Time of a strategy in a round.", out);
	head(out, "neap_deschedule_rounds_total", "counter", "Rounds.");
	neap_buf_addf(out, "neap_deschedule_rounds_total %" PRIu64 "\n", figures->rounds);
	head(out, "neap_deschedule_strategy_failures_total", "counter",
	     "Strategies that failed or were stopped in a round.");
	neap_buf_addf(out, "neap_deschedule_strategy_failures_total %" PRIu64 "\n",
		      figures->failed);
	head(out, "neap_deschedule_prometheus_queries_total", "counter",
	     "Queries to Prometheus for strategies.");
	neap_buf_addf(out,
		      "neap_deschedule_prometheus_queries_total{result=\"success\"} "
		      "%" PRIu64 "\n"
		      "neap_deschedule_prometheus_queries_total{result=\"error\"} "
		      "%" PRIu64 "\n",
		      figures->queries[0], figures->queries[1]);
}
