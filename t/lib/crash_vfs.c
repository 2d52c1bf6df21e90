/* SPDX-License-Identifier: Apache-2.0
 *
 * A file is kept twice: as programs see it, and as the disk has it; what lies between the
 * two is a list of writes in their order. One lock for all, as the store calls from two
 * threads. */
#include "t/lib/crash_vfs.h"

#include <pthread.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/crash_bytes.h"

#define SECTOR 512
#define FILES  8

struct change {
	STAILQ_ENTRY(change) next;
	bool is_truncate;
	size_t at, len;
	unsigned char bytes[];
};

STAILQ_HEAD(changes, change);

struct file {
	char path[512];
	bool is_there, is_on_disk;
	bool is_new;    /* a journal or log whose folder is synced with its first sync */
	bool is_reborn; /* made anew, and the disk still has the one before it */
	struct crash_bytes now, disk;
	struct changes changes;
};

struct crash_vfs {
	sqlite3_vfs vfs; /* first */
	pthread_mutex_t lock;
	uint32_t seed;
	struct file files[FILES];
	size_t file_count;
	uint64_t cut_in; /* calls; 0: never */
	bool is_cut, is_lying;
	struct {
		uint64_t in, times;
		int code;
	} faults[CRASH_CALLS];
	uint64_t failed;
};

struct handle {
	sqlite3_file base; /* first */
	struct crash_vfs *vfs;
	struct file *file;
	bool is_deleted_at_close;
};

static uint32_t draw(struct crash_vfs *vfs, uint32_t below)
{
	vfs->seed = vfs->seed * 1664525 + 1013904223;
	return (vfs->seed >> 8) % below;
}

static void forget_changes(struct file *file)
{
	struct change *change;

	while ((change = STAILQ_FIRST(&file->changes)) != NULL) {
		STAILQ_REMOVE_HEAD(&file->changes, next);
		free(change);
	}
}

static void sync_file(struct file *file)
{
	struct change *change;

	if (file->is_reborn)
		crash_bytes_set_len(&file->disk, 0);
	file->is_reborn = false;
	for (change = STAILQ_FIRST(&file->changes); change != NULL;
	     change = STAILQ_NEXT(change, next))
		if (change->is_truncate)
			crash_bytes_set_len(&file->disk, change->at);
		else
			crash_bytes_put(&file->disk, change->at, change->bytes,
					change->len);
	forget_changes(file);
}

/* --- the cut --- */

/* Sectors of a write, as far as none of them was lost before. */
static void cut_write(struct crash_vfs *vfs, struct file *file,
		      const struct change *change, bool *is_lost, uint32_t percent)
{
	size_t at = change->at, end = change->at + change->len;

	while (at < end) {
		size_t sector = at / SECTOR, stop = (sector + 1) * SECTOR;
		size_t len = (stop < end ? stop : end) - at;

		if (!is_lost[sector]) {
			is_lost[sector] = draw(vfs, 100) < percent;
			if (is_lost[sector])
				crash_bytes_put(&file->disk, at,
						change->bytes + (at - change->at),
						draw(vfs, 3) == 0
							? draw(vfs, (uint32_t)len + 1)
							: 0);
			else
				crash_bytes_put(&file->disk, at,
						change->bytes + (at - change->at), len);
		}
		at += len;
	}
}

static void cut_file(struct crash_vfs *vfs, struct file *file)
{
	static const uint32_t percents[] = {0, 2, 20, 50, 100};
	uint32_t percent = percents[draw(vfs, NEAP_ARRAY_LEN(percents))];
	size_t most = file->now.len > file->disk.len ? file->now.len : file->disk.len;
	struct change *change;
	bool *is_lost;

	if (file->is_reborn && draw(vfs, 2) == 0)
		forget_changes(file);
	else if (file->is_reborn)
		crash_bytes_set_len(&file->disk, 0);
	file->is_reborn = false;
	for (change = STAILQ_FIRST(&file->changes); change != NULL;
	     change = STAILQ_NEXT(change, next))
		if (change->at + change->len > most)
			most = change->at + change->len;
	is_lost = neap_alloc_array(most / SECTOR + 1, sizeof(*is_lost));
	assert_non_null(is_lost);
	for (change = STAILQ_FIRST(&file->changes); change != NULL;
	     change = STAILQ_NEXT(change, next)) {
		if (!change->is_truncate)
			cut_write(vfs, file, change, is_lost, percent);
		else if (draw(vfs, 100) >= percent)
			crash_bytes_set_len(&file->disk, change->at);
	}
	free(is_lost);
	forget_changes(file);
	if (file->is_there != file->is_on_disk && draw(vfs, 2) == 0)
		file->is_on_disk = file->is_there;
}

