/* SPDX-License-Identifier: Apache-2.0
 *
 * Container logs over HTTP: GET pods/NAME/log, with the parameters of "kubectl logs". */
#ifndef NEAP_API_KUBE_LOG_LOG_H
#define NEAP_API_KUBE_LOG_LOG_H

#include "api/kube/kube.h"

struct call;
struct kube_logs;

/* Open answers, followers or not; more are refused (429). */
#define NEAP_KUBE_LOGS_MAX 256
/* Interval of checks for new output for followers. */
#define NEAP_KUBE_LOGS_MSEC 250

/* Serves pods/NAME/log from dir, the keeper's directory (hw/keeper/keeper.h), which must
 * exist; before this call the answer is 404. Call once. */
int neap_kube_logs_set(struct neap_kube *kube, const char *dir, struct neap_error *err);

/* GET of pods/NAME/log. -1 with call->failure. */
int call_log(struct call *call);
/* Ends all open log answers. Accepts NULL. */
void kube_logs_free(struct kube_logs *logs);

#endif
