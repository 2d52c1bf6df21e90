/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads, checks and writes DATA_DIR/format. */
#include "api/daemon/format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/mem.h"

#define HEAD       "neap data "
#define WRITER     "written by "
#define FRESH      ".format.new"
#define FILE_BYTES 512 /* neapd's file has some fifty */
#define SHOWN      24  /* bytes of a wrong line in the message */

static int damaged(const char *data_dir, const char *line, struct neap_error *err)
{
	char shown[SHOWN + 1];
	size_t i;

	(void)neap_strcopy(shown, sizeof(shown), line);
	for (i = 0; shown[i] != '\0'; i++)
		if (shown[i] < ' ' || shown[i] > '~')
			shown[i] = '?';
	return neap_error_set(
		err, NEAP_EINVAL,
		"%s/" NEAP_FORMAT_FILE
		" is damaged: '%s' is not 'neap data NUMBER'. Restore it, or remove it "
		"if no neapd newer than " NEAP_VERSION
		" ever used this folder. Nothing was changed",
		data_dir, shown);
}

/* Returns N of "neap data N" with 1 to 9 digits, else 0. */
static int head_parse(const char *line)
{
	const char *digits = line + strlen(HEAD);
	size_t len;

	if (strncmp(line, HEAD, strlen(HEAD)) != 0)
		return 0;
	len = strspn(digits, "0123456789");
	if (len == 0 || len > 9 || digits[len] != '\0' || digits[0] == '0')
		return 0;
	return (int)strtol(digits, NULL, 10);
}

static void writer_parse(const char *line, struct neap_format *ret)
{
	size_t i;

	if (strncmp(line, WRITER, strlen(WRITER)) != 0)
		return;
	line += strlen(WRITER);
	for (i = 0; line[i] > ' ' - 1 && line[i] <= '~' && i + 1 < sizeof(ret->writer);
	     i++)
		ret->writer[i] = line[i];
	ret->writer[i] = '\0';
}

int neap_format_read(const char *data_dir, struct neap_format *ret,
		     struct neap_error *err)
{
	char path[256], text[FILE_BYTES + 1], *second;
	neap_auto_fd int fd = -1;
	struct stat st;

	memset(ret, 0, sizeof(*ret));
	(void)snprintf(path, sizeof(path), "%s/" NEAP_FORMAT_FILE, data_dir);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return neap_error_sys(err, "open %s", path);
	if (!S_ISREG(st.st_mode))
		return neap_error_set(err, NEAP_EINVAL,
				      "%s is no plain file: move it away", path);
	if (neap_fd_read_text(fd, text, sizeof(text)) < 0)
		return neap_error_sys(err, "read %s", path);
	second = strchr(text, '\n');
	/* Without a line end the number may be cut: "neap data 1" of "neap data 12". */
	if (second == NULL)
		return damaged(data_dir, text, err);
	*second++ = '\0';
	ret->version = head_parse(text);
	if (ret->version == 0)
		return damaged(data_dir, text, err);
	writer_parse(second, ret);
	return 0;
}

int neap_format_check(const char *data_dir, struct neap_error *err)
{
	struct neap_format format;

	if (neap_format_read(data_dir, &format, err) < 0)
		return -(int)err->code;
	if (format.version <= NEAP_DATA_FORMAT)
		return 0;
	return neap_error_set(
		err, NEAP_EUNSUPPORTED,
		"%s/" NEAP_FORMAT_FILE ": format %d of %s; neapd " NEAP_VERSION
		" reads up to %d. Install %s or newer, or restore the folder as it was "
		"before that upgrade, or choose another --data-dir. Nothing was changed",
		data_dir, format.version,
		format.writer[0] != '\0' ? format.writer : "a newer neapd",
		NEAP_DATA_FORMAT,
		format.writer[0] != '\0' ? format.writer : "that neapd");
}

static int file_put(int dir_fd, struct neap_error *err)
{
	char text[FILE_BYTES];
	int len = snprintf(text, sizeof(text), HEAD "%d\n" WRITER "neapd %s\n",
			   NEAP_DATA_FORMAT, NEAP_VERSION);

	return neap_file_put(dir_fd, FRESH, NEAP_FORMAT_FILE, text, (size_t)len,
			     NEAP_PUT_SYNCED, err);
}

int neap_format_raise(const char *data_dir, struct neap_error *err)
{
	neap_auto_fd int dir_fd = -1;
	struct neap_format format;
	int rc;

	if (neap_format_read(data_dir, &format, err) < 0)
		return -(int)err->code;
	if (format.version >= NEAP_DATA_FORMAT)
		return 0;
	/* The step from no number to 1 changes only the number. */
	dir_fd = open(data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return neap_error_sys(err, "open %s", data_dir);
	rc = file_put(dir_fd, err);
	if (rc < 0) {
		(void)unlinkat(dir_fd, FRESH, 0); /* the next start tries again */
		return neap_error_wrap(err, "%s", data_dir);
	}
	return 0;
}
