/* SPDX-License-Identifier: Apache-2.0
 *
 * The result of a replay of recorded ticks, for people. Ticks with the same difference
 * are grouped, because most changes make the same one repeatedly. */
#include <stdio.h>

#include "api/ctl/draw/cells.h"
#include "api/ctl/policy/policy_priv.h"
#include "engine/base/quantity.h"

#define UNIX_MAX 9e12 /* seconds that have a date */

/* An answer of one version: a list of writes, or a word. */
static void add_answer(const char *sign, const char *color, const json_t *answer,
		       struct neap_buf *out)
{
	bool is_list = json_is_array(answer);
	size_t i, count = is_list ? json_array_size(answer) : 1;

	if (count == 0)
		neap_buf_addf(out, "%s    %s nothing%s\n", color, sign, neap_ctl_plain());
	for (i = 0; i < count; i++) {
		neap_buf_addf(out, "%s    %s ", color, sign);
		neap_ctl_policy_add_value(is_list ? json_array_get(answer, i) : answer,
					  out);
		neap_buf_addf(out, "%s\n", neap_ctl_plain());
	}
}

static void add_tick(const json_t *row, struct neap_buf *out)
{
	const json_t *at = json_object_get(row, "unix");
	char time[NEAP_CELL_BYTES + 8];

	if (json_is_number(at) && json_number_value(at) > 0 &&
	    json_number_value(at) < UNIX_MAX)
		neap_buf_adds(out,
			      neap_time_format((int64_t)(json_number_value(at) * 1e6), 0,
					       time, sizeof(time)));
	else
		neap_buf_addf(out, "tick %lld",
			      (long long)neap_member_integer(row, "frame", 0));
}

static bool is_alike(const json_t *a, const json_t *b)
{
	return json_equal(json_object_get(a, "older"), json_object_get(b, "older")) &&
	       json_equal(json_object_get(a, "newer"), json_object_get(b, "newer"));
}

/* list: the first of count differences. */
static void add_differences(const json_t *list, int64_t count, struct neap_buf *out)
{
	size_t i, next, size = json_array_size(list);
	const json_t *row;

	for (i = 0; i < size; i = next) {
		row = json_array_get(list, i);
		next = i + 1;
		while (next < size && is_alike(row, json_array_get(list, next)))
			next++;
		neap_buf_adds(out, "  ");
		add_tick(row, out);
		if (next > i + 1) {
			neap_buf_adds(out, " to ");
			add_tick(json_array_get(list, next - 1), out);
			neap_buf_addf(out, ", %zu ticks", next - i);
		}
		neap_buf_addc(out, '\n');
		add_answer("-", neap_ctl_red(), json_object_get(row, "older"), out);
		add_answer("+", neap_ctl_green(), json_object_get(row, "newer"), out);
	}
	if (count > (int64_t)size)
		neap_buf_addf(out, "  and %lld ticks more\n",
			      (long long)(count - (int64_t)size));
}

void neap_ctl_policy_add_replay(const json_t *replay, bool has_older,
				struct neap_buf *out)
{
	int64_t frames = neap_member_integer(replay, "frames", 0);
	int64_t ran = neap_member_integer(replay, "ran", 0);
	int64_t same = neap_member_integer(replay, "same", 0);
	int64_t faults = neap_member_integer(replay, "faults", 0);

	if (!json_is_object(replay))
		return;
	if (has_older)
		neap_buf_addf(out, "%lld of %lld recorded ticks as before",
			      (long long)same, (long long)ran);
	else
		neap_buf_addf(out, "%lld recorded ticks tried", (long long)ran);
	if (ran < frames)
		neap_buf_addf(out, ", %lld not tried for want of time",
			      (long long)(frames - ran));
	neap_buf_addc(out, '\n');
	if (faults > 0) {
		neap_buf_addf(out, "%lld of them failed: ", (long long)faults);
		neap_cells_add(out, replay, "{first_fault}\n");
	}
	if (has_older)
		add_differences(json_object_get(replay, "differences"), ran - same, out);
}
