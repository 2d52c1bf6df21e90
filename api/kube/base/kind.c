/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of a kind, and the kind that it is stored as. */
#include <stdio.h>
#include <string.h>

#include "api/kube/base/kind.h"

void neap_kube_kind_resource(const struct neap_kube_kind *kind, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s", kind->plural, kind->group[0] == '\0' ? "" : ".",
		 kind->group);
}

const struct neap_kube_kind *neap_kube_kind_ref(const struct neap_kube_kind *kind)
{
	if (kind && kind->life)
		kind->life->refs++;
	return kind;
}

const struct neap_kube_kind *neap_kube_kind_unref(const struct neap_kube_kind *kind)
{
	/* Rows with a life were allocated, so they are not const. */
	if (kind && kind->life && --kind->life->refs == 0)
		kind->life->free((struct neap_kube_kind *)(uintptr_t)kind);
	return NULL;
}

const struct neap_kube_kind *neap_kube_kind_stored(const struct neap_kube_kind *kind)
{
	return kind->view ? kind->view->of : kind;
}

const struct neap_schema *neap_kube_kind_body(const struct neap_kube_kind *kind,
					      const char *version)
{
	for (size_t i = 0; kind->bodies && kind->versions[i]; i++)
		if (kind->bodies[i] && strcmp(kind->versions[i], version) == 0)
			return kind->bodies[i];
	return kind->schema;
}

const struct neap_schema *neap_kube_kind_checks(const struct neap_kube_kind *kind,
						const char *version)
{
	for (size_t i = 0; kind->checks && kind->versions[i]; i++)
		if (kind->checks[i] && strcmp(kind->versions[i], version) == 0)
			return kind->checks[i];
	return neap_kube_kind_stored(kind)->schema;
}
