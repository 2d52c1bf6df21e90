/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples: the field tables, what counts as missing, rates and sums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "engine/machine/sample.h"

static void check_table(const struct neap_field *fields, size_t struct_size)
{
	for (const struct neap_field *f = fields; f->name; f++) {
		assert_true(f->doc && *f->doc);
		assert_null(strchr(f->doc, '\n'));
		assert_true(f->offset < struct_size);
		for (const char *c = f->name; *c; c++)
			assert_true(islower((unsigned char)*c) ||
				    isdigit((unsigned char)*c) || *c == '_');
		for (const struct neap_field *g = fields; g != f; g++)
			assert_string_not_equal(f->name, g->name);
		if (f->type == NEAP_FIELD_STRUCT || f->type == NEAP_FIELD_LIST)
			assert_non_null(f->fields);
		if (f->type == NEAP_FIELD_LIST)
			assert_true(f->element_size && f->count_offset);
	}
}

static void tables(void **state)
{
	(void)state;
	check_table(neap_sample_fields, sizeof(struct neap_sample));
	check_table(neap_workload_fields, sizeof(struct neap_workload));
	check_table(neap_class_fields, sizeof(struct neap_class_sample));
}

/* In a sample of zeros with what set_up adds. */
static const struct {
	const char *name;
	bool is_known, is_missing;
} fields[] = {
	{"capacity_milli", true, false},
	{"used_milli", true, true},
	{"used_cores", true, true},
	{"used_avg_cores", true, false},
	{"used_p50_cores", true, false},
	{"used_p90_cores", true, false},
	{"used_p95_cores", true, true},
	{"used_p99_cores", true, false},
	{"used_p98_cores", false, true},
	{"reserved_cpus", true, false},
	{"kubelet_cpu_policy", true, true},
	{"topology", true, true},
	{"workloads", true, false},
	{"supports", true, false},
	{"trigger", true, true},
	{"besteffort", true, false},
	{"besteffort.exists", true, false},
	{"besteffort.cpus", true, false},
	{"besteffort.used_cores", true, true},
	{"burstable", true, true},
	{"burstable.exists", true, false},
	{"burstable.cpus", true, true},
	{"burstable.max_milli", true, true},
	{"", false, true},
	{".", false, true},
	{"used", false, true},
	{"used_millis", false, true},
	{"besteffort.", false, true},
	{"besteffort.nothing", false, true},
	{"besteffort.cpus.x", false, true},
	{".exists", false, true},
	{"workloads.used_cores", false, true},
	{"used_milli.x", false, true},
	{"workload_count", false, true},
};

static void field_rows(void **state)
{
	struct neap_sample s = {
		.used_milli = NEAP_MISSING, .used_cores = NAN, .used_p95_cores = NAN};

	(void)state;
	s.besteffort.exists = true;
	s.besteffort.used_cores = NAN;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(fields); i++)
		if (!!neap_sample_field_find(fields[i].name) != fields[i].is_known ||
		    neap_sample_field_is_missing(&s, fields[i].name) !=
			    fields[i].is_missing)
			fail_msg("'%s'", fields[i].name);
	s.kubelet_cpu_policy = "";
	assert_true(neap_sample_field_is_missing(&s, "kubelet_cpu_policy"));
	s.kubelet_cpu_policy = "none";
	assert_false(neap_sample_field_is_missing(&s, "kubelet_cpu_policy"));
}

/* Workloads: kind 'c' critical pod, 'h' critical host application, 'b' best-effort pod,
 * 'H' best-effort host application; NAN use is missing. Wanted -1 is missing. */
static const struct {
	const char *name;
	const char *kinds;
	double used[4];
	int64_t busy_before, busy_now; /* µs; -1 missing */
	double seconds;
	int64_t used_milli, critical, besteffort, system;
} sums[] = {
	{"nothing runs", "", {0}, 0, 500000, 1, 500, 0, 0, 500},
	{"one of each", "cb", {1.25, 0.5}, 0, 2000000, 1, 2000, 1250, 500, 250},
	{"two seconds", "c", {1}, 1000000, 5000000, 2, 2000, 1000, 0, 1000},
	{"pods and hosts are truncated apart",
	 "cchh",
	 {0.0004, 0.0004, 0.0004, 0.0008},
	 0,
	 0,
	 1,
	 0,
	 1,
	 0,
	 0},
	{"pods are truncated together", "cc", {0.0006, 0.0006}, 0, 0, 1, 0, 1, 0, 0},
	{"best-effort hosts", "bH", {0.5, 0.25}, 0, 1000000, 1, 1000, 0, 750, 250},
	{"more than the node: the system is not below 0",
	 "c",
	 {3},
	 0,
	 1000000,
	 1,
	 1000,
	 3000,
	 0,
	 0},
	{"a missing one counts as system",
	 "ccb",
	 {0.5, NAN, 0.25},
	 0,
	 2000000,
	 1,
	 2000,
	 500,
	 250,
	 1250},
	{"all critical ones missing",
	 "ccb",
	 {NAN, NAN, 0.25},
	 0,
	 2000000,
	 1,
	 2000,
	 -1,
	 250,
	 -1},
	{"all best-effort ones missing",
	 "cb",
	 {0.5, NAN},
	 0,
	 2000000,
	 1,
	 2000,
	 500,
	 -1,
	 -1},
	{"no reading of the node", "cb", {0.5, 0.25}, -1, 2000000, 1, -1, 500, 250, -1},
	{"the counter went back", "cb", {0.5, 0.25}, 5, 4, 1, -1, 500, 250, -1},
	{"no time passed", "c", {0.5}, 0, 1000, 0, -1, -1, -1, -1},
	{"the time is not known", "c", {0.5}, 0, 1000, NAN, -1, -1, -1, -1},
};

