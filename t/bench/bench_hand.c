/* SPDX-License-Identifier: Apache-2.0
 *
 * What 50 changes cost (P10): a hand of its own sets the CPU quota of 50 groups, again
 * and again between two values. Prints the CPU time of one such round in microseconds,
 * asking side and hand together, median of all rounds; then that of the limit, which
 * reads, writes and reads the same files through kept descriptors and does nothing else,
 * in turn with the rounds; then the rounds. For each quota the kernel walks all groups of
 * the machine, so both depend on how many there are. The groups are made and removed
 * here. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hw/hand/hand.h"

#define GROUPS 50
#define ROUNDS 41

static const char help[] =
	"usage: bench_hand RUN_DIR ROOT\n"
	"  RUN_DIR  an empty directory for the hand's files\n"
	"  ROOT     name of the root group, beginning with \"neap-\"\n";

/* Nanoseconds on a CPU since the process began. */
static double cpu_nsec(int pid)
{
	struct timespec spent = {0};
	clockid_t clock;
	int rc = clock_getcpuclockid(pid, &clock);

	if (rc == 0 && clock_gettime(clock, &spent) < 0)
		rc = errno;
	if (rc != 0)
		fprintf(stderr, "bench_hand: CPU time of %d: %s\n", pid, strerror(rc));
	return (double)spent.tv_sec * 1e9 + (double)spent.tv_nsec;
}

/* Sends what is queued and takes `wanted` answers. 0, or -1 with a message. */
static int settle(struct neap_hand *hand, int wanted)
{
	struct neap_error err = {0};
	struct neap_hand_answer answer;
	int sent = 0;

	while (wanted > 0) {
		struct pollfd poll_fd = {.fd = neap_hand_fd(hand), .events = POLLIN};
		int rc;

		if (sent == 0)
			sent = neap_hand_flush(hand, &err);
		if (sent < 0)
			break;
		if (sent == 0)
			poll_fd.events |= POLLOUT;
		if (poll(&poll_fd, 1, 10000) <= 0) {
			fprintf(stderr, "bench_hand: no answer\n");
			return -1;
		}
		while ((rc = neap_hand_next(hand, &answer, &err)) > 0) {
			if (answer.errnum) {
				fprintf(stderr, "bench_hand: %s: %s %s\n",
					answer.group ? answer.group : "",
					strerror(answer.errnum), answer.text);
				return -1;
			}
			wanted--;
		}
		if (rc < 0)
			break;
	}
	if (wanted > 0)
		fprintf(stderr, "bench_hand: %s\n", err.msg);
	return wanted > 0 ? -1 : 0;
}

