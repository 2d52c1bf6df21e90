/* SPDX-License-Identifier: Apache-2.0 */
#include "api/deschedule/play/strategies.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/deschedule/evictor.h"
#include "engine/log/log.h"
#include "engine/migrate/migrate_args.h"
#include "lua/run/registry.h"

#define SHIPPED_MAX 64

struct neap_strategies {
	struct neap_registry *registry; /* NULL: none, or a copy */
	struct neap_policy **kept;      /* in service, of a copy */
	size_t kept_count;
	/* In a copy: one instance of each policy checks the arguments of all profiles, of
	 * which there may be hundreds. Shipped policies first; NULL: not loaded yet. */
	struct neap_policy **checks;
	const struct neap_log *log; /* NULL: none */
	struct neap_policy *shipped[SHIPPED_MAX];
	size_t shipped_count;
	struct neap_deschedule_plugins plugins;
};

static const char *const kinds[] = {"deschedule", "evict", NULL};

static const struct {
	const char *name;
	unsigned points;
} own[] = {
	{NEAP_PLUGIN_EVICTOR,
	 NEAP_AT(NEAP_AT_FILTER) | NEAP_AT(NEAP_AT_BEFORE) | NEAP_AT(NEAP_AT_EVICT)},
	{NEAP_PLUGIN_MIGRATION, NEAP_AT(NEAP_AT_FILTER) | NEAP_AT(NEAP_AT_EVICT)},
};

/* --- reading --- */

static int add_file(struct neap_strategies *strategies, const char *file,
		    struct neap_error *err)
{
	if (strategies->shipped_count == SHIPPED_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "%s: over %d shipped policies",
				      file, SHIPPED_MAX);
	if (neap_policy_load_file(file, &strategies->shipped[strategies->shipped_count],
				  err) < 0)
		return -(int)err->code;
	strategies->shipped_count++;
	return 0;
}

static int by_name(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return len > 4 && strcmp(entry->d_name + len - 4, ".lua") == 0;
}

/* A folder that is not there has no policies. */
static int read_folder(struct neap_strategies *strategies, const char *dir,
		       const char *kind, struct neap_error *err)
{
	char path[1024], file[1280];
	struct dirent **list = NULL;
	int count, rc = 0;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, kind);
	count = scandir(path, &list, by_name, alphasort);
	if (count < 0 && errno != ENOENT && errno != ENOTDIR)
		return neap_error_sys(err, "read %s", path);
	for (int i = 0; i < count; i++) {
		(void)snprintf(file, sizeof(file), "%s/%s", path, list[i]->d_name);
		if (rc == 0)
			rc = add_file(strategies, file, err);
		free(list[i]);
	}
	free(list);
	return rc;
}

/* --- finding --- */

static bool is_kind(const struct neap_policy *policy, const char *kind)
{
	return strcmp(neap_policy_kind(policy)->name, kind) == 0;
}

static bool is_plugin(const struct neap_policy *policy)
{
	return is_kind(policy, kinds[0]) || is_kind(policy, kinds[1]);
}

/* Whether a profile may name it for its jobs. */
static bool is_for_jobs(const struct neap_policy *policy)
{
	return is_kind(policy, "evictor") || is_kind(policy, "migration");
}

static const char *name_of(const struct neap_policy *policy)
{
	struct neap_policy_info info;

	if (is_kind(policy, "deschedule"))
		return neap_policy_plugin(policy);
	neap_policy_get_info(policy, &info);
	return info.name;
}

/* Policies in service, of any kind. */
static size_t count_served(const struct neap_strategies *strategies)
{
	if (strategies->registry)
		return neap_registry_count(strategies->registry);
	return strategies->kept_count;
}

static struct neap_policy *get_served(const struct neap_strategies *strategies,
				      size_t index)
{
	if (strategies->registry)
		return neap_registry_get(strategies->registry, index)->policy;
	return strategies->kept[index];
}

/* Which of them is that plugin's; the count: none. */
static size_t find_served(const struct neap_strategies *strategies, const char *plugin)
{
	size_t count = count_served(strategies), i = 0;

	for (; i < count; i++) {
		const struct neap_policy *policy = get_served(strategies, i);

		if (is_plugin(policy) && strcmp(name_of(policy), plugin) == 0)
			break;
	}
	return i;
}

