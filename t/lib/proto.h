/* SPDX-License-Identifier: Apache-2.0
 *
 * A reader of protobuf for tests: a message to JSON, by a table of its fields. A field
 * that is not in the table, or of another wire type, a text that is no UTF-8, and what
 * comes twice ends the test. */
#ifndef NEAP_T_LIB_PROTO_H
#define NEAP_T_LIB_PROTO_H

#include <jansson.h>
#include <stdint.h>

enum proto_how {
	PROTO_TEXT,
	PROTO_FLAG,
	PROTO_ONE,   /* a message */
	PROTO_TEXTS, /* an array */
	PROTO_LIST,  /* an array of messages */
	PROTO_NAMED, /* messages {1 name, 2 message}: an object */
};

struct proto_entry {
	unsigned field; /* 0 ends */
	const char *name;
	enum proto_how how;
	const struct proto_entry *of;
};

struct proto_span {
	const unsigned char *at, *end;
};

uint64_t proto_varint(struct proto_span *in);
/* A new reference. */
json_t *proto_message(struct proto_span in, const struct proto_entry *entries);

#endif
