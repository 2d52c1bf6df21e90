/* SPDX-License-Identifier: Apache-2.0
 *
 * The recorder: the last inputs of the node's policies, so that a new version can be tried on them
 * before it goes live. A frame is one sample in a compact form that shares nothing with the node;
 * its bytes are bounded, the oldest frames go first. Frames are immutable and counted (atomically),
 * so that a tape of them can be read by another thread while the recorder goes on.
 *
 * A frame has what the field tables of the sample name, which is all that policies can see; members
 * without a row there (the enums behind `qos` and `kube_qos`) are zero in a sample from a tape. */
#ifndef NEAP_LUA_RUN_RECORD_H
#define NEAP_LUA_RUN_RECORD_H

#include "engine/machine/sample.h"

#define NEAP_RECORD_BYTES  (2 * 1024 * 1024)
#define NEAP_RECORD_FRAMES 120

struct neap_record;
struct neap_tape;

/* bytes, frames: at most so much is kept; 0 for the defaults above. Tapes keep the frames that they
 * share beyond that, while they live. The recorder belongs to one thread, tapes to any. */
struct neap_record *neap_record_new(size_t bytes, int frames);
void neap_record_free(struct neap_record *record);
/* Keeps a copy. Without memory, or with a sample larger than all bytes, it is left out. */
void neap_record_add(struct neap_record *record, const struct neap_sample *sample);
/* What is kept now. */
size_t neap_record_count(const struct neap_record *record);
size_t neap_record_bytes(const struct neap_record *record);
/* The frames of this moment, oldest first; NULL without memory. Costs a pointer per frame. */
struct neap_tape *neap_record_share(const struct neap_record *record);

/* Counted: ref and unref may be called by any thread. unref gives NULL. */
struct neap_tape *neap_tape_ref(struct neap_tape *tape);
struct neap_tape *neap_tape_unref(struct neap_tape *tape);
size_t neap_tape_count(const struct neap_tape *tape);
/* Frame index as a sample of its own, to be given to neap_tape_forget. It is valid while the tape is:
 * its topology and its names belong to the frame. NEAP_ENOTFOUND past the end. */
int neap_tape_get(const struct neap_tape *tape, size_t index, struct neap_sample *ret,
		  struct neap_error *err);
void neap_tape_forget(struct neap_sample *sample);

#endif
