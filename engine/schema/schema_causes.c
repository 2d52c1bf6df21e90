/* SPDX-License-Identifier: Apache-2.0
 *
 * What is wrong with an object, in the words of Kubernetes: "Invalid value: "x": must be
 * ...". */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/schema/schema_priv.h"

/* Bytes of a value in a message, so that the reason behind it has room. */
#define VALUE_MAX 256
/* Go writes a float with an exponent from here on. */
#define EXPONENT_FROM 1e21

/* --- values --- */

struct shown {
	char *buf;
	size_t size, len;
	bool is_cut;
};

static bool put(struct shown *shown, const char *text, size_t len)
{
	if (shown->is_cut || len >= shown->size - shown->len) {
		shown->is_cut = true;
		return false;
	}
	memcpy(shown->buf + shown->len, text, len);
	shown->len += len;
	shown->buf[shown->len] = '\0';
	return true;
}

static int put_piece(const char *text, size_t len, void *arg)
{
	struct shown *shown = arg;

	/* A piece can be a long string: what fits of it is shown. */
	if (!shown->is_cut && len >= shown->size - shown->len) {
		(void)put(shown, text, shown->size - shown->len - 1);
		neap_utf8_trim(shown->buf);
		shown->len = strlen(shown->buf);
		shown->is_cut = true;
	}
	return put(shown, text, len) ? 0 : -1;
}

static void put_quoted(struct shown *shown, const char *text, size_t len)
{
	size_t i;

	(void)put(shown, "\"", 1);
	for (i = 0; i < len && !shown->is_cut; i++) {
		unsigned char c = (unsigned char)text[i];
		char escape[8];

		if (c == '"' || c == '\\')
			(void)snprintf(escape, sizeof(escape), "\\%c", c);
		else if (c == '\n' || c == '\t' || c == '\r')
			(void)snprintf(escape, sizeof(escape), "\\%c",
				       c == '\n'   ? 'n'
				       : c == '\t' ? 't'
						   : 'r');
		else if (c < 0x20 || c == 0x7f)
			(void)snprintf(escape, sizeof(escape), "\\x%02x", c);
		else
			(void)snprintf(escape, sizeof(escape), "%c", c);
		(void)put(shown, escape, strlen(escape));
	}
	if (!shown->is_cut)
		(void)put(shown, "\"", 1);
	else
		neap_utf8_trim(shown->buf);
	shown->len = strlen(shown->buf);
}

char *schema_show_number(double number, char *buf, size_t size)
{
	int digits;

	if (number == floor(number) && fabs(number) < EXPONENT_FROM) {
		(void)snprintf(buf, size, "%.0f", number);
		return buf;
	}
	/* The shortest text that reads back as the same number. */
	for (digits = 1; digits <= 17; digits++) {
		double back = 0;

		(void)snprintf(buf, size, "%.*g", digits, number);
		if (sscanf(buf, "%lf", &back) == 1 && back == number)
			break;
	}
	return buf;
}

char *schema_show(const json_t *value, char *buf, size_t size)
{
	static const char cut[] = "...";
	struct shown shown = {.buf = buf, .size = size - (sizeof(cut) - 1)};
	char number[64];

	buf[0] = '\0';
	switch (value != NULL ? json_typeof(value) : JSON_NULL) {
	case JSON_STRING:
		put_quoted(&shown, json_string_value(value), json_string_length(value));
		break;
	case JSON_INTEGER:
		(void)snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT,
			       json_integer_value(value));
		(void)put(&shown, number, strlen(number));
		break;
	case JSON_REAL:
		(void)schema_show_number(json_real_value(value), number, sizeof(number));
		(void)put(&shown, number, strlen(number));
		break;
	case JSON_TRUE:
		(void)put(&shown, "true", 4);
		break;
	case JSON_FALSE:
		(void)put(&shown, "false", 5);
		break;
	case JSON_NULL:
		(void)put(&shown, "null", 4);
		break;
	default:
		/* Without memory it is a prefix, which will do. */
		(void)json_dump_callback(value, put_piece, &shown,
					 JSON_COMPACT | JSON_ENCODE_ANY);
	}
	if (shown.is_cut)
		memcpy(buf + shown.len, cut, sizeof(cut));
	return buf;
}

