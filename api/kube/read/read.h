/* SPDX-License-Identifier: Apache-2.0
 *
 * The verbs that read and watch. Each answers, now or later, and returns 0; or -1 with
 * call->failure. */
#ifndef NEAP_API_KUBE_READ_READ_H
#define NEAP_API_KUBE_READ_READ_H

#include "api/kube/request/call.h"

int call_get(struct call *call);
int call_list(struct call *call);
int call_watch(struct call *call);
/* computed_lists.c: lists a kind whose objects are computed on request. */
int call_make(struct call *call);
/* Sends count objects as in list.c, as of a place, as one page of a list that may
 * have more. */
int call_answer_page_take(struct call *call, const struct neap_store_place *place,
			  bool has_more, struct neap_object **objects, size_t count);
/* Fails for a version in the future. */
int call_check_version(struct call *call, int64_t version);
/* Checks resourceVersionMatch and its combination with other parameters. */
int call_check_match(struct call *call, bool is_watch);

/* Ends a watch from outside. */
void call_watch_end(struct watcher *watcher);
/* ... all watches of a kind that is no longer served, or differently; clients list and
 * watch again. */
void kube_watch_end(struct neap_kube *kube, const struct neap_kube_kind *kind);
/* document.c: /openapi/v2. */
void kube_document(struct neap_kube *kube, struct neap_http_request *request);

#endif
