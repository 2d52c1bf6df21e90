/* SPDX-License-Identifier: Apache-2.0
 *
 * What containers printed, over HTTP: GET pods/NAME/log, with the parameters that "kubectl logs" has. */
#ifndef NEAP_API_KUBE_LOG_LOG_H
#define NEAP_API_KUBE_LOG_LOG_H

#include "api/kube/kube.h"

/* Answers that are open at once, followers or not; more are refused (429). */
#define NEAP_KUBE_LOGS_MAX 256
/* How often it is looked whether there is more for followers. */
#define NEAP_KUBE_LOGS_MSEC 250

/* From now on pods/NAME/log is served from dir, the keeper's folder (hw/keeper/keeper.h), which must be there; until
 * then it is answered with 404. Once. */
int neap_kube_logs_set(struct neap_kube *kube, const char *dir, struct neap_error *err);

#endif
