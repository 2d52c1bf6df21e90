/* SPDX-License-Identifier: Apache-2.0
 *
 * From readings to the sample: reads the groups of the workloads and fills in the fields
 * for policies. Most of a tick's cost is here: three or four small files per pod. A pod's
 * counters include its containers, so those of containers are not read. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/run/node_priv.h"
#include "engine/base/mem.h"
#include "hw/topology.h"

#define CLASS_PARTS (NEAP_READ_CPU | NEAP_READ_THROTTLE | NEAP_READ_CPU_PRESSURE)
#define IDLE_LOOKS  200

struct node_group *neap_node_group(struct node_observe *observe, const char *dir,
				   unsigned parts)
{
	struct node_group *group = neap_map_find(observe->groups, dir);

	if (group == NULL) {
		group = neap_alloc(sizeof(*group));
		if (group == NULL)
			return NULL;
		group->files = neap_group_new(observe->readings, dir, NEAP_READ_ALL);
		if (group->files == NULL || !neap_map_set(observe->groups, dir, group)) {
			neap_group_free(group->files);
			free(group);
			return NULL;
		}
		group->dir = neap_group_dir(group->files);
		group->born = observe->ticks;
		group->turn = (unsigned)(observe->groups_made++ % SLOW_EVERY);
	}
	group->parts |= parts;
	group->seen = observe->ticks;
	return group;
}

int neap_observe_read_key(void *arg, const char *dir, enum neap_key key,
			  struct neap_value *ret, struct neap_error *err)
{
	struct node_group *group = neap_node_group(arg, dir, 0);

	if (group == NULL)
		return neap_error_nomem(err);
	return neap_group_read_key(group->files, key, ret, err);
}

/* Groups take turns, so that each tick reads the slow values of only some. */
static bool is_slow_turn(const struct node_observe *observe,
			 const struct node_group *group)
{
	return observe->ticks % SLOW_EVERY == group->turn;
}

static void read_group(struct node_observe *observe, struct node_group *group)
{
	unsigned parts = group->parts;
	bool is_slow = (parts & NEAP_READ_MEMORY) != 0 &&
		       (is_slow_turn(observe, group) || !group->has_now);
	const struct neap_reading last = group->now;
	bool has_last = group->has_now;

	if (is_slow)
		parts |= NEAP_READ_MEMORY_STAT | NEAP_READ_PRESSURE;
	/* Rates use the span since the last tick; a reaction in between does not shorten
	 * it. */
	if (!observe->was_reaction) {
		group->before = group->now;
		group->has_before = group->has_now;
	}
	group->has_now = neap_group_read(group->files, parts, &group->now) == 1;
	if (has_last && !group->has_now)
		neap_scan_doubt(observe->scan); /* it may exist again by now */
	if (is_slow || !has_last)
		return;
	group->now.memory_working_bytes = last.memory_working_bytes;
	group->now.memory_pressure = last.memory_pressure;
	group->now.io_pressure = last.io_pressure;
}

static void read_cpus(const struct node_observe *observe, struct node_group *group,
		      struct neap_cpuset *ret)
{
	struct neap_value value;
	struct neap_error err;

	neap_cpuset_copy(ret, &observe->topology->online);
	if (neap_group_read_key(group->files, NEAP_KEY_CPUSET_CPUS, &value, &err) == 1 &&
	    !neap_cpuset_is_empty(&value.cpus))
		neap_cpuset_copy(ret, &value.cpus);
}

/* A kubelet's static CPU manager writes the sets of containers and leaves those of pods
 * wide. It does not know the sandbox, which is an ordinary container here. */
static void read_container_cpus(const struct node_observe *observe,
				struct node_workload *workload,
				const struct neap_cpuset *exclusive)
{
	struct neap_cpuset all = {0}, one;

	if (workload->is_own || workload->container_count == 0 ||
	    strcmp(observe->given->kubelet_cpu_policy, "static") != 0)
		return;
	for (size_t i = 0; i < workload->container_count; i++) {
		read_cpus(observe, workload->containers[i], &one);
		neap_cpuset_or(&all, &all, &one);
	}
	neap_cpuset_minus(&all, &all, &observe->given->kubelet.given);
	neap_cpuset_and(&all, &all, &workload->cpus);
	if (!neap_cpuset_is_empty(exclusive))
		neap_cpuset_copy(&workload->cpus, exclusive);
	else if (!neap_cpuset_is_empty(&all))
		neap_cpuset_copy(&workload->cpus, &all);
}

