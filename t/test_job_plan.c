/* SPDX-License-Identifier: Apache-2.0
 *
 * What is to be done for a job: rows of pods and what follows from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/pod/job_plan.h"

#define SECOND 1000000LL
#define NOW    (100000 * SECOND)

/* --- indexes --- */

static const struct {
	const char *name, *text;
	int64_t limit;
	const char *written;
	int64_t total;
} texts[] = {
	{"none", "", 10, "", 0},
	{"one", "3", 10, "3", 1},
	{"two neighbours are no range", "3,4", 10, "3,4", 2},
	{"a range of two", "3-4", 10, "3,4", 2},
	{"three", "3,4,5", 10, "3-5", 3},
	{"ranges and single ones", "0-2,5,7-9", 10, "0-2,5,7-9", 7},
	{"out of order, over each other", "7-9,0,8,1-3", 10, "0-3,7-9", 7},
	{"beyond the last", "3-12,14", 5, "3,4", 2},
	{"backwards", "5-3", 10, "", 0},
	{"rubbish is passed over", "x,1,-,2y,3", 10, "1-3", 3},
	{"huge", "0-99999999999999999999", 4, "0-3", 4},
	{"no limit left", "0", 0, "", 0},
};

static void check_text(const char *name, const struct neap_job_indexes *indexes,
		       const char *want)
{
	struct neap_buf text;

	neap_buf_init(&text, 4096);
	neap_job_indexes_write(indexes, &text);
	neap_buf_addc(&text, '\0');
	if (strcmp(text.data, want) != 0)
		fail_msg("%s: \"%s\", not \"%s\"", name, text.data, want);
	neap_buf_done(&text);
}

static void index_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(texts); i++) {
		struct neap_job_indexes indexes;

		assert_true(
			neap_job_indexes_parse(texts[i].text, texts[i].limit, &indexes));
		check_text(texts[i].name, &indexes, texts[i].written);
		if (neap_job_indexes_total(&indexes) != texts[i].total)
			fail_msg("%s: total", texts[i].name);
		neap_job_indexes_done(&indexes);
	}
}

/* Against a plain array. */
static void index_random(void **state)
{
	(void)state;
	srand(7);
	for (int round = 0; round < 200; round++) {
		struct neap_job_indexes indexes = {0};
		bool has[64] = {false};
		int total = 0;

		for (int i = rand() % 64; i > 0; i--) {
			int index = rand() % 64;

			total += !has[index];
			has[index] = true;
			assert_true(neap_job_indexes_add(&indexes, index));
		}
		for (int i = 0; i < 64; i++)
			assert_int_equal(neap_job_indexes_has(&indexes, i), has[i]);
		assert_int_equal(neap_job_indexes_total(&indexes), total);
		neap_job_indexes_done(&indexes);
	}
}

/* --- plans --- */

/* Pods, a word each: a active, r running and ready, s succeeded, f failed, i failed and
 * to be ignored, x failed and fails the job, y failed and fails its index, t being ended,
 * T ended; then "-" when it is not tracked, "+" when its uid is listed; ":3" its index;
 * "^2" failures of that before it; "@20" ended so many seconds ago. */
static void make_pod(const char *word, struct neap_job_pod *pod)
{
	*pod = (struct neap_job_pod){.is_tracked = true,
				     .index = -1,
				     .created_usec = NOW - 1000 * SECOND,
				     .finished_usec = NOW - 1000 * SECOND};
	switch (*word++) {
	case 'r':
		pod->is_scheduled = pod->is_running = pod->is_ready = true;
		break;
	case 's':
		pod->phase = NEAP_JOB_POD_SUCCEEDED;
		break;
	case 'i':
	case 'x':
		pod->action = word[-1] == 'i' ? NEAP_JOB_IGNORE : NEAP_JOB_FAIL;
		pod->phase = NEAP_JOB_POD_FAILED;
		break;
	case 'y':
		pod->action = NEAP_JOB_FAIL_INDEX;
		pod->phase = NEAP_JOB_POD_FAILED;
		break;
	case 'f':
		pod->phase = NEAP_JOB_POD_FAILED;
		break;
	case 'T':
		pod->is_stopped = pod->is_deleting = true;
		break;
	case 't':
		pod->is_deleting = true;
		break;
	default:
		break;
	}
	for (; *word; word++) {
		if (*word == '-')
			pod->is_tracked = false;
		else if (*word == '+')
			pod->list = pod->phase == NEAP_JOB_POD_SUCCEEDED
					    ? NEAP_JOB_LIST_SUCCEEDED
					    : NEAP_JOB_LIST_FAILED;
		else if (*word == ':')
			pod->index = strtol(word + 1, NULL, 10);
		else if (*word == '^')
			pod->failures = strtol(word + 1, NULL, 10);
		else if (*word == '@')
			pod->finished_usec = NOW - strtol(word + 1, NULL, 10) * SECOND;
	}
}

