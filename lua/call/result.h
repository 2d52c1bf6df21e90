/* SPDX-License-Identifier: Apache-2.0
 *
 * Bounds on what a policy may return from one call; a larger result is invalid, which is
 * a fault. C processes a result without interruption, so all of its work is bounded here,
 * and its CPU time is charged to the policy. Sensible policies stay far below the
 * bounds. */
#ifndef NEAP_LUA_CALL_RESULT_H
#define NEAP_LUA_CALL_RESULT_H

/* Kind qos: rows of the list that tick returns, each with a different target and key. */
#define NEAP_RESULT_ROWS_MAX 2048
/* Kernel files that these rows expand to: a row for besteffort.containers counts once per
 * container. */
#define NEAP_RESULT_WRITES_MAX 4096
/* ... and those of all policies together; a list of at most NEAP_RESULT_FEW_WRITES is
 * always kept. */
#define NEAP_RESULT_ALL_WRITES_MAX 6144
#define NEAP_RESULT_FEW_WRITES     64
/* Bytes of a text that is stored or shown: why, a reason of a filter or reservation. */
#define NEAP_RESULT_TEXT_MAX 1000
/* Bytes of all texts of one list. */
#define NEAP_RESULT_TEXTS_MAX (512 * 1024)
/* ctx.memo: 16 bytes per entry plus the bytes of its texts. */
#define NEAP_MEMO_BYTES (64 * 1024)
/* Kind score: engine/decide/curve.h bounds the terms of a plan, their points and values.
 * Kind filter: lua/place/place.h bounds the distinct reasons of a decision. */

#endif
