/* SPDX-License-Identifier: Apache-2.0
 *
 * The recorder: the latest inputs of the node's policies, on which a new version can be
 * tried before it goes live. A frame is one sample in a compact, self-contained form;
 * total bytes are bounded, and the oldest frames are dropped first. Frames are immutable
 * and (atomically) reference counted, so another thread can read a tape of them while
 * recording goes on.
 *
 * A frame contains the fields in the sample's field tables, which is all that policies
 * can see; other members (the enums behind `qos` and `kube_qos`) are zero in a sample
 * from a tape. */
#ifndef NEAP_LUA_RUN_RECORD_H
#define NEAP_LUA_RUN_RECORD_H

#include "engine/machine/sample.h"

#define NEAP_RECORD_BYTES  (2 * 1024 * 1024)
#define NEAP_RECORD_FRAMES 120

struct neap_record;
struct neap_tape;

/* bytes, frames: upper limits; 0 for the defaults above. Tapes keep their shared frames
 * alive beyond the limits. The recorder belongs to one thread, tapes to any. */
struct neap_record *neap_record_new(size_t bytes, int frames);
void neap_record_free(struct neap_record *record);
/* Records a copy. Skips it without memory, or when the sample alone exceeds bytes. */
void neap_record_add(struct neap_record *record, const struct neap_sample *sample);
/* Returns the number of frames kept now. */
size_t neap_record_count(const struct neap_record *record);
size_t neap_record_bytes(const struct neap_record *record);
/* Returns the present frames, oldest first; NULL without memory. Costs one pointer per
 * frame. */
struct neap_tape *neap_record_share(const struct neap_record *record);

/* Thread-safe reference counting. unref returns NULL. */
struct neap_tape *neap_tape_ref(struct neap_tape *tape);
struct neap_tape *neap_tape_unref(struct neap_tape *tape);
size_t neap_tape_count(const struct neap_tape *tape);
/* Unpacks frame index into a sample, to be passed to neap_tape_forget. It is valid while
 * the tape is: topology and names belong to the frame. NEAP_ENOTFOUND past the end. */
int neap_tape_get(const struct neap_tape *tape, size_t index, struct neap_sample *ret,
		  struct neap_error *err);
void neap_tape_forget(struct neap_sample *sample);

#endif
