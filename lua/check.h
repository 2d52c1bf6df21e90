/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl policy check FILE`: everything that a load would do, with nothing at stake. */
#ifndef NEAP_LUA_CHECK_H
#define NEAP_LUA_CHECK_H

#include <stdio.h>

/* Loads the file, runs its examples, and prints one line per example and per problem ("file:line:
 * what"). Returns the number of problems. */
int neap_policy_check(const char *file, FILE *out);

#endif
