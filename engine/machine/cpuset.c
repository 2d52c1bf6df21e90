/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU sets. Words at and above len are never read: a set on the stack is initialised by
 * len = 0, and a word is zeroed when len grows over it. Operations keep len at the
 * highest used word where that costs nothing extra. */
#include "engine/machine/cpuset.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"

#define WORD_BITS     64
#define RANGE_END_MAX 4096 /* of user text; the reference's limit */

/* Length without the empty words at the end. */
static uint32_t tight(const struct neap_cpuset *set, uint32_t len)
{
	while (len && !set->word[len - 1])
		len--;
	return len;
}

static void grow(struct neap_cpuset *set, uint32_t len)
{
	if (len <= set->len)
		return;
	memset(set->word + set->len, 0, (len - set->len) * sizeof(set->word[0]));
	set->len = len;
}

void neap_cpuset_clear(struct neap_cpuset *set)
{
	set->len = 0;
}

void neap_cpuset_copy(struct neap_cpuset *to, const struct neap_cpuset *from)
{
	to->len = from->len;
	memmove(to->word, from->word, from->len * sizeof(from->word[0]));
}

bool neap_cpuset_add(struct neap_cpuset *set, int os_cpu)
{
	if (os_cpu < 0 || os_cpu >= NEAP_CPU_MAX)
		return false;
	grow(set, (uint32_t)os_cpu / WORD_BITS + 1);
	set->word[os_cpu / WORD_BITS] |= UINT64_C(1) << (os_cpu % WORD_BITS);
	return true;
}

void neap_cpuset_add_range(struct neap_cpuset *set, int first, int last)
{
	uint64_t from, to;
	int i, end;

	if (first < 0)
		first = 0;
	if (last >= NEAP_CPU_MAX)
		last = NEAP_CPU_MAX - 1;
	if (last < first)
		return;
	grow(set, (uint32_t)last / WORD_BITS + 1);
	from = UINT64_MAX << (first % WORD_BITS);
	to = UINT64_MAX >> (WORD_BITS - 1 - last % WORD_BITS);
	i = first / WORD_BITS;
	end = last / WORD_BITS;
	if (i == end) {
		set->word[i] |= from & to;
		return;
	}
	set->word[i++] |= from;
	while (i < end)
		set->word[i++] = UINT64_MAX;
	set->word[end] |= to;
}

void neap_cpuset_remove(struct neap_cpuset *set, int os_cpu)
{
	if (!neap_cpuset_has(set, os_cpu))
		return;
	set->word[os_cpu / WORD_BITS] &= ~(UINT64_C(1) << (os_cpu % WORD_BITS));
	set->len = tight(set, set->len);
}

bool neap_cpuset_has(const struct neap_cpuset *set, int os_cpu)
{
	if (os_cpu < 0 || (uint32_t)os_cpu / WORD_BITS >= set->len)
		return false;
	return set->word[os_cpu / WORD_BITS] >> (os_cpu % WORD_BITS) & 1;
}

bool neap_cpuset_is_empty(const struct neap_cpuset *set)
{
	return tight(set, set->len) == 0;
}

bool neap_cpuset_is_equal(const struct neap_cpuset *a, const struct neap_cpuset *b)
{
	uint32_t len = tight(a, a->len);

	return len == tight(b, b->len) &&
	       !memcmp(a->word, b->word, len * sizeof(a->word[0]));
}

bool neap_cpuset_is_subset(const struct neap_cpuset *a, const struct neap_cpuset *b)
{
	for (uint32_t i = 0; i < a->len; i++)
		if (a->word[i] & ~(i < b->len ? b->word[i] : 0))
			return false;
	return true;
}

bool neap_cpuset_intersects(const struct neap_cpuset *a, const struct neap_cpuset *b)
{
	uint32_t len = a->len < b->len ? a->len : b->len;

	for (uint32_t i = 0; i < len; i++)
		if (a->word[i] & b->word[i])
			return true;
	return false;
}

int neap_cpuset_count(const struct neap_cpuset *set)
{
	int count = 0;

	for (uint32_t i = 0; i < set->len; i++)
		count += __builtin_popcountll(set->word[i]);
	return count;
}

/* The lowest CPU at or above from whose bit is want; -1 (members) or the end of the words
 * (others) when there is none. */
