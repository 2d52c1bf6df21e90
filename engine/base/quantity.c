/* SPDX-License-Identifier: Apache-2.0
 *
 * Kubernetes quantities, durations, integers. The quantity grammar is that of
 * apimachinery: a signed decimal number, then n u m k M G T P E, Ki .. Ei, or an exponent
 * ("1e3"; "1E" is exa). Rounding goes away from zero. Exact integer arithmetic
 * throughout, no floating point. */
#include "engine/base/quantity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef unsigned __int128 u128;

/* 20 digits times the factor 2^60 fit 128 bits, and so do 24 digits without it; a
 * canonical text has no more. Further digits only mean "and a little more", which matters
 * for rounding up. */
#define DIGITS_MAX     24
#define SHIFTED_MAX    ((u128)UINT64_C(10000000000) * UINT64_C(10000000000))
#define EXPONENT_MAX   1000 /* far beyond any result; keeps the arithmetic small */
#define EXPONENT_SHOWN 900  /* of a canonical text, so that it is read as what it is */

struct number {
	bool is_negative;
	bool has_more; /* digits that were dropped were not all 0 */
	u128 mantissa;
	int exponent; /* of 10 */
	int shift;    /* of 2 */
};

static const struct {
	char text[3];
	int exponent, shift;
} suffixes[] = {
	{"", 0, 0},    {"n", -9, 0},  {"u", -6, 0},  {"m", -3, 0},
	{"k", 3, 0},   {"M", 6, 0},   {"G", 9, 0},   {"T", 12, 0},
	{"P", 15, 0},  {"E", 18, 0},  {"Ki", 0, 10}, {"Mi", 0, 20},
	{"Gi", 0, 30}, {"Ti", 0, 40}, {"Pi", 0, 50}, {"Ei", 0, 60},
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int bad_quantity(struct neap_error *err, const char *text)
{
	return neap_error_set(
		err, NEAP_EINVAL,
		"'%.40s' is not a quantity: use a form like 500m, 2, 1.5, 128Mi", text);
}

static int too_large(struct neap_error *err, const char *text)
{
	return neap_error_set(err, NEAP_EINVAL, "'%.40s' is too large", text);
}

static void take_digit(struct number *n, int digit, int *digits, bool is_fraction)
{
	if (*digits < DIGITS_MAX) {
		n->mantissa = n->mantissa * 10 + (unsigned)digit;
		if (n->mantissa)
			(*digits)++;
		n->exponent -= is_fraction;
		return;
	}
	n->has_more |= digit != 0;
	n->exponent += !is_fraction;
}

/* Sign, digits, point, digits. Returns where it ended, NULL when there was no digit. */
static const char *take_number(const char *s, struct number *n)
{
	int digits = 0;
	bool any = false;

	if (*s == '+' || *s == '-')
		n->is_negative = *s++ == '-';
	for (; is_digit(*s); s++, any = true)
		take_digit(n, *s - '0', &digits, false);
	if (*s == '.')
		for (s++; is_digit(*s); s++, any = true)
			take_digit(n, *s - '0', &digits, true);
	return any ? s : NULL;
}

/* Makes room for shifting. */
static void make_room(struct number *n)
{
	for (; n->shift && n->mantissa >= SHIFTED_MAX; n->exponent++) {
		n->has_more |= n->mantissa % 10 != 0;
		n->mantissa /= 10;
	}
}

static bool take_suffix(const char *s, struct number *n)
{
	int exponent = 0, sign = 1;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(suffixes); i++) {
		if (strcmp(s, suffixes[i].text) != 0)
			continue;
		n->exponent += suffixes[i].exponent;
		n->shift = suffixes[i].shift;
		make_room(n);
		return true;
	}
	if (*s != 'e' && *s != 'E')
		return false;
	s++;
	if (*s == '+' || *s == '-')
		sign = *s++ == '-' ? -1 : 1;
	if (!is_digit(*s))
		return false;
	for (; is_digit(*s); s++)
		if (exponent < EXPONENT_MAX)
			exponent = exponent * 10 + (*s - '0');
	n->exponent += sign * exponent;
	return !*s;
}

