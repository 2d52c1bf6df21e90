/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "api/workload/loop/pod_control.h"
#include "api/workload/statefulset/statefulsets_priv.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

/* --- names --- */

int64_t stateful_ordinal(const char *set, const char *pod)
{
	size_t len = strlen(set);
	int64_t number;

	if (strncmp(pod, set, len) != 0 || pod[len] != '-')
		return -1;
	pod += len + 1;
	if (!*pod || strspn(pod, "0123456789") != strlen(pod) ||
	    (pod[0] == '0' && pod[1]) || neap_int_parse(pod, &number, NULL) < 0 ||
	    number > INT32_MAX)
		return -1;
	return number;
}

const char *stateful_pod_name(const struct stateful *look, int64_t ordinal,
			      char buf[NEAP_OBJECT_NAME])
{
	(void)snprintf(buf, NEAP_OBJECT_NAME, "%s-%lld", look->base.owner->name,
		       (long long)ordinal);
	return buf;
}

/* --- how they are --- */

bool stateful_is_ready(const struct stateful_pod *pod)
{
	return pod->facts->phase == NEAP_POD_RUNNING && pod->facts->is_ready;
}

bool stateful_is_healthy(const struct stateful_pod *pod)
{
	return stateful_is_ready(pod) && !pod->facts->is_deleting;
}

bool stateful_is_available(struct stateful *look, const struct stateful_pod *pod)
{
	int64_t after = 0;
	bool is_so =
		stateful_is_ready(pod) &&
		neap_pod_is_available(pod->facts, look->min_ready_s, look->now, &after);

	if (after)
		neap_look_again(&look->base, after);
	return is_so;
}

bool stateful_is_of(const struct stateful_pod *pod, const char *revision)
{
	const char *label = neap_object_label(pod->object, NEAP_REVISION_HASH);

	return label && strcmp(label, revision) == 0;
}

/* --- making --- */

static bool is_claim(const json_t *templates, const char *name)
{
	const json_t *item;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)templates, i, item) {
		if (strcmp(neap_tree_text(item, "metadata.name"), name) == 0)
			return true;
	}
	return false;
}

/* A volume for each claim; then those of the template with other names. */
static json_t *volumes_new(const struct stateful *look, const json_t *spec,
			   const char *pod)
{
	const json_t *templates = neap_tree_at(look->tree, "spec.volumeClaimTemplates");
	json_t *list = json_array(), *item;
	char name[2 * NEAP_OBJECT_NAME];
	int ret = 0;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)templates, i, item) {
		const char *claim = neap_tree_text(item, "metadata.name");

		(void)snprintf(name, sizeof(name), "%s-%s", claim, pod);
		ret |= json_array_append_new(
			list, json_pack("{s:s, s:{s:s}}", "name", claim,
					"persistentVolumeClaim", "claimName", name));
	}
	json_array_foreach (json_object_get(spec, "volumes"), i, item) {
		if (!is_claim(templates, neap_json_text(item, "name")))
			ret |= json_array_append(list, item);
	}
	return neap_json_made(ret == 0, list);
}

static bool fill_meta(json_t *meta, const char *name, int64_t ordinal,
		      const char *revision)
{
	json_t *labels = json_object_get(meta, "labels");
	char number[24];
	int ret = 0;

	if (!labels) {
		ret |= json_object_set_new(meta, "labels", json_object());
		labels = json_object_get(meta, "labels");
	}
	(void)snprintf(number, sizeof(number), "%lld", (long long)ordinal);
	ret |= json_object_set_new(meta, "name", json_string(name));
	ret |= json_object_set_new(labels, POD_NAME_LABEL, json_string(name));
	ret |= json_object_set_new(labels, POD_INDEX_LABEL, json_string(number));
	ret |= json_object_set_new(labels, NEAP_REVISION_HASH, json_string(revision));
	return ret == 0;
}

static bool fill_spec(const struct stateful *look, json_t *spec, const char *name)
{
	const char *service = neap_tree_text(look->tree, "spec.serviceName");
	int ret = 0;

	ret |= json_object_set_new(spec, "hostname", json_string(name));
	if (*service)
		ret |= json_object_set_new(spec, "subdomain", json_string(service));
	if (json_array_size(neap_tree_at(look->tree, "spec.volumeClaimTemplates")))
		ret |= json_object_set_new(spec, "volumes",
					   volumes_new(look, spec, name));
	return ret == 0;
}

/* Pods below the partition stay at the revision that the update started from. */
static bool is_behind(const struct stateful *look, int64_t ordinal)
{
	return look->is_rolling && ordinal < look->start + look->partition;
}

json_t *stateful_pod_new(const struct stateful *look, int64_t ordinal)
{
	bool is_old = is_behind(look, ordinal);
	const json_t *pod_template = is_old && look->current_template
					     ? look->current_template
					     : neap_tree_at(look->tree, "spec.template");
	neap_auto_json json_t *owner = json_pack("{s:O, s:{s:O}}", "metadata",
						 neap_tree_at(look->tree, "metadata"),
						 "spec", "template", pod_template);
	char name[NEAP_OBJECT_NAME];
	json_t *pod = owner ? neap_pod_from_template(owner, STS_API, STS_KIND) : NULL;

	(void)stateful_pod_name(look, ordinal, name);
	if (pod && (!fill_meta(json_object_get(pod, "metadata"), name, ordinal,
			       is_old ? look->current : look->update) ||
		    !fill_spec(look, json_object_get(pod, "spec"), name))) {
		json_decref(pod);
		return NULL;
	}
	return pod;
}
