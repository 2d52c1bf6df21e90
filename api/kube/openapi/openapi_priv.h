/* SPDX-License-Identifier: Apache-2.0
 *
 * Field numbers of gnostic's OpenAPIv2.proto, and what the two files of the document
 * share. */
#ifndef NEAP_API_KUBE_OPENAPI_OPENAPI_PRIV_H
#define NEAP_API_KUBE_OPENAPI_OPENAPI_PRIV_H

#include "api/kube/base/kind.h"
#include "api/kube/openapi/proto.h"

enum {
	DOCUMENT_SWAGGER = 1,
	DOCUMENT_INFO = 2,
	DOCUMENT_PATHS = 8,
	DOCUMENT_DEFINITIONS = 9,

	INFO_TITLE = 1,
	INFO_VERSION = 2,

	/* Definitions and Properties hold a list of these; NamedAny and NamedPathItem
	 * have the same form. */
	NAMED_LIST = 1,
	NAMED_NAME = 1,
	NAMED_VALUE = 2,

	ANY_YAML = 2,

	SCHEMA_REF = 1,
	SCHEMA_FORMAT = 2,
	SCHEMA_DESCRIPTION = 4,
	SCHEMA_REQUIRED = 19,
	SCHEMA_ENUM = 20,
	SCHEMA_ADDITIONAL = 21,
	SCHEMA_TYPE = 22,
	SCHEMA_ITEMS = 23,
	SCHEMA_PROPERTIES = 25,
	SCHEMA_EXTENSION = 31,

	TYPE_VALUE = 1,
	ADDITIONAL_SCHEMA = 1,
	ITEMS_SCHEMA = 1,

	PATHS_PATH = 2,

	ITEM_GET = 2,
	ITEM_PUT = 3,
	ITEM_POST = 4,
	ITEM_DELETE = 5,
	ITEM_PATCH = 8,
	ITEM_PARAMETERS = 9,

	OPERATION_DESCRIPTION = 3,
	OPERATION_ID = 5,
	OPERATION_PRODUCES = 6,
	OPERATION_CONSUMES = 7,
	OPERATION_PARAMETERS = 8,
	OPERATION_RESPONSES = 9,
	OPERATION_EXTENSION = 13,

	/* ParametersItem, Parameter, NonBodyParameter: the alternatives. */
	PARAMETER = 1,
	PARAMETER_NON_BODY = 2,
	NON_BODY_QUERY = 3,
	NON_BODY_PATH = 4,

	QUERY_IN = 2,
	QUERY_DESCRIPTION = 3,
	QUERY_NAME = 4,
	QUERY_TYPE = 6,

	IN_PATH_REQUIRED = 1,
	IN_PATH_IN = 2,
	IN_PATH_DESCRIPTION = 3,
	IN_PATH_NAME = 4,
	IN_PATH_TYPE = 5,

	RESPONSES_CODE = 1,
	RESPONSE_VALUE = 1,
	RESPONSE_DESCRIPTION = 1,
};

/* Writes an extension "x-..." into the field with that number; yaml may be JSON. */
void neap_kube_openapi_extension(struct neap_buf *buf, unsigned field, const char *name,
				 const char *yaml);
/* Writes the paths of all kinds in all versions. */
void neap_kube_openapi_paths(struct neap_buf *buf,
			     const struct neap_kube_kind *const *kinds, size_t count);

#endif
