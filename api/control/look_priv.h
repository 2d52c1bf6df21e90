/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of api/control/look. Functions that return JSON: a new reference,
 * NULL without memory. */
#ifndef NEAP_API_CONTROL_LOOK_PRIV_H
#define NEAP_API_CONTROL_LOOK_PRIV_H

#include "api/control/control.h"
#include "engine/decide/decide.h"

/* --- look_cpus.c --- */

/* Adds the member warning when part of the node could not be read. */
void look_add_warning(json_t *row, const struct neap_cluster_node *node);
/* One node; is_summary: without its CPUs and pods. */
json_t *look_cpus_json(const struct neap_look_view *view,
		       const struct neap_cluster_node *node, bool is_summary);
/* Writes the CPUs that a placed pod holds, as a list; "": no exclusive CPUs. */
void look_pod_cpus(const struct neap_look_view *view, const struct neap_pod *pod,
		   char *buf, size_t size);

/* --- look_explain.c --- */

struct look_ask {
	const char *node; /* restricts the answer to one node; NULL: all */
	size_t from, limit;
};
/* *ret; 0, or -code. */
int look_explain_json(const struct neap_look_view *view, struct neap_pod *pod,
		      const struct look_ask *ask, json_t **ret, struct neap_error *err);

#endif
