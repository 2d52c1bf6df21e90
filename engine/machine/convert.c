/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversions between the numbers of Kubernetes, cgroup v1 and cgroup v2. */
#include "engine/machine/convert.h"

#include <math.h>
#include <string.h>

#include "engine/base/quantity.h"

#define SHARES_MIN 2
#define SHARES_MAX 262144
#define WEIGHT_MAX 10000

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
	if (value < low)
		return low;
	return value > high ? high : value;
}

/* 10^((L^2 + 125 L) / 612 - 7/34), L = log2(shares), rounded up. The two ends and the
 * default of 1024 come out as whole numbers; a hair of rounding error must not push them
 * up by one. */
static int64_t weight_log(int64_t shares)
{
	double l = log2((double)shares);
	double weight = pow(10, (l * l + 125 * l) / 612 - 7.0 / 34);

	return clamp((int64_t)ceil(weight - 1e-9 * weight), 1, WEIGHT_MAX);
}

int neap_shares_to_weight(int64_t shares, enum neap_weight_curve curve,
			  int64_t *ret_weight, struct neap_error *err)
{
	if (shares <= 0)
		return neap_error_set(err, NEAP_EINVAL, "cpu.shares %lld is not above 0",
				      (long long)shares);
	shares = clamp(shares, SHARES_MIN, SHARES_MAX);
	if (curve == NEAP_WEIGHT_LOG)
		*ret_weight = weight_log(shares);
	else
		*ret_weight = 1 + (shares - SHARES_MIN) * (WEIGHT_MAX - 1) /
					  (SHARES_MAX - SHARES_MIN);
	return 0;
}

int neap_weight_to_shares(int64_t weight, int64_t *ret_shares, struct neap_error *err)
{
	if (weight < 1 || weight > WEIGHT_MAX)
		return neap_error_set(err, NEAP_EINVAL, "cpu.weight %lld is not in 1..%d",
				      (long long)weight, WEIGHT_MAX);
	*ret_shares =
		SHARES_MIN + (weight - 1) * (SHARES_MAX - SHARES_MIN) / (WEIGHT_MAX - 1);
	return 0;
}

int neap_cpu_max_parse(const char *text, int64_t *ret_quota_usec, struct neap_error *err)
{
	static const char blanks[] = " \t\n\r\v\f";
	char quota[24];
	const char *first = text + strspn(text, blanks);
	size_t len = strcspn(first, blanks);
	const char *second = first + len + strspn(first + len, blanks);
	const char *rest = second + strcspn(second, blanks);
	int64_t usec = 0;

	/* The second field must only exist: the reference does not parse it. */
	if (len == 0 || *second == '\0' || rest[strspn(rest, blanks)] != '\0')
		return neap_error_set(err, NEAP_EINVAL,
				      "cpu.max wants two fields, got '%.40s'", text);
	if (len >= sizeof(quota))
		return neap_error_set(err, NEAP_EINVAL, "cpu.max '%.40s' is no number",
				      text);
	memcpy(quota, first, len);
	quota[len] = '\0';
	if (strcmp(quota, "max") == 0) {
		*ret_quota_usec = NEAP_UNLIMITED;
		return 0;
	}
	if (neap_int_parse(quota, &usec, NULL) < 0 || usec < NEAP_UNLIMITED)
		return neap_error_set(err, NEAP_EINVAL, "cpu.max '%.40s' is no quota",
				      text);
	*ret_quota_usec = usec;
	return 0;
}

int64_t neap_milli_to_shares(int64_t milli)
{
	/* Clamped first: the product would overflow. */
	milli = clamp(milli, 0, (int64_t)SHARES_MAX * 1000 / 1024);
	return clamp(milli * 1024 / 1000, SHARES_MIN, SHARES_MAX);
}

int64_t neap_milli_to_quota(int64_t milli)
{
	int64_t quota = 0;

	if (milli <= 0)
		return NEAP_UNLIMITED;
	if (__builtin_mul_overflow(milli, (int64_t)(NEAP_CFS_PERIOD_USEC / 1000), &quota))
		return INT64_MAX;
	return quota < NEAP_QUOTA_MIN_USEC ? NEAP_QUOTA_MIN_USEC : quota;
}
