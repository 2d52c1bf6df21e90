/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between loop and hand over a SOCK_SEQPACKET pair: one or more per packet of at
 * most NEAP_WIRE_MAX bytes, numbers in native byte order. A message with a descriptor has
 * a packet to itself. Neither end trusts the other: a message that is not exactly in the
 * form the formatter writes is refused as a whole. */
#ifndef NEAP_HW_HAND_WIRE_H
#define NEAP_HW_HAND_WIRE_H

#include <sys/types.h>

#include "hw/hand/hand.h"

#define NEAP_WIRE_MAX  (64 * 1024)
#define NEAP_WIRE_TEXT 512 /* longest explanation with its NUL; longer ones are cut */

/* Write the message into buf (NEAP_WIRE_MAX bytes always suffice). NEAP_EINVAL: a
 * required part is missing, or a part is not allowed for the operation; NEAP_ETOOLARGE: a
 * text is too long. */
int neap_wire_format_request(const struct neap_hand_request *request, void *buf,
			     size_t size, size_t *ret_len, struct neap_error *err);
int neap_wire_format_answer(const struct neap_hand_answer *answer, void *buf, size_t size,
			    size_t *ret_len, struct neap_error *err);

/* Parse a message. Texts point into it. fd becomes -1. NEAP_EINVAL for anything the
 * formatter would not have written. */
int neap_wire_parse_request(const void *msg, size_t len, struct neap_hand_request *ret,
			    struct neap_error *err);
int neap_wire_parse_answer(const void *msg, size_t len, struct neap_hand_answer *ret,
			   struct neap_error *err);

/* Returns the length of the first of several messages; len when it cannot be determined
 * (parse says why). */
size_t neap_wire_length(const void *bytes, size_t len);

/* Returns whether a successful answer carries a descriptor. */
bool neap_wire_brings_fd(enum neap_hand_op op);

/* Extracts id and operation of a message that was refused, as far as possible (otherwise
 * 0 and NEAP_HAND_SET), so that it can be answered. */
void neap_wire_guess(const void *msg, size_t len, uint64_t *ret_id,
		     enum neap_hand_op *ret_op);

#endif
