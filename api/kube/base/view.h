/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects that are stored in the form of one kind and shown as another, too: the same values under other
 * names. An object that is only read is renamed in its text: a copy, and a microsecond for one of the usual
 * size. The last one is kept, as a thousand watchers may want it one after the other. */
#ifndef NEAP_API_KUBE_BASE_VIEW_H
#define NEAP_API_KUBE_BASE_VIEW_H

#include "api/kube/base/kind.h"
#include "engine/object/object.h"

/* The last one; all zero: none. */
struct neap_kube_shown {
	const struct neap_kube_view *view;
	struct neap_object *stored, *shown;
};

void neap_kube_shown_done(struct neap_kube_shown *last);
/* The object under the names that are shown, the same in all else; a new reference, NULL without memory. */
struct neap_object *neap_kube_view_object(struct neap_kube_shown *last,
					  const struct neap_kube_view *view,
					  struct neap_object *object);
/* The object with its metadata alone; a new reference, NULL without memory. */
struct neap_object *neap_kube_view_metadata(const struct neap_object *object);
/* A tree, in place, from the names that are shown to those that are stored, and back. view may be NULL:
 * nothing is to be done. False without memory: the tree is then half done. */
bool neap_kube_view_store(const struct neap_kube_view *view, json_t *object);
bool neap_kube_view_show(const struct neap_kube_view *view, json_t *object);
/* The path of a selectable field as it is stored. */
const char *neap_kube_view_field(const struct neap_kube_kind *kind, const char *path);

#endif
