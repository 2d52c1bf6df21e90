/* SPDX-License-Identifier: Apache-2.0
 *
 * Deleting, as the two files share it: delete.c has one object, delete_many.c a collection. */
#ifndef NEAP_API_KUBE_DELETE_PRIV_H
#define NEAP_API_KUBE_DELETE_PRIV_H

#include "api/kube/kube_priv.h"

enum propagation { BACKGROUND, ORPHAN, FOREGROUND };

struct wish {
	json_t *options;
	int64_t grace_s; /* -1: none said */
	enum propagation propagation;
};

/* What the body and the query say. wish->options is the caller's to free, also after a failure: -1 with
 * call->failure. */
int remove_parse(struct call *call, struct wish *ret);
/* -1 with call->failure: the wish is not for this one, by its uid or version. */
int remove_check(struct call *call, const struct wish *wish,
		 const struct neap_object *object);
/* tree: the newest state, given away. */
void remove_take(struct call *call, const struct wish *wish, json_t *tree,
		 const struct neap_object *newest, int status);

#endif
