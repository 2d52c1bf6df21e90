/* SPDX-License-Identifier: Apache-2.0
 *
 * What pods say of their CPUs: bands, words, and annotations of any form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/numa/cpu_policy.h"
#include "t/lib/patience.h"

static void test_bands(void **state)
{
	static const struct {
		const char *label;
		int32_t priority; /* -1: none */
		enum neap_qos qos;
		enum neap_kube_qos kube_qos;
		enum neap_band said, wanted;
	} table[] = {
		{"koord-mid", 9500, NEAP_QOS_LSR, 0, NEAP_BAND_MID, NEAP_BAND_MID},
		{"other", 5999, NEAP_QOS_NONE, 0, NEAP_BAND_NONE, NEAP_BAND_PROD},
		{NULL, 3000, NEAP_QOS_NONE, 0, NEAP_BAND_FREE, NEAP_BAND_FREE},
		{NULL, 9999, NEAP_QOS_BE, 0, NEAP_BAND_PROD, NEAP_BAND_PROD},
		{NULL, 10000, NEAP_QOS_LSR, 0, NEAP_BAND_NONE, NEAP_BAND_PROD},
		{NULL, 0, NEAP_QOS_BE, 0, NEAP_BAND_NONE, NEAP_BAND_BATCH},
		{NULL, -1, NEAP_QOS_NONE, NEAP_KUBE_BESTEFFORT, NEAP_BAND_NONE,
		 NEAP_BAND_BATCH},
		{NULL, -1, NEAP_QOS_NONE, NEAP_KUBE_BURSTABLE, NEAP_BAND_NONE,
		 NEAP_BAND_PROD},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(table); i++) {
		const int32_t *priority =
			table[i].priority >= 0 ? &table[i].priority : NULL;
		enum neap_band said = neap_band_said(table[i].label, priority);
		enum neap_band got = neap_band_of(table[i].label, priority, table[i].qos,
						  table[i].kube_qos);

		if (said != table[i].said || got != table[i].wanted)
			fail_msg("row %zu: %d, %d", i, (int)said, (int)got);
	}
}

static void test_wishes(void **state)
{
	static const struct {
		const char *spec, *numa;
		int64_t milli;
		int wanted;
		bool is_binding;
		enum neap_numa_exclusive exclusive;
	} table[] = {
		{NULL, NULL, 2000, 0, true, NEAP_NUMA_EXCLUSIVE_NONE},
		{"{}", "{\"numaTopologyPolicy\": \"Restricted\"}", 2000, 0, true,
		 NEAP_NUMA_EXCLUSIVE_REQUIRED},
		{"{}",
		 "{\"numaTopologyPolicy\": \"Restricted\", \"singleNUMANodeExclusive\": "
		 "\"Preferred\"}",
		 2000, 0, true, NEAP_NUMA_EXCLUSIVE_PREFERRED},
		/* A word that is none is not the same as no word. */
		{"{}",
		 "{\"numaTopologyPolicy\": \"Restricted\", \"singleNUMANodeExclusive\": "
		 "\"preferred\"}",
		 2000, 0, true, NEAP_NUMA_EXCLUSIVE_NONE},
		{"{\"preferredCPUBindPolicy\": \"ConstrainedBurst\"}", NULL, 2500, 0,
		 false, NEAP_NUMA_EXCLUSIVE_NONE},
		{"{\"preferredCPUBindPolicy\": \"odd\", \"requiredCPUBindPolicy\": "
		 "\"SpreadByPCPUs\"}",
		 NULL, 2000, 0, true, NEAP_NUMA_EXCLUSIVE_NONE},
		{NULL, NULL, 2500, -NEAP_ENOFIT, false, NEAP_NUMA_EXCLUSIVE_NONE},
		{NULL, NULL, 0, 0, false, NEAP_NUMA_EXCLUSIVE_NONE},
		{"", NULL, 2000, -NEAP_EINVAL, false, NEAP_NUMA_EXCLUSIVE_NONE},
		{"[]", NULL, 2000, -NEAP_EINVAL, false, NEAP_NUMA_EXCLUSIVE_NONE},
		{"{\"requiredCPUBindPolicy\": 5}", NULL, 2000, -NEAP_EINVAL, false,
		 NEAP_NUMA_EXCLUSIVE_NONE},
		{NULL, "{", 2000, -NEAP_EINVAL, false, NEAP_NUMA_EXCLUSIVE_NONE},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(table); i++) {
		struct neap_cpu_wish_from from = {.qos = NEAP_QOS_LSE,
						  .band = NEAP_BAND_PROD,
						  .resource_spec = table[i].spec,
						  .numa_spec = table[i].numa,
						  .cpu_milli = table[i].milli,
						  .default_bind = NEAP_BIND_FULL_PCPUS};
		struct neap_cpu_wish wish;
		struct neap_error err;
		int got = neap_cpu_wishes_make(&from, &from.default_bind, 1, &wish, &err);

		if (got != table[i].wanted ||
		    (got == 0 && (wish.is_binding != table[i].is_binding ||
				  wish.numa_exclusive != table[i].exclusive)))
			fail_msg("row %zu: %d", i, got);
	}
}

/* A policy of the node is written where the pod says nothing. */
static void test_written(void **state)
{
	static const struct neap_cpu_choice choices[] = {
		{true, true, true, NEAP_BIND_SPREAD, 2, NEAP_NUMA_ANY},
		{true, false, false, NEAP_BIND_FULL_PCPUS, 2, NEAP_NUMA_ANY},
	};
	static const char *const wanted[] = {
		"{\"requiredCPUBindPolicy\": \"SpreadByPCPUs\"}",
		"{\"preferredCPUBindPolicy\": \"FullPCPUs\"}"};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(choices); i++) {
		json_t *spec = neap_cpu_spec_write(NULL, &choices[i]);
		char *text = json_dumps(spec, JSON_SORT_KEYS);

		assert_string_equal(text, wanted[i]);
		neap_cleanup_free(&text);
		json_decref(spec);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bands),
		cmocka_unit_test(test_wishes),
		cmocka_unit_test(test_written),
	};

	neap_json_setup();
	patience_with_scripts();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
