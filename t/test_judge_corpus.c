/* SPDX-License-Identifier: Apache-2.0
 *
 * The hostile corpus as uploads: every script of t/sandbox is judged on the policy
 * thread, as a chunk and as the tick of a policy with an example. All end and are
 * refused, the memory in use comes back, and the loop goes on meanwhile: the largest gap
 * of its 10 ms timer is printed. */
#include <dirent.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <event2/event.h>

#include "api/policy/judge.h"
#include "api/policy/thread.h"
#include "engine/base/mem.h"
#include "t/lib/patience.h"

#define FOLDER "t/sandbox"
#define ROUNDS 3

struct upload {
	char *text;
	size_t len;
	const char *name;
	int code;
};

struct gaps {
	int64_t last_usec, largest_usec, ticks;
};

static int64_t mono_usec(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct gaps *gaps = arg;
	int64_t now = mono_usec();

	(void)fd;
	(void)what;
	if (now - gaps->last_usec > gaps->largest_usec)
		gaps->largest_usec = now - gaps->last_usec;
	gaps->last_usec = now;
	gaps->ticks++;
}

static void judge_upload(void *arg)
{
	struct upload *upload = arg;
	const struct neap_judge_input input = {
		.newer = {.text = upload->text, .len = upload->len, .origin = "p.lua"}};
	struct neap_judgement verdict;

	upload->code = -neap_judge(&input, &verdict, NULL);
	neap_judgement_done(&verdict);
}

static void judged(void *arg)
{
	struct upload *upload = arg;

	/* None of them is a policy, whatever it does before it ends. */
	if (upload->code == NEAP_OK)
		print_error("%s was taken\n", upload->name);
	assert_int_not_equal(upload->code, NEAP_OK);
}

static int is_script(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && strcmp(dot, ".lua") == 0;
}

/* As the chunk itself, or as the tick of a policy with an example. */
static void read_upload(struct upload *upload, const char *name, bool is_tick)
{
	static const char before[] =
		"return { api = 1, kind = \"qos\", name = \"p\", tick = function(...)\n";
	static const char after[] =
		"\nend,\nexamples = { { name = \"x\", node = {}, want = \"hold\" } } }";
	char path[512], script[65536];
	FILE *file;
	size_t len;

	(void)snprintf(path, sizeof(path), FOLDER "/%s", name);
	file = fopen(path, "r");
	assert_non_null(file);
	len = fread(script, 1, sizeof(script) - 1, file);
	script[len] = '\0';
	(void)fclose(file);
	upload->name = name;
	upload->text = neap_asprintf("%s%s%s", is_tick ? before : "", script,
				     is_tick ? after : "");
	assert_non_null(upload->text);
	upload->len = strlen(upload->text);
}

static void upload_all(struct event_base *base, struct neap_thread *thread,
		       struct upload *uploads, int count)
{
	struct neap_error err;

	for (int i = 0; i < count; i++)
		assert_int_equal(
			neap_thread_give(thread, judge_upload, judged, &uploads[i], &err),
			0);
	for (int left; (left = neap_thread_count(thread)) > 0;)
		assert_true(comes_true_in(base, (int)neap_thread_count(thread) < left));
}

static void test_corpus(void **state)
{
	const struct timeval interval = {.tv_usec = 10000};
	struct event_base *base = event_base_new();
	struct neap_thread *thread = NULL;
	struct gaps gaps = {0};
	struct dirent **list = NULL;
	struct upload *uploads;
	struct event *timer;
	struct neap_error err;
	size_t used[ROUNDS];
	int count = scandir(FOLDER, &list, is_script, alphasort);
	int64_t start = mono_usec();

	(void)state;
	assert_true(count >= 62);
	uploads = neap_alloc_array((size_t)count * 2, sizeof(*uploads));
	assert_non_null(uploads);
	for (int i = 0; i < count * 2; i++)
		read_upload(&uploads[i], list[i / 2]->d_name, i % 2);
	assert_int_equal(neap_thread_new(base, (size_t)count * 2, &thread, &err), 0);
	timer = event_new(base, -1, EV_PERSIST, on_timer, &gaps);
	assert_non_null(timer);
	gaps.last_usec = mono_usec();
	(void)event_add(timer, &interval); /* only with memory short could it fail */
	for (int round = 0; round < ROUNDS; round++) {
		upload_all(base, thread, uploads, count * 2);
		used[round] = mallinfo2().uordblks; /* 0 under sanitizers */
	}
	print_message("# %d uploads in %lld ms, largest gap of a 10 ms timer %lld us, "
		      "memory in use after each round %zu %zu %zu\n",
		      count * 2 * ROUNDS, (long long)(mono_usec() - start) / 1000,
		      (long long)gaps.largest_usec, used[0], used[1], used[2]);
	assert_true(gaps.ticks > 10);
	assert_true(used[ROUNDS - 1] <= used[0] + 65536);
	neap_thread_free(thread);
	event_free(timer);
	event_base_free(base);
	for (int i = 0; i < count * 2; i++)
		free(uploads[i].text);
	free(uploads);
	for (int i = 0; i < count; i++)
		free(list[i]);
	free(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_corpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
