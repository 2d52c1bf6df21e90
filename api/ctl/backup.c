/* SPDX-License-Identifier: Apache-2.0
 *
 * `neapctl backup` and `neapctl restore`: the daemon's objects to a file and back.
 * neapctl writes the file, so the daemon needs no access to it; it gets its name when it
 * is complete. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/ctl/base/client.h"
#include "api/ctl/draw/cells.h"
#include "engine/base/file.h"
#include "engine/base/mem.h"

#define PIECE ((size_t)256 * 1024)

struct backup_values {
	bool force;
};

static const struct neap_option backup_options[] = {
	{"force", 'f', NEAP_OPTION_FLAG, offsetof(struct backup_values, force), NULL,
	 "replace an existing file"},
	{""},
};

/* --- the file --- */

struct target {
	const char *file;
	char part[PATH_MAX]; /* the new one until it is whole */
	int fd;
};

static int target_open(struct target *target, bool is_forced, struct neap_error *err)
{
	struct stat st;

	if (!is_forced && lstat(target->file, &st) == 0)
		return neap_error_set(err, NEAP_EEXISTS,
				      "%s is there already: name another file, or use "
				      "--force",
				      target->file);
	if (snprintf(target->part, sizeof(target->part), "%s.XXXXXX", target->file) >=
	    (int)sizeof(target->part))
		return neap_error_set(err, NEAP_ETOOLARGE, "%s: the path is too long",
				      target->file);
	target->fd = mkostemp(target->part, O_CLOEXEC); /* of mode 0600 */
	return target->fd < 0 ? neap_error_sys(err, "make %s", target->part) : 0;
}

static int target_write(const struct target *target, const char *text, size_t len,
			struct neap_error *err)
{
	return neap_fd_write(target->fd, text, len) < 0
		       ? neap_error_sys(err, "write %s", target->part)
		       : 0;
}

/* Makes the name survive a power cut too. */
static int sync_folder(const char *file, struct neap_error *err)
{
	const char *slash = strrchr(file, '/');
	neap_auto_fd int fd = -1;
	char folder[PATH_MAX];

	(void)snprintf(folder, sizeof(folder), "%.*s",
		       slash != NULL ? (int)(slash - file) + 1 : 1,
		       slash != NULL ? file : ".");
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return neap_error_sys(err, "sync %s", folder);
	return 0;
}

static int target_end(struct target *target, bool is_forced, struct neap_error *err)
{
	int r = 0;

	if (fsync(target->fd) < 0)
		r = neap_error_sys(err, "sync %s", target->part);
	(void)close(target->fd); /* all is on the disk */
	target->fd = -1;
	/* A link does not replace what came meanwhile. */
	if (r == 0 && is_forced && rename(target->part, target->file) < 0)
		r = neap_error_sys(err, "rename %s to %s", target->part, target->file);
	if (r == 0 && !is_forced && link(target->part, target->file) < 0)
		r = neap_error_sys(err, "make %s", target->file);
	if (r < 0 || !is_forced)
		(void)unlink(target->part);
	return r < 0 ? r : sync_folder(target->file, err);
}

static void target_drop(struct target *target)
{
	if (target->fd < 0)
		return;
	(void)close(target->fd);
	(void)unlink(target->part);
}

/* Ends an interrupted session in the daemon too, so that the next one need not wait. */
static void forget(struct neap_client *client, const char *what, int64_t id)
{
	struct neap_error ignored;
	json_t *reply = NULL;
	char path[96];

	(void)snprintf(path, sizeof(path), "/control/v1/store/%s/%lld", what,
		       (long long)id);
	(void)neap_client_call(client, "DELETE", path, NULL, &reply, &ignored);
	json_decref(reply);
}

/* --- backup --- */

static int fetch(struct neap_client *client, struct target *target, int64_t id,
		 int64_t *ret_bytes, struct neap_error *err)
{
	struct neap_client_request request = {.method = "GET"};
	int64_t at = 0;

	for (;;) {
		struct neap_client_reply reply;
		char path[96];
		size_t len;
		int r;

		(void)snprintf(path, sizeof(path),
			       "/control/v1/store/backups/%lld?at=%lld", (long long)id,
			       (long long)at);
		request.path = path;
		r = neap_client_send(client, &request, &reply, err);
		len = reply.len;
		if (r == 0)
			r = target_write(target, reply.text, len, err);
		neap_client_reply_done(&reply);
		if (r < 0)
			return r;
		if (len == 0)
			break;
		at += (int64_t)len;
	}
	*ret_bytes = at;
	return 0;
}

static int backup_to(struct neap_client *client, struct target *target, bool is_forced,
		     json_t **ret, struct neap_error *err)
{
	int64_t bytes = 0, id;
	int r = target_open(target, is_forced, err);

	if (r == 0)
		r = neap_client_call(client, "POST", "/control/v1/store/backups", NULL,
				     ret, err);
	if (r == 0) {
		id = neap_member_integer(*ret, "id", 0);
		r = fetch(client, target, id, &bytes, err);
		if (r < 0)
			forget(client, "backups", id);
	}
	if (r < 0) {
		target_drop(target);
		return r;
	}
	r = target_end(target, is_forced, err);
	(void)json_object_del(*ret, "id");
	if (r == 0 && json_object_set_new(*ret, "bytes", json_integer(bytes)) < 0)
		r = neap_error_nomem(err);
	return r;
}

