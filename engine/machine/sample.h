/* SPDX-License-Identifier: Apache-2.0
 *
 * The data of one node tick, as policies receive it. Plain data, filled by api/run from
 * the readings or from a recording. Values are NEAP_MISSING (integers) or NaN (reals)
 * when they could not be read, or when a counter has only one reading so far. */
#ifndef NEAP_ENGINE_MACHINE_SAMPLE_H
#define NEAP_ENGINE_MACHINE_SAMPLE_H

#include "engine/base/field.h"
#include "engine/machine/key.h"
#include "engine/machine/path.h"
#include "engine/machine/topology.h"

/* Counters and gauges of one group as the kernel gives them. */
struct neap_reading {
	int64_t cpu_usage_usec;             /* grows */
	int64_t periods, throttled_periods; /* grow */
	int64_t throttled_usec;             /* grows */
	int64_t memory_bytes; /* usage of the kernel's counter, page cache included */
	int64_t memory_working_bytes; /* anon + unevictable, from memory.stat */
	double cpu_pressure, memory_pressure,
		io_pressure;             /* "some" avg10 as a share, 0..1 */
	int64_t cpu_pressure_total_usec; /* grows */
};

/* Counters and gauges of the node. */
struct neap_node_reading {
	int64_t cpu_busy_usec;  /* user+nice+system+irq+softirq, all CPUs; grows */
	int64_t cpu_steal_usec; /* grows */
	int64_t memory_total_bytes, memory_available_bytes, memory_free_bytes;
	double cpu_pressure, memory_pressure, io_pressure;
};

/* A pod (of a kubelet or of neap), a `neapctl run`, or a host application. */
struct neap_workload {
	char id[128];     /* unique on the node: pod uid, run name, "host:NAME" */
	char name[128];   /* for people */
	char target[160]; /* the name that wishes use: "workload:ID" */
	char group[NEAP_PATH_MAX]; /* directory below the hierarchies */
	uint64_t texts_mark;       /* changes whenever a text changes; 0: unknown */
	const char *source;        /* "run", "pod", "kubelet", "host" */
	enum neap_qos qos;         /* from the label; NONE when unknown */
	enum neap_kube_qos kube_qos;
	const char *qos_name, *kube_qos_name; /* the two above as text */
	bool is_critical; /* true unless best-effort by the rule of spec node-qos 3.1 */
	int64_t cpu_request_milli, cpu_limit_milli; /* missing when unknown */
	int64_t memory_limit_bytes;
	double used_cores;     /* since the last tick */
	int64_t used_milli;    /* the same, truncated */
	double used_avg_cores; /* average over the window; percentiles follow */
	double used_p50_cores, used_p90_cores, used_p95_cores, used_p99_cores;
	double throttled_ratio; /* throttled periods / periods since the last tick */
	int64_t memory_bytes;
	double cpu_pressure, memory_pressure, io_pressure;
	int64_t max_milli; /* quota in force, -1 unlimited */
	int64_t processes;
	struct neap_cpuset cpus; /* CPUs its group may use now */
	struct neap_cpuset
		exclusive_cpus; /* assigned to it exclusively (LSE, LSR); empty: none */
};

/* A QoS class directory, summed over all trees. */
struct neap_class_sample {
	bool exists;
	double used_cores;
	int64_t used_milli;
	/* quota in force on the directory, -1 unlimited; lowest of the trees */
	int64_t max_milli;
	struct neap_cpuset cpus; /* CPU set in force on the directory */
	double throttled_ratio;
	double cpu_pressure;
	int64_t workloads;
};

