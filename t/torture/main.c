/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs every act with its n-th allocation failing, n = 1, 2, 3 ... until it goes through
 * untouched. Each run is a process of its own. It must not crash, hang, leak a block or a
 * descriptor, give a result that is neither the right one nor an error, or leave a state
 * in which nothing works.
 *
 *   torture [-t SECONDS] [-n N] [-l] [NAME...]
 *
 * -t: of all acts together (400); -n: only this allocation; -l: only lists the acts. A
 * name stands for all acts that begin with it. First come the first and the last
 * allocation of every different call stack, then all others, as long as the time lasts;
 * the line of an act says how far that was. Every n is tried twice: that one allocation
 * fails, or that one and all after it. Last line: "N passed, N failed". */
#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/json/json.h"
#include "t/lib/patience.h"
#include "t/torture/failmalloc.h"
#include "t/torture/torture.h"

#define RUN_SECONDS 30 /* a run that takes longer hangs */
#define TEXT_MAX    (256 * 1024)
#define REPORTS_MAX 4 /* failures told of one act */

/* Shared with the runs. */
struct notes {
	char text[TEXT_MAX]; /* what the act told when nothing failed */
	size_t text_len;
};

static struct failmalloc_page *page;
static struct notes *notes;
static char told[TEXT_MAX];
static size_t told_len;
static int complaints = -1; /* standard error of the runs */
static int only_n, tests_failed, tests_done;

/* --- for the acts --- */

void torture_tell(const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(told + told_len, sizeof(told) - told_len, fmt, args);
	va_end(args);
	if (n > 0)
		told_len += (size_t)n;
	if (told_len >= sizeof(told))
		told_len = sizeof(told) - 1;
}

void torture_fail(const char *fmt, ...)
{
	va_list args;

	failmalloc_disarm(page);
	va_start(args, fmt);
	(void)vfprintf(stderr, fmt, args);
	va_end(args);
	(void)fputc('\n', stderr);
	_exit(1);
}

static uint64_t armed_n, armed_count; /* of this run */
static char own_dir[40], page_file[64];

void torture_arm(int pid)
{
	failmalloc_arm(page, pid, armed_n, armed_count);
}

void torture_disarm(void)
{
	failmalloc_disarm(page);
	page->pid = 0;
}

const char *torture_page_file(void)
{
	return page_file;
}

/* --- one run --- */

static void on_crash(int sig)
{
	static const char text[] = "crash, at:\n";

	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	failmalloc_stack(STDERR_FILENO);
	(void)signal(sig, SIG_DFL);
	(void)raise(sig);
}

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (dir != NULL && readdir(dir) != NULL)
		n++;
	if (dir != NULL)
		(void)closedir(dir);
	return n;
}

static void judge(const struct torture *t, int rc, const struct neap_error *err)
{
	const uint64_t failed = page->failed;
	const size_t want = notes->text_len;
	size_t i = 0;

	if (rc > 0)
		torture_fail("it gives %d, which is neither 0 nor -code", rc);
	if (rc < 0 && failed == 0)
		torture_fail("fails without a cause: %s: %s", neap_code_name(err->code),
			     err->msg);
	if (rc < 0 && rc != -NEAP_ENOMEM && !(t->codes & 1U << -rc))
		torture_fail("it blames something else: %s: %s",
			     neap_code_name((enum neap_code) - rc), err->msg);
	if (rc < 0 && err->code != (enum neap_code) - rc)
		torture_fail("its code is %d, its error's %s: %s", rc,
			     neap_code_name(err->code), err->msg);
	if (rc < 0 && err->msg[0] == '\0')
		torture_fail("an error without a text");
	if (rc < 0 || t->is_lossy)
		return;
	while (i < told_len && i < want && told[i] == notes->text[i])
		i++;
	if (i != told_len || i != want)
		torture_fail("it says that all is well, but from byte %zu on its result "
			     "is:\n%.300s\nand not:\n%.300s",
			     i, told + i, notes->text + i);
}

static void *kept; /* state of an act that is elsewhere */

