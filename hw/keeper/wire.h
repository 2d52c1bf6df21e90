/* SPDX-License-Identifier: Apache-2.0
 *
 * The protocol between loop, keeper and shims: packets of SOCK_SEQPACKET. The loop
 * requests a shim from the keeper (SPAWN) and receives a connection to it. Over that it
 * sends the order in parts, because it can exceed a packet, then GO and SIGNAL, and the
 * shim sends events. Each message has exactly one valid encoding; a cut, extended or
 * forged one is refused as a whole. */
#ifndef NEAP_HW_KEEPER_WIRE_H
#define NEAP_HW_KEEPER_WIRE_H

#include <stddef.h>

#include "hw/keeper/keeper.h"

#define NEAP_KEEPER_PART   (32 * 1024) /* bytes of an order per packet */
#define NEAP_KEEPER_PACKET (NEAP_KEEPER_PART + 64)
#define NEAP_KEEPER_ORDER                                                                \
	(NEAP_KEEPER_TEXT_MAX + 8 * 1024) /* with names, directory and numbers */
#define NEAP_KEEPER_UID_MAX  128          /* a pod's uid with its NUL */
#define NEAP_KEEPER_NAME_MAX 64           /* of a container's name */

/* Checks directory names: a pod's uid consists of A-Z a-z 0-9 - . _ and starts with a
 * letter or digit; a container's name is a DNS label. NEAP_EINVAL says which one is
 * wrong. */
int neap_keeper_names_check(const char *pod_uid, const char *container, unsigned attempt,
			    struct neap_error *err);
int neap_keeper_order_check(const struct neap_keeper_order *order,
			    struct neap_error *err);

/* Encodes the order; the caller frees *ret. */
int neap_keeper_order_format(const struct neap_keeper_order *order, unsigned char **ret,
			     size_t *ret_len, struct neap_error *err);
/* An order whose texts point into the bytes it was decoded from. */
struct neap_keeper_job {
	struct neap_keeper_order order;
	const char **strings; /* argv and envp, each NULL-terminated */
	size_t argc, envc;
};
int neap_keeper_order_parse(const void *bytes, size_t len, struct neap_keeper_job *ret,
			    struct neap_error *err);
void neap_keeper_job_done(struct neap_keeper_job *job);

enum neap_keeper_op {
	NEAP_KEEPER_OP_ORDER,
	NEAP_KEEPER_OP_GO,
	NEAP_KEEPER_OP_SIGNAL,
	NEAP_KEEPER_OP_COUNT
};

struct neap_keeper_request {
	enum neap_keeper_op op;
	int signo;        /* for SIGNAL, 1 to 64 */
	size_t total;     /* bytes of the complete order */
	const void *part; /* for ORDER: its next bytes, 1 to NEAP_KEEPER_PART */
	size_t len;
};

int neap_keeper_request_format(const struct neap_keeper_request *request, void *buf,
			       size_t size, size_t *ret_len, struct neap_error *err);
int neap_keeper_request_parse(const void *msg, size_t len,
			      struct neap_keeper_request *ret, struct neap_error *err);

/* Encodes an event without id and fd. Texts above NEAP_KEEPER_OUTPUT_MAX bytes are
 * cut. */
int neap_keeper_event_format(const struct neap_keeper_event *event, void *buf,
			     size_t size, size_t *ret_len, struct neap_error *err);
/* text is a buffer of NEAP_KEEPER_OUTPUT_MAX + 1 bytes that ret->text then points to. */
int neap_keeper_event_parse(const void *msg, size_t len, char *text,
			    struct neap_keeper_event *ret, struct neap_error *err);

/* Loop to keeper and back; errnum is 0 when a descriptor comes with it. */
struct neap_keeper_spawn {
	uint32_t magic; /* NEAP_KEEPER_SPAWN */
	int32_t errnum;
	uint64_t id;
};
#define NEAP_KEEPER_SPAWN 0x4e4b5331u /* NKS1 */

/* The file `exit` in a command's directory: the final event (FAILED or ENDED) as lines of
 * text. */
#define NEAP_KEEPER_RECORD_MAX 2048
int neap_keeper_record_format(const struct neap_keeper_event *event, char *buf,
			      size_t size, struct neap_error *err);
int neap_keeper_record_parse(const char *bytes, size_t len, char *text,
			     struct neap_keeper_event *ret, struct neap_error *err);

/* Sanitises output: invalid UTF-8 and control characters other than tab and line feed
 * become '?'. */
void neap_keeper_text_clean(char *text, size_t len);

#endif
