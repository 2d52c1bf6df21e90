/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/numa/cpu_policy.h"

#include <math.h>
#include <string.h>

#include "engine/json/json.h"
#include "engine/numa/numa_room.h"

static const char not_whole[] = "the requested CPUs must be integer";

const char *neap_cpu_bind_name(enum neap_cpu_bind bind)
{
	return bind == NEAP_BIND_FULL_PCPUS ? "FullPCPUs"
	       : bind == NEAP_BIND_SPREAD   ? "SpreadByPCPUs"
					    : "";
}

static bool is(const char *text, const char *word)
{
	return text && strcmp(text, word) == 0;
}

/* --- what a pod says --- */

/* A new reference in *ret, NULL when there is no text. */
static int parse(const char *what, const char *text, json_t **ret, struct neap_error *err)
{
	json_error_t where;
	int failed;

	*ret = NULL;
	if (!text)
		return 0;
	failed = neap_json_parse_note(text, ret, &where);
	if (failed == -NEAP_ENOMEM)
		return neap_error_nomem(err);
	if (failed == 0 && json_is_object(*ret))
		return 0;
	json_decref(*ret);
	*ret = NULL;
	return neap_error_field(err, NEAP_EINVAL, what, "is no JSON object");
}

static int member(const json_t *object, const char *what, const char *key,
		  const char **ret, struct neap_error *err)
{
	const json_t *value = json_object_get(object, key);

	*ret = json_is_string(value) ? json_string_value(value) : "";
	if (value && !json_is_string(value) && !json_is_null(value))
		return neap_error_field(err, NEAP_EINVAL, what, "%s is no text", key);
	return 0;
}

/* False: a word that never binds. DEFAULT: none. */
static bool read_bind(const char *word, enum neap_cpu_bind on_default,
		      enum neap_cpu_bind *ret)
{
	*ret = NEAP_BIND_DEFAULT;
	if (is(word, ""))
		return true;
	if (is(word, "Default"))
		*ret = on_default;
	else if (is(word, "FullPCPUs"))
		*ret = NEAP_BIND_FULL_PCPUS;
	else if (is(word, "SpreadByPCPUs"))
		*ret = NEAP_BIND_SPREAD;
	return *ret != NEAP_BIND_DEFAULT;
}

static int read_spec(const struct neap_cpu_wish_from *from,
		     enum neap_cpu_bind default_bind, const json_t *spec,
		     struct neap_cpu_wish *ret, struct neap_error *err)
{
	static const char what[] = NEAP_KEY_RESOURCE_SPEC;
	const char *required_text, *preferred_text, *exclusive;
	enum neap_cpu_bind required, preferred;
	bool is_known;
	int failed = member(spec, what, "requiredCPUBindPolicy", &required_text, err);

	if (failed == 0)
		failed = member(spec, what, "preferredCPUBindPolicy", &preferred_text,
				err);
	if (failed == 0)
		failed = member(spec, what, "preferredCPUExclusivePolicy", &exclusive,
				err);
	if (failed < 0)
		return failed;
	/* The label itself must say so: a class that was guessed binds nothing. */
	if ((from->qos != NEAP_QOS_LSE && from->qos != NEAP_QOS_LSR) ||
	    from->band != NEAP_BAND_PROD)
		return 0;
	is_known = read_bind(preferred_text, default_bind, &preferred);
	if (preferred == NEAP_BIND_DEFAULT && is_known)
		preferred = default_bind;
	if (!is(required_text, ""))
		is_known = read_bind(required_text, default_bind, &required);
	else
		required = NEAP_BIND_DEFAULT;
	if (!is_known)
		return 0;
	if (from->cpu_milli % 1000 != 0)
		return neap_error_set(err, NEAP_ENOFIT, not_whole);
	if (from->cpu_milli <= 0)
		return 0;
	ret->is_binding = true;
	ret->required = required;
	ret->preferred = required != NEAP_BIND_DEFAULT ? required : preferred;
	ret->exclusive = is(exclusive, "PCPULevel")       ? NEAP_EXCLUSIVE_PCPU
			 : is(exclusive, "NUMANodeLevel") ? NEAP_EXCLUSIVE_NUMA
							  : NEAP_EXCLUSIVE_NONE;
	return 0;
}