/* mantissa * 10^exponent * 2^shift, rounded up; false when above INT64_MAX. */
static bool scale(const struct number *n, uint64_t *ret)
{
	u128 value = n->mantissa << n->shift, rest = 0, by = 1;
	int exponent = n->exponent;

	for (; exponent > 0 && value; exponent--) {
		if (value > INT64_MAX)
			return false;
		value *= 10;
	}
	for (; exponent < 0 && by <= value / 10; exponent++)
		by *= 10;
	if (exponent < 0) { /* by * 10 is above value: less than 1 */
		*ret = value || n->has_more;
		return true;
	}
	rest = value % by;
	value /= by;
	if (rest || n->has_more)
		value++;
	if (value > INT64_MAX)
		return false;
	*ret = (uint64_t)value;
	return true;
}

static int parse(const char *text, int extra_exponent, int64_t *ret,
		 struct neap_error *err)
{
	struct number n = {0};
	uint64_t value;
	const char *end;

	/* Longer than anything sensible; bounds the work and the exponent. */
	if (strnlen(text, 256) >= 256)
		return bad_quantity(err, text);
	end = take_number(text, &n);
	if (!end || !take_suffix(end, &n))
		return bad_quantity(err, text);
	n.exponent += extra_exponent;
	if (!scale(&n, &value))
		return too_large(err, text);
	*ret = n.is_negative ? -(int64_t)value : (int64_t)value;
	return 0;
}

int neap_quantity_parse_milli(const char *text, int64_t *ret_milli,
			      struct neap_error *err)
{
	return parse(text, 3, ret_milli, err);
}

int neap_quantity_parse_units(const char *text, int64_t *ret_units,
			      struct neap_error *err)
{
	return parse(text, 0, ret_units, err);
}

/* --- as a kube-apiserver writes them --- */

/* Milli: finer fractions are rounded up. */
#define FINEST (-3)

struct digits {
	u128 value;
	int exponent; /* of 10 */
};

/* Without zeros at the end; of binary amounts up to the point. */
static struct digits digits_of(const struct number *n)
{
	struct digits d = {n->mantissa << n->shift, n->exponent};
	u128 most = INT64_MAX;

	for (d.value += n->has_more; d.exponent < FINEST && d.value > 1; d.exponent++)
		d.value = d.value / 10 + (d.value % 10 != 0);
	if (d.exponent < FINEST)
		d.exponent = FINEST;
	for (; d.value % 10 == 0 && (!n->shift || d.exponent < 0); d.exponent++)
		d.value /= 10;
	if (!n->shift)
		return d;
	for (int i = d.exponent; i < 0; i++)
		most *= 10;
	return d.exponent > 0 || d.value > most ? (struct digits){INT64_MAX, 0} : d;
}

static void put_digits(u128 value, char *buf, size_t size)
{
	static const uint64_t part = UINT64_C(10000000000000000000);

	if (value < part)
		(void)snprintf(buf, size, "%" PRIu64, (uint64_t)value);
	else
		(void)snprintf(buf, size, "%" PRIu64 "%019" PRIu64,
			       (uint64_t)(value / part), (uint64_t)(value % part));
}

/* Returns the suffix of that power of ten and two; NULL when there is none. */
static const char *find_suffix(int exponent, int shift)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(suffixes); i++)
		if (suffixes[i].exponent == exponent && suffixes[i].shift == shift)
			return suffixes[i].text;
	return NULL;
}

static void put_decimal(struct digits d, bool has_exponent, char *buf, size_t size)
{
	const char *suffix;
	size_t len;

	for (; d.exponent % 3 != 0; d.exponent--)
		d.value *= 10;
	put_digits(d.value, buf, size);
	len = strlen(buf);
	suffix = has_exponent && d.exponent ? NULL : find_suffix(d.exponent, 0);
	if (suffix)
		(void)snprintf(buf + len, size - len, "%s", suffix);
	else
		(void)snprintf(buf + len, size - len, "e%d", d.exponent);
}

static void put_binary(u128 value, char *buf, size_t size)
{
	int shift = 0;
	size_t len;

	for (; value % 1024 == 0 && shift < 60; shift += 10)
		value /= 1024;
	put_digits(value, buf, size);
	len = strlen(buf);
	(void)snprintf(buf + len, size - len, "%s", find_suffix(0, shift));
}

