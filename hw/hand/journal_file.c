/* SPDX-License-Identifier: Apache-2.0
 *
 * The journal's file: its lines, and loading that of an earlier hand. A line has
 * tab-separated fields, with backslashes and everything outside printable ASCII escaped,
 * and a checksum at the end, so that it is either complete or ignored. Damaged lines are
 * skipped and reported by number; nothing is guessed. An intact line with unknown content
 * was written by a newer neapd: skipping it would leave its value in force for good, so
 * the whole journal is refused. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "hw/hand/journal_priv.h"

uint32_t neap_journal_hash(uint32_t hash, const void *data, size_t len)
{
	const unsigned char *p = data;

	while (len--)
		hash = (hash ^ *p++) * 16777619u;
	return hash;
}

static void field_add(struct neap_buf *line, const char *text)
{
	const unsigned char *p;

	if (line->len)
		neap_buf_addc(line, '\t');
	for (p = (const unsigned char *)text; *p; p++) {
		if (*p == '\\')
			neap_buf_adds(line, "\\\\");
		else if (*p < ' ' || *p >= 0x7f)
			neap_buf_addf(line, "\\x%02x", *p);
		else
			neap_buf_addc(line, (char)*p);
	}
}

static void line_end(struct neap_buf *line)
{
	uint32_t sum = neap_journal_hash(2166136261u, line->data, line->len);

	neap_buf_addf(line, "\t#%08" PRIx32 "\n", sum);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* In place. */
static bool unescape(char *text)
{
	char *to = text;
	int high, low;

	for (; *text; text++) {
		if (*text != '\\') {
			*to++ = *text;
			continue;
		}
		text++;
		if (*text == '\\') {
			*to++ = '\\';
			continue;
		}
		if (*text != 'x')
			return false;
		high = hex_digit(text[1]);
		if (high < 0)
			return false;
		low = hex_digit(text[2]);
		if (low < 0 || (high == 0 && low == 0))
			return false;
		*to++ = (char)(high * 16 + low);
		text += 2;
	}
	*to = '\0';
	return true;
}

/* Cuts a line (without its newline) into fields; the check sum is looked at and left out.
 * The number of fields, -1 when the line is not what was written. */
static int line_split(char *line, char *fields[NEAP_JOURNAL_FIELDS])
{
	char *sum = strrchr(line, '\t');
	char want[16];
	char *p = line;
	int n = 0;

	if (!sum || sum[1] != '#')
		return -1;
	snprintf(want, sizeof(want), "#%08" PRIx32,
		 neap_journal_hash(2166136261u, line, (size_t)(sum - line)));
	if (strcmp(sum + 1, want) != 0)
		return -1;
	*sum = '\0';
	while (p) {
		char *tab = strchr(p, '\t');

		if (n == NEAP_JOURNAL_FIELDS)
			return -1;
		if (tab)
			*tab++ = '\0';
		fields[n++] = p;
		if (!unescape(p))
			return -1;
		p = tab;
	}
	return n;
}

void neap_journal_header_line(const struct neap_journal *journal, struct neap_buf *line)
{
	char version[16];

	(void)snprintf(version, sizeof(version), "%d", NEAP_JOURNAL_VERSION);
	field_add(line, NEAP_JOURNAL_MAGIC);
	field_add(line, version);
	field_add(line, journal->boot_id);
	line_end(line);
}

void neap_journal_entry_line(const struct neap_journal_entry *entry,
			     struct neap_buf *line)
{
	char number[32];

	field_add(line, "value");
	field_add(line, entry->group);
	field_add(line, neap_key_get(entry->key)->name);
	snprintf(number, sizeof(number), "%" PRIu64, entry->dev);
	field_add(line, number);
	snprintf(number, sizeof(number), "%" PRIu64, entry->ino);
	field_add(line, number);
	field_add(line, entry->is_side_effect ? "side-effect" : "asked");
	field_add(line, entry->value);
	line_end(line);
}

void neap_journal_own_line(struct neap_buf *line, const char *group, enum neap_key key,
			   const char *own)
{
	field_add(line, "own");
	field_add(line, group);
	field_add(line, neap_key_get(key)->name);
	if (own)
		field_add(line, own);
	line_end(line);
}