static int find_bit(const struct neap_cpuset *set, int from, bool want)
{
	uint64_t flip = want ? 0 : UINT64_MAX, word;
	uint32_t i = (uint32_t)from / WORD_BITS;

	for (uint64_t keep = UINT64_MAX << (from % WORD_BITS); i < set->len; i++) {
		word = (set->word[i] ^ flip) & keep;
		if (word)
			return (int)i * WORD_BITS + __builtin_ctzll(word);
		keep = UINT64_MAX;
	}
	return want ? -1 : (int)set->len * WORD_BITS;
}

int neap_cpuset_next(const struct neap_cpuset *set, int after)
{
	if (after >= NEAP_CPU_MAX - 1)
		return -1;
	return find_bit(set, after < 0 ? 0 : after + 1, true);
}

int neap_cpuset_last(const struct neap_cpuset *set)
{
	uint32_t len = tight(set, set->len);

	if (!len)
		return -1;
	return (int)len * WORD_BITS - 1 - __builtin_clzll(set->word[len - 1]);
}

void neap_cpuset_and(struct neap_cpuset *ret, const struct neap_cpuset *a,
		     const struct neap_cpuset *b)
{
	uint32_t len = a->len < b->len ? a->len : b->len;

	for (uint32_t i = 0; i < len; i++)
		ret->word[i] = a->word[i] & b->word[i];
	ret->len = tight(ret, len);
}

void neap_cpuset_or(struct neap_cpuset *ret, const struct neap_cpuset *a,
		    const struct neap_cpuset *b)
{
	const struct neap_cpuset *longer = a->len >= b->len ? a : b;
	uint32_t both = a->len < b->len ? a->len : b->len, len = longer->len;

	for (uint32_t i = 0; i < both; i++)
		ret->word[i] = a->word[i] | b->word[i];
	if (ret != longer)
		memcpy(ret->word + both, longer->word + both,
		       (len - both) * sizeof(ret->word[0]));
	ret->len = len;
}

void neap_cpuset_minus(struct neap_cpuset *ret, const struct neap_cpuset *a,
		       const struct neap_cpuset *b)
{
	uint32_t both = a->len < b->len ? a->len : b->len, len = a->len;

	for (uint32_t i = 0; i < both; i++)
		ret->word[i] = a->word[i] & ~b->word[i];
	if (ret != a)
		memcpy(ret->word + both, a->word + both,
		       (len - both) * sizeof(ret->word[0]));
	ret->len = tight(ret, len);
}

/* Text */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Cuts the blanks off both ends. */
static void trim(const char **text, size_t *len)
{
	while (*len && is_blank((*text)[*len - 1]))
		(*len)--;
	while (*len && is_blank(**text)) {
		(*text)++;
		(*len)--;
	}
}

/* Digits from *at, which may have a plus before them, as Go reads them; false when there
 * are none or the number is above INT32_MAX. */
static bool take_number(const char **at, const char *end, int *ret)
{
	const char *s = *at, *digits;
	int64_t n = 0;

	s += s < end && *s == '+';
	for (digits = s; s < end && *s >= '0' && *s <= '9'; s++) {
		n = n * 10 + (*s - '0');
		if (n > INT32_MAX)
			return false;
	}
	if (s == digits)
		return false;
	*at = s;
	*ret = (int)n;
	return true;
}

static int bad_list(struct neap_error *err, const char *text, size_t len, const char *at)
{
	return neap_error_set(
		err, NEAP_EINVAL,
		"'%.*s' is not a CPU list at character %d: use ids and ranges as in 0-3,8",
		(int)(len < 60 ? len : 60), text, (int)(at - text) + 1);
}

/* What a list may contain, and where impossible ids go. */
struct bounds {
	int id_max, range_end_max;
	int *beyond; /* room for all; NULL: they are left out */
	size_t count;
};

static int parse_list(struct neap_cpuset *ret_set, const char *text, size_t len,
		      struct bounds *bounds, struct neap_error *err)
{
	const char *at = text, *end = text + len;
	struct neap_cpuset set;
	int first, last;

	set.len = 0;
	while (at < end || at != text) {
		if (!take_number(&at, end, &first))
			return bad_list(err, text, len, at);
		last = first;
		if (at < end && *at == '-') {
			at++;
			if (!take_number(&at, end, &last))
				return bad_list(err, text, len, at);
			if (last > bounds->range_end_max)
				return neap_error_set(err, NEAP_EINVAL,
						      "the CPU range %d-%d ends above %d",
						      first, last, bounds->range_end_max);
		} else if (first > bounds->id_max) {
			return neap_error_set(err, NEAP_EINVAL, "CPU %d is above %d",
					      first, bounds->id_max);
		} else if (first >= NEAP_CPU_MAX && bounds->beyond) {
			bounds->beyond[bounds->count++] = first;
		}
		neap_cpuset_add_range(&set, first, last);
		if (at == end)
			break;
		if (*at != ',')
			return bad_list(err, text, len, at);
		at++;
	}
	neap_cpuset_copy(ret_set, &set);
	return 0;
}

