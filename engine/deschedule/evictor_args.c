/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the arguments of DefaultEvictor. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/deschedule/evictor.h"
#include "engine/json/json.h"

#define LIST_MAX 64
#define KEEP_PLAIN                                                                       \
	(NEAP_KEEP_LOCAL | NEAP_KEEP_CRITICAL | NEAP_KEEP_FAILED_BARE | NEAP_KEEP_DAEMON)

static const struct {
	const char *name;
	unsigned bit;
} protections[] = {
	{"PodsWithLocalStorage", NEAP_KEEP_LOCAL},
	{"SystemCriticalPods", NEAP_KEEP_CRITICAL},
	{"FailedBarePods", NEAP_KEEP_FAILED_BARE},
	{"DaemonSetPods", NEAP_KEEP_DAEMON},
	{"PodsWithPVC", NEAP_KEEP_CLAIMS},
	{"PodsWithoutPDB", NEAP_KEEP_UNBUDGETED},
	{"PodsWithResourceClaims", NEAP_KEEP_RESOURCES},
};

struct flags {
	bool local, daemon, critical, bare, claims, unbudgeted;
};

void neap_evictor_init(struct neap_evictor *evictor)
{
	*evictor = (struct neap_evictor){.keep = KEEP_PLAIN};
}

void neap_evictor_done(struct neap_evictor *evictor)
{
	neap_selector_free(evictor->nodes);
	neap_selector_free(evictor->labels);
	neap_selector_free(evictor->namespaces);
	for (char **class = evictor->storage_classes; class && *class; class ++)
		free(*class);
	free(evictor->storage_classes);
	free(evictor->threshold_name);
	neap_evictor_init(evictor);
}

static int read_selector(struct neap_selector **ret, const json_t *args, const char *name,
			 struct neap_error *err)
{
	const json_t *json = json_object_get(args, name);
	int rc;

	if (!json || json_is_null(json))
		return 0;
	rc = neap_selector_parse(json, ret, err);
	return rc < 0 ? neap_error_infield(err, "%s", name) : 0;
}

static int read_threshold(struct neap_evictor *ret, const json_t *json,
			  struct neap_error *err)
{
	const char *name = "";
	int64_t value = INT64_MIN;
	const struct neap_member rows[] = {
		{"value", NEAP_MEMBER_INT, &value, INT32_MIN, INT32_MAX},
		{"name", NEAP_MEMBER_TEXT, &name},
		{NULL}};
	int rc = json ? neap_members_read(json, rows, err) : 0;

	if (rc < 0)
		return neap_error_infield(err, "priorityThreshold");
	if (*name && value != INT64_MIN)
		return neap_error_field(err, NEAP_EINVAL, "priorityThreshold",
					"only one of value and name may be set");
	if (value > NEAP_EVICTOR_PRIORITY_MAX)
		return neap_error_field(err, NEAP_EINVAL, "priorityThreshold.value",
					"must be at most %lld: pods above that stay "
					"anyway",
					(long long)NEAP_EVICTOR_PRIORITY_MAX);
	if (value != INT64_MIN) {
		ret->has_threshold = true;
		ret->threshold = value;
	}
	if (*name) {
		ret->threshold_name = neap_strdup(name);
		if (!ret->threshold_name)
			return neap_error_nomem(err);
	}
	return 0;
}

static int read_names(const json_t *list, const char *path, bool is_extra, unsigned *ret,
		      struct neap_error *err)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));
		char field[NEAP_ERROR_FIELD];
		size_t at = 0;

		(void)snprintf(field, sizeof(field), "podProtections.%s[%zu]", path, i);
		while (at < NEAP_ARRAY_LEN(protections) &&
		       strcmp(protections[at].name, name ? name : "") != 0)
			at++;
		if (at == NEAP_ARRAY_LEN(protections) ||
		    ((protections[at].bit & KEEP_PLAIN) == 0) != is_extra)
			return neap_error_field(
				err, NEAP_EINVAL, field, "%s; there are %s",
				name ? name : "it is no text",
				is_extra ? "PodsWithPVC, PodsWithoutPDB, "
					   "PodsWithResourceClaims"
					 : "PodsWithLocalStorage, SystemCriticalPods, "
					   "FailedBarePods, DaemonSetPods");
		if (*ret & protections[at].bit)
			return neap_error_field(err, NEAP_EINVAL, field,
						"%s is there twice", name);
		*ret |= protections[at].bit;
	}
	return 0;
}