static int play(const struct torture *t, uint64_t n, uint64_t count, bool is_judged)
{
	void *state = t->is_elsewhere ? kept : t->setup != NULL ? t->setup() : NULL;
	struct neap_error err = {0};
	int rc;

	told_len = 0;
	told[0] = '\0';
	armed_n = n;
	armed_count = count;
	if (!t->is_elsewhere)
		torture_arm((int)getpid());
	rc = t->act(state, &err);
	torture_disarm();
	if (is_judged)
		judge(t, rc, &err);
	else
		memcpy(notes->text, told, (notes->text_len = told_len) + 1);
	if (!is_judged && rc < 0)
		torture_fail("fails without a cause: %s: %s",
			     neap_code_name((enum neap_code) - rc), err.msg);
	if (t->check != NULL)
		t->check(state, rc);
	if (t->teardown != NULL && !t->is_elsewhere)
		t->teardown(state);
	return rc;
}

static _Noreturn void run_once(const struct torture *t, uint64_t n, uint64_t count)
{
	static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
	int64_t live;
	uint64_t mark;
	int fds;
	size_t i;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)dup2(complaints, STDERR_FILENO);
	for (i = 0; i < NEAP_ARRAY_LEN(crashes); i++)
		(void)signal(crashes[i], on_crash);
	(void)alarm(RUN_SECONDS);
	fds = descriptors();
	live = failmalloc_live();
	mark = failmalloc_mark();
	(void)play(t, n, count, true);
	if (t->is_elsewhere)
		_exit(page->failed > 0 ? 0 : 3);
	if (failmalloc_live() > live) {
		fprintf(stderr, "%lld blocks are leaked\n",
			(long long)(failmalloc_live() - live));
		if (page->is_tracing)
			failmalloc_report(STDERR_FILENO, mark, 4);
		_exit(1);
	}
	if (descriptors() != fds)
		torture_fail("%d descriptors are left open", descriptors() - fds);
	_exit(page->failed > 0 ? 0 : 3);
}

