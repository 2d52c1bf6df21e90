/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of keys, and conversion of values to and from kernel files. */
#include "engine/machine/key.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/quantity.h"

/* The kernel keeps a quota and quota + burst below 2^44 microseconds. */
#define QUOTA_MAX_USEC ((INT64_C(1) << 44) - 1)
#define USEC_PER_MILLI (NEAP_CFS_PERIOD_USEC / 1000)
/* cgroup v1 shows "unlimited" as the largest multiple of the page; 64 KiB pages are the
 * largest. */
#define MEMORY_UNLIMITED_FROM (INT64_MAX - 65535)
/* The kernel refuses a larger number of processes (PID_MAX_LIMIT of 64 bits). */
#define PIDS_LIMIT (4 * 1024 * 1024)
/* The kernel's cpu.shares of a group with cpu.idle 1; its cpu.weight reads 0. */
#define IDLE_SHARES 3
#define SHARES_MIN  2
#define SHARES_MAX  262144
#define WEIGHT_MAX  10000

/* --- the numbers of Kubernetes, cgroup v1 and cgroup v2 --- */

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

/* --- the table of keys --- */

static const struct neap_key_info keys[NEAP_KEY_COUNT] = {
	[NEAP_KEY_CPU_MAX_MILLI] =
		{
			.name = "cpu.max_milli",
			.v1_file = "cpu.cfs_quota_us",
			.v2_file = "cpu.max",
			.controller = NEAP_CTL_CPU,
			.has_unlimited = true,
			.min = NEAP_QUOTA_MIN_USEC / USEC_PER_MILLI,
			.max = QUOTA_MAX_USEC / USEC_PER_MILLI,
			.merge = NEAP_MERGE_LOWEST,
			.is_leveled = true,
			.is_for_policies = true,
			.doc = "CPU time it may use in thousandths of a CPU; -1: no limit",
		},
	[NEAP_KEY_CPU_BURST_USEC] =
		{
			.name = "cpu.burst_usec",
			.v1_file = "cpu.cfs_burst_us",
			.v2_file = "cpu.max.burst",
			.controller = NEAP_CTL_CPU,
			.max = 100000000,
			.merge = NEAP_MERGE_LOWEST,
			.is_leveled = true,
			.is_for_policies = true,
			.doc = "unused microseconds per period of 100 ms that may be "
			       "saved up; never above the quota in force",
		},
	[NEAP_KEY_CPU_SHARES] =
		{
			.name = "cpu.shares",
			.v1_file = "cpu.shares",
			.v2_file = "cpu.weight",
			.controller = NEAP_CTL_CPU,
			.min = 2,
			.max = 262144,
			.merge = NEAP_MERGE_FIRST,
			.is_for_policies = true,
			.doc = "weight against siblings; 1024 is the kernel's default",
		},
	[NEAP_KEY_CPU_IDLE] =
		{
			.name = "cpu.idle",
			.v1_file = "cpu.idle",
			.v2_file = "cpu.idle",
			.controller = NEAP_CTL_CPU,
			.max = 1,
			.merge = NEAP_MERGE_HIGHEST,
			.is_for_policies = true,
			.doc = "1: runs only when nothing else wants the CPU; not on "
			       "directories whose cpu.shares a kubelet sets",
		},
	[NEAP_KEY_CPUSET_CPUS] =
		{
			.name = "cpuset.cpus",
			.v1_file = "cpuset.cpus",
			.v2_file = "cpuset.cpus",
			.controller = NEAP_CTL_CPUSET,
			.form = NEAP_FORM_CPUSET,
			.max = NEAP_CPU_MAX - 1,
			.merge = NEAP_MERGE_LOWEST,
			.is_leveled = true,
			.is_for_policies = true,
			.doc = "CPUs the group may run on, a CPU set",
		},
	[NEAP_KEY_CPUSET_MEMS] =
		{
			.name = "cpuset.mems",
			.v1_file = "cpuset.mems",
			.v2_file = "cpuset.mems",
			.controller = NEAP_CTL_CPUSET,
			.form = NEAP_FORM_CPUSET,
			.max = NEAP_CPU_MAX - 1,
			.merge = NEAP_MERGE_LOWEST,
			.is_leveled = true,
			.doc = "NUMA nodes the group may take memory from",
		},
	[NEAP_KEY_MEMORY_MAX_BYTES] =
		{
			.name = "memory.max_bytes",
			.v1_file = "memory.limit_in_bytes",
			.v2_file = "memory.max",
			.controller = NEAP_CTL_MEMORY,
			.has_unlimited = true,
			.max = INT64_MAX,
			.merge = NEAP_MERGE_LOWEST,
			.is_leveled = true,
			.is_for_policies = true,
			.doc = "memory limit in bytes; -1: unlimited",
		},
	[NEAP_KEY_MEMORY_HIGH_BYTES] =
		{
			.name = "memory.high_bytes",
			.v1_file = "memory.high",
			.v2_file = "memory.high",
			.controller = NEAP_CTL_MEMORY,
			.has_unlimited = true,
			.max = INT64_MAX,
			.merge = NEAP_MERGE_LOWEST,
			.is_leveled = true,
			.is_for_policies = true,
			.doc = "bytes above which it is slowed and reclaimed from; -1: "
			       "unlimited",
		},
	[NEAP_KEY_MEMORY_LOW_BYTES] =
		{
			.name = "memory.low_bytes",
			.v1_file = "memory.low",
			.v2_file = "memory.low",
			.controller = NEAP_CTL_MEMORY,
			.has_unlimited = true,
			.max = INT64_MAX,
			.merge = NEAP_MERGE_HIGHEST,
			.is_leveled = true,
			.is_for_policies = true,
			.doc = "bytes that are reclaimed only as a last resort; -1: all",
		},
	[NEAP_KEY_MEMORY_MIN_BYTES] =
		{
			.name = "memory.min_bytes",
			.v1_file = "memory.min",
			.v2_file = "memory.min",
			.controller = NEAP_CTL_MEMORY,
			.has_unlimited = true,
			.max = INT64_MAX,
			.merge = NEAP_MERGE_HIGHEST,
			.is_leveled = true,
			.is_for_policies = true,
			.doc = "bytes that are never reclaimed; -1: all",
		},
	[NEAP_KEY_PIDS_MAX] =
		{
			.name = "pids.max",
			.v1_file = "pids.max",
			.v2_file = "pids.max",
			.controller = NEAP_CTL_PIDS,
			.has_unlimited = true,
			.max = PIDS_LIMIT,
			.merge = NEAP_MERGE_LOWEST,
			.is_leveled = true,
			.doc = "processes and threads it may have; -1: no limit",
		},
};

