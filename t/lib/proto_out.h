/* SPDX-License-Identifier: Apache-2.0
 *
 * Protobuf bodies as Go's encoder writes them, which writes empty texts, too. */
#ifndef NEAP_T_LIB_PROTO_OUT_H
#define NEAP_T_LIB_PROTO_OUT_H

#include <stddef.h>
#include <stdint.h>

#define BODY_MAX 4096

struct proto_out {
	uint8_t data[BODY_MAX];
	size_t len;
};

void proto_put(struct proto_out *out, const void *data, size_t len);
void proto_put_varint(struct proto_out *out, uint64_t value);
void proto_put_number(struct proto_out *out, uint32_t number, uint64_t value);
void proto_put_bytes(struct proto_out *out, uint32_t number, const void *data,
		     size_t len);
void proto_put_text(struct proto_out *out, uint32_t number, const char *text);
void proto_put_message(struct proto_out *out, uint32_t number,
		       const struct proto_out *message);
void proto_put_entry(struct proto_out *out, uint32_t number, const char *key,
		     const void *value, size_t len);
/* ObjectMeta with what Go writes for a name alone. */
void proto_put_name(struct proto_out *out, uint32_t number, const char *name);
void proto_put_body(struct proto_out *out, const char *version, const char *kind,
		    const struct proto_out *raw);
void proto_put_time(struct proto_out *out, uint32_t number, uint64_t seconds,
		    uint64_t nanos);

#endif