struct neap_registry_slot *neap_strategies_slot(const struct neap_strategies *strategies,
						const char *plugin)
{
	size_t index = find_served(strategies, plugin);

	return strategies->registry && index < count_served(strategies)
		       ? neap_registry_get(strategies->registry, index)
		       : NULL;
}

const char *neap_strategies_why_out(const struct neap_strategies *strategies,
				    const char *plugin, char *buf, size_t size)
{
	const struct neap_registry_slot *slot = neap_strategies_slot(strategies, plugin);
	struct neap_policy_info info;

	if (!slot || (!slot->stats.is_failed && !slot->is_elsewhere))
		return NULL;
	neap_policy_get_info(slot->policy, &info);
	if (slot->is_elsewhere)
		(void)snprintf(buf, size,
			       "policy %s is not for this node, says its `where`",
			       info.label);
	else
		(void)snprintf(buf, size, "policy %s is out of service: %s", info.label,
			       slot->stats.last_error);
	return buf;
}

/* Whether a policy in service has taken the place of the shipped one. */
static bool is_replaced(const struct neap_strategies *strategies,
			const struct neap_policy *policy)
{
	size_t count = count_served(strategies);
	struct neap_policy_info info, other;

	neap_policy_get_info(policy, &info);
	for (size_t i = 0; i < count; i++) {
		neap_policy_get_info(get_served(strategies, i), &other);
		if (strcmp(other.kind, info.kind) == 0 &&
		    strcmp(other.name, info.name) == 0)
			return true;
	}
	return false;
}

struct neap_policy *neap_strategies_find(const struct neap_strategies *strategies,
					 const char *plugin)
{
	size_t index = find_served(strategies, plugin);

	if (index < count_served(strategies))
		return get_served(strategies, index);
	for (size_t i = 0; i < strategies->shipped_count; i++)
		if (strcmp(name_of(strategies->shipped[i]), plugin) == 0 &&
		    !is_replaced(strategies, strategies->shipped[i]))
			return strategies->shipped[i];
	return NULL;
}

static unsigned points(void *arg, const char *name)
{
	const struct neap_policy *policy;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(own); i++)
		if (strcmp(own[i].name, name) == 0)
			return own[i].points;
	policy = neap_strategies_find(arg, name);
	if (!policy)
		return 0;
	if (!is_kind(policy, "deschedule"))
		return NEAP_AT(NEAP_AT_FILTER) | NEAP_AT(NEAP_AT_BEFORE);
	return neap_policy_point(policy) == NEAP_POINT_BALANCE
		       ? NEAP_AT(NEAP_AT_BALANCE)
		       : NEAP_AT(NEAP_AT_DESCHEDULE);
}

static bool is_uploaded(void *arg, const char *name)
{
	return find_served(arg, name) < count_served(arg);
}

static bool serves(void *arg, const char *kind, const char *name)
{
	size_t count = count_served(arg), i = 0;

	while (i < count && (!is_kind(get_served(arg, i), kind) ||
			     strcmp(name_of(get_served(arg, i)), name) != 0))
		i++;
	return i < count;
}

static const char *name_at(void *arg, size_t index)
{
	const struct neap_strategies *strategies = arg;
	size_t count = count_served(strategies);

	if (index < NEAP_ARRAY_LEN(own))
		return own[index].name;
	index -= NEAP_ARRAY_LEN(own);
	if (index < strategies->shipped_count)
		return name_of(strategies->shipped[index]);
	index -= strategies->shipped_count;
	for (size_t i = 0; i < count; i++) {
		const struct neap_policy *policy = get_served(strategies, i);

		if (is_plugin(policy) && index-- == 0)
			return name_of(policy);
	}
	return NULL;
}

/* --- arguments --- */

int neap_strategy_set_args(struct neap_policy *policy, const json_t *args,
			   struct neap_error *err)
{
	int rc = neap_policy_reset_params(policy, err);

	if (rc == 0)
		rc = neap_policy_set_params(policy, args, err);
	return rc < 0 ? rc : neap_policy_check_params(policy, err);
}

