/* SPDX-License-Identifier: Apache-2.0
 *
 * Views: objects stored as one kind and also shown as another, with the same values under
 * other names. An object that is only read is renamed in its text: one copy, a
 * microsecond for a usual object. The last result is cached, because a thousand watchers
 * may want it in succession. */
#ifndef NEAP_API_KUBE_BASE_VIEW_H
#define NEAP_API_KUBE_BASE_VIEW_H

#include "api/kube/base/kind.h"
#include "engine/object/object.h"

/* The last result; zero: none. */
struct neap_kube_shown {
	const struct neap_kube_view *view;
	struct neap_object *stored, *shown;
};

void neap_kube_shown_done(struct neap_kube_shown *last);
/* Returns the object under the shown names, otherwise the same; a new reference, NULL
 * without memory. */
struct neap_object *neap_kube_view_object(struct neap_kube_shown *last,
					  const struct neap_kube_view *view,
					  struct neap_object *object);
/* Returns the object with only its metadata; a new reference, NULL without memory. */
struct neap_object *neap_kube_view_metadata(const struct neap_object *object);
/* Renames a tree in place from the shown to the stored names, and back. view may be NULL:
 * nothing to do. False without memory: the tree is then half done. */
bool neap_kube_view_store(const struct neap_kube_view *view, json_t *object);
bool neap_kube_view_show(const struct neap_kube_view *view, json_t *object);
/* Returns the stored path of a selectable field. */
const char *neap_kube_view_field(const struct neap_kube_kind *kind, const char *path);

#endif
