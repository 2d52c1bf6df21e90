/* SPDX-License-Identifier: Apache-2.0
 *
 * The recorder: every field of every table comes back, bounds hold, tapes live on, other
 * threads may read them, and adding a frame is cheap. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "lua/run/record.h"
#include "t/lib/patience.h"

#define WORKLOADS_MAX 4096
#define BENCH_FRAMES  200

static struct neap_topology *topology;

/* --- samples with odd values, made and compared by the tables alone --- */

static uint64_t seed;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static const int64_t odd_ints[] = {0,
				   1,
				   -1,
				   63,
				   64,
				   -64,
				   -65,
				   127,
				   128,
				   NEAP_MISSING,
				   INT64_MAX,
				   INT64_MIN + 1,
				   INT64_C(1) << 62,
				   1700000000};
static const double odd_reals[] = {0.0,      -0.0,      1.0,       0.5, 0.1,
				   -1e308,   5e-324,    1e15,      NAN, -NAN,
				   INFINITY, -INFINITY, 123456.789};
static const char *const odd_texts[] = {"",
					"x",
					"=",
					"=x",
					"a name with = and \xc3\xa4",
					"0123456789012345678901234567890123456789"};

static void fill_cpus(struct neap_cpuset *set)
{
	neap_cpuset_clear(set);
	switch (any() % 5) {
	case 0:
		break;
	case 1:
		neap_cpuset_add_range(set, 0, 15);
		break;
	case 2: /* a used word that became empty again */
		neap_cpuset_add(set, 700);
		neap_cpuset_remove(set, 700);
		break;
	case 3:
		neap_cpuset_add(set, NEAP_CPU_MAX - 1);
		break;
	default:
		neap_cpuset_add(set, (int)(any() % 300));
		neap_cpuset_add(set, (int)(any() % 300));
	}
}

static void fill_struct(const struct neap_field *fields, char *base, size_t elements)
{
	for (const struct neap_field *f = fields; f->name; f++) {
		void *at = base + f->offset;
		char *element;
		const char *text = odd_texts[any() % NEAP_ARRAY_LEN(odd_texts)];

		switch (f->type) {
		case NEAP_FIELD_INT:
			*(int64_t *)at = odd_ints[any() % NEAP_ARRAY_LEN(odd_ints)];
			break;
		case NEAP_FIELD_REAL:
			*(double *)at = odd_reals[any() % NEAP_ARRAY_LEN(odd_reals)];
			break;
		case NEAP_FIELD_BOOL:
			*(bool *)at = any() % 2;
			break;
		case NEAP_FIELD_KEYS:
			*(uint32_t *)at = (uint32_t)any();
			break;
		case NEAP_FIELD_TEXT:
			memcpy(at, text, strlen(text) + 1);
			break;
		case NEAP_FIELD_NAME:
			*(const char **)at = any() % 4 ? text : NULL;
			break;
		case NEAP_FIELD_CPUSET:
			fill_cpus(at);
			break;
		case NEAP_FIELD_TOPOLOGY:
			*(struct neap_topology **)at = any() % 4 ? topology : NULL;
			break;
		case NEAP_FIELD_STRUCT:
			fill_struct(f->fields, at, elements);
			break;
		case NEAP_FIELD_LIST:
			element = neap_alloc_array(elements + 1, f->element_size);
			assert_non_null(element);
			*(void **)at = element;
			*(size_t *)(void *)(base + f->count_offset) = elements;
			for (size_t i = 0; i < elements; i++)
				fill_struct(f->fields, element + i * f->element_size, 0);
			break;
		}
	}
}

static bool is_same_real(double a, double b)
{
	uint64_t a_bits, b_bits;

	memcpy(&a_bits, &a, sizeof(a));
	memcpy(&b_bits, &b, sizeof(b));
	return a_bits == b_bits; /* NaN and -0 too */
}

