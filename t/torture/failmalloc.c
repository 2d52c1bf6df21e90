/* SPDX-License-Identifier: Apache-2.0
 *
 * Stands before malloc(3) of the C library, in which the allocator proper is known under
 * another name. Every block is kept in a table: so blocks can be counted, a free of what
 * is none is seen, and a leak can be told with the call stack that made it. */
#include "t/torture/failmalloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "t/torture/excluded.h"

#define REAL(name) __libc_##name
extern void *REAL(malloc)(size_t size);
extern void *REAL(calloc)(size_t count, size_t size);
extern void *REAL(realloc)(void *old, size_t size);
extern void *REAL(memalign)(size_t alignment, size_t size);
extern void REAL(free)(void *block);

#define SLOTS      (1 << 17) /* blocks at once: half of it */
#define FRAMES_MAX 28
#define PERTURB    0xa5
#define GONE       ((void *)1) /* a slot whose block was freed */

struct slot {
	void *block;
	uint64_t made; /* in the order of all */
};

struct origin {
	void *frames[FRAMES_MAX];
	int count;
};

static struct failmalloc_page own_page; /* until another is used */
static struct failmalloc_page *page = &own_page;
static int own_pid;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot *slots;
static struct origin *origins; /* of each slot; only touched when tracing */
static uint64_t made;
static int64_t live;
static _Thread_local bool is_inside; /* the allocator's own business */

/* --- blocks --- */

static void tables_map(void)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

	slots = mmap(NULL, SLOTS * sizeof(*slots), PROT_READ | PROT_WRITE, flags, -1, 0);
	origins = mmap(NULL, SLOTS * sizeof(*origins), PROT_READ | PROT_WRITE, flags, -1,
		       0);
	if (slots == MAP_FAILED || origins == MAP_FAILED)
		abort();
}

/* Neighbours stay neighbours: the pages of the table are copied after each fork. */
static size_t slot_of(const void *block)
{
	return ((uintptr_t)block >> 4) % SLOTS;
}

static void *note(void *block)
{
	size_t i;

	if (block == NULL)
		return NULL;
	(void)pthread_mutex_lock(&lock);
	if (slots == NULL)
		tables_map();
	for (i = slot_of(block); slots[i].block > GONE; i = (i + 1) % SLOTS)
		;
	slots[i].block = block;
	slots[i].made = ++made;
	if (++live > SLOTS / 2)
		abort();
	if (page->is_tracing && !is_inside) {
		is_inside = true;
		origins[i].count = backtrace(origins[i].frames, FRAMES_MAX);
		is_inside = false;
	}
	(void)pthread_mutex_unlock(&lock);
	return block;
}

/* False when it is none of ours. */
static bool forget(const void *block)
{
	bool is_known = false;
	size_t i;

	(void)pthread_mutex_lock(&lock);
	for (i = slot_of(block); slots != NULL && slots[i].block != NULL;
	     i = (i + 1) % SLOTS) {
		if (slots[i].block != block)
			continue;
		slots[i].block = slots[(i + 1) % SLOTS].block == NULL ? NULL : GONE;
		live--;
		is_known = true;
		break;
	}
	(void)pthread_mutex_unlock(&lock);
	return is_known;
}

static void release(void *block)
{
	if (block == NULL)
		return;
	if (!forget(block)) {
		static const char text[] = "failmalloc: a block is freed that is none\n";

		page->bad_free++;
		(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
		failmalloc_stack(STDERR_FILENO);
		abort();
	}
	REAL(free)(block);
}

/* --- which one fails --- */

static const char *file_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static bool is_excluded(void *const *frames, int count)
{
	Dl_info info;
	size_t k;
	int i;

	for (i = 0; i < count; i++) {
		if (dladdr(frames[i], &info) == 0 || info.dli_fname == NULL)
			continue;
		for (k = 0;
		     k < sizeof(failmalloc_excluded) / sizeof(failmalloc_excluded[0]);
		     k++) {
			const struct failmalloc_excluded *row = &failmalloc_excluded[k];

			if (strstr(file_of(info.dli_fname), row->object) != NULL &&
			    (row->function == NULL ||
			     (info.dli_sname != NULL &&
			      strcmp(info.dli_sname, row->function) == 0)))
				return true;
		}
	}
	return false;
}

static size_t frames_print(char *text, size_t size, void *const *frames, int count)
{
	size_t len = 0;
	Dl_info info;
	int i;

	for (i = 0; i < count && len < size - 1; i++) {
		int n;

		if (dladdr(frames[i], &info) == 0 || info.dli_fname == NULL)
			continue;
		n = snprintf(text + len, size - len, "%s +0x%zx %s\n", info.dli_fname,
			     (size_t)((char *)frames[i] - (char *)info.dli_fbase - 1),
			     info.dli_sname != NULL ? info.dli_sname : "");
		len += n > 0 ? (size_t)n : 0;
	}
	return len < size ? len : size - 1;
}

static void record(uint64_t n)
{
	void *frames[FRAMES_MAX];
	int count = backtrace(frames, FRAMES_MAX), i;
	uint64_t hash = 14695981039346656037U;

	for (i = 0; i < count; i++)
		hash = (hash ^ (uintptr_t)frames[i]) * 1099511628211U;
	page->stacks[n] = is_excluded(frames, count) ? 0 : (uint32_t)(hash >> 32) | 1;
}

static bool fails(uint64_t n)
{
	void *frames[FRAMES_MAX];
	int count = backtrace(frames, FRAMES_MAX);

	if (is_excluded(frames, count)) {
		page->spared++;
		return false;
	}
	if (page->failed++ == 0)
		(void)frames_print(page->where, sizeof(page->where), frames, count);
	(void)n;
	errno = ENOMEM;
	return true;
}

static bool may_allocate(void)
{
	uint64_t n;
	bool may = true;

	if (page->pid == 0 || page->pid != own_pid || is_inside)
		return true;
	is_inside = true;
	n = ++page->asked;
	if (page->is_recording && n < FAILMALLOC_STACKS)
		record(n);
	if (page->fail_at != 0 && n >= page->fail_at &&
	    n - page->fail_at < page->fail_count)
		may = !fails(n);
	is_inside = false;
	return may;
}

/* --- the functions of the C library --- */

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): its own names are
 * reserved ones */