static int read_classes(struct neap_evictor *ret, const json_t *config,
			struct neap_error *err)
{
	const json_t *list = NULL, *claims = NULL;
	const struct neap_member outer[] = {{"PodsWithPVC", NEAP_MEMBER_OBJECT, &claims},
					    {NULL}};
	const struct neap_member inner[] = {
		{"protectedStorageClasses", NEAP_MEMBER_LIST, &list, .max = LIST_MAX},
		{NULL}};
	int rc = config ? neap_members_read(config, outer, err) : 0;

	if (rc < 0)
		return neap_error_infield(err, "podProtections.config");
	rc = claims ? neap_members_read(claims, inner, err) : 0;
	if (rc < 0)
		return neap_error_infield(err, "podProtections.config.PodsWithPVC");
	if (!json_array_size(list))
		return 0;
	ret->storage_classes =
		neap_alloc_array(json_array_size(list) + 1, sizeof(char *));
	if (!ret->storage_classes)
		return neap_error_nomem(err);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = neap_json_text(json_array_get(list, i), "name");

		if (!*name)
			return neap_error_field(
				err, NEAP_EINVAL, "podProtections.config.PodsWithPVC",
				"protectedStorageClasses[%zu].name: it is empty", i);
		ret->storage_classes[i] = neap_strdup(name);
		if (!ret->storage_classes[i])
			return neap_error_nomem(err);
	}
	return 0;
}

static int read_protections(struct neap_evictor *ret, const json_t *json,
			    const struct flags *flags, struct neap_error *err)
{
	const json_t *off = NULL, *extra = NULL, *config = NULL;
	const struct neap_member rows[] = {
		{"defaultDisabled", NEAP_MEMBER_LIST, &off, .max = LIST_MAX},
		{"extraEnabled", NEAP_MEMBER_LIST, &extra, .max = LIST_MAX},
		{"config", NEAP_MEMBER_OBJECT, &config},
		{NULL}};
	bool has_flags = flags->local || flags->daemon || flags->critical ||
			 flags->bare || flags->claims || flags->unbudgeted;
	unsigned dropped = 0, added = 0;
	int rc = json ? neap_members_read(json, rows, err) : 0;

	if (rc < 0)
		return neap_error_infield(err, "podProtections");
	rc = read_names(off, "defaultDisabled", false, &dropped, err);
	if (rc == 0)
		rc = read_names(extra, "extraEnabled", true, &added, err);
	if (rc == 0)
		rc = read_classes(ret, config, err);
	if (rc < 0)
		return rc;
	if (!json_array_size(off) && !json_array_size(extra)) {
		dropped = (flags->local ? NEAP_KEEP_LOCAL : 0) |
			  (flags->daemon ? NEAP_KEEP_DAEMON : 0) |
			  (flags->critical ? NEAP_KEEP_CRITICAL : 0) |
			  (flags->bare ? NEAP_KEEP_FAILED_BARE : 0);
		added = (flags->claims ? NEAP_KEEP_CLAIMS : 0) |
			(flags->unbudgeted ? NEAP_KEEP_UNBUDGETED : 0);
	} else if (has_flags) {
		return neap_error_field(
			err, NEAP_EINVAL, "podProtections",
			"not together with the older evict* and ignore* switches");
	}
	ret->keep = (KEEP_PLAIN & ~dropped) | added;
	return 0;
}

