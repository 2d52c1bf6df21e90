/* SPDX-License-Identifier: Apache-2.0
 *
 * Deletion, shared by delete.c (one object) and delete_many.c (a collection). */
#ifndef NEAP_API_KUBE_WRITE_DELETE_PRIV_H
#define NEAP_API_KUBE_WRITE_DELETE_PRIV_H

#include "api/kube/request/call.h"

enum propagation { BACKGROUND, ORPHAN, FOREGROUND };

struct wish {
	json_t *options;
	int64_t grace_s; /* -1: none said */
	enum propagation propagation;
};

/* Parses body and query. The caller frees wish->options, even after a failure: -1 with
 * call->failure. */
int remove_parse(struct call *call, struct wish *ret);
/* -1 with call->failure: the preconditions (uid, version) exclude this object. */
int remove_check(struct call *call, const struct wish *wish,
		 const struct neap_object *object);
/* Deletes an object that passed remove_check. -1 with call->failure. */
int remove_checked(struct call *call, const struct wish *wish,
		   const struct neap_object *newest, int status);

#endif