static bool is_same_name(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_field(const struct neap_field *f, const void *a, const void *b);

/* The first field that differs, NULL when none does. */
static const char *find_lost(const struct neap_field *fields, const char *a,
			     const char *b)
{
	for (const struct neap_field *f = fields; f->name; f++) {
		const char *x = *(const char *const *)(const void *)(a + f->offset);
		const char *y = *(const char *const *)(const void *)(b + f->offset);
		const char *lost;
		size_t count;

		if (f->type == NEAP_FIELD_STRUCT) {
			lost = find_lost(f->fields, a + f->offset, b + f->offset);
			if (lost)
				return lost;
			continue;
		}
		if (f->type != NEAP_FIELD_LIST) {
			if (!is_same_field(f, a + f->offset, b + f->offset))
				return f->name;
			continue;
		}
		count = *(const size_t *)(const void *)(a + f->count_offset);
		if (count != *(const size_t *)(const void *)(b + f->count_offset))
			return f->name;
		for (size_t i = 0; i < count; i++) {
			lost = find_lost(f->fields, x + i * f->element_size,
					 y + i * f->element_size);
			if (lost)
				return lost;
		}
	}
	return NULL;
}

static bool is_same_field(const struct neap_field *f, const void *a, const void *b)
{
	switch (f->type) {
	case NEAP_FIELD_INT:
		return *(const int64_t *)a == *(const int64_t *)b;
	case NEAP_FIELD_REAL:
		return is_same_real(*(const double *)a, *(const double *)b);
	case NEAP_FIELD_BOOL:
		return *(const bool *)a == *(const bool *)b;
	case NEAP_FIELD_KEYS:
		return *(const uint32_t *)a == *(const uint32_t *)b;
	case NEAP_FIELD_TEXT:
		return strcmp(a, b) == 0;
	case NEAP_FIELD_NAME:
		return is_same_name(*(const char *const *)a, *(const char *const *)b);
	case NEAP_FIELD_CPUSET:
		return neap_cpuset_is_equal(a, b);
	case NEAP_FIELD_TOPOLOGY:
		return *(struct neap_topology *const *)a ==
		       *(struct neap_topology *const *)b;
	case NEAP_FIELD_STRUCT:
	case NEAP_FIELD_LIST:
		break;
	}
	return false;
}

static void make_sample(struct neap_sample *sample, size_t workloads, uint64_t number)
{
	memset(sample, 0, sizeof(*sample));
	seed = number * 7919 + 1;
	fill_struct(neap_sample_fields, (char *)sample, workloads);
}

static void open_topology(void)
{
	static const struct neap_processor rows[] = {{0, 0, 0, 0}, {1, 0, 0, 0}};
	struct neap_error err;

	assert_int_equal(neap_topology_new_from_processors(rows, 2, &topology, &err), 0);
}

static void close_topology(void)
{
	assert_int_equal(topology->refs, 1); /* nobody keeps it */
	topology = neap_topology_unref(topology);
}

static void check_frame(const struct neap_tape *tape, size_t index, size_t workloads,
			uint64_t number)
{
	struct neap_sample want, got;
	struct neap_error err;
	const char *lost;

	make_sample(&want, workloads, number);
	assert_int_equal(neap_tape_get(tape, index, &got, &err), 0);
	lost = find_lost(neap_sample_fields, (const char *)&want, (const char *)&got);
	if (lost)
		fail_msg("frame %zu: field '%s' does not come back", index, lost);
	free(want.workloads);
	neap_tape_forget(&got);
}

static void add(struct neap_record *record, size_t workloads, uint64_t number)
{
	struct neap_sample sample;

	make_sample(&sample, workloads, number);
	neap_record_add(record, &sample);
	free(sample.workloads);
}

static void test_round_trip(void **state)
{
	struct neap_record *record = neap_record_new(0, 0);
	struct neap_tape *tape;

	(void)state;
	open_topology();
	for (uint64_t i = 0; i < 100; i++)
		add(record, i % 7, i);
	assert_int_equal(neap_record_count(record), 100);
	tape = neap_record_share(record);
	neap_record_free(record); /* the tape lives on */
	assert_int_equal(neap_tape_count(tape), 100);
	for (uint64_t i = 0; i < 100; i++)
		check_frame(tape, i, i % 7, i);
	assert_null(neap_tape_unref(tape));
	close_topology();
}

/* The table test compares both sides by the same tables; this one does not. */
static void test_by_hand(void **state)
{
	struct neap_record *record = neap_record_new(0, 0);
	struct neap_workload workload = {.id = "one",
					 .qos_name = "LS",
					 .source = "run",
					 .used_cores = 1.25,
					 .max_milli = -1,
					 .memory_bytes = NEAP_MISSING};
	char policy[8] = "static";
	struct neap_sample sample = {.now_unix = 5,
				     .kubelet_cpu_policy = policy,
				     .workloads = &workload,
				     .workload_count = 1,
				     .supports = 5};
	struct neap_sample got;
	struct neap_tape *tape;
	struct neap_error err = {0};

	(void)state;
	sample.besteffort.exists = true;
	neap_cpuset_add_range(&sample.besteffort.cpus, 0, 70);
	neap_cpuset_add_range(&workload.cpus, 0, 70);
	neap_record_add(record, &sample);
	tape = neap_record_share(record);
	memset(policy, 'x', sizeof(policy) - 1);
	memset(&workload, 0xff, sizeof(workload));
	assert_int_equal(neap_tape_get(tape, 0, &got, &err), 0);
	assert_int_equal(got.now_unix, 5);
	assert_string_equal(got.kubelet_cpu_policy, "static");
	assert_int_equal(got.supports, 5);
	assert_null(got.topology);
	assert_true(got.besteffort.exists);
	assert_false(got.burstable.exists);
	assert_int_equal(got.workload_count, 1);
	assert_string_equal(got.workloads[0].id, "one");
	assert_string_equal(got.workloads[0].qos_name, "LS");
	assert_null(got.workloads[0].kube_qos_name);
	assert_true(is_same_real(got.workloads[0].used_cores, 1.25));
	assert_int_equal(got.workloads[0].max_milli, -1);
	assert_true(got.workloads[0].memory_bytes == NEAP_MISSING);
	assert_int_equal(neap_cpuset_count(&got.workloads[0].cpus), 71);
	assert_int_equal(neap_cpuset_count(&got.workloads[0].exclusive_cpus), 0);
	neap_tape_forget(&got);
	assert_int_equal(neap_tape_get(tape, 1, &got, &err), -NEAP_ENOTFOUND);
	(void)neap_tape_unref(tape);
	neap_record_free(record);
}

static void test_bounds(void **state)
{
	struct neap_record *record = neap_record_new(20000, 10);
	struct neap_tape *tape;
	size_t bytes;

	(void)state;
	open_topology();
	tape = neap_record_share(record);
	assert_int_equal(neap_tape_count(tape), 0);
	(void)neap_tape_unref(tape);
	for (uint64_t i = 0; i < 25; i++) {
		add(record, 1, i);
		assert_true(neap_record_bytes(record) <= 20000);
	}
	assert_int_equal(neap_record_count(record), 10);
	tape = neap_record_share(record);
	for (uint64_t i = 0; i < 10; i++)
		check_frame(tape, i, 1, 15 + i); /* oldest first */

	/* Larger ones push many out; one that is too large for all is left out. */
	add(record, 20, 30);
	assert_true(neap_record_count(record) < 10);
	assert_true(neap_record_bytes(record) <= 20000);
	bytes = neap_record_bytes(record);
	add(record, WORKLOADS_MAX, 31);
	assert_int_equal(neap_record_bytes(record), bytes);
	check_frame(tape, 0, 1, 15); /* the tape keeps what the ring dropped */
	assert_ptr_equal(neap_tape_ref(tape), tape);
	assert_null(neap_tape_unref(tape));
	check_frame(tape, 9, 1, 24);
	assert_null(neap_tape_unref(tape));
	assert_null(neap_tape_unref(NULL));
	neap_record_free(record);
	neap_record_free(NULL);
	close_topology();
}

/* Bytes are counted exactly: nothing is left when every frame has gone. */
static void test_bytes(void **state)
{
	struct neap_record *record = neap_record_new(0, 1);
	size_t alone, shared;

	(void)state;
	open_topology();
	add(record, 5, 1);
	alone = neap_record_bytes(record);
	add(record, 50, 2);
	add(record, 5, 1);
	assert_int_equal(neap_record_bytes(record), alone);
	neap_record_free(record);

	record = neap_record_new(0, 10);
	for (int i = 0; i < 10; i++)
		add(record, 5, 1);
	shared = neap_record_bytes(record);
	print_message("# 5 workloads: %zu bytes, ten frames alike %zu\n", alone, shared);
	assert_true(shared < alone * 10);
	neap_record_free(record);
	close_topology();
}

/* --- a usual node --- */

static void usual_workload(struct neap_workload *w, size_t i, int tick)
{
	memset(w, 0, sizeof(*w));
	(void)snprintf(w->id, sizeof(w->id), "0c9e1f7a-55d1-4f0e-9a51-%012zu", i);
	(void)snprintf(w->name, sizeof(w->name), "web-frontend-%zu", i);
	(void)snprintf(w->target, sizeof(w->target), "workload:%s", w->id);
	(void)snprintf(w->group, sizeof(w->group),
		       "kubepods.slice/kubepods-burstable.slice/"
		       "kubepods-burstable-pod0c9e1f7a_55d1_4f0e_9a51_%012zu.slice",
		       i);
	w->source = "kubelet";
	w->qos_name = i % 3 ? "LS" : "BE";
	w->kube_qos_name = "Burstable";
	w->is_critical = i % 3 != 0;
	w->cpu_request_milli = 500;
	w->cpu_limit_milli = 2000;
	w->memory_limit_bytes = INT64_C(1) << 30;
	w->used_cores = (double)((i * 7919 + (size_t)tick * 31) % 1000) / 997.0;
	w->used_milli = (int64_t)(w->used_cores * 1000);
	w->used_avg_cores = (double)(float)(w->used_cores * 0.9);
	w->used_p95_cores = (double)(float)(w->used_cores * 1.1);
	w->memory_bytes = INT64_C(200000000) + (int64_t)i * 4096 * tick;
	w->cpu_pressure = (double)(i % 5) / 100;
	neap_cpuset_add_range(&w->cpus, i % 2 ? 0 : 4, 63);
	w->max_milli = i % 3 ? -1 : 2000;
	w->processes = (int64_t)(i % 9);
}

static int64_t cpu_nsec(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); /* cannot fail */
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int compare_times(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void measure(size_t count)
{
	struct neap_workload *workloads = neap_alloc_array(count, sizeof(*workloads));
	struct neap_record *record = neap_record_new(0, 0);
	struct neap_sample sample = {.workloads = workloads, .workload_count = count};
	int64_t times[BENCH_FRAMES], start;
	struct neap_tape *tape;

	assert_non_null(workloads);
	assert_non_null(record);
	for (int tick = 0; tick < BENCH_FRAMES; tick++) {
		for (size_t i = 0; i < count; i++) /* one pod goes, one comes a tick */
			usual_workload(&workloads[i], i + (size_t)tick, tick);
		start = cpu_nsec();
		neap_record_add(record, &sample);
		times[tick] = cpu_nsec() - start;
	}
	qsort(times, BENCH_FRAMES, sizeof(times[0]), compare_times);
	start = cpu_nsec();
	tape = neap_record_share(record);
	start = cpu_nsec() - start;
	print_message(
		"# %zu workloads: add %lld us (median; %lld slowest), %zu frames in "
		"%zu KiB, share %lld us\n",
		count, (long long)times[BENCH_FRAMES / 2] / 1000,
		(long long)times[BENCH_FRAMES - 1] / 1000, neap_record_count(record),
		neap_record_bytes(record) / 1024, (long long)start / 1000);
	assert_true(neap_record_bytes(record) <= NEAP_RECORD_BYTES);
	(void)neap_tape_unref(tape);
	neap_record_free(record);
	free(workloads);
}

static void test_cost(void **state)
{
	(void)state;
	measure(10);
	measure(250);
}

/* --- two threads --- */

static void *read_tape(void *arg)
{
	struct neap_tape *tape = arg;

	for (size_t i = 0; i < neap_tape_count(tape); i++) {
		struct neap_sample sample;

		if (neap_tape_get(tape, i, &sample, NULL) == 0)
			neap_tape_forget(&sample);
	}
	return neap_tape_unref(tape);
}

/* The recorder goes on and drops what the other thread still reads. */
static void test_threads(void **state)
{
	struct neap_record *record = neap_record_new(60000, 20);

	(void)state;
	open_topology();
	for (uint64_t i = 0; i < 20; i++)
		add(record, 4, i);
	for (uint64_t round = 0; round < 20; round++) {
		struct neap_tape *tape = neap_record_share(record);
		pthread_t reader;

		assert_non_null(tape);
		assert_int_equal(
			pthread_create(&reader, NULL, read_tape, neap_tape_ref(tape)), 0);
		for (uint64_t i = 0; i < 25; i++)
			add(record, 4, round * 25 + i);
		(void)neap_tape_unref(tape);
		assert_int_equal(pthread_join(reader, NULL), 0);
	}
	neap_record_free(record);
	close_topology();
}

static void test_torture(void **state)
{
	(void)state;
	open_topology();
	for (uint64_t n = 1; n < 60; n++) {
		struct neap_record *record = neap_record_new(0, 4);
		struct neap_tape *tape;
		struct neap_sample sample;
		struct neap_error err;

		assert_non_null(record);
		add(record, 3, 1);
		make_sample(&sample, 6, 2);
		neap_mem_fail_at(n);
		neap_record_add(record, &sample);
		tape = neap_record_share(record);
		neap_mem_fail_at(0);
		free(sample.workloads);
		if (tape) {
			struct neap_sample got;

			check_frame(tape, 0, 3, 1); /* what was there is untouched */
			neap_mem_fail_at(1);
			assert_int_equal(neap_tape_get(tape, 0, &got, &err),
					 -NEAP_ENOMEM);
			neap_mem_fail_at(0);
		}
		(void)neap_tape_unref(tape);
		neap_record_free(record);
	}
	close_topology();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_bounds),     cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_cost),       cmocka_unit_test(test_threads),
		cmocka_unit_test(test_torture),
	};

	patience_with_scripts();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
