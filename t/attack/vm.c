/* SPDX-License-Identifier: Apache-2.0
 *
 * No Lua text holds its thread: the longest step of a generated corpus (t/lib/steps)
 * that nothing interrupts is at most 50 ms of CPU time. A slow machine is measured by
 * a step that is known, and gets as much more; what a virtual one waits for its host
 * counts as CPU time, and does not come at the same step again. STEPS_SEED: of the
 * short form's choice (1). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "t/lib/steps.h"
#include "t/lib/steps_kinds.h"

#define STEP_USEC    50000
#define TRIES        3
#define MEASURE_USEC 24000 /* on the machine of the figures */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOWNESS 20
#else
#define SLOWNESS 1
#endif

static void test_steps(void **state)
{
	const char *text = getenv("STEPS_SEED"), *is_long = getenv("CHAOS_LONG");
	int64_t measure = steps_measure_usec(), bound = (int64_t)STEP_USEC * SLOWNESS;
	unsigned seed = text ? (unsigned)strtoul(text, NULL, 10) : 1;
	struct steps steps;

	(void)state;
	if (measure > MEASURE_USEC)
		bound = bound * measure / MEASURE_USEC;
	for (int n = 0; n < TRIES; n++) {
		steps_run(seed, is_long && *is_long, &steps);
		steps_kinds_run(seed, is_long && *is_long, &steps);
		print_message("# %d runs, bound %lld us\n", steps.runs, (long long)bound);
		for (int i = 0; i < STEPS_LONGEST; i++)
			print_message("# %lld us: %s\n", (long long)steps.longest[i].usec,
				      steps.longest[i].name);
		if (steps.longest[0].usec <= bound)
			break;
	}
	assert_true(steps.runs > 300);
	assert_true(steps.longest[0].usec <= bound);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