/* What is to be done, as text: for each pod its letters (L listed, R released, D deleted,
 * "." nothing), then "+N" pods to be made or "+0,3" their indexes, then the end and
 * why. */
static void describe(const struct neap_job_pod *pods, size_t count,
		     const struct neap_job_plan *plan, bool is_indexed, char *to,
		     size_t size)
{
	static const char *const ends[] = {"", " failing", " failed", " enough",
					   " complete"};
	static const char *const whys[] = {"",        " backoff", " deadline",
					   " policy", " indexes", " many"};
	neap_auto_buf struct neap_buf lost = {0};
	size_t len = 0;

	for (size_t i = 0; i < count; i++) {
		unsigned todo = pods[i].todo;

		len += (size_t)snprintf(to + len, size - len, "%s%s%s%s%s", i ? " " : "",
					(todo & NEAP_JOB_LIST) != 0 ? "L" : "",
					(todo & NEAP_JOB_RELEASE) != 0 ? "R" : "",
					(todo & NEAP_JOB_DELETE) != 0 ? "D" : "",
					todo ? "" : ".");
	}
	if (plan->create && !is_indexed)
		len += (size_t)snprintf(to + len, size - len, " +%zu", plan->create);
	for (size_t i = 0; is_indexed && i < plan->create; i++) {
		len += (size_t)snprintf(to + len, size - len, "%s%d", i ? "," : " +",
					(int)plan->indexes[i]);
		if (plan->failures[i])
			len += (size_t)snprintf(to + len, size - len, "^%d",
						(int)plan->failures[i]);
	}
	neap_buf_init(&lost, NEAP_BUF_LINE);
	neap_job_indexes_write(&plan->lost, &lost);
	(void)snprintf(to + len, size - len, "%s%s%s%s%s", ends[plan->end],
		       whys[plan->why], plan->is_expired ? " expired" : "",
		       lost.len ? " lost=" : "", lost.len ? lost.data : "");
}

#define SPEC(p, c)                                                                       \
	.parallelism = (p), .completions = (c), .backoff_limit = 6, .deadline_s = -1,    \
	.ttl_s = -1, .index_limit = -1, .max_failed_indexes = -1
#define BEGUN .start_usec = NOW - 50 * SECOND