struct neap_sample {
	int64_t now_unix; /* seconds */
	int64_t mono_usec;
	double seconds;            /* since the previous tick; NaN at the first */
	int64_t capacity_milli;    /* online CPUs * 1000 */
	int64_t allocatable_milli; /* capacity minus what the configuration reserves */
	int64_t reserved_milli;    /* reserved by annotation or configuration, 0 if not */
	struct neap_cpuset reserved_cpus;  /* nobody's CPUs */
	struct neap_cpuset system_cpus;    /* exclusive CPUs of class SYSTEM */
	struct neap_cpuset exclusive_cpus; /* of all workloads that are not best-effort */
	double used_cores; /* all CPU use of the node since the last tick */
	int64_t used_milli;
	double used_avg_cores; /* average of the window, then percentiles of it */
	double used_p50_cores, used_p90_cores, used_p95_cores, used_p99_cores;
	double stolen_ratio;             /* share of CPU time that the hypervisor took */
	int64_t critical_used_milli;     /* workloads that are not best-effort */
	int64_t critical_used_avg_milli; /* sum of their averages of the window */
	int64_t besteffort_used_milli;   /* workloads that are */
	int64_t system_used_milli;       /* the node's use minus both, not below 0 */
	int64_t memory_capacity_bytes, memory_used_bytes;
	double cpu_pressure, memory_pressure,
		io_pressure;            /* of the node, "some" avg10, 0..1 */
	double critical_pressure;       /* highest cpu_pressure of a critical workload */
	const char *kubelet_cpu_policy; /* "none" or "static" */
	struct neap_topology *topology; /* borrowed */
	struct neap_class_sample besteffort, burstable;
	struct neap_workload *workloads;
	size_t workload_count;
	uint32_t supports; /* bit 1 << key: the kernel has the file */
	/* the trigger that fired for the policy being called; NULL on a tick */
	const char *trigger;
};

/* Fields of struct neap_sample and struct neap_workload, in the order of the
 * documentation. */
extern const struct neap_field neap_sample_fields[];
extern const struct neap_field neap_workload_fields[];
extern const struct neap_field neap_class_fields[];

/* Finds a row by name; dots step into structs ("besteffort.cpus"). NULL if there is
 * none. */
const struct neap_field *neap_sample_field_find(const char *name);
/* Returns whether the row's value (or part of a required struct) is missing in this
 * sample. */
bool neap_sample_field_is_missing(const struct neap_sample *sample, const char *name);

/* Computes all sums and ratios from the workloads and two node readings: used, critical,
 * besteffort, system, exclusive CPUs. before may be NULL (first tick: all rates are
 * missing). */
void neap_sample_sum(struct neap_sample *sample, const struct neap_node_reading *before,
		     const struct neap_node_reading *now);
/* The same for one group, over seconds. */
void neap_workload_rate(struct neap_workload *workload, const struct neap_reading *before,
			const struct neap_reading *now, double seconds);
/* is_critical by spec node-qos 3.1: neither the label is BE nor the Kubernetes class
 * BestEffort; a host application is best-effort only with qos BE below the best-effort
 * directory (kube_qos BESTEFFORT). */
bool neap_workload_decide_critical(enum neap_qos qos, enum neap_kube_qos kube_qos,
				   bool is_host_app);

/* A window: the latest values of one number, a ring of (time, value) that yields last,
 * average and percentiles over a span. Missing values take no space. 12 bytes per value.
 */
struct neap_window;

enum neap_aggregate {
	NEAP_AGG_LAST,
	NEAP_AGG_AVG,
	NEAP_AGG_P50,
	NEAP_AGG_P90,
	NEAP_AGG_P95,
	NEAP_AGG_P99,
	NEAP_AGG_COUNT
};

/* Percentiles are computed on a copy on the stack, hence the limit. */
#define NEAP_WINDOW_SAMPLES_MAX 4096

/* samples: the capacity, clamped to 1..NEAP_WINDOW_SAMPLES_MAX. NULL without memory. */
struct neap_window *neap_window_new(int samples);
void neap_window_free(struct neap_window *window);
void neap_window_clear(struct neap_window *window);
/* Ignores NaN. Times must not go back: an older time empties the window first. */
void neap_window_add(struct neap_window *window, int64_t mono_usec, float value);

/* Prefetches what an add and a full get need (see neap_prefetch). Waits for the first
 * bytes of the window itself unless they were prefetched already. */
void neap_window_prefetch(const struct neap_window *window);

struct neap_window_result {
	float value[NEAP_AGG_COUNT];
	int count;            /* samples in the span */
	int64_t covered_usec; /* from the first to the last of them */
};
/* Results over (now - span, now]. Returns false and writes nothing when there is no
 * sample. Percentile p is the value at rank ceil(p * count), ascending (nearest rank). */
bool neap_window_get(const struct neap_window *window, int64_t now_mono_usec,
		     int64_t span_usec, struct neap_window_result *ret);
/* One result only; cheap for LAST and AVG. */
bool neap_window_get_one(const struct neap_window *window, int64_t now_mono_usec,
			 int64_t span_usec, enum neap_aggregate aggregate, float *ret);

#endif