/* On the thread of the round. */
static void log_line(void *arg, const char *label, const char *text)
{
	neap_log_from(arg, label, NEAP_LOG_INFO, "policy %s: %s", label, text);
}

static int load(const struct neap_policy *policy, struct neap_policy **ret,
		struct neap_error *err)
{
	struct neap_policy_info info;
	size_t len;
	const char *text = neap_policy_text(policy, &len);

	neap_policy_get_info(policy, &info);
	return neap_policy_load(text, len, info.origin, ret, err);
}

int neap_strategies_open(const struct neap_strategies *strategies,
			 const struct neap_policy *policy, const json_t *args,
			 struct neap_policy **ret, struct neap_error *err)
{
	struct neap_policy *made = NULL;
	int rc = load(policy, &made, err);

	if (rc < 0)
		return rc;
	rc = neap_strategy_set_args(made, args, err);
	if (rc < 0)
		neap_policy_free(made);
	else
		*ret = made;
	if (rc == 0 && strategies->log)
		neap_policy_set_log(made, log_line, (void *)strategies->log);
	return rc;
}

typedef void warn_fn(void *arg, const char *field, const char *text);

/* Flags that the lists of podProtections replace. */
static void warn_of_flags(const json_t *args, warn_fn *warn, void *warn_arg)
{
	static const char *const flags[] = {"evictLocalStoragePods",
					    "evictDaemonSetPods",
					    "evictSystemCriticalPods",
					    "evictFailedBarePods",
					    "ignorePvcPods",
					    "ignorePodsWithoutPDB",
					    NULL};
	bool has_lists = json_object_get(args, "podProtections") != NULL;

	for (size_t i = 0; flags[i]; i++)
		if (json_object_get(args, flags[i]))
			warn(warn_arg, flags[i],
			     has_lists ? "is deprecated, and not together with "
					 "podProtections"
				       : "is deprecated for podProtections; it still "
					 "acts");
}

static int check_evictor(const json_t *args, warn_fn *warn, void *warn_arg,
			 struct neap_error *err)
{
	struct neap_evictor evictor;
	int rc;

	warn_of_flags(args, warn, warn_arg);
	neap_evictor_init(&evictor);
	rc = neap_evictor_read(&evictor, args, err);
	if (rc == 0 && evictor.warning[0])
		warn(warn_arg, "", evictor.warning);
	neap_evictor_done(&evictor);
	return rc;
}

static int check_migration(const json_t *args, struct neap_error *err)
{
	struct neap_migrate_args migrate;

	if (neap_migrate_args_init(&migrate, args, err) < 0)
		return -(int)err->code;
	neap_migrate_args_done(&migrate);
	return 0;
}

static bool has_some(const json_t *args, const char *name)
{
	return json_object_size(json_object_get(args, name)) > 0 ||
	       json_array_size(json_object_get(args, name)) > 0;
}

static void warn_of(const char *name, const json_t *args, warn_fn *warn, void *warn_arg)
{
	const json_t *taints = json_object_get(args, "includedTaints");

	if (strcmp(name, "LowNodeLoad") == 0 && !has_some(args, "highThresholds") &&
	    !has_some(args, "lowThresholds") && !has_some(args, "nodePools"))
		warn(warn_arg, "", "has no thresholds: it does nothing");
	if (json_is_array(taints) && json_array_size(taints) == 0)
		warn(warn_arg, "includedTaints",
		     "an empty list means all taints, as without it");
}

/* Where the instance that checks is kept; NULL: nowhere. */
static struct neap_policy **find_check(const struct neap_strategies *strategies,
				       const struct neap_policy *policy)
{
	size_t i = 0, n = 0;

	while (i < strategies->shipped_count && strategies->shipped[i] != policy)
		i++;
	while (n < strategies->kept_count && strategies->kept[n] != policy)
		n++;
	if (!strategies->checks)
		return NULL;
	return &strategies->checks[i < strategies->shipped_count ? i : i + n];
}

static int check_policy(const struct neap_strategies *strategies,
			const struct neap_policy *policy, const json_t *args,
			struct neap_error *err)
{
	struct neap_policy **kept = find_check(strategies, policy), *made = NULL;
	int rc;

