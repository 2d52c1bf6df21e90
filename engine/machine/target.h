/* SPDX-License-Identifier: Apache-2.0
 *
 * Targets of a policy's wishes: "besteffort", "besteffort.pods", "besteffort.containers",
 * the same for burstable, and "workload:ID". */
#ifndef NEAP_ENGINE_MACHINE_TARGET_H
#define NEAP_ENGINE_MACHINE_TARGET_H

#include "engine/machine/path.h"

enum neap_scope {
	NEAP_SCOPE_CLASS,
	NEAP_SCOPE_PODS,
	NEAP_SCOPE_CONTAINERS,
	NEAP_SCOPE_WORKLOAD,
};

struct neap_target {
	enum neap_scope scope;
	enum neap_kube_qos qos; /* unused for a workload */
	const char *id;         /* of a workload: points into the text */
};

/* Checks the form only; whether the target exists now is another question, because a pod
 * may have ended. */
bool neap_target_parse(const char *text, struct neap_target *ret, struct neap_error *err);

#endif
