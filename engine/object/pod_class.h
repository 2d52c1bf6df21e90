/* SPDX-License-Identifier: Apache-2.0
 *
 * Classification of a pod: its priority class and Koordinator QoS class, from its labels,
 * else from its priority and its containers' requests. The scheduler, the load report and
 * CPU placement all use this. */
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
/* label: koordinator.sh/priority-class, which wins when present; else the priority.
 * Either may be NULL. NONE: neither is set, or the label names no class. */
enum neap_band neap_band_said(const char *label, const int32_t *priority);
/* Falls back to what the QoS class implies; never NONE. */
enum neap_band neap_band_of(const char *label, const int32_t *priority, enum neap_qos qos,
			    enum neap_kube_qos kube_qos);

struct neap_pod_class {
	enum neap_band band;
	enum neap_qos qos; /* default LSR, LS or BE by the Kubernetes class */
	enum neap_kube_qos kube_qos;
};
/* Classifies a Pod object; neither band nor qos is NONE. */
struct neap_pod_class neap_pod_class_read(const json_t *pod);

#endif
