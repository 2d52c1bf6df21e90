/* SPDX-License-Identifier: Apache-2.0
 *
 * For the tests of the hand: groups of their own on this machine's real hierarchies
 * (neap-test-PID and neap-test-PID-late), a run directory, and questions that wait for
 * their answer. */
#ifndef NEAP_T_LIB_HAND_RIG_H
#define NEAP_T_LIB_HAND_RIG_H

#include "hw/hand/hand.h"

struct hand_rig {
	struct neap_cgroup cgroup;
	struct neap_hand_config config;
	struct neap_hand *hand;
	char base[NEAP_PATH_MAX]; /* the managed root; exists, not made by the hand */
	char own[NEAP_PATH_MAX];  /* own_root, below it; does not exist */
	int bystander;            /* open in the test, must be closed in the hand */
};

/* An answer whose texts live on. */
struct rig_answer {
	int errnum, pid;
	enum neap_hand_op op;
	char group[NEAP_PATH_MAX], old_value[256], new_value[256], text[512];
	enum neap_key key;
	int fd; /* the caller's to close, -1 */
};

/* NULL with *ret_why when this machine cannot. */
struct hand_rig *rig_new(const char **ret_why);
/* Ends every child, removes every group and file. */
void rig_free(struct hand_rig *rig);
/* As a fixture of cmocka: the state is a rig, or NULL where the machine has none.
 * hand_rig_of skips the test then, with the reason. */
int hand_rig_setup(void **state);
int hand_rig_teardown(void **state);
struct hand_rig *hand_rig_of(void **state);

/* Fails the test when the hand does not start or not answer. */
void rig_start(struct hand_rig *rig);
struct rig_answer rig_ask(struct hand_rig *rig, enum neap_hand_op op, const char *group,
			  enum neap_key key, const char *value, int fd);
/* Next answer to anything, within 5 s. */
struct rig_answer rig_next(struct hand_rig *rig);

/* "base/name"; a ring of static buffers. */
const char *rig_path(const struct hand_rig *rig, const char *name);
/* Without the hand: makes a group, reads, writes, counts processes, looks. */
void rig_make(struct hand_rig *rig, const char *group);
void rig_remove(struct hand_rig *rig, const char *group);
const char *rig_read(struct hand_rig *rig, const char *group, enum neap_key key);
int rig_write(struct hand_rig *rig, const char *group, enum neap_key key,
	      const char *text);
bool rig_exists(struct hand_rig *rig, const char *group);
bool rig_has_pid(struct hand_rig *rig, const char *group, int pid);
bool rig_has_file(struct hand_rig *rig, const char *name); /* in the run directory */
void rig_sleep_ms(int ms);
/* Waits for a process that is our child or came to us as its orphan; its wait status, -1:
 * 5 s. */
int rig_wait(int pid);

#endif
