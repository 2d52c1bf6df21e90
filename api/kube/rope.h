/* SPDX-License-Identifier: Apache-2.0
 *
 * A long text of many parts on its way to a client. The text of an object that is long enough is not copied:
 * the object is held until it has been sent; short ones are gathered. A list of ten thousand objects so costs
 * neither the time nor the memory of a copy. */
#ifndef NEAP_API_KUBE_ROPE_H
#define NEAP_API_KUBE_ROPE_H

#include "engine/base/buf.h"
#include "engine/cluster/object.h"

struct evbuffer;

struct kube_rope {
	struct evbuffer *parts;
	struct neap_buf tail; /* gathered, behind the parts */
	size_t len;           /* of both */
	size_t max;
	bool is_failed, is_over; /* over: it would have been more than max */
};

void kube_rope_init(struct kube_rope *rope, size_t max);
void kube_rope_done(struct kube_rope *rope);
/* Copied. After a failure nothing is added. */
void kube_rope_add(struct kube_rope *rope, const char *text, size_t len);
/* Constant as long as the program runs. */
void kube_rope_add_static(struct kube_rope *rope, const char *text);
/* The text of the object from skip on. */
void kube_rope_add_object(struct kube_rope *rope, struct neap_object *object,
			  size_t skip);
/* All of other, which is empty then; its failure is now rope's. */
void kube_rope_join(struct kube_rope *rope, struct kube_rope *other);
/* All parts, to be freed by the caller; NULL when it failed. The rope is empty then. */
struct evbuffer *kube_rope_take(struct kube_rope *rope);
int kube_rope_error(const struct kube_rope *rope, struct neap_error *err);

#define kube_auto_rope __attribute__((cleanup(kube_rope_done)))

#endif
