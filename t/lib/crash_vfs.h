/* SPDX-License-Identifier: Apache-2.0
 *
 * A disk in memory for SQLite, registered as the default one: it keeps what was written
 * but not synced apart. At a cut of the power each sector of 512 bytes that was not
 * synced is as it was after any one of the writes since the last sync, or torn in the
 * middle of the next one; so is the length, and whether a file is there. Bytes next to
 * those of a write stay, as SQLite relies on. Any call can be made to fail. */
#ifndef NEAP_T_LIB_CRASH_VFS_H
#define NEAP_T_LIB_CRASH_VFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum crash_call {
	CRASH_OPEN,
	CRASH_READ,
	CRASH_WRITE,
	CRASH_SYNC,
	CRASH_TRUNCATE,
	CRASH_DELETE,
	CRASH_SIZE,
	CRASH_LOCK,
	CRASH_CALLS
};

struct crash_vfs;

struct crash_vfs *crash_vfs_new(uint32_t seed);
/* All files must be closed. */
void crash_vfs_free(struct crash_vfs *vfs);
/* Everything is forgotten, the disk is empty. */
void crash_vfs_clear(struct crash_vfs *vfs);
/* At the nth call from now on that changes the disk; 0: now. From then on every call
 * fails. */
void crash_vfs_cut_after(struct crash_vfs *vfs, uint64_t nth);
bool crash_vfs_is_cut(struct crash_vfs *vfs);
/* The power is back, and the files are what the disk has kept. Without a cut nothing
 * changes. */
void crash_vfs_restart(struct crash_vfs *vfs);
/* A sync says that it is done, and does nothing. */
void crash_vfs_lie(struct crash_vfs *vfs, bool is_lying);
/* From the nth call of this kind on (1: the next) so many fail with code; of a write a
 * part may have been written. */
void crash_vfs_fail(struct crash_vfs *vfs, enum crash_call call, uint64_t nth,
		    uint64_t times, int code);
/* How many calls were made to fail. */
uint64_t crash_vfs_failed(struct crash_vfs *vfs);

#endif