static void cut(struct crash_vfs *vfs)
{
	size_t i;

	vfs->is_cut = true;
	vfs->cut_in = 0;
	for (i = 0; i < vfs->file_count; i++)
		cut_file(vfs, &vfs->files[i]);
}

/* What becomes of a call: 0, or the code that it fails with. */
static int enter(struct crash_vfs *vfs, enum crash_call call, int otherwise)
{
	bool is_change = call == CRASH_WRITE || call == CRASH_SYNC ||
			 call == CRASH_TRUNCATE || call == CRASH_DELETE;
	int code = 0;

	(void)pthread_mutex_lock(&vfs->lock);
	if (vfs->faults[call].in > 0 && --vfs->faults[call].in == 0) {
		vfs->failed++;
		code = vfs->faults[call].code;
		if (vfs->faults[call].times > 1) {
			vfs->faults[call].times--;
			vfs->faults[call].in = 1;
		}
	}
	if (is_change && vfs->cut_in > 0 && --vfs->cut_in == 0)
		cut(vfs);
	if (vfs->is_cut)
		code = otherwise;
	return code;
}

static int leave(struct crash_vfs *vfs, int code)
{
	(void)pthread_mutex_unlock(&vfs->lock);
	return code;
}

/* --- files --- */

static struct handle *of(sqlite3_file *base)
{
	return (struct handle *)base;
}

static int file_close(sqlite3_file *base)
{
	struct handle *handle = of(base);

	if (handle->is_deleted_at_close)
		handle->file->is_there = false;
	return SQLITE_OK;
}

static int file_read(sqlite3_file *base, void *to, int len, sqlite3_int64 offset)
{
	struct handle *handle = of(base);
	const struct crash_bytes *now = &handle->file->now;
	size_t at = (size_t)offset, want = (size_t)len, got = 0;
	int code = enter(handle->vfs, CRASH_READ, SQLITE_IOERR_READ);

	if (code != 0)
		return leave(handle->vfs, code);
	if (at < now->len)
		got = now->len - at < want ? now->len - at : want;
	if (got > 0)
		memcpy(to, now->at + at, got);
	memset((char *)to + got, 0, want - got);
	return leave(handle->vfs, got == want ? SQLITE_OK : SQLITE_IOERR_SHORT_READ);
}

static void change_file(struct file *file, bool is_truncate, size_t at, const void *bytes,
			size_t len)
{
	struct change *change = neap_alloc(sizeof(*change) + len);

	assert_non_null(change);
	change->is_truncate = is_truncate;
	change->at = at;
	change->len = len;
	if (len > 0)
		memcpy(change->bytes, bytes, len);
	STAILQ_INSERT_TAIL(&file->changes, change, next);
	if (is_truncate)
		crash_bytes_set_len(&file->now, at);
	else
		crash_bytes_put(&file->now, at, change->bytes, len);
}

static int file_write(sqlite3_file *base, const void *from, int len, sqlite3_int64 offset)
{
	struct handle *handle = of(base);
	int code = enter(handle->vfs, CRASH_WRITE, SQLITE_IOERR_WRITE);
	size_t part = (size_t)len;

	if (code != 0)
		part = draw(handle->vfs, 2) ? draw(handle->vfs, (uint32_t)len) : 0;
	if (part > 0 && !handle->vfs->is_cut)
		change_file(handle->file, false, (size_t)offset, from, part);
	return leave(handle->vfs, code);
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size)
{
	struct handle *handle = of(base);
	int code = enter(handle->vfs, CRASH_TRUNCATE, SQLITE_IOERR_TRUNCATE);

	if (code == 0)
		change_file(handle->file, true, (size_t)size, NULL, 0);
	return leave(handle->vfs, code);
}

static void sync_folder(struct crash_vfs *vfs)
{
	size_t i;

	for (i = 0; i < vfs->file_count; i++)
		vfs->files[i].is_on_disk = vfs->files[i].is_there;
}

static int file_sync(sqlite3_file *base, int flags)
{
	struct handle *handle = of(base);
	int code = enter(handle->vfs, CRASH_SYNC, SQLITE_IOERR_FSYNC);

	(void)flags;
	if (code == 0 && !handle->vfs->is_lying) {
		sync_file(handle->file);
		if (handle->file->is_new)
			sync_folder(handle->vfs);
		handle->file->is_new = false;
	}
	return leave(handle->vfs, code);
}

