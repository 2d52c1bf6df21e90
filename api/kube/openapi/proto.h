/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes protobuf into a buffer: length-delimited messages whose length is inserted when
 * their content is complete. */
#ifndef NEAP_API_KUBE_OPENAPI_PROTO_H
#define NEAP_API_KUBE_OPENAPI_PROTO_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/base.h"
#include "engine/base/buf.h"
#include "engine/base/error.h"

/* A string field. */
void neap_proto_text(struct neap_buf *buf, unsigned field, const char *text);
void neap_proto_bool(struct neap_buf *buf, unsigned field, bool value);
/* Starts a message; everything added until the end is its content. Pass the result to
 * end. */
size_t neap_proto_begin(struct neap_buf *buf, unsigned field);
void neap_proto_end(struct neap_buf *buf, size_t begun);

/* --- reading ---
 *
 * Shared by the files of protobuf bodies: the wire format (proto.c), and the
 * field numbers. */

/* --- the numbers of fields --- */

/* The field names of a message, in order of their numbers, from 1; NULL: unused number.
 * name is also the name of the schema. Prefixes of a field name:
 *   *  0, false and "" are values: Go has a pointer there, or always writes it into JSON
 *   ~  skipped: a server sets it, or Kubernetes has removed it
 *   >  not a field, but a message of that name; its fields belong to the object around
 *      it */
struct proto_numbers {
	const char *name;
	const char *const *fields;
	size_t count;
};

#define NUMBERS(n, ...)                                                                  \
	{                                                                                \
		(n), (const char *const[]){__VA_ARGS__},                                 \
			NEAP_ARRAY_LEN(((const char *const[]){__VA_ARGS__}))             \
	}

struct proto_table {
	const struct proto_numbers *rows; /* sorted by name */
	size_t count;
};

/* Generated from the .types files of api/kube/types. */
extern const struct proto_table neap_kube_proto_numbers;

/* NULL: not found. */
const struct proto_numbers *neap_proto_numbers_find(const char *name);

/* --- the wire --- */

enum proto_wire {
	PROTO_VARINT = 0,
	PROTO_64 = 1,
	PROTO_BYTES = 2,
	PROTO_32 = 5,
};

struct proto_in {
	const uint8_t *at, *end;
};

struct proto_field {
	uint32_t number;
	enum proto_wire wire;
	uint64_t value;        /* of PROTO_VARINT */
	struct proto_in bytes; /* of the others */
};

static inline size_t proto_left(const struct proto_in *in)
{
	return (size_t)(in->end - in->at);
}

/* False when it is truncated, or has more than 64 bits. */
bool neap_proto_varint_read(struct proto_in *in, uint64_t *ret);
/* False when the bytes are not a field. */
bool neap_proto_field_read(struct proto_in *in, struct proto_field *ret);

/* They fill *err and return -NEAP_EINVAL. */
int neap_proto_malformed(struct neap_error *err, const char *what);
int neap_proto_no_field(struct neap_error *err);
int neap_proto_other_type(struct neap_error *err);

/* Accepts what the JSON parser accepts: UTF-8 without NUL. */
int neap_proto_text_check(const struct proto_in *in, struct neap_error *err);
/* Both return NULL without memory. */
json_t *neap_proto_text_json(const struct proto_in *in);
json_t *neap_proto_base64_json(const struct proto_in *in);
/* Timestamp {1 seconds, 2 nanos}. An empty message means no time: *ret is NULL. */
int neap_proto_time_read(struct proto_in in, bool is_micro, json_t **ret,
			 struct neap_error *err);
/* IntOrString {1 type, 2 intVal, 3 strVal}. */
int neap_proto_either_read(struct proto_in in, json_t **ret, struct neap_error *err);

#endif
