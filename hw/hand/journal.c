/* SPDX-License-Identifier: Apache-2.0
 *
 * The journal's table in memory and its file. A line is on disk before memory is updated,
 * and all steps that can fail come before the line is written. */
#include "hw/hand/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "hw/hand/journal_priv.h"

#define FILE_NAME NEAP_JOURNAL_FILE
#define NEW_NAME  "hand.journal.new"
/* Compacted when more than this many lines, and more than two thirds of all, are dead. */
#define DEAD_MIN 1024

static uint32_t pair_hash(const char *group, enum neap_key key)
{
	unsigned char k = (unsigned char)key;

	return neap_journal_hash(neap_journal_hash(2166136261u, group, strlen(group)), &k,
				 1);
}

static void entry_done(struct neap_journal_entry *entry)
{
	free(entry->group);
	free(entry->value);
	free(entry->own);
}

static void made_done(struct neap_journal_made *made)
{
	free(made->group);
	free(made->origin);
}

/* The file */

/* Writes a line into the new file and empties the buffer. */
static int line_write(int fd, struct neap_buf *line, size_t *lines,
		      struct neap_error *err)
{
	if (neap_buf_failed(line))
		return neap_error_nomem(err);
	if (neap_fd_write(fd, line->data, line->len) < 0)
		return neap_error_sys(err, "write %s", NEW_NAME);
	neap_buf_clear(line);
	(*lines)++;
	return 0;
}

static int lines_write(const struct neap_journal *journal, int fd, size_t *lines,
		       struct neap_error *err)
{
	neap_auto_buf struct neap_buf line = {0};
	int i, rc;

	neap_buf_init(&line, NEAP_BUF_LINE);
	neap_journal_header_line(journal, &line);
	rc = line_write(fd, &line, lines, err);
	for (i = 0; rc == 0 && i < journal->count; i++) {
		const struct neap_journal_entry *entry = &journal->entries[i];

		neap_journal_entry_line(entry, &line);
		rc = line_write(fd, &line, lines, err);
		if (rc < 0 || !entry->own)
			continue;
		neap_journal_own_line(&line, entry->group, entry->key, entry->own);
		rc = line_write(fd, &line, lines, err);
	}
	for (i = 0; rc == 0 && i < journal->made_count; i++) {
		const struct neap_journal_made *made = &journal->made[i];

		neap_journal_simple_line(&line, "made", made->group, NULL);
		rc = line_write(fd, &line, lines, err);
		if (rc < 0 || !made->origin)
			continue;
		neap_journal_simple_line(&line, "origin", made->group, made->origin);
		rc = line_write(fd, &line, lines, err);
	}
	return rc;
}

