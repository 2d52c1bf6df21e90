/* SPDX-License-Identifier: Apache-2.0
 *
 * Leases on the server of the rig: who leads when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/remote/lease.h"
#include "engine/base/clock.h"
#include "engine/log/log.h"
#include "t/lib/kube_rig.h"
#include "t/lib/patience.h"

#define LEASES   "/apis/coordination.k8s.io/v1/namespaces/default/leases"
#define DURATION (2 * INT64_C(1000000))
#define RENEW    (1 * INT64_C(1000000))
#define RETRY    (INT64_C(100000))

static const struct neap_log quiet = {.fd = STDERR_FILENO, .level = NEAP_LOG_ERROR};

/* Of the first one: how far its clock is before the machine's. */
static int64_t ahead;

struct one {
	struct neap_transport *transport;
	struct neap_lease *lease;
	bool is_leading;
	int begun;
	int64_t began_usec;
};

static struct one ones[2];
static int leaders, leaders_most;

static int64_t jumping(void)
{
	return neap_clock_steady() + ahead;
}

static void began(void *arg)
{
	struct one *one = arg;

	assert_false(one->is_leading);
	one->is_leading = true;
	one->begun++;
	one->began_usec = neap_clock_steady();
	leaders++;
	leaders_most = leaders > leaders_most ? leaders : leaders_most;
}

static void ended(void *arg, const char *why)
{
	struct one *one = arg;

	assert_true(one->is_leading);
	assert_true(*why);
	one->is_leading = false;
	leaders--;
}

static void start(struct kube_rig *rig, int which, const char *identity)
{
	struct one *one = &ones[which];
	char url[64];
	const struct neap_transport_config transport = {
		.base = rig->base, .url = url, .log = &quiet};
	const struct neap_transport_keys keys = {.token = "secret"};
	struct neap_lease_config config = {.base = rig->base,
					   .ns = "default",
					   .name = "it",
					   .identity = identity,
					   .manager = "test",
					   .duration_usec = DURATION,
					   .renew_usec = RENEW,
					   .retry_usec = RETRY,
					   .steady = which == 0 ? jumping : NULL,
					   .began = began,
					   .ended = ended,
					   .arg = one,
					   .log = &quiet};
	struct neap_error err = {0};

	*one = (struct one){0};
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%d", rig->port);
	assert_int_equal(neap_transport_setup(&err), 0);
	assert_int_equal(neap_transport_new(&transport, &one->transport, &err), 0);
	assert_int_equal(neap_transport_set_keys(one->transport, &keys, &err), 0);
	config.transport = one->transport;
	assert_int_equal(neap_lease_new(&config, &one->lease, &err), 0);
}

static void stop(int which)
{
	leaders -= ones[which].is_leading;
	neap_lease_free(ones[which].lease);
	neap_transport_free(ones[which].transport);
	ones[which] = (struct one){0};
}

static int setup(void **state)
{
	ahead = 0;
	leaders = leaders_most = 0;
	return kube_rig_setup(state);
}

static int teardown(void **state)
{
	stop(0);
	stop(1);
	return kube_rig_teardown(state);
}

static const char *holder(struct kube_rig *rig)
{
	assert_int_equal(kube_ask(rig, "GET " LEASES "/it", NULL), 200);
	return kube_text(rig->body, "spec.holderIdentity");
}

/* One leads, the other follows; without a word from the first one the second one waits as
 * long as the Lease lasts. */
