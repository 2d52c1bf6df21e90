/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the commands cpus and explain: names in paths, and the picture of a machine's
 * CPUs. */
#ifndef NEAP_API_CTL_DRAW_CPUS_DRAW_H
#define NEAP_API_CTL_DRAW_CPUS_DRAW_H

#include <jansson.h>

#include "engine/base/buf.h"

/* Returns whether name has the form of Kubernetes names, so it needs no escape in a
 * path. */
bool neap_ctl_is_kube_name(const char *name);

/* Columns of a picture. */
#define NEAP_CPUS_COLUMNS 80
/* Draws the machine of a node from GET /control/v1/cpus: cores, who holds them, and a
 * legend. Escapes what could act on a terminal. Exported for tests. */
void neap_ctl_cpus_draw(const json_t *node, struct neap_buf *out);

#endif
