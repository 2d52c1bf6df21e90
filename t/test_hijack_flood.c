/* SPDX-License-Identifier: Apache-2.0
 *
 * Plays a loop that was taken over and sends what no loop would: packets of any size with
 * descriptors of any kind, storms, messages at random; and one that reads no answers. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/hijack.h"

#define ROUNDS 10000
/* A message of this many; closing one takes the kernel milliseconds. */
#define TRIGGERS 40

/* --- packets --- */

static void descriptors_are_closed(void **state)
{
	static const size_t counts[] = {1, 2, 3, 7, 8, 9, 64, 252, HIJACK_FDS_MAX};
	struct hijack *attack = hijack_of(state);
	struct neap_hand_request rows[] = {
		{1, NEAP_HAND_MOVE, attack->own, 0, NULL, -1},
		{2, NEAP_HAND_LIST, NULL, 0, NULL, -1},
		{3, NEAP_HAND_SET, attack->inside, NEAP_KEY_CPU_SHARES, "3", -1},
	};
	unsigned char buf[1024];
	int fds[HIJACK_FDS_MAX];
	size_t i, j;

	for (i = 0; i < HIJACK_FDS_MAX; i++) {
		fds[i] = open(attack->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(fds[i] >= 0);
	}
	for (i = 0; i < NEAP_ARRAY_LEN(counts); i++)
		for (j = 0; j < NEAP_ARRAY_LEN(rows); j++)
			assert_int_not_equal(hijack_ask(attack, buf,
							hijack_message(&rows[j], buf),
							fds, counts[i]),
					     0);
	/* With nothing, with little and with too much beside them. */
	hijack_push(attack, buf, 0, fds, 8);
	hijack_push(attack, buf, 1, fds, HIJACK_FDS_MAX);
	for (i = 0; i < HIJACK_FDS_MAX; i++)
		close(fds[i]);
	hijack_unharmed(attack);
}

static void packets_of_any_size(void **state)
{
	struct hijack *attack = hijack_of(state);
	struct neap_hand_request request = {
		3, NEAP_HAND_SET, attack->inside, NEAP_KEY_CPU_SHARES, "3", -1};
	static unsigned char big[300000], buf[1024];
	size_t len = hijack_message(&request, buf), cut, at;

	for (cut = 1; cut < len; cut++)
		assert_int_equal(hijack_ask(attack, buf, cut, NULL, 0), EBADMSG);
	for (cut = 0; cut < 50; cut++)
		hijack_push(attack, buf, 0, NULL, 0); /* empty */
	memset(big, 'A', sizeof(big));
	for (cut = 1000; cut <= sizeof(big); cut *= 3)
		hijack_push(attack, big, cut, NULL, 0);
	/* Whole ones, and half a one at the end. */
	for (at = 0; at + len < NEAP_WIRE_MAX; at += len)
		memcpy(big + at, buf, len);
	hijack_push(attack, big, NEAP_WIRE_MAX, NULL, 0);
	hijack_push(attack, big, NEAP_WIRE_MAX + 1, NULL, 0);
	/* Lengths that add up to more than there is, or wrap. */
	for (cut = 0; cut < 16; cut++) {
		static const uint32_t lengths[] = {
			0, 1, 255, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff, 65536};

		memcpy(big, buf, len);
		memcpy(big + 32 + 4 * (cut % 4), &lengths[cut / 2], 4);
		(void)hijack_ask(attack, big, len, NULL, 0);
	}
	hijack_unharmed(attack);
}

/* --- storms --- */

static void storm(struct hijack *attack, const struct neap_hand_request *rows,
		  size_t count, int rounds)
{
	unsigned char buf[1024];
	size_t i;
	int round;

	for (round = 0; round < rounds; round++)
		for (i = 0; i < count; i++)
			hijack_push(attack, buf, hijack_message(&rows[i], buf), NULL, 0);
}

static void storms(void **state)
{
	struct hijack *attack = hijack_of(state);
	char deep[NEAP_PATH_MAX];
	struct neap_hand_request rows[] = {
		{1, NEAP_HAND_SET, attack->inside, NEAP_KEY_CPU_SHARES, "3", -1},
		{2, NEAP_HAND_FREEZE, NULL, 0, NULL, -1},
		{3, NEAP_HAND_GIVE_BACK, NULL, 0, NULL, -1},
		{4, NEAP_HAND_RESUME, NULL, 0, NULL, -1},
		{5, NEAP_HAND_SET, attack->own, NEAP_KEY_CPUSET_CPUS, "0", -1},
		{6, NEAP_HAND_LIST, NULL, 0, NULL, -1},
		{7, NEAP_HAND_MAKE, deep, 0, NULL, -1},
		{8, NEAP_HAND_SET, deep, NEAP_KEY_CPU_SHARES, "4", -1},
		{9, NEAP_HAND_REMOVE, deep, 0, NULL, -1},
		{10, NEAP_HAND_RESTORE, attack->own, NEAP_KEY_CPUSET_CPUS, NULL, -1},
	};
	struct stat st;
	char path[256];

	(void)snprintf(deep, sizeof(deep), "%.200s/a/b/c", attack->own);
	storm(attack, rows, NEAP_ARRAY_LEN(rows), 150);
	hijack_unharmed(attack);
	/* What the journal holds for ever is bounded by what is set. */
	(void)snprintf(path, sizeof(path), "%s/hand.journal",
		       attack->rig->config.run_dir);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size < 1024 * 1024);
	hijack_sleeps(attack);
}

