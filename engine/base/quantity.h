/* SPDX-License-Identifier: Apache-2.0
 *
 * Kubernetes quantities ("500m", "2", "1.5", "128Mi", "1e3", "2k") and durations ("90s",
 * "1h30m", "500ms") as integers. */
#ifndef NEAP_ENGINE_BASE_QUANTITY_H
#define NEAP_ENGINE_BASE_QUANTITY_H

#include "engine/base/error.h"

/* Parses thousandths, rounded up as Kubernetes does ("1u" is 1). NEAP_EINVAL for anything
 * else. */
int neap_quantity_parse_milli(const char *text, int64_t *ret_milli,
			      struct neap_error *err);
/* Parses whole units (bytes), rounded up. */
int neap_quantity_parse_units(const char *text, int64_t *ret_units,
			      struct neap_error *err);
/* Size of a canonical text with its NUL. */
#define NEAP_QUANTITY_SIZE 48
/* Writes an amount as a kube-apiserver normalises it: "0.5" becomes "500m", "1000m" "1",
 * "1.5Gi" "1536Mi", "1000" "1k". The suffix family (decimal, binary, exponent) is kept;
 * fractions below a thousandth are rounded up; binary amounts beyond int64 become the
 * largest int64. NEAP_EINVAL when text is not a quantity or is 10^900 or more. */
int neap_quantity_canonical(const char *text, char buf[NEAP_QUANTITY_SIZE],
			    struct neap_error *err);
/* Sets *ret below 0, to 0 or above 0 when a is less than, equal to or more than b.
 * Amounts may have any size and spelling; fractions below a thousandth are rounded up.
 * Returns false when either is not a quantity. */
bool neap_quantity_compare(const char *a, const char *b, int *ret);
/* Returns whether two texts are the same amount, however written ("1Ki" and "1024");
 * false when either is not a quantity. */
bool neap_quantity_is_same(const char *a, const char *b);
/* Writes the shortest exact form: "500m", "2". buf needs at least 32 bytes. Returns
 * buf. */
char *neap_quantity_format_milli(int64_t milli, char *buf, size_t size);
/* Writes the shortest exact form with a binary suffix: "128Mi", "1000". */
char *neap_quantity_format_bytes(int64_t bytes, char *buf, size_t size);
/* Writes three digits and a binary suffix for people: "1.50 GiB". */
char *neap_bytes_format_human(int64_t bytes, char *buf, size_t size);

/* Parses "60" (seconds) and the durations of Go: "60s", "1m30s", "500ms", "2h", "+1h",
 * "100ns". Each part is rounded up to microseconds. Negative values are an error. */
int neap_duration_parse(const char *text, int64_t *ret_usec, struct neap_error *err);
/* "1m30s", "500ms", "0s". */
char *neap_duration_format(int64_t usec, char *buf, size_t size);

/* Parses a decimal int64; the text may end in blanks and newlines, and nothing else may
 * follow. */
int neap_int_parse(const char *text, int64_t *ret, struct neap_error *err);

/* Converts a Gregorian date (month 1..12) to days since 1970-01-01, and back. */
int64_t neap_days_from_date(int64_t year, int month, int day);
void neap_days_to_date(int64_t days, int64_t *year, int *month, int *day);

/* Writes "2026-01-02T03:04:05Z", or with fraction_digits (0, 3 or 6) digits. buf needs at
 * least 32 bytes. */
char *neap_time_format(int64_t unix_usec, int fraction_digits, char *buf, size_t size);
/* Parses RFC 3339 with any offset. */
int neap_time_parse(const char *text, int64_t *ret_unix_usec, struct neap_error *err);

#endif