static void add_counts(const json_t *reply, const void *file, struct neap_buf *out)
{
	neap_buf_adds(out, file);
	neap_cells_add(out, reply, ": {objects} objects, {bytes} bytes\n");
}

static int run_backup(struct neap_ctl *ctl, void *arg, int argc, char **argv)
{
	const struct backup_values *values = arg;
	struct target target = {.file = argv[0], .fd = -1};
	struct neap_client *client = NULL;
	struct neap_error err = {0};
	json_t *reply = NULL;
	int r;

	(void)argc;
	r = neap_client_new(ctl, &client, &err);
	if (r == 0)
		r = backup_to(client, &target, values->force, &reply, &err);
	neap_client_free(client);
	if (r == 0)
		return neap_ctl_show_take(ctl, reply, add_counts, target.file);
	json_decref(reply);
	return neap_ctl_fail(&err);
}

/* --- restore --- */

static int send_piece(struct neap_client *client, int64_t id, int64_t at,
		      const char *piece, size_t len, struct neap_error *err)
{
	struct neap_client_reply reply;
	struct neap_client_request request = {.method = "POST",
					      .body = piece,
					      .body_len = len,
					      .type = "application/x-ndjson"};
	char path[96];
	int r;

	(void)snprintf(path, sizeof(path), "/control/v1/store/restores/%lld/data?at=%lld",
		       (long long)id, (long long)at);
	request.path = path;
	r = neap_client_send(client, &request, &reply, err);
	neap_client_reply_done(&reply);
	return r;
}

static int send_file(struct neap_client *client, int64_t id, int fd, const char *file,
		     struct neap_error *err)
{
	neap_auto_free char *piece = neap_alloc(PIECE);
	int64_t at = 0;

	if (piece == NULL)
		return neap_error_nomem(err);
	for (;;) {
		ssize_t n = neap_fd_read(fd, piece, PIECE);

		if (n < 0)
			return neap_error_sys(err, "read %s", file);
		if (n == 0)
			return 0;
		if (send_piece(client, id, at, piece, (size_t)n, err) < 0)
			return -(int)err->code;
		at += n;
	}
}

static int restore_from(struct neap_client *client, const char *file, json_t **ret,
			struct neap_error *err)
{
	bool is_stdin = strcmp(file, "-") == 0;
	neap_auto_fd int opened = is_stdin ? -1 : open(file, O_RDONLY | O_CLOEXEC);
	char path[96];
	int64_t id;

	if (!is_stdin && opened < 0)
		return neap_error_sys(err, "open %s", file);
	if (neap_client_call(client, "POST", "/control/v1/store/restores", NULL, ret,
			     err) < 0)
		return -(int)err->code;
	id = neap_member_integer(*ret, "id", 0);
	json_decref(*ret);
	*ret = NULL;
	if (send_file(client, id, is_stdin ? STDIN_FILENO : opened, file, err) < 0) {
		forget(client, "restores", id);
		return -(int)err->code;
	}
	(void)snprintf(path, sizeof(path), "/control/v1/store/restores/%lld/commit",
		       (long long)id);
	return neap_client_call(client, "POST", path, NULL, ret, err);
}

static void add_changes(const json_t *reply, const void *arg, struct neap_buf *out)
{
	(void)arg;
	neap_cells_add(
		out, reply,
		"restored: {created} objects created, {updated} changed, {deleted} "
		"deleted, {unchanged} as they were\n");
}

static int run_restore(struct neap_ctl *ctl, void *values, int argc, char **argv)
{
	struct neap_client *client = NULL;
	struct neap_error err = {0};
	json_t *reply = NULL;
	int r;

	(void)values, (void)argc;
	r = neap_client_new(ctl, &client, &err);
	if (r == 0)
		r = restore_from(client, argv[0], &reply, &err);
	neap_client_free(client);
	if (r == 0)
		return neap_ctl_show_take(ctl, reply, add_changes, NULL);
	json_decref(reply);
	return neap_ctl_fail(&err);
}

const struct neap_command neap_command_backup = {
	.name = "backup",
	.usage = "[-f] [-o json|yaml] FILE",
	.example = "backup neap-objects.json",
	.summary = "write all objects of neapd to a file, while it runs",
	.text = "FILE appears when it is complete, with mode 0600. All objects in it are of one moment.\n",
	.options = backup_options,
	.output = "print JSON or YAML",
	.values_size = sizeof(struct backup_values),
	.args_min = 1,
	.args_max = 1,
	.run = run_backup,
};

const struct neap_command neap_command_restore = {
	.name = "restore",
	.usage = "[-o json|yaml] FILE",
	.example = "restore neap-objects.json",
	.summary = "replace neapd's objects by those of a backup",
	.text = "FILE is checked completely first; then all changes are made at once, or none. Objects that\n"
		"are not in it are deleted. \"-\" is standard input.\n",
	.output = "print JSON or YAML",
	.args_min = 1,
	.args_max = 1,
	.run = run_restore,
};
