/* SPDX-License-Identifier: Apache-2.0
 *
 * A pod's placement wishes: affinities to nodes and pods, and spread constraints. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/sha256.h"
#include "engine/json/json.h"
#include "engine/pod/pod_priv.h"

/* A copy in the pod's arena; NULL where json is missing: it takes none. */
static int read_selector(struct neap_pod *pod, const json_t *json,
			 const struct neap_selector **ret, struct neap_error *err)
{
	*ret = NULL;
	if (!json || json_is_null(json))
		return 0;
	return neap_selector_parse_into(&pod->arena, json, ret, err);
}

/* A demand for each of the labels that the pod itself has. False without memory. */
static bool add_keys(const struct neap_pod *pod, json_t *expressions, const json_t *keys,
		     const char *demand)
{
	for (size_t i = 0; i < json_array_size(keys); i++) {
		const char *key = json_string_value(json_array_get(keys, i));
		const char *value = key ? neap_object_label(pod->object, key) : NULL;

		if (value && json_array_append_new(expressions,
						   json_pack("{s:s, s:s, s:[s]}", "key",
							     key, "operator", demand,
							     "values", value)) < 0)
			return false;
	}
	return true;
}

/* A copy that demands them, too; NULL without memory. */
static json_t *with_keys(const struct neap_pod *pod, const json_t *selector,
			 const json_t *same, const json_t *other)
{
	json_t *copy = neap_json_deep_copy(selector);
	json_t *expressions = json_object_get(copy, "matchExpressions");

	if (!json_is_array(expressions)) {
		(void)json_object_set_new(copy, "matchExpressions", json_array());
		expressions = json_object_get(copy, "matchExpressions");
	}
	return neap_json_made(expressions && add_keys(pod, expressions, same, "In") &&
				      add_keys(pod, expressions, other, "NotIn"),
			      copy);
}

/* labelSelector of a term or a constraint, with what its matchLabelKeys and
 * mismatchLabelKeys say. */
static int read_label_selector(struct neap_pod *pod, const json_t *json,
			       const struct neap_selector **ret_selector,
			       struct neap_error *err)
{
	const json_t *selector = json_object_get(json, "labelSelector");
	const json_t *same = json_object_get(json, "matchLabelKeys");
	const json_t *other = json_object_get(json, "mismatchLabelKeys");
	json_t *copy;
	int ret;

	if (!json_is_object(selector) ||
	    (!json_array_size(same) && !json_array_size(other)))
		return read_selector(pod, selector, ret_selector, err);
	copy = with_keys(pod, selector, same, other);
	ret = copy ? read_selector(pod, copy, ret_selector, err) : neap_error_nomem(err);
	json_decref(copy);
	return ret;
}

static int read_namespaces(struct neap_pod *pod, struct neap_pod_term *term,
			   const json_t *json, struct neap_error *err)
{
	const json_t *list = json_object_get(json, "namespaces");
	const json_t *by_label = json_object_get(json, "namespaceSelector");
	size_t count = json_array_size(list);
	bool is_own = !count && (!by_label || json_is_null(by_label));

	term->namespaces = neap_pod_list(pod, is_own ? 1 : count,
					 sizeof(*term->namespaces), "namespaces", err);
	if (!term->namespaces)
		return -(int)err->code;
	for (size_t i = 0; i < (is_own ? 1 : count); i++) {
		/* Copied, because the object changes when the pod is bound. */
		const char *ns = is_own ? pod->object->ns
					: json_string_value(json_array_get(list, i));
		const char *copy = neap_arena_strdup(&pod->arena, ns ? ns : "");

		if (!copy)
			return neap_error_nomem(err);
		term->namespaces[term->namespace_count++] = copy;
	}
	if (json_is_object(by_label) &&
	    !json_object_size(json_object_get(by_label, "matchLabels")) &&
	    !json_array_size(json_object_get(by_label, "matchExpressions"))) {
		term->is_every_namespace = true;
		return 0;
	}
	return read_selector(pod, by_label, &term->namespace_selector, err);
}

static int read_pod_term(struct neap_pod *pod, struct neap_pod_term *term,
			 const json_t *json, struct neap_error *err)
{
	int ret = read_label_selector(pod, json, &term->selector, err);

	if (ret < 0)
		return ret;
	term->topology_key =
		neap_arena_strdup(&pod->arena, neap_json_text(json, "topologyKey"));
	if (!term->topology_key)
		return neap_error_nomem(err);
	return read_namespaces(pod, term, json, err);
}

static int read_pod_terms(struct neap_pod *pod, struct neap_pod_terms *terms,
			  const json_t *list, bool is_weighted, struct neap_error *err)
{
	int ret = 0;

	terms->terms =
		neap_pod_list(pod, json_array_size(list), sizeof(*terms->terms), "", err);
	if (!terms->terms)
		return -(int)err->code;
	for (size_t i = 0; ret == 0 && i < json_array_size(list); i++) {
		const json_t *json = json_array_get(list, i);
		struct neap_pod_term *term = &terms->terms[i];

		if (is_weighted) {
			term->weight = (int32_t)json_integer_value(
				json_object_get(json, "weight"));
			json = json_object_get(json, "podAffinityTerm");
		}
		ret = read_pod_term(pod, term, json, err);
		if (ret == 0)
			terms->count++;
	}
	return ret;
}

