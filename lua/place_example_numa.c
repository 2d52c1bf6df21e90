/* SPDX-License-Identifier: Apache-2.0
 *
 * NUMA nodes of the nodes of examples. Each is a socket of one-threaded cores, as many as its CPU is. */
#include <stdio.h>
#include <string.h>

#include "engine/base/json.h"
#include "lua/place_priv.h"

#define ZONES_MAX 8
#define CPUS_MAX  256

struct maker {
	json_t *zones, *detail, *status; /* of the topology; of resource-status */
	int cpus;
	struct neap_error *err;
};

static int add_cpus(struct maker *maker, int zone, json_int_t milli)
{
	for (json_int_t n = 0; n * 1000 < milli; n++) {
		if (maker->cpus == CPUS_MAX)
			return neap_error_set(maker->err, NEAP_EINVAL,
					      "numa: more than %d CPUs", CPUS_MAX);
		if (json_array_append_new(maker->detail,
					  json_pack("{s:i,s:i,s:i,s:i}", "id",
						    maker->cpus, "core", maker->cpus,
						    "socket", zone, "node", zone)) < 0)
			return neap_error_nomem(maker->err);
		maker->cpus++;
	}
	return 0;
}

/* Amounts as those of a zone: a list of { name, allocatable }. */
static int add_zone(struct maker *maker, int zone, const json_t *amounts)
{
	json_t *list = json_array(), *value;
	const char *key;
	int rc = json_array_append_new(maker->zones,
				       json_pack("{s:o,s:s,s:o}", "name",
						 json_sprintf("node-%d", zone), "type",
						 "Node", "resources", list)) < 0
			 ? neap_error_nomem(maker->err)
			 : 0;

	json_object_foreach ((json_t *)(uintptr_t)amounts, key, value) {
		if (rc == 0 &&
		    json_array_append_new(list, json_pack("{s:s,s:O}", "name", key,
							  "allocatable", value)) < 0)
			rc = neap_error_nomem(maker->err);
	}
	return rc;
}

static int add_part(struct maker *maker, int zone, const json_t *part)
{
	static const char *const names[] = {"allocatable", "requested", NULL};
	const json_t *allocatable = json_object_get(part, "allocatable");
	json_t *all = json_object(), *used = json_object();
	int rc = all && used
			 ? neap_place_check_names(part, "a NUMA node", names, maker->err)
			 : neap_error_nomem(maker->err);

	if (rc == 0)
		rc = neap_place_quantities(allocatable, "allocatable", all, maker->err);
	if (rc == 0)
		rc = neap_place_quantities(json_object_get(part, "requested"),
					   "requested", used, maker->err);
	if (rc == 0)
		rc = add_cpus(maker, zone,
			      json_integer_value(json_object_get(allocatable, "cpu")));
	if (rc == 0)
		rc = add_zone(maker, zone, all);
	if (rc == 0 && json_object_size(used) &&
	    json_array_append_new(maker->status, json_pack("{s:i,s:O}", "node", zone,
							   "resources", used)) < 0)
		rc = neap_error_nomem(maker->err);
	json_decref(all);
	json_decref(used);
	return rc;
}

/* A text of the object, both taken. */
static json_t *text_of(json_t *object)
{
	char *text = object ? neap_json_dump(object, JSON_COMPACT) : NULL;
	json_t *ret = text ? json_string(text) : NULL;

	free(text);
	json_decref(object);
	return ret;
}

int neap_place_example_numa(const json_t *list, const char *node, json_t **ret_topology,
			    json_t **ret_status, struct neap_error *err)
{
	struct maker maker = {json_array(), json_array(), json_array(), 0, err};
	const json_t *part;
	size_t i;
	int rc = maker.zones && maker.detail && maker.status ? 0 : neap_error_nomem(err);

	*ret_topology = *ret_status = NULL;
	if (rc == 0 && (!json_is_array(list) || json_array_size(list) > ZONES_MAX))
		rc = neap_error_set(err, NEAP_EINVAL,
				    "numa: a list of at most %d tables is wanted",
				    ZONES_MAX);
	json_array_foreach (list, i, part) {
		rc = rc < 0 ? rc : add_part(&maker, (int)i, part);
	}
	if (rc == 0) {
		*ret_topology = json_pack(
			"{s:{s:s,s:s,s:{s:o}},s:O}", "metadata", "name", node, "uid",
			node, "annotations", "node.koordinator.sh/cpu-topology",
			text_of(json_pack("{s:O}", "detail", maker.detail)), "zones",
			maker.zones);
		if (!*ret_topology)
			rc = neap_error_nomem(err);
	}
	if (rc == 0 && json_array_size(maker.status)) {
		*ret_status =
			text_of(json_pack("{s:O}", "numaNodeResources", maker.status));
		if (!*ret_status)
			rc = neap_error_nomem(err);
	}
	json_decref(maker.zones);
	json_decref(maker.detail);
	json_decref(maker.status);
	return rc;
}
