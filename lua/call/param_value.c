/* SPDX-License-Identifier: Apache-2.0
 *
 * One parameter value. Values from the command line, JSON, Lua and defaults all go
 * through one parser per type. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/base/utf8.h"
#include "engine/json/json.h"
#include "lua/call/params_priv.h"
#include "lua/vm/zone.h"

const struct neap_param_type_info neap_param_types[NEAP_PARAM_TYPE_COUNT] = {
	[NEAP_PARAM_INTEGER] = {"integer", "a whole number", .has_range = true},
	[NEAP_PARAM_NUMBER] = {"number", "a number", .has_range = true},
	[NEAP_PARAM_BOOLEAN] = {"boolean", "true or false"},
	[NEAP_PARAM_STRING] = {"string", "a text of less than 128 bytes (UTF-8)",
			       .is_text = true},
	[NEAP_PARAM_ENUM] = {"enum", "one of", .is_text = true},
	[NEAP_PARAM_PERCENT] = {"percent", "a whole percentage", .has_range = true},
	[NEAP_PARAM_QUANTITY] = {"quantity", "a quantity such as 500m or 4Gi",
				 .has_range = true},
	[NEAP_PARAM_DURATION] = {"duration", "a duration such as 10s or 1m30s",
				 .has_range = true},
	[NEAP_PARAM_TIME] = {"time", "a time of day from 00:00 to 23:59:59, or 24:00",
			     .is_text = true},
	[NEAP_PARAM_ZONE] = {"zone",
			     "a time zone such as Europe/Berlin that this machine knows "
			     "(package tzdata), or UTC",
			     .is_text = true},
	[NEAP_PARAM_SELECTOR] = {"selector",
				 "an object with matchLabels and matchExpressions",
				 .is_composite = true},
	[NEAP_PARAM_LIST] = {"list", "a list", .is_composite = true},
	[NEAP_PARAM_MAP] = {"map", "an object by label names", .is_composite = true},
	[NEAP_PARAM_OBJECT] = {"object", "an object", .is_composite = true},
};

static void print_value(const struct neap_param *param,
			const struct neap_param_value *value, struct neap_buf *buf)
{
	char text[64];

	switch (param->type) {
	case NEAP_PARAM_NUMBER:
		neap_buf_addf(buf, "%g", value->real);
		return;
	case NEAP_PARAM_DURATION:
		neap_buf_adds(buf,
			      neap_duration_format(value->integer, text, sizeof(text)));
		return;
	case NEAP_PARAM_QUANTITY:
		if (param->is_milli)
			neap_quantity_format_milli(value->integer, text, sizeof(text));
		else
			neap_quantity_format_bytes(value->integer, text, sizeof(text));
		neap_buf_adds(buf, text);
		return;
	case NEAP_PARAM_BOOLEAN:
		neap_buf_adds(buf, value->integer ? "true" : "false");
		return;
	default:
		if (neap_param_types[param->type].is_text) {
			neap_buf_adds(buf, value->text);
			return;
		}
		neap_buf_addf(buf, "%lld", (long long)value->integer);
	}
}

/* "a whole percentage from 1 to 100", "one of cpuset, cfsQuota". */
static void print_form(const struct neap_param *param, struct neap_buf *buf)
{
	neap_buf_adds(buf, neap_param_types[param->type].what);
	for (int i = 0; i < NEAP_PARAM_VALUES && param->values[i][0]; i++)
		neap_buf_addf(buf, "%s%s", i ? ", " : " ", param->values[i]);
	for (size_t i = 0; param->type == NEAP_PARAM_OBJECT && i < param->kids->count;
	     i++)
		neap_buf_addf(buf, "%s%s", i ? ", " : " of ",
			      param->kids->rows[i].name + param->kids->rows[i].key_at);
	if (param->min.is_set) {
		neap_buf_adds(buf, param->max.is_set ? " from " : ", at least ");
		print_value(param, &param->min, buf);
	}
	if (param->max.is_set) {
		neap_buf_adds(buf, param->min.is_set ? " to " : ", at most ");
		print_value(param, &param->max, buf);
	}
}

int neap_param_refuse(const struct neap_param *param, const char *text,
		      struct neap_error *err)
{
	neap_auto_buf struct neap_buf allowed = {0};

	neap_buf_init(&allowed, NEAP_BUF_LINE);
	print_form(param, &allowed);
	if (param->kids && param->type != NEAP_PARAM_OBJECT) {
		neap_buf_addf(&allowed, " of at most %d elements, each ",
			      param->max_items);
		print_form(&param->kids->rows[0], &allowed);
	}
	if (neap_buf_failed(&allowed))
		return neap_error_nomem(err);
	return neap_error_field(err, NEAP_EINVAL, param->name,
				"parameter '%s': '%.40s' is not allowed; it takes %s",
				param->name, text, allowed.data);
}

static int parse_number(const char *text, double *ret)
{
	char *end;

	errno = 0;
	*ret = strtod(text, &end);
	return errno || end == text || *end || !isfinite(*ret) ? -NEAP_EINVAL : 0;
}

