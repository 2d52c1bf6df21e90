/* SPDX-License-Identifier: Apache-2.0
 *
 * DATA_DIR/neap.db, or another file: size, disk space, and integrity. It checks a copy in
 * its own directory, so that the file is unchanged and never found in use; while a neapd
 * has it open, nothing is copied. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "api/ctl/base/files.h"
#include "api/ctl/doctor/doctor.h"
#include "api/store/backup/backup.h"
#include "api/store/marker.h"
#include "api/store/sqlite/sqlite.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"

#define AS_ROOT "look again as root"
#define DAMAGED "see 'A damaged or lost file' in doc/operations.md"
/* The most that is copied, and the free space below which to warn. */
#define COPY_MAX (INT64_C(4) << 30)
#define ROOM_MIN (INT64_C(128) << 20)
/* Where SQLite's locks lie. */
#define LOCK_FIRST INT64_C(0x40000000)
#define LOCK_BYTES 512
/* Bytes that one read takes. */
#define PIECE ((size_t)1 << 20)

struct looked {
	char file[PATH_MAX], log[PATH_MAX + 8]; /* neap.db, neap.db-wal */
	struct stat st, log_st;
	int fd;
	bool has_log;
};

static bool in_use(int fd)
{
	struct flock lock = {.l_type = F_WRLCK,
			     .l_whence = SEEK_SET,
			     .l_start = LOCK_FIRST,
			     .l_len = LOCK_BYTES};

	return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static int copy_file(const char *from, const char *to, struct neap_error *err)
{
	neap_auto_fd int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	neap_auto_fd int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	neap_auto_free char *piece = neap_alloc(PIECE);

	if (piece == NULL)
		return neap_error_nomem(err);
	if (in < 0)
		return neap_error_sys(err, "open %s", from);
	if (out < 0)
		return neap_error_sys(err, "make %s", to);
	for (;;) {
		ssize_t n = read(in, piece, PIECE);

		if (n < 0)
			return neap_error_sys(err, "read %s", from);
		if (n == 0)
			return 0;
		if (write(out, piece, (size_t)n) != n)
			return neap_error_sys(err, "write %s", to);
	}
}

/* Problems go into err, with the name of the original file. */
static int check_copy(const struct looked *looked, const char *dir,
		      struct neap_store_facts *ret, struct neap_error *err)
{
	char file[PATH_MAX], log[PATH_MAX];
	struct neap_error why = {0};
	size_t len;

	(void)snprintf(file, sizeof(file), "%s/neap.db", dir);
	(void)snprintf(log, sizeof(log), "%s/neap.db-wal", dir);
	if (copy_file(looked->file, file, err) < 0 ||
	    (looked->has_log && copy_file(looked->log, log, err) < 0))
		return -(int)err->code;
	if (neap_store_sqlite_check(file, ret, &why) == 0)
		return 0;
	len = strlen(file);
	return neap_error_set(err, why.code, "%s%s", looked->file,
			      strncmp(why.msg, file, len) == 0 ? why.msg + len : "");
}

static bool has_changed(const struct looked *looked)
{
	struct stat st;

	return in_use(looked->fd) || stat(looked->file, &st) < 0 ||
	       st.st_size != looked->st.st_size ||
	       st.st_mtim.tv_sec != looked->st.st_mtim.tv_sec ||
	       st.st_mtim.tv_nsec != looked->st.st_mtim.tv_nsec;
}

static void sound_check(const struct looked *looked, const char *size,
			struct neap_findings *findings)
{
	struct neap_scratch scratch;
	struct neap_error err = {0};
	struct neap_store_facts facts = {0};
	int r = neap_scratch_open(&scratch, &err);

	if (r == 0) {
		r = check_copy(looked, scratch.dir, &facts, &err);
		neap_scratch_close(&scratch);
	}
	if (r == 0)
		neap_finding_add(findings, NEAP_FINDING_OK, "neap.store", NULL,
				 "%s is sound: %zu objects of %zu resources, format %d, "
				 "version %lld, %s",
				 looked->file, facts.objects, facts.resources,
				 facts.format, (long long)facts.version, size);
	else if (has_changed(looked))
		neap_finding_add(findings, NEAP_FINDING_NOTE, "neap.store", NULL,
				 "%s changed while it was looked at", looked->file);
	else if (r == -NEAP_EINVAL || r == -NEAP_EUNSUPPORTED)
		neap_finding_add(findings, NEAP_FINDING_PROBLEM, "neap.store",
				 r == -NEAP_EINVAL ? DAMAGED : NULL, "%s", err.msg);
	else
		neap_finding_add(findings, NEAP_FINDING_NOTE, "neap.store", NULL,
				 "whether %s is sound cannot be seen: %s", looked->file,
				 err.msg);
}

static void room_check(const char *dir, struct neap_findings *findings)
{
	struct statvfs fs;
	char room[32];
	int64_t bytes;

	if (statvfs(dir, &fs) < 0)
		return; /* the folder has its own check */
	bytes = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
	(void)neap_bytes_format_human(bytes, room, sizeof(room));
	if (bytes < ROOM_MIN)
		neap_finding_add(
			findings, NEAP_FINDING_WARNING, "neap.room",
			"make room: what is full takes no writes (429), and goes on "
			"by itself when there is room",
			"the file system of %s has %s left", dir, room);
	else
		neap_finding_add(findings, NEAP_FINDING_OK, "neap.room", NULL,
				 "the file system of %s has %s left", dir, room);
}

static void file_check(struct looked *looked, struct neap_findings *findings)
{
	char size[32];
	int64_t bytes;

	if (fstat(looked->fd, &looked->st) < 0 || !S_ISREG(looked->st.st_mode)) {
		neap_finding_add(findings, NEAP_FINDING_PROBLEM, "neap.store",
				 "move it away", "%s is no file", looked->file);
		return;
	}
	if ((looked->st.st_mode & 077) != 0)
		neap_finding_add(findings, NEAP_FINDING_WARNING, "neap.store",
				 "chmod 600 it", "%s can be read by others",
				 looked->file);
	looked->has_log = stat(looked->log, &looked->log_st) == 0;
	bytes = (int64_t)looked->st.st_size +
		(looked->has_log ? (int64_t)looked->log_st.st_size : 0);
	(void)neap_bytes_format_human(bytes, size, sizeof(size));
	if (in_use(looked->fd))
		neap_finding_add(findings, NEAP_FINDING_OK, "neap.store", NULL,
				 "%s is in use by a neapd, which found it sound at its "
				 "start: %s",
				 looked->file, size);
	else if (bytes > COPY_MAX)
		neap_finding_add(
			findings, NEAP_FINDING_NOTE, "neap.store", NULL,
			"%s has %s, too much to be looked through here: a start of "
			"neapd does it",
			looked->file, size);
	else
		sound_check(looked, size, findings);
}

/* Checks for a neap.db that should exist but is missing or empty. */
static bool lost_check(const char *dir, const char *file, struct neap_findings *findings)
{
	char marker[PATH_MAX], kubeconfig[PATH_MAX];
	struct neap_store_marker found;
	struct neap_error err;
	bool is_used;

	(void)snprintf(marker, sizeof(marker), "%s/store", dir);
	(void)snprintf(kubeconfig, sizeof(kubeconfig), "%s/kubeconfig", dir);
	if (neap_store_marker_read(marker, &found, &err) < 0 ||
	    neap_store_marker_check(&found, file, access(kubeconfig, F_OK) == 0, &is_used,
				    &err) != -NEAP_EINVAL)
		return false;
	neap_finding_add(findings, NEAP_FINDING_PROBLEM, "neap.store", DAMAGED, "%s",
			 err.msg);
	return true;
}

void neap_doctor_store(const struct neap_doctor *doctor, struct neap_findings *findings)
{
	const char *dir = doctor->config->data_dir;
	struct looked looked = {0};

	if (doctor->root[0] != '\0')
		return;
	(void)snprintf(looked.file, sizeof(looked.file), "%s/neap.db", dir);
	(void)snprintf(looked.log, sizeof(looked.log), "%s-wal", looked.file);
	if (lost_check(dir, looked.file, findings))
		return;
	looked.fd = open(looked.file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (looked.fd < 0 && errno == ENOENT)
		return; /* no objects yet */
	if (looked.fd < 0) {
		neap_finding_add(findings, NEAP_FINDING_NOTE, "neap.store", AS_ROOT,
				 "%s cannot be seen: %s", looked.file, strerror(errno));
		return;
	}
	file_check(&looked, findings);
	(void)close(looked.fd);
	room_check(dir, findings);
}

/* --- one file --- */

/* Reads it as a restore would, without a store to restore to. */
static int read_backup(int fd, const char *file, size_t *ret_objects,
		       int64_t *ret_version, struct neap_error *err)
{
	neap_auto_free char *piece = neap_alloc(PIECE);
	struct neap_backup_reader *reader = NULL;
	int r = piece == NULL ? neap_error_nomem(err)
			      : neap_backup_reader_new(NULL, &reader, err);
	ssize_t n = 1;

	while (r == 0 && n > 0) {
		n = read(fd, piece, PIECE);
		r = n < 0 ? neap_error_sys(err, "read")
			  : neap_backup_reader_feed(reader, piece, (size_t)n, err);
	}
	if (r == 0)
		r = neap_backup_reader_end(reader, ret_version, err);
	if (r == 0)
		*ret_objects = neap_backup_reader_objects(reader);
	neap_backup_reader_free(reader);
	return r < 0 ? neap_error_wrap(err, "%s", file) : 0;
}

static void backup_check(int fd, const char *file, const char *size,
			 struct neap_findings *findings)
{
	struct neap_error err = {0};
	size_t objects = 0;
	int64_t version = 0;

	if (read_backup(fd, file, &objects, &version, &err) == 0)
		neap_finding_add(findings, NEAP_FINDING_OK, "neap.backup", NULL,
				 "%s is a sound backup: %zu objects, version %lld, %s",
				 file, objects, (long long)version, size);
	else
		neap_finding_add(findings, NEAP_FINDING_PROBLEM, "neap.backup", NULL,
				 "%s", err.msg);
}

void neap_doctor_file(const char *file, struct neap_findings *findings)
{
	struct looked looked = {.fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
	char size[32], first = '\0';
	struct stat st;

	if (looked.fd < 0 || fstat(looked.fd, &st) < 0 ||
	    !neap_strcopy(looked.file, sizeof(looked.file), file)) {
		neap_finding_add(findings, NEAP_FINDING_PROBLEM, "neap.store", NULL,
				 "%s cannot be read: %s", file, strerror(errno));
	} else if (pread(looked.fd, &first, 1, 0) == 1 && first == '{') {
		(void)neap_bytes_format_human((int64_t)st.st_size, size, sizeof(size));
		backup_check(looked.fd, file, size, findings);
	} else {
		(void)snprintf(looked.log, sizeof(looked.log), "%s-wal", file);
		file_check(&looked, findings);
	}
	neap_fd_close(&looked.fd);
}