void neap_journal_simple_line(struct neap_buf *line, const char *what, const char *group,
			      const char *more)
{
	field_add(line, what);
	field_add(line, group);
	if (more)
		field_add(line, more);
	line_end(line);
}

/* --- loading --- */

#define FILE_NAME NEAP_JOURNAL_FILE
#define BAD_NAME  "hand.journal.bad"
#define FILE_MAX  ((off_t)64 * 1024 * 1024)

static bool number_parse(const char *text, uint64_t *ret)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0';
}

static int refuse_newer(struct neap_error *err, const char *what)
{
	return neap_error_set(
		err, NEAP_EUNSUPPORTED,
		FILE_NAME
		" has %s, unknown to neapd " NEAP_VERSION
		": a newer neapd left values in force, and nothing was changed. Run "
		"'neapd --give-back' of the newer one (or reboot), then start this one",
		what);
}

static int load_value(struct neap_journal *journal, char **fields, struct neap_error *err)
{
	struct neap_journal_entry entry = {.group = fields[1], .value = fields[6]};
	int old;

	entry.key = neap_key_find(fields[2]);
	if (entry.key == NEAP_KEY_COUNT) {
		char what[48];

		(void)snprintf(what, sizeof(what), "the key %.40s", fields[2]);
		return refuse_newer(err, what);
	}
	if (!number_parse(fields[3], &entry.dev) || !number_parse(fields[4], &entry.ino))
		return neap_error_set(err, NEAP_EINVAL, "no device and inode");
	entry.is_side_effect = strcmp(fields[5], "side-effect") == 0;
	old = neap_journal_find(journal, entry.group, entry.key);
	if (old >= 0)
		neap_journal_entry_remove(
			journal, old); /* its drop line was lost: the later one is true */
	return neap_journal_entry_put(journal, &entry, err);
}

static int load_own(struct neap_journal *journal, char **fields, const char *own,
		    struct neap_error *err)
{
	int i = neap_journal_find(journal, fields[1], neap_key_find(fields[2]));

	/* The line of its entry was damaged. */
	return i >= 0 ? neap_journal_own_put(&journal->entries[i], own, err) : 0;
}

static int load_line(struct neap_journal *journal, char *line, struct neap_error *err)
{
	char *fields[NEAP_JOURNAL_FIELDS];
	int n = line_split(line, fields);
	int i;

	if (n < 2)
		return neap_error_set(err, NEAP_EINVAL, "not as it was written");
	if (!neap_path_is_safe(fields[1]) || strlen(fields[1]) >= NEAP_PATH_MAX)
		return neap_error_set(err, NEAP_EINVAL, "unsafe group");
	if (strcmp(fields[0], "value") == 0 && n == 7)
		return load_value(journal, fields, err);
	if (strcmp(fields[0], "own") == 0 && (n == 3 || n == 4))
		return load_own(journal, fields, n == 4 ? fields[3] : NULL, err);
	if ((strcmp(fields[0], "drop") == 0 || strcmp(fields[0], "claim") == 0) &&
	    n == 3) {
		i = neap_journal_find(journal, fields[1], neap_key_find(fields[2]));
		if (i >= 0 && fields[0][0] == 'c')
			journal->entries[i].is_side_effect = false;
		else if (i >= 0)
			neap_journal_entry_remove(journal, i);
		return 0;
	}
	i = neap_journal_made_find(journal, fields[1]);
	if (strcmp(fields[0], "made") == 0 && n == 2)
		return i >= 0 ? 0 : neap_journal_made_put(journal, fields[1], err);
	if (strcmp(fields[0], "gone") == 0 && n == 2) {
		if (i >= 0)
			neap_journal_made_remove(journal, i);
		return 0;
	}
	if (strcmp(fields[0], "origin") == 0 && n == 3) {
		if (i < 0 || journal->made[i].origin)
			return 0;
		journal->made[i].origin = neap_strdup(fields[2]);
		return journal->made[i].origin ? 0 : neap_error_nomem(err);
	}
	return refuse_newer(err, "a line of another kind");
}

/* The number behind the magic word, 0 without one. Taken before the check sum is looked
 * at, as a newer version may make that in another way. */
