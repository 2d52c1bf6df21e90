/* SPDX-License-Identifier: Apache-2.0
 *
 * Field selectors: "spec.nodeName=node-0,status.phase!=Failed". */
#ifndef NEAP_API_KUBE_BASE_FIELD_SELECTOR_H
#define NEAP_API_KUBE_BASE_FIELD_SELECTOR_H

#include "engine/object/object.h"

#define NEAP_FIELD_SELECTOR_TERMS 32

struct neap_field_selector {
	size_t count;
	struct neap_field_term {
		const char *path, *value; /* in text */
		bool is_not;
	} terms[NEAP_FIELD_SELECTOR_TERMS];
	char *text; /* owned */
};

/* known: selectable paths besides metadata.name and, with has_namespace,
 * metadata.namespace; NULL-terminated, may be NULL. In values "\," "\=" and "\\" are
 * escapes. -NEAP_EINVAL: "field label not supported: x". */
int neap_field_selector_parse(const char *text, const char *const *known,
			      bool has_namespace, struct neap_field_selector *ret,
			      struct neap_error *err);
void neap_field_selector_done(struct neap_field_selector *selector);
/* A field that an object does not have is "". */
bool neap_field_selector_matches(const struct neap_field_selector *selector,
				 const struct neap_object *object);

#endif