static int read_nodes(struct neap_evictor *ret, const char *text, struct neap_error *err)
{
	int rc = *text ? neap_selector_parse_text(text, &ret->nodes, err) : 0;

	if (rc == 0)
		return 0;
	err->field[0] = '\0';
	return neap_error_infield(err, "nodeSelector");
}

static int read_age(struct neap_evictor *ret, const char *text, struct neap_error *err)
{
	int rc = text ? neap_duration_parse(text, &ret->min_age_usec, err) : 0;

	return rc < 0 ? neap_error_infield(err, "minPodAge") : 0;
}

static int read_all(struct neap_evictor *ret, const json_t *args, struct neap_error *err)
{
	static const char *const policies[] = {"", "Preferred", "Mandatory", NULL};
	const json_t *labels = NULL, *namespaces = NULL, *threshold = NULL, *keep = NULL;
	const char *nodes = "", *text = "";
	struct flags flags = {0};
	int64_t replicas = 0;
	int stay = 0, rc;
	const char *age = NULL;
	const struct neap_member rows[] = {
		{"apiVersion", NEAP_MEMBER_TEXT, &text},
		{"kind", NEAP_MEMBER_TEXT, &text},
		{"nodeSelector", NEAP_MEMBER_TEXT, &nodes},
		{"labelSelector", NEAP_MEMBER_OBJECT, &labels},
		{"namespaceLabelSelector", NEAP_MEMBER_OBJECT, &namespaces},
		{"priorityThreshold", NEAP_MEMBER_OBJECT, &threshold},
		{"nodeFit", NEAP_MEMBER_BOOL, &ret->fits_nodes},
		{"minReplicas", NEAP_MEMBER_INT, &replicas, 0, UINT32_MAX},
		{"minPodAge", NEAP_MEMBER_TEXT, &age},
		{"noEvictionPolicy", NEAP_MEMBER_CHOICE, &stay, .choices = policies},
		{"podProtections", NEAP_MEMBER_OBJECT, &keep},
		{"evictLocalStoragePods", NEAP_MEMBER_BOOL, &flags.local},
		{"evictDaemonSetPods", NEAP_MEMBER_BOOL, &flags.daemon},
		{"evictSystemCriticalPods", NEAP_MEMBER_BOOL, &flags.critical},
		{"evictFailedBarePods", NEAP_MEMBER_BOOL, &flags.bare},
		{"ignorePvcPods", NEAP_MEMBER_BOOL, &flags.claims},
		{"ignorePodsWithoutPDB", NEAP_MEMBER_BOOL, &flags.unbudgeted},
		{NULL}};

	rc = neap_members_read(args, rows, err);
	if (rc == 0)
		rc = read_nodes(ret, nodes, err);
	if (rc == 0)
		rc = read_selector(&ret->labels, args, "labelSelector", err);
	if (rc == 0)
		rc = read_selector(&ret->namespaces, args, "namespaceLabelSelector", err);
	if (rc == 0)
		rc = read_threshold(ret, threshold, err);
	if (rc == 0)
		rc = read_age(ret, age, err);
	if (rc == 0)
		rc = read_protections(ret, keep, &flags, err);
	ret->stay = (enum neap_stay_policy)stay;
	ret->min_replicas = (uint32_t)replicas;
	if (replicas == 1)
		(void)neap_strcopy(ret->warning, sizeof(ret->warning),
				   "minReplicas: 1 keeps nothing; 2 or more does");
	return rc;
}

int neap_evictor_read(struct neap_evictor *ret, const json_t *args,
		      struct neap_error *err)
{
	struct neap_error own = {0};
	int rc = 0;

	neap_evictor_init(ret);
	if (args && !json_is_null(args) && json_object_size(args))
		rc = read_all(ret, args, err ? err : &own);
	if (rc < 0)
		neap_evictor_done(ret);
	return rc;
}
