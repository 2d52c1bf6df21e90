/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens while others are at work. */
#include "t/lib/trace_races.h"

#include <sqlite3.h>

int trace_some(struct trace *trace, int count)
{
	return (int)trace_roll(trace, (uint32_t)count);
}

void trace_open(struct trace *trace, int nodes)
{
	for (int i = 0; i < nodes; i++)
		trace_add_node(trace, i);
	trace_settle(trace);
	trace_start_scheduler(trace, 0);
	trace_settle(trace);
}

void trace_add_burst(struct trace *trace, uint32_t most)
{
	for (uint32_t n = trace_roll(trace, most); n--;)
		trace_add_pod(trace);
	for (uint32_t n = trace_roll(trace, most / 2); trace->pod_count && n--;)
		trace_delete_pod(trace, trace_some(trace, trace->pod_count));
}

void trace_bring_node_back(struct trace *trace)
{
	if (trace->gone >= 0)
		trace_add_node(trace, trace->gone);
	trace->gone = -1;
}

void trace_replace_some(struct trace *trace, int chance)
{
	int recent = trace->pod_count - 1 - trace_some(trace, 20);

	if (recent > 0 && !trace_some(trace, chance)) {
		trace_touch_pod(trace, recent);
		trace_delete_pod(trace, recent - 1);
		trace_add_pod_again(trace, recent - 1);
	}
	trace_bring_node_back(trace);
	if (trace_some(trace, 4))
		return;
	trace->gone = trace_some(trace, trace->node_count);
	trace_delete_node(trace, trace->gone);
}

void trace_rest(struct trace *trace)
{
	trace_settle(trace);
	book_rest(trace->book);
}

void trace_fill_disk(struct trace *trace, struct crash_vfs *vfs)
{
	if (!trace_some(trace, 3))
		crash_vfs_fail(vfs, CRASH_WRITE, 1 + trace_roll(trace, 8), 1,
			       SQLITE_FULL);
}