static uint64_t version_find(const char *line)
{
	const size_t len = strlen(NEAP_JOURNAL_MAGIC);

	if (strncmp(line, NEAP_JOURNAL_MAGIC "\t", len + 1) != 0)
		return 0;
	return strtoull(line + len + 1, NULL, 10);
}

static int load_header(struct neap_journal *journal, char *line, uint64_t *ret_version,
		       struct neap_error *err)
{
	char *fields[NEAP_JOURNAL_FIELDS];
	const uint64_t version = version_find(line);
	const int n = line_split(line, fields);
	char what[48];

	journal->is_void = true;
	if (n >= 3 && version > 0 && strcmp(fields[2], journal->boot_id) != 0)
		return 0;
	if (version > NEAP_JOURNAL_VERSION) {
		(void)snprintf(what, sizeof(what), "version %" PRIu64, version);
		return refuse_newer(err, what);
	}
	if (n != 3 || version < NEAP_JOURNAL_VERSION_MIN)
		return neap_error_set(err, NEAP_EINVAL, "no head of a journal");
	journal->is_void = false;
	*ret_version = version;
	return 0;
}

/* Returns the number of wrong lines. */
static int load_text(struct neap_journal *journal, char *text, size_t len,
		     struct neap_error *err)
{
	struct neap_error bad;
	uint64_t version = 0;
	int line_number = 0;
	int wrong = 0;
	char *line = text;

	while (!journal->is_void) {
		/* A NUL, as in a block that was never written, spoils its line and no
		 * more. */
		char *end = memchr(line, '\n', (size_t)(text + len - line));
		int rc;

		if (!end)
			break; /* nothing more, or a torn last line */
		*end = '\0';
		line_number++;
		rc = line_number == 1 ? load_header(journal, line, &version, &bad)
				      : load_line(journal, line, &bad);
		if (rc == -NEAP_ENOMEM)
			return neap_error_nomem(err);
		if (rc == -NEAP_EUNSUPPORTED)
			return neap_error_set(err, NEAP_EUNSUPPORTED, "%s", bad.msg);
		if (rc < 0) {
			neap_log_line(journal->log, NEAP_LOG_WARN,
				      "%s line %d left out: %s", FILE_NAME, line_number,
				      bad.msg);
			wrong++;
		}
		if (line_number > 1 || rc == 0)
			journal->good_len = journal->is_void ? 0 : end + 1 - text;
		line = end + 1;
	}
	if (version == 1 && neap_journal_own_assume(journal, err) < 0)
		return -NEAP_ENOMEM;
	return wrong;
}

int neap_journal_load(struct neap_journal *journal, bool *ret_is_there,
		      struct neap_error *err)
{
	neap_auto_fd int fd = -1;
	neap_auto_free char *text = NULL;
	struct stat st;
	ssize_t len;

	if (ret_is_there)
		*ret_is_there = false;
	fd = openat(journal->dir_fd, FILE_NAME,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return neap_error_sys(err, "open %s", FILE_NAME);
	if (ret_is_there)
		*ret_is_there = true;
	if (fstat(fd, &st) < 0)
		return neap_error_sys(err, "stat %s", FILE_NAME);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
		return neap_error_set(
			err, NEAP_EFORBIDDEN,
			"%s must be a file that only root can write; look at it and remove it",
			FILE_NAME);
	if (st.st_size > FILE_MAX)
		return neap_error_set(err, NEAP_ETOOLARGE, "%s is over 64 MiB",
				      FILE_NAME);
	text = neap_alloc((size_t)st.st_size + 1);
	if (!text)
		return neap_error_nomem(err);
	len = neap_fd_read(fd, text, (size_t)st.st_size);
	if (len < 0)
		return neap_error_sys(err, "read %s", FILE_NAME);
	return load_text(journal, text, (size_t)len, err);
}

void neap_journal_keep_bad(const struct neap_journal *journal)
{
	(void)unlinkat(journal->dir_fd, BAD_NAME, 0); /* an older one */
	if (linkat(journal->dir_fd, FILE_NAME, journal->dir_fd, BAD_NAME, 0) < 0)
		neap_log_line(journal->log, NEAP_LOG_WARN, "%s could not be kept",
			      FILE_NAME);
}