static int file_size(sqlite3_file *base, sqlite3_int64 *ret)
{
	struct handle *handle = of(base);
	int code = enter(handle->vfs, CRASH_SIZE, SQLITE_IOERR_FSTAT);

	if (code == 0)
		*ret = (sqlite3_int64)handle->file->now.len;
	return leave(handle->vfs, code);
}

static int file_lock(sqlite3_file *base, int level)
{
	struct handle *handle = of(base);

	(void)level;
	return leave(handle->vfs, enter(handle->vfs, CRASH_LOCK, SQLITE_IOERR_LOCK));
}

static int file_unlock(sqlite3_file *base, int level)
{
	(void)base;
	(void)level;
	return SQLITE_OK;
}

static int file_reserved(sqlite3_file *base, int *ret)
{
	(void)base;
	*ret = 0;
	return SQLITE_OK;
}

static int file_control(sqlite3_file *base, int op, void *arg)
{
	(void)base;
	(void)op;
	(void)arg;
	return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *base)
{
	(void)base;
	return SECTOR;
}

static int file_traits(sqlite3_file *base)
{
	(void)base;
	return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_unlock,
	.xCheckReservedLock = file_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector,
	.xDeviceCharacteristics = file_traits,
};

/* --- the folder --- */

static struct file *find(struct crash_vfs *vfs, const char *path)
{
	size_t i;

	for (i = 0; i < vfs->file_count; i++)
		if (strcmp(vfs->files[i].path, path) == 0)
			return &vfs->files[i];
	return NULL;
}

static struct file *make(struct crash_vfs *vfs, const char *path, int flags)
{
	struct file *file = find(vfs, path);

	if (file == NULL) {
		assert_true(vfs->file_count < FILES);
		file = &vfs->files[vfs->file_count++];
		STAILQ_INIT(&file->changes);
		assert_true(neap_strcopy(file->path, sizeof(file->path), path));
	}
	file->is_there = true;
	file->is_new = (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) != 0;
	forget_changes(file);
	crash_bytes_set_len(&file->now, 0);
	file->is_reborn = file->is_on_disk;
	if (!file->is_on_disk)
		crash_bytes_set_len(&file->disk, 0);
	return file;
}

static int vfs_open(sqlite3_vfs *base, const char *path, sqlite3_file *ret, int flags,
		    int *ret_flags)
{
	struct crash_vfs *vfs = (struct crash_vfs *)base;
	struct handle *handle = of(ret);
	int code = enter(vfs, CRASH_OPEN, SQLITE_CANTOPEN);
	struct file *file = path != NULL ? find(vfs, path) : NULL;

	handle->base.pMethods = NULL;
	if (code != 0)
		return leave(vfs, code);
	if (file == NULL || !file->is_there) {
		if ((flags & SQLITE_OPEN_CREATE) == 0)
			return leave(vfs, SQLITE_CANTOPEN);
		file = make(vfs, path != NULL ? path : "temporary", flags);
	}
	handle->vfs = vfs;
	handle->file = file;
	handle->is_deleted_at_close = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
	handle->base.pMethods = &methods;
	if (ret_flags != NULL)
		*ret_flags = flags;
	return leave(vfs, SQLITE_OK);
}

static int vfs_delete(sqlite3_vfs *base, const char *path, int is_synced)
{
	struct crash_vfs *vfs = (struct crash_vfs *)base;
	int code = enter(vfs, CRASH_DELETE, SQLITE_IOERR_DELETE);
	struct file *file = find(vfs, path);

	if (code != 0)
		return leave(vfs, code);
	if (file == NULL || !file->is_there)
		return leave(vfs, SQLITE_IOERR_DELETE_NOENT);
	file->is_there = false;
	if (is_synced && !vfs->is_lying)
		sync_folder(vfs);
	return leave(vfs, SQLITE_OK);
}

static int vfs_access(sqlite3_vfs *base, const char *path, int flags, int *ret)
{
	struct crash_vfs *vfs = (struct crash_vfs *)base;
	const struct file *file;

	(void)pthread_mutex_lock(&vfs->lock);
	file = find(vfs, path);
	*ret = file != NULL && file->is_there &&
	       (flags != SQLITE_ACCESS_EXISTS || file->now.len > 0);
	return leave(vfs, SQLITE_OK);
}

static int vfs_full_path(sqlite3_vfs *base, const char *path, int size, char *ret)
{
	(void)base;
	return neap_strcopy(ret, (size_t)size, path) ? SQLITE_OK : SQLITE_CANTOPEN;
}

static int vfs_randomness(sqlite3_vfs *base, int len, char *ret)
{
	struct crash_vfs *vfs = (struct crash_vfs *)base;
	int i;

	(void)pthread_mutex_lock(&vfs->lock);
	for (i = 0; i < len; i++)
		ret[i] = (char)draw(vfs, 256);
	return leave(vfs, len);
}

