/* SPDX-License-Identifier: Apache-2.0
 *
 * What a pod says of itself counts instead of what its containers say, also of what a
 * record tells to a later neapd; and its name in the audit. Over files as cgroup v1
 * and v2 have them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/pods_rig.h"

#define NONE   NEAP_MISSING
#define MIB    (1024 * 1024LL)
#define SHARES NEAP_KEY_CPU_SHARES
#define QUOTA  NEAP_KEY_CPU_MAX_MILLI
#define MEMORY NEAP_KEY_MEMORY_MAX_BYTES

static const struct neap_node_container containers[] = {
	{"web", 500, 1000, 64 * MIB, NONE},
	{"side", 250, 500, 32 * MIB, NONE},
};

#define POD(uid, count, ...)                                                             \
	{                                                                                \
		uid, "default", uid, NEAP_QOS_NONE, NEAP_KUBE_BURSTABLE, containers,     \
			count, .whole = {                                                \
				NULL,                                                    \
				__VA_ARGS__,                                             \
				NONE                                                     \
			}                                                                \
	}

static const struct row {
	struct neap_node_pod pod;
	const char *group;
	int64_t shares, quota, memory;
} rows[] = {
	{POD("u-all", 2, 2000, 3000, 512 * MIB), "burstable/podu-all", 2048, 3000,
	 512 * MIB},
	{POD("u-memory", 2, 0, NONE, 512 * MIB), "burstable/podu-memory", 768, 1500,
	 512 * MIB},
	{POD("u-none", 2, NONE, NONE, NONE), "burstable/podu-none", 768, 1500, 96 * MIB},
};

static void check_rows(struct pods_rig *rig)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const struct {
			enum neap_key key;
			int64_t want;
		} values[] = {{SHARES, rows[i].shares},
			      {QUOTA, rows[i].quota},
			      {MEMORY, rows[i].memory}};

		for (size_t k = 0; k < NEAP_ARRAY_LEN(values); k++) {
			const char *is;

			if (!pods_has(rig, rows[i].group, values[k].key, values[k].want,
				      &is))
				fail_msg("%s %s is %s", rows[i].group,
					 neap_key_get(values[k].key)->name, is);
		}
	}
}

/* The audit has the name of the pod, also of what is written before the first look
 * finds the group. */
static void check_names(struct pods_rig *rig)
{
	const struct neap_audit *audit = neap_node_audit(rig->node);
	const struct neap_audit_entry *entry;
	size_t named = 0;

	for (uint64_t seq = 1; (entry = neap_audit_find_from(audit, seq)) != NULL;
	     seq = entry->seq + 1) {
		const char *uid = strstr(entry->group, "/podu-");
		char name[80];

		if (uid == NULL)
			continue;
		uid += strlen("/pod");
		(void)snprintf(name, sizeof(name), "default/%.*s", (int)strcspn(uid, "/"),
			       uid);
		if (strcmp(entry->pod, name) != 0)
			fail_msg("%s %s: '%s'", entry->group, entry->key, entry->pod);
		named++;
	}
	assert_true(named > 0);
}

static void whole(void **state)
{
	const char *why = "";
	struct pods_rig *rig = pods_rig_new(*(const enum pods_kind *)*state, &why);
	struct pods_outcome outcome;

	if (!rig) {
		print_message("SKIP %s\n", why);
		skip();
	}
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		if (pods_add(rig, &rows[i].pod, &outcome) != NEAP_OK)
			fail_msg("%s", outcome.err.msg);
		(void)pods_process(rig, rows[i].pod.uid, "web", &outcome);
	}
	check_rows(rig);
	check_names(rig);
	pods_rig_restart(rig);
	pods_rig_open(rig);
	for (int i = 0; i < 5; i++)
		pods_tick(rig, 2);
	check_rows(rig);
	pods_rig_free(rig);
}

int main(void)
{
	static enum pods_kind kinds[] = {PODS_V1, PODS_V2};
	const struct CMUnitTest tests[] = {
		{"whole, v1 files", whole, NULL, NULL, &kinds[0]},
		{"whole, v2 files", whole, NULL, NULL, &kinds[1]},
	};

	return cmocka_run_group_tests_name("pods_whole", tests, NULL, NULL);
}