static int64_t or_missing(int64_t value)
{
	return value < 0 ? NEAP_MISSING : value;
}

static void sum_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(sums); i++) {
		static struct neap_workload workloads[4];
		struct neap_sample s = {.seconds = sums[i].seconds,
					.workloads = workloads};
		struct neap_node_reading before = {
			.cpu_busy_usec = or_missing(sums[i].busy_before)};
		struct neap_node_reading now = {.cpu_busy_usec =
							or_missing(sums[i].busy_now)};

		for (const char *k = sums[i].kinds; *k; k++) {
			struct neap_workload *w = &workloads[s.workload_count];

			w->used_cores = sums[i].used[s.workload_count++];
			w->is_critical = *k == 'c' || *k == 'h';
			w->source = *k == 'h' || *k == 'H' ? "host" : "run";
		}
		neap_sample_sum(&s, &before, &now);
		if (s.used_milli != or_missing(sums[i].used_milli) ||
		    s.critical_used_milli != or_missing(sums[i].critical) ||
		    s.besteffort_used_milli != or_missing(sums[i].besteffort) ||
		    s.system_used_milli != or_missing(sums[i].system))
			fail_msg(
				"%s: used %lld critical %lld besteffort %lld system %lld",
				sums[i].name, (long long)s.used_milli,
				(long long)s.critical_used_milli,
				(long long)s.besteffort_used_milli,
				(long long)s.system_used_milli);
		assert_int_equal(isnan(s.used_cores), s.used_milli == NEAP_MISSING);
	}
}

static void node_gauges(void **state)
{
	struct neap_workload workloads[3] = {
		{.is_critical = true, .cpu_pressure = NAN, .used_avg_cores = NAN},
		{.is_critical = true, .cpu_pressure = 0.25, .used_avg_cores = 1.5},
		{.is_critical = false, .cpu_pressure = 0.75, .used_avg_cores = 4},
	};
	struct neap_sample s = {.seconds = 1,
				.capacity_milli = 2000,
				.workloads = workloads,
				.workload_count = 3};
	struct neap_node_reading before = {0};
	struct neap_node_reading now = {.cpu_steal_usec = 500000,
					.memory_total_bytes = 100,
					.memory_available_bytes = 30,
					.cpu_pressure = 0.5,
					.memory_pressure = NAN};

	(void)state;
	for (int i = 0; i < 3; i++)
		neap_cpuset_add(&workloads[i].exclusive_cpus, 70 - 35 * i);
	neap_sample_sum(&s, &before, &now);
	assert_int_equal(s.critical_used_avg_milli, 1500);
	assert_int_equal(neap_cpuset_count(&s.exclusive_cpus), 2);
	assert_true(neap_cpuset_has(&s.exclusive_cpus, 70));
	assert_true(neap_cpuset_has(&s.exclusive_cpus, 35));
	assert_true(s.stolen_ratio == 0.25);
	assert_int_equal(s.memory_capacity_bytes, 100);
	assert_int_equal(s.memory_used_bytes, 70);
	assert_true(s.cpu_pressure == 0.5 && isnan(s.memory_pressure));
	assert_true(s.critical_pressure == 0.25);

	now.memory_available_bytes = NEAP_MISSING;
	neap_sample_sum(&s, NULL, &now); /* first tick */
	assert_true(isnan(s.used_cores) && isnan(s.stolen_ratio));
	assert_true(s.used_milli == NEAP_MISSING &&
		    s.critical_used_milli == NEAP_MISSING);
	assert_true(s.besteffort_used_milli == NEAP_MISSING &&
		    s.system_used_milli == NEAP_MISSING);
	assert_int_equal(s.memory_capacity_bytes, 100);
	assert_true(s.memory_used_bytes == NEAP_MISSING);
	workloads[1].used_avg_cores = NAN;
	neap_sample_sum(&s, &before, &now);
	assert_true(s.critical_used_avg_milli == NEAP_MISSING);
	s.workload_count = 0;
	neap_sample_sum(&s, &before, NULL);
	assert_int_equal(s.critical_used_avg_milli, 0);
	assert_true(neap_cpuset_is_empty(&s.exclusive_cpus));
	assert_true(isnan(s.critical_pressure) && isnan(s.cpu_pressure));
	assert_true(s.used_milli == NEAP_MISSING &&
		    s.memory_capacity_bytes == NEAP_MISSING);
}

