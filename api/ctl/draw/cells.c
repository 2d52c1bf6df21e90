/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON members as texts. */
#include "api/ctl/draw/cells.h"

#include <stdio.h>

#include "engine/base/quantity.h"

static const char absent[] = "-";

const char *neap_cell_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text != NULL && *text ? text : absent;
}

int64_t neap_member_integer(const json_t *object, const char *name, int64_t fallback)
{
	const json_t *value = json_object_get(object, name);

	return json_is_integer(value) ? json_integer_value(value) : fallback;
}

const char *neap_cell_integer(const json_t *object, const char *name, char *buf)
{
	int64_t number = neap_member_integer(object, name, NEAP_MISSING);

	if (number == NEAP_MISSING)
		return absent;
	(void)snprintf(buf, NEAP_CELL_BYTES, "%lld", (long long)number);
	return buf;
}

const char *neap_cell_cpus(const json_t *object, const char *name, char *buf)
{
	int64_t milli = neap_member_integer(object, name, NEAP_MISSING);

	if (milli == NEAP_MISSING)
		return absent;
	(void)snprintf(buf, NEAP_CELL_BYTES, "%.2f", (double)milli / 1000);
	return buf;
}

const char *neap_cell_percent(const json_t *object, const char *name, char *buf)
{
	const json_t *value = json_object_get(object, name);

	if (!json_is_number(value))
		return absent;
	(void)snprintf(buf, NEAP_CELL_BYTES, "%.0f %%", json_number_value(value) * 100);
	return buf;
}

const char *neap_cell_bytes(const json_t *object, const char *name, char *buf)
{
	int64_t bytes = neap_member_integer(object, name, NEAP_MISSING);

	if (bytes == NEAP_MISSING)
		return absent;
	return neap_bytes_format_human(bytes, buf, NEAP_CELL_BYTES);
}
