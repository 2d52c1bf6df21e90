/* SPDX-License-Identifier: Apache-2.0
 *
 * Workloads: readiness, completions and durations. */
#include <inttypes.h>

#include "api/kube/print/cells_priv.h"
#include "api/kube/print/table.h"

void neap_kube_put_ready(struct neap_kube_row *row, const struct neap_kube_column *column)
{
	(void)column;
	neap_kube_row_ratio(row,
			    neap_kube_cell_int(row->object, "status.readyReplicas", 0),
			    neap_kube_cell_int(row->object, "spec.replicas", 1));
}

/* Only here an empty selector prints as nothing. */
void neap_kube_put_deployment_selector(struct neap_kube_row *row,
				       const struct neap_kube_column *column)
{
	bool is_valid;

	(void)column;
	neap_kube_cell_selector(neap_kube_cell_get(row->object, "spec.selector"),
				&row->buf, &is_valid);
	if (!is_valid)
		neap_buf_adds(&row->buf, "<invalid>");
	neap_kube_row_buf(row);
}

/* Without completions a job needs one pod to succeed, whichever. */
void neap_kube_put_completions(struct neap_kube_row *row,
			       const struct neap_kube_column *column)
{
	int64_t done = neap_kube_cell_int(row->object, "status.succeeded", 0);
	int64_t wanted = neap_kube_cell_int(row->object, "spec.completions", -1);
	int64_t beside = neap_kube_cell_int(row->object, "spec.parallelism", 0);

	(void)column;
	if (wanted >= 0) {
		neap_kube_row_ratio(row, done, wanted);
		return;
	}
	neap_buf_addf(&row->buf, "%" PRId64 "/1", done);
	if (beside > 1)
		neap_buf_addf(&row->buf, " of %" PRId64, beside);
	neap_kube_row_buf(row);
}

void neap_kube_put_duration(struct neap_kube_row *row,
			    const struct neap_kube_column *column)
{
	int64_t start = neap_kube_cell_time(row->object, "status.startTime");
	int64_t end = neap_kube_cell_time(row->object, "status.completionTime");
	char age[24];

	(void)column;
	if (start == NEAP_MISSING)
		neap_kube_row_text(row, "");
	else
		neap_kube_row_text(
			row, neap_kube_age(start, end != NEAP_MISSING ? end : row->now,
					   age, sizeof(age)));
}
