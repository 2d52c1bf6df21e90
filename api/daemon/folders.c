/* SPDX-License-Identifier: Apache-2.0
 *
 * Folders, lock and token. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/daemon/start.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"

static int check_folder(const char *path, uid_t owner, const char *option,
			struct neap_error *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return neap_error_sys(err, "look at %s", path);
	if (!S_ISDIR(st.st_mode))
		return neap_error_set(err, NEAP_EINVAL,
				      "%s is no folder: choose another %s", path, option);
	if ((st.st_uid != owner && st.st_uid != 0) || (st.st_mode & 022) != 0)
		return neap_error_set(
			err, NEAP_EFORBIDDEN,
			"%s must belong to uid %u or root and not be writable by others "
			"(chown and chmod 755, or choose another %s)",
			path, (unsigned)owner, option);
	return 0;
}

/* Never follows a link and never takes a file for the folder: else something else would
 * be given away. */
static int give_folder(const char *path, const struct neap_account *account,
		       struct neap_error *err)
{
	neap_auto_fd int fd = -1;

	if (geteuid() != 0)
		return 0;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return neap_error_set(err, NEAP_EINVAL,
				      "%s is no folder: remove it, or choose another "
				      "--data-dir",
				      path);
	if (fd < 0 || fchown(fd, account->uid, account->gid) < 0)
		return neap_error_sys(err, "give %s to %s", path, account->name);
	return 0;
}

int neap_folders_make(const struct neap_config *config,
		      const struct neap_account *account, struct neap_error *err)
{
	static const char *const inner[] = {"workloads", "policies"};
	char path[160];
	size_t i;

	if (neap_folder_make(config->run_dir, 0755, err) < 0 ||
	    neap_folder_make(config->data_dir, 0700, err) < 0)
		return -(int)err->code;
	if (check_folder(config->run_dir, geteuid(), "--run-dir", err) < 0)
		return -(int)err->code;
	if (give_folder(config->data_dir, account, err) < 0 ||
	    check_folder(config->data_dir, account->uid, "--data-dir", err) < 0)
		return -(int)err->code;
	for (i = 0; i < NEAP_ARRAY_LEN(inner); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", config->data_dir, inner[i]);
		if (neap_folder_make(path, 0700, err) < 0 ||
		    give_folder(path, account, err) < 0)
			return -(int)err->code;
	}
	return 0;
}

int neap_folders_lock(const char *run_dir, struct neap_error *err)
{
	char path[160], text[32] = "";
	int fd;

	(void)snprintf(path, sizeof(path), "%s/neapd.lock", run_dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return neap_error_sys(err, "open %s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		ssize_t len = pread(fd, text, sizeof(text) - 1, 0);

		(void)close(fd);
		text[len > 0 ? strcspn(text, "\n") : 0] = '\0';
		return neap_error_set(
			err, NEAP_ECONFLICT,
			"another neapd (pid %s) uses %s: stop it, or choose another "
			"--run-dir and --group",
			text[0] != '\0' ? text : "unknown", run_dir);
	}
	(void)snprintf(text, sizeof(text), "%d\n", (int)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, strlen(text), 0) < 0) {
		(void)neap_error_sys(err, "write %s", path);
		(void)close(fd);
		return -(int)err->code;
	}
	return 0; /* the descriptor stays open: it is the lock */
}

static int token_draw(char *buf, size_t size, struct neap_error *err)
{
	unsigned char raw[32];
	size_t i;

	if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
		return neap_error_sys(err, "random bytes for the token");
	for (i = 0; i < sizeof(raw) && i * 2 + 2 < size; i++)
		(void)snprintf(buf + i * 2, size - i * 2, "%02x", raw[i]);
	return 0;
}

static int token_make(const char *path, const struct neap_account *account, char *buf,
		      size_t size, struct neap_error *err)
{
	neap_auto_fd int fd = -1;

	if (token_draw(buf, size, err) < 0)
		return -(int)err->code;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return neap_error_sys(err, "make %s", path);
	/* Not synced: a token lost in a power cut is made again. */
	if (write(fd, buf, strlen(buf)) < 0 || write(fd, "\n", 1) < 0 ||
	    (geteuid() == 0 && fchown(fd, account->uid, account->gid) < 0)) {
		(void)neap_error_sys(err, "write %s", path);
		(void)unlink(path);
		return -(int)err->code;
	}
	return 0;
}

int neap_token_load(const struct neap_config *config, const struct neap_account *account,
		    char *buf, size_t size, struct neap_error *err)
{
	char path[160];
	neap_auto_fd int fd = -1;
	struct stat st;
	ssize_t len;

	(void)snprintf(path, sizeof(path), "%s/token", config->data_dir);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT)
		return token_make(path, account, buf, size, err);
	if (fd < 0)
		return neap_error_sys(err, "open %s", path);
	if (fstat(fd, &st) < 0 || (st.st_mode & 077) != 0)
		return neap_error_set(
			err, NEAP_EFORBIDDEN,
			"%s can be read by others: chmod 600 it, or remove it and a new "
			"one is made",
			path);
	len = neap_fd_read_text(fd, buf, size);
	if (len < 0)
		return neap_error_sys(err, "read %s", path);
	/* A cut token would never match what clients send. */
	if ((size_t)len == size - 1 && strcspn(buf, "\r\n") == (size_t)len)
		return neap_error_set(
			err, NEAP_EINVAL,
			"%s holds a token of more than %zu characters: remove it and a "
			"new one is made",
			path, size - 2);
	buf[strcspn(buf, "\r\n")] = '\0';
	if (buf[0] == '\0' && unlink(path) == 0)
		return token_make(path, account, buf, size, err);
	if (strlen(buf) < 32)
		return neap_error_set(
			err, NEAP_EINVAL,
			"%s holds no token of at least 32 characters: remove it and a "
			"new one is made",
			path);
	return 0;
}

int neap_token_rotate(const struct neap_config *config, char *buf, size_t size,
		      struct neap_error *err)
{
	char path[160], fresh[170], text[80] = "";
	size_t len;

	(void)snprintf(path, sizeof(path), "%s/token", config->data_dir);
	(void)snprintf(fresh, sizeof(fresh), "%s.new", path);
	if (token_draw(text, sizeof(text) - 1, err) < 0)
		return -(int)err->code;
	len = strlen(text);
	text[len] = '\n';
	if (neap_file_put(AT_FDCWD, fresh, path, text, len + 1, NEAP_PUT_SYNCED, err) < 0)
		return -(int)err->code;
	text[len] = '\0';
	(void)neap_strcopy(buf, size, text);
	explicit_bzero(text, sizeof(text));
	return 0;
}
