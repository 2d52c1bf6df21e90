/* SPDX-License-Identifier: Apache-2.0 */
#include "api/deschedule/play/samples.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"

/* The value of [1435781451.781, "0.25"]. */
static int read_value(const json_t *pair, const char *node, double *ret,
		      struct neap_error *err)
{
	const char *text = json_string_value(json_array_get(pair, 1));
	char *end;

	if (!text || !*text)
		return neap_error_set(err, NEAP_EINVAL,
				      "the answer has no single value for '%.80s'", node);
	*ret = strtod(text, &end);
	if (*end)
		return neap_error_set(err, NEAP_EINVAL,
				      "the value of '%.80s' is not a number: '%.40s'",
				      node, text);
	if (!(*ret >= 0 && *ret <= 1)) /* also what is not a number */
		return neap_error_set(err, NEAP_EINVAL,
				      "the value of '%.80s' is %.40s, and must be from 0 "
				      "to 1",
				      node, text);
	return 0;
}

static int read_one(struct neap_samples *samples, const json_t *element,
		    struct neap_error *err)
{
	const char *node = neap_json_text(json_object_get(element, "metric"), "instance");
	struct neap_sample_of_node *sample = &samples->list[samples->count];

	if (!*node)
		return neap_error_set(err, NEAP_EINVAL,
				      "a value has no label instance, which must be the "
				      "node's name");
	if (read_value(json_object_get(element, "value"), node, &sample->value, err) < 0)
		return -(int)err->code;
	sample->node = neap_arena_strdup(&samples->arena, node);
	if (!sample->node)
		return neap_error_nomem(err);
	samples->count++;
	return 0;
}

static int read_all(struct neap_samples *samples, const json_t *answer,
		    struct neap_error *err)
{
	const json_t *data = json_object_get(answer, "data");
	const json_t *list = json_object_get(data, "result");
	const char *type = neap_json_text(data, "resultType");
	int rc = 0;

	if (!neap_json_is_text(answer, "status", "success"))
		return neap_error_set(err, NEAP_EINVAL, "the query failed: %.180s",
				      neap_json_text(answer, "error"));
	if (strcmp(type, "vector") != 0 || !json_is_array(list))
		return neap_error_set(
			err, NEAP_EINVAL,
			"the query must give an instant vector, not '%.40s'", type);
	samples->list = neap_arena_array(&samples->arena, json_array_size(list) + 1,
					 sizeof(*samples->list));
	if (!samples->list)
		return neap_error_nomem(err);
	for (size_t i = 0; rc == 0 && i < json_array_size(list); i++)
		rc = read_one(samples, json_array_get(list, i), err);
	return rc;
}

int neap_samples_parse(const char *text, size_t len, struct neap_samples **ret,
		       struct neap_error *err)
{
	struct neap_samples *samples;
	json_t *answer = NULL;
	json_error_t where;
	int rc;

	if (len > NEAP_SAMPLES_BYTES_MAX ||
	    neap_json_values_of_text(text, len) > NEAP_SAMPLES_VALUES_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "the answer is too large: the query must give one "
				      "value for each node");
	rc = neap_json_parse(text, len, 0, &answer, &where);
	if (rc == -NEAP_ENOMEM)
		return neap_error_nomem(err);
	if (rc < 0)
		return neap_error_set(err, NEAP_EINVAL, "the answer is not JSON: %s",
				      where.text);
	samples = neap_alloc(sizeof(*samples));
	rc = samples ? read_all(samples, answer, err) : neap_error_nomem(err);
	json_decref(answer);
	if (rc < 0)
		neap_samples_free(samples);
	else
		*ret = samples;
	return rc;
}

void neap_samples_free(struct neap_samples *samples)
{
	if (!samples)
		return;
	neap_arena_done(&samples->arena);
	free(samples);
}