static int64_t read_number(struct node_group *group, enum neap_key key)
{
	struct neap_value value;
	struct neap_error err;

	return neap_group_read_key(group->files, key, &value, &err) == 1 ? value.number
									 : NEAP_MISSING;
}

/* The directories of a class in all trees as one: usage is added up, the lowest limit
 * counts. */
static int observe_class(struct node_observe *observe, enum neap_kube_qos qos,
			 double seconds, struct neap_class_sample *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->used_cores = NAN;
	ret->used_milli = NEAP_MISSING;
	ret->max_milli = NEAP_MISSING;
	ret->throttled_ratio = NAN;
	ret->cpu_pressure = NAN;
	for (int i = 0; i < observe->config->tree_count; i++) {
		const struct neap_tree *tree = &observe->config->trees[i];
		char dir[NEAP_PATH_MAX];
		struct neap_workload rates;
		struct neap_cpuset cpus;
		struct node_group *group;
		int64_t max;

		if (!neap_tree_class_dir(tree, qos, dir, sizeof(dir)))
			continue;
		group = neap_node_group(observe, dir, CLASS_PARTS);
		if (group == NULL)
			return -NEAP_ENOMEM;
		read_group(observe, group);
		if (!group->has_now)
			continue;
		memset(&rates, 0, sizeof(rates));
		neap_workload_rate(&rates, group->has_before ? &group->before : NULL,
				   &group->now, seconds);
		if (!isnan(rates.used_cores))
			ret->used_cores = (isnan(ret->used_cores) ? 0 : ret->used_cores) +
					  rates.used_cores;
		ret->throttled_ratio = fmax(ret->throttled_ratio, rates.throttled_ratio);
		ret->cpu_pressure = fmax(ret->cpu_pressure, rates.cpu_pressure);
		max = read_number(group, NEAP_KEY_CPU_MAX_MILLI);
		if (max != NEAP_MISSING &&
		    (ret->max_milli == NEAP_MISSING || ret->max_milli == NEAP_UNLIMITED ||
		     (max != NEAP_UNLIMITED && max < ret->max_milli)))
			ret->max_milli = max;
		read_cpus(observe, group, &cpus);
		if (!ret->exists)
			neap_cpuset_copy(&ret->cpus, &cpus);
		else
			neap_cpuset_and(&ret->cpus, &ret->cpus, &cpus);
		ret->exists = true;
	}
	if (!isnan(ret->used_cores))
		ret->used_milli = (int64_t)(ret->used_cores * 1000);
	return 0;
}

/* A look during the group's creation may have found it in some hierarchies only. */
static void settle(const struct node_observe *observe,
		   const struct node_workload *workload, struct node_group *container)
{
	if (!container->is_settled && container->born != observe->ticks) {
		neap_group_doubt(container->files);
		neap_group_doubt(workload->group->files);
	}
	container->is_settled = true;
}

/* Own workloads are counted every time, because their groups end with the last process.
 * For others only the first process matters. An empty container seldom gets a process
 * later, and this file costs an open. So after its first ticks a container is asked less
 * often, and seldom while the whole pod uses no CPU time. */
static void count_processes(const struct node_observe *observe,
			    struct node_workload *workload)
{
	const struct node_group *pod = workload->group;
	bool is_due = observe->ticks % UNSETTLED_LOOKS == pod->turn &&
		      (pod->now.cpu_usage_usec == NEAP_MISSING ||
		       pod->now.cpu_usage_usec != workload->asked_usage_usec ||
		       observe->ticks % IDLE_LOOKS == pod->turn);

	workload->processes = workload->is_own ? 0 : NEAP_MISSING;
	/* No container is due, and nothing has changed. */
	if (!workload->is_own && !is_due && workload->container_count > 0 &&
	    observe->ticks >= workload->young_until)
		return;
	workload->is_settled = workload->is_own || workload->is_host_app;
	for (size_t i = 0; i < workload->container_count; i++) {
		struct node_group *container = workload->containers[i];

		bool is_young = observe->ticks - container->born < UNSETTLED_LOOKS;

		if (workload->is_own ||
		    (!container->is_settled && (is_due || is_young))) {
			int count = neap_group_process_count(container->files);

			if (count > 0 && workload->is_own)
				workload->processes += count;
			if (count > 0)
				settle(observe, workload, container);
		}
		workload->is_settled = workload->is_settled || container->is_settled;
	}
	if (is_due)
		workload->asked_usage_usec = pod->now.cpu_usage_usec;
}