/* Status of waitpid. */
static int run(const struct torture *t, uint64_t n, uint64_t count)
{
	int status = 0;
	pid_t pid;

	(void)fflush(NULL);
	(void)!ftruncate(complaints, 0);
	(void)lseek(complaints, 0, SEEK_SET);
	pid = fork();
	if (pid == 0)
		run_once(t, n, count);
	if (pid < 0)
		return -1;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* --- a report --- */

/* "object +0x12 name" lines; a place of the source where the object has one. */
static void print_stack(char *text)
{
	char *rest = text, *line;
	int lines = 0;

	while ((line = strsep(&rest, "\n")) != NULL && lines++ < 40) {
		char object[256], offset[32], command[400], place[400] = "";
		FILE *pipe;

		if (strstr(line, "libc.so") != NULL &&
		    strstr(line, "__libc_start") != NULL)
			break;
		if (strstr(line, " torment") != NULL)
			break;
		if (sscanf(line, "%255s +%31s", object, offset) != 2 ||
		    strstr(object, "/lib/") != NULL) {
			printf("#   %s\n", line);
			continue;
		}
		(void)snprintf(command, sizeof(command),
			       "addr2line -fsp -e %s %s 2>/dev/null", object, offset);
		pipe = popen(command, "r");
		if (pipe != NULL && fgets(place, sizeof(place), pipe) != NULL)
			place[strcspn(place, "\n")] = '\0';
		if (pipe != NULL)
			(void)pclose(pipe);
		printf("#   %s\n", place[0] != '\0' && place[0] != '?' ? place : line);
	}
}

static void report(const struct torture *t, uint64_t n, uint64_t count, int status)
{
	static char text[65536];
	ssize_t len = pread(complaints, text, sizeof(text) - 1, 0), again;

	/* Once more, with notes of who made which block. What goes well then has only its
	 * first complaint. */
	page->is_tracing = true;
	if (WIFEXITED(status))
		status = run(t, n, count);
	page->is_tracing = false;
	printf("# %s: allocation %llu%s fails: ", t->name, (unsigned long long)n,
	       count > 1 ? " and all after it" : "");
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		printf("it hangs\n");
	else if (WIFSIGNALED(status))
		printf("killed by signal %d\n", WTERMSIG(status));
	else
		printf("exit status %d\n", WEXITSTATUS(status));
	again = pread(complaints, text, sizeof(text) - 1, 0);
	len = again > 0 ? again : len;
	text[len > 0 ? len : 0] = '\0';
	print_stack(text);
	printf("#  the allocation:\n");
	print_stack(page->where);
}

/* --- all runs of an act --- */

static double now(void)
{
	struct timespec ts = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail */
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

struct order {
	uint32_t *n;     /* to be tried, in this order */
	size_t count;    /* of all that may fail */
	size_t distinct; /* the first so many reach every call stack */
};

struct seen {
	uint32_t hash, n;
};

static int by_hash(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->n < y->n ? -1 : x->n > y->n;
}

/* Why an allocation is tried: the first and the last of its call stack come before all
 * others. */
enum rank { RANK_SPARED, RANK_OTHER, RANK_EDGE, RANK_DONE };

/* Those of a rank, evenly spread, ever closer: so wherever the time ends, no part is left
 * out. */
static void add_spread(struct order *order, char *ranks, size_t total, enum rank rank)
{
	uint32_t *list = calloc(total + 1, sizeof(*list));
	size_t count = 0, stride = 1, i;

	for (i = 1; i <= total; i++)
		if (ranks[i] == (char)rank)
			list[count++] = (uint32_t)i;
	while (stride * 2 <= count)
		stride *= 2;
	for (; stride > 0; stride /= 2)
		for (i = 0; i < count; i += stride) {
			if (ranks[list[i]] == RANK_DONE)
				continue;
			ranks[list[i]] = RANK_DONE;
			order->n[order->count++] = list[i];
		}
	free(list);
}

static struct order order_new(size_t total)
{
	struct order order = {.n = calloc(total + 1, sizeof(*order.n))};
	struct seen *seen = calloc(total + 1, sizeof(*seen));
	char *ranks = calloc(total + 1, 1);
	size_t i;

	for (i = 0; i < total; i++)
		seen[i] = (struct seen){page->stacks[i + 1], (uint32_t)i + 1};
	qsort(seen, total, sizeof(*seen), by_hash);
	for (i = 0; i < total; i++) {
		bool is_edge = i == 0 || seen[i].hash != seen[i - 1].hash ||
			       i + 1 == total || seen[i].hash != seen[i + 1].hash;

		ranks[seen[i].n] = seen[i].hash == 0 ? RANK_SPARED
				   : is_edge         ? RANK_EDGE
						     : RANK_OTHER;
	}
	add_spread(&order, ranks, total, RANK_EDGE);
	order.distinct = order.count;
	add_spread(&order, ranks, total, RANK_OTHER);
	free(seen);
	free(ranks);
	return order;
}

/* How many runs were wrong; they are told. */
static int torment(const struct torture *t, const struct order *order, double until,
		   size_t *ret_done)
{
	int bad = 0;
	size_t i;
	int k;

	for (i = 0; i < order->count; i++) {
		if (i > 0 && now() > until)
			break;
		for (k = 0; k < 2; k++) {
			uint64_t count = k == 0 ? 1 : FAILMALLOC_FOREVER;
			int status = run(t, order->n[i], count);

			if (WIFEXITED(status) &&
			    (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3))
				continue;
			if (bad++ < REPORTS_MAX)
				report(t, order->n[i], count, status);
		}
	}
	*ret_done = i;
	return bad;
}

static bool is_named(const struct torture *t, char **names, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (strncmp(t->name, names[i], strlen(names[i])) == 0)
			return true;
	return count == 0;
}

static void torture(const struct torture *t, double seconds)
{
	double start = now();
	struct order order;
	uint64_t total;
	size_t done = 0;
	int status, bad;

	tests_done++;
	kept = t->is_elsewhere && t->setup != NULL ? t->setup() : NULL;
	/* What is made once and kept (tables of a library) is made now. */
	(void)play(t, 0, 0, false);
	page->is_recording = true;
	status = run(t, 0, 0);
	page->is_recording = false;
	total = page->asked < FAILMALLOC_STACKS ? page->asked : FAILMALLOC_STACKS - 1;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) {
		printf("not ok %d - %s\n# though nothing fails\n", tests_done, t->name);
		report(t, 0, 0, status);
		tests_failed++;
		if (t->is_elsewhere && t->teardown != NULL)
			t->teardown(kept);
		return;
	}
	order = order_new(total);
	if (only_n > 0) {
		order.n[0] = (uint32_t)only_n;
		order.count = order.distinct = 1;
	}
	bad = torment(t, &order, start + seconds, &done);
	tests_failed += bad > 0;
	printf("%s %d - %s: %zu of %zu allocations, %zu of %zu first or last of their call stack, "
	       "%.0f s",
	       bad > 0 ? "not ok" : "ok", tests_done, t->name, done, order.count,
	       done < order.distinct ? done : order.distinct, order.distinct,
	       now() - start);
	if (bad > 0)
		printf(": %d runs wrong", bad);
	printf("\n");
	free(order.n);
	if (t->is_elsewhere && t->teardown != NULL)
		t->teardown(kept);
}

static const struct torture *const groups[] = {
	torture_engine, torture_policy, torture_live,  torture_http,     torture_hand,
	torture_daemon, torture_kube,   torture_serve, torture_declared, torture_keep,
	torture_store,  torture_keeper, torture_agent, torture_schedule};

/* Every act gets its part of the time that is left: what a short one does not need is for
 * the others. */
static void torture_all(char **names, int count, double seconds, bool is_list)
{
	double until = now() + seconds;
	int left = 0, pass, weight;
	size_t i;
	const struct torture *t;

	for (pass = 0; pass < 2; pass++)
		for (i = 0; i < NEAP_ARRAY_LEN(groups); i++)
			for (t = groups[i]; t->name != NULL; t++) {
				if (!is_named(t, names, count))
					continue;
				weight = t->weight > 0 ? t->weight : 1;
				if (pass == 0)
					left += weight;
				else if (is_list)
					puts(t->name);
				else
					torture(t, (until - now()) * weight / left);
				left -= pass == 1 ? weight : 0;
			}
}

/* A directory for all runs, as those that fail leave theirs, and in it the page. */
static bool page_make(void)
{
	(void)snprintf(own_dir, sizeof(own_dir), "%s/neap-torture.XXXXXX",
		       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(own_dir) == NULL)
		return false;
	(void)setenv("NEAP_TEST_DIR", own_dir, 1);
	/* A fork's first touch of a page is CPU time of the policy that does it; what is
	 * tortured here is memory. */
	patience_with_scripts();
	(void)snprintf(page_file, sizeof(page_file), "%s/page", own_dir);
	page = failmalloc_page_new(page_file);
	notes = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	complaints = memfd_create("complaints", MFD_CLOEXEC);
	return page != NULL && notes != MAP_FAILED && complaints >= 0;
}

static void dir_remove(void)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -rf %s", own_dir);
	if (system(command) != 0)
		printf("# %s is left\n", own_dir);
}

int main(int argc, char **argv)
{
	double seconds = 400;
	bool is_list = false;
	int c;

	while ((c = getopt(argc, argv, "t:n:l")) != -1) {
		if (c == 't')
			seconds = strtod(optarg, NULL);
		else if (c == 'n')
			only_n = (int)strtol(optarg, NULL, 10);
		else if (c == 'l')
			is_list = true;
		else
			return 2;
	}
	if (!page_make()) {
		perror("torture");
		return 2;
	}
	failmalloc_page_use(page);
	neap_json_setup();
	(void)signal(SIGPIPE, SIG_IGN);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	torture_all(argv + optind, argc - optind, seconds, is_list);
	dir_remove();
	if (!is_list)
		printf("%d passed, %d failed\n", tests_done - tests_failed, tests_failed);
	return tests_failed > 0;
}
