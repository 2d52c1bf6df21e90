/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects that are stored in the form of one kind and shown as another, too: the same values under other
 * names. An object that is only read is renamed in its text, which takes a microsecond for one of the usual
 * size and some milliseconds for the largest; of large ones the last is kept, as a thousand watchers may
 * want it one after the other. */
#ifndef NEAP_API_KUBE_VIEW_H
#define NEAP_API_KUBE_VIEW_H

#include "api/kube/kind.h"
#include "engine/cluster/object.h"

/* Bytes from which on the text of an object is kept. */
#define NEAP_KUBE_SHOWN_MIN 16384

/* The last large one; all zero: none. */
struct neap_kube_shown {
	struct neap_object *object;
	const struct neap_kube_view *view;
	char *text;
	size_t len;
};

void neap_kube_shown_done(struct neap_kube_shown *shown);

/* Of a kind with a view: as neap_object_write, under the names that are shown. shown may be NULL. */
void neap_kube_view_write(struct neap_kube_shown *shown,
			  const struct neap_kube_view *view,
			  const struct neap_object *object, const char *kind,
			  const char *api_version, struct neap_buf *out);
/* A tree, in place, from the names that are shown to those that are stored, and back. view may be NULL:
 * nothing is to be done. False without memory: the tree is then half done. */
bool neap_kube_view_store(const struct neap_kube_view *view, json_t *object);
bool neap_kube_view_show(const struct neap_kube_view *view, json_t *object);
/* The path of a selectable field as it is stored. */
const char *neap_kube_view_field(const struct neap_kube_kind *kind, const char *path);

#endif