static double window_value(const struct node_observe *observe,
			   const struct neap_window *window,
			   enum neap_aggregate aggregate)
{
	float value;

	return neap_window_get_one(window, observe->mono_usec,
				   observe->config->window_usec, aggregate, &value)
		       ? (double)value
		       : NAN;
}

/* A workload's name never changes, and its class seldom does. */
static void observe_texts(struct node_observe *observe, struct node_workload *workload,
			  struct neap_workload *view)
{
	const char *qos_name = neap_qos_name(workload->qos);
	const char *kube_qos_name = neap_kube_qos_name(workload->kube_qos);

	if (workload->view == view && view->source == workload->source &&
	    view->qos_name == qos_name && view->kube_qos_name == kube_qos_name)
		return;
	if (workload->view != view) {
		(void)neap_strcopy(view->id, sizeof(view->id), workload->id);
		(void)neap_strcopy(view->name, sizeof(view->name), workload->name);
		(void)snprintf(view->target, sizeof(view->target), "workload:%s",
			       workload->id);
		(void)neap_strcopy(view->group, sizeof(view->group),
				   workload->group->dir);
	}
	view->source = workload->source;
	view->qos_name = qos_name;
	view->kube_qos_name = kube_qos_name;
	view->texts_mark = ++observe->texts_mark;
	workload->view = view;
}

/* Fills every field of view. A CPU set has room for thousands of CPUs, so nothing is
 * cleared first. */
static void observe_workload(struct node_observe *observe, struct node_workload *workload,
			     double seconds, struct neap_workload *view)
{
	struct node_group *group = workload->group;

	view->qos = workload->qos;
	neap_node_pins_show(observe->given, observe->topology, workload, view);
	view->kube_qos = workload->kube_qos;
	observe_texts(observe, workload, view);
	view->is_critical = neap_workload_decide_critical(
		workload->qos, workload->kube_qos, workload->is_host_app);
	view->cpu_request_milli = workload->cpu_request_milli;
	view->cpu_limit_milli = workload->cpu_limit_milli;
	view->memory_limit_bytes = workload->memory_limit_bytes;
	neap_workload_rate(view, group->has_before ? &group->before : NULL, &group->now,
			   seconds);
	if (!isnan(view->used_cores) && !observe->is_reaction)
		neap_window_add(workload->used, observe->mono_usec,
				(float)view->used_cores);
	/* A percentile costs as much as reading a file. Only the 95th, which decisions
	 * use, is computed every time; the others are slow values. */
	if (is_slow_turn(observe, group) || observe->ticks - group->born < 2) {
		workload->used_p50_cores =
			window_value(observe, workload->used, NEAP_AGG_P50);
		workload->used_p90_cores =
			window_value(observe, workload->used, NEAP_AGG_P90);
		workload->used_p99_cores =
			window_value(observe, workload->used, NEAP_AGG_P99);
	}
	view->used_avg_cores = window_value(observe, workload->used, NEAP_AGG_AVG);
	view->used_p50_cores = workload->used_p50_cores;
	view->used_p90_cores = workload->used_p90_cores;
	view->used_p95_cores = window_value(observe, workload->used, NEAP_AGG_P95);
	view->used_p99_cores = workload->used_p99_cores;
	if (observe->has_written || observe->ticks - group->born < 2 ||
	    is_slow_turn(observe, group)) {
		read_cpus(observe, group, &workload->cpus);
		read_container_cpus(observe, workload, &view->exclusive_cpus);
		workload->max_milli = read_number(group, NEAP_KEY_CPU_MAX_MILLI);
	}
	neap_cpuset_copy(&view->cpus, &workload->cpus);
	view->max_milli = workload->max_milli;
	count_processes(observe, workload);
	view->processes = workload->processes;
}

