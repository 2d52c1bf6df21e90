/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that make the cells of built-in kinds, for the columns in
 * api/kube/types/NAME.types, as "kubectl get" shows them. Any field of an object may be
 * missing or of any type. */
#ifndef NEAP_API_KUBE_PRINT_CELLS_H
#define NEAP_API_KUBE_PRINT_CELLS_H

#include "api/kube/base/kind.h"

/* Type of struct neap_kube_kind.cells: returns one element per column; a new reference,
 * NULL without memory; now is in Unix microseconds. For kinds whose cells are computed
 * together. */
typedef json_t *neap_kube_cells_fn(const struct neap_kube_kind *kind,
				   const json_t *object, int64_t now);
neap_kube_cells_fn neap_kube_cells_pod, neap_kube_cells_event;

/* Type of struct neap_kube_column.put: adds the cell of row->column to the row, or writes
 * it to row->buf. */
typedef void neap_kube_put_fn(struct neap_kube_row *row);

/* name, age: of the object. The others show the value at from: a text (other when
 * missing), a number (other, or 0), a number as text, a boolean, the number of elements,
 * member other of each element joined by commas, labels, a LabelSelector, an amount. */
neap_kube_put_fn neap_kube_put_name, neap_kube_put_age, neap_kube_put_text,
	neap_kube_put_int, neap_kube_put_digits, neap_kube_put_bool, neap_kube_put_count,
	neap_kube_put_join, neap_kube_put_labels, neap_kube_put_selector,
	neap_kube_put_quantity;

/* Each serves one kind. bound_*: of the volume of a claim, empty without a volume. */
neap_kube_put_fn neap_kube_put_node_status, neap_kube_put_roles,
	neap_kube_put_address /* the first of type from */, neap_kube_put_entries,
	neap_kube_put_cluster_ip, neap_kube_put_external_ip, neap_kube_put_ports,
	neap_kube_put_ready, neap_kube_put_deployment_selector, neap_kube_put_completions,
	neap_kube_put_duration, neap_kube_put_bound, neap_kube_put_controller,
	neap_kube_put_modes, neap_kube_put_phase, neap_kube_put_class,
	neap_kube_put_claim, neap_kube_put_bound_capacity, neap_kube_put_bound_modes,
	neap_kube_put_class_name;

/* Returns the cells of columns that all have a put. */
neap_kube_cells_fn neap_kube_cells_put;

#endif