static const char *const controllers[NEAP_CTL_COUNT] = {
	[NEAP_CTL_CPU] = "cpu",         [NEAP_CTL_CPUACCT] = "cpuacct",
	[NEAP_CTL_CPUSET] = "cpuset",   [NEAP_CTL_MEMORY] = "memory",
	[NEAP_CTL_IO] = "io",           [NEAP_CTL_PIDS] = "pids",
	[NEAP_CTL_UNIFIED] = "unified",
};

const struct neap_key_info *neap_key_get(enum neap_key key)
{
	return &keys[key];
}

enum neap_key neap_key_find(const char *name)
{
	for (int key = 0; key < NEAP_KEY_COUNT; key++)
		if (strcmp(keys[key].name, name) == 0)
			return (enum neap_key)key;
	return NEAP_KEY_COUNT;
}

const char *neap_controller_name(enum neap_controller controller)
{
	return controllers[controller];
}

int neap_value_check(enum neap_key key, const struct neap_value *value,
		     struct neap_error *err)
{
	const struct neap_key_info *info = &keys[key];
	int64_t number = value->number;

	if (value->form != info->form)
		return neap_error_set(err, NEAP_EINVAL, "%s takes a %s", info->name,
				      info->form == NEAP_FORM_CPUSET ? "CPU set"
								     : "number");
	if (info->form == NEAP_FORM_CPUSET ||
	    (info->has_unlimited && number == NEAP_UNLIMITED))
		return 0;
	if (number < info->min || number > info->max)
		return neap_error_set(err, NEAP_EINVAL,
				      "%s cannot be %" PRId64 ": %" PRId64 "..%" PRId64
				      "%s",
				      info->name, number, info->min, info->max,
				      info->has_unlimited ? ", or -1 for unlimited" : "");
	return 0;
}

bool neap_value_is_equal(enum neap_key key, const struct neap_value *a,
			 const struct neap_value *b)
{
	if (keys[key].form == NEAP_FORM_CPUSET)
		return neap_cpuset_is_equal(&a->cpus, &b->cpus);
	return a->number == b->number;
}

/* The kernel rounds memory limits down to whole pages; how large a page is, is not asked.
 */
static bool is_rounded_to_page(int64_t wished, int64_t present)
{
	static const int64_t pages[] = {4096, 16384, 65536};

	if (wished < 0 || present < 0)
		return false;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(pages); i++)
		if (present == wished / pages[i] * pages[i])
			return true;
	return false;
}