static int read_preferred(struct neap_pod *pod, const json_t *list,
			  struct neap_error *err)
{
	struct neap_preferred *preferred =
		neap_pod_list(pod, json_array_size(list), sizeof(*preferred),
			      "preferredDuringSchedulingIgnoredDuringExecution", err);
	int ret = 0;

	if (!preferred)
		return -(int)err->code;
	pod->preferred = preferred;
	for (size_t i = 0; ret == 0 && i < json_array_size(list); i++) {
		const json_t *json = json_array_get(list, i);

		preferred[i].weight =
			(int32_t)json_integer_value(json_object_get(json, "weight"));
		ret = neap_term_read(&preferred[i].term,
				     json_object_get(json, "preference"), &pod->arena,
				     err);
		if (ret == 0)
			pod->preferred_count++;
	}
	return ret;
}

/* Alike for terms that are alike; it may be another for others that mean the same. */
static int name_terms(struct neap_pod *pod, const json_t *affinity,
		      struct neap_error *err)
{
	char sum[NEAP_SHA256_HEX];
	size_t count = 0;
	char *text;

	for (int i = 0; i < NEAP_NEAR_COUNT; i++)
		count += pod->near[i].count;
	if (!count)
		return 0;
	text = neap_json_dump(affinity, JSON_COMPACT);
	if (!text)
		return neap_error_nomem(err);
	neap_sha256_hex(text, strlen(text), sum);
	free(text);
	pod->near_name = neap_arena_strdup(&pod->arena, sum);
	return pod->near_name ? 0 : neap_error_nomem(err);
}

static int read_affinity(struct neap_pod *pod, const json_t *affinity,
			 struct neap_error *err)
{
	static const struct {
		enum neap_near near;
		const char *kind, *list;
	} rows[] = {
		{NEAP_NEAR_REQUIRED, "podAffinity",
		 "requiredDuringSchedulingIgnoredDuringExecution"},
		{NEAP_NEAR_PREFERRED, "podAffinity",
		 "preferredDuringSchedulingIgnoredDuringExecution"},
		{NEAP_AWAY_REQUIRED, "podAntiAffinity",
		 "requiredDuringSchedulingIgnoredDuringExecution"},
		{NEAP_AWAY_PREFERRED, "podAntiAffinity",
		 "preferredDuringSchedulingIgnoredDuringExecution"},
	};
	const json_t *node = json_object_get(affinity, "nodeAffinity");
	const json_t *required = json_object_get(node, rows[0].list);
	int ret = 0;

	pod->has_affinity = json_is_object(required);
	if (pod->has_affinity)
		ret = neap_terms_read(&pod->affinity,
				      json_object_get(required, "nodeSelectorTerms"),
				      &pod->arena, err);
	if (ret == 0)
		ret = read_preferred(pod, json_object_get(node, rows[1].list), err);
	if (ret < 0) {
		(void)neap_error_infield(err, "spec.affinity.nodeAffinity");
		return ret;
	}
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const json_t *kind = json_object_get(affinity, rows[i].kind);

		ret = read_pod_terms(pod, &pod->near[rows[i].near],
				     json_object_get(kind, rows[i].list),
				     rows[i].near == NEAP_NEAR_PREFERRED ||
					     rows[i].near == NEAP_AWAY_PREFERRED,
				     err);
		if (ret < 0) {
			(void)neap_error_infield(err, "spec.affinity.%s", rows[i].kind);
			return ret;
		}
	}
	return 0;
}

int neap_pod_read_affinity(struct neap_pod *pod, const json_t *spec,
			   struct neap_error *err)
{
	const json_t *affinity = json_object_get(spec, "affinity");
	int ret = read_affinity(pod, affinity, err), failed;
	struct neap_error other;

	/* What was read counts. */
	failed = name_terms(pod, affinity, &other);
	if (failed < 0 && ret != -NEAP_ENOMEM)
		*err = other;
	return failed < 0 ? failed : ret;
}

int neap_pod_read_spreads(struct neap_pod *pod, const json_t *spec,
			  struct neap_error *err)
{
	const json_t *list = json_object_get(spec, "topologySpreadConstraints");
	struct neap_spread *spreads =
		neap_pod_list(pod, json_array_size(list), sizeof(*spreads),
			      "spec.topologySpreadConstraints", err);
	int ret = 0;

	if (!spreads)
		return -(int)err->code;
	pod->spreads = spreads;
	for (size_t i = 0; ret == 0 && i < json_array_size(list); i++) {
		const json_t *json = json_array_get(list, i);
		struct neap_spread *spread = &spreads[i];

		spread->max_skew =
			(int32_t)json_integer_value(json_object_get(json, "maxSkew"));
		spread->min_domains =
			json_object_get(json, "minDomains")
				? (int32_t)json_integer_value(
					  json_object_get(json, "minDomains"))
				: 1;
		spread->is_required =
			!neap_json_is_text(json, "whenUnsatisfiable", "ScheduleAnyway");
		spread->ignores_affinity =
			neap_json_is_text(json, "nodeAffinityPolicy", "Ignore");
		spread->honors_taints =
			neap_json_is_text(json, "nodeTaintsPolicy", "Honor");
		spread->topology_key = neap_arena_strdup(
			&pod->arena, neap_json_text(json, "topologyKey"));
		ret = spread->topology_key
			      ? read_label_selector(pod, json, &spread->selector, err)
			      : neap_error_nomem(err);
		if (ret == 0)
			pod->spread_count++;
		else
			(void)neap_error_infield(
				err, "spec.topologySpreadConstraints[%zu]", i);
	}
	return ret;
}
