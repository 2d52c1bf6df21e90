/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods in operating mode Reservation: an annotation says who uses one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "t/lib/patience.h"
#include "t/lib/reservations_rig.h"

#define OPERATING                                                                        \
	"{'metadata':{'name':'room','labels':{"                                          \
	"'scheduling.koordinator.sh/operating-mode':'Reservation'},'annotations':{"      \
	"'scheduling.koordinator.sh/reservation-owners':'[{}]'}},'spec':{"               \
	"'nodeName':'n1','containers':[{'name':'c','image':'i'}]}}"

static void until_owner(struct reservations_rig *rig, const char *owner)
{
	static const char key[] = "scheduling.koordinator.sh/reservation-current-owner";
	char want[256];
	const char *is = NULL;

	for (int i = 0; i < PATIENCE_MS / 10; i++) {
		char uid[64] = "", ask[256];

		*want = '\0';
		if (owner) {
			(void)snprintf(ask, sizeof(ask), "GET " PODS "/%s", owner);
			(void)snprintf(
				want, sizeof(want),
				"{\"namespace\":\"default\",\"name\":\"%s\",\"uid\":\"%s\"}",
				owner, reservations_uid(rig, ask, uid));
		}
		reservations_must(rig, "GET " PODS "/room", NULL, 200);
		is = json_string_value(json_object_get(
			kube_at(rig->kube->body, "metadata.annotations"), key));
		if (owner ? is && strcmp(is, want) == 0 : !is)
			return;
		kube_run(rig->kube, 10);
	}
	fail_msg("%s is not %s", is ? is : "nobody", want);
}

static void test_operating(void **state)
{
	struct reservations_rig *rig = *state;
	char uid[64];

	reservations_must(rig, "POST " PODS, OPERATING, 201);
	reservations_uid(rig, "GET " PODS "/room", uid);
	reservations_pod(rig, "a", "n1", uid, 1);
	until_owner(rig, "a");
	reservations_must(rig, "DELETE " PODS "/a?gracePeriodSeconds=0", NULL, 200);
	until_owner(rig, NULL);
	/* It is told wrong things, and things happen while nobody looks. */
	reservations_pod(rig, "b", "n1", uid, 1);
	until_owner(rig, "b");
	reservations_must(rig, "MERGE " PODS "/room",
			  "{'metadata':{'annotations':{"
			  "'scheduling.koordinator.sh/reservation-current-owner':'{x'}}}",
			  200);
	until_owner(rig, "b");
	reservations_stop(rig);
	reservations_must(rig, "DELETE " PODS "/b?gracePeriodSeconds=0", NULL, 200);
	reservations_pod(rig, "c", "n1", uid, 1);
	reservations_start(rig);
	until_owner(rig, "c");
	reservations_move(rig, "c", "");
	until_owner(rig, NULL);
	reservations_pod(rig, "elsewhere", "n2", uid, 1);
	reservations_rest(rig);
	until_owner(rig, NULL);
}

/* One whose owners cannot be read says so. */
static void test_unusable(void **state)
{
	struct reservations_rig *rig = *state;
	const char *message;

	reservations_must(rig, "POST " PODS, OPERATING, 201);
	assert_int_equal(reservations_events(rig, "room", "Unusable", NULL), 0);
	for (int i = 0; i < 2; i++) {
		reservations_must(rig, "MERGE " PODS "/room",
				  i ? "{'metadata':{'labels':{'x':'y'}}}"
				    : "{'metadata':{'annotations':{"
				      "'scheduling.koordinator.sh/reservation-owners':"
				      "'[{'}}}",
				  200);
		assert_int_equal(reservations_events(rig, "room", "Unusable", &message),
				 1);
		assert_non_null(strstr(
			message,
			"annotation scheduling.koordinator.sh/reservation-owners: "));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_operating, reservations_setup,
						reservations_teardown),
		cmocka_unit_test_setup_teardown(test_unusable, reservations_setup,
						reservations_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