static int read_numa(const json_t *spec, struct neap_cpu_wish *ret,
		     struct neap_error *err)
{
	static const char what[] = NEAP_KEY_NUMA_SPEC;
	const char *policy, *exclusive;
	int failed = member(spec, what, "numaTopologyPolicy", &policy, err);

	if (failed == 0)
		failed = member(spec, what, "singleNUMANodeExclusive", &exclusive, err);
	if (failed < 0)
		return failed;
	ret->numa = neap_numa_policy_parse(policy);
	ret->numa_exclusive = is(exclusive, "Preferred") ? NEAP_NUMA_EXCLUSIVE_PREFERRED
			      : is(exclusive, "Required") || (is(exclusive, "") &&
							      ret->numa != NEAP_NUMA_ANY)
				      ? NEAP_NUMA_EXCLUSIVE_REQUIRED
				      : NEAP_NUMA_EXCLUSIVE_NONE;
	return 0;
}

int neap_cpu_wishes_make(const struct neap_cpu_wish_from *from,
			 const enum neap_cpu_bind *defaults, size_t count,
			 struct neap_cpu_wish *ret, struct neap_error *err)
{
	json_t *spec = NULL, *numa = NULL;
	int failed = parse(NEAP_KEY_RESOURCE_SPEC, from->resource_spec, &spec, err);

	for (size_t i = 0; i < count; i++)
		ret[i] = (struct neap_cpu_wish){.cpu_milli = from->cpu_milli};
	if (failed == 0)
		failed = parse(NEAP_KEY_NUMA_SPEC, from->numa_spec, &numa, err);
	for (size_t i = 0; i < count && failed == 0; i++) {
		failed = read_numa(numa, &ret[i], err);
		if (failed == 0)
			failed = read_spec(from, defaults[i], spec, &ret[i], err);
	}
	json_decref(spec);
	json_decref(numa);
	return failed;
}

/* --- what a node says --- */

bool neap_cpu_kubelet_is_full(const json_t *policy)
{
	const json_t *options = json_object_get(policy, "options");

	return is(json_string_value(json_object_get(policy, "policy")), "static") &&
	       is(json_string_value(json_object_get(options, "full-pcpus-only")), "true");
}

void neap_cpu_rule_make(const char *bind_label, const char *numa_label,
			bool is_kubelet_full, enum neap_numa_policy kubelet_numa,
			struct neap_cpu_rule *ret)
{
	ret->bind = NEAP_BIND_DEFAULT;
	if (is_kubelet_full || is(bind_label, "FullPCPUsOnly"))
		ret->bind = NEAP_BIND_FULL_PCPUS;
	else if (is(bind_label, "SpreadByPCPUs"))
		ret->bind = NEAP_BIND_SPREAD;
	ret->numa = neap_numa_policy_parse(numa_label ? numa_label : "");
	if (ret->numa == NEAP_NUMA_ANY)
		ret->numa = kubelet_numa;
}

/* --- both --- */

int neap_cpu_merge_numa(enum neap_numa_policy node, enum neap_numa_policy pod,
			enum neap_numa_policy *ret, struct neap_error *err)
{
	*ret = pod != NEAP_NUMA_ANY ? pod : node;
	if (pod != NEAP_NUMA_ANY && node != NEAP_NUMA_ANY && pod != node)
		return neap_error_set(err, NEAP_ENOFIT,
				      "node(s) NUMA Topology policy not match");
	return 0;
}

enum neap_cpu_bind neap_cpu_effective(const struct neap_cpu_wish *wish,
				      const struct neap_cpu_rule *rule,
				      bool *ret_required)
{
	*ret_required =
		wish->required != NEAP_BIND_DEFAULT || rule->bind != NEAP_BIND_DEFAULT;
	if (wish->required != NEAP_BIND_DEFAULT)
		return wish->required;
	return rule->bind != NEAP_BIND_DEFAULT ? rule->bind : wish->preferred;
}