/* --- causes --- */

/* No further text is stored, so none need be built. */
static bool is_full(struct neap_causes *causes)
{
	if (causes->count < NEAP_SCHEMA_CAUSES_MAX)
		return false;
	causes->more++;
	return true;
}

void schema_causes_vadd(struct neap_causes *causes, const char *reason, const char *field,
			const char *fmt, va_list args)
{
	struct neap_cause *cause;
	int len;

	if (is_full(causes))
		return;
	cause = &causes->list[causes->count++];
	cause->reason = reason;
	(void)neap_strcopy(cause->field, sizeof(cause->field), field); /* cut is fine */
	len = vsnprintf(cause->message, sizeof(cause->message), fmt, args);
	if (len < 0)
		cause->message[0] = '\0';
	if (len >= (int)sizeof(cause->message))
		neap_utf8_trim(cause->message);
}

void neap_causes_clear(struct neap_causes *causes)
{
	causes->count = causes->more = 0;
	causes->is_short = false;
}

void neap_causes_add(struct neap_causes *causes, const char *reason, const char *field,
		     const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	schema_causes_vadd(causes, reason, field, fmt, args);
	va_end(args);
}

void neap_causes_invalid(struct neap_causes *causes, const char *field,
			 const json_t *value, const char *fmt, ...)
{
	char shown[VALUE_MAX], detail[512];
	va_list args;

	if (is_full(causes))
		return;
	va_start(args, fmt);
	(void)vsnprintf(detail, sizeof(detail), fmt, args);
	va_end(args);
	neap_causes_add(causes, "FieldValueInvalid", field, "Invalid value: %s%s%s",
			schema_show(value, shown, sizeof(shown)), *detail ? ": " : "",
			detail);
}

void neap_causes_required(struct neap_causes *causes, const char *field,
			  const char *detail)
{
	bool has_detail = detail != NULL && *detail != '\0';

	neap_causes_add(causes, "FieldValueRequired", field, "Required value%s%s",
			has_detail ? ": " : "", has_detail ? detail : "");
}

void neap_causes_forbidden(struct neap_causes *causes, const char *field, const char *fmt,
			   ...)
{
	char detail[512];
	va_list args;

	if (is_full(causes))
		return;
	va_start(args, fmt);
	(void)vsnprintf(detail, sizeof(detail), fmt, args);
	va_end(args);
	neap_causes_add(causes, "FieldValueForbidden", field, "Forbidden: %s", detail);
}

void neap_causes_unsupported(struct neap_causes *causes, const char *field,
			     const json_t *value, const char *const *values)
{
	char list[512] = "", shown[VALUE_MAX];
	struct shown text = {.buf = list, .size = sizeof(list)};
	size_t i;

	if (is_full(causes))
		return;
	for (i = 0; values != NULL && values[i] != NULL && !text.is_cut; i++) {
		if (i > 0)
			(void)put(&text, ", ", 2);
		put_quoted(&text, values[i], strlen(values[i]));
	}
	neap_causes_add(causes, "FieldValueNotSupported", field,
			"Unsupported value: %s%s%s",
			schema_show(value, shown, sizeof(shown)),
			*list ? ": supported values: " : "", list);
}

void neap_causes_duplicate(struct neap_causes *causes, const char *field,
			   const json_t *value)
{
	char shown[VALUE_MAX];

	neap_causes_add(causes, "FieldValueDuplicate", field, "Duplicate value: %s",
			schema_show(value, shown, sizeof(shown)));
}

void neap_causes_infield(struct neap_causes *causes, size_t from, const char *fmt, ...)
{
	char head[sizeof(causes->list[0].field)], whole[2 * sizeof(head)];
	va_list args;
	size_t i;

	va_start(args, fmt);
	(void)vsnprintf(head, sizeof(head), fmt, args);
	va_end(args);
	for (i = from; i < causes->count; i++) {
		struct neap_cause *cause = &causes->list[i];
		bool is_joined =
			*head == '\0' || *cause->field == '\0' || *cause->field == '[';

		(void)snprintf(whole, sizeof(whole), "%s%s%s", head, is_joined ? "" : ".",
			       cause->field);
		(void)neap_strcopy(cause->field, sizeof(cause->field), whole);
	}
}