static const struct {
	const char *name;
	const char *spec;  /* parallelism and completions ("-": none), and more of it */
	const char *state; /* what the status says; "done": the completed indexes */
	const char *pods, *want;
	int64_t succeeded, failed; /* of the status */
	int64_t wait_s;            /* 0: none */
} rows[] = {
	{"begins", "2/3", "", "", " +2", 0, 0, 0},
	{"has what it needs", "2/3", "begun", "a r", ". .", 0, 0, 0},
	{"a success is listed, and the next one made", "2/3", "begun", "r s", ". L +1", 0,
	 0, 0},
	{"what is listed is released", "2/3", "begun listed+=1", "r s+", ". R +1", 0, 0,
	 0},
	{"what is released is counted", "2/3", "begun listed+=1", "r s-", ". . +1", 1, 0,
	 0},
	{"gone ones are counted, too", "2/3", "begun listed+=2 listed-=1", "r", ".", 2, 1,
	 0},
	{"no more than are missing", "5/6", "begun succeeded=4", "r", ". +1", 4, 0, 0},
	{"not complete before all is counted", "1/1", "begun listed+=1", "s+", "R", 0, 0,
	 0},
	{"complete", "1/1", "begun listed+=1", "s-", ". complete", 1, 0, 0},
	{"complete, and one is still being ended", "1/1", "begun succeeded=1", "t-", ".",
	 1, 0, 0},
	{"none are wanted", "1/0", "", "", " complete", 0, 0, 0},
	{"too many: what has done the least goes", "1/3", "begun", "r a r", "RD RD .", 0,
	 0, 0},
	{"parallelism 0", "0/3", "begun", "r", "RD", 0, 0, 0},
	/* work queues */
	{"a queue", "3/-", "", "", " +3", 0, 0, 0},
	{"a queue that has a success", "3/-", "begun", "r s", ". L", 0, 0, 0},
	{"a queue that is done", "3/-", "begun succeeded=1", "s- f-", ". . complete", 1,
	 0, 0},
	/* failures */
	{"a failure just now", "1/1", "begun", "f@0", "L", 0, 0, 10},
	{"a failure 9 s ago", "1/1", "begun failed=1", "f-@9", ".", 0, 1, 1},
	{"a failure 10 s ago", "1/1", "begun failed=1", "f-@10", ". +1", 0, 1, 0},
	{"two failures", "1/1", "begun failed=2", "f-@30 f-@10", ". .", 0, 2, 10},
	{"three failures", "1/1", "begun failed=3", "f-@50 f-@30 f-@10", ". . .", 0, 3,
	 30},
	{"six failures: six minutes and not more", "1/1", "begun failed=6",
	 "f-@9 f-@9 f-@9 f-@9 f-@9 f-@10", ". . . . . .", 0, 6, 311},
	{"failures before a success do not count", "1/3", "begun succeeded=1 failed=2",
	 "f-@90 f-@80 s-@20 f-@5", ". . . .", 1, 2, 5},
	{"the last one was a success", "1/3", "begun succeeded=1 failed=2",
	 "f-@9 f-@8 s-@2", ". . . +1", 1, 2, 0},
	{"the limit is reached, not passed", "1/1", "begun failed=6", "", " +1", 0, 6, 0},
	{"the limit is passed", "2/2", "begun failed=6", "r f", "D L failing backoff", 0,
	 6, 0},
	{"failing: its pods are counted", "2/2", "begun failed=7 failing", "t",
	 "L failing", 0, 7, 0},
	{"failing: one is still being ended", "2/2", "begun failed=8 failing", "t-",
	 ". failing", 0, 8, 0},
	{"failed", "2/2", "begun failed=8 failing", "f-", ". failed", 0, 8, 0},
	{"a success while it fails counts", "2/2", "begun failed=8 failing", "s",
	 "L failing", 0, 8, 0},
	/* deleted pods */
	{"a pod that is ended has failed", "1/1", "begun", "t@0", "L", 0, 0, 10},
	{"... and is replaced", "1/1", "begun failed=1", "t-", ". +1", 0, 1, 0},
	{"... or waited for", "1/1 waits", "begun", "t", ".", 0, 0, 0},
	{"... until nothing of it runs", "1/1 waits", "begun", "T@20", "L +1", 0, 0, 0},
	/* policy */
	{"ignored", "1/1", "begun", "i@20", "R +1", 0, 0, 0},
	{"fails the job", "2/2", "begun", "x r", "L D failing policy", 0, 0, 0},
	/* time */
	{"before the deadline", "1/1 deadline=60", "begun", "r", ".", 0, 0, 10},
	{"at the deadline", "1/1 deadline=50", "begun", "r", "D failing deadline", 0, 0,
	 0},
	{"no deadline while it is suspended", "1/1 suspended deadline=50", "begun", "r",
	 "RD", 0, 0, 0},
	{"a deadline that never comes", "1/1 deadline=9223372036854775807", "begun", "r",
	 ".", 0, 0, 0},
	{"before it is deleted", "1/1 ttl=60", "begun succeeded=1 complete=20", "s-",
	 ". complete", 0, 0, 40},
	{"to be deleted", "1/1 ttl=20", "begun over=20", "f-", ". failed expired", 0, 0,
	 0},
	{"ended: what is still tracked is let go", "1/1", "begun complete", "f",
	 "R complete", 0, 0, 0},
	{"being deleted: all are let go", "1/1", "begun deleting", "r s f-", "R R .", 0,
	 0, 0},
	/* suspended */
	{"suspended from the start", "2/2 suspended", "", "", "", 0, 0, 0},
	{"suspended", "2/2 suspended", "begun", "r a s", "RD RD L", 0, 0, 0},
	/* indexed */
	{"indexes", "3/5 indexed", "begun done=1", "r:2", ". +0,3", 1, 0, 0},
	{"an index that succeeds", "1/5 indexed", "begun done=1", "s:0", ". +2", 2, 0, 0},
	{"... is released", "1/5 indexed", "begun done=0,1", "s:0", "R +2", 2, 0, 0},
	{"the same twice", "3/5 indexed", "begun", "a:0 r:0 r:1", "RD . .", 0, 0, 0},
	{"out of range", "3/2 indexed", "begun", "r:0 r:2 r", ". RD RD", 0, 0, 0},
	{"out of range and ended", "1/2 indexed", "begun done=0", "s:7 f:9 r:1", "R R .",
	 1, 0, 0},
	{"done, and yet at work", "3/2 indexed", "begun done=0", "r:0 r:1", "RD .", 1, 0,
	 0},
	{"one that is ended is waited for", "2/2 indexed waits", "begun", "t:0", ". +1",
	 0, 0, 0},
	/* indexes with limits of their own */
	{"an index waits by itself", "3/3 indexed each=1", "begun", "r:0 f:1@4 r:2",
	 ". . .", 0, 0, 6},
	{"... and is made again", "3/3 indexed each=1", "begun", "r:0 f:1@10 r:2",
	 ". . . +1^1", 0, 0, 0},
	{"... for longer after the second failure", "3/3 indexed each=2", "begun",
	 "r:0 f:1@99 f:1^1@12 r:2", ". L . .", 0, 0, 8},
	{"others need not wait", "3/3 indexed each=1", "begun", "r:0 f:1@4", ". . +2", 0,
	 0, 6},
	{"what failed is counted when the next is there", "3/3 indexed each=1", "begun",
	 "r:0 f:1 r:1^1 r:2", ". L . .", 0, 0, 0},
	{"an index is lost", "3/3 indexed each=0", "begun", "r:0 f:1@4 r:2",
	 ". L . lost=1", 0, 0, 0},
	{"... by its second failure", "3/3 indexed each=1", "begun", "f:1^1@4 r:0 r:2",
	 "L . . lost=1", 0, 0, 0},
	{"... by the policy", "3/3 indexed each=6", "begun", "y:1 r:0 r:2",
	 "L . . lost=1", 0, 0, 0},
	{"a pod of a lost index goes", "3/3 indexed each=0", "begun lost=1",
	 "r:1 r:0 r:2", "RD . . lost=1", 0, 0, 0},
	{"each is done or lost", "2/2 indexed each=0", "begun failed=1 done=0 lost=1",
	 "s-:0 f-:1", ". . failing indexes lost=1", 1, 1, 0},
	{"too many are lost", "3/3 indexed each=0 max=0", "begun", "f:1 r:0",
	 "L D failing many lost=1", 0, 0, 0},
	{"as many as may be", "3/3 indexed each=0 max=1", "begun", "f:1 r:0 r:2",
	 "L . . lost=1", 0, 0, 0},
	{"ignored: again at once", "3/3 indexed each=0", "begun", "i:1@0 r:0 r:2",
	 ". . . +1", 0, 0, 0},
	{"... and let go when the next is there", "3/3 indexed each=0", "begun",
	 "i:1@9 r:1 r:0 r:2", "R . . .", 0, 0, 0},
	{"a failure of an index that is done", "3/3 indexed each=0", "begun done=1",
	 "f:1 r:0 r:2", "L . .", 1, 0, 0},
	/* The next pod has the count, and takes it along, as with the controller of
	 * Kubernetes. */
	{"suspended: what is at work goes at once", "2/2 indexed each=2 suspended",
	 "begun", "f:1^1@4 r:0 r:1^2", "L RD RD", 0, 0, 0},
	{"... and what failed last is kept", "2/2 indexed each=2 suspended", "begun",
	 "f:1^1@4 r:0", ". RD", 0, 0, 0},
	{"failing: nothing is kept", "3/3 indexed each=1", "begun failing", "f:1",
	 "L failing", 0, 0, 0},
	/* enough */
	{"enough: its pods are ended", "3/3 indexed", "begun done=0 enough", "r:1 s-:0",
	 "D . enough", 1, 0, 0},
	{"enough, and all have ended", "3/3 indexed", "begun done=0 enough", "s-:0",
	 ". complete", 1, 0, 0},
	{"all indexes", "2/2 indexed", "begun done=0,1", "s-:0 s-:1", ". . complete", 2,
	 0, 0},
};

