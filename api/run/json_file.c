/* SPDX-License-Identifier: Apache-2.0
 *
 * Small JSON files. */
#include "api/run/json_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/buf.h"
#include "engine/json/json.h"

int neap_json_file_read(const char *path, json_t **ret, struct neap_error *err)
{
	neap_auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	neap_auto_buf struct neap_buf buf = {0};
	json_error_t where;
	char part[4096];
	ssize_t n;
	int rc;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		return neap_error_sys(err, "open %s", path);
	neap_buf_init(&buf, NEAP_BUF_FILE);
	while ((n = read(fd, part, sizeof(part))) > 0)
		neap_buf_add(&buf, part, (size_t)n);
	if (n < 0)
		return neap_error_sys(err, "read %s", path);
	if (neap_buf_failed(&buf))
		return neap_buf_error(&buf, path, err);
	rc = neap_json_parse(buf.data, buf.len, 0, ret, &where);
	if (rc == -NEAP_ENOMEM)
		return neap_error_nomem(err);
	if (rc < 0)
		return neap_error_set(err, NEAP_EINVAL, "%s:%d: no JSON: %s", path,
				      where.line, where.text);
	return 1;
}

int neap_json_file_write(const char *path, const json_t *json, struct neap_error *err)
{
	neap_auto_free char *text = neap_json_dump(json, JSON_COMPACT);
	neap_auto_fd int fd = -1;
	char fresh[PATH_MAX];
	size_t len;

	if (text == NULL)
		return neap_error_nomem(err);
	if (snprintf(fresh, sizeof(fresh), "%s.new", path) >= (int)sizeof(fresh))
		return neap_error_set(err, NEAP_ETOOLARGE, "%s: too long a path", path);
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return neap_error_sys(err, "open %s", fresh);
	len = strlen(text);
	if (write(fd, text, len) != (ssize_t)len || rename(fresh, path) < 0) {
		(void)neap_error_sys(err, "write %s", path);
		(void)unlink(fresh);
		return -(int)err->code;
	}
	return 0;
}
