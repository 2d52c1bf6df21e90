/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes protobuf into a buffer: length-delimited messages whose length is inserted when
 * their content is complete. */
#ifndef NEAP_API_KUBE_OPENAPI_PROTO_H
#define NEAP_API_KUBE_OPENAPI_PROTO_H

#include "engine/base/buf.h"

/* A string field. */
void neap_proto_text(struct neap_buf *buf, unsigned field, const char *text);
void neap_proto_bytes(struct neap_buf *buf, unsigned field, const void *data, size_t len);
void neap_proto_bool(struct neap_buf *buf, unsigned field, bool value);
/* Starts a message; everything added until the end is its content. Pass the result to
 * end. */
size_t neap_proto_begin(struct neap_buf *buf, unsigned field);
void neap_proto_end(struct neap_buf *buf, size_t begun);

#endif