/* The number behind "NAME=" in words; missing when it is not there. */
static int64_t number_of(const char *words, const char *name, int64_t missing)
{
	const char *at = strstr(words, name);

	return at && at[strlen(name)] == '=' ? strtoll(at + strlen(name) + 1, NULL, 10)
					     : missing;
}

static void make_spec(const char *words, struct neap_job_spec *spec)
{
	const char *slash = strchr(words, '/');

	*spec = (struct neap_job_spec){SPEC(strtol(words, NULL, 10), -1)};
	if (slash[1] != '-')
		spec->completions = strtol(slash + 1, NULL, 10);
	spec->deadline_s = number_of(words, "deadline", -1);
	spec->ttl_s = number_of(words, "ttl", -1);
	spec->index_limit = number_of(words, "each", -1);
	spec->max_failed_indexes = number_of(words, "max", -1);
	spec->is_indexed = strstr(words, "indexed");
	spec->is_suspended = strstr(words, "suspended");
	spec->only_replace_failed = strstr(words, "waits");
}

/* The indexes behind "NAME=" in words. */
static void read_indexes(const char *words, const char *name,
			 struct neap_job_indexes *ret)
{
	const char *at = strstr(words, name);
	char text[64] = "";

	if (at)
		(void)snprintf(text, sizeof(text), "%.*s",
			       (int)strcspn(at + strlen(name), " "), at + strlen(name));
	assert_true(neap_job_indexes_parse(text, 1000, ret));
}

