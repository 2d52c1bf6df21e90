/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages of gnostic's OpenAPIv2.proto, for the reader of protobuf. Named things lie
 * below "all", vendor extensions below "x". */
#ifndef NEAP_T_LIB_OPENAPI_MESSAGES_H
#define NEAP_T_LIB_OPENAPI_MESSAGES_H

#include "t/lib/proto.h"

extern const struct proto_entry openapi_document[];

#endif
