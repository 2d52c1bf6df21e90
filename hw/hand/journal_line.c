/* SPDX-License-Identifier: Apache-2.0
 *
 * One line of the journal: tab-separated fields, with backslashes and everything outside
 * printable ASCII escaped, and a checksum at the end, so that a line is either complete
 * or ignored. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
int neap_journal_line_split(char *line, char *fields[NEAP_JOURNAL_FIELDS])
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
