/* SPDX-License-Identifier: Apache-2.0
 *
 * The recorder and the marks of texts: frames in which no text changed share one list of
 * them, and each frame gives back the texts that it was made of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "lua/run/record.h"
#include "t/lib/patience.h"

/* A workload for each letter, which is its id, with the digit below as its mark. */
static const struct {
	const char *ids, *marks, *want;
} marked[] = {
	{"abc", "123", "abc"}, {"abc", "123", "abc"},
	{"axc", "143", "axc"}, /* another text, so another mark */
	{"xc", "43", "xc"},    /* the first goes */
	{"xcd", "435", "xcd"}, /* one comes */
	{"cxd", "345", "cxd"}, /* the order is another one */
	{"cyd", "305", "cyd"}, /* 0: nobody knows */
	{"cyd", "365", "cyd"}, /* the text is as it was and gets a mark */
	{"czd", "365", "cyd"}, /* a mark that stays says that the text does */
	{"cy", "36", "cy"},    /* the last goes */
	{"", "", ""},          {"abc", "123", "abc"},
};

static void add_marked(struct neap_record *record, size_t row)
{
	struct neap_workload *workloads = neap_alloc_array(4, sizeof(*workloads));
	struct neap_sample sample = {.workloads = workloads, .now_unix = (int64_t)row};

	assert_non_null(workloads);
	for (; marked[row].ids[sample.workload_count]; sample.workload_count++) {
		struct neap_workload *w = &workloads[sample.workload_count];

		w->id[0] = marked[row].ids[sample.workload_count];
		w->texts_mark =
			(uint64_t)(marked[row].marks[sample.workload_count] - '0');
	}
	neap_record_add(record, &sample);
	free(workloads);
}

/* Frames are told by the time that is in them, as one may have been left out. */
static void check_marked(const struct neap_record *record, size_t rows)
{
	struct neap_tape *tape = neap_record_share(record);

	assert_non_null(tape);
	assert_true(neap_tape_count(tape) >= rows);
	for (size_t i = 0; i < neap_tape_count(tape); i++) {
		struct neap_sample got;
		struct neap_error err;
		const char *want;

		assert_int_equal(neap_tape_get(tape, i, &got, &err), 0);
		want = marked[got.now_unix].want;
		assert_int_equal(got.workload_count, strlen(want));
		for (size_t k = 0; k < got.workload_count; k++)
			if (got.workloads[k].id[0] != want[k])
				fail_msg("row %d: '%s' in place of '%c'",
					 (int)got.now_unix, got.workloads[k].id, want[k]);
		neap_tape_forget(&got);
	}
	(void)neap_tape_unref(tape);
}

static void test_marks(void **state)
{
	const size_t rows = NEAP_ARRAY_LEN(marked);
	struct neap_record *record = neap_record_new(0, 0);
	size_t alone;

	(void)state;
	add_marked(record, 0);
	alone = neap_record_bytes(record);
	add_marked(record, 1);
	assert_true(neap_record_bytes(record) - alone <
		    alone / 2); /* one list for both */
	for (size_t row = 2; row < rows; row++)
		add_marked(record, row);
	check_marked(record, rows);
	neap_record_free(record);

	/* Bytes are counted exactly, whatever was shared. */
	record = neap_record_new(0, 1);
	for (size_t row = 0; row < rows; row++)
		add_marked(record, row);
	assert_int_equal(neap_record_bytes(record), alone);
	neap_record_free(record);

	/* A frame that is left out for want of memory changes no other. */
	for (uint64_t n = 2; n < 40; n++) { /* the first is the sample itself */
		record = neap_record_new(0, 0);
		for (size_t row = 0; row < rows - 3; row++) {
			bool is_short = row == n % (rows - 3) && row != 7;

			neap_mem_fail_at(is_short ? 2 + n / (rows - 3) : 0);
			add_marked(record, row);
			neap_mem_fail_at(0);
		}
		check_marked(record, rows - 4);
		neap_record_free(record);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_marks),
	};

	patience_with_scripts();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
