/* SPDX-License-Identifier: Apache-2.0
 *
 * What a pod counts as: its priority class and its QoS class of koordinator, which its labels say, or else its priority
 * and what its containers ask for. The same everywhere: who schedules, who reports what is used, who has CPUs. */
#ifndef NEAP_ENGINE_OBJECT_POD_CLASS_H
#define NEAP_ENGINE_OBJECT_POD_CLASS_H

#include <jansson.h>

#include "engine/machine/path.h"

enum neap_band {
	NEAP_BAND_NONE,
	NEAP_BAND_PROD,
	NEAP_BAND_MID,
	NEAP_BAND_BATCH,
	NEAP_BAND_FREE,
	NEAP_BAND_COUNT
};

const char *neap_band_name(enum neap_band band); /* "koord-prod"; "" for NONE */
/* label: koordinator.sh/priority-class, which alone counts when it is there; else the priority; either NULL: none. NONE:
 * nothing is said, or what is said is no class. */
enum neap_band neap_band_said(const char *label, const int32_t *priority);
/* When nothing is said, what the QoS stands for; never NONE. */
enum neap_band neap_band_of(const char *label, const int32_t *priority, enum neap_qos qos,
			    enum neap_kube_qos kube_qos);

struct neap_pod_class {
	enum neap_band band;
	enum neap_qos qos; /* not said: LSR, LS or BE by the class of Kubernetes */
};
/* Of a Pod object; neither is NONE. */
struct neap_pod_class neap_pod_class_read(const json_t *pod);

#endif
