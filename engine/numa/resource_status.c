/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/numa/resource_status.h"

#include <string.h>

#include "engine/json/json.h"

static int read_zones(const json_t *list, const json_t **ret, struct neap_error *err)
{
	const json_t *item;
	size_t i;

	if (!list || json_is_null(list))
		return 0;
	if (!json_is_array(list))
		return neap_error_set(err, NEAP_EINVAL,
				      "numaNodeResources must be a list");
	if (json_array_size(list) > NEAP_STATUS_NODES_MAX)
		return neap_error_set(err, NEAP_EINVAL,
				      "numaNodeResources has more than %d items",
				      NEAP_STATUS_NODES_MAX);
	json_array_foreach (list, i, item) {
		const json_t *node = json_object_get(item, "node");
		json_int_t number = json_integer_value(node);

		if (node && (!json_is_integer(node) || number < 0 ||
			     number >= NEAP_STATUS_NODES_MAX))
			return neap_error_set(err, NEAP_EINVAL,
					      "numaNodeResources[%zu].node must be a "
					      "number from 0 to %d",
					      i, NEAP_STATUS_NODES_MAX - 1);
	}
	*ret = list;
	return 0;
}

static int read_tree(struct neap_resource_status *ret, struct neap_error *err)
{
	const json_t *cpus = json_object_get(ret->tree, "cpuset");
	int failed;

	if (!json_is_object(ret->tree))
		return neap_error_set(err, NEAP_EINVAL, "it must be an object");
	if (cpus && !json_is_null(cpus) && !json_is_string(cpus))
		return neap_error_set(err, NEAP_EINVAL,
				      "cpuset must be a text such as \"0-3,8\"");
	if (json_is_string(cpus))
		ret->cpus_text = json_string_value(cpus);
	failed = neap_cpuset_parse_told(&ret->cpus, ret->cpus_text, err);
	if (failed < 0) {
		(void)neap_error_wrap(err, "cpuset");
		return failed;
	}
	return read_zones(json_object_get(ret->tree, "numaNodeResources"), &ret->zones,
			  err);
}

int neap_resource_status_read(const char *text, struct neap_resource_status *ret,
			      struct neap_error *err)
{
	struct neap_resource_status status = {.cpus_text = ""};
	json_error_t where;
	int failed;

	if (!text || *text == '\0') {
		*ret = status;
		return 0;
	}
	failed = neap_json_parse_note(text, &status.tree, &where);
	if (failed == -NEAP_ENOMEM)
		return neap_error_nomem(err);
	if (failed < 0)
		return neap_error_set(err, NEAP_EINVAL, "no JSON: %s", where.text);
	failed = read_tree(&status, err);
	if (failed < 0)
		neap_resource_status_done(&status);
	else
		*ret = status;
	return failed;
}

void neap_resource_status_done(struct neap_resource_status *status)
{
	json_decref(status->tree);
	status->tree = NULL;
}
