/* SPDX-License-Identifier: Apache-2.0
 *
 * The sample: its documented fields, and sums over the workloads. */
#include "engine/machine/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

#define ROW(type_, kind_, member_, doc_)                                                 \
	{                                                                                \
		.name = #member_, .type = kind_,                                         \
		.offset = offsetof(struct type_, member_), .doc = doc_                   \
	}
#define WORKLOAD(kind_, member_, doc_)                                                   \
	ROW(neap_workload, NEAP_FIELD_##kind_, member_, doc_)
#define CLASS(kind_, member_, doc_)                                                      \
	ROW(neap_class_sample, NEAP_FIELD_##kind_, member_, doc_)
#define SAMPLE(kind_, member_, doc_) ROW(neap_sample, NEAP_FIELD_##kind_, member_, doc_)

/* clang-format off */
const struct neap_field neap_workload_fields[] = {
	WORKLOAD(TEXT, id, "unique on the node: pod uid, run name, \"host:NAME\""),
	WORKLOAD(TEXT, name, "name for people"),
	WORKLOAD(TEXT, target, "what a write names to mean this workload"),
	WORKLOAD(TEXT, group, "its cgroup directory below the hierarchies"),
	WORKLOAD(NAME, source, "where it comes from: \"run\", \"pod\", \"kubelet\" or \"host\""),
	{.name = "qos", .type = NEAP_FIELD_NAME, .offset = offsetof(struct neap_workload, qos_name),
	 .doc = "QoS class as labelled: LSE, LSR, LS, BE, SYSTEM; absent without a label"},
	{.name = "kube_qos", .type = NEAP_FIELD_NAME,
	 .offset = offsetof(struct neap_workload, kube_qos_name),
	 .doc = "class of Kubernetes: Guaranteed, Burstable, BestEffort"},
	WORKLOAD(BOOL, is_critical, "neither labelled BE nor of class BestEffort"),
	WORKLOAD(INT, cpu_request_milli, "CPU request, thousandths of a CPU"),
	WORKLOAD(INT, cpu_limit_milli, "CPU limit, thousandths of a CPU"),
	WORKLOAD(INT, memory_limit_bytes, "memory limit, bytes"),
	WORKLOAD(REAL, used_cores, "CPU use since the tick before, CPUs"),
	WORKLOAD(INT, used_milli, "CPU use since the tick before, thousandths of a CPU"),
	WORKLOAD(REAL, used_avg_cores, "average CPU use over the window (neapd --window), CPUs"),
	WORKLOAD(REAL, used_p50_cores, "median of the CPU use over the window, CPUs"),
	WORKLOAD(REAL, used_p90_cores, "90th percentile of the CPU use over the window, CPUs"),
	WORKLOAD(REAL, used_p95_cores, "95th percentile of the CPU use over the window, CPUs"),
	WORKLOAD(REAL, used_p99_cores, "99th percentile of the CPU use over the window, CPUs"),
	WORKLOAD(REAL, throttled_ratio, "share of periods in which its quota stopped it, 0..1"),
	WORKLOAD(INT, memory_bytes, "memory charged to its group, page cache included, bytes"),
	WORKLOAD(REAL, cpu_pressure, "share of the last 10 s in which some task waited for a CPU, 0..1"),
	WORKLOAD(REAL, memory_pressure, "the same for memory, 0..1"),
	WORKLOAD(REAL, io_pressure, "the same for block devices, 0..1"),
	WORKLOAD(CPUSET, cpus, "CPUs that its group may use now"),
	WORKLOAD(CPUSET, exclusive_cpus, "CPUs given to it alone (LSE, LSR); empty when none"),
	WORKLOAD(INT, max_milli, "quota in force, thousandths of a CPU, -1 unlimited"),
	WORKLOAD(INT, processes, "processes in its group"),
	{0},
};

const struct neap_field neap_class_fields[] = {
	CLASS(BOOL, exists, "the directory of the class is there"),
	CLASS(REAL, used_cores, "CPU use since the tick before, CPUs"),
	CLASS(INT, used_milli, "CPU use since the tick before, thousandths of a CPU"),
	CLASS(INT, max_milli, "quota in force, thousandths of a CPU, -1 unlimited; lowest of the trees"),
	CLASS(CPUSET, cpus, "CPU set in force"),
	CLASS(REAL, throttled_ratio, "share of periods in which the quota stopped it, 0..1"),
	CLASS(REAL, cpu_pressure, "share of the last 10 s in which some task waited for a CPU, 0..1"),
	CLASS(INT, workloads, "number of workloads in it"),
	{0},
};

const struct neap_field neap_sample_fields[] = {
	SAMPLE(INT, now_unix, "wall clock, seconds since 1970"),
	SAMPLE(INT, mono_usec, "clock that never goes back, microseconds"),
	SAMPLE(REAL, seconds, "time since the tick before, seconds; missing at the first"),
	SAMPLE(INT, capacity_milli, "online CPUs, thousandths of a CPU"),
	SAMPLE(INT, allocatable_milli, "capacity less what the configuration keeps back"),
	SAMPLE(INT, reserved_milli, "kept back by annotation or configuration, 0 if nothing is"),
	SAMPLE(CPUSET, reserved_cpus, "CPUs that nobody gets"),
	SAMPLE(CPUSET, system_cpus, "exclusive CPUs of class SYSTEM"),
	SAMPLE(CPUSET, exclusive_cpus, "CPUs given to single workloads that are not best-effort"),
	SAMPLE(REAL, used_cores, "CPU use of the whole node since the tick before, CPUs"),
	SAMPLE(INT, used_milli, "CPU use of the whole node, thousandths of a CPU"),
	SAMPLE(REAL, used_avg_cores, "average CPU use of the node over the window (neapd --window), CPUs"),
	SAMPLE(REAL, used_p50_cores, "median of the node's CPU use over the window, CPUs"),
	SAMPLE(REAL, used_p90_cores, "90th percentile of the node's CPU use over the window, CPUs"),
	SAMPLE(REAL, used_p95_cores, "95th percentile of the node's CPU use over the window, CPUs"),
	SAMPLE(REAL, used_p99_cores, "99th percentile of the node's CPU use over the window, CPUs"),
	SAMPLE(REAL, stolen_ratio, "share of CPU time that the hypervisor gave to others, 0..1"),
	SAMPLE(INT, critical_used_milli, "CPU use of the workloads that are not best-effort"),
	SAMPLE(INT, critical_used_avg_milli, "sum of the average CPU uses over the window (neapd --window) of the workloads that are not best-effort"),
	SAMPLE(INT, besteffort_used_milli, "CPU use of the workloads that are best-effort"),
	SAMPLE(INT, system_used_milli, "CPU use of the node that belongs to no workload"),
	SAMPLE(INT, memory_capacity_bytes, "memory of the node, bytes"),
	SAMPLE(INT, memory_used_bytes, "memory of the node that is not available, bytes"),
	SAMPLE(REAL, cpu_pressure, "share of the last 10 s in which some task waited for a CPU, 0..1"),
	SAMPLE(REAL, memory_pressure, "the same for memory, 0..1"),
	SAMPLE(REAL, io_pressure, "the same for block devices, 0..1"),
	SAMPLE(REAL, critical_pressure, "highest cpu_pressure of a workload that is not best-effort"),
	SAMPLE(NAME, kubelet_cpu_policy, "CPU manager policy of the kubelet: \"none\" or \"static\""),
	SAMPLE(TOPOLOGY, topology, "the machine: sockets, NUMA nodes, caches, cores, threads"),
	{.name = "besteffort", .type = NEAP_FIELD_STRUCT,
	 .offset = offsetof(struct neap_sample, besteffort), .fields = neap_class_fields,
	 .doc = "the best-effort directory, all trees together"},
	{.name = "burstable", .type = NEAP_FIELD_STRUCT,
	 .offset = offsetof(struct neap_sample, burstable), .fields = neap_class_fields,
	 .doc = "the burstable directory, all trees together"},
	{.name = "workloads", .type = NEAP_FIELD_LIST,
	 .offset = offsetof(struct neap_sample, workloads), .fields = neap_workload_fields,
	 .element_size = sizeof(struct neap_workload),
	 .count_offset = offsetof(struct neap_sample, workload_count),
	 .mark_offset = offsetof(struct neap_workload, texts_mark),
	 .doc = "pods, runs and host applications"},
	SAMPLE(KEYS, supports, "keys whose kernel file exists here: name = true"),
	SAMPLE(NAME, trigger, "name of the policy's trigger that fired; missing on a plain tick"),
	{0},
};
/* clang-format on */

static const struct neap_field *find_row(const struct neap_field *fields,
					 const char *name, size_t len)
{
	for (const struct neap_field *f = fields; f->name; f++)
		if (strlen(f->name) == len && !strncmp(f->name, name, len))
			return f;
	return NULL;
}

/* The row of name and, for a name with a dot, the struct around it. */
static const struct neap_field *find_with_parent(const char *name,
						 const struct neap_field **ret_parent)
{
	const char *dot = strchr(name, '.');
	const struct neap_field *row;

	*ret_parent = NULL;
	row = find_row(neap_sample_fields, name,
		       dot ? (size_t)(dot - name) : strlen(name));
	if (!row || !dot)
		return row;
	if (row->type != NEAP_FIELD_STRUCT)
		return NULL;
	*ret_parent = row;
	return find_row(row->fields, dot + 1, strlen(dot + 1));
}

const struct neap_field *neap_sample_field_find(const char *name)
{
	const struct neap_field *parent;

	return find_with_parent(name, &parent);
}

static bool is_missing(const struct neap_field *row, const void *at)
{
	switch (row->type) {
	case NEAP_FIELD_INT:
		return *(const int64_t *)at == NEAP_MISSING;
	case NEAP_FIELD_REAL:
		return isnan(*(const double *)at);
	case NEAP_FIELD_TEXT:
		return !*(const char *)at;
	case NEAP_FIELD_NAME:
		return !*(const char *const *)at || !**(const char *const *)at;
	case NEAP_FIELD_TOPOLOGY:
		return !*(struct neap_topology *const *)at;
	case NEAP_FIELD_STRUCT: /* all structs of a sample are classes */
		return !((const struct neap_class_sample *)at)->exists;
	case NEAP_FIELD_BOOL:
	case NEAP_FIELD_CPUSET: /* an empty set is a value, and so is an empty list */
	case NEAP_FIELD_LIST:
	case NEAP_FIELD_KEYS:
		break;
	}
	return false;
}

bool neap_sample_field_is_missing(const struct neap_sample *sample, const char *name)
{
	const struct neap_field *parent, *row = find_with_parent(name, &parent);
	const char *base = (const char *)sample;

	if (!row)
		return true;
	if (!parent)
		return is_missing(row, base + row->offset);
	base += parent->offset;
	if (row->type == NEAP_FIELD_BOOL) /* "exists" itself is always there */
		return false;
	return is_missing(parent, base) || is_missing(row, base + row->offset);
}

/* Rates */

/* Growth of a counter per second and unit; NaN when a reading or the time is missing, or
 * the counter went back (recreated group, removed CPU). */
static double rate(int64_t before, int64_t now, double seconds)
{
	if (before == NEAP_MISSING || now == NEAP_MISSING || now < before ||
	    !(seconds > 0))
		return NAN;
	return ((double)now - (double)before) / seconds;
}

static int64_t milli_from_cores(double cores)
{
	return isnan(cores) ? NEAP_MISSING : (int64_t)(cores * 1000);
}

void neap_workload_rate(struct neap_workload *workload, const struct neap_reading *before,
			const struct neap_reading *now, double seconds)
{
	double periods = NAN, throttled = NAN;

	workload->used_cores = NAN;
	if (before && now) {
		workload->used_cores =
			rate(before->cpu_usage_usec, now->cpu_usage_usec, seconds) / 1e6;
		periods = rate(before->periods, now->periods, seconds);
		throttled =
			rate(before->throttled_periods, now->throttled_periods, seconds);
	}
	workload->used_milli = milli_from_cores(workload->used_cores);
	/* No period passed: nothing ran, so nothing was stopped. */
	workload->throttled_ratio =
		periods > 0 ? throttled / periods : periods * throttled;
	workload->memory_bytes = now ? now->memory_bytes : NEAP_MISSING;
	workload->cpu_pressure = now ? now->cpu_pressure : NAN;
	workload->memory_pressure = now ? now->memory_pressure : NAN;
	workload->io_pressure = now ? now->io_pressure : NAN;
}

/* A sum over workloads of one sort. */
struct sum {
	double pods,
		hosts; /* CPUs; truncated to milli one by one, as the reference does */
	size_t known, missing;
	double average; /* of the window */
	size_t averages;
};

static void sum_add(struct sum *sum, const struct neap_workload *w)
{
	if (!isnan(w->used_avg_cores)) {
		sum->average += w->used_avg_cores;
		sum->averages++;
	}
	if (isnan(w->used_cores)) {
		sum->missing++;
		return;
	}
	sum->known++;
	if (w->source && !strcmp(w->source, "host"))
		sum->hosts += w->used_cores;
	else
		sum->pods += w->used_cores;
}

static bool sum_is_missing(const struct sum *sum)
{
	return sum->missing && !sum->known;
}

static int64_t sum_milli(const struct sum *sum)
{
	if (sum_is_missing(sum))
		return NEAP_MISSING;
	return milli_from_cores(sum->pods) + milli_from_cores(sum->hosts);
}

static void sum_node(struct neap_sample *s, const struct neap_node_reading *before,
		     const struct neap_node_reading *now)
{
	double stolen = NAN;

	s->used_cores = NAN;
	s->stolen_ratio = NAN;
	if (before && now) {
		s->used_cores =
			rate(before->cpu_busy_usec, now->cpu_busy_usec, s->seconds) / 1e6;
		stolen = rate(before->cpu_steal_usec, now->cpu_steal_usec, s->seconds) /
			 1e6;
	}
	if (s->capacity_milli > 0 && !isnan(stolen))
		s->stolen_ratio = fmin(stolen * 1000 / (double)s->capacity_milli, 1);
	s->used_milli = milli_from_cores(s->used_cores);

	s->memory_capacity_bytes = now ? now->memory_total_bytes : NEAP_MISSING;
	s->memory_used_bytes = NEAP_MISSING;
	if (now && now->memory_total_bytes != NEAP_MISSING &&
	    now->memory_available_bytes != NEAP_MISSING)
		s->memory_used_bytes =
			now->memory_total_bytes - now->memory_available_bytes;
	s->cpu_pressure = now ? now->cpu_pressure : NAN;
	s->memory_pressure = now ? now->memory_pressure : NAN;
	s->io_pressure = now ? now->io_pressure : NAN;
}

void neap_sample_sum(struct neap_sample *sample, const struct neap_node_reading *before,
		     const struct neap_node_reading *now)
{
	struct sum critical = {0}, besteffort = {0};
	double rest;

	sum_node(sample, before, now);
	sample->critical_pressure = NAN;
	neap_cpuset_clear(&sample->exclusive_cpus);
	for (size_t i = 0; i < sample->workload_count; i++) {
		const struct neap_workload *w = &sample->workloads[i];

		sum_add(w->is_critical ? &critical : &besteffort, w);
		if (!w->is_critical)
			continue;
		/* fmax passes over NaN */
		sample->critical_pressure =
			fmax(sample->critical_pressure, w->cpu_pressure);
		neap_cpuset_or(&sample->exclusive_cpus, &sample->exclusive_cpus,
			       &w->exclusive_cpus);
	}
	sample->critical_used_avg_milli = NEAP_MISSING;
	if (critical.averages || critical.known + critical.missing == 0)
		sample->critical_used_avg_milli = milli_from_cores(critical.average);

	sample->critical_used_milli = NEAP_MISSING;
	sample->besteffort_used_milli = NEAP_MISSING;
	sample->system_used_milli = NEAP_MISSING;
	if (!before || !(sample->seconds > 0)) /* first tick: nothing has grown yet */
		return;
	/* A workload without a sample is left out: its use then counts as the system's.
	 * Only when all are missing it is the reading that failed, and the sum is not
	 * known. */
	sample->critical_used_milli = sum_milli(&critical);
	sample->besteffort_used_milli = sum_milli(&besteffort);
	if (isnan(sample->used_cores) || sum_is_missing(&critical) ||
	    sum_is_missing(&besteffort))
		return;
	rest = sample->used_cores - critical.pods - critical.hosts - besteffort.pods -
	       besteffort.hosts;
	sample->system_used_milli = rest > 0 ? milli_from_cores(rest) : 0;
}

bool neap_workload_decide_critical(enum neap_qos qos, enum neap_kube_qos kube_qos,
				   bool is_host_app)
{
	if (is_host_app)
		return qos != NEAP_QOS_BE || kube_qos != NEAP_KUBE_BESTEFFORT;
	return qos != NEAP_QOS_BE && kube_qos != NEAP_KUBE_BESTEFFORT;
}

/* --- windows: the latest values of one number --- */

struct neap_window {
	int size, count;
	int next; /* place of the sample to come */
	float *value;
	int64_t time[]; /* monotonic, microseconds */
};

static const int percent[NEAP_AGG_COUNT] = {
	[NEAP_AGG_P50] = 50,
	[NEAP_AGG_P90] = 90,
	[NEAP_AGG_P95] = 95,
	[NEAP_AGG_P99] = 99,
};

struct neap_window *neap_window_new(int samples)
{
	struct neap_window *w;
	size_t size = 1;

	if (samples > 1)
		size = samples < NEAP_WINDOW_SAMPLES_MAX ? (size_t)samples
							 : NEAP_WINDOW_SAMPLES_MAX;
	w = neap_alloc(sizeof(*w) + size * (sizeof(w->time[0]) + sizeof(w->value[0])));
	if (!w)
		return NULL;
	w->size = (int)size;
	w->value =
		(void *)(w->time + size); /* the times come first, so both are aligned */
	return w;
}

void neap_window_free(struct neap_window *window)
{
	free(window);
}

void neap_window_clear(struct neap_window *window)
{
	window->count = window->next = 0;
}

/* Position of the sample that is age samples old; 0 is the newest. */
static int place(const struct neap_window *w, int age)
{
	int at = w->next - 1 - age;

	return at < 0 ? at + w->size : at;
}

void neap_window_add(struct neap_window *window, int64_t mono_usec, float value)
{
	if (isnan(value))
		return;
	if (window->count && mono_usec < window->time[place(window, 0)])
		neap_window_clear(window);
	window->time[window->next] = mono_usec;
	window->value[window->next] = value;
	window->next = (window->next + 1) % window->size;
	if (window->count < window->size)
		window->count++;
}

void neap_window_prefetch(const struct neap_window *window)
{
	neap_prefetch(window->value, (size_t)window->size * sizeof(window->value[0]));
	/* The newest, the next one, and the oldest in a full ring lie together. */
	neap_prefetch(&window->time[window->next], 1);
}

static bool is_within(const struct neap_window *w, int age, int64_t now, int64_t span)
{
	int64_t since;

	return !__builtin_sub_overflow(now, w->time[place(w, age)], &since) &&
	       since < span;
}

/* The ages of the samples in (now - span, now]: *ret_first is the newest of them; returns
 * how many. */
static int find_span(const struct neap_window *w, int64_t now, int64_t span,
		     int *ret_first)
{
	int first = 0, low, high;

	if (span <= 0)
		return 0;
	while (first < w->count && w->time[place(w, first)] > now)
		first++;
	/* Times fall with age: the first one that is too old is between low and high. A
	 * ring usually holds little more than the span. */
	low = first;
	high = w->count;
	for (int step = 1; high - step >= low; step *= 2) {
		if (!is_within(w, high - step, now, span)) {
			high -= step;
			continue;
		}
		low = high - step + 1;
		break;
	}
	while (low < high) {
		int middle = low + (high - low) / 2;

		if (is_within(w, middle, now, span))
			low = middle + 1;
		else
			high = middle;
	}
	*ret_first = first;
	return low - first;
}

/* The samples of a span lie in one or two parts of the ring. Ages first and up to count -
 * 1 more: the oldest part's place and length; the rest begins at place 0. */
static int oldest_part(const struct neap_window *w, int first, int count, int *ret_length)
{
	int from = place(w, first + count - 1);

	*ret_length = from + count > w->size ? w->size - from : count;
	return from;
}

/* Four sums, so that no addition waits for the one before it. */
static double sum(const float *value, int count)
{
	double part[4] = {0};
	int i = 0;

	for (; i + 4 <= count; i += 4)
		for (int k = 0; k < 4; k++)
			part[k] += (double)value[i + k];
	for (; i < count; i++)
		part[0] += (double)value[i];
	return part[0] + part[1] + (part[2] + part[3]);
}

static float average(const struct neap_window *w, int first, int count)
{
	int length, from = oldest_part(w, first, count, &length);

	return (float)((sum(w->value + from, length) + sum(w->value, count - length)) /
		       count);
}

/* A float as a number with the same order, and back. */
static uint32_t key_from_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits >> 31 ? ~bits : bits | 0x80000000u;
}

static float float_from_key(uint32_t key)
{
	uint32_t bits = key >> 31 ? key & 0x7fffffffu : ~key;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static void copy_keys(const struct neap_window *w, int first, int count, uint32_t *key)
{
	int length, from = oldest_part(w, first, count, &length);

	for (int i = 0; i < length; i++)
		key[i] = key_from_float(w->value[from + i]);
	for (int i = 0; i < count - length; i++)
		key[length + i] = key_from_float(w->value[i]);
}

/* The key at place rank of the rising order. Each round splits the part that holds it at
 * the highest bit in which its keys differ: at most 32 rounds, whatever the values.
 * Reorders. */
static uint32_t select_key(uint32_t *key, int count, int rank)
{
	int low = 0, high = count;

	for (;;) {
		uint32_t all = UINT32_MAX, any = 0, bit;
		int middle = low;

		for (int i = low; i < high; i++) {
			all &= key[i];
			any |= key[i];
		}
		if (all == any)
			return any;
		bit = 0x80000000u >> __builtin_clz(all ^ any);
		for (int i = low; i < high; i++) {
			uint32_t moved = key[i];

			if (moved & bit)
				continue;
			key[i] = key[middle];
			key[middle++] = moved;
		}
		if (rank < middle)
			high = middle;
		else
			low = middle;
	}
}

/* Nearest rank: place ceil(percent * count / 100), counted from 1. */
static float percentile(uint32_t *key, int count, int percent_wanted)
{
	int rank = (percent_wanted * count + 99) / 100;

	return float_from_key(select_key(key, count, rank - 1));
}

bool neap_window_get(const struct neap_window *window, int64_t now_mono_usec,
		     int64_t span_usec, struct neap_window_result *ret)
{
	uint32_t key[NEAP_WINDOW_SAMPLES_MAX];
	int first = 0, count = find_span(window, now_mono_usec, span_usec, &first);

	if (!count)
		return false;
	copy_keys(window, first, count, key);
	for (int i = 0; i < NEAP_AGG_COUNT; i++)
		if (percent[i])
			ret->value[i] = percentile(key, count, percent[i]);
	ret->value[NEAP_AGG_LAST] = window->value[place(window, first)];
	ret->value[NEAP_AGG_AVG] = average(window, first, count);
	ret->count = count;
	ret->covered_usec = window->time[place(window, first)] -
			    window->time[place(window, first + count - 1)];
	return true;
}

bool neap_window_get_one(const struct neap_window *window, int64_t now_mono_usec,
			 int64_t span_usec, enum neap_aggregate aggregate, float *ret)
{
	uint32_t key[NEAP_WINDOW_SAMPLES_MAX];
	int first = 0, count = find_span(window, now_mono_usec, span_usec, &first);

	if (!count || (unsigned)aggregate >= NEAP_AGG_COUNT)
		return false;
	if (aggregate == NEAP_AGG_LAST) {
		*ret = window->value[place(window, first)];
	} else if (aggregate == NEAP_AGG_AVG) {
		*ret = average(window, first, count);
	} else {
		copy_keys(window, first, count, key);
		*ret = percentile(key, count, percent[aggregate]);
	}
	return true;
}