	if (kept && *kept && !neap_vm_is_dead(neap_policy_vm(*kept)))
		return neap_strategy_set_args(*kept, args, err);
	rc = load(policy, &made, err);
	if (rc < 0)
		return rc;
	rc = neap_strategy_set_args(made, args, err);
	if (kept) {
		neap_policy_free(*kept);
		*kept = made;
	} else {
		neap_policy_free(made);
	}
	return rc;
}

static int check(void *arg, const char *name, const json_t *args, warn_fn *warn,
		 void *warn_arg, struct neap_error *err)
{
	const struct neap_policy *policy;
	int rc;

	if (strcmp(name, NEAP_PLUGIN_EVICTOR) == 0)
		return check_evictor(args, warn, warn_arg, err);
	if (strcmp(name, NEAP_PLUGIN_MIGRATION) == 0)
		return check_migration(args, err);
	policy = neap_strategies_find(arg, name);
	if (!policy)
		return neap_error_set(err, NEAP_ENOTFOUND, "there is no policy of %s",
				      name);
	rc = check_policy(arg, policy, args, err);
	if (rc == 0)
		warn_of(name, args, warn, warn_arg);
	return rc;
}

/* --- outside --- */

static struct neap_strategies *make(void)
{
	struct neap_strategies *strategies = neap_alloc(sizeof(*strategies));

	if (strategies)
		strategies->plugins =
			(struct neap_deschedule_plugins){.points = points,
							 .name = name_at,
							 .is_uploaded = is_uploaded,
							 .serves = serves,
							 .check = check,
							 .arg = strategies};
	return strategies;
}

int neap_strategies_new(const char *dir, struct neap_registry *registry,
			struct neap_strategies **ret, struct neap_error *err)
{
	struct neap_strategies *strategies = make();
	int rc = 0;

	if (!strategies)
		return neap_error_nomem(err);
	strategies->registry = registry;
	for (size_t i = 0; rc == 0 && kinds[i]; i++)
		rc = read_folder(strategies, dir, kinds[i], err);
	if (rc < 0)
		neap_strategies_free(strategies);
	else
		*ret = strategies;
	return rc;
}

int neap_strategies_copy(const struct neap_strategies *strategies,
			 struct neap_strategies **ret, struct neap_error *err)
{
	size_t count = count_served(strategies);
	struct neap_strategies *copy = make();

	if (copy)
		copy->kept = neap_alloc_array(count + 1, sizeof(struct neap_policy *));
	if (copy)
		copy->checks = neap_alloc_array(strategies->shipped_count + count + 1,
						sizeof(struct neap_policy *));
	if (!copy || !copy->kept || !copy->checks) {
		neap_strategies_free(copy);
		return neap_error_nomem(err);
	}
	copy->log = strategies->log;
	for (; copy->shipped_count < strategies->shipped_count; copy->shipped_count++)
		copy->shipped[copy->shipped_count] =
			neap_policy_ref(strategies->shipped[copy->shipped_count]);
	for (size_t i = 0; i < count; i++)
		if (is_plugin(get_served(strategies, i)) ||
		    is_for_jobs(get_served(strategies, i)))
			copy->kept[copy->kept_count++] =
				neap_policy_ref(get_served(strategies, i));
	*ret = copy;
	return 0;
}

void neap_strategies_set_log(struct neap_strategies *strategies,
			     const struct neap_log *log)
{
	strategies->log = log;
}

void neap_strategies_free(struct neap_strategies *strategies)
{
	if (!strategies)
		return;
	for (size_t i = 0; i < strategies->shipped_count; i++)
		neap_policy_free(strategies->shipped[i]);
	for (size_t i = 0; i < strategies->kept_count; i++)
		neap_policy_free(strategies->kept[i]);
	for (size_t i = 0;
	     strategies->checks && i < strategies->shipped_count + strategies->kept_count;
	     i++)
		neap_policy_free(strategies->checks[i]);
	free(strategies->kept);
	free(strategies->checks);
	free(strategies);
}

const struct neap_deschedule_plugins *
neap_strategies_plugins(const struct neap_strategies *strategies)
{
	return &strategies->plugins;
}