static int parse_percent(const char *text, int64_t *ret)
{
	char digits[24];
	size_t len = strlen(text);

	if (len && text[len - 1] == '%')
		len--;
	if (len >= sizeof(digits))
		return -NEAP_EINVAL;
	memcpy(digits, text, len);
	digits[len] = '\0';
	return neap_int_parse(digits, ret, NULL);
}

static int parse_enum(const struct neap_param *param, const char *text)
{
	for (int i = 0; i < NEAP_PARAM_VALUES && param->values[i][0]; i++)
		if (strcmp(param->values[i], text) == 0)
			return 0;
	return -NEAP_EINVAL;
}

static int parse_zone(const char *text)
{
	struct neap_zone *zone = NULL;
	struct neap_error err;
	int r = neap_zone_load(text, &zone, &err);

	neap_zone_free(zone);
	return r;
}

/* Form only; the range is checked after it. */
static int parse_form(const struct neap_param *param, const char *text,
		      struct neap_param_value *ret)
{
	int second;

	switch (param->type) {
	case NEAP_PARAM_INTEGER:
		return neap_int_parse(text, &ret->integer, NULL);
	case NEAP_PARAM_PERCENT:
		return parse_percent(text, &ret->integer);
	case NEAP_PARAM_NUMBER:
		return parse_number(text, &ret->real);
	case NEAP_PARAM_BOOLEAN:
		ret->integer = strcmp(text, "true") == 0;
		return ret->integer || strcmp(text, "false") == 0 ? 0 : -NEAP_EINVAL;
	case NEAP_PARAM_QUANTITY:
		if (param->is_milli)
			return neap_quantity_parse_milli(text, &ret->integer, NULL);
		return neap_quantity_parse_units(text, &ret->integer, NULL);
	case NEAP_PARAM_DURATION:
		return neap_duration_parse(text, &ret->integer, NULL);
	case NEAP_PARAM_ENUM:
		return parse_enum(param, text);
	case NEAP_PARAM_TIME:
		return neap_zone_time_parse(text, true, &second);
	case NEAP_PARAM_ZONE:
		return parse_zone(text);
	case NEAP_PARAM_STRING: /* the value in force is shown as JSON */
		return neap_utf8_is_valid(text, strlen(text)) ? 0 : -NEAP_EINVAL;
	default:
		return 0;
	}
}

static bool is_in_range(const struct neap_param *param,
			const struct neap_param_value *value)
{
	if (param->type == NEAP_PARAM_NUMBER)
		return (!param->min.is_set || value->real >= param->min.real) &&
		       (!param->max.is_set || value->real <= param->max.real);
	return (!param->min.is_set || value->integer >= param->min.integer) &&
	       (!param->max.is_set || value->integer <= param->max.integer);
}

int neap_param_parse(const struct neap_param *param, const char *text,
		     struct neap_param_value *ret, struct neap_error *err)
{
	struct neap_param_value value = {.is_set = true};
	json_t *json = NULL;
	json_error_t where;
	int rc;

	if (neap_param_types[param->type].is_composite) {
		rc = -NEAP_EINVAL;
		if (strlen(text) <= NEAP_PARAM_JSON_BYTES)
			rc = neap_json_parse(text, strlen(text), JSON_REJECT_DUPLICATES,
					     &json, &where);
		if (rc < 0)
			return rc == -NEAP_ENOMEM ? neap_error_nomem(err)
						  : neap_param_refuse(param, text, err);
		rc = neap_param_parse_json(param, json, ret, err);
		json_decref(json);
		return rc;
	}
	if (!neap_strcopy(value.text, sizeof(value.text), text))
		return neap_param_refuse(param, text, err);
	rc = parse_form(param, text, &value);
	if (rc == -NEAP_ENOMEM)
		return neap_error_nomem(err);
	if (rc < 0 || !is_in_range(param, &value))
		return neap_param_refuse(param, text, err);
	*ret = value;
	return 0;
}

void neap_param_value_done(struct neap_param_value *value)
{
	json_decref(value->json);
	*value = (struct neap_param_value){0};
}

void neap_param_value_take(struct neap_param_value *to, struct neap_param_value *from)
{
	json_decref(to->json);
	*to = *from;
	*from = (struct neap_param_value){0};
}

void neap_param_value_copy(struct neap_param_value *to,
			   const struct neap_param_value *from)
{
	*to = *from;
	(void)json_incref(to->json); /* NULL is fine */
}

json_t *neap_param_json(const struct neap_param *param,
			const struct neap_param_value *value)
{
	neap_auto_buf struct neap_buf text = {0};

	neap_buf_init(&text, NEAP_BUF_LINE);
	if (!value->is_set)
		return json_null();
	if (value->json)
		return neap_json_deep_copy(value->json);
	switch (param->type) {
	case NEAP_PARAM_NUMBER:
		return json_real(value->real);
	case NEAP_PARAM_BOOLEAN:
		return json_boolean(value->integer != 0);
	case NEAP_PARAM_INTEGER:
	case NEAP_PARAM_PERCENT:
		return json_integer(value->integer);
	default:
		print_value(param, value, &text);
		return neap_buf_failed(&text) ? NULL : json_string(text.data);
	}
}
