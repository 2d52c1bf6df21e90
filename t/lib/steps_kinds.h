/* SPDX-License-Identifier: Apache-2.0
 *
 * What policies of the kinds score, filter and reservation return is read by C, too:
 * each place of a result with each value of t/lib/steps_rows in it, as often as the
 * place takes it, with metatables and in ctx.memo. A step is the CPU time of an answer
 * beyond the budget of its call. */
#ifndef NEAP_T_STEPS_KINDS_H
#define NEAP_T_STEPS_KINDS_H

#include "t/lib/steps.h"

/* Adds to *ret. is_long: each place with each value, else a third of them; the seed says
 * which. */
void steps_kinds_run(unsigned seed, bool is_long, struct steps *ret);

#endif
