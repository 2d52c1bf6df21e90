/* SPDX-License-Identifier: Apache-2.0 */
#include "api/workload/loop/turn_steps.h"

#include "api/task/task.h"
#include "api/task/turns.h"
#include "engine/base/clock.h"

/* Steps between two checks of the clock; bytes of text that one step reads. */
#define CLOCK_STEPS 4000
#define STEP_BYTES  4

void neap_steps_begin(struct neap_steps *steps, const struct neap_tasks *tasks)
{
	int64_t usec = neap_turn_share(neap_tasks_base(tasks), NEAP_STEPS_USEC);

	steps->until = neap_clock_steady() + usec;
	steps->left = NEAP_STEPS * usec / NEAP_STEPS_USEC;
	steps->taken = 0;
	steps->clock_at = steps->left - CLOCK_STEPS;
}

/* A slow machine gets fewer steps per turn. */
void neap_steps_spend(struct neap_steps *steps, int64_t count)
{
	steps->left -= count;
	steps->taken += count;
	steps->all += count;
	if (steps->taken > steps->most)
		steps->most = steps->taken;
	if (steps->left > steps->clock_at)
		return;
	steps->clock_at = steps->left - CLOCK_STEPS;
	if (neap_clock_steady() >= steps->until)
		steps->left = 0;
}

bool neap_steps_has(const struct neap_steps *steps)
{
	return steps->left > 0;
}

int64_t neap_steps_of_text(const struct neap_object *object)
{
	return 1 + object->text_len / STEP_BYTES;
}

int64_t neap_steps_of_write(const struct neap_object *object)
{
	return NEAP_STEPS_WRITE_ANY + NEAP_STEPS_WRITE * neap_steps_of_text(object);
}
