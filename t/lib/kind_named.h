/* SPDX-License-Identifier: Apache-2.0
 *
 * A built-in kind by its name in any case; of several with that name the first. */
#ifndef NEAP_T_LIB_KIND_NAMED_H
#define NEAP_T_LIB_KIND_NAMED_H

#include <strings.h>

#include "api/kube/base/kind.h"

/* NULL: there is none. */
static inline const struct neap_kube_kind *kind_named(const char *name)
{
	const struct neap_kube_kind *const *const tables[] = {
		neap_kube_core_kinds, neap_kube_apps_kinds, neap_kube_other_kinds};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(tables); i++)
		for (size_t k = 0; tables[i][k]; k++)
			if (strcasecmp(tables[i][k]->kind, name) == 0)
				return tables[i][k];
	return NULL;
}

#endif