static int vfs_sleep(sqlite3_vfs *base, int usec)
{
	(void)base;
	return usec;
}

static int vfs_time(sqlite3_vfs *base, sqlite3_int64 *ret)
{
	(void)base;
	*ret = INT64_C(212641416000000);
	return SQLITE_OK;
}

static int vfs_error(sqlite3_vfs *base, int size, char *ret)
{
	(void)base;
	(void)size;
	(void)ret;
	return 0;
}

/* --- what tests do with it --- */

struct crash_vfs *crash_vfs_new(uint32_t seed)
{
	struct crash_vfs *vfs = neap_alloc(sizeof(*vfs));

	assert_non_null(vfs);
	vfs->seed = seed;
	(void)pthread_mutex_init(&vfs->lock, NULL);
	vfs->vfs = (sqlite3_vfs){
		.iVersion = 2,
		.szOsFile = (int)sizeof(struct handle),
		.mxPathname = 512,
		.zName = "crash",
		.xOpen = vfs_open,
		.xDelete = vfs_delete,
		.xAccess = vfs_access,
		.xFullPathname = vfs_full_path,
		.xRandomness = vfs_randomness,
		.xSleep = vfs_sleep,
		.xGetLastError = vfs_error,
		.xCurrentTimeInt64 = vfs_time,
	};
	assert_int_equal(sqlite3_vfs_register(&vfs->vfs, 1), SQLITE_OK);
	return vfs;
}

void crash_vfs_clear(struct crash_vfs *vfs)
{
	size_t i;

	(void)pthread_mutex_lock(&vfs->lock);
	for (i = 0; i < vfs->file_count; i++) {
		forget_changes(&vfs->files[i]);
		free(vfs->files[i].now.at);
		free(vfs->files[i].disk.at);
	}
	memset(vfs->files, 0, sizeof(vfs->files));
	memset(vfs->faults, 0, sizeof(vfs->faults));
	vfs->file_count = 0;
	vfs->cut_in = 0;
	vfs->is_cut = false;
	(void)pthread_mutex_unlock(&vfs->lock);
}

void crash_vfs_free(struct crash_vfs *vfs)
{
	(void)sqlite3_vfs_unregister(&vfs->vfs);
	crash_vfs_clear(vfs);
	(void)pthread_mutex_destroy(&vfs->lock);
	free(vfs);
}

void crash_vfs_cut_after(struct crash_vfs *vfs, uint64_t nth)
{
	(void)pthread_mutex_lock(&vfs->lock);
	vfs->cut_in = nth;
	if (nth == 0 && !vfs->is_cut)
		cut(vfs);
	(void)pthread_mutex_unlock(&vfs->lock);
}

bool crash_vfs_is_cut(struct crash_vfs *vfs)
{
	bool is_cut;

	(void)pthread_mutex_lock(&vfs->lock);
	is_cut = vfs->is_cut;
	(void)pthread_mutex_unlock(&vfs->lock);
	return is_cut;
}

void crash_vfs_restart(struct crash_vfs *vfs)
{
	size_t i;

	(void)pthread_mutex_lock(&vfs->lock);
	for (i = 0; vfs->is_cut && i < vfs->file_count; i++) {
		struct file *file = &vfs->files[i];

		file->is_there = file->is_on_disk;
		crash_bytes_copy(&file->now, &file->disk);
	}
	vfs->is_cut = false;
	vfs->cut_in = 0;
	memset(vfs->faults, 0, sizeof(vfs->faults));
	(void)pthread_mutex_unlock(&vfs->lock);
}

void crash_vfs_lie(struct crash_vfs *vfs, bool is_lying)
{
	(void)pthread_mutex_lock(&vfs->lock);
	vfs->is_lying = is_lying;
	(void)pthread_mutex_unlock(&vfs->lock);
}

void crash_vfs_fail(struct crash_vfs *vfs, enum crash_call call, uint64_t nth,
		    uint64_t times, int code)
{
	(void)pthread_mutex_lock(&vfs->lock);
	vfs->faults[call].in = nth;
	vfs->faults[call].times = times;
	vfs->faults[call].code = code;
	(void)pthread_mutex_unlock(&vfs->lock);
}

uint64_t crash_vfs_failed(struct crash_vfs *vfs)
{
	uint64_t failed;

	(void)pthread_mutex_lock(&vfs->lock);
	failed = vfs->failed;
	(void)pthread_mutex_unlock(&vfs->lock);
	return failed;
}
