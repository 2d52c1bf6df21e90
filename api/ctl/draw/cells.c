/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON members as texts. */
#include "api/ctl/draw/cells.h"

#include <stdio.h>
#include <string.h>

#include "api/ctl/draw/text.h"
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

/* Thousandths of a CPU as CPUs: "1.25". */
static const char *cell_cpus(const json_t *object, const char *name, char *buf)
{
	int64_t milli = neap_member_integer(object, name, NEAP_MISSING);

	if (milli == NEAP_MISSING)
		return absent;
	(void)snprintf(buf, NEAP_CELL_BYTES, "%.2f", (double)milli / 1000);
	return buf;
}

/* A fraction of 1: "12 %". */
static const char *cell_percent(const json_t *object, const char *name, char *buf)
{
	const json_t *value = json_object_get(object, name);

	if (!json_is_number(value))
		return absent;
	(void)snprintf(buf, NEAP_CELL_BYTES, "%.0f %%", json_number_value(value) * 100);
	return buf;
}

/* "1.50 GiB". */
static const char *cell_bytes(const json_t *object, const char *name, char *buf)
{
	int64_t bytes = neap_member_integer(object, name, NEAP_MISSING);

	if (bytes == NEAP_MISSING)
		return absent;
	return neap_bytes_format_human(bytes, buf, NEAP_CELL_BYTES);
}

static void add_member(struct neap_buf *out, const json_t *object, const char *name,
		       const char *how)
{
	static const struct {
		const char *how;
		const char *(*format)(const json_t *object, const char *name, char *buf);
	} formats[] = {
		{"cpus", cell_cpus},
		{"percent", cell_percent},
		{"bytes", cell_bytes},
	};
	char number[NEAP_CELL_BYTES];

	for (size_t i = 0; i < NEAP_ARRAY_LEN(formats); i++)
		if (strcmp(formats[i].how, how) == 0) {
			neap_buf_adds(out, formats[i].format(object, name, number));
			return;
		}
	if (json_is_integer(json_object_get(object, name)))
		neap_buf_adds(out, neap_cell_integer(object, name, number));
	else
		neap_text_add_clean(out, neap_cell_text(object, name),
				    strcmp(how, "lines") == 0);
}

void neap_cells_add(struct neap_buf *out, const json_t *object, const char *form)
{
	char name[64], *how;

	for (;;) {
		size_t plain = strcspn(form, "{"), len;

		neap_buf_add(out, form, plain);
		form += plain;
		if (!*form)
			return;
		len = strcspn(++form, "}");
		(void)snprintf(name, sizeof(name), "%.*s", (int)len, form);
		how = name;
		(void)strsep(&how, "|");
		add_member(out, object, name, how != NULL ? how : "");
		form += len + 1;
	}
}

void neap_cells_add_if(struct neap_buf *out, const json_t *object, const char *member,
		       const char *form)
{
	const json_t *value = json_object_get(object, member);

	if (value != NULL && !json_is_null(value))
		neap_cells_add(out, object, form);
}
