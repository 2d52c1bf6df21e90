/* SPDX-License-Identifier: Apache-2.0
 *
 * A pod has two or three resources, so searching a list is the fastest way. */
#include "engine/object/amounts.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"

struct neap_resources {
	/* maps a name to its position in names, after which the number follows */
	struct neap_map *numbers;
	uint32_t count;
	char *names[NEAP_RESOURCES_MAX];
};

static const char *const fixed_names[NEAP_RESOURCE_FIXED] = {"cpu", "memory",
							     "ephemeral-storage", "pods"};

struct neap_resources *neap_resources_new(void)
{
	struct neap_resources *resources = neap_alloc(sizeof(*resources));
	uint32_t number;

	if (!resources)
		return NULL;
	resources->numbers = neap_map_new();
	for (uint32_t i = 0; resources->numbers && i < NEAP_RESOURCE_FIXED; i++)
		if (neap_resources_add(resources, fixed_names[i], &number, NULL) < 0)
			break;
	if (resources->count == NEAP_RESOURCE_FIXED)
		return resources;
	neap_resources_free(resources);
	return NULL;
}

void neap_resources_free(struct neap_resources *resources)
{
	if (!resources)
		return;
	neap_map_free(resources->numbers);
	for (uint32_t i = 0; i < resources->count; i++)
		free(resources->names[i]);
	free(resources);
}

int neap_resources_add(struct neap_resources *resources, const char *name, uint32_t *ret,
		       struct neap_error *err)
{
	char **place = neap_map_find(resources->numbers, name);

	if (place) {
		*ret = (uint32_t)(place - resources->names);
		return 0;
	}
	if (resources->count == NEAP_RESOURCES_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "more than %d names of resources",
				      NEAP_RESOURCES_MAX);
	place = &resources->names[resources->count];
	*place = neap_strdup(name);
	if (!*place || !neap_map_set(resources->numbers, name, place)) {
		free(*place);
		*place = NULL;
		return neap_error_nomem(err);
	}
	*ret = resources->count++;
	return 0;
}

uint32_t neap_resources_find(const struct neap_resources *resources, const char *name)
{
	char **place = neap_map_find(resources->numbers, name);

	return place ? (uint32_t)(place - resources->names) : UINT32_MAX;
}

const char *neap_resources_name(const struct neap_resources *resources, uint32_t resource)
{
	return resource < resources->count ? resources->names[resource] : "";
}

uint32_t neap_resources_count(const struct neap_resources *resources)
{
	return resources->count;
}

bool neap_resource_is_counted(const char *name)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(fixed_names); i++)
		if (strcmp(name, fixed_names[i]) == 0)
			return true;
	return strchr(name, '/') || strncmp(name, "hugepages-", 10) == 0 ||
	       strncmp(name, "attachable-volumes-", 19) == 0;
}

static struct neap_amount *find(const struct neap_amounts *amounts, uint32_t resource)
{
	for (size_t i = 0; i < amounts->count; i++)
		if (amounts->of[i].resource == resource)
			return (struct neap_amount *)(uintptr_t)&amounts->of[i];
	return NULL;
}

int64_t neap_amounts_get(const struct neap_amounts *amounts, uint32_t resource)
{
	const struct neap_amount *amount = find(amounts, resource);

	return amount ? amount->amount : 0;
}

bool neap_amounts_set(struct neap_amounts *amounts, uint32_t resource, int64_t value)
{
	struct neap_amount *amount = find(amounts, resource);

	if (!amount) {
		if (amounts->count == NEAP_AMOUNTS_MAX)
			return false;
		amount = &amounts->of[amounts->count++];
		amount->resource = resource;
	}
	amount->amount = value;
	return true;
}

bool neap_amounts_add(struct neap_amounts *amounts, const struct neap_amounts *more)
{
	for (size_t i = 0; i < more->count; i++) {
		uint32_t resource = more->of[i].resource;
		int64_t sum = neap_amount_sum(neap_amounts_get(amounts, resource),
					      more->of[i].amount);

		if (!neap_amounts_set(amounts, resource, sum))
			return false;
	}
	return true;
}