static int ask_all(struct neap_hand *hand, const char *root, enum neap_hand_op op,
		   const char *value)
{
	struct neap_error err = {0};
	char group[NEAP_PATH_MAX];

	for (int i = 0; i < GROUPS; i++) {
		struct neap_hand_request request = {
			.id = (uint64_t)i + 1,
			.op = op,
			.group = group,
			.key = NEAP_KEY_CPU_MAX_MILLI,
			.value = value,
		};

		(void)snprintf(group, sizeof(group), "%s/g%d", root, i);
		if (neap_hand_add(hand, &request, &err) < 0) {
			fprintf(stderr, "bench_hand: %s\n", err.msg);
			return -1;
		}
	}
	return settle(hand, GROUPS);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int open_all(const struct neap_cgroup *cgroup, const char *root, int fds[GROUPS])
{
	const char *file = neap_cgroup_file(cgroup, NEAP_KEY_CPU_MAX_MILLI, NULL, NULL);
	struct neap_error err = {0};
	char group[NEAP_PATH_MAX];

	for (int i = 0; i < GROUPS; i++) {
		(void)snprintf(group, sizeof(group), "%s/g%d", root, i);
		fds[i] = file ? neap_cgroup_open(cgroup, NEAP_CTL_CPU, group, file,
						 O_RDWR, &err)
			      : -1;
		if (fds[i] >= 0)
			continue;
		fprintf(stderr, "bench_hand: %s: %s\n", group,
			file ? err.msg : "no quota");
		while (i > 0)
			(void)close(fds[--i]); /* nothing is buffered */
		return -1;
	}
	return 0;
}

/* What the hand must do to the kernel's files, and no more. */
static int change_all(const int fds[GROUPS], const char *value)
{
	char text[64];

	for (int i = 0; i < GROUPS; i++) {
		if (pread(fds[i], text, sizeof(text), 0) < 0 ||
		    pwrite(fds[i], value, strlen(value), 0) < 0 ||
		    pread(fds[i], text, sizeof(text), 0) < 0) {
			fprintf(stderr, "bench_hand: limit: %s\n", strerror(errno));
			return -1;
		}
	}
	return 0;
}

static int measure_rounds(struct neap_hand *hand, const char *root, char values[2][64],
			  const int fds[GROUPS])
{
	double took[ROUNDS], limit[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		double from = cpu_nsec(getpid()) + cpu_nsec(neap_hand_pid(hand));

		if (ask_all(hand, root, NEAP_HAND_SET, values[i % 2]) < 0)
			return -1;
		took[i] = cpu_nsec(getpid()) + cpu_nsec(neap_hand_pid(hand)) - from;
		from = cpu_nsec(getpid());
		if (change_all(fds, values[(i + 1) % 2]) < 0)
			return -1;
		limit[i] = cpu_nsec(getpid()) - from;
	}
	qsort(took, ROUNDS, sizeof(took[0]), compare);
	qsort(limit, ROUNDS, sizeof(limit[0]), compare);
	printf("%.0f\t%.0f\t%d\n", took[ROUNDS / 2] / 1e3, limit[ROUNDS / 2] / 1e3,
	       ROUNDS);
	return 0;
}

static int measure(struct neap_hand *hand, const struct neap_cgroup *cgroup,
		   const char *root)
{
	bool v2 = cgroup->mount[NEAP_CTL_CPU].is_v2;
	static const int64_t milli[] = {500, 600};
	char values[2][64];
	int fds[GROUPS];
	int rc;

	for (int i = 0; i < 2; i++) {
		struct neap_value value = {.number = milli[i]};

		(void)neap_value_format(NEAP_KEY_CPU_MAX_MILLI, v2, NEAP_WEIGHT_LINEAR,
					&value, values[i],
					sizeof(values[i])); /* 64 bytes hold any number */
	}

	/* The first round opens the files and writes the journal. */
	if (ask_all(hand, root, NEAP_HAND_MAKE, NULL) < 0 ||
	    ask_all(hand, root, NEAP_HAND_SET, values[1]) < 0 ||
	    open_all(cgroup, root, fds) < 0)
		return -1;
	rc = measure_rounds(hand, root, values, fds);
	for (int i = 0; i < GROUPS; i++)
		(void)close(fds[i]); /* nothing is buffered */
	return rc < 0 ? rc : ask_all(hand, root, NEAP_HAND_REMOVE, NULL);
}

int main(int argc, char **argv)
{
	static struct neap_cgroup cgroup;
	static struct neap_hand_config config;
	struct neap_error err = {0};
	struct neap_hand *hand = NULL;
	int rc;

	if (argc != 3 || strncmp(argv[2], "neap-", 5) != 0 || strchr(argv[2], '/')) {
		fputs(help, stderr);
		return 2;
	}
	if (neap_cgroup_probe(NULL, &cgroup, &err) < 0 ||
	    neap_cgroup_make(&cgroup, argv[2], NULL, &err) < 0) {
		fprintf(stderr, "bench_hand: %s\n", err.msg);
		return 1;
	}
	neap_cgroup_probe_keys(&cgroup, argv[2]);
	config.cgroup = &cgroup;
	(void)snprintf(config.run_dir, sizeof(config.run_dir), "%s", argv[1]);
	(void)snprintf(config.roots[0], sizeof(config.roots[0]), "%s", argv[2]);
	(void)snprintf(config.own_roots[0], sizeof(config.own_roots[0]), "%s", argv[2]);
	config.root_count = 1;
	config.release_after_usec = 1000;
	config.log = (struct neap_log){
		.fd = STDERR_FILENO, .level = NEAP_LOG_WARN, .program = "neap-hand"};
	rc = neap_hand_start(&config, &hand, &err);
	if (rc < 0) {
		fprintf(stderr, "bench_hand: %s\n", err.msg);
	} else {
		rc = measure(hand, &cgroup, argv[2]);
		neap_hand_free(hand);
	}
	(void)neap_cgroup_remove(&cgroup, argv[2],
				 &err); /* the hand may have been first */
	neap_cgroup_done(&cgroup);
	return rc < 0 ? 1 : 0;
}