/* Prefetches a workload's memory, because a tick waits longer for that than it computes.
 * Each address is in memory that must be there first, so it takes three turns. A CPU
 * fetches about ten lines at a time, so each turn has two halves: this one runs while the
 * kernel reads, */
static void fetch_next(const struct node_observe *observe, size_t next)
{
	const struct node_workload *workload;

	if (next >= neap_map_count(observe->workloads))
		return;
	workload = neap_map_at(observe->workloads, next, NULL);
	neap_group_prefetch(workload->group->files);
	neap_window_prefetch(workload->used);
}

/* and this one after it. */
static void fetch_later(const struct node_observe *observe, size_t later, size_t shown)
{
	const struct node_workload *workload;
	size_t count = neap_map_count(observe->workloads);

	if (later + 1 < count)
		neap_prefetch(neap_map_at(observe->workloads, later + 1, NULL),
			      offsetof(struct node_workload, id));
	if (later >= count)
		return;
	workload = neap_map_at(observe->workloads, later, NULL);
	neap_prefetch(workload->group, sizeof(*workload->group));
	neap_prefetch(workload->used, 1);
	neap_prefetch(&workload->cpus, 16);
	neap_prefetch(&observe->views[shown].texts_mark,
		      offsetof(struct neap_workload, cpus) + 16 -
			      offsetof(struct neap_workload, texts_mark));
	neap_prefetch(&observe->views[shown].exclusive_cpus, 1);
}

/* Opens the files that every tick reads, for all new groups one after the other. The
 * kernel then has its data of them side by side, and not between files that are seldom
 * read. That makes each later tick some percent faster. */
static void open_new(const struct node_observe *observe)
{
	struct neap_reading ignored;

	if (observe->found_tick != observe->ticks)
		return;
	for (size_t i = 0; i < neap_map_count(observe->workloads); i++) {
		const struct node_workload *workload =
			neap_map_at(observe->workloads, i, NULL);
		const struct node_group *group = workload->group;

		if (!group->has_now)
			(void)neap_group_read(group->files, group->parts, &ignored);
	}
}

static int observe_workloads(struct node_observe *observe, double seconds,
			     struct neap_error *err)
{
	size_t count = neap_map_count(observe->workloads);
	size_t i, shown = 0;

	if (count > observe->view_size) {
		struct neap_workload *grown = neap_realloc_array(
			observe->views, count + count / 2, sizeof(*grown));

		if (grown == NULL)
			return neap_error_nomem(err);
		observe->views = grown;
		observe->view_size = count + count / 2;
	}
	open_new(observe);
	for (i = 0; i < count; i++) {
		struct node_workload *workload = neap_map_at(observe->workloads, i, NULL);

		fetch_next(observe, i + 1);
		read_group(observe, workload->group);
		fetch_later(observe, i + 2, shown + 2);
		if (!workload->group->has_now) {
			workload->view = NULL;
			continue; /* not read yet, or removed since the look */
		}
		observe_workload(observe, workload, seconds, &observe->views[shown++]);
	}
	observe->sample.workloads = observe->views;
	observe->sample.workload_count = shown;
	return 0;
}

static void fill_node(struct node_observe *observe, double seconds)
{
	struct neap_sample *sample = &observe->sample;

	sample->now_unix = observe->unix_usec / 1000000;
	sample->mono_usec = observe->mono_usec;
	sample->seconds = seconds;
	sample->topology = observe->topology;
	sample->capacity_milli = (int64_t)observe->topology->cpu_count * 1000;
	sample->reserved_milli = observe->config->reserve_milli;
	sample->allocatable_milli =
		sample->capacity_milli - observe->config->reserve_milli;
	if (sample->allocatable_milli < 0)
		sample->allocatable_milli = 0;
	neap_node_pins_show_node(observe->given, observe->config, sample);
	sample->kubelet_cpu_policy = observe->given->kubelet_cpu_policy;
	sample->supports = observe->cgroup->supports;
	neap_sample_sum(sample, observe->has_reading ? &observe->reading_before : NULL,
			&observe->reading);
	if (!isnan(sample->used_cores) && !observe->is_reaction)
		neap_window_add(observe->node_used, observe->mono_usec,
				(float)sample->used_cores);
	sample->used_avg_cores = window_value(observe, observe->node_used, NEAP_AGG_AVG);
	sample->used_p50_cores = window_value(observe, observe->node_used, NEAP_AGG_P50);
	sample->used_p90_cores = window_value(observe, observe->node_used, NEAP_AGG_P90);
	sample->used_p95_cores = window_value(observe, observe->node_used, NEAP_AGG_P95);
	sample->used_p99_cores = window_value(observe, observe->node_used, NEAP_AGG_P99);
}

