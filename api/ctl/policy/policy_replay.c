/* SPDX-License-Identifier: Apache-2.0
 *
 * The result of a replay of recorded inputs, for people. Frames (ticks, decisions) with
 * the same difference are grouped, because most changes make the same one repeatedly. */
#include <stdio.h>
#include <string.h>

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

/* "ticks", of older daemons too. */
static const char *frames_of(const json_t *replay)
{
	const char *of = json_string_value(json_object_get(replay, "of"));

	return of && *of ? of : "ticks";
}

static void add_moment(const json_t *row, const char *of, struct neap_buf *out)
{
	const json_t *at = json_object_get(row, "unix");
	char time[NEAP_CELL_BYTES + 8];

	if (json_is_number(at) && json_number_value(at) > 0 &&
	    json_number_value(at) < UNIX_MAX)
		neap_buf_adds(out,
			      neap_time_format((int64_t)(json_number_value(at) * 1e6), 0,
					       time, sizeof(time)));
	else
		neap_buf_addf(out, "%.*s %lld", (int)strlen(of) - 1, of,
			      (long long)neap_member_integer(row, "frame", 0));
}

/* Whom the frame is about: ", pod default/web". */
static void add_subject(const json_t *row, struct neap_buf *out)
{
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)row, name, value) {
		if (!json_is_string(value) || strcmp(name, "older") == 0 ||
		    strcmp(name, "newer") == 0)
			continue;
		neap_buf_addf(out, ", %.40s ", name);
		neap_ctl_policy_add_value(value, out);
	}
}

/* But for when. */
static bool is_alike(const json_t *a, const json_t *b)
{
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)a, name, value)
		if (strcmp(name, "unix") != 0 && strcmp(name, "frame") != 0 &&
		    !json_equal(value, json_object_get(b, name)))
			return false;
	return json_is_object(a);
}

/* list: those of the first frames, of count with a difference; of: what a frame is. */
static void add_differences(const json_t *list, int64_t count, const char *of,
			    struct neap_buf *out)
{
	size_t i, next, size = json_array_size(list);
	const json_t *row;

	for (i = 0; i < size; i = next) {
		row = json_array_get(list, i);
		next = i + 1;
		while (next < size && is_alike(row, json_array_get(list, next)))
			next++;
		neap_buf_adds(out, "  ");
		add_moment(row, of, out);
		if (next > i + 1) {
			neap_buf_adds(out, " to ");
			add_moment(json_array_get(list, next - 1), of, out);
			neap_buf_addf(out, ", %zu %s", next - i, of);
		}
		add_subject(row, out);
		neap_buf_addc(out, '\n');
		add_answer("-", neap_ctl_red(), json_object_get(row, "older"), out);
		add_answer("+", neap_ctl_green(), json_object_get(row, "newer"), out);
	}
	if (count > (int64_t)size)
		neap_buf_addf(out, "  and %lld %s more\n",
			      (long long)(count - (int64_t)size), of);
}

void neap_ctl_policy_add_replay(const json_t *replay, bool has_older,
				struct neap_buf *out)
{
	int64_t frames = neap_member_integer(replay, "frames", 0);
	int64_t ran = neap_member_integer(replay, "ran", 0);
	int64_t same = neap_member_integer(replay, "same", 0);
	int64_t faults = neap_member_integer(replay, "faults", 0);
	const char *of = frames_of(replay);

	if (!json_is_object(replay))
		return;
	has_older = has_older || json_object_get(replay, "older");
	if (has_older)
		neap_buf_addf(out, "%lld of %lld recorded %s as before", (long long)same,
			      (long long)ran, of);
	else
		neap_buf_addf(out, "%lld recorded %s tried", (long long)ran, of);
	if (ran < frames)
		neap_buf_addf(out, ", %lld not tried for want of time",
			      (long long)(frames - ran));
	neap_cells_add_if(out, replay, "unreadable", ", {unreadable} could not be read");
	neap_buf_addc(out, '\n');
	neap_cells_add_if(out, replay, "older",
			  "compared with {older}, which ran then\n");
	neap_cells_add_if(
		out, replay, "cut",
		"{cut} of them were recorded in part: the cluster was too large\n");
	if (json_is_true(json_object_get(replay, "is_new")))
		neap_buf_adds(out, "none of them had this policy: it was asked with its "
				   "own parameters\n");
	if (faults > 0) {
		neap_buf_addf(out, "%lld of them failed: ", (long long)faults);
		neap_cells_add(out, replay, "{first_fault}\n");
	}
	if (has_older)
		add_differences(json_object_get(replay, "differences"), ran - same, of,
				out);
}