/* Returns where the number ends, with its suffix in *n; NULL: text is not a quantity. */
static const char *take_amount(const char *text, struct number *n)
{
	const char *end = strnlen(text, 256) < 256 ? take_number(text, n) : NULL;

	return end && take_suffix(end, n) ? end : NULL;
}

int neap_quantity_canonical(const char *text, char buf[NEAP_QUANTITY_SIZE],
			    struct neap_error *err)
{
	size_t size = NEAP_QUANTITY_SIZE;
	struct number n = {0};
	struct digits d;
	const char *end = take_amount(text, &n);
	bool has_exponent;

	if (!end)
		return bad_quantity(err, text);
	if (!n.mantissa) {
		(void)snprintf(buf, size, "0");
		return 0;
	}
	d = digits_of(&n);
	if (d.exponent > EXPONENT_SHOWN)
		return too_large(err, text);
	if (n.is_negative) {
		*buf++ = '-';
		size--;
	}
	has_exponent = (*end == 'e' || *end == 'E') && end[1];
	if (n.shift && d.exponent == 0 && d.value >= 1024)
		put_binary(d.value, buf, size);
	else
		put_decimal(d, has_exponent, buf, size);
	return 0;
}

/* --- which is more --- */

static int order_of(u128 a, u128 b)
{
	return (a > b) - (a < b);
}

/* Compares two amounts above 0. */
static int order_of_digits(struct digits a, struct digits b)
{
	int a_size = a.exponent, b_size = b.exponent;

	for (u128 left = a.value; left; left /= 10)
		a_size++;
	for (u128 left = b.value; left; left /= 10)
		b_size++;
	if (a_size != b_size)
		return a_size < b_size ? -1 : 1;
	/* Aligns the digits before the point: the shorter number gets zeros. */
	for (; a.exponent > b.exponent; a.exponent--)
		a.value *= 10;
	for (; b.exponent > a.exponent; b.exponent--)
		b.value *= 10;
	return order_of(a.value, b.value);
}

bool neap_quantity_compare(const char *a, const char *b, int *ret)
{
	struct number left = {0}, right = {0};
	int signs[2];

	if (!take_amount(a, &left) || !take_amount(b, &right))
		return false;
	signs[0] = !left.mantissa ? 0 : left.is_negative ? -1 : 1;
	signs[1] = !right.mantissa ? 0 : right.is_negative ? -1 : 1;
	if (signs[0] != signs[1] || signs[0] == 0)
		*ret = signs[0] - signs[1];
	else
		*ret = signs[0] * order_of_digits(digits_of(&left), digits_of(&right));
	return true;
}

bool neap_quantity_is_same(const char *a, const char *b)
{
	int order = 0;

	return strcmp(a, b) == 0 || (neap_quantity_compare(a, b, &order) && order == 0);
}

