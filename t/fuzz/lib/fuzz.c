/* SPDX-License-Identifier: Apache-2.0 */
#include "t/fuzz/lib/fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/mem.h"

struct block {
	struct block *next;
	char data[];
};

static char folder[96];
static int folder_owner;

void fuzz_fail(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
	abort();
}

void fuzz_in_init(struct fuzz_in *in, const uint8_t *data, size_t size)
{
	*in = (struct fuzz_in){data, size, NULL};
}

void fuzz_in_done(struct fuzz_in *in)
{
	struct block *block = in->blocks;

	while (block) {
		struct block *next = block->next;

		free(block);
		block = next;
	}
	in->blocks = NULL;
}

unsigned fuzz_byte(struct fuzz_in *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

uint64_t fuzz_word(struct fuzz_in *in)
{
	uint64_t word = 0;
	size_t len = in->left < sizeof(word) ? in->left : sizeof(word);

	if (len)
		memcpy(&word, in->at, len);
	in->at += len;
	in->left -= len;
	return word;
}

static char *take(struct fuzz_in *in, size_t len)
{
	struct block *block = malloc(sizeof(*block) + len + 1);

	if (!block)
		abort();
	block->next = in->blocks;
	in->blocks = block;
	if (len)
		memcpy(block->data, in->at, len);
	block->data[len] = '\0';
	in->at += len;
	in->left -= len;
	return block->data;
}

char *fuzz_text_until(struct fuzz_in *in, int end, size_t *ret_len)
{
	const uint8_t *stop = in->left ? memchr(in->at, end, in->left) : NULL;
	size_t len = stop ? (size_t)(stop - in->at) : in->left;
	char *text = take(in, len);

	if (ret_len)
		*ret_len = len;
	if (stop)
		(void)fuzz_byte(in);
	return text;
}

char *fuzz_line(struct fuzz_in *in)
{
	return fuzz_text_until(in, '\n', NULL);
}

char *fuzz_rest(struct fuzz_in *in, size_t *ret_len)
{
	if (ret_len)
		*ret_len = in->left;
	return take(in, in->left);
}

json_t *fuzz_rest_json(struct fuzz_in *in)
{
	json_t *json = json_loadb((const char *)in->at, in->left, JSON_DECODE_ANY, NULL);

	in->left = 0;
	return json;
}

static int remove_entry(const char *path, const struct stat *st, int type,
			struct FTW *walk)
{
	(void)st;
	(void)type;
	(void)walk;
	(void)remove(path);
	return 0;
}

static void folder_remove(void)
{
	if (getpid() == folder_owner)
		(void)nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *fuzz_folder(void)
{
	const char *below = getenv("FUZZ_DIR");

	if (*folder)
		return folder;
	if (!below)
		below = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	(void)umask(022);
	snprintf(folder, sizeof(folder), "%s/neap-fuzz-XXXXXX", below);
	FUZZ_CHECK(mkdtemp(folder) != NULL);
	folder_owner = (int)getpid();
	(void)atexit(folder_remove);
	return folder;
}

void fuzz_file_put(const char *below, const char *name, const void *data, size_t len)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", below, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	FUZZ_CHECK(fd >= 0);
	FUZZ_CHECK(write(fd, data, len) == (ssize_t)len);
	(void)close(fd);
}