static void make_state(const char *words, struct neap_job_state *job)
{
	*job = (struct neap_job_state){
		.start_usec = strstr(words, "begun") ? NOW - 50 * SECOND : 0,
		.succeeded = number_of(words, "succeeded", 0),
		.failed = number_of(words, "failed", 0),
		.uncounted_succeeded = (size_t)number_of(words, "listed+", 0),
		.uncounted_failed = (size_t)number_of(words, "listed-", 0),
		.end = strstr(words, "failing")    ? NEAP_JOB_FAILING
		       : strstr(words, "over")     ? NEAP_JOB_FAILED
		       : strstr(words, "enough")   ? NEAP_JOB_SUCCEEDING
		       : strstr(words, "complete") ? NEAP_JOB_COMPLETE
						   : NEAP_JOB_RUNS,
		.is_deleting = strstr(words, "deleting")};
	job->end_usec = NOW - SECOND * (number_of(words, "over", 0) +
					number_of(words, "complete", 0));
	read_indexes(words, "done=", &job->completed);
	read_indexes(words, "lost=", &job->lost);
}

static void check_row(size_t i)
{
	struct neap_job_spec spec;
	struct neap_job_state job;
	struct neap_job_pod pods[16];
	struct neap_job_plan plan;
	char words[128], got[256], *save = NULL;
	size_t count = 0;

	(void)neap_strcopy(words, sizeof(words), rows[i].pods);
	for (char *word = strtok_r(words, " ", &save); word;
	     word = strtok_r(NULL, " ", &save))
		make_pod(word, &pods[count++]);
	make_spec(rows[i].spec, &spec);
	make_state(rows[i].state, &job);
	assert_int_equal(neap_job_plan_make(&spec, &job, pods, count, NOW, &plan, NULL),
			 0);
	describe(pods, count, &plan, spec.is_indexed, got, sizeof(got));
	if (strcmp(got, rows[i].want) != 0)
		fail_msg("%s: \"%s\", not \"%s\"", rows[i].name, got, rows[i].want);
	if (plan.succeeded != rows[i].succeeded || plan.failed != rows[i].failed)
		fail_msg("%s: %d succeeded, %d failed", rows[i].name, (int)plan.succeeded,
			 (int)plan.failed);
	if (plan.wait_usec != (rows[i].wait_s ? rows[i].wait_s * SECOND : -1))
		fail_msg("%s: waits %lld", rows[i].name, (long long)plan.wait_usec);
	neap_job_plan_done(&plan);
	neap_job_indexes_done(&job.completed);
	neap_job_indexes_done(&job.lost);
}

static void plan_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		check_row(i);
}