bool neap_amounts_raise(struct neap_amounts *amounts, const struct neap_amounts *other)
{
	for (size_t i = 0; i < other->count; i++) {
		uint32_t resource = other->of[i].resource;

		if (other->of[i].amount > neap_amounts_get(amounts, resource) &&
		    !neap_amounts_set(amounts, resource, other->of[i].amount))
			return false;
	}
	return true;
}

static int too_many(struct neap_error *err)
{
	return neap_error_set(err, NEAP_ETOOLARGE, "more than %d different resources",
			      NEAP_AMOUNTS_MAX);
}

/* Where names become numbers. */
struct numbers {
	struct neap_resources *add; /* NULL: look up */
	const struct neap_resources *find;
	struct neap_unknown_names *unknown;
};

static int find_unknown(struct neap_unknown_names *unknown, const char *name,
			uint32_t *ret, struct neap_error *err)
{
	size_t at = 0;

	while (at < unknown->count && strcmp(unknown->of[at], name) != 0)
		at++;
	if (at == NEAP_AMOUNTS_MAX)
		return too_many(err);
	if (at == unknown->count)
		unknown->of[unknown->count++] = name;
	*ret = NEAP_RESOURCES_MAX + (uint32_t)at;
	return 0;
}

static int number_of(const struct numbers *numbers, const char *name, uint32_t *ret,
		     struct neap_error *err)
{
	if (numbers->add)
		return neap_resources_add(numbers->add, name, ret, err);
	*ret = neap_resources_find(numbers->find, name);
	return *ret == UINT32_MAX ? find_unknown(numbers->unknown, name, ret, err) : 0;
}

const char *neap_amount_text(const json_t *value, char number[NEAP_AMOUNT_TEXT])
{
	if (json_is_integer(value))
		(void)snprintf(number, NEAP_AMOUNT_TEXT, "%" JSON_INTEGER_FORMAT,
			       json_integer_value(value));
	else if (json_is_real(value))
		(void)snprintf(number, NEAP_AMOUNT_TEXT, "%.15g", json_real_value(value));
	else
		return json_string_value(value);
	return number;
}

static int read_one(struct neap_amounts *amounts, const char *name, const json_t *value,
		    const struct numbers *numbers, struct neap_error *err)
{
	char number[NEAP_AMOUNT_TEXT];
	const char *text = neap_amount_text(value, number);
	uint32_t resource = 0;
	int64_t amount = 0;
	int ret;

	if (!text)
		return neap_error_set(err, NEAP_EINVAL, "must be a quantity");
	ret = number_of(numbers, name, &resource, err);
	if (ret < 0)
		return ret;
	ret = resource == NEAP_RESOURCE_CPU
		      ? neap_quantity_parse_milli(text, &amount, err)
		      : neap_quantity_parse_units(text, &amount, err);
	if (ret < 0)
		return ret;
	return neap_amounts_set(amounts, resource, amount < 0 ? 0 : amount)
		       ? 0
		       : too_many(err);
}

static int read_all(struct neap_amounts *amounts, const json_t *map,
		    const struct numbers *numbers, struct neap_error *err)
{
	struct neap_error other;
	const char *name;
	json_t *value;
	int first = 0;

	json_object_foreach ((json_t *)(uintptr_t)map, name, value) {
		struct neap_error *fault = first ? &other : err;
		int ret;

		if (!neap_resource_is_counted(name))
			continue;
		ret = read_one(amounts, name, value, numbers, fault);
		if (ret == -NEAP_ENOMEM)
			return neap_error_nomem(err);
		if (ret < 0 && !first) {
			(void)neap_error_infield(err, "%s", name);
			first = ret;
		}
	}
	return first;
}

int neap_amounts_read(struct neap_amounts *amounts, const json_t *map,
		      struct neap_resources *resources, struct neap_error *err)
{
	const struct numbers numbers = {.add = resources};

	return read_all(amounts, map, &numbers, err);
}

int neap_amounts_look_up(struct neap_amounts *amounts, const json_t *map,
			 const struct neap_resources *resources,
			 struct neap_unknown_names *unknown, struct neap_error *err)
{
	const struct numbers numbers = {.find = resources, .unknown = unknown};

	return read_all(amounts, map, &numbers, err);
}