void *malloc(size_t size)
{
	return may_allocate() ? note(REAL(malloc)(size)) : NULL;
}

void *calloc(size_t count, size_t size)
{
	return may_allocate() ? note(REAL(calloc)(count, size)) : NULL;
}

void *realloc(void *old, size_t size)
{
	void *fresh;

	if (old == NULL)
		return malloc(size);
	if (size == 0) {
		release(old);
		return NULL;
	}
	if (!may_allocate())
		return NULL;
	(void)forget(old);
	fresh = REAL(realloc)(old, size);
	(void)note(fresh != NULL ? fresh : old);
	return fresh;
}

void *reallocarray(void *old, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, bytes);
}

void *memalign(size_t alignment, size_t size)
{
	return may_allocate() ? note(REAL(memalign)(alignment, size)) : NULL;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
	void *block = memalign(alignment, size);

	if (block == NULL)
		return ENOMEM;
	*ret = block;
	return 0;
}

void free(void *block)
{
	release(block);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

/* --- steering --- */

static void before_fork(void)
{
	(void)pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	(void)pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
	own_pid = (int)getpid();
	(void)pthread_mutex_unlock(&lock);
}

struct failmalloc_page *failmalloc_page_new(const char *file)
{
	int flags = file != NULL ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS;
	int fd = file != NULL ? open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	struct failmalloc_page *fresh;

	if (file != NULL && (fd < 0 || ftruncate(fd, sizeof(*fresh)) < 0))
		return NULL;
	fresh = mmap(NULL, sizeof(*fresh), PROT_READ | PROT_WRITE, flags, fd, 0);
	if (fd >= 0)
		(void)close(fd);
	return fresh == MAP_FAILED ? NULL : fresh;
}

void failmalloc_page_use(struct failmalloc_page *to)
{
	page = to;
}

void failmalloc_arm(struct failmalloc_page *to, int pid, uint64_t n, uint64_t count)
{
	to->pid = 0;
	to->asked = 0;
	to->failed = 0;
	to->spared = 0;
	to->where[0] = '\0';
	to->fail_at = n;
	to->fail_count = count;
	to->pid = pid;
}

void failmalloc_disarm(struct failmalloc_page *to)
{
	to->fail_at = 0;
	to->is_recording = false;
}

int64_t failmalloc_live(void)
{
	return live;
}

uint64_t failmalloc_mark(void)
{
	return made;
}

void failmalloc_report(int fd, uint64_t mark, int most)
{
	static char text[8192];
	size_t i, len;

	is_inside = true;
	for (i = 0; i < SLOTS && most > 0; i++) {
		if (slots[i].block <= GONE || slots[i].made <= mark)
			continue;
		most--;
		len = frames_print(text, sizeof(text), origins[i].frames,
				   origins[i].count);
		(void)!write(fd, "leaked:\n", 8);
		(void)!write(fd, text, len);
	}
	is_inside = false;
}

void failmalloc_stack(int fd)
{
	static char text[8192];
	void *frames[FRAMES_MAX];
	bool was = is_inside;
	size_t len;

	is_inside = true;
	len = frames_print(text, sizeof(text), frames, backtrace(frames, FRAMES_MAX));
	(void)!write(fd, text, len);
	is_inside = was;
}

static void on_crash(int sig)
{
	failmalloc_stack(STDERR_FILENO);
	(void)signal(sig, SIG_DFL);
	(void)raise(sig);
}

static __attribute__((constructor)) void start(void)
{
	static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
	const char *file = getenv("FAILMALLOC_PAGE");
	void *frames[2];
	size_t i;

	own_pid = (int)getpid();
	/* What is freed is overwritten, so that whoever still uses it goes wrong. */
	(void)mallopt(M_PERTURB, PERTURB);
	(void)backtrace(frames, 2); /* which loads a library the first time */
	(void)pthread_atfork(before_fork, after_fork, in_child);
	if (file == NULL)
		return;
	page = failmalloc_page_new(file);
	if (page == NULL)
		abort();
	for (i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		(void)signal(crashes[i], on_crash);
}
