/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/patience.h"

#include <stdlib.h>

#include "lua/vm/budget.h"

__attribute__((constructor)) static void wait_longer(void)
{
	neap_budget_set_walls(100 * NEAP_BUDGET_WALLS);
}

void patience_with_scripts(void)
{
	(void)setenv("NEAP_SLOWNESS", "100", 0);
}
