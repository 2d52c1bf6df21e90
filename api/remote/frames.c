/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts the depth and skips texts; the parser of the value checks what is between the
 * braces. In a list, items are the values at depth 2 of the member "items". */
#include "api/remote/frames.h"

#include <string.h>

#define ITEMS "items"
/* A list's object, and its array. */
#define ITEMS_DEPTH 2

void neap_frames_init(struct neap_frames *frames, bool is_list,
		      bool (*take)(void *arg, const char *text, size_t len), void *arg)
{
	*frames = (struct neap_frames){.is_list = is_list, .take = take, .arg = arg};
	neap_buf_init(&frames->value, NEAP_FRAMES_MAX);
	neap_buf_init(&frames->rest, NEAP_BUF_FILE);
}

void neap_frames_done(struct neap_frames *frames)
{
	neap_buf_done(&frames->value);
	neap_buf_done(&frames->rest);
}

bool neap_frames_is_whole(const struct neap_frames *frames)
{
	return frames->depth == 0 && !frames->is_text && frames->value.len == 0;
}

/* Depth of the braces around a value that is given. */
static unsigned outside(const struct neap_frames *frames)
{
	return frames->in_items ? ITEMS_DEPTH : 0;
}

static int give(struct neap_frames *frames, struct neap_error *err)
{
	bool goes_on;

	if (neap_buf_failed(&frames->value))
		return neap_buf_error(&frames->value, "an object of the server", err);
	goes_on = frames->take(frames->arg, frames->value.data, frames->value.len);
	neap_buf_clear(&frames->value);
	return goes_on ? 0 : 1;
}

/* The member that a list's key names is known when its value begins. */
static void note_key(struct neap_frames *frames, char c)
{
	if (frames->depth != 1)
		return;
	if (frames->key_len < sizeof(frames->key))
		frames->key[frames->key_len] = c;
	frames->key_len += frames->key_len < sizeof(frames->key);
}

static bool is_items(const struct neap_frames *frames)
{
	return frames->key_len == sizeof(ITEMS) - 1 &&
	       memcmp(frames->key, ITEMS, sizeof(ITEMS) - 1) == 0;
}

/* Bytes from at on that only belong to a text, or to nothing that is looked at. */
static size_t plain(const struct neap_frames *frames, const char *at, const char *end)
{
	const char *from = at;

	if (frames->is_text)
		while (at < end && *at != '"' && *at != '\\')
			at++;
	else
		while (at < end && *at != '"' && *at != '{' && *at != '[' && *at != '}' &&
		       *at != ']')
			at++;
	return (size_t)(at - from);
}

static void keep(struct neap_frames *frames, const char *at, size_t len)
{
	if (!frames->is_list || (frames->in_items && frames->depth >= ITEMS_DEPTH)) {
		/* Between values nothing is of use. */
		if (frames->depth > outside(frames))
			neap_buf_add(&frames->value, at, len);
		return;
	}
	if (frames->depth > 0)
		neap_buf_add(&frames->rest, at, len);
}

/* A value begins outside of braces: anything but a brace there is no object. */
static int check_between(const struct neap_frames *frames, const char *at, size_t len,
			 struct neap_error *err)
{
	if (frames->depth > outside(frames) || (frames->is_list && frames->depth == 1))
		return 0;
	for (size_t i = 0; i < len; i++)
		if (!strchr(" \t\r\n,", at[i]) || at[i] == '\0')
			return neap_error_set(
				err, NEAP_EINVAL,
				"the answer is no JSON: it has '%c' where an "
				"object begins",
				at[i] > ' ' && at[i] < 0x7f ? at[i] : '?');
	return 0;
}

static int open_brace(struct neap_frames *frames, char c, struct neap_error *err)
{
	if (c == '[' && frames->depth == outside(frames))
		return neap_error_set(err, NEAP_EINVAL,
				      "the answer is no JSON object: it begins with [");
	if (frames->is_list && c == '[' && frames->depth == 1 && is_items(frames)) {
		keep(frames, &c, 1);
		frames->depth++;
		frames->in_items = true;
		return 0;
	}
	frames->depth++;
	keep(frames, &c, 1);
	return 0;
}

static int close_brace(struct neap_frames *frames, char c, struct neap_error *err)
{
	if (frames->depth == 0)
		return neap_error_set(err, NEAP_EINVAL,
				      "the answer is no JSON: it has a %c too many", c);
	if (frames->in_items && frames->depth == ITEMS_DEPTH) {
		frames->in_items = false;
		frames->depth--;
		frames->key_len = 0;
		keep(frames, &c, 1);
		return 0;
	}
	keep(frames, &c, 1);
	frames->depth--;
	if (frames->depth == outside(frames) && (!frames->is_list || frames->in_items))
		return give(frames, err);
	return 0;
}

static int quote(struct neap_frames *frames, struct neap_error *err)
{
	if (check_between(frames, "\"", 1, err) < 0)
		return -(int)err->code;
	keep(frames, "\"", 1);
	frames->is_text = !frames->is_text;
	if (frames->is_text && frames->depth == 1)
		frames->key_len = 0;
	return 0;
}

int neap_frames_feed(struct neap_frames *frames, const char *bytes, size_t len,
		     struct neap_error *err)
{
	const char *at = bytes, *end = bytes + len;
	int rc = 0;

	while (at < end && rc == 0) {
		size_t step = plain(frames, at, end);

		if (frames->is_escaped) {
			frames->is_escaped = false;
			keep(frames, at++, 1);
			continue;
		}
		if (step > 0) {
			if (!frames->is_text && check_between(frames, at, step, err) < 0)
				return -(int)err->code;
			for (size_t i = 0; frames->is_text && i < step && i < 8; i++)
				note_key(frames, at[i]);
			keep(frames, at, step);
			at += step;
			continue;
		}
		if (*at == '"') {
			rc = quote(frames, err);
		} else if (*at == '\\') {
			frames->is_escaped = true;
			keep(frames, at, 1);
		} else {
			rc = *at == '{' || *at == '[' ? open_brace(frames, *at, err)
						      : close_brace(frames, *at, err);
		}
		at++;
	}
	if (rc == 0 && neap_buf_failed(&frames->value))
		return neap_buf_error(&frames->value, "an object of the server", err);
	if (rc == 0 && neap_buf_failed(&frames->rest))
		return neap_buf_error(&frames->rest, "a list of the server", err);
	return rc;
}
