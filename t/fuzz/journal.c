/* SPDX-License-Identifier: Apache-2.0
 *
 * The hand's journal as a file. Whatever is in it is taken up or left out line by line;
 * what was taken up is the same once more after it was written anew, and none of it is
 * unsafe to go by. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "hw/hand/journal_priv.h"
#include "t/fuzz/lib/fuzz.h"

#define BOOT "11111111-2222-3333-4444-555555555555"

static const struct neap_log quiet = {-1, NEAP_LOG_ERROR, NEAP_LOG_TEXT, "fuzz"};
static int dir_fd = -1;

/* Lines without their sums get them, so that what is behind the sum is reached. */
static void sign(struct fuzz_in *in, struct neap_buf *file)
{
	struct neap_journal head = {.boot_id = BOOT};

	neap_buf_init(file, NEAP_BUF_FILE);
	neap_journal_header_line(&head, file);
	while (in->left) {
		const char *line = fuzz_line(in);

		neap_buf_addf(
			file, "%s\t#%08x\n", line,
			(unsigned)neap_journal_hash(2166136261u, line, strlen(line)));
	}
}

/* NULL for what a newer hand may have written: that is refused, and left as it is. */
static struct neap_journal *journal_open(void)
{
	struct neap_journal *journal = NULL;
	struct neap_error err = {0};
	int rc = neap_journal_open(dir_fd, BOOT, &quiet, &journal, &err);

	FUZZ_CHECK(rc == 0 ? journal != NULL : err.code == NEAP_EUNSUPPORTED && *err.msg);
	return journal;
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void check_safe(const struct neap_journal *journal)
{
	for (int i = 0; i < neap_journal_count(journal); i++) {
		const struct neap_journal_entry *entry = neap_journal_get(journal, i);

		FUZZ_CHECK(neap_path_is_safe(entry->group));
		FUZZ_CHECK((unsigned)entry->key < NEAP_KEY_COUNT && entry->value);
		FUZZ_CHECK(neap_journal_find(journal, entry->group, entry->key) == i);
	}
	for (int i = 0; i < neap_journal_made_count(journal); i++) {
		const struct neap_journal_made *made = neap_journal_made_get(journal, i);

		FUZZ_CHECK(neap_path_is_safe(made->group));
		FUZZ_CHECK(neap_journal_made_find(journal, made->group) == i);
	}
}

static void check_same(const struct neap_journal *a, const struct neap_journal *b)
{
	FUZZ_CHECK(neap_journal_count(a) == neap_journal_count(b));
	FUZZ_CHECK(neap_journal_made_count(a) == neap_journal_made_count(b));
	for (int i = 0; i < neap_journal_count(a); i++) {
		const struct neap_journal_entry *x = neap_journal_get(a, i), *y;
		int at = neap_journal_find(b, x->group, x->key);

		FUZZ_CHECK(at >= 0);
		y = neap_journal_get(b, at);
		FUZZ_CHECK(is_same(x->value, y->value) && is_same(x->own, y->own) &&
			   x->dev == y->dev && x->ino == y->ino &&
			   x->is_side_effect == y->is_side_effect);
	}
	for (int i = 0; i < neap_journal_made_count(a); i++) {
		const struct neap_journal_made *made = neap_journal_made_get(a, i);
		int at = neap_journal_made_find(b, made->group);

		FUZZ_CHECK(at >= 0 &&
			   is_same(made->origin, neap_journal_made_get(b, at)->origin));
	}
}

/* Everything is dropped; the file goes with the last entry. */
static void drop_all(struct neap_journal *journal)
{
	while (neap_journal_count(journal))
		neap_journal_drop(journal, neap_journal_count(journal) - 1);
	while (neap_journal_made_count(journal))
		neap_journal_made_drop(journal, neap_journal_made_count(journal) - 1);
	neap_journal_free(journal);
	FUZZ_CHECK(faccessat(dir_fd, NEAP_JOURNAL_FILE, F_OK, 0) < 0);
}

/* The first byte: an even one, and the rest is the file; an odd one, and the rest are
 * lines that get a head and check sums. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *folder = fuzz_folder();
	neap_auto_buf struct neap_buf file = {0};
	struct neap_journal *first, *second;
	struct fuzz_in in;
	size_t len;

	if (dir_fd < 0)
		dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fuzz_in_init(&in, data, size);
	if (fuzz_byte(&in) & 1) {
		sign(&in, &file);
		fuzz_file_put(folder, NEAP_JOURNAL_FILE, file.data, file.len);
	} else {
		const char *text = fuzz_rest(&in, &len);

		fuzz_file_put(folder, NEAP_JOURNAL_FILE, text, len);
	}
	first = journal_open();
	if (first) {
		check_safe(first);
		second = journal_open(); /* what the first one wrote anew */
		FUZZ_CHECK(second != NULL);
		check_same(first, second);
		drop_all(second);
		neap_journal_free(first);
	}
	(void)unlinkat(dir_fd, NEAP_JOURNAL_FILE, 0); /* mostly gone */
	(void)unlinkat(dir_fd, "hand.journal.bad", 0);
	fuzz_in_done(&in);
	return 0;
}
