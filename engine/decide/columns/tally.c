/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/decide/columns/tally.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

void neap_tally_clear(struct neap_tally *tally, uint32_t kinds)
{
	tally->slot_count = tally->part_count = 0;
	tally->is_short = false;
	if (tally->kind_size < kinds) {
		free(tally->kinds);
		tally->kinds = neap_alloc_array(kinds, 2 * sizeof(*tally->kinds));
		tally->kind_size = tally->kinds ? (size_t)kinds * 2 : 0;
		tally->is_short = !tally->kinds;
	} else if (kinds) {
		memset(tally->kinds, 0, kinds * sizeof(*tally->kinds));
	}
}

void neap_tally_again(struct neap_tally *tally)
{
	tally->slot_count = 0;
}

void neap_tally_done(struct neap_tally *tally)
{
	for (size_t i = 0; i < tally->slot_size; i++)
		free(tally->slots[i].counts);
	free(tally->slots);
	free(tally->parts);
	free(tally->kinds);
	*tally = (struct neap_tally){0};
}

static bool grow_slots(struct neap_tally *tally)
{
	size_t was = tally->slot_size;

	if (!neap_grow(&tally->slots, tally->slot_count, &tally->slot_size,
		       sizeof(*tally->slots)))
		return false;
	memset(tally->slots + was, 0, (tally->slot_size - was) * sizeof(*tally->slots));
	return true;
}

static bool make_room(struct neap_tally_slot *slot, uint32_t end)
{
	if (slot->size >= end)
		return true;
	free(slot->counts);
	slot->counts = neap_alloc_array(end, 2 * sizeof(*slot->counts));
	slot->size = slot->counts ? (size_t)end * 2 : 0;
	return slot->counts != NULL;
}

uint32_t neap_tally_add_slot(struct neap_tally *tally,
			     const struct neap_label_column *column, int64_t first)
{
	struct neap_tally_slot *slot;
	uint32_t number = (uint32_t)tally->slot_count;

	if (!grow_slots(tally)) {
		tally->is_short = true;
		return number;
	}
	slot = &tally->slots[tally->slot_count++];
	slot->at = NULL;
	slot->end = 0;
	if (!column || !make_room(slot, column->end)) {
		tally->is_short = true;
		return number;
	}
	slot->at = column->at;
	slot->end = column->end;
	for (uint32_t i = 0; i < slot->end; i++)
		slot->counts[i] = first;
	return number;
}

void neap_tally_skip_slot(struct neap_tally *tally)
{
	if (!grow_slots(tally)) {
		tally->is_short = true;
		return;
	}
	tally->slots[tally->slot_count].at = NULL;
	tally->slots[tally->slot_count++].end = 0;
}

void neap_tally_add_part(struct neap_tally *tally, uint32_t slot, int64_t more)
{
	if (!neap_grow(&tally->parts, tally->part_count, &tally->part_size,
		       sizeof(*tally->parts))) {
		tally->is_short = true;
		return;
	}
	if (slot < tally->slot_count)
		tally->parts[tally->part_count++] = (struct neap_tally_part){slot, more};
}

const struct neap_tally_part *
neap_tally_parts(struct neap_tally *tally, const struct neap_row_kind *kind,
		 void (*ask)(void *arg, const struct neap_pod *one), void *arg,
		 size_t *ret_count)
{
	struct neap_tally_kind *known;

	*ret_count = 0;
	if (kind->number >= tally->kind_size) {
		tally->is_short = true;
		return NULL;
	}
	known = &tally->kinds[kind->number];
	if (!known->is_known) {
		known->is_known = true;
		known->from = (uint32_t)tally->part_count;
		ask(arg, kind->one);
		known->count = (uint32_t)tally->part_count - known->from;
	}
	*ret_count = known->count;
	return known->count ? tally->parts + known->from : NULL;
}