/* Writes all living entries into a new file, which then replaces the old one. */
static int compact_to_new(struct neap_journal *journal, struct neap_error *err)
{
	neap_auto_fd int fd = -1;
	size_t lines = 0;
	int rc;

	/* left by a process that was killed here */
	(void)unlinkat(journal->dir_fd, NEW_NAME, 0);
	fd = openat(journal->dir_fd, NEW_NAME,
		    O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return neap_error_sys(err, "make %s", NEW_NAME);
	rc = lines_write(journal, fd, &lines, err);
	if (rc < 0)
		return rc;
	if (renameat(journal->dir_fd, NEW_NAME, journal->dir_fd, FILE_NAME) < 0)
		return neap_error_sys(err, "put %s in place", FILE_NAME);

	if (journal->fd >= 0)
		(void)close(journal->fd); /* no data is buffered, so it cannot fail */
	journal->fd = fd;
	fd = -1;
	journal->lines = lines;
	journal->is_behind = false;
	return 0;
}

static int compact(struct neap_journal *journal, struct neap_error *err)
{
	int rc = compact_to_new(journal, err);

	if (rc < 0) /* a partial file would use up scarce space */
		(void)unlinkat(journal->dir_fd, NEW_NAME, 0);
	return rc;
}

/* An upper bound: an own value and an origin take a line each. */
static size_t lines_alive(const struct neap_journal *journal)
{
	return 2 * ((size_t)journal->count + (size_t)journal->made_count) + 1;
}

/* Continues with the existing file, because a full disk has no room for another. Without
 * a journal the hand could not start and restore the values. */
static int reuse(struct neap_journal *journal, struct neap_error *err)
{
	neap_auto_fd int fd = -1;
	neap_auto_buf struct neap_buf head = {0};

	neap_buf_init(&head, NEAP_BUF_LINE);
	fd = openat(journal->dir_fd, FILE_NAME,
		    O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || ftruncate(fd, journal->good_len) < 0)
		return neap_error_sys(err, "open %s", FILE_NAME);
	if (journal->good_len == 0) { /* from another boot */
		neap_journal_header_line(journal, &head);
		if (neap_buf_failed(&head))
			return neap_error_nomem(err);
		if (neap_fd_write(fd, head.data, head.len) < 0)
			return neap_error_sys(err, "write %s", FILE_NAME);
	}
	journal->fd = fd;
	fd = -1;
	journal->lines = lines_alive(journal);
	return 0;
}

static int first_write(struct neap_journal *journal, struct neap_error *err)
{
	struct neap_error why = {0};
	int rc = compact(journal, &why);

	if (rc < 0 && (journal->good_len < 0 || reuse(journal, NULL) < 0)) {
		if (err)
			*err = why;
		return rc;
	}
	if (rc < 0)
		neap_log_line(journal->log, NEAP_LOG_WARN,
			      "%s; going on with the one that is there", why.msg);
	return 0;
}

int neap_journal_append(struct neap_journal *journal, struct neap_buf *line,
			struct neap_error *err)
{
	struct stat st;
	ssize_t n;
	size_t alive = lines_alive(journal);
	int rc;

	if (neap_buf_failed(line))
		return neap_error_nomem(err);
	if (journal->is_behind ||
	    (journal->lines > alive + DEAD_MIN && journal->lines > 3 * alive)) {
		rc = compact(journal, err);
		if (rc < 0 && journal->is_behind)
			return rc;
	}
	if (fstat(journal->fd, &st) < 0)
		return neap_error_sys(err, "stat %s", FILE_NAME);
	n = write(journal->fd, line->data, line->len);
	if (n == (ssize_t)line->len) {
		journal->lines++;
		return 0;
	}
	if (n >= 0)
		errno = ENOSPC;
	rc = neap_error_sys(err, "write %s", FILE_NAME);
	if (n > 0 && ftruncate(journal->fd, st.st_size) < 0)
		journal->is_behind = true; /* a partial line is at the end */
	return rc;
}

static int append_simple(struct neap_journal *journal, const char *what,
			 const char *group, const char *more, struct neap_error *err)
{
	neap_auto_buf struct neap_buf line = {0};

	neap_buf_init(&line, NEAP_BUF_LINE);
	neap_journal_simple_line(&line, what, group, more);
	return neap_journal_append(journal, &line, err);
}

/* Memory */

int neap_journal_find(const struct neap_journal *journal, const char *group,
		      enum neap_key key)
{
	uint32_t hash = pair_hash(group, key);

	for (int i = journal->bucket[hash % NEAP_JOURNAL_BUCKETS]; i >= 0;
	     i = journal->entries[i].next) {
		const struct neap_journal_entry *entry = &journal->entries[i];

		if (entry->hash == hash && entry->key == key &&
		    strcmp(entry->group, group) == 0)
			return i;
	}
	return -1;
}

static int *link_to(struct neap_journal *journal, int index)
{
	int *link = &journal->bucket[journal->entries[index].hash % NEAP_JOURNAL_BUCKETS];

	while (*link != index)
		link = &journal->entries[*link].next;
	return link;
}

void neap_journal_entry_remove(struct neap_journal *journal, int index)
{
	int last = journal->count - 1;

	*link_to(journal, index) = journal->entries[index].next;
	entry_done(&journal->entries[index]);
	if (index != last) {
		*link_to(journal, last) = index;
		journal->entries[index] = journal->entries[last];
	}
	journal->count--;
}

/* Makes room for one more entry, so that nothing can fail after the line is on disk. */
static int entry_room(struct neap_journal *journal, struct neap_error *err)
{
	void *grown;
	int size;

	if (journal->count < journal->size)
		return 0;
	if (journal->count >= NEAP_JOURNAL_ENTRIES_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "more than %d values are set",
				      NEAP_JOURNAL_ENTRIES_MAX);
	size = journal->size ? journal->size * 2 : 64;
	grown = neap_realloc_array(journal->entries, (size_t)size,
				   sizeof(*journal->entries));
	if (!grown)
		return neap_error_nomem(err);
	journal->entries = grown;
	journal->size = size;
	return 0;
}

static int entry_copy(const struct neap_journal_entry *from,
		      struct neap_journal_entry *to, struct neap_error *err)
{
	*to = *from;
	to->group = neap_strdup(from->group);
	to->value = neap_strdup(from->value);
	to->own = NULL;
	to->hash = pair_hash(from->group, from->key);
	if (to->group && to->value)
		return 0;
	entry_done(to);
	return neap_error_nomem(err);
}

static void entry_link(struct neap_journal *journal,
		       const struct neap_journal_entry *entry)
{
	int *bucket = &journal->bucket[entry->hash % NEAP_JOURNAL_BUCKETS];

	journal->entries[journal->count] = *entry;
	journal->entries[journal->count].next = *bucket;
	*bucket = journal->count++;
}

int neap_journal_entry_put(struct neap_journal *journal,
			   const struct neap_journal_entry *entry, struct neap_error *err)
{
	struct neap_journal_entry copy;
	int rc = entry_room(journal, err);

	if (rc == 0)
		rc = entry_copy(entry, &copy, err);
	if (rc == 0)
		entry_link(journal, &copy);
	return rc;
}

int neap_journal_made_put(struct neap_journal *journal, const char *group,
			  struct neap_error *err)
{
	struct neap_journal_made made = {0};
	void *grown;
	int size;

	if (journal->made_count >= NEAP_JOURNAL_MADE_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "more than %d groups are made",
				      NEAP_JOURNAL_MADE_MAX);
	if (journal->made_count == journal->made_size) {
		size = journal->made_size ? journal->made_size * 2 : 32;
		grown = neap_realloc_array(journal->made, (size_t)size,
					   sizeof(*journal->made));
		if (!grown)
			return neap_error_nomem(err);
		journal->made = grown;
		journal->made_size = size;
	}
	made.group = neap_strdup(group);
	if (!made.group)
		return neap_error_nomem(err);
	journal->made[journal->made_count++] = made;
	return 0;
}

void neap_journal_made_remove(struct neap_journal *journal, int index)
{
	made_done(&journal->made[index]);
	journal->made[index] = journal->made[--journal->made_count];
}

int neap_journal_made_find(const struct neap_journal *journal, const char *group)
{
	for (int i = 0; i < journal->made_count; i++)
		if (strcmp(journal->made[i].group, group) == 0)
			return i;
	return -1;
}

int neap_journal_new(int dir_fd, const char *boot_id, const struct neap_log *log,
		     struct neap_journal **ret, struct neap_error *err)
{
	struct neap_journal *journal = neap_alloc(sizeof(*journal));
	int rc = 0;

	if (!journal)
		return neap_error_nomem(err);
	journal->dir_fd = dir_fd;
	journal->fd = -1;
	journal->good_len = -1;
	journal->log = log;
	memset(journal->bucket, -1, sizeof(journal->bucket));
	if (boot_id)
		(void)neap_strcopy(journal->boot_id, sizeof(journal->boot_id), boot_id);
	else
		rc = neap_boot_id(journal->boot_id, err);
	if (rc < 0) {
		neap_journal_free(journal);
		return rc;
	}
	*ret = journal;
	return 0;
}

int neap_journal_open(int dir_fd, const char *boot_id, const struct neap_log *log,
		      struct neap_journal **ret, struct neap_error *err)
{
	struct neap_journal *journal = NULL;
	int rc = neap_journal_new(dir_fd, boot_id, log, &journal, err);

	if (rc < 0)
		return rc;
	rc = neap_journal_load(journal, NULL, err);
	if (rc > 0)
		neap_journal_keep_bad(journal);
	if (rc >= 0)
		rc = first_write(journal, err);
	if (rc < 0) {
		neap_journal_free(journal);
		return rc;
	}
	*ret = journal;
	return 0;
}

void neap_journal_free(struct neap_journal *journal)
{
	if (!journal)
		return;
	if (journal->fd >= 0 && journal->count == 0 && journal->made_count == 0)
		(void)unlinkat(journal->dir_fd, FILE_NAME,
			       0); /* an empty entry does no harm */
	for (int i = 0; i < journal->count; i++)
		entry_done(&journal->entries[i]);
	for (int i = 0; i < journal->made_count; i++)
		made_done(&journal->made[i]);
	free(journal->entries);
	free(journal->made);
	neap_fd_close(&journal->fd);
	free(journal);
}

/* Changes */

int neap_journal_add(struct neap_journal *journal, const struct neap_journal_entry *entry,
		     struct neap_error *err)
{
	neap_auto_buf struct neap_buf line = {0};
	struct neap_journal_entry copy;
	int rc;

	neap_buf_init(&line, NEAP_BUF_LINE);
	rc = entry_room(journal, err);
	if (rc == 0)
		rc = entry_copy(entry, &copy, err);
	if (rc < 0)
		return rc;
	neap_journal_entry_line(&copy, &line);
	rc = neap_journal_append(journal, &line, err);
	if (rc < 0) {
		entry_done(&copy);
		return rc;
	}
	entry_link(journal, &copy);
	return 0;
}

void neap_journal_reword(struct neap_journal *journal, int index, const char *value)
{
	struct neap_journal_entry *entry = &journal->entries[index];
	char *text = neap_strdup(value);

	if (text == NULL)
		return;
	free(entry->value);
	entry->value = text;
}

int neap_journal_claim(struct neap_journal *journal, int index, struct neap_error *err)
{
	struct neap_journal_entry *entry = &journal->entries[index];
	int rc;

	if (!entry->is_side_effect)
		return 0;
	rc = append_simple(journal, "claim", entry->group, neap_key_get(entry->key)->name,
			   err);
	if (rc == 0)
		entry->is_side_effect = false;
	return rc;
}

void neap_journal_drop(struct neap_journal *journal, int index)
{
	const struct neap_journal_entry *entry = &journal->entries[index];
	int rc = append_simple(journal, "drop", entry->group,
			       neap_key_get(entry->key)->name, NULL);

	if (rc < 0)
		journal->is_behind = true;
	neap_journal_entry_remove(journal, index);
}

void neap_journal_drop_group(struct neap_journal *journal, const char *group)
{
	int key, index;

	for (key = 0; key < NEAP_KEY_COUNT; key++) {
		index = neap_journal_find(journal, group, (enum neap_key)key);
		if (index >= 0)
			neap_journal_drop(journal, index);
	}
}

int neap_journal_made_add(struct neap_journal *journal, const char *group,
			  struct neap_error *err)
{
	int rc = neap_journal_made_put(journal, group, err);

	if (rc < 0)
		return rc;
	rc = append_simple(journal, "made", group, NULL, err);
	if (rc < 0)
		neap_journal_made_remove(journal, journal->made_count - 1);
	return rc;
}

int neap_journal_origin_add(struct neap_journal *journal, int index, const char *origin,
			    struct neap_error *err)
{
	struct neap_journal_made *made = &journal->made[index];
	char *copy;
	int rc;

	if (made->origin)
		return 0;
	if (strlen(origin) >= NEAP_JOURNAL_ORIGIN_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "origin of %zu bytes",
				      strlen(origin));
	copy = neap_strdup(origin);
	if (!copy)
		return neap_error_nomem(err);
	rc = append_simple(journal, "origin", made->group, origin, err);
	if (rc < 0)
		free(copy);
	else
		made->origin = copy;
	return rc;
}

void neap_journal_made_drop(struct neap_journal *journal, int index)
{
	if (append_simple(journal, "gone", journal->made[index].group, NULL, NULL) < 0)
		journal->is_behind = true;
	neap_journal_made_remove(journal, index);
}

int neap_journal_count(const struct neap_journal *journal)
{
	return journal != NULL ? journal->count : 0;
}

const struct neap_journal_entry *neap_journal_get(const struct neap_journal *journal,
						  int index)
{
	return &journal->entries[index];
}

int neap_journal_made_count(const struct neap_journal *journal)
{
	return journal->made_count;
}

const struct neap_journal_made *neap_journal_made_get(const struct neap_journal *journal,
						      int index)
{
	return &journal->made[index];
}

size_t neap_journal_line_count(const struct neap_journal *journal)
{
	return journal->lines;
}