static void fds_limit(const struct hijack *attack, rlim_t count)
{
	const struct rlimit few = {count, count};

	assert_int_equal(
		prlimit(neap_hand_pid(attack->rig->hand), RLIMIT_NOFILE, &few, NULL), 0);
}

/* More triggers than the hand may have descriptors; at most those of one packet are open
 * at a time. */
static void triggers_run_out(void **state)
{
	struct hijack *attack = hijack_of(state);
	struct neap_hand_request request = {
		1, NEAP_HAND_TRIGGER, "", 0, "memory some 100000 2000000", -1};
	struct neap_hand_request set = {
		2, NEAP_HAND_SET, attack->inside, NEAP_KEY_CPU_SHARES, "3", -1};
	static unsigned char buf[NEAP_WIRE_MAX];
	size_t len = hijack_message(&request, buf), at;
	int i;

	for (at = len; at < len * TRIGGERS; at += len)
		memcpy(buf + at, buf, len);
	fds_limit(attack, TRIGGERS / 2);
	for (i = 0; i < 4; i++)
		hijack_push(attack, buf, at, NULL, 0);
	hijack_settle(attack);
	assert_int_equal(hijack_ask(attack, buf, hijack_message(&set, buf), NULL, 0), 0);
	hijack_unharmed(attack);
}

/* Sends until nothing is taken any more, reads nothing: the hand waits, and does not turn
 * round. */
static void read_nothing(struct hijack *attack, int triggers)
{
	struct neap_hand_request trigger = {
		1, NEAP_HAND_TRIGGER, "", 0, "memory some 100000 2000000", -1};
	struct neap_hand_request list = {2, NEAP_HAND_LIST, NULL, 0, NULL, -1};
	static unsigned char buf[NEAP_WIRE_MAX], one[256];
	size_t len = hijack_message(&trigger, buf), at;
	size_t one_len = hijack_message(&list, one);
	int round;

	for (at = len; at < len * TRIGGERS; at += len)
		memcpy(buf + at, buf, len);
	for (round = 0; round < 15; round++) {
		if (round < triggers)
			(void)hijack_send(attack, buf, at, NULL, 0);
		while (round >= triggers && hijack_send(attack, one, one_len, NULL, 0))
			;
		rig_sleep_ms(5);
	}
	hijack_sleeps(attack);
	hijack_unharmed(attack);
}

static void never_reads(void **state)
{
	read_nothing(hijack_of(state), 1);
}

/* With so few descriptors that the kernel refuses to have more on their way
 * (ETOOMANYREFS), where the socket stays writable. */
static void never_reads_with_few(void **state)
{
	fds_limit(hijack_of(state), TRIGGERS / 2);
	read_nothing(hijack_of(state), 10);
}

/* A side that is shut down stays readable for ever. The hand takes it for the end of its
 * daemon. */