bool neap_value_is_in_force(enum neap_key key, bool v2, enum neap_weight_curve curve,
			    const struct neap_value *wished,
			    const struct neap_value *present)
{
	int64_t wished_weight = 0, present_weight = 0;

	if (neap_value_is_equal(key, wished, present))
		return true;
	if (keys[key].controller == NEAP_CTL_MEMORY)
		return is_rounded_to_page(wished->number, present->number);
	if (key != NEAP_KEY_CPU_SHARES || !v2)
		return false;
	/* The value read came through the linear curve (neap_value_parse), whatever was
	 * written. */
	return neap_shares_to_weight(wished->number, curve, &wished_weight, NULL) == 0 &&
	       neap_shares_to_weight(present->number, NEAP_WEIGHT_LINEAR, &present_weight,
				     NULL) == 0 &&
	       wished_weight == present_weight;
}

/* Leading and trailing blanks off; false when it does not fit. */
static bool trim(const char *text, char *buf, size_t size)
{
	static const char blanks[] = " \t\r\n";
	size_t len;

	text += strspn(text, blanks);
	len = strlen(text);
	while (len > 0 && strchr(blanks, text[len - 1]) != NULL)
		len--;
	if (len >= size)
		return false;
	memcpy(buf, text, len);
	buf[len] = '\0';
	return true;
}

static int parse_int(const struct neap_key_info *info, const char *text, int64_t *ret,
		     struct neap_error *err)
{
	char word[64];

	if (!trim(text, word, sizeof(word)) || neap_int_parse(word, ret, NULL) < 0)
		return neap_error_set(err, NEAP_EINVAL, "%s reads '%.40s', not a number",
				      info->name, text);
	return 0;
}

/* "max 100000", "150000 100000": a quota per period, as a rate. */
static int parse_cpu_max(const char *text, int64_t *ret_milli, struct neap_error *err)
{
	const struct neap_key_info *info = &keys[NEAP_KEY_CPU_MAX_MILLI];
	int64_t quota = 0, period = 0;
	char fields[64];
	int rc = neap_cpu_max_parse(text, &quota, err);

	if (rc < 0)
		return rc;
	if (quota == NEAP_UNLIMITED) {
		*ret_milli = NEAP_UNLIMITED;
		return 0;
	}
	if (!trim(text, fields, sizeof(fields)))
		return neap_error_set(err, NEAP_EINVAL, "cpu.max '%.40s' is too long",
				      text);
	rc = parse_int(info, fields + strcspn(fields, " \t\n"), &period, err);
	if (rc < 0)
		return rc;
	if (period <= 0 || quota > QUOTA_MAX_USEC)
		return neap_error_set(err, NEAP_EINVAL, "cpu.max '%.40s' is out of range",
				      text);
	*ret_milli = quota * 1000 / period;
	return 0;
}

/* The lowest shares that give the weight, so that reading, writing and reading again
 * change nothing; neap_weight_to_shares truncates and would lose one weight each time. */
static int parse_weight(const char *text, int64_t *ret_shares, struct neap_error *err)
{
	int64_t weight = 0, shares = 0, again = 0;
	int rc = parse_int(&keys[NEAP_KEY_CPU_SHARES], text, &weight, err);

	if (rc < 0)
		return rc;
	if (weight == 0) {
		*ret_shares = IDLE_SHARES;
		return 0;
	}
	rc = neap_weight_to_shares(weight, &shares, err);
	if (rc < 0)
		return rc;
	if (neap_shares_to_weight(shares, NEAP_WEIGHT_LINEAR, &again, NULL) == 0 &&
	    again < weight)
		shares++;
	*ret_shares = shares;
	return 0;
}

static bool is_max(const char *text)
{
	char word[64];

	return trim(text, word, sizeof(word)) && strcmp(word, "max") == 0;
}

static int parse_memory(const struct neap_key_info *info, const char *text, int64_t *ret,
			struct neap_error *err)
{
	int rc;

	if (is_max(text)) {
		*ret = NEAP_UNLIMITED;
		return 0;
	}
	rc = parse_int(info, text, ret, err);
	if (rc == 0 && (*ret < 0 || *ret >= MEMORY_UNLIMITED_FROM))
		*ret = NEAP_UNLIMITED;
	return rc;
}

static int parse_number(enum neap_key key, bool v2, const char *text, int64_t *ret,
			struct neap_error *err)
{
	const struct neap_key_info *info = &keys[key];
	int rc;

