/* SPDX-License-Identifier: Apache-2.0
 *
 * What a kind is called, and as which it is stored. */
#include <stdio.h>

#include "api/kube/kind.h"

void neap_kube_kind_resource(const struct neap_kube_kind *kind, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s", kind->plural, kind->group[0] == '\0' ? "" : ".",
		 kind->group);
}

const struct neap_kube_kind *neap_kube_kind_stored(const struct neap_kube_kind *kind)
{
	return kind->view ? kind->view->of : kind;
}
