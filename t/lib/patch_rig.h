/* SPDX-License-Identifier: Apache-2.0
 *
 * Cases of patches: an object, a patch, and what comes out or how it is refused. */
#ifndef NEAP_T_LIB_PATCH_RIG_H
#define NEAP_T_LIB_PATCH_RIG_H

#include "api/kube/patch/patch.h"

struct patch_case {
	const char *name;
	const struct neap_schema *schema;
	/* JSON, with ' for ". */
	const char *object, *patch;
	const char *want; /* NULL: refused */
	enum neap_code code;
	const char *field, *msg; /* of the refusal; msg: a part of it */
};

/* JSON of any type, with ' for ". Fails the test when it is none. */
json_t *patch_parse(const char *text);
/* Whole and with each allocation failing in turn; object and patch stay as they are, the
 * result shares nothing with them. Only the case that CASE names, if it names one. */
void patch_case_run(enum neap_patch_type type, const struct patch_case *row);

#endif
