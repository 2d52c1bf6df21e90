/* SPDX-License-Identifier: Apache-2.0
 *
 * Splits a stream of JSON into values as it arrives, so that no answer need be in memory
 * completely: the frames of a watch, one after the other; or the items of a list, one by
 * one, and the list without them. */
#ifndef NEAP_API_REMOTE_FRAMES_H
#define NEAP_API_REMOTE_FRAMES_H

#include "engine/base/buf.h"

/* Limit of one value; an object of etcd is smaller. */
#define NEAP_FRAMES_MAX ((size_t)4 * 1024 * 1024)

struct neap_frames {
	bool is_list;
	/* Gets each value; false ends the stream. The text is not NUL-terminated. */
	bool (*take)(void *arg, const char *text, size_t len);
	void *arg;
	struct neap_buf value; /* the part received so far */
	struct neap_buf rest;  /* of a list: everything except the items */
	/* Parser state: where the next byte belongs. */
	unsigned depth;
	bool is_text, is_escaped, in_items;
	size_t key_len;
	char key[8];
};

void neap_frames_init(struct neap_frames *frames, bool is_list,
		      bool (*take)(void *arg, const char *text, size_t len), void *arg);
void neap_frames_done(struct neap_frames *frames);
/* Feeds the next bytes. 0; 1: take ended the stream; NEAP_EINVAL: not a JSON object;
 * NEAP_ETOOLARGE: a value is longer than NEAP_FRAMES_MAX; NEAP_ENOMEM. */
int neap_frames_feed(struct neap_frames *frames, const char *bytes, size_t len,
		     struct neap_error *err);
/* Returns whether the stream may end here: no value is incomplete. */
bool neap_frames_is_whole(const struct neap_frames *frames);

#endif