/* Rules for success: "INDEXES/COUNT", of which each may be empty. */
static void rules(void **state)
{
	static const struct {
		const char *rules[2], *done;
		size_t met; /* 2: none */
	} cases[] = {{{"0-2/", "/4"}, "0,1", 2},    {{"0-2/", "/4"}, "0-2", 0},
		     {{"0-2/", "/4"}, "1-4", 1},    {{"0-2/2", "/9"}, "2,7", 2},
		     {{"0-2/2", "/9"}, "0,2,7", 0}, {{"0-2/0", "/0"}, "", 2},
		     {{"7/", "3/1"}, "3", 1}};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(cases); i++) {
		struct neap_job_rule list[2] = {0};
		struct neap_job_spec spec = {SPEC(10, 10), .is_indexed = true,
					     .rules = list, .rule_count = 2};
		struct neap_job_state job = {BEGUN};
		struct neap_job_plan plan;

		for (size_t k = 0; k < 2; k++) {
			const char *text = cases[i].rules[k], *slash = strchr(text, '/');
			char indexes[16];

			(void)snprintf(indexes, sizeof(indexes), "%.*s",
				       (int)(slash - text), text);
			list[k].has_indexes = *indexes;
			list[k].count = slash[1] ? strtol(slash + 1, NULL, 10) : -1;
			assert_true(
				neap_job_indexes_parse(indexes, 10, &list[k].indexes));
		}
		assert_true(neap_job_indexes_parse(cases[i].done, 10, &job.completed));
		assert_int_equal(
			neap_job_plan_make(&spec, &job, NULL, 0, NOW, &plan, NULL), 0);
		if (plan.why_rule != cases[i].met ||
		    (plan.end != NEAP_JOB_RUNS) != (cases[i].met < 2))
			fail_msg("row %zu: %zu", i, plan.why_rule);
		neap_job_plan_done(&plan);
		neap_job_indexes_done(&job.completed);
		neap_job_indexes_done(&list[0].indexes);
		neap_job_indexes_done(&list[1].indexes);
	}
}

static void restarts(void **state)
{
	static const struct {
		int64_t limit, restarts;
		bool counts, fails;
	} cases[] = {{2, 1, true, false},
		     {2, 2, true, true},
		     {0, 0, true, false},
		     {0, 1, true, true},
		     {2, 9, false, false}};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(cases); i++) {
		struct neap_job_spec spec = {SPEC(1, 1)};
		struct neap_job_state job = {BEGUN};
		struct neap_job_pod pod;
		struct neap_job_plan plan;

		make_pod("r", &pod);
		pod.restarts = cases[i].restarts;
		spec.backoff_limit = cases[i].limit;
		spec.counts_restarts = cases[i].counts;
		assert_int_equal(
			neap_job_plan_make(&spec, &job, &pod, 1, NOW, &plan, NULL), 0);
		if ((plan.end == NEAP_JOB_FAILING) != cases[i].fails)
			fail_msg("row %zu", i);
		neap_job_plan_done(&plan);
	}
}

/* It starts again: so does its time. */
static void resumed(void **state)
{
	struct neap_job_spec spec = {SPEC(1, 1)};
	struct neap_job_state job = {BEGUN, .is_suspended = true};
	struct neap_job_plan plan;

	(void)state;
	assert_int_equal(neap_job_plan_make(&spec, &job, NULL, 0, NOW, &plan, NULL), 0);
	assert_true(plan.is_resumed && plan.start_usec == NOW && plan.create == 1);
	neap_job_plan_done(&plan);
	spec.is_suspended = true;
	assert_int_equal(neap_job_plan_make(&spec, &job, NULL, 0, NOW, &plan, NULL), 0);
	assert_true(!plan.is_resumed && plan.start_usec == job.start_usec);
	assert_true(plan.create == 0 && plan.is_suspended);
	neap_job_plan_done(&plan);
}

/* At most so many at once; and memory that is short. */
static void large(void **state)
{
	struct neap_job_spec spec = {SPEC(100000, INT32_MAX), .is_indexed = true};
	struct neap_job_state job = {BEGUN};
	struct neap_job_plan plan;
	struct neap_error err;

	(void)state;
	assert_true(neap_job_indexes_parse("0-2000000000", INT32_MAX, &job.completed));
	assert_int_equal(neap_job_plan_make(&spec, &job, NULL, 0, NOW, &plan, &err), 0);
	assert_int_equal(plan.create, NEAP_JOB_STEP_MAX);
	assert_int_equal(plan.indexes[0], 2000000001);
	neap_job_plan_done(&plan);
	for (uint64_t n = 1;; n++) {
		int ret;

		neap_mem_fail_at(n);
		ret = neap_job_plan_make(&spec, &job, NULL, 0, NOW, &plan, &err);
		neap_mem_fail_at(0);
		if (ret == 0)
			break;
		assert_int_equal(ret, -NEAP_ENOMEM);
		assert_true(n < 100);
	}
	neap_job_plan_done(&plan);
	neap_job_indexes_done(&job.completed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(index_rows), cmocka_unit_test(index_random),
		cmocka_unit_test(plan_rows),  cmocka_unit_test(rules),
		cmocka_unit_test(restarts),   cmocka_unit_test(resumed),
		cmocka_unit_test(large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
