/* SPDX-License-Identifier: Apache-2.0 */
#include "api/kube/rope.h"

#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

/* Shorter ones are copied: a reference takes as long as so many bytes. */
#define SHARE_MIN 1024
/* Of what is gathered. */
#define TAIL_MAX ((size_t)64 * 1024)

void kube_rope_init(struct kube_rope *rope, size_t max)
{
	*rope = (struct kube_rope){.max = max};
	neap_buf_init(&rope->tail, max);
}

void kube_rope_done(struct kube_rope *rope)
{
	if (rope->parts)
		evbuffer_free(rope->parts);
	neap_buf_done(&rope->tail);
	rope->parts = NULL;
	rope->len = 0;
}

static bool has_parts(struct kube_rope *rope)
{
	if (!rope->parts)
		rope->parts = evbuffer_new();
	rope->is_failed |= !rope->parts;
	return rope->parts;
}

static void free_text(const void *data, size_t len, void *arg)
{
	(void)data;
	(void)len;
	free(arg);
}

static void flush_tail(struct kube_rope *rope)
{
	size_t len = rope->tail.len;
	char *text;

	if (!len || !has_parts(rope))
		return;
	text = neap_buf_take(&rope->tail);
	if (!text ||
	    evbuffer_add_reference(rope->parts, text, len, free_text, text) < 0) {
		free(text);
		rope->is_failed = true;
	}
}

static bool takes(struct kube_rope *rope, size_t len)
{
	rope->is_over |= len > rope->max - rope->len;
	rope->is_failed |= rope->is_over;
	if (!rope->is_failed)
		rope->len += len;
	return !rope->is_failed;
}

void kube_rope_add(struct kube_rope *rope, const char *text, size_t len)
{
	if (!takes(rope, len))
		return;
	neap_buf_add(&rope->tail, text, len);
	rope->is_failed |= neap_buf_failed(&rope->tail);
	if (rope->tail.len >= TAIL_MAX)
		flush_tail(rope);
}

void kube_rope_add_static(struct kube_rope *rope, const char *text)
{
	size_t len = strlen(text);

	/* Behind something gathered one more byte costs nothing. */
	if (rope->tail.len || !rope->parts) {
		kube_rope_add(rope, text, len);
		return;
	}
	if (takes(rope, len) &&
	    evbuffer_add_reference(rope->parts, text, len, NULL, NULL) < 0)
		rope->is_failed = true;
}

static void release_object(const void *data, size_t len, void *arg)
{
	(void)data;
	(void)len;
	(void)neap_object_unref(arg);
}

void kube_rope_add_object(struct kube_rope *rope, struct neap_object *object, size_t skip)
{
	size_t len = object->text_len - skip;

	if (len < SHARE_MIN) {
		kube_rope_add(rope, object->text + skip, len);
		return;
	}
	if (!takes(rope, len) || !has_parts(rope))
		return;
	flush_tail(rope);
	if (evbuffer_add_reference(rope->parts, object->text + skip, len, release_object,
				   object) < 0)
		rope->is_failed = true;
	else
		(void)neap_object_ref(object);
}

void kube_rope_join(struct kube_rope *rope, struct kube_rope *other)
{
	size_t len = other->len;

	rope->is_failed |= other->is_failed;
	rope->is_over |= other->is_over;
	flush_tail(other);
	if (!takes(rope, len) || !has_parts(rope))
		return;
	flush_tail(rope);
	if (other->parts && evbuffer_add_buffer(rope->parts, other->parts) < 0)
		rope->is_failed = true;
	rope->is_failed |= other->is_failed;
	other->len = 0;
}

struct evbuffer *kube_rope_take(struct kube_rope *rope)
{
	struct evbuffer *parts = NULL;

	flush_tail(rope);
	if (has_parts(rope) && !rope->is_failed) {
		parts = rope->parts;
		rope->parts = NULL;
	}
	kube_rope_done(rope);
	return parts;
}

int kube_rope_error(const struct kube_rope *rope, struct neap_error *err)
{
	if (!rope->is_over)
		return neap_error_nomem(err);
	return neap_error_set(err, NEAP_ETOOLARGE, "the answer: over %zu bytes",
			      rope->max);
}
