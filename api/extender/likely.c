/* SPDX-License-Identifier: Apache-2.0
 *
 * The nodes that a filter accepted. A kube-scheduler usually asks prioritize about
 * exactly these, in the same text as in the answer. So the text is compared as one piece,
 * and the rows are known. One list serves all clients and is valid until something in the
 * cluster changes. */
#include <stdlib.h>
#include <string.h>

#include "api/extender/extender_priv.h"
#include "engine/base/mem.h"

static bool make_room(struct likely *likely, size_t count, size_t len)
{
	struct neap_text *names =
		neap_realloc_array(likely->list.names, count, sizeof(*names));
	uint32_t *rows = neap_realloc_array(likely->rows, count, sizeof(*rows));
	char *text = neap_realloc_array(likely->text, len, 1);

	likely->list.names = names ? names : likely->list.names;
	likely->rows = rows ? rows : likely->rows;
	likely->text = text ? text : likely->text;
	if (!names || !rows || !text)
		return false;
	likely->size = count;
	likely->text_size = len;
	return true;
}

void likely_keep(struct likely *likely, const struct question *question,
		 const struct neap_verdict *verdict, const char *text, size_t len)
{
	struct neap_extender_list *list = &likely->list;
	const char *at;

	list->count = 0;
	if (question->args.is_whole || !verdict->count ||
	    verdict->count > NEAP_EXTENDER_NODES_KEPT || len > LIKELY_TEXT_MAX)
		return;
	if ((verdict->count > likely->size || len > likely->text_size) &&
	    !make_room(likely, verdict->count * 2, len * 2)) {
		likely->size = likely->text_size = 0; /* as it goes without */
		return;
	}
	memcpy(likely->text, text, len);
	list->text = at = likely->text;
	list->len = len;
	for (size_t i = 0; list->count < verdict->count; i++) {
		if (question->rows[i] != verdict->rows[list->count])
			continue;
		list->names[list->count].at = at + 1;
		list->names[list->count].len = question->args.names[i].len;
		likely->rows[list->count++] = question->rows[i];
		at += question->args.names[i].len + 3; /* quotes and comma */
	}
	likely->readings = question->view.readings;
	likely->generation = neap_cluster_generation(question->view.cluster);
}

bool likely_holds(const struct likely *likely, const struct question *question)
{
	return question->args.is_likely && likely->readings == question->view.readings &&
	       likely->generation == neap_cluster_generation(question->view.cluster);
}

void likely_done(struct likely *likely)
{
	free(likely->list.names);
	free(likely->rows);
	free(likely->text);
}