static const struct {
	const char *name;
	int64_t usage[2], periods[2], throttled[2]; /* -1 missing */
	double seconds;
	double used_cores, throttled_ratio; /* -1 missing */
} rates[] = {
	{"half a CPU", {1000, 501000}, {0, 10}, {0, 5}, 1, 0.5, 0.5},
	{"two seconds", {0, 3000000}, {0, 20}, {0, 0}, 2, 1.5, 0},
	{"no period passed", {0, 0}, {7, 7}, {3, 3}, 1, 0, 0},
	{"usage missing", {-1, 5}, {0, 10}, {0, 1}, 1, -1, 0.1},
	{"periods missing", {0, 0}, {0, -1}, {0, 1}, 1, 0, -1},
	{"throttled missing", {0, 0}, {0, 10}, {-1, 1}, 1, 0, -1},
	{"throttled missing, no period", {0, 0}, {1, 1}, {-1, 1}, 1, 0, -1},
	{"made anew", {900, 5}, {90, 1}, {9, 0}, 1, -1, -1},
	{"no time", {0, 5}, {0, 1}, {0, 0}, 0, -1, -1},
	{"unknown time", {0, 5}, {0, 1}, {0, 0}, NAN, -1, -1},
};

static bool is_real(double got, double want)
{
	return want < 0 ? isnan(got) : fabs(got - want) < 1e-9;
}

static void rate_rows(void **state)
{
	struct neap_workload w = {.used_cores = 7};
	struct neap_reading now = {
		.memory_bytes = 42, .cpu_pressure = 0.5, .io_pressure = NAN};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rates); i++) {
		struct neap_reading r[2] = {0};

		for (int k = 0; k < 2; k++) {
			r[k].cpu_usage_usec = or_missing(rates[i].usage[k]);
			r[k].periods = or_missing(rates[i].periods[k]);
			r[k].throttled_periods = or_missing(rates[i].throttled[k]);
		}
		neap_workload_rate(&w, &r[0], &r[1], rates[i].seconds);
		if (!is_real(w.used_cores, rates[i].used_cores) ||
		    !is_real(w.throttled_ratio, rates[i].throttled_ratio) ||
		    (w.used_milli == NEAP_MISSING) != (rates[i].used_cores < 0))
			fail_msg("%s: %g cores, %g", rates[i].name, w.used_cores,
				 w.throttled_ratio);
	}
	neap_workload_rate(&w, NULL, &now, 1);
	assert_true(isnan(w.used_cores) && isnan(w.throttled_ratio) &&
		    w.used_milli == NEAP_MISSING);
	assert_int_equal(w.memory_bytes, 42);
	assert_true(w.cpu_pressure == 0.5 && isnan(w.io_pressure));
	neap_workload_rate(&w, &now, NULL, 1);
	assert_true(isnan(w.used_cores) && isnan(w.cpu_pressure) &&
		    w.memory_bytes == NEAP_MISSING);
}

static const struct {
	enum neap_qos qos;
	enum neap_kube_qos kube_qos;
	bool is_host_app, is_critical;
} critical[] = {
	{NEAP_QOS_LS, NEAP_KUBE_BURSTABLE, false, true},
	{NEAP_QOS_LSE, NEAP_KUBE_GUARANTEED, false, true},
	{NEAP_QOS_NONE, NEAP_KUBE_GUARANTEED, false, true},
	{NEAP_QOS_SYSTEM, NEAP_KUBE_BURSTABLE, false, true},
	{NEAP_QOS_BE, NEAP_KUBE_BESTEFFORT, false, false},
	{NEAP_QOS_BE, NEAP_KUBE_BURSTABLE, false, false},
	{NEAP_QOS_LS, NEAP_KUBE_BESTEFFORT, false, false},
	{NEAP_QOS_NONE, NEAP_KUBE_BESTEFFORT, false, false},
	{NEAP_QOS_BE, NEAP_KUBE_BESTEFFORT, true, false},
	{NEAP_QOS_BE, NEAP_KUBE_BURSTABLE, true, true},
	{NEAP_QOS_LS, NEAP_KUBE_BESTEFFORT, true, true},
};

static void critical_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(critical); i++)
		if (neap_workload_decide_critical(critical[i].qos, critical[i].kube_qos,
						  critical[i].is_host_app) !=
		    critical[i].is_critical)
			fail_msg("row %zu", i);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables),    cmocka_unit_test(field_rows),
		cmocka_unit_test(sum_rows),  cmocka_unit_test(node_gauges),
		cmocka_unit_test(rate_rows), cmocka_unit_test(critical_rows),
	};
	const char *only = getenv("CASE");

	if (only && *only)
		cmocka_set_test_filter(only);
	return cmocka_run_group_tests_name("sample", tests, NULL, NULL);
}
