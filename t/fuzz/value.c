/* SPDX-License-Identifier: Apache-2.0
 *
 * Small texts with one value in them: quantities, durations, whole numbers, times, the
 * values of kernel files, pressure triggers, paths and label names. What is taken comes
 * back from its own text. */
#include <string.h>

#include "engine/base/quantity.h"
#include "engine/base/selector.h"
#include "engine/machine/key.h"
#include "engine/machine/path.h"
#include "hw/hand/hand.h"
#include "lua/call/answer.h"
#include "t/fuzz/lib/fuzz.h"

static void quantities(const char *text)
{
	int64_t value = 5, again = 0;
	struct neap_error err;
	char buf[64];

	if (neap_quantity_parse_milli(text, &value, &err) == 0) {
		neap_quantity_format_milli(value, buf, 32);
		FUZZ_CHECK(neap_quantity_parse_milli(buf, &again, &err) == 0);
		FUZZ_CHECK(again == value);
	} else {
		FUZZ_CHECK(value == 5 && err.code == NEAP_EINVAL);
	}
	if (neap_quantity_parse_units(text, &value, &err) == 0) {
		neap_quantity_format_bytes(value, buf, 32);
		FUZZ_CHECK(neap_quantity_parse_units(buf, &again, &err) == 0);
		FUZZ_CHECK(again == value);
		FUZZ_CHECK(strlen(neap_bytes_format_human(value, buf, sizeof(buf))) < 16);
	}
	/* It stays what it is, and the same amount. */
	if (neap_quantity_canonical(text, buf, &err) == 0) {
		char twice[NEAP_QUANTITY_SIZE];
		int64_t before = 0, after = 0;

		FUZZ_CHECK(neap_quantity_canonical(buf, twice, &err) == 0);
		FUZZ_CHECK(strcmp(buf, twice) == 0);
		if (neap_quantity_parse_milli(text, &before, &err) == 0)
			FUZZ_CHECK(neap_quantity_parse_milli(buf, &after, &err) == 0 &&
				   before == after);
	} else {
		FUZZ_CHECK(neap_quantity_parse_units(text, &value, &err) < 0);
	}
	if (neap_duration_parse(text, &value, &err) == 0) {
		FUZZ_CHECK(value >= 0);
		neap_duration_format(value, buf, sizeof(buf));
		FUZZ_CHECK(neap_duration_parse(buf, &again, &err) == 0);
		FUZZ_CHECK(again == value);
	}
	if (neap_int_parse(text, &value, &err) == 0) {
		snprintf(buf, sizeof(buf), "%lld", (long long)value);
		FUZZ_CHECK(neap_int_parse(buf, &again, &err) == 0 && again == value);
	}
}

static void times(const char *text)
{
	int64_t value = 0, again = 0;
	struct neap_error err;
	char buf[64];

	if (neap_time_parse(text, &value, &err) < 0)
		return;
	/* An offset can lead out of the four digits that a year has. */
	if (value < INT64_C(-62167219200000000) || value >= INT64_C(253402300800000000))
		return;
	neap_time_format(value, 6, buf, 32);
	FUZZ_CHECK(neap_time_parse(buf, &again, &err) == 0 && again == value);
}

static void kernel_values(unsigned how, const char *text)
{
	enum neap_key key = (enum neap_key)(how % NEAP_KEY_COUNT);
	bool v2 = how & 0x40;
	enum neap_weight_curve curve = how & 0x80 ? NEAP_WEIGHT_LOG : NEAP_WEIGHT_LINEAR;
	static char buf[NEAP_CPUSET_TEXT];
	struct neap_value value = {0}, again = {0};
	struct neap_error err;

	if (neap_value_parse(key, v2, text, &value, &err) < 0)
		return;
	FUZZ_CHECK(neap_value_is_equal(key, &value, &value));
	FUZZ_CHECK(neap_value_print(key, &value, buf, sizeof(buf)) < sizeof(buf));
	if (neap_value_check(key, &value, &err) < 0)
		return;
	FUZZ_CHECK(neap_value_format(key, v2, curve, &value, buf, sizeof(buf)) <
		   sizeof(buf));
	FUZZ_CHECK(neap_value_parse(key, v2, buf, &again, &err) == 0);
	FUZZ_CHECK(neap_value_is_in_force(key, v2, curve, &value, &again));
	FUZZ_CHECK(!neap_value_enlarge(key, &value, &value, &again));
}