static uint64_t magnitude(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

/* Divides by base as often as it goes without a rest; names has one suffix per step. */
static char *format_steps(int64_t value, unsigned base, const char *const names[],
			  size_t count, char *buf, size_t size)
{
	uint64_t left = magnitude(value);
	size_t step = 0;

	while (left && left % base == 0 && step + 1 < count) {
		left /= base;
		step++;
	}
	if (!left)
		(void)snprintf(buf, size, "0");
	else
		(void)snprintf(buf, size, "%s%" PRIu64 "%s", value < 0 ? "-" : "", left,
			       names[step]);
	return buf;
}

char *neap_quantity_format_milli(int64_t milli, char *buf, size_t size)
{
	static const char *const names[] = {"m", "", "k", "M", "G", "T", "P"};

	return format_steps(milli, 1000, names, NEAP_ARRAY_LEN(names), buf, size);
}

char *neap_quantity_format_bytes(int64_t bytes, char *buf, size_t size)
{
	static const char *const names[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};

	return format_steps(bytes, 1024, names, NEAP_ARRAY_LEN(names), buf, size);
}

char *neap_bytes_format_human(int64_t bytes, char *buf, size_t size)
{
	static const char *const names[] = {"B",   "KiB", "MiB", "GiB",
					    "TiB", "PiB", "EiB"};
	uint64_t left = magnitude(bytes);
	const char *sign = bytes < 0 ? "-" : "";
	double value = (double)left;
	size_t step = 0;
	int digits;

	if (left < 1000) {
		(void)snprintf(buf, size, "%s%" PRIu64 " B", sign, left);
		return buf;
	}
	while (value >= 999.5 && step + 1 < NEAP_ARRAY_LEN(names)) {
		value /= 1024;
		step++;
	}
	digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
	(void)snprintf(buf, size, "%s%.*f %s", sign, digits, value, names[step]);
	return buf;
}

/* Durations */

static const struct {
	const char *name;
	int64_t nsec;
} units[] = {
	{"h", INT64_C(3600000000000)},
	{"m", INT64_C(60000000000)},
	{"s", 1000000000},
	{"ms", 1000000},
	{"us", 1000},
	{"\302\265s", 1000}, /* the micro sign, and the Greek letter */
	{"\316\274s", 1000},
	{"ns", 1},
};

static int bad_duration(struct neap_error *err, const char *text)
{
	return neap_error_set(
		err, NEAP_EINVAL,
		"'%.40s' is not a duration: use a form like 90s, 1m30s, 500ms, 2h", text);
}

/* One "1.5h"; a number without a unit is seconds and must be all there is. */
static int take_duration(const char *text, const char **at, int64_t *sum,
			 struct neap_error *err)
{
	struct number n = {0};
	const char *s = *at, *unit;
	int64_t nsec = 0;
	size_t len;
	uint64_t value;

	if (!is_digit(*s) && *s != '.')
		return bad_duration(err, text);
	unit = take_number(s, &n);
	if (!unit)
		return bad_duration(err, text);
	len = strcspn(unit, "0123456789.");
	if (!len && s == text && !*unit)
		nsec = 1000000000;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(units); i++)
		if (strlen(units[i].name) == len && !strncmp(units[i].name, unit, len))
			nsec = units[i].nsec;
	if (!nsec)
		return bad_duration(err, text);

	/* 20 digits and 42 bits of unit fit. */
	n.mantissa *= (u128)nsec;
	n.exponent -= 3;
	if (!scale(&n, &value) || __builtin_add_overflow(*sum, (int64_t)value, sum))
		return too_large(err, text);
	*at = unit + len;
	return 0;
}

int neap_duration_parse(const char *text, int64_t *ret_usec, struct neap_error *err)
{
	const char *at;
	int64_t sum = 0;
	int r;

	if (*text == '-')
		return neap_error_set(err, NEAP_EINVAL,
				      "'%.40s': a duration cannot be negative", text);
	if (strnlen(text, 256) >= 256)
		return bad_duration(err, text);
	text += *text == '+';
	at = text;
	do {
		r = take_duration(text, &at, &sum, err);
		if (r < 0)
			return r;
	} while (*at);
	*ret_usec = sum;
	return 0;
}

char *neap_duration_format(int64_t usec, char *buf, size_t size)
{
	uint64_t left = magnitude(usec);
	size_t len = 0;

	if (size)
		buf[0] = '\0';
	for (size_t i = 0; i < 5 && len < size; i++) {
		uint64_t unit = (uint64_t)units[i].nsec / 1000;

		if (left < unit)
			continue;
		len += (size_t)snprintf(buf + len, size - len, "%s%" PRIu64 "%s",
					usec < 0 && !len ? "-" : "", left / unit,
					units[i].name);
		left %= unit;
	}
	if (!usec)
		(void)snprintf(buf, size, "0s");
	return buf;
}

int neap_int_parse(const char *text, int64_t *ret, struct neap_error *err)
{
	const char *s = text;
	bool is_negative = *s == '-';
	int64_t value = 0;

	s += is_negative;
	if (!is_digit(*s))
		return neap_error_set(err, NEAP_EINVAL, "'%.40s' is not a whole number",
				      text);
	for (; is_digit(*s); s++) {
		int digit = is_negative ? '0' - *s : *s - '0';

		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return too_large(err, text);
	}
	s += strspn(s, " \t\r\n");
	if (*s)
		return neap_error_set(err, NEAP_EINVAL, "'%.40s' is not a whole number",
				      text);
	*ret = value;
	return 0;
}
