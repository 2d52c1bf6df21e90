/* SPDX-License-Identifier: Apache-2.0
 *
 * Definitions that are in each other's way, in any order. NEAP_DECLARED_SEED=n
 * NEAP_DECLARED_STEPS=n for others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <event2/event.h>

#include "engine/base/mem.h"
#include "t/lib/declared_rig.h"
#include "t/lib/patience.h"

#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

/* Four definitions that want three kinds and three short names, in any order. */
static const struct {
	const char *name, *body[4];
} rivals[] = {
#define RIVAL(plural, singular)                                                          \
	{                                                                                \
		plural ".example.com",                                                   \
		{                                                                        \
			DEFINE(plural, "'kind':'A','singular':'" singular "'", "",       \
			       SIZE),                                                    \
				DEFINE(plural,                                           \
				       "'kind':'B','singular':'" singular                \
				       "','shortNames':['x','y']",                       \
				       "", SIZE),                                        \
				DEFINE(plural, "'kind':'C','singular':'x'", "",          \
				       "'color':{'type':'string'}"),                     \
				DEFINE(plural,                                           \
				       "'kind':'D" singular                              \
				       "','listKind':'BList','shortNames':['as','z']",   \
				       "", SIZE),                                        \
		}                                                                        \
	}
	RIVAL("as", "a"),
	RIVAL("bs", "b"),
	RIVAL("cs", "c"),
	RIVAL("ds", "d"),
};

static bool is_settled(struct kube_rig *rig, size_t i)
{
	char ask[256];
	bool is_there, is_established;

	(void)snprintf(ask, sizeof(ask), "GET " CRDS "/%s", rivals[i].name);
	is_there = kube_ask(rig, ask, NULL) == 200;
	if (is_there && kube_at(rig->body, "metadata.deletionTimestamp") != NULL)
		return false;
	is_established =
		is_there &&
		kube_differs(rig->body,
			     "status.conditions~" IS("Established", "True",
						     "InitialNamesAccepted")) == NULL;
	if (is_there && !is_established &&
	    kube_differs(
		    rig->body,
		    "status.conditions~\"status\":\"False\",\"type\":\"NamesAccepted\"") !=
		    NULL)
		return false;
	(void)snprintf(ask, sizeof(ask), "GET " GROUP "/namespaces/default/%.*s",
		       (int)strcspn(rivals[i].name, "."), rivals[i].name);
	return (kube_ask(rig, ask, NULL) == 200) == is_established;
}

static void settle(struct kube_rig *rig, unsigned step)
{
	for (size_t i = 0, tries = 0; i < NEAP_ARRAY_LEN(rivals);) {
		if (is_settled(rig, i)) {
			i++;
			continue;
		}
		kube_run(rig, 5);
		if (++tries == PATIENCE_MS / 5)
			fail_msg("step %u: %s is not settled", step, rivals[i].name);
	}
}

static unsigned next_random(unsigned *seed, unsigned below)
{
	*seed = *seed * 1103515245 + 12345;
	return (*seed >> 16) % below;
}

/* After every few of them, who is established is served and nobody else; in the end
 * nobody is left. */
static void test_any_order(void **state)
{
	const char *given = getenv("NEAP_DECLARED_SEED");
	const char *count = getenv("NEAP_DECLARED_STEPS");
	unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : 1;
	unsigned steps = count ? (unsigned)strtoul(count, NULL, 10) : 120;
	static const struct kube_step alone = {
		"GET " CRDS "/as.example.com",
		NULL,
		200,
		{"status.conditions~" IS("Established", "True", "InitialNamesAccepted"),
		 "status.conditions~" IS("NamesAccepted", "True", "NoConflicts")}};
	struct kube_rig *rig = *state;
	char ask[256];

	for (unsigned step = 0; step < steps; step++) {
		size_t i = next_random(&seed, NEAP_ARRAY_LEN(rivals));
		const char *body = rivals[i].body[next_random(&seed, 4)];

		switch (next_random(&seed, 4)) {
		case 0:
			(void)snprintf(ask, sizeof(ask), "DELETE " CRDS "/%s",
				       rivals[i].name);
			(void)kube_ask(rig, ask, NULL);
			break;
		case 1:
			(void)snprintf(ask, sizeof(ask), "PUT " CRDS "/%s",
				       rivals[i].name);
			(void)kube_ask(rig, ask, body);
			break;
		case 2:
			(void)snprintf(ask, sizeof(ask),
				       "POST " GROUP "/namespaces/default/%.*s",
				       (int)strcspn(rivals[i].name, "."), rivals[i].name);
			(void)kube_ask(rig, ask, "{'metadata':{'generateName':'o'}}");
			break;
		default:
			(void)kube_ask(rig, "POST " CRDS, body);
			break;
		}
		if (next_random(&seed, 3) == 0)
			settle(rig, step);
	}
	/* Who is alone in the end has all names. */
	settle(rig, steps);
	(void)kube_ask(rig, "POST " CRDS, rivals[0].body[3]);
	for (size_t i = NEAP_ARRAY_LEN(rivals); i-- > 0;) {
		if (i == 0)
			kube_until(rig, &alone);
		(void)snprintf(ask, sizeof(ask), "DELETE " CRDS "/%s", rivals[i].name);
		(void)kube_ask(rig, ask, NULL);
	}
	settle(rig, steps);
	assert_int_equal(kube_ask(rig, "GET /apis/example.com", NULL), 404);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rivals); i++)
		assert_int_equal(neap_store_count(rig->store.store, rivals[i].name), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(any_order)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