static int check_load(const struct neap_cpu_wish *wish, const struct neap_cpu_load *load,
		      bool is_binding, struct neap_error *err)
{
	int64_t request, requested;

	if (!load || wish->cpu_milli <= 0)
		return 0;
	if (isnan(load->ratio))
		return neap_error_set(err, NEAP_ENOFIT,
				      "node(s) invalid CPU amplification ratio");
	if (!(load->ratio > 1))
		return 0;
	request = is_binding ? neap_numa_amplify(wish->cpu_milli, load->ratio)
			     : wish->cpu_milli;
	requested = neap_numa_requested_cpu(load->requested, load->bound, load->ratio);
	return requested > load->allocatable || request > load->allocatable - requested
		       ? neap_error_set(err, NEAP_ENOFIT, "Insufficient amplified cpu")
		       : 0;
}

int neap_cpu_choose(const struct neap_cpu_wish *wish, const struct neap_cpu_rule *rule,
		    const struct neap_cpu_load *load, int per_core,
		    struct neap_cpu_choice *ret, struct neap_error *err)
{
	bool has_rule = rule->bind != NEAP_BIND_DEFAULT && wish->cpu_milli > 0;
	int failed;

	*ret = (struct neap_cpu_choice){.is_binding = wish->is_binding || has_rule};
	failed = neap_cpu_merge_numa(rule->numa, wish->numa, &ret->numa, err);
	if (failed < 0)
		return failed;
	if (has_rule && wish->cpu_milli % 1000 != 0)
		return neap_error_set(err, NEAP_ENOFIT, not_whole);
	failed = check_load(wish, load, ret->is_binding, err);
	if (failed < 0 || !ret->is_binding)
		return failed;
	ret->bind = neap_cpu_effective(wish, rule, &ret->is_required);
	ret->is_from_node = ret->is_required && wish->required == NEAP_BIND_DEFAULT;
	ret->cpus = wish->cpu_milli / 1000 < NEAP_CPU_MAX ? (int)(wish->cpu_milli / 1000)
							  : NEAP_CPU_MAX + 1;
	if (per_core < 1)
		return neap_error_set(err, NEAP_ENOFIT, "node(s) invalid CPU Topology");
	if (wish->required != NEAP_BIND_DEFAULT && rule->bind != NEAP_BIND_DEFAULT &&
	    wish->required != rule->bind)
		return neap_error_set(err, NEAP_ENOFIT,
				      "node(s) cpu bind policy conflicts with pod's "
				      "required cpu bind policy");
	if (ret->is_required && ret->bind == NEAP_BIND_FULL_PCPUS &&
	    ret->cpus % per_core != 0)
		return neap_error_set(
			err, NEAP_ENOFIT,
			"node(s) requested cpus not multiple cpus per core");
	return 0;
}

/* --- what is written --- */

static bool replace_default(json_t *spec, const char *key, enum neap_cpu_bind bind)
{
	return !is(json_string_value(json_object_get(spec, key)), "Default") ||
	       json_object_set_new(spec, key, json_string(neap_cpu_bind_name(bind))) == 0;
}

static bool is_set(const json_t *spec, const char *key)
{
	const char *text = json_string_value(json_object_get(spec, key));

	return text && *text != '\0';
}

json_t *neap_cpu_spec_write(const json_t *spec, const struct neap_cpu_choice *choice)
{
	static const char required[] = "requiredCPUBindPolicy";
	static const char preferred[] = "preferredCPUBindPolicy";
	json_t *ret = spec ? neap_json_copy(spec) : json_object();
	const char *add = NULL;

	if (ret && choice->is_from_node)
		add = required;
	else if (ret && !is_set(ret, required) && !is_set(ret, preferred))
		add = preferred;
	if (!ret || !replace_default(ret, required, choice->bind) ||
	    !replace_default(ret, preferred, choice->bind) ||
	    (add &&
	     json_object_set_new(ret, add,
				 json_string(neap_cpu_bind_name(choice->bind))) < 0)) {
		json_decref(ret);
		return NULL;
	}
	return ret;
}