/* Drops the groups that have no workload any more and whose values the last tick did not
 * need. Runs when a workload came or went, and now and then. */
static void drop_unseen_groups(struct node_observe *observe)
{
	if (observe->ticks - observe->found_tick > 1 && observe->ticks % SLOW_EVERY != 0)
		return;
	for (size_t i = 0; i < neap_map_count(observe->workloads); i++) {
		struct node_workload *workload = neap_map_at(observe->workloads, i, NULL);

		workload->group->seen = observe->ticks;
		for (size_t j = 0; j < workload->container_count; j++)
			workload->containers[j]->seen = observe->ticks;
	}
	for (size_t i = neap_map_count(observe->groups); i-- > 0;) {
		const char *dir;
		struct node_group *group = neap_map_at(observe->groups, i, &dir);

		if (group->seen + 1 >= observe->ticks)
			continue;
		(void)neap_map_remove(observe->groups, dir);
		neap_group_free(group->files);
		free(group);
	}
}

/* Reads CPUs and caches again when CPUs come or go. */
int neap_observe_topology(struct node_observe *observe, struct neap_error *err)
{
	struct neap_topology *topology = NULL;
	struct neap_cpuset online;
	bool is_changed = false;
	int rc;

	if (observe->topology != NULL) {
		is_changed = neap_readings_online(observe->readings, &online) &&
			     !neap_cpuset_is_equal(&online, &observe->topology->online);
		if (!is_changed && !observe->is_topology_young)
			return 0;
	}
	/* A CPU is online before its caches are shown, so a changed machine is read once
	 * more a tick later. */
	observe->is_topology_young = is_changed;
	if (observe->config->sys_root[0] != '\0')
		rc = neap_topology_discover_root(observe->config->sys_root, &topology,
						 err);
	else
		rc = neap_topology_discover(&topology, err);
	if (rc < 0)
		return neap_error_wrap(err, "discover the machine");
	if (is_changed) {
		char text[64];

		(void)neap_cpuset_format(&topology->online, text, sizeof(text));
		neap_log_line(&observe->config->log, NEAP_LOG_INFO, "CPUs online now: %s",
			      text);
	}
	(void)neap_topology_unref(observe->topology);
	observe->topology = topology;
	return 0;
}

int neap_observe(struct node_observe *observe, struct neap_error *err)
{
	double seconds = NAN;

	if (neap_observe_topology(observe, err) < 0)
		return -(int)err->code;
	if (neap_find_workloads(observe, err) < 0)
		return -(int)err->code;
	neap_names_look(observe);
	if (observe->has_reading && observe->mono_usec > observe->mono_before_usec)
		seconds = (double)(observe->mono_usec - observe->mono_before_usec) / 1e6;
	if (!observe->was_reaction)
		observe->reading_before = observe->reading;
	neap_readings_node(observe->readings, &observe->reading);
	if (observe_workloads(observe, seconds, err) < 0)
		return -(int)err->code;
	if (observe_class(observe, NEAP_KUBE_BESTEFFORT, seconds,
			  &observe->sample.besteffort) < 0 ||
	    observe_class(observe, NEAP_KUBE_BURSTABLE, seconds,
			  &observe->sample.burstable) < 0)
		return neap_error_nomem(err);
	for (size_t i = 0; i < observe->sample.workload_count; i++) {
		if (observe->views[i].kube_qos == NEAP_KUBE_BESTEFFORT)
			observe->sample.besteffort.workloads++;
		else if (observe->views[i].kube_qos == NEAP_KUBE_BURSTABLE)
			observe->sample.burstable.workloads++;
	}
	observe->has_written = false;
	fill_node(observe, seconds);
	observe->has_reading = true;
	if (!observe->is_reaction)
		observe->mono_before_usec = observe->mono_usec;
	observe->was_reaction = observe->is_reaction;
	observe->looked_usec = observe->mono_usec;
	drop_unseen_groups(observe);
	return 0;
}
