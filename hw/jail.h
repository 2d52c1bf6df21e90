/* SPDX-License-Identifier: Apache-2.0
 *
 * Drops privileges for good: capabilities, system calls, places in the file system. Loop
 * and hand each enter a jail once, before they receive any input; nothing here can be
 * undone. Missing kernel features are reported to the caller, who decides. x86_64 and
 * aarch64.
 *
 * A system call that neap never needs and an attacker would (execve, ptrace, mount,
 * setuid, ...) kills the process with SIGSYS, and the kernel's audit log names it. Any
 * other call outside the list fails with ENOSYS, so that a newer C library falls back to
 * older calls. */
#ifndef NEAP_HW_JAIL_H
#define NEAP_HW_JAIL_H

#include "engine/base/error.h"

/* ON is 0, so it is the default of a zeroed configuration. */
enum neap_jail_mode {
	NEAP_JAIL_ON,
	NEAP_JAIL_OFF,
	/* nothing is refused; the kernel's log names what ON would refuse */
	NEAP_JAIL_LOG,
};

/* LOOP_PROBES: a loop that probes containers of this machine over TCP. It may create such
 * sockets and connect them, but neither bind nor listen; otherwise like LOOP.
 * DIALER: connects over TCP and looks up names over UDP; it may start threads and open
 * files for reading. READER: opens files for reading, and no sockets. */
enum neap_jail_kind {
	NEAP_JAIL_LOOP,
	NEAP_JAIL_HAND,
	NEAP_JAIL_LOOP_PROBES,
	NEAP_JAIL_DIALER,
	NEAP_JAIL_READER,
};

/* Bits 1 << CAP_*: what the hand keeps. DAC_OVERRIDE: files of groups delegated to
 * another user; SYS_NICE: moving more privileged processes between CPU sets;
 * SYS_RESOURCE: pressure triggers with windows below 2 s. */
#define NEAP_JAIL_HAND_CAPS ((1ull << 1) | (1ull << 23) | (1ull << 24))

/* Sets no_new_privs, clears ambient capabilities, limits the bounding set to keep, and
 * disables root's automatic capabilities, as far as the process may. Call it as root,
 * before changing the user. */
int neap_jail_bound(uint64_t keep, struct neap_error *err);
/* Keeps only capabilities in keep (0: none), in all sets. Disables core dumps and
 * inspection by processes of the same user. Verifies the result with the kernel. */
int neap_jail_drop(uint64_t keep, struct neap_error *err);
/* Installs the system call filter for all present and future threads. NEAP_EUNSUPPORTED:
 * this kernel (or container) has none, and nothing changed. OFF does nothing. */
int neap_jail_filter(enum neap_jail_kind kind, enum neap_jail_mode mode,
		     struct neap_error *err);

/* A directory tree. */
struct neap_jail_place {
	int fd;           /* O_PATH suffices; borrowed; -1: skipped */
	bool can_write;   /* existing files may be written; else only read */
	bool has_groups;  /* directories may be created and removed */
	bool makes_files; /* files too */
};

/* Landlock: allows opening files only below these places, no execution, no TCP bind or
 * connect. Open descriptors stay usable. Returns the Landlock version in force, 0 where
 * the kernel has none. */
int neap_jail_places(const struct neap_jail_place *places, size_t count,
		     struct neap_error *err);
/* The same, and TCP may connect to these ports, to whatever address. Before Landlock 4
 * ports are not confined. */
int neap_jail_places_dial(const struct neap_jail_place *places, size_t count,
			  const uint16_t *ports, size_t port_count,
			  struct neap_error *err);

/* The privileges of a process, as the kernel reports them. */
struct neap_jail_state {
	unsigned uid;    /* effective */
	uint64_t caps;   /* permitted, effective, inheritable and ambient combined */
	uint64_t bound;  /* bounding set */
	bool has_filter; /* of system calls */
	bool has_no_new_privs;
};

/* pid 0: this process. NEAP_ESYS: it is gone or hidden. */
int neap_jail_look(int pid, struct neap_jail_state *ret, struct neap_error *err);
/* "dac_override", or NULL for an unknown number. */
const char *neap_jail_cap_name(int number);

#endif
