/* SPDX-License-Identifier: Apache-2.0
 *
 * Between the files of protobuf bodies: what messages consist of. */
#ifndef NEAP_API_KUBE_PROTOBUF_PRIV_H
#define NEAP_API_KUBE_PROTOBUF_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/kube/protobuf.h"

enum type {
	TEXT,
	TEXTS,
	FLAG,
	NUMBER,
	TIME,       /* whole seconds */
	MICRO_TIME, /* with six decimals */
	MESSAGE,
	MESSAGES,
	TEXT_MAP,
	BYTES_MAP,
	INT_OR_TEXT, /* a number or a text; of one that is no pointer, 0 is none */
	SKIP,        /* what a server sets */
};

struct message;

struct member {
	uint32_t number;
	const char *name;
	enum type type;
	bool is_pointer; /* of FLAG, NUMBER and TEXT: false, 0 and "" are told, too */
	const struct message *of;
};

struct message {
	const struct member *members;
	size_t count;
	/* What a kubectl writes is here, and not all that there is: a field that is not known is refused, if it is
	 * not empty, so that nothing gets lost. NULL: it is skipped, as protobuf wants it. */
	const char *strict_name;
};

/* A kind of objects that is read. */
struct proto_kind {
	const char *group; /* what stands before the version in apiVersion */
	const char *kind;
	const struct message *message;
};

extern const struct proto_kind neap_kube_proto_kinds[];
extern const size_t neap_kube_proto_kind_count;

#endif