static void test_takes_over(void **state)
{
	struct kube_rig *rig = *state;
	int64_t last;

	start(rig, 0, "a");
	assert_true(comes_true_in(rig->base, ones[0].is_leading));
	assert_string_equal(holder(rig), "a");
	assert_int_equal(
		json_integer_value(kube_at(rig->body, "spec.leaseDurationSeconds")), 2);
	assert_int_equal(json_integer_value(kube_at(rig->body, "spec.leaseTransitions")),
			 0);
	start(rig, 1, "b");
	kube_run(rig, 500);
	assert_false(ones[1].is_leading);
	assert_true(neap_lease_is_held(ones[0].lease));
	assert_string_equal(neap_lease_holder(ones[1].lease), "a");
	stop(0);
	last = neap_clock_steady();
	assert_true(comes_true_in(rig->base, ones[1].is_leading));
	/* Its last renewal was at most a retry before, and may have been seen as late. */
	assert_true(ones[1].began_usec - last >= DURATION - RETRY - RENEW);
	assert_string_equal(holder(rig), "b");
	assert_int_equal(json_integer_value(kube_at(rig->body, "spec.leaseTransitions")),
			 1);
	assert_int_equal(leaders_most, 1);
}

static void done(void *arg)
{
	*(bool *)arg = true;
}

static void test_released(void **state)
{
	struct kube_rig *rig = *state;
	bool is_done = false;

	start(rig, 0, "a");
	assert_true(comes_true_in(rig->base, ones[0].is_leading));
	neap_lease_release(ones[0].lease, done, &is_done);
	assert_false(neap_lease_is_held(ones[0].lease));
	assert_true(comes_true_in(rig->base, is_done));
	assert_string_equal(holder(rig), "");
	stop(0);
	start(rig, 1, "b");
	assert_true(comes_true_in(rig->base, ones[1].is_leading));
}

/* Whoever stood still for longer than it may holds nothing any more, before it is told
 * so. */
static void test_stood_still(void **state)
{
	struct kube_rig *rig = *state;

	start(rig, 0, "a");
	assert_true(comes_true_in(rig->base, ones[0].is_leading));
	assert_true(neap_lease_is_held(ones[0].lease));
	ahead = RENEW;
	assert_true(ones[0].is_leading);
	assert_false(neap_lease_is_held(ones[0].lease));
}

/* Somebody else wrote it: that one leads, whatever was believed. */
static void test_taken_away(void **state)
{
	struct kube_rig *rig = *state;

	start(rig, 0, "a");
	assert_true(comes_true_in(rig->base, ones[0].is_leading));
	assert_int_equal(kube_ask(rig, "MERGE " LEASES "/it",
				  "{'spec':{'holderIdentity':'c',"
				  "'leaseDurationSeconds':86400}}"),
			 200);
	assert_true(comes_true_in(rig->base, !ones[0].is_leading));
	kube_run(rig, 300);
	assert_false(ones[0].is_leading);
	assert_string_equal(holder(rig), "c");
	/* ... until it gives it up. */
	assert_int_equal(
		kube_ask(rig, "MERGE " LEASES "/it", "{'spec':{'holderIdentity':''}}"),
		200);
	assert_true(comes_true_in(rig->base, ones[0].is_leading));
	assert_int_equal(ones[0].begun, 2);
	/* A Lease that is deleted is made again. */
	assert_int_equal(kube_ask(rig, "DELETE " LEASES "/it", NULL), 200);
	kube_until(rig,
		   &(struct kube_step){
			   "GET " LEASES "/it", NULL, 200, {"spec.holderIdentity=a"}});
}

static void test_times(void **state)
{
	static const int64_t times[][3] = {
		{10, 10, 2}, {15, 10, 9}, {15, 10, 0}, {5, 10, 2}};
	struct neap_lease_config config = {.ns = "a", .name = "b", .identity = "c"};
	struct neap_lease *lease;
	struct neap_error err;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(times); i++) {
		config.duration_usec = times[i][0];
		config.renew_usec = times[i][1];
		config.retry_usec = times[i][2];
		assert_int_equal(neap_lease_new(&config, &lease, &err), -NEAP_EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_takes_over, setup, teardown),
		cmocka_unit_test_setup_teardown(test_released, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stood_still, setup, teardown),
		cmocka_unit_test_setup_teardown(test_taken_away, setup, teardown),
		cmocka_unit_test(test_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
