/* SPDX-License-Identifier: Apache-2.0
 *
 * For the tests that play a loop that was taken over: a real hand, its socket in raw
 * hands, and what lies outside of its managed roots, looked at before and after: a group
 * beside the root in each hierarchy with its values, a process in it, files. */
#ifndef NEAP_T_LIB_HIJACK_H
#define NEAP_T_LIB_HIJACK_H

#include <sys/types.h>

#include "hw/hand/wire.h"
#include "t/lib/hand_rig.h"

#define HIJACK_FDS_MAX 253 /* the kernel's own limit for one message */
#define HIJACK_NOBODY  65534

struct hijack {
	struct hand_rig *rig;
	char canary[NEAP_PATH_MAX]; /* group beside the managed root */
	char inside[NEAP_PATH_MAX]; /* group below it, not neap's own */
	char own[NEAP_PATH_MAX];    /* group that the hand made */
	char dir[64];               /* files outside */
	int victim;                 /* process in the canary */
	size_t answers;             /* taken since the start */
	char before[16384], after[16384];
};

/* As cmocka calls them; *state is the hijack. */
int hijack_setup(void **state);
int hijack_teardown(void **state);
/* Skips the test where there is no hand. */
struct hijack *hijack_of(void **state);

/* A request as bytes for NEAP_WIRE_MAX of room; 0 when it is longer than any message. */
size_t hijack_message(const struct neap_hand_request *request, unsigned char *buf);
/* Sends at once. False: the socket is full. */
bool hijack_send(const struct hijack *attack, const void *buf, size_t len, const int *fds,
		 size_t fd_count);
/* Sends for sure, taking answers meanwhile. */
void hijack_push(struct hijack *attack, const void *buf, size_t len, const int *fds,
		 size_t fd_count);
/* One message and its answer's errnum; -1 without an answer. */
int hijack_ask(struct hijack *attack, const void *buf, size_t len, const int *fds,
	       size_t fd_count);
/* Takes whatever waits, and closes what came with it. errnum of the last answer, -1
 * without one. */
int hijack_drain(struct hijack *attack);
/* All that was sent is done, and the hand answers. */
void hijack_settle(struct hijack *attack);

/* The same as before outside, and nothing that a message brought is open in the hand. */
void hijack_unharmed(struct hijack *attack);
/* The hand sleeps: in 300 ms it uses less than a third of the CPU time that a busy loop
 * would. */
void hijack_sleeps(const struct hijack *attack);

/* %b: the managed root, %c: the canary, %o: neap's own root. */
void hijack_name(const struct hijack *attack, const char *form, char *buf, size_t size);
/* Our end of a connection that a new child of that user made to us. */
int hijack_connect(struct hijack *attack, uid_t uid, int *ret_pid);
void hijack_end(int pid);

#endif
