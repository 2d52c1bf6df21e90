/* SPDX-License-Identifier: Apache-2.0
 *
 * The privileges of loop and hand, for operators: not the intended ones, but those that
 * the kernel reports. */
#include "api/daemon/start.h"
#include "engine/json/json.h"

static json_t *cap_names(uint64_t caps)
{
	json_t *out = json_array();
	int number;

	for (number = 0; number < 64; number++) {
		const char *name = neap_jail_cap_name(number);

		if ((caps & (UINT64_C(1) << number)) == 0)
			continue;
		(void)json_array_append_new(out, name != NULL
							 ? json_string(name)
							 : json_sprintf("%d", number));
	}
	return out;
}

/* The kernel does not report the mode of a filter. */
static const char *filter_name(const struct neap_jail_state *state,
			       enum neap_jail_mode mode)
{
	if (!state->has_filter)
		return "off";
	return mode == NEAP_JAIL_LOG ? "log" : "on";
}

/* NULL when the process cannot be seen. */
static json_t *process_report(int pid, enum neap_jail_mode mode)
{
	struct neap_jail_state state;
	json_t *out;

	if (neap_jail_look(pid, &state, NULL) < 0)
		return NULL;
	out = json_object();
	neap_json_set_int(out, "uid", state.uid);
	(void)json_object_set_new(out, "capabilities", cap_names(state.caps));
	(void)json_object_set_new(out, "seccomp", json_string(filter_name(&state, mode)));
	(void)json_object_set_new(out, "no_new_privs",
				  json_boolean(state.has_no_new_privs));
	return out;
}

json_t *neap_privileges_report(enum neap_jail_mode mode, const struct neap_hand *hand)
{
	json_t *out = json_object();
	json_t *row = hand != NULL ? process_report(neap_hand_pid(hand), mode) : NULL;

	(void)json_object_set_new(out, "loop", process_report(0, mode));
	if (row == NULL)
		return out;
	neap_json_set_int(row, "landlock", neap_hand_landlock(hand));
	(void)json_object_set_new(out, "hand", row);
	return out;
}
