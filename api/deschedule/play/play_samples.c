/* SPDX-License-Identifier: Apache-2.0
 *
 * Figures of a Prometheus for the strategy that asked for them. Each strategy has a query
 * of its own, so nodes have these figures only while it runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/deschedule/play/play_priv.h"
#include "api/deschedule/play/samples.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

const char *neap_play_query(const json_t *args)
{
	const json_t *metrics = json_object_get(args, "metricsUtilization");
	const char *query =
		neap_json_text(json_object_get(metrics, "prometheus"), "query");

	return neap_json_is_text(metrics, "source", "Prometheus") && *query ? query
									    : NULL;
}

static void drop(struct neap_play_plugin *plugin)
{
	free(neap_steal(plugin->answer));
	neap_samples_free(neap_steal(plugin->samples));
}

static void say_why(struct neap_play_plugin *plugin, const char *why)
{
	(void)snprintf(plugin->unanswered, sizeof(plugin->unanswered), "Prometheus: %.*s",
		       (int)sizeof(plugin->unanswered) - 16, why);
	neap_utf8_trim(plugin->unanswered);
}

void neap_play_answer_take(struct neap_play_plugin *plugin, char *text, size_t len,
			   const char *why)
{
	drop(plugin);
	plugin->is_asked = true;
	plugin->unanswered[0] = '\0';
	plugin->answer = text;
	plugin->answer_len = len;
	if (!text)
		say_why(plugin, why);
}

void neap_play_answer_forget(struct neap_play_plugin *plugin)
{
	drop(plugin);
	plugin->is_asked = false;
}

static void set_all(struct neap_world *world, const struct neap_samples *samples,
		    bool is_there)
{
	for (size_t i = 0; samples && i < samples->count; i++) {
		const struct neap_sample_of_node *sample = &samples->list[i];
		struct neap_world_node *node = neap_world_find_node(world, sample->node);

		if (node)
			node->sample = is_there ? sample->value : -1;
	}
}

static bool lacks_any(const struct neap_round *round)
{
	size_t i = 0;

	while (i < round->node_count && round->nodes[i]->sample >= 0)
		i++;
	return i < round->node_count;
}

int play_samples_set(const struct play_run *run, struct neap_play_plugin *plugin)
{
	char *text = neap_steal(plugin->answer);
	struct neap_error err = {0};

	if (!plugin->query)
		return 0;
	/* The first of several rounds that use this answer. */
	if (text &&
	    neap_samples_parse(text, plugin->answer_len, &plugin->samples, &err) < 0)
		say_why(plugin, err.msg);
	else if (!text && !plugin->samples && !plugin->unanswered[0])
		say_why(plugin, "it was not asked");
	free(text);
	if (plugin->unanswered[0])
		return neap_error_set(&plugin->err, NEAP_EUNAVAILABLE, "%s",
				      plugin->unanswered);
	set_all(run->play->world, plugin->samples, true);
	plugin->lacks_samples = lacks_any(run->round);
	return 0;
}

void play_samples_clear(const struct play_run *run, const struct neap_play_plugin *plugin)
{
	set_all(run->play->world, plugin->samples, false);
}
