/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between loop and hand: one or more to a packet of a SOCK_SEQPACKET pair, at most
 * NEAP_WIRE_MAX bytes, numbers in the machine's own order. A message with a descriptor has a packet
 * of its own. Both ends take nothing on trust: a message is either
 * exactly what the other side's format makes, or it is refused as a whole. */
#ifndef NEAP_HW_HAND_WIRE_H
#define NEAP_HW_HAND_WIRE_H

#include <sys/types.h>

#include "hw/hand/hand.h"

#define NEAP_WIRE_MAX  (64 * 1024)
#define NEAP_WIRE_TEXT 512 /* longest explanation with its NUL; longer ones are cut */

/* Write the message into buf (NEAP_WIRE_MAX bytes are always enough). NEAP_EINVAL: a part that the
 * operation needs is missing or is none that it takes; NEAP_ETOOLARGE: a text is too long. */
int neap_wire_format_request(const struct neap_hand_request *request, void *buf,
			     size_t size, size_t *ret_len, struct neap_error *err);
int neap_wire_format_answer(const struct neap_hand_answer *answer, void *buf, size_t size,
			    size_t *ret_len, struct neap_error *err);

/* Read a message. Texts point into it. fd becomes -1. NEAP_EINVAL for anything that
 * format would not have written. */
int neap_wire_parse_request(const void *msg, size_t len, struct neap_hand_request *ret,
			    struct neap_error *err);
int neap_wire_parse_answer(const void *msg, size_t len, struct neap_hand_answer *ret,
			   struct neap_error *err);

/* Length of the first of several messages; len when that cannot be made out (parse says why). */
size_t neap_wire_length(const void *bytes, size_t len);

/* Whether the answer to such a request brings a descriptor when it is done. */
bool neap_wire_brings_fd(enum neap_hand_op op);

/* What a refused request can still be answered with: its id and operation, as far as they can be
 * made out (0 and NEAP_HAND_SET else). */
void neap_wire_guess(const void *msg, size_t len, uint64_t *ret_id,
		     enum neap_hand_op *ret_op);

#endif
