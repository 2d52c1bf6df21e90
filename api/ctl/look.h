/* SPDX-License-Identifier: Apache-2.0
 *
 * What cpus and explain share: names in paths, and the picture of a machine's CPUs. */
#ifndef NEAP_API_CTL_LOOK_H
#define NEAP_API_CTL_LOOK_H

#include <jansson.h>

#include "engine/base/buf.h"

/* Whether it is spelled as Kubernetes spells names: nothing of it needs an escape in a path. */
bool neap_ctl_is_kube_name(const char *name);

/* Columns of a picture. */
#define NEAP_CPUS_COLUMNS 80
/* The machine that a node of GET /control/v1/cpus describes: cores and who has them, and a legend. Clean of what could act on
 * a terminal. Exported for tests. */
void neap_ctl_cpus_draw(const json_t *node, struct neap_buf *out);

#endif
