/* SPDX-License-Identifier: Apache-2.0
 *
 * Records why a node is refused: a row and a code. Texts made by a filter are stored
 * once. */
#include <string.h>

#include "engine/base/mem.h"
#include "engine/decide/decide_priv.h"

bool neap_cycle_refuse(struct neap_cycle *cycle, uint32_t row, enum neap_reason reason,
		       uint32_t arg)
{
	if (!neap_grow(&cycle->refusals, cycle->refusal_count, &cycle->refusal_size,
		       sizeof(*cycle->refusals))) {
		cycle->is_short = true;
		return false;
	}
	cycle->refusals[cycle->refusal_count++] = (struct neap_refusal){
		row, (uint32_t)reason << NEAP_REASON_SHIFT | (arg & NEAP_REASON_ARG)};
	return false;
}

bool neap_cycle_refuse_text(struct neap_cycle *cycle, uint32_t row,
			    enum neap_reason reason, const char *text, size_t len)
{
	size_t at = 0;

	while (at < cycle->text_count && (strncmp(cycle->texts[at], text, len) != 0 ||
					  cycle->texts[at][len] != '\0'))
		at++;
	if (at == cycle->text_count && at < NEAP_REASON_TEXTS_MAX) {
		char *copy = neap_arena_alloc(&cycle->arena, len + 1);

		if (!copy) {
			cycle->is_short = true;
			return false;
		}
		memcpy(copy, text, len);
		cycle->texts[cycle->text_count++] = copy;
	}
	return neap_cycle_refuse(cycle, row, reason, (uint32_t)at);
}
