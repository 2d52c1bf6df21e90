/* SPDX-License-Identifier: Apache-2.0
 *
 * Kubernetes quantities ("500m", "2", "1.5", "128Mi", "1e3", "2k") and durations ("90s", "1h30m",
 * "500ms") as integers. */
#ifndef NEAP_ENGINE_BASE_QUANTITY_H
#define NEAP_ENGINE_BASE_QUANTITY_H

#include "engine/base/error.h"

/* Thousandths, rounded up as Kubernetes does ("1u" is 1). NEAP_EINVAL for anything else. */
int neap_quantity_parse_milli(const char *text, int64_t *ret_milli,
			      struct neap_error *err);
/* Whole units (bytes), rounded up. */
int neap_quantity_parse_units(const char *text, int64_t *ret_units,
			      struct neap_error *err);
/* Bytes of a canonical text, with NUL. */
#define NEAP_QUANTITY_SIZE 48
/* As a kube-apiserver writes an amount that it was sent as text: "0.5" is "500m", "1000m" is "1", "1.5Gi" is "1536Mi",
 * "1000" is "1k". Decimal, binary and exponent stay what they are; what is finer than a thousandth is rounded up, and a
 * binary amount beyond int64 is the largest int64. NEAP_EINVAL for what is no quantity, or 10^900 and more. */
int neap_quantity_canonical(const char *text, char buf[NEAP_QUANTITY_SIZE],
			    struct neap_error *err);
/* Sets *ret below 0, to 0 or above 0, as a is less than b, the same or more. Amounts may
 * have any size and spelling; what is finer than a thousandth is rounded up. Returns false
 * when one is no quantity. */
bool neap_quantity_compare(const char *a, const char *b, int *ret);
/* Whether two texts are the same amount, however written: "1Ki" and "1024". False when one is none. */
bool neap_quantity_is_same(const char *a, const char *b);
/* Shortest exact form: "500m", "2"; buf of at least 32 bytes. Returns buf. */
char *neap_quantity_format_milli(int64_t milli, char *buf, size_t size);
/* Shortest exact form with a binary suffix: "128Mi", "1000". */
char *neap_quantity_format_bytes(int64_t bytes, char *buf, size_t size);
/* For people: three digits and a binary suffix, "1.50 GiB". */
char *neap_bytes_format_human(int64_t bytes, char *buf, size_t size);

/* "60" (seconds), and what Go writes and reads: "60s", "1m30s", "500ms", "2h", "+1h", "100ns": microseconds, of each part
 * rounded up. Negative is an error. */
int neap_duration_parse(const char *text, int64_t *ret_usec, struct neap_error *err);
/* "1m30s", "500ms", "0s". */
char *neap_duration_format(int64_t usec, char *buf, size_t size);

/* A decimal int64 that fills the text, blanks and newlines at the end allowed. */
int neap_int_parse(const char *text, int64_t *ret, struct neap_error *err);

/* Days since 1970-01-01 of a date in the Gregorian calendar (month 1..12), and back. */
int64_t neap_days_from_date(int64_t year, int month, int day);
void neap_days_to_date(int64_t days, int64_t *year, int *month, int *day);

/* "2026-01-02T03:04:05Z" or with fraction_digits (0, 3 or 6) digits; buf of at least 32 bytes. */
char *neap_time_format(int64_t unix_usec, int fraction_digits, char *buf, size_t size);
/* RFC 3339, any offset. */
int neap_time_parse(const char *text, int64_t *ret_unix_usec, struct neap_error *err);

#endif
