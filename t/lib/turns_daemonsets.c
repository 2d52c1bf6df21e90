/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/workload/daemonset/daemonsets_priv.h"
#include "t/lib/turns_rig.h"

static struct neap_daemonsets *running;

void begin_daemonsets(const struct neap_workload_config *config)
{
	assert_int_equal(neap_daemonsets_new(config, &running, NULL), 0);
}

void end_daemonsets(int64_t *ret_all, int64_t *ret_most)
{
	*ret_all = neap_feed_all_steps(running->feed);
	*ret_most = neap_feed_most_steps(running->feed);
	neap_daemonsets_free(running);
}
