/* SPDX-License-Identifier: Apache-2.0
 *
 * A call with JSON: arguments and results are plain data. */
#ifndef NEAP_LUA_MIGRATE_PLAIN_CALL_H
#define NEAP_LUA_MIGRATE_PLAIN_CALL_H

#include "lua/call/policy_priv.h"

#define NEAP_PLAIN_ARGS 2

/* Calls the policy's function name with ctx and args (NULL-terminated). *ret: a list of
 * its results, at most 2; a missing one is null. 0, or -code: NEAP_EINVAL also for a
 * result that is not plain data, with *ret_is_wrong. */
int neap_plain_call(struct neap_policy *policy, const char *name,
		    const json_t *const args[NEAP_PLAIN_ARGS], int64_t now_unix,
		    json_t **ret, bool *ret_is_wrong, struct neap_error *err);

#endif