static void triggers(const char *text)
{
	struct neap_hand_trigger trigger;
	struct neap_error err;
	char buf[NEAP_HAND_TRIGGER_TEXT];

	if (neap_hand_trigger_parse(text, &trigger, &err) < 0)
		return;
	FUZZ_CHECK(neap_hand_trigger_format(&trigger, buf, sizeof(buf), &err) == 0);
	FUZZ_CHECK(strcmp(buf, text) == 0);
}

static void pods(enum neap_cgroup_driver driver, const char *text)
{
	char dir[NEAP_PATH_MAX], id[NEAP_PATH_MAX], again[NEAP_PATH_MAX];
	struct neap_error err;

	(void)neap_path_parse_container(driver, text, id, sizeof(id), &err);
	if (neap_path_parse_pod(driver, text, id, sizeof(id), &err) < 0 ||
	    strlen(id) > 128)
		return;
	/* The directory of that id has the name that it was read from. */
	for (char *c = id; *c; c++)
		*c = *c == '_' && driver == NEAP_DRIVER_SYSTEMD ? '-' : *c;
	if (neap_path_pod_dir(driver, neap_path_kube_root(driver), NEAP_KUBE_BURSTABLE,
			      id, dir, sizeof(dir), &err) < 0)
		return;
	FUZZ_CHECK(neap_path_parse_pod(driver, strrchr(dir, '/') + 1, again,
				       sizeof(again), &err) == 0);
	for (char *c = again; *c; c++)
		*c = *c == '_' && driver == NEAP_DRIVER_SYSTEMD ? '-' : *c;
	FUZZ_CHECK(strcmp(id, again) == 0);
}

static void paths(const char *text, const char *other)
{
	char below[2 * NEAP_PATH_MAX];
	struct neap_host_app app = {.qos = NEAP_QOS_LS, .has_path = true};
	struct neap_error err;

	pods(NEAP_DRIVER_CGROUPFS, text);
	pods(NEAP_DRIVER_SYSTEMD, text);
	if (neap_path_is_safe(text)) {
		FUZZ_CHECK(*text != '/' && strcmp(text, "..") != 0 &&
			   !strstr(text, "/../") && strncmp(text, "../", 3) != 0 &&
			   !strstr(text, "//"));
		FUZZ_CHECK(neap_path_depth(text) > 0 && neap_path_is_below(text, text));
		(void)neap_path_is_kube_class(text);
	}
	if (neap_path_is_safe(text) && neap_path_is_safe(other) &&
	    strlen(text) + strlen(other) < NEAP_PATH_MAX) {
		snprintf(below, sizeof(below), "%s/%s", text, other);
		FUZZ_CHECK(neap_path_is_below(below, text) && neap_path_is_safe(below));
		FUZZ_CHECK(neap_path_depth(below) ==
			   neap_path_depth(text) + neap_path_depth(other));
	}
	snprintf(app.name, sizeof(app.name), "%s", other);
	snprintf(app.parent_dir, sizeof(app.parent_dir), "%s", text);
	snprintf(app.relative_path, sizeof(app.relative_path), "%s", other);
	(void)neap_path_host_app(NEAP_DRIVER_CGROUPFS, &app, below, NEAP_PATH_MAX, &err);
	(void)neap_path_host_app(NEAP_DRIVER_SYSTEMD, &app, below, NEAP_PATH_MAX, &err);
}

static void texts(const char *text)
{
	json_t *json = neap_text_json(text);
	struct neap_error err;

	FUZZ_CHECK(json && strlen(json_string_value(json)) == json_string_length(json));
	json_decref(json);
	if (neap_label_check_value(text, &err) == 0 && *text)
		FUZZ_CHECK(neap_label_check_key(text, &err) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in;
	unsigned how;
	char *text, *other;

	fuzz_in_init(&in, data, size);
	how = fuzz_byte(&in);
	text = fuzz_line(&in);
	other = fuzz_rest(&in, NULL);
	quantities(text);
	times(text);
	kernel_values(how, text);
	triggers(text);
	paths(text, other);
	texts(text);
	fuzz_in_done(&in);
	return 0;
}
