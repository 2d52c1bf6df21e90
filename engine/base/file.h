/* SPDX-License-Identifier: Apache-2.0
 *
 * Small files, read and written as a whole. */
#ifndef NEAP_ENGINE_BASE_FILE_H
#define NEAP_ENGINE_BASE_FILE_H

#include <sys/types.h>

#include "engine/base/buf.h"

#define NEAP_BOOT_ID 37 /* bytes of its text, with the NUL */

/* Closes what is open, keeps errno, and leaves -1. */
void neap_fd_close(int *fd);

/* Reads until the end or until size bytes are there. Returns the bytes, -1 with errno. */
ssize_t neap_fd_read(int fd, void *to, size_t size);
/* Reads text and ends it with NUL; "" on failure. Reads at most size - 1 bytes. */
ssize_t neap_fd_read_text(int fd, char *to, size_t size);
/* Adds the rest of the file to ret, which limits its size. name is for errors. */
int neap_fd_read_rest(int fd, const char *name, struct neap_buf *ret,
		      struct neap_error *err);
/* Writes all of it. Returns 0, or -1 with errno. */
int neap_fd_write(int fd, const void *from, size_t len);

/* Reads the beginning of a file as text, "" on failure. Returns bytes, -1 with errno. */
ssize_t neap_file_head(const char *path, char *to, size_t size);
/* The same, without the first line's end and what stands behind it. */
ssize_t neap_file_line(const char *path, char *to, size_t size);
/* Adds the file to ret, which limits its size. Takes a regular file only, so that nothing
 * is waited for. NEAP_EINVAL, NEAP_ETOOLARGE, NEAP_ENOMEM, or of the system. */
int neap_file_load(const char *path, struct neap_buf *ret, struct neap_error *err);

enum neap_file_put {
	NEAP_PUT_PUBLIC =
		1, /* everybody may read it (0644); else only the owner (0600) */
	NEAP_PUT_SYNCED = 2, /* it survives a power cut once this returns */
	NEAP_PUT_OWNED = 4,  /* what root writes belongs to the owner of the folder */
};

/* Writes the file under another name (fresh, removed first) and renames it, so that a
 * reader sees the old or the new text. On failure the old file stays and the fresh one
 * goes. folder_fd may be AT_FDCWD, without the last two flags then for the folder. */
int neap_file_put(int folder_fd, const char *fresh, const char *name, const void *text,
		  size_t len, unsigned flags, struct neap_error *err);

/* Makes the folder with this mode, and missing parents with 0755, as mkdir -p. */
int neap_folder_make(const char *path, mode_t mode, struct neap_error *err);

/* The number of this boot of the kernel. */
int neap_boot_id(char ret[NEAP_BOOT_ID], struct neap_error *err);

#endif
