/* SPDX-License-Identifier: Apache-2.0
 *
 * What a policy may hand to C in one call: beyond a bound the result is wrong, a fault like any other. C works through
 * a result in pieces that no hook interrupts, so all that it does with one is bounded here, and its CPU time is charged
 * to the policy. Policies that do something sensible do not come near. */
#ifndef NEAP_LUA_CALL_RESULT_H
#define NEAP_LUA_CALL_RESULT_H

/* Kind qos: rows of the list that tick returns, each another target and key. */
#define NEAP_RESULT_ROWS_MAX 2048
/* Kernel files that these rows come to: a row for besteffort.containers counts for each of them. */
#define NEAP_RESULT_WRITES_MAX 4096
/* ... and those of all policies together, but that a list of so few is always held. */
#define NEAP_RESULT_ALL_WRITES_MAX 6144
#define NEAP_RESULT_FEW_WRITES     64
/* Bytes of a text that is kept or shown: why, a reason of a filter or a reservation. */
#define NEAP_RESULT_TEXT_MAX 1000
/* Bytes of all texts of one list. */
#define NEAP_RESULT_TEXTS_MAX (512 * 1024)
/* ctx.memo: 16 bytes for every entry and the bytes of its texts. */
#define NEAP_MEMO_BYTES (64 * 1024)
/* Kind score: engine/decide/curve.h has the terms of a plan, their points and values. Kind filter: lua/place/place.h has how
 * many different reasons of a decision are kept. */

#endif