	if (info->controller == NEAP_CTL_MEMORY)
		return parse_memory(info, text, ret, err);
	if (key == NEAP_KEY_PIDS_MAX && is_max(text)) {
		*ret = NEAP_UNLIMITED;
		return 0;
	}
	if (key == NEAP_KEY_CPU_SHARES && v2)
		return parse_weight(text, ret, err);
	if (key == NEAP_KEY_CPU_MAX_MILLI && v2)
		return parse_cpu_max(text, ret, err);
	rc = parse_int(info, text, ret, err);
	if (rc < 0 || key != NEAP_KEY_CPU_MAX_MILLI)
		return rc;
	*ret = *ret < 0 ? NEAP_UNLIMITED : *ret / USEC_PER_MILLI;
	return 0;
}

int neap_value_parse(enum neap_key key, bool v2, const char *text, struct neap_value *ret,
		     struct neap_error *err)
{
	int64_t number = 0;
	int rc;

	if (keys[key].form == NEAP_FORM_CPUSET) {
		rc = neap_cpuset_parse_kernel(&ret->cpus, text, err);
		if (rc < 0) {
			(void)neap_error_wrap(err, "%s",
					      keys[key].name); /* err may be NULL */
			return rc;
		}
	} else {
		rc = parse_number(key, v2, text, &number, err);
		if (rc < 0)
			return rc;
	}
	ret->form = keys[key].form;
	ret->number = number;
	return 0;
}

/* Both fields are always written: a quota alone would apply to the present period, which
 * may differ, and a plain file in a test would not read like cpu.max. */
static int format_cpu_max(bool v2, int64_t milli, char *buf, size_t size)
{
	int64_t quota = neap_milli_to_quota(milli);

	if (!v2)
		return snprintf(buf, size, "%" PRId64, quota);
	if (quota == NEAP_UNLIMITED)
		return snprintf(buf, size, "max %d", NEAP_CFS_PERIOD_USEC);
	return snprintf(buf, size, "%" PRId64 " %d", quota, NEAP_CFS_PERIOD_USEC);
}

size_t neap_value_format(enum neap_key key, bool v2, enum neap_weight_curve curve,
			 const struct neap_value *value, char *buf, size_t size)
{
	int64_t number = value->number;
	int len;

	if (keys[key].form == NEAP_FORM_CPUSET)
		return neap_cpuset_format(&value->cpus, buf, size);
	/* v1 files of a vendor kernel take "max" like those of v2; only the old limit
	 * file wants -1. */
	if (key == NEAP_KEY_CPU_MAX_MILLI)
		len = format_cpu_max(v2, number, buf, size);
	else if (keys[key].has_unlimited && number == NEAP_UNLIMITED &&
		 (v2 || key != NEAP_KEY_MEMORY_MAX_BYTES))
		len = snprintf(buf, size, "max");
	else {
		if (key == NEAP_KEY_CPU_SHARES && v2)
			(void)neap_shares_to_weight(number, curve, &number,
						    NULL); /* checked */
		len = snprintf(buf, size, "%" PRId64, number);
	}
	return len < 0 ? 0 : (size_t)len;
}

size_t neap_value_print(enum neap_key key, const struct neap_value *value, char *buf,
			size_t size)
{
	int len;

	if (keys[key].form == NEAP_FORM_CPUSET)
		return neap_cpuset_format(&value->cpus, buf, size);
	if (keys[key].has_unlimited && value->number == NEAP_UNLIMITED)
		len = snprintf(buf, size, "max");
	else
		len = snprintf(buf, size, "%" PRId64, value->number);
	return len < 0 ? 0 : (size_t)len;
}

bool neap_number_is_above(enum neap_key key, int64_t a, int64_t b)
{
	if (keys[key].has_unlimited && (a == NEAP_UNLIMITED || b == NEAP_UNLIMITED))
		return a == NEAP_UNLIMITED && b != NEAP_UNLIMITED;
	return a > b;
}

bool neap_value_enlarge(enum neap_key key, const struct neap_value *old_value,
			const struct neap_value *new_value, struct neap_value *ret)
{
	if (keys[key].form == NEAP_FORM_CPUSET) {
		if (neap_cpuset_is_subset(&new_value->cpus, &old_value->cpus))
			return false;
		ret->form = NEAP_FORM_CPUSET;
		ret->number = 0;
		neap_cpuset_or(&ret->cpus, &old_value->cpus, &new_value->cpus);
		return true;
	}
	if (!neap_number_is_above(key, new_value->number, old_value->number))
		return false;
	ret->form = NEAP_FORM_NUMBER;
	ret->number = new_value->number;
	return true;
}
