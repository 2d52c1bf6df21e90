/* SPDX-License-Identifier: Apache-2.0
 *
 * NUMA nodes of an example's node, as the objects that a real one tells them in. CPUs are
 * numbered through, two threads to a core, and the first ones of each NUMA node are those
 * that are taken.
 *
 * numa = { { cpus = 8, bound = 3, memory = 1000, used_memory = 400 }, { cpus = 8 } } */
#include <stdio.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/numa/numa_node.h"
#include "lua/place/place_priv.h"

#define CPUS_MAX 256
#define TEXT_MAX ((size_t)64 * 1024)
#define THREADS  2

struct zone {
	json_int_t cpus, bound, memory, used_memory;
};

static int wrong(struct neap_error *err, const char *what)
{
	return neap_error_set(err, NEAP_EINVAL, "numa: %s", what);
}

static int read_zone(const json_t *json, struct zone *ret, struct neap_error *err)
{
	struct {
		const char *name;
		json_int_t *to;
	} fields[] = {{"cpus", &ret->cpus},
		      {"bound", &ret->bound},
		      {"memory", &ret->memory},
		      {"used_memory", &ret->used_memory}};
	size_t known = 0;

	*ret = (struct zone){0};
	for (size_t i = 0; i < NEAP_ARRAY_LEN(fields); i++) {
		const json_t *value = json_object_get(json, fields[i].name);

		if (!value)
			continue;
		known++;
		if (!json_is_integer(value) || json_integer_value(value) < 0)
			return neap_error_set(err, NEAP_EINVAL,
					      "numa: %s: a whole number is wanted",
					      fields[i].name);
		*fields[i].to = json_integer_value(value);
	}
	if (!json_is_object(json) || known != json_object_size(json))
		return wrong(err,
			     "tables with cpus, bound, memory, used_memory are wanted");
	if (!ret->cpus || ret->cpus > CPUS_MAX || ret->bound > ret->cpus ||
	    ret->used_memory > ret->memory)
		return wrong(err, "no CPUs, over 256, or more is taken than there is");
	return 0;
}

/* What is told of the node, and of the pod that has what is taken. */
struct told {
	struct neap_buf cpus, bound, used;
	json_t *zones;
};

static json_t *amount(const char *name, json_int_t value)
{
	return json_pack("{s:s,s:o}", "name", name, "allocatable",
			 json_sprintf("%lld", (long long)value));
}

static const char *comma(const struct neap_buf *buf)
{
	return buf->len ? "," : "";
}

static int add_zone(struct told *told, const struct zone *zone, int number, int first)
{
	json_t *amounts = json_array();
	int rc = json_array_append_new(amounts, amount("cpu", zone->cpus));

	if (rc == 0 && zone->memory)
		rc = json_array_append_new(amounts, amount("memory", zone->memory));
	if (rc == 0)
		rc = json_array_append_new(
			told->zones, json_pack("{s:o,s:s,s:O}", "name",
					       json_sprintf("node-%d", number), "type",
					       "Node", "resources", amounts));
	json_decref(amounts);
	for (int i = first; i < first + zone->cpus; i++)
		neap_buf_addf(&told->cpus,
			      "%s{\"id\":%d,\"core\":%d,\"socket\":%d,\"node\":%d}",
			      comma(&told->cpus), i, i / THREADS, number, number);
	for (int i = first; i < first + zone->bound; i++)
		neap_buf_addf(&told->bound, "%s%d", comma(&told->bound), i);
	if (zone->used_memory)
		neap_buf_addf(&told->used,
			      "%s{\"node\":%d,\"resources\":{\"memory\":\"%lld\"}}",
			      comma(&told->used), number, (long long)zone->used_memory);
	return rc;
}

static int add_zones(struct told *told, const json_t *numa, struct neap_error *err)
{
	int first = 0, rc = told->zones ? 0 : neap_error_nomem(err);

	if (!json_array_size(numa) || json_array_size(numa) > NEAP_NUMA_NODES_MAX)
		return wrong(err, "a list of 1 to 64 is wanted");
	for (size_t i = 0; i < json_array_size(numa) && rc == 0; i++) {
		struct zone zone;

		rc = read_zone(json_array_get(numa, i), &zone, err);
		if (rc == 0 && first + zone.cpus > CPUS_MAX)
			rc = wrong(err, "over 256 CPUs");
		if (rc == 0 && add_zone(told, &zone, (int)i, first) < 0)
			rc = neap_error_nomem(err);
		first += (int)zone.cpus;
	}
	return rc;
}

static int make(struct told *told, const char *name, json_t **ret_object,
		json_t **ret_annotations, struct neap_error *err)
{
	json_t *object, *annotations;
	int rc = 0;

	if (neap_buf_failed(&told->cpus) || neap_buf_failed(&told->bound) ||
	    neap_buf_failed(&told->used))
		return neap_error_nomem(err);
	object = json_pack("{s:{s:s,s:s,s:{s:o}},s:O}", "metadata", "name", name, "uid",
			   name, "annotations", "node.koordinator.sh/cpu-topology",
			   json_sprintf("{\"detail\":[%s]}", told->cpus.data), "zones",
			   told->zones);
	annotations = json_object();
	if (told->bound.len || told->used.len)
		rc = json_object_set_new(
			annotations, "scheduling.koordinator.sh/resource-status",
			json_sprintf("{\"cpuset\":\"%s\",\"numaNodeResources\":[%s]}",
				     told->bound.data, told->used.data));
	if (!object || !annotations || rc < 0) {
		json_decref(object);
		json_decref(annotations);
		return neap_error_nomem(err);
	}
	*ret_object = object;
	*ret_annotations = annotations;
	return 0;
}

int neap_place_example_numa(const json_t *numa, const char *name, json_t **ret_object,
			    json_t **ret_annotations, struct neap_error *err)
{
	struct told told = {.zones = json_array()};
	int rc;

	neap_buf_init(&told.cpus, TEXT_MAX);
	neap_buf_init(&told.bound, TEXT_MAX);
	neap_buf_init(&told.used, TEXT_MAX);
	rc = add_zones(&told, numa, err);
	if (rc == 0)
		rc = make(&told, name, ret_object, ret_annotations, err);
	json_decref(told.zones);
	neap_buf_done(&told.cpus);
	neap_buf_done(&told.bound);
	neap_buf_done(&told.used);
	return rc;
}
