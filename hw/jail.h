/* SPDX-License-Identifier: Apache-2.0
 *
 * Privileges given up for good: capabilities, system calls, places in the file system. Loop and hand
 * enter a jail each, once, before they hear anything of the world; nothing here can be undone. What a
 * kernel lacks is told to the caller, who decides. x86_64 and aarch64.
 *
 * A call that a program like neap never makes and an attacker would (execve, ptrace, mount, setuid, ...)
 * ends the process with SIGSYS, and the kernel's audit log names it. Any other call that is not on the
 * list fails with ENOSYS, so that a C library newer than the list goes the older way. */
#ifndef NEAP_HW_JAIL_H
#define NEAP_HW_JAIL_H

#include "engine/base/error.h"

/* On is 0, so that who says nothing has it on. */
enum neap_jail_mode {
	NEAP_JAIL_ON,
	NEAP_JAIL_OFF,
	NEAP_JAIL_LOG, /* nothing is refused; the kernel's log names what ON would refuse */
};

/* LOOP_PROBES: a loop that asks containers of this machine whether they are well, over TCP. It may make such sockets
 * and connect them, but neither bind nor listen; all else is as of LOOP. */
enum neap_jail_kind { NEAP_JAIL_LOOP, NEAP_JAIL_HAND, NEAP_JAIL_LOOP_PROBES };

/* Bits 1 << CAP_*: what the hand keeps. DAC_OVERRIDE: files of groups that were handed to another
 * user; SYS_NICE: moving processes that may do more than the hand between CPU sets; SYS_RESOURCE:
 * pressure triggers with windows below 2 s. */
#define NEAP_JAIL_HAND_CAPS ((1ull << 1) | (1ull << 23) | (1ull << 24))

/* no_new_privs, no ambient capability, a bounding set of keep, and nothing gained by being root, as far
 * as the process may say so: call it as root, before the user changes. */
int neap_jail_bound(uint64_t keep, struct neap_error *err);
/* Capabilities from now on: those of keep that are there (0: none), in no set more. No core dump, and no
 * process of the same user may look into this one. The kernel is asked afterwards whether it is so. */
int neap_jail_drop(uint64_t keep, struct neap_error *err);
/* The filter of system calls, for all threads, also those to come. NEAP_EUNSUPPORTED: this kernel (or
 * what neapd runs in) has none; nothing is changed then. OFF does nothing. */
int neap_jail_filter(enum neap_jail_kind kind, enum neap_jail_mode mode,
		     struct neap_error *err);

/* A directory and what is below it. */
struct neap_jail_place {
	int fd;           /* O_PATH will do; borrowed; -1: left out */
	bool can_write;   /* files that are there; else only reading */
	bool has_groups;  /* directories may be made and removed */
	bool makes_files; /* files too */
};

/* Landlock: nothing but these places is opened, nothing executed, no TCP port bound or connected to.
 * What is open stays so. Returns the version of Landlock in force, 0 where the kernel has none. */
int neap_jail_places(const struct neap_jail_place *places, size_t count,
		     struct neap_error *err);

/* What a process runs with, as the kernel says. */
struct neap_jail_state {
	unsigned uid;    /* effective */
	uint64_t caps;   /* permitted, effective, inheritable and ambient together */
	uint64_t bound;  /* bounding set */
	bool has_filter; /* of system calls */
	bool has_no_new_privs;
};

/* pid 0: this process. NEAP_ESYS: it is gone, or hidden from us. */
int neap_jail_look(int pid, struct neap_jail_state *ret, struct neap_error *err);
/* "dac_override", or NULL for a number that has no name here. */
const char *neap_jail_cap_name(int number);

#endif