static void half_closed(void **state)
{
	struct hijack *attack = hijack_of(state);
	struct neap_hand_request set = {
		1, NEAP_HAND_SET, attack->inside, NEAP_KEY_CPU_SHARES, "3", -1};
	static unsigned char buf[1024];

	assert_int_equal(hijack_ask(attack, buf, hijack_message(&set, buf), NULL, 0), 0);
	assert_int_equal(shutdown(neap_hand_fd(attack->rig->hand), SHUT_WR), 0);
	hijack_sleeps(attack);
}

/* As many lists as go into a packet: answered once, as all of them would fill memory. */
static void lists_are_rationed(void **state)
{
	struct hijack *attack = hijack_of(state);
	struct neap_hand_request list = {1, NEAP_HAND_LIST, NULL, 0, NULL, -1};
	struct neap_hand_request set = {
		2, NEAP_HAND_SET, attack->inside, NEAP_KEY_CPU_SHARES, "3", -1};
	static unsigned char buf[NEAP_WIRE_MAX];
	size_t len, at, count;

	assert_int_equal(hijack_ask(attack, buf, hijack_message(&set, buf), NULL, 0), 0);
	len = hijack_message(&list, buf);
	for (at = len; at + len <= sizeof(buf); at += len)
		memcpy(buf + at, buf, len);
	hijack_settle(attack);
	count = attack->answers;
	assert_int_equal(hijack_ask(attack, buf, at, NULL, 0), EBUSY);
	hijack_settle(attack);
	/* One entry more, and those of the question that settles. */
	assert_in_range(attack->answers - count, at / len, at / len + 8);
	hijack_unharmed(attack);
}

/* --- at random --- */

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static void mutations(void **state)
{
	struct hijack *attack = hijack_of(state);
	char groups[8][NEAP_PATH_MAX];
	static const char *const values[] = {
		"2", "0", "max", "cpu some 100000 2000000", "100000", "", "0-1"};
	static unsigned char buf[NEAP_WIRE_MAX];
	uint32_t seed = 20260704;
	int pid, i, fd = hijack_connect(attack, HIJACK_NOBODY, &pid);

	for (i = 0; i < 8; i++)
		hijack_name(attack,
			    (const char *const[]){"%b/pod", "%o/w", "%o/x/y", "%c", "%b",
						  "%b/../%c", "%o", "%o/w/z"}[i],
			    groups[i], sizeof(groups[i]));
	for (i = 0; i < ROUNDS; i++) {
		struct neap_hand_request request = {
			next_random(&seed),
			(enum neap_hand_op)(next_random(&seed) % NEAP_HAND_ENTRY),
			groups[next_random(&seed) % 8],
			(enum neap_key)(next_random(&seed) % NEAP_KEY_COUNT),
			values[next_random(&seed) % NEAP_ARRAY_LEN(values)],
			-1,
			next_random(&seed) % 4 ? NULL : "1"};
		size_t len, changes = next_random(&seed) % 4;

		if (i % 7 == 0)
			request.op = NEAP_HAND_TRIGGER;
		/* It waits where something cannot go back at once. */
		if (request.op == NEAP_HAND_GIVE_BACK && i % 16 != 0)
			request.op = NEAP_HAND_SET;
		len = hijack_message(&request, buf);
		while (len && changes--) {
			static const unsigned char bytes[] = "/.%\n\0\xff-0";

			buf[next_random(&seed) % len] =
				next_random(&seed) % 2
					? (unsigned char)next_random(&seed)
					: bytes[next_random(&seed) % sizeof(bytes)];
		}
		/* A pair of messages now and then, a cut one, one with a descriptor. */
		if (next_random(&seed) % 16 == 0 && len)
			len = next_random(&seed) % len;
		hijack_push(attack, buf, len, &fd, next_random(&seed) % 8 == 0);
	}
	close(fd);
	hijack_end(pid);
	hijack_unharmed(attack);
	hijack_sleeps(attack);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, hijack_setup, hijack_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(descriptors_are_closed),
		CASE(packets_of_any_size),
		CASE(storms),
		CASE(triggers_run_out),
		CASE(never_reads),
		CASE(never_reads_with_few),
		CASE(half_closed),
		CASE(lists_are_rationed),
		CASE(mutations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