static int measure(const char *text, size_t *ret_len, struct neap_error *err)
{
	size_t len = strnlen(text, NEAP_BUF_LINE + 1);

	if (len > NEAP_BUF_LINE)
		return neap_error_set(err, NEAP_ETOOLARGE,
				      "the CPU list is longer than %d bytes",
				      NEAP_BUF_LINE);
	*ret_len = len;
	return 0;
}

int neap_cpuset_parse(struct neap_cpuset *ret_set, const char *text,
		      struct neap_error *err)
{
	struct bounds bounds = {.id_max = NEAP_CPU_MAX - 1,
				.range_end_max = RANGE_END_MAX};
	size_t len = 0;
	int r = measure(text, &len, err);

	return r < 0 ? r : parse_list(ret_set, text, len, &bounds, err);
}

int neap_cpuset_parse_told(struct neap_cpuset *ret_set, const char *text,
			   struct neap_error *err)
{
	struct bounds bounds = {.id_max = INT32_MAX, .range_end_max = RANGE_END_MAX};
	size_t len = 0;
	int r = measure(text, &len, err);

	return r < 0 ? r : parse_list(ret_set, text, len, &bounds, err);
}

static int compare_ids(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

int neap_cpuset_parse_beyond(struct neap_cpuset *ret_set, const char *text,
			     int **ret_beyond, size_t *ret_count, struct neap_error *err)
{
	struct bounds bounds = {.id_max = INT32_MAX, .range_end_max = RANGE_END_MAX};
	neap_auto_free int *beyond = NULL;
	size_t len = 0, count = 0;
	int r = measure(text, &len, err);

	if (r < 0)
		return r;
	/* Four digits and a comma each, at least. */
	beyond = neap_alloc_array(len / 5 + 1, sizeof(*beyond));
	if (!beyond)
		return neap_error_nomem(err);
	bounds.beyond = beyond;
	r = parse_list(ret_set, text, len, &bounds, err);
	if (r < 0)
		return r;
	qsort(beyond, bounds.count, sizeof(*beyond), compare_ids);
	for (size_t i = 0; i < bounds.count; i++)
		if (count == 0 || beyond[count - 1] != beyond[i])
			beyond[count++] = beyond[i];
	*ret_count = count;
	*ret_beyond = neap_steal(beyond);
	return 0;
}

int neap_cpuset_parse_kernel(struct neap_cpuset *ret_set, const char *text,
			     struct neap_error *err)
{
	struct bounds bounds = {.id_max = NEAP_CPU_MAX - 1,
				.range_end_max = NEAP_CPU_MAX - 1};
	size_t len = 0;
	int r = measure(text, &len, err);

	if (r < 0)
		return r;
	trim(&text, &len);
	return parse_list(ret_set, text, len, &bounds, err);
}

/* Output as snprintf does it: counts everything, keeps what fits. */
struct sink {
	char *buf;
	size_t size, len;
};

static void put(struct sink *out, const char *text, size_t len)
{
	if (out->len < out->size) {
		size_t room = out->size - out->len;

		memcpy(out->buf + out->len, text, len < room ? len : room);
	}
	out->len += len;
}

static void put_number(struct sink *out, int n)
{
	char text[12];
	size_t at = sizeof(text);

	do
		text[--at] = (char)('0' + n % 10);
	while (n /= 10);
	put(out, text + at, sizeof(text) - at);
}

static size_t finish(struct sink *out)
{
	if (out->size)
		out->buf[out->len < out->size ? out->len : out->size - 1] = '\0';
	return out->len;
}

size_t neap_cpuset_format(const struct neap_cpuset *set, char *buf, size_t size)
{
	struct sink out = {buf, size, 0};

	for (int first = neap_cpuset_next(set, -1), end; first >= 0;
	     first = neap_cpuset_next(set, end)) {
		end = find_bit(set, first,
			       false); /* not a member, so next may start after it */
		if (out.len)
			put(&out, ",", 1);
		put_number(&out, first);
		if (end - 1 > first) {
			put(&out, "-", 1);
			put_number(&out, end - 1);
		}
	}
	return finish(&out);
}
