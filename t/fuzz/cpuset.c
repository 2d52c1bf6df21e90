/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU lists and masks: of policies (strict), of kernel files, of /proc masks. What is
 * taken must come back the same from its own text, and a set must be what its members
 * say. */
#include <stdlib.h>
#include <string.h>

#include "engine/machine/cpuset.h"
#include "t/fuzz/lib/fuzz.h"

static void check_members(const struct neap_cpuset *set)
{
	struct neap_cpuset again = {0};
	int count = 0, last = -1;

	for (int cpu = neap_cpuset_next(set, -1); cpu >= 0;
	     cpu = neap_cpuset_next(set, cpu)) {
		FUZZ_CHECK(cpu > last && cpu < NEAP_CPU_MAX && neap_cpuset_has(set, cpu));
		FUZZ_CHECK(neap_cpuset_add(&again, cpu));
		last = cpu;
		count++;
	}
	FUZZ_CHECK(count == neap_cpuset_count(set) && last == neap_cpuset_last(set));
	FUZZ_CHECK(neap_cpuset_is_equal(set, &again) &&
		   neap_cpuset_is_equal(&again, set));
	FUZZ_CHECK(neap_cpuset_is_empty(set) == (count == 0));
}

static void check_texts(const struct neap_cpuset *set)
{
	static char text[NEAP_CPUSET_TEXT];
	struct neap_cpuset again;
	size_t len = neap_cpuset_format(set, text, sizeof(text));
	char small[8];

	FUZZ_CHECK(len < sizeof(text) && strlen(text) == len);
	FUZZ_CHECK(neap_cpuset_parse_kernel(&again, text, NULL) == 0);
	FUZZ_CHECK(neap_cpuset_is_equal(set, &again));
	FUZZ_CHECK(neap_cpuset_format(set, small, sizeof(small)) == len);
	FUZZ_CHECK(strlen(small) == (len < sizeof(small) ? len : sizeof(small) - 1) &&
		   strncmp(small, text, sizeof(small) - 1) == 0);
}

static void check_algebra(const struct neap_cpuset *a, const struct neap_cpuset *b)
{
	struct neap_cpuset both, any, only;

	neap_cpuset_and(&both, a, b);
	neap_cpuset_or(&any, a, b);
	neap_cpuset_minus(&only, a, b);
	FUZZ_CHECK(neap_cpuset_count(&any) + neap_cpuset_count(&both) ==
		   neap_cpuset_count(a) + neap_cpuset_count(b));
	FUZZ_CHECK(neap_cpuset_count(&only) + neap_cpuset_count(&both) ==
		   neap_cpuset_count(a));
	FUZZ_CHECK(neap_cpuset_is_subset(&both, a) && neap_cpuset_is_subset(b, &any));
	FUZZ_CHECK(neap_cpuset_intersects(a, b) == !neap_cpuset_is_empty(&both));
	FUZZ_CHECK(!neap_cpuset_intersects(&only, b));
	neap_cpuset_or(&only, &only, &both);
	FUZZ_CHECK(neap_cpuset_is_equal(&only, a));
}

/* A list that was taken: both ends of every range that is one are members. lax: single
 * ids may be those of no machine. */
static void check_list(const struct neap_cpuset *set, const char *text, bool lax)
{
	while (*text) {
		char *end;
		long first = strtol(text, &end, 10), last = first;

		if (end == text) { /* a blank around the list of a kernel file */
			text++;
			continue;
		}
		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		else if (lax && first >= NEAP_CPU_MAX && first <= INT32_MAX)
			last = -1;
		if (first <= last)
			FUZZ_CHECK(first < NEAP_CPU_MAX && last < NEAP_CPU_MAX &&
				   neap_cpuset_has(set, (int)first) &&
				   neap_cpuset_has(set, (int)last));
		text = *end == ',' ? end + 1 : end;
	}
}

static int parse(unsigned how, struct neap_cpuset *set, const char *text)
{
	struct neap_error err = {0};
	int rc = how % 2 == 0 ? neap_cpuset_parse(set, text, &err)
			      : neap_cpuset_parse_kernel(set, text, &err);

	FUZZ_CHECK(rc == 0 || (rc == -(int)err.code && *err.msg));
	return rc;
}

/* A byte says which parser, then a text to the end of its line, then another of both. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct neap_cpuset sets[2], mark;
	struct fuzz_in in;

	fuzz_in_init(&in, data, size);
	memset(sets, 0, sizeof(sets));
	for (int i = 0; i < 2; i++) {
		unsigned how = fuzz_byte(&in);
		char *text = fuzz_line(&in);

		neap_cpuset_add(&sets[i], 77 + i);
		neap_cpuset_copy(&mark, &sets[i]);
		if (parse(how, &sets[i], text) < 0)
			FUZZ_CHECK(neap_cpuset_is_equal(&mark, &sets[i]));
		else if (how % 3 != 2)
			check_list(&sets[i], text, how % 3 == 0);
		check_members(&sets[i]);
		check_texts(&sets[i]);
	}
	check_algebra(&sets[0], &sets[1]);
	fuzz_in_done(&in);
	return 0;
}
