/* SPDX-License-Identifier: Apache-2.0
 *
 * How a command ended, as lines of text in the file `exit`, readable for people. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/base/utf8.h"
#include "hw/keeper/wire.h"

#define RECORD_TEXT_MAX 1024

void neap_keeper_text_clean(char *text, size_t len)
{
	size_t at, step;

	for (at = 0; at < len; at += step) {
		step = neap_utf8_next(text + at, len - at, NULL);
		if (step == 0 ||
		    (step == 1 && (unsigned char)text[at] < ' ' && text[at] != '\t' &&
		     text[at] != '\n') ||
		    text[at] == 0x7f) {
			text[at] = '?';
			step = 1;
		}
	}
}

static const char *const words[] = {
	[NEAP_KEEPER_FAILED] = "failed",
	[NEAP_KEEPER_ENDED] = "ended",
};

int neap_keeper_record_format(const struct neap_keeper_event *event, char *buf,
			      size_t size, struct neap_error *err)
{
	char text[RECORD_TEXT_MAX];
	int n;

	if (event->what != NEAP_KEEPER_FAILED && event->what != NEAP_KEEPER_ENDED)
		return neap_error_set(err, NEAP_EINVAL, "nothing ended");
	(void)neap_strcopy(text, sizeof(text), event->text ? event->text : "");
	neap_keeper_text_clean(text, strlen(text));
	for (n = 0; text[n]; n++)
		if (text[n] == '\n')
			text[n] = ' ';
	n = snprintf(buf, size,
		     "neap-keeper 1\n%s\npid %d\nexit_code %d\nsigno %d\nerrno %d\n"
		     "started_usec %" PRId64 "\nended_usec %" PRId64 "\ntext %s\n",
		     words[event->what], event->pid, event->exit_code, event->signo,
		     event->errnum, event->started_usec, event->ended_usec, text);
	if (n < 0 || (size_t)n >= size)
		return neap_error_set(err, NEAP_ETOOLARGE, "record over %zu bytes", size);
	return n;
}

/* The rest of the line behind the name; the text goes on behind the line. */
static bool line_get(char **at, const char *name, char **ret)
{
	size_t len = strlen(name);
	char *end = strchr(*at, '\n');

	if (!end || strncmp(*at, name, len) != 0)
		return false;
	*end = '\0';
	*ret = *at + len;
	*at = end + 1;
	return true;
}

static bool number_get(char **at, const char *name, int64_t max, int64_t *ret)
{
	char *digits;

	return line_get(at, name, &digits) && neap_int_parse(digits, ret, NULL) == 0 &&
	       *ret >= 0 && *ret <= max;
}

int neap_keeper_record_parse(const char *bytes, size_t len, char *text,
			     struct neap_keeper_event *ret, struct neap_error *err)
{
	char copy[NEAP_KEEPER_RECORD_MAX + 1];
	int64_t pid, code, signo, errnum, started, ended;
	char *at = copy, *word, *words_text;

	if (len > NEAP_KEEPER_RECORD_MAX)
		return neap_error_set(err, NEAP_EINVAL, "a record of %zu bytes", len);
	memcpy(copy, bytes, len);
	copy[len] = '\0';
	if (!line_get(&at, "neap-keeper 1", &word) || *word ||
	    !line_get(&at, "", &word) || !number_get(&at, "pid ", INT_MAX, &pid) ||
	    !number_get(&at, "exit_code ", 255, &code) ||
	    !number_get(&at, "signo ", 64, &signo) ||
	    !number_get(&at, "errno ", INT_MAX, &errnum) ||
	    !number_get(&at, "started_usec ", INT64_MAX, &started) ||
	    !number_get(&at, "ended_usec ", INT64_MAX, &ended) ||
	    !line_get(&at, "text ", &words_text) ||
	    (strcmp(word, "failed") != 0 && strcmp(word, "ended") != 0))
		return neap_error_set(err, NEAP_EINVAL, "not a record of an end");
	(void)neap_strcopy(text, NEAP_KEEPER_OUTPUT_MAX + 1, words_text);
	*ret = (struct neap_keeper_event){
		.what = strcmp(word, "failed") == 0 ? NEAP_KEEPER_FAILED
						    : NEAP_KEEPER_ENDED,
		.pid = (int)pid,
		.exit_code = (int)code,
		.signo = (int)signo,
		.errnum = (int)errnum,
		.started_usec = started,
		.ended_usec = ended,
		.text = text,
		.fd = -1,
	};
	return 0;
}
