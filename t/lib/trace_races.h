/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces (trace_rig.h) of several who bind: what happens to them meanwhile. */
#ifndef NEAP_T_LIB_TRACE_RACES_H
#define NEAP_T_LIB_TRACE_RACES_H

#include "t/lib/crash_vfs.h"
#include "t/lib/trace_rig.h"

/* trace_roll of an int. */
int trace_some(struct trace *trace, int count);
/* So many nodes, and a scheduler that knows of them. */
void trace_open(struct trace *trace, int nodes);
/* Fewer pods than most come, and up to half as many go. */
void trace_add_burst(struct trace *trace, uint32_t most);
/* By chance, one of so many times: a pod changes, and another is replaced by one of its
 * name. A node goes perhaps; the one that went before comes back. */
void trace_replace_some(struct trace *trace, int chance);
void trace_bring_node_back(struct trace *trace);
/* By chance, one of the next writes finds the disk full. */
void trace_fill_disk(struct trace *trace, struct crash_vfs *vfs);
/* Settles; whoever was excused before is no more. */
void trace_rest(struct trace *trace);

#endif
